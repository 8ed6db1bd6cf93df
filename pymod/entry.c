/* entry: the compiled and loaded kernel for one list of argument types.
 *
 * The types and the device are packed into a fixed-size key; a hit in the reading's cache takes no lock
 * and allocates nothing. On a miss one thread compiles and loads, the others wait for it; both without
 * the GIL. Objects among the arguments (functions, dtypes) count by identity, a function made from the
 * same code and globals without closure or defaults by these; the entry keeps them alive so that an identity
 * stays taken. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS 100

static void
entry_add_object(struct rt_key *key, const void *host)
{
    static const char *const names[] = {"__code__", "__globals__", "__closure__", "__defaults__",
                                        "__kwdefaults__"};
    enum { N_NAMES = sizeof names / sizeof *names };
    const void *parts[N_NAMES]; /* the function, which the entry keeps, holds them */
    bool plain = true;
    for (int i = 0; i < N_NAMES; i++) {
        PyObject *part = PyObject_GetAttrString((PyObject *)host, names[i]);
        parts[i] = part;
        plain &= i < 2 ? part != NULL : part == Py_None;
        Py_XDECREF(part);
    }
    PyErr_Clear();
    rt_key_add(key, (uint64_t)(uintptr_t)(plain ? parts[0] : host));
    rt_key_add(key, (uint64_t)(uintptr_t)(plain ? parts[1] : NULL));
}

static void
entry_fill_key(struct rt_key *key, struct rt_device *dev, const struct ir_argtype *args,
               uint32_t n_args)
{
    rt_key_init(key);
    rt_key_add(key, (uint64_t)(uintptr_t)dev);
    for (uint32_t i = 0; i < n_args; i++) {
        uint64_t word;
        memcpy(&word, &args[i], sizeof word); /* kind, dtype, rank, layout, read_only, align */
        rt_key_add(key, word);
        if (args[i].kind == IR_ARG_OBJECT)
            entry_add_object(key, args[i].host);
    }
}

static struct pm_entry *
entry_create(struct pm_kernel *kernel, struct artifact *artifact, struct rt_code *code,
             const struct ir_argtype *args, uint32_t n_args)
{
    struct pm_entry *entry = sp_alloc(sizeof *entry);
    *entry = (struct pm_entry){.serial = ++kernel->state->serial,
                               .artifact = artifact,
                               .code = code,
                               .n_args = n_args,
                               .warned = !artifact->warnings.n};
    entry->args = sp_alloc((n_args + 1u) * sizeof *args);
    for (uint32_t i = 0; i < n_args; i++) {
        entry->args[i] = args[i];
        Py_XINCREF((PyObject *)args[i].host);
    }
    return entry;
}

/* COMPILE and load, the GIL dropped. */
static struct pm_entry *
entry_make(struct pm_kernel *kernel, struct pm_reading *reading, struct rt_device *dev,
           const struct ir_argtype *args, uint32_t n_args)
{
    struct pm_state *state = kernel->state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct cg_request request = {
        .py = reading->module,
        .args = args,
        .n_args = n_args,
        .options = kernel->cg_options,
        .dump = pm_dump(),
    };
    if (!pm_device_arch(state, dev, &request.arch, &request.ptx_cap))
        return NULL;
    struct fe_oracle *oracle = fe_oracle_create(reading->py, reading->module);
    request.oracle = fe_oracle_ops(oracle);
    struct artifact *artifact = NULL;
    struct rt_code *code = NULL;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = cg_compile(state->cg, &request, &artifact, NULL, &diag);
    ok = ok && rt_device_load(dev, artifact, &kernel->jit_options, &code, &diag);
    Py_END_ALLOW_THREADS
    fe_oracle_destroy(oracle);
    if (ok)
        return entry_create(kernel, artifact, code, args, n_args);
    sp_artifact_destroy(artifact);
    return pm_raise(state, &diag);
}

/* Another thread compiles it: Ctrl-C ends the waiting. */
static enum rt_claim
entry_wait(struct pm_reading *reading, const struct rt_key *key, void **value_out)
{
    enum rt_claim claim;
    do {
        Py_BEGIN_ALLOW_THREADS
        claim = rt_cache_wait(reading->cache, key, WAIT_MS, value_out);
        Py_END_ALLOW_THREADS
    } while (claim == RT_WAIT && PyErr_CheckSignals() == 0);
    return claim;
}

/* Once per entry, after it was published: showing a warning runs Python code, which may launch. */
static struct pm_entry *
entry_warn(struct pm_kernel *kernel, struct pm_entry *entry)
{
    entry->warned = true;
    if (pm_warn_compiled(kernel, &entry->artifact->warnings))
        return entry;
    entry->warned = false; /* an error that the next launch meets again */
    return NULL;
}

struct pm_entry *
pm_entry_get(struct pm_kernel *kernel, struct pm_reading *reading, struct rt_device *dev,
             const struct ir_argtype *args, uint32_t n_args)
{
    struct rt_key key;
    void *value = NULL;
    entry_fill_key(&key, dev, args, n_args);
    enum rt_claim claim = rt_cache_begin(reading->cache, &key, &value);
    if (claim == RT_HIT && ((struct pm_entry *)value)->warned)
        return value;
    if (claim == RT_WAIT)
        claim = entry_wait(reading, &key, &value);
    if (claim == RT_MINE) {
        value = entry_make(kernel, reading, dev, args, n_args);
        rt_cache_publish(reading->cache, &key, value);
        if (value)
            reading->last = value;
    } else if (claim == RT_WAIT) {
        value = NULL; /* interrupted */
    }
    struct pm_entry *entry = value;
    return !entry || entry->warned ? entry : entry_warn(kernel, entry);
}
