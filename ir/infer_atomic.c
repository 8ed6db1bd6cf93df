/* infer_atomic: typing of gpu.atomic: what array, index and operands must be.
 *
 * In: the cells of a call of rule ATOMIC (array, index, value) or CAS (array, index, old, value;
 * array, old, value). Out: the type of an element that is read. atomic.def says which operations
 * elements of a class have; operands are numbers that a store would take, but for floats that would
 * lose their fraction in an integer. */
#include "ir/infer_t.h"

static bool
atomic_bad_array(struct intrin_call *call)
{
    return infer_bad_argument(
        call, 0,
        sp_arena_printf(call->in->ctx->arena,
                        "the array itself comes first, then what is meant: %s", call->row->doc));
}

/* An operation that elements of this class do not have. */
static bool
atomic_bad_class(struct intrin_call *call, ir_type dtype)
{
    return infer_bad_argument(call, 0,
                              ir_is_float(dtype) ? "inc, dec, and_, or_ and xor work on integers; "
                                                   "of floats there are add, sub, min, max, "
                                                   "nanmin, nanmax, exch and cas"
                                                 : "elements of bool have and_, or_, xor, exch and "
                                                   "cas; to count, take an array of integers");
}

static bool
atomic_check_operand(struct intrin_call *call, uint32_t i, ir_type dtype)
{
    ir_type type = call->args[i].type;
    if (!ir_type_is_scalar(type)) {
        const char *hint = infer_number_hint(call->in, type);
        return infer_bad_argument(call, i, hint ? hint : "a number is needed here");
    }
    if (!ir_is_float(type) || ir_is_float(dtype))
        return true;
    return infer_bad_argument(call, i,
                              sp_arena_printf(call->in->ctx->arena,
                                              "the array holds %s: write int(...) around the value",
                                              ir_scalar_row(dtype)->name));
}

bool
infer_rule_atomic(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    struct ir_type_info array = *ir_type_info(in->module, call->args[0].type);
    bool negated, has_index = call->row->rule == IR_RULE_ATOMIC || call->n == 4;
    if (array.kind != IR_KIND_ARRAY)
        return atomic_bad_array(call);
    if (call->row->rule == IR_RULE_ATOMIC &&
        ir_atomic_of_call(call->id, array.dtype, &negated) == IR_ATOMIC_NONE)
        return atomic_bad_class(call, array.dtype);
    if (has_index &&
        !infer_check_index(in, call->instance, call->ref, call->args[0].type, call->args[1].type))
        return false;
    if (array.read_only) {
        CALL_ERROR(call, READ_ONLY, infer_text(in, call->args[0].type));
        return CALL_HINT(call,
                         array.space == IR_SPACE_CONST
                             ? "%s changes an element: pass the array to the kernel, then it may"
                             : "%s changes an element: give an array that may be written",
                         call->name);
    }
    for (uint32_t i = 1 + has_index; i < call->n; i++)
        if (!atomic_check_operand(call, i, array.dtype))
            return false;
    *out = infer_typed(ir_element_type(array.dtype));
    return true;
}
