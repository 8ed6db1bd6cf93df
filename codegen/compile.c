/* COMPILE: a PY module and argument types in, an artifact out.
 *
 * cg_compile and cg_compile_core are the whole way as a flat list of calls. Everything lives
 * on one arena and in one LLVM context that end with the call; what outlives it is copied into
 * the artifact. Each step that fails has set the diagnostic. Both targets take the same way;
 * what differs stands behind struct cg_target. */
#include "codegen/internal.h"

bool
cg_compile(struct cg_state *state, const struct cg_request *request, struct artifact **out,
           struct cg_times *times, struct sp_diag *diag)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct cg_steps steps = cg_steps_begin(request, times);
    struct sp_warnings warnings = {0};
    struct ir_ctx ctx = {
        .arena = &arena,
        .diag = diag,
        .options = {.fma = request->options.fma,
                    .bounds =
                        request->options.bounds || request->options.check || !request->arch.sm,
                    .check = request->options.check,
                    .poll = !request->arch.sm,
                    .redux = !request->arch.sm || request->arch.sm >= 80,
                    .single = request->options.single},
        .oracle = request->oracle,
        .warnings = &warnings,
    };
    struct ir_module *fork = ir_module_fork(request->py, &arena), *core = NULL;
    struct ir_typed *typed;
    uint64_t written = 0;
    struct artifact *artifact = NULL;

    bool ok = ir_infer(&ctx, fork, request->args, request->n_args, &typed);
    if (ok) {
        ir_warn(&ctx, typed);
        cg_steps_typed(&steps, typed);
    }
    ok = ok && ir_lower(&ctx, typed, &core, &written);
    if (ok)
        cg_steps_core(&steps, core, CG_STAGE_CORE);
    ok = ok && cg_compile_core(state, core, request, true, &artifact, times, diag);
    if (ok) {
        artifact->written = written;
        artifact->warnings = warnings;
        artifact->key = cg_key(state, request);
        *out = artifact;
    } else {
        sp_warnings_finish(&warnings);
    }
    if (core)
        ir_module_finish(core);
    ir_module_finish(fork);
    sp_arena_finish(&arena);
    return ok;
}
