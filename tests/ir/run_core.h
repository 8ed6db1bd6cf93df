/* Runs a kernel of phase CORE as one thread, in the process's memory. */
#ifndef TESTS_RUN_CORE_H
#define TESTS_RUN_CORE_H

#include "ir/ir.h"

struct run_core {
    const struct ir_module *module;
    uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
    uint64_t steps_left; /* 0 at the end: gave up */
    bool raised;
    uint32_t site;
    int64_t values[SP_FAULT_VALUES];
    uint64_t polls;
};

/* Arguments are bits, extended by zeros. False if it raised or gave up. */
bool run_core(struct run_core *run, const uint64_t *args);

#endif
