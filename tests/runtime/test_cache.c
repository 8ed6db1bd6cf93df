/* The memory cache: claims, failures, growth, keys of any length, and many threads that all want
 * the same values, each of which must be made exactly once. Run under ThreadSanitizer by hand:
 * meson setup -Db_sanitize=thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/rt.h"
#include "tests/support/check.h"

static int n_destroyed;

static void
count_destroyed(void *value)
{
    (void)value;
    n_destroyed++;
}

static struct rt_key
key_of(uint64_t number, int n_words)
{
    struct rt_key key;
    rt_key_init(&key);
    for (int i = 0; i < n_words; i++)
        rt_key_add(&key, number + (uint64_t)i);
    return key;
}

static void
test_claims(void **state)
{
    (void)state;
    int value = 7;
    void *got = NULL;
    struct rt_cache *cache = rt_cache_create(NULL);
    struct rt_key key = key_of(1, 3);
    assert_int_equal(rt_cache_begin(cache, &key, &got), RT_MINE);
    assert_int_equal(rt_cache_begin(cache, &key, &got), RT_WAIT);
    assert_int_equal(rt_cache_wait(cache, &key, 5, &got), RT_WAIT);
    assert_null(got);
    rt_cache_publish(cache, &key, &value);
    assert_int_equal(rt_cache_begin(cache, &key, &got), RT_HIT);
    assert_ptr_equal(got, &value);
    got = NULL;
    assert_int_equal(rt_cache_wait(cache, &key, -1, &got), RT_HIT);
    assert_ptr_equal(got, &value);
    struct rt_key other = key_of(2, 3);
    assert_int_equal(rt_cache_begin(cache, &other, &got), RT_MINE);
    rt_cache_publish(cache, &other, NULL);
    assert_int_equal(rt_cache_begin(cache, &other, &got), RT_MINE);
    rt_cache_publish(cache, &other, NULL);
    rt_cache_destroy(cache);
}

static void
count_each(void *context, void *value)
{
    *(uint64_t *)context += *(uint64_t *)value;
}

static void
test_growth_and_each(void **state)
{
    (void)state;
    enum { N = 1000 };
    static uint64_t values[N];
    n_destroyed = 0;
    struct rt_cache *cache = rt_cache_create(count_destroyed);
    void *got;
    for (uint64_t i = 0; i < N; i++) {
        struct rt_key key = key_of(i, 1);
        values[i] = i;
        assert_int_equal(rt_cache_begin(cache, &key, &got), RT_MINE);
        rt_cache_publish(cache, &key, &values[i]);
    }
    for (uint64_t i = 0; i < N; i++) {
        struct rt_key key = key_of(i, 1);
        assert_int_equal(rt_cache_begin(cache, &key, &got), RT_HIT);
        assert_ptr_equal(got, &values[i]);
    }
    uint64_t sum = 0;
    rt_cache_each(cache, count_each, &sum);
    assert_int_equal(sum, N * (N - 1) / 2);
    rt_cache_destroy(cache);
    assert_int_equal(n_destroyed, N);
}

/* Keys of equal hash must be told apart by their words, long keys by all of theirs. */
static void
test_keys(void **state)
{
    (void)state;
    struct rt_cache *cache = rt_cache_create(NULL);
    void *got;
    int one = 1, two = 2;
    struct rt_key a = key_of(1, 2), b = key_of(5, 2);
    b.hash = a.hash;
    assert_int_equal(rt_cache_begin(cache, &a, &got), RT_MINE);
    rt_cache_publish(cache, &a, &one);
    assert_int_equal(rt_cache_begin(cache, &b, &got), RT_MINE);
    rt_cache_publish(cache, &b, &two);
    assert_int_equal(rt_cache_begin(cache, &b, &got), RT_HIT);
    assert_ptr_equal(got, &two);

    for (int n = RT_KEY_WORDS - 1; n < 5 * RT_KEY_WORDS; n++) {
        struct rt_key key = key_of(100, n), first = key_of(100, n), last = first;
        assert_int_equal(key.n_total, n);
        rt_key_init(&first);
        rt_key_init(&last);
        for (int i = 0; i < n; i++) {
            rt_key_add(&first, i == 0 ? 0 : 100 + (uint64_t)i);
            rt_key_add(&last, i == n - 1 ? 0 : 100 + (uint64_t)i);
        }
        first.hash = last.hash = key.hash;
        assert_int_equal(rt_cache_begin(cache, &key, &got), RT_MINE);
        rt_cache_publish(cache, &key, &one);
        assert_int_equal(rt_cache_begin(cache, &first, &got), RT_MINE);
        rt_cache_publish(cache, &first, &two);
        assert_int_equal(rt_cache_begin(cache, &last, &got), RT_MINE);
        rt_cache_publish(cache, &last, &two);
        struct rt_key again = key_of(100, n);
        assert_int_equal(rt_cache_begin(cache, &again, &got), RT_HIT);
        assert_ptr_equal(got, &one);
    }
    rt_cache_destroy(cache);
}

enum { N_THREADS = 8, N_KEYS = 200, N_ROUNDS = 20 };

struct crowd {
    struct rt_cache *cache;
    _Atomic(int) n_made[N_KEYS];
    _Atomic(int) n_failed;
    _Atomic(int) n_wrong;
    pthread_barrier_t start;
};

/* Every third key fails the first time it is made, so that waiters take over. */
static void *
crowd_make(struct crowd *crowd, int k)
{
    if (k % 3 == 0 && atomic_fetch_add(&crowd->n_made[k], 0) == 0 &&
        atomic_fetch_add(&crowd->n_failed, 1) < N_KEYS / 3)
        return NULL;
    atomic_fetch_add(&crowd->n_made[k], 1);
    return (void *)(uintptr_t)(k + 1);
}

static void *
crowd_run(void *argument)
{
    struct crowd *crowd = argument;
    pthread_barrier_wait(&crowd->start);
    for (int i = 0; i < N_ROUNDS * N_KEYS; i++) {
        int k = i % N_KEYS;
        struct rt_key key = key_of((uint64_t)k * 1000, 1 + k % 20);
        void *value = NULL;
        enum rt_claim claim = rt_cache_begin(crowd->cache, &key, &value);
        while (claim == RT_WAIT)
            claim = rt_cache_wait(crowd->cache, &key, 10, &value);
        while (claim == RT_MINE) {
            value = crowd_make(crowd, k);
            rt_cache_publish(crowd->cache, &key, value);
            claim = value ? RT_HIT : rt_cache_begin(crowd->cache, &key, &value);
            while (claim == RT_WAIT)
                claim = rt_cache_wait(crowd->cache, &key, -1, &value);
        }
        if (value != (void *)(uintptr_t)(k + 1))
            atomic_fetch_add(&crowd->n_wrong, 1);
    }
    return NULL;
}

static void
test_many_threads(void **state)
{
    (void)state;
    static struct crowd crowd;
    crowd.cache = rt_cache_create(NULL);
    pthread_barrier_init(&crowd.start, NULL, N_THREADS);
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &crowd), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.n_wrong, 0);
    assert_true(crowd.n_failed > 0);
    for (int k = 0; k < N_KEYS; k++)
        assert_int_equal(crowd.n_made[k], 1);
    pthread_barrier_destroy(&crowd.start);
    rt_cache_destroy(crowd.cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_growth_and_each),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
