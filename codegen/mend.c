/* mend: steers clear of mistakes behind LLVM IR, in LLVM's NVPTX back end and in ptxas.
 *
 * In: an optimised module for a GPU. Out: the same module, some instructions written so that they are
 * compiled rightly. Needs to run last, because LLVM's passes would undo it; keeps everything else.
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
 * Lost alternatives: doing either in lowering or emission, which InstCombine undoes. */
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

/* Replaces a 16-bit `value` by what the instruction `text` makes of `from` in 32 bits. */
static void
mend_narrow(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef value, LLVMValueRef from,
            const char *text)
{
    static const char constraints[] = "=r,r";
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
    LLVMTypeRef type = LLVMFunctionType(i32, &i32, 1, false);
    LLVMValueRef assembly =
        LLVMGetInlineAsm(type, text, strlen(text), constraints, sizeof constraints - 1, false,
                         false, LLVMInlineAsmDialectATT, false);
    LLVMPositionBuilderBefore(builder, value);
    LLVMValueRef wide = LLVMBuildSExt(builder, from, i32, "");
    wide = LLVMBuildCall2(builder, type, assembly, &wide, 1, "");
    LLVMReplaceAllUsesWith(value, LLVMBuildTrunc(builder, wide, LLVMTypeOf(value), ""));
}

static bool
mend_is_abs(LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t len;
    const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &len) : "";
    return strcmp(name, "llvm.abs.i16") == 0;
}

static void
mend_insn(struct cg_emit *e, LLVMBuilderRef builder, LLVMValueRef insn)
{
    LLVMTypeRef i16 = LLVMInt16TypeInContext(e->context);
    switch (LLVMGetInstructionOpcode(insn)) {
    case LLVMShl:
    case LLVMLShr: mend_shift(builder, insn); break;
    case LLVMSub:
        if (LLVMTypeOf(insn) == i16 && LLVMIsNull(LLVMGetOperand(insn, 0)))
            mend_narrow(e, builder, insn, LLVMGetOperand(insn, 1), "neg.s32 $0, $1;");
        break;
    case LLVMCall:
        if (LLVMTypeOf(insn) == i16 && mend_is_abs(insn))
            mend_narrow(e, builder, insn, LLVMGetOperand(insn, 0), "abs.s32 $0, $1;");
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
