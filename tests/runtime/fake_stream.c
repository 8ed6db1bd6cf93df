/* The stand-in's streams and events. Work is over when it was given, so an event is done when it is
 * recorded, but for those that are ordered to be busy, or recorded while all streams are, until the
 * next wait for the device; a launch takes two milliseconds by the clock
 * that events read. Functions of the host are called on another thread, as the driver does it. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/runtime/fake_cuda.h"

#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

struct CUevent_st {
    unsigned flags;
    bool recorded;
    int at_launch;
    int at_sync; /* -1: over when it was recorded */
    CUstream stream;
    CUcontext context;
    CUevent next; /* of all events */
};

static CUevent events; /* with the lock held */

/* Takes an event out of the list, and frees it. With the lock held. */
static void
free_event(CUevent *place)
{
    CUevent event = *place;
    *place = event->next;
    fake_cuda()->n_events--;
    free(event);
}

void
fake_forget_events(CUcontext context)
{
    for (CUevent *place = &events; *place;)
        if ((*place)->context == context)
            free_event(place);
        else
            place = &(*place)->next;
}

CUresult
cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    FAKE_NEEDS_CONTEXT;
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult
cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    FAKE_NEEDS_CONTEXT;
    if (flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->stream_flags = flags;
    fake_cuda()->priority = priority;
    *stream = (CUstream)(uintptr_t)(0x5000 + fake_cuda()->n_streams++);
    return CUDA_SUCCESS;
}

CUresult
cuStreamDestroy_v2(CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    (void)stream;
    fake_cuda()->n_streams--;
    return CUDA_SUCCESS;
}

CUresult
cuStreamQuery(CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    if (stream && stream == fake_cuda()->capturing)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    fake_cuda()->stream = stream;
    if (fake_cuda()->n_queries_busy > 0) {
        fake_cuda()->n_queries_busy--;
        return CUDA_ERROR_NOT_READY;
    }
    return fake_cuda()->wait_result;
}

CUresult
cuStreamSynchronize(CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    if (stream && stream == fake_cuda()->capturing)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    fake_cuda()->n_syncs++;
    fake_cuda()->stream = stream;
    return fake_cuda()->wait_result;
}

CUresult
cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    if (!event || flags)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->stream = stream;
    fake_cuda()->n_event_waits++;
    fake_cuda()->ordered[0] = event->stream;
    fake_cuda()->ordered[1] = stream;
    fake_note('w', event->stream, stream);
    return CUDA_SUCCESS;
}

struct host_call {
    CUhostFn function;
    void *data;
};

static void *
call_host(void *argument)
{
    struct host_call *call = argument;
    call->function(call->data);
    return NULL;
}

CUresult
cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    FAKE_NEEDS_CONTEXT;
    struct host_call call = {function, data};
    pthread_t thread;
    fake_cuda()->stream = stream;
    fake_cuda()->n_host_calls++;
    if (pthread_create(&thread, NULL, call_host, &call))
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_join(thread, NULL);
    return CUDA_SUCCESS;
}

CUresult
cuEventCreate(CUevent *event, unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    unsigned alone = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    if ((flags & CU_EVENT_INTERPROCESS) && (flags & alone) != alone)
        return CUDA_ERROR_INVALID_VALUE;
    *event = calloc(1, sizeof **event);
    (*event)->flags = flags;
    (*event)->context = fake_get_current();
    fake_lock();
    (*event)->next = events;
    events = *event;
    fake_cuda()->n_events++;
    fake_unlock();
    return CUDA_SUCCESS;
}

CUresult
cuEventDestroy_v2(CUevent event)
{
    FAKE_NEEDS_CONTEXT;
    CUevent *place = &events;
    fake_lock();
    while (*place && *place != event)
        place = &(*place)->next;
    if (*place)
        free_event(place);
    else
        event = NULL;
    fake_unlock();
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuEventRecord(CUevent event, CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    fake_cuda()->n_records++;
    fake_cuda()->recorded_on = stream;
    event->recorded = true;
    event->at_launch = fake_cuda()->n_launches;
    event->at_sync = fake_cuda()->busy ? fake_cuda()->n_syncs : -1;
    event->stream = stream;
    return CUDA_SUCCESS;
}

CUresult
cuEventQuery(CUevent event)
{
    FAKE_NEEDS_CONTEXT;
    if (event->recorded && fake_cuda()->n_events_busy > 0) {
        fake_cuda()->n_events_busy--;
        return CUDA_ERROR_NOT_READY;
    }
    if (fake_cuda()->busy && event->at_sync == fake_cuda()->n_syncs)
        return CUDA_ERROR_NOT_READY;
    return fake_cuda()->wait_result;
}

CUresult
cuEventSynchronize(CUevent event)
{
    FAKE_NEEDS_CONTEXT;
    (void)event;
    fake_cuda()->n_syncs++;
    return fake_cuda()->wait_result;
}

CUresult
cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    FAKE_NEEDS_CONTEXT;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return 400; /* CUDA_ERROR_INVALID_HANDLE */
    *ms = 2.0f * (float)(end->at_launch - start->at_launch);
    return CUDA_SUCCESS;
}

static _Thread_local CUstreamCaptureMode capture_mode;

CUresult
cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = capture_mode;
    fake_cuda()->n_relaxed += *mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    capture_mode = *mode;
    *mode = before;
    fake_cuda()->relaxed = capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    return CUDA_SUCCESS;
}

CUresult
cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    FAKE_NEEDS_CONTEXT;
    bool captured = stream && stream == fake_cuda()->capturing;
    *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
