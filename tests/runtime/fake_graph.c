/* The stand-in's graphs. One stream is captured at a time; launches on it become nodes, with copies
 * of their parameters, and run when the graph is launched. User objects are counted by the graphs
 * that hold them, copies too, and end on another thread, where calls of the driver are errors. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/fake_cuda.h"

#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

#define FAKE_MAX_NODES 64

struct CUgraphNode_st {
    struct CUgraphNode_st *origin; /* of a copy */
    CUgraph child;
    CUfunction function;
    unsigned sizes[7];
    unsigned char params[256];
    size_t params_B;
    bool has_params;
};

struct CUuserObject_st {
    void *data;
    CUhostFn destroy;
    unsigned n;
};

struct CUgraph_st {
    CUgraphNode nodes[FAKE_MAX_NODES];
    CUuserObject objects[FAKE_MAX_NODES];
    unsigned n_nodes, n_objects;
    cuuint64_t id;
};

struct CUgraphExec_st {
    CUgraph graph;
};

static CUgraph captured;

CUresult
cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    FAKE_NEEDS_STREAM(stream);
    if ((uintptr_t)stream <= RT_STREAM_LEGACY || fake_cuda()->capturing ||
        mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    static cuuint64_t n_captures;
    captured = calloc(1, sizeof *captured);
    captured->id = ++n_captures;
    fake_capture_begin(stream, mode);
    fake_cuda()->n_graphs++;
    return CUDA_SUCCESS;
}

CUresult
cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    FAKE_NEEDS_CONTEXT;
    CUresult result = fake_capture_end(stream);
    if (result == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED ||
        result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        return result;
    if (fake_cuda()->capture_result != CUDA_SUCCESS)
        result = fake_cuda()->capture_result;
    *graph = result == CUDA_SUCCESS ? captured : NULL;
    if (result != CUDA_SUCCESS)
        cuGraphDestroy(captured);
    captured = NULL;
    return result;
}

CUresult
cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                          CUgraph *graph, const CUgraphNode **nodes, size_t *n_nodes)
{
    FAKE_NEEDS_CONTEXT;
    CUresult result = cuStreamIsCapturing(stream, status);
    if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return result;
    *id = captured->id;
    *graph = captured;
    *n_nodes = captured->n_nodes ? 1 : 0;
    *nodes = captured->n_nodes ? &captured->nodes[captured->n_nodes - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult
cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t n_nodes,
                                  unsigned int flags)
{
    FAKE_NEEDS_CONTEXT;
    bool ok = captured && fake_is_captured(stream) && n_nodes == 1 &&
              nodes[0] == captured->nodes[captured->n_nodes - 1] &&
              flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUgraphNode
add_node(CUgraph graph)
{
    return graph->nodes[graph->n_nodes++] = calloc(1, sizeof(struct CUgraphNode_st));
}

static void
set_node(CUgraphNode node, CUfunction function, const unsigned sizes[7], void **extra)
{
    node->function = function;
    memcpy(node->sizes, sizes, sizeof node->sizes);
    node->has_params = extra != NULL;
    for (void **e = extra; e && *e != CUDA_PARAM_END; e += 2)
        if (*e == CUDA_PARAM_SIZE)
            node->params_B = *(size_t *)e[1];
    for (void **e = extra; e && *e != CUDA_PARAM_END; e += 2)
        if (*e == CUDA_PARAM_POINTER)
            memcpy(node->params, e[1], node->params_B);
}

bool
fake_graph_take(CUstream stream, CUfunction function, const unsigned sizes[7], void **extra)
{
    if (!captured || !fake_is_captured(stream))
        return false;
    fake_capture_work(stream);
    set_node(add_node(captured), function, sizes, extra);
    return true;
}

static void *
end_object(void *argument)
{
    CUuserObject object = argument;
    object->destroy(object->data);
    free(object);
    return NULL;
}

static void
release_object(CUuserObject object)
{
    pthread_t thread;
    if (--object->n)
        return;
    fake_cuda()->n_objects--;
    if (pthread_create(&thread, NULL, end_object, object) == 0)
        pthread_join(thread, NULL);
}

CUresult
cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned int references,
                   unsigned int flags)
{
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC || !destroy || !references)
        return CUDA_ERROR_INVALID_VALUE;
    *object = malloc(sizeof **object);
    **object = (struct CUuserObject_st){data, destroy, references};
    fake_cuda()->n_objects++;
    return CUDA_SUCCESS;
}

CUresult
cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    if (count != 1 || flags != CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    graph->objects[graph->n_objects++] = object;
    return CUDA_SUCCESS;
}

static CUgraph
copy_graph(CUgraph from)
{
    CUgraph graph = calloc(1, sizeof *graph);
    fake_cuda()->n_graphs++;
    for (unsigned i = 0; i < from->n_nodes; i++) {
        CUgraphNode node = add_node(graph);
        *node = *from->nodes[i];
        node->origin = from->nodes[i];
        if (node->child)
            node->child = copy_graph(node->child);
    }
    for (unsigned i = 0; i < from->n_objects; i++) {
        graph->objects[graph->n_objects++] = from->objects[i];
        from->objects[i]->n++;
    }
    return graph;
}

CUresult
cuGraphDestroy(CUgraph graph)
{
    for (unsigned i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i]->child)
            cuGraphDestroy(graph->nodes[i]->child);
        free(graph->nodes[i]);
    }
    for (unsigned i = 0; i < graph->n_objects; i++)
        release_object(graph->objects[i]);
    free(graph);
    fake_cuda()->n_graphs--;
    return CUDA_SUCCESS;
}

CUresult
cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    FAKE_NEEDS_CONTEXT;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    *exec = malloc(sizeof **exec);
    (*exec)->graph = copy_graph(graph);
    return CUDA_SUCCESS;
}

CUresult
cuGraphExecDestroy(CUgraphExec exec)
{
    FAKE_NEEDS_CONTEXT;
    cuGraphDestroy(exec->graph);
    free(exec);
    return CUDA_SUCCESS;
}

static CUresult
launch_graph(CUgraph graph, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < graph->n_nodes && result == CUDA_SUCCESS; i++) {
        CUgraphNode node = graph->nodes[i];
        const unsigned *n = node->sizes;
        void *extra[] = {CUDA_PARAM_POINTER, node->params, CUDA_PARAM_SIZE, &node->params_B,
                         CUDA_PARAM_END};
        if (node->child)
            result = launch_graph(node->child, stream);
        else
            result = cuLaunchKernel(node->function, n[0], n[1], n[2], n[3], n[4], n[5], n[6],
                                    stream, NULL, node->has_params ? extra : NULL);
    }
    return result;
}

CUresult
cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    FAKE_NEEDS_CONTEXT;
    FAKE_NEEDS_STREAM(stream);
    if (fake_is_captured(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return launch_graph(exec->graph, stream);
}

CUresult
cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    FAKE_NEEDS_CONTEXT;
    const unsigned sizes[7] = {params->gridDimX,      params->gridDimY,  params->gridDimZ,
                               params->blockDimX,     params->blockDimY, params->blockDimZ,
                               params->sharedMemBytes};
    set_node(node, params->func, sizes, params->extra);
    return CUDA_SUCCESS;
}

CUresult
cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS *params)
{
    for (unsigned i = 0; i < exec->graph->n_nodes; i++)
        if (exec->graph->nodes[i]->origin == node)
            return cuGraphKernelNodeSetParams_v2(exec->graph->nodes[i], params);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                         size_t n_dependencies, CUgraph child)
{
    FAKE_NEEDS_CONTEXT;
    if (n_dependencies && dependencies[0] != graph->nodes[graph->n_nodes - 1])
        return CUDA_ERROR_INVALID_VALUE;
    *node = add_node(graph);
    (*node)->child = copy_graph(child);
    return CUDA_SUCCESS;
}
