/* lower_range: ranges as values: their length, elements, membership, and the calls that make them.
 *
 * A range is (start, stop, step). With a positive step it has (stop - 1 - start) / step + 1 values
 * if start < stop, computed on unsigned numbers, so that no distance overflows; a negative step is
 * the mirror image; a step of 0, which only a run-time one can be, has none. */
#include "ir/lower.h"

#include <assert.h>

struct lower_value
lower_range(struct lower *l, ir_ref py)
{
    uint32_t n = lower_n_args(l, py);
    ir_ref parts[3] = {lower_int(l, IR_T_I64, 0), 0, lower_int(l, IR_T_I64, 1)};
    if (n == 1) {
        parts[1] = lower_get_as(l, lower_arg(l, py, 0), IR_T_INT);
    } else {
        for (uint32_t i = 0; i < n; i++)
            parts[i] = lower_get_as(l, lower_arg(l, py, i), IR_T_INT);
    }
    return lower_value_new(l, l->inst->cells[py].type, 3, parts);
}

struct range_span {
    ir_ref up, alive; /* i1: step > 0; there is a value */
    ir_ref size;      /* distance from start to the last number that can be a value */
    ir_ref by;        /* the step's magnitude, never 0 */
};

static struct range_span
range_span(struct lower *l, struct lower_value range)
{
    ir_ref start = range.parts[0], stop = range.parts[1], step = range.parts[2];
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    struct range_span span = {.up = lower_icmp(l, IR_ICMP_SGT, step, zero)};
    ir_ref down = lower_icmp(l, IR_ICMP_SLT, step, zero);
    ir_ref alive_down = lower_op2(l, IR_AND, down, lower_icmp(l, IR_ICMP_SGT, start, stop));
    span.alive = lower_select(l, span.up, lower_icmp(l, IR_ICMP_SLT, start, stop), alive_down);
    ir_ref distance = lower_select(l, span.up, lower_op2(l, IR_SUB, stop, start),
                                   lower_op2(l, IR_SUB, start, stop));
    span.size = lower_op2(l, IR_SUB, distance, one);
    ir_ref magnitude = lower_int_abs(l, step, IR_T_INT);
    span.by = lower_select(l, lower_icmp(l, IR_ICMP_EQ, step, zero), one, magnitude);
    return span;
}

ir_ref
lower_range_length(struct lower *l, struct lower_value range)
{
    struct range_span span = range_span(l, range);
    ir_ref n =
        lower_op2(l, IR_ADD, lower_op2(l, IR_UDIV, span.size, span.by), lower_int(l, IR_T_I64, 1));
    n = lower_select(l, span.alive, n, lower_int(l, IR_T_I64, 0));
    lower_mark_nonneg(l, n); /* more values than that nobody can count */
    return n;
}

ir_ref
lower_range_value(struct lower *l, struct lower_value range, ir_ref k, bool before)
{
    if (before)
        k = lower_op2(l, IR_SUB, k, lower_int(l, IR_T_I64, 1));
    return lower_op2(l, IR_ADD, range.parts[0], lower_op2(l, IR_MUL, k, range.parts[2]));
}

/* Whether a number is one of the range's values; a float may be one too. */
ir_ref
lower_in_range(struct lower *l, struct lower_value item, struct lower_value range)
{
    ir_ref whole = lower_bool(l, true), zero = lower_int(l, IR_T_I64, 0);
    ir_ref x = lower_convert(l, item, IR_T_INT).parts[0];
    if (ir_is_float(item.type)) {
        ir_type machine = lower_machine(l, item.type);
        ir_ref back = lower_cast(l, IR_SITOFP, machine, x);
        ir_ref below = lower_fcmp(l, IR_FCMP_OLT, item.parts[0], lower_float(l, machine, 0x1p63));
        whole = lower_op2(l, IR_AND, below, lower_fcmp(l, IR_FCMP_OEQ, back, item.parts[0]));
    } else if (item.type == IR_T_UINT64) {
        whole = lower_icmp(l, IR_ICMP_SGE, x, zero);
    }
    struct range_span span = range_span(l, range);
    ir_ref distance = lower_select(l, span.up, lower_op2(l, IR_SUB, x, range.parts[0]),
                                   lower_op2(l, IR_SUB, range.parts[0], x));
    ir_ref inside = lower_icmp(l, IR_ICMP_ULE, distance, span.size);
    ir_ref met = lower_icmp(l, IR_ICMP_EQ, lower_op2(l, IR_UREM, distance, span.by), zero);
    return lower_op2(l, IR_AND, lower_op2(l, IR_AND, whole, span.alive),
                     lower_op2(l, IR_AND, inside, met));
}
