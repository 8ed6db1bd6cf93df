/* infer_numpy: typing of NumPy's functions on numbers, where math and the operators have no equal.
 *
 * NumPy 2's result types under the rules of numbers.c: integers of any kind give `float` in
 * functions of floats, the others keep the type of their argument or join those of several. An
 * array is an error that asks for an element. */
#include "ir/infer_t.h"

#include <string.h>

static bool
numpy_numbers(struct intrin_call *call, uint32_t first)
{
    for (uint32_t i = first; i < call->n; i++)
        if (!ir_type_is_scalar(call->args[i].type))
            return infer_bad_argument(call, i, NULL);
    return true;
}

static bool
numpy_is_none(const struct intrin_call *call, uint32_t i)
{
    const struct ir_const_info *object = infer_object(call->in, call->args[i].type);
    return object && object->kind == IR_C_NONE;
}

/* floor, real and the like give bool for bool; arithmetic gives int. */
static ir_type
numpy_same(const struct intrin_call *call)
{
    ir_type type = call->args[0].type;
    bool keeps = call->id == IR_INTRIN_NP_FLOOR || call->id == IR_INTRIN_NP_CEIL ||
                 call->id == IR_INTRIN_NP_TRUNC || call->id == IR_INTRIN_NP_FIX ||
                 call->id == IR_INTRIN_NP_REAL || call->id == IR_INTRIN_NP_IMAG ||
                 call->id == IR_INTRIN_NP_NAN_TO_NUM;
    return type == IR_T_BOOL && !keeps ? (ir_type)IR_T_INT : type;
}

/* nan_to_num: None is as good as nothing for the infinities. */
static bool
numpy_same_args(struct intrin_call *call)
{
    for (uint32_t i = 0; i < call->n; i++)
        if (!ir_type_is_scalar(call->args[i].type) && (i == 0 || !numpy_is_none(call, i)))
            return infer_bad_argument(call, i, NULL);
    return true;
}

static bool
numpy_round(struct intrin_call *call, struct ir_cell *out)
{
    bool wait;
    if (!numpy_numbers(call, 0))
        return false;
    if (call->n == 2 && !ir_is_integer(call->args[1].type))
        return infer_bad_argument(call, 1, NULL);
    if (call->n == 2 && !infer_want_constant(call, 1, "the number of decimals", &wait))
        return wait;
    *out = infer_typed(numpy_same(call));
    return true;
}

/* maximum, minimum, clip and where: the arguments but a condition and a None. */
static bool
numpy_join(struct intrin_call *call, struct ir_cell *out)
{
    ir_type type = IR_T_NONE;
    bool is_clip = call->id == IR_INTRIN_NP_CLIP;
    bool chooses = call->id == IR_INTRIN_NP_WHERE || call->id == IR_INTRIN_SELP;
    if (chooses && infer_truth(call->in->module, call->args[0]) == -2)
        return infer_bad_argument(call, 0, "the condition is a number: x[i] > 0");
    for (uint32_t i = chooses; i < call->n; i++) {
        if (is_clip && i && numpy_is_none(call, i))
            continue;
        if (!ir_type_is_scalar(call->args[i].type))
            return infer_bad_argument(call, i, NULL);
        type = ir_type_join(call->in->module, type, call->args[i].type);
    }
    if (type == IR_T_MIXED)
        return infer_fail_mixed_args(call);
    *out = infer_typed(type);
    return true;
}

static bool
numpy_fmod(struct intrin_call *call, struct ir_cell *out)
{
    enum ir_lowering lowering;
    if (!numpy_numbers(call, 0))
        return false;
    ir_type type =
        ir_bin_type(IR_BIN_MOD, call->args[0].type, call->args[1].type, false, &lowering);
    if (type == IR_T_MIXED)
        return infer_fail_mixed_args(call);
    *out = infer_typed(type);
    return true;
}

/* np.dtype, np.finfo, np.iinfo: a type, a text that names one, or (the last two) a number. */
static bool
numpy_dtype(struct intrin_call *call, struct ir_cell *out)
{
    struct ir_module *module = call->in->module;
    bool limits = call->id != IR_INTRIN_NP_DTYPE;
    const struct ir_const_info *object = infer_object(call->in, call->args[0].type);
    ir_type scalar = object ? ir_dtype_of(module, call->args[0].constant)
                     : limits && ir_type_is_scalar(call->args[0].type) ? call->args[0].type
                                                                       : (ir_type)IR_T_NONE;
    ir_const found = scalar == IR_T_NONE ? 0
                     : limits ? ir_const_limits(module, call->id == IR_INTRIN_NP_FINFO, scalar)
                              : ir_const_dtype(module, scalar);
    if (!found)
        return infer_bad_argument(
            call, 0,
            call->id == IR_INTRIN_NP_FINFO   ? "give a float type: np.finfo(np.float32)"
            : call->id == IR_INTRIN_NP_IINFO ? "give an integer type: np.iinfo(np.int32)"
                                             : "give a number type: np.dtype(np.float32)");
    *out = infer_constant(call->in, found);
    return true;
}

/* ---- Methods and attributes of numbers ---- */

static bool
numpy_view(struct intrin_call *call, ir_type to, struct ir_cell *out)
{
    ir_type from = call->args[0].type;
    bool fits = from != IR_T_BOOL && to != IR_T_BOOL &&
                ir_scalar_row(from)->bits == ir_scalar_row(to)->bits;
    /* The width of `float` is that of the machine type that it computes in. */
    if (from == IR_T_FLOAT && call->in->module->single)
        fits = false;
    if (!fits)
        return infer_bad_argument(call, 0,
                                  "view needs a type of the same width: x.view(np.uint32)");
    *out = infer_typed(to);
    return true;
}

bool
infer_rule_method(struct intrin_call *call, struct ir_cell *out)
{
    ir_type self = call->args[0].type;
    bool is_integer = ir_is_integer(self);
    switch (call->id) {
    case IR_INTRIN_NUMBER_ASTYPE:
    case IR_INTRIN_NUMBER_VIEW: {
        ir_type to = infer_object(call->in, call->args[1].type)
                         ? ir_dtype_of(call->in->module, call->args[1].constant)
                         : (ir_type)IR_T_NONE;
        if (!ir_type_is_scalar(to))
            return infer_bad_argument(call, 1, "give a number type, such as np.float32");
        if (call->id == IR_INTRIN_NUMBER_VIEW)
            return numpy_view(call, to, out);
        *out = infer_typed(to);
        return true;
    }
    case IR_INTRIN_NUMBER_ITEM:
        *out = infer_typed(self == IR_T_UINT64 || self == IR_T_BOOL ? self
                           : is_integer                             ? (ir_type)IR_T_INT
                                                                    : (ir_type)IR_T_FLOAT);
        return true;
    case IR_INTRIN_NUMBER_CONJUGATE:
        *out = infer_typed(self == IR_T_BOOL ? (ir_type)IR_T_INT : self);
        return true;
    case IR_INTRIN_NUMBER_IS_INTEGER: *out = infer_typed(IR_T_BOOL); return true;
    default:
        if (!is_integer)
            return infer_bad_argument(call, 0, "bits are defined for integers: write int(...)");
        *out = infer_typed(IR_T_INT);
        return true;
    }
}

/* real, imag and dtype, or a method. */
bool
infer_rule_number_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                       struct ir_cell number, const char *name, struct ir_cell *out)
{
    bool weak = ir_scalar_row(number.type)->weak;
    const char *path = sp_arena_printf(in->ctx->arena, "number.%s", name);
    enum ir_intrin method = ir_intrin_by_path(path);
    if (method != IR_INTRIN_NONE) {
        *out = infer_constant(in, ir_const_simple(in->module, IR_C_INTRIN, method));
    } else if (strcmp(name, "real") == 0 || strcmp(name, "imag") == 0) {
        out->type = number.type == IR_T_BOOL ? (ir_type)IR_T_INT : number.type;
        out->constant = *name == 'r' && out->type == number.type ? number.constant : 0;
    } else if (strcmp(name, "dtype") == 0 && !weak) {
        *out = infer_constant(in, ir_const_dtype(in->module, number.type));
    } else {
        INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, infer_text(in, number.type), name);
        if (strcmp(name, "dtype") == 0)
            return INFER_HINT(in, "Python's numbers have none: take the array's, a.dtype");
        return INFER_HINT(in, "numbers have real, imag, astype, view, item, is_integer and "
                              "conjugate, integers bit_count and bit_length");
    }
    return true;
}

bool
infer_rule_dtype_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type scalar,
                      const char *name, struct ir_cell *out)
{
    static const char kinds[] = {
        [IR_CLASS_BOOL] = 'b', [IR_CLASS_INT] = 'i', [IR_CLASS_UINT] = 'u', [IR_CLASS_FLOAT] = 'f'};
    struct ir_module *module = in->module;
    ir_const found = 0;
    if (!ir_type_is_scalar(scalar))
        return infer_record_dtype_attr(in, instance, ref, scalar, name, out);
    const struct ir_scalar_row *row = ir_scalar_row(scalar);
    if (strcmp(name, "type") == 0)
        found = ir_const_dtype(module, scalar);
    else if (strcmp(name, "itemsize") == 0 || strcmp(name, "alignment") == 0)
        found = ir_const_int(module, row->bits / 8);
    else if (strcmp(name, "name") == 0 || strcmp(name, "__name__") == 0)
        found = ir_const_str(module, row->name, strlen(row->name));
    else if (strcmp(name, "kind") == 0)
        found = ir_const_str(module, &kinds[row->class], 1);
    else if (strcmp(name, "str") == 0)
        found = ir_const_str(module, row->typestr, strlen(row->typestr));
    if (!found)
        return INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, row->name, name) ||
               INFER_HINT(in, "a number type has type, itemsize, name, kind and str");
    *out = infer_constant(in, found);
    return true;
}

bool
infer_rule_numpy(struct intrin_call *call, struct ir_cell *out)
{
    switch ((enum ir_rule)call->row->rule) {
    case IR_RULE_NP_SAME:
        if (!numpy_same_args(call))
            return false;
        *out = infer_typed(numpy_same(call));
        return true;
    case IR_RULE_NP_ROUND: return numpy_round(call, out);
    case IR_RULE_NP_JOIN: return numpy_join(call, out);
    case IR_RULE_NP_FMOD: return numpy_fmod(call, out);
    case IR_RULE_NP_DTYPE: return numpy_dtype(call, out);
    default: break;
    }
    if (!numpy_numbers(call, 0))
        return false;
    switch ((enum ir_rule)call->row->rule) {
    case IR_RULE_NP_BOOL: *out = infer_typed(IR_T_BOOL); return true;
    case IR_RULE_NP_BITS:
        if (!ir_is_integer(call->args[0].type))
            return infer_bad_argument(call, 0, "bits are defined for integers: write int(...)");
        *out = infer_typed(IR_T_INT);
        return true;
    case IR_RULE_NP_POWER: {
        ir_type types[] = {call->args[0].type, call->args[1].type};
        bool typed = ir_math_type(2, types) != IR_T_FLOAT;
        *out = infer_typed(typed ? IR_T_FLOAT64 : IR_T_FLOAT);
        return true;
    }
    default: return false;
    }
}
