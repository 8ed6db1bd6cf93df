/* pydevice: launches on the python device, whose arrays are in the memory of the CPU device.
 *
 * In: a call whose values are bound and classified as for any device, so that the host's errors are the
 * same. Out: the package gpu._python, imported now, runs the kernel's function; it returns the exception
 * of the first thread that raised, or None. As on other devices that waits for the next
 * synchronisation; with host arrays the launch is one. */
#include "pymod/pm.h"

/* One per parameter; the last of *args may be NULL: none. */
struct pydevice_values {
    PyObject *const *values;
    uint32_t n;
};

static bool
pydevice_check_limits(struct pm_launcher *launcher, struct rt_device *dev)
{
    const struct pm_config *config = &launcher->config;
    struct sp_diag diag;
    sp_diag_init(&diag);
    return rt_limits_check(rt_device_info(dev), NULL, config->grid, config->block, config->shared_B,
                           &diag) ||
           pm_raise(launcher->kernel->state, &diag);
}

/* Of each parameter that is a number the type's name, None for the others. */
static PyObject *
pydevice_types(const struct pydevice_values *from, const struct pm_arg *args, uint32_t n)
{
    PyObject *types = PyTuple_New(from->n);
    for (uint32_t i = 0; types && i < from->n; i++)
        PyTuple_SetItem(types, i, Py_NewRef(Py_None));
    for (uint32_t i = 0; types && i < n; i++) {
        uint32_t param = args[i].param;
        if (args[i].type.kind != IR_ARG_SCALAR || param >= from->n ||
            args[i].object != from->values[param])
            continue;
        PyObject *name = PyUnicode_FromString(ir_scalar_row(args[i].type.dtype)->name);
        if (!name)
            Py_CLEAR(types);
        else
            PyTuple_SetItem(types, param, name);
    }
    return types;
}

static PyObject *
pydevice_tuple(const struct pydevice_values *from)
{
    PyObject *tuple = PyTuple_New(from->n);
    for (uint32_t i = 0; tuple && i < from->n; i++) {
        PyObject *value = from->values[i] ? Py_NewRef(from->values[i]) : PyTuple_New(0);
        if (!value)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, i, value);
    }
    return tuple;
}

static bool
pydevice_keep(struct pm_state *state, PyObject *exception)
{
    if (exception != Py_None && !state->raised)
        state->raised = Py_NewRef(exception);
    return true;
}

bool
pm_pydevice_run(struct pm_launcher *launcher, struct rt_device *dev, PyObject *const *values,
                uint32_t n_values, const struct pm_arg *args, uint32_t n)
{
    struct pm_kernel *kernel = launcher->kernel;
    struct pm_state *state = kernel->state;
    const int64_t *grid = launcher->config.grid, *block = launcher->config.block;
    if (!pydevice_check_limits(launcher, dev))
        return false;
    struct pydevice_values from = {values, n_values};
    PyObject *before = state->raised; /* looking at the memory of arrays waits, but is no wait */
    state->raised = NULL;
    PyObject *module = PyImport_ImportModule("gpu._python.launch");
    PyObject *types = module ? pydevice_types(&from, args, n) : NULL;
    PyObject *tuple = types ? pydevice_tuple(&from) : NULL;
    PyObject *exception =
        tuple ? PyObject_CallMethod(module, "launch", "O(LLL)(LLL)LOO", (PyObject *)kernel,
                                    (long long)grid[0], (long long)grid[1], (long long)grid[2],
                                    (long long)block[0], (long long)block[1], (long long)block[2],
                                    (long long)launcher->config.shared_B, tuple, types)
              : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(types);
    Py_XDECREF(module);
    Py_XDECREF(state->raised);
    state->raised = before;
    bool ok = exception && pydevice_keep(state, exception), on_host = false;
    Py_XDECREF(exception);
    for (uint32_t i = 0; i < n; i++)
        on_host |= args[i].foreign && args[i].foreign->on_host;
    return ok && (!on_host || pm_wait(state, dev, NULL));
}

bool
pm_pydevice_raise(struct pm_state *state)
{
    PyObject *exception = state->raised;
    if (!exception)
        return true;
    state->raised = NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return false;
}
