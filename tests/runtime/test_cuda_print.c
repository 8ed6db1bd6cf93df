/* What kernels print on a GPU, from the buffer to the records that a host takes, against the
 * stand-in for libcuda. The test is the kernel's thread: it finds the printer by the launch's
 * parameters and writes records as compiled code does. */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/runtime/fixture.h"

#define BUFFER_B 4096
#define BUFFER_WORDS (BUFFER_B / 8)

static const char *fake_path;

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

/* A kernel without arguments but for the fault's address. */
static struct rt_code *
load(struct fixture *f, const char *name)
{
    static const struct sp_param param = {SP_PARAM_FAULT, 0, 0, 0, 8};
    struct artifact *artifact = fixture_ptx(name, &param, 1);
    artifact->n_sites = 1;
    artifact->sites = sp_alloc(sizeof *artifact->sites);
    artifact->sites[0] =
        (struct sp_fault_site){.code = SP_E_NOT_PRINTED, .name = copy_text("J()"), .n_values = 1};
    artifact->prints = true;
    return fixture_load(f, artifact);
}

/* Its printer. */
static struct sp_printer
launch(struct fixture *f, struct rt_code *code, rt_stream stream)
{
    struct rt_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = stream};
    uint64_t params[1] = {0}, fault;
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    memcpy(&fault, f->fake->params, sizeof fault);
    return ((struct sp_fault *)(uintptr_t)fault)->printer;
}

static void
print(const struct sp_printer *p, uint64_t value)
{
    uint64_t *counters = (uint64_t *)(uintptr_t)p->counters;
    uint64_t *words = (uint64_t *)(uintptr_t)p->words;
    uint64_t at = __atomic_fetch_add(&counters[0], 2, __ATOMIC_RELAXED) - p->base;
    if (at + 2 > p->capacity) {
        __atomic_fetch_add(&counters[1], 1, __ATOMIC_RELAXED);
        return;
    }
    words[at + 1] = value;
    __atomic_store_n(&words[at], SP_PRINT_HEAD(0, p->launch, 1), __ATOMIC_RELEASE);
}

/* Takes `n` records of the kernel from the chain: first, first + 1, ... */
static struct rt_print *
expect_records(struct rt_print *at, const char *name, uint64_t first, uint64_t n)
{
    uint64_t k = 0;
    while (k < n) {
        assert_non_null(at);
        assert_non_null(at->artifact);
        assert_string_equal(at->artifact->name, name);
        for (size_t i = 0; i < at->n_words; i += 2) {
            assert_int_equal(SP_PRINT_N_VALUES(at->words[i]), 1);
            assert_int_equal(SP_PRINT_SITE(at->words[i]), 0);
            assert_int_equal(at->words[i + 1], first + k++);
        }
        at = at->next;
    }
    assert_int_equal(k, n);
    return at;
}

static void
test_records(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "one");
    assert_false(rt_device_has_prints(f->dev));
    assert_null(rt_device_take_prints(f->dev));
    for (uint64_t round = 0; round < 3; round++) { /* the buffer begins anew each time */
        struct sp_printer p = launch(f, code, 0x22);
        assert_int_equal(p.capacity, BUFFER_WORDS);
        assert_int_equal(p.base, round * 400);
        for (uint64_t i = 0; i < 200; i++)
            print(&p, i);
        assert_true(rt_device_has_prints(f->dev));
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        assert_true(rt_device_has_prints(f->dev));
        struct rt_print *first = rt_device_take_prints(f->dev);
        assert_null(expect_records(first, "one", 0, 200));
        rt_prints_free(first);
        assert_false(rt_device_has_prints(f->dev));
    }
    rt_code_unload(code);
}

static void
test_while_it_runs(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "one");
    struct sp_printer p = launch(f, code, 0x22);
    for (uint64_t i = 0; i < 5; i++) {
        print(&p, i);
        struct rt_print *first = rt_device_take_prints(f->dev);
        assert_null(expect_records(first, "one", i, 1));
        rt_prints_free(first);
        assert_null(rt_device_take_prints(f->dev));
    }
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_null(rt_device_take_prints(f->dev));
    rt_code_unload(code);
}

static void
test_lost(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "one");
    for (int round = 0; round < 2; round++) {
        struct sp_printer p = launch(f, code, 0x22);
        for (uint64_t i = 0; i < 300; i++)
            print(&p, i);
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        struct rt_print *first = rt_device_take_prints(f->dev);
        struct rt_print *last = expect_records(first, "one", 0, BUFFER_WORDS / 2);
        assert_non_null(last);
        assert_null(last->artifact);
        assert_int_equal(last->n_lost, 300 - BUFFER_WORDS / 2);
        assert_int_equal(last->capacity_B, BUFFER_B);
        assert_null(last->next);
        rt_prints_free(first);
    }
    rt_code_unload(code);
}

/* Records of two kernels lie between each other; the kernels are gone before they are taken. */
static void
test_two_kernels(void **state)
{
    struct fixture *f = *state;
    struct rt_code *one = load(f, "one"), *two = load(f, "two");
    struct sp_printer p = launch(f, one, 0x22), q = launch(f, two, 0x23);
    print(&p, 10);
    print(&q, 20);
    print(&q, 21);
    print(&p, 11);
    rt_code_unload(one);
    assert_true(rt_stream_synchronize(f->dev, 0x22, &f->diag));
    struct rt_print *first = rt_device_take_prints(f->dev);
    struct rt_print *at = expect_records(first, "one", 10, 1);
    at = expect_records(at, "two", 20, 2);
    assert_null(expect_records(at, "one", 11, 1));
    rt_prints_free(first);
    print(&q, 22);
    print(&p, 99); /* of a launch that is over: nobody's */
    print(&q, 23);
    rt_code_unload(two);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    first = rt_device_take_prints(f->dev);
    assert_null(expect_records(first, "two", 22, 2));
    rt_prints_free(first);
}

/* A launch that finds little room waits for those before it. */
static void
test_makes_room(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "one");
    int n_syncs = f->fake->n_syncs;
    for (uint64_t i = 0; i < 20; i++) {
        struct sp_printer p = launch(f, code, 0x22);
        for (uint64_t k = 0; k < 100; k++)
            print(&p, 100 * i + k);
    }
    assert_true(f->fake->n_syncs > n_syncs);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    struct rt_print *first = rt_device_take_prints(f->dev);
    assert_null(expect_records(first, "one", 0, 2000));
    rt_prints_free(first);
    rt_code_unload(code);
}

static void
test_launch_fails(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "one");
    struct rt_launch bad = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t params[1] = {0};
    f->fake->launch_result = CUDA_ERROR_INVALID_VALUE;
    assert_false(rt_device_launch(f->dev, code, &bad, params, &f->diag));
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
    assert_false(rt_device_has_prints(f->dev));
    f->fake->launch_result = CUDA_SUCCESS;
    struct sp_printer p = launch(f, code, 0);
    print(&p, 7);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    struct rt_print *first = rt_device_take_prints(f->dev);
    assert_null(expect_records(first, "one", 7, 1));
    rt_prints_free(first);
    rt_code_unload(code);
}

/* What the variable holds is a number or is not looked at. */
static void
test_capacity(void **state)
{
    static const struct {
        const char *text;
        uint64_t n_words;
    } rows[] = {
        {"", 524288}, {"many", 524288},       {"-1", 524288},
        {"1", 512},   {"99999999", 12499999}, {"99999999999999999999", 134217728},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("GPUJIT_PRINT_BYTES", rows[i].text, 1);
        assert_int_equal(rt_print_capacity(), rows[i].n_words);
    }
    unsetenv("GPUJIT_PRINT_BYTES");
    assert_int_equal(rt_print_capacity(), 524288);
    setenv("GPUJIT_PRINT_BYTES", "4096", 1);
}

int
main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    fake_path = argv[1];
    setenv("GPUJIT_PRINT_BYTES", "4096", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity),
        cmocka_unit_test_setup_teardown(test_records, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_while_it_runs, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_lost, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_two_kernels, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_makes_room, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(test_launch_fails, set_up, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
