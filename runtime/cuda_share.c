/* cuda_share: memory of a GPU that others have too: host memory locked for it, handles for other
 * processes, access and copies between two GPUs. All of it is the driver's; here are its rules. */
#include <string.h>

#include "runtime/cuda_t.h"

static bool
share_lock(struct rt_device *base, uint64_t address, uint64_t size_B, uint64_t *device_address_out,
           struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    void *host = (void *)(uintptr_t)address;
    CUdeviceptr device = 0;
    bool ok;
    CUDA_CALL(dev, diag, ok, cuMemHostRegister, host, size_B,
              CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (!ok)
        return false;
    CUDA_CALL(dev, diag, ok, cuMemHostGetDevicePointer, &device, host, 0);
    if (ok) {
        *device_address_out = device;
        return true;
    }
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    CUDA_CALL(dev, &ignored, ok, cuMemHostUnregister, host);
    sp_diag_finish(&ignored);
    return false;
}

static bool
share_unlock(struct rt_device *base, uint64_t address, struct sp_diag *diag)
{
    bool ok = true;
    if (!cuda_is_lost((struct cuda_device *)base))
        CUDA_CALL((struct cuda_device *)base, diag, ok, cuMemHostUnregister,
                  (void *)(uintptr_t)address);
    return ok;
}

/* A handle stands for all that the driver gave at once: a segment of the pool. */
static bool
share_ipc_get(struct rt_device *base, uint64_t address, struct rt_ipc *ipc_out,
              struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    CUdeviceptr start = 0;
    size_t size_B = 0;
    CUipcMemHandle handle;
    bool ok;
    CUDA_CALL(dev, diag, ok, cuMemGetAddressRange, &start, &size_B, address);
    if (!ok)
        return false;
    CUDA_CALL(dev, diag, ok, cuIpcGetMemHandle, &handle, start);
    if (!ok)
        return false;
    memcpy(ipc_out->bytes, handle.reserved, sizeof ipc_out->bytes);
    ipc_out->size_B = size_B;
    ipc_out->offset_B = address - start;
    return true;
}

static bool
share_ipc_open(struct rt_device *base, const struct rt_ipc *ipc, uint64_t *address_out,
               struct sp_diag *diag)
{
    CUipcMemHandle handle;
    CUdeviceptr address = 0;
    bool ok;
    memcpy(handle.reserved, ipc->bytes, sizeof ipc->bytes);
    CUDA_CALL((struct cuda_device *)base, diag, ok, cuIpcOpenMemHandle, &address, handle,
              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (ok)
        *address_out = address;
    return ok;
}

static bool
share_ipc_close(struct rt_device *base, uint64_t address, uint64_t size_B, struct sp_diag *diag)
{
    bool ok = true;
    (void)size_B;
    if (!cuda_is_lost((struct cuda_device *)base))
        CUDA_CALL((struct cuda_device *)base, diag, ok, cuIpcCloseMemHandle, address);
    return ok;
}

/* It is made when it is first entered. */
static bool
share_context(struct rt_device *base, CUcontext *context_out, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    *context_out = atomic_load(&dev->context);
    cuda_leave(dev, entered);
    return true;
}

static bool
share_can_reach(struct rt_device *base, struct rt_device *other, bool *can_out,
                struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    int can = 0;
    bool ok;
    CUDA_CALL(dev, diag, ok, cuDeviceCanAccessPeer, &can, dev->device,
              ((struct cuda_device *)other)->device);
    if (ok)
        *can_out = can != 0;
    return ok;
}

/* Other libraries share the context: that it is so already is as good. */
static bool
share_reach(struct rt_device *base, struct rt_device *other, bool on, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    CUcontext context;
    if (!share_context(other, &context, diag))
        return false;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    CUresult result = on ? dev->api->cuCtxEnablePeerAccess(context, 0)
                         : dev->api->cuCtxDisablePeerAccess(context);
    bool ok = result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ||
              result == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED ||
              rt_cuda_fail(dev->driver, on ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess",
                           result, diag);
    cuda_leave(dev, entered);
    return ok;
}

static bool
share_copy(struct rt_device *base, uint64_t to, struct rt_device *other, uint64_t from,
           uint64_t size_B, uintptr_t stream, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    CUcontext to_context, from_context;
    bool ok = share_context(base, &to_context, diag) && share_context(other, &from_context, diag);
    if (ok && size_B)
        CUDA_CALL(dev, diag, ok, cuMemcpyPeerAsync, to, to_context, from, from_context, size_B,
                  (CUstream)stream);
    return ok;
}

const struct rt_share_ops rt_cuda_share_ops = {
    .lock = share_lock,
    .unlock = share_unlock,
    .ipc_get = share_ipc_get,
    .ipc_open = share_ipc_open,
    .ipc_close = share_ipc_close,
    .can_reach = share_can_reach,
    .reach = share_reach,
    .copy = share_copy,
};
