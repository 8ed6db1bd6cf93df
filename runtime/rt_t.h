/* The inside of runtime/ that both devices share. */
#ifndef RT_RT_T_H
#define RT_RT_T_H

#include <pthread.h>
#include <unistd.h>
#include <time.h>

#include "runtime/rt.h"
#include "support/vec.h"

struct cuda_driver;

#define RT_MAX_DEVICES 64

struct rt_runtime {
    _Atomic(uint32_t) *alive; /* not 0, in a page that a forked child has as zeros; NULL: no such */
    pid_t pid;                /* of the process that made the runtime */
    _Atomic(pid_t) lock_pid;  /* whose the lock is, struct rt_mend */
    pthread_mutex_t lock;     /* of everything below */
    char *cuda_library;       /* NULL: the usual names */
    uint32_t cpu_threads;     /* 0: one per core */
    struct cuda_driver *driver; /* NULL until it was looked for */
    struct rt_device *cuda[RT_MAX_DEVICES];
    struct rt_device *cpu;
    SP_VEC(struct rt_device *)
    others; /* those in contexts that are not primary, and those that were reset */
};

/* Costs a load: every call of the cuda device asks. */
static inline bool
rt_forked(const struct rt_runtime *rt)
{
    return rt->alive ? !atomic_load_explicit(rt->alive, memory_order_relaxed) : rt->pid != getpid();
}

/* Locks of a forked child may be held by threads that it does not have. True for the one thread that
 * shall make them anew, which then calls rt_mend_end; the others wait for that. */
static inline bool
rt_mend_begin(_Atomic(pid_t) *owner)
{
    pid_t self = getpid(), is = atomic_load(owner);
    while (is != self) {
        if (is != -1 && atomic_compare_exchange_strong(owner, &is, -1))
            return true;
        is = atomic_load(owner);
    }
    return false;
}

static inline void
rt_mend_end(_Atomic(pid_t) *owner)
{
    atomic_store(owner, getpid());
}

/* context.c */
void rt_alive_init(struct rt_runtime *rt);
void rt_alive_again(struct rt_runtime *rt);
void rt_alive_finish(struct rt_runtime *rt);
void rt_lock(struct rt_runtime *rt);
void rt_unlock(struct rt_runtime *rt);
/* Says that the device was reset. Returns false. */
bool rt_say_reset(const struct rt_device *dev, struct sp_diag *diag);

/* The moment in so many milliseconds, by the monotonic clock; negative: now. */
static inline struct timespec
rt_deadline(int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_ms > 0) {
        until.tv_sec += timeout_ms / 1000;
        until.tv_nsec += timeout_ms % 1000 * 1000000L;
        if (until.tv_nsec >= 1000000000L)
            until.tv_sec++, until.tv_nsec -= 1000000000L;
    }
    return until;
}

/* A condition whose waits end at an rt_deadline. */
static inline void
rt_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

/* jit.c. Fills the driver's option arrays with what differs from the driver's defaults. */
#define RT_JIT_MAX_OPTIONS 16
uint32_t rt_jit_list(const struct rt_jit_options *options, int *keys_out, uintptr_t *values_out);

/* Each device's constructor, and the driver's. Called with the runtime's lock held. */
struct cuda_driver *rt_cuda_driver_create(const char *library);
void rt_cuda_driver_destroy(struct cuda_driver *driver);
const struct rt_driver *rt_cuda_driver_info(const struct cuda_driver *driver);
/* Whether it was started by a process that this one was forked from. */
bool rt_cuda_driver_is_forked(const struct cuda_driver *driver);
/* Says so. Returns false. */
bool rt_cuda_forked(int ordinal, struct sp_diag *diag);
/* Does not make the context: who only asks for names shall not pay for that. */
SP_MUST_CHECK bool rt_cuda_open(struct rt_runtime *rt, const struct cuda_driver *driver,
                                int ordinal, struct rt_device **dev_out, struct sp_diag *diag);
SP_MUST_CHECK bool rt_cpu_open(struct rt_runtime *rt, struct rt_device **dev_out,
                               struct sp_diag *diag);

/* graph.c. False, with both texts, if the stream is captured: what needs the host cannot be. */
SP_MUST_CHECK bool rt_capture_refuses(struct rt_device *dev, rt_stream stream, const char *what,
                                      const char *instead, struct sp_diag *diag);
#define RT_CAPTURE_HOST_COPY                                                                       \
    "a copy with the host cannot be captured",                                                     \
        "copy before the capture or behind the replay; copies on the device are captured"
#define RT_CAPTURE_ISOLATION                                                                       \
    "work in a capture can wait for work of the same capture only: record the event on a stream "  \
    "of the capture, or wait for it before the capture begins"

/* unraised.c: exceptions that were found, one per thread of the host that launched. Whose lock
 * guards the list guards these. */
struct rt_unraised {
    uint64_t thread;
    bool shown; /* another thread has raised a copy */
    struct sp_diag diag;
};
struct rt_unraised_list {
    SP_VEC(struct rt_unraised) all;
};
void rt_unraised_finish(struct rt_unraised_list *list);
/* Where the next exception of the thread's launches goes: filled already if it has one. */
struct sp_diag *rt_unraised_of(struct rt_unraised_list *list, uint64_t thread);
/* True if there is nothing for this wait to raise. */
bool rt_unraised_take(struct rt_unraised_list *list, const struct rt_wait *wait,
                      struct sp_diag *diag);

/* The offset of the first parameter of a kind in the parameter area, or -1. */
int32_t rt_param_offset(const struct artifact *artifact, enum sp_param_kind kind);
/* limits.c: whether a grid whose blocks wait for each other has at most so many blocks. */
SP_MUST_CHECK bool rt_grid_fits(const struct rt_launch *launch, int64_t at_once,
                                struct sp_diag *diag);
/* print.c. A buffer that kernels print into, and what was read from it; under its owner's lock. */
struct rt_print_buffer {
    uint64_t *words; /* NULL until the first kernel that prints; zero where nothing was written */
    uint64_t capacity, n_read;
    struct rt_print *first, *last;
};
/* Words that a buffer has: GPUJIT_PRINT_BYTES (4 KiB to 1 GiB), or 4 MiB. */
uint64_t rt_print_capacity(void);
/* The artifact of a launch; NULL: its records are left out. */
typedef struct artifact *rt_print_owner(void *context, uint32_t launch);
/* Copies the records that were written since the last time. */
void rt_print_read(struct rt_print_buffer *buffer, rt_print_owner *owner, void *context);
/* Begins anew: no launch that prints is running, everything was read but `n_lost` that did not
 * fit. */
void rt_print_clear(struct rt_print_buffer *buffer, uint64_t n_lost);
struct rt_print *rt_print_take(struct rt_print_buffer *buffer);

/* Moves a diagnostic that was kept for later. Returns false. */
bool rt_diag_move(struct sp_diag *to, struct sp_diag *from);

#endif
