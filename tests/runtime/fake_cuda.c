/* A stand-in for libcuda: two devices without memory protection or kernels. It records what it is
 * called with and fails on order, so that the cuda device is tested on a machine without a GPU.
 * Contexts and who owns which memory are in fake_context.c, memory is in fake_memory.c, events are
 * in fake_stream.c; "launching" keeps a copy of the parameters and, on order, raises. With
 * FAKE_OLD it lacks a function that newer drivers have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/artifact.h"
#include "tests/runtime/fake_cuda.h"

/* Each function against the table that the runtime calls it by. */
#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

static struct fake_cuda fake = {.fault_site = -1};

struct fake_cuda *
fake_cuda(void)
{
    if (!fake.get_current) { /* it was cleared; threads start later */
        fake.get_current = fake_get_current;
        fake.set_current = fake_set_current;
        fake.retain = fake_retain;
    }
    return &fake;
}

CUresult
cuInit(unsigned int flags)
{
    const char *order = getenv("FAKE_CUDA_INIT");
    fake_start();
    return order ? atoi(order) : (CUresult)flags;
}

CUresult
cuDriverGetVersion(int *version)
{
    *version = 12040;
    return CUDA_SUCCESS;
}

CUresult
cuGetErrorName(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == CUDA_ERROR_INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX"
            : error == CUDA_ERROR_NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
                                                : "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
}

CUresult
cuGetErrorString(CUresult error, const char **text)
{
    if (error == 999)
        return CUDA_ERROR_INVALID_VALUE; /* and `*text` stays as it was */
    *text = "said the fake";
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetCount(int *count)
{
    *count = FAKE_N_DEVICES;
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal < FAKE_N_DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult
cuDeviceGetPCIBusId(char *text, int size_B, CUdevice device)
{
    snprintf(text, (size_t)size_B, "0000:%02x:00.0", 0x3b + device);
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetName(char *name, int size_B, CUdevice device)
{
    strncpy(name, device ? "Fake GPU B" : "Fake GPU A", (size_t)size_B);
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    memset(uuid, 0x40 + device, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult
cuDeviceTotalMem_v2(size_t *size_B, CUdevice device)
{
    *size_B = (size_t)(device + 1) << 30;
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    static const int values[128] = {
        [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 0x7fffffff,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
        [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
        [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
        [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
        [CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132,
        [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9,
        [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448,
    };
    const char *same = getenv("FAKE_CUDA_SAME"); /* both devices of one architecture */
    if (attribute < 1 || attribute >= 128)
        return CUDA_ERROR_INVALID_VALUE;
    *value = values[attribute];
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR && !same)
        *value += device;
    return CUDA_SUCCESS;
}

CUresult
cuCtxSynchronize(void)
{
    FAKE_NEEDS_CONTEXT;
    CUresult allowed = fake_check_everything();
    if (allowed != CUDA_SUCCESS)
        return allowed;
    fake.n_syncs++;
    return fake.wait_result;
}

CUresult
cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n_options,
                   CUjit_option *options, void **values)
{
    FAKE_NEEDS_CONTEXT;
    FAKE_IS_UNSAFE;
    fake_lock();
    strncpy(fake.ptx, image, sizeof fake.ptx - 1);
    fake.n_options = n_options;
    for (unsigned i = 0; i < n_options && i < 32; i++) {
        fake.keys[i] = options[i];
        fake.values[i] = (uintptr_t)values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER && fake.error_log)
            strcpy(values[i], fake.error_log);
    }
    bool is_cubin = !memcmp(image, FAKE_CUBIN, 4);
    CUresult result = fake.load_result != CUDA_SUCCESS ? fake.load_result
                      : is_cubin                       ? fake.cubin_result
                                                       : CUDA_SUCCESS;
    fake.n_cubin_loads += is_cubin && result == CUDA_SUCCESS;
    fake.n_ptx_loads += !is_cubin && result == CUDA_SUCCESS;
    fake.n_modules += result == CUDA_SUCCESS;
    fake_unlock();
    *module = (CUmodule)(uintptr_t)0x3000;
    return result;
}

CUresult
cuModuleUnload(CUmodule module)
{
    FAKE_NEEDS_CONTEXT;
    FAKE_IS_UNSAFE;
    fake.n_modules -= module == (CUmodule)(uintptr_t)0x3000;
    return CUDA_SUCCESS;
}

CUresult
cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    FAKE_NEEDS_CONTEXT;
    if (module != (CUmodule)(uintptr_t)0x3000 || strcmp(name, "entry"))
        return 500; /* CUDA_ERROR_NOT_FOUND */
    *function = (CUfunction)(uintptr_t)0x4000;
    return CUDA_SUCCESS;
}

CUresult
cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    FAKE_NEEDS_CONTEXT;
    (void)function;
    if (attribute < 0 || attribute >= 16)
        return CUDA_ERROR_INVALID_VALUE;
    static const int values[16] = {
        [CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 640,
        [CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = 1024,
        [CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = 16,
        [CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = 8,
        [CU_FUNC_ATTRIBUTE_NUM_REGS] = 96,
        [CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90,
    };
    *value = values[attribute];
    return CUDA_SUCCESS;
}

#ifndef FAKE_OLD
CUresult
cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    FAKE_NEEDS_CONTEXT;
    (void)function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        fake.dynamic_B = value;
    return CUDA_SUCCESS;
}
#endif

/* The device's limits, and what a function may have of shared memory before it asks for more. */
static bool
fake_sizes_fit(const unsigned sizes[7])
{
    static const unsigned most[6] = {0x7fffffff, 65535, 65535, 1024, 1024, 64};
    for (int i = 0; i < 6; i++)
        if (!sizes[i] || sizes[i] > most[i])
            return false;
    unsigned plain_B = 49152 - 1024, dynamic_B = (unsigned)fake.dynamic_B;
    return (unsigned long long)sizes[3] * sizes[4] * sizes[5] <= 1024 &&
           sizes[6] <= (dynamic_B > plain_B ? dynamic_B : plain_B);
}

/* The fault's address is the last 8 bytes, as in the test's artifact. */
static void
fake_raise(void)
{
    uint64_t address;
    memcpy(&address, fake.params + fake.params_B - 8, 8);
    struct sp_fault *fault = (struct sp_fault *)(uintptr_t)address;
    fault->site = (uint32_t)fake.fault_site;
    fault->block[0] = 3;
    fault->thread[0] = 5;
    fault->values[0] = 11 + fake.fault_more;
    fault->values[2] = 1;
    fault->values[3] = 10;
    __atomic_store_n(&fault->state, 2, __ATOMIC_RELEASE);
}

CUresult
cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
               unsigned int block_x, unsigned int block_y, unsigned int block_z,
               unsigned int shared_B, CUstream stream, void **params, void **extra)
{
    FAKE_NEEDS_STREAM(stream);
    const unsigned sizes[7] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_B};
    if (fake.launch_result != CUDA_SUCCESS || function != (CUfunction)(uintptr_t)0x4000 || params ||
        !fake_sizes_fit(sizes))
        return fake.launch_result ? fake.launch_result : CUDA_ERROR_INVALID_VALUE;
    if (fake_graph_take(stream, function, sizes, extra))
        return CUDA_SUCCESS;
    fake_lock();
    fake.n_launches++;
    fake_note('l', stream, NULL);
    unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    memcpy(fake.grid, grid, sizeof grid);
    memcpy(fake.block, block, sizeof block);
    fake.shared_B = shared_B;
    fake.stream = stream;
    fake.has_params = extra != NULL;
    fake.params_B = 0;
    for (void **e = extra; e && *e != CUDA_PARAM_END; e += 2)
        if (*e == CUDA_PARAM_SIZE)
            fake.params_B = *(size_t *)e[1];
    for (void **e = extra; e && *e != CUDA_PARAM_END; e += 2)
        if (*e == CUDA_PARAM_POINTER)
            memcpy(fake.params, e[1], fake.params_B);
    if (fake.fault_site >= 0)
        fake_raise();
    bool reaches = fake_can_reach(fake.params, fake.params_B);
    fake_unlock();
    return reaches ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult
cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                          unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                          unsigned int block_z, unsigned int shared_B, CUstream stream,
                          void **params)
{
    FAKE_NEEDS_STREAM(stream);
    const unsigned sizes[7] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_B};
    if (fake.launch_result != CUDA_SUCCESS || !fake_sizes_fit(sizes))
        return fake.launch_result ? fake.launch_result : CUDA_ERROR_INVALID_VALUE;
    unsigned char packed[24] = {0}; /* as below */
    size_t packed_B = sizeof packed;
    memcpy(packed, params[0], 8);
    memcpy(packed + 8, params[1], 4);
    memcpy(packed + 16, params[2], 8);
    void *extra[] = {CUDA_PARAM_POINTER, packed, CUDA_PARAM_SIZE, &packed_B, CUDA_PARAM_END};
    if (fake_graph_take(stream, function, sizes, extra))
        return CUDA_SUCCESS;
    unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    fake.n_cooperative++;
    memcpy(fake.grid, grid, sizeof grid);
    memcpy(fake.block, block, sizeof block);
    fake.shared_B = shared_B;
    fake.stream = stream;
    memcpy(fake.params, packed, sizeof packed); /* an int64, a float, the address of the grid */
    return CUDA_SUCCESS;
}

CUresult
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction function, int block, size_t shared_B)
{
    FAKE_NEEDS_CONTEXT;
    (void)function;
    *n = block > 512 || shared_B > 1000 ? 1 : 3;
    return CUDA_SUCCESS;
}

CUresult
cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    FAKE_NEEDS_CONTEXT;
    int owner = fake_owner(address);
    if (owner >= 0) {
        *(int *)value = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE      ? CU_MEMORYTYPE_DEVICE
                        : attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? owner
                                                                           : 0;
        return CUDA_SUCCESS;
    }
    if (address != FAKE_MANAGED_AT && address != FAKE_DEVICE_AT && address != FAKE_PINNED_AT)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)value = address == FAKE_PINNED_AT ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
        *(unsigned *)value = address == FAKE_MANAGED_AT;
    else
        *(int *)value = 1;
    return CUDA_SUCCESS;
}

CUresult
cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size_B, CUstream stream)
{
    FAKE_NEEDS_STREAM(stream);
    fake.stream = stream;
    memcpy((void *)(uintptr_t)to, from, size_B);
    return CUDA_SUCCESS;
}

CUresult
cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size_B, CUstream stream)
{
    return cuMemcpyHtoDAsync_v2((uintptr_t)to, (const void *)(uintptr_t)from, size_B, stream);
}

CUresult
cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size_B, CUstream stream)
{
    return cuMemcpyHtoDAsync_v2(to, (const void *)(uintptr_t)from, size_B, stream);
}

CUresult
cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    FAKE_NEEDS_STREAM(stream);
    fake.stream = stream;
    memset((void *)(uintptr_t)to, value, count);
    return CUDA_SUCCESS;
}

CUresult
cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    FAKE_NEEDS_STREAM(stream);
    fake.stream = stream;
    for (size_t i = 0; i < count; i++)
        ((unsigned short *)(uintptr_t)to)[i] = value;
    return CUDA_SUCCESS;
}

CUresult
cuMemsetD2D32Async(CUdeviceptr to, size_t pitch_B, unsigned int value, size_t width, size_t height,
                   CUstream stream)
{
    FAKE_NEEDS_STREAM(stream);
    fake.stream = stream;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            *(unsigned *)(uintptr_t)(to + y * pitch_B + x * 4) = value;
    return CUDA_SUCCESS;
}

CUresult
cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    return cuMemsetD2D32Async(to, 4, value, 1, count, stream);
}
