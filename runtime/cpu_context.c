/* cpu_context: the CPU device has no contexts; what is asked of them, answered for it: it is
 * current in every thread, its attributes are a column of a table, and a reset waits and marks.
 * Memory of arrays stays until they go, because the host may look at it through buffers. */
#include "runtime/cpu_t.h"

static bool
context_is_here(const struct rt_device *base)
{
    return !rt_device_was_reset(base);
}

static bool
context_make_current(struct rt_device *base, uintptr_t *before_out, struct sp_diag *diag)
{
    *before_out = 0;
    return rt_device_check(base, diag);
}

static bool
context_attribute(struct rt_device *base, int number, int *value_out, struct sp_diag *diag)
{
    const struct rt_info *info = &base->info;
    const struct {
        int number;
        uint32_t value;
    } rows[] = {
#define RT_ATTRIBUTE(name, number, cpu) {number, cpu},
#include "runtime/attributes.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number != number)
            continue;
        *value_out = (int)rows[i].value;
        return true;
    }
    return sp_diag_set(diag, SP_E_BAD_VALUE, NULL, "there is no attribute of this number");
}

static bool
context_reset(struct rt_device *base, struct sp_diag *diag)
{
    struct cpu_device *dev = (struct cpu_device *)base;
    struct rt_wait wait = {.timeout_ms = -1};
    struct sp_diag ignored; /* what kernels raised goes with them */
    bool done;
    (void)diag;
    cpu_mend(dev);
    sp_diag_init(&ignored);
    (void)!rt_cpu_queue_wait(&dev->queue, &wait, &done, &ignored);
    sp_diag_finish(&ignored);
    atomic_store(&base->was_reset, true);
    return true;
}

const struct rt_context_ops rt_cpu_context_ops = {
    .is_here = context_is_here,
    .make_current = context_make_current,
    .attribute = context_attribute,
    .reset = context_reset,
};
