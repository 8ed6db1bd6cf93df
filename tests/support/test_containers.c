/* Vector, map and bit set, each beside a plain model where there is one. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/bits.h"
#include "support/map.h"
#include "support/vec.h"

struct point {
    int x, y;
};

static void
check_vector(struct sp_arena *arena)
{
    SP_VEC(struct point) v = {0};
    for (int i = 0; i < 1000; i++)
        sp_vec_push(arena, &v, (struct point){.x = i, .y = -i});
    assert_int_equal(v.len, 1000);
    assert_true(v.cap >= v.len);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(v.data[i].x, i);
        assert_int_equal(v.data[i].y, -i);
    }
    struct point last = sp_vec_pop(&v);
    assert_int_equal(last.x, 999);
    assert_int_equal(v.len, 999);

    sp_vec_reserve(arena, &v, 5000);
    struct point *stays = v.data;
    for (int i = 0; i < 5000; i++)
        sp_vec_push(arena, &v, last);
    assert_ptr_equal(stays, v.data);
    assert_int_equal(v.data[0].x, 0);
    assert_int_equal(v.data[998].x, 998);
    if (!arena) {
        sp_vec_finish(&v);
        assert_null(v.data);
        assert_int_equal(v.len + v.cap, 0);
    }
}

static void
a_vector_grows_on_an_arena(void **state)
{
    (void)state;
    struct sp_arena arena;
    sp_arena_init(&arena);
    check_vector(&arena);
    sp_arena_finish(&arena);
}

static void
a_vector_grows_on_the_heap(void **state)
{
    (void)state;
    check_vector(NULL);
}

static void
a_vector_may_push_its_own_element(void **state)
{
    (void)state;
    SP_VEC(int) v = {0};
    sp_vec_push(NULL, &v, 7);
    for (int i = 0; i < 100; i++)
        sp_vec_push(NULL, &v, v.data[0]);
    assert_int_equal(v.data[100], 7);
    sp_vec_finish(&v);
}

static void
a_map_finds_what_was_interned(void **state)
{
    (void)state;
    struct sp_arena arena;
    struct sp_map map;
    sp_arena_init(&arena);
    sp_map_init(&map);
    assert_null(sp_map_find(&map, "x", 1));
    char key[32];
    bool is_new;
    for (uint32_t i = 0; i < 5000; i++) {
        int len = snprintf(key, sizeof key, "key %u", i);
        uint32_t *value = sp_map_intern(&map, &arena, key, (size_t)len, &is_new);
        assert_true(is_new);
        assert_int_equal(*value, 0);
        *value = i;
    }
    assert_int_equal(map.len, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        int len = snprintf(key, sizeof key, "key %u", i);
        assert_int_equal(*sp_map_find(&map, key, (size_t)len), i);
        assert_int_equal(*sp_map_intern(&map, &arena, key, (size_t)len, &is_new), i);
        assert_false(is_new);
    }
    assert_int_equal(map.len, 5000);
    assert_null(sp_map_find(&map, "key 5000", 8));
    sp_map_finish(&map);
    assert_null(sp_map_find(&map, "key 1", 5));
    sp_arena_finish(&arena);
}

static void
map_keys_differ_by_length_and_bytes(void **state)
{
    (void)state;
    struct sp_arena arena;
    struct sp_map map;
    sp_arena_init(&arena);
    sp_map_init(&map);
    static const struct {
        const char *bytes;
        size_t len;
    } keys[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"a\0c", 3}};
    bool is_new;
    for (uint32_t i = 0; i < 7; i++) {
        *sp_map_intern(&map, &arena, keys[i].bytes, keys[i].len, &is_new) = i + 1;
        assert_true(is_new);
    }
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(*sp_map_find(&map, keys[i].bytes, keys[i].len), i + 1);
    sp_map_finish(&map);
    sp_arena_finish(&arena);
}

static void
a_copied_map_goes_its_own_way(void **state)
{
    (void)state;
    struct sp_arena arena;
    struct sp_map from, copy, empty;
    sp_arena_init(&arena);
    sp_map_init(&from);
    sp_map_copy(&empty, &from);
    assert_null(sp_map_find(&empty, "a", 1));
    bool is_new;
    *sp_map_intern(&from, &arena, "a", 1, &is_new) = 1;
    sp_map_copy(&copy, &from);
    *sp_map_intern(&copy, &arena, "b", 1, &is_new) = 2;
    *sp_map_find(&copy, "a", 1) = 3;
    assert_int_equal(*sp_map_find(&from, "a", 1), 1);
    assert_null(sp_map_find(&from, "b", 1));
    assert_int_equal(*sp_map_find(&copy, "b", 1), 2);
    sp_map_finish(&from);
    sp_map_finish(&copy);
    sp_map_finish(&empty);
    sp_arena_finish(&arena);
}

static void
a_bit_set_is_a_set(void **state)
{
    (void)state;
    enum { N = 200 };
    struct sp_arena arena;
    struct sp_bits bits;
    bool model[N] = {0};
    sp_arena_init(&arena);
    sp_bits_init(&bits, &arena, N);
    uint32_t random = 1;
    for (int step = 0; step < 5000; step++) {
        random = random * 1664525u + 1013904223u;
        uint32_t i = (random >> 8) % N;
        if (random >> 31) {
            assert_int_equal(sp_bits_add(&bits, i), !model[i]);
            model[i] = true;
        } else {
            sp_bits_remove(&bits, i);
            model[i] = false;
        }
    }
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(sp_bits_has(&bits, i), model[i]);
    assert_false(sp_bits_has(&bits, N));
    assert_false(sp_bits_has(&bits, UINT32_MAX));
    sp_arena_finish(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_grows_on_an_arena),
        cmocka_unit_test(a_vector_grows_on_the_heap),
        cmocka_unit_test(a_vector_may_push_its_own_element),
        cmocka_unit_test(a_map_finds_what_was_interned),
        cmocka_unit_test(map_keys_differ_by_length_and_bytes),
        cmocka_unit_test(a_copied_map_goes_its_own_way),
        cmocka_unit_test(a_bit_set_is_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
