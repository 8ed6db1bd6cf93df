/* open: the runtime object, which finds the driver and makes devices, each once. In: options, else
 * the environment (GPUJIT_CUDA_LIBRARY, GPUJIT_CPU_THREADS). Out: devices, and the text of
 * `gpujit info`. The driver is looked for when somebody asks and not before: cuInit costs tens of
 * milliseconds, and a process that compiles only never needs it. Also here: two helpers that both
 * devices use. */
#include <stdlib.h>
#include <string.h>

#include "runtime/rt_t.h"
#include "support/arena.h"

struct rt_runtime *
rt_runtime_create(const struct rt_options *options)
{
    struct rt_runtime *rt = sp_alloc(sizeof *rt);
    memset(rt, 0, sizeof *rt);
    rt_alive_init(rt);
    pthread_mutex_init(&rt->lock, NULL);
    const char *library = options ? options->cuda_library : NULL;
    if (!library)
        library = getenv("GPUJIT_CUDA_LIBRARY");
    if (library && *library) {
        size_t size = strlen(library) + 1;
        rt->cuda_library = memcpy(sp_alloc(size), library, size);
    }
    rt->cpu_threads = options ? options->cpu_threads : 0;
    const char *threads = getenv("GPUJIT_CPU_THREADS");
    if (!rt->cpu_threads && threads) {
        long n = strtol(threads, NULL, 10);
        rt->cpu_threads = n > 0 && n <= 4096 ? (uint32_t)n : 0;
    }
    return rt;
}

void
rt_runtime_destroy(struct rt_runtime *rt)
{
    if (!rt)
        return;
    for (int i = 0; i < RT_MAX_DEVICES; i++)
        if (rt->cuda[i])
            rt->cuda[i]->ops->destroy(rt->cuda[i]);
    if (rt->cpu)
        rt->cpu->ops->destroy(rt->cpu);
    for (uint32_t i = 0; i < rt->others.len; i++)
        rt->others.data[i]->ops->destroy(rt->others.data[i]);
    sp_vec_finish(&rt->others);
    rt_alive_finish(rt);
    rt_cuda_driver_destroy(rt->driver);
    pthread_mutex_destroy(&rt->lock);
    free(rt->cuda_library);
    free(rt);
}

static const struct rt_driver *
open_driver(struct rt_runtime *rt)
{
    if (!rt->driver) {
        rt->driver = rt_cuda_driver_create(rt->cuda_library);
        rt_alive_again(rt);
    }
    return rt_cuda_driver_info(rt->driver);
}

const struct rt_driver *
rt_runtime_driver(struct rt_runtime *rt)
{
    rt_lock(rt);
    const struct rt_driver *info = open_driver(rt);
    rt_unlock(rt);
    return info;
}

static bool
open_cuda(struct rt_runtime *rt, int ordinal, struct rt_device **dev_out, struct sp_diag *diag)
{
    const struct rt_driver *driver = open_driver(rt);
    if (driver->found && rt_cuda_driver_is_forked(rt->driver))
        return rt_cuda_forked(ordinal, diag);
    if (!driver->found) {
        sp_diag_set(diag, SP_E_NO_DRIVER, NULL, driver->why_not);
        return *driver->hint ? sp_diag_hint(diag, "%s", driver->hint) : false;
    }
    if (ordinal < 0 || ordinal >= (int)driver->n_devices || ordinal >= RT_MAX_DEVICES) {
        struct sp_str text;
        sp_str_init(&text);
        if (driver->n_devices)
            sp_str_printf(&text, "there is no GPU number %d; the driver has %u, counted from 0",
                          ordinal, driver->n_devices);
        else
            sp_str_add(&text, "the driver finds no GPU");
        sp_diag_set(diag, SP_E_NO_DEVICE, NULL, text.data);
        sp_str_finish(&text);
        return false;
    }
    if (!rt->cuda[ordinal] && !rt_cuda_open(rt, rt->driver, ordinal, &rt->cuda[ordinal], diag))
        return false;
    *dev_out = rt->cuda[ordinal];
    return true;
}

bool
rt_open(struct rt_runtime *rt, enum rt_kind kind, int ordinal, struct rt_device **dev_out,
        struct sp_diag *diag)
{
    bool ok = true;
    rt_lock(rt);
    if (kind == RT_CUDA)
        ok = open_cuda(rt, ordinal, dev_out, diag);
    else if (ordinal != 0)
        ok = sp_diag_set(diag, SP_E_NO_DEVICE, NULL, "there is only one CPU device, number 0");
    else if (!rt->cpu && !rt_cpu_open(rt, &rt->cpu, diag))
        ok = false;
    else
        *dev_out = rt->cpu;
    rt_unlock(rt);
    return ok;
}

uint32_t
rt_opened(struct rt_runtime *rt, struct rt_device **devices_out, uint32_t cap)
{
    uint32_t n = 0;
    rt_lock(rt);
    if (rt->cpu && n < cap)
        devices_out[n++] = rt->cpu;
    for (uint32_t i = 0; i < RT_MAX_DEVICES; i++)
        if (rt->cuda[i] && n < cap)
            devices_out[n++] = rt->cuda[i];
    rt_unlock(rt);
    return n;
}

static void
open_print_device(struct rt_runtime *rt, enum rt_kind kind, int ordinal, struct sp_str *out)
{
    struct rt_device *dev;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!rt_open(rt, kind, ordinal, &dev, &diag)) {
        sp_str_printf(out, "%s %d: %s\n", kind == RT_CUDA ? "cuda" : "cpu", ordinal, diag.message);
        if (diag.hint)
            sp_str_printf(out, "  hint: %s\n", diag.hint);
        sp_diag_finish(&diag);
        return;
    }
    const struct rt_info *info = &dev->info;
    double gib = (double)info->memory_B / (1 << 30);
    if (kind == RT_CUDA)
        sp_str_printf(out, "cuda %d: %s, %s, %u multiprocessors, %.1f GiB\n", ordinal, info->name,
                      info->target, info->n_processors, gib);
    else
        sp_str_printf(out, "cpu: %s, %u threads, %.1f GiB\n", info->name, info->n_processors, gib);
    sp_str_printf(out,
                  "  limits: grid %u x %u x %u, block %u x %u x %u of %u threads, %u bytes of "
                  "shared memory per block (%u when asked for)\n",
                  info->max_grid[0], info->max_grid[1], info->max_grid[2], info->max_block[0],
                  info->max_block[1], info->max_block[2], info->max_threads, info->shared_B,
                  info->shared_optin_B);
    sp_diag_finish(&diag);
}

void
rt_print_info(struct rt_runtime *rt, struct sp_str *out)
{
    const struct rt_driver *driver = rt_runtime_driver(rt);
    if (driver->found)
        sp_str_printf(out, "driver: CUDA %d.%d (%s), %u device%s\n", driver->version / 1000,
                      driver->version % 1000 / 10, driver->library, driver->n_devices,
                      driver->n_devices == 1 ? "" : "s");
    else
        sp_str_printf(out, "driver: none, %s\n", driver->why_not);
    if (*driver->hint)
        sp_str_printf(out, "  hint: %s\n", driver->hint);
    for (uint32_t i = 0; driver->found && i < driver->n_devices; i++)
        open_print_device(rt, RT_CUDA, (int)i, out);
    open_print_device(rt, RT_CPU, 0, out);
}

int32_t
rt_param_offset(const struct artifact *artifact, enum sp_param_kind kind)
{
    for (uint32_t i = 0; i < artifact->n_params; i++)
        if (artifact->params[i].kind == kind)
            return (int32_t)artifact->params[i].offset_B;
    return -1;
}

bool
rt_diag_move(struct sp_diag *to, struct sp_diag *from)
{
    if (to->code != SP_OK)
        return false; /* the first is kept; `from` waits for the next call */
    sp_diag_finish(to);
    *to = *from;
    sp_diag_init(from);
    return false;
}
