/* Runs CORE functions in C tests, one thread, real memory. */
#ifndef TESTS_RUN_CORE_H
#define TESTS_RUN_CORE_H

#include "ir/ir.h"

struct run_core {
    const struct ir_module *module;
    struct sp_arena *arena;
    uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
    uint64_t steps_left; /* 0 at the end: gave up */
    bool raised;
    uint32_t site;
    int64_t values[SP_FAULT_VALUES];
    uint64_t polls;
};

/* Values are bits, extended by zeros. False if it raised or gave up. */
bool run_core(struct run_core *run, uint32_t func, const uint64_t *args, uint64_t *results_out);

#endif
