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
/* The stream of the innermost `with stream:` of this thread or task, a new reference; NULL: none,
 * without an exception. */
PyObject *pm_stream_current(struct pm_state *state);
PyObject *pm_stream_enter(struct pm_state *state, PyObject *stream);
bool pm_stream_leave(struct pm_state *state);
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

#endif
