/* opt_dce: instructions, blocks and functions without use.
 *
 * Takes any verified CORE module. Instructions: those with an effect are roots, whatever they use
 * is marked, the rest goes; so cycles of phis that only feed each other go too, which a count of
 * uses would keep. Unused loads count as without effect, calls do not. Blocks: those that the entry
 * does not reach go and the others move together, in their old order. Functions: those that
 * function 0 does not call, directly or not; the others move together. Linear. Keeps values'
 * numbers; block and function numbers change.
 *
 *     %4 = phi i64 %1, %5
 *     %5 = add i64 %4, %2      =>     (gone, when nothing else uses %4 and %5)
 *
 *     b1 (no predecessors)     =>     b2 becomes b1
 *     b2 (b0) */
#include "ir/pass.h"

#include <assert.h>
#include <string.h>

static bool
dce_insns(struct ir_func *func, struct sp_arena *arena)
{
    struct sp_bits live;
    SP_VEC(ir_ref) work = {0};
    sp_bits_init(&live, arena, func->insns.len);
    for (uint32_t b = 0; b < func->blocks.len; b++)
        for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
            ir_ref ref = func->blocks.data[b].insns.data[i];
            if (!ir_is_removable(ir_insn(func, ref)) && sp_bits_add(&live, ref))
                sp_vec_push(arena, &work, ref);
        }
    while (work.len) {
        ir_ref ref = sp_vec_pop(&work);
        for (uint32_t k = 0; k < ir_insn(func, ref)->n_args; k++) {
            ir_ref arg = ir_arg(func, ref, k);
            if (sp_bits_add(&live, arg))
                sp_vec_push(arena, &work, arg);
        }
    }
    bool changed = false;
    for (uint32_t b = 0; b < func->blocks.len; b++)
        for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
            ir_ref ref = func->blocks.data[b].insns.data[i];
            if (!sp_bits_has(&live, ref)) {
                ir_delete(func, ref);
                changed = true;
            }
        }
    if (changed)
        ir_sweep(func);
    return changed;
}

/* Closes the gaps that removed blocks left. */
static bool
dce_blocks(struct ir_func *func, struct sp_arena *arena)
{
    uint32_t *number = SP_NEW_N(arena, uint32_t, func->blocks.len);
    uint32_t n = 0;
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        if (b && !func->blocks.data[b].insns.len)
            continue;
        number[b] = n;
        func->blocks.data[n++] = func->blocks.data[b];
    }
    if (n == func->blocks.len)
        return false;
    func->blocks.len = n;
    for (uint32_t b = 0; b < n; b++) {
        struct ir_block *block = &func->blocks.data[b];
        for (uint32_t i = 0; i < block->n_succ; i++)
            block->succ[i] = number[block->succ[i]];
        for (uint32_t i = 0; i < block->preds.len; i++)
            block->preds.data[i] = number[block->preds.data[i]];
        for (uint32_t i = 0; i < block->insns.len; i++)
            ir_insn(func, block->insns.data[i])->block = b;
    }
    return true;
}

static bool
dce_funcs(struct ir_module *module, struct sp_arena *arena)
{
    struct sp_bits used;
    SP_VEC(uint32_t) work = {0};
    if (!module->funcs.len)
        return false;
    sp_bits_init(&used, arena, module->funcs.len);
    sp_bits_add(&used, 0);
    sp_vec_push(arena, &work, 0);
    while (work.len) {
        uint32_t at = sp_vec_pop(&work);
        const struct ir_func *func = module->funcs.data[at];
        for (uint32_t b = 0; b < func->blocks.len; b++)
            for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
                const struct ir_insn *insn = ir_insn(func, func->blocks.data[b].insns.data[i]);
                if (insn->op == IR_CALLF && sp_bits_add(&used, insn->imm))
                    sp_vec_push(arena, &work, insn->imm);
            }
    }
    uint32_t *number = SP_NEW_N(arena, uint32_t, module->funcs.len);
    uint32_t n = 0;
    for (uint32_t f = 0; f < module->funcs.len; f++)
        if (sp_bits_has(&used, f)) {
            number[f] = n;
            module->funcs.data[f]->index = n;
            module->funcs.data[n++] = module->funcs.data[f];
        }
    if (n == module->funcs.len)
        return false;
    module->funcs.len = n;
    for (uint32_t f = 0; f < n; f++) {
        struct ir_func *func = module->funcs.data[f];
        for (uint32_t b = 0; b < func->blocks.len; b++)
            for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
                struct ir_insn *insn = ir_insn(func, func->blocks.data[b].insns.data[i]);
                if (insn->op == IR_CALLF)
                    insn->imm = number[insn->imm];
            }
    }
    return true;
}

bool
ir_opt_dce(struct ir_module *module)
{
    struct sp_arena arena;
    assert(module->phase == IR_PHASE_CORE && "a pass over CORE");
    sp_arena_init(&arena);
    bool changed = dce_funcs(module, &arena);
    for (uint32_t i = 0; i < module->funcs.len; i++) {
        struct ir_func *func = module->funcs.data[i];
        changed |= ir_remove_unreachable(func);
        changed |= dce_insns(func, &arena);
        changed |= dce_blocks(func, &arena);
    }
    sp_arena_finish(&arena);
    return changed;
}
