/* texts: the stages of a kernel as text, and GPUJIT_DUMP.
 *
 * A text is made by compiling anew for the signature and architecture that are asked for; nothing
 * is loaded, so no GPU is needed. The stage's text is caught on the way, as the dump would print
 * it. Without a signature it is that of the last launch, else the first one declared. */
#include "pymod/pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- GPUJIT_DUMP ---- */

static void
dump_print(void *context, enum cg_stage stage, const char *text)
{
    (void)context;
    fprintf(stderr, "; %s\n%s\n", cg_stage_name(stage), text);
}

/* A misspelt stage would print nothing and leave one wondering. */
static void
dump_check_names(const char *names)
{
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',') {
        char name[16] = "";
        size_t len = strcspn(at, ",");
        if (len < sizeof name)
            memcpy(name, at, len);
        if (len && !cg_dump_mask(name) && strcmp(name, "decode") && strcmp(name, "ssa"))
            fprintf(stderr,
                    "gpujit: GPUJIT_DUMP has no stage '%.*s'; there are decode, ssa, typed, core, "
                    "opt, emit, llvm and ptx\n",
                    (int)len, at);
    }
}

struct cg_dump
pm_dump(void)
{
    const char *names = getenv("GPUJIT_DUMP");
    struct cg_dump dump = {.text = dump_print};
    if (names && names[0]) {
        dump_check_names(names);
        dump.mask = cg_dump_mask(names);
    }
    return dump;
}

bool
pm_dump_wants(const char *stage)
{
    const char *names = getenv("GPUJIT_DUMP");
    size_t len = strlen(stage);
    for (const char *at = names; at && (at = strstr(at, stage)); at += len)
        if ((at == names || at[-1] == ',') && (at[len] == ',' || !at[len]))
            return true;
    return false;
}

/* ---- Texts of a kernel ---- */

struct catch
{
    enum cg_stage stage;
    struct sp_str text;
};

static void
catch_text(void *context, enum cg_stage stage, const char *text)
{
    struct catch *catch = context;
    if (stage == catch->stage && catch->text.len == 0)
        sp_str_add(&catch->text, text);
}

/* The argument types that a text is for. */
static bool
texts_find_args(struct pm_kernel *kernel, struct pm_reading *reading, PyObject *signature,
                struct sp_arena *arena, struct ir_argtype **args_out, uint32_t *n_out)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (signature != Py_None && !PyUnicode_Check(signature))
        return pm_fail(kernel->state, BAD_ARRAY,
                       "a signature is a text such as \"int, float32, float32[:]\"");
    if (signature != Py_None) {
        Py_ssize_t len;
        const char *text = PyUnicode_AsUTF8AndSize(signature, &len);
        if (!text)
            return false;
        if (!ir_signature_parse(text, arena, args_out, n_out, &diag))
            return pm_raise(kernel->state, &diag);
        if (reading->has_varargs)
            pm_gather_extra(arena, reading->n_params, args_out, n_out);
        return true;
    }
    if (reading->last) {
        *args_out = reading->last->args;
        *n_out = reading->last->n_args;
    } else if (kernel->n_declared) {
        *args_out = kernel->declared[0].args;
        *n_out = kernel->declared[0].n;
    } else {
        char message[240];
        PyOS_snprintf(message, sizeof message,
                      "%.60s was not compiled yet: give a signature such as "
                      "\"int, float32, float32[:]\", or launch it first",
                      kernel->name_utf8);
        return pm_fail(kernel->state, BAD_VALUE, message);
    }
    return true;
}

static bool
texts_check_count(struct pm_kernel *kernel, const struct pm_reading *reading,
                  const struct ir_argtype *args, uint32_t n_args)
{
    uint32_t n = ir_argtypes_count(args, n_args);
    if (n == reading->n_params + reading->has_varargs)
        return true;
    char takes[40];
    PyOS_snprintf(takes, sizeof takes, "%u argument%s", reading->n_params,
                  reading->n_params == 1 ? "" : "s");
    return pm_fail(kernel->state, CALL_COUNT, kernel->name_utf8, takes, (int)n);
}

/* Milliseconds by stage; the front end's share is measured by reading the function once more. */
static PyObject *
texts_times(struct pm_kernel *kernel, const struct cg_times *times)
{
    struct sp_diag diag;
    struct sp_arena arena;
    struct ir_module *module;
    struct timespec start, end;
    sp_diag_init(&diag);
    sp_arena_init(&arena);
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct fe_py *py = pm_reader_create(kernel->state);
    bool ok = py && fe_py_read(py, kernel->function, &arena, &module, &diag);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double read_ms =
        (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
    PyObject *result = ok ? Py_BuildValue("{s:d}", "read", read_ms) : NULL;
    if (ok)
        ir_module_finish(module);
    else if (py)
        pm_raise(kernel->state, &diag);
    for (enum cg_stage i = 0; result && i < CG_N_STAGES; i++) {
        PyObject *ms = PyFloat_FromDouble((double)times->ns[i] / 1e6);
        if (!ms || PyDict_SetItemString(result, cg_stage_name(i), ms) < 0)
            Py_CLEAR(result);
        Py_XDECREF(ms);
    }
    if (py)
        fe_py_destroy(py);
    sp_arena_finish(&arena);
    return result;
}

/* The text of a stage, or for CG_N_STAGES the times of all. */
static PyObject *
texts_compile(struct pm_kernel *kernel, struct pm_reading *reading, const struct ir_argtype *args,
              uint32_t n_args, struct cg_arch arch, uint16_t ptx_cap, enum cg_stage stage)
{
    struct cg_times times = {0};
    struct pm_state *state = kernel->state;
    struct catch catch = {.stage = stage};
    struct sp_diag diag;
    sp_diag_init(&diag);
    sp_str_init(&catch.text);
    struct cg_request request = {
        .py = reading->module,
        .args = args,
        .n_args = n_args,
        .arch = arch,
        .ptx_cap = ptx_cap,
        .options = kernel->cg_options,
        .dump = {.text = catch_text, .context = &catch},
    };
    if (stage != CG_N_STAGES)
        request.dump.mask = 1u << stage;
    struct fe_oracle *oracle = fe_oracle_create(reading->py, reading->module);
    request.oracle = fe_oracle_ops(oracle);
    struct artifact *artifact = NULL;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    pm_fork_hold(state);
    ok = cg_compile(state->cg, &request, &artifact, &times, &diag);
    pm_fork_allow(state);
    Py_END_ALLOW_THREADS
    fe_oracle_destroy(oracle);
    PyObject *text = NULL;
    if (!ok)
        pm_raise(state, &diag);
    else if (!pm_warn_compiled(kernel, &artifact->warnings))
        ;
    else if (stage == CG_N_STAGES)
        text = texts_times(kernel, &times);
    else if (stage == CG_STAGE_PTX && artifact->kind == SP_CODE_PTX)
        text = PyUnicode_FromString(artifact->code);
    else
        text = PyUnicode_DecodeUTF8(catch.text.data, (Py_ssize_t) catch.text.len, "replace");
    sp_artifact_destroy(artifact);
    sp_str_finish(&catch.text);
    return text;
}

/* What the text is for when no architecture is named: `on_device` the current device. */
static bool
texts_find_arch(struct pm_state *state, const char *text, bool on_device, struct cg_arch *arch_out,
                uint16_t *ptx_cap_out)
{
    if (text || !on_device)
        return pm_arch_for_text(state, text, arch_out, ptx_cap_out);
    struct rt_device *dev = pm_device(state);
    return dev && pm_device_arch(state, dev, arch_out, ptx_cap_out);
}

static PyObject *
texts_get(PyObject *object, PyObject *signature, const char *arch_text, enum cg_stage stage,
          bool on_device)
{
    struct pm_kernel *kernel = (struct pm_kernel *)object;
    struct cg_arch arch;
    uint16_t ptx_cap;
    if (!texts_find_arch(kernel->state, arch_text, on_device, &arch, &ptx_cap))
        return NULL;
    struct pm_reading *reading = pm_kernel_reading(kernel);
    if (!reading)
        return NULL;
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct ir_argtype *args;
    uint32_t n_args;
    PyObject *text = NULL;
    if (texts_find_args(kernel, reading, signature, &arena, &args, &n_args) &&
        texts_check_count(kernel, reading, args, n_args))
        text = texts_compile(kernel, reading, args, n_args, arch, ptx_cap, stage);
    pm_reading_unref(reading);
    sp_arena_finish(&arena);
    return text;
}

PyObject *
pm_kernel_ptx(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"signature", "arch", NULL};
    PyObject *signature = Py_None;
    const char *arch = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Oz:ptx", names, &signature, &arch))
        return NULL;
    return texts_get(self, signature, arch, CG_STAGE_PTX, false);
}

PyObject *
pm_kernel_llvm(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"signature", "arch", NULL};
    PyObject *signature = Py_None;
    const char *arch = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Oz:llvm", names, &signature, &arch))
        return NULL;
    return texts_get(self, signature, arch, CG_STAGE_LLVM, true);
}

PyObject *
pm_kernel_compile_times(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"signature", "arch", NULL};
    PyObject *signature = Py_None;
    const char *arch = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Oz:compile_times", names, &signature, &arch))
        return NULL;
    return texts_get(self, signature, arch, CG_N_STAGES, true);
}

static PyObject *
texts_ssa(PyObject *object)
{
    struct pm_reading *reading = pm_kernel_reading((struct pm_kernel *)object);
    if (!reading)
        return NULL;
    struct sp_str text;
    sp_str_init(&text);
    ir_print(reading->module, &text);
    PyObject *string = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
    sp_str_finish(&text);
    pm_reading_unref(reading);
    return string;
}

PyObject *
pm_kernel_ir(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stage", "signature", "arch", NULL};
    PyObject *signature = Py_None;
    const char *stage = "core", *arch = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|sOz:ir", names, &stage, &signature, &arch))
        return NULL;
    if (!strcmp(stage, "ssa"))
        return texts_ssa(self);
    for (enum cg_stage i = CG_STAGE_TYPED; i <= CG_STAGE_OPT; i++)
        if (!strcmp(stage, cg_stage_name(i)))
            return texts_get(self, signature, arch, i, true);
    char message[120];
    PyOS_snprintf(message, sizeof message, "no stage '%.40s'; there are ssa, typed, core and opt",
                  stage);
    return pm_fail(((struct pm_kernel *)self)->state, BAD_VALUE, message);
}

PyObject *
pm_kernel_bytecode(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct pm_kernel *kernel = (struct pm_kernel *)object;
    struct sp_diag diag;
    struct sp_str text;
    sp_diag_init(&diag);
    sp_str_init(&text);
    PyObject *string = NULL;
    struct fe_py *py = pm_reader_create(kernel->state);
    if (py) {
        struct sp_arena arena;
        sp_arena_init(&arena);
        if (fe_py_print_code(py, kernel->function, &arena, &text, &diag))
            string = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
        else
            pm_raise(kernel->state, &diag);
        fe_py_destroy(py);
        sp_arena_finish(&arena);
    }
    sp_str_finish(&text);
    return string;
}
