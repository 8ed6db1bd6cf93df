/* Operations of a warp and clocks.
 *
 * In: an EFFECT of machine values, of the types that intrin.def gives. Out: its value at the
 * builder. On a GPU most are one LLVM intrinsic on 32 bits. Narrow values go extended, 64 bits as
 * two shuffles, or as one where they were extended from 32; reductions of 64 bits are made of those
 * of 32: a sum of pieces so small that 32 of them fit, the smallest by the upper halves and then by
 * the lower halves of who has that upper half. On the host the lanes meet in the scheduler, all
 * with 64 bits. */
#include <string.h>

#include "codegen/internal.h"

/* ---- 32 and 64 bits ---- */

static bool
warp_is_wide(LLVMValueRef value)
{
    return LLVMGetIntTypeWidth(LLVMTypeOf(value)) == 64;
}

static LLVMValueRef
warp_widen(struct cg_emit *e, LLVMValueRef value, bool is_signed)
{
    LLVMTypeRef type = e->types[IR_T_I32];
    if (LLVMGetIntTypeWidth(LLVMTypeOf(value)) >= 32)
        return value;
    return is_signed ? LLVMBuildSExt(e->builder, value, type, "")
                     : LLVMBuildZExt(e->builder, value, type, "");
}

static LLVMValueRef
warp_low(struct cg_emit *e, LLVMValueRef value)
{
    return LLVMBuildTrunc(e->builder, value, e->types[IR_T_I32], "");
}

static LLVMValueRef
warp_high(struct cg_emit *e, LLVMValueRef value)
{
    return warp_low(e, LLVMBuildLShr(e->builder, value, cg_emit_i64(e, 32), ""));
}

static LLVMValueRef
warp_both(struct cg_emit *e, LLVMValueRef low, LLVMValueRef high)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = e->types[IR_T_I64];
    LLVMValueRef up = LLVMBuildShl(b, LLVMBuildZExt(b, high, type, ""), cg_emit_i64(e, 32), "");
    return LLVMBuildOr(b, up, LLVMBuildZExt(b, low, type, ""), "");
}

/* The 32 bits that a value of 64 was extended from, or NULL. */
static LLVMValueRef
warp_extended(struct cg_emit *e, LLVMValueRef value, bool *is_signed_out)
{
    *is_signed_out = LLVMIsASExtInst(value) != NULL;
    if (!*is_signed_out && !LLVMIsAZExtInst(value))
        return NULL;
    LLVMValueRef from = LLVMGetOperand(value, 0);
    return LLVMGetIntTypeWidth(LLVMTypeOf(from)) > 32 ? NULL : warp_widen(e, from, *is_signed_out);
}

static LLVMValueRef
warp_extend(struct cg_emit *e, LLVMValueRef value, bool is_signed)
{
    LLVMTypeRef type = e->types[IR_T_I64];
    return is_signed ? LLVMBuildSExt(e->builder, value, type, "")
                     : LLVMBuildZExt(e->builder, value, type, "");
}

/* ---- GPU: shuffles and matches ---- */

static LLVMValueRef
warp_shuffle(struct cg_emit *e, enum ir_intrin id, LLVMValueRef *args, LLVMValueRef value)
{
    LLVMBuilderRef b = e->builder;
    /* PTX: the group of lanes, and within it the last one that is read; upwards the first one,
     * 0. */
    LLVMValueRef group = LLVMBuildSub(b, cg_emit_i32(e, 32), args[3], "");
    LLVMValueRef clamp = LLVMBuildShl(b, group, cg_emit_i32(e, 8), "");
    if (id != IR_INTRIN_SHFL_UP)
        clamp = LLVMBuildOr(b, clamp, cg_emit_i32(e, 31), "");
    LLVMValueRef all[4] = {args[0], value, args[2], clamp};
    return cg_emit_intrinsic(e, ir_intrin_row(id)->nv, 0, NULL, 4, all);
}

static LLVMValueRef
warp_emit_shuffle(struct cg_emit *e, enum ir_intrin id, LLVMValueRef *args)
{
    LLVMTypeRef type = LLVMTypeOf(args[1]);
    if (warp_is_wide(args[1])) {
        bool is_signed;
        LLVMValueRef narrow = warp_extended(e, args[1], &is_signed);
        if (narrow)
            return warp_extend(e, warp_shuffle(e, id, args, narrow), is_signed);
        LLVMValueRef low = warp_shuffle(e, id, args, warp_low(e, args[1]));
        return warp_both(e, low, warp_shuffle(e, id, args, warp_high(e, args[1])));
    }
    LLVMValueRef moved = warp_shuffle(e, id, args, warp_widen(e, args[1], false));
    return LLVMBuildTrunc(e->builder, moved, type, "");
}

static LLVMValueRef
warp_emit_match(struct cg_emit *e, enum ir_intrin id, LLVMValueRef *args)
{
    LLVMValueRef all[2] = {args[0], warp_widen(e, args[1], false)};
    bool wide = warp_is_wide(all[1]), any = id == IR_INTRIN_MATCH_ANY;
    const char *name =
        any ? (wide ? "llvm.nvvm.match.any.sync.i64" : "llvm.nvvm.match.any.sync.i32")
            : (wide ? "llvm.nvvm.match.all.sync.i64p" : "llvm.nvvm.match.all.sync.i32p");
    LLVMValueRef found = cg_emit_intrinsic(e, name, 0, NULL, 2, all);
    return any ? found : LLVMBuildExtractValue(e->builder, found, 0, "");
}

/* ---- GPU: reductions ---- */

static LLVMValueRef
warp_redux(struct cg_emit *e, const char *what, LLVMValueRef mask, LLVMValueRef value)
{
    LLVMValueRef args[2] = {value, mask};
    return cg_emit_intrinsic(e, sp_arena_printf(e->arena, "llvm.nvvm.redux.sync.%s", what), 0, NULL,
                             2, args);
}

/* 27 bits of 32 lanes make 32 bits. */
static LLVMValueRef
warp_add_wide(struct cg_emit *e, LLVMValueRef mask, LLVMValueRef value)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef wide = e->types[IR_T_I64];
    LLVMValueRef sum = NULL;
    for (uint32_t at = 0; at < 64; at += 27) {
        LLVMValueRef piece = warp_low(e, LLVMBuildLShr(b, value, cg_emit_i64(e, at), ""));
        if (at < 54)
            piece = LLVMBuildAnd(b, piece, cg_emit_i32(e, (1u << 27) - 1), "");
        LLVMValueRef part = LLVMBuildZExt(b, warp_redux(e, "add", mask, piece), wide, "");
        part = LLVMBuildShl(b, part, cg_emit_i64(e, at), "");
        sum = sum ? LLVMBuildAdd(b, sum, part, "") : part;
    }
    return sum;
}

/* Of numbers that were extended from 32 bits: the low 27 bits, and the others with their sign. */
static LLVMValueRef
warp_add_extended(struct cg_emit *e, LLVMValueRef mask, LLVMValueRef narrow, bool is_signed)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef wide = e->types[IR_T_I64];
    LLVMValueRef bits = cg_emit_i32(e, 27);
    LLVMValueRef low = LLVMBuildAnd(b, narrow, cg_emit_i32(e, (1u << 27) - 1), "");
    LLVMValueRef high =
        is_signed ? LLVMBuildAShr(b, narrow, bits, "") : LLVMBuildLShr(b, narrow, bits, "");
    low = LLVMBuildZExt(b, warp_redux(e, "add", mask, low), wide, "");
    high = LLVMBuildSExt(b, warp_redux(e, "add", mask, high), wide, "");
    return LLVMBuildAdd(b, LLVMBuildShl(b, high, cg_emit_i64(e, 27), ""), low, "");
}

static LLVMValueRef
warp_extreme_wide(struct cg_emit *e, bool is_max, bool is_unsigned, LLVMValueRef mask,
                  LLVMValueRef value)
{
    LLVMBuilderRef b = e->builder;
    const char *by_high = is_unsigned ? (is_max ? "umax" : "umin") : (is_max ? "max" : "min");
    LLVMValueRef own = warp_high(e, value), high = warp_redux(e, by_high, mask, own);
    LLVMValueRef none = cg_emit_i32(e, is_max ? 0 : UINT32_MAX);
    LLVMValueRef has = LLVMBuildICmp(b, LLVMIntEQ, own, high, "");
    LLVMValueRef low = LLVMBuildSelect(b, has, warp_low(e, value), none, "");
    return warp_both(e, warp_redux(e, is_max ? "umax" : "umin", mask, low), high);
}

static LLVMValueRef
warp_reduce_wide(struct cg_emit *e, enum ir_intrin id, const char *name, bool is_unsigned,
                 LLVMValueRef *args)
{
    bool is_signed, is_add = id == IR_INTRIN_REDUCE_ADD;
    bool by_order = id == IR_INTRIN_REDUCE_MIN || id == IR_INTRIN_REDUCE_MAX;
    LLVMValueRef narrow = warp_extended(e, args[1], &is_signed);
    if (is_add)
        return narrow ? warp_add_extended(e, args[0], narrow, is_signed)
                      : warp_add_wide(e, args[0], args[1]);
    if (narrow && (!by_order || !is_unsigned || !is_signed)) {
        if (by_order && !is_signed)
            name = id == IR_INTRIN_REDUCE_MAX ? "umax" : "umin";
        LLVMValueRef found = warp_redux(e, name, args[0], narrow);
        return warp_extend(e, found, is_signed);
    }
    if (by_order)
        return warp_extreme_wide(e, id == IR_INTRIN_REDUCE_MAX, is_unsigned, args[0], args[1]);
    LLVMValueRef low = warp_redux(e, name, args[0], warp_low(e, args[1]));
    return warp_both(e, low, warp_redux(e, name, args[0], warp_high(e, args[1])));
}

static LLVMValueRef
warp_reduce_signed(struct cg_emit *e, enum ir_intrin id, bool is_unsigned, LLVMValueRef *args)
{
    static const struct {
        enum ir_intrin id;
        const char *name, *unsigned_name;
    } names[] = {
        {IR_INTRIN_REDUCE_ADD, "add", "add"},  {IR_INTRIN_REDUCE_MIN, "min", "umin"},
        {IR_INTRIN_REDUCE_MAX, "max", "umax"}, {IR_INTRIN_REDUCE_AND, "and", "and"},
        {IR_INTRIN_REDUCE_OR, "or", "or"},     {IR_INTRIN_REDUCE_XOR, "xor", "xor"},
    };
    const char *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].id == id)
            name = is_unsigned ? names[i].unsigned_name : names[i].name;
    if (warp_is_wide(args[1]))
        return warp_reduce_wide(e, id, name, is_unsigned, args);
    LLVMTypeRef type = LLVMTypeOf(args[1]);
    LLVMValueRef all = warp_redux(e, name, args[0], warp_widen(e, args[1], !is_unsigned));
    return LLVMBuildTrunc(e->builder, all, type, "");
}

/* Operand 2 says whether the numbers are unsigned, a constant where lowering made it. */
static LLVMValueRef
warp_emit_reduce(struct cg_emit *e, enum ir_intrin id, LLVMValueRef *args)
{
    if (LLVMIsAConstantInt(args[2]))
        return warp_reduce_signed(e, id, LLVMConstIntGetZExtValue(args[2]), args);
    LLVMValueRef as_unsigned = warp_reduce_signed(e, id, true, args);
    LLVMValueRef as_signed = warp_reduce_signed(e, id, false, args);
    return LLVMBuildSelect(e->builder, args[2], as_unsigned, as_signed, "");
}

bool
cg_warp_nvptx(struct cg_emit *e, ir_ref ref, LLVMValueRef *args, LLVMValueRef *out)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    enum ir_intrin id = (enum ir_intrin)insn->imm;
    switch (id) {
    case IR_INTRIN_SHFL:
    case IR_INTRIN_SHFL_UP:
    case IR_INTRIN_SHFL_DOWN:
    case IR_INTRIN_SHFL_XOR: *out = warp_emit_shuffle(e, id, args); return true;
    case IR_INTRIN_MATCH_ANY:
    case IR_INTRIN_MATCH_ALL: *out = warp_emit_match(e, id, args); return true;
    case IR_INTRIN_REDUCE_ADD:
    case IR_INTRIN_REDUCE_MIN:
    case IR_INTRIN_REDUCE_MAX:
    case IR_INTRIN_REDUCE_AND:
    case IR_INTRIN_REDUCE_OR:
    case IR_INTRIN_REDUCE_XOR: *out = warp_emit_reduce(e, id, args); return true;
    default:
        *out = cg_emit_intrinsic(e, ir_intrin_row(id)->nv, 0, NULL, insn->n_args, args);
        return true;
    }
}

/* ---- Host: lanes meet, runtime/cpu_meet.c ---- */

static const struct {
    enum ir_intrin id;
    enum sp_meet meet;
} warp_meets[] = {
    {IR_INTRIN_SHFL, SP_MEET_SHFL},           {IR_INTRIN_SHFL_UP, SP_MEET_SHFL_UP},
    {IR_INTRIN_SHFL_DOWN, SP_MEET_SHFL_DOWN}, {IR_INTRIN_SHFL_XOR, SP_MEET_SHFL_XOR},
    {IR_INTRIN_VOTE_ALL, SP_MEET_ALL},        {IR_INTRIN_VOTE_ANY, SP_MEET_ANY},
    {IR_INTRIN_VOTE_EQ, SP_MEET_EQ},          {IR_INTRIN_BALLOT, SP_MEET_BALLOT},
    {IR_INTRIN_MATCH_ANY, SP_MEET_MATCH_ANY}, {IR_INTRIN_MATCH_ALL, SP_MEET_MATCH_ALL},
    {IR_INTRIN_REDUCE_ADD, SP_MEET_ADD},      {IR_INTRIN_REDUCE_MIN, SP_MEET_MIN},
    {IR_INTRIN_REDUCE_MAX, SP_MEET_MAX},      {IR_INTRIN_REDUCE_AND, SP_MEET_AND},
    {IR_INTRIN_REDUCE_OR, SP_MEET_OR},        {IR_INTRIN_REDUCE_XOR, SP_MEET_XOR},
};

/* Numbers as signed 64 bits in the same order: an unsigned one has its upper bit flipped. */
static LLVMValueRef
warp_ordered(struct cg_emit *e, LLVMValueRef value, LLVMValueRef is_unsigned)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = e->types[IR_T_I64];
    LLVMValueRef as_signed = LLVMBuildSExt(b, value, type, "");
    LLVMValueRef flipped =
        LLVMBuildXor(b, LLVMBuildZExt(b, value, type, ""), cg_emit_i64(e, (uint64_t)1 << 63), "");
    return LLVMBuildSelect(b, is_unsigned, flipped, as_signed, "");
}

static LLVMValueRef
warp_meet(struct cg_emit *e, ir_ref ref, enum sp_meet meet, uint32_t n_args, LLVMValueRef *args)
{
    LLVMBuilderRef b = e->builder;
    bool by_order = meet == SP_MEET_MIN || meet == SP_MEET_MAX;
    LLVMValueRef operand = by_order ? warp_ordered(e, args[1], args[2])
                                    : LLVMBuildZExt(b, args[1], e->types[IR_T_I64], "");
    LLVMValueRef argument = NULL;
    if (n_args == 4) { /* a lane and the group's width */
        LLVMValueRef width = LLVMBuildShl(b, args[3], cg_emit_i32(e, 8), "");
        argument = LLVMBuildOr(b, width, LLVMBuildAnd(b, args[2], cg_emit_i32(e, 31), ""), "");
    }
    LLVMValueRef result = cg_coro_meet(e, ref, meet, args[0], operand, argument);
    if (by_order)
        result = LLVMBuildSelect(
            b, args[2], LLVMBuildXor(b, result, cg_emit_i64(e, (uint64_t)1 << 63), ""), result, "");
    return LLVMBuildTrunc(b, result, e->types[ir_insn(e->func, ref)->type], "");
}

static LLVMValueRef
warp_clock(struct cg_emit *e, const char *name)
{
    LLVMTypeRef type = LLVMFunctionType(e->types[IR_T_I64], NULL, 0, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn) {
        fn = LLVMAddFunction(e->module, name, type);
        cg_emit_fn_attribute(e, fn, "nounwind", 0);
        cg_emit_fn_attribute(e, fn, "willreturn", 0);
    }
    return LLVMBuildCall2(e->builder, type, fn, NULL, 0, "");
}

bool
cg_warp_host(struct cg_emit *e, ir_ref ref, LLVMValueRef *args, LLVMValueRef *out)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    for (size_t i = 0; i < sizeof warp_meets / sizeof *warp_meets; i++) {
        if (warp_meets[i].id == (enum ir_intrin)insn->imm) {
            *out = warp_meet(e, ref, warp_meets[i].meet, insn->n_args, args);
            return true;
        }
    }
    switch ((enum ir_intrin)insn->imm) {
    case IR_INTRIN_ACTIVEMASK:
        cg_coro_wait(e, ref, SP_WAIT_ALONE, 0);
        *out = cg_host_load(e, e->types[IR_T_I32], e->hidden[HOST_MAILBOX],
                            offsetof(struct sp_thread, result));
        return true;
    case IR_INTRIN_NANOSLEEP: cg_coro_wait(e, ref, SP_WAIT_SPIN, 0); return true;
    case IR_INTRIN_CLOCK: *out = warp_low(e, warp_clock(e, "gpujit_ticks")); return true;
    case IR_INTRIN_CLOCK64: *out = warp_clock(e, "gpujit_ticks"); return true;
    default: *out = warp_clock(e, "gpujit_nanoseconds"); return true;
    }
}
