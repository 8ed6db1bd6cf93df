/* Inside ir/: what the two halves of the IR text parser share. */
#ifndef IR_PARSE_H
#define IR_PARSE_H

#include "ir/lex.h"
#include "ir/text.h"

struct ir_parse {
    struct ir_lex lex; /* first: a parser is a cursor */
    struct ir_module *module;
    struct sp_diag *diag;
    uint32_t budget; /* values, blocks and phi operands that may still be made */
};

/* Sets BAD_IR with the line. Returns false. */
bool ir_parse_fail(struct ir_parse *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ir_parse_const(struct ir_parse *p, ir_const *out);
/* A text without bytes of value 0. */
/* So many bytes, two hexadecimal digits each, in quotes. */
bool ir_parse_bytes(struct ir_parse *p, size_t n, const uint8_t **out);
bool ir_parse_text(struct ir_parse *p, const char *what, char **out);
/* "!12:4-9" and, if there, file and function; `*out` is untouched when the line ends instead. */
bool ir_parse_src(struct ir_parse *p, struct sp_src *out);
bool ir_parse_machine(struct ir_parse *p, ir_type *out);
/* The immediate of an instruction, as ir_imm_of says. */
bool ir_parse_imm(struct ir_parse *p, enum ir_op op, uint32_t *out);

#endif
