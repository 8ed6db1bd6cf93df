/* spin_mark: what a loop needs that waits until another thread changes memory (opt_spin.c).
 *
 * What it waits for is loaded anew in each round: the loads become volatile, those of callees too,
 * or LLVM would load once, before the loop. Every edge back to the header gets a YIELD, where the
 * thread lets others run and others see what it has stored. Where control leaves the loop comes an
 * ACQUIRE, so that what the other thread had written before is seen behind it: the flag has
 * changed, so its data are there. It stands at the head of the blocks behind the loop, because
 * Python's `while` tests its condition for the first time before the loop, and who passes there has
 * waited as well. Lost: loads that acquire, in the loop; that first test would not have one. */
#include "ir/spin.h"

/* Whether an address is computed of parameters alone. `seen` is by value: the last search there. */
static bool
spin_is_fixed(struct spin *s, const struct ir_func *func, ir_ref address, ir_ref *seen)
{
    SP_VEC(ir_ref) work = {0};
    bool fixed = true;
    sp_vec_push(s->arena, &work, address);
    while (fixed && work.len) {
        ir_ref at = sp_vec_pop(&work);
        const struct ir_insn *part = ir_insn(func, at);
        if (seen[at] == address)
            continue;
        seen[at] = address;
        fixed = part->op != IR_PHI && (ir_insn_flags(part) & IR_PURE);
        for (uint32_t i = 0; fixed && i < part->n_args; i++)
            sp_vec_push(s->arena, &work, ir_arg(func, at, i));
    }
    return fixed;
}

/* Loads from such addresses, here and in callees. */
static void
spin_mark_callee(struct spin *s, uint32_t f)
{
    struct ir_func *func = s->module->funcs.data[f];
    if (s->is_marked[f])
        return;
    s->is_marked[f] = true;
    ir_ref *seen = SP_NEW_N(s->arena, ir_ref, func->insns.len);
    for (ir_ref ref = 1; ref < func->insns.len; ref++) {
        struct ir_insn *insn = ir_insn(func, ref);
        if (insn->op == IR_CALLF)
            spin_mark_callee(s, insn->imm);
        else if (insn->op == IR_LOAD && spin_is_fixed(s, func, ir_arg(func, ref, 0), seen))
            insn->imm |= IR_VOLATILE;
    }
}

/* Every edge back gets a YIELD. */
static void
spin_add_yields(struct spin *s)
{
    struct ir_func *func = s->func;
    struct ir_block *header = &func->blocks.data[s->header];
    for (uint32_t i = 0; i < header->preds.len; i++) {
        uint32_t latch = header->preds.data[i];
        if (!sp_bits_has(&s->body, latch))
            continue;
        struct ir_block *block = &func->blocks.data[latch];
        ir_ref end = block->insns.data[block->insns.len - 1];
        if (block->insns.len > 1 &&
            ir_insn(func, block->insns.data[block->insns.len - 2])->op == IR_YIELD)
            continue; /* both edges of a branch, or the latch of two loops */
        block->insns.len--;
        ir_insn_add(func, latch, IR_YIELD, IR_T_VOID, 0, 0, NULL);
        sp_vec_push(func->module->arena, &func->blocks.data[latch].insns, end);
    }
}

/* Whether the loop waits for what another thread announces: it loads, or does the same atomic
 * operation again and again. A compare and swap of what the one before it gave is an update. */
static bool
spin_acquires(struct spin *s)
{
    for (uint32_t i = 0; i < s->loads.len; i++) {
        ir_ref ref = s->loads.data[i];
        const struct ir_insn *insn = ir_insn(s->func, ref);
        bool same = true;
        for (uint32_t k = 0; insn->op != IR_LOAD && same && k < insn->n_args; k++)
            same = ir_spin_stays(s, ir_arg(s->func, ref, k), SPIN_DEPTH);
        if (same)
            return true;
    }
    return false;
}

/* The block begins with an ACQUIRE, behind its phis. */
static void
spin_add_acquire(struct ir_func *func, uint32_t b)
{
    struct ir_block *block = &func->blocks.data[b];
    uint32_t at = 0;
    while (ir_insn(func, block->insns.data[at])->op == IR_PHI)
        at++;
    if (ir_insn(func, block->insns.data[at])->op == IR_ACQUIRE)
        return; /* the exit of two loops, or two exits of one */
    ir_ref fence = ir_insn_add(func, b, IR_ACQUIRE, IR_T_VOID, 0, 0, NULL);
    block = &func->blocks.data[b];
    for (uint32_t i = block->insns.len - 1; i > at; i--)
        block->insns.data[i] = block->insns.data[i - 1];
    block->insns.data[at] = fence;
}

void
ir_spin_mark(struct spin *s)
{
    struct ir_func *func = s->func;
    bool acquires = spin_acquires(s);
    for (uint32_t i = 0; i < s->loads.len; i++) {
        struct ir_insn *insn = ir_insn(func, s->loads.data[i]);
        if (insn->op == IR_LOAD)
            insn->imm |= IR_VOLATILE;
        else if (insn->op == IR_CALLF)
            spin_mark_callee(s, insn->imm);
    }
    func->src = s->loads.len ? ir_insn(func, s->loads.data[0])->src : 0;
    spin_add_yields(s);
    for (uint32_t b = 0; acquires && b < func->blocks.len; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        for (uint32_t i = 0; sp_bits_has(&s->body, b) && i < block->n_succ; i++)
            if (!sp_bits_has(&s->body, block->succ[i]))
                spin_add_acquire(func, block->succ[i]);
    }
}
