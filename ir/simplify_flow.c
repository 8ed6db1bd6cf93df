/* simplify_flow: the flow graph's part of ir_opt_simplify.
 *
 * In this order, each linear: branches on constants and negations, and those whose sides are one
 * block, become plainer; blocks that are no longer reached go; blocks of nothing but a jump are
 * skipped by their predecessors (jump threading); a block and its only successor become one if that
 * has no other predecessor. Removed blocks stay in the function, empty, until ir_opt_dce closes the
 * gaps. An edge is never threaded so that a branch reaches one block with two different phi
 * operands. */
#include "ir/simplify.h"

#include <string.h>

static bool
flow_branches(struct ir_func *func)
{
    bool changed = false;
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        struct ir_block *block = &func->blocks.data[b];
        ir_ref last = ir_terminator(func, b);
        if (!last || ir_insn(func, last)->op != IR_BR)
            continue;
        ir_ref condition = ir_arg(func, last, 0);
        uint64_t bits;
        const struct ir_insn *made = ir_insn(func, condition);
        if (made->op == IR_XOR && ir_const_bits(func, ir_arg(func, condition, 1), &bits) && bits) {
            ir_args(func, last)[0] = ir_arg(func, condition, 0); /* br !x: the other way round */
            uint32_t yes = block->succ[0];
            block->succ[0] = block->succ[1];
            block->succ[1] = yes;
            condition = ir_arg(func, last, 0);
            changed = true;
        }
        bool same = block->succ[0] == block->succ[1];
        if (!same && !ir_const_bits(func, condition, &bits))
            continue;
        uint32_t dead = same || !bits ? 0 : 1;
        ir_pred_remove(func, block->succ[dead], b);
        block->succ[0] = block->succ[1 - dead];
        block->n_succ = 1;
        struct ir_insn *insn = ir_insn(func, last);
        insn->op = IR_JUMP;
        insn->n_args = 0;
        changed = true;
    }
    return changed;
}

static bool
flow_has_succ(const struct ir_func *func, uint32_t b, uint32_t to)
{
    const struct ir_block *block = &func->blocks.data[b];
    for (uint32_t i = 0; i < block->n_succ; i++)
        if (block->succ[i] == to)
            return true;
    return false;
}

static bool
flow_has_phi(const struct ir_func *func, uint32_t b)
{
    const struct ir_block *block = &func->blocks.data[b];
    return block->insns.len && ir_insn(func, block->insns.data[0])->op == IR_PHI;
}

/* Whether all predecessors of the empty block b may go to `to` instead. */
static bool
flow_can_skip(const struct ir_func *func, uint32_t b, uint32_t to)
{
    const struct ir_block *block = &func->blocks.data[b];
    if (!b || to == b || block->insns.len != 1 || !block->preds.len)
        return false;
    if (ir_insn(func, block->insns.data[0])->op != IR_JUMP)
        return false;
    uint64_t edges = (uint64_t)block->preds.len + func->blocks.data[to].preds.len;
    if (edges > UINT16_MAX)
        return false;
    for (uint32_t i = 0; i < block->preds.len && flow_has_phi(func, to); i++)
        if (flow_has_succ(func, block->preds.data[i], to))
            return false;
    return true;
}

/* In `to`, the edge from b becomes the edges from b's predecessors. */
static void
flow_skip(struct ir_simplify *s, uint32_t b, uint32_t to)
{
    struct ir_func *func = s->func;
    struct sp_arena *arena = func->module->arena;
    struct ir_block *block = &func->blocks.data[b];
    struct ir_block *target = &func->blocks.data[to];
    uint32_t at = 0, n = block->preds.len;
    while (target->preds.data[at] != b)
        at++;
    for (uint32_t i = 0; i < n; i++) {
        struct ir_block *pred = &func->blocks.data[block->preds.data[i]];
        for (uint32_t k = 0; k < pred->n_succ; k++)
            if (pred->succ[k] == b)
                pred->succ[k] = to;
    }
    target->preds.data[at] = block->preds.data[0];
    for (uint32_t i = 1; i < n; i++)
        sp_vec_push(arena, &target->preds, block->preds.data[i]);
    for (uint32_t i = 0; n > 1 && i < target->insns.len; i++) {
        ir_ref phi = target->insns.data[i];
        if (ir_insn(func, phi)->op != IR_PHI)
            break;
        uint32_t old = ir_insn(func, phi)->n_args;
        ir_ref *args = SP_NEW_N(s->arena, ir_ref, old + n - 1);
        memcpy(args, ir_args(func, phi), old * sizeof *args);
        for (uint32_t k = 0; k < n - 1; k++)
            args[old + k] = args[at];
        ir_phi_set(func, phi, old + n - 1, args);
    }
    ir_delete(func, block->insns.data[0]);
    block->insns.len = block->preds.len = block->n_succ = 0;
}

/* Appends the only successor's instructions; its phis have one operand each. */
static void
flow_append(struct ir_func *func, struct ir_subst *subst, uint32_t b, uint32_t next)
{
    struct ir_block *block = &func->blocks.data[b];
    struct ir_block *from = &func->blocks.data[next];
    ir_delete(func, block->insns.data[--block->insns.len]);
    sp_vec_reserve(func->module->arena, &block->insns, from->insns.len);
    for (uint32_t i = 0; i < from->insns.len; i++) {
        ir_ref ref = from->insns.data[i];
        if (ir_insn(func, ref)->op == IR_PHI) {
            subst->to[ref] = ir_arg(func, ref, 0);
            ir_delete(func, ref);
            continue;
        }
        ir_insn(func, ref)->block = b;
        block->insns.data[block->insns.len++] = ref;
    }
    block->n_succ = from->n_succ;
    for (uint32_t i = 0; i < from->n_succ; i++) {
        block->succ[i] = from->succ[i];
        struct ir_block *to = &func->blocks.data[from->succ[i]];
        for (uint32_t k = 0; k < to->preds.len; k++)
            if (to->preds.data[k] == next)
                to->preds.data[k] = b;
    }
    from->insns.len = from->preds.len = from->n_succ = 0;
}

static bool
flow_merge(struct ir_simplify *s)
{
    struct ir_func *func = s->func;
    uint32_t *order = SP_NEW_N(s->arena, uint32_t, func->blocks.len);
    uint32_t n_order = ir_fill_rpo(func, order);
    struct ir_subst subst;
    bool changed = false;
    ir_subst_init(&subst, func, s->arena);
    for (uint32_t o = 0; o < n_order; o++) {
        uint32_t b = order[o];
        struct ir_block *block = &func->blocks.data[b];
        while (block->n_succ == 1) { /* taken-in blocks have none and are passed over */
            uint32_t next = block->succ[0];
            if (next == b || func->blocks.data[next].preds.len != 1)
                break;
            flow_append(func, &subst, b, next);
            changed = true;
        }
    }
    if (changed)
        ir_subst_apply(&subst, func);
    return changed;
}

bool
ir_simplify_flow(struct ir_simplify *s)
{
    struct ir_func *func = s->func;
    bool changed = flow_branches(func);
    changed |= ir_remove_unreachable(func);
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        if (block->n_succ == 1 && flow_can_skip(func, b, block->succ[0])) {
            flow_skip(s, b, block->succ[0]);
            changed = true;
        }
    }
    changed |= flow_merge(s);
    return changed;
}
