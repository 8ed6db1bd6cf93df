/* Inside ir/: a cursor over text for the parsers of IR text and signatures. */
#ifndef IR_LEX_H
#define IR_LEX_H

#include "ir/ir.h"

struct ir_lex {
    const char *at;
    int32_t line;
    struct sp_arena *arena;
};

/* Spaces, and comments from ';' to the end of the line; not the end itself. */
void ir_lex_blank(struct ir_lex *lex);
/* Also line ends. */
void ir_lex_lines(struct ir_lex *lex);
/* Each takes blanks and then what it names, or nothing and is false. */
bool ir_lex_char(struct ir_lex *lex, char c);
bool ir_lex_word(struct ir_lex *lex, const char *word);
bool ir_lex_is_end(struct ir_lex *lex); /* of the line or text; takes nothing but blanks */
/* A word of letters, digits, '_' and '.', not starting with a digit. */
bool ir_lex_name(struct ir_lex *lex, const char **name_out, size_t *len_out);
bool ir_lex_u32(struct ir_lex *lex, uint32_t max, uint32_t *value_out);
/* `prefix` and a number without a space between: "%12", "b3", "@0". */
bool ir_lex_ref(struct ir_lex *lex, char prefix, uint32_t max, uint32_t *value_out);
/* In quotes; the copy is terminated. */
bool ir_lex_string(struct ir_lex *lex, char **text_out, size_t *len_out);

#endif
