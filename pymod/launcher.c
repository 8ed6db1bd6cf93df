/* launcher: kernel[grid, block], ready to be called.
 *
 * A call classifies its values, finds the entry, packs the parameter area by the artifact's list of
 * slots and launches: no allocation and no attribute look-up when all arrays are ours. The limits of
 * the device are checked once per launcher and entry. `kernel[grid, block]` is written at every launch,
 * so a launcher that dies leaves its memory parked in the kernel, with what it knows, and is revived by
 * the next subscript with equal numbers; a cache of living ones would be a reference cycle.
 *
 * Host arrays are used in place on the CPU device, which is then waited for; on a GPU they are copied
 * there and, if the kernel writes them, back. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

#define AREA_B 1024

/* A queue that is full blocks the launch, and may be emptied by a callback that needs the GIL. */
#define N_QUEUED_WITH_GIL 256

struct call {
    struct pm_launcher *launcher;
    struct pm_kernel *kernel;
    struct pm_reading *reading;
    struct rt_device *dev;
    uint32_t n_args;
    bool foreign; /* some array is not ours */
    struct pm_arg *args;
    struct ir_argtype *types;
};

static void
launcher_pack(const struct artifact *artifact, const struct pm_arg *args, unsigned char *area)
{
    const struct sp_param *param = artifact->params, *end = param + artifact->n_params;
    for (; param < end; param++) {
        void *to = area + param->offset_B;
        const struct pm_arg *arg = &args[param->argument];
        switch (param->kind) {
        case SP_PARAM_SCALAR:
            memcpy(to, &arg->bits, param->size_B);
            break;
        case SP_PARAM_DATA:
            memcpy(to, &arg->view->data, 8);
            break;
        case SP_PARAM_EXTENT:
            memcpy(to, &arg->view->shape[param->axis], 8);
            break;
        case SP_PARAM_STRIDE:
            memcpy(to, &arg->view->strides[param->axis], 8);
            break;
        default:
            break; /* the runtime's own */
        }
    }
}

static bool
launcher_prepare(struct pm_launcher *self, struct rt_device *dev, const struct pm_entry *entry)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    const struct pm_config *config = &self->config;
    if (!rt_limits_check(rt_device_info(dev), &entry->code->attributes, config->grid, config->block,
                         config->shared_B, &diag))
        return pm_raise(self->kernel->state, &diag);
    for (int i = 0; i < 3; i++) {
        self->launch.grid[i] = (uint32_t)config->grid[i];
        self->launch.block[i] = (uint32_t)config->block[i];
    }
    self->launch.shared_B = (uint32_t)config->shared_B;
    self->launch.stream = config->stream;
    if (!rt_device_prepare(dev, entry->code, &self->launch, &diag))
        return pm_raise(self->kernel->state, &diag);
    self->prepared = entry->serial;
    return true;
}

static bool
launcher_start(struct call *call, struct pm_entry *entry)
{
    struct pm_launcher *self = call->launcher;
    struct pm_state *state = call->kernel->state;
    uint64_t room[AREA_B / 8];
    void *area = room;
    struct sp_diag diag;
    if (self->prepared != entry->serial && !launcher_prepare(self, call->dev, entry))
        return false;
    if (entry->artifact->params_size_B > AREA_B)
        area = sp_alloc(entry->artifact->params_size_B);
    launcher_pack(entry->artifact, call->args, area);
    sp_diag_init(&diag);
    bool ok;
    if (++state->n_queued > N_QUEUED_WITH_GIL) {
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_launch(call->dev, entry->code, &self->launch, area, &diag);
        Py_END_ALLOW_THREADS
    } else {
        ok = rt_device_launch(call->dev, entry->code, &self->launch, area, &diag);
    }
    if (area != room)
        free(area);
    if (!ok)
        pm_raise(state, &diag);
    return ok;
}

static bool
launcher_is_written(const struct artifact *artifact, uint32_t i)
{
    return artifact->written >> (i < 63 ? i : 63) & 1;
}

static bool
launcher_check_written(struct call *call, const struct artifact *artifact)
{
    for (uint32_t i = 0; i < call->n_args; i++) {
        const struct pm_view *view = call->args[i].view;
        if (view && view->read_only && launcher_is_written(artifact, i))
            return pm_fail(call->kernel->state, CALL_ARGUMENT,
                           call->reading->module->funcs.data[0]->params[i].name,
                           call->kernel->name_utf8,
                           "the array is read-only and the kernel writes it; pass x.copy()");
    }
    return true;
}

/* Makes a foreign array's memory ready for the kernel. */
static bool
launcher_stage(struct call *call, struct pm_arg *arg)
{
    struct pm_state *state = call->kernel->state;
    struct pm_foreign *foreign = arg->foreign;
    rt_stream stream = call->launcher->config.stream;
    if (!foreign->on_host) {
        bool same = foreign->stream == stream || (foreign->stream <= 1 && stream <= 1);
        return !foreign->has_stream || same || pm_wait(state, call->dev, &foreign->stream);
    }
    if (rt_device_info(call->dev)->kind == RT_CPU)
        return true;
    foreign->staged = foreign->view;
    foreign->staged.data = 0;
    struct sp_diag diag;
    sp_diag_init(&diag);
    uint64_t size_B = (uint64_t)foreign->view.size * pm_dtype_size_B(foreign->view.dtype);
    bool ok;
    if (!pm_view_contiguous(&foreign->staged, foreign->view.layout == IR_LAYOUT_F))
        return false;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_alloc(call->dev, size_B, &foreign->staged.data, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(state, &diag);
    arg->view = &foreign->staged;
    return pm_upload(state, call->dev, &foreign->staged, &foreign->view, stream);
}

static bool
launcher_unstage(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_foreign *foreign = call->args[i].foreign;
    return !foreign->staged.data || !launcher_is_written(artifact, i) ||
           pm_download(call->kernel->state, call->dev, &foreign->view, &foreign->staged,
                       call->launcher->config.stream);
}

static bool
launcher_free_staged(struct call *call)
{
    bool all = true;
    for (uint32_t i = 0; i < call->n_args; i++) {
        struct pm_foreign *foreign = call->args[i].foreign;
        if (!foreign || !foreign->staged.data)
            continue;
        struct sp_diag diag;
        sp_diag_init(&diag);
        bool ok;
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_free(call->dev, foreign->staged.data, &diag);
        Py_END_ALLOW_THREADS
        foreign->staged.data = 0;
        if (!ok && !PyErr_Occurred())
            pm_raise(call->kernel->state, &diag);
        sp_diag_finish(&diag);
        all = all && ok;
    }
    return all;
}

static bool
launcher_start_foreign(struct call *call, struct pm_entry *entry)
{
    bool ok = true, on_host = false;
    for (uint32_t i = 0; ok && i < call->n_args; i++) {
        if (!call->args[i].foreign)
            continue;
        on_host |= call->args[i].foreign->on_host;
        ok = launcher_stage(call, &call->args[i]);
    }
    ok = ok && launcher_start(call, entry);
    if (ok && on_host)
        ok = pm_wait(call->kernel->state, call->dev, &call->launcher->config.stream);
    for (uint32_t i = 0; ok && i < call->n_args; i++)
        if (call->args[i].foreign)
            ok = launcher_unstage(call, entry->artifact, i);
    return launcher_free_staged(call) && ok;
}

static bool
launcher_run(struct call *call, PyObject *const *values)
{
    struct pm_kernel *kernel = call->kernel;
    uint32_t n = call->n_args;
    bool read_only = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!pm_arg_get(kernel, call->reading, call->dev, i, values[i], &call->args[i])) {
            call->n_args = i; /* those that were classified, for the release */
            return false;
        }
        call->foreign |= call->args[i].foreign != NULL;
        read_only |= call->args[i].view && call->args[i].view->read_only;
    }
    if (kernel->n_declared && !pm_args_declared(kernel, call->args, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        call->types[i] = call->args[i].type;
    struct pm_entry *entry = pm_entry_get(kernel, call->reading, call->dev, call->types, n);
    if (!entry || (read_only && !launcher_check_written(call, entry->artifact)))
        return false;
    return call->foreign ? launcher_start_foreign(call, entry) : launcher_start(call, entry);
}

static PyObject *
launcher_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    struct pm_kernel *kernel = self->kernel;
    struct pm_state *state = kernel->state;
    struct rt_device *dev = state->dev ? state->dev : pm_device(state);
    struct pm_reading *reading = dev ? pm_kernel_reading(kernel) : NULL;
    if (!reading)
        return NULL;
    if (state->announce)
        pm_announce(state);
    uint32_t n = reading->n_params;
    Py_ssize_t n_args = (Py_ssize_t)(nargsf & ~((size_t)1 << (8 * sizeof(size_t) - 1)));
    PyObject *few_values[PM_N_INLINE_ARGS], **values = few_values;
    struct pm_arg few_args[PM_N_INLINE_ARGS];
    struct ir_argtype few_types[PM_N_INLINE_ARGS];
    struct call call = {.launcher = self, .kernel = kernel, .reading = reading, .dev = dev,
                        .n_args = n, .args = few_args, .types = few_types};
    if (n > PM_N_INLINE_ARGS) {
        values = sp_alloc(n * sizeof *values);
        call.args = sp_alloc(n * sizeof *call.args);
        call.types = sp_alloc(n * sizeof *call.types);
    }
    reading->refs++;
    bool ok;
    if (!kwnames && n_args == (Py_ssize_t)n)
        ok = launcher_run(&call, args);
    else if ((ok = pm_bind(kernel, reading, args, n_args, kwnames, values)))
        ok = launcher_run(&call, values);
    else
        call.n_args = 0;
    if (call.foreign || !ok)
        for (uint32_t i = 0; i < call.n_args; i++)
            pm_arg_release(&call.args[i]);
    if (n > PM_N_INLINE_ARGS) {
        free(values);
        free(call.args);
        free(call.types);
    }
    pm_reading_unref(reading);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* For callers without vectorcall: the values in one array, as vectorcall has them. */
static PyObject *
launcher_tp_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n_args = PyTuple_Size(args), n_names = kwargs ? PyDict_Size(kwargs) : 0;
    PyObject **values = sp_alloc((size_t)(n_args + n_names) * sizeof *values);
    PyObject *names = PyTuple_New(n_names), *name, *value, *result = NULL;
    for (Py_ssize_t i = 0; i < n_args; i++)
        values[i] = PyTuple_GetItem(args, i);
    Py_ssize_t at = 0;
    bool ok = names != NULL;
    for (Py_ssize_t i = 0; ok && i < n_names && PyDict_Next(kwargs, &at, &name, &value); i++) {
        values[n_args + i] = value;
        ok = PyTuple_SetItem(names, i, Py_NewRef(name)) == 0;
    }
    if (ok)
        result = launcher_call(self, values, (size_t)n_args, n_names ? names : NULL);
    Py_XDECREF(names);
    free(values);
    return result;
}

/* ---- The object ---- */

static uint32_t
launcher_slot(const struct pm_config *config)
{
    uint64_t h = 0;
    for (int i = 0; i < 3; i++)
        h = (h ^ (uint64_t)config->grid[i] ^ (uint64_t)config->block[i] << 40) *
            0x9e3779b97f4a7c15u;
    h ^= (config->stream >> 4) * 0xff51afd7ed558ccdu ^ (uint64_t)config->shared_B;
    return (uint32_t)(h >> 40) % PM_N_LAUNCHERS;
}

PyObject *
pm_launcher_from_config(struct pm_kernel *kernel, const struct pm_config *config, PyObject *stream)
{
    struct pm_launcher **parked = &kernel->parked[launcher_slot(config)];
    struct pm_launcher *self = *parked;
    if (self && !memcmp(&self->config, config, sizeof *config)) {
        *parked = NULL;
        PyObject_Init((PyObject *)self, kernel->state->launcher_type);
    } else {
        self = PyObject_GC_New(struct pm_launcher, kernel->state->launcher_type);
        if (!self)
            return NULL;
        self->vectorcall = launcher_call;
        self->config = *config;
        memset(&self->launch, 0, sizeof self->launch);
        self->prepared = 0;
    }
    self->kernel = (struct pm_kernel *)Py_NewRef((PyObject *)kernel);
    self->stream = Py_XNewRef(stream);
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

PyObject *
pm_launcher_get(struct pm_kernel *kernel, PyObject *index)
{
    struct pm_config config;
    PyObject *stream;
    memset(&config, 0, sizeof config); /* it is compared byte by byte */
    if (!pm_config_parse(kernel, index, &config, &stream))
        return NULL;
    return pm_launcher_from_config(kernel, &config, stream);
}

static void
launcher_dealloc(PyObject *object)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    PyTypeObject *type = Py_TYPE(object);
    struct pm_kernel *kernel = self->kernel;
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->stream);
    self->kernel = NULL;
    if (kernel) {
        struct pm_launcher **parked = &kernel->parked[launcher_slot(&self->config)];
        struct pm_launcher *old = *parked;
        *parked = self;
        if (old)
            PyObject_GC_Del(old);
        Py_DECREF((PyObject *)kernel);
    } else {
        PyObject_GC_Del(object);
    }
    Py_DECREF(type);
}

void
pm_launcher_free_parked(struct pm_kernel *kernel)
{
    for (int i = 0; i < PM_N_LAUNCHERS; i++)
        if (kernel->parked[i])
            PyObject_GC_Del(kernel->parked[i]);
}

static int
launcher_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->kernel);
    Py_VISIT(self->stream);
    return 0;
}

static PyObject *
launcher_size(const int64_t numbers[3], uint8_t n)
{
    return n == 1   ? Py_BuildValue("(L)", (long long)numbers[0])
           : n == 2 ? Py_BuildValue("(LL)", (long long)numbers[0], (long long)numbers[1])
                    : Py_BuildValue("(LLL)", (long long)numbers[0], (long long)numbers[1],
                                    (long long)numbers[2]);
}

static PyObject *
launcher_get_grid(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_launcher *self = (struct pm_launcher *)object;
    return launcher_size(self->config.grid, self->config.n_grid);
}

static PyObject *
launcher_get_block(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_launcher *self = (struct pm_launcher *)object;
    return launcher_size(self->config.block, self->config.n_block);
}

static PyObject *
launcher_get_stream(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_launcher *self = (struct pm_launcher *)object;
    if (self->stream)
        return Py_NewRef(self->stream);
    return PyLong_FromUnsignedLongLong(self->config.stream);
}

static PyObject *
launcher_get_shared(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((struct pm_launcher *)object)->config.shared_B);
}

static PyObject *
launcher_get_kernel(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)((struct pm_launcher *)object)->kernel);
}

static PyObject *
launcher_repr(PyObject *object)
{
    PyObject *grid = launcher_get_grid(object, NULL), *block = launcher_get_block(object, NULL);
    PyObject *text = NULL;
    if (grid && block)
        text = PyUnicode_FromFormat("<gpu launcher %s[%R, %R]>",
                                    ((struct pm_launcher *)object)->kernel->name_utf8, grid, block);
    Py_XDECREF(grid);
    Py_XDECREF(block);
    return text;
}

static PyGetSetDef launcher_getset[] = {
    {"grid", launcher_get_grid, NULL, "Blocks along each axis.", NULL},
    {"block", launcher_get_block, NULL, "Threads of a block along each axis.", NULL},
    {"stream", launcher_get_stream, NULL, "The stream, 0 for the default one.", NULL},
    {"shared_bytes", launcher_get_shared, NULL, "Dynamic shared memory per block.", NULL},
    {"kernel", launcher_get_kernel, NULL, "What is launched.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct pm_launcher, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, (void *)"kernel[grid, block]: call it with the kernel's arguments."},
    {Py_tp_call, launcher_tp_call},
    {Py_tp_repr, launcher_repr},
    {Py_tp_getset, launcher_getset},
    {Py_tp_members, launcher_members},
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_traverse, launcher_traverse},
    {0, NULL},
};
static PyType_Spec launcher_spec = {
    .name = "gpu.Launcher",
    .basicsize = sizeof(struct pm_launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE | PM_HAVE_VECTORCALL,
    .slots = launcher_slots,
};

PyType_Spec *
pm_launcher_spec(void)
{
    return &launcher_spec;
}
