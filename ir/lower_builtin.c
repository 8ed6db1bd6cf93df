/* lower_builtin: Python's builtins that are more than one operation.
 *
 * min, max and sum of an array are loops in the order of its elements, of a tuple straight code, of
 * a range a few instructions (min, max) or a loop (sum). pow(a, b, c) squares and multiplies in 64
 * unsigned bits: a product of factors below 2**32 is exact there, others are added up bit by bit.
 *
 *     sum(x)  ->  head:  %k = phi 0, %k2   %acc = phi 0.0, %acc2    br (icmp.slt %k, %n), body, exit
 *                 body:  %acc2 = fadd %acc, (load x[k])             %k2 = add %k, 1
 *
 * min and max of integers of different types choose among the arguments as they are, not among
 * converted ones: gpu.int8(5) is less than 300, though int8(300) is 44. */
#include "ir/lower.h"

#include <assert.h>
#include <string.h>

static ir_type
builtin_type(const struct lower *l, ir_ref py)
{
    return l->inst->cells[py].type;
}

static ir_ref
builtin_i64(struct lower *l, int64_t value)
{
    return lower_int(l, IR_T_I64, value);
}

/* ---- min, max ---- */

struct builtin_choice {
    const struct lower_value *args;
    ir_ref *taken; /* argument k (1 and up) replaced the best of those before */
    bool same_types;
    struct lower_value best; /* same_types: the best so far */
};

/* `x` <op> the best of the first `n` arguments. */
static ir_ref
builtin_beats(struct lower *l, const struct builtin_choice *choice, enum ir_cmpop op,
              struct lower_value x, uint32_t n)
{
    if (choice->same_types)
        return lower_compare(l, op, x, choice->best);
    ir_ref r = lower_compare(l, op, x, choice->args[0]);
    for (uint32_t k = 1; k < n; k++)
        r = lower_select(l, choice->taken[k], lower_compare(l, op, x, choice->args[k]), r);
    return r;
}

/* Of n values. Where the result is a float all convert first, which keeps their order. */
static struct lower_value
builtin_choose(struct lower *l, enum ir_cmpop op, ir_type type, uint32_t n,
               struct lower_value *args)
{
    struct builtin_choice choice = {args, SP_NEW_N(l->core->arena, ir_ref, n), true, {0, 0, 0}};
    for (uint32_t k = 0; k < n; k++) {
        if (ir_is_float(type))
            args[k] = lower_convert(l, args[k], type);
        choice.same_types &= args[k].type == args[0].type;
    }
    choice.best = args[0];
    ir_ref result = lower_convert(l, args[0], type).parts[0];
    for (uint32_t k = 1; k < n; k++) {
        choice.taken[k] = builtin_beats(l, &choice, op, args[k], k);
        ir_ref x = lower_convert(l, args[k], type).parts[0];
        result = lower_select(l, choice.taken[k], x, result);
        if (choice.same_types)
            choice.best = lower_scalar(l, type, result);
    }
    return lower_scalar(l, type, result);
}

ir_ref
lower_keyword(const struct lower *l, ir_ref py, const char *name)
{
    ir_const names = ir_insn(l->from, py)->imm;
    const struct ir_const_info *info = names ? ir_const_info(l->py, names) : NULL;
    for (uint32_t k = 0; info && k < info->len; k++)
        if (strcmp(ir_const_info(l->py, info->elems[k])->str, name) == 0)
            return lower_arg(l, py, lower_n_args(l, py) - info->len + k);
    return 0;
}

/* The extreme of an array's elements; of none, `fallback`. */
static struct lower_value
builtin_choose_row(struct lower *l, ir_ref py, enum ir_cmpop op, struct lower_value array,
                   ir_ref fallback, ir_type type)
{
    ir_ref n = array.parts[1], zero = builtin_i64(l, 0), one = builtin_i64(l, 1);
    ir_type row = ir_element_type((ir_type)lower_info(l, array.type)->dtype);
    struct lower_value first = lower_zero(l, row);
    if (!fallback)
        lower_inside(l, py, "", lower_scalar(l, IR_T_INT, zero), n); /* where bounds are checked */
    /* Whether it is the first round, the best so far. */
    struct lower_loop loop;
    lower_loop_open(l, &loop, 2, (ir_ref[]){zero, first.parts[0]});
    ir_ref k = loop.phis[0];
    lower_mark_nonneg(l, k);
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_SLT, k, n));
    struct lower_value x = lower_first_axis_item(l, array, k),
                       best = lower_scalar(l, row, loop.phis[1]);
    ir_ref beats =
        lower_op2(l, IR_OR, lower_icmp(l, IR_ICMP_EQ, k, zero), lower_compare(l, op, x, best));
    ir_ref next = lower_select(l, beats, x.parts[0], loop.phis[1]);
    lower_loop_close(l, &loop, (ir_ref[]){lower_op2(l, IR_ADD, k, one), next});
    struct lower_value result = lower_convert(l, lower_scalar(l, row, loop.phis[1]), type);
    if (!fallback)
        return result;
    ir_ref some = lower_icmp(l, IR_ICMP_NE, n, zero);
    return lower_scalar(l, type, lower_select(l, some, result.parts[0], fallback));
}

/* Of tuples: all are converted first. */
static struct lower_value
builtin_choose_tuple(struct lower *l, enum ir_cmpop op, ir_type type, uint32_t n,
                     const struct lower_value *args)
{
    struct lower_value best = lower_convert(l, args[0], type);
    for (uint32_t k = 1; k < n; k++) {
        struct lower_value x = lower_convert(l, args[k], type);
        ir_ref beats = lower_compare(l, op, x, best);
        ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, best.n);
        for (uint32_t i = 0; i < best.n; i++)
            parts[i] = lower_select(l, beats, x.parts[i], best.parts[i]);
        best.parts = parts;
    }
    return best;
}

static struct lower_value
builtin_minmax(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = builtin_type(l, py);
    enum ir_cmpop op = id == IR_INTRIN_MIN ? IR_CMP_LT : IR_CMP_GT;
    ir_ref fallback_py = lower_keyword(l, py, "default");
    ir_ref fallback = fallback_py ? lower_get_as(l, fallback_py, type) : 0;
    uint32_t n = lower_n_args(l, py) - (fallback_py != 0);
    struct lower_value over = lower_get(l, lower_arg(l, py, 0));
    const struct ir_type_info *info = lower_info(l, over.type);
    if (n == 1 && info->kind == IR_KIND_ARRAY)
        return builtin_choose_row(l, py, op, over, fallback, type);
    if (n == 1 && info->kind == IR_KIND_RANGE) {
        ir_ref length = lower_range_length(l, over), zero = builtin_i64(l, 0);
        if (!fallback)
            lower_inside(l, py, "range", lower_scalar(l, IR_T_INT, zero), length);
        struct lower_value ends[2] = {
            lower_scalar(l, IR_T_INT, over.parts[0]),
            lower_scalar(l, IR_T_INT, lower_range_value(l, over, length, true))};
        struct lower_value end = builtin_choose(l, op, type, 2, ends);
        ir_ref some = lower_icmp(l, IR_ICMP_NE, length, zero);
        return fallback ? lower_scalar(l, type, lower_select(l, some, end.parts[0], fallback))
                        : end;
    }
    bool one = n == 1;
    if (one)
        n = info->n_elems;
    if (!n)
        return lower_scalar(l, type, fallback);
    struct lower_value *args = SP_NEW_N(l->core->arena, struct lower_value, n);
    for (uint32_t k = 0; k < n; k++)
        args[k] = one ? lower_elem(l, over, k) : lower_get(l, lower_arg(l, py, k));
    return ir_type_is_scalar(type) ? builtin_choose(l, op, type, n, args)
                                   : builtin_choose_tuple(l, op, type, n, args);
}

/* ---- sum ---- */

static struct lower_value
builtin_add(struct lower *l, struct lower_value a, struct lower_value b)
{
    enum ir_lowering how;
    ir_type type = ir_bin_type(IR_BIN_ADD, a.type, b.type, false, &how);
    ir_ref x = lower_convert(l, a, type).parts[0], y = lower_convert(l, b, type).parts[0];
    return lower_scalar(l, type,
                        ir_is_float(type) ? lower_op2(l, IR_FADD, x, y)
                                          : lower_int_op(l, how, x, y, type));
}

static struct lower_value
builtin_sum(struct lower *l, ir_ref py)
{
    ir_type type = builtin_type(l, py);
    struct lower_value over = lower_get(l, lower_arg(l, py, 0));
    struct lower_value sum = lower_n_args(l, py) > 1 ? lower_get(l, lower_arg(l, py, 1))
                                                     : lower_scalar(l, IR_T_INT, builtin_i64(l, 0));
    const struct ir_type_info *info = lower_info(l, over.type);
    if (info->kind == IR_KIND_TUPLE) {
        for (uint32_t k = 0; k < info->n_elems; k++)
            sum = builtin_add(l, sum, lower_elem(l, over, k));
        return lower_convert(l, sum, type);
    }
    bool range = info->kind == IR_KIND_RANGE;
    ir_ref n = range ? lower_range_length(l, over) : over.parts[1];
    struct lower_loop loop;
    lower_loop_open(l, &loop, 2,
                    (ir_ref[]){builtin_i64(l, 0), lower_convert(l, sum, type).parts[0]});
    ir_ref k = loop.phis[0];
    lower_mark_nonneg(l, k);
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_SLT, k, n));
    struct lower_value x = range ? lower_scalar(l, IR_T_INT, lower_range_value(l, over, k, false))
                                 : lower_first_axis_item(l, over, k);
    sum = lower_convert(l, builtin_add(l, lower_scalar(l, type, loop.phis[1]), x), type);
    lower_loop_close(l, &loop,
                     (ir_ref[]){lower_op2(l, IR_ADD, k, builtin_i64(l, 1)), sum.parts[0]});
    return lower_scalar(l, type, loop.phis[1]);
}

/* ---- divmod, pow ---- */

static struct lower_value
builtin_divmod(struct lower *l, ir_ref py)
{
    ir_type tuple = builtin_type(l, py), type = lower_info(l, tuple)->elems[0];
    ir_ref a = lower_get_as(l, lower_arg(l, py, 0), type);
    ir_ref b = lower_get_as(l, lower_arg(l, py, 1), type);
    ir_ref parts[2];
    if (ir_is_float(type)) {
        lower_check_divisor(l, "//", a, b, type);
        parts[0] = lower_float_divmod(l, a, b, false);
        parts[1] = lower_float_divmod(l, a, b, true);
    } else {
        parts[0] = lower_int_op(l, IR_LOW_IFLOORDIV, a, b, type);
        parts[1] = lower_int_op(l, IR_LOW_IMOD, a, b, type);
    }
    return lower_value_new(l, tuple, 2, parts);
}

/* x + y modulo m, of numbers below it. */
static ir_ref
builtin_add_mod(struct lower *l, ir_ref x, ir_ref y, ir_ref m)
{
    ir_ref room = lower_op2(l, IR_SUB, m, y);
    return lower_select(l, lower_icmp(l, IR_ICMP_UGE, x, room), lower_op2(l, IR_SUB, x, room),
                        lower_op2(l, IR_ADD, x, y));
}

/* x * y modulo m, of numbers below it; `small`: m is at most 2**32. */
static ir_ref
builtin_mul_mod(struct lower *l, ir_ref x, ir_ref y, ir_ref m, ir_ref small)
{
    ir_ref zero = builtin_i64(l, 0), one = builtin_i64(l, 1);
    ir_ref product = lower_op2(l, IR_UREM, lower_op2(l, IR_MUL, x, y), m);
    struct lower_loop loop;
    lower_loop_open(l, &loop, 3, (ir_ref[]){zero, x, lower_select(l, small, zero, y)});
    ir_ref sum = loop.phis[0], doubled = loop.phis[1], left = loop.phis[2];
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_NE, left, zero));
    ir_ref odd = lower_cast(l, IR_TRUNC, IR_T_I1, left);
    ir_ref next[3] = {lower_select(l, odd, builtin_add_mod(l, sum, doubled, m), sum),
                      builtin_add_mod(l, doubled, doubled, m), lower_op2(l, IR_LSHR, left, one)};
    lower_loop_close(l, &loop, next);
    return lower_select(l, small, product, sum);
}

/* The result has the modulus' sign, as % has; a modulus of 0 and a negative exponent give 0. */
static struct lower_value
builtin_pow_mod(struct lower *l, ir_ref py)
{
    ir_type type = builtin_type(l, py);
    ir_type wide = ir_is_unsigned(type) ? IR_T_UINT64 : IR_T_INT;
    ir_ref zero = builtin_i64(l, 0), one = builtin_i64(l, 1);
    struct lower_value exponent = lower_get(l, lower_arg(l, py, 1));
    ir_ref a = lower_convert_scalar(l, lower_get_as(l, lower_arg(l, py, 0), type), type, wide);
    ir_ref c = lower_convert_scalar(l, lower_get_as(l, lower_arg(l, py, 2), type), type, wide);
    ir_ref e = exponent.type == IR_T_UINT64 ? exponent.parts[0]
                                            : lower_convert(l, exponent, IR_T_INT).parts[0];
    lower_check_divisor(l, "%", a, c, wide);
    lower_check_power(l, lower_scalar(l, wide, a), exponent, 0);
    ir_ref is_zero = lower_icmp(l, IR_ICMP_EQ, c, zero);
    ir_ref m = lower_select(l, is_zero, one, lower_int_abs(l, c, wide));
    ir_ref base = wide == IR_T_UINT64 ? lower_op2(l, IR_UREM, a, m) : 0;
    if (!base) { /* the smallest modulus' magnitude is 2**63, above every a */
        ir_ref rest = lower_op2(l, IR_UREM, lower_int_abs(l, a, wide), m);
        ir_ref up = lower_select(l, lower_icmp(l, IR_ICMP_EQ, rest, zero), zero,
                                 lower_op2(l, IR_SUB, m, rest));
        base = lower_select(l, lower_icmp(l, IR_ICMP_SLT, a, zero), up, rest);
    }
    if (exponent.type != IR_T_UINT64)
        is_zero = lower_op2(l, IR_OR, is_zero, lower_icmp(l, IR_ICMP_SLT, e, zero));
    ir_ref small = lower_icmp(l, IR_ICMP_ULE, m, builtin_i64(l, INT64_C(1) << 32));
    struct lower_loop loop;
    lower_loop_open(
        l, &loop, 3,
        (ir_ref[]){lower_op2(l, IR_UREM, one, m), base, lower_select(l, is_zero, zero, e)});
    ir_ref r = loop.phis[0], square = loop.phis[1], left = loop.phis[2];
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_NE, left, zero));
    ir_ref odd = lower_cast(l, IR_TRUNC, IR_T_I1, left);
    ir_ref times = builtin_mul_mod(l, r, square, m, small);
    ir_ref next[3] = {lower_select(l, odd, times, r), builtin_mul_mod(l, square, square, m, small),
                      lower_op2(l, IR_LSHR, left, one)};
    lower_loop_close(l, &loop, next);
    ir_ref result = r;
    if (wide == IR_T_INT) {
        ir_ref down = lower_op2(l, IR_AND, lower_icmp(l, IR_ICMP_SLT, c, zero),
                                lower_icmp(l, IR_ICMP_NE, r, zero));
        result = lower_select(l, down, lower_op2(l, IR_ADD, r, c), r);
    }
    result = lower_select(l, is_zero, zero, result);
    return lower_scalar(l, type, lower_convert_scalar(l, result, wide, type));
}

/* ---- len, iterators ---- */

static struct lower_value
builtin_len(struct lower *l, ir_ref py)
{
    struct lower_value over = lower_get(l, lower_arg(l, py, 0));
    if (lower_info(l, over.type)->kind == IR_KIND_RANGE)
        return lower_scalar(l, IR_T_INT, lower_range_length(l, over));
    assert(lower_info(l, over.type)->kind == IR_KIND_ARRAY && "a tuple's length is a constant");
    return lower_scalar(l, IR_T_INT, over.parts[1]);
}

static struct lower_value
builtin_zip(struct lower *l, ir_ref py, bool enumerate)
{
    ir_type type = builtin_type(l, py);
    const struct ir_type_info info = *lower_info(l, type);
    struct lower_value *iters = SP_NEW_N(l->core->arena, struct lower_value, info.n_elems + 1);
    for (uint32_t i = 0; i < info.n_elems; i++)
        iters[i] = lower_iter_start(l, lower_get(l, lower_arg(l, py, i)), info.elems[i]);
    ir_ref start = 0;
    if (enumerate)
        start = lower_n_args(l, py) > 1 ? lower_get_as(l, lower_arg(l, py, 1), IR_T_INT)
                                        : builtin_i64(l, 0);
    return lower_iter_zip(l, type, start, info.n_elems, iters);
}

static struct lower_value
builtin_reversed_tuple(struct lower *l, struct lower_value tuple, ir_type type)
{
    uint32_t n = lower_info(l, type)->n_elems, total = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, total + 1);
    for (uint32_t i = n; i-- > 0;) {
        struct lower_value elem = lower_elem(l, tuple, i);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
    }
    return (struct lower_value){type, total, parts};
}

/* reversed and gpu.unroll; the elements of a range that is unrolled are constants. */
static struct lower_value
builtin_iter(struct lower *l, ir_ref py, enum ir_rule rule)
{
    ir_type type = builtin_type(l, py);
    const struct ir_type_info info = *lower_info(l, type);
    struct lower_value over = lower_get(l, lower_arg(l, py, 0));
    if (info.iter == IR_ITER_UNROLLED && info.object)
        return (struct lower_value){type, 0, NULL};
    if (info.iter == IR_ITER_UNROLLED && rule == IR_RULE_REVERSED)
        over = builtin_reversed_tuple(l, over, info.elems[0]);
    return lower_iter_start(l, over, type);
}

static struct lower_value
builtin_tuple(struct lower *l, ir_ref py)
{
    ir_type type = builtin_type(l, py);
    struct lower_value over = lower_get(l, lower_arg(l, py, 0));
    const struct ir_type_info info = *lower_info(l, type);
    if (lower_info(l, over.type)->kind == IR_KIND_TUPLE)
        return over;
    assert(lower_info(l, over.type)->kind == IR_KIND_ITER && "a constant range is a constant");
    uint32_t total = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, total + 1);
    for (uint32_t i = 0; i < info.n_elems; i++) {
        struct lower_value elem = lower_iter_value(l, over, info.elems[i]);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
        over = lower_iter_next(l, over, ir_iter_next(l->py, over.type));
    }
    return (struct lower_value){type, total, parts};
}

struct lower_value
lower_builtin(struct lower *l, ir_ref py, enum ir_intrin id)
{
    enum ir_rule rule = (enum ir_rule)ir_intrin_row(id)->rule;
    switch (rule) {
    case IR_RULE_MINMAX: return builtin_minmax(l, py, id);
    case IR_RULE_SUM: return builtin_sum(l, py);
    case IR_RULE_RANGE: return lower_range(l, py);
    case IR_RULE_LEN: return builtin_len(l, py);
    case IR_RULE_DIVMOD: return builtin_divmod(l, py);
    case IR_RULE_POW_BUILTIN:
        if (lower_n_args(l, py) == 3)
            return builtin_pow_mod(l, py);
        return lower_pow(l, lower_arg(l, py, 0), lower_arg(l, py, 1), builtin_type(l, py));
    case IR_RULE_ENUMERATE: return builtin_zip(l, py, true);
    case IR_RULE_ZIP: return builtin_zip(l, py, false);
    case IR_RULE_REVERSED:
    case IR_RULE_UNROLL: return builtin_iter(l, py, rule);
    case IR_RULE_TUPLE: return builtin_tuple(l, py);
    default: break;
    }
    assert(!"isinstance is a constant, the rest is no builtin");
    return lower_zero(l, builtin_type(l, py));
}
