/* What array.c puts in the tables of the array type: array_python.c. */
#ifndef PM_ARRAY_PYTHON_H
#define PM_ARRAY_PYTHON_H

#include "pymod/pm.h"

#define ARRAY_METHOD(name, function, doc)                                                          \
    PyObject *pm_array_python_##function(PyObject *self, PyObject *args, PyObject *kwargs);
#define ARRAY_PROPERTY(name, function, doc)                                                        \
    PyObject *pm_array_get_##function(PyObject *self, void *closure);
#include "pymod/array_python.def"

PyObject *pm_array_repr(PyObject *self);
PyObject *pm_array_str(PyObject *self);
PyObject *pm_array_iter(PyObject *self);
PyObject *pm_array_int(PyObject *self);
PyObject *pm_array_index(PyObject *self);
PyObject *pm_array_float(PyObject *self);
int pm_array_bool(PyObject *self);

#endif
