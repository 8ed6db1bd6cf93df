/* resolve_py_dtype: the text of a numpy.dtype as ir/storable_text.c reads it.
 *
 * In: a numpy.dtype. Out: "float32", "record(x: float32, y: int32[3] @8; 24)" and the like; false
 * for one that kernels do not have: objects, another byte order. Nothing of NumPy's runs but the
 * descriptors of its dtypes, which are written in C. */
#include "frontend/resolve_py.h"

#include <string.h>

#define DTYPE_MAX_DEPTH 8

static bool dtype_add_dtype(PyObject *dtype, int depth, struct sp_str *text);

static long long
dtype_number(PyObject *object, const char *attribute)
{
    PyObject *value = PyObject_GetAttrString(object, attribute);
    long long number = value ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    return number;
}

/* `[2, 3]` behind the type of a field that is an array. */
static bool
dtype_add_shape(PyObject *shape, struct sp_str *text)
{
    Py_ssize_t n = PyTuple_Size(shape);
    for (Py_ssize_t i = 0; i < n; i++) {
        long long extent = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        sp_str_printf(text, "%s%lld", i ? ", " : "[", extent);
    }
    sp_str_add(text, "]");
    return n > 0 && n <= IR_MAX_RANK && !PyErr_Occurred();
}

static bool
dtype_add_field(PyObject *name, PyObject *field, int depth, long long *end, struct sp_str *text)
{
    PyObject *dtype = PyTuple_GetItem(field, 0);
    long long offset = PyLong_AsLongLong(PyTuple_GetItem(field, 1));
    long long size = dtype_number(dtype, "itemsize");
    Py_ssize_t len;
    const char *name_text = PyUnicode_AsUTF8AndSize(name, &len);
    if (!name_text || PyErr_Occurred())
        return false;
    if ((size_t)len != strlen(name_text))
        return false;
    ir_field_name_print(name_text, text);
    sp_str_add(text, ": ");
    PyObject *sub = PyObject_GetAttrString(dtype, "subdtype");
    bool ok = sub != NULL;
    if (ok && sub != Py_None)
        ok = dtype_add_dtype(PyTuple_GetItem(sub, 0), depth, text) &&
             dtype_add_shape(PyTuple_GetItem(sub, 1), text);
    else if (ok)
        ok = dtype_add_dtype(dtype, depth, text);
    Py_XDECREF(sub);
    if (offset != *end)
        sp_str_printf(text, " @%lld", offset);
    *end = offset + size;
    return ok;
}

static bool
dtype_add_record(PyObject *dtype, PyObject *names, int depth, struct sp_str *text)
{
    PyObject *fields = PyObject_GetAttrString(dtype, "fields");
    Py_ssize_t n = PyTuple_Size(names);
    long long end = 0, size = dtype_number(dtype, "itemsize");
    bool ok = fields && !PyErr_Occurred();
    ok = ok && n > 0 && depth < DTYPE_MAX_DEPTH;
    sp_str_add(text, "record(");
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        PyObject *field = PyObject_GetItem(fields, name);
        sp_str_add(text, i ? ", " : "");
        ok = field && dtype_add_field(name, field, depth + 1, &end, text);
        Py_XDECREF(field);
    }
    if (size != end)
        sp_str_printf(text, "; %lld", size);
    sp_str_add(text, ")");
    Py_XDECREF(fields);
    return ok;
}

static bool
dtype_add_dtype(PyObject *dtype, int depth, struct sp_str *text)
{
    PyObject *names = PyObject_GetAttrString(dtype, "names");
    PyErr_Clear();
    if (names && names != Py_None) {
        bool ok = dtype_add_record(dtype, names, depth, text);
        Py_DECREF(names);
        return ok;
    }
    Py_XDECREF(names);
    PyObject *str = PyObject_GetAttrString(dtype, "str");
    const char *typestr = str ? PyUnicode_AsUTF8AndSize(str, NULL) : NULL;
    ir_type scalar = typestr ? ir_scalar_by_typestr(typestr) : (ir_type)IR_T_NONE;
    PyErr_Clear();
    Py_XDECREF(str);
    if (scalar != IR_T_NONE)
        sp_str_add(text, ir_scalar_row(scalar)->name);
    return scalar != IR_T_NONE;
}

bool
fe_py_dtype_text(void *dtype, struct sp_str *out)
{
    bool ok = dtype_add_dtype(dtype, 0, out);
    PyErr_Clear();
    return ok;
}

ir_type
py_dtype(struct fe_reader *reader, PyObject *dtype)
{
    struct sp_str text;
    const char *end, *wrong;
    ir_type type = IR_T_NONE;
    sp_str_init(&text);
    if (!fe_py_dtype_text(dtype, &text) ||
        !ir_storable_parse(reader->module, text.data, &end, &type, &wrong))
        type = IR_T_NONE;
    sp_str_finish(&text);
    return type;
}
