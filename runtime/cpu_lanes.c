/* cpu_lanes: what lanes of a warp that have met give each other. In: an operation, the mailboxes of
 * the warp's lanes, which of them are here. Out: the result of each lane that is here.
 *
 * One function per family, chosen by a table. Lanes of the mask that have ended are not here and
 * take no part: a shuffle that names one gives the own value (on a GPU that value is not defined).
 * Groups and the five bits of a shuffle's lane are as the PTX ISA has them. */
#include "runtime/cpu_block.h"

typedef void (*lanes_operation)(enum sp_meet operation, struct sp_thread *lanes, uint32_t here);

/* The first lane of a set, as a loop over it: for (bits = set; bits; bits &= bits - 1). */
static uint32_t
lanes_first(uint32_t set)
{
    return (uint32_t)__builtin_ctz(set);
}

static void
lanes_answer(struct sp_thread *lanes, uint32_t here, uint64_t result)
{
    for (uint32_t bits = here; bits; bits &= bits - 1)
        lanes[lanes_first(bits)].result = result;
}

static void
lanes_sync(enum sp_meet operation, struct sp_thread *lanes, uint32_t here)
{
    (void)operation, (void)lanes, (void)here;
}

/* ---- Shuffles ---- */

/* The lane that `lane` reads; itself where there is none in its group. */
static uint32_t
lanes_source(enum sp_meet operation, uint32_t lane, uint32_t argument)
{
    uint32_t b = argument & 31, width = argument >> 8;
    uint32_t first = lane & ~(width - 1), last = first + width - 1, source;
    switch (operation) {
    case SP_MEET_SHFL_UP: return lane >= first + b ? lane - b : lane;
    case SP_MEET_SHFL_DOWN: source = lane + b; break;
    case SP_MEET_SHFL_XOR: source = lane ^ b; break;
    default: source = first | (b & (width - 1)); break;
    }
    return source <= last ? source : lane;
}

static void
lanes_shuffle(enum sp_meet operation, struct sp_thread *lanes, uint32_t here)
{
    for (uint32_t bits = here; bits; bits &= bits - 1) {
        uint32_t lane = lanes_first(bits);
        uint32_t source = lanes_source(operation, lane, lanes[lane].argument);
        lanes[lane].result = lanes[here >> source & 1 ? source : lane].operand;
    }
}

/* ---- Votes and matches ---- */

static void
lanes_vote(enum sp_meet operation, struct sp_thread *lanes, uint32_t here)
{
    uint32_t yes = 0;
    for (uint32_t bits = here; bits; bits &= bits - 1)
        if (lanes[lanes_first(bits)].operand)
            yes |= bits & -bits;
    bool all = yes == here;
    lanes_answer(lanes, here,
                 operation == SP_MEET_ALL   ? all
                 : operation == SP_MEET_ANY ? yes != 0
                 : operation == SP_MEET_EQ  ? all || !yes
                                            : yes);
}

/* Lanes whose operand is that of the first one. */
static uint32_t
lanes_like_first(const struct sp_thread *lanes, uint32_t set)
{
    uint64_t value = lanes[lanes_first(set)].operand;
    uint32_t same = 0;
    for (uint32_t bits = set; bits; bits &= bits - 1)
        if (lanes[lanes_first(bits)].operand == value)
            same |= bits & -bits;
    return same;
}

static void
lanes_match(enum sp_meet operation, struct sp_thread *lanes, uint32_t here)
{
    uint32_t same = lanes_like_first(lanes, here);
    if (operation == SP_MEET_MATCH_ALL) {
        lanes_answer(lanes, here, same == here ? here : 0);
        return;
    }
    for (uint32_t rest = here; rest; rest &= ~same) {
        same = lanes_like_first(lanes, rest);
        lanes_answer(lanes, same, same);
    }
}

/* ---- Reductions ---- */

static uint64_t
lanes_combine(enum sp_meet operation, uint64_t a, uint64_t b)
{
    switch (operation) {
    case SP_MEET_ADD: return a + b;
    case SP_MEET_MIN: return (int64_t)b < (int64_t)a ? b : a;
    case SP_MEET_MAX: return (int64_t)b > (int64_t)a ? b : a;
    case SP_MEET_AND: return a & b;
    case SP_MEET_OR: return a | b;
    default: return a ^ b;
    }
}

static void
lanes_reduce(enum sp_meet operation, struct sp_thread *lanes, uint32_t here)
{
    uint64_t r = lanes[lanes_first(here)].operand;
    for (uint32_t bits = here & (here - 1); bits; bits &= bits - 1)
        r = lanes_combine(operation, r, lanes[lanes_first(bits)].operand);
    lanes_answer(lanes, here, r);
}

void
rt_cpu_lanes_meet(enum sp_meet operation, struct sp_thread *lanes, uint32_t here)
{
    static const lanes_operation operations[SP_N_MEETS] = {
        [SP_MEET_SYNC] = lanes_sync,        [SP_MEET_SHFL] = lanes_shuffle,
        [SP_MEET_SHFL_UP] = lanes_shuffle,  [SP_MEET_SHFL_DOWN] = lanes_shuffle,
        [SP_MEET_SHFL_XOR] = lanes_shuffle, [SP_MEET_ALL] = lanes_vote,
        [SP_MEET_ANY] = lanes_vote,         [SP_MEET_EQ] = lanes_vote,
        [SP_MEET_BALLOT] = lanes_vote,      [SP_MEET_MATCH_ANY] = lanes_match,
        [SP_MEET_MATCH_ALL] = lanes_match,  [SP_MEET_ADD] = lanes_reduce,
        [SP_MEET_MIN] = lanes_reduce,       [SP_MEET_MAX] = lanes_reduce,
        [SP_MEET_AND] = lanes_reduce,       [SP_MEET_OR] = lanes_reduce,
        [SP_MEET_XOR] = lanes_reduce,
    };
    operations[operation](operation, lanes, here);
}
