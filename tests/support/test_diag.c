/* Diagnostics: the first is kept, the strings are copies, and the printed text word for word. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/diag.h"

static const char *const lines[] = {
    "def kernel(x):",
    "    y = f(x, 1)",
    "\treturn caf\u00e9 + na\u00efve",
};

static bool
line_of_table(void *context, const char *file, int32_t line, struct sp_str *out)
{
    *(int *)context += 1;
    if (strcmp(file, "k.py") != 0 || line < 1 || line > 3)
        return false;
    sp_str_add(out, lines[line - 1]);
    return true;
}

static void
assert_printed(const struct sp_diag *diag, const char *expected)
{
    struct sp_str out;
    int calls = 0;
    sp_str_init(&out);
    sp_diag_print(diag, line_of_table, &calls, &out);
    assert_string_equal(out.data, expected);
    sp_str_finish(&out);
}

static void
the_first_diagnostic_is_kept(void **state)
{
    (void)state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    assert_false(sp_diag_hint(&diag, "nothing to hint at"));
    assert_false(sp_diag_note(&diag, NULL, "nothing to note"));
    assert_null(diag.hint);
    assert_int_equal(diag.n_notes, 0);

    assert_false(sp_diag_set(&diag, SP_E_UNKNOWN_NAME, NULL, "foo"));
    assert_false(sp_diag_set(&diag, SP_E_NOT_CALLABLE, NULL, "a tuple"));
    assert_int_equal(diag.code, SP_E_UNKNOWN_NAME);
    assert_string_equal(diag.message, "name 'foo' is not defined");
    assert_false(sp_diag_hint(&diag, "write %s", "bar"));
    assert_false(sp_diag_hint(&diag, "write baz"));
    assert_string_equal(diag.hint, "write bar");
    sp_diag_finish(&diag);
    assert_int_equal(diag.code, SP_OK);
    assert_null(diag.message);
    sp_diag_finish(&diag);
}

static void
strings_are_copies(void **state)
{
    (void)state;
    char file[] = "k.py", function[] = "kernel", name[] = "foo";
    struct sp_src where = {.file = file, .function = function, .line = 1, .col = -1, .end_col = -1};
    struct sp_diag diag, copy;
    sp_diag_init(&diag);
    sp_diag_set(&diag, SP_E_UNKNOWN_NAME, &where, name);
    sp_diag_hint(&diag, "%s", name);
    sp_diag_note(&diag, &where, "seen in %s", function);
    memset(file, '#', 4);
    memset(function, '#', 6);
    memset(name, '#', 3);
    sp_diag_copy(&copy, &diag);
    sp_diag_finish(&diag);
    assert_printed(&copy, "name 'foo' is not defined\n"
                          "  File \"k.py\", line 1, in kernel\n"
                          "    def kernel(x):\n"
                          "  Hint: foo\n"
                          "  seen in kernel\n"
                          "  File \"k.py\", line 1, in kernel\n"
                          "    def kernel(x):");
    sp_diag_finish(&copy);
}

static void
the_caret_stands_under_the_characters(void **state)
{
    (void)state;
    static const struct {
        struct sp_src where;
        const char *expected;
    } rows[] = {
        {{"k.py", "kernel", 2, 2, 8, 15},
         "  File \"k.py\", line 2, in kernel\n"
         "        y = f(x, 1)\n"
         "            ^~~~~~~"},
        {{"k.py", "kernel", 2, 2, 4, 5},
         "  File \"k.py\", line 2, in kernel\n"
         "        y = f(x, 1)\n"
         "        ^"},
        /* columns count bytes; the tab stays a tab, so that the caret keeps its place */
        {{"k.py", "kernel", 3, 3, 16, 22},
         "  File \"k.py\", line 3, in kernel\n"
         "    \treturn caf\u00e9 + na\u00efve\n"
         "    \t              ^~~~~"},
        /* to the end of the line when the range ends on a later one */
        {{"k.py", NULL, 2, 3, 8, 2},
         "  File \"k.py\", line 2\n"
         "        y = f(x, 1)\n"
         "            ^~~~~~~"},
        /* an unknown end, an unknown column, a line that was changed since: too short now */
        {{"k.py", NULL, 2, 0, 8, -1},
         "  File \"k.py\", line 2\n"
         "        y = f(x, 1)\n"
         "            ^"},
        {{"k.py", NULL, 2, 2, -1, -1},
         "  File \"k.py\", line 2\n"
         "        y = f(x, 1)"},
        {{"k.py", NULL, 1, 1, 90, 95}, "  File \"k.py\", line 1"},
        /* no text to show, no place at all but a function */
        {{"k.py", "kernel", 9, 9, 1, 2}, "  File \"k.py\", line 9, in kernel"},
        {{"k.py", "kernel", 0, 0, -1, -1}, "  File \"k.py\", in kernel"},
        {{NULL, "kernel", 4, 4, 0, 1}, "  line 4, in kernel"},
        {{NULL, "kernel", 0, 0, -1, -1}, "  in kernel"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sp_diag diag;
        struct sp_str expected;
        sp_diag_init(&diag);
        sp_str_init(&expected);
        sp_diag_set(&diag, SP_E_NO_TRUTH, &rows[i].where, "an array");
        sp_str_printf(&expected, "an array has no truth value\n%s", rows[i].expected);
        assert_printed(&diag, expected.data);
        sp_str_finish(&expected);
        sp_diag_finish(&diag);
    }
}

static void
notes_without_a_place_take_one_line(void **state)
{
    (void)state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    sp_diag_set(&diag, SP_E_INTERNAL_ERROR, NULL, "broken");
    sp_diag_note(&diag, NULL, "one");
    sp_diag_note(&diag, NULL, "two");
    assert_printed(&diag, "broken\n  one\n  two");
    sp_diag_finish(&diag);
}

static void
a_place_is_added_once(void **state)
{
    (void)state;
    const struct sp_src first = {"k.py", "kernel", 1, 1, -1, -1},
                        second = {"k.py", "f", 2, 2, -1, -1};
    struct sp_diag diag;
    sp_diag_init(&diag);
    sp_diag_place(&diag, &first);
    assert_null(diag.where.file);
    sp_diag_set(&diag, SP_E_INTERNAL_ERROR, NULL, "broken");
    sp_diag_place(&diag, &first);
    sp_diag_place(&diag, &second);
    assert_int_equal(diag.where.line, 1);
    assert_string_equal(diag.where.function, "kernel");
    sp_diag_finish(&diag);
}

static void
the_line_is_read_from_the_file(void **state)
{
    (void)state;
    char file[] = "/tmp/gpujit-test-XXXXXX";
    const int descriptor = mkstemp(file);
    assert_true(descriptor >= 0);
    FILE *stream = fdopen(descriptor, "w");
    assert_non_null(stream);
    fputs("first\r\n\nx = 1", stream);
    fclose(stream);
    static const struct {
        int32_t line;
        const char *tail;
    } rows[] = {{1, "\n    first\n    ^~"}, {2, ""}, {3, "\n    x = 1\n    ^~"}, {4, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sp_src where = {file, NULL, rows[i].line, rows[i].line, 0, 2};
        struct sp_diag diag;
        struct sp_str out, expected;
        sp_diag_init(&diag);
        sp_str_init(&out);
        sp_str_init(&expected);
        sp_diag_set(&diag, SP_E_INTERNAL_ERROR, &where, "broken");
        sp_diag_print(&diag, NULL, NULL, &out);
        sp_str_printf(&expected, "broken\n  File \"%s\", line %d%s", file, rows[i].line,
                      rows[i].tail);
        assert_string_equal(out.data, expected.data);
        sp_str_finish(&expected);
        sp_str_finish(&out);
        sp_diag_finish(&diag);
    }
    remove(file);
}

static void
every_code_has_a_class_and_a_name(void **state)
{
    (void)state;
    for (int code = SP_OK + 1; code < SP_N_ERRORS; code++) {
        assert_true(strlen(sp_error_name((enum sp_error)code)) > 3);
        assert_true(strlen(sp_error_format((enum sp_error)code)) > 1);
        assert_in_range(sp_error_class((enum sp_error)code), 0, SP_N_ERROR_CLASSES - 1);
    }
    for (int c = 0; c < SP_N_ERROR_CLASSES; c++) {
        assert_true(strlen(sp_error_class_name((enum sp_error_class)c)) > 3);
        assert_non_null(sp_error_class_builtin((enum sp_error_class)c));
    }
    assert_string_equal(sp_error_name(SP_E_RANK_MISMATCH), "RANK_MISMATCH");
    assert_string_equal(sp_error_class_name(sp_error_class(SP_E_RANK_MISMATCH)), "TypingError");
    assert_string_equal(sp_error_class_builtin(SP_CLASS_TYPING), "TypeError");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_diagnostic_is_kept),
        cmocka_unit_test(strings_are_copies),
        cmocka_unit_test(the_caret_stands_under_the_characters),
        cmocka_unit_test(notes_without_a_place_take_one_line),
        cmocka_unit_test(a_place_is_added_once),
        cmocka_unit_test(the_line_is_read_from_the_file),
        cmocka_unit_test(every_code_has_a_class_and_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
