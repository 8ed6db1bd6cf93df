/* opt_spin: loops that wait until another thread changes memory.
 *
 *     while flag[0] == 0:                      while gpu.atomic.cas(lock, 0, 0, 1) != 0:
 *         pass                                     pass
 *
 * Takes a CORE module with filled effects, as it goes to the emitter. A loop waits if some exit can
 * only change its mind when memory does: the condition depends on an atomic's result, or on a load
 * whose address may be the same in the next round, and on nothing that changes by itself, such as a
 * counter or an element further on. So `while x[i] > pivot: i += 1` and `while i < n[0]: i += 1` do
 * not wait. Conditions that are made of others by and, or, not and choice are taken apart first.
 *
 *     while True:                              while n < 5:
 *         ready = True                             now = x[0]
 *         for j in range(64):                      if now != last:
 *             if x[j] == 0:                            last = now
 *                 ready = False                        n += 1
 *         if ready:
 *             break
 *
 * Each edge back to the header is looked at alone, because simplified nested loops share theirs.
 * Counters of inner loops begin anew in every round, so such a load's address is the same, too
 * (unless the loop itself stores to that array: it goes on by itself then, as in sorting). Where a
 * value only shows which way control came, and may keep its value for a round, the branches there
 * count as conditions, and addresses must then be the same in any case: in a binary search one of
 * the borders moves.
 *
 * What is done about them say spin_mark.c and spin_release.c. A call counts as what it calls: as an
 * atomic if there is one in it, as a load of its arguments if it loads. Wrongly taken for a wait, a
 * loop is slower, never wrong. Natural loops by dominators; linear but for phis, of which each
 * starts one search; keeps the graph. Looking for patterns of instructions lost: there are too many
 * ways to write a lock. */
#include "ir/spin.h"

#include <assert.h>

static void
spin_push(struct spin *s, ir_ref ref)
{
    if (!spin_is_inside(s, ref) || s->seen[ref] == s->stamp)
        return;
    s->seen[ref] = s->stamp;
    sp_vec_push(s->arena, &s->work, ref);
}

static void
spin_push_args(struct spin *s, ir_ref ref)
{
    for (uint32_t i = 0; i < ir_insn(s->func, ref)->n_args; i++)
        spin_push(s, ir_arg(s->func, ref, i));
}

/* ---- Addresses ---- */

/* Whether the header's phi may keep its value for a round, or begin anew: what comes with the edge
 * is itself, through phis and choices alone, or comes from outside of the loop. */
static bool
spin_phi_stays(struct spin *s, ir_ref phi)
{
    uint32_t first = s->work.len;
    ir_ref next = ir_arg(s->func, phi, s->latch);
    if (!spin_is_inside(s, next)) {
        s->restarts = true;
        return true;
    }
    s->stamp++;
    spin_push(s, next);
    while (s->work.len > first) {
        ir_ref ref = sp_vec_pop(&s->work);
        enum ir_op op = (enum ir_op)ir_insn(s->func, ref)->op;
        if (ref == phi) {
            s->work.len = first;
            return true;
        }
        if (op == IR_PHI || op == IR_SELECT)
            spin_push_args(s, ref);
    }
    return false;
}

/* Whether a value may be the same in the next round. */
bool
ir_spin_stays(struct spin *s, ir_ref value, unsigned depth)
{
    SP_VEC(ir_ref) phis = {0};
    SP_VEC(ir_ref) loads = {0};
    uint32_t first = s->work.len;
    bool stays = true;
    s->stamp++;
    spin_push(s, value);
    while (stays && s->work.len > first) {
        ir_ref ref = sp_vec_pop(&s->work);
        const struct ir_insn *insn = ir_insn(s->func, ref);
        if (insn->op == IR_LOAD) {
            sp_vec_push(s->arena, &loads, ir_arg(s->func, ref, 0));
        } else if (!(ir_insn_flags(insn) & IR_PURE)) {
            stays = false;
        } else {
            if (insn->op == IR_PHI && insn->block == s->header)
                sp_vec_push(s->arena, &phis, ref);
            else if (insn->op == IR_PHI && ir_is_loop(s->func, &s->dom, insn->block))
                s->restarts = true;
            spin_push_args(s, ref);
        }
    }
    s->work.len = first;
    for (uint32_t i = 0; stays && i < phis.len; i++)
        stays = spin_phi_stays(s, phis.data[i]) &&
                !(s->strict && spin_is_inside(s, ir_arg(s->func, phis.data[i], s->latch)));
    for (uint32_t i = 0; stays && i < loads.len; i++)
        stays = depth && ir_spin_stays(s, loads.data[i], depth - 1);
    return stays;
}

/* What an address is computed from. */
static const struct ir_insn *
spin_base(const struct spin *s, ir_ref address)
{
    const struct ir_insn *insn = ir_insn(s->func, address);
    while (insn->op == IR_PTRADD || insn->op == IR_BITCAST) {
        address = ir_arg(s->func, address, 0);
        insn = ir_insn(s->func, address);
    }
    return insn;
}

bool
ir_spin_is_private(const struct spin *s, ir_ref address)
{
    const struct ir_insn *base = spin_base(s, address);
    return base->op == IR_SLOT || base->type == IR_T_PTR_LOCAL;
}

/* Whether the loop stores to the array that an address is of. */
static bool
spin_is_stored(const struct spin *s, ir_ref address)
{
    const struct ir_insn *base = spin_base(s, address);
    for (uint32_t b = 0; b < s->func->blocks.len; b++) {
        const struct ir_block *block = &s->func->blocks.data[b];
        for (uint32_t i = 0; sp_bits_has(&s->body, b) && i < block->insns.len; i++) {
            const struct ir_insn *insn = ir_insn(s->func, block->insns.data[i]);
            if (insn->op != IR_STORE)
                continue;
            const struct ir_insn *to = spin_base(s, ir_arg(s->func, block->insns.data[i], 0));
            if (to == base || (to->op == base->op && to->imm == base->imm &&
                               (to->op == IR_PARAM || to->op == IR_STATIC)))
                return true;
        }
    }
    return false;
}

static bool
spin_load_stays(struct spin *s, ir_ref address)
{
    s->restarts = false;
    return !ir_spin_is_private(s, address) && ir_spin_stays(s, address, SPIN_DEPTH) &&
           !(s->restarts && spin_is_stored(s, address));
}

/* ---- Conditions ---- */

static bool
spin_call_stays(struct spin *s, ir_ref call)
{
    bool stays = true;
    for (uint32_t i = 0; stays && i < ir_insn(s->func, call)->n_args; i++)
        stays = ir_spin_stays(s, ir_arg(s->func, call, i), SPIN_DEPTH);
    return stays;
}

/* What of memory the values in `found` tell; each starts searches of its own. */
static void
spin_judge(struct spin *s, const ir_ref *found, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_insn *insn = ir_insn(s->func, found[i]);
        bool waits;
        if (insn->op == IR_LOAD)
            waits = spin_load_stays(s, ir_arg(s->func, found[i], 0));
        else if (insn->op == IR_CALLF)
            waits = s->has_atomic[insn->imm] ||
                    (s->has_load[insn->imm] && spin_call_stays(s, found[i]));
        else
            waits = ir_insn_flags(insn) & IR_F_ATOMIC;
        s->waits |= waits;
        s->free |= !waits;
        if (waits)
            sp_vec_push(s->arena, &s->loads, found[i]);
    }
}

/* All that a value is computed of in the loop: sets `waits` and `free`, collects phis. */
static void
spin_search(struct spin *s, ir_ref first, bool of_phi)
{
    SP_VEC(ir_ref) found = {0};
    s->stamp++;
    if (of_phi)
        spin_push_args(s, first);
    else
        spin_push(s, first);
    while (s->work.len) {
        ir_ref ref = sp_vec_pop(&s->work);
        const struct ir_insn *insn = ir_insn(s->func, ref);
        bool pure = insn->op == IR_RESULT || (ir_insn_flags(insn) & IR_PURE);
        bool lanes = insn->op == IR_EFFECT && insn->n_args; /* votes and the like of other values */
        if (insn->op == IR_PHI && insn->block == s->header)
            sp_vec_push(s->arena, &s->phis, ref);
        else if (insn->op == IR_PHI)
            sp_vec_push(s->arena, &s->merges, ref);
        if (pure || lanes)
            spin_push_args(s, ref);
        else
            sp_vec_push(s->arena, &found, ref);
    }
    spin_judge(s, found.data, found.len);
}

/* Whether the header's phi is computed from itself, as in x = x * x + c[0]: it goes on by itself
 * then. Collecting does not count: seen = seen or x[0], n += x[0]. */
static bool
spin_evolves(struct spin *s, ir_ref phi)
{
    SP_VEC(ir_ref) from = {0};
    s->stamp++;
    spin_push_args(s, phi);
    while (s->work.len) {
        ir_ref ref = sp_vec_pop(&s->work);
        const struct ir_insn *insn = ir_insn(s->func, ref);
        if (ref == phi || !(ir_insn_flags(insn) & IR_PURE))
            continue;
        if (insn->op == IR_PHI || insn->op == IR_SELECT || insn->op == IR_ADD ||
            insn->op == IR_FADD || insn->op == IR_AND || insn->op == IR_OR)
            spin_push_args(s, ref);
        else
            sp_vec_push(s->arena, &from, ref);
    }
    bool found = false;
    s->stamp++;
    for (uint32_t i = 0; i < from.len; i++)
        spin_push_args(s, from.data[i]);
    while (s->work.len) {
        ir_ref ref = sp_vec_pop(&s->work);
        found |= ref == phi;
        if (ir_insn_flags(ir_insn(s->func, ref)) & IR_PURE)
            spin_push_args(s, ref);
    }
    return found;
}

/* Whether the values alone say that a condition changes with memory alone. Leaves the phis;
 * `can_stay`: none of the header's goes on by itself. */
static bool
spin_values_wait(struct spin *s, ir_ref condition, bool *can_stay)
{
    s->waits = s->free = false;
    s->phis.len = s->merges.len = 0;
    spin_search(s, condition, false);
    bool waits = s->waits;
    uint32_t n_phis = s->phis.len;
    *can_stay = true;
    for (uint32_t i = 0; !s->free && i < n_phis; i++) {
        ir_ref phi = s->phis.data[i];
        s->waits = false;
        spin_search(s, phi, true);
        bool memory = s->waits && !spin_evolves(s, phi);
        bool stays = memory || spin_phi_stays(s, phi);
        waits &= s->strict ? stays : memory; /* a counter goes on by itself */
        *can_stay &= stays;
    }
    *can_stay &= !s->free;
    return waits && !s->free;
}

static void
spin_push_branch(struct spin *s, uint32_t b)
{
    if (sp_bits_has(&s->body, b) && s->func->blocks.data[b].n_succ == 2)
        sp_vec_push(s->arena, &s->branches, ir_arg(s->func, ir_terminator(s->func, b), 0));
}

/* Whether a condition in the block decides that control leaves the loop. */
static bool
spin_is_exit(const struct spin *s, const struct sp_bits *loop, uint32_t b)
{
    const struct ir_block *block = &s->func->blocks.data[b];
    return sp_bits_has(loop, b) && block->n_succ == 2 &&
           !(sp_bits_has(loop, block->succ[0]) && sp_bits_has(loop, block->succ[1]));
}

/* The conditions that decide which operand a phi takes: those between the edges and the block that
 * dominates them; of an inner loop's phi, its back edges, and the loop's exits. */
static void
spin_push_branches(struct spin *s, ir_ref phi)
{
    uint32_t b = ir_insn(s->func, phi)->block;
    const struct ir_block *block = &s->func->blocks.data[b];
    struct sp_bits inner;
    const struct sp_bits *from = &s->body;
    if (b != s->header && ir_is_loop(s->func, &s->dom, b)) {
        ir_fill_loop(s->func, &s->dom, s->arena, b, &inner);
        for (uint32_t at = 0; at < s->func->blocks.len; at++)
            if (spin_is_exit(s, &inner, at))
                spin_push_branch(s, at);
        from = &inner;
    }
    uint32_t top = 0, n_inside = 0;
    for (uint32_t i = 0; i < block->preds.len; i++) {
        uint32_t at = block->preds.data[i];
        if (!sp_bits_has(from, at))
            continue;
        top = n_inside++ ? top : at;
        while (!ir_dominates(&s->dom, top, at))
            top = s->dom.idom[top];
    }
    for (uint32_t i = 0; i < block->preds.len; i++) {
        uint32_t at = block->preds.data[i];
        for (; sp_bits_has(from, at) && at != top; at = s->dom.idom[at])
            spin_push_branch(s, at);
    }
    if (n_inside > 1)
        spin_push_branch(s, top);
}

/* Whether this condition changes with memory alone. */
static bool
spin_leaf_waits(struct spin *s, ir_ref condition)
{
    struct sp_bits done, split; /* conditions; phis whose branches were added */
    uint32_t n_loads = s->loads.len;
    bool waits = false;
    uint32_t left = SPIN_BRANCHES;
    sp_bits_init(&done, s->arena, s->func->insns.len);
    sp_bits_init(&split, s->arena, s->func->insns.len);
    s->branches.len = 0;
    sp_vec_push(s->arena, &s->branches, condition);
    for (s->strict = false; !waits && s->branches.len && left; s->strict = true) {
        ir_ref leaf = sp_vec_pop(&s->branches);
        bool can_stay;
        if (!sp_bits_add(&done, leaf))
            continue;
        left--;
        waits = spin_values_wait(s, leaf, &can_stay);
        if (!waits)
            s->loads.len = n_loads;
        for (uint32_t i = 0; !waits && can_stay && i < s->merges.len + s->phis.len; i++) {
            bool is_merge = i < s->merges.len;
            ir_ref phi = is_merge ? s->merges.data[i] : s->phis.data[i - s->merges.len];
            if (sp_bits_add(&split, phi) || !is_merge)
                spin_push_branches(s, phi);
        }
    }
    s->strict = false;
    return waits;
}

/* Takes the condition of an exit apart. */
static bool
spin_exit_waits(struct spin *s, ir_ref condition)
{
    SP_VEC(ir_ref) parts = {0};
    struct sp_bits done;
    bool waits = false;
    sp_bits_init(&done, s->arena, s->func->insns.len);
    sp_vec_push(s->arena, &parts, condition);
    while (parts.len) {
        ir_ref ref = sp_vec_pop(&parts);
        const struct ir_insn *insn = ir_insn(s->func, ref);
        bool made = insn->op == IR_AND || insn->op == IR_OR || insn->op == IR_XOR ||
                    insn->op == IR_SELECT || insn->op == IR_PHI;
        if (!spin_is_inside(s, ref) || !sp_bits_add(&done, ref))
            continue;
        if (!made || insn->type != IR_T_I1 || insn->op == IR_PHI)
            waits |= spin_leaf_waits(s, ref);
        for (uint32_t i = 0; made && insn->type == IR_T_I1 && i < insn->n_args; i++)
            sp_vec_push(s->arena, &parts, ir_arg(s->func, ref, i));
    }
    return waits;
}

static bool
spin_exits_wait(struct spin *s)
{
    bool waits = false;
    for (uint32_t b = 0; b < s->func->blocks.len; b++)
        if (spin_is_exit(s, &s->body, b))
            waits |= spin_exit_waits(s, ir_arg(s->func, ir_terminator(s->func, b), 0));
    return waits;
}

/* ---- Loops ---- */

static bool
spin_fill_body(struct spin *s, uint32_t header)
{
    if (!ir_is_loop(s->func, &s->dom, header))
        return false;
    s->header = header;
    ir_fill_loop(s->func, &s->dom, s->arena, header, &s->body);
    return true;
}

static bool
spin_func(struct spin *s, struct ir_func *func)
{
    bool found = false;
    s->func = func;
    ir_fill_dom(func, s->arena, &s->dom);
    s->seen = SP_NEW_N(s->arena, uint32_t, func->insns.len + 1);
    s->stamp = 0;
    uint32_t src = func->src;
    for (uint32_t o = 0; o < s->dom.n_order; o++) {
        if (!spin_fill_body(s, s->dom.order[o]))
            continue;
        bool waits = false;
        s->loads.len = 0;
        const struct ir_block *header = &func->blocks.data[s->header];
        for (s->latch = 0; s->latch < header->preds.len; s->latch++)
            if (sp_bits_has(&s->body, header->preds.data[s->latch]))
                waits |= spin_exits_wait(s);
        if (waits)
            ir_spin_mark(s);
        found |= waits;
    }
    func->src = src;
    return found;
}

/* Which functions load and which have atomics, here or in a callee. */
static void
spin_fill_functions(struct spin *s)
{
    uint32_t n = s->module->funcs.len;
    s->has_atomic = SP_NEW_N(s->arena, bool, n);
    s->has_load = SP_NEW_N(s->arena, bool, n);
    s->is_marked = SP_NEW_N(s->arena, bool, n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < n; f++) {
            const struct ir_func *func = s->module->funcs.data[f];
            bool atomic = s->has_atomic[f], load = s->has_load[f];
            for (ir_ref ref = 1; ref < func->insns.len; ref++) {
                const struct ir_insn *insn = ir_insn(func, ref);
                bool call = insn->op == IR_CALLF;
                atomic |=
                    call ? s->has_atomic[insn->imm] : (ir_insn_flags(insn) & IR_F_ATOMIC) != 0;
                load |= call ? s->has_load[insn->imm] : insn->op == IR_LOAD;
            }
            changed |= atomic != s->has_atomic[f] || load != s->has_load[f];
            s->has_atomic[f] = atomic;
            s->has_load[f] = load;
        }
    }
}

bool
ir_opt_spin(struct ir_module *module)
{
    struct sp_arena arena;
    bool found = false;
    assert(module->phase == IR_PHASE_CORE && "a pass over CORE");
    sp_arena_init(&arena);
    struct spin s = {.module = module, .arena = &arena};
    spin_fill_functions(&s);
    for (uint32_t f = 0; f < module->funcs.len; f++)
        found |= spin_func(&s, module->funcs.data[f]);
    if (found)
        ir_spin_release(&s);
    sp_arena_finish(&arena);
    return found;
}
