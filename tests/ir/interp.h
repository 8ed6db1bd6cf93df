/* A second opinion on CORE: an interpreter that shares no code with the compiler's folding. */
#ifndef TESTS_IR_INTERP_H
#define TESTS_IR_INTERP_H

#include "ir/ir.h"

#define INTERP_MEMORY_B 256
#define INTERP_MAX_RESULTS 64

enum interp_end { INTERP_RET, INTERP_RAISE, INTERP_UNREACHABLE, INTERP_LIMIT, INTERP_BAD };

struct interp {
    const struct ir_module *module;
    uint8_t memory[INTERP_MEMORY_B]; /* an address is an offset in it */
    uint64_t steps_left;
    uint32_t depth;
    enum interp_end end;
    const char *problem; /* INTERP_BAD: what was not defined */
    uint32_t site;
    uint32_t n_values; /* results of function 0, or values of the RAISE */
    uint64_t values[INTERP_MAX_RESULTS + SP_FAULT_VALUES];
};

/* Runs function 0 on these bits, one per parameter. */
void interp_run(struct interp *in, const struct ir_module *module, const uint64_t *args,
                uint64_t max_steps);

#endif
