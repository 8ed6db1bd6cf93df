/* cuda_context: a GPU's contexts. In: a device, or nothing but the thread. Out: the device's
 * context as the thread's current one, or the device that belongs to what is current.
 *
 * A device works in the primary context, which torch, CuPy and the CUDA runtime use too, so that
 * their pointers and streams are ours. It is retained when it is first needed and not when the
 * device is opened: asking a machine for the names of its GPUs shall not cost memory on each. A
 * context that another library made by itself, and made current, gets a device object of its own,
 * with the same number: memory and code belong to a context.
 *
 * Making a context current compares first (cuCtxGetCurrent, some ns): as a rule it is already; if
 * none is, ours is set and stays, as the CUDA runtime does it; another one is pushed aside for the
 * call. */
#include <stdio.h>

#include "runtime/cuda_t.h"

bool
rt_cuda_driver_is_forked(const struct cuda_driver *driver)
{
    return driver->pid != getpid();
}

bool
rt_cuda_forked(int ordinal, struct sp_diag *diag)
{
    char name[24];
    snprintf(name, sizeof name, "cuda:%d", ordinal);
    sp_diag_set(diag, SP_E_FORKED, NULL, name);
    return sp_diag_hint(diag,
                        "start processes by multiprocessing's 'spawn' or 'forkserver' method, "
                        "or use no GPU before the fork; the CPU device works in both");
}

/* Retains the primary context if that was not done yet. */
static bool
context_get(struct cuda_device *dev, CUcontext *context_out, struct sp_diag *diag)
{
    if (rt_device_is_inherited(&dev->base))
        return rt_cuda_forked(dev->base.info.ordinal, diag);
    CUcontext context = atomic_load(&dev->context);
    CUresult result = CUDA_SUCCESS;
    if (context == CUDA_NO_CONTEXT) {
        pthread_mutex_lock(&dev->context_lock);
        context = atomic_load(&dev->context);
        if (context == CUDA_NO_CONTEXT && !rt_device_was_reset(&dev->base)) {
            result = dev->api->cuDevicePrimaryCtxRetain(&context, dev->device);
            if (result == CUDA_SUCCESS)
                atomic_store(&dev->context, context);
        }
        pthread_mutex_unlock(&dev->context_lock);
    }
    if (rt_device_was_reset(&dev->base))
        return rt_say_reset(&dev->base, diag);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuDevicePrimaryCtxRetain", result, diag);
    *context_out = context;
    return true;
}

enum cuda_entered
rt_cuda_enter_slow(struct cuda_device *dev, struct sp_diag *diag)
{
    CUcontext current = NULL, own;
    if (!context_get(dev, &own, diag))
        return CUDA_ENTER_FAILED;
    if (dev->api->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own)
        return CUDA_ENTERED;
    CUresult result = current ? dev->api->cuCtxPushCurrent(own) : dev->api->cuCtxSetCurrent(own);
    if (result != CUDA_SUCCESS) {
        rt_cuda_fail(dev->driver, current ? "cuCtxPushCurrent" : "cuCtxSetCurrent", result, diag);
        return CUDA_ENTER_FAILED;
    }
    return current ? CUDA_PUSHED : CUDA_ENTERED;
}

static bool
context_works(const struct rt_device *base, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    return !cuda_is_lost(dev) || rt_cuda_lost_story(dev, diag);
}

static bool
context_is_here(const struct rt_device *base)
{
    const struct cuda_device *dev = (const struct cuda_device *)base;
    CUcontext current = NULL, own = atomic_load_explicit(&dev->context, memory_order_relaxed);
    return !rt_forked(base->rt) && dev->api->cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
           current == own;
}

static bool
context_make_current(struct rt_device *base, uintptr_t *before_out, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    CUcontext current = NULL, own;
    if (!context_get(dev, &own, diag))
        return false;
    CUresult result = dev->api->cuCtxGetCurrent(&current);
    if (result == CUDA_SUCCESS && current != own)
        result = dev->api->cuCtxSetCurrent(own);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuCtxSetCurrent", result, diag);
    *before_out = (uintptr_t)current;
    return true;
}

bool
rt_context_restore(struct rt_runtime *rt, uintptr_t before, struct sp_diag *diag)
{
    rt_lock(rt);
    const struct cuda_driver *driver = rt->driver;
    rt_unlock(rt);
    if (!driver || !driver->info.found || rt_cuda_driver_is_forked(driver))
        return true;
    CUresult result = driver->api.cuCtxSetCurrent((CUcontext)before);
    return result == CUDA_SUCCESS || rt_cuda_fail(driver, "cuCtxSetCurrent", result, diag);
}

static bool
context_attribute(struct rt_device *base, int number, int *value_out, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    if (rt_device_is_inherited(base))
        return rt_cuda_forked(base->info.ordinal, diag);
    CUresult result = dev->api->cuDeviceGetAttribute(value_out, number, dev->device);
    return result == CUDA_SUCCESS ||
           rt_cuda_fail(dev->driver, "cuDeviceGetAttribute", result, diag);
}

static bool
context_profile(struct rt_device *base, bool start, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    CUresult (*function)(void) = start ? dev->api->cuProfilerStart : dev->api->cuProfilerStop;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    CUresult result = function ? function() : CUDA_SUCCESS;
    cuda_leave(dev, entered);
    return result == CUDA_SUCCESS ||
           rt_cuda_fail(dev->driver, start ? "cuProfilerStart" : "cuProfilerStop", result, diag);
}

/* Memory that the host looks at by plain pointers would be gone under its feet. */
static bool
context_is_free(struct rt_device *base, struct sp_diag *diag)
{
    struct rt_pool_stats pinned, managed;
    rt_memory_stats(base, RT_POOL_HOST, &pinned);
    rt_memory_stats(base, RT_POOL_MANAGED, &managed);
    char name[24];
    snprintf(name, sizeof name, "cuda:%d", base->info.ordinal);
    if (pinned.n_live + managed.n_live == 0)
        return true;
    sp_diag_set(diag, SP_E_DEVICE_IN_USE, NULL, name,
                (unsigned long long)(pinned.n_live + managed.n_live));
    return sp_diag_hint(diag, "they are NumPy arrays over the device's memory: delete them first");
}

/* Other threads may be in calls of the device: they get the driver's errors. */
static bool
context_reset(struct rt_device *base, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    if (!dev->is_primary)
        return sp_diag_set(diag, SP_E_BAD_VALUE, NULL,
                           "a context that another library made can only be reset by it");
    if (!rt_device_is_inherited(base) && atomic_load(&dev->context) == CUDA_NO_CONTEXT)
        return true; /* there is nothing */
    if (!rt_device_is_inherited(base) && !context_is_free(base, diag))
        return false;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    dev->api->cuCtxSynchronize();
    rt_cuda_faults_forget(dev);
    rt_cuda_grids_reset(dev);
    cuda_leave(dev, entered);
    pthread_mutex_lock(&dev->context_lock);
    bool first = !rt_device_was_reset(base);
    atomic_store(&base->was_reset, true);
    CUcontext own = atomic_exchange(&dev->context, CUDA_NO_CONTEXT), current = NULL;
    pthread_mutex_unlock(&dev->context_lock);
    if (!first)
        return true;
    rt_cuda_device_forget(dev);
    pthread_mutex_lock(&dev->recents.lock);
    (void)rt_say_reset(base, &dev->recents.story);
    atomic_store(&dev->recents.lost, true);
    pthread_mutex_unlock(&dev->recents.lock);
    if (dev->api->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own)
        dev->api->cuCtxSetCurrent(NULL);
    CUresult result = dev->api->cuDevicePrimaryCtxReset(dev->device);
    dev->api->cuDevicePrimaryCtxRelease(dev->device);
    return result == CUDA_SUCCESS ||
           rt_cuda_fail(dev->driver, "cuDevicePrimaryCtxReset", result, diag);
}

/* With nothing of the device's in use any more. */
void
rt_cuda_context_finish(struct cuda_device *dev)
{
    CUcontext own = atomic_load(&dev->context), current = NULL;
    if (dev->is_primary && own != CUDA_NO_CONTEXT) {
        if (dev->api->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own)
            dev->api->cuCtxSetCurrent(NULL);
        dev->api->cuDevicePrimaryCtxRelease(dev->device);
    }
    pthread_mutex_destroy(&dev->context_lock);
}

/* ---- The thread's current context. With the runtime's lock held. ---- */

static unsigned long long
context_id(const struct cuda_driver *driver, CUcontext context)
{
    unsigned long long id = 0;
    if (driver->api.cuCtxGetId && driver->api.cuCtxGetId(context, &id) == CUDA_SUCCESS)
        return id;
    return 0;
}

/* Among the devices that are known. A context may be at the address of one that was destroyed. */
static struct rt_device *
context_find(struct rt_runtime *rt, CUcontext context)
{
    for (int i = 0; i < RT_MAX_DEVICES; i++) {
        struct cuda_device *dev = (struct cuda_device *)rt->cuda[i];
        if (dev && atomic_load(&dev->context) == context)
            return &dev->base;
    }
    for (uint32_t i = 0; i < rt->others.len; i++) {
        struct cuda_device *dev = (struct cuda_device *)rt->others.data[i];
        if (dev->base.info.kind != RT_CUDA || atomic_load(&dev->context) != context)
            continue;
        if (dev->context_id == context_id(rt->driver, context))
            return &dev->base;
        atomic_store(&dev->base.was_reset, true);
        atomic_store(&dev->context, CUDA_NO_CONTEXT);
    }
    return NULL;
}

static int
context_ordinal(const struct cuda_driver *driver)
{
    CUdevice device, other;
    if (driver->api.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return -1;
    for (int i = 0; i < (int)driver->info.n_devices && i < RT_MAX_DEVICES; i++)
        if (driver->api.cuDeviceGet(&other, i) == CUDA_SUCCESS && other == device)
            return i;
    return -1;
}

/* Whether the context is the primary one of the device, which is retained if so. */
static bool
context_is_primary(struct cuda_device *dev, CUcontext context)
{
    unsigned flags;
    int active = 0;
    CUcontext own = NULL;
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    bool known = atomic_load(&dev->context) != CUDA_NO_CONTEXT;
    if (!known &&
        (dev->api->cuDevicePrimaryCtxGetState(dev->device, &flags, &active) != CUDA_SUCCESS ||
         !active))
        return false;
    bool is = context_get(dev, &own, &ignored) && own == context;
    sp_diag_finish(&ignored);
    return is;
}

static bool
context_adopt(struct rt_runtime *rt, CUcontext context, struct rt_device **dev_out,
              struct sp_diag *diag)
{
    int ordinal = context_ordinal(rt->driver);
    if (ordinal < 0)
        return sp_diag_set(diag, SP_E_NO_DEVICE, NULL,
                           "the context that is current in this thread belongs to no GPU we know");
    if (!rt->cuda[ordinal] && !rt_cuda_open(rt, rt->driver, ordinal, &rt->cuda[ordinal], diag))
        return false;
    if (context_is_primary((struct cuda_device *)rt->cuda[ordinal], context)) {
        *dev_out = rt->cuda[ordinal];
        return true;
    }
    struct rt_device *base;
    if (!rt_cuda_open(rt, rt->driver, ordinal, &base, diag))
        return false;
    struct cuda_device *dev = (struct cuda_device *)base;
    dev->is_primary = false;
    dev->base.info.is_adopted = true;
    dev->context_id = context_id(rt->driver, context);
    atomic_store(&dev->context, context);
    sp_vec_push(NULL, &rt->others, base);
    *dev_out = base;
    return true;
}

bool
rt_current(struct rt_runtime *rt, struct rt_device **dev_out, struct sp_diag *diag)
{
    CUcontext current = NULL;
    bool ok = true;
    struct rt_device *dev = NULL;
    rt_lock(rt);
    const struct cuda_driver *driver = rt->driver;
    if (driver && driver->info.found && !rt_cuda_driver_is_forked(driver) &&
        driver->api.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current) {
        dev = context_find(rt, current);
        ok = dev || context_adopt(rt, current, &dev, diag);
    }
    rt_unlock(rt);
    if (ok)
        *dev_out = dev;
    return ok;
}

const struct rt_context_ops rt_cuda_context_ops = {
    .works = context_works,
    .is_here = context_is_here,
    .make_current = context_make_current,
    .attribute = context_attribute,
    .reset = context_reset,
    .profile = context_profile,
};
