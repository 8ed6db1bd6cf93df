/* The host target: an entry that runs the threads of a block, libm, faults, cancellation.
 *
 * Function 0 becomes the thread's body, inlined into
 *     void entry(const struct sp_block *block, const void *params)
 * which loads block and parameters once and loops over z, y and x; plain loops, so that LLVM can
 * vectorise over x. Every function takes the block's address and the twelve indices and sizes as
 * hidden parameters (LLVM drops those that are not used). A function that may raise or be cancelled
 * returns a status that its caller tests: the thread unwinds to the loop over threads.
 * Alternatives that lost: longjmp (the optimiser must then save everything), loads of the indices
 * where they are used (the kernel's stores might alias them, and loops no longer vectorise). */
#include <stdio.h>
#include <string.h>

#include "codegen/internal.h"

static const struct {
    const char *name; /* as in intrin.def, without axis */
    uint32_t hidden;
    size_t offset_B; /* in struct sp_block */
} host_fields[] = {
    {"ctx.thread.", HOST_THREAD, 0},
    {"ctx.block_idx.", HOST_BLOCK_IDX, offsetof(struct sp_block, block_idx)},
    {"ctx.grid_dim.", HOST_GRID_DIM, offsetof(struct sp_block, grid_dim)},
    {"ctx.block_dim.", HOST_BLOCK_DIM, offsetof(struct sp_block, block_dim)},
};

static uint32_t
host_fill_hidden(struct cg_emit *e, const struct ir_func *func, LLVMTypeRef *types)
{
    types[HOST_BLOCK] = e->types[IR_T_PTR];
    for (uint32_t i = 1; i < HOST_N_HIDDEN; i++)
        types[i] = e->types[IR_T_I32];
    types[HOST_MAILBOX] = types[HOST_FRAME] = e->types[IR_T_PTR];
    return func->index == 0 && cg_coro_is(e) ? CG_MAX_HIDDEN : HOST_N_HIDDEN;
}

LLVMValueRef
cg_host_load(struct cg_emit *e, LLVMTypeRef type, LLVMValueRef base, size_t offset_B)
{
    LLVMValueRef offset = cg_emit_i64(e, offset_B);
    LLVMValueRef address = LLVMBuildGEP2(e->builder, e->types[IR_T_I8], base, &offset, 1, "");
    return LLVMBuildLoad2(e->builder, type, address, "");
}

void
cg_host_store(struct cg_emit *e, LLVMValueRef value, LLVMValueRef base, size_t offset_B)
{
    LLVMValueRef offset = cg_emit_i64(e, offset_B);
    LLVMBuildStore(e->builder, value,
                   LLVMBuildGEP2(e->builder, e->types[IR_T_I8], base, &offset, 1, ""));
}

void
cg_host_load_args(struct cg_emit *e, LLVMValueRef block, LLVMValueRef area, uint32_t n_hidden,
                  LLVMValueRef *args)
{
    const struct ir_func *func = e->core->funcs.data[0];
    args[HOST_BLOCK] = block;
    for (size_t i = 1; i < sizeof host_fields / sizeof *host_fields; i++) {
        for (uint32_t axis = 0; axis < 3; axis++)
            args[host_fields[i].hidden + axis] =
                cg_host_load(e, e->types[IR_T_I32], block, host_fields[i].offset_B + axis * 4);
    }
    for (uint32_t i = 0; i < func->n_params; i++) {
        bool truth = func->params[i].type == IR_T_I1;
        LLVMTypeRef type = e->types[truth ? IR_T_I8 : func->params[i].type];
        LLVMValueRef value = cg_host_load(e, type, area, e->artifact->params[i].offset_B);
        if (truth)
            value = LLVMBuildICmp(e->builder, LLVMIntNE, value, LLVMConstNull(type), "");
        args[n_hidden + i] = value;
    }
}

struct host_loop {
    LLVMBasicBlockRef before, body;
    LLVMValueRef index;
};

static struct host_loop
host_loop_begin(struct cg_emit *e)
{
    struct host_loop loop = {.before = LLVMGetInsertBlock(e->builder)};
    loop.body = LLVMAppendBasicBlockInContext(e->context, e->entry, "threads");
    LLVMBuildBr(e->builder, loop.body);
    LLVMPositionBuilderAtEnd(e->builder, loop.body);
    loop.index = LLVMBuildPhi(e->builder, e->types[IR_T_I32], "");
    LLVMValueRef zero = cg_emit_i32(e, 0);
    LLVMAddIncoming(loop.index, &zero, &loop.before, 1);
    return loop;
}

/* Block dimensions are at least 1, so the test stands at the end. */
static void
host_loop_end(struct cg_emit *e, struct host_loop loop, LLVMValueRef count)
{
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->context, e->entry, "");
    LLVMValueRef next = LLVMBuildNUWAdd(e->builder, loop.index, cg_emit_i32(e, 1), "");
    LLVMAddIncoming(loop.index, &next, &latch, 1);
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntULT, next, count, "");
    LLVMBuildCondBr(e->builder, more, loop.body, after);
    LLVMPositionBuilderAtEnd(e->builder, after);
}

static bool
host_emit_entry(struct cg_emit *e, const char *symbol)
{
    if (cg_coro_is(e))
        return cg_coro_entry(e, symbol);
    LLVMTypeRef types[2] = {e->types[IR_T_PTR], e->types[IR_T_PTR]};
    LLVMTypeRef type = LLVMFunctionType(e->types[IR_T_VOID], types, 2, false);
    const struct ir_func *func = e->core->funcs.data[0];
    struct cg_emit_func *body = &e->funcs[0];
    e->entry = LLVMAddFunction(e->module, symbol, type);
    cg_emit_fn_attribute(e, e->entry, "nounwind", 0);
    cg_emit_fn_attribute(e, body->fn, "alwaysinline", 0);

    LLVMValueRef *args = SP_NEW_N(e->arena, LLVMValueRef, HOST_N_HIDDEN + func->n_params);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, e->entry, ""));
    cg_host_load_args(e, LLVMGetParam(e->entry, 0), LLVMGetParam(e->entry, 1), HOST_N_HIDDEN, args);
    struct host_loop loops[3];
    for (uint32_t axis = 3; axis-- > 0;) {
        loops[axis] = host_loop_begin(e);
        args[HOST_THREAD + axis] = loops[axis].index;
    }
    LLVMBuildCall2(e->builder, body->type, body->fn, args, HOST_N_HIDDEN + func->n_params, "");
    for (uint32_t axis = 0; axis < 3; axis++)
        host_loop_end(e, loops[axis], args[HOST_BLOCK_DIM + axis]);
    LLVMBuildRetVoid(e->builder);
    return true;
}

/* Threads are numbered along x first, and 32 in a row are a warp. */
static LLVMValueRef
host_lane(struct cg_emit *e)
{
    const LLVMValueRef *thread = e->hidden + HOST_THREAD, *dim = e->hidden + HOST_BLOCK_DIM;
    LLVMValueRef number = LLVMBuildMul(e->builder, thread[2], dim[1], "");
    number = LLVMBuildAdd(e->builder, number, thread[1], "");
    number = LLVMBuildMul(e->builder, number, dim[0], "");
    number = LLVMBuildAdd(e->builder, number, thread[0], "");
    return LLVMBuildAnd(e->builder, number, cg_emit_i32(e, 31), "");
}

static LLVMValueRef
host_emit_sreg(struct cg_emit *e, enum ir_intrin id)
{
    const char *name = ir_intrin_row(id)->host;
    if (id == IR_INTRIN_LANEID)
        return host_lane(e);
    if (id == IR_INTRIN_SMID)
        return cg_emit_i32(e, 0);
    for (size_t i = 0; i < sizeof host_fields / sizeof *host_fields; i++) {
        size_t len = strlen(host_fields[i].name);
        if (!strncmp(name, host_fields[i].name, len))
            return e->hidden[host_fields[i].hidden + (uint32_t)(name[len] - 'x')];
    }
    return LLVMGetPoison(e->types[IR_T_I32]);
}

/* libm, declared as pure: nobody reads errno here. */
static bool
host_emit_math(struct cg_emit *e, const struct ir_intrin_row *row, ir_type type,
               LLVMTypeRef fn_type, LLVMValueRef *out)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", row->host, type == IR_T_F32 ? "f" : "");
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn) {
        fn = LLVMAddFunction(e->module, name, fn_type);
        cg_emit_fn_attribute(e, fn, "nounwind", 0);
        cg_emit_fn_attribute(e, fn, "willreturn", 0);
        cg_emit_fn_attribute(e, fn, "memory", 0); /* none */
    }
    *out = fn;
    return true;
}

static LLVMValueRef
host_emit_to_int(struct cg_emit *e, LLVMValueRef value, ir_type to, bool is_signed)
{
    (void)e, (void)value, (void)to, (void)is_signed;
    return NULL;
}

/* One function per number of values: (fault, site, block and thread indices, values...). */
static LLVMValueRef
host_raiser(struct cg_emit *e, uint32_t n)
{
    enum { FIRST_VALUE = 8 };
    if (e->raisers[n])
        return e->raisers[n];
    LLVMTypeRef types[FIRST_VALUE + SP_FAULT_VALUES] = {e->types[IR_T_PTR]};
    LLVMValueRef values[SP_FAULT_VALUES], place[6];
    for (uint32_t i = 1; i < FIRST_VALUE + n; i++)
        types[i] = e->types[i < FIRST_VALUE ? IR_T_I32 : IR_T_I64];
    static const char *const attributes[] = {"nounwind", "cold", "noinline", NULL};
    char name[32];
    snprintf(name, sizeof name, "gpujit_fault_%u", n);
    struct cg_helper helper = cg_helper_begin(e, name, types, FIRST_VALUE + n, attributes);
    LLVMValueRef fn = helper.fn;
    for (uint32_t i = 0; i < 6; i++)
        place[i] = LLVMGetParam(fn, 2 + i);
    for (uint32_t i = 0; i < n; i++)
        values[i] = LLVMGetParam(fn, FIRST_VALUE + i);
    cg_emit_fault_write(e, fn, LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), place, n, values);
    LLVMBuildRetVoid(e->builder);
    cg_helper_end(e, &helper);
    return e->raisers[n] = fn;
}

static LLVMValueRef
host_emit_fault(struct cg_emit *e)
{
    return cg_host_load(e, e->types[IR_T_PTR], e->hidden[HOST_BLOCK],
                        offsetof(struct sp_block, fault));
}

static bool
host_emit_raise(struct cg_emit *e, uint32_t site, uint32_t n, const LLVMValueRef *values)
{
    LLVMValueRef fn = host_raiser(e, n);
    LLVMValueRef args[8 + SP_FAULT_VALUES];
    args[0] = host_emit_fault(e);
    args[1] = cg_emit_i32(e, site);
    for (uint32_t i = 0; i < 3; i++) {
        args[2 + i] = e->hidden[HOST_BLOCK_IDX + i];
        args[5 + i] = e->hidden[HOST_THREAD + i];
    }
    memcpy(args + 8, values, n * sizeof *values);
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(fn), fn, args, 8 + n, "");
    cg_emit_leave(e);
    return true;
}

static void
host_emit_yield(struct cg_emit *e, ir_ref ref)
{
    cg_coro_wait(e, ref, SP_WAIT_SPIN, 0);
}

static void
host_emit_poll(struct cg_emit *e)
{
    LLVMValueRef cancel = cg_host_load(e, e->types[IR_T_PTR], e->hidden[HOST_BLOCK],
                                       offsetof(struct sp_block, cancel));
    LLVMValueRef flag = LLVMBuildLoad2(e->builder, e->types[IR_T_I32], cancel, "");
    LLVMSetVolatile(flag, true);
    LLVMValueRef stop = LLVMBuildICmp(e->builder, LLVMIntNE, flag, cg_emit_i32(e, 0), "");
    LLVMBasicBlockRef leave = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMBuildCondBr(e->builder, stop, leave, next);
    LLVMPositionBuilderAtEnd(e->builder, leave);
    cg_emit_leave(e);
    LLVMPositionBuilderAtEnd(e->builder, next);
}

/* Threads of a block share a processor, so their fence binds the compiler alone. */
static bool
host_emit_fence(struct cg_emit *e, enum ir_intrin id)
{
    LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent,
                   id == IR_INTRIN_THREADFENCE_BLOCK, "");
    return true;
}

/* A predicate's barrier hands the predicate over and takes the result, which has 64 bits. */
static void
host_emit_barrier(struct cg_emit *e, ir_ref ref, LLVMValueRef *args, LLVMValueRef *out)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    enum sp_wait_kind kind = insn->imm == IR_INTRIN_SYNCTHREADS         ? SP_WAIT_BARRIER
                             : insn->imm == IR_INTRIN_SYNCTHREADS_COUNT ? SP_WAIT_COUNT
                             : insn->imm == IR_INTRIN_SYNCTHREADS_AND   ? SP_WAIT_AND
                                                                        : SP_WAIT_OR;
    LLVMValueRef mailbox = e->hidden[HOST_MAILBOX];
    if (insn->n_args)
        cg_host_store(e, LLVMBuildZExt(e->builder, args[0], e->types[IR_T_I64], ""), mailbox,
                      offsetof(struct sp_thread, operand));
    cg_coro_wait(e, ref, kind, 0);
    if (!insn->n_args)
        return;
    LLVMValueRef result =
        cg_host_load(e, e->types[IR_T_I64], mailbox, offsetof(struct sp_thread, result));
    *out = LLVMBuildTrunc(e->builder, result, e->types[insn->type], "");
}

static bool
host_emit_effect(struct cg_emit *e, ir_ref ref, LLVMValueRef *args, LLVMValueRef *out)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    const struct ir_intrin_row *row = ir_intrin_row((enum ir_intrin)insn->imm);
    switch ((enum ir_rule)row->rule) {
    case IR_RULE_BARRIER: host_emit_barrier(e, ref, args, out); return true;
    case IR_RULE_WARP:
    case IR_RULE_CLOCK: return cg_warp_host(e, ref, args, out);
    case IR_RULE_GRID_SYNC: cg_coro_wait(e, ref, SP_WAIT_GRID, 0); return true;
    case IR_RULE_SYNCWARP: cg_coro_meet(e, ref, SP_MEET_SYNC, args[0], NULL, NULL); return true;
    case IR_RULE_FENCE: return host_emit_fence(e, (enum ir_intrin)insn->imm);
    default: break;
    }
    struct sp_src where = ir_insn_src(e->func, ref);
    return sp_diag_set(e->diag, SP_E_TARGET_LACKS, &where, row->path, "a GPU", "host");
}

static LLVMValueRef
host_emit_deep(struct cg_emit *e)
{
    LLVMValueRef zero = cg_emit_i32(e, 0);
    LLVMValueRef frame =
        cg_emit_intrinsic(e, "llvm.frameaddress", 1, &e->types[IR_T_PTR], 1, &zero);
    LLVMValueRef end = cg_host_load(e, e->types[IR_T_PTR], e->hidden[HOST_BLOCK],
                                    offsetof(struct sp_block, stack_end));
    return LLVMBuildICmp(e->builder, LLVMIntULT, frame, end, "");
}

/* A field of the block that no code changes. */
static LLVMValueRef
host_load_fixed(struct cg_emit *e, LLVMTypeRef type, size_t offset_B)
{
    LLVMValueRef value = cg_host_load(e, type, e->hidden[HOST_BLOCK], offset_B);
    LLVMMetadataRef none = LLVMMDNodeInContext2(e->context, NULL, 0);
    LLVMSetMetadata(value, LLVMGetMDKindIDInContext(e->context, "invariant.load", 14),
                    LLVMMetadataAsValue(e->context, none));
    return value;
}

static LLVMValueRef
host_emit_shared(struct cg_emit *e, uint32_t index)
{
    uint32_t at_B = index == UINT32_MAX ? cg_statics_end(e) : e->statics[index].offset_B;
    LLVMValueRef base = host_load_fixed(e, e->types[IR_T_PTR], offsetof(struct sp_block, shared));
    LLVMValueRef offset = cg_emit_i64(e, at_B);
    return LLVMBuildGEP2(e->builder, e->types[IR_T_I8], base, &offset, 1, "");
}

static LLVMValueRef
host_emit_dynsize(struct cg_emit *e)
{
    LLVMValueRef size =
        host_load_fixed(e, e->types[IR_T_I32], offsetof(struct sp_block, dynamic_B));
    return LLVMBuildZExt(e->builder, size, e->types[IR_T_I64], "");
}

const struct cg_target cg_host = {
    .name = "host",
    .spaces = {0, 0, 0, 0, 0},
    .returns_raised = true,
    .fill_hidden = host_fill_hidden,
    .emit_entry = host_emit_entry,
    .emit_sreg = host_emit_sreg,
    .emit_math = host_emit_math,
    .emit_inline = cg_inline_host,
    .emit_to_int = host_emit_to_int,
    .emit_fault = host_emit_fault,
    .emit_raise = host_emit_raise,
    .emit_shared = host_emit_shared,
    .emit_dynsize = host_emit_dynsize,
    .emit_poll = host_emit_poll,
    .emit_yield = host_emit_yield,
    .emit_effect = host_emit_effect,
    .emit_deep = host_emit_deep,
};
