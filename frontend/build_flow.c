/* build_flow: the ends of blocks, and which locals may have a value where.
 *
 * An iterator is a value. FOR asks it for more and branches; on the way into the body its value is
 * pushed and the state after it takes its place on the stack, so that the state of a loop is an
 * ordinary phi:
 *
 *     head:  i1 = phi i0, i3     m = more i1     br m, body, exit
 *     body:  v = value i1        i3 = next i1
 *
 * Where the body can be entered from elsewhere too, the two stand in a block of their own on the
 * edge. The way out carries a dummy on top, as CPython's own accounting has it (pyop.def).
 *
 * May a local have a value? Forward, union at joins, repeated until nothing changes; `del` takes it
 * away. A load of a local that cannot have one is an error with its name; one that may lack it on
 * some paths reads an `undef` through a phi, and is marked `bound`. */
#include "frontend/build.h"

#include <assert.h>
#include <string.h>

/* The local that this instruction gives a value, or n_locals. */
static uint32_t
flow_assigned_local(const struct build *b, const struct fe_insn *insn)
{
    if (insn->op == FE_OP_STORE || insn->op == FE_OP_STORE_CELL)
        return insn->arg;
    return b->code->n_locals;
}

/* What surely has a value: from what may have one down, intersection at joins. */
static void
flow_fill_sure(struct build *b, uint32_t n_given)
{
    uint32_t n = b->cfg->n, n_words = (b->code->n_locals + 63) / 64;
    b->sure_in = SP_NEW_N(b->arena, struct sp_bits, n);
    struct sp_bits given, out;
    sp_bits_init(&given, b->arena, b->code->n_locals);
    sp_bits_init(&out, b->arena, b->code->n_locals);
    for (uint32_t i = 0; i < n_given; i++)
        sp_bits_add(&given, i);
    for (uint32_t i = 0; i < n; i++) {
        sp_bits_init(&b->sure_in[i], b->arena, b->code->n_locals);
        memcpy(b->sure_in[i].words, i ? b->assigned_in[i].words : given.words,
               n_words * sizeof *given.words);
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct fe_block *block = &b->cfg->blocks[i];
            memcpy(out.words, b->sure_in[i].words, n_words * sizeof *out.words);
            for (uint32_t k = block->first; k <= block->last; k++) {
                const struct fe_insn *insn = &b->insns->data[k];
                uint32_t local = flow_assigned_local(b, insn);
                if (local < b->code->n_locals)
                    sp_bits_add(&out, local);
                else if (insn->op == FE_OP_DEL)
                    sp_bits_remove(&out, insn->arg);
            }
            for (uint32_t k = 0; k < block->n_succ; k++)
                for (uint32_t w = 0; w < n_words; w++) {
                    uint64_t *to = &b->sure_in[block->succ[k]].words[w];
                    again |= (*to & ~out.words[w]) != 0;
                    *to &= out.words[w];
                }
        }
    }
}

void
build_fill_assigned(struct build *b)
{
    uint32_t n = b->cfg->n, n_words = (b->code->n_locals + 63) / 64;
    b->assigned_in = SP_NEW_N(b->arena, struct sp_bits, n);
    struct sp_bits *assigned_out = SP_NEW_N(b->arena, struct sp_bits, n);
    struct sp_bits *deleted = SP_NEW_N(b->arena, struct sp_bits, n);
    for (uint32_t i = 0; i < n; i++) {
        sp_bits_init(&b->assigned_in[i], b->arena, b->code->n_locals);
        sp_bits_init(&assigned_out[i], b->arena, b->code->n_locals);
        sp_bits_init(&deleted[i], b->arena, b->code->n_locals);
        const struct fe_block *block = &b->cfg->blocks[i];
        for (uint32_t k = block->first; k <= block->last; k++) {
            const struct fe_insn *insn = &b->insns->data[k];
            uint32_t local = flow_assigned_local(b, insn);
            if (local < b->code->n_locals) {
                sp_bits_add(&assigned_out[i], local);
                sp_bits_remove(&deleted[i], local);
            } else if (insn->op == FE_OP_DEL) {
                sp_bits_remove(&assigned_out[i], insn->arg);
                sp_bits_add(&deleted[i], insn->arg);
            }
        }
    }
    uint32_t n_given = b->func->n_params + b->func->has_varargs + b->func->has_varkw;
    for (uint32_t i = 0; i < n_given; i++)
        sp_bits_add(&b->assigned_in[0], i);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct fe_block *block = &b->cfg->blocks[i];
            for (uint32_t w = 0; w < n_words; w++)
                assigned_out[i].words[w] |= b->assigned_in[i].words[w] & ~deleted[i].words[w];
            for (uint32_t k = 0; k < block->n_succ; k++)
                for (uint32_t w = 0; w < n_words; w++) {
                    uint64_t *to = &b->assigned_in[block->succ[k]].words[w];
                    uint64_t more = assigned_out[i].words[w] & ~*to;
                    *to |= more;
                    again |= more && block->succ[k] <= i;
                }
        }
    }
    flow_fill_sure(b, n_given);
}

/* The stack depth that `succ` starts with, from one more edge. */
static void
flow_depth(struct build *b, uint32_t succ, uint32_t depth)
{
    if (!b->depth_in[succ])
        b->depth_in[succ] = depth + 1;
    else if (b->depth_in[succ] != depth + 1)
        build_fail(b, "stack depth %u meets %u", depth, b->depth_in[succ] - 1);
}

static void
flow_for(struct build *b, const struct fe_block *block, const struct fe_insn *insn)
{
    if (insn->arg == 0 || insn->arg > b->depth) {
        build_fail(b, "stack underflow");
        return;
    }
    uint32_t it_slot = build_slot(b, b->depth - insn->arg), value_slot = build_slot(b, b->depth);
    uint32_t body = b->ir_block[block->succ[0]], exit = b->ir_block[block->succ[1]];
    if (b->depth == b->max_depth) {
        build_fail(b, "stack overflow");
        return;
    }
    flow_depth(b, block->succ[0], b->depth + 1);
    flow_depth(b, block->succ[1], insn->op == FE_OP_FOR_POP ? b->depth - 1 : b->depth + 1);
    ir_ref it = build_device(b, build_peek(b, insn->arg));
    ir_ref more = build_add(b, IR_MORE, 0, 1, &it);
    if (b->failed)
        return;
    fe_ssa_write(&b->ssa, b->block, value_slot, it); /* the dummy */
    bool has_edge_block = b->cfg->blocks[block->succ[0]].n_preds != 1;
    uint32_t inner = body;
    if (has_edge_block) {
        inner = ir_block_new(b->func);
        b->ssa.n_preds[inner] = 1;
    }
    ir_br(b->func, b->block, more, inner, exit);
    b->block = inner;
    fe_ssa_write(&b->ssa, inner, value_slot, build_add(b, IR_VALUE, 0, 1, &it));
    fe_ssa_write(&b->ssa, inner, it_slot, build_add(b, IR_NEXT, 0, 1, &it));
    if (has_edge_block) {
        ir_jump(b->func, inner, body);
        fe_ssa_edge(&b->ssa, inner);
    }
    fe_ssa_edge(&b->ssa, body);
    fe_ssa_edge(&b->ssa, exit);
}

static void
flow_if(struct build *b, const struct fe_block *block, const struct fe_insn *insn)
{
    ir_ref value = build_pop(b);
    if (b->failed)
        return;
    bool to_target = insn->op == FE_OP_IF_TRUE;
    if (insn->op == FE_OP_IF_NONE || insn->op == FE_OP_IF_NOT_NONE) {
        ir_ref args[] = {value, build_const(b, ir_const_simple(b->module, IR_C_NONE, 0))};
        value = build_add(b, IR_IS, insn->op == FE_OP_IF_NOT_NONE, 2, args);
        to_target = true;
    } else {
        value = build_device(b, value);
    }
    if (b->failed)
        return;
    uint32_t next = b->ir_block[block->succ[0]], target = b->ir_block[block->succ[1]];
    flow_depth(b, block->succ[0], b->depth);
    flow_depth(b, block->succ[1], b->depth);
    ir_br(b->func, b->block, value, to_target ? target : next, to_target ? next : target);
    fe_ssa_edge(&b->ssa, next);
    if (target != next)
        fe_ssa_edge(&b->ssa, target);
}

/* A cause is for tracebacks of handlers, of which a kernel has none. */
static void
flow_raise(struct build *b, const struct fe_insn *insn)
{
    ir_ref cause = insn->arg == 2 ? build_pop(b) : 0;
    ir_ref exception = build_device(b, build_pop(b));
    if (b->failed)
        return;
    if (b->null && (exception == b->null || cause == b->null)) {
        build_fail(b, "a missing value is raised");
        return;
    }
    if (cause) {
        const struct ir_insn *from = ir_insn(b->func, cause);
        if (from->op != IR_CONST || ir_const_info(b->module, from->imm)->kind != IR_C_NONE) {
            build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_CAUSE),
                      fe_construct_text(FE_CONSTRUCT_CAUSE));
            ir_unreachable(b->func, b->block);
            return;
        }
    }
    build_add(b, IR_THROW, 0, 1, &exception);
}

void
build_end(struct build *b, const struct fe_block *block)
{
    const struct fe_insn *insn = &b->insns->data[block->last];
    switch (block->end) {
    case FE_END_FALL:
    case FE_END_JUMP:
        flow_depth(b, block->succ[0], b->depth);
        ir_jump(b->func, b->block, b->ir_block[block->succ[0]]);
        fe_ssa_edge(&b->ssa, b->ir_block[block->succ[0]]);
        return;
    case FE_END_IF:
        if (insn->op == FE_OP_FOR || insn->op == FE_OP_FOR_POP)
            flow_for(b, block, insn);
        else
            flow_if(b, block, insn);
        return;
    case FE_END_RETURN: {
        ir_ref value = build_pop(b);
        if (!b->failed && value == b->null)
            build_fail(b, "a missing value is returned");
        if (!b->failed)
            ir_ret(b->func, b->block, 1, &value);
        return;
    }
    case FE_END_RAISE: flow_raise(b, insn); return;
    case FE_END_BAD:
        build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(block->construct),
                  fe_construct_text(block->construct));
        ir_unreachable(b->func, b->block);
        return;
    }
}
