/* cpu_device: the host as a device, for machines without a GPU and for finding faults. Out: a
 * struct rt_device with the limits of a GPU, so that what runs here runs there. All copies wait
 * for the queue and run on the caller.
 *
 * After a fork the child has the memory and the loaded code, but none of the threads, and locks
 * may be held by threads that are gone: the first operation in the child makes locks and queue
 * anew. (pthread_atfork, the alternative, cannot be undone when the library is unloaded.) */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cpu_t.h"
#include "support/arena.h"

void
rt_cpu_mend_slow(struct cpu_device *dev)
{
    if (!rt_mend_begin(&dev->pid))
        return;
    rt_cpu_queue_reset(&dev->queue);
    rt_cpu_memory_mend(dev);
    pthread_mutex_init(&dev->captures.lock, NULL);
    pthread_mutex_init(&dev->linker_lock, NULL);
    rt_mend_end(&dev->pid);
}

static struct cpu_device *
device_of(struct rt_device *base)
{
    struct cpu_device *dev = (struct cpu_device *)base;
    cpu_mend(dev);
    return dev;
}

/* Before memory is touched. Who copies is not said, so exceptions of numbered threads stay for
 * their own waits. */
static bool
device_drain(struct rt_device *base, struct sp_diag *diag)
{
    static const struct rt_wait wait = {.timeout_ms = -1, .own_only = true};
    bool done;
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    return rt_cpu_queue_wait(&device_of(base)->queue, &wait, &done, diag);
}

static bool
device_copy_in(struct rt_device *base, uint64_t to, const void *from, uint64_t size_B,
               rt_stream stream, struct sp_diag *diag)
{
    if (!rt_capture_refuses(base, stream, RT_CAPTURE_HOST_COPY, diag) || !device_drain(base, diag))
        return false;
    if (size_B)
        memmove((void *)(uintptr_t)to, from, size_B);
    return true;
}

static bool
device_copy_out(struct rt_device *base, void *to, uint64_t from, uint64_t size_B, rt_stream stream,
                struct sp_diag *diag)
{
    return device_copy_in(base, (uintptr_t)to, (const void *)(uintptr_t)from, size_B, stream, diag);
}

static bool
device_copy(struct rt_device *base, uint64_t to, uint64_t from, uint64_t size_B, rt_stream stream,
            struct sp_diag *diag)
{
    struct cpu_device *dev = device_of(base);
    const struct cpu_transfer transfer = {.to = to, .from = from, .count = size_B};
    return (cpu_captures(dev) && rt_cpu_capture_transfer(dev, stream, &transfer)) ||
           device_copy_in(base, to, (const void *)(uintptr_t)from, size_B, stream, diag);
}

static bool
device_fill(struct rt_device *base, uint64_t to, const void *element, uint32_t element_B,
            uint64_t count, rt_stream stream, struct sp_diag *diag)
{
    struct cpu_device *dev = device_of(base);
    if (element_B != 1 && element_B != 2 && element_B != 4 && element_B != 8)
        return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "fill: not an element's size");
    struct cpu_transfer transfer = {.to = to, .count = count, .element_B = element_B};
    memcpy(transfer.element, element, element_B);
    if (cpu_captures(dev) && rt_cpu_capture_transfer(dev, stream, &transfer))
        return true;
    if (!device_drain(base, diag))
        return false;
    char *out = (char *)(uintptr_t)to;
    if (element_B == 1 && count)
        memset(out, *(const unsigned char *)element, count);
    else
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * element_B, element, element_B);
    return true;
}

static void
device_touch(struct rt_device *base)
{
    cpu_mend((struct cpu_device *)base);
}

static bool
device_wait(struct rt_device *base, const struct rt_wait *wait, bool *done_out,
            struct sp_diag *diag)
{
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    return rt_cpu_queue_wait(&device_of(base)->queue, wait, done_out, diag);
}

static void
device_cancel(struct rt_device *base)
{
    rt_cpu_queue_cancel(&device_of(base)->queue);
}

static struct rt_print *
device_take_prints(struct rt_device *base)
{
    return rt_cpu_queue_take_prints(&device_of(base)->queue);
}

static bool
device_has_prints(struct rt_device *base)
{
    return rt_cpu_queue_has_prints(&device_of(base)->queue);
}

static bool
device_prepare(struct rt_device *base, struct rt_code *code, const struct rt_launch *launch,
               struct sp_diag *diag)
{
    int64_t grid[3], block[3];
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    for (int i = 0; i < 3; i++)
        grid[i] = launch->grid[i], block[i] = launch->block[i];
    if (!rt_limits_check(&base->info, &code->attributes, grid, block, launch->shared_B, diag))
        return false;
    if (!code->artifact->n_waits)
        return true;
    struct cpu_queue *queue = &device_of(base)->queue;
    uint64_t at_once = rt_cpu_queue_blocks(queue, code, launch);
    if (!at_once)
        return sp_diag_set(diag, SP_E_NO_MEMORY, NULL, (long long)queue->blocks_B, "host",
                           "and the threads of a block, which wait for each other, need more") ||
               sp_diag_hint(diag, "launch smaller blocks, or use smaller local arrays");
    return !code->artifact->cooperative || rt_grid_fits(launch, (int64_t)at_once, diag);
}

static bool
device_launch(struct rt_device *base, struct rt_code *code, const struct rt_launch *launch,
              void *params, struct sp_diag *diag)
{
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    if (cpu_captures((struct cpu_device *)base) &&
        rt_cpu_capture_launch((struct cpu_device *)base, (struct cpu_code *)code, launch, params))
        return true;
    return rt_cpu_queue_add(&device_of(base)->queue, (struct cpu_code *)code, launch, params, diag);
}

static void
device_destroy(struct rt_device *base)
{
    struct cpu_device *dev = device_of(base);
    rt_cpu_queue_finish(&dev->queue);
    rt_cpu_linker_destroy(dev->linker);
    rt_cpu_memory_finish(dev);
    sp_vec_finish(&dev->captures.all);
    pthread_mutex_destroy(&dev->captures.lock);
    pthread_mutex_destroy(&dev->linker_lock);
    free(dev);
}

static const struct rt_device_ops cpu_ops = {
    .context = &rt_cpu_context_ops,
    .touch = device_touch,
    .copy_in = device_copy_in,
    .copy_out = device_copy_out,
    .copy = device_copy,
    .fill = device_fill,
    .memory_info = rt_cpu_memory_info,
    .query = rt_cpu_query,
    .share = &rt_cpu_share_ops,
    .stream = &rt_cpu_stream_ops,
    .event = &rt_cpu_event_ops,
    .graph = &rt_cpu_graph_ops,
    .wait = device_wait,
    .cancel = device_cancel,
    .load = rt_cpu_load,
    .unload = rt_cpu_unload,
    .prepare = device_prepare,
    .launch = device_launch,
    .take_prints = device_take_prints,
    .has_prints = device_has_prints,
    .destroy = device_destroy,
};

static void
device_fill_name(struct rt_info *info)
{
    snprintf(info->name, sizeof info->name, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(info->name, sizeof info->name, "%.100s", value + 1 + strspn(value + 1, " "));
        break;
    }
    if (file)
        fclose(file);
}

static uint32_t
device_count_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

static void
device_fill_info(struct rt_info *info, uint32_t n_workers)
{
    info->kind = RT_CPU;
    device_fill_name(info);
    snprintf(info->target, sizeof info->target, "host");
    long pages = sysconf(_SC_PHYS_PAGES), page_B = sysconf(_SC_PAGESIZE);
    info->memory_B = pages > 0 && page_B > 0 ? (uint64_t)pages * (uint64_t)page_B : 0;
    info->n_processors = n_workers;
    info->warp_size = 32;
    info->max_grid[0] = 0x7fffffff;
    info->max_grid[1] = info->max_grid[2] = 65535;
    info->max_block[0] = info->max_block[1] = 1024;
    info->max_block[2] = 64;
    info->max_threads = 1024;
    info->shared_B = 48 * 1024;
    info->shared_optin_B = 227 * 1024;
}

bool
rt_cpu_open(struct rt_runtime *rt, struct rt_device **dev_out, struct sp_diag *diag)
{
    (void)diag;
    struct cpu_device *dev = sp_alloc(sizeof *dev);
    memset(dev, 0, sizeof *dev);
    dev->base.ops = &cpu_ops;
    dev->base.rt = rt;
    uint32_t n_workers = rt->cpu_threads ? rt->cpu_threads : device_count_cores();
    device_fill_info(&dev->base.info, n_workers);
    atomic_init(&dev->pid, getpid());
    rt_cpu_queue_init(&dev->queue, n_workers);
    rt_cpu_memory_init(dev);
    pthread_mutex_init(&dev->captures.lock, NULL);
    pthread_mutex_init(&dev->linker_lock, NULL);
    /* Most of a first launch otherwise; if it fails, loading tries again and has the words. */
    struct sp_str ignored;
    sp_str_init(&ignored);
    dev->linker = rt_cpu_linker_create(&ignored);
    sp_str_finish(&ignored);
    *dev_out = &dev->base;
    return true;
}
