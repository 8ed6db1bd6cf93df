/* cpu_queue: launches on the CPU device. In: code, a grid, parameters. Out: every block run
 * once, the launches in order, whatever their stream.
 *
 * One first-in-first-out queue; the head runs. Workers join the head under the lock, then take
 * chunks of its blocks by an atomic counter; whoever finds none left marks it exhausted, and the
 * last to leave finishes it: its fault or interrupt is kept for who launched (unraised.c), the next
 * job becomes the head. Threads start at the first launch, block all signals (Ctrl-C belongs to the
 * program's own threads), compute as IEEE says whatever rounding and flushing of subnormals the
 * thread has that starts them, and live as long as the device.
 *
 * Not done: running a small launch on the caller. It would save a wake-up (some microseconds),
 * but nobody can say that a kernel is short, and one that is not would hold the GIL and be deaf
 * to Ctrl-C. One queue per stream lost too: programs that need streams to overlap need them on a
 * GPU. */
#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu_t.h"
#include "support/arena.h"

#define QUEUE_MAX_SPARE 64
#define QUEUE_MAX_JOBS 65536 /* more than that and a launch waits */
#define QUEUE_PARAMS_B 512   /* room for the parameters of a reusable job */
/* A worker's stack, at least, and what its end keeps free: a function that calls itself asks
 * whether its frame begins below there, with the largest local arrays in the frame above, which
 * passed, and in its own; and then it calls what raises. Below the stack is anybody's memory. */
#define QUEUE_WHOLE_STACK_B (8u << 20)
#define QUEUE_STACK_B (2 * SP_MAX_LOCAL_B + 262144)

static void
queue_init_sync(struct cpu_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    rt_cond_init(&queue->idle);
}

void
rt_cpu_queue_init(struct cpu_queue *queue, uint32_t n_workers)
{
    memset(queue, 0, sizeof *queue);
    queue->n_workers = n_workers;
    queue->blocks_B = CPU_BLOCKS_B;
    queue_init_sync(queue);
}

/* What the parent's queue held is left alone, not freed: a thread that is gone may have been
 * halfway through it. */
void
rt_cpu_queue_reset(struct cpu_queue *queue)
{
    queue_init_sync(queue);
    queue->head = queue->tail = queue->spare = NULL;
    queue->notes = queue->last_note = NULL;
    queue->n_spare = 0;
    queue->n_finished = queue->n_submitted;
    queue->threads = NULL;
    queue->n_threads = 0;
    memset(&queue->unraised, 0, sizeof queue->unraised);
    memset(&queue->prints, 0, sizeof queue->prints);
    memset(queue->print_counters, 0, sizeof queue->print_counters);
    queue->n_printing = 0;
}

void
rt_cpu_queue_count(struct cpu_queue *queue, uint64_t *submitted_out, uint64_t *finished_out)
{
    pthread_mutex_lock(&queue->lock);
    *submitted_out = queue->n_submitted;
    *finished_out = queue->n_finished;
    pthread_mutex_unlock(&queue->lock);
}

static void
queue_run_block(struct cpu_job *job, struct sp_block *block, uint64_t index)
{
    rt_cpu_place(block, index);
    job->code->entry(block, job->params);
}

/* Jobs run one after the other, so all records are the head's. */
static struct artifact *
queue_print_owner(void *context, uint32_t launch)
{
    (void)launch;
    return ((struct cpu_job *)context)->code->base.artifact;
}

/* With the lock held: reads what the head has printed so far. */
static void
queue_read_prints(struct cpu_queue *queue)
{
    if (queue->head && queue->head->code->base.artifact->prints)
        rt_print_read(&queue->prints, queue_print_owner, queue->head);
}

static void
queue_finish_prints(struct cpu_queue *queue)
{
    queue_read_prints(queue);
    rt_print_clear(&queue->prints, queue->print_counters[1]);
    memset(queue->print_counters, 0, sizeof queue->print_counters);
    queue->n_printing--;
}

static void
queue_grow_shared(struct worker_memory *memory, uint32_t size_B)
{
    if (size_B > memory->shared_B || !memory->shared) {
        free(memory->shared);
        size_t rounded_B = ((size_t)size_B + 4095) / 4096 * 4096;
        if (!rounded_B)
            rounded_B = 4096;
        if (posix_memalign(&memory->shared, 4096, rounded_B))
            sp_out_of_memory(rounded_B);
        memory->shared_B = (uint32_t)rounded_B;
    }
}

/* Takes blocks until none is left. */
static void
queue_run_job(struct cpu_job *job, struct worker_memory *memory)
{
    if (job->code->waiting.start) {
        rt_cpu_grid_run(job, memory);
        return;
    }
    queue_grow_shared(memory, job->shared_B);
    struct sp_block block = job->block;
    block.shared = memory->shared;
    block.stack_end = memory->stack_end;
    while (!rt_cpu_job_cancelled(job)) {
        uint64_t first = atomic_fetch_add_explicit(&job->n_taken, job->chunk, memory_order_relaxed);
        if (first >= job->n_blocks)
            return;
        uint64_t end = job->n_blocks - first < job->chunk ? job->n_blocks : first + job->chunk;
        for (uint64_t i = first; i < end && !rt_cpu_job_cancelled(job); i++)
            queue_run_block(job, &block, i);
    }
}

/* With the lock held. */
static void
queue_keep_failure(struct cpu_queue *queue, struct cpu_job *job)
{
    const struct artifact *artifact = job->code->base.artifact;
    bool raised = __atomic_load_n(&job->fault.state, __ATOMIC_ACQUIRE) == 2;
    if (!raised && !rt_cpu_job_cancelled(job))
        return;
    struct sp_diag *diag = rt_unraised_of(&queue->unraised, job->thread);
    if (raised)
        sp_fault_explain(artifact, &job->fault, diag);
    else if (diag->code == SP_OK && job->grid.error.code != SP_OK)
        rt_diag_move(diag, &job->grid.error);
    else if (diag->code == SP_OK)
        sp_diag_set(diag, SP_E_CANCELLED, NULL, artifact->name ? artifact->name : "?");
}

/* With the lock held. */
static void
queue_reach_notes(struct cpu_queue *queue)
{
    while (queue->notes && queue->notes->ticket <= queue->n_finished) {
        struct cpu_note *note = queue->notes;
        queue->notes = note->next;
        note->reached(note);
    }
}

void
rt_cpu_queue_note(struct cpu_queue *queue, struct cpu_note *note)
{
    note->next = NULL;
    note->ticket = queue->n_submitted;
    if (queue->notes)
        queue->last_note->next = note;
    else
        queue->notes = note;
    queue->last_note = note;
    queue_reach_notes(queue);
}

/* With the lock held, by the last worker in it. */
static void
queue_finish_head(struct cpu_queue *queue)
{
    struct cpu_job *job = queue->head;
    if (job->code->base.artifact->prints)
        queue_finish_prints(queue);
    queue->head = job->next;
    if (!queue->head)
        queue->tail = NULL;
    queue_keep_failure(queue, job);
    struct cpu_code *code = job->code;
    if (code->waiting.start)
        rt_cpu_grid_finish(&job->grid);
    if (job->params_cap_B == QUEUE_PARAMS_B && queue->n_spare < QUEUE_MAX_SPARE) {
        job->next = queue->spare;
        queue->spare = job;
        queue->n_spare++;
    } else {
        free(job);
    }
    /* Before the job counts as finished: whoever waited may end the device next. The linker's lock,
     * which unloading takes, is always the inner one. */
    rt_cpu_code_drop(code);
    queue->n_finished++;
    queue_reach_notes(queue);
    pthread_cond_broadcast(&queue->idle);
    if (queue->head || queue->ending)
        pthread_cond_broadcast(&queue->work);
}

/* NULL where the system does not say. */
static const void *
queue_stack_end(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size_B = 0;
    if (pthread_getattr_np(pthread_self(), &attr))
        return NULL;
    if (pthread_attr_getstack(&attr, &low, &size_B))
        low = NULL;
    pthread_attr_destroy(&attr);
    return low ? (const char *)low + (size_B / 2 < QUEUE_STACK_B ? size_B / 2 : QUEUE_STACK_B)
               : NULL;
}

static void *
queue_worker(void *argument)
{
    struct cpu_queue *queue = argument;
    struct worker_memory memory = {.stack_end = queue_stack_end()};
    fesetenv(FE_DFL_ENV);
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        struct cpu_job *job = queue->head;
        if (queue->ending && !job)
            break;
        if (!job || job->exhausted) {
            pthread_cond_wait(&queue->work, &queue->lock);
            continue;
        }
        job->n_active++;
        pthread_mutex_unlock(&queue->lock);
        queue_run_job(job, &memory);
        pthread_mutex_lock(&queue->lock);
        job->exhausted = true;
        if (--job->n_active == 0)
            queue_finish_head(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    free(memory.shared);
    free(memory.block);
    return NULL;
}

/* With the lock held. Fewer threads than wanted will do; none is an error. */
static bool
queue_start_threads(struct cpu_queue *queue, struct sp_diag *diag)
{
    if (queue->n_threads)
        return true;
    if (!queue->threads)
        queue->threads = sp_alloc(queue->n_workers * sizeof queue->threads[0]);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = 0;
    size_t stack_B = 0;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (!pthread_attr_getstacksize(&attr, &stack_B) && stack_B < QUEUE_WHOLE_STACK_B)
        pthread_attr_setstacksize(&attr, QUEUE_WHOLE_STACK_B);
    for (uint32_t i = 0; i < queue->n_workers && !error; i++) {
        error = pthread_create(&queue->threads[i], &attr, queue_worker, queue);
        if (error)
            break;
        char name[16];
        snprintf(name, sizeof name, "gpujit-%u", i % 10000);
        pthread_setname_np(queue->threads[i], name);
        queue->n_threads++;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return queue->n_threads || sp_diag_set(diag, SP_E_THREADS_FAILED, NULL, strerror(error));
}

/* With the lock held. */
static struct cpu_job *
queue_new_job(struct cpu_queue *queue, uint32_t params_B)
{
    struct cpu_job *job = queue->spare;
    uint32_t cap_B = params_B > QUEUE_PARAMS_B ? params_B : QUEUE_PARAMS_B;
    if (job && params_B <= QUEUE_PARAMS_B) {
        queue->spare = job->next;
        queue->n_spare--;
    } else if (posix_memalign((void **)&job, 64, sizeof *job + cap_B)) {
        sp_out_of_memory(sizeof *job + cap_B);
    }
    memset(job, 0, sizeof *job);
    job->params_cap_B = cap_B;
    return job;
}

/* With the lock held. */
static void
queue_fill_printer(struct cpu_queue *queue, struct sp_printer *printer)
{
    struct rt_print_buffer *prints = &queue->prints;
    if (!prints->words) {
        prints->capacity = rt_print_capacity();
        size_t size_B = prints->capacity * sizeof *prints->words;
        prints->words = memset(sp_alloc(size_B), 0, size_B);
    }
    *printer = (struct sp_printer){.counters = (uintptr_t)queue->print_counters,
                                   .words = (uintptr_t)prints->words,
                                   .capacity = prints->capacity};
    queue->n_printing++;
}

static void
queue_fill_job(struct cpu_queue *queue, struct cpu_job *job, struct cpu_code *code,
               const struct rt_launch *launch, const void *params)
{
    const struct artifact *artifact = code->base.artifact;
    atomic_fetch_add_explicit(&code->shares, 1, memory_order_relaxed);
    job->code = code;
    for (int i = 0; i < 3; i++) {
        job->block.grid_dim[i] = launch->grid[i];
        job->block.block_dim[i] = launch->block[i];
    }
    job->thread = launch->thread;
    job->block.fault = &job->fault;
    if (artifact->prints)
        queue_fill_printer(queue, &job->fault.printer);
    job->block.cancel = &job->cancel;
    job->n_blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    job->chunk = job->n_blocks / ((uint64_t)queue->n_workers * 8) + 1;
    atomic_init(&job->n_taken, 0);
    job->shared_B = launch->shared_B + artifact->shared_B;
    job->block.dynamic_B = launch->shared_B;
    if (artifact->params_size_B)
        memcpy(job->params, params, artifact->params_size_B);
    if (code->fault_offset >= 0) {
        uint64_t address = (uintptr_t)&job->fault;
        memcpy(job->params + code->fault_offset, &address, sizeof address);
    }
    if (code->waiting.start) {
        rt_cpu_plan_init(&job->plan, artifact, &code->waiting, &job->block, job->params,
                         job->shared_B);
        rt_cpu_grid_init(&job->grid, job->n_blocks, queue->n_workers, queue->blocks_B);
    }
}

uint64_t
rt_cpu_queue_blocks(const struct cpu_queue *queue, const struct rt_code *code,
                    const struct rt_launch *launch)
{
    struct sp_block context = {.block_dim = {launch->block[0], launch->block[1], launch->block[2]}};
    struct cpu_plan plan;
    rt_cpu_plan_init(&plan, code->artifact, &((const struct cpu_code *)code)->waiting, &context,
                     NULL, launch->shared_B + code->artifact->shared_B);
    return queue->blocks_B / plan.size_B;
}

bool
rt_cpu_queue_add(struct cpu_queue *queue, struct cpu_code *code, const struct rt_launch *launch,
                 const void *params, struct sp_diag *diag)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = queue_start_threads(queue, diag);
    while (ok && queue->n_submitted - queue->n_finished >= QUEUE_MAX_JOBS)
        pthread_cond_wait(&queue->idle, &queue->lock);
    if (ok) {
        struct cpu_job *job = queue_new_job(queue, code->base.artifact->params_size_B);
        queue_fill_job(queue, job, code, launch, params);
        bool was_empty = !queue->head;
        if (was_empty)
            queue->head = job;
        else
            queue->tail->next = job;
        queue->tail = job;
        queue->n_submitted++;
        if (was_empty && job->n_blocks == 1)
            pthread_cond_signal(&queue->work);
        else if (was_empty)
            pthread_cond_broadcast(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

bool
rt_cpu_queue_wait(struct cpu_queue *queue, const struct rt_wait *wait, bool *done_out,
                  struct sp_diag *diag)
{
    struct timespec until = rt_deadline(wait->timeout_ms);
    pthread_mutex_lock(&queue->lock);
    const struct cpu_event *event = (const struct cpu_event *)wait->event;
    uint64_t last = event ? event->ticket : queue->n_submitted;
    bool in_time = true;
    while (queue->n_finished < last && in_time) {
        if (wait->timeout_ms < 0)
            pthread_cond_wait(&queue->idle, &queue->lock);
        else
            in_time = pthread_cond_timedwait(&queue->idle, &queue->lock, &until) != ETIMEDOUT;
    }
    bool done = queue->n_finished >= last;
    bool ok = !done || rt_unraised_take(&queue->unraised, wait, diag);
    pthread_mutex_unlock(&queue->lock);
    if (ok)
        *done_out = done;
    return ok;
}

struct rt_print *
rt_cpu_queue_take_prints(struct cpu_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue_read_prints(queue);
    struct rt_print *first = rt_print_take(&queue->prints);
    pthread_mutex_unlock(&queue->lock);
    return first;
}

bool
rt_cpu_queue_has_prints(struct cpu_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool has = queue->n_printing || queue->prints.first;
    pthread_mutex_unlock(&queue->lock);
    return has;
}

void
rt_cpu_queue_cancel(struct cpu_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    for (struct cpu_job *job = queue->head; job; job = job->next)
        __atomic_store_n(&job->cancel, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&queue->lock);
}

void
rt_cpu_queue_finish(struct cpu_queue *queue)
{
    rt_cpu_queue_cancel(queue);
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    for (uint32_t i = 0; i < queue->n_threads; i++)
        pthread_join(queue->threads[i], NULL);
    while (queue->spare) {
        struct cpu_job *job = queue->spare;
        queue->spare = job->next;
        free(job);
    }
    free(queue->threads);
    rt_unraised_finish(&queue->unraised);
    rt_prints_free(rt_print_take(&queue->prints));
    free(queue->prints.words);
    pthread_cond_destroy(&queue->idle);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
}
