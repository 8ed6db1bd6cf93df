/* The pool of memory over a source that counts, whose marks are reached when the test says so. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/pool.h"
#include "tests/support/check.h"

#define N_STREAMS 4
#define MIB ((uint64_t)1 << 20)

struct source {
    pthread_mutex_t lock;
    uint64_t memory_B, used_B;
    uint32_t n_allocs, n_frees, n_waits, n_marks, n_renewed;
    uint64_t begun[N_STREAMS], over[N_STREAMS]; /* pieces of work per stream */
    uint32_t captured;                          /* of this stream no mark can be had; 0: none */
    uint32_t n_waiting, most_waiting;           /* at the same time */
    enum pool_answer answer;
};

static enum pool_answer
source_alloc(void *context, uint64_t size_B, uint64_t *address_out, struct sp_diag *diag)
{
    struct source *source = context;
    pthread_mutex_lock(&source->lock);
    enum pool_answer answer = source->answer;
    if (answer == POOL_FAILED)
        sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "ordered");
    else if (source->used_B + size_B > source->memory_B)
        answer = POOL_FULL;
    if (answer == POOL_OK) {
        source->n_allocs++;
        source->used_B += size_B;
        *address_out = (uintptr_t)aligned_alloc(512, size_B);
    }
    pthread_mutex_unlock(&source->lock);
    return answer;
}

static void
source_free(void *context, uint64_t address, uint64_t size_B)
{
    struct source *source = context;
    pthread_mutex_lock(&source->lock);
    source->n_frees++;
    source->used_B -= size_B;
    pthread_mutex_unlock(&source->lock);
    free((void *)(uintptr_t)address);
}

/* A mark is a stream and how much work was begun there. */
static bool
source_mark(void *context, rt_stream stream, uint64_t *mark_out)
{
    struct source *source = context;
    pthread_mutex_lock(&source->lock);
    bool ok = !stream || stream != source->captured;
    source->n_marks += ok;
    *mark_out = source->begun[stream % N_STREAMS] * N_STREAMS + stream % N_STREAMS;
    pthread_mutex_unlock(&source->lock);
    return ok;
}

static bool
source_reached(void *context, uint64_t mark)
{
    struct source *source = context;
    pthread_mutex_lock(&source->lock);
    bool reached = source->over[mark % N_STREAMS] >= mark / N_STREAMS;
    pthread_mutex_unlock(&source->lock);
    return reached;
}

static void
source_unmark(void *context, uint64_t mark)
{
    struct source *source = context;
    (void)mark;
    pthread_mutex_lock(&source->lock);
    source->n_marks--;
    pthread_mutex_unlock(&source->lock);
}

static bool
source_wait(void *context)
{
    struct source *source = context;
    pthread_mutex_lock(&source->lock);
    source->n_waits++;
    if (++source->n_waiting > source->most_waiting)
        source->most_waiting = source->n_waiting;
    uint64_t begun[N_STREAMS];
    memcpy(begun, source->begun, sizeof begun);
    pthread_mutex_unlock(&source->lock);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* others may come meanwhile */
    pthread_mutex_lock(&source->lock);
    for (int i = 0; i < N_STREAMS; i++)
        if (source->over[i] < begun[i])
            source->over[i] = begun[i];
    source->n_waiting--;
    pthread_mutex_unlock(&source->lock);
    return true;
}

static void
source_info(void *context, uint64_t *free_B_out, uint64_t *total_B_out)
{
    const struct source *source = context;
    *free_B_out = source->memory_B - source->used_B;
    *total_B_out = source->memory_B;
}

static void
source_renew(void *context, uint64_t address, uint64_t size_B)
{
    ((struct source *)context)->n_renewed++;
    memset((void *)(uintptr_t)address, 0, size_B);
}

struct fixture {
    struct source source;
    struct rt_pool *pool;
    struct sp_diag diag;
};

static struct fixture *
fixture_new(enum pool_order order, bool caching)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->source = (struct source){.memory_B = 100 * MIB, .answer = POOL_OK};
    pthread_mutex_init(&f->source.lock, NULL);
    const struct pool_source source = {.context = &f->source,
                                       .what = "test",
                                       .order = order,
                                       .round_B = 512,
                                       .alloc = source_alloc,
                                       .free = source_free,
                                       .mark = source_mark,
                                       .reached = source_reached,
                                       .unmark = source_unmark,
                                       .wait = source_wait,
                                       .info = source_info,
                                       .renew = source_renew};
    f->pool = rt_pool_create(&source, caching);
    sp_diag_init(&f->diag);
    return f;
}

static int
setup_ordered(void **state)
{
    *state = fixture_new(POOL_IN_ORDER, true);
    return 0;
}

static int
setup_marked(void **state)
{
    *state = fixture_new(POOL_MARKED, true);
    return 0;
}

static int
setup_noted(void **state)
{
    *state = fixture_new(POOL_NOTED, true);
    return 0;
}

static int
setup_plain(void **state)
{
    *state = fixture_new(POOL_IN_ORDER, false);
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    rt_pool_destroy(f->pool);
    assert_int_equal(f->source.used_B, 0);
    assert_int_equal(f->source.n_allocs, f->source.n_frees);
    assert_int_equal(f->source.n_marks, 0);
    sp_diag_finish(&f->diag);
    free(f);
    return 0;
}

static uint64_t
take(struct fixture *f, uint64_t size_B, rt_stream stream)
{
    uint64_t address = 0;
    assert_true(rt_pool_alloc(f->pool, size_B, stream, &address, &f->diag));
    assert_int_not_equal(address, 0);
    assert_int_equal(address % 256, 0);
    ((unsigned char *)(uintptr_t)address)[0] = 0x55;
    ((unsigned char *)(uintptr_t)address)[size_B - 1] = 0x55;
    return address;
}

static void
give(struct fixture *f, uint64_t address)
{
    assert_true(rt_pool_free(f->pool, address));
}

static struct rt_pool_stats
stats(struct fixture *f)
{
    struct rt_pool_stats numbers;
    rt_pool_get_stats(f->pool, &numbers);
    return numbers;
}

static void
test_cycles(void **state)
{
    struct fixture *f = *state;
    static const uint64_t sizes[] = {1, 511, 512, 513, 40000, MIB, MIB + 1, 3 * MIB, 12 * MIB};
    uint64_t held[9] = {0};
    for (int i = 0; i < 9; i++)
        held[i] = take(f, sizes[i], 0);
    for (int i = 0; i < 9; i++)
        give(f, held[i]);
    uint32_t n_allocs = f->source.n_allocs;
    uint64_t n_hits = stats(f).n_hits;
    for (int i = 0; i < 100000; i++) {
        give(f, held[i % 9] = take(f, sizes[i % 9], 0));
        f->source.begun[0]++; /* work that is never over: no matter on the same stream */
    }
    assert_int_equal(f->source.n_allocs, n_allocs);
    assert_int_equal(f->source.n_frees, 0);
    assert_int_equal(f->source.n_waits, 0);
    assert_int_equal(stats(f).n_hits, n_hits + 100000);
    assert_int_equal(stats(f).in_use_B, 0);
    assert_int_equal(stats(f).n_live, 0);
    assert_int_equal(stats(f).n_driver_allocs, n_allocs);
    assert_int_equal(rt_pool_trim(f->pool, 0), stats(f).peak_reserved_B);
    assert_int_equal(stats(f).reserved_B, 0);
    assert_int_equal(f->source.used_B, 0);
}

static void
test_numbers(void **state)
{
    struct fixture *f = *state;
    uint64_t a = take(f, 100, 0), b = take(f, 1000, 0), base = 0, size_B = 0;
    assert_int_equal(stats(f).in_use_B, 512 + 1024);
    assert_int_equal(stats(f).reserved_B, 2 * MIB);
    assert_int_equal(stats(f).n_misses, 1);
    assert_int_equal(stats(f).n_hits, 1);
    assert_true(rt_pool_find(f->pool, b + 999, &base, &size_B));
    assert_true(base == b && size_B == 1000);
    assert_false(rt_pool_find(f->pool, b + 1000, &base, &size_B));
    assert_false(rt_pool_find(f->pool, a + 100, &base, &size_B));
    give(f, a);
    assert_false(rt_pool_free(f->pool, a));
    assert_false(rt_pool_free(f->pool, b + 8));
    assert_true(rt_pool_free(f->pool, 0));
    assert_false(rt_pool_find(f->pool, a, &base, &size_B));
    assert_int_equal(stats(f).in_use_B, 1024);
    assert_int_equal(stats(f).peak_in_use_B, 1536);
    rt_pool_reset_peak(f->pool);
    assert_int_equal(stats(f).peak_in_use_B, 1024);
    give(f, b);
    /* What lay apart is one again. */
    assert_int_equal(take(f, MIB, 0), a);
    assert_int_equal(f->source.n_allocs, 1);
}

static void
test_streams(void **state)
{
    struct fixture *f = *state;
    rt_pool_know(f->pool, 1024 + 1); /* the source knows it as 1 */
    rt_pool_know(f->pool, 1024 + 2);
    uint64_t a = take(f, 20 * MIB, 1024 + 1);
    f->source.begun[1]++;
    give(f, a);
    assert_int_equal(take(f, 20 * MIB, 1024 + 1), a); /* at once on its own stream */
    give(f, a);
    uint64_t b = take(f, 20 * MIB, 1024 + 2); /* its work is not over */
    assert_int_not_equal(a, b);
    uint64_t c = take(f, 20 * MIB, 0);
    assert_int_not_equal(c, a);
    f->source.over[1] = f->source.begun[1];
    assert_int_equal(take(f, 20 * MIB, 1024 + 2), a);
    assert_int_equal(f->source.n_waits, 0);
}

static void
test_uses(void **state)
{
    struct fixture *f = *state;
    rt_stream home = 77;
    bool has_home = false;
    rt_pool_know(f->pool, 1024 + 1);
    uint64_t a = take(f, 20 * MIB, 0);
    assert_false(rt_pool_use(f->pool, a, 0, &home, &has_home));
    assert_false(rt_pool_use(f->pool, a, 1, &home, &has_home)); /* by its other name */
    assert_true(rt_pool_use(f->pool, a, 1024 + 1, &home, &has_home));
    assert_true(has_home && home == 0);
    assert_false(rt_pool_use(f->pool, a, 1024 + 1, &home, &has_home));
    assert_false(rt_pool_use(f->pool, a + 1000, 1024 + 1, &home, &has_home)); /* inside of it */
    assert_false(rt_pool_use(f->pool, 512, 1024 + 2, &home, &has_home));      /* not ours */
    f->source.begun[1]++;
    give(f, a);
    assert_int_equal(stats(f).pending_B, 20 * MIB);
    assert_int_not_equal(take(f, 20 * MIB, 0), a); /* not even on its own stream */
    f->source.over[1] = 1;
    assert_int_equal(take(f, 20 * MIB, 0), a);
    assert_int_equal(stats(f).pending_B, 0);
}

/* A stream that we know nothing of gets what is idle, and a mark at each freeing. */
static void
test_foreign_streams(void **state)
{
    struct fixture *f = *state;
    uint64_t a = take(f, 20 * MIB, 1024 + 3);
    f->source.begun[3]++;
    give(f, a);
    assert_int_not_equal(take(f, 20 * MIB, 1024 + 3), a);
    f->source.over[3]++;
    assert_int_equal(take(f, 20 * MIB, 1024 + 3), a);
    give(f, a);
    assert_int_equal(take(f, 20 * MIB, 0), a);
}

static void
test_destroyed_stream(void **state)
{
    struct fixture *f = *state;
    rt_pool_know(f->pool, 1024 + 1);
    uint64_t a = take(f, 20 * MIB, 1024 + 1), b = take(f, 20 * MIB, 1024 + 1);
    f->source.begun[1]++;
    give(f, a);
    rt_pool_forget(f->pool, 1024 + 1); /* the handle may be a new stream's from here on */
    rt_pool_know(f->pool, 1024 + 1);
    f->source.captured = 1024 + 1; /* and is never asked again */
    assert_int_not_equal(take(f, 20 * MIB, 1024 + 1), a);
    give(f, b);
    assert_int_equal(stats(f).pending_B, 20 * MIB);
    f->source.over[1] = 1;
    assert_int_equal(take(f, 20 * MIB, 0) + take(f, 20 * MIB, 0), a + b);
    assert_int_equal(stats(f).n_driver_allocs, 3);
}

/* Memory that outlives many streams keeps marks of the work that is not over, no others. */
static void
test_many_streams(void **state)
{
    struct fixture *f = *state;
    rt_stream home;
    bool has_home;
    uint64_t a = take(f, 20 * MIB, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        rt_pool_know(f->pool, 1024 + 1);
        assert_true(rt_pool_use(f->pool, a, 1024 + 1, &home, &has_home));
        f->source.over[1] = f->source.begun[1]++;
        rt_pool_forget(f->pool, 1024 + 1);
        assert_int_equal(f->source.n_marks, 1);
    }
    give(f, a);
    assert_int_not_equal(take(f, 20 * MIB, 0), a);
    f->source.over[1] = f->source.begun[1];
    assert_int_equal(take(f, 20 * MIB, 0), a);
    assert_int_equal(f->source.n_marks, 0);
}

static void
test_captured_stream(void **state)
{
    struct fixture *f = *state;
    rt_stream home;
    bool has_home;
    uint64_t a = take(f, 20 * MIB, 0);
    f->source.captured = 1024 + 2;
    assert_true(rt_pool_use(f->pool, a, 1024 + 2, &home, &has_home));
    give(f, a);
    assert_int_not_equal(take(f, 20 * MIB, 0), a);
    f->source.captured = 0;
    assert_int_equal(take(f, 20 * MIB, 0), a); /* the mark could be set, and is reached */
}

static void
test_host_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t a = take(f, 20 * MIB, 0);
    rt_stream home;
    bool has_home;
    assert_true(rt_pool_use(f->pool, a, 0, &home, &has_home));
    assert_false(has_home);
    f->source.begun[0]++;
    give(f, a);
    assert_int_not_equal(take(f, 20 * MIB, 0), a); /* the host could write it */
    f->source.over[0]++;
    assert_int_equal(take(f, 20 * MIB, 1024 + 2), a);
    give(f, a);
    assert_int_equal(take(f, 20 * MIB, 0), a); /* no stream has used it */
}

static void
test_marked_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t a = take(f, 20 * MIB, 0);
    f->source.begun[0]++;
    rt_pool_export(f->pool, a);
    give(f, a);
    assert_int_not_equal(take(f, 20 * MIB, 0), a);
    assert_int_equal(f->source.n_renewed, 0);
    f->source.over[0]++;
    assert_int_equal(take(f, 20 * MIB, 0), a);
    assert_int_equal(f->source.n_renewed, 1);
    give(f, a);
    assert_int_equal(f->source.n_renewed, 1);
}

static void
test_out_of_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t held[5], address = 0;
    for (int i = 0; i < 5; i++)
        held[i] = take(f, 20 * MIB, 0);
    assert_false(rt_pool_alloc(f->pool, 30 * MIB, 0, &address, &f->diag));
    assert_int_equal(f->diag.code, SP_E_NO_MEMORY);
    assert_string_equal(f->diag.message,
                        "31457280 bytes of test memory cannot be had: 0 of 104857600 bytes are "
                        "free, 104857600 are in arrays, the pool keeps 0");
    assert_int_equal(f->source.n_waits, 1);
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
    give(f, held[0]);
    give(f, held[2]);
    take(f, 30 * MIB, 0); /* the pool goes back to the source: nobody was waited for */
    assert_int_equal(f->source.n_waits, 1);
    assert_int_equal(f->source.n_frees, 2);
    rt_stream home;
    bool has_home;
    assert_true(rt_pool_use(f->pool, held[1], 1024 + 1, &home, &has_home));
    f->source.begun[1]++;
    give(f, held[1]);
    take(f, 25 * MIB, 0); /* 10 MiB are left, 20 more after a wait */
    assert_int_equal(f->source.n_waits, 2);
    assert_int_equal(stats(f).n_retries, 2);
    f->source.answer = POOL_FAILED;
    assert_false(rt_pool_alloc(f->pool, 60 * MIB, 0, &address, &f->diag));
    assert_int_equal(f->diag.code, SP_E_INTERNAL_ERROR);
    assert_false(rt_pool_try(f->pool, 60 * MIB, 0, &address));
    f->source.answer = POOL_OK;
}

static void
test_nonsense_sizes(void **state)
{
    struct fixture *f = *state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1000, (uint64_t)1 << 63, 101 * MIB};
    uint64_t address = 1;
    for (int i = 0; i < 4; i++) {
        assert_false(rt_pool_alloc(f->pool, sizes[i], 0, &address, &f->diag));
        assert_int_equal(f->diag.code, SP_E_NO_MEMORY);
        sp_diag_finish(&f->diag);
        sp_diag_init(&f->diag);
    }
    assert_true(rt_pool_alloc(f->pool, 0, 0, &address, &f->diag));
    assert_int_equal(address, 0);
}

static void
test_limit(void **state)
{
    struct fixture *f = *state;
    uint64_t address;
    rt_pool_set_limit(f->pool, 30 * MIB);
    uint64_t a = take(f, 20 * MIB, 0);
    assert_false(rt_pool_alloc(f->pool, 20 * MIB, 0, &address, &f->diag));
    assert_int_equal(f->diag.code, SP_E_NO_MEMORY);
    assert_non_null(strstr(f->diag.message, "its limit is 31457280"));
    assert_non_null(strstr(f->diag.hint, "set_limit"));
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
    give(f, a);
    take(f, 30 * MIB, 0); /* what is kept makes room */
    rt_pool_set_limit(f->pool, 0);
    take(f, 40 * MIB, 0);
}

static void
test_defer(void **state)
{
    struct fixture *f = *state;
    uint64_t a = take(f, 20 * MIB, 0), address;
    rt_pool_defer(f->pool, true);
    rt_pool_defer(f->pool, true);
    give(f, a);
    assert_false(rt_pool_try(f->pool, 20 * MIB, 0, &address));
    rt_pool_defer(f->pool, false);
    assert_false(rt_pool_try(f->pool, 20 * MIB, 0, &address));
    rt_pool_defer(f->pool, false);
    assert_true(rt_pool_try(f->pool, 20 * MIB, 0, &address));
    assert_int_equal(address, a);
    rt_pool_defer(f->pool, true); /* when memory runs out it is looked at all the same */
    give(f, a);
    take(f, 95 * MIB, 0);
    rt_pool_defer(f->pool, false);
}

static void
test_no_caching(void **state)
{
    struct fixture *f = *state;
    uint64_t a = take(f, 100, 0), b = take(f, 100, 0);
    assert_int_equal(f->source.n_allocs, 2);
    assert_int_equal(stats(f).reserved_B, 1024);
    give(f, a);
    assert_int_equal(f->source.n_frees, 1);
    give(f, b);
    assert_int_equal(f->source.used_B, 0);
}

/* Sizes, streams and an order that nobody has chosen: blocks never overlap. */
static void
test_random(void **state)
{
    struct fixture *f = *state;
    enum { N = 200 };
    struct {
        unsigned char *data;
        uint64_t size_B;
        unsigned char value;
    } held[N] = {0};
    uint64_t seed = 12345, in_use = 0;
    f->source.memory_B = 4096 * MIB;
    rt_pool_know(f->pool, 1024 + 1);
    rt_pool_know(f->pool, 1024 + 2);
    for (int step = 0; step < 20000; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)(seed >> 33) % N, stream = (uint32_t)(seed >> 50) % 4;
        f->source.begun[stream] += stream;
        f->source.over[stream] = f->source.begun[stream] - step % 2;
        if (held[i].data) {
            assert_int_equal(held[i].data[0], held[i].value);
            assert_int_equal(held[i].data[held[i].size_B - 1], held[i].value);
            give(f, (uintptr_t)held[i].data);
            held[i].data = NULL;
            in_use -= (held[i].size_B + 511) / 512 * 512;
            continue;
        }
        held[i].size_B = 1 + (seed >> 20) % (step % 10 ? 100000 : 5 * MIB);
        held[i].value = (unsigned char)step;
        uint64_t address = 0;
        assert_true(
            rt_pool_alloc(f->pool, held[i].size_B, stream ? 1024 + stream : 0, &address, &f->diag));
        held[i].data = (unsigned char *)(uintptr_t)address;
        held[i].data[0] = held[i].data[held[i].size_B - 1] = held[i].value;
        in_use += (held[i].size_B + 511) / 512 * 512;
        struct rt_pool_stats numbers = stats(f);
        assert_in_range(numbers.in_use_B, in_use, in_use + N * MIB); /* large blocks keep a rest */
        assert_in_range(numbers.reserved_B, numbers.in_use_B + numbers.pending_B, 4096 * MIB);
    }
}

struct worker {
    struct fixture *f;
    uint32_t number, n_wrong;
};

static void *
work(void *argument)
{
    struct worker *self = argument;
    uint64_t seed = self->number * 77777u + 1, held[16] = {0};
    rt_stream home;
    bool has_home;
    struct sp_diag diag;
    sp_diag_init(&diag);
    for (int step = 0; step < 5000; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)(seed >> 40) % 16;
        rt_stream stream = (seed >> 50) % 3 ? 1024 + (seed >> 50) % 3 : 0;
        if (held[i]) {
            if (*(uint32_t *)(uintptr_t)held[i] != self->number)
                self->n_wrong++;
            rt_pool_use(self->f->pool, held[i], stream, &home, &has_home);
            self->n_wrong += !rt_pool_free(self->f->pool, held[i]);
            held[i] = 0;
        } else if (!rt_pool_alloc(self->f->pool, 4 + (seed >> 20) % 300000, stream, &held[i],
                                  &diag)) {
            self->n_wrong++;
        } else {
            *(uint32_t *)(uintptr_t)held[i] = self->number;
        }
        if (step % 500 == 0)
            rt_pool_trim(self->f->pool, 4 * MIB);
        if (step % 700 == 0) {
            rt_pool_defer(self->f->pool, true);
            rt_pool_defer(self->f->pool, false);
        }
    }
    for (int i = 0; i < 16; i++)
        self->n_wrong += !rt_pool_free(self->f->pool, held[i]);
    sp_diag_finish(&diag);
    return NULL;
}

static void
test_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[8];
    struct worker workers[8];
    rt_pool_know(f->pool, 1024 + 1);
    rt_pool_know(f->pool, 1024 + 2);
    f->source.memory_B = 24 * MIB; /* so that it runs out */
    for (uint32_t i = 0; i < 8; i++) {
        workers[i] = (struct worker){f, i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].n_wrong, 0);
    }
    assert_int_equal(stats(f).in_use_B, 0);
    assert_int_equal(stats(f).n_live, 0);
}

static void *
ask_for_too_much(void *argument)
{
    struct fixture *f = argument;
    struct sp_diag diag;
    uint64_t address;
    sp_diag_init(&diag);
    bool ok = rt_pool_alloc(f->pool, 20 * MIB, 0, &address, &diag);
    sp_diag_finish(&diag);
    return ok ? f : NULL;
}

/* What a wait covers is known by when it began, of one at a time. */
static void
test_waits(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[4];
    void *got;
    uint64_t held = take(f, 90 * MIB, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_too_much, f), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &got);
        assert_null(got);
    }
    assert_int_equal(f->source.n_waits, 4);
    assert_int_equal(f->source.most_waiting, 1);
    give(f, held);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cycles, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_numbers, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_streams, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_uses, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_streams, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_destroyed_stream, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_many_streams, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_captured_stream, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_host_memory, setup_noted, teardown),
        cmocka_unit_test_setup_teardown(test_marked_memory, setup_marked, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_nonsense_sizes, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_defer, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_no_caching, setup_plain, teardown),
        cmocka_unit_test_setup_teardown(test_random, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup_ordered, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup_marked, teardown),
        cmocka_unit_test_setup_teardown(test_waits, setup_ordered, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
