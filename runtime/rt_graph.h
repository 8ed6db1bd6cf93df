/* Graphs: work that is captured once and replayed. Part of runtime/rt.h.
 *
 * Between rt_graph_begin and rt_graph_end nothing that is given to the stream runs: launches, copies
 * and fills of the device become nodes of the graph, with their parameters. An event recorded on
 * the stream brings the streams that wait for it into the capture; the first stream must have
 * waited for what they got before the end. On a GPU other libraries' work on the streams is captured
 * too, and our launches into captures that others began.
 *
 * A capture holds nothing up and allocates nothing of the stream's: code that is loaded and memory
 * that is allocated meanwhile are there at once, for every replay. What needs the host cannot be
 * captured: waiting, asking, copies with the host, calls of the host.
 *
 * A launch that may raise or print has its own struct sp_fault as long as the graph lives; the next
 * wait after a replay raises what it has raised. */
#ifndef RT_RT_GRAPH_H
#define RT_RT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/rt_stream.h"
#include "support/diag.h"

struct rt_code;
struct rt_launch;

/* Which calls of the driver that could wait are errors while the capture lasts: those of all
 * threads, those of the thread that began, none. Ours are not meant. */
enum rt_capture_mode { RT_CAPTURE_GLOBAL, RT_CAPTURE_THREAD, RT_CAPTURE_RELAXED };

enum rt_graph_state { RT_GRAPH_CAPTURING, RT_GRAPH_READY, RT_GRAPH_BROKEN };

/* First member of each device's own struct. */
struct rt_graph {
    struct rt_device *dev;
    enum rt_graph_state state;
    rt_stream stream;    /* that the capture began on */
    uint32_t n_launches; /* of our kernels, so far */
};

struct rt_graph_ops {
    bool (*begin)(struct rt_device *dev, rt_stream stream, enum rt_capture_mode mode,
                  struct rt_graph **graph_out, struct sp_diag *diag);
    bool (*end)(struct rt_graph *graph, struct sp_diag *diag);
    struct rt_graph *(*of_stream)(struct rt_device *dev, rt_stream stream);
    bool (*is_capturing)(struct rt_device *dev, rt_stream stream);
    bool (*launch)(struct rt_graph *graph, rt_stream stream, uint64_t thread, struct sp_diag *diag);
    bool (*update)(struct rt_graph *graph, uint32_t index, struct rt_code *code,
                   const struct rt_launch *launch, void *params, struct sp_diag *diag);
    bool (*add_call)(struct rt_graph *graph, rt_stream stream, bool (*function)(void *data),
                     void (*drop)(void *data), void *data, struct sp_diag *diag);
    void (*destroy)(struct rt_graph *graph);
};

/* Whether what is given to the stream is captured, by whoever. */
bool rt_stream_is_capturing(struct rt_device *dev, rt_stream stream);

SP_MUST_CHECK bool rt_graph_begin(struct rt_device *dev, rt_stream stream,
                                  enum rt_capture_mode mode, struct rt_graph **graph_out,
                                  struct sp_diag *diag);
/* In the thread that began. If it fails, the graph is only good to be destroyed. */
SP_MUST_CHECK bool rt_graph_end(struct rt_graph *graph, struct sp_diag *diag);
/* The graph that the stream is captured into; NULL: none, or one of others. */
struct rt_graph *rt_graph_of_stream(struct rt_device *dev, rt_stream stream);
/* Replays it in the stream's order, and behind earlier replays; on a stream that is captured, a copy
 * of its nodes becomes part of that graph. `thread` as in struct rt_launch. */
SP_MUST_CHECK bool rt_graph_launch(struct rt_graph *graph, rt_stream stream, uint64_t thread,
                                   struct sp_diag *diag);
/* The next replays launch the kernel of that number (counted from 0 in order of capture) with this
 * grid, block and parameters; the code must be that of the capture. */
SP_MUST_CHECK bool rt_graph_update(struct rt_graph *graph, uint32_t index, struct rt_code *code,
                                   const struct rt_launch *launch, void *params,
                                   struct sp_diag *diag);
/* Only on the cpu device, for kernels that run in Python: replays wait for what is before and call
 * the function on the replaying thread; false: it has failed, and the replay stops. `drop` is called
 * when the graph ends. */
SP_MUST_CHECK bool rt_graph_add_call(struct rt_graph *graph, rt_stream stream,
                                     bool (*function)(void *data), void (*drop)(void *data),
                                     void *data, struct sp_diag *diag);
/* Does not wait; replays in flight run on. A capture that was not ended is given up. NULL is
 * allowed. */
void rt_graph_destroy(struct rt_graph *graph);

#endif
