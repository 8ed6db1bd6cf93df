/* error: diagnostics in, Python exceptions out.
 *
 * The classes are made from the class table of errors.def when the module is created: each is
 * gpu.Error and, where the table names one, a builtin class too. The text is sp_diag_print's;
 * source lines come from gpu/_source.py, which knows interactive input, zip files and files that
 * were deleted since they were read. The place is also given as attributes. Sources are the table
 * alone: no class is named here. What a kernel's own `raise` says is made by recipe.c, of the
 * program's class. */
#include "pymod/pm.h"

#include <string.h>

static PyObject *
error_class_create(const char *name, PyObject *base, const char *builtin)
{
    PyObject *bases = NULL;
    if (builtin[0]) {
        PyObject *builtins = PyImport_ImportModule("builtins");
        PyObject *other = builtins ? PyObject_GetAttrString(builtins, builtin) : NULL;
        bases = other ? PyTuple_Pack(2, base, other) : NULL;
        Py_XDECREF(other);
        Py_XDECREF(builtins);
        if (!bases)
            return NULL;
    }
    char path[80];
    PyOS_snprintf(path, sizeof path, "gpu.%s", name);
    PyObject *class = PyErr_NewException(path, bases ? bases : base, NULL);
    Py_XDECREF(bases);
    return class;
}

bool
pm_errors_init(struct pm_state *state, PyObject *module)
{
    state->error = PyErr_NewExceptionWithDoc(
        "gpu.Error",
        "Everything that gpu raises. Attributes: code, filename, lineno, offset, hint.", NULL,
        NULL);
    if (!state->error || PyModule_AddObjectRef(module, "Error", state->error) < 0)
        return false;
    for (int i = 0; i < SP_N_ERROR_CLASSES; i++) {
        const char *name = sp_error_class_name((enum sp_error_class)i);
        const char *builtin = sp_error_class_builtin((enum sp_error_class)i);
        state->errors[i] = error_class_create(name, state->error, builtin);
        if (!state->errors[i] || PyModule_AddObjectRef(module, name, state->errors[i]) < 0)
            return false;
    }
    return true;
}

static bool
error_source_line(void *context, const char *file, int32_t line, struct sp_str *out)
{
    (void)context;
    PyObject *source = PyImport_ImportModule("gpu._source");
    PyObject *text = source ? PyObject_CallMethod(source, "line", "si", file, (int)line) : NULL;
    Py_ssize_t len = 0;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    while (utf8 && len > 0 && (utf8[len - 1] == '\n' || utf8[len - 1] == '\r'))
        len--;
    if (utf8)
        sp_str_add_n(out, utf8, (size_t)len);
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(source);
    return len > 0;
}

/* What a class of the program's or of Python's has itself (OSError.filename, SystemExit.code)
 * stays. */
static void
error_set(PyObject *exception, const char *name, PyObject *value)
{
    PyObject *given = value ? value : Py_NewRef(Py_None);
    PyObject *own = PyObject_GetAttrString(exception, name);
    PyErr_Clear();
    if (!own && PyObject_SetAttrString(exception, name, given) < 0)
        PyErr_Clear();
    Py_XDECREF(own);
    Py_DECREF(given);
}

static PyObject *
error_text(const char *text)
{
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : NULL;
}

/* Whether an exception is on its way that says more than ours; another one gives way to it. */
static bool
error_is_interrupt(void)
{
    if (!PyErr_Occurred())
        return false;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return true;
    PyErr_Clear();
    return false;
}

static PyObject *
error_indices(const uint32_t *indices)
{
    return Py_BuildValue("(III)", indices[0], indices[1], indices[2]);
}

/* The place, as attributes. What does not take attributes goes without. */
static void
error_set_place(PyObject *exception, const struct sp_diag *diag)
{
    const struct sp_src *where = &diag->where;
    error_set(exception, "code", error_text(sp_error_name(diag->code)));
    error_set(exception, "filename", error_text(where->file));
    error_set(exception, "lineno", where->line ? PyLong_FromLong(where->line) : NULL);
    error_set(exception, "offset", where->col >= 0 ? PyLong_FromLong(where->col) : NULL);
    error_set(exception, "hint", error_text(diag->hint));
    if (!diag->raised)
        return;
    error_set(exception, "function", error_text(where->function));
    error_set(exception, "kernel", error_text(diag->raised->kernel));
    error_set(exception, "block", error_indices(diag->raised->block));
    error_set(exception, "thread", error_indices(diag->raised->thread));
}

/* What says what the program wrote or Python says: a note says where. */
static void
error_add_note(PyObject *exception, const struct sp_diag *diag, const char *kernel,
               const char *text)
{
    PyObject *note = PyUnicode_FromFormat("in kernel '%s':%s", kernel ? kernel : "",
                                          text + (diag->message ? strlen(diag->message) : 0));
    PyObject *none = note ? PyObject_CallMethod(exception, "add_note", "O", note) : NULL;
    PyErr_Clear();
    Py_XDECREF(none);
    Py_XDECREF(note);
}

/* An exception of the program's own. */
static PyObject *
error_of_program(struct pm_state *state, const struct sp_diag *diag, const char *text)
{
    const struct sp_raised *raised = diag->raised;
    PyObject *exception = pm_recipe_make(state, raised->recipe, raised->values, raised->n_values);
    if (exception)
        error_add_note(exception, diag, raised->kernel, text);
    return exception;
}

/* Of our own classes; an exception on its way becomes its cause. */
static PyObject *
error_of_ours(struct pm_state *state, const struct sp_diag *diag, const char *text)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *message = error_text(text);
    PyObject *class = state->errors[sp_error_class(diag->code)];
    PyObject *exception = message ? PyObject_CallFunctionObjArgs(class, message, NULL) : NULL;
    Py_XDECREF(message);
    if (exception && value)
        PyException_SetCause(exception, Py_NewRef(value));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return exception;
}

void *
pm_raise(struct pm_state *state, struct sp_diag *diag)
{
    if (error_is_interrupt()) {
        sp_diag_finish(diag);
        return NULL;
    }
    struct sp_str text;
    sp_str_init(&text);
    sp_diag_print(diag, error_source_line, NULL, &text);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    PyObject *exception = NULL;
    if (diag->raised && diag->raised->recipe)
        exception = error_of_program(state, diag, text.data);
    if (!exception)
        exception = error_of_ours(state, diag, text.data);
    sp_str_finish(&text);
    if (exception) {
        error_set_place(exception, diag);
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    sp_diag_finish(diag);
    return NULL;
}

void
pm_error_place(PyObject *exception, const struct sp_diag *diag, const char *kernel)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_diag_print(diag, error_source_line, NULL, &text);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    error_add_note(exception, diag, kernel, text.data);
    error_set_place(exception, diag);
    error_set(exception, "function", error_text(diag->where.function));
    error_set(exception, "kernel", error_text(kernel));
    sp_str_finish(&text);
}
