/* Artifacts own what they hold; a fault becomes a message with index, shape, block and thread. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "support/arena.h"
#include "support/artifact.h"

static char *
heap_text(const char *text)
{
    const size_t size_B = strlen(text) + 1;
    return memcpy(sp_alloc(size_B), text, size_B);
}

/* One with a site that indexes array `x`. Every string is on the heap, so leaks are seen. */
static struct artifact *
artifact_with_site(enum sp_error code, const char *name)
{
    struct artifact *artifact = sp_artifact_create();
    artifact->code = heap_text(".version 8.0");
    artifact->entry = heap_text("kernel_1");
    artifact->name = heap_text("kernel");
    artifact->target = heap_text("sm_90");
    artifact->ir = heap_text("ir");
    artifact->llvm = heap_text("llvm");
    artifact->params = sp_alloc(3 * sizeof *artifact->params);
    artifact->sites = sp_alloc(sizeof *artifact->sites);
    artifact->n_sites = 1;
    artifact->sites[0] = (struct sp_fault_site){
        .code = code,
        .where = {heap_text("gone.py"), heap_text("kernel"), 3, 3, -1, -1},
        .name = heap_text(name),
    };
    return artifact;
}

static void
assert_fault(const struct artifact *artifact, const struct sp_fault *fault, const char *expected)
{
    struct sp_diag diag;
    struct sp_str out;
    sp_diag_init(&diag);
    sp_str_init(&out);
    sp_fault_explain(artifact, fault, &diag);
    sp_diag_print(&diag, NULL, NULL, &out);
    assert_string_equal(out.data, expected);
    sp_str_finish(&out);
    sp_diag_finish(&diag);
}

static void
a_fresh_artifact_is_empty(void **state)
{
    (void)state;
    struct artifact *artifact = sp_artifact_create();
    assert_null(artifact->code);
    assert_int_equal(artifact->n_params + artifact->n_sites, 0);
    sp_artifact_destroy(artifact);
    sp_artifact_destroy(NULL);
}

static void
an_index_error_names_everything(void **state)
{
    (void)state;
    struct artifact *artifact = artifact_with_site(SP_E_OUT_OF_BOUNDS, "x");
    struct sp_fault fault = {
        .state = 2, .block = {1, 2, 3}, .thread = {4, 5, 6}, .values = {-9, 1, 2, 640, 480}};
    assert_fault(artifact, &fault,
                 "index -9 is out of bounds for axis 1 of array 'x' with shape (640, 480)\n"
                 "  File \"gone.py\", line 3, in kernel\n"
                 "  raised by thread (4, 5, 6) of block (1, 2, 3)");
    fault.values[2] = 1;
    assert_fault(artifact, &fault,
                 "index -9 is out of bounds for axis 1 of array 'x' with shape (640,)\n"
                 "  File \"gone.py\", line 3, in kernel\n"
                 "  raised by thread (4, 5, 6) of block (1, 2, 3)");
    sp_artifact_destroy(artifact);
}

static void
a_check_shows_its_values(void **state)
{
    (void)state;
    struct artifact *artifact = artifact_with_site(SP_E_ZERO_DIVISION, "{i} // {u} {f} {i} {x");
    artifact->sites[0].n_values = 3;
    double third = -0.5;
    struct sp_fault fault = {.state = 2, .values = {-7, -1}};
    memcpy(&fault.values[2], &third, sizeof third);
    assert_fault(artifact, &fault,
                 "division by zero: -7 // 18446744073709551615 -0.5 {i} {x\n"
                 "  File \"gone.py\", line 3, in kernel\n"
                 "  raised by thread (0, 0, 0) of block (0, 0, 0)");
    sp_artifact_destroy(artifact);
}

/* The text is made where Python is; the diagnostic carries what it is made of, also as a copy. */
static void
an_exception_of_the_program_carries_its_recipe(void **state)
{
    (void)state;
    static const char recipe[] = "e0:10:ValueError(s3:badvint;)";
    struct artifact *artifact = artifact_with_site(SP_E_RAISED, recipe);
    struct sp_fault fault = {.state = 2, .block = {1, 2, 3}, .thread = {4, 5, 6}, .values = {77}};
    struct sp_diag first, diag;
    sp_diag_init(&first);
    sp_fault_explain(artifact, &fault, &first);
    sp_artifact_destroy(artifact);
    sp_diag_copy(&diag, &first);
    sp_diag_finish(&first);
    assert_null(first.raised);
    assert_int_equal(diag.code, SP_E_RAISED);
    assert_string_equal(diag.message, "ValueError");
    assert_non_null(diag.raised);
    assert_string_equal(diag.raised->recipe, recipe);
    assert_string_equal(diag.raised->kernel, "kernel");
    assert_memory_equal(diag.raised->block, fault.block, sizeof fault.block);
    assert_memory_equal(diag.raised->thread, fault.thread, sizeof fault.thread);
    assert_true(diag.raised->n_values >= 1 && diag.raised->values[0] == 77);
    sp_diag_finish(&diag);
}

static void
a_broken_record_is_no_crash(void **state)
{
    (void)state;
    struct artifact *artifact = artifact_with_site(SP_E_OUT_OF_BOUNDS, "x");
    struct sp_fault fault = {.state = 2, .values = {5, 0, INT64_MAX}};
    assert_fault(artifact, &fault,
                 "index 5 is out of bounds for axis 0 of array 'x' with shape ()\n"
                 "  File \"gone.py\", line 3, in kernel\n"
                 "  raised by thread (0, 0, 0) of block (0, 0, 0)");
    artifact->sites[0].code = SP_E_RAISED;
    free(artifact->sites[0].name);
    artifact->sites[0].name = heap_text("e");
    assert_fault(artifact, &fault,
                 "an exception\n"
                 "  File \"gone.py\", line 3, in kernel\n"
                 "  raised by thread (0, 0, 0) of block (0, 0, 0)");
    fault.values[2] = -1;
    fault.site = 1;
    assert_fault(artifact, &fault, "a kernel raised an error at an unknown place");
    sp_artifact_destroy(artifact);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_artifact_is_empty),
        cmocka_unit_test(an_index_error_names_everything),
        cmocka_unit_test(a_check_shows_its_values),
        cmocka_unit_test(an_exception_of_the_program_carries_its_recipe),
        cmocka_unit_test(a_broken_record_is_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
