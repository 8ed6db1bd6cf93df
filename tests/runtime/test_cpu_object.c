/* The cpu device with real objects: linked by ORC, run, stopped, unloaded, many times over without
 * growing. Arguments: the objects of host_kernel.c and host_missing.c. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/runtime/fixture.h"

static const char *kernel_path, *missing_path;

struct params {
    uint64_t x, y;
    int64_t n;
    double a;
};

static int
set_up(void **state)
{
    *state = fixture_cpu(2);
    return 0;
}

static struct artifact *
make_artifact(const char *path, const char *entry)
{
    struct artifact *artifact = sp_artifact_create();
    artifact->kind = SP_CODE_OBJECT;
    artifact->entry = copy_text(entry);
    artifact->name = copy_text(entry);
    artifact->params_size_B = sizeof(struct params);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    artifact->code = sp_alloc(1 << 20);
    artifact->size_B = fread(artifact->code, 1, 1 << 20, file);
    fclose(file);
    return artifact;
}

static void
test_results(void **state)
{
    struct fixture *f = *state;
    enum { N = 10000 };
    static double x[N], y[N];
    struct artifact *artifact = make_artifact(kernel_path, "saxpy");
    struct rt_code *code;
    assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    for (int i = 0; i < N; i++)
        x[i] = i, y[i] = 2 * i;
    struct params params = {(uintptr_t)x, (uintptr_t)y, N, 3.0};
    fixture_launch(f, code, (N + 255) / 256, 256, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 5.0 * i + (i & 1) * 0.5);
    rt_code_unload(code);
}

static void
test_functions(void **state)
{
    struct fixture *f = *state;
    double x[2] = {0.75, 2.5}, y[6];
    struct artifact *artifact = make_artifact(kernel_path, "functions");
    struct rt_code *code;
    assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    int64_t n = 1 << 20;
    struct params params = {(uintptr_t)x, (uintptr_t)y, n, 0};
    fixture_launch(f, code, 2, 1, &params);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    for (int i = 0; i < 2; i++) {
        assert_true(y[3 * i] == sin(x[i]) + erf(x[i]) + tgamma(x[i]));
        assert_true(y[3 * i + 1] == (double)sinf((float)x[i]));
        assert_true(y[3 * i + 2] == (double)(((__int128)n << 40) / (n + 1)));
    }
    rt_code_unload(code);
}

static void
test_endless(void **state)
{
    struct fixture *f = *state;
    double y = 0;
    bool done;
    struct artifact *artifact = make_artifact(kernel_path, "endless");
    struct rt_code *code;
    assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    struct params params = {0, (uintptr_t)&y, 0, 0};
    fixture_launch(f, code, 1, 1, &params);
    assert_true(rt_device_wait(f->dev, NULL, 30, &done, &f->diag));
    assert_false(done);
    rt_device_cancel(f->dev);
    assert_false(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(f->diag.code, SP_E_CANCELLED);
    assert_true(y > 0);
    rt_code_unload(code);
}

/* An object that does not link, another entry, bytes that are no object: each says what is
 * wrong, and the same symbol table serves the next object. */
static void
test_bad_objects(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code;
    for (int i = 0; i < 3; i++) {
        struct artifact *artifact = make_artifact(missing_path, "saxpy");
        assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
        assert_int_equal(f->diag.code, SP_E_HOST_LOAD_FAILED);
        assert_non_null(strstr(f->diag.message, "nobody_has_this"));
        sp_artifact_destroy(artifact);
        sp_diag_finish(&f->diag);
        sp_diag_init(&f->diag);

        artifact = make_artifact(kernel_path, "no_such_entry_point");
        assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
        assert_non_null(strstr(f->diag.message, "no_such_entry_point"));
        sp_artifact_destroy(artifact);
        sp_diag_finish(&f->diag);
        sp_diag_init(&f->diag);

        artifact = make_artifact(kernel_path, "saxpy");
        memset(artifact->code, 'x', artifact->size_B);
        assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
        assert_int_equal(f->diag.code, SP_E_HOST_LOAD_FAILED);
        sp_artifact_destroy(artifact);
        sp_diag_finish(&f->diag);
        sp_diag_init(&f->diag);
        test_results(state);
    }
}

static long
resident_B(void)
{
    long total = 0, resident = 0;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void
test_unload_frees(void **state)
{
    struct fixture *f = *state;
    long before = 0;
    double x = 1, y;
    for (int i = 0; i < 11000; i++) {
        struct artifact *artifact = make_artifact(kernel_path, "saxpy");
        struct rt_code *code;
        assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
        sp_artifact_destroy(artifact);
        y = 0;
        struct params params = {(uintptr_t)&x, (uintptr_t)&y, 1, 2.0};
        fixture_launch(f, code, 1, 1, &params);
        rt_code_unload(code);
        assert_true(rt_device_synchronize(f->dev, &f->diag));
        assert_true(y == 2.0);
        if (i == 999)
            before = resident_B();
    }
    long grown = resident_B() - before;
    print_message("10000 kernels loaded and unloaded: %ld KiB more\n", grown / 1024);
#ifndef __SANITIZE_ADDRESS__ /* whose quarantine holds on to freed memory */
    assert_true(grown < 1 << 20);
#endif
}

int
main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    kernel_path = argv[1];
    missing_path = argv[2];
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_results),     WITH_DEVICE(test_functions),    WITH_DEVICE(test_endless),
        WITH_DEVICE(test_bad_objects), WITH_DEVICE(test_unload_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
