/* read: a Python function to a module of phase PY; the front end's one entry.
 *
 * Snapshot, decode, blocks, SSA, one function after the other: a function that is met as a constant
 * (a global, a default, a closure's value) is put at the end of the module, empty, and read when
 * its turn comes, so recursion and cycles need no care. Functions with one identity (code, defaults
 * and closure: the resolver says) are read once. The first function must be readable. Another that
 * is not becomes an `err`, because it may never be called. */
#include "frontend/code.h"

#include <assert.h>
#include <string.h>

void
fe_reader_init(struct fe_reader *reader, struct ir_module *module,
               const struct fe_resolver *resolver, const struct sp_map *functions)
{
    memset(reader, 0, sizeof *reader);
    reader->arena = module->arena;
    reader->module = module;
    reader->resolver = resolver;
    reader->first_pending = module->funcs.len;
    sp_map_init(&reader->functions);
    if (functions)
        sp_map_copy(&reader->functions, functions);
}

void
fe_reader_finish(struct fe_reader *reader)
{
    sp_map_finish(&reader->functions);
}

uint32_t
fe_reader_add(struct fe_reader *reader, const void *identity, size_t identity_B, const char *name,
              const void *host)
{
    bool is_new;
    uint32_t *number =
        sp_map_intern(&reader->functions, reader->arena, identity, identity_B, &is_new);
    if (is_new) {
        *number = ir_func_new(reader->module, name)->index;
        assert(*number == reader->first_pending + reader->pending.len && "only the reader adds");
        sp_vec_push(reader->arena, &reader->pending, ((struct fe_pending){host, NULL}));
    }
    return *number;
}

uint32_t
fe_reader_define(struct fe_reader *reader, const struct fe_nested *nested)
{
    uint32_t number = ir_func_new(reader->module, nested->code->name)->index;
    sp_vec_push(reader->arena, &reader->pending, ((struct fe_pending){NULL, nested}));
    return number;
}

/* Generators and coroutines run in steps, which no later stage knows. The kernel's parameters are
 * what a launch binds, so none may have two stars; in a device function that counts only where it
 * is used. */
static bool
read_check_flags(const struct fe_code *code, bool is_kernel, struct sp_diag *diag)
{
    struct sp_src where = {.file = code->file,
                           .function = code->name,
                           .line = code->first_line,
                           .end_line = code->first_line,
                           .col = -1,
                           .end_col = -1};
    enum fe_construct construct;
    if (code->flags & (FE_CO_COROUTINE | FE_CO_ASYNC_GENERATOR))
        construct = FE_CONSTRUCT_ASYNC;
    else if (code->flags & FE_CO_GENERATOR)
        construct = FE_CONSTRUCT_YIELD;
    else if (is_kernel && (code->flags & FE_CO_VARKEYWORDS))
        construct = FE_CONSTRUCT_VARARGS;
    else
        return true;
    sp_diag_set(diag, SP_E_NYI_CONSTRUCT, &where, fe_construct_text(construct));
    if (fe_construct_hint(construct))
        sp_diag_hint(diag, "%s", fe_construct_hint(construct));
    return false;
}

/* Which parameters have defaults that the definition computes. */
static bool
read_given(const struct fe_function *function, struct ir_func *func, struct sp_diag *diag)
{
    const struct fe_nested *nested = function->nested;
    const struct fe_code *code = &function->code;
    if (nested->n_defaults > code->n_args)
        return fe_bad_code(code, 0, diag, "%u defaults", nested->n_defaults);
    for (uint32_t i = 0; i < nested->n_defaults; i++)
        func->params[code->n_args - nested->n_defaults + i].given = i + 1;
    for (uint32_t i = 0; i < nested->n_kwdefaults; i++) {
        const char *name = ir_const_info(func->module, nested->kw_names[i])->str;
        for (uint32_t k = code->n_args; k < func->n_params; k++)
            if (strcmp(func->params[k].name, name) == 0)
                func->params[k].given = nested->n_defaults + i + 1;
    }
    return true;
}

/* Every local is there, parameters first. */
static bool
read_params(struct fe_reader *reader, const struct fe_function *function, struct ir_func *func,
            struct sp_diag *diag)
{
    const struct fe_code *code = &function->code;
    func->has_varargs = code->flags & FE_CO_VARARGS;
    func->has_varkw = code->flags & FE_CO_VARKEYWORDS;
    uint64_t n = (uint64_t)code->n_args + code->n_kwonly;
    if (n + func->has_varargs + func->has_varkw > code->n_locals ||
        code->n_posonly > code->n_args || function->n_defaults > code->n_args)
        return fe_bad_code(code, 0, diag, "%llu parameters, %u defaults, %u variables",
                           (unsigned long long)n, function->n_defaults, code->n_locals);
    func->n_params = (uint32_t)n;
    func->n_posonly = code->n_posonly;
    func->n_kwonly = code->n_kwonly;
    func->n_free = function->nested ? function->nested->n_free : 0;
    func->params = SP_NEW_N(reader->arena, struct ir_func_param, ir_func_n_slots(func));
    uint32_t first_default = code->n_args - function->n_defaults;
    for (uint32_t i = 0; i < n; i++) {
        struct ir_func_param *param = &func->params[i];
        param->name = sp_arena_strdup(reader->arena, code->locals[i].name);
        if (i >= code->n_args)
            param->fallback = function->kwdefaults ? function->kwdefaults[i - code->n_args] : 0;
        else if (i >= first_default)
            param->fallback = function->defaults[i - first_default];
    }
    for (uint32_t i = 0; i < (uint32_t)func->has_varargs; i++)
        func->params[n + i].name = sp_arena_strdup(reader->arena, code->locals[n + i].name);
    for (uint32_t i = 0, k = 0; i < code->n_locals && k < func->n_free; i++)
        if (code->locals[i].kind == FE_LOCAL_FREE)
            func->params[n + func->has_varargs + k++].name =
                sp_arena_strdup(reader->arena, code->locals[i].name);
    return !function->nested || read_given(function, func, diag);
}

/* Bytes to blocks. */
static bool
read_blocks(const struct fe_code *code, struct sp_arena *arena, struct fe_insns *insns,
            struct fe_cfg *cfg, struct sp_diag *diag)
{
    if (!fe_decode(code, arena, insns, diag))
        return false;
    fe_thread(insns, arena);
    return fe_cfg_make(code, insns, arena, cfg, diag);
}

static bool
read_code(struct fe_reader *reader, const struct fe_function *function, struct ir_func *func,
          struct sp_diag *diag)
{
    struct sp_arena scratch;
    struct fe_insns insns;
    struct fe_cfg cfg;
    sp_arena_init(&scratch);
    bool ok = read_params(reader, function, func, diag) &&
              read_check_flags(&function->code, func->index == 0, diag) &&
              read_blocks(&function->code, &scratch, &insns, &cfg, diag) &&
              fe_build(reader, function, &insns, &cfg, &scratch, func, diag);
    sp_arena_finish(&scratch);
    return ok;
}

static bool
read_function(struct fe_reader *reader, struct fe_pending pending, struct ir_func *func,
              struct sp_diag *diag)
{
    struct fe_function function = {0};
    if (pending.nested)
        function = (struct fe_function){
            .host = pending.nested->host, .code = *pending.nested->code, .nested = pending.nested};
    else if (!reader->resolver->function(reader, pending.host, &function, diag))
        return false;
    func->name = sp_arena_strdup(reader->arena, function.code.name);
    func->file = function.code.file ? sp_arena_strdup(reader->arena, function.code.file) : NULL;
    func->line = function.code.first_line;
    return read_code(reader, &function, func, diag);
}

/* Makes the function, wherever its reading stopped, one that reports `diag`, which it takes over.
 * It keeps what is known of its parameters. */
static void
read_as_error(struct ir_func *func, struct sp_diag *diag)
{
    for (uint32_t i = 0; i < func->errors.len; i++)
        sp_diag_finish(&func->errors.data[i]);
    func->errors.len = 0;
    func->insns.len = 1;
    func->operands.len = 0;
    func->blocks.len = 0;
    uint32_t block = ir_block_new(func);
    ir_set_src(func, diag->where.line, diag->where.col, diag->where.end_line, diag->where.end_col);
    sp_vec_push(func->module->arena, &func->errors, *diag);
    ir_insn_add(func, block, IR_ERR, IR_T_NONE, 0, 0, NULL);
    ir_unreachable(func, block);
}

/* Reads the functions that are queued. With `first_diag` the first one must succeed. */
static bool
read_pending(struct fe_reader *reader, struct sp_diag *first_diag)
{
    for (uint32_t i = 0; i < reader->pending.len; i++) {
        struct ir_func *func = reader->module->funcs.data[reader->first_pending + i];
        struct sp_diag diag;
        sp_diag_init(&diag);
        bool is_first = i == 0 && first_diag;
        if (read_function(reader, reader->pending.data[i], func, is_first ? first_diag : &diag))
            continue;
        if (is_first)
            return false;
        read_as_error(func, &diag);
    }
    reader->first_pending += reader->pending.len;
    reader->pending.len = 0;
    return true;
}

void
fe_reader_run(struct fe_reader *reader)
{
    bool ok = read_pending(reader, NULL);
    assert(ok && "only a first function can fail");
    (void)ok;
}

bool
fe_read(struct sp_arena *arena, const struct fe_resolver *resolver, const void *function,
        struct sp_map *functions_out, struct ir_module **module_out, struct sp_diag *diag)
{
    struct ir_module *module = ir_module_new(arena, IR_PHASE_PY);
    struct fe_reader reader;
    fe_reader_init(&reader, module, resolver, NULL);
    resolver->add(&reader, function);
    bool ok = read_pending(&reader, diag);
    if (ok && functions_out)
        sp_map_copy(functions_out, &reader.functions);
    fe_reader_finish(&reader);
    if (!ok) {
        ir_module_finish(module);
        return false;
    }
    module->hash = fe_hash_module(module);
    *module_out = module;
    return true;
}

bool
fe_print_code(const struct fe_code *code, struct sp_str *out, struct sp_diag *diag)
{
    struct sp_arena scratch;
    struct fe_insns insns;
    struct fe_cfg cfg;
    sp_arena_init(&scratch);
    bool ok = read_blocks(code, &scratch, &insns, &cfg, diag);
    if (ok)
        fe_print_cfg(code, &insns, &cfg, out);
    sp_arena_finish(&scratch);
    return ok;
}
