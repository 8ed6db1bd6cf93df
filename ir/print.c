/* print: modules and functions as IR text, the format that docs/ir.md specifies and ir/parse.c
 * reads.
 *
 * One line per instruction: result, operation, type (CORE), immediate, operands, successors, source
 * range. What the immediate is follows from the operation alone (ir_imm_of), so printer, parser and
 * verifier agree by one table. Values keep their numbers, also over passes: a listing after a pass
 * can be compared with the one before. Guards and the content hash are not part of the text; host
 * objects appear by their type's name only. */
#include "ir/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum ir_imm
ir_imm_of(enum ir_op op)
{
    switch (op) {
    case IR_PARAM: return IR_IMM_PARAM;
    case IR_CONST: return IR_IMM_CONST;
    case IR_PHI:
    case IR_CELL:
    case IR_CELLGET:
    case IR_CELLSET: return IR_IMM_OPT_NAME;
    case IR_UNDEF:
    case IR_BOUND:
    case IR_ATTR:
    case IR_SETATTR: return IR_IMM_NAME;
    case IR_ERR: return IR_IMM_ERROR;
    case IR_BIN: return IR_IMM_BINOP;
    case IR_UN: return IR_IMM_UNOP;
    case IR_CMP: return IR_IMM_CMPOP;
    case IR_TEXT: return IR_IMM_TEXT;
    case IR_IS:
    case IR_IN: return IR_IMM_NOT;
    case IR_SETITEM: return IR_IMM_INPLACE;
    case IR_UNPACK:
    case IR_UNPACK_EX:
    case IR_ELEM:
    case IR_SLOT:
    case IR_STATIC:
    case IR_RESULT: return IR_IMM_NUMBER;
    case IR_CALL:
    case IR_CALL_EX: return IR_IMM_NAMES;
    case IR_ICMP: return IR_IMM_ICMP;
    case IR_FCMP: return IR_IMM_FCMP;
    case IR_LOAD:
    case IR_STORE: return IR_IMM_ALIGN;
    case IR_ATOMIC: return IR_IMM_ATOMIC;
    case IR_CLOSURE:
    case IR_CALLF: return IR_IMM_FUNC;
    case IR_INTRIN:
    case IR_EFFECT: return IR_IMM_INTRIN;
    case IR_PRINT:
    case IR_RAISE: return IR_IMM_SITE;
    default: return IR_IMM_NONE;
    }
}

static void
print_string(const char *text, size_t len, struct sp_str *out)
{
    sp_str_add_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            sp_str_printf(out, "\\%c", c);
        else if (c < ' ' || c == 127)
            sp_str_printf(out, "\\x%02x", c);
        else
            sp_str_add_char(out, (char)c);
    }
    sp_str_add_char(out, '"');
}

static void
print_text(const char *text, struct sp_str *out)
{
    print_string(text, strlen(text), out);
}

/* Two hexadecimal digits a byte. */
static void
print_bytes(const uint8_t *bytes, size_t n, struct sp_str *out)
{
    sp_str_add_char(out, '"');
    for (size_t i = 0; i < n; i++)
        sp_str_printf(out, "%02x", bytes[i]);
    sp_str_add_char(out, '"');
}

static void
print_float(double value, struct sp_str *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ir_text_float(value, out);
    if (isnan(value) && bits != 0x7ff8000000000000u)
        sp_str_printf(out, "(0x%" PRIx64 ")", bits);
}

static void
print_const(const struct ir_module *module, ir_const c, struct sp_str *out)
{
    const struct ir_const_info *info = ir_const_info(module, c);
    if (ir_const_may_be_member(info) && info->named) {
        const struct ir_const_info *name = ir_const_info(module, info->named);
        sp_str_add(out, info->scalar ? "plain member " : "member ");
        print_string(name->str, name->len, out);
        sp_str_add_char(out, ' ');
    }
    switch ((enum ir_const_kind)info->kind) {
    case IR_C_NONE_SLOT: sp_str_add(out, "_"); break;
    case IR_C_INT: sp_str_printf(out, "%" PRId64, info->i); break;
    case IR_C_UINT: sp_str_printf(out, "%" PRIu64 "u", info->u); break;
    case IR_C_BIG:
        sp_str_add(out, "big ");
        print_text(info->str, out);
        break;
    case IR_C_FLOAT: print_float(info->f, out); break;
    case IR_C_BOOL: sp_str_add(out, info->i ? "True" : "False"); break;
    case IR_C_TYPED: {
        const struct ir_scalar_row *row = ir_scalar_row(info->scalar);
        sp_str_printf(out, "%s(", row->name);
        if (row->class == IR_CLASS_FLOAT)
            print_float(info->f, out);
        else if (row->class == IR_CLASS_UINT && info->u > INT64_MAX)
            sp_str_printf(out, "%" PRIu64 "u", info->u);
        else
            sp_str_printf(out, "%" PRId64, info->i);
        sp_str_add_char(out, ')');
        break;
    }
    case IR_C_NONE: sp_str_add(out, "None"); break;
    case IR_C_ELLIPSIS: sp_str_add(out, "..."); break;
    case IR_C_STR: print_string(info->str, info->len, out); break;
    case IR_C_TUPLE:
    case IR_C_CLASS:
    case IR_C_PARTIAL:
    case IR_C_SLICE:
        if (info->named && info->kind == IR_C_TUPLE) {
            print_const(module, info->named, out);
            sp_str_add_char(out, ' ');
        }
        sp_str_add(out, info->kind == IR_C_CLASS     ? "class "
                        : info->kind == IR_C_PARTIAL ? "partial "
                                                     : "");
        sp_str_add(out, info->kind == IR_C_SLICE ? "slice(" : "(");
        for (uint32_t i = 0; i < info->len; i++) {
            sp_str_add(out, i ? ", " : "");
            print_const(module, info->elems[i], out);
        }
        sp_str_add(out, info->len == 1 ? ",)" : ")");
        if (info->named && info->kind != IR_C_TUPLE) {
            sp_str_add(out, " with ");
            print_const(module, info->named, out);
        }
        break;
    case IR_C_ARRAY:
        sp_str_add(out, "array ");
        ir_text_storable(module, info->scalar, out);
        sp_str_add_char(out, ' ');
        print_const(module, info->named, out);
        sp_str_add(out, info->len & IR_ARRAY_F ? " F" : "");
        sp_str_add(out, info->len & IR_ARRAY_WRITEABLE ? " writeable " : " ");
        print_text(info->array_name, out);
        sp_str_add_char(out, ' ');
        print_bytes(info->bytes, ir_const_array_size(module, info), out);
        break;
    case IR_C_FUNC: sp_str_printf(out, "@%" PRIu64, info->u); break;
    case IR_C_INTRIN:
        sp_str_printf(out, "intrin %s", ir_intrin_row((enum ir_intrin)info->u)->path);
        break;
    case IR_C_NAMESPACE:
        sp_str_add(out, "namespace ");
        print_text(info->str, out);
        break;
    case IR_C_DTYPE:
        sp_str_add(out, "dtype ");
        ir_text_storable(module, info->scalar, out);
        break;
    case IR_C_EXCEPTION:
        sp_str_add(out, "exception ");
        print_text(info->str, out);
        if (info->len)
            sp_str_printf(out, " %u", info->len);
        break;
    case IR_C_HOST:
        sp_str_add(out, "host ");
        print_text(info->type_name, out);
        break;
    }
}

static void
print_opt_text(const char *text, struct sp_str *out)
{
    if (text)
        print_text(text, out);
    else
        sp_str_add_char(out, '-');
}

/* " !12:4-9" or " !12:4-13:9", then file and function if the range has its own. */
static void
print_src(const struct sp_src *src, struct sp_str *out)
{
    if (!src->line)
        return;
    sp_str_printf(out, " !%d", src->line);
    if (src->col >= 0) {
        sp_str_printf(out, ":%d", src->col);
        if (src->end_col >= 0 && src->end_line == src->line)
            sp_str_printf(out, "-%d", src->end_col);
        else if (src->end_col >= 0)
            sp_str_printf(out, "-%d:%d", src->end_line, src->end_col);
    }
    if (!src->file && !src->function)
        return;
    sp_str_add_char(out, ' ');
    print_opt_text(src->file, out);
    sp_str_add_char(out, ' ');
    print_opt_text(src->function, out);
}

static void
print_name_of(const char *name, struct sp_str *out)
{
    sp_str_add_char(out, ' ');
    sp_str_add(out, name);
}

static void
print_imm(const struct ir_func *func, const struct ir_insn *insn, struct sp_str *out)
{
    uint32_t imm = insn->imm;
    switch (ir_imm_of((enum ir_op)insn->op)) {
    case IR_IMM_NONE: break;
    case IR_IMM_NUMBER:
    case IR_IMM_PARAM: sp_str_printf(out, " %u", imm); break;
    case IR_IMM_OPT_NAME:
    case IR_IMM_NAMES:
        if (!imm)
            break;
        /* fallthrough */
    case IR_IMM_NAME:
    case IR_IMM_CONST:
        sp_str_add_char(out, ' ');
        print_const(func->module, imm, out);
        break;
    case IR_IMM_BINOP:
        sp_str_printf(out, " \"%s%s\"", ir_binop_text((enum ir_binop)(imm & ~IR_INPLACE)),
                      imm & IR_INPLACE ? "=" : "");
        break;
    case IR_IMM_UNOP: sp_str_printf(out, " \"%s\"", ir_unop_text((enum ir_unop)imm)); break;
    case IR_IMM_CMPOP: sp_str_printf(out, " \"%s\"", ir_cmpop_text((enum ir_cmpop)imm)); break;
    case IR_IMM_TEXT: print_name_of(ir_recipe_name((enum ir_recipe)imm), out); break;
    case IR_IMM_NOT: sp_str_add(out, imm ? " not" : ""); break;
    case IR_IMM_INPLACE: sp_str_add(out, imm ? " inplace" : ""); break;
    case IR_IMM_ERROR: sp_str_printf(out, " error(%u)", imm); break;
    case IR_IMM_ICMP: print_name_of(ir_icmp_name((enum ir_icmp)imm), out); break;
    case IR_IMM_FCMP: print_name_of(ir_fcmp_name((enum ir_fcmp)imm), out); break;
    case IR_IMM_ATOMIC: print_name_of(ir_atomic_name((enum ir_atomic)imm), out); break;
    case IR_IMM_ALIGN:
        sp_str_printf(out, " align(%u)%s", imm & ~IR_VOLATILE,
                      imm & IR_VOLATILE ? " volatile" : "");
        break;
    case IR_IMM_FUNC: sp_str_printf(out, " @%u", imm); break;
    case IR_IMM_INTRIN: print_name_of(ir_intrin_row((enum ir_intrin)imm)->path, out); break;
    case IR_IMM_SITE: sp_str_printf(out, " site(%u)", imm); break;
    }
}

void
ir_print_insn(const struct ir_func *func, ir_ref ref, struct sp_str *out)
{
    const struct ir_insn *insn = ir_insn(func, ref);
    const struct ir_op_row *row = ir_op_row((enum ir_op)insn->op);
    bool is_core = func->module->phase == IR_PHASE_CORE;
    bool is_void = row->result == IR_RESULT_NONE ||
                   (ir_op_may_be_void((enum ir_op)insn->op) && insn->type <= IR_T_VOID);
    if (!is_void)
        sp_str_printf(out, "%%%u = ", ref);
    sp_str_add(out, row->name);
    if (is_core && !is_void) {
        sp_str_add_char(out, ' ');
        ir_type_print(func->module, insn->type, out);
    }
    print_imm(func, insn, out);
    for (uint32_t i = 0; i < insn->n_args; i++)
        sp_str_printf(out, "%s%%%u", i ? ", " : " ", ir_arg(func, ref, i));
    if (row->flags & IR_TERM) {
        const struct ir_block *block = &func->blocks.data[insn->block];
        for (uint32_t i = 0; i < block->n_succ; i++)
            sp_str_printf(out, "%sb%u", i || insn->n_args ? ", " : " ", block->succ[i]);
    }
    print_src(&func->srcs.data[insn->src], out);
}

static void
print_params(const struct ir_func *func, struct sp_str *out)
{
    sp_str_add(out, " (");
    for (uint32_t i = 0; i < ir_func_n_slots(func); i++) {
        const struct ir_func_param *param = &func->params[i];
        sp_str_add(out, i ? ", " : "");
        if (func->module->phase == IR_PHASE_CORE) {
            ir_type_print(func->module, param->type, out);
            sp_str_add_char(out, ' ');
        }
        print_text(param->name ? param->name : "", out);
        if (param->fallback) {
            sp_str_add(out, " = ");
            print_const(func->module, param->fallback, out);
        }
        if (param->given)
            sp_str_printf(out, " = given %u", param->given - 1);
    }
    sp_str_add_char(out, ')');
    for (uint32_t i = 0; i < func->n_results; i++) {
        sp_str_add(out, i ? ", " : " -> ");
        ir_type_print(func->module, func->results[i], out);
    }
}

static void
print_head(const struct ir_func *func, struct sp_str *out)
{
    sp_str_printf(out, "func @%u ", func->index);
    print_text(func->name, out);
    if (func->file) {
        sp_str_add(out, " file ");
        print_text(func->file, out);
    }
    if (func->line)
        sp_str_printf(out, " line %d", func->line);
    if (func->n_posonly)
        sp_str_printf(out, " posonly %u", func->n_posonly);
    if (func->n_kwonly)
        sp_str_printf(out, " kwonly %u", func->n_kwonly);
    sp_str_add(out, func->has_varargs ? " varargs" : "");
    sp_str_add(out, func->has_varkw ? " varkw" : "");
    if (func->n_free)
        sp_str_printf(out, " free %u", func->n_free);
    sp_str_add(out, func->is_kernel ? " kernel" : "");
    sp_str_add(out, func->may_raise ? " may_raise" : "");
    sp_str_add(out, func->may_wait ? " may_wait" : "");
    sp_str_add(out, func->may_print ? " may_print" : "");
    print_params(func, out);
    sp_str_add(out, " {\n");
}

static void
print_errors(const struct ir_func *func, struct sp_str *out)
{
    for (uint32_t i = 0; i < func->errors.len; i++) {
        const struct sp_diag *diag = &func->errors.data[i];
        sp_str_printf(out, "  error %u %s ", i, sp_error_name(diag->code));
        print_text(diag->message ? diag->message : "", out);
        if (diag->hint) {
            sp_str_add(out, " hint ");
            print_text(diag->hint, out);
        }
        print_src(&diag->where, out);
        sp_str_add_char(out, '\n');
    }
}

void
ir_print_func(const struct ir_func *func, struct sp_str *out)
{
    print_head(func, out);
    print_errors(func, out);
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        if (!block->insns.len && !block->preds.len)
            continue; /* removed */
        sp_str_printf(out, "b%u", b);
        for (uint32_t i = 0; i < block->preds.len; i++)
            sp_str_printf(out, "%sb%u", i ? ", " : " (", block->preds.data[i]);
        sp_str_add(out, block->preds.len ? "):\n" : ":\n");
        for (uint32_t i = 0; i < block->insns.len; i++) {
            sp_str_add(out, "  ");
            ir_print_insn(func, block->insns.data[i], out);
            sp_str_add_char(out, '\n');
        }
    }
    sp_str_add(out, "}\n");
}

/* static 0 shared "tile" 1024 align(4); static 1 const "table" 4 align(2) = "0000803f" */
static void
print_static(const struct ir_static *row, uint32_t index, struct sp_str *out)
{
    bool is_const = row->space == IR_SPACE_CONST;
    sp_str_printf(out, "static %u %s ", index, is_const ? "const" : "shared");
    print_text(row->name ? row->name : "", out);
    sp_str_printf(out, " %u align(%u)", row->size_B, row->align_log2);
    if (is_const) {
        sp_str_add(out, " = ");
        print_bytes(row->bytes, row->size_B, out);
    }
    sp_str_add_char(out, '\n');
}

void
ir_print(const struct ir_module *module, struct sp_str *out)
{
    sp_str_add(out, module->phase == IR_PHASE_CORE ? "module core\n" : "module py\n");
    for (uint32_t i = 0; i < module->sites.len; i++) {
        const struct sp_fault_site *site = &module->sites.data[i];
        sp_str_printf(out, "site %u %s ", i, sp_error_name(site->code));
        print_text(site->name ? site->name : "", out);
        sp_str_printf(out, " %u", site->n_values);
        print_src(&site->where, out);
        sp_str_add_char(out, '\n');
    }
    for (uint32_t i = 0; i < module->statics.len; i++)
        print_static(&module->statics.data[i], i, out);
    for (uint32_t i = 0; i < module->funcs.len; i++) {
        sp_str_add_char(out, '\n');
        ir_print_func(module->funcs.data[i], out);
    }
}
