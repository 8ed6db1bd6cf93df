/* resolve_py_raise: exception classes to constants, and back when a kernel has raised one.
 *
 * A builtin class is known by its name. A class of the program's gets a number that is never given
 * again, and is found by it through a weak reference: an artifact may outlive the kernel and the
 * class, so it must not point to either, and names are not unique. Readings keep the classes that
 * their kernels raise alive. */
#include "frontend/resolve_py.h"

#include <string.h>

/* The number of a class that had one before, else a new one; 0 and an exception if there is none. */
static uint32_t
raise_number(struct fe_interp *interp, PyObject *class)
{
    if (!interp->exceptions)
        interp->exceptions = PyList_New(0);
    if (!interp->exception_numbers)
        interp->exception_numbers = PyDict_New();
    PyObject *key = PyLong_FromVoidPtr(class), *number = NULL, *ref = NULL;
    uint32_t found = 0;
    if (!interp->exceptions || !interp->exception_numbers || !key)
        goto end;
    PyObject *known = PyDict_GetItemWithError(interp->exception_numbers, key);
    if (known) {
        uint32_t n = (uint32_t)PyLong_AsUnsignedLong(known);
        PyObject *same = PyObject_CallNoArgs(PyList_GetItem(interp->exceptions, (Py_ssize_t)n - 1));
        Py_XDECREF(same);
        if (same == class) {
            found = n;
            goto end;
        }
    }
    ref = PyWeakref_NewRef(class, NULL);
    if (!ref || PyList_Append(interp->exceptions, ref) < 0)
        goto end;
    uint32_t n = (uint32_t)PyList_Size(interp->exceptions);
    number = PyLong_FromUnsignedLong(n);
    if (number && PyDict_SetItem(interp->exception_numbers, key, number) == 0)
        found = n;
end:
    Py_XDECREF(key);
    Py_XDECREF(number);
    Py_XDECREF(ref);
    return found;
}

bool
py_exception(struct fe_reader *reader, PyObject *object, ir_const *out)
{
    struct fe_py *py = py_of(reader);
    if (!PyType_Check(object) ||
        !PyType_IsSubtype((PyTypeObject *)object, (PyTypeObject *)PyExc_BaseException))
        return false;
    PyObject *name = PyType_GetQualName((PyTypeObject *)object);
    const char *text = py_text(reader->arena, name);
    struct ir_const_info info = {.kind = IR_C_EXCEPTION};
    info.str = text ? text : "exception";
    bool builtin = name && py_module_has(py->interp, "builtins", name, object);
    Py_XDECREF(name);
    if (!builtin)
        info.len = raise_number(py->interp, object);
    PyErr_Clear();
    if (!builtin && !info.len)
        return false;
    py_own(py, object);
    *out = ir_const_intern(reader->module, &info);
    return true;
}

void *
fe_interp_exception(struct fe_interp *interp, uint32_t number, const char *name)
{
    PyObject *class = NULL;
    if (number && interp->exceptions && number <= PyList_Size(interp->exceptions)) {
        class = PyObject_CallNoArgs(PyList_GetItem(interp->exceptions, (Py_ssize_t)number - 1));
    } else if (!number) {
        PyObject *builtins = PyImport_ImportModule("builtins");
        class = builtins ? PyObject_GetAttrString(builtins, name) : NULL;
        Py_XDECREF(builtins);
    }
    PyErr_Clear();
    if (class && !PyType_Check(class))
        Py_CLEAR(class);
    return class;
}
