/* From PY text to CORE in C tests, and running it. Include after tests/support/check.h. */
#ifndef TESTS_LOWERED_H
#define TESTS_LOWERED_H

#include <stdio.h>

#include "ir/infer.h"
#include "tests/ir/run_core.h"

struct lowered {
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *module, *fork, *core;
    struct ir_typed *typed;
    uint64_t written;
    struct run_core run;
    struct sp_str text; /* of the CORE module */
};

static inline void
lowered_start(struct lowered *t, const char *source, const char *signature,
              struct ir_options options)
{
    memset(t, 0, sizeof *t);
    sp_arena_init(&t->arena);
    sp_diag_init(&t->diag);
    sp_str_init(&t->text);
    struct ir_argtype *args;
    uint32_t n_args;
    struct ir_ctx ctx = {.arena = &t->arena, .diag = &t->diag, .options = options};
    bool ok = ir_parse(source, &t->arena, &t->module, &t->diag) &&
              ir_signature_parse(signature, &t->arena, &args, &n_args, &t->diag);
    if (ok) {
        t->fork = ir_module_fork(t->module, &t->arena);
        ok = ir_infer(&ctx, t->fork, args, n_args, &t->typed) &&
             ir_lower(&ctx, t->typed, &t->core, &t->written);
    }
    if (ok) {
        ir_print(t->core, &t->text);
        ok = ir_verify(t->core, &t->diag);
    }
    if (!ok)
        fail_msg("%s: %s\n%s%s", sp_error_name(t->diag.code), t->diag.message, source,
                 t->text.data ? t->text.data : "");
    t->run = (struct run_core){
        .module = t->core, .ntid = {1, 1, 1}, .nctaid = {1, 1, 1}, .steps_left = 10000000};
}

/* All passes over the CORE module, which must stay valid and do the same. */
static inline void
lowered_optimise(struct lowered *t)
{
    for (bool changed = true; changed;) {
        changed = ir_opt_inline(t->core);
        changed |= ir_opt_simplify(t->core);
        changed |= ir_opt_cse(t->core);
        changed |= ir_opt_dce(t->core);
    }
    ir_fill_effects(t->core);
    t->text.len = 0;
    ir_print(t->core, &t->text);
    if (!ir_verify(t->core, &t->diag))
        fail_msg("after the passes: %s\n%s", t->diag.message, t->text.data);
}

static inline void
lowered_end(struct lowered *t)
{
    ir_module_finish(t->core);
    ir_module_finish(t->fork);
    ir_module_finish(t->module);
    sp_diag_finish(&t->diag);
    sp_str_finish(&t->text);
    sp_arena_finish(&t->arena);
}

/* Runs the kernel; it must end by itself. */
static inline void
lowered_run(struct lowered *t, const uint64_t *args)
{
    if (!run_core(&t->run, args))
        fail_msg("the kernel %s\n%s", t->run.raised ? "raised" : "does not end", t->text.data);
}

/* The type that inference gave a value of the kernel. */
static inline const char *
lowered_type(struct lowered *t, ir_ref ref)
{
    struct sp_str text;
    sp_str_init(&text);
    ir_type_print(t->fork, t->typed->instances.data[0]->cells[ref].type, &text);
    const char *copy = sp_arena_strdup(&t->arena, text.data);
    sp_str_finish(&text);
    return copy;
}

#endif
