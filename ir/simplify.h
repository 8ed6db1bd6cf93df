/* Inside ir/: the parts of ir_opt_simplify. */
#ifndef IR_SIMPLIFY_H
#define IR_SIMPLIFY_H

#include "ir/pass.h"

struct ir_simplify {
    struct ir_func *func;
    struct sp_arena *arena; /* of the pass */
    struct sp_map pool;     /* (type, constant) -> its one CONST */
    SP_VEC(ir_ref) consts;  /* in no block while the pass runs */
    bool changed;           /* an instruction was rewritten in place */
};

ir_ref ir_simplify_const(struct ir_simplify *s, ir_type type, uint64_t bits);
/* A value that this one equals, or 0; may rewrite the instruction in place instead. */
ir_ref ir_simplify_identity(struct ir_simplify *s, ir_ref ref);
/* Branches on constants, unreachable blocks, empty blocks, chains of blocks. */
bool ir_simplify_flow(struct ir_simplify *s);

#endif
