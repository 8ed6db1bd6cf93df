/* Memory that more than one device, process or owner has: host memory that is locked for devices,
 * other processes' device memory, copies between devices. Part of runtime/rt.h. */
#ifndef RT_RT_SHARE_H
#define RT_RT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/diag.h"

struct rt_device;

/* What another process needs to open an allocation. */
struct rt_ipc {
    unsigned char bytes[64];
    uint64_t size_B;   /* of the whole allocation */
    uint64_t offset_B; /* of the address that was asked for */
};

struct rt_share_ops {
    bool (*lock)(struct rt_device *dev, uint64_t address, uint64_t size_B,
                 uint64_t *device_address_out, struct sp_diag *diag);
    bool (*unlock)(struct rt_device *dev, uint64_t address, struct sp_diag *diag);
    bool (*ipc_get)(struct rt_device *dev, uint64_t address, struct rt_ipc *ipc_out,
                    struct sp_diag *diag);
    bool (*ipc_open)(struct rt_device *dev, const struct rt_ipc *ipc, uint64_t *address_out,
                     struct sp_diag *diag);
    bool (*ipc_close)(struct rt_device *dev, uint64_t address, uint64_t size_B,
                      struct sp_diag *diag);
    bool (*can_reach)(struct rt_device *dev, struct rt_device *other, bool *can_out,
                      struct sp_diag *diag);
    bool (*reach)(struct rt_device *dev, struct rt_device *other, bool on, struct sp_diag *diag);
    bool (*copy)(struct rt_device *dev, uint64_t to, struct rt_device *other, uint64_t from,
                 uint64_t size_B, uintptr_t stream, struct sp_diag *diag);
};

/* Locks host memory to its pages, so that devices address it: whole, once at a time. */
SP_MUST_CHECK bool rt_host_lock(struct rt_device *dev, uint64_t address, uint64_t size_B,
                                uint64_t *device_address_out, struct sp_diag *diag);
SP_MUST_CHECK bool rt_host_unlock(struct rt_device *dev, uint64_t address, struct sp_diag *diag);
/* For other processes; the allocation must live until they have closed it. The device's work on it
 * is over. */
SP_MUST_CHECK bool rt_ipc_get(struct rt_device *dev, uint64_t address, struct rt_ipc *ipc_out,
                              struct sp_diag *diag);
/* The whole allocation of another process; once per process on a GPU. */
SP_MUST_CHECK bool rt_ipc_open(struct rt_device *dev, const struct rt_ipc *ipc,
                               uint64_t *address_out, struct sp_diag *diag);
SP_MUST_CHECK bool rt_ipc_close(struct rt_device *dev, uint64_t address, uint64_t size_B,
                                struct sp_diag *diag);
/* Whether kernels of `dev` can use memory of `other`; makes it so, or ends it. */
SP_MUST_CHECK bool rt_peer_can_reach(struct rt_device *dev, struct rt_device *other, bool *can_out,
                                     struct sp_diag *diag);
SP_MUST_CHECK bool rt_peer_reach(struct rt_device *dev, struct rt_device *other, bool on,
                                 struct sp_diag *diag);
/* Contiguous memory of `other` to `dev`, in the order of a stream of `dev`. Work on `other` must be
 * over. */
SP_MUST_CHECK bool rt_peer_copy(struct rt_device *dev, uint64_t to, struct rt_device *other,
                                uint64_t from, uint64_t size_B, uintptr_t stream,
                                struct sp_diag *diag);

#endif
