/* lower_arith: Python's operators and comparisons on numbers.
 *
 * In: BIN, UN and CMP instructions with their cells. Out: straight-line core operations (only a
 * power of integers by a run-time exponent makes a loop). Which types and which of the functions
 * below: arith.def, through ir_bin_type. Everything is defined, so dangerous operands are replaced
 * before the operation and results after it, both by selects; constants fold these away
 * (lower_emit).
 *
 *     a // b  ->  %z = icmp.eq b, 0     %m = icmp.eq b, -1    %d = select (or %z, %m), 1, b
 *     (int)       %q = sdiv a, %d       %r = srem a, %d
 *                 %f = and (icmp.ne %r, 0), (icmp.slt (xor %r, %d), 0)
 *                 %q1 = sub %q, (zext %f)
 *                 select %z, 0, (select %m, (sub 0, a), %q1)
 *     a // 8  ->  ashr a, 3
 *     a * b + c (float)  ->  fma a, b, c
 *
 * Selects lost to branches nowhere: both sides are cheap and a branch may diverge. */
#include "ir/lower.h"

#include <assert.h>

/* ---- Integers ---- */

static bool
arith_is_power_of_2(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

/* The divisor, with 1 in the place of 0 and (signed) -1; `special_out` says which it was. */
static ir_ref
arith_safe_divisor(struct lower *l, ir_ref b, ir_type type, ir_ref *zero_out, ir_ref *minus_one_out)
{
    ir_type machine = lower_machine(l, type);
    ir_ref special = *zero_out = lower_icmp(l, IR_ICMP_EQ, b, lower_int(l, machine, 0));
    *minus_one_out = lower_bool(l, false);
    if (!ir_is_unsigned(type)) {
        *minus_one_out = lower_icmp(l, IR_ICMP_EQ, b, lower_int(l, machine, -1));
        special = lower_op2(l, IR_OR, *zero_out, *minus_one_out);
    }
    return lower_select(l, special, lower_int(l, machine, 1), b);
}

/* Whether rounding toward zero and rounding down differ: remainder not 0, of the other sign than b.
 * */
static ir_ref
arith_rounds_up(struct lower *l, ir_ref remainder, ir_ref b)
{
    ir_ref zero = lower_int(l, lower_type_of(l, b), 0);
    int64_t v;
    if (lower_int_of(l, b, &v))
        return lower_icmp(l, v < 0 ? IR_ICMP_SGT : IR_ICMP_SLT, remainder, zero);
    ir_ref inexact = lower_icmp(l, IR_ICMP_NE, remainder, zero);
    ir_ref signs = lower_icmp(l, IR_ICMP_SLT, lower_op2(l, IR_XOR, remainder, b), zero);
    return lower_op2(l, IR_AND, inexact, signs);
}

ir_ref
lower_int_floordiv(struct lower *l, ir_ref a, ir_ref b, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref zero, minus_one;
    int64_t v;
    bool known = lower_int_of(l, b, &v);
    lower_check_divisor(l, "//", a, b, type);
    if (known && arith_is_power_of_2(v)) {
        ir_ref count = lower_int(l, machine, __builtin_ctzll((uint64_t)v));
        return lower_op2(l, ir_is_unsigned(type) ? IR_LSHR : IR_ASHR, a, count);
    }
    if (known && v == 0)
        return b;
    ir_ref d = arith_safe_divisor(l, b, type, &zero, &minus_one);
    if (ir_is_unsigned(type)) {
        ir_ref q = lower_op2(l, IR_UDIV, a, d);
        return lower_select(l, zero, lower_int(l, machine, 0), q);
    }
    if (known && v == -1)
        return lower_op2(l, IR_SUB, lower_int(l, machine, 0), a);
    if (known && v > 0 && lower_is_nonneg(l, a))
        return lower_op2(l, IR_UDIV, a, b);
    ir_ref q = lower_op2(l, IR_SDIV, a, d), r = lower_op2(l, IR_SREM, a, d);
    ir_ref fix = lower_cast(l, IR_ZEXT, machine, arith_rounds_up(l, r, d));
    q = lower_op2(l, IR_SUB, q, fix);
    q = lower_select(l, minus_one, lower_op2(l, IR_SUB, lower_int(l, machine, 0), a), q);
    return lower_select(l, zero, lower_int(l, machine, 0), q);
}

/* With 1 in the place of 0 and -1 the remainder is 0, which is right for both. */
ir_ref
lower_int_mod(struct lower *l, ir_ref a, ir_ref b, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref zero, minus_one;
    int64_t v;
    bool known = lower_int_of(l, b, &v);
    lower_check_divisor(l, "%", a, b, type);
    if (known && arith_is_power_of_2(v))
        return lower_op2(l, IR_AND, a, lower_int(l, machine, v - 1));
    if (known && (v == 0 || (v == -1 && !ir_is_unsigned(type))))
        return lower_int(l, machine, 0);
    ir_ref d = arith_safe_divisor(l, b, type, &zero, &minus_one);
    if (ir_is_unsigned(type) || (known && v > 0 && lower_is_nonneg(l, a)))
        return lower_op2(l, IR_UREM, a, d);
    ir_ref r = lower_op2(l, IR_SREM, a, d);
    ir_ref fix = lower_select(l, arith_rounds_up(l, r, d), d, lower_int(l, machine, 0));
    r = lower_op2(l, IR_ADD, r, fix);
    if (known && v > 0)
        lower_mark_nonneg(l, r);
    return r;
}

ir_ref
lower_int_abs(struct lower *l, ir_ref a, ir_type type)
{
    if (ir_is_unsigned(type) || lower_is_nonneg(l, a))
        return a;
    ir_ref zero = lower_int(l, lower_machine(l, type), 0);
    return lower_select(l, lower_icmp(l, IR_ICMP_SLT, a, zero), lower_op2(l, IR_SUB, zero, a), a);
}

/* The count as i64. Seen as unsigned, a negative one is too large, and so is a huge uint64. */
static ir_ref
arith_count(struct lower *l, struct lower_value count)
{
    ir_type wide = count.type == IR_T_UINT64 ? IR_T_UINT64 : IR_T_INT;
    return lower_convert(l, count, wide).parts[0];
}

static ir_ref
arith_to_width(struct lower *l, ir_ref value, ir_type machine)
{
    return machine == IR_T_I64 ? value : lower_cast(l, IR_TRUNC, machine, value);
}

static ir_ref
arith_shl(struct lower *l, ir_ref a, struct lower_value b, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref count = arith_count(l, b), zero = lower_int(l, IR_T_I64, 0);
    ir_ref width = lower_int(l, IR_T_I64, ir_machine_bits(machine));
    ir_ref fits = lower_icmp(l, IR_ICMP_ULT, count, width);
    count = arith_to_width(l, lower_select(l, fits, count, zero), machine);
    ir_ref shifted = lower_op2(l, IR_SHL, a, count);
    ir_ref r = lower_select(l, fits, shifted, lower_int(l, machine, 0));
    lower_check_shift(l, true, a, b, arith_count(l, b), r, type);
    return r;
}

/* Signed: too large a count is the width - 1, which leaves the sign. */
static ir_ref
arith_shr(struct lower *l, ir_ref a, struct lower_value b, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref count = arith_count(l, b), zero = lower_int(l, IR_T_I64, 0);
    ir_ref width = lower_int(l, IR_T_I64, ir_machine_bits(machine));
    ir_ref last = lower_int(l, IR_T_I64, ir_machine_bits(machine) - 1);
    ir_ref fits = lower_icmp(l, IR_ICMP_ULT, count, width);
    bool is_unsigned = ir_is_unsigned(type);
    lower_check_shift(l, false, a, b, count, 0, type);
    ir_ref safe = lower_select(l, fits, count, is_unsigned ? zero : last);
    ir_ref shifted =
        lower_op2(l, is_unsigned ? IR_LSHR : IR_ASHR, a, arith_to_width(l, safe, machine));
    if (is_unsigned)
        return lower_select(l, fits, shifted, lower_int(l, machine, 0));
    if (b.type == IR_T_UINT64 || lower_is_nonneg(l, count))
        return shifted;
    return lower_select(l, lower_icmp(l, IR_ICMP_SLT, count, zero), lower_int(l, machine, 0),
                        shifted);
}

/* ---- Operators ---- */

/* The operands of the product that `py` is, if it is a float product of exactly this type here. */
static bool
arith_is_product(struct lower *l, ir_ref py, ir_type type, struct lower_product *product_out)
{
    if (!l->ctx->options.fma || l->inst->cells[py].type != type || l->inst->cells[py].constant)
        return false;
    *product_out = l->products[py];
    return product_out->a != 0;
}

/* a + b, or a - b. docs/semantics.md, "fma": the left operand's product first, else the right
 * one's. */
static ir_ref
arith_float_sum(struct lower *l, ir_ref py, ir_ref a, ir_ref b, ir_type type, bool minus)
{
    struct lower_product p;
    if (arith_is_product(l, ir_operand(l->inst, py, 0), type, &p))
        return lower_fma(l, p.a, p.b, minus ? lower_op1(l, IR_FNEG, b) : b);
    if (arith_is_product(l, ir_operand(l->inst, py, 1), type, &p))
        return lower_fma(l, minus ? lower_op1(l, IR_FNEG, p.a) : p.a, p.b, a);
    return lower_op2(l, minus ? IR_FSUB : IR_FADD, a, b);
}

ir_ref
lower_int_op(struct lower *l, enum ir_lowering how, ir_ref a, ir_ref b, ir_type type)
{
    ir_ref r = 0;
    switch (how) {
    case IR_LOW_IADD: r = lower_op2(l, IR_ADD, a, b); break;
    case IR_LOW_ISUB: r = lower_op2(l, IR_SUB, a, b); break;
    case IR_LOW_IMUL: r = lower_op2(l, IR_MUL, a, b); break;
    case IR_LOW_IAND: return lower_op2(l, IR_AND, a, b);
    case IR_LOW_IOR: return lower_op2(l, IR_OR, a, b);
    case IR_LOW_IXOR: return lower_op2(l, IR_XOR, a, b);
    case IR_LOW_IFLOORDIV: return lower_int_floordiv(l, a, b, type);
    case IR_LOW_IMOD: return lower_int_mod(l, a, b, type);
    default: assert(!"no such lowering of two integers"); return a;
    }
    lower_check_int(l, how, a, b, r, type);
    return r;
}

struct lower_value
lower_bin(struct lower *l, ir_ref py)
{
    enum ir_binop op = (enum ir_binop)(ir_operation_imm(l->inst, py) & 0xff);
    ir_ref a_py = ir_operand(l->inst, py, 0), b_py = ir_operand(l->inst, py, 1);
    struct lower_value a_value = lower_get(l, a_py), b_value = lower_get(l, b_py);
    if (lower_info(l, l->inst->cells[py].type)->kind == IR_KIND_RECIPE)
        return lower_concatenate(l, a_value, b_value, l->inst->cells[py].type);
    if (!ir_type_is_scalar(l->inst->cells[py].type))
        return lower_tuple_bin(l, a_value, b_value, l->inst->cells[py].type);
    enum ir_lowering how;
    int64_t k;
    bool negative = ir_program_int(l->py, l->from, b_py, &k) && k < 0;
    ir_type type = ir_bin_type(op, a_value.type, b_value.type, negative, &how);
    if (op == IR_BIN_POW)
        return lower_pow(l, a_py, b_py, type);
    ir_ref a = lower_convert(l, a_value, type).parts[0];
    if (how == IR_LOW_ISHL)
        return lower_scalar(l, type, arith_shl(l, a, b_value, type));
    if (how == IR_LOW_ISHR)
        return lower_scalar(l, type, arith_shr(l, a, b_value, type));
    ir_ref b = lower_convert(l, b_value, type).parts[0], r;
    switch (how) {
    case IR_LOW_FADD: r = arith_float_sum(l, py, a, b, type, false); break;
    case IR_LOW_FSUB: r = arith_float_sum(l, py, a, b, type, true); break;
    case IR_LOW_FMUL:
        l->products[py] = (struct lower_product){a, b};
        r = lower_op2(l, IR_FMUL, a, b);
        break;
    case IR_LOW_FDIV:
        lower_check_divisor(l, "/", a, b, type);
        r = lower_op2(l, IR_FDIV, a, b);
        break;
    case IR_LOW_FFLOORDIV:
        lower_check_divisor(l, "//", a, b, type);
        r = lower_float_divmod(l, a, b, false);
        break;
    case IR_LOW_FMOD:
        lower_check_divisor(l, "%", a, b, type);
        r = lower_float_divmod(l, a, b, true);
        break;
    default: r = lower_int_op(l, how, a, b, type); break;
    }
    return lower_scalar(l, type, r);
}

struct lower_value
lower_un(struct lower *l, ir_ref py)
{
    enum ir_unop op = (enum ir_unop)ir_operation_imm(l->inst, py);
    struct lower_value value = lower_get(l, ir_operand(l->inst, py, 0));
    if (op == IR_UN_NOT)
        return lower_scalar(l, IR_T_BOOL, lower_not(l, lower_truth(l, value)));
    enum ir_lowering how;
    ir_type type = ir_un_type(op, value.type, &how);
    ir_ref a = lower_convert(l, value, type).parts[0], r = a;
    ir_type machine = lower_machine(l, type);
    switch (how) {
    case IR_LOW_INEG:
        lower_check_negate(l, a, type, "-({i})");
        r = lower_op2(l, IR_SUB, lower_int(l, machine, 0), a);
        break;
    case IR_LOW_FNEG: r = lower_op1(l, IR_FNEG, a); break;
    case IR_LOW_POS: break;
    case IR_LOW_INVERT: r = lower_op2(l, IR_XOR, a, lower_int(l, machine, -1)); break;
    default: assert(!"no such lowering of one number"); break;
    }
    return lower_scalar(l, type, r);
}

/* ---- Comparisons ---- */

/* uint64 `u` against a signed `s` of 64 bits: a negative one is below all of them. */
static ir_ref
arith_compare_mixed(struct lower *l, enum ir_cmpop op, ir_ref u, ir_ref s)
{
    static const uint8_t icmps[] = {IR_ICMP_ULT, IR_ICMP_ULE, IR_ICMP_EQ,
                                    IR_ICMP_NE,  IR_ICMP_UGT, IR_ICMP_UGE};
    ir_ref negative = lower_icmp(l, IR_ICMP_SLT, s, lower_int(l, IR_T_I64, 0));
    ir_ref r = lower_icmp(l, (enum ir_icmp)icmps[op], u, s);
    bool if_negative = op == IR_CMP_GT || op == IR_CMP_GE || op == IR_CMP_NE;
    return if_negative ? lower_op2(l, IR_OR, negative, r)
                       : lower_op2(l, IR_AND, lower_not(l, negative), r);
}

static ir_ref
arith_compare_scalars(struct lower *l, enum ir_cmpop op, struct lower_value a, struct lower_value b)
{
    static const uint8_t swapped[] = {IR_CMP_GT, IR_CMP_GE, IR_CMP_EQ,
                                      IR_CMP_NE, IR_CMP_LT, IR_CMP_LE};
    static const uint8_t sicmps[] = {IR_ICMP_SLT, IR_ICMP_SLE, IR_ICMP_EQ,
                                     IR_ICMP_NE,  IR_ICMP_SGT, IR_ICMP_SGE};
    static const uint8_t uicmps[] = {IR_ICMP_ULT, IR_ICMP_ULE, IR_ICMP_EQ,
                                     IR_ICMP_NE,  IR_ICMP_UGT, IR_ICMP_UGE};
    static const uint8_t fcmps[] = {IR_FCMP_OLT, IR_FCMP_OLE, IR_FCMP_OEQ,
                                    IR_FCMP_UNE, IR_FCMP_OGT, IR_FCMP_OGE};
    ir_type type = ir_cmp_type(a.type, b.type);
    if (type == IR_T_MIXED) {
        if (a.type == IR_T_UINT64)
            return arith_compare_mixed(l, op, a.parts[0], lower_convert(l, b, IR_T_INT).parts[0]);
        return arith_compare_mixed(l, (enum ir_cmpop)swapped[op], b.parts[0],
                                   lower_convert(l, a, IR_T_INT).parts[0]);
    }
    ir_ref x = lower_convert(l, a, type).parts[0], y = lower_convert(l, b, type).parts[0];
    if (ir_is_float(type))
        return lower_fcmp(l, (enum ir_fcmp)fcmps[op], x, y);
    bool is_unsigned = type == IR_T_BOOL || ir_is_unsigned(type);
    return lower_icmp(l, (enum ir_icmp)(is_unsigned ? uicmps : sicmps)[op], x, y);
}

/* Tuples: equal where all elements are; less where the first that differ are less. What comes
 * behind elements that surely differ is not looked at: it need not have an order. */
static ir_ref
arith_compare_tuples(struct lower *l, enum ir_cmpop op, struct lower_value a, struct lower_value b)
{
    uint32_t n_a = lower_info(l, a.type)->n_elems, n_b = lower_info(l, b.type)->n_elems;
    uint32_t n = n_a < n_b ? n_a : n_b, looked_at = 0;
    bool by_length[] = {n_a < n_b, n_a <= n_b, n_a == n_b, n_a != n_b, n_a > n_b, n_a >= n_b};
    bool equality = op == IR_CMP_EQ || op == IR_CMP_NE;
    if (equality && n_a != n_b)
        return lower_bool(l, by_length[op]);
    ir_ref *same = SP_NEW_N(l->core->arena, ir_ref, n + 1);
    int64_t known = 1;
    while (looked_at < n) {
        uint32_t k = looked_at++;
        same[k] = lower_compare(l, IR_CMP_EQ, lower_elem(l, a, k), lower_elem(l, b, k));
        if (lower_int_of(l, same[k], &known) && !known)
            break;
        known = 1;
    }
    ir_ref r = lower_bool(l, by_length[op]);
    while (looked_at--) {
        uint32_t k = looked_at;
        int64_t equal;
        if (lower_int_of(l, same[k], &equal) && equal)
            continue;
        if (equality)
            r = op == IR_CMP_EQ ? lower_op2(l, IR_AND, same[k], r)
                                : lower_op2(l, IR_OR, lower_not(l, same[k]), r);
        else
            r = lower_select(l, same[k], r,
                             lower_compare(l, op, lower_elem(l, a, k), lower_elem(l, b, k)));
    }
    return r;
}

ir_ref
lower_compare(struct lower *l, enum ir_cmpop op, struct lower_value a, struct lower_value b)
{
    if (ir_type_is_scalar(a.type) && ir_type_is_scalar(b.type))
        return arith_compare_scalars(l, op, a, b);
    if (lower_info(l, a.type)->kind == IR_KIND_TUPLE &&
        lower_info(l, b.type)->kind == IR_KIND_TUPLE)
        return arith_compare_tuples(l, op, a, b);
    if (lower_info(l, a.type)->kind == IR_KIND_ARRAY &&
        lower_info(l, b.type)->kind == IR_KIND_ARRAY)
        return lower_compare_records(l, op, a, b);
    bool equal = a.type == b.type || ir_same_dtype(l->py, a.type, b.type);
    return lower_bool(l, equal == (op == IR_CMP_EQ));
}

ir_ref
lower_in(struct lower *l, struct lower_value item, struct lower_value tuple)
{
    ir_ref r = lower_bool(l, false);
    if (lower_info(l, tuple.type)->kind == IR_KIND_RANGE)
        return lower_in_range(l, item, tuple);
    uint32_t n = lower_info(l, tuple.type)->n_elems;
    for (uint32_t i = 0; i < n; i++)
        r = lower_op2(l, IR_OR, r, lower_compare(l, IR_CMP_EQ, item, lower_elem(l, tuple, i)));
    return r;
}
