/* entry: the compiled and loaded kernel for one list of argument types.
 *
 * The types and the device are packed into a fixed-size key; a hit in the reading's cache takes
 * no lock and allocates nothing. On a miss one thread compiles and loads, the others wait for it;
 * both without the GIL. Devices of one architecture share what was compiled. Objects among the
 * arguments (functions, dtypes, texts) count by value where they have one, a function by its
 * code, globals, defaults and closure, a method or partial call by its parts, others by identity.
 * The entry keeps them alive, and the reading's guards what their cells held when it was
 * compiled, so that an identity stays taken. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS 100

enum { ENTRY_MAX_DEPTH = 8 };

struct keying {
    struct rt_key *key;
    PyTypeObject *functions; /* the type of Python's functions */
};

static void entry_add_value(const struct keying *k, PyObject *value, int depth);

/* By the bits of what the attribute holds; its identity where that is no plain value. */
static void
entry_add_part(const struct keying *k, PyObject *object, const char *name, int depth)
{
    PyObject *part = PyObject_GetAttrString(object, name);
    PyErr_Clear();
    rt_key_add(k->key, part != NULL);
    if (part)
        entry_add_value(k, part, depth);
    Py_XDECREF(part);
}

/* A function counts by its code and globals, its defaults and what its cells hold: one that is made
 * anew from the same text for every launch is the same. */
static void
entry_add_function(const struct keying *k, PyObject *function, int depth)
{
    static const char *const names[] = {"__code__", "__globals__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *part = PyObject_GetAttrString(function, names[i]);
        rt_key_add(k->key, (uint64_t)(uintptr_t)part); /* the function keeps it */
        Py_XDECREF(part);
    }
    entry_add_part(k, function, "__defaults__", depth);
    entry_add_part(k, function, "__kwdefaults__", depth);
    PyObject *closure = PyObject_GetAttrString(function, "__closure__");
    Py_ssize_t n = closure && PyTuple_Check(closure) ? PyTuple_Size(closure) : 0;
    for (Py_ssize_t i = 0; i < n; i++)
        entry_add_part(k, PyTuple_GetItem(closure, i), "cell_contents", depth);
    PyErr_Clear();
    Py_XDECREF(closure);
}

static void
entry_add_bytes(const struct keying *k, const char *bytes, size_t len)
{
    rt_key_add(k->key, (uint64_t)len);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, len - i < 8 ? len - i : 8);
        rt_key_add(k->key, word);
    }
}

/* Texts count by their content, so that any equal one does. */
static void
entry_add_text(const struct keying *k, PyObject *text)
{
    Py_ssize_t len = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &len);
    PyErr_Clear();
    entry_add_bytes(k, bytes, bytes ? (size_t)len : 0);
}

/* Whether the object's type is the one that a module has under this name. */
static bool
entry_is_a(PyObject *value, const char *module_name, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(module_name);
    PyObject *module = key ? PyImport_GetModule(key) : NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, name) : NULL;
    PyErr_Clear();
    Py_XDECREF(key);
    Py_XDECREF(module);
    Py_XDECREF(type);
    return type == (PyObject *)Py_TYPE(value);
}

/* The tag first: 1 and 1.0 and True are three values. */
static void
entry_add_value(const struct keying *k, PyObject *value, int depth)
{
    int overflow = 0;
    bool deep = depth >= ENTRY_MAX_DEPTH;
    if (PyLong_CheckExact(value)) {
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        PyErr_Clear();
        rt_key_add(k->key, overflow ? 1 : 2);
        rt_key_add(k->key, overflow ? (uint64_t)(uintptr_t)value : (uint64_t)number);
    } else if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AsDouble(value);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        rt_key_add(k->key, 3);
        rt_key_add(k->key, bits);
    } else if (PyUnicode_CheckExact(value)) {
        rt_key_add(k->key, 4);
        entry_add_text(k, value);
    } else if (PyTuple_CheckExact(value) && !deep) {
        Py_ssize_t n = PyTuple_Size(value);
        rt_key_add(k->key, 5);
        rt_key_add(k->key, (uint64_t)n);
        for (Py_ssize_t i = 0; i < n; i++)
            entry_add_value(k, PyTuple_GetItem(value, i), depth + 1);
    } else if (PyDict_CheckExact(value) && !deep) { /* keyword defaults */
        PyObject *name, *part;
        Py_ssize_t at = 0;
        rt_key_add(k->key, 6);
        rt_key_add(k->key, (uint64_t)PyDict_Size(value));
        while (PyDict_Next(value, &at, &name, &part)) {
            entry_add_value(k, name, depth + 1);
            entry_add_value(k, part, depth + 1);
        }
    } else if (Py_IS_TYPE(value, k->functions) && !deep) {
        rt_key_add(k->key, 7);
        entry_add_function(k, value, depth + 1);
    } else if (!deep && entry_is_a(value, "types", "MethodType")) {
        rt_key_add(k->key, 9);
        entry_add_part(k, value, "__func__", depth + 1);
        entry_add_part(k, value, "__self__", depth + 1);
    } else if (!deep && entry_is_a(value, "functools", "partial")) {
        rt_key_add(k->key, 10);
        entry_add_part(k, value, "func", depth + 1);
        entry_add_part(k, value, "args", depth + 1);
        entry_add_part(k, value, "keywords", depth + 1);
    } else {
        rt_key_add(k->key, 8);
        rt_key_add(k->key, (uint64_t)(uintptr_t)value);
    }
}

/* `what`: the device, or its architecture for what all devices of that have in common. */
static void
entry_fill_key(struct rt_key *key, const struct pm_kernel *kernel, uint64_t what,
               const struct ir_argtype *args, uint32_t n_args)
{
    const struct keying k = {key, Py_TYPE(kernel->function)};
    rt_key_init(key);
    rt_key_add(key, what);
    for (uint32_t i = 0; i < n_args; i++) {
        uint64_t word;
        struct ir_argtype head = args[i];
        if (head.elem) /* whose number signatures do not know */
            head.dtype = 0;
        memcpy(&word, &head, sizeof word); /* kind, rank, dtype, layout, read_only, align */
        rt_key_add(key, word);
        if (head.elem)
            entry_add_bytes(&k, head.elem, strlen(head.elem));
        if (args[i].host)
            entry_add_value(&k, (PyObject *)args[i].host, 0);
    }
}

static struct pm_entry *
entry_create(struct pm_kernel *kernel, struct artifact *artifact, struct rt_code *code,
             const struct ir_argtype *args, uint32_t n_args)
{
    struct pm_entry *entry = sp_alloc(sizeof *entry);
    *entry = (struct pm_entry){.serial = ++kernel->state->serial,
                               .dev = code->dev,
                               .artifact = artifact,
                               .code = code,
                               .n_args = n_args,
                               .warned = !artifact->warnings.n};
    entry->args = sp_alloc((n_args + 1u) * sizeof *args);
    for (uint32_t i = 0; i < n_args; i++) {
        entry->args[i] = args[i];
        Py_XINCREF((PyObject *)args[i].host);
        entry->by_value |= args[i].host != NULL;
    }
    return entry;
}

/* Tells the runtime what to say of a launch that has gone wrong. */
static void
entry_describe(const struct pm_reading *reading, struct rt_code *code,
               const struct ir_argtype *args, uint32_t n_args)
{
    static const char kinds[] = {
        [IR_CLASS_BOOL] = 'b', [IR_CLASS_INT] = 'i', [IR_CLASS_UINT] = 'u', [IR_CLASS_FLOAT] = 'f'};
    const struct ir_func *func = reading->module->funcs.data[0];
    struct rt_argument *arguments = sp_alloc((n_args + 1) * sizeof *arguments);
    uint32_t n_params = func->n_params + func->has_varargs;
    for (uint32_t param = 0, i = 0; param < n_params && i < n_args; param++) {
        for (uint32_t end = ir_argtype_end(args, i); i < end; i++) {
            arguments[i].name = func->params[param].name;
            arguments[i].kind = args[i].kind == IR_ARG_SCALAR && !args[i].elem
                                    ? kinds[ir_scalar_row(args[i].dtype)->class]
                                    : 0;
        }
    }
    const struct sp_src where = {.file = func->file,
                                 .function = func->name,
                                 .line = func->line,
                                 .end_line = func->line,
                                 .col = -1,
                                 .end_col = -1};
    rt_code_describe(code, &where, arguments, n_args);
    free(arguments);
}

/* Another thread compiles it: Ctrl-C ends the waiting. */
static enum rt_claim
entry_wait(struct rt_cache *cache, const struct rt_key *key, void **value_out)
{
    enum rt_claim claim;
    do {
        Py_BEGIN_ALLOW_THREADS
        claim = rt_cache_wait(cache, key, WAIT_MS, value_out);
        Py_END_ALLOW_THREADS
    } while (claim == RT_WAIT && PyErr_CheckSignals() == 0);
    return claim;
}

static uint64_t
entry_architecture(const struct rt_device *dev)
{
    const struct rt_info *info = rt_device_info(dev);
    return (uint64_t)info->kind << 32 | (uint64_t)info->cc_major << 16 | (uint64_t)info->cc_minor;
}

/* Compiled once for all devices of an architecture, loaded on each. */
static bool
entry_compile(struct pm_kernel *kernel, struct pm_reading *reading, struct rt_device *dev,
              const struct ir_argtype *args, uint32_t n_args, struct artifact **artifact_out,
              struct rt_code **code_out)
{
    struct rt_key key;
    void *value = NULL;
    entry_fill_key(&key, kernel, entry_architecture(dev), args, n_args);
    enum rt_claim claim = rt_cache_begin(reading->artifacts, &key, &value);
    if (claim == RT_WAIT)
        claim = entry_wait(reading->artifacts, &key, &value);
    if (claim == RT_WAIT)
        return false; /* interrupted */
    if (claim == RT_MINE) {
        bool ok = pm_compile(kernel, reading, dev, args, n_args, artifact_out, code_out);
        rt_cache_publish(reading->artifacts, &key, ok ? sp_artifact_share(*artifact_out) : NULL);
        return ok;
    }
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    pm_fork_hold(kernel->state);
    ok = rt_device_load(dev, value, &kernel->jit_options, code_out, &diag);
    pm_fork_allow(kernel->state);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(kernel->state, &diag) != NULL;
    *artifact_out = sp_artifact_share(value);
    pm_event_shared(kernel, dev, args, n_args);
    return true;
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
    entry_fill_key(&key, kernel, (uint64_t)(uintptr_t)dev, args, n_args);
    enum rt_claim claim = rt_cache_begin(reading->cache, &key, &value);
    if (claim == RT_HIT && ((struct pm_entry *)value)->warned)
        return reading->recent = value;
    if (claim == RT_WAIT)
        claim = entry_wait(reading->cache, &key, &value);
    if (claim == RT_MINE) {
        struct artifact *artifact;
        struct rt_code *code;
        value = NULL;
        if (entry_compile(kernel, reading, dev, args, n_args, &artifact, &code)) {
            entry_describe(reading, code, args, n_args);
            value = entry_create(kernel, artifact, code, args, n_args);
        }
        rt_cache_publish(reading->cache, &key, value);
        if (value)
            reading->last = value;
        if (value && !pm_disk_warn(kernel->state))
            return NULL;
    } else if (claim == RT_WAIT) {
        value = NULL; /* interrupted */
    }
    struct pm_entry *entry = value;
    return !entry || entry->warned ? entry : entry_warn(kernel, entry);
}
