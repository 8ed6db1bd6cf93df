/* runtime/: an artifact in, a launch out. Devices behind one struct of functions (two instances:
 * cuda by dlopen of the driver, cpu by a thread pool) and the memory cache of compiled kernels.
 *
 * State hangs off `struct rt_runtime`, which the caller creates and owns; devices and code
 * belong to it. Every function may be called from any thread. Functions that return bool follow
 * support/diag.h: false after one sp_diag_set, out parameters untouched. Functions that may
 * block say so; whoever holds the GIL drops it around those. */
#ifndef RT_RT_H
#define RT_RT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/rt_graph.h"
#include "runtime/rt_share.h"
#include "runtime/rt_stream.h"
#include "support/artifact.h"
#include "support/diag.h"
#include "support/str.h"

struct rt_runtime;
struct rt_device;
struct rt_print;
struct rt_code; /* an artifact loaded on a device */

enum rt_kind { RT_CUDA, RT_CPU };

/* ---- Runtime: open.c ------------------------------------------------------------------------ */

struct rt_options {
    const char *cuda_library; /* path of libcuda; NULL: GPUJIT_CUDA_LIBRARY, else the usual names */
    uint32_t cpu_threads;     /* 0: GPUJIT_CPU_THREADS, else one per core */
};

/* Cheap: finds no driver and starts no thread before it is needed. `options` may be NULL. */
struct rt_runtime *rt_runtime_create(const struct rt_options *options);
/* Waits for what runs, then frees all devices. All rt_code must have been unloaded before. */
void rt_runtime_destroy(struct rt_runtime *rt);

struct rt_driver {
    bool found;  /* the driver works; there may still be no device */
    int version; /* as cuDriverGetVersion says: 12040 is 12.4; 0 unknown */
    uint32_t n_devices;
    const char *library; /* the path or name that was opened, "" if none */
    const char *why_not; /* "" when found */
    const char *hint;    /* how to mend it; "" if there is nothing to say */
};

/* Finds the driver at the first call (cuInit: tens of milliseconds). The strings live with `rt`. */
const struct rt_driver *rt_runtime_driver(struct rt_runtime *rt);

/* The same pointer each time for one (kind, ordinal). The cpu device has ordinal 0. */
SP_MUST_CHECK bool rt_open(struct rt_runtime *rt, enum rt_kind kind, int ordinal,
                           struct rt_device **dev_out, struct sp_diag *diag);

/* The devices that were opened so far; returns how many of `cap` it has filled. */
uint32_t rt_opened(struct rt_runtime *rt, struct rt_device **devices_out, uint32_t cap);

/* "key: value" lines for `gpujit info`: driver, devices, limits, what is missing. */
void rt_print_info(struct rt_runtime *rt, struct sp_str *out);

/* ---- Devices -------------------------------------------------------------------------------- */

struct rt_info {
    enum rt_kind kind;
    int ordinal;
    char name[128];
    char target[16];        /* "sm_90", "host" */
    int cc_major, cc_minor; /* 0 on the cpu */
    int driver_version;     /* 0 on the cpu */
    uint8_t uuid[16];
    char pci[16];    /* "0000:3b:00.0"; "" on the cpu */
    bool is_adopted; /* in a context that another library made, beside the primary one */
    uint64_t memory_B;
    uint32_t n_processors; /* multiprocessors, or worker threads */
    uint32_t warp_size;
    uint32_t max_grid[3];
    uint32_t max_block[3];
    uint32_t max_threads;    /* per block */
    uint32_t shared_B;       /* per block, without asking */
    uint32_t shared_optin_B; /* per block, at most */
    uint32_t max_registers;  /* per block; 0 on the cpu */
};

/* Options of the driver's compiler, see jit.def. The cpu device ignores them. */
struct rt_jit_options {
#define RT_JIT_OPTION(name, driver, plain, lowest, highest, meaning) int name;
#include "runtime/jit.def"
};

void rt_jit_options_init(struct rt_jit_options *options);
/* "jit NAME\tVALUE\n" for each that is not the driver's default. */
void rt_jit_options_print(const struct rt_jit_options *options, struct sp_str *out);
/* By keyword, range checked: SP_E_BAD_OPTION. */
SP_MUST_CHECK bool rt_jit_options_set(struct rt_jit_options *options, const char *name,
                                      long long value, struct sp_diag *diag);

/* What the device says of loaded code. Unknown numbers are 0. */
struct rt_attributes {
    uint32_t registers; /* per thread */
    uint32_t shared_B;  /* static, per block */
    uint32_t local_B;   /* per thread */
    uint32_t constant_B;
    uint32_t max_threads;    /* per block: the least of device, registers and launch bounds */
    uint32_t binary_version; /* 90 is sm_90 */
};

/* An argument for messages. */
struct rt_argument {
    const char *name;
    char kind; /* of a scalar: 'i', 'u', 'f', 'b'; else 0 */
};

struct rt_launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_B; /* dynamic, on top of the kernel's own */
    bool is_here;      /* the thread was just seen to have the device's context: it is not asked */
    rt_stream stream;
    uint64_t thread; /* of the host, a number that no other one has or had: its waits raise what the
                      * kernel raises */
};

struct rt_wait {
    const rt_stream *stream; /* NULL: all of the device's work */
    struct rt_event *event;  /* or what this was recorded behind, if it is not NULL */
    int timeout_ms;          /* negative: for ever */
    uint64_t thread;         /* as in its launches */
    bool own_only;           /* raise nothing of other threads' launches */
};

enum rt_memory_kind {
    RT_MEMORY_UNKNOWN, /* nothing the device knows: plain host memory, or nonsense */
    RT_MEMORY_HOST,    /* host memory that the device can address */
    RT_MEMORY_DEVICE,
    RT_MEMORY_MANAGED,
};

struct rt_memory {
    enum rt_memory_kind kind;
    int ordinal; /* of the device that owns it; -1 for host memory */
};

/* Memory that is kept for the next user, one pool of each kind per device: pool.c */
enum rt_pool_kind {
    RT_POOL_DEVICE,
    RT_POOL_HOST,    /* of the host, locked to its pages, addressed by all devices */
    RT_POOL_MANAGED, /* moves to who uses it */
    RT_N_POOLS,
};

struct rt_pool;

/* Bytes as they are handed out: sizes are rounded up, to 512 bytes on a GPU. */
struct rt_pool_stats {
    uint64_t in_use_B, reserved_B; /* reserved: what the driver has given */
    uint64_t peak_in_use_B, peak_reserved_B;
    uint64_t pending_B; /* freed, perhaps still in use by queued work */
    uint64_t limit_B;   /* of what is reserved; 0: none */
    uint64_t n_live;
    uint64_t n_hits, n_misses; /* allocations out of what was reserved, and others */
    uint64_t n_driver_allocs, n_driver_frees;
    uint64_t n_retries; /* waits for the device because memory had run out */
};

/* Of contexts: rt_device_is_here and what follows it. */
struct rt_context_ops {
    /* False where a kernel has broken the device, and why. NULL: it cannot be. */
    bool (*works)(const struct rt_device *dev, struct sp_diag *diag);
    bool (*is_here)(const struct rt_device *dev);
    bool (*make_current)(struct rt_device *dev, uintptr_t *before_out, struct sp_diag *diag);
    bool (*attribute)(struct rt_device *dev, int number, int *value_out, struct sp_diag *diag);
    bool (*reset)(struct rt_device *dev, struct sp_diag *diag);
    /* NULL: there is no profiler that could be told. */
    bool (*profile)(struct rt_device *dev, bool start, struct sp_diag *diag);
};

struct rt_device_ops {
    const struct rt_context_ops *context;
    void (*touch)(struct rt_device *dev); /* before memory is; NULL: nothing to do */
    /* Work of `after`, which will use memory of `before`, comes after what is there now; nothing if
     * it is being captured. NULL: so it is anyway. */
    bool (*join)(struct rt_device *dev, rt_stream before, rt_stream after, struct sp_diag *diag);
    bool (*copy_in)(struct rt_device *dev, uint64_t to, const void *from, uint64_t size_B,
                    rt_stream stream, struct sp_diag *diag);
    bool (*copy_out)(struct rt_device *dev, void *to, uint64_t from, uint64_t size_B,
                     rt_stream stream, struct sp_diag *diag);
    bool (*copy)(struct rt_device *dev, uint64_t to, uint64_t from, uint64_t size_B,
                 rt_stream stream, struct sp_diag *diag);
    bool (*fill)(struct rt_device *dev, uint64_t to, const void *element, uint32_t element_B,
                 uint64_t count, rt_stream stream, struct sp_diag *diag);
    bool (*memory_info)(struct rt_device *dev, uint64_t *free_B_out, uint64_t *total_B_out,
                        struct sp_diag *diag);
    bool (*query)(struct rt_device *dev, uint64_t address, struct rt_memory *memory_out,
                  struct sp_diag *diag);

    const struct rt_stream_ops *stream;
    const struct rt_share_ops *share;
    const struct rt_event_ops *event;
    const struct rt_graph_ops *graph;
    bool (*wait)(struct rt_device *dev, const struct rt_wait *wait, bool *done_out,
                 struct sp_diag *diag);
    void (*cancel)(struct rt_device *dev);

    bool (*assemble)(struct rt_device *dev, const struct artifact *artifact,
                     const struct rt_jit_options *options, struct artifact **out);
    bool (*load)(struct rt_device *dev, struct artifact *artifact,
                 const struct rt_jit_options *options, struct rt_code **code_out,
                 struct sp_diag *diag);
    void (*unload)(struct rt_code *code);
    bool (*prepare)(struct rt_device *dev, struct rt_code *code, const struct rt_launch *launch,
                    struct sp_diag *diag);
    bool (*launch)(struct rt_device *dev, struct rt_code *code, const struct rt_launch *launch,
                   void *params, struct sp_diag *diag);

    struct rt_print *(*take_prints)(struct rt_device *dev);
    bool (*has_prints)(struct rt_device *dev);

    void (*destroy)(struct rt_device *dev);
};

/* First member of each device's own struct. */
struct rt_device {
    const struct rt_device_ops *ops;
    struct rt_runtime *rt;
    struct rt_info info;
    struct rt_pool *pools[RT_N_POOLS];
    _Atomic(bool) was_reset; /* it was reset; another device has its number now */
};

/* First member of each device's own struct. Holds a share of the artifact. */
struct rt_code {
    struct rt_device *dev;
    struct artifact *artifact;
    struct rt_attributes attributes;
    char *log; /* what the driver's compiler said, "" if nothing */
};

static inline const struct rt_info *
rt_device_info(const struct rt_device *dev)
{
    return &dev->info;
}

/* Memory aligned to 256 bytes, contents undefined, for work of the stream (blocks where the pool has
 * none). Size 0 gives address 0. */
SP_MUST_CHECK bool rt_memory_alloc(struct rt_device *dev, enum rt_pool_kind kind, uint64_t size_B,
                                   rt_stream stream, uint64_t *address_out, struct sp_diag *diag);
/* Only from what the pool has: does not block. */
SP_MUST_CHECK bool rt_memory_try(struct rt_device *dev, enum rt_pool_kind kind, uint64_t size_B,
                                 rt_stream stream, uint64_t *address_out);
/* Work that was queued before still has the memory; never waits for it. Address 0 is allowed. */
SP_MUST_CHECK bool rt_memory_free(struct rt_device *dev, enum rt_pool_kind kind, uint64_t address,
                                  struct sp_diag *diag);
/* Work of another stream than the one it was asked for on uses the memory (any
 * address in it; others are ignored): orders that stream behind the earlier work, and keeps the memory until its work is over.
 * Once per stream will do. */
SP_MUST_CHECK bool rt_memory_use(struct rt_device *dev, enum rt_pool_kind kind, uint64_t address,
                                 rt_stream stream, struct sp_diag *diag);
/* Gives back to the driver what is not in use until at most so many bytes are reserved; returns how
 * many it gave (blocks). */
uint64_t rt_memory_trim(struct rt_device *dev, enum rt_pool_kind kind, uint64_t keep_B);
void rt_memory_set_limit(struct rt_device *dev, enum rt_pool_kind kind, uint64_t limit_B);
/* Between begin and end nothing that is freed is looked at; nests. */
void rt_memory_defer(struct rt_device *dev, bool begin);
void rt_memory_stats(struct rt_device *dev, enum rt_pool_kind kind,
                     struct rt_pool_stats *stats_out);
void rt_memory_reset_peak(struct rt_device *dev, enum rt_pool_kind kind);

/* ---- Contexts: context.c, cuda_context.c ----------------------------------------------------
 *
 * A GPU's state in a process is a context, and each thread has a current one. Every call here works
 * in the device's own and leaves the thread's as it was, or sets it where there is none. */

/* Whether it was reset. Then everything asked of it fails with SP_E_DEVICE_RESET; what frees does
 * nothing. */
static inline bool
rt_device_was_reset(const struct rt_device *dev)
{
    return atomic_load_explicit(&dev->was_reset, memory_order_relaxed);
}

/* Fails if it was, or is the GPU of a process that this one was forked from. */
SP_MUST_CHECK bool rt_device_check(const struct rt_device *dev, struct sp_diag *diag);

/* Whether the device was not reset and no other one's context is current in this thread. */
static inline bool
rt_device_is_here(const struct rt_device *dev)
{
    return dev->ops->context->is_here(dev);
}

/* The device whose context is current in this thread, whoever made that; NULL: there is none, or no
 * GPU was used yet. A context that is not its device's primary one has a device of its own. */
SP_MUST_CHECK bool rt_current(struct rt_runtime *rt, struct rt_device **dev_out,
                              struct sp_diag *diag);

/* Makes the device's context the thread's current one; `*before_out` is for rt_context_restore. */
SP_MUST_CHECK static inline bool
rt_device_make_current(struct rt_device *dev, uintptr_t *before_out, struct sp_diag *diag)
{
    return dev->ops->context->make_current(dev, before_out, diag);
}

SP_MUST_CHECK bool rt_context_restore(struct rt_runtime *rt, uintptr_t before,
                                      struct sp_diag *diag);

/* Waits for what runs (blocks), then frees everything in the device's context, other libraries'
 * memory there included. The device object is of no use any more; rt_open makes a new one. */
SP_MUST_CHECK bool rt_device_reset(struct rt_device *dev, struct sp_diag *diag);

/* By the numbers of attributes.def. */
SP_MUST_CHECK static inline bool
rt_device_attribute(struct rt_device *dev, int number, int *value_out, struct sp_diag *diag)
{
    return dev->ops->context->attribute(dev, number, value_out, diag);
}

/* Tells the profiler that watches the process, if one does, to begin or to stop. */
SP_MUST_CHECK static inline bool
rt_device_profile(struct rt_device *dev, bool start, struct sp_diag *diag)
{
    return !dev->ops->context->profile || dev->ops->context->profile(dev, start, diag);
}

/* Whether it is a GPU of the process that this one was forked from. */
bool rt_device_is_inherited(const struct rt_device *dev);
/* Whether this process was forked from the one that made the runtime. Its GPUs are the parent's: they
 * fail with SP_E_FORKED. The CPU device works. */
bool rt_is_forked(const struct rt_runtime *rt);

SP_MUST_CHECK static inline bool
rt_device_alloc(struct rt_device *dev, uint64_t size_B, rt_stream stream, uint64_t *address_out,
                struct sp_diag *diag)
{
    return rt_memory_alloc(dev, RT_POOL_DEVICE, size_B, stream, address_out, diag);
}

SP_MUST_CHECK static inline bool
rt_device_free(struct rt_device *dev, uint64_t address, struct sp_diag *diag)
{
    return rt_memory_free(dev, RT_POOL_DEVICE, address, diag);
}

/* Host to device: after earlier work of the stream; the source may be reused on return (blocks).
 * Like every blocking call it fails with the exception that a kernel raised before. */
SP_MUST_CHECK static inline bool
rt_device_copy_in(struct rt_device *dev, uint64_t to, const void *from, uint64_t size_B,
                  rt_stream stream, struct sp_diag *diag)
{
    return dev->ops->copy_in(dev, to, from, size_B, stream, diag);
}

/* Device to host: after earlier work of the stream; complete on return (blocks). */
SP_MUST_CHECK static inline bool
rt_device_copy_out(struct rt_device *dev, void *to, uint64_t from, uint64_t size_B,
                   rt_stream stream, struct sp_diag *diag)
{
    return dev->ops->copy_out(dev, to, from, size_B, stream, diag);
}

/* Device to device, in stream order. The ranges may not overlap. */
SP_MUST_CHECK static inline bool
rt_device_copy(struct rt_device *dev, uint64_t to, uint64_t from, uint64_t size_B, rt_stream stream,
               struct sp_diag *diag)
{
    return dev->ops->copy(dev, to, from, size_B, stream, diag);
}

/* `count` elements of 1, 2, 4 or 8 bytes, in stream order; `to` is aligned to the element. */
SP_MUST_CHECK static inline bool
rt_device_fill(struct rt_device *dev, uint64_t to, const void *element, uint32_t element_B,
               uint64_t count, rt_stream stream, struct sp_diag *diag)
{
    return dev->ops->fill(dev, to, element, element_B, count, stream, diag);
}

SP_MUST_CHECK static inline bool
rt_device_memory_info(struct rt_device *dev, uint64_t *free_B_out, uint64_t *total_B_out,
                      struct sp_diag *diag)
{
    return dev->ops->memory_info(dev, free_B_out, total_B_out, diag);
}

/* Who owns an address. An address nobody knows is RT_MEMORY_UNKNOWN, not an error. */
SP_MUST_CHECK static inline bool
rt_device_query(struct rt_device *dev, uint64_t address, struct rt_memory *memory_out,
                struct sp_diag *diag)
{
    return dev->ops->query(dev, address, memory_out, diag);
}

/* Waits as it is told (blocks). Succeeds with `*done_out` false when time is up. Once done it fails
 * with what went wrong since the last wait or copy: a kernel's exception (of this thread's launches
 * first, else of another one's that nobody has raised), a dead context, an interrupt. */
SP_MUST_CHECK bool rt_device_wait_for(struct rt_device *dev, const struct rt_wait *wait,
                                      bool *done_out, struct sp_diag *diag);

/* The same for programs of one thread. */
SP_MUST_CHECK static inline bool
rt_device_wait(struct rt_device *dev, const rt_stream *stream, int timeout_ms, bool *done_out,
               struct sp_diag *diag)
{
    struct rt_wait wait = {.stream = stream, .timeout_ms = timeout_ms};
    return rt_device_wait_for(dev, &wait, done_out, diag);
}

SP_MUST_CHECK static inline bool
rt_device_synchronize(struct rt_device *dev, struct sp_diag *diag)
{
    bool done;
    return rt_device_wait(dev, NULL, -1, &done, diag);
}

SP_MUST_CHECK static inline bool
rt_stream_synchronize(struct rt_device *dev, rt_stream stream, struct sp_diag *diag)
{
    bool done;
    return rt_device_wait(dev, &stream, -1, &done, diag);
}

/* Asks what is running and queued to stop; the next wait then fails with SP_E_CANCELLED. Does
 * nothing on cuda, whose kernels cannot be stopped, and when nothing runs. */
static inline void
rt_device_cancel(struct rt_device *dev)
{
    dev->ops->cancel(dev);
}

/* What loads at once, of an artifact that the device would have to compile: a cubin of PTX (some
 * milliseconds; blocks). False, and nothing is said: there is no such thing, so load what there is.
 * The new artifact is the caller's share; `options` may be NULL. */
SP_MUST_CHECK static inline bool
rt_device_assemble(struct rt_device *dev, const struct artifact *artifact,
                   const struct rt_jit_options *options, struct artifact **out)
{
    return dev->ops->assemble && dev->ops->assemble(dev, artifact, options, out);
}

/* Loads an artifact of the device's kind: PTX or a cubin on cuda, an object on the cpu (some
 * milliseconds; blocks). Takes its own share of the artifact (sp_artifact_share). `options` may be NULL. */
SP_MUST_CHECK static inline bool
rt_device_load(struct rt_device *dev, struct artifact *artifact,
               const struct rt_jit_options *options, struct rt_code **code_out,
               struct sp_diag *diag)
{
    return dev->ops->load(dev, artifact, options, code_out, diag);
}

/* What messages say of the kernel: where it is written, and its arguments by number. Copied. Once,
 * before the first launch: cuda_lost.c */
void rt_code_describe(struct rt_code *code, const struct sp_src *where,
                      const struct rt_argument *arguments, uint32_t n);

/* Frees the code once the launches in flight are over; does not wait for them. NULL is allowed. */
static inline void
rt_code_unload(struct rt_code *code)
{
    if (code)
        code->dev->ops->unload(code);
}

/* Checks a launch against the limits of device and code, and makes the code ready for it (more than
 * the default shared memory must be asked for). Must have succeeded for this (code, launch) before
 * rt_device_launch, which checks nothing; a launcher does it once. */
SP_MUST_CHECK static inline bool
rt_device_prepare(struct rt_device *dev, struct rt_code *code, const struct rt_launch *launch,
                  struct sp_diag *diag)
{
    return dev->ops->prepare(dev, code, launch, diag);
}

/* Starts a prepared launch and returns at once. `params` is the parameter area of
 * artifact->params_size_B bytes, aligned to 8; it is copied, and the runtime fills its fault slot.
 * Succeeding says nothing about the kernel: its errors come with the next wait or copy. */
SP_MUST_CHECK static inline bool
rt_device_launch(struct rt_device *dev, struct rt_code *code, const struct rt_launch *launch,
                 void *params, struct sp_diag *diag)
{
    return dev->ops->launch(dev, code, launch, params, diag);
}

/* ---- Printing: print.c ---------------------------------------------------------------------- */

/* Records of one artifact in the order in which they were printed (struct sp_printer), or, where
 * `artifact` is NULL, how many did not fit the buffer of this capacity. */
struct rt_print {
    struct rt_print *next;
    struct artifact *artifact;
    uint64_t n_lost, capacity_B;
    size_t n_words;
    uint64_t *words;
};
void rt_prints_free(struct rt_print *first);

/* What kernels have printed that was not taken yet; NULL: nothing. Everything that was waited for
 * is there, and what a running kernel has printed so far. The caller frees it. */
static inline struct rt_print *
rt_device_take_prints(struct rt_device *dev)
{
    return dev->ops->take_prints(dev);
}

/* Whether a launch that may print was not waited for, or something was not taken. */
static inline bool
rt_device_has_prints(struct rt_device *dev)
{
    return dev->ops->has_prints(dev);
}

/* ---- Limits: limits.c ----------------------------------------------------------------------- */

/* The check of rt_device_prepare by itself, for 64-bit numbers as users give them: before they are
 * narrowed into a struct rt_launch. `attributes` may be NULL (no code yet). */
SP_MUST_CHECK bool rt_limits_check(const struct rt_info *info,
                                   const struct rt_attributes *attributes, const int64_t grid[3],
                                   const int64_t block[3], int64_t shared_B, struct sp_diag *diag);

/* ---- Memory cache: cache.c ------------------------------------------------------------------ */

/* Signature and facts of one launch, packed by the caller in 64-bit words. Up to RT_KEY_WORDS words
 * are kept as they are; from then on the words so far are folded into their digest, so that any
 * number of arguments fits. */
#define RT_KEY_WORDS 16

struct rt_key {
    uint64_t hash;
    uint32_t n_words; /* in `words` */
    uint32_t n_total; /* added so far */
    uint64_t words[RT_KEY_WORDS];
};

static inline void
rt_key_init(struct rt_key *key)
{
    key->hash = 0x9e3779b97f4a7c15u;
    key->n_words = key->n_total = 0;
}

void rt_key_fold(struct rt_key *key);

static inline void
rt_key_add(struct rt_key *key, uint64_t word)
{
    if (key->n_words == RT_KEY_WORDS)
        rt_key_fold(key);
    key->words[key->n_words++] = word;
    key->n_total++;
    uint64_t h = (key->hash ^ word) * 0xff51afd7ed558ccdu;
    key->hash = h ^ h >> 32;
}

struct rt_cache;

enum rt_claim {
    RT_HIT,  /* `*value_out` is the published value; it lives as long as the cache */
    RT_MINE, /* nobody has it: the caller makes it and must call rt_cache_publish */
    RT_WAIT, /* another thread is making it: rt_cache_wait, without the GIL */
};

/* `destroy` is called on every value when the cache ends. Entries are never taken out before: an
 * owner whose guards failed counts a generation and has it in the key. */
struct rt_cache *rt_cache_create(void (*destroy)(void *value));
void rt_cache_destroy(struct rt_cache *cache);

/* A HIT takes no lock, writes nothing and allocates nothing. */
enum rt_claim rt_cache_begin(struct rt_cache *cache, const struct rt_key *key, void **value_out);
/* Waits while another thread makes the value (blocks), at most `timeout_ms` (negative: for ever).
 * RT_MINE if that thread failed: the caller tries itself. RT_WAIT when time is up. */
enum rt_claim rt_cache_wait(struct rt_cache *cache, const struct rt_key *key, int timeout_ms,
                            void **value_out);
/* Ends a claim of RT_MINE. NULL says that making it failed: the next caller or waiter gets MINE. */
void rt_cache_publish(struct rt_cache *cache, const struct rt_key *key, void *value);
/* Calls `each` for every published entry, under the cache's lock. */
void rt_cache_each(struct rt_cache *cache, void (*each)(void *context, void *value), void *context);

#endif
