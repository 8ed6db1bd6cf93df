/* lower_bits: functions of bits.
 *
 * In: calls with their cells. Out: core operations at the width of the argument, and INTRIN where a
 * target has an instruction of its own.
 *
 *     gpu.popc(x)    ->  zext i64 (ctpop x)
 *     gpu.ffs(x)     ->  width - ctlz(x & -x)      0 has no bit left, so its answer is 0
 *     gpu.brev(x)    ->  intrin gpu.brev x
 *
 * ffs by the reversed bits, as cttz becomes on a GPU, needs a test for 0 behind it. */
#include "ir/lower.h"

static ir_ref
bits_ffs(struct lower *l, ir_ref x)
{
    ir_type machine = lower_type_of(l, x);
    ir_ref minus = lower_op2(l, IR_SUB, lower_int(l, machine, 0), x);
    ir_ref before = lower_op1(l, IR_CTLZ, lower_op2(l, IR_AND, x, minus));
    return lower_op2(l, IR_SUB, lower_int(l, machine, ir_machine_bits(machine)), before);
}

/* Counts of bits, an int. An i8 holds 64 as it is, so nothing here is negative. */
static struct lower_value
bits_count(struct lower *l, ir_ref x, enum ir_intrin id)
{
    ir_ref r = id == IR_INTRIN_FFS ? bits_ffs(l, x)
                                   : lower_op1(l, id == IR_INTRIN_CLZ ? IR_CTLZ : IR_CTPOP, x);
    if (lower_type_of(l, r) != IR_T_I64)
        r = lower_cast(l, IR_ZEXT, IR_T_I64, r);
    lower_mark_nonneg(l, r);
    return lower_scalar(l, IR_T_INT, r);
}

struct lower_value
lower_bits(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = l->inst->cells[py].type, machine = lower_machine(l, type);
    struct lower_value first = lower_get(l, lower_arg(l, py, 0));
    if (lower_n_args(l, py) == 1 && id != IR_INTRIN_BREV)
        return bits_count(l, first.parts[0], id);
    ir_ref args[3] = {lower_convert(l, first, type).parts[0], 0, 0};
    if (id == IR_INTRIN_BREV)
        return lower_scalar(l, type, lower_emit(l, IR_INTRIN, machine, id, 1, args));
    args[1] = lower_get_as(l, lower_arg(l, py, 1), type);
    args[2] = lower_get_as(l, lower_arg(l, py, 2), type);
    if (id == IR_INTRIN_BYTE_PERM) /* PTX would copy the sign of a byte with the bit above */
        args[2] = lower_op2(l, IR_AND, args[2], lower_int(l, machine, 0x7777));
    else {
        ir_ref high = args[1];
        args[1] = args[0];
        args[0] = high;
    }
    return lower_scalar(l, type, lower_emit(l, IR_INTRIN, machine, id, 3, args));
}
