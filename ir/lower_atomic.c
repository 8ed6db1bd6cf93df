/* lower_atomic: calls of gpu.atomic.
 *
 * In: a call with its cells. Out: the address as of a plain element (lower_index.c) and one ATOMIC
 * or CAS in the element's type; the operand is converted, and with check looked at, as by a store.
 * What becomes of it on a machine that has no such instruction is the emitter's business, so that
 * passes see one operation.
 *
 *     atomic.sub(x, i, v) of float32[:]   ->  atomic f32 fadd (ptradd %x, ...), (fneg %v)
 *     atomic.max(x, i, v) of uint8[:]     ->  atomic i8 umax (ptradd %x, ...), (trunc i8 %v)
 *
 * Subtraction is the addition of the negated operand, for floats too: -v is exact. */
#include "ir/lower.h"

#include <assert.h>

/* The operand as the element's machine type. */
static ir_ref
atomic_operand(struct lower *l, ir_ref py, ir_type dtype)
{
    struct lower_value value = lower_get(l, py);
    lower_check_store(l, value, dtype);
    return lower_convert(l, value, dtype).parts[0];
}

static ir_type
atomic_dtype(const struct lower *l, ir_ref array)
{
    return lower_info(l, l->inst->cells[array].type)->dtype;
}

/* The old value as reading the element gives it. */
static struct lower_value
atomic_old(struct lower *l, ir_ref old, ir_type dtype)
{
    ir_type type = ir_element_type(dtype);
    return lower_scalar(l, type, lower_convert_scalar(l, old, dtype, type));
}

static ir_ref
atomic_negated(struct lower *l, ir_ref value, ir_type dtype)
{
    if (ir_is_float(dtype))
        return lower_op1(l, IR_FNEG, value);
    return lower_op2(l, IR_SUB, lower_int(l, lower_type_of(l, value), 0), value);
}

struct lower_value
lower_atomic(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_ref array = lower_arg(l, py, 0);
    ir_type dtype = atomic_dtype(l, array);
    bool negated;
    enum ir_atomic op = ir_atomic_of_call(id, dtype, &negated);
    assert(op != IR_ATOMIC_NONE && "inference refuses it");
    ir_ref address = lower_address(l, py, array, lower_get(l, lower_arg(l, py, 1)));
    ir_ref value = atomic_operand(l, lower_arg(l, py, 2), dtype);
    if (negated)
        value = atomic_negated(l, value, dtype);
    ir_ref old =
        lower_emit(l, IR_ATOMIC, lower_type_of(l, value), op, 2, (ir_ref[]){address, value});
    return atomic_old(l, old, dtype);
}

/* The index of the first element. */
static struct lower_value
atomic_first(struct lower *l, uint32_t rank)
{
    ir_type types[IR_MAX_RANK];
    ir_ref zeros[IR_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) {
        types[k] = IR_T_INT;
        zeros[k] = lower_int(l, IR_T_I64, 0);
    }
    return lower_value_new(l, ir_type_tuple(l->py, rank, types), rank, zeros);
}

struct lower_value
lower_cas(struct lower *l, ir_ref py)
{
    ir_ref array = lower_arg(l, py, 0);
    ir_type dtype = atomic_dtype(l, array);
    uint32_t rank = lower_info(l, l->inst->cells[array].type)->rank, n = lower_n_args(l, py);
    struct lower_value index = n == 4 ? lower_get(l, lower_arg(l, py, 1)) : atomic_first(l, rank);
    ir_ref address = lower_address(l, py, array, index);
    ir_ref expected = atomic_operand(l, lower_arg(l, py, n - 2), dtype);
    ir_ref value = atomic_operand(l, lower_arg(l, py, n - 1), dtype);
    ir_ref old =
        lower_emit(l, IR_CAS, lower_type_of(l, value), 0, 3, (ir_ref[]){address, expected, value});
    return atomic_old(l, old, dtype);
}
