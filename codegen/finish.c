/* LLVM IR to bytes.
 *
 * In: a complete LLVM module and a target machine. Out: optimised IR, then PTX text or a host
 * object in the artifact. The pipeline is LLVM's own default one at the level of the options;
 * SLP vectorisation only on the host, where it pays. */
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

#include "codegen/internal.h"

bool
cg_finish_verify(struct cg_emit *e, const char *when)
{
    char *message = NULL;
    bool ok = !LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message);
    if (!ok) {
        char *why = sp_arena_printf(e->arena, "bad module %s: %s", when, message);
        sp_diag_set(e->diag, SP_E_LLVM_FAILED, NULL, why);
    }
    LLVMDisposeMessage(message);
    return ok;
}

bool
cg_finish_passes(struct cg_emit *e, const struct cg_machine *machine)
{
    char pipeline[32];
    snprintf(pipeline, sizeof pipeline, "default<O%d>", e->options->opt_level);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetSLPVectorization(options, !e->arch.sm);
    LLVMErrorRef error = LLVMRunPasses(e->module, pipeline, machine->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *message = LLVMGetErrorMessage(error);
        sp_diag_set(e->diag, SP_E_LLVM_FAILED, NULL, message);
        LLVMDisposeErrorMessage(message);
        return false;
    }
    if (e->arch.sm)
        cg_mend(e);
    return e->diag->code == SP_OK;
}

static LLVMMemoryBufferRef
finish_emit(struct cg_emit *e, const struct cg_machine *machine, LLVMModuleRef module,
            LLVMCodeGenFileType type)
{
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine->machine, module, type, &message, &buffer)) {
        sp_diag_set(e->diag, SP_E_LLVM_FAILED, NULL, message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    if (e->diag->code != SP_OK) {
        LLVMDisposeMemoryBuffer(buffer);
        return NULL;
    }
    return buffer;
}

/* LLVM numbers call sequences in comments, from a counter that lives as long as the target machine.
 * Equal input is to give equal bytes, so they are counted from 0 here; numbers only get shorter. */
static size_t
finish_renumber(char *text)
{
    static const char mark[] = "{ // callseq ";
    const size_t mark_len = sizeof mark - 1;
    char *to = text, *from = text;
    unsigned count = 0;
    for (char *at; (at = strstr(from, " // callseq ")) != NULL;) {
        at += strlen(" // callseq ");
        bool begins = (size_t)(at - text) >= mark_len && !strncmp(at - mark_len, mark, mark_len);
        memmove(to, from, (size_t)(at - from));
        to += at - from;
        from = at + strspn(at, "0123456789");
        char digits[16];
        int n = snprintf(digits, sizeof digits, "%u", begins ? count++ : count - (count > 0));
        if (n > from - at)
            n = (int)(from - at);
        memcpy(to, digits, (size_t)n);
        to += n;
    }
    size_t rest = strlen(from);
    memmove(to, from, rest + 1);
    return (size_t)(to - text) + rest;
}

bool
cg_finish_code(struct cg_emit *e, const struct cg_machine *machine, struct sp_str *assembly)
{
    if (assembly && !e->arch.sm) {
        /* Emission changes the module, so the text is made of a copy. */
        LLVMModuleRef copy = LLVMCloneModule(e->module);
        LLVMMemoryBufferRef text = finish_emit(e, machine, copy, LLVMAssemblyFile);
        if (text) {
            sp_str_add_n(assembly, LLVMGetBufferStart(text), LLVMGetBufferSize(text));
            LLVMDisposeMemoryBuffer(text);
        }
        LLVMDisposeModule(copy);
        if (!text)
            return false;
    }
    LLVMMemoryBufferRef code =
        finish_emit(e, machine, e->module, e->arch.sm ? LLVMAssemblyFile : LLVMObjectFile);
    if (!code)
        return false;
    struct artifact *artifact = e->artifact;
    artifact->kind = e->arch.sm ? SP_CODE_PTX : SP_CODE_OBJECT;
    artifact->size_B = LLVMGetBufferSize(code);
    artifact->code = sp_alloc(artifact->size_B + 1);
    memcpy(artifact->code, LLVMGetBufferStart(code), artifact->size_B);
    ((char *)artifact->code)[artifact->size_B] = 0;
    LLVMDisposeMemoryBuffer(code);
    if (e->arch.sm)
        artifact->size_B = finish_renumber(artifact->code);
    if (assembly && e->arch.sm)
        sp_str_add(assembly, artifact->code);
    return true;
}
