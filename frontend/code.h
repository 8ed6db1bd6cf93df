/* Private to frontend/: what the steps of fe_read hand to each other. */
#ifndef FE_CODE_H
#define FE_CODE_H

#include "frontend/fe.h"

enum fe_op {
#define FE_PYOP(id, ...) FE_OP_##id,
#include "frontend/pyop.def"
    FE_N_OPS
};
enum fe_operand {
    FE_OPERAND_NONE,
    FE_OPERAND_LOCAL,
    FE_OPERAND_NAME,
    FE_OPERAND_CONST,
    FE_OPERAND_COUNT,
    FE_OPERAND_NUMBER,
    FE_OPERAND_TARGET
};
enum fe_construct {
#define FE_CONSTRUCT(id, ...) FE_CONSTRUCT_##id,
#include "frontend/pyop.def"
    FE_N_CONSTRUCTS
};
/* CPython's table of common constants; 3.14 has the first five. */
enum fe_common {
    FE_COMMON_ASSERTION_ERROR,
    FE_COMMON_NOT_IMPLEMENTED_ERROR,
    FE_COMMON_TUPLE,
    FE_COMMON_ALL,
    FE_COMMON_ANY,
    FE_COMMON_LIST,
    FE_COMMON_SET,
    FE_COMMON_NONE,
    FE_COMMON_EMPTY_STR,
    FE_COMMON_TRUE,
    FE_COMMON_FALSE,
    FE_COMMON_MINUS_ONE,
    FE_N_COMMON
};
/* co_flags */
enum {
    FE_CO_VARARGS = 0x4,
    FE_CO_VARKEYWORDS = 0x8,
    FE_CO_GENERATOR = 0x20,
    FE_CO_COROUTINE = 0x80,
    FE_CO_ASYNC_GENERATOR = 0x200,
};

struct fe_op_row {
    const char *name;
    enum fe_operand operand;
};
const struct fe_op_row *fe_op_row(enum fe_op op);
const char *fe_construct_text(enum fe_construct construct);
const char *fe_construct_hint(enum fe_construct construct); /* or NULL */

struct fe_insn {
    uint8_t op;  /* enum fe_op */
    bool in_try; /* covered by an exception handler of the program's own */
    uint32_t arg;
    uint32_t target; /* TARGET: an instruction */
    uint32_t unit;   /* the opcode's code unit */
};

struct fe_insns {
    struct fe_insn *data;
    uint32_t len;
};

/* Decodes the whole code; instructions and messages are on `arena`. */
SP_MUST_CHECK bool fe_decode(const struct fe_code *code, struct sp_arena *arena,
                             struct fe_insns *insns_out, struct sp_diag *diag);
/* Lets jumps skip tests whose answer they know. thread.c */
void fe_thread(const struct fe_insns *insns, struct sp_arena *arena);
/* Fills `positions` from a location table; the number of units that it covers. positions.c */
uint32_t fe_positions_read(const uint8_t *bytes, uint32_t size_B, int32_t first_line,
                           uint32_t n_units, struct fe_position *positions);
struct fe_position fe_position_of(const struct fe_code *code, uint32_t unit);
/* Sets BAD_CODE with this reason, at the unit. Returns false. */
bool fe_bad_code(const struct fe_code *code, uint32_t unit, struct sp_diag *diag,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Why a block's last instruction is the last one. */
enum fe_end {
    FE_END_FALL, /* the next instruction starts a block */
    FE_END_JUMP, /* JUMP */
    FE_END_IF,   /* IF_*, FOR, FOR_POP: succ[0] is the next instruction, succ[1] the target */
    FE_END_RETURN,
    FE_END_RAISE,
    FE_END_BAD, /* a construct that kernels may not use; `construct` */
};

struct fe_block {
    uint32_t first, last; /* instructions, inclusive */
    enum fe_end end;
    enum fe_construct construct;
    uint32_t at; /* BAD: the instruction to blame */
    uint32_t n_succ, succ[2];
    uint32_t n_preds; /* edges; the function's entry counts as none */
    uint32_t idom;    /* of block 0: itself */
    bool is_loop;     /* target of a back edge */
};

/* Blocks reachable by normal flow, in reverse post-order; [0] is the entry. */
struct fe_cfg {
    struct fe_block *blocks;
    uint32_t n;
};
SP_MUST_CHECK bool fe_cfg_make(const struct fe_code *code, const struct fe_insns *insns,
                               struct sp_arena *arena, struct fe_cfg *cfg_out,
                               struct sp_diag *diag);

/* Fills the empty `func` from code; scratch memory on `arena`. */
SP_MUST_CHECK bool fe_build(struct fe_reader *reader, const struct fe_function *function,
                            const struct fe_insns *insns, const struct fe_cfg *cfg,
                            struct sp_arena *arena, struct ir_func *func, struct sp_diag *diag);

/* Blocks and operations as text. */
void fe_print_cfg(const struct fe_code *code, const struct fe_insns *insns,
                  const struct fe_cfg *cfg, struct sp_str *out);

#endif
