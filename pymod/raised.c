/* raised: the exceptions of the program's own that kernels raise.
 *
 * In: a recipe (its grammar is in ir/lower_fault.c) and the values of the fault's record. Out: the
 * exception, made by calling its class with arguments that are formatted here, by Python itself. `int`,
 * `float` and `bool` become Python's numbers, typed numbers NumPy's scalars where NumPy is there.
 * Recipes are the compiler's; what does not fit the grammar gives an exception all the same. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

struct raised {
    struct pm_state *state;
    const char *at;
    const int64_t *values;
    uint32_t n_values, next;
};

static PyObject *raised_make(struct raised *r);

static PyObject *
raised_bad(void)
{
    PyErr_SetString(PyExc_SystemError, "a kernel's exception cannot be read");
    return NULL;
}

/* length ":" bytes */
static bool
raised_text(struct raised *r, const char **text_out, size_t *len_out)
{
    char *end;
    size_t len = strtoul(r->at, &end, 10);
    if (end == r->at || *end != ':' || strnlen(end + 1, len) < len)
        return false;
    *text_out = end + 1;
    *len_out = len;
    r->at = end + 1 + len;
    return true;
}

/* "(" {recipe} ")", as a tuple */
static PyObject *
raised_list(struct raised *r)
{
    if (*r->at != '(')
        return raised_bad();
    r->at++;
    PyObject *list = PyList_New(0);
    while (list && *r->at != ')') {
        PyObject *one = raised_make(r);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    if (!list)
        return NULL;
    r->at++;
    PyObject *tuple = PyList_AsTuple(list);
    Py_DECREF(list);
    return tuple;
}

static double
raised_double(uint64_t bits, unsigned width)
{
    if (width == 64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    float value;
    uint32_t low = (uint32_t)bits;
    memcpy(&value, &low, sizeof value);
    return value;
}

static PyObject *
raised_number(uint64_t bits, ir_type type)
{
    const struct ir_scalar_row *row = ir_scalar_row(type);
    switch ((enum ir_class)row->class) {
    case IR_CLASS_BOOL: return PyBool_FromLong(bits != 0);
    case IR_CLASS_INT: return PyLong_FromLongLong((int64_t)bits);
    case IR_CLASS_UINT: return PyLong_FromUnsignedLongLong(bits);
    case IR_CLASS_FLOAT: return PyFloat_FromDouble(raised_double(bits, row->bits));
    default: break; /* carried as its parts */
    }
    return raised_bad();
}

/* The number as NumPy's scalar of the type, or as it is without NumPy. Takes `number` over. */
static PyObject *
raised_typed(PyObject *number, const char *name)
{
    PyObject *numpy = number ? PyImport_ImportModule("numpy") : NULL;
    PyObject *typed = numpy ? PyObject_CallMethod(numpy, name, "O", number) : NULL;
    Py_XDECREF(numpy);
    if (number && !typed) {
        PyErr_Clear();
        return number;
    }
    Py_XDECREF(number);
    return typed;
}

/* The text of a recipe, in which C0 80 stands for NUL. */
static PyObject *
raised_str(const char *text, size_t len)
{
    char *plain = sp_alloc(len + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        bool is_nul = i + 1 < len && !memcmp(text + i, "\xc0\x80", 2);
        plain[n++] = is_nul ? '\0' : text[i];
        i += is_nul;
    }
    PyObject *str = PyUnicode_DecodeUTF8(plain, (Py_ssize_t)n, "strict");
    free(plain);
    return str;
}

/* type ";" */
static PyObject *
raised_value(struct raised *r)
{
    const char *end = strchr(r->at, ';');
    ir_type type = end ? ir_scalar_by_name(r->at, (size_t)(end - r->at)) : (ir_type)IR_T_NONE;
    if (type == IR_T_NONE || r->next == r->n_values)
        return raised_bad();
    r->at = end + 1;
    PyObject *number = raised_number((uint64_t)r->values[r->next++], type);
    const struct ir_scalar_row *row = ir_scalar_row(type);
    return row->weak || type == IR_T_BOOL ? number : raised_typed(number, row->name);
}

static PyObject *
raised_convert(char how, PyObject *args)
{
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *first = n > 0 ? PyTuple_GetItem(args, 0) : NULL;
    PyObject *second = n > 1 ? PyTuple_GetItem(args, 1) : NULL;
    if (how == 'J') {
        PyObject *empty = PyUnicode_FromString("");
        PyObject *text = empty ? PyUnicode_Join(empty, args) : NULL;
        Py_XDECREF(empty);
        return text;
    }
    if (!first || ((how == 'F' || how == 'P') && !second))
        return raised_bad();
    switch (how) {
    case 'F': return PyObject_Format(first, second);
    case 'P': return PyUnicode_Format(first, second);
    case 'S': return PyObject_Str(first);
    case 'R': return PyObject_Repr(first);
    default: return PyObject_ASCII(first);
    }
}

/* number ":" name recipes */
static PyObject *
raised_exception(struct raised *r)
{
    char *end;
    unsigned long number = strtoul(r->at, &end, 10);
    const char *text;
    size_t len;
    r->at = end + (*end == ':');
    if (!raised_text(r, &text, &len))
        return raised_bad();
    char name[200];
    PyOS_snprintf(name, sizeof name, "%.*s", (int)(len < 190 ? len : 190), text);
    PyObject *args = raised_list(r);
    PyObject *class = args ? fe_interp_exception(r->state->interp, (uint32_t)number, name) : NULL;
    PyObject *exception = NULL;
    if (class)
        exception = PyObject_CallObject(class, args);
    else if (args)
        PyErr_Format(PyExc_LookupError, "the class %s is gone", name);
    if (exception && !PyExceptionInstance_Check(exception)) {
        PyErr_Format(PyExc_TypeError, "%s() gave no exception", name);
        Py_CLEAR(exception);
    }
    Py_XDECREF(class);
    Py_XDECREF(args);
    return exception;
}

static PyObject *
raised_make(struct raised *r)
{
    if (Py_EnterRecursiveCall(" in a kernel's exception"))
        return NULL;
    PyObject *made = NULL;
    char how = *r->at;
    r->at += how != '\0';
    const char *text;
    size_t len;
    switch (how) {
    case 'e': made = raised_exception(r); break;
    case 'v': made = raised_value(r); break;
    case 'n': made = Py_NewRef(Py_None); break;
    case 't': made = raised_list(r); break;
    case 's': made = raised_text(r, &text, &len) ? raised_str(text, len) : raised_bad(); break;
    case 'F':
    case 'P':
    case 'S':
    case 'R':
    case 'A':
    case 'J': {
        PyObject *args = raised_list(r);
        made = args ? raised_convert(how, args) : NULL;
        Py_XDECREF(args);
        break;
    }
    default: made = raised_bad();
    }
    Py_LeaveRecursiveCall();
    return made;
}

PyObject *
pm_raised_make(struct pm_state *state, const struct sp_raised *raised)
{
    if (!state->interp)
        return raised_bad();
    struct raised r = {state, raised->recipe, raised->values, raised->n_values, 0};
    return raised_make(&r);
}
