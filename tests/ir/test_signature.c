/* test_signature: signatures, their canonical spelling and the message of each error. */
#include "tests/support/check.h"

#include "ir/ir.h"

/* What the text prints as, or the message. */
static void
expect(const char *text, const char *wanted)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct sp_str out;
    struct ir_argtype *args;
    uint32_t n;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    sp_str_init(&out);
    if (ir_signature_parse(text, &arena, &args, &n, &diag)) {
        ir_signature_print(args, n, &out);
        assert_int_equal(diag.code, SP_OK);
    } else {
        assert_int_equal(diag.code, SP_E_BAD_SIGNATURE);
        const char *reason = strstr(diag.message, "\": ");
        assert_non_null(reason);
        sp_str_add(&out, reason + 3);
    }
    assert_string_equal(out.data, wanted);
    sp_str_finish(&out);
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
}

static void
test_good(void **state)
{
    (void)state;
    expect("", "");
    expect("  ", "");
    expect("()", "");
    expect("void()", "");
    expect("int", "int");
    expect("int,float32 ,  float32[:]", "int, float32, float32[:]");
    expect("int, float32,", "int, float32");
    expect("float32[:,::1]", "float32[:, ::1]");
    expect("f2, float16[:], bfloat16, bfloat16[::1]",
           "float16, float16[:], bfloat16, bfloat16[::1]");
    expect("float32[ : , :: 1 ]", "float32[:, ::1]");
    expect("float32[::1, :]", "float32[::1, :]");
    expect("float64[::1]", "float64[::1]");
    expect("bool[:, :, :]", "bool[:, :, :]");
    expect("float32[], int32[ ]", "float32[], int32[]");
    expect("void(float32[:])", "float32[:]");
    expect("None(float32[:])", "float32[:]");
    expect("(int32, float32[:])", "int32, float32[:]");
    expect("int, (int32, (float32[:],),)", "int, (int32, (float32[:],))");
    expect("(int, int), float", "(int, int), float");
    expect("((int, int),)", "(int, int)");
    expect("void(())", "()");
    expect("void (i4, u1[:], f8, b1, double,)", "int32, uint8[:], float64, bool, float64");
    expect(
        "intp,uintp,intc,uintc,boolean,i1,i2,i8,u2,u4,u8,f4",
        "int64, uint64, int32, uint32, bool, int8, int16, int64, uint16, uint32, uint64, float32");
}

static void
test_fields(void **state)
{
    (void)state;
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_argtype *args;
    uint32_t n;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    assert_true(ir_signature_parse("int32, float64[:, ::1], u1[:]", &arena, &args, &n, &diag));
    assert_int_equal(n, 3);
    assert_int_equal(args[0].kind, IR_ARG_SCALAR);
    assert_int_equal(args[0].dtype, IR_T_INT32);
    assert_int_equal(args[1].kind, IR_ARG_ARRAY);
    assert_int_equal(args[1].rank, 2);
    assert_int_equal(args[1].layout, IR_LAYOUT_C);
    assert_int_equal(args[1].align_log2, 3);
    assert_int_equal(args[2].layout, IR_LAYOUT_ANY);
    assert_int_equal(args[2].align_log2, 0);
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
}

static void
test_bad(void **state)
{
    (void)state;
    expect("flaot32", "unknown type 'flaot32' (at character 1)");
    expect("int, ,int", "a type must stand here, not ',' (at character 6)");
    expect("int int", "',' expected (at character 5)");
    expect(",", "a type must stand here, not ',' (at character 1)");
    expect("(int", "')' expected (at character 5)");
    expect("int)", "nothing more expected (at character 4)");
    expect("(int) x", "',' expected (at character 7)");
    expect("void(int) x", "nothing more expected (at character 11)");
    expect("(int, (float32) x)", "',' expected (at character 17)");
    expect("int, (int x)", "',' or ')' expected (at character 11)");
    expect("int, (float32[:], ", "a type is missing (at character 19)");
    expect("float32(int)", "a kernel returns nothing, not 'float32' (at character 1)");
    expect("float32[", "':' or '::1' expected (at character 9)");
    expect("float32[:", "']' expected (at character 10)");
    expect("float32[::2]", "'::1' is the only step (at character 11)");
    expect("float32[::1, ::1]", "a second '::1' (at character 14)");
    expect("float32[:, ::1, :]", "'::1' must be the first or the last dimension (at character 12)");
    expect("float32[:][:]", "arrays of arrays do not exist (at character 11)");
    expect("int[:]", "the elements of an array have a width, 'int' has none (at character 1)");
    expect("float32[:,:,:,:,:,:,:,:,:]", "more than 8 dimensions (at character 25)");
    expect("complex64", "unknown type 'complex64' (at character 1)");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
