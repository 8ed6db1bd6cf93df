/* place: where a thread's kernels run and its arrays go: a device, or the python device.
 *
 * Each thread has a place of its own, in thread-specific storage. One that has chosen nothing
 * starts at the context that is current in it, whoever made that, else where the program starts:
 * what GPUJIT_DEVICE names, else the kind of device that the main thread has chosen, else the first
 * GPU, else the CPU device. On GPUs the driver's current context is what counts at every call, as
 * for torch, CuPy and the CUDA runtime: selecting a device makes its context current, and one that
 * another library makes current is selected thereby. That costs a comparison per call.
 *
 * The state keeps every place there was, so that threads can point at them without owning any. */
#include "pymod/pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rt_device *
pm_device_open(struct pm_state *state, enum rt_kind kind, int ordinal)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct rt_device *dev = NULL;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_open(state->rt, kind, ordinal, &dev, &diag);
    Py_END_ALLOW_THREADS
    return ok ? dev : pm_raise(state, &diag);
}

static const struct pm_place *
place_of(struct pm_state *state, struct rt_device *dev, bool python)
{
    for (uint32_t i = 0; i < state->places.len; i++)
        if (state->places.data[i]->dev == dev && state->places.data[i]->python == python)
            return state->places.data[i];
    struct pm_place *place = sp_alloc(sizeof *place);
    *place = (struct pm_place){dev, python};
    sp_vec_push(NULL, &state->places, place);
    return place;
}

static const struct pm_place *
place_open(struct pm_state *state, enum rt_kind kind, int ordinal, bool python)
{
    struct rt_device *dev = pm_device_open(state, kind, ordinal);
    return dev ? place_of(state, dev, python) : NULL;
}

/* "cpu", "cuda", "cuda:1" or "python", whose arrays are the CPU device's */
static const struct pm_place *
place_by_name(struct pm_state *state, const char *name)
{
    bool python = !strcmp(name, "python");
    if (python || !strcmp(name, "cpu"))
        return place_open(state, RT_CPU, 0, python);
    if (!strcmp(name, "cuda"))
        return place_open(state, RT_CUDA, 0, false);
    if (!strncmp(name, "cuda:", 5)) {
        char *end;
        long ordinal = strtol(name + 5, &end, 10);
        if (end != name + 5 && !*end && ordinal >= 0 && ordinal < 1024)
            return place_open(state, RT_CUDA, (int)ordinal, false);
    }
    char text[128];
    PyOS_snprintf(text, sizeof text,
                  "there is no device '%.40s'; use 'cpu', 'cuda', 'cuda:1' or 'python'", name);
    return pm_fail(state, NO_DEVICE, text);
}

/* Where threads start that have chosen nothing. */
static const struct pm_place *
place_start(struct pm_state *state)
{
    const char *name = getenv("GPUJIT_DEVICE");
    if (state->start)
        return place_by_name(state, state->start);
    if (name && name[0])
        return place_by_name(state, name);
    const struct rt_driver *driver;
    Py_BEGIN_ALLOW_THREADS
    driver = rt_runtime_driver(state->rt);
    Py_END_ALLOW_THREADS
    if (driver->found && driver->n_devices > 0)
        return place_open(state, RT_CUDA, 0, false);
    const struct pm_place *place = place_open(state, RT_CPU, 0, false);
    state->announce = place && !state->announced;
    return place;
}

/* The device whose context is current in the thread; false: an exception. */
static bool
place_current(struct pm_state *state, const struct pm_place **place_out)
{
    struct sp_diag diag;
    struct rt_device *dev = NULL;
    sp_diag_init(&diag);
    if (!rt_current(state->rt, &dev, &diag))
        return pm_raise(state, &diag) != NULL;
    *place_out = dev ? place_of(state, dev, false) : NULL;
    return true;
}

static const struct pm_place *
place_set(struct pm_state *state, const struct pm_place *place)
{
    if (place && PyThread_tss_set(state->place_key, (void *)place) != 0)
        return (const struct pm_place *)PyErr_NoMemory();
    return place;
}

const struct pm_place *
pm_place_slow(struct pm_state *state)
{
    const struct pm_place *place = PyThread_tss_get(state->place_key), *current = NULL;
    if (!place) {
        place = place_start(state);
        if (!place)
            return NULL;
    }
    const struct rt_info *info = rt_device_info(place->dev);
    if (info->kind == RT_CUDA && !rt_device_is_inherited(place->dev)) {
        if (!place_current(state, &current))
            return NULL;
        if (current)
            return place_set(state, current);
    }
    if (rt_device_was_reset(place->dev))
        place = place_open(state, info->kind, info->ordinal, place->python);
    return place_set(state, place);
}

struct rt_device *
pm_device(struct pm_state *state)
{
    const struct pm_place *place = pm_place(state);
    return place ? place->dev : NULL;
}

bool
pm_device_check(struct pm_state *state, const struct rt_device *dev)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    return rt_device_check(dev, &diag) || pm_raise(state, &diag);
}

struct rt_device *
pm_device_if_chosen(struct pm_state *state)
{
    const struct pm_place *place = PyThread_tss_get(state->place_key);
    return place && rt_device_is_here(place->dev) ? place->dev : NULL;
}

/* What the main thread chooses is where new threads start. */
static void
place_note_start(struct pm_state *state, const struct pm_place *place)
{
    if (syscall(SYS_gettid) == getpid())
        state->start = place->python                                ? "python"
                       : rt_device_info(place->dev)->kind == RT_CPU ? "cpu"
                                                                    : "cuda";
}

/* Makes the place the thread's. `before_out` may be NULL: the context that was current. */
static bool
place_enter(struct pm_state *state, const struct pm_place *place, uintptr_t *before_out)
{
    uintptr_t before;
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_make_current(place->dev, &before, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(state, &diag) != NULL;
    if (before_out)
        *before_out = before;
    return place_set(state, place) != NULL;
}

bool
pm_place_follow(struct pm_state *state, struct rt_device *dev, bool python)
{
    return place_enter(state, place_of(state, dev, python), NULL);
}

/* Of the kind that the thread's kernels run on now: the GPU of that number, or the CPU device. */
static const struct pm_place *
place_by_number(struct pm_state *state, PyObject *which)
{
    long ordinal = PyLong_AsLong(which);
    if (ordinal == -1 && PyErr_Occurred())
        return NULL;
    const struct pm_place *now = pm_place(state);
    if (!now)
        return NULL;
    int number = ordinal < -1 || ordinal > 1000000 ? -1 : (int)ordinal;
    return place_open(state, rt_device_info(now->dev)->kind, number, now->python);
}

const struct pm_place *
pm_place_parse(struct pm_state *state, PyObject *which)
{
    if (PyLong_Check(which) && !PyBool_Check(which))
        return place_by_number(state, which);
    if (PyUnicode_Check(which)) {
        Py_ssize_t len;
        const char *name = PyUnicode_AsUTF8AndSize(which, &len);
        return name ? place_by_name(state, name) : NULL;
    }
    PyObject *name = PyObject_GetAttrString(which, "_where"); /* a gpu.Device */
    if (!name || !PyUnicode_Check(name)) {
        PyErr_Clear();
        Py_XDECREF(name);
        return pm_fail(state, NO_DEVICE,
                       "a device is a number of gpu.gpus, 'cpu', 'cuda:1', 'python' or a "
                       "gpu.Device");
    }
    const struct pm_place *place = pm_place_parse(state, name);
    Py_DECREF(name);
    return place;
}

PyObject *
pm_select_device(PyObject *module, PyObject *which)
{
    struct pm_state *state = PyModule_GetState(module);
    const struct pm_place *place = pm_place_parse(state, which);
    if (!place || !place_enter(state, place, NULL))
        return NULL;
    place_note_start(state, place);
    state->announced = true;
    state->announce = false;
    Py_RETURN_NONE;
}

/* _enter_device(which) -> a token for _leave_device: the place and the context that were. */
PyObject *
pm_enter_device(PyObject *module, PyObject *which)
{
    struct pm_state *state = PyModule_GetState(module);
    const struct pm_place *before = PyThread_tss_get(state->place_key);
    const struct pm_place *place = pm_place_parse(state, which);
    uintptr_t context = 0;
    if (!place || !place_enter(state, place, &context))
        return NULL;
    int of_gpu = rt_device_info(place->dev)->kind == RT_CUDA;
    return Py_BuildValue("(KiK)", (unsigned long long)(uintptr_t)before, of_gpu,
                         (unsigned long long)context);
}

PyObject *
pm_leave_device(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    unsigned long long before, context;
    int of_gpu;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!PyArg_ParseTuple(args, "KiK:_leave_device", &before, &of_gpu, &context))
        return NULL;
    if (PyThread_tss_set(state->place_key, (void *)(uintptr_t)before) != 0)
        return PyErr_NoMemory();
    if (of_gpu && !rt_context_restore(state->rt, (uintptr_t)context, &diag))
        return pm_raise(state, &diag);
    Py_RETURN_NONE;
}

/* Every device that is open, or the one: its arrays, streams and kernels are gone. */
static bool
place_reset(struct pm_state *state, struct rt_device *dev)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok;
    if (!pm_print(state, dev))
        return false;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_reset(dev, &diag);
    Py_END_ALLOW_THREADS
    return ok || pm_raise(state, &diag);
}

PyObject *
pm_reset_device(PyObject *module, PyObject *which)
{
    struct pm_state *state = PyModule_GetState(module);
    const struct pm_place *place =
        which == Py_None ? pm_place(state) : pm_place_parse(state, which);
    if (!place || !place_reset(state, place->dev))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *
pm_profile(PyObject *module, PyObject *start)
{
    struct pm_state *state = PyModule_GetState(module);
    const struct pm_place *place = pm_place(state);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!place)
        return NULL;
    if (!rt_device_profile(place->dev, start == Py_True, &diag))
        return pm_raise(state, &diag);
    Py_RETURN_NONE;
}

PyObject *
pm_close(PyObject *module, PyObject *unused)
{
    (void)unused;
    enum { MAX_DEVICES = 65 };
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *devices[MAX_DEVICES];
    bool all = syscall(SYS_gettid) == getpid();
    uint32_t n = all ? rt_opened(state->rt, devices, MAX_DEVICES) : 0;
    for (uint32_t i = 0; i < n; i++)
        if (!place_reset(state, devices[i]))
            return NULL;
    const struct pm_place *place = PyThread_tss_get(state->place_key);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (place && rt_device_info(place->dev)->kind == RT_CUDA &&
        !rt_context_restore(state->rt, 0, &diag))
        return pm_raise(state, &diag);
    if (PyThread_tss_set(state->place_key, NULL) != 0)
        return PyErr_NoMemory();
    if (all)
        state->start = NULL;
    Py_RETURN_NONE;
}

bool
pm_places_init(struct pm_state *state)
{
    state->place_key = PyThread_tss_alloc();
    return (state->place_key && PyThread_tss_create(state->place_key) == 0) ||
           PyErr_NoMemory() != NULL;
}

void
pm_places_finish(struct pm_state *state)
{
    if (state->place_key)
        PyThread_tss_free(state->place_key);
    for (uint32_t i = 0; i < state->places.len; i++)
        free(state->places.data[i]);
    sp_vec_finish(&state->places);
}
