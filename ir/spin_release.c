/* spin_release: stores before the place where threads meet, in a module with loops that wait.
 *
 *     x[t] = 1                        # another lane of the warp waits for it
 *     gpu.syncthreads()               # and comes here only then
 *
 * ptxas takes a warp together somewhat before the barrier or the warp operation where it must be
 * together, and leaves stores behind that point: the lane that waits for the store never comes. A
 * RELEASE, which it does not move, goes before the meeting if there may be a store to memory of
 * others since the last one. Two passes over blocks, forward: which blocks begin with such a store
 * behind them, then the insertion. Lost: volatile stores, which stay behind all the same. */
#include "ir/spin.h"

static bool
release_is_meeting(const struct ir_insn *insn)
{
    return insn->op == IR_EFFECT && (ir_insn_flags(insn) & IR_CONVERGENT);
}

/* Whether something may be stored and not released behind the instruction. */
static bool
release_is_due(const struct spin *s, ir_ref ref, bool before)
{
    const struct ir_insn *insn = ir_insn(s->func, ref);
    if (insn->op == IR_STORE || (ir_insn_flags(insn) & IR_F_ATOMIC))
        return before || !ir_spin_is_private(s, ir_arg(s->func, ref, 0));
    return insn->op == IR_CALLF || (before && !release_is_meeting(insn));
}

static bool
release_is_due_behind(const struct spin *s, uint32_t b, bool before)
{
    const struct ir_block *block = &s->func->blocks.data[b];
    for (uint32_t i = 0; i < block->insns.len; i++)
        before = release_is_due(s, block->insns.data[i], before);
    return before;
}

static bool
release_is_due_at(const struct spin *s, uint32_t b, const struct sp_bits *behind)
{
    const struct ir_block *block = &s->func->blocks.data[b];
    for (uint32_t i = 0; i < block->preds.len; i++)
        if (sp_bits_has(behind, block->preds.data[i]))
            return true;
    return false;
}

/* A meeting that needs none keeps its place: the order of the block is written anew. */
static void
release_block(struct spin *s, uint32_t b, bool due)
{
    struct ir_func *func = s->func;
    uint32_t n = func->blocks.data[b].insns.len;
    ir_ref *old = SP_NEW_N(s->arena, ir_ref, n);
    for (uint32_t i = 0; i < n; i++)
        old[i] = func->blocks.data[b].insns.data[i];
    func->blocks.data[b].insns.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (due && release_is_meeting(ir_insn(func, old[i]))) {
            func->src = ir_insn(func, old[i])->src;
            ir_insn_add(func, b, IR_RELEASE, IR_T_VOID, 0, 0, NULL);
        }
        sp_vec_push(func->module->arena, &func->blocks.data[b].insns, old[i]);
        due = release_is_due(s, old[i], due);
    }
}

static void
release_func(struct spin *s, struct ir_func *func)
{
    struct sp_bits behind;
    uint32_t src = func->src;
    s->func = func;
    ir_fill_dom(func, s->arena, &s->dom);
    sp_bits_init(&behind, s->arena, func->blocks.len);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t o = 0; o < s->dom.n_order; o++) {
            uint32_t b = s->dom.order[o];
            if (!sp_bits_has(&behind, b) &&
                release_is_due_behind(s, b, release_is_due_at(s, b, &behind)))
                changed |= sp_bits_add(&behind, b);
        }
    }
    for (uint32_t o = 0; o < s->dom.n_order; o++)
        release_block(s, s->dom.order[o], release_is_due_at(s, s->dom.order[o], &behind));
    func->src = src;
}

void
ir_spin_release(struct spin *s)
{
    for (uint32_t f = 0; f < s->module->funcs.len; f++)
        release_func(s, s->module->funcs.data[f]);
}
