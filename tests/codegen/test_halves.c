/* Conversions and fused products of float16 and bfloat16 on the host, by the processor's
 * instructions and by integer operations alone, against ir/half.c, and that against the C
 * compiler's _Float16. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codegen/internal.h"
#include "tests/codegen/host_run.h"
#include "tests/codegen/parts.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t
random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A kernel that does `operation` to values of the type `from` and stores one of the type `to`. */
static struct host_code
load(const char *operation, const char *from, unsigned n, const char *to, bool with_f16c)
{
    char text[800], loads[400] = "", operands[40] = "";
    for (unsigned i = 0; i < n; i++) {
        size_t at = strlen(loads);
        snprintf(loads + at, sizeof loads - at,
                 "  %%%u = const i64 %u\n  %%%u = ptradd ptr.global %%1, %%%u\n"
                 "  %%%u = load %s align(0) %%%u\n",
                 10 + i, 8 * i, 20 + i, 10 + i, 30 + i, from, 20 + i);
        at = strlen(operands);
        snprintf(operands + at, sizeof operands - at, "%s%%%u", i ? ", " : "", 30 + i);
    }
    snprintf(text, sizeof text,
             "module core\nfunc @0 \"k\" kernel (ptr.global \"x\", ptr.global \"o\") {\nb0:\n"
             "  %%1 = param ptr.global 0\n  %%2 = param ptr.global 1\n%s"
             "  %%40 = %s %s %s\n  store align(0) %%2, %%40\n  ret\n}\n",
             loads, operation, to, operands);
    cg_state_ask_host(host_state());
    char *flag = strstr(host_state()->features, "+f16c");
    if (!with_f16c && flag)
        *flag = '-';
    struct host_code code = host_load_text(text, 2);
    if (flag)
        *flag = '+';
    return code;
}

static uint64_t
call(const struct host_code *code, const uint64_t *operands)
{
    static const volatile uint32_t cancel;
    struct sp_fault fault = {0};
    struct sp_block block = {
        .grid_dim = {1, 1, 1}, .block_dim = {1, 1, 1}, .fault = &fault, .cancel = &cancel};
    uint64_t out = 0;
    struct {
        const uint64_t *x;
        uint64_t *o;
    } params = {operands, &out};
    code->entry(&block, &params);
    return out;
}

static bool
is_nan(ir_type half, uint16_t bits)
{
    return (bits & 0x7fff) > (half == IR_T_F16 ? 0x7c00 : 0x7f80);
}

static void
check(ir_type half, uint64_t got, uint16_t expected, const char *what, double of)
{
    if (got != expected && !(is_nan(half, (uint16_t)got) && is_nan(half, expected)))
        fail_msg("%s %s of %a: 0x%04x, expected 0x%04x", ir_machine_name(half), what, of,
                 (unsigned)got, expected);
}

static void
try_widen(ir_type half, bool f16c)
{
    struct host_code code = load("fpext", ir_machine_name(half), 1, "f32", f16c);
    for (uint64_t h = 0; h < 0x10000; h++) {
        uint32_t got = (uint32_t)call(&code, &h);
        float value;
        memcpy(&value, &got, sizeof value);
        double expected = ir_half_value(half, (uint16_t)h);
        bool same = isnan(expected)
                        ? isnan(value)
                        : (double)value == expected && !signbit(value) == !signbit(expected);
        if (!same)
            fail_msg("%s 0x%04x: %a, expected %a", ir_machine_name(half), (unsigned)h,
                     (double)value, expected);
    }
    host_unload(&code);
}

static uint64_t
bits_of(bool single, double value)
{
    uint64_t bits = 0;
    float narrow = (float)value;
    if (single)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &value, sizeof value);
    return bits;
}

/* Every half, the middle to the next one, and the floats on both sides of the middle. */
static void
try_narrow(ir_type half, bool single, bool f16c)
{
    struct host_code code = load("fptrunc", single ? "f32" : "f64", 1, ir_machine_name(half), f16c);
    uint16_t infinity = half == IR_T_F16 ? 0x7c00 : 0x7f80;
    for (uint32_t h = 0; h < infinity; h++) {
        double low = ir_half_value(half, (uint16_t)h), high;
        high = h + 1u < infinity ? ir_half_value(half, (uint16_t)(h + 1))
                                 : 2 * low - ir_half_value(half, (uint16_t)(h - 1));
        double middle = low / 2 + high / 2;
        double values[] = {low, middle, nextafter(middle, 0), nextafter(middle, INFINITY)};
        if (single) {
            values[2] = (double)nextafterf((float)middle, 0);
            values[3] = (double)nextafterf((float)middle, INFINITY);
        }
        for (int i = 0; i < 8; i++) {
            double value = i < 4 ? values[i] : -values[i - 4];
            uint64_t bits = bits_of(single, value);
            check(half, call(&code, &bits), ir_half_of(half, value), "narrowed", value);
        }
    }
    for (int i = 0; i < 400000; i++) {
        uint64_t bits = single ? random_bits() & UINT32_MAX : random_bits();
        double value;
        if (single) {
            float narrow;
            memcpy(&narrow, &bits, sizeof narrow);
            value = (double)narrow;
        } else {
            if (i % 2) /* near the half's range */
                bits = (bits & ~(0x7ffull << 52)) | (uint64_t)(1023 - 30 + (int)(bits >> 52) % 60)
                                                        << 52;
            memcpy(&value, &bits, sizeof value);
        }
        check(half, call(&code, &bits), ir_half_of(half, value), "narrowed", value);
    }
    host_unload(&code);
}

static void
try_fma(ir_type half, bool f16c)
{
    struct host_code code = load("fma", ir_machine_name(half), 3, ir_machine_name(half), f16c);
    for (int i = 0; i < 300000; i++) {
        uint64_t x[3] = {random_bits() & 0xffff, random_bits() & 0xffff, random_bits() & 0xffff};
        if (i % 2 && half == IR_T_BF16) /* exponents near each other */
            for (int k = 0; k < 3; k++)
                x[k] = (x[k] & 0x83ff) | 0x3c00;
        uint16_t expected = ir_half_fma(half, (uint16_t)x[0], (uint16_t)x[1], (uint16_t)x[2]);
        check(half, call(&code, x), expected, "fused", (double)x[0]);
    }
    host_unload(&code);
}

static void
test_halves_by_both_ways(void **state)
{
    (void)state;
    for (int f16c = 0; f16c < 2; f16c++) {
        for (ir_type half = IR_T_F16; half <= IR_T_BF16; half++) {
            try_widen(half, f16c);
            try_narrow(half, true, f16c);
            try_narrow(half, false, f16c);
            try_fma(half, f16c);
        }
    }
}

#ifdef __FLT16_MANT_DIG__
static void
test_float16_of_the_compiler(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        uint16_t bits = (uint16_t)h;
        _Float16 value;
        memcpy(&value, &bits, sizeof value);
        double wide = ir_half_value(IR_T_F16, bits);
        assert_true(isnan(wide) ? (double)value != (double)value : (double)value == wide);
    }
    for (int i = 0; i < 1000000; i++) {
        uint64_t bits = random_bits();
        bits = (bits & ~(0x7ffull << 52)) | (uint64_t)(1023 - 30 + (int)(bits >> 52) % 50) << 52;
        double value;
        memcpy(&value, &bits, sizeof value);
        _Float16 narrow = (_Float16)value;
        uint16_t expected;
        memcpy(&expected, &narrow, sizeof expected);
        check(IR_T_F16, ir_half_of(IR_T_F16, value), expected, "half.c", value);
    }
}
#endif

/* A double that is a float is rounded to bfloat16 as its upper half says. */
static void
test_bfloat16_by_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits = (uint32_t)random_bits();
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value))
            continue;
        uint32_t rest = bits & 0xffff, upper = bits >> 16;
        upper += rest > 0x8000 || (rest == 0x8000 && upper & 1);
        assert_int_equal(ir_half_of(IR_T_BF16, (double)value), upper);
    }
}

/* By hand: products that are the middle of two numbers, and what the last bit of the sum
 * decides. */
static void
test_fused_by_hand(void **state)
{
    (void)state;
    /* bfloat16: 1.0078125 * 1.0078125 = 1 + 2^-6 + 2^-14; 2^-133 is far below. */
    assert_int_equal(ir_half_fma(IR_T_BF16, 0x3f81, 0x3f81, 0x0001), 0x3f82);
    /* 255 * 257 / 2^8 is no middle, 129 * 3 = 387 = 386 + 1 is one of 386 and 388. */
    assert_int_equal(ir_half_fma(IR_T_BF16, 0x4301, 0x4040, 0x0000), 0x43c2); /* even: 388 */
    assert_int_equal(ir_half_fma(IR_T_BF16, 0x4301, 0x4040, 0x8001), 0x43c1); /* below: 386 */
    assert_int_equal(ir_half_fma(IR_T_BF16, 0x4303, 0x4040, 0x0000), 0x43c4); /* 393: 392 */
    assert_int_equal(ir_half_fma(IR_T_BF16, 0x4303, 0x4040, 0x0001), 0x43c5); /* above: 394 */
    /* float16: 1025 * 3 = 3075 is the middle of 3074 and 3076. */
    assert_int_equal(ir_half_fma(IR_T_F16, 0x6401, 0x4200, 0x0000), 0x6a02); /* even: 3076 */
    assert_int_equal(ir_half_fma(IR_T_F16, 0x6401, 0x4200, 0x8001), 0x6a01); /* 3074 */
    assert_int_equal(ir_half_fma(IR_T_F16, 0x7bff, 0x3c01, 0x0000), 0x7c00); /* overflow */
    assert_int_equal(ir_half_fma(IR_T_F16, 0x8000, 0x3c00, 0x8000), 0x8000); /* -0 + -0 */
    assert_int_equal(ir_half_fma(IR_T_F16, 0x3c00, 0x3c00, 0xbc00), 0x0000); /* 1 - 1 */
}

int
test_halves(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_by_hand),
        cmocka_unit_test(test_bfloat16_by_bits),
#ifdef __FLT16_MANT_DIG__
        cmocka_unit_test(test_float16_of_the_compiler),
#endif
        cmocka_unit_test(test_halves_by_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
