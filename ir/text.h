/* Inside ir/: pieces of text that types, constants, signatures and the IR text share. */
#ifndef IR_TEXT_H
#define IR_TEXT_H

#include <string.h>

#include "ir/ir.h"

/* A text that is read from `*at` on. Blanks are skipped before anything. */
static inline void
ir_text_blank(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static inline bool
ir_text_take(const char **at, const char *token)
{
    ir_text_blank(at);
    size_t len = strlen(token);
    if (strncmp(*at, token, len) != 0)
        return false;
    *at += len;
    return true;
}

#define IR_TEXT_WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* The word there, which stays; its length. */
static inline size_t
ir_text_word(const char **at)
{
    ir_text_blank(at);
    return strspn(*at, IR_TEXT_WORD);
}

/* Shortest decimal that reads back as the same double, with a point or exponent; inf, -inf, nan. */
void ir_text_float(double value, struct sp_str *out);
/* "[:, ::1]" */
void ir_text_axes(uint32_t rank, enum ir_layout layout, struct sp_str *out);

/* "float32", "record(x: float32, y: int8)" */
void ir_text_storable(const struct ir_module *module, ir_type type, struct sp_str *out);

/* What an operation's immediate is; the printer, parser and verifier follow it. */
enum ir_imm {
    IR_IMM_NONE,
    IR_IMM_NUMBER, /* any */
    IR_IMM_PARAM,  /* a parameter of the function */
    IR_IMM_CONST,
    IR_IMM_NAME,     /* a STR constant */
    IR_IMM_OPT_NAME, /* or 0 */
    IR_IMM_NAMES,    /* a TUPLE constant of STR constants, or 0 */
    IR_IMM_BINOP,
    IR_IMM_UNOP,
    IR_IMM_CMPOP,
    IR_IMM_TEXT,    /* enum ir_recipe */
    IR_IMM_NOT,     /* 1: "not" */
    IR_IMM_INPLACE, /* IR_INPLACE or 0 */
    IR_IMM_ERROR,   /* a diagnostic of the function */
    IR_IMM_ICMP,
    IR_IMM_FCMP,
    IR_IMM_ATOMIC,
    IR_IMM_ALIGN, /* log2, at most 15 */
    IR_IMM_FUNC,
    IR_IMM_INTRIN,
    IR_IMM_SITE,
};
enum ir_imm ir_imm_of(enum ir_op op);
/* One instruction's line, without indentation and end. */
void ir_print_insn(const struct ir_func *func, ir_ref ref, struct sp_str *out);

#endif
