/* specialize: kernel.specialize(arguments), a kernel for these types alone.
 *
 * In: arguments as a launch has them, or one text with a signature. Out: a new kernel of the same
 * function and options that declares their signature and is compiled for it already. */
#include "pymod/call_t.h"

#include <stdlib.h>
#include <string.h>

/* The signature of the arguments as a text; NULL with an exception. */
static PyObject *
specialize_signature(struct pm_kernel *kernel, const struct begun *begun, PyObject *args)
{
    struct pm_reading *reading = begun->reading;
    struct pm_launcher launcher = {.kernel = kernel};
    struct call call;
    Py_ssize_t n_args = PyTuple_Size(args);
    PyObject **given = sp_alloc((size_t)(n_args + 1) * sizeof *given);
    PyObject **values = sp_alloc((reading->n_params + 1) * sizeof *values);
    for (Py_ssize_t i = 0; i < n_args; i++)
        given[i] = PyTuple_GetItem(args, i);
    values[reading->n_params] = NULL;
    pm_call_init(&call, &launcher, begun);
    bool ok = pm_bind(kernel, reading, given, n_args, NULL, values) && pm_call_take(&call, values);
    PyObject *text = NULL;
    for (uint32_t i = 0; ok && i < call.n_args; i++) {
        call.types[i] = call.args[i].type;
        if (call.args[i].type.kind == IR_ARG_OBJECT)
            ok = pm_call_fail(&call, i,
                              "functions, dtypes and None have no place in a signature; "
                              "make them globals of the kernel, or leave specialize away");
    }
    if (ok) {
        struct sp_str signature;
        sp_str_init(&signature);
        ir_signature_print(call.types, call.n_args, &signature);
        text = PyUnicode_FromString(signature.data);
        sp_str_finish(&signature);
    }
    pm_call_finish(&call);
    Py_XDECREF(values[reading->n_params]);
    free(values);
    free(given);
    return text;
}

/* Compiles what the kernel declares for the current device. */
static bool
specialize_compile(struct pm_kernel *kernel)
{
    struct begun begun;
    if (!pm_call_begin(kernel, &begun))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && !begun.place->python && i < kernel->n_declared; i++)
        ok = pm_entry_get(kernel, begun.reading, begun.place->dev, kernel->declared[i].args,
                          kernel->declared[i].n);
    pm_reading_unref(begun.reading);
    return ok;
}

PyObject *
pm_kernel_specialize(PyObject *object, PyObject *args)
{
    struct pm_kernel *kernel = (struct pm_kernel *)object;
    PyObject *text = NULL, *made = NULL;
    struct begun begun;
    if (kernel->is_device)
        return pm_fail(kernel->state, BAD_CONFIGURATION,
                       "a device function (device=True) is compiled with the kernel that calls it");
    if (PyTuple_Size(args) == 1 && PyUnicode_Check(PyTuple_GetItem(args, 0))) {
        text = Py_NewRef(PyTuple_GetItem(args, 0));
    } else if (pm_call_begin(kernel, &begun)) {
        text = specialize_signature(kernel, &begun, args);
        pm_reading_unref(begun.reading);
    }
    if (text)
        made = PyObject_CallFunction((PyObject *)Py_TYPE(object), "O(O)O", kernel->function, text,
                                     kernel->options);
    Py_XDECREF(text);
    if (made && !specialize_compile((struct pm_kernel *)made))
        Py_CLEAR(made);
    return made;
}
