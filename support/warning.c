/* warning: lists of warnings, and the tables of warnings.def.
 *
 * In: a code with the values of its format, and a place. Out: a list that holds each code once per
 * line, so that an expression of many operations says a thing once. Strings are copied in: a list
 * outlives the arena of its compilation. */
#include "support/warning.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/str.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static const struct {
    const char *name, *format;
    enum sp_warning_class class;
} warning_rows[] = {
#define SP_WARNING(code, class, format) [SP_W_##code] = {#code, format, SP_WARNING_CLASS_##class},
#include "support/warnings.def"
};

static const char *const warning_classes[][2] = {
#define SP_WARNING_CLASS(id, name, doc) {name, doc},
#include "support/warnings.def"
};

const char *
sp_warning_name(enum sp_warning_code code)
{
    return warning_rows[code].name;
}

enum sp_warning_class
sp_warning_class(enum sp_warning_code code)
{
    return warning_rows[code].class;
}

const char *
sp_warning_class_name(enum sp_warning_class c)
{
    return warning_classes[c][0];
}

const char *
sp_warning_class_doc(enum sp_warning_class c)
{
    return warning_classes[c][1];
}

static char *
warning_format(enum sp_warning_code code, va_list args)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_str_vprintf(&text, warning_rows[code].format, args);
    return sp_str_take(&text);
}

char *
sp_warning_text(enum sp_warning_code code, ...)
{
    va_list args;
    va_start(args, code);
    char *text = warning_format(code, args);
    va_end(args);
    return text;
}

static bool
warning_is_same_file(const struct sp_src *a, const struct sp_src *b)
{
    return a->file == b->file || (a->file && b->file && !strcmp(a->file, b->file));
}

void
sp_warning_add(struct sp_warnings *warnings, enum sp_warning_code code, const struct sp_src *where,
               ...)
{
    for (uint32_t i = 0; i < warnings->n; i++) {
        const struct sp_warning *old = &warnings->data[i];
        if (old->code == code && old->where.line == where->line &&
            warning_is_same_file(&old->where, where))
            return;
    }
    va_list args;
    va_start(args, where);
    struct sp_warning warning = {code, sp_src_copy(where), warning_format(code, args)};
    va_end(args);
    warnings->data = sp_realloc(warnings->data, (warnings->n + 1) * sizeof warning);
    warnings->data[warnings->n++] = warning;
}

void
sp_warnings_finish(struct sp_warnings *warnings)
{
    for (uint32_t i = 0; i < warnings->n; i++) {
        sp_src_finish(&warnings->data[i].where);
        free(warnings->data[i].text);
    }
    free(warnings->data);
    *warnings = (struct sp_warnings){0};
}
