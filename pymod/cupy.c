/* cupy: CuPy's arrays by their own attributes, which costs a fifth of the dict that
 * `__cuda_array_interface__` makes for each of them.
 *
 * In: an object whose type is cupy.ndarray itself. Out: a view, and the thread's current stream in
 * CuPy, by the C function that its stream module exports for such use. What is not as expected is
 * no error: the caller goes on with the protocols. */
#include "pymod/pm.h"

#include <string.h>

#define CUPY_STREAM_C "intptr_t (void)"

typedef intptr_t (*cupy_stream_fn)(void);

/* What sys.modules has by this name, or NULL. */
static PyObject *
cupy_module(const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *module = text ? PyImport_GetModule(text) : NULL;
    Py_XDECREF(text);
    return module;
}

static bool
cupy_find_stream(struct pm_cupy *cupy)
{
    PyObject *module = cupy_module("cupy_backends.cuda.stream");
    PyObject *exported = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    PyObject *capsule = exported && PyDict_Check(exported)
                            ? PyDict_GetItemString(exported, "get_current_stream_ptr")
                            : NULL;
    if (capsule && PyCapsule_IsValid(capsule, CUPY_STREAM_C)) {
        /* POSIX lets an object pointer hold a function's address. */
        void *address = PyCapsule_GetPointer(capsule, CUPY_STREAM_C);
        memcpy(&cupy->current_stream, &address, sizeof address);
    }
    Py_XDECREF(exported);
    Py_XDECREF(module);
    return cupy->current_stream != NULL;
}

static const char *const cupy_names[] = {"data",    "ptr",   "device_id", "shape",
                                         "strides", "dtype", "str",       "_c_contiguous"};
enum {
    CUPY_DATA,
    CUPY_PTR,
    CUPY_DEVICE,
    CUPY_SHAPE,
    CUPY_STRIDES,
    CUPY_DTYPE,
    CUPY_STR,
    CUPY_CONTIGUOUS,
    CUPY_N_NAMES
};
_Static_assert(CUPY_N_NAMES == PM_N_CUPY_ATTRIBUTES, "a getter for each name");

static bool
cupy_find_names(struct pm_cupy *cupy)
{
    for (size_t i = 0; i < CUPY_N_NAMES; i++) {
        PyObject **name = &cupy->attributes[i].name;
        if (!*name && !(*name = PyUnicode_InternFromString(cupy_names[i])))
            return false;
    }
    return true;
}

/* Remembers how the type gives the attribute, if by a data descriptor. */
static void
cupy_learn(struct pm_getter *how, PyTypeObject *type)
{
    PyObject *descriptor = PyObject_GetAttr((PyObject *)type, how->name);
    PyErr_Clear();
    PyTypeObject *its = descriptor ? Py_TYPE(descriptor) : NULL;
    void *get = its ? PyType_GetSlot(its, Py_tp_descr_get) : NULL;
    Py_CLEAR(how->type);
    Py_CLEAR(how->descriptor);
    if (!get || !PyType_GetSlot(its, Py_tp_descr_set)) {
        Py_XDECREF(descriptor);
        return;
    }
    memcpy(&how->get, &get, sizeof get);
    how->descriptor = descriptor;
    how->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
}

/* A new reference, or NULL with an exception. */
static PyObject *
cupy_get(struct pm_cupy *cupy, int which, PyObject *object)
{
    struct pm_getter *how = &cupy->attributes[which];
    PyTypeObject *type = Py_TYPE(object);
    if (__builtin_expect(how->type != type, 0)) {
        cupy_learn(how, type);
        return PyObject_GetAttr(object, how->name);
    }
    return how->get(how->descriptor, object, (PyObject *)type);
}

bool
pm_cupy_is(struct pm_state *state, PyTypeObject *type)
{
    PyObject *module = cupy_module("cupy");
    PyObject *ndarray = module ? PyObject_GetAttrString(module, "ndarray") : NULL;
    bool is = ndarray == (PyObject *)type && cupy_find_stream(&state->cupy) &&
              cupy_find_names(&state->cupy);
    PyErr_Clear();
    Py_XDECREF(ndarray);
    Py_XDECREF(module);
    return is;
}

/* dtype objects of builtin types are there once: the last few are known by identity. */
static ir_type
cupy_dtype(struct pm_cupy *cupy, PyObject *dtype)
{
    for (uint32_t i = 0; i < PM_N_CUPY_DTYPES; i++)
        if (cupy->dtypes[i].dtype == dtype)
            return cupy->dtypes[i].scalar;
    PyObject *text = cupy_get(cupy, CUPY_STR, dtype);
    Py_ssize_t len;
    const char *typestr = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    ir_type scalar = typestr ? ir_scalar_by_typestr(typestr) : IR_T_NONE;
    Py_XDECREF(text);
    if (scalar == IR_T_NONE)
        return IR_T_NONE;
    uint32_t slot = cupy->n_dtypes++ % PM_N_CUPY_DTYPES;
    PyObject *old = cupy->dtypes[slot].dtype;
    cupy->dtypes[slot].dtype = Py_NewRef(dtype);
    cupy->dtypes[slot].scalar = scalar;
    Py_XDECREF(old);
    return scalar;
}

/* A number that an attribute has; -1 with an exception if it has none. */
static long long
cupy_number(struct pm_cupy *cupy, int which, PyObject *object)
{
    PyObject *number = cupy_get(cupy, which, object);
    long long value = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    return value;
}

static bool
cupy_numbers(struct pm_cupy *cupy, int which, PyObject *object, int64_t *out, uint8_t *n_out)
{
    PyObject *tuple = cupy_get(cupy, which, object);
    bool ok = tuple && pm_foreign_read_numbers(tuple, out, n_out);
    Py_XDECREF(tuple);
    return ok;
}

static bool
cupy_read(struct pm_cupy *cupy, PyObject *object, struct pm_foreign *foreign)
{
    struct pm_view *view = &foreign->view;
    PyObject *data = cupy_get(cupy, CUPY_DATA, object);
    if (!data)
        return false;
    view->data = (uint64_t)cupy_number(cupy, CUPY_PTR, data);
    foreign->ordinal = (int)cupy_number(cupy, CUPY_DEVICE, data);
    Py_DECREF(data);
    PyObject *dtype = cupy_get(cupy, CUPY_DTYPE, object);
    view->dtype = dtype ? (uint16_t)cupy_dtype(cupy, dtype) : IR_T_NONE;
    Py_XDECREF(dtype);
    if (view->dtype == IR_T_NONE ||
        !cupy_numbers(cupy, CUPY_SHAPE, object, view->shape, &view->rank))
        return false;
    PyObject *contiguous = cupy_get(cupy, CUPY_CONTIGUOUS, object);
    bool plain = contiguous && PyObject_IsTrue(contiguous) == 1;
    Py_XDECREF(contiguous);
    if (!contiguous)
        PyErr_Clear();
    if (plain)
        return pm_view_contiguous(view, false);
    uint8_t n;
    return cupy_numbers(cupy, CUPY_STRIDES, object, view->strides, &n) && n == view->rank;
}

/* Not as expected: the caller goes on with the protocols, but for a signal. */
static int
cupy_give_up(void)
{
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear();
    return 0;
}

int
pm_foreign_cupy(struct pm_state *state, PyObject *object, const char *what,
                struct pm_current *current, struct pm_foreign *foreign)
{
    struct pm_cupy *cupy = &state->cupy;
    if (!cupy_read(cupy, object, foreign) || PyErr_Occurred())
        return cupy_give_up();
    if (!current->known || current->library != cupy) {
        current->stream = (rt_stream)cupy->current_stream();
        if (PyErr_Occurred())
            return cupy_give_up();
        current->library = cupy;
        current->known = true;
    }
    foreign->owner = Py_NewRef(object);
    foreign->has_stream = true;
    foreign->stream = current->stream;
    return pm_foreign_finish(state, what, foreign);
}

void
pm_cupy_clear(struct pm_cupy *cupy)
{
    for (uint32_t i = 0; i < PM_N_CUPY_ATTRIBUTES; i++) {
        Py_CLEAR(cupy->attributes[i].name);
        Py_CLEAR(cupy->attributes[i].descriptor);
        Py_CLEAR(cupy->attributes[i].type);
    }
    for (uint32_t i = 0; i < PM_N_CUPY_DTYPES; i++)
        Py_CLEAR(cupy->dtypes[i].dtype);
}
