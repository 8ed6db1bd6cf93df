/* diag: diagnostics as heap values; the tables of errors.def; the one printer of errors.
 *
 * Strings are copied in, so a diagnostic outlives the arena of the compilation that failed. */
#include "support/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

struct error_row {
    const char *name, *format;
    enum sp_error_class class;
};

static const struct error_row error_rows[] = {
    [SP_OK] = {"OK", "", SP_CLASS_INTERNAL},
#define SP_ERROR(code, class, format) [SP_E_##code] = {#code, format, SP_CLASS_##class},
#include "support/errors.def"
};

static const char *const error_classes[][2] = {
#define SP_ERROR_CLASS(id, name, builtin) {name, builtin},
#include "support/errors.def"
};

const char *
sp_error_name(enum sp_error code)
{
    return error_rows[code].name;
}

const char *
sp_error_format(enum sp_error code)
{
    return error_rows[code].format;
}

enum sp_error_class
sp_error_class(enum sp_error code)
{
    return error_rows[code].class;
}

const char *
sp_error_class_name(enum sp_error_class c)
{
    return error_classes[c][0];
}

const char *
sp_error_class_builtin(enum sp_error_class c)
{
    return error_classes[c][1];
}

static char *
diag_strdup(const char *text)
{
    if (!text)
        return NULL;
    size_t size_B = strlen(text) + 1;
    return memcpy(sp_alloc(size_B), text, size_B);
}

static char *
diag_format(const char *format, va_list args)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_str_vprintf(&text, format, args);
    return sp_str_take(&text);
}

struct sp_src
sp_src_copy(const struct sp_src *where)
{
    if (!where)
        return (struct sp_src){.col = -1, .end_col = -1};
    struct sp_src copy = *where;
    copy.file = diag_strdup(where->file);
    copy.function = diag_strdup(where->function);
    return copy;
}

void
sp_src_finish(struct sp_src *where)
{
    free((char *)where->file);
    free((char *)where->function);
}

static struct sp_raised *
diag_copy_raised(const struct sp_raised *raised)
{
    struct sp_raised *copy = sp_alloc(sizeof *copy);
    *copy = *raised;
    copy->kernel = diag_strdup(raised->kernel);
    copy->recipe = diag_strdup(raised->recipe);
    copy->values = sp_alloc((raised->n_values + 1) * sizeof *copy->values);
    if (raised->n_values)
        memcpy(copy->values, raised->values, raised->n_values * sizeof *copy->values);
    return copy;
}

static void
diag_free_raised(struct sp_raised *raised)
{
    if (!raised)
        return;
    free(raised->kernel);
    free(raised->recipe);
    free(raised->values);
    free(raised);
}

void
sp_diag_init(struct sp_diag *diag)
{
    *diag = (struct sp_diag){.where = {.col = -1, .end_col = -1}};
}

void
sp_diag_finish(struct sp_diag *diag)
{
    sp_src_finish(&diag->where);
    free(diag->message);
    free(diag->hint);
    for (uint32_t i = 0; i < diag->n_notes; i++) {
        sp_src_finish(&diag->notes[i].where);
        free(diag->notes[i].text);
    }
    free(diag->notes);
    diag_free_raised(diag->raised);
    sp_diag_init(diag);
}

bool
sp_diag_set(struct sp_diag *diag, enum sp_error code, const struct sp_src *where, ...)
{
    if (diag->code != SP_OK)
        return false;
    va_list args;
    va_start(args, where);
    diag->code = code;
    diag->where = sp_src_copy(where);
    diag->message = diag_format(error_rows[code].format, args);
    va_end(args);
    return false;
}

bool
sp_diag_hint(struct sp_diag *diag, const char *format, ...)
{
    if (diag->code == SP_OK || diag->hint)
        return false;
    va_list args;
    va_start(args, format);
    diag->hint = diag_format(format, args);
    va_end(args);
    return false;
}

bool
sp_diag_note(struct sp_diag *diag, const struct sp_src *where, const char *format, ...)
{
    if (diag->code == SP_OK)
        return false;
    diag->notes = sp_realloc(diag->notes, (diag->n_notes + 1) * sizeof *diag->notes);
    va_list args;
    va_start(args, format);
    diag->notes[diag->n_notes++] =
        (struct sp_note){.where = sp_src_copy(where), .text = diag_format(format, args)};
    va_end(args);
    return false;
}

void
sp_diag_raised(struct sp_diag *diag, const struct sp_raised *raised)
{
    if (diag->code != SP_OK && !diag->raised)
        diag->raised = diag_copy_raised(raised);
}

void
sp_diag_place(struct sp_diag *diag, const struct sp_src *where)
{
    if (diag->code == SP_OK || diag->where.line)
        return;
    sp_src_finish(&diag->where);
    diag->where = sp_src_copy(where);
}

void
sp_diag_copy(struct sp_diag *to, const struct sp_diag *from)
{
    *to = *from;
    to->where = sp_src_copy(&from->where);
    to->message = diag_strdup(from->message);
    to->hint = diag_strdup(from->hint);
    to->raised = from->raised ? diag_copy_raised(from->raised) : NULL;
    to->notes = NULL;
    if (from->n_notes)
        to->notes = sp_alloc(from->n_notes * sizeof *to->notes);
    for (uint32_t i = 0; i < from->n_notes; i++)
        to->notes[i] = (struct sp_note){.where = sp_src_copy(&from->notes[i].where),
                                        .text = diag_strdup(from->notes[i].text)};
}

/* Reads one line of a file without its newline. */
static bool
diag_read_line(const char *file, int32_t line, struct sp_str *out)
{
    FILE *stream = fopen(file, "r");
    if (!stream)
        return false;
    char *text = NULL;
    size_t size_B = 0;
    ssize_t len = -1;
    for (int32_t i = 0; i < line; i++)
        if ((len = getline(&text, &size_B, stream)) < 0)
            break;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    if (len > 0)
        sp_str_add_n(out, text, (size_t)len);
    free(text);
    fclose(stream);
    return len > 0;
}

/* Columns are bytes; a caret must stand under characters, and tabs are kept as tabs. */
static void
diag_print_caret(const char *text, const struct sp_src *where, struct sp_str *out)
{
    if (where->col < 0)
        return;
    int32_t len = (int32_t)strlen(text);
    int32_t end = where->end_line > where->line ? len : where->end_col;
    sp_str_add(out, "\n    ");
    for (int32_t i = 0; i < where->col && i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            sp_str_add_char(out, text[i] == '\t' ? '\t' : ' ');
    sp_str_add_char(out, '^');
    for (int32_t i = where->col + 1; i < end && i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            sp_str_add_char(out, '~');
}

/* Begins with a newline; prints nothing for an unknown place. */
static void
diag_print_place(const struct sp_src *where, sp_source_line_fn source_line, void *context,
                 struct sp_str *out)
{
    if (!where->file && !where->line && !where->function)
        return;
    sp_str_add_char(out, '\n');
    if (where->file)
        sp_str_printf(out, "  File \"%s\"", where->file);
    if (where->line)
        sp_str_printf(out, "%sline %d", where->file ? ", " : "  ", where->line);
    if (where->function)
        sp_str_printf(out, "%sin %s", where->file || where->line ? ", " : "  ", where->function);
    struct sp_str text;
    sp_str_init(&text);
    bool found = where->file && where->line &&
                 ((source_line && source_line(context, where->file, where->line, &text)) ||
                  (!source_line && diag_read_line(where->file, where->line, &text)));
    /* A line that ends before the place is that of a file that was changed since. */
    if (found && (where->col < 0 || (size_t)where->col < text.len)) {
        sp_str_printf(out, "\n    %s", text.data);
        diag_print_caret(text.data, where, out);
    }
    sp_str_finish(&text);
}

void
sp_diag_print(const struct sp_diag *diag, sp_source_line_fn source_line, void *context,
              struct sp_str *out)
{
    sp_str_add(out, diag->message ? diag->message : "no error");
    diag_print_place(&diag->where, source_line, context, out);
    if (diag->hint)
        sp_str_printf(out, "\n  Hint: %s", diag->hint);
    for (uint32_t i = 0; i < diag->n_notes; i++) {
        sp_str_printf(out, "\n  %s", diag->notes[i].text);
        diag_print_place(&diag->notes[i].where, source_line, context, out);
    }
}
