/* The second half of COMPILE: a CORE module in, an artifact out.
 *
 * Passes of ours, emission, libdevice, LLVM's passes, machine code, in this order; the steps of
 * cg_compile_core say all. Before it: the passes' table, dumps and times of the stages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/internal.h"

/* ---- Steps: dumps and times ---- */

static const char *const steps_names[CG_N_STAGES] = {
#define CG_STAGE(id, name, ...) name,
#include "codegen/stages.def"
};

const char *
cg_stage_name(enum cg_stage stage)
{
    return steps_names[stage];
}

uint32_t
cg_dump_mask(const char *names)
{
    uint32_t mask = 0;
    while (names && *names) {
        size_t len = strcspn(names, ", ");
        for (uint32_t i = 0; i < CG_N_STAGES; i++) {
            if (strlen(steps_names[i]) == len && !strncmp(steps_names[i], names, len))
                mask |= 1u << i;
        }
        names += len;
        names += strspn(names, ", ");
    }
    return mask;
}

static uint64_t
steps_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct cg_steps
cg_steps_begin(const struct cg_request *request, struct cg_times *times)
{
    return (struct cg_steps){request, times, steps_now()};
}

/* The stage's time ends here. */
static void
steps_mark(struct cg_steps *steps, enum cg_stage stage)
{
    uint64_t now = steps_now();
    if (steps->times)
        steps->times->ns[stage] = now - steps->since;
    steps->since = now;
}

static bool
steps_wants(const struct cg_steps *steps, enum cg_stage stage)
{
    return steps->request->dump.text && (steps->request->dump.mask >> stage & 1);
}

static void
steps_dump(struct cg_steps *steps, enum cg_stage stage, const char *text)
{
    steps->request->dump.text(steps->request->dump.context, stage, text);
    steps->since = steps_now();
}

void
cg_steps_typed(struct cg_steps *steps, const struct ir_typed *typed)
{
    steps_mark(steps, CG_STAGE_TYPED);
    if (steps_wants(steps, CG_STAGE_TYPED)) {
        struct sp_str text;
        sp_str_init(&text);
        ir_typed_print(typed, &text);
        steps_dump(steps, CG_STAGE_TYPED, text.data);
        sp_str_finish(&text);
    }
}

void
cg_steps_core(struct cg_steps *steps, const struct ir_module *core, enum cg_stage stage)
{
    steps_mark(steps, stage);
    if (steps_wants(steps, stage)) {
        struct sp_str text;
        sp_str_init(&text);
        ir_print(core, &text);
        steps_dump(steps, stage, text.data);
        sp_str_finish(&text);
    }
}

static void
steps_llvm(struct cg_steps *steps, const struct cg_emit *e, enum cg_stage stage)
{
    steps_mark(steps, stage);
    if (steps_wants(steps, stage)) {
        char *text = LLVMPrintModuleToString(e->module);
        steps_dump(steps, stage, text);
        LLVMDisposeMessage(text);
    }
}

/* ---- Our passes ---- */

static const struct {
    const char *name;
    bool (*run)(struct ir_module *module);
} core_passes[] = {
    {"inline", ir_opt_inline},
    {"simplify", ir_opt_simplify},
    {"cse", ir_opt_cse},
    {"dce", ir_opt_dce},
};

static bool
core_verify(const struct cg_request *request, const struct ir_module *core, const char *after,
            struct sp_diag *diag)
{
    if (!request->options.verify || ir_verify(core, diag))
        return true;
    return sp_diag_note(diag, NULL, "found after %s", after);
}

static bool
core_optimise(const struct cg_request *request, struct ir_module *core, struct sp_diag *diag)
{
    for (size_t i = 0; i < sizeof core_passes / sizeof *core_passes; i++) {
        if (core_passes[i].run(core) && !core_verify(request, core, core_passes[i].name, diag))
            return false;
    }
    return true;
}

static bool
core_waits_for_grid(const struct ir_module *core)
{
    for (uint32_t f = 0; f < core->funcs.len; f++) {
        const struct ir_func *func = core->funcs.data[f];
        for (ir_ref ref = 1; ref < func->insns.len; ref++)
            if (ir_insn(func, ref)->op == IR_EFFECT &&
                ir_insn(func, ref)->imm == IR_INTRIN_GRID_SYNC)
                return true;
    }
    return false;
}

/* Loops that wait, effects; what must be inlined: on the host, whose threads wait in the kernel
 * alone, also the functions that wait; so too where blocks wait for each other, by an address that
 * only the kernel has. Out: whether they do. */
static bool
core_settle_waits(const struct cg_request *request, struct ir_module *core, bool *for_grid_out,
                  struct sp_diag *diag)
{
    ir_opt_spin(core);
    ir_fill_effects(core);
    bool for_grid = core_waits_for_grid(core);
    if (!ir_inline_must(core, !request->arch.sm || for_grid, diag) ||
        !core_verify(request, core, "inlining what must be", diag))
        return false;
    ir_fill_effects(core);
    *for_grid_out = for_grid;
    return true;
}

/* ---- The emitter's life ---- */

static void
core_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    struct cg_emit *e = context;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    sp_diag_set(e->diag, SP_E_LLVM_FAILED, NULL, text);
    LLVMDisposeMessage(text);
}

static void
core_emit_init(struct cg_emit *e, const struct cg_machine *machine)
{
    e->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(e->context, core_diagnostic, e);
    LLVMContextSetDiscardValueNames(e->context, !e->options->keep_llvm);
    e->module = LLVMModuleCreateWithNameInContext("gpujit", e->context);
    e->builder = LLVMCreateBuilderInContext(e->context);
    LLVMSetTarget(e->module, machine->triple);
    LLVMSetDataLayout(e->module, machine->layout);
}

static void
core_emit_finish(struct cg_emit *e)
{
    if (!e->context)
        return;
    if (e->di)
        LLVMDisposeDIBuilder(e->di);
    sp_map_finish(&e->di_files);
    LLVMDisposeBuilder(e->builder);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(e->context);
}

static char *
core_strdup(const char *text)
{
    size_t size_B = strlen(text) + 1;
    return memcpy(sp_alloc(size_B), text, size_B);
}

static void
core_fill_sites(struct artifact *artifact, const struct ir_module *core)
{
    artifact->sites = sp_alloc(core->sites.len * sizeof *artifact->sites);
    artifact->n_sites = core->sites.len;
    for (uint32_t i = 0; i < core->sites.len; i++) {
        struct sp_fault_site site = core->sites.data[i];
        site.where.file = site.where.file ? core_strdup(site.where.file) : NULL;
        site.where.function = site.where.function ? core_strdup(site.where.function) : NULL;
        site.name = core_strdup(site.name ? site.name : "");
        artifact->sites[i] = site;
    }
}

static void
core_fill_waits(struct artifact *artifact, const struct cg_emit *e)
{
    if (!e->waits.len)
        return;
    artifact->waits = sp_alloc(e->waits.len * sizeof *artifact->waits);
    artifact->n_waits = e->waits.len;
    for (uint32_t i = 0; i < e->waits.len; i++) {
        artifact->waits[i] = e->waits.data[i];
        artifact->waits[i].where = sp_src_copy(&e->waits.data[i].where);
        artifact->waits[i].name = core_strdup(e->waits.data[i].name);
    }
}

static struct artifact *
core_artifact(const struct cg_request *request, const struct ir_module *core, bool cooperative)
{
    struct artifact *artifact = sp_artifact_create();
    struct sp_str target;
    sp_str_init(&target);
    cg_target_print(request->arch, &target);
    artifact->target = core_strdup(target.data);
    sp_str_finish(&target);
    artifact->name = core_strdup(core->funcs.data[0]->name);
    artifact->written = UINT64_MAX;
    artifact->cooperative = cooperative;
    artifact->max_threads = (uint32_t)request->options.max_threads;
    core_fill_sites(artifact, core);
    return artifact;
}

/* Emission may have found that it needs a newer PTX version than the target alone. */
static bool
core_settle_ptx(struct cg_emit *e, struct cg_machine **machine)
{
    uint16_t cap = e->request->ptx_cap;
    if (e->arch.sm && cap && e->ptx > cap) {
        char needs[48];
        snprintf(needs, sizeof needs, "PTX %u.%u, thus a newer driver", e->ptx / 10, e->ptx % 10);
        char *what = sp_arena_printf(e->arena, "'%s'", e->core->funcs.data[0]->name);
        return sp_diag_set(e->diag, SP_E_TARGET_LACKS, NULL, what, needs, e->artifact->target);
    }
    if (!e->arch.sm || e->ptx == (*machine)->ptx)
        return true;
    cg_machine_give(e->state, *machine);
    *machine = NULL;
    return cg_machine_take(e->state, e->arch, e->ptx, e->options->opt_level, machine, e->diag);
}

/* LLVM's part: emission to bytes. `*machine` is given back by the caller. */
static bool
core_generate(struct cg_emit *e, struct cg_machine **machine, struct cg_steps *steps)
{
    struct sp_str assembly;
    core_emit_init(e, *machine);
    if (!cg_params_fill(e) || !cg_emit(e) || !core_settle_ptx(e, machine) ||
        !cg_link_libdevice(e, *machine))
        return false;
    core_fill_waits(e->artifact, e);
    steps_llvm(steps, e, CG_STAGE_EMIT);
    size_t len;
    e->artifact->entry = core_strdup(LLVMGetValueName2(e->entry, &len));
    if (e->options->verify && !cg_finish_verify(e, "as emitted"))
        return false;
    if (!cg_finish_passes(e, *machine))
        return false;
    steps_llvm(steps, e, CG_STAGE_LLVM);
    if (e->options->keep_llvm) {
        char *text = LLVMPrintModuleToString(e->module);
        e->artifact->llvm = core_strdup(text);
        LLVMDisposeMessage(text);
    }
    sp_str_init(&assembly);
    bool wants = steps_wants(steps, CG_STAGE_PTX);
    bool ok = cg_finish_code(e, *machine, wants ? &assembly : NULL);
    if (ok) {
        steps_mark(steps, CG_STAGE_PTX);
        if (wants)
            steps_dump(steps, CG_STAGE_PTX, assembly.data);
    }
    sp_str_finish(&assembly);
    return ok;
}

static bool
core_check_request(const struct cg_request *request, const struct ir_module *core,
                   struct sp_diag *diag)
{
    const struct cg_options *options = &request->options;
    if (core->phase != IR_PHASE_CORE || !core->funcs.len || core->funcs.data[0]->n_results)
        return sp_diag_set(diag, SP_E_IR_INVALID, NULL, "", "this is no kernel of phase CORE");
    if (options->opt_level < 0 || options->opt_level > 3)
        return sp_diag_set(diag, SP_E_BAD_OPTION, NULL, "opt_level", "is not within 0 to 3");
    uint32_t n;
    const struct cg_arch *archs = cg_archs(&n);
    bool known = !request->arch.sm;
    for (uint32_t i = 0; i < n; i++)
        known |= archs[i].sm == request->arch.sm && archs[i].ptx == request->arch.ptx;
    char text[16];
    struct cg_arch ignored;
    snprintf(text, sizeof text, "sm_%u.%u", request->arch.sm, request->arch.ptx);
    return known || cg_target_parse(text, &ignored, diag);
}

bool
cg_compile_core(struct cg_state *state, struct ir_module *core, const struct cg_request *request,
                bool optimise, struct artifact **out, struct cg_times *times, struct sp_diag *diag)
{
    struct cg_steps steps = cg_steps_begin(request, times);
    if (!core_check_request(request, core, diag) || !core_verify(request, core, "lowering", diag) ||
        (optimise && request->options.opt_level > 0 && !core_optimise(request, core, diag)))
        return false;
    bool for_grid;
    if (!core_settle_waits(request, core, &for_grid, diag))
        return false;
    cg_steps_core(&steps, core, CG_STAGE_OPT);

    struct cg_machine *machine;
    if (!cg_machine_take(state, request->arch, request->arch.ptx, request->options.opt_level,
                         &machine, diag))
        return false;
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct cg_emit e = {
        .state = state,
        .arena = &arena,
        .diag = diag,
        .request = request,
        .options = &request->options,
        .target = request->arch.sm ? &cg_nvptx : &cg_host,
        .core = core,
        .artifact = core_artifact(request, core, for_grid),
        .arch = request->arch,
        .ptx = request->arch.ptx,
    };
    bool ok = core_generate(&e, &machine, &steps);
    core_emit_finish(&e);
    sp_arena_finish(&arena);
    if (machine)
        cg_machine_give(state, machine);
    if (ok && request->options.keep_ir) {
        struct sp_str text;
        sp_str_init(&text);
        ir_print(core, &text);
        e.artifact->ir = sp_str_take(&text);
        sp_str_finish(&text);
    }
    if (ok)
        *out = e.artifact;
    else
        sp_artifact_destroy(e.artifact);
    return ok;
}
