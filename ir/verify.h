/* Inside ir/: what the halves of the verifier share. */
#ifndef IR_VERIFY_H
#define IR_VERIFY_H

#include "ir/pass.h"
#include "ir/text.h"

struct ir_verify {
    const struct ir_module *module;
    const struct ir_func *func;
    struct sp_arena *arena;
    struct sp_diag *diag;
    uint32_t *position; /* by ref: 1 + index in its block; 0: in no block */
};

/* Sets IR_INVALID with the function's name, the text and the instruction. Returns false. */
bool ir_verify_fail(const struct ir_verify *v, ir_ref ref, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Immediates of both phases; operand counts where they depend on them. */
bool ir_verify_imm(const struct ir_verify *v, ir_ref ref);
/* CORE: types of operands and result. */
bool ir_verify_types(const struct ir_verify *v, ir_ref ref);

#endif
