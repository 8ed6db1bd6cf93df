/* Halves: constants, conversions and fused products of float16 and bfloat16.
 *
 * In: LLVM values of the two types or of f32 and f64. Out: the converted value, rounded once. Where
 * the target knows the type (float16 on every GPU, bfloat16 from sm_80 on) it is LLVM's own and
 * LLVM also narrows arithmetic to it; elsewhere, and always on the host, it is an i16 whose
 * conversions are integer operations: LLVM's would be calls of functions that nobody supplies, and
 * bfloat16 on sm_75 would abort. A host with F16C has instructions for float16.
 *
 *     f64 to half   by way of f32 rounded to odd: an inexact f32 gets an odd last bit, so that it is
 *                   on the right side of every half and of the middle between two
 *     bfloat16      widened by integers where a module has float16 too: LLVM would narrow a float16
 *                   result's operands from bfloat16 to float16, whose range is smaller
 *     a * b + c     the product is exact in f64; of float16 so is every sum that comes near the
 *                   middle between two; of bfloat16 the sum is rounded to odd by its error */
#include <string.h>

#include "codegen/internal.h"

bool
cg_half_is_native(const struct cg_emit *e, ir_type half)
{
    return e->arch.sm && (half == IR_T_F16 || e->arch.sm >= 80);
}

static bool
half_has_f16c(const struct cg_emit *e)
{
    return !e->arch.sm && e->state->features && strstr(e->state->features, "+f16c");
}

LLVMValueRef
cg_half_const(struct cg_emit *e, ir_type half, double value)
{
    LLVMValueRef bits = LLVMConstInt(e->types[IR_T_I16], ir_half_of(half, value), false);
    return cg_half_is_native(e, half) ? LLVMConstBitCast(bits, e->types[half]) : bits;
}

/* ---- Helpers: integers of 32 bits ---- */

static LLVMValueRef
half_as(struct cg_emit *e, LLVMValueRef value, ir_type type)
{
    return LLVMBuildBitCast(e->builder, value, e->types[type], "");
}

static LLVMValueRef
half_add(struct cg_emit *e, LLVMValueRef a, uint64_t b)
{
    return LLVMBuildAdd(e->builder, a, cg_emit_i32(e, b), "");
}

static LLVMValueRef
half_and(struct cg_emit *e, LLVMValueRef a, uint64_t mask)
{
    return LLVMBuildAnd(e->builder, a, cg_emit_i32(e, mask), "");
}

static LLVMValueRef
half_select(struct cg_emit *e, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no)
{
    return LLVMBuildSelect(e->builder, condition, yes, no, "");
}

static LLVMValueRef
half_fabs(struct cg_emit *e, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return cg_emit_intrinsic(e, "llvm.fabs", 1, &type, 1, &value);
}

/* `bits` (unsigned magnitude) without their `n` last ones, rounded to nearest even. */
static LLVMValueRef
half_round_off(struct cg_emit *e, LLVMValueRef bits, unsigned n)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef odd = half_and(e, LLVMBuildLShr(b, bits, cg_emit_i32(e, n), ""), 1);
    LLVMValueRef up = LLVMBuildAdd(b, half_add(e, bits, (1u << (n - 1)) - 1), odd, "");
    return LLVMBuildLShr(b, up, cg_emit_i32(e, n), "");
}

/* ---- Widening ---- */

/* The bits, moved into f32's place, lack 112 in the exponent, which a product adds, also to
 * subnormal numbers; infinities and NaN get the largest exponent. */
static LLVMValueRef
half_widen_f16(struct cg_emit *e, LLVMValueRef bits)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef magnitude = half_and(e, bits, 0x7fff);
    LLVMValueRef sign = LLVMBuildShl(b, half_and(e, bits, 0x8000), cg_emit_i32(e, 16), "");
    LLVMValueRef moved = LLVMBuildShl(b, magnitude, cg_emit_i32(e, 13), "");
    LLVMValueRef scale = LLVMConstReal(e->types[IR_T_F32], 0x1p112);
    LLVMValueRef scaled = LLVMBuildFMul(b, half_as(e, moved, IR_T_F32), scale, "");
    LLVMValueRef special = LLVMBuildOr(b, moved, cg_emit_i32(e, 0x7f800000), "");
    LLVMValueRef is_special = LLVMBuildICmp(b, LLVMIntUGE, magnitude, cg_emit_i32(e, 0x7c00), "");
    LLVMValueRef wide = half_select(e, is_special, special, half_as(e, scaled, IR_T_I32));
    return half_as(e, LLVMBuildOr(b, wide, sign, ""), IR_T_F32);
}

LLVMValueRef
cg_half_widen(struct cg_emit *e, LLVMValueRef value, ir_type half)
{
    LLVMBuilderRef b = e->builder;
    if (half == IR_T_F16 && half_has_f16c(e))
        value = LLVMBuildBitCast(b, value, LLVMHalfTypeInContext(e->context), "");
    else if (!cg_half_is_native(e, half) || (half == IR_T_BF16 && e->has_f16)) {
        LLVMValueRef bits = LLVMBuildZExt(b, half_as(e, value, IR_T_I16), e->types[IR_T_I32], "");
        if (half == IR_T_F16)
            return half_widen_f16(e, bits);
        return half_as(e, LLVMBuildShl(b, bits, cg_emit_i32(e, 16), ""), IR_T_F32);
    }
    return LLVMBuildFPExt(b, value, e->types[IR_T_F32], "");
}

/* ---- Narrowing ---- */

/* f64 to f32, an inexact result made odd. An infinite one, too, becomes the largest number. */
static LLVMValueRef
half_to_odd_f32(struct cg_emit *e, LLVMValueRef value)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef near = LLVMBuildFPTrunc(b, value, e->types[IR_T_F32], "");
    LLVMValueRef back = LLVMBuildFPExt(b, near, e->types[IR_T_F64], "");
    LLVMValueRef bits = half_as(e, near, IR_T_I32);
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, value, "");
    LLVMValueRef even = LLVMBuildICmp(b, LLVMIntEQ, half_and(e, bits, 1), cg_emit_i32(e, 0), "");
    LLVMValueRef below = LLVMBuildFCmp(b, LLVMRealOLT, half_fabs(e, back), half_fabs(e, value), "");
    LLVMValueRef step = half_select(e, below, cg_emit_i32(e, 1), cg_emit_i32(e, UINT32_MAX));
    LLVMValueRef moved = LLVMBuildAdd(b, bits, step, "");
    LLVMValueRef moves = LLVMBuildAnd(b, inexact, even, "");
    return half_as(e, half_select(e, moves, moved, bits), IR_T_F32);
}

/* Subnormal results: adding 0.5 puts the last bit of the half last. Others: 112 less in the
 * exponent, then rounded off. */
static LLVMValueRef
half_narrow_f16(struct cg_emit *e, LLVMValueRef bits)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef magnitude = half_and(e, bits, 0x7fffffff);
    LLVMValueRef sign = half_and(e, LLVMBuildLShr(b, bits, cg_emit_i32(e, 16), ""), 0x8000);
    LLVMValueRef shifted = LLVMBuildFAdd(b, half_as(e, magnitude, IR_T_F32),
                                         LLVMConstReal(e->types[IR_T_F32], 0.5), "");
    LLVMValueRef small = half_add(e, half_as(e, shifted, IR_T_I32), (uint32_t)-0x3f000000);
    LLVMValueRef usual = half_round_off(e, half_add(e, magnitude, (uint32_t)-0x38000000), 13);
    LLVMValueRef infinity = cg_emit_i32(e, 0x7c00);
    LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGT, usual, infinity, "");
    usual = half_select(e, over, infinity, usual);
    LLVMValueRef is_small = LLVMBuildICmp(b, LLVMIntULT, magnitude, cg_emit_i32(e, 0x38800000), "");
    LLVMValueRef narrow = half_select(e, is_small, small, usual);
    LLVMValueRef nan = LLVMBuildICmp(b, LLVMIntUGT, magnitude, cg_emit_i32(e, 0x7f800000), "");
    narrow = half_select(e, nan, cg_emit_i32(e, 0x7e00), narrow);
    return LLVMBuildOr(b, narrow, sign, "");
}

static LLVMValueRef
half_narrow_bits(struct cg_emit *e, LLVMValueRef value, ir_type half)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef bits = half_as(e, value, IR_T_I32), narrow;
    if (half == IR_T_F16) {
        narrow = half_narrow_f16(e, bits);
    } else {
        LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
        narrow = half_select(e, nan, cg_emit_i32(e, 0x7fc0), half_round_off(e, bits, 16));
    }
    return LLVMBuildTrunc(b, narrow, e->types[IR_T_I16], "");
}

LLVMValueRef
cg_half_narrow(struct cg_emit *e, LLVMValueRef value, ir_type from, ir_type half)
{
    LLVMBuilderRef b = e->builder;
    bool native = cg_half_is_native(e, half);
    if (from == IR_T_F64 && !(native && half == IR_T_F16))
        value = half_to_odd_f32(e, value);
    if (half == IR_T_F16 && half_has_f16c(e)) {
        value = LLVMBuildFPTrunc(b, value, LLVMHalfTypeInContext(e->context), "");
        return half_as(e, value, IR_T_I16);
    }
    return native ? LLVMBuildFPTrunc(b, value, e->types[half], "")
                  : half_narrow_bits(e, value, half);
}

/* ---- Fused products ---- */

/* `sum`, which lost `error`: with an odd last bit, unless it is infinite or NaN (so is the
 * error). */
static LLVMValueRef
half_to_odd_f64(struct cg_emit *e, LLVMValueRef sum, LLVMValueRef error)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef i64 = e->types[IR_T_I64];
    LLVMValueRef zero = LLVMConstNull(e->types[IR_T_F64]), one = LLVMConstInt(i64, 1, false);
    LLVMValueRef bits = half_as(e, sum, IR_T_I64);
    LLVMValueRef even =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, one, ""), LLVMConstNull(i64), "");
    LLVMValueRef moves = LLVMBuildAnd(b, even, LLVMBuildFCmp(b, LLVMRealONE, error, zero, ""), "");
    LLVMValueRef apart = LLVMBuildXor(b, LLVMBuildFCmp(b, LLVMRealOGT, error, zero, ""),
                                      LLVMBuildFCmp(b, LLVMRealOGT, sum, zero, ""), "");
    LLVMValueRef step = half_select(e, apart, LLVMConstAllOnes(i64), one);
    LLVMValueRef moved = LLVMBuildAdd(b, bits, step, "");
    return half_as(e, half_select(e, moves, moved, bits), IR_T_F64);
}

LLVMValueRef
cg_half_fma(struct cg_emit *e, ir_type half, LLVMValueRef *args)
{
    LLVMBuilderRef b = e->builder;
    if (cg_half_is_native(e, half))
        return cg_emit_intrinsic(e, "llvm.fma", 1, &e->types[half], 3, args);
    LLVMValueRef wide[3];
    for (int i = 0; i < 3; i++)
        wide[i] = LLVMBuildFPExt(b, cg_half_widen(e, args[i], half), e->types[IR_T_F64], "");
    LLVMValueRef product = LLVMBuildFMul(b, wide[0], wide[1], "");
    LLVMValueRef sum = LLVMBuildFAdd(b, product, wide[2], "");
    if (half == IR_T_BF16) {
        LLVMValueRef part = LLVMBuildFSub(b, sum, product, "");
        LLVMValueRef rest = LLVMBuildFSub(b, sum, part, "");
        LLVMValueRef error = LLVMBuildFAdd(b, LLVMBuildFSub(b, product, rest, ""),
                                           LLVMBuildFSub(b, wide[2], part, ""), "");
        sum = half_to_odd_f64(e, sum, error);
    }
    return cg_half_narrow(e, sum, IR_T_F64, half);
}
