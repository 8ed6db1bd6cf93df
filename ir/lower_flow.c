/* lower_flow: the blocks of an instance, its branches and its phis.
 *
 * In: the live blocks and edges of an instance. Out: a CORE block per live PY block (checks and
 * loops of lowering's own split it, so that it ends in another than it began), a phi per part of
 * each PY phi and of each type that it is wanted in (lower_meet.c), and the terminators. At a
 * block's end the values for its successors' phis are converted to the phis' types, then the jump
 * is made; last the phis get their operands in the order of the edges. With check=True a conversion
 * may raise, so it stands on the edge that it belongs to; and a variable that may have no value has
 * a phi beside its parts that says whether it has one.
 *
 *     b1: %7 = phi %2, %9     %2: float, constant 0.0   %9: float32     %7: float32
 *     ->
 *     b1: %4 = phi [f32 0.0 from b0] [%8 from b2]
 *
 * Converting at the join itself (one conversion per phi) is impossible, for the operands' types
 * differ; converting where a value is made would convert on paths that do not need it. */
#include "ir/lower.h"

#include <assert.h>

/* The CORE blocks that a PY block begins and ends in. */
struct flow_span {
    uint32_t first, last;
    bool live;
};

/* What an edge brings to its target's phis: the parts of all of them, one after the other. */
struct flow_edge {
    uint32_t n;
    ir_ref *parts;
};

static struct lower_value
flow_phi_new(struct lower *l, ir_ref py, ir_type type, uint32_t block)
{
    ir_const name = ir_insn(l->from, py)->imm;
    if (name) {
        const struct ir_const_info *info = ir_const_info(l->py, name);
        name = ir_const_str(l->core, info->str, info->len);
    }
    uint32_t n = lower_n_parts(l, type);
    ir_type *types = SP_NEW_N(l->core->arena, ir_type, n);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    lower_part_types(l, type, types);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = ir_phi_new(l->func, block, types[i], name);
    return (struct lower_value){type, n, parts};
}

static void
flow_block(struct lower *l, uint32_t b, const bool *maybe_unbound)
{
    const struct ir_block *block = &l->from->blocks.data[b];
    for (uint32_t i = 0; i < block->insns.len; i++) {
        ir_ref py = block->insns.data[i];
        if (ir_insn(l->from, py)->op != IR_PHI)
            break;
        for (uint32_t k = l->first_meet[py]; k; k = l->meets.data[k - 1].next) {
            struct lower_meet *meet = &l->meets.data[k - 1];
            meet->value = flow_phi_new(l, py, meet->type, l->block);
            if (meet->type == l->inst->cells[py].type)
                l->values[py] = meet->value;
            if (lower_info(l, meet->type)->kind == IR_KIND_ITER)
                lower_mark_iter_phi(l, py, meet->value);
        }
        if (maybe_unbound && maybe_unbound[py])
            l->bound[py] = ir_phi_new(l->func, l->block, IR_T_I1, 0);
    }
    for (uint32_t i = 0; i + 1 < block->insns.len; i++)
        lower_insn(l, block->insns.data[i]);
}

/* The position of edge (from, succ) among its target's predecessors. */
static uint32_t
flow_pred_of(const struct ir_func *func, uint32_t from, uint32_t succ)
{
    const struct ir_block *block = &func->blocks.data[from];
    uint32_t to = block->succ[succ];
    uint32_t skip = succ == 1 && block->succ[0] == to;
    const struct ir_block *target = &func->blocks.data[to];
    for (uint32_t i = 0; i < target->preds.len; i++)
        if (target->preds.data[i] == from && !skip--)
            return i;
    assert(!"an edge is in both lists");
    return 0;
}

static struct flow_edge
flow_edge(struct lower *l, uint32_t from, uint32_t succ)
{
    uint32_t to = l->from->blocks.data[from].succ[succ];
    uint32_t pred = flow_pred_of(l->from, from, succ);
    const struct ir_block *target = &l->from->blocks.data[to];
    SP_VEC(ir_ref) parts = {0};
    for (uint32_t i = 0; i < target->insns.len; i++) {
        ir_ref phi = target->insns.data[i];
        if (ir_insn(l->from, phi)->op != IR_PHI)
            break;
        ir_ref arg = ir_arg(l->from, phi, pred);
        for (uint32_t m = l->first_meet[phi]; m; m = l->meets.data[m - 1].next) {
            struct lower_value value = lower_pass_on(l, arg, l->meets.data[m - 1].type);
            for (uint32_t k = 0; k < value.n; k++)
                sp_vec_push(l->core->arena, &parts, value.parts[k]);
        }
        if (l->bound[phi])
            sp_vec_push(l->core->arena, &parts,
                        l->bound[arg] ? l->bound[arg] : lower_bool(l, true));
    }
    return (struct flow_edge){parts.len, parts.data};
}

static bool
flow_has_edge(const struct lower *l, uint32_t b, uint32_t succ)
{
    return succ < l->from->blocks.data[b].n_succ && sp_bits_has(&l->inst->live_edges, 2 * b + succ);
}

/* Whether the block goes back to a loop's head that asks no iterator, as `while` does. */
static bool
flow_must_poll(const struct lower *l, uint32_t b, const uint32_t *rpo_of)
{
    for (uint32_t succ = 0; succ < 2; succ++) {
        if (!flow_has_edge(l, b, succ))
            continue;
        uint32_t head = l->from->blocks.data[b].succ[succ];
        if (rpo_of[head] > rpo_of[b])
            continue;
        ir_ref end = ir_terminator(l->from, head);
        if (ir_insn(l->from, end)->op != IR_BR ||
            ir_insn(l->from, ir_arg(l->from, end, 0))->op != IR_MORE)
            return true;
    }
    return false;
}

static void
flow_return(struct lower *l, ir_ref end)
{
    struct ir_cell result = l->inst->result;
    if (!l->func->n_results) {
        ir_ret(l->func, l->block, 0, NULL);
        return;
    }
    struct lower_value value = lower_pass_on(l, ir_arg(l->from, end, 0), result.type);
    ir_ret(l->func, l->block, value.n, value.parts);
}

/* Where the blocks of an instance ended up. */
struct flow_layout {
    const struct flow_span *spans;
    struct flow_edge *edges; /* 2 * block + successor */
    SP_VEC(uint32_t) py_of;  /* by CORE block that ends a PY block: its number */
};

/* Goes on from l->block, a part of PY block b, to the successor. */
static void
flow_leave(struct lower *l, uint32_t b, uint32_t succ, struct flow_layout *layout)
{
    layout->edges[2 * b + succ] = flow_edge(l, b, succ);
    while (layout->py_of.len <= l->block)
        sp_vec_push(l->core->arena, &layout->py_of, 0);
    layout->py_of.data[l->block] = b;
    ir_jump(l->func, l->block, layout->spans[l->from->blocks.data[b].succ[succ]].first);
}

/* Both edges. Their conversions stand before the branch, but those that may raise on the edge. */
static void
flow_branch(struct lower *l, uint32_t b, ir_ref end, struct flow_layout *layout)
{
    const struct ir_block *block = &l->from->blocks.data[b];
    if (l->ctx->options.check) {
        ir_ref condition = lower_truth(l, lower_get(l, ir_arg(l->from, end, 0)));
        uint32_t sides[] = {ir_block_new(l->func), ir_block_new(l->func)};
        ir_br(l->func, l->block, condition, sides[0], sides[1]);
        for (uint32_t succ = 0; succ < 2; succ++) {
            l->block = sides[succ];
            flow_leave(l, b, succ, layout);
        }
        return;
    }
    for (uint32_t succ = 0; succ < 2; succ++)
        layout->edges[2 * b + succ] = flow_edge(l, b, succ);
    ir_ref condition = lower_truth(l, lower_get(l, ir_arg(l->from, end, 0)));
    while (layout->py_of.len <= l->block)
        sp_vec_push(l->core->arena, &layout->py_of, 0);
    layout->py_of.data[l->block] = b;
    ir_br(l->func, l->block, condition, layout->spans[block->succ[0]].first,
          layout->spans[block->succ[1]].first);
}

/* Ends block b, and leaves in the layout what each of its edges brings. */
static void
flow_terminator(struct lower *l, uint32_t b, struct flow_layout *layout)
{
    const struct ir_block *block = &l->from->blocks.data[b];
    ir_ref end = block->insns.data[block->insns.len - 1];
    enum ir_op op = (enum ir_op)ir_insn(l->from, end)->op;
    l->at = end;
    if (op == IR_RET || op == IR_THROW) {
        if (lower_is_unreachable(l, end))
            ir_unreachable(l->func, l->block);
        else if (op == IR_RET)
            flow_return(l, end);
        else
            lower_throw(l, end);
        return;
    }
    bool goes[2] = {flow_has_edge(l, b, 0), flow_has_edge(l, b, 1)};
    if (goes[0] && goes[1] && block->succ[0] == block->succ[1])
        goes[1] = false; /* both edges bring the same */
    if (goes[0] && goes[1])
        flow_branch(l, b, end, layout);
    else if (goes[0] || goes[1])
        flow_leave(l, b, goes[0] ? 0 : 1, layout);
    else
        ir_unreachable(l->func, l->block);
}

/* Gives the phis of block b their operands in the order of CORE's predecessors. */
static void
flow_phi_operands(struct lower *l, uint32_t b, const struct flow_layout *layout)
{
    const struct flow_edge *edges = layout->edges;
    uint32_t first = layout->spans[b].first;
    const struct ir_block *core = &l->func->blocks.data[first];
    uint32_t n = core->preds.len;
    const struct flow_edge **from = SP_NEW_N(l->core->arena, const struct flow_edge *, n);
    ir_ref *args = SP_NEW_N(l->core->arena, ir_ref, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t py = layout->py_of.data[core->preds.data[i]];
        uint32_t succ = edges[2 * py].parts && l->from->blocks.data[py].succ[0] == b ? 0 : 1;
        from[i] = &edges[2 * py + succ];
    }
    uint32_t part = 0;
    for (uint32_t i = 0; i < core->insns.len; i++, part++) {
        ir_ref phi = core->insns.data[i];
        if (ir_insn(l->func, phi)->op != IR_PHI)
            break;
        for (uint32_t k = 0; k < n; k++)
            args[k] = from[k]->parts[part];
        ir_phi_set(l->func, phi, n, args);
    }
}

void
lower_blocks(struct lower *l)
{
    struct sp_arena *arena = l->core->arena;
    const struct ir_flow *flow = l->inst->flow;
    uint32_t n = l->from->blocks.len;
    struct flow_span *spans = SP_NEW_N(arena, struct flow_span, n);
    struct flow_layout layout = {.spans = spans, .edges = SP_NEW_N(arena, struct flow_edge, 2 * n)};
    const bool *maybe_unbound = l->ctx->options.check ? lower_maybe_unbound(l) : NULL;
    uint32_t *rpo_of = SP_NEW_N(arena, uint32_t, n);
    for (uint32_t i = 0; i < flow->n_rpo; i++) {
        uint32_t b = flow->rpo[i];
        rpo_of[b] = i;
        spans[b].live = sp_bits_has(&l->inst->live_blocks, b);
        if (spans[b].live)
            spans[b].first = b ? ir_block_new(l->func) : l->block;
    }
    for (uint32_t i = 0; i < flow->n_rpo; i++) {
        uint32_t b = flow->rpo[i];
        if (!spans[b].live)
            continue;
        l->block = spans[b].first;
        flow_block(l, b, maybe_unbound);
        spans[b].last = l->block;
    }
    for (uint32_t i = 0; i < flow->n_rpo; i++) {
        uint32_t b = flow->rpo[i];
        if (!spans[b].live)
            continue;
        l->block = spans[b].last;
        const struct ir_insn *end = ir_insn(l->from, ir_terminator(l->from, b));
        const struct sp_src *src = &l->from->srcs.data[end->src];
        ir_set_src(l->func, src->line, src->col, src->end_line, src->end_col);
        if (l->ctx->options.poll && flow_must_poll(l, b, rpo_of))
            lower_emit(l, IR_POLL, IR_T_NONE, 0, 0, NULL);
        flow_terminator(l, b, &layout);
    }
    for (uint32_t b = 0; b < n; b++)
        if (spans[b].live)
            flow_phi_operands(l, b, &layout);
}
