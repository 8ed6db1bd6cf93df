/* Launches that have broken the GPU: what is told of them, whose they can be, and that nothing asks
 * the driver any more. Against the stand-in for libcuda, which answers as a dead context does. */
#include <pthread.h>
#include <stdio.h>

#include "tests/runtime/fixture.h"

static const char *fake_path;

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

/* A dead context has taken modules and memory along. */
static int
tear_down(void **state)
{
    struct fixture *f = *state;
    rt_runtime_destroy(f->rt);
    assert_int_equal(f->fake->n_retained, 0);
    sp_diag_finish(&f->diag);
    free(f);
    return 0;
}

/* name(n, a, x): an int64, a float32, an array of one dimension */
static struct rt_code *
load(struct fixture *f, const char *name, int line)
{
    static const struct sp_param params[] = {
        {SP_PARAM_SCALAR, 0, 0, 0, 8},
        {SP_PARAM_SCALAR, 0, 1, 8, 4},
        {SP_PARAM_DATA, 0, 2, 16, 8},
        {SP_PARAM_EXTENT, 0, 2, 24, 8},
    };
    static const struct rt_argument arguments[] = {{"n", 'i'}, {"a", 'f'}, {"x", 0}};
    struct rt_code *code = fixture_load(f, fixture_ptx(name, params, 4));
    const struct sp_src where = {"k.py", name, line, line, -1, -1};
    rt_code_describe(code, &where, arguments, 3);
    return code;
}

static void
launch(struct fixture *f, struct rt_code *code, uint32_t grid, rt_stream stream, int64_t n)
{
    const struct rt_launch how = {.grid = {grid, 1, 1}, .block = {32, 2, 1}, .stream = stream};
    struct {
        int64_t n;
        float a, hole;
        uint64_t data;
        int64_t extent;
    } params = {n, 2.5f, 0, 0x7000, 3 * n};
    assert_true(rt_device_prepare(f->dev, code, &how, &f->diag));
    assert_true(rt_device_launch(f->dev, code, &how, &params, &f->diag));
}

static void
lose(struct fixture *f, CUresult result)
{
    f->fake->wait_result = result;
    assert_false(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(f->diag.code, SP_E_DEVICE_LOST);
}

static void
again(struct fixture *f)
{
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
}

static void
says(const char *text, const char *part)
{
    if (!strstr(text, part))
        assert_string_equal(text, part);
}

static void
test_one_launch(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "scale", 12);
    launch(f, code, 1, 0, 1);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    launch(f, code, 4, 0, -7);
    lose(f, CUDA_ERROR_ILLEGAL_ADDRESS);
    says(f->diag.message, "kernel 'scale' has broken the GPU: CUDA_ERROR_ILLEGAL_ADDRESS (said the "
                          "fake), said by cuCtxSynchronize");
    assert_string_equal(f->diag.where.file, "k.py");
    assert_int_equal(f->diag.where.line, 12);
    assert_int_equal(f->diag.n_notes, 1);
    assert_string_equal(f->diag.notes[0].text,
                        "scale: grid (4, 1, 1), block (32, 2, 1), n=-7, a=2.5, x: shape (-21,)");
    says(f->diag.hint, "check=True");
    assert_null(strstr(f->diag.hint, "LAUNCH_BLOCKING"));
    again(f);
    rt_code_unload(code);
}

/* Every call tells the same, and none asks the driver. */
static void
test_later_calls(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "scale", 12);
    uint64_t address;
    rt_stream stream;
    bool done;
    char byte = 0;
    assert_true(rt_device_alloc(f->dev, 64, 0, &address, &f->diag));
    launch(f, code, 4, 0, 5);
    lose(f, CUDA_ERROR_MISALIGNED_ADDRESS);
    again(f);
    f->fake->wait_result = CUDA_SUCCESS;
    int n_calls = f->fake->n_calls;
    const struct rt_launch how = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    const bool answers[] = {
        rt_device_synchronize(f->dev, &f->diag),
        rt_device_alloc(f->dev, 64, 0, &address, &f->diag),
        rt_device_copy_in(f->dev, address, &byte, 1, 0, &f->diag),
        rt_stream_create(f->dev, NULL, &stream, NULL, &f->diag),
        rt_device_wait(f->dev, NULL, 0, &done, &f->diag),
        rt_device_launch(f->dev, code, &how, NULL, &f->diag),
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_false(answers[i]);
    assert_int_equal(f->diag.code, SP_E_DEVICE_LOST);
    says(f->diag.message, "kernel 'scale' has broken the GPU");
    says(f->diag.notes[0].text, "n=5");
    again(f);
    assert_true(
        rt_device_free(f->dev, address, &f->diag)); /* its memory is gone, no need to say so */
    assert_true(rt_stream_destroy(f->dev, 5, &f->diag));
    assert_int_equal(f->fake->n_calls, n_calls);
    rt_code_unload(code);
}

static void
test_several_launches(void **state)
{
    struct fixture *f = *state;
    struct rt_code *first = load(f, "first", 3), *second = load(f, "second", 8);
    rt_stream other = 0x5100;
    launch(f, first, 1, 0, 1);
    launch(f, second, 2, other, 2);
    launch(f, first, 3, other, 3);
    assert_true(rt_stream_synchronize(f->dev, 0, &f->diag)); /* the first one is over */
    f->fake->wait_result = CUDA_ERROR_LAUNCH_FAILED;
    assert_false(rt_stream_synchronize(f->dev, other, &f->diag));
    says(f->diag.message, "one of the last 2 launches has broken the GPU: ");
    assert_null(f->diag.where.file);
    assert_int_equal(f->diag.n_notes, 2);
    says(f->diag.notes[0].text, "first: grid (3, 1, 1), block (32, 2, 1), stream 0x5100, n=3");
    says(f->diag.notes[1].text, "second: grid (2, 1, 1)");
    assert_int_equal(f->diag.notes[1].where.line, 8);
    says(f->diag.hint, "GPUJIT_LAUNCH_BLOCKING=1");
    again(f);
    rt_code_unload(first);
    rt_code_unload(second);
}

/* The next launch hears of it, and is not meant. Its code may be unloaded before. */
static void
test_said_by_a_launch(void **state)
{
    struct fixture *f = *state;
    struct rt_code *gone = load(f, "gone", 3), *code = load(f, "next", 8);
    launch(f, gone, 6, 0, 9);
    rt_code_unload(gone);
    int64_t params[4] = {0};
    const struct rt_launch how = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    f->fake->launch_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_false(rt_device_launch(f->dev, code, &how, params, &f->diag));
    says(f->diag.message, "kernel 'gone' has broken the GPU");
    says(f->diag.message, "said by cuLaunchKernel");
    says(f->diag.notes[0].text, "gone: grid (6, 1, 1)");
    again(f);
    f->fake->launch_result = CUDA_SUCCESS;
    rt_code_unload(code);
}

static void
test_none_of_ours(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "scale", 12);
    launch(f, code, 1, 0, 1);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    lose(f, CUDA_ERROR_ILLEGAL_INSTRUCTION);
    says(f->diag.message, "the GPU is broken, by a kernel of a graph or of another library");
    assert_int_equal(f->diag.n_notes, 0);
    again(f);
    rt_code_unload(code);
}

/* The ring is full, and codes come and go. */
static void
test_many_launches(void **state)
{
    struct fixture *f = *state;
    for (int i = 1; i <= 3 * CUDA_N_RECENT; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        struct rt_code *code = load(f, name, i);
        launch(f, code, 1, 0, i);
        rt_code_unload(code);
    }
    lose(f, CUDA_ERROR_ILLEGAL_ADDRESS);
    char text[80];
    snprintf(text, sizeof text, "one of the last more than %d launches has", CUDA_N_RECENT);
    says(f->diag.message, text);
    snprintf(text, sizeof text, "k%d: grid", 3 * CUDA_N_RECENT);
    says(f->diag.notes[0].text, text);
    says(f->diag.notes[f->diag.n_notes - 1].text, "and earlier ones");
    again(f);
}

struct launching {
    struct fixture *f;
    struct rt_code *code;
    bool waits;
};

static void *
launch_often(void *argument)
{
    const struct launching *how = argument;
    for (int i = 0; i < 2000; i++) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        int64_t params[4] = {i};
        const struct rt_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
        assert_true(how->waits ? rt_device_synchronize(how->f->dev, &diag)
                               : rt_device_launch(how->f->dev, how->code, &launch, params, &diag));
    }
    return NULL;
}

/* Threads launch and wait, codes are unloaded; nothing is left but the last one's. */
static void
test_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[4];
    struct launching how[4];
    for (int i = 0; i < 4; i++) {
        how[i] = (struct launching){f, load(f, "many", i), i == 3};
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &how[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        rt_code_unload(how[i].code);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    struct rt_code *code = load(f, "last", 7);
    launch(f, code, 1, 0, 1);
    lose(f, CUDA_ERROR_ILLEGAL_ADDRESS);
    says(f->diag.message, "kernel 'last' has broken the GPU");
    again(f);
    rt_code_unload(code);
}

/* An error of one call, after which the device goes on. */
static void
test_not_lost(void **state)
{
    struct fixture *f = *state;
    f->fake->wait_result = 999;
    assert_false(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(f->diag.code, SP_E_DRIVER_FAILED);
    again(f);
    f->fake->wait_result = CUDA_SUCCESS;
    assert_true(rt_device_synchronize(f->dev, &f->diag));
}

int
main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    fake_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_later_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_launches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_said_by_a_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_none_of_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_launches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_lost, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
