/* lower_view: slices, and arrays that are parts of arrays.
 *
 * In: SLICE instructions, and ITEM of an array where the index does not name one element. Out: a
 * slice is three integers; a view is the parts of its array type (lower.h), made by arithmetic on
 * the parts of the array that it is of. Nothing is read or copied.
 *
 * A bound that is None becomes a number as soon as the step is known: the first or the one behind
 * the last element of the direction, which clamping makes exact, whatever the array. Then for an
 * axis of extent n, with low = -1 and high = n - 1 for a negative step and low = 0, high = n else,
 * each bound is
 *
 *     x < 0 ? max(x + n, low) : min(x, high)
 *
 * and the extent is that of range(start, stop, step): what Python's slice.indices says. x + n never
 * overflows, for x is negative and n is not. A step of 0 known only at run time gives an empty
 * view, or raises where indices are checked.
 *
 *     a[i] of float32[:, ::1]  ->  %p = ptradd %a, (mul i, (mul 4, %n1))     extent %n1
 *     a[:k]                    ->  %c = select (slt k, 0), (max (add k, %n), 0), (min k, %n)
 *     a[::-1]                  ->  %p = ptradd %a, (mul (add %n, -1), 4)     stride -4
 *
 * Strides of extents and constants fold away as far as the type and the values say; a view whose
 * type is C or F has none. */
#include "ir/lower.h"

#include <assert.h>

/* Extents that the type knows are constants wherever the array comes from. */
static const ir_ref *
view_extents(struct lower *l, const struct ir_type_info *info, struct lower_value array)
{
    if (!info->object)
        return array.parts + 1;
    const ir_const *known = ir_const_info(l->py, info->object)->elems;
    ir_ref *extents = SP_NEW_N(l->core->arena, ir_ref, info->rank);
    for (uint32_t k = 0; k < info->rank; k++)
        extents[k] = lower_int(l, IR_T_I64, ir_const_info(l->py, known[k])->i);
    return extents;
}

struct lower_view
lower_view_of(struct lower *l, struct lower_value array)
{
    const struct ir_type_info *info = lower_info(l, array.type);
    assert(info->kind == IR_KIND_ARRAY && "an array");
    return (struct lower_view){
        .info = info,
        .data = array.parts[0],
        .extents = view_extents(l, info, array),
        .strides = info->layout == IR_LAYOUT_ANY ? array.parts + 1 + info->rank : NULL};
}

void
lower_strides(struct lower *l, struct lower_value array, ir_ref *strides_out)
{
    struct lower_view view = lower_view_of(l, array);
    uint32_t rank = view.info->rank;
    ir_ref stride = lower_int(l, IR_T_I64, lower_itemsize(l, view.info));
    for (uint32_t k = 0; k < rank; k++) {
        uint32_t axis = view.info->layout == IR_LAYOUT_C ? rank - 1 - k : k;
        strides_out[axis] = view.strides ? view.strides[axis] : stride;
        if (k + 1 < rank)
            stride = lower_op2(l, IR_MUL, stride, view.extents[axis]);
    }
}

/* The array of this type with these parts. */
static struct lower_value
view_new(struct lower *l, ir_type type, ir_ref data, const ir_ref *extents, const ir_ref *strides)
{
    const struct ir_type_info *info = lower_info(l, type);
    ir_ref parts[1 + 2 * IR_MAX_RANK];
    uint32_t n = 0;
    parts[n++] = data;
    for (uint32_t k = 0; k < info->rank; k++) {
        lower_mark_nonneg(l, extents[k]);
        parts[n++] = extents[k];
    }
    for (uint32_t k = 0; info->layout == IR_LAYOUT_ANY && k < info->rank; k++)
        parts[n++] = strides[k];
    return lower_value_new(l, type, n, parts);
}

/* ---- Slices ---- */

/* A bound or step as i64: what does not fit is larger than any extent. */
static ir_ref
view_bound(struct lower *l, struct lower_value value)
{
    if (value.type != IR_T_UINT64)
        return lower_convert(l, value, IR_T_INT).parts[0];
    ir_ref most = lower_int(l, IR_T_I64, INT64_MAX);
    ir_ref huge = lower_icmp(l, IR_ICMP_SLT, value.parts[0], lower_int(l, IR_T_I64, 0));
    return lower_select(l, huge, most, value.parts[0]);
}

struct lower_value
lower_slice_of(struct lower *l, ir_type type, const struct lower_value *given)
{
    bool none[3];
    for (uint32_t i = 0; i < 3; i++)
        none[i] = lower_info(l, given[i].type)->kind == IR_KIND_OBJECT;
    ir_ref step = none[2] ? lower_int(l, IR_T_I64, 1) : view_bound(l, given[2]);
    ir_ref down = lower_icmp(l, IR_ICMP_SLT, step, lower_int(l, IR_T_I64, 0));
    ir_ref most = lower_int(l, IR_T_I64, INT64_MAX);
    ir_ref start =
        none[0] ? lower_select(l, down, most, lower_int(l, IR_T_I64, 0)) : view_bound(l, given[0]);
    ir_ref stop = none[1] ? lower_select(l, down, lower_int(l, IR_T_I64, INT64_MIN), most)
                          : view_bound(l, given[1]);
    return lower_value_new(l, type, 3, (ir_ref[]){start, stop, step});
}

struct lower_value
lower_slice(struct lower *l, ir_ref py)
{
    struct lower_value given[3];
    for (uint32_t i = 0; i < 3; i++)
        given[i] = lower_get(l, ir_arg(l->from, py, i));
    return lower_slice_of(l, l->inst->cells[py].type, given);
}

struct lower_value
lower_slice_call(struct lower *l, ir_ref py)
{
    uint32_t n = lower_n_args(l, py);
    ir_const none = ir_const_simple(l->py, IR_C_NONE, 0);
    struct lower_value given[3];
    for (uint32_t i = 0; i < 3; i++)
        given[i] = (struct lower_value){ir_type_object(l->py, none), 0, NULL};
    for (uint32_t i = 0; i < n; i++)
        given[n == 1 ? 1 : i] = lower_get(l, lower_arg(l, py, i));
    return lower_slice_of(l, l->inst->cells[py].type, given);
}

/* `sign` is 0 for a step forwards and -1 for one backwards. */
static ir_ref
view_clamp(struct lower *l, ir_ref x, ir_ref extent, ir_ref sign)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0), high = lower_op2(l, IR_ADD, extent, sign);
    int64_t known, back = 1;
    bool is_known = lower_int_of(l, x, &known);
    if (is_known && known == INT64_MAX)
        return high;
    if (is_known && known == INT64_MIN)
        return sign;
    if (is_known && known == 0 && lower_int_of(l, sign, &back) && back == 0)
        return zero;
    ir_ref below = lower_select(l, lower_icmp(l, IR_ICMP_SGT, x, high), high, x);
    if (lower_is_nonneg(l, x))
        return below;
    ir_ref from_end = lower_op2(l, IR_ADD, x, extent);
    from_end = lower_select(l, lower_icmp(l, IR_ICMP_SLT, from_end, sign), sign, from_end);
    return lower_select(l, lower_icmp(l, IR_ICMP_SLT, x, zero), from_end, below);
}

/* The run of a slice over an axis. */
struct view_run {
    ir_ref start, count, step;
};

/* len(range(start, stop, step)) of clamped bounds. */
static ir_ref
view_count(struct lower *l, ir_ref start, ir_ref stop, ir_ref step, ir_ref extent)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    int64_t by = 0, from;
    bool known = lower_int_of(l, step, &by);
    bool from_0 = lower_int_of(l, start, &from) && from == 0;
    if (known && by == 1 && (from_0 || stop == extent))
        return lower_op2(l, IR_SUB, stop, start);
    ir_ref down = lower_icmp(l, IR_ICMP_SLT, step, zero);
    ir_ref span =
        lower_select(l, down, lower_op2(l, IR_SUB, start, stop), lower_op2(l, IR_SUB, stop, start));
    ir_ref some = lower_icmp(l, IR_ICMP_SGT, span, zero);
    if (known && (by == 1 || by == -1))
        return lower_select(l, some, span, zero);
    ir_ref stands = lower_icmp(l, IR_ICMP_EQ, step, zero);
    ir_ref size = lower_select(l, down, lower_op2(l, IR_SUB, zero, step), step);
    size = lower_select(l, stands, one, size);
    ir_ref count = lower_op2(l, IR_UDIV, lower_op2(l, IR_SUB, span, one), size);
    count = lower_op2(l, IR_ADD, count, one);
    return lower_select(l, lower_op2(l, IR_AND, some, lower_not(l, stands)), count, zero);
}

static struct view_run
view_run(struct lower *l, ir_ref py, struct lower_value slice, ir_ref extent)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0);
    struct view_run run = {.step = slice.parts[2]};
    int64_t by;
    if (lower_info(l, slice.type)->step_sign == 1) {
        run.step = lower_int(l, IR_T_I64, 1);
    } else if (l->ctx->options.bounds && !lower_int_of(l, run.step, &by)) {
        lower_raise_unless(l, lower_icmp(l, IR_ICMP_NE, run.step, zero),
                           lower_site(l, py, SP_E_ZERO_STEP, "", 0), 0, NULL);
    }
    ir_ref sign = lower_int_of(l, run.step, &by)
                      ? lower_int(l, IR_T_I64, by < 0 ? -1 : 0)
                      : lower_op2(l, IR_ASHR, run.step, lower_int(l, IR_T_I64, 63));
    run.start = view_clamp(l, slice.parts[0], extent, sign);
    ir_ref stop = view_clamp(l, slice.parts[1], extent, sign);
    run.count = view_count(l, run.start, stop, run.step, extent);
    return run;
}

/* ---- Views ---- */

struct lower_value
lower_view(struct lower *l, ir_ref py, ir_ref array_py, struct lower_value index)
{
    struct lower_value array = lower_get(l, array_py);
    struct ir_index_plan plan;
    enum ir_index_fault fault = ir_index_plan(l->py, array.type, index.type, &plan);
    assert(fault == IR_INDEX_OK && !plan.is_element && "inference has made the same view");
    (void)fault;
    struct lower_view view = lower_view_of(l, array);
    bool is_tuple = lower_info(l, index.type)->kind == IR_KIND_TUPLE;
    ir_ref old[IR_MAX_RANK], extents[IR_MAX_RANK], strides[IR_MAX_RANK];
    lower_strides(l, array, old);
    ir_ref data = view.data, zero = lower_int(l, IR_T_I64, 0);
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan.n; i++) {
        const struct ir_index_item *item = &plan.items[i];
        ir_ref extent = view.extents[item->axis], stride = old[item->axis];
        struct lower_value one;
        if (item->kind == IR_INDEX_ONE || item->kind == IR_INDEX_RUN ||
            item->kind == IR_INDEX_SLICE)
            one = is_tuple ? lower_elem(l, index, item->elem) : index;
        switch ((enum ir_index_kind)item->kind) {
        case IR_INDEX_ONE: {
            ir_ref at = lower_index_one(l, py, array_py, view, item->axis, one);
            data = lower_op2(l, IR_PTRADD, data, lower_op2(l, IR_MUL, at, stride));
            break;
        }
        case IR_INDEX_RUN:
        case IR_INDEX_SLICE: {
            struct view_run run = view_run(l, py, one, extent);
            data = lower_op2(l, IR_PTRADD, data, lower_op2(l, IR_MUL, run.start, stride));
            extents[n] = run.count;
            strides[n++] = lower_op2(l, IR_MUL, stride, run.step);
            break;
        }
        case IR_INDEX_WHOLE:
            extents[n] = extent;
            strides[n++] = stride;
            break;
        case IR_INDEX_NEW:
            extents[n] = lower_int(l, IR_T_I64, 1);
            strides[n++] = zero;
            break;
        }
    }
    return view_new(l, plan.result, data, extents, strides);
}

struct lower_value
lower_first_axis_item(struct lower *l, struct lower_value array, ir_ref number)
{
    ir_type type = ir_type_first_axis_item(l->py, array.type);
    struct lower_view view = lower_view_of(l, array);
    ir_ref strides[IR_MAX_RANK];
    lower_strides(l, array, strides);
    ir_ref data = lower_op2(l, IR_PTRADD, view.data, lower_op2(l, IR_MUL, number, strides[0]));
    if (ir_type_info(l->py, type)->kind != IR_KIND_ARRAY)
        return lower_load(l, data, array.type);
    return view_new(l, type, data, view.extents + 1, strides + 1);
}

struct lower_value
lower_transpose(struct lower *l, struct lower_value array, ir_type type)
{
    struct lower_view view = lower_view_of(l, array);
    uint32_t rank = view.info->rank;
    ir_ref old[IR_MAX_RANK], extents[IR_MAX_RANK], strides[IR_MAX_RANK];
    lower_strides(l, array, old);
    for (uint32_t k = 0; k < rank; k++) {
        extents[k] = view.extents[rank - 1 - k];
        strides[k] = old[rank - 1 - k];
    }
    return view_new(l, type, view.data, extents, strides);
}
