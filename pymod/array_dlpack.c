/* array_dlpack: our arrays to other libraries by `__dlpack__` and `__dlpack_device__`.
 *
 * In: an array, and what a consumer says of its stream, of the newest version it knows, of the
 * device it wants and of copies. Out: a capsule with a tensor, versioned if the consumer knows
 * that, which keeps the array's memory until its deleter is called. On a GPU the consumer's stream
 * begins after our work and the host does not wait; on the CPU device, whose memory is the host's,
 * it does. Refusals are BufferError, as the standard for arrays has them. */
#include "pymod/array_dlpack.h"

#include <stdlib.h>
#include <string.h>

/* The structure that a consumer sees is the first member. */
struct dlpack_owner {
    union {
        struct dl_managed managed;
        struct dl_legacy legacy;
    } seen;
    PyObject *array;
    int64_t shape[IR_MAX_RANK], strides[IR_MAX_RANK];
};

/* At the end of the interpreter the memory goes with the process. */
static void
dlpack_drop(struct dlpack_owner *owner)
{
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF(owner->array);
    PyGILState_Release(gil);
    free(owner);
}

static void
dlpack_delete_managed(struct dl_managed *self)
{
    dlpack_drop((struct dlpack_owner *)self);
}

static void
dlpack_delete_legacy(struct dl_legacy *self)
{
    dlpack_drop((struct dlpack_owner *)self);
}

void
pm_dl_describe(const struct pm_array *array, int64_t *shape, int64_t *strides,
               struct pm_dl_tensor *out)
{
    const struct pm_view *view = &array->view;
    const struct ir_scalar_row *row = ir_scalar_row(view->dtype);
    const struct rt_info *info = rt_device_info(array->dev);
    for (uint32_t i = 0; i < view->rank; i++) {
        shape[i] = view->shape[i];
        strides[i] = view->strides[i] / (int64_t)(row->bits / 8u);
    }
    *out = (struct pm_dl_tensor){
        .data = (void *)(uintptr_t)view->data,
        .device_type = info->kind == RT_CUDA ? PM_DL_CUDA : PM_DL_CPU,
        .device_id = info->kind == RT_CUDA ? info->ordinal : 0,
        .n_dims = view->rank,
        .code = (uint8_t)row->dlpack,
        .bits = (uint8_t)row->bits,
        .lanes = 1,
        .shape = shape,
        .strides = strides,
    };
}

static struct dlpack_owner *
dlpack_owner_create(struct pm_array *array, struct pm_dl_tensor *tensor)
{
    struct dlpack_owner *owner = sp_alloc(sizeof *owner);
    memset(owner, 0, sizeof *owner);
    owner->array = Py_NewRef((PyObject *)array);
    pm_dl_describe(array, owner->shape, owner->strides, tensor);
    return owner;
}

struct dl_managed *
pm_dl_managed(struct pm_array *array, uint64_t flags)
{
    struct pm_dl_tensor tensor;
    struct dlpack_owner *owner = dlpack_owner_create(array, &tensor);
    owner->seen.managed = (struct dl_managed){
        .version = {DL_MAJOR, DL_MINOR},
        .deleter = dlpack_delete_managed,
        .flags = flags | (array->view.read_only ? DL_READ_ONLY : 0),
        .tensor = tensor,
    };
    return &owner->seen.managed;
}

static struct dl_legacy *
dlpack_legacy(struct pm_array *array)
{
    struct pm_dl_tensor tensor;
    struct dlpack_owner *owner = dlpack_owner_create(array, &tensor);
    owner->seen.legacy = (struct dl_legacy){.deleter = dlpack_delete_legacy, .tensor = tensor};
    return &owner->seen.legacy;
}

/* A capsule that a consumer has taken has another name. */
static void
dlpack_end_managed(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        dlpack_delete_managed(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

static void
dlpack_end_legacy(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        dlpack_delete_legacy(PyCapsule_GetPointer(capsule, "dltensor"));
}

static PyObject *
dlpack_capsule(struct pm_array *array, bool versioned, uint64_t flags)
{
    PyObject *capsule;
    if (versioned) {
        struct dl_managed *managed = pm_dl_managed(array, flags);
        capsule = PyCapsule_New(managed, "dltensor_versioned", dlpack_end_managed);
        if (!capsule)
            managed->deleter(managed);
    } else {
        struct dl_legacy *legacy = dlpack_legacy(array);
        capsule = PyCapsule_New(legacy, "dltensor", dlpack_end_legacy);
        if (!capsule)
            legacy->deleter(legacy);
    }
    return capsule;
}

bool
pm_dl_ready(struct pm_array *array)
{
    if (array->view.elem) {
        PyErr_SetString(PyExc_BufferError, "DLPack has no records; use copy_to_host()");
        return false;
    }
    return rt_device_info(array->dev)->kind != RT_CPU || pm_wait(array->state, array->dev, NULL);
}

static bool
dlpack_refuse(const char *reason)
{
    PyErr_SetString(PyExc_BufferError, reason);
    return false;
}

/* The consumer's stream: None is the legacy default one, -1 asks for no order. */
static bool
dlpack_order(struct pm_array *array, PyObject *stream)
{
    bool cpu = rt_device_info(array->dev)->kind == RT_CPU;
    long long number = 1;
    if (stream != Py_None) {
        number = PyLong_AsLongLong(stream);
        if (number == -1 && PyErr_Occurred())
            return false;
    }
    if (number == -1)
        return true;
    if (cpu)
        return stream == Py_None ? pm_dl_ready(array)
                                 : dlpack_refuse("__dlpack__: memory of the CPU device has no "
                                                 "streams; leave `stream` away");
    if (number <= 0)
        return dlpack_refuse("__dlpack__: `stream` is 1 (legacy default), 2 (per thread), -1 (no "
                             "order) or a handle");
    return pm_array_hand_on(array, (rt_stream)number);
}

/* A pair of ints, or None: false with `given_out` false. */
static bool
dlpack_read_pair(PyObject *pair, const char *what, int numbers[2], bool *given_out)
{
    *given_out = pair != Py_None;
    if (pair == Py_None)
        return true;
    for (int i = 0; PyTuple_Check(pair) && PyTuple_Size(pair) == 2 && i < 2; i++) {
        PyObject *whole = PyNumber_Index(PyTuple_GetItem(pair, i));
        numbers[i] = whole ? (int)PyLong_AsLong(whole) : -1;
        Py_XDECREF(whole);
        if (PyErr_Occurred())
            return false;
        if (i == 1)
            return true;
    }
    PyErr_Format(PyExc_TypeError, "__dlpack__: `%s` is a pair of ints", what);
    return false;
}

static PyObject *
dlpack_from_host_copy(PyObject *array, PyObject *max_version)
{
    PyObject *host = PyObject_CallMethod(array, "copy_to_host", NULL);
    PyObject *method = host ? PyObject_GetAttrString(host, "__dlpack__") : NULL;
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *kwargs = none ? Py_BuildValue("{s:O}", "max_version", max_version) : NULL;
    PyObject *capsule = kwargs ? PyObject_Call(method, none, kwargs) : NULL;
    Py_XDECREF(kwargs);
    Py_XDECREF(none);
    Py_XDECREF(method);
    Py_XDECREF(host);
    return capsule;
}

/* __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) */
PyObject *
pm_array_dlpack(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    struct pm_array *self = (struct pm_array *)object;
    const struct rt_info *info = rt_device_info(self->dev);
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
    int version[2] = {0}, device[2] = {0};
    bool has_version, has_device;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream,
                                     &max_version, &dl_device, &copy) ||
        !dlpack_read_pair(max_version, "max_version", version, &has_version) ||
        !dlpack_read_pair(dl_device, "dl_device", device, &has_device))
        return NULL;
    bool versioned = has_version && version[0] >= 1, cuda = info->kind == RT_CUDA;
    bool here = !has_device || (device[0] == (cuda ? PM_DL_CUDA : PM_DL_CPU) &&
                                device[1] == (cuda ? info->ordinal : 0));
    if (!here && device[0] == PM_DL_CPU && copy != Py_False)
        return dlpack_from_host_copy(object, max_version);
    if (!here) {
        dlpack_refuse("__dlpack__: the array is on another device; only copies to the host are "
                      "made");
        return NULL;
    }
    if (self->view.read_only && !versioned && copy != Py_True) {
        dlpack_refuse("__dlpack__: a read-only array needs a consumer that knows DLPack 1.0 "
                      "(max_version); write a.copy()");
        return NULL;
    }
    PyObject *source =
        copy == Py_True ? PyObject_CallMethod(object, "copy", "s", "K") : Py_NewRef(object);
    PyObject *capsule = NULL;
    if (source && dlpack_order((struct pm_array *)source, stream))
        capsule =
            dlpack_capsule((struct pm_array *)source, versioned, copy == Py_True ? DL_COPIED : 0);
    Py_XDECREF(source);
    return capsule;
}

PyObject *
pm_array_dlpack_device(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct rt_info *info = rt_device_info(((struct pm_array *)object)->dev);
    bool cuda = info->kind == RT_CUDA;
    return Py_BuildValue("(ii)", cuda ? PM_DL_CUDA : PM_DL_CPU, cuda ? info->ordinal : 0);
}
