/* lower_fault: what a running kernel raises, and the places where it does.
 *
 * In: THROW instructions, and conditions that lowering's own checks need. Out: a site per place and
 * a RAISE whose operands are the values that the message needs, as 64 bits each. The text of a site
 * is for the host: of a check a message with {i}, {u}, {f} for a signed, unsigned or float64 value,
 * of the program's own exceptions a recipe (lower_recipe.c).
 *
 *     raise ValueError("bad", i)  ->  site 0 RAISED "e0:10:ValueError(s3:badvint;)" 1
 *                                     raise site(0) %i
 *     a check                     ->  br %fits, go on, fail     fail: raise site(1) ... */
#include "ir/lower.h"

#include <assert.h>

uint32_t
lower_site(struct lower *l, ir_ref py, enum sp_error code, const char *text, uint32_t n_values)
{
    struct sp_arena *arena = l->core->arena;
    assert(n_values <= (code == SP_E_NOT_PRINTED ? SP_PRINT_VALUES : SP_FAULT_VALUES) &&
           "a record holds them");
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

void
lower_throw(struct lower *l, ir_ref py)
{
    struct lower_recipe recipe;
    lower_recipe_init(&recipe);
    lower_recipe_add(l, &recipe, lower_get(l, ir_arg(l->from, py, 0)));
    uint32_t site = lower_site(l, py, SP_E_RAISED, recipe.text.data, recipe.n);
    ir_raise(l->func, l->block, site, recipe.n, recipe.values);
    lower_recipe_finish(&recipe);
}
