/* recipe: the numbers of classes in a recipe, changed.
 *
 * In: a recipe and what the numbers become. Out: the same recipe with these. The grammar
 * (ir/lower_recipe.c) begins every part with a letter and gives every text its length, so one walk
 * over the letters finds the numbers; how parts nest does not matter here. */
#include "support/recipe.h"

#include <stdlib.h>
#include <string.h>

/* digits ":" */
static bool
recipe_number(const char **at, unsigned long *number_out)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    *number_out = strtoul(*at, &end, 10);
    if (*end != ':' || *number_out > UINT32_MAX)
        return false;
    *at = end + 1;
    return true;
}

/* length ":" bytes, copied */
static bool
recipe_text(const char **at, struct sp_str *out)
{
    const char *from = *at;
    unsigned long len;
    if (!recipe_number(at, &len) || strnlen(*at, len) < len)
        return false;
    *at += len;
    sp_str_add_n(out, from, (size_t)(*at - from));
    return true;
}

bool
sp_recipe_renumber(const char *recipe,
                   bool (*renumber)(void *context, uint32_t number, uint32_t *number_out),
                   void *context, struct sp_str *out)
{
    for (const char *at = recipe; *at;) {
        char letter = *at++;
        sp_str_add_char(out, letter);
        if (letter == 'e' || letter == 'c') {
            unsigned long number;
            uint32_t other = 0;
            if (!recipe_number(&at, &number) ||
                (number && !renumber(context, (uint32_t)number, &other)))
                return false;
            sp_str_printf(out, "%u:", other);
        }
        if ((letter == 's' || letter == 'e') && !recipe_text(&at, out))
            return false;
        if (letter == 'v') {
            const char *end = strchr(at, ';');
            if (!end)
                return false;
            sp_str_add_n(out, at, (size_t)(end + 1 - at));
            at = end + 1;
        } else if (!strchr("secnt()FSRAJP", letter)) {
            return false;
        }
    }
    return true;
}
