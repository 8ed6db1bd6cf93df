/* cpu_meet: lanes of a warp that meet. In: a lane that waits in an operation of its warp, with the
 * mask of those it wants to meet, an operand and an argument. Out: when all of them are there, each
 * has its result and can go on.
 *
 * Lanes meet by their mask: those that name the same mask belong together, and must name the same
 * operation; the call may be another. A lane that has ended or does not exist counts as arrived,
 * but takes no part. The warp keeps the bits of one meeting at hand, the one lanes come to now;
 * others (a warp whose halves work apart) are found by the masks in the mailboxes. The last to
 * arrive computes for all, by what cpu_lanes.c has for the operation. */
#include "runtime/cpu_block.h"

/* The waiting lanes of the warp that named this mask. */
static uint32_t
meet_find(const struct cpu_warp *warp, const struct sp_thread *lanes, uint32_t mask)
{
    uint32_t found = 0;
    for (uint32_t bits = warp->meet; bits; bits &= bits - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(bits);
        if (lanes[lane].mask == mask)
            found |= 1u << lane;
    }
    return found;
}

static void
meet_finish(struct cpu_warp *warp, const struct cpu_plan *plan, struct sp_thread *lanes,
            uint32_t mask, uint32_t here)
{
    uint32_t wait = lanes[__builtin_ctz(here)].wait;
    rt_cpu_lanes_meet(plan->artifact->waits[wait - 1].operation, lanes, here);
    warp->meet &= ~here;
    warp->ready |= here;
    if (warp->mask == mask)
        warp->mask = warp->arrived = 0;
}

static bool
meet_is_complete(const struct cpu_warp *warp, uint32_t mask, uint32_t here)
{
    return !(mask & warp->all & ~warp->done & ~here);
}

bool
rt_cpu_meet_arrive(struct cpu_block *block, const struct cpu_plan *plan, uint32_t w, uint32_t lane,
                   struct sp_diag *diag)
{
    struct cpu_warp *warp = &block->warps[w];
    struct sp_thread *lanes = &block->threads[w * CPU_WARP], *thread = &lanes[lane];
    const struct sp_wait_site *site = &plan->artifact->waits[thread->wait - 1];
    uint32_t bit = 1u << lane, mask = thread->mask, here;
    if (!(mask & bit)) {
        return sp_diag_set(diag, SP_E_MEET_MASK, &site->where, site->name, lane, w, mask) ||
               sp_diag_hint(diag, "a lane names itself and those it wants to meet; all of the warp "
                                  "are 0xffffffff");
    }
    if (warp->mask && warp->mask != mask) {
        here = meet_find(warp, lanes, mask);
    } else {
        here = warp->mask ? warp->arrived | bit : meet_find(warp, lanes, mask);
        warp->mask = mask;
        warp->arrived = here;
    }
    uint32_t first = lanes[__builtin_ctz(here & ~bit ? here & ~bit : bit)].wait;
    if (plan->artifact->waits[first - 1].operation != site->operation)
        return rt_cpu_explain_kinds(block, plan, SP_E_MEET_KINDS, first, thread->wait, diag);
    if (meet_is_complete(warp, mask, here))
        meet_finish(warp, plan, lanes, mask, here);
    return true;
}

void
rt_cpu_meet_leave(struct cpu_block *block, const struct cpu_plan *plan, uint32_t w)
{
    struct cpu_warp *warp = &block->warps[w];
    struct sp_thread *lanes = &block->threads[w * CPU_WARP];
    for (uint32_t bits = warp->meet; bits;) {
        uint32_t mask = lanes[__builtin_ctz(bits)].mask, here = meet_find(warp, lanes, mask);
        bits &= ~here;
        if (meet_is_complete(warp, mask, here))
            meet_finish(warp, plan, lanes, mask, here);
    }
}
