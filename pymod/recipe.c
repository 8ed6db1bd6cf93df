/* recipe: texts and exceptions that the host makes of a kernel's values.
 *
 * In: a recipe (its grammar is in ir/lower_recipe.c) and the values of a fault's or a print's
 * record. Out: the exception, made by calling its class with arguments that are formatted here, or
 * the text, by Python itself. `int`, `float` and `bool` become Python's numbers, typed numbers
 * NumPy's scalars where NumPy is there (bfloat16: ml_dtypes), NamedTuples instances of their class
 * while that lives. Recipes are the compiler's; what does not fit the grammar gives an exception
 * all the same. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

struct recipe {
    struct pm_state *state;
    const char *at;
    const int64_t *values;
    uint32_t n_values, next;
};

static PyObject *recipe_make(struct recipe *r);

static PyObject *
recipe_bad(void)
{
    PyErr_SetString(PyExc_SystemError, "a kernel's text or exception cannot be read");
    return NULL;
}

/* length ":" bytes */
static bool
recipe_text(struct recipe *r, const char **text_out, size_t *len_out)
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
recipe_list(struct recipe *r)
{
    if (*r->at != '(')
        return recipe_bad();
    r->at++;
    PyObject *list = PyList_New(0);
    while (list && *r->at != ')') {
        PyObject *one = recipe_make(r);
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
recipe_double(uint64_t bits, unsigned width)
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
recipe_number(uint64_t bits, ir_type type)
{
    const struct ir_scalar_row *row = ir_scalar_row(type);
    switch ((enum ir_class)row->class) {
    case IR_CLASS_BOOL: return PyBool_FromLong(bits != 0);
    case IR_CLASS_INT: return PyLong_FromLongLong((int64_t)bits);
    case IR_CLASS_UINT: return PyLong_FromUnsignedLongLong(bits);
    case IR_CLASS_FLOAT: return PyFloat_FromDouble(recipe_double(bits, row->bits));
    default: break; /* carried as its parts */
    }
    return recipe_bad();
}

/* The number as NumPy's (or ml_dtypes') scalar of the type, or as it is without NumPy. Takes
 * `number` over. */
static PyObject *
recipe_typed(PyObject *number, const char *name)
{
    PyObject *numpy = NULL;
    if (number)
        numpy = PyImport_ImportModule(!strcmp(name, "bfloat16") ? "ml_dtypes" : "numpy");
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
recipe_str(const char *text, size_t len)
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
recipe_value(struct recipe *r)
{
    const char *end = strchr(r->at, ';');
    ir_type type = end ? ir_scalar_by_name(r->at, (size_t)(end - r->at)) : (ir_type)IR_T_NONE;
    if (type == IR_T_NONE || r->next == r->n_values)
        return recipe_bad();
    r->at = end + 1;
    PyObject *number = recipe_number((uint64_t)r->values[r->next++], type);
    const struct ir_scalar_row *row = ir_scalar_row(type);
    return row->weak || type == IR_T_BOOL ? number : recipe_typed(number, row->name);
}

static PyObject *
recipe_convert(char how, PyObject *args)
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
        return recipe_bad();
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
recipe_exception(struct recipe *r)
{
    char *end;
    unsigned long number = strtoul(r->at, &end, 10);
    const char *text;
    size_t len;
    r->at = end + (*end == ':');
    if (!recipe_text(r, &text, &len))
        return recipe_bad();
    char name[200];
    PyOS_snprintf(name, sizeof name, "%.*s", (int)(len < 190 ? len : 190), text);
    PyObject *args = recipe_list(r);
    PyObject *class = args ? fe_interp_class(r->state->interp, (uint32_t)number, name) : NULL;
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

/* number ":" recipes */
static PyObject *
recipe_named(struct recipe *r)
{
    char *end;
    unsigned long number = strtoul(r->at, &end, 10);
    r->at = end + (*end == ':');
    PyObject *tuple = recipe_list(r);
    PyObject *class = tuple ? fe_interp_class(r->state->interp, (uint32_t)number, NULL) : NULL;
    if (!class || !PyType_IsSubtype((PyTypeObject *)class, &PyTuple_Type)) {
        Py_XDECREF(class);
        return tuple;
    }
    PyObject *made = PyObject_CallMethod((PyObject *)&PyTuple_Type, "__new__", "OO", class, tuple);
    Py_DECREF(class);
    Py_DECREF(tuple);
    return made;
}

static PyObject *
recipe_make(struct recipe *r)
{
    if (Py_EnterRecursiveCall(" in a kernel's text or exception"))
        return NULL;
    PyObject *made = NULL;
    char how = *r->at;
    r->at += how != '\0';
    const char *text;
    size_t len;
    switch (how) {
    case 'e': made = recipe_exception(r); break;
    case 'v': made = recipe_value(r); break;
    case 'n': made = Py_NewRef(Py_None); break;
    case 't': made = recipe_list(r); break;
    case 'c': made = recipe_named(r); break;
    case 's': made = recipe_text(r, &text, &len) ? recipe_str(text, len) : recipe_bad(); break;
    case 'F':
    case 'P':
    case 'S':
    case 'R':
    case 'A':
    case 'J': {
        PyObject *args = recipe_list(r);
        made = args ? recipe_convert(how, args) : NULL;
        Py_XDECREF(args);
        break;
    }
    default: made = recipe_bad();
    }
    Py_LeaveRecursiveCall();
    return made;
}

PyObject *
pm_recipe_make(struct pm_state *state, const char *recipe, const int64_t *values, uint32_t n)
{
    if (!state->interp)
        return recipe_bad();
    struct recipe r = {state, recipe, values, n, 0};
    return recipe_make(&r);
}
