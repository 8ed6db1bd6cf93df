/* compile: an artifact and its loaded code for one list of argument types: from disk if it is
 * there, else from the compiler, and then kept.
 *
 * In: a kernel's reading, a device, argument types. Out: both, and an event that says where they
 * came from, for kernel.explain(). Looking on disk, compiling, linking and loading drop the GIL.
 * Nothing on disk is used when the kernel says cache=False, when stages are to be dumped
 * (GPUJIT_DUMP would print nothing), and where there is no folder. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pymod/kept.h"
#include "runtime/disk.h"

enum { MAX_EVENTS = 64 };

static uint64_t
compile_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Events ---- */

void
pm_events_finish(struct pm_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->events.len; i++) {
        free(kernel->events.data[i].signature);
        free(kernel->events.data[i].parts);
    }
    sp_vec_finish(&kernel->events);
}

/* Of what is told already, but for when, where and for which types. */
static void
compile_add_event(struct pm_kernel *kernel, const struct rt_device *dev,
                  const struct ir_argtype *args, uint32_t n_args, struct pm_event *event)
{
    struct sp_str signature;
    sp_str_init(&signature);
    ir_signature_print(args, n_args, &signature);
    event->signature = sp_str_take(&signature);
    event->time_s = (double)time(NULL);
    pm_device_print(dev, event->device);
    if (kernel->events.len == MAX_EVENTS) {
        free(kernel->events.data[0].signature);
        free(kernel->events.data[0].parts);
        memmove(kernel->events.data, kernel->events.data + 1, (MAX_EVENTS - 1) * sizeof *event);
        kernel->events.len--;
    }
    sp_vec_push(NULL, &kernel->events, *event);
}

void
pm_event_shared(struct pm_kernel *kernel, const struct rt_device *dev,
                const struct ir_argtype *args, uint32_t n_args)
{
    struct pm_event event = {.origin = "memory"};
    compile_add_event(kernel, dev, args, n_args, &event);
}

/* [(origin, signature, device, milliseconds, seconds since 1970, key, parts)], for explain(). */
PyObject *
pm_kernel_events(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_kernel *kernel = (struct pm_kernel *)object;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < kernel->events.len; i++) {
        const struct pm_event *event = &kernel->events.data[i];
        PyObject *one =
            Py_BuildValue("sssddy#s", event->origin, event->signature, event->device,
                          (double)event->ns / 1e6, event->time_s, (const char *)event->key.bytes,
                          (Py_ssize_t)sizeof event->key.bytes, event->parts ? event->parts : "");
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* ---- What a key is made of, as text ---- */

static void
compile_print_name(const struct pm_kernel *kernel, struct sp_str *out)
{
    static const char *const names[] = {"__module__", "__qualname__"};
    for (int i = 0; i < 2; i++) {
        PyObject *text = PyObject_GetAttrString(kernel->function, names[i]);
        Py_ssize_t len;
        const char *utf8 =
            text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
        PyErr_Clear();
        sp_str_printf(out, "%s%s", i ? "." : "", utf8 ? utf8 : "?");
        Py_XDECREF(text);
    }
}

static char *
compile_parts(struct pm_kernel *kernel, struct pm_reading *reading, struct rt_device *dev,
              const struct cg_request *request)
{
    struct sp_str out;
    sp_str_init(&out);
    sp_str_add(&out, "kernel\t");
    compile_print_name(kernel, &out);
    sp_str_add(&out, "\nsignature\t");
    ir_signature_print(request->args, request->n_args, &out);
    sp_str_add_char(&out, '\n');
    cg_key_print(kernel->state->cg, request, &out);
    if (rt_device_info(dev)->driver_version)
        sp_str_printf(&out, "driver\t%d.%d\n", rt_device_info(dev)->driver_version / 1000,
                      rt_device_info(dev)->driver_version % 1000 / 10);
    cg_options_print(&request->options, &out);
    rt_jit_options_print(&kernel->jit_options, &out);
    fe_py_print_guards(reading->py, &out);
    return sp_str_take(&out);
}

/* ---- From one or the other ---- */

struct compiling {
    struct pm_kernel *kernel;
    struct pm_reading *reading;
    struct rt_device *dev;
    struct cg_request request;
    struct pm_kept kept;
    bool keeps;
    const char *origin;
};

/* The compiler's. */
static bool
compile_anew(struct compiling *c, struct sp_diag *diag)
{
    bool ok;
    struct cg_state *cg = c->kernel->state->cg;
    fe_oracle_forget(c->kept.oracle);
    Py_BEGIN_ALLOW_THREADS
    pm_fork_hold(c->kernel->state);
    ok = cg_compile(cg, &c->request, &c->kept.artifact, NULL, diag);
    pm_fork_allow(c->kernel->state);
    Py_END_ALLOW_THREADS
    if (!ok)
        return false;
    c->origin = "compiled";
    free(c->kept.parts);
    c->kept.parts = compile_parts(c->kernel, c->reading, c->dev, &c->request);
    if (c->keeps)
        pm_kept_put(&c->kept);
    return true;
}

/* False: an error in `diag`, or none and an exception. */
static bool
compile_get(struct compiling *c, struct sp_diag *diag)
{
    if (c->keeps) {
        bool found = pm_kept_find(&c->kept);
        if (!found && !pm_kept_lock(&c->kept))
            return false;
        if (found || pm_kept_find(&c->kept)) { /* it was made while this waited */
            c->origin = "disk";
            return true;
        }
        c->request.oracle = &c->kept.recorder;
    }
    return compile_anew(c, diag);
}

static bool
compile_load(struct compiling *c, struct artifact *artifact, struct rt_code **code_out,
             struct sp_diag *diag)
{
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    pm_fork_hold(c->kernel->state);
    ok = rt_device_load(c->dev, artifact, &c->kernel->jit_options, code_out, diag);
    pm_fork_allow(c->kernel->state);
    Py_END_ALLOW_THREADS
    return ok;
}

/* What cannot be loaded although it was kept, is compiled. */
static bool
compile_get_loaded(struct compiling *c, struct rt_code **code_out, struct sp_diag *diag)
{
    if (!compile_get(c, diag))
        return false;
    if (c->keeps)
        pm_kept_assemble(&c->kept);
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    if (c->kept.assembled && compile_load(c, c->kept.assembled, code_out, &ignored)) {
        sp_artifact_destroy(c->kept.artifact);
        c->kept.artifact = c->kept.assembled;
        c->kept.assembled = NULL;
        return true;
    }
    sp_diag_finish(&ignored);
    bool compiled = strcmp(c->origin, "disk") != 0;
    if (compiled)
        return compile_load(c, c->kept.artifact, code_out, diag);
    sp_diag_init(&ignored);
    if (compile_load(c, c->kept.artifact, code_out, &ignored))
        return true;
    sp_diag_finish(&ignored);
    sp_artifact_destroy(c->kept.artifact);
    c->kept.artifact = NULL;
    c->request.oracle = &c->kept.recorder;
    return compile_anew(c, diag) && compile_load(c, c->kept.artifact, code_out, diag);
}

bool
pm_compile(struct pm_kernel *kernel, struct pm_reading *reading, struct rt_device *dev,
           const struct ir_argtype *args, uint32_t n_args, struct artifact **artifact_out,
           struct rt_code **code_out)
{
    struct pm_state *state = kernel->state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    uint64_t start_ns = compile_clock_ns();
    struct compiling c = {.kernel = kernel, .reading = reading, .dev = dev};
    c.request = (struct cg_request){
        .py = reading->module,
        .args = args,
        .n_args = n_args,
        .options = kernel->cg_options,
        .dump = pm_dump(),
    };
    if (!pm_device_arch(state, dev, &c.request.arch, &c.request.ptx_cap))
        return false;
    struct fe_oracle *oracle = fe_oracle_create(reading->py, reading->module);
    c.request.oracle = fe_oracle_ops(oracle);
    c.keeps = !kernel->forgets && !c.request.dump.mask && *rt_disk_path(pm_disk(state));
    pm_kept_begin(&c.kept, state, dev, &kernel->jit_options, oracle, &c.request);
    bool ok = compile_get_loaded(&c, code_out, &diag);
    pm_kept_end(&c.kept);
    fe_oracle_destroy(oracle);
    sp_artifact_destroy(c.kept.assembled);
    if (!ok) {
        sp_artifact_destroy(c.kept.artifact);
        free(c.kept.parts);
        return diag.code != SP_OK && pm_raise(state, &diag);
    }
    bool compiled = strcmp(c.origin, "disk") != 0;
    struct pm_event event = {.origin = c.origin,
                             .ns = compile_clock_ns() - start_ns,
                             .key = c.kept.key,
                             .parts = c.kept.parts};
    if (compiled && (!c.keeps || c.kept.cannot_keep || !c.kept.is_kept))
        event.origin = "compiled, not kept";
    compile_add_event(kernel, dev, args, n_args, &event);
    *artifact_out = c.kept.artifact;
    return true;
}
