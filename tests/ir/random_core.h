/* Random CORE modules whose every operation is defined, for tests of passes. */
#ifndef TESTS_IR_RANDOM_CORE_H
#define TESTS_IR_RANDOM_CORE_H

#include "ir/ir.h"

struct random_source {
    uint64_t state;
};
uint64_t random_next(struct random_source *random);
uint32_t random_below(struct random_source *random, uint32_t n);

/* Function 0 takes an address and values; the rest are callees. */
struct ir_module *random_core(struct sp_arena *arena, uint64_t seed);
/* One function of a parameter per value type and `n` results (64 at most), each a small expression
 * over them and constants: every rule on single instructions is met often, and its result seen. */
struct ir_module *random_expressions(struct sp_arena *arena, uint64_t seed, uint32_t n);

#endif
