/* What a compilation leaves: bytes and what is needed to launch them. The border between codegen/,
 * which makes it, and runtime/, which loads and launches it; nothing of LLVM's crosses. */
#ifndef SP_ARTIFACT_H
#define SP_ARTIFACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/diag.h"
#include "support/hash.h"
#include "support/warning.h"

enum sp_code_kind {
    SP_CODE_PTX,    /* text, terminated */
    SP_CODE_OBJECT, /* relocatable object of the host */
    SP_CODE_CUBIN,  /* what the driver's linker made of PTX */
    SP_N_CODE_KINDS
};

/* One slot of the parameter area. An array argument takes several slots in this order: data, then
 * `rank` extents, then (layout ANY only) `rank` strides in bytes; each of 8 bytes. */
enum sp_param_kind {
    SP_PARAM_SCALAR, /* the argument's bits, `size_B` wide */
    SP_PARAM_DATA,   /* address of element 0 */
    SP_PARAM_EXTENT, /* shape[axis], int64 */
    SP_PARAM_STRIDE, /* strides[axis] in bytes, int64 */
    SP_PARAM_WORD,   /* eight bytes of a record's, number `axis` */
    SP_PARAM_FAULT,  /* address of the launch's struct sp_fault; `argument` is meaningless */
    SP_PARAM_GRID,   /* address of 4 bytes where blocks of the launch meet; they stay, or are 0 */
};

struct sp_param {
    uint8_t kind; /* enum sp_param_kind */
    uint8_t axis;
    uint16_t argument; /* index of the kernel's argument */
    uint32_t offset_B; /* in the parameter area; naturally aligned */
    uint32_t size_B;   /* 1, 2, 4 or 8 */
};

/* A place in the kernel that can raise. `code` says which error; the fault's values fill the
 * text. */
struct sp_fault_site {
    enum sp_error code;
    struct sp_src where; /* strings belong to the artifact */
    char *name; /* the array's name in the source, or "", or the text as ir/lower_fault.c says */
    uint32_t n_values;
};

/* Local memory that the functions of a kernel have together, at most: what a thread of a GPU has.
 * The threads of the CPU device keep room for it. */
#define SP_MAX_LOCAL_B (1u << 19)

#define SP_FAULT_VALUES 16
#define SP_PRINT_VALUES 64

/* Where the threads of a launch leave what they print. A record of n values is 1 + n words:
 * SP_PRINT_HEAD(...), written last and released, and the values. A thread reserves its words by
 * adding to the first counter; what ends beyond the capacity is not written but counted by the
 * second. */
struct sp_printer {
    uint64_t
        counters;   /* address of two 64-bit numbers: words reserved so far, records lost so far */
    uint64_t words; /* address of the buffer */
    uint64_t base;  /* of the first counter: the word with which the buffer begins */
    uint64_t capacity; /* words */
    uint64_t launch;   /* below 2^24 */
};

/* The site in the low half, then 24 bits of the launch, 7 of the number of values, and a one. */
#define SP_PRINT_HEAD(site, launch, n)                                                             \
    ((uint64_t)1 << 63 | (uint64_t)(n) << 56 | (uint64_t)(launch) << 32 | (uint64_t)(site))
#define SP_PRINT_SITE(head) ((uint32_t)(head))
#define SP_PRINT_LAUNCH(head) ((uint32_t)((head) >> 32 & 0xffffff))
#define SP_PRINT_N_VALUES(head) ((uint32_t)((head) >> 56 & 127))

/* What the threads of a launch share. Written once by the first thread that raises: `state` goes 0
 * -> 1 (claimed, by compare-and-swap) -> 2 (complete). For OUT_OF_BOUNDS the values are index,
 * axis, rank, shape... */
struct sp_fault {
    uint32_t state;
    uint32_t site;
    uint32_t block[3];
    uint32_t thread[3];
    int64_t values[SP_FAULT_VALUES];
    struct sp_printer printer;
};

/* What a block of a kernel on the CPU device is told. The entry of an SP_CODE_OBJECT artifact is
 *     void entry(const struct sp_block *block, const void *params);
 * and runs all threads of the block, but for kernels that wait (below). Indices are x, y, z. */
struct sp_block {
    uint32_t block_idx[3];
    uint32_t grid_dim[3];
    uint32_t block_dim[3];
    uint32_t dynamic_B;              /* of `shared`: what the launch added */
    void *shared;                    /* base of the block's shared memory */
    struct sp_fault *fault;          /* never NULL */
    const volatile uint32_t *cancel; /* not 0: threads leave at the next back edge of a `while` */
    const void *stack_end; /* threads whose frames lie below it raise TOO_DEEP; NULL: none does */
};

/* ---- Threads that wait for each other, on the CPU device ----
 *
 * A kernel whose threads may wait has wait sites, and its entry is another function:
 *     void entry(struct sp_waiting *out);
 * which says how large a thread's frame is and how to run it. `start` runs a thread until it ends
 * or waits, `resume` goes on where it waited; neither calls back. Where a thread waits is in its
 * `wait` when they return: 0 if it has ended, else the number of a wait site plus one. */
enum sp_wait_kind {
    SP_WAIT_BARRIER, /* for the block; these four do not go together */
    SP_WAIT_COUNT,   /* `operand` is a predicate; `result`: for how many threads it is true */
    SP_WAIT_AND,
    SP_WAIT_OR,
    SP_WAIT_GRID, /* for all threads of the grid */
    SP_WAIT_SPIN, /* for memory to change: may go on at any time */
    SP_WAIT_MEET, /* for the lanes of `mask` in its warp */
    SP_WAIT_ALONE, /* until no lane of its warp can go on; `result`: the lanes that wait at this site */
    SP_N_WAIT_KINDS
};

/* What lanes of a warp do when they meet; runtime/cpu_meet.c has a function for each, which finds
 * each lane's `operand` (64 bits, of whatever type) and `argument` and fills its `result`. */
enum sp_meet {
    SP_MEET_SYNC, /* nothing */
    /* `operand` of another lane; `argument`: the five bits that say which one, the group's width <<
     * 8 */
    SP_MEET_SHFL,
    SP_MEET_SHFL_UP,
    SP_MEET_SHFL_DOWN,
    SP_MEET_SHFL_XOR,
    SP_MEET_ALL, /* `operand` is a predicate */
    SP_MEET_ANY,
    SP_MEET_EQ,
    SP_MEET_BALLOT,
    SP_MEET_MATCH_ANY, /* lanes by equal `operand` */
    SP_MEET_MATCH_ALL,
    SP_MEET_ADD, /* of `operand`, signed */
    SP_MEET_MIN,
    SP_MEET_MAX,
    SP_MEET_AND,
    SP_MEET_OR,
    SP_MEET_XOR,
    SP_N_MEETS
};

struct sp_wait_site {
    uint8_t kind;        /* enum sp_wait_kind */
    uint8_t operation;   /* MEET: enum sp_meet; lanes that meet must name the same */
    struct sp_src where; /* strings belong to the artifact */
    char *name;          /* "gpu.syncthreads" */
};

/* What a thread and the scheduler tell each other. `start` reads the index; before it waits, a
 * thread fills what its kind of wait needs, and finds the result when it is resumed. */
struct sp_thread {
    uint32_t wait;
    uint32_t index[3];
    uint32_t mask, argument;
    uint64_t operand, result;
    void *handle; /* for `resume`; filled by `start` */
};

struct sp_waiting {
    uint64_t frame_B; /* of one thread; frames are aligned to SP_FRAME_ALIGN */
    void (*start)(const struct sp_block *block, const void *params, struct sp_thread *thread,
                  void *frame);
    void (*resume)(void *handle);
};
#define SP_FRAME_ALIGN 64

/* A place in the PY module that an artifact was made of: it stays the same when lines move. */
struct sp_origin {
    uint32_t func; /* SP_NOWHERE: the place is not known */
    uint32_t insn; /* 0: the function's first line */
};
#define SP_NOWHERE UINT32_MAX

/* A class of the program's in the recipes: its number in this process, and the constant of the
 * module that has it. */
struct sp_class_use {
    uint32_t number, constant;
};

struct artifact {
    enum sp_code_kind kind;
    void *code; /* own copy; PTX is terminated, `size_B` counts no terminator */
    size_t size_B;
    char *entry;  /* symbol of the kernel */
    char *name;   /* the Python function's name, for messages */
    char *target; /* "sm_90", "host" */

    struct sp_param *params;
    uint32_t n_params;
    uint32_t params_size_B;
    uint32_t n_arguments;
    uint64_t written; /* bit i: argument i's memory may be written (bit 63: argument 63 and up) */

    struct sp_fault_site *sites;
    uint32_t n_sites;
    bool prints; /* launches need a printer */

    struct sp_wait_site *waits; /* host: NULL if no thread waits */
    uint32_t n_waits;

    struct sp_warnings warnings; /* of its compilation, for whoever launches it first */

    /* What belongs to the program as it was read, for an artifact that is kept: of the sites, the
     * waits and the warnings, in this order, where they come from; NULL: not known. */
    struct sp_origin *origins;
    uint32_t n_origins;
    struct sp_class_use *classes;
    uint32_t n_classes;

    uint32_t shared_B;    /* shared memory of the kernel's own arrays */
    uint32_t added_B;     /* of these, what the launch must ask for as if it were its own */
    uint32_t max_threads; /* of a block by launch bounds; 0: the device's own limit */

    bool cooperative; /* blocks wait for each other, so all of them must run at the same time */

    uint32_t facts;       /* which facts it was specialised on; 0: none */
    struct sp_digest key; /* content key for caches */
    char *ir, *llvm;      /* texts of the stages when they were asked for, else NULL */

    uint32_t shares; /* owners; counted atomically */
};

/* One share, the caller's. */
struct artifact *sp_artifact_create(void);
/* Another owner of the same artifact, which is not changed from then on. Returns it. */
struct artifact *sp_artifact_share(struct artifact *artifact);
/* Gives up one share; the last frees the artifact and everything it owns. NULL is allowed. */
void sp_artifact_destroy(struct artifact *artifact);

/* The artifact as bytes, without its places and the texts of stages. It has origins. */
void sp_artifact_write(const struct artifact *artifact, struct sp_str *out);
/* An artifact whose places are still empty. False, and nothing else, if these bytes are none. */
SP_MUST_CHECK bool sp_artifact_read(const void *bytes, size_t size_B, struct artifact **out);

/* The exception that a filled-in fault stands for: message with index, shape, place, block and
 * thread. In a diagnostic that is set already, a note that names the kernel and the place. */
void sp_fault_explain(const struct artifact *artifact, const struct sp_fault *fault,
                      struct sp_diag *diag);

#endif
