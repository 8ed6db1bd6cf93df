/* bind: positional and keyword values of a call in the order of the kernel's parameters.
 *
 * Which value goes where is worked out once per shape of call (number of positional values, tuple
 * of keywords) and kept with the reading; defaults are objects of the function, watched by its
 * guards. Errors say what Python would, before anything runs. */
#include "pymod/pm.h"

#include <string.h>

#define BIND_NONE INT32_MIN

/* The names of the parameters that can be given by position. */
static void
bind_hint_names(const struct ir_func *func, uint32_t n, struct sp_diag *diag)
{
    struct sp_str names;
    sp_str_init(&names);
    for (uint32_t i = 0; i < n && i < 20; i++)
        sp_str_printf(&names, "%s%s", i ? ", " : "", func->params[i].name);
    if (n)
        sp_diag_hint(diag, "its parameters are %s%s", names.data, n > 20 ? ", ..." : "");
    sp_str_finish(&names);
}

static bool
bind_fail_count(struct pm_kernel *kernel, const struct pm_reading *reading, Py_ssize_t n_args)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    char takes[64];
    uint32_t n_most = func->n_params - func->n_kwonly, n_least = 0;
    while (n_least < n_most && !reading->defaults[n_least])
        n_least++;
    if (reading->has_varargs)
        PyOS_snprintf(takes, sizeof takes, "%u or more arguments", n_least);
    else if (n_least < n_most)
        PyOS_snprintf(takes, sizeof takes, "%u to %u arguments", n_least, n_most);
    else
        PyOS_snprintf(takes, sizeof takes, "%u argument%s", n_most, n_most == 1 ? "" : "s");
    struct sp_diag diag;
    sp_diag_init(&diag);
    (void)sp_diag_set(&diag, SP_E_CALL_COUNT, NULL, kernel->name_utf8, takes, (int)n_args);
    bind_hint_names(func, n_most, &diag);
    return pm_raise(kernel->state, &diag);
}

static bool
bind_fail_keyword(struct pm_kernel *kernel, const struct ir_func *func, const char *name)
{
    char reason[80];
    struct ir_suggest suggest;
    ir_suggest_init(&suggest, name);
    for (uint32_t i = func->n_posonly; i < func->n_params; i++)
        ir_suggest_try(&suggest, func->params[i].name);
    PyOS_snprintf(reason, sizeof reason,
                  suggest.best[0] ? "there is no such parameter; did you mean '%s'?"
                                  : "there is no such parameter",
                  suggest.best);
    char label[PM_LABEL_B];
    PyOS_snprintf(label, sizeof label, "'%.60s'", name);
    return pm_fail(kernel->state, CALL_ARGUMENT, label, kernel->name_utf8, reason);
}

static bool
bind_keyword(struct pm_kernel *kernel, struct pm_reading *reading, const char *name,
             int32_t position, int32_t *shape)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    for (uint32_t i = func->n_posonly; i < func->n_params; i++) {
        if (strcmp(func->params[i].name, name))
            continue;
        if (shape[i] != BIND_NONE)
            return pm_arg_fail(kernel, reading, i, "is given twice; leave one of the two away");
        shape[i] = position;
        return true;
    }
    return bind_fail_keyword(kernel, func, name);
}

static bool
bind_fail_missing(struct pm_kernel *kernel, const struct pm_reading *reading, uint32_t i)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    char reason[120];
    PyOS_snprintf(reason, sizeof reason, "is missing; add %.60s=...", func->params[i].name);
    return pm_arg_fail(kernel, reading, i,
                       i < func->n_posonly ? "is missing; it is given by position" : reason);
}

static bool
bind_shape(struct pm_kernel *kernel, struct pm_reading *reading, Py_ssize_t n_args,
           PyObject *kwnames, int32_t *shape)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    uint32_t n = reading->n_params;
    Py_ssize_t n_most = (Py_ssize_t)(n - func->n_kwonly);
    if (n_args > n_most && !reading->has_varargs)
        return bind_fail_count(kernel, reading, n_args);
    for (uint32_t i = 0; i < n; i++)
        shape[i] = (Py_ssize_t)i < n_args && (Py_ssize_t)i < n_most ? (int32_t)i : BIND_NONE;
    Py_ssize_t n_names = kwnames ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t k = 0; k < n_names; k++) {
        Py_ssize_t len;
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kwnames, k), &len);
        if (!name || !bind_keyword(kernel, reading, name, (int32_t)(n_args + k), shape))
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (shape[i] != BIND_NONE)
            continue;
        if (!reading->defaults[i]) {
            if (n_names == 0 && i < n - func->n_kwonly)
                return bind_fail_count(kernel, reading, n_args);
            return bind_fail_missing(kernel, reading, i);
        }
        shape[i] = -1 - (int32_t)i;
    }
    return true;
}

/* Keyword names are interned: the same call site brings the same tuple, others equal ones. */
static bool
bind_is_same(const struct pm_reading *reading, Py_ssize_t n_args, PyObject *kwnames)
{
    if (reading->shape_n_args != n_args)
        return false;
    if (reading->shape_names == kwnames)
        return true;
    if (!reading->shape_names || !kwnames)
        return false;
    PyObject *names = Py_NewRef(reading->shape_names);
    bool same = PyObject_RichCompareBool(names, kwnames, Py_EQ) == 1;
    PyErr_Clear();
    /* Keywords may be of a class with an __eq__ of its own, which may have called this kernel. */
    same = same && names == reading->shape_names && n_args == reading->shape_n_args;
    Py_DECREF(names);
    return same;
}

/* What *args holds. */
static bool
bind_extra(const struct pm_reading *reading, PyObject *const *args, Py_ssize_t n_args,
           PyObject **extra_out)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    Py_ssize_t first = (Py_ssize_t)(func->n_params - func->n_kwonly);
    Py_ssize_t n = n_args > first ? n_args - first : 0;
    PyObject *extra = PyTuple_New(n);
    for (Py_ssize_t i = 0; extra && i < n; i++)
        PyTuple_SetItem(extra, i, Py_NewRef(args[first + i]));
    *extra_out = extra;
    return extra != NULL;
}

bool
pm_bind(struct pm_kernel *kernel, struct pm_reading *reading, PyObject *const *args,
        Py_ssize_t n_args, PyObject *kwnames, PyObject **values)
{
    if (kwnames && PyTuple_Size(kwnames) == 0)
        kwnames = NULL;
    if (!bind_is_same(reading, n_args, kwnames)) {
        reading->shape_n_args = -1;
        Py_CLEAR(reading->shape_names);
        if (!bind_shape(kernel, reading, n_args, kwnames, reading->shape))
            return false;
        reading->shape_n_args = n_args;
        reading->shape_names = Py_XNewRef(kwnames);
    }
    for (uint32_t i = 0; i < reading->n_params; i++) {
        int32_t from = reading->shape[i];
        values[i] = from >= 0 ? args[from] : reading->defaults[-1 - from];
    }
    return !reading->has_varargs || bind_extra(reading, args, n_args, &values[reading->n_params]);
}
