/* kernel: the object that @gpu.jit returns.
 *
 * Holds the Python function, its options, the readings of its bytecode and parked launchers.
 * Indexing it gives a launcher; calling it plainly is an error that says what to write; in other
 * kernels it is a device function, which the reader takes from `__gpu_function__`. Everything that
 * was compiled dies with it. The garbage collector sees through the readings to the globals and
 * cells they hold. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

static bool
kernel_set_option(struct pm_kernel *kernel, const char *name, PyObject *value)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!strcmp(name, "device")) {
        kernel->is_device = PyObject_IsTrue(value) == 1;
        return !PyErr_Occurred();
    }
    if (!strcmp(name, "internal")) {
        kernel->is_internal = true;
        return true;
    }
    if (!strcmp(name, "cache")) {
        kernel->forgets = PyObject_IsTrue(value) == 0;
        return !PyErr_Occurred();
    }
    bool ok, text = PyUnicode_Check(value);
    if (text) {
        Py_ssize_t len;
        const char *utf8 = PyUnicode_AsUTF8AndSize(value, &len);
        if (!utf8)
            return false;
        ok = cg_option_set_text(&kernel->cg_options, name, utf8, &diag);
    } else {
        long long number = PyLong_AsLongLong(value);
        if (number == -1 && PyErr_Occurred())
            return false;
        if (!strncmp(name, "jit_", 4))
            ok = rt_jit_options_set(&kernel->jit_options, name + 4, number, &diag);
        else
            ok = cg_option_set_int(&kernel->cg_options, name, number, &diag);
    }
    return ok || pm_raise(kernel->state, &diag);
}

/* `options`: names of options.def, and of jit.def with "jit_" before them. */
static bool
kernel_set_options(struct pm_kernel *kernel, PyObject *options)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    cg_options_init(&kernel->cg_options);
    rt_jit_options_init(&kernel->jit_options);
    if (!cg_options_read_env(&kernel->cg_options, &diag))
        return pm_raise(kernel->state, &diag);
    PyObject *name, *value;
    Py_ssize_t at = 0, len;
    while (PyDict_Next(options, &at, &name, &value)) {
        const char *utf8 = PyUnicode_AsUTF8AndSize(name, &len);
        if (!utf8 || !kernel_set_option(kernel, utf8, value))
            return false;
    }
    return true;
}

/* How many parameters there are beside *args, and whether there is that. */
static long
kernel_count_named(const struct pm_kernel *kernel, bool *has_varargs_out)
{
    static const char *const names[] = {"co_flags", "co_argcount", "co_kwonlyargcount"};
    enum { HAS_VARARGS = 4 };
    long numbers[3] = {0};
    PyObject *code = PyObject_GetAttrString(kernel->function, "__code__");
    for (int i = 0; code && i < 3; i++) {
        PyObject *number = PyObject_GetAttrString(code, names[i]);
        numbers[i] = number ? PyLong_AsLong(number) : 0;
        Py_XDECREF(number);
    }
    PyErr_Clear();
    Py_XDECREF(code);
    *has_varargs_out = numbers[0] & HAS_VARARGS;
    return numbers[1] + numbers[2];
}

/* A signature has a type for every parameter, those with a default included. */
static bool
kernel_fail_signature(const struct pm_kernel *kernel, const char *text, uint32_t n, long n_named,
                      bool has_varargs)
{
    char reason[200];
    PyOS_snprintf(reason, sizeof reason, "%u type%s for the %ld parameter%s of '%.100s'%s", n,
                  n == 1 ? "" : "s", n_named, n_named == 1 ? "" : "s", kernel->name_utf8,
                  has_varargs ? " and its *arguments" : "");
    return pm_fail(kernel->state, BAD_SIGNATURE, text, reason);
}

static bool
kernel_set_signatures(struct pm_kernel *kernel)
{
    bool has_varargs;
    long n_named = kernel_count_named(kernel, &has_varargs);
    uint32_t n = (uint32_t)PyTuple_Size(kernel->signatures);
    kernel->declared = sp_alloc((n + 1u) * sizeof *kernel->declared);
    for (uint32_t i = 0; i < n; i++) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        Py_ssize_t len;
        const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kernel->signatures, i), &len);
        if (!text)
            return false;
        struct ir_argtype **args = &kernel->declared[i].args;
        uint32_t *n_args = &kernel->declared[i].n;
        if (!(kernel->is_device ? ir_signature_parse_device
                                : ir_signature_parse)(text, &kernel->arena, args, n_args, &diag))
            return pm_raise(kernel->state, &diag);
        long count = (long)ir_argtypes_count(*args, *n_args);
        if (count < n_named || (count > n_named && !has_varargs))
            return kernel_fail_signature(kernel, text, (uint32_t)count, n_named, has_varargs);
        if (kernel->is_device)
            continue; /* whoever calls it decides about its types */
        if (has_varargs)
            pm_gather_extra(&kernel->arena, (uint32_t)n_named, &kernel->declared[i].args,
                            &kernel->declared[i].n);
        kernel->n_declared++;
    }
    return true;
}

static bool
kernel_set_name(struct pm_kernel *kernel)
{
    kernel->name = PyObject_GetAttrString(kernel->function, "__name__");
    /* A hand-made name may hold what is no text. */
    PyObject *bytes =
        kernel->name ? PyUnicode_AsEncodedString(kernel->name, "utf-8", "backslashreplace") : NULL;
    if (!bytes)
        return false;
    size_t len = (size_t)PyBytes_Size(bytes);
    kernel->name_utf8 = sp_alloc(len + 1);
    memcpy(kernel->name_utf8, PyBytes_AsString(bytes), len + 1);
    Py_DECREF(bytes);
    return true;
}

/* Kernel(function, signatures, options) */
static PyObject *
kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *signatures, *options;
    if (kwargs || !PyArg_ParseTuple(args, "OO!O!:Kernel", &function, &PyTuple_Type, &signatures,
                                    &PyDict_Type, &options))
        return NULL;
    struct pm_kernel *self = PyObject_GC_New(struct pm_kernel, type);
    if (!self)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->state = PyType_GetModuleState(type);
    self->function = Py_NewRef(function);
    self->signatures = Py_NewRef(signatures);
    self->options = Py_NewRef(options);
    sp_arena_init(&self->arena);
    PyObject_GC_Track(self);
    /* The reader's own preparations are not the first launch's; a failure is reported there. */
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    if (!self->state->interp && !fe_interp_create(&self->state->interp, &ignored))
        sp_diag_finish(&ignored);
    if (kernel_set_name(self) && kernel_set_options(self, options) && kernel_set_signatures(self))
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static int
kernel_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct pm_kernel *self = (struct pm_kernel *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->signatures);
    Py_VISIT(self->options);
    Py_VISIT(self->carrier);
    for (int i = 0; i < PM_N_READINGS; i++) {
        int stop = pm_reading_traverse(self->readings[i], visit, arg);
        if (stop)
            return stop;
    }
    return pm_launcher_traverse_parked(self, visit, arg);
}

/* The function stays until the end: what is let go here may run code of the program's that launches
 * the kernel once more. The collector breaks cycles through it by the function's own tp_clear. */
static int
kernel_clear(PyObject *object)
{
    struct pm_kernel *self = (struct pm_kernel *)object;
    for (int i = 0; i < PM_N_READINGS; i++) {
        struct pm_reading *reading = self->readings[i];
        self->readings[i] = NULL;
        pm_reading_unref(reading);
    }
    Py_CLEAR(self->carrier);
    return 0;
}

static void
kernel_dealloc(PyObject *object)
{
    struct pm_kernel *self = (struct pm_kernel *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    kernel_clear(object);
    Py_CLEAR(self->function);
    pm_launcher_free_parked(self);
    Py_CLEAR(self->signatures);
    Py_CLEAR(self->options);
    Py_CLEAR(self->name);
    free(self->name_utf8);
    pm_events_finish(self);
    free(self->declared);
    sp_arena_finish(&self->arena);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *
kernel_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    struct pm_kernel *self = (struct pm_kernel *)object;
    return pm_fail(self->state, NO_CONFIGURATION, self->name_utf8, self->name_utf8);
}

static PyObject *
kernel_subscript(PyObject *self, PyObject *index)
{
    return pm_launcher_get((struct pm_kernel *)self, index);
}

/* configure(griddim, blockdim, stream=0, sharedmem=0): numba's other spelling of [...]. */
static PyObject *
kernel_configure(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"griddim", "blockdim", "stream", "sharedmem", NULL};
    PyObject *grid, *block, *stream = Py_None, *shared = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:configure", names, &grid, &block, &stream,
                                     &shared))
        return NULL;
    PyObject *index = shared ? PyTuple_Pack(4, grid, block, stream, shared)
                             : PyTuple_Pack(3, grid, block, stream);
    PyObject *launcher = index ? pm_launcher_get((struct pm_kernel *)self, index) : NULL;
    Py_XDECREF(index);
    return launcher;
}

static bool
kernel_take_count(struct pm_kernel *self, const char *what, PyObject *value, int64_t *out)
{
    *out = PyNumber_AsSsize_t(value, NULL); /* beyond its range: the nearest */
    if (!PyErr_Occurred())
        return true;
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    PyErr_Clear();
    PyObject *name = PyType_GetName(Py_TYPE(value));
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    char message[160];
    PyOS_snprintf(message, sizeof message, "%s of forall must be an int, not %.60s", what,
                  text ? text : "?");
    Py_XDECREF(name);
    return pm_fail(self->state, BAD_CONFIGURATION, message);
}

/* forall(n, tpb=0, stream=None, sharedmem=0): a launcher with at least n threads along x. */
static PyObject *
kernel_forall(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"n", "tpb", "stream", "sharedmem", "block", NULL};
    struct pm_kernel *self = (struct pm_kernel *)object;
    PyObject *count, *tpb = NULL, *stream = Py_None, *shared = NULL, *block = NULL, *kept;
    int64_t n, n_block = 0;
    struct pm_config config;
    memset(&config, 0, sizeof config);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOO:forall", names, &count, &tpb, &stream,
                                     &shared, &block) ||
        !kernel_take_count(self, "n", count, &n) ||
        (tpb && !kernel_take_count(self, "tpb", tpb, &n_block)) ||
        (block && !kernel_take_count(self, "block", block, &n_block)) ||
        (shared && !kernel_take_count(self, "sharedmem", shared, &config.shared_B)))
        return NULL;
    if (n < 0 || n_block < 0 || config.shared_B < 0 || (block && n_block < 1))
        return pm_fail(self->state, BAD_CONFIGURATION,
                       "forall needs a number of threads of 0 or more, a block of 1 or more and "
                       "sharedmem of 0 or more");
    for (int i = 0; i < 3; i++)
        config.grid[i] = config.block[i] = 1;
    config.block[0] = n_block ? n_block : PM_FORALL_BLOCK;
    config.grid[0] = n ? (n - 1) / config.block[0] + 1 : 1;
    config.n_tasks = n_block ? 0 : n;
    config.n_grid = config.n_block = 1;
    if (!pm_stream_take(self->state, stream, &config.stream, &kept))
        return NULL;
    PyObject *launcher = pm_launcher_from_config(self, &config, kept);
    Py_XDECREF(kept);
    return launcher;
}

static void
kernel_add_signature(void *list, void *value)
{
    struct pm_entry *entry = value;
    struct sp_str text;
    sp_str_init(&text);
    ir_signature_print(entry->args, entry->n_args, &text);
    PyObject *string = PyUnicode_FromString(text.data);
    if (!string || PyList_Append(list, string) < 0)
        PyErr_Clear();
    Py_XDECREF(string);
    sp_str_finish(&text);
}

/* The signatures that are compiled for the function as it is now. */
static PyObject *
kernel_get_signatures(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_kernel *self = (struct pm_kernel *)object;
    PyObject *list = PyList_New(0);
    if (list && self->readings[0])
        rt_cache_each(self->readings[0]->cache, kernel_add_signature, list);
    return list;
}

static PyObject *
kernel_get_function(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *function = ((struct pm_kernel *)self)->function;
    return function ? Py_NewRef(function) : Py_NewRef(Py_None);
}

static PyObject *
kernel_get_of_function(PyObject *self, void *name)
{
    PyObject *function = ((struct pm_kernel *)self)->function;
    return function ? PyObject_GetAttrString(function, name) : Py_NewRef(Py_None);
}

/* As descriptors these two would take the place of the type's own. */
static PyObject *
kernel_getattro(PyObject *self, PyObject *name)
{
    static const char *const of_function[] = {"__module__", "__doc__"};
    for (int i = 0; PyUnicode_Check(name) && i < 2; i++)
        if (!PyUnicode_CompareWithASCIIString(name, of_function[i]))
            return kernel_get_of_function(self, (void *)of_function[i]);
    return PyObject_GenericGetAttr(self, name);
}

static PyObject *
kernel_get_options(PyObject *self, void *closure)
{
    (void)closure;
    return PyDict_Copy(((struct pm_kernel *)self)->options);
}

static PyObject *
kernel_get_declared(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((struct pm_kernel *)self)->signatures);
}

static PyObject *
kernel_repr(PyObject *object)
{
    struct pm_kernel *self = (struct pm_kernel *)object;
    return PyUnicode_FromFormat("<gpu kernel %s>", self->name_utf8);
}

/* In Python: nobody waits for it. */
static PyObject *
kernel_explain(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *module = PyImport_ImportModule("gpu._explain");
    PyObject *text = module ? PyObject_CallMethod(module, "explain", "O", self) : NULL;
    Py_XDECREF(module);
    return text;
}

static PyGetSetDef kernel_getset[] = {
    {"py_func", kernel_get_function, NULL, "The Python function.", NULL},
    {"__wrapped__", kernel_get_function, NULL, NULL, NULL},
    {"__gpu_function__", kernel_get_function, NULL, NULL, NULL},
    {"__gpu_carrier__", pm_kernel_carrier, NULL, NULL, NULL},
    {"__name__", kernel_get_of_function, NULL, NULL, "__name__"},
    {"__qualname__", kernel_get_of_function, NULL, NULL, "__qualname__"},
    {"signatures", kernel_get_signatures, NULL, "The compiled signatures as texts.", NULL},
    {"declared", kernel_get_declared, NULL, "The signatures that @gpu.jit was given.", NULL},
    {"options", kernel_get_options, NULL, "The options that differ from the defaults.", NULL},
#define KERNEL_PROPERTY(name, doc) {#name, pm_kernel_get_##name, NULL, doc, NULL},
#include "pymod/kernel_python.def"
    {NULL, NULL, NULL, NULL, NULL},
};
#define KERNEL_TEXT(name, function, doc)                                                           \
    {name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, doc}
static PyMethodDef kernel_methods[] = {
    KERNEL_TEXT(
        "forall", kernel_forall,
        "forall(n, tpb=0, stream=None, sharedmem=0): a launcher with a thread for each of n "
        "elements, in blocks of tpb threads (0: 256, or what the kernel allows). `block` is "
        "another "
        "name of tpb."),
    KERNEL_TEXT("configure", kernel_configure,
                "configure(griddim, blockdim, stream=None, sharedmem=0): kernel[griddim, blockdim, "
                "stream, sharedmem]."),
    {"specialize", pm_kernel_specialize, METH_VARARGS,
     "specialize(*arguments): a kernel for the types of these arguments alone, compiled at once; "
     "or for a signature given as a text."},
    KERNEL_TEXT("ptx", pm_kernel_ptx,
                "ptx(signature=None, arch=None): PTX for the signature, or of the last launch."),
    KERNEL_TEXT("llvm", pm_kernel_llvm, "llvm(signature=None, arch=None): LLVM's IR."),
    KERNEL_TEXT(
        "ir", pm_kernel_ir,
        "ir(stage=\"core\", signature=None, arch=None): our IR; stages ssa, typed, core, opt."),
    KERNEL_TEXT(
        "compile_times", pm_kernel_compile_times,
        "compile_times(signature=None, arch=None): milliseconds by stage of one compilation."),
    {"explain", kernel_explain, METH_NOARGS,
     "explain(): where each compiled signature came from, and why it was compiled again."},
    {"_events", pm_kernel_events, METH_NOARGS, "What explain() tells, as a list of tuples."},
    {"_numbers", pm_kernel_numbers, METH_NOARGS, "Registers and bytes of what is compiled."},
#define KERNEL_METHOD(name, doc) KERNEL_TEXT(#name, pm_kernel_python_##name, doc),
#include "pymod/kernel_python.def"
    {"bytecode", pm_kernel_bytecode, METH_NOARGS, "The decoded bytecode."},
    {"__reduce_ex__", pm_pickle_kernel, METH_O, "By name, or by value: as functions."},
    {"__copy__", pm_pickle_self, METH_NOARGS, NULL},
    {"__deepcopy__", pm_pickle_self, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef kernel_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct pm_kernel, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new},
    {Py_tp_call, kernel_call},
    {Py_tp_repr, kernel_repr},
    {Py_tp_doc, (void *)"A function that runs on a device, as gpu.jit makes it."},
    {Py_tp_getattro, kernel_getattro},
    {Py_tp_getset, kernel_getset},
    {Py_tp_methods, kernel_methods},
    {Py_tp_members, kernel_members},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_mp_subscript, kernel_subscript},
    {0, NULL},
};
static PyType_Spec kernel_spec = {
    .name = "gpu.Kernel",
    .basicsize = sizeof(struct pm_kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kernel_slots,
};

PyType_Spec *
pm_kernel_spec(void)
{
    return &kernel_spec;
}
