/* CORE operations to LLVM instructions: one flat switch.
 *
 * In: an instruction whose operands have been emitted. Out: its value in `e->values`, or LLVM
 * instructions at the builder. The flags nsw and fast-math appear only where the operation's
 * meaning in ops.def allows them; no instruction ever carries `contract`, so LLVM fuses nothing.
 * Addresses are computed without `inbounds`: a PTRADD may point anywhere until it is used. i1 is
 * a byte in memory. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "codegen/internal.h"

/* ---- Helpers ---- */

LLVMValueRef
cg_emit_i32(struct cg_emit *e, uint64_t value)
{
    return LLVMConstInt(e->types[IR_T_I32], value, false);
}

LLVMValueRef
cg_emit_i64(struct cg_emit *e, uint64_t value)
{
    return LLVMConstInt(e->types[IR_T_I64], value, false);
}

LLVMValueRef
cg_emit_intrinsic(struct cg_emit *e, const char *name, uint32_t n_types, LLVMTypeRef *types,
                  uint32_t n_args, LLVMValueRef *args)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    assert(id && "the name of an LLVM intrinsic is wrong");
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, types, n_types);
    return LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(fn), fn, args, n_args, "");
}

void
cg_emit_fn_attribute(struct cg_emit *e, LLVMValueRef fn, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    assert(kind && "the name of an LLVM attribute is wrong");
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->context, kind, value));
}

void
cg_emit_fn_text(struct cg_emit *e, LLVMValueRef fn, const char *name, const char *value)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name),
                                                      value, (unsigned)strlen(value)));
}

/* A function without results has one return, in a block that emit.c puts last: LLVM would merge
 * them too, but in the middle, and NVPTX keeps the order. */
static void
ops_ret_void(struct cg_emit *e)
{
    if (!e->last)
        e->last = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMBuildBr(e->builder, e->last);
}

void
cg_emit_leave(struct cg_emit *e)
{
    struct cg_emit_func *this = e->this;
    if (!this->n_fields) {
        ops_ret_void(e);
    } else if (this->n_fields == 1) {
        LLVMBuildRet(e->builder, LLVMConstAllOnes(this->ret));
    } else {
        LLVMValueRef value = LLVMGetPoison(this->ret);
        value = LLVMBuildInsertValue(e->builder, value, LLVMConstAllOnes(e->types[IR_T_I1]), 0, "");
        LLVMBuildRet(e->builder, value);
    }
}

unsigned
cg_emit_device_scope(struct cg_emit *e)
{
    return LLVMGetSyncScopeID(e->context, e->arch.sm ? "device" : "", e->arch.sm ? 6 : 0);
}

void
cg_emit_fault_write(struct cg_emit *e, LLVMValueRef fn, LLVMValueRef fault, LLVMValueRef site,
                    LLVMValueRef *place, uint32_t n, LLVMValueRef *values)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef byte = e->types[IR_T_I8];
    LLVMBasicBlockRef claimed = LLVMAppendBasicBlockInContext(e->context, fn, "claimed");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->context, fn, "after");
    /* The host only reads, so the claim is among threads of the device: atomics at system scope on
     * host memory need hardware that not every machine has. */
    LLVMValueRef pair = LLVMBuildAtomicCmpXchgSyncScope(
        b, fault, cg_emit_i32(e, 0), cg_emit_i32(e, 1), LLVMAtomicOrderingMonotonic,
        LLVMAtomicOrderingMonotonic, cg_emit_device_scope(e));
    LLVMBuildCondBr(b, LLVMBuildExtractValue(b, pair, 1, ""), claimed, after);
    LLVMPositionBuilderAtEnd(b, claimed);

    struct field {
        size_t offset_B;
        LLVMValueRef value;
    } fields[7 + SP_FAULT_VALUES];
    uint32_t n_fields = 0;
    fields[n_fields++] = (struct field){offsetof(struct sp_fault, site), site};
    for (uint32_t i = 0; i < 6; i++) {
        size_t base_B =
            i < 3 ? offsetof(struct sp_fault, block) : offsetof(struct sp_fault, thread);
        fields[n_fields++] = (struct field){base_B + i % 3 * sizeof(uint32_t), place[i]};
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t offset_B = offsetof(struct sp_fault, values) + i * sizeof(int64_t);
        fields[n_fields++] = (struct field){offset_B, values[i]};
    }
    for (uint32_t i = 0; i < n_fields; i++) {
        LLVMValueRef offset = cg_emit_i64(e, fields[i].offset_B);
        LLVMBuildStore(b, fields[i].value, LLVMBuildGEP2(b, byte, fault, &offset, 1, ""));
    }
    LLVMValueRef done = LLVMBuildStore(b, cg_emit_i32(e, 2), fault);
    LLVMSetOrdering(done, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(done, 4);
    LLVMBuildBr(b, after);
    LLVMPositionBuilderAtEnd(b, after);
}

/* ---- Operations ---- */

bool
cg_emit_bad(struct cg_emit *e, ir_ref ref, const char *why)
{
    struct sp_src where = ir_insn_src(e->func, ref);
    return sp_diag_set(e->diag, SP_E_IR_INVALID, &where, e->func->name, why);
}

static LLVMValueRef
ops_const(struct cg_emit *e, const struct ir_insn *insn)
{
    const struct ir_const_info *info = ir_const_info(e->core, insn->imm);
    LLVMTypeRef type = e->types[insn->type];
    bool is_float =
        info->kind == IR_C_FLOAT ||
        (info->kind == IR_C_TYPED && ir_scalar_row(info->scalar)->class == IR_CLASS_FLOAT);
    if (ir_is_half(insn->type))
        return cg_half_const(e, insn->type, info->f);
    if (insn->type == IR_T_F32 || insn->type == IR_T_F64)
        return LLVMConstReal(type, is_float ? info->f : (double)info->i);
    if (insn->type >= IR_T_PTR)
        return LLVMConstIntToPtr(cg_emit_i64(e, info->u), type);
    unsigned width = ir_machine_bits(insn->type);
    return LLVMConstInt(type, width < 64 ? info->u & (((uint64_t)1 << width) - 1) : info->u, false);
}

/* A kernel's own truth values arrive as bytes. */
static LLVMValueRef
ops_param(struct cg_emit *e, const struct ir_insn *insn)
{
    LLVMValueRef value = LLVMGetParam(e->this->fn, e->this->n_hidden + insn->imm);
    if (insn->type == IR_T_I1 && LLVMTypeOf(value) != e->types[IR_T_I1])
        value = LLVMBuildICmp(e->builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    return value;
}

static LLVMValueRef
ops_bitcast(struct cg_emit *e, LLVMValueRef a, ir_type from, ir_type to)
{
    LLVMTypeRef type = e->types[to];
    bool from_ptr = from >= IR_T_PTR, to_ptr = to >= IR_T_PTR;
    if (e->types[from] == type)
        return a;
    if (from_ptr && to_ptr) {
        /* One of the two must be the generic space; NVPTX has no other casts. */
        bool generic = from == IR_T_PTR || to == IR_T_PTR;
        return generic ? LLVMBuildAddrSpaceCast(e->builder, a, type, "") : NULL;
    }
    if (from_ptr) {
        a = LLVMBuildPtrToInt(e->builder, a, e->types[IR_T_I64], "");
        return to == IR_T_F64 ? LLVMBuildBitCast(e->builder, a, type, "") : a;
    }
    if (to_ptr) {
        if (from == IR_T_F64)
            a = LLVMBuildBitCast(e->builder, a, e->types[IR_T_I64], "");
        return LLVMBuildIntToPtr(e->builder, a, type, "");
    }
    return LLVMBuildBitCast(e->builder, a, type, "");
}

/* What nobody has stored in the thread's own memory has no value for LLVM, which then does as it
 * likes wherever it is used; frozen it is some number. */
static LLVMValueRef
ops_load(struct cg_emit *e, const struct ir_insn *insn, ir_type from, LLVMValueRef address)
{
    bool truth = insn->type == IR_T_I1;
    LLVMTypeRef type = e->types[truth ? IR_T_I8 : insn->type];
    LLVMValueRef value = LLVMBuildLoad2(e->builder, type, address, "");
    LLVMSetAlignment(value, 1u << (insn->imm & ~IR_VOLATILE));
    LLVMSetVolatile(value, insn->imm & IR_VOLATILE);
    if (from == IR_T_PTR_LOCAL)
        value = LLVMBuildFreeze(e->builder, value, "");
    if (truth)
        value = LLVMBuildICmp(e->builder, LLVMIntNE, value, LLVMConstNull(type), "");
    return value;
}

static void
ops_store(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef address, LLVMValueRef value)
{
    if (LLVMTypeOf(value) == e->types[IR_T_I1])
        value = LLVMBuildZExt(e->builder, value, e->types[IR_T_I8], "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, value, address), 1u << insn->imm);
}

/* Intrinsics of LLVM on one float or integer type. */
static LLVMValueRef
ops_unary(struct cg_emit *e, const char *name, uint32_t n, LLVMValueRef *args)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return cg_emit_intrinsic(e, name, 1, &type, n, args);
}

static LLVMValueRef
ops_approx(const struct cg_emit *e, LLVMValueRef value, bool wanted)
{
    if (wanted && LLVMTypeOf(value) == e->types[IR_T_F32] && LLVMIsAInstruction(value))
        LLVMSetFastMathFlags(value, LLVMFastMathApproxFunc);
    return value;
}

static LLVMValueRef
ops_convert_sat(struct cg_emit *e, const char *name, ir_type to, LLVMValueRef *args)
{
    bool is_signed = !strcmp(name, "llvm.fptosi.sat");
    LLVMValueRef value = e->target->emit_to_int(e, args[0], to, is_signed);
    if (value)
        return value;
    LLVMTypeRef types[2] = {e->types[to], LLVMTypeOf(args[0])};
    return cg_emit_intrinsic(e, name, 2, types, 1, args);
}

bool
cg_emit_check_row(struct cg_emit *e, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    if (insn->imm == IR_INTRIN_NONE || insn->imm >= IR_N_INTRINS)
        return cg_emit_bad(e, ref, "an intrinsic with an unknown number");
    const struct ir_intrin_row *row = ir_intrin_row(insn->imm);
    if (e->arch.sm && row->sm > e->arch.sm) {
        struct sp_src where = ir_insn_src(e->func, ref);
        char needs[32], target[16];
        snprintf(needs, sizeof needs, "sm_%u", row->sm);
        snprintf(target, sizeof target, "sm_%u", e->arch.sm);
        return sp_diag_set(e->diag, SP_E_TARGET_LACKS, &where, row->path, needs, target);
    }
    if (row->ptx > e->ptx)
        e->ptx = row->ptx;
    return true;
}

static bool
ops_intrin(struct cg_emit *e, ir_ref ref, const struct ir_insn *insn, LLVMValueRef *args,
           LLVMValueRef *out)
{
    if (!cg_emit_check_row(e, ref))
        return false;
    const struct ir_intrin_row *row = ir_intrin_row(insn->imm);
    if (row->rule == IR_RULE_SREG) {
        LLVMValueRef value = e->target->emit_sreg(e, insn->imm);
        *out = insn->type == IR_T_I64 ? LLVMBuildZExt(e->builder, value, e->types[IR_T_I64], "")
                                      : value;
        return true;
    }
    const char *callee = e->arch.sm ? row->nv : row->host;
    if (!strcmp(callee, "inline")) {
        *out = e->target->emit_inline(e, insn, args);
        return *out || cg_emit_bad(e, ref, "an intrinsic that the target lacks");
    }
    if (!strncmp(callee, "llvm.", 5)) {
        bool overloaded = LLVMIntrinsicIsOverloaded(LLVMLookupIntrinsicID(callee, strlen(callee)));
        *out = cg_emit_intrinsic(e, callee, overloaded, &e->types[insn->type], insn->n_args, args);
        return true;
    }
    if (!*row->nv || !*row->host || (insn->type != IR_T_F32 && insn->type != IR_T_F64))
        return cg_emit_bad(e, ref, "an intrinsic that has no callee");
    LLVMTypeRef types[4];
    if (insn->n_args > 4)
        return cg_emit_bad(e, ref, "an intrinsic with too many operands");
    for (uint32_t i = 0; i < insn->n_args; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef fn_type = LLVMFunctionType(e->types[insn->type], types, insn->n_args, false);
    LLVMValueRef fn;
    bool is_first = !e->libdevice_user;
    if (!e->target->emit_math(e, row, insn->type, fn_type, &fn))
        return false;
    if (is_first && e->libdevice_user)
        e->libdevice_src = ir_insn_src(e->func, ref);
    if (LLVMGlobalGetValueType(fn) != fn_type)
        return cg_emit_bad(e, ref, "one function with two types");
    *out = LLVMBuildCall2(e->builder, fn_type, fn, args, insn->n_args, "");
    return true;
}

/* ---- Calls and returns ---- */

/* After a call that may have raised: leaves this function too, or goes on in a new block. */
static void
ops_leave_if(struct cg_emit *e, LLVMValueRef raised, uint32_t block)
{
    LLVMBasicBlockRef leave = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMBuildCondBr(e->builder, raised, leave, next);
    LLVMPositionBuilderAtEnd(e->builder, leave);
    cg_emit_leave(e);
    LLVMPositionBuilderAtEnd(e->builder, next);
    e->ends[block] = next;
}

static LLVMValueRef
ops_field(struct cg_emit *e, const struct cg_emit_func *callee, LLVMValueRef call, uint32_t i)
{
    return callee->n_fields == 1 ? call : LLVMBuildExtractValue(e->builder, call, i, "");
}

static bool
ops_call(struct cg_emit *e, ir_ref ref, const struct ir_insn *insn, LLVMValueRef *args)
{
    if (insn->imm == 0 || insn->imm >= e->core->funcs.len)
        return cg_emit_bad(e, ref, "a call of a function that cannot be called");
    const struct ir_func *func = e->core->funcs.data[insn->imm];
    const struct cg_emit_func *callee = &e->funcs[insn->imm];
    if (func->n_params != insn->n_args)
        return cg_emit_bad(e, ref, "a call with the wrong number of operands");
    LLVMValueRef *all = SP_NEW_N(e->arena, LLVMValueRef, callee->n_hidden + insn->n_args + 1);
    for (uint32_t i = 0; i < callee->n_hidden; i++)
        all[i] = e->hidden[i];
    memcpy(all + callee->n_hidden, args, insn->n_args * sizeof *args);
    LLVMValueRef call = LLVMBuildCall2(e->builder, callee->type, callee->fn, all,
                                       callee->n_hidden + insn->n_args, "");
    e->calls[ref] = call;
    if (callee->returns_raised)
        ops_leave_if(e, ops_field(e, callee, call, 0), insn->block);
    if (func->n_results)
        e->values[ref] = ops_field(e, callee, call, callee->returns_raised);
    return true;
}

static bool
ops_result(struct cg_emit *e, ir_ref ref, ir_ref call, uint32_t i)
{
    const struct ir_insn *insn = ir_insn(e->func, call);
    if (insn->op != IR_CALLF || i >= e->core->funcs.data[insn->imm]->n_results)
        return cg_emit_bad(e, ref, "a result that is not there");
    const struct cg_emit_func *callee = &e->funcs[insn->imm];
    e->values[ref] = ops_field(e, callee, e->calls[call], i + callee->returns_raised);
    return true;
}

static bool
ops_ret(struct cg_emit *e, ir_ref ref, uint32_t n, LLVMValueRef *args)
{
    struct cg_emit_func *this = e->this;
    if (n != e->func->n_results)
        return cg_emit_bad(e, ref, "a return with the wrong number of values");
    LLVMValueRef ok = LLVMConstNull(e->types[IR_T_I1]);
    if (!this->n_fields) {
        ops_ret_void(e);
    } else if (this->n_fields == 1) {
        LLVMBuildRet(e->builder, this->returns_raised ? ok : args[0]);
    } else {
        LLVMValueRef value = LLVMGetPoison(this->ret);
        unsigned field = 0;
        if (this->returns_raised)
            value = LLVMBuildInsertValue(e->builder, value, ok, field++, "");
        for (uint32_t i = 0; i < n; i++)
            value = LLVMBuildInsertValue(e->builder, value, args[i], field++, "");
        LLVMBuildRet(e->builder, value);
    }
    return true;
}

static void
ops_br(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef condition)
{
    const struct ir_block *block = &e->func->blocks.data[insn->block];
    LLVMBasicBlockRef no = e->doubles[insn->block];
    LLVMBuildCondBr(e->builder, condition, e->blocks[block->succ[0]],
                    no ? no : e->blocks[block->succ[1]]);
}

static bool
ops_raise(struct cg_emit *e, ir_ref ref, const struct ir_insn *insn, LLVMValueRef *args)
{
    if (insn->imm >= e->core->sites.len || insn->n_args > SP_FAULT_VALUES)
        return cg_emit_bad(e, ref, "a raise whose site or values are not there");
    return e->target->emit_raise(e, insn->imm, insn->n_args, args);
}

/* At the head of the function, where LLVM looks for what it can keep in registers. */
static LLVMValueRef
ops_slot(struct cg_emit *e, const struct ir_insn *insn)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b), entry = LLVMGetEntryBasicBlock(e->this->fn);
    LLVMValueRef first = LLVMGetFirstInstruction(entry);
    if (first)
        LLVMPositionBuilderBefore(b, first);
    else
        LLVMPositionBuilderAtEnd(b, entry);
    uint32_t size_B = insn->imm & IR_MAX_SLOT_B, align_log2 = insn->imm >> 24;
    LLVMValueRef slot = LLVMBuildAlloca(b, LLVMArrayType2(e->types[IR_T_I8], size_B), "");
    LLVMSetAlignment(slot, align_log2 > 3 ? 1u << align_log2 : 8);
    if (LLVMTypeOf(slot) != e->types[insn->type])
        slot = LLVMBuildAddrSpaceCast(b, slot, e->types[insn->type], "");
    LLVMPositionBuilderAtEnd(b, here);
    return slot;
}

static LLVMValueRef
ops_static(struct cg_emit *e, const struct ir_insn *insn)
{
    if (e->core->statics.data[insn->imm].space == IR_SPACE_CONST)
        return e->statics[insn->imm].global;
    return e->target->emit_shared(e, insn->imm);
}

static const LLVMIntPredicate ops_icmp[IR_N_ICMPS] = {
    [IR_ICMP_EQ] = LLVMIntEQ,   [IR_ICMP_NE] = LLVMIntNE,   [IR_ICMP_SLT] = LLVMIntSLT,
    [IR_ICMP_SLE] = LLVMIntSLE, [IR_ICMP_SGT] = LLVMIntSGT, [IR_ICMP_SGE] = LLVMIntSGE,
    [IR_ICMP_ULT] = LLVMIntULT, [IR_ICMP_ULE] = LLVMIntULE, [IR_ICMP_UGT] = LLVMIntUGT,
    [IR_ICMP_UGE] = LLVMIntUGE,
};
static const LLVMRealPredicate ops_fcmp[IR_N_FCMPS] = {
    [IR_FCMP_OEQ] = LLVMRealOEQ, [IR_FCMP_UNE] = LLVMRealUNE, [IR_FCMP_OLT] = LLVMRealOLT,
    [IR_FCMP_OLE] = LLVMRealOLE, [IR_FCMP_OGT] = LLVMRealOGT, [IR_FCMP_OGE] = LLVMRealOGE,
    [IR_FCMP_UNO] = LLVMRealUNO, [IR_FCMP_ONE] = LLVMRealONE,
};

/* In twice the width, where both targets find their own instruction. */
static LLVMValueRef
ops_mulhi(struct cg_emit *e, const LLVMValueRef *a)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(a[0]);
    unsigned width = LLVMGetIntTypeWidth(type);
    LLVMTypeRef wide = LLVMIntTypeInContext(LLVMGetTypeContext(type), 2 * width);
    LLVMValueRef product =
        LLVMBuildMul(b, LLVMBuildSExt(b, a[0], wide, ""), LLVMBuildSExt(b, a[1], wide, ""), "");
    product = LLVMBuildLShr(b, product, LLVMConstInt(wide, width, false), "");
    return LLVMBuildTrunc(b, product, type, "");
}

/* Operations whose value is one LLVM instruction or intrinsic; NULL: not one of them. */
static LLVMValueRef
ops_simple(struct cg_emit *e, const struct ir_insn *insn, ir_type from, LLVMValueRef *a)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = e->types[insn->type];
    switch (insn->op) {
    case IR_ADD: return LLVMBuildAdd(b, a[0], a[1], "");
    case IR_ADD_NSW: return LLVMBuildNSWAdd(b, a[0], a[1], "");
    case IR_SUB: return LLVMBuildSub(b, a[0], a[1], "");
    case IR_MUL: return LLVMBuildMul(b, a[0], a[1], "");
    case IR_MULHI: return ops_mulhi(e, a);
    case IR_SDIV: return LLVMBuildSDiv(b, a[0], a[1], "");
    case IR_UDIV: return LLVMBuildUDiv(b, a[0], a[1], "");
    case IR_SREM: return LLVMBuildSRem(b, a[0], a[1], "");
    case IR_UREM: return LLVMBuildURem(b, a[0], a[1], "");
    case IR_AND: return LLVMBuildAnd(b, a[0], a[1], "");
    case IR_OR: return LLVMBuildOr(b, a[0], a[1], "");
    case IR_XOR: return LLVMBuildXor(b, a[0], a[1], "");
    case IR_SHL: return LLVMBuildShl(b, a[0], a[1], "");
    case IR_LSHR: return LLVMBuildLShr(b, a[0], a[1], "");
    case IR_ASHR: return LLVMBuildAShr(b, a[0], a[1], "");
    case IR_ICMP: return LLVMBuildICmp(b, ops_icmp[insn->imm], a[0], a[1], "");
    case IR_CTPOP: return ops_unary(e, "llvm.ctpop", 1, a);
    case IR_CTLZ:
        return ops_unary(e, "llvm.ctlz", 2,
                         (LLVMValueRef[]){a[0], LLVMConstNull(e->types[IR_T_I1])});
    case IR_FADD: return LLVMBuildFAdd(b, a[0], a[1], "");
    case IR_FSUB: return LLVMBuildFSub(b, a[0], a[1], "");
    case IR_FMUL: return LLVMBuildFMul(b, a[0], a[1], "");
    case IR_FDIV: return ops_approx(e, LLVMBuildFDiv(b, a[0], a[1], ""), e->options->approx_div);
    case IR_FNEG: return LLVMBuildFNeg(b, a[0], "");
    case IR_FMA: return ir_is_half(from) ? cg_half_fma(e, from, a) : ops_unary(e, "llvm.fma", 3, a);
    case IR_FSQRT: return ops_approx(e, ops_unary(e, "llvm.sqrt", 1, a), e->options->approx_sqrt);
    case IR_FABS: return ops_unary(e, "llvm.fabs", 1, a);
    case IR_FFLOOR: return ops_unary(e, "llvm.floor", 1, a);
    case IR_FCEIL: return ops_unary(e, "llvm.ceil", 1, a);
    case IR_FTRUNC: return ops_unary(e, "llvm.trunc", 1, a);
    case IR_FRINT: return ops_unary(e, "llvm.roundeven", 1, a);
    case IR_FCOPYSIGN: return ops_unary(e, "llvm.copysign", 2, a);
    case IR_FCMP: return LLVMBuildFCmp(b, ops_fcmp[insn->imm], a[0], a[1], "");
    case IR_SEXT: return LLVMBuildSExt(b, a[0], type, "");
    case IR_ZEXT: return LLVMBuildZExt(b, a[0], type, "");
    case IR_TRUNC: return LLVMBuildTrunc(b, a[0], type, "");
    case IR_SITOFP: return LLVMBuildSIToFP(b, a[0], type, "");
    case IR_UITOFP: return LLVMBuildUIToFP(b, a[0], type, "");
    case IR_FPTOSI_SAT: return ops_convert_sat(e, "llvm.fptosi.sat", insn->type, a);
    case IR_FPTOUI_SAT: return ops_convert_sat(e, "llvm.fptoui.sat", insn->type, a);
    case IR_FPEXT:
        return ir_is_half(from) ? cg_half_widen(e, a[0], from) : LLVMBuildFPExt(b, a[0], type, "");
    case IR_FPTRUNC:
        return ir_is_half(insn->type) ? cg_half_narrow(e, a[0], from, insn->type)
                                      : LLVMBuildFPTrunc(b, a[0], type, "");
    case IR_BITCAST: return ops_bitcast(e, a[0], from, insn->type);
    case IR_SELECT: return LLVMBuildSelect(b, a[0], a[1], a[2], "");
    case IR_PTRADD: return LLVMBuildGEP2(b, e->types[IR_T_I8], a[0], &a[1], 1, "");
    case IR_LOAD: return ops_load(e, insn, from, a[0]);
    case IR_ATOMIC:
    case IR_CAS: return cg_emit_atomic(e, insn, from, a);
    case IR_STATIC: return ops_static(e, insn);
    case IR_DYNSHARED: return e->target->emit_shared(e, UINT32_MAX);
    case IR_DYNSIZE: return e->target->emit_dynsize(e);
    case IR_CONST: return ops_const(e, insn);
    case IR_PARAM: return ops_param(e, insn);
    default: return NULL;
    }
}

/* The operands' values; a CALLF stands for its first result. */
static LLVMValueRef *
ops_operands(struct cg_emit *e, ir_ref ref, const struct ir_insn *insn)
{
    LLVMValueRef *values = SP_NEW_N(e->arena, LLVMValueRef, insn->n_args + 1);
    const ir_ref *args = ir_args(e->func, ref);
    for (uint32_t i = 0; i < insn->n_args; i++)
        values[i] = e->values[args[i]];
    return values;
}

/* The host's threads meet by calls, which stores do not pass. */
static void
ops_release(struct cg_emit *e)
{
    if (e->arch.sm)
        LLVMBuildFenceSyncScope(e->builder, LLVMAtomicOrderingAcquireRelease,
                                LLVMGetSyncScopeID(e->context, "block", 5), "");
}

bool
cg_emit_insn(struct cg_emit *e, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    const struct ir_block *block = &e->func->blocks.data[insn->block];
    if (insn->op == IR_PHI) {
        e->values[ref] = LLVMBuildPhi(e->builder, e->types[insn->type], "");
        return true;
    }
    LLVMValueRef *args = ops_operands(e, ref, insn);
    ir_type from = insn->n_args ? ir_insn(e->func, ir_arg(e->func, ref, 0))->type : IR_T_NONE;
    if (ir_op_row(insn->op)->flags & IR_TERM)
        e->ends[insn->block] = LLVMGetInsertBlock(e->builder);
    switch (insn->op) {
    case IR_STORE: ops_store(e, insn, args[0], args[1]); return true;
    case IR_SLOT: e->values[ref] = ops_slot(e, insn); return true;
    case IR_CALLF: return ops_call(e, ref, insn, args);
    case IR_RESULT: return ops_result(e, ref, ir_arg(e->func, ref, 0), insn->imm);
    case IR_INTRIN: return ops_intrin(e, ref, insn, args, &e->values[ref]);
    case IR_EFFECT:
        return cg_emit_check_row(e, ref) && e->target->emit_effect(e, ref, args, &e->values[ref]);
    case IR_YIELD: e->target->emit_yield(e, ref); return true;
    case IR_ACQUIRE:
        LLVMBuildFenceSyncScope(e->builder, LLVMAtomicOrderingAcquire, cg_emit_device_scope(e), "");
        return true;
    case IR_RELEASE: ops_release(e); return true;
    case IR_POLL: e->target->emit_poll(e); return true;
    case IR_DEEP: e->values[ref] = e->target->emit_deep(e); return true;
    case IR_PRINT: return cg_emit_print(e, ref, args);
    case IR_RAISE: return ops_raise(e, ref, insn, args);
    case IR_JUMP: LLVMBuildBr(e->builder, e->blocks[block->succ[0]]); return true;
    case IR_BR: ops_br(e, insn, args[0]); return true;
    case IR_RET: return ops_ret(e, ref, insn->n_args, args);
    case IR_UNREACHABLE: LLVMBuildUnreachable(e->builder); return true;
    default: break;
    }
    e->values[ref] = ops_simple(e, insn, from, args);
    return e->values[ref] || cg_emit_bad(e, ref, "an operation that no target has");
}
