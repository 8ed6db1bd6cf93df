/* Copies of a loop, one per round. Private to ir/unroll.c and ir/infer_iter.c. */
#ifndef IR_UNROLL_H
#define IR_UNROLL_H

#include "ir/ir.h"

/* A copy of the function in which the loop with this head has a copy per round, and which of the
 * given function's instructions each of its own is (0: none). False: no such loop, or too long. */
struct ir_unrolled {
    struct ir_func *func;
    const ir_ref *copy_of;
};
bool ir_unroll(struct ir_module *module, const struct ir_func *func, uint32_t head, uint32_t rounds,
               uint32_t max_insns, struct sp_arena *arena, struct ir_unrolled *out);

#endif
