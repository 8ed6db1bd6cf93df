/* Blocks of threads on the host: indices, parameters, faults of kernels and functions,
 * cancellation, recursion, atomics. */
#include "tests/codegen/host_run.h"
#include "tests/codegen/parts.h"

static void
test_indices(void **state)
{
    (void)state;
    /* Thread t (of all three dimensions) writes t plus what it sees of sizes and parameters. */
    static const char text[] =
        "module core\n"
        "\n"
        "func @0 \"k\" kernel (ptr.global \"out\", i1 \"b\", i16 \"s\", f64 \"d\") {\n"
        "b0:\n"
        "  %1 = param ptr.global 0\n"
        "  %2 = intrin i32 gpu.threadIdx.x\n"
        "  %3 = intrin i32 gpu.threadIdx.y\n"
        "  %4 = intrin i32 gpu.threadIdx.z\n"
        "  %5 = intrin i32 gpu.blockDim.x\n"
        "  %6 = intrin i32 gpu.blockDim.y\n"
        "  %7 = mul i32 %4, %6\n"
        "  %8 = add i32 %7, %3\n"
        "  %9 = mul i32 %8, %5\n"
        "  %10 = add i32 %9, %2\n"
        "  %11 = zext i64 %10\n"
        "  %12 = const i64 8\n"
        "  %13 = mul i64 %11, %12\n"
        "  %14 = ptradd ptr.global %1, %13\n"
        "  %15 = intrin i32 gpu.blockIdx.z\n"
        "  %16 = intrin i32 gpu.gridDim.y\n"
        "  %17 = const i32 1000\n"
        "  %18 = mul i32 %15, %17\n"
        "  %19 = add i32 %18, %16\n"
        "  %20 = add i32 %19, %10\n"
        "  %21 = zext i64 %20\n"
        "  %22 = param i1 1\n"
        "  %23 = param i16 2\n"
        "  %24 = param f64 3\n"
        "  %25 = sext i64 %23\n"
        "  %26 = fptosi.sat i64 %24\n"
        "  %27 = add i64 %25, %26\n"
        "  %28 = add i64 %27, %21\n"
        "  %29 = select i64 %22, %28, %11\n"
        "  store align(3) %14, %29\n"
        "  ret\n"
        "}\n";
    struct host_code code = host_load_text(text, 3);
    struct sp_fault fault = {0};
    int64_t out[3 * 4 * 5 + 1] = {[60] = -77};
    struct sp_block block = {
        .block_idx = {1, 2, 3}, .grid_dim = {4, 5, 6}, .block_dim = {5, 4, 3}, .fault = &fault};
    struct {
        void *out;
        uint8_t b;
        int16_t s;
        double d;
    } params = {out, 1, -300, 1e6};
    assert_int_equal(code.artifact->params[3].offset_B, 16);
    code.entry(&block, &params);
    for (int i = 0; i < 60; i++)
        assert_int_equal(out[i], 1000000 - 300 + 3005 + i);
    assert_int_equal(out[60], -77);
    params.b = 0;
    code.entry(&block, &params);
    for (int i = 0; i < 60; i++)
        assert_int_equal(out[i], i);
    host_unload(&code);
}

/* Thread i raises in a function two calls deep if x[i] < 0, else doubles it. */
static const char raise_text[] = "module core\n"
                                 "site 0 OUT_OF_BOUNDS \"a\" 2 !1:2-3\n"
                                 "site 1 OUT_OF_BOUNDS \"x\" 2 !7:8-12\n"
                                 "\n"
                                 "func @0 \"k\" kernel (ptr.global \"x\") {\n"
                                 "b0:\n"
                                 "  %1 = param ptr.global 0\n"
                                 "  %2 = intrin i32 gpu.threadIdx.x\n"
                                 "  %3 = zext i64 %2\n"
                                 "  %4 = const i64 8\n"
                                 "  %5 = mul i64 %3, %4\n"
                                 "  %6 = ptradd ptr.global %1, %5\n"
                                 "  %7 = load i64 align(3) %6\n"
                                 "  %8 = callf i64 @1 %7\n"
                                 "  store align(3) %6, %8\n"
                                 "  ret\n"
                                 "}\n"
                                 "\n"
                                 "func @1 \"outer\" (i64 \"a\") -> i64 {\n"
                                 "b0:\n"
                                 "  %1 = param i64 0\n"
                                 "  callf @2 %1\n"
                                 "  %3 = add i64 %1, %1\n"
                                 "  ret %3\n"
                                 "}\n"
                                 "\n"
                                 "func @2 \"inner\" (i64 \"a\") {\n"
                                 "b0:\n"
                                 "  %1 = param i64 0\n"
                                 "  %2 = const i64 0\n"
                                 "  %3 = icmp i1 slt %1, %2\n"
                                 "  br %3, b1, b2\n"
                                 "b1 (b0):\n"
                                 "  %4 = const i64 99\n"
                                 "  raise site(1) %1, %4\n"
                                 "b2 (b0):\n"
                                 "  ret\n"
                                 "}\n";

static void
test_faults(void **state)
{
    (void)state;
    for (int level = 0; level <= 3; level += 3) {
        struct host_code code = host_load_text(raise_text, level);
        struct sp_fault fault = {0};
        int64_t x[6] = {1, 2, -5, 4, -6, 7};
        struct sp_block block = {.block_idx = {9, 0, 1},
                                 .grid_dim = {10, 1, 2},
                                 .block_dim = {6, 1, 1},
                                 .fault = &fault};
        void *params[] = {x};
        code.entry(&block, params);
        /* The first one is kept, the others' threads end too, the rest go on. */
        static const int64_t wanted[6] = {2, 4, -5, 8, -6, 14};
        assert_memory_equal(x, wanted, sizeof x);
        assert_int_equal(fault.state, 2);
        assert_int_equal(fault.site, 1);
        assert_int_equal(fault.block[0], 9);
        assert_int_equal(fault.block[2], 1);
        assert_int_equal(fault.thread[0], 2);
        assert_int_equal(fault.thread[1], 0);
        assert_int_equal(fault.values[0], -5);
        assert_int_equal(fault.values[1], 99);
        host_unload(&code);
    }
}

static void
test_cancel(void **state)
{
    (void)state;
    static const char text[] = "module core\n"
                               "\n"
                               "func @0 \"k\" kernel (ptr.global \"x\") {\n"
                               "b0:\n"
                               "  %1 = param ptr.global 0\n"
                               "  callf @1\n"
                               "  %2 = const i64 1\n"
                               "  store align(3) %1, %2\n"
                               "  ret\n"
                               "}\n"
                               "\n"
                               "func @1 \"spin\" () {\n"
                               "b0:\n"
                               "  jump b1\n"
                               "b1 (b0, b1):\n"
                               "  poll\n"
                               "  jump b1\n"
                               "}\n";
    struct host_code code = host_load_text(text, 3);
    struct sp_fault fault = {0};
    volatile uint32_t cancel = 1;
    int64_t x = 7;
    struct sp_block block = {
        .grid_dim = {1, 1, 1}, .block_dim = {4, 1, 1}, .fault = &fault, .cancel = &cancel};
    void *params[] = {&x};
    code.entry(&block, params);
    assert_int_equal(x, 7);
    assert_int_equal(fault.state, 0);
    host_unload(&code);
}

static void
test_calls(void **state)
{
    (void)state;
    static const char text[] = "module core\n"
                               "\n"
                               "func @0 \"sin\" kernel (ptr.global \"x\") {\n"
                               "b0:\n"
                               "  %1 = param ptr.global 0\n"
                               "  %2 = load i64 align(3) %1\n"
                               "  %3 = callf i64 @1 %2\n"
                               "  %4 = const i64 7\n"
                               "  %5 = callf i64 @2 %3, %4\n"
                               "  %6 = result i1 1 %5\n"
                               "  %7 = result i64 2 %5\n"
                               "  %8 = const i64 8\n"
                               "  %9 = ptradd ptr.global %1, %8\n"
                               "  %10 = ptradd ptr.global %9, %8\n"
                               "  store align(3) %1, %5\n"
                               "  store align(3) %9, %7\n"
                               "  store align(0) %10, %6\n"
                               "  %11 = atomic i64 add %9, %4\n"
                               "  ret\n"
                               "}\n"
                               "\n"
                               "func @1 \"fib\" (i64 \"n\") -> i64 {\n"
                               "b0:\n"
                               "  %1 = param i64 0\n"
                               "  %2 = const i64 2\n"
                               "  %3 = icmp i1 slt %1, %2\n"
                               "  br %3, b1, b2\n"
                               "b1 (b0):\n"
                               "  ret %1\n"
                               "b2 (b0):\n"
                               "  %4 = const i64 1\n"
                               "  %5 = sub i64 %1, %4\n"
                               "  %6 = callf i64 @1 %5\n"
                               "  %7 = sub i64 %1, %2\n"
                               "  %8 = callf i64 @1 %7\n"
                               "  %9 = add i64 %6, %8\n"
                               "  ret %9\n"
                               "}\n"
                               "\n"
                               "func @2 \"divmod\" (i64 \"a\", i64 \"b\") -> i64, i1, i64 {\n"
                               "b0:\n"
                               "  %1 = param i64 0\n"
                               "  %2 = param i64 1\n"
                               "  %3 = sdiv i64 %1, %2\n"
                               "  %4 = srem i64 %1, %2\n"
                               "  %5 = icmp i1 ne %4, %1\n"
                               "  ret %3, %5, %4\n"
                               "}\n";
    for (int level = 0; level <= 3; level += 3) {
        struct host_code code = host_load_text(text, level);
        struct sp_fault fault = {0};
        int64_t x[3] = {20, 0, -1};
        struct sp_block block = {.grid_dim = {1, 1, 1}, .block_dim = {1, 1, 1}, .fault = &fault};
        void *params[] = {x};
        code.entry(&block, params);
        assert_int_equal(x[0], 6765 / 7);
        assert_int_equal(x[1], 6765 % 7 + 7);
        assert_int_equal(*(uint8_t *)&x[2], 1);
        host_unload(&code);
    }
}

int
test_blocks(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
