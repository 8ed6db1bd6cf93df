/* opt_cse: pure expressions that a dominating instruction has computed already.
 *
 * Takes any verified CORE module. Blocks are visited in preorder of the dominator tree with one
 * hash table from (operation, type, immediate, operands) to the last instruction of that form. It
 * serves if it dominates; if not, its subtree is done and the newcomer takes its place, so no
 * scopes have to be opened and closed. Operands of commutative operations are ordered first. Only
 * what is PURE is merged: loads are not (nothing here knows which stores lie between), nor anything
 * convergent. Needs no analysis, keeps the flow graph. Global value numbering with loads is LLVM's
 * work later; this pass is for what inlining and lowering repeat, before our own range passes look
 * at it.
 *
 *     %4 = mul i64 %1, %2               %4 = mul i64 %1, %2
 *     %5 = mul i64 %2, %1      =>       %6 = add i64 %4, %4
 *     %6 = add i64 %4, %5
 *
 *     b1 (b0): %5 = add i64 %1, %2      both stay: neither block dominates the other
 *     b2 (b0): %6 = add i64 %1, %2 */
#include "ir/pass.h"

#include <assert.h>
#include <string.h>

#define CSE_MAX_ARGS 8

struct cse {
    struct ir_func *func;
    struct sp_arena *arena;
    struct sp_map map;
    struct ir_dom dom;
    struct ir_subst subst;
};

/* The form of an instruction as a key without padding; its length, or 0 if it is not merged. */
static size_t
cse_key(struct cse *c, ir_ref ref, uint32_t *key)
{
    const struct ir_insn *insn = ir_insn(c->func, ref);
    if (ir_insn_flags(insn) != IR_PURE || insn->n_args > CSE_MAX_ARGS)
        return 0;
    bool is_phi = insn->op == IR_PHI;
    uint32_t n = 0;
    key[n++] = insn->op;
    key[n++] = insn->type;
    key[n++] = is_phi ? insn->block : insn->imm; /* equal phis of one block; names do not matter */
    for (uint32_t i = 0; i < insn->n_args; i++)
        key[n++] = ir_arg(c->func, ref, i);
    if (ir_is_commutative((enum ir_op)insn->op) && key[n - 2] > key[n - 1]) {
        uint32_t first = key[n - 2];
        key[n - 2] = key[n - 1];
        key[n - 1] = first;
    }
    return n * sizeof *key;
}

static bool
cse_block(struct cse *c, uint32_t b)
{
    const struct ir_block *block = &c->func->blocks.data[b];
    bool changed = false;
    for (uint32_t i = 0; i < block->insns.len; i++) {
        ir_ref ref = block->insns.data[i];
        ir_ref *args = ir_args(c->func, ref);
        uint32_t key[3 + CSE_MAX_ARGS];
        for (uint32_t k = 0; k < ir_insn(c->func, ref)->n_args; k++)
            args[k] = ir_subst_find(&c->subst, args[k]);
        size_t len = cse_key(c, ref, key);
        if (!len)
            continue;
        bool is_new;
        uint32_t *slot = sp_map_intern(&c->map, c->arena, key, len, &is_new);
        if (is_new || !ir_dominates(&c->dom, ir_insn(c->func, *slot)->block, b)) {
            *slot = ref;
            continue;
        }
        c->subst.to[ref] = *slot;
        ir_delete(c->func, ref);
        changed = true;
    }
    return changed;
}

static bool
cse_func(struct ir_func *func)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct cse c = {.func = func, .arena = &arena};
    sp_map_init(&c.map);
    ir_fill_dom(func, &arena, &c.dom);
    ir_subst_init(&c.subst, func, &arena);
    bool changed = false;
    for (uint32_t i = 0; i < c.dom.n_order; i++)
        changed |= cse_block(&c, c.dom.tree[i]);
    if (changed) {
        ir_sweep(func);
        ir_subst_apply(&c.subst, func);
    }
    sp_map_finish(&c.map);
    sp_arena_finish(&arena);
    return changed;
}

bool
ir_opt_cse(struct ir_module *module)
{
    bool changed = false;
    assert(module->phase == IR_PHASE_CORE && "a pass over CORE");
    for (uint32_t i = 0; i < module->funcs.len; i++)
        changed |= cse_func(module->funcs.data[i]);
    return changed;
}
