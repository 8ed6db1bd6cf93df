/* lower_fault: what a running kernel raises, and the places where it does.
 *
 * In: THROW instructions, and conditions that lowering's own checks need. Out: a site per place and a
 * RAISE whose operands are the values that the message needs, as 64 bits each. The text of a site is
 * for the host: of a check a message with {i}, {u}, {f} for a signed, unsigned or float64 value, of
 * the program's own exceptions a recipe in prefix form, which pymod/raised.c reads:
 *
 *     recipe = "e" number ":" text recipes      exception class: its number (0: builtin), its name
 *            | "s" text                         a text constant
 *            | "v" type ";"                     the next value, of that type of types.def
 *            | "n"                              None
 *            | "t" recipes                      a tuple
 *            | "F" | "S" | "R" | "A" | "J" | "P"   then recipes: format, str, repr, ascii, join, %
 *     recipes = "(" {recipe} ")"
 *     text = length ":" bytes           UTF-8, but that NUL is the two bytes C0 80
 *
 *     raise ValueError("bad", i)  ->  site 0 RAISED "e0:10:ValueError(s3:badvint;)" 1
 *                                     raise site(0) %i
 *     a check                     ->  br %fits, go on, fail     fail: raise site(1) ... */
#include "ir/lower.h"

#include <assert.h>
#include <string.h>

uint32_t
lower_site(struct lower *l, ir_ref py, enum sp_error code, const char *text, uint32_t n_values)
{
    struct sp_arena *arena = l->core->arena;
    assert(n_values <= SP_FAULT_VALUES && "a record holds them");
    struct sp_src where = ir_insn_src(l->from, py);
    if (where.file)
        where.file = sp_arena_strdup(arena, where.file);
    if (where.function)
        where.function = sp_arena_strdup(arena, where.function);
    sp_vec_push(arena, &l->core->sites,
                (struct sp_fault_site){.code = code,
                                       .where = where,
                                       .name = sp_arena_strdup(arena, text),
                                       .n_values = n_values});
    return l->core->sites.len - 1;
}

void
lower_raise_unless(struct lower *l, ir_ref fits, uint32_t site, uint32_t n, const ir_ref *values)
{
    assert(l->core->sites.data[site].n_values == n && "the values of the site");
    int64_t known;
    if (lower_int_of(l, fits, &known) && known)
        return;
    uint32_t fail = ir_block_new(l->func), go_on = ir_block_new(l->func);
    ir_br(l->func, l->block, fits, go_on, fail);
    ir_raise(l->func, fail, site, n, values);
    l->block = go_on;
}

const char *
lower_source_name(const struct lower *l, ir_ref py)
{
    const struct ir_insn *insn = ir_insn(l->from, py);
    if (insn->op == IR_BOUND)
        return ir_const_info(l->py, insn->imm)->str;
    if (insn->op == IR_PARAM)
        return l->from->params[insn->imm].name;
    if (insn->op == IR_CONST && ir_const_info(l->py, insn->imm)->kind == IR_C_ARRAY)
        return ir_const_info(l->py, insn->imm)->array_name;
    if (insn->op == IR_PHI && insn->imm)
        return ir_const_info(l->py, insn->imm)->str;
    enum ir_op op = ir_operation(l->inst, py);
    bool is_part = op == IR_ITEM || op == IR_ATTR; /* of an array or a tuple */
    const char *of = is_part ? lower_source_name(l, ir_operand(l->inst, py, 0)) : "";
    if (!*of)
        return "";
    return op == IR_ITEM
               ? sp_arena_printf(l->core->arena, "%s[...]", of)
               : sp_arena_printf(l->core->arena, "%s.%s", of, ir_const_info(l->py, insn->imm)->str);
}

const char *
lower_variable_name(const struct lower *l, ir_ref py)
{
    const struct ir_flow *flow = l->inst->flow;
    for (uint32_t i = flow->first_user[py]; i < flow->first_user[py + 1]; i++)
        if (ir_insn(l->from, flow->users[i])->op == IR_BOUND)
            return ir_const_info(l->py, ir_insn(l->from, flow->users[i])->imm)->str;
    return "";
}

ir_ref
lower_fault_value(struct lower *l, ir_ref part, ir_type type)
{
    unsigned bits = ir_machine_bits(lower_type_of(l, part));
    if (ir_is_float(type)) {
        bool wide = ir_scalar_row(type)->bits == 64;
        if (bits <
            (wide ? 64u : 32u)) /* `float` may be computed in float32; halves travel as float32 */
            part = lower_cast(l, IR_FPEXT, wide ? IR_T_F64 : IR_T_F32, part);
        part = lower_cast(l, IR_BITCAST, wide ? IR_T_I64 : IR_T_I32, part);
        return wide ? part : lower_cast(l, IR_ZEXT, IR_T_I64, part);
    }
    if (bits == 64)
        return part;
    bool sign = type != IR_T_BOOL && !ir_is_unsigned(type);
    return lower_cast(l, sign ? IR_SEXT : IR_ZEXT, IR_T_I64, part);
}

/* ---- The program's own exceptions ---- */

struct fault_throw {
    struct sp_str text;
    const ir_ref *parts; /* the next ones */
    uint32_t n;
    ir_ref values[SP_FAULT_VALUES];
};

static void
fault_text(struct sp_str *out, const char *text, uint32_t len)
{
    uint32_t n_nuls = 0;
    for (uint32_t i = 0; i < len; i++)
        n_nuls += !text[i];
    sp_str_printf(out, "%u:", len + n_nuls);
    for (uint32_t i = 0; i < len; i++)
        sp_str_add_n(out, text[i] ? &text[i] : "\xc0\x80", text[i] ? 1 : 2);
}

static void fault_recipe(struct lower *l, struct fault_throw *t, ir_type type);

static void
fault_recipes(struct lower *l, struct fault_throw *t, const struct ir_type_info *info)
{
    sp_str_add_char(&t->text, '(');
    for (uint32_t i = 0; i < info->n_elems; i++)
        fault_recipe(l, t, info->elems[i]);
    sp_str_add_char(&t->text, ')');
}

static void
fault_class(struct lower *l, struct fault_throw *t, ir_const class)
{
    const struct ir_const_info *c = ir_const_info(l->py, class);
    sp_str_printf(&t->text, "e%u:", c->len);
    fault_text(&t->text, c->str, (uint32_t)strlen(c->str));
}

/* How a value of this type is made on the host; takes its parts. */
static void
fault_recipe(struct lower *l, struct fault_throw *t, ir_type type)
{
    static const char letters[] = {
        [IR_TEXT_FORMAT] = 'F', [IR_TEXT_STR] = 'S',  [IR_TEXT_REPR] = 'R',
        [IR_TEXT_ASCII] = 'A',  [IR_TEXT_JOIN] = 'J', [IR_TEXT_PERCENT] = 'P'};
    const struct ir_type_info *info = lower_info(l, type);
    const struct ir_const_info *object = NULL;
    if (info->kind == IR_KIND_OBJECT || info->kind == IR_KIND_RECIPE)
        object = ir_const_info(l->py, info->object);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_SCALAR:
        sp_str_printf(&t->text, "v%s;", ir_scalar_row(type)->name);
        t->values[t->n++] = lower_fault_value(l, *t->parts++, type);
        return;
    case IR_KIND_TUPLE:
        sp_str_add_char(&t->text, 't');
        fault_recipes(l, t, info);
        return;
    case IR_KIND_OBJECT:
        if (object->kind == IR_C_STR) {
            sp_str_add_char(&t->text, 's');
            fault_text(&t->text, object->str, object->len);
        } else {
            sp_str_add_char(&t->text, 'n');
        }
        return;
    case IR_KIND_RECIPE:
        if (object->kind == IR_C_EXCEPTION)
            fault_class(l, t, info->object);
        else
            sp_str_add_char(&t->text, letters[object->i]);
        fault_recipes(l, t, info);
        return;
    default: break;
    }
    assert(!"inference carries no such value");
}

void
lower_throw(struct lower *l, ir_ref py)
{
    struct lower_value value = lower_get(l, ir_arg(l->from, py, 0));
    const struct ir_type_info *info = lower_info(l, value.type);
    struct fault_throw t = {.parts = value.parts};
    sp_str_init(&t.text);
    if (info->kind == IR_KIND_OBJECT) {
        fault_class(l, &t, info->object);
        sp_str_add(&t.text, "()");
    } else {
        fault_recipe(l, &t, value.type);
    }
    uint32_t site = lower_site(l, py, SP_E_RAISED, t.text.data, t.n);
    ir_raise(l->func, l->block, site, t.n, t.values);
    sp_str_finish(&t.text);
}
