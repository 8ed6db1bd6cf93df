/* Host objects in memory: load, find the entry, run a block. */
#ifndef TESTS_CODEGEN_HOST_RUN_H
#define TESTS_CODEGEN_HOST_RUN_H

#include "codegen/cg.h"

struct host_code {
    void *jit; /* an LLJIT of its own */
    void (*entry)(const struct sp_block *block, const void *params);
    struct artifact *artifact;
};

/* Compiles CORE text for the host and loads it; fails the test if it cannot. */
struct host_code host_load_text(const char *text, int opt_level);
void host_unload(struct host_code *code);

/* The state that all host tests compile with. */
struct cg_state *host_state(void);
void host_state_finish(void);

#endif
