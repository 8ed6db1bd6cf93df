/* infer_warp: typing of warp operations and clocks.
 *
 * A warp operation takes a mask of the lanes that meet, an integer of which 32 bits count, and what
 * its family adds: shuffles a number or a tuple of numbers and a lane, votes a truth value, matches
 * and reductions a number. Values keep their type on their way between lanes. */
#include "ir/infer_t.h"

#define WARP_MASK                                                                                  \
    "a mask has a bit per lane: 0xffffffff is the whole warp, gpu.activemask() who is here"

static bool
warp_mask(struct intrin_call *call)
{
    struct ir_cell mask = call->args[0];
    if (!ir_type_is_scalar(mask.type) || !ir_is_integer(mask.type) || mask.type == IR_T_BOOL)
        return infer_bad_argument(call, 0, WARP_MASK);
    if (!mask.constant || mask.type != IR_T_INT)
        return true;
    int64_t value = ir_const_info(call->in->module, mask.constant)->i;
    if (value != 0 && value >= INT32_MIN && value <= UINT32_MAX)
        return true;
    const char *text = sp_arena_printf(call->in->ctx->arena, "%lld", (long long)value);
    return CALL_ERROR(call, ARGUMENT_TYPE, "1", call->name, text) || CALL_HINT(call, WARP_MASK);
}

/* Numbers, and tuples of them. */
static bool
warp_is_movable(const struct infer *in, ir_type type)
{
    if (ir_type_is_scalar(type))
        return true;
    const struct ir_type_info *info = ir_type_info(in->module, type);
    bool ok = info->kind == IR_KIND_TUPLE;
    for (uint32_t i = 0; ok && i < info->n_elems; i++)
        ok = warp_is_movable(in, info->elems[i]);
    return ok;
}

static bool
warp_width(struct intrin_call *call)
{
    bool wait;
    if (!infer_want_constant(call, 3, "the width of a shuffle", &wait))
        return wait || CALL_HINT(call, "write 2, 4, 8, 16 or 32");
    const struct ir_const_info *c = ir_const_info(call->in->module, call->args[3].constant);
    if (ir_is_integer(call->args[3].type) && c->i > 0 && c->i <= 32 && !(c->i & (c->i - 1)))
        return true;
    const char *text = c->kind == IR_C_INT
                           ? sp_arena_printf(call->in->ctx->arena, "%lld", (long long)c->i)
                           : infer_text(call->in, call->args[3].type);
    return CALL_ERROR(call, ARGUMENT_TYPE, "4", call->name, text) ||
           CALL_HINT(call, "a warp is cut into groups of 2, 4, 8, 16 or 32 lanes");
}

static bool
warp_shuffle(struct intrin_call *call, struct ir_cell *out)
{
    if (!warp_is_movable(call->in, call->args[1].type))
        return infer_bad_argument(call, 1, NULL);
    if (!ir_type_is_scalar(call->args[2].type) || !ir_is_integer(call->args[2].type))
        return infer_bad_argument(call, 2, "an integer is needed");
    if (call->n == 4 && !warp_width(call))
        return false;
    *out = infer_typed(call->args[1].type);
    return true;
}

/* Sums of truth values count. */
static bool
warp_reduce(struct intrin_call *call, struct ir_cell *out)
{
    ir_type type = call->args[1].type;
    bool of_bits = call->id == IR_INTRIN_REDUCE_AND || call->id == IR_INTRIN_REDUCE_OR ||
                   call->id == IR_INTRIN_REDUCE_XOR;
    if (!ir_type_is_scalar(type))
        return infer_bad_argument(call, 1, NULL);
    if (of_bits && !ir_is_integer(type))
        return infer_bad_argument(call, 1, "an integer is needed");
    bool counts = type == IR_T_BOOL && call->id == IR_INTRIN_REDUCE_ADD;
    *out = infer_typed(counts ? (ir_type)IR_T_INT : type);
    return true;
}

bool
infer_rule_warp(struct intrin_call *call, struct ir_cell *out)
{
    static const ir_type mask_and_truth[2] = {IR_T_UINT32, IR_T_BOOL};
    if (call->n && !warp_mask(call))
        return false;
    switch (call->id) {
    case IR_INTRIN_SHFL:
    case IR_INTRIN_SHFL_UP:
    case IR_INTRIN_SHFL_DOWN:
    case IR_INTRIN_SHFL_XOR: return warp_shuffle(call, out);
    case IR_INTRIN_VOTE_ALL:
    case IR_INTRIN_VOTE_ANY:
    case IR_INTRIN_VOTE_EQ:
    case IR_INTRIN_BALLOT:
        if (infer_truth(call->in->module, call->args[1]) == -2)
            return infer_bad_argument(call, 1, "the predicate is a number: x[i] > 0");
        *out = infer_typed(call->id == IR_INTRIN_BALLOT ? IR_T_UINT32 : IR_T_BOOL);
        return true;
    case IR_INTRIN_MATCH_ANY:
    case IR_INTRIN_MATCH_ALL:
        if (!ir_type_is_scalar(call->args[1].type))
            return infer_bad_argument(call, 1, NULL);
        *out = infer_typed(call->id == IR_INTRIN_MATCH_ANY
                               ? (ir_type)IR_T_UINT32
                               : ir_type_tuple(call->in->module, 2, mask_and_truth));
        return true;
    case IR_INTRIN_ACTIVEMASK: *out = infer_typed(IR_T_UINT32); return true;
    default: return warp_reduce(call, out);
    }
}

/* The 32-bit counter wraps, so it is typed: differences of it stay right. */
bool
infer_rule_clock(struct intrin_call *call, struct ir_cell *out)
{
    if (call->id != IR_INTRIN_NANOSLEEP) {
        *out = infer_typed(call->id == IR_INTRIN_CLOCK ? IR_T_UINT32 : IR_T_INT);
        return true;
    }
    if (!ir_type_is_scalar(call->args[0].type) || !ir_is_integer(call->args[0].type))
        return infer_bad_argument(call, 0, "a number of nanoseconds is needed: write int(...)");
    *out = infer_constant(call->in, ir_const_simple(call->in->module, IR_C_NONE, 0));
    return true;
}
