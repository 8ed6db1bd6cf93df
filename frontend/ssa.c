/* ssa: write_var / read_var / seal_block of Braun et al., "Simple and Efficient Construction of
 * Static Single Assignment Form" (CC 2013), without recursion.
 *
 * A read walks up single predecessors to a value; at a block with several it makes a phi. A block
 * whose edges are not all there keeps the phi until the last edge comes (that is its sealing); a
 * finished block's phi is put on a list, and the outermost read fills the phis of the list, which
 * may add more. A phi whose operands are one value (or itself) stands for that value; replacements
 * are kept beside the code and carried out once, at the end, where also phis without a use vanish:
 * an unused phi of types that cannot meet must not become an error.
 *
 *     i0 = const 0            loop: i1 = phi i0, i2        x = phi a, a   becomes   a
 *
 * Dominance frontiers lost: they need a finished graph, and the builder wants values (which
 * function is called?) while it reads the code. */
#include "frontend/ssa.h"

#include <assert.h>
#include <string.h>

/* More work than this on phis that may stand for others is not done; they are then merely kept. */
#define SSA_MAX_WORK 50000000u

void
fe_ssa_init(struct fe_ssa *ssa, struct ir_func *func, struct sp_arena *arena, uint32_t max_blocks,
            uint32_t n_vars, const ir_const *names)
{
    memset(ssa, 0, sizeof *ssa);
    ssa->func = func;
    ssa->arena = arena;
    ssa->n_vars = n_vars;
    ssa->names = names;
    ssa->values = SP_NEW_N(arena, ir_ref, (size_t)max_blocks * n_vars);
    ssa->n_preds = SP_NEW_N(arena, uint32_t, max_blocks);
    ssa->unfinished = SP_NEW_N(arena, uint32_t, max_blocks);
}

static ir_ref *
ssa_value(struct fe_ssa *ssa, uint32_t block, uint32_t var)
{
    assert(var < ssa->n_vars && "a variable of the function");
    return &ssa->values[(size_t)block * ssa->n_vars + var];
}

/* Chains of replacements are halved on the way, as in a disjoint-set forest. */
ir_ref
fe_ssa_find(struct fe_ssa *ssa, ir_ref ref)
{
    ir_ref *up = ssa->stands_for.data;
    while (ref < ssa->stands_for.len && up[ref]) {
        ir_ref next = up[ref];
        if (next < ssa->stands_for.len && up[next])
            up[ref] = up[next];
        ref = next;
    }
    return ref;
}

static void
ssa_replace(struct fe_ssa *ssa, ir_ref ref, ir_ref value)
{
    while (ssa->stands_for.len <= ref)
        sp_vec_push(ssa->arena, &ssa->stands_for, 0);
    ssa->stands_for.data[ref] = value;
}

ir_ref
fe_ssa_undef(struct fe_ssa *ssa, ir_const name)
{
    ir_ref ref = ir_insn_add(ssa->func, 0, IR_UNDEF, IR_T_NONE, name, 0, NULL);
    struct ir_block *entry = &ssa->func->blocks.data[0];
    memmove(entry->insns.data + 1, entry->insns.data,
            (entry->insns.len - 1) * sizeof *entry->insns.data);
    entry->insns.data[0] = ref;
    return ref;
}

void
fe_ssa_write(struct fe_ssa *ssa, uint32_t block, uint32_t var, ir_ref value)
{
    *ssa_value(ssa, block, var) = value;
}

static bool
ssa_is_sealed(const struct fe_ssa *ssa, uint32_t block)
{
    return ssa->func->blocks.data[block].preds.len == ssa->n_preds[block];
}

/* The value at the end of `block`, without filling the phis that this makes. */
static ir_ref
ssa_look(struct fe_ssa *ssa, uint32_t block, uint32_t var)
{
    uint32_t at = block;
    ir_ref value;
    while (!(value = *ssa_value(ssa, at, var))) {
        if (ssa_is_sealed(ssa, at) && ssa->n_preds[at] == 1) {
            at = ssa->func->blocks.data[at].preds.data[0];
            continue;
        }
        if (ssa->n_preds[at] == 0) {
            value = fe_ssa_undef(ssa, ssa->names[var]);
        } else {
            value = ir_phi_new(ssa->func, at, IR_T_NONE, ssa->names[var]);
            sp_vec_push(ssa->arena, &ssa->phis,
                        (struct fe_ssa_phi){.ref = value, .block = at, .var = var});
            if (ssa_is_sealed(ssa, at)) {
                sp_vec_push(ssa->arena, &ssa->to_fill, ssa->phis.len - 1);
            } else {
                ssa->phis.data[ssa->phis.len - 1].next = ssa->unfinished[at];
                ssa->unfinished[at] = ssa->phis.len;
            }
        }
        *ssa_value(ssa, at, var) = value;
        break;
    }
    /* The blocks on the way remember it. */
    for (uint32_t b = block; b != at; b = ssa->func->blocks.data[b].preds.data[0])
        *ssa_value(ssa, b, var) = value;
    return value;
}

/* If all operands are one value, the phi stands for it. */
static bool
ssa_simplify(struct fe_ssa *ssa, ir_ref phi)
{
    const struct ir_insn *insn = ir_insn(ssa->func, phi);
    ir_ref same = 0;
    for (uint32_t i = 0; i < insn->n_args; i++) {
        ir_ref arg = fe_ssa_find(ssa, ir_arg(ssa->func, phi, i));
        if (arg == same || arg == phi)
            continue;
        if (same)
            return false;
        same = arg;
    }
    if (!same)
        return false; /* of itself alone: unreachable */
    ssa_replace(ssa, phi, same);
    return true;
}

static void
ssa_fill(struct fe_ssa *ssa)
{
    if (ssa->is_filling || !ssa->to_fill.len)
        return;
    ssa->is_filling = true;
    for (uint32_t i = 0; i < ssa->to_fill.len; i++) {
        struct fe_ssa_phi phi = ssa->phis.data[ssa->to_fill.data[i]];
        uint32_t n = ssa->n_preds[phi.block];
        ir_ref *args = SP_NEW_N(ssa->arena, ir_ref, n);
        for (uint32_t k = 0; k < n; k++)
            args[k] = ssa_look(ssa, ssa->func->blocks.data[phi.block].preds.data[k], phi.var);
        ir_phi_set(ssa->func, phi.ref, n, args);
    }
    /* The last ones stand highest up in the code: in this order one round nearly always does. */
    uint64_t work = 0;
    for (bool again = true; again && work < SSA_MAX_WORK;) {
        again = false;
        for (uint32_t i = ssa->to_fill.len; i-- > 0; work++) {
            ir_ref ref = ssa->phis.data[ssa->to_fill.data[i]].ref;
            if (fe_ssa_find(ssa, ref) == ref)
                again |= ssa_simplify(ssa, ref);
        }
    }
    ssa->to_fill.len = 0;
    ssa->is_filling = false;
}

ir_ref
fe_ssa_read(struct fe_ssa *ssa, uint32_t block, uint32_t var)
{
    ir_ref value = ssa_look(ssa, block, var);
    ssa_fill(ssa);
    return fe_ssa_find(ssa, value);
}

void
fe_ssa_edge(struct fe_ssa *ssa, uint32_t block)
{
    if (!ssa_is_sealed(ssa, block))
        return;
    for (uint32_t i = ssa->unfinished[block]; i; i = ssa->phis.data[i - 1].next)
        sp_vec_push(ssa->arena, &ssa->to_fill, i - 1);
    ssa->unfinished[block] = 0;
    ssa_fill(ssa);
}

static bool
ssa_may_vanish(const struct ir_insn *insn)
{
    return insn->op == IR_PHI || insn->op == IR_UNDEF || insn->op == IR_CONST;
}

/* Marks what instructions with an effect, and what these use, need. */
static void
ssa_fill_used(struct fe_ssa *ssa, bool *is_used)
{
    struct ir_func *func = ssa->func;
    SP_VEC(ir_ref) todo = {0};
    for (ir_ref ref = 1; ref < func->insns.len; ref++)
        if (!ssa_may_vanish(ir_insn(func, ref)))
            sp_vec_push(ssa->arena, &todo, ref);
    while (todo.len) {
        ir_ref ref = sp_vec_pop(&todo);
        is_used[ref] = true;
        for (uint32_t i = 0; i < ir_insn(func, ref)->n_args; i++) {
            ir_ref arg = ir_arg(func, ref, i);
            if (!is_used[arg] && ssa_may_vanish(ir_insn(func, arg))) {
                is_used[arg] = true;
                sp_vec_push(ssa->arena, &todo, arg);
            }
        }
    }
}

void
fe_ssa_end(struct fe_ssa *ssa)
{
    struct ir_func *func = ssa->func;
    /* To and fro: chains of phis are resolved in one go whichever way they run. */
    uint64_t work = 0;
    bool forward = true;
    for (bool again = true; again && work < SSA_MAX_WORK; forward = !forward) {
        again = false;
        for (uint32_t k = 0; k < ssa->phis.len; k++, work++) {
            ir_ref ref = ssa->phis.data[forward ? k : ssa->phis.len - 1 - k].ref;
            if (fe_ssa_find(ssa, ref) == ref)
                again |= ssa_simplify(ssa, ref);
        }
    }
    for (ir_ref ref = 1; ref < func->insns.len; ref++) {
        for (uint32_t i = 0; i < ir_insn(func, ref)->n_args; i++)
            ir_args(func, ref)[i] = fe_ssa_find(ssa, ir_arg(func, ref, i));
    }
    bool *is_used = SP_NEW_N(ssa->arena, bool, func->insns.len);
    ssa_fill_used(ssa, is_used);
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        struct ir_block *block = &func->blocks.data[b];
        uint32_t n = 0;
        for (uint32_t i = 0; i < block->insns.len; i++) {
            ir_ref ref = block->insns.data[i];
            if (is_used[ref]) {
                block->insns.data[n++] = ref;
                continue;
            }
            ir_insn(func, ref)->op = IR_NOP;
            ir_insn(func, ref)->n_args = 0;
        }
        block->insns.len = n;
    }
}
