/* lower_intrin: calls of the kernel namespace, one small function per rule of intrin.def.
 *
 * In: a CALL whose callee is an intrinsic, checked by inference. Out: core operations, or INTRIN of
 * machine values where a target has to supply the function. The result has the type of the call's
 * cell. Functions that are a sequence of core operations are in lower_math.c.
 *
 *     gpu.grid(1)      ->  %b = zext i64 (intrin ctaid.x)  ...  add (mul %b, %d), %t
 *     math.floor(x)    ->  fptosi.sat i64 (ffloor x)
 *     round(x, 2)      ->  fdiv (frint (fmul x, 100.0)), 100.0
 */
#include "ir/lower.h"

#include <assert.h>
#include <math.h>

static ir_type
intrin_type(const struct lower *l, ir_ref py)
{
    return l->inst->cells[py].type;
}

/* ---- Indices ---- */

ir_ref
lower_sreg(struct lower *l, enum ir_intrin id)
{
    assert(ir_intrin_row(id)->rule == IR_RULE_SREG && "a register");
    ir_ref narrow = lower_emit(l, IR_INTRIN, IR_T_I32, id, 0, NULL);
    return lower_cast(l, IR_ZEXT, IR_T_I64, narrow);
}

/* No product here reaches 2^63: a grid has fewer than 2^31 blocks of at most 2^10 threads along x.
 * */
static struct lower_value
intrin_grid(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = intrin_type(l, py);
    uint32_t n = lower_n_parts(l, type);
    ir_ref parts[3];
    for (uint32_t k = 0; k < n; k++) {
        ir_ref threads = lower_sreg(l, (enum ir_intrin)(IR_INTRIN_NTID_X + k));
        if (id == IR_INTRIN_GRID) {
            ir_ref block = lower_sreg(l, (enum ir_intrin)(IR_INTRIN_CTAID_X + k));
            ir_ref thread = lower_sreg(l, (enum ir_intrin)(IR_INTRIN_TID_X + k));
            parts[k] = lower_op2(l, IR_ADD, lower_op2(l, IR_MUL, block, threads), thread);
        } else {
            ir_ref blocks = lower_sreg(l, (enum ir_intrin)(IR_INTRIN_NCTAID_X + k));
            parts[k] = lower_op2(l, IR_MUL, blocks, threads);
        }
        lower_mark_nonneg(l, parts[k]);
    }
    return lower_value_new(l, type, n, parts);
}

/* ---- abs, round ---- */

static struct lower_value
intrin_abs(struct lower *l, ir_ref py)
{
    ir_type type = intrin_type(l, py);
    ir_ref x = lower_get_as(l, lower_arg(l, py, 0), type);
    lower_check_negate(l, x, type, "abs({i})");
    return lower_scalar(l, type,
                        ir_is_float(type) ? lower_op1(l, IR_FABS, x) : lower_int_abs(l, x, type));
}

/* floor, ceil, trunc, round: of a float a rounded one, saturated; of an integer itself. */
static struct lower_value
intrin_round(struct lower *l, ir_ref py, enum ir_op op)
{
    struct lower_value x = lower_get(l, lower_arg(l, py, 0));
    if (!ir_is_float(x.type))
        return lower_convert(l, x, IR_T_INT);
    ir_ref rounded = op == IR_FTRUNC ? x.parts[0] : lower_op1(l, op, x.parts[0]);
    lower_check_cast(l, lower_scalar(l, x.type, rounded), IR_T_INT);
    return lower_scalar(l, IR_T_INT, lower_cast(l, IR_FPTOSI_SAT, IR_T_I64, rounded));
}

/* An integer to a multiple of 10**digits, ties to the even multiple; on the magnitude, unsigned. */
static struct lower_value
intrin_round_int(struct lower *l, struct lower_value x, int64_t digits, ir_type type)
{
    if (digits >= 20)
        return lower_zero(l, type);
    uint64_t p = 1;
    for (int64_t k = 0; k < digits; k++)
        p *= 10;
    ir_type wide = ir_is_unsigned(x.type) ? IR_T_UINT64 : IR_T_INT;
    ir_ref v = lower_convert(l, x, wide).parts[0], zero = lower_int(l, IR_T_I64, 0);
    ir_ref unit = lower_int(l, IR_T_I64, (int64_t)p),
           half = lower_int(l, IR_T_I64, (int64_t)(p / 2));
    ir_ref m = lower_int_abs(l, v, wide);
    ir_ref q = lower_op2(l, IR_UDIV, m, unit), r = lower_op2(l, IR_UREM, m, unit);
    ir_ref odd = lower_cast(l, IR_TRUNC, IR_T_I1, q);
    ir_ref up = lower_op2(l, IR_OR, lower_icmp(l, IR_ICMP_UGT, r, half),
                          lower_op2(l, IR_AND, lower_icmp(l, IR_ICMP_EQ, r, half), odd));
    q = lower_op2(l, IR_ADD, q, lower_cast(l, IR_ZEXT, IR_T_I64, up));
    ir_ref rounded = lower_op2(l, IR_MUL, q, unit);
    if (wide == IR_T_INT)
        rounded = lower_select(l, lower_icmp(l, IR_ICMP_SLT, v, zero),
                               lower_op2(l, IR_SUB, zero, rounded), rounded);
    return lower_convert(l, lower_scalar(l, wide, rounded), type);
}

/* As NumPy: scale, round, scale back. */
struct lower_value
lower_round_to(struct lower *l, struct lower_value x, int64_t digits, ir_type type)
{
    if (!ir_is_float(type))
        return digits >= 0 ? lower_convert(l, x, type)
                           : intrin_round_int(l, x, digits < -20 ? 20 : -digits, type);
    ir_ref v = lower_convert(l, x, type).parts[0];
    if (digits == 0)
        return lower_scalar(l, type, lower_op1(l, IR_FRINT, v));
    int64_t power = digits < 0 ? -digits : digits;
    ir_ref scale =
        lower_float(l, lower_machine(l, type), pow(10, power > 400 ? 400 : (double)power));
    enum ir_op there = digits > 0 ? IR_FMUL : IR_FDIV, back = digits > 0 ? IR_FDIV : IR_FMUL;
    v = lower_op1(l, IR_FRINT, lower_op2(l, there, v, scale));
    return lower_scalar(l, type, lower_op2(l, back, v, scale));
}

/* round(x) and round(x, digits); the digits are a constant. */
static struct lower_value
intrin_round_digits(struct lower *l, ir_ref py)
{
    if (lower_n_args(l, py) == 1)
        return intrin_round(l, py, IR_FRINT);
    struct lower_value x = lower_get(l, lower_arg(l, py, 0));
    int64_t digits;
    bool known = lower_int_of(l, lower_get_as(l, lower_arg(l, py, 1), IR_T_INT), &digits);
    assert(known && "inference demands the digits");
    (void)known;
    return lower_round_to(l, x, digits, intrin_type(l, py));
}

/* ---- Float functions ---- */

static struct lower_value
intrin_math(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = intrin_type(l, py);
    uint32_t n = lower_n_args(l, py);
    assert(n >= 1 && n <= 2 && "math functions of the targets have one or two arguments");
    ir_ref a = lower_get_as(l, lower_arg(l, py, 0), type);
    if (n == 1)
        return lower_scalar(l, type, lower_intrin1(l, id, a));
    ir_ref b = lower_get_as(l, lower_arg(l, py, 1), type);
    if (id == IR_INTRIN_NEXTAFTER && type != lower_wide_float(type))
        return lower_scalar(l, type, lower_half_nextafter(l, a, b));
    return lower_scalar(l, type, lower_intrin2(l, id, a, b));
}

static struct lower_value
intrin_log(struct lower *l, ir_ref py)
{
    ir_type type = intrin_type(l, py), wide = lower_wide_float(type);
    ir_ref r = lower_intrin1(l, IR_INTRIN_LOG, lower_get_wide(l, lower_arg(l, py, 0), type));
    if (lower_n_args(l, py) == 2) {
        ir_ref base = lower_get_wide(l, lower_arg(l, py, 1), type);
        r = lower_op2(l, IR_FDIV, r, lower_intrin1(l, IR_INTRIN_LOG, base));
    }
    return lower_scalar(l, type, lower_convert_scalar(l, r, wide, type));
}

static struct lower_value
intrin_fcore(struct lower *l, ir_ref py, enum ir_intrin id)
{
    static const double pi = 0x1.921fb54442d18p+1;
    ir_type type = intrin_type(l, py);
    bool angle = id == IR_INTRIN_DEGREES || id == IR_INTRIN_RADIANS;
    ir_type wide = angle ? lower_wide_float(type) : type, machine = lower_machine(l, wide);
    ir_ref x[3] = {0, 0, 0}, r = 0;
    for (uint32_t k = 0; k < lower_n_args(l, py); k++)
        x[k] = lower_convert_scalar(l, lower_get_as(l, lower_arg(l, py, k), type), type, wide);
    switch (id) {
    case IR_INTRIN_SQRT: r = lower_op1(l, IR_FSQRT, x[0]); break;
    case IR_INTRIN_FABS: r = lower_op1(l, IR_FABS, x[0]); break;
    case IR_INTRIN_COPYSIGN: r = lower_op2(l, IR_FCOPYSIGN, x[0], x[1]); break;
    case IR_INTRIN_FMA: r = lower_fma(l, x[0], x[1], x[2]); break;
    case IR_INTRIN_DEGREES:
        r = lower_op2(l, IR_FMUL, x[0], lower_float(l, machine, 180 / pi));
        break;
    case IR_INTRIN_RADIANS:
        r = lower_op2(l, IR_FMUL, x[0], lower_float(l, machine, pi / 180));
        break;
    default: assert(!"no such function of core operations"); break;
    }
    return lower_scalar(l, type, lower_convert_scalar(l, r, wide, type));
}

/* Integers are finite, also where the float that they convert to is not. */
static struct lower_value
intrin_test(struct lower *l, ir_ref py, enum ir_intrin id)
{
    struct lower_value value = lower_get(l, lower_arg(l, py, 0));
    ir_ref r;
    if (!ir_is_float(value.type)) {
        r = lower_bool(l, id == IR_INTRIN_ISFINITE);
    } else {
        ir_ref x = value.parts[0],
               infinity = lower_float(l, lower_machine(l, value.type), INFINITY);
        if (id == IR_INTRIN_ISNAN)
            r = lower_fcmp(l, IR_FCMP_UNO, x, x);
        else
            r = lower_fcmp(l, id == IR_INTRIN_ISINF ? IR_FCMP_OEQ : IR_FCMP_OLT,
                           lower_op1(l, IR_FABS, x), infinity);
    }
    return lower_scalar(l, IR_T_BOOL, r);
}

/* ---- Barriers and fences ---- */

/* An EFFECT: its value, or 0 for type void. */
ir_ref
lower_effect(struct lower *l, enum ir_intrin id, ir_type type, uint32_t n, const ir_ref *args)
{
    return lower_emit(l, IR_EFFECT, type, id, n, args);
}

static struct lower_value
intrin_barrier(struct lower *l, ir_ref py, enum ir_intrin id)
{
    if (!lower_n_args(l, py)) {
        lower_effect(l, id, IR_T_VOID, 0, NULL);
        return lower_value_new(l, intrin_type(l, py), 0, NULL);
    }
    ir_ref predicate = lower_truth(l, lower_get(l, lower_arg(l, py, 0)));
    if (id != IR_INTRIN_SYNCTHREADS_COUNT)
        return lower_scalar(l, IR_T_BOOL, lower_effect(l, id, IR_T_I1, 1, &predicate));
    ir_ref count = lower_effect(l, id, IR_T_I32, 1, &predicate);
    count = lower_cast(l, IR_ZEXT, IR_T_I64, count);
    return lower_scalar(l, IR_T_INT, count);
}

static struct lower_value
intrin_syncwarp(struct lower *l, ir_ref py)
{
    ir_ref given = lower_param(l, py, IR_INTRIN_SYNCWARP, 0);
    ir_ref mask = given ? lower_get_as(l, given, IR_T_UINT32) : lower_int(l, IR_T_I32, -1);
    lower_effect(l, IR_INTRIN_SYNCWARP, IR_T_VOID, 1, &mask);
    return lower_value_new(l, intrin_type(l, py), 0, NULL);
}

struct lower_value
lower_intrin(struct lower *l, ir_ref py, enum ir_intrin id)
{
    switch ((enum ir_rule)ir_intrin_row(id)->rule) {
    case IR_RULE_GRID: return intrin_grid(l, py, id);
    case IR_RULE_ATOMIC: return lower_atomic(l, py, id);
    case IR_RULE_CAS: return lower_cas(l, py);
    case IR_RULE_ABS: return intrin_abs(l, py);
    case IR_RULE_SLICE: return lower_slice_call(l, py);
    case IR_RULE_ROUND_DIGITS: return intrin_round_digits(l, py);
    case IR_RULE_MATH: return intrin_math(l, py, id);
    case IR_RULE_LOG: return intrin_log(l, py);
    case IR_RULE_FCORE: return intrin_fcore(l, py, id);
    case IR_RULE_ROUND:
        return intrin_round(l, py,
                            id == IR_INTRIN_FLOOR  ? IR_FFLOOR
                            : id == IR_INTRIN_CEIL ? IR_FCEIL
                                                   : IR_FTRUNC);
    case IR_RULE_TEST: return intrin_test(l, py, id);
    case IR_RULE_INDEX:
        return lower_convert(l, lower_get(l, lower_arg(l, py, 0)), intrin_type(l, py));
    case IR_RULE_NP_FLOAT:
    case IR_RULE_NP_POWER:
    case IR_RULE_NP_FMOD:
    case IR_RULE_NP_SAME:
    case IR_RULE_NP_ROUND:
    case IR_RULE_NP_JOIN:
    case IR_RULE_NP_BOOL:
    case IR_RULE_NP_BITS: return lower_numpy(l, py, id);
    case IR_RULE_METHOD: return lower_method(l, py, id);
    case IR_RULE_BARRIER:
    case IR_RULE_GRID_SYNC:
    case IR_RULE_FENCE: return intrin_barrier(l, py, id);
    case IR_RULE_SYNCWARP: return intrin_syncwarp(l, py);
    case IR_RULE_MEMORY: return lower_memory(l, py, id);
    case IR_RULE_WARP: return lower_warp(l, py, id);
    case IR_RULE_CLOCK: return lower_clock(l, py, id);
    case IR_RULE_BITS: return lower_bits(l, py, id);
    case IR_RULE_LANEMASK:
        return lower_scalar(l, IR_T_UINT32, lower_emit(l, IR_INTRIN, IR_T_I32, id, 0, NULL));
    case IR_RULE_PRINT: return lower_print(l, py);
    case IR_RULE_TEXT: return lower_elements(l, py, 1);
    case IR_RULE_THIS_GRID:
    case IR_RULE_SREG:
    case IR_RULE_NP_DTYPE:
    case IR_RULE_OPERATOR: break;
    case IR_RULE_ISCLOSE:
    case IR_RULE_HYPOT:
    case IR_RULE_FREXP:
    case IR_RULE_LDEXP:
    case IR_RULE_MODF:
    case IR_RULE_ULP:
    case IR_RULE_GCD:
    case IR_RULE_ISQRT: return lower_math(l, py, id);
    default: return lower_builtin(l, py, id);
    }
    assert(!"registers are attributes, operators are lowered as such");
    return lower_zero(l, intrin_type(l, py));
}
