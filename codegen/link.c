/* libdevice into the module, only what is called.
 *
 * In: a module with calls of __nv_* functions. Out: their bodies, internal, with every
 * __nvvm_reflect call replaced by a constant. The bitcode is opened lazily and all of its
 * functions become linkonce_odr first: the linker then reads only those that are referenced (1.2
 * ms; the plain way reads all, 27 ms). LLVM has a pass for __nvvm_reflect of its own, which
 * answers 0 to __CUDA_PREC_SQRT and __CUDA_PREC_DIV, so that __nv_sqrtf and others become
 * approximate; ours runs first and leaves it nothing. */
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "codegen/internal.h"

static LLVMModuleRef
link_open(struct cg_emit *e, const struct cg_library *library, const struct cg_machine *machine)
{
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange(library->data, library->size_B, "libdevice", false);
    LLVMModuleRef module;
    if (LLVMGetBitcodeModuleInContext2(e->context, buffer, &module)) {
        LLVMDisposeMemoryBuffer(buffer);
        return NULL;
    }
    LLVMSetTarget(module, machine->triple);
    LLVMSetDataLayout(module, machine->layout);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f))
            LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    }
    return module;
}

/* The text that a constant pointer points to; NULL if it is none. */
static const char *
link_reflect_name(LLVMValueRef pointer)
{
    while (LLVMIsAConstantExpr(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    LLVMValueRef text = LLVMIsAGlobalVariable(pointer) ? LLVMGetInitializer(pointer) : NULL;
    size_t len;
    return text && LLVMIsConstantString(text) ? LLVMGetAsString(text, &len) : NULL;
}

static uint32_t
link_reflect_value(const struct cg_emit *e, const char *name)
{
    const struct {
        const char *name;
        uint32_t value;
    } rows[] = {
        {"__CUDA_FTZ", e->options->ftz},
        {"__CUDA_PREC_SQRT", !e->options->approx_sqrt},
        {"__CUDA_PREC_DIV", !e->options->approx_div},
        {"__CUDA_ARCH", e->arch.sm * 10u},
    };
    for (size_t i = 0; name && i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(name, rows[i].name))
            return rows[i].value;
    }
    return 0;
}

static void
link_resolve_reflect(struct cg_emit *e)
{
    static const char *const names[] = {"__nvvm_reflect", "llvm.nvvm.reflect"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        LLVMValueRef reflect = LLVMGetNamedFunction(e->module, names[i]);
        if (!reflect)
            continue;
        for (LLVMUseRef next, use = LLVMGetFirstUse(reflect); use; use = next) {
            next = LLVMGetNextUse(use);
            LLVMValueRef call = LLVMGetUser(use);
            if (!LLVMIsACallInst(call))
                continue;
            const char *name = link_reflect_name(LLVMGetOperand(call, 0));
            LLVMReplaceAllUsesWith(call, cg_emit_i32(e, link_reflect_value(e, name)));
            LLVMInstructionEraseFromParent(call);
        }
        if (!LLVMGetFirstUse(reflect))
            LLVMDeleteFunction(reflect);
    }
}

/* Bodies become internal; a function that is still missing is an error. */
static const char *
link_settle(struct cg_emit *e)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
        size_t len;
        const char *name = LLVMGetValueName2(f, &len);
        if (LLVMIsDeclaration(f)) {
            if (!strncmp(name, "__nv", 4))
                return name;
        } else if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) {
            LLVMSetLinkage(f, LLVMInternalLinkage);
            if (e->options->ftz)
                cg_emit_fn_text(e, f, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
        }
    }
    return NULL;
}

bool
cg_link_libdevice(struct cg_emit *e, const struct cg_machine *machine)
{
    const struct cg_library *library;
    if (!e->libdevice_user)
        return true;
    if (!cg_libdevice_get(e->state, e->options->libdevice, e->libdevice_user, &library, e->diag)) {
        sp_diag_place(e->diag, &e->libdevice_src);
        return false;
    }
    LLVMModuleRef module = link_open(e, library, machine);
    if (!module || LLVMLinkModules2(e->module, module))
        return sp_diag_set(e->diag, SP_E_BAD_LIBDEVICE, NULL, library->path,
                           "LLVM cannot read or link it");
    link_resolve_reflect(e);
    const char *missing = link_settle(e);
    if (missing) {
        char *why = sp_arena_printf(e->arena, "it has no function '%s'", missing);
        return sp_diag_set(e->diag, SP_E_BAD_LIBDEVICE, NULL, library->path, why);
    }
    return true;
}
