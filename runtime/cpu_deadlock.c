/* cpu_deadlock: what threads that wait for each other did wrong, in words. In: a block nobody of
 * which can go on, or two threads that wait in ways that do not go together. Out: a diagnostic at
 * the line where threads wait, that says how many wait where and how many have ended; the other
 * places are notes. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu_block.h"
#include "support/arena.h"

static void
deadlock_add(struct sp_str *text, const struct sp_wait_site *site, uint32_t n)
{
    sp_str_printf(text, "%s%u wait%s in %s() at line %d", text->len ? ", " : "", n,
                  n == 1 ? "s" : "", site->name, site->where.line);
}

static bool
deadlock_is_same(const struct sp_wait_site *a, const struct sp_wait_site *b)
{
    const char *file_a = a->where.file ? a->where.file : "", *file_b = b->where.file;
    return a->where.line == b->where.line && strcmp(a->name, b->name) == 0 &&
           strcmp(file_a, file_b ? file_b : "") == 0;
}

/* A call that was inlined several times is one place. `counts` are of waits, 0: ended. */
static void
deadlock_merge(const struct artifact *artifact, uint32_t *counts)
{
    for (uint32_t i = 1; i < artifact->n_waits; i++)
        for (uint32_t j = 0; counts[i + 1] && j < i; j++)
            if (deadlock_is_same(&artifact->waits[i], &artifact->waits[j])) {
                counts[j + 1] += counts[i + 1];
                counts[i + 1] = 0;
            }
}

bool
rt_cpu_explain_deadlock(const struct cpu_block *block, const struct cpu_plan *plan,
                        struct sp_diag *diag)
{
    uint32_t n_sites = plan->artifact->n_waits, first = n_sites;
    uint32_t *counts = sp_alloc((n_sites + 1) * sizeof *counts);
    memset(counts, 0, (n_sites + 1) * sizeof *counts);
    for (uint32_t t = 0; t < block->n_threads; t++)
        counts[block->threads[t].wait]++;
    deadlock_merge(plan->artifact, counts);
    struct sp_str text;
    sp_str_init(&text);
    for (uint32_t i = 0; i < n_sites; i++) {
        if (!counts[i + 1])
            continue;
        first = first == n_sites ? i : first;
        deadlock_add(&text, &plan->artifact->waits[i], counts[i + 1]);
    }
    sp_str_printf(&text, ", %u %s ended", counts[0], counts[0] == 1 ? "has" : "have");
    const uint32_t *at = block->context.block_idx;
    sp_diag_set(diag, SP_E_DEADLOCK, first < n_sites ? &plan->artifact->waits[first].where : NULL,
                at[0], at[1], at[2], block->n_threads, text.data);
    for (uint32_t i = first + 1; i < n_sites; i++)
        if (counts[i + 1])
            sp_diag_note(diag, &plan->artifact->waits[i].where, "others wait here");
    sp_diag_hint(diag, "all threads of a block that have not ended must come to the same barrier, "
                       "and all lanes of a mask to the same operation");
    sp_str_finish(&text);
    free(counts);
    return false;
}

bool
rt_cpu_explain_kinds(const struct cpu_block *block, const struct cpu_plan *plan, enum sp_error code,
                     uint32_t first, uint32_t second, struct sp_diag *diag)
{
    const struct sp_wait_site *a = &plan->artifact->waits[first - 1];
    const struct sp_wait_site *b = &plan->artifact->waits[second - 1];
    const uint32_t *at = block->context.block_idx;
    sp_diag_set(diag, code, &b->where, at[0], at[1], at[2], a->name, a->where.line, b->name,
                b->where.line);
    return sp_diag_note(diag, &a->where, "others wait here");
}
