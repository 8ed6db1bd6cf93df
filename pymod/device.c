/* device: waiting for a device, and what is known of it.
 *
 * A wait drops the GIL for a tenth of a second at a time so that Ctrl-C is seen; on the CPU device
 * it stops the kernel. That the CPU device stands in for a GPU is said once on stderr, when the
 * first kernel is launched. */
#include "pymod/pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 100

void
pm_device_print(const struct rt_device *dev, char text[24])
{
    if (rt_device_info(dev)->kind == RT_CPU)
        snprintf(text, 24, "cpu");
    else
        snprintf(text, 24, "cuda:%d%s", rt_device_info(dev)->ordinal,
                 rt_device_info(dev)->is_adopted ? " (own context)" : "");
}

/* CUDA_LAUNCH_BLOCKING makes the driver wait, and then it is the launch that fails. */
bool
pm_launch_blocking(void)
{
    static const char *const names[] = {"GPUJIT_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && strcmp(value, "0"))
            return true;
    }
    return false;
}

void
pm_announce(struct pm_state *state)
{
    state->announce = false;
    state->announced = true;
    const struct rt_driver *driver = rt_runtime_driver(state->rt);
    char line[400];
    PyOS_snprintf(line, sizeof line,
                  "gpujit: no GPU here (%.240s); kernels run on the CPU device "
                  "(GPUJIT_DEVICE=cpu says so without this line)\n",
                  driver->why_not[0] ? driver->why_not : "the driver has no device");
    PySys_WriteStderr("%s", line);
}

void
pm_keep(struct pm_state *state, struct sp_diag *diag)
{
    if (state->pending.code == SP_OK)
        state->pending = *diag;
    else
        sp_diag_finish(diag);
}

uint64_t
pm_thread(void)
{
    return PyThreadState_GetID(PyThreadState_Get());
}

void
pm_quiet_begin(struct pm_state *state)
{
    sp_vec_push(NULL, &state->quiet, pm_thread());
}

void
pm_quiet_end(struct pm_state *state)
{
    uint64_t thread = pm_thread();
    uint32_t i = state->quiet.len - 1;
    while (state->quiet.data[i] != thread)
        i--;
    state->quiet.data[i] = sp_vec_pop(&state->quiet);
}

static bool
device_is_quiet(const struct pm_state *state, uint64_t thread)
{
    for (uint32_t i = 0; i < state->quiet.len; i++)
        if (state->quiet.data[i] == thread)
            return true;
    return false;
}

bool
pm_waited(struct pm_state *state, struct rt_device *dev, bool ok, struct sp_diag *diag)
{
    if (!pm_print(state, dev)) {
        if (!ok)
            pm_keep(state, diag);
        return false;
    }
    if (!ok)
        pm_raise(state, diag);
    return ok;
}

/* Between two looks at the device: signals, and what was printed so far unless writing has
 * failed. */
static bool
device_look(struct pm_state *state, struct rt_device *dev, bool *interrupted_out, bool failed)
{
    *interrupted_out = PyErr_CheckSignals() < 0;
    if (*interrupted_out)
        return false;
    if (failed || pm_print(state, dev))
        return true;
    *interrupted_out = !PyErr_ExceptionMatches(PyExc_Exception); /* a signal's, amid the writing */
    return false;
}

bool
pm_wait_over(struct pm_state *state, struct rt_device *dev, const struct rt_wait *wait,
             struct sp_diag *diag)
{
    struct rt_wait slice = *wait;
    PyObject *type = NULL, *value = NULL, *traceback = NULL; /* of writing, which stops no kernel */
    bool done = false, ok, interrupted = false;
    slice.timeout_ms = WAIT_MS;
    do {
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_wait_for(dev, &slice, &done, diag);
        Py_END_ALLOW_THREADS
        if (!ok || done || interrupted || device_look(state, dev, &interrupted, type != NULL))
            continue;
        if (rt_device_info(dev)->kind != RT_CPU)
            return false;
        if (interrupted)
            rt_device_cancel(dev);
        else
            PyErr_Fetch(&type, &value, &traceback);
    } while (ok && !done);
    if (!interrupted && !type)
        return true;
    if (!interrupted) {
        PyErr_Restore(type, value, traceback);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    pm_print_beside(state, dev);
    return false;
}

static bool
device_wait(struct pm_state *state, struct rt_device *dev, struct rt_wait wait)
{
    wait.thread = pm_thread();
    wait.own_only = device_is_quiet(state, wait.thread);
    struct sp_diag diag;
    sp_diag_init(&diag);
    state->n_queued = 0;
    if (!pm_wait_over(state, dev, &wait, &diag)) {
        sp_diag_finish(&diag);
        return false;
    }
    bool ok = diag.code == SP_OK;
    if (ok && state->pending.code != SP_OK) {
        diag = state->pending;
        sp_diag_init(&state->pending);
        ok = false;
    }
    if (state->retired.len)
        pm_memory_reap(state, false);
    return pm_waited(state, dev, ok, &diag) && pm_pydevice_raise(state, wait.own_only);
}

bool
pm_wait(struct pm_state *state, struct rt_device *dev, const rt_stream *stream)
{
    return device_wait(state, dev, (struct rt_wait){.stream = stream});
}

bool
pm_wait_event(struct pm_state *state, struct rt_event *event)
{
    return device_wait(state, event->dev, (struct rt_wait){.event = event});
}

bool
pm_device_arch(struct pm_state *state, struct rt_device *dev, struct cg_arch *arch_out,
               uint16_t *ptx_cap_out)
{
    const struct rt_info *info = rt_device_info(dev);
    struct sp_diag diag;
    sp_diag_init(&diag);
    *arch_out = (struct cg_arch){0};
    *ptx_cap_out = 0;
    if (info->kind == RT_CPU)
        return true;
    if (!cg_target_for_capability(info->cc_major, info->cc_minor, arch_out, &diag))
        return pm_raise(state, &diag);
    *ptx_cap_out = cg_ptx_for_driver(info->driver_version);
    return true;
}

bool
pm_arch_for_text(struct pm_state *state, const char *text, struct cg_arch *arch_out,
                 uint16_t *ptx_cap_out)
{
    *ptx_cap_out = 0;
    if (text) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        return cg_target_parse(text, arch_out, &diag) || pm_raise(state, &diag);
    }
    const struct rt_driver *driver = rt_runtime_driver(state->rt);
    struct rt_device *chosen = pm_device_if_chosen(state);
    if (chosen && rt_device_info(chosen)->kind == RT_CUDA)
        return pm_device_arch(state, chosen, arch_out, ptx_cap_out);
    if (driver->found && driver->n_devices > 0) {
        struct rt_device *dev = pm_device_open(state, RT_CUDA, 0);
        return dev && pm_device_arch(state, dev, arch_out, ptx_cap_out);
    }
    uint32_t n;
    *arch_out = cg_archs(&n)[0];
    return true;
}

/* The architecture that ptx() is made for when none is named. */
PyObject *
pm_default_arch(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct cg_arch arch;
    uint16_t ptx_cap;
    if (!pm_arch_for_text(PyModule_GetState(module), NULL, &arch, &ptx_cap))
        return NULL;
    return PyUnicode_FromFormat("sm_%d", (int)arch.sm);
}

/* device_info(name or None): of the device "cuda:1", "cpu" or "python", or of the current one. */
PyObject *
pm_device_info(PyObject *module, PyObject *which)
{
    struct pm_state *state = PyModule_GetState(module);
    const struct pm_place *place =
        which == Py_None ? pm_place(state) : pm_place_parse(state, which);
    if (!place)
        return NULL;
    const struct rt_info *info = rt_device_info(place->dev);
    const char *kind = place->python ? "python" : info->kind == RT_CPU ? "cpu" : "cuda";
    return Py_BuildValue("{s:s,s:s,s:i,s:s,s:(ii),s:K,s:I,s:I,s:I,s:I,s:y#,s:s}", "name",
                         info->name, "kind", kind, "ordinal", info->ordinal, "target", info->target,
                         "compute_capability", info->cc_major, info->cc_minor, "memory",
                         (unsigned long long)info->memory_B, "processors", info->n_processors,
                         "warp_size", info->warp_size, "max_threads", info->max_threads,
                         "shared_memory", info->shared_optin_B, "uuid", (const char *)info->uuid,
                         (Py_ssize_t)sizeof info->uuid, "pci", info->pci);
}

/* How many GPUs the driver has. */
PyObject *
pm_gpu_count(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    const struct rt_driver *driver;
    Py_BEGIN_ALLOW_THREADS
    driver = rt_runtime_driver(state->rt);
    Py_END_ALLOW_THREADS
    return PyLong_FromUnsignedLong(driver->found ? driver->n_devices : 0);
}

/* device_attribute(device, name): by the upper-case name; None: there is no such name. */
PyObject *
pm_device_attribute(PyObject *module, PyObject *args)
{
    static const struct {
        const char *name;
        int number;
    } rows[] = {
#define RT_ATTRIBUTE(name, number, cpu) {#name, number},
#include "runtime/attributes.def"
    };
    struct pm_state *state = PyModule_GetState(module);
    PyObject *which;
    const char *name;
    int value;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!PyArg_ParseTuple(args, "Os:device_attribute", &which, &name))
        return NULL;
    const struct pm_place *place = pm_place_parse(state, which);
    if (!place)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name))
            continue;
        if (!rt_device_attribute(place->dev, rows[i].number, &value, &diag))
            return pm_raise(state, &diag);
        return PyLong_FromLong(value);
    }
    Py_RETURN_NONE;
}

/* The names that device_attribute knows. */
PyObject *
pm_device_attributes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    static const char *const names[] = {
#define RT_ATTRIBUTE(name, number, cpu) #name,
#include "runtime/attributes.def"
    };
    Py_ssize_t n = sizeof names / sizeof names[0];
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyTuple_SetItem(tuple, i, name) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *
pm_is_available(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    const struct rt_driver *driver;
    Py_BEGIN_ALLOW_THREADS
    driver = rt_runtime_driver(state->rt);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(driver->found && driver->n_devices > 0);
}

PyObject *
pm_synchronize(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    if (!dev || !pm_wait(state, dev, NULL))
        return NULL;
    Py_RETURN_NONE;
}

/* What the driver, the compiler and libdevice say of themselves, for `gpujit info`. */
PyObject *
pm_info_text(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    struct sp_str text, path, looked;
    sp_str_init(&text);
    sp_str_init(&path);
    sp_str_init(&looked);
    bool found;
    Py_BEGIN_ALLOW_THREADS
    rt_print_info(state->rt, &text);
    found = cg_libdevice_find(state->cg, getenv("GPUJIT_LIBDEVICE"), &path, &looked);
    Py_END_ALLOW_THREADS
    PyObject *info = Py_BuildValue("(szss)", text.data, found ? path.data : NULL, looked.data,
                                   cg_llvm_version());
    sp_str_finish(&text);
    sp_str_finish(&path);
    sp_str_finish(&looked);
    return info;
}
