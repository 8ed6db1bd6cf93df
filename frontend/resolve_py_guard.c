/* resolve_py_guard: what a reading relied on outside the code, and whether it still holds.
 *
 * A launch checks the guards, so each is one lookup and one comparison of addresses. Where the
 * address differs, numbers, strings and tuples that are equal by type and bits pass and take the
 * old one's place (a loop that sets a global to the same float again must not compile again).
 * Guards of dicts come first by their number: globals of modules and of instances. Each is kept
 * once however often the code names it. The module gets a copy of each without references, for
 * printing. */
#include "frontend/resolve_py.h"

#include <string.h>

void
py_guard_add(struct fe_reader *reader, enum py_guard_kind kind, PyObject *container, PyObject *name,
             PyObject *value)
{
    struct fe_py *py = py_of(reader);
    const void *key[] = {(const void *)(uintptr_t)kind, container, name};
    bool is_new;
    sp_map_intern(&py->guard_map, &py->arena, key, sizeof key, &is_new);
    if (!is_new)
        return;
    sp_vec_push(NULL, &py->guards,
                (struct py_guard){kind, Py_NewRef(container), Py_XNewRef(name), Py_XNewRef(value)});
    /* A cell's name is for people. */
    const char *text = kind == PY_GUARD_CELL ? NULL : py_text(reader->arena, name);
    struct ir_guard guard = {.kind = kind, .container = container, .value = value};
    guard.name = text ? ir_const_str(reader->module, text, strlen(text)) : 0;
    sp_vec_push(reader->arena, &reader->module->guards, guard);
}

void
py_guards_finish(struct fe_py *py)
{
    for (uint32_t i = 0; i < py->guards.len; i++) {
        Py_DECREF(py->guards.data[i].container);
        Py_XDECREF(py->guards.data[i].name);
        Py_XDECREF(py->guards.data[i].value);
    }
    sp_vec_finish(&py->guards);
    sp_map_finish(&py->guard_map);
}

/* What is there now; a new reference or NULL. */
static PyObject *
guard_look(struct fe_interp *interp, const struct py_guard *guard)
{
    PyObject *value = NULL;
    switch (guard->kind) {
    case PY_GUARD_DICT:
        value = Py_XNewRef(PyDict_GetItemWithError(guard->container, guard->name));
        break;
    case PY_GUARD_CELL:
        value = interp->cell_get ? interp->cell_get(guard->container)
                                 : PyObject_GetAttr(guard->container, interp->s_cell_contents);
        break;
    case PY_GUARD_TYPE:
        value = Py_XNewRef(py_type_lookup(interp, guard->container, guard->name));
        break;
    case PY_GUARD_LEN: value = PyLong_FromSsize_t(PyDict_Size(guard->container)); break;
    case PY_GUARD_GETATTR:
    case PY_GUARD_CODE:
    case PY_GUARD_DEFAULTS:
    case PY_GUARD_KWDEFAULTS: value = PyObject_GenericGetAttr(guard->container, guard->name); break;
    case PY_N_GUARDS: break;
    }
    if (!value)
        PyErr_Clear();
    return value;
}

/* Equal as constants: same type, same bits. Only of exact builtin types, whose comparison runs no
 * code of the program's. */
static bool
guard_is_equal(PyObject *a, PyObject *b, int depth)
{
    if (a == b)
        return true;
    if (!a || !b || Py_TYPE(a) != Py_TYPE(b) || depth > 16)
        return false;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
        return !memcmp(&x, &y, sizeof x);
    }
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) {
        int equal = PyObject_RichCompareBool(a, b, Py_EQ);
        PyErr_Clear();
        return equal == 1;
    }
    if (PyTuple_CheckExact(a)) {
        Py_ssize_t n = PyTuple_Size(a);
        bool equal = PyTuple_Size(b) == n;
        for (Py_ssize_t i = 0; equal && i < n; i++)
            equal = guard_is_equal(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i), depth + 1);
        return equal;
    }
    return false;
}

/* The guard's value is there, at the same address: for the kinds that can tell without counting a
 * reference. */
static inline bool
guard_is_same(struct fe_interp *interp, const struct py_guard *guard)
{
    if (guard->kind == PY_GUARD_DICT) {
        PyObject *now = PyDict_GetItemWithError(guard->container, guard->name);
        return now == guard->value && (now || !PyErr_Occurred());
    }
    if (guard->kind < PY_GUARD_CODE || !interp->get_part[guard->kind - PY_GUARD_CODE])
        return false;
    PyObject *now = interp->get_part[guard->kind - PY_GUARD_CODE](guard->container);
    return (now ? now : Py_None) == guard->value;
}

/* Looking may let other threads run, whose compilations add guards: none is pointed to
 * meanwhile. */
bool
fe_py_guards_check(struct fe_py *py)
{
    for (uint32_t i = 0; i < py->guards.len; i++) {
        const struct py_guard guard = py->guards.data[i];
        if (guard_is_same(py->interp, &guard))
            continue;
        PyObject *value = guard_look(py->interp, &guard);
        PyObject *old = py->guards.data[i].value;
        if (value != old) {
            if (!guard_is_equal(value, old, 0)) {
                Py_XDECREF(value);
                return false;
            }
            py->guards.data[i].value = Py_NewRef(value);
            Py_DECREF(old);
        }
        Py_XDECREF(value);
    }
    return true;
}
