/* transfer: gpu.In(x), gpu.Out(x) and gpu.InOut(x), which say how a host array travels with a
 * launch: In is not copied back, Out is not copied in. Around memory of a device they say
 * nothing. */
#include "pymod/pm.h"

#include <string.h>

struct transfer {
    PyObject_HEAD PyObject *array;
};

static PyObject *
transfer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", NULL};
    PyObject *array;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &array))
        return NULL;
    struct transfer *self = PyObject_GC_New(struct transfer, type);
    if (!self)
        return NULL;
    self->array = Py_NewRef(array);
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int
transfer_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((struct transfer *)object)->array);
    return 0;
}

static void
transfer_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(((struct transfer *)object)->array);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *
transfer_repr(PyObject *object)
{
    PyObject *name = PyType_GetName(Py_TYPE(object));
    PyObject *text =
        name ? PyUnicode_FromFormat("gpu.%U(%R)", name, ((struct transfer *)object)->array) : NULL;
    Py_XDECREF(name);
    return text;
}

/* Pickled with its array. */
static PyObject *
transfer_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("(O(O))", (PyObject *)Py_TYPE(object), ((struct transfer *)object)->array);
}

static PyMemberDef transfer_members[] = {
    {"array", T_OBJECT, offsetof(struct transfer, array), READONLY, "What travels."},
    {NULL, 0, 0, 0, NULL},
};
static PyMethodDef transfer_methods[] = {
    {"__reduce__", transfer_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define TRANSFER_SPEC(lower, title, doc)                                                           \
    static PyType_Slot transfer_slots_##lower[] = {                                                \
        {Py_tp_doc, (void *)(doc)},          {Py_tp_new, transfer_new},                            \
        {Py_tp_repr, transfer_repr},         {Py_tp_members, transfer_members},                    \
        {Py_tp_methods, transfer_methods},   {Py_tp_dealloc, transfer_dealloc},                    \
        {Py_tp_traverse, transfer_traverse}, {0, NULL},                                            \
    };                                                                                             \
    static PyType_Spec transfer_spec_##lower = {                                                   \
        .name = "gpu." title,                                                                      \
        .basicsize = sizeof(struct transfer),                                                      \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,               \
        .slots = transfer_slots_##lower,                                                           \
    };
TRANSFER_SPEC(in, "In",
              "In(array): a host array that a launch reads. What the kernel writes to it does not "
              "come back.")
TRANSFER_SPEC(out, "Out",
              "Out(array): a host array that a launch fills. Its values are not copied to the "
              "device: what the kernel leaves unwritten is undefined afterwards.")
TRANSFER_SPEC(in_out, "InOut",
              "InOut(array): a host array that travels both ways, as it does without this.")

PyType_Spec *
pm_transfer_spec(enum pm_transfer transfer)
{
    return transfer == PM_TRANSFER_IN    ? &transfer_spec_in
           : transfer == PM_TRANSFER_OUT ? &transfer_spec_out
                                         : &transfer_spec_in_out;
}

enum pm_transfer
pm_transfer_get(const struct pm_state *state, PyObject *value, PyObject **array_out)
{
    for (int i = PM_TRANSFER_IN; i < PM_N_TRANSFERS; i++) {
        if (!Py_IS_TYPE(value, state->transfer_types[i]))
            continue;
        *array_out = ((struct transfer *)value)->array;
        return (enum pm_transfer)i;
    }
    return PM_TRANSFER_PLAIN;
}
