/* Our declarations of the driver API against NVIDIA's, where cuda.h is found: every signature,
 * every constant and the size of every type. All of it is decided at compile time. */
/* So that the header declares every version of a function by its own name. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdbool.h>
#include <stdio.h>

#define CUDA_API(name, symbol, version, required, parameters)                                      \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) parameters),      \
                   #symbol " has another signature in cuda.h");
#include "runtime/cuda_api.def"

#define CUDA_CONST(name, value) _Static_assert((int)name == value, #name);
#include "runtime/cuda_const.def"

#define RT_ATTRIBUTE(name, number, cpu) _Static_assert(CU_DEVICE_ATTRIBUTE_##name == number, #name);
#include "runtime/attributes.def"

/* The rows of jit.def name their options in their own way. */
enum jit_option {
    jit_max_registers = CU_JIT_MAX_REGISTERS,
    jit_opt_level = CU_JIT_OPTIMIZATION_LEVEL,
    jit_debug = CU_JIT_GENERATE_DEBUG_INFO,
    jit_verbose = CU_JIT_LOG_VERBOSE,
    jit_line_info = CU_JIT_GENERATE_LINE_INFO,
    jit_ftz = CU_JIT_FTZ,
    jit_prec_div = CU_JIT_PREC_DIV,
    jit_prec_sqrt = CU_JIT_PREC_SQRT,
    jit_fma = CU_JIT_FMA,
};
#define RT_JIT_OPTION(name, driver, plain, lowest, highest, meaning)                               \
    _Static_assert((int)jit_##name == driver, #name);
#include "runtime/jit.def"

/* cuda_t.h declares all enumerations as int and CUuuid as 16 bytes. */
_Static_assert(sizeof(CUresult) == sizeof(int), "CUresult");
_Static_assert(sizeof(CUdevice) == sizeof(int), "CUdevice");
_Static_assert(sizeof(CUdevice_attribute) == sizeof(int), "CUdevice_attribute");
_Static_assert(sizeof(CUfunction_attribute) == sizeof(int), "CUfunction_attribute");
_Static_assert(sizeof(CUpointer_attribute) == sizeof(int), "CUpointer_attribute");
_Static_assert(sizeof(CUjit_option) == sizeof(int), "CUjit_option");
_Static_assert(sizeof(CUjitInputType) == sizeof(int), "CUjitInputType");
_Static_assert(sizeof(CUdeviceptr) == sizeof(unsigned long long), "CUdeviceptr");
_Static_assert(sizeof(CUstreamCaptureMode) == sizeof(int), "CUstreamCaptureMode");
_Static_assert(sizeof(CUstreamCaptureStatus) == sizeof(int), "CUstreamCaptureStatus");
#include <stddef.h>
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72, "CUDA_KERNEL_NODE_PARAMS");
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX) == 8, "gridDimX");
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) == 32, "sharedMemBytes");
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, extra) == 48, "extra");
_Static_assert(sizeof(CUuuid) == 16, "CUuuid");
_Static_assert(CU_LAUNCH_PARAM_END_AS_INT == 0, "end");
_Static_assert(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT == 1, "pointer");
_Static_assert(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT == 2, "size");

int
main(void)
{
    printf("every row agrees with cuda.h of CUDA %d.%d\n", CUDA_VERSION / 1000,
           CUDA_VERSION % 1000 / 10);
    return 0;
}
