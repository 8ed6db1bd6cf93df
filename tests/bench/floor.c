/* floor: what a launch costs without us, for launch.py: a C loop over cuLaunchKernel on the same
 * kernel, grid, block and arguments, in the same context. Built by launch.py with the system's
 * compiler; finds the driver with dlopen, so no CUDA header is needed. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int (*load_fn)(void **module, const void *image);
typedef int (*function_fn)(void **function, void *module, const char *name);
typedef int (*launch_fn)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                         unsigned by, unsigned bz, unsigned shared_B, void *stream, void **params,
                         void **extra);
typedef int (*sync_fn)(void);

static struct {
    launch_fn launch;
    sync_fn sync;
} floor_state;

static double
floor_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Loads PTX text into the current context. Returns the driver's error, or -1 without a driver. */
int
floor_load(const char *ptx, const char *entry, double *load_us, void **function_out)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return -1;
    load_fn load = (load_fn)dlsym(cuda, "cuModuleLoadData");
    function_fn function = (function_fn)dlsym(cuda, "cuModuleGetFunction");
    floor_state.launch = (launch_fn)dlsym(cuda, "cuLaunchKernel");
    floor_state.sync = (sync_fn)dlsym(cuda, "cuCtxSynchronize");
    void *module;
    double start = floor_now_us();
    int error = load(&module, ptx);
    *load_us = floor_now_us() - start;
    return error ? error : function(function_out, module, entry);
}

/* Microseconds per launch over `n` launches after a synchronisation; negative: the driver's
 * error. */
double
floor_burst(void *function, int n, unsigned grid, unsigned block, void **params)
{
    floor_state.sync();
    double start = floor_now_us();
    for (int i = 0; i < n; i++) {
        int error = floor_state.launch(function, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL);
        if (error)
            return -error;
    }
    double us = (floor_now_us() - start) / n;
    floor_state.sync();
    return us;
}
