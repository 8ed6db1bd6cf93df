/* Options, targets and libdevice: names, ranges, what is said about those that are wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/codegen/parts.h"

static struct sp_diag diag;

static int
setup(void **state)
{
    (void)state;
    sp_diag_init(&diag);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    sp_diag_finish(&diag);
    return 0;
}

static void
expect(enum sp_error code, const char *part)
{
    assert_int_equal(diag.code, code);
    assert_non_null(strstr(diag.message, part));
    sp_diag_finish(&diag);
    sp_diag_init(&diag);
}

static void
test_options(void **state)
{
    (void)state;
    struct cg_options options;
    cg_options_init(&options);
    assert_int_equal(options.opt_level, 3);
    assert_true(options.fma);
    assert_null(options.libdevice);
    assert_true(cg_option_set_int(&options, "max_registers", 64, &diag));
    assert_int_equal(options.max_registers, 64);
    assert_true(cg_option_set_text(&options, "fma", "off", &diag));
    assert_false(options.fma);
    assert_true(cg_option_set_text(&options, "libdevice", "/x", &diag));
    assert_string_equal(options.libdevice, "/x");
    assert_false(cg_option_set_int(&options, "opt_level", 4, &diag));
    expect(SP_E_BAD_OPTION, "4 is not within 0 to 3");
    assert_false(cg_option_set_int(&options, "nonsense", 1, &diag));
    expect(SP_E_BAD_OPTION, "no such option");
    assert_false(cg_option_set_int(&options, "libdevice", 1, &diag));
    expect(SP_E_BAD_OPTION, "a path");
    assert_false(cg_option_set_text(&options, "fma", "perhaps", &diag));
    expect(SP_E_BAD_OPTION, "not a number");
    assert_false(cg_option_set_text(&options, "max_threads", "99999999999999999999", &diag));
    expect(SP_E_BAD_OPTION, "not a number");
    assert_int_equal(options.opt_level, 3);
}

static void
test_option_environment(void **state)
{
    (void)state;
    struct cg_options options;
    cg_options_init(&options);
    setenv("GPUJIT_OPT_LEVEL", "1", 1);
    assert_true(cg_options_read_env(&options, &diag));
    assert_int_equal(options.opt_level, 1);
    setenv("GPUJIT_OPT_LEVEL", "many", 1);
    assert_false(cg_options_read_env(&options, &diag));
    assert_non_null(strstr(diag.hint, "GPUJIT_OPT_LEVEL"));
    expect(SP_E_BAD_OPTION, "not a number");
    unsetenv("GPUJIT_OPT_LEVEL");
}

static void
test_option_rows(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < cg_n_options(); i++) {
        const struct cg_option_row *row = cg_option_row(i);
        struct cg_options options;
        cg_options_init(&options);
        if (row->kind != CG_KIND_TEXT) {
            assert_true(cg_option_set_int(&options, row->name, row->low, &diag));
            assert_true(cg_option_set_int(&options, row->name, row->high, &diag));
            assert_false(cg_option_set_int(&options, row->name, row->high + (int64_t)1, &diag));
            expect(SP_E_BAD_OPTION, row->name);
        }
    }
}

static void
test_target_names(void **state)
{
    (void)state;
    struct cg_arch arch;
    uint32_t n;
    const struct cg_arch *archs = cg_archs(&n);
    for (uint32_t i = 0; i < n; i++) {
        struct sp_str name;
        sp_str_init(&name);
        cg_target_print(archs[i], &name);
        assert_true(cg_target_parse(name.data, &arch, &diag));
        assert_int_equal(arch.sm, archs[i].sm);
        assert_int_equal(arch.ptx, archs[i].ptx);
        sp_str_finish(&name);
    }
    assert_true(cg_target_parse("compute_90", &arch, &diag));
    assert_int_equal(arch.sm, 90);
    assert_true(cg_target_parse("host", &arch, &diag));
    assert_int_equal(arch.sm, 0);
    static const char *const bad[] = {"",       "sm_",   "sm_70", "sm_90x", "sm_99999999999",
                                      "gfx90a", "sm_-90"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(cg_target_parse(bad[i], &arch, &diag));
        expect(SP_E_BAD_TARGET, "known are sm_75, sm_80");
    }
}

static void
test_target_capability(void **state)
{
    (void)state;
    struct cg_arch arch;
    static const struct {
        int major, minor, sm;
    } rows[] = {{7, 5, 75},   {8, 6, 86},   {9, 0, 90}, {10, 0, 100},
                {12, 1, 121}, {13, 0, 121}, {8, 4, 80}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(cg_target_for_capability(rows[i].major, rows[i].minor, &arch, &diag));
        assert_int_equal(arch.sm, rows[i].sm);
    }
    assert_false(cg_target_for_capability(6, 1, &arch, &diag));
    expect(SP_E_BAD_TARGET, "sm_61");
    assert_int_equal(cg_ptx_for_driver(12040), 84);
    assert_int_equal(cg_ptx_for_driver(12060), 85);
    assert_int_equal(cg_ptx_for_driver(11080), 78);
    assert_int_equal(cg_ptx_for_driver(10000), 63);
    assert_true(cg_ptx_for_driver(99000) >= 90);
}

static void
test_libdevice_places(void **state)
{
    (void)state;
    char folder[] = "/tmp/gpujit-test-XXXXXX", path[256], command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "mkdir -p %s/nvidia/cuda_nvcc/nvvm/libdevice && "
             "echo no bitcode > %s/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
             folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc", folder);

    struct cg_state *cg = cg_create();
    const char *folders[] = {"/nonexistent", folder};
    struct sp_str found, looked;
    sp_str_init(&found);
    sp_str_init(&looked);
    cg_set_site_packages(cg, folders, 2);
    const char *before = getenv("CUDA_HOME");
    char *kept = before ? strdup(before) : NULL;
    setenv("CUDA_HOME", folder, 1);
    /* The toolkit comes before wheels, so the wheel is seen where there is no toolkit. */
    if (cg_libdevice_find(cg, NULL, &found, &looked) && strstr(found.data, folder))
        assert_string_equal(found.data, path);
    assert_non_null(strstr(looked.data, folder));
    assert_false(cg_libdevice_find(cg, "/nonexistent", &found, &looked));
    assert_true(cg_libdevice_find(cg, path, &found, &looked));
    if (kept)
        setenv("CUDA_HOME", kept, 1);
    else
        unsetenv("CUDA_HOME");
    free(kept);
    sp_str_finish(&found);
    sp_str_finish(&looked);
    cg_destroy(cg);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int
test_targets(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_options, setup, teardown),
        cmocka_unit_test_setup_teardown(test_option_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_option_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_target_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_target_capability, setup, teardown),
        cmocka_unit_test_setup_teardown(test_libdevice_places, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
