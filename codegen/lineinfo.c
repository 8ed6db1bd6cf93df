/* Line tables: the source ranges of instructions as DWARF locations.
 *
 * In: CORE functions with source ranges, an emitter at work. Out: a compile unit of kind "line
 * tables only" (PTX: "directives only", as nvcc -lineinfo), a subprogram per function, a
 * location per LLVM instruction. Nothing is emitted without the option, and no variables or
 * types: profilers need lines, and our own errors come from fault sites. */
#include <string.h>

#include "codegen/internal.h"

static LLVMMetadataRef
lineinfo_file(struct cg_emit *e, const char *path)
{
    if (!path)
        path = "<unknown>";
    bool is_new = false;
    uint32_t *slot = sp_map_intern(&e->di_files, e->arena, path, strlen(path), &is_new);
    if (!is_new)
        return e->di_file_nodes.data[*slot];
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t folder_len = slash ? (size_t)(slash - path) : 1;
    LLVMMetadataRef file =
        LLVMDIBuilderCreateFile(e->di, base, strlen(base), slash ? path : ".", folder_len);
    *slot = e->di_file_nodes.len;
    sp_vec_push(e->arena, &e->di_file_nodes, file);
    return file;
}

void
cg_lineinfo_begin(struct cg_emit *e)
{
    if (!e->options->lineinfo)
        return;
    sp_map_init(&e->di_files);
    e->di = LLVMCreateDIBuilder(e->module);
    LLVMMetadataRef file = lineinfo_file(e, e->core->funcs.data[0]->file);
    /* LLVM's DebugDirectivesOnly, which the C API has no name for: .loc and .file, no sections. */
    LLVMDWARFEmissionKind directives = (LLVMDWARFEmissionKind)3;
    e->di_unit = LLVMDIBuilderCreateCompileUnit(
        e->di, LLVMDWARFSourceLanguagePython, file, "gpujit", 6, true, "", 0, 0, "", 0,
        e->arch.sm ? directives : LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0, "", 0);
    e->di_type = LLVMDIBuilderCreateSubroutineType(e->di, file, NULL, 0, LLVMDIFlagZero);
    /* NVPTX writes DWARF 2; ELF hosts take 4. */
    const struct {
        const char *key;
        unsigned value;
    } flags[] = {{"Debug Info Version", LLVMDebugMetadataVersion()},
                 {"Dwarf Version", e->arch.sm ? 2 : 4}};
    for (size_t i = 0; i < 2; i++) {
        LLVMMetadataRef value = LLVMValueAsMetadata(cg_emit_i32(e, flags[i].value));
        LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, flags[i].key,
                          strlen(flags[i].key), value);
    }
}

void
cg_lineinfo_func(struct cg_emit *e, const struct ir_func *func, LLVMValueRef fn)
{
    if (!e->di)
        return;
    LLVMMetadataRef file = lineinfo_file(e, func->file);
    unsigned line = func->line > 0 ? (unsigned)func->line : 0;
    size_t name_len;
    const char *linkage = LLVMGetValueName2(fn, &name_len);
    e->di_scope = LLVMDIBuilderCreateFunction(
        e->di, file, func->name, strlen(func->name), linkage, name_len, file, line, e->di_type,
        LLVMGetLinkage(fn) == LLVMInternalLinkage, true, line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(fn, e->di_scope);
}

void
cg_lineinfo_insn(struct cg_emit *e, ir_ref ref)
{
    if (!e->di)
        return;
    struct sp_src src = ir_insn_src(e->func, ref);
    unsigned line = src.line > 0 ? (unsigned)src.line : 0;
    unsigned column = src.line > 0 && src.col >= 0 ? (unsigned)src.col + 1 : 0;
    LLVMSetCurrentDebugLocation2(
        e->builder, LLVMDIBuilderCreateDebugLocation(e->context, line, column, e->di_scope, NULL));
}

void
cg_lineinfo_end(struct cg_emit *e)
{
    if (e->di)
        LLVMDIBuilderFinalize(e->di);
}
