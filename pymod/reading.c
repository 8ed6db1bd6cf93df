/* reading: one READ of a kernel's bytecode, with everything that was compiled from it.
 *
 * A kernel keeps its last few readings. The first whose guards hold is the current one, so a global
 * that goes back and forth between two values does not compile again; when none holds the function
 * is read anew and the oldest reading is let go. Readings are counted, because a thread that
 * compiles without the GIL still uses the module of one. All of this runs under the GIL. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

static void
entry_destroy(void *value)
{
    struct pm_entry *entry = value;
    rt_code_unload(entry->code);
    sp_artifact_destroy(entry->artifact);
    for (uint32_t i = 0; i < entry->n_args; i++)
        Py_XDECREF((PyObject *)entry->args[i].host);
    free(entry->args);
    free(entry);
}

static void
artifact_destroy(void *artifact)
{
    sp_artifact_destroy(artifact);
}

static void
reading_destroy(struct pm_reading *reading)
{
    rt_cache_destroy(reading->cache);
    rt_cache_destroy(reading->artifacts);
    if (reading->module)
        ir_module_finish(reading->module);
    fe_py_destroy(reading->py);
    sp_arena_finish(&reading->arena);
    for (uint32_t i = 0; reading->defaults && i < reading->n_params; i++)
        Py_XDECREF(reading->defaults[i]);
    free(reading->defaults);
    free(reading->shape);
    Py_XDECREF(reading->shape_names);
    free(reading);
}

void
pm_reading_unref(struct pm_reading *reading)
{
    if (reading && --reading->refs == 0)
        reading_destroy(reading);
}

int
pm_reading_traverse(struct pm_reading *reading, visitproc visit, void *arg)
{
    /* In use by a compilation everything is alive. Bound launches and graphs have the kernel. */
    if (!reading || reading->refs - reading->n_seen > 1)
        return 0;
    for (uint32_t i = 0; reading->defaults && i < reading->n_params; i++)
        Py_VISIT(reading->defaults[i]);
    return fe_py_traverse(reading->py, (int (*)(void *, void *))visit, arg);
}

struct fe_py *
pm_reader_create(struct pm_state *state)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!state->interp && !fe_interp_create(&state->interp, &diag))
        return pm_raise(state, &diag);
    return fe_py_create(state->interp);
}

/* Default values as objects: those of the function, which the guards watch. */
static bool
reading_defaults(struct pm_reading *reading, PyObject *function)
{
    const struct ir_func *func = reading->module->funcs.data[0];
    reading->n_params = func->n_params;
    reading->has_varargs = func->has_varargs;
    reading->defaults = calloc(func->n_params + 1u, sizeof *reading->defaults);
    reading->shape = calloc(func->n_params + 1u, sizeof *reading->shape);
    if (!reading->defaults || !reading->shape)
        return PyErr_NoMemory() != NULL;
    PyObject *defaults = PyObject_GetAttrString(function, "__defaults__");
    PyObject *kwdefaults = PyObject_GetAttrString(function, "__kwdefaults__");
    uint32_t n_positional = func->n_params - func->n_kwonly;
    if (defaults && PyTuple_Check(defaults)) {
        uint32_t n = (uint32_t)PyTuple_Size(defaults);
        for (uint32_t i = 0; i < n && n <= n_positional; i++)
            reading->defaults[n_positional - n + i] = Py_NewRef(PyTuple_GetItem(defaults, i));
    }
    for (uint32_t i = n_positional; i < func->n_params && kwdefaults; i++) {
        PyObject *value = PyDict_Check(kwdefaults)
                              ? PyDict_GetItemString(kwdefaults, func->params[i].name)
                              : NULL;
        reading->defaults[i] = Py_XNewRef(value);
    }
    Py_XDECREF(defaults);
    Py_XDECREF(kwdefaults);
    return !PyErr_Occurred();
}

static void
reading_dump(struct pm_reading *reading, PyObject *function)
{
    struct sp_diag diag;
    struct sp_str text;
    sp_diag_init(&diag);
    sp_str_init(&text);
    if (pm_dump_wants("decode") &&
        fe_py_print_code(reading->py, function, &reading->arena, &text, &diag))
        PySys_FormatStderr("; decode\n%s\n", text.data);
    sp_str_clear(&text);
    if (pm_dump_wants("ssa")) {
        ir_print(reading->module, &text);
        PySys_FormatStderr("; ssa\n%s\n", text.data);
    }
    sp_diag_finish(&diag);
    sp_str_finish(&text);
}

static struct pm_reading *
reading_create(struct pm_kernel *kernel)
{
    struct pm_state *state = kernel->state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct fe_py *py = pm_reader_create(state);
    if (!py)
        return NULL;
    struct pm_reading *reading = sp_alloc(sizeof *reading);
    *reading = (struct pm_reading){.refs = 1, .py = py};
    reading->shape_n_args = -1;
    sp_arena_init(&reading->arena);
    reading->cache = rt_cache_create(entry_destroy);
    reading->artifacts = rt_cache_create(artifact_destroy);
    bool ok = fe_py_read(reading->py, kernel->function, &reading->arena, &reading->module, &diag);
    if (!ok)
        pm_raise(state, &diag);
    ok = ok && reading_defaults(reading, kernel->function);
    if (!ok) {
        pm_reading_unref(reading);
        return NULL;
    }
    reading_dump(reading, kernel->function);
    return reading;
}

/* Makes the reading in this place the current one. Letting go of the oldest may run code of the
 * program's, which launches the kernel and moves its readings: the caller has a share by then. */
static struct pm_reading *
reading_promote(struct pm_kernel *kernel, int place, struct pm_reading *reading)
{
    struct pm_reading *last = kernel->readings[place];
    memmove(&kernel->readings[1], &kernel->readings[0], (size_t)place * sizeof *kernel->readings);
    kernel->readings[0] = reading;
    reading->refs++;
    if (last != reading)
        pm_reading_unref(last);
    return reading;
}

/* The reading that stands there, with a share, if its guards hold; else NULL. Looking may run other
 * threads, and in them or in finalizers launches of this kernel, which move readings and let go of
 * some. */
static struct pm_reading *
reading_that_holds(struct pm_kernel *kernel, int place)
{
    struct pm_reading *reading = kernel->readings[place];
    reading->refs++;
    if (fe_py_guards_check(reading->py) && kernel->readings[place] == reading)
        return reading;
    pm_reading_unref(reading);
    return NULL;
}

struct pm_reading *
pm_kernel_reading(struct pm_kernel *kernel)
{
    struct pm_reading *reading;
    for (int i = 0; i < PM_N_READINGS && kernel->readings[i]; i++) {
        if (!(reading = reading_that_holds(kernel, i)))
            continue;
        if (i) {
            reading_promote(kernel, i, reading);
            reading->refs--; /* one share is the caller's, one the kernel's */
        }
        return reading;
    }
    reading = reading_create(kernel);
    return reading ? reading_promote(kernel, PM_N_READINGS - 1, reading) : NULL;
}
