/* lower_recipe: how the host makes a text or an exception of the values that a kernel gives it.
 *
 * In: a value whose type says how it is made (IR_KIND_RECIPE, and what recipes are made of). Out:
 * the recipe as text in prefix form, which pymod/recipe.c reads, and its values, as 64 bits each,
 * in the order in which they are read:
 *
 *     recipe = "e" number ":" text recipes      exception class: its number (0: builtin), its name
 *            | "s" text                         a text constant
 *            | "v" type ";"                     the next value, of that type of types.def
 *            | "n"                              None
 *            | "t" recipes                      a tuple
 *            | "c" number ":" recipes           a NamedTuple of the class with that number
 *            | "F" | "S" | "R" | "A" | "J" | "P"   then recipes: format, str, repr, ascii, join, %
 *     recipes = "(" {recipe} ")"
 *     text = length ":" bytes           UTF-8, but that NUL is the two bytes C0 80
 *
 *     f"{x:.2f}", x a float32  ->  J(F(vfloat32;s3:.2f))    %x as 64 bits */
#include "ir/lower.h"

#include <assert.h>
#include <string.h>

void
lower_recipe_init(struct lower_recipe *r)
{
    sp_str_init(&r->text);
    r->n = 0;
}

void
lower_recipe_finish(struct lower_recipe *r)
{
    sp_str_finish(&r->text);
}

void
lower_recipe_text(struct lower_recipe *r, const char *text, uint32_t len)
{
    uint32_t n_nuls = 0;
    for (uint32_t i = 0; i < len; i++)
        n_nuls += !text[i];
    sp_str_printf(&r->text, "s%u:", len + n_nuls);
    for (uint32_t i = 0; i < len; i++)
        sp_str_add_n(&r->text, text[i] ? &text[i] : "\xc0\x80", text[i] ? 1 : 2);
}

static void
recipe_number(struct lower *l, struct lower_recipe *r, ir_ref part, ir_type type)
{
    assert(r->n < SP_PRINT_VALUES && "inference has counted them");
    sp_str_printf(&r->text, "v%s;", ir_scalar_row(type)->name);
    r->values[r->n++] = lower_fault_value(l, part, type);
}

/* A compile-time value. */
static void
recipe_object(struct lower *l, struct lower_recipe *r, ir_const c)
{
    const struct ir_const_info *object = ir_const_info(l->py, c);
    enum ir_intrin axes[3];
    if (object->kind == IR_C_STR) {
        lower_recipe_text(r, object->str, object->len);
    } else if (object->kind == IR_C_EXCEPTION) {
        sp_str_printf(&r->text, "e%u:%zu:%s()", object->len, strlen(object->str), object->str);
    } else if (ir_has_axes(l->py, c, axes)) {
        sp_str_add(&r->text, "t(");
        for (int i = 0; i < 3; i++)
            recipe_number(l, r, lower_sreg(l, axes[i]), IR_T_INT);
        sp_str_add_char(&r->text, ')');
    } else {
        sp_str_add_char(&r->text, 'n');
    }
}

/* How what consists of elements begins. */
static void
recipe_head(struct lower *l, struct lower_recipe *r, const struct ir_type_info *info)
{
    static const char letters[] = {
        [IR_TEXT_FORMAT] = 'F', [IR_TEXT_STR] = 'S',  [IR_TEXT_REPR] = 'R',
        [IR_TEXT_ASCII] = 'A',  [IR_TEXT_JOIN] = 'J', [IR_TEXT_PERCENT] = 'P'};
    const struct ir_const_info *object = info->object ? ir_const_info(l->py, info->object) : NULL;
    if (info->kind == IR_KIND_TUPLE && object) {
        const struct ir_const_info *parts =
            object->named ? ir_const_info(l->py, object->named) : NULL;
        uint32_t number = parts ? ir_const_info(l->py, parts->elems[0])->len : 0;
        if (number)
            sp_str_printf(&r->text, "c%u:", number);
        else
            sp_str_add_char(&r->text, 't');
    } else if (info->kind == IR_KIND_TUPLE) {
        sp_str_add_char(&r->text, 't');
    } else if (object->kind == IR_C_EXCEPTION) {
        sp_str_printf(&r->text, "e%u:%zu:%s", object->len, strlen(object->str), object->str);
    } else {
        sp_str_add_char(&r->text, letters[object->i]);
    }
}

/* Takes the value's parts from *parts on. */
static void
recipe_add(struct lower *l, struct lower_recipe *r, ir_type type, const ir_ref **parts)
{
    const struct ir_type_info *info = lower_info(l, type);
    if (info->kind == IR_KIND_SCALAR) {
        recipe_number(l, r, *(*parts)++, type);
        return;
    }
    if (info->kind == IR_KIND_OBJECT) {
        recipe_object(l, r, info->object);
        return;
    }
    assert((info->kind == IR_KIND_TUPLE || info->kind == IR_KIND_RECIPE) &&
           "inference carries no such value");
    recipe_head(l, r, info);
    sp_str_add_char(&r->text, '(');
    for (uint32_t i = 0; i < info->n_elems; i++)
        recipe_add(l, r, info->elems[i], parts);
    sp_str_add_char(&r->text, ')');
}

void
lower_recipe_add(struct lower *l, struct lower_recipe *r, struct lower_value value)
{
    const ir_ref *parts = value.parts;
    recipe_add(l, r, value.type, &parts);
}
