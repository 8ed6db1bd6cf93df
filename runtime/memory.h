/* What the devices' constructors need of memory.c. */
#ifndef RT_MEMORY_H
#define RT_MEMORY_H

#include "runtime/rt.h"

/* GPUJIT_MEMORY_POOL=0: no. */
bool rt_memory_is_cached(void);

/* In a child after a fork the device is made usable. */
static inline void
rt_device_touch(struct rt_device *dev)
{
    if (dev->ops->touch)
        dev->ops->touch(dev);
}

#endif
