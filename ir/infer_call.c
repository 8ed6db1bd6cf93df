/* infer_call: calls of functions, casts and intrinsics.
 *
 * A call of a function read from bytecode binds arguments to parameters, finds or makes the
 * instance for these argument cells, and takes the callee's result so far. When arguments rise, the
 * call moves on to another instance; instances that no call reaches in the end are not live. */
#include "ir/infer_t.h"

#include <stdio.h>
#include <string.h>

bool
ir_call_actuals(const struct ir_module *module, const struct ir_instance *instance, ir_ref ref,
                struct sp_arena *arena, struct ir_actuals *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    const ir_ref *args = ir_args(instance->func, ref);
    uint32_t n_spread = 0, first = 1;
    if (insn->op == IR_CALL_EX) {
        const struct ir_type_info *tuple = ir_type_info(module, instance->cells[args[1]].type);
        if (tuple->kind != IR_KIND_TUPLE)
            return false;
        n_spread = tuple->n_elems;
        first = 2;
    }
    out->list = SP_NEW_N(arena, struct ir_actual, n_spread + insn->n_args);
    out->n = 0;
    for (uint32_t i = 0; i < n_spread; i++)
        out->list[out->n++] = (struct ir_actual){args[1], i + 1};
    for (uint32_t i = first; i < insn->n_args; i++)
        out->list[out->n++] = (struct ir_actual){args[i], 0};
    return true;
}

/* ---- Binding ---- */

static bool
call_has_default(const struct ir_func_param *param)
{
    return param->fallback || param->given;
}

static const char *
call_takes(const struct ir_func *callee, char *buffer, size_t size_B)
{
    uint32_t most = callee->n_params - callee->n_kwonly, least = 0;
    while (least < most && !call_has_default(&callee->params[least]))
        least++;
    if (callee->has_varargs)
        snprintf(buffer, size_B, "%u or more arguments", least);
    else if (least == most)
        snprintf(buffer, size_B, "%u argument%s", most, most == 1 ? "" : "s");
    else
        snprintf(buffer, size_B, "%u to %u arguments", least, most);
    return buffer;
}

/* "its arguments are a b" */
static void
call_hint_names(const struct ir_func *callee, struct sp_diag *diag)
{
    struct sp_str all;
    sp_str_init(&all);
    for (uint32_t k = 0; k < callee->n_params; k++)
        sp_str_printf(&all, " %s", callee->params[k].name);
    if (all.len)
        sp_diag_hint(diag, "its arguments are%s", all.data);
    sp_str_finish(&all);
}

/* A keyword that is no parameter: the nearest one, or all. */
static bool
call_fail_name(const struct ir_func *callee, const char *name, struct sp_diag *diag,
               const struct sp_src *where)
{
    struct ir_suggest suggest;
    if (!diag)
        return false;
    sp_diag_set(diag, SP_E_ARGUMENT_NAME, where, callee->name, name);
    ir_suggest_init(&suggest, name);
    for (uint32_t k = callee->n_posonly; k < callee->n_params; k++)
        ir_suggest_try(&suggest, callee->params[k].name);
    if (suggest.best[0])
        sp_diag_hint(diag, "did you mean %s?", suggest.best);
    call_hint_names(callee, diag);
    return false;
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
        call_hint_names(callee, diag);
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
    return call_fail_name(callee, name, diag, where);
}

bool
ir_bind_call(const struct ir_module *module, const struct ir_func *callee, uint32_t n_args,
             ir_const names, struct ir_binding *bindings_out, struct sp_diag *diag,
             const struct sp_src *where)
{
    const struct ir_const_info *keywords = names ? ir_const_info(module, names) : NULL;
    uint32_t n_keywords = keywords ? keywords->len : 0;
    uint32_t n_positional = n_args - n_keywords, n_most = callee->n_params - callee->n_kwonly;
    for (uint32_t k = 0; k < ir_func_n_slots(callee); k++)
        bindings_out[k] = (struct ir_binding){0, 0};
    if (n_positional > n_most) {
        if (!callee->has_varargs)
            return call_fail_count(callee, n_args, diag, where);
        bindings_out[callee->n_params] = (struct ir_binding){n_most + 1, n_positional - n_most};
        n_positional = n_most;
    }
    for (uint32_t k = 0; k < n_positional; k++)
        bindings_out[k].from = k + 1;
    for (uint32_t k = 0; k < n_keywords; k++)
        if (!call_bind_keyword(callee, ir_const_info(module, keywords->elems[k])->str,
                               n_args - n_keywords + k + 1, bindings_out, diag, where))
            return false;
    for (uint32_t k = 0; k < callee->n_params; k++)
        if (!bindings_out[k].from && !call_has_default(&callee->params[k])) {
            if (!n_keywords && k < callee->n_params - callee->n_kwonly)
                return call_fail_count(callee, n_args, diag, where);
            return CALL_FAIL(diag, ARGUMENT_MISSING, where, callee->params[k].name, callee->name);
        }
    return true;
}

const struct ir_func *
ir_class_func(const struct ir_module *module, ir_const class, struct sp_arena *arena)
{
    const struct ir_const_info *info = ir_const_info(module, class);
    struct ir_func *func = SP_NEW(arena, struct ir_func);
    func->name = ir_const_info(module, info->elems[0])->str;
    func->n_params = info->len - 1;
    func->params = SP_NEW_N(arena, struct ir_func_param, info->len);
    for (uint32_t i = 0; i < func->n_params; i++)
        func->params[i].name = ir_const_info(module, info->elems[i + 1])->str;
    const struct ir_const_info *parts = info->named ? ir_const_info(module, info->named) : NULL;
    uint32_t n = parts ? parts->len - 1 : 0;
    for (uint32_t i = 0; i < n && n <= func->n_params; i++)
        func->params[func->n_params - n + i].fallback = parts->elems[i + 1];
    return func;
}

/* ---- Calls of functions ---- */

static struct ir_cell
call_actual(const struct infer *in, const struct ir_instance *instance, struct ir_actual actual)
{
    struct ir_cell cell = infer_seen(instance->cells[actual.value]);
    return actual.elem ? infer_elem(in, cell, actual.elem - 1) : cell;
}

/* What a closure brought along for a slot. */
static struct ir_cell
call_given(const struct infer *in, ir_type closure, uint32_t elem)
{
    const struct ir_type_info *info = ir_type_info(in->module, closure);
    return (struct ir_cell){info->elems[elem], info->consts[elem]};
}

static struct ir_cell
call_extra(struct infer *in, const struct ir_instance *instance, const struct ir_actuals *actuals,
           struct ir_binding binding)
{
    ir_type *elems = SP_NEW_N(in->ctx->arena, ir_type, binding.n);
    ir_const *constants = SP_NEW_N(in->ctx->arena, ir_const, binding.n);
    bool constant = true;
    for (uint32_t i = 0; i < binding.n; i++) {
        struct ir_cell cell = call_actual(in, instance, actuals->list[binding.from - 1 + i]);
        if (!infer_known(cell.type))
            return (struct ir_cell){0};
        elems[i] = cell.type;
        constants[i] = cell.constant;
        constant &= cell.constant != 0;
    }
    return (struct ir_cell){ir_type_tuple(in->module, binding.n, elems),
                            constant ? ir_const_tuple(in->module, binding.n, constants) : 0};
}

/* The cell of each slot; false while an argument is unknown. */
static bool
call_cells(struct infer *in, const struct ir_instance *instance, ir_type closure,
           const struct ir_func *callee, const struct ir_actuals *actuals,
           const struct ir_binding *bindings, struct ir_cell *cells)
{
    uint32_t n = ir_func_n_slots(callee), first_free = n - callee->n_free;
    uint32_t n_elems = ir_type_info(in->module, closure)->n_elems;
    for (uint32_t k = 0; k < n; k++) {
        const struct ir_func_param *param = &callee->params[k];
        if (k >= first_free)
            cells[k] = call_given(in, closure, n_elems - n + k);
        else if (k == callee->n_params)
            cells[k] = call_extra(in, instance, actuals, bindings[k]);
        else if (bindings[k].from)
            cells[k] = call_actual(in, instance, actuals->list[bindings[k].from - 1]);
        else if (param->given)
            cells[k] = call_given(in, closure, param->given - 1);
        else
            cells[k] = infer_constant(in, param->fallback);
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

/* The arguments of a call; false: their number is not known, or *out_ok says that it never will
 * be. */
static bool
call_arguments(struct infer *in, struct ir_instance *instance, ir_ref ref,
               struct ir_actuals *actuals, bool *ok_out)
{
    *ok_out = true;
    if (ir_call_actuals(in->module, instance, ref, in->ctx->arena, actuals))
        return true;
    ir_type spread = instance->cells[ir_arg(instance->func, ref, 1)].type;
    *ok_out = !infer_known(spread) ||
              INFER_FAIL(in, instance, ref, NOT_UNPACKABLE, infer_text(in, spread)) ||
              INFER_HINT(in, "only a tuple gives arguments: f(*t)");
    return false;
}

static bool
call_function(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type,
              const struct ir_func *callee, struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (callee->has_varkw)
        return INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "a device function with **kwargs") ||
               INFER_HINT(in, "list its keyword parameters one by one");
    if (ir_type_info(in->module, type)->n_elems < ir_func_n_given(callee))
        return INFER_FAIL(in, instance, ref, IR_INVALID, callee->name, "it lacks its closure");
    struct ir_actuals actuals;
    bool ok;
    if (!call_arguments(in, instance, ref, &actuals, &ok))
        return ok;
    uint32_t n = ir_func_n_slots(callee);
    struct ir_binding *bindings = SP_NEW_N(in->ctx->arena, struct ir_binding, n);
    if (!ir_bind_call(in->module, callee, actuals.n, insn->imm, bindings,
                      in->reporting ? in->ctx->diag : NULL,
                      in->reporting ? infer_src(in, instance, ref) : NULL))
        return false;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, n);
    if (!call_cells(in, instance, type, callee, &actuals, bindings, cells))
        return true;
    for (uint32_t k = 0; k < n; k++)
        if (!infer_check_size(in, instance, ref, cells[k].type))
            return false;
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

/* int(), gpu.float32() */
static ir_const
infer_zero(struct ir_module *module, ir_type type)
{
    switch (type) {
    case IR_T_BOOL: return ir_const_bool(module, false);
    case IR_T_INT: return ir_const_int(module, 0);
    case IR_T_FLOAT: return ir_const_float(module, 0);
    default:
        return ir_const_intern(
            module, &(struct ir_const_info){.kind = IR_C_TYPED, .scalar = (uint8_t)type});
    }
}

/* Point(1, y=2) of a NamedTuple class. */
static bool
call_class(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_const class,
           struct ir_cell *out)
{
    struct sp_arena *arena = in->ctx->arena;
    const struct ir_func *func = ir_class_func(in->module, class, arena);
    struct ir_actuals actuals;
    bool ok;
    if (!call_arguments(in, instance, ref, &actuals, &ok))
        return ok;
    struct ir_binding *bindings = SP_NEW_N(arena, struct ir_binding, func->n_params + 1);
    if (!ir_bind_call(in->module, func, actuals.n, ir_insn(instance->func, ref)->imm, bindings,
                      in->reporting ? in->ctx->diag : NULL,
                      in->reporting ? infer_src(in, instance, ref) : NULL))
        return false;
    ir_type *elems = SP_NEW_N(arena, ir_type, func->n_params + 1);
    for (uint32_t i = 0; i < func->n_params; i++) {
        elems[i] = bindings[i].from
                       ? call_actual(in, instance, actuals.list[bindings[i].from - 1]).type
                       : infer_constant(in, func->params[i].fallback).type;
        if (!infer_known(elems[i]))
            return true;
    }
    *out = infer_typed(ir_type_intern(in->module, &(struct ir_type_info){.kind = IR_KIND_TUPLE,
                                                                         .object = class,
                                                                         .n_elems = func->n_params,
                                                                         .elems = elems}));
    return true;
}

bool
infer_rule_cast(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type to,
                struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (!ir_type_is_scalar(to))
        return INFER_FAIL(in, instance, ref, NOT_CALLABLE, infer_text(in, to)) ||
               INFER_HINT(in, "store a tuple with a value for each field: a[i] = (1, 2.0)");
    const char *name = ir_scalar_row(to)->name;
    if (insn->imm)
        return INFER_FAIL(in, instance, ref, ARGUMENT_NAME, name,
                          infer_name(in, ir_const_info(in->module, insn->imm)->elems[0]));
    if (insn->n_args == 1) {
        *out = infer_constant(in, infer_zero(in->module, to));
        return true;
    }
    if (insn->n_args != 2)
        return INFER_FAIL(in, instance, ref, ARGUMENT_COUNT, name, "0 to 1 arguments",
                          (int)insn->n_args - 1);
    struct ir_cell a = infer_operand(instance, ref, 1);
    if (!infer_known(a.type))
        return true;
    if (to == IR_T_BOOL && !ir_type_is_scalar(a.type)) {
        int truth = infer_truth(in->module, a);
        if (truth < 0)
            return INFER_FAIL(in, instance, ref, NO_TRUTH, infer_text(in, a.type)) ||
                   INFER_HINT(in, "compare what is meant: x.size > 0, x[i] != 0");
        *out = infer_constant(in, ir_const_bool(in->module, truth));
        return true;
    }
    if (!ir_type_is_scalar(a.type)) {
        INFER_FAIL(in, instance, ref, ARGUMENT_TYPE, "1", name, infer_text(in, a.type));
        enum ir_kind kind = ir_type_info(in->module, a.type)->kind;
        return kind == IR_KIND_ARRAY ? INFER_HINT(in, "cast an element: %s(x[i])", name)
               : kind == IR_KIND_TUPLE
                   ? INFER_HINT(in, "cast one of its elements: %s(t[0])", name)
                   : INFER_HINT(in,
                                "a number is needed; there are math.nan and math.inf, and texts "
                                "become numbers on the host");
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
        return INFER_HINT(in,
                          "a kernel can call Python functions, gpu.*, math.*, and the builtins "
                          "abs bool divmod enumerate float int isinstance len max min pow range "
                          "reversed round sum tuple zip");
    }
    INFER_FAIL(in, instance, ref, NOT_CALLABLE, infer_text(in, type));
    enum ir_kind kind = ir_type_info(in->module, type)->kind;
    if (ir_type_is_scalar(type))
        return INFER_HINT(in, "it is a number: leave the () away, or rename the variable if it "
                              "hides a function");
    if (kind == IR_KIND_TUPLE || kind == IR_KIND_ARRAY || kind == IR_KIND_RANGE)
        return INFER_HINT(in, "its elements are read with []: t[i] rather than t(i)");
    if (object && object->kind == IR_C_NAMESPACE)
        return INFER_HINT(in, "call one of its functions: %s.name(...)", object->str);
    return INFER_HINT(in, "a kernel calls functions, number types and classes of tuples");
}

/* An object whose class has a __call__ written in Python. */
static bool
call_object(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell callee)
{
    const struct ir_question *answer;
    if (!infer_ask(in, instance, ref, callee.constant, "__call__", &answer))
        return true;
    if (answer->answer && ir_const_info(in->module, answer->answer)->kind == IR_C_PARTIAL)
        return infer_rule_expand(in, instance, ref);
    return call_fail(in, instance, ref, callee.type);
}

bool
infer_rule_call(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell callee = infer_operand(instance, ref, 0);
    if (!infer_known(callee.type))
        return true;
    const struct ir_type_info *info = ir_type_info(in->module, callee.type);
    bool is_object = info->kind == IR_KIND_OBJECT || info->kind == IR_KIND_CLOSURE;
    const struct ir_const_info *object = is_object ? ir_const_info(in->module, info->object) : NULL;
    if (!object || object->kind != IR_C_FUNC)
        instance->callees[ref] = 0;
    if (!object)
        return call_fail(in, instance, ref, callee.type);
    if (object->kind == IR_C_FUNC)
        return call_function(in, instance, ref, callee.type, in->module->funcs.data[object->u],
                             out);
    if (object->kind == IR_C_CLASS)
        return call_class(in, instance, ref, info->object, out);
    if (object->kind == IR_C_HOST)
        return call_object(in, instance, ref, callee);
    if (object->kind == IR_C_PARTIAL || ir_insn(instance->func, ref)->op == IR_CALL_EX)
        return infer_rule_expand(in, instance, ref);
    switch ((enum ir_const_kind)object->kind) {
    case IR_C_INTRIN: return infer_rule_intrin(in, instance, ref, (enum ir_intrin)object->u, out);
    case IR_C_EXCEPTION: return infer_rule_exception(in, instance, ref, callee.constant, out);
    case IR_C_DTYPE: return infer_rule_cast(in, instance, ref, object->scalar, out);
    default: return call_fail(in, instance, ref, callee.type);
    }
}
