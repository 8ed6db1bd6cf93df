/* infer_call: calls of functions, casts and intrinsics.
 *
 * A call of a function read from bytecode binds arguments to parameters, finds or makes the instance
 * for these argument cells, and takes the callee's result so far. When arguments rise, the call moves
 * on to another instance; instances that no call reaches in the end are not live. */
#include "ir/infer_t.h"

#include <stdio.h>
#include <string.h>

static const char *
call_takes(const struct ir_func *callee, char *buffer, size_t size_B)
{
    uint32_t most = callee->n_params - callee->n_kwonly, least = 0;
    while (least < most && !callee->params[least].fallback)
        least++;
    if (least == most)
        snprintf(buffer, size_B, "%u argument%s", most, most == 1 ? "" : "s");
    else
        snprintf(buffer, size_B, "%u to %u arguments", least, most);
    return buffer;
}

static bool
call_fail_count(const struct ir_func *callee, uint32_t n_args, struct sp_diag *diag,
                const struct sp_src *where)
{
    char takes[64];
    if (diag) {
        const char *what = callee->name;
        sp_diag_set(diag, SP_E_ARGUMENT_COUNT, where, what, call_takes(callee, takes, sizeof takes),
                    (int)n_args);
    }
    return false;
}

#define CALL_FAIL(diag, code, where, ...)                                                          \
    ((diag) && sp_diag_set((diag), SP_E_##code, (where), __VA_ARGS__))

static bool
call_bind_keyword(const struct ir_func *callee, const char *name, uint32_t from,
                  struct ir_binding *bindings, struct sp_diag *diag, const struct sp_src *where)
{
    for (uint32_t k = callee->n_posonly; k < callee->n_params; k++) {
        if (strcmp(callee->params[k].name, name) != 0)
            continue;
        if (bindings[k].from)
            return CALL_FAIL(diag, ARGUMENT_TWICE, where, name, callee->name);
        bindings[k].from = from;
        return true;
    }
    return CALL_FAIL(diag, ARGUMENT_NAME, where, callee->name, name);
}

bool
ir_bind_call(const struct ir_module *module, const struct ir_func *callee, uint32_t n_args,
             ir_const names, struct ir_binding *bindings_out, struct sp_diag *diag,
             const struct sp_src *where)
{
    const struct ir_const_info *keywords = names ? ir_const_info(module, names) : NULL;
    uint32_t n_keywords = keywords ? keywords->len : 0;
    uint32_t n_positional = n_args - n_keywords;
    for (uint32_t k = 0; k < callee->n_params; k++)
        bindings_out[k].from = 0;
    if (n_positional > callee->n_params - callee->n_kwonly)
        return call_fail_count(callee, n_args, diag, where);
    for (uint32_t k = 0; k < n_positional; k++)
        bindings_out[k].from = k + 1;
    for (uint32_t k = 0; k < n_keywords; k++)
        if (!call_bind_keyword(callee, ir_const_info(module, keywords->elems[k])->str,
                               n_positional + k + 1, bindings_out, diag, where))
            return false;
    for (uint32_t k = 0; k < callee->n_params; k++)
        if (!bindings_out[k].from && !callee->params[k].fallback) {
            if (!n_keywords && k < callee->n_params - callee->n_kwonly)
                return call_fail_count(callee, n_args, diag, where);
            return CALL_FAIL(diag, ARGUMENT_MISSING, where, callee->params[k].name, callee->name);
        }
    return true;
}

/* The cell of each parameter; false while an argument is unknown. */
static bool
call_cells(struct infer *in, const struct ir_instance *instance, ir_ref ref,
           const struct ir_func *callee, const struct ir_binding *bindings, struct ir_cell *cells)
{
    for (uint32_t k = 0; k < callee->n_params; k++) {
        cells[k] = bindings[k].from ? infer_operand(instance, ref, bindings[k].from)
                                    : infer_constant(in, callee->params[k].fallback);
        if (!infer_known(cells[k].type))
            return false;
    }
    return true;
}

/* The names of the instances on the way to this call, for the error about too many. */
static const char *
call_signature(struct infer *in, const struct ir_func *callee, const struct ir_cell *cells)
{
    struct sp_str text;
    sp_str_init(&text);
    for (uint32_t k = 0; k < callee->n_params; k++)
        sp_str_printf(&text, "%s%s", k ? ", " : "the last: ", infer_text(in, cells[k].type));
    const char *copy = sp_arena_strdup(in->ctx->arena, text.data);
    sp_str_finish(&text);
    return copy;
}

static bool
call_function(struct infer *in, struct ir_instance *instance, ir_ref ref,
              const struct ir_func *callee, struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (callee->has_varargs || callee->has_varkw)
        return INFER_FAIL(in, instance, ref, NYI_CONSTRUCT,
                          callee->has_varargs ? "a device function with *args"
                                              : "a device function with **kwargs") ||
               INFER_HINT(in, "list its parameters one by one");
    struct ir_binding *bindings = SP_NEW_N(in->ctx->arena, struct ir_binding, callee->n_params);
    if (!ir_bind_call(in->module, callee, insn->n_args - 1u, insn->imm, bindings,
                      in->reporting ? in->ctx->diag : NULL,
                      in->reporting ? infer_src(in, instance, ref) : NULL))
        return false;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, callee->n_params);
    if (!call_cells(in, instance, ref, callee, bindings, cells))
        return true;
    struct ir_caller caller = {instance->index, ref};
    struct ir_instance *target = infer_instance(in, callee, cells, &caller);
    if (!target)
        return INFER_FAIL(in, instance, ref, TOO_MANY_INSTANCES, callee->name,
                          call_signature(in, callee, cells));
    /* A new instance knows the call that made it; a call that comes back is a caller twice. */
    bool known = instance->callees[ref] == target->index + 1 ||
                 (target->callers.len == 1 && target->callers.data[0].instance == caller.instance &&
                  target->callers.data[0].insn == caller.insn);
    if (!known)
        sp_vec_push(in->ctx->arena, &target->callers, caller);
    instance->callees[ref] = target->index + 1;
    *out = target->result;
    return true;
}

bool
infer_rule_cast(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type to,
                struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    const char *name = ir_scalar_row(to)->name;
    if (insn->imm)
        return INFER_FAIL(in, instance, ref, ARGUMENT_NAME, name,
                          infer_name(in, ir_const_info(in->module, insn->imm)->elems[0]));
    if (insn->n_args != 2)
        return INFER_FAIL(in, instance, ref, ARGUMENT_COUNT, name, "1 argument",
                          (int)insn->n_args - 1);
    struct ir_cell a = infer_operand(instance, ref, 1);
    if (!infer_known(a.type))
        return true;
    if (to == IR_T_BOOL && !ir_type_is_scalar(a.type)) {
        int truth = infer_truth(in->module, a);
        if (truth < 0)
            return INFER_FAIL(in, instance, ref, NO_TRUTH, infer_text(in, a.type));
        *out = infer_constant(in, ir_const_bool(in->module, truth));
        return true;
    }
    if (!ir_type_is_scalar(a.type)) {
        INFER_FAIL(in, instance, ref, ARGUMENT_TYPE, "1", name, infer_text(in, a.type));
        return ir_type_info(in->module, a.type)->kind == IR_KIND_ARRAY
                   ? INFER_HINT(in, "cast an element: %s(x[i])", name)
                   : false;
    }
    out->type = to;
    out->constant = a.constant ? infer_fold_cast(in->module, a.constant, to) : 0;
    return true;
}

static bool
call_fail(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type)
{
    const struct ir_const_info *object = infer_object(in, type);
    if (object && object->kind == IR_C_HOST) {
        INFER_FAIL(in, instance, ref, HOST_OBJECT, "an object", object->type_name);
        return INFER_HINT(in, "a kernel can call Python functions, gpu.*, math.*, and the builtins "
                              "abs bool float int len max min pow range round");
    }
    INFER_FAIL(in, instance, ref, NOT_CALLABLE, infer_text(in, type));
    return ir_type_is_scalar(type) ? INFER_HINT(in, "it is a number: leave the () away") : false;
}

bool
infer_rule_call(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell callee = infer_operand(instance, ref, 0);
    if (!infer_known(callee.type))
        return true;
    const struct ir_const_info *object = infer_object(in, callee.type);
    if (!object || object->kind != IR_C_FUNC)
        instance->callees[ref] = 0;
    if (!object)
        return call_fail(in, instance, ref, callee.type);
    switch ((enum ir_const_kind)object->kind) {
    case IR_C_FUNC: return call_function(in, instance, ref, in->module->funcs.data[object->u], out);
    case IR_C_INTRIN: return infer_rule_intrin(in, instance, ref, (enum ir_intrin)object->u, out);
    case IR_C_EXCEPTION: return infer_rule_exception(in, instance, ref, callee.constant, out);
    case IR_C_DTYPE: return infer_rule_cast(in, instance, ref, object->scalar, out);
    default: return call_fail(in, instance, ref, callee.type);
    }
}
