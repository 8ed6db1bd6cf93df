/* config: what stands between the brackets of kernel[grid, block, stream, shared_bytes].
 *
 * In: the index object. Out: 64-bit numbers, still unchecked against a device, so that messages
 * show what was written. Ints, NumPy ints and tuples of one to three of them are sizes; everything
 * else gets a message that says what to write. */
#include "pymod/pm.h"

#include <string.h>

static bool
config_fail(struct pm_kernel *kernel, const char *reason)
{
    return pm_fail(kernel->state, BAD_CONFIGURATION, reason);
}

static bool
config_fail_type(struct pm_kernel *kernel, const char *what, PyObject *value)
{
    PyErr_Clear();
    PyObject *name = PyType_GetName(Py_TYPE(value));
    Py_ssize_t len;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, &len) : "?";
    char message[300];
    PyOS_snprintf(message, sizeof message,
                  "the %s must be an int or a tuple of 1 to 3 ints, not %.60s%s", what, text,
                  PyFloat_Check(value) ? ": write (n + 255) // 256 rather than n / 256" : "");
    Py_XDECREF(name);
    return config_fail(kernel, message);
}

static bool
config_number(struct pm_kernel *kernel, const char *what, PyObject *value, int64_t *out)
{
    int overflow = 0;
    PyObject *index = NULL;
    if (!PyLong_Check(value) && !(index = PyNumber_Index(value)))
        return PyErr_ExceptionMatches(PyExc_TypeError) ? config_fail_type(kernel, what, value)
                                                       : false;
    *out = PyLong_AsLongLongAndOverflow(index ? index : value, &overflow);
    Py_XDECREF(index);
    char message[200];
    if (overflow || *out < 1) {
        bool negative = overflow ? overflow < 0 : *out < 0;
        PyOS_snprintf(message, sizeof message, "a dimension of the %s is %s", what,
                      negative   ? "negative, it must be at least 1"
                      : overflow ? "beyond 64 bits, devices allow up to 2**31 - 1"
                                 : "0, it must be at least 1");
        return config_fail(kernel, message);
    }
    return true;
}

static bool
config_size(struct pm_kernel *kernel, const char *what, PyObject *value, int64_t out[3], uint8_t *n)
{
    out[0] = out[1] = out[2] = 1;
    *n = 1;
    if (PyLong_Check(value))
        return config_number(kernel, what, value, &out[0]);
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        bool number = PyIndex_Check(value);
        return number ? config_number(kernel, what, value, &out[0])
                      : config_fail_type(kernel, what, value);
    }
    Py_ssize_t len = PySequence_Size(value);
    char message[160];
    if (len < 1 || len > 3) {
        PyOS_snprintf(message, sizeof message, "the %s has %d dimensions, it must have 1 to 3",
                      what, (int)len);
        return config_fail(kernel, message);
    }
    for (Py_ssize_t i = 0; i < len; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        bool ok = item && config_number(kernel, what, item, &out[i]);
        Py_XDECREF(item);
        if (!ok)
            return false;
    }
    *n = (uint8_t)len;
    return true;
}

static bool
config_fail_shared(struct pm_kernel *kernel, PyObject *value)
{
    char message[160];
    PyObject *name = PyType_GetName(Py_TYPE(value));
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    PyOS_snprintf(message, sizeof message, "shared_bytes must be an int of 0 or more, not %.60s",
                  text ? text : "?");
    Py_XDECREF(name);
    return config_fail(kernel, message);
}

static bool
config_shared(struct pm_kernel *kernel, PyObject *value, int64_t *out)
{
    *out = PyNumber_AsSsize_t(value, NULL); /* beyond its range: the nearest */
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return false;
        PyErr_Clear();
        return config_fail_shared(kernel, value);
    }
    return *out >= 0 ||
           config_fail(kernel, "shared_bytes is negative, it must be an int of 0 or more");
}

bool
pm_config_parse(struct pm_kernel *kernel, PyObject *index, struct pm_config *out,
                PyObject **stream_out)
{
    Py_ssize_t n = PyTuple_Check(index) ? PyTuple_Size(index) : 1;
    if (n < 2 || n > 4) {
        char message[200];
        PyOS_snprintf(message, sizeof message,
                      n < 2 ? "the block is missing: write %.60s[grid, block]"
                            : "too many values: write %.60s[grid, block, stream, shared_bytes]",
                      kernel->name_utf8);
        return config_fail(kernel, message);
    }
    out->stream = 0;
    out->shared_B = 0;
    *stream_out = NULL;
    if (!config_size(kernel, "grid", PyTuple_GetItem(index, 0), out->grid, &out->n_grid) ||
        !config_size(kernel, "block", PyTuple_GetItem(index, 1), out->block, &out->n_block))
        return false;
    if (n == 4 && !config_shared(kernel, PyTuple_GetItem(index, 3), &out->shared_B))
        return false;
    PyObject *stream = n >= 3 ? PyTuple_GetItem(index, 2) : Py_None;
    return pm_stream_take(kernel->state, stream, &out->stream, stream_out);
}
