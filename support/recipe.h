/* Recipes as text: how the host makes a text or an exception of a kernel's values. Their grammar is
 * in ir/lower_recipe.c. */
#ifndef SP_RECIPE_H
#define SP_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

/* Copies the recipe with another number for each class of the program's: `renumber` is asked for
 * every number but 0 (builtin classes). False if the text is no recipe or `renumber` says so. */
bool sp_recipe_renumber(const char *recipe,
                        bool (*renumber)(void *context, uint32_t number, uint32_t *number_out),
                        void *context, struct sp_str *out);

#endif
