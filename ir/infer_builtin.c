/* infer_builtin: typing of Python's builtins that are more than one operation, and of isinstance.
 *
 * min, max and sum go over tuples, ranges and arrays of rank 1 as the loops that Python's own would
 * be: sum adds from its start value on, by the rules of `+`. range, enumerate, zip and reversed
 * give values that only loops and a few builtins take. isinstance is decided by the type: bool is
 * an int, float64 a float, as in Python; typed integers are NumPy's, not int. */
#include "ir/infer_t.h"

#include <string.h>

uint32_t
infer_call_keyword(const struct intrin_call *call, const char *name)
{
    ir_const names = ir_insn(call->instance->func, call->ref)->imm;
    const struct ir_const_info *info = names ? ir_const_info(call->in->module, names) : NULL;
    for (uint32_t i = 0; info && i < info->len; i++)
        if (strcmp(infer_name(call->in, info->elems[i]), name) == 0)
            return call->n - info->len + i;
    return UINT32_MAX;
}

uint32_t
infer_call_n_positional(const struct intrin_call *call)
{
    ir_const names = ir_insn(call->instance->func, call->ref)->imm;
    return call->n - (names ? ir_const_info(call->in->module, names)->len : 0);
}

static enum ir_kind
builtin_kind(const struct intrin_call *call, uint32_t i)
{
    return (enum ir_kind)ir_type_info(call->in->module, call->args[i].type)->kind;
}

/* What an iterable argument gives, if it can be gone over without an iterator; IR_T_NONE: it
 * cannot. For a tuple of several types, what they are joined. */
static ir_type
builtin_element(struct intrin_call *call, uint32_t i)
{
    struct infer *in = call->in;
    struct ir_type_info info = *ir_type_info(in->module, call->args[i].type);
    if (info.kind == IR_KIND_RANGE)
        return IR_T_INT;
    if (info.kind == IR_KIND_ARRAY)
        return info.rank == 1 ? ir_type_first_axis_item(in->module, call->args[i].type)
                              : (ir_type)IR_T_NONE;
    ir_type joined = IR_T_NONE;
    for (uint32_t k = 0; info.kind == IR_KIND_TUPLE && k < info.n_elems; k++) {
        if (!ir_type_is_scalar(info.elems[k]))
            return IR_T_NONE;
        joined = ir_type_join(in->module, joined, info.elems[k]);
    }
    return joined;
}

static bool
builtin_fail_iterable(struct intrin_call *call, uint32_t i)
{
    return infer_bad_argument(
        call, i,
        builtin_kind(call, i) == IR_KIND_ARRAY
            ? "it takes an array of one dimension: go over the others in loops"
            : "it takes numbers, or a tuple, a range or an array of numbers");
}

/* Numbers, and tuples of what has an order. */
static bool
builtin_is_ordered(const struct ir_module *module, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(module, type);
    bool ordered = ir_type_is_scalar(type) || info->kind == IR_KIND_TUPLE;
    for (uint32_t i = 0; info->kind == IR_KIND_TUPLE && i < info->n_elems && ordered; i++)
        ordered = builtin_is_ordered(module, info->elems[i]);
    return ordered;
}

/* min(t, u) and min((t, u)) of tuples: what they are joined. */
static bool
builtin_min_of_tuples(struct intrin_call *call, uint32_t n, const ir_type *types,
                      struct ir_cell *out)
{
    ir_type type = types[0];
    for (uint32_t i = 0; i < n; i++) {
        if (!builtin_is_ordered(call->in->module, types[i]))
            return infer_bad_argument(call, n == call->n ? i : 0,
                                      "it compares numbers, or tuples of numbers");
        ir_type joined = ir_type_join(call->in->module, type, types[i]);
        if (!infer_known(joined)) {
            CALL_ERROR(call, CANNOT_MEET,
                       sp_arena_printf(call->in->ctx->arena, "the result of %s", call->name),
                       infer_text(call->in, type), infer_text(call->in, types[i]));
            return CALL_HINT(call, "compare tuples of one length and like elements");
        }
        type = joined;
    }
    *out = infer_typed(type);
    return true;
}

/* The types of the arguments, or of the elements of the only one, if all are tuples. */
static const ir_type *
builtin_tuples(const struct intrin_call *call, uint32_t *n)
{
    const struct ir_module *module = call->in->module;
    struct ir_type_info only = *ir_type_info(module, call->args[0].type);
    bool spread = *n == 1 && only.kind == IR_KIND_TUPLE;
    uint32_t count = spread ? only.n_elems : *n;
    ir_type *types = SP_NEW_N(call->in->ctx->arena, ir_type, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = spread ? only.elems[i] : call->args[i].type;
        if (ir_type_info(module, types[i])->kind != IR_KIND_TUPLE)
            return NULL;
    }
    *n = count;
    return count && (spread || *n > 1) ? types : NULL;
}

/* min and max of constant ints, as sizes are; 0: one is none. */
static ir_const
builtin_fold_minmax(struct intrin_call *call, uint32_t n)
{
    const struct ir_module *module = call->in->module;
    const struct ir_const_info *tuple =
        n == 1 && call->args[0].constant ? ir_const_info(module, call->args[0].constant) : NULL;
    if (n == 1 && (!tuple || builtin_kind(call, 0) != IR_KIND_TUPLE)) /* a range is a tuple, too */
        return 0;
    ir_const best = 0;
    for (uint32_t i = 0; i < (tuple ? tuple->len : n); i++) {
        ir_const c = tuple ? tuple->elems[i] : call->args[i].constant;
        if (!c || ir_const_info(module, c)->kind != IR_C_INT)
            return 0;
        int64_t value = ir_const_info(module, c)->i;
        int64_t old = best ? ir_const_info(module, best)->i : value;
        bool wins = call->id == IR_INTRIN_MIN ? value < old : value > old;
        best = !best || wins ? c : best;
    }
    return best;
}

/* min and max of two or more numbers or tuples, or of one iterable of them. */
static bool
builtin_minmax(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    uint32_t fallback = infer_call_keyword(call, "default"), n = infer_call_n_positional(call);
    if (infer_call_keyword(call, "key") != UINT32_MAX) {
        CALL_ERROR(call, NYI_CONSTRUCT, "the argument 'key'");
        return CALL_HINT(call, "write a loop that compares key(x)");
    }
    if (n == 0 || (n > 1 && fallback != UINT32_MAX)) {
        CALL_ERROR(call, ARGUMENT_NAME, call->name, "default");
        return CALL_HINT(call, "'default' is for one tuple, range or array that may be empty");
    }
    uint32_t n_tuples = n;
    const ir_type *tuples = fallback == UINT32_MAX ? builtin_tuples(call, &n_tuples) : NULL;
    if (tuples)
        return builtin_min_of_tuples(call, n_tuples, tuples, out);
    ir_type type = IR_T_NONE;
    for (uint32_t i = 0; i < n; i++) {
        ir_type arg = n == 1 ? builtin_element(call, 0) : call->args[i].type;
        bool empty = n == 1 && builtin_kind(call, 0) == IR_KIND_TUPLE &&
                     !ir_type_info(in->module, call->args[0].type)->n_elems;
        if (empty && fallback != UINT32_MAX)
            break;
        if (!ir_type_is_scalar(arg) && arg != IR_T_MIXED)
            return n == 1 ? builtin_fail_iterable(call, 0) : infer_bad_argument(call, i, NULL);
        type = ir_type_join(in->module, type, arg);
    }
    if (fallback != UINT32_MAX) {
        if (!ir_type_is_scalar(call->args[fallback].type))
            return infer_bad_argument(call, fallback, "a number is needed");
        type = ir_type_join(in->module, type, call->args[fallback].type);
    }
    if (type == IR_T_MIXED)
        return infer_fail_mixed_args(call);
    *out = infer_typed(type);
    if (type == IR_T_INT && fallback == UINT32_MAX)
        out->constant = builtin_fold_minmax(call, n);
    return true;
}

/* sum(x[, start]) has the type of start + element; of a tuple, as its additions go. */
static bool
builtin_sum(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    struct ir_type_info info = *ir_type_info(in->module, call->args[0].type);
    bool tuple = info.kind == IR_KIND_TUPLE;
    ir_type type = call->n > 1 ? call->args[1].type : (ir_type)IR_T_INT;
    if (!ir_type_is_scalar(type))
        return infer_bad_argument(call, 1, "a number is needed");
    if (!tuple && !ir_type_is_scalar(builtin_element(call, 0)))
        return builtin_fail_iterable(call, 0);
    for (uint32_t i = 0; i < (tuple ? info.n_elems : 1); i++) {
        ir_type elem = tuple ? info.elems[i] : builtin_element(call, 0), old = type;
        if (!ir_type_is_scalar(elem))
            return builtin_fail_iterable(call, 0);
        enum ir_lowering lowering;
        type = ir_bin_type(IR_BIN_ADD, type, elem, false, &lowering);
        if (!infer_known(type))
            return infer_fail_mixed(call, old, elem);
    }
    *out = infer_typed(type);
    return true;
}

/* Whether `ref` is gridsize(...), blockDim or gridDim. */
static bool
builtin_is_grid_size(const struct intrin_call *call, ir_ref ref)
{
    const struct ir_func *func = call->instance->func;
    if (ir_insn(func, ref)->op == IR_CALL) {
        const struct ir_const_info *callee =
            infer_object(call->in, infer_operand(call->instance, ref, 0).type);
        return callee && callee->kind == IR_C_INTRIN && callee->u == IR_INTRIN_GRIDSIZE;
    }
    if (ir_insn(func, ref)->op != IR_CONST)
        return false;
    const struct ir_const_info *info = ir_const_info(call->in->module, ir_insn(func, ref)->imm);
    return info->kind == IR_C_INTRIN && info->u >= IR_INTRIN_NTID_X &&
           info->u <= IR_INTRIN_NCTAID_Z;
}

/* 1, -1, or 0 if the sign of a step is not known. Sizes of the grid are positive. */
static int8_t
builtin_step_sign(const struct intrin_call *call)
{
    if (call->n < 3)
        return 1;
    struct ir_cell step = call->args[2];
    if (step.constant) {
        const struct ir_const_info *info = ir_const_info(call->in->module, step.constant);
        if (info->kind == IR_C_INT || info->kind == IR_C_BOOL)
            return info->i > 0 ? 1 : info->i < 0 ? -1 : 0;
    }
    return builtin_is_grid_size(call, ir_arg(call->instance->func, call->ref, 3));
}

static bool
builtin_has_unit_step(const struct intrin_call *call)
{
    if (call->n < 3)
        return true;
    ir_const step = call->args[2].constant;
    const struct ir_const_info *info = step ? ir_const_info(call->in->module, step) : NULL;
    return info && info->kind == IR_C_INT && (info->i == 1 || info->i == -1);
}

static bool
builtin_range(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    if (!intrin_integers(call))
        return false;
    *out = infer_typed(ir_type_intern(
        in->module, &(struct ir_type_info){.kind = IR_KIND_RANGE,
                                           .step_sign = builtin_step_sign(call),
                                           .unit_step = builtin_has_unit_step(call)}));
    ir_const parts[3] = {ir_const_int(in->module, 0), 0, ir_const_int(in->module, 1)};
    for (uint32_t i = 0; i < call->n; i++) {
        ir_const c = call->args[i].constant;
        c = c ? infer_fold_cast(in->module, c, IR_T_INT) : 0;
        if (!c)
            return true;
        parts[call->n == 1 ? 1 : i] = c;
    }
    if (call->n == 3 && ir_const_info(in->module, parts[2])->i == 0) {
        CALL_ERROR(call, ARGUMENT_TYPE, "3", call->name, "0");
        return CALL_HINT(call, "a range with a step of 0 never ends");
    }
    out->constant = ir_const_tuple(in->module, 3, parts);
    return true;
}

uint64_t
ir_range_length(const struct ir_module *module, ir_const range)
{
    const struct ir_const_info *info = ir_const_info(module, range);
    int64_t start = ir_const_info(module, info->elems[0])->i;
    int64_t stop = ir_const_info(module, info->elems[1])->i;
    int64_t step = ir_const_info(module, info->elems[2])->i;
    if (!step || (step > 0 ? start >= stop : start <= stop))
        return 0;
    uint64_t distance =
        step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    return (distance - 1) / (step > 0 ? (uint64_t)step : 0 - (uint64_t)step) + 1;
}

static bool
builtin_len(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    struct ir_type_info info = *ir_type_info(in->module, call->args[0].type);
    if (info.kind == IR_KIND_TUPLE)
        *out = infer_constant(in, ir_const_int(in->module, info.n_elems));
    else if (info.kind == IR_KIND_ARRAY && info.object && info.rank > 0)
        *out = infer_constant(in, ir_const_info(in->module, info.object)->elems[0]);
    else if (info.kind == IR_KIND_RANGE && call->args[0].constant)
        *out = infer_constant(
            in,
            ir_const_int(in->module, (int64_t)ir_range_length(in->module, call->args[0].constant)));
    else if (info.kind == IR_KIND_RANGE || (info.kind == IR_KIND_ARRAY && info.rank > 0))
        *out = infer_typed(IR_T_INT);
    else
        return infer_bad_argument(call, 0, "arrays, tuples and ranges have a length");
    return true;
}

/* pow(a, b, c): (a ** b) % c, without overflow. */
static bool
builtin_pow_mod(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_integers(call))
        return false;
    enum ir_lowering lowering;
    ir_type a = call->args[0].type, c = call->args[2].type;
    *out = infer_typed(ir_bin_type(IR_BIN_MOD, a, c, false, &lowering));
    return infer_known(out->type) || infer_fail_mixed(call, a, c);
}

static bool
builtin_pow(struct intrin_call *call, struct ir_cell *out)
{
    if (call->n == 3)
        return builtin_pow_mod(call, out);
    if (!intrin_numbers(call))
        return false;
    const struct ir_func *func = call->instance->func;
    int64_t exponent;
    bool negative = ir_program_int(call->in->module, func, ir_arg(func, call->ref, 2), &exponent) &&
                    exponent < 0;
    enum ir_lowering lowering;
    ir_type type =
        ir_bin_type(IR_BIN_POW, call->args[0].type, call->args[1].type, negative, &lowering);
    if (!infer_known(type))
        return infer_fail_mixed(call, call->args[0].type, call->args[1].type);
    out->type = type;
    if (call->args[0].constant && call->args[1].constant)
        out->constant = infer_fold_bin(call->in->module, IR_BIN_POW, call->args[0].constant,
                                       call->args[1].constant, type);
    return true;
}

static bool
builtin_divmod(struct intrin_call *call, struct ir_cell *out)
{
    if (!intrin_numbers(call))
        return false;
    ir_type a = call->args[0].type, b = call->args[1].type;
    struct ir_cell parts[2];
    for (int i = 0; i < 2; i++) {
        enum ir_binop op = i ? IR_BIN_MOD : IR_BIN_FLOORDIV;
        enum ir_lowering lowering;
        parts[i] = infer_typed(ir_bin_type(op, a, b, false, &lowering));
        if (!infer_known(parts[i].type))
            return infer_fail_mixed(call, a, b);
        if (call->args[0].constant && call->args[1].constant)
            parts[i].constant = infer_fold_bin(call->in->module, op, call->args[0].constant,
                                               call->args[1].constant, parts[i].type);
    }
    *out = infer_make_tuple(call->in, 2, parts);
    return true;
}

/* ---- Iterators ---- */

/* The iterator that a loop over argument i would use. */
static bool
builtin_iter(struct intrin_call *call, uint32_t i, bool reversed, bool unrolled, ir_type *out)
{
    struct infer *in = call->in;
    ir_ref arg = ir_arg(call->instance->func, call->ref, i + 1);
    if (!infer_check_once(in, call->instance, call->ref, arg))
        return false;
    if (!unrolled && infer_iter_waits(in, call->instance, call->ref, call->args[i].type))
        return false;
    bool tuple = builtin_kind(call, i) == IR_KIND_TUPLE;
    bool marked = tuple && infer_is_unrolled(call->instance, call->ref);
    *out = infer_iter(in, call->args[i], reversed, unrolled || marked);
    return *out != IR_T_NONE;
}

static bool
builtin_enumerate(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    ir_type iter;
    if (!builtin_iter(call, 0, false, false, &iter))
        return infer_fail_iter(in, call->instance, call->ref, call->args[0].type);
    ir_const start = ir_const_int(in->module, 0);
    if (call->n > 1) {
        if (!ir_type_is_scalar(call->args[1].type) || !ir_is_integer(call->args[1].type))
            return infer_bad_argument(call, 1, "an integer is needed");
        start = call->args[1].constant;
        start = start ? infer_fold_cast(in->module, start, IR_T_INT) : 0;
    }
    *out = infer_typed(infer_iter_enumerate(in, iter, start));
    return true;
}

static bool
builtin_zip(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    if (infer_call_keyword(call, "strict") != UINT32_MAX) {
        CALL_ERROR(call, NYI_CONSTRUCT, "the argument 'strict'");
        return CALL_HINT(call, "compare the lengths before the launch; zip ends with the shortest");
    }
    ir_type *iters = SP_NEW_N(in->ctx->arena, ir_type, call->n + 1);
    for (uint32_t i = 0; i < call->n; i++)
        if (!builtin_iter(call, i, false, false, &iters[i]))
            return infer_fail_iter(in, call->instance, call->ref, call->args[i].type);
    *out = infer_typed(infer_iter_zip(in, call->n, iters));
    return true;
}

static bool
builtin_reversed(struct intrin_call *call, struct ir_cell *out)
{
    ir_type iter;
    if (builtin_iter(call, 0, true, false, &iter)) {
        *out = infer_typed(iter);
        return true;
    }
    return infer_bad_argument(call, 0,
                              builtin_kind(call, 0) == IR_KIND_ITER
                                  ? "reverse what the iterator goes over"
                                  : "ranges, arrays and tuples can be reversed");
}

/* gpu.unroll(x): every round of the loop over x has its own types and constants. */
static bool
builtin_unroll(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    ir_type iter;
    if (builtin_iter(call, 0, false, true, &iter) && builtin_kind(call, 0) != IR_KIND_ITER) {
        *out = infer_typed(iter);
        return true;
    }
    if (builtin_kind(call, 0) == IR_KIND_RANGE) {
        if (call->args[0].constant)
            return CALL_ERROR(call, TOO_MANY_ROUNDS,
                              (long long)ir_range_length(in->module, call->args[0].constant));
        CALL_ERROR(call, NEEDS_CONSTANT, "a range that is unrolled");
        return CALL_HINT(call, "write numbers, or globals, as its bounds");
    }
    return infer_bad_argument(call, 0, "tuples and constant ranges can be unrolled");
}

/* tuple(x) of a tuple, a constant range, or an iterator whose length is known. */
static bool
builtin_tuple(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    if (call->n == 0) {
        *out = infer_make_tuple(in, 0, NULL);
        return true;
    }
    if (builtin_kind(call, 0) == IR_KIND_TUPLE) {
        *out = call->args[0];
        return true;
    }
    ir_type iter;
    bool range = builtin_kind(call, 0) == IR_KIND_RANGE;
    bool good = builtin_iter(call, 0, false, range && call->args[0].constant, &iter);
    int64_t n = good ? infer_iter_length(in, iter) : -1;
    if (n < 0 && range && call->args[0].constant) {
        CALL_ERROR(call, NYI_CONSTRUCT, "a tuple of a range of more than 1024 numbers");
        return CALL_HINT(call, "compute the numbers where they are used, or pass an array");
    }
    if (n < 0)
        return infer_bad_argument(call, 0, "a tuple's length is part of its type");
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        cells[i] = infer_iter_value(in, iter);
        iter = ir_iter_next(in->module, iter);
    }
    *out = infer_make_tuple(in, (uint32_t)n, cells);
    return true;
}

/* ---- isinstance ---- */

/* Whether a value of this type is one of a class: 1, 0, or -1: that is no class to us. */
static int
builtin_is_instance(struct infer *in, ir_type type, ir_const class)
{
    const struct ir_const_info *info = ir_const_info(in->module, class);
    bool scalar = ir_type_is_scalar(type), weak = scalar && ir_scalar_row(type)->weak;
    bool floats = scalar && ir_is_float(type), typed = scalar && !weak && type != IR_T_BOOL;
    if (info->kind == IR_C_TUPLE) {
        int found = 0;
        for (uint32_t i = 0; i < info->len && found == 0; i++)
            found = builtin_is_instance(in, type, info->elems[i]);
        return found;
    }
    if (info->kind == IR_C_DTYPE) {
        ir_type want = info->scalar;
        return type == want || (want == IR_T_INT && type == IR_T_BOOL) ||
               (want == IR_T_FLOAT && type == IR_T_FLOAT64);
    }
    if (info->kind != IR_C_INTRIN)
        return -1;
    enum ir_kind kind = (enum ir_kind)ir_type_info(in->module, type)->kind;
    switch ((enum ir_intrin)info->u) {
    case IR_INTRIN_TUPLE_: return kind == IR_KIND_TUPLE;
    case IR_INTRIN_RANGE: return kind == IR_KIND_RANGE;
    case IR_INTRIN_STR: return infer_is_text(in, type);
    case IR_INTRIN_NP_GENERIC:
    case IR_INTRIN_NP_NUMBER: return typed;
    case IR_INTRIN_NP_INTEGER: return typed && !floats;
    case IR_INTRIN_NP_SIGNEDINTEGER: return typed && !floats && !ir_is_unsigned(type);
    case IR_INTRIN_NP_UNSIGNEDINTEGER: return typed && ir_is_unsigned(type);
    case IR_INTRIN_NP_INEXACT:
    case IR_INTRIN_NP_FLOATING: return typed && floats;
    default: return -1;
    }
}

static bool
builtin_isinstance(struct intrin_call *call, struct ir_cell *out)
{
    struct infer *in = call->in;
    ir_const value = call->args[0].constant;
    ir_type type = call->args[0].type;
    if (!in->settling && !in->reporting) {
        struct infer_item item = {call->instance->index, call->ref};
        sp_vec_push(in->ctx->arena, &in->pending, item);
        return false;
    }
    if (value && ir_const_info(in->module, value)->kind == IR_C_UINT)
        type = IR_T_INT; /* a large number of the program */
    int found = call->args[1].constant ? builtin_is_instance(in, type, call->args[1].constant) : -1;
    if (found < 0)
        return infer_bad_argument(
            call, 1,
            "it knows int, float, bool, str, tuple, range, NumPy's scalar types, "
            "and tuples of them; an array has a dtype and an ndim");
    *out = infer_constant(in, ir_const_bool(in->module, found));
    return true;
}

bool
infer_rule_builtin(struct intrin_call *call, struct ir_cell *out)
{
    switch ((enum ir_rule)call->row->rule) {
    case IR_RULE_MINMAX: return builtin_minmax(call, out);
    case IR_RULE_SUM: return builtin_sum(call, out);
    case IR_RULE_RANGE: return builtin_range(call, out);
    case IR_RULE_LEN: return builtin_len(call, out);
    case IR_RULE_POW_BUILTIN: return builtin_pow(call, out);
    case IR_RULE_DIVMOD: return builtin_divmod(call, out);
    case IR_RULE_ENUMERATE: return builtin_enumerate(call, out);
    case IR_RULE_ZIP: return builtin_zip(call, out);
    case IR_RULE_REVERSED: return builtin_reversed(call, out);
    case IR_RULE_UNROLL: return builtin_unroll(call, out);
    case IR_RULE_TUPLE: return builtin_tuple(call, out);
    case IR_RULE_ISINSTANCE: return builtin_isinstance(call, out);
    case IR_RULE_NONE:
        CALL_ERROR(call, NOT_CALLABLE, call->name);
        return CALL_HINT(call, "it is a class of types: isinstance(x, %s)", call->name);
    default: return false;
    }
}
