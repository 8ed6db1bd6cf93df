/* dlpack: arrays of objects with `__dlpack__` (torch, JAX, TensorFlow, ...), borrowed for a launch.
 *
 * The capsule is only looked into, never consumed: its own destructor frees the tensor when the
 * launch lets it go. Device tensors are asked for on the stream of the launch, so the producer
 * orders its work before that. The structures are DLPack's binary interface: the capsule of version
 * 1, which says whether the memory may be written, and the older one of producers that do not take
 * `max_version`. */
#include "pymod/pm.h"

/* As the binary interface of version 1 lays it out. */
struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    struct pm_dl_tensor tensor;
};
enum { DL_READ_ONLY = 1 };

void
pm_dlpack_init(struct pm_state *state)
{
    for (ir_type scalar = IR_FIRST_SCALAR; scalar <= IR_LAST_SCALAR; scalar++) {
        const struct ir_scalar_row *row = ir_scalar_row(scalar);
        if (!row->weak && row->dlpack < PM_N_DL_CODES && row->bits >= 8 && row->bits <= 64)
            state->dl_types[row->dlpack][row->bits / 8u] = (uint8_t)scalar;
    }
}

static int
dlpack_device(struct pm_state *state, PyObject *object)
{
    PyObject *pair = PyObject_CallMethodObjArgs(object, state->s_dlpack_device, NULL);
    PyObject *number = pair && PyTuple_Check(pair) ? PyTuple_GetItem(pair, 0) : NULL;
    PyObject *whole = number ? PyNumber_Index(number) : NULL;
    long kind = whole ? PyLong_AsLong(whole) : -1;
    Py_XDECREF(whole);
    Py_XDECREF(pair);
    return (int)kind;
}

/* `stream`: NULL for memory of the host. */
static PyObject *
dlpack_call(struct pm_state *state, PyObject *method, PyObject *stream, bool versioned)
{
    PyObject *empty = PyTuple_New(0), *kwargs = PyDict_New(), *capsule = NULL;
    PyObject *version = versioned ? Py_BuildValue("(ii)", 1, 2) : NULL;
    bool ok = empty && kwargs && (version || !versioned) &&
              (!version || PyDict_SetItem(kwargs, state->s_max_version, version) == 0) &&
              (!stream || PyDict_SetItem(kwargs, state->s_stream, stream) == 0);
    if (ok)
        capsule = PyObject_Call(method, empty, kwargs);
    Py_XDECREF(version);
    Py_XDECREF(kwargs);
    Py_XDECREF(empty);
    return capsule;
}

static PyObject *
dlpack_capsule(struct pm_state *state, PyObject *object, bool on_device, rt_stream consumer)
{
    PyObject *method = PyObject_GetAttr(object, state->s_dlpack), *stream = NULL;
    if (on_device) /* 1 is the default stream there */
        stream = PyLong_FromUnsignedLongLong(consumer ? consumer : RT_STREAM_LEGACY);
    PyObject *capsule = NULL;
    if (method && (stream || !on_device)) {
        capsule = dlpack_call(state, method, stream, true);
        if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            capsule = dlpack_call(state, method, stream, false);
        }
    }
    Py_XDECREF(stream);
    Py_XDECREF(method);
    return capsule;
}

/* The tensor in the capsule; NULL if it is none. */
static const struct pm_dl_tensor *
dlpack_open(PyObject *capsule, bool *read_only_out)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return PyCapsule_GetPointer(capsule, "dltensor");
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return NULL;
    const struct dl_versioned *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (versioned->major != 1)
        return NULL;
    *read_only_out = versioned->flags & DL_READ_ONLY;
    return &versioned->tensor;
}

/* Bytes of DLPack's elements; false if they do not fit. */
static bool
dlpack_strides(const struct pm_dl_tensor *tensor, struct pm_view *view)
{
    if (!tensor->strides)
        return pm_view_contiguous(view, false);
    int64_t size_B = pm_view_itemsize(view);
    for (int i = 0; i < tensor->n_dims; i++)
        if (__builtin_mul_overflow(tensor->strides[i], size_B, &view->strides[i]))
            return false;
    return true;
}

int
pm_foreign_read_dlpack(struct pm_state *state, PyObject *object, const struct pm_dl_tensor *tensor,
                       const char *what, struct pm_foreign *foreign)
{
    struct pm_view *view = &foreign->view;
    char message[300];
    view->dtype = (uint16_t)pm_dlpack_dtype(state, tensor);
    if (view->dtype == IR_T_NONE) {
        PyOS_snprintf(message, sizeof message, "%d bits of DLPack's code %d", (int)tensor->bits,
                      (int)tensor->code);
        return pm_foreign_fail_dtype(state, object, what, message);
    }
    if (tensor->n_dims < 0 || tensor->n_dims > IR_MAX_RANK) {
        PyOS_snprintf(message, sizeof message,
                      "%.120s: a tensor of %d dimensions, arrays have at most %d; reshape it", what,
                      (int)tensor->n_dims, IR_MAX_RANK);
        pm_fail(state, BAD_ARRAY, message);
        return -1;
    }
    view->data = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    view->rank = (uint8_t)tensor->n_dims;
    for (int i = 0; i < tensor->n_dims; i++)
        view->shape[i] = tensor->shape[i];
    if (!dlpack_strides(tensor, view)) {
        PyOS_snprintf(message, sizeof message, "%.120s: its shape or strides are too large", what);
        pm_fail(state, BAD_ARRAY, message);
        return -1;
    }
    foreign->ordinal = tensor->device_id;
    return pm_foreign_finish(state, what, foreign);
}

int
pm_foreign_set_kind(struct pm_state *state, const char *what, int kind, struct pm_foreign *foreign)
{
    char message[200];
    bool on_device = kind == PM_DL_CUDA || kind == PM_DL_CUDA_MANAGED;
    foreign->on_host = !on_device;
    if (on_device || kind == PM_DL_CPU || kind == PM_DL_CUDA_HOST)
        return 1;
    PyOS_snprintf(message, sizeof message, "%.120s: its memory is on a device of DLPack's kind %d",
                  what, kind);
    pm_fail(state, BAD_ARRAY, message);
    return -1;
}

int
pm_foreign_dlpack(struct pm_state *state, PyObject *object, const char *what,
                  const struct pm_current *current, struct pm_foreign *foreign)
{
    PyObject *method = PyObject_GetAttr(object, state->s_dlpack_device);
    if (!method) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(method);
    if (PyType_Check(object))
        return 0;
    int kind = dlpack_device(state, object);
    if (kind == -1 && PyErr_Occurred())
        return -1;
    if (pm_foreign_set_kind(state, what, kind, foreign) != 1)
        return -1;
    foreign->has_stream = !foreign->on_host;
    foreign->stream = current->consumer;
    PyObject *capsule = dlpack_capsule(state, object, foreign->has_stream, current->consumer);
    if (!capsule)
        return -1;
    foreign->owner = capsule;
    const struct pm_dl_tensor *tensor = dlpack_open(capsule, &foreign->view.read_only);
    if (!tensor) {
        char message[200];
        PyOS_snprintf(message, sizeof message, "%.120s: its __dlpack__ gives no DLPack tensor",
                      what);
        pm_fail(state, BAD_ARRAY, message);
        return -1;
    }
    return pm_foreign_read_dlpack(state, object, tensor, what, foreign);
}
