/* array_copy: values between host and device, any strides on either side.
 *
 * Both directions wait, for what runs in the stream and for the copy. On the CPU device device
 * memory is host memory: wait for the kernels, then copy elements, of arrays that overlap by way of
 * a buffer. On a GPU contiguous arrays of one order go in one copy. What has other strides or
 * another dtype goes up as it is, into new memory, and is put in its place there (array_move.c);
 * down it comes with its whole span if that is not much longer, else by way of contiguous memory of
 * the device. The GIL is dropped. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

#define COPY_SPAN_TIMES 4 /* a span of so many times the elements comes down as it is */

static uint64_t
copy_size_B(const struct pm_view *view)
{
    return (uint64_t)view->size * pm_view_itemsize(view);
}

static bool
copy_in_one(const struct pm_view *a, const struct pm_view *b)
{
    return a->layout == b->layout && a->layout != IR_LAYOUT_ANY;
}

static bool
copy_raw(struct pm_state *state, struct rt_device *dev, bool in, uint64_t address, void *host,
         uint64_t size_B, rt_stream stream)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = in ? rt_device_copy_in(dev, address, host, size_B, stream, &diag)
            : rt_device_copy_out(dev, host, address, size_B, stream, &diag);
    Py_END_ALLOW_THREADS
    /* It is over; for what kernels raised. */
    return pm_waited(state, dev, ok, &diag) && pm_wait(state, dev, &stream);
}

/* The device array's whole span on the host, as a view with the same strides. */
static void *
copy_span(const struct pm_view *device, struct pm_view *host_out, uint64_t *address_out,
          uint64_t *size_B_out)
{
    int64_t first, end;
    pm_view_span(device, &first, &end);
    void *bytes = malloc((size_t)(end - first) + 1);
    if (!bytes) {
        PyErr_NoMemory();
        return NULL;
    }
    *host_out = *device;
    host_out->data = (uint64_t)(uintptr_t)bytes - (uint64_t)first;
    *address_out = device->data + (uint64_t)first;
    *size_B_out = (uint64_t)(end - first);
    return bytes;
}

static bool
copy_on_host(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
             const struct pm_view *from)
{
    struct pm_view between = *from;
    void *buffer = NULL;
    if (!pm_wait(state, dev, NULL))
        return false;
    if (pm_view_spans_overlap(to, from)) {
        if (!pm_view_contiguous(&between, false) || !(buffer = malloc(copy_size_B(from))))
            return PyErr_NoMemory() != NULL;
        between.data = (uint64_t)(uintptr_t)buffer;
    }
    Py_BEGIN_ALLOW_THREADS
    if (buffer)
        pm_view_copy(&between, from);
    pm_view_convert(to, buffer ? &between : from);
    Py_END_ALLOW_THREADS
    free(buffer);
    return true;
}

/* The elements that are there, each once: a broadcast view without its repetitions. */
static void
copy_without_repetitions(struct pm_view *view)
{
    for (uint32_t i = 0; i < view->rank; i++)
        if (view->strides[i] == 0)
            view->shape[i] = 1;
    pm_view_finish(view);
}

static bool
copy_up_contiguous(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
                   const struct pm_view *from, rt_stream stream)
{
    struct pm_view packed = *from;
    void *buffer = NULL;
    if (!copy_in_one(to, from)) {
        if (!pm_view_contiguous(&packed, to->layout == IR_LAYOUT_F) ||
            !(buffer = malloc(copy_size_B(from))))
            return PyErr_NoMemory() != NULL;
        packed.data = (uint64_t)(uintptr_t)buffer;
        pm_view_copy(&packed, from);
    }
    bool ok = copy_raw(state, dev, true, to->data, (void *)(uintptr_t)packed.data, copy_size_B(to),
                       stream);
    free(buffer);
    return ok;
}

bool
pm_upload(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
          const struct pm_view *from, rt_stream stream)
{
    if (to->size == 0)
        return true;
    if (!pm_graph_allows_host(state, dev, stream))
        return false;
    if (rt_device_info(dev)->kind == RT_CPU)
        return copy_on_host(state, dev, to, from);
    struct pm_view once = *from, spread;
    copy_without_repetitions(&once);
    if (to->dtype == from->dtype && to->layout != IR_LAYOUT_ANY && once.size == from->size)
        return copy_up_contiguous(state, dev, to, from, stream);
    struct pm_array *there = pm_array_alloc_on(state, dev, &once, false, stream);
    bool ok = there && copy_up_contiguous(state, dev, &there->view, &once, stream) &&
              pm_view_broadcast(&there->view, to, &spread) &&
              pm_transfer(state, dev, to, &spread, stream);
    Py_XDECREF((PyObject *)there);
    return ok;
}

static bool
copy_down_span(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
               const struct pm_view *from, rt_stream stream)
{
    struct pm_view host;
    uint64_t address, size_B;
    void *bytes = copy_span(from, &host, &address, &size_B);
    if (!bytes)
        return false;
    bool ok = copy_raw(state, dev, false, address, bytes, size_B, stream);
    if (ok)
        pm_view_copy(to, &host);
    free(bytes);
    return ok;
}

bool
pm_download(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
            const struct pm_view *from, rt_stream stream)
{
    int64_t first, end;
    if (!pm_graph_allows_host(state, dev, stream))
        return false;
    if (to->size == 0)
        return pm_wait(state, dev, NULL);
    if (rt_device_info(dev)->kind == RT_CPU)
        return copy_on_host(state, dev, to, from);
    if (copy_in_one(to, from))
        return copy_raw(state, dev, false, from->data, (void *)(uintptr_t)to->data, copy_size_B(to),
                        stream);
    pm_view_span(from, &first, &end);
    if ((uint64_t)(end - first) / COPY_SPAN_TIMES <= copy_size_B(from))
        return copy_down_span(state, dev, to, from, stream);
    struct pm_array *packed =
        pm_array_alloc_on(state, dev, from, to->layout == IR_LAYOUT_F, stream);
    bool ok = packed && pm_transfer(state, dev, &packed->view, from, stream) &&
              pm_download(state, dev, to, &packed->view, stream);
    Py_XDECREF((PyObject *)packed);
    return ok;
}

/* An uninitialised host array like this one: NumPy's, or without NumPy a memoryview. Without
 * ml_dtypes bfloat16 arrives as its bits, uint16. */
static PyObject *
copy_new_host(struct pm_array *self)
{
    const struct pm_view *view = &self->view;
    PyObject *shape = PyObject_GetAttrString((PyObject *)self, "shape");
    PyObject *numpy = shape ? PyImport_ImportModule("numpy") : NULL;
    PyObject *host = NULL;
    if (numpy) {
        PyObject *dtype = pm_view_dtype_object(self->state, view);
        bool bits = dtype && Py_IS_TYPE(dtype, self->state->dtype_type);
        if (bits)
            host = PyObject_CallMethod(numpy, "empty", "Oss", shape, "<u2",
                                       view->layout == IR_LAYOUT_F ? "F" : "C");
        else if (dtype)
            host = PyObject_CallMethod(numpy, "empty", "OOs", shape, dtype,
                                       view->layout == IR_LAYOUT_F ? "F" : "C");
        Py_XDECREF(dtype);
    } else if (shape && PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear();
        PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)copy_size_B(view));
        PyObject *flat = bytes ? PyMemoryView_FromObject(bytes) : NULL;
        if (flat && !view->size) /* which a memoryview of several axes cannot be */
            host = Py_NewRef(flat);
        else if (flat)
            host =
                PyObject_CallMethod(flat, "cast", "sO", ir_scalar_row(view->dtype)->format, shape);
        Py_XDECREF(flat);
        Py_XDECREF(bytes);
    }
    Py_XDECREF(numpy);
    Py_XDECREF(shape);
    return host;
}

static bool
copy_check(struct pm_state *state, const char *what, const struct pm_view *array,
           struct pm_view *other)
{
    char message[400], shape[128], other_shape[128];
    pm_view_print_shape(array, shape);
    pm_view_print_shape(other, other_shape);
    if (array->dtype == IR_T_BFLOAT16 && other->dtype == IR_T_UINT16)
        other->dtype = IR_T_BFLOAT16; /* its bits */
    if (array->dtype == other->dtype && pm_view_same_shape(array, other))
        return true;
    PyOS_snprintf(message, sizeof message, "%s: the gpu array is %s %s, the other one %s %s", what,
                  pm_view_type_name(array), shape, pm_view_type_name(other), other_shape);
    return pm_fail(state, BAD_ARRAY, message);
}

PyObject *
pm_array_copy_to_host(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"out", "stream", "ary", NULL};
    struct pm_array *self = (struct pm_array *)object;
    PyObject *out = Py_None, *stream_object = Py_None;
    rt_stream stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$O:copy_to_host", names, &out,
                                     &stream_object, &out) ||
        !pm_array_stream(self, stream_object, &stream))
        return NULL;
    PyObject *host = out == Py_None ? copy_new_host(self) : Py_NewRef(out);
    if (!host)
        return NULL;
    if (out == Py_None && !self->view.size) {
        if (pm_wait(self->state, self->dev, &stream))
            return host;
        Py_DECREF(host);
        return NULL;
    }
    struct pm_foreign foreign;
    int found = pm_foreign_get(self->state, host, "copy_to_host", &foreign);
    bool ok = false;
    if (found == 0 || (found == 1 && !foreign.on_host))
        pm_fail(self->state, BAD_ARRAY, "copy_to_host: `out` must be an array in host memory");
    else if (found == 1 && foreign.view.read_only)
        pm_fail(self->state, BAD_ARRAY, "copy_to_host: `out` is read-only");
    else if (found == 1)
        ok = copy_check(self->state, "copy_to_host", &self->view, &foreign.view) &&
             pm_download(self->state, self->dev, &foreign.view, &self->view, stream);
    pm_foreign_release(&foreign);
    if (ok)
        return host;
    Py_DECREF(host);
    return NULL;
}

bool
pm_foreign_is_near(struct pm_state *state, const struct pm_foreign *foreign,
                   const struct rt_device *dev, const char *what)
{
    const struct rt_info *info = rt_device_info(dev);
    if (foreign->on_host || (info->kind == RT_CUDA && info->ordinal == foreign->ordinal))
        return true;
    char message[200], here[24];
    pm_device_print(dev, here);
    PyOS_snprintf(message, sizeof message,
                  "%.60s is in the memory of cuda:%d, this one is on %s; copy it to the host first",
                  what, foreign->ordinal, here);
    return pm_fail(state, BAD_ARRAY, message);
}

bool
pm_foreign_order(struct pm_state *state, const struct pm_foreign *foreign, struct rt_device *dev,
                 rt_stream stream)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    return !foreign->has_stream || foreign->on_host || foreign->stream == stream ||
           rt_stream_order(dev, foreign->stream, stream, &diag) || pm_raise(state, &diag);
}

/* Of any dtype and shape that can be spread to the array's, unless `strict`. */
static bool
copy_from(struct pm_array *to, struct pm_view *from, bool on_host, rt_stream stream, bool strict)
{
    struct pm_state *state = to->state;
    struct pm_view spread = *from;
    if (strict && !copy_check(state, "copy_to_device", &to->view, &spread))
        return false;
    if (!strict && !pm_view_broadcast(from, &to->view, &spread)) {
        char message[400], shape[128], other_shape[128];
        pm_view_print_shape(&to->view, shape);
        pm_view_print_shape(from, other_shape);
        PyOS_snprintf(message, sizeof message,
                      "could not broadcast input array from shape %s into shape %s", other_shape,
                      shape);
        return pm_fail(state, BAD_VALUE, message);
    }
    if (spread.dtype != to->view.dtype && (spread.elem || to->view.elem)) {
        char message[400];
        PyOS_snprintf(message, sizeof message,
                      "elements of %.150s cannot be stored in a gpu array of %.150s",
                      pm_view_type_name(&spread), pm_view_type_name(&to->view));
        return pm_fail(state, BAD_ARRAY, message);
    }
    return on_host ? pm_upload(state, to->dev, &to->view, &spread, stream)
                   : pm_transfer(state, to->dev, &to->view, &spread, stream);
}

/* NumPy's array of a list; NULL without an exception if it is none, or there is no NumPy. */
static PyObject *
copy_of_sequence(const struct pm_array *to, PyObject *value)
{
    bool is_list = PyList_Check(value) || PyTuple_Check(value);
    if (!is_list && !(to->view.elem &&
                      (PyLong_Check(value) || PyFloat_Check(value) || PyBytes_Check(value) ||
                       PyUnicode_Check(value) || PyObject_TypeCheck(value, to->state->generic))))
        return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy && PyErr_ExceptionMatches(PyExc_ImportError))
        PyErr_Clear();
    PyObject *array = NULL;
    if (numpy && to->view.elem)
        array = PyObject_CallMethod(numpy, "asarray", "OO", value, to->view.elem->dtype);
    else if (numpy)
        array = PyObject_CallMethod(numpy, "asarray", "(O)", value);
    Py_XDECREF(numpy);
    return array;
}

static bool
copy_from_foreign(struct pm_array *to, PyObject *value, rt_stream stream, bool strict)
{
    struct pm_state *state = to->state;
    struct pm_foreign foreign;
    int found = pm_foreign_get(state, value, strict ? "copy_to_device" : "assignment", &foreign);
    bool ok = false;
    if (found == 0 && strict)
        pm_fail(state, BAD_ARRAY, "copy_to_device takes an array");
    else if (found == 0)
        pm_fail(state, BAD_ARRAY,
                "what is assigned to a gpu array is a number, an array or a list of numbers");
    else if (found == 1 && pm_foreign_is_near(state, &foreign, to->dev, "the array") &&
             pm_foreign_order(state, &foreign, to->dev, stream))
        ok = copy_from(to, &foreign.view, foreign.on_host, stream, strict);
    pm_foreign_release(&foreign);
    return ok;
}

/* From another GPU without the host: what is not contiguous there is packed there, what does not
 * lie the same way here is put in its place here. */
static bool
copy_from_peer(struct pm_array *to, struct pm_array *from, rt_stream stream, bool strict)
{
    if (pm_peer_copies(to, from))
        return pm_peer_copy(to, from, stream);
    struct pm_state *state = to->state;
    bool fortran = from->view.layout == IR_LAYOUT_F;
    PyObject *packed = from->view.layout == IR_LAYOUT_ANY
                           ? PyObject_CallMethod((PyObject *)from, "copy", NULL)
                           : Py_NewRef((PyObject *)from);
    struct pm_array *here =
        packed ? pm_array_alloc_on(state, to->dev, &from->view, fortran, stream) : NULL;
    bool ok = here &&
              (from->view.size == 0 || pm_peer_copy(here, (struct pm_array *)packed, stream)) &&
              copy_from(to, &here->view, false, stream, strict);
    Py_XDECREF(packed);
    Py_XDECREF((PyObject *)here);
    return ok;
}

static bool
copy_from_any(struct pm_array *to, PyObject *value, rt_stream stream, bool strict)
{
    struct pm_array *array = (struct pm_array *)value;
    bool ours = Py_IS_TYPE(value, to->state->array_type);
    if (!pm_graph_keep(to->state, to->dev, stream, (PyObject *)to) ||
        !pm_graph_keep(to->state, to->dev, stream, value))
        return false;
    if (ours && array->dev == to->dev)
        return pm_array_use(array, array->dev, stream, NULL) &&
               copy_from(to, &array->view, false, stream, strict);
    if (ours && rt_device_info(to->dev)->kind == RT_CUDA &&
        rt_device_info(array->dev)->kind == RT_CUDA)
        return copy_from_peer(to, array, stream, strict);
    PyObject *host = ours     ? PyObject_CallMethod(value, "copy_to_host", NULL)
                     : strict ? NULL
                              : copy_of_sequence(to, value);
    if (!host && (ours || PyErr_Occurred()))
        return false;
    bool ok = copy_from_foreign(to, host ? host : value, stream, strict);
    Py_XDECREF(host);
    return ok;
}

bool
pm_array_store(struct pm_array *to, PyObject *value, rt_stream stream)
{
    return copy_from_any(to, value, stream, false);
}

PyObject *
pm_array_copy_to_device(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", "stream", "ary", NULL};
    struct pm_array *self = (struct pm_array *)object;
    PyObject *from = NULL, *stream_object = Py_None;
    rt_stream stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$O:copy_to_device", names, &from,
                                     &stream_object, &from) ||
        !pm_array_stream(self, stream_object, &stream))
        return NULL;
    if (!from)
        return pm_fail(self->state, BAD_ARRAY, "copy_to_device takes an array");
    if (self->view.read_only)
        return pm_fail(self->state, BAD_ARRAY, "copy_to_device: this array is read-only");
    if (!pm_array_use(self, self->dev, stream, NULL) || !copy_from_any(self, from, stream, true))
        return NULL;
    Py_RETURN_NONE;
}
