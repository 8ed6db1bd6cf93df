/* Rows of intrin.def whose column is "inline": a few LLVM instructions.
 *
 * In: an INTRIN whose operands have the types of its row. Out: its value at the builder. One
 * function per target, each a flat switch; what a target has as one LLVM intrinsic stands in the
 * table itself. Alternatives that lost: functions in the runtime, which LLVM could not fold, and
 * one sequence for both targets in lowering, which hides from LLVM what a GPU has an instruction
 * for. */
#include "codegen/internal.h"

/* The byte number `number & 7` of the eight in `both`. */
static LLVMValueRef
inline_byte(struct cg_emit *e, LLVMValueRef both, LLVMValueRef number)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef seven = cg_emit_i64(e, 7), three = cg_emit_i64(e, 3);
    LLVMValueRef bits = LLVMBuildShl(b, LLVMBuildAnd(b, number, seven, ""), three, "");
    return LLVMBuildAnd(b, LLVMBuildLShr(b, both, bits, ""), cg_emit_i64(e, 255), "");
}

static LLVMValueRef
inline_byte_perm(struct cg_emit *e, LLVMValueRef *args)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef wide = e->types[IR_T_I64];
    LLVMValueRef high =
        LLVMBuildShl(b, LLVMBuildZExt(b, args[1], wide, ""), cg_emit_i64(e, 32), "");
    LLVMValueRef both = LLVMBuildOr(b, LLVMBuildZExt(b, args[0], wide, ""), high, "");
    LLVMValueRef numbers = LLVMBuildZExt(b, args[2], wide, ""), sum = cg_emit_i64(e, 0);
    for (uint32_t i = 0; i < 4; i++) {
        LLVMValueRef number = LLVMBuildLShr(b, numbers, cg_emit_i64(e, 4 * i), "");
        LLVMValueRef byte = inline_byte(e, both, number);
        sum = LLVMBuildOr(b, sum, LLVMBuildShl(b, byte, cg_emit_i64(e, 8 * i), ""), "");
    }
    return LLVMBuildTrunc(b, sum, e->types[IR_T_I32], "");
}

/* A warp's mask from the lane's own bit. */
static LLVMValueRef
inline_lanemask(struct cg_emit *e, enum ir_intrin id)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef lane = e->target->emit_sreg(e, IR_INTRIN_LANEID);
    LLVMValueRef own = LLVMBuildShl(b, cg_emit_i32(e, 1), lane, "");
    LLVMValueRef before = LLVMBuildSub(b, own, cg_emit_i32(e, 1), "");
    switch (id) {
    case IR_INTRIN_LANEMASK_EQ: return own;
    case IR_INTRIN_LANEMASK_LT: return before;
    case IR_INTRIN_LANEMASK_LE: return LLVMBuildOr(b, before, own, "");
    case IR_INTRIN_LANEMASK_GE: return LLVMBuildNot(b, before, "");
    default: return LLVMBuildNot(b, LLVMBuildOr(b, before, own, ""), "");
    }
}

LLVMValueRef
cg_inline_host(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef *args)
{
    switch ((enum ir_intrin)insn->imm) {
    case IR_INTRIN_RSQRT: {
        LLVMTypeRef type = e->types[insn->type];
        LLVMValueRef root = cg_emit_intrinsic(e, "llvm.sqrt", 1, &type, 1, args);
        return LLVMBuildFDiv(e->builder, LLVMConstReal(type, 1), root, "");
    }
    case IR_INTRIN_BYTE_PERM: return inline_byte_perm(e, args);
    case IR_INTRIN_LANEMASK_LT:
    case IR_INTRIN_LANEMASK_LE:
    case IR_INTRIN_LANEMASK_EQ:
    case IR_INTRIN_LANEMASK_GE:
    case IR_INTRIN_LANEMASK_GT: return inline_lanemask(e, (enum ir_intrin)insn->imm);
    default: return NULL;
    }
}

LLVMValueRef
cg_inline_nvptx(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef *args)
{
    switch ((enum ir_intrin)insn->imm) {
    case IR_INTRIN_RSQRT: {
        const char *name = insn->type == IR_T_F64 ? "llvm.nvvm.rsqrt.approx.d"
                           : e->options->ftz      ? "llvm.nvvm.rsqrt.approx.ftz.f"
                                                  : "llvm.nvvm.rsqrt.approx.f";
        return cg_emit_intrinsic(e, name, 0, NULL, 1, args);
    }
    default: return NULL;
    }
}
