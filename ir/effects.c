/* effects: what functions may do beside computing (may_raise, may_wait, convergent, may_print
 * of ir_func).
 *
 * Takes a CORE module. A function may raise if it has an instruction that does (RAISE, POLL) or
 * calls one that may, and so for waiting for other threads, being convergent, and printing. The
 * calls are collected once and gone over until nothing changes, starting from "none may", so
 * recursion needs nothing more. A CALLF's own flags are the assumption about callees before this
 * analysis and not looked at. Recomputed after every pass that adds or removes such
 * instructions. */
#include "ir/pass.h"

#include <assert.h>

struct call {
    struct ir_func *caller;
    const struct ir_func *callee;
};

static bool
effects_add(struct ir_func *func, bool raises, bool waits, bool convergent, bool prints)
{
    bool changed = (raises && !func->may_raise) || (waits && !func->may_wait) ||
                   (convergent && !func->convergent) || (prints && !func->may_print);
    func->may_raise |= raises;
    func->may_wait |= waits;
    func->convergent |= convergent;
    func->may_print |= prints;
    return changed;
}

void
ir_fill_effects(struct ir_module *module)
{
    struct sp_arena arena;
    SP_VEC(struct call) calls = {0};
    assert(module->phase == IR_PHASE_CORE && "effects are of CORE");
    sp_arena_init(&arena);
    for (uint32_t f = module->funcs.len; f-- > 0;) { /* callees mostly come after their callers */
        struct ir_func *func = module->funcs.data[f];
        func->may_raise = func->may_wait = func->convergent = func->may_print = false;
        for (uint32_t b = 0; b < func->blocks.len; b++)
            for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
                const struct ir_insn *insn = ir_insn(func, func->blocks.data[b].insns.data[i]);
                uint8_t flags = ir_insn_flags(insn);
                if (insn->op == IR_CALLF)
                    sp_vec_push(&arena, &calls, (struct call){func, module->funcs.data[insn->imm]});
                else
                    effects_add(func, flags & IR_RAISES, flags & IR_WAITS, flags & IR_CONVERGENT,
                                insn->op == IR_PRINT);
            }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < calls.len; i++) {
            const struct ir_func *callee = calls.data[i].callee;
            changed |= effects_add(calls.data[i].caller, callee->may_raise, callee->may_wait,
                                   callee->convergent, callee->may_print);
        }
    }
    sp_arena_finish(&arena);
}
