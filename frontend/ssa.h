/* Private to build.c and ssa.c: variables (locals and stack slots) to SSA values. */
#ifndef FE_SSA_H
#define FE_SSA_H

#include "ir/ir.h"

struct fe_ssa_phi {
    ir_ref ref;
    uint32_t block, var;
    uint32_t next; /* of the same unfinished block, plus one */
};

struct fe_ssa {
    struct ir_func *func;
    struct sp_arena *arena;
    uint32_t n_vars;
    const ir_const *names; /* per variable: its name, or 0 */
    ir_ref *values;        /* per block and variable: the value at its end so far, or 0 */
    uint32_t *n_preds;     /* per block: how many edges it will have */
    uint32_t *unfinished;  /* per block: first of its phis that wait for edges, plus one */
    SP_VEC(struct fe_ssa_phi) phis;
    SP_VEC(uint32_t) to_fill;  /* phis whose operands can be read now */
    SP_VEC(ir_ref) stands_for; /* per instruction: 0, or the value that replaced it */
    bool is_filling;
};

void fe_ssa_init(struct fe_ssa *ssa, struct ir_func *func, struct sp_arena *arena,
                 uint32_t max_blocks, uint32_t n_vars, const ir_const *names);
void fe_ssa_write(struct fe_ssa *ssa, uint32_t block, uint32_t var, ir_ref value);
ir_ref fe_ssa_read(struct fe_ssa *ssa, uint32_t block, uint32_t var);
/* To be called when an edge to `block` was added. */
void fe_ssa_edge(struct fe_ssa *ssa, uint32_t block);
/* An UNDEF at the head of the entry. */
ir_ref fe_ssa_undef(struct fe_ssa *ssa, ir_const name);
/* The value that stands for this one now. */
ir_ref fe_ssa_find(struct fe_ssa *ssa, ir_ref ref);
/* Removes replaced and unused phis, unused constants and UNDEFs; corrects all operands. */
void fe_ssa_end(struct fe_ssa *ssa);

#endif
