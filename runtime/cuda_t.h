/* The cuda device's inside: our own declarations of the driver API, and what its files share. */
#ifndef RT_CUDA_T_H
#define RT_CUDA_T_H

#include <stdatomic.h>
#include <string.h>

#include "runtime/rt_t.h"
#include "support/vec.h"

typedef int CUresult;
typedef int CUdevice;
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef int CUpointer_attribute;
typedef int CUjit_option;
typedef int CUjitInputType;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef int CUstreamCaptureMode;
typedef int CUstreamCaptureStatus;
typedef void (*CUhostFn)(void *data);
typedef struct CUipcMemHandle_st {
    char reserved[64];
} CUipcMemHandle;
typedef unsigned long long cuuint64_t;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUuserObject_st *CUuserObject;
typedef struct CUkern_st *CUkernel;
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;

enum cuda_const {
#define CUDA_CONST(name, value) name = value,
#include "runtime/cuda_const.def"
};

struct cuda_api {
#define CUDA_API(name, symbol, version, required, parameters) CUresult(*name) parameters;
#include "runtime/cuda_api.def"
};

/* The end marks of cuLaunchKernel's `extra`. */
#define CUDA_PARAM_END ((void *)0)
#define CUDA_PARAM_POINTER ((void *)1)
#define CUDA_PARAM_SIZE ((void *)2)

/* The devices that were opened, for who has but a driver. */
struct cuda_device;
struct cuda_opened {
    pthread_mutex_t lock;
    SP_VEC(struct cuda_device *) devices;
};

struct cuda_driver {
    struct cuda_api api;
    struct cuda_opened *opened;
    struct rt_driver info;
    void *handle; /* of dlopen */
    pid_t pid;    /* that called cuInit: contexts do not survive a fork */
    struct sp_str library, why_not, hint;
};

struct cuda_code {
    struct rt_code base;
    CUmodule module;
    CUfunction function;
    size_t params_B;             /* up to the end of the last parameter */
    int32_t fault_offset;        /* -1: the kernel cannot raise */
    _Atomic(uint32_t) dynamic_B; /* dynamic shared memory that was asked for so far */
    _Atomic(uint32_t) shares;    /* the user's, and one per fault slot in flight */
    /* For messages: rt_code_describe. */
    struct sp_src where;
    struct rt_argument *arguments;
    uint32_t n_arguments;
};

/* Launches that a dead context may be due to: cuda_lost.c. */
#define CUDA_N_RECENT 64
#define CUDA_RECENT_WORDS 16

struct cuda_recent {
    _Atomic(uint64_t) ticket; /* from 1; 0: none, or over */
    _Atomic(uintptr_t) code;  /* struct cuda_code */
    _Atomic(uint64_t) stream;
    _Atomic(uint32_t) sizes[6];                  /* grid and block */
    _Atomic(uint64_t) params[CUDA_RECENT_WORDS]; /* the first ones */
};

struct cuda_recents {
    _Atomic(bool) lost; /* nothing works any more, and `story` says why */
    _Atomic(uint64_t) n_launched, n_done;
    struct cuda_recent ring[CUDA_N_RECENT];
    pthread_mutex_t lock; /* of what follows */
    struct sp_diag story;
    SP_VEC(struct cuda_code *) retired; /* unloaded, but in the ring */
};

struct cuda_slot {
    struct cuda_code *code; /* NULL: free */
    rt_stream stream;
    uint64_t thread; /* of the host */
    uint64_t ticket; /* number of the launch; UINT64_MAX: not launched yet */
    bool reported;
    bool prints;
    uint16_t round; /* how often the slot was taken */
};

#define CUDA_N_SLOTS 256

/* Faults of launches in flight, in host memory that the device writes. */
struct cuda_faults {
    pthread_mutex_t lock;
    bool closed;           /* the device was reset */
    struct sp_fault *host; /* NULL until the first kernel that can raise */
    CUdeviceptr device;
    uint32_t next;
    _Atomic(uint32_t) n_used;
    _Atomic(uint64_t) n_launched;
    struct cuda_slot slots[CUDA_N_SLOTS];
    struct rt_unraised_list unraised;
    _Atomic(uint32_t) n_unraised; /* its length, for those without the lock */
    /* Printing: the buffer is host memory that the device writes, its counters are the device's. */
    struct rt_print_buffer prints;
    CUdeviceptr print_words, print_counters;
    uint64_t print_base, n_print_lost; /* the counters when the buffer was cleared last */
    uint32_t n_printing;               /* slots whose launches may print */
};

/* Where blocks that wait for each other meet, cuda_grid.c. */
struct cuda_grid_word {
    rt_stream stream;
    uint64_t thread; /* of the host, for its own stream; else 0 */
    CUdeviceptr address;
    bool gone; /* the stream was destroyed */
};

struct cuda_grids {
    pthread_mutex_t lock;
    SP_VEC(struct cuda_grid_word) words;
};

struct cuda_event {
    struct rt_event base;
    CUevent event;
    _Atomic(uint64_t) before; /* launches that were numbered when it was recorded */
};

/* For rt_stream_order, which needs an event for a moment. */
struct cuda_orders {
    pthread_mutex_t lock;
    CUevent event; /* NULL until it is needed */
};

/* What the pools' sources keep, cuda_memory.c. */
struct cuda_memory {
    pthread_mutex_t lock;
    SP_VEC(CUevent) events; /* not in use */
};

/* The struct sp_fault of a launch in a graph. */
struct cuda_cell {
    struct sp_fault *host; /* NULL: the kernel cannot raise */
    CUdeviceptr device;
};

/* A launch of ours in a graph, cuda_capture.c. */
struct cuda_grave;
struct cuda_captured {
    struct cuda_captured *next_dead;
    struct cuda_grave *grave;
    struct cuda_code *code; /* a share */
    struct cuda_cell cell;
    CUdeviceptr word; /* where its blocks meet; 0: they do not */
    uint64_t thread;  /* of the host, that captured or replayed last; under the faults' lock */
    uint32_t number;
    bool prints;
    bool has_object; /* whose end frees this */
};

/* Under the faults' lock. */
struct cuda_captures {
    SP_VEC(struct cuda_captured *) all;
    _Atomic(uint32_t) n; /* in `all` */
    uint32_t n_numbers, n_printing;
    SP_VEC(void *) chunks;
    SP_VEC(struct cuda_cell) free_cells;
    struct cuda_grave *grave;
    CUstream aside; /* of our own, NULL until it is needed */
};

/* Graphs that are being captured, cuda_graph.c. */
struct cuda_graphs {
    pthread_mutex_t lock;
    struct cuda_graph *capturing;
};

/* What the driver says of a stream that is captured. */
struct cuda_capture {
    uint64_t id;
    CUgraph graph;
    const CUgraphNode *nodes; /* that the stream's next work depends on */
    size_t n_nodes;
};

struct cuda_device {
    struct rt_device base;
    const struct cuda_driver *driver;
    const struct cuda_api *api;
    _Atomic(CUcontext) context;    /* CUDA_NO_CONTEXT: not retained yet, or reset */
    unsigned long long context_id; /* of one that is not primary; 0: unknown */
    bool is_primary;
    pthread_mutex_t context_lock; /* of retaining and resetting */
    CUdevice device;
    struct cuda_faults faults;
    struct cuda_grids grids;
    struct cuda_orders orders;
    struct cuda_captures captures;
    struct cuda_graphs graphs;
    struct cuda_recents recents;
    struct cuda_memory memory;
};

/* Runs one driver call in the device's context: the body of most operations. */
#define CUDA_CALL(dev, diag, ok, function, ...)                                                    \
    do {                                                                                           \
        enum cuda_entered entered_ = cuda_enter((dev), (diag));                                    \
        (ok) = entered_ != CUDA_ENTER_FAILED;                                                      \
        if (ok) {                                                                                  \
            CUresult result_ = (dev)->api->function(__VA_ARGS__);                                  \
            if (result_ != CUDA_SUCCESS)                                                           \
                (ok) = rt_cuda_fail((dev)->driver, #function, result_, (diag));                    \
            cuda_leave((dev), entered_);                                                           \
        }                                                                                          \
    } while (0)

/* cuda_lost.c */
void rt_cuda_recents_init(struct cuda_recents *recents);
void rt_cuda_recents_finish(struct cuda_recents *recents);
/* Frees the code, or keeps it until the ring has no launch of it. */
void rt_cuda_recents_retire(struct cuda_recents *recents, struct cuda_code *code);
/* A wait that began when `n_launched` was `before` has succeeded. NULL: of everything. */
void rt_cuda_recents_waited(struct cuda_recents *recents, const rt_stream *stream, uint64_t before);
/* Whether the driver's answer means that the device is lost: then the diagnostic tells so. */
bool rt_cuda_lost(const struct cuda_driver *driver, CUresult result, const char *what,
                  struct sp_diag *diag);
/* The diagnostic of a device that was lost before. Returns false. */
bool rt_cuda_lost_story(struct cuda_device *dev, struct sp_diag *diag);

static inline bool
cuda_is_lost(const struct cuda_device *dev)
{
    return __builtin_expect(atomic_load_explicit(&dev->recents.lost, memory_order_acquire), 0);
}

/* A launch is in its stream. */
static inline void
cuda_recents_add(struct cuda_recents *recents, struct cuda_code *code,
                 const struct rt_launch *launch, const void *params)
{
#define RECENT_SET(field, value) atomic_store_explicit(&recent->field, value, memory_order_relaxed)
    uint64_t ticket = atomic_fetch_add_explicit(&recents->n_launched, 1, memory_order_relaxed);
    struct cuda_recent *recent = &recents->ring[ticket % CUDA_N_RECENT];
    size_t n = code->params_B / 8, rest = code->params_B % 8;
    if (n >= CUDA_RECENT_WORDS)
        n = CUDA_RECENT_WORDS, rest = 0;
    RECENT_SET(ticket, 0);
    RECENT_SET(code, (uintptr_t)code);
    RECENT_SET(stream, launch->stream);
    for (int i = 0; i < 3; i++) {
        RECENT_SET(sizes[i], launch->grid[i]);
        RECENT_SET(sizes[i + 3], launch->block[i]);
    }
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&word, (const char *)params + 8 * i, 8);
        RECENT_SET(params[i], word);
    }
    if (rest) {
        word = 0;
        memcpy(&word, (const char *)params + 8 * n, rest);
        RECENT_SET(params[n], word);
    }
    atomic_store_explicit(&recent->ticket, ticket + 1, memory_order_release);
#undef RECENT_SET
}
#define CUDA_NO_CONTEXT ((CUcontext)(intptr_t)-1)

/* Makes the device's context current: nothing to do as a rule. If another one is current it is put
 * aside, and cuda_leave brings it back. */
enum cuda_entered { CUDA_ENTER_FAILED, CUDA_ENTERED, CUDA_PUSHED };
enum cuda_entered rt_cuda_enter_slow(struct cuda_device *dev, struct sp_diag *diag);

/* cuda_context.c */
extern const struct rt_context_ops rt_cuda_context_ops;
void rt_cuda_context_finish(struct cuda_device *dev);
void rt_cuda_device_forget(struct cuda_device *dev); /* among the driver's opened ones */
/* Frees what waits for launches that are in flight; the context is current, and ends next. */
void rt_cuda_faults_forget(struct cuda_device *dev);

static inline enum cuda_entered
cuda_enter(struct cuda_device *dev, struct sp_diag *diag)
{
    CUcontext current = NULL, own = atomic_load_explicit(&dev->context, memory_order_relaxed);
    if (cuda_is_lost(dev)) {
        rt_cuda_lost_story(dev, diag);
        return CUDA_ENTER_FAILED;
    }
    if (!rt_forked(dev->base.rt) && dev->api->cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
        current == own)
        return CUDA_ENTERED;
    return rt_cuda_enter_slow(dev, diag);
}

static inline void
cuda_leave(struct cuda_device *dev, enum cuda_entered entered)
{
    if (entered == CUDA_PUSHED) {
        CUcontext ours;
        dev->api->cuCtxPopCurrent(&ours);
    }
}

/* While a stream is captured into a graph the driver forbids its thread, and in the global mode all
 * threads, calls that could wait: allocating, loading a module, asking an event. Ours are not part
 * of the graph and do no harm; between these two they are allowed. In: what the first returned. */
static inline CUstreamCaptureMode
cuda_relax(const struct cuda_device *dev)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (dev->api->cuThreadExchangeStreamCaptureMode)
        dev->api->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static inline void
cuda_unrelax(const struct cuda_device *dev, CUstreamCaptureMode mode)
{
    if (dev->api->cuThreadExchangeStreamCaptureMode)
        dev->api->cuThreadExchangeStreamCaptureMode(&mode);
}

/* Reports a driver error with its name and, where we know one, a hint; the end of a device with the
 * launches that may be at fault. With the context current. Returns false. */
bool rt_cuda_fail(const struct cuda_driver *driver, const char *function, CUresult result,
                  struct sp_diag *diag);

extern const struct rt_share_ops rt_cuda_share_ops; /* cuda_share.c */

/* cuda_memory.c */
void rt_cuda_memory_init(struct cuda_device *dev);
void rt_cuda_memory_finish(struct cuda_device *dev);
/* A stream of ours was made; is about to be destroyed. */
void rt_cuda_memory_know(struct cuda_device *dev, rt_stream stream);
void rt_cuda_memory_forget(struct cuda_device *dev, rt_stream stream);
bool rt_cuda_join(struct rt_device *base, rt_stream before, rt_stream after, struct sp_diag *diag);
bool rt_cuda_memory_info(struct rt_device *base, uint64_t *free_B_out, uint64_t *total_B_out,
                         struct sp_diag *diag);
bool rt_cuda_query(struct rt_device *base, uint64_t address, struct rt_memory *memory_out,
                   struct sp_diag *diag);

/* cuda_code.c */
bool rt_cuda_load(struct rt_device *dev, struct artifact *artifact,
                  const struct rt_jit_options *options, struct rt_code **code_out,
                  struct sp_diag *diag);
void rt_cuda_unload(struct rt_code *code);
/* cuda_link.c */
bool rt_cuda_assemble(struct rt_device *dev, const struct artifact *artifact,
                      const struct rt_jit_options *options, struct artifact **out);
void rt_cuda_code_drop(struct cuda_code *code);
bool rt_cuda_prepare(struct rt_device *dev, struct rt_code *code, const struct rt_launch *launch,
                     struct sp_diag *diag);
bool rt_cuda_launch(struct rt_device *dev, struct rt_code *code, const struct rt_launch *launch,
                    void *params, struct sp_diag *diag);

/* cuda_stream.c */
extern const struct rt_stream_ops rt_cuda_stream_ops;
extern const struct rt_event_ops rt_cuda_event_ops;
void rt_cuda_streams_init(struct cuda_device *dev);
void rt_cuda_streams_finish(struct cuda_device *dev); /* with the context current */
/* Waits for an event, asking until time is up; negative: for ever. With the context current. */
CUresult rt_cuda_event_wait(struct cuda_device *dev, struct cuda_event *event, int timeout_ms);
/* cuda_device.c. Asks until the answer is not "not ready" or time is up. */
CUresult rt_cuda_poll(CUresult (*ask)(void *what), void *what, int timeout_ms);
/* Whether the stream is being captured into a graph. With the context current. */
static inline bool
cuda_is_capturing(const struct cuda_device *dev, rt_stream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return dev->api->cuStreamIsCapturing &&
           dev->api->cuStreamIsCapturing((CUstream)stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* cuda_graph.c */
extern const struct rt_graph_ops rt_cuda_graph_ops;
/* False: the stream is not being captured. With the context current. */
bool rt_cuda_capture_info(struct cuda_device *dev, rt_stream stream, struct cuda_capture *out);
/* Whether a capture of ours is under way: a wait for all streams would be an error, and spoil it. */
bool rt_cuda_graphs_capturing(struct cuda_device *dev);
/* A launch became part of a capture, perhaps one of ours. */
void rt_cuda_graph_note(struct cuda_device *dev, const struct cuda_capture *capture,
                        struct cuda_captured *captured);

/* cuda_capture.c. With the context current. */
void rt_cuda_captures_init(struct cuda_captures *captures);
void rt_cuda_captures_finish(struct cuda_device *dev);
void rt_cuda_captures_forget(struct cuda_device *dev);
CUresult rt_cuda_aside(struct cuda_device *dev, CUstream *stream_out);
bool rt_cuda_capture_launch(struct cuda_device *dev, struct cuda_code *code,
                            const struct rt_launch *launch, void *params, struct sp_diag *diag);
/* The parameters that are the runtime's own. */
void rt_cuda_captured_fill(const struct cuda_captured *captured, void *params);
/* With the faults' lock held: what replays have raised; what no graph has any more is given back. */
void rt_cuda_captured_scan(struct cuda_device *dev);
/* The artifact of a launch that prints; NULL: none. */
struct artifact *rt_cuda_captured_owner(const struct cuda_device *dev, uint32_t number);
/* The print buffer begins anew. */
void rt_cuda_captured_rebase(struct cuda_device *dev);
/* A launch as it is, by the call for its kind: cuda_code.c */
CUresult rt_cuda_start(struct cuda_device *dev, struct cuda_code *code,
                       const struct rt_launch *launch, void *params);

/* cuda_grid.c. With the context current. */
void rt_cuda_grids_init(struct cuda_grids *grids);
void rt_cuda_grids_finish(struct cuda_device *dev);
void rt_cuda_grids_reset(struct cuda_device *dev); /* the context, which ends next, has them */
void rt_cuda_grids_forget(struct cuda_device *dev, rt_stream stream);
/* Whether all blocks of a cooperative launch can run at the same time; an error if not. */
SP_MUST_CHECK bool rt_cuda_grid_fits(struct cuda_device *dev, const struct cuda_code *code,
                                     const struct rt_launch *launch, struct sp_diag *diag);
CUresult rt_cuda_grid_call(struct cuda_device *dev, struct cuda_code *code,
                           const struct rt_launch *launch, void *params);
/* False: it was not launched, and `diag` says why; else what the driver said. */
SP_MUST_CHECK bool rt_cuda_grid_start(struct cuda_device *dev, struct cuda_code *code,
                                      const struct rt_launch *launch, void *params,
                                      CUresult *result_out, struct sp_diag *diag);

/* cuda_fault.c. With the context current. */
void rt_cuda_faults_init(struct cuda_faults *faults);
void rt_cuda_faults_finish(struct cuda_device *dev);
/* A cleared slot for a launch of `code`; waits for the device when all are in flight. */
bool rt_cuda_fault_take(struct cuda_device *dev, struct cuda_code *code,
                        const struct rt_launch *launch, uint32_t *slot_out, uint64_t *address_out,
                        struct sp_diag *diag);
/* The slot's launch is in its stream. */
void rt_cuda_fault_launched(struct cuda_device *dev, uint32_t slot);
void rt_cuda_fault_give_back(struct cuda_device *dev, uint32_t slot);
/* After a wait that began when `n_launched` was `before`: frees the slots of what was waited for;
 * false if a kernel raised. */
bool rt_cuda_faults_collect(struct cuda_device *dev, const struct rt_wait *wait, uint64_t before,
                            struct sp_diag *diag);

/* cuda_print.c. With the faults' lock held and the context current, but for the last two. */
enum cuda_print { CUDA_PRINT_FAILED, CUDA_PRINT_FULL, CUDA_PRINT_READY };
/* Gives the launch of a slot a printer. FULL, unless `anyway`: little of the buffer is left, and
 * waiting for the device would clear it, but for launches that others are just starting. */
enum cuda_print rt_cuda_print_take(struct cuda_device *dev, uint32_t slot, bool anyway,
                                   struct sp_diag *diag);
/* After a wait, before the slots of what was waited for are released: reads what was printed, and
 * the counters. */
void rt_cuda_print_collect(struct cuda_device *dev, uint64_t counters_out[2]);
/* A number of a record's launch with this bit is that of a launch in a graph. */
#define CUDA_PRINT_CAPTURED (1u << 23)
/* A printer that begins where the buffer does. */
bool rt_cuda_print_fill(struct cuda_device *dev, struct sp_printer *printer, uint32_t launch,
                        struct sp_diag *diag);
/* Reads what was printed so far. */
void rt_cuda_print_read(struct cuda_device *dev);
/* With these counters, once no launch that prints is left: the buffer begins anew. */
void rt_cuda_print_settle(struct cuda_device *dev, const uint64_t counters[2]);
void rt_cuda_print_finish(struct cuda_device *dev);
struct rt_print *rt_cuda_take_prints(struct rt_device *base);
bool rt_cuda_has_prints(struct rt_device *base);

#endif
