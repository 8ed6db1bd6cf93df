/* mend_shift: keeps LLVM's NVPTX back end from losing the high half of shift counts.
 *
 * In: an optimised module for a GPU. Out: the same module, whose 64-bit shifts by run-time counts
 * that feed a select mask the count. Needs to run last; keeps everything else.
 *
 * The back end of LLVM 22 turns
 *
 *     select (icmp ult i64 %n, 64), (shl i64 %x, %n), 0
 *
 * into PTX's shl.b64, which gives 0 for counts of 64 and more, but hands it only the low 32 bits of
 * the count: x << 2**32 gives x. It matches equal counts only, so
 *
 *     select (icmp ult i64 %n, 64), (shl i64 %x, (and i64 %n, 63)), 0
 *
 * stays a shift and a selection. Lost alternatives: a mask in lowering, which InstCombine removes
 * again; PTX in inline assembly, which no pass can fold. */
#include "codegen/internal.h"

static bool
shift_feeds_select(LLVMValueRef shift)
{
    for (LLVMUseRef use = LLVMGetFirstUse(shift); use; use = LLVMGetNextUse(use))
        if (LLVMIsASelectInst(LLVMGetUser(use)))
            return true;
    return false;
}

void
cg_mend_shifts(struct cg_emit *e)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->context);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(e->context);
    for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef at = LLVMGetFirstInstruction(b); at; at = LLVMGetNextInstruction(at)) {
                LLVMOpcode op = LLVMGetInstructionOpcode(at);
                bool shift = op == LLVMShl || op == LLVMLShr;
                if (!shift || LLVMTypeOf(at) != i64 || LLVMIsConstant(LLVMGetOperand(at, 1)) ||
                    !shift_feeds_select(at))
                    continue;
                LLVMPositionBuilderBefore(builder, at);
                LLVMSetOperand(at, 1,
                               LLVMBuildAnd(builder, LLVMGetOperand(at, 1),
                                            LLVMConstInt(i64, 63, false), ""));
            }
    LLVMDisposeBuilder(builder);
}
