/* Artifacts as bytes: what is written is read back, and bytes that are none are refused without a
 * word; recipes get other numbers of classes. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "support/arena.h"
#include "support/artifact.h"
#include "support/bytes.h"
#include "support/recipe.h"

static char *
heap_text(const char *text)
{
    return strcpy(sp_alloc(strlen(text) + 1), text);
}

static struct artifact *
make(void)
{
    struct artifact *a = sp_artifact_create();
    a->kind = SP_CODE_CUBIN;
    a->code = memcpy(sp_alloc(6),
                     "\x7f"
                     "EL\0F",
                     6);
    a->size_B = 5;
    a->entry = heap_text("entry");
    a->name = heap_text("saxpy");
    a->target = heap_text("sm_90");
    a->n_params = 3;
    a->params = sp_alloc(3 * sizeof *a->params);
    a->params[0] = (struct sp_param){SP_PARAM_STRIDE, 2, 3, 8, 8};
    a->params[1] = (struct sp_param){SP_PARAM_SCALAR, 0, 1, 4, 4};
    a->params[2] = (struct sp_param){SP_PARAM_GRID, 0, 0, 16, 8};
    a->params_size_B = 24;
    a->n_arguments = 4;
    a->written = 0x8000000000000005;
    a->n_sites = 1;
    a->sites = sp_alloc(sizeof *a->sites);
    a->sites[0] = (struct sp_fault_site){
        .code = SP_E_RAISED,
        .where = {heap_text("k.py"), heap_text("saxpy"), 4, 4, 8, 12},
        .name = heap_text("e1:3:Bad(s2:oh)"),
        .n_values = 1,
    };
    a->n_waits = 1;
    a->waits = sp_alloc(sizeof *a->waits);
    a->waits[0] = (struct sp_wait_site){
        .kind = SP_WAIT_MEET, .operation = SP_MEET_MAX, .name = heap_text("gpu.syncwarp")};
    a->warnings.n = 1;
    a->warnings.data = sp_alloc(sizeof *a->warnings.data);
    a->warnings.data[0] = (struct sp_warning){.code = SP_W_DOUBLE, .text = heap_text("slow")};
    a->n_origins = 3;
    a->origins = sp_alloc(3 * sizeof *a->origins);
    for (uint32_t i = 0; i < 3; i++)
        a->origins[i] = (struct sp_origin){i, 10 * i};
    a->n_classes = 1;
    a->classes = sp_alloc(sizeof *a->classes);
    a->classes[0] = (struct sp_class_use){1, 7};
    a->prints = a->cooperative = true;
    a->shared_B = 100;
    a->added_B = 20;
    a->max_threads = 256;
    a->facts = 9;
    memset(a->key.bytes, 0x5a, sizeof a->key.bytes);
    return a;
}

static void
write_artifact(struct sp_str *out)
{
    struct artifact *a = make();
    sp_str_init(out);
    sp_artifact_write(a, out);
    sp_artifact_destroy(a);
}

static void
what_is_written_is_read(void **state)
{
    (void)state;
    struct sp_str bytes, again;
    struct artifact *a, *b = make();
    write_artifact(&bytes);
    assert_true(sp_artifact_read(bytes.data, bytes.len, &a));
    assert_int_equal(a->kind, SP_CODE_CUBIN);
    assert_int_equal(a->size_B, 5);
    assert_memory_equal(a->code,
                        "\x7f"
                        "EL\0F",
                        5);
    assert_string_equal(a->entry, "entry");
    assert_string_equal(a->name, "saxpy");
    assert_string_equal(a->target, "sm_90");
    assert_int_equal(a->n_params, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a->params[i].kind, b->params[i].kind);
        assert_int_equal(a->params[i].axis, b->params[i].axis);
        assert_int_equal(a->params[i].argument, b->params[i].argument);
        assert_int_equal(a->params[i].offset_B, b->params[i].offset_B);
        assert_int_equal(a->params[i].size_B, b->params[i].size_B);
    }
    assert_int_equal(a->params_size_B, 24);
    assert_int_equal(a->n_arguments, 4);
    assert_true(a->written == b->written);
    assert_int_equal(a->sites[0].code, SP_E_RAISED);
    assert_string_equal(a->sites[0].name, "e1:3:Bad(s2:oh)");
    assert_int_equal(a->sites[0].n_values, 1);
    assert_null(a->sites[0].where.file); /* places are the program's */
    assert_int_equal(a->waits[0].kind, SP_WAIT_MEET);
    assert_int_equal(a->waits[0].operation, SP_MEET_MAX);
    assert_string_equal(a->waits[0].name, "gpu.syncwarp");
    assert_int_equal(a->warnings.data[0].code, SP_W_DOUBLE);
    assert_string_equal(a->warnings.data[0].text, "slow");
    assert_int_equal(a->origins[2].func, 2);
    assert_int_equal(a->origins[2].insn, 20);
    assert_int_equal(a->classes[0].constant, 7);
    assert_true(a->prints && a->cooperative);
    assert_int_equal(a->shared_B + a->added_B + a->max_threads + a->facts, 100 + 20 + 256 + 9);
    assert_memory_equal(&a->key, &b->key, sizeof a->key);
    sp_str_init(&again);
    sp_artifact_write(a, &again);
    assert_int_equal(again.len, bytes.len);
    assert_memory_equal(again.data, bytes.data, bytes.len);
    sp_artifact_destroy(a);
    sp_artifact_destroy(b);
    sp_str_finish(&again);
    sp_str_finish(&bytes);
}

static void
no_part_is_an_artifact(void **state)
{
    (void)state;
    struct sp_str bytes;
    struct artifact *a = NULL;
    write_artifact(&bytes);
    for (size_t n = 0; n < bytes.len; n++) {
        char *part = malloc(n ? n : 1); /* its own block: reading beyond it is seen */
        memcpy(part, bytes.data, n);
        assert_false(sp_artifact_read(part, n, &a));
        free(part);
    }
    sp_str_add_char(&bytes, 'x');
    assert_false(sp_artifact_read(bytes.data, bytes.len, &a));
    assert_null(a);
    sp_str_finish(&bytes);
}

/* A number out of its range, one at a time. */
static void
ranges_are_checked(void **state)
{
    (void)state;
    for (int what = 0; what < 15; what++) {
        struct artifact *a = make(), *read = NULL;
        switch (what) {
        case 0: a->kind = SP_N_CODE_KINDS; break;
        case 1: a->params[0].kind = SP_PARAM_GRID + 1; break;
        case 2: a->params[0].offset_B = 12; break;
        case 3: a->params[1].size_B = 3; break;
        case 4: a->sites[0].code = SP_E_GRID_LIMIT; break;
        case 5: a->waits[0].kind = SP_N_WAIT_KINDS; break;
        case 6: a->warnings.data[0].code = SP_N_WARNINGS; break;
        case 7: a->n_origins = 2; break;
        case 8: a->sites[0].n_values = SP_PRINT_VALUES + 1; break;
        case 9: a->params[0].argument = 4; break;
        case 10: a->params[1].argument = UINT16_MAX; break;
        case 11: a->params[2] = (struct sp_param){SP_PARAM_FAULT, 0, 0, 20, 4}; break;
        case 12: a->n_params = 2; break; /* the blocks have no place to meet */
        case 13: a->added_B = a->shared_B + 1; break;
        case 14: a->shared_B = UINT32_MAX; break;
        }
        struct sp_str bytes;
        sp_str_init(&bytes);
        sp_artifact_write(a, &bytes);
        assert_false(sp_artifact_read(bytes.data, bytes.len, &read));
        sp_str_finish(&bytes);
        sp_artifact_destroy(a);
    }
}

static void
readers_stay_bad(void **state)
{
    (void)state;
    struct sp_reader r;
    const uint8_t bytes[] = {1, 2, 0, 0, 0, 'a', 9};
    size_t size_B;
    sp_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(sp_get_u8(&r), 1);
    char *text = sp_get_text(&r);
    assert_string_equal(text, "a");
    free(text);
    assert_false(sp_reader_done(&r));
    assert_int_equal(sp_get_u32(&r), 0);
    assert_true(r.bad);
    assert_int_equal(sp_get_u8(&r), 0); /* although a byte is left */
    sp_get_bytes(&r, &size_B);
    assert_int_equal(size_B, 0);
    assert_false(sp_reader_done(&r));
}

static bool
next_number(void *context, uint32_t number, uint32_t *number_out)
{
    *number_out = number + *(uint32_t *)context;
    return number != 13;
}

static void
recipes_get_other_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *expected; /* NULL: it is none */
    } rows[] = {
        {"e0:10:ValueError(s3:badvint;)", "e0:10:ValueError(s3:badvint;)"},
        {"e2:3:Bad(J(F(vfloat32;s3:.2f)S(c9:(vint;n))))",
         "e102:3:Bad(J(F(vfloat32;s3:.2f)S(c109:(vint;n))))"},
        {"s6:e1:1:c", "s6:e1:1:c"}, /* the text of a text is none */
        {"e13:1:x()", NULL},
        {"e1:9:Bad()", NULL},
        {"e:1:x()", NULL},
        {"c1", NULL},
        {"vint", NULL},
        {"s-1:", NULL},
        {"x", NULL},
        {"", ""},
    };
    uint32_t more = 100;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sp_str out;
        sp_str_init(&out);
        bool ok = sp_recipe_renumber(rows[i].recipe, next_number, &more, &out);
        assert_int_equal(ok, rows[i].expected != NULL);
        if (ok)
            assert_string_equal(out.data, rows[i].expected);
        sp_str_finish(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),   cmocka_unit_test(no_part_is_an_artifact),
        cmocka_unit_test(ranges_are_checked),        cmocka_unit_test(readers_stay_bad),
        cmocka_unit_test(recipes_get_other_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
