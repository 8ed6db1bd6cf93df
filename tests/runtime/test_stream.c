/* Streams and events by the runtime's calls: what holds on every device, then the cpu device's
 * times and the driver's calls against its stand-in. */
#include <time.h>
#include <unistd.h>

#include "tests/runtime/fixture.h"

static const char *fake_path;

static int
set_up_cpu(void **state)
{
    *state = fixture_cpu(2);
    return 0;
}

static int
set_up_cuda(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

static void
test_misuse(void **state)
{
    struct fixture *f = *state;
    struct rt_event *event, *timed;
    bool done = false;
    float ms;
    assert_false(rt_event_create(f->dev, RT_EVENT_IPC | RT_EVENT_TIMING, &event, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "has no timing", "timing=False");
    assert_true(rt_event_create(f->dev, 0, &event, &f->diag));
    assert_true(rt_event_create(f->dev, RT_EVENT_TIMING, &timed, &f->diag));
    assert_false(rt_event_query(event, &done, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "never recorded", "event.record(stream)");
    assert_false(rt_event_synchronize(event, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "never recorded", "event.record(stream)");
    assert_false(rt_stream_wait(f->dev, 0, event, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "never recorded", "event.record(stream)");
    assert_false(rt_event_elapsed(timed, timed, &ms, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "never recorded", "event.record(stream)");
    assert_true(rt_event_record(event, 0, &f->diag));
    assert_true(rt_event_record(timed, 0, &f->diag));
    assert_false(rt_event_elapsed(timed, event, &ms, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "without timing", "timing=True");
    assert_true(rt_event_query(event, &done, &f->diag));
    assert_true(done);
    assert_true(rt_stream_wait(f->dev, 0, event, &f->diag));
    rt_event_destroy(event);
    rt_event_destroy(timed);
    rt_event_destroy(NULL);
}

static void
sleep_ms(int ms)
{
    struct timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, NULL);
}

static void
test_times_on_cpu(void **state)
{
    struct fixture *f = *state;
    struct rt_event *start, *end;
    float ms = -1;
    assert_true(rt_event_create(f->dev, RT_EVENT_TIMING, &start, &f->diag));
    assert_true(rt_event_create(f->dev, RT_EVENT_TIMING, &end, &f->diag));
    assert_true(rt_event_record(start, 0, &f->diag));
    sleep_ms(20);
    assert_true(rt_event_record(end, 16, &f->diag));
    assert_true(rt_event_elapsed(start, end, &ms, &f->diag));
    assert_true(ms >= 20 && ms < 20000);
    assert_true(rt_event_elapsed(end, start, &ms, &f->diag));
    assert_true(ms <= -20);
    rt_event_destroy(start);
    rt_event_destroy(end);
}

static void
note_call(void *data)
{
    ++*(int *)data;
}

static void
test_calls(void **state)
{
    struct fixture *f = *state;
    int n = 0;
    bool done = false;
    for (int i = 0; i < 3; i++)
        assert_true(rt_stream_call(f->dev, 0, note_call, &n, &f->diag));
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(n, 3);
    assert_true(rt_stream_query(f->dev, 0, &done, &f->diag));
    assert_true(done);
}

static void
test_driver_calls(void **state)
{
    struct fixture *f = *state;
    struct rt_event *start, *end;
    rt_stream one, two;
    int priority;
    float ms;
    assert_true(rt_stream_create(f->dev, NULL, &one, &priority, &f->diag));
    assert_int_equal(f->fake->stream_flags, CU_STREAM_DEFAULT);
    assert_int_equal(priority, 0);
    const struct rt_stream_options high = {.priority = -100, .non_blocking = true};
    assert_true(rt_stream_create(f->dev, &high, &two, &priority, &f->diag));
    assert_int_equal(f->fake->stream_flags, CU_STREAM_NON_BLOCKING);
    assert_int_equal(f->fake->priority, -5);
    assert_int_equal(priority, -5);
    assert_true(rt_event_create(f->dev, RT_EVENT_TIMING | RT_EVENT_SLEEP, &start, &f->diag));
    assert_true(rt_event_create(f->dev, RT_EVENT_TIMING, &end, &f->diag));
    assert_true(rt_event_record(start, one, &f->diag));
    assert_ptr_equal((void *)f->fake->recorded_on, (void *)one);
    f->fake->n_launches += 3;
    assert_true(rt_event_record(end, one, &f->diag));
    f->fake->n_events_busy = 1;
    assert_false(rt_event_elapsed(start, end, &ms, &f->diag));
    expect(f, SP_E_EVENT_MISUSE, "not done yet", "end.synchronize()");
    assert_true(rt_event_elapsed(start, end, &ms, &f->diag));
    assert_true(ms == 6);
    rt_event_destroy(start);
    rt_event_destroy(end);
    f->fake->n_records = 0;
    assert_true(rt_stream_order(f->dev, one, two, &f->diag));
    assert_true(rt_stream_order(f->dev, two, one, &f->diag));
    assert_true(rt_stream_order(f->dev, one, one, &f->diag));
    assert_true(rt_stream_order(f->dev, 0, RT_STREAM_LEGACY, &f->diag));
    assert_int_equal(f->fake->n_records, 2);
    assert_int_equal(f->fake->n_event_waits, 2);
    assert_int_equal(f->fake->n_events, 1);
    assert_true(rt_stream_destroy(f->dev, one, &f->diag));
    assert_true(rt_stream_destroy(f->dev, two, &f->diag));
}

static void
test_waiting_for_an_event(void **state)
{
    struct fixture *f = *state;
    struct rt_event *event;
    bool done = true;
    assert_true(rt_event_create(f->dev, 0, &event, &f->diag));
    assert_true(rt_event_record(event, 0, &f->diag));
    f->fake->n_events_busy = 1;
    struct rt_wait wait = {.event = event, .timeout_ms = 0};
    assert_true(rt_device_wait_for(f->dev, &wait, &done, &f->diag));
    assert_false(done);
    assert_true(rt_device_wait_for(f->dev, &wait, &done, &f->diag));
    assert_true(done);
    f->fake->wait_result = CUDA_ERROR_CAPTURED_EVENT;
    assert_false(rt_event_synchronize(event, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuEventSynchronize", "behind the replay");
    f->fake->wait_result = CUDA_SUCCESS;
    rt_event_destroy(event);
}

int
main(int n_args, char **args)
{
    fake_path = n_args > 1 ? args[1] : "";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_misuse, set_up_cpu, fixture_close),
        cmocka_unit_test_setup_teardown(test_times_on_cpu, set_up_cpu, fixture_close),
        cmocka_unit_test_setup_teardown(test_calls, set_up_cpu, fixture_close),
        cmocka_unit_test_setup_teardown(test_misuse, set_up_cuda, fixture_close),
        cmocka_unit_test_setup_teardown(test_calls, set_up_cuda, fixture_close),
        cmocka_unit_test_setup_teardown(test_driver_calls, set_up_cuda, fixture_close),
        cmocka_unit_test_setup_teardown(test_waiting_for_an_event, set_up_cuda, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
