/* CORE to LLVM IR: modules, functions, blocks, phis.
 *
 * In: a verified CORE module (edges and phis as ir.h says, effects filled). Out: an LLVM
 * module in `e->module` with one function per CORE function, internal but for the entry, which
 * the target makes. SSA maps to SSA, so emission is one pass over the blocks in reverse
 * post-order and a second one that fills phis; unreachable blocks are not emitted. Calls of
 * functions that may raise split their block where the target tells callers by a status, which is
 * why a CORE block has a first and a last LLVM block. Emitting text and parsing it was the
 * alternative: easier to read, but LLVM's parser would do the same work again. */
#include <string.h>

#include "codegen/internal.h"

static void
emit_fill_types(struct cg_emit *e)
{
    LLVMContextRef c = e->context;
    e->types[IR_T_VOID] = LLVMVoidTypeInContext(c);
    e->types[IR_T_I1] = LLVMInt1TypeInContext(c);
    e->types[IR_T_I8] = LLVMInt8TypeInContext(c);
    e->types[IR_T_I16] = LLVMInt16TypeInContext(c);
    e->types[IR_T_I32] = LLVMInt32TypeInContext(c);
    e->types[IR_T_I64] = LLVMInt64TypeInContext(c);
    e->types[IR_T_F16] =
        cg_half_is_native(e, IR_T_F16) ? LLVMHalfTypeInContext(c) : e->types[IR_T_I16];
    e->types[IR_T_BF16] =
        cg_half_is_native(e, IR_T_BF16) ? LLVMBFloatTypeInContext(c) : e->types[IR_T_I16];
    e->types[IR_T_F32] = LLVMFloatTypeInContext(c);
    e->types[IR_T_F64] = LLVMDoubleTypeInContext(c);
    for (unsigned i = 0; i < CG_N_SPACES; i++)
        e->types[IR_T_PTR + i] = LLVMPointerTypeInContext(c, e->target->spaces[i]);
}

/* A symbol from a Python name: letters, digits and underscores. */
const char *
cg_emit_symbol(struct cg_emit *e, const char *name)
{
    const char *prefix = "";
    /* Names that LLVM, libdevice, libm or PTX give a meaning to. */
    bool special = !strncmp(name, "__", 2) || !strncmp(name, "llvm", 4) || !strcmp(name, "WARP_SZ");
    if (special || !e->arch.sm || !*name || (*name >= '0' && *name <= '9'))
        prefix = "gpujit_";
    char *symbol = sp_arena_printf(e->arena, "%s%.200s", prefix, name);
    for (char *at = symbol; *at; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!letter && !(*at >= '0' && *at <= '9'))
            *at = '_';
    }
    return symbol;
}

static LLVMTypeRef
emit_ret_type(struct cg_emit *e, const struct ir_func *func, struct cg_emit_func *out)
{
    LLVMTypeRef *fields = SP_NEW_N(e->arena, LLVMTypeRef, func->n_results + 1);
    if (out->returns_raised)
        fields[out->n_fields++] = e->types[IR_T_I1];
    for (uint32_t i = 0; i < func->n_results; i++)
        fields[out->n_fields++] = e->types[func->results[i]];
    if (out->n_fields == 0)
        return e->types[IR_T_VOID];
    if (out->n_fields == 1)
        return fields[0];
    return LLVMStructTypeInContext(e->context, fields, out->n_fields, false);
}

static void
emit_declare(struct cg_emit *e, uint32_t index)
{
    const struct ir_func *func = e->core->funcs.data[index];
    struct cg_emit_func *out = &e->funcs[index];
    LLVMTypeRef *params = SP_NEW_N(e->arena, LLVMTypeRef, func->n_params + CG_MAX_HIDDEN);
    out->returns_raised = e->target->returns_raised && func->may_raise && index != 0;
    out->n_hidden = e->target->fill_hidden(e, func, params);
    for (uint32_t i = 0; i < func->n_params; i++)
        params[out->n_hidden + i] = e->types[func->params[i].type];
    out->ret = emit_ret_type(e, func, out);
    out->type = LLVMFunctionType(out->ret, params, out->n_hidden + func->n_params, false);
    /* No symbol has a dot, so the entry's name stays free. (PTX has none: LLVM writes "_$_".) */
    const char *name = sp_arena_printf(e->arena, "%s.%u", cg_emit_symbol(e, func->name), index);
    out->fn = LLVMAddFunction(e->module, name, out->type);
    LLVMSetLinkage(out->fn, LLVMInternalLinkage);
    cg_emit_fn_attribute(e, out->fn, "nounwind", 0);
    if (func->convergent)
        cg_emit_fn_attribute(e, out->fn, "convergent", 0);
    if (e->options->ftz)
        cg_emit_fn_text(e, out->fn, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
}

/* The LLVM blocks that a phi's operands come from: the predecessor's last block, or the extra
 * block of the second edge of a BR whose successors are equal. */
static void
emit_phi_operands(struct cg_emit *e, const struct ir_block *block, ir_ref phi)
{
    const ir_ref *args = ir_args(e->func, phi);
    for (uint32_t i = 0; i < block->preds.len; i++) {
        uint32_t pred = block->preds.data[i];
        LLVMBasicBlockRef from = e->ends[pred];
        for (uint32_t j = 0; j < i && e->doubles[pred]; j++) {
            if (block->preds.data[j] == pred)
                from = e->doubles[pred];
        }
        if (from)
            LLVMAddIncoming(e->values[phi], &e->values[args[i]], &from, 1);
    }
}

static bool
emit_block(struct cg_emit *e, uint32_t index)
{
    const struct ir_block *block = &e->func->blocks.data[index];
    bool begun = e->coro && index == 0; /* behind what cg_coro_begin has emitted */
    LLVMPositionBuilderAtEnd(e->builder, begun ? LLVMGetInsertBlock(e->builder) : e->blocks[index]);
    for (uint32_t i = 0; i < block->insns.len; i++) {
        cg_lineinfo_insn(e, block->insns.data[i]);
        if (!cg_emit_insn(e, block->insns.data[i]))
            return false;
    }
    return true;
}

/* A BR with equal successors gets a block of its own for the second edge, so that phis can tell. */
static void
emit_double_edge(struct cg_emit *e, uint32_t index)
{
    const struct ir_block *block = &e->func->blocks.data[index];
    if (block->n_succ == 2 && block->succ[0] == block->succ[1]) {
        e->doubles[index] = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
        LLVMPositionBuilderAtEnd(e->builder, e->doubles[index]);
        LLVMBuildBr(e->builder, e->blocks[block->succ[0]]);
    }
}

/* What the context holds of the function that comes next. */
static void
emit_func_begin(struct cg_emit *e, uint32_t index)
{
    const struct ir_func *func = e->core->funcs.data[index];
    uint32_t n_blocks = func->blocks.len;
    e->func = func;
    e->this = &e->funcs[index];
    e->values = SP_NEW_N(e->arena, LLVMValueRef, func->insns.len);
    e->calls = SP_NEW_N(e->arena, LLVMValueRef, func->insns.len);
    e->blocks = SP_NEW_N(e->arena, LLVMBasicBlockRef, n_blocks);
    e->ends = SP_NEW_N(e->arena, LLVMBasicBlockRef, n_blocks);
    e->doubles = SP_NEW_N(e->arena, LLVMBasicBlockRef, n_blocks);
    e->last = NULL;
    for (uint32_t i = 0; i < e->this->n_hidden; i++)
        e->hidden[i] = LLVMGetParam(e->this->fn, i);
    /* The fault of an nvptx kernel stands behind its own parameters. */
    uint32_t n_own = e->this->n_hidden + func->n_params;
    if (e->arch.sm && LLVMCountParams(e->this->fn) > n_own)
        e->hidden[0] = LLVMGetParam(e->this->fn, n_own);
    cg_lineinfo_func(e, func, e->this->fn);
}

/* The common return if there is one, and the operands of phis. */
static void
emit_func_end(struct cg_emit *e, uint32_t n, const uint32_t *order)
{
    if (e->last) {
        LLVMMoveBasicBlockAfter(e->last, LLVMGetLastBasicBlock(e->this->fn));
        LLVMPositionBuilderAtEnd(e->builder, e->last);
        if (e->coro)
            cg_coro_end(e);
        else
            LLVMBuildRetVoid(e->builder);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_block *block = &e->func->blocks.data[order[i]];
        for (uint32_t j = 0; j < block->insns.len; j++) {
            if (ir_insn(e->func, block->insns.data[j])->op == IR_PHI)
                emit_phi_operands(e, block, block->insns.data[j]);
        }
    }
}

static bool
emit_func(struct cg_emit *e, uint32_t index)
{
    emit_func_begin(e, index);
    uint32_t *order = SP_NEW_N(e->arena, uint32_t, e->func->blocks.len);
    uint32_t n = ir_fill_rpo(e->func, order);
    for (uint32_t i = 0; i < n; i++)
        e->blocks[order[i]] = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    for (uint32_t i = 0; i < n; i++)
        emit_double_edge(e, order[i]);
    e->coro = NULL;
    if (index == 0 && cg_coro_is(e))
        cg_coro_begin(e);
    for (uint32_t i = 0; i < n; i++) {
        if (!emit_block(e, order[i]))
            return false;
    }
    emit_func_end(e, n, order);
    return true;
}

static bool
emit_uses(const struct ir_module *core, ir_type type)
{
    for (uint32_t f = 0; f < core->funcs.len; f++) {
        const struct ir_func *func = core->funcs.data[f];
        for (ir_ref ref = 1; ref < func->insns.len; ref++)
            if (ir_insn(func, ref)->type == type)
                return true;
    }
    return false;
}

bool
cg_emit(struct cg_emit *e)
{
    uint32_t n = e->core->funcs.len;
    e->has_f16 = emit_uses(e->core, IR_T_F16);
    emit_fill_types(e);
    cg_lineinfo_begin(e);
    e->funcs = SP_NEW_N(e->arena, struct cg_emit_func, n);
    if (!cg_statics_fill(e))
        return false;
    for (uint32_t i = 0; i < n; i++)
        emit_declare(e, i);
    if (!e->target->emit_entry(e, cg_emit_symbol(e, e->core->funcs.data[0]->name)))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!emit_func(e, i))
            return false;
    }
    cg_lineinfo_end(e);
    return true;
}
