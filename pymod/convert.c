/* convert: elements of one dtype to another on the host, as a store in a kernel converts them.
 *
 * In: two views of equal shape, any strides. Each element becomes one of three wide numbers (a
 * signed or an unsigned integer, or a double) and is stored from there: integers keep their low
 * bits, floats that leave an integer's range become its nearest end and NaN 0, floats are rounded
 * once. For what is small: large arrays are converted by a kernel (array_move.c), and a test
 * compares the two. */
#include "pymod/pm.h"

#include <string.h>

struct convert_number {
    uint8_t class; /* enum ir_class */
    uint64_t bits; /* of an integer */
    double real;
};

static struct convert_number
convert_load(ir_type dtype, uint64_t address)
{
    const struct ir_scalar_row *row = ir_scalar_row(dtype);
    struct convert_number number = {.class = row->class};
    float single;
    memcpy(&number.bits, (const void *)(uintptr_t)address, row->bits / 8u);
    if (row->class == IR_CLASS_BOOL)
        number.bits = number.bits != 0;
    if (row->class == IR_CLASS_INT && row->bits < 64) {
        uint64_t sign = (uint64_t)1 << (row->bits - 1);
        number.bits = (number.bits ^ sign) - sign;
    }
    if (row->class != IR_CLASS_FLOAT)
        return number;
    if (ir_is_half(row->machine)) {
        number.real = ir_half_value(row->machine, (uint16_t)number.bits);
    } else if (row->machine == IR_T_F32) {
        memcpy(&single, &number.bits, sizeof single);
        number.real = single;
    } else {
        memcpy(&number.real, &number.bits, sizeof number.real);
    }
    return number;
}

static void
convert_element(ir_type to, uint64_t to_address, ir_type from, uint64_t from_address)
{
    const struct ir_scalar_row *row = ir_scalar_row(to);
    struct convert_number number = convert_load(from, from_address);
    bool is_float = number.class == IR_CLASS_FLOAT;
    uint64_t bits;
    if (row->class == IR_CLASS_BOOL)
        bits = is_float ? number.real != 0 : number.bits != 0;
    else if (row->class != IR_CLASS_FLOAT)
        bits = is_float ? (uint64_t)pm_saturate(to, number.real) : number.bits;
    else if (is_float)
        bits = pm_float_bits(to, number.real);
    else
        bits = pm_float_bits_of_int(to, number.bits, number.class == IR_CLASS_UINT);
    memcpy((void *)(uintptr_t)to_address, &bits, row->bits / 8u);
}

static void
convert_axis(const struct pm_view *to, const struct pm_view *from, uint32_t axis, uint64_t t,
             uint64_t f)
{
    if (axis == to->rank) {
        convert_element(to->dtype, t, from->dtype, f);
        return;
    }
    for (int64_t i = 0; i < to->shape[axis]; i++)
        convert_axis(to, from, axis + 1u, t + (uint64_t)(i * to->strides[axis]),
                     f + (uint64_t)(i * from->strides[axis]));
}

void
pm_view_convert(const struct pm_view *to, const struct pm_view *from)
{
    if (to->dtype == from->dtype)
        pm_view_copy(to, from);
    else
        convert_axis(to, from, 0, to->data, from->data);
}
