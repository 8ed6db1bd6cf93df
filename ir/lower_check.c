/* lower_check: what check=True raises where Python or NumPy would (docs/semantics.md).
 *
 * In: an operation's operands and result. Out: nothing without the option; with it a condition that
 * says whether the result is Python's, and a RAISE where it is not. The operations themselves are
 * lowered as always, so a check changes no value. Only `int` overflows: typed integers wrap. Sums
 * and differences are judged by their signs, products by their upper half, shifts by shifting back,
 * conversions by converting back.
 *
 *     a + b (int)   %r = add a, b    %w = and (xor a, %r), (xor b, %r)
 *                   br (icmp.sge %w, 0), go on, fail         fail: raise INT_OVERFLOW a, b
 *     a * b (int)   icmp.eq (mulhi a, b), (ashr %r, 63)
 *     x[i] = v      icmp.eq (zext (trunc v)), v              of uint8[:] and an int
 *
 * LLVM's operations with an overflow flag lost: they have two results, which CORE has for calls
 * only, and both targets find the same instructions for these. */
#include "ir/lower.h"

#include <assert.h>

/* Raises unless `ok`; the text's {i}, {u}, {f} are the values. */
static void
check_that(struct lower *l, ir_ref ok, enum sp_error code, const char *text, uint32_t n,
           const ir_ref *values)
{
    int64_t known;
    if (lower_int_of(l, ok, &known) && known)
        return;
    lower_raise_unless(l, ok, lower_site(l, l->at, code, text, n), n, values);
}

/* "{i} // {u}", by the types of the operands. */
static const char *
check_pair(struct lower *l, const char *op, ir_type a, ir_type b)
{
    char letter_a = ir_is_float(a) ? 'f' : ir_is_unsigned(a) ? 'u' : 'i';
    char letter_b = ir_is_float(b) ? 'f' : ir_is_unsigned(b) ? 'u' : 'i';
    return sp_arena_printf(l->core->arena, "{%c} %s {%c}", letter_a, op, letter_b);
}

/* A check of `a op b`. */
static void
check_binary(struct lower *l, ir_ref ok, enum sp_error code, const char *op, struct lower_value a,
             struct lower_value b)
{
    int64_t known;
    if (lower_int_of(l, ok, &known) && known)
        return;
    ir_ref values[] = {lower_fault_value(l, a.parts[0], a.type),
                       lower_fault_value(l, b.parts[0], b.type)};
    check_that(l, ok, code, check_pair(l, op, a.type, b.type), 2, values);
}

/* ---- Integers ---- */

static ir_ref
check_not_negative(struct lower *l, ir_ref word)
{
    return lower_icmp(l, IR_ICMP_SGE, word, lower_int(l, lower_type_of(l, word), 0));
}

ir_ref
lower_mul_fits(struct lower *l, ir_ref a, ir_ref b, ir_ref product)
{
    int64_t v;
    if (lower_int_of(l, a, &v) && v == 1)
        return lower_bool(l, true);
    if (lower_int_of(l, b, &v) && v == 1)
        return lower_bool(l, true);
    ir_ref sign = lower_op2(l, IR_ASHR, product, lower_int(l, IR_T_I64, 63));
    return lower_icmp(l, IR_ICMP_EQ, lower_op2(l, IR_MULHI, a, b), sign);
}

void
lower_check_int(struct lower *l, enum ir_lowering how, ir_ref a, ir_ref b, ir_ref r, ir_type type)
{
    if (!l->ctx->options.check || type != IR_T_INT)
        return;
    const char *op = "+";
    ir_ref ok, other;
    switch (how) {
    case IR_LOW_IADD:
        ok = lower_op2(l, IR_XOR, a, r);
        other = lower_op2(l, IR_XOR, b, r);
        ok = check_not_negative(l, lower_op2(l, IR_AND, ok, other));
        break;
    case IR_LOW_ISUB:
        op = "-";
        ok = lower_op2(l, IR_XOR, a, b);
        other = lower_op2(l, IR_XOR, a, r);
        ok = check_not_negative(l, lower_op2(l, IR_AND, ok, other));
        break;
    case IR_LOW_IMUL:
        op = "*";
        ok = lower_mul_fits(l, a, b, r);
        break;
    default: return;
    }
    struct lower_value x = {type, 1, &a}, y = {type, 1, &b};
    check_binary(l, ok, SP_E_INT_OVERFLOW, op, x, y);
}

void
lower_check_negate(struct lower *l, ir_ref a, ir_type type, const char *text)
{
    if (!l->ctx->options.check || type != IR_T_INT)
        return;
    ir_ref ok = lower_icmp(l, IR_ICMP_NE, a, lower_int(l, IR_T_I64, INT64_MIN));
    check_that(l, ok, SP_E_INT_OVERFLOW, text, 1, &a);
}

void
lower_check_divisor(struct lower *l, const char *op, ir_ref a, ir_ref b, ir_type type)
{
    bool weak = type == IR_T_INT || type == IR_T_FLOAT;
    if (!l->ctx->options.check || (ir_is_float(type) && !weak))
        return;
    struct lower_value x = {type, 1, &a}, y = {type, 1, &b};
    ir_type machine = lower_type_of(l, b);
    if (ir_is_float(type)) {
        ir_ref ok = lower_fcmp(l, IR_FCMP_UNE, b, lower_float(l, machine, 0));
        check_binary(l, ok, SP_E_ZERO_DIVISION, op, x, y);
        return;
    }
    ir_ref ok = lower_icmp(l, IR_ICMP_NE, b, lower_int(l, machine, 0));
    check_binary(l, ok, SP_E_ZERO_DIVISION, op, x, y);
    if (type != IR_T_INT || op[0] != '/')
        return;
    ok = lower_op2(l, IR_OR, lower_icmp(l, IR_ICMP_NE, a, lower_int(l, IR_T_I64, INT64_MIN)),
                   lower_icmp(l, IR_ICMP_NE, b, lower_int(l, IR_T_I64, -1)));
    check_binary(l, ok, SP_E_INT_OVERFLOW, op, x, y);
}

/* `count` as i64; r: a << count. */
void
lower_check_shift(struct lower *l, bool left, ir_ref a, struct lower_value b, ir_ref count,
                  ir_ref r, ir_type type)
{
    if (!l->ctx->options.check)
        return;
    struct lower_value x = {type, 1, &a};
    const char *op = left ? "<<" : ">>";
    if (b.type != IR_T_UINT64 && !lower_is_nonneg(l, count))
        check_binary(l, check_not_negative(l, count), SP_E_NEGATIVE_SHIFT, op, x, b);
    if (!left || type != IR_T_INT)
        return;
    ir_ref last = lower_int(l, IR_T_I64, 63);
    ir_ref back = lower_select(l, lower_icmp(l, IR_ICMP_ULT, count, last), count, last);
    ir_ref same = lower_icmp(l, IR_ICMP_EQ, lower_op2(l, IR_ASHR, r, back), a);
    check_binary(l, same, SP_E_INT_OVERFLOW, op, x, b);
}

void
lower_check_power(struct lower *l, struct lower_value a, struct lower_value b, ir_ref fits)
{
    if (!l->ctx->options.check)
        return;
    if (fits) {
        check_binary(l, fits, SP_E_INT_OVERFLOW, "**", a, b);
        return;
    }
    if (!ir_is_unsigned(b.type) && b.type != IR_T_BOOL && !lower_is_nonneg(l, b.parts[0]))
        check_binary(l, check_not_negative(l, b.parts[0]), SP_E_NEGATIVE_POWER, "**", a, b);
}

void
lower_check_float_power(struct lower *l, ir_ref a, ir_ref b, ir_type type)
{
    if (!l->ctx->options.check || type != IR_T_FLOAT)
        return;
    ir_ref zero = lower_float(l, lower_type_of(l, a), 0);
    ir_ref ok = lower_op2(l, IR_OR, lower_fcmp(l, IR_FCMP_UNE, a, zero),
                          lower_not(l, lower_fcmp(l, IR_FCMP_OLT, b, zero)));
    struct lower_value x = {type, 1, &a}, y = {type, 1, &b};
    check_binary(l, ok, SP_E_ZERO_DIVISION, "**", x, y);
}

/* ---- Conversions ---- */

/* 2**n in the float type. */
static ir_ref
check_power_of_2(struct lower *l, ir_type machine, unsigned n, bool negative)
{
    double value = n == 64 ? 0x1p64 : (double)((uint64_t)1 << n);
    return lower_float(l, machine, negative ? -value : value);
}

static void
check_float_to_int(struct lower *l, ir_ref value, ir_type to)
{
    const char *name = ir_scalar_row(to)->name;
    struct sp_arena *arena = l->core->arena;
    if (lower_type_of(l, value) != IR_T_F64 && lower_type_of(l, value) != IR_T_F32)
        value = lower_half_widen(l, value);
    ir_type machine = lower_type_of(l, value);
    ir_ref is_nan = lower_fcmp(l, IR_FCMP_UNO, value, value);
    check_that(l, lower_not(l, is_nan), SP_E_NAN_TO_INT, "NaN", 0, NULL);
    bool sign = to == IR_T_INT || !ir_is_unsigned(to);
    unsigned bits = ir_scalar_row(to)->bits;
    ir_ref whole = lower_op1(l, IR_FTRUNC, value);
    ir_ref low = sign ? check_power_of_2(l, machine, bits - 1, true) : lower_float(l, machine, 0);
    ir_ref high = check_power_of_2(l, machine, sign ? bits - 1 : bits, false);
    ir_ref ok = lower_op2(l, IR_AND, lower_fcmp(l, IR_FCMP_OGE, whole, low),
                          lower_fcmp(l, IR_FCMP_OLT, whole, high));
    ir_ref shown = value;
    if (machine == IR_T_F32)
        shown = lower_cast(l, IR_FPEXT, IR_T_F64, value);
    shown = lower_cast(l, IR_BITCAST, IR_T_I64, shown);
    check_that(l, ok, SP_E_LOSSY, sp_arena_printf(arena, "{f} does not fit %s", name), 1, &shown);
}

static void
check_int_to_typed(struct lower *l, ir_ref value, ir_type to)
{
    ir_type machine = lower_machine(l, to);
    ir_ref ok;
    if (to == IR_T_INT64)
        return;
    if (to == IR_T_UINT64) {
        ok = lower_is_nonneg(l, value) ? lower_bool(l, true) : check_not_negative(l, value);
    } else {
        ir_ref low = lower_cast(l, IR_TRUNC, machine, value);
        ir_ref back = lower_cast(l, ir_is_unsigned(to) ? IR_ZEXT : IR_SEXT, IR_T_I64, low);
        ok = lower_icmp(l, IR_ICMP_EQ, back, value);
    }
    const char *text =
        sp_arena_printf(l->core->arena, "{i} does not fit %s", ir_scalar_row(to)->name);
    check_that(l, ok, SP_E_LOSSY, text, 1, &value);
}

void
lower_check_cast(struct lower *l, struct lower_value value, ir_type to)
{
    if (l->ctx->options.check && ir_is_float(value.type) && ir_is_integer(to) && to != IR_T_BOOL)
        check_float_to_int(l, value.parts[0], to);
}

void
lower_check_store(struct lower *l, struct lower_value value, ir_type to)
{
    if (!l->ctx->options.check || value.type == to || value.type == IR_T_NONE)
        return;
    const struct ir_type_info *info = lower_info(l, to);
    if (info->kind == IR_KIND_TUPLE) {
        for (uint32_t i = 0; i < info->n_elems; i++)
            lower_check_store(l, lower_elem(l, value, i), info->elems[i]);
        return;
    }
    if (info->kind != IR_KIND_SCALAR || !ir_type_is_scalar(value.type))
        return;
    if (value.type == IR_T_INT && ir_is_typed_int(to))
        check_int_to_typed(l, value.parts[0], to);
    else
        lower_check_cast(l, value, to);
}

/* ---- Variables ---- */

void
lower_check_bound(struct lower *l, ir_ref py)
{
    ir_ref value = ir_arg(l->from, py, 0);
    ir_ref has_value = l->bound[value];
    if (!has_value)
        return;
    const char *name = ir_const_info(l->py, ir_insn(l->from, py)->imm)->str;
    check_that(l, has_value, SP_E_UNBOUND, name, 0, NULL);
}

const bool *
lower_maybe_unbound(struct lower *l)
{
    const struct ir_func *func = l->from;
    bool *maybe = SP_NEW_N(l->core->arena, bool, func->insns.len);
    for (bool again = true; again;) {
        again = false;
        for (ir_ref ref = 1; ref < func->insns.len; ref++) {
            const struct ir_insn *insn = ir_insn(func, ref);
            bool now = insn->op == IR_UNDEF;
            for (uint32_t i = 0; insn->op == IR_PHI && i < insn->n_args && !now; i++)
                now = sp_bits_has(&l->inst->live_blocks, insn->block) &&
                      ir_edge_is_live(l->inst, insn->block, i) && maybe[ir_arg(func, ref, i)];
            again |= now && !maybe[ref];
            maybe[ref] |= now;
        }
    }
    return maybe;
}
