/* PTX to a cubin by the driver's linker, and cubins loaded, against the stand-in for libcuda:
 * options, what the new artifact keeps, failures that are silent, and a driver without a linker.
 * It is the argument. */
#include <stdlib.h>

#include "tests/runtime/fixture.h"

static const char *fake_path;

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

static struct artifact *
make_ptx(void)
{
    static const struct sp_param param = {SP_PARAM_FAULT, 0, 0, 0, 8};
    struct artifact *a = fixture_ptx("saxpy", &param, 1);
    a->target = copy_text("sm_90");
    fixture_add_site(a);
    a->warnings.n = 1;
    a->warnings.data = sp_alloc(sizeof *a->warnings.data);
    a->warnings.data[0] = (struct sp_warning){.code = SP_W_DOUBLE, .text = copy_text("slow")};
    a->n_origins = 2;
    a->origins = sp_alloc(2 * sizeof *a->origins);
    a->origins[0] = (struct sp_origin){0, 3};
    a->origins[1] = (struct sp_origin){1, 4};
    a->max_threads = 128;
    return a;
}

static void
ptx_becomes_a_cubin(void **state)
{
    struct fixture *f = *state;
    struct artifact *ptx = make_ptx(), *cubin;
    struct rt_code *code;
    struct rt_jit_options options;
    rt_jit_options_init(&options);
    options.max_registers = 40;
    assert_true(rt_device_assemble(f->dev, ptx, &options, &cubin));
    assert_int_equal(f->fake->n_links, 0); /* closed */
    assert_int_equal(f->fake->n_linked, 1);
    assert_int_equal(f->fake->n_options, 1);
    assert_int_equal(f->fake->keys[0], 0); /* CU_JIT_MAX_REGISTERS */
    assert_int_equal(f->fake->values[0], 40);
    assert_int_equal(cubin->kind, SP_CODE_CUBIN);
    assert_int_equal(cubin->size_B, strlen(FAKE_CUBIN) + strlen(".version 8.0") + 1);
    assert_memory_equal(cubin->code, FAKE_CUBIN ".version 8.0", cubin->size_B);
    sp_artifact_destroy(ptx); /* it shares nothing with that */
    assert_string_equal(cubin->entry, "entry");
    assert_string_equal(cubin->sites[0].where.file, "k.py");
    assert_string_equal(cubin->warnings.data[0].text, "slow");
    assert_int_equal(cubin->n_origins, 2);
    assert_int_equal(cubin->origins[1].insn, 4);

    assert_true(rt_device_load(f->dev, cubin, &options, &code, &f->diag));
    assert_int_equal(f->fake->n_cubin_loads, 1);
    assert_int_equal(f->fake->n_ptx_loads, 0);
    for (unsigned i = 0; i < f->fake->n_options; i++)
        assert_int_not_equal(f->fake->keys[i], 0); /* of the compiler, which does not run */
    sp_artifact_destroy(cubin);
    rt_code_unload(code);
}

static void
failures_are_left_to_loading(void **state)
{
    struct fixture *f = *state;
    struct artifact *ptx = make_ptx(), *cubin = NULL;
    struct rt_code *code;
    struct rt_jit_options options;
    f->fake->link_result = CUDA_ERROR_INVALID_PTX;
    assert_false(rt_device_assemble(f->dev, ptx, NULL, &cubin));
    assert_int_equal(f->fake->n_links, 0);
    f->fake->link_result = CUDA_SUCCESS;
    rt_jit_options_init(&options);
    options.verbose = 1; /* what the compiler says is in the log of loading */
    assert_false(rt_device_assemble(f->dev, ptx, &options, &cubin));
    assert_true(rt_device_assemble(f->dev, ptx, NULL, &cubin));
    struct artifact *again;
    assert_false(rt_device_assemble(f->dev, cubin, NULL, &again));
    f->fake->cubin_result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    assert_false(rt_device_load(f->dev, cubin, NULL, &code, &f->diag));
    assert_int_equal(f->diag.code, SP_E_LOAD_FAILED);
    f->fake->cubin_result = CUDA_SUCCESS;
    sp_artifact_destroy(cubin);
    sp_artifact_destroy(ptx);
}

static void
a_driver_without_a_linker(void **state)
{
    (void)state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct rt_device *dev;
    struct rt_runtime *rt = rt_runtime_create(&(struct rt_options){.cuda_library = fake_path});
    assert_true(rt_open(rt, RT_CUDA, 0, &dev, &diag));
    struct cuda_device *cuda = (struct cuda_device *)dev;
    struct cuda_api api = *cuda->api;
    const struct cuda_api *all = cuda->api;
    api.cuLinkComplete = NULL;
    cuda->api = &api;
    struct artifact *ptx = make_ptx(), *cubin;
    assert_false(rt_device_assemble(dev, ptx, NULL, &cubin));
    cuda->api = all;
    sp_artifact_destroy(ptx);
    rt_runtime_destroy(rt);
}

static void
the_cpu_device_has_none(void **state)
{
    (void)state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct rt_device *dev;
    struct rt_runtime *rt = rt_runtime_create(NULL);
    assert_true(rt_open(rt, RT_CPU, 0, &dev, &diag));
    struct artifact *ptx = make_ptx(), *cubin;
    assert_false(rt_device_assemble(dev, ptx, NULL, &cubin));
    sp_artifact_destroy(ptx);
    rt_runtime_destroy(rt);
}

int
main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    fake_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ptx_becomes_a_cubin, set_up, fixture_close),
        cmocka_unit_test_setup_teardown(failures_are_left_to_loading, set_up, fixture_close),
        cmocka_unit_test(a_driver_without_a_linker),
        cmocka_unit_test(the_cpu_device_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
