/* stream: streams and events, what holds on every device. In: calls as users write them. Out: calls
 * of the device that make sense, or an error that says what to do first. The driver would take an
 * event that was never recorded for one that is done, which hides the missing line; here it is an
 * error. */
#include "runtime/rt_t.h"

#define RT_CAPTURE_LATER                                                                           \
    "nothing runs while it is captured: end the capture, replay the graph and wait for that"

bool
rt_stream_create(struct rt_device *dev, const struct rt_stream_options *options,
                 rt_stream *stream_out, int *priority_out, struct sp_diag *diag)
{
    const struct rt_stream_options plain = {0};
    int priority;
    return dev->ops->stream->create(dev, options ? options : &plain, stream_out,
                                    priority_out ? priority_out : &priority, diag);
}

bool
rt_stream_destroy(struct rt_device *dev, rt_stream stream, struct sp_diag *diag)
{
    return dev->ops->stream->destroy(dev, stream, diag);
}

bool
rt_stream_query(struct rt_device *dev, rt_stream stream, bool *done_out, struct sp_diag *diag)
{
    return rt_capture_refuses(dev, stream, "a stream that is captured cannot be asked",
                              RT_CAPTURE_LATER, diag) &&
           dev->ops->stream->query(dev, stream, done_out, diag);
}

static bool
stream_needs_recorded(const struct rt_event *event, const char *what, struct sp_diag *diag)
{
    if (__atomic_load_n(&event->recorded, __ATOMIC_ACQUIRE))
        return true;
    sp_diag_set(diag, SP_E_EVENT_MISUSE, NULL, what, "it was never recorded");
    return sp_diag_hint(diag, "call event.record(stream) after the work that it shall stand for");
}

/* What an event in a capture stands for is a place in the graph, which hosts do not see. */
static bool
stream_needs_seen(const struct rt_event *event, const char *what, struct sp_diag *diag)
{
    if (!stream_needs_recorded(event, what, diag))
        return false;
    if (!__atomic_load_n(&event->captured, __ATOMIC_RELAXED))
        return true;
    sp_diag_set(diag, SP_E_EVENT_MISUSE, NULL, what, "it was recorded in a capture");
    return sp_diag_hint(diag, "record an event behind the replay of the graph");
}

bool
rt_stream_wait(struct rt_device *dev, rt_stream stream, struct rt_event *event,
               struct sp_diag *diag)
{
    return stream_needs_recorded(event, "no stream can wait for this event", diag) &&
           dev->ops->stream->wait(dev, stream, event, diag);
}

bool
rt_stream_order(struct rt_device *dev, rt_stream before, rt_stream after, struct sp_diag *diag)
{
    if (before == after || (before <= RT_STREAM_LEGACY && after <= RT_STREAM_LEGACY))
        return true;
    /* What is outside was given before any replay, and is not brought in by this. */
    if (rt_stream_is_capturing(dev, after) != rt_stream_is_capturing(dev, before))
        return true;
    return dev->ops->stream->order(dev, before, after, diag);
}

bool
rt_stream_call(struct rt_device *dev, rt_stream stream, void (*function)(void *data), void *data,
               struct sp_diag *diag)
{
    return rt_capture_refuses(dev, stream, "a call of the host cannot be captured",
                              "add it behind the replay of the graph", diag) &&
           dev->ops->stream->call(dev, stream, function, data, diag);
}

bool
rt_event_create(struct rt_device *dev, uint32_t flags, struct rt_event **event_out,
                struct sp_diag *diag)
{
    struct rt_event *event;
    if ((flags & RT_EVENT_IPC) && (flags & RT_EVENT_TIMING))
        return sp_diag_set(diag, SP_E_EVENT_MISUSE, NULL, "this event cannot be made",
                           "one for other processes has no timing") ||
               sp_diag_hint(diag, "give it timing=False");
    if (!dev->ops->event->create(dev, flags, &event, diag))
        return false;
    event->dev = dev;
    event->flags = flags;
    *event_out = event;
    return true;
}

void
rt_event_destroy(struct rt_event *event)
{
    if (event)
        event->dev->ops->event->destroy(event);
}

bool
rt_event_record(struct rt_event *event, rt_stream stream, struct sp_diag *diag)
{
    bool captured = rt_stream_is_capturing(event->dev, stream);
    if (!event->dev->ops->event->record(event, stream, diag))
        return false;
    __atomic_store_n(&event->captured, captured, __ATOMIC_RELAXED);
    __atomic_store_n(&event->stream, stream, __ATOMIC_RELAXED);
    __atomic_store_n(&event->recorded, true, __ATOMIC_RELEASE);
    return true;
}

bool
rt_event_query(struct rt_event *event, bool *done_out, struct sp_diag *diag)
{
    return stream_needs_seen(event, "this event cannot be asked", diag) &&
           event->dev->ops->event->query(event, done_out, diag);
}

bool
rt_device_wait_for(struct rt_device *dev, const struct rt_wait *wait, bool *done_out,
                   struct sp_diag *diag)
{
    if (wait->event && !stream_needs_seen(wait->event, "this event cannot be waited for", diag))
        return false;
    if (!wait->event && wait->stream &&
        !rt_capture_refuses(dev, *wait->stream, "a stream that is captured cannot be waited for",
                            RT_CAPTURE_LATER, diag))
        return false;
    return dev->ops->wait(dev, wait, done_out, diag);
}

bool
rt_event_synchronize(struct rt_event *event, struct sp_diag *diag)
{
    const struct rt_wait wait = {.event = event, .timeout_ms = -1};
    bool done;
    return rt_device_wait_for(event->dev, &wait, &done, diag);
}

bool
rt_event_elapsed(struct rt_event *start, struct rt_event *end, float *ms_out, struct sp_diag *diag)
{
    const char *what = "there is no time between these events";
    bool done[2] = {false, false};
    if (start->dev != end->dev)
        return sp_diag_set(diag, SP_E_EVENT_MISUSE, NULL, what, "they are of different devices");
    if (!(start->flags & end->flags & RT_EVENT_TIMING))
        return sp_diag_set(diag, SP_E_EVENT_MISUSE, NULL, what, "one was made without timing") ||
               sp_diag_hint(diag, "make both with gpu.event(timing=True)");
    if (!stream_needs_recorded(start, what, diag) || !stream_needs_recorded(end, what, diag) ||
        !rt_event_query(start, &done[0], diag) || !rt_event_query(end, &done[1], diag))
        return false;
    if (!done[0] || !done[1])
        return sp_diag_set(diag, SP_E_EVENT_MISUSE, NULL, what,
                           "what they were recorded behind is not done yet") ||
               sp_diag_hint(diag, "call end.synchronize() before");
    return start->dev->ops->event->elapsed(start, end, ms_out, diag);
}
