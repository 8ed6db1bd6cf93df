/* Graphs of a GPU against the driver's stand-in: our launches in captures of ours and of others,
 * what they raise at each replay, who owns what they need, and captures that go wrong. */
#include <pthread.h>
#include <stdio.h>

#include "tests/runtime/fixture.h"

static const char *fake_path;

static const struct rt_stream_options non_blocking = {.non_blocking = true};

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

/* An int64, then the fault's address if it can raise. */
static struct rt_code *
load(struct fixture *f, bool raises)
{
    static const struct sp_param params[] = {{SP_PARAM_SCALAR, 0, 0, 0, 8},
                                             {SP_PARAM_FAULT, 0, 0, 8, 8}};
    struct artifact *artifact = fixture_ptx("scale", params, raises ? 2 : 1);
    if (raises)
        fixture_add_site(artifact);
    return fixture_load(f, artifact);
}

static void
launch(struct fixture *f, struct rt_code *code, rt_stream stream, uint64_t value, uint32_t grid)
{
    const struct rt_launch how = {
        .grid = {grid, 1, 1}, .block = {32, 1, 1}, .stream = stream, .thread = 7};
    uint64_t params[2] = {value, 0};
    assert_true(rt_device_launch(f->dev, code, &how, params, &f->diag));
}

/* By the thread that launches. */
static bool
synchronize(struct fixture *f)
{
    const struct rt_wait wait = {.timeout_ms = -1, .thread = 7};
    bool done;
    return rt_device_wait_for(f->dev, &wait, &done, &f->diag);
}

static uint64_t
launched_with(const struct fixture *f)
{
    uint64_t value;
    memcpy(&value, f->fake->params, sizeof value);
    return value;
}

static void
test_capture_and_replay(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph;
    rt_stream stream;
    struct rt_code *code = load(f, false);
    assert_true(rt_stream_create(f->dev, &non_blocking, &stream, NULL, &f->diag));
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &graph, &f->diag));
    assert_true(rt_stream_is_capturing(f->dev, stream));
    assert_ptr_equal(rt_graph_of_stream(f->dev, stream), graph);
    assert_null(rt_graph_of_stream(f->dev, 0));
    launch(f, code, stream, 5, 3);
    launch(f, code, stream, 6, 4);
    launch(f, code, 0, 9, 1); /* not on the captured stream */
    assert_int_equal(f->fake->n_launches, 1);
    assert_int_equal(graph->n_launches, 2);
    struct rt_code *later = load(f, false); /* as a first launch does */
    rt_code_unload(later);
    assert_true(rt_graph_end(graph, &f->diag));
    assert_false(rt_stream_is_capturing(f->dev, stream));
    for (int i = 0; i < 3; i++)
        assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
    assert_int_equal(f->fake->n_launches, 7);
    assert_int_equal(f->fake->grid[0], 4);
    assert_int_equal(launched_with(f), 6);
    rt_code_unload(code); /* the graph keeps it */
    assert_int_equal(f->fake->n_modules, 1);
    assert_true(rt_graph_launch(graph, 0, 7, &f->diag));
    rt_graph_destroy(graph);
    assert_true(synchronize(f));
    assert_int_equal(f->fake->n_modules, 0);
    assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
}

static void
test_every_replay_raises(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph;
    const rt_stream stream = 0x41;
    struct rt_code *code = load(f, true);
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &graph, &f->diag));
    launch(f, code, stream, 5, 3);
    assert_true(rt_graph_end(graph, &f->diag));
    assert_true(synchronize(f));
    f->fake->fault_site = 0;
    for (int i = 0; i < 3; i++) {
        f->fake->fault_more = i;
        assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
        assert_false(synchronize(f));
        char text[32];
        snprintf(text, sizeof text, "index %d is out", 11 + i);
        expect(f, SP_E_OUT_OF_BOUNDS, text, NULL);
        assert_true(synchronize(f));
    }
    /* Raised by a replay that nobody waited for while there was a graph. */
    assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
    rt_graph_destroy(graph);
    assert_false(synchronize(f));
    expect(f, SP_E_OUT_OF_BOUNDS, "index 13", NULL);
    rt_code_unload(code);
    assert_true(synchronize(f));
}

/* Another library has begun, and owns the graph. */
static void
test_in_captures_of_others(void **state)
{
    struct fixture *f = *state;
    const struct cuda_api *api = ((struct cuda_device *)f->dev)->api;
    const rt_stream stream = 0x41;
    CUgraph graph;
    CUgraphExec exec;
    struct rt_code *code = load(f, true);
    launch(f, code, 0, 1, 1);
    assert_int_equal(api->cuStreamBeginCapture((CUstream)stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    assert_true(rt_stream_is_capturing(f->dev, stream));
    assert_null(rt_graph_of_stream(f->dev, stream));
    launch(f, code, stream, 5, 3);
    assert_int_equal(api->cuStreamEndCapture((CUstream)stream, &graph), CUDA_SUCCESS);
    assert_int_equal(api->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    assert_int_equal(api->cuGraphDestroy(graph), CUDA_SUCCESS);
    rt_code_unload(code);
    f->fake->fault_site = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(api->cuGraphLaunch(exec, NULL), CUDA_SUCCESS);
        assert_false(synchronize(f));
        expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    }
    assert_int_equal(f->fake->n_modules, 1);
    assert_int_equal(api->cuGraphExecDestroy(exec), CUDA_SUCCESS);
    assert_true(synchronize(f));
    assert_int_equal(f->fake->n_modules, 0);
}

static void
test_update(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph, *outer;
    const rt_stream stream = 0x41;
    struct rt_code *code = load(f, true);
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &graph, &f->diag));
    launch(f, code, stream, 5, 3);
    launch(f, code, stream, 6, 3);
    const struct rt_launch how = {.grid = {8, 1, 1}, .block = {64, 1, 1}};
    uint64_t params[2] = {77, 0};
    assert_false(rt_graph_update(graph, 1, code, &how, params, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "still being captured", "block first");
    assert_true(rt_graph_end(graph, &f->diag));
    assert_true(rt_graph_update(graph, 1, code, &how, params, &f->diag));
    assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
    assert_int_equal(launched_with(f), 77);
    assert_int_equal(f->fake->grid[0], 8);
    assert_int_equal(f->fake->block[0], 64);
    assert_false(rt_graph_update(graph, 2, code, &how, params, &f->diag));
    expect(f, SP_E_INTERNAL_ERROR, "no such launch", NULL);
    f->fake->fault_site = 0; /* the parameters have the fault's address as before */
    assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
    assert_false(synchronize(f));
    expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    f->fake->fault_site = -1;

    /* What is nested is as it was updated. */
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &outer, &f->diag));
    launch(f, code, stream, 1, 3);
    assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
    assert_true(rt_graph_end(outer, &f->diag));
    rt_graph_destroy(graph);
    int before = f->fake->n_launches;
    assert_true(rt_graph_launch(outer, stream, 7, &f->diag));
    assert_int_equal(f->fake->n_launches, before + 3);
    assert_int_equal(launched_with(f), 77);
    rt_graph_destroy(outer);
    rt_code_unload(code);
    assert_true(synchronize(f));
}

static void
post(void *data)
{
    (void)data;
}

static void
test_what_cannot_be_captured(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph, *other;
    struct rt_event *event;
    const rt_stream stream = 0x41;
    bool done;
    assert_false(rt_graph_begin(f->dev, 0, RT_CAPTURE_THREAD, &graph, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "default stream", "gpu.graph()");
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_RELAXED, &graph, &f->diag));
    assert_false(rt_graph_begin(f->dev, stream, RT_CAPTURE_RELAXED, &other, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "captured already", "end that capture");
    assert_false(rt_stream_synchronize(f->dev, stream, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "waited for", "replay the graph");
    assert_false(rt_stream_query(f->dev, stream, &done, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "asked", "replay the graph");
    assert_false(rt_stream_call(f->dev, stream, post, NULL, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "call of the host", "behind the replay");
    assert_true(rt_stream_order(f->dev, 0x42, stream, &f->diag)); /* was there before */
    assert_int_equal(f->fake->n_event_waits, 0);
    assert_true(rt_event_create(f->dev, 0, &event, &f->diag));
    assert_true(rt_event_record(event, stream, &f->diag));
    assert_false(rt_event_query(event, &done, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "in a capture", "behind the replay");
    assert_false(rt_event_synchronize(event, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "in a capture", "behind the replay");
    assert_false(rt_graph_launch(graph, stream, 7, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "still being captured", "block first");
    rt_graph_destroy(graph); /* ends the capture */
    assert_false(rt_stream_is_capturing(f->dev, stream));
    assert_true(rt_event_record(event, stream, &f->diag));
    assert_true(rt_event_synchronize(event, &f->diag));
    rt_event_destroy(event);
}

static void
test_captures_that_fail(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph;
    const rt_stream stream = 0x41;
    struct rt_code *code = load(f, true);
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &graph, &f->diag));
    launch(f, code, stream, 5, 3);
    f->fake->capture_result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    assert_false(rt_graph_end(graph, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuStreamEndCapture", "record an event on it");
    assert_false(rt_graph_launch(graph, stream, 7, &f->diag));
    expect(f, SP_E_CAPTURE_MISUSE, "has failed", "anew");
    rt_graph_destroy(graph);
    rt_code_unload(code);
    f->fake->capture_result = CUDA_SUCCESS;
    assert_true(synchronize(f));
}

/* What the runtime does beside a capture, in whatever mode and thread, must not spoil it. */
static void *
work_beside(void *argument)
{
    struct fixture *f = argument;
    rt_stream stream, home;
    struct rt_event *event;
    uint64_t address, most = 0;
    bool done;
    struct rt_code *code = load(f, true);
    assert_true(rt_stream_create(f->dev, &non_blocking, &stream, NULL, &f->diag));
    assert_true(rt_stream_create(f->dev, &non_blocking, &home, NULL, &f->diag));
    for (int i = 0; i < 1000; i++) /* more than there are struct sp_fault */
        launch(f, code, stream, 1, 1);
    for (int kind = 0; kind < RT_N_POOLS; kind++) {
        assert_true(rt_memory_alloc(f->dev, kind, 1000, home, &address, &f->diag));
        assert_true(rt_memory_use(f->dev, kind, address, stream, &f->diag));
        assert_true(rt_memory_free(f->dev, kind, address, &f->diag));
        rt_memory_trim(f->dev, kind, 0);
    }
    f->fake->memory_B = f->fake->used_B + 1000;
    assert_false(rt_memory_alloc(f->dev, RT_POOL_DEVICE, 1 << 20, home, &most, &f->diag));
    expect(f, SP_E_NO_MEMORY, "1048576", NULL);
    f->fake->memory_B = 0;
    assert_true(rt_event_create(f->dev, 0, &event, &f->diag));
    assert_true(rt_event_record(event, stream, &f->diag));
    assert_true(rt_event_query(event, &done, &f->diag) && done);
    assert_true(rt_event_synchronize(event, &f->diag));
    rt_event_destroy(event);
    assert_true(rt_stream_synchronize(f->dev, stream, &f->diag));
    assert_true(rt_stream_destroy(f->dev, home, &f->diag));
    assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
    rt_code_unload(code);
    return NULL;
}

static void
test_work_beside_a_capture(void **state)
{
    struct fixture *f = *state;
    for (int mode = RT_CAPTURE_GLOBAL; mode <= RT_CAPTURE_RELAXED; mode++) {
        struct rt_graph *graph;
        rt_stream stream;
        pthread_t thread;
        struct rt_code *code = load(f, true);
        assert_true(rt_stream_create(f->dev, &non_blocking, &stream, NULL, &f->diag));
        assert_true(rt_graph_begin(f->dev, stream, (enum rt_capture_mode)mode, &graph, &f->diag));
        launch(f, code, stream, 5, 3);
        work_beside(f);
        assert_int_equal(pthread_create(&thread, NULL, work_beside, f), 0);
        pthread_join(thread, NULL);
        launch(f, code, stream, 5, 3);
        assert_true(rt_graph_end(graph, &f->diag));
        assert_true(rt_graph_launch(graph, stream, 7, &f->diag));
        assert_true(synchronize(f));
        rt_graph_destroy(graph);
        assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
        rt_code_unload(code);
    }
    assert_true(synchronize(f));
}

/* The default stream would wait for it. */
static void
test_default_stream_beside_a_capture(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph;
    rt_stream stream;
    uint64_t params[2] = {0};
    struct rt_code *code = load(f, false);
    assert_true(rt_stream_create(f->dev, NULL, &stream, NULL, &f->diag));
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &graph, &f->diag));
    const struct rt_launch how = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    assert_false(rt_device_launch(f->dev, code, &how, params, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuLaunchKernel", "non_blocking=True");
    assert_false(rt_graph_end(graph, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuStreamEndCapture", "earlier call has spoilt");
    rt_graph_destroy(graph);
    assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
    rt_code_unload(code);
}

static void
test_streams_that_come_in(void **state)
{
    struct fixture *f = *state;
    struct rt_graph *graph;
    rt_stream first, second;
    struct rt_event *event;
    struct rt_code *code = load(f, false);
    assert_true(rt_stream_create(f->dev, &non_blocking, &first, NULL, &f->diag));
    assert_true(rt_stream_create(f->dev, &non_blocking, &second, NULL, &f->diag));
    assert_true(rt_event_create(f->dev, 0, &event, &f->diag));
    for (int joins = 1; joins >= 0; joins--) {
        int before = f->fake->n_launches;
        assert_true(rt_graph_begin(f->dev, first, RT_CAPTURE_THREAD, &graph, &f->diag));
        launch(f, code, first, 1, 1);
        assert_true(rt_event_record(event, first, &f->diag));
        assert_true(rt_stream_wait(f->dev, second, event, &f->diag));
        assert_true(rt_stream_is_capturing(f->dev, second));
        assert_ptr_equal(rt_graph_of_stream(f->dev, second), graph);
        launch(f, code, second, 2, 1);
        assert_true(!joins || rt_stream_order(f->dev, second, first, &f->diag));
        assert_int_equal(rt_graph_end(graph, &f->diag), joins);
        if (joins)
            assert_true(rt_graph_launch(graph, second, 7, &f->diag));
        else
            expect(f, SP_E_DRIVER_FAILED, "cuStreamEndCapture", "did not come back");
        assert_int_equal(f->fake->n_launches, before + 2 * joins);
        rt_graph_destroy(graph);
    }
    rt_event_destroy(event);
    assert_true(rt_stream_destroy(f->dev, second, &f->diag));
    assert_true(rt_stream_destroy(f->dev, first, &f->diag));
    rt_code_unload(code);
    assert_true(synchronize(f));
}

/* Another library's graph outlives the runtime. */
static void
test_graphs_that_outlive_the_device(void **state)
{
    struct fixture *f = *state;
    const struct cuda_api *api = ((struct cuda_device *)f->dev)->api;
    CUresult (*destroy)(CUgraph graph) = api->cuGraphDestroy;
    const rt_stream stream = 0x41;
    CUgraph graph;
    struct rt_code *code = load(f, true);
    assert_int_equal(api->cuStreamBeginCapture((CUstream)stream, 0), CUDA_SUCCESS);
    launch(f, code, stream, 5, 3);
    assert_int_equal(api->cuStreamEndCapture((CUstream)stream, &graph), CUDA_SUCCESS);
    rt_code_unload(code);
    rt_runtime_destroy(f->rt);
    assert_int_equal(f->fake->n_modules, 0);
    assert_int_equal(f->fake->n_host, 0);
    assert_int_equal(destroy(graph), CUDA_SUCCESS);
    f->rt = rt_runtime_create(NULL);
}

int
main(int n_args, char **args)
{
    fake_path = n_args > 1 ? args[1] : "";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_capture_and_replay, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_every_replay_raises, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_in_captures_of_others, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_update, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_captured, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_captures_that_fail, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_work_beside_a_capture, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_default_stream_beside_a_capture, set_up,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(test_streams_that_come_in, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_graphs_that_outlive_the_device, set_up, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
