/* print: what kernels print, to sys.stdout.
 *
 * In: the records of a device (struct rt_print) and, of their artifacts, the sites, whose recipes
 * recipe.c carries out. Out: whole texts of print() calls, many of them in one write, so that lines
 * of threads never mix. It happens under the GIL at every wait for a device, while one lasts, and
 * at the end of the program. What fails is raised to whoever waits: a text that cannot be made (a
 * bad format) once the rest is written, a write that fails at once, with the rest left out.
 *
 * One thread writes at a time, so that the records keep their order; a sys.stdout that waits for a
 * device itself finds its own thread writing and goes on. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRINT_BATCH 1000 /* texts per write */

struct print_batch {
    struct pm_state *state;
    PyObject *texts;                    /* list */
    PyObject *type, *value, *traceback; /* the first text that could not be made */
    bool flush;
};

/* Writes what is gathered. */
static bool
print_write(struct print_batch *batch)
{
    Py_ssize_t n = PyList_Size(batch->texts);
    if (n == 0)
        return true;
    bool ok = true;
    PyObject *out = Py_XNewRef(PySys_GetObject("stdout")); /* None where there is no console */
    if (out && out != Py_None) {
        PyObject *empty = PyUnicode_FromString("");
        PyObject *text = empty ? PyUnicode_Join(empty, batch->texts) : NULL;
        PyObject *done = text ? PyObject_CallMethod(out, "write", "O", text) : NULL;
        if (done && batch->flush) {
            Py_DECREF(done);
            done = PyObject_CallMethod(out, "flush", NULL);
        }
        ok = done != NULL;
        Py_XDECREF(done);
        Py_XDECREF(text);
        Py_XDECREF(empty);
    }
    Py_XDECREF(out);
    batch->flush = false;
    return ok && PyList_SetSlice(batch->texts, 0, n, NULL) == 0 && PyErr_CheckSignals() == 0;
}

/* The exception on its way gets the place of the print; the first is kept. */
static void
print_keep_failure(struct print_batch *batch, const struct artifact *artifact,
                   const struct sp_fault_site *site)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (batch->type || !value) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return;
    }
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!sp_diag_set(&diag, SP_E_NOT_PRINTED, &site->where))
        pm_error_place(value, &diag, artifact->name);
    sp_diag_finish(&diag);
    batch->type = type;
    batch->value = value;
    batch->traceback = traceback;
}

/* One record's text joins the batch. */
static bool
print_add(struct print_batch *batch, const struct artifact *artifact, const uint64_t *record)
{
    uint32_t number = SP_PRINT_SITE(*record);
    if (number >= artifact->n_sites)
        return true; /* not written by this compiler */
    const struct sp_fault_site *site = &artifact->sites[number];
    bool flush = site->name[0] == 'L';
    PyObject *text = pm_recipe_make(batch->state, site->name + flush, (const int64_t *)(record + 1),
                                    SP_PRINT_N_VALUES(*record));
    if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return false;
        print_keep_failure(batch, artifact, site);
        return true;
    }
    bool ok = PyList_Append(batch->texts, text) == 0;
    Py_DECREF(text);
    batch->flush |= flush;
    return ok && (PyList_Size(batch->texts) < PRINT_BATCH || print_write(batch));
}

static bool
print_warn_lost(struct pm_state *state, const struct rt_print *print)
{
    char *text =
        sp_warning_text(SP_W_LINES_LOST, (unsigned long long)print->n_lost,
                        print->n_lost == 1 ? "" : "s", (unsigned long long)print->capacity_B);
    return pm_warn_launch(state, SP_W_LINES_LOST, text);
}

static bool
print_chain(struct print_batch *batch, const struct rt_print *print)
{
    bool ok = true;
    for (; ok && print; print = print->next) {
        for (size_t i = 0; ok && i < print->n_words; i += 1 + SP_PRINT_N_VALUES(print->words[i]))
            ok = print_add(batch, print->artifact, print->words + i);
        if (ok && !print->artifact)
            ok = print_write(batch) && print_warn_lost(batch->state, print);
    }
    return ok && print_write(batch);
}

static bool
print_all(struct pm_state *state, struct rt_device *dev)
{
    struct print_batch batch = {.state = state, .texts = PyList_New(0)};
    bool ok = batch.texts != NULL;
    struct rt_print *first;
    while (ok && (first = rt_device_take_prints(dev))) {
        ok = print_chain(&batch, first);
        rt_prints_free(first);
    }
    Py_XDECREF(batch.texts);
    if (ok && batch.type) {
        PyErr_Restore(batch.type, batch.value, batch.traceback);
        return false;
    }
    Py_XDECREF(batch.type);
    Py_XDECREF(batch.value);
    Py_XDECREF(batch.traceback);
    return ok;
}

/* The lock is made anew in a child after a fork, where its owner may be gone. */
static bool
print_lock(struct pm_state *state)
{
    struct pm_print *print = &state->print;
    if (print->pid != getpid()) {
        print->lock = PyThread_allocate_lock();
        print->owner = 0;
        print->pid = getpid();
    }
    if (!print->lock)
        return PyErr_NoMemory() != NULL;
    PyThread_type_lock lock = print->lock;
    if (!PyThread_acquire_lock(lock, NOWAIT_LOCK)) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    print->owner = PyThread_get_thread_ident();
    return true;
}

bool
pm_print(struct pm_state *state, struct rt_device *dev)
{
    struct pm_print *print = &state->print;
    if (!print->used)
        return true;
    if (print->pid == getpid() && print->owner == PyThread_get_thread_ident())
        return print_all(state, dev);
    if (!print_lock(state))
        return false;
    PyThread_type_lock lock = print->lock;
    bool ok = print_all(state, dev);
    print->owner = 0;
    PyThread_release_lock(lock);
    return ok;
}

void
pm_print_beside(struct pm_state *state, struct rt_device *dev)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    pm_print(state, dev);
    PyErr_Restore(type, value, traceback); /* it goes before a second one */
}

/* At the end of the program: waits for launches that may print, on every device. */
PyObject *
pm_print_rest(PyObject *module, PyObject *unused)
{
    (void)unused;
    enum { MAX_DEVICES = 65 };
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *devices[MAX_DEVICES];
    uint32_t n = rt_opened(state->rt, devices, MAX_DEVICES);
    for (uint32_t i = 0; i < n; i++) {
        if (!rt_device_has_prints(devices[i]))
            continue;
        struct sp_diag ignored; /* exceptions that nobody has waited for */
        sp_diag_init(&ignored);
        bool over = pm_wait_over(state, devices[i], &(struct rt_wait){0}, &ignored);
        sp_diag_finish(&ignored);
        if (!over || !pm_print(state, devices[i]))
            return NULL;
    }
    Py_RETURN_NONE;
}

bool
pm_print_begin(struct pm_state *state)
{
    PyObject *module = PyType_GetModule(state->kernel_type);
    PyObject *rest = module ? PyObject_GetAttrString(module, "_print_rest") : NULL;
    PyObject *atexit = rest ? PyImport_ImportModule("atexit") : NULL;
    PyObject *none = atexit ? PyObject_CallMethod(atexit, "register", "O", rest) : NULL;
    state->print.used = none != NULL;
    Py_XDECREF(none);
    Py_XDECREF(atexit);
    Py_XDECREF(rest);
    return state->print.used;
}
