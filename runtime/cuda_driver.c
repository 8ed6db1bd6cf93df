/* cuda_driver: finds libcuda and its functions. In: a path, or the names under which drivers
 * install themselves. Out: struct cuda_api by the table cuda_api.def, or why not and what to do
 * about it: no library, a library without its kernel module, a driver that is too old (with the
 * first function that is missing), no device. Also the one place that turns a CUresult into a
 * diagnostic.
 *
 * dlopen and not linking, so that the same binary starts on a machine without a driver; dlsym by
 * versioned symbol and not cuGetProcAddress, which needs CUDA 11.3 and would answer with newer
 * variants of a function than the signature in the table. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

static void *
driver_open(struct cuda_driver *driver, const char *library)
{
    static const char *const usual[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                        "libcuda.so"};
    size_t n = library ? 1 : sizeof usual / sizeof usual[0];
    for (size_t i = 0; i < n; i++) {
        const char *name = library ? library : usual[i];
        void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            sp_str_add(&driver->library, name);
            return handle;
        }
        if (i == 0) {
            const char *why = dlerror();
            sp_str_printf(&driver->why_not, "%s", why ? why : "it cannot be opened");
        }
    }
    if (library)
        sp_str_add(&driver->hint, "GPUJIT_CUDA_LIBRARY names this file");
    else
        sp_str_add(&driver->hint,
                   "install NVIDIA's driver (a toolkit is not needed), and in a "
                   "container pass the GPU in; kernels run on the CPU device without");
    return NULL;
}

/* The name of the first required function that is missing and its version, or NULL. */
static const char *
driver_fill_api(struct cuda_driver *driver, int *version_out)
{
    const char *missing = NULL;
    /* POSIX lets an object pointer hold a function's address; ISO C needs the copy. */
#define CUDA_API(name, symbol, first, required, parameters)                                        \
    do {                                                                                           \
        void *address = dlsym(driver->handle, #symbol);                                            \
        memcpy(&driver->api.name, &address, sizeof address);                                       \
        if (!address && (required) && !missing)                                                    \
            missing = #symbol, *version_out = first;                                               \
    } while (0);
#include "runtime/cuda_api.def"
    return missing;
}

static void
driver_explain_init(struct cuda_driver *driver, CUresult result)
{
    const char *name = NULL, *text = NULL;
    driver->api.cuGetErrorName(result, &name);
    driver->api.cuGetErrorString(result, &text);
    sp_str_printf(&driver->why_not, "cuInit failed: %s (%s)", name ? name : "unknown error",
                  text ? text : "the driver does not say why");
    if (result == CUDA_ERROR_NO_DEVICE)
        sp_str_add(&driver->hint, "the driver is there but sees no GPU: is CUDA_VISIBLE_DEVICES "
                                  "empty, or the GPU not passed into the container?");
    else if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
        sp_str_add(&driver->hint,
                   "libcuda and the kernel module are of different versions: reboot, "
                   "or install the same version of both");
}

static bool
driver_start(struct cuda_driver *driver, const char *library)
{
    driver->handle = driver_open(driver, library);
    if (!driver->handle)
        return false;
    int needed = 0;
    const char *missing = driver_fill_api(driver, &needed);
    if (driver->api.cuDriverGetVersion)
        driver->api.cuDriverGetVersion(&driver->info.version);
    if (missing) {
        int version = driver->info.version;
        sp_str_printf(&driver->why_not, "%s (CUDA %d.%d) lacks %s, which came with CUDA %d.%d",
                      driver->library.data, version / 1000, version % 1000 / 10, missing,
                      needed / 1000, needed % 1000 / 10);
        sp_str_add(&driver->hint, "update NVIDIA's driver");
        return false;
    }
    CUresult result = driver->api.cuInit(0);
    driver->pid = getpid();
    if (result != CUDA_SUCCESS) {
        driver_explain_init(driver, result);
        return false;
    }
    int count = 0;
    result = driver->api.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS) {
        sp_str_printf(&driver->why_not, "cuDeviceGetCount failed with error %d", result);
        return false;
    }
    driver->info.n_devices = (uint32_t)count;
    return true;
}

struct cuda_driver *
rt_cuda_driver_create(const char *library)
{
    struct cuda_driver *driver = sp_alloc(sizeof *driver);
    memset(driver, 0, sizeof *driver);
    driver->opened = sp_alloc(sizeof *driver->opened);
    memset(driver->opened, 0, sizeof *driver->opened);
    pthread_mutex_init(&driver->opened->lock, NULL);
    sp_str_init(&driver->library);
    sp_str_init(&driver->why_not);
    sp_str_init(&driver->hint);
    driver->info.found = driver_start(driver, library);
    if (driver->info.found) {
        sp_str_clear(&driver->why_not);
        sp_str_clear(&driver->hint);
    }
    driver->info.library = driver->library.data;
    driver->info.why_not = driver->why_not.data;
    driver->info.hint = driver->hint.data;
    return driver;
}

/* The library stays open: other parts of the process may hold what it gave out, and a driver
 * that is unloaded while its threads run crashes. */
void
rt_cuda_driver_destroy(struct cuda_driver *driver)
{
    if (!driver)
        return;
    sp_str_finish(&driver->library);
    sp_str_finish(&driver->why_not);
    sp_str_finish(&driver->hint);
    sp_vec_finish(&driver->opened->devices);
    pthread_mutex_destroy(&driver->opened->lock);
    free(driver->opened);
    free(driver);
}

const struct rt_driver *
rt_cuda_driver_info(const struct cuda_driver *driver)
{
    return &driver->info;
}

static const char *
driver_hint(const struct cuda_driver *driver, CUresult result)
{
    switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
        if (driver->pid != getpid())
            return "the GPU cannot be used in a process forked from one that uses it: "
                   "multiprocessing's 'spawn' or 'forkserver' method works";
        return NULL;
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        return "the memory, or a page of it, is locked already; gpu.pinned_array and "
               "gpu.mapped_array make arrays with pages of their own";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        return "the block needs more registers or shared memory than there are: fewer threads per "
               "block, or max_registers";
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return "the driver is older than the PTX version: update it";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        return "the code was compiled for another architecture than this GPU's";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
        return "a stream that is captured into a graph cannot be waited for or asked, and host "
               "arrays are not taken there: end the capture first";
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
        return "an earlier call has spoilt the capture; its error says why";
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
        return "another stream came into the capture by an event and did not come back: record an "
               "event on it and let the first stream wait for that before the capture ends";
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
        return "work in a capture can wait for work of the same capture only: record the event on "
               "a stream of the capture, or wait for it before the capture begins";
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        return "the default stream was used while a stream that waits for it is captured: name the "
               "captured stream, or capture on gpu.stream(non_blocking=True)";
    case CUDA_ERROR_CAPTURED_EVENT:
        return "the event was recorded in a capture, it stands for a place in the graph; record "
               "another one behind the replay";
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
        return "a capture ends on the stream and in the thread that began it";
    default: return NULL;
    }
}

bool
rt_cuda_fail(const struct cuda_driver *driver, const char *function, CUresult result,
             struct sp_diag *diag)
{
    const char *name = NULL, *text = NULL;
    driver->api.cuGetErrorName(result, &name);
    driver->api.cuGetErrorString(result, &text);
    name = name ? name : "unknown error";
    text = text ? text : "the driver does not say why";
    char what[200];
    snprintf(what, sizeof what, "%s (%s), said by %s", name, text, function);
    if (rt_cuda_lost(driver, result, what, diag))
        return false;
    sp_diag_set(diag, SP_E_DRIVER_FAILED, NULL, function, name, text);
    const char *hint = driver_hint(driver, result);
    return hint ? sp_diag_hint(diag, "%s", hint) : false;
}
