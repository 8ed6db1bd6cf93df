/* stream: queues of work on a device, ours and those of other libraries.
 *
 * A handle is all that a launch needs. Other libraries' streams are known by the protocol
 * `__cuda_stream__`, and by `cuda_stream` (torch) and `ptr` (CuPy). */
#include "pymod/pm.h"

struct stream {
    PyObject_HEAD struct pm_state *state;
    struct rt_device *dev;
    rt_stream handle;
    bool owned;
};

static PyObject *
stream_new(struct pm_state *state, struct rt_device *dev, rt_stream handle, bool owned)
{
    struct stream *self = PyObject_New(struct stream, state->stream_type);
    if (!self)
        return NULL;
    self->state = state;
    self->dev = dev;
    self->handle = handle;
    self->owned = owned;
    return (PyObject *)self;
}

PyObject *
pm_stream_create(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    struct sp_diag diag;
    sp_diag_init(&diag);
    rt_stream handle;
    if (!dev)
        return NULL;
    if (!rt_stream_create(dev, NULL, &handle, NULL, &diag))
        return pm_raise(state, &diag);
    return stream_new(state, dev, handle, true);
}

PyObject *
pm_default_stream(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    return dev ? stream_new(state, dev, 0, false) : NULL;
}

static bool
stream_by_attribute(PyObject *object, const char *name, rt_stream *out)
{
    PyObject *handle = PyObject_GetAttrString(object, name);
    if (!handle) {
        PyErr_Clear();
        return false;
    }
    bool ok = PyLong_Check(handle);
    if (ok)
        *out = (rt_stream)PyLong_AsUnsignedLongLongMask(handle);
    Py_DECREF(handle);
    return ok;
}

/* (0, handle) of `__cuda_stream__()`; some versions have a plain attribute. */
static bool
stream_by_protocol(PyObject *object, rt_stream *out)
{
    PyObject *pair = PyObject_GetAttrString(object, "__cuda_stream__");
    if (pair && PyCallable_Check(pair)) {
        PyObject *method = pair;
        pair = PyObject_CallObject(method, NULL);
        Py_DECREF(method);
    }
    bool ok = pair && PyTuple_Check(pair) && PyTuple_Size(pair) == 2;
    if (ok)
        *out = (rt_stream)PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(pair, 1));
    ok = ok && !PyErr_Occurred();
    PyErr_Clear();
    Py_XDECREF(pair);
    return ok;
}

bool
pm_stream_parse(struct pm_state *state, PyObject *object, rt_stream *stream_out)
{
    if (object == Py_None) {
        *stream_out = 0;
        return true;
    }
    if (Py_IS_TYPE(object, state->stream_type)) {
        *stream_out = ((struct stream *)object)->handle;
        return true;
    }
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        *stream_out = (rt_stream)PyLong_AsUnsignedLongLong(object);
        if (!PyErr_Occurred())
            return true;
        PyErr_Clear();
        return pm_fail(state, BAD_CONFIGURATION,
                       "the stream must be made by gpu.stream(), 0 or a handle, not an int that is "
                       "negative or beyond 64 bits");
    }
    if (stream_by_protocol(object, stream_out) ||
        stream_by_attribute(object, "cuda_stream", stream_out) ||
        stream_by_attribute(object, "ptr", stream_out))
        return true;
    PyObject *name = PyType_GetName(Py_TYPE(object));
    Py_ssize_t len;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
    char message[160];
    PyOS_snprintf(message, sizeof message,
                  "the stream must be made by gpu.stream(), 0 or a handle, not '%.60s'",
                  text ? text : "?");
    pm_fail(state, BAD_CONFIGURATION, message);
    Py_XDECREF(name);
    return false;
}

static PyObject *
stream_synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct stream *self = (struct stream *)object;
    if (!pm_wait(self->state, self->dev, &self->handle))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
stream_protocol(PyObject *object, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("(iK)", 0, (unsigned long long)((struct stream *)object)->handle);
}

static PyObject *
stream_get_handle(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct stream *)object)->handle);
}

static PyObject *
stream_repr(PyObject *object)
{
    struct stream *self = (struct stream *)object;
    char device[24];
    pm_device_print(self->dev, device);
    if (!self->handle)
        return PyUnicode_FromFormat("<gpu stream: default of %s>", device);
    return PyUnicode_FromFormat("<gpu stream 0x%zx of %s>", (size_t)self->handle, device);
}

static void
stream_dealloc(PyObject *object)
{
    struct stream *self = (struct stream *)object;
    PyTypeObject *type = Py_TYPE(object);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (self->owned && !rt_stream_destroy(self->dev, self->handle, &diag))
        pm_keep(self->state, &diag);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyGetSetDef stream_getset[] = {
    {"handle", stream_get_handle, NULL, "The driver's handle as an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS,
     "Waits until everything in the stream is done."},
    {"__cuda_stream__", stream_protocol, METH_NOARGS, NULL},
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot stream_slots[] = {
    {Py_tp_doc, (void *)"A queue of work; made by gpu.stream()."},
    {Py_tp_repr, stream_repr},
    {Py_tp_getset, stream_getset},
    {Py_tp_methods, stream_methods},
    {Py_tp_dealloc, stream_dealloc},
    {0, NULL},
};
static PyType_Spec stream_spec = {
    .name = "gpu.Stream",
    .basicsize = sizeof(struct stream),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = stream_slots,
};

PyType_Spec *
pm_stream_spec(void)
{
    return &stream_spec;
}
