/* Atomic operations to LLVM instructions.
 *
 * In: an ATOMIC or CAS whose operands have been emitted. Out: the old value. What the target has
 * for the operation and the width is one instruction of LLVM's. Everything else is a loop of
 * compare and swap made here, so that LLVM, which would abort on some and rewrite others, sees only
 * what its targets have. Elements are swapped as integers of their width in memory; i1 is a byte.
 *
 *     one instruction   atomicrmw add ptr %p, i32 %v syncscope("device") monotonic
 *     a loop            old = load atomic; do next = f(old, v) while (!cmpxchg(&old, next));
 *                       min, max and cas end without a swap where the element stays
 *     8 and 16 bits     on a GPU the aligned word of 32 bits around the element is swapped: nothing
 *                       outside it is touched, and the hardware does it no better; and, or, xor are
 *                       one instruction on the word
 *     local memory      a load and a store: no other thread knows the address
 *
 * Lost: LLVM's own expansion. Its first load is not atomic, its minimum of floats leaves the sign
 * of zero open, and not every target and width has one. */
#include "codegen/internal.h"

/* How the element's next value follows from the old one and the operand; `arg` says more. */
enum atomic_how {
    ATOMIC_BINARY, /* LLVMOpcode */
    ATOMIC_PICK,   /* the operand if LLVMIntPredicate(operand, old) */
    ATOMIC_FPICK,  /* the same of floats with LLVMRealPredicate */
    ATOMIC_FPICK_NUMBER,
    ATOMIC_INC, /* LLVMIntPredicate(old, operand): wraps */
    ATOMIC_DEC,
    ATOMIC_TAKE, /* the operand */
};

struct atomic_row {
    int16_t rmw;   /* LLVMAtomicRMWBinOp, or -1 */
    uint8_t gpu_B; /* widths that every GPU has an instruction for: 4, 8, or both added */
    bool host;     /* has an instruction for every width */
    uint8_t how;   /* enum atomic_how */
    uint8_t arg;
};

static const struct atomic_row atomic_rows[IR_N_ATOMICS] = {
    [IR_ATOMIC_ADD] = {LLVMAtomicRMWBinOpAdd, 4 + 8, true, ATOMIC_BINARY, LLVMAdd},
    [IR_ATOMIC_FADD] = {LLVMAtomicRMWBinOpFAdd, 4 + 8, false, ATOMIC_BINARY, LLVMFAdd},
    [IR_ATOMIC_SMIN] = {LLVMAtomicRMWBinOpMin, 4 + 8, false, ATOMIC_PICK, LLVMIntSLT},
    [IR_ATOMIC_SMAX] = {LLVMAtomicRMWBinOpMax, 4 + 8, false, ATOMIC_PICK, LLVMIntSGT},
    [IR_ATOMIC_UMIN] = {LLVMAtomicRMWBinOpUMin, 4 + 8, false, ATOMIC_PICK, LLVMIntULT},
    [IR_ATOMIC_UMAX] = {LLVMAtomicRMWBinOpUMax, 4 + 8, false, ATOMIC_PICK, LLVMIntUGT},
    [IR_ATOMIC_FMIN] = {-1, 0, false, ATOMIC_FPICK, LLVMRealOLT},
    [IR_ATOMIC_FMAX] = {-1, 0, false, ATOMIC_FPICK, LLVMRealOGT},
    [IR_ATOMIC_FMINNUM] = {-1, 0, false, ATOMIC_FPICK_NUMBER, LLVMRealOLT},
    [IR_ATOMIC_FMAXNUM] = {-1, 0, false, ATOMIC_FPICK_NUMBER, LLVMRealOGT},
    [IR_ATOMIC_SINC] = {-1, 0, false, ATOMIC_INC, LLVMIntSGE},
    [IR_ATOMIC_UINC] = {LLVMAtomicRMWBinOpUIncWrap, 4, false, ATOMIC_INC, LLVMIntUGE},
    [IR_ATOMIC_SDEC] = {-1, 0, false, ATOMIC_DEC, LLVMIntSGT},
    [IR_ATOMIC_UDEC] = {LLVMAtomicRMWBinOpUDecWrap, 4, false, ATOMIC_DEC, LLVMIntUGT},
    [IR_ATOMIC_AND] = {LLVMAtomicRMWBinOpAnd, 4 + 8, true, ATOMIC_BINARY, LLVMAnd},
    [IR_ATOMIC_OR] = {LLVMAtomicRMWBinOpOr, 4 + 8, true, ATOMIC_BINARY, LLVMOr},
    [IR_ATOMIC_XOR] = {LLVMAtomicRMWBinOpXor, 4 + 8, true, ATOMIC_BINARY, LLVMXor},
    [IR_ATOMIC_XCHG] = {LLVMAtomicRMWBinOpXchg, 4 + 8, true, ATOMIC_TAKE, 0},
};

struct atomic {
    struct cg_emit *e;
    ir_type type;             /* of the element */
    enum ir_atomic op;        /* IR_ATOMIC_NONE: compare and swap */
    unsigned width;           /* bits of the element in memory */
    LLVMTypeRef word;         /* what is swapped */
    LLVMValueRef address;     /* of the word */
    LLVMValueRef shift, mask; /* of the element in the word; NULL: it is the word */
    LLVMValueRef value, expected;
};

/* ---- Elements, bits, words ---- */

static LLVMValueRef
atomic_bits(const struct atomic *a, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMIntTypeInContext(a->e->context, a->width);
    if (a->type == IR_T_I1)
        return LLVMBuildZExt(a->e->builder, value, type, "");
    return LLVMBuildBitCast(a->e->builder, value, type, "");
}

/* Any byte but 0 is true. */
static LLVMValueRef
atomic_of_bits(const struct atomic *a, LLVMValueRef bits)
{
    LLVMBuilderRef b = a->e->builder;
    if (a->type == IR_T_I1)
        return LLVMBuildICmp(b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
    return LLVMBuildBitCast(b, bits, a->e->types[a->type], "");
}

/* Bits of the element at their place in a word of zeros. */
static LLVMValueRef
atomic_place(const struct atomic *a, LLVMValueRef bits)
{
    LLVMBuilderRef b = a->e->builder;
    return a->shift ? LLVMBuildShl(b, LLVMBuildZExt(b, bits, a->word, ""), a->shift, "") : bits;
}

static LLVMValueRef
atomic_extract(const struct atomic *a, LLVMValueRef word)
{
    LLVMBuilderRef b = a->e->builder;
    if (a->shift)
        word = LLVMBuildTrunc(b, LLVMBuildLShr(b, word, a->shift, ""),
                              LLVMIntTypeInContext(a->e->context, a->width), "");
    return atomic_of_bits(a, word);
}

static LLVMValueRef
atomic_insert(const struct atomic *a, LLVMValueRef word, LLVMValueRef value)
{
    LLVMBuilderRef b = a->e->builder;
    LLVMValueRef placed = atomic_place(a, atomic_bits(a, value));
    if (!a->shift)
        return placed;
    return LLVMBuildOr(b, LLVMBuildAnd(b, word, LLVMBuildNot(b, a->mask, ""), ""), placed, "");
}

/* From here on the aligned word around the element is meant. */
static void
atomic_widen(struct atomic *a)
{
    struct cg_emit *e = a->e;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef number = LLVMBuildPtrToInt(b, a->address, e->types[IR_T_I64], "");
    LLVMValueRef inside = LLVMBuildAnd(b, number, cg_emit_i64(e, 3), "");
    LLVMValueRef back = LLVMBuildNeg(b, inside, "");
    a->address = LLVMBuildGEP2(b, e->types[IR_T_I8], a->address, &back, 1, "");
    a->word = e->types[IR_T_I32];
    a->shift = LLVMBuildShl(b, LLVMBuildTrunc(b, inside, a->word, ""), cg_emit_i32(e, 3), "");
    a->mask = LLVMBuildShl(b, cg_emit_i32(e, (1u << a->width) - 1), a->shift, "");
}

/* ---- What the element becomes ---- */

static LLVMValueRef
atomic_wide(const struct atomic *a, LLVMValueRef value)
{
    return ir_is_half(a->type) ? cg_half_widen(a->e, value, a->type) : value;
}

/* Whether the operand is beyond the old value; of equal numbers only zeros have different bits, and
 * as integers the negative one is the smaller. */
static LLVMValueRef
atomic_is_beyond(const struct atomic *a, const struct atomic_row *row, LLVMValueRef old)
{
    LLVMBuilderRef b = a->e->builder;
    LLVMValueRef x = atomic_wide(a, a->value), y = atomic_wide(a, old);
    LLVMIntPredicate order = row->arg == LLVMRealOLT ? LLVMIntSLT : LLVMIntSGT;
    LLVMValueRef zeros = LLVMBuildAnd(
        b, LLVMBuildFCmp(b, LLVMRealOEQ, x, y, ""),
        LLVMBuildICmp(b, order, atomic_bits(a, a->value), atomic_bits(a, old), ""), "");
    LLVMValueRef beyond =
        LLVMBuildOr(b, LLVMBuildFCmp(b, (LLVMRealPredicate)row->arg, x, y, ""), zeros, "");
    if (row->how != ATOMIC_FPICK_NUMBER)
        return beyond;
    LLVMValueRef first = LLVMBuildAnd(b, LLVMBuildFCmp(b, LLVMRealUNO, y, y, ""),
                                      LLVMBuildFCmp(b, LLVMRealORD, x, x, ""), "");
    return LLVMBuildOr(b, beyond, first, "");
}

static LLVMValueRef
atomic_binary(const struct atomic *a, LLVMOpcode opcode, LLVMValueRef old)
{
    LLVMBuilderRef b = a->e->builder;
    if (!ir_is_half(a->type))
        return LLVMBuildBinOp(b, opcode, old, a->value, "");
    LLVMValueRef wide =
        LLVMBuildBinOp(b, opcode, atomic_wide(a, old), atomic_wide(a, a->value), "");
    return cg_half_narrow(a->e, wide, IR_T_F32, a->type);
}

/* The next value. Of what keeps the old one under a condition `*takes_out` says that it does
 * not. */
static LLVMValueRef
atomic_next(const struct atomic *a, LLVMValueRef old, LLVMValueRef *takes_out)
{
    LLVMBuilderRef b = a->e->builder;
    LLVMTypeRef type = LLVMTypeOf(old);
    *takes_out = NULL;
    if (a->op == IR_ATOMIC_NONE) {
        *takes_out =
            LLVMBuildICmp(b, LLVMIntEQ, atomic_bits(a, old), atomic_bits(a, a->expected), "");
        return a->value;
    }
    const struct atomic_row *row = &atomic_rows[a->op];
    switch ((enum atomic_how)row->how) {
    case ATOMIC_BINARY: return atomic_binary(a, (LLVMOpcode)row->arg, old);
    case ATOMIC_PICK:
        *takes_out = LLVMBuildICmp(b, (LLVMIntPredicate)row->arg, a->value, old, "");
        return a->value;
    case ATOMIC_FPICK:
    case ATOMIC_FPICK_NUMBER: *takes_out = atomic_is_beyond(a, row, old); return a->value;
    case ATOMIC_INC: {
        LLVMValueRef wraps = LLVMBuildICmp(b, (LLVMIntPredicate)row->arg, old, a->value, "");
        LLVMValueRef up = LLVMBuildAdd(b, old, LLVMConstInt(type, 1, false), "");
        return LLVMBuildSelect(b, wraps, LLVMConstNull(type), up, "");
    }
    case ATOMIC_DEC: {
        LLVMValueRef wraps =
            LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntEQ, old, LLVMConstNull(type), ""),
                        LLVMBuildICmp(b, (LLVMIntPredicate)row->arg, old, a->value, ""), "");
        LLVMValueRef down = LLVMBuildSub(b, old, LLVMConstInt(type, 1, false), "");
        return LLVMBuildSelect(b, wraps, a->value, down, "");
    }
    case ATOMIC_TAKE: break;
    }
    return a->value;
}

/* ---- The ways to do it ---- */

/* Local memory. */
static LLVMValueRef
atomic_alone(const struct atomic *a)
{
    LLVMBuilderRef b = a->e->builder;
    LLVMValueRef takes, word = LLVMBuildLoad2(b, a->word, a->address, "");
    LLVMSetAlignment(word, a->width / 8);
    LLVMValueRef old = atomic_of_bits(a, word), next = atomic_next(a, old, &takes);
    if (takes)
        next = LLVMBuildSelect(b, takes, next, old, "");
    LLVMSetAlignment(LLVMBuildStore(b, atomic_bits(a, next), a->address), a->width / 8);
    return old;
}

static bool
atomic_is_bitwise(const struct atomic *a)
{
    /* A byte that is neither 0 nor 1 is as true as 1, but xor would leave it so. */
    return a->op == IR_ATOMIC_AND || a->op == IR_ATOMIC_OR ||
           (a->op == IR_ATOMIC_XOR && a->type != IR_T_I1);
}

/* Whether the target has an instruction, on the element or on the word around it. */
static bool
atomic_has_instruction(const struct atomic *a)
{
    unsigned sm = a->e->arch.sm;
    if (a->op == IR_ATOMIC_NONE)
        return sm ? a->width >= 32 : a->type != IR_T_I1;
    const struct atomic_row *row = &atomic_rows[a->op];
    if (!sm)
        return row->host && (a->type != IR_T_I1 || a->op != IR_ATOMIC_XOR);
    if (a->width < 32)
        return atomic_is_bitwise(a) ||
               (a->op == IR_ATOMIC_FADD && (a->type == IR_T_F16 || sm >= 90));
    return (row->gpu_B & a->width / 8) != 0;
}

static LLVMValueRef
atomic_instruction(struct atomic *a)
{
    LLVMBuilderRef b = a->e->builder;
    unsigned scope = cg_emit_device_scope(a->e);
    if (a->op == IR_ATOMIC_NONE) {
        LLVMValueRef pair = LLVMBuildAtomicCmpXchgSyncScope(
            b, a->address, atomic_bits(a, a->expected), atomic_bits(a, a->value),
            LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, scope);
        return atomic_of_bits(a, LLVMBuildExtractValue(b, pair, 0, ""));
    }
    LLVMAtomicRMWBinOp rmw = (LLVMAtomicRMWBinOp)atomic_rows[a->op].rmw;
    if (a->op == IR_ATOMIC_FADD)
        return LLVMBuildAtomicRMWSyncScope(b, rmw, a->address, a->value,
                                           LLVMAtomicOrderingMonotonic, scope);
    LLVMValueRef operand = a->type == IR_T_I1 && a->op == IR_ATOMIC_AND
                               ? LLVMBuildSExt(b, a->value, a->e->types[IR_T_I8], "")
                               : atomic_bits(a, a->value);
    if (a->e->arch.sm && a->width < 32)
        atomic_widen(a);
    operand = atomic_place(a, operand);
    if (a->shift && a->op == IR_ATOMIC_AND)
        operand = LLVMBuildOr(b, operand, LLVMBuildNot(b, a->mask, ""), "");
    LLVMValueRef old = LLVMBuildAtomicRMWSyncScope(b, rmw, a->address, operand,
                                                   LLVMAtomicOrderingMonotonic, scope);
    return atomic_extract(a, old);
}

/* Goes on in a new block. */
static LLVMValueRef
atomic_loop(struct atomic *a)
{
    struct cg_emit *e = a->e;
    LLVMBuilderRef b = e->builder;
    unsigned scope = cg_emit_device_scope(e);
    if (e->arch.sm && a->width < 32)
        atomic_widen(a);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
    LLVMValueRef first = LLVMBuildLoad2(b, a->word, a->address, "");
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(first, scope);
    LLVMSetAlignment(first, LLVMGetIntTypeWidth(a->word) / 8);
    LLVMBuildBr(b, loop);

    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef seen = LLVMBuildPhi(b, a->word, ""), takes;
    LLVMValueRef old = atomic_extract(a, seen), next = atomic_next(a, old, &takes);
    LLVMBasicBlockRef swap = loop;
    if (takes) {
        swap = LLVMAppendBasicBlockInContext(e->context, e->this->fn, "");
        LLVMBuildCondBr(b, takes, swap, after);
        LLVMPositionBuilderAtEnd(b, swap);
    }
    LLVMValueRef pair = LLVMBuildAtomicCmpXchgSyncScope(
        b, a->address, seen, atomic_insert(a, seen, next), LLVMAtomicOrderingMonotonic,
        LLVMAtomicOrderingMonotonic, scope);
    LLVMValueRef now = LLVMBuildExtractValue(b, pair, 0, "");
    LLVMBuildCondBr(b, LLVMBuildExtractValue(b, pair, 1, ""), after, loop);
    LLVMAddIncoming(seen, &first, &before, 1);
    LLVMAddIncoming(seen, &now, &swap, 1);
    LLVMPositionBuilderAtEnd(b, after);
    return old;
}

LLVMValueRef
cg_emit_atomic(struct cg_emit *e, const struct ir_insn *insn, ir_type address_type,
               const LLVMValueRef *args)
{
    bool is_cas = insn->op == IR_CAS;
    unsigned bits = ir_machine_bits(insn->type), width = bits < 8 ? 8 : bits;
    struct atomic a = {
        .e = e,
        .type = insn->type,
        .op = is_cas ? IR_ATOMIC_NONE : (enum ir_atomic)insn->imm,
        .width = width,
        .word = LLVMIntTypeInContext(e->context, width),
        .address = args[0],
        .value = args[is_cas ? 2 : 1],
        .expected = is_cas ? args[1] : NULL,
    };
    if (address_type == IR_T_PTR_LOCAL)
        return atomic_alone(&a);
    return atomic_has_instruction(&a) ? atomic_instruction(&a) : atomic_loop(&a);
}
