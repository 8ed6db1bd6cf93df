/* graph: captured work as a Python object, `with gpu.graph() as g:`.
 *
 * While the block runs its stream is captured and the current one. Each launch of ours that
 * becomes part of the graph leaves a record here: its launcher, what it was compiled to, and
 * its arguments, which so live as long as the graph, because replays use their memory. A node's
 * update() is a call like any other, with all its checks, whose launch is diverted: the
 * parameters go to the graph. */
#include "pymod/graph_t.h"

#include <stdlib.h>
#include <string.h>

struct node {
    PyObject_HEAD struct pm_graph *graph;
    uint32_t index;
};

static bool
graph_fail(struct pm_state *state, const char *text, const char *hint)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    sp_diag_set(&diag, SP_E_CAPTURE_MISUSE, NULL, text);
    sp_diag_hint(&diag, "%s", hint);
    return pm_raise(state, &diag);
}

bool
pm_graph_fail_types(struct pm_state *state)
{
    return graph_fail(state,
                      "an update needs arguments of the types that were captured, and the kernel "
                      "as it was then",
                      "capture the graph anew");
}

static bool
graph_parse_mode(PyObject *text, enum rt_capture_mode *mode_out)
{
    static const char *const names[] = {
        [RT_CAPTURE_GLOBAL] = "global",
        [RT_CAPTURE_THREAD] = "thread_local",
        [RT_CAPTURE_RELAXED] = "relaxed",
    };
    for (int i = 0; text && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(text, names[i]) == 0) {
            *mode_out = (enum rt_capture_mode)i;
            return true;
        }
    if (text)
        PyErr_SetString(PyExc_ValueError,
                        "the mode of a capture is 'thread_local', 'global' or 'relaxed'");
    return !text;
}

/* graph(stream=None, mode="thread_local") */
PyObject *
pm_graph_create(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "mode", NULL};
    struct pm_state *state = PyModule_GetState(module);
    PyObject *stream = Py_None, *mode_text = NULL;
    enum rt_capture_mode mode = RT_CAPTURE_THREAD;
    rt_stream handle = 0;
    struct rt_device *dev = pm_device(state);
    if (!dev ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "|OU:graph", names, &stream, &mode_text) ||
        !graph_parse_mode(mode_text, &mode))
        return NULL;
    if (stream == Py_None)
        stream = pm_stream_aside(module);
    else
        Py_INCREF(stream);
    struct pm_graph *self = NULL;
    if (stream && Py_IS_TYPE(stream, state->stream_type))
        dev = ((struct pm_stream *)stream)->dev;
    if (stream && pm_stream_parse(state, stream, &handle))
        self = PyObject_GC_New(struct pm_graph, state->graph_type);
    if (!self) {
        Py_XDECREF(stream);
        return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->state = state;
    self->dev = dev;
    self->stream = stream;
    self->handle = handle;
    self->mode = mode;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static PyObject *
graph_enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_graph *self = (struct pm_graph *)object;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (self->graph) {
        graph_fail(self->state, "the graph was captured already", "make another gpu.graph()");
        return NULL;
    }
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_graph_begin(self->dev, self->handle, self->mode, &self->graph, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(self->state, &diag);
    PyObject *current = Py_IS_TYPE(self->stream, self->state->stream_type)
                            ? Py_NewRef(self->stream)
                            : pm_stream_of_handle(self->state, self->dev, self->handle);
    PyObject *entered = current ? pm_stream_enter(self->state, current) : NULL;
    Py_XDECREF(current);
    if (!entered) {
        rt_graph_destroy(self->graph);
        self->graph = NULL;
        return NULL;
    }
    Py_DECREF(entered);
    self->next = self->state->graphs;
    self->state->graphs = self;
    return Py_NewRef(object);
}

static void
graph_unlink(struct pm_graph *self)
{
    struct pm_graph **at = &self->state->graphs;
    while (*at && *at != self)
        at = &(*at)->next;
    if (*at)
        *at = self->next;
}

/* An exception of the block goes before the capture's. */
static PyObject *
graph_exit(PyObject *object, PyObject *args)
{
    struct pm_graph *self = (struct pm_graph *)object;
    PyObject *type = Py_None, *value = Py_None, *traceback = Py_None;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!PyArg_ParseTuple(args, "|OOO:__exit__", &type, &value, &traceback))
        return NULL;
    if (!self->graph || self->graph->state != RT_GRAPH_CAPTURING) {
        graph_fail(self->state, "the graph is not being captured", "write `with graph:`");
        return NULL;
    }
    bool ok, left = pm_stream_leave(self->state);
    graph_unlink(self);
    Py_BEGIN_ALLOW_THREADS
    ok = rt_graph_end(self->graph, &diag);
    Py_END_ALLOW_THREADS
    if (type != Py_None) {
        self->graph->state = RT_GRAPH_BROKEN;
        sp_diag_finish(&diag);
        return left ? Py_NewRef(Py_False) : NULL;
    }
    if (!ok)
        return pm_raise(self->state, &diag);
    return left ? Py_NewRef(Py_False) : NULL;
}

struct pm_graph *
pm_graph_find(struct pm_state *state, struct rt_device *dev, rt_stream stream)
{
    struct rt_graph *captured = rt_graph_of_stream(dev, stream);
    struct pm_graph *graph = captured ? state->graphs : NULL;
    while (graph && graph->graph != captured)
        graph = graph->next;
    return graph;
}

/* Where memory goes when its array does is known for the captured stream, and now for this one. */
static bool
graph_use_all(struct pm_graph *self, PyObject *sequence, rt_stream handle, PyObject *stream)
{
    Py_ssize_t n = sequence ? PySequence_Size(sequence) : 0;
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *object = PySequence_GetItem(sequence, i);
        if (object && Py_IS_TYPE(object, self->state->array_type))
            ok = pm_array_use((struct pm_array *)object, self->dev, handle, stream);
        Py_XDECREF(object);
    }
    return ok;
}

static bool
graph_use(struct pm_graph *self, rt_stream handle, PyObject *stream)
{
    PyObject *kept = stream == Py_None || PyLong_Check(stream) ? NULL : stream;
    bool ok = graph_use_all(self, self->kept, handle, kept);
    for (uint32_t i = 0; ok && i < self->records.len; i++)
        ok = graph_use_all(self, self->records.data[i].arguments, handle, kept);
    return ok;
}

/* replay(stream=None) */
static PyObject *
graph_replay(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    struct pm_graph *self = (struct pm_graph *)object;
    struct pm_state *state = self->state;
    PyObject *stream = Py_None;
    rt_stream handle;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:replay", names, &stream) ||
        !pm_stream_parse(state, stream, &handle))
        return NULL;
    if (!self->graph) {
        graph_fail(state, "the graph was not captured yet",
                   "write `with graph:` around the work that it shall replay");
        return NULL;
    }
    uint64_t thread = pm_thread();
    bool ok;
    if (handle != self->handle && !graph_use(self, handle, stream))
        return NULL;
    state->n_queued++;
    if (self->has_python) {
        struct pm_graph *outer = pm_graph_find(state, self->dev, handle);
        if (outer)
            outer->has_python = true;
        /* Its kernels run now, with the GIL. */
        ok = rt_graph_launch(self->graph, handle, thread, &diag);
    } else {
        Py_BEGIN_ALLOW_THREADS
        ok = rt_graph_launch(self->graph, handle, thread, &diag);
        Py_END_ALLOW_THREADS
    }
    if (!ok && PyErr_Occurred())
        sp_diag_finish(&diag);
    else if (!ok)
        pm_raise(state, &diag);
    return ok ? Py_NewRef(Py_None) : NULL;
}

struct pm_graph_update *
pm_graph_updating(struct pm_state *state)
{
    struct pm_graph_update *update = state->graph_update;
    uint64_t thread = update ? pm_thread() : 0;
    while (update && update->thread != thread)
        update = update->next;
    return update;
}

bool
pm_graph_note(struct pm_launcher *launcher, struct rt_device *dev, rt_stream stream,
              struct pm_reading *reading, struct pm_entry *entry, PyObject *arguments)
{
    struct pm_state *state = launcher->kernel->state;
    struct pm_graph_update *update = pm_graph_updating(state);
    struct pm_graph *graph = update || !arguments ? NULL : pm_graph_find(state, dev, stream);
    if (arguments && update) {
        PyObject *old = update->record->arguments;
        update->record->arguments = arguments;
        Py_DECREF(old);
        return true;
    }
    if (!graph) {
        bool ok = arguments != NULL;
        Py_XDECREF(arguments);
        return ok;
    }
    reading->refs++;
    reading->n_seen++;
    struct record record = {.launcher = (struct pm_launcher *)Py_NewRef((PyObject *)launcher),
                            .reading = reading,
                            .entry = entry,
                            .index = graph->graph->n_launches - 1,
                            .arguments = arguments};
    sp_vec_push(NULL, &graph->records, record);
    return true;
}

bool
pm_graph_updates(struct pm_state *state)
{
    return pm_graph_updating(state) != NULL;
}

bool
pm_graph_set(struct pm_launcher *launcher, struct pm_entry *entry, const struct rt_launch *launch,
             void *params)
{
    struct pm_state *state = launcher->kernel->state;
    struct pm_graph_update *update = pm_graph_updating(state);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (update->record->entry != entry)
        return pm_graph_fail_types(state);
    return rt_graph_update(update->graph->graph, update->record->index, entry->code, launch, params,
                           &diag) ||
           pm_raise(state, &diag);
}

bool
pm_graph_keep(struct pm_state *state, struct rt_device *dev, rt_stream stream, PyObject *object)
{
    struct pm_graph *graph = state->graphs ? pm_graph_find(state, dev, stream) : NULL;
    if (graph && !graph->kept)
        graph->kept = PyList_New(0);
    return !graph || (graph->kept && PyList_Append(graph->kept, object) == 0);
}

bool
pm_graph_allows_host(struct pm_state *state, struct rt_device *dev, rt_stream stream)
{
    return !rt_stream_is_capturing(dev, stream) ||
           graph_fail(state, "a copy with the host cannot be captured",
                      "copy before the capture or behind the replay; copies on the device are "
                      "captured");
}

bool
pm_graph_takes(struct pm_state *state, struct rt_device *dev, rt_stream stream)
{
    return pm_graph_updating(state) || rt_stream_is_capturing(dev, stream);
}

/* ---- Nodes ---- */

/* Kernels of ours that copy and convert arrays are not the program's. */
static PyObject *
graph_get_nodes(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_graph *self = (struct pm_graph *)object;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < self->records.len; i++) {
        if (self->records.data[i].launcher->kernel->is_internal)
            continue;
        struct node *node = PyObject_GC_New(struct node, self->state->graph_node_type);
        if (node) {
            node->graph = (struct pm_graph *)Py_NewRef(object);
            node->index = i;
            PyObject_GC_Track(node);
        }
        if (!node || PyList_Append(list, (PyObject *)node) < 0)
            Py_CLEAR(list);
        Py_XDECREF((PyObject *)node);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static struct record *
node_record(PyObject *object)
{
    struct node *self = (struct node *)object;
    return &self->graph->records.data[self->index];
}

static PyObject *
node_update(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct pm_graph *graph = ((struct node *)object)->graph;
    struct pm_state *state = graph->state;
    struct record *record = node_record(object);
    if (!graph->graph || graph->graph->state != RT_GRAPH_READY) {
        graph_fail(state, "the graph is not ready to be updated",
                   "leave the `with gpu.graph(...)` block first");
        return NULL;
    }
    struct pm_graph_update update = {state->graph_update, graph, record, pm_thread()};
    state->graph_update = &update;
    PyObject *result = PyObject_Call((PyObject *)record->launcher, args, kwargs);
    struct pm_graph_update **at = &state->graph_update;
    while (*at != &update)
        at = &(*at)->next;
    *at = update.next;
    return result;
}

static PyObject *
node_get_kernel(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)node_record(object)->launcher->kernel);
}

static PyObject *
node_get_arguments(PyObject *object, void *closure)
{
    (void)closure;
    struct record *record = node_record(object);
    return Py_NewRef(record->arguments);
}

static PyObject *
node_repr(PyObject *object)
{
    struct node *self = (struct node *)object;
    return PyUnicode_FromFormat("<gpu graph node %u: %R>", self->index,
                                (PyObject *)node_record(object)->launcher);
}

static int
node_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)((struct node *)object)->graph);
    return 0;
}

static void
node_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_DECREF((PyObject *)((struct node *)object)->graph);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *
graph_get_stream(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef(((struct pm_graph *)object)->stream);
}

static PyObject *
graph_repr(PyObject *object)
{
    static const char *const states[] = {"being captured", "ready", "broken"};
    struct pm_graph *self = (struct pm_graph *)object;
    char device[24];
    pm_device_print(self->dev, device);
    return PyUnicode_FromFormat("<gpu graph of %s, %s, %u launches>", device,
                                self->graph ? states[self->graph->state] : "not captured",
                                self->records.len);
}

/* There is no tp_clear: replays and nodes need everything. Each cycle goes through an object that
 * has one, the kernel's function, a list or a dict. What the runtime's graph has for the python
 * device stays out: another graph may have it too. */
static int
graph_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct pm_graph *self = (struct pm_graph *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->stream);
    Py_VISIT(self->kept);
    for (uint32_t i = 0; i < self->records.len; i++) {
        Py_VISIT((PyObject *)self->records.data[i].launcher);
        Py_VISIT(self->records.data[i].arguments);
    }
    return 0;
}

static void
graph_dealloc(PyObject *object)
{
    struct pm_graph *self = (struct pm_graph *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    graph_unlink(self);
    rt_graph_destroy(self->graph);
    for (uint32_t i = 0; i < self->records.len; i++) {
        struct record *record = &self->records.data[i];
        Py_DECREF((PyObject *)record->launcher);
        Py_DECREF(record->arguments);
        if (record->reading)
            record->reading->n_seen--;
        pm_reading_unref(record->reading);
    }
    sp_vec_finish(&self->records);
    Py_DECREF(self->stream);
    Py_XDECREF(self->kept);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

#define GRAPH_KEYWORDS(name, function, doc)                                                        \
    {name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, doc}
static PyGetSetDef graph_getset[] = {
    {"nodes", graph_get_nodes, NULL, "The launches of gpu kernels, in order of capture.", NULL},
    {"stream", graph_get_stream, NULL, "The stream that is captured.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef graph_methods[] = {
    GRAPH_KEYWORDS("replay", graph_replay,
                   "replay(stream=None): runs the captured work in the stream's order. On a\n"
                   "stream that is being captured a copy becomes part of that graph."),
    GRAPH_KEYWORDS("launch", graph_replay, "The same as replay()."),
    {"__enter__", graph_enter, METH_NOARGS, "Begins the capture."},
    {"__exit__", graph_exit, METH_VARARGS, "Ends the capture."},
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot graph_slots[] = {
    {Py_tp_doc, (void *)"Captured work; made by gpu.graph()."},
    {Py_tp_repr, graph_repr},
    {Py_tp_getset, graph_getset},
    {Py_tp_methods, graph_methods},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_traverse, graph_traverse},
    {0, NULL},
};
static PyType_Spec graph_spec = {
    .name = "gpu.Graph",
    .basicsize = sizeof(struct pm_graph),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = graph_slots,
};

static PyGetSetDef node_getset[] = {
    {"kernel", node_get_kernel, NULL, "What is launched.", NULL},
    {"arguments", node_get_arguments, NULL, "What it is launched with.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef node_methods[] = {
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    GRAPH_KEYWORDS("update", node_update,
                   "update(*arguments): later replays launch the kernel with these. They have\n"
                   "the types of those that were captured."),
    {NULL, NULL, 0, NULL},
};
static PyType_Slot node_slots[] = {
    {Py_tp_doc, (void *)"A launch in a graph; one of graph.nodes."},
    {Py_tp_repr, node_repr},
    {Py_tp_getset, node_getset},
    {Py_tp_methods, node_methods},
    {Py_tp_dealloc, node_dealloc},
    {Py_tp_traverse, node_traverse},
    {0, NULL},
};
static PyType_Spec node_spec = {
    .name = "gpu.GraphNode",
    .basicsize = sizeof(struct node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = node_slots,
};

PyType_Spec *
pm_graph_spec(void)
{
    return &graph_spec;
}

PyType_Spec *
pm_graph_node_spec(void)
{
    return &node_spec;
}
