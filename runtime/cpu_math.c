/* cpu_math: functions of the C library that are less exact than GPUs' are, made exact enough.
 *
 * In and out: as the function of libm that cpu_symbols.def puts them in the place of. glibc's cbrt
 * errs by up to 3 units in the last place. One step of Newton's method from there, with the
 * residual y^3 - x in twice the precision (the errors of both products by fma), leaves little more
 * than half a unit. */
#include <math.h>

#include "runtime/cpu_t.h"

double
rt_cpu_cbrt(double x)
{
    /* So that no product overflows and no error of one is subnormal; powers of two are exact. */
    double size = fabs(x), scale = 1, undo = 1;
    if (size < 0x1p-700)
        scale = 0x1p600, undo = 0x1p-200;
    else if (size > 0x1p700)
        scale = 0x1p-600, undo = 0x1p200;
    double scaled = x * scale, y = cbrt(scaled);
    if (x == 0 || !isfinite(x))
        return y;
    double square = y * y, square_rest = fma(y, y, -square);
    double cube = square * y, cube_rest = fma(square, y, -cube);
    double residual = (cube - scaled) + (cube_rest + square_rest * y);
    return (y - residual / (3 * square)) * undo;
}

/* glibc's errs by more than 6 units. */
float
rt_cpu_tgammaf(float x)
{
    return (float)tgamma(x);
}
