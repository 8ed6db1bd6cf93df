/* lower_loop: iterators.
 *
 * In: ITER, MORE, VALUE, NEXT. Out: the state of an iterator as its type says. Over an array or a
 * tuple it is the index beside what is gone over; an element is read when it is reached. ENUMERATE
 * is a counter and the iterator's state, ZIP the states of all, UNROLLED the tuple alone. Over a
 * range it is (cur, alive, lim, step): cur is the value, alive says whether it exists, lim decides
 * whether another one follows. For a positive step (a negative one is the mirror image):
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
 * negative needs none either. A step that is 1 by its type meets lim before it is beyond it, so
 * there alive' = cur != lim: LLVM sees a trip count without a maximum in it, and unrolls.
 *
 *     for i in range(n)  ->  entry:  %lim = sub n, 1      %go = icmp.slt 0, n
 *                            head:   %cur = phi 0, %cur2  %alive = phi %go, %go2
 *                                    br %alive, body, exit
 *                            body:   %go2 = icmp.ne %cur, %lim   %cur2 = add.nsw %cur, 1
 *
 * After loop rotation that is one comparison and one addition per round, as in C. Lost: a trip
 * count, which needs a division for a run-time step; testing cur < stop, which is wrong near the
 * ends. A reversed range does divide once: (cur, alive, first, step) goes from the last value to
 * the first, alive' = cur != first. */
#include "ir/lower.h"

#include <assert.h>

static const struct ir_type_info *
loop_range(const struct lower *l, ir_type iter)
{
    const struct ir_type_info *range = lower_info(l, lower_info(l, iter)->elems[0]);
    assert(range->kind == IR_KIND_RANGE && "iteration over ranges");
    return range;
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

static struct lower_value
loop_range_iter(struct lower *l, struct lower_value range, ir_type type)
{
    ir_ref start = range.parts[0], stop = range.parts[1], step = range.parts[2];
    int sign = loop_range(l, type)->step_sign;
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

static struct lower_value
loop_range_next(struct lower *l, struct lower_value iter)
{
    ir_ref cur = iter.parts[0], lim = iter.parts[2], step = iter.parts[3];
    int sign = loop_range(l, iter.type)->step_sign;
    ir_ref alive;
    if (sign && loop_range(l, iter.type)->unit_step) {
        alive = lower_icmp(l, IR_ICMP_NE, cur, lim);
    } else if (sign) {
        alive = lower_icmp(l, sign > 0 ? IR_ICMP_SLT : IR_ICMP_SGT, cur, lim);
    } else {
        ir_ref up = lower_icmp(l, IR_ICMP_SGT, step, lower_int(l, IR_T_I64, 0));
        alive = lower_select(l, up, lower_icmp(l, IR_ICMP_SLT, cur, lim),
                             lower_icmp(l, IR_ICMP_SGT, cur, lim));
    }
    ir_ref next = lower_op2(l, IR_ADD_NSW, cur, step);
    return lower_value_new(l, iter.type, 4, (ir_ref[]){next, alive, lim, step});
}

/* ---- Iterators of every kind ---- */

/* A state of this type from its first part (0: none) and the parts of values behind it. */
static struct lower_value
loop_state(struct lower *l, ir_type type, ir_ref first, uint32_t n, const struct lower_value *rest)
{
    uint32_t total = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, total + 1);
    if (first)
        parts[at++] = first;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < rest[i].n; k++)
            parts[at++] = rest[i].parts[k];
    assert(at == total && "a state as its type says");
    return (struct lower_value){type, total, parts};
}

/* The value of type `type` that begins at part `at` of a state. */
static struct lower_value
loop_inner(const struct lower *l, struct lower_value iter, ir_type type, uint32_t at)
{
    uint32_t n = lower_n_parts(l, type);
    return (struct lower_value){type, n, n ? iter.parts + at : NULL};
}

/* How many there are to go over, of an array or a tuple. */
static ir_ref
loop_length(struct lower *l, struct lower_value over)
{
    const struct ir_type_info *info = lower_info(l, over.type);
    return info->kind == IR_KIND_ARRAY ? over.parts[1] : lower_int(l, IR_T_I64, info->n_elems);
}

struct lower_value
lower_iter_start(struct lower *l, struct lower_value over, ir_type type)
{
    const struct ir_type_info *info = lower_info(l, type);
    enum ir_kind kind = (enum ir_kind)lower_info(l, over.type)->kind;
    if (kind == IR_KIND_ITER)
        return lower_convert(l, over, type);
    over = info->iter == IR_ITER_UNROLLED ? over : lower_convert(l, over, info->elems[0]);
    switch ((enum ir_iter)info->iter) {
    case IR_ITER_LOOP:
        if (kind == IR_KIND_RANGE)
            return loop_range_iter(l, over, type);
        return loop_state(l, type, lower_int(l, IR_T_I64, 0), 1, &over);
    case IR_ITER_REVERSED: {
        if (kind != IR_KIND_RANGE) {
            ir_ref one = lower_int(l, IR_T_I64, 1);
            return loop_state(l, type, lower_op2(l, IR_SUB, loop_length(l, over), one), 1, &over);
        }
        ir_ref n = lower_range_length(l, over), last = lower_range_value(l, over, n, true);
        ir_ref alive = lower_icmp(l, IR_ICMP_NE, n, lower_int(l, IR_T_I64, 0));
        return lower_value_new(l, type, 4, (ir_ref[]){last, alive, over.parts[0], over.parts[2]});
    }
    case IR_ITER_UNROLLED:
        if (info->object)
            return (struct lower_value){type, 0, NULL};
        return (struct lower_value){type, over.n, over.parts};
    case IR_ITER_ENUMERATE:
    case IR_ITER_ZIP: break;
    }
    assert(!"enumerate and zip make iterators of iterators");
    return over;
}

struct lower_value
lower_iter(struct lower *l, ir_ref py)
{
    return lower_iter_start(l, lower_get(l, ir_arg(l->from, py, 0)), l->inst->cells[py].type);
}

struct lower_value
lower_iter_zip(struct lower *l, ir_type type, ir_ref start, uint32_t n,
               const struct lower_value *iters)
{
    return loop_state(l, type, start, n, iters);
}

ir_ref
lower_more(struct lower *l, struct lower_value iter)
{
    const struct ir_type_info *info = lower_info(l, iter.type);
    const struct ir_type_info *over = info->n_elems ? lower_info(l, info->elems[0]) : NULL;
    uint32_t at = 0;
    ir_ref more;
    switch ((enum ir_iter)info->iter) {
    case IR_ITER_LOOP:
    case IR_ITER_REVERSED:
        if (over->kind == IR_KIND_RANGE)
            return iter.parts[1];
        if (info->iter == IR_ITER_REVERSED)
            return lower_icmp(l, IR_ICMP_SGE, iter.parts[0], lower_int(l, IR_T_I64, 0));
        return lower_icmp(l, IR_ICMP_SLT, iter.parts[0],
                          loop_length(l, loop_inner(l, iter, info->elems[0], 1)));
    case IR_ITER_UNROLLED: return lower_bool(l, info->position < over->n_elems);
    case IR_ITER_ENUMERATE: return lower_more(l, loop_inner(l, iter, info->elems[0], 1));
    case IR_ITER_ZIP: break;
    }
    more = lower_bool(l, info->n_elems > 0);
    for (uint32_t i = 0; i < info->n_elems; i++) {
        struct lower_value inner = loop_inner(l, iter, info->elems[i], at);
        more = lower_op2(l, IR_AND, more, lower_more(l, inner));
        at += inner.n;
    }
    return more;
}

/* Where the index lies inside what is gone over, `more` having said so. */
static struct lower_value
loop_element(struct lower *l, struct lower_value iter)
{
    struct lower_value over = loop_inner(l, iter, lower_info(l, iter.type)->elems[0], 1);
    const struct ir_type_info *info = lower_info(l, over.type);
    if (info->kind == IR_KIND_ARRAY)
        return lower_first_axis_item(l, over, iter.parts[0]);
    struct lower_value result = lower_elem(l, over, info->n_elems - 1);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, result.n + 1);
    for (uint32_t p = 0; p < result.n; p++)
        parts[p] = result.parts[p];
    for (uint32_t k = info->n_elems - 1; k-- > 0;) {
        struct lower_value elem = lower_elem(l, over, k);
        ir_ref here = lower_icmp(l, IR_ICMP_EQ, iter.parts[0], lower_int(l, IR_T_I64, k));
        for (uint32_t p = 0; p < result.n; p++)
            parts[p] = lower_select(l, here, elem.parts[p], parts[p]);
    }
    return (struct lower_value){result.type, result.n, parts};
}

struct lower_value
lower_iter_value(struct lower *l, struct lower_value iter, ir_type type)
{
    const struct ir_type_info info = *lower_info(l, iter.type);
    if (info.iter == IR_ITER_LOOP || info.iter == IR_ITER_REVERSED) {
        bool range = lower_info(l, info.elems[0])->kind == IR_KIND_RANGE;
        struct lower_value value =
            range ? lower_scalar(l, IR_T_INT, iter.parts[0]) : loop_element(l, iter);
        return lower_convert(l, value, type);
    }
    if (info.iter == IR_ITER_UNROLLED) {
        struct lower_value tuple = info.object ? lower_constant(l, info.object, info.elems[0])
                                               : loop_inner(l, iter, info.elems[0], 0);
        return lower_convert(l, lower_elem(l, tuple, info.position), type);
    }
    bool enumerate = info.iter == IR_ITER_ENUMERATE;
    const struct ir_type_info tuple = *lower_info(l, type);
    struct lower_value *parts = SP_NEW_N(l->core->arena, struct lower_value, tuple.n_elems + 1);
    uint32_t at = enumerate;
    if (enumerate)
        parts[0] = lower_scalar(l, IR_T_INT, iter.parts[0]);
    for (uint32_t i = enumerate; i < tuple.n_elems; i++) {
        struct lower_value inner = loop_inner(l, iter, info.elems[i - enumerate], at);
        parts[i] = lower_iter_value(l, inner, tuple.elems[i]);
        at += inner.n;
    }
    return loop_state(l, type, 0, tuple.n_elems, parts);
}

struct lower_value
lower_iter_next(struct lower *l, struct lower_value iter, ir_type type)
{
    const struct ir_type_info info = *lower_info(l, iter.type), to = *lower_info(l, type);
    bool enumerate = info.iter == IR_ITER_ENUMERATE;
    ir_ref one = lower_int(l, IR_T_I64, 1);
    if (info.iter == IR_ITER_UNROLLED)
        return (struct lower_value){type, iter.n, iter.parts};
    if (info.iter == IR_ITER_LOOP || info.iter == IR_ITER_REVERSED) {
        bool range = lower_info(l, info.elems[0])->kind == IR_KIND_RANGE,
             up = info.iter == IR_ITER_LOOP;
        if (range && up)
            return loop_range_next(l, iter);
        ir_ref cur = iter.parts[0];
        if (range) {
            ir_ref alive = lower_icmp(l, IR_ICMP_NE, cur, iter.parts[2]);
            ir_ref next = lower_op2(l, IR_SUB, cur, iter.parts[3]);
            return lower_value_new(l, type, 4,
                                   (ir_ref[]){next, alive, iter.parts[2], iter.parts[3]});
        }
        ir_ref next = lower_op2(l, up ? IR_ADD : IR_SUB, cur, one);
        struct lower_value over = loop_inner(l, iter, info.elems[0], 1);
        return loop_state(l, type, next, 1, &over);
    }
    struct lower_value *parts = SP_NEW_N(l->core->arena, struct lower_value, info.n_elems + 1);
    uint32_t at = enumerate;
    for (uint32_t i = 0; i < info.n_elems; i++) {
        struct lower_value inner = loop_inner(l, iter, info.elems[i], at);
        parts[i] = lower_iter_next(l, inner, to.elems[i]);
        at += inner.n;
    }
    ir_ref counter = enumerate ? lower_op2(l, IR_ADD, iter.parts[0], one) : 0;
    return loop_state(l, type, counter, info.n_elems, parts);
}

struct lower_value
lower_next(struct lower *l, ir_ref py)
{
    return lower_iter_next(l, lower_get(l, ir_arg(l->from, py, 0)), l->inst->cells[py].type);
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
    const struct ir_type_info *info = lower_info(l, phi.type);
    bool loop = info->iter == IR_ITER_LOOP || info->iter == IR_ITER_REVERSED;
    bool range = loop && lower_info(l, info->elems[0])->kind == IR_KIND_RANGE;
    const struct ir_const_info *first =
        info->iter == IR_ITER_ENUMERATE && info->object ? ir_const_info(l->py, info->object) : NULL;
    if (first && first->i >= 0)
        lower_mark_nonneg(l, phi.parts[0]); /* nobody counts to 2**63 */
    if (info->iter == IR_ITER_LOOP && !range)
        lower_mark_nonneg(l, phi.parts[0]);
    if (!range || info->iter != IR_ITER_LOOP || loop_range(l, phi.type)->step_sign <= 0)
        return;
    const struct ir_insn *insn = ir_insn(l->from, py);
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (!loop_starts_nonneg(l, ir_arg(l->from, py, i), py, 8))
            return;
    lower_mark_nonneg(l, phi.parts[0]);
}
