/* Contexts of the cuda device against the stand-in for libcuda: when they are made, which device
 * belongs to what is current, those of other libraries, reset, threads, and a fork. The library is
 * given as an argument. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/rt_stream.h"
#include "tests/runtime/fixture.h"

static const char *fake_path;

static int
set_up(void **state)
{
    *state = fixture_cuda(fake_path);
    return 0;
}

static uint64_t
alloc(struct fixture *f, struct rt_device *dev)
{
    uint64_t address = 0;
    assert_true(rt_device_alloc(dev, 64, 0, &address, &f->diag));
    return address;
}

static struct artifact *
make_artifact(bool raises)
{
    const struct sp_param param = {raises ? SP_PARAM_FAULT : SP_PARAM_DATA, 0, 0, 0, 8};
    struct artifact *artifact = fixture_ptx("k", &param, 1);
    if (raises)
        fixture_add_site(artifact);
    return artifact;
}

static struct rt_code *
load(struct fixture *f, struct rt_device *dev, bool raises)
{
    struct artifact *artifact = make_artifact(raises);
    struct rt_code *code;
    assert_true(rt_device_load(dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    return code;
}

static void
launch(struct fixture *f, struct rt_device *dev, struct rt_code *code, uint64_t address)
{
    struct rt_launch how = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    assert_true(rt_device_prepare(dev, code, &how, &f->diag));
    assert_true(rt_device_launch(dev, code, &how, &address, &f->diag));
}

/* Names and attributes cost no context. */
static void
test_context_is_made_when_needed(void **state)
{
    struct fixture *f = *state;
    struct rt_device *second;
    int value = 0;
    assert_true(rt_open(f->rt, RT_CUDA, 1, &second, &f->diag));
    assert_string_equal(rt_device_info(second)->pci, "0000:3c:00.0");
    assert_true(rt_device_attribute(second, CU_DEVICE_ATTRIBUTE_WARP_SIZE, &value, &f->diag));
    assert_int_equal(value, 32);
    assert_false(rt_device_attribute(second, 147, &value, &f->diag));
    expect(f, SP_E_DRIVER_FAILED, "cuDeviceGetAttribute", NULL);
    assert_int_equal(f->fake->n_retained, 0);
    uint64_t address = alloc(f, second);
    assert_int_equal(f->fake->n_retained, 1);
    assert_ptr_equal(f->fake->get_current(), FAKE_CONTEXT(1));
    assert_true(rt_device_free(second, address, &f->diag));
}

static void
test_current(void **state)
{
    struct fixture *f = *state;
    struct rt_device *second, *dev;
    uintptr_t before = 7, ignored;
    assert_true(rt_open(f->rt, RT_CUDA, 1, &second, &f->diag));
    assert_true(rt_current(f->rt, &dev, &f->diag));
    assert_null(dev);
    assert_true(rt_device_make_current(f->dev, &before, &f->diag));
    assert_true(before == 0);
    assert_true(rt_device_is_here(f->dev));
    assert_true(rt_device_make_current(second, &before, &f->diag));
    assert_ptr_equal((CUcontext)before, FAKE_CONTEXT(0));
    assert_false(rt_device_is_here(f->dev));
    assert_true(rt_current(f->rt, &dev, &f->diag));
    assert_ptr_equal(dev, second);
    assert_true(rt_context_restore(f->rt, before, &f->diag));
    assert_true(rt_current(f->rt, &dev, &f->diag));
    assert_ptr_equal(dev, f->dev);
    /* An operation of the other one leaves it so. */
    uint64_t address = alloc(f, second);
    assert_true(rt_device_is_here(f->dev));
    assert_true(rt_device_free(second, address, &f->diag));
    assert_true(rt_device_make_current(f->dev, &ignored, &f->diag));
    assert_true(rt_context_restore(f->rt, 0, &f->diag));
    assert_null(f->fake->get_current());
}

/* Another library has made the primary context of the second device current. */
static void
test_primary_context_of_others(void **state)
{
    struct fixture *f = *state;
    struct rt_device *dev, *second;
    f->fake->set_current(FAKE_CONTEXT(1));
    f->fake->retain(1, 1);
    assert_true(rt_current(f->rt, &dev, &f->diag));
    assert_true(rt_open(f->rt, RT_CUDA, 1, &second, &f->diag));
    assert_ptr_equal(dev, second);
    assert_false(rt_device_info(dev)->is_adopted);
    f->fake->retain(1, -1);
}

/* A context of its own: a device of its own, in which everything works. */
static void
test_contexts_that_are_not_primary(void **state)
{
    struct fixture *f = *state;
    struct rt_device *dev, *again;
    f->fake->set_current(FAKE_OTHER(0));
    assert_true(rt_current(f->rt, &dev, &f->diag));
    assert_ptr_not_equal(dev, f->dev);
    assert_true(rt_device_info(dev)->is_adopted);
    assert_int_equal(rt_device_info(dev)->ordinal, 0);
    assert_true(rt_device_is_here(dev));
    uint64_t address = alloc(f, dev);
    struct rt_code *code = load(f, dev, false);
    launch(f, dev, code, address);
    assert_int_equal(f->fake->n_push, 0);
    assert_int_equal(f->fake->n_retained, 0);
    assert_false(rt_device_reset(dev, &f->diag));
    expect(f, SP_E_BAD_VALUE, "another library made", NULL);
    assert_true(rt_current(f->rt, &again, &f->diag));
    assert_ptr_equal(again, dev);
    rt_code_unload(code);
    assert_true(rt_device_free(dev, address, &f->diag));
    assert_true(rt_memory_trim(dev, RT_POOL_DEVICE, 0) > 0);
    /* At the same address there is another one now. */
    f->fake->other_id++;
    assert_true(rt_current(f->rt, &again, &f->diag));
    assert_ptr_not_equal(again, dev);
    assert_true(rt_device_was_reset(dev));
    assert_false(rt_device_synchronize(dev, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0 was reset", NULL);
    /* One that belongs to no device. */
    f->fake->set_current(FAKE_FOREIGN);
    assert_false(rt_current(f->rt, &again, &f->diag));
    expect(f, SP_E_NO_DEVICE, "no GPU we know", NULL);
    f->fake->set_current(NULL);
}

/* The stand-in refuses what a GPU would break at. */
static void
test_memories_are_apart(void **state)
{
    struct fixture *f = *state;
    struct rt_device *second;
    assert_true(rt_open(f->rt, RT_CUDA, 1, &second, &f->diag));
    uint64_t there = alloc(f, second);
    struct rt_memory memory;
    assert_true(rt_device_query(f->dev, there, &memory, &f->diag));
    assert_int_equal(memory.ordinal, 1);
    struct rt_code *code = load(f, f->dev, false);
    struct rt_launch how = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    assert_false(rt_device_launch(f->dev, code, &how, &there, &f->diag));
    expect(f, SP_E_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS", NULL);
    rt_code_unload(code);
    f->fake->n_modules = 0; /* a broken GPU took it along */
    assert_true(rt_device_free(second, there, &f->diag));
}

static void
test_reset(void **state)
{
    struct fixture *f = *state;
    struct rt_device *old = f->dev, *dev;
    struct rt_launch how = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t address = alloc(f, old), more, params = 0;
    struct rt_code *code = load(f, old, false), *raising = load(f, old, true);
    rt_stream stream;
    struct rt_event *event;
    int priority;
    assert_true(
        rt_stream_create(old, &(struct rt_stream_options){0}, &stream, &priority, &f->diag));
    assert_true(rt_event_create(old, 0, &event, &f->diag));
    f->fake->fault_site = 0;
    launch(f, old, raising, 0); /* an exception that nobody waits for */
    f->fake->fault_site = -1;
    assert_true(rt_device_reset(old, &f->diag));
    assert_true(rt_device_reset(old, &f->diag));
    assert_int_equal(f->fake->n_resets, 1);
    assert_int_equal(f->fake->n_memory, 0);
    assert_int_equal(f->fake->n_retained, 0);
    assert_null(f->fake->get_current());
    assert_true(rt_open(f->rt, RT_CUDA, 0, &dev, &f->diag));
    assert_ptr_not_equal(dev, old);
    assert_false(rt_device_is_here(old));
    assert_false(rt_device_alloc(old, 16, 0, &more, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0 was reset: its arrays, streams and kernels are gone",
           NULL);
    assert_false(rt_device_launch(old, code, &how, &params, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0", NULL);
    assert_false(rt_device_launch(old, raising, &how, &params, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0", NULL);
    assert_false(rt_device_copy_in(old, address, &params, 8, 0, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0", NULL);
    assert_false(rt_stream_synchronize(old, stream, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0", NULL);
    assert_false(rt_device_check(old, &f->diag));
    expect(f, SP_E_DEVICE_RESET, "cuda:0", NULL);
    assert_null(rt_device_take_prints(old));
    /* What is freed late is freed by nobody. */
    assert_true(rt_device_free(old, address, &f->diag));
    assert_true(rt_stream_destroy(old, stream, &f->diag));
    rt_event_destroy(event);
    rt_code_unload(code);
    rt_code_unload(raising);
    address = alloc(f, dev);
    assert_true(rt_device_free(dev, address, &f->diag));
}

/* A device that was not used has nothing that could be reset: other libraries keep theirs. */
static void
test_reset_of_what_was_not_used(void **state)
{
    struct fixture *f = *state;
    struct rt_device *dev;
    assert_true(rt_device_reset(f->dev, &f->diag));
    assert_int_equal(f->fake->n_resets, 0);
    assert_true(rt_open(f->rt, RT_CUDA, 0, &dev, &f->diag));
    assert_ptr_equal(dev, f->dev);
}

/* ---- Threads */

enum { N_THREADS = 8, N_ROUNDS = 200 };

struct worker {
    struct fixture *f;
    struct rt_device *devices[2];
    int i;
    char failure[200]; /* cmocka's checks are for the main thread */
};

static void *
work(void *argument)
{
    struct worker *w = argument;
    struct sp_diag diag;
    sp_diag_init(&diag);
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            snprintf(w->failure, sizeof w->failure, "%s: %.100s", #what,                           \
                     diag.message ? diag.message : "");                                            \
            sp_diag_finish(&diag);                                                                 \
            return NULL;                                                                           \
        }                                                                                          \
    } while (0)
    for (int n = 0; n < N_ROUNDS; n++) {
        struct rt_device *dev = w->devices[(w->i + n) % 2], *here;
        uintptr_t before;
        uint64_t address;
        CHECK(rt_device_make_current(dev, &before, &diag));
        CHECK(rt_current(w->f->rt, &here, &diag));
        CHECK(here == dev);
        CHECK(rt_device_alloc(dev, 32, 0, &address, &diag));
        struct artifact *artifact = make_artifact(n % 3 == 0);
        struct rt_code *code;
        CHECK(rt_device_load(dev, artifact, NULL, &code, &diag));
        sp_artifact_destroy(artifact);
        struct rt_launch how = {
            .grid = {1, 1, 1}, .block = {1, 1, 1}, .thread = (uint64_t)w->i + 1};
        uint64_t params = address; /* the launch writes there */
        CHECK(rt_device_launch(dev, code, &how, &params, &diag));
        CHECK(rt_device_synchronize(dev, &diag));
        rt_code_unload(code);
        CHECK(rt_device_free(dev, address, &diag));
        CHECK(rt_context_restore(w->f->rt, before, &diag));
    }
#undef CHECK
    sp_diag_finish(&diag);
    return NULL;
}

static void
test_threads_on_two_devices(void **state)
{
    struct fixture *f = *state;
    struct worker workers[N_THREADS];
    pthread_t threads[N_THREADS];
    struct rt_device *second;
    assert_true(rt_open(f->rt, RT_CUDA, 1, &second, &f->diag));
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){f, {f->dev, second}, i, ""};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_THREADS; i++)
        assert_string_equal(workers[i].failure, "");
    assert_null(f->fake->get_current());
}

/* ---- A fork */

/* The stand-in aborts when it is called in the child. */
static int
child(struct fixture *f, struct rt_code *code, uint64_t address)
{
    struct rt_launch how = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    struct rt_device *dev;
    struct sp_diag diag;
    uint64_t params = 0, more;
    int value, n = 0;
    uintptr_t before;
#define FAILS(call)                                                                                \
    do {                                                                                           \
        sp_diag_init(&diag);                                                                       \
        if ((call) || diag.code != SP_E_FORKED || !strstr(diag.hint, "spawn"))                     \
            return 10 + n;                                                                         \
        sp_diag_finish(&diag);                                                                     \
        n++;                                                                                       \
    } while (0)
    FAILS(rt_device_alloc(f->dev, 8, 0, &more, &diag));
    FAILS(rt_device_launch(f->dev, code, &how, &params, &diag));
    FAILS(rt_device_synchronize(f->dev, &diag));
    FAILS(rt_device_attribute(f->dev, 10, &value, &diag));
    FAILS(rt_device_make_current(f->dev, &before, &diag));
    FAILS(rt_device_reset(f->dev, &diag));
    FAILS(rt_open(f->rt, RT_CUDA, 1, &dev, &diag));
#undef FAILS
    sp_diag_init(&diag);
    if (!rt_current(f->rt, &dev, &diag) || dev || rt_device_is_here(f->dev) || !rt_is_forked(f->rt))
        return 1;
    rt_code_unload(code);
    (void)!rt_device_free(f->dev, address, &diag);
    if (!rt_open(f->rt, RT_CPU, 0, &dev, &diag) || !rt_device_alloc(dev, 8, 0, &more, &diag))
        return 2;
    rt_runtime_destroy(f->rt);
    return 0;
}

static void
test_fork(void **state)
{
    struct fixture *f = *state;
    struct rt_code *code = load(f, f->dev, false);
    uint64_t address = alloc(f, f->dev);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(f, code, address));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(rt_is_forked(f->rt));
    launch(f, f->dev, code, address);
    rt_code_unload(code);
    assert_true(rt_device_free(f->dev, address, &f->diag));
}

/* A child of a process that has used no GPU may use it. */
static void
test_fork_before_the_driver(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct rt_runtime *rt = rt_runtime_create(&(struct rt_options){.cuda_library = fake_path});
        pid_t inner = fork();
        if (inner == 0) {
            struct rt_device *dev;
            struct sp_diag diag;
            uint64_t address;
            sp_diag_init(&diag);
            bool ok = rt_open(rt, RT_CUDA, 0, &dev, &diag) &&
                      rt_device_alloc(dev, 8, 0, &address, &diag) && !rt_is_forked(rt) &&
                      rt_device_is_here(dev) && rt_device_free(dev, address, &diag);
            rt_runtime_destroy(rt);
            _exit(ok ? 0 : 3);
        }
        int status;
        waitpid(inner, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(int argc, char **argv)
{
    assert_int_equal(argc, 2);
    fake_path = argv[1];
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, fixture_close)
    const struct CMUnitTest tests[] = {
        TEST(context_is_made_when_needed),
        TEST(current),
        TEST(primary_context_of_others),
        TEST(contexts_that_are_not_primary),
        TEST(memories_are_apart),
        TEST(reset),
        TEST(reset_of_what_was_not_used),
        TEST(threads_on_two_devices),
        TEST(fork),
        cmocka_unit_test(test_fork_before_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
