/* lower_warp: operations of a warp, clocks.
 *
 * In: calls with their cells. Out: EFFECTs of machine values of 32 or 64 bits. What moves between
 * lanes are bits: floats and narrow numbers become integers and back; a tuple moves part by part.
 *
 *     gpu.shfl_down_sync(m, x, 1)   ->  bitcast f32 (effect i32 shfl_down_sync m, (bitcast i32 x), 1, 32)
 *     gpu.reduce_add_sync(m, n)     ->  effect i32 reduce_add_sync m, n, unsigned
 *
 * Where there is no such effect (floats, and GPUs without redux) reductions are shuffles: of a
 * whole warp a butterfly, of fewer lanes a loop over them from the lowest; who is there says a
 * ballot, since lanes of the mask may have ended. The lower lane's value stands first, so that all
 * lanes come to the same bits. */
#include "ir/lower.h"

#include <assert.h>

static ir_type
warp_type(const struct lower *l, ir_ref py)
{
    return l->inst->cells[py].type;
}

static ir_ref
warp_arg32(struct lower *l, ir_ref py, uint32_t k)
{
    return lower_get_as(l, lower_arg(l, py, k), IR_T_UINT32);
}

/* ---- Bits ---- */

static ir_ref
warp_to_bits(struct lower *l, ir_ref x)
{
    ir_type machine = lower_type_of(l, x);
    if (machine == IR_T_F64)
        return lower_cast(l, IR_BITCAST, IR_T_I64, x);
    if (machine == IR_T_F32)
        return lower_cast(l, IR_BITCAST, IR_T_I32, x);
    if (ir_is_half(machine))
        x = lower_cast(l, IR_BITCAST, IR_T_I16, x);
    bool whole = machine == IR_T_I32 || machine == IR_T_I64;
    return whole ? x : lower_cast(l, IR_ZEXT, IR_T_I32, x);
}

static ir_ref
warp_of_bits(struct lower *l, ir_ref bits, ir_type machine)
{
    if (machine == IR_T_I32 || machine == IR_T_I64)
        return bits;
    if (machine == IR_T_F32 || machine == IR_T_F64)
        return lower_cast(l, IR_BITCAST, machine, bits);
    if (ir_is_half(machine))
        return lower_cast(l, IR_BITCAST, machine, lower_cast(l, IR_TRUNC, IR_T_I16, bits));
    return lower_cast(l, IR_TRUNC, machine, bits);
}

/* ---- Shuffles, votes, matches ---- */

static ir_ref
warp_move(struct lower *l, enum ir_intrin id, ir_ref mask, ir_ref x, ir_ref lane, ir_ref width)
{
    ir_ref bits = warp_to_bits(l, x);
    bits = lower_effect(l, id, lower_type_of(l, bits), 4, (ir_ref[]){mask, bits, lane, width});
    return warp_of_bits(l, bits, lower_type_of(l, x));
}

static struct lower_value
warp_shuffle(struct lower *l, ir_ref py, enum ir_intrin id)
{
    struct lower_value value =
        lower_convert(l, lower_get(l, lower_arg(l, py, 1)), warp_type(l, py));
    ir_ref mask = warp_arg32(l, py, 0), lane = warp_arg32(l, py, 2);
    ir_ref width_py = lower_param(l, py, id, 3);
    ir_ref width = width_py ? lower_get_as(l, width_py, IR_T_UINT32) : lower_int(l, IR_T_I32, 32);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, value.n + 1);
    for (uint32_t k = 0; k < value.n; k++)
        parts[k] = warp_move(l, id, mask, value.parts[k], lane, width);
    return (struct lower_value){value.type, value.n, parts};
}

static struct lower_value
warp_match(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_ref bits = warp_to_bits(l, lower_get(l, lower_arg(l, py, 1)).parts[0]);
    ir_ref args[2] = {warp_arg32(l, py, 0), bits};
    ir_ref found = lower_effect(l, id, IR_T_I32, 2, args);
    if (id == IR_INTRIN_MATCH_ANY)
        return lower_scalar(l, IR_T_UINT32, found);
    ir_ref all = lower_icmp(l, IR_ICMP_NE, found, lower_int(l, IR_T_I32, 0));
    return lower_value_new(l, warp_type(l, py), 2, (ir_ref[]){found, all});
}

/* ---- Reductions ---- */

static ir_ref
warp_combine(struct lower *l, enum ir_intrin id, ir_type type, ir_ref a, ir_ref b)
{
    bool is_float = ir_is_float(type), is_max = id == IR_INTRIN_REDUCE_MAX;
    switch (id) {
    case IR_INTRIN_REDUCE_ADD: return lower_op2(l, is_float ? IR_FADD : IR_ADD, a, b);
    case IR_INTRIN_REDUCE_AND: return lower_op2(l, IR_AND, a, b);
    case IR_INTRIN_REDUCE_OR: return lower_op2(l, IR_OR, a, b);
    case IR_INTRIN_REDUCE_XOR: return lower_op2(l, IR_XOR, a, b);
    default: break;
    }
    ir_ref first;
    if (is_float) { /* NaN wins, as in np.minimum */
        first = lower_fcmp(l, is_max ? IR_FCMP_OGT : IR_FCMP_OLT, a, b);
        first = lower_op2(l, IR_OR, first, lower_fcmp(l, IR_FCMP_UNO, a, a));
    } else {
        bool is_unsigned = ir_is_unsigned(type) || type == IR_T_BOOL;
        enum ir_icmp less = is_unsigned ? IR_ICMP_ULT : IR_ICMP_SLT;
        first = lower_icmp(l, less, is_max ? b : a, is_max ? a : b);
    }
    return lower_select(l, first, a, b);
}

/* Of all 32 lanes. */
static ir_ref
warp_butterfly(struct lower *l, enum ir_intrin id, ir_type type, ir_ref mask, ir_ref x)
{
    ir_ref zero = lower_int(l, IR_T_I32, 0), width = lower_int(l, IR_T_I32, 32);
    ir_ref lane = lower_emit(l, IR_INTRIN, IR_T_I32, IR_INTRIN_LANEID, 0, NULL);
    bool ordered = ir_is_float(type) && id != IR_INTRIN_REDUCE_ADD;
    for (int64_t step = 16; step; step /= 2) {
        ir_ref bit = lower_int(l, IR_T_I32, step), a = x;
        ir_ref b = warp_move(l, IR_INTRIN_SHFL_XOR, mask, x, bit, width);
        if (ordered) {
            ir_ref low = lower_icmp(l, IR_ICMP_EQ, lower_op2(l, IR_AND, lane, bit), zero);
            a = lower_select(l, low, x, b);
            b = lower_select(l, low, b, x);
        }
        x = warp_combine(l, id, type, a, b);
    }
    return x;
}

/* The number of the lowest one bit. */
static ir_ref
warp_lowest(struct lower *l, ir_ref bits)
{
    ir_ref minus = lower_op2(l, IR_SUB, lower_int(l, IR_T_I32, 0), bits);
    ir_ref before = lower_op1(l, IR_CTLZ, lower_op2(l, IR_AND, bits, minus));
    return lower_op2(l, IR_SUB, lower_int(l, IR_T_I32, 31), before);
}

/* Of the lanes in `here`, which is not empty, one after the other. */
static ir_ref
warp_sequence(struct lower *l, enum ir_intrin id, ir_type type, ir_ref mask, ir_ref here, ir_ref x)
{
    ir_ref one = lower_int(l, IR_T_I32, 1), zero = lower_int(l, IR_T_I32, 0);
    ir_ref width = lower_int(l, IR_T_I32, 32);
    ir_ref first = warp_move(l, IR_INTRIN_SHFL, mask, x, warp_lowest(l, here), width);
    ir_ref rest = lower_op2(l, IR_AND, here, lower_op2(l, IR_SUB, here, one));
    struct lower_loop loop;
    lower_loop_open(l, &loop, 2, (ir_ref[]){rest, first});
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_NE, loop.phis[0], zero));
    ir_ref lane = warp_lowest(l, loop.phis[0]);
    ir_ref next = warp_move(l, IR_INTRIN_SHFL, mask, x, lane, width);
    next = warp_combine(l, id, type, loop.phis[1], next);
    rest = lower_op2(l, IR_AND, loop.phis[0], lower_op2(l, IR_SUB, loop.phis[0], one));
    lower_loop_close(l, &loop, (ir_ref[]){rest, next});
    return loop.phis[1];
}

static ir_ref
warp_reduce_by_moves(struct lower *l, enum ir_intrin id, ir_type type, ir_ref mask, ir_ref x)
{
    ir_ref here =
        lower_effect(l, IR_INTRIN_BALLOT, IR_T_I32, 2, (ir_ref[]){mask, lower_bool(l, true)});
    ir_ref full = lower_icmp(l, IR_ICMP_EQ, here, lower_int(l, IR_T_I32, -1));
    uint32_t whole = ir_block_new(l->func), partly = ir_block_new(l->func),
             join = ir_block_new(l->func);
    ir_br(l->func, l->block, full, whole, partly);
    ir_ref results[2];
    l->block = whole;
    results[0] = warp_butterfly(l, id, type, mask, x);
    ir_jump(l->func, l->block, join);
    l->block = partly;
    results[1] = warp_sequence(l, id, type, mask, here, x);
    ir_jump(l->func, l->block, join);
    l->block = join;
    ir_ref phi = ir_phi_new(l->func, join, lower_type_of(l, x), 0);
    ir_phi_set(l->func, phi, 2, results);
    return phi;
}

static struct lower_value
warp_reduce(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = warp_type(l, py), machine = lower_machine(l, type);
    ir_ref mask = warp_arg32(l, py, 0), x = lower_get_as(l, lower_arg(l, py, 1), type);
    if (ir_is_float(type) || !l->ctx->options.redux)
        return lower_scalar(l, type, warp_reduce_by_moves(l, id, type, mask, x));
    bool is_unsigned = ir_is_unsigned(type) || type == IR_T_BOOL;
    bool is_narrow = ir_machine_bits(machine) < 32;
    if (is_narrow)
        x = lower_cast(l, is_unsigned ? IR_ZEXT : IR_SEXT, IR_T_I32, x);
    ir_ref args[3] = {mask, x, lower_bool(l, is_unsigned)};
    ir_ref r = lower_effect(l, id, lower_type_of(l, x), 3, args);
    return lower_scalar(l, type, is_narrow ? lower_cast(l, IR_TRUNC, machine, r) : r);
}

struct lower_value
lower_warp(struct lower *l, ir_ref py, enum ir_intrin id)
{
    switch (id) {
    case IR_INTRIN_SHFL:
    case IR_INTRIN_SHFL_UP:
    case IR_INTRIN_SHFL_DOWN:
    case IR_INTRIN_SHFL_XOR: return warp_shuffle(l, py, id);
    case IR_INTRIN_VOTE_ALL:
    case IR_INTRIN_VOTE_ANY:
    case IR_INTRIN_VOTE_EQ:
    case IR_INTRIN_BALLOT: {
        bool is_mask = id == IR_INTRIN_BALLOT;
        ir_ref truth = lower_truth(l, lower_get(l, lower_arg(l, py, 1)));
        ir_ref args[2] = {warp_arg32(l, py, 0), truth};
        return lower_scalar(l, is_mask ? IR_T_UINT32 : IR_T_BOOL,
                            lower_effect(l, id, is_mask ? IR_T_I32 : IR_T_I1, 2, args));
    }
    case IR_INTRIN_MATCH_ANY:
    case IR_INTRIN_MATCH_ALL: return warp_match(l, py, id);
    case IR_INTRIN_ACTIVEMASK:
        return lower_scalar(l, IR_T_UINT32, lower_effect(l, id, IR_T_I32, 0, NULL));
    default: return warp_reduce(l, py, id);
    }
}

/* ---- Clocks ---- */

#define CLOCK_LONGEST 1000000 /* nanoseconds; no GPU sleeps longer at once */

struct lower_value
lower_clock(struct lower *l, ir_ref py, enum ir_intrin id)
{
    if (id == IR_INTRIN_CLOCK)
        return lower_scalar(l, IR_T_UINT32, lower_effect(l, id, IR_T_I32, 0, NULL));
    if (id != IR_INTRIN_NANOSLEEP)
        return lower_scalar(l, IR_T_INT, lower_effect(l, id, IR_T_I64, 0, NULL));
    struct lower_value ns = lower_get(l, lower_arg(l, py, 0));
    ir_type wide = ir_is_unsigned(ns.type) ? IR_T_UINT64 : IR_T_INT;
    ir_ref n = lower_convert(l, ns, wide).parts[0];
    ir_ref zero = lower_int(l, IR_T_I64, 0), most = lower_int(l, IR_T_I64, CLOCK_LONGEST);
    if (wide == IR_T_INT)
        n = lower_select(l, lower_icmp(l, IR_ICMP_SLT, n, zero), zero, n);
    n = lower_select(l, lower_icmp(l, IR_ICMP_UGT, n, most), most, n);
    n = lower_cast(l, IR_TRUNC, IR_T_I32, n);
    lower_effect(l, id, IR_T_VOID, 1, &n);
    return lower_value_new(l, warp_type(l, py), 0, NULL);
}
