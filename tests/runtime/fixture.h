/* What tests of one device begin and end with. Whoever has a stand-in checks that it got all
 * back. */
#ifndef TESTS_RUNTIME_FIXTURE_H
#define TESTS_RUNTIME_FIXTURE_H

#include <dlfcn.h>
#include <stdlib.h>

#include "runtime/rt.h"
#include "support/arena.h"
#include "tests/runtime/fake_cuda.h"
#include "tests/support/check.h"

struct fixture {
    struct fake_cuda *fake; /* NULL: the cpu device */
    struct rt_runtime *rt;
    struct rt_device *dev;
    struct sp_diag diag;
};

static inline void
fixture_open(struct fixture *f, enum rt_kind kind, const struct rt_options *options)
{
    sp_diag_init(&f->diag);
    f->rt = rt_runtime_create(options);
    assert_true(rt_open(f->rt, kind, 0, &f->dev, &f->diag));
}

static inline struct fixture *
fixture_cpu(uint32_t n_threads)
{
    struct fixture *f = calloc(1, sizeof *f);
    fixture_open(f, RT_CPU, &(struct rt_options){.cpu_threads = n_threads});
    return f;
}

static inline struct fixture *
fixture_cuda(const char *fake_path)
{
    struct fixture *f = calloc(1, sizeof *f);
    void *library = dlopen(fake_path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *address = dlsym(library, "fake_cuda");
    fake_cuda_fn get;
    memcpy(&get, &address, sizeof get);
    f->fake = get();
    memset(f->fake, 0, sizeof *f->fake);
    (void)get();
    f->fake->set_current(NULL);
    f->fake->fault_site = -1;
    fixture_open(f, RT_CUDA, &(struct rt_options){.cuda_library = fake_path});
    return f;
}

static inline void
fixture_launch(struct fixture *f, struct rt_code *code, uint32_t grid, uint32_t block, void *params)
{
    const struct rt_launch how = {.grid = {grid, 1, 1}, .block = {block, 1, 1}};
    assert_true(rt_device_prepare(f->dev, code, &how, &f->diag));
    assert_true(rt_device_launch(f->dev, code, &how, params, &f->diag));
}

static inline int
fixture_close(void **state)
{
    struct fixture *f = *state;
    rt_runtime_destroy(f->rt);
    if (f->fake) {
        assert_int_equal(f->fake->n_retained, 0);
        assert_int_equal(f->fake->n_host, 0);
        assert_int_equal(f->fake->n_memory, 0);
        assert_int_equal(f->fake->n_modules, 0);
        assert_int_equal(f->fake->n_events, 0);
        assert_int_equal(f->fake->n_graphs, 0);
        assert_int_equal(f->fake->n_objects, 0);
    }
    sp_diag_finish(&f->diag);
    free(f);
    return 0;
}

static inline char *
copy_text(const char *text)
{
    return memcpy(sp_alloc(strlen(text) + 1), text, strlen(text) + 1);
}

#endif
