/* array_index: a[...] and a[...] = value on the host.
 *
 * Ints, slices and one ellipsis make a view of the same memory; an index without axes left is one
 * element, fetched as a scalar. Storing a number fills the view, storing an array needs its shape
 * and dtype. Each is a copy between host and device, so this is for looking and for small
 * changes. */
#include "pymod/pm.h"

#include <string.h>

static bool
index_fail(struct pm_array *self, const char *reason)
{
    return pm_fail(self->state, BAD_VALUE, reason);
}

/* One axis of the array, and what it leaves in the view. */
static bool
index_axis(struct pm_array *self, PyObject *item, uint32_t axis, struct pm_view *view)
{
    int64_t extent = self->view.shape[axis], stride = self->view.strides[axis];
    if (PySlice_Check(item)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(item, &start, &stop, &step) < 0)
            return false;
        Py_ssize_t n = PySlice_AdjustIndices((Py_ssize_t)extent, &start, &stop, step);
        view->data += (uint64_t)(n ? start * stride : 0);
        view->shape[view->rank] = n;
        view->strides[view->rank++] = (int64_t)((uint64_t)stride * (uint64_t)step);
        return true;
    }
    if (!PyIndex_Check(item))
        return index_fail(self, "a gpu array is indexed with ints and slices on the host");
    Py_ssize_t i = PyNumber_AsSsize_t(item, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return false;
    if (i < -extent || i >= extent) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %lld", i,
                     (int)axis, (long long)extent);
        return false;
    }
    view->data += (uint64_t)((i < 0 ? i + extent : i) * stride);
    return true;
}

/* `one_out`: no axis is left; the view is then one of a single element. */
static bool
index_view(struct pm_array *self, PyObject *index, struct pm_view *view, bool *one_out)
{
    *view = self->view;
    view->rank = 0;
    PyObject *items = PyTuple_Check(index) ? Py_NewRef(index) : PyTuple_Pack(1, index);
    if (!items)
        return false;
    Py_ssize_t n = PyTuple_Size(items), n_ellipses = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        n_ellipses += PyTuple_GetItem(items, i) == Py_Ellipsis;
    bool ok = n_ellipses <= 1 && n - n_ellipses <= self->view.rank;
    if (!ok)
        PyErr_SetString(PyExc_IndexError, "more indices than the array has axes");
    PyObject *all = ok ? PySlice_New(NULL, NULL, NULL) : NULL;
    ok = all != NULL;
    uint32_t axis = 0;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        uint32_t rest = (uint32_t)(n - i - 1), end = self->view.rank - rest;
        if (item != Py_Ellipsis)
            ok = index_axis(self, item, axis++, view);
        while (ok && item == Py_Ellipsis && axis < end)
            ok = index_axis(self, all, axis++, view);
    }
    while (ok && axis < self->view.rank)
        ok = index_axis(self, all, axis++, view);
    Py_XDECREF(all);
    Py_DECREF(items);
    if (!ok)
        return false;
    *one_out = view->rank == 0;
    if (*one_out) {
        view->rank = 1;
        view->shape[0] = 1;
        view->strides[0] = pm_dtype_size_B(view->dtype);
    }
    pm_view_finish(view);
    return true;
}

PyObject *
pm_array_subscript(PyObject *object, PyObject *index)
{
    struct pm_array *self = (struct pm_array *)object;
    struct pm_view view;
    bool one;
    if (!index_view(self, index, &view, &one))
        return NULL;
    PyObject *array = (PyObject *)pm_array_new(self->state, self->dev, &view, object);
    if (!one || !array)
        return array;
    PyObject *host = PyObject_CallMethod(array, "copy_to_host", NULL);
    PyObject *element = host ? PySequence_GetItem(host, 0) : NULL;
    Py_XDECREF(host);
    Py_DECREF(array);
    return element;
}

/* A number goes to every element: a view of it whose strides are 0. */
static bool
index_fill(struct pm_array *self, const struct pm_view *view, PyObject *value)
{
    uint64_t element;
    struct pm_view from = *view;
    if (!pm_element_from_object(self->state, view->dtype, value, &element))
        return false;
    from.data = (uint64_t)(uintptr_t)&element;
    from.layout = IR_LAYOUT_ANY;
    memset(from.strides, 0, sizeof from.strides);
    return pm_upload(self->state, self->dev, view, &from, 0);
}

static bool
index_is_number(struct pm_state *state, PyObject *value)
{
    pm_numpy_look(state);
    return PyLong_Check(value) || PyFloat_Check(value) ||
           (state->generic && PyObject_TypeCheck(value, state->generic));
}

int
pm_array_assign(PyObject *object, PyObject *index, PyObject *value)
{
    struct pm_array *self = (struct pm_array *)object;
    struct pm_view view;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of a gpu array cannot be deleted");
        return -1;
    }
    if (self->view.read_only) {
        index_fail(self, "this gpu array is read-only");
        return -1;
    }
    bool one;
    if (!index_view(self, index, &view, &one))
        return -1;
    if (one || index_is_number(self->state, value))
        return index_fill(self, &view, value) ? 0 : -1;
    PyObject *target = (PyObject *)pm_array_new(self->state, self->dev, &view, object);
    PyObject *none = target ? PyObject_CallMethod(target, "copy_to_device", "O", value) : NULL;
    Py_XDECREF(target);
    Py_XDECREF(none);
    return none ? 0 : -1;
}
