/* The cuda device against a stand-in for libcuda (fake_cuda.c): finding the driver and saying
 * why not, contexts beside other libraries', options and logs of the compiler, the parameters of
 * a launch, memory, waiting, and exceptions of kernels. The two libraries are given as
 * arguments. */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/runtime/fixture.h"

static const char *fake_path, *old_path;

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

static struct rt_code *
load(struct fixture *f, bool raises)
{
    return fixture_load(f, fixture_saxpy(raises));
}

static void
test_no_driver(void **state)
{
    (void)state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    struct rt_device *dev;
    struct rt_runtime *rt =
        rt_runtime_create(&(struct rt_options){.cuda_library = "/nonexistent/libcuda.so.1"});
    assert_false(rt_runtime_driver(rt)->found);
    assert_false(rt_open(rt, RT_CUDA, 0, &dev, &diag));
    assert_int_equal(diag.code, SP_E_NO_DRIVER);
    assert_non_null(strstr(diag.message, "/nonexistent/libcuda.so.1"));
    assert_non_null(strstr(diag.hint, "GPUJIT_CUDA_LIBRARY"));
    struct sp_str text;
    sp_str_init(&text);
    rt_print_info(rt, &text);
    assert_non_null(strstr(text.data, "driver: none"));
    assert_non_null(strstr(text.data, "\ncpu: "));
    sp_str_finish(&text);
    sp_diag_finish(&diag);
    rt_runtime_destroy(rt);
}

static void
test_environment_names_library(void **state)
{
    (void)state;
    setenv("GPUJIT_CUDA_LIBRARY", fake_path, 1);
    struct rt_runtime *rt = rt_runtime_create(NULL);
    const struct rt_driver *driver = rt_runtime_driver(rt);
    assert_true(driver->found);
    assert_int_equal(driver->n_devices, FAKE_N_DEVICES);
    assert_int_equal(driver->version, 12040);
    assert_string_equal(driver->library, fake_path);
    assert_string_equal(driver->why_not, "");
    rt_runtime_destroy(rt);
    unsetenv("GPUJIT_CUDA_LIBRARY");
}

static void
test_old_driver(void **state)
{
    (void)state;
    struct rt_runtime *rt = rt_runtime_create(&(struct rt_options){.cuda_library = old_path});
    const struct rt_driver *driver = rt_runtime_driver(rt);
    assert_false(driver->found);
    assert_non_null(strstr(driver->why_not, "lacks cuFuncSetAttribute, which came with CUDA 9.0"));
    assert_non_null(strstr(driver->hint, "update"));
    rt_runtime_destroy(rt);
}

static void
test_driver_without_device(void **state)
{
    (void)state;
    setenv("FAKE_CUDA_INIT", "100", 1);
    struct rt_runtime *rt = rt_runtime_create(&(struct rt_options){.cuda_library = fake_path});
    assert_false(rt_runtime_driver(rt)->found);
    assert_non_null(strstr(rt_runtime_driver(rt)->why_not, "CUDA_ERROR_NO_DEVICE"));
    assert_non_null(strstr(rt_runtime_driver(rt)->hint, "CUDA_VISIBLE_DEVICES"));
    rt_runtime_destroy(rt);
    unsetenv("FAKE_CUDA_INIT");
}

static void
test_info(void **state)
{
    struct fixture *f = *state;
    struct rt_device *again, *second;
    assert_true(rt_open(f->rt, RT_CUDA, 0, &again, &f->diag));
    assert_ptr_equal(again, f->dev);
    assert_true(rt_open(f->rt, RT_CUDA, 1, &second, &f->diag));
    assert_string_equal(rt_device_info(f->dev)->name, "Fake GPU A");
    assert_string_equal(rt_device_info(f->dev)->target, "sm_90");
    assert_string_equal(rt_device_info(second)->target, "sm_100");
    assert_int_equal(rt_device_info(f->dev)->max_grid[1], 65535);
    assert_int_equal(rt_device_info(f->dev)->max_block[2], 64);
    assert_int_equal(rt_device_info(f->dev)->shared_optin_B, 232448);
    assert_int_equal(rt_device_info(second)->uuid[15], 0x41);
    assert_false(rt_open(f->rt, RT_CUDA, 2, &again, &f->diag));
    expect(f, SP_E_NO_DEVICE, "there is no GPU number 2; the driver has 2", NULL);
    struct sp_str text;
    sp_str_init(&text);
    rt_print_info(f->rt, &text);
    assert_non_null(strstr(text.data, "driver: CUDA 12.4"));
    assert_non_null(strstr(text.data, "cuda 1: Fake GPU B, sm_100, 132 multiprocessors, 2.0 GiB"));
    sp_str_finish(&text);
}

static void
test_contexts(void **state)
{
    struct fixture *f = *state;
    uint64_t address;
    assert_null(f->fake->get_current());
    assert_true(rt_device_alloc(f->dev, 16, 0, &address, &f->diag)); /* none current: set, stays */
    assert_ptr_equal(f->fake->get_current(), FAKE_CONTEXT(0));
    assert_int_equal(f->fake->n_set, 1);
    assert_true(rt_device_free(f->dev, address, &f->diag)); /* ours current: nothing to do */
    assert_int_equal(rt_memory_trim(f->dev, RT_POOL_DEVICE, 0), 2 << 20);
    assert_int_equal(f->fake->n_set, 1);
    assert_int_equal(f->fake->n_push, 0);
    f->fake->set_current(FAKE_FOREIGN); /* another one: put aside and brought back */
    assert_true(rt_device_alloc(f->dev, 16, 0, &address, &f->diag));
    assert_ptr_equal(f->fake->get_current(), FAKE_FOREIGN);
    assert_true(rt_device_free(f->dev, address, &f->diag));
    assert_int_equal(rt_memory_trim(f->dev, RT_POOL_DEVICE, 0), 2 << 20);
    struct rt_code *code = load(f, false);
    struct rt_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0, 0};
    uint64_t params[3] = {0};
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    rt_code_unload(code);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
    assert_int_equal(f->fake->n_push, 6);
    assert_int_equal(f->fake->n_pop, 6);
    assert_int_equal(f->fake->n_set, 1);
    assert_int_equal(f->fake->n_memory, 0);
}

static void
test_launch(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, false);
    assert_string_equal(f->fake->ptx, ".version 8.0");
    assert_int_equal(code->attributes.registers, 96);
    assert_int_equal(code->attributes.max_threads, 640);
    assert_int_equal(code->attributes.shared_B, 1024);
    struct rt_launch launch = {{7, 6, 5}, {4, 3, 2}, 128, 0, 0x77, 0};
    uint64_t params[3] = {0x1122334455667788, 0x99aabbcc, 0};
    assert_true(rt_device_prepare(f->dev, code, &launch, &f->diag));
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_memory_equal(f->fake->grid, launch.grid, sizeof launch.grid);
    assert_memory_equal(f->fake->block, launch.block, sizeof launch.block);
    assert_int_equal(f->fake->shared_B, 128);
    assert_ptr_equal(f->fake->stream, (void *)0x77);
    assert_int_equal(f->fake->params_B, 12); /* to the end of the last one, not of the area */
    assert_memory_equal(f->fake->params, params, 12);
    int n_calls = f->fake->n_calls;
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_int_equal(f->fake->n_calls,
                     n_calls + 2); /* whether the stream is captured, the launch */
    launch.stream = 0;
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_int_equal(f->fake->n_calls, n_calls + 3); /* the default stream cannot be */

    f->fake->launch_result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    assert_false(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuLaunchKernel failed", "fewer threads");
    f->fake->launch_result = CUDA_SUCCESS;
    rt_code_unload(code);
    assert_int_equal(f->fake->n_modules, 0);
}

static void
test_shared_memory(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, false);
    struct rt_launch launch = {{1, 1, 1}, {1, 1, 1}, 49152 - 1024, 0, 0, 0};
    assert_true(rt_device_prepare(f->dev, code, &launch, &f->diag));
    assert_int_equal(f->fake->dynamic_B, 0); /* within the default: not asked for */
    launch.shared_B++;
    assert_true(rt_device_prepare(f->dev, code, &launch, &f->diag));
    assert_int_equal(f->fake->dynamic_B, launch.shared_B);
    launch.shared_B = 232448 - 1024 + 1;
    assert_false(rt_device_prepare(f->dev, code, &launch, &f->diag));
    expect(f, SP_E_SHARED_LIMIT, "232449 bytes", NULL);
    launch.shared_B = 0;
    launch.block[0] = 641;
    assert_false(rt_device_prepare(f->dev, code, &launch, &f->diag));
    expect(f, SP_E_BLOCK_THREADS, "641 threads; this kernel allows 640", "96 registers");
    rt_code_unload(code);
}

static void
test_jit_options_and_logs(void **state)
{
    struct fixture *f = *state;
    struct artifact *artifact = fixture_saxpy(false);
    struct rt_jit_options options;
    struct rt_code *code;
    rt_jit_options_init(&options);
    assert_true(rt_device_load(f->dev, artifact, &options, &code, &f->diag));
    assert_int_equal(f->fake->n_options, 4); /* the logs and nothing else */
    rt_code_unload(code);
    assert_true(rt_jit_options_set(&options, "max_registers", 64, &f->diag));
    assert_true(rt_jit_options_set(&options, "fma", 0, &f->diag));
    assert_true(rt_device_load(f->dev, artifact, &options, &code, &f->diag));
    assert_int_equal(f->fake->n_options, 6);
    assert_int_equal(f->fake->keys[0], 0);
    assert_int_equal(f->fake->values[0], 64);
    assert_int_equal(f->fake->keys[1], 24);
    assert_int_equal(f->fake->values[1], 0);
    rt_code_unload(code);

    f->fake->load_result = CUDA_ERROR_INVALID_PTX;
    f->fake->error_log = "ptxas: line 7; unknown symbol";
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    assert_non_null(strstr(f->diag.message, "CUDA_ERROR_INVALID_PTX"));
    expect(f, SP_E_LOAD_FAILED, "PTX of 'saxpy'", NULL);
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    expect(f, SP_E_LOAD_FAILED, "line 7; unknown symbol", NULL);
    f->fake->load_result = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    f->fake->error_log = NULL;
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    expect(f, SP_E_LOAD_FAILED, "saxpy", "driver is older");
    f->fake->load_result = CUDA_SUCCESS;
    artifact->entry[0] = 'E';
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuModuleGetFunction", NULL);
    assert_int_equal(f->fake->n_modules, 0);
    artifact->kind = SP_CODE_OBJECT;
    assert_false(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    expect(f, SP_E_INTERNAL_ERROR, "CPU device", NULL);
    sp_artifact_destroy(artifact);
}

static void
test_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t address, other, free_B, total_B;
    assert_true(rt_device_alloc(f->dev, 0, 0, &address, &f->diag));
    assert_int_equal(address, 0);
    assert_true(rt_device_free(f->dev, 0, &f->diag));
    assert_int_equal(f->fake->n_memory, 0);

    assert_true(rt_device_alloc(f->dev, 64, 0, &address, &f->diag));
    assert_true(rt_device_alloc(f->dev, 64, 0, &other, &f->diag));
    uint64_t in[8], out[8];
    for (uint32_t size_B = 1; size_B <= 8; size_B *= 2) {
        uint64_t element = 0x0102030405060708;
        for (int equal_halves = 0; equal_halves < 2; equal_halves++) {
            for (uint32_t i = 0; i < 64 / size_B; i++)
                memcpy((char *)in + i * size_B, &element, size_B);
            assert_true(
                rt_device_fill(f->dev, address, &element, size_B, 64 / size_B, 0x11, &f->diag));
            assert_ptr_equal(f->fake->stream, (void *)0x11);
            assert_true(rt_device_copy(f->dev, other, address, 64, 0x12, &f->diag));
            assert_ptr_equal(f->fake->stream, (void *)0x12);
            assert_true(rt_device_copy_out(f->dev, out, other, 64, 0x13, &f->diag));
            assert_ptr_equal(f->fake->stream, (void *)0x13);
            assert_memory_equal(in, out, 64);
            element = 0x0505050505050505;
        }
    }
    int n_syncs = f->fake->n_syncs;
    assert_true(rt_device_copy_in(f->dev, address, in, 64, 0, &f->diag));
    assert_int_equal(f->fake->n_syncs, n_syncs + 1);
    assert_true(rt_device_memory_info(f->dev, &free_B, &total_B, &f->diag));
    assert_int_equal(free_B, 1000);
    assert_true(rt_device_free(f->dev, address, &f->diag));
    assert_true(rt_device_free(f->dev, other, &f->diag));
    assert_int_equal(f->fake->n_memory, 1); /* the pool keeps it */
    rt_memory_trim(f->dev, RT_POOL_DEVICE, 0);
    assert_int_equal(f->fake->n_memory, 0);

    f->fake->alloc_result = CUDA_ERROR_OUT_OF_MEMORY;
    assert_false(rt_device_alloc(f->dev, 1 << 20, 0, &address, &f->diag));
    expect(f, SP_E_NO_MEMORY, "1048576 bytes of GPU memory cannot be had: 1000 of 2000", NULL);
}

static void
test_query(void **state)
{
    struct fixture *f = *state;
    struct rt_memory memory;
    assert_true(rt_device_query(f->dev, FAKE_DEVICE_AT, &memory, &f->diag));
    assert_int_equal(memory.kind, RT_MEMORY_DEVICE);
    assert_int_equal(memory.ordinal, 1);
    assert_true(rt_device_query(f->dev, FAKE_MANAGED_AT, &memory, &f->diag));
    assert_int_equal(memory.kind, RT_MEMORY_MANAGED);
    assert_true(rt_device_query(f->dev, FAKE_PINNED_AT, &memory, &f->diag));
    assert_int_equal(memory.kind, RT_MEMORY_HOST);
    assert_true(rt_device_query(f->dev, 0x1234, &memory, &f->diag));
    assert_int_equal(memory.kind, RT_MEMORY_UNKNOWN);
}

static void
test_wait(void **state)
{
    struct fixture *f = *state;
    rt_stream stream;
    bool done;
    assert_true(rt_stream_create(f->dev, NULL, &stream, NULL, &f->diag));
    f->fake->n_queries_busy = 1 << 30;
    assert_true(rt_device_wait(f->dev, &stream, 3, &done, &f->diag));
    assert_false(done);
    assert_int_equal(f->fake->stream, (CUstream)stream);
    f->fake->n_queries_busy = 100;
    assert_true(rt_device_wait(f->dev, &stream, 10000, &done, &f->diag));
    assert_true(done);
    assert_int_equal(f->fake->n_syncs, 0);
    f->fake->n_queries_busy = 1;
    assert_true(rt_device_wait(f->dev, NULL, 1000, &done, &f->diag));
    assert_true(done);
    assert_int_equal(f->fake->n_syncs, 1);
    rt_device_cancel(f->dev);
    assert_true(rt_stream_synchronize(f->dev, stream, &f->diag));
    f->fake->wait_result = 999; /* an error without a text */
    assert_false(rt_device_wait(f->dev, &stream, 5, &done, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "does not say why", NULL);
    f->fake->wait_result = CUDA_SUCCESS;
    assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
    assert_int_equal(f->fake->n_streams, 0);
}

static void
test_faults(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, true);
    struct rt_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0x21, 0};
    uint64_t params[3] = {0};
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_int_equal(f->fake->params_B, 24);
    assert_int_not_equal(params[2], 0);
    assert_true(rt_stream_synchronize(f->dev, launch.stream, &f->diag));

    f->fake->fault_site = 0;
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    rt_code_unload(code); /* the launch in flight keeps what the message needs */
    assert_int_equal(f->fake->n_modules, 1);
    assert_false(rt_stream_synchronize(f->dev, launch.stream, &f->diag));
    assert_int_equal(f->diag.where.line, 4);
    expect(f, SP_E_OUT_OF_BOUNDS, "index 11 is out of bounds for axis 0 of array 'x'", NULL);
    assert_int_equal(f->fake->n_modules, 0);
    assert_true(rt_device_synchronize(f->dev, &f->diag));
}

/* A launch that another thread makes while a wait is on its way is not covered by that wait. */
static void
test_faults_of_later_launches(void **state)
{
    struct fixture *f = *state;
    struct cuda_device *dev = (struct cuda_device *)f->dev;
    struct rt_code *code = load(f, true);
    struct rt_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0x21, 0};
    uint64_t params[3] = {0};
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    uint64_t before = atomic_load(&dev->faults.n_launched);
    struct rt_wait wait = {.stream = &launch.stream};
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_true(rt_cuda_faults_collect(dev, &wait, before, &f->diag));
    assert_int_equal(atomic_load(&dev->faults.n_used), 1);
    assert_true(rt_stream_synchronize(f->dev, launch.stream, &f->diag));
    assert_int_equal(atomic_load(&dev->faults.n_used), 0);
    rt_code_unload(code);
}

/* More launches than slots, on a stream that nobody waits for: the launch makes room by waiting,
 * and the exceptions found then come with the next wait. */
static void
test_faults_fill_up(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, true);
    struct rt_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0x22, 0};
    uint64_t params[3] = {0};
    rt_stream other = 0x23;
    for (int i = 0; i < CUDA_N_SLOTS; i++) {
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
        assert_true(rt_stream_synchronize(f->dev, other, &f->diag));
    }
    int n_syncs = f->fake->n_syncs;
    f->fake->fault_site = 0;
    assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_int_equal(f->fake->n_syncs, n_syncs + 1);
    f->fake->fault_site = -1;
    for (int i = 0; i < CUDA_N_SLOTS; i++)
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_int_equal(f->fake->n_syncs, n_syncs + 2);
    uint8_t byte = 0;
    assert_false(rt_device_copy_in(f->dev, (uintptr_t)&byte, &byte, 1, other, &f->diag));
    expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    f->fake->launch_result = CUDA_ERROR_INVALID_VALUE;
    assert_false(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuLaunchKernel", NULL);
    rt_code_unload(code);
}

/* Slots are used in a ring: the first launch that raises may have the last of them. */
static void
test_faults_in_order(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, true);
    struct rt_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, 0, 0x22, 0};
    uint64_t params[3] = {0};
    for (int i = 0; i < CUDA_N_SLOTS - 1; i++)
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_true(rt_stream_synchronize(f->dev, launch.stream, &f->diag));
    f->fake->fault_site = 0;
    for (f->fake->fault_more = 0; f->fake->fault_more < 3; f->fake->fault_more++)
        assert_true(rt_device_launch(f->dev, code, &launch, params, &f->diag));
    assert_false(rt_stream_synchronize(f->dev, launch.stream, &f->diag));
    assert_int_equal(f->diag.n_notes, 1); /* the others are of the same place */
    expect(f, SP_E_OUT_OF_BOUNDS, "index 11", NULL);
    assert_true(rt_stream_synchronize(f->dev, launch.stream, &f->diag));
    rt_code_unload(code);
}

/* Blocks that wait for each other: each stream has a place for them, which stays. */
static void
test_cooperative(void **state)
{
    struct fixture *f = *state;
    struct artifact *artifact = fixture_saxpy(false);
    artifact->cooperative = true;
    artifact->n_params = 3;
    artifact->params[2].kind = SP_PARAM_GRID;
    struct rt_code *code;
    assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    rt_stream stream, other;
    assert_true(rt_stream_create(f->dev, NULL, &stream, NULL, &f->diag));
    assert_true(rt_stream_create(f->dev, NULL, &other, NULL, &f->diag));
    const rt_stream streams[] = {0, stream, 0, stream, other};
    uint64_t places[5];
    for (int i = 0; i < 5; i++) {
        struct rt_launch how = {{2, 3, 1}, {64, 1, 1}, 8, 0, streams[i], 0};
        char params[24] = {7, 0, 0, 0, 0, 0, 0, 0, 9};
        assert_true(rt_device_prepare(f->dev, code, &how, &f->diag));
        assert_true(rt_device_launch(f->dev, code, &how, params, &f->diag));
        assert_int_equal(f->fake->n_cooperative, i + 1);
        assert_int_equal(f->fake->grid[1], 3);
        assert_int_equal(f->fake->shared_B, 8);
        assert_int_equal(f->fake->params[0], 7);
        assert_int_equal(f->fake->params[8], 9);
        memcpy(&places[i], f->fake->params + 16, 8);
        assert_int_not_equal(places[i], 0);
    }
    assert_int_equal(f->fake->n_launches, 0);
    assert_true(places[0] == places[2] && places[1] == places[3]);
    assert_true(places[0] != places[1] && places[0] != places[4] && places[1] != places[4]);

    struct rt_launch own = {{2, 1, 1}, {64, 1, 1}, 0, 0, 2, 1}; /* the thread's own stream */
    char params[24];
    for (own.thread = 1; own.thread < 3; own.thread++) {
        assert_true(rt_device_launch(f->dev, code, &own, params, &f->diag));
        memcpy(&places[own.thread], params + 16, 8);
    }
    assert_true(places[1] != places[2]);

    uint32_t most = 3 * rt_device_info(f->dev)->n_processors;
    struct rt_launch large = {{most, 1, 1}, {64, 1, 1}, 0, 0, 0, 0};
    assert_true(rt_device_prepare(f->dev, code, &large, &f->diag));
    large.grid[0]++;
    assert_false(rt_device_prepare(f->dev, code, &large, &f->diag));
    expect(f, SP_E_GRID_WAITS, "wait for each other", "launch at most");
    f->fake->launch_result = CUDA_ERROR_INVALID_VALUE;
    assert_false(rt_device_launch(f->dev, code, &own, params, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuLaunchCooperativeKernel", NULL);
    f->fake->launch_result = CUDA_SUCCESS;
    assert_true(rt_stream_destroy(f->dev, other, &f->diag));
    assert_true(rt_stream_destroy(f->dev, stream, &f->diag));
    rt_code_unload(code);
}

int
main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    fake_path = argv[1];
    old_path = argv[2];
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_environment_names_library),
        cmocka_unit_test(test_old_driver),
        cmocka_unit_test(test_driver_without_device),
        WITH_DEVICE(test_info),
        WITH_DEVICE(test_contexts),
        WITH_DEVICE(test_launch),
        WITH_DEVICE(test_shared_memory),
        WITH_DEVICE(test_cooperative),
        WITH_DEVICE(test_jit_options_and_logs),
        WITH_DEVICE(test_memory),
        WITH_DEVICE(test_query),
        WITH_DEVICE(test_wait),
        WITH_DEVICE(test_faults),
        WITH_DEVICE(test_faults_of_later_launches),
        WITH_DEVICE(test_faults_fill_up),
        WITH_DEVICE(test_faults_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
