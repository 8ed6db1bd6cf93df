/* intrinsic: the objects of the kernel namespace, gpu.grid, gpu.threadIdx, gpu.atomic.
 *
 * They stand for a path of ir/intrin.def, which the reader of kernels takes from `__gpu_path__`;
 * their attributes are the paths below. On the host they can do nothing, and say so however they
 * are used. The names come from the table: nothing is listed here. */
#include "pymod/pm.h"

#include <string.h>

struct intrinsic {
    PyObject_HEAD struct pm_state *state;
    enum ir_intrin id; /* IR_INTRIN_NONE: a namespace */
    char path[64];
};

static PyObject *
intrinsic_create(struct pm_state *state, const char *path)
{
    struct intrinsic *self = PyObject_New(struct intrinsic, state->intrinsic_type);
    if (!self)
        return NULL;
    self->state = state;
    self->id = ir_intrin_by_path(path);
    PyOS_snprintf(self->path, sizeof self->path, "%s", path);
    return (PyObject *)self;
}

static void *
intrinsic_fail(PyObject *object)
{
    struct intrinsic *self = (struct intrinsic *)object;
    PyErr_Format(
        self->state->errors[SP_CLASS_LAUNCH],
        "%s only works in a kernel: use it in a function decorated with @gpu.jit and launch "
        "that with kernel[grid, block](...)",
        self->path);
    return NULL;
}

static PyObject *
intrinsic_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    return intrinsic_fail(self);
}

static PyObject *
intrinsic_unary(PyObject *self)
{
    return intrinsic_fail(self);
}

static PyObject *
intrinsic_binary(PyObject *a, PyObject *b)
{
    /* Either side may be the one with this slot. */
    bool first = PyType_GetSlot(Py_TYPE(a), Py_nb_add) == (void *)intrinsic_binary;
    return intrinsic_fail(first ? a : b);
}

static PyObject *
intrinsic_compare(PyObject *a, PyObject *b, int op)
{
    if (op == Py_EQ || op == Py_NE) {
        bool same = Py_IS_TYPE(b, Py_TYPE(a)) &&
                    !strcmp(((struct intrinsic *)a)->path, ((struct intrinsic *)b)->path);
        return PyBool_FromLong(same == (op == Py_EQ));
    }
    return intrinsic_fail(a);
}

static PyObject *
intrinsic_getattro(PyObject *object, PyObject *name)
{
    struct intrinsic *self = (struct intrinsic *)object;
    PyObject *found = PyObject_GenericGetAttr(object, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    char path[80];
    if (!text || len > 40)
        return NULL;
    PyOS_snprintf(path, sizeof path, "%s.%s", self->path, text);
    if (ir_intrin_by_path(path) == IR_INTRIN_NONE && !ir_intrin_is_prefix(path)) {
        PyErr_Format(PyExc_AttributeError, "%s has no attribute '%s'", self->path, text);
        return NULL;
    }
    PyErr_Clear();
    return intrinsic_create(self->state, path);
}

static PyObject *
intrinsic_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%s, for kernels>", ((struct intrinsic *)self)->path);
}

static PyObject *
intrinsic_get_path(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((struct intrinsic *)self)->path);
}

static PyObject *
intrinsic_get_doc(PyObject *self, void *closure)
{
    (void)closure;
    enum ir_intrin id = ((struct intrinsic *)self)->id;
    return PyUnicode_FromString(id == IR_INTRIN_NONE ? "Names for kernels."
                                                     : ir_intrin_row(id)->doc);
}

static Py_hash_t
intrinsic_hash(PyObject *self)
{
    PyObject *path = intrinsic_get_path(self, NULL);
    Py_hash_t hash = path ? PyObject_Hash(path) : -1;
    Py_XDECREF(path);
    return hash;
}

static void
intrinsic_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyGetSetDef intrinsic_getset[] = {
    {"__gpu_path__", intrinsic_get_path, NULL, NULL, NULL},
    {"__doc__", intrinsic_get_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef intrinsic_methods[] = {
    {"__reduce__", pm_pickle_named, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot intrinsic_slots[] = {
    {Py_tp_call, intrinsic_call},          {Py_tp_repr, intrinsic_repr},
    {Py_tp_getattro, intrinsic_getattro},  {Py_tp_getset, intrinsic_getset},
    {Py_tp_methods, intrinsic_methods},    {Py_tp_richcompare, intrinsic_compare},
    {Py_tp_hash, intrinsic_hash},          {Py_tp_dealloc, intrinsic_dealloc},
    {Py_mp_subscript, intrinsic_binary},   {Py_nb_add, intrinsic_binary},
    {Py_nb_subtract, intrinsic_binary},    {Py_nb_multiply, intrinsic_binary},
    {Py_nb_true_divide, intrinsic_binary}, {Py_nb_floor_divide, intrinsic_binary},
    {Py_nb_remainder, intrinsic_binary},   {Py_nb_and, intrinsic_binary},
    {Py_nb_or, intrinsic_binary},          {Py_nb_xor, intrinsic_binary},
    {Py_nb_lshift, intrinsic_binary},      {Py_nb_rshift, intrinsic_binary},
    {Py_nb_negative, intrinsic_unary},     {Py_nb_int, intrinsic_unary},
    {Py_nb_index, intrinsic_unary},        {Py_nb_float, intrinsic_unary},
    {Py_tp_iter, intrinsic_unary},         {0, NULL},
};
static PyType_Spec intrinsic_spec = {
    .name = "gpu.Intrinsic",
    .basicsize = sizeof(struct intrinsic),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = intrinsic_slots,
};

PyType_Spec *
pm_intrinsic_spec(void)
{
    return &intrinsic_spec;
}

bool
pm_intrinsics_init(struct pm_state *state, PyObject *module)
{
    for (size_t i = 0; ir_path_at(i); i++) {
        const char *path = ir_path_at(i);
        if (strncmp(path, "gpu.", 4))
            continue;
        char name[64];
        PyOS_snprintf(name, sizeof name, "%s", path + 4);
        char *dot = strchr(name, '.');
        if (dot)
            *dot = '\0';
        if (PyObject_HasAttrString(module, name))
            continue;
        char first[72];
        PyOS_snprintf(first, sizeof first, "gpu.%s", name);
        double number;
        bool is_int;
        PyObject *object = !ir_number_by_path(path, &number, &is_int)
                               ? intrinsic_create(state, first)
                           : is_int ? PyLong_FromLong((long)number)
                                    : PyFloat_FromDouble(number);
        int added = object ? PyModule_AddObjectRef(module, name, object) : -1;
        Py_XDECREF(object);
        if (added < 0)
            return false;
    }
    return true;
}
