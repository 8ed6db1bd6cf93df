/* event: points in streams, as Python objects. What the device forbids, the runtime says
 * (runtime/stream.c); here are types and the wait, which sees Ctrl-C and raises what kernels before
 * the event have raised. */
#include "pymod/pm.h"

struct event {
    PyObject_HEAD struct pm_state *state;
    struct rt_event *event;
};

PyObject *
pm_event_new(struct pm_state *state, struct rt_device *dev, uint32_t flags)
{
    struct sp_diag diag;
    struct rt_event *event;
    sp_diag_init(&diag);
    if (!rt_event_create(dev, flags, &event, &diag))
        return pm_raise(state, &diag);
    struct event *self = PyObject_New(struct event, state->event_type);
    if (!self) {
        rt_event_destroy(event);
        return NULL;
    }
    self->state = state;
    self->event = event;
    return (PyObject *)self;
}

PyObject *
pm_event_create(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"timing", "blocking", "interprocess", NULL};
    int timing = 1, blocking = 0, interprocess = 0;
    struct pm_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|ppp:event", names, &timing, &blocking,
                                     &interprocess))
        return NULL;
    struct rt_device *dev = pm_device(state);
    uint32_t flags = timing ? RT_EVENT_TIMING : 0;
    flags |= blocking ? RT_EVENT_SLEEP : 0;
    flags |= interprocess ? RT_EVENT_IPC : 0;
    return dev ? pm_event_new(state, dev, flags) : NULL;
}

struct rt_event *
pm_event_parse(struct pm_state *state, PyObject *object)
{
    if (Py_IS_TYPE(object, state->event_type))
        return ((struct event *)object)->event;
    PyObject *name = PyType_GetName(Py_TYPE(object));
    PyErr_Format(PyExc_TypeError, "an event made by gpu.event() is needed, not '%S'", name);
    Py_XDECREF(name);
    return NULL;
}

bool
pm_event_record(PyObject *object, rt_stream stream)
{
    struct event *self = (struct event *)object;
    struct sp_diag diag;
    sp_diag_init(&diag);
    return rt_event_record(self->event, stream, &diag) || pm_raise(self->state, &diag);
}

/* (stream=None) of record and wait. */
static bool
event_stream(struct event *self, PyObject *args, PyObject *kwargs, const char *format,
             rt_stream *stream_out)
{
    static char *names[] = {"stream", NULL};
    PyObject *stream = Py_None;
    return PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &stream) &&
           pm_stream_parse(self->state, stream, stream_out);
}

static PyObject *
event_record(PyObject *object, PyObject *args, PyObject *kwargs)
{
    rt_stream stream;
    if (!event_stream((struct event *)object, args, kwargs, "|O:record", &stream) ||
        !pm_event_record(object, stream))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
event_wait(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct event *self = (struct event *)object;
    struct sp_diag diag;
    rt_stream stream;
    sp_diag_init(&diag);
    if (!event_stream(self, args, kwargs, "|O:wait", &stream))
        return NULL;
    if (!rt_stream_wait(self->event->dev, stream, self->event, &diag))
        return pm_raise(self->state, &diag);
    Py_RETURN_NONE;
}

static PyObject *
event_synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct event *self = (struct event *)object;
    if (!pm_wait_event(self->state, self->event))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
event_query(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct event *self = (struct event *)object;
    struct sp_diag diag;
    bool done = false;
    sp_diag_init(&diag);
    if (!rt_event_query(self->event, &done, &diag))
        return pm_raise(self->state, &diag);
    return PyBool_FromLong(done);
}

static PyObject *
event_get_done(PyObject *object, void *closure)
{
    (void)closure;
    return event_query(object, NULL);
}

static PyObject *
event_elapsed(struct pm_state *state, PyObject *start, PyObject *end)
{
    struct rt_event *from = pm_event_parse(state, start);
    struct rt_event *to = from ? pm_event_parse(state, end) : NULL;
    struct sp_diag diag;
    float ms = 0;
    sp_diag_init(&diag);
    if (!to)
        return NULL;
    if (!rt_event_elapsed(from, to, &ms, &diag))
        return pm_raise(state, &diag);
    return PyFloat_FromDouble(ms);
}

static PyObject *
event_elapsed_time(PyObject *object, PyObject *end)
{
    return event_elapsed(((struct event *)object)->state, object, end);
}

PyObject *
pm_event_elapsed_time(PyObject *module, PyObject *args)
{
    PyObject *start, *end;
    if (!PyArg_ParseTuple(args, "OO:event_elapsed_time", &start, &end))
        return NULL;
    return event_elapsed(PyModule_GetState(module), start, end);
}

static PyObject *
event_get_timing(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((struct event *)object)->event->flags & RT_EVENT_TIMING);
}

static PyObject *
event_repr(PyObject *object)
{
    struct event *self = (struct event *)object;
    char device[24];
    pm_device_print(self->event->dev, device);
    return PyUnicode_FromFormat("<gpu event of %s, %s timing%s>", device,
                                self->event->flags & RT_EVENT_TIMING ? "with" : "without",
                                self->event->recorded ? "" : ", never recorded");
}

static void
event_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    rt_event_destroy(((struct event *)object)->event);
    PyObject_Free(object);
    Py_DECREF(type);
}

#define EVENT_KEYWORDS(name, function, doc)                                                        \
    {name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, doc}
static PyGetSetDef event_getset[] = {
    {"done", event_get_done, NULL, "Whether what it was recorded behind is done.", NULL},
    {"timing", event_get_timing, NULL, "Whether it keeps the time.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef event_methods[] = {
    EVENT_KEYWORDS("record", event_record,
                   "record(stream=None): stands for what is in the stream now."),
    EVENT_KEYWORDS("wait", event_wait,
                   "wait(stream=None): later work of the stream begins after what the event\n"
                   "was recorded behind. The host goes on."),
    {"synchronize", event_synchronize, METH_NOARGS,
     "The host waits for what the event was recorded behind; raises what kernels raised."},
    {"query", event_query, METH_NOARGS, "Whether what it was recorded behind is done."},
    {"elapsed_time", event_elapsed_time, METH_O,
     "elapsed_time(end): milliseconds from this event to the other, both done."},
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot event_slots[] = {
    {Py_tp_doc, (void *)"A point in a stream; made by gpu.event()."},
    {Py_tp_repr, event_repr},
    {Py_tp_getset, event_getset},
    {Py_tp_methods, event_methods},
    {Py_tp_dealloc, event_dealloc},
    {0, NULL},
};
static PyType_Spec event_spec = {
    .name = "gpu.Event",
    .basicsize = sizeof(struct event),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = event_slots,
};

PyType_Spec *
pm_event_spec(void)
{
    return &event_spec;
}
