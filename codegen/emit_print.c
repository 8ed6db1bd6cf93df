/* PRINT: what a thread prints becomes a record in the launch's buffer.
 *
 * In: a site and values of 64 bits. Out: a call of a function of (launch, site, values...), one per
 * number of values, which both targets share: it reserves the record's words by one addition,
 * writes the values and releases the head (struct sp_printer). A record that does not fit is
 * counted, so the words in use are always the first ones. Adding lets many threads print at once; a
 * compare-and-swap loop, which would reserve nothing beyond the capacity, has all but one of them
 * try again. */
#include <stdio.h>
#include <string.h>

#include "codegen/internal.h"

struct print {
    struct cg_emit *e;
    LLVMValueRef fn;
    LLVMValueRef launch; /* address of its struct sp_fault */
};

static LLVMValueRef
print_field(const struct print *p, size_t offset_B)
{
    LLVMValueRef offset = cg_emit_i64(p->e, offsetof(struct sp_fault, printer) + offset_B);
    LLVMBuilderRef b = p->e->builder;
    LLVMValueRef address = LLVMBuildGEP2(b, p->e->types[IR_T_I8], p->launch, &offset, 1, "");
    LLVMValueRef value = LLVMBuildLoad2(b, p->e->types[IR_T_I64], address, "");
    LLVMSetAlignment(value, 8);
    return value;
}

/* Counter number `at` grows by `by`; its old value. */
static LLVMValueRef
print_count(const struct print *p, LLVMValueRef counters, uint64_t at, uint64_t by)
{
    struct cg_emit *e = p->e;
    LLVMValueRef offset = cg_emit_i64(e, at * sizeof(uint64_t));
    LLVMValueRef address = LLVMBuildGEP2(e->builder, e->types[IR_T_I8], counters, &offset, 1, "");
    LLVMValueRef old =
        LLVMBuildAtomicRMWSyncScope(e->builder, LLVMAtomicRMWBinOpAdd, address, cg_emit_i64(e, by),
                                    LLVMAtomicOrderingMonotonic, cg_emit_device_scope(e));
    LLVMSetAlignment(old, 8);
    return old;
}

/* The values behind the head, then the head. */
static void
print_write(const struct print *p, LLVMValueRef at, uint32_t n)
{
    struct cg_emit *e = p->e;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef word = e->types[IR_T_I64];
    LLVMValueRef words = LLVMBuildIntToPtr(b, print_field(p, offsetof(struct sp_printer, words)),
                                           e->types[IR_T_PTR_GLOBAL], "");
    LLVMValueRef record = LLVMBuildGEP2(b, word, words, &at, 1, "");
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef k = cg_emit_i64(e, i + 1);
        LLVMBuildStore(b, LLVMGetParam(p->fn, 2 + i), LLVMBuildGEP2(b, word, record, &k, 1, ""));
    }
    LLVMValueRef launch = print_field(p, offsetof(struct sp_printer, launch));
    LLVMValueRef head = LLVMBuildShl(b, launch, cg_emit_i64(e, 32), "");
    head = LLVMBuildOr(b, head, LLVMBuildZExt(b, LLVMGetParam(p->fn, 1), word, ""), "");
    head = LLVMBuildOr(b, head, cg_emit_i64(e, SP_PRINT_HEAD(0, 0, n)), "");
    LLVMValueRef done = LLVMBuildStore(b, head, record);
    LLVMSetOrdering(done, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(done, 8);
}

static void
print_body(const struct print *p, uint32_t n)
{
    struct cg_emit *e = p->e;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef counters = LLVMBuildIntToPtr(
        b, print_field(p, offsetof(struct sp_printer, counters)), e->types[IR_T_PTR_GLOBAL], "");
    LLVMValueRef at = print_count(p, counters, 0, n + 1);
    at = LLVMBuildSub(b, at, print_field(p, offsetof(struct sp_printer, base)), "");
    LLVMValueRef end = LLVMBuildAdd(b, at, cg_emit_i64(e, n + 1), "");
    LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, end,
                                      print_field(p, offsetof(struct sp_printer, capacity)), "");
    LLVMBasicBlockRef write = LLVMAppendBasicBlockInContext(e->context, p->fn, "write");
    LLVMBasicBlockRef lost = LLVMAppendBasicBlockInContext(e->context, p->fn, "lost");
    LLVMBuildCondBr(b, fits, write, lost);
    LLVMPositionBuilderAtEnd(b, write);
    print_write(p, at, n);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, lost);
    print_count(p, counters, 1, 1);
    LLVMBuildRetVoid(b);
}

static LLVMValueRef
print_function(struct cg_emit *e, uint32_t n)
{
    if (e->printers[n])
        return e->printers[n];
    LLVMTypeRef types[2 + SP_PRINT_VALUES] = {e->types[IR_T_PTR_GLOBAL], e->types[IR_T_I32]};
    for (uint32_t i = 0; i < n; i++)
        types[2 + i] = e->types[IR_T_I64];
    static const char *const attributes[] = {"nounwind", "cold", "noinline", NULL};
    char name[32];
    snprintf(name, sizeof name, "gpujit_print_%u", n);
    struct cg_helper helper = cg_helper_begin(e, name, types, 2 + n, attributes);
    struct print p = {.e = e, .fn = helper.fn, .launch = LLVMGetParam(helper.fn, 0)};
    print_body(&p, n);
    cg_helper_end(e, &helper);
    return e->printers[n] = p.fn;
}

bool
cg_emit_print(struct cg_emit *e, ir_ref ref, LLVMValueRef *values)
{
    const struct ir_insn *insn = ir_insn(e->func, ref);
    uint32_t n = insn->n_args;
    if (insn->imm >= e->core->sites.len || n > SP_PRINT_VALUES)
        return cg_emit_bad(e, ref, "a print whose site or values are not there");
    LLVMValueRef fn = print_function(e, n);
    LLVMValueRef args[2 + SP_PRINT_VALUES] = {e->target->emit_fault(e), cg_emit_i32(e, insn->imm)};
    memcpy(args + 2, values, n * sizeof *values);
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(fn), fn, args, 2 + n, "");
    return true;
}
