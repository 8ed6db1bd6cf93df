/* unroll: a loop of phase PY with one copy of itself per round.
 *
 * In: a function, the head of a loop (phis, then `br more` to the body) and the number of rounds n.
 * Out: a new function with n + 1 copies of the loop, the first being the loop itself, with its
 * instructions' numbers; each copy's way back leads to the next one's head, the last one's to
 * itself (inference finds its body dead, since `more` is false there).
 *
 *     b1 (b0, b2): %3 = phi %2, %6                b1 (b0):     %3 = phi %2
 *                  br (more %3), b2, b3           b2 (b1):     %6 = next %3 ... jump b4
 *     b2 (b1):     %6 = next %3 ... jump b1   ->  b4 (b2, b5): %9 = phi %6, %12   the last head
 *     b3 (b1):     use %3                         b5 (b4):     ...
 *                                                 b3 (b1, b4): %15 = phi %3, %9
 *                                                              use %15
 *
 * What is copied: the head and everything its body dominates, so that a `break` or `return` and
 * what is done before it have the round's own types as well. Hence nothing outside is dominated by
 * a copied block but through the head, and only values of the head can be used there: for each, the
 * uses outside read it as in Braun et al. (2013), walking up to a copy of the loop or to a join,
 * which gets a phi; phis of one value are taken out again.
 *
 * Keeps the given function. Lost: peeling one round at a time (a restart of inference per
 * round). */
#include "ir/unroll.h"
#include "ir/pass.h"

#include <string.h>

struct unroll {
    struct ir_module *module; /* of the new function */
    struct sp_arena *arena;
    struct sp_arena *scratch;
    const struct ir_func *old;
    struct ir_func *func;
    uint32_t head, n_copies;
    bool *inside;               /* per old block: is copied */
    uint32_t *blocks, n_blocks; /* the copied ones, in reverse post-order */
    ir_ref **ref_of;            /* per copy and old instruction; 0: itself */
    uint32_t **block_of;        /* per copy and old block */
    SP_VEC(ir_ref) copy_of;     /* per new instruction */
    uint32_t *copy_number,
        *copied_from; /* per new block: its copy plus one (0: outside), old block */
};

static ir_ref
unroll_ref(const struct unroll *u, uint32_t copy, ir_ref ref)
{
    return copy && u->ref_of[copy][ref] ? u->ref_of[copy][ref] : ref;
}

static bool
unroll_find(struct unroll *u)
{
    const struct ir_block *head = &u->old->blocks.data[u->head];
    struct ir_dom dom;
    ir_fill_dom(u->old, u->scratch, &dom);
    if (head->n_succ != 2 || head->succ[0] == head->succ[1] || head->succ[0] == u->head)
        return false;
    uint32_t body = head->succ[0];
    if (u->old->blocks.data[body].preds.len != 1 || !ir_dom_reaches(&dom, u->head))
        return false;
    u->inside = SP_NEW_N(u->scratch, bool, u->old->blocks.len);
    u->blocks = SP_NEW_N(u->scratch, uint32_t, dom.n_order);
    for (uint32_t i = 0; i < dom.n_order; i++) {
        uint32_t b = dom.order[i];
        u->inside[b] = b == u->head || ir_dominates(&dom, body, b);
        if (u->inside[b])
            u->blocks[u->n_blocks++] = b;
    }
    bool comes_back = false;
    for (uint32_t i = 0; i < head->preds.len; i++)
        comes_back |= u->inside[head->preds.data[i]];
    for (uint32_t i = 0; i < u->n_blocks; i++) {
        const struct ir_block *block = &u->old->blocks.data[u->blocks[i]];
        for (uint32_t k = 0; u->blocks[i] != u->head && k < block->preds.len; k++)
            if (!u->inside[block->preds.data[k]])
                return false; /* from where the entry does not reach */
    }
    return comes_back;
}

static void
unroll_clone(struct unroll *u)
{
    u->func = ir_func_clone(u->module, u->old);
    for (ir_ref ref = 0; ref < u->func->insns.len; ref++)
        sp_vec_push(u->arena, &u->copy_of, ref);
}

static ir_ref
unroll_add(struct unroll *u, uint32_t block, ir_ref from)
{
    const struct ir_insn insn = *ir_insn(u->old, from);
    u->func->src = insn.src;
    ir_ref ref;
    if (insn.op == IR_PHI) {
        ref = ir_phi_new(u->func, block, insn.type, insn.imm);
    } else {
        ref = ir_insn_add(u->func, block, (enum ir_op)insn.op, insn.type, insn.imm, insn.n_args,
                          ir_args(u->old, from));
    }
    sp_vec_push(u->arena, &u->copy_of, from);
    return ref;
}

/* The copies' blocks and instructions; operands are those of the loop itself, phis have none
 * yet. */
static void
unroll_copy(struct unroll *u)
{
    for (uint32_t copy = 0; copy < u->n_copies; copy++) {
        u->block_of[copy] = SP_NEW_N(u->scratch, uint32_t, u->old->blocks.len);
        if (copy)
            u->ref_of[copy] = SP_NEW_N(u->scratch, ir_ref, u->old->insns.len);
        for (uint32_t i = 0; i < u->n_blocks; i++) {
            uint32_t b = u->blocks[i];
            u->block_of[copy][b] = copy ? ir_block_new(u->func) : b;
        }
        for (uint32_t i = 0; copy && i < u->n_blocks; i++) {
            const struct ir_block *block = &u->old->blocks.data[u->blocks[i]];
            for (uint32_t k = 0; k < block->insns.len; k++) {
                ir_ref from = block->insns.data[k];
                u->ref_of[copy][from] = unroll_add(u, u->block_of[copy][u->blocks[i]], from);
            }
        }
    }
    uint32_t n = u->func->blocks.len;
    u->copy_number = SP_NEW_N(u->scratch, uint32_t, n);
    u->copied_from = SP_NEW_N(u->scratch, uint32_t, n);
    for (uint32_t copy = 0; copy < u->n_copies; copy++)
        for (uint32_t i = 0; i < u->n_blocks; i++) {
            u->copy_number[u->block_of[copy][u->blocks[i]]] = copy + 1;
            u->copied_from[u->block_of[copy][u->blocks[i]]] = u->blocks[i];
        }
}

static void
unroll_operands(struct unroll *u, uint32_t copy)
{
    for (uint32_t i = 0; i < u->n_blocks; i++) {
        const struct ir_block *block = &u->func->blocks.data[u->block_of[copy][u->blocks[i]]];
        for (uint32_t k = 0; k < block->insns.len; k++) {
            ir_ref ref = block->insns.data[k];
            ir_ref *args = ir_args(u->func, ref);
            for (uint32_t a = 0; a < ir_insn(u->func, ref)->n_args; a++)
                args[a] = unroll_ref(u, copy, args[a]);
        }
    }
}

/* One edge into a block, as old predecessor, its copy, and where the old phi operand stands. */
struct unroll_edge {
    uint32_t pred, copy, operand;
};

/* Gives a block its predecessors, and its phis the operands: those of the old phis, as each edge's
 * copy of the loop has them. */
static void
unroll_set_preds(struct unroll *u, uint32_t to, uint32_t old_to, uint32_t n,
                 const struct unroll_edge *edges)
{
    const struct ir_block *old = &u->old->blocks.data[old_to];
    struct ir_block *block = &u->func->blocks.data[to];
    block->preds.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pred = edges[i].pred;
        sp_vec_push(u->arena, &block->preds,
                    u->inside[pred] ? u->block_of[edges[i].copy][pred] : pred);
    }
    ir_ref *args = SP_NEW_N(u->scratch, ir_ref, n + 1);
    for (uint32_t k = 0; k < old->insns.len; k++) {
        ir_ref from = old->insns.data[k];
        if (ir_insn(u->old, from)->op != IR_PHI)
            break;
        for (uint32_t i = 0; i < n; i++)
            args[i] = unroll_ref(u, edges[i].copy, ir_arg(u->old, from, edges[i].operand));
        ir_phi_set(u->func, u->func->blocks.data[to].insns.data[k], n, args);
    }
}

static void
unroll_head_edges(struct unroll *u, uint32_t copy, struct unroll_edge *edges)
{
    const struct ir_block *head = &u->old->blocks.data[u->head];
    uint32_t n = 0;
    for (uint32_t i = 0; i < head->preds.len; i++) {
        bool back = u->inside[head->preds.data[i]];
        if (!copy && !back)
            edges[n++] = (struct unroll_edge){head->preds.data[i], 0, i};
        if (copy && back)
            edges[n++] = (struct unroll_edge){head->preds.data[i], copy - 1, i};
    }
    for (uint32_t i = 0; copy + 1 == u->n_copies && i < head->preds.len; i++)
        if (u->inside[head->preds.data[i]])
            edges[n++] = (struct unroll_edge){head->preds.data[i], copy, i};
    unroll_set_preds(u, u->block_of[copy][u->head], u->head, n, edges);
}

static void
unroll_edges(struct unroll *u)
{
    uint32_t most = 1;
    for (uint32_t b = 0; b < u->old->blocks.len; b++)
        if (u->old->blocks.data[b].preds.len > most)
            most = u->old->blocks.data[b].preds.len;
    struct unroll_edge *edges =
        SP_NEW_N(u->scratch, struct unroll_edge, (size_t)most * (u->n_copies + 1));
    for (uint32_t copy = 0; copy < u->n_copies; copy++) {
        for (uint32_t i = 0; i < u->n_blocks; i++) {
            uint32_t b = u->blocks[i];
            const struct ir_block *old = &u->old->blocks.data[b];
            struct ir_block *block = &u->func->blocks.data[u->block_of[copy][b]];
            block->n_succ = old->n_succ;
            for (uint32_t k = 0; k < old->n_succ; k++) {
                uint32_t to = old->succ[k];
                uint32_t next = copy + 1 < u->n_copies ? copy + 1 : copy;
                block->succ[k] = to == u->head   ? u->block_of[next][to]
                                 : u->inside[to] ? u->block_of[copy][to]
                                                 : to;
            }
            for (uint32_t k = 0; k < old->preds.len; k++)
                edges[k] = (struct unroll_edge){old->preds.data[k], copy, k};
            if (b != u->head)
                unroll_set_preds(u, u->block_of[copy][b], b, old->preds.len, edges);
        }
        unroll_head_edges(u, copy, edges);
    }
    for (uint32_t b = 0; b < u->old->blocks.len; b++) {
        const struct ir_block *old = &u->old->blocks.data[b];
        uint32_t n = 0;
        for (uint32_t copy = 0; copy < u->n_copies && !u->inside[b]; copy++)
            for (uint32_t k = 0; k < old->preds.len; k++)
                if (!copy || u->inside[old->preds.data[k]])
                    edges[n++] = (struct unroll_edge){old->preds.data[k], copy, k};
        if (n > old->preds.len)
            unroll_set_preds(u, b, b, n, edges);
    }
}

/* ---- Values of the head that are used outside ---- */

struct unroll_value {
    ir_ref old;          /* in the head */
    ir_ref *at;          /* per block outside: the value at its end, or 0 */
    SP_VEC(ir_ref) phis; /* made for it; their operands are filled in turn */
};

/* The value at the end of a block of the new function. */
static ir_ref
unroll_read(struct unroll *u, struct unroll_value *v, uint32_t block)
{
    for (uint32_t steps = 0;;) {
        if (u->copy_number[block])
            return unroll_ref(u, u->copy_number[block] - 1, v->old);
        if (v->at[block])
            return v->at[block];
        const struct ir_block *b = &u->func->blocks.data[block];
        if (!b->preds.len || steps++ > u->func->blocks.len)
            return v->old; /* code that the entry does not reach */
        if (b->preds.len > 1)
            break;
        block = b->preds.data[0];
    }
    const struct ir_insn insn = *ir_insn(u->old, v->old);
    u->func->src = insn.src;
    ir_ref phi = ir_phi_new(u->func, block, insn.type, insn.op == IR_PHI ? insn.imm : 0);
    sp_vec_push(u->arena, &u->copy_of, 0);
    v->at[block] = phi;
    sp_vec_push(u->scratch, &v->phis, phi);
    return phi;
}

static bool
unroll_has(const struct ir_func *func, ir_ref ref, ir_ref arg)
{
    for (uint32_t i = 0; i < ir_insn(func, ref)->n_args; i++)
        if (ir_arg(func, ref, i) == arg)
            return true;
    return false;
}

/* Uses in blocks outside, and on edges that come from there. */
static void
unroll_rename(struct unroll *u, struct unroll_value *v, uint32_t block, ir_ref ref)
{
    if (!unroll_has(u->func, ref, v->old))
        return;
    bool phi = ir_insn(u->func, ref)->op == IR_PHI;
    for (uint32_t i = 0; i < ir_insn(u->func, ref)->n_args; i++) {
        uint32_t at = phi ? u->func->blocks.data[block].preds.data[i] : block;
        if (ir_arg(u->func, ref, i) != v->old || u->copy_number[at])
            continue;
        ir_ref value = unroll_read(u, v, at);
        ir_args(u->func, ref)[i] = value;
    }
}

/* Takes out phis that stand for one value. */
static void
unroll_drop_trivial(struct unroll *u, const struct unroll_value *v)
{
    struct ir_subst subst;
    ir_subst_init(&subst, u->func, u->scratch);
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < v->phis.len; i++) {
            ir_ref phi = v->phis.data[i], same = 0;
            bool trivial = ir_insn(u->func, phi)->op == IR_PHI;
            for (uint32_t k = 0; trivial && k < ir_insn(u->func, phi)->n_args; k++) {
                ir_ref arg = ir_subst_find(&subst, ir_arg(u->func, phi, k));
                if (arg == phi || arg == same)
                    continue;
                trivial = !same;
                same = arg;
            }
            if (!trivial || !same)
                continue;
            subst.to[phi] = same;
            ir_delete(u->func, phi);
            again = any = true;
        }
    }
    if (any) {
        ir_subst_apply(&subst, u->func);
        ir_sweep(u->func);
    }
}

static void
unroll_repair(struct unroll *u)
{
    const struct ir_block *head = &u->old->blocks.data[u->head];
    ir_ref *operands = NULL;
    uint32_t most = 0;
    for (uint32_t h = 0; h < head->insns.len; h++) {
        struct unroll_value v = {.old = head->insns.data[h]};
        if (ir_op_row(ir_insn(u->old, v.old)->op)->result == IR_RESULT_NONE)
            continue;
        v.at = SP_NEW_N(u->scratch, ir_ref, u->func->blocks.len);
        for (uint32_t b = 0; b < u->old->blocks.len; b++) {
            if (u->inside[b] && b != u->head)
                continue;
            for (uint32_t k = 0; k < u->func->blocks.data[b].insns.len; k++) {
                uint32_t before = u->func->blocks.data[b].insns.len;
                unroll_rename(u, &v, b, u->func->blocks.data[b].insns.data[k]);
                k += u->func->blocks.data[b].insns.len - before; /* phis came before */
            }
        }
        for (uint32_t i = 0; i < v.phis.len; i++) {
            ir_ref phi = v.phis.data[i];
            uint32_t block = ir_insn(u->func, phi)->block;
            uint32_t n = u->func->blocks.data[block].preds.len;
            if (n > most)
                operands = SP_NEW_N(u->scratch, ir_ref, most = n);
            for (uint32_t k = 0; k < n; k++)
                operands[k] = unroll_read(u, &v, u->func->blocks.data[block].preds.data[k]);
            ir_phi_set(u->func, phi, n, operands);
        }
        if (v.phis.len)
            unroll_drop_trivial(u, &v);
    }
}

bool
ir_unroll(struct ir_module *module, const struct ir_func *func, uint32_t head, uint32_t rounds,
          uint32_t max_insns, struct sp_arena *arena, struct ir_unrolled *out)
{
    struct unroll u = {.module = module,
                       .arena = module->arena,
                       .scratch = arena,
                       .old = func,
                       .head = head,
                       .n_copies = rounds + 1};
    if (!unroll_find(&u))
        return false;
    uint64_t n_insns = func->insns.len, n_edges = 0;
    for (uint32_t i = 0; i < u.n_blocks; i++) {
        n_insns += (uint64_t)func->blocks.data[u.blocks[i]].insns.len * rounds;
        n_edges += (uint64_t)func->blocks.data[u.blocks[i]].n_succ * u.n_copies;
    }
    if (n_insns > max_insns || n_edges > UINT16_MAX)
        return false;
    u.ref_of = SP_NEW_N(arena, ir_ref *, u.n_copies);
    u.block_of = SP_NEW_N(arena, uint32_t *, u.n_copies);
    unroll_clone(&u);
    unroll_copy(&u);
    for (uint32_t copy = 1; copy < u.n_copies; copy++)
        unroll_operands(&u, copy);
    unroll_edges(&u);
    unroll_repair(&u);
    out->func = u.func;
    out->copy_of = u.copy_of.data;
    return true;
}
