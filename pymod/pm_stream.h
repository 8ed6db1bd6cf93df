/* Streams, events, callbacks and graphs as Python objects. Part of pymod/pm.h. */
#ifndef PM_PM_STREAM_H
#define PM_PM_STREAM_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "runtime/rt.h"

struct pm_state;
struct pm_callbacks;
struct pm_graph;
struct pm_graph_update;

/* ---- Streams: stream.c, stream_new.c ---- */

struct pm_stream {
    PyObject_HEAD struct pm_state *state;
    struct rt_device *dev;
    rt_stream handle;
    int priority;
    bool owned, non_blocking, closed;
};

PyType_Spec *pm_stream_spec(void);
/* Our streams, handles, and streams of other libraries. None: the current stream. */
bool pm_stream_parse(struct pm_state *state, PyObject *object, rt_stream *stream_out);
/* The same, and the object to keep while the handle is used: a new reference, or NULL for handles
 * and the default stream. */
bool pm_stream_take(struct pm_state *state, PyObject *object, rt_stream *stream_out,
                    PyObject **keep_out);
/* The stream of the innermost `with stream:` of this thread or task, a new reference; NULL: none,
 * without an exception. */
PyObject *pm_stream_current(struct pm_state *state);
PyObject *pm_stream_enter(struct pm_state *state, PyObject *stream);
bool pm_stream_leave(struct pm_state *state);
/* A new stream that does not wait for the default one; a handle as ours, not destroyed. */
PyObject *pm_stream_aside(PyObject *module);
PyObject *pm_stream_of_handle(struct pm_state *state, struct rt_device *dev, rt_stream handle);
PyObject *pm_stream_create(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pm_default_stream(PyObject *module, PyObject *unused);
PyObject *pm_legacy_default_stream(PyObject *module, PyObject *unused);
PyObject *pm_per_thread_default_stream(PyObject *module, PyObject *unused);
PyObject *pm_external_stream(PyObject *module, PyObject *pointer);
PyObject *pm_current_stream(PyObject *module, PyObject *unused);

/* ---- Events: event.c ---- */

PyType_Spec *pm_event_spec(void);
PyObject *pm_event_create(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pm_event_elapsed_time(PyObject *module, PyObject *args);
PyObject *pm_event_new(struct pm_state *state, struct rt_device *dev, uint32_t flags);
/* Records it; borrowed. */
bool pm_event_record(PyObject *event, rt_stream stream);
/* Our events only: with an exception. */
struct rt_event *pm_event_parse(struct pm_state *state, PyObject *object);

/* ---- Functions that streams call: callback.c ---- */

/* After what is in the stream, on a thread for that: callback(stream, status, argument). */
bool pm_callback_add(struct pm_state *state, PyObject *stream, struct rt_device *dev,
                     rt_stream handle, PyObject *callback, PyObject *argument);
PyObject *pm_callbacks_run(PyObject *module, PyObject *unused);
PyObject *pm_callbacks_finish(PyObject *module, PyObject *unused);
void pm_callbacks_drop(struct pm_state *state);

/* ---- Graphs: graph.c, graph_node.c ---- */

struct pm_launcher;
struct pm_reading;
struct pm_entry;
struct pm_arg;

PyType_Spec *pm_graph_spec(void);
PyType_Spec *pm_graph_node_spec(void);
PyObject *pm_graph_create(PyObject *module, PyObject *args, PyObject *kwargs);
/* After a launch, while some stream is captured by a graph of ours or a node updated: keeps what the
 * graph needs of it, if it is in one. Takes the arguments; NULL: an exception. */
bool pm_graph_note(struct pm_launcher *launcher, struct rt_device *dev, rt_stream stream,
                   struct pm_reading *reading, struct pm_entry *entry, PyObject *arguments);
/* Whether this thread's launches go to a graph's node instead, by pm_graph_set. */
bool pm_graph_updates(struct pm_state *state);
bool pm_graph_set(struct pm_launcher *launcher, struct pm_entry *entry,
                  const struct rt_launch *launch, void *params);
/* The graph that captures the stream, if one of ours does, keeps the object: before work on its
 * memory is queued. */
bool pm_graph_keep(struct pm_state *state, struct rt_device *dev, rt_stream stream,
                   PyObject *object);
/* False, with an exception, if the stream is captured: copies with the host cannot be. */
bool pm_graph_allows_host(struct pm_state *state, struct rt_device *dev, rt_stream stream);
/* Whether a launch becomes part of a graph, so that nothing may be copied for it. */
bool pm_graph_takes(struct pm_state *state, struct rt_device *dev, rt_stream stream);
/* On the python device: a launch that is captured, or sets a node. */
bool pm_graph_take_python(struct pm_launcher *launcher, struct rt_device *dev,
                          PyObject *const *values, uint32_t n, bool has_varargs,
                          const struct pm_arg *args, uint32_t n_args, bool *taken_out);

#endif
