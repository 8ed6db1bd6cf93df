/* dlpack: arrays of objects with `__dlpack__` (torch, JAX, TensorFlow, ...), borrowed for a launch.
 *
 * The capsule is only looked into, never consumed: its own destructor frees the tensor when the
 * launch lets it go. Device tensors are asked for on the legacy default stream, so the producer
 * orders its work before that. The structures are DLPack's binary interface, version 0 and the
 * unversioned capsule. */
#include "pymod/pm.h"

static ir_type
dlpack_dtype(const struct pm_dl_tensor *tensor)
{
    for (ir_type scalar = IR_LAST_SCALAR; scalar >= IR_FIRST_SCALAR; scalar--) { /* floats first */
        const struct ir_scalar_row *row = ir_scalar_row(scalar);
        if (!row->weak && row->dlpack == tensor->code && row->bits == tensor->bits &&
            tensor->lanes == 1)
            return scalar;
    }
    return IR_T_NONE;
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

static PyObject *
dlpack_capsule(struct pm_state *state, PyObject *object, bool on_device)
{
    PyObject *method = PyObject_GetAttr(object, state->s_dlpack);
    PyObject *empty = method ? PyTuple_New(0) : NULL;
    PyObject *kwargs = empty ? PyDict_New() : NULL;
    PyObject *capsule = NULL;
    if (kwargs) {
        PyObject *one = PyLong_FromLong(1);
        if (one && (!on_device || PyDict_SetItem(kwargs, state->s_stream, one) == 0))
            capsule = PyObject_Call(method, empty, kwargs);
        Py_XDECREF(one);
    }
    Py_XDECREF(kwargs);
    Py_XDECREF(empty);
    Py_XDECREF(method);
    return capsule;
}

/* Bytes of DLPack's elements; false if they do not fit. */
static bool
dlpack_strides(const struct pm_dl_tensor *tensor, struct pm_view *view)
{
    if (!tensor->strides)
        return pm_view_contiguous(view, false);
    int64_t size_B = pm_dtype_size_B(view->dtype);
    for (int i = 0; i < tensor->n_dims; i++)
        if (__builtin_mul_overflow(tensor->strides[i], size_B, &view->strides[i]))
            return false;
    return true;
}

int
pm_foreign_read_dlpack(struct pm_state *state, const struct pm_dl_tensor *tensor, const char *what,
                       struct pm_foreign *foreign)
{
    struct pm_view *view = &foreign->view;
    char message[300];
    view->dtype = (uint8_t)dlpack_dtype(tensor);
    if (view->dtype == IR_T_NONE || tensor->n_dims < 0 || tensor->n_dims > IR_MAX_RANK) {
        PyOS_snprintf(message, sizeof message,
                      "%.120s: a tensor of %d dimensions with elements of %d bits is not supported",
                      what, (int)tensor->n_dims, (int)tensor->bits);
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
                  struct pm_foreign *foreign)
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
    PyObject *capsule = dlpack_capsule(state, object, foreign->has_stream);
    if (!capsule)
        return -1;
    foreign->owner = capsule;
    if (!PyCapsule_IsValid(capsule, "dltensor")) {
        char message[200];
        PyOS_snprintf(message, sizeof message, "%.120s: its __dlpack__ gives no DLPack tensor",
                      what);
        pm_fail(state, BAD_ARRAY, message);
        return -1;
    }
    return pm_foreign_read_dlpack(state, PyCapsule_GetPointer(capsule, "dltensor"), what, foreign);
}
