/* The cpu device without LLVM: kernels are C functions that fake_link.c finds by name. Every
 * block runs once, launches in order, exceptions and interrupts, code unloaded while it runs,
 * memory, limits, and a forked child. Run under ThreadSanitizer by hand. */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/fake_link.h"
#include "tests/runtime/fixture.h"

/* ---- Kernels. Their parameters: an address and a number. ---- */

struct params {
    uint64_t address;
    int64_t number;
};

static uint64_t
block_number(const struct sp_block *b)
{
    return b->block_idx[0] + (uint64_t)b->grid_dim[0] *
                                 (b->block_idx[1] + (uint64_t)b->grid_dim[1] * b->block_idx[2]);
}

static void
kernel_count(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    uint32_t threads = block->block_dim[0] * block->block_dim[1] * block->block_dim[2];
    atomic_fetch_add((_Atomic(uint32_t) *)(uintptr_t)p->address + block_number(block), threads);
}

/* y = 3 y + number, in one block: gives another result in another order. */
static void
kernel_step(const struct sp_block *block, const void *params)
{
    (void)block;
    const struct params *p = params;
    int64_t *y = (int64_t *)(uintptr_t)p->address;
    *y = 3 * *y + p->number;
}

/* Uses all of its shared memory; an overrun is the sanitizer's to find. */
static void
kernel_shared(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    memset(block->shared, (int)block->block_idx[0], (size_t)p->number);
    const unsigned char *bytes = block->shared;
    uint64_t sum = 0;
    for (int64_t i = 0; i < p->number; i++)
        sum += bytes[i];
    ((uint64_t *)(uintptr_t)p->address)[block->block_idx[0]] = sum;
}

static void
kernel_raise(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    uint32_t expected = 0;
    if ((int64_t)block->block_idx[0] < p->number)
        return;
    if (!__atomic_compare_exchange_n(&block->fault->state, &expected, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    block->fault->site = 0;
    block->fault->block[0] = block->block_idx[0];
    block->fault->values[0] = block->block_idx[0];
    block->fault->values[2] = 1;
    block->fault->values[3] = p->number;
    __atomic_store_n(&block->fault->state, 2, __ATOMIC_RELEASE);
}

static void
kernel_forever(const struct sp_block *block, const void *params)
{
    const struct params *p = params;
    atomic_store((_Atomic(uint32_t) *)(uintptr_t)p->address, 1);
    while (!__atomic_load_n(block->cancel, __ATOMIC_RELAXED))
        usleep(100);
}

static void
kernel_rounding(const struct sp_block *block, const void *params)
{
    (void)block;
    const struct params *p = params;
    *(int64_t *)(uintptr_t)p->address = fegetround();
}

static const struct fake_entry kernels[] = {
    {"count", kernel_count}, {"step", kernel_step},       {"shared", kernel_shared},
    {"raise", kernel_raise}, {"forever", kernel_forever}, {"rounding", kernel_rounding},
};

/* ---- Fixture ---- */

static int
set_up(void **state)
{
    fake_link_set(kernels, sizeof kernels / sizeof kernels[0]);
    *state = fixture_cpu(4);
    return 0;
}

static int
tear_down(void **state)
{
    fixture_close(state);
    assert_int_equal(fake_link_count(), 0);
    return 0;
}

static struct rt_code *
load(struct fixture *f, const char *entry, uint32_t shared_B)
{
    struct artifact *artifact = sp_artifact_create();
    artifact->kind = SP_CODE_OBJECT;
    artifact->entry = copy_text(entry);
    artifact->name = copy_text(entry);
    artifact->params_size_B = sizeof(struct params);
    artifact->shared_B = shared_B;
    fixture_add_site(artifact);
    return fixture_load(f, artifact);
}

static void
launch(struct fixture *f, struct rt_code *code, uint32_t x, uint32_t y, uint32_t z, uint32_t block,
       void *address, int64_t number)
{
    struct rt_launch how = {{x, y, z}, {block, 1, 1}, 0, 0, 0, 0};
    struct params params = {(uintptr_t)address, number};
    assert_true(rt_device_prepare(f->dev, code, &how, &f->diag));
    assert_true(rt_device_launch(f->dev, code, &how, &params, &f->diag));
}

static void
reset(struct fixture *f)
{
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
}

/* Linked in place of pthread_create (--wrap). */
static bool no_threads;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                      void *argument)
{
    return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

/* ---- Tests ---- */

static void
test_no_threads(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "count", 0);
    struct rt_launch how = {{1, 1, 1}, {4, 1, 1}, 0, 0, 0, 0};
    uint32_t count = 0;
    struct params params = {(uintptr_t)&count, 0};
    no_threads = true;
    bool ok = rt_device_prepare(f->dev, code, &how, &f->diag) &&
              rt_device_launch(f->dev, code, &how, &params, &f->diag);
    no_threads = false;
    assert_false(ok);
    assert_string_equal(sp_error_name(f->diag.code), "THREADS_FAILED");
    reset(f);
    launch(f, code, 1, 1, 1, 4, &count, 0);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(count, 4);
    rt_code_unload(code);
}

static void
test_every_block_once(void **state)
{
    struct fixture *f = *state;
    static const uint32_t grids[][3] = {{1, 1, 1}, {2, 1, 1},  {1000, 1, 1}, {7, 11, 13},
                                        {1, 1, 9}, {33, 1, 1}, {1, 257, 2}};
    struct rt_code *code = load(f, "count", 0);
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        const uint32_t *grid = grids[g];
        uint32_t n = grid[0] * grid[1] * grid[2];
        uint32_t *counts = calloc(n, sizeof *counts);
        launch(f, code, grid[0], grid[1], grid[2], 64, counts, 0);
        launch(f, code, grid[0], grid[1], grid[2], 3, counts, 0);
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(counts[i], 67);
        free(counts);
    }
    rt_code_unload(code);
}

static void
test_order(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "step", 0);
    int64_t y = 1, expected = 1;
    for (int64_t i = 0; i < 30; i++) {
        launch(f, code, 1, 1, 1, 1, &y, i);
        expected = 3 * expected + i;
    }
    int64_t got;
    assert_true(rt_device_copy_out(f->dev, &got, (uintptr_t)&y, sizeof y, 0, &f->diag));
    assert_int_equal(got, expected);
    rt_code_unload(code);
}

static void
test_shared(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "shared", 1000);
    uint64_t sums[100];
    for (uint32_t dynamic_B = 0; dynamic_B < 227 * 1024 - 1000; dynamic_B += 77777) {
        struct rt_launch how = {{100, 1, 1}, {1, 1, 1}, dynamic_B, 0, 0, 0};
        struct params params = {(uintptr_t)sums, 1000 + dynamic_B};
        assert_true(rt_device_prepare(f->dev, code, &how, &f->diag));
        assert_true(rt_device_launch(f->dev, code, &how, &params, &f->diag));
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        for (uint64_t i = 0; i < 100; i++)
            assert_int_equal(sums[i], i * (1000 + dynamic_B));
    }
    struct rt_launch how = {{1, 1, 1}, {1, 1, 1}, 227 * 1024 - 999, 0, 0, 0};
    assert_false(rt_device_prepare(f->dev, code, &how, &f->diag));
    assert_int_equal(f->diag.code, SP_E_SHARED_LIMIT);
    rt_code_unload(code);
}

static void
test_fault(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "raise", 0);
    launch(f, code, 500, 1, 1, 1, NULL, 500);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    launch(f, code, 500, 1, 1, 1, NULL, 499);
    launch(f, code, 500, 1, 1, 1, NULL, 5); /* the first that raised is kept */
    rt_code_unload(code);
    int64_t got = 0, from = 1;
    assert_false(rt_device_copy_out(f->dev, &got, (uintptr_t)&from, sizeof got, 0, &f->diag));
    assert_int_equal(got, 0);
    assert_int_equal(f->diag.code, SP_E_OUT_OF_BOUNDS);
    assert_int_equal(f->diag.where.line, 4);
    assert_string_equal(f->diag.message,
                        "index 499 is out of bounds for axis 0 of array 'x' with shape (499,)");
    reset(f);
    assert_true(rt_device_synchronize(f->dev, &f->diag)); /* told once */
}

static void
test_cancel(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "forever", 0), *step = load(f, "step", 0);
    _Atomic(uint32_t) started = 0;
    int64_t y = 1;
    bool done = true;
    rt_device_cancel(f->dev); /* nothing runs: nothing happens */
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    launch(f, code, 8, 1, 1, 1, &started, 0);
    launch(f, step, 1, 1, 1, 1, &y, 5);
    while (!started)
        usleep(100);
    assert_true(rt_device_wait(f->dev, NULL, 20, &done, &f->diag));
    assert_false(done);
    rt_device_cancel(f->dev);
    assert_false(rt_device_wait(f->dev, NULL, 60000, &done, &f->diag));
    assert_int_equal(f->diag.code, SP_E_CANCELLED);
    assert_string_equal(f->diag.message, "kernel 'forever' was interrupted");
    assert_int_equal(y, 1); /* what was queued behind it is dropped */
    reset(f);
    launch(f, step, 1, 1, 1, 1, &y, 5); /* and the device goes on */
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(y, 8);
    launch(f, code, 8, 1, 1, 1, &started, 0); /* still running when the device ends */
    rt_code_unload(code);
    rt_code_unload(step);
}

static void
test_unload_while_queued(void **state)
{
    struct fixture *f = *state;
    int64_t y = 1;
    for (int i = 0; i < 50; i++) {
        struct rt_code *code = load(f, "step", 0);
        launch(f, code, 1, 1, 1, 1, &y, 0);
        rt_code_unload(code);
        if (i % 10 == 9) {
            assert_true(rt_device_synchronize(f->dev, &f->diag));
            assert_int_equal(fake_link_count(), 0);
            y = 1;
        }
    }
    rt_code_unload(NULL);
}

static void
test_load_fails(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code;
    struct artifact *artifact = sp_artifact_create();
    artifact->kind = SP_CODE_OBJECT;
    artifact->name = copy_text("k");
    artifact->entry = copy_text("nowhere");
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    assert_int_equal(f->diag.code, SP_E_HOST_LOAD_FAILED);
    assert_non_null(strstr(f->diag.message, "'nowhere'"));
    reset(f);
    artifact->kind = SP_CODE_PTX;
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    assert_int_equal(f->diag.code, SP_E_HOST_LOAD_FAILED);
    reset(f);
    sp_artifact_destroy(artifact);
}

static void
test_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t a, b, c, total_B, free_B;
    struct rt_memory memory;
    assert_true(rt_device_alloc(f->dev, 0, 0, &a, &f->diag));
    assert_int_equal(a, 0);
    assert_true(rt_device_alloc(f->dev, 100, 0, &a, &f->diag));
    assert_true(rt_device_alloc(f->dev, 1000, 0, &b, &f->diag));
    assert_true(rt_device_alloc(f->dev, 10, 0, &c, &f->diag));
    assert_int_equal((a | b | c) % 256, 0);
    assert_true(rt_device_query(f->dev, b + 999, &memory, &f->diag));
    assert_int_equal(memory.kind, RT_MEMORY_DEVICE);
    assert_true(rt_device_query(f->dev, b + 1000, &memory, &f->diag));
    assert_int_equal(memory.kind, RT_MEMORY_UNKNOWN);
    double element = 1.5, out[12];
    assert_true(rt_device_fill(f->dev, a, &element, 8, 12, 0, &f->diag));
    assert_true(rt_device_copy(f->dev, b + 8, a, 96, 0, &f->diag));
    assert_true(rt_device_copy_out(f->dev, out, b + 8, 96, 0, &f->diag));
    for (int i = 0; i < 12; i++)
        assert_true(out[i] == 1.5);
    assert_true(rt_device_free(f->dev, b, &f->diag));
    assert_false(rt_device_free(f->dev, b, &f->diag));
    assert_int_equal(f->diag.code, SP_E_BAD_VALUE);
    reset(f);
    assert_false(rt_device_free(f->dev, a + 1, &f->diag));
    reset(f);
    assert_true(rt_device_memory_info(f->dev, &free_B, &total_B, &f->diag));
    assert_false(rt_device_alloc(f->dev, total_B + 1, 0, &b, &f->diag));
    assert_int_equal(f->diag.code, SP_E_NO_MEMORY);
    assert_true(rt_device_free(f->dev, a, &f->diag)); /* c is freed with the device */
}

/* Memory freed under a running kernel stays until it is over; the sanitizer would see it. */
static void
test_free_does_not_wait(void **state)
{
    struct fixture *f = *state;
    struct rt_code *forever = load(f, "forever", 0), *count = load(f, "count", 0);
    _Atomic(uint32_t) started = 0;
    uint64_t address, other;
    assert_true(rt_device_alloc(f->dev, 400, 0, &address, &f->diag));
    memset((void *)(uintptr_t)address, 0, 400);
    launch(f, forever, 1, 1, 1, 1, (void *)&started, 0);
    launch(f, count, 100, 1, 1, 1, (void *)(uintptr_t)address, 0);
    assert_true(rt_device_free(f->dev, address, &f->diag));
    assert_true(rt_device_alloc(f->dev, 400, 0, &other, &f->diag));
    assert_int_not_equal(address, other);
    rt_device_cancel(f->dev);
    assert_false(rt_device_synchronize(f->dev, &f->diag));
    reset(f);
    assert_true(rt_device_free(f->dev, other, &f->diag));
    rt_code_unload(forever);
    rt_code_unload(count);
}

static void
test_fork(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* it does not let a forked child start threads */
#endif
    struct fixture *f = *state;
    struct rt_code *code = load(f, "step", 0), *forever = load(f, "forever", 0);
    _Atomic(uint32_t) started = 0;
    int64_t y = 1;
    launch(f, code, 1, 1, 1, 1, &y, 1);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    launch(f, forever, 1, 1, 1, 1, (void *)&started, 0);
    while (!started)
        usleep(100);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t address;
        struct rt_launch how = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0, 0};
        struct params params = {(uintptr_t)&y, 2};
        alarm(60);
        bool ok = rt_device_alloc(f->dev, 8, 0, &address, &f->diag) &&
                  rt_device_launch(f->dev, code, &how, &params, &f->diag) &&
                  rt_device_synchronize(f->dev, &f->diag) && y == 14 &&
                  rt_device_free(f->dev, address, &f->diag);
        _exit(ok ? 42 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    assert_int_equal(y, 4);
    rt_device_cancel(f->dev);
    assert_false(rt_device_synchronize(f->dev, &f->diag));
    reset(f);
    rt_code_unload(code);
    rt_code_unload(forever);
}

/* Threads take the floating-point modes of the one that starts them. */
static void
test_rounding(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "rounding", 0);
    int64_t mode = -1;
    fesetround(FE_UPWARD);
    launch(f, code, 1, 1, 1, 1, &mode, 0);
    fesetround(FE_TONEAREST);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(mode, FE_TONEAREST);
    rt_code_unload(code);
}

static void
test_open(void **state)
{
    struct fixture *f = *state;
    struct rt_device *dev;
    rt_stream one, two;
    assert_true(rt_open(f->rt, RT_CPU, 0, &dev, &f->diag));
    assert_ptr_equal(dev, f->dev);
    assert_int_equal(dev->info.n_processors, 4);
    assert_string_equal(dev->info.target, "host");
    assert_true(rt_stream_create(dev, NULL, &one, NULL, &f->diag));
    assert_true(rt_stream_create(dev, NULL, &two, NULL, &f->diag));
    assert_true(one && two && one != two);
    assert_true(rt_stream_destroy(dev, one, &f->diag));
    assert_false(rt_open(f->rt, RT_CPU, 1, &dev, &f->diag));
    assert_int_equal(f->diag.code, SP_E_NO_DEVICE);
    setenv("GPUJIT_CPU_THREADS", "3", 1);
    struct rt_runtime *rt = rt_runtime_create(NULL);
    reset(f);
    assert_true(rt_open(rt, RT_CPU, 0, &dev, &f->diag));
    assert_int_equal(dev->info.n_processors, 3);
    rt_runtime_destroy(rt);
    unsetenv("GPUJIT_CPU_THREADS");
}

int
main(void)
{
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_no_threads),
        WITH_DEVICE(test_every_block_once),
        WITH_DEVICE(test_order),
        WITH_DEVICE(test_shared),
        WITH_DEVICE(test_fault),
        WITH_DEVICE(test_cancel),
        WITH_DEVICE(test_unload_while_queued),
        WITH_DEVICE(test_load_fails),
        WITH_DEVICE(test_memory),
        WITH_DEVICE(test_free_does_not_wait),
        WITH_DEVICE(test_fork),
        WITH_DEVICE(test_rounding),
        WITH_DEVICE(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
