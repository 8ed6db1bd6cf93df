/* Lists of warnings: one of a code per line, own strings, the tables. */
#include <stdlib.h>
#include <string.h>

#include "support/warning.h"
#include "tests/support/check.h"

static void
test_once_per_line(void **state)
{
    (void)state;
    struct sp_warnings list = {0};
    char file[] = "a.py";
    struct sp_src where = {.file = file, .function = "f", .line = 3};
    sp_warning_add(&list, SP_W_UINT32_GROWS, &where, "'>>'");
    sp_warning_add(&list, SP_W_UINT32_GROWS, &where, "'%'");
    assert_int_equal(list.n, 1);
    assert_true(strstr(list.data[0].text, "'>>' of an int") == list.data[0].text);
    file[0] = 'b'; /* the list has its own copy, so this is another file */
    assert_string_equal(list.data[0].where.file, "a.py");
    sp_warning_add(&list, SP_W_UINT32_GROWS, &where, "'%'");
    where.line = 4;
    sp_warning_add(&list, SP_W_UINT32_GROWS, &where, "'%'");
    sp_warning_add(&list, SP_W_HALF_SUM, &where, "acc", "float16");
    assert_int_equal(list.n, 4);
    assert_int_equal(list.data[3].code, SP_W_HALF_SUM);
    sp_warnings_finish(&list);
    assert_int_equal(list.n, 0);
}

static void
test_places_without_a_file(void **state)
{
    (void)state;
    struct sp_warnings list = {0};
    struct sp_src where = {.line = 1};
    sp_warning_add(&list, SP_W_HALF_RANGE, &where, "100000", "float16");
    sp_warning_add(&list, SP_W_HALF_RANGE, &where, "100000", "float16");
    where.file = "a.py";
    sp_warning_add(&list, SP_W_HALF_RANGE, &where, "100000", "float16");
    assert_int_equal(list.n, 2);
    sp_warnings_finish(&list);
}

static void
test_tables(void **state)
{
    (void)state;
    assert_string_equal(sp_warning_name(SP_W_DOUBLE), "DOUBLE");
    for (int i = 0; i < SP_N_WARNINGS; i++) {
        enum sp_warning_class class = sp_warning_class((enum sp_warning_code)i);
        assert_true(class < SP_N_WARNING_CLASSES);
        assert_true(strlen(sp_warning_class_doc(class)) > 10);
    }
    assert_string_equal(sp_warning_class_name(SP_WARNING_CLASS_PERFORMANCE), "PerformanceWarning");
    char *text = sp_warning_text(SP_W_SMALL_GRID, "k", 1LL, "", 64LL, 132, 131);
    assert_true(strstr(text, "1 block of 64 threads") != NULL);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_per_line),
        cmocka_unit_test(test_places_without_a_file),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
