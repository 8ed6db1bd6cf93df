/* lower_element: elements of arrays as values, and back.
 *
 * In: the address of an element and the type of its array, which says what lies there and how it is
 * aligned. Out: loads or stores of the element's leaves (ir/storable.c), each aligned as its offset
 * and the array allow. A record is not loaded: its value is an array of rank 0 at the address, and
 * storing one copies its bytes.
 *
 *     a[i] of int16[:]    ->  %1 = load i16 align(1) %address
 *                             %2 = sext i64 %1
 */
#include "ir/lower.h"

#include <assert.h>

static ir_type
element_memory_type(ir_type scalar)
{
    return scalar == IR_T_BOOL ? (ir_type)IR_T_I8 : (ir_type)ir_scalar_row(scalar)->machine;
}

/* Log2 of what the address of a leaf is a multiple of. */
static uint32_t
element_align(const struct lower *l, const struct ir_type_info *array, struct ir_leaf leaf)
{
    uint32_t align = ir_storable_align(l->py, leaf.scalar);
    uint32_t known = array->align_log2, natural = ir_storable_align(l->py, array->dtype);
    known = known < natural ? known : natural;
    if (leaf.offset_B && (uint32_t)__builtin_ctz(leaf.offset_B) < known)
        known = (uint32_t)__builtin_ctz(leaf.offset_B);
    return align < known ? align : known;
}

static ir_ref
element_address(struct lower *l, ir_ref address, uint32_t offset_B)
{
    return offset_B ? lower_op2(l, IR_PTRADD, address, lower_int(l, IR_T_I64, offset_B)) : address;
}

static ir_ref
element_load(struct lower *l, ir_ref address, const struct ir_type_info *array, struct ir_leaf leaf)
{
    ir_ref at = element_address(l, address, leaf.offset_B);
    ir_ref bits = lower_emit(l, IR_LOAD, element_memory_type(leaf.scalar),
                             element_align(l, array, leaf), 1, &at);
    if (leaf.scalar == IR_T_BOOL)
        bits = lower_icmp(l, IR_ICMP_NE, bits, lower_int(l, IR_T_I8, 0));
    return bits;
}

ir_type
lower_without_axes(struct lower *l, ir_type array)
{
    struct ir_type_info info = *lower_info(l, array);
    info.rank = 0;
    info.layout = IR_LAYOUT_C;
    info.object = 0;
    return ir_type_intern(l->py, &info);
}

struct lower_value
lower_load(struct lower *l, ir_ref address, ir_type array)
{
    struct ir_type_info info = *lower_info(l, array);
    if (ir_is_reference(l->py, info.dtype))
        return lower_value_new(l, lower_without_axes(l, array), 1, &address);
    struct ir_leaf leaves[IR_MAX_ELEMENT_LEAVES];
    uint32_t n = ir_storable_leaves(l->py, info.dtype, leaves);
    ir_type type = ir_element_type(info.dtype);
    ir_ref parts[IR_MAX_ELEMENT_LEAVES];
    for (uint32_t i = 0; i < n; i++)
        parts[i] = element_load(l, address, &info, leaves[i]);
    if (ir_type_is_scalar(info.dtype))
        parts[0] = lower_convert_scalar(l, parts[0], info.dtype, type);
    return lower_value_new(l, type, n, parts);
}

void
lower_store(struct lower *l, ir_ref py, ir_ref address, struct lower_value value, ir_type array)
{
    struct ir_type_info info = *lower_info(l, array);
    struct ir_leaf leaves[IR_MAX_ELEMENT_LEAVES];
    if (ir_is_reference(l->py, info.dtype)) {
        lower_store_record(l, py, address, value, array);
        return;
    }
    uint32_t n = ir_storable_leaves(l->py, info.dtype, leaves);
    if (ir_type_is_scalar(info.dtype))
        lower_check_store(l, value, info.dtype);
    value = lower_convert(l, value, info.dtype);
    for (uint32_t i = 0; i < n; i++) {
        ir_ref bits = value.parts[i];
        if (leaves[i].scalar == IR_T_BOOL)
            bits = lower_cast(l, IR_ZEXT, IR_T_I8, bits);
        ir_ref args[] = {element_address(l, address, leaves[i].offset_B), bits};
        lower_emit(l, IR_STORE, IR_T_NONE, element_align(l, &info, leaves[i]), 2, args);
    }
}
