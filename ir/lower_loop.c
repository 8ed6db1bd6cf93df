/* lower_loop: range() and iteration over it.
 *
 * In: RANGE calls, ITER, VALUE, NEXT (MORE is a part of the state). Out: an iterator is the state
 * (cur, alive, lim, step): cur is the value, alive says whether it exists, lim decides whether
 * another one follows. For a positive step (a negative one is the mirror image):
 *
 *     alive  = start < stop
 *     lim    = stop - step, saturated at the smallest int64
 *     alive' = cur < lim          cur' = cur + step
 *
 * Proof. In exact arithmetic, cur + step < stop if and only if cur < stop - step. If stop - step
 * does not fit, it is below the smallest int64, hence not above any cur; the saturated lim gives
 * the same answer, since no cur is below the smallest int64. So alive' is exact without computing
 * cur + step, which may overflow only when alive' is false, and then nobody reads it: add.nsw is
 * allowed. For step 1 the saturation can be left out: stop - 1 does not fit only for the smallest
 * stop, for which alive is false from the start and NEXT is never executed. A stop that is not
 * negative needs none either.
 *
 *     for i in range(n)  ->  entry:  %lim = sub n, 1      %go = icmp.slt 0, n
 *                            head:   %cur = phi 0, %cur2  %alive = phi %go, %go2
 *                                    br %alive, body, exit
 *                            body:   %go2 = icmp.slt %cur, %lim   %cur2 = add.nsw %cur, 1
 *
 * After loop rotation that is one comparison and one addition per round, as in C. Lost: a trip
 * count, which needs a division for a run-time step; testing cur < stop, which is wrong near the
 * ends. */
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

static int
loop_step_sign(const struct lower *l, ir_type iter)
{
    const struct ir_type_info *info = lower_info(l, iter);
    assert(info->kind == IR_KIND_ITER && "an iterator");
    const struct ir_type_info *range = lower_info(l, info->elems[0]);
    assert(range->kind == IR_KIND_RANGE && "iteration over ranges");
    return range->step_sign;
}

/* stop - step for a step of this sign. */
static ir_ref
loop_lim(struct lower *l, ir_ref stop, ir_ref step, bool up)
{
    ir_ref lim = lower_op2(l, IR_SUB, stop, step);
    int64_t v;
    if (lower_int_of(l, step, &v) && v == (up ? 1 : -1))
        return lim;
    if (up && lower_is_nonneg(l, stop))
        return lim;
    ir_ref end = lower_int(l, IR_T_I64, up ? INT64_MIN : INT64_MAX);
    ir_ref first_safe = lower_op2(l, IR_ADD, end, step);
    ir_ref over = lower_icmp(l, up ? IR_ICMP_SLT : IR_ICMP_SGT, stop, first_safe);
    return lower_select(l, over, end, lim);
}

struct lower_value
lower_iter(struct lower *l, ir_ref py)
{
    ir_type type = l->inst->cells[py].type;
    struct lower_value range = lower_get(l, ir_arg(l->from, py, 0));
    if (lower_info(l, range.type)->kind == IR_KIND_ITER)
        return range;
    ir_ref start = range.parts[0], stop = range.parts[1], step = range.parts[2];
    int sign = loop_step_sign(l, type);
    ir_ref alive, lim;
    if (sign) {
        alive = lower_icmp(l, sign > 0 ? IR_ICMP_SLT : IR_ICMP_SGT, start, stop);
        lim = loop_lim(l, stop, step, sign > 0);
    } else {
        ir_ref zero = lower_int(l, IR_T_I64, 0);
        ir_ref up = lower_icmp(l, IR_ICMP_SGT, step, zero);
        ir_ref down = lower_icmp(l, IR_ICMP_SLT, step, zero);
        ir_ref alive_up = lower_icmp(l, IR_ICMP_SLT, start, stop);
        ir_ref alive_down = lower_icmp(l, IR_ICMP_SGT, start, stop);
        alive = lower_select(l, up, alive_up, lower_op2(l, IR_AND, down, alive_down));
        lim = lower_select(l, up, loop_lim(l, stop, step, true), loop_lim(l, stop, step, false));
    }
    return lower_value_new(l, type, 4, (ir_ref[]){start, alive, lim, step});
}

struct lower_value
lower_next(struct lower *l, ir_ref py)
{
    ir_type type = l->inst->cells[py].type;
    struct lower_value iter = lower_get(l, ir_arg(l->from, py, 0));
    ir_ref cur = iter.parts[0], lim = iter.parts[2], step = iter.parts[3];
    int sign = loop_step_sign(l, type);
    ir_ref alive;
    if (sign) {
        alive = lower_icmp(l, sign > 0 ? IR_ICMP_SLT : IR_ICMP_SGT, cur, lim);
    } else {
        ir_ref up = lower_icmp(l, IR_ICMP_SGT, step, lower_int(l, IR_T_I64, 0));
        alive = lower_select(l, up, lower_icmp(l, IR_ICMP_SLT, cur, lim),
                             lower_icmp(l, IR_ICMP_SGT, cur, lim));
    }
    ir_ref next = lower_op2(l, IR_ADD_NSW, cur, step);
    return lower_value_new(l, type, 4, (ir_ref[]){next, alive, lim, step});
}

/* Whether every state that reaches the phi began at a start that is not negative; steps are
 * positive. A state that has not been lowered yet can only be a later round of this loop, or is not
 * known. */
static bool
loop_starts_nonneg(struct lower *l, ir_ref py, ir_ref phi, unsigned depth)
{
    const struct ir_insn *insn = ir_insn(l->from, py);
    if (py == phi)
        return true;
    if (!depth)
        return false;
    if (insn->op == IR_NEXT)
        return loop_starts_nonneg(l, ir_arg(l->from, py, 0), phi, depth - 1);
    if (l->values[py].type != IR_T_NONE)
        return lower_is_nonneg(l, l->values[py].parts[0]);
    if (insn->op != IR_PHI)
        return false;
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (!loop_starts_nonneg(l, ir_arg(l->from, py, i), phi, depth - 1))
            return false;
    return true;
}

void
lower_mark_iter_phi(struct lower *l, ir_ref py, struct lower_value phi)
{
    if (loop_step_sign(l, phi.type) <= 0)
        return;
    const struct ir_insn *insn = ir_insn(l->from, py);
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (!loop_starts_nonneg(l, ir_arg(l->from, py, i), py, 8))
            return;
    lower_mark_nonneg(l, phi.parts[0]);
}
