/* statics: memory that a module brings along: arrays shared by a block, constant data.
 *
 * In: the CORE module's statics. Out: LLVM globals, or places in one area. Only those that code
 * names count. Shared arrays have a global each, unless they take more than the 48 KiB that PTX
 * allows: then they lie one after the other at the start of what the launch adds, and the artifact
 * tells the launch to ask for so much more. On the host all are places in the block's area.
 *
 * Shared globals are visible from outside although nothing outside names them: of an internal one
 * LLVM would conclude from a single thread's view what the other threads of the block store.
 * Constant data is ptr.const, which is PTX's .const as long as all of it fits 64 KiB, else global
 * memory. */
#include <string.h>

#include "codegen/internal.h"

#define STATICS_SHARED_B 49152u /* PTX: static shared memory of a kernel */
#define STATICS_CONST_B 65536u  /* PTX: .const of a module */
#define STATICS_ALIGN_LOG2 4    /* of what the launch adds */
#define STATICS_GLOBAL 1        /* LLVM's address space of global memory */

static uint64_t
statics_align(uint64_t at, unsigned align_log2)
{
    uint64_t mask = ((uint64_t)1 << align_log2) - 1;
    return (at + mask) & ~mask;
}

/* Slots of all functions: at most what a thread of a GPU, or a worker's stack, has. */
static bool
statics_check_local(struct cg_emit *e, uint64_t local_B)
{
    if (local_B <= SP_MAX_LOCAL_B)
        return true;
    const char *what = sp_arena_printf(e->arena, "the local memory of '%s' together",
                                       e->core->funcs.data[0]->name);
    sp_diag_set(e->diag, SP_E_ARRAY_SIZE, NULL, what, (long long)local_B,
                (long long)SP_MAX_LOCAL_B);
    return sp_diag_hint(e->diag, "use an array that is passed to the kernel, with a part for each "
                                 "thread");
}

static bool
statics_find_used(struct cg_emit *e)
{
    uint64_t local_B = 0;
    for (uint32_t f = 0; f < e->core->funcs.len; f++) {
        const struct ir_func *func = e->core->funcs.data[f];
        for (uint32_t b = 0; b < func->blocks.len; b++) {
            const struct ir_block *block = &func->blocks.data[b];
            for (uint32_t i = 0; i < block->insns.len; i++) {
                const struct ir_insn *insn = ir_insn(func, block->insns.data[i]);
                if (insn->op == IR_STATIC)
                    e->statics[insn->imm].is_used = true;
                if (insn->op == IR_SLOT)
                    local_B += insn->imm & IR_MAX_SLOT_B;
                e->uses_dynshared |= insn->op == IR_DYNSHARED;
            }
        }
    }
    return statics_check_local(e, local_B);
}

/* Shared arrays are whole words: an atomic on a byte swaps the word around it (emit_atomic.c), and
 * LLVM takes an access that is larger than an object to be elsewhere. */
static uint64_t
statics_size(const struct ir_static *row)
{
    return row->space == IR_SPACE_SHARED ? statics_align(row->size_B, 2) : row->size_B;
}

static LLVMValueRef
statics_global(struct cg_emit *e, uint32_t index, unsigned space)
{
    const struct ir_static *row = &e->core->statics.data[index];
    const char *name = row->name && *row->name ? row->name : "array";
    const char *symbol = sp_arena_printf(e->arena, "%s_$_s%u", cg_emit_symbol(e, name), index);
    LLVMTypeRef type = LLVMArrayType2(e->types[IR_T_I8], statics_size(row));
    LLVMValueRef global = LLVMAddGlobalInAddressSpace(e->module, type, symbol, space);
    LLVMSetAlignment(global, 1u << row->align_log2);
    LLVMSetInitializer(global, LLVMGetUndef(type));
    return global;
}

static void
statics_make_const(struct cg_emit *e, uint32_t index)
{
    const struct ir_static *row = &e->core->statics.data[index];
    LLVMValueRef global =
        statics_global(e, index, LLVMGetPointerAddressSpace(e->types[IR_T_PTR_CONST]));
    LLVMSetInitializer(
        global, LLVMConstStringInContext2(e->context, (const char *)row->bytes, row->size_B, true));
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    e->statics[index].global = global;
}

/* The area that PTX names without a size; its alignment is the most that an array in it asks
 * for. */
static void
statics_make_area(struct cg_emit *e, unsigned align_log2)
{
    LLVMTypeRef type = LLVMArrayType2(e->types[IR_T_I8], 0);
    e->shared = LLVMAddGlobalInAddressSpace(e->module, type, "gpujit_shared",
                                            e->target->spaces[IR_T_PTR_SHARED - IR_T_PTR]);
    LLVMSetAlignment(e->shared, 1u << align_log2);
}

uint32_t
cg_statics_end(const struct cg_emit *e)
{
    return e->shared_is_area ? e->shared_B : 0;
}

bool
cg_statics_fill(struct cg_emit *e)
{
    uint32_t n = e->core->statics.len;
    uint64_t shared_B = 0, const_B = 0;
    unsigned align_log2 = STATICS_ALIGN_LOG2;
    e->statics = SP_NEW_N(e->arena, struct cg_static, n + 1);
    if (!statics_find_used(e))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_static *row = &e->core->statics.data[i];
        if (!e->statics[i].is_used)
            continue;
        uint64_t *end = row->space == IR_SPACE_CONST ? &const_B : &shared_B;
        *end = statics_align(*end, row->align_log2);
        e->statics[i].offset_B = (uint32_t)*end;
        *end += statics_size(row);
        if (row->space == IR_SPACE_SHARED && row->align_log2 > align_log2)
            align_log2 = row->align_log2;
    }
    if (shared_B > IR_MAX_STATIC_B)
        return sp_diag_set(e->diag, SP_E_ARRAY_SIZE, NULL, "the shared memory of this kernel",
                           (long long)shared_B, (long long)IR_MAX_STATIC_B);
    e->shared_is_area = !e->arch.sm || shared_B > STATICS_SHARED_B;
    e->shared_B = (uint32_t)statics_align(shared_B, e->shared_is_area ? STATICS_ALIGN_LOG2 : 0);
    e->artifact->shared_B = e->shared_B;
    e->artifact->added_B = e->arch.sm && e->shared_is_area ? e->shared_B : 0;
    if (e->arch.sm && const_B > STATICS_CONST_B)
        e->types[IR_T_PTR_CONST] = LLVMPointerTypeInContext(e->context, STATICS_GLOBAL);
    if (e->arch.sm && (e->uses_dynshared || e->artifact->added_B))
        statics_make_area(e, align_log2);
    for (uint32_t i = 0; i < n; i++) {
        bool is_const = e->core->statics.data[i].space == IR_SPACE_CONST;
        if (e->statics[i].is_used && is_const)
            statics_make_const(e, i);
        else if (e->statics[i].is_used && !e->shared_is_area)
            e->statics[i].global =
                statics_global(e, i, e->target->spaces[IR_T_PTR_SHARED - IR_T_PTR]);
    }
    return true;
}
