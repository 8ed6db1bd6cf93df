/* cpu_code: an object of the host in, launches out. Loading hands the object to the linker
 * (cpu_link.c) and keeps the address of its entry; a launch is a job in the queue. Code is
 * counted: a job keeps it, so that unloading never waits. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu_t.h"
#include "support/arena.h"

static void
code_fail(const struct artifact *artifact, const char *why, struct sp_diag *diag)
{
    sp_diag_set(diag, SP_E_HOST_LOAD_FAILED, NULL, artifact->name ? artifact->name : "?", why);
}

bool
rt_cpu_load(struct rt_device *base, struct artifact *artifact, const struct rt_jit_options *options,
            struct rt_code **code_out, struct sp_diag *diag)
{
    (void)options;
    struct cpu_device *dev = (struct cpu_device *)base;
    cpu_mend(dev);
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    if (artifact->kind != SP_CODE_OBJECT) {
        code_fail(artifact, "it was compiled for a GPU", diag);
        return false;
    }
    struct sp_str why;
    sp_str_init(&why);
    cpu_entry entry = NULL;
    struct cpu_linked *linked = NULL;
    pthread_mutex_lock(&dev->linker_lock);
    if (!dev->linker)
        dev->linker = rt_cpu_linker_create(&why);
    if (dev->linker)
        linked = rt_cpu_link(dev->linker, artifact->code, artifact->size_B, artifact->entry, &entry,
                             &why);
    pthread_mutex_unlock(&dev->linker_lock);
    if (!linked) {
        code_fail(artifact, why.data, diag);
        sp_str_finish(&why);
        return false;
    }
    sp_str_finish(&why);
    struct cpu_code *code = sp_alloc(sizeof *code);
    memset(code, 0, sizeof *code);
    code->base.dev = base;
    code->base.artifact = sp_artifact_share(artifact);
    code->base.attributes.shared_B = artifact->shared_B;
    code->base.attributes.max_threads = artifact->max_threads;
    if (!artifact->max_threads || artifact->max_threads > base->info.max_threads)
        code->base.attributes.max_threads = base->info.max_threads;
    code->base.log = memcpy(sp_alloc(1), "", 1);
    code->entry = entry;
    if (artifact->n_waits)
        ((void (*)(struct sp_waiting *))(void (*)(void))entry)(&code->waiting);
    code->linked = linked;
    code->fault_offset = rt_param_offset(artifact, SP_PARAM_FAULT);
    atomic_init(&code->shares, 1);
    *code_out = &code->base;
    return true;
}

void
rt_cpu_code_drop(struct cpu_code *code)
{
    if (atomic_fetch_sub_explicit(&code->shares, 1, memory_order_acq_rel) != 1)
        return;
    struct cpu_device *dev = (struct cpu_device *)code->base.dev;
    pthread_mutex_lock(&dev->linker_lock);
    rt_cpu_unlink(dev->linker, code->linked);
    pthread_mutex_unlock(&dev->linker_lock);
    sp_artifact_destroy(code->base.artifact);
    free(code->base.log);
    free(code);
}

void
rt_cpu_unload(struct rt_code *code)
{
    cpu_mend((struct cpu_device *)code->dev);
    rt_cpu_code_drop((struct cpu_code *)code);
}
