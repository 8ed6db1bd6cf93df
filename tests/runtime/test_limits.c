/* Launch limits, both sides of each border and the numbers in each message; options of the driver's
 * compiler by keyword. */
#include "runtime/rt_t.h"
#include "tests/support/check.h"

static const struct rt_info device = {
    .max_grid = {0x7fffffff, 65535, 65535},
    .max_block = {1024, 1024, 64},
    .max_threads = 1024,
    .shared_B = 49152,
    .shared_optin_B = 232448,
};

struct row {
    int64_t grid[3], block[3], shared_B;
    enum sp_error code; /* SP_OK: allowed */
    const char *message, *hint;
};

static void
check_row(const struct rt_attributes *code, const struct row *row)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok = rt_limits_check(&device, code, row->grid, row->block, row->shared_B, &diag);
    assert_int_equal(ok, row->code == SP_OK);
    assert_int_equal(diag.code, row->code);
    if (row->message)
        assert_string_equal(diag.message, row->message);
    if (row->hint)
        assert_non_null(strstr(diag.hint, row->hint));
    sp_diag_finish(&diag);
}

static void
test_device_limits(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{1, 1, 1}, {1, 1, 1}, 0, SP_OK, NULL, NULL},
        {{0x7fffffff, 65535, 65535}, {1024, 1, 1}, 232448, SP_OK, NULL, NULL},
        {{1, 1, 1}, {4, 4, 64}, 0, SP_OK, NULL, NULL},
        {{0x80000000, 1, 1},
         {1, 1, 1},
         0,
         SP_E_GRID_LIMIT,
         "grid dimension x is 2147483648; this device allows 2147483647",
         NULL},
        {{1, 65536, 1},
         {1, 1, 1},
         0,
         SP_E_GRID_LIMIT,
         "grid dimension y is 65536; this device allows 65535",
         NULL},
        {{1, 1, INT64_MAX},
         {1, 1, 1},
         0,
         SP_E_GRID_LIMIT,
         "grid dimension z is 9223372036854775807; this device allows 65535",
         NULL},
        {{1, 1, 1},
         {1, 1, 65},
         0,
         SP_E_GRID_LIMIT,
         "block dimension z is 65; this device allows 64",
         NULL},
        {{0, 1, 1},
         {1, 1, 1},
         0,
         SP_E_BAD_CONFIGURATION,
         "bad launch configuration: grid dimension x is 0, it must be at least 1",
         NULL},
        {{1, 1, 1},
         {32, -1, 1},
         0,
         SP_E_BAD_CONFIGURATION,
         "bad launch configuration: block dimension y is -1, it must be at least 1",
         NULL},
        {{1, 1, 1},
         {32, 33, 1},
         0,
         SP_E_BLOCK_THREADS,
         "a block of 1056 threads; this kernel allows 1024 on this device",
         NULL},
        {{1, 1, 1},
         {1, 1, 1},
         232449,
         SP_E_SHARED_LIMIT,
         "232449 bytes of shared memory per block; this device allows 232448",
         NULL},
        {{1, 1, 1}, {1, 1, 1}, -1, SP_E_BAD_CONFIGURATION, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(NULL, &rows[i]);
}

static void
test_code_limits(void **state)
{
    (void)state;
    static const struct rt_attributes code = {
        .registers = 128, .max_threads = 512, .shared_B = 1024};
    static const struct row rows[] = {
        {{1, 1, 1}, {512, 1, 1}, 231424, SP_OK, NULL, NULL},
        {{1, 1, 1},
         {513, 1, 1},
         0,
         SP_E_BLOCK_THREADS,
         "a block of 513 threads; this kernel allows 512 on this device",
         "128 registers"},
        {{1, 1, 1},
         {1, 1, 1},
         231425,
         SP_E_SHARED_LIMIT,
         "232449 bytes of shared memory per block; this device allows 232448",
         "1024 bytes"},
        {{1, 1, 1}, {1, 1, 1}, INT64_MAX, SP_E_SHARED_LIMIT, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(&code, &rows[i]);
}

static void
test_jit_options(void **state)
{
    (void)state;
    int keys[RT_JIT_MAX_OPTIONS];
    uintptr_t values[RT_JIT_MAX_OPTIONS];
    struct rt_jit_options options;
    struct sp_diag diag;
    sp_diag_init(&diag);
    rt_jit_options_init(&options);
    assert_int_equal(rt_jit_list(&options, keys, values), 0);
    assert_int_equal(rt_jit_list(NULL, keys, values), 0);
    assert_true(rt_jit_options_set(&options, "opt_level", 0, &diag));
    assert_true(rt_jit_options_set(&options, "fma", 1, &diag));
    assert_true(rt_jit_options_set(&options, "prec_div", 0, &diag));
    assert_int_equal(rt_jit_list(&options, keys, values), 2);
    assert_int_equal(keys[0], 7);
    assert_int_equal(values[0], 0);
    assert_int_equal(keys[1], 22);
    assert_int_equal(values[1], 0);
    assert_false(rt_jit_options_set(&options, "opt_level", 5, &diag));
    assert_int_equal(diag.code, SP_E_BAD_OPTION);
    assert_string_equal(diag.message, "option 'opt_level': 5 is not between 0 and 4");
    sp_diag_finish(&diag);
    sp_diag_init(&diag);
    assert_false(rt_jit_options_set(&options, "speed", 5, &diag));
    assert_int_equal(diag.code, SP_E_BAD_OPTION);
    sp_diag_finish(&diag);
    assert_int_equal(options.opt_level, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_limits),
        cmocka_unit_test(test_code_limits),
        cmocka_unit_test(test_jit_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
