/* Host objects run: every operation on edge values against C, threads of a block, faults,
 * cancellation, calls, libm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codegen/host_run.h"
#include "tests/codegen/parts.h"

/* ---- Operations ---- */

/* Values as bits; a machine type says how many count. */
typedef uint64_t bits;

static const int64_t int_edges[] = {
    0,     1,         -1,        2,          3,         7,         -7,           31,
    63,    100,       127,       128,        -128,      255,       32767,        -32768,
    65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, INT64_MIN + 1};
static const double float_edges[] = {
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.7,
    -3.7,
    1e-40,
    -1e-310,
    0x1p-149,
    0x1p-1074,
    1e10,
    127.6,
    -128.9,
    255.5,
    65535.7,
    32768.0,
    2147483647.5,
    2147483648.0,
    -2147483648.0,
    4294967295.0,
    0x1p63,
    -0x1p63,
    0x1p64,
    1e30,
    -1e300,
    0x1.fffffep127,
    INFINITY,
    -INFINITY,
    NAN,
    0x1.fffffffffffffp1023,
    0.1,
};
#define N_INTS (sizeof int_edges / sizeof *int_edges)
#define N_FLOATS (sizeof float_edges / sizeof *float_edges)

static unsigned
type_bytes(const char *type)
{
    unsigned n = (unsigned)atoi(type + 1);
    return n < 8 ? 1 : n / 8;
}

static bits
mask_bits(const char *type, bits value)
{
    unsigned n = (unsigned)atoi(type + 1);
    return n == 64 ? value : value & (((bits)1 << n) - 1);
}

static size_t
n_edges(const char *type)
{
    return *type == 'f' ? N_FLOATS : N_INTS;
}

static bits
edge(const char *type, size_t i)
{
    bits value = 0;
    if (*type == 'i')
        return mask_bits(type, (bits)int_edges[i % N_INTS]);
    double wide = float_edges[i % N_FLOATS];
    float narrow = (float)wide;
    if (type[1] == '3')
        memcpy(&value, &narrow, sizeof narrow);
    else
        memcpy(&value, &wide, sizeof wide);
    return value;
}

static float
as_f32(bits value)
{
    float f;
    memcpy(&f, &value, sizeof f);
    return f;
}

static double
as_f64(bits value)
{
    double f;
    memcpy(&f, &value, sizeof f);
    return f;
}

static bits
of_f32(float f)
{
    bits value = 0;
    memcpy(&value, &f, sizeof f);
    return value;
}

static bits
of_f64(double f)
{
    bits value;
    memcpy(&value, &f, sizeof f);
    return value;
}

struct op_case {
    const char *op; /* with its immediate in front of the operands: "icmp i1 slt" */
    const char *types[3];
    const char *out;
    bits (*expected)(bits a, bits b, bits c);
    bool (*defined)(bits a, bits b); /* NULL: always */
};

#define CASE(name, body)                                                                           \
    static bits name(bits a, bits b, bits c)                                                       \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (bits)(body);                                                                       \
    }
#define INT_CASES(w)                                                                               \
    CASE(add##w, (uint##w##_t)a + (uint##w##_t)b)                                                  \
    CASE(sub##w, (uint##w##_t)a - (uint##w##_t)b)                                                  \
    CASE(mul##w, (uint64_t)(uint##w##_t)a *(uint##w##_t)b)                                         \
    CASE(sdiv##w, (int##w##_t)a / (int##w##_t)b)                                                   \
    CASE(udiv##w, (uint##w##_t)a / (uint##w##_t)b)                                                 \
    CASE(srem##w, (int##w##_t)a % (int##w##_t)b)                                                   \
    CASE(urem##w, (uint##w##_t)a % (uint##w##_t)b)                                                 \
    CASE(and##w, a &b)                                                                             \
    CASE(or ##w, a | b)                                                                            \
    CASE(xor##w, a ^ b)                                                                            \
    CASE(shl##w, (uint64_t)(uint##w##_t)a << b)                                                    \
    CASE(lshr##w, (uint##w##_t)a >> b)                                                             \
    CASE(ashr##w, (int##w##_t)a >> b)                                                              \
    CASE(eq##w, (uint##w##_t)a == (uint##w##_t)b)                                                  \
    CASE(ne##w, (uint##w##_t)a != (uint##w##_t)b)                                                  \
    CASE(slt##w, (int##w##_t)a < (int##w##_t)b)                                                    \
    CASE(sle##w, (int##w##_t)a <= (int##w##_t)b)                                                   \
    CASE(sgt##w, (int##w##_t)a > (int##w##_t)b)                                                    \
    CASE(sge##w, (int##w##_t)a >= (int##w##_t)b)                                                   \
    CASE(ult##w, (uint##w##_t)a < (uint##w##_t)b)                                                  \
    CASE(ule##w, (uint##w##_t)a <= (uint##w##_t)b)                                                 \
    CASE(ugt##w, (uint##w##_t)a > (uint##w##_t)b)                                                  \
    CASE(uge##w, (uint##w##_t)a >= (uint##w##_t)b)                                                 \
    CASE(ctpop##w, __builtin_popcountll((uint##w##_t)a))                                           \
    CASE(ctlz##w, (uint##w##_t)a ? __builtin_clzll((uint##w##_t)a) - (64 - w) : w)                 \
    CASE(sitofp##w, of_f64((double)(int##w##_t)a))                                                 \
    CASE(uitofp##w, of_f64((double)(uint##w##_t)a))                                                \
    CASE(sitofp32_##w, of_f32((float)(int##w##_t)a))                                               \
    CASE(uitofp32_##w, of_f32((float)(uint##w##_t)a))                                              \
    CASE(fptosi64_##w, saturate(as_f64(a), INT##w##_MIN, INT##w##_MAX))                            \
    CASE(fptosi32_##w, saturate((double)as_f32(a), INT##w##_MIN, INT##w##_MAX))                    \
    CASE(fptoui64_##w, saturate_unsigned(as_f64(a), UINT##w##_MAX))                                \
    CASE(fptoui32_##w, saturate_unsigned((double)as_f32(a), UINT##w##_MAX))                        \
    static bool divides##w(bits a, bits b)                                                         \
    {                                                                                              \
        return (int##w##_t)b && !((int##w##_t)a == INT##w##_MIN && (int##w##_t)b == -1);           \
    }                                                                                              \
    static bool shifts##w(bits a, bits b)                                                          \
    {                                                                                              \
        (void)a;                                                                                   \
        return b < w;                                                                              \
    }

static int64_t
saturate(double x, int64_t low, int64_t high)
{
    if (isnan(x))
        return 0;
    if (x <= (double)low)
        return low;
    return x >= (double)high ? high : (int64_t)x;
}

static uint64_t
saturate_unsigned(double x, uint64_t high)
{
    if (!(x > 0))
        return 0;
    return x >= (double)high ? high : (uint64_t)x;
}

INT_CASES(8)
INT_CASES(16)
INT_CASES(32)
INT_CASES(64)

#define FLOAT_CASES(w, f, abs_, sqrt_, floor_, ceil_, trunc_, rint_, copysign_, fma_)              \
    CASE(fadd##w, of_f##w(f(a) + f(b)))                                                            \
    CASE(fsub##w, of_f##w(f(a) - f(b)))                                                            \
    CASE(fmul##w, of_f##w(f(a) * f(b)))                                                            \
    CASE(fdiv##w, of_f##w(f(a) / f(b)))                                                            \
    CASE(fneg##w, a ^ (bits)1 << (w - 1))                                                          \
    CASE(fma##w, of_f##w(fma_(f(a), f(b), f(c))))                                                  \
    CASE(fsqrt##w, of_f##w(sqrt_(f(a))))                                                           \
    CASE(fabs##w, of_f##w(abs_(f(a))))                                                             \
    CASE(ffloor##w, of_f##w(floor_(f(a))))                                                         \
    CASE(fceil##w, of_f##w(ceil_(f(a))))                                                           \
    CASE(ftrunc##w, of_f##w(trunc_(f(a))))                                                         \
    CASE(frint##w, of_f##w(rint_(f(a))))                                                           \
    CASE(fcopysign##w, of_f##w(copysign_(f(a), f(b))))                                             \
    CASE(oeq##w, f(a) == f(b))                                                                     \
    CASE(une##w, f(a) != f(b))                                                                     \
    CASE(olt##w, f(a) < f(b))                                                                      \
    CASE(ole##w, f(a) <= f(b))                                                                     \
    CASE(ogt##w, f(a) > f(b))                                                                      \
    CASE(oge##w, f(a) >= f(b))                                                                     \
    CASE(uno##w, isnan(f(a)) || isnan(f(b)))                                                       \
    CASE(one##w, f(a) < f(b) || f(a) > f(b))

FLOAT_CASES(32, as_f32, fabsf, sqrtf, floorf, ceilf, truncf, rintf, copysignf, fmaf)
FLOAT_CASES(64, as_f64, fabs, sqrt, floor, ceil, trunc, rint, copysign, fma)
CASE(fpext, of_f64((double)as_f32(a)))
CASE(fptrunc, of_f32((float)as_f64(a)))
CASE(same, a)
CASE(sext, (int64_t)(int8_t)a)
CASE(sext_bool, a & 1 ? UINT64_MAX : 0)
CASE(choose, a & 1 ? b : c)
CASE(sin64, of_f64(sin(as_f64(a))))
CASE(pow32, of_f32(powf(as_f32(a), as_f32(b))))

#define INT_ROW(name, w, ok) {#name " i" #w, {"i" #w, "i" #w}, "i" #w, name##w, ok}
#define ICMP_ROW(name, w) {"icmp i1 " #name, {"i" #w, "i" #w}, "i1", name##w, NULL}
#define INT_ROWS(w)                                                                                \
    INT_ROW(add, w, NULL), INT_ROW(sub, w, NULL), INT_ROW(mul, w, NULL),                           \
        INT_ROW(sdiv, w, divides##w), INT_ROW(udiv, w, divides##w), INT_ROW(srem, w, divides##w),  \
        INT_ROW(urem, w, divides##w), INT_ROW(and, w, NULL), INT_ROW(or, w, NULL),                 \
        INT_ROW(xor, w, NULL), INT_ROW(shl, w, shifts##w), INT_ROW(lshr, w, shifts##w),            \
        INT_ROW(ashr, w, shifts##w), ICMP_ROW(eq, w), ICMP_ROW(ne, w), ICMP_ROW(slt, w),           \
        ICMP_ROW(sle, w), ICMP_ROW(sgt, w), ICMP_ROW(sge, w), ICMP_ROW(ult, w), ICMP_ROW(ule, w),  \
        ICMP_ROW(ugt, w), ICMP_ROW(uge, w), {"ctpop i" #w, {"i" #w}, "i" #w, ctpop##w, NULL},      \
        {"ctlz i" #w, {"i" #w}, "i" #w, ctlz##w, NULL},                                            \
        {"sitofp f64", {"i" #w}, "f64", sitofp##w, NULL},                                          \
        {"uitofp f64", {"i" #w}, "f64", uitofp##w, NULL},                                          \
        {"sitofp f32", {"i" #w}, "f32", sitofp32_##w, NULL},                                       \
        {"uitofp f32", {"i" #w}, "f32", uitofp32_##w, NULL},                                       \
        {"fptosi.sat i" #w, {"f64"}, "i" #w, fptosi64_##w, NULL},                                  \
        {"fptosi.sat i" #w, {"f32"}, "i" #w, fptosi32_##w, NULL},                                  \
        {"fptoui.sat i" #w, {"f64"}, "i" #w, fptoui64_##w, NULL},                                  \
    {                                                                                              \
        "fptoui.sat i" #w, {"f32"}, "i" #w, fptoui32_##w, NULL                                     \
    }
#define F2_ROW(name, w) {#name " f" #w, {"f" #w, "f" #w}, "f" #w, name##w, NULL}
#define F1_ROW(name, w) {#name " f" #w, {"f" #w}, "f" #w, name##w, NULL}
#define FCMP_ROW(name, w) {"fcmp i1 " #name, {"f" #w, "f" #w}, "i1", name##w, NULL}
#define FLOAT_ROWS(w)                                                                              \
    F2_ROW(fadd, w), F2_ROW(fsub, w), F2_ROW(fmul, w), F2_ROW(fdiv, w), F1_ROW(fneg, w),           \
        {"fma f" #w, {"f" #w, "f" #w, "f" #w}, "f" #w, fma##w, NULL}, F1_ROW(fsqrt, w),            \
        F1_ROW(fabs, w), F1_ROW(ffloor, w), F1_ROW(fceil, w), F1_ROW(ftrunc, w), F1_ROW(frint, w), \
        F2_ROW(fcopysign, w), FCMP_ROW(oeq, w), FCMP_ROW(une, w), FCMP_ROW(olt, w),                \
        FCMP_ROW(ole, w), FCMP_ROW(ogt, w), FCMP_ROW(oge, w), FCMP_ROW(uno, w), FCMP_ROW(one, w)

static const struct op_case op_cases[] = {
    INT_ROWS(8),
    INT_ROWS(16),
    INT_ROWS(32),
    INT_ROWS(64),
    FLOAT_ROWS(32),
    FLOAT_ROWS(64),
    {"fpext f64", {"f32"}, "f64", fpext, NULL},
    {"fptrunc f32", {"f64"}, "f32", fptrunc, NULL},
    {"bitcast i32", {"f32"}, "i32", same, NULL},
    {"bitcast f64", {"i64"}, "f64", same, NULL},
    {"sext i64", {"i8"}, "i64", sext, NULL},
    {"sext i64", {"i1"}, "i64", sext_bool, NULL},
    {"zext i64", {"i16"}, "i64", same, NULL},
    {"trunc i16", {"i64"}, "i16", same, NULL},
    {"select f32", {"i1", "f32", "f32"}, "f32", choose, NULL},
    {"intrin f64 math.sin", {"f64"}, "f64", sin64, NULL},
    {"intrin f32 math.pow", {"f32", "f32"}, "f32", pow32, NULL},
};

static unsigned
log2_bytes(const char *type)
{
    return (unsigned)__builtin_ctz(type_bytes(type));
}

/* Thread i: out[i] = op(a[i], b[i], c[i]). */
static char *
op_text(const struct op_case *row)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_str_add(&text, "module core\n\nfunc @0 \"op\" kernel (ptr.global \"a\", ptr.global \"b\", "
                      "ptr.global \"c\", ptr.global \"out\") {\nb0:\n  %1 = intrin i32 "
                      "gpu.threadIdx.x\n  %2 = zext i64 %1\n");
    unsigned next = 3, values[3], n = 0;
    for (; n < 3 && row->types[n]; n++) {
        sp_str_printf(&text, "  %%%u = param ptr.global %u\n  %%%u = const i64 %u\n", next, n,
                      next + 1, type_bytes(row->types[n]));
        sp_str_printf(&text, "  %%%u = mul i64 %%2, %%%u\n  %%%u = ptradd ptr.global %%%u, %%%u\n",
                      next + 2, next + 1, next + 3, next, next + 2);
        sp_str_printf(&text, "  %%%u = load %s align(%u) %%%u\n", next + 4, row->types[n],
                      log2_bytes(row->types[n]), next + 3);
        values[n] = next + 4;
        next += 5;
    }
    sp_str_printf(&text, "  %%%u = %s", next, row->op);
    for (unsigned i = 0; i < n; i++)
        sp_str_printf(&text, "%s%%%u", i ? ", " : " ", values[i]);
    sp_str_printf(&text, "\n  %%%u = param ptr.global 3\n  %%%u = const i64 %u\n", next + 1,
                  next + 2, type_bytes(row->out));
    sp_str_printf(&text, "  %%%u = mul i64 %%2, %%%u\n  %%%u = ptradd ptr.global %%%u, %%%u\n",
                  next + 3, next + 2, next + 4, next + 1, next + 3);
    sp_str_printf(&text, "  store align(%u) %%%u, %%%u\n  ret\n}\n", log2_bytes(row->out), next + 4,
                  next);
    char *taken = sp_str_take(&text);
    sp_str_finish(&text);
    return taken;
}

static bool
equal_results(const char *type, bits got, bits wanted)
{
    if (!strcmp(type, "f32") && isnan(as_f32(wanted)))
        return isnan(as_f32(got));
    if (!strcmp(type, "f64") && isnan(as_f64(wanted)))
        return isnan(as_f64(got));
    return got == mask_bits(type, wanted);
}

#define MAX_THREADS 2048

static void
run_case(const struct op_case *row, int opt_level)
{
    static _Alignas(64) unsigned char memory[4][MAX_THREADS * 8];
    bits operands[3][MAX_THREADS];
    size_t n = 0;
    size_t n_a = n_edges(row->types[0]), n_b = row->types[1] ? n_edges(row->types[1]) : 1;
    for (size_t i = 0; i < n_a; i++) {
        for (size_t j = 0; j < n_b; j++) {
            bits a = edge(row->types[0], i), b = row->types[1] ? edge(row->types[1], j) : 0;
            if (row->defined && !row->defined(a, b))
                continue;
            operands[0][n] = a;
            operands[1][n] = b;
            operands[2][n] = row->types[2] ? edge(row->types[2], i * 7 + j * 5) : 0;
            n++;
        }
    }
    assert_true(n > 0 && n <= MAX_THREADS);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; row->types[k] && i < n; i++)
            memcpy(&memory[k][i * type_bytes(row->types[k])], &operands[k][i],
                   type_bytes(row->types[k]));
    }
    char *text = op_text(row);
    struct host_code code = host_load_text(text, opt_level);
    struct sp_fault fault = {0};
    struct sp_block block = {
        .grid_dim = {1, 1, 1}, .block_dim = {(uint32_t)n, 1, 1}, .fault = &fault};
    void *params[4] = {memory[0], memory[1], memory[2], memory[3]};
    code.entry(&block, params);
    for (size_t i = 0; i < n; i++) {
        bits got = 0, wanted = row->expected(operands[0][i], operands[1][i], operands[2][i]);
        memcpy(&got, &memory[3][i * type_bytes(row->out)], type_bytes(row->out));
        if (!equal_results(row->out, got, wanted))
            fail_msg("%s (O%d) of %llx, %llx, %llx: %llx, not %llx", row->op, opt_level,
                     (unsigned long long)operands[0][i], (unsigned long long)operands[1][i],
                     (unsigned long long)operands[2][i], (unsigned long long)got,
                     (unsigned long long)wanted);
    }
    host_unload(&code);
    free(text);
}

static void
test_operations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i++)
        run_case(&op_cases[i], 3);
}

static void
test_operations_plain(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof op_cases / sizeof *op_cases; i += 3)
        run_case(&op_cases[i], 0);
}

int
test_host(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_operations_plain),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += test_blocks();
    host_state_finish();
    return failed;
}
