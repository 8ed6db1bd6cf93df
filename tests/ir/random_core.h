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

#endif
