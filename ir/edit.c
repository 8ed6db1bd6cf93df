/* edit: dominators, natural loops, and the edits of a function that several passes make.
 *
 * Dominators by the iterative algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
 * Algorithm", 2001): on the reducible graphs of Python code two rounds suffice. Intervals of a walk
 * over the tree answer "does a dominate b" in constant time. Replacements are collected in a map
 * and applied in one go over the operands; use lists would have to be kept up by every pass. */
#include "ir/pass.h"

#include <assert.h>
#include <string.h>

static uint32_t
dom_meet(const uint32_t *idom, const uint32_t *number, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (number[a] > number[b])
            a = idom[a];
        while (number[b] > number[a])
            b = idom[b];
    }
    return a;
}

/* Numbers the tree so that each subtree is an interval. Children lie in lists: first child, next.
 * */
static void
dom_number(struct ir_dom *dom, struct sp_arena *arena, uint32_t n)
{
    uint32_t *child = SP_NEW_N(arena, uint32_t, n);
    uint32_t *next = SP_NEW_N(arena, uint32_t, n);
    uint32_t *stack = SP_NEW_N(arena, uint32_t, n);
    for (uint32_t i = dom->n_order; i-- > 1;) { /* 0 ends a list: the entry is nobody's child */
        uint32_t b = dom->order[i];
        next[b] = child[dom->idom[b]];
        child[dom->idom[b]] = b;
    }
    uint32_t depth = 0, count = 0;
    dom->tree[count] = 0;
    dom->pre[0] = count++;
    stack[depth++] = 0;
    while (depth) {
        uint32_t b = child[stack[depth - 1]];
        if (!b) {
            dom->end[stack[--depth]] = count;
            continue;
        }
        child[stack[depth - 1]] = next[b];
        dom->tree[count] = b;
        dom->pre[b] = count++;
        stack[depth++] = b;
    }
}

void
ir_fill_dom(const struct ir_func *func, struct sp_arena *arena, struct ir_dom *dom)
{
    uint32_t n = func->blocks.len;
    assert(n && "a function without blocks");
    dom->order = SP_NEW_N(arena, uint32_t, n);
    dom->idom = SP_NEW_N(arena, uint32_t, n);
    dom->pre = SP_NEW_N(arena, uint32_t, n);
    dom->end = SP_NEW_N(arena, uint32_t, n);
    dom->tree = SP_NEW_N(arena, uint32_t, n);
    dom->n_order = ir_fill_rpo(func, dom->order);
    uint32_t *number = SP_NEW_N(arena, uint32_t, n);
    memset(dom->idom, 255, n * sizeof *dom->idom);
    for (uint32_t i = 0; i < dom->n_order; i++)
        number[dom->order[i]] = i;
    dom->idom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < dom->n_order; i++) {
            uint32_t b = dom->order[i];
            uint32_t meet = UINT32_MAX;
            for (uint32_t k = 0; k < func->blocks.data[b].preds.len; k++) {
                uint32_t p = func->blocks.data[b].preds.data[k];
                if (dom->idom[p] != UINT32_MAX)
                    meet = meet == UINT32_MAX ? p : dom_meet(dom->idom, number, p, meet);
            }
            changed |= dom->idom[b] != meet;
            dom->idom[b] = meet;
        }
    }
    dom_number(dom, arena, n);
}

void
ir_subst_init(struct ir_subst *subst, const struct ir_func *func, struct sp_arena *arena)
{
    subst->n = func->insns.len;
    subst->to = SP_NEW_N(arena, ir_ref, subst->n);
}

void
ir_subst_apply(const struct ir_subst *subst, struct ir_func *func)
{
    for (uint32_t i = 0; i < subst->n; i++) /* shorten chains first */
        if (subst->to[i])
            subst->to[i] = ir_subst_find(subst, subst->to[i]);
    for (uint32_t b = 0; b < func->blocks.len; b++)
        for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
            ir_ref ref = func->blocks.data[b].insns.data[i];
            ir_ref *args = ir_args(func, ref);
            for (uint32_t k = 0; k < ir_insn(func, ref)->n_args; k++)
                args[k] = ir_subst_find(subst, args[k]);
        }
}

void
ir_delete(struct ir_func *func, ir_ref ref)
{
    struct ir_insn *insn = ir_insn(func, ref);
    insn->op = IR_NOP;
    insn->n_args = 0;
}

void
ir_sweep(struct ir_func *func)
{
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        struct ir_block *block = &func->blocks.data[b];
        uint32_t n = 0;
        for (uint32_t i = 0; i < block->insns.len; i++)
            if (ir_insn(func, block->insns.data[i])->op != IR_NOP)
                block->insns.data[n++] = block->insns.data[i];
        block->insns.len = n;
    }
}

void
ir_pred_remove(struct ir_func *func, uint32_t to, uint32_t from)
{
    struct ir_block *block = &func->blocks.data[to];
    uint32_t at = 0;
    while (at < block->preds.len && block->preds.data[at] != from)
        at++;
    assert(at < block->preds.len && "no such edge");
    block->preds.len--;
    memmove(block->preds.data + at, block->preds.data + at + 1,
            (block->preds.len - at) * sizeof *block->preds.data);
    for (uint32_t i = 0; i < block->insns.len; i++) {
        struct ir_insn *insn = ir_insn(func, block->insns.data[i]);
        if (insn->op == IR_NOP)
            continue;
        if (insn->op != IR_PHI)
            break;
        ir_ref *args = ir_args(func, block->insns.data[i]);
        insn->n_args--;
        memmove(args + at, args + at + 1, (insn->n_args - at) * sizeof *args);
    }
}

bool
ir_remove_unreachable(struct ir_func *func)
{
    uint32_t n = func->blocks.len;
    uint32_t *order = sp_alloc(n * sizeof *order);
    bool *reached = sp_alloc(n);
    bool changed = false;
    memset(reached, 0, n);
    uint32_t n_order = ir_fill_rpo(func, order);
    for (uint32_t i = 0; i < n_order; i++)
        reached[order[i]] = true;
    for (uint32_t b = 0; b < n; b++) {
        struct ir_block *block = &func->blocks.data[b];
        if (reached[b] || (!block->insns.len && !block->n_succ))
            continue;
        for (uint32_t i = 0; i < block->n_succ; i++)
            if (reached[block->succ[i]])
                ir_pred_remove(func, block->succ[i], b);
        for (uint32_t i = 0; i < block->insns.len; i++)
            ir_delete(func, block->insns.data[i]);
        block->insns.len = block->n_succ = block->preds.len = 0;
        changed = true;
    }
    free(reached);
    free(order);
    return changed;
}

bool
ir_const_bits(const struct ir_func *func, ir_ref ref, uint64_t *bits_out)
{
    const struct ir_insn *insn = ir_insn(func, ref);
    if (insn->op != IR_CONST)
        return false;
    const struct ir_const_info *info = ir_const_info(func->module, insn->imm);
    if (insn->type == IR_T_F32) {
        float value = (float)info->f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        *bits_out = bits;
        return true;
    }
    if (ir_is_half(insn->type)) {
        *bits_out = ir_half_of(insn->type, info->f);
        return true;
    }
    unsigned width = ir_machine_bits(insn->type);
    *bits_out = width < 64 ? info->u & (((uint64_t)1 << width) - 1) : info->u;
    return true;
}

ir_const
ir_const_of_bits(struct ir_module *module, ir_type type, uint64_t bits)
{
    if (type == IR_T_F32) {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return ir_const_float(module, value);
    }
    if (type == IR_T_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return ir_const_float(module, value);
    }
    if (ir_is_half(type))
        return ir_const_float(module, ir_half_value(type, (uint16_t)bits));
    if (type == IR_T_I1)
        return ir_const_bool(module, bits & 1);
    unsigned shift = 64 - ir_machine_bits(type);
    return ir_const_int(module, (int64_t)(bits << shift) >> shift);
}

bool
ir_is_loop(const struct ir_func *func, const struct ir_dom *dom, uint32_t header)
{
    const struct ir_block *block = &func->blocks.data[header];
    for (uint32_t i = 0; i < block->preds.len; i++)
        if (ir_dom_reaches(dom, block->preds.data[i]) &&
            ir_dominates(dom, header, block->preds.data[i]))
            return true;
    return false;
}

void
ir_fill_loop(const struct ir_func *func, const struct ir_dom *dom, struct sp_arena *arena,
             uint32_t header, struct sp_bits *body)
{
    SP_VEC(uint32_t) work = {0};
    sp_bits_init(body, arena, func->blocks.len);
    sp_bits_add(body, header);
    const struct ir_block *block = &func->blocks.data[header];
    for (uint32_t i = 0; i < block->preds.len; i++) {
        uint32_t latch = block->preds.data[i];
        if (ir_dom_reaches(dom, latch) && ir_dominates(dom, header, latch) &&
            sp_bits_add(body, latch))
            sp_vec_push(arena, &work, latch);
    }
    while (work.len) {
        const struct ir_block *at = &func->blocks.data[sp_vec_pop(&work)];
        for (uint32_t i = 0; i < at->preds.len; i++)
            if (ir_dom_reaches(dom, at->preds.data[i]) && sp_bits_add(body, at->preds.data[i]))
                sp_vec_push(arena, &work, at->preds.data[i]);
    }
}
