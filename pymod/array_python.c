/* array_python: the methods, properties and slots of arrays that are written in Python.
 *
 * A row of array_python.def becomes a C function that calls gpu/_array_methods.py, which is
 * imported when the first of them is called. Also here: the views of any shape and strides and the
 * new memory that these methods are made of. */
#include "pymod/array_python.h"

#include <string.h>

/* function(array, *args, **kwargs) */
static PyObject *
python_call(PyObject *self, const char *function, PyObject *args, PyObject *kwargs)
{
    PyObject *module = PyImport_ImportModule("gpu._array_methods");
    PyObject *callable = module ? PyObject_GetAttrString(module, function) : NULL;
    Py_ssize_t n = args ? PyTuple_Size(args) : 0;
    PyObject *all = callable ? PyTuple_New(n + 1) : NULL;
    PyObject *result = NULL;
    if (all) {
        PyTuple_SetItem(all, 0, Py_NewRef(self));
        for (Py_ssize_t i = 0; i < n; i++)
            PyTuple_SetItem(all, i + 1, Py_NewRef(PyTuple_GetItem(args, i)));
        result = PyObject_Call(callable, all, kwargs);
    }
    Py_XDECREF(all);
    Py_XDECREF(callable);
    Py_XDECREF(module);
    return result;
}

#define ARRAY_METHOD(name, function, doc)                                                          \
    PyObject *pm_array_python_##function(PyObject *self, PyObject *args, PyObject *kwargs)         \
    {                                                                                              \
        return python_call(self, #function, args, kwargs);                                         \
    }
#define ARRAY_PROPERTY(name, function, doc)                                                        \
    PyObject *pm_array_get_##function(PyObject *self, void *closure)                               \
    {                                                                                              \
        (void)closure;                                                                             \
        return python_call(self, #function, NULL, NULL);                                           \
    }
#include "pymod/array_python.def"

PyObject *
pm_array_repr(PyObject *self)
{
    return python_call(self, "to_repr", NULL, NULL);
}

PyObject *
pm_array_str(PyObject *self)
{
    return python_call(self, "to_str", NULL, NULL);
}

PyObject *
pm_array_iter(PyObject *self)
{
    return python_call(self, "iterate", NULL, NULL);
}

PyObject *
pm_array_int(PyObject *self)
{
    return python_call(self, "to_int", NULL, NULL);
}

PyObject *
pm_array_index(PyObject *self)
{
    return python_call(self, "to_index", NULL, NULL);
}

PyObject *
pm_array_float(PyObject *self)
{
    return python_call(self, "to_float", NULL, NULL);
}

int
pm_array_bool(PyObject *self)
{
    PyObject *truth = python_call(self, "to_bool", NULL, NULL);
    int result = truth ? PyObject_IsTrue(truth) : -1;
    Py_XDECREF(truth);
    return result;
}

/* Whether the view stays within the memory of another one. */
static bool
python_is_inside(const struct pm_view *view, const struct pm_view *of)
{
    int64_t first, end, of_first, of_end;
    pm_view_span(view, &first, &end);
    pm_view_span(of, &of_first, &of_end);
    int64_t at = (int64_t)(view->data - of->data);
    return view->size == 0 || (at + first >= of_first && at + end <= of_end);
}

static bool
python_read_numbers(PyObject *tuple, int64_t *out)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

/* _strided(array, shape, strides, offset, dtype): strides None: C order; dtype None: the same. */
PyObject *
pm_strided(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    PyObject *array, *shape, *strides, *dtype;
    long long offset_B;
    if (!PyArg_ParseTuple(args, "O!O!OLO:_strided", state->array_type, &array, &PyTuple_Type,
                          &shape, &strides, &offset_B, &dtype))
        return NULL;
    struct pm_array *self = (struct pm_array *)array;
    struct pm_view view = self->view;
    if (dtype != Py_None && !pm_view_parse_dtype(state, dtype, &view))
        return NULL;
    Py_ssize_t rank = PyTuple_Size(shape);
    if (rank > IR_MAX_RANK)
        return pm_fail(state, BAD_VALUE, "an array has at most 8 axes");
    view.rank = (uint8_t)rank;
    if (!python_read_numbers(shape, view.shape))
        return NULL;
    bool ok = true;
    if (strides == Py_None)
        ok = pm_view_contiguous(&view, false);
    else if (!PyTuple_Check(strides) || PyTuple_Size(strides) != rank ||
             !python_read_numbers(strides, view.strides))
        ok = false;
    if (PyErr_Occurred())
        return NULL;
    view.data += (uint64_t)offset_B;
    pm_view_finish(&view);
    if (!ok || !python_is_inside(&view, &self->view))
        return pm_fail(state, BAD_VALUE, "this view would leave the memory of its array");
    if (view.size && !view.elem && view.data % pm_view_itemsize(&view))
        return pm_fail(state, BAD_VALUE,
                       "the elements of this view would not be aligned to their size; write "
                       "a.copy().view(dtype)");
    return (PyObject *)pm_array_view(self, &view);
}

/* _like(array, shape, dtype): memory on its device, in C order; dtype None: the same. */
PyObject *
pm_like(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    PyObject *array, *shape, *dtype, *stream_object;
    rt_stream stream;
    if (!PyArg_ParseTuple(args, "O!O!OO:_like", state->array_type, &array, &PyTuple_Type, &shape,
                          &dtype, &stream_object))
        return NULL;
    struct pm_array *self = (struct pm_array *)array;
    if (!pm_array_stream(self, stream_object, &stream))
        return NULL;
    struct pm_view view = {.dtype = self->view.dtype, .elem = self->view.elem};
    if (dtype != Py_None && !pm_view_parse_dtype(state, dtype, &view))
        return NULL;
    if (PyTuple_Size(shape) > IR_MAX_RANK)
        return pm_fail(state, BAD_VALUE, "an array has at most 8 axes");
    view.rank = (uint8_t)PyTuple_Size(shape);
    if (!python_read_numbers(shape, view.shape))
        return NULL;
    return (PyObject *)pm_array_alloc_on(state, self->dev, &view, false, stream);
}

/* _dtype(object): what `dtype` of an array made with it is. */
PyObject *
pm_dtype_of(PyObject *module, PyObject *object)
{
    struct pm_state *state = PyModule_GetState(module);
    struct pm_view view = {0};
    return pm_view_parse_dtype(state, object, &view) ? pm_view_dtype_object(state, &view) : NULL;
}
