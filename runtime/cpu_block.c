/* cpu_block: the threads of one block that wait for each other. In: compiled code that starts and
 * resumes a thread, a block's indices. Out: the block run until all its threads have ended, or
 * until none can go on without another block; it is resumed by calling again, on any worker.
 *
 * Each thread is a coroutine with a frame and a mailbox; all frames of a block are one piece of
 * memory. A thread runs until it waits, then its mailbox says where. Warps run one after the other,
 * the lanes of a warp in turn until none of it is ready, so that warp operations find their lanes'
 * memory in the cache. The sets of lanes are bit masks, so opening a barrier touches warps, not
 * threads. Any barrier of the block counts as the same one, as on hardware; ended threads count as
 * arrived. What spins (waits for memory to change) is looked at again when nothing else in the
 * block can go on; if that was in vain the block is given back.
 *
 * Deciding that nobody can ever go on is exact where no thread spins: then every thread of the
 * block waits for threads of the block, or some for the grid and some not. */
#include "runtime/cpu_block.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

static size_t
block_round(size_t size_B)
{
    return (size_B + SP_FRAME_ALIGN - 1) / SP_FRAME_ALIGN * SP_FRAME_ALIGN;
}

void
rt_cpu_plan_init(struct cpu_plan *plan, const struct artifact *artifact,
                 const struct sp_waiting *code, const struct sp_block *context, const void *params,
                 uint32_t shared_B)
{
    memset(plan, 0, sizeof *plan);
    plan->artifact = artifact;
    plan->params = params;
    plan->code = *code;
    plan->cancel = (const uint32_t *)context->cancel;
    plan->n_threads = context->block_dim[0] * context->block_dim[1] * context->block_dim[2];
    plan->shared_B = shared_B;
    plan->frame_B = block_round(code->frame_B);
    uint32_t n_warps = (plan->n_threads + CPU_WARP - 1) / CPU_WARP;
    size_t at = block_round(sizeof(struct cpu_block)) + n_warps * sizeof(struct cpu_warp);
    plan->threads_at = block_round(at);
    plan->shared_at = block_round(plan->threads_at + plan->n_threads * sizeof(struct sp_thread));
    plan->shared_at = (plan->shared_at + 255) / 256 * 256;
    plan->frames_at = plan->shared_at + block_round(shared_B);
    plan->size_B = plan->frames_at + plan->n_threads * plan->frame_B;
}

struct cpu_block *
rt_cpu_block_new(const struct cpu_plan *plan)
{
    void *memory;
    if (posix_memalign(&memory, 256, plan->size_B))
        return NULL;
    ((struct cpu_block *)memory)->size_B = plan->size_B;
    return memory;
}

void
rt_cpu_block_init(struct cpu_block *block, const struct cpu_plan *plan,
                  const struct sp_block *context)
{
    char *base = (char *)block;
    size_t size_B = block->size_B;
    memset(block, 0, sizeof *block);
    block->size_B = size_B;
    block->context = *context;
    block->n_threads = plan->n_threads;
    block->n_warps = (plan->n_threads + CPU_WARP - 1) / CPU_WARP;
    block->warps = (struct cpu_warp *)(base + block_round(sizeof *block));
    block->threads = (struct sp_thread *)(base + plan->threads_at);
    block->context.shared = base + plan->shared_at;
    block->frames = base + plan->frames_at;
    memset(block->warps, 0, block->n_warps * sizeof *block->warps);
    for (uint32_t w = 0; w < block->n_warps; w++) {
        uint32_t left = block->n_threads - w * CPU_WARP;
        block->warps[w].all = left >= CPU_WARP ? UINT32_MAX : (1u << left) - 1;
        block->warps[w].fresh = block->warps[w].all;
    }
}

/* ---- Threads ---- */

static void
block_start_thread(struct cpu_block *block, const struct cpu_plan *plan, uint32_t t)
{
    struct sp_thread *thread = &block->threads[t];
    const uint32_t *dim = block->context.block_dim;
    thread->index[0] = t % dim[0];
    thread->index[1] = t / dim[0] % dim[1];
    thread->index[2] = t / dim[0] / dim[1];
    plan->code.start(&block->context, plan->params, thread, block->frames + t * plan->frame_B);
}

/* Books that a lane waits, by its mailbox, or has ended. */
static bool
block_book(struct cpu_block *block, const struct cpu_plan *plan, uint32_t w, uint32_t lane,
           struct sp_diag *diag)
{
    struct cpu_warp *warp = &block->warps[w];
    uint32_t bit = 1u << lane, wait = block->threads[w * CPU_WARP + lane].wait;
    if (!wait) {
        warp->done |= bit;
        block->n_done++;
        if (warp->meet)
            rt_cpu_meet_leave(block, plan, w);
        return true;
    }
    switch ((enum sp_wait_kind)plan->artifact->waits[wait - 1].kind) {
    case SP_WAIT_SPIN:
        warp->spin |= bit;
        block->n_spin++;
        return true;
    case SP_WAIT_GRID:
        warp->grid |= bit;
        block->n_grid++;
        return true;
    case SP_WAIT_ALONE: warp->alone |= bit; return true;
    case SP_WAIT_MEET: warp->meet |= bit; return rt_cpu_meet_arrive(block, plan, w, lane, diag);
    default: break;
    }
    warp->barrier |= bit;
    if (!block->n_barrier++)
        block->barrier_wait = wait;
    else if (wait != block->barrier_wait && plan->artifact->waits[wait - 1].kind !=
                                                plan->artifact->waits[block->barrier_wait - 1].kind)
        return rt_cpu_explain_kinds(block, plan, SP_E_BARRIER_KINDS, block->barrier_wait, wait,
                                    diag);
    return true;
}

/* Lanes that wait at the same site are together, as far as lanes of a warp ever are: nobody of it
 * can join them. */
static void
block_release_alone(struct cpu_block *block, uint32_t w)
{
    struct cpu_warp *warp = &block->warps[w];
    struct sp_thread *lanes = &block->threads[w * CPU_WARP];
    for (uint32_t a = warp->alone; a; a &= a - 1) {
        struct sp_thread *thread = &lanes[__builtin_ctz(a)];
        thread->result = 0;
        for (uint32_t b = warp->alone; b; b &= b - 1)
            if (lanes[__builtin_ctz(b)].wait == thread->wait)
                thread->result |= b & -b;
    }
    warp->ready |= warp->alone;
    warp->alone = 0;
}

/* Until no lane of the warp is ready, which lanes that only meet each other may never bring about:
 * so the cancel flag is looked at now and then. */
static bool
block_run_warp(struct cpu_block *block, const struct cpu_plan *plan, uint32_t w, bool *progress_out,
               struct sp_diag *diag)
{
    struct cpu_warp *warp = &block->warps[w];
    for (uint32_t n = 0;; n++) {
        uint32_t bits = warp->ready | warp->fresh;
        if (!bits && !warp->alone)
            return true;
        if (n % 1024 == 1023 && __atomic_load_n(plan->cancel, __ATOMIC_RELAXED))
            return false;
        if (!bits) {
            block_release_alone(block, w);
            continue;
        }
        uint32_t lane = (uint32_t)__builtin_ctz(bits), bit = 1u << lane;
        struct sp_thread *thread = &block->threads[w * CPU_WARP + lane];
        if (warp->ready & bit) {
            uint32_t before = thread->wait;
            warp->ready &= ~bit;
            plan->code.resume(thread->handle);
            if (thread->wait != before || plan->artifact->waits[before - 1].kind != SP_WAIT_SPIN)
                *progress_out = true;
        } else {
            warp->fresh &= ~bit;
            block_start_thread(block, plan, w * CPU_WARP + lane);
            *progress_out = true;
        }
        if (!block_book(block, plan, w, lane, diag))
            return false;
    }
}

/* ---- The block ---- */

/* Predicates of the threads that wait are counted; those that have ended have none. */
static void
block_reduce(struct cpu_block *block, enum sp_wait_kind kind)
{
    uint64_t count = 0;
    for (uint32_t w = 0; w < block->n_warps; w++)
        for (uint32_t bits = block->warps[w].barrier; bits; bits &= bits - 1)
            count += block->threads[w * CPU_WARP + (uint32_t)__builtin_ctz(bits)].operand & 1;
    uint64_t result = kind == SP_WAIT_COUNT ? count
                      : kind == SP_WAIT_AND ? count == block->n_barrier
                                            : count != 0;
    for (uint32_t w = 0; w < block->n_warps; w++)
        for (uint32_t bits = block->warps[w].barrier; bits; bits &= bits - 1)
            block->threads[w * CPU_WARP + (uint32_t)__builtin_ctz(bits)].result = result;
}

static void
block_open_barrier(struct cpu_block *block, const struct cpu_plan *plan)
{
    enum sp_wait_kind kind = plan->artifact->waits[block->barrier_wait - 1].kind;
    if (kind != SP_WAIT_BARRIER)
        block_reduce(block, kind);
    for (uint32_t w = 0; w < block->n_warps; w++) {
        block->warps[w].ready |= block->warps[w].barrier;
        block->warps[w].barrier = 0;
    }
    block->n_barrier = 0;
}

void
rt_cpu_block_release_grid(struct cpu_block *block)
{
    for (uint32_t w = 0; w < block->n_warps; w++) {
        block->warps[w].ready |= block->warps[w].grid;
        block->warps[w].grid = 0;
    }
    block->n_grid = 0;
}

static void
block_poll_spinners(struct cpu_block *block)
{
    for (uint32_t w = 0; w < block->n_warps; w++) {
        block->warps[w].ready |= block->warps[w].spin;
        block->warps[w].spin = 0;
    }
    block->n_spin = 0;
}

/* False: an error, or the launch is cancelled. */
static bool
block_run(struct cpu_block *block, const struct cpu_plan *plan, bool *progress_out,
          struct sp_diag *diag)
{
    for (uint32_t w = 0; w < block->n_warps; w++) {
        if (!(block->warps[w].ready | block->warps[w].fresh))
            continue;
        if (__atomic_load_n(plan->cancel, __ATOMIC_RELAXED) ||
            !block_run_warp(block, plan, w, progress_out, diag))
            return false;
    }
    return true;
}

enum cpu_step
rt_cpu_block_step(struct cpu_block *block, const struct cpu_plan *plan, bool *progress_out,
                  struct sp_diag *diag)
{
    *progress_out = false;
    if (block->n_spin)
        block_poll_spinners(block);
    for (;;) {
        bool moved = false;
        bool ok = block_run(block, plan, &moved, diag);
        *progress_out |= moved;
        if (!ok)
            return CPU_STEP_FAILED;
        if (block->n_done == block->n_threads)
            return CPU_STEP_DONE;
        if (block->n_barrier && block->n_barrier + block->n_done == block->n_threads) {
            block_open_barrier(block, plan);
        } else if (block->n_spin) {
            if (!moved)
                return CPU_STEP_SPINS;
            block_poll_spinners(block);
        } else if (block->n_grid && block->n_grid + block->n_done == block->n_threads) {
            return CPU_STEP_GRID;
        } else {
            rt_cpu_explain_deadlock(block, plan, diag);
            return CPU_STEP_FAILED;
        }
    }
}
