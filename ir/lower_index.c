/* lower_index: elements and attributes of arrays, elements of tuples.
 *
 * In: ITEM, SETITEM, ATTR with their cells. Out: address arithmetic in 64 bits, loads, stores; for
 * tuples selects among their parts. A negative index counts from
 * the end; the select for that is left out where the index surely is not negative. C and F arrays
 * have no strides: their elements are numbered by Horner's rule, which needs one multiplication
 * fewer per axis than strides made of extents, and leaves the form (i * n + j) that later passes
 * narrow.
 *
 *     x[i, j] of float32[:, ::1]  ->  %k = add (mul i, %n1), j
 *                                     load f32 (ptradd %x, (mul %k, 4)) imm 2
 *     x[-1]                       ->  %k = add -1, %n0
 *     with options.bounds         ->  br (icmp.ult i, %n0), go on, raise
 *                                     raise OUT_OF_BOUNDS i, axis, rank, shape...
 *
 * bool elements are bytes: not 0 is True, and 0 or 1 is stored. */
#include "ir/lower.h"

#include <assert.h>
#include <string.h>

/* ---- Bounds ---- */

/* Ends the thread unless `fits`; code goes on where it does. */
static void
index_check(struct lower *l, ir_ref fits, uint32_t site, ir_ref index, uint32_t axis, uint32_t rank,
            const ir_ref *extents)
{
    ir_ref values[3 + IR_MAX_RANK] = {index, lower_int(l, IR_T_I64, axis),
                                      lower_int(l, IR_T_I64, rank)};
    for (uint32_t k = 0; k < rank; k++)
        values[3 + k] = extents[k];
    lower_raise_unless(l, fits, site, 3 + rank, values);
}

/* An index that may count from the end as one that does not. */
static ir_ref
index_wrap(struct lower *l, ir_ref index, ir_type type, ir_ref extent)
{
    int64_t v;
    if (type == IR_T_UINT64 || lower_is_nonneg(l, index))
        return index;
    ir_ref from_end = lower_op2(l, IR_ADD, index, extent);
    if (lower_int_of(l, index, &v))
        return from_end;
    ir_ref negative = lower_icmp(l, IR_ICMP_SLT, index, lower_int(l, IR_T_I64, 0));
    return lower_select(l, negative, from_end, index);
}

/* An index of an axis as a number of 0 and up. */
static ir_ref
index_in_axis(struct lower *l, uint32_t site, struct lower_view view, uint32_t axis,
              struct lower_value index)
{
    ir_ref extent = view.extents[axis];
    ir_ref given =
        index.type == IR_T_UINT64 ? index.parts[0] : lower_convert(l, index, IR_T_INT).parts[0];
    ir_ref at = index_wrap(l, given, index.type, extent);
    if (l->ctx->options.bounds)
        index_check(l, lower_icmp(l, IR_ICMP_ULT, at, extent), site, given, axis, view.info->rank,
                    view.extents);
    return at;
}

ir_ref
lower_index_one(struct lower *l, ir_ref py, ir_ref array_py, struct lower_view view, uint32_t axis,
                struct lower_value index)
{
    uint32_t site = 0;
    if (l->ctx->options.bounds)
        site = lower_site(l, py, SP_E_OUT_OF_BOUNDS, lower_source_name(l, array_py),
                          3 + view.info->rank);
    return index_in_axis(l, site, view, axis, index);
}

/* ---- Elements of arrays ---- */

ir_ref
lower_address(struct lower *l, ir_ref py, ir_ref array_py, struct lower_value index)
{
    struct lower_view view = lower_view_of(l, lower_get(l, array_py));
    uint32_t rank = view.info->rank;
    bool is_tuple = lower_info(l, index.type)->kind == IR_KIND_TUPLE;
    assert((is_tuple ? lower_info(l, index.type)->n_elems : 1) == rank && "an index per axis");
    uint32_t site = 0;
    if (l->ctx->options.bounds && rank)
        site = lower_site(l, py, SP_E_OUT_OF_BOUNDS, lower_source_name(l, array_py), 3 + rank);
    ir_ref at[IR_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++)
        at[k] = index_in_axis(l, site, view, k, is_tuple ? lower_elem(l, index, k) : index);
    ir_ref offset = lower_int(l, IR_T_I64, 0);
    if (view.strides) {
        for (uint32_t k = 0; k < rank; k++)
            offset = lower_op2(l, IR_ADD, offset, lower_op2(l, IR_MUL, at[k], view.strides[k]));
    } else {
        for (uint32_t k = 0; k < rank; k++) {
            uint32_t axis = view.info->layout == IR_LAYOUT_C ? k : rank - 1 - k;
            offset = lower_op2(l, IR_MUL, offset, view.extents[axis]);
            offset = lower_op2(l, IR_ADD, offset, at[axis]);
        }
        offset = lower_op2(l, IR_MUL, offset, lower_int(l, IR_T_I64, lower_itemsize(l, view.info)));
    }
    return lower_op2(l, IR_PTRADD, view.data, offset);
}

ir_ref
lower_inside(struct lower *l, ir_ref py, const char *name, struct lower_value index, ir_ref length)
{
    ir_ref given =
        index.type == IR_T_UINT64 ? index.parts[0] : lower_convert(l, index, IR_T_INT).parts[0];
    ir_ref at = index_wrap(l, given, index.type, length);
    if (l->ctx->options.bounds)
        index_check(l, lower_icmp(l, IR_ICMP_ULT, at, length),
                    lower_site(l, py, SP_E_OUT_OF_BOUNDS, name, 4), given, 0, 1, &length);
    return at;
}

/* ---- Elements of tuples ---- */

/* A run-time index: a chain of selects that ends with the last element, which therefore also
 * answers an index outside the tuple where bounds are not checked. */
static struct lower_value
index_tuple(struct lower *l, ir_ref py, struct lower_value tuple, ir_ref index_py)
{
    ir_type type = l->inst->cells[py].type;
    uint32_t n = lower_info(l, tuple.type)->n_elems;
    const char *name = lower_source_name(l, ir_operand(l->inst, py, 0));
    ir_ref at = lower_inside(l, py, *name ? name : "tuple", lower_get(l, index_py),
                             lower_int(l, IR_T_I64, n));
    struct lower_value result = lower_convert(l, lower_elem(l, tuple, n - 1), type);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, result.n);
    for (uint32_t p = 0; p < result.n; p++)
        parts[p] = result.parts[p];
    for (uint32_t k = n - 1; k-- > 0;) {
        struct lower_value elem = lower_convert(l, lower_elem(l, tuple, k), type);
        ir_ref here = lower_icmp(l, IR_ICMP_EQ, at, lower_int(l, IR_T_I64, k));
        for (uint32_t p = 0; p < result.n; p++)
            parts[p] = lower_select(l, here, elem.parts[p], parts[p]);
    }
    return (struct lower_value){type, result.n, parts};
}

struct lower_value
lower_item(struct lower *l, ir_ref py)
{
    const ir_ref *args = ir_operands(l->inst, py);
    ir_type type = l->inst->cells[args[0]].type;
    const struct ir_type_info *info = lower_info(l, type);
    struct ir_cell index = l->inst->cells[args[1]];
    if (info->kind == IR_KIND_ARRAY) {
        if (lower_info(l, index.type)->kind == IR_KIND_OBJECT &&
            ir_const_info(l->py, index.constant)->kind == IR_C_STR)
            return lower_field(l, lower_get(l, args[0]), index.constant);
        struct lower_value at = lower_get(l, args[1]);
        struct ir_index_plan plan;
        ir_index_plan(l->py, type, at.type, &plan);
        if (!plan.is_element)
            return lower_view(l, py, args[0], at);
        return lower_load(l, lower_address(l, py, args[0], at), type);
    }
    struct lower_value tuple = lower_get(l, args[0]);
    if (info->kind == IR_KIND_RANGE) {
        const char *name = lower_source_name(l, args[0]);
        ir_ref at = lower_inside(l, py, *name ? name : "range", lower_get(l, args[1]),
                                 lower_range_length(l, tuple));
        return lower_scalar(l, IR_T_INT, lower_range_value(l, tuple, at, false));
    }
    assert(info->kind == IR_KIND_TUPLE && "arrays, ranges and tuples have elements");
    if (lower_info(l, index.type)->kind == IR_KIND_SLICE)
        return lower_tuple_slice(l, tuple, index.constant, l->inst->cells[py].type);
    if (!index.constant)
        return index_tuple(l, py, tuple, args[1]);
    int64_t k = ir_const_info(l->py, index.constant)->i;
    k = k < 0 ? k + info->n_elems : k;
    return lower_convert(l, lower_elem(l, tuple, (uint32_t)k), l->inst->cells[py].type);
}

/* ---- Attributes ---- */

static ir_ref
index_size(struct lower *l, struct lower_view view)
{
    ir_ref size = lower_int(l, IR_T_I64, 1);
    for (uint32_t k = 0; k < view.info->rank; k++)
        size = lower_op2(l, IR_MUL, size, view.extents[k]);
    lower_mark_nonneg(l, size); /* counts elements in memory */
    return size;
}

struct lower_value
lower_attr(struct lower *l, ir_ref py)
{
    ir_type type = l->inst->cells[py].type;
    const char *name = ir_const_info(l->py, ir_insn(l->from, py)->imm)->str;
    struct lower_value value = lower_get(l, ir_arg(l->from, py, 0));
    const struct ir_type_info *info = lower_info(l, value.type);
    if (info->kind == IR_KIND_OBJECT) {
        const struct ir_const_info *object = ir_const_info(l->py, info->object);
        assert(object->kind == IR_C_NAMESPACE && "other objects' attributes are constants");
        const char *path = sp_arena_printf(l->core->arena, "%s.%s", object->str, name);
        return lower_scalar(l, type, lower_sreg(l, ir_intrin_by_path(path)));
    }
    if (lower_is_field(l, value.type, name))
        return lower_field(l, value, ir_insn(l->from, py)->imm);
    int field = ir_type_field(l->py, value.type, name);
    if (field >= 0)
        return lower_elem(l, value, (uint32_t)field);
    if (info->kind == IR_KIND_SLICE || info->kind == IR_KIND_RANGE)
        return lower_scalar(l, type,
                            value.parts[strcmp(name, "start") == 0  ? 0
                                        : strcmp(name, "stop") == 0 ? 1
                                                                    : 2]);
    struct lower_view view = lower_view_of(l, value);
    if (strcmp(name, "T") == 0)
        return lower_transpose(l, value, type);
    if (strcmp(name, "shape") == 0)
        return lower_value_new(l, type, view.info->rank, view.extents);
    if (strcmp(name, "strides") == 0) {
        ir_ref strides[IR_MAX_RANK];
        lower_strides(l, value, strides);
        return lower_value_new(l, type, view.info->rank, strides);
    }
    ir_ref size = index_size(l, view);
    if (strcmp(name, "nbytes") == 0) {
        size = lower_op2(l, IR_MUL, size, lower_int(l, IR_T_I64, lower_itemsize(l, view.info)));
        lower_mark_nonneg(l, size);
    } else {
        assert(strcmp(name, "size") == 0 && "ndim, itemsize and dtype are constants");
    }
    return lower_scalar(l, type, size);
}
