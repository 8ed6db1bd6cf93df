/* lower_cycle: which instances may come to call themselves.
 *
 * In: typed instances. Out: a flag per instance, true for those on a cycle of calls or on a
 * path from one cycle to another. Instances that call nothing are taken away until there is none,
 * then those that nobody calls: Kahn's sorting, 1962, from both ends; linear in the calls. Strongly
 * connected components (Tarjan, 1972) would tell cycles from the paths between them, which nobody
 * needs here. Nothing is kept. */
#include "ir/lower.h"

struct cycle_edge {
    uint32_t from, to;
};

struct cycle {
    uint32_t n;
    SP_VEC(struct cycle_edge) edges;
    bool *left;
};

static void
cycle_find_edges(struct cycle *c, const struct ir_typed *typed, struct sp_arena *arena)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ir_instance *inst = typed->instances.data[i];
        c->left[i] = i == 0 || inst->live;
        for (ir_ref ref = 1; c->left[i] && ref < inst->func->insns.len; ref++) {
            uint32_t callee = inst->callees[ref];
            if (callee && sp_bits_has(&inst->live_blocks, ir_insn(inst->func, ref)->block))
                sp_vec_push(arena, &c->edges, ((struct cycle_edge){i, callee - 1}));
        }
    }
}

static void
cycle_turn(struct cycle *c)
{
    for (uint32_t k = 0; k < c->edges.len; k++) {
        struct cycle_edge *edge = &c->edges.data[k];
        *edge = (struct cycle_edge){edge->to, edge->from};
    }
}

/* Takes away what no edge leads to, until every instance that is left has one. */
static void
cycle_peel(struct cycle *c, struct sp_arena *arena)
{
    uint32_t *first = SP_NEW_N(arena, uint32_t, c->n + 2),
             *degree = SP_NEW_N(arena, uint32_t, c->n);
    uint32_t *to = SP_NEW_N(arena, uint32_t, c->edges.len + 1);
    uint32_t *ready = SP_NEW_N(arena, uint32_t, c->n), n_ready = 0;
    for (uint32_t k = 0; k < c->edges.len; k++)
        if (c->left[c->edges.data[k].from]) {
            first[c->edges.data[k].from + 2]++;
            degree[c->edges.data[k].to]++;
        }
    for (uint32_t i = 2; i < c->n + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t k = 0; k < c->edges.len; k++)
        if (c->left[c->edges.data[k].from])
            to[first[c->edges.data[k].from + 1]++] = c->edges.data[k].to;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->left[i] && !degree[i])
            ready[n_ready++] = i;
    while (n_ready) {
        uint32_t i = ready[--n_ready];
        c->left[i] = false;
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            if (!--degree[to[k]] && c->left[to[k]])
                ready[n_ready++] = to[k];
    }
}

const bool *
lower_cycles(const struct ir_typed *typed, struct sp_arena *arena)
{
    uint32_t n = typed->instances.len;
    struct cycle c = {.n = n, .left = SP_NEW_N(arena, bool, n)};
    cycle_find_edges(&c, typed, arena);
    cycle_peel(&c, arena);
    cycle_turn(&c);
    cycle_peel(&c, arena);
    return c.left;
}
