/* A string builder on the heap. The text is always terminated; `data` is never NULL after init. */
#ifndef SP_STR_H
#define SP_STR_H

#include <stdarg.h>
#include <stddef.h>

struct sp_str {
    char *data;
    size_t len, cap;
};

void sp_str_init(struct sp_str *str);
void sp_str_finish(struct sp_str *str);
void sp_str_clear(struct sp_str *str);
void sp_str_add(struct sp_str *str, const char *text);
void sp_str_add_n(struct sp_str *str, const void *bytes, size_t len);
void sp_str_add_char(struct sp_str *str, char c);
void sp_str_printf(struct sp_str *str, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sp_str_vprintf(struct sp_str *str, const char *format, va_list args);
/* As Python's repr of a float. */
void sp_str_add_double(struct sp_str *str, double value);
/* Hands the text over: free() it. The builder owns nothing then, so it need not be finished; it may
 * be added to again, and its `data` is NULL until then. */
char *sp_str_take(struct sp_str *str);

#endif
