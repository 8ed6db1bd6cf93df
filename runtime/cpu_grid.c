/* cpu_grid: the blocks of one launch whose threads wait, on the workers of the device. In: a job
 * with a plan. Out: all its blocks run, or an error in the job.
 *
 * Blocks are started in order. Most never wait for another one: a worker runs such a block to its
 * end in memory of its own and takes the next by an atomic counter, without a lock. A block that
 * can only look at memory in vain goes into a queue, and the worker turns to another: to the one
 * that has waited longest, or, when all in the queue have been looked at without anybody getting
 * on, to new blocks, an eighth as many, which may be what they wait for. So hand-written grid
 * barriers, locks and scans that look back make progress with more blocks than workers, and what
 * needs no more blocks than there are workers does not start them. While other workers get on, only
 * a few blocks are begun; memory of all blocks that have begun and not ended is limited, and it is
 * an error when the limit keeps a new one from starting and nobody gets on.
 *
 * Blocks whose threads wait for the grid are put aside; when every block is there or has ended they
 * go into the queue together. A worker leaves when there is nothing to start and nothing in a
 * queue, which is at once for kernels whose blocks do not wait for each other. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "runtime/cpu_t.h"

#define GRID_NAP_MS 5 /* between two looks at the cancel flag while nothing can be run */
#define GRID_KEPT_B ((size_t)16 << 20) /* of a worker's memory from one launch to the next */

void
rt_cpu_grid_init(struct cpu_grid *grid, uint64_t n_blocks, uint32_t n_workers, uint64_t limit_B)
{
    pthread_mutex_init(&grid->lock, NULL);
    rt_cond_init(&grid->change);
    grid->n_blocks = n_blocks;
    grid->n_workers = n_workers;
    grid->limit_B = limit_B;
    atomic_init(&grid->n_started, 0);
    atomic_init(&grid->n_ended, 0);
    atomic_init(&grid->n_waiting, 0);
    sp_diag_init(&grid->error);
}

static void
grid_free(struct cpu_block *list)
{
    while (list) {
        struct cpu_block *next = list->next;
        free(list);
        list = next;
    }
}

void
rt_cpu_grid_finish(struct cpu_grid *grid)
{
    grid_free(grid->head);
    grid_free(grid->aside);
    sp_diag_finish(&grid->error);
    pthread_cond_destroy(&grid->change);
    pthread_mutex_destroy(&grid->lock);
}

/* ---- With the grid's lock held ---- */

static void
grid_enqueue(struct cpu_grid *grid, struct cpu_block *block)
{
    block->next = NULL;
    if (grid->head)
        grid->tail->next = block;
    else
        grid->head = block;
    grid->tail = block;
    grid->n_queued++;
}

/* Every block waits for the grid or has ended: they go on. */
static void
grid_try_release(struct cpu_grid *grid)
{
    if (!grid->aside || grid->n_aside + atomic_load(&grid->n_ended) < grid->n_blocks)
        return;
    struct cpu_block *list = grid->aside;
    grid->aside = NULL;
    grid->n_aside = 0;
    while (list) {
        struct cpu_block *next = list->next;
        rt_cpu_block_release_grid(list);
        grid_enqueue(grid, list);
        list = next;
    }
    grid->n_vain = 0;
    pthread_cond_broadcast(&grid->change);
}

/* Stops the threads of all blocks too. */
static void
grid_fail(struct cpu_job *job)
{
    __atomic_store_n(&job->cancel, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&job->grid.change);
}

/* Blocks that have begun and not ended, or a few more: those that end meanwhile. */
static uint64_t
grid_open(const struct cpu_grid *grid)
{
    uint64_t ended = atomic_load(&grid->n_ended), started = atomic_load(&grid->n_started);
    return (started < grid->n_blocks ? started : grid->n_blocks) - ended;
}

enum choice { CHOICE_NEW, CHOICE_QUEUED, CHOICE_WAIT, CHOICE_LEAVE };

static enum choice
grid_choose(struct cpu_grid *grid, struct cpu_job *job)
{
    bool more = atomic_load(&grid->n_started) < grid->n_blocks;
    uint64_t open = grid_open(grid), running = open - grid->n_queued - grid->n_aside;
    if (!grid->n_queued) {
        if (more)
            return CHOICE_NEW;
        return grid->n_aside ? CHOICE_WAIT : CHOICE_LEAVE;
    }
    bool in_vain = grid->n_vain >= grid->n_queued;
    if (more && !grid->n_allowed && in_vain && (!running || open < 2 * (uint64_t)grid->n_workers))
        grid->n_allowed = grid->n_queued / 8 + 1;
    if (!more || !grid->n_allowed)
        return CHOICE_QUEUED;
    if ((open + 1) * job->plan.size_B <= grid->limit_B) {
        grid->n_allowed--;
        return CHOICE_NEW;
    }
    grid->n_allowed = 0;
    if (!running && in_vain) {
        sp_diag_set(&grid->error, SP_E_TOO_MANY_WAITING, NULL, (unsigned long long)open,
                    job->plan.artifact->name ? job->plan.artifact->name : "?",
                    (unsigned long long)job->plan.size_B, (unsigned long long)grid->limit_B);
        sp_diag_hint(&grid->error, "launch fewer or smaller blocks, or let blocks wait only for "
                                   "blocks before them");
        grid_fail(job);
        return CHOICE_LEAVE;
    }
    return CHOICE_QUEUED;
}

/* ---- A worker ---- */

/* A block that has not run yet, in the worker's memory; NULL: there is none, or no memory. */
static struct cpu_block *
grid_start(struct cpu_grid *grid, struct cpu_job *job, struct worker_memory *memory)
{
    uint64_t number = atomic_fetch_add(&grid->n_started, 1);
    if (number >= grid->n_blocks)
        return NULL;
    if (memory->block && memory->block->size_B < job->plan.size_B) {
        free(memory->block);
        memory->block = NULL;
    }
    struct cpu_block *block = memory->block ? memory->block : rt_cpu_block_new(&job->plan);
    memory->block = NULL;
    if (!block) {
        pthread_mutex_lock(&grid->lock);
        sp_diag_set(&grid->error, SP_E_NO_MEMORY, NULL, (long long)job->plan.size_B, "host",
                    "for the threads of a block");
        grid_fail(job);
        pthread_mutex_unlock(&grid->lock);
        return NULL;
    }
    struct sp_block context = job->block;
    rt_cpu_place(&context, number);
    rt_cpu_block_init(block, &job->plan, &context);
    return block;
}

/* Blocks the worker until something changes, or for a moment. */
static void
grid_nap(struct cpu_grid *grid)
{
    struct timespec until = rt_deadline(GRID_NAP_MS);
    pthread_cond_timedwait(&grid->change, &grid->lock, &until);
}

/* The next block for the worker to run; NULL: it leaves. */
static struct cpu_block *
grid_next(struct cpu_grid *grid, struct cpu_job *job, struct worker_memory *memory)
{
    if (!atomic_load(&grid->n_waiting))
        return grid_start(grid, job, memory);
    struct cpu_block *block = NULL;
    pthread_mutex_lock(&grid->lock);
    while (!rt_cpu_job_cancelled(job)) {
        enum choice choice = grid_choose(grid, job);
        if (choice == CHOICE_LEAVE)
            break;
        if (choice == CHOICE_WAIT) {
            grid_nap(grid);
            continue;
        }
        if (choice == CHOICE_QUEUED) {
            block = grid->head;
            grid->head = block->next;
            grid->n_queued--;
            atomic_fetch_sub(&grid->n_waiting, 1);
            if (grid->n_queued)
                pthread_cond_signal(&grid->change);
            break;
        }
        grid->n_vain = 0;
        pthread_mutex_unlock(&grid->lock);
        block = grid_start(grid, job, memory);
        if (block || rt_cpu_job_cancelled(job))
            return block;
        pthread_mutex_lock(&grid->lock); /* another worker took the last one */
    }
    pthread_mutex_unlock(&grid->lock);
    return block;
}

static void
grid_ended(struct cpu_grid *grid)
{
    atomic_fetch_add(&grid->n_ended, 1);
    if (!atomic_load(&grid->n_waiting))
        return;
    pthread_mutex_lock(&grid->lock);
    grid->n_vain = 0;
    grid_try_release(grid);
    if (atomic_load(&grid->n_ended) == grid->n_blocks)
        pthread_cond_broadcast(&grid->change);
    pthread_mutex_unlock(&grid->lock);
}

/* Puts a block that waits where it belongs. */
static void
grid_give_back(struct cpu_grid *grid, struct cpu_block *block, enum cpu_step step, bool progress)
{
    pthread_mutex_lock(&grid->lock);
    bool vain = step == CPU_STEP_SPINS && !progress;
    grid->n_vain = vain ? grid->n_vain + 1 : 0;
    bool rest = vain && grid->n_vain % (grid->n_queued + 1) == 0;
    atomic_fetch_add(&grid->n_waiting, 1);
    if (step == CPU_STEP_SPINS) {
        grid_enqueue(grid, block);
    } else {
        block->next = grid->aside;
        grid->aside = block;
        grid->n_aside++;
        grid_try_release(grid);
    }
    pthread_mutex_unlock(&grid->lock);
    if (rest)
        sched_yield();
}

void
rt_cpu_grid_run(struct cpu_job *job, struct worker_memory *memory)
{
    struct cpu_grid *grid = &job->grid;
    struct sp_diag diag;
    sp_diag_init(&diag);
    while (!rt_cpu_job_cancelled(job)) {
        struct cpu_block *block = grid_next(grid, job, memory);
        if (!block)
            break;
        bool progress;
        block->context.stack_end = memory->stack_end;
        enum cpu_step step = rt_cpu_block_step(block, &job->plan, &progress, &diag);
        if (step == CPU_STEP_SPINS || step == CPU_STEP_GRID) {
            grid_give_back(grid, block, step, progress);
            continue;
        }
        if (memory->block)
            free(block);
        else
            memory->block = block;
        if (step == CPU_STEP_DONE) {
            grid_ended(grid);
            continue;
        }
        pthread_mutex_lock(&grid->lock);
        if (grid->error.code == SP_OK && diag.code != SP_OK)
            rt_diag_move(&grid->error, &diag);
        grid_fail(job);
        pthread_mutex_unlock(&grid->lock);
    }
    if (memory->block && memory->block->size_B > GRID_KEPT_B) {
        free(memory->block);
        memory->block = NULL;
    }
    sp_diag_finish(&diag);
}
