/* lower_numpy: NumPy's functions on numbers, where math and the operators have no equal.
 *
 * In: calls with their cells. Out: straight-line core operations that give what NumPy's function
 * gives, in the type of the cell. Sources: the documentation of numpy, and what NumPy 2 computes
 * for zeros, infinities and NaN.
 *
 *     np.maximum(a, b)     ->  select (or (fcmp.ogt a, b), (fcmp.uno a, a)), a, b
 *     np.sign(x)           ->  select (fcmp.ogt x, 0), 1, (select (fcmp.olt x, 0), -1, (x == 0 ? 0 : x))
 *     np.logaddexp(a, b)   ->  a and b's greater one + log1p(exp(-|a - b|))
 *
 * Of equal numbers maximum and the like take the second, which shows in the sign of zeros only.
 * clip and where choose among the arguments as they are and convert the chosen one, like min and
 * max. */
#include "ir/lower.h"

#include <assert.h>
#include <math.h>

static ir_type
numpy_type(const struct lower *l, ir_ref py)
{
    return l->inst->cells[py].type;
}

static struct lower_value
numpy_arg(struct lower *l, ir_ref py, uint32_t k)
{
    return lower_get(l, lower_arg(l, py, k));
}

static ir_ref
numpy_isnan(struct lower *l, ir_ref x)
{
    return lower_fcmp(l, IR_FCMP_UNO, x, x);
}

static ir_ref
numpy_float(struct lower *l, ir_ref like, double value)
{
    return lower_float(l, lower_type_of(l, like), value);
}

/* ---- Floats ---- */

static ir_ref
numpy_heaviside(struct lower *l, ir_ref x, ir_ref h)
{
    ir_ref zero = numpy_float(l, x, 0), one = numpy_float(l, x, 1);
    ir_ref r = lower_select(l, lower_fcmp(l, IR_FCMP_OGT, x, zero), one, x); /* NaN: itself */
    r = lower_select(l, lower_fcmp(l, IR_FCMP_OLT, x, zero), zero, r);
    return lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, x, zero), h, r);
}

/* log(e**a + e**b), or with base 2. Equal ones apart, because infinities have no difference. */
static ir_ref
numpy_logaddexp(struct lower *l, ir_ref a, ir_ref b, bool base_2)
{
    static const double log2_e = 0x1.71547652b82fep+0, log_2 = 0x1.62e42fefa39efp-1;
    ir_ref d = lower_op2(l, IR_FSUB, a, b);
    ir_ref less = lower_op1(l, IR_FNEG, lower_op1(l, IR_FABS, d));
    ir_ref power = lower_intrin1(l, base_2 ? IR_INTRIN_EXP2 : IR_INTRIN_EXP, less);
    ir_ref rest = lower_intrin1(l, IR_INTRIN_LOG1P, power);
    if (base_2)
        rest = lower_op2(l, IR_FMUL, rest, numpy_float(l, a, log2_e));
    ir_ref greater = lower_select(l, lower_fcmp(l, IR_FCMP_OGT, d, numpy_float(l, a, 0)), a, b);
    ir_ref same = lower_op2(l, IR_FADD, a, numpy_float(l, a, base_2 ? 1 : log_2));
    return lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, a, b), same,
                        lower_op2(l, IR_FADD, greater, rest));
}

static ir_ref
numpy_sinc(struct lower *l, ir_ref x)
{
    ir_ref y = lower_op2(l, IR_FMUL, x, numpy_float(l, x, 0x1.921fb54442d18p+1));
    ir_ref r = lower_op2(l, IR_FDIV, lower_intrin1(l, IR_INTRIN_SIN, y), y);
    ir_ref zero = lower_fcmp(l, IR_FCMP_OEQ, x, numpy_float(l, x, 0));
    return lower_select(l, zero, numpy_float(l, x, 1), r);
}

/* The bits of |x| plus one are the next number away from 0, of infinity a NaN. */
static ir_ref
numpy_spacing(struct lower *l, ir_ref x)
{
    ir_type machine = lower_type_of(l, x);
    ir_type bits_type = ir_machine_bits(machine) == 64   ? IR_T_I64
                        : ir_machine_bits(machine) == 32 ? IR_T_I32
                                                         : IR_T_I16;
    ir_ref size = lower_op1(l, IR_FABS, x), zero = numpy_float(l, x, 0);
    ir_ref bits = lower_cast(l, IR_BITCAST, bits_type, size);
    bits = lower_op2(l, IR_ADD, bits, lower_int(l, bits_type, 1));
    ir_ref next = lower_cast(l, IR_BITCAST, machine, bits);
    ir_ref r = lower_op2(l, IR_FSUB, next, size);
    return lower_select(l, lower_fcmp(l, IR_FCMP_OLT, x, zero), lower_op1(l, IR_FNEG, r), r);
}

static ir_ref
numpy_angle(struct lower *l, ir_ref py, ir_ref x)
{
    ir_ref r = lower_intrin2(l, IR_INTRIN_ATAN2, numpy_float(l, x, 0), x);
    ir_ref deg = lower_param(l, py, IR_INTRIN_NP_ANGLE, 1);
    if (!deg)
        return r;
    ir_ref scaled = lower_op2(l, IR_FMUL, r, numpy_float(l, x, 180 / 0x1.921fb54442d18p+1));
    return lower_select(l, lower_truth(l, lower_get(l, deg)), scaled, r);
}

/* Halves compute in float32, but for the distance between their own numbers. */
static struct lower_value
numpy_of_floats(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = numpy_type(l, py), wide = lower_wide_float(type);
    ir_ref first = lower_arg(l, py, 0), r;
    if (id == IR_INTRIN_NP_SPACING)
        return lower_scalar(l, type, numpy_spacing(l, lower_get_as(l, first, type)));
    ir_ref x = lower_get_wide(l, first, type), y = 0;
    if (lower_n_args(l, py) == 2 && id != IR_INTRIN_NP_ANGLE)
        y = lower_get_wide(l, lower_arg(l, py, 1), type);
    switch (id) {
    case IR_INTRIN_NP_HEAVISIDE: r = numpy_heaviside(l, x, y); break;
    case IR_INTRIN_NP_LOGADDEXP: r = numpy_logaddexp(l, x, y, false); break;
    case IR_INTRIN_NP_LOGADDEXP2: r = numpy_logaddexp(l, x, y, true); break;
    case IR_INTRIN_NP_SINC: r = numpy_sinc(l, x); break;
    case IR_INTRIN_NP_RINT: r = lower_op1(l, IR_FRINT, x); break;
    case IR_INTRIN_NP_FLOAT_POWER: r = lower_intrin2(l, IR_INTRIN_POW, x, y); break;
    default: r = numpy_angle(l, py, x); break;
    }
    return lower_convert(l, lower_scalar(l, wide, r), type);
}

/* ---- The type of the argument ---- */

static ir_ref
numpy_sign(struct lower *l, ir_ref x, ir_type type)
{
    if (ir_is_float(type)) {
        ir_ref zero = numpy_float(l, x, 0);
        ir_ref r = lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, x, zero), zero, x); /* NaN: itself */
        r = lower_select(l, lower_fcmp(l, IR_FCMP_OLT, x, zero), numpy_float(l, x, -1), r);
        return lower_select(l, lower_fcmp(l, IR_FCMP_OGT, x, zero), numpy_float(l, x, 1), r);
    }
    ir_type machine = lower_type_of(l, x);
    ir_ref zero = lower_int(l, machine, 0), one = lower_int(l, machine, 1);
    ir_ref r = lower_select(l, lower_icmp(l, IR_ICMP_EQ, x, zero), zero, one);
    if (ir_is_unsigned(type))
        return r;
    return lower_select(l, lower_icmp(l, IR_ICMP_SLT, x, zero), lower_int(l, machine, -1), r);
}

static ir_ref
numpy_reciprocal(struct lower *l, ir_ref x, ir_type type)
{
    if (ir_is_float(type))
        return lower_op2(l, IR_FDIV, numpy_float(l, x, 1), x);
    ir_type machine = lower_type_of(l, x);
    ir_ref unit = lower_icmp(l, IR_ICMP_EQ, x, lower_int(l, machine, 1));
    if (!ir_is_unsigned(type))
        unit = lower_op2(l, IR_OR, unit, lower_icmp(l, IR_ICMP_EQ, x, lower_int(l, machine, -1)));
    return lower_select(l, unit, x, lower_int(l, machine, 0));
}

/* Parameter `k`, or what stands for it. */
static ir_ref
numpy_replacement(struct lower *l, ir_ref py, uint32_t k, ir_type type, double otherwise)
{
    ir_ref given = lower_param(l, py, IR_INTRIN_NP_NAN_TO_NUM, k);
    if (given && ir_type_is_scalar(l->inst->cells[given].type))
        return lower_get_as(l, given, type);
    return lower_float(l, lower_machine(l, type), otherwise);
}

static ir_ref
numpy_nan_to_num(struct lower *l, ir_ref py, ir_ref x, ir_type type)
{
    if (!ir_is_float(type))
        return x;
    double largest = ir_float_largest(lower_type_of(l, x));
    ir_ref r = lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, x, numpy_float(l, x, INFINITY)),
                            numpy_replacement(l, py, 3, type, largest), x);
    r = lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, x, numpy_float(l, x, -INFINITY)),
                     numpy_replacement(l, py, 4, type, -largest), r);
    return lower_select(l, numpy_isnan(l, x), numpy_replacement(l, py, 2, type, 0), r);
}

static struct lower_value
numpy_same(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = numpy_type(l, py);
    bool is_float = ir_is_float(type);
    ir_ref x = lower_get_as(l, lower_arg(l, py, 0), type), r = x;
    switch (id) {
    case IR_INTRIN_NP_SIGN: r = numpy_sign(l, x, type); break;
    case IR_INTRIN_NP_SQUARE: r = lower_op2(l, is_float ? IR_FMUL : IR_MUL, x, x); break;
    case IR_INTRIN_NP_RECIPROCAL: r = numpy_reciprocal(l, x, type); break;
    case IR_INTRIN_NP_NAN_TO_NUM: r = numpy_nan_to_num(l, py, x, type); break;
    case IR_INTRIN_NP_IMAG: return lower_zero(l, type);
    case IR_INTRIN_NP_FLOOR: r = is_float ? lower_op1(l, IR_FFLOOR, x) : x; break;
    case IR_INTRIN_NP_CEIL: r = is_float ? lower_op1(l, IR_FCEIL, x) : x; break;
    case IR_INTRIN_NP_TRUNC:
    case IR_INTRIN_NP_FIX: r = is_float ? lower_op1(l, IR_FTRUNC, x) : x; break;
    default: break; /* conjugate, real */
    }
    return lower_scalar(l, type, r);
}

static struct lower_value
numpy_round(struct lower *l, ir_ref py)
{
    int64_t digits = 0;
    ir_ref given = lower_param(l, py, IR_INTRIN_NP_ROUND, 1);
    bool known = !given || lower_int_of(l, lower_get_as(l, given, IR_T_INT), &digits);
    assert(known && "inference demands the decimals");
    (void)known;
    return lower_round_to(l, numpy_arg(l, py, 0), digits, numpy_type(l, py));
}

/* ---- Several numbers ---- */

static struct lower_value
numpy_extreme(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = numpy_type(l, py);
    struct lower_value a = numpy_arg(l, py, 0), b = numpy_arg(l, py, 1);
    bool max = id == IR_INTRIN_NP_MAXIMUM || id == IR_INTRIN_NP_FMAX;
    bool skips_nan = id == IR_INTRIN_NP_FMAX || id == IR_INTRIN_NP_FMIN;
    ir_ref x = lower_convert(l, a, type).parts[0], y = lower_convert(l, b, type).parts[0];
    if (ir_is_float(type)) {
        a = lower_scalar(l, type, x);
        b = lower_scalar(l, type, y);
    }
    ir_ref first = lower_compare(l, max ? IR_CMP_GT : IR_CMP_LT, a, b);
    if (ir_is_float(type))
        first = lower_op2(l, IR_OR, first, numpy_isnan(l, skips_nan ? y : x));
    return lower_scalar(l, type, lower_select(l, first, x, y));
}

/* Whether `x` is replaced by the limit: it is beyond it, or the limit is NaN. */
static ir_ref
numpy_beyond(struct lower *l, enum ir_cmpop op, struct lower_value x, struct lower_value limit)
{
    ir_ref r = lower_compare(l, op, x, limit);
    return ir_is_float(limit.type) ? lower_op2(l, IR_OR, r, numpy_isnan(l, limit.parts[0])) : r;
}

/* A limit of clip by either of its names; false: none, or None. */
static bool
numpy_limit(struct lower *l, ir_ref py, uint32_t k, ir_type type, struct lower_value *out)
{
    ir_ref given = lower_param(l, py, IR_INTRIN_NP_CLIP, k);
    if (!given)
        given = lower_param(l, py, IR_INTRIN_NP_CLIP, k + 2);
    if (!given || !ir_type_is_scalar(l->inst->cells[given].type))
        return false;
    *out = lower_get(l, given);
    if (ir_is_float(type))
        *out = lower_convert(l, *out, type);
    return true;
}

static struct lower_value
numpy_clip(struct lower *l, ir_ref py)
{
    ir_type type = numpy_type(l, py);
    struct lower_value x = numpy_arg(l, py, 0), low, high;
    if (ir_is_float(type))
        x = lower_convert(l, x, type);
    bool has_low = numpy_limit(l, py, 1, type, &low), has_high = numpy_limit(l, py, 2, type, &high);
    ir_ref r = lower_convert(l, x, type).parts[0], below = lower_bool(l, false);
    if (has_low) {
        below = numpy_beyond(l, IR_CMP_LT, x, low);
        r = lower_select(l, below, lower_convert(l, low, type).parts[0], r);
    }
    if (has_high) {
        ir_ref above = numpy_beyond(l, IR_CMP_GT, x, high);
        if (has_low)
            above = lower_select(l, below, numpy_beyond(l, IR_CMP_GT, low, high), above);
        r = lower_select(l, above, lower_convert(l, high, type).parts[0], r);
    }
    return lower_scalar(l, type, r);
}

static struct lower_value
numpy_join(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = numpy_type(l, py);
    if (id == IR_INTRIN_NP_CLIP)
        return numpy_clip(l, py);
    if (id != IR_INTRIN_NP_WHERE && id != IR_INTRIN_SELP)
        return numpy_extreme(l, py, id);
    ir_ref condition = lower_truth(l, numpy_arg(l, py, 0));
    return lower_scalar(l, type,
                        lower_select(l, condition, lower_get_as(l, lower_arg(l, py, 1), type),
                                     lower_get_as(l, lower_arg(l, py, 2), type)));
}

/* Of integers by the magnitudes; by zero 0. */
static struct lower_value
numpy_fmod(struct lower *l, ir_ref py)
{
    ir_type type = numpy_type(l, py);
    ir_ref a = lower_get_as(l, lower_arg(l, py, 0), type);
    ir_ref b = lower_get_as(l, lower_arg(l, py, 1), type);
    if (ir_is_float(type))
        return lower_scalar(l, type, lower_intrin2(l, IR_INTRIN_FMOD, a, b));
    ir_type machine = lower_type_of(l, a);
    ir_ref zero = lower_int(l, machine, 0);
    ir_ref d = lower_int_abs(l, b, type);
    d = lower_select(l, lower_icmp(l, IR_ICMP_EQ, d, zero), lower_int(l, machine, 1), d);
    ir_ref r = lower_op2(l, IR_UREM, lower_int_abs(l, a, type), d);
    if (!ir_is_unsigned(type))
        r = lower_select(l, lower_icmp(l, IR_ICMP_SLT, a, zero), lower_op2(l, IR_SUB, zero, r), r);
    return lower_scalar(l, type, r);
}

/* ---- Truth values and bits ---- */

static ir_ref
numpy_signbit(struct lower *l, struct lower_value x)
{
    ir_ref v = x.parts[0];
    if (x.type == IR_T_BOOL || ir_is_unsigned(x.type))
        return lower_bool(l, false);
    if (ir_is_float(x.type)) {
        unsigned bits = ir_machine_bits(lower_type_of(l, v));
        v = lower_cast(l, IR_BITCAST, bits == 64 ? IR_T_I64 : bits == 32 ? IR_T_I32 : IR_T_I16, v);
    }
    return lower_icmp(l, IR_ICMP_SLT, v, lower_int(l, lower_type_of(l, v), 0));
}

static ir_ref
numpy_isclose(struct lower *l, ir_ref py)
{
    ir_ref a_py = lower_arg(l, py, 0), b_py = lower_arg(l, py, 1);
    ir_type types[] = {l->inst->cells[a_py].type, l->inst->cells[b_py].type};
    ir_type type = ir_math_type(2, types);
    ir_ref a = lower_get_as(l, a_py, type), b = lower_get_as(l, b_py, type);
    ir_ref rtol_py = lower_param(l, py, IR_INTRIN_NP_ISCLOSE, 2);
    ir_ref atol_py = lower_param(l, py, IR_INTRIN_NP_ISCLOSE, 3);
    ir_ref nan_py = lower_param(l, py, IR_INTRIN_NP_ISCLOSE, 4);
    ir_ref rtol = rtol_py ? lower_get_as(l, rtol_py, type) : numpy_float(l, a, 1e-5);
    ir_ref atol = atol_py ? lower_get_as(l, atol_py, type) : numpy_float(l, a, 1e-8);
    ir_ref size = lower_op1(l, IR_FABS, b);
    ir_ref bound = lower_op2(l, IR_FADD, atol, lower_op2(l, IR_FMUL, rtol, size));
    ir_ref near =
        lower_fcmp(l, IR_FCMP_OLE, lower_op1(l, IR_FABS, lower_op2(l, IR_FSUB, a, b)), bound);
    near =
        lower_op2(l, IR_AND, near, lower_fcmp(l, IR_FCMP_OLT, size, numpy_float(l, a, INFINITY)));
    near = lower_op2(l, IR_OR, near, lower_fcmp(l, IR_FCMP_OEQ, a, b));
    if (!nan_py)
        return near;
    ir_ref both = lower_op2(l, IR_AND, numpy_isnan(l, a), numpy_isnan(l, b));
    both = lower_op2(l, IR_AND, both, lower_truth(l, lower_get(l, nan_py)));
    return lower_op2(l, IR_OR, near, both);
}

static struct lower_value
numpy_bool(struct lower *l, ir_ref py, enum ir_intrin id)
{
    struct lower_value x = numpy_arg(l, py, 0);
    ir_ref r;
    if (id == IR_INTRIN_NP_SIGNBIT) {
        r = numpy_signbit(l, x);
    } else if (id == IR_INTRIN_NP_ISPOSINF || id == IR_INTRIN_NP_ISNEGINF) {
        double value = id == IR_INTRIN_NP_ISPOSINF ? INFINITY : -INFINITY;
        r = ir_is_float(x.type)
                ? lower_fcmp(l, IR_FCMP_OEQ, x.parts[0], numpy_float(l, x.parts[0], value))
                : lower_bool(l, false);
    } else if (id == IR_INTRIN_NP_ISCLOSE) {
        r = numpy_isclose(l, py);
    } else {
        enum ir_op op = id == IR_INTRIN_NP_LOGICAL_AND  ? IR_AND
                        : id == IR_INTRIN_NP_LOGICAL_OR ? IR_OR
                                                        : IR_XOR;
        r = lower_op2(l, op, lower_truth(l, x), lower_truth(l, numpy_arg(l, py, 1)));
    }
    return lower_scalar(l, IR_T_BOOL, r);
}

/* One bits of the absolute value, or with `length` its digits in base 2. */
static struct lower_value
numpy_bits(struct lower *l, struct lower_value x, bool length)
{
    ir_type wide = ir_is_unsigned(x.type) ? IR_T_UINT64 : IR_T_INT;
    ir_ref size = lower_int_abs(l, lower_convert(l, x, wide).parts[0], wide);
    ir_ref r = lower_op1(l, length ? IR_CTLZ : IR_CTPOP, size);
    if (length)
        r = lower_op2(l, IR_SUB, lower_int(l, IR_T_I64, 64), r);
    lower_mark_nonneg(l, r);
    return lower_scalar(l, IR_T_INT, r);
}

/* ---- Methods and attributes of numbers ---- */

static ir_ref
numpy_is_integer(struct lower *l, struct lower_value x)
{
    if (!ir_is_float(x.type))
        return lower_bool(l, true);
    ir_ref v = x.parts[0], infinity = numpy_float(l, v, INFINITY);
    ir_ref whole = lower_fcmp(l, IR_FCMP_OEQ, lower_op1(l, IR_FTRUNC, v), v);
    return lower_op2(l, IR_AND, whole,
                     lower_fcmp(l, IR_FCMP_OLT, lower_op1(l, IR_FABS, v), infinity));
}

struct lower_value
lower_method(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = numpy_type(l, py);
    struct lower_value x = lower_get(l, ir_method_self(l->from, py));
    switch (id) {
    case IR_INTRIN_NUMBER_VIEW: {
        ir_type machine = lower_machine(l, type);
        bool same = lower_type_of(l, x.parts[0]) == machine;
        return lower_scalar(l, type,
                            same ? x.parts[0] : lower_cast(l, IR_BITCAST, machine, x.parts[0]));
    }
    case IR_INTRIN_NUMBER_IS_INTEGER: return lower_scalar(l, type, numpy_is_integer(l, x));
    case IR_INTRIN_NUMBER_BIT_COUNT: return numpy_bits(l, x, false);
    case IR_INTRIN_NUMBER_BIT_LENGTH: return numpy_bits(l, x, true);
    default: return lower_convert(l, x, type);
    }
}

struct lower_value
lower_number_attr(struct lower *l, ir_ref py)
{
    ir_type type = numpy_type(l, py);
    const char *name = ir_const_info(l->py, ir_insn(l->from, py)->imm)->str;
    assert((*name == 'r' || *name == 'i') && "dtype and methods are constants");
    return *name == 'r' ? lower_convert(l, lower_get(l, ir_arg(l->from, py, 0)), type)
                        : lower_zero(l, type);
}

struct lower_value
lower_numpy(struct lower *l, ir_ref py, enum ir_intrin id)
{
    switch ((enum ir_rule)ir_intrin_row(id)->rule) {
    case IR_RULE_NP_FLOAT:
    case IR_RULE_NP_POWER: return numpy_of_floats(l, py, id);
    case IR_RULE_NP_SAME: return numpy_same(l, py, id);
    case IR_RULE_NP_ROUND: return numpy_round(l, py);
    case IR_RULE_NP_JOIN: return numpy_join(l, py, id);
    case IR_RULE_NP_FMOD: return numpy_fmod(l, py);
    case IR_RULE_NP_BOOL: return numpy_bool(l, py, id);
    case IR_RULE_NP_BITS: return numpy_bits(l, numpy_arg(l, py, 0), false);
    default: break;
    }
    assert(!"no such rule of numpy");
    return lower_zero(l, numpy_type(l, py));
}
