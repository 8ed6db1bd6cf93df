/* Private to the files that make graphs: graph.c, graph_python.c. */
#ifndef PM_GRAPH_T_H
#define PM_GRAPH_T_H

#include "pymod/pm.h"

/* A launch in the graph. */
struct record {
    struct pm_launcher *launcher;
    struct pm_reading *reading; /* NULL: of the python device */
    struct pm_entry *entry;
    uint32_t index; /* among the runtime's */
    PyObject *arguments;
    struct python_call *python;
    uint64_t types; /* of the arguments, there: a digest */
};

struct pm_graph {
    PyObject_HEAD struct pm_state *state;
    struct rt_device *dev;
    struct rt_graph *graph; /* NULL: not captured yet */
    struct pm_graph *next;  /* among those being captured */
    PyObject *stream;
    PyObject *kept; /* a list of objects whose memory it uses beside its records; or NULL */
    rt_stream handle;
    enum rt_capture_mode mode;
    bool has_python; /* a replay runs kernels on the python device */
    SP_VEC(struct record) records;
};

/* A call whose launch goes to a graph. */
struct pm_graph_update {
    struct pm_graph_update *next; /* of other threads, which may compile meanwhile */
    struct pm_graph *graph;
    struct record *record;
    uint64_t thread; /* of the host, that updates */
};

/* This thread's, or NULL. */
struct pm_graph_update *pm_graph_updating(struct pm_state *state);
/* The graph that captures the stream, or NULL. */
struct pm_graph *pm_graph_find(struct pm_state *state, struct rt_device *dev, rt_stream stream);
/* Raises that an update does not fit its node. Returns false. */
bool pm_graph_fail_types(struct pm_state *state);

#endif
