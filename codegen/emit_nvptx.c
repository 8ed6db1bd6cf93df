/* The nvptx target: kernels, special registers, libdevice, faults.
 *
 * Function 0 is itself the entry, a ptx_kernel whose parameters are its machine values (i1 as
 * a byte) and, if it may raise or print, the fault's address. Device functions that may take that
 * address as their hidden parameter, so a program without RAISE and PRINT carries nothing. Indices
 * come from special registers with ranges by the PTX ISA's limits, narrowed by launch bounds, which
 * lets LLVM see that they are not negative. RAISE claims the fault by compare-and-swap at the
 * device's scope, writes it, releases it to the system (the record lies in the host's memory) and
 * exits; the thread's neighbours go on. A trap would be shorter, but it destroys the context. */
#include <stdio.h>
#include <string.h>

#include "codegen/internal.h"

static uint32_t
nvptx_fill_hidden(struct cg_emit *e, const struct ir_func *func, LLVMTypeRef *types)
{
    if (!cg_needs_fault(func) || func->index == 0)
        return 0;
    types[0] = e->types[IR_T_PTR_GLOBAL];
    return 1;
}

/* Launch bounds and register limits, as the attributes that become .maxntid, .minnctapersm and
 * .maxnreg. */
static void
nvptx_set_bounds(struct cg_emit *e, LLVMValueRef fn)
{
    const struct {
        const char *name;
        int32_t value;
    } bounds[] = {
        {"nvvm.maxntid", e->options->max_threads},
        {"nvvm.minctasm", e->options->min_blocks},
        {"nvvm.maxnreg", e->options->max_registers},
    };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (bounds[i].value > 0) {
            char text[16];
            snprintf(text, sizeof text, "%d", bounds[i].value);
            cg_emit_fn_text(e, fn, bounds[i].name, text);
        }
    }
}

#define NVPTX_PARAMS_B 4352u      /* before PTX 8.1 */
#define NVPTX_PARAMS_MAX_B 32764u /* since */

static bool
nvptx_check_params(struct cg_emit *e)
{
    uint32_t size_B = e->artifact->params_size_B;
    if (size_B > NVPTX_PARAMS_MAX_B) {
        char what[64];
        snprintf(what, sizeof what, "a kernel with %u bytes of parameters", size_B);
        sp_diag_set(e->diag, SP_E_TARGET_LACKS, NULL, what, "at most 32764 bytes",
                    e->artifact->target);
        return sp_diag_hint(
            e->diag,
            "put numbers into an array instead of tuples, and small arrays into a large one");
    }
    if (size_B > NVPTX_PARAMS_B && e->ptx < 81)
        e->ptx = 81;
    return true;
}

/* Function 0 is declared anew, with the entry's name and its truth values as bytes. */
static bool
nvptx_emit_entry(struct cg_emit *e, const char *symbol)
{
    const struct ir_func *func = e->core->funcs.data[0];
    struct cg_emit_func *body = &e->funcs[0];
    LLVMTypeRef *types = SP_NEW_N(e->arena, LLVMTypeRef, func->n_params + 2);
    uint32_t n = func->n_params;
    for (uint32_t i = 0; i < n; i++)
        types[i] = e->types[func->params[i].type == IR_T_I1 ? IR_T_I8 : func->params[i].type];
    if (cg_needs_fault(func))
        types[n++] = e->types[IR_T_PTR_GLOBAL];
    if (e->artifact->cooperative)
        types[n++] = e->types[IR_T_PTR_GLOBAL];
    LLVMTypeRef type = LLVMFunctionType(e->types[IR_T_VOID], types, n, false);

    LLVMDeleteFunction(body->fn);
    body->fn = e->entry = LLVMAddFunction(e->module, symbol, type);
    body->type = type;
    LLVMSetFunctionCallConv(e->entry, 71); /* ptx_kernel */
    cg_emit_fn_attribute(e, e->entry, "nounwind", 0);
    if (func->convergent)
        cg_emit_fn_attribute(e, e->entry, "convergent", 0);
    if (e->options->ftz)
        cg_emit_fn_text(e, e->entry, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
    nvptx_set_bounds(e, e->entry);
    return nvptx_check_params(e);
}

static LLVMValueRef
nvptx_sreg(struct cg_emit *e, const char *name, uint32_t low, uint32_t end)
{
    LLVMValueRef call = cg_emit_intrinsic(e, name, 0, NULL, 0, NULL);
    unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
    uint64_t lower = low, upper = end;
    LLVMAttributeRef range = LLVMCreateConstantRangeAttribute(e->context, kind, 32, &lower, &upper);
    LLVMAddCallSiteAttribute(call, LLVMAttributeReturnIndex, range);
    return call;
}

static LLVMValueRef
nvptx_emit_sreg(struct cg_emit *e, enum ir_intrin id)
{
    /* PTX ISA, special registers: the first value and one past the last, per axis. */
    static const struct {
        enum ir_intrin first; /* x; y and z follow */
        uint32_t low, end[3];
    } limits[] = {
        {IR_INTRIN_TID_X, 0, {1024, 1024, 64}},
        {IR_INTRIN_CTAID_X, 0, {0x7fffffff, 65535, 65535}},
        {IR_INTRIN_NTID_X, 1, {1025, 1025, 65}},
        {IR_INTRIN_NCTAID_X, 1, {0x80000000, 65536, 65536}},
    };
    if (id == IR_INTRIN_LANEID)
        return nvptx_sreg(e, ir_intrin_row(id)->nv, 0, 32);
    if (id == IR_INTRIN_SMID)
        return nvptx_sreg(e, ir_intrin_row(id)->nv, 0, 0x7fffffff);
    uint32_t at = (id - IR_INTRIN_TID_X) / 3, axis = (id - IR_INTRIN_TID_X) % 3;
    uint32_t end = limits[at].end[axis], threads = (uint32_t)e->options->max_threads;
    bool in_block = limits[at].first == IR_INTRIN_TID_X || limits[at].first == IR_INTRIN_NTID_X;
    if (in_block && threads && threads + limits[at].low < end)
        end = threads + limits[at].low;
    return nvptx_sreg(e, ir_intrin_row(id)->nv, limits[at].low, end);
}
_Static_assert(IR_INTRIN_CTAID_X == IR_INTRIN_TID_X + 3 &&
                   IR_INTRIN_NTID_X == IR_INTRIN_TID_X + 6 &&
                   IR_INTRIN_NCTAID_X == IR_INTRIN_TID_X + 9,
               "the indices stand in this order in intrin.def");

static bool
nvptx_emit_math(struct cg_emit *e, const struct ir_intrin_row *row, ir_type type,
                LLVMTypeRef fn_type, LLVMValueRef *out)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", row->nv, type == IR_T_F32 ? "f" : "");
    if (!e->libdevice_user)
        e->libdevice_user = row->path;
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    *out = fn ? fn : LLVMAddFunction(e->module, name, fn_type);
    return true;
}

/* cvt saturates by itself. It gives 0 for NaN where source and result have 32 bits; elsewhere it
 * gives the smallest integer, so NaN is tested. (LLVM's intrinsic tests both borders too.) */
static LLVMValueRef
nvptx_emit_to_int(struct cg_emit *e, LLVMValueRef value, ir_type to, bool is_signed)
{
    if (to != IR_T_I32 && to != IR_T_I64)
        return NULL;
    bool is_f32 = LLVMTypeOf(value) == e->types[IR_T_F32];
    char name[32];
    snprintf(name, sizeof name, "llvm.nvvm.%c2%s%s.rz", is_f32 ? 'f' : 'd', is_signed ? "" : "u",
             to == IR_T_I32 ? "i" : "ll");
    LLVMValueRef result = cg_emit_intrinsic(e, name, 0, NULL, 1, &value);
    if (is_f32 && to == IR_T_I32)
        return result;
    LLVMValueRef nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, value, value, "");
    return LLVMBuildSelect(e->builder, nan, LLVMConstNull(e->types[to]), result, "");
}

/* An instruction of PTX without operands. */
static void
nvptx_emit_assembly(struct cg_emit *e, const char *text, const char *clobbers)
{
    LLVMTypeRef none = LLVMFunctionType(e->types[IR_T_VOID], NULL, 0, false);
    LLVMValueRef assembly = LLVMGetInlineAsm(none, text, strlen(text), clobbers, strlen(clobbers),
                                             true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(e->builder, none, assembly, NULL, 0, "");
}

/* One function per number of values: (fault, site, values...), never returns. */
static LLVMValueRef
nvptx_raiser(struct cg_emit *e, uint32_t n)
{
    if (e->raisers[n])
        return e->raisers[n];
    LLVMTypeRef types[2 + SP_FAULT_VALUES] = {e->types[IR_T_PTR_GLOBAL], e->types[IR_T_I32]};
    LLVMValueRef values[SP_FAULT_VALUES], place[6];
    for (uint32_t i = 0; i < n; i++)
        types[2 + i] = e->types[IR_T_I64];
    static const char *const attributes[] = {"nounwind", "noreturn", "cold", "noinline", NULL};
    char name[32];
    snprintf(name, sizeof name, "gpujit_fault_%u", n);
    struct cg_helper helper = cg_helper_begin(e, name, types, 2 + n, attributes);
    LLVMValueRef fn = helper.fn;
    for (uint32_t i = 0; i < 3; i++) {
        place[i] = nvptx_emit_sreg(e, IR_INTRIN_CTAID_X + i);
        place[3 + i] = nvptx_emit_sreg(e, IR_INTRIN_TID_X + i);
    }
    for (uint32_t i = 0; i < n; i++)
        values[i] = LLVMGetParam(fn, 2 + i);
    cg_emit_fault_write(e, fn, LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), place, n, values);
    nvptx_emit_assembly(e, "exit;", "");
    LLVMBuildUnreachable(e->builder);
    cg_helper_end(e, &helper);
    return e->raisers[n] = fn;
}

static LLVMValueRef
nvptx_emit_fault(struct cg_emit *e)
{
    return e->hidden[0];
}

static bool
nvptx_emit_raise(struct cg_emit *e, uint32_t site, uint32_t n, const LLVMValueRef *values)
{
    LLVMValueRef fn = nvptx_raiser(e, n);
    LLVMValueRef args[2 + SP_FAULT_VALUES] = {e->hidden[0], cg_emit_i32(e, site)};
    memcpy(args + 2, values, n * sizeof *values);
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(fn), fn, args, 2 + n, "");
    LLVMBuildUnreachable(e->builder);
    return true;
}

/* A kernel on a GPU cannot be cancelled. */
static void
nvptx_emit_poll(struct cg_emit *e)
{
    (void)e;
}

/* The hardware lets other threads run; LLVM must leave and finish the stores before the wait. */
static void
nvptx_emit_yield(struct cg_emit *e, ir_ref ref)
{
    (void)ref;
    nvptx_emit_assembly(e, "", "~{memory}");
}

static LLVMValueRef
nvptx_emit_deep(struct cg_emit *e)
{
    return LLVMConstNull(e->types[IR_T_I1]);
}

/* The row's LLVM intrinsic of the operands; barriers are number 0 of their block's sixteen. */
static bool
nvptx_emit_effect(struct cg_emit *e, ir_ref ref, LLVMValueRef *args, LLVMValueRef *out)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    const struct ir_intrin_row *row = ir_intrin_row((enum ir_intrin)insn->imm);
    LLVMValueRef all[2] = {cg_emit_i32(e, 0)};
    switch ((enum ir_rule)row->rule) {
    case IR_RULE_BARRIER:
        if (insn->n_args)
            all[1] = args[0];
        *out = cg_emit_intrinsic(e, row->nv, 0, NULL, 1 + insn->n_args, all);
        return true;
    case IR_RULE_GRID_SYNC: cg_grid_sync(e); return true;
    case IR_RULE_SYNCWARP: *out = cg_emit_intrinsic(e, row->nv, 0, NULL, 1, args); return true;
    case IR_RULE_WARP:
    case IR_RULE_CLOCK: return cg_warp_nvptx(e, ref, args, out);
    case IR_RULE_FENCE: *out = cg_emit_intrinsic(e, row->nv, 0, NULL, 0, NULL); return true;
    default: return cg_emit_bad(e, ref, "an effect that GPUs do not have");
    }
}

/* Statics in the area come first, then what the launch asked for itself. */
static LLVMValueRef
nvptx_emit_shared(struct cg_emit *e, uint32_t index)
{
    if (index != UINT32_MAX && e->statics[index].global)
        return e->statics[index].global;
    uint32_t at_B = index == UINT32_MAX ? cg_statics_end(e) : e->statics[index].offset_B;
    LLVMValueRef offset = cg_emit_i64(e, at_B);
    return LLVMBuildGEP2(e->builder, e->types[IR_T_I8], e->shared, &offset, 1, "");
}

static LLVMValueRef
nvptx_emit_dynsize(struct cg_emit *e)
{
    LLVMValueRef size =
        cg_emit_intrinsic(e, "llvm.nvvm.read.ptx.sreg.dynamic_smem_size", 0, NULL, 0, NULL);
    size = LLVMBuildSub(e->builder, size, cg_emit_i32(e, cg_statics_end(e)), "");
    return LLVMBuildZExt(e->builder, size, e->types[IR_T_I64], "");
}

const struct cg_target cg_nvptx = {
    .name = "nvptx",
    .spaces = {0, 1, 3, 5, 4},
    .returns_raised = false,
    .fill_hidden = nvptx_fill_hidden,
    .emit_entry = nvptx_emit_entry,
    .emit_sreg = nvptx_emit_sreg,
    .emit_math = nvptx_emit_math,
    .emit_inline = cg_inline_nvptx,
    .emit_to_int = nvptx_emit_to_int,
    .emit_fault = nvptx_emit_fault,
    .emit_raise = nvptx_emit_raise,
    .emit_shared = nvptx_emit_shared,
    .emit_dynsize = nvptx_emit_dynsize,
    .emit_poll = nvptx_emit_poll,
    .emit_yield = nvptx_emit_yield,
    .emit_effect = nvptx_emit_effect,
    .emit_deep = nvptx_emit_deep,
};
