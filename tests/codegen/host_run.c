/* host_run: CORE text in, a function to call out, by codegen and LLVM's LLJIT (the loader that the
 * runtime's CPU device uses). */
#include "tests/codegen/host_run.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "tests/support/check.h"

static struct cg_state *run_state;

struct cg_state *
host_state(void)
{
    if (!run_state)
        run_state = cg_create();
    return run_state;
}

void
host_state_finish(void)
{
    cg_destroy(run_state);
    run_state = NULL;
}

static void
run_check(LLVMErrorRef error)
{
    if (error)
        fail_msg("%s", LLVMGetErrorMessage(error));
}

static struct artifact *
run_compile(const char *text, int opt_level)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *core;
    struct artifact *artifact;
    struct cg_request request = {0};
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    cg_options_init(&request.options);
    request.options.opt_level = opt_level;
    if (!ir_parse(text, &arena, &core, &diag))
        fail_msg("%s\n%s", diag.message, text);
    if (!cg_compile_core(host_state(), core, &request, true, &artifact, NULL, &diag))
        fail_msg("%s\n%s", diag.message, text);
    ir_module_finish(core);
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
    return artifact;
}

struct host_code
host_load_text(const char *text, int opt_level)
{
    struct host_code code = {.artifact = run_compile(text, opt_level)};
    LLVMOrcLLJITRef jit;
    run_check(LLVMOrcCreateLLJIT(&jit, NULL));
    LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef process;
    run_check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL));
    LLVMOrcJITDylibAddGenerator(dylib, process);
    LLVMMemoryBufferRef object = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        code.artifact->code, code.artifact->size_B, "kernel");
    run_check(LLVMOrcLLJITAddObjectFile(jit, dylib, object));
    LLVMOrcExecutorAddress address;
    run_check(LLVMOrcLLJITLookup(jit, &address, code.artifact->entry));
    code.jit = jit;
    code.entry = (void (*)(const struct sp_block *, const void *))(uintptr_t)address;
    return code;
}

void
host_unload(struct host_code *code)
{
    run_check(LLVMOrcDisposeLLJIT(code->jit));
    sp_artifact_destroy(code->artifact);
}
