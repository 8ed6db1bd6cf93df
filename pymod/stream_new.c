/* stream_new: where streams come from: new ones, the device's own, and handles of others. */
#include "pymod/pm.h"

PyObject *
pm_stream_of_handle(struct pm_state *state, struct rt_device *dev, rt_stream handle)
{
    struct pm_stream *self = PyObject_New(struct pm_stream, state->stream_type);
    if (!self)
        return NULL;
    self->state = state;
    self->dev = dev;
    self->handle = handle;
    self->priority = 0;
    self->owned = self->non_blocking = self->closed = false;
    return (PyObject *)self;
}

static PyObject *
stream_new(PyObject *module, rt_stream handle)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    return dev ? pm_stream_of_handle(state, dev, handle) : NULL;
}

static PyObject *
stream_with(PyObject *module, struct rt_stream_options options)
{
    struct pm_stream *self = (struct pm_stream *)stream_new(module, 0);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!self)
        return NULL;
    if (!rt_stream_create(self->dev, &options, &self->handle, &self->priority, &diag)) {
        pm_raise(self->state, &diag);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->owned = true;
    self->non_blocking = options.non_blocking;
    return (PyObject *)self;
}

PyObject *
pm_stream_aside(PyObject *module)
{
    return stream_with(module, (struct rt_stream_options){.non_blocking = true});
}

PyObject *
pm_stream_create(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"priority", "non_blocking", NULL};
    struct rt_stream_options options = {0};
    int non_blocking = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|ip:stream", names, &options.priority,
                                     &non_blocking))
        return NULL;
    options.non_blocking = non_blocking != 0;
    return stream_with(module, options);
}

PyObject *
pm_default_stream(PyObject *module, PyObject *unused)
{
    (void)unused;
    return stream_new(module, 0);
}

PyObject *
pm_legacy_default_stream(PyObject *module, PyObject *unused)
{
    (void)unused;
    return stream_new(module, RT_STREAM_LEGACY);
}

PyObject *
pm_per_thread_default_stream(PyObject *module, PyObject *unused)
{
    (void)unused;
    return stream_new(module, RT_STREAM_PER_THREAD);
}

PyObject *
pm_external_stream(PyObject *module, PyObject *pointer)
{
    rt_stream handle;
    struct pm_state *state = PyModule_GetState(module);
    return pm_stream_parse(state, pointer, &handle) ? stream_new(module, handle) : NULL;
}

PyObject *
pm_current_stream(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyObject *stream = pm_stream_current(PyModule_GetState(module));
    return stream || PyErr_Occurred() ? stream : stream_new(module, 0);
}
