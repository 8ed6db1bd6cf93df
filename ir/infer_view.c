/* infer_view: typing of slices, of indexed arrays, and of assignment to elements and views.
 *
 * In: SLICE, ITEM and SETITEM whose container is an array, and operators that work in place. What
 * an index does is index_plan.c's to say; this file turns its faults into messages. A slice with
 * three constants is a constant itself, so `a[1:-1]` is the same on every Python version, whether
 * it came as one constant or as three. */
#include "ir/infer_t.h"

#include <string.h>

/* ---- Slices ---- */

/* The type of a slice of these three; IR_T_NONE: they are no bounds. `bad_out`: the first that is
 * none. */
static ir_type
view_slice_type(struct infer *in, const struct ir_cell *cells, uint32_t *bad_out)
{
    ir_type elems[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct ir_const_info *object = infer_object(in, cells[i].type);
        bool is_int = ir_type_is_scalar(cells[i].type) && ir_is_integer(cells[i].type);
        *bad_out = i;
        if (!is_int && !(object && object->kind == IR_C_NONE))
            return IR_T_NONE;
        elems[i] = is_int ? (ir_type)IR_T_INT : cells[i].type;
    }
    bool unit = elems[2] != IR_T_INT;
    if (cells[2].constant && !unit) {
        int64_t step = ir_const_info(in->module, cells[2].constant)->i;
        if (step == 0)
            return IR_T_NONE;
        unit = step == 1;
    }
    return ir_type_intern(
        in->module, &(struct ir_type_info){
                        .kind = IR_KIND_SLICE, .step_sign = unit, .n_elems = 3, .elems = elems});
}

static bool
view_bad_slice(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type culprit)
{
    if (ir_type_is_scalar(culprit) && ir_is_integer(culprit))
        return INFER_FAIL(in, instance, ref, SLICE_STEP, "") ||
               INFER_HINT(in, "a step is positive, or negative to go backwards");
    INFER_FAIL(in, instance, ref, SLICE_BOUND, infer_text(in, culprit));
    return ir_type_is_scalar(culprit) ? INFER_HINT(in, "write int(...) around it, or // for /")
                                      : INFER_HINT(in, "a slice is start:stop:step of integers");
}

/* The slice's type, or IR_T_NONE with the type that is no bound. */
static ir_type
view_constant_slice(struct infer *in, ir_const constant, ir_type *culprit_out)
{
    const ir_const *elems = ir_const_info(in->module, constant)->elems;
    struct ir_cell cells[3];
    uint32_t bad;
    for (uint32_t i = 0; i < 3; i++)
        cells[i] = infer_constant(in, elems[i]);
    ir_type type = view_slice_type(in, cells, &bad);
    *culprit_out = cells[bad].type;
    return type;
}

struct ir_cell
infer_constant_slice(struct infer *in, ir_const constant)
{
    ir_type culprit, type = view_constant_slice(in, constant, &culprit);
    return (struct ir_cell){type ? type : ir_type_object(in->module, constant), constant};
}

bool
infer_check_constant_slice(struct infer *in, struct ir_instance *instance, ir_ref ref,
                           ir_const constant)
{
    ir_type culprit;
    return view_constant_slice(in, constant, &culprit) != IR_T_NONE ||
           view_bad_slice(in, instance, ref, culprit);
}

bool
infer_slice(struct infer *in, struct ir_instance *instance, ir_ref ref, const struct ir_cell *cells,
            struct ir_cell *out)
{
    uint32_t bad;
    ir_const constants[3];
    for (uint32_t i = 0; i < 3; i++) {
        if (!infer_known(cells[i].type))
            return true;
        constants[i] = cells[i].constant;
    }
    ir_type type = view_slice_type(in, cells, &bad);
    if (type == IR_T_NONE)
        return view_bad_slice(in, instance, ref, cells[bad].type);
    out->type = type;
    out->constant = 0;
    if (constants[0] && constants[1] && constants[2])
        out->constant = ir_const_intern(
            in->module, &(struct ir_const_info){.kind = IR_C_SLICE, .len = 3, .elems = constants});
    return true;
}

bool
infer_rule_slice(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell cells[3];
    for (uint32_t i = 0; i < 3; i++)
        cells[i] = infer_operand(instance, ref, i);
    return infer_slice(in, instance, ref, cells, out);
}

bool
infer_rule_slice_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                      struct ir_cell slice, const char *name, struct ir_cell *out)
{
    static const char *const names[] = {"start", "stop", "step"};
    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        ir_type type = ir_type_info(in->module, slice.type)->elems[i];
        if (type == IR_T_CONFLICT)
            return INFER_FAIL(in, instance, ref, CANNOT_MEET,
                              sp_arena_printf(in->ctx->arena, "'%s'", name), "None", "int");
        if (slice.constant)
            *out = infer_constant(in, ir_const_info(in->module, slice.constant)->elems[i]);
        else if (type == IR_T_INT)
            *out = infer_typed(IR_T_INT);
        else
            *out = (struct ir_cell){type, ir_type_info(in->module, type)->object};
        return true;
    }
    INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, "a slice", name);
    return INFER_HINT(in, "a slice in a kernel has start, stop and step");
}

bool
infer_hint_axes(struct infer *in, const char *path)
{
    ir_const x;
    if (!ir_path_const(in->module, sp_arena_printf(in->ctx->arena, "%s.x", path), &x))
        return INFER_HINT(in, "write %s.name for what is in it", path);
    return INFER_HINT(in, "write %s.x, %s.y or %s.z", path, path, path);
}

/* ---- Indices ---- */

static bool
view_bad_type(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type culprit)
{
    const struct ir_const_info *object = infer_object(in, culprit);
    INFER_FAIL(in, instance, ref, INDEX_TYPE, infer_text(in, culprit));
    if (culprit == IR_T_BOOL)
        return INFER_HINT(in, "NumPy takes a bool as a mask: test it with if, or write int(...)");
    if (ir_type_is_scalar(culprit))
        return INFER_HINT(in, "write int(...) around it, or // for /");
    switch ((enum ir_kind)ir_type_info(in->module, culprit)->kind) {
    case IR_KIND_ARRAY:
        return INFER_HINT(in, ir_type_info(in->module, culprit)->dtype == IR_T_BOOL
                                  ? "a kernel has no masks: go over the elements and test each"
                                  : "a kernel picks one element at a time: x[index[i]]");
    case IR_KIND_TUPLE:
        return INFER_HINT(in, "indices of several axes stand side by side: x[i, j]");
    case IR_KIND_RANGE: return INFER_HINT(in, "write a slice: x[start:stop]");
    default: break;
    }
    if (object && object->kind == IR_C_NAMESPACE)
        return infer_hint_axes(in, object->str);
    return INFER_HINT(in, "an index is an integer, a slice, ... or None");
}

bool
infer_index_plan(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                 ir_type index, struct ir_index_plan *plan_out)
{
    uint32_t rank = ir_type_info(in->module, array)->rank;
    switch (ir_index_plan(in->module, array, index, plan_out)) {
    case IR_INDEX_OK: return true;
    case IR_INDEX_BAD_TYPE: return view_bad_type(in, instance, ref, plan_out->culprit);
    case IR_INDEX_TWO_RESTS:
        INFER_FAIL(in, instance, ref, INDEX_RESTS, "");
        return INFER_HINT(in,
                          "one ... stands for all axes that are not named; write : for one axis");
    case IR_INDEX_TOO_MANY:
        INFER_FAIL(in, instance, ref, RANK_MISMATCH, (int)rank, (int)plan_out->n_axes);
        return rank == 0   ? INFER_HINT(in, "its one element is x[()]")
               : rank == 1 ? INFER_HINT(in, "it has one axis: write a[i]")
                           : INFER_HINT(in, "give at most %d indices, one per axis", (int)rank);
    case IR_INDEX_TOO_DEEP: break;
    }
    return INFER_FAIL(in, instance, ref, VIEW_RANK, IR_MAX_RANK);
}

bool
infer_check_index(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                  ir_type index)
{
    struct ir_index_plan plan;
    if (!infer_index_plan(in, instance, ref, array, index, &plan))
        return false;
    if (plan.is_element)
        return true;
    if (plan.n_axes == ir_type_info(in->module, array)->rank) {
        INFER_FAIL(in, instance, ref, INDEX_TYPE, infer_text(in, index));
        return INFER_HINT(in, "one element is meant here: give an integer for each axis");
    }
    INFER_FAIL(in, instance, ref, RANK_MISMATCH, (int)ir_type_info(in->module, array)->rank,
               (int)plan.n_axes);
    return INFER_HINT(in, "one element is meant here: give an integer for each axis");
}

/* ---- Assignment ---- */

bool
infer_fail_read_only(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array)
{
    INFER_FAIL(in, instance, ref, READ_ONLY, infer_text(in, array));
    return ir_type_info(in->module, array)->space == IR_SPACE_CONST
               ? INFER_HINT(in, "it is constant data: arrays that a kernel changes are passed as "
                                "arguments, or made by gpu.shared.array and gpu.local.array")
               : false;
}

/* Whether `value` may be stored in what the index names, an array of this dtype and rank. */
bool
infer_check_stored(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type value,
                   ir_type dtype, uint32_t rank)
{
    struct ir_type_info info = *ir_type_info(in->module, value);
    if (!ir_type_is_scalar(dtype))
        return infer_check_stored_record(in, instance, ref, value, dtype, rank);
    if (ir_type_is_scalar(value))
        return true;
    if (info.kind == IR_KIND_ARRAY && info.rank <= rank && ir_type_is_scalar(info.dtype))
        return true;
    if (info.kind == IR_KIND_ARRAY && rank > 0) {
        INFER_FAIL(in, instance, ref, STORE_RANK, infer_text(in, value), (int)rank);
        return INFER_HINT(in, "take a part with as many axes, as in b[0]");
    }
    INFER_FAIL(in, instance, ref, CANNOT_STORE, infer_text(in, value), ir_scalar_row(dtype)->name);
    const struct ir_const_info *object = infer_object(in, value);
    if (object && object->kind == IR_C_NONE)
        return INFER_HINT(in, "store a number; a function without a return gives None");
    if (object && object->kind == IR_C_STR)
        return INFER_HINT(in, "a kernel computes with numbers: make texts on the host");
    if (object && object->kind == IR_C_FUNC)
        return INFER_HINT(in, "store what it returns: call it");
    if (ir_type_info(in->module, value)->kind == IR_KIND_ARRAY && rank == 0)
        return INFER_HINT(in, "store an element: give one index per axis");
    return rank == 0 ? INFER_HINT(in, "store a number: an element, a part of the tuple")
                     : INFER_HINT(in, "store a number, or an array of the same shape");
}

bool
infer_store_item(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                 ir_type index, ir_type value)
{
    struct ir_index_plan plan;
    if (!infer_index_plan(in, instance, ref, array, index, &plan))
        return false;
    struct ir_type_info info = *ir_type_info(in->module, array);
    if (info.read_only)
        return infer_fail_read_only(in, instance, ref, array);
    uint32_t rank = plan.is_element ? 0 : ir_type_info(in->module, plan.result)->rank;
    return infer_check_stored(in, instance, ref, value, info.dtype, rank);
}

bool
infer_rule_inplace(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                   ir_type value, struct ir_cell *out)
{
    struct ir_type_info info = *ir_type_info(in->module, array);
    struct ir_type_info with = *ir_type_info(in->module, value);
    enum ir_binop op = ir_operation_imm(instance, ref) & ~IR_INPLACE;
    bool is_array = with.kind == IR_KIND_ARRAY;
    if (!infer_check_stored(in, instance, ref, value, info.dtype, info.rank))
        return false;
    if (info.read_only)
        return infer_fail_read_only(in, instance, ref, array);
    if (!ir_type_is_scalar(info.dtype))
        return INFER_FAIL(in, instance, ref, BAD_OPERANDS, ir_binop_text(op), infer_text(in, array),
                          infer_text(in, value));
    ir_type element = ir_element_type(info.dtype);
    ir_type other = is_array ? ir_element_type(with.dtype) : value;
    ir_type type;
    if (!infer_bin_type(in, instance, ref, element, other, &type))
        return false;
    if (!ir_type_is_scalar(type))
        return INFER_FAIL(in, instance, ref, BAD_OPERANDS, ir_binop_text(op),
                          infer_text(in, element), infer_text(in, other));
    *out = infer_typed(array);
    return true;
}
