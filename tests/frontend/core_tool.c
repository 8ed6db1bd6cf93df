/* core_tool: what a fixture's function becomes in phase CORE.
 *
 *     core_tool FIXTURE NAME SIGNATURE [NAME SIGNATURE]...
 *
 * One line per function: its name and how often each operation occurs, in the order of ops.def; or
 * the diagnostic. A function that returns a value is called by an entry of our own, since kernels
 * return nothing. Exit status 2: a function cannot be read. */
#include <stdio.h>
#include <string.h>

#include "tests/frontend/load.h"

/* Makes function 0 one with the same parameters that calls the function and drops its result. */
static void
tool_wrap(struct ir_module *module)
{
    struct ir_func *inner = module->funcs.data[0];
    struct ir_func *entry = ir_func_new(module, "entry");
    uint32_t last = entry->index;
    entry->n_params = inner->n_params;
    entry->params = inner->params;
    uint32_t block = ir_block_new(entry);
    ir_ref *args = SP_NEW_N(module->arena, ir_ref, inner->n_params + 1u);
    ir_const callee = ir_const_simple(module, IR_C_FUNC, last);
    for (uint32_t i = 0; i < inner->n_params; i++)
        args[i + 1] = ir_insn_add(entry, block, IR_PARAM, IR_T_NONE, i, 0, NULL);
    args[0] = ir_insn_add(entry, block, IR_CONST, IR_T_NONE, callee, 0, NULL);
    ir_insn_add(entry, block, IR_CALL, IR_T_NONE, 0, inner->n_params + 1u, args);
    ir_const none = ir_const_simple(module, IR_C_NONE, 0);
    ir_ref nothing = ir_insn_add(entry, block, IR_CONST, IR_T_NONE, none, 0, NULL);
    ir_ret(entry, block, 1, &nothing);
    module->funcs.data[0] = entry;
    module->funcs.data[last] = inner;
    entry->index = 0;
    inner->index = last;
}

static void
tool_count(const struct ir_module *core, struct sp_str *out)
{
    uint32_t counts[IR_N_OPS] = {0};
    for (uint32_t f = 0; f < core->funcs.len; f++) {
        const struct ir_func *func = core->funcs.data[f];
        for (uint32_t b = 0; b < func->blocks.len; b++)
            for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++)
                counts[ir_insn(func, func->blocks.data[b].insns.data[i])->op]++;
    }
    for (uint32_t op = 1; op < IR_N_OPS; op++)
        if (counts[op])
            sp_str_printf(out, " %s=%u", ir_op_row((enum ir_op)op)->name, counts[op]);
}

static bool
tool_core(const struct fe_fixture *fixture, const struct fe_fixture_function *function,
          const char *signature, struct sp_str *out, struct sp_diag *diag)
{
    struct sp_arena arena;
    struct ir_module *module, *fork = NULL, *core = NULL;
    struct ir_argtype *args;
    struct ir_typed *typed;
    uint32_t n_args;
    uint64_t written;
    sp_arena_init(&arena);
    bool read = fe_read(&arena, &fixture->resolver, function, NULL, &module, diag);
    bool ok = read && ir_signature_parse(signature, &arena, &args, &n_args, diag);
    if (ok) {
        tool_wrap(module);
        fork = ir_module_fork(module, &arena);
        struct ir_ctx ctx = {.arena = &arena, .diag = diag, .options = {.fma = true}};
        ok = ir_infer(&ctx, fork, args, n_args, &typed) && ir_lower(&ctx, typed, &core, &written) &&
             ir_verify(core, diag);
        if (ok)
            tool_count(core, out);
    }
    if (core)
        ir_module_finish(core);
    if (fork)
        ir_module_finish(fork);
    if (read)
        ir_module_finish(module);
    sp_arena_finish(&arena);
    return ok;
}

int
main(int argc, char **argv)
{
    if (argc < 4 || argc % 2) {
        fprintf(stderr, "usage: %s FIXTURE NAME SIGNATURE [NAME SIGNATURE]...\n", argv[0]);
        return 2;
    }
    struct sp_arena arena;
    sp_arena_init(&arena);
    const struct fe_fixture *fixture = load_fixture(argv[1], &arena);
    for (int i = 2; i < argc; i += 2) {
        struct sp_str out;
        struct sp_diag diag;
        sp_str_init(&out);
        sp_diag_init(&diag);
        const struct fe_fixture_function *function = fe_fixture_find(fixture, argv[i]);
        if (!function) {
            fprintf(stderr, "no function '%s'\n", argv[i]);
            return 2;
        }
        if (!tool_core(fixture, function, argv[i + 1], &out, &diag))
            sp_str_printf(&out, " error %s", diag.message);
        printf("%s:%s\n", argv[i], out.data);
        sp_diag_finish(&diag);
        sp_str_finish(&out);
    }
    sp_arena_finish(&arena);
    return 0;
}
