/* test_verify: one broken text per rule of the verifier and the parser, with the message. */
#include "tests/support/check.h"

#include <stdio.h>

#include "ir/ir.h"

struct broken {
    const char *body; /* of function @0, phase core unless it begins with "module" */
    const char *message;
};

static void
expect(const char *text, enum sp_error code, const char *message)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *module;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    if (ir_parse(text, &arena, &module, &diag)) {
        assert_int_equal(code, SP_E_IR_INVALID);
        if (ir_verify(module, &diag))
            fail_msg("accepted: %s", text);
        ir_module_finish(module);
    }
    assert_int_equal(diag.code, code);
    if (!strstr(diag.message, message))
        fail_msg("\"%s\" does not say \"%s\"", diag.message, message);
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
}

/* The frame of most texts: parameters %1 i64, %2 i64, %3 i1, %4 f32, %5 ptr. */
static const char frame[] =
    "module core\n"
    "site 0 OUT_OF_BOUNDS \"x\" 1\n"
    "func @0 \"broken\" (i64 \"a\", i64 \"b\", i1 \"c\", f32 \"f\", ptr \"p\") -> i64 {\n"
    "b0:\n"
    "  %%1 = param i64 0\n  %%2 = param i64 1\n  %%3 = param i1 2\n"
    "  %%4 = param f32 3\n  %%5 = param ptr 4\n"
    "%s\n}\n"
    "func @1 \"pair\" (i64 \"a\") -> i64, f32 {\nb0:\n  unreachable\n}\n"
    "func @2 \"none\" () {\nb0:\n  ret\n}\n";

static void
expect_all(const struct broken *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strncmp(cases[i].body, "module", 6) == 0) {
            expect(cases[i].body, SP_E_IR_INVALID, cases[i].message);
            continue;
        }
        char text[2000];
        snprintf(text, sizeof text, frame, cases[i].body);
        expect(text, SP_E_IR_INVALID, cases[i].message);
    }
}

static void
test_structure(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {"module core\nfunc @0 \"f\" () {\n}\n", "invalid code in 'f': no blocks"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const 1\n  ret\n}\n",
         "0 values, phase py returns one"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const @1\n  ret %1\n}\n",
         "a function that does not exist"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const @1\n  ret %1\n}\n"
         "func @1 \"g\" free 1 (\"n\") {\nb0:\n  %1 = param 0\n  ret %1\n}\n",
         "a function that needs a closure"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const 1\n  %2 = closure @1 %1\n  ret %2\n}\n"
         "func @1 \"g\" free 1 (\"a\" = given 0, \"n\") {\nb0:\n  %1 = param 0\n  ret %1\n}\n",
         "function @1 needs 2 elements"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = add %1, %1\n  ret %1\n}\n",
         "operation 'add' in a module of phase py"},
        {"module py\nfunc @0 \"f\" posonly 1 () {\nb0:\n  %1 = const 1\n  ret %1\n}\n",
         "fewer parameters than the special ones"},
        {"module core\nfunc @0 \"f\" (void \"x\") {\nb0:\n  ret\n}\n",
         "a parameter or result without a machine type"},
        {"  %6 = tuple i64 %1\n  ret %6",
         "operation 'tuple' in a module of phase core: %6 = tuple"},
        {"  jump b0", "the entry block has a predecessor"},
        {"  %6 = add i64 %1, %2", "block b0 has no terminator"},
        {"  ret %1\n  ret %2", "instructions behind the terminator of block b0: ret %1"},
        {"  jump b1\nb1:\n  %6 = add i64 %1, %2\n  %7 = phi i64 %1\n  ret %6",
         "phi behind other instructions"},
        {"  jump b1", "block b1 has no terminator"},
        {"  jump b1, b2\nb1:\n  ret %1\nb2:\n  ret %1", "block b0 has 2 successors, not 1"},
        {"  ret %1, b1\nb1:\n  ret %1", "block b0 has 1 successors, not 0"},
        {"  jump b1\nb1 (b0, b0):\n  ret %1", "block b1 lists b0 as its predecessor"},
        {"  br %3, b1, b1\nb1 (b0):\n  ret %1", "2 edges, but 1 predecessors"},
        {"  jump b1\nb1:\n  %6 = param i64 0\n  ret %6", "parameter outside the entry block"},
        {"  br %3, b1, b2\nb1:\n  jump b2\nb2:\n  %6 = phi i64 %1\n  ret %6",
         "1 operands for 2 predecessors: %6 = phi i64 %1"},
        {"  br %3, b1, b1\nb1 (b0, b0):\n  %6 = phi i64 %1, %2\n  ret %6",
         "two values from block b0"},
    };
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void
test_operands(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {"  %6 = add i64 %1\n  ret %6", "1 operands, 'add' takes 2"},
        {"  %6 = add i64 %1, %99\n  ret %6", "operand %99 does not exist"},
        {"  %6 = add i64 %1, %0\n  ret %6", "operand %0 does not exist"},
        {"  callf @2\n  ret %6", "operand %6 has no value"},
        {"  %6 = add i64 %7, %1\n  %7 = add i64 %1, %1\n  ret %6",
         "%7 does not dominate this use: %6 = add"},
        {"  %6 = add i64 %6, %1\n  ret %6", "%6 does not dominate"},
        {"  br %3, b1, b2\nb1:\n  %6 = add i64 %1, %2\n  jump b2\nb2:\n  ret %6",
         "%6 does not dominate this use: ret %6"},
        {"  br %3, b1, b2\nb1:\n  %6 = add i64 %1, %2\n  jump b2\nb2:\n  %7 = phi i64 %6, %6\n  "
         "ret %7",
         "%6 does not dominate this use: %7 = phi"},
        {"  ret %6\nb1:\n  %6 = add i64 %1, %2\n  ret %6", "%6 does not dominate"},
        {"  %6 = param i64 5\n  ret %6", "immediate 5, must be below 5"},
        {"  %6 = load i64 align(16) %5\n  ret %6", "immediate 16, must be below 16"},
        {"  callf @3\n  ret %1", "immediate 3, must be below 3"},
        {"  raise site(1) %1", "immediate 1, must be below 1"},
        {"  %6 = const i64 _\n  ret %6", "no constant"},
        {"  %6 = intrin i64 none\n  ret %6", "no such intrinsic"},
        {"  %6 = intrin i64 gpu.syncthreads\n  ret %6", "it has effects"},
        {"  %6 = effect i64 gpu.brev %1\n  ret %6", "it has no effects"},
        {"  effect gpu.atomic.add\n  ret %1", "no operation of its own"},
        {"  %6 = intrin i64 gpu.brev\n  ret %6", "too few operands"},
        {"  %6 = intrin i64 gpu.brev %1, %2\n  ret %6", "too many operands"},
        {"  %6 = intrin i64 gpu.brev %3\n  ret %6", "operand 0 is of another type"},
        {"  %6 = intrin i32 gpu.lanemask_lt %1\n  ret %1", "too many operands"},
        {"  %6 = intrin i64 gpu.lanemask_lt\n  ret %6", "of another type"},
        {"  %6 = effect i64 gpu.syncthreads\n  ret %6", "of another type"},
        {"  jump b1\nb1:\n  %6 = phi i64 (1,) %1\n  ret %6", "the immediate is no name"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = err error(0)\n  ret %1\n}\n",
         "immediate 0, must be below 0"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = undef 1\n  ret %1\n}\n",
         "the immediate is no name"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = call\n  ret %1\n}\n",
         "a call needs its callee"},
        {"module py\nfunc @0 \"f\" (\"a\") {\nb0:\n  %1 = param 0\n  %2 = call (\"x\",) %1\n  ret "
         "%2\n}\n",
         "more names than arguments"},
        {"module py\nfunc @0 \"f\" (\"a\") {\nb0:\n  %1 = param 0\n  %2 = call (1,) %1, %1\n  ret "
         "%2\n}\n",
         "a name that is no text"},
        {"module py\nfunc @0 \"f\" (\"a\") {\nb0:\n  %1 = param 0\n  %2 = call_ex %1\n  ret "
         "%2\n}\n",
         "a call needs its callee and its arguments"},
    };
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void
test_types(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {"  %6 = param i32 0\n  ret %6", "not of the parameter's type"},
        {"  %6 = const i64 1.5\n  ret %6", "the constant is not of this type"},
        {"  %6 = const f32 1\n  ret %6", "the constant is not of this type"},
        {"  %6 = const i64 \"x\"\n  ret %6", "the constant is not of this type"},
        {"  jump b1\nb1:\n  %6 = phi i64 %4\n  ret %6", "operands of another type"},
        {"  br %1, b1, b2\nb1:\n  ret %1\nb2:\n  ret %1", "the condition is not of type i1"},
        {"  ret", "0 values, the function has 1 results"},
        {"  ret %4", "value 0 is not of the result's type"},
        {"  %6 = add i64 %1, %4\n  ret %6", "operands of different types"},
        {"  %6 = add f32 %4, %4\n  ret %1", "integers needed"},
        {"  %6 = add i1 %3, %3\n  ret %1", "integers needed"},
        {"  %6 = add i32 %1, %2\n  ret %1", "the result is not of operand 0's type"},
        {"  %6 = fadd i64 %1, %2\n  ret %1", "floats needed"},
        {"  %6 = icmp i64 eq %1, %2\n  ret %1", "the result is not of type i1"},
        {"  %6 = icmp i1 eq %4, %4\n  ret %1", "integers or addresses needed"},
        {"  %6 = add void %1, %2\n  ret %1", "no machine type"},
        {"  %6 = sext i32 %1\n  ret %1", "no such conversion"},
        {"  %6 = trunc i64 %1\n  ret %1", "no such conversion"},
        {"  %6 = zext i64 %4\n  ret %1", "no such conversion"},
        {"  %6 = sitofp i64 %1\n  ret %1", "no such conversion"},
        {"  %6 = fptosi.sat i1 %4\n  ret %1", "no such conversion"},
        {"  %6 = fpext f32 %4\n  ret %1", "no such conversion"},
        {"  %6 = fptrunc f32 %4\n  ret %1", "no such conversion"},
        {"  %6 = bitcast i64 %4\n  ret %1", "no such conversion"},
        {"  %6 = fpext f64 %4\n  %7 = fptrunc f16 %4\n  %8 = fpext f64 %7\n  ret %1",
         "no such conversion"},
        {"  %6 = fptrunc f16 %4\n  %7 = fptrunc bf16 %6\n  ret %1", "no such conversion"},
        {"  %6 = sitofp f16 %1\n  ret %1", "no such conversion"},
        {"  %6 = fptrunc bf16 %4\n  %7 = fptosi.sat i64 %6\n  ret %1", "no such conversion"},
        {"  %6 = fptrunc bf16 %4\n  %7 = fadd bf16 %6, %6\n  ret %1", "floats needed"},
        {"  %6 = fptrunc f16 %4\n  %7 = fcmp i1 olt %6, %6\n  ret %1", "floats needed"},
        {"  %6 = const f16 1\n  ret %1", "the constant is not of this type"},
        {"  %6 = select i64 %1, %1, %2\n  ret %6", "the condition is not of type i1"},
        {"  %6 = select i64 %3, %1, %4\n  ret %6", "operands of another type"},
        {"  %6 = ptradd ptr %5, %3\n  ret %1", "the offset is not of type i64"},
        {"  %6 = ptradd i64 %1, %1\n  ret %1", "an address needed"},
        {"  %6 = load i64 align(3) %1\n  ret %6", "an address needed"},
        {"  store align(3) %1, %1\n  ret %1", "an address needed"},
        {"  %6 = atomic i64 fadd %5, %1\n  ret %6", "no such atomic on this type"},
        {"  %6 = atomic i64 add %5, %4\n  ret %6", "operand of another type"},
        {"  %6 = atomic i1 add %5, %4\n  ret %1", "operand of another type"},
        {"  %6 = cas i64 %5, %1, %4\n  ret %6", "operands of another type"},
        {"  %6 = cas i64 %1, %1, %1\n  ret %6", "an address needed"},
        {"  %6 = callf i64 @1\n  ret %6", "0 arguments, function @1 takes 1"},
        {"  %6 = callf i64 @1 %4\n  ret %6", "argument 0 is not of type i64"},
        {"  %6 = callf f32 @1 %1\n  ret %1", "not of the callee's first result's type"},
        {"  callf @1 %1\n  ret %1", "not of the callee's first result's type"},
        {"  %6 = callf i64 @1 %1\n  %7 = result f32 2 %6\n  ret %6", "function @1 has 2 results"},
        {"  %6 = callf i64 @1 %1\n  %7 = result i64 1 %6\n  ret %6", "not of the result's type"},
        {"  %6 = result f32 1 %1\n  ret %1", "the operand is no call"},
        {"  raise site(0)", "0 values, the site has 1"},
        {"  raise site(0) %4", "value 0 is not of type i64"},
    };
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void
test_parser(void **state)
{
    (void)state;
    static const struct broken cases[] = {
        {"", "line 1: 'module core' or 'module py' expected"},
        {"; note\nmodule x", "line 2: 'core' or 'py' expected"},
        {"module py x", "line 1: unexpected text at the end of the line"},
        {"module py\nfun", "line 2: 'func' expected"},
        {"module py\nfunc @1 \"f\"", "'@0' expected"},
        {"module py\nfunc @0 f", "name of the function expected, in quotes"},
        {"module py\nfunc @0 \"a\\x00b\" () {", "name of the function has a zero byte"},
        {"module py\nfunc @0 \"f\" (\"a\" \"b\") {", "',' or ')' expected"},
        {"module py\nfunc @0 \"f\" () {\n", "'}' expected"},
        {"module py\nfunc @0 \"f\" () {\n  ret\n}", "line 3: block expected"},
        {"module py\nfunc @0 \"f\" () {\nb0:\nb0:\n}", "line 4: block b0 appears twice"},
        {"module py\nfunc @0 \"f\" () {\nb2097152:\n}", "numbers too large"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %2000000 = tuple\n  %2000001 = tuple\n  %2097152 = "
         "tuple %1\n}",
         "numbers too large"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %0 = tuple\n}", "'%number =' expected"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = tuple\n  %1 = tuple\n}",
         "value %1 is made twice"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  tuple\n}", "'tuple' makes a value"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = jump b0\n}", "'jump' does not make a value"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = frob %2\n}", "unknown operation 'frob'"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = bin \"?\" %2\n}", "unknown operator"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = tuple b1\n}",
         "successor of an instruction that has none"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = tuple %1,\n}", "operand expected"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const 99999999999999999999\n}",
         "number does not fit 64 bits"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const big \"12x\"\n}",
         "decimal text expected"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const 5u\n}", "suffix u"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const nan(0x1)\n}", "bad bits of a NaN"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const int8(1.5)\n}",
         "the number is not of type int8"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const wat\n}", "unknown constant 'wat'"},
        {"module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const 1 !0\n}", "line number expected"},
        {"module py\nfunc @0 \"f\" () {\n  error 1 X \"\"\n}", "error 0 expected"},
        {"module py\nfunc @0 \"f\" () {\n  error 0 NOPE \"\"\n}", "unknown error 'NOPE'"},
        {"module core\nfunc @0 \"f\" () -> int {\n}", "machine type expected"},
        {"module core\nsite 0 OUT_OF_BOUNDS \"x\" 17", "number of values expected, at most 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].body, SP_E_BAD_IR, cases[i].message);
    struct sp_str deep;
    sp_str_init(&deep);
    sp_str_add(&deep, "module py\nfunc @0 \"f\" () {\nb0:\n  %1 = const ");
    for (int i = 0; i < 100000; i++)
        sp_str_add_char(&deep, '(');
    expect(deep.data, SP_E_BAD_IR, "constant nested too deeply");
    sp_str_finish(&deep);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
