/* staging: arrays that are not ours made ready for a launch, and what is to do after it.
 *
 * Host arrays are used in place on the CPU device, which is then waited for; on a GPU they are
 * copied there and, if the kernel writes them, back, unless gpu.In or gpu.Out says otherwise;
 * pinned, mapped and managed memory is used in place there too.
 * Memory of other libraries is used where it is. If all arrays come from one current stream, and
 * none was named for the launch, that is where the kernel runs; else the launch begins after the
 * work of the stream that the owner names, and later work of that stream after the launch. The host
 * waits for neither. */
#include "pymod/call_t.h"

#define WARN_COPY_B (4u << 20)

static const char *
staging_name(const struct call *call, uint32_t i)
{
    return call->taking.reading->module->funcs.data[0]->params[call->args[i].param].name;
}

/* Host arrays with elements in common, one of them written: the same elements get one copy, others
 * are refused, because two copies would part ways. */
static bool
staging_share(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_foreign *foreign = call->args[i].foreign;
    for (uint32_t k = 0; k < i; k++) {
        struct pm_foreign *other = call->args[k].foreign;
        bool written = call_is_written(artifact, i) || call_is_written(artifact, k);
        if (!other || !other->on_host || !written)
            continue;
        if (pm_view_same(&foreign->view, &other->view)) {
            foreign->staged = other->staged;
            foreign->shares_staged = true;
            bool late = other->transfer == PM_TRANSFER_OUT && foreign->transfer != PM_TRANSFER_OUT;
            return !late || pm_upload(call->taking.state, call->taking.dev, &foreign->staged,
                                      &foreign->view, call->stream);
        }
        if (!pm_view_overlap(&foreign->view, &other->view))
            continue;
        char reason[200];
        PyOS_snprintf(reason, sizeof reason,
                      "it overlaps argument '%.60s' in part, and the kernel writes; pass x.copy()",
                      staging_name(call, k));
        return pm_call_fail(call, i, reason);
    }
    return true;
}

/* Makes the memory of a host array ready for the kernel. */
static bool
staging_prepare(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_state *state = call->taking.state;
    struct pm_arg *arg = &call->args[i];
    struct pm_foreign *foreign = arg->foreign;
    rt_stream stream = call->stream;
    bool in_place = rt_device_info(call->taking.dev)->kind == RT_CPU;
    if (in_place && !(foreign->transfer == PM_TRANSFER_IN && call_is_written(artifact, i)))
        return true;
    if (!in_place && !staging_share(call, artifact, i))
        return false;
    if (foreign->shares_staged) {
        arg->view = &foreign->staged;
        return true;
    }
    foreign->staged = foreign->view;
    foreign->staged.data = 0;
    struct sp_diag diag;
    sp_diag_init(&diag);
    uint64_t size_B = (uint64_t)foreign->view.size * pm_view_itemsize(&foreign->view);
    bool ok;
    if (!pm_view_contiguous(&foreign->staged, foreign->view.layout == IR_LAYOUT_F))
        return pm_fail(state, BAD_VALUE, "an array of more than 2^61 bytes");
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_alloc(call->taking.dev, size_B, stream, &foreign->staged.data, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(state, &diag);
    arg->view = &foreign->staged;
    return foreign->transfer == PM_TRANSFER_OUT ||
           pm_upload(state, call->taking.dev, &foreign->staged, &foreign->view, stream);
}

static bool
staging_bring_back(struct call *call, const struct artifact *artifact, uint32_t i)
{
    struct pm_foreign *foreign = call->args[i].foreign;
    /* Of arguments that share a copy each brings it back if it is written: the same elements. */
    return !foreign->staged.data || !call_is_written(artifact, i) ||
           foreign->transfer == PM_TRANSFER_IN ||
           pm_download(call->taking.state, call->taking.dev, &foreign->view, &foreign->staged,
                       call->stream);
}

static bool
staging_free(struct call *call)
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
        ok = rt_device_free(call->taking.dev, foreign->staged.data, &diag);
        Py_END_ALLOW_THREADS
        foreign->staged.data = 0;
        if (!ok && !PyErr_Occurred())
            pm_raise(call->taking.state, &diag);
        sp_diag_finish(&diag);
        all = all && ok;
    }
    return all;
}

/* Large host arrays that travel with every launch are said so once per entry. */
static bool
staging_warn(const struct call *call, struct pm_entry *entry)
{
    uint64_t up_B = 0, down_B = 0;
    if (entry->warned_copy || rt_device_info(call->taking.dev)->kind != RT_CUDA)
        return true;
    for (uint32_t i = 0; i < call->n_args; i++) {
        const struct pm_foreign *foreign = call->args[i].foreign;
        if (!foreign || !foreign->on_host)
            continue;
        uint64_t size_B = (uint64_t)foreign->view.size * pm_view_itemsize(&foreign->view);
        up_B += foreign->transfer == PM_TRANSFER_OUT ? 0 : size_B;
        down_B +=
            call_is_written(entry->artifact, i) && foreign->transfer != PM_TRANSFER_IN ? size_B : 0;
    }
    if (up_B + down_B < WARN_COPY_B)
        return true;
    char *text = sp_warning_text(SP_W_HOST_COPY, call->taking.kernel->name_utf8,
                                 (double)up_B / (1 << 20), (double)down_B / (1 << 20));
    return entry->warned_copy = pm_warn_launch(call->taking.state, SP_W_HOST_COPY, text);
}

/* Waits for the kernel and brings its results back: also those of threads that ended before or
 * beside one that raised. The kernel's exception goes before those of the copies. */
static bool
staging_finish(struct call *call, const struct artifact *artifact)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    bool waited = pm_wait(call->taking.state, call->taking.dev, &call->stream);
    if (!waited)
        PyErr_Fetch(&type, &value, &traceback);
    bool ok = true;
    for (uint32_t i = 0; ok && i < call->n_args; i++)
        if (call->args[i].foreign)
            ok = staging_bring_back(call, artifact, i);
    if (!waited)
        PyErr_Restore(type, value, traceback);
    return waited && ok;
}

/* The legacy default stream has two handles. */
static bool
staging_is_same_stream(rt_stream a, rt_stream b)
{
    return a == b || (a <= RT_STREAM_LEGACY && b <= RT_STREAM_LEGACY);
}

/* The stream that the owner of argument `i` works on, if the launch must be ordered with it. */
static bool
staging_names_stream(const struct call *call, uint32_t i, rt_stream *stream_out)
{
    const struct pm_foreign *foreign = call->args[i].foreign;
    if (!foreign || foreign->on_host || !foreign->has_stream)
        return false;
    *stream_out = foreign->stream;
    return true;
}

/* Without a stream of its own the launch goes where all its arrays are worked on, if that is one
 * stream. Host arrays follow any. */
static void
staging_choose_stream(struct call *call)
{
    bool found = false;
    rt_stream common = 0, stream;
    if (call->stream || call->launcher->stream)
        return;
    for (uint32_t i = 0; i < call->n_args; i++) {
        if (!call->args[i].view || (call->args[i].foreign && call->args[i].foreign->on_host))
            continue;
        if (!call->args[i].foreign)
            return; /* ours, of the default stream */
        if (!staging_names_stream(call, i, &stream))
            continue;
        if (found && !staging_is_same_stream(common, stream))
            return;
        common = stream;
        found = true;
    }
    if (found && common != RT_STREAM_LEGACY)
        call->stream = common;
}

/* Before the launch: after the owners' work. After it: their later work follows. */
static bool
staging_order(struct call *call, bool before)
{
    struct sp_diag diag;
    rt_stream stream, earlier;
    sp_diag_init(&diag);
    for (uint32_t i = 0; i < call->n_args; i++) {
        if (!staging_names_stream(call, i, &stream) || staging_is_same_stream(stream, call->stream))
            continue;
        bool done = false;
        for (uint32_t k = 0; k < i && !done; k++)
            done = staging_names_stream(call, k, &earlier) && earlier == stream;
        if (!done && !rt_stream_order(call->taking.dev, before ? stream : call->stream,
                                      before ? call->stream : stream, &diag))
            return pm_raise(call->taking.state, &diag);
    }
    return true;
}

/* Arrays of other devices: what these still do with them comes first. */
static bool
staging_wait_abroad(struct call *call)
{
    for (uint32_t i = 0; i < call->n_args; i++) {
        if (!call->args[i].view || call->args[i].foreign)
            continue;
        const struct pm_array *array = (const struct pm_array *)call->args[i].object;
        if (array->dev == call->taking.dev)
            continue;
        pm_quiet_begin(call->taking.state);
        bool ok = pm_wait(call->taking.state, array->dev, NULL);
        pm_quiet_end(call->taking.state);
        if (!ok)
            return false;
    }
    return true;
}

/* With copies of the host's arrays. */
static bool
staging_run(struct call *call, struct pm_entry *entry)
{
    if (!staging_warn(call, entry))
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < call->n_args; i++)
        if (call->args[i].foreign && call->args[i].foreign->on_host)
            ok = staging_prepare(call, entry->artifact, i);
    ok = ok && staging_order(call, true) && pm_call_start(call, entry) &&
         staging_order(call, false) && staging_finish(call, entry->artifact);
    return staging_free(call) && ok;
}

bool
pm_call_start_foreign(struct call *call, struct pm_entry *entry)
{
    bool on_host = call->abroad, apart = false; /* some stream is not the launch's */
    rt_stream stream;
    if (call->abroad && !staging_wait_abroad(call))
        return false;
    staging_choose_stream(call);
    bool captured = call->taking.state->graphs != NULL &&
                    rt_stream_is_capturing(call->taking.dev, call->stream);
    for (uint32_t i = 0; i < call->n_args; i++) {
        const struct pm_foreign *foreign = call->args[i].foreign;
        if (!foreign)
            continue;
        if (foreign->on_host && !pm_call_check_graph(call, i))
            return false;
        on_host |= foreign->on_host || (foreign->lent && foreign->lent->waits && !captured);
        apart |=
            staging_names_stream(call, i, &stream) && !staging_is_same_stream(stream, call->stream);
        if (foreign->lent && !pm_memory_use(foreign->lent, call->taking.dev, call->stream))
            return false;
    }
    if (!on_host)
        return (!apart || staging_order(call, true)) && pm_call_start(call, entry) &&
               (!apart || staging_order(call, false));
    pm_quiet_begin(call->taking.state); /* its waits raise what this thread has launched */
    bool ok = staging_run(call, entry);
    pm_quiet_end(call->taking.state);
    return ok;
}
