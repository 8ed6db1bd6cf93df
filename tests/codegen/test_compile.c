/* Requests: what an artifact holds, what a target lacks, what a hostile request is told, keys, many
 * compilations at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codegen/parts.h"

static const char plain_text[] =
    "module core\n"
    "site 0 OUT_OF_BOUNDS \"x\" 1 !7:8-12\n"
    "\n"
    "func @0 \"f.<locals>.k\" file \"k.py\" line 3 kernel (ptr.global \"x\", i1 \"b\", "
    "f32 \"y\") {\n"
    "b0:\n"
    "  %1 = param ptr.global 0\n"
    "  %2 = param f32 2\n"
    "  %3 = param i1 1\n"
    "  store align(2) %1, %2\n"
    "  br %3, b1, b2\n"
    "b1 (b0):\n"
    "  ret\n"
    "b2 (b0):\n"
    "  %4 = const i64 5\n"
    "  raise site(0) %4\n"
    "}\n";

static const char math_text[] = "module core\n"
                                "\n"
                                "func @0 \"m\" kernel (ptr.global \"x\") {\n"
                                "b0:\n"
                                "  %1 = param ptr.global 0\n"
                                "  %2 = load f64 align(3) %1\n"
                                "  %3 = intrin f64 math.sin %2\n"
                                "  store align(3) %1, %3\n"
                                "  ret\n"
                                "}\n";

struct fixture {
    struct cg_state *cg;
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *core;
    struct cg_request request;
    struct artifact *artifact;
};

static void
begin(struct fixture *f, const char *text, const char *target)
{
    *f = (struct fixture){.cg = cg_create()};
    sp_arena_init(&f->arena);
    sp_diag_init(&f->diag);
    cg_options_init(&f->request.options);
    assert_true(cg_target_parse(target, &f->request.arch, &f->diag));
    if (!ir_parse(text, &f->arena, &f->core, &f->diag))
        fail_msg("%s", f->diag.message);
}

static bool
compile(struct fixture *f)
{
    return cg_compile_core(f->cg, f->core, &f->request, true, &f->artifact, NULL, &f->diag);
}

static void
end(struct fixture *f)
{
    sp_artifact_destroy(f->artifact);
    ir_module_finish(f->core);
    sp_diag_finish(&f->diag);
    sp_arena_finish(&f->arena);
    cg_destroy(f->cg);
}

static void
test_artifact(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, plain_text, "sm_75");
    f.request.options.keep_ir = f.request.options.keep_llvm = true;
    f.request.options.max_threads = 128;
    assert_true(compile(&f));
    const struct artifact *a = f.artifact;
    assert_int_equal(a->kind, SP_CODE_PTX);
    assert_int_equal(strlen(a->code), a->size_B);
    assert_string_equal(a->entry, "f__locals__k");
    assert_string_equal(a->name, "f.<locals>.k");
    assert_string_equal(a->target, "sm_75");
    assert_int_equal(a->max_threads, 128);
    assert_int_equal(a->n_params, 4);
    assert_int_equal(a->params[1].offset_B, 8);
    assert_int_equal(a->params[1].size_B, 1);
    assert_int_equal(a->params[2].offset_B, 12);
    assert_int_equal(a->params[3].kind, SP_PARAM_FAULT);
    assert_int_equal(a->params[3].offset_B, 16);
    assert_int_equal(a->params_size_B, 24);
    assert_int_equal(a->n_sites, 1);
    assert_string_equal(a->sites[0].name, "x");
    assert_int_equal(a->sites[0].where.line, 7);
    assert_non_null(strstr(a->ir, "module core"));
    assert_non_null(strstr(a->llvm, "target triple"));
    end(&f);
}

static void
test_host_artifact(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, plain_text, "host");
    assert_true(compile(&f));
    assert_int_equal(f.artifact->kind, SP_CODE_OBJECT);
    assert_memory_equal(f.artifact->code, "\177ELF", 4);
    assert_int_equal(f.artifact->n_params, 3);
    assert_null(f.artifact->ir);
    end(&f);
}

/* Names that others have: a device function's with its number, libdevice's, libm's, a keyword. */
static void
test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *entry, *host;
    } rows[] = {{"f_1", "f_1", "gpujit_f_1"},
                {"__nv_sin", "gpujit___nv_sin", "gpujit___nv_sin"},
                {"sin", "sin", "gpujit_sin"},
                {"add", "add", "gpujit_add"},
                {"<lambda>", "_lambda_", "gpujit__lambda_"},
                {"gpujit_fault_1", "gpujit_fault_1", "gpujit_gpujit_fault_1"},
                {"\xc3\xa4", "__", "gpujit___"}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct fixture f;
        bool host = i % 2;
        struct sp_str text;
        sp_str_init(&text);
        sp_str_printf(&text,
                      "module core\nsite 0 OUT_OF_BOUNDS \"x\" 1 !7:8-12\n\n"
                      "func @0 \"%s\" kernel (f64 \"x\") {\nb0:\n  %%1 = param f64 0\n"
                      "  %%2 = callf i64 @1 %%1\n  raise site(0) %%2\n}\n\n"
                      "func @1 \"f\" (f64 \"x\") -> i64 {\nb0:\n  %%1 = param f64 0\n"
                      "  %%2 = intrin f64 math.sin %%1\n  %%3 = bitcast i64 %%2\n  ret %%3\n}\n",
                      rows[i / 2].name);
        begin(&f, text.data, host ? "host" : "sm_80");
        f.request.options.opt_level = 0;
        assert_true(cg_compile_core(f.cg, f.core, &f.request, false, &f.artifact, NULL, &f.diag));
        assert_string_equal(f.artifact->entry, host ? rows[i / 2].host : rows[i / 2].entry);
        if (!host) {
            char line[64];
            snprintf(line, sizeof line, ".visible .entry %s(", rows[i / 2].entry);
            assert_non_null(strstr(f.artifact->code, line));
        }
        sp_str_finish(&text);
        end(&f);
    }
}

static void
refuse(struct fixture *f, enum sp_error code, const char *part)
{
    assert_false(compile(f));
    assert_null(f->artifact);
    assert_int_equal(f->diag.code, code);
    assert_non_null(strstr(f->diag.message, part));
    end(f);
}

static void
test_lacks(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, plain_text, "sm_90");
    f.request.ptx_cap = 75;
    refuse(&f, SP_E_TARGET_LACKS, "PTX 7.8");
    begin(&f, plain_text, "sm_90");
    f.request.ptx_cap = 78;
    assert_true(compile(&f));
    end(&f);
}

/* A kernel with `n` parameters of 8 bytes. */
static void
begin_wide(struct fixture *f, int n, const char *target)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_str_add(&text, "module core\n\nfunc @0 \"wide\" kernel (");
    for (int i = 0; i < n; i++)
        sp_str_printf(&text, "%si64 \"a%d\"", i ? ", " : "", i);
    sp_str_add(&text, ") {\nb0:\n  ret\n}\n");
    begin(f, text.data, target);
    sp_str_finish(&text);
}

static void
test_parameter_space(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 544, "sm_75");
    assert_true(compile(&f));
    assert_non_null(strstr(f.artifact->code, ".version 6.3"));
    end(&f);
    begin_wide(&f, 545, "sm_75");
    assert_true(compile(&f));
    assert_non_null(strstr(f.artifact->code, ".version 8.1"));
    end(&f);
    begin_wide(&f, 545, "sm_75");
    f.request.ptx_cap = 80;
    refuse(&f, SP_E_TARGET_LACKS, "PTX 8.1");
    begin_wide(&f, 4096, "sm_75");
    refuse(&f, SP_E_TARGET_LACKS, "32768 bytes of parameters");
}

static void
test_hostile(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, plain_text, "sm_80");
    f.request.options.opt_level = 9;
    refuse(&f, SP_E_BAD_OPTION, "opt_level");
    begin(&f, plain_text, "sm_80");
    f.request.arch.sm = 61;
    refuse(&f, SP_E_BAD_TARGET, "sm_61");
    begin(&f, plain_text, "sm_80");
    f.request.arch.ptx = 10;
    refuse(&f, SP_E_BAD_TARGET, "known are");
    begin(&f, plain_text, "sm_80");
    struct ir_argtype one = {.kind = IR_ARG_SCALAR, .dtype = IR_T_INT};
    f.request.args = &one;
    f.request.n_args = 1;
    refuse(&f, SP_E_IR_INVALID, "do not match");
    begin(&f, plain_text, "sm_80");
    struct ir_argtype three[3] = {one, one, one};
    f.request.args = three;
    f.request.n_args = 3;
    refuse(&f, SP_E_IR_INVALID, "does not match its argument");
}

static void
test_libdevice(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, math_text, "sm_80");
    f.request.options.libdevice = "/nonexistent/libdevice.10.bc";
    refuse(&f, SP_E_NO_LIBDEVICE, "'math.sin' needs NVIDIA's libdevice");

    static const struct {
        const char *bytes;
        size_t size_B;
        const char *why;
    } files[] = {{"hello, world", 12, "not LLVM bitcode"},
                 {"", 0, "its size"},
                 {"BC\xC0\xDE\1\2\3\4\5\6\7\10", 12, "LLVM cannot"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[] = "/tmp/gpujit-test-XXXXXX";
        int fd = mkstemp(path);
        FILE *file = fdopen(fd, "wb");
        assert_int_equal(fwrite(files[i].bytes, 1, files[i].size_B, file), files[i].size_B);
        fclose(file);
        begin(&f, math_text, "sm_80");
        f.request.options.libdevice = path;
        assert_false(compile(&f));
        remove(path);
        assert_true(f.diag.code == SP_E_BAD_LIBDEVICE || f.diag.code == SP_E_LLVM_FAILED);
        if (f.diag.code == SP_E_BAD_LIBDEVICE)
            assert_non_null(strstr(f.diag.message, files[i].why));
        end(&f);
    }
    /* The host needs none. */
    begin(&f, math_text, "host");
    f.request.options.libdevice = "/nonexistent/libdevice.10.bc";
    assert_true(compile(&f));
    end(&f);
}

static void
dump(void *context, enum cg_stage stage, const char *text)
{
    assert_true(strlen(text) > 0);
    *(uint32_t *)context |= 1u << stage;
}

static void
test_dumps_and_times(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_80", "host"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        uint32_t seen = 0;
        struct cg_times times = {0};
        begin(&f, plain_text, targets[i]);
        f.request.dump =
            (struct cg_dump){cg_dump_mask("decode,opt,emit,llvm,ptx,ssa"), dump, &seen};
        assert_true(cg_compile_core(f.cg, f.core, &f.request, true, &f.artifact, &times, &f.diag));
        assert_int_equal(seen, cg_dump_mask("opt,emit,llvm,ptx"));
        assert_true(times.ns[CG_STAGE_PTX] > 0 && times.ns[CG_STAGE_LLVM] > 0);
        end(&f);
    }
    assert_int_equal(cg_dump_mask(""), 0);
    assert_int_equal(cg_dump_mask(NULL), 0);
}

static void
test_keys(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, plain_text, "sm_80");
    f.request.py = f.core;
    struct sp_digest first = cg_key(f.cg, &f.request), other;
    other = cg_key(f.cg, &f.request);
    assert_memory_equal(first.bytes, other.bytes, sizeof first.bytes);
    f.request.options.keep_llvm = true;
    other = cg_key(f.cg, &f.request);
    assert_memory_equal(first.bytes, other.bytes, sizeof first.bytes);
    f.request.options.fma = false;
    other = cg_key(f.cg, &f.request);
    assert_memory_not_equal(first.bytes, other.bytes, sizeof first.bytes);
    f.request.options.fma = true;
    assert_true(cg_target_parse("sm_90", &f.request.arch, &f.diag));
    other = cg_key(f.cg, &f.request);
    assert_memory_not_equal(first.bytes, other.bytes, sizeof first.bytes);
    assert_true(cg_target_parse("sm_80", &f.request.arch, &f.diag));
    struct ir_argtype args[1] = {{.kind = IR_ARG_SCALAR, .dtype = IR_T_INT}};
    f.request.args = args;
    f.request.n_args = 1;
    struct sp_digest typed = cg_key(f.cg, &f.request);
    assert_memory_not_equal(first.bytes, typed.bytes, sizeof first.bytes);
    args[0].dtype = IR_T_FLOAT;
    other = cg_key(f.cg, &f.request);
    assert_memory_not_equal(typed.bytes, other.bytes, sizeof first.bytes);
    end(&f);
}

#define N_THREADS 4
#define N_ROUNDS 6

struct crowd {
    struct cg_state *cg;
    char *expected[2];
};

static bool
crowd_compile(struct cg_state *cg, const char *target, char **code)
{
    struct fixture f = {.cg = cg};
    sp_arena_init(&f.arena);
    sp_diag_init(&f.diag);
    cg_options_init(&f.request.options);
    bool ok = cg_target_parse(target, &f.request.arch, &f.diag) &&
              ir_parse(math_text, &f.arena, &f.core, &f.diag) && compile(&f);
    if (!ok)
        print_error("%s\n", f.diag.message);
    if (ok)
        *code = strdup(f.artifact->kind == SP_CODE_PTX ? f.artifact->code : f.artifact->entry);
    sp_artifact_destroy(f.artifact);
    if (f.core)
        ir_module_finish(f.core);
    sp_diag_finish(&f.diag);
    sp_arena_finish(&f.arena);
    return ok;
}

static void *
crowd_run(void *context)
{
    struct crowd *crowd = context;
    static const char *const targets[] = {"sm_90", "host"};
    bool ok = true;
    for (int i = 0; i < N_ROUNDS && ok; i++) {
        char *code = NULL;
        ok = crowd_compile(crowd->cg, targets[i % 2], &code);
        ok = ok && !strcmp(code, crowd->expected[i % 2]);
        free(code);
    }
    return ok ? context : NULL;
}

static void
test_threads(void **state)
{
    (void)state;
    struct crowd crowd = {.cg = cg_create()};
    assert_true(crowd_compile(crowd.cg, "sm_90", &crowd.expected[0]));
    assert_true(crowd_compile(crowd.cg, "host", &crowd.expected[1]));
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &crowd), 0);
    for (int i = 0; i < N_THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    free(crowd.expected[0]);
    free(crowd.expected[1]);
    cg_destroy(crowd.cg);
}

int
test_compile(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_artifact),
        cmocka_unit_test(test_host_artifact),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lacks),
        cmocka_unit_test(test_parameter_space),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_libdevice),
        cmocka_unit_test(test_dumps_and_times),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
