/* call: kernel[grid, block](arguments), from Python values to a launch.
 *
 * A call classifies its values, finds the entry, packs the parameter area by the artifact's list of
 * slots and launches: no allocation and no attribute look-up when all arrays are ours. The limits
 * of the device are checked once per launcher and entry.
 *
 * Arrays that are not ours are made ready by staging.c. */
#include "pymod/call_t.h"

#include <stdlib.h>
#include <string.h>

#define AREA_B 1024

/* A queue that is full blocks the launch, and may be emptied by a callback that needs the GIL. */
#define N_QUEUED_WITH_GIL 256

bool
pm_call_fail(const struct call *call, uint32_t i, const char *reason)
{
    return pm_arg_fail(call->taking.kernel, call->taking.reading, call->args[i].param, reason);
}

void
pm_call_pack(const struct artifact *artifact, const struct pm_arg *args, unsigned char *area)
{
    const struct sp_param *param = artifact->params, *end = param + artifact->n_params;
    for (; param < end; param++) {
        void *to = area + param->offset_B;
        const struct pm_arg *arg = &args[param->argument];
        switch (param->kind) {
        case SP_PARAM_SCALAR: memcpy(to, &arg->bits, param->size_B); break;
        case SP_PARAM_WORD: pm_record_word(arg, param->axis, to); break;
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
    const uint32_t *grid = self->launch.grid, *block = self->launch.block;
    long long n_blocks = (long long)grid[0] * grid[1] * grid[2];
    if (info->kind != RT_CUDA || self->kernel->is_internal || entry->warned_grid ||
        n_blocks >= info->n_processors)
        return true;
    char *text =
        sp_warning_text(SP_W_SMALL_GRID, self->kernel->name_utf8, n_blocks,
                        n_blocks == 1 ? "" : "s", (long long)block[0] * block[1] * block[2],
                        (int)info->n_processors, (int)(info->n_processors - n_blocks));
    return entry->warned_grid = pm_warn_launch(self->kernel->state, SP_W_SMALL_GRID, text);
}

static bool
call_prepare(struct pm_launcher *self, struct rt_device *dev, struct pm_entry *entry)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct pm_config *config = &self->config, chosen;
    if (config->n_tasks) { /* forall: as many threads as the kernel can have, but few for balance */
        uint32_t most = entry->code->attributes.max_threads;
        chosen = *config;
        config = &chosen;
        config->block[0] = most && most < PM_FORALL_BLOCK ? most : PM_FORALL_BLOCK;
        config->grid[0] = (config->n_tasks - 1) / config->block[0] + 1;
    }
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

/* A stream of ours is of one device, unless it is a default one; the error names both. */
static bool
call_check_stream(const struct pm_launcher *self, const struct rt_device *dev)
{
    const struct rt_device *its = ((const struct pm_stream *)self->stream)->dev;
    struct pm_state *state = self->kernel->state;
    if (its == dev || ((const struct pm_stream *)self->stream)->handle <= 2)
        return true;
    if (!pm_device_check(state, its))
        return false;
    char here[24], there[24], message[160];
    pm_device_print(dev, here);
    pm_device_print(its, there);
    PyOS_snprintf(message, sizeof message,
                  "the stream is of %s, the kernel runs on %s: make one there with gpu.stream()",
                  there, here);
    return pm_fail(state, STREAM_MISUSE, message);
}

bool
pm_call_launch(struct pm_launcher *self, struct rt_device *dev, struct pm_entry *entry,
               rt_stream stream, bool is_here, void *area)
{
    struct pm_state *state = self->kernel->state;
    struct sp_diag diag;
    if (self->stream && Py_IS_TYPE(self->stream, state->stream_type) &&
        (!pm_stream_parse(state, self->stream, &stream) || /* it was closed */
         !call_check_stream(self, dev)))
        return false;
    if (self->prepared != entry->serial) {
        if (!call_prepare(self, dev, entry))
            return false;
        is_here = false; /* it may have shown a warning */
    }
    struct rt_launch launch = self->launch;
    launch.thread = pm_thread();
    launch.stream = stream;
    launch.is_here = is_here;
    sp_diag_init(&diag);
    bool ok;
    if (__builtin_expect(state->graph_update != NULL, 0) && pm_graph_updates(state))
        return pm_graph_set(self, entry, &launch, area);
    if (++state->n_queued > N_QUEUED_WITH_GIL) {
        launch.is_here = false; /* another thread may reset the device */
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_launch(dev, entry->code, &launch, area, &diag);
        Py_END_ALLOW_THREADS
    } else {
        ok = rt_device_launch(dev, entry->code, &launch, area, &diag);
    }
    if (!ok)
        pm_raise(state, &diag);
    bool waits = state->launch_blocking && !rt_stream_is_capturing(dev, stream);
    return ok && (!waits || pm_wait(state, dev, &stream));
}

bool
pm_call_check_graph(const struct call *call, uint32_t i)
{
    const struct pm_foreign *foreign = call->args[i].foreign;
    if (!foreign || !foreign->on_host ||
        !pm_graph_takes(call->taking.state, call->taking.dev, call->stream))
        return true;
    return pm_call_fail(call, i,
                        "it is a host array, which a graph cannot copy; pass gpu.to_device(x), "
                        "made before the capture");
}

/* What a graph keeps. */
static PyObject *
call_tuple(const struct call *call)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)call->n_args);
    for (uint32_t i = 0; tuple && i < call->n_args; i++)
        PyTuple_SetItem(tuple, i, Py_NewRef(call->args[i].object ? call->args[i].object : Py_None));
    return tuple;
}

bool
pm_call_start(struct call *call, struct pm_entry *entry)
{
    uint64_t room[AREA_B / 8];
    void *area = room;
    if (entry->artifact->params_size_B > AREA_B)
        area = sp_alloc(entry->artifact->params_size_B);
    pm_call_pack(entry->artifact, call->args, area);
    bool ok = pm_call_launch(call->launcher, call->taking.dev, entry, call->stream,
                             call->taking.is_here, area);
    if (area != room)
        free(area);
    const struct pm_state *state = call->taking.state;
    if (__builtin_expect(!ok || (!state->graphs && !state->graph_update), 1))
        return ok;
    return pm_graph_note(call->launcher, call->taking.dev, call->stream, call->taking.reading,
                         entry, call_tuple(call));
}

/* Elements of which several are one and the same place in memory. */
static bool
call_is_repeated(const struct pm_view *view)
{
    for (uint32_t i = 0; view->size && i < view->rank; i++)
        if (view->shape[i] > 1 && view->strides[i] == 0)
            return true;
    return false;
}

static bool
call_check_written(struct call *call, const struct artifact *artifact)
{
    for (uint32_t i = 0; i < call->n_args; i++) {
        const struct pm_view *view = call->args[i].view;
        const struct pm_foreign *foreign = call->args[i].foreign;
        bool copied = foreign && foreign->on_host && foreign->transfer == PM_TRANSFER_IN;
        if (!view || copied || !call_is_written(artifact, i))
            continue;
        if (view->read_only)
            return pm_call_fail(call, i,
                                "the array is read-only and the kernel writes it; pass x.copy()");
        if (call_is_repeated(view))
            return pm_call_fail(call, i,
                                "elements of the array share memory (a stride is 0, as broadcast "
                                "and expand leave it) and the kernel writes it; pass x.copy(), in "
                                "torch x.contiguous()");
    }
    return true;
}

/* Makes room for one more argument; the first ones are in the call itself. */
static void
call_reserve(struct call *call)
{
    if (call->n_args < call->room)
        return;
    uint32_t room = 2 * call->room + PM_N_INLINE_ARGS;
    struct pm_arg *args = sp_alloc(room * sizeof *args);
    struct ir_argtype *types = sp_alloc(room * sizeof *types);
    memcpy(args, call->args, call->n_args * sizeof *args);
    if (call->args != call->few_args) {
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
    if (!pm_arg_get(&call->taking, param, value, arg))
        return false;
    if (arg->type.kind == IR_ARG_SCALAR) {
        arg->param = param;
        call->n_args++;
        return true;
    }
    bool inside = depth > 0 && depth < PM_MAX_TUPLE_DEPTH;
    if (inside && arg->type.kind == IR_ARG_OBJECT && pm_arg_is_member(value)) {
        /* In a tuple only types are known: the member's value is a number like any other. */
        PyObject *plain = PyObject_GetAttrString(value, "_value_");
        return call_keep(call, plain) && call_add(call, param, plain, depth + 1);
    }
    arg->param = param;
    if (arg->view && !arg->foreign && ((struct pm_array *)arg->object)->dev != call->taking.dev)
        call->foreign = call->abroad = true; /* waited for on both sides, as a host array is */
    else if (arg->view && !arg->foreign &&
             !pm_array_use((struct pm_array *)arg->object, call->taking.dev, call->stream,
                           call->launcher->stream))
        return false;
    call->foreign |= arg->foreign != NULL;
    if (arg->view)
        call->odd |= arg->view->read_only | (arg->view->layout == IR_LAYOUT_ANY);
    call->n_args++;
    if (arg->type.kind != IR_ARG_TUPLE)
        return true;
    if (depth >= PM_MAX_TUPLE_DEPTH)
        return pm_call_fail(call, call->n_args - 1, "tuples nested too deeply");
    uint32_t n = arg->type.n_elems;
    if (call->n_args + n > IR_MAX_LEAVES)
        return pm_call_fail(call, call->n_args - 1, "tuples of too many elements; pass an array");
    for (uint32_t i = 0; i < n; i++)
        if (!call_add(call, param, PyTuple_GetItem(value, i), depth + 1))
            return false;
    return true;
}

/* The python device gets what is inside of gpu.In and its like: In as a copy. */
static bool
call_run_python(struct call *call, PyObject *const *values, uint32_t n_values)
{
    struct pm_state *state = call->taking.state;
    PyObject **plain = sp_alloc((n_values + 1) * sizeof *plain), *array;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n_values; i++) {
        plain[i] = values[i];
        enum pm_transfer transfer = pm_transfer_get(state, values[i], &array);
        if (transfer)
            plain[i] = array;
        if (transfer == PM_TRANSFER_IN && !Py_IS_TYPE(array, state->array_type)) {
            plain[i] = PyObject_CallMethod(array, "copy", NULL);
            ok = call_keep(call, plain[i]);
        }
    }
    bool taken = false;
    for (uint32_t i = 0; ok && i < call->n_args; i++)
        ok = pm_call_check_graph(call, i);
    if (ok && (state->graphs || state->graph_update))
        ok = pm_graph_take_python(call->launcher, call->taking.dev, plain, n_values,
                                  call->taking.reading->has_varargs, call->args, call->n_args,
                                  &taken);
    if (ok && !taken)
        ok = pm_pydevice_run(call->launcher, call->taking.dev, plain, n_values, call->args,
                             call->n_args);
    free(plain);
    return ok;
}

bool
pm_call_take(struct call *call, PyObject *const *values)
{
    const struct pm_reading *reading = call->taking.reading;
    uint32_t n = reading->n_params + reading->has_varargs;
    PyObject *stream = call->launcher->stream;
    if (stream && Py_IS_TYPE(stream, call->taking.state->stream_type) &&
        !pm_stream_parse(call->taking.state, stream, &call->stream))
        return false; /* it was closed: the driver must not see it, not even for the arrays */
    for (uint32_t i = 0; i < n; i++)
        if (!call_add(call, i, values[i], 0))
            return false;
    struct pm_kernel *kernel = call->taking.kernel;
    return !kernel->n_declared || pm_args_declared(kernel, call->args, call->n_args);
}

/* What was launched last with this kernel: on the same device, with the same types, all of which
 * are told by the bits of a struct ir_argtype, without an object. */
static bool
call_is_as_before(const struct call *call, const struct pm_entry *entry)
{
    if (entry->dev != call->taking.dev || entry->n_args != call->n_args || entry->by_value)
        return false;
    for (uint32_t i = 0; i < call->n_args; i++) {
        uint64_t is, was;
        memcpy(&is, &call->args[i].type, sizeof is);
        memcpy(&was, &entry->args[i], sizeof was);
        if (is != was || call->args[i].type.host)
            return false;
    }
    return true;
}

struct pm_entry *
pm_call_entry(struct call *call)
{
    uint32_t n = call->n_args;
    struct pm_entry *entry = call->taking.reading->recent;
    if (entry && call_is_as_before(call, entry))
        return !call->odd || call_check_written(call, entry->artifact) ? entry : NULL;
    for (uint32_t i = 0; i < n; i++)
        call->types[i] = call->args[i].type;
    call->taking.is_here = false; /* compiling runs code of others */
    entry =
        pm_entry_get(call->taking.kernel, call->taking.reading, call->taking.dev, call->types, n);
    return entry && (!call->odd || call_check_written(call, entry->artifact)) ? entry : NULL;
}

static bool
call_run(struct call *call, PyObject *const *values)
{
    if (!pm_call_take(call, values))
        return false;
    if (call->python)
        return call_run_python(call, values,
                               call->taking.reading->n_params + call->taking.reading->has_varargs);
    struct pm_entry *entry = pm_call_entry(call);
    if (!entry)
        return false;
    return call->foreign ? pm_call_start_foreign(call, entry) : pm_call_start(call, entry);
}

void
pm_call_init(struct call *call, struct pm_launcher *launcher, const struct begun *begun)
{
    struct pm_kernel *kernel = launcher->kernel;
    call->launcher = launcher;
    call->taking.state = kernel->state;
    call->taking.kernel = kernel;
    call->taking.reading = begun->reading;
    call->taking.dev = begun->place->dev;
    call->taking.is_here = begun->is_here;
    call->python = begun->place->python && !kernel->is_internal;
    call->taking.copies = false;
    call->taking.current.known = false;
    call->taking.current.consumer = launcher->config.stream;
    call->stream = launcher->config.stream;
    call->n_args = 0;
    call->room = PM_N_INLINE_ARGS;
    call->foreign = call->odd = call->abroad = false;
    call->args = call->few_args;
    call->types = call->few_types;
    call->kept = NULL;
}

void
pm_call_finish(struct call *call)
{
    for (uint32_t i = 0; call->foreign && i < call->n_args; i++)
        if (call->args[i].foreign)
            pm_arg_release(call->taking.state, &call->args[i]);
    Py_XDECREF(call->kept);
    if (call->args != call->few_args) {
        free(call->args);
        free(call->types);
    }
}

bool
pm_call_values(struct pm_launcher *launcher, const struct begun *begun, PyObject *const *values)
{
    struct call call;
    pm_call_init(&call, launcher, begun);
    if (launcher->kernel->is_internal && Py_IS_TYPE(values[0], call.taking.state->array_type)) {
        call.taking.dev = ((struct pm_array *)values[0])->dev;
        call.taking.is_here &= call.taking.dev == begun->place->dev;
    }
    bool ok = call_run(&call, values);
    pm_call_finish(&call);
    return ok;
}

bool
pm_call_begin(struct pm_kernel *kernel, struct begun *begun_out)
{
    struct pm_state *state = kernel->state;
    bool is_here;
    const struct pm_place *place = pm_place_look(state, &is_here);
    struct pm_reading *reading = place ? pm_kernel_reading(kernel) : NULL;
    if (!reading)
        return false;
    if (state->announce && !kernel->is_internal)
        pm_announce(state);
    *begun_out = (struct begun){reading, place, is_here};
    return true;
}

PyObject *
pm_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    struct begun begun;
    if (!pm_call_begin(self->kernel, &begun))
        return NULL;
    struct pm_reading *reading = begun.reading;
    uint32_t n = reading->n_params;
    Py_ssize_t n_args = (Py_ssize_t)(nargsf & ~((size_t)1 << (8 * sizeof(size_t) - 1)));
    bool ok;
    if (!kwnames && n_args == (Py_ssize_t)n && !reading->has_varargs) {
        ok = pm_call_values(self, &begun, args);
    } else {
        PyObject *few_values[PM_N_INLINE_ARGS], **values = few_values;
        if (n + 1 > PM_N_INLINE_ARGS)
            values = sp_alloc((n + 1) * sizeof *values);
        values[n] = NULL;
        ok = pm_bind(self->kernel, reading, args, n_args, kwnames, values) &&
             pm_call_values(self, &begun, values);
        Py_XDECREF(values[n]);
        if (values != few_values)
            free(values);
    }
    pm_reading_unref(reading);
    return ok ? Py_NewRef(Py_None) : NULL;
}

PyObject *
pm_call_as_vector(pm_vectorcall function, PyObject *self, PyObject *args, PyObject *kwargs)
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
        result = function(self, values, (size_t)n_args, n_names ? names : NULL);
    Py_XDECREF(names);
    free(values);
    return result;
}

PyObject *
pm_call_tuple(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return pm_call_as_vector(pm_call, self, args, kwargs);
}
