/* The cpu device's inside. */
#ifndef RT_CPU_T_H
#define RT_CPU_T_H

#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/cpu_block.h"
#include "runtime/rt_t.h"
#include "support/vec.h"

typedef void (*cpu_entry)(const struct sp_block *block, const void *params);

struct cpu_linker;
struct cpu_linked;

struct cpu_code {
    struct rt_code base;
    cpu_entry entry;
    struct sp_waiting waiting; /* of a kernel that waits; else 0 */
    struct cpu_linked *linked;
    int32_t fault_offset;     /* of the fault's address among the parameters, or -1 */
    _Atomic(uint32_t) shares; /* the user's, and one per job */
};

/* The blocks of a launch whose threads wait, cpu_grid.c. */
struct cpu_grid {
    uint64_t n_blocks, limit_B;
    uint32_t n_workers;
    _Atomic(uint64_t) n_started; /* may run past n_blocks */
    _Atomic(uint64_t) n_ended;
    _Atomic(uint64_t) n_waiting;   /* in the queue or aside */
    pthread_mutex_t lock;          /* of everything below */
    pthread_cond_t change;         /* blocks came into the queue, or the grid is done */
    struct cpu_block *head, *tail; /* to be run again */
    uint64_t n_queued;
    struct cpu_block *aside; /* wait for the grid */
    uint64_t n_aside;
    uint64_t n_vain;    /* steps since anybody got on */
    uint64_t n_allowed; /* blocks to start before the queue is gone through again */
    struct sp_diag error;
};

/* One launch. Jobs run one after the other, the blocks of a job side by side. */
struct cpu_job {
    struct cpu_job *next;
    struct cpu_code *code;
    struct sp_block block; /* what all blocks share; block_idx is filled per block */
    uint64_t n_blocks;
    uint64_t chunk;            /* blocks a worker takes at a time */
    _Atomic(uint64_t) n_taken; /* may run past n_blocks */
    uint32_t n_active;         /* workers in it; under the queue's lock */
    bool exhausted;            /* under the queue's lock: no block is left to take */
    uint32_t cancel;           /* accessed atomically */
    struct sp_fault fault;
    uint64_t thread; /* of the host, that launched */
    uint32_t shared_B;
    struct cpu_plan plan; /* of a kernel that waits */
    struct cpu_grid grid;
    uint32_t params_cap_B;
    _Alignas(16) char params[];
};

static inline bool
rt_cpu_job_cancelled(const struct cpu_job *job)
{
    return __atomic_load_n(&job->cancel, __ATOMIC_RELAXED) != 0;
}

/* Gives the block its indices: blocks are numbered along x first. */
static inline void
rt_cpu_place(struct sp_block *block, uint64_t number)
{
    uint64_t x = block->grid_dim[0], y = block->grid_dim[1];
    block->block_idx[0] = (uint32_t)(number % x);
    block->block_idx[1] = (uint32_t)(number / x % y);
    block->block_idx[2] = (uint32_t)(number / x / y);
}

/* What a worker keeps from job to job. */
struct worker_memory {
    void *shared;
    uint32_t shared_B;
    struct cpu_block *block; /* for the next block of a kernel that waits, or NULL */
    const void *stack_end;
};

/* Called with the queue's lock held, once so many jobs have finished. */
struct cpu_note {
    struct cpu_note *next;
    uint64_t ticket;
    void (*reached)(struct cpu_note *note);
};

struct cpu_event {
    struct rt_event base;
    struct cpu_mark *mark; /* of the last record; under the queue's lock, as all below */
    uint64_t ticket;       /* done once so many jobs have finished */
    uint64_t time_ns;      /* when that was, by rt_cpu_ticks; 0: not yet */
    uint64_t capture;      /* recorded in this one; 0: in none. Under the captures' lock */
    uint64_t n_work;       /* of its stream there, at the record */
};

#define CPU_BLOCKS_B ((uint64_t)1 << 30) /* for all blocks that have begun and wait */

struct cpu_queue {
    uint32_t n_workers;
    uint64_t blocks_B;           /* CPU_BLOCKS_B; tests give less */
    pthread_mutex_t lock;        /* of everything below */
    pthread_cond_t work;         /* the head can be joined, or the queue ends */
    pthread_cond_t idle;         /* a job finished */
    struct cpu_job *head, *tail; /* the head runs */
    struct cpu_job *spare;       /* finished jobs for reuse */
    uint32_t n_spare;
    uint64_t n_submitted, n_finished;
    struct cpu_note *notes, *last_note; /* by ticket */
    pthread_t *threads;
    uint32_t n_threads; /* started */
    bool ending;
    struct rt_unraised_list unraised; /* and interrupts */
    struct rt_print_buffer prints;
    uint64_t print_counters[2]; /* struct sp_printer; written by kernels */
    uint32_t n_printing;        /* jobs that may print and have not finished */
};

/* Memory that other processes may open, and the file that holds it. */
struct cpu_shared {
    uint64_t address;
    int fd;
    char name[40];
};

/* What is being captured, cpu_graph.c. */
struct cpu_graph;
struct cpu_captures {
    pthread_mutex_t lock; /* of everything below, and of the graphs */
    SP_VEC(struct cpu_graph *) all;
    uint64_t n_begun;
    _Atomic(uint32_t) n; /* in `all` */
};

/* A copy on the device, or a fill if the element has bytes. */
struct cpu_transfer {
    uint64_t to, from, count; /* count: bytes, or elements */
    uint32_t element_B;
    unsigned char element[8];
};

struct cpu_device {
    struct rt_device base;
    _Atomic(pid_t) pid; /* whose threads they are: rt_mend_begin */
    struct cpu_queue queue;
    _Atomic(uintptr_t) n_streams; /* handles given out */
    struct {
        pthread_mutex_t lock;
        SP_VEC(struct cpu_shared) all;
    } shared;
    struct cpu_captures captures;
    pthread_mutex_t linker_lock;
    struct cpu_linker *linker; /* NULL: it could not be made so far */
};

/* cpu_queue.c */
void rt_cpu_queue_init(struct cpu_queue *queue, uint32_t n_workers);
/* Stops what runs at its next test of the cancel flag, and ends the threads. */
void rt_cpu_queue_finish(struct cpu_queue *queue);
/* In a child after fork, where the threads are gone: an empty queue. */
void rt_cpu_queue_reset(struct cpu_queue *queue);
/* Jobs so far: a job's ticket is n_submitted after it was added. */
void rt_cpu_queue_count(struct cpu_queue *queue, uint64_t *submitted_out, uint64_t *finished_out);
/* How many blocks of such a launch may wait at the same time. */
uint64_t rt_cpu_queue_blocks(const struct cpu_queue *queue, const struct rt_code *code,
                             const struct rt_launch *launch);
SP_MUST_CHECK bool rt_cpu_queue_add(struct cpu_queue *queue, struct cpu_code *code,
                                    const struct rt_launch *launch, const void *params,
                                    struct sp_diag *diag);
SP_MUST_CHECK bool rt_cpu_queue_wait(struct cpu_queue *queue, const struct rt_wait *wait,
                                     bool *done_out, struct sp_diag *diag);
void rt_cpu_queue_cancel(struct cpu_queue *queue);
/* Under the queue's lock: calls the note's function when all jobs so far have finished, perhaps at
 * once. */
void rt_cpu_queue_note(struct cpu_queue *queue, struct cpu_note *note);
struct rt_print *rt_cpu_queue_take_prints(struct cpu_queue *queue);
bool rt_cpu_queue_has_prints(struct cpu_queue *queue);

/* cpu_stream.c */
extern const struct rt_stream_ops rt_cpu_stream_ops;
extern const struct rt_event_ops rt_cpu_event_ops;

/* cpu_graph.c. The first three: true if the stream is captured, and so what it was given. */
extern const struct rt_graph_ops rt_cpu_graph_ops;
bool rt_cpu_capture_launch(struct cpu_device *dev, struct cpu_code *code,
                           const struct rt_launch *launch, const void *params);
bool rt_cpu_capture_transfer(struct cpu_device *dev, rt_stream stream,
                             const struct cpu_transfer *transfer);
void rt_cpu_capture_record(struct cpu_device *dev, struct cpu_event *event, rt_stream stream);
SP_MUST_CHECK bool rt_cpu_capture_wait(struct cpu_device *dev, rt_stream stream,
                                       const struct cpu_event *event, struct sp_diag *diag);
SP_MUST_CHECK bool rt_cpu_capture_order(struct cpu_device *dev, rt_stream before, rt_stream after,
                                        struct sp_diag *diag);
void rt_cpu_transfer(const struct cpu_transfer *transfer);

static inline bool
cpu_captures(struct cpu_device *dev)
{
    return __builtin_expect(atomic_load_explicit(&dev->captures.n, memory_order_relaxed), 0);
}

/* cpu_grid.c */
void rt_cpu_grid_init(struct cpu_grid *grid, uint64_t n_blocks, uint32_t n_workers,
                      uint64_t limit_B);
void rt_cpu_grid_finish(struct cpu_grid *grid);
/* Runs blocks until none is left for this worker. */
void rt_cpu_grid_run(struct cpu_job *job, struct worker_memory *memory);

/* cpu_context.c */
extern const struct rt_context_ops rt_cpu_context_ops;

/* cpu_device.c. Every operation begins with it: in a child after fork it makes the device
 * usable. */
void rt_cpu_mend_slow(struct cpu_device *dev);

static inline void
cpu_mend(struct cpu_device *dev)
{
    if (__builtin_expect(atomic_load_explicit(&dev->pid, memory_order_acquire) != getpid(), 0))
        rt_cpu_mend_slow(dev);
}

/* cpu_share.c */
extern const struct rt_share_ops rt_cpu_share_ops;
/* The memory's pages become the device's own again. */
void rt_cpu_unshare(struct cpu_device *dev, uint64_t address, uint64_t size_B);
void rt_cpu_share_finish(struct cpu_device *dev);

/* cpu_memory.c */
void rt_cpu_memory_init(struct cpu_device *dev);
void rt_cpu_memory_mend(struct cpu_device *dev);
void rt_cpu_memory_finish(struct cpu_device *dev);
bool rt_cpu_memory_info(struct rt_device *base, uint64_t *free_B_out, uint64_t *total_B_out,
                        struct sp_diag *diag);
bool rt_cpu_query(struct rt_device *base, uint64_t address, struct rt_memory *memory_out,
                  struct sp_diag *diag);

/* cpu_code.c */
bool rt_cpu_load(struct rt_device *dev, struct artifact *artifact,
                 const struct rt_jit_options *options, struct rt_code **code_out,
                 struct sp_diag *diag);
void rt_cpu_unload(struct rt_code *code);
void rt_cpu_code_drop(struct cpu_code *code);

/* cpu_link.c: the only file that knows LLVM. Not locked: the caller is. */
struct cpu_linker *rt_cpu_linker_create(struct sp_str *why_not);
void rt_cpu_linker_destroy(struct cpu_linker *linker);
/* NULL, with the reason, if the object or its entry is no good. */
struct cpu_linked *rt_cpu_link(struct cpu_linker *linker, const void *object, size_t size_B,
                               const char *entry, cpu_entry *entry_out, struct sp_str *why_not);
void rt_cpu_unlink(struct cpu_linker *linker, struct cpu_linked *linked);

/* cpu_symbols.c: the address of a function that compiled code may call, or 0. */
uint64_t rt_cpu_symbol(const char *name);
/* cpu_math.c */
uint64_t rt_cpu_ticks(void);       /* nanoseconds of a clock that nobody sets */
uint64_t rt_cpu_nanoseconds(void); /* since 1970 */
double rt_cpu_cbrt(double x);
float rt_cpu_tgammaf(float x);

#endif
