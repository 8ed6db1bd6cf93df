/* warn: warnings to Python's own machinery.
 *
 * Categories are made from the class table of warnings.def. What a compilation found is shown once
 * it is done, with the kernel's file and line and the registry of the kernel's module, so filters,
 * `-W error` and "once per place" mean what they always mean; what a launch finds out about itself
 * carries the caller's line. A filter that makes errors of them fails the launch, which compiles
 * again next time. */
#include "pymod/pm.h"

#include <stdlib.h>

bool
pm_warnings_init(struct pm_state *state, PyObject *module)
{
    state->warning = PyErr_NewExceptionWithDoc("gpu.Warning", "Everything that gpu warns of.",
                                               PyExc_UserWarning, NULL);
    if (!state->warning || PyModule_AddObjectRef(module, "Warning", state->warning) < 0)
        return false;
    for (int i = 0; i < SP_N_WARNING_CLASSES; i++) {
        char path[80];
        const char *name = sp_warning_class_name((enum sp_warning_class)i);
        PyOS_snprintf(path, sizeof path, "gpu.%s", name);
        state->warnings[i] = PyErr_NewExceptionWithDoc(
            path, sp_warning_class_doc((enum sp_warning_class)i), state->warning, NULL);
        if (!state->warnings[i] || PyModule_AddObjectRef(module, name, state->warnings[i]) < 0)
            return false;
    }
    return true;
}

/* The kernel's module remembers what was shown: `__warningregistry__` of its globals. */
static PyObject *
warn_registry(PyObject *function, PyObject **module_out)
{
    PyObject *globals = PyObject_GetAttrString(function, "__globals__");
    *module_out = PyObject_GetAttrString(function, "__module__");
    PyObject *registry = NULL;
    if (globals && PyDict_Check(globals)) {
        registry = Py_XNewRef(PyDict_GetItemString(globals, "__warningregistry__"));
        if (!registry && (registry = PyDict_New()) &&
            PyDict_SetItemString(globals, "__warningregistry__", registry) < 0)
            Py_CLEAR(registry);
    }
    PyErr_Clear();
    Py_XDECREF(globals);
    return registry;
}

bool
pm_warn_compiled(struct pm_kernel *kernel, const struct sp_warnings *warnings)
{
    if (!warnings->n)
        return true;
    PyObject *module, *registry = warn_registry(kernel->function, &module);
    const char *module_name = NULL;
    Py_ssize_t len;
    if (module && PyUnicode_Check(module))
        module_name = PyUnicode_AsUTF8AndSize(module, &len);
    PyErr_Clear();
    bool ok = true;
    for (uint32_t i = 0; ok && i < warnings->n; i++) {
        const struct sp_warning *warning = &warnings->data[i];
        PyObject *category = kernel->state->warnings[sp_warning_class(warning->code)];
        const char *file = warning->where.file ? warning->where.file : "<unknown>";
        ok = PyErr_WarnExplicit(category, warning->text, file, (int)warning->where.line,
                                module_name, registry) == 0;
    }
    Py_XDECREF(registry);
    Py_XDECREF(module);
    return ok;
}

/* Called by jit() for an option of the decorator: the line is that of jit()'s caller. */
PyObject *
pm_warn_option(PyObject *module, PyObject *args)
{
    enum { LEVEL = 3 }; /* _options, jit, its caller */
    struct pm_state *state = PyModule_GetState(module);
    const char *name, *instead;
    if (!PyArg_ParseTuple(args, "ss:_warn_option", &name, &instead))
        return NULL;
    char *text = sp_warning_text(SP_W_IGNORED_OPTION, name, instead);
    PyObject *category = state->warnings[sp_warning_class(SP_W_IGNORED_OPTION)];
    bool ok = PyErr_WarnEx(category, text, LEVEL) == 0;
    free(text);
    return ok ? Py_NewRef(Py_None) : NULL;
}

bool
pm_warn_launch(struct pm_state *state, enum sp_warning_code code, char *text)
{
    PyObject *category = state->warnings[sp_warning_class(code)];
    bool ok = PyErr_WarnEx(category, text, 1) == 0;
    free(text);
    return ok;
}
