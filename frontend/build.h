/* Private to build*.c: the abstract stack machine. */
#ifndef FE_BUILD_H
#define FE_BUILD_H

#include "frontend/code.h"
#include "frontend/ssa.h"
#include "support/bits.h"

/* A dict with names as keys. */
struct build_map {
    uint32_t n;
    const ir_const *names;
    const ir_ref *values;
};

/* A definition of a function, and the operands of its CLOSURE. */
struct build_closure {
    uint32_t number; /* of the function */
    struct fe_nested nested;
    const ir_ref *defaults, *kwdefaults, *captures;
};

/* What is known of a constant value beside the constant itself. */
struct build_origin {
    const void *host;                 /* for the resolver; may be NULL */
    const char *text;                 /* "config.table", for messages; may be NULL */
    const struct fe_code_const *code; /* a code object; or NULL */
    struct build_map *map;            /* a dict on its way to a call or a function; or NULL */
    struct build_closure *closure;    /* a function that was defined here; or NULL */
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
    struct sp_bits *sure_in;     /* per block: locals that surely have one */

    uint32_t block; /* where instructions are added now */
    uint32_t unit;  /* the code unit that is simulated */
    uint32_t depth, max_depth;
    struct sp_bits assigned, sure;
    ir_const kw_names; /* of the next call, or 0 */
    bool *shared;      /* per local: a CELL, here or in a function around */
    ir_ref *captured;  /* per local: its CELL; of a free one also its value */
    SP_VEC(struct build_closure *) closures;
    ir_ref null;                         /* the marker that NULL pushes, or 0 */
    SP_VEC(struct build_origin) origins; /* per instruction */
};

/* Each of these returns 0 and sets b->failed where it cannot go on. */
ir_ref build_add(struct build *b, enum ir_op op, uint32_t imm, uint32_t n, const ir_ref *args);
ir_ref build_const(struct build *b, ir_const value);
void build_push(struct build *b, ir_ref value);
ir_ref build_pop(struct build *b);
/* The n-th value from the top, from 1, that stays. */
ir_ref build_peek(struct build *b, uint32_t n);
uint32_t build_slot(const struct build *b, uint32_t depth);

/* build_error.c */
void build_fail(struct build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct sp_src build_src(const struct build *b);

/* An `err` instruction. The first takes over the diagnostic. */
ir_ref build_err_diag(struct build *b, struct sp_diag *diag);
ir_ref build_err(struct build *b, enum sp_error code, const char *hint, ...);
/* An operand that must be a value of the device: `err` in its place if it is a host object. */
ir_ref build_device(struct build *b, ir_ref value);

/* build_names.c */
ir_ref build_global(struct build *b, const char *name);
ir_ref build_free_variable(struct build *b, uint32_t local);
/* What calling this value calls: the __call__ of an object's class, written in Python, or
 * itself. */
ir_ref build_callee(struct build *b, ir_ref callee);
ir_ref build_attribute(struct build *b, ir_ref object, const char *name);
ir_ref build_common(struct build *b, enum fe_common common);
/* What patterns of a match statement ask of the value on top: len(value), isinstance(value,
 * tuple). */
void build_length(struct build *b);
void build_is_sequence(struct build *b);

/* What is known of the value; room for it is made. */
struct build_origin *build_origin(struct build *b, ir_ref ref);

/* build_call.c */
void build_call(struct build *b, uint32_t n, ir_const names);
/* The names are on top of the stack. */
void build_call_kw(struct build *b, uint32_t n);
/* f(*tuple), or with `dict` 1 f(*tuple, **dict); 2: a dict or the marker of none. */
void build_call_ex(struct build *b, uint32_t dict);
/* The names of a tuple constant's texts, at most `most`; false after a failure: no such tuple. */
bool build_check_names(struct build *b, ir_const names, uint32_t most);

/* build_closure.c */
void build_fill_shared(struct build *b);
/* CELLs of this function and values from the one around it, in the entry. */
void build_captured(struct build *b);
/* The variable as functions that are defined here see it. */
ir_ref build_capture(struct build *b, uint32_t local);
ir_ref build_cellget(struct build *b, uint32_t local);
void build_cellset(struct build *b, uint32_t local, ir_ref value);
void build_function(struct build *b, uint32_t flags);
void build_function_set(struct build *b, uint32_t flag);
void build_map(struct build *b, uint32_t n, bool named);
/* Takes the dict at `ref`, which is then no error; NULL if it is none with names as keys. */
struct build_map *build_take_map(struct build *b, ir_ref ref);
/* Every function got what its code needs. */
bool build_check_closures(struct build *b);

/* build_flow.c */
void build_fill_assigned(struct build *b);
void build_end(struct build *b, const struct fe_block *block);

#endif
