/* lower_half: operations on f16 and bf16, which phase CORE only stores, converts and fuses.
 *
 * In: an operation of lower_emit.c's functions with operands of a half type. Out: the same in f32,
 * rounded back to the half. That is the operation itself, rounded once: a sum, product, quotient or
 * square root that was rounded to 24 digits and then to at most 11 is what rounding to 11 alone
 * gives (24 >= 2 * 11 + 2), also among subnormals. Signs are set in the bits.
 *
 *     a + b    %0 = fpext f32 a    %1 = fpext f32 b    %2 = fadd f32 %0, %1    fptrunc f16 %2
 *     -a       bitcast f16 (xor (bitcast i16 a), 0x8000)
 *
 * An integer goes through the narrowest float that holds it, or that rounds it where the half has
 * no middle between two numbers: above 2^24 every integer is an infinite f16; for bf16 the twelve
 * last bits of a number beyond 2^53 are made one that says whether they were 0.
 *
 * Lost alternative: half arithmetic in CORE, for which every target would need both ways. LLVM
 * finds the native instructions for these sequences (tests/ptxas/test_half_ptx.py). */
#include "ir/lower.h"

#include <math.h>

ir_ref
lower_half_widen(struct lower *l, ir_ref a)
{
    return lower_cast(l, IR_FPEXT, IR_T_F32, a);
}

ir_ref
lower_half_narrow(struct lower *l, ir_ref a, ir_type half)
{
    return lower_cast(l, IR_FPTRUNC, half, a);
}

/* The bits with a mask: cleared, flipped. */
static ir_ref
half_bits(struct lower *l, enum ir_op op, ir_ref a, int64_t mask)
{
    ir_ref bits = lower_cast(l, IR_BITCAST, IR_T_I16, a);
    bits = lower_op2(l, op, bits, lower_int(l, IR_T_I16, mask));
    return lower_cast(l, IR_BITCAST, lower_type_of(l, a), bits);
}

ir_ref
lower_half_op1(struct lower *l, enum ir_op op, ir_ref a)
{
    if (op == IR_FNEG)
        return half_bits(l, IR_XOR, a, 0x8000);
    if (op == IR_FABS)
        return half_bits(l, IR_AND, a, 0x7fff);
    return lower_half_narrow(l, lower_op1(l, op, lower_half_widen(l, a)), lower_type_of(l, a));
}

ir_ref
lower_half_op2(struct lower *l, enum ir_op op, ir_ref a, ir_ref b)
{
    ir_ref wide = lower_op2(l, op, lower_half_widen(l, a), lower_half_widen(l, b));
    return lower_half_narrow(l, wide, lower_type_of(l, a));
}

/* An i64 that converts to f64 exactly and rounds to bf16 as it does. */
static ir_ref
half_sticky(struct lower *l, ir_ref v, bool is_signed)
{
    ir_ref low = lower_op2(l, IR_AND, v, lower_int(l, IR_T_I64, 0xfff));
    ir_ref some = lower_icmp(l, IR_ICMP_NE, low, lower_int(l, IR_T_I64, 0));
    ir_ref high = lower_op2(l, IR_AND, v, lower_int(l, IR_T_I64, ~(int64_t)0xfff));
    ir_ref bit = lower_select(l, some, lower_int(l, IR_T_I64, 0x800), lower_int(l, IR_T_I64, 0));
    ir_ref folded = lower_op2(l, IR_OR, high, bit);
    int64_t limit = (int64_t)1 << 53;
    ir_ref shifted = is_signed ? lower_op2(l, IR_ADD, v, lower_int(l, IR_T_I64, limit)) : v;
    ir_ref end = lower_int(l, IR_T_I64, is_signed ? 2 * limit : limit);
    return lower_select(l, lower_icmp(l, IR_ICMP_ULT, shifted, end), v, folded);
}

/* To float16, whose range integers of more than 16 bits leave: beyond it the result is an infinity
 * by selection, for LLVM takes an integer of few digits to be exact in float16 however large it
 * is. */
static ir_ref
half_f16_of_int(struct lower *l, enum ir_op op, ir_ref a)
{
    ir_type type = lower_type_of(l, a);
    bool is_signed = op == IR_SITOFP;
    ir_ref zero = lower_int(l, type, 0), largest = lower_int(l, type, 65519);
    ir_ref over = lower_icmp(l, is_signed ? IR_ICMP_SGT : IR_ICMP_UGT, a, largest), under = 0;
    ir_ref inside = lower_select(l, over, zero, a);
    if (is_signed) {
        under = lower_icmp(l, IR_ICMP_SLT, a, lower_int(l, type, -65519));
        inside = lower_select(l, under, zero, inside);
    }
    ir_ref r = lower_half_narrow(l, lower_cast(l, op, IR_T_F32, inside), IR_T_F16);
    r = lower_select(l, over, lower_float(l, IR_T_F16, INFINITY), r);
    return under ? lower_select(l, under, lower_float(l, IR_T_F16, -INFINITY), r) : r;
}

static ir_ref
half_of_int(struct lower *l, enum ir_op op, ir_type to, ir_ref a)
{
    unsigned bits = ir_machine_bits(lower_type_of(l, a));
    if (to == IR_T_F16 && bits > 16)
        return half_f16_of_int(l, op, a);
    ir_type wide = to == IR_T_F16 || bits < 32 ? IR_T_F32 : IR_T_F64;
    if (wide == IR_T_F64 && bits == 64)
        a = half_sticky(l, a, op == IR_SITOFP);
    return lower_half_narrow(l, lower_cast(l, op, wide, a), to);
}

ir_ref
lower_half_cast(struct lower *l, enum ir_op op, ir_type to, ir_ref a)
{
    ir_type from = lower_type_of(l, a);
    bool direct = op == IR_BITCAST || (op == IR_FPEXT && to == IR_T_F32) ||
                  (op == IR_FPTRUNC && !ir_is_half(from));
    if (direct)
        return lower_emit(l, op, to, 0, 1, &a);
    if (!ir_is_half(from))
        return half_of_int(l, op, to, a);
    return lower_cast(l, op, to, lower_half_widen(l, a));
}

/* As in C: y if they are equal, NaN if one is; from 0 the smallest number with the sign of y. */
ir_ref
lower_half_nextafter(struct lower *l, ir_ref x, ir_ref y)
{
    ir_type half = lower_type_of(l, x);
    ir_ref fx = lower_half_widen(l, x), fy = lower_half_widen(l, y);
    ir_ref zero = lower_float(l, IR_T_F32, 0), one = lower_int(l, IR_T_I16, 1);
    ir_ref bits = lower_cast(l, IR_BITCAST, IR_T_I16, x);
    ir_ref up = lower_fcmp(l, IR_FCMP_OLT, fx, fy);
    ir_ref away = lower_not(l, lower_op2(l, IR_XOR, up, lower_fcmp(l, IR_FCMP_OGT, fx, zero)));
    ir_ref step = lower_select(l, away, one, lower_int(l, IR_T_I16, -1));
    ir_ref sign = lower_op2(l, IR_AND, lower_cast(l, IR_BITCAST, IR_T_I16, y),
                            lower_int(l, IR_T_I16, 0x8000));
    bits = lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, fx, zero), lower_op2(l, IR_OR, sign, one),
                        lower_op2(l, IR_ADD, bits, step));
    ir_ref r = lower_cast(l, IR_BITCAST, half, bits);
    r = lower_select(l, lower_fcmp(l, IR_FCMP_OEQ, fx, fy), y, r);
    return lower_select(l, lower_fcmp(l, IR_FCMP_UNO, fx, fy), lower_op2(l, IR_FADD, x, y), r);
}
