/* Inside ir/: what passes and the verifier share: dominators, edits of the graph, constants. */
#ifndef IR_PASS_H
#define IR_PASS_H

#include "ir/ir.h"
#include "support/bits.h"

/* Dominators of the blocks that the entry reaches. Arrays are indexed by block. */
struct ir_dom {
    uint32_t *order; /* reverse post-order */
    uint32_t n_order;
    uint32_t *idom;      /* UINT32_MAX: not reachable; the entry is its own */
    uint32_t *pre, *end; /* a dominates b iff pre[a] <= pre[b] && pre[b] < end[a] */
    uint32_t *tree;      /* blocks in the order of `pre` */
};
void ir_fill_dom(const struct ir_func *func, struct sp_arena *arena, struct ir_dom *dom);
static inline bool
ir_dom_reaches(const struct ir_dom *dom, uint32_t b)
{
    return dom->idom[b] != UINT32_MAX;
}
static inline bool
ir_dominates(const struct ir_dom *dom, uint32_t a, uint32_t b)
{
    return dom->pre[a] <= dom->pre[b] && dom->pre[b] < dom->end[a];
}
/* Whether the block is a natural loop's header: it dominates where an edge into it comes from. */
bool ir_is_loop(const struct ir_func *func, const struct ir_dom *dom, uint32_t header);
/* The blocks that reach the header's back edges without going through it, and the header. */
void ir_fill_loop(const struct ir_func *func, const struct ir_dom *dom, struct sp_arena *arena,
                  uint32_t header, struct sp_bits *body);

/* A map from values to what replaces them, applied to a whole function at once: linear however many
 * replacements there are. Chains are followed. */
struct ir_subst {
    ir_ref *to; /* 0: itself */
    uint32_t n;
};
void ir_subst_init(struct ir_subst *subst, const struct ir_func *func, struct sp_arena *arena);
static inline ir_ref
ir_subst_find(const struct ir_subst *subst, ir_ref ref)
{
    while (ref < subst->n && subst->to[ref])
        ref = subst->to[ref];
    return ref;
}
void ir_subst_apply(const struct ir_subst *subst, struct ir_func *func);

/* Marks an instruction as deleted; ir_sweep takes such ones out of their blocks. */
void ir_delete(struct ir_func *func, ir_ref ref);
void ir_sweep(struct ir_func *func);
/* Takes `from` out of the predecessors of `to` once, with its phi operands. */
void ir_pred_remove(struct ir_func *func, uint32_t to, uint32_t from);
/* Empties blocks that the entry does not reach, with their edges. Returns whether there was any. */
bool ir_remove_unreachable(struct ir_func *func);

static inline bool
ir_is_int(ir_type type)
{
    return type >= IR_T_I1 && type <= IR_T_I64;
}
static inline bool
ir_is_float(ir_type type)
{
    return type == IR_T_F32 || type == IR_T_F64;
}
static inline bool
ir_is_ptr(ir_type type)
{
    return type >= IR_T_PTR && type <= IR_T_PTR_CONST;
}

/* Flags of the operation, for INTRIN those of the intrinsic, for EFFECT both: it reads and writes
 * memory whatever the intrinsic says, so that nothing moves over it and nothing deletes it. */
static inline uint8_t
ir_insn_flags(const struct ir_insn *insn)
{
    if (insn->op == IR_INTRIN)
        return ir_intrin_row((enum ir_intrin)insn->imm)->flags;
    if (insn->op == IR_EFFECT)
        return IR_F_LOAD | IR_F_STORE |
               (ir_intrin_row((enum ir_intrin)insn->imm)->flags & (IR_CONVERGENT | IR_WAITS));
    return ir_op_row((enum ir_op)insn->op)->flags;
}
/* Whether an unused one may be deleted: its value is all that it gives. */
static inline bool
ir_is_removable(const struct ir_insn *insn)
{
    return !(ir_insn_flags(insn) & ~(IR_PURE | IR_F_LOAD));
}
static inline bool
ir_is_commutative(enum ir_op op)
{
    return op == IR_ADD || op == IR_ADD_NSW || op == IR_MUL || op == IR_MULHI || op == IR_AND ||
           op == IR_OR || op == IR_XOR || op == IR_FADD || op == IR_FMUL;
}

/* The bits of a CONST of phase CORE, zero-extended from its width; f32 as its 32 bits. */
bool ir_const_bits(const struct ir_func *func, ir_ref ref, uint64_t *bits_out);
/* The constant of these bits: sign-extended INT, BOOL for i1, FLOAT. */
ir_const ir_const_of_bits(struct ir_module *module, ir_type type, uint64_t bits);
/* Computes a pure operation on constants. `from` is operand 0's type, `to` the result's; bits as in
 * ir_const_bits. False if the operation cannot be computed here or its result is not defined. */
bool ir_fold(enum ir_op op, uint32_t imm, ir_type from, ir_type to, const uint64_t *args,
             uint64_t *bits_out);

#endif
