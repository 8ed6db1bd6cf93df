/* The stand-in's memory, which is the heap: what the driver was asked for, how often, and how much
 * of it there is. */
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/fake_cuda.h"

#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

enum memory_kind { MEMORY_DEVICE = 0x5de1, MEMORY_MANAGED, MEMORY_HOST };

static CUresult
memory_take(CUdeviceptr *address, size_t size_B, enum memory_kind kind)
{
    struct fake_cuda *fake = fake_cuda();
    if (fake->alloc_result != CUDA_SUCCESS)
        return fake->alloc_result;
    FAKE_IS_UNSAFE;
    if (!size_B)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake->memory_B && fake->used_B + size_B > fake->memory_B)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t *block = aligned_alloc(512, (size_B + 512 + 511) / 512 * 512);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    block[0] = size_B;
    block[1] = kind;
    fake->used_B += size_B;
    fake->n_allocs++;
    *address = (uintptr_t)block + 512;
    return CUDA_SUCCESS;
}

/* Only what was allocated by the function's own kind of call, and its first byte. */
static CUresult
memory_give(CUdeviceptr address, bool host)
{
    FAKE_IS_UNSAFE;
    if (address % 512)
        return CUDA_ERROR_INVALID_VALUE;
    size_t *block = (size_t *)(uintptr_t)(address - 512);
    if (block[1] < MEMORY_DEVICE || block[1] > MEMORY_HOST || (block[1] == MEMORY_HOST) != host)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->used_B -= block[0];
    block[1] = 0;
    fake_disown(address);
    free(block);
    return CUDA_SUCCESS;
}

static CUresult
memory_take_device(CUdeviceptr *address, size_t size_B, enum memory_kind kind)
{
    CUresult result = memory_take(address, size_B, kind);
    fake_cuda()->n_memory += result == CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        fake_own(*address, size_B);
    return result;
}

CUresult
cuMemGetInfo_v2(size_t *free_B, size_t *total_B)
{
    FAKE_NEEDS_CONTEXT;
    struct fake_cuda *fake = fake_cuda();
    *total_B = fake->memory_B ? fake->memory_B : 2000;
    *free_B = fake->memory_B ? fake->memory_B - fake->used_B : 1000;
    return CUDA_SUCCESS;
}

CUresult
cuMemAlloc_v2(CUdeviceptr *address, size_t size_B)
{
    FAKE_NEEDS_CONTEXT;
    return memory_take_device(address, size_B, MEMORY_DEVICE);
}

CUresult
cuMemAllocManaged(CUdeviceptr *address, size_t size_B, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    if (flags != CU_MEM_ATTACH_GLOBAL)
        return CUDA_ERROR_INVALID_VALUE;
    return memory_take_device(address, size_B, MEMORY_MANAGED);
}

CUresult
cuMemFree_v2(CUdeviceptr address)
{
    FAKE_NEEDS_CONTEXT;
    CUresult result = memory_give(address, false);
    fake_cuda()->n_memory -= result == CUDA_SUCCESS;
    return result;
}

CUresult
cuMemHostAlloc(void **address, size_t size_B, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    CUdeviceptr at = 0;
    if (!(flags & CU_MEMHOSTALLOC_DEVICEMAP))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = memory_take(&at, size_B, MEMORY_HOST);
    fake_cuda()->n_host += result == CUDA_SUCCESS;
    *address = (void *)(uintptr_t)at;
    return result;
}

CUresult
cuMemFreeHost(void *address)
{
    FAKE_NEEDS_CONTEXT;
    CUresult result = memory_give((uintptr_t)address, true);
    fake_cuda()->n_host -= result == CUDA_SUCCESS;
    return result;
}

CUresult
cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    *address = (uintptr_t)host;
    return CUDA_SUCCESS;
}

static uintptr_t
memory_page(const void *host, size_t offset_B)
{
    return ((uintptr_t)host + offset_B) / 4096;
}

CUresult
cuMemHostRegister_v2(void *host, size_t size_B, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    struct fake_cuda *fake = fake_cuda();
    if (!host || !size_B || flags & ~15u)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < FAKE_N_REGISTERED; i++) /* pages are registered whole */
        if (fake->registered[i] && memory_page(host, 0) <= fake->registered_last[i] &&
            memory_page(fake->registered[i], 0) <= memory_page(host, size_B - 1))
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    for (int i = 0; i < FAKE_N_REGISTERED; i++)
        if (!fake->registered[i]) {
            fake->registered[i] = host;
            fake->registered_last[i] = memory_page(host, size_B - 1);
            fake->n_registered++;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult
cuMemHostUnregister(void *host)
{
    FAKE_NEEDS_CONTEXT;
    struct fake_cuda *fake = fake_cuda();
    for (int i = 0; i < FAKE_N_REGISTERED; i++)
        if (fake->registered[i] == host) {
            fake->registered[i] = NULL;
            fake->n_registered--;
            return CUDA_SUCCESS;
        }
    return 713; /* CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED */
}

/* Every address begins an allocation of so many bytes. */
CUresult
cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size_B, CUdeviceptr address)
{
    FAKE_NEEDS_CONTEXT;
    *start = address & ~(CUdeviceptr)511;
    *size_B = 4096;
    return CUDA_SUCCESS;
}

CUresult
cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    FAKE_NEEDS_CONTEXT;
    memset(handle, 0, sizeof *handle);
    memcpy(handle->reserved, &address, sizeof address);
    return CUDA_SUCCESS;
}

CUresult
cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(address, handle.reserved, sizeof *address);
    fake_cuda()->n_ipc_open++;
    return CUDA_SUCCESS;
}

CUresult
cuIpcCloseMemHandle(CUdeviceptr address)
{
    FAKE_NEEDS_CONTEXT;
    fake_cuda()->n_ipc_open--;
    return address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult
cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    if (flags || peer == fake_cuda()->get_current())
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_cuda()->peer == peer)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    fake_cuda()->peer = peer;
    return CUDA_SUCCESS;
}

CUresult
cuCtxDisablePeerAccess(CUcontext peer)
{
    FAKE_NEEDS_CONTEXT;
    if (fake_cuda()->peer != peer)
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    fake_cuda()->peer = NULL;
    return CUDA_SUCCESS;
}

CUresult
cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                  size_t size_B, CUstream stream)
{
    FAKE_NEEDS_STREAM(stream);
    if (to_context == from_context)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->stream = stream;
    fake_cuda()->n_peer_copies++;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size_B);
    return CUDA_SUCCESS;
}

/* For programs in Python, which count calls. */
int fake_cuda_calls(void);

int
fake_cuda_calls(void)
{
    return fake_cuda()->n_calls;
}
