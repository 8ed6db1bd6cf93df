/* lower_call: calls of functions of the module, intrinsics and casts.
 *
 * In: a CALL or CALL_EX that inference has bound to an instance. Out: a CALLF with the parts of
 * every slot of the callee that it does not know by value: parameters, the tuple of *args, free
 * variables.
 *
 *     call f, 2, x       f(n = 2, x): n is known to this instance
 *     ->
 *     callf @3 %data, %extent */
#include "ir/lower.h"

#include <assert.h>

bool
lower_is_passed(struct ir_cell arg)
{
    return arg.type != IR_T_NONE && !arg.constant;
}

struct call {
    ir_ref py;
    const struct ir_instance *callee;
    struct ir_actuals actuals;
    struct ir_binding *bindings;
};

static struct lower_value
call_actual(struct lower *l, struct ir_actual actual)
{
    struct lower_value value = lower_get(l, actual.value);
    return actual.elem ? lower_elem(l, value, actual.elem - 1) : value;
}

/* The tuple of a *args parameter. */
static struct lower_value
call_extra(struct lower *l, const struct call *call, struct ir_binding binding, ir_type type)
{
    uint32_t n = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    for (uint32_t i = 0; i < binding.n; i++) {
        struct lower_value elem =
            lower_convert(l, call_actual(l, call->actuals.list[binding.from - 1 + i]),
                          lower_info(l, type)->elems[i]);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
    }
    return (struct lower_value){type, n, parts};
}

static struct lower_value
call_slot(struct lower *l, const struct call *call, uint32_t k)
{
    const struct ir_func *func = call->callee->func;
    const struct ir_func_param *param = &func->params[k];
    struct ir_binding binding = call->bindings[k];
    ir_type type = call->callee->args[k].type;
    uint32_t n = ir_func_n_slots(func);
    ir_ref closure = ir_arg(l->from, call->py, 0);
    if (k >= n - func->n_free) {
        struct lower_value value = lower_get(l, closure);
        return lower_closure_elem(l, value, lower_info(l, value.type)->n_elems - n + k);
    }
    if (k == func->n_params)
        return call_extra(l, call, binding, type);
    if (binding.from)
        return call_actual(l, call->actuals.list[binding.from - 1]);
    if (param->given)
        return lower_closure_elem(l, lower_get(l, closure), param->given - 1);
    return lower_constant(l, param->fallback, type);
}

static struct lower_value
call_function(struct lower *l, ir_ref py, const struct ir_instance *callee)
{
    struct sp_arena *arena = l->core->arena;
    const struct ir_func *func = callee->func;
    uint32_t n_slots = ir_func_n_slots(func);
    struct call call = {.py = py, .callee = callee};
    call.bindings = SP_NEW_N(arena, struct ir_binding, n_slots + 1);
    bool bound = ir_call_actuals(l->py, l->inst, py, arena, &call.actuals) &&
                 ir_bind_call(l->py, func, call.actuals.n, ir_insn(l->from, py)->imm, call.bindings,
                              NULL, NULL);
    assert(bound && "inference has bound the same call");
    (void)bound;
    const struct ir_func *target = l->core->funcs.data[l->func_of[callee->index]];
    ir_ref *args = SP_NEW_N(arena, ir_ref, target->n_params);
    uint32_t n = 0;
    for (uint32_t k = 0; k < n_slots; k++) {
        if (!lower_is_passed(callee->args[k]))
            continue;
        struct lower_value value = lower_convert(l, call_slot(l, &call, k), callee->args[k].type);
        for (uint32_t i = 0; i < value.n; i++)
            args[n++] = value.parts[i];
    }
    if (l->takes[callee->index])
        args[n++] = l->cursor;
    assert(n == target->n_params && "parts for every parameter");
    ir_type first = target->n_results ? target->results[0] : IR_T_NONE;
    ir_ref made = lower_emit(l, IR_CALLF, first, target->index, n, args);
    if (callee->result.constant)
        return lower_constant(l, callee->result.constant, callee->result.type);
    ir_ref *parts = SP_NEW_N(arena, ir_ref, target->n_results);
    for (uint32_t i = 0; i < target->n_results; i++)
        parts[i] = i ? lower_emit(l, IR_RESULT, target->results[i], i, 1, &made) : made;
    return (struct lower_value){callee->result.type, target->n_results, parts};
}

/* An instance of a NamedTuple class. */
static struct lower_value
call_class(struct lower *l, ir_ref py, ir_const class)
{
    struct sp_arena *arena = l->core->arena;
    ir_type type = l->inst->cells[py].type;
    const struct ir_func *func = ir_class_func(l->py, class, arena);
    struct call call = {.py = py};
    call.bindings = SP_NEW_N(arena, struct ir_binding, func->n_params + 1);
    bool bound = ir_call_actuals(l->py, l->inst, py, arena, &call.actuals) &&
                 ir_bind_call(l->py, func, call.actuals.n, ir_insn(l->from, py)->imm, call.bindings,
                              NULL, NULL);
    assert(bound && "inference has bound the same call");
    (void)bound;
    uint32_t n = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(arena, ir_ref, n);
    for (uint32_t i = 0; i < func->n_params; i++) {
        ir_type to = lower_info(l, type)->elems[i];
        uint32_t from = call.bindings[i].from;
        struct lower_value value =
            from ? lower_convert(l, call_actual(l, call.actuals.list[from - 1]), to)
                 : lower_constant(l, func->params[i].fallback, to);
        for (uint32_t k = 0; k < value.n; k++)
            parts[at++] = value.parts[k];
    }
    return (struct lower_value){type, n, parts};
}

struct lower_value
lower_call(struct lower *l, ir_ref py)
{
    uint32_t callee = l->inst->callees[py];
    if (callee)
        return call_function(l, py, l->typed->instances.data[callee - 1]);
    ir_type type = l->inst->cells[py].type;
    ir_type object = l->inst->cells[ir_arg(l->from, py, 0)].type;
    const struct ir_type_info *info = lower_info(l, object);
    assert(info->kind == IR_KIND_OBJECT && "only compile-time values are called");
    const struct ir_const_info *what = ir_const_info(l->py, info->object);
    if (what->kind == IR_C_INTRIN)
        return lower_intrin(l, py, (enum ir_intrin)what->u);
    if (what->kind == IR_C_CLASS)
        return call_class(l, py, info->object);
    if (what->kind == IR_C_EXCEPTION)
        return lower_elements(l, py, 1);
    assert(what->kind == IR_C_DTYPE && "functions, intrinsics and casts are called");
    lower_check_cast(l, lower_get(l, lower_arg(l, py, 0)), type);
    return lower_convert(l, lower_get(l, lower_arg(l, py, 0)), type);
}
