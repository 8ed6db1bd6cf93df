/* A block whose threads wait for each other, and how its warps meet. */
#ifndef RT_CPU_BLOCK_H
#define RT_CPU_BLOCK_H

#include "support/artifact.h"

#define CPU_WARP 32u

/* Where the lanes of a warp are, a bit each; a lane that exists is in exactly one of the first
 * eight. */
struct cpu_warp {
    uint32_t fresh; /* not started */
    uint32_t ready; /* can be resumed */
    uint32_t barrier, grid, spin, meet, alone;
    uint32_t done;    /* has ended, also by an exception */
    uint32_t all;     /* exists */
    uint32_t mask;    /* of the meeting that lanes come to now; 0: none */
    uint32_t arrived; /* its lanes that are there */
};

struct cpu_block {
    struct cpu_block *next;  /* in a list of the grid's */
    struct sp_block context; /* what the threads see */
    size_t size_B;           /* of all of the memory that it heads */
    uint32_t n_threads, n_warps;
    uint32_t n_done, n_barrier, n_grid, n_spin; /* threads there */
    uint32_t barrier_wait;                      /* the `wait` of who came first to the barrier */
    struct cpu_warp *warps;
    struct sp_thread *threads;
    char *frames;
};

/* What all blocks of a launch share. */
struct cpu_plan {
    const struct artifact *artifact;
    const void *params;
    struct sp_waiting code;
    uint32_t n_threads, shared_B;
    size_t frame_B, size_B; /* of a thread's frame, of a block */
    size_t threads_at, shared_at, frames_at;
    const uint32_t *cancel; /* read atomically */
};

enum cpu_step {
    CPU_STEP_DONE,   /* all threads have ended */
    CPU_STEP_SPINS,  /* some wait for memory to change, the others for them */
    CPU_STEP_GRID,   /* all that have not ended wait for the grid */
    CPU_STEP_FAILED, /* an error was set, or the launch was cancelled */
};

void rt_cpu_plan_init(struct cpu_plan *plan, const struct artifact *artifact,
                      const struct sp_waiting *code, const struct sp_block *context,
                      const void *params, uint32_t shared_B);
/* Memory for a block; NULL: there is none. */
struct cpu_block *rt_cpu_block_new(const struct cpu_plan *plan);
/* Fills memory of at least plan->size_B for a block that has not started. */
void rt_cpu_block_init(struct cpu_block *block, const struct cpu_plan *plan,
                       const struct sp_block *context);
/* Runs the threads until none can go on without another block. `*progress_out`: some thread did
 * more than to look at memory in vain. Errors are set in `diag`. */
enum cpu_step rt_cpu_block_step(struct cpu_block *block, const struct cpu_plan *plan,
                                bool *progress_out, struct sp_diag *diag);
/* The grid is complete: threads that wait for it can go on. */
void rt_cpu_block_release_grid(struct cpu_block *block);

/* ---- cpu_meet.c ---- */

/* Lane `lane` of the warp has come to wait site `site`, with its mask in its mailbox. Lanes whose
 * meeting is complete become ready. */
SP_MUST_CHECK bool rt_cpu_meet_arrive(struct cpu_block *block, const struct cpu_plan *plan,
                                      uint32_t warp, uint32_t lane, struct sp_diag *diag);
/* A lane of the warp has ended, which may complete meetings that it was named in. */
void rt_cpu_meet_leave(struct cpu_block *block, const struct cpu_plan *plan, uint32_t warp);

/* ---- cpu_lanes.c ---- */

/* The lanes in `here`, which is not empty, have met: fills the result of each. */
void rt_cpu_lanes_meet(enum sp_meet operation, struct sp_thread *lanes, uint32_t here);

/* ---- cpu_deadlock.c: errors about threads that wait ---- */

/* Nobody can go on: who waits where. */
bool rt_cpu_explain_deadlock(const struct cpu_block *block, const struct cpu_plan *plan,
                             struct sp_diag *diag);
/* Two threads wait in ways that do not go together; by their `wait`. */
bool rt_cpu_explain_kinds(const struct cpu_block *block, const struct cpu_plan *plan,
                          enum sp_error code, uint32_t first, uint32_t second,
                          struct sp_diag *diag);

#endif
