/* infer_numpy: typing of NumPy's functions on numbers, where math and the operators have no equal.
 *
 * NumPy 2's result types under the rules of numbers.c: integers of any kind give `float` in functions of
 * floats, the others keep the type of their argument or join those of several. An array is an error
 * that asks for an element. */
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
    if (call->id == IR_INTRIN_NP_WHERE && infer_truth(call->in->module, call->args[0]) == -2)
        return infer_bad_argument(call, 0, "where takes numbers: where(x[i] > 0, a, b)");
    for (uint32_t i = call->id == IR_INTRIN_NP_WHERE; i < call->n; i++) {
        if (is_clip && i && numpy_is_none(call, i))
            continue;
        if (!ir_type_is_scalar(call->args[i].type))
            return infer_bad_argument(call, i, NULL);
        type = ir_type_join(call->in->module, type, call->args[i].type);
    }
    if (type == IR_T_MIXED) {
        CALL_ERROR(call, MIXED_SIGNS, infer_text(call->in, call->args[call->n - 2].type),
                   infer_text(call->in, call->args[call->n - 1].type));
        return CALL_HINT(call, "cast one argument, for example gpu.int64(...)");
    }
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
    if (type == IR_T_MIXED) {
        CALL_ERROR(call, MIXED_SIGNS, infer_text(call->in, call->args[0].type),
                   infer_text(call->in, call->args[1].type));
        return CALL_HINT(call, "cast one argument, for example gpu.int64(...)");
    }
    *out = infer_typed(type);
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
