/* stream: queues of work on a device, ours and those of other libraries, as they are used.
 *
 * A handle is all that a launch needs. Other libraries' streams are known by the protocol
 * `__cuda_stream__`, and by `cuda_stream` (torch) and `ptr` (CuPy).
 *
 * `with stream:` makes it the current one, for whatever names no stream. A context variable holds a
 * pair of it and the one before, so that each thread and each task of asyncio has its own; nobody
 * looks there before the first `with`. */
#include "pymod/pm.h"

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

static bool
stream_is_open(struct pm_stream *self)
{
    if (!self->closed)
        return true;
    struct sp_diag diag;
    sp_diag_init(&diag);
    sp_diag_set(&diag, SP_E_STREAM_MISUSE, NULL, "the stream was closed");
    sp_diag_hint(&diag, "make another one with gpu.stream()");
    return pm_raise(self->state, &diag);
}

bool
pm_stream_parse(struct pm_state *state, PyObject *object, rt_stream *stream_out)
{
    if (object == Py_None) {
        PyObject *current = pm_stream_current(state);
        *stream_out = current ? ((struct pm_stream *)current)->handle : 0;
        Py_XDECREF(current); /* the context holds it */
        return !PyErr_Occurred();
    }
    if (Py_IS_TYPE(object, state->stream_type)) {
        *stream_out = ((struct pm_stream *)object)->handle;
        return stream_is_open((struct pm_stream *)object);
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

/* The pair of the innermost `with`, None, or NULL with an exception. */
static PyObject *
stream_context(struct pm_state *state)
{
    return PyObject_CallMethod(state->current_stream, "get", NULL);
}

PyObject *
pm_stream_current(struct pm_state *state)
{
    PyObject *pair = state->current_stream ? stream_context(state) : NULL;
    PyObject *stream = NULL;
    if (pair && PyTuple_Check(pair))
        stream = Py_NewRef(PyTuple_GetItem(pair, 0));
    Py_XDECREF(pair);
    return stream;
}

bool
pm_stream_take(struct pm_state *state, PyObject *object, rt_stream *stream_out, PyObject **keep_out)
{
    PyObject *stream = object == Py_None ? pm_stream_current(state) : Py_NewRef(object);
    *stream_out = 0;
    *keep_out = NULL;
    if (!stream)
        return !PyErr_Occurred();
    bool ok = pm_stream_parse(state, stream, stream_out);
    if (ok && !PyLong_Check(stream))
        *keep_out = stream;
    else
        Py_DECREF(stream);
    return ok;
}

PyObject *
pm_stream_enter(struct pm_state *state, PyObject *stream)
{
    if (!state->current_stream) {
        PyObject *module = PyImport_ImportModule("contextvars");
        PyObject *class = module ? PyObject_GetAttrString(module, "ContextVar") : NULL;
        PyObject *args = class ? Py_BuildValue("(s)", "gpu_stream") : NULL;
        PyObject *kwargs = args ? Py_BuildValue("{s:O}", "default", Py_None) : NULL;
        state->current_stream = kwargs ? PyObject_Call(class, args, kwargs) : NULL;
        Py_XDECREF(kwargs);
        Py_XDECREF(args);
        Py_XDECREF(class);
        Py_XDECREF(module);
    }
    PyObject *before = state->current_stream ? stream_context(state) : NULL;
    PyObject *pair = before ? PyTuple_Pack(2, stream, before) : NULL;
    PyObject *token = pair ? PyObject_CallMethod(state->current_stream, "set", "(O)", pair) : NULL;
    Py_XDECREF(before);
    Py_XDECREF(pair);
    Py_XDECREF(token);
    return token ? Py_NewRef(stream) : NULL;
}

bool
pm_stream_leave(struct pm_state *state)
{
    PyObject *pair = state->current_stream ? stream_context(state) : NULL;
    PyObject *token = NULL;
    if (pair && PyTuple_Check(pair))
        token = PyObject_CallMethod(state->current_stream, "set", "(O)", PyTuple_GetItem(pair, 1));
    Py_XDECREF(pair);
    Py_XDECREF(token);
    return token || !PyErr_Occurred();
}

static PyObject *
stream_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_stream *self = (struct pm_stream *)object;
    return stream_is_open(self) ? pm_stream_enter(self->state, object) : NULL;
}

static PyObject *
stream_exit(PyObject *object, PyObject *unused)
{
    (void)unused;
    return pm_stream_leave(((struct pm_stream *)object)->state) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *
stream_synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_stream *self = (struct pm_stream *)object;
    if (!stream_is_open(self) || !pm_wait(self->state, self->dev, &self->handle))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
stream_query(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_stream *self = (struct pm_stream *)object;
    struct sp_diag diag;
    bool done = false;
    sp_diag_init(&diag);
    if (!stream_is_open(self))
        return NULL;
    if (!rt_stream_query(self->dev, self->handle, &done, &diag))
        return pm_raise(self->state, &diag);
    return PyBool_FromLong(done);
}

static PyObject *
stream_get_done(PyObject *object, void *closure)
{
    (void)closure;
    return stream_query(object, NULL);
}

/* record(event=None) */
static PyObject *
stream_record(PyObject *object, PyObject *args)
{
    struct pm_stream *self = (struct pm_stream *)object;
    PyObject *event = Py_None;
    if (!PyArg_ParseTuple(args, "|O:record", &event) || !stream_is_open(self))
        return NULL;
    if (event == Py_None)
        event = pm_event_new(self->state, self->dev, 0);
    else
        event = pm_event_parse(self->state, event) ? Py_NewRef(event) : NULL;
    if (event && !pm_event_record(event, self->handle))
        Py_CLEAR(event);
    return event;
}

static PyObject *
stream_wait_event(PyObject *object, PyObject *event)
{
    struct pm_stream *self = (struct pm_stream *)object;
    struct rt_event *of = stream_is_open(self) ? pm_event_parse(self->state, event) : NULL;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!of)
        return NULL;
    if (!rt_stream_wait(self->dev, self->handle, of, &diag))
        return pm_raise(self->state, &diag);
    Py_RETURN_NONE;
}

/* One that waits for a stream that is captured comes into the capture, as by an event. */
static bool
stream_order(struct rt_device *dev, rt_stream before, rt_stream after, struct sp_diag *diag)
{
    struct rt_event *event;
    if (!rt_stream_is_capturing(dev, before) || rt_stream_is_capturing(dev, after))
        return rt_stream_order(dev, before, after, diag);
    if (!rt_event_create(dev, 0, &event, diag))
        return false;
    bool ok = rt_event_record(event, before, diag) && rt_stream_wait(dev, after, event, diag);
    rt_event_destroy(event);
    return ok;
}

static PyObject *
stream_wait_stream(PyObject *object, PyObject *other)
{
    struct pm_stream *self = (struct pm_stream *)object;
    struct sp_diag diag;
    rt_stream before;
    sp_diag_init(&diag);
    if (!stream_is_open(self) || !pm_stream_parse(self->state, other, &before))
        return NULL;
    if (!stream_order(self->dev, before, self->handle, &diag))
        return pm_raise(self->state, &diag);
    Py_RETURN_NONE;
}

/* add_callback(callback, arg=None) */
static PyObject *
stream_add_callback(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct pm_stream *self = (struct pm_stream *)object;
    static char *names[] = {"callback", "arg", NULL};
    PyObject *callback, *argument = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:add_callback", names, &callback,
                                     &argument) ||
        !stream_is_open(self))
        return NULL;
    if (!PyCallable_Check(callback)) {
        PyErr_SetString(PyExc_TypeError,
                        "a stream's callback must be callable as callback(stream, status, arg)");
        return NULL;
    }
    if (!pm_callback_add(self->state, object, self->dev, self->handle, callback, argument))
        return NULL;
    Py_RETURN_NONE;
}

/* What gpu/_streams.py does for a stream. */
static PyObject *
stream_by_module(PyObject *object, const char *name)
{
    if (!stream_is_open((struct pm_stream *)object))
        return NULL;
    PyObject *module = PyImport_ImportModule("gpu._streams");
    PyObject *result = module ? PyObject_CallMethod(module, name, "O", object) : NULL;
    Py_XDECREF(module);
    return result;
}

static PyObject *
stream_async_done(PyObject *object, PyObject *unused)
{
    (void)unused;
    return stream_by_module(object, "async_done");
}

static PyObject *
stream_auto_synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    return stream_by_module(object, "auto_synchronize");
}

static PyObject *
stream_await(PyObject *object)
{
    PyObject *future = stream_by_module(object, "async_done");
    PyObject *iterator = future ? PyObject_CallMethod(future, "__await__", NULL) : NULL;
    Py_XDECREF(future);
    return iterator;
}

static PyObject *
stream_protocol(PyObject *object, PyObject *unused)
{
    (void)unused;
    if (!stream_is_open((struct pm_stream *)object))
        return NULL;
    return Py_BuildValue("(iK)", 0, (unsigned long long)((struct pm_stream *)object)->handle);
}

static bool
stream_destroy(struct pm_stream *self, struct sp_diag *diag)
{
    bool owned = self->owned;
    self->owned = false;
    self->state->n_gone += owned;
    return !owned || rt_stream_destroy(self->dev, self->handle, diag);
}

static PyObject *
stream_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_stream *self = (struct pm_stream *)object;
    struct sp_diag diag;
    sp_diag_init(&diag);
    self->closed = true;
    if (!stream_destroy(self, &diag))
        return pm_raise(self->state, &diag);
    Py_RETURN_NONE;
}

static PyObject *
stream_get_handle(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct pm_stream *)object)->handle);
}

static PyObject *
stream_int(PyObject *object)
{
    return stream_get_handle(object, NULL);
}

static PyObject *
stream_get_priority(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((struct pm_stream *)object)->priority);
}

static PyObject *
stream_get_non_blocking(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((struct pm_stream *)object)->non_blocking);
}

static PyObject *
stream_compare(PyObject *object, PyObject *other, int operation)
{
    if (Py_TYPE(object) != Py_TYPE(other) || (operation != Py_EQ && operation != Py_NE))
        return Py_NewRef(Py_NotImplemented);
    const struct pm_stream *a = (struct pm_stream *)object, *b = (struct pm_stream *)other;
    bool same = a->dev == b->dev && a->handle == b->handle && a->closed == b->closed;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t
stream_hash(PyObject *object)
{
    const struct pm_stream *self = (struct pm_stream *)object;
    Py_hash_t hash = (Py_hash_t)(self->handle ^ (uintptr_t)self->dev >> 4);
    return hash == -1 ? -2 : hash;
}

static PyObject *
stream_repr(PyObject *object)
{
    static const char *const special[] = {"default", "legacy default", "per-thread default"};
    struct pm_stream *self = (struct pm_stream *)object;
    char device[24];
    pm_device_print(self->dev, device);
    if (self->handle <= RT_STREAM_PER_THREAD)
        return PyUnicode_FromFormat("<gpu stream: %s of %s>", special[self->handle], device);
    char handle[24];
    PyOS_snprintf(handle, sizeof handle, "0x%zx", (size_t)self->handle);
    return PyUnicode_FromFormat("<gpu stream %s of %s%s>", handle, device,
                                self->closed ? ", closed" : "");
}

static void
stream_dealloc(PyObject *object)
{
    struct pm_stream *self = (struct pm_stream *)object;
    PyTypeObject *type = Py_TYPE(object);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!stream_destroy(self, &diag))
        pm_keep(self->state, &diag);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyGetSetDef stream_getset[] = {
    {"handle", stream_get_handle, NULL, "The driver's handle as an int.", NULL},
    {"done", stream_get_done, NULL, "Whether everything in the stream is done.", NULL},
    {"priority", stream_get_priority, NULL, "0 is the lowest, -1 is higher, and so on.", NULL},
    {"non_blocking", stream_get_non_blocking, NULL,
     "Whether it has no implicit order with the default stream.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS,
     "Waits until everything in the stream is done; raises what kernels raised."},
    {"query", stream_query, METH_NOARGS, "Whether everything in the stream is done."},
    {"record", stream_record, METH_VARARGS,
     "record(event=None): records the event, or a new one without timing, and returns it."},
    {"record_event", stream_record, METH_VARARGS, "The same as record()."},
    {"wait_event", stream_wait_event, METH_O,
     "Later work of this stream begins after what the event was recorded behind."},
    {"wait_stream", stream_wait_stream, METH_O,
     "Later work of this stream begins after what is in the other one now."},
    {"add_callback", (PyCFunction)(void (*)(void))stream_add_callback, METH_VARARGS | METH_KEYWORDS,
     "add_callback(callback, arg=None): after what is in the stream now, calls\n"
     "callback(stream, status, arg) on a thread for that; status is 0 unless the device failed.\n"
     "What it raises goes to sys.unraisablehook."},
    {"async_done", stream_async_done, METH_NOARGS,
     "An asyncio.Future that is done once everything in the stream is; its result is the stream,\n"
     "its exception what kernels raised. `await stream` is the same."},
    {"auto_synchronize", stream_auto_synchronize, METH_NOARGS,
     "A context manager that waits for the stream at its end."},
    {"close", stream_close, METH_NOARGS,
     "Gives the stream back; what is in it runs on. It cannot be used afterwards."},
    {"__cuda_stream__", stream_protocol, METH_NOARGS, "(0, handle), for other libraries."},
    {"__enter__", stream_enter, METH_NOARGS, "Makes it the current stream."},
    {"__exit__", stream_exit, METH_VARARGS, NULL},
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot stream_slots[] = {
    {Py_tp_doc, (void *)"A queue of work; made by gpu.stream()."},
    {Py_tp_repr, stream_repr},
    {Py_tp_richcompare, stream_compare},
    {Py_tp_hash, stream_hash},
    {Py_nb_int, stream_int},
    {Py_am_await, stream_await},
    {Py_tp_getset, stream_getset},
    {Py_tp_methods, stream_methods},
    {Py_tp_dealloc, stream_dealloc},
    {0, NULL},
};
static PyType_Spec stream_spec = {
    .name = "gpu.Stream",
    .basicsize = sizeof(struct pm_stream),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = stream_slots,
};

PyType_Spec *
pm_stream_spec(void)
{
    return &stream_spec;
}
