/* index_plan: what an index does to an array, axis by axis.
 *
 * In: the types of an array and of what stands between the brackets. Out: a list of items in the
 * order of the index, with `...` and the axes behind the last index written out as whole axes; and
 * the type of the result, an element or a view. Inference and lowering read the same list, so they
 * cannot differ.
 *
 * NumPy's rule: integers alone, one per axis, give the element; everything else gives a view, also
 * one without axes. The layout of a view is what its strides surely are:
 *
 *     array C     i..., then one slice with step 1 or a whole axis, then whole axes   ->  C
 *     array F     whole axes, then one slice with step 1 or a whole axis, then i...   ->  F
 *     one axis    F is C; no axis is C; a new axis has stride 0, as in NumPy          ->  ANY */
#include "ir/infer.h"

#include <string.h>

bool
ir_slice_is_whole(const struct ir_module *module, ir_type slice)
{
    const struct ir_type_info *info = ir_type_info(module, slice);
    return info->step_sign == 1 && ir_type_info(module, info->elems[0])->kind == IR_KIND_OBJECT &&
           ir_type_info(module, info->elems[1])->kind == IR_KIND_OBJECT;
}

/* The kind of one index; false: it is none. `is_rest`: it is `...`. */
static bool
plan_kind(const struct ir_module *module, ir_type type, uint8_t *kind_out, bool *is_rest_out)
{
    const struct ir_type_info *info = ir_type_info(module, type);
    *is_rest_out = false;
    if (info->kind == IR_KIND_SLICE) {
        *kind_out = ir_slice_is_whole(module, type) ? IR_INDEX_WHOLE
                    : info->step_sign == 1          ? IR_INDEX_RUN
                                                    : IR_INDEX_SLICE;
        return true;
    }
    if (info->kind == IR_KIND_OBJECT) {
        const struct ir_const_info *object = ir_const_info(module, info->object);
        *is_rest_out = object->kind == IR_C_ELLIPSIS;
        *kind_out = IR_INDEX_NEW;
        return *is_rest_out || object->kind == IR_C_NONE;
    }
    *kind_out = IR_INDEX_ONE;
    return ir_type_is_scalar(type) && ir_is_integer(type) && type != IR_T_BOOL;
}

static enum ir_layout
plan_layout(const struct ir_index_plan *plan, const struct ir_type_info *array, uint32_t rank)
{
    if (rank == 0)
        return IR_LAYOUT_C;
    if (array->layout == IR_LAYOUT_ANY)
        return IR_LAYOUT_ANY;
    bool is_c = array->layout == IR_LAYOUT_C;
    bool kept = false; /* an axis of the result lies outside this one */
    for (uint32_t i = 0; i < plan->n; i++) {
        switch ((enum ir_index_kind)plan->items[is_c ? i : plan->n - 1 - i].kind) {
        case IR_INDEX_ONE:
            if (kept)
                return IR_LAYOUT_ANY;
            break;
        case IR_INDEX_RUN:
            if (kept)
                return IR_LAYOUT_ANY;
            kept = true;
            break;
        case IR_INDEX_WHOLE: kept = true; break;
        case IR_INDEX_SLICE:
        case IR_INDEX_NEW: return IR_LAYOUT_ANY;
        }
    }
    return rank == 1 ? IR_LAYOUT_C : (enum ir_layout)array->layout;
}

/* The view's extents where those of the array are known: all but the ones of slices. */
static ir_const
plan_extents(struct ir_module *module, const struct ir_index_plan *plan, ir_const of)
{
    ir_const extents[2 * IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; of && i < plan->n; i++) {
        uint8_t kind = plan->items[i].kind;
        if (kind == IR_INDEX_RUN || kind == IR_INDEX_SLICE)
            return 0;
        if (kind == IR_INDEX_NEW)
            extents[rank++] = ir_const_int(module, 1);
        else if (kind == IR_INDEX_WHOLE)
            extents[rank++] = ir_const_info(module, of)->elems[plan->items[i].axis];
    }
    return of ? ir_const_tuple(module, rank, extents) : 0;
}

static ir_type
plan_result(struct ir_module *module, const struct ir_index_plan *plan, ir_type array)
{
    struct ir_type_info info = *ir_type_info(module, array);
    if (plan->is_element)
        return ir_element_type(info.dtype);
    uint32_t rank = 0, whole = 0;
    for (uint32_t i = 0; i < plan->n; i++) {
        rank += plan->items[i].kind != IR_INDEX_ONE;
        whole += plan->items[i].kind == IR_INDEX_WHOLE;
    }
    if (whole == plan->n)
        return array;
    info.layout = (uint8_t)plan_layout(plan, &info, rank);
    info.object = plan_extents(module, plan, info.object);
    info.rank = (uint8_t)rank;
    uint8_t natural = (uint8_t)ir_storable_align(module, info.dtype);
    if (info.align_log2 > natural)
        info.align_log2 = natural;
    return ir_type_intern(module, &info);
}

enum ir_index_fault
ir_index_plan(struct ir_module *module, ir_type array, ir_type index, struct ir_index_plan *out)
{
    struct ir_type_info at = *ir_type_info(module, index);
    uint32_t rank = ir_type_info(module, array)->rank;
    uint32_t n = at.kind == IR_KIND_TUPLE ? at.n_elems : 1;
    const ir_type *types = at.kind == IR_KIND_TUPLE ? at.elems : &index;
    uint32_t n_rest = 0, n_new = 0, n_one = 0;
    uint8_t kind;
    bool is_rest;
    *out = (struct ir_index_plan){0};
    for (uint32_t i = 0; i < n; i++) {
        if (!plan_kind(module, types[i], &kind, &is_rest)) {
            out->culprit = types[i];
            return IR_INDEX_BAD_TYPE;
        }
        n_rest += is_rest;
        n_new += !is_rest && kind == IR_INDEX_NEW;
        n_one += kind == IR_INDEX_ONE;
    }
    uint32_t n_axes = out->n_axes = n - n_rest - n_new;
    if (n_rest > 1)
        return IR_INDEX_TWO_RESTS;
    if (n_axes > rank)
        return IR_INDEX_TOO_MANY;
    if (rank + n_new - n_one > IR_MAX_RANK)
        return IR_INDEX_TOO_DEEP;
    uint32_t axis = 0;
    for (uint32_t i = 0; i <= n; i++) {
        bool last = i == n;
        if (!last)
            plan_kind(module, types[i], &kind, &is_rest);
        uint32_t rest = last ? rank - axis : is_rest ? rank - n_axes : 0;
        for (uint32_t k = 0; k < rest; k++)
            out->items[out->n++] =
                (struct ir_index_item){.kind = IR_INDEX_WHOLE, .axis = (uint8_t)axis++};
        if (last || is_rest)
            continue;
        out->items[out->n++] =
            (struct ir_index_item){.kind = kind, .elem = (uint8_t)i, .axis = (uint8_t)axis};
        axis += kind != IR_INDEX_NEW;
    }
    out->is_element =
        n_one == n && n == rank && !ir_is_reference(module, ir_type_info(module, array)->dtype);
    out->result = plan_result(module, out, array);
    return IR_INDEX_OK;
}

ir_type
ir_type_first_axis_item(struct ir_module *module, ir_type array)
{
    struct ir_index_plan plan;
    if (ir_type_info(module, array)->rank == 0 ||
        ir_index_plan(module, array, IR_T_INT, &plan) != IR_INDEX_OK)
        return IR_T_NONE;
    return plan.result;
}
