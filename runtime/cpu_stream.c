/* cpu_stream: streams and events of the CPU device. All streams are the one queue (cpu_queue.c), so
 * handles only have to be told apart, and a stream that waits for an event has nothing to do, but
 * in captures (cpu_graph.c). An
 * event is done once the jobs before it have finished; its time is taken by the worker that
 * finishes the last of them, or by the host if there are none. A function that is called in a
 * stream's order is called there too.
 *
 * The time is noted by a small block of its own and not in the event, which may be recorded anew or
 * destroyed while the jobs run. */
#include <stdlib.h>

#include "runtime/cpu_t.h"
#include "support/arena.h"

/* One record of an event, until its time has come. */
struct cpu_mark {
    struct cpu_note note;
    struct cpu_event *event; /* NULL: recorded anew, or destroyed */
};

struct cpu_call {
    struct cpu_note note;
    void (*function)(void *data);
    void *data;
};

static struct cpu_queue *
stream_queue(struct rt_device *base)
{
    struct cpu_device *dev = (struct cpu_device *)base;
    cpu_mend(dev);
    return &dev->queue;
}

/* From 16 on: below are the special handles. */
static bool
stream_create(struct rt_device *base, const struct rt_stream_options *options,
              rt_stream *stream_out, int *priority_out, struct sp_diag *diag)
{
    (void)options;
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    struct cpu_device *dev = (struct cpu_device *)base;
    *stream_out = 16 * (atomic_fetch_add(&dev->n_streams, 1) + 1);
    *priority_out = 0;
    return true;
}

static bool
stream_destroy(struct rt_device *base, rt_stream stream, struct sp_diag *diag)
{
    (void)base, (void)stream, (void)diag;
    return true;
}

static bool
stream_query(struct rt_device *base, rt_stream stream, bool *done_out, struct sp_diag *diag)
{
    (void)stream;
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    uint64_t submitted, finished;
    rt_cpu_queue_count(stream_queue(base), &submitted, &finished);
    *done_out = submitted == finished;
    return true;
}

static bool
stream_wait(struct rt_device *base, rt_stream stream, struct rt_event *event, struct sp_diag *diag)
{
    cpu_mend((struct cpu_device *)base);
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    return rt_cpu_capture_wait((struct cpu_device *)base, stream, (struct cpu_event *)event, diag);
}

static bool
stream_order(struct rt_device *base, rt_stream before, rt_stream after, struct sp_diag *diag)
{
    cpu_mend((struct cpu_device *)base);
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    return rt_cpu_capture_order((struct cpu_device *)base, before, after, diag);
}

static void
stream_called(struct cpu_note *note)
{
    struct cpu_call *call = (struct cpu_call *)note;
    call->function(call->data);
    free(call);
}

static bool
stream_call(struct rt_device *base, rt_stream stream, void (*function)(void *data), void *data,
            struct sp_diag *diag)
{
    (void)stream;
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    struct cpu_queue *queue = stream_queue(base);
    struct cpu_call *call = sp_alloc(sizeof *call);
    *call = (struct cpu_call){.note = {.reached = stream_called}, .function = function};
    call->data = data;
    pthread_mutex_lock(&queue->lock);
    rt_cpu_queue_note(queue, &call->note);
    pthread_mutex_unlock(&queue->lock);
    return true;
}

static bool
event_create(struct rt_device *base, uint32_t flags, struct rt_event **event_out,
             struct sp_diag *diag)
{
    (void)flags;
    if (rt_device_was_reset(base))
        return rt_say_reset(base, diag);
    struct cpu_event *event = sp_alloc(sizeof *event);
    *event = (struct cpu_event){0};
    *event_out = &event->base;
    return true;
}

static void
event_destroy(struct rt_event *base)
{
    struct cpu_event *event = (struct cpu_event *)base;
    struct cpu_queue *queue = stream_queue(base->dev);
    pthread_mutex_lock(&queue->lock);
    if (event->mark)
        event->mark->event = NULL;
    pthread_mutex_unlock(&queue->lock);
    free(event);
}

static void
event_reached(struct cpu_note *note)
{
    struct cpu_mark *mark = (struct cpu_mark *)note;
    if (mark->event) {
        mark->event->time_ns = rt_cpu_ticks();
        mark->event->mark = NULL;
    }
    free(mark);
}

static bool
event_record(struct rt_event *base, rt_stream stream, struct sp_diag *diag)
{
    if (rt_device_was_reset(base->dev))
        return rt_say_reset(base->dev, diag);
    struct cpu_event *event = (struct cpu_event *)base;
    struct cpu_queue *queue = stream_queue(base->dev);
    rt_cpu_capture_record((struct cpu_device *)base->dev, event, stream);
    struct cpu_mark *mark = sp_alloc(sizeof *mark);
    *mark = (struct cpu_mark){.note = {.reached = event_reached}, .event = event};
    pthread_mutex_lock(&queue->lock);
    if (event->mark)
        event->mark->event = NULL;
    event->mark = mark;
    event->ticket = queue->n_submitted;
    event->time_ns = 0;
    rt_cpu_queue_note(queue, &mark->note);
    pthread_mutex_unlock(&queue->lock);
    return true;
}

static bool
event_query(struct rt_event *base, bool *done_out, struct sp_diag *diag)
{
    if (rt_device_was_reset(base->dev))
        return rt_say_reset(base->dev, diag);
    struct cpu_event *event = (struct cpu_event *)base;
    struct cpu_queue *queue = stream_queue(base->dev);
    pthread_mutex_lock(&queue->lock);
    *done_out = queue->n_finished >= event->ticket;
    pthread_mutex_unlock(&queue->lock);
    return true;
}

static bool
event_elapsed(struct rt_event *start, struct rt_event *end, float *ms_out, struct sp_diag *diag)
{
    (void)diag;
    struct cpu_queue *queue = stream_queue(start->dev);
    pthread_mutex_lock(&queue->lock);
    int64_t from_ns = (int64_t)((struct cpu_event *)start)->time_ns;
    int64_t to_ns = (int64_t)((struct cpu_event *)end)->time_ns;
    pthread_mutex_unlock(&queue->lock);
    *ms_out = (float)((double)(to_ns - from_ns) / 1e6);
    return true;
}

const struct rt_stream_ops rt_cpu_stream_ops = {
    .create = stream_create,
    .destroy = stream_destroy,
    .query = stream_query,
    .wait = stream_wait,
    .order = stream_order,
    .call = stream_call,
};

const struct rt_event_ops rt_cpu_event_ops = {
    .create = event_create,
    .destroy = event_destroy,
    .record = event_record,
    .query = event_query,
    .elapsed = event_elapsed,
};
