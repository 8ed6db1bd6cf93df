/* infer_intrin: typing of calls to the kernel namespace, one small function per rule of intrin.def.
 *
 * The table gives the number of arguments; a rule gives the result for their types. Keyword
 * arguments exist only where the function in Python has them. */
#include "ir/infer_t.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *
infer_number_hint(struct infer *in, ir_type type)
{
    const struct ir_const_info *object = infer_object(in, type);
    switch (ir_type_info(in->module, type)->kind) {
    case IR_KIND_ARRAY: return "give an element: x[i]";
    case IR_KIND_TUPLE: return "give one of its elements: t[0], or write a loop: for v in t";
    case IR_KIND_RANGE: return "give one of its numbers, or write a loop: for i in r";
    default: break;
    }
    return object && object->kind == IR_C_STR
               ? "a number is needed; texts become numbers on the host"
               : NULL;
}

bool
infer_bad_argument(struct intrin_call *call, uint32_t i, const char *instead)
{
    const char *which = sp_arena_printf(call->in->ctx->arena, "%u", i + 1);
    ir_type type = call->args[i].type;
    CALL_ERROR(call, ARGUMENT_TYPE, which, call->name, infer_text(call->in, type));
    if (instead)
        return CALL_HINT(call, "%s", instead);
    const char *hint = infer_number_hint(call->in, type);
    return hint ? CALL_HINT(call, "%s", hint) : false;
}

bool
infer_want_constant(struct intrin_call *call, uint32_t i, const char *what, bool *wait_out)
{
    *wait_out = false;
    if (call->args[i].constant)
        return true;
    ir_ref arg = ir_arg(call->instance->func, call->ref, i + 1);
    *wait_out = infer_demand(call->in, call->instance, arg) && !call->in->reporting;
    return *wait_out ? false : CALL_ERROR(call, NEEDS_CONSTANT, what);
}

bool
intrin_numbers(struct intrin_call *call)
{
    for (uint32_t i = 0; i < call->n; i++)
        if (!ir_type_is_scalar(call->args[i].type))
            return infer_bad_argument(call, i, NULL);
    return true;
}

bool
intrin_integers(struct intrin_call *call)
{
    for (uint32_t i = 0; i < call->n; i++)
        if (!ir_type_is_scalar(call->args[i].type) || !ir_is_integer(call->args[i].type))
            return infer_bad_argument(call, i,
                                      ir_type_is_scalar(call->args[i].type)
                                          ? "an integer is needed: write int(...), or // for /"
                                          : NULL);
    return true;
}

static ir_type
intrin_float_type(const struct intrin_call *call)
{
    ir_type best = IR_T_FLOAT;
    for (uint32_t i = 0; i < call->n; i++)
        best = ir_math_type(2, (ir_type[]){best, call->args[i].type});
    return best;
}

static bool
intrin_math(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    *out = infer_typed(intrin_float_type(call));
    return true;
}

/* math.modf and math.frexp: a pair whose first is a float. */
static bool
intrin_pair(struct intrin_call *call, bool second_is_int, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    ir_type type = intrin_float_type(call);
    ir_type elems[2] = {type, second_is_int ? IR_T_INT : type};
    *out = infer_typed(ir_type_tuple(call->in->module, 2, elems));
    return true;
}

static bool
intrin_ldexp(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    if (!ir_is_integer(call->args[1].type))
        return infer_bad_argument(call, 1, NULL);
    *out = infer_typed(ir_math_type(1, &call->args[0].type));
    return true;
}

/* floor, ceil and trunc of constants, which sizes are made of: math.ceil(N / 32); 0: at run
 * time. */
static ir_const
intrin_fold_round(struct intrin_call *call)
{
    struct ir_module *module = call->in->module;
    const struct ir_const_info *x = ir_const_info(module, call->args[0].constant);
    if (x->kind == IR_C_INT)
        return call->args[0].constant;
    if (x->kind != IR_C_FLOAT || module->single || call->row->rule != IR_RULE_ROUND)
        return 0;
    double value = call->id == IR_INTRIN_FLOOR  ? floor(x->f)
                   : call->id == IR_INTRIN_CEIL ? ceil(x->f)
                                                : trunc(x->f);
    return infer_fold_cast(module, ir_const_float(module, value), IR_T_INT);
}

static bool
intrin_round(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    *out = infer_typed(ir_func_type(IR_NUM_ROUND, call->args[0].type));
    if (call->args[0].constant && out->type == IR_T_INT)
        out->constant = intrin_fold_round(call);
    return true;
}

static bool
intrin_round_digits(struct intrin_call *call, struct ir_cell *out)
{
    if (call->n == 1)
        return intrin_round(call, out);
    if (!intrin_numbers(call))
        return false;
    if (!ir_is_integer(call->args[1].type))
        return infer_bad_argument(call, 1, NULL);
    bool wait;
    if (!infer_want_constant(call, 1, "the number of digits", &wait))
        return wait;
    *out = infer_typed(ir_func_type(IR_NUM_DIGITS, call->args[0].type));
    return true;
}

static bool
intrin_grid(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_integers(call))
        return false;
    bool wait;
    if (!infer_want_constant(call, 0, "the number of dimensions", &wait))
        return wait || CALL_HINT(call, "write 1, 2 or 3");
    int64_t n = ir_const_info(call->in->module, call->args[0].constant)->i;
    if (n < 1 || n > 3) {
        const char *text = sp_arena_printf(call->in->ctx->arena, "%lld", (long long)n);
        CALL_ERROR(call, ARGUMENT_TYPE, "1", call->name, text);
        return CALL_HINT(call, "it is the number of dimensions: 1, 2 or 3");
    }
    static const ir_type ints[3] = {IR_T_INT, IR_T_INT, IR_T_INT};
    *out = infer_typed(n == 1 ? IR_T_INT : ir_type_tuple(call->in->module, (uint32_t)n, ints));
    return true;
}

static bool
intrin_abs(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    *out = infer_typed(ir_func_type(IR_NUM_ABS, call->args[0].type));
    return true;
}

static bool
intrin_slice(struct intrin_call *call, struct ir_cell *out)
{
    ir_const none = ir_const_simple(call->in->module, IR_C_NONE, 0);
    struct ir_cell cells[3];
    for (uint32_t i = 0; i < 3; i++)
        cells[i] = infer_constant(call->in, none);
    for (uint32_t i = 0; i < call->n; i++)
        cells[call->n == 1 ? 1 : i] = call->args[i];
    return infer_slice(call->in, call->instance, call->ref, cells, out);
}

bool
infer_fail_mixed(struct intrin_call *call, ir_type a, ir_type b)
{
    CALL_ERROR(call, MIXED_SIGNS, infer_text(call->in, a), infer_text(call->in, b));
    return CALL_HINT(call, "cast one argument, for example gpu.int64(...)");
}

bool
infer_fail_mixed_args(struct intrin_call *call)
{
    for (uint32_t i = 0; i < call->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (ir_type_join(call->in->module, call->args[k].type, call->args[i].type) ==
                IR_T_MIXED)
                return infer_fail_mixed(call, call->args[k].type, call->args[i].type);
    return infer_fail_mixed(call, call->args[0].type, call->args[call->n - 1].type);
}

static bool
intrin_gcd(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_integers(call))
        return false;
    ir_type type = IR_T_INT;
    for (uint32_t i = 0; i < call->n; i++)
        type = ir_type_join(call->in->module, type, call->args[i].type);
    if (type == IR_T_MIXED)
        return infer_fail_mixed_args(call);
    *out = infer_typed(type);
    return true;
}

static bool
intrin_bool(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    *out = infer_typed(IR_T_BOOL);
    return true;
}

static bool
intrin_isqrt(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_integers(call))
        return false;
    return intrin_abs(call, out);
}

/* operator.add(a, b) is a + b. */
static bool
intrin_operator(struct intrin_call *call, struct ir_cell *out)
{
    call->instance->operators[call->ref] = (uint16_t)call->id;
    if (!infer_rule_operation(call->in, call->instance, call->ref, out))
        return false;
    if (ir_operator_row(call->id).op == IR_SETITEM)
        *out = infer_constant(call->in, ir_const_simple(call->in->module, IR_C_NONE, 0));
    return true;
}

static bool
intrin_index(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_integers(call))
        return false;
    *out = (struct ir_cell){IR_T_INT, 0};
    if (call->args[0].constant)
        out->constant = infer_fold_cast(call->in->module, call->args[0].constant, IR_T_INT);
    return true;
}

/* The block's barriers: of a predicate how many threads it is true for, whether for all, for
 * any. */
static bool
intrin_barrier(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    if (call->n)
        *out = infer_typed(call->id == IR_INTRIN_SYNCTHREADS_COUNT ? IR_T_INT : IR_T_BOOL);
    else
        *out = infer_constant(call->in, ir_const_simple(call->in->module, IR_C_NONE, 0));
    return true;
}

/* A group of threads is a namespace of its methods. */
static bool
intrin_this_grid(struct intrin_call *call, struct ir_cell *out)
{
    ir_const group;
    bool found = ir_path_const(call->in->module, "gpu.cg.GridGroup", &group);
    assert(found && "the namespace of the group's methods");
    *out = infer_constant(call->in, group);
    return found;
}

static bool
intrin_syncwarp(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_integers(call))
        return false;
    *out = infer_constant(call->in, ir_const_simple(call->in->module, IR_C_NONE, 0));
    return true;
}

static bool
intrin_dispatch(struct intrin_call *call, struct ir_cell *out)
{
    switch ((enum ir_rule)call->row->rule) {
    case IR_RULE_SREG: return CALL_ERROR(call, NOT_CALLABLE, call->name);
    case IR_RULE_GRID: return intrin_grid(call, out);
    case IR_RULE_ATOMIC:
    case IR_RULE_CAS: return infer_rule_atomic(call, out);
    case IR_RULE_ABS: return intrin_abs(call, out);
    case IR_RULE_SLICE: return intrin_slice(call, out);
    case IR_RULE_ROUND_DIGITS: return intrin_round_digits(call, out);
    case IR_RULE_MATH:
    case IR_RULE_LOG:
    case IR_RULE_FCORE:
    case IR_RULE_HYPOT:
    case IR_RULE_ULP: return intrin_math(call, out);
    case IR_RULE_ROUND: return intrin_round(call, out);
    case IR_RULE_TEST:
    case IR_RULE_ISCLOSE: return intrin_bool(call, out);
    case IR_RULE_FREXP: return intrin_pair(call, true, out);
    case IR_RULE_MODF: return intrin_pair(call, false, out);
    case IR_RULE_LDEXP: return intrin_ldexp(call, out);
    case IR_RULE_GCD: return intrin_gcd(call, out);
    case IR_RULE_ISQRT: return intrin_isqrt(call, out);
    case IR_RULE_OPERATOR: return intrin_operator(call, out);
    case IR_RULE_INDEX: return intrin_index(call, out);
    case IR_RULE_MEMORY: return infer_rule_memory(call, out);
    case IR_RULE_NP_FLOAT: return intrin_math(call, out);
    case IR_RULE_NP_POWER:
    case IR_RULE_NP_FMOD:
    case IR_RULE_NP_SAME:
    case IR_RULE_NP_ROUND:
    case IR_RULE_NP_JOIN:
    case IR_RULE_NP_BOOL:
    case IR_RULE_NP_BITS:
    case IR_RULE_NP_DTYPE: return infer_rule_numpy(call, out);
    case IR_RULE_METHOD: return infer_rule_method(call, out);
    case IR_RULE_THIS_GRID: return intrin_this_grid(call, out);
    case IR_RULE_BARRIER:
    case IR_RULE_GRID_SYNC:
    case IR_RULE_FENCE: return intrin_barrier(call, out);
    case IR_RULE_SYNCWARP: return intrin_syncwarp(call, out);
    case IR_RULE_WARP: return infer_rule_warp(call, out);
    case IR_RULE_CLOCK: return infer_rule_clock(call, out);
    case IR_RULE_BITS: return infer_rule_bits(call, out);
    case IR_RULE_LANEMASK: *out = infer_typed(IR_T_UINT32); return true;
    case IR_RULE_PRINT: return infer_rule_print(call, out);
    case IR_RULE_TEXT: return infer_rule_text_call(call, out);
    default: return infer_rule_builtin(call, out);
    }
    return false;
}

/* Keywords name optional parameters; those of min, max, zip and print have no position. */
static bool
intrin_check_keywords(struct intrin_call *call, ir_const names)
{
    const struct ir_const_info *info = ir_const_info(call->in->module, names);
    bool only = call->row->rule == IR_RULE_MINMAX || call->row->rule == IR_RULE_ZIP ||
                call->row->rule == IR_RULE_PRINT;
    for (uint32_t i = 0; i < info->len; i++) {
        const char *name = infer_name(call->in, info->elems[i]), *param;
        uint32_t k = only ? 0 : (uint32_t)call->row->min_args;
        while ((param = ir_intrin_param(call->id, k)) && strcmp(param, name) != 0)
            k++;
        if (!param)
            return CALL_ERROR(call, ARGUMENT_NAME, call->name, name) ||
                   CALL_HINT(call, "%s", call->row->doc);
        if (!only && k < call->n - info->len)
            return CALL_ERROR(call, ARGUMENT_TWICE, name, call->name);
    }
    return true;
}

uint32_t
ir_intrin_operand(const struct ir_module *module, const struct ir_insn *call, enum ir_intrin id,
                  uint32_t k)
{
    const struct ir_const_info *names = call->imm ? ir_const_info(module, call->imm) : NULL;
    uint32_t n = call->n_args - 1u, n_names = names ? names->len : 0;
    if (k < n - n_names)
        return k + 1;
    const char *param = ir_intrin_param(id, k);
    for (uint32_t i = 0; param && i < n_names; i++)
        if (strcmp(ir_const_info(module, names->elems[i])->str, param) == 0)
            return n - n_names + i + 1;
    return 0;
}

static bool
intrin_check_count(struct intrin_call *call)
{
    const struct ir_intrin_row *row = call->row;
    if (row->rule == IR_RULE_SREG || ((int64_t)call->n >= row->min_args &&
                                      (row->max_args < 0 || call->n <= (uint32_t)row->max_args)))
        return true;
    const char *most = row->max_args < 0
                           ? "or more"
                           : sp_arena_printf(call->in->ctx->arena, "to %d", row->max_args);
    const char *takes =
        row->min_args == row->max_args
            ? sp_arena_printf(call->in->ctx->arena, "%d argument%s", row->min_args,
                              row->min_args == 1 ? "" : "s")
            : sp_arena_printf(call->in->ctx->arena, "%d %s arguments", row->min_args, most);
    CALL_ERROR(call, ARGUMENT_COUNT, call->name, takes, (int)call->n);
    return CALL_HINT(call, "%s", row->doc);
}

bool
infer_rule_intrin(struct infer *in, struct ir_instance *instance, ir_ref ref, enum ir_intrin id,
                  struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    struct intrin_call call = {in,   instance,          ref, id, ir_intrin_row(id),
                               NULL, insn->n_args - 1u, NULL};
    bool builtin = strncmp(call.row->path, "builtins.", 9) == 0;
    call.name = call.row->path + (builtin ? 9 : 0);
    if (!intrin_check_count(&call) || (insn->imm && !intrin_check_keywords(&call, insn->imm)))
        return false;
    ir_ref self = 0;
    if (call.row->rule == IR_RULE_METHOD) {
        if (!(self = ir_method_self(instance->func, ref))) {
            CALL_ERROR(&call, NYI_CONSTRUCT, "a method that is not called where it is named");
            return CALL_HINT(&call, "write x.%s(...)", strchr(call.name, '.') + 1);
        }
        call.n++;
    }
    call.args = SP_NEW_N(in->ctx->arena, struct ir_cell, call.n);
    for (uint32_t i = 0; i < call.n; i++) {
        call.args[i] =
            self && i == 0 ? instance->cells[self] : infer_operand(instance, ref, self ? i : i + 1);
        if (!infer_known(call.args[i].type))
            return true;
    }
    return intrin_dispatch(&call, out);
}
