/* Lowering of flow, calls, arrays, tuples and loops: run as CORE by the tests' interpreter. */
#include "tests/support/check.h"

#include <math.h>
#include <stdlib.h>

#include "tests/ir/lowered.h"

#define P(p) (uintptr_t)(p)
#define HEAD "module py\n\nfunc @0 \"k\" file \"k.py\" line 1 "
#define END "  %99 = const None\n  ret %99\n}\n"
#define FORMAT_END "  %%99 = const None\n  ret %%99\n}\n"
static bool with_passes; /* the tests run a second time on what the passes leave */
static const struct ir_options plain, checked = {.bounds = true}, fused = {.fma = true};

static void
begin(struct lowered *t, const char *source, const char *signature, struct ir_options options)
{
    lowered_start(t, source, signature, options);
    if (with_passes)
        lowered_optimise(t);
}

static uint64_t
double_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

/* ---- Loops ---- */

/* for i in range(start, stop, step): out[0] += 1; out[1] = i. `step` is a constant or the
 * parameter. */
static void
check_range(int64_t start, int64_t stop, int64_t step, bool constant_step, uint64_t count,
            int64_t last)
{
    char source[1024], step_text[64] = "param 2";
    if (constant_step)
        snprintf(step_text, sizeof step_text, "const %lld", (long long)step);
    snprintf(
        source, sizeof source,
        HEAD
        "(\"a\", \"b\", \"c\", \"out\") {\nb0:\n  %%1 = param 0\n  %%2 = param 1\n"
        "  %%3 = %s\n  %%4 = param 3\n  %%5 = const intrin builtins.range\n"
        "  %%6 = call %%5, %%1, %%2, %%3\n  %%7 = iter %%6\n  %%8 = const 0\n  %%9 = const 1\n  "
        "jump b1\n"
        "b1 (b0, b2):\n  %%10 = phi %%7, %%11\n  %%12 = more %%10\n  br %%12, b2, b3\n"
        "b2 (b1):\n  %%13 = value %%10\n  %%14 = item %%4, %%8\n  %%15 = bin \"+=\" %%14, %%9\n"
        "  setitem %%4, %%8, %%15\n  setitem %%4, %%9, %%13\n  %%11 = next %%10\n  jump b1\n"
        "b3 (b1):\n" FORMAT_END,
        step_text);
    struct lowered t;
    int64_t out[2] = {0, 77};
    begin(&t, source, "int, int64, int, int64[::1]", plain);
    lowered_run(&t, (uint64_t[]){(uint64_t)start, (uint64_t)stop, (uint64_t)step, P(out), 2});
    assert_int_equal(out[0], count);
    assert_int_equal(out[1], count ? last : 77);
    lowered_end(&t);
}

static void
check_range_both(int64_t start, int64_t stop, int64_t step)
{
    __int128 count = 0, last = 0;
    for (__int128 i = start; step > 0 ? i < stop : step < 0 ? i > stop : false; i += step) {
        count++;
        last = i;
    }
    check_range(start, stop, step, true, (uint64_t)count, (int64_t)last);
    check_range(start, stop, step, false, (uint64_t)count, (int64_t)last);
}

static void
test_ranges(void **state)
{
    (void)state;
    static const int64_t starts[] = {0,
                                     1,
                                     -1,
                                     5,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     INT64_MIN + 2,
                                     INT64_MAX,
                                     INT64_MAX - 1,
                                     INT64_MAX - 4};
    static const int64_t lengths[] = {-2, -1, 0, 1, 2, 3, 7};
    static const int64_t steps[] = {0, 1, -1, 2, -2, 3, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (uint32_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (uint32_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (uint32_t s = 0; s < sizeof steps / sizeof *steps; s++) {
                int64_t stop;
                if (!__builtin_add_overflow(starts[i], lengths[k], &stop))
                    check_range_both(starts[i], stop, steps[s]);
            }
    check_range_both(INT64_MIN, INT64_MAX, INT64_MAX);
    check_range_both(INT64_MAX, INT64_MIN, INT64_MIN);
    check_range_both(INT64_MAX, INT64_MIN, -INT64_MAX);
}

/* ---- Arrays ---- */

/* out[0] = x[i, j]; with the array's extents 3 x 4. */
static int64_t
element(const char *layout, int64_t i, int64_t j, struct ir_options options, bool *raised,
        struct run_core *run_out)
{
    static const char source[] = HEAD
        "(\"x\", \"i\", \"j\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
        "  %4 = param 3\n  %5 = tuple %2, %3\n  %6 = item %1, %5 !7:4-9\n  %7 = const 0\n"
        "  setitem %4, %7, %6\n" END;
    int16_t data[12];
    int64_t out = -1;
    struct lowered t;
    char signature[64];
    for (int k = 0; k < 12; k++)
        data[k] = (int16_t)(k - 5);
    snprintf(signature, sizeof signature, "int16%s, int32, int, int64[:]", layout);
    begin(&t, source, signature, options);
    uint64_t args[] = {P(data), 3, 4, 8, 2, (uint64_t)i & 0xffffffff, (uint64_t)j, P(&out), 1, 8};
    uint64_t dense[] = {P(data), 3, 4, (uint64_t)i & 0xffffffff, (uint64_t)j, P(&out), 1, 8};
    bool any = strcmp(layout, "[:, :]") == 0;
    bool ok = run_core(&t.run, any ? args : dense);
    assert_int_equal(t.written, 8);
    *raised = t.run.raised;
    assert_true(ok || *raised);
    *run_out = t.run;
    if (*raised) {
        const struct sp_fault_site *site = &t.core->sites.data[t.run.site];
        assert_int_equal(site->code, SP_E_OUT_OF_BOUNDS);
        assert_int_equal(site->where.line, 7);
        assert_int_equal(site->where.col, 4);
        assert_string_equal(site->where.file, "k.py");
        assert_string_equal(site->name, "x");
        assert_int_equal(site->n_values, 5);
    }
    lowered_end(&t);
    return out;
}

static void
test_elements(void **state)
{
    (void)state;
    static const char *const layouts[] = {"[:, ::1]", "[::1, :]", "[:, :]"};
    for (int l = 0; l < 3; l++)
        for (int64_t i = -5; i <= 5; i++)
            for (int64_t j = -6; j <= 6; j++) {
                bool raised, out_i = i < -3 || i >= 3, out_j = j < -4 || j >= 4;
                struct run_core run;
                int64_t wi = i < 0 ? i + 3 : i, wj = j < 0 ? j + 4 : j;
                int64_t want = (l == 1 ? wj * 3 + wi : wi * 4 + wj) - 5;
                int64_t got = element(layouts[l], i, j, checked, &raised, &run);
                assert_int_equal(raised, out_i || out_j);
                if (raised) {
                    assert_int_equal(run.values[0], out_i ? i : j);
                    assert_int_equal(run.values[1], out_i ? 0 : 1);
                    assert_int_equal(run.values[2], 2);
                    assert_int_equal(run.values[3], 3);
                    assert_int_equal(run.values[4], 4);
                } else {
                    assert_int_equal(got, want);
                    assert_int_equal(element(layouts[l], i, j, plain, &raised, &run), want);
                }
            }
    bool raised;
    struct run_core run;
    element("[:, ::1]", 0, INT64_MAX, checked, &raised, &run);
    assert_true(raised);
    element("[:, ::1]", 0, INT64_MIN, checked, &raised, &run);
    assert_true(raised);
}

static void
test_attributes(void **state)
{
    (void)state;
    static const char source[] = HEAD
        "(\"x\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n"
        "  %3 = attr \"shape\" %1\n  %4 = elem 0 %3\n  %5 = elem 1 %3\n"
        "  %6 = attr \"strides\" %1\n  %7 = elem 0 %6\n  %8 = elem 1 %6\n"
        "  %9 = attr \"size\" %1\n  %10 = attr \"nbytes\" %1\n  %11 = attr \"ndim\" %1\n"
        "  %12 = attr \"itemsize\" %1\n  %13 = const intrin builtins.len\n  %14 = call %13, %1\n"
        "  %20 = const 0\n  %21 = const 1\n  %22 = const 2\n  %23 = const 3\n  %24 = const 4\n"
        "  %25 = const 5\n  %26 = const 6\n  %27 = const 7\n  %28 = const 8\n"
        "  setitem %2, %20, %4\n  setitem %2, %21, %5\n  setitem %2, %22, %7\n"
        "  setitem %2, %23, %8\n  setitem %2, %24, %9\n  setitem %2, %25, %10\n"
        "  setitem %2, %26, %11\n  setitem %2, %27, %12\n  setitem %2, %28, %14\n" END;
    static const char *const layouts[] = {"[:, ::1]", "[::1, :]", "[:, :]"};
    static const int64_t strides[3][2] = {{28, 4}, {4, 20}, {-64, 12}};
    for (int l = 0; l < 3; l++) {
        struct lowered t;
        char signature[64];
        int64_t out[9];
        snprintf(signature, sizeof signature, "float32%s, int64[::1]", layouts[l]);
        begin(&t, source, signature, checked);
        if (l == 2)
            lowered_run(&t, (uint64_t[]){0, 5, 7, (uint64_t)-64, 12, P(out), 9});
        else
            lowered_run(&t, (uint64_t[]){0, 5, 7, P(out), 9});
        int64_t want[9] = {5, 7, strides[l][0], strides[l][1], 35, 140, 2, 4, 5};
        assert_memory_equal(out, want, sizeof want);
        assert_int_equal(t.written, 2);
        lowered_end(&t);
    }
}

static void
test_bool_elements_are_bytes(void **state)
{
    (void)state;
    static const char source[] = HEAD
        "(\"x\", \"y\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = const 0\n  %4 = const 1\n"
        "  %5 = item %1, %3\n  %6 = un \"not\" %5\n  setitem %1, %4, %5\n  setitem %1, %3, %6\n"
        "  %7 = const 2\n  %8 = item %2, %3\n  setitem %1, %7, %8\n" END;
    struct lowered t;
    uint8_t x[3] = {200, 9, 9};
    double y = NAN;
    begin(&t, source, "bool[:], float64[:]", plain);
    lowered_run(&t, (uint64_t[]){P(x), 3, 1, P(&y), 1, 8});
    assert_int_equal(x[0], 0);
    assert_int_equal(x[1], 1);
    assert_int_equal(x[2], 1);
    assert_int_equal(t.written, 1);
    lowered_end(&t);
}

static void
test_stores_convert(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"x\", \"v\", \"n\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
             "  %4 = const 0\n  %5 = const 1\n  setitem %1, %4, %2\n  setitem %1, %5, %3\n" END;
    static const struct {
        double v;
        int64_t n;
        uint8_t first, second;
    } rows[] = {{300.7, 300, 127, 44},
                {-1e30, -1, 128, 255},
                {NAN, 128, 0, 128},
                {-3.9, 255, 253, 255},
                {127.999, 0, 127, 0}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lowered t;
        uint8_t x[2] = {1, 1};
        begin(&t, source, "int8[::1], float, int", plain);
        lowered_run(&t, (uint64_t[]){P(x), 2, double_bits(rows[i].v), (uint64_t)rows[i].n});
        assert_int_equal(x[0], rows[i].first);
        assert_int_equal(x[1], rows[i].second);
        lowered_end(&t);
    }
}

static void
test_atomics(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"x\", \"y\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
             "  %4 = const intrin gpu.atomic.add\n  %5 = const -1\n  %6 = const 5000000000\n"
             "  %7 = call %4, %1, %5, %6\n  %8 = const 0.1\n  %9 = const 0\n  %10 = call %4, %2, "
             "%9, %8\n"
             "  setitem %3, %9, %7\n" END;
    struct lowered t;
    uint32_t x[2] = {1, 4000000000};
    float y = 1.5f;
    int64_t out;
    begin(&t, source, "uint32[::1], float32[::1], int64[::1]", checked);
    lowered_run(&t, (uint64_t[]){P(x), 2, P(&y), 1, P(&out), 1});
    assert_int_equal(out, 4000000000);
    assert_int_equal(x[1], (uint32_t)(4000000000u + 5000000000));
    assert_true(y == 1.5f + 0.1f);
    assert_int_equal(t.written, 7);
    lowered_end(&t);
}

/* ---- Tuples ---- */

static void
test_tuple_index(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"i\", \"v\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
             "  %4 = const 10\n  %5 = const True\n  %6 = tuple %4, %2, %5\n  %7 = item %6, %1\n"
             "  %8 = const 0\n  setitem %3, %8, %7\n" END;
    for (int64_t i = -4; i <= 4; i++) {
        struct lowered t;
        float out = -1, want[] = {10, 2.5f, 1};
        float v = 2.5f;
        uint32_t v_bits;
        memcpy(&v_bits, &v, 4);
        uint64_t args[] = {(uint64_t)i, v_bits, P(&out), 1};
        begin(&t, source, "int, float32, float32[::1]", checked);
        assert_string_equal(lowered_type(&t, 7), "float32");
        bool ok = run_core(&t.run, args);
        assert_int_equal(ok, i >= -3 && i < 3);
        if (ok)
            assert_true(out == want[i < 0 ? i + 3 : i]);
        else
            assert_int_equal(t.run.values[0], i);
        lowered_end(&t);
        begin(&t, source, "int, float32, float32[::1]", plain);
        lowered_run(&t, args);
        assert_true(out == (ok ? want[i < 0 ? i + 3 : i] : 1)); /* outside: the last */
        lowered_end(&t);
    }
}

/* min and max order what the arguments are, not what they convert to on the way. */
static void
test_min_of_three_types(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"n\", \"x\", \"y\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n"
             "  %3 = param 2\n  %4 = param 3\n  %5 = const intrin builtins.min\n"
             "  %6 = call %5, %1, %2, %3\n  %7 = const 0\n  setitem %4, %7, %6\n"
             "  %8 = const intrin builtins.max\n  %9 = tuple %2, %1, %3\n  %10 = call %8, %9\n"
             "  %11 = const 1\n  setitem %4, %11, %10\n" END;
    struct lowered t;
    double out[2];
    float x = 16777216;
    uint32_t x_bits;
    memcpy(&x_bits, &x, 4);
    begin(&t, source, "int32, float32, float64, float64[::1]", plain);
    lowered_run(&t, (uint64_t[]){16777217, x_bits, double_bits(16777216.5), P(out), 2});
    assert_true(out[0] == 16777216.0);
    assert_true(out[1] == 16777217.0);
    lowered_end(&t);
}

/* ---- Flow and joins ---- */

/* if n: a = 1 else: a = x[0] (float32), undefined on a third path; tuples and array layouts join
 * too. */
static void
test_joins(void **state)
{
    (void)state;
    static const char source[] = HEAD
        "(\"n\", \"x\", \"y\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
        "  %4 = param 3\n  %5 = const 0\n  %6 = const 1\n  %7 = undef \"a\"\n  br %1, b1, b2\n"
        "b1 (b0):\n  %8 = cmp \"==\" %1, %6\n  br %8, b3, b4\n"
        "b2 (b0):\n  jump b5\n"
        "b3 (b1):\n  %9 = const 16777217\n  %10 = tuple %9, %6\n  jump b5\n"
        "b4 (b1):\n  %11 = item %2, %5\n  %12 = const 2.5\n  %13 = tuple %11, %12\n  jump b5\n"
        "b5 (b2, b3, b4):\n  %14 = phi \"a\" %7, %10, %13\n  %15 = phi \"z\" %3, %2, %2\n"
        "  %16 = elem 0 %14\n  %17 = elem 1 %14\n  setitem %4, %5, %16\n  setitem %4, %6, %17\n"
        "  %18 = item %15, %6\n  %19 = const 2\n  setitem %4, %19, %18\n" END;
    static const double want[3][3] = {{0, 0, 30}, {16777216, 1, 20}, {0.75, 2.5, 20}};
    for (int64_t n = 0; n < 3; n++) {
        struct lowered t;
        float x[2] = {0.75f, 20}, y[4] = {7, 0, 30, 0};
        double out[3] = {-1, -1, -1};
        begin(&t, source, "int8, float32[::1], float32[:], float64[::1]", checked);
        lowered_run(&t, (uint64_t[]){(uint64_t)n, P(x), 2, P(y), 2, 8, P(out), 3});
        assert_memory_equal(out, want[n], sizeof out);
        assert_int_equal(t.written, 8);
        lowered_end(&t);
    }
}

static void
test_truth(void **state)
{
    (void)state;
    static const char source[] = HEAD
        "(\"f\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = const 0\n  %4 = const 1\n"
        "  br %1, b1, b2\n"
        "b1 (b0):\n  setitem %2, %3, %4\n  %5 = const ()\n  br %5, b3, b2\n"
        "b2 (b0, b1):\n  %6 = const None\n  br %6, b3, b4\n"
        "b3 (b1, b2):\n  setitem %2, %3, %3\n  jump b4\n"
        "b4 (b2, b3):\n" END;
    static const struct {
        double f;
        int64_t want;
    } rows[] = {{0.0, 9}, {-0.0, 9}, {NAN, 1}, {5e-324, 1}, {-1, 1}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lowered t;
        int64_t out = 9;
        begin(&t, source, "float, int64[::1]", plain);
        lowered_run(&t, (uint64_t[]){double_bits(rows[i].f), P(&out), 1});
        assert_int_equal(out, rows[i].want);
        assert_null(strstr(t.text.data, "unreachable"));
        lowered_end(&t);
    }
}

/* Arguments keep their width in the parameters: int8 -1 arrives as a byte. */
static void
test_kernel_arguments(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"a\", \"b\", \"c\", \"d\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n"
             "  %3 = param 2\n  %4 = param 3\n  %5 = param 4\n  %6 = bin \"+\" %1, %2\n"
             "  %7 = bin \"+\" %6, %3\n  %8 = bin \"+\" %7, %4\n  %9 = const 0\n"
             "  setitem %5, %9, %8\n" END;
    struct lowered t;
    int64_t out = 0;
    begin(&t, source, "int8, uint16, bool, int, int64[::1]", plain);
    const struct ir_func *kernel = t.core->funcs.data[0];
    assert_int_equal(kernel->params[0].type, IR_T_I8);
    assert_int_equal(kernel->params[1].type, IR_T_I16);
    assert_int_equal(kernel->params[2].type, IR_T_I1);
    lowered_run(&t, (uint64_t[]){0xff, 0xfff0, 1, 5, P(&out), 1});
    assert_int_equal(out, -1 + 0xfff0 + 1 + 5);
    lowered_end(&t);
}

/* ---- Calls ---- */

/* def swap(a, b, scale=2): return b * scale, a
 * def put(z, v): z[0] = v
 * def fact(n): return 1 if n < 1 else n * fact(n - 1) */
#define CALLEES                                                                                    \
    "\nfunc @1 \"swap\" (\"a\", \"b\", \"scale\" = 2) {\nb0:\n  %1 = param 0\n  %2 = param 1\n"    \
    "  %3 = param 2\n  %4 = bin \"*\" %2, %3\n  %5 = tuple %4, %1\n  ret %5\n}\n"                  \
    "\nfunc @2 \"put\" (\"z\", \"v\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = const 0\n"    \
    "  setitem %1, %3, %2\n  %4 = const None\n  ret %4\n}\n"                                       \
    "\nfunc @3 \"fact\" (\"n\") {\nb0:\n  %1 = param 0\n  %2 = const 1\n  %3 = cmp \"<\" %1, %2\n" \
    "  br %3, b1, b2\nb1 (b0):\n  ret %2\nb2 (b0):\n  %4 = const @3\n"                             \
    "  %5 = bin \"-\" %1, %2\n  %6 = call %4, %5\n  %7 = bin \"*\" %1, %6\n  ret %7\n}\n"

static void
test_calls(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"x\", \"y\", \"n\", \"c\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
             "  %4 = const @1\n  %5 = const @2\n  %6 = const 0\n  %20 = param 3\n"
             "  %7 = item %1, %6\n  %8 = call %4, %7, %3\n  %9 = elem 0 %8\n  %10 = elem 1 %8\n"
             "  %11 = call %5, %2, %9\n  %12 = const 1\n  setitem %2, %12, %10\n"
             "  %13 = const 3\n  %14 = call (\"scale\",) %4, %3, %7, %13\n  %15 = elem 0 %14\n"
             "  %16 = const 2\n  setitem %2, %16, %15\n"
             "  %17 = const @3\n  %18 = call %17, %3\n  setitem %2, %13, %18\n" END CALLEES;
    struct lowered t;
    float x = 1.25f;
    double y[4] = {0, 0, 0, 0}, want[4] = {10, 1.25, 3.75, 120};
    begin(&t, source, "float32[::1], float64[::1], int, int32[:]", checked);
    lowered_run(&t, (uint64_t[]){P(&x), 1, P(y), 4, 5, 0, 0, 4});
    assert_memory_equal(y, want, sizeof want);
    assert_int_equal(t.written, 2);
    lowered_end(&t);
}

/* An array written by a callee, through a choice of two. */
static void
test_written_through_calls(void **state)
{
    (void)state;
    static const char source[] =
        HEAD "(\"x\", \"y\", \"z\", \"c\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
             "  %4 = param 3\n  br %4, b1, b2\nb1 (b0):\n  jump b3\nb2 (b0):\n  jump b3\n"
             "b3 (b1, b2):\n  %5 = phi \"p\" %1, %3\n  %6 = tuple %4, %5\n  %7 = elem 1 %6\n"
             "  %8 = const 0\n  %9 = item %2, %8\n  %10 = const @2\n  %11 = call %10, %7, %9\n" END
                 CALLEES;
    struct lowered t;
    int64_t x = 0, y = 7, z = 0;
    begin(&t, source, "int64[::1], int64[::1], int64[::1], bool", plain);
    assert_int_equal(t.written, 5);
    lowered_run(&t, (uint64_t[]){P(&x), 1, P(&y), 1, P(&z), 1, 0});
    assert_int_equal(x, 0);
    assert_int_equal(z, 7);
    lowered_end(&t);
}

/* ---- Indices of threads ---- */

static void
test_grid(void **state)
{
    (void)state;
    static const char source[] = HEAD
        "(\"out\") {\nb0:\n  %1 = param 0\n  %2 = const intrin gpu.grid\n  %3 = const 2\n"
        "  %4 = call %2, %3\n  %5 = elem 0 %4\n  %6 = elem 1 %4\n  %7 = const 0\n  %8 = const 1\n"
        "  setitem %1, %7, %5\n  setitem %1, %8, %6\n  %9 = const intrin gpu.gridsize\n"
        "  %10 = call %9, %8\n  setitem %1, %3, %10\n  %11 = const namespace \"gpu.threadIdx\"\n"
        "  %12 = attr \"x\" %11\n  %13 = const 3\n  setitem %1, %13, %12\n"
        "  %14 = const intrin gpu.blockDim.y\n  %15 = const 4\n  setitem %1, %15, %14\n" END;
    struct lowered t;
    int64_t out[5], want[5] = {2147483646LL * 1024 + 9, 3 * 8 + 4, 4294967295LL * 1024, 9, 8};
    begin(&t, source, "int64[::1]", plain);
    t.run.tid[0] = 9, t.run.tid[1] = 4;
    t.run.ntid[0] = 1024, t.run.ntid[1] = 8;
    t.run.ctaid[0] = 2147483646, t.run.ctaid[1] = 3;
    t.run.nctaid[0] = 4294967295u;
    lowered_run(&t, (uint64_t[]){P(out), 5});
    assert_memory_equal(out, want, sizeof want);
    assert_null(strstr(t.text.data, "select")); /* no index here can be negative */
    lowered_end(&t);
}

/* ---- fma ---- */

static void
check_fma(const char *body, const char *signature, uint32_t n_fma, uint32_t n_fadd, bool on)
{
    char source[1024];
    struct lowered t;
    snprintf(source, sizeof source,
             HEAD "(\"a\", \"b\", \"c\", \"out\") {\nb0:\n  %%1 = param 0\n  %%2 = param 1\n"
                  "  %%3 = param 2\n  %%4 = param 3\n%s  %%90 = const 0\n  setitem %%4, %%90, "
                  "%%50\n" FORMAT_END,
             body);
    begin(&t, source, signature, on ? fused : plain);
    uint32_t fma_seen = 0, add_seen = 0;
    const struct ir_func *func = t.core->funcs.data[0];
    for (uint32_t i = 1; i < func->insns.len; i++) {
        fma_seen += ir_insn(func, i)->op == IR_FMA;
        add_seen += ir_insn(func, i)->op == IR_FADD || ir_insn(func, i)->op == IR_FSUB;
    }
    assert_int_equal(fma_seen, n_fma);
    assert_int_equal(add_seen, n_fadd);
    lowered_end(&t);
}

static void
test_fma_rule(void **state)
{
    (void)state;
    static const char sig[] = "float32, float32, float32, float32[::1]";
    check_fma("  %5 = bin \"*\" %1, %2\n  %50 = bin \"+\" %5, %3\n", sig, 1, 0, true);
    check_fma("  %5 = bin \"*\" %1, %2\n  %50 = bin \"+\" %5, %3\n", sig, 0, 1, false);
    check_fma("  %5 = bin \"*\" %1, %2\n  %50 = bin \"-\" %3, %5\n", sig, 1, 0, true);
    check_fma("  %5 = bin \"*=\" %1, %2\n  %50 = bin \"+=\" %3, %5\n", sig, 1, 0, true);
    /* The left product first; the right one stays a product. */
    check_fma("  %5 = bin \"*\" %1, %2\n  %6 = bin \"*\" %2, %3\n  %50 = bin \"+\" %5, %6\n", sig,
              1, 0, true);
    /* A product of another type: float (weak) * float is computed in double. */
    check_fma("  %7 = const 0.5\n  %8 = const dtype float\n  %9 = call %8, %1\n"
              "  %5 = bin \"*\" %9, %7\n  %50 = bin \"+\" %5, %3\n",
              sig, 0, 1, true);
    /* A power is no product, an integer product neither. */
    check_fma("  %7 = const 2\n  %5 = bin \"**\" %1, %7\n  %50 = bin \"+\" %5, %3\n", sig, 0, 1,
              true);
    check_fma("  %5 = bin \"*\" %1, %2\n  %50 = bin \"+\" %5, %3\n",
              "int, int, float32, float32[::1]", 0, 1, true);
    /* Through a variable (a phi) it is a value like any other. */
    check_fma("  %5 = bin \"*\" %1, %2\n  jump b1\nb1 (b0):\n  %6 = phi \"p\" %5\n"
              "  %50 = bin \"+\" %6, %3\n",
              sig, 0, 1, true);
}

static void
test_fma_values(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int sign_product, sign_sum;
    } rows[] = {
        {"  %50 = bin \"+\" %5, %3\n", 1, 1},
        {"  %50 = bin \"-\" %5, %3\n", 1, -1},
        {"  %50 = bin \"+\" %3, %5\n", 1, 1},
        {"  %50 = bin \"-\" %3, %5\n", -1, 1},
    };
    double a = 1 + 0x1p-30, b = 1 - 0x1p-31, out;
    for (uint32_t i = 0; i < 4; i++) {
        struct lowered t;
        char source[1024];
        double c = -rows[i].sign_product * rows[i].sign_sum; /* what is left is the rounding */
        snprintf(source, sizeof source,
                 HEAD "(\"a\", \"b\", \"c\", \"out\") {\nb0:\n  %%1 = param 0\n  %%2 = param 1\n"
                      "  %%3 = param 2\n  %%4 = param 3\n  %%5 = bin \"*\" %%1, %%2\n%s"
                      "  %%90 = const 0\n  setitem %%4, %%90, %%50\n" FORMAT_END,
                 rows[i].body);
        begin(&t, source, "float64, float64, float64, float64[::1]", fused);
        lowered_run(&t, (uint64_t[]){double_bits(a), double_bits(b), double_bits(c), P(&out), 1});
        assert_true(out == fma(rows[i].sign_product * a, b, rows[i].sign_sum * c));
        assert_true(out != rows[i].sign_product * (a * b) + rows[i].sign_sum * c);
        lowered_end(&t);
    }
}

/* ---- Polling ---- */

static void
test_poll(void **state)
{
    (void)state;
    static const char source[] = HEAD
        "(\"n\", \"out\") {\nb0:\n  %1 = param 0\n  %2 = param 1\n  %3 = const 1\n  %4 = const 0\n"
        "  %5 = const intrin builtins.range\n  %6 = call %5, %1\n  jump b1\n"
        "b1 (b0, b3):\n  %7 = phi \"i\" %4, %15\n  %8 = cmp \"<\" %7, %1\n  %9 = iter %6\n"
        "  br %8, b2, b4\n"
        "b2 (b1, b5):\n  %10 = phi %9, %11\n  %12 = more %10\n  br %12, b5, b3\n"
        "b5 (b2):\n  %11 = next %10\n  jump b2\n"
        "b3 (b2):\n  %15 = bin \"+\" %7, %3\n  jump b1\n"
        "b4 (b1):\n  setitem %2, %4, %7\n" END;
    struct lowered t;
    int64_t out;
    begin(&t, source, "int, int64[::1]", (struct ir_options){.poll = true});
    lowered_run(&t, (uint64_t[]){7, P(&out), 1});
    assert_int_equal(out, 7);
    assert_int_equal(t.run.polls, 7); /* only the `while` loop's */
    lowered_end(&t);
    begin(&t, source, "int, int64[::1]", plain);
    assert_null(strstr(t.text.data, "poll"));
    lowered_end(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_bool_elements_are_bytes),
        cmocka_unit_test(test_stores_convert),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_tuple_index),
        cmocka_unit_test(test_min_of_three_types),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_truth),
        cmocka_unit_test(test_kernel_arguments),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_written_through_calls),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_fma_rule),
        cmocka_unit_test(test_fma_values),
        cmocka_unit_test(test_poll),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    with_passes = true;
    return failed + cmocka_run_group_tests_name("after passes", tests, NULL, NULL);
}
