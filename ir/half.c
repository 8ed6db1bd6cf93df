/* half: float16 and bfloat16 between their bits and doubles.
 *
 * In: a machine type, F16 or BF16, and bits or a double. Out: the exact double, or the bits of the
 * nearest half, ties to even, overflow to infinity, one quiet NaN. What constants, tests and the
 * host's arrays need; kernels convert by instructions (codegen/emit_half.c). Both formats are one
 * piece of arithmetic: a double is scaled so that the last bit the half has is worth 1. */
#include <math.h>

#include "ir/ir.h"

struct half_format {
    int mantissa_bits;
    int last; /* exponent of the smallest number */
    uint16_t infinity;
};

static struct half_format
half_format(ir_type half)
{
    return half == IR_T_F16 ? (struct half_format){10, -24, 0x7c00}
                            : (struct half_format){7, -133, 0x7f80};
}

uint16_t
ir_half_of(ir_type half, double value)
{
    struct half_format f = half_format(half);
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return f.infinity | (uint16_t)(1u << (f.mantissa_bits - 1));
    if (isinf(value))
        return f.infinity | sign;
    int exponent;
    frexp(value, &exponent);
    int unit = exponent - 1 - f.mantissa_bits;
    if (value == 0 || unit < f.last)
        unit = f.last;
    if (unit > 128)
        return f.infinity | sign;
    /* The field of the exponent counts from the smallest numbers; a carry into it is right. */
    int64_t bits =
        (int64_t)rint(ldexp(fabs(value), -unit)) + ((int64_t)(unit - f.last) << f.mantissa_bits);
    return (bits > f.infinity ? f.infinity : (uint16_t)bits) | sign;
}

double
ir_half_value(ir_type half, uint16_t bits)
{
    struct half_format f = half_format(half);
    int magnitude = bits & 0x7fff, field = magnitude >> f.mantissa_bits;
    int fraction = magnitude & ((1 << f.mantissa_bits) - 1);
    double value;
    if (magnitude > f.infinity)
        value = NAN;
    else if (magnitude == f.infinity)
        value = INFINITY;
    else if (!field)
        value = ldexp(fraction, f.last);
    else
        value = ldexp(fraction + (1 << f.mantissa_bits), f.last + field - 1);
    return bits & 0x8000 ? -value : value;
}

/* The product is exact in double. A sum that is not gets an odd last bit, so that it lies on the
 * right side of every half and of the middle between two. */
uint16_t
ir_half_fma(ir_type half, uint16_t a, uint16_t b, uint16_t c)
{
    double product = ir_half_value(half, a) * ir_half_value(half, b);
    double addend = ir_half_value(half, c), sum = product + addend;
    double part = sum - product;
    double error = (product - (sum - part)) + (addend - part);
    int exponent;
    if (isfinite(sum) && error != 0 && (int64_t)ldexp(frexp(sum, &exponent), 53) % 2 == 0)
        sum = nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    return ir_half_of(half, sum);
}
