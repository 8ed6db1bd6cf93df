/* foreign: arrays that are not ours, described by whatever protocol they have.
 *
 * In order: the buffer protocol for NumPy's arrays, DLPack's C interface (exchange.c),
 * `__cuda_array_interface__` (versions 2 and 3), the buffer protocol of others,
 * `__array_interface__`, `__dlpack__`. Out: a view with the address, what keeps the memory
 * alive, and for device memory the stream whose work must be over before it is used. Nothing is
 * copied. Dtypes that our arrays cannot have, unaligned and byte-swapped memory are errors here,
 * with the array's own name for its dtype. */
#include "pymod/pm.h"

#include <string.h>

static int
foreign_fail(struct pm_state *state, const char *what, const char *reason)
{
    char message[400];
    PyOS_snprintf(message, sizeof message, "%.120s: %.260s", what, reason);
    pm_fail(state, BAD_ARRAY, message);
    return -1;
}

int
pm_foreign_fail_dtype(struct pm_state *state, PyObject *object, const char *what, const char *given)
{
    PyErr_Clear();
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *text = dtype ? PyObject_Str(dtype) : NULL;
    Py_ssize_t len;
    const char *name = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    char reason[260];
    PyOS_snprintf(
        reason, sizeof reason,
        "elements of type '%.60s' are not supported; there are bool, int8 to int64, uint8 to "
        "uint64, float16, bfloat16, float32 and float64 in the machine's byte order (write "
        "x.astype(...), in torch x.to(...))",
        name ? name : given);
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(dtype);
    return foreign_fail(state, what, reason);
}

/* Whether the size, and the way from the first element to any other, fit 63 bits with room to
 * spare: interfaces of other libraries say what they like. */
static bool
foreign_fits(const struct pm_view *view, int64_t size_B)
{
    int64_t span_B = 0;
    for (uint32_t i = 0; i < view->rank; i++) {
        int64_t extent = view->shape[i], reach, stride = view->strides[i];
        if (__builtin_mul_overflow(size_B, extent ? extent : 1, &size_B) || stride == INT64_MIN)
            return false;
        if (extent > 1 &&
            (__builtin_mul_overflow(extent - 1, stride < 0 ? -stride : stride, &reach) ||
             __builtin_add_overflow(span_B, reach, &span_B)))
            return false;
    }
    return size_B <= INT64_MAX / 4 && span_B <= INT64_MAX / 4;
}

int
pm_foreign_finish(struct pm_state *state, const char *what, struct pm_foreign *foreign)
{
    struct pm_view *view = &foreign->view;
    uint64_t bits = view->data, size_B = pm_view_itemsize(view);
    uint64_t align_B = view->elem ? 1 : size_B;
    for (uint32_t i = 0; i < view->rank; i++) {
        if (view->shape[i] < 0)
            return foreign_fail(state, what, "an array with a negative extent");
        if (view->shape[i] > 1)
            bits |= (uint64_t)view->strides[i];
    }
    if (!foreign_fits(view, (int64_t)size_B))
        return foreign_fail(state, what, "its shape or strides are too large");
    pm_view_finish(view);
    if (view->size && !view->data)
        return foreign_fail(state, what,
                            "it has no memory, as tensors of the device 'meta' and of a trace");
    if (view->size && (bits & (align_B - 1)))
        return foreign_fail(state, what,
                            "its elements are not aligned to their size; write x.copy()");
    return 1;
}

bool
pm_foreign_read_numbers(PyObject *tuple, int64_t *out, uint8_t *n_out)
{
    Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 0 || n > IR_MAX_RANK)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (out[i] == -1 && PyErr_Occurred())
            return false;
    }
    *n_out = (uint8_t)n;
    return true;
}

static bool
foreign_read_handle(PyObject *object, uint64_t *out)
{
    if (!PyLong_Check(object))
        return false;
    *out = PyLong_AsUnsignedLongLong(object);
    return *out != UINT64_MAX || !PyErr_Occurred();
}

/* Of the dict of `__array_interface__` or `__cuda_array_interface__`; NULL where there is none. Own
 * references: reading a number may run code that changes the dict. */
enum { PART_SHAPE, PART_TYPESTR, PART_DATA, PART_STRIDES, PART_MASK, PART_STREAM, N_PARTS };

static int
foreign_by_parts(struct pm_state *state, PyObject *object, PyObject *const *parts, const char *what,
                 struct pm_foreign *foreign)
{
    struct pm_view *view = &foreign->view;
    PyObject *shape = parts[PART_SHAPE], *typestr = parts[PART_TYPESTR], *data = parts[PART_DATA];
    PyObject *strides = parts[PART_STRIDES], *mask = parts[PART_MASK];
    PyObject *stream = parts[PART_STREAM];
    Py_ssize_t len;
    if (!shape || !typestr || !data || !PyUnicode_Check(typestr) || !PyTuple_Check(data) ||
        PyTuple_Size(data) != 2)
        return foreign_fail(state, what, "its array interface lacks shape, typestr or data");
    if (mask && mask != Py_None)
        return foreign_fail(state, what, "masked arrays are not supported");
    const char *type = PyUnicode_AsUTF8AndSize(typestr, &len);
    view->dtype = (uint16_t)(type ? ir_scalar_by_typestr(type) : IR_T_NONE);
    if (type && *type && type[1] == 'V' && view->dtype == IR_T_NONE &&
        pm_elem_of_array(state, object, view) == -1)
        return -1;
    if (view->dtype == IR_T_NONE)
        return pm_foreign_fail_dtype(state, object, what, type ? type : "?");
    if (!pm_foreign_read_numbers(shape, view->shape, &view->rank))
        return foreign_fail(state, what, "its array interface has a bad shape");
    if (!foreign_read_handle(PyTuple_GetItem(data, 0), &view->data))
        return foreign_fail(state, what, "its array interface has a bad address");
    view->read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1;
    if (strides && strides != Py_None) {
        uint8_t n;
        if (!pm_foreign_read_numbers(strides, view->strides, &n) || n != view->rank)
            return foreign_fail(state, what, "its array interface has bad strides");
    } else if (!pm_view_contiguous(view, false)) {
        return foreign_fail(state, what, "its array interface has a bad shape");
    }
    if (stream && stream != Py_None) {
        uint64_t handle;
        if (!foreign_read_handle(stream, &handle))
            return foreign_fail(state, what, "its array interface has a bad stream");
        foreign->stream = (rt_stream)handle;
        foreign->has_stream = true;
    }
    if (PyErr_Occurred())
        return -1;
    foreign->owner = Py_NewRef(object);
    return pm_foreign_finish(state, what, foreign);
}

static int
foreign_by_interface(struct pm_state *state, PyObject *object, PyObject *dict, const char *what,
                     struct pm_foreign *foreign)
{
    PyObject *const names[N_PARTS] = {state->s_shape,   state->s_typestr, state->s_data,
                                      state->s_strides, state->s_mask,    state->s_stream};
    PyObject *parts[N_PARTS] = {0};
    for (int i = 0; PyDict_Check(dict) && i < N_PARTS; i++)
        parts[i] = Py_XNewRef(PyDict_GetItemWithError(dict, names[i]));
    int found = foreign_by_parts(state, object, parts, what, foreign);
    for (int i = 0; i < N_PARTS; i++)
        Py_XDECREF(parts[i]);
    return found;
}

/* Arrays that give no buffer of their elements, as NumPy's of another package's dtype and JAX's of
 * bfloat16, tell of them otherwise. */
static int
foreign_by_text(struct pm_state *state, PyObject *object, const char *what,
                const struct pm_current *current, struct pm_foreign *foreign)
{
    PyErr_Clear();
    pm_foreign_release(foreign);
    PyObject *dict = PyObject_GetAttr(object, state->s_array_interface);
    if (!dict) {
        PyErr_Clear();
        int found = pm_foreign_dlpack(state, object, what, current, foreign);
        return found ? found : pm_foreign_fail_dtype(state, object, what, "?");
    }
    foreign->on_host = true;
    int found = foreign_by_interface(state, object, dict, what, foreign);
    Py_DECREF(dict);
    return found;
}

static int
foreign_by_buffer(struct pm_state *state, PyObject *object, const char *what,
                  const struct pm_current *current, struct pm_foreign *foreign)
{
    Py_buffer *buffer = &foreign->buffer;
    if (PyObject_GetBuffer(object, buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0)
        return foreign_by_text(state, object, what, current, foreign);
    foreign->has_buffer = true;
    foreign->on_host = true;
    foreign->view.dtype = (uint16_t)pm_dtype_by_format(buffer->format, buffer->itemsize);
    if (foreign->view.dtype == IR_T_NONE && buffer->format && *buffer->format == 'T' &&
        pm_elem_of_array(state, object, &foreign->view) == -1)
        return -1;
    if (foreign->view.dtype == IR_T_NONE)
        return foreign_by_text(state, object, what, current, foreign);
    if (buffer->ndim > IR_MAX_RANK)
        return foreign_fail(state, what, "arrays have at most 8 dimensions");
    foreign->view.data = (uint64_t)(uintptr_t)buffer->buf;
    foreign->view.read_only = buffer->readonly;
    foreign->view.rank = (uint8_t)buffer->ndim;
    for (int i = 0; i < buffer->ndim; i++) {
        foreign->view.shape[i] = buffer->shape[i];
        foreign->view.strides[i] = buffer->strides ? buffer->strides[i] : 0;
    }
    if (!buffer->strides && !pm_view_contiguous(&foreign->view, false))
        return foreign_fail(state, what, "its shape is too large");
    return pm_foreign_finish(state, what, foreign);
}

/* Who owns the memory that an interface's address points to. */
static int
foreign_find_owner(struct pm_state *state, struct pm_foreign *foreign)
{
    struct rt_device *dev = pm_device(state);
    struct rt_memory memory;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!dev)
        return -1;
    foreign->ordinal = 0;
    if (rt_device_info(dev)->kind != RT_CUDA || foreign->view.size == 0)
        return 1;
    foreign->ordinal = rt_device_info(dev)->ordinal;
    if (rt_runtime_driver(state->rt)->n_devices == 1)
        return 1;
    if (!rt_device_query(dev, foreign->view.data, &memory, &diag)) {
        pm_raise(state, &diag);
        return -1;
    }
    if (memory.kind == RT_MEMORY_DEVICE)
        foreign->ordinal = memory.ordinal;
    return 1;
}

void
pm_foreign_init(struct pm_foreign *foreign)
{
    foreign->view.data = 0;
    foreign->view.elem = NULL;
    foreign->view.read_only = false;
    foreign->staged.data = 0;
    foreign->lent = NULL;
    foreign->on_host = foreign->has_stream = foreign->has_buffer = foreign->shares_staged = false;
    foreign->is_plain = false;
    foreign->transfer = PM_TRANSFER_PLAIN;
    foreign->ordinal = 0;
    foreign->stream = 0;
    foreign->owner = NULL;
}

int
pm_foreign_get(struct pm_state *state, PyObject *object, const char *what,
               struct pm_foreign *foreign)
{
    struct pm_current current = {0};
    return pm_foreign_get_for(state, object, what, &current, foreign);
}

int
pm_foreign_get_for(struct pm_state *state, PyObject *object, const char *what,
                   struct pm_current *current, struct pm_foreign *foreign)
{
    pm_foreign_init(foreign);
    pm_numpy_look(state);
    if (state->ndarray && Py_IS_TYPE(object, state->ndarray))
        return foreign_by_buffer(state, object, what, current, foreign);
    int exchanged = pm_foreign_exchange(state, object, what, current, foreign);
    if (exchanged)
        return exchanged;
    PyObject *dict = PyObject_GetAttr(object, state->s_cuda_array_interface);
    if (dict) {
        int found = foreign_by_interface(state, object, dict, what, foreign);
        Py_DECREF(dict);
        if (found != 1)
            return found;
        pm_exchange_remember(state, Py_TYPE(object));
        return foreign_find_owner(state, foreign);
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    if (PyObject_CheckBuffer(object))
        return foreign_by_buffer(state, object, what, current, foreign);
    dict = PyObject_GetAttr(object, state->s_array_interface);
    if (dict) {
        foreign->on_host = true;
        int found = foreign_by_interface(state, object, dict, what, foreign);
        Py_DECREF(dict);
        return found;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return pm_foreign_dlpack(state, object, what, current, foreign);
}

void
pm_foreign_lend(struct pm_state *state, struct rt_device *dev, struct pm_foreign *foreign)
{
    struct pm_view *view = &foreign->view;
    int64_t first, end;
    if (rt_device_info(dev)->kind != RT_CUDA || !view->size)
        return;
    pm_view_span(view, &first, &end);
    foreign->lent = pm_memory_find(state, view->data + (uint64_t)first, (uint64_t)(end - first));
    if (!foreign->lent)
        return;
    foreign->on_host = false;
    view->data = view->data - foreign->lent->address + foreign->lent->device_address;
}

void
pm_foreign_release(struct pm_foreign *foreign)
{
    if (foreign->has_buffer)
        PyBuffer_Release(&foreign->buffer);
    foreign->has_buffer = false;
    Py_CLEAR(foreign->owner);
}
