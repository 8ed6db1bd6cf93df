/* cuda_code: PTX or a cubin in, launches out. Loading gives a text to the driver's compiler with
 * the options that were set and both logs; what it says on failure is in the diagnostic. A launch
 * is one cuLaunchKernel with the packed parameter area as its `extra` buffer: the artifact's layout
 * is the PTX layout, so nothing is copied or looked up here (an array of pointers, the other
 * way, would have to be filled per launch and makes the driver gather what is already packed).
 * Checks are in rt_cuda_prepare, once per launcher.
 *
 * Code is counted: a launch in flight that may raise keeps its artifact for the message. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

#define CODE_LOG_B 8192

/* The driver takes option values as pointers, whatever their type. */
static void
code_add_option(int *keys, void **values, unsigned *n, int key, uintptr_t value)
{
    keys[*n] = key;
    values[(*n)++] = (void *)value;
}

static bool
code_compile(struct cuda_device *dev, const struct artifact *artifact,
             const struct rt_jit_options *options, char *info, char *error, CUmodule *module_out,
             struct sp_diag *diag)
{
    int keys[RT_JIT_MAX_OPTIONS + 4];
    uintptr_t set[RT_JIT_MAX_OPTIONS];
    void *values[RT_JIT_MAX_OPTIONS + 4];
    unsigned n = artifact->kind == SP_CODE_PTX ? rt_jit_list(options, keys, set) : 0;
    for (unsigned i = 0; i < n; i++)
        values[i] = (void *)set[i];
    info[0] = error[0] = '\0';
    code_add_option(keys, values, &n, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)info);
    code_add_option(keys, values, &n, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CODE_LOG_B);
    code_add_option(keys, values, &n, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)error);
    code_add_option(keys, values, &n, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CODE_LOG_B);

    CUmodule module;
    CUresult result = dev->api->cuModuleLoadDataEx(&module, artifact->code, n, keys, values);
    info[CODE_LOG_B - 1] = error[CODE_LOG_B - 1] = '\0';
    if (result == CUDA_SUCCESS) {
        *module_out = module;
        return true;
    }
    if (result != CUDA_ERROR_INVALID_PTX && result != CUDA_ERROR_NO_BINARY_FOR_GPU &&
        result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION && !error[0])
        return rt_cuda_fail(dev->driver, "cuModuleLoadDataEx", result, diag);
    struct sp_diag why;
    sp_diag_init(&why);
    rt_cuda_fail(dev->driver, "cuModuleLoadDataEx", result, &why);
    sp_diag_set(diag, SP_E_LOAD_FAILED, NULL, artifact->name ? artifact->name : "?", why.message,
                error);
    if (why.hint)
        sp_diag_hint(diag, "%s", why.hint);
    sp_diag_finish(&why);
    return false;
}

static void
code_fill_attributes(struct cuda_device *dev, struct cuda_code *code)
{
    struct rt_attributes *a = &code->base.attributes;
    const struct {
        int attribute;
        uint32_t *field;
    } rows[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a->max_threads},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &a->shared_B},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &a->constant_B},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &a->local_B},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &a->registers},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a->binary_version},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int value = 0;
        if (dev->api->cuFuncGetAttribute(&value, rows[i].attribute, code->function) == CUDA_SUCCESS)
            *rows[i].field = (uint32_t)value;
    }
    a->shared_B += code->base.artifact->added_B;
    uint32_t bound = code->base.artifact->max_threads;
    if (bound && (!a->max_threads || bound < a->max_threads))
        a->max_threads = bound;
}

static struct cuda_code *
code_create(struct cuda_device *dev, struct artifact *artifact, CUmodule module,
            CUfunction function, const char *log)
{
    struct cuda_code *code = sp_alloc(sizeof *code);
    memset(code, 0, sizeof *code);
    code->base.dev = &dev->base;
    code->base.artifact = sp_artifact_share(artifact);
    code->base.log = memcpy(sp_alloc(strlen(log) + 1), log, strlen(log) + 1);
    code->module = module;
    code->function = function;
    for (uint32_t i = 0; i < artifact->n_params; i++) {
        size_t end_B = (size_t)artifact->params[i].offset_B + artifact->params[i].size_B;
        if (end_B > code->params_B)
            code->params_B = end_B;
    }
    code->fault_offset = artifact->n_sites ? rt_param_offset(artifact, SP_PARAM_FAULT) : -1;
    atomic_init(&code->dynamic_B, 0);
    atomic_init(&code->shares, 1);
    code_fill_attributes(dev, code);
    uint32_t plain_B = dev->base.info.shared_B;
    uint32_t own_B = code->base.attributes.shared_B - artifact->added_B;
    atomic_store(&code->dynamic_B, plain_B > own_B ? plain_B - own_B : 0);
    return code;
}

bool
rt_cuda_load(struct rt_device *base, struct artifact *artifact,
             const struct rt_jit_options *options, struct rt_code **code_out, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    if (artifact->kind == SP_CODE_OBJECT)
        return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL,
                           "code compiled for the CPU device was given to a GPU");
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    char *logs = sp_alloc(2 * CODE_LOG_B);
    char *info = logs, *error = logs + CODE_LOG_B;
    CUmodule module;
    CUfunction function;
    CUstreamCaptureMode mode = cuda_relax(dev); /* the first launch may be in a capture */
    bool ok = code_compile(dev, artifact, options, info, error, &module, diag);
    if (ok) {
        CUresult result = dev->api->cuModuleGetFunction(&function, module, artifact->entry);
        if (result == CUDA_SUCCESS) {
            *code_out = &code_create(dev, artifact, module, function, info)->base;
        } else {
            dev->api->cuModuleUnload(module);
            ok = rt_cuda_fail(dev->driver, "cuModuleGetFunction", result, diag);
        }
    }
    cuda_unrelax(dev, mode);
    free(logs);
    cuda_leave(dev, entered);
    return ok;
}

void
rt_cuda_code_drop(struct cuda_code *code)
{
    if (atomic_fetch_sub_explicit(&code->shares, 1, memory_order_acq_rel) != 1)
        return;
    struct cuda_device *dev = (struct cuda_device *)code->base.dev;
    struct sp_diag ignored; /* a context that is dead took its modules along */
    sp_diag_init(&ignored);
    enum cuda_entered entered = cuda_enter(dev, &ignored);
    if (entered != CUDA_ENTER_FAILED) {
        CUstreamCaptureMode mode = cuda_relax(dev);
        dev->api->cuModuleUnload(code->module);
        cuda_unrelax(dev, mode);
    }
    cuda_leave(dev, entered);
    sp_diag_finish(&ignored);
    rt_cuda_recents_retire(&dev->recents, code);
}

void
rt_cuda_unload(struct rt_code *code)
{
    rt_cuda_code_drop((struct cuda_code *)code);
}

static bool
code_grow_shared(struct cuda_device *dev, struct cuda_code *code, uint32_t dynamic_B,
                 struct sp_diag *diag)
{
    CUresult result = dev->api->cuFuncSetAttribute(
        code->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic_B);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuFuncSetAttribute", result, diag);
    atomic_store(&code->dynamic_B, dynamic_B);
    return true;
}

bool
rt_cuda_prepare(struct rt_device *base, struct rt_code *code_base, const struct rt_launch *launch,
                struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_code *code = (struct cuda_code *)code_base;
    int64_t grid[3], block[3];
    for (int i = 0; i < 3; i++)
        grid[i] = launch->grid[i], block[i] = launch->block[i];
    if (!rt_limits_check(&base->info, &code_base->attributes, grid, block, launch->shared_B, diag))
        return false;
    uint32_t dynamic_B = launch->shared_B + code->base.artifact->added_B;
    bool grows = dynamic_B > atomic_load(&code->dynamic_B);
    if (!grows && !code->base.artifact->cooperative)
        return true;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    bool ok = (!grows || code_grow_shared(dev, code, dynamic_B, diag)) &&
              (!code->base.artifact->cooperative || rt_cuda_grid_fits(dev, code, launch, diag));
    cuda_leave(dev, entered);
    return ok;
}

CUresult
rt_cuda_start(struct cuda_device *dev, struct cuda_code *code, const struct rt_launch *launch,
              void *params)
{
    if (code->base.artifact->cooperative)
        return rt_cuda_grid_call(dev, code, launch, params);
    size_t size_B = code->params_B;
    void *extra[] = {CUDA_PARAM_POINTER, params, CUDA_PARAM_SIZE, &size_B, CUDA_PARAM_END};
    return dev->api->cuLaunchKernel(
        code->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], launch->shared_B + code->base.artifact->added_B,
        (CUstream)launch->stream, NULL, size_B ? extra : NULL);
}

bool
rt_cuda_launch(struct rt_device *base, struct rt_code *code_base, const struct rt_launch *launch,
               void *params, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_code *code = (struct cuda_code *)code_base;
    enum cuda_entered entered = CUDA_ENTERED;
    if (!launch->is_here || cuda_is_lost(dev))
        entered = cuda_enter(dev, diag);
    if (__builtin_expect(entered == CUDA_ENTER_FAILED, 0))
        return false;
    if (launch->stream > RT_STREAM_LEGACY && cuda_is_capturing(dev, launch->stream)) {
        bool captured = rt_cuda_capture_launch(dev, code, launch, params, diag);
        cuda_leave(dev, entered);
        return captured;
    }
    bool raises = code->fault_offset >= 0;
    uint32_t slot = 0;
    CUresult result = CUDA_SUCCESS;
    bool ok = true;
    if (raises) {
        uint64_t address = 0;
        ok = rt_cuda_fault_take(dev, code, launch, &slot, &address, diag);
        memcpy((char *)params + code->fault_offset, &address, sizeof address);
    }
    bool taken = raises && ok;
    if (ok && code->base.artifact->cooperative)
        ok = rt_cuda_grid_start(dev, code, launch, params, &result, diag);
    else if (ok)
        result = rt_cuda_start(dev, code, launch, params);
    if (__builtin_expect(ok && result == CUDA_SUCCESS, 1))
        cuda_recents_add(&dev->recents, code, launch, params);
    if (taken && ok && result == CUDA_SUCCESS)
        rt_cuda_fault_launched(dev, slot);
    else if (taken)
        rt_cuda_fault_give_back(dev, slot);
    /* A driver that waits for each launch answers for this one, else for earlier ones. */
    if (__builtin_expect(result != CUDA_SUCCESS, 0) && getenv("CUDA_LAUNCH_BLOCKING"))
        cuda_recents_add(&dev->recents, code, launch, params);
    if (__builtin_expect(result != CUDA_SUCCESS, 0))
        ok = rt_cuda_fail(dev->driver,
                          code->base.artifact->cooperative ? "cuLaunchCooperativeKernel"
                                                           : "cuLaunchKernel",
                          result, diag);
    cuda_leave(dev, entered);
    return ok;
}
