/* cuda_device: one GPU through the driver API. In: an ordinal. Out: a struct rt_device, which works
 * in a context of its own (cuda_context.c). Copies with the host are complete on return, because
 * the host's side is memory of Python objects that may go away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

static bool device_wait(struct rt_device *base, const struct rt_wait *wait, bool *done_out,
                        struct sp_diag *diag);

/* The end of a copy. Who copies is not said, so exceptions of numbered threads stay for their own
 * waits. */
static bool
device_drain(struct rt_device *base, const rt_stream *stream, struct sp_diag *diag)
{
    const struct rt_wait wait = {.stream = stream, .timeout_ms = -1, .own_only = true};
    bool done;
    return device_wait(base, &wait, &done, diag);
}

static bool
device_copy_in(struct rt_device *base, uint64_t to, const void *from, uint64_t size_B,
               rt_stream stream, struct sp_diag *diag)
{
    bool ok = true;
    if (!rt_capture_refuses(base, stream, RT_CAPTURE_HOST_COPY, diag))
        return false;
    if (size_B)
        CUDA_CALL((struct cuda_device *)base, diag, ok, cuMemcpyHtoDAsync, to, from, size_B,
                  (CUstream)stream);
    return ok && device_drain(base, &stream, diag);
}

static bool
device_copy_out(struct rt_device *base, void *to, uint64_t from, uint64_t size_B, rt_stream stream,
                struct sp_diag *diag)
{
    bool ok = true;
    if (!rt_capture_refuses(base, stream, RT_CAPTURE_HOST_COPY, diag))
        return false;
    if (size_B)
        CUDA_CALL((struct cuda_device *)base, diag, ok, cuMemcpyDtoHAsync, to, from, size_B,
                  (CUstream)stream);
    return ok && device_drain(base, &stream, diag);
}

static bool
device_copy(struct rt_device *base, uint64_t to, uint64_t from, uint64_t size_B, rt_stream stream,
            struct sp_diag *diag)
{
    bool ok = true;
    if (size_B)
        CUDA_CALL((struct cuda_device *)base, diag, ok, cuMemcpyDtoDAsync, to, from, size_B,
                  (CUstream)stream);
    return ok;
}

/* The driver fills with up to 4 bytes. Eight: each half as one column of a picture, pitch 8. */
static bool
device_fill(struct rt_device *base, uint64_t to, const void *element, uint32_t element_B,
            uint64_t count, rt_stream stream, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    CUstream on = (CUstream)stream;
    uint8_t v8;
    uint16_t v16;
    uint32_t v32[2];
    bool ok = true;
    if (count == 0)
        return true;
    switch (element_B) {
    case 1:
        memcpy(&v8, element, 1);
        CUDA_CALL(dev, diag, ok, cuMemsetD8Async, to, v8, count, on);
        return ok;
    case 2:
        memcpy(&v16, element, 2);
        CUDA_CALL(dev, diag, ok, cuMemsetD16Async, to, v16, count, on);
        return ok;
    case 4:
        memcpy(v32, element, 4);
        CUDA_CALL(dev, diag, ok, cuMemsetD32Async, to, v32[0], count, on);
        return ok;
    case 8:
        memcpy(v32, element, 8);
        if (v32[0] == v32[1]) {
            CUDA_CALL(dev, diag, ok, cuMemsetD32Async, to, v32[0], 2 * count, on);
            return ok;
        }
        CUDA_CALL(dev, diag, ok, cuMemsetD2D32Async, to, 8, v32[0], 1, count, on);
        if (ok)
            CUDA_CALL(dev, diag, ok, cuMemsetD2D32Async, to + 4, 8, v32[1], 1, count, on);
        return ok;
    default: return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "fill: not an element's size");
    }
}

/* Without pause for 50 us, then with growing ones. */
CUresult
rt_cuda_poll(CUresult (*ask)(void *what), void *what, int timeout_ms)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long pause_ns = 0;;) {
        CUresult result = ask(what);
        if (result != CUDA_ERROR_NOT_READY)
            return result;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t spent_ns = (now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec - start.tv_nsec;
        int64_t left_ns = timeout_ms * 1000000LL - spent_ns;
        if (left_ns <= 0)
            return result;
        if (spent_ns < 50000)
            continue;
        pause_ns = pause_ns ? pause_ns + pause_ns / 4 : 10000;
        if (pause_ns > 500000)
            pause_ns = 500000;
        struct timespec pause = {0, pause_ns < left_ns ? pause_ns : left_ns};
        nanosleep(&pause, NULL);
    }
}

struct device_asked {
    const struct cuda_device *dev;
    CUstream stream;
};

static CUresult
device_ask_stream(void *what)
{
    const struct device_asked *asked = what;
    return asked->dev->api->cuStreamQuery(asked->stream);
}

/* What was launched on the event's stream before it was recorded is over then. */
static bool
device_wait_event(struct rt_device *base, const struct rt_wait *wait, bool *done_out,
                  struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_event *event = (struct cuda_event *)wait->event;
    struct rt_wait over = *wait;
    rt_stream stream = __atomic_load_n(&event->base.stream, __ATOMIC_RELAXED);
    uint64_t before = atomic_load(&event->before);
    over.stream = &stream;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    CUresult result = rt_cuda_event_wait(dev, event, wait->timeout_ms);
    bool ok = true, done = result == CUDA_SUCCESS;
    if (done)
        ok = rt_cuda_faults_collect(dev, &over, before, diag);
    else if (result != CUDA_ERROR_NOT_READY)
        ok = rt_cuda_fail(dev->driver, "cuEventSynchronize", result, diag);
    cuda_leave(dev, entered);
    if (ok)
        *done_out = done;
    return ok;
}

/* With a time limit and no stream, the default stream is asked first: it waits for all others
 * but those that another library made "non-blocking"; these are waited for at the end, without
 * limit. */
static bool
device_wait(struct rt_device *base, const struct rt_wait *wait, bool *done_out,
            struct sp_diag *diag)
{
    if (wait->event)
        return device_wait_event(base, wait, done_out, diag);
    const rt_stream *stream = wait->stream;
    struct cuda_device *dev = (struct cuda_device *)base;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    const char *function = "cuStreamQuery";
    uint64_t before = atomic_load(&dev->faults.n_launched);
    uint64_t recent = atomic_load(&dev->recents.n_launched);
    CUresult result = CUDA_SUCCESS;
    struct device_asked asked = {dev, (CUstream)(stream ? *stream : 0)};
    if (wait->timeout_ms >= 0)
        result = rt_cuda_poll(device_ask_stream, &asked, wait->timeout_ms);
    bool done = result == CUDA_SUCCESS;
    if (done && !stream) {
        function = "cuCtxSynchronize";
        result = dev->api->cuCtxSynchronize();
    } else if (done && wait->timeout_ms < 0) {
        function = "cuStreamSynchronize";
        result = dev->api->cuStreamSynchronize((CUstream)*stream);
    }
    bool ok = true;
    if (result == CUDA_SUCCESS)
        rt_cuda_recents_waited(&dev->recents, stream, recent);
    if (result == CUDA_SUCCESS)
        ok = rt_cuda_faults_collect(dev, wait, before, diag);
    else if (result != CUDA_ERROR_NOT_READY)
        ok = rt_cuda_fail(dev->driver, function, result, diag);
    cuda_leave(dev, entered);
    if (ok)
        *done_out = done;
    return ok;
}

static void
device_cancel(struct rt_device *base)
{
    (void)base;
}

void
rt_cuda_device_forget(struct cuda_device *dev)
{
    struct cuda_opened *opened = dev->driver->opened;
    pthread_mutex_lock(&opened->lock);
    for (uint32_t i = 0; i < opened->devices.len; i++)
        if (opened->devices.data[i] == dev)
            opened->devices.data[i] = sp_vec_pop(&opened->devices);
    pthread_mutex_unlock(&opened->lock);
}

/* A forked child has the parent's device, which it cannot free. */
static void
device_destroy(struct rt_device *base)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct sp_diag ignored;
    if (rt_device_is_inherited(base))
        return;
    sp_diag_init(&ignored);
    enum cuda_entered entered = CUDA_ENTER_FAILED;
    if (atomic_load(&dev->context) != CUDA_NO_CONTEXT)
        entered = cuda_enter(dev, &ignored);
    if (entered != CUDA_ENTER_FAILED)
        dev->api->cuCtxSynchronize();
    rt_cuda_device_forget(dev);
    rt_cuda_streams_finish(dev);
    rt_cuda_grids_finish(dev);
    rt_cuda_faults_finish(dev);
    rt_cuda_recents_finish(&dev->recents);
    rt_cuda_memory_finish(dev);
    cuda_leave(dev, entered);
    rt_cuda_context_finish(dev);
    sp_diag_finish(&ignored);
    free(dev);
}

static const struct rt_device_ops cuda_ops = {
    .context = &rt_cuda_context_ops,
    .copy_in = device_copy_in,
    .copy_out = device_copy_out,
    .copy = device_copy,
    .fill = device_fill,
    .join = rt_cuda_join,
    .memory_info = rt_cuda_memory_info,
    .query = rt_cuda_query,
    .share = &rt_cuda_share_ops,
    .stream = &rt_cuda_stream_ops,
    .event = &rt_cuda_event_ops,
    .graph = &rt_cuda_graph_ops,
    .wait = device_wait,
    .cancel = device_cancel,
    .assemble = rt_cuda_assemble,
    .load = rt_cuda_load,
    .unload = rt_cuda_unload,
    .prepare = rt_cuda_prepare,
    .launch = rt_cuda_launch,
    .take_prints = rt_cuda_take_prints,
    .has_prints = rt_cuda_has_prints,
    .destroy = device_destroy,
};

static uint32_t
device_attribute(struct cuda_device *dev, int attribute)
{
    int value = 0;
    if (dev->api->cuDeviceGetAttribute(&value, attribute, dev->device) != CUDA_SUCCESS)
        return 0;
    return value > 0 ? (uint32_t)value : 0;
}

static void
device_fill_info(struct cuda_device *dev, int ordinal)
{
    struct rt_info *info = &dev->base.info;
    info->kind = RT_CUDA;
    info->ordinal = ordinal;
    info->driver_version = dev->driver->info.version;
    if (dev->api->cuDeviceGetName(info->name, sizeof info->name - 1, dev->device) != CUDA_SUCCESS)
        snprintf(info->name, sizeof info->name, "GPU %d", ordinal);
    if (dev->api->cuDeviceGetUuid) {
        CUuuid uuid;
        if (dev->api->cuDeviceGetUuid(&uuid, dev->device) == CUDA_SUCCESS)
            memcpy(info->uuid, uuid.bytes, sizeof info->uuid);
    }
    if (dev->api->cuDeviceGetPCIBusId(info->pci, sizeof info->pci, dev->device) != CUDA_SUCCESS)
        info->pci[0] = '\0';
    size_t memory_B = 0;
    dev->api->cuDeviceTotalMem(&memory_B, dev->device);
    info->memory_B = memory_B;
    info->cc_major = (int)device_attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    info->cc_minor = (int)device_attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(info->target, sizeof info->target, "sm_%u%u", (unsigned)info->cc_major % 1000,
             (unsigned)info->cc_minor % 100);
    info->n_processors = device_attribute(dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->warp_size = device_attribute(dev, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    for (int i = 0; i < 3; i++) {
        info->max_grid[i] = device_attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i);
        info->max_block[i] = device_attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i);
    }
    info->max_threads = device_attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->shared_B = device_attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    info->shared_optin_B =
        device_attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (info->shared_optin_B < info->shared_B)
        info->shared_optin_B = info->shared_B;
    info->max_registers = device_attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
}

bool
rt_cuda_open(struct rt_runtime *rt, const struct cuda_driver *driver, int ordinal,
             struct rt_device **dev_out, struct sp_diag *diag)
{
    CUdevice device;
    CUresult result = driver->api.cuDeviceGet(&device, ordinal);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(driver, "cuDeviceGet", result, diag);
    struct cuda_device *dev = sp_alloc(sizeof *dev);
    memset(dev, 0, sizeof *dev);
    dev->base.ops = &cuda_ops;
    dev->base.rt = rt;
    dev->driver = driver;
    dev->api = &driver->api;
    atomic_init(&dev->context, CUDA_NO_CONTEXT);
    dev->is_primary = true;
    pthread_mutex_init(&dev->context_lock, NULL);
    dev->device = device;
    device_fill_info(dev, ordinal);
    rt_cuda_faults_init(&dev->faults);
    rt_cuda_grids_init(&dev->grids);
    rt_cuda_streams_init(dev);
    rt_cuda_recents_init(&dev->recents);
    pthread_mutex_lock(&driver->opened->lock);
    sp_vec_push(NULL, &driver->opened->devices, dev);
    pthread_mutex_unlock(&driver->opened->lock);
    rt_cuda_memory_init(dev);
    *dev_out = &dev->base;
    return true;
}
