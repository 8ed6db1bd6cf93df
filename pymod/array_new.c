/* array_new: making arrays: empty, full, to_device, as_gpu_array.
 *
 * zeros, ones and the `_like` family are Python over these, in gpu/_arrays.py. */
#include "pymod/pm.h"

#include <string.h>

struct pm_array *
pm_array_alloc(struct pm_state *state, const struct pm_view *view, bool fortran, rt_stream stream)
{
    struct rt_device *dev = pm_device(state);
    return dev ? pm_array_alloc_on(state, dev, view, fortran, stream) : NULL;
}

struct pm_array *
pm_array_alloc_on(struct pm_state *state, struct rt_device *dev, const struct pm_view *view,
                  bool fortran, rt_stream stream)
{
    struct pm_view made = *view;
    made.data = 0;
    made.read_only = false;
    if (!pm_view_contiguous(&made, fortran))
        return pm_fail(state, BAD_VALUE, "an array of more than 2^61 bytes");
    struct pm_array *self = pm_array_new(state, dev, &made, NULL);
    if (!self)
        return NULL;
    uint64_t size_B = (uint64_t)made.size * pm_view_itemsize(&made);
    if (!pm_memory_alloc(state, dev, size_B, stream, &self->owned, &self->base)) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->home = self->noted = stream <= 1 ? 0 : stream;
    self->view.data = self->base ? ((struct pm_memory *)self->base)->device_address : self->owned;
    if (!pm_graph_keep(state, dev, stream, (PyObject *)self))
        Py_CLEAR(self);
    return self;
}

static bool
new_parse_shape(struct pm_state *state, PyObject *shape, struct pm_view *view)
{
    memset(view, 0, sizeof *view);
    PyObject *numbers;
    if (PyTuple_Check(shape) || PyList_Check(shape)) {
        numbers = PySequence_Tuple(shape);
    } else {
        PyObject *whole = PyNumber_Index(shape);
        numbers = whole ? PyTuple_Pack(1, whole) : NULL;
        Py_XDECREF(whole);
    }
    if (!numbers)
        return false;
    Py_ssize_t rank = PyTuple_Size(numbers);
    bool ok = rank <= IR_MAX_RANK;
    if (!ok)
        pm_fail(state, BAD_VALUE, "an array's shape is an int or a tuple of at most 8 ints");
    for (Py_ssize_t i = 0; ok && i < rank; i++) {
        view->shape[i] = PyNumber_AsSsize_t(PyTuple_GetItem(numbers, i), PyExc_OverflowError);
        ok = !PyErr_Occurred();
        if (ok && view->shape[i] < 0) {
            pm_fail(state, BAD_VALUE, "an array's extents cannot be negative");
            ok = false;
        }
    }
    view->rank = (uint8_t)rank;
    Py_DECREF(numbers);
    return ok;
}

static struct pm_array *
new_empty(struct pm_state *state, PyObject *shape, PyObject *dtype, const char *order,
          rt_stream stream)
{
    struct pm_view view;
    if (!new_parse_shape(state, shape, &view))
        return NULL;
    view.dtype = IR_T_FLOAT64;
    if (dtype && dtype != Py_None && !pm_view_parse_dtype(state, dtype, &view))
        return NULL;
    if (strcmp(order, "C") && strcmp(order, "F"))
        return pm_fail(state, BAD_VALUE, "an array's order is 'C' or 'F'");
    return pm_array_alloc(state, &view, order[0] == 'F', stream);
}

PyObject *
pm_empty(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape", "dtype", "order", "stream", NULL};
    struct pm_state *state = PyModule_GetState(module);
    PyObject *shape, *dtype = NULL, *stream_object = Py_None;
    const char *order = "C";
    rt_stream stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OsO:empty", names, &shape, &dtype, &order,
                                     &stream_object) ||
        !pm_stream_parse(state, stream_object, &stream))
        return NULL;
    struct pm_array *self = new_empty(state, shape, dtype, order, stream);
    if (self && !pm_array_keep_stream(self, stream, stream_object))
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* The memory is new: on the CPU device no kernel that still runs can know it. */
static bool
new_fill(struct pm_array *self, const uint64_t *element, rt_stream stream)
{
    if (rt_device_info(self->dev)->kind != RT_CPU || rt_stream_is_capturing(self->dev, stream))
        return pm_fill(self->state, self->dev, &self->view, element, stream);
    struct pm_view one = self->view;
    one.data = (uint64_t)(uintptr_t)element;
    one.layout = IR_LAYOUT_ANY;
    for (uint32_t i = 0; i < one.rank; i++)
        one.strides[i] = 0;
    Py_BEGIN_ALLOW_THREADS
    pm_view_copy(&self->view, &one);
    Py_END_ALLOW_THREADS
    return true;
}

/* The value's own dtype, as NumPy has it. */
static PyObject *
new_dtype_of(struct pm_state *state, PyObject *value)
{
    ir_type scalar = pm_numpy_scalar(state, Py_TYPE(value));
    return scalar != IR_T_NONE   ? state->dtypes[scalar]
           : PyBool_Check(value) ? (PyObject *)&PyBool_Type
           : PyLong_Check(value) ? (PyObject *)&PyLong_Type
                                 : (PyObject *)&PyFloat_Type;
}

/* 0 is every byte 0, whatever the fields are. */
static bool
new_fill_elem(struct pm_array *self, PyObject *value, rt_stream stream)
{
    if (!PyLong_CheckExact(value) || PyObject_IsTrue(value))
        return pm_array_store(self, value, stream);
    struct pm_view bytes = self->view;
    uint64_t element = 0;
    bytes.elem = NULL;
    bytes.dtype = IR_T_UINT8;
    bytes.rank = 1;
    bytes.shape[0] = self->view.size * pm_view_itemsize(&self->view);
    return pm_view_contiguous(&bytes, false) &&
           pm_fill(self->state, self->dev, &bytes, &element, stream);
}

PyObject *
pm_full(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape", "fill_value", "dtype", "order", "stream", NULL};
    struct pm_state *state = PyModule_GetState(module);
    PyObject *shape, *value, *dtype = NULL, *stream_object = Py_None;
    const char *order = "C";
    rt_stream stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OsO:full", names, &shape, &value, &dtype,
                                     &order, &stream_object) ||
        !pm_stream_parse(state, stream_object, &stream))
        return NULL;
    if (!dtype || dtype == Py_None)
        dtype = new_dtype_of(state, value);
    struct pm_array *self = new_empty(state, shape, dtype, order, stream);
    uint64_t element;
    if (!self)
        return NULL;
    bool ok = pm_array_keep_stream(self, stream, stream_object);
    if (self->view.elem)
        ok = ok && new_fill_elem(self, value, stream);
    else
        ok = ok && pm_element_from_object(state, self->view.dtype, value, &element) &&
             new_fill(self, &element, stream);
    if (ok)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

/* A copy of an array that is not ours; without its values unless `copy`. */
static PyObject *
new_from_foreign(struct pm_state *state, PyObject *object, bool copy, rt_stream stream)
{
    struct pm_foreign foreign;
    int found = pm_foreign_get(state, object, "to_device", &foreign);
    struct pm_array *self = NULL;
    if (found == 0) {
        pm_fail(state, BAD_ARRAY,
                "to_device takes an array; write np.array(values, dtype=np.float32) for a list");
    } else if (found == 1) {
        self = pm_array_alloc(state, &foreign.view, foreign.view.layout == IR_LAYOUT_F, stream);
        bool ok = self && pm_graph_keep(state, self->dev, stream, object) &&
                  (!copy || (pm_foreign_is_near(state, &foreign, self->dev, "the array") &&
                             pm_foreign_order(state, &foreign, self->dev, stream)));
        if (ok && copy)
            ok = foreign.on_host
                     ? pm_upload(state, self->dev, &self->view, &foreign.view, stream)
                     : pm_transfer(state, self->dev, &self->view, &foreign.view, stream);
        if (!ok)
            Py_CLEAR(self);
    }
    pm_foreign_release(&foreign);
    return (PyObject *)self;
}

/* to_device(array, stream=None, copy=True, to=None, dtype=None) */
PyObject *
pm_to_device(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", "stream", "copy", "to", "dtype", NULL};
    struct pm_state *state = PyModule_GetState(module);
    PyObject *object, *stream_object = Py_None, *to = Py_None, *dtype = Py_None;
    rt_stream stream;
    int copy = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OpOO:to_device", names, &object,
                                     &stream_object, &copy, &to, &dtype) ||
        !pm_stream_parse(state, stream_object, &stream))
        return NULL;
    if (to != Py_None) {
        if (!Py_IS_TYPE(to, state->array_type))
            return pm_fail(state, BAD_ARRAY, "to_device: `to` must be a gpu array");
        PyObject *none = PyObject_CallMethod(to, "copy_to_device", "OO", object, stream_object);
        Py_XDECREF(none);
        return none ? Py_NewRef(to) : NULL;
    }
    PyObject *array = Py_IS_TYPE(object, state->array_type)
                          ? Py_NewRef(object)
                          : new_from_foreign(state, object, copy, stream);
    if (array && array != object &&
        !pm_array_keep_stream((struct pm_array *)array, stream, stream_object))
        Py_CLEAR(array);
    if (!array || dtype == Py_None)
        return array;
    PyObject *converted =
        PyObject_CallMethod(array, "astype", "OsOO", dtype, "K", Py_False, stream_object);
    Py_DECREF(array);
    return converted;
}

/* The device whose memory it is; NULL with an exception if that is none of ours. */
static struct rt_device *
new_device_of(struct pm_state *state, const struct pm_foreign *foreign)
{
    struct rt_device *dev = pm_device(state);
    if (!dev)
        return NULL;
    const struct rt_info *info = rt_device_info(dev);
    bool cpu = info->kind == RT_CPU;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (foreign->on_host != cpu)
        return pm_fail(
            state, BAD_ARRAY,
            cpu ? "as_gpu_array takes an array in host memory while kernels run on the CPU device"
                : "as_gpu_array takes an array in GPU memory; to_device copies one there");
    if (!cpu && foreign->ordinal != info->ordinal &&
        !rt_open(state->rt, RT_CUDA, foreign->ordinal, &dev, &diag))
        return pm_raise(state, &diag);
    return dev;
}

/* as_gpu_array(array, sync=True) */
PyObject *
pm_as_gpu_array(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", "sync", NULL};
    struct pm_state *state = PyModule_GetState(module);
    PyObject *object;
    int sync = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:as_gpu_array", names, &object, &sync))
        return NULL;
    if (Py_IS_TYPE(object, state->array_type))
        return Py_NewRef(object);
    struct pm_foreign foreign = {0};
    int found = pm_foreign_get(state, object, "as_gpu_array", &foreign);
    struct rt_device *dev = found == 1 ? new_device_of(state, &foreign) : NULL;
    PyObject *self = NULL;
    if (found == 0)
        pm_fail(state, BAD_ARRAY, "as_gpu_array takes an array of another library");
    if (dev && (!sync || !foreign.has_stream || pm_wait(state, dev, &foreign.stream))) {
        PyObject *base =
            foreign.has_buffer ? PyMemoryView_FromObject(object) : Py_NewRef(foreign.owner);
        if (base)
            self = (PyObject *)pm_array_new(state, dev, &foreign.view, base);
        Py_XDECREF(base);
    }
    pm_foreign_release(&foreign);
    return self;
}
