/* opt_simplify: constant folding, identities, trivial phis, and with ir/simplify_flow.c dead
 * branches.
 *
 * Takes any verified CORE module, keeps its meaning bit for bit (NaN payloads excepted) and its
 * source ranges; needs and keeps no analysis. Per function: constants are made unique and moved to
 * the head of the entry block; then rounds of one walk in reverse post-order, which folds each
 * instruction with its operands already folded, and one step over the flow graph, until neither
 * changes anything (a few rounds; each is linear). Only identities that hold for all IEEE values
 * are applied: x + 0.0 and x * 0.0 stay. A sparse conditional propagation would find more in one
 * go, but inference has already followed constants through Python's branches; what is left comes
 * from lowering and is local.
 *
 *     %3 = const i64 4                      %3 = const i64 4
 *     %4 = const i64 8             =>       %6 = const i64 12
 *     %5 = add i64 %1, %3                   %7 = add i64 %1, %6
 *     %7 = add i64 %5, %4
 *
 *     %4 = zext i64 %2                      br %2, b1, b2
 *     %5 = icmp i1 ne %4, 0        =>
 *     br %5, b1, b2
 *
 *     b1 (b0): br true, b2, b3              b1 (b0): jump b2
 *     b3 (b1, b2): phi %4, %5      =>       b3 (b2): uses of the phi are uses of %5 */
#include "ir/simplify.h"

#include <assert.h>
#include <string.h>

#define SIMPLIFY_MAX_ROUNDS 8

static ir_ref
pool_get(struct ir_simplify *s, ir_type type, ir_const imm)
{
    uint64_t key = (uint64_t)type << 32 | imm;
    bool is_new;
    uint32_t *slot = sp_map_intern(&s->pool, s->arena, &key, sizeof key, &is_new);
    if (is_new) {
        sp_vec_push(s->func->module->arena, &s->func->insns,
                    (struct ir_insn){.op = IR_CONST, .type = type, .imm = imm});
        *slot = s->func->insns.len - 1;
        sp_vec_push(s->arena, &s->consts, *slot);
    }
    return *slot;
}

ir_ref
ir_simplify_const(struct ir_simplify *s, ir_type type, uint64_t bits)
{
    return pool_get(s, type, ir_const_of_bits(s->func->module, type, bits));
}

/* Takes every constant out of its block and keeps one of each. */
static bool
pool_fill(struct ir_simplify *s)
{
    struct ir_func *func = s->func;
    struct ir_subst subst;
    bool changed = false;
    ir_subst_init(&subst, func, s->arena);
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        struct ir_block *block = &func->blocks.data[b];
        uint32_t n = 0;
        for (uint32_t i = 0; i < block->insns.len; i++) {
            ir_ref ref = block->insns.data[i];
            struct ir_insn *insn = ir_insn(func, ref);
            uint64_t bits;
            if (!ir_const_bits(func, ref, &bits)) {
                block->insns.data[n++] = ref;
                continue;
            }
            ir_const imm = ir_const_of_bits(func->module, insn->type, bits);
            changed |= imm != insn->imm || b;
            insn->imm = imm;
            insn->block = 0;
            uint64_t key = (uint64_t)insn->type << 32 | imm;
            bool is_new;
            uint32_t *slot = sp_map_intern(&s->pool, s->arena, &key, sizeof key, &is_new);
            if (is_new) {
                *slot = ref;
                sp_vec_push(s->arena, &s->consts, ref);
            } else {
                subst.to[ref] = *slot;
                ir_delete(func, ref);
                changed = true;
            }
        }
        block->insns.len = n;
    }
    ir_subst_apply(&subst, func);
    return changed;
}

/* Puts the constants behind the parameters that head the entry block. */
static void
pool_place(struct ir_simplify *s)
{
    struct ir_func *func = s->func;
    struct ir_block *entry = &func->blocks.data[0];
    uint32_t at = 0, more = s->consts.len;
    while (at < entry->insns.len && ir_insn(func, entry->insns.data[at])->op == IR_PARAM)
        at++;
    if (!more)
        return;
    sp_vec_reserve(func->module->arena, &entry->insns, more);
    memmove(entry->insns.data + at + more, entry->insns.data + at,
            (entry->insns.len - at) * sizeof(ir_ref));
    memcpy(entry->insns.data + at, s->consts.data, more * sizeof(ir_ref));
    entry->insns.len += more;
}

/* The value that all operands but the phi itself are, or 0. */
static ir_ref
trivial_phi(const struct ir_func *func, ir_ref ref)
{
    ir_ref same = 0;
    for (uint32_t i = 0; i < ir_insn(func, ref)->n_args; i++) {
        ir_ref arg = ir_arg(func, ref, i);
        if (arg == ref || arg == same)
            continue;
        if (same)
            return 0;
        same = arg;
    }
    return same;
}

static ir_ref
fold_const(struct ir_simplify *s, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(s->func, ref);
    uint64_t args[3] = {0}, bits;
    if (!insn->n_args || insn->n_args > 3)
        return 0;
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (!ir_const_bits(s->func, ir_arg(s->func, ref, i), &args[i]))
            return 0;
    ir_type from = ir_insn(s->func, ir_arg(s->func, ref, 0))->type;
    if (!ir_fold((enum ir_op)insn->op, insn->imm, from, insn->type, args, &bits))
        return 0;
    return ir_simplify_const(s, insn->type, bits);
}

static ir_ref
simplify_insn(struct ir_simplify *s, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(s->func, ref);
    if (insn->op == IR_PHI)
        return trivial_phi(s->func, ref);
    if (!(ir_op_row((enum ir_op)insn->op)->flags & IR_PURE) || insn->op == IR_INTRIN)
        return 0;
    ir_ref folded = fold_const(s, ref);
    return folded ? folded : ir_simplify_identity(s, ref);
}

static bool
simplify_values(struct ir_simplify *s)
{
    struct ir_func *func = s->func;
    uint32_t *order = SP_NEW_N(s->arena, uint32_t, func->blocks.len);
    uint32_t n_order = ir_fill_rpo(func, order);
    struct ir_subst subst;
    bool replaced = false;
    s->changed = false;
    ir_subst_init(&subst, func, s->arena);
    for (uint32_t o = 0; o < n_order; o++) {
        struct ir_block *block = &func->blocks.data[order[o]];
        for (uint32_t i = 0; i < block->insns.len; i++) {
            ir_ref ref = block->insns.data[i];
            ir_ref *args = ir_args(func, ref);
            for (uint32_t k = 0; k < ir_insn(func, ref)->n_args; k++)
                args[k] = ir_subst_find(&subst, args[k]);
            ir_ref by = simplify_insn(s, ref);
            if (!by || by == ref)
                continue;
            subst.to[ref] = by;
            ir_delete(func, ref);
            replaced = true;
        }
    }
    if (replaced) {
        ir_sweep(func);
        ir_subst_apply(&subst, func);
    }
    return s->changed || replaced;
}

static bool
simplify_func(struct ir_func *func)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct ir_simplify s = {.func = func, .arena = &arena};
    sp_map_init(&s.pool);
    bool changed = ir_remove_unreachable(func);
    changed |= pool_fill(&s);
    for (int round = 0; round < SIMPLIFY_MAX_ROUNDS; round++) {
        bool again = simplify_values(&s);
        again |= ir_simplify_flow(&s);
        changed |= again;
        if (!again)
            break;
    }
    pool_place(&s);
    sp_map_finish(&s.pool);
    sp_arena_finish(&arena);
    return changed;
}

bool
ir_opt_simplify(struct ir_module *module)
{
    bool changed = false;
    assert(module->phase == IR_PHASE_CORE && "a pass over CORE");
    for (uint32_t i = 0; i < module->funcs.len; i++)
        changed |= simplify_func(module->funcs.data[i]);
    return changed;
}
