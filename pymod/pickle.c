/* pickle: how objects of the package travel to other processes, or say that they do not.
 *
 * Kernels are pickled as functions are: by name where they can be imported, by value where the
 * pickler does that with functions. Nothing that was compiled goes along: the other side compiles,
 * or finds it in the disk cache. What is decided is decided in gpu/_pickle.py, imported now; here
 * are the methods, and the function that stands for a kernel in what is pickled. */
#include "pymod/pm.h"

/* gpu._pickle.NAME(...), of a format for Py_BuildValue that makes a tuple. */
static PyObject *
pickle_ask(const char *name, PyObject *args)
{
    PyObject *module = args ? PyImport_ImportModule("gpu._pickle") : NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyObject *result = function ? PyObject_CallObject(function, args) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(args);
    return result;
}

PyObject *
pm_pickle_kernel(PyObject *kernel, PyObject *protocol)
{
    return pickle_ask("reduce_kernel", Py_BuildValue("(OO)", kernel, protocol));
}

PyObject *
pm_pickle_launcher(PyObject *launcher, PyObject *unused)
{
    (void)unused;
    return pickle_ask("reduce_launcher", Py_BuildValue("(O)", launcher));
}

PyObject *
pm_pickle_named(PyObject *object, PyObject *unused)
{
    (void)unused;
    return pickle_ask("reduce_named", Py_BuildValue("(O)", object));
}

PyObject *
pm_pickle_refuse(PyObject *object, PyObject *unused)
{
    (void)unused;
    return pickle_ask("refuse", Py_BuildValue("(O)", object));
}

PyObject *
pm_pickle_self(PyObject *object, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(object);
}

/* Kept, since a pickler by name wants the object that it finds there to be the one that it has. */
PyObject *
pm_kernel_carrier(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_kernel *self = (struct pm_kernel *)object;
    PyObject *old = self->carrier ? self->carrier : Py_None;
    PyObject *carrier = pickle_ask("carrier", Py_BuildValue("(OO)", object, old));
    if (carrier && !self->carrier)
        self->carrier = Py_NewRef(carrier);
    return carrier;
}
