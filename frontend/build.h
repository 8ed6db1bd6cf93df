/* Private to build.c, build_flow.c and build_names.c: the abstract stack machine. */
#ifndef FE_BUILD_H
#define FE_BUILD_H

#include "frontend/code.h"
#include "frontend/ssa.h"
#include "support/bits.h"

/* What is known of a constant value beside the constant itself. */
struct build_origin {
    const void *host; /* for the resolver; may be NULL */
    const char *text; /* "config.table", for messages; may be NULL */
};

struct build {
    struct fe_reader *reader;
    struct ir_module *module;
    const struct fe_function *function;
    const struct fe_code *code;
    const struct fe_insns *insns;
    const struct fe_cfg *cfg;
    struct sp_arena *arena; /* scratch */
    struct ir_func *func;
    struct sp_diag *diag;
    bool failed; /* diag is set */

    struct fe_ssa ssa;
    uint32_t *ir_block; /* per block of the cfg */
    uint32_t *depth_in; /* per block: stack depth at its start plus one; 0: not known yet */
    struct sp_bits *assigned_in; /* per block: locals that may have a value at its start */

    uint32_t block; /* where instructions are added now */
    uint32_t unit;  /* the code unit that is simulated */
    uint32_t depth, max_depth;
    struct sp_bits assigned;
    ir_const kw_names;                   /* of the next call, or 0 */
    ir_ref null;                         /* the marker that NULL pushes, or 0 */
    SP_VEC(struct build_origin) origins; /* per instruction */
};

/* Each of these returns 0 and sets b->failed where it cannot go on. */
void build_fail(struct build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
ir_ref build_add(struct build *b, enum ir_op op, uint32_t imm, uint32_t n, const ir_ref *args);
ir_ref build_const(struct build *b, ir_const value);
void build_push(struct build *b, ir_ref value);
ir_ref build_pop(struct build *b);
/* The n-th value from the top, from 1, that stays. */
ir_ref build_peek(struct build *b, uint32_t n);
uint32_t build_slot(const struct build *b, uint32_t depth);
struct sp_src build_src(const struct build *b);

/* An `err` instruction. The first takes over the diagnostic. */
ir_ref build_err_diag(struct build *b, struct sp_diag *diag);
ir_ref build_err(struct build *b, enum sp_error code, const char *hint, ...);
/* An operand that must be a value of the device: `err` in its place if it is a host object. */
ir_ref build_device(struct build *b, ir_ref value);

/* build_names.c */
ir_ref build_global(struct build *b, const char *name);
ir_ref build_free_variable(struct build *b, uint32_t local);
ir_ref build_attribute(struct build *b, ir_ref object, const char *name);
ir_ref build_common(struct build *b, enum fe_common common);

/* build_flow.c */
void build_fill_assigned(struct build *b);
void build_end(struct build *b, const struct fe_block *block);

#endif
