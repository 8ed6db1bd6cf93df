/* Kernels of the host whose threads wait for each other: a coroutine per thread.
 *
 * In: a module whose function 0 may wait and calls no function that does (inlined before). Function
 * 0 becomes an LLVM coroutine (switched resume) that runs in a frame of the scheduler's: it has two
 * more hidden parameters, the thread's mailbox and the frame. Waiting is: write the number of the
 * wait site into the mailbox and suspend; ending is: write 0 and return. LLVM's own passes split it
 * and put what lives over a suspension into the frame. Out: three functions,
 *     void entry(struct sp_waiting *out)                      size of a frame, the two others
 *     void start(block, params, mailbox, frame)               from the beginning
 *     void resume(handle)                                     from where it waited
 * LLVM knows the frame's size inside the coroutine alone, so the coroutine tells it when it is
 * called without a frame. Alternatives that lost: a stack per thread (a switch costs ten times as
 * much, a thousand stacks spoil the cache), loops over threads between barriers (barriers in
 * branches and loops that wait for memory have no such form). */
#include <string.h>

#include "codegen/internal.h"

bool
cg_coro_is(const struct cg_emit *e)
{
    return !e->arch.sm && e->core->funcs.data[0]->may_wait;
}

static LLVMValueRef
coro_none(struct cg_emit *e)
{
    return LLVMConstNull(LLVMTokenTypeInContext(e->context));
}

static LLVMValueRef
coro_function(struct cg_emit *e, const char *name, uint32_t n_params)
{
    LLVMTypeRef types[4];
    for (uint32_t i = 0; i < n_params; i++)
        types[i] = e->types[IR_T_PTR];
    LLVMTypeRef type = LLVMFunctionType(e->types[IR_T_VOID], types, n_params, false);
    LLVMValueRef fn = LLVMAddFunction(e->module, name, type);
    cg_emit_fn_attribute(e, fn, "nounwind", 0);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, fn, ""));
    return fn;
}

static LLVMValueRef
coro_emit_start(struct cg_emit *e, const char *symbol)
{
    struct cg_emit_func *body = &e->funcs[0];
    uint32_t n = body->n_hidden + e->core->funcs.data[0]->n_params;
    LLVMValueRef fn = coro_function(e, sp_arena_printf(e->arena, "%s.start", symbol), 4);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMValueRef *args = SP_NEW_N(e->arena, LLVMValueRef, n), mailbox = LLVMGetParam(fn, 2);
    cg_host_load_args(e, LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), body->n_hidden, args);
    for (uint32_t axis = 0; axis < 3; axis++)
        args[HOST_THREAD + axis] = cg_host_load(e, e->types[IR_T_I32], mailbox,
                                                offsetof(struct sp_thread, index) + axis * 4);
    args[HOST_MAILBOX] = mailbox;
    args[HOST_FRAME] = LLVMGetParam(fn, 3);
    LLVMBuildCall2(e->builder, body->type, body->fn, args, n, "");
    LLVMBuildRetVoid(e->builder);
    return fn;
}

static LLVMValueRef
coro_emit_resume(struct cg_emit *e, const char *symbol)
{
    LLVMValueRef fn = coro_function(e, sp_arena_printf(e->arena, "%s.resume", symbol), 1);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMValueRef frame = LLVMGetParam(fn, 0);
    cg_emit_intrinsic(e, "llvm.coro.resume", 0, NULL, 1, &frame);
    LLVMBuildRetVoid(e->builder);
    return fn;
}

bool
cg_coro_entry(struct cg_emit *e, const char *symbol)
{
    struct cg_emit_func *body = &e->funcs[0];
    uint32_t n = LLVMCountParams(body->fn);
    cg_emit_fn_attribute(e, body->fn, "presplitcoroutine", 0);
    LLVMValueRef start = coro_emit_start(e, symbol), resume = coro_emit_resume(e, symbol);
    e->entry = coro_function(e, symbol, 1);
    LLVMValueRef out = LLVMGetParam(e->entry, 0), *args = SP_NEW_N(e->arena, LLVMValueRef, n);
    for (uint32_t i = 0; i < n; i++)
        args[i] = LLVMConstNull(LLVMTypeOf(LLVMGetParam(body->fn, i)));
    args[HOST_MAILBOX] = out; /* the size comes first in struct sp_waiting */
    _Static_assert(offsetof(struct sp_waiting, frame_B) == 0, "the coroutine writes it");
    LLVMBuildCall2(e->builder, body->type, body->fn, args, n, "");
    cg_host_store(e, start, out, offsetof(struct sp_waiting, start));
    cg_host_store(e, resume, out, offsetof(struct sp_waiting, resume));
    LLVMBuildRetVoid(e->builder);
    return true;
}

/* Leaves the builder where the kernel's own code begins. */
void
cg_coro_begin(struct cg_emit *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef fn = e->this->fn, null = LLVMConstNull(e->types[IR_T_PTR]);
    LLVMBasicBlockRef ask = LLVMAppendBasicBlockInContext(e->context, fn, "ask");
    LLVMBasicBlockRef begin = LLVMAppendBasicBlockInContext(e->context, fn, "begin");
    e->coro_leave = LLVMAppendBasicBlockInContext(e->context, fn, "leave");
    LLVMPositionBuilderAtEnd(b, e->blocks[0]);
    LLVMValueRef align[4] = {cg_emit_i32(e, SP_FRAME_ALIGN), null, null, null};
    LLVMValueRef id = cg_emit_intrinsic(e, "llvm.coro.id", 0, NULL, 4, align);
    LLVMValueRef frame = e->hidden[HOST_FRAME];
    LLVMBuildCondBr(b, LLVMBuildIsNull(b, frame, ""), ask, begin);

    LLVMPositionBuilderAtEnd(b, ask);
    LLVMValueRef size = cg_emit_intrinsic(e, "llvm.coro.size", 1, &e->types[IR_T_I64], 0, NULL);
    LLVMBuildStore(b, size, e->hidden[HOST_MAILBOX]);
    LLVMBuildRetVoid(b);

    LLVMPositionBuilderAtEnd(b, begin);
    LLVMValueRef with[2] = {id, frame};
    e->coro = cg_emit_intrinsic(e, "llvm.coro.begin", 0, NULL, 2, with);
    /* LLVM takes what it begins for memory of its own, and deletes stores that nobody outside
     * sees. */
    cg_host_store(e, e->coro, e->hidden[HOST_MAILBOX], offsetof(struct sp_thread, handle));
    LLVMPositionBuilderAtEnd(b, e->coro_leave);
    LLVMValueRef end[3] = {e->coro, LLVMConstNull(e->types[IR_T_I1]), coro_none(e)};
    cg_emit_intrinsic(e, "llvm.coro.end", 0, NULL, 3, end);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, begin);
}

void
cg_coro_end(struct cg_emit *e)
{
    cg_host_store(e, cg_emit_i32(e, 0), e->hidden[HOST_MAILBOX], offsetof(struct sp_thread, wait));
    LLVMBuildBr(e->builder, e->coro_leave);
}

void
cg_coro_wait(struct cg_emit *e, ir_ref ref, enum sp_wait_kind kind, uint32_t operation)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    struct sp_wait_site site = {
        .kind = (uint8_t)kind,
        .operation = (uint8_t)operation,
        .where = ir_insn_src(e->func, ref),
        .name = (char *)(insn->op == IR_EFFECT ? ir_intrin_row(insn->imm)->path : "loop"),
    };
    sp_vec_push(e->arena, &e->waits, site);
    cg_host_store(e, cg_emit_i32(e, e->waits.len), e->hidden[HOST_MAILBOX],
                  offsetof(struct sp_thread, wait));
    LLVMValueRef args[2] = {coro_none(e), LLVMConstNull(e->types[IR_T_I1])};
    LLVMValueRef how = cg_emit_intrinsic(e, "llvm.coro.suspend", 0, NULL, 2, args);
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMValueRef way = LLVMBuildSwitch(e->builder, how, e->coro_leave, 2);
    LLVMAddCase(way, LLVMConstNull(e->types[IR_T_I8]), next);
    LLVMAddCase(way, LLVMConstInt(e->types[IR_T_I8], 1, false),
                e->coro_leave); /* never destroyed */
    LLVMPositionBuilderAtEnd(e->builder, next);
    e->ends[insn->block] = next;
}

LLVMValueRef
cg_coro_meet(struct cg_emit *e, ir_ref ref, enum sp_meet meet, LLVMValueRef mask,
             LLVMValueRef operand, LLVMValueRef argument)
{
    LLVMValueRef mailbox = e->hidden[HOST_MAILBOX];
    cg_host_store(e, mask, mailbox, offsetof(struct sp_thread, mask));
    if (operand)
        cg_host_store(e, operand, mailbox, offsetof(struct sp_thread, operand));
    if (argument)
        cg_host_store(e, argument, mailbox, offsetof(struct sp_thread, argument));
    cg_coro_wait(e, ref, SP_WAIT_MEET, meet);
    if (meet == SP_MEET_SYNC)
        return NULL;
    return cg_host_load(e, e->types[IR_T_I64], mailbox, offsetof(struct sp_thread, result));
}
