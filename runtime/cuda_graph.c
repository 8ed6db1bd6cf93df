/* cuda_graph: graphs of a GPU. A capture is the driver's own, on the user's stream, so that other
 * libraries' work is in it; what is noted beside it is the node of each launch of ours, by which
 * its parameters are set later. A graph is instantiated when its capture ends, and both are kept:
 * the graph to be copied into other captures, the executable to be launched. Parameters are set in
 * both. The driver does not lock graphs: replays and updates of one are held apart here. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

/* As the driver lays it out, which a test compares. */
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72, "CUDA_KERNEL_NODE_PARAMS");
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, extra) == 48, "extra");

struct graph_node {
    CUgraphNode node;
    struct cuda_captured *captured; /* lives as long as the graph */
};

struct cuda_graph {
    struct rt_graph base;
    struct cuda_graph *next; /* among those being captured */
    uint64_t id;             /* of the capture */
    pthread_mutex_t lock;    /* of what follows, once it is captured */
    CUgraph graph;
    CUgraphExec exec;
    SP_VEC(struct graph_node) nodes; /* of our launches */
};

/* What the functions for graphs need, in one place. */
static bool
graph_has_api(struct cuda_device *dev, struct sp_diag *diag)
{
    const struct cuda_api *api = dev->api;
    if (api->cuStreamBeginCapture && api->cuStreamEndCapture && api->cuStreamIsCapturing &&
        api->cuStreamGetCaptureInfo && api->cuGraphInstantiateWithFlags && api->cuGraphLaunch &&
        api->cuGraphDestroy && api->cuGraphExecDestroy)
        return true;
    sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL, "this driver is too old for graphs");
    return sp_diag_hint(diag, "update NVIDIA's driver, to one of CUDA 11.4 or later");
}

bool
rt_cuda_capture_info(struct cuda_device *dev, rt_stream stream, struct cuda_capture *out)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    *out = (struct cuda_capture){0};
    return dev->api->cuStreamGetCaptureInfo &&
           dev->api->cuStreamGetCaptureInfo((CUstream)stream, &status, &id, &out->graph,
                                            &out->nodes, &out->n_nodes) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_ACTIVE && ((out->id = id), true);
}

bool
rt_cuda_graphs_capturing(struct cuda_device *dev)
{
    pthread_mutex_lock(&dev->graphs.lock);
    bool any = dev->graphs.capturing != NULL;
    pthread_mutex_unlock(&dev->graphs.lock);
    return any;
}

/* With the lock held. */
static struct cuda_graph *
graph_by_id(struct cuda_device *dev, uint64_t id)
{
    struct cuda_graph *graph = dev->graphs.capturing;
    while (graph && graph->id != id)
        graph = graph->next;
    return graph;
}

void
rt_cuda_graph_note(struct cuda_device *dev, const struct cuda_capture *capture,
                   struct cuda_captured *captured)
{
    pthread_mutex_lock(&dev->graphs.lock);
    struct cuda_graph *graph = graph_by_id(dev, capture->id);
    if (graph && capture->n_nodes) { /* the stream now depends on the launch */
        struct graph_node node = {capture->nodes[capture->n_nodes - 1], captured};
        sp_vec_push(NULL, &graph->nodes, node);
        graph->base.n_launches++;
    }
    pthread_mutex_unlock(&dev->graphs.lock);
}

static bool
graph_is_capturing(struct rt_device *base, rt_stream stream)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct sp_diag ignored;
    if (stream <= RT_STREAM_LEGACY || cuda_is_lost(dev))
        return false;
    sp_diag_init(&ignored);
    enum cuda_entered entered = cuda_enter(dev, &ignored);
    bool is = entered != CUDA_ENTER_FAILED && cuda_is_capturing(dev, stream);
    if (entered != CUDA_ENTER_FAILED)
        cuda_leave(dev, entered);
    sp_diag_finish(&ignored);
    return is;
}

static struct rt_graph *
graph_of_stream(struct rt_device *base, rt_stream stream)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_capture capture;
    struct cuda_graph *graph = NULL;
    struct sp_diag ignored;
    if (!rt_cuda_graphs_capturing(dev))
        return NULL;
    sp_diag_init(&ignored);
    enum cuda_entered entered = cuda_enter(dev, &ignored);
    sp_diag_finish(&ignored);
    if (entered != CUDA_ENTER_FAILED && rt_cuda_capture_info(dev, stream, &capture)) {
        pthread_mutex_lock(&dev->graphs.lock);
        graph = graph_by_id(dev, capture.id);
        pthread_mutex_unlock(&dev->graphs.lock);
    }
    cuda_leave(dev, entered);
    return graph ? &graph->base : NULL;
}

/* The driver's part of it. */
static bool
graph_start(struct cuda_device *dev, rt_stream stream, CUstreamCaptureMode mode, uint64_t *id_out,
            struct sp_diag *diag)
{
    struct cuda_capture capture;
    CUgraph none;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    CUresult result = dev->api->cuStreamBeginCapture((CUstream)stream, mode);
    bool ok =
        result == CUDA_SUCCESS || rt_cuda_fail(dev->driver, "cuStreamBeginCapture", result, diag);
    if (ok && !rt_cuda_capture_info(dev, stream, &capture)) {
        ok = sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "a capture has no number");
        if (dev->api->cuStreamEndCapture((CUstream)stream, &none) == CUDA_SUCCESS && none)
            dev->api->cuGraphDestroy(none);
    }
    cuda_leave(dev, entered);
    if (ok)
        *id_out = capture.id;
    return ok;
}

static bool
graph_begin(struct rt_device *base, rt_stream stream, enum rt_capture_mode mode,
            struct rt_graph **graph_out, struct sp_diag *diag)
{
    static const CUstreamCaptureMode modes[] = {
        [RT_CAPTURE_GLOBAL] = CU_STREAM_CAPTURE_MODE_GLOBAL,
        [RT_CAPTURE_THREAD] = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        [RT_CAPTURE_RELAXED] = CU_STREAM_CAPTURE_MODE_RELAXED,
    };
    struct cuda_device *dev = (struct cuda_device *)base;
    uint64_t id;
    if (!graph_has_api(dev, diag) || !graph_start(dev, stream, modes[mode], &id, diag))
        return false;
    struct cuda_graph *graph = sp_alloc(sizeof *graph);
    memset(graph, 0, sizeof *graph);
    pthread_mutex_init(&graph->lock, NULL);
    graph->id = id;
    pthread_mutex_lock(&dev->graphs.lock);
    graph->next = dev->graphs.capturing;
    dev->graphs.capturing = graph;
    pthread_mutex_unlock(&dev->graphs.lock);
    *graph_out = &graph->base;
    return true;
}

static void
graph_leave(struct cuda_device *dev, struct cuda_graph *graph)
{
    pthread_mutex_lock(&dev->graphs.lock);
    struct cuda_graph **at = &dev->graphs.capturing;
    while (*at && *at != graph)
        at = &(*at)->next;
    if (*at)
        *at = graph->next;
    pthread_mutex_unlock(&dev->graphs.lock);
}

static bool
graph_end(struct rt_graph *base, struct sp_diag *diag)
{
    struct cuda_graph *graph = (struct cuda_graph *)base;
    struct cuda_device *dev = (struct cuda_device *)base->dev;
    bool ok;
    graph_leave(dev, graph);
    CUDA_CALL(dev, diag, ok, cuStreamEndCapture, (CUstream)base->stream, &graph->graph);
    if (ok)
        CUDA_CALL(dev, diag, ok, cuGraphInstantiateWithFlags, &graph->exec, graph->graph, 0);
    return ok;
}

/* A copy of the graph as a node of the capture that the stream is in. */
static bool
graph_nest(struct cuda_device *dev, struct cuda_graph *graph, rt_stream stream,
           struct sp_diag *diag)
{
    struct cuda_capture capture;
    CUgraphNode node = NULL;
    bool ok = dev->api->cuGraphAddChildGraphNode && dev->api->cuStreamUpdateCaptureDependencies &&
              rt_cuda_capture_info(dev, stream, &capture);
    if (!ok) {
        sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL,
                    "this driver cannot replay a graph into a capture");
        return sp_diag_hint(diag, "update NVIDIA's driver, or replay the graphs one by one");
    }
    CUDA_CALL(dev, diag, ok, cuGraphAddChildGraphNode, &node, capture.graph, capture.nodes,
              capture.n_nodes, graph->graph);
    if (ok)
        CUDA_CALL(dev, diag, ok, cuStreamUpdateCaptureDependencies, (CUstream)stream, &node, 1,
                  CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    return ok;
}

/* What it raises from now on is this thread's. */
static void
graph_set_thread(struct cuda_device *dev, struct cuda_graph *graph, uint64_t thread)
{
    pthread_mutex_lock(&dev->faults.lock);
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        graph->nodes.data[i].captured->thread = thread;
    pthread_mutex_unlock(&dev->faults.lock);
}

static bool
graph_launch(struct rt_graph *base, rt_stream stream, uint64_t thread, struct sp_diag *diag)
{
    struct cuda_graph *graph = (struct cuda_graph *)base;
    struct cuda_device *dev = (struct cuda_device *)base->dev;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    bool ok;
    pthread_mutex_lock(&graph->lock);
    if (stream > RT_STREAM_LEGACY && cuda_is_capturing(dev, stream)) {
        ok = graph_nest(dev, graph, stream, diag);
    } else {
        graph_set_thread(dev, graph, thread);
        CUDA_CALL(dev, diag, ok, cuGraphLaunch, graph->exec, (CUstream)stream);
    }
    pthread_mutex_unlock(&graph->lock);
    cuda_leave(dev, entered);
    return ok;
}

static bool
graph_update(struct rt_graph *base, uint32_t index, struct rt_code *code_base,
             const struct rt_launch *launch, void *params, struct sp_diag *diag)
{
    struct cuda_graph *graph = (struct cuda_graph *)base;
    struct cuda_device *dev = (struct cuda_device *)base->dev;
    struct cuda_code *code = (struct cuda_code *)code_base;
    if (index >= graph->nodes.len || graph->nodes.data[index].captured->code != code)
        return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "a graph has no such launch");
    if (!dev->api->cuGraphKernelNodeSetParams || !dev->api->cuGraphExecKernelNodeSetParams) {
        sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL, "this driver is too old to update graphs");
        return sp_diag_hint(diag, "update NVIDIA's driver, to one of CUDA 12.0 or later");
    }
    rt_cuda_captured_fill(graph->nodes.data[index].captured, params);
    size_t size_B = code->params_B;
    void *extra[] = {CUDA_PARAM_POINTER, params, CUDA_PARAM_SIZE, &size_B, CUDA_PARAM_END};
    const CUDA_KERNEL_NODE_PARAMS how = {
        .func = code->function,
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = launch->block[0],
        .blockDimY = launch->block[1],
        .blockDimZ = launch->block[2],
        .sharedMemBytes = launch->shared_B + code->base.artifact->added_B,
        .extra = size_B ? extra : NULL,
    };
    CUgraphNode node = graph->nodes.data[index].node;
    bool ok;
    pthread_mutex_lock(&graph->lock);
    CUDA_CALL(dev, diag, ok, cuGraphKernelNodeSetParams, node, &how);
    if (ok)
        CUDA_CALL(dev, diag, ok, cuGraphExecKernelNodeSetParams, graph->exec, node, &how);
    pthread_mutex_unlock(&graph->lock);
    return ok;
}

static bool
graph_add_call(struct rt_graph *base, rt_stream stream, bool (*function)(void *data),
               void (*drop)(void *data), void *data, struct sp_diag *diag)
{
    (void)base, (void)stream, (void)function, (void)drop, (void)data;
    return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "a GPU's graph cannot call the host");
}

/* Replays in flight run on: the driver keeps what they need. */
static void
graph_destroy(struct rt_graph *base)
{
    struct cuda_graph *graph = (struct cuda_graph *)base;
    struct cuda_device *dev = (struct cuda_device *)base->dev;
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    if (base->state == RT_GRAPH_CAPTURING)
        base->state = rt_graph_end(base, &ignored) ? RT_GRAPH_READY : RT_GRAPH_BROKEN;
    enum cuda_entered entered = cuda_is_lost(dev) ? CUDA_ENTER_FAILED : cuda_enter(dev, &ignored);
    if (entered != CUDA_ENTER_FAILED) {
        if (graph->exec)
            dev->api->cuGraphExecDestroy(graph->exec);
        if (graph->graph)
            dev->api->cuGraphDestroy(graph->graph);
        cuda_leave(dev, entered);
    }
    sp_diag_finish(&ignored);
    sp_vec_finish(&graph->nodes);
    pthread_mutex_destroy(&graph->lock);
    free(graph);
}

const struct rt_graph_ops rt_cuda_graph_ops = {
    .begin = graph_begin,
    .end = graph_end,
    .of_stream = graph_of_stream,
    .is_capturing = graph_is_capturing,
    .launch = graph_launch,
    .update = graph_update,
    .add_call = graph_add_call,
    .destroy = graph_destroy,
};
