/* storable_text: the text of a storable type, and back. docs/ir.md has the grammar.
 *
 * An argument's element type crosses from the host to a module as this text, so equal types have
 * equal texts: a field's offset and a record's size stand there only where they are not the end of
 * what came before.
 *
 *     record(id: int32, pos: float32[3], tag: record(a: int8) @20; 24)
 */
#include "ir/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORABLE_MAX_DEPTH 8

/* ---- Printing ---- */

static bool
storable_is_word(const char *name)
{
    return *name && !isdigit((unsigned char)*name) && !name[strspn(name, IR_TEXT_WORD)];
}

void
ir_field_name_print(const char *name, struct sp_str *out)
{
    if (storable_is_word(name)) {
        sp_str_add(out, name);
        return;
    }
    sp_str_add_char(out, '"');
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            sp_str_add_char(out, '\\');
        sp_str_add_char(out, *name);
    }
    sp_str_add_char(out, '"');
}

static void
storable_record(const struct ir_module *module, const struct ir_type_info *info, struct sp_str *out)
{
    uint32_t end = 0;
    sp_str_add(out, "record(");
    for (uint32_t i = 0; i < info->n_elems; i++) {
        sp_str_add(out, i ? ", " : "");
        ir_field_name_print(ir_const_info(module, info->names[i])->str, out);
        sp_str_add(out, ": ");
        ir_text_storable(module, info->elems[i], out);
        if (info->offsets[i] != end)
            sp_str_printf(out, " @%u", info->offsets[i]);
        end = info->offsets[i] + ir_storable_size_B(module, info->elems[i]);
    }
    if (info->size_B != end)
        sp_str_printf(out, "; %u", info->size_B);
    sp_str_add_char(out, ')');
}

void
ir_text_storable(const struct ir_module *module, ir_type type, struct sp_str *out)
{
    const struct ir_type_info *info = ir_type_info(module, type);
    if (ir_type_is_scalar(type)) {
        sp_str_add(out, ir_scalar_row(type)->name);
    } else if (info->kind == IR_KIND_RECORD) {
        storable_record(module, info, out);
    } else if (info->kind == IR_KIND_INNER) {
        const struct ir_const_info *shape = ir_const_info(module, info->object);
        ir_text_storable(module, info->elems[0], out);
        for (uint32_t k = 0; k < shape->len; k++)
            sp_str_printf(out, "%s%lld", k ? ", " : "[",
                          (long long)ir_const_info(module, shape->elems[k])->i);
        sp_str_add_char(out, ']');
    }
}

/* ---- Parsing ---- */

struct storable {
    struct ir_module *module;
    const char *at;
    const char *wrong; /* what is wrong here, or NULL */
};

static bool
storable_fail(struct storable *s, const char *wrong)
{
    if (!s->wrong)
        s->wrong = wrong;
    return false;
}

static bool
storable_number(struct storable *s, uint32_t *out)
{
    ir_text_blank(&s->at);
    char *end;
    unsigned long long value = strtoull(s->at, &end, 10);
    if (!isdigit((unsigned char)*s->at) || value > IR_MAX_STATIC_B)
        return storable_fail(s, "a number of bytes or elements expected");
    s->at = end;
    *out = (uint32_t)value;
    return true;
}

static bool
storable_field_name(struct storable *s, ir_const *out)
{
    char text[256];
    size_t len = ir_text_word(&s->at);
    if (len) {
        *out = ir_const_str(s->module, s->at, len);
        s->at += len;
        return true;
    }
    if (!ir_text_take(&s->at, "\""))
        return storable_fail(s, "the name of a field expected");
    for (; *s->at && *s->at != '"' && len < sizeof text - 1; s->at++) {
        s->at += *s->at == '\\' && s->at[1];
        text[len++] = *s->at;
    }
    *out = ir_const_str(s->module, text, len);
    return ir_text_take(&s->at, "\"") || storable_fail(s, "'\"' expected");
}

static bool storable_parse(struct storable *s, unsigned depth, ir_type *out);

/* After '[' of a field: its extents. */
static bool
storable_inner(struct storable *s, ir_type elem, ir_type *out)
{
    ir_const extents[IR_MAX_RANK];
    uint32_t n = 0;
    do {
        uint32_t extent = 0;
        if (n == IR_MAX_RANK)
            return storable_fail(s, "more than 8 dimensions");
        if (!storable_number(s, &extent))
            return false;
        extents[n++] = ir_const_int(s->module, extent);
    } while (ir_text_take(&s->at, ","));
    if (!ir_text_take(&s->at, "]"))
        return storable_fail(s, "']' expected");
    *out = ir_type_inner(s->module, elem, n, extents);
    return *out != IR_T_NONE || storable_fail(s, "the array is too large");
}

#define STORABLE_MAX_FIELDS 1024

/* After "record(". */
static bool
storable_fields(struct storable *s, unsigned depth, ir_type *out)
{
    SP_VEC(ir_type) types = {0};
    SP_VEC(ir_const) names = {0};
    SP_VEC(uint32_t) offsets = {0};
    struct sp_arena *arena = s->module->arena;
    uint32_t end = 0, size = 0;
    if (depth == STORABLE_MAX_DEPTH)
        return storable_fail(s, "records nested too deeply");
    while (!ir_text_take(&s->at, ")") && !ir_text_take(&s->at, ";")) {
        ir_const name = 0;
        ir_type type = IR_T_NONE;
        if (names.len == STORABLE_MAX_FIELDS)
            return storable_fail(s, "more than 1024 fields");
        if (!storable_field_name(s, &name))
            return false;
        if (!ir_text_take(&s->at, ":"))
            return storable_fail(s, "':' and the field's type expected");
        if (!storable_parse(s, depth + 1, &type))
            return false;
        if (ir_text_take(&s->at, "[") && !storable_inner(s, type, &type))
            return false;
        if (ir_text_take(&s->at, "@") && !storable_number(s, &end))
            return false;
        for (uint32_t i = 0; i < names.len; i++)
            if (names.data[i] == name)
                return storable_fail(s, "two fields of one name");
        sp_vec_push(arena, &names, name);
        sp_vec_push(arena, &types, type);
        sp_vec_push(arena, &offsets, end);
        end += ir_storable_size_B(s->module, type);
        size = end > size ? end : size;
        if (size > IR_MAX_STATIC_B)
            return storable_fail(s, "the record is too large");
        if (ir_text_take(&s->at, ","))
            continue;
        if (*s->at != ')' && *s->at != ';')
            return storable_fail(s, "',' or ')' expected");
    }
    if (s->at[-1] == ';') {
        uint32_t given = 0;
        if (!storable_number(s, &given))
            return false;
        if (given < size)
            return storable_fail(s, "the fields need more bytes");
        size = given;
        if (!ir_text_take(&s->at, ")"))
            return storable_fail(s, "')' expected");
    } else {
        size = end;
    }
    if (!names.len)
        return storable_fail(s, "a record without fields");
    *out = ir_type_record(s->module, names.len, names.data, types.data, offsets.data, size);
    return true;
}

static bool
storable_parse(struct storable *s, unsigned depth, ir_type *out)
{
    size_t len = ir_text_word(&s->at);
    if (len == 6 && !memcmp(s->at, "record", 6) && s->at[6] == '(') {
        s->at += 7;
        return storable_fields(s, depth, out);
    }
    ir_type scalar = ir_scalar_by_name(s->at, len);
    if (scalar == IR_T_NONE || !ir_is_storable(s->module, scalar))
        return storable_fail(s, "the type of a field expected, such as int32 or float32");
    s->at += len;
    *out = scalar;
    return true;
}

bool
ir_storable_parse(struct ir_module *module, const char *text, const char **end_out,
                  ir_type *type_out, const char **wrong_out)
{
    struct storable s = {.module = module, .at = text};
    bool ok = storable_parse(&s, 0, type_out);
    *end_out = s.at;
    *wrong_out = s.wrong;
    return ok;
}
