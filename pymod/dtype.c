/* dtype: element types as Python names them, and the objects gpu.float32, gpu.int32, ...
 *
 * In: any object that says a type. Out: a row of ir/types.def. NumPy is never imported to find out:
 * its types can only be met once somebody imported it, and then a table of its scalar types is
 * made, by identity. The objects are casts in a kernel; on the host they make NumPy scalars when
 * there is NumPy. */
#include "pymod/pm.h"

#include <math.h>
#include <string.h>

struct dtype {
    PyObject_HEAD struct pm_state *state;
    ir_type scalar;
};

/* The dtypes of arrays: every fixed-width row of types.def. */
static bool
dtype_is_element(ir_type scalar)
{
    return ir_type_is_scalar(scalar) && !ir_scalar_row(scalar)->weak;
}

/* The module that has the scalar type; NumPy has no bfloat16. */
static PyObject *
dtype_module(ir_type scalar)
{
    return PyImport_ImportModule(scalar == IR_T_BFLOAT16 ? "ml_dtypes" : "numpy");
}

static PyObject *
numpy_name(const struct dtype *self)
{
    PyObject *numpy = dtype_module(self->scalar);
    if (!numpy)
        return NULL;
    const char *name = ir_scalar_row(self->scalar)->name;
    PyObject *type = PyObject_GetAttrString(numpy, self->scalar == IR_T_BOOL ? "bool_" : name);
    Py_DECREF(numpy);
    return type;
}

/* Whether an argument of a call is a type, as in float32(float32, int32[:]). */
static bool
dtype_is_type(const struct dtype *self, PyObject *x)
{
    if (PyTuple_Check(x))
        return PyTuple_Size(x) > 0 && dtype_is_type(self, PyTuple_GetItem(x, 0));
    Py_ssize_t n;
    const char *text = PyUnicode_Check(x) ? PyUnicode_AsUTF8AndSize(x, &n) : NULL;
    PyErr_Clear();
    return PyType_Check(x) || Py_IS_TYPE(x, self->state->dtype_type) ||
           (text && n > 0 && text[n - 1] == ']');
}

static PyObject *
dtype_call(PyObject *self_object, PyObject *args, PyObject *kwargs)
{
    bool is_signature = false;
    for (Py_ssize_t i = 0; !kwargs && i < PyTuple_Size(args); i++)
        is_signature |= dtype_is_type((struct dtype *)self_object, PyTuple_GetItem(args, i));
    if (is_signature) {
        PyObject *jit = PyImport_ImportModule("gpu._jit");
        PyObject *text =
            jit ? PyObject_CallMethod(jit, "_signature", "OO", self_object, args) : NULL;
        Py_XDECREF(jit);
        return text;
    }
    PyObject *type = numpy_name((struct dtype *)self_object);
    if (!type)
        return NULL;
    PyObject *value = PyObject_Call(type, args, kwargs);
    Py_DECREF(type);
    return value;
}

static PyObject *
dtype_repr(PyObject *self)
{
    return PyUnicode_FromFormat("gpu.%s", ir_scalar_row(((struct dtype *)self)->scalar)->name);
}

static PyObject *
dtype_str(PyObject *self)
{
    return PyUnicode_FromString(ir_scalar_row(((struct dtype *)self)->scalar)->name);
}

static bool
dtype_add_slice(PyObject *item, struct sp_str *text)
{
    static const char *const parts[] = {"start", "stop", "step"};
    if (!PySlice_Check(item))
        return false;
    PyObject *step = NULL;
    for (int i = 0; i < 3; i++) {
        PyObject *part = PyObject_GetAttrString(item, parts[i]);
        if (!part)
            return false;
        Py_DECREF(part); /* the slice holds it */
        if (i < 2 && part != Py_None)
            return false;
        step = part;
    }
    bool one = PyLong_Check(step) && PyLong_AsLong(step) == 1;
    sp_str_add(text, one ? "::1" : ":");
    return one || step == Py_None;
}

/* float32[:, ::1] is the text of that array type, as signatures write it. */
static PyObject *
dtype_subscript(PyObject *self, PyObject *index)
{
    struct dtype *dtype = (struct dtype *)self;
    struct sp_str text;
    sp_str_init(&text);
    sp_str_printf(&text, "%s[", ir_scalar_row(dtype->scalar)->name);
    bool ok = true;
    if (PyTuple_Check(index)) {
        for (Py_ssize_t i = 0; ok && i < PyTuple_Size(index); i++) {
            sp_str_add(&text, i ? ", " : "");
            ok = dtype_add_slice(PyTuple_GetItem(index, i), &text);
        }
    } else {
        ok = dtype_add_slice(index, &text);
    }
    sp_str_add(&text, "]");
    PyObject *result = NULL;
    if (ok)
        result = PyUnicode_FromString(text.data);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError,
                        "array types are written like float32[:] or float32[:, ::1]");
    sp_str_finish(&text);
    return result;
}

static PyObject *
dtype_get_path(PyObject *self, void *closure)
{
    (void)closure;
    return dtype_repr(self);
}

static PyObject *
dtype_get_name(PyObject *self, void *closure)
{
    (void)closure;
    return dtype_str(self);
}

/* np.dtype(gpu.float32) asks for this attribute. */
static PyObject *
dtype_get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    struct dtype *dtype = (struct dtype *)self;
    return pm_dtype_object(dtype->state, dtype->scalar);
}

static PyObject *
dtype_get_itemsize(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong((long)pm_dtype_size_B(((struct dtype *)self)->scalar));
}

static PyObject *
dtype_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (((struct dtype *)self)->scalar == IR_T_BOOL)
        return PyUnicode_FromString("bool_");
    return dtype_str(self); /* pickled as a name of the module gpu */
}

static void
dtype_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyGetSetDef dtype_getset[] = {
    {"__gpu_path__", dtype_get_path, NULL, "Where kernels find it.", NULL},
    {"__name__", dtype_get_name, NULL, NULL, NULL},
    {"name", dtype_get_name, NULL, NULL, NULL},
    {"dtype", dtype_get_dtype, NULL, "The numpy.dtype of the same elements.", NULL},
    {"itemsize", dtype_get_itemsize, NULL, "Bytes of an element.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot dtype_slots[] = {
    {Py_tp_doc,
     (void *)"An element type: a cast in kernels, a dtype of arrays, part of signatures."},
    {Py_tp_call, dtype_call},
    {Py_tp_repr, dtype_repr},
    {Py_tp_str, dtype_str},
    {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods},
    {Py_tp_dealloc, dtype_dealloc},
    {Py_mp_subscript, dtype_subscript},
    {0, NULL},
};
static PyType_Spec dtype_spec = {
    .name = "gpu.DType",
    .basicsize = sizeof(struct dtype),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = dtype_slots,
};

PyType_Spec *
pm_dtype_spec(void)
{
    return &dtype_spec;
}

bool
pm_dtypes_init(struct pm_state *state, PyObject *module)
{
    for (ir_type scalar = IR_FIRST_SCALAR; scalar <= IR_LAST_SCALAR; scalar++) {
        if (!dtype_is_element(scalar))
            continue;
        struct dtype *dtype = PyObject_New(struct dtype, state->dtype_type);
        if (!dtype)
            return false;
        dtype->state = state;
        dtype->scalar = scalar;
        state->dtypes[scalar] = (PyObject *)dtype;
        /* bool and the like stay Python's in `from gpu import *`: bool_ is NumPy's spelling */
        const char *name = scalar == IR_T_BOOL ? "bool_" : ir_scalar_row(scalar)->name;
        if (PyModule_AddObjectRef(module, name, (PyObject *)dtype) < 0)
            return false;
    }
    return true;
}

PyObject *
pm_dtype_object(struct pm_state *state, ir_type dtype)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) {
        PyErr_Clear();
        return Py_NewRef(state->dtypes[dtype]);
    }
    PyObject *object;
    if (dtype == IR_T_BFLOAT16) {
        PyObject *name = numpy_name((struct dtype *)state->dtypes[dtype]);
        object = name ? PyObject_CallMethod(numpy, "dtype", "O", name) : NULL;
        Py_XDECREF(name);
        if (!object && PyErr_ExceptionMatches(PyExc_ImportError)) {
            PyErr_Clear();
            object = Py_NewRef(state->dtypes[dtype]);
        }
    } else {
        object = PyObject_CallMethod(numpy, "dtype", "s", ir_scalar_row(dtype)->typestr);
    }
    Py_DECREF(numpy);
    return object;
}

static void
numpy_add(struct pm_state *state, PyObject *type, ir_type scalar)
{
    if (state->n_numpy_types == PM_N_NUMPY_TYPES)
        return;
    state->numpy_types[state->n_numpy_types].type = (PyTypeObject *)Py_NewRef(type);
    state->numpy_types[state->n_numpy_types++].scalar = scalar;
}

ir_type
pm_numpy_scalar(struct pm_state *state, PyTypeObject *type)
{
    pm_numpy_look(state);
    for (uint32_t i = 0; i < state->n_numpy_types; i++)
        if (state->numpy_types[i].type == type)
            return state->numpy_types[i].scalar;
    if (!state->generic || !PyType_IsSubtype(type, state->generic))
        return IR_T_NONE;
    /* ml_dtypes may be imported later than NumPy, and is never imported here. */
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *ml_dtypes = PyDict_GetItemString(modules, "ml_dtypes");
    PyObject *found = ml_dtypes ? PyObject_GetAttrString(ml_dtypes, "bfloat16") : NULL;
    PyErr_Clear();
    bool is_bfloat16 = found == (PyObject *)type;
    Py_XDECREF(found);
    if (is_bfloat16)
        numpy_add(state, (PyObject *)type, IR_T_BFLOAT16);
    return is_bfloat16 ? (ir_type)IR_T_BFLOAT16 : (ir_type)IR_T_NONE;
}

void
pm_numpy_look(struct pm_state *state)
{
    if (state->numpy_known)
        return;
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *numpy = PyDict_GetItemString(modules, "numpy");
    PyObject *ndarray = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    PyObject *generic = ndarray ? PyObject_GetAttrString(numpy, "generic") : NULL;
    if (!generic) { /* not imported, or only half */
        PyErr_Clear();
        Py_XDECREF(ndarray);
        return;
    }
    state->ndarray = (PyTypeObject *)ndarray;
    state->generic = (PyTypeObject *)generic;
    PyObject *dtype = PyObject_GetAttrString(numpy, "dtype");
    PyErr_Clear();
    if (dtype && PyType_Check(dtype))
        state->numpy_dtype = (PyTypeObject *)dtype;
    else
        Py_XDECREF(dtype);
    for (ir_type scalar = IR_FIRST_SCALAR; scalar <= IR_LAST_SCALAR; scalar++) {
        if (!dtype_is_element(scalar) || scalar == IR_T_BFLOAT16)
            continue;
        const char *name = scalar == IR_T_BOOL ? "bool_" : ir_scalar_row(scalar)->name;
        PyObject *type = PyObject_GetAttrString(numpy, name);
        if (type)
            numpy_add(state, type, scalar);
        PyErr_Clear();
        Py_XDECREF(type);
    }
    /* The C types that have two names of one width on this platform. */
    static const struct {
        const char *name;
        ir_type scalar;
    } twins[] = {{"longlong", IR_T_INT64}, {"ulonglong", IR_T_UINT64}};
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        PyObject *type = PyObject_GetAttrString(numpy, twins[i].name);
        if (type)
            numpy_add(state, type, twins[i].scalar);
        PyErr_Clear();
        Py_XDECREF(type);
    }
    state->numpy_known = true;
}

ir_type
pm_dtype_by_format(const char *format, Py_ssize_t itemsize)
{
    if (!format)
        return itemsize == 1 ? IR_T_UINT8 : IR_T_NONE;
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (!*format || format[1])
        return IR_T_NONE;
    char c = *format;
    if (c == 'l' || c == 'n')
        c = itemsize == 8 ? 'q' : 'i';
    else if (c == 'L' || c == 'N')
        c = itemsize == 8 ? 'Q' : 'I';
    for (ir_type scalar = IR_FIRST_SCALAR; scalar <= IR_LAST_SCALAR; scalar++)
        if (dtype_is_element(scalar) && scalar != IR_T_BFLOAT16 &&
            ir_scalar_row(scalar)->format[0] == c)
            return pm_dtype_size_B(scalar) == itemsize ? scalar : IR_T_NONE;
    return IR_T_NONE;
}

static ir_type
dtype_by_text(PyObject *text)
{
    Py_ssize_t len;
    const char *name = PyUnicode_AsUTF8AndSize(text, &len);
    if (!name) {
        PyErr_Clear();
        return IR_T_NONE;
    }
    ir_type scalar = ir_scalar_by_name(name, (size_t)len);
    if (scalar == IR_T_INT)
        return IR_T_INT64;
    if (scalar == IR_T_FLOAT)
        return IR_T_FLOAT64;
    if (scalar == IR_T_NONE && !strcmp(name, "bool_"))
        return IR_T_BOOL;
    return scalar != IR_T_NONE ? scalar : ir_scalar_by_typestr(name);
}

static ir_type
dtype_by_attribute(PyObject *object, const char *attribute)
{
    PyObject *text = PyObject_GetAttrString(object, attribute);
    if (!text) {
        PyErr_Clear();
        return IR_T_NONE;
    }
    ir_type scalar = PyUnicode_Check(text) ? dtype_by_text(text) : IR_T_NONE;
    Py_DECREF(text);
    return scalar;
}

bool
pm_dtype_parse(struct pm_state *state, PyObject *object, ir_type *dtype_out)
{
    ir_type scalar = IR_T_NONE;
    if (Py_IS_TYPE(object, state->dtype_type))
        scalar = ((struct dtype *)object)->scalar;
    else if (object == (PyObject *)&PyFloat_Type)
        scalar = IR_T_FLOAT64;
    else if (object == (PyObject *)&PyLong_Type)
        scalar = IR_T_INT64;
    else if (object == (PyObject *)&PyBool_Type)
        scalar = IR_T_BOOL;
    else if (PyUnicode_Check(object))
        scalar = dtype_by_text(object);
    else if (PyType_Check(object))
        scalar = dtype_by_attribute(object, "__name__");
    else
        scalar = dtype_by_attribute(object, "str");
    if (scalar != IR_T_NONE) {
        *dtype_out = scalar;
        return true;
    }
    PyObject *repr = PyObject_Repr(object);
    Py_ssize_t len;
    const char *text = repr ? PyUnicode_AsUTF8AndSize(repr, &len) : NULL;
    char message[256];
    PyOS_snprintf(
        message, sizeof message,
        "%.60s is no dtype of a gpu array; there are bool_, int8 to int64, uint8 to uint64, "
        "float16, bfloat16, float32 and float64, in the machine's byte order",
        text ? text : "this");
    PyErr_Clear();
    pm_fail(state, BAD_ARRAY, message);
    Py_XDECREF(repr);
    return false;
}

/* The bits of a float as an element of integers, as a store in a kernel has them. */
int64_t
pm_saturate(ir_type dtype, double value)
{
    const struct ir_scalar_row *row = ir_scalar_row(dtype);
    bool is_unsigned = row->class == IR_CLASS_UINT;
    double high = ldexp(1, row->bits - !is_unsigned), low = is_unsigned ? 0 : -high;
    if (isnan(value))
        return 0;
    if (value >= high)
        return (int64_t)(UINT64_MAX >> (64 - row->bits + !is_unsigned));
    if (value <= low)
        return is_unsigned ? 0 : -(int64_t)(UINT64_MAX >> (64 - row->bits + 1)) - 1;
    return is_unsigned ? (int64_t)(uint64_t)value : (int64_t)value;
}

uint64_t
pm_float_bits(ir_type dtype, double value)
{
    ir_type machine = ir_scalar_row(dtype)->machine;
    uint64_t bits = 0;
    float single = (float)value;
    if (ir_is_half(machine))
        bits = ir_half_of(machine, value);
    else if (machine == IR_T_F32)
        memcpy(&bits, &single, sizeof single);
    else
        memcpy(&bits, &value, sizeof value);
    return bits;
}

/* Beyond 2^53, where a double may round, the last twelve bits become one that says whether they
 * were 0: narrower floats round that as they round the integer. */
uint64_t
pm_float_bits_of_int(ir_type dtype, uint64_t value, bool is_unsigned)
{
    uint64_t limit = (uint64_t)1 << 53, shifted = is_unsigned ? value : value + limit;
    if (ir_scalar_row(dtype)->bits < 64 && shifted >= (is_unsigned ? limit : 2 * limit))
        value = (value & ~(uint64_t)0xfff) | (value & 0xfff ? 0x800 : 0);
    return pm_float_bits(dtype, is_unsigned ? (double)value : (double)(int64_t)value);
}

/* Converts as a store in a kernel: ints keep their low bits, floats saturate. */
bool
pm_element_from_object(struct pm_state *state, ir_type dtype, PyObject *value, void *out)
{
    (void)state;
    const struct ir_scalar_row *row = ir_scalar_row(dtype);
    memset(out, 0, 8);
    if (row->class == IR_CLASS_FLOAT) {
        int overflow = -1;
        int64_t whole = PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
        uint64_t bits;
        if (overflow == 0) {
            bits = pm_float_bits_of_int(dtype, (uint64_t)whole, false);
        } else {
            double number = PyFloat_AsDouble(value);
            if (number == -1.0 && PyErr_Occurred())
                return false;
            bits = pm_float_bits(dtype, number);
        }
        memcpy(out, &bits, row->bits / 8u);
        return true;
    }
    if (row->class == IR_CLASS_BOOL) {
        int truth = PyObject_IsTrue(value);
        *(uint8_t *)out = truth > 0;
        return truth >= 0;
    }
    if (!PyIndex_Check(value)) {
        double real = PyFloat_AsDouble(value);
        int64_t number = pm_saturate(dtype, real);
        if (real == -1.0 && PyErr_Occurred())
            return false;
        memcpy(out, &number, row->bits / 8u);
        return true;
    }
    PyObject *whole = PyNumber_Long(value);
    if (!whole)
        return false;
    unsigned long long bits = PyLong_AsUnsignedLongLongMask(whole);
    Py_DECREF(whole);
    if (bits == (unsigned long long)-1 && PyErr_Occurred())
        return false;
    memcpy(out, &bits, row->bits / 8u);
    return true;
}
