/* resolve_py_array: NumPy arrays of the program as constants of a module.
 *
 * In: an object. Out: an ARRAY constant with a copy of the elements, in the order of C, or of
 * Fortran where they lie so. The copy is what makes a kernel: it is hashed with the code, so two
 * programs with equal tables share a compilation, and a table with other values is another one.
 * Only numpy.ndarray itself, of types that kernels have, up to a size; everything else stays on the
 * host. The interface of NumPy that C code offers without its headers is `__array_interface__`, a
 * descriptor written in C. */
#include "frontend/resolve_py.h"

#include <stdlib.h>
#include <string.h>

/* A key of the interface's dict, borrowed, or NULL. */
static PyObject *
array_key(PyObject *interface, const char *key)
{
    PyObject *value = PyDict_GetItemString(interface, key);
    PyErr_Clear();
    return value;
}

static bool
array_ints(PyObject *tuple, uint32_t n, int64_t *out)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != (Py_ssize_t)n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, (Py_ssize_t)i));
        if (out[i] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

struct array {
    const char *data;
    bool writeable;
    uint32_t rank;
    int64_t extents[IR_MAX_RANK], strides[IR_MAX_RANK];
    int64_t itemsize, size_B;
};

/* Bytes from one element to the next, in the order of C or of Fortran. */
static void
array_dense(const struct array *a, bool fortran, int64_t *strides_out)
{
    int64_t stride = a->itemsize;
    for (uint32_t k = 0; k < a->rank; k++) {
        uint32_t axis = fortran ? k : a->rank - 1 - k;
        strides_out[axis] = stride;
        stride *= a->extents[axis];
    }
}

/* Shape, strides and address; false: this is no array that a kernel can have. */
static bool
array_read(PyObject *interface, int64_t itemsize, struct array *out)
{
    PyObject *shape = array_key(interface, "shape"), *data = array_key(interface, "data");
    PyObject *strides = array_key(interface, "strides");
    if (!shape || !PyTuple_Check(shape) || PyTuple_Size(shape) > IR_MAX_RANK || !data ||
        !PyTuple_Check(data) || PyTuple_Size(data) != 2)
        return false;
    out->rank = (uint32_t)PyTuple_Size(shape);
    out->data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
    out->writeable = PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 0;
    out->itemsize = out->size_B = itemsize;
    if (!array_ints(shape, out->rank, out->extents))
        return false;
    for (uint32_t k = 0; k < out->rank; k++)
        if (out->extents[k] < 0 ||
            __builtin_mul_overflow(out->size_B, out->extents[k], &out->size_B))
            return false;
    array_dense(out, false, out->strides);
    return !strides || strides == Py_None || array_ints(strides, out->rank, out->strides);
}

/* Whether the elements lie as these strides say; axes of one element have none. */
static bool
array_lies(const struct array *a, const int64_t *strides)
{
    for (uint32_t k = 0; k < a->rank; k++)
        if (a->extents[k] > 1 && a->strides[k] != strides[k])
            return false;
    return true;
}

/* Element by element in the order of C. */
static void
array_gather(const struct array *a, char *out)
{
    int64_t at[IR_MAX_RANK] = {0};
    for (int64_t done_B = 0; done_B < a->size_B; done_B += a->itemsize) {
        const char *from = a->data;
        for (uint32_t k = 0; k < a->rank; k++)
            from += at[k] * a->strides[k];
        memcpy(out + done_B, from, (size_t)a->itemsize);
        for (uint32_t k = a->rank; k-- > 0 && ++at[k] == a->extents[k];)
            at[k] = 0;
    }
}

static ir_const
array_const(struct fe_reader *reader, const struct array *a, ir_type dtype)
{
    int64_t dense[2][IR_MAX_RANK];
    ir_const extents[IR_MAX_RANK];
    for (int i = 0; i < 2; i++)
        array_dense(a, i == 1, dense[i]);
    bool fortran = a->rank > 1 && !array_lies(a, dense[0]) && array_lies(a, dense[1]);
    char *bytes = sp_alloc((size_t)a->size_B + 1);
    if (a->size_B && (fortran || array_lies(a, dense[0])))
        memcpy(bytes, a->data, (size_t)a->size_B);
    else
        array_gather(a, bytes);
    for (uint32_t k = 0; k < a->rank; k++)
        extents[k] = ir_const_int(reader->module, a->extents[k]);
    struct ir_const_info info = {.kind = IR_C_ARRAY, .scalar = dtype};
    info.len = (fortran ? IR_ARRAY_F : 0) | (a->writeable ? IR_ARRAY_WRITEABLE : 0);
    info.named = ir_const_tuple(reader->module, a->rank, extents);
    info.bytes = (const uint8_t *)bytes;
    info.array_name = "";
    ir_const c = ir_const_intern(reader->module, &info);
    free(bytes);
    return c;
}

bool
py_array(struct fe_reader *reader, PyObject *object, ir_type dtype, ir_const *out)
{
    struct array array;
    PyObject *interface = PyObject_GetAttrString(object, "__array_interface__");
    bool ok = interface && PyDict_Check(interface) &&
              array_read(interface, ir_storable_size_B(reader->module, dtype), &array) &&
              array.size_B <= PY_CONST_MAX_ARRAY_B;
    if (ok)
        *out = array_const(reader, &array, dtype);
    PyErr_Clear();
    Py_XDECREF(interface);
    return ok;
}
