/* resolve_py_why: what a reading relied on, as text for people: why was this compiled again?
 *
 * In: the guards of a reading. Out: a line for each, what it is and a tab and what its value was.
 * Plain values are written as Python writes them, functions by name, the text of a function and the
 * elements of an array by a digest. Nothing is decided by these lines: they explain a key after it
 * has differed. No code of the program's runs: only exact builtin types are asked for their
 * text. */
#include "frontend/resolve_py.h"

#include <stdio.h>
#include <string.h>

enum { WHY_MAX_TEXT = 80, WHY_MAX_DEPTH = 4 };

static void why_value(struct fe_py *py, PyObject *value, int depth, struct sp_str *out);

static void
why_text(PyObject *text, struct sp_str *out)
{
    Py_ssize_t len = 0;
    const char *utf8 = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    PyErr_Clear();
    for (Py_ssize_t i = 0; utf8 && i < len; i++)
        sp_str_add_char(out, (unsigned char)utf8[i] < ' ' ? ' ' : utf8[i]);
    if (!utf8)
        sp_str_add_char(out, '?');
}

static void
why_digest(struct sp_hash *hash, struct sp_str *out)
{
    struct sp_digest digest = sp_hash_end(hash);
    for (int i = 0; i < 6; i++)
        sp_str_printf(out, "%02x", digest.bytes[i]);
}

static void
why_attribute(PyObject *object, const char *name, struct sp_str *out)
{
    PyObject *text = PyObject_GetAttrString(object, name);
    PyErr_Clear();
    why_text(text, out);
    Py_XDECREF(text);
}

/* ---- Texts of functions ---- */

static void why_add_object(struct fe_py *py, struct sp_hash *hash, PyObject *object, int depth);

static void
why_add_code(struct fe_py *py, struct sp_hash *hash, PyObject *code, int depth)
{
    static const char *const names[] = {"co_code",     "co_consts",   "co_names",
                                        "co_varnames", "co_freevars", "co_flags"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *part = PyObject_GetAttrString(code, names[i]);
        PyErr_Clear();
        if (part)
            why_add_object(py, hash, part, depth + 1);
        Py_XDECREF(part);
    }
}

static void
why_add_object(struct fe_py *py, struct sp_hash *hash, PyObject *object, int depth)
{
    if (PyBytes_CheckExact(object)) {
        sp_hash_add(hash, PyBytes_AsString(object), (size_t)PyBytes_Size(object));
    } else if ((PyObject *)Py_TYPE(object) == py->interp->code_type && depth < 16) {
        why_add_code(py, hash, object, depth);
    } else if (PyTuple_CheckExact(object) && depth < 16) {
        Py_ssize_t n = PyTuple_Size(object);
        sp_hash_add_u64(hash, (uint64_t)n);
        for (Py_ssize_t i = 0; i < n; i++)
            why_add_object(py, hash, PyTuple_GetItem(object, i), depth + 1);
    } else {
        struct sp_str text;
        sp_str_init(&text);
        why_value(py, object, 0, &text);
        sp_hash_add_text(hash, text.data);
        sp_str_finish(&text);
    }
}

/* ---- Values ---- */

static bool
why_is_plain(PyObject *value, int depth)
{
    if (PyTuple_CheckExact(value) && depth < WHY_MAX_DEPTH) {
        Py_ssize_t n = PyTuple_Size(value);
        bool plain = n <= 16;
        for (Py_ssize_t i = 0; plain && i < n; i++)
            plain = why_is_plain(PyTuple_GetItem(value, i), depth + 1);
        return plain;
    }
    return value == Py_None || value == Py_Ellipsis || PyBool_Check(value) ||
           PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

/* A digest stands for what is left out. */
static void
why_repr(PyObject *value, struct sp_str *out)
{
    PyObject *repr = PyObject_Repr(value);
    PyErr_Clear();
    struct sp_str text;
    sp_str_init(&text);
    why_text(repr, &text);
    Py_XDECREF(repr);
    if (text.len > WHY_MAX_TEXT) {
        struct sp_hash hash;
        sp_hash_init(&hash);
        sp_hash_add_text(&hash, text.data);
        sp_str_add_n(out, text.data, 40);
        sp_str_add(out, "... ");
        why_digest(&hash, out);
    } else {
        sp_str_add(out, text.data);
    }
    sp_str_finish(&text);
}

static void
why_array(PyObject *array, struct sp_str *out)
{
    PyObject *bytes = PyObject_CallMethod(array, "tobytes", NULL);
    PyErr_Clear();
    sp_str_add(out, "array ");
    if (bytes && PyBytes_CheckExact(bytes)) {
        struct sp_hash hash;
        sp_hash_init(&hash);
        sp_hash_add(&hash, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
        why_digest(&hash, out);
    }
    Py_XDECREF(bytes);
}

static void
why_value(struct fe_py *py, PyObject *value, int depth, struct sp_str *out)
{
    PyObject *numpy = py_module(py->interp, "numpy");
    PyObject *ndarray = numpy && PyModule_Check(numpy)
                            ? PyDict_GetItemString(PyModule_GetDict(numpy), "ndarray")
                            : NULL;
    PyErr_Clear();
    if (!value) {
        sp_str_add(out, "absent");
    } else if (why_is_plain(value, depth)) {
        why_repr(value, out);
    } else if ((PyObject *)Py_TYPE(value) == py->interp->code_type) {
        struct sp_hash hash;
        sp_hash_init(&hash);
        why_add_code(py, &hash, value, 0);
        why_digest(&hash, out);
    } else if ((PyObject *)Py_TYPE(value) == py->interp->function_type) {
        sp_str_add(out, "function ");
        why_attribute(value, "__qualname__", out);
    } else if (ndarray && (PyObject *)Py_TYPE(value) == ndarray) {
        why_array(value, out);
    } else if (PyModule_Check(value) || PyType_Check(value)) {
        sp_str_add(out, PyType_Check(value) ? "class " : "module ");
        why_attribute(value, "__name__", out);
    } else {
        PyObject *name = PyType_GetName(Py_TYPE(value));
        sp_str_add(out, "object of ");
        why_text(name, out);
        Py_XDECREF(name);
    }
}

/* ---- Guards ---- */

/* Whose dict it is: a module's, else an instance's. */
static void
why_container(const struct py_guard *guard, struct sp_str *out)
{
    PyObject *name = PyDict_GetItemString(guard->container, "__name__");
    bool is_module =
        name && PyUnicode_Check(name) && PyDict_GetItemString(guard->container, "__spec__");
    PyErr_Clear();
    bool is_builtins = is_module && PyUnicode_CompareWithASCIIString(name, "builtins") == 0;
    sp_str_add(out, is_builtins ? "builtin " : is_module ? "global " : "attribute ");
}

static void
why_guard(struct fe_py *py, const struct py_guard *guard, struct sp_str *out)
{
    switch (guard->kind) {
    case PY_GUARD_DICT: why_container(guard, out); break;
    case PY_GUARD_CELL: sp_str_add(out, "closure variable "); break;
    case PY_GUARD_TYPE:
    case PY_GUARD_GETATTR: sp_str_add(out, "attribute "); break;
    case PY_GUARD_CODE: sp_str_add(out, "text of function "); break;
    case PY_GUARD_KWDEFAULTS: sp_str_add(out, "keyword defaults of function "); break;
    case PY_GUARD_DEFAULTS: sp_str_add(out, "defaults of function "); break;
    case PY_GUARD_LEN:
    case PY_N_GUARDS: return;
    }
    if (guard->kind >= PY_GUARD_CODE)
        why_attribute(guard->container, "__qualname__", out);
    else
        why_text(guard->name, out);
    sp_str_add_char(out, '\t');
    why_value(py, guard->value, 0, out);
    sp_str_add_char(out, '\n');
}

void
fe_py_print_guards(struct fe_py *py, struct sp_str *out)
{
    /* Making texts may let others run who add guards, and give one an equal value. */
    for (uint32_t i = 0; i < py->guards.len; i++) {
        const struct py_guard guard = py->guards.data[i];
        Py_XINCREF(guard.value);
        why_guard(py, &guard, out);
        Py_XDECREF(guard.value);
    }
}
