/* graph: captures and graphs, what holds on every device. In: calls as users write them. Out: calls
 * of the device that make sense, or an error that says what to do; a call that would spoil a
 * capture of the driver's is refused before. */
#include "runtime/rt_t.h"

bool
rt_capture_refuses(struct rt_device *dev, rt_stream stream, const char *what, const char *instead,
                   struct sp_diag *diag)
{
    if (!rt_stream_is_capturing(dev, stream))
        return true;
    sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL, what);
    return sp_diag_hint(diag, "%s", instead);
}

bool
rt_stream_is_capturing(struct rt_device *dev, rt_stream stream)
{
    return dev->ops->graph->is_capturing(dev, stream);
}

bool
rt_graph_begin(struct rt_device *dev, rt_stream stream, enum rt_capture_mode mode,
               struct rt_graph **graph_out, struct sp_diag *diag)
{
    struct rt_graph *graph;
    if (rt_device_was_reset(dev))
        return rt_say_reset(dev, diag);
    if (stream <= RT_STREAM_LEGACY) {
        sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL, "the default stream cannot be captured");
        return sp_diag_hint(diag, "capture on a stream of its own: gpu.graph() makes one, or "
                                  "gpu.graph(gpu.stream())");
    }
    if (!rt_capture_refuses(dev, stream, "the stream is captured already",
                            "end that capture first; a graph that is ready can be replayed into "
                            "another capture",
                            diag) ||
        !dev->ops->graph->begin(dev, stream, mode, &graph, diag))
        return false;
    graph->dev = dev;
    graph->state = RT_GRAPH_CAPTURING;
    graph->stream = stream;
    *graph_out = graph;
    return true;
}

static bool
graph_needs(const struct rt_graph *graph, enum rt_graph_state state, struct sp_diag *diag)
{
    static const char *const texts[] = {
        [RT_GRAPH_CAPTURING] = "the graph is still being captured",
        [RT_GRAPH_READY] = "the graph's capture has ended already",
        [RT_GRAPH_BROKEN] = "the graph's capture has failed, there is nothing to replay",
    };
    static const char *const hints[] = {
        [RT_GRAPH_CAPTURING] = "leave the `with gpu.graph(...)` block first",
        [RT_GRAPH_READY] = "capture another one with gpu.graph()",
        [RT_GRAPH_BROKEN] = "capture it anew",
    };
    if (rt_device_was_reset(graph->dev))
        return rt_say_reset(graph->dev, diag);
    if (graph->state == state)
        return true;
    sp_diag_set(diag, SP_E_CAPTURE_MISUSE, NULL, texts[graph->state]);
    return sp_diag_hint(diag, "%s", hints[graph->state]);
}

bool
rt_graph_end(struct rt_graph *graph, struct sp_diag *diag)
{
    if (!graph_needs(graph, RT_GRAPH_CAPTURING, diag))
        return false;
    bool ok = graph->dev->ops->graph->end(graph, diag);
    graph->state = ok ? RT_GRAPH_READY : RT_GRAPH_BROKEN;
    return ok;
}

struct rt_graph *
rt_graph_of_stream(struct rt_device *dev, rt_stream stream)
{
    return dev->ops->graph->of_stream(dev, stream);
}

bool
rt_graph_launch(struct rt_graph *graph, rt_stream stream, uint64_t thread, struct sp_diag *diag)
{
    return graph_needs(graph, RT_GRAPH_READY, diag) &&
           graph->dev->ops->graph->launch(graph, stream, thread, diag);
}

bool
rt_graph_update(struct rt_graph *graph, uint32_t index, struct rt_code *code,
                const struct rt_launch *launch, void *params, struct sp_diag *diag)
{
    return graph_needs(graph, RT_GRAPH_READY, diag) &&
           graph->dev->ops->graph->update(graph, index, code, launch, params, diag);
}

bool
rt_graph_add_call(struct rt_graph *graph, rt_stream stream, bool (*function)(void *data),
                  void (*drop)(void *data), void *data, struct sp_diag *diag)
{
    return graph_needs(graph, RT_GRAPH_CAPTURING, diag) &&
           graph->dev->ops->graph->add_call(graph, stream, function, drop, data, diag);
}

void
rt_graph_destroy(struct rt_graph *graph)
{
    if (graph)
        graph->dev->ops->graph->destroy(graph);
}
