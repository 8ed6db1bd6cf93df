/* lex: the few token shapes of IR text, each a function that takes it from the cursor or leaves it.
 *
 * No token array: the grammar can be told apart at every point by its next character or word, and a
 * cursor that only moves on success makes alternatives cheap to write. The text is terminated and
 * may hold any bytes. */
#include "ir/lex.h"

#include <string.h>

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

void
ir_lex_blank(struct ir_lex *lex)
{
    while (*lex->at == ' ' || *lex->at == '\t' || *lex->at == '\r')
        lex->at++;
    if (*lex->at == ';')
        while (*lex->at && *lex->at != '\n')
            lex->at++;
}

void
ir_lex_lines(struct ir_lex *lex)
{
    for (ir_lex_blank(lex); *lex->at == '\n'; ir_lex_blank(lex)) {
        lex->at++;
        lex->line++;
    }
}

bool
ir_lex_char(struct ir_lex *lex, char c)
{
    ir_lex_blank(lex);
    if (*lex->at != c)
        return false;
    lex->at++;
    return true;
}

bool
ir_lex_word(struct ir_lex *lex, const char *word)
{
    ir_lex_blank(lex);
    size_t len = strlen(word);
    if (strncmp(lex->at, word, len) != 0 || is_word(lex->at[len]))
        return false;
    lex->at += len;
    return true;
}

bool
ir_lex_is_end(struct ir_lex *lex)
{
    ir_lex_blank(lex);
    return !*lex->at || *lex->at == '\n';
}

bool
ir_lex_name(struct ir_lex *lex, const char **name_out, size_t *len_out)
{
    ir_lex_blank(lex);
    if (!is_word(*lex->at) || is_digit(*lex->at) || *lex->at == '.')
        return false;
    *name_out = lex->at;
    while (is_word(*lex->at))
        lex->at++;
    *len_out = (size_t)(lex->at - *name_out);
    return true;
}

bool
ir_lex_u32(struct ir_lex *lex, uint32_t max, uint32_t *value_out)
{
    ir_lex_blank(lex);
    const char *at = lex->at;
    uint64_t value = 0;
    if (!is_digit(*at))
        return false;
    for (; is_digit(*at); at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > max)
            return false;
    }
    *value_out = (uint32_t)value;
    lex->at = at;
    return true;
}

bool
ir_lex_ref(struct ir_lex *lex, char prefix, uint32_t max, uint32_t *value_out)
{
    ir_lex_blank(lex);
    const char *start = lex->at;
    if (*start != prefix || !is_digit(start[1]))
        return false;
    lex->at++;
    if (ir_lex_u32(lex, max, value_out) && !is_word(*lex->at))
        return true;
    lex->at = start;
    return false;
}

static int
hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool
ir_lex_string(struct ir_lex *lex, char **text_out, size_t *len_out)
{
    ir_lex_blank(lex);
    if (*lex->at != '"')
        return false;
    const char *at = lex->at + 1;
    const char *end = at;
    while (*end && *end != '"' && *end != '\n')
        end += end[0] == '\\' && end[1] && end[1] != '\n' ? 2 : 1;
    if (*end != '"')
        return false;
    char *text = sp_arena_alloc(lex->arena, (size_t)(end - at) + 1);
    size_t len = 0;
    while (at < end) {
        if (*at != '\\') {
            text[len++] = *at++;
        } else if (at[1] == 'x') {
            int high = hex_digit(at[2]);
            int low = high < 0 ? -1 : hex_digit(at[3]);
            if (low < 0)
                return false;
            text[len++] = (char)(high * 16 + low);
            at += 4;
        } else {
            text[len++] = at[1];
            at += 2;
        }
    }
    lex->at = end + 1;
    *text_out = text;
    *len_out = len;
    return true;
}
