/* Threads that wait for each other on the cpu device, without LLVM: kernels are C functions that
 * keep their state in a frame, as compiled coroutines do. Barriers, meetings of lanes, spinning on
 * memory, the grid's barrier, all in many blocks on several workers, and every error. With
 *     meson setup build-tsan -Db_sanitize=thread -Dextension=false && meson test -C build-tsan 'runtime *'
 * ThreadSanitizer sees all of the scheduler (compiled kernels it would not see). */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/runtime/fake_link.h"
#include "tests/runtime/fixture.h"

/* ---- Kernels ---- */

struct params {
    int64_t *x;
    _Atomic(int64_t) *shared; /* by the whole grid */
    int64_t n;
};

struct frame {
    const struct sp_block *block;
    const struct params *params;
    struct sp_thread *thread;
    uint32_t (*body)(struct frame *f);
    int64_t round, value;
    int at; /* where to go on */
};

/* Wait sites, numbered from 1 as a thread's `wait` is. */
enum { END, BARRIER, COUNT, GRID, SPIN, MEET, MEET_OTHER, N_SITES };

static void
resume(void *handle)
{
    struct frame *f = handle;
    f->thread->wait = f->body(f);
}

static void
begin(const struct sp_block *block, const void *params, struct sp_thread *thread, void *memory,
      uint32_t (*body)(struct frame *f))
{
    struct frame *f = memory;
    *f = (struct frame){.block = block, .params = params, .thread = thread, .body = body};
    thread->handle = f;
    resume(f);
}

static int64_t
threads_of(const struct frame *f)
{
    const uint32_t *d = f->block->block_dim;
    return (int64_t)d[0] * d[1] * d[2];
}

static int64_t
rank_of(const struct frame *f)
{
    const uint32_t *d = f->block->block_dim, *i = f->thread->index;
    return i[0] + (int64_t)d[0] * (i[1] + (int64_t)d[1] * i[2]);
}

/* A body is a switch over `at`, which BEGIN opens; WAIT leaves it and comes back. */
#define BEGIN                                                                                      \
    switch (f->at) {                                                                               \
    case 0:
#define WAIT(site)                                                                                 \
    do {                                                                                           \
        f->at = __LINE__;                                                                          \
        return site;                                                                               \
    case __LINE__:;                                                                                \
    } while (0)
#define FINISH                                                                                     \
    }                                                                                              \
    return END

/* The block's row of x turns by one and grows, n times. */
static uint32_t
body_rotate(struct frame *f)
{
    int64_t n = threads_of(f), i = rank_of(f);
    int64_t *x = f->params->x + (int64_t)f->block->block_idx[0] * n;
    BEGIN;
    for (; f->round < f->params->n; f->round++) {
        f->value = x[(i + 1) % n];
        WAIT(BARRIER);
        x[i] = f->value + 1;
        WAIT(BARRIER);
    }
    FINISH;
}

/* How many threads are above n; thread 3 has ended by then. */
static uint32_t
body_count(struct frame *f)
{
    int64_t i = rank_of(f);
    BEGIN;
    if (i == 3)
        break;
    f->thread->operand = i > f->params->n;
    WAIT(COUNT);
    f->params->x[i] = (int64_t)f->thread->result;
    FINISH;
}

/* Blocks go one after the other. */
static uint32_t
body_chain(struct frame *f)
{
    int64_t b = f->block->block_idx[0], n = threads_of(f);
    BEGIN;
    while (atomic_load_explicit(f->params->shared, memory_order_acquire) != b)
        WAIT(SPIN);
    f->params->x[b * n + rank_of(f)] = b;
    WAIT(BARRIER);
    if (rank_of(f) == 0)
        atomic_store_explicit(f->params->shared, b + 1, memory_order_release);
    FINISH;
}

/* The same from the last block on: all of them must have begun. */
static uint32_t
body_reverse(struct frame *f)
{
    int64_t b = f->block->block_idx[0];
    BEGIN;
    while (atomic_load(f->params->shared) != (int64_t)f->block->grid_dim[0] - 1 - b)
        WAIT(SPIN);
    WAIT(BARRIER);
    if (rank_of(f) == 0)
        atomic_fetch_add(f->params->shared, 1);
    FINISH;
}

/* A lock around a counter that is not atomic. */
static uint32_t
body_lock(struct frame *f)
{
    BEGIN;
    for (; f->round < f->params->n; f->round++) {
        while (atomic_exchange_explicit(f->params->shared, 1, memory_order_acquire))
            WAIT(SPIN);
        f->params->x[0]++;
        atomic_store_explicit(f->params->shared, 0, memory_order_release);
    }
    FINISH;
}

/* x of all threads of the grid turns by one, between barriers of the grid. */
static uint32_t
body_grid(struct frame *f)
{
    int64_t n = threads_of(f), all = n * f->block->grid_dim[0], *x = f->params->x;
    int64_t i = (int64_t)f->block->block_idx[0] * n + rank_of(f);
    BEGIN;
    for (; f->round < f->params->n; f->round++) {
        f->value = x[(i + 1) % all];
        WAIT(GRID);
        x[i] = f->value + 1;
        WAIT(GRID);
    }
    FINISH;
}

/* Lanes pass their values on within halves of their warps; lane 7 leaves. */
static uint32_t
body_meet(struct frame *f)
{
    int64_t i = rank_of(f), base = i / 16 * 16, *x = f->params->x;
    BEGIN;
    if (i == 7)
        break;
    for (; f->round < f->params->n; f->round++) {
        f->thread->mask = i % 32 < 16 ? 0xffff : 0xffff0000;
        f->value = x[base + (i + 1) % 16];
        WAIT(MEET);
        x[i] = f->value + 1;
        f->thread->mask = i % 32 < 16 ? 0xffff : 0xffff0000;
        WAIT(MEET);
    }
    FINISH;
}

/* What goes wrong, by n. */
enum wrong { STRAY, KINDS, MEETINGS, MASK, BARRIERS, FOREVER };

static uint32_t
body_wrong(struct frame *f)
{
    int64_t i = rank_of(f);
    BEGIN;
    f->thread->mask = UINT32_MAX;
    switch ((enum wrong)f->params->n) {
    case STRAY:
        if (i < 5)
            return END;
        return i == 9 ? MEET : BARRIER;
    case KINDS: return i == 9 ? COUNT : BARRIER;
    case MEETINGS: return i == 9 ? MEET_OTHER : MEET;
    case MASK: f->thread->mask = i == 9 ? 1 : UINT32_MAX; return MEET;
    case FOREVER:
    case BARRIERS: break;
    }
    WAIT(BARRIER);
    FINISH;
}

/* Nobody ever comes to an end. */
static uint32_t
body_endless(struct frame *f)
{
    atomic_store(f->params->shared, 1);
    return f->params->n == FOREVER ? SPIN : BARRIER;
}

#define KERNEL(name)                                                                               \
    static void start_##name(const struct sp_block *block, const void *params,                     \
                             struct sp_thread *thread, void *frame)                                \
    {                                                                                              \
        begin(block, params, thread, frame, body_##name);                                          \
    }                                                                                              \
    static void entry_##name(struct sp_waiting *out)                                               \
    {                                                                                              \
        *out = (struct sp_waiting){sizeof(struct frame), start_##name, resume};                    \
    }
KERNEL(rotate)
KERNEL(count)
KERNEL(chain)
KERNEL(reverse)
KERNEL(lock)
KERNEL(grid)
KERNEL(meet)
KERNEL(wrong)
KERNEL(endless)

#define ENTRY(name) {#name, (cpu_entry)(void (*)(void))entry_##name}
static const struct fake_entry kernels[] = {
    ENTRY(rotate), ENTRY(count), ENTRY(chain), ENTRY(reverse), ENTRY(lock),
    ENTRY(grid),   ENTRY(meet),  ENTRY(wrong), ENTRY(endless),
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
load(struct fixture *f, const char *entry)
{
    static const struct {
        enum sp_wait_kind kind;
        const char *name;
        uint8_t operation;
    } sites[N_SITES - 1] = {
        {SP_WAIT_BARRIER, "gpu.syncthreads", 0}, {SP_WAIT_COUNT, "gpu.syncthreads_count", 0},
        {SP_WAIT_GRID, "gpu.grid_sync", 0},      {SP_WAIT_SPIN, "loop", 0},
        {SP_WAIT_MEET, "gpu.syncwarp", 0},       {SP_WAIT_MEET, "gpu.other", 1},
    };
    struct artifact *artifact = sp_artifact_create();
    artifact->kind = SP_CODE_OBJECT;
    artifact->entry = copy_text(entry);
    artifact->name = copy_text(entry);
    artifact->params_size_B = sizeof(struct params);
    artifact->n_waits = N_SITES - 1;
    artifact->waits = sp_alloc((N_SITES - 1) * sizeof *artifact->waits);
    for (uint32_t i = 0; i < N_SITES - 1; i++) {
        struct sp_src where = {"k.py", "k", 10 + (int32_t)i, 10 + (int32_t)i, 4, 8};
        artifact->waits[i] = (struct sp_wait_site){.kind = (uint8_t)sites[i].kind,
                                                   .operation = sites[i].operation,
                                                   .where = sp_src_copy(&where),
                                                   .name = copy_text(sites[i].name)};
    }
    struct rt_code *code = NULL;
    assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    return code;
}

static void
check_fails(struct fixture *f, const char *code, const char *text)
{
    assert_false(rt_device_synchronize(f->dev, &f->diag));
    assert_string_equal(sp_error_name(f->diag.code), code);
    if (!strstr(f->diag.message, text))
        fail_msg("'%s' is not in '%s'", text, f->diag.message);
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
}

/* x[i] = i, turned by one and grown, `rounds` times; rows of n. */
static void
check_turned(const int64_t *x, int64_t rows, int64_t n, int64_t rounds)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(x[r * n + i], r * n + (i + rounds) % n + rounds);
}

static int64_t *
numbers(int64_t n)
{
    int64_t *x = sp_alloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = i;
    return x;
}

/* ---- Tests ---- */

static void
test_barriers(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "rotate");
    static const uint32_t sizes[] = {1, 31, 33, 64, 1024};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k];
        int64_t *x = numbers(40 * n);
        struct params params = {x, NULL, 7};
        fixture_launch(f, code, 40, sizes[k], &params);
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        check_turned(x, 40, n, 7);
        free(x);
    }
    rt_code_unload(code);
}

static void
test_predicate(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "count");
    int64_t *x = numbers(100);
    struct params params = {x, NULL, 2};
    fixture_launch(f, code, 1, 100, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    for (int64_t i = 0; i < 100; i++)
        assert_int_equal(x[i], i == 3 ? 3 : 96); /* 4 to 99 */
    free(x);
    rt_code_unload(code);
}

static void
test_blocks_that_wait_for_blocks(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"chain", "reverse"};
    for (int way = 0; way < 2; way++) {
        struct rt_code *code = load(f, names[way]);
        for (int time = 0; time < 20; time++) {
            int64_t *x = numbers(50 * 8);
            _Atomic(int64_t) next = 0;
            struct params params = {x, &next, 0};
            fixture_launch(f, code, 50, 8, &params);
            assert_true(rt_device_synchronize(f->dev, &f->diag));
            assert_int_equal(next, 50);
            for (int64_t i = 0; way == 0 && i < 50 * 8; i++)
                assert_int_equal(x[i], i / 8);
            free(x);
        }
        rt_code_unload(code);
    }
}

static void
test_lock(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "lock");
    int64_t count = 0;
    _Atomic(int64_t) lock = 0;
    struct params params = {&count, &lock, 20};
    fixture_launch(f, code, 30, 40, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(count, 30 * 40 * 20);
    rt_code_unload(code);
}

static void
test_grid(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "grid");
    for (uint32_t blocks = 1; blocks < 40; blocks += 6) {
        int64_t *x = numbers(blocks * 16);
        struct params params = {x, NULL, 9};
        fixture_launch(f, code, blocks, 16, &params);
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        check_turned(x, 1, blocks * 16, 9);
        free(x);
    }
    rt_code_unload(code);
}

static void
test_meetings(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "meet");
    int64_t *x = numbers(64);
    struct params params = {x, NULL, 3};
    fixture_launch(f, code, 1, 64, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    for (int64_t i = 16; i < 64; i++)
        assert_int_equal(x[i], i / 16 * 16 + (i + 3) % 16 + 3);
    assert_int_equal(x[7], 7);
    assert_int_equal(x[6], 8); /* what lane 7 has, which never changes, and 1 */
    free(x);
    rt_code_unload(code);
}

static void
test_errors(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "wrong");
    static const struct {
        enum wrong how;
        const char *code, *text;
    } rows[] = {
        {STRAY, "DEADLOCK",
         "of 33 threads 27 wait in gpu.syncthreads() at line 10, 1 waits in gpu.syncwarp() at line "
         "14, 5 have ended"},
        {KINDS, "BARRIER_KINDS",
         "gpu.syncthreads() at line 10 and gpu.syncthreads_count() at line 11"},
        {MEETINGS, "MEET_KINDS", "gpu.syncwarp() at line 14 and gpu.other() at line 15"},
        {MASK, "MEET_MASK", "gpu.syncwarp() of lane 9 of warp 0 names others only"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct params params = {NULL, NULL, rows[i].how};
        fixture_launch(f, code, 20, 33, &params);
        check_fails(f, rows[i].code, rows[i].text);
    }
    struct params params = {NULL, NULL, BARRIERS}; /* the device is well afterwards */
    fixture_launch(f, code, 20, 33, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    rt_code_unload(code);
}

static void
test_limit(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "reverse");
    struct cpu_queue *queue = &((struct cpu_device *)f->dev)->queue;
    _Atomic(int64_t) next = 0;
    struct params params = {NULL, &next, 0};
    queue->blocks_B = 20 * 1024;
    fixture_launch(f, code, 50, 8, &params);
    check_fails(f, "TOO_MANY_WAITING", "20480 bytes are the limit");
    queue->blocks_B = 1024; /* not even one block */
    struct rt_launch how = {.grid = {1, 1, 1}, .block = {1024, 1, 1}};
    assert_false(rt_device_prepare(f->dev, code, &how, &f->diag));
    assert_string_equal(sp_error_name(f->diag.code), "NO_MEMORY");
    assert_non_null(strstr(f->diag.message, "the threads of a block, which wait for each other"));
    sp_diag_finish(&f->diag);
    queue->blocks_B = CPU_BLOCKS_B;
    next = 0;
    fixture_launch(f, code, 50, 8, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(next, 50);
    rt_code_unload(code);
}

static void
test_cancel(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, "endless");
    for (int way = 0; way < 2; way++) {
        _Atomic(int64_t) started = 0;
        struct params params = {NULL, &started, way ? FOREVER : BARRIERS};
        fixture_launch(f, code, 9, 70, &params);
        while (!started)
            usleep(100);
        rt_device_cancel(f->dev);
        check_fails(f, "CANCELLED", "endless");
    }
    rt_code_unload(code);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_barriers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_predicate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks_that_wait_for_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_meetings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
