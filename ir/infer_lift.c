/* infer_lift: values that go from one meeting to the next convert once.
 *
 * In: final cells. Out: the same, but that a phi which only phis and returns read has the type of these
 * readers, if they have one in common. How many phis lie between an assignment and a read is the
 * bytecode's choice and differs between versions of Python, so a conversion to the type of one in
 * between must not show:
 *
 *     %3 = phi int %1, uint32 %2     ->     %3 = phi float      %1 = -5 stays -5.0
 *     %5 = phi float %4, %3                 %5 = phi float
 *
 * Readers' types include the phi's own, so nothing else changes and no operation is typed again. Lost:
 * letting types of readers flow back while inference runs, which carries them on to other readers. */
#include "ir/infer_t.h"

/* Takes the type of one more reader; false if readers differ. */
static bool
lift_add(ir_type *common, ir_type type)
{
    bool same = *common == IR_T_NONE || *common == type;
    *common = type;
    return same;
}

/* The type that all readers of the phi have, or none. */
static ir_type
lift_type(const struct ir_instance *instance, ir_ref phi)
{
    const struct ir_func *func = instance->func;
    const struct ir_flow *flow = instance->flow;
    ir_type common = IR_T_NONE;
    for (uint32_t i = flow->first_user[phi]; i < flow->first_user[phi + 1]; i++) {
        ir_ref user = flow->users[i];
        const struct ir_insn *insn = ir_insn(func, user);
        if (user == phi || !sp_bits_has(&instance->live_blocks, insn->block))
            continue;
        if (insn->op == IR_RET && !lift_add(&common, instance->result.type))
            return IR_T_NONE;
        if (insn->op != IR_PHI && insn->op != IR_RET)
            return IR_T_NONE;
        for (uint32_t k = 0; insn->op == IR_PHI && k < insn->n_args; k++)
            if (ir_arg(func, user, k) == phi && ir_edge_is_live(instance, insn->block, k) &&
                !lift_add(&common, instance->cells[user].type))
                return IR_T_NONE;
    }
    return common;
}

static bool
lift_phi(struct infer *in, struct ir_instance *instance, ir_ref phi)
{
    struct ir_cell *cell = &instance->cells[phi];
    bool number = ir_type_is_scalar(cell->type) || cell->type == IR_T_MIXED;
    bool tuple = ir_type_info(in->module, cell->type)->kind == IR_KIND_TUPLE;
    if (cell->constant || !(number || tuple))
        return false;
    ir_type type = lift_type(instance, phi);
    if (!infer_known(type) || type == cell->type)
        return false;
    cell->type = type;
    return true;
}

void
infer_lift(struct infer *in)
{
    for (uint32_t i = 0; i < in->typed->instances.len; i++) {
        struct ir_instance *instance = in->typed->instances.data[i];
        const struct ir_func *func = instance->func;
        for (bool again = true; again;) {
            again = false;
            for (uint32_t b = func->blocks.len; b-- > 0;) {
                const struct ir_block *block = &func->blocks.data[b];
                if (!sp_bits_has(&instance->live_blocks, b))
                    continue;
                for (uint32_t k = 0; k < block->insns.len; k++) {
                    if (ir_insn(func, block->insns.data[k])->op != IR_PHI)
                        break;
                    again |= lift_phi(in, instance, block->insns.data[k]);
                }
            }
        }
    }
}
