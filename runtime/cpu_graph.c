/* cpu_graph: graphs of the CPU device. A capture is a list of what was given to its streams, in the
 * order of the program; a replay gives it to the queue again, launches as jobs with copies of their
 * parameters, copies and fills between them. Since the queue runs in order, the list is an order
 * that the events between the streams allow.
 *
 * The rules of the driver's captures hold, so that what works here works on a GPU: work in a
 * capture cannot wait for work outside, two captures do not meet, and streams that came in by an
 * event must have been waited for at the end. For the last each stream has a count of its work, an
 * event the count at its record, and a stream that waits for the event marks the other as waited
 * for so far.
 *
 * A replay is whole, and updates are before or behind it: the lock of the captures is held. Not so
 * where the graph calls Python, which runs with the GIL: its replays are one at a time as long as
 * what is called does not let go of that. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu_t.h"
#include "support/arena.h"

enum graph_node_kind { NODE_LAUNCH, NODE_COPY, NODE_FILL, NODE_CALL };

struct graph_node {
    enum graph_node_kind kind;
    bool nested;           /* of another graph that was replayed into the capture */
    struct cpu_code *code; /* LAUNCH: a share */
    struct rt_launch launch;
    void *params;
    struct cpu_transfer transfer; /* COPY, FILL */
    struct graph_call *call;
};

/* Shared by the copies of a node. */
struct graph_call {
    _Atomic(uint32_t) shares;
    bool (*function)(void *data);
    void (*drop)(void *data);
    void *data;
};

struct graph_stream {
    rt_stream stream;
    uint64_t n_work, n_joined; /* nodes so far; those that another stream has waited for */
};

struct cpu_graph {
    struct rt_graph base;
    uint64_t id;
    SP_VEC(struct graph_stream) streams; /* [0] is the first */
    SP_VEC(struct graph_node) nodes;
};

/* A copy or fill on its way through the queue. */
struct graph_moving {
    struct cpu_note note;
    struct cpu_transfer transfer;
};

static struct cpu_device *
graph_device(struct rt_device *base)
{
    struct cpu_device *dev = (struct cpu_device *)base;
    cpu_mend(dev);
    return dev;
}

void
rt_cpu_transfer(const struct cpu_transfer *transfer)
{
    char *out = (char *)(uintptr_t)transfer->to;
    if (!transfer->element_B)
        memmove(out, (const void *)(uintptr_t)transfer->from, transfer->count);
    for (uint64_t i = 0; transfer->element_B && i < transfer->count; i++)
        memcpy(out + i * transfer->element_B, transfer->element, transfer->element_B);
}

/* With the lock held. */
static struct graph_stream *
graph_find_stream(struct cpu_graph *graph, rt_stream stream)
{
    for (uint32_t i = 0; i < graph->streams.len; i++)
        if (graph->streams.data[i].stream == stream)
            return &graph->streams.data[i];
    return NULL;
}

/* With the lock held. */
static struct cpu_graph *
graph_of(struct cpu_device *dev, rt_stream stream, struct graph_stream **of_out)
{
    for (uint32_t i = 0; i < dev->captures.all.len; i++) {
        struct cpu_graph *graph = dev->captures.all.data[i];
        struct graph_stream *of = graph_find_stream(graph, stream);
        if (of) {
            *of_out = of;
            return graph;
        }
    }
    return NULL;
}

/* With the lock held: one more node of the graph that the stream is captured into, or NULL. */
static struct graph_node *
graph_add(struct cpu_device *dev, rt_stream stream, struct cpu_graph **graph_out)
{
    struct graph_stream *of;
    struct cpu_graph *graph = graph_of(dev, stream, &of);
    if (!graph)
        return NULL;
    of->n_work++;
    sp_vec_push(NULL, &graph->nodes, (struct graph_node){0});
    *graph_out = graph;
    return &graph->nodes.data[graph->nodes.len - 1];
}

static void *
graph_copy_params(const struct cpu_code *code, const void *params)
{
    size_t size_B = code->base.artifact->params_size_B;
    return size_B ? memcpy(sp_alloc(size_B), params, size_B) : NULL;
}

bool
rt_cpu_capture_launch(struct cpu_device *dev, struct cpu_code *code, const struct rt_launch *launch,
                      const void *params)
{
    struct cpu_graph *graph;
    pthread_mutex_lock(&dev->captures.lock);
    struct graph_node *node = graph_add(dev, launch->stream, &graph);
    if (node) {
        atomic_fetch_add_explicit(&code->shares, 1, memory_order_relaxed);
        node->kind = NODE_LAUNCH;
        node->code = code;
        node->launch = *launch;
        node->params = graph_copy_params(code, params);
        graph->base.n_launches++;
    }
    pthread_mutex_unlock(&dev->captures.lock);
    return node != NULL;
}

bool
rt_cpu_capture_transfer(struct cpu_device *dev, rt_stream stream,
                        const struct cpu_transfer *transfer)
{
    struct cpu_graph *graph;
    pthread_mutex_lock(&dev->captures.lock);
    struct graph_node *node = graph_add(dev, stream, &graph);
    if (node) {
        node->kind = transfer->element_B ? NODE_FILL : NODE_COPY;
        node->transfer = *transfer;
    }
    pthread_mutex_unlock(&dev->captures.lock);
    return node != NULL;
}

void
rt_cpu_capture_record(struct cpu_device *dev, struct cpu_event *event, rt_stream stream)
{
    struct graph_stream *of = NULL;
    pthread_mutex_lock(&dev->captures.lock);
    struct cpu_graph *graph = graph_of(dev, stream, &of);
    event->capture = graph ? graph->id : 0;
    event->n_work = graph ? of->n_work : 0;
    pthread_mutex_unlock(&dev->captures.lock);
}

static bool
graph_fail(struct sp_diag *diag, const char *text, const char *hint)
{
    sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL, text);
    return sp_diag_hint(diag, "%s", hint);
}

/* With the lock held: `stream` waits for the first `n_work` nodes of another one in the capture. */
static bool
graph_join(struct cpu_graph *graph, rt_stream stream, struct cpu_graph *own, rt_stream before,
           uint64_t n_work, struct sp_diag *diag)
{
    if (own && own != graph)
        return graph_fail(diag, "two captures cannot wait for each other", RT_CAPTURE_ISOLATION);
    if (!own)
        sp_vec_push(NULL, &graph->streams, (struct graph_stream){.stream = stream});
    struct graph_stream *of = graph_find_stream(graph, before);
    if (of && before != stream && of->n_joined < n_work)
        of->n_joined = n_work;
    return true;
}

bool
rt_cpu_capture_wait(struct cpu_device *dev, rt_stream stream, const struct cpu_event *event,
                    struct sp_diag *diag)
{
    struct graph_stream *of;
    struct cpu_graph *graph = NULL;
    bool ok = true;
    pthread_mutex_lock(&dev->captures.lock);
    struct cpu_graph *own = graph_of(dev, stream, &of);
    for (uint32_t i = 0; i < dev->captures.all.len && event->capture; i++)
        if (dev->captures.all.data[i]->id == event->capture)
            graph = dev->captures.all.data[i];
    if (graph)
        ok = graph_join(graph, stream, own, event->base.stream, event->n_work, diag);
    else if (event->capture)
        ok = graph_fail(diag, "the event was recorded in a capture that is over",
                        "record another event behind the replay");
    else if (own)
        ok = graph_fail(diag, "a captured stream cannot wait for what is not in the capture",
                        RT_CAPTURE_ISOLATION);
    pthread_mutex_unlock(&dev->captures.lock);
    return ok;
}

bool
rt_cpu_capture_order(struct cpu_device *dev, rt_stream before, rt_stream after,
                     struct sp_diag *diag)
{
    struct graph_stream *of, *ignored;
    bool ok = true;
    pthread_mutex_lock(&dev->captures.lock);
    struct cpu_graph *graph = graph_of(dev, before, &of);
    if (graph)
        ok = graph_join(graph, after, graph_of(dev, after, &ignored), before, of->n_work, diag);
    pthread_mutex_unlock(&dev->captures.lock);
    return ok;
}

static bool
graph_is_capturing(struct rt_device *base, rt_stream stream)
{
    struct cpu_device *dev = graph_device(base);
    struct graph_stream *of;
    if (!cpu_captures(dev))
        return false;
    pthread_mutex_lock(&dev->captures.lock);
    bool is = graph_of(dev, stream, &of) != NULL;
    pthread_mutex_unlock(&dev->captures.lock);
    return is;
}

static struct rt_graph *
graph_of_stream(struct rt_device *base, rt_stream stream)
{
    struct cpu_device *dev = graph_device(base);
    struct graph_stream *of;
    if (!cpu_captures(dev))
        return NULL;
    pthread_mutex_lock(&dev->captures.lock);
    struct cpu_graph *graph = graph_of(dev, stream, &of);
    pthread_mutex_unlock(&dev->captures.lock);
    return graph ? &graph->base : NULL;
}

static bool
graph_begin(struct rt_device *base, rt_stream stream, enum rt_capture_mode mode,
            struct rt_graph **graph_out, struct sp_diag *diag)
{
    (void)mode, (void)diag;
    struct cpu_device *dev = graph_device(base);
    struct cpu_graph *graph = sp_alloc(sizeof *graph);
    memset(graph, 0, sizeof *graph);
    sp_vec_push(NULL, &graph->streams, (struct graph_stream){.stream = stream});
    pthread_mutex_lock(&dev->captures.lock);
    graph->id = ++dev->captures.n_begun;
    sp_vec_push(NULL, &dev->captures.all, graph);
    atomic_store(&dev->captures.n, dev->captures.all.len);
    pthread_mutex_unlock(&dev->captures.lock);
    *graph_out = &graph->base;
    return true;
}

static void
graph_leave(struct cpu_device *dev, struct cpu_graph *graph)
{
    pthread_mutex_lock(&dev->captures.lock);
    for (uint32_t i = 0; i < dev->captures.all.len; i++)
        if (dev->captures.all.data[i] == graph)
            dev->captures.all.data[i] = dev->captures.all.data[--dev->captures.all.len];
    atomic_store(&dev->captures.n, dev->captures.all.len);
    pthread_mutex_unlock(&dev->captures.lock);
}

static bool
graph_end(struct rt_graph *base, struct sp_diag *diag)
{
    struct cpu_graph *graph = (struct cpu_graph *)base;
    graph_leave(graph_device(base->dev), graph);
    for (uint32_t i = 1; i < graph->streams.len; i++)
        if (graph->streams.data[i].n_joined < graph->streams.data[i].n_work)
            return graph_fail(diag,
                              "a stream that came into the capture has work that the first "
                              "one never waited for",
                              "record an event on it and let the first stream wait for that "
                              "before the capture ends");
    return true;
}

static void
graph_moved(struct cpu_note *note)
{
    struct graph_moving *moving = (struct graph_moving *)note;
    rt_cpu_transfer(&moving->transfer);
    free(moving);
}

static void
graph_start_transfer(struct cpu_queue *queue, const struct cpu_transfer *transfer)
{
    struct graph_moving *moving = sp_alloc(sizeof *moving);
    *moving = (struct graph_moving){.note = {.reached = graph_moved}, .transfer = *transfer};
    pthread_mutex_lock(&queue->lock);
    rt_cpu_queue_note(queue, &moving->note);
    pthread_mutex_unlock(&queue->lock);
}

static bool
graph_start_call(struct cpu_queue *queue, const struct graph_call *call, struct sp_diag *diag)
{
    const struct rt_wait wait = {.timeout_ms = -1, .own_only = true};
    bool done;
    if (!rt_cpu_queue_wait(queue, &wait, &done, diag))
        return false;
    return call->function(call->data) || sp_diag_set(diag, SP_E_CANCELLED, NULL, "of a graph");
}

static bool
graph_start_node(struct cpu_device *dev, const struct graph_node *node, uint64_t thread,
                 struct sp_diag *diag)
{
    if (node->kind == NODE_CALL)
        return graph_start_call(&dev->queue, node->call, diag);
    if (node->kind != NODE_LAUNCH) {
        graph_start_transfer(&dev->queue, &node->transfer);
        return true;
    }
    struct rt_launch launch = node->launch;
    launch.thread = thread;
    return rt_cpu_queue_add(&dev->queue, node->code, &launch, node->params, diag);
}

/* With the lock held: copies, so that the inner graph may be updated or end. */
static void
graph_add_all(struct cpu_graph *outer, const struct cpu_graph *inner)
{
    for (uint32_t i = 0; i < inner->nodes.len; i++) {
        struct graph_node node = inner->nodes.data[i];
        node.nested = true;
        if (node.kind == NODE_LAUNCH) {
            atomic_fetch_add_explicit(&node.code->shares, 1, memory_order_relaxed);
            node.params = graph_copy_params(node.code, node.params);
        } else if (node.kind == NODE_CALL) {
            atomic_fetch_add_explicit(&node.call->shares, 1, memory_order_relaxed);
        }
        sp_vec_push(NULL, &outer->nodes, node);
    }
}

static bool
graph_launch(struct rt_graph *base, rt_stream stream, uint64_t thread, struct sp_diag *diag)
{
    struct cpu_graph *graph = (struct cpu_graph *)base, *outer;
    struct cpu_device *dev = graph_device(base->dev);
    struct graph_stream *of;
    bool ok = true, calls = false;
    pthread_mutex_lock(&dev->captures.lock);
    outer = graph_of(dev, stream, &of);
    if (outer) {
        of->n_work += graph->nodes.len;
        graph_add_all(outer, graph);
    }
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        calls |= graph->nodes.data[i].kind == NODE_CALL;
    if (calls)
        pthread_mutex_unlock(&dev->captures.lock);
    for (uint32_t i = 0; ok && !outer && i < graph->nodes.len; i++)
        ok = graph_start_node(dev, &graph->nodes.data[i], thread, diag);
    if (!calls)
        pthread_mutex_unlock(&dev->captures.lock);
    return ok;
}

static struct graph_node *
graph_find_launch(struct cpu_graph *graph, uint32_t index)
{
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        if (graph->nodes.data[i].kind == NODE_LAUNCH && !graph->nodes.data[i].nested &&
            index-- == 0)
            return &graph->nodes.data[i];
    return NULL;
}

static bool
graph_update(struct rt_graph *base, uint32_t index, struct rt_code *code,
             const struct rt_launch *launch, void *params, struct sp_diag *diag)
{
    struct cpu_device *dev = graph_device(base->dev);
    pthread_mutex_lock(&dev->captures.lock);
    struct graph_node *node = graph_find_launch((struct cpu_graph *)base, index);
    bool ok = node && &node->code->base == code;
    if (ok) {
        free(node->params);
        node->launch = *launch;
        node->params = graph_copy_params(node->code, params);
    }
    pthread_mutex_unlock(&dev->captures.lock);
    return ok || sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "a graph has no such launch");
}

static bool
graph_add_call(struct rt_graph *base, rt_stream stream, bool (*function)(void *data),
               void (*drop)(void *data), void *data, struct sp_diag *diag)
{
    struct cpu_device *dev = graph_device(base->dev);
    struct cpu_graph *graph;
    struct graph_call *call = sp_alloc(sizeof *call);
    *call = (struct graph_call){.function = function, .drop = drop, .data = data};
    atomic_init(&call->shares, 1);
    pthread_mutex_lock(&dev->captures.lock);
    struct graph_node *node = graph_add(dev, stream, &graph);
    if (node) {
        node->kind = NODE_CALL;
        node->call = call;
    }
    pthread_mutex_unlock(&dev->captures.lock);
    if (!node)
        free(call);
    return node || sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "the stream is not captured");
}

static void
graph_destroy(struct rt_graph *base)
{
    struct cpu_graph *graph = (struct cpu_graph *)base;
    if (base->state == RT_GRAPH_CAPTURING)
        graph_leave(graph_device(base->dev), graph);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        struct graph_node *node = &graph->nodes.data[i];
        if (node->code)
            rt_cpu_code_drop(node->code);
        free(node->params);
        if (node->call && atomic_fetch_sub(&node->call->shares, 1) == 1) {
            node->call->drop(node->call->data);
            free(node->call);
        }
    }
    sp_vec_finish(&graph->nodes);
    sp_vec_finish(&graph->streams);
    free(graph);
}

const struct rt_graph_ops rt_cpu_graph_ops = {
    .begin = graph_begin,
    .end = graph_end,
    .of_stream = graph_of_stream,
    .is_capturing = graph_is_capturing,
    .launch = graph_launch,
    .update = graph_update,
    .add_call = graph_add_call,
    .destroy = graph_destroy,
};
