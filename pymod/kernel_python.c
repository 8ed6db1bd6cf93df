/* kernel_python: the methods of kernels that are written in Python.
 *
 * A row of kernel_python.def becomes a C function that calls gpu/_inspect.py, which is imported
 * when the first of them is called. Also here: the numbers that it shows, read off loaded code. */
#include "pymod/pm.h"

/* function(kernel, *args, **kwargs) */
static PyObject *
python_call(PyObject *self, const char *function, PyObject *args, PyObject *kwargs)
{
    PyObject *module = PyImport_ImportModule("gpu._inspect");
    PyObject *callable = module ? PyObject_GetAttrString(module, function) : NULL;
    PyObject *first = callable ? PyTuple_Pack(1, self) : NULL;
    PyObject *all = !first ? NULL : args ? PySequence_Concat(first, args) : Py_NewRef(first);
    PyObject *result = all ? PyObject_Call(callable, all, kwargs) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(first);
    Py_XDECREF(callable);
    Py_XDECREF(module);
    return result;
}

#define KERNEL_METHOD(name, doc)                                                                   \
    PyObject *pm_kernel_python_##name(PyObject *self, PyObject *args, PyObject *kwargs)            \
    {                                                                                              \
        return python_call(self, #name, args, kwargs);                                             \
    }
#define KERNEL_PROPERTY(name, doc)                                                                 \
    PyObject *pm_kernel_get_##name(PyObject *self, void *closure)                                  \
    {                                                                                              \
        (void)closure;                                                                             \
        return python_call(self, #name, NULL, NULL);                                               \
    }
#include "pymod/kernel_python.def"

/* After an exception, which the caller raises, nothing more is added. */
static void
numbers_add(void *list, void *value)
{
    struct pm_entry *entry = value;
    if (PyErr_Occurred())
        return;
    struct rt_attributes a = {0};
    if (entry->code)
        a = entry->code->attributes;
    struct sp_str text;
    sp_str_init(&text);
    ir_signature_print(entry->args, entry->n_args, &text);
    PyObject *row = Py_BuildValue("sIIIII", text.data, a.registers, a.shared_B, a.local_B,
                                  a.constant_B, a.max_threads);
    if (row)
        (void)PyList_Append(list, row);
    Py_XDECREF(row);
    sp_str_finish(&text);
}

PyObject *
pm_kernel_numbers(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_kernel *self = (struct pm_kernel *)object;
    PyObject *list = PyList_New(0);
    if (list && self->readings[0])
        rt_cache_each(self->readings[0]->cache, numbers_add, list);
    if (list && PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}
