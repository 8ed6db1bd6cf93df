/* lower_print: print(...) of a running kernel.
 *
 * Out: a site whose text is the recipe of all that one call writes, and a PRINT with its values.
 * The recipe joins the arguments' texts; an "L" before it has the host flush its output.
 *
 *     print("x", x, end="")   ->  site 0 NOT_PRINTED "J(S(s1:x)s1: S(vfloat32;))" 1
 *                                 print site(0) %x as 64 bits */
#include "ir/lower.h"

#include <assert.h>

/* The text that the keyword argument gives, or its default. */
static void
print_text(struct lower *l, struct lower_recipe *r, ir_ref given, const char *otherwise)
{
    struct lower_value value = given ? lower_get(l, given) : (struct lower_value){0, 0, NULL};
    const struct ir_type_info *info = given ? lower_info(l, value.type) : NULL;
    bool is_none = info && info->kind == IR_KIND_OBJECT &&
                   ir_const_info(l->py, info->object)->kind == IR_C_NONE;
    if (given && !is_none)
        lower_recipe_add(l, r, value);
    else
        lower_recipe_text(r, otherwise, 1);
}

static bool
print_flushes(struct lower *l, ir_ref py)
{
    ir_ref flush = lower_keyword(l, py, "flush");
    ir_const c = flush ? l->inst->cells[flush].constant : 0;
    const struct ir_const_info *info = c ? ir_const_info(l->py, c) : NULL;
    return info && (info->kind == IR_C_BOOL || info->kind == IR_C_INT) && info->i;
}

struct lower_value
lower_print(struct lower *l, ir_ref py)
{
    ir_const names = ir_insn(l->from, py)->imm;
    uint32_t n = lower_n_args(l, py) - (names ? ir_const_info(l->py, names)->len : 0);
    ir_ref sep = lower_keyword(l, py, "sep"), end = lower_keyword(l, py, "end");
    struct lower_recipe recipe;
    lower_recipe_init(&recipe);
    sp_str_add(&recipe.text, print_flushes(l, py) ? "LJ(" : "J(");
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            print_text(l, &recipe, sep, " ");
        sp_str_add(&recipe.text, "S(");
        lower_recipe_add(l, &recipe, lower_get(l, lower_arg(l, py, i)));
        sp_str_add_char(&recipe.text, ')');
    }
    print_text(l, &recipe, end, "\n");
    sp_str_add_char(&recipe.text, ')');
    uint32_t site = lower_site(l, py, SP_E_NOT_PRINTED, recipe.text.data, recipe.n);
    lower_emit(l, IR_PRINT, IR_T_NONE, site, recipe.n, recipe.values);
    lower_recipe_finish(&recipe);
    struct ir_cell cell = l->inst->cells[py];
    return lower_constant(l, cell.constant, cell.type);
}
