/* Several threads of the host with one GPU, against the driver's stand-in: whose exceptions are
 * whose, each thread's own default stream, graphs that some replay while others change them. */
#include <pthread.h>

#include "tests/runtime/fixture.h"

static const char *fake_path;

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

static struct rt_code *
load(struct fixture *f, bool raises)
{
    return fixture_load(f, fixture_saxpy(raises));
}

static bool
wait_as(struct fixture *f, uint64_t thread, bool own_only)
{
    struct rt_wait wait = {.timeout_ms = -1, .thread = thread, .own_only = own_only};
    bool done = false;
    bool ok = rt_device_wait_for(f->dev, &wait, &done, &f->diag);
    assert_true(ok == (f->diag.code == SP_OK));
    return ok;
}

/* An exception is the launching thread's; another one that asks raises a copy, once. */
static void
test_faults_of_threads(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, true);
    struct rt_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t params[3] = {0};
    f->fake->fault_site = 0;
    for (launch.thread = 1; launch.thread <= 3; launch.thread++)
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    f->fake->fault_site = -1;
    uint8_t byte = 0; /* a copy says nobody's number, so the exceptions stay */
    assert_true(rt_device_copy_in(f->dev, (uintptr_t)&byte, &byte, 1, 0, &f->diag));
    assert_true(wait_as(f, 9, true));
    assert_false(wait_as(f, 2, true));
    assert_int_equal(f->diag.n_notes, 1);
    expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    assert_true(wait_as(f, 2, true));
    for (int i = 0; i < 2; i++) { /* those of 1 and 3 */
        assert_false(wait_as(f, 9, false));
        assert_int_equal(f->diag.n_notes, 2);
        expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    }
    assert_true(wait_as(f, 9, false));
    assert_true(wait_as(f, 2, false));
    for (uint64_t thread = 1; thread <= 3; thread += 2) {
        assert_false(wait_as(f, thread, false));
        expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
        assert_true(wait_as(f, thread, false));
    }
    rt_code_unload(code);
}

/* Threads that never wait: what others have raised of theirs is forgotten some day. */
static void
test_faults_of_many_threads(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, true);
    struct rt_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t params[3] = {0};
    struct cuda_device *dev = (struct cuda_device *)f->dev;
    f->fake->fault_site = 0;
    for (launch.thread = 1; launch.thread <= 1000; launch.thread++) {
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
        assert_false(wait_as(f, 5000, false));
        expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    }
    assert_true(dev->faults.unraised.all.len <= 64);
    rt_code_unload(code);
}

/* The stream of handle 2 is another one in each thread: a wait for one says nothing of the others',
 * whose launches keep their struct sp_fault. */
static void
test_streams_of_threads(void **state)
{
    struct fixture *f = *state;
    const struct cuda_faults *faults = &((struct cuda_device *)f->dev)->faults;
    struct rt_code *code = load(f, true);
    struct rt_event *event;
    const rt_stream stream = RT_STREAM_PER_THREAD;
    struct rt_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = stream};
    uint64_t params[3] = {0};
    bool done;
    for (launch.thread = 1; launch.thread <= 3; launch.thread++)
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_int_equal(faults->n_used, 3);
    struct rt_wait wait = {.stream = &stream, .timeout_ms = -1, .thread = 2};
    assert_true(rt_device_wait_for(f->dev, &wait, &done, &f->diag));
    assert_int_equal(faults->n_used, 2);
    assert_true(rt_event_create(f->dev, 0, &event, &f->diag)); /* of which thread is not known */
    assert_true(rt_event_record(event, stream, &f->diag));
    wait = (struct rt_wait){.event = event, .timeout_ms = -1, .thread = 1};
    assert_true(rt_device_wait_for(f->dev, &wait, &done, &f->diag));
    assert_int_equal(faults->n_used, 2);
    assert_true(wait_as(f, 2, false)); /* for everything */
    assert_int_equal(faults->n_used, 0);
    rt_event_destroy(event);
    rt_code_unload(code);
}

struct replayer {
    struct fixture *f;
    struct rt_code *code;
    struct rt_graph *graph;
    uint64_t thread;
    uint32_t n_failed;
};

static void *
replay_and_update(void *argument)
{
    struct replayer *own = argument;
    struct rt_launch how = {.grid = {3, 1, 1}, .block = {1, 1, 1}, .thread = own->thread};
    struct rt_wait wait = {.timeout_ms = -1, .thread = own->thread};
    uint64_t params[3] = {0};
    struct sp_diag diag;
    bool done;
    sp_diag_init(&diag);
    for (int i = 0; i < 200; i++) {
        own->n_failed += !rt_graph_launch(own->graph, 0, own->thread, &diag);
        own->n_failed += !rt_graph_update(own->graph, 0, own->code, &how, params, &diag);
        own->n_failed += !rt_device_wait_for(own->f->dev, &wait, &done, &diag);
    }
    sp_diag_finish(&diag);
    return NULL;
}

/* The driver does not guard its graphs; a race is seen by a sanitizer. */
static void
test_one_graph(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, true);
    struct rt_graph *graph;
    rt_stream stream;
    uint64_t params[3] = {0};
    assert_true(rt_stream_create(f->dev, NULL, &stream, NULL, &f->diag));
    const struct rt_launch how = {.grid = {2, 1, 1}, .block = {1, 1, 1}, .stream = stream};
    assert_true(rt_graph_begin(f->dev, stream, RT_CAPTURE_THREAD, &graph, &f->diag));
    assert_true(rt_device_launch(f->dev, code, &how, params, &f->diag));
    assert_true(rt_graph_end(graph, &f->diag));
    struct replayer replayers[3];
    pthread_t threads[3];
    for (uint32_t i = 0; i < 3; i++) {
        replayers[i] = (struct replayer){f, code, graph, i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, replay_and_update, &replayers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(replayers[i].n_failed, 0);
    }
    assert_int_equal(f->fake->n_launches, 600);
    assert_int_equal(f->fake->grid[0], 3);
    rt_graph_destroy(graph);
    assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
    rt_code_unload(code);
    assert_true(wait_as(f, 1, false));
}

int
main(int n_args, char **args)
{
    fake_path = n_args > 1 ? args[1] : "";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_faults_of_threads, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_faults_of_many_threads, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_streams_of_threads, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_one_graph, set_up, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
