/* memory: the pools of a device, by kind; what all devices do alike around them. In: a device whose
 * constructor has made its pools. Out: what pymod asks for. */
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/pool.h"

bool
rt_memory_is_cached(void)
{
    const char *text = getenv("GPUJIT_MEMORY_POOL");
    return !text || strcmp(text, "0");
}

bool
rt_memory_alloc(struct rt_device *dev, enum rt_pool_kind kind, uint64_t size_B, rt_stream stream,
                uint64_t *address_out, struct sp_diag *diag)
{
    if (!rt_device_check(dev, diag))
        return false;
    rt_device_touch(dev);
    return rt_pool_alloc(dev->pools[kind], size_B, stream, address_out, diag);
}

bool
rt_memory_try(struct rt_device *dev, enum rt_pool_kind kind, uint64_t size_B, rt_stream stream,
              uint64_t *address_out)
{
    struct sp_diag ignored; /* rt_memory_alloc, which comes next, says it */
    sp_diag_init(&ignored);
    if (!rt_device_check(dev, &ignored)) {
        sp_diag_finish(&ignored);
        return false;
    }
    rt_device_touch(dev);
    return rt_pool_try(dev->pools[kind], size_B, stream, address_out);
}

bool
rt_memory_free(struct rt_device *dev, enum rt_pool_kind kind, uint64_t address,
               struct sp_diag *diag)
{
    if (rt_device_is_inherited(dev))
        return true; /* the parent's, whose locks may be held by threads that are not here */
    rt_device_touch(dev);
    return rt_pool_free(dev->pools[kind], address) ||
           sp_diag_set(diag, SP_E_BAD_VALUE, NULL,
                       "memory is freed that the device did not allocate, or twice");
}

bool
rt_memory_use(struct rt_device *dev, enum rt_pool_kind kind, uint64_t address, rt_stream stream,
              struct sp_diag *diag)
{
    rt_stream home;
    bool has_home = false;
    rt_device_touch(dev);
    bool joins = rt_pool_use(dev->pools[kind], address, stream, &home, &has_home) && has_home;
    return !joins || !dev->ops->join || dev->ops->join(dev, home, stream, diag);
}

uint64_t
rt_memory_trim(struct rt_device *dev, enum rt_pool_kind kind, uint64_t keep_B)
{
    rt_device_touch(dev);
    return rt_pool_trim(dev->pools[kind], keep_B);
}

void
rt_memory_set_limit(struct rt_device *dev, enum rt_pool_kind kind, uint64_t limit_B)
{
    rt_device_touch(dev);
    rt_pool_set_limit(dev->pools[kind], limit_B);
}

void
rt_memory_defer(struct rt_device *dev, bool begin)
{
    rt_device_touch(dev);
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        rt_pool_defer(dev->pools[kind], begin);
}

void
rt_memory_stats(struct rt_device *dev, enum rt_pool_kind kind, struct rt_pool_stats *stats_out)
{
    rt_device_touch(dev);
    rt_pool_get_stats(dev->pools[kind], stats_out);
}

void
rt_memory_reset_peak(struct rt_device *dev, enum rt_pool_kind kind)
{
    rt_device_touch(dev);
    rt_pool_reset_peak(dev->pools[kind]);
}
