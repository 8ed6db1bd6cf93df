/* Streams and events: an order of work on a device, and a point in it. Part of runtime/rt.h.
 *
 * An event remembers what its stream held when it was recorded; recording it again replaces that.
 * Hosts wait for it by rt_device_wait_for, which raises what kernels before it have raised; other
 * streams wait for it without the host. On the cpu device, where all streams run in order of
 * launch, waiting streams have nothing to do, and an event's time is that of the end of the launch
 * before it.
 *
 * What every device forbids is said in stream.c, once: an event that was never recorded, times of
 * events without timing, a destroyed stream. */
#ifndef RT_RT_STREAM_H
#define RT_RT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "support/diag.h"

struct rt_device;

/* A stream's handle: 0 is the default stream, the driver's special handles and CUstreams of other
 * libraries are accepted as they are. The cpu device runs all streams in order of launch. */
typedef uintptr_t rt_stream;
#define RT_STREAM_LEGACY ((rt_stream)1)
#define RT_STREAM_PER_THREAD ((rt_stream)2) /* of the host's thread */

struct rt_stream_options {
    int priority;      /* 0 is the lowest, -1 the next; clamped to what the device has */
    bool non_blocking; /* no implicit order with the default stream */
};

enum rt_event_flag {
    RT_EVENT_TIMING = 1,
    RT_EVENT_SLEEP = 2, /* hosts that wait sleep, and do not spin */
    RT_EVENT_IPC = 4,   /* for other processes; without timing */
};

/* First member of each device's own struct. */
struct rt_event {
    struct rt_device *dev;
    uint32_t flags; /* enum rt_event_flag */
    bool recorded;  /* these three atomically */
    bool captured;  /* into a graph */
    rt_stream stream;
};

struct rt_stream_ops {
    bool (*create)(struct rt_device *dev, const struct rt_stream_options *options,
                   rt_stream *stream_out, int *priority_out, struct sp_diag *diag);
    bool (*destroy)(struct rt_device *dev, rt_stream stream, struct sp_diag *diag);
    bool (*query)(struct rt_device *dev, rt_stream stream, bool *done_out, struct sp_diag *diag);
    bool (*wait)(struct rt_device *dev, rt_stream stream, struct rt_event *event,
                 struct sp_diag *diag);
    bool (*order)(struct rt_device *dev, rt_stream before, rt_stream after, struct sp_diag *diag);
    bool (*call)(struct rt_device *dev, rt_stream stream, void (*function)(void *data), void *data,
                 struct sp_diag *diag);
};

struct rt_event_ops {
    bool (*create)(struct rt_device *dev, uint32_t flags, struct rt_event **event_out,
                   struct sp_diag *diag);
    void (*destroy)(struct rt_event *event);
    bool (*record)(struct rt_event *event, rt_stream stream, struct sp_diag *diag);
    bool (*query)(struct rt_event *event, bool *done_out, struct sp_diag *diag);
    bool (*elapsed)(struct rt_event *start, struct rt_event *end, float *ms_out,
                    struct sp_diag *diag);
};

/* `options` may be NULL; `priority_out` too. */
SP_MUST_CHECK bool rt_stream_create(struct rt_device *dev, const struct rt_stream_options *options,
                                    rt_stream *stream_out, int *priority_out, struct sp_diag *diag);
/* What is in the stream runs on; does not wait. */
SP_MUST_CHECK bool rt_stream_destroy(struct rt_device *dev, rt_stream stream, struct sp_diag *diag);
/* Whether everything in the stream is done. Raises nothing of what kernels have raised. */
SP_MUST_CHECK bool rt_stream_query(struct rt_device *dev, rt_stream stream, bool *done_out,
                                   struct sp_diag *diag);
/* Later work of the stream begins after what the event was recorded behind; the host goes on. The
 * event may be recorded anew or destroyed at once, and may be another device's. */
SP_MUST_CHECK bool rt_stream_wait(struct rt_device *dev, rt_stream stream, struct rt_event *event,
                                  struct sp_diag *diag);
/* Later work of `after` begins after what is in `before` now; the host goes on. Between a stream
 * that is captured and one that is not it does nothing. */
SP_MUST_CHECK bool rt_stream_order(struct rt_device *dev, rt_stream before, rt_stream after,
                                   struct sp_diag *diag);
/* Calls a function after what is in the stream, on a thread of the device's own. It must return at
 * once, take no lock that is held around calls of the runtime, and call neither the runtime nor
 * Python: it posts to a queue. Not called if the device fails before. */
SP_MUST_CHECK bool rt_stream_call(struct rt_device *dev, rt_stream stream,
                                  void (*function)(void *data), void *data, struct sp_diag *diag);

SP_MUST_CHECK bool rt_event_create(struct rt_device *dev, uint32_t flags,
                                   struct rt_event **event_out, struct sp_diag *diag);
/* Those who wait for it are not disturbed; does not wait. NULL is allowed. */
void rt_event_destroy(struct rt_event *event);
/* Behind what is in the stream now. */
SP_MUST_CHECK bool rt_event_record(struct rt_event *event, rt_stream stream, struct sp_diag *diag);
/* Whether what it was recorded behind is done. Raises nothing of what kernels have raised. */
SP_MUST_CHECK bool rt_event_query(struct rt_event *event, bool *done_out, struct sp_diag *diag);
/* The host waits, for programs of one thread; the others by rt_device_wait_for (blocks). */
SP_MUST_CHECK bool rt_event_synchronize(struct rt_event *event, struct sp_diag *diag);
/* Milliseconds from one to the other, both done. */
SP_MUST_CHECK bool rt_event_elapsed(struct rt_event *start, struct rt_event *end, float *ms_out,
                                    struct sp_diag *diag);

#endif
