/* cuda_stream: streams and events of a GPU, each a call of the driver. An event also keeps how many
 * launches were numbered when it was recorded, so that who waits for it gets the exceptions of
 * those before it and of no other.
 *
 * Order between two streams is one event per device that is recorded and waited for under a lock:
 * the wait keeps what the event stood for, so that it can be recorded anew at once. */
#include <stdlib.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

void
rt_cuda_streams_init(struct cuda_device *dev)
{
    pthread_mutex_init(&dev->orders.lock, NULL);
    pthread_mutex_init(&dev->graphs.lock, NULL);
    rt_cuda_captures_init(&dev->captures);
}

void
rt_cuda_streams_finish(struct cuda_device *dev)
{
    if (dev->orders.event && !cuda_is_lost(dev))
        dev->api->cuEventDestroy(dev->orders.event);
    rt_cuda_captures_finish(dev);
    pthread_mutex_destroy(&dev->graphs.lock);
    pthread_mutex_destroy(&dev->orders.lock);
}

/* The driver's numbers fall as priorities rise. */
static bool
stream_create(struct rt_device *base, const struct rt_stream_options *options,
              rt_stream *stream_out, int *priority_out, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    int least = 0, greatest = 0, priority = options->priority;
    bool ok;
    CUstream stream = NULL;
    CUDA_CALL(dev, diag, ok, cuCtxGetStreamPriorityRange, &least, &greatest);
    if (!ok)
        return false;
    priority = priority > least ? least : priority < greatest ? greatest : priority;
    CUDA_CALL(dev, diag, ok, cuStreamCreateWithPriority, &stream,
              options->non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, priority);
    if (ok) {
        rt_cuda_memory_know(dev, (rt_stream)stream);
        *stream_out = (rt_stream)stream, *priority_out = priority;
    }
    return ok;
}

static bool
stream_destroy(struct rt_device *base, rt_stream stream, struct sp_diag *diag)
{
    bool ok = true;
    rt_cuda_grids_forget((struct cuda_device *)base, stream);
    if (!cuda_is_lost((struct cuda_device *)base)) { /* which took its streams along */
        rt_cuda_memory_forget((struct cuda_device *)base, stream);
        CUDA_CALL((struct cuda_device *)base, diag, ok, cuStreamDestroy, (CUstream)stream);
    }
    return ok;
}

static bool
stream_query(struct rt_device *base, rt_stream stream, bool *done_out, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    CUresult result = dev->api->cuStreamQuery((CUstream)stream);
    bool ok = result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY ||
              rt_cuda_fail(dev->driver, "cuStreamQuery", result, diag);
    cuda_leave(dev, entered);
    if (ok)
        *done_out = result == CUDA_SUCCESS;
    return ok;
}

static bool
stream_wait(struct rt_device *base, rt_stream stream, struct rt_event *event, struct sp_diag *diag)
{
    bool ok;
    CUDA_CALL((struct cuda_device *)base, diag, ok, cuStreamWaitEvent, (CUstream)stream,
              ((struct cuda_event *)event)->event, 0);
    return ok;
}

/* With the context current and the lock held. */
static bool
stream_pass_on(struct cuda_device *dev, rt_stream before, rt_stream after, struct sp_diag *diag)
{
    const struct cuda_api *api = dev->api;
    const char *function = "cuEventCreate";
    CUresult result = CUDA_SUCCESS;
    if (!dev->orders.event)
        result = api->cuEventCreate(&dev->orders.event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) {
        function = "cuEventRecord";
        result = api->cuEventRecord(dev->orders.event, (CUstream)before);
    }
    if (result == CUDA_SUCCESS) {
        function = "cuStreamWaitEvent";
        result = api->cuStreamWaitEvent((CUstream)after, dev->orders.event, 0);
    }
    return result == CUDA_SUCCESS || rt_cuda_fail(dev->driver, function, result, diag);
}

static bool
stream_order(struct rt_device *base, rt_stream before, rt_stream after, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    pthread_mutex_lock(&dev->orders.lock);
    bool ok = stream_pass_on(dev, before, after, diag);
    pthread_mutex_unlock(&dev->orders.lock);
    cuda_leave(dev, entered);
    return ok;
}

static bool
stream_call(struct rt_device *base, rt_stream stream, void (*function)(void *data), void *data,
            struct sp_diag *diag)
{
    bool ok;
    CUDA_CALL((struct cuda_device *)base, diag, ok, cuLaunchHostFunc, (CUstream)stream, function,
              data);
    return ok;
}

static bool
event_create(struct rt_device *base, uint32_t flags, struct rt_event **event_out,
             struct sp_diag *diag)
{
    unsigned int how = CU_EVENT_DEFAULT;
    how |= flags & RT_EVENT_TIMING ? 0 : CU_EVENT_DISABLE_TIMING;
    how |= flags & RT_EVENT_SLEEP ? CU_EVENT_BLOCKING_SYNC : 0;
    how |= flags & RT_EVENT_IPC ? CU_EVENT_INTERPROCESS : 0;
    bool ok;
    CUevent handle = NULL;
    CUDA_CALL((struct cuda_device *)base, diag, ok, cuEventCreate, &handle, how);
    if (!ok)
        return false;
    struct cuda_event *event = sp_alloc(sizeof *event);
    *event = (struct cuda_event){.event = handle};
    *event_out = &event->base;
    return true;
}

static void
event_destroy(struct rt_event *base)
{
    struct cuda_event *event = (struct cuda_event *)base;
    struct sp_diag ignored; /* a context that is dead took its events along */
    sp_diag_init(&ignored);
    bool ok;
    CUDA_CALL((struct cuda_device *)base->dev, &ignored, ok, cuEventDestroy, event->event);
    (void)ok;
    sp_diag_finish(&ignored);
    free(event);
}

static bool
event_record(struct rt_event *base, rt_stream stream, struct sp_diag *diag)
{
    struct cuda_event *event = (struct cuda_event *)base;
    struct cuda_device *dev = (struct cuda_device *)base->dev;
    bool ok;
    uint64_t before = atomic_load(&dev->faults.n_launched);
    CUDA_CALL(dev, diag, ok, cuEventRecord, event->event, (CUstream)stream);
    if (ok)
        atomic_store(&event->before, before);
    return ok;
}

static CUresult
event_ask(void *what)
{
    const struct cuda_event *event = what;
    const struct cuda_device *dev = (const struct cuda_device *)event->base.dev;
    return dev->api->cuEventQuery(event->event);
}

CUresult
rt_cuda_event_wait(struct cuda_device *dev, struct cuda_event *event, int timeout_ms)
{
    CUstreamCaptureMode mode = cuda_relax(dev);
    CUresult result = timeout_ms < 0 ? dev->api->cuEventSynchronize(event->event)
                                     : rt_cuda_poll(event_ask, event, timeout_ms);
    cuda_unrelax(dev, mode);
    return result;
}

static bool
event_query(struct rt_event *base, bool *done_out, struct sp_diag *diag)
{
    struct cuda_event *event = (struct cuda_event *)base;
    struct cuda_device *dev = (struct cuda_device *)base->dev;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    CUresult result = rt_cuda_event_wait(dev, event, 0);
    bool ok = result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY ||
              rt_cuda_fail(dev->driver, "cuEventQuery", result, diag);
    cuda_leave(dev, entered);
    if (ok)
        *done_out = result == CUDA_SUCCESS;
    return ok;
}

static bool
event_elapsed(struct rt_event *start, struct rt_event *end, float *ms_out, struct sp_diag *diag)
{
    bool ok;
    float ms = 0;
    CUDA_CALL((struct cuda_device *)start->dev, diag, ok, cuEventElapsedTime, &ms,
              ((struct cuda_event *)start)->event, ((struct cuda_event *)end)->event);
    if (ok)
        *ms_out = ms;
    return ok;
}

const struct rt_stream_ops rt_cuda_stream_ops = {
    .create = stream_create,
    .destroy = stream_destroy,
    .query = stream_query,
    .wait = stream_wait,
    .order = stream_order,
    .call = stream_call,
};

const struct rt_event_ops rt_cuda_event_ops = {
    .create = event_create,
    .destroy = event_destroy,
    .record = event_record,
    .query = event_query,
    .elapsed = event_elapsed,
};
