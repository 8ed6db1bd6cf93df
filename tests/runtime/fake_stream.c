/* The stand-in's streams and events. Work is over when it was given, so an event is done when it is
 * recorded, but for those that are ordered to be busy, or recorded while all streams are, until the
 * next wait for the device; a launch takes two milliseconds by the clock
 * that events read. Functions of the host are called on another thread, as the driver does it. */
#include <pthread.h>
#include <stdlib.h>

#include "support/vec.h"
#include "tests/runtime/fake_cuda.h"

#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

struct CUevent_st {
    unsigned flags;
    bool recorded, captured;
    int at_launch;
    int at_sync; /* -1: over when it was recorded */
    CUstream stream;
    CUcontext context;
    CUevent next; /* of all events */
};

static CUevent events; /* with the lock held */

/* Streams that were made here, whose handles are used again only on order. */
struct made {
    CUcontext context;
    unsigned flags;
    bool gone;
};
static SP_VEC(struct made) streams; /* with the lock held */

#define STREAMS_AT 0x500000
#define STREAMS_STEP 16

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

/* With the lock held. */
static struct made *
find_stream(CUstream stream)
{
    size_t at = ((uintptr_t)stream - STREAMS_AT) / STREAMS_STEP;
    return (uintptr_t)stream >= STREAMS_AT && at < streams.len ? &streams.data[at] : NULL;
}

bool
fake_stream_is_gone(CUstream stream)
{
    fake_lock();
    const struct made *made = find_stream(stream);
    bool gone = made && made->gone;
    fake_unlock();
    return gone;
}

bool
fake_stream_blocks(CUstream stream)
{
    fake_lock();
    const struct made *made = find_stream(stream);
    bool blocks = made && made->flags == CU_STREAM_DEFAULT;
    fake_unlock();
    return blocks;
}

/* The context of the stream; NULL: whichever is current. With the lock held. */
static CUcontext
context_of(CUstream stream)
{
    const struct made *made = find_stream(stream);
    return made ? made->context : NULL;
}

void
fake_forget_streams(CUcontext context)
{
    for (uint32_t i = 0; i < streams.len; i++) {
        fake_cuda()->n_streams -= streams.data[i].context == context && !streams.data[i].gone;
        streams.data[i].gone |= streams.data[i].context == context;
    }
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
    if (priority > 0 || priority < -5)
        return CUDA_ERROR_INVALID_VALUE; /* the driver clamps; the user is told what is had */
    fake_cuda()->stream_flags = flags;
    fake_cuda()->priority = priority;
    fake_lock();
    uint32_t at = streams.len;
    if (fake_cuda()->reuses_streams && at && streams.data[at - 1].gone)
        at--;
    else
        sp_vec_push(NULL, &streams, (struct made){0});
    streams.data[at] = (struct made){fake_get_current(), flags, false};
    *stream = (CUstream)(uintptr_t)(STREAMS_AT + STREAMS_STEP * at);
    fake_cuda()->n_streams++;
    fake_unlock();
    return CUDA_SUCCESS;
}

CUresult
cuStreamDestroy_v2(CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    if (fake_is_captured(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    FAKE_NEEDS_STREAM(stream);
    fake_lock();
    struct made *made = find_stream(stream);
    if (made)
        made->gone = true;
    fake_cuda()->n_streams--;
    fake_unlock();
    return CUDA_SUCCESS;
}

CUresult
cuStreamQuery(CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    CUresult allowed = fake_check_asked(stream);
    if (allowed != CUDA_SUCCESS)
        return allowed;
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
    CUresult allowed = fake_check_asked(stream);
    if (allowed != CUDA_SUCCESS)
        return allowed;
    fake_cuda()->n_syncs++;
    fake_cuda()->stream = stream;
    return fake_cuda()->wait_result;
}

CUresult
cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    FAKE_NEEDS_STREAM(stream);
    if (!event || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult allowed =
        event->recorded ? fake_capture_wait(stream, event->stream, event->captured) : CUDA_SUCCESS;
    if (allowed != CUDA_SUCCESS)
        return allowed;
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
    FAKE_NEEDS_STREAM(stream);
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
    FAKE_NEEDS_STREAM(stream);
    fake_lock();
    CUcontext context = context_of(stream);
    fake_unlock();
    if (event->context != (context ? context : fake_get_current()))
        return 400; /* CUDA_ERROR_INVALID_HANDLE: the stream is another context's */
    fake_cuda()->n_records++;
    event->captured = fake_is_captured(stream);
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
    FAKE_IS_UNSAFE;
    if (event->captured)
        return CUDA_ERROR_CAPTURED_EVENT;
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
    FAKE_IS_UNSAFE;
    if (event->captured)
        return CUDA_ERROR_CAPTURED_EVENT;
    fake_cuda()->n_syncs++;
    return fake_cuda()->wait_result;
}

CUresult
cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    FAKE_NEEDS_CONTEXT;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !start->recorded ||
        !end->recorded || start->context != end->context)
        return 400; /* CUDA_ERROR_INVALID_HANDLE */
    *ms = 2.0f * (float)(end->at_launch - start->at_launch);
    return CUDA_SUCCESS;
}
