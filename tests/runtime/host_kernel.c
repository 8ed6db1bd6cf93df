/* Kernels for the CPU device as codegen/ would make them, compiled to an object for
 * test_cpu_object.c. Their only parameters are x, y, n and a. */
#include <math.h>
#include <stdint.h>

#include "support/artifact.h"

struct params {
    const double *x;
    double *y;
    int64_t n;
    double a;
};

void saxpy(const struct sp_block *block, const void *params);
void functions(const struct sp_block *block, const void *params);
void endless(const struct sp_block *block, const void *params);

static const double offsets[2] = {0.0, 0.5}; /* data of its own, reached by relocation */

void
saxpy(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    for (uint32_t t = 0; t < block->block_dim[0]; t++) {
        int64_t i = (int64_t)block->block_idx[0] * block->block_dim[0] + t;
        if (i < p->n)
            p->y[i] = p->a * p->x[i] + p->y[i] + offsets[i & 1];
    }
}

/* One function of every kind of row in cpu_symbols.def. */
void
functions(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    double x = p->x[block->block_idx[0]];
    __int128 wide = (__int128)p->n << 40;
    double y[4] = {sin(x) + erf(x) + tgamma(x), sinf((float)x), (double)(wide / (p->n + 1)), 0};
    for (int64_t i = 0; i < 3; i++)
        p->y[3 * block->block_idx[0] + i] = y[i];
}

void
endless(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    while (!*block->cancel)
        p->y[0] += 1.0;
}
