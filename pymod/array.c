/* array: the array type, a view of device memory with its owner.
 *
 * The struct is what launches read: shape, strides, layout are ready, nothing is looked up. Memory
 * that was allocated for the array is freed with it; views keep their base. On the CPU device the
 * memory is the host's, so the buffer protocol and `__array_interface__` give it to NumPy without a
 * copy. What is rare is Python (array_python.def). */
#include "pymod/array_python.h"

#include <stdlib.h>
#include <string.h>

struct pm_array *
pm_array_new(struct pm_state *state, struct rt_device *dev, const struct pm_view *view,
             PyObject *base)
{
    struct pm_array *self = PyObject_New(struct pm_array, state->array_type);
    if (!self)
        return NULL;
    self->state = state;
    self->dev = dev;
    self->view = *view;
    self->owned = 0;
    self->base = Py_XNewRef(base);
    self->stream = NULL;
    self->dl_strides = NULL;
    self->home = self->noted = PM_NO_STREAM;
    self->n_gone = state->n_gone;
    self->streams = NULL;
    self->weakrefs = NULL;
    return self;
}

/* Of a view of a view the base is who owns the memory, so that chains stay short. */
struct pm_array *
pm_array_view(struct pm_array *array, const struct pm_view *view)
{
    PyObject *base = array->base ? array->base : (PyObject *)array;
    struct pm_array *self = pm_array_new(array->state, array->dev, view, base);
    if (self) {
        self->stream = Py_XNewRef(array->stream);
        self->home = array->home;
        self->noted = array->noted;
        self->n_gone = array->n_gone;
    }
    return self;
}

/* Another library's stream must not be destroyed before the memory is freed, which asks it. One is
 * kept of each handle and type: some libraries make an object whenever they are asked for their
 * current stream. */
bool
pm_array_keep_stream(struct pm_array *array, rt_stream handle, PyObject *stream)
{
    struct pm_state *state = array->state;
    bool owned = array->base && Py_IS_TYPE(array->base, state->memory_type);
    if (!stream || stream == Py_None || PyLong_Check(stream) ||
        (Py_IS_TYPE(stream, state->stream_type) && !owned))
        return true;
    if (array->base && Py_IS_TYPE(array->base, state->array_type))
        array = (struct pm_array *)array->base;
    if (!array->streams && !(array->streams = PyDict_New()))
        return false;
    PyObject *key = Py_BuildValue("(KO)", (unsigned long long)handle, (PyObject *)Py_TYPE(stream));
    int has = key ? PyDict_Contains(array->streams, key) : -1;
    bool ok = has == 1 || (has == 0 && PyDict_SetItem(array->streams, key, stream) == 0);
    Py_XDECREF(key);
    return ok;
}

bool
pm_array_use_slow(struct pm_array *array, struct rt_device *dev, rt_stream handle, PyObject *stream)
{
    if (handle <= 1)
        handle = 0;
    if (array->n_gone != array->state->n_gone) {
        array->home = array->home > RT_STREAM_LEGACY ? PM_NO_STREAM : array->home;
        array->noted = array->noted > RT_STREAM_LEGACY ? PM_NO_STREAM : array->noted;
        array->n_gone = array->state->n_gone;
    }
    if (handle == array->home || handle == array->noted)
        return true;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (array->base && Py_IS_TYPE(array->base, array->state->memory_type)) {
        if (!pm_memory_use((struct pm_memory *)array->base, dev, handle))
            return false;
    } else if (array->view.size &&
               !rt_memory_use(array->dev, RT_POOL_DEVICE, array->view.data, handle, &diag)) {
        return pm_raise(array->state, &diag);
    }
    array->noted = handle;
    return pm_array_keep_stream(array, handle, stream);
}

bool
pm_array_stream(struct pm_array *array, PyObject *object, rt_stream *stream_out)
{
    bool none = object == Py_None || (PyLong_Check(object) && PyObject_IsTrue(object) == 0);
    if (none && array->stream)
        object = array->stream;
    return pm_stream_parse(array->state, object, stream_out);
}

/* The pool never waits, and as a rule does not ask the driver. */
static void
array_free_memory(struct pm_array *self)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!rt_device_free(self->dev, self->owned, &diag))
        pm_keep(self->state, &diag);
}

static void
array_dealloc(PyObject *object)
{
    struct pm_array *self = (struct pm_array *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    if (self->owned)
        array_free_memory(self);
    if (self->base && !Py_IS_TYPE(self->base, self->state->array_type))
        pm_memory_retire(self->state, self->dev, self->base);
    else
        Py_XDECREF(self->base);
    Py_XDECREF(self->stream);
    free(self->dl_strides);
    Py_XDECREF(self->streams);
    PyObject_Free(object);
    Py_DECREF(type);
}

bool
pm_array_hand_on(struct pm_array *array, rt_stream stream)
{
    rt_stream own = 0;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!pm_array_stream(array, Py_None, &own))
        return false;
    bool same = own == stream || (own <= RT_STREAM_LEGACY && stream <= RT_STREAM_LEGACY);
    if (!same && !rt_stream_order(array->dev, own, stream, &diag))
        return pm_raise(array->state, &diag);
    return pm_array_use(array, array->dev, stream, NULL);
}

static PyObject *
array_numbers(const int64_t *numbers, uint32_t n)
{
    PyObject *tuple = PyTuple_New(n);
    for (uint32_t i = 0; tuple && i < n; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (!number || PyTuple_SetItem(tuple, i, number) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *
array_get_shape(PyObject *self, void *closure)
{
    (void)closure;
    const struct pm_view *view = &((struct pm_array *)self)->view;
    return array_numbers(view->shape, view->rank);
}

static PyObject *
array_get_strides(PyObject *self, void *closure)
{
    (void)closure;
    const struct pm_view *view = &((struct pm_array *)self)->view;
    return array_numbers(view->strides, view->rank);
}

enum array_number { ARRAY_NDIM, ARRAY_SIZE, ARRAY_ITEMSIZE, ARRAY_NBYTES, ARRAY_ADDRESS };

static PyObject *
array_get_number(PyObject *self, void *closure)
{
    const struct pm_view *view = &((struct pm_array *)self)->view;
    long long itemsize = pm_view_itemsize(view);
    switch ((enum array_number)(uintptr_t)closure) {
    case ARRAY_NDIM: return PyLong_FromLong(view->rank);
    case ARRAY_SIZE: return PyLong_FromLongLong(view->size);
    case ARRAY_ITEMSIZE: return PyLong_FromLongLong(itemsize);
    case ARRAY_NBYTES: return PyLong_FromLongLong(view->size * itemsize);
    case ARRAY_ADDRESS: break;
    }
    return PyLong_FromUnsignedLongLong(view->data);
}

static PyObject *
array_get_dtype(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_array *self = (struct pm_array *)object;
    return pm_view_dtype_object(self->state, &self->view);
}

static PyObject *
array_get_device(PyObject *object, void *closure)
{
    (void)closure;
    char name[24];
    pm_device_print(((struct pm_array *)object)->dev, name);
    return PyUnicode_FromString(name);
}

static PyObject *
array_get_transposed(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_array *self = (struct pm_array *)object;
    struct pm_view view = self->view;
    for (uint32_t i = 0; i < view.rank; i++) {
        view.shape[i] = self->view.shape[view.rank - 1u - i];
        view.strides[i] = self->view.strides[view.rank - 1u - i];
    }
    pm_view_finish(&view);
    return (PyObject *)pm_array_view(self, &view);
}

static PyObject *
array_interface(struct pm_array *self, int version)
{
    PyObject *shape = array_get_shape((PyObject *)self, NULL);
    PyObject *strides = self->view.layout == IR_LAYOUT_C
                            ? Py_NewRef(Py_None)
                            : array_get_strides((PyObject *)self, NULL);
    PyObject *dict = NULL;
    char typestr[24];
    if (self->view.elem)
        PyOS_snprintf(typestr, sizeof typestr, "|V%u", (unsigned)self->view.elem->size_B);
    else
        PyOS_snprintf(typestr, sizeof typestr, "%s", ir_scalar_row(self->view.dtype)->typestr);
    if (shape && strides)
        dict = Py_BuildValue("{s:O,s:O,s:s,s:(KO),s:i}", "shape", shape, "strides", strides,
                             "typestr", typestr, "data", (unsigned long long)self->view.data,
                             self->view.read_only ? Py_True : Py_False, "version", version);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return dict;
}

/* Both interfaces exist only where the memory is of their kind: hasattr() is how others ask. */
static PyObject *
array_get_cuda_interface(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_array *self = (struct pm_array *)object;
    if (rt_device_info(self->dev)->kind != RT_CUDA) {
        PyErr_SetString(PyExc_AttributeError, "this gpu array is in the memory of the CPU device");
        return NULL;
    }
    if (!pm_device_check(self->state, self->dev))
        return NULL;
    PyObject *dict = array_interface(self, 3);
    rt_stream handle; /* without bind() the default one, which orders what we launched there */
    if (!pm_array_stream(self, Py_None, &handle))
        Py_CLEAR(dict);
    PyObject *stream =
        dict ? PyLong_FromUnsignedLongLong(handle ? handle : RT_STREAM_LEGACY) : NULL;
    if (dict && (!stream || PyDict_SetItemString(dict, "stream", stream) < 0))
        Py_CLEAR(dict);
    Py_XDECREF(stream);
    return dict;
}

static PyObject *
array_get_host_interface(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_array *self = (struct pm_array *)object;
    if (rt_device_info(self->dev)->kind != RT_CPU) {
        PyErr_SetString(PyExc_AttributeError,
                        "this gpu array is in GPU memory; use copy_to_host()");
        return NULL;
    }
    if (self->view.elem || self->view.dtype == IR_T_BFLOAT16) { /* so that NumPy asks __array__ */
        PyErr_SetString(PyExc_AttributeError,
                        "NumPy cannot read these elements; use copy_to_host()");
        return NULL;
    }
    if (!pm_wait(self->state, self->dev, NULL))
        return NULL;
    return array_interface(self, 3);
}

/* Whether the elements lie as a consumer with these flags expects. */
static bool
array_has_order(const struct pm_view *view, int flags)
{
    bool c = view->layout == IR_LAYOUT_C;
    bool f = view->layout == IR_LAYOUT_F || (c && view->rank == 1);
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
        return c;
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS)
        return f;
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS)
        return c || f;
    return c || (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
}

static int
array_get_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    struct pm_array *self = (struct pm_array *)object;
    struct pm_view *view = &self->view;
    buffer->obj = NULL;
    if (rt_device_info(self->dev)->kind != RT_CPU) {
        PyErr_SetString(PyExc_BufferError, "a gpu array in GPU memory has no buffer on the host; "
                                           "use copy_to_host()");
        return -1;
    }
    if (view->elem || view->dtype == IR_T_BFLOAT16) {
        PyErr_Format(PyExc_BufferError, "%.200s has no buffer format; use copy_to_host()",
                     view->elem ? view->elem->text : ir_scalar_row(view->dtype)->name);
        return -1;
    }
    if (!array_has_order(view, flags)) {
        PyErr_SetString(PyExc_BufferError, "this gpu array is not contiguous in that order");
        return -1;
    }
    if (view->read_only && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "this gpu array is read-only");
        return -1;
    }
    if (!pm_wait(self->state, self->dev, NULL))
        return -1;
    const struct ir_scalar_row *row = ir_scalar_row(view->dtype);
    *buffer = (Py_buffer){
        .buf = view->data ? (void *)(uintptr_t)view->data : (void *)view,
        .obj = Py_NewRef(object),
        .len = (Py_ssize_t)(view->size * (row->bits / 8)),
        .itemsize = row->bits / 8,
        .readonly = view->read_only,
        .ndim = view->rank,
        .format = flags & PyBUF_FORMAT ? (char *)row->format : NULL,
        .shape = (flags & PyBUF_ND) == PyBUF_ND ? (Py_ssize_t *)view->shape : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? (Py_ssize_t *)view->strides : NULL,
    };
    return 0;
}

static Py_ssize_t
array_length(PyObject *self)
{
    const struct pm_view *view = &((struct pm_array *)self)->view;
    if (view->rank == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of unsized object");
        return -1;
    }
    return (Py_ssize_t)view->shape[0];
}

static PyObject *
array_get_base(PyObject *object, void *closure)
{
    (void)closure;
    PyObject *base = ((struct pm_array *)object)->base;
    return Py_NewRef(base ? base : Py_None);
}

static PyObject *
array_get_stream(PyObject *object, void *closure)
{
    (void)closure;
    PyObject *stream = ((struct pm_array *)object)->stream;
    return stream ? Py_NewRef(stream) : PyLong_FromLong(0);
}

static PyObject *
array_get_writeable(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(!((struct pm_array *)object)->view.read_only);
}

static PyObject *
array_bind(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    struct pm_array *self = (struct pm_array *)object;
    PyObject *stream = Py_None;
    rt_stream handle;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:bind", names, &stream) ||
        !pm_stream_parse(self->state, stream, &handle))
        return NULL;
    struct pm_array *bound = pm_array_view(self, &self->view);
    if (bound) {
        Py_XDECREF(bound->stream);
        bound->stream = handle ? Py_NewRef(stream) : NULL;
    }
    return (PyObject *)bound;
}

#define ARRAY_NUMBER(what) ((void *)(uintptr_t)(what))
static PyGetSetDef array_getset[] = {
    {"shape", array_get_shape, NULL, "Elements along each axis.", NULL},
    {"strides", array_get_strides, NULL, "Bytes from one element to the next, along each axis.",
     NULL},
    {"ndim", array_get_number, NULL, "Number of axes.", ARRAY_NUMBER(ARRAY_NDIM)},
    {"size", array_get_number, NULL, "Number of elements.", ARRAY_NUMBER(ARRAY_SIZE)},
    {"itemsize", array_get_number, NULL, "Bytes of an element.", ARRAY_NUMBER(ARRAY_ITEMSIZE)},
    {"nbytes", array_get_number, NULL, "Bytes of all elements.", ARRAY_NUMBER(ARRAY_NBYTES)},
    {"alloc_size", array_get_number, NULL, "The same as nbytes.", ARRAY_NUMBER(ARRAY_NBYTES)},
    {"address", array_get_number, NULL, "Address of element 0.", ARRAY_NUMBER(ARRAY_ADDRESS)},
    {"base", array_get_base, NULL, "Who owns the memory of a view; None: the array itself.", NULL},
    {"stream", array_get_stream, NULL, "What bind() was given; 0: nothing.", NULL},
    {"_writeable", array_get_writeable, NULL, NULL, NULL},
#define ARRAY_PROPERTY(name, function, doc) {name, pm_array_get_##function, NULL, doc, NULL},
#include "pymod/array_python.def"
    {"dtype", array_get_dtype, NULL, "numpy.dtype, or gpu's own without NumPy.", NULL},
    {"device", array_get_device, NULL, "\"cpu\" or \"cuda:0\".", NULL},
    {"T", array_get_transposed, NULL, "The transposed view.", NULL},
    {"__cuda_array_interface__", array_get_cuda_interface, NULL, NULL, NULL},
    {"__array_interface__", array_get_host_interface, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef array_methods[] = {
    {"copy_to_host", (PyCFunction)(void (*)(void))pm_array_copy_to_host,
     METH_VARARGS | METH_KEYWORDS,
     "copy_to_host(out=None, stream=None): a NumPy array with the values, or `out` filled."},
    {"copy_to_device", (PyCFunction)(void (*)(void))pm_array_copy_to_device,
     METH_VARARGS | METH_KEYWORDS,
     "copy_to_device(array, stream=None): the values of an array of the same shape and dtype."},
    {"fill", (PyCFunction)(void (*)(void))pm_array_fill, METH_VARARGS | METH_KEYWORDS,
     "fill(value, stream=None): stores a number in every element. Does not wait."},
    {"__dlpack__", (PyCFunction)(void (*)(void))pm_array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): a capsule with the "
     "array's tensor. Waits on the CPU device only."},
    {"__dlpack_device__", pm_array_dlpack_device, METH_NOARGS,
     "DLPack's kind of the device, and its number."},
    {"getitem", (PyCFunction)(void (*)(void))pm_array_getitem, METH_VARARGS | METH_KEYWORDS,
     "getitem(item, stream=None): a[item]; a single element is fetched in the stream's order."},
    {"setitem", (PyCFunction)(void (*)(void))pm_array_setitem, METH_VARARGS | METH_KEYWORDS,
     "setitem(key, value, stream=None): a[key] = value in the stream's order."},
    {"bind", (PyCFunction)(void (*)(void))array_bind, METH_VARARGS | METH_KEYWORDS,
     "bind(stream=None): the same array; methods that are given no stream use this one."},
#define ARRAY_METHOD(name, function, doc)                                                          \
    {name, (PyCFunction)(void (*)(void))pm_array_python_##function, METH_VARARGS | METH_KEYWORDS,  \
     doc},
#include "pymod/array_python.def"
    {NULL, NULL, 0, NULL},
};
static PyMemberDef array_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct pm_array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot array_slots[] = {
    {Py_tp_doc,
     (void *)"An array in the memory of a device; made by gpu.to_device, gpu.zeros, ..."},
    {Py_tp_repr, pm_array_repr},
    {Py_tp_str, pm_array_str},
    {Py_tp_iter, pm_array_iter},
    {Py_nb_bool, pm_array_bool},
    {Py_nb_int, pm_array_int},
    {Py_nb_index, pm_array_index},
    {Py_nb_float, pm_array_float},
    {Py_tp_getset, array_getset},
    {Py_tp_methods, array_methods},
    {Py_tp_members, array_members},
    {Py_tp_dealloc, array_dealloc},
    {Py_sq_length, array_length},
    {Py_mp_subscript, pm_array_subscript},
    {Py_mp_ass_subscript, pm_array_assign},
    {Py_bf_getbuffer, array_get_buffer},
    {0, NULL},
};
static PyType_Spec array_spec = {
    .name = "gpu.Array",
    .basicsize = sizeof(struct pm_array),
    /* Not immutable: it is given an attribute, pm_dl_add_exchange. */
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = array_slots,
};

PyType_Spec *
pm_array_spec(void)
{
    return &array_spec;
}
