/* bound: kernel[grid, block].bind(arguments), a launch that is called without any.
 *
 * Binding checks the arguments and compiles. If all arrays are ours, the packed parameters are
 * kept: a launch then checks the kernel's guards and hands them over. Else, and after a guard has
 * failed or another device was chosen, it takes the values as a call does, which finds tensors
 * where they are now and orders their streams. Whoever sets an argument anew binds it: for a number
 * that is some tens of nanoseconds. */
#include "pymod/call_t.h"

#include <stdlib.h>
#include <string.h>

struct bound {
    PyObject_HEAD pm_vectorcall vectorcall;
    struct pm_launcher *launcher;
    uint32_t n_values; /* of the parameters, and the tuple of *args */
    PyObject **values; /* owned */
    /* What is packed; `area` NULL: nothing. */
    struct pm_reading *reading; /* a share */
    struct rt_device *dev;
    struct pm_entry *entry; /* of the reading */
    void *area;
};

#define BOUND_AREA_B 256

static void
bound_forget(struct bound *self)
{
    free(self->area);
    self->area = NULL;
    struct pm_reading *reading = self->reading;
    self->reading = NULL;
    pm_reading_unref(reading);
}

/* Checks the values, compiles, and packs them where that is possible. */
static bool
bound_resolve(struct bound *self, const struct begun *begun, PyObject *const *values)
{
    struct call call;
    pm_call_init(&call, self->launcher, begun);
    bool ok = pm_call_take(&call, values), python = call.python;
    struct pm_entry *entry = ok && !python ? pm_call_entry(&call) : NULL;
    ok = ok && (python || entry);
    if (ok)
        bound_forget(self);
    if (ok && entry && !call.foreign && !call.kept) {
        self->area = sp_alloc(entry->artifact->params_size_B + 8);
        pm_call_pack(entry->artifact, call.args, self->area);
        begun->reading->refs++;
        self->reading = begun->reading;
        self->dev = begun->place->dev;
        self->entry = entry;
    }
    pm_call_finish(&call);
    return ok;
}

static bool
bound_launch_packed(struct bound *self, bool is_here)
{
    uint64_t few[BOUND_AREA_B / 8];
    size_t size_B = self->entry->artifact->params_size_B;
    void *area = size_B > BOUND_AREA_B ? sp_alloc(size_B) : few;
    /* A copy: the runtime completes it, and other threads may launch the same. */
    memcpy(area, self->area, size_B);
    bool ok = pm_call_launch(self->launcher, self->dev, self->entry, self->launcher->config.stream,
                             is_here, area);
    if (area != few)
        free(area);
    struct pm_state *state = self->launcher->kernel->state;
    if (!ok || (!state->graphs && !state->graph_update))
        return ok;
    PyObject *values = PyTuple_New((Py_ssize_t)self->n_values);
    for (uint32_t i = 0; values && i < self->n_values; i++)
        PyTuple_SetItem(values, i, Py_NewRef(self->values[i] ? self->values[i] : Py_None));
    return pm_graph_note(self->launcher, self->dev, self->launcher->config.stream, self->reading,
                         self->entry, values);
}

static PyObject *
bound_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)args;
    struct bound *self = (struct bound *)object;
    struct pm_kernel *kernel = self->launcher->kernel;
    struct begun begun;
    if (nargsf << 1 || (kwnames && PyTuple_Size(kwnames)))
        return pm_fail(kernel->state, BAD_CONFIGURATION,
                       "a bound launch is called without arguments; set(name=value) changes them");
    if (!pm_call_begin(kernel, &begun))
        return NULL;
    bool ok = true, packed = self->area && self->reading == begun.reading &&
                             self->dev == begun.place->dev && !begun.place->python;
    Py_INCREF(object); /* whatever runs meanwhile may drop it */
    if (!packed)
        ok = bound_resolve(self, &begun, self->values);
    if (ok && self->area)
        ok = bound_launch_packed(self, packed && begun.is_here);
    else if (ok)
        ok = pm_call_values(self->launcher, &begun, self->values);
    Py_DECREF(object);
    pm_reading_unref(begun.reading);
    return ok ? Py_NewRef(Py_None) : NULL;
}

static PyObject *
bound_call_tuple(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return pm_call_as_vector(bound_call, self, args, kwargs);
}

static PyObject *
bound_create(PyObject *object, PyObject *const *args, size_t n_args, PyObject *kwnames)
{
    struct pm_launcher *launcher = (struct pm_launcher *)object;
    struct pm_state *state = launcher->kernel->state;
    struct begun begun;
    if (!pm_call_begin(launcher->kernel, &begun))
        return NULL;
    struct pm_reading *reading = begun.reading;
    struct bound *self = PyObject_GC_New(struct bound, state->bound_type);
    if (self) {
        memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
        self->vectorcall = bound_call;
        self->launcher = (struct pm_launcher *)Py_NewRef(object);
        self->n_values = reading->n_params + reading->has_varargs;
        self->values = sp_alloc((reading->n_params + 1) * sizeof *self->values);
        self->values[reading->n_params] = NULL;
        bool ok =
            pm_bind(launcher->kernel, reading, args, (Py_ssize_t)n_args, kwnames, self->values);
        if (!ok)
            self->n_values = 0;
        for (uint32_t i = 0; ok && i < reading->n_params; i++)
            Py_INCREF(self->values[i]);
        PyObject_GC_Track(self);
        if (!ok || !bound_resolve(self, &begun, self->values))
            Py_CLEAR(self);
    }
    pm_reading_unref(reading);
    return (PyObject *)self;
}

PyObject *
pm_bound_new(PyObject *launcher, PyObject *args, PyObject *kwargs)
{
    return pm_call_as_vector(bound_create, launcher, args, kwargs);
}

/* The place of a parameter by name; -1 with an exception if there is none. */
static int
bound_find(struct bound *self, struct pm_reading *reading, PyObject *key)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    Py_ssize_t len;
    const char *name = PyUnicode_AsUTF8AndSize(key, &len);
    if (!name)
        return -1;
    for (uint32_t i = 0; i < reading->n_params && i < self->n_values; i++)
        if (!strcmp(func->params[i].name, name))
            return (int)i;
    char label[PM_LABEL_B];
    PyOS_snprintf(label, sizeof label, "'%.60s'", name);
    pm_fail(self->launcher->kernel->state, CALL_ARGUMENT, label, self->launcher->kernel->name_utf8,
            "there is no such parameter");
    return -1;
}

/* set(name=value, ...): all or, if one of them cannot be, none. */
static PyObject *
bound_set(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct bound *self = (struct bound *)object;
    struct begun begun;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (PyTuple_Size(args))
        return pm_fail(self->launcher->kernel->state, BAD_CONFIGURATION,
                       "set takes arguments by name: set(a=2.0)");
    if (!pm_call_begin(self->launcher->kernel, &begun))
        return NULL;
    uint32_t n = self->n_values;
    PyObject **values = sp_alloc((n + 1) * sizeof *values);
    memcpy(values, self->values, n * sizeof *values);
    bool ok = true;
    while (ok && kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        int i = bound_find(self, begun.reading, key);
        ok = i >= 0;
        if (ok)
            values[i] = value;
    }
    for (uint32_t i = 0; i < n; i++)
        Py_INCREF(values[i]);
    ok = ok && bound_resolve(self, &begun, values);
    PyObject **drop = ok ? self->values : values;
    if (ok)
        self->values = values;
    for (uint32_t i = 0; i < n; i++)
        Py_DECREF(drop[i]);
    free(drop);
    pm_reading_unref(begun.reading);
    return ok ? Py_NewRef(Py_None) : NULL;
}

static int
bound_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct bound *self = (struct bound *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->launcher);
    for (uint32_t i = 0; i < self->n_values; i++)
        Py_VISIT(self->values[i]);
    return 0;
}

static int
bound_clear(PyObject *object)
{
    struct bound *self = (struct bound *)object;
    uint32_t n = self->n_values;
    self->n_values = 0;
    for (uint32_t i = 0; i < n; i++)
        Py_CLEAR(self->values[i]);
    return 0;
}

static void
bound_dealloc(PyObject *object)
{
    struct bound *self = (struct bound *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    bound_forget(self);
    bound_clear(object);
    free(self->values);
    Py_CLEAR(self->launcher);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *
bound_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<bound %R>", ((struct bound *)object)->launcher);
}

static PyObject *
bound_get_launcher(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)((struct bound *)object)->launcher);
}

static PyObject *
bound_get_arguments(PyObject *object, void *closure)
{
    (void)closure;
    struct bound *self = (struct bound *)object;
    PyObject *tuple = PyTuple_New(self->n_values);
    for (uint32_t i = 0; tuple && i < self->n_values; i++)
        PyTuple_SetItem(tuple, i, Py_NewRef(self->values[i]));
    return tuple;
}

static PyGetSetDef bound_getset[] = {
    {"launcher", bound_get_launcher, NULL, "The launcher that was bound.", NULL},
    {"arguments", bound_get_arguments, NULL,
     "The values in the order of the parameters; of *args the tuple.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef bound_methods[] = {
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    {"set", (PyCFunction)(void (*)(void))bound_set, METH_VARARGS | METH_KEYWORDS,
     "set(name=value, ...): changes arguments for the launches to come. An error leaves all as "
     "they "
     "were."},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct bound, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot bound_slots[] = {
    {Py_tp_doc, (void *)"kernel[grid, block].bind(arguments): call it to launch."},
    {Py_tp_call, bound_call_tuple},
    {Py_tp_repr, bound_repr},
    {Py_tp_getset, bound_getset},
    {Py_tp_methods, bound_methods},
    {Py_tp_members, bound_members},
    {Py_tp_dealloc, bound_dealloc},
    {Py_tp_traverse, bound_traverse},
    {Py_tp_clear, bound_clear},
    {0, NULL},
};
static PyType_Spec bound_spec = {
    .name = "gpu.BoundLaunch",
    .basicsize = sizeof(struct bound),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE | PM_HAVE_VECTORCALL,
    .slots = bound_slots,
};

PyType_Spec *
pm_bound_spec(void)
{
    return &bound_spec;
}
