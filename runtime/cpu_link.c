/* cpu_link: a relocatable object in, the address of its entry out, by LLVM's ORC. In: an ELF
 * object that codegen/ made, position-independent (it lands far from libm and above 4 GiB). Out:
 * code in executable memory until it is unlinked.
 *
 * One LLJIT per device, used only for its linking layer: nothing is compiled here. Objects have
 * equal symbol names as often as not, so each gets a symbol table of its own (a JITDylib). The C
 * API cannot remove one from its session; a cleared one goes back to a list and serves the next
 * object, so there are never more than objects live at once. Symbols that an object lacks come
 * from rt_cpu_symbol through a generator attached to each table. ORC's messages, which it would
 * print to stderr, are caught and returned.
 *
 * A loader of our own (mmap, a dozen kinds of relocation per processor) was the alternative:
 * smaller, but LLVM is in the process anyway and knows every relocation that its code generator
 * writes. */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include "runtime/cpu_t.h"
#include "support/arena.h"

struct cpu_linked {
    LLVMOrcJITDylibRef table;
};

struct cpu_linker {
    LLVMOrcLLJITRef jit;
    LLVMOrcExecutionSessionRef session;
    SP_VEC(LLVMOrcJITDylibRef) free_tables;
    uint32_t n_tables;
    uint32_t n_unlinked;   /* since dead names were swept */
    struct sp_str reports; /* what the session said in the current call */
};

static void
link_take_error(LLVMErrorRef error, struct sp_str *out)
{
    if (!error)
        return;
    char *text = LLVMGetErrorMessage(error);
    if (out->len)
        sp_str_add(out, "; ");
    sp_str_add(out, text);
    LLVMDisposeErrorMessage(text);
}

static void
link_report(void *context, LLVMErrorRef error)
{
    struct cpu_linker *linker = context;
    link_take_error(error, &linker->reports);
}

/* Defines those of the wanted symbols that rt_cpu_symbol knows. The rest stays unknown, and ORC
 * reports it by name. */
static LLVMErrorRef
link_generate(LLVMOrcDefinitionGeneratorRef generator, void *context, LLVMOrcLookupStateRef *state,
              LLVMOrcLookupKind kind, LLVMOrcJITDylibRef table, LLVMOrcJITDylibLookupFlags flags,
              LLVMOrcCLookupSet wanted, size_t n)
{
    (void)generator, (void)context, (void)state, (void)kind, (void)flags;
    LLVMOrcCSymbolMapPair *pairs = sp_alloc(n * sizeof *pairs);
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t address = rt_cpu_symbol(LLVMOrcSymbolStringPoolEntryStr(wanted[i].Name));
        if (!address)
            continue;
        LLVMOrcRetainSymbolStringPoolEntry(wanted[i].Name);
        pairs[n_pairs].Name = wanted[i].Name;
        pairs[n_pairs].Sym.Address = address;
        pairs[n_pairs].Sym.Flags.GenericFlags =
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
        pairs[n_pairs++].Sym.Flags.TargetFlags = 0;
    }
    LLVMErrorRef error = LLVMErrorSuccess;
    if (n_pairs)
        error = LLVMOrcJITDylibDefine(table, LLVMOrcAbsoluteSymbols(pairs, n_pairs));
    free(pairs);
    return error;
}

struct cpu_linker *
rt_cpu_linker_create(struct sp_str *why_not)
{
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMOrcLLJITRef jit;
    LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit, NULL);
    if (error) {
        link_take_error(error, why_not);
        return NULL;
    }
    struct cpu_linker *linker = sp_alloc(sizeof *linker);
    memset(linker, 0, sizeof *linker);
    linker->jit = jit;
    linker->session = LLVMOrcLLJITGetExecutionSession(jit);
    sp_str_init(&linker->reports);
    LLVMOrcExecutionSessionSetErrorReporter(linker->session, link_report, linker);
    return linker;
}

void
rt_cpu_linker_destroy(struct cpu_linker *linker)
{
    if (!linker)
        return;
    link_take_error(LLVMOrcDisposeLLJIT(linker->jit), &linker->reports);
    sp_vec_finish(&linker->free_tables);
    sp_str_finish(&linker->reports);
    free(linker);
}

static LLVMOrcJITDylibRef
link_new_table(struct cpu_linker *linker)
{
    if (linker->free_tables.len)
        return sp_vec_pop(&linker->free_tables);
    struct sp_str name;
    sp_str_init(&name);
    sp_str_printf(&name, "kernel.%u", linker->n_tables++);
    LLVMOrcJITDylibRef table =
        LLVMOrcExecutionSessionCreateBareJITDylib(linker->session, name.data);
    sp_str_finish(&name);
    LLVMOrcJITDylibAddGenerator(
        table, LLVMOrcCreateCustomCAPIDefinitionGenerator(link_generate, NULL, NULL));
    return table;
}

/* Clearing drops the object, its memory and what the generator defined. */
static void
link_free_table(struct cpu_linker *linker, LLVMOrcJITDylibRef table)
{
    struct sp_str ignored;
    sp_str_init(&ignored);
    LLVMErrorRef error = LLVMOrcJITDylibClear(table);
    if (error)
        link_take_error(error, &ignored); /* a table that cannot be cleared is not used again */
    else
        sp_vec_push(NULL, &linker->free_tables, table);
    sp_str_finish(&ignored);
    if (++linker->n_unlinked % 64 == 0)
        LLVMOrcSymbolStringPoolClearDeadEntries(
            LLVMOrcExecutionSessionGetSymbolStringPool(linker->session));
}

struct link_lookup {
    uint64_t address;
    struct sp_str *why_not;
};

static void
link_found(LLVMErrorRef error, LLVMOrcCSymbolMapPairs result, size_t n, void *context)
{
    struct link_lookup *lookup = context;
    if (error)
        link_take_error(error, lookup->why_not);
    else if (n == 1)
        lookup->address = result[0].Sym.Address;
}

/* Without compile threads ORC links within this call, and `link_found` has run when it returns. */
static uint64_t
link_lookup(struct cpu_linker *linker, LLVMOrcJITDylibRef table, const char *name,
            struct sp_str *why_not)
{
    struct link_lookup lookup = {0, why_not};
    LLVMOrcCJITDylibSearchOrderElement order = {table,
                                                LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
    LLVMOrcCLookupSetElement wanted = {LLVMOrcExecutionSessionIntern(linker->session, name),
                                       LLVMOrcSymbolLookupFlagsRequiredSymbol};
    LLVMOrcExecutionSessionLookup(linker->session, LLVMOrcLookupKindStatic, &order, 1, &wanted, 1,
                                  link_found, &lookup);
    return lookup.address;
}

struct cpu_linked *
rt_cpu_link(struct cpu_linker *linker, const void *object, size_t size_B, const char *entry,
            cpu_entry *entry_out, struct sp_str *why_not)
{
    sp_str_clear(&linker->reports);
    LLVMOrcJITDylibRef table = link_new_table(linker);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size_B, entry);
    LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(linker->jit, table, buffer);
    uint64_t address = 0;
    if (error)
        link_take_error(error, why_not);
    else
        address = link_lookup(linker, table, entry, why_not);
    if (!address) {
        if (linker->reports.len)
            sp_str_printf(why_not, "%s%s", why_not->len ? ": " : "", linker->reports.data);
        if (!why_not->len)
            sp_str_printf(why_not, "it has no symbol '%s'", entry);
        link_free_table(linker, table);
        return NULL;
    }
    *entry_out = (cpu_entry)(uintptr_t)address;
    struct cpu_linked *linked = sp_alloc(sizeof *linked);
    linked->table = table;
    return linked;
}

void
rt_cpu_unlink(struct cpu_linker *linker, struct cpu_linked *linked)
{
    link_free_table(linker, linked->table);
    free(linked);
}
