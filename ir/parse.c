/* parse: IR text to a module of either phase; the inverse of ir/print.c, specified in docs/ir.md.
 *
 * Line by line and without look-ahead. It checks the syntax and that every number can be stored;
 * whether the result is sound is ir_verify's question, so broken modules can be written as text to
 * test the verifier. Values keep the numbers of the text; instructions without a value get those
 * after the largest. A block that names no predecessors gets them in the order of the text's
 * edges. Numbers are bounded by a budget, so a short text cannot ask for much memory. */
#include "ir/parse.h"

#include <string.h>

#define PARSE_BUDGET (1u << 21)
#define PARSE_MAX_PARAMS 4096
#define PARSE_MAX_COUNT 65535

/* An instruction's line; it gets its ref when the function's numbers are known. */
struct parse_line {
    ir_ref number; /* 0: none */
    struct ir_insn insn;
};

struct parse_func {
    struct ir_func *func;
    SP_VEC(struct parse_line) lines;
    SP_VEC(bool) seen, has_preds; /* by block */
    ir_ref max;                   /* largest value number */
};

static bool
parse_spend(struct ir_parse *p, uint32_t amount)
{
    if (amount > p->budget)
        return ir_parse_fail(p, "numbers too large");
    p->budget -= amount;
    return true;
}

/* Makes the function have block `b`. */
static bool
parse_block_exists(struct ir_parse *p, struct parse_func *f, uint32_t b)
{
    if (b < f->func->blocks.len)
        return true;
    if (!parse_spend(p, b + 1 - f->func->blocks.len))
        return false;
    while (f->func->blocks.len <= b) {
        ir_block_new(f->func);
        sp_vec_push(p->lex.arena, &f->seen, false);
        sp_vec_push(p->lex.arena, &f->has_preds, false);
    }
    return true;
}

static uint32_t
parse_src_index(struct ir_func *func, const struct sp_src *src)
{
    const struct sp_src *last = &func->srcs.data[func->srcs.len - 1];
    if (!src->line)
        return 0;
    bool same = last->line == src->line && last->col == src->col &&
                last->end_line == src->end_line && last->end_col == src->end_col &&
                last->file == src->file && last->function == src->function;
    if (!same)
        sp_vec_push(func->module->arena, &func->srcs, *src);
    return func->srcs.len - 1;
}

static bool
parse_op(struct ir_parse *p, enum ir_op *out)
{
    const char *name;
    size_t len;
    if (!ir_lex_name(&p->lex, &name, &len))
        return ir_parse_fail(p, "operation expected");
    for (uint32_t op = IR_NOP + 1; op < IR_N_OPS; op++) {
        const char *text = ir_op_row((enum ir_op)op)->name;
        if (strlen(text) == len && memcmp(text, name, len) == 0) {
            *out = (enum ir_op)op;
            return true;
        }
    }
    return ir_parse_fail(p, "unknown operation '%.*s'", (int)(len < 40 ? len : 40), name);
}

/* Operands and successors, separated by commas. */
static bool
parse_operands(struct ir_parse *p, struct parse_func *f, struct ir_insn *insn)
{
    struct ir_func *func = f->func;
    insn->first_arg = func->operands.len;
    ir_lex_blank(&p->lex);
    if (*p->lex.at != '%' && *p->lex.at != 'b')
        return true;
    do {
        uint32_t n;
        if (ir_lex_ref(&p->lex, '%', UINT32_MAX, &n)) {
            if (insn->n_args == UINT16_MAX || func->blocks.data[insn->block].n_succ)
                return ir_parse_fail(p, "too many operands");
            if (!parse_spend(p, 1))
                return false;
            sp_vec_push(p->lex.arena, &func->operands, n);
            insn->n_args++;
        } else if (ir_lex_ref(&p->lex, 'b', PARSE_BUDGET, &n)) {
            if (!parse_block_exists(p, f, n))
                return false;
            struct ir_block *block = &func->blocks.data[insn->block];
            if (block->n_succ == 2 || !(ir_op_row((enum ir_op)insn->op)->flags & IR_TERM))
                return ir_parse_fail(p, "successor of an instruction that has none");
            block->succ[block->n_succ++] = n;
        } else {
            return ir_parse_fail(p, "operand expected");
        }
    } while (ir_lex_char(&p->lex, ','));
    return true;
}

static bool
parse_insn(struct ir_parse *p, struct parse_func *f, uint32_t block)
{
    struct parse_line line = {.insn = {.block = block}};
    struct sp_src src = {0};
    enum ir_op op = IR_NOP;
    if (ir_lex_ref(&p->lex, '%', PARSE_BUDGET, &line.number)) {
        if (!line.number || !ir_lex_char(&p->lex, '='))
            return ir_parse_fail(p, "'%%number =' expected");
    }
    if (!parse_op(p, &op))
        return false;
    const struct ir_op_row *row = ir_op_row(op);
    line.insn.op = (uint16_t)op;
    if (line.number ? row->result == IR_RESULT_NONE
                    : row->result != IR_RESULT_NONE && !ir_op_may_be_void(op))
        return ir_parse_fail(p, "'%s' %s a value", row->name,
                             line.number ? "does not make" : "makes");
    if (p->module->phase == IR_PHASE_CORE && line.number) {
        if (!ir_parse_machine(p, &line.insn.type))
            return false;
    } else if (ir_op_may_be_void(op)) {
        line.insn.type = IR_T_VOID;
    }
    if (!ir_parse_imm(p, op, &line.insn.imm) || !parse_operands(p, f, &line.insn) ||
        !ir_parse_src(p, &src))
        return false;
    line.insn.src = parse_src_index(f->func, &src);
    if (line.number > f->max)
        f->max = line.number;
    sp_vec_push(p->lex.arena, &f->lines, line);
    return true;
}

/* "b3 (b0, b2):" after which its instructions follow. */
static bool
parse_label(struct ir_parse *p, struct parse_func *f, uint32_t b)
{
    if (!parse_block_exists(p, f, b))
        return false;
    if (f->seen.data[b])
        return ir_parse_fail(p, "block b%u appears twice", b);
    f->seen.data[b] = true;
    if (ir_lex_char(&p->lex, '(')) {
        f->has_preds.data[b] = true;
        do {
            uint32_t pred;
            if (!ir_lex_ref(&p->lex, 'b', PARSE_BUDGET, &pred))
                return ir_parse_fail(p, "predecessor expected");
            if (!parse_block_exists(p, f, pred) || !parse_spend(p, 1))
                return false;
            sp_vec_push(p->lex.arena, &f->func->blocks.data[b].preds, pred);
        } while (ir_lex_char(&p->lex, ','));
        if (!ir_lex_char(&p->lex, ')'))
            return ir_parse_fail(p, "')' expected");
    }
    return ir_lex_char(&p->lex, ':') || ir_parse_fail(p, "':' expected");
}

/* error 0 NYI_CONSTRUCT "message" hint "text" !3:4 */
static bool
parse_error(struct ir_parse *p, struct ir_func *func)
{
    uint32_t index;
    const char *name;
    size_t len;
    char *message;
    char *hint = NULL;
    struct sp_src where = {.col = -1, .end_col = -1};
    enum sp_error code = SP_OK;
    if (!ir_lex_u32(&p->lex, UINT32_MAX, &index) || index != func->errors.len)
        return ir_parse_fail(p, "error %u expected", func->errors.len);
    if (!ir_lex_name(&p->lex, &name, &len))
        return ir_parse_fail(p, "code of an error expected");
    for (int c = SP_OK + 1; c < SP_N_ERRORS; c++)
        if (strlen(sp_error_name((enum sp_error)c)) == len &&
            memcmp(sp_error_name((enum sp_error)c), name, len) == 0)
            code = (enum sp_error)c;
    if (!code)
        return ir_parse_fail(p, "unknown error '%.*s'", (int)(len < 40 ? len : 40), name);
    if (!ir_parse_text(p, "message", &message))
        return false;
    if (ir_lex_word(&p->lex, "hint") && !ir_parse_text(p, "hint", &hint))
        return false;
    if (!ir_parse_src(p, &where))
        return false;
    struct sp_diag from = {.code = code, .where = where, .message = message, .hint = hint};
    struct sp_diag diag;
    sp_diag_copy(&diag, &from);
    sp_vec_push(p->lex.arena, &func->errors, diag);
    return true;
}

/* "given N", or a constant. */
static bool
parse_default(struct ir_parse *p, struct ir_func_param *param)
{
    if (!ir_lex_word(&p->lex, "given"))
        return ir_parse_const(p, &param->fallback);
    if (!ir_lex_u32(&p->lex, PARSE_MAX_PARAMS, &param->given))
        return ir_parse_fail(p, "number expected");
    param->given++;
    return true;
}

static bool
parse_params(struct ir_parse *p, struct ir_func *func)
{
    SP_VEC(struct ir_func_param) params = {0};
    if (!ir_lex_char(&p->lex, '('))
        return ir_parse_fail(p, "'(' expected");
    while (!ir_lex_char(&p->lex, ')')) {
        struct ir_func_param param = {0};
        char *name;
        if (params.len == PARSE_MAX_PARAMS)
            return ir_parse_fail(p, "too many parameters");
        if (params.len && !ir_lex_char(&p->lex, ','))
            return ir_parse_fail(p, "',' or ')' expected");
        if (p->module->phase == IR_PHASE_CORE && !ir_parse_machine(p, &param.type))
            return false;
        if (!ir_parse_text(p, "name of the parameter", &name))
            return false;
        if (ir_lex_char(&p->lex, '=') && !parse_default(p, &param))
            return false;
        param.name = name;
        sp_vec_push(p->lex.arena, &params, param);
    }
    uint32_t n_more = func->n_free + func->has_varargs;
    if (params.len < n_more)
        return ir_parse_fail(p, "fewer names than free variables and *arguments");
    func->params = params.data;
    func->n_params = params.len - n_more;
    if (p->module->phase != IR_PHASE_CORE || !ir_lex_word(&p->lex, "->"))
        return true;
    SP_VEC(ir_type) results = {0};
    do {
        ir_type type;
        if (results.len == PARSE_MAX_PARAMS)
            return ir_parse_fail(p, "too many results");
        if (!ir_parse_machine(p, &type))
            return false;
        sp_vec_push(p->lex.arena, &results, type);
    } while (ir_lex_char(&p->lex, ','));
    func->results = results.data;
    func->n_results = results.len;
    return true;
}

/* What stands between the name and the parameters. */
static bool
parse_attributes(struct ir_parse *p, struct ir_func *func)
{
    for (;;) {
        uint32_t n;
        char *text;
        if (ir_lex_word(&p->lex, "file")) {
            if (!ir_parse_text(p, "file", &text))
                return false;
            func->file = text;
        } else if (ir_lex_word(&p->lex, "line")) {
            if (!ir_lex_u32(&p->lex, INT32_MAX, &n))
                return ir_parse_fail(p, "line number expected");
            func->line = (int32_t)n;
        } else if (ir_lex_word(&p->lex, "posonly")) {
            if (!ir_lex_u32(&p->lex, PARSE_MAX_PARAMS, &func->n_posonly))
                return ir_parse_fail(p, "number expected");
        } else if (ir_lex_word(&p->lex, "kwonly")) {
            if (!ir_lex_u32(&p->lex, PARSE_MAX_PARAMS, &func->n_kwonly))
                return ir_parse_fail(p, "number expected");
        } else if (ir_lex_word(&p->lex, "free")) {
            if (!ir_lex_u32(&p->lex, PARSE_MAX_PARAMS, &func->n_free))
                return ir_parse_fail(p, "number expected");
        } else if (ir_lex_word(&p->lex, "varargs")) {
            func->has_varargs = true;
        } else if (ir_lex_word(&p->lex, "varkw")) {
            func->has_varkw = true;
        } else if (ir_lex_word(&p->lex, "kernel")) {
            func->is_kernel = true;
        } else if (ir_lex_word(&p->lex, "may_raise")) {
            func->may_raise = true;
        } else if (ir_lex_word(&p->lex, "may_wait")) {
            func->may_wait = true;
        } else if (ir_lex_word(&p->lex, "may_print")) {
            func->may_print = true;
        } else {
            return true;
        }
    }
}

/* Gives lines their refs, blocks their instructions and predecessors. */
static bool
parse_place(struct ir_parse *p, struct parse_func *f)
{
    struct ir_func *func = f->func;
    struct sp_arena *arena = p->lex.arena;
    if (!parse_spend(p, f->max) || !parse_spend(p, f->lines.len))
        return false;
    while (func->insns.len <= f->max)
        sp_vec_push(arena, &func->insns, (struct ir_insn){.op = IR_NOP});
    for (uint32_t i = 0; i < f->lines.len; i++) {
        struct parse_line *line = &f->lines.data[i];
        ir_ref ref = line->number ? line->number : func->insns.len;
        if (!line->number)
            sp_vec_push(arena, &func->insns, line->insn);
        else if (func->insns.data[ref].op != IR_NOP)
            return ir_parse_fail(p, "value %%%u is made twice in this function", ref);
        else
            func->insns.data[ref] = line->insn;
        sp_vec_push(arena, &func->blocks.data[line->insn.block].insns, ref);
    }
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        for (uint32_t i = 0; i < block->n_succ; i++)
            if (!f->has_preds.data[block->succ[i]])
                sp_vec_push(arena, &func->blocks.data[block->succ[i]].preds, b);
    }
    return true;
}

static bool
parse_end(struct ir_parse *p)
{
    if (!ir_lex_is_end(&p->lex))
        return ir_parse_fail(p, "unexpected text at the end of the line");
    ir_lex_lines(&p->lex);
    return true;
}

static bool
parse_func(struct ir_parse *p)
{
    struct parse_func f = {0};
    char *name;
    uint32_t index;
    if (!ir_lex_ref(&p->lex, '@', PARSE_MAX_COUNT, &index) || index != p->module->funcs.len)
        return ir_parse_fail(p, "'@%u' expected", p->module->funcs.len);
    if (!ir_parse_text(p, "name of the function", &name))
        return false;
    f.func = ir_func_new(p->module, name);
    if (!parse_attributes(p, f.func) || !parse_params(p, f.func))
        return false;
    if (!ir_lex_char(&p->lex, '{'))
        return ir_parse_fail(p, "'{' expected");
    if (!parse_end(p))
        return false;
    while (ir_lex_word(&p->lex, "error"))
        if (!parse_error(p, f.func) || !parse_end(p))
            return false;
    uint32_t block = UINT32_MAX;
    while (!ir_lex_char(&p->lex, '}')) {
        uint32_t b;
        if (!*p->lex.at)
            return ir_parse_fail(p, "'}' expected");
        if (ir_lex_ref(&p->lex, 'b', PARSE_BUDGET, &b)) {
            block = b;
            if (!parse_label(p, &f, b))
                return false;
        } else if (block == UINT32_MAX) {
            return ir_parse_fail(p, "block expected");
        } else if (!parse_insn(p, &f, block)) {
            return false;
        }
        if (!parse_end(p))
            return false;
    }
    return parse_place(p, &f) && parse_end(p);
}

/* site 0 OUT_OF_BOUNDS "x" 4 !12:4-9 "file" "function" */
static bool
parse_site(struct ir_parse *p)
{
    struct sp_fault_site site = {.where = {.col = -1, .end_col = -1}};
    uint32_t index;
    const char *name;
    size_t len;
    if (!ir_lex_u32(&p->lex, PARSE_MAX_COUNT, &index) || index != p->module->sites.len)
        return ir_parse_fail(p, "site %u expected", p->module->sites.len);
    if (!ir_lex_name(&p->lex, &name, &len))
        return ir_parse_fail(p, "code of an error expected");
    for (int c = SP_OK + 1; c < SP_N_ERRORS; c++)
        if (strlen(sp_error_name((enum sp_error)c)) == len &&
            memcmp(sp_error_name((enum sp_error)c), name, len) == 0)
            site.code = (enum sp_error)c;
    if (!site.code)
        return ir_parse_fail(p, "unknown error '%.*s'", (int)(len < 40 ? len : 40), name);
    if (!ir_parse_text(p, "name", &site.name))
        return false;
    uint32_t most = site.code == SP_E_NOT_PRINTED ? SP_PRINT_VALUES : SP_FAULT_VALUES;
    if (!ir_lex_u32(&p->lex, most, &site.n_values))
        return ir_parse_fail(p, "number of values expected, at most %u", most);
    if (!ir_parse_src(p, &site.where))
        return false;
    sp_vec_push(p->lex.arena, &p->module->sites, site);
    return true;
}

/* static 0 shared "tile" 1024 align(4); static 1 const "table" 4 align(2) = "0000803f" */
static bool
parse_static(struct ir_parse *p)
{
    struct ir_static row = {0};
    uint32_t index, align;
    char *name;
    if (!ir_lex_u32(&p->lex, PARSE_MAX_COUNT, &index) || index != p->module->statics.len)
        return ir_parse_fail(p, "static %u expected", p->module->statics.len);
    bool is_const = ir_lex_word(&p->lex, "const");
    if (!is_const && !ir_lex_word(&p->lex, "shared"))
        return ir_parse_fail(p, "'shared' or 'const' expected");
    row.space = is_const ? IR_SPACE_CONST : IR_SPACE_SHARED;
    if (!ir_parse_text(p, "name", &name))
        return false;
    row.name = name;
    if (!ir_lex_u32(&p->lex, IR_MAX_STATIC_B, &row.size_B))
        return ir_parse_fail(p, "number of bytes expected");
    if (!ir_lex_word(&p->lex, "align") || !ir_lex_char(&p->lex, '(') ||
        !ir_lex_u32(&p->lex, IR_MAX_ALIGN_LOG2, &align) || !ir_lex_char(&p->lex, ')'))
        return ir_parse_fail(p, "'align(LOG2)' expected");
    row.align_log2 = (uint8_t)align;
    if (is_const && !ir_lex_char(&p->lex, '='))
        return ir_parse_fail(p, "'=' expected");
    if (is_const && !ir_parse_bytes(p, row.size_B, &row.bytes))
        return false;
    sp_vec_push(p->lex.arena, &p->module->statics, row);
    return true;
}

static bool
parse_module(struct ir_parse *p)
{
    ir_lex_lines(&p->lex);
    if (!ir_lex_word(&p->lex, "module"))
        return ir_parse_fail(p, "'module core' or 'module py' expected");
    if (ir_lex_word(&p->lex, "core"))
        p->module->phase = IR_PHASE_CORE;
    else if (ir_lex_word(&p->lex, "py"))
        p->module->phase = IR_PHASE_PY;
    else
        return ir_parse_fail(p, "'core' or 'py' expected");
    if (!parse_end(p))
        return false;
    while (ir_lex_word(&p->lex, "site"))
        if (!parse_site(p) || !parse_end(p))
            return false;
    while (ir_lex_word(&p->lex, "static"))
        if (!parse_static(p) || !parse_end(p))
            return false;
    while (ir_lex_word(&p->lex, "func"))
        if (!parse_func(p))
            return false;
    return !*p->lex.at || ir_parse_fail(p, "'func' expected");
}

bool
ir_parse(const char *text, struct sp_arena *arena, struct ir_module **module_out,
         struct sp_diag *diag)
{
    struct ir_parse p = {
        .lex = {.at = text, .line = 1, .arena = arena},
        .module = ir_module_new(arena, IR_PHASE_PY),
        .diag = diag,
        .budget = PARSE_BUDGET,
    };
    if (!parse_module(&p)) {
        ir_module_finish(p.module);
        return false;
    }
    *module_out = p.module;
    return true;
}
