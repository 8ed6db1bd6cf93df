/* args: one Python value of a call to its argument type and bits.
 *
 * The order of the tests is that of how often the answer is yes: our arrays, Python's numbers and
 * tensors of types that were met before by the identity of their type, then NumPy's scalars by a
 * table of their types, then every protocol for arrays (foreign.c), then objects that are constants
 * of the compilation. What is none of these gets a message that names what to pass. Integers of any
 * width are `int` from here on (uint64 excepted), np.float64 is Python's float, float16, bfloat16
 * and float32 stay typed. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

const char *
pm_arg_label(const struct pm_reading *reading, uint32_t index, char label[PM_LABEL_B])
{
    PyOS_snprintf(label, PM_LABEL_B, "%u '%.60s'", (unsigned)index + 1,
                  reading->module->funcs.data[0]->params[index].name);
    return label;
}

bool
pm_arg_fail(struct pm_kernel *kernel, const struct pm_reading *reading, uint32_t index,
            const char *reason)
{
    char label[PM_LABEL_B];
    return pm_fail(kernel->state, CALL_ARGUMENT, pm_arg_label(reading, index, label),
                   kernel->name_utf8, reason);
}

static void
arg_set_scalar(struct pm_arg *arg, ir_type dtype, uint64_t bits)
{
    arg->type.kind = IR_ARG_SCALAR;
    arg->type.dtype = (uint16_t)dtype;
    arg->bits = bits;
}

static void
arg_set_double(struct pm_arg *arg, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    arg_set_scalar(arg, IR_T_FLOAT, bits);
}

static void
arg_set_view(struct pm_arg *arg, const struct pm_view *view)
{
    arg->type = (struct ir_argtype){.kind = IR_ARG_ARRAY,
                                    .rank = view->rank,
                                    .dtype = view->dtype,
                                    .layout = view->layout & 0x7f,
                                    .align_log2 = pm_view_align(view),
                                    .elem = view->elem ? view->elem->text : NULL};
    arg->view = view;
}

static bool
arg_get_int(const struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (number == -1 && !overflow && PyErr_Occurred())
        return false;
    char label[PM_LABEL_B];
    if (overflow)
        return pm_fail(taking->state, CALL_OVERFLOW, pm_arg_label(taking->reading, index, label),
                       taking->kernel->name_utf8,
                       "the int does not fit 64 bits; np.uint64(x) holds values up to 2**64 - 1");
    arg_set_scalar(arg, IR_T_INT, (uint64_t)number);
    return true;
}

/* A scalar of NumPy's: by the table of its types. */
static int
arg_get_numpy(const struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    ir_type scalar = pm_numpy_scalar(taking->state, Py_TYPE(value));
    if (scalar == IR_T_NONE)
        return 0;
    if (scalar == IR_T_BOOL) {
        arg_set_scalar(arg, IR_T_BOOL, PyObject_IsTrue(value) == 1);
    } else if (ir_scalar_row(scalar)->class == IR_CLASS_FLOAT) {
        double number = PyFloat_AsDouble(value);
        if (scalar == IR_T_FLOAT64)
            arg_set_double(arg, number);
        else
            arg_set_scalar(arg, scalar, pm_float_bits(scalar, number));
    } else {
        PyObject *whole = PyNumber_Index(value);
        bool ok = whole != NULL;
        if (ok && scalar == IR_T_UINT64)
            arg_set_scalar(arg, IR_T_UINT64, PyLong_AsUnsignedLongLong(whole));
        else if (ok)
            ok = arg_get_int(taking, index, whole, arg);
        Py_XDECREF(whole);
        return ok ? 1 : -1;
    }
    return PyErr_Occurred() ? -1 : 1;
}

static bool
arg_check_device(const struct pm_taking *taking, uint32_t index, const char *where)
{
    char here[24], label[PM_LABEL_B];
    struct sp_diag diag;
    pm_device_print(taking->dev, here);
    if (!strcmp(where, here))
        return true;
    sp_diag_init(&diag);
    (void)sp_diag_set(&diag, SP_E_WRONG_DEVICE, NULL, pm_arg_label(taking->reading, index, label),
                      taking->kernel->name_utf8, where, here);
    (void)sp_diag_hint(&diag,
                       "gpu.select_device(\"%s\") runs kernels there; "
                       "gpu.to_device(x.copy_to_host()) copies an array to %s",
                       where, here);
    return pm_raise(taking->state, &diag);
}

/* Whether the device sees this memory; the error names both. */
static bool
arg_check_ordinal(const struct pm_taking *taking, uint32_t index, int ordinal)
{
    const struct rt_info *info = rt_device_info(taking->dev);
    if (info->kind == RT_CUDA && info->ordinal == ordinal)
        return true;
    char where[24];
    PyOS_snprintf(where, sizeof where, "cuda:%d", ordinal);
    return arg_check_device(taking, index, where);
}

/* Launches come in bursts: the last few are kept for the next one, as pm_foreign_init leaves
 * them. */
static struct pm_foreign *
arg_take_foreign(struct pm_state *state)
{
    if (state->n_spare_foreign)
        return state->spare_foreign[--state->n_spare_foreign];
    struct pm_foreign *foreign = sp_alloc(sizeof *foreign);
    pm_foreign_init(foreign);
    return foreign;
}

static void
arg_give_foreign(struct pm_state *state, struct pm_foreign *foreign)
{
    if (!foreign->is_plain) {
        pm_foreign_release(foreign);
        pm_foreign_init(foreign);
    }
    foreign->is_plain = foreign->has_stream = false;
    if (state->n_spare_foreign < PM_N_SPARE_FOREIGN)
        state->spare_foreign[state->n_spare_foreign++] = foreign;
    else
        free(foreign);
}

/* Tensors without gaps in the memory of the launch's GPU, of a type that was met before: what
 * nearly all are. The caller of the kernel keeps them. false: they are to be looked at closely. */
static bool
arg_get_plain(struct pm_taking *taking, PyObject *value, struct pm_arg *arg)
{
    const struct rt_info *info = rt_device_info(taking->dev);
    if (info->kind != RT_CUDA)
        return false;
    struct pm_foreign *foreign = arg_take_foreign(taking->state);
    if (!pm_exchange_take_plain(taking->state, value, info->ordinal, &taking->current, foreign)) {
        arg_give_foreign(taking->state, foreign);
        return false;
    }
    arg->foreign = foreign;
    arg_set_view(arg, &foreign->view);
    return true;
}

static int
arg_get_foreign(struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    struct pm_foreign *foreign = arg_take_foreign(taking->state);
    /* First without the name that errors want, which takes time to make up. */
    int found = pm_foreign_get_for(taking->state, value, "", &taking->current, foreign);
    if (found == -1 && PyErr_ExceptionMatches(PyExc_Exception)) {
        char what[160], label[PM_LABEL_B];
        PyErr_Clear();
        pm_foreign_release(foreign);
        PyOS_snprintf(what, sizeof what, "argument %s of %.60s",
                      pm_arg_label(taking->reading, index, label), taking->kernel->name_utf8);
        found = pm_foreign_get_for(taking->state, value, what, &taking->current, foreign);
    }
    if (found == 1 && !foreign->on_host && !arg_check_ordinal(taking, index, foreign->ordinal))
        found = -1;
    if (found != 1) {
        arg_give_foreign(taking->state, foreign);
        return found;
    }
    if (foreign->on_host && taking->state->memories.len && !taking->copies)
        pm_foreign_lend(taking->state, taking->dev, foreign);
    arg->foreign = foreign;
    arg_set_view(arg, &foreign->view);
    /* What a strided host array becomes in GPU memory is contiguous. */
    if (foreign->on_host && arg->type.layout == IR_LAYOUT_ANY &&
        rt_device_info(taking->dev)->kind == RT_CUDA)
        arg->type.layout = IR_LAYOUT_C;
    return 1;
}

/* Functions, kernels, dtypes and None are constants of the compilation. */
static bool
arg_has_code(PyObject *value)
{
    PyObject *code = PyObject_GetAttrString(value, "__code__");
    PyErr_Clear();
    Py_XDECREF(code);
    return code != NULL;
}

/* A numpy.dtype. */
static bool
arg_is_dtype(struct pm_state *state, PyObject *value)
{
    return state->numpy_dtype && PyObject_TypeCheck(value, state->numpy_dtype);
}

/* Only the class of an enum has this map. */
bool
pm_arg_is_member(PyObject *value)
{
    PyObject *map = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "_member_map_");
    PyErr_Clear();
    Py_XDECREF(map);
    return map != NULL;
}

static bool
arg_is_constant(struct pm_state *state, PyObject *value)
{
    return value == Py_None || PyUnicode_Check(value) || Py_IS_TYPE(value, state->kernel_type) ||
           Py_IS_TYPE(value, state->dtype_type) || Py_IS_TYPE(value, state->intrinsic_type) ||
           PyType_Check(value) || arg_is_dtype(state, value) || pm_arg_is_member(value) ||
           arg_has_code(value);
}

static bool
arg_fail_type(const struct pm_taking *taking, uint32_t index, PyObject *value)
{
    PyObject *name = PyType_GetName(Py_TYPE(value));
    Py_ssize_t len;
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, &len) : "?";
    const char *instead = "pass numbers, arrays, functions or dtypes";
    if (PyList_Check(value))
        instead = "pass an array: np.array(values, dtype=np.float32)";
    else if (PyDict_Check(value))
        instead = "pass its values one by one, or arrays";
    else if (PyComplex_Check(value))
        instead = "complex numbers are not supported yet: pass real and imaginary part";
    char reason[220];
    PyOS_snprintf(reason, sizeof reason, "'%.60s' cannot be passed to a kernel; %s", text, instead);
    Py_XDECREF(name);
    return pm_arg_fail(taking->kernel, taking->reading, index, reason);
}

static bool
arg_set_object(PyObject *value, struct pm_arg *arg)
{
    arg->type.kind = IR_ARG_OBJECT;
    arg->type.host = value;
    return true;
}

/* The head of a tuple; whoever asked goes on with its elements. */
static bool
arg_set_tuple(const struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    Py_ssize_t n = PyTuple_Size(value);
    if (n > PM_MAX_TUPLE)
        return pm_arg_fail(taking->kernel, taking->reading, index,
                           "a tuple of more than 1024 elements; pass an array");
    arg->type.kind = IR_ARG_TUPLE;
    arg->type.n_elems = (uint16_t)n;
    if (!PyTuple_CheckExact(value))
        arg->type.host = Py_TYPE(value);
    return true;
}

/* Arrays of others whose type tells, before anything is looked up by name. */
static bool
arg_is_tensor(const struct pm_state *state, const PyTypeObject *type)
{
    return type == state->ndarray || pm_exchange_knows(state, type);
}

/* gpu.In(x) and its like: the array, and how it travels. */
static bool
arg_get_transfer(struct pm_taking *taking, uint32_t index, enum pm_transfer transfer,
                 PyObject *array, struct pm_arg *arg)
{
    if (!Py_IS_TYPE(array, taking->state->array_type)) {
        taking->copies = true;
        int found = arg_get_foreign(taking, index, array, arg);
        taking->copies = false;
        if (!found)
            pm_arg_fail(taking->kernel, taking->reading, index,
                        "gpu.In, gpu.Out and gpu.InOut take arrays");
        if (found == 1)
            arg->foreign->transfer = (uint8_t)transfer;
        return found == 1;
    }
    return pm_arg_get(taking, index, array, arg);
}

/* A record of NumPy's: by value, from its own bytes. 0: it is none. */
static int
arg_get_record(const struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    struct pm_view view = {0};
    Py_buffer buffer;
    if (!taking->state->generic || !PyObject_TypeCheck(value, taking->state->generic))
        return 0;
    int found = pm_elem_of_array(taking->state, value, &view);
    if (found != 1)
        return found;
    if (view.elem->size_B > IR_MAX_RECORD_ARGUMENT_B)
        return pm_arg_fail(taking->kernel, taking->reading, index,
                           "a record of more than 2040 bytes; pass an array of one record")
                   ? 1
                   : -1;
    if (PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE) < 0)
        return -1;
    arg->type.kind = IR_ARG_SCALAR;
    arg->type.dtype = view.dtype;
    arg->type.elem = view.elem->text;
    arg->bits = (uint64_t)(uintptr_t)buffer.buf; /* the record keeps them */
    arg->size_B = view.elem->size_B;
    PyBuffer_Release(&buffer);
    return 1;
}

void
pm_record_word(const struct pm_arg *arg, uint32_t word, void *out)
{
    uint64_t bits = 0;
    uint32_t at = word * 8;
    const char *bytes = (const char *)(uintptr_t)arg->bits;
    memcpy(&bits, bytes + at, arg->size_B - at < 8 ? arg->size_B - at : 8);
    memcpy(out, &bits, sizeof bits);
}

static bool
arg_get_rare(struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    int found = arg_get_numpy(taking, index, value, arg);
    if (!found)
        found = arg_get_record(taking, index, value, arg);
    if (found)
        return found == 1;
    if (PyLong_Check(value)) /* IntEnum and the like */
        return arg_get_int(taking, index, value, arg);
    if (PyFloat_Check(value)) {
        arg_set_double(arg, PyFloat_AsDouble(value));
        return true;
    }
    PyObject *array;
    enum pm_transfer transfer = pm_transfer_get(taking->state, value, &array);
    if (transfer)
        return arg_get_transfer(taking, index, transfer, array, arg);
    if (arg_is_constant(taking->state, value))
        return arg_set_object(value, arg);
    if (PyTuple_Check(value))
        return arg_set_tuple(taking, index, value, arg);
    if (PyList_Check(value) || PyDict_Check(value))
        return arg_fail_type(taking, index, value);
    if (taking->state->generic && PyObject_TypeCheck(value, taking->state->generic))
        return arg_fail_type(taking, index, value);
    found = arg_get_foreign(taking, index, value, arg);
    if (!found && PyCallable_Check(value)) /* functions of C, NumPy's among them */
        return arg_set_object(value, arg);
    return found ? found == 1 : arg_fail_type(taking, index, value);
}

bool
pm_arg_get(struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg)
{
    memset(arg, 0, sizeof *arg);
    arg->object = value;
    if (Py_IS_TYPE(value, taking->state->array_type)) {
        struct pm_array *array = (struct pm_array *)value;
        arg_set_view(arg, &array->view);
        if (array->dev == taking->dev)
            return true;
        if (!pm_device_check(taking->state, array->dev))
            return false;
        if (pm_peer_is_reached(taking->state, taking->dev, array->dev))
            return true;
        char where[24];
        pm_device_print(array->dev, where);
        return arg_check_device(taking, index, where);
    }
    if (Py_IS_TYPE(value, &PyLong_Type))
        return arg_get_int(taking, index, value, arg);
    if (Py_IS_TYPE(value, &PyFloat_Type)) {
        arg_set_double(arg, PyFloat_AsDouble(value));
        return true;
    }
    if (Py_IS_TYPE(value, &PyBool_Type)) {
        arg_set_scalar(arg, IR_T_BOOL, value == Py_True);
        return true;
    }
    if (arg_get_plain(taking, value, arg))
        return true;
    taking->is_here = false; /* code of others runs */
    int found = arg_is_tensor(taking->state, Py_TYPE(value))
                    ? arg_get_foreign(taking, index, value, arg)
                    : 0;
    if (found)
        return found == 1;
    return arg_get_rare(taking, index, value, arg);
}

void
pm_arg_release(struct pm_state *state, struct pm_arg *arg)
{
    if (!arg->foreign)
        return;
    arg_give_foreign(state, arg->foreign);
    arg->foreign = NULL;
}
