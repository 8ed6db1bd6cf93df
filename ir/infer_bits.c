/* infer_bits: typing of functions of bits, gpu.popc and its like.
 *
 * Their answers depend on the width of their argument, which Python's integers do not have: they
 * take typed integers, and a plain int is an error that asks for a cast. Of two numbers that belong
 * together one may be plain and takes the other's type, as everywhere. */
#include "ir/infer_t.h"

#define BITS_CAST "the width counts here: write gpu.uint32(...) or gpu.uint64(...)"

static bool
bits_integer(struct intrin_call *call, uint32_t i)
{
    ir_type type = call->args[i].type;
    if (!ir_type_is_scalar(type))
        return infer_bad_argument(call, i, NULL);
    if (!ir_is_integer(type))
        return infer_bad_argument(
            call, i,
            "an integer is needed: gpu.uint32(x) converts, x.view(np.uint32) has its bits");
    return true;
}

static bool
bits_typed(struct intrin_call *call, uint32_t i)
{
    if (!bits_integer(call, i))
        return false;
    return ir_is_typed_int(call->args[i].type) || infer_bad_argument(call, i, BITS_CAST);
}

/* A constant that no bit pattern of the type can hold is a mistake. */
static bool
bits_constant(struct intrin_call *call, uint32_t i, ir_type type)
{
    unsigned bits = ir_scalar_row(type)->bits;
    if (call->args[i].type != IR_T_INT || !call->args[i].constant || bits == 64)
        return true;
    int64_t value = ir_const_info(call->in->module, call->args[i].constant)->i;
    if (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << bits)
        return true;
    const char *text = sp_arena_printf(call->in->ctx->arena, "%lld", (long long)value);
    return CALL_ERROR(call, CONSTANT_TOO_LARGE, text, ir_scalar_row(type)->name) ||
           CALL_HINT(call, "both numbers have the type %s here", ir_scalar_row(type)->name);
}

/* Arguments 0 and 1, which are of one type. */
static bool
bits_pair(struct intrin_call *call, ir_type *out)
{
    if (!bits_integer(call, 0) || !bits_integer(call, 1))
        return false;
    ir_type a = call->args[0].type, b = call->args[1].type;
    if (!ir_is_typed_int(a) && !ir_is_typed_int(b))
        return infer_bad_argument(call, 0, BITS_CAST);
    if (ir_is_typed_int(a) && ir_is_typed_int(b) && a != b)
        return infer_bad_argument(call, 1,
                                  sp_arena_printf(call->in->ctx->arena,
                                                  "both must be of one type: write gpu.%s(...)",
                                                  ir_scalar_row(a)->name));
    *out = ir_is_typed_int(a) ? a : b;
    return bits_constant(call, 0, *out) && bits_constant(call, 1, *out);
}

bool
infer_rule_bits(struct intrin_call *call, struct ir_cell *out)
{
    ir_type type = IR_T_NONE;
    switch (call->id) {
    case IR_INTRIN_BREV:
        if (!bits_typed(call, 0))
            return false;
        *out = infer_typed(call->args[0].type);
        return true;
    case IR_INTRIN_BYTE_PERM:
    case IR_INTRIN_FUNNELSHIFT_L:
    case IR_INTRIN_FUNNELSHIFT_R:
        if (!bits_pair(call, &type) || !bits_integer(call, 2))
            return false;
        if (call->id == IR_INTRIN_BYTE_PERM && ir_scalar_row(type)->bits != 32)
            return infer_bad_argument(call, ir_is_typed_int(call->args[0].type) ? 0 : 1,
                                      "it works on 32 bits: write gpu.uint32(...)");
        *out = infer_typed(type);
        return true;
    default:
        if (!bits_typed(call, 0))
            return false;
        *out = infer_typed(IR_T_INT);
        return true;
    }
}
