/* lower_meet: the types in which values that meet are wanted.
 *
 * In: a typed instance. Out: for each PHI the types that its readers see, and a CORE phi for each.
 * A reader sees the type joined of all assignments that reach it, and a value becomes that type
 * once, on its way from the assignment to the reader. How many phis lie on this way is the
 * bytecode's choice and differs between versions of Python, so what only passes a phi is not
 * converted to that phi's own type:
 *
 *     %3 = phi int %1, uint32 %2       uint32 for `y[0] = x`, and for %5 a second phi:
 *     %5 = phi float %4, %3            phi float %1, %2 with %1 = -5 as -5.0
 *
 * Phis, returns and BOUND pass a value on, everything else reads it. Wants go from the readers
 * against the flow until there are no new ones; a pair of a phi and a type is looked at once. Phis
 * that nobody wants are not made. Lost: giving a phi the one type that its readers share, which
 * decides nothing for a phi with several kinds of readers.
 *
 * With check=True an int that becomes a typed integer must fit. A phi of ints alone is then passed
 * on as int, and converted on the edge to the phi where it meets the typed integer: on another way
 * from here the variable may be assigned anew. The bits are the same. */
#include "ir/lower.h"

/* The value that BOUND passes on. */
static ir_ref
meet_source(const struct lower *l, ir_ref py)
{
    while (ir_insn(l->from, py)->op == IR_BOUND)
        py = ir_arg(l->from, py, 0);
    return py;
}

static bool
meet_is_free(const struct lower *l, ir_type type)
{
    uint8_t kind = lower_info(l, type)->kind;
    return kind == IR_KIND_SCALAR || kind == IR_KIND_TUPLE || kind == IR_KIND_MIXED;
}

/* Whether all numbers in a value of the type are int or bool. */
static bool
meet_is_weak(const struct lower *l, ir_type type)
{
    const struct ir_type_info *info = lower_info(l, type);
    if (info->kind != IR_KIND_TUPLE)
        return type == IR_T_INT || type == IR_T_BOOL;
    for (uint32_t i = 0; i < info->n_elems; i++)
        if (!meet_is_weak(l, info->elems[i]))
            return false;
    return true;
}

struct lower_meet *
lower_meet_of(const struct lower *l, ir_ref phi, ir_type type)
{
    for (uint32_t i = l->first_meet[phi]; i; i = l->meets.data[i - 1].next)
        if (l->meets.data[i - 1].type == type)
            return &l->meets.data[i - 1];
    return NULL;
}

/* The value is read, or passed on, as `type`. */
static void
meet_want(struct lower *l, ir_ref py, ir_type type)
{
    ir_ref phi = meet_source(l, py);
    struct ir_cell cell = l->inst->cells[phi];
    if (ir_insn(l->from, phi)->op != IR_PHI || cell.constant || cell.type == IR_T_NONE)
        return;
    bool later = l->ctx->options.check && meet_is_weak(l, cell.type);
    if (later || !meet_is_free(l, cell.type) || !meet_is_free(l, type))
        type = cell.type;
    if (lower_meet_of(l, phi, type))
        return;
    sp_vec_push(l->core->arena, &l->meets,
                (struct lower_meet){.phi = phi, .type = type, .next = l->first_meet[phi]});
    l->first_meet[phi] = l->meets.len;
}

static void
meet_want_operands(struct lower *l, ir_ref py)
{
    const struct ir_insn *insn = ir_insn(l->from, py);
    if (insn->op == IR_PHI || insn->op == IR_BOUND)
        return;
    for (uint32_t i = 0; i < insn->n_args; i++) {
        ir_ref arg = ir_arg(l->from, py, i);
        ir_type own = l->inst->cells[meet_source(l, arg)].type;
        meet_want(l, arg, insn->op == IR_RET ? l->inst->result.type : own);
    }
}

void
lower_meets(struct lower *l)
{
    l->meets.len = 0;
    l->first_meet = SP_NEW_N(l->core->arena, uint32_t, l->from->insns.len);
    for (uint32_t b = 0; b < l->from->blocks.len; b++) {
        const struct ir_block *block = &l->from->blocks.data[b];
        if (!sp_bits_has(&l->inst->live_blocks, b))
            continue;
        for (uint32_t i = 0; i < block->insns.len; i++)
            meet_want_operands(l, block->insns.data[i]);
    }
    for (uint32_t i = 0; i < l->meets.len; i++) {
        struct lower_meet meet = l->meets.data[i];
        const struct ir_insn *phi = ir_insn(l->from, meet.phi);
        for (uint32_t k = 0; k < phi->n_args; k++)
            if (ir_edge_is_live(l->inst, phi->block, k))
                meet_want(l, ir_arg(l->from, meet.phi, k), meet.type);
    }
}

struct lower_value
lower_pass_on(struct lower *l, ir_ref py, ir_type type)
{
    ir_ref source = meet_source(l, py);
    const struct lower_meet *meet = lower_meet_of(l, source, type);
    if (meet)
        return meet->value;
    struct lower_value value = lower_get(l, source);
    lower_check_store(l, value, type);
    return lower_convert(l, value, type);
}
