/* cuda_capture: launches that a GPU's streams capture into graphs, ours or those of torch or CuPy.
 *
 * A captured launch runs as often as its graph is replayed, by whoever, so what a launch has for a
 * moment it has as long as the graph: a share of its code, a struct sp_fault if it may raise or
 * print, four bytes where its blocks meet if they do. The graph owns all that by a user object of
 * the driver's, which copies of the graph share; the driver calls its end on a thread where it must
 * not be called itself, so that only puts the launch on a list of the dead, which the next wait or
 * capture takes down. A driver without user objects (before 11.3) keeps them until the device ends.
 *
 * What was raised is looked for at every wait, whatever it waits for, as long as such graphs live:
 * nobody tells us of replays. What is found is cleared, so that the next replay raises anew.
 *
 * Nothing here runs on the captured stream but the launch: memory comes from the driver with the
 * thread's mode relaxed, and is cleared on a stream of our own. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

#define CAPTURE_N_FAULTS 64 /* that are allocated at a time */

/* Lives until the last launch is dead, which may be after the device. */
struct cuda_grave {
    pthread_mutex_t lock; /* nothing of the driver's is called with it held */
    struct cuda_captured *dead;
    uint32_t n_alive;
    bool abandoned; /* the device has ended */
};

void
rt_cuda_captures_init(struct cuda_captures *captures)
{
    memset(captures, 0, sizeof *captures);
    captures->grave = sp_alloc(sizeof *captures->grave);
    memset(captures->grave, 0, sizeof *captures->grave);
    pthread_mutex_init(&captures->grave->lock, NULL);
}

static void
capture_free_grave(struct cuda_grave *grave)
{
    pthread_mutex_destroy(&grave->lock);
    free(grave);
}

/* A stream of our own, which no other waits for. With the context current. */
CUresult
rt_cuda_aside(struct cuda_device *dev, CUstream *stream_out)
{
    struct cuda_captures *captures = &dev->captures;
    CUresult result = CUDA_SUCCESS;
    if (!captures->aside)
        result = dev->api->cuStreamCreateWithPriority(&captures->aside, CU_STREAM_NON_BLOCKING, 0);
    *stream_out = captures->aside;
    return result;
}

/* With the faults' lock held and the thread relaxed. */
static bool
capture_alloc_faults(struct cuda_device *dev, struct sp_diag *diag)
{
    struct cuda_captures *captures = &dev->captures;
    void *host = NULL;
    CUdeviceptr device = 0;
    CUresult result =
        dev->api->cuMemHostAlloc(&host, CAPTURE_N_FAULTS * sizeof(struct sp_fault),
                                 CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuMemHostAlloc", result, diag);
    result = dev->api->cuMemHostGetDevicePointer(&device, host, 0);
    if (result != CUDA_SUCCESS) {
        dev->api->cuMemFreeHost(host);
        return rt_cuda_fail(dev->driver, "cuMemHostGetDevicePointer", result, diag);
    }
    sp_vec_push(NULL, &captures->chunks, host);
    for (uint32_t i = 0; i < CAPTURE_N_FAULTS; i++) {
        struct cuda_cell cell = {(struct sp_fault *)host + i, device + i * sizeof(struct sp_fault)};
        sp_vec_push(NULL, &captures->free_cells, cell);
    }
    return true;
}

/* With the faults' lock held and the thread relaxed. */
static bool
capture_take_fault(struct cuda_device *dev, struct cuda_captured *captured, struct sp_diag *diag)
{
    struct cuda_captures *captures = &dev->captures;
    if (!captures->free_cells.len && !capture_alloc_faults(dev, diag))
        return false;
    captured->cell = sp_vec_pop(&captures->free_cells);
    memset(captured->cell.host, 0, sizeof *captured->cell.host);
    if (captured->code->base.artifact->prints) {
        if (!rt_cuda_print_fill(dev, &captured->cell.host->printer,
                                CUDA_PRINT_CAPTURED | (captured->number % CUDA_PRINT_CAPTURED),
                                diag)) {
            sp_vec_push(NULL, &captures->free_cells, captured->cell);
            captured->cell.host = NULL;
            return false;
        }
        captured->prints = true;
        captures->n_printing++;
    }
    return true;
}

/* With the thread relaxed. */
static bool
capture_take_word(struct cuda_device *dev, struct cuda_captured *captured, struct sp_diag *diag)
{
    CUstream aside;
    const char *function = "cuMemAlloc";
    CUresult result = dev->api->cuMemAlloc(&captured->word, sizeof(uint32_t));
    if (result == CUDA_SUCCESS) {
        function = "cuMemsetD32Async";
        result = rt_cuda_aside(dev, &aside);
    }
    if (result == CUDA_SUCCESS)
        result = dev->api->cuMemsetD32Async(captured->word, 0, 1, aside);
    if (result == CUDA_SUCCESS)
        result = dev->api->cuStreamSynchronize(aside);
    return result == CUDA_SUCCESS || rt_cuda_fail(dev->driver, function, result, diag);
}

/* With the faults' lock held: gives back what a launch had that no graph has any more. */
static void
capture_bury(struct cuda_device *dev, struct cuda_captured *captured)
{
    struct cuda_captures *captures = &dev->captures;
    for (uint32_t i = 0; i < captures->all.len; i++)
        if (captures->all.data[i] == captured)
            captures->all.data[i] = captures->all.data[--captures->all.len];
    if (captured->cell.host) {
        captures->n_printing -= captured->prints;
        sp_vec_push(NULL, &captures->free_cells, captured->cell);
    }
    if (captured->word && !cuda_is_lost(dev))
        dev->api->cuMemFree(captured->word);
    rt_cuda_code_drop(captured->code);
    free(captured);
    atomic_store(&captures->n, captures->all.len);
}

/* With the faults' lock held: what the last replay has raised. */
static void
capture_look(struct cuda_device *dev, struct cuda_captured *captured)
{
    struct sp_fault *fault = captured->cell.host;
    if (!fault || __atomic_load_n(&fault->state, __ATOMIC_ACQUIRE) != 2)
        return;
    sp_fault_explain(captured->code->base.artifact, fault,
                     rt_unraised_of(&dev->faults.unraised, captured->thread));
    __atomic_store_n(&fault->state, 0, __ATOMIC_RELEASE);
}

/* With the faults' lock held, the context current and the thread relaxed. */
static void
capture_bury_dead(struct cuda_device *dev)
{
    struct cuda_grave *grave = dev->captures.grave;
    pthread_mutex_lock(&grave->lock);
    struct cuda_captured *dead = grave->dead;
    grave->dead = NULL;
    pthread_mutex_unlock(&grave->lock);
    while (dead) {
        struct cuda_captured *next = dead->next_dead;
        capture_look(dev, dead);
        if (dead->prints)
            rt_cuda_print_read(dev);
        capture_bury(dev, dead);
        dead = next;
    }
}

/* The end of a user object: on a thread of the driver's. */
static void
capture_died(void *data)
{
    struct cuda_captured *captured = data;
    struct cuda_grave *grave = captured->grave;
    pthread_mutex_lock(&grave->lock);
    if (grave->abandoned) { /* what the launch had was given back with the device */
        free(captured);
    } else {
        captured->next_dead = grave->dead;
        grave->dead = captured;
    }
    bool last = --grave->n_alive == 0 && grave->abandoned;
    pthread_mutex_unlock(&grave->lock);
    if (last)
        capture_free_grave(grave);
}

static struct cuda_captured *
capture_new(struct cuda_device *dev, struct cuda_code *code, const struct rt_launch *launch,
            struct sp_diag *diag)
{
    struct cuda_captured *captured = sp_alloc(sizeof *captured);
    *captured = (struct cuda_captured){
        .grave = dev->captures.grave, .code = code, .thread = launch->thread};
    bool ok = true;
    pthread_mutex_lock(&dev->faults.lock);
    capture_bury_dead(dev);
    captured->number = dev->captures.n_numbers++;
    if (code->fault_offset >= 0)
        ok = capture_take_fault(dev, captured, diag);
    if (ok && code->base.artifact->cooperative)
        ok = capture_take_word(dev, captured, diag);
    atomic_fetch_add_explicit(&code->shares, 1, memory_order_relaxed);
    sp_vec_push(NULL, &dev->captures.all, captured);
    atomic_store(&dev->captures.n, dev->captures.all.len);
    if (!ok)
        capture_bury(dev, captured);
    pthread_mutex_unlock(&dev->faults.lock);
    return ok ? captured : NULL;
}

static void
capture_give_up(struct cuda_device *dev, struct cuda_captured *captured)
{
    pthread_mutex_lock(&dev->faults.lock);
    capture_bury(dev, captured);
    pthread_mutex_unlock(&dev->faults.lock);
}

void
rt_cuda_captured_fill(const struct cuda_captured *captured, void *params)
{
    const struct cuda_code *code = captured->code;
    if (captured->cell.host)
        memcpy((char *)params + code->fault_offset, &captured->cell.device, 8);
    if (captured->word)
        memcpy((char *)params + rt_param_offset(code->base.artifact, SP_PARAM_GRID),
               &captured->word, 8);
}

/* Makes the graph the owner. */
static void
capture_give_away(struct cuda_device *dev, CUgraph graph, struct cuda_captured *captured)
{
    const struct cuda_api *api = dev->api;
    CUuserObject object = NULL;
    if (!api->cuUserObjectCreate || !api->cuGraphRetainUserObject)
        return; /* kept until the device ends */
    pthread_mutex_lock(&captured->grave->lock);
    captured->grave->n_alive++;
    captured->has_object = true;
    pthread_mutex_unlock(&captured->grave->lock);
    if (api->cuUserObjectCreate(&object, captured, capture_died, 1,
                                CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS) {
        pthread_mutex_lock(&captured->grave->lock);
        captured->grave->n_alive--;
        captured->has_object = false;
        pthread_mutex_unlock(&captured->grave->lock);
        return;
    }
    /* If it fails the reference is ours for ever. */
    (void)api->cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
}

bool
rt_cuda_capture_launch(struct cuda_device *dev, struct cuda_code *code,
                       const struct rt_launch *launch, void *params, struct sp_diag *diag)
{
    struct cuda_capture capture;
    const char *function =
        code->base.artifact->cooperative ? "cuLaunchCooperativeKernel" : "cuLaunchKernel";
    CUstreamCaptureMode mode = cuda_relax(dev);
    struct cuda_captured *captured = capture_new(dev, code, launch, diag);
    if (captured) {
        rt_cuda_captured_fill(captured, params);
        CUresult result = rt_cuda_start(dev, code, launch, params);
        if (result != CUDA_SUCCESS) {
            capture_give_up(dev, captured);
            captured = NULL;
            rt_cuda_fail(dev->driver, function, result, diag);
        } else if (rt_cuda_capture_info(dev, launch->stream, &capture)) {
            capture_give_away(dev, capture.graph, captured);
            rt_cuda_graph_note(dev, &capture, captured);
        }
    }
    cuda_unrelax(dev, mode);
    return captured != NULL;
}

void
rt_cuda_captured_scan(struct cuda_device *dev)
{
    struct cuda_captures *captures = &dev->captures;
    for (uint32_t i = 0; i < captures->all.len; i++)
        capture_look(dev, captures->all.data[i]);
    CUstreamCaptureMode mode = cuda_relax(dev);
    capture_bury_dead(dev);
    cuda_unrelax(dev, mode);
}

struct artifact *
rt_cuda_captured_owner(const struct cuda_device *dev, uint32_t number)
{
    for (uint32_t i = 0; i < dev->captures.all.len; i++) {
        const struct cuda_captured *captured = dev->captures.all.data[i];
        if (captured->prints && captured->number % CUDA_PRINT_CAPTURED == number)
            return captured->code->base.artifact;
    }
    return NULL;
}

void
rt_cuda_captured_rebase(struct cuda_device *dev)
{
    for (uint32_t i = 0; i < dev->captures.all.len; i++)
        if (dev->captures.all.data[i]->prints)
            dev->captures.all.data[i]->cell.host->printer.base = dev->faults.print_base;
}

/* With the context current, and the faults' lock held but at the device's end: what the context has
 * is given back, before it is reset. */
void
rt_cuda_captures_forget(struct cuda_device *dev)
{
    struct cuda_captures *captures = &dev->captures;
    for (uint32_t i = 0; i < captures->all.len; i++) {
        struct cuda_captured *captured = captures->all.data[i];
        if (captured->word)
            dev->api->cuMemFree(captured->word);
        captured->word = 0;
        captured->cell.host = NULL;
        captured->prints = false;
    }
    for (uint32_t i = 0; i < captures->chunks.len; i++)
        dev->api->cuMemFreeHost(captures->chunks.data[i]);
    captures->chunks.len = captures->free_cells.len = captures->n_printing = 0;
    if (captures->aside)
        dev->api->cuStreamDestroy(captures->aside);
    captures->aside = NULL;
}

/* Graphs of others may outlive the device; their launches are never called again. */
void
rt_cuda_captures_finish(struct cuda_device *dev)
{
    struct cuda_captures *captures = &dev->captures;
    capture_bury_dead(dev);
    rt_cuda_captures_forget(dev);
    for (uint32_t i = 0; i < captures->all.len; i++) {
        rt_cuda_code_drop(captures->all.data[i]->code);
        if (!captures->all.data[i]->has_object)
            free(captures->all.data[i]);
    }
    pthread_mutex_lock(&captures->grave->lock);
    captures->grave->abandoned = true;
    bool empty = captures->grave->n_alive == 0;
    for (struct cuda_captured *dead = captures->grave->dead, *next; dead; dead = next) {
        next = dead->next_dead;
        free(dead);
    }
    pthread_mutex_unlock(&captures->grave->lock);
    if (empty)
        capture_free_grave(captures->grave);
    sp_vec_finish(&captures->all);
    sp_vec_finish(&captures->chunks);
    sp_vec_finish(&captures->free_cells);
}
