/* lower_math: functions of `math` that are sequences of core operations, and floor division of
 * floats.
 *
 * In: calls with their cells. Out: straight-line code, bit for bit what CPython's or NumPy's
 * function gives (in float32: the same definition in float32). Sources: the definitions in the
 * documentation of Python's math module and of np.floor_divide and np.remainder, IEEE 754 formats.
 *
 *     a // b, a % b   from fmod(a, b), moved to the sign of b; the quotient (a - mod) / b snapped
 *     math.frexp(x)   the exponent's bits, after scaling subnormals
 *     math.gcd(a, b)  Euclid on magnitudes (a loop)
 *     math.isqrt(n)   the double square root, corrected by one either way
 *
 * Lost: calling the targets' frexp, modf and the like, which return through pointers. */
#include "ir/lower.h"

#include <assert.h>
#include <math.h>

static bool
math_is_f32(const struct lower *l, ir_ref x)
{
    return lower_type_of(l, x) == IR_T_F32;
}

static ir_type
math_bits_type(const struct lower *l, ir_ref x)
{
    if (ir_is_half(lower_type_of(l, x)))
        return IR_T_I16;
    return math_is_f32(l, x) ? IR_T_I32 : IR_T_I64;
}

/* ---- Floor division ---- */

ir_ref
lower_float_divmod(struct lower *l, ir_ref a, ir_ref b, bool want_mod)
{
    ir_type type = lower_type_of(l, a);
    if (ir_is_half(type)) {
        ir_ref wide =
            lower_float_divmod(l, lower_half_widen(l, a), lower_half_widen(l, b), want_mod);
        return lower_half_narrow(l, wide, type);
    }
    ir_ref zero = lower_float(l, type, 0), one = lower_float(l, type, 1);
    ir_ref b_zero = lower_fcmp(l, IR_FCMP_OEQ, b, zero);
    ir_ref mod = lower_intrin2(l, IR_INTRIN_FMOD, a, b);
    ir_ref exact = lower_fcmp(l, IR_FCMP_OEQ, mod, zero);
    ir_ref signs = lower_op2(l, IR_XOR, lower_fcmp(l, IR_FCMP_OLT, b, zero),
                             lower_fcmp(l, IR_FCMP_OLT, mod, zero));
    ir_ref moves = lower_op2(l, IR_AND, lower_not(l, exact), signs);
    if (want_mod) {
        ir_ref moved = lower_select(l, moves, lower_op2(l, IR_FADD, mod, b), mod);
        moved = lower_select(l, exact, lower_op2(l, IR_FCOPYSIGN, zero, b), moved);
        return lower_select(l, b_zero, mod, moved); /* NaN */
    }
    ir_ref div = lower_op2(l, IR_FDIV, lower_op2(l, IR_FSUB, a, mod), b);
    div = lower_select(l, moves, lower_op2(l, IR_FSUB, div, one), div);
    ir_ref down = lower_op1(l, IR_FFLOOR, div);
    ir_ref high =
        lower_fcmp(l, IR_FCMP_OGT, lower_op2(l, IR_FSUB, div, down), lower_float(l, type, 0.5));
    ir_ref snapped = lower_select(l, high, lower_op2(l, IR_FADD, down, one), down);
    ir_ref quotient = lower_op2(l, IR_FDIV, a, b);
    ir_ref signed_zero = lower_op2(l, IR_FCOPYSIGN, zero, quotient);
    ir_ref div_zero = lower_fcmp(l, IR_FCMP_OEQ, div, zero);
    snapped = lower_select(l, div_zero, signed_zero, snapped);
    return lower_select(l, b_zero, quotient, snapped);
}

/* ---- Parts of a float ---- */

static struct lower_value
math_frexp(struct lower *l, ir_ref x, ir_type type)
{
    ir_type given = lower_type_of(l, x);
    if (ir_is_half(given))
        x = lower_half_widen(l, x);
    bool f32 = math_is_f32(l, x);
    ir_type machine = lower_type_of(l, x), bits_type = math_bits_type(l, x);
    int fraction = f32 ? 23 : 52, bias = f32 ? 126 : 1022, scaled_by = f32 ? 25 : 54;
    int64_t exponent_mask = f32 ? 0xff : 0x7ff;
    ir_ref zero = lower_float(l, machine, 0), infinity = lower_float(l, machine, INFINITY);
    ir_ref size = lower_op1(l, IR_FABS, x);
    ir_ref smallest = lower_float(l, machine, f32 ? 0x1p-126 : 0x1p-1022);
    ir_ref subnormal = lower_fcmp(l, IR_FCMP_OLT, size, smallest);
    ir_ref up = lower_op2(l, IR_FMUL, x, lower_float(l, machine, ldexp(1, scaled_by)));
    ir_ref bits = lower_cast(l, IR_BITCAST, bits_type, lower_select(l, subnormal, up, x));
    ir_ref field =
        lower_op2(l, IR_AND, lower_op2(l, IR_LSHR, bits, lower_int(l, bits_type, fraction)),
                  lower_int(l, bits_type, exponent_mask));
    ir_ref less = lower_select(l, subnormal, lower_int(l, bits_type, bias + scaled_by),
                               lower_int(l, bits_type, bias));
    ir_ref exponent = lower_op2(l, IR_SUB, field, less);
    if (f32)
        exponent = lower_cast(l, IR_SEXT, IR_T_I64, exponent);
    ir_ref rest = lower_op2(l, IR_AND, bits, lower_int(l, bits_type, ~(exponent_mask << fraction)));
    ir_ref half = lower_op2(l, IR_OR, rest, lower_int(l, bits_type, (int64_t)bias << fraction));
    ir_ref mantissa = lower_cast(l, IR_BITCAST, machine, half);
    /* 0, infinities and NaN are their own mantissa. */
    ir_ref regular = lower_op2(l, IR_AND, lower_fcmp(l, IR_FCMP_OLT, size, infinity),
                               lower_fcmp(l, IR_FCMP_OGT, size, zero));
    mantissa = lower_select(l, regular, mantissa, x);
    ir_ref parts[] = {ir_is_half(given) ? lower_half_narrow(l, mantissa, given) : mantissa,
                      lower_select(l, regular, exponent, lower_int(l, IR_T_I64, 0))};
    return lower_value_new(l, type, 2, parts);
}

static struct lower_value
math_modf(struct lower *l, ir_ref x, ir_type type)
{
    ir_type machine = lower_type_of(l, x);
    ir_ref whole = lower_op1(l, IR_FTRUNC, x);
    ir_ref rest = lower_op2(l, IR_FSUB, x, whole);
    ir_ref infinite =
        lower_fcmp(l, IR_FCMP_OEQ, lower_op1(l, IR_FABS, x), lower_float(l, machine, INFINITY));
    rest = lower_select(l, infinite, lower_float(l, machine, 0), rest);
    ir_ref parts[] = {lower_op2(l, IR_FCOPYSIGN, rest, x), whole};
    return lower_value_new(l, type, 2, parts);
}

/* The distance to the next float away from 0; of the largest float, to the one before it. */
static ir_ref
math_ulp(struct lower *l, ir_ref x)
{
    ir_type machine = lower_type_of(l, x), bits_type = math_bits_type(l, x);
    ir_ref one = lower_int(l, bits_type, 1), infinity = lower_float(l, machine, INFINITY);
    ir_ref size = lower_op1(l, IR_FABS, x);
    ir_ref bits = lower_cast(l, IR_BITCAST, bits_type, size);
    ir_ref next = lower_cast(l, IR_BITCAST, machine, lower_op2(l, IR_ADD, bits, one));
    ir_ref before = lower_cast(l, IR_BITCAST, machine, lower_op2(l, IR_SUB, bits, one));
    ir_ref last = lower_fcmp(l, IR_FCMP_OEQ, next, infinity);
    ir_ref ulp = lower_select(l, last, lower_op2(l, IR_FSUB, size, before),
                              lower_op2(l, IR_FSUB, next, size));
    /* Infinity and NaN answer themselves. */
    return lower_select(l, lower_fcmp(l, IR_FCMP_OLT, size, infinity), ulp, size);
}

/* The exponent as i32, limited to what already gives 0 or infinity from every float. */
static ir_ref
math_ldexp(struct lower *l, ir_ref x, struct lower_value exponent)
{
    ir_ref least = lower_int(l, IR_T_I64, -5000), most = lower_int(l, IR_T_I64, 5000), e;
    if (exponent.type == IR_T_UINT64) {
        e = exponent.parts[0];
        e = lower_select(l, lower_icmp(l, IR_ICMP_UGT, e, most), most, e);
    } else {
        e = lower_convert(l, exponent, IR_T_INT).parts[0];
        e = lower_select(l, lower_icmp(l, IR_ICMP_SGT, e, most), most, e);
        e = lower_select(l, lower_icmp(l, IR_ICMP_SLT, e, least), least, e);
    }
    return lower_intrin2(l, IR_INTRIN_LDEXP, x, lower_cast(l, IR_TRUNC, IR_T_I32, e));
}

/* ---- Several numbers ---- */

ir_ref
lower_param(struct lower *l, ir_ref py, enum ir_intrin id, uint32_t k)
{
    uint32_t operand = ir_intrin_operand(l->py, ir_insn(l->from, py), id, k);
    return operand ? ir_arg(l->from, py, operand) : 0;
}

static ir_ref
math_isclose(struct lower *l, ir_ref py)
{
    ir_ref a_py = lower_arg(l, py, 0), b_py = lower_arg(l, py, 1);
    ir_type types[] = {l->inst->cells[a_py].type, l->inst->cells[b_py].type};
    ir_type common = ir_math_type(2, types), type = lower_wide_float(common);
    ir_type machine = lower_machine(l, type);
    ir_ref a = lower_get_wide(l, a_py, common), b = lower_get_wide(l, b_py, common);
    ir_ref rel_py = lower_param(l, py, IR_INTRIN_ISCLOSE, 2);
    ir_ref abs_py = lower_param(l, py, IR_INTRIN_ISCLOSE, 3);
    ir_ref rel = rel_py ? lower_get_as(l, rel_py, type) : lower_float(l, machine, 1e-9);
    ir_ref absolute = abs_py ? lower_get_as(l, abs_py, type) : lower_float(l, machine, 0);
    ir_ref infinity = lower_float(l, machine, INFINITY);
    ir_ref size_a = lower_op1(l, IR_FABS, a), size_b = lower_op1(l, IR_FABS, b);
    ir_ref finite = lower_op2(l, IR_AND, lower_fcmp(l, IR_FCMP_UNE, size_a, infinity),
                              lower_fcmp(l, IR_FCMP_UNE, size_b, infinity));
    ir_ref diff = lower_op1(l, IR_FABS, lower_op2(l, IR_FSUB, b, a));
    ir_ref by_a = lower_op1(l, IR_FABS, lower_op2(l, IR_FMUL, rel, a));
    ir_ref by_b = lower_op1(l, IR_FABS, lower_op2(l, IR_FMUL, rel, b));
    ir_ref near = lower_op2(l, IR_OR, lower_fcmp(l, IR_FCMP_OLE, diff, by_b),
                            lower_fcmp(l, IR_FCMP_OLE, diff, by_a));
    near = lower_op2(l, IR_OR, near, lower_fcmp(l, IR_FCMP_OLE, diff, absolute));
    return lower_op2(l, IR_OR, lower_fcmp(l, IR_FCMP_OEQ, a, b),
                     lower_op2(l, IR_AND, finite, near));
}

static ir_ref
math_hypot(struct lower *l, ir_ref py, ir_type type)
{
    uint32_t n = lower_n_args(l, py);
    ir_type wide = lower_wide_float(type);
    if (n == 0)
        return lower_float(l, lower_machine(l, type), 0);
    ir_ref r = lower_get_wide(l, lower_arg(l, py, 0), type);
    if (n == 1)
        r = lower_op1(l, IR_FABS, r);
    for (uint32_t k = 1; k < n; k++)
        r = lower_intrin2(l, IR_INTRIN_HYPOT, r, lower_get_wide(l, lower_arg(l, py, k), type));
    return lower_convert_scalar(l, r, wide, type);
}

/* ---- Integers ---- */

/* Of two magnitudes, by Euclid. */
static ir_ref
math_gcd_of(struct lower *l, ir_ref a, ir_ref b)
{
    ir_ref zero = lower_int(l, lower_type_of(l, a), 0);
    struct lower_loop loop;
    lower_loop_open(l, &loop, 2, (ir_ref[]){a, b});
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_NE, loop.phis[1], zero));
    ir_ref rest = lower_op2(l, IR_UREM, loop.phis[0], loop.phis[1]);
    lower_loop_close(l, &loop, (ir_ref[]){loop.phis[1], rest});
    return loop.phis[0];
}

static ir_ref
math_gcd(struct lower *l, ir_ref py, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref zero = lower_int(l, machine, 0), r = zero;
    for (uint32_t k = 0; k < lower_n_args(l, py); k++) {
        ir_ref x = lower_int_abs(l, lower_get_as(l, lower_arg(l, py, k), type), type);
        r = k ? math_gcd_of(l, r, x) : x;
    }
    return r;
}

/* The product of the magnitudes over their divisor, from the left. */
static ir_ref
math_lcm(struct lower *l, ir_ref py, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref zero = lower_int(l, machine, 0), one = lower_int(l, machine, 1), r = one;
    for (uint32_t k = 0; k < lower_n_args(l, py); k++) {
        ir_ref x = lower_int_abs(l, lower_get_as(l, lower_arg(l, py, k), type), type);
        ir_ref divisor = k ? math_gcd_of(l, r, x) : one;
        divisor = lower_select(l, lower_icmp(l, IR_ICMP_EQ, divisor, zero), one, divisor);
        r = lower_op2(l, IR_MUL, lower_op2(l, IR_UDIV, r, divisor), x);
    }
    return r;
}

/* A 64-bit n below 2^64 has a double square root within 1 of the exact one: both n's rounding (a
 * relative 2^-53) and the root's own change a root below 2^32 by less than 2^-20. The root is
 * limited so that its square fits. */
static struct lower_value
math_isqrt(struct lower *l, struct lower_value x, ir_type type)
{
    bool is_unsigned = ir_is_unsigned(type);
    ir_type wide = is_unsigned ? IR_T_UINT64 : IR_T_INT;
    ir_ref n = lower_convert(l, x, wide).parts[0];
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    ir_ref most = lower_int(l, IR_T_I64, is_unsigned ? 4294967295 : 3037000499);
    ir_ref negative = is_unsigned ? lower_bool(l, false) : lower_icmp(l, IR_ICMP_SLT, n, zero);
    n = lower_select(l, negative, zero, n);
    ir_ref f = lower_cast(l, is_unsigned ? IR_UITOFP : IR_SITOFP, IR_T_F64, n);
    ir_ref r = lower_cast(l, IR_FPTOSI_SAT, IR_T_I64, lower_op1(l, IR_FSQRT, f));
    r = lower_select(l, lower_icmp(l, IR_ICMP_SGT, r, most), most, r);
    ir_ref above = lower_icmp(l, IR_ICMP_UGT, lower_op2(l, IR_MUL, r, r), n);
    r = lower_select(l, above, lower_op2(l, IR_SUB, r, one), r);
    ir_ref next = lower_op2(l, IR_ADD, r, one);
    ir_ref below = lower_icmp(l, IR_ICMP_ULE, lower_op2(l, IR_MUL, next, next), n);
    below = lower_op2(l, IR_AND, below, lower_icmp(l, IR_ICMP_SLT, r, most));
    r = lower_select(l, below, next, r);
    lower_mark_nonneg(l, r);
    return lower_convert(l, lower_scalar(l, wide, r), type);
}

struct lower_value
lower_math(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = l->inst->cells[py].type;
    struct lower_value x = {0, 0, NULL};
    if (lower_n_args(l, py))
        x = lower_get(l, lower_arg(l, py, 0));
    bool of_integers = ir_intrin_row(id)->rule == IR_RULE_GCD || id == IR_INTRIN_ISQRT;
    ir_type float_type = of_integers || !x.n ? (ir_type)IR_T_FLOAT : ir_math_type(1, &x.type);
    ir_ref r;
    switch (id) {
    case IR_INTRIN_FREXP: return math_frexp(l, lower_convert(l, x, float_type).parts[0], type);
    case IR_INTRIN_MODF: return math_modf(l, lower_convert(l, x, float_type).parts[0], type);
    case IR_INTRIN_ISQRT: return math_isqrt(l, x, type);
    case IR_INTRIN_ULP: r = math_ulp(l, lower_convert(l, x, float_type).parts[0]); break;
    case IR_INTRIN_LDEXP:
        r = math_ldexp(l, lower_convert(l, x, float_type).parts[0],
                       lower_get(l, lower_arg(l, py, 1)));
        break;
    case IR_INTRIN_ISCLOSE: r = math_isclose(l, py); break;
    case IR_INTRIN_HYPOT: r = math_hypot(l, py, type); break;
    case IR_INTRIN_GCD:
    case IR_INTRIN_NP_GCD: r = math_gcd(l, py, type); break;
    case IR_INTRIN_LCM:
    case IR_INTRIN_NP_LCM: r = math_lcm(l, py, type); break;
    default: assert(!"no such function here"); return lower_zero(l, type);
    }
    return lower_scalar(l, type, r);
}
