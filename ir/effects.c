/* effects: which functions may end their thread with an error (struct ir_func, may_raise).
 *
 * Takes a CORE module; a function may raise if it has an instruction that does (RAISE, POLL) or
 * calls one that may. The calls are collected once and gone over until nothing changes, starting
 * from "none may", so recursion needs nothing more. A CALLF's own RAISES flag is the assumption
 * about callees before this analysis and not looked at. Recomputed after every pass that adds or
 * removes either. */
#include "ir/pass.h"

#include <assert.h>

struct call {
    struct ir_func *caller;
    const struct ir_func *callee;
};

void
ir_fill_effects(struct ir_module *module)
{
    struct sp_arena arena;
    SP_VEC(struct call) calls = {0};
    assert(module->phase == IR_PHASE_CORE && "effects are of CORE");
    sp_arena_init(&arena);
    for (uint32_t f = module->funcs.len; f-- > 0;) { /* callees mostly come after their callers */
        struct ir_func *func = module->funcs.data[f];
        func->may_raise = false;
        for (uint32_t b = 0; b < func->blocks.len; b++)
            for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
                const struct ir_insn *insn = ir_insn(func, func->blocks.data[b].insns.data[i]);
                if (insn->op == IR_CALLF)
                    sp_vec_push(&arena, &calls, (struct call){func, module->funcs.data[insn->imm]});
                else if (ir_insn_flags(insn) & IR_RAISES)
                    func->may_raise = true;
            }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < calls.len; i++)
            if (calls.data[i].callee->may_raise && !calls.data[i].caller->may_raise)
                changed = calls.data[i].caller->may_raise = true;
    }
    sp_arena_finish(&arena);
}
