/* The grid's barrier on a GPU: a function of the module's own, called where kernels wait.
 *
 * In: four bytes in the device's memory that the launch has for itself (SP_PARAM_GRID). The first
 * thread of each block adds 1, that of block 0 what makes the sum of all 2^31, so each barrier
 * flips the highest bit and leaves the others as they were; then it looks until the bit has
 * flipped. The block's own barrier stands before and behind. So the bytes never have to be reset,
 * neither between barriers nor between launches. Two counters, the textbook's way, lost: a block
 * may be a barrier ahead. */
#include <string.h>

#include "codegen/internal.h"

static LLVMValueRef
grid_sreg(struct cg_emit *e, enum ir_intrin id)
{
    return cg_emit_intrinsic(e, ir_intrin_row(id)->nv, 0, NULL, 0, NULL);
}

/* Whether all three registers from `first` on are 0. */
static LLVMValueRef
grid_is_first(struct cg_emit *e, enum ir_intrin first)
{
    LLVMValueRef bits = grid_sreg(e, first);
    for (uint32_t axis = 1; axis < 3; axis++)
        bits = LLVMBuildOr(e->builder, bits, grid_sreg(e, first + axis), "");
    return LLVMBuildICmp(e->builder, LLVMIntEQ, bits, cg_emit_i32(e, 0), "");
}

static void
grid_call(struct cg_emit *e, enum ir_intrin id)
{
    LLVMValueRef zero = cg_emit_i32(e, 0);
    bool barrier = id == IR_INTRIN_SYNCTHREADS;
    cg_emit_intrinsic(e, ir_intrin_row(id)->nv, 0, NULL, barrier, &zero);
}

/* What the block adds; the grid has fewer than 2^31 blocks along x, all in all fewer than 2^31 that
 * run at the same time. */
static LLVMValueRef
grid_share(struct cg_emit *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef n = grid_sreg(e, IR_INTRIN_NCTAID_X);
    n = LLVMBuildMul(b, n, grid_sreg(e, IR_INTRIN_NCTAID_Y), "");
    n = LLVMBuildMul(b, n, grid_sreg(e, IR_INTRIN_NCTAID_Z), "");
    LLVMValueRef rest = LLVMBuildSub(b, cg_emit_i32(e, 0x80000001u), n, "");
    return LLVMBuildSelect(b, grid_is_first(e, IR_INTRIN_CTAID_X), rest, cg_emit_i32(e, 1), "");
}

static LLVMValueRef
grid_make(struct cg_emit *e, const char *name)
{
    LLVMBuilderRef b = e->builder;
    static const char *const attributes[] = {"nounwind", "noinline", "convergent", NULL};
    struct cg_helper helper = cg_helper_begin(e, name, &e->types[IR_T_PTR_GLOBAL], 1, attributes);
    LLVMValueRef fn = helper.fn, word = LLVMGetParam(fn, 0);
    LLVMBasicBlockRef first = LLVMAppendBasicBlockInContext(e->context, fn, "first");
    LLVMBasicBlockRef look = LLVMAppendBasicBlockInContext(e->context, fn, "look");
    LLVMBasicBlockRef open = LLVMAppendBasicBlockInContext(e->context, fn, "open");
    LLVMBasicBlockRef end = LLVMAppendBasicBlockInContext(e->context, fn, "end");

    grid_call(e, IR_INTRIN_SYNCTHREADS);
    LLVMBuildCondBr(b, grid_is_first(e, IR_INTRIN_TID_X), first, end);
    LLVMPositionBuilderAtEnd(b, first);
    LLVMValueRef share = grid_share(e);
    grid_call(e, IR_INTRIN_THREADFENCE);
    LLVMValueRef before =
        LLVMBuildAtomicRMWSyncScope(b, LLVMAtomicRMWBinOpAdd, word, share,
                                    LLVMAtomicOrderingMonotonic, cg_emit_device_scope(e));
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef now = LLVMBuildLoad2(b, e->types[IR_T_I32], word, "");
    LLVMSetVolatile(now, true);
    LLVMValueRef changed = LLVMBuildXor(b, before, now, "");
    changed = LLVMBuildICmp(b, LLVMIntSLT, changed, cg_emit_i32(e, 0), "");
    LLVMBuildCondBr(b, changed, open, look);
    LLVMPositionBuilderAtEnd(b, open);
    grid_call(e, IR_INTRIN_THREADFENCE);
    LLVMBuildBr(b, end);
    LLVMPositionBuilderAtEnd(b, end);
    grid_call(e, IR_INTRIN_SYNCTHREADS);
    LLVMBuildRetVoid(b);
    cg_helper_end(e, &helper);
    return fn;
}

void
cg_grid_sync(struct cg_emit *e)
{
    static const char name[] = "gpujit_grid_sync";
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn)
        fn = grid_make(e, name);
    LLVMValueRef word = LLVMGetParam(e->this->fn, LLVMCountParams(e->this->fn) - 1);
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(fn), fn, &word, 1, "");
}
