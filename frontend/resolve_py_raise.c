/* resolve_py_raise: exception classes to constants, and back when a kernel has raised one; numbers
 * of the program's classes.
 *
 * A builtin class is known by its name. A class of the program's, an exception or a NamedTuple,
 * gets a number that is never given again, and is found by it through a weak reference: an artifact
 * may outlive the kernel and the class, so it must not point to either, and names are not unique.
 * Readings keep the classes that their kernels use alive. */
#include "frontend/resolve_py.h"

#include <string.h>

uint32_t
py_class_number(struct fe_interp *interp, PyObject *class)
{
    if (!interp->classes)
        interp->classes = PyList_New(0);
    if (!interp->class_numbers)
        interp->class_numbers = PyDict_New();
    PyObject *key = PyLong_FromVoidPtr(class), *number = NULL, *ref = NULL;
    uint32_t found = 0;
    if (!interp->classes || !interp->class_numbers || !key)
        goto end;
    PyObject *known = PyDict_GetItemWithError(interp->class_numbers, key);
    if (known) {
        uint32_t n = (uint32_t)PyLong_AsUnsignedLong(known);
        PyObject *same = PyObject_CallNoArgs(PyList_GetItem(interp->classes, (Py_ssize_t)n - 1));
        Py_XDECREF(same);
        if (same == class) {
            found = n;
            goto end;
        }
    }
    ref = PyWeakref_NewRef(class, NULL);
    if (!ref || PyList_Append(interp->classes, ref) < 0)
        goto end;
    uint32_t n = (uint32_t)PyList_Size(interp->classes);
    number = PyLong_FromUnsignedLong(n);
    if (number && PyDict_SetItem(interp->class_numbers, key, number) == 0)
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
        info.len = py_class_number(py->interp, object);
    PyErr_Clear();
    if (!builtin && !info.len)
        return false;
    py_own(py, object);
    *out = ir_const_intern(reader->module, &info);
    return true;
}

void *
fe_interp_class(struct fe_interp *interp, uint32_t number, const char *name)
{
    PyObject *class = NULL;
    if (number && interp->classes && number <= PyList_Size(interp->classes)) {
        class = PyObject_CallNoArgs(PyList_GetItem(interp->classes, (Py_ssize_t)number - 1));
    } else if (!number && name) {
        PyObject *builtins = PyImport_ImportModule("builtins");
        class = builtins ? PyObject_GetAttrString(builtins, name) : NULL;
        Py_XDECREF(builtins);
    }
    PyErr_Clear();
    if (class && !PyType_Check(class))
        Py_CLEAR(class);
    return class;
}
