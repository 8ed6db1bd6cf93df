/* array_copy: values between host and device, any strides on either side.
 *
 * On the CPU device device memory is host memory: wait for the kernels, then copy elements, of
 * arrays that overlap by way of a buffer, so that a[:] = a[::-1] is what it says. On a GPU
 * contiguous arrays of one order go in one copy; everything else goes through a contiguous buffer
 * on the host (a strided array on the device is read and written as its whole span). The GIL is
 * dropped. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
copy_size_B(const struct pm_view *view)
{
    return (uint64_t)view->size * pm_dtype_size_B(view->dtype);
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
    pm_view_copy(to, buffer ? &between : from);
    Py_END_ALLOW_THREADS
    free(buffer);
    return true;
}

bool
pm_upload(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
          const struct pm_view *from, rt_stream stream)
{
    if (to->size == 0)
        return true;
    if (rt_device_info(dev)->kind == RT_CPU)
        return copy_on_host(state, dev, to, from);
    if (copy_in_one(to, from))
        return copy_raw(state, dev, true, to->data, (void *)(uintptr_t)from->data, copy_size_B(to),
                        stream);
    struct pm_view host;
    uint64_t address, size_B;
    void *bytes = copy_span(to, &host, &address, &size_B);
    if (!bytes)
        return false;
    /* Holes between strided elements keep what they are. */
    bool ok =
        to->layout != IR_LAYOUT_ANY || copy_raw(state, dev, false, address, bytes, size_B, stream);
    if (ok) {
        pm_view_copy(&host, from);
        ok = copy_raw(state, dev, true, address, bytes, size_B, stream);
    }
    free(bytes);
    return ok;
}

bool
pm_download(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
            const struct pm_view *from, rt_stream stream)
{
    if (to->size == 0)
        return pm_wait(state, dev, NULL);
    if (rt_device_info(dev)->kind == RT_CPU)
        return copy_on_host(state, dev, to, from);
    bool ok;
    if (copy_in_one(to, from)) {
        ok = copy_raw(state, dev, false, from->data, (void *)(uintptr_t)to->data, copy_size_B(to),
                      stream);
    } else {
        struct pm_view host;
        uint64_t address, size_B;
        void *bytes = copy_span(from, &host, &address, &size_B);
        if (!bytes)
            return false;
        ok = copy_raw(state, dev, false, address, bytes, size_B, stream);
        if (ok)
            pm_view_copy(to, &host);
        free(bytes);
    }
    return ok;
}

bool
pm_transfer(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
            const struct pm_view *from, rt_stream stream)
{
    if (to->size == 0)
        return true;
    if (rt_device_info(dev)->kind == RT_CPU)
        return copy_on_host(state, dev, to, from);
    if (copy_in_one(to, from) && !pm_view_spans_overlap(to, from)) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        bool ok;
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_copy(dev, to->data, from->data, copy_size_B(to), stream, &diag);
        Py_END_ALLOW_THREADS
        if (!ok)
            pm_raise(state, &diag);
        return ok;
    }
    struct pm_view host;
    uint64_t address, size_B;
    void *bytes = copy_span(from, &host, &address, &size_B);
    if (!bytes)
        return false;
    bool ok = copy_raw(state, dev, false, address, bytes, size_B, stream) &&
              pm_upload(state, dev, to, &host, stream);
    free(bytes);
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
        PyObject *dtype = pm_dtype_object(self->state, view->dtype);
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
        if (flat)
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
           const struct pm_view *other)
{
    char message[400], shape[128], other_shape[128];
    pm_view_print_shape(array, shape);
    pm_view_print_shape(other, other_shape);
    bool bits = array->dtype == IR_T_BFLOAT16 && other->dtype == IR_T_UINT16;
    if ((array->dtype == other->dtype || bits) && pm_view_same_shape(array, other))
        return true;
    PyOS_snprintf(message, sizeof message, "%s: the gpu array is %s %s, the other one %s %s", what,
                  ir_scalar_row(array->dtype)->name, shape, ir_scalar_row(other->dtype)->name,
                  other_shape);
    return pm_fail(state, BAD_ARRAY, message);
}

PyObject *
pm_array_copy_to_host(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"out", "stream", NULL};
    struct pm_array *self = (struct pm_array *)object;
    PyObject *out = Py_None, *stream_object = Py_None;
    rt_stream stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:copy_to_host", names, &out,
                                     &stream_object) ||
        !pm_stream_parse(self->state, stream_object, &stream))
        return NULL;
    PyObject *host = out == Py_None ? copy_new_host(self) : Py_NewRef(out);
    if (!host)
        return NULL;
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

PyObject *
pm_array_copy_to_device(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", "stream", NULL};
    struct pm_array *self = (struct pm_array *)object;
    struct pm_state *state = self->state;
    PyObject *from, *stream_object = Py_None;
    rt_stream stream;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:copy_to_device", names, &from,
                                     &stream_object) ||
        !pm_stream_parse(state, stream_object, &stream))
        return NULL;
    if (self->view.read_only)
        return pm_fail(state, BAD_ARRAY, "copy_to_device: this array is read-only");
    bool ok = false;
    if (Py_IS_TYPE(from, state->array_type) && ((struct pm_array *)from)->dev == self->dev) {
        const struct pm_view *view = &((struct pm_array *)from)->view;
        ok = copy_check(state, "copy_to_device", &self->view, view) &&
             pm_transfer(state, self->dev, &self->view, view, stream);
    } else {
        struct pm_foreign foreign;
        int found = pm_foreign_get(state, from, "copy_to_device", &foreign);
        if (found == 0)
            pm_fail(state, BAD_ARRAY, "copy_to_device takes an array");
        else if (found == 1)
            ok = copy_check(state, "copy_to_device", &self->view, &foreign.view) &&
                 (foreign.on_host
                      ? pm_upload(state, self->dev, &self->view, &foreign.view, stream)
                      : pm_transfer(state, self->dev, &self->view, &foreign.view, stream));
        pm_foreign_release(&foreign);
    }
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}
