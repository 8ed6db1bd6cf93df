/* fold: one CORE operation on constant operands, exactly as ops.def means it.
 *
 * Integers are computed in 64 bits and cut to their width by the caller's constant; floats in their
 * own type, so every result is rounded once as the device rounds it (the C library's fma, sqrt and
 * rint are exact or correctly rounded; nothing here is built with contraction or fast-math). What
 * ops.def leaves to lowering (a zero divisor, a shift by the width) is not folded, so such code can
 * stay where it is never executed. A NaN result is the one quiet NaN. Intrinsics are not folded:
 * the device's functions and the C library's differ in the last place. */
#include "ir/pass.h"

#include <math.h>
#include <string.h>

static int64_t
sign_extend(uint64_t bits, unsigned width)
{
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}

static double
as_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float
as_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static uint64_t
double_bits(double value)
{
    uint64_t bits = 0x7ff8000000000000u;
    if (!isnan(value))
        memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t
float_bits(float value)
{
    uint32_t bits = 0x7fc00000u;
    if (!isnan(value))
        memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool
fold_icmp(enum ir_icmp predicate, unsigned width, uint64_t a, uint64_t b)
{
    int64_t x = sign_extend(a, width), y = sign_extend(b, width);
    switch (predicate) {
    case IR_ICMP_EQ: return a == b;
    case IR_ICMP_NE: return a != b;
    case IR_ICMP_SLT: return x < y;
    case IR_ICMP_SLE: return x <= y;
    case IR_ICMP_SGT: return x > y;
    case IR_ICMP_SGE: return x >= y;
    case IR_ICMP_ULT: return a < b;
    case IR_ICMP_ULE: return a <= b;
    case IR_ICMP_UGT: return a > b;
    case IR_ICMP_UGE: return a >= b;
    case IR_N_ICMPS: break;
    }
    return false;
}

static bool
fold_fcmp(enum ir_fcmp predicate, double a, double b)
{
    switch (predicate) {
    case IR_FCMP_OEQ: return a == b;
    case IR_FCMP_UNE: return a != b;
    case IR_FCMP_OLT: return a < b;
    case IR_FCMP_OLE: return a <= b;
    case IR_FCMP_OGT: return a > b;
    case IR_FCMP_OGE: return a >= b;
    case IR_FCMP_UNO: return isnan(a) || isnan(b);
    case IR_FCMP_ONE: return a < b || a > b;
    case IR_N_FCMPS: break;
    }
    return false;
}

static bool
fold_divide(enum ir_op op, unsigned width, uint64_t a, uint64_t b, uint64_t *out)
{
    if (!b)
        return false;
    if (op == IR_UDIV || op == IR_UREM) {
        *out = op == IR_UDIV ? a / b : a % b;
        return true;
    }
    int64_t x = sign_extend(a, width), y = sign_extend(b, width);
    if (y == -1 && a == (uint64_t)1 << (width - 1))
        return false;
    *out = (uint64_t)(op == IR_SDIV ? x / y : x % y);
    return true;
}

static bool
fold_int(enum ir_op op, unsigned width, uint64_t a, uint64_t b, uint64_t *out)
{
    switch (op) {
    case IR_ADD:
    case IR_ADD_NSW: *out = a + b; return true;
    case IR_SUB: *out = a - b; return true;
    case IR_MUL: *out = a * b; return true;
    case IR_MULHI:
        *out = (uint64_t)((__int128)sign_extend(a, width) * sign_extend(b, width) >> width);
        return true;
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM: return fold_divide(op, width, a, b, out);
    case IR_AND: *out = a & b; return true;
    case IR_OR: *out = a | b; return true;
    case IR_XOR: *out = a ^ b; return true;
    case IR_SHL:
        if (b < width)
            *out = a << b;
        return b < width;
    case IR_LSHR:
        if (b < width)
            *out = a >> b;
        return b < width;
    case IR_ASHR:
        if (b < width)
            *out = (uint64_t)(sign_extend(a, width) >> b);
        return b < width;
    case IR_CTPOP: *out = (uint64_t)__builtin_popcountll(a); return true;
    case IR_CTLZ: *out = a ? (uint64_t)__builtin_clzll(a) - (64 - width) : width; return true;
    default: return false;
    }
}

static bool
fold_double(enum ir_op op, const uint64_t *args, uint64_t *out)
{
    double a = as_double(args[0]), b = as_double(args[1]), c = as_double(args[2]);
    switch (op) {
    case IR_FADD: *out = double_bits(a + b); return true;
    case IR_FSUB: *out = double_bits(a - b); return true;
    case IR_FMUL: *out = double_bits(a * b); return true;
    case IR_FDIV: *out = double_bits(a / b); return true;
    case IR_FNEG: *out = double_bits(-a); return true;
    case IR_FMA: *out = double_bits(fma(a, b, c)); return true;
    case IR_FSQRT: *out = double_bits(sqrt(a)); return true;
    case IR_FABS: *out = double_bits(fabs(a)); return true;
    case IR_FFLOOR: *out = double_bits(floor(a)); return true;
    case IR_FCEIL: *out = double_bits(ceil(a)); return true;
    case IR_FTRUNC: *out = double_bits(trunc(a)); return true;
    case IR_FRINT: *out = double_bits(rint(a)); return true;
    case IR_FCOPYSIGN: *out = double_bits(copysign(a, b)); return true;
    default: return false;
    }
}

static bool
fold_float(enum ir_op op, const uint64_t *args, uint64_t *out)
{
    float a = as_float(args[0]), b = as_float(args[1]), c = as_float(args[2]);
    switch (op) {
    case IR_FADD: *out = float_bits(a + b); return true;
    case IR_FSUB: *out = float_bits(a - b); return true;
    case IR_FMUL: *out = float_bits(a * b); return true;
    case IR_FDIV: *out = float_bits(a / b); return true;
    case IR_FNEG: *out = float_bits(-a); return true;
    case IR_FMA: *out = float_bits(fmaf(a, b, c)); return true;
    case IR_FSQRT: *out = float_bits(sqrtf(a)); return true;
    case IR_FABS: *out = float_bits(fabsf(a)); return true;
    case IR_FFLOOR: *out = float_bits(floorf(a)); return true;
    case IR_FCEIL: *out = float_bits(ceilf(a)); return true;
    case IR_FTRUNC: *out = float_bits(truncf(a)); return true;
    case IR_FRINT: *out = float_bits(rintf(a)); return true;
    case IR_FCOPYSIGN: *out = float_bits(copysignf(a, b)); return true;
    default: return false;
    }
}

static uint64_t
fold_to_int(double value, bool is_signed, unsigned width)
{
    /* 2^width and the like are exact in double; the compared value is exact too. */
    double limit = ldexp(1.0, (int)width - (is_signed ? 1 : 0));
    if (isnan(value))
        return 0;
    if (is_signed) {
        if (value >= limit)
            return ((uint64_t)1 << (width - 1)) - 1;
        return value <= -limit ? (uint64_t)1 << (width - 1) : (uint64_t)(int64_t)value;
    }
    if (value >= limit)
        return UINT64_MAX;
    return value <= 0 ? 0 : (uint64_t)value;
}

/* Floats of every machine type, exactly. */
static double
value_of(ir_type type, uint64_t bits)
{
    if (ir_is_half(type))
        return ir_half_value(type, (uint16_t)bits);
    return type == IR_T_F32 ? (double)as_float(bits) : as_double(bits);
}

static uint64_t
bits_of(ir_type type, double value)
{
    if (ir_is_half(type))
        return ir_half_of(type, value);
    return type == IR_T_F32 ? float_bits((float)value) : double_bits(value);
}

static bool
fold_convert(enum ir_op op, ir_type from, ir_type to, uint64_t a, uint64_t *out)
{
    unsigned width = ir_machine_bits(from);
    double value = value_of(from, a);
    switch (op) {
    case IR_SEXT: *out = (uint64_t)sign_extend(a, width); return true;
    case IR_ZEXT:
    case IR_TRUNC: *out = a; return true;
    case IR_SITOFP:
        *out = to == IR_T_F32 ? float_bits((float)sign_extend(a, width))
                              : double_bits((double)sign_extend(a, width));
        return true;
    case IR_UITOFP:
        *out = to == IR_T_F32 ? float_bits((float)a) : double_bits((double)a);
        return true;
    case IR_FPTOSI_SAT: *out = fold_to_int(value, true, ir_machine_bits(to)); return true;
    case IR_FPTOUI_SAT: *out = fold_to_int(value, false, ir_machine_bits(to)); return true;
    case IR_FPEXT:
    case IR_FPTRUNC: *out = bits_of(to, value); return true;
    case IR_BITCAST: *out = a; return !ir_is_ptr(from) && !ir_is_ptr(to);
    default: return false;
    }
}

bool
ir_fold(enum ir_op op, uint32_t imm, ir_type from, ir_type to, const uint64_t *args,
        uint64_t *bits_out)
{
    bool is_float = ir_is_float(from);
    uint64_t bits = 0;
    bool ok;
    if (op == IR_ICMP && ir_is_int(from)) {
        bits = fold_icmp((enum ir_icmp)imm, ir_machine_bits(from), args[0], args[1]);
        ok = true;
    } else if (op == IR_FCMP) {
        bits = from == IR_T_F32
                   ? fold_fcmp((enum ir_fcmp)imm, as_float(args[0]), as_float(args[1]))
                   : fold_fcmp((enum ir_fcmp)imm, as_double(args[0]), as_double(args[1]));
        ok = true;
    } else if (op >= IR_SEXT && op <= IR_BITCAST) {
        ok = fold_convert(op, from, to, args[0], &bits);
    } else if (ir_is_half(from)) {
        ok = op == IR_FMA;
        if (ok)
            bits = ir_half_fma(from, (uint16_t)args[0], (uint16_t)args[1], (uint16_t)args[2]);
    } else if (is_float) {
        ok = from == IR_T_F32 ? fold_float(op, args, &bits) : fold_double(op, args, &bits);
    } else {
        ok = ir_is_int(from) && fold_int(op, ir_machine_bits(from), args[0], args[1], &bits);
    }
    if (ok)
        *bits_out = bits;
    return ok;
}
