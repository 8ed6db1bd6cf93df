/* func: functions, blocks, instructions and edges, and the order of blocks.
 *
 * Everything is on the arena of the function's module. Instructions are never moved: a ref stays
 * what it is, a deleted instruction becomes IR_NOP and leaves its block. Operands lie in one array;
 * a phi that gets more of them than before moves to its end. Argument arrays given to the functions
 * here may lie in that array too: growing leaves the old memory in place. */
#include "ir/ir.h"

#include <assert.h>
#include <string.h>

struct ir_func *
ir_func_new(struct ir_module *module, const char *name)
{
    struct sp_arena *arena = module->arena;
    struct ir_func *func = SP_NEW(arena, struct ir_func);
    func->module = module;
    func->name = sp_arena_strdup(arena, name);
    func->index = module->funcs.len;
    sp_vec_push(arena, &func->insns, (struct ir_insn){.op = IR_NOP});
    sp_vec_reserve(arena, &func->operands, 16); /* so that ir_args is never an offset to NULL */
    sp_vec_push(arena, &func->srcs, (struct sp_src){.col = -1, .end_col = -1});
    sp_vec_push(arena, &module->funcs, func);
    return func;
}

#define FUNC_CLONE(arena, to, from)                                                                \
    ((to)->data = NULL, (to)->len = (to)->cap = 0, sp_vec_reserve((arena), (to), (from)->len + 1), \
     (void)((from)->len && memcpy((to)->data, (from)->data, (from)->len * sizeof *(to)->data)),    \
     (void)((to)->len = (from)->len))

struct ir_func *
ir_func_clone(struct ir_module *module, const struct ir_func *func)
{
    struct sp_arena *arena = module->arena;
    struct ir_func *copy = SP_NEW(arena, struct ir_func);
    *copy = *func;
    copy->module = module;
    FUNC_CLONE(arena, &copy->insns, &func->insns);
    FUNC_CLONE(arena, &copy->operands, &func->operands);
    FUNC_CLONE(arena, &copy->blocks, &func->blocks);
    FUNC_CLONE(arena, &copy->srcs, &func->srcs);
    for (uint32_t b = 0; b < copy->blocks.len; b++) {
        FUNC_CLONE(arena, &copy->blocks.data[b].insns, &func->blocks.data[b].insns);
        FUNC_CLONE(arena, &copy->blocks.data[b].preds, &func->blocks.data[b].preds);
    }
    return copy;
}

uint32_t
ir_block_new(struct ir_func *func)
{
    sp_vec_push(func->module->arena, &func->blocks, (struct ir_block){0});
    return func->blocks.len - 1;
}

/* A new instruction that is in no block yet. */
static ir_ref
func_insn_new(struct ir_func *func, uint32_t block, enum ir_op op, ir_type type, uint32_t imm,
              uint32_t n_args, const ir_ref *args)
{
    assert(n_args <= UINT16_MAX && "too many operands");
    struct sp_arena *arena = func->module->arena;
    uint32_t first = func->operands.len;
    sp_vec_reserve(arena, &func->operands, n_args);
    if (n_args)
        memcpy(func->operands.data + first, args, n_args * sizeof *args);
    func->operands.len += n_args;
    sp_vec_push(arena, &func->insns,
                (struct ir_insn){.op = (uint16_t)op,
                                 .n_args = (uint16_t)n_args,
                                 .first_arg = first,
                                 .type = type,
                                 .imm = imm,
                                 .block = block,
                                 .src = func->src});
    return func->insns.len - 1;
}

ir_ref
ir_insn_add(struct ir_func *func, uint32_t block, enum ir_op op, ir_type type, uint32_t imm,
            uint32_t n_args, const ir_ref *args)
{
    assert(op != IR_PHI && "phis are made by ir_phi_new");
    ir_ref ref = func_insn_new(func, block, op, type, imm, n_args, args);
    sp_vec_push(func->module->arena, &func->blocks.data[block].insns, ref);
    return ref;
}

ir_ref
ir_phi_new(struct ir_func *func, uint32_t block, ir_type type, ir_const name)
{
    ir_ref ref = func_insn_new(func, block, IR_PHI, type, name, 0, NULL);
    struct ir_block *b = &func->blocks.data[block];
    sp_vec_push(func->module->arena, &b->insns, ref);
    uint32_t at = b->insns.len - 1;
    while (at && func->insns.data[b->insns.data[at - 1]].op != IR_PHI) {
        b->insns.data[at] = b->insns.data[at - 1];
        at--;
    }
    b->insns.data[at] = ref;
    return ref;
}

void
ir_phi_set(struct ir_func *func, ir_ref phi, uint32_t n, const ir_ref *args)
{
    struct ir_insn *insn = ir_insn(func, phi);
    assert(insn->op == IR_PHI && n <= UINT16_MAX && "operands of a phi");
    if (n > insn->n_args) {
        insn->first_arg = func->operands.len;
        sp_vec_reserve(func->module->arena, &func->operands, n);
        func->operands.len += n;
    }
    insn->n_args = (uint16_t)n;
    if (n)
        memmove(ir_args(func, phi), args, n * sizeof *args);
}

static void
func_edge_add(struct ir_func *func, uint32_t from, uint32_t to)
{
    struct ir_block *b = &func->blocks.data[from];
    assert(b->n_succ < 2 && "a block has two successors at most");
    b->succ[b->n_succ++] = to;
    sp_vec_push(func->module->arena, &func->blocks.data[to].preds, from);
}

void
ir_jump(struct ir_func *func, uint32_t block, uint32_t to)
{
    ir_insn_add(func, block, IR_JUMP, IR_T_NONE, 0, 0, NULL);
    func_edge_add(func, block, to);
}

void
ir_br(struct ir_func *func, uint32_t block, ir_ref condition, uint32_t yes, uint32_t no)
{
    ir_insn_add(func, block, IR_BR, IR_T_NONE, 0, 1, &condition);
    func_edge_add(func, block, yes);
    func_edge_add(func, block, no);
}

void
ir_ret(struct ir_func *func, uint32_t block, uint32_t n, const ir_ref *values)
{
    ir_insn_add(func, block, IR_RET, IR_T_NONE, 0, n, values);
}

void
ir_unreachable(struct ir_func *func, uint32_t block)
{
    ir_insn_add(func, block, IR_UNREACHABLE, IR_T_NONE, 0, 0, NULL);
}

void
ir_raise(struct ir_func *func, uint32_t block, uint32_t site, uint32_t n, const ir_ref *values)
{
    ir_insn_add(func, block, IR_RAISE, IR_T_NONE, site, n, values);
}

void
ir_set_src(struct ir_func *func, int32_t line, int32_t col, int32_t end_line, int32_t end_col)
{
    const struct sp_src *last = &func->srcs.data[func->srcs.len - 1];
    bool same = !last->file && !last->function && last->line == line && last->col == col &&
                last->end_line == end_line && last->end_col == end_col;
    if (!same)
        sp_vec_push(
            func->module->arena, &func->srcs,
            (struct sp_src){.line = line, .end_line = end_line, .col = col, .end_col = end_col});
    func->src = func->srcs.len - 1;
}

struct sp_src
ir_insn_src(const struct ir_func *func, ir_ref ref)
{
    struct sp_src src = func->srcs.data[ir_insn(func, ref)->src];
    if (!src.file)
        src.file = func->file;
    if (!src.function)
        src.function = func->name;
    return src;
}

ir_ref
ir_terminator(const struct ir_func *func, uint32_t block)
{
    const struct ir_block *b = &func->blocks.data[block];
    if (!b->insns.len)
        return 0;
    ir_ref last = b->insns.data[b->insns.len - 1];
    return ir_op_row(ir_insn(func, last)->op)->flags & IR_TERM ? last : 0;
}

/* Depth first without recursion: `stack` holds the path, `next` each block's next successor. The
 * second successor is gone down first, so that the first one follows its block in the result. */
uint32_t
ir_fill_rpo(const struct ir_func *func, uint32_t *order)
{
    uint32_t n = func->blocks.len;
    if (!n)
        return 0;
    uint32_t *stack = sp_alloc(n * sizeof *stack);
    uint8_t *left = sp_alloc(n); /* successors still to visit; 255: not reached */
    memset(left, 255, n);
    uint32_t depth = 0, at = n;
    stack[depth++] = 0;
    left[0] = (uint8_t)func->blocks.data[0].n_succ;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (!left[b]) {
            order[--at] = b;
            depth--;
            continue;
        }
        uint32_t to = func->blocks.data[b].succ[--left[b]];
        if (left[to] == 255) {
            left[to] = (uint8_t)func->blocks.data[to].n_succ;
            stack[depth++] = to;
        }
    }
    free(left);
    free(stack);
    memmove(order, order + at, (n - at) * sizeof *order);
    return n - at;
}
