/* Shared by ir/warn*.c only. */
#ifndef IR_WARN_H
#define IR_WARN_H

#include "ir/infer.h"

struct warn {
    struct ir_ctx *ctx;
    const struct ir_typed *typed;
    SP_VEC(ir_const) frozen; /* arrays that were warned of */
};

/* The cell of operand i. */
static inline struct ir_cell
warn_operand(const struct ir_instance *instance, ir_ref ref, uint32_t i)
{
    return instance->cells[ir_arg(instance->func, ref, i)];
}

/* The name of the intrinsic that a CALL calls ("math.sqrt", "min"), or NULL. */
const char *warn_callee(const struct warn *w, const struct ir_instance *instance, ir_ref ref);
/* Ints that come from uint32 elements and outgrow them: warn_grow.c */
void warn_growth(const struct warn *w);

#endif
