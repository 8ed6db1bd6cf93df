/* bound: kernel[grid, block].bind(arguments), a launch that is called without any.
 *
 * Binding checks the arguments and compiles. If all arrays are ours, the packed parameters are
 * kept: a launch then checks the kernel's guards and hands them over. Else, and after a guard has
 * failed or another device was chosen, it takes the values as a call does, which finds tensors
 * where they are now and orders their streams. Whoever sets an argument anew binds it: for a number
 * that is some tens of nanoseconds.
 *
 * Values are counted: a launch has a share of those that it began with, whatever other threads, or
 * code of the program's that it runs, set meanwhile. */
#include "pymod/call_t.h"

#include <stdlib.h>
#include <string.h>

/* Of the parameters, and the tuple of *args. */
struct bound_values {
    uint32_t refs, n;
    PyObject *items[]; /* owned */
};

struct bound {
    PyObject_HEAD pm_vectorcall vectorcall;
    struct pm_launcher *launcher;
    struct bound_values *values; /* NULL: the collector has taken them */
    /* What is packed; `area` NULL: nothing. */
    struct pm_reading *reading; /* a share */
    struct rt_device *dev;
    struct pm_entry *entry; /* of the reading */
    void *area;
};

#define BOUND_AREA_B 256

/* A copy; of each that is there a reference. */
static struct bound_values *
values_create(PyObject *const *items, uint32_t n)
{
    struct bound_values *values = sp_alloc(sizeof *values + n * sizeof *items);
    *values = (struct bound_values){.refs = 1, .n = n};
    for (uint32_t i = 0; i < n; i++)
        values->items[i] = Py_NewRef(items[i]);
    return values;
}

static void
values_unref(struct bound_values *values)
{
    if (!values || --values->refs)
        return;
    for (uint32_t i = 0; i < values->n; i++)
        Py_DECREF(values->items[i]);
    free(values);
}

static PyObject *
values_tuple(const struct bound_values *values)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)values->n);
    for (uint32_t i = 0; tuple && i < values->n; i++)
        PyTuple_SetItem(tuple, (Py_ssize_t)i, Py_NewRef(values->items[i]));
    return tuple;
}

/* Takes the values, and what is packed of them; `area` NULL: nothing. Letting go of what was there
 * may run code of the program's, so that comes last. */
static void
bound_install(struct bound *self, struct bound_values *values, struct pm_reading *reading,
              struct pm_entry *entry, void *area)
{
    struct bound_values *old_values = self->values;
    struct pm_reading *old_reading = self->reading;
    free(self->area);
    self->values = values;
    self->area = area;
    self->entry = entry;
    self->reading = area ? reading : NULL;
    if (self->reading) {
        reading->refs++;
        reading->n_seen++;
    }
    if (old_reading)
        old_reading->n_seen--;
    pm_reading_unref(old_reading);
    values_unref(old_values);
}

/* A share of the values for a launch with this reading, whose function may have got other
 * parameters since; NULL: an exception. */
static struct bound_values *
bound_share(struct bound *self, const struct pm_reading *reading)
{
    struct bound_values *values = self->values;
    if (!values || values->n != reading->n_params + reading->has_varargs)
        return pm_fail(self->launcher->kernel->state, BAD_CONFIGURATION,
                       "the kernel's parameters are not those that were bound; bind anew");
    values->refs++;
    return values;
}

/* Checks the values, compiles, and packs them where that is possible. Takes the values over if
 * `anew`; else what is packed is kept while they are the bound ones. */
static bool
bound_resolve(struct bound *self, const struct begun *begun, struct bound_values *values, bool anew)
{
    struct call call;
    pm_call_init(&call, self->launcher, begun);
    bool ok = pm_call_take(&call, values->items), python = call.python;
    struct pm_entry *entry = ok && !python ? pm_call_entry(&call) : NULL;
    ok = ok && (python || entry);
    if (ok && (anew || values == self->values)) {
        void *area = NULL;
        if (entry && !call.foreign && !call.kept) {
            area = sp_alloc(entry->artifact->params_size_B + 8);
            pm_call_pack(entry->artifact, call.args, area);
        }
        self->dev = begun->place->dev;
        values->refs += !anew;
        bound_install(self, values, begun->reading, entry, area);
    }
    pm_call_finish(&call);
    return ok;
}

/* The caller has shares of the reading and of the values that are packed. */
static bool
bound_launch_packed(struct bound *self, struct pm_reading *reading,
                    const struct bound_values *values, bool is_here)
{
    struct pm_launcher *launcher = self->launcher;
    struct pm_state *state = launcher->kernel->state;
    struct rt_device *dev = self->dev;
    struct pm_entry *entry = self->entry;
    uint64_t few[BOUND_AREA_B / 8];
    size_t size_B = entry->artifact->params_size_B;
    void *area = size_B > BOUND_AREA_B ? sp_alloc(size_B) : few;
    /* A copy: the runtime completes it, and other threads may launch the same. */
    memcpy(area, self->area, size_B);
    bool ok = pm_call_launch(launcher, dev, entry, launcher->config.stream, is_here, area);
    if (area != few)
        free(area);
    if (!ok || (!state->graphs && !state->graph_update))
        return ok;
    return pm_graph_note(launcher, dev, launcher->config.stream, reading, entry,
                         values_tuple(values));
}

static bool
bound_is_packed(const struct bound *self, const struct begun *begun)
{
    return self->area && self->reading == begun->reading && self->dev == begun->place->dev &&
           !begun->place->python;
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
    struct bound_values *values = bound_share(self, begun.reading);
    bool ok = values != NULL, packed = ok && bound_is_packed(self, &begun);
    Py_INCREF(object); /* whatever runs meanwhile may drop it */
    if (ok && !packed)
        ok = bound_resolve(self, &begun, values, false);
    if (ok && values == self->values && bound_is_packed(self, &begun))
        ok = bound_launch_packed(self, begun.reading, values, packed && begun.is_here);
    else if (ok)
        ok = pm_call_values(self->launcher, &begun, values->items);
    values_unref(values);
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
    PyObject **values = sp_alloc((reading->n_params + 1) * sizeof *values);
    values[reading->n_params] = NULL;
    bool ok = pm_bind(launcher->kernel, reading, args, (Py_ssize_t)n_args, kwnames, values);
    struct bound *self = ok ? PyObject_GC_New(struct bound, state->bound_type) : NULL;
    if (self) {
        memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
        self->vectorcall = bound_call;
        self->launcher = (struct pm_launcher *)Py_NewRef(object);
        self->values = values_create(values, reading->n_params + reading->has_varargs);
        PyObject_GC_Track(self);
        if (!bound_resolve(self, &begun, self->values, false))
            Py_CLEAR(self);
    }
    Py_XDECREF(values[reading->n_params]);
    free(values);
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
    for (uint32_t i = 0; i < reading->n_params; i++)
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
    struct bound_values *old = bound_share(self, begun.reading);
    struct bound_values *values = old ? values_create(old->items, old->n) : NULL;
    values_unref(old);
    bool ok = values != NULL;
    while (ok && kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        int i = bound_find(self, begun.reading, key);
        ok = i >= 0;
        if (!ok)
            break;
        PyObject *before = values->items[i]; /* the bound launch has it still */
        values->items[i] = Py_NewRef(value);
        Py_DECREF(before);
    }
    ok = ok && bound_resolve(self, &begun, values, true);
    if (!ok)
        values_unref(values);
    pm_reading_unref(begun.reading);
    return ok ? Py_NewRef(Py_None) : NULL;
}

static int
bound_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct bound *self = (struct bound *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->launcher);
    /* With a launch on its way they are in use. */
    for (uint32_t i = 0; self->values && self->values->refs == 1 && i < self->values->n; i++)
        Py_VISIT(self->values->items[i]);
    return 0;
}

static int
bound_clear(PyObject *object)
{
    bound_install((struct bound *)object, NULL, NULL, NULL, NULL);
    return 0;
}

static void
bound_dealloc(PyObject *object)
{
    struct bound *self = (struct bound *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    bound_clear(object);
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
    const struct bound *self = (struct bound *)object;
    return self->values ? values_tuple(self->values) : PyTuple_New(0);
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
