/* The arena: zeroed and aligned memory, requests larger than a chunk, text helpers. */
#include "tests/support/check.h"

#include <stdalign.h>

#include "support/arena.h"

static void
memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct sp_arena arena;
    sp_arena_init(&arena);
    for (size_t size_B = 0; size_B < 3000; size_B += 7) {
        unsigned char *memory = sp_arena_alloc(&arena, size_B);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        for (size_t i = 0; i < size_B; i++)
            assert_int_equal(memory[i], 0);
        if (size_B)
            memset(memory, 0xff, size_B);
    }
    sp_arena_finish(&arena);
}

static void
allocations_do_not_overlap(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct sp_arena arena;
    sp_arena_init(&arena);
    uint32_t *words[N];
    for (uint32_t i = 0; i < N; i++) {
        words[i] = SP_NEW_N(&arena, uint32_t, 1 + i % 50);
        for (uint32_t j = 0; j < 1 + i % 50; j++)
            words[i][j] = i;
    }
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < 1 + i % 50; j++)
            assert_int_equal(words[i][j], i);
    sp_arena_finish(&arena);
}

static void
a_large_request_gets_its_own_chunk(void **state)
{
    (void)state;
    struct sp_arena arena;
    sp_arena_init(&arena);
    const size_t size_B = 5u << 20;
    char *small = sp_arena_strdup(&arena, "before");
    char *large = sp_arena_alloc(&arena, size_B);
    memset(large, 1, size_B);
    char *next = sp_arena_alloc(&arena, 16);
    assert_string_equal(small, "before");
    assert_int_equal(large[size_B - 1], 1);
    assert_int_equal(next[0], 0);
    sp_arena_finish(&arena);
    assert_null(arena.chunks);
}

static void
text_is_copied_and_formatted(void **state)
{
    (void)state;
    struct sp_arena arena;
    sp_arena_init(&arena);
    char text[] = "block";
    char *copy = sp_arena_strdup(&arena, text);
    char *part = sp_arena_strndup(&arena, text, 3);
    text[0] = 'c';
    assert_string_equal(copy, "block");
    assert_string_equal(part, "blo");
    assert_string_equal(sp_arena_strndup(&arena, text, 0), "");
    assert_string_equal(sp_arena_printf(&arena, "%s %d", copy, 42), "block 42");
    const uint64_t number = 0x0123456789abcdef;
    assert_memory_equal(sp_arena_copy(&arena, &number, sizeof number), &number, sizeof number);
    assert_non_null(sp_arena_copy(&arena, NULL, 0));
    sp_arena_finish(&arena);
}

static void
an_arena_can_be_used_again(void **state)
{
    (void)state;
    struct sp_arena arena;
    sp_arena_init(&arena);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(*SP_NEW(&arena, int), 0);
        sp_arena_finish(&arena);
        sp_arena_finish(&arena);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(allocations_do_not_overlap),
        cmocka_unit_test(a_large_request_gets_its_own_chunk),
        cmocka_unit_test(text_is_copied_and_formatted),
        cmocka_unit_test(an_arena_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
