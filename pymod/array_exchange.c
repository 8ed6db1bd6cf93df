/* array_exchange: our arrays to other libraries by DLPack's C exchange interface.
 *
 * The attribute `__dlpack_c_exchange_api__` of the type is a table of C functions, which others
 * look up once per type; then they read an array's tensor without a Python object made on the way.
 * Source: DLPack 1.2, dlpack.h. Functions of the table get no state of a module, so there is one
 * for all interpreters: an array brings its own, and what makes arrays asks for the module by its
 * name. */
#include "pymod/array_dlpack.h"

#include <stdlib.h>

typedef void exchange_set_error(void *context, const char *kind, const char *message);

struct exchange_table {
    struct dl_version version;
    const void *older;
    int (*allocate)(struct pm_dl_tensor *prototype, struct dl_managed **out, void *context,
                    exchange_set_error *set_error);
    int (*managed_from_object)(void *object, struct dl_managed **out);
    int (*managed_to_object)(struct dl_managed *tensor, void **out);
    int (*tensor_from_object)(void *object, struct pm_dl_tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
};

static struct pm_state *
exchange_state(void)
{
    PyObject *module = PyImport_ImportModule("gpu._gpujit");
    struct pm_state *state = module ? PyModule_GetState(module) : NULL;
    Py_XDECREF(module); /* whoever holds an array holds it too */
    return state;
}

/* The object as one of our arrays; NULL with an exception. */
static struct pm_array *
exchange_array(PyObject *object)
{
    struct pm_state *state = PyType_GetModuleState(Py_TYPE(object));
    if (state && Py_IS_TYPE(object, state->array_type))
        return (struct pm_array *)object;
    PyErr_SetString(PyExc_TypeError, "this exchange interface is for gpu.Array");
    return NULL;
}

static int
exchange_tensor_from_object(void *object, struct pm_dl_tensor *out)
{
    struct pm_array *array = exchange_array(object);
    if (!array || !pm_dl_ready(array))
        return -1;
    if (!array->dl_strides)
        array->dl_strides = sp_alloc(IR_MAX_RANK * sizeof *array->dl_strides);
    pm_dl_describe(array, array->view.shape, array->dl_strides, out);
    return 0;
}

static int
exchange_managed_from_object(void *object, struct dl_managed **out)
{
    struct pm_array *array = exchange_array(object);
    if (!array || !pm_dl_ready(array))
        return -1;
    *out = pm_dl_managed(array, 0);
    return 0;
}

static void
exchange_end_owner(PyObject *capsule)
{
    struct dl_managed *tensor = PyCapsule_GetPointer(capsule, "gpu tensor");
    if (tensor->deleter)
        tensor->deleter(tensor);
}

static bool
exchange_open(struct pm_state *state, const struct pm_dl_tensor *tensor, struct rt_device **dev_out)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool cuda = tensor->device_type == PM_DL_CUDA || tensor->device_type == PM_DL_CUDA_MANAGED;
    return rt_open(state->rt, cuda ? RT_CUDA : RT_CPU, cuda ? tensor->device_id : 0, dev_out,
                   &diag) ||
           pm_raise(state, &diag);
}

/* Takes the tensor over if it succeeds. */
static int
exchange_managed_to_object(struct dl_managed *tensor, void **out)
{
    struct pm_state *state = exchange_state();
    struct pm_foreign foreign;
    struct rt_device *dev;
    pm_foreign_init(&foreign);
    if (!state || pm_foreign_set_kind(state, "tensor", tensor->tensor.device_type, &foreign) != 1 ||
        pm_foreign_read_dlpack(state, Py_None, &tensor->tensor, "tensor", &foreign) != 1 ||
        !exchange_open(state, &tensor->tensor, &dev))
        return -1;
    foreign.view.read_only = tensor->flags & DL_READ_ONLY;
    PyObject *owner = PyCapsule_New(tensor, "gpu tensor", NULL);
    PyObject *array = owner ? (PyObject *)pm_array_new(state, dev, &foreign.view, owner) : NULL;
    if (array)
        (void)PyCapsule_SetDestructor(owner, exchange_end_owner);
    Py_XDECREF(owner);
    *out = array;
    return array ? 0 : -1;
}

static struct pm_array *
exchange_make(const struct pm_dl_tensor *prototype)
{
    struct pm_state *state = exchange_state();
    struct pm_foreign foreign;
    struct pm_dl_tensor tensor = *prototype;
    struct rt_device *dev;
    tensor.data = &tensor; /* some memory: where it will be is not known yet */
    tensor.strides = NULL;
    tensor.byte_offset = 0;
    pm_foreign_init(&foreign);
    if (!state || pm_foreign_set_kind(state, "tensor", tensor.device_type, &foreign) != 1 ||
        pm_foreign_read_dlpack(state, Py_None, &tensor, "tensor", &foreign) != 1 ||
        !exchange_open(state, &tensor, &dev))
        return NULL;
    return pm_array_alloc_on(state, dev, &foreign.view, false, 0);
}

/* Hands the exception's text to the caller, who may not hold the GIL. */
static void
exchange_explain(void *context, exchange_set_error *set_error)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool memory = type && PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
    if (set_error)
        set_error(context, memory ? "MemoryError" : "RuntimeError",
                  utf8 ? utf8 : "the array cannot be made");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static int
exchange_allocate(struct pm_dl_tensor *prototype, struct dl_managed **out, void *context,
                  exchange_set_error *set_error)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    struct pm_array *array = exchange_make(prototype);
    if (array) {
        *out = pm_dl_managed(array, 0);
        Py_DECREF((PyObject *)array);
    } else {
        exchange_explain(context, set_error);
    }
    PyGILState_Release(gil);
    return array ? 0 : -1;
}

/* Where work goes that names no stream. */
static int
exchange_current_stream(int32_t device_type, int32_t device_id, void **out)
{
    (void)device_type, (void)device_id;
    PyGILState_STATE gil = PyGILState_Ensure();
    struct pm_state *state = exchange_state();
    rt_stream stream;
    bool ok = state && pm_stream_parse(state, Py_None, &stream);
    if (ok)
        *out = (void *)stream;
    PyGILState_Release(gil);
    return ok ? 0 : -1;
}

static const struct exchange_table exchange_table = {
    .version = {DL_MAJOR, 2},
    .allocate = exchange_allocate,
    .managed_from_object = exchange_managed_from_object,
    .managed_to_object = exchange_managed_to_object,
    .tensor_from_object = exchange_tensor_from_object,
    .current_stream = exchange_current_stream,
};

bool
pm_dl_add_exchange(PyTypeObject *type)
{
    PyObject *capsule = PyCapsule_New((void *)&exchange_table, "dlpack_exchange_api", NULL);
    bool ok = capsule &&
              PyObject_SetAttrString((PyObject *)type, "__dlpack_c_exchange_api__", capsule) == 0;
    Py_XDECREF(capsule);
    return ok;
}
