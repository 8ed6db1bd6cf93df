/* Warnings as values: code, place, text. A compilation collects them, its artifact keeps them, and
 * whoever launches shows them. */
#ifndef SP_WARNING_H
#define SP_WARNING_H

#include <stdint.h>

#include "support/diag.h"

enum sp_warning_code {
#define SP_WARNING(code, class, format) SP_W_##code,
#include "support/warnings.def"
    SP_N_WARNINGS
};

enum sp_warning_class {
#define SP_WARNING_CLASS(id, name, doc) SP_WARNING_CLASS_##id,
#include "support/warnings.def"
    SP_N_WARNING_CLASSES
};

struct sp_warning {
    enum sp_warning_code code;
    struct sp_src where; /* strings are its own */
    char *text;
};

/* Zeroed: none. */
struct sp_warnings {
    struct sp_warning *data;
    uint32_t n;
};

/* Fills the code's format. Kept only if there is none of this code on this line yet. */
void sp_warning_add(struct sp_warnings *warnings, enum sp_warning_code code,
                    const struct sp_src *where, ...);
/* The text alone, the caller's to free. */
char *sp_warning_text(enum sp_warning_code code, ...);
void sp_warnings_finish(struct sp_warnings *warnings);

const char *sp_warning_name(enum sp_warning_code code); /* "DOUBLE" */
enum sp_warning_class sp_warning_class(enum sp_warning_code code);
const char *sp_warning_class_name(enum sp_warning_class c); /* "PerformanceWarning" */
const char *sp_warning_class_doc(enum sp_warning_class c);

#endif
