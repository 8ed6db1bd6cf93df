/* share: memory that more than one device, process or owner has; what is alike on all devices. */
#include <stddef.h>

#include "runtime/memory.h"
#include "runtime/rt.h"

bool
rt_host_lock(struct rt_device *dev, uint64_t address, uint64_t size_B, uint64_t *device_address_out,
             struct sp_diag *diag)
{
    rt_device_touch(dev);
    return dev->ops->share->lock(dev, address, size_B, device_address_out, diag);
}

bool
rt_host_unlock(struct rt_device *dev, uint64_t address, struct sp_diag *diag)
{
    rt_device_touch(dev);
    return dev->ops->share->unlock(dev, address, diag);
}

bool
rt_ipc_get(struct rt_device *dev, uint64_t address, struct rt_ipc *ipc_out, struct sp_diag *diag)
{
    rt_device_touch(dev);
    return dev->ops->share->ipc_get(dev, address, ipc_out, diag);
}

bool
rt_ipc_open(struct rt_device *dev, const struct rt_ipc *ipc, uint64_t *address_out,
            struct sp_diag *diag)
{
    rt_device_touch(dev);
    return dev->ops->share->ipc_open(dev, ipc, address_out, diag);
}

bool
rt_ipc_close(struct rt_device *dev, uint64_t address, uint64_t size_B, struct sp_diag *diag)
{
    rt_device_touch(dev);
    return dev->ops->share->ipc_close(dev, address, size_B, diag);
}

/* Devices of different kinds never reach each other; each reaches itself. */
bool
rt_peer_can_reach(struct rt_device *dev, struct rt_device *other, bool *can_out,
                  struct sp_diag *diag)
{
    *can_out = dev == other;
    if (dev == other || dev->info.kind != other->info.kind)
        return true;
    return dev->ops->share->can_reach(dev, other, can_out, diag);
}

bool
rt_peer_reach(struct rt_device *dev, struct rt_device *other, bool on, struct sp_diag *diag)
{
    bool can = false;
    if (dev == other)
        return true;
    if (!rt_peer_can_reach(dev, other, &can, diag))
        return false;
    if (can)
        return dev->ops->share->reach(dev, other, on, diag);
    sp_diag_set(diag, SP_E_BAD_VALUE, NULL, "these two devices cannot use each other's memory");
    return sp_diag_hint(diag, "copy_to_device copies between any two devices");
}

bool
rt_peer_copy(struct rt_device *dev, uint64_t to, struct rt_device *other, uint64_t from,
             uint64_t size_B, uintptr_t stream, struct sp_diag *diag)
{
    rt_device_touch(dev);
    if (dev == other)
        return rt_device_copy(dev, to, from, size_B, stream, diag);
    if (dev->info.kind == other->info.kind)
        return dev->ops->share->copy(dev, to, other, from, size_B, stream, diag);
    if (dev->info.kind == RT_CPU)
        return rt_device_copy_out(other, (void *)(uintptr_t)to, from, size_B, 0, diag);
    return rt_device_copy_in(dev, to, (const void *)(uintptr_t)from, size_B, stream, diag);
}
