/* lower_written: which arguments of a kernel the kernel may write.
 *
 * In: a CORE module whose function 0 is the kernel. Out: a bit per argument. For every address
 * the set of kernel arguments that it may point into: parameters of the kernel start it, ptradd,
 * phi, select, calls and results hand it on, an address in memory is any that was stored;
 * repeated over all functions until nothing changes. A store or atomic writes all of its
 * address's set. One set per value, whatever the caller: a device function that writes its
 * parameter writes what any caller gave it, which is right and at worst too careful.
 *
 *     %x = param 0   %y = param 2   %p = select %c, %x, %y   store %p, %v    ->  both written */
#include "ir/lower.h"

#include <assert.h>

struct written {
    const struct ir_module *core;
    uint64_t **sets;    /* per function and instruction */
    uint64_t **params;  /* per function and parameter */
    uint64_t **results; /* per function and result */
    uint64_t stored;
    uint64_t kept; /* what addresses in memory may point into */
    bool changed;
};

static bool
written_is_address(ir_type type)
{
    return type >= IR_T_PTR && type <= IR_T_PTR_CONST;
}

static void
written_add(struct written *w, uint64_t *set, uint64_t more)
{
    if (more & ~*set) {
        *set |= more;
        w->changed = true;
    }
}

static void
written_visit(struct written *w, const struct ir_func *func, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(func, ref);
    const ir_ref *args = ir_args(func, ref);
    uint64_t *sets = w->sets[func->index], *set = &sets[ref];
    switch (insn->op) {
    case IR_PARAM: written_add(w, set, w->params[func->index][insn->imm]); break;
    case IR_STORE:
        if (written_is_address(ir_insn(func, args[1])->type))
            written_add(w, &w->kept, sets[args[1]]);
        written_add(w, &w->stored, sets[args[0]]);
        break;
    case IR_ATOMIC:
    case IR_CAS: written_add(w, &w->stored, sets[args[0]]); break;
    case IR_LOAD:
        if (written_is_address(insn->type))
            written_add(w, set, w->kept);
        break;
    case IR_PTRADD: written_add(w, set, sets[args[0]]); break;
    case IR_PHI:
    case IR_SELECT:
        for (uint32_t i = 0; i < insn->n_args; i++)
            if (written_is_address(insn->type))
                written_add(w, set, sets[args[i]]);
        break;
    case IR_CALLF:
        for (uint32_t i = 0; i < insn->n_args; i++)
            written_add(w, &w->params[insn->imm][i], sets[args[i]]);
        if (w->core->funcs.data[insn->imm]->n_results)
            written_add(w, set, w->results[insn->imm][0]);
        break;
    case IR_RESULT: written_add(w, set, w->results[ir_insn(func, args[0])->imm][insn->imm]); break;
    case IR_RET:
        for (uint32_t i = 0; i < insn->n_args; i++)
            written_add(w, &w->results[func->index][i], sets[args[i]]);
        break;
    default: break;
    }
}

uint64_t
lower_written(const struct ir_module *core, const uint32_t *argument_of)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    uint32_t n = core->funcs.len;
    struct written w = {.core = core,
                        .sets = SP_NEW_N(&arena, uint64_t *, n),
                        .params = SP_NEW_N(&arena, uint64_t *, n),
                        .results = SP_NEW_N(&arena, uint64_t *, n)};
    for (uint32_t f = 0; f < n; f++) {
        const struct ir_func *func = core->funcs.data[f];
        w.sets[f] = SP_NEW_N(&arena, uint64_t, func->insns.len);
        w.params[f] = SP_NEW_N(&arena, uint64_t, func->n_params);
        w.results[f] = SP_NEW_N(&arena, uint64_t, func->n_results);
    }
    const struct ir_func *kernel = core->funcs.data[0];
    for (uint32_t p = 0; p < kernel->n_params; p++)
        if (written_is_address(kernel->params[p].type))
            w.params[0][p] = (uint64_t)1 << (argument_of[p] < 63 ? argument_of[p] : 63);
    do {
        w.changed = false;
        for (uint32_t f = 0; f < n; f++) {
            const struct ir_func *func = core->funcs.data[f];
            for (ir_ref ref = 1; ref < func->insns.len; ref++)
                written_visit(&w, func, ref);
        }
    } while (w.changed);
    uint64_t stored = w.stored;
    sp_arena_finish(&arena);
    return stored;
}
