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

/* How the last call has failed; `in_hint` may be NULL. Makes ready for the next one. */
static inline void
expect(struct fixture *f, enum sp_error code, const char *in_message, const char *in_hint)
{
    assert_int_equal(f->diag.code, code);
    if (!strstr(f->diag.message, in_message))
        assert_string_equal(f->diag.message, in_message);
    if (in_hint) {
        assert_non_null(f->diag.hint);
        if (!strstr(f->diag.hint, in_hint))
            assert_string_equal(f->diag.hint, in_hint);
    }
    sp_diag_finish(&f->diag);
    sp_diag_init(&f->diag);
}

/* A place that can raise: x[11], or what fake_cuda's orders say, in k.py, line 4. */
static inline void
fixture_add_site(struct artifact *artifact)
{
    artifact->n_sites = 1;
    artifact->sites = sp_alloc(sizeof *artifact->sites);
    artifact->sites[0] =
        (struct sp_fault_site){.code = SP_E_OUT_OF_BOUNDS,
                               .where = {copy_text("k.py"), copy_text(artifact->name), 4, 4, 8, 12},
                               .name = copy_text("x"),
                               .n_values = 4};
}

/* PTX that takes such parameters, the last one of 8 bytes. */
static inline struct artifact *
fixture_ptx(const char *name, const struct sp_param *params, uint32_t n)
{
    struct artifact *artifact = sp_artifact_create();
    artifact->kind = SP_CODE_PTX;
    artifact->code = copy_text(".version 8.0");
    artifact->size_B = strlen(artifact->code);
    artifact->entry = copy_text("entry");
    artifact->name = copy_text(name);
    artifact->n_params = n;
    artifact->params_size_B = n ? params[n - 1].offset_B + 8 : 0;
    artifact->params = sp_alloc((n + 1) * sizeof *params);
    for (uint32_t i = 0; i < n; i++)
        artifact->params[i] = params[i];
    return artifact;
}

/* Loads the artifact, and lets go of it. */
static inline struct rt_code *
fixture_load(struct fixture *f, struct artifact *artifact)
{
    struct rt_code *code;
    assert_true(rt_device_load(f->dev, artifact, NULL, &code, &f->diag));
    sp_artifact_destroy(artifact);
    return code;
}

/* A float and an int64 by size, then (if it can raise) the fault's address. */
static inline struct artifact *
fixture_saxpy(bool raises)
{
    static const struct sp_param params[] = {{SP_PARAM_EXTENT, 0, 1, 0, 8},
                                             {SP_PARAM_SCALAR, 0, 0, 8, 4},
                                             {SP_PARAM_FAULT, 0, 0, 16, 8}};
    struct artifact *artifact = fixture_ptx("saxpy", params, 3);
    if (raises)
        fixture_add_site(artifact);
    else
        artifact->n_params = 2; /* the third's place stays */
    return artifact;
}

#endif
