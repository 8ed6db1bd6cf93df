/* str: a growing text; every stage prints through it, so dumps and errors share one builder. */
#include "support/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"

static void
str_reserve(struct sp_str *str, size_t more)
{
    size_t want = str->len + more + 1;
    if (want <= str->cap)
        return;
    size_t cap = str->cap * 2 > want ? str->cap * 2 : want;
    str->data = sp_realloc(str->data, cap);
    str->cap = cap;
}

void
sp_str_init(struct sp_str *str)
{
    *str = (struct sp_str){0};
    str_reserve(str, 63);
    str->data[0] = 0;
}

void
sp_str_finish(struct sp_str *str)
{
    free(str->data);
    *str = (struct sp_str){0};
}

void
sp_str_clear(struct sp_str *str)
{
    str->len = 0;
    if (str->data)
        str->data[0] = 0;
}

void
sp_str_add_n(struct sp_str *str, const void *bytes, size_t len)
{
    str_reserve(str, len);
    if (len)
        memcpy(str->data + str->len, bytes, len);
    str->len += len;
    str->data[str->len] = 0;
}

void
sp_str_add(struct sp_str *str, const char *text)
{
    sp_str_add_n(str, text, strlen(text));
}

void
sp_str_add_char(struct sp_str *str, char c)
{
    sp_str_add_n(str, &c, 1);
}

void
sp_str_vprintf(struct sp_str *str, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len > 0) {
        str_reserve(str, (size_t)len);
        vsnprintf(str->data + str->len, (size_t)len + 1, format, again);
        str->len += (size_t)len;
    }
    va_end(again);
}

void
sp_str_printf(struct sp_str *str, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sp_str_vprintf(str, format, args);
    va_end(args);
}

void
sp_str_add_double(struct sp_str *out, double value)
{
    if (isnan(value)) {
        sp_str_add(out, "nan");
        return;
    }
    if (isinf(value)) {
        sp_str_add(out, value < 0 ? "-inf" : "inf");
        return;
    }
    char buffer[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, sizeof buffer, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break; /* the shortest that reads back as the same number */
    }
    for (char *c = buffer; *c; c++)
        if (*c == ',')
            *c = '.'; /* the process may have set another locale */
    sp_str_add(out, buffer);
    if (!strpbrk(buffer, ".e"))
        sp_str_add(out, ".0");
}

char *
sp_str_take(struct sp_str *str)
{
    char *text = str->data;
    *str = (struct sp_str){0};
    return text;
}
