/* array_index: a[...] and a[...] = value on the host.
 *
 * Ints, slices, one ellipsis and new axes make a view of the same memory; an index of ints alone
 * that leaves no axis is one element, fetched as a scalar, which waits. Storing a number fills the
 * view, storing an array spreads and converts it. Neither waits, unless the array comes from the
 * host. Errors are NumPy's. */
#include "pymod/pm.h"

#include <string.h>

#define INDEX_KINDS                                                                                \
    "only integers, slices (`:`), ellipsis (`...`) and None make an index of a gpu array; for "    \
    "masks and lists of indices write a kernel, or a.copy_to_host()[...]"

struct index {
    struct pm_array *array;
    struct pm_view view;
    bool one; /* an element, not a view */
};

static bool
index_fail(struct pm_array *self, const char *reason)
{
    return pm_fail(self->state, BAD_INDEX, reason);
}

static bool
index_out_of_bounds(struct pm_array *self, long long i, uint32_t axis)
{
    char text[120];
    PyOS_snprintf(text, sizeof text, "index %lld is out of bounds for axis %d with size %lld", i,
                  (int)axis, (long long)self->view.shape[axis]);
    return index_fail(self, text);
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
    if (!PyIndex_Check(item) || PyBool_Check(item))
        return index_fail(self, INDEX_KINDS);
    PyObject *whole = PyNumber_Index(item);
    if (!whole) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return false;
        PyErr_Clear(); /* an array of several ints */
        return index_fail(self, INDEX_KINDS);
    }
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow)
        i = overflow < 0 ? INT64_MIN : INT64_MAX;
    if (i < -extent || i >= extent)
        return index_out_of_bounds(self, i, axis);
    view->data += (uint64_t)((i < 0 ? i + extent : i) * stride);
    return true;
}

/* Counts what the index has of each kind, and looks whether that fits the array. */
static bool
index_count(struct pm_array *self, PyObject *items, bool *has_ellipsis_out)
{
    Py_ssize_t n = PyTuple_Size(items), n_ellipses = 0, n_new = 0;
    char text[120];
    for (Py_ssize_t i = 0; i < n; i++) {
        n_ellipses += PyTuple_GetItem(items, i) == Py_Ellipsis;
        n_new += PyTuple_GetItem(items, i) == Py_None;
    }
    n -= n_ellipses + n_new;
    if (n_ellipses > 1)
        return index_fail(self, "an index can only have a single ellipsis ('...')");
    if (n > self->view.rank) {
        PyOS_snprintf(text, sizeof text,
                      "too many indices for array: array is %d-dimensional, but %d were indexed",
                      (int)self->view.rank, (int)n);
        return index_fail(self, text);
    }
    /* At most: ints leave less, but then each has taken an axis. */
    if (self->view.rank + n_new > IR_MAX_RANK) {
        Py_ssize_t left = self->view.rank + n_new;
        for (Py_ssize_t i = 0; i < PyTuple_Size(items); i++)
            left -= PyIndex_Check(PyTuple_GetItem(items, i)) != 0;
        if (left > IR_MAX_RANK)
            return index_fail(self, "this view would have more than 8 axes");
    }
    *has_ellipsis_out = n_ellipses == 1;
    return true;
}

static bool
index_items(struct index *index, PyObject *items)
{
    struct pm_array *self = index->array;
    struct pm_view *view = &index->view;
    bool has_ellipsis = false, ok = index_count(self, items, &has_ellipsis);
    PyObject *all = ok ? PySlice_New(NULL, NULL, NULL) : NULL;
    Py_ssize_t n = PyTuple_Size(items);
    uint32_t axis = 0;
    ok = all != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        if (item == Py_None) {
            view->shape[view->rank] = 1;
            view->strides[view->rank++] = 0;
            continue;
        }
        uint32_t rest = 0;
        for (Py_ssize_t k = i + 1; k < n; k++)
            rest += PyTuple_GetItem(items, k) != Py_None;
        if (item != Py_Ellipsis)
            ok = index_axis(self, item, axis++, view);
        while (ok && item == Py_Ellipsis && axis < self->view.rank - rest)
            ok = index_axis(self, all, axis++, view);
    }
    while (ok && axis < self->view.rank)
        ok = index_axis(self, all, axis++, view);
    Py_XDECREF(all);
    index->one = view->rank == 0 && !has_ellipsis;
    return ok;
}

static bool
index_get(struct pm_array *self, PyObject *key, struct index *index)
{
    *index = (struct index){.array = self, .view = self->view};
    index->view.rank = 0;
    PyObject *items = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    bool ok = items && index_items(index, items);
    Py_XDECREF(items);
    if (ok)
        pm_view_finish(&index->view);
    return ok;
}

static PyObject *
index_read(struct pm_array *self, PyObject *key, PyObject *stream)
{
    struct index index;
    if (!index_get(self, key, &index))
        return NULL;
    PyObject *array = (PyObject *)pm_array_view(self, &index.view);
    if (!index.one || !array)
        return array;
    PyObject *host = PyObject_CallMethod(array, "copy_to_host", "OO", Py_None, stream);
    PyObject *none = host ? PyTuple_New(0) : NULL;
    PyObject *element = none ? PyObject_GetItem(host, none) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(host);
    Py_DECREF(array);
    return element;
}

static bool
index_is_number(struct pm_state *state, PyObject *value)
{
    pm_numpy_look(state);
    return PyLong_Check(value) || PyFloat_Check(value) ||
           (state->generic && PyObject_TypeCheck(value, state->generic));
}

static bool
index_write(struct pm_array *self, PyObject *key, PyObject *value, PyObject *stream_object)
{
    struct index index;
    rt_stream stream;
    uint64_t element;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of a gpu array cannot be deleted");
        return false;
    }
    if (self->view.read_only)
        return pm_fail(self->state, BAD_VALUE,
                       "assignment destination is read-only; write a.copy()");
    if (!index_get(self, key, &index) || !pm_array_stream(self, stream_object, &stream) ||
        !pm_array_use(self, self->dev, stream, NULL))
        return false;
    if (index_is_number(self->state, value) && !self->view.elem)
        return pm_element_from_object(self->state, index.view.dtype, value, &element) &&
               pm_graph_keep(self->state, self->dev, stream, (PyObject *)self) &&
               pm_fill(self->state, self->dev, &index.view, &element, stream);
    struct pm_array *target = pm_array_view(self, &index.view);
    bool ok = target && pm_array_store(target, value, stream);
    Py_XDECREF((PyObject *)target);
    return ok;
}

PyObject *
pm_array_subscript(PyObject *self, PyObject *key)
{
    return index_read((struct pm_array *)self, key, Py_None);
}

int
pm_array_assign(PyObject *self, PyObject *key, PyObject *value)
{
    return index_write((struct pm_array *)self, key, value, Py_None) ? 0 : -1;
}

PyObject *
pm_array_getitem(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"item", "stream", NULL};
    PyObject *key, *stream = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:getitem", names, &key, &stream))
        return NULL;
    return index_read((struct pm_array *)self, key, stream);
}

PyObject *
pm_array_setitem(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "value", "stream", NULL};
    PyObject *key, *value, *stream = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:setitem", names, &key, &value, &stream) ||
        !index_write((struct pm_array *)self, key, value, stream))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *
pm_array_fill(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"value", "stream", NULL};
    struct pm_array *self = (struct pm_array *)object;
    PyObject *value, *stream = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:fill", names, &value, &stream))
        return NULL;
    if (!index_is_number(self->state, value))
        return pm_fail(self->state, BAD_ARRAY, "fill takes a number; write a[...] = array");
    if (!index_write(self, Py_Ellipsis, value, stream))
        return NULL;
    Py_RETURN_NONE;
}
