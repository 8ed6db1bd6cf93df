/* What outlives a compilation: target machines, the host's description, libdevice.
 *
 * Target machines belong to no context and take time to make, so they are kept in a pool under a
 * lock; a compilation takes one and gives it back. A context per compilation is fresh: kept
 * ones gain 2 % and grow. LLVM's registry of targets is the process's, hence the one pthread_once;
 * nothing else is global. Machines kept per thread were the alternative: they live as long as
 * threads that may never compile again. */
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/internal.h"

struct cg_state *
cg_create(void)
{
    struct cg_state *state = sp_alloc(sizeof *state);
    *state = (struct cg_state){0};
    pthread_mutex_init(&state->lock, NULL);
    return state;
}

static void
state_drop_folders(struct cg_state *state)
{
    for (uint32_t i = 0; i < state->n_folders; i++)
        free(state->folders[i]);
    free(state->folders);
    state->folders = NULL;
    state->n_folders = 0;
}

static void
state_drop_machine(struct cg_machine *machine)
{
    LLVMDisposeTargetMachine(machine->machine);
    free(machine->triple);
    free(machine->layout);
    free(machine);
}

void
cg_destroy(struct cg_state *state)
{
    if (!state)
        return;
    for (struct cg_machine *next, *m = state->machines; m; m = next) {
        next = m->next;
        state_drop_machine(m);
    }
    for (struct cg_library *next, *l = state->libraries; l; l = next) {
        next = l->next;
        free(l->path);
        free(l->data);
        free(l);
    }
    state_drop_folders(state);
    free(state->triple);
    free(state->cpu);
    free(state->features);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

static char *
state_strdup(const char *text)
{
    size_t size_B = strlen(text) + 1;
    return memcpy(sp_alloc(size_B), text, size_B);
}

void
cg_set_site_packages(struct cg_state *state, const char *const *folders, uint32_t n)
{
    pthread_mutex_lock(&state->lock);
    state_drop_folders(state);
    state->folders = sp_alloc(n * sizeof *state->folders);
    state->n_folders = n;
    for (uint32_t i = 0; i < n; i++)
        state->folders[i] = state_strdup(folders[i]);
    pthread_mutex_unlock(&state->lock);
}

const char *
cg_llvm_version(void)
{
    return LLVM_VERSION_STRING;
}

static char *
state_take_message(char *message)
{
    char *copy = state_strdup(message);
    LLVMDisposeMessage(message);
    return copy;
}

void
cg_state_ask_host(struct cg_state *state)
{
    pthread_mutex_lock(&state->lock);
    if (!state->cpu) {
        state->triple = state_take_message(LLVMGetDefaultTargetTriple());
        state->cpu = state_take_message(LLVMGetHostCPUName());
        state->features = state_take_message(LLVMGetHostCPUFeatures());
    }
    pthread_mutex_unlock(&state->lock);
}

static void
state_init_llvm(void)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
}

static bool
state_make_machine(struct cg_state *state, struct cg_arch arch, uint16_t ptx, int32_t opt_level,
                   struct cg_machine **out, struct sp_diag *diag)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, state_init_llvm);

    char cpu[16], features[16];
    snprintf(cpu, sizeof cpu, "sm_%u", arch.sm);
    snprintf(features, sizeof features, "+ptx%u", ptx);
    if (!arch.sm)
        cg_state_ask_host(state);
    const char *triple = arch.sm ? "nvptx64-nvidia-cuda" : state->triple;

    LLVMTargetRef target;
    char *error = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &error)) {
        sp_diag_set(diag, SP_E_LLVM_FAILED, NULL, error);
        LLVMDisposeMessage(error);
        return false;
    }
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                                 LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    LLVMTargetMachineOptionsRef options = LLVMCreateTargetMachineOptions();
    LLVMTargetMachineOptionsSetCPU(options, arch.sm ? cpu : state->cpu);
    LLVMTargetMachineOptionsSetFeatures(options, arch.sm ? features : state->features);
    LLVMTargetMachineOptionsSetCodeGenOptLevel(options, levels[opt_level]);
    LLVMTargetMachineOptionsSetRelocMode(options, arch.sm ? LLVMRelocDefault : LLVMRelocPIC);
    LLVMTargetMachineOptionsSetCodeModel(options,
                                         arch.sm ? LLVMCodeModelDefault : LLVMCodeModelSmall);
    LLVMTargetMachineRef made = LLVMCreateTargetMachineWithOptions(target, triple, options);
    LLVMDisposeTargetMachineOptions(options);
    if (!made)
        return sp_diag_set(diag, SP_E_LLVM_FAILED, NULL, "no target machine");

    struct cg_machine *machine = sp_alloc(sizeof *machine);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(made);
    *machine = (struct cg_machine){
        .machine = made,
        .triple = state_strdup(triple),
        .layout = state_take_message(LLVMCopyStringRepOfTargetData(data)),
        .sm = arch.sm,
        .ptx = ptx,
        .opt_level = opt_level,
    };
    LLVMDisposeTargetData(data);
    *out = machine;
    return true;
}

bool
cg_machine_take(struct cg_state *state, struct cg_arch arch, uint16_t ptx, int32_t opt_level,
                struct cg_machine **out, struct sp_diag *diag)
{
    if (!arch.sm)
        ptx = 0;
    pthread_mutex_lock(&state->lock);
    for (struct cg_machine **at = &state->machines; *at; at = &(*at)->next) {
        struct cg_machine *m = *at;
        if (m->sm == arch.sm && m->ptx == ptx && m->opt_level == opt_level) {
            *at = m->next;
            pthread_mutex_unlock(&state->lock);
            *out = m;
            return true;
        }
    }
    pthread_mutex_unlock(&state->lock);
    return state_make_machine(state, arch, ptx, opt_level, out, diag);
}

void
cg_machine_give(struct cg_state *state, struct cg_machine *machine)
{
    pthread_mutex_lock(&state->lock);
    machine->next = state->machines;
    state->machines = machine;
    pthread_mutex_unlock(&state->lock);
}
