/* Functions that a module brings along for its own code: raisers, printers, the grid's barrier.
 *
 * In: a name, the types of the parameters, what LLVM shall know of it. Out: a function without a
 * result, with the builder in its first block; at the end the builder is back where it was. They
 * are made when code first needs them, amid another function, whose line they do not have. */
#include "codegen/internal.h"

struct cg_helper
cg_helper_begin(struct cg_emit *e, const char *name, LLVMTypeRef *params, uint32_t n_params,
                const char *const *attributes)
{
    struct cg_helper helper = {
        .back = LLVMGetInsertBlock(e->builder),
        .location = LLVMGetCurrentDebugLocation2(e->builder),
    };
    LLVMTypeRef type = LLVMFunctionType(e->types[IR_T_VOID], params, n_params, false);
    LLVMSetCurrentDebugLocation2(e->builder, NULL);
    helper.fn = LLVMAddFunction(e->module, name, type);
    LLVMSetLinkage(helper.fn, LLVMInternalLinkage);
    for (uint32_t i = 0; attributes[i]; i++)
        cg_emit_fn_attribute(e, helper.fn, attributes[i], 0);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, helper.fn, ""));
    return helper;
}

void
cg_helper_end(struct cg_emit *e, const struct cg_helper *helper)
{
    LLVMPositionBuilderAtEnd(e->builder, helper->back);
    LLVMSetCurrentDebugLocation2(e->builder, helper->location);
}
