/* A second opinion on CORE: an interpreter that shares no code with the compiler's folding. */
#ifndef TESTS_IR_INTERP_H
#define TESTS_IR_INTERP_H

#include "ir/ir.h"

#define INTERP_MEMORY_B 256
#define INTERP_MAX_RESULTS 64

enum interp_end { INTERP_RET, INTERP_RAISE, INTERP_UNREACHABLE, INTERP_LIMIT, INTERP_BAD };

struct interp {
    const struct ir_module *module;
    /* NULL: any function of operands and number */
    uint64_t (*intrin)(void *context, const struct ir_insn *insn, const uint64_t *args);
    void *context;
    bool real_memory;                /* addresses are those of the process */
    uint8_t memory[INTERP_MEMORY_B]; /* otherwise an address is an offset in it */
    uint8_t slots[4096];             /* of SLOTs, with real_memory */
    uint32_t slots_B;
    uint64_t steps_left, polls;
    uint32_t depth;
    enum interp_end end;
    const char *problem; /* INTERP_BAD: what was not defined */
    uint32_t site;
    uint32_t n_values; /* results of function 0, or values of the RAISE */
    uint64_t values[INTERP_MAX_RESULTS + SP_FAULT_VALUES];
};

/* Runs function 0 on these bits, one per parameter, in memory with fixed contents. */
void interp_run(struct interp *in, const struct ir_module *module, const uint64_t *args,
                uint64_t max_steps);
/* The same with what the caller has set: the members before `memory`, and `steps_left`. */
void interp_go(struct interp *in, const uint64_t *args);

uint64_t interp_from_double(ir_type type, double value);
double interp_to_double(ir_type type, uint64_t bits);

#endif
