/* pydevice: launches on the python device, whose arrays are in the memory of the CPU device.
 *
 * In: a call whose values are bound and classified as for any device, so that the host's errors are
 * the same. Out: the package gpu._python, imported now, runs the kernel's function; it returns the
 * exception of the first thread that raised, or None. As on other devices that waits for the next
 * synchronisation; with host arrays the launch is one. */
#include "pymod/pm.h"

#define PYDEVICE_MAX_SHOWN 64

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
        if (args[i].type.kind != IR_ARG_SCALAR || args[i].type.elem || param >= from->n ||
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

/* Takes the thread's own exception out of either dictionary; a new reference, or NULL. */
static PyObject *
pydevice_take_own(struct pm_state *state, PyObject *thread)
{
    PyObject *dicts[] = {state->raised, state->raised_shown};
    for (int i = 0; i < 2; i++) {
        PyObject *exception = dicts[i] ? PyDict_GetItemWithError(dicts[i], thread) : NULL;
        Py_XINCREF(exception);
        if (exception && PyDict_DelItem(dicts[i], thread) == 0)
            return exception;
        Py_XDECREF(exception);
    }
    return NULL;
}

/* The first of a thread, as on other devices. */
static bool
pydevice_keep(struct pm_state *state, PyObject *thread, PyObject *exception)
{
    if (!exception || exception == Py_None)
        return true;
    if (!state->raised)
        state->raised = PyDict_New();
    return state->raised && PyDict_SetItem(state->raised, thread, exception) == 0;
}

/* The oldest exception of another thread that nobody raised; that thread gets it too. */
static PyObject *
pydevice_take_other(struct pm_state *state)
{
    PyObject *thread, *exception;
    Py_ssize_t at = 0;
    if (!state->raised || !PyDict_Next(state->raised, &at, &thread, &exception))
        return NULL;
    Py_INCREF(thread);
    Py_INCREF(exception);
    if (!state->raised_shown)
        state->raised_shown = PyDict_New();
    else if (PyDict_Size(state->raised_shown) >= PYDEVICE_MAX_SHOWN)
        PyDict_Clear(state->raised_shown); /* of threads that ended without a wait, mostly */
    if (state->raised_shown && PyDict_SetItem(state->raised_shown, thread, exception) == 0)
        (void)PyDict_DelItem(state->raised, thread);
    Py_DECREF(thread);
    return exception;
}

static PyObject *
pydevice_thread(void)
{
    return PyLong_FromUnsignedLongLong(pm_thread());
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
    PyObject *thread = pydevice_thread();
    if (!thread)
        return false;
    /* Looking at the memory of arrays waits, but is no wait of the program's. */
    PyObject *before = pydevice_take_own(state, thread);
    pm_quiet_begin(state);
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
    pm_quiet_end(state);
    bool ok = exception && pydevice_keep(state, thread, before ? before : exception);
    bool on_host = false;
    Py_XDECREF(before);
    Py_XDECREF(exception);
    Py_DECREF(thread);
    for (uint32_t i = 0; i < n; i++)
        on_host |= args[i].foreign && args[i].foreign->on_host;
    pm_quiet_begin(state);
    ok = ok && (!on_host || pm_wait(state, dev, NULL));
    pm_quiet_end(state);
    return ok;
}

bool
pm_pydevice_raise(struct pm_state *state, bool own_only)
{
    PyObject *thread = state->raised || state->raised_shown ? pydevice_thread() : NULL;
    PyObject *exception = thread ? pydevice_take_own(state, thread) : NULL;
    Py_XDECREF(thread);
    if (!exception && !own_only)
        exception = pydevice_take_other(state);
    if (!exception)
        return true;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return false;
}
