/* The string builder: growth, embedded zero bytes, formatting, handing over. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "support/str.h"

static void
text_is_always_terminated(void **state)
{
    (void)state;
    struct sp_str str;
    sp_str_init(&str);
    assert_string_equal(str.data, "");
    for (size_t i = 0; i < 1000; i++) {
        sp_str_add_char(&str, (char)('a' + i % 26));
        assert_int_equal(str.len, i + 1);
        assert_int_equal(str.data[str.len], 0);
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(str.data[i], 'a' + i % 26);
    sp_str_clear(&str);
    assert_string_equal(str.data, "");
    assert_int_equal(str.len, 0);
    sp_str_finish(&str);
}

static void
pieces_are_appended(void **state)
{
    (void)state;
    struct sp_str str;
    sp_str_init(&str);
    sp_str_add(&str, "x = ");
    sp_str_printf(&str, "%d%%, %s", 50, "half");
    sp_str_printf(&str, "%s", "");
    sp_str_add_n(&str, "\0!", 2);
    sp_str_add_n(&str, NULL, 0);
    assert_int_equal(str.len, 15);
    assert_memory_equal(str.data, "x = 50%, half\0!", 16);
    sp_str_finish(&str);
}

static void
a_long_format_fits(void **state)
{
    (void)state;
    struct sp_str str;
    sp_str_init(&str);
    sp_str_printf(&str, "%*d", 5000, 7);
    assert_int_equal(str.len, 5000);
    assert_int_equal(str.data[4998], ' ');
    assert_int_equal(str.data[4999], '7');
    sp_str_finish(&str);
}

static void
a_taken_text_leaves_an_empty_builder(void **state)
{
    (void)state;
    struct sp_str str;
    sp_str_init(&str);
    sp_str_add(&str, "kept");
    char *text = sp_str_take(&str);
    assert_int_equal(str.len, 0);
    sp_str_clear(&str);
    sp_str_add(&str, "next");
    assert_string_equal(text, "kept");
    assert_string_equal(str.data, "next");
    free(text);
    sp_str_finish(&str);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_always_terminated),
        cmocka_unit_test(pieces_are_appended),
        cmocka_unit_test(a_long_format_fits),
        cmocka_unit_test(a_taken_text_leaves_an_empty_builder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
