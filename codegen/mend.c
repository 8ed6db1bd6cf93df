/* mend: steers clear of mistakes behind LLVM IR, in LLVM's NVPTX back end and in ptxas.
 *
 * In: an optimised module for a GPU. Out: the same module, some instructions written so that they
 * are compiled rightly. Needs to run last, because LLVM's passes would undo it; keeps everything
 * else.
 *
 * Shifts. The back end of LLVM 22 turns
 *
 *     select (icmp ult i64 %n, 64), (shl i64 %x, %n), 0
 *
 * into PTX's shl.b64, which gives 0 for counts of 64 and more, but hands it only the low 32 bits of
 * the count: x << 2**32 gives x. It matches equal counts only, also through a truncation, so
 *
 *     select (icmp ult i64 %n, 64), (shl i64 %x, (and i64 %n, 63)), 0
 *
 * stays a shift and a selection.
 *
 * Negation of 16 bits. ptxas 13.0 folds neg.s16 into a widening conversion behind it, which then
 * negates at the wider type: -int16(-32768) gives 32768. Negation (and abs) is done in 32 bits,
 *
 *     sub i16 0, %x      becomes      trunc (asm "neg.s32" (sext i16 %x to i32)) to i16
 *
 * in assembly, because the back end narrows a plain 32-bit subtraction again.
 *
 * Absolute values of 32 bits. ptxas 13.0 takes abs.s32 to be not negative and turns an unsigned
 * conversion behind it into a signed one: float(abs(-2**31)) gives -2147483648.0. It is written as
 * a selection between the number and its negation, the latter in assembly.
 *
 * Zeros of min and max. The back end turns
 *
 *     select (fcmp olt %x, 0.0), %x, 0.0
 *
 * into min.f32, which orders the zeros: for -0.0 it gives -0.0, the selection 0.0. It matches equal
 * constants only, so where the two differ the comparison gets the other zero, to which it is equal.
 *
 * Selections between -1.0 and -0.0. ptxas 13.0 makes of selp.f32 with these two (x - (a < b) gives
 * one) an integer, 0 or -1, and converts it: the zero loses its sign. It keeps a selp.b32 of the
 * same bits.
 *
 * Floats at odd addresses, as in packed records, are stored byte by byte. ptxas 13.0 makes of the
 * lowest byte of int -> float the conversion back to a byte (I2F, F2I.U8). A move in assembly that
 * it keeps is between.
 *
 * Comparisons of bfloat16. With denormals flushed the back end writes setp.lt.ftz.bf16, which does
 * not exist, so they are done in float32.
 *
 * Lost alternatives: doing any of it in lowering or emission, which InstCombine undoes. */
#include <math.h>
#include <string.h>

#include "codegen/internal.h"

static bool
mend_feeds_select(LLVMValueRef value)
{
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use))
        if (LLVMIsASelectInst(LLVMGetUser(use)))
            return true;
    return false;
}

/* Masks the count of a shift whose count may lose bits. */
static void
mend_shift(LLVMBuilderRef builder, LLVMValueRef shift)
{
    LLVMTypeRef type = LLVMTypeOf(shift);
    LLVMValueRef count = LLVMGetOperand(shift, 1);
    bool wide = LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 64;
    if (LLVMIsConstant(count) || !(wide || LLVMIsATruncInst(count)) || !mend_feeds_select(shift))
        return;
    LLVMValueRef mask = LLVMConstInt(type, LLVMGetIntTypeWidth(type) - 1, false);
    LLVMPositionBuilderBefore(builder, shift);
    LLVMSetOperand(shift, 1, LLVMBuildAnd(builder, count, mask, ""));
}

/* What the instruction `text` of PTX makes of a 32-bit number; LLVM cannot look inside. */
static LLVMValueRef
mend_assembly(struct cg_emit *e, LLVMBuilderRef builder, const char *text, LLVMValueRef operand)
{
    static const char constraints[] = "=r,r";
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
    LLVMTypeRef type = LLVMFunctionType(i32, &i32, 1, false);
    LLVMValueRef assembly =
        LLVMGetInlineAsm(type, text, strlen(text), constraints, sizeof constraints - 1, false,
                         false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(builder, type, assembly, &operand, 1, "");
}

/* The bits of a float, which ptxas takes for nothing else. */
static LLVMValueRef
mend_bits(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef value, unsigned size_B)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, 8 * size_B);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
    value = LLVMBuildBitCast(builder, value, bits, "");
    if (size_B <= 4) {
        value = LLVMBuildZExt(builder, value, i32, "");
        return LLVMBuildTrunc(builder, mend_assembly(e, builder, "mov.b32 $0, $1;", value), bits,
                              "");
    }
    LLVMValueRef shift = LLVMConstInt(i64, 32, false);
    LLVMValueRef low = LLVMBuildTrunc(builder, value, i32, "");
    LLVMValueRef high = LLVMBuildTrunc(builder, LLVMBuildLShr(builder, value, shift, ""), i32, "");
    low = LLVMBuildZExt(builder, mend_assembly(e, builder, "mov.b32 $0, $1;", low), i64, "");
    high = LLVMBuildZExt(builder, mend_assembly(e, builder, "mov.b32 $0, $1;", high), i64, "");
    return LLVMBuildOr(builder, low, LLVMBuildShl(builder, high, shift, ""), "");
}

static void
mend_store(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    unsigned size_B = kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ? 2
                      : kind == LLVMFloatTypeKind                            ? 4
                      : kind == LLVMDoubleTypeKind                           ? 8
                                                                             : 0;
    if (LLVMGetAlignment(store) >= size_B || LLVMIsConstant(value) || LLVMIsALoadInst(value))
        return;
    LLVMPositionBuilderBefore(builder, store);
    LLVMSetOperand(store, 0, mend_bits(e, builder, value, size_B));
}

/* Replaces a 16-bit `value` by what the instruction `text` makes of `from` in 32 bits. */
static void
mend_narrow(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef value, LLVMValueRef from,
            const char *text)
{
    LLVMPositionBuilderBefore(builder, value);
    LLVMValueRef wide = LLVMBuildSExt(builder, from, LLVMInt32TypeInContext(e->context), "");
    wide = mend_assembly(e, builder, text, wide);
    LLVMReplaceAllUsesWith(value, LLVMBuildTrunc(builder, wide, LLVMTypeOf(value), ""));
}

static void
mend_abs(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef value)
{
    LLVMValueRef from = LLVMGetOperand(value, 0), zero = LLVMConstNull(LLVMTypeOf(from));
    LLVMPositionBuilderBefore(builder, value);
    LLVMValueRef minus = mend_assembly(e, builder, "neg.s32 $0, $1;", from);
    LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSLT, from, zero, "");
    LLVMReplaceAllUsesWith(value, LLVMBuildSelect(builder, negative, minus, from, ""));
}

static bool
mend_is_abs(LLVMValueRef call, const char *wanted)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t len;
    const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &len) : "";
    return strcmp(name, wanted) == 0;
}

static bool
mend_is_zero(LLVMValueRef value, bool *negative_out)
{
    LLVMBool loses;
    if (!LLVMIsAConstantFP(value))
        return false;
    double number = LLVMConstRealGetDouble(value, &loses);
    *negative_out = signbit(number) != 0;
    return number == 0;
}

/* Whether a comparison is `less`, and whether equal operands satisfy it; false for others. */
static bool
mend_is_order(LLVMRealPredicate predicate, bool *less_out, bool *or_equal_out)
{
    bool less = predicate == LLVMRealOLT || predicate == LLVMRealULT || predicate == LLVMRealOLE ||
                predicate == LLVMRealULE;
    bool greater = predicate == LLVMRealOGT || predicate == LLVMRealUGT ||
                   predicate == LLVMRealOGE || predicate == LLVMRealUGE;
    *less_out = less;
    *or_equal_out = predicate == LLVMRealOLE || predicate == LLVMRealULE ||
                    predicate == LLVMRealOGE || predicate == LLVMRealUGE;
    return less || greater;
}

/* A selection between %x and a zero by their order, which min or max would not give the same
 * zero. */
static void
mend_zero(LLVMBuilderRef builder, LLVMValueRef select)
{
    LLVMValueRef compare = LLVMGetOperand(select, 0);
    if (!LLVMIsAFCmpInst(compare))
        return;
    LLVMValueRef x = LLVMGetOperand(compare, 0), zero = LLVMGetOperand(compare, 1);
    bool negative, less, or_equal;
    if (!mend_is_zero(zero, &negative) ||
        !mend_is_order(LLVMGetFCmpPredicate(compare), &less, &or_equal))
        return;
    bool x_if_true = LLVMGetOperand(select, 1) == x && LLVMGetOperand(select, 2) == zero;
    bool x_if_false = LLVMGetOperand(select, 2) == x && LLVMGetOperand(select, 1) == zero;
    if (!x_if_true && !x_if_false)
        return;
    bool is_min = less == x_if_true;
    bool equal_gives_x = or_equal == x_if_true;
    /* Of unequal zeros min gives the negative one, max the positive one. */
    bool zero_loses = negative != is_min;
    if (equal_gives_x == zero_loses)
        return;
    LLVMPositionBuilderBefore(builder, select);
    LLVMValueRef other = LLVMConstReal(LLVMTypeOf(zero), negative ? 0.0 : -0.0);
    LLVMSetOperand(select, 0, LLVMBuildFCmp(builder, LLVMGetFCmpPredicate(compare), x, other, ""));
}

static bool
mend_is_number(LLVMValueRef value, double number)
{
    LLVMBool loses;
    if (!LLVMIsAConstantFP(value))
        return false;
    double found = LLVMConstRealGetDouble(value, &loses);
    return found == number && signbit(found) == signbit(number);
}

static bool
mend_select(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef select)
{
    LLVMValueRef values[2] = {LLVMGetOperand(select, 1), LLVMGetOperand(select, 2)};
    bool first = mend_is_number(values[0], -1.0) && mend_is_number(values[1], -0.0);
    bool second = mend_is_number(values[0], -0.0) && mend_is_number(values[1], -1.0);
    if (LLVMTypeOf(select) != e->types[IR_T_F32] || !(first || second))
        return false;
    LLVMTypeRef i32 = e->types[IR_T_I32];
    LLVMPositionBuilderBefore(builder, select);
    for (unsigned i = 0; i < 2; i++)
        values[i] = LLVMConstBitCast(values[i], i32);
    LLVMValueRef bits =
        LLVMBuildSelect(builder, LLVMGetOperand(select, 0), values[0], values[1], "");
    LLVMReplaceAllUsesWith(select, LLVMBuildBitCast(builder, bits, e->types[IR_T_F32], ""));
    return true;
}

static void
mend_compare(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef compare)
{
    if (!e->options->ftz ||
        LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(compare, 0))) != LLVMBFloatTypeKind)
        return;
    LLVMValueRef wide[2];
    LLVMPositionBuilderBefore(builder, compare);
    for (unsigned i = 0; i < 2; i++)
        wide[i] = LLVMBuildFPExt(builder, LLVMGetOperand(compare, i), e->types[IR_T_F32], "");
    LLVMReplaceAllUsesWith(
        compare, LLVMBuildFCmp(builder, LLVMGetFCmpPredicate(compare), wide[0], wide[1], ""));
}

static void
mend_insn(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef insn)
{
    LLVMTypeRef i16 = LLVMInt16TypeInContext(e->context);
    switch (LLVMGetInstructionOpcode(insn)) {
    case LLVMShl:
    case LLVMLShr: mend_shift(builder, insn); break;
    case LLVMSelect:
        if (!mend_select(e, builder, insn))
            mend_zero(builder, insn);
        break;
    case LLVMFCmp: mend_compare(e, builder, insn); break;
    case LLVMStore: mend_store(e, builder, insn); break;
    case LLVMSub:
        if (LLVMTypeOf(insn) == i16 && LLVMIsNull(LLVMGetOperand(insn, 0)))
            mend_narrow(e, builder, insn, LLVMGetOperand(insn, 1), "neg.s32 $0, $1;");
        break;
    case LLVMCall:
        if (mend_is_abs(insn, "llvm.abs.i16"))
            mend_narrow(e, builder, insn, LLVMGetOperand(insn, 0), "abs.s32 $0, $1;");
        else if (mend_is_abs(insn, "llvm.abs.i32"))
            mend_abs(e, builder, insn);
        break;
    default: break;
    }
}

void
cg_mend(struct cg_emit *e)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(e->context);
    for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef at = LLVMGetFirstInstruction(b); at; at = LLVMGetNextInstruction(at))
                mend_insn(e, builder, at);
    LLVMDisposeBuilder(builder);
}
