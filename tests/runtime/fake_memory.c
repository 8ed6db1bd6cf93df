/* The stand-in's memory, which is the heap: what the driver was asked for, how often, and how much
 * of it there is. */
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/fake_cuda.h"

#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

static CUresult
memory_take(CUdeviceptr *address, size_t size_B)
{
    struct fake_cuda *fake = fake_cuda();
    if (fake->alloc_result != CUDA_SUCCESS)
        return fake->alloc_result;
    if (fake->capturing && !fake->relaxed)
        return 900; /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
    if (fake->memory_B && fake->used_B + size_B > fake->memory_B)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t *block = aligned_alloc(512, (size_B + 512 + 511) / 512 * 512);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *block = size_B;
    fake->used_B += size_B;
    fake->n_allocs++;
    *address = (uintptr_t)block + 512;
    return CUDA_SUCCESS;
}

static CUresult
memory_give(CUdeviceptr address)
{
    size_t *block = (size_t *)(uintptr_t)(address - 512);
    fake_cuda()->used_B -= *block;
    fake_disown(address);
    free(block);
    return CUDA_SUCCESS;
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
    CUresult result = memory_take(address, size_B);
    fake_cuda()->n_memory += result == CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        fake_own(*address, size_B);
    return result;
}

CUresult
cuMemAllocManaged(CUdeviceptr *address, size_t size_B, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    if (flags != CU_MEM_ATTACH_GLOBAL)
        return CUDA_ERROR_INVALID_VALUE;
    return cuMemAlloc_v2(address, size_B);
}

CUresult
cuMemFree_v2(CUdeviceptr address)
{
    FAKE_NEEDS_CONTEXT;
    fake_cuda()->n_memory--;
    return memory_give(address);
}

CUresult
cuMemHostAlloc(void **address, size_t size_B, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    CUdeviceptr at = 0;
    if (!(flags & CU_MEMHOSTALLOC_DEVICEMAP))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = memory_take(&at, size_B);
    fake_cuda()->n_host += result == CUDA_SUCCESS;
    *address = (void *)(uintptr_t)at;
    return result;
}

CUresult
cuMemFreeHost(void *address)
{
    FAKE_NEEDS_CONTEXT;
    fake_cuda()->n_host--;
    return memory_give((uintptr_t)address);
}

CUresult
cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned int flags)
{
    (void)flags;
    *address = (uintptr_t)host;
    return CUDA_SUCCESS;
}
