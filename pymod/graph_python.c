/* graph_python: graphs on the python device, where a launch in a capture becomes a call that
 * replays make: of the launcher, with the arguments, on the replaying thread with the GIL. What
 * else is in the graph is the CPU device's, which waits before each call (runtime/cpu_graph.c). */
#include "pymod/graph_t.h"

#include <stdlib.h>

/* A launch, the runtime's to keep. */
struct python_call {
    PyObject *launcher, *arguments;
};

static bool
python_run(void *data)
{
    struct python_call *call = data;
    PyObject *arguments = Py_NewRef(call->arguments); /* which an update may replace meanwhile */
    PyObject *result = PyObject_CallObject(call->launcher, arguments);
    Py_DECREF(arguments);
    Py_XDECREF(result);
    return result != NULL;
}

static void
python_drop(void *data)
{
    struct python_call *call = data;
    Py_DECREF(call->launcher);
    Py_DECREF(call->arguments);
    free(call);
}

/* Types as far as an update must keep them: a call could be compiled anew, a graph cannot. */
static uint64_t
python_types(const struct pm_arg *args, uint32_t n)
{
    uint64_t digest = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_argtype *type = &args[i].type;
        digest = (digest ^ (uint64_t)type->kind ^ (uint64_t)type->dtype << 8 ^
                  (uint64_t)type->rank << 40) *
                 0x9e3779b97f4a7c15u;
    }
    return digest;
}

/* *args come as one tuple, at the end. */
static PyObject *
python_arguments(PyObject *const *values, uint32_t n, bool has_varargs)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        bool last = has_varargs && i + 1 == n;
        Py_ssize_t n_more = last && values[i] ? PyTuple_Size(values[i]) : 0;
        bool ok = last || PyList_Append(list, values[i]) == 0;
        for (Py_ssize_t k = 0; ok && k < n_more; k++)
            ok = PyList_Append(list, PyTuple_GetItem(values[i], k)) == 0;
        if (!ok)
            Py_CLEAR(list);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static bool
python_note(struct pm_graph *graph, struct pm_launcher *launcher, PyObject *arguments,
            uint64_t types)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct python_call *call = sp_alloc(sizeof *call);
    call->launcher = Py_NewRef((PyObject *)launcher);
    call->arguments = Py_NewRef(arguments);
    if (!rt_graph_add_call(graph->graph, launcher->config.stream, python_run, python_drop, call,
                           &diag)) {
        python_drop(call);
        return pm_raise(graph->state, &diag);
    }
    struct record record = {.launcher = (struct pm_launcher *)Py_NewRef((PyObject *)launcher),
                            .arguments = Py_NewRef(arguments),
                            .python = call,
                            .types = types};
    sp_vec_push(NULL, &graph->records, record);
    graph->has_python = true;
    return true;
}

bool
pm_graph_take_python(struct pm_launcher *launcher, struct rt_device *dev, PyObject *const *values,
                     uint32_t n, bool has_varargs, const struct pm_arg *args, uint32_t n_args,
                     bool *taken_out)
{
    struct pm_state *state = launcher->kernel->state;
    struct pm_graph_update *update = pm_graph_updating(state);
    struct pm_graph *graph = update ? NULL : pm_graph_find(state, dev, launcher->config.stream);
    *taken_out = update || graph;
    if (!*taken_out)
        return true;
    uint64_t types = python_types(args, n_args);
    if (update && update->record->types != types)
        return pm_graph_fail_types(state);
    PyObject *arguments = python_arguments(values, n, has_varargs);
    if (!arguments || !update) {
        bool ok = arguments && python_note(graph, launcher, arguments, types);
        Py_XDECREF(arguments);
        return ok;
    }
    PyObject *old = update->record->python->arguments;
    update->record->python->arguments = Py_NewRef(arguments);
    Py_DECREF(old);
    old = update->record->arguments;
    update->record->arguments = arguments;
    Py_DECREF(old);
    return true;
}
