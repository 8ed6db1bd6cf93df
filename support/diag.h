/* Errors as values: code, place, message, hint, and the calls that led there.
 *
 * A fallible function takes a `struct sp_diag *`, returns false after exactly one sp_diag_set, and
 * leaves its out parameters untouched. The first diagnostic is kept, later ones are dropped. */
#ifndef SP_DIAG_H
#define SP_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

#define SP_MUST_CHECK __attribute__((warn_unused_result))

enum sp_error {
    SP_OK,
#define SP_ERROR(code, class, format) SP_E_##code,
#include "support/errors.def"
    SP_N_ERRORS
};

enum sp_error_class {
#define SP_ERROR_CLASS(id, name, builtin) SP_CLASS_##id,
#include "support/errors.def"
    SP_N_ERROR_CLASSES
};

/* A place in source text. Lines count from 1, 0 means unknown; columns are UTF-8 byte offsets from
 * 0, -1 means unknown. The strings belong to whoever made the range. */
struct sp_src {
    const char *file;     /* may be NULL */
    const char *function; /* may be NULL */
    int32_t line, end_line;
    int32_t col, end_col;
};

/* A range with its own copies of the strings (NULL: an unknown one), and their end. */
struct sp_src sp_src_copy(const struct sp_src *where);
void sp_src_finish(struct sp_src *where);

struct sp_note {
    struct sp_src where;
    char *text;
};

/* What a thread of a running kernel raised; indices are x, y, z. */
struct sp_raised {
    uint32_t block[3], thread[3];
    char *kernel; /* the Python function's name */
    char *recipe; /* how to make an exception of the program's own (ir/lower_recipe.c), or NULL */
    int64_t *values; /* what it needs */
    uint32_t n_values;
};

/* All strings in a set diagnostic are its own copies. */
struct sp_diag {
    enum sp_error code; /* SP_OK: nothing happened */
    struct sp_src where;
    char *message;
    char *hint; /* what to write instead; may be NULL */
    struct sp_note *notes;
    uint32_t n_notes;
    struct sp_raised *raised; /* NULL: the host found the error */
};

void sp_diag_init(struct sp_diag *diag);
void sp_diag_finish(struct sp_diag *diag);

/* Fills the code's format from the table. `where` may be NULL. Returns false, for
 * `return sp_diag_set(...)`. */
bool sp_diag_set(struct sp_diag *diag, enum sp_error code, const struct sp_src *where, ...);
/* Adds the hint to the diagnostic just set; kept only if there is none. Returns false. */
bool sp_diag_hint(struct sp_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a note such as "called from here". Returns false. */
bool sp_diag_note(struct sp_diag *diag, const struct sp_src *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says which thread raised the diagnostic just set; everything is copied. */
void sp_diag_raised(struct sp_diag *diag, const struct sp_raised *raised);
/* Gives a diagnostic that was set without a place its place. */
void sp_diag_place(struct sp_diag *diag, const struct sp_src *where);

/* A diagnostic stored for later (an `err` instruction): a deep copy on an arena-free heap. */
void sp_diag_copy(struct sp_diag *to, const struct sp_diag *from);

/* The whole text for people: place, source line and caret when the file can be read, reason, hint,
 * notes. `source_line` overrides reading the file (a callback for interactive sources), may be
 * NULL. */
typedef bool (*sp_source_line_fn)(void *context, const char *file, int32_t line,
                                  struct sp_str *out);
void sp_diag_print(const struct sp_diag *diag, sp_source_line_fn source_line, void *context,
                   struct sp_str *out);

const char *sp_error_name(enum sp_error code); /* "RANK_MISMATCH" */
const char *sp_error_format(enum sp_error code);
enum sp_error_class sp_error_class(enum sp_error code);
const char *sp_error_class_name(enum sp_error_class c);    /* "TypingError" */
const char *sp_error_class_builtin(enum sp_error_class c); /* "TypeError" or "" */

#endif
