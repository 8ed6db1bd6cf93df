/* memory: where arrays' memory comes from, and numbers about it. In: a size and a stream. Out: an
 * address of the device's pool, or of the allocator that the program has set (gpu.memory).
 *
 * Memory that is neither of the pool nor an array's own must outlive the work that uses it too. On
 * a GPU who owns it follows the order of its stream; on the CPU device, whose launches return at
 * once, the owner is kept until the work that was queued before is over (pm_memory_retire). */
#include "pymod/pm.h"

static bool
memory_external(struct pm_state *state, struct rt_device *dev, uint64_t size_B, rt_stream stream,
                PyObject **owner_out)
{
    PyObject *number =
        PyObject_CallFunction(state->allocate, "KiK", (unsigned long long)size_B,
                              rt_device_info(dev)->ordinal, (unsigned long long)stream);
    PyObject *whole = number ? PyNumber_Index(number) : NULL;
    uint64_t address = whole ? PyLong_AsUnsignedLongLong(whole) : 0;
    Py_XDECREF(whole);
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return false;
    if (!address || address % 16)
        return pm_fail(state, BAD_VALUE,
                       "the allocator that was set must return an address of at least 16 bytes' "
                       "alignment");
    return (*owner_out = pm_memory_adopt(state, dev, address, size_B, stream)) != NULL;
}

/* Arrays may hang in cycles that the collector has not found. */
static bool
memory_pool(struct pm_state *state, struct rt_device *dev, uint64_t size_B, rt_stream stream,
            uint64_t *address_out)
{
    struct sp_diag diag;
    bool ok;
    for (int attempt = 0;; attempt++) {
        sp_diag_init(&diag);
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_alloc(dev, size_B, stream, address_out, &diag);
        Py_END_ALLOW_THREADS
        if (ok)
            return true;
        if (attempt || diag.code != SP_E_NO_MEMORY || !PyGC_Collect())
            return pm_raise(state, &diag);
        sp_diag_finish(&diag);
    }
}

bool
pm_memory_alloc(struct pm_state *state, struct rt_device *dev, uint64_t size_B, rt_stream stream,
                uint64_t *address_out, PyObject **owner_out)
{
    if (state->retired.len)
        pm_memory_reap(state, false);
    if (state->allocate && size_B)
        return memory_external(state, dev, size_B, stream, owner_out);
    return rt_memory_try(dev, RT_POOL_DEVICE, size_B, stream, address_out) ||
           memory_pool(state, dev, size_B, stream, address_out);
}

/* ---- Owners that wait for work -------------------------------------------------------------- */

void
pm_memory_retire(struct pm_state *state, struct rt_device *dev, PyObject *owner)
{
    struct pm_retired retired = {.owner = owner};
    struct sp_diag diag;
    bool done = true;
    sp_diag_init(&diag);
    bool waits = rt_device_info(dev)->kind == RT_CPU && rt_stream_query(dev, 0, &done, &diag) &&
                 !done && rt_event_create(dev, 0, &retired.event, &diag) &&
                 rt_event_record(retired.event, 0, &diag);
    sp_diag_finish(&diag);
    if (waits) {
        sp_vec_push(NULL, &state->retired, retired);
        return;
    }
    rt_event_destroy(retired.event);
    Py_DECREF(owner);
}

/* Letting go of an owner may retire others and reap: each is taken out first. */
void
pm_memory_reap(struct pm_state *state, bool all)
{
    for (uint32_t i = 0; i < state->retired.len;) {
        struct pm_retired retired = state->retired.data[i];
        struct sp_diag diag;
        bool done = false;
        sp_diag_init(&diag);
        bool ok = all ? rt_event_synchronize(retired.event, &diag)
                      : rt_event_query(retired.event, &done, &diag);
        sp_diag_finish(&diag);
        if (ok && !all && !done) {
            i++;
            continue;
        }
        state->retired.data[i] = sp_vec_pop(&state->retired);
        rt_event_destroy(retired.event);
        Py_DECREF(retired.owner);
    }
}

/* ---- gpu.memory ----------------------------------------------------------------------------- */

PyObject *
pm_memory_set_allocator(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    PyObject *allocate, *release;
    if (!PyArg_ParseTuple(args, "OO:set_allocator", &allocate, &release))
        return NULL;
    PyObject *old_allocate = state->allocate, *old_release = state->free;
    state->allocate = allocate == Py_None ? NULL : Py_NewRef(allocate);
    state->free = release == Py_None ? NULL : Py_NewRef(release);
    Py_XDECREF(old_allocate);
    Py_XDECREF(old_release);
    Py_RETURN_NONE;
}

/* (kind, number): of a pool of the current device. */
static struct rt_device *
memory_parse(struct pm_state *state, PyObject *args, int *kind_out, unsigned long long *number_out)
{
    *number_out = 0;
    if (!PyArg_ParseTuple(args, "i|K", kind_out, number_out))
        return NULL;
    if (*kind_out < 0 || *kind_out >= RT_N_POOLS)
        return pm_fail(state, BAD_VALUE, "there is no such kind of memory");
    return pm_device(state);
}

PyObject *
pm_memory_stats(PyObject *module, PyObject *args)
{
    unsigned long long unused;
    int kind;
    struct rt_device *dev = memory_parse(PyModule_GetState(module), args, &kind, &unused);
    if (!dev)
        return NULL;
    struct rt_pool_stats stats;
    rt_memory_stats(dev, (enum rt_pool_kind)kind, &stats);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"in_use", stats.in_use_B},
        {"reserved", stats.reserved_B},
        {"peak_in_use", stats.peak_in_use_B},
        {"peak_reserved", stats.peak_reserved_B},
        {"pending", stats.pending_B},
        {"limit", stats.limit_B},
        {"blocks", stats.n_live},
        {"hits", stats.n_hits},
        {"misses", stats.n_misses},
        {"driver_allocations", stats.n_driver_allocs},
        {"driver_frees", stats.n_driver_frees},
        {"retries", stats.n_retries},
    };
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < sizeof rows / sizeof *rows; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(rows[i].value);
        if (!number || PyDict_SetItemString(dict, rows[i].name, number) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(number);
    }
    return dict;
}

PyObject *
pm_memory_trim(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    unsigned long long keep_B;
    int kind;
    struct rt_device *dev = memory_parse(state, args, &kind, &keep_B);
    uint64_t given_B;
    if (!dev)
        return NULL;
    pm_memory_reap(state, false);
    Py_BEGIN_ALLOW_THREADS
    given_B = rt_memory_trim(dev, (enum rt_pool_kind)kind, keep_B);
    Py_END_ALLOW_THREADS
    return PyLong_FromUnsignedLongLong(given_B);
}

PyObject *
pm_memory_set_limit(PyObject *module, PyObject *args)
{
    unsigned long long limit_B;
    int kind;
    struct rt_device *dev = memory_parse(PyModule_GetState(module), args, &kind, &limit_B);
    if (!dev)
        return NULL;
    rt_memory_set_limit(dev, (enum rt_pool_kind)kind, limit_B);
    Py_RETURN_NONE;
}

PyObject *
pm_memory_reset_peak(PyObject *module, PyObject *args)
{
    unsigned long long unused;
    int kind;
    struct rt_device *dev = memory_parse(PyModule_GetState(module), args, &kind, &unused);
    if (!dev)
        return NULL;
    rt_memory_reset_peak(dev, (enum rt_pool_kind)kind);
    Py_RETURN_NONE;
}

PyObject *
pm_memory_defer(PyObject *module, PyObject *begin)
{
    struct rt_device *dev = pm_device(PyModule_GetState(module));
    if (!dev)
        return NULL;
    bool begins = begin == Py_True;
    Py_BEGIN_ALLOW_THREADS
    rt_memory_defer(dev, begins);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject *
pm_memory_info(PyObject *module, PyObject *unused)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    uint64_t free_B = 0, total_B = 0;
    struct sp_diag diag;
    (void)unused;
    if (!dev)
        return NULL;
    sp_diag_init(&diag);
    if (!rt_device_memory_info(dev, &free_B, &total_B, &diag))
        return pm_raise(state, &diag);
    return Py_BuildValue("(KK)", (unsigned long long)free_B, (unsigned long long)total_B);
}
