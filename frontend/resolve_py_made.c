/* resolve_py_made: constants that other constants are made into: methods, partial calls, and the
 * classes of NamedTuples.
 *
 * A method of an object and a functools.partial are PARTIAL: what is called, and the arguments that
 * come first. Methods and partials cannot be changed, but for the dict of a partial's keywords,
 * whose entries and their number are guarded. A class is known by its object; its defaults are
 * those of the __new__ that collections.namedtuple made, guarded like any function's. Nothing here
 * runs code of the program's. */
#include "frontend/resolve_py.h"

#include <string.h>

/* ---- Functions with some of their arguments ---- */

static ir_const
made_call(struct fe_reader *reader, uint32_t n, const ir_const *elems, ir_const names)
{
    struct ir_const_info info = {.kind = IR_C_PARTIAL, .len = n, .named = names, .elems = elems};
    return ir_const_intern(reader->module, &info);
}

bool
py_method(struct fe_reader *reader, PyObject *object, int depth, ir_const *out)
{
    struct fe_interp *interp = py_of(reader)->interp;
    if ((PyObject *)Py_TYPE(object) != interp->method_type || depth > PY_CONST_MAX_DEPTH)
        return false;
    PyObject *function = PyObject_GenericGetAttr(object, interp->s_func);
    PyObject *self = PyObject_GenericGetAttr(object, interp->s_self);
    PyErr_Clear();
    bool ok = function && self;
    if (ok) {
        ir_const elems[] = {py_const_at(reader, function, depth + 1),
                            py_const_at(reader, self, depth + 1)};
        *out = made_call(reader, 2, elems, 0);
    }
    Py_XDECREF(function);
    Py_XDECREF(self);
    return ok;
}

/* The parts of a functools.partial, whose attributes are C members. */
struct made_parts {
    PyObject *func, *args, *keywords;
};

static bool
made_take_parts(struct fe_interp *interp, PyObject *object, struct made_parts *parts)
{
    PyObject *functools = py_module(interp, "functools"), *name = PyUnicode_FromString("partial");
    bool is_partial =
        functools && name && PyModule_Check(functools) &&
        PyDict_GetItemWithError(PyModule_GetDict(functools), name) == (PyObject *)Py_TYPE(object);
    Py_XDECREF(name);
    memset(parts, 0, sizeof *parts);
    if (is_partial) {
        parts->func = PyObject_GetAttrString(object, "func");
        parts->args = PyObject_GetAttrString(object, "args");
        parts->keywords = PyObject_GetAttrString(object, "keywords");
    }
    PyErr_Clear();
    return parts->func && parts->args && parts->keywords && PyTuple_Check(parts->args) &&
           PyDict_Check(parts->keywords) &&
           PyTuple_Size(parts->args) + PyDict_Size(parts->keywords) < PY_CONST_MAX_ELEMS;
}

/* Its dict of keywords can be changed: every one of them is guarded, and how many they are. */
bool
py_partial(struct fe_reader *reader, PyObject *object, int depth, ir_const *out)
{
    struct made_parts parts;
    bool ok = depth <= PY_CONST_MAX_DEPTH && made_take_parts(py_of(reader)->interp, object, &parts);
    if (ok) {
        uint32_t n_args = (uint32_t)PyTuple_Size(parts.args), n = 1, n_names = 0;
        uint32_t n_most = n_args + (uint32_t)PyDict_Size(parts.keywords) + 1;
        ir_const *elems = SP_NEW_N(reader->arena, ir_const, n_most);
        ir_const *names = SP_NEW_N(reader->arena, ir_const, n_most);
        elems[0] = py_const_at(reader, parts.func, depth + 1);
        while (n <= n_args) {
            elems[n] = py_const_at(reader, PyTuple_GetItem(parts.args, n - 1), depth + 1);
            n++;
        }
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(parts.keywords, &at, &key, &value)) {
            const char *name = py_text(reader->arena, key);
            names[n_names++] =
                ir_const_str(reader->module, name ? name : "", name ? strlen(name) : 0);
            elems[n++] = py_const_at(reader, value, depth + 1);
            py_guard_add(reader, PY_GUARD_DICT, parts.keywords, key, value);
        }
        PyObject *len = PyLong_FromSsize_t(PyDict_Size(parts.keywords));
        py_guard_add(reader, PY_GUARD_LEN, parts.keywords, NULL, len);
        Py_XDECREF(len);
        *out = n == 1 ? elems[0]
                      : made_call(reader, n, elems,
                                  n_names ? ir_const_tuple(reader->module, n_names, names) : 0);
    }
    if (depth <= PY_CONST_MAX_DEPTH) {
        Py_XDECREF(parts.func);
        Py_XDECREF(parts.args);
        Py_XDECREF(parts.keywords);
    }
    return ok;
}

/* ---- Classes of NamedTuples ---- */

/* The class that collections.namedtuple or NamedTuple made, itself or a base; borrowed, or NULL. */
static PyObject *
made_named_base(PyObject *class)
{
    void *base;
    while ((base = PyType_GetSlot((PyTypeObject *)class, Py_tp_base)) && base != &PyTuple_Type)
        class = base;
    return base ? class : NULL;
}

/* What the class does in its own way, as bits of enum ir_class_own. */
static uint8_t
made_operators(struct fe_interp *interp, PyObject *class)
{
    static const char *const names[][16] = {
        {"__add__", "__mul__", "__rmul__", "__radd__", "__sub__", "__rsub__", "__truediv__",
         "__floordiv__", "__mod__", "__pow__", "__matmul__", "__and__", "__or__", "__xor__",
         "__neg__"},
        {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"},
        {"__getitem__", "__iter__", "__len__", "__contains__"},
        {"__bool__", "__len__"},
    };
    uint8_t own = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 16 && names[k][i]; i++) {
            PyObject *name = PyUnicode_InternFromString(names[k][i]);
            if (name && py_type_lookup(interp, class, name) !=
                            py_type_lookup(interp, (PyObject *)&PyTuple_Type, name))
                own |= (uint8_t)(1 << k);
            Py_XDECREF(name);
        }
    PyErr_Clear();
    return own;
}

/* PARTIAL of the class and the defaults of its last fields. */
static ir_const
made_class_parts(struct fe_reader *reader, PyObject *class, uint32_t n_fields, int depth)
{
    struct fe_interp *interp = py_of(reader)->interp;
    PyObject *base = made_named_base(class);
    PyObject *new = base ? py_type_lookup(interp, base, interp->s_new) : NULL;
    PyObject *function = new ? PyObject_GetAttr(new, interp->s_func) : NULL; /* a staticmethod */
    PyErr_Clear();
    PyObject *defaults = NULL;
    if (function && (PyObject *)Py_TYPE(function) == interp->function_type) {
        defaults = PyObject_GenericGetAttr(function, interp->s_defaults);
        PyErr_Clear();
        py_guard_add(reader, PY_GUARD_DEFAULTS, function, interp->s_defaults, defaults);
    }
    uint32_t n = defaults && PyTuple_Check(defaults) ? (uint32_t)PyTuple_Size(defaults) : 0;
    n = n <= n_fields ? n : 0;
    ir_const *elems = SP_NEW_N(reader->arena, ir_const, n + 1);
    elems[0] = py_const_host_class(reader, class);
    for (uint32_t i = 0; i < n; i++)
        elems[i + 1] = py_const_at(reader, PyTuple_GetItem(defaults, i), depth + 1);
    Py_XDECREF(function);
    Py_XDECREF(defaults);
    return made_call(reader, n + 1, elems, 0);
}

/* A class with tuple's layout and _fields, by its name and theirs. */
bool
py_class(struct fe_reader *reader, PyObject *object, int depth, ir_const *out)
{
    struct fe_interp *interp = py_of(reader)->interp;
    if (!PyType_Check(object) || object == (PyObject *)&PyTuple_Type ||
        depth > PY_CONST_MAX_DEPTH || !PyType_IsSubtype((PyTypeObject *)object, &PyTuple_Type))
        return false;
    PyObject *fields = py_type_lookup(interp, object, interp->s_fields);
    PyObject *name = PyType_GetName((PyTypeObject *)object);
    const char *text = py_text(reader->arena, name);
    PyErr_Clear();
    Py_XDECREF(name);
    if (!text || !fields || !PyTuple_Check(fields) || PyTuple_Size(fields) > PY_CONST_MAX_ELEMS)
        return false;
    uint32_t n = (uint32_t)PyTuple_Size(fields);
    ir_const *elems = SP_NEW_N(reader->arena, ir_const, n + 1);
    elems[0] = ir_const_str(reader->module, text, strlen(text));
    for (uint32_t i = 0; i < n; i++) {
        const char *field = py_text(reader->arena, PyTuple_GetItem(fields, i));
        if (!field)
            return false;
        elems[i + 1] = ir_const_str(reader->module, field, strlen(field));
    }
    struct ir_const_info info = {.kind = IR_C_CLASS, .len = n + 1, .elems = elems};
    info.scalar = made_operators(interp, object);
    info.named = made_class_parts(reader, object, n, depth);
    *out = ir_const_intern(reader->module, &info);
    return true;
}

/* Whether calling the class does no more than to fill the fields: collections.namedtuple or
 * NamedTuple made it or a base of it, and no class between has a constructor of its own. */
bool
py_class_is_plain(struct fe_interp *interp, PyObject *object)
{
    if (!PyType_Check(object) || object == (PyObject *)&PyTuple_Type ||
        !PyType_IsSubtype((PyTypeObject *)object, &PyTuple_Type))
        return false;
    PyObject *base = made_named_base(object), *init = PyUnicode_InternFromString("__init__");
    bool ok = base && init &&
              py_type_lookup(interp, object, interp->s_new) ==
                  py_type_lookup(interp, base, interp->s_new) &&
              py_type_lookup(interp, object, init) ==
                  py_type_lookup(interp, (PyObject *)&PyTuple_Type, init);
    PyErr_Clear();
    Py_XDECREF(init);
    return ok;
}
