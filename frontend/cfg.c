/* cfg: instructions to basic blocks, edges and dominators.
 *
 * Only what normal flow reaches from the first instruction becomes a block, so exception handlers
 * and code after a return are not seen again. A block also ends at what kernels may not use:
 * nothing behind it can be executed without reporting it, so its stack effect need not be known.
 * Blocks are numbered in reverse post-order. Dominators are those of Cooper, Harvey and Kennedy ("A
 * simple, fast dominance algorithm"): the nearest common ancestor over the numbers, repeated until
 * nothing changes. A loop is an edge to a dominator; an edge backwards to any other block (no
 * compiler of Python makes one, hand-made code can) is an error, because the builder fills all
 * forward predecessors of a block before it. No recursion anywhere: code size bounds every
 * stack. */
#include "frontend/code.h"

#include <assert.h>
#include <string.h>

struct cfg {
    const struct fe_code *code;
    const struct fe_insns *insns;
    struct sp_arena *arena;
    struct sp_diag *diag;
    bool *is_leader;
    uint32_t *block_at;          /* per leader: number of its block in `raw` plus one */
    SP_VEC(struct fe_block) raw; /* in order of discovery; succ: instructions, later blocks */
};

static bool
cfg_is_target(const struct fe_insn *insn)
{
    return fe_op_row(insn->op)->operand == FE_OPERAND_TARGET;
}

static void
cfg_fill_leaders(struct cfg *c)
{
    c->is_leader = SP_NEW_N(c->arena, bool, c->insns->len);
    c->is_leader[0] = true;
    for (uint32_t i = 0; i < c->insns->len; i++)
        if (cfg_is_target(&c->insns->data[i]))
            c->is_leader[c->insns->data[i].target] = true;
}

/* The instruction that shows a `try` best: the NOP that `try:` itself leaves, or the first one. */
static uint32_t
cfg_try_place(const struct cfg *c, uint32_t i)
{
    return i && c->insns->data[i - 1].op == FE_OP_NOP ? i - 1 : i;
}

static void
cfg_end_bad(struct fe_block *block, uint32_t at, enum fe_construct construct)
{
    block->end = FE_END_BAD;
    block->construct = construct;
    block->at = at;
}

/* Follows the code from block->first to the block's end. */
static bool
cfg_scan(struct cfg *c, struct fe_block *block)
{
    for (uint32_t i = block->first;; i++) {
        if (i == c->insns->len)
            return fe_bad_code(c->code, c->insns->data[i - 1].unit, c->diag,
                               "it runs past its end");
        block->last = i;
        if (i > block->first && c->is_leader[i]) {
            block->last = i - 1;
            block->end = FE_END_FALL;
            block->n_succ = 1;
            block->succ[0] = i;
            return true;
        }
        const struct fe_insn *insn = &c->insns->data[i];
        if (insn->in_try) {
            cfg_end_bad(block, cfg_try_place(c, i), FE_CONSTRUCT_TRY);
            return true;
        }
        switch ((enum fe_op)insn->op) {
        case FE_OP_BAD: cfg_end_bad(block, i, (enum fe_construct)insn->arg); return true;
        case FE_OP_RAISE:
            if (!insn->arg)
                cfg_end_bad(block, i, FE_CONSTRUCT_RERAISE);
            else
                block->end = FE_END_RAISE;
            return true;
        case FE_OP_RETURN: block->end = FE_END_RETURN; return true;
        case FE_OP_JUMP:
            block->end = FE_END_JUMP;
            block->n_succ = 1;
            block->succ[0] = insn->target;
            return true;
        case FE_OP_IF_FALSE:
        case FE_OP_IF_TRUE:
        case FE_OP_IF_NONE:
        case FE_OP_IF_NOT_NONE:
        case FE_OP_FOR:
        case FE_OP_FOR_POP:
            if (i + 1 == c->insns->len)
                return fe_bad_code(c->code, insn->unit, c->diag, "it runs past its end");
            block->end = FE_END_IF;
            block->n_succ = 2;
            block->succ[0] = i + 1;
            block->succ[1] = insn->target;
            c->is_leader[i + 1] = true;
            return true;
        default: break;
        }
    }
}

/* The block that starts at this instruction, found or made. */
static uint32_t
cfg_block(struct cfg *c, uint32_t insn)
{
    if (!c->block_at[insn]) {
        sp_vec_push(c->arena, &c->raw, (struct fe_block){.first = insn});
        c->block_at[insn] = c->raw.len;
    }
    return c->block_at[insn] - 1;
}

static bool
cfg_discover(struct cfg *c)
{
    cfg_fill_leaders(c);
    c->block_at = SP_NEW_N(c->arena, uint32_t, c->insns->len);
    cfg_block(c, 0);
    for (uint32_t b = 0; b < c->raw.len; b++) {
        if (c->raw.len > FE_MAX_BLOCKS)
            return fe_bad_code(c->code, 0, c->diag, "more than %u blocks", FE_MAX_BLOCKS);
        struct fe_block block = c->raw.data[b];
        if (!cfg_scan(c, &block))
            return false;
        for (uint32_t k = 0; k < block.n_succ; k++)
            block.succ[k] = cfg_block(c, block.succ[k]);
        c->raw.data[b] = block;
    }
    return true;
}

/* Renumbers the blocks in reverse post-order. The second successor is visited first, so that the
 * first one follows its block. */
static void
cfg_order(struct cfg *c, struct fe_cfg *cfg)
{
    uint32_t n = c->raw.len, depth = 0, at = n;
    uint32_t *stack = SP_NEW_N(c->arena, uint32_t, n);
    uint8_t *left = SP_NEW_N(c->arena, uint8_t, n);
    uint32_t *number = SP_NEW_N(c->arena, uint32_t, n);
    memset(left, 255, n);
    stack[depth++] = 0;
    left[0] = (uint8_t)c->raw.data[0].n_succ;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (!left[b]) {
            number[b] = --at;
            depth--;
            continue;
        }
        uint32_t to = c->raw.data[b].succ[--left[b]];
        if (left[to] == 255) {
            left[to] = (uint8_t)c->raw.data[to].n_succ;
            stack[depth++] = to;
        }
    }
    assert(at == 0 && "every discovered block is reachable");
    cfg->n = n;
    cfg->blocks = SP_NEW_N(c->arena, struct fe_block, n);
    for (uint32_t b = 0; b < n; b++) {
        struct fe_block block = c->raw.data[b];
        for (uint32_t k = 0; k < block.n_succ; k++)
            block.succ[k] = number[block.succ[k]];
        cfg->blocks[number[b]] = block;
    }
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < cfg->blocks[b].n_succ; k++)
            cfg->blocks[cfg->blocks[b].succ[k]].n_preds++;
}

static uint32_t
cfg_meet(const struct fe_cfg *cfg, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b)
            a = cfg->blocks[a].idom;
        while (b > a)
            b = cfg->blocks[b].idom;
    }
    return a;
}

/* Over forward edges one pass in reverse post-order is exact when every backward edge goes to a
 * dominator: such an edge cannot change its target's dominators. The check comes after, so a graph
 * with other backward edges may get wrong dominators, but such an edge is then found all the same:
 * in a graph whose backward edges all go to dominators of the forward graph, those are the
 * dominators. */
static void
cfg_fill_dominators(struct fe_cfg *cfg)
{
    bool *is_set = sp_alloc(cfg->n);
    memset(is_set, 0, cfg->n);
    is_set[0] = true;
    cfg->blocks[0].idom = 0;
    for (uint32_t b = 0; b < cfg->n; b++)
        for (uint32_t k = 0; k < cfg->blocks[b].n_succ; k++) {
            uint32_t to = cfg->blocks[b].succ[k];
            if (to <= b)
                continue;
            cfg->blocks[to].idom = is_set[to] ? cfg_meet(cfg, cfg->blocks[to].idom, b) : b;
            is_set[to] = true;
        }
    free(is_set);
}

static bool
cfg_check_loops(struct cfg *c, struct fe_cfg *cfg)
{
    /* Numbers of the dominator tree in depth-first order, so that "dominates" is two
     * comparisons. */
    uint32_t n = cfg->n;
    uint32_t *size = SP_NEW_N(c->arena, uint32_t, n), *enter = SP_NEW_N(c->arena, uint32_t, n);
    uint32_t *given = SP_NEW_N(c->arena, uint32_t, n);
    for (uint32_t b = n; b-- > 0;) {
        size[b]++;
        if (b)
            size[cfg->blocks[b].idom] += size[b];
    }
    for (uint32_t b = 1; b < n; b++) {
        uint32_t up = cfg->blocks[b].idom;
        enter[b] = enter[up] + 1 + given[up];
        given[up] += size[b];
    }
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t k = 0; k < cfg->blocks[b].n_succ; k++) {
            uint32_t to = cfg->blocks[b].succ[k];
            if (to > b)
                continue;
            if (enter[b] < enter[to] || enter[b] >= enter[to] + size[to])
                return fe_bad_code(c->code, c->insns->data[cfg->blocks[b].last].unit, c->diag,
                                   "it jumps into the middle of a loop");
            cfg->blocks[to].is_loop = true;
        }
    return true;
}

bool
fe_cfg_make(const struct fe_code *code, const struct fe_insns *insns, struct sp_arena *arena,
            struct fe_cfg *cfg_out, struct sp_diag *diag)
{
    struct cfg c = {.code = code, .insns = insns, .arena = arena, .diag = diag};
    struct fe_cfg cfg;
    if (!cfg_discover(&c))
        return false;
    cfg_order(&c, &cfg);
    cfg_fill_dominators(&cfg);
    if (!cfg_check_loops(&c, &cfg))
        return false;
    *cfg_out = cfg;
    return true;
}
