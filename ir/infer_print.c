/* infer_print: typing of print(...).
 *
 * Arguments are what exceptions are made of too (infer_raise.c): the host formats them. `sep` and
 * `end` are texts, which may contain values; `flush` is a constant, and `file` has one possible
 * value. */
#include "ir/infer_t.h"

static const char *
print_hint(struct intrin_call *call, ir_type type)
{
    const struct ir_const_info *object = infer_object(call->in, type);
    switch (ir_type_info(call->in->module, type)->kind) {
    case IR_KIND_ARRAY:
        return "print its elements: x[i], or copy it to the host and print it there";
    case IR_KIND_RANGE:
    case IR_KIND_ITER: return "print what it gives, in a loop";
    default: break;
    }
    if (object && object->kind == IR_C_DTYPE)
        return "print its name: x.dtype.name";
    return "numbers, texts, None, indices such as gpu.threadIdx, and tuples of them can be printed";
}

static bool
print_is_none(struct intrin_call *call, ir_type type)
{
    const struct ir_const_info *object = infer_object(call->in, type);
    return object && object->kind == IR_C_NONE;
}

/* `sep` and `end` */
static bool
print_check_text(struct intrin_call *call, const char *name, uint32_t *n_out)
{
    uint32_t i = infer_call_keyword(call, name);
    *n_out = 0;
    if (i == UINT32_MAX || print_is_none(call, call->args[i].type))
        return true;
    if (infer_is_text(call->in, call->args[i].type)) {
        *n_out = infer_count_numbers(call->in, call->args[i].type);
        return true;
    }
    CALL_ERROR(call, ARGUMENT_TYPE, sp_arena_printf(call->in->ctx->arena, "'%s'", name), call->name,
               infer_text(call->in, call->args[i].type));
    return CALL_HINT(call, "give a text or None");
}

static bool
print_check_file(struct intrin_call *call)
{
    uint32_t i = infer_call_keyword(call, "file");
    if (i == UINT32_MAX || print_is_none(call, call->args[i].type))
        return true;
    CALL_ERROR(call, NYI_CONSTRUCT, "print with file=");
    return CALL_HINT(call,
                     "kernels print to sys.stdout: leave it out, and redirect that on the host");
}

bool
infer_rule_print(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    uint32_t n_positional = infer_call_n_positional(call), n = 0, n_sep, n_end;
    for (uint32_t i = 0; i < n_positional; i++) {
        if (!infer_is_carried(in, call->args[i].type))
            return infer_bad_argument(call, i, print_hint(call, call->args[i].type));
        n += infer_count_numbers(in, call->args[i].type);
    }
    if (!print_check_file(call) || !print_check_text(call, "sep", &n_sep) ||
        !print_check_text(call, "end", &n_end))
        return false;
    uint32_t flush = infer_call_keyword(call, "flush");
    bool wait;
    if (flush != UINT32_MAX && !infer_want_constant(call, flush, "'flush' of print", &wait))
        return wait;
    n += n_end + (n_positional ? n_positional - 1 : 0) * n_sep;
    if (n > SP_PRINT_VALUES) {
        CALL_ERROR(call, TOO_MANY_VALUES, "a line", (int)n, SP_PRINT_VALUES);
        return CALL_HINT(call, "print them in two lines, or write them to an array");
    }
    *out = infer_constant(in, ir_const_simple(in->module, IR_C_NONE, 0));
    return true;
}
