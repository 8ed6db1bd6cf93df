/* infer_raise: texts, exceptions, and variables that may have no value.
 *
 * A text or an exception is made on the host, so in a kernel it is a RECIPE: its type says how it
 * is made (a class, or one of enum ir_recipe) and of which types, its value is what these need at
 * run time. So a message can be kept in a variable, passed to a function and returned from one like
 * a tuple, and costs nothing where it is not raised. The alternative, patterns of instructions
 * around the `throw`, would know only messages that are written in the raise statement itself. */
#include "ir/infer_t.h"

#include <string.h>

#define RAISE_MAX_TEXT_B 65536u /* of a sum that is a constant */

bool
infer_is_carried(const struct infer *in, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_SCALAR:
    case IR_KIND_RECIPE: return true;
    case IR_KIND_OBJECT: {
        uint8_t kind = ir_const_info(in->module, info->object)->kind;
        return kind == IR_C_STR || kind == IR_C_NONE || ir_has_axes(in->module, info->object, NULL);
    }
    case IR_KIND_TUPLE:
        for (uint32_t i = 0; i < info->n_elems; i++)
            if (!infer_is_carried(in, info->elems[i]))
                return false;
        return true;
    default: return false;
    }
}

bool
infer_is_text(const struct infer *in, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    if (info->kind != IR_KIND_OBJECT && info->kind != IR_KIND_RECIPE)
        return false;
    return ir_const_info(in->module, info->object)->kind ==
           (info->kind == IR_KIND_OBJECT ? IR_C_STR : IR_C_INT);
}

/* The recipe `how` of n operands from number `first` on; waits while one is unknown. */
static bool
raise_recipe(struct infer *in, struct ir_instance *instance, ir_ref ref, uint32_t first, uint32_t n,
             ir_const how, struct ir_cell *out)
{
    ir_type *elems = SP_NEW_N(in->ctx->arena, ir_type, n);
    for (uint32_t i = 0; i < n; i++) {
        elems[i] = infer_operand(instance, ref, first + i).type;
        if (!infer_known(elems[i]))
            return true;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!infer_is_carried(in, elems[i])) {
            INFER_FAIL(in, instance, ref, NOT_CARRIED, infer_text(in, elems[i]));
            const struct ir_const_info *object = infer_object(in, elems[i]);
            bool text = object && object->kind == IR_C_HOST && object->type_name &&
                        !strcmp(object->type_name, "str");
            return text ? INFER_HINT(in, "a text of lone surrogates has no UTF-8: leave them out")
                        : INFER_HINT(in, "give numbers, texts, None, or tuples of these");
        }
    *out = infer_typed(ir_type_intern(
        in->module, &(struct ir_type_info){
                        .kind = IR_KIND_RECIPE, .object = how, .n_elems = n, .elems = elems}));
    return true;
}

bool
infer_rule_text(struct infer *in, struct ir_instance *instance, ir_ref ref, enum ir_recipe how,
                struct ir_cell *out)
{
    uint32_t n = how == IR_TEXT_PERCENT ? 2 : ir_insn(instance->func, ref)->n_args;
    return raise_recipe(in, instance, ref, 0, n, ir_const_int(in->module, how), out);
}

/* Of constants it is one, up to a size that some doublings reach. */
bool
infer_rule_text_sum(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type a,
                    ir_type b, struct ir_cell *out)
{
    const struct ir_const_info *x = infer_object(in, a), *y = infer_object(in, b);
    if (!x || !y || x->kind != IR_C_STR || y->kind != IR_C_STR ||
        (size_t)x->len + y->len > RAISE_MAX_TEXT_B)
        return raise_recipe(in, instance, ref, 0, 2, ir_const_int(in->module, IR_TEXT_JOIN), out);
    char *text = SP_NEW_N(in->ctx->arena, char, (size_t)x->len + y->len + 1);
    memcpy(text, x->str, x->len);
    memcpy(text + x->len, y->str, y->len);
    *out = infer_constant(in, ir_const_str(in->module, text, (size_t)x->len + y->len));
    return true;
}

bool
infer_rule_text_call(struct intrin_call *call, struct ir_cell *out)
{
    enum ir_recipe how = call->id == IR_INTRIN_REPR     ? IR_TEXT_REPR
                         : call->id == IR_INTRIN_ASCII  ? IR_TEXT_ASCII
                         : call->id == IR_INTRIN_FORMAT ? IR_TEXT_FORMAT
                                                        : IR_TEXT_STR;
    if (how == IR_TEXT_FORMAT && !infer_is_text(call->in, call->args[1].type))
        return infer_bad_argument(call, 1, "the second is a text such as '.3f'");
    return raise_recipe(call->in, call->instance, call->ref, 1, call->n,
                        ir_const_int(call->in->module, how), out);
}

bool
infer_rule_exception(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_const class,
                     struct ir_cell *out)
{
    if (ir_insn(instance->func, ref)->imm) {
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "a keyword argument of an exception");
        return INFER_HINT(in, "give the arguments by position");
    }
    uint32_t n = ir_insn(instance->func, ref)->n_args - 1u;
    return raise_recipe(in, instance, ref, 1, n, class, out);
}

uint32_t
infer_count_numbers(const struct infer *in, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    uint32_t n = info->kind == IR_KIND_SCALAR;
    if (info->kind == IR_KIND_OBJECT && ir_has_axes(in->module, info->object, NULL))
        return 3;
    if (info->kind == IR_KIND_TUPLE || info->kind == IR_KIND_RECIPE)
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += infer_count_numbers(in, info->elems[i]);
    return n;
}

bool
infer_rule_throw(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    ir_type type = infer_operand(instance, ref, 0).type;
    if (!infer_known(type))
        return true;
    const struct ir_type_info *info = ir_type_info(in->module, type);
    bool is_object = info->kind == IR_KIND_OBJECT || info->kind == IR_KIND_RECIPE;
    if (!is_object || ir_const_info(in->module, info->object)->kind != IR_C_EXCEPTION) {
        INFER_FAIL(in, instance, ref, NOT_EXCEPTION, infer_text(in, type));
        return INFER_HINT(in, "raise an exception: raise ValueError('text')");
    }
    uint32_t n = infer_count_numbers(in, type);
    if (n <= SP_FAULT_VALUES)
        return true;
    INFER_FAIL(in, instance, ref, TOO_MANY_VALUES, "an exception", (int)n, SP_FAULT_VALUES);
    return INFER_HINT(in, "leave some out, or write them to an array first");
}

/* Per instance: whether it may raise, in itself or in what it calls. */
bool
infer_may_throw(struct infer *in, const struct ir_instance *instance, struct sp_bits *seen)
{
    if (!sp_bits_add(seen, instance->index))
        return false;
    for (uint32_t i = 0; i < instance->flow->n_rpo; i++) {
        uint32_t block = instance->flow->rpo[i];
        const struct ir_block *b = &instance->func->blocks.data[block];
        if (!sp_bits_has(&instance->live_blocks, block))
            continue;
        for (uint32_t k = 0; k < b->insns.len; k++) {
            ir_ref ref = b->insns.data[k];
            uint32_t callee = instance->callees[ref];
            if (ir_insn(instance->func, ref)->op == IR_THROW ||
                (callee && infer_may_throw(in, in->typed->instances.data[callee - 1], seen)))
                return true;
        }
    }
    return false;
}
