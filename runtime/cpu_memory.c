/* cpu_memory: memory of the CPU device: pages of the host, in pools as on a GPU. A mark is the
 * number of a job, reached when so many have finished: whatever is freed may still be used by jobs
 * that were queued before, on any stream. Each block has its pages to itself, so that it can be
 * made visible to other processes later (cpu_share.c). */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/cpu_t.h"
#include "runtime/memory.h"
#include "runtime/pool.h"

static enum pool_answer
memory_alloc(void *context, uint64_t size_B, uint64_t *address_out, struct sp_diag *diag)
{
    const struct rt_device *dev = context;
    (void)diag;
    if (size_B > dev->info.memory_B)
        return POOL_FULL;
    void *pages = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return POOL_FULL;
    *address_out = (uintptr_t)pages;
    return POOL_OK;
}

static void
memory_free(void *context, uint64_t address, uint64_t size_B)
{
    (void)context;
    munmap((void *)(uintptr_t)address, size_B);
}

static bool
memory_mark(void *context, rt_stream stream, uint64_t *mark_out)
{
    uint64_t finished;
    (void)stream;
    rt_cpu_queue_count(&((struct cpu_device *)context)->queue, mark_out, &finished);
    return true;
}

static bool
memory_reached(void *context, uint64_t mark)
{
    uint64_t submitted, finished;
    rt_cpu_queue_count(&((struct cpu_device *)context)->queue, &submitted, &finished);
    return mark <= finished;
}

static void
memory_unmark(void *context, uint64_t mark)
{
    (void)context, (void)mark;
}

/* What kernels raised stays for the waits of those who launched them. */
static bool
memory_wait(void *context)
{
    const struct rt_wait wait = {.timeout_ms = -1, .thread = UINT64_MAX, .own_only = true};
    struct sp_diag ignored;
    bool done;
    sp_diag_init(&ignored);
    bool ok = rt_cpu_queue_wait(&((struct cpu_device *)context)->queue, &wait, &done, &ignored);
    sp_diag_finish(&ignored);
    return ok;
}

static void
memory_info(void *context, uint64_t *free_B_out, uint64_t *total_B_out)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), page_B = sysconf(_SC_PAGESIZE);
    *free_B_out = pages > 0 && page_B > 0 ? (uint64_t)pages * (uint64_t)page_B : 0;
    *total_B_out = ((const struct rt_device *)context)->info.memory_B;
}

/* New pages for those that other processes have. */
static void
memory_renew(void *context, uint64_t address, uint64_t size_B)
{
    rt_cpu_unshare(context, address, size_B);
}

void
rt_cpu_memory_init(struct cpu_device *dev)
{
    long page_B = sysconf(_SC_PAGESIZE);
    const struct pool_source source = {.context = dev,
                                       .what = "host",
                                       .order = POOL_MARKED,
                                       .round_B = page_B > 0 ? (uint64_t)page_B : 4096,
                                       .alloc = memory_alloc,
                                       .free = memory_free,
                                       .mark = memory_mark,
                                       .reached = memory_reached,
                                       .unmark = memory_unmark,
                                       .wait = memory_wait,
                                       .info = memory_info,
                                       .renew = memory_renew};
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        dev->base.pools[kind] = rt_pool_create(&source, rt_memory_is_cached());
    pthread_mutex_init(&dev->shared.lock, NULL);
}

void
rt_cpu_memory_mend(struct cpu_device *dev)
{
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        rt_pool_mend(dev->base.pools[kind]);
    pthread_mutex_init(&dev->shared.lock, NULL);
}

void
rt_cpu_memory_finish(struct cpu_device *dev)
{
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        rt_pool_destroy(dev->base.pools[kind]);
    rt_cpu_share_finish(dev);
}

bool
rt_cpu_memory_info(struct rt_device *base, uint64_t *free_B_out, uint64_t *total_B_out,
                   struct sp_diag *diag)
{
    (void)diag;
    memory_info(base, free_B_out, total_B_out);
    return true;
}

bool
rt_cpu_query(struct rt_device *base, uint64_t address, struct rt_memory *memory_out,
             struct sp_diag *diag)
{
    static const enum rt_memory_kind kinds[RT_N_POOLS] = {
        [RT_POOL_DEVICE] = RT_MEMORY_DEVICE,
        [RT_POOL_HOST] = RT_MEMORY_HOST,
        [RT_POOL_MANAGED] = RT_MEMORY_MANAGED,
    };
    uint64_t at, size_B;
    (void)diag;
    cpu_mend((struct cpu_device *)base);
    *memory_out = (struct rt_memory){RT_MEMORY_UNKNOWN, -1};
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        if (rt_pool_find(base->pools[kind], address, &at, &size_B))
            *memory_out = (struct rt_memory){kinds[kind], kind == RT_POOL_HOST ? -1 : 0};
    return true;
}
