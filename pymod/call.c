/* call: kernel[grid, block](arguments), from Python values to a launch.
 *
 * A call classifies its values, finds the entry, packs the parameter area by the artifact's list of
 * slots and launches: no allocation and no attribute look-up when all arrays are ours. The limits
 * of the device are checked once per launcher and entry.
 *
 * Host arrays are used in place on the CPU device, which is then waited for; on a GPU they are
 * copied there and, if the kernel writes them, back. Memory of other libraries is used where it is,
 * after the work of the stream that its owner names. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

#define AREA_B 1024
#define WARN_COPY_B (4u << 20)

/* A queue that is full blocks the launch, and may be emptied by a callback that needs the GIL. */
#define N_QUEUED_WITH_GIL 256

struct call {
    struct pm_launcher *launcher;
    struct pm_kernel *kernel;
    struct pm_reading *reading;
    struct rt_device *dev;
    uint32_t n_args; /* with the elements of tuples */
    uint32_t room;
    bool python;
    bool foreign; /* some array is not ours */
    bool read_only;
    struct pm_arg *args;
    struct ir_argtype *types;
    PyObject *kept; /* a list of values that only this call refers to, or NULL */
};

static const char *
call_name(const struct call *call, uint32_t i)
{
    return call->reading->module->funcs.data[0]->params[call->args[i].param].name;
}

static bool
call_fail(const struct call *call, uint32_t i, const char *reason)
{
    return pm_arg_fail(call->kernel, call->reading, call->args[i].param, reason);
}

static void
call_pack(const struct artifact *artifact, const struct pm_arg *args, unsigned char *area)
{
    const struct sp_param *param = artifact->params, *end = param + artifact->n_params;
    for (; param < end; param++) {
        void *to = area + param->offset_B;
        const struct pm_arg *arg = &args[param->argument];
        switch (param->kind) {
        case SP_PARAM_SCALAR: memcpy(to, &arg->bits, param->size_B); break;
        case SP_PARAM_DATA: memcpy(to, &arg->view->data, 8); break;
        case SP_PARAM_EXTENT: memcpy(to, &arg->view->shape[param->axis], 8); break;
        case SP_PARAM_STRIDE: memcpy(to, &arg->view->strides[param->axis], 8); break;
        default: break; /* the runtime's own */
        }
    }
}

/* A grid that leaves multiprocessors idle is said so once per entry. */
static bool
call_warn_grid(const struct pm_launcher *self, struct rt_device *dev, struct pm_entry *entry)
{
    const struct rt_info *info = rt_device_info(dev);
    const int64_t *grid = self->config.grid, *block = self->config.block;
    long long n_blocks = grid[0] * grid[1] * grid[2];
    if (info->kind != RT_CUDA || self->kernel->is_internal || entry->warned_grid ||
        n_blocks >= info->n_processors)
        return true;
    char *text = sp_warning_text(SP_W_SMALL_GRID, self->kernel->name_utf8, n_blocks,
                                 n_blocks == 1 ? "" : "s", block[0] * block[1] * block[2],
                                 (int)info->n_processors, (int)(info->n_processors - n_blocks));
    return entry->warned_grid = pm_warn_launch(self->kernel->state, SP_W_SMALL_GRID, text);
}

static bool
call_prepare(struct pm_launcher *self, struct rt_device *dev, struct pm_entry *entry)
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
    if (!call_warn_grid(self, dev, entry))
        return false;
    if (entry->artifact->prints && !self->kernel->state->print.used &&
        !pm_print_begin(self->kernel->state))
        return false;
    self->prepared = entry->serial;
    return true;
}

static bool
call_start(struct call *call, struct pm_entry *entry)
{
    struct pm_launcher *self = call->launcher;
    struct pm_state *state = call->kernel->state;
    uint64_t room[AREA_B / 8];
    void *area = room;
    struct sp_diag diag;
    if (self->prepared != entry->serial && !call_prepare(self, call->dev, entry))
        return false;
    struct rt_launch launch = self->launch;
    launch.thread = pm_thread();
    if (entry->artifact->params_size_B > AREA_B)
        area = sp_alloc(entry->artifact->params_size_B);
    call_pack(entry->artifact, call->args, area);
    sp_diag_init(&diag);
    bool ok;
    if (++state->n_queued > N_QUEUED_WITH_GIL) {
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_launch(call->dev, entry->code, &launch, area, &diag);
        Py_END_ALLOW_THREADS
    } else {
        ok = rt_device_launch(call->dev, entry->code, &launch, area, &diag);
    }
    if (area != room)
        free(area);
    if (!ok)
        pm_raise(state, &diag);
    return ok && (!state->launch_blocking || pm_wait(state, call->dev, &launch.stream));
}

static bool
call_is_written(const struct artifact *artifact, uint32_t i)
{
    return artifact->written >> (i < 63 ? i : 63) & 1;
}

static bool
call_check_written(struct call *call, const struct artifact *artifact)
{
    for (uint32_t i = 0; i < call->n_args; i++) {
        const struct pm_view *view = call->args[i].view;
        if (view && view->read_only && call_is_written(artifact, i))
            return call_fail(call, i,
                             "the array is read-only and the kernel writes it; pass x.copy()");
    }
    return true;
}

/* Host arrays with elements in common, one of them written: the same elements get one copy, others
 * are refused, because two copies would part ways. */
static bool
call_share_staged(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_foreign *foreign = call->args[i].foreign;
    for (uint32_t k = 0; k < i; k++) {
        const struct pm_foreign *other = call->args[k].foreign;
        bool written = call_is_written(artifact, i) || call_is_written(artifact, k);
        if (!other || !other->on_host || !written)
            continue;
        if (pm_view_same(&foreign->view, &other->view)) {
            foreign->staged = other->staged;
            foreign->shares_staged = true;
            return true;
        }
        if (!pm_view_overlap(&foreign->view, &other->view))
            continue;
        char reason[200];
        PyOS_snprintf(reason, sizeof reason,
                      "it overlaps argument '%.60s' in part, and the kernel writes; pass x.copy()",
                      call_name(call, k));
        return call_fail(call, i, reason);
    }
    return true;
}

/* Makes a foreign array's memory ready for the kernel. */
static bool
call_stage(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_state *state = call->kernel->state;
    struct pm_arg *arg = &call->args[i];
    struct pm_foreign *foreign = arg->foreign;
    rt_stream stream = call->launcher->config.stream;
    if (!foreign->on_host) {
        bool same = foreign->stream == stream || (foreign->stream <= 1 && stream <= 1);
        return !foreign->has_stream || same || pm_wait(state, call->dev, &foreign->stream);
    }
    if (rt_device_info(call->dev)->kind == RT_CPU)
        return true;
    if (!call_share_staged(call, artifact, i))
        return false;
    if (foreign->shares_staged) {
        arg->view = &foreign->staged;
        return true;
    }
    foreign->staged = foreign->view;
    foreign->staged.data = 0;
    struct sp_diag diag;
    sp_diag_init(&diag);
    uint64_t size_B = (uint64_t)foreign->view.size * pm_dtype_size_B(foreign->view.dtype);
    bool ok;
    if (!pm_view_contiguous(&foreign->staged, foreign->view.layout == IR_LAYOUT_F))
        return pm_fail(state, BAD_VALUE, "an array of more than 2^61 bytes");
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_alloc(call->dev, size_B, stream, &foreign->staged.data, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(state, &diag);
    arg->view = &foreign->staged;
    return pm_upload(state, call->dev, &foreign->staged, &foreign->view, stream);
}

static bool
call_unstage(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_foreign *foreign = call->args[i].foreign;
    /* Of arguments that share a copy each brings it back if it is written: the same elements. */
    return !foreign->staged.data || !call_is_written(artifact, i) ||
           pm_download(call->kernel->state, call->dev, &foreign->view, &foreign->staged,
                       call->launcher->config.stream);
}

static bool
call_free_staged(struct call *call)
{
    bool all = true;
    for (uint32_t i = 0; i < call->n_args; i++) {
        struct pm_foreign *foreign = call->args[i].foreign;
        if (!foreign || !foreign->staged.data || foreign->shares_staged)
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

/* Large host arrays that travel with every launch are said so once per entry. */
static bool
call_warn_copies(const struct call *call, struct pm_entry *entry)
{
    uint64_t up_B = 0, down_B = 0;
    if (entry->warned_copy || rt_device_info(call->dev)->kind != RT_CUDA)
        return true;
    for (uint32_t i = 0; i < call->n_args; i++) {
        const struct pm_foreign *foreign = call->args[i].foreign;
        if (!foreign || !foreign->on_host)
            continue;
        uint64_t size_B = (uint64_t)foreign->view.size * pm_dtype_size_B(foreign->view.dtype);
        up_B += size_B;
        down_B += call_is_written(entry->artifact, i) ? size_B : 0;
    }
    if (up_B < WARN_COPY_B)
        return true;
    char *text = sp_warning_text(SP_W_HOST_COPY, call->kernel->name_utf8, (double)up_B / (1 << 20),
                                 (double)down_B / (1 << 20));
    return entry->warned_copy = pm_warn_launch(call->kernel->state, SP_W_HOST_COPY, text);
}

/* Waits for the kernel and brings its results back: also those of threads that ended before or
 * beside one that raised. The kernel's exception goes before those of the copies. */
static bool
call_finish_staged(struct call *call, const struct artifact *artifact)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    bool waited = pm_wait(call->kernel->state, call->dev, &call->launcher->config.stream);
    if (!waited)
        PyErr_Fetch(&type, &value, &traceback);
    bool ok = true;
    for (uint32_t i = 0; ok && i < call->n_args; i++)
        if (call->args[i].foreign)
            ok = call_unstage(call, artifact, i);
    if (!waited)
        PyErr_Restore(type, value, traceback);
    return waited && ok;
}

static bool
call_start_foreign(struct call *call, struct pm_entry *entry)
{
    if (!call_warn_copies(call, entry))
        return false;
    bool ok = true, on_host = false;
    for (uint32_t i = 0; ok && i < call->n_args; i++) {
        if (!call->args[i].foreign)
            continue;
        on_host |= call->args[i].foreign->on_host;
        ok = call_stage(call, entry->artifact, i);
    }
    ok = ok && call_start(call, entry);
    if (ok && on_host)
        ok = call_finish_staged(call, entry->artifact);
    return call_free_staged(call) && ok;
}

/* Makes room for one more argument; the inline arrays are those of pm_call. */
static void
call_reserve(struct call *call)
{
    if (call->n_args < call->room)
        return;
    uint32_t room = 2 * call->room + PM_N_INLINE_ARGS;
    struct pm_arg *args = sp_alloc(room * sizeof *args);
    struct ir_argtype *types = sp_alloc(room * sizeof *types);
    memcpy(args, call->args, call->n_args * sizeof *args);
    if (call->room > PM_N_INLINE_ARGS) {
        free(call->args);
        free(call->types);
    }
    call->args = args;
    call->types = types;
    call->room = room;
}

/* Takes the value over until the call is done; false if there is none. */
static bool
call_keep(struct call *call, PyObject *value)
{
    if (value && !call->kept)
        call->kept = PyList_New(0);
    bool ok = value && call->kept && PyList_Append(call->kept, value) == 0;
    Py_XDECREF(value);
    return ok;
}

/* The value of a parameter, or a part of it, with all its elements. */
static bool
call_add(struct call *call, uint32_t param, PyObject *value, int depth)
{
    call_reserve(call);
    struct pm_arg *arg = &call->args[call->n_args];
    if (!pm_arg_get(call->kernel, call->reading, call->dev, param, value, arg))
        return false;
    bool inside = depth > 0 && depth < PM_MAX_TUPLE_DEPTH;
    if (inside && arg->type.kind == IR_ARG_OBJECT && pm_arg_is_member(value)) {
        /* In a tuple only types are known: the member's value is a number like any other. */
        PyObject *plain = PyObject_GetAttrString(value, "_value_");
        return call_keep(call, plain) && call_add(call, param, plain, depth + 1);
    }
    arg->param = param;
    call->foreign |= arg->foreign != NULL;
    call->read_only |= arg->view && arg->view->read_only;
    call->n_args++;
    if (arg->type.kind != IR_ARG_TUPLE)
        return true;
    if (depth >= PM_MAX_TUPLE_DEPTH)
        return call_fail(call, call->n_args - 1, "tuples nested too deeply");
    uint32_t n = arg->type.n_elems;
    if (call->n_args + n > IR_MAX_LEAVES)
        return call_fail(call, call->n_args - 1, "tuples of too many elements; pass an array");
    for (uint32_t i = 0; i < n; i++)
        if (!call_add(call, param, PyTuple_GetItem(value, i), depth + 1))
            return false;
    return true;
}

static bool
call_run(struct call *call, PyObject *const *values)
{
    struct pm_kernel *kernel = call->kernel;
    uint32_t n = call->reading->n_params + call->reading->has_varargs;
    for (uint32_t i = 0; i < n; i++)
        if (!call_add(call, i, values[i], 0))
            return false;
    n = call->n_args;
    if (kernel->n_declared && !pm_args_declared(kernel, call->args, n))
        return false;
    if (call->python)
        return pm_pydevice_run(call->launcher, call->dev, values,
                               call->reading->n_params + call->reading->has_varargs, call->args, n);
    for (uint32_t i = 0; i < n; i++)
        call->types[i] = call->args[i].type;
    struct pm_entry *entry = pm_entry_get(kernel, call->reading, call->dev, call->types, n);
    if (!entry || (call->read_only && !call_check_written(call, entry->artifact)))
        return false;
    if (!call->foreign)
        return call_start(call, entry);
    pm_quiet_begin(kernel->state);
    bool ok = call_start_foreign(call, entry);
    pm_quiet_end(kernel->state);
    return ok;
}

PyObject *
pm_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    struct pm_kernel *kernel = self->kernel;
    struct pm_state *state = kernel->state;
    const struct pm_place *place = pm_place(state);
    struct pm_reading *reading = place ? pm_kernel_reading(kernel) : NULL;
    if (!reading)
        return NULL;
    reading->refs++; /* whatever lets go of the GIL comes later */
    if (state->announce && !kernel->is_internal)
        pm_announce(state);
    uint32_t n = reading->n_params;
    Py_ssize_t n_args = (Py_ssize_t)(nargsf & ~((size_t)1 << (8 * sizeof(size_t) - 1)));
    PyObject *few_values[PM_N_INLINE_ARGS], **values = few_values;
    struct pm_arg few_args[PM_N_INLINE_ARGS];
    struct ir_argtype few_types[PM_N_INLINE_ARGS];
    struct call call = {.launcher = self,
                        .kernel = kernel,
                        .reading = reading,
                        .dev = place->dev,
                        .python = place->python && !kernel->is_internal,
                        .room = PM_N_INLINE_ARGS,
                        .args = few_args,
                        .types = few_types};
    if (n + 1 > PM_N_INLINE_ARGS)
        values = sp_alloc((n + 1) * sizeof *values);
    values[n] = NULL;
    if (kernel->is_internal && Py_IS_TYPE(args[0], state->array_type))
        call.dev = ((struct pm_array *)args[0])->dev;
    bool ok;
    if (!kwnames && n_args == (Py_ssize_t)n && !reading->has_varargs)
        ok = call_run(&call, args);
    else
        ok = pm_bind(kernel, reading, args, n_args, kwnames, values) && call_run(&call, values);
    if (call.foreign || !ok)
        for (uint32_t i = 0; i < call.n_args; i++)
            pm_arg_release(state, &call.args[i]);
    Py_XDECREF(values[n]);
    Py_XDECREF(call.kept);
    if (values != few_values)
        free(values);
    if (call.args != few_args) {
        free(call.args);
        free(call.types);
    }
    pm_reading_unref(reading);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* For callers without vectorcall: the values in one array, as vectorcall has them. */
PyObject *
pm_call_tuple(PyObject *self, PyObject *args, PyObject *kwargs)
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
        result = pm_call(self, values, (size_t)n_args, n_names ? names : NULL);
    Py_XDECREF(names);
    free(values);
    return result;
}
