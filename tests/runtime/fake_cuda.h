/* What the stand-in for libcuda records, and what it is told to do. */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include "runtime/cuda_t.h"

#define FAKE_N_REGISTERED 16

struct fake_cuda {
    /* orders; CUDA_SUCCESS: nothing special */
    CUresult init_result, load_result, launch_result, wait_result, alloc_result;
    CUresult link_result, cubin_result; /* of loading a cubin */
    const char *error_log;
    int n_queries_busy;  /* cuStreamQuery says "not ready" so many times */
    int n_events_busy;   /* cuEventQuery too */
    int fault_site;      /* -1, or the site that each launch raises at */
    int fault_more;      /* the index at fault is 11 and this */
    bool busy;           /* no event that is recorded is reached before a wait for everything */
    bool reuses_streams; /* a new stream gets the handle of the newest, if that is gone */
    size_t memory_B;     /* there is so much; 0: enough */
    CUstream capturing;  /* this stream is being captured */

    unsigned other_id; /* changes when a context is taken to be another one at the same address */

    /* records */
    _Atomic(int) n_calls, n_launches, n_modules, n_retained, n_memory, n_host, n_streams, n_syncs;
    _Atomic(int) n_cooperative, n_resets;
    _Atomic(int) n_push, n_pop, n_set;
    _Atomic(int) n_events, n_records, n_event_waits, n_host_calls, n_relaxed;
    _Atomic(int) n_allocs; /* of memory, ever */
    _Atomic(int) n_graphs, n_objects;
    CUresult capture_result; /* of cuStreamEndCapture */
    int n_registered, n_ipc_open, n_peer_copies;
    void *registered[FAKE_N_REGISTERED];
    uintptr_t registered_last[FAKE_N_REGISTERED]; /* their last pages */
    CUcontext peer;                               /* that the other one may reach */
    _Atomic(size_t) used_B;
    int priority;
    unsigned stream_flags;
    _Atomic(CUstream) recorded_on;
    CUstream ordered[2];   /* the last two: the second waits for the first */
    int n_links, n_linked; /* open; completed */
    int n_ptx_loads, n_cubin_loads;
    unsigned grid[3], block[3], shared_B;
    _Atomic(CUstream) stream;
    unsigned char params[256];
    size_t params_B;
    bool has_params;
    int dynamic_B;
    unsigned n_options;
    int keys[32];
    uintptr_t values[32];
    char ptx[256];

    /* of the calling thread */
    CUcontext (*get_current)(void);
    void (*set_current)(CUcontext context);
    /* As another library retains and releases a primary context. */
    void (*retain)(int device, int times);
};

/* Exported by the library as `fake_cuda`. */
struct fake_cuda *fake_cuda(void);
/* fake_graph.c. True: the stream is captured, and the launch with it. Sizes: grid, block, shared
 * memory. */
bool fake_graph_take(CUstream stream, CUfunction function, const unsigned sizes[7], void **extra);
typedef struct fake_cuda *(*fake_cuda_fn)(void);

/* What was done in which order, for tests in Python: 'l', a launch in stream `a`; 'w', stream `b`
 * waits for `a`. */
void fake_note(char what, CUstream a, CUstream b);

#define FAKE_NEEDS_CONTEXT                                                                         \
    do {                                                                                           \
        fake_cuda()->n_calls++;                                                                    \
        if (fake_device() < 0)                                                                     \
            return CUDA_ERROR_INVALID_CONTEXT;                                                     \
    } while (0)

/* For calls that give something to a stream. */
#define FAKE_NEEDS_STREAM(stream)                                                                  \
    do {                                                                                           \
        FAKE_NEEDS_CONTEXT;                                                                        \
        CUresult checked_ = fake_check_stream(stream);                                             \
        if (checked_ != CUDA_SUCCESS)                                                              \
            return checked_;                                                                       \
    } while (0)
/* For calls that might wait, which captures forbid unless the thread is relaxed. */
#define FAKE_IS_UNSAFE                                                                             \
    do {                                                                                           \
        CUresult checked_ = fake_check_unsafe();                                                   \
        if (checked_ != CUDA_SUCCESS)                                                              \
            return checked_;                                                                       \
    } while (0)

/* ---- fake_stream.c: streams that others made are never gone and do not block ---- */

bool fake_stream_is_gone(CUstream stream);
bool fake_stream_blocks(CUstream stream);
void fake_forget_streams(CUcontext context);

/* ---- fake_capture.c ---- */

void fake_capture_begin(CUstream stream, CUstreamCaptureMode mode);
CUresult fake_capture_end(CUstream stream);
bool fake_is_captured(CUstream stream);
bool fake_is_spoilt(void);
/* The captured stream got more work. */
void fake_capture_work(CUstream stream);
/* Whether the stream can be given work; can be waited for or asked. */
CUresult fake_check_stream(CUstream stream);
CUresult fake_check_asked(CUstream stream);
/* Whether the thread may make a call that might wait; one that waits for all streams. */
CUresult fake_check_unsafe(void);
CUresult fake_check_everything(void);
/* The stream waits for an event that was recorded on `before`, in the capture or outside. */
CUresult fake_capture_wait(CUstream stream, CUstream before, bool captured);

/* ---- fake_context.c ---- */

void fake_start(void); /* as a process calls cuInit */
/* The context that is current in this thread, and its device or -1; the process must be the one that
 * called cuInit. */
CUcontext fake_get_current(void);
void fake_set_current(CUcontext context);
void fake_retain(int device, int times);
int fake_device(void);
void fake_forget_events(CUcontext context); /* with the lock held */
void fake_lock(void);
void fake_unlock(void);
/* The memory belongs to the current context. */
void fake_own(CUdeviceptr address, size_t size_B);
void fake_disown(CUdeviceptr address);
/* The device whose memory it is, or -1. */
int fake_owner(CUdeviceptr address);
/* Whether no word of the parameters is an address in another context's memory. With the lock. */
bool fake_can_reach(const unsigned char *params, size_t size_B);

#define FAKE_CONTEXT(device) ((CUcontext)(uintptr_t)(0x1000 + (device)))
#define FAKE_OTHER(device) ((CUcontext)(uintptr_t)(0x2000 + (device))) /* not primary */
#define FAKE_FOREIGN ((CUcontext)(uintptr_t)0x9999)
#define FAKE_CUBIN                                                                                 \
    "\x7f"                                                                                         \
    "ELF fake\n"
#define FAKE_N_DEVICES 2
#define FAKE_MANAGED_AT 0x7000
#define FAKE_DEVICE_AT 0x8000
#define FAKE_PINNED_AT 0x9000

#endif
