/* Inference over PY text: the type and constant of each interesting value, or the error. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/infer.h"

struct run {
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *module, *fork;
    struct ir_typed *typed;
    struct sp_str text;
    bool ok;
};

static void
run_start(struct run *run, const char *source, const char *signature,
          const struct ir_oracle *oracle)
{
    memset(run, 0, sizeof *run);
    sp_arena_init(&run->arena);
    sp_diag_init(&run->diag);
    sp_str_init(&run->text);
    struct ir_argtype *args = NULL;
    uint32_t n_args = 0;
    if (!ir_parse(source, &run->arena, &run->module, &run->diag) ||
        !ir_signature_parse(signature, &run->arena, &args, &n_args, &run->diag))
        fail_msg("%s", run->diag.message);
    run->fork = ir_module_fork(run->module, &run->arena);
    struct ir_ctx ctx = {.arena = &run->arena, .diag = &run->diag, .oracle = oracle};
    run->ok = ir_infer(&ctx, run->fork, args, n_args, &run->typed);
    if (run->ok)
        ir_typed_print(run->typed, &run->text);
}

static void
run_end(struct run *run)
{
    ir_module_finish(run->fork);
    ir_module_finish(run->module);
    sp_diag_finish(&run->diag);
    sp_str_finish(&run->text);
    sp_arena_finish(&run->arena);
}

/* Every line of `expected` (separated by newlines) is a line of the printed result. */
static void
expect(const char *source, const char *signature, const char *expected)
{
    struct run run;
    run_start(&run, source, signature, NULL);
    if (!run.ok)
        fail_msg("%s: %s", sp_error_name(run.diag.code), run.diag.message);
    char *copy = sp_arena_strdup(&run.arena, expected);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        const char *found = strstr(run.text.data, line);
        char after = found ? found[strlen(line)] : 0;
        if (!found || after != '\n')
            fail_msg("no line \"%s\" in\n%s", line, run.text.data);
    }
    run_end(&run);
}

static void
expect_error(const char *source, const char *signature, enum sp_error code, const char *message,
             int line)
{
    struct run run;
    run_start(&run, source, signature, NULL);
    assert_false(run.ok);
    assert_string_equal(sp_error_name(run.diag.code), sp_error_name(code));
    if (message)
        assert_string_equal(run.diag.message, message);
    assert_int_equal(run.diag.where.line, line);
    run_end(&run);
}

#define KERNEL(params, body)                                                                       \
    "module py\nfunc @0 \"k\" file \"k.py\" line 1 (" params ") {\nb0:\n" body "}\n"
#define END "  %90 = const None\n  ret %90\n"

static void
test_numbers(void **state)
{
    (void)state;
    expect(
        KERNEL(
            "\"x\", \"y\", \"n\"",
            "  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n"
            "  %4 = const 2.0\n  %5 = item %1, %3\n  %6 = item %2, %3\n"
            "  %7 = bin \"*\" %4, %5\n  %8 = bin \"/\" %7, %3\n  %9 = bin \"/\" %3, %3\n"
            "  %10 = bin \"+\" %6, %6\n  %11 = cmp \"<\" %5, %3\n  %12 = un \"~\" %11\n"
            "  %13 = un \"-\" %11\n  %14 = bin \"&\" %11, %11\n  %15 = bin \"+\" %11, %11\n" END),
        "float32[:], uint8[:], int",
        "  %5 item: float32\n  %6 item: int\n  %7 bin: float32\n  %8 bin: float32\n"
        "  %9 bin: float\n  %10 bin: int\n  %11 cmp: bool\n  %12 un: bool\n  %13 un: int\n"
        "  %14 bin: bool\n  %15 bin: int");
}

static void
test_casts_make_typed_integers(void **state)
{
    (void)state;
    expect(
        KERNEL("\"n\", \"m\"",
               "  %1 = param 0\n  %2 = param 1\n  %3 = const dtype uint8\n  %4 = const dtype int8\n"
               "  %5 = call %3, %1\n  %6 = call %4, %1\n  %7 = bin \"+\" %5, %6\n"
               "  %8 = bin \"<<\" %5, %1\n  %9 = bin \"+\" %5, %1\n  %10 = bin \"/\" %5, %6\n" END),
        "int32, uint64",
        "  %1 param: int\n  %2 param: uint64\n  %5 call: uint8\n  %6 call: int8\n  %7 bin: int16\n"
        "  %8 bin: uint8\n  %9 bin: uint8\n  %10 bin: float");
    expect_error(
        KERNEL("\"n\", \"m\"",
               "  %1 = param 0\n  %2 = param 1\n  %4 = const dtype int8\n  %6 = call %4, %1\n"
               "  %7 = bin \"+\" %6, %2 !9:4-8\n" END),
        "int32, uint64", SP_E_MIXED_SIGNS, "int8 and uint64 have no common integer type", 9);
    expect_error(
        KERNEL("\"n\"",
               "  %1 = param 0\n  %4 = const dtype uint8\n  %6 = call %4, %1\n  %7 = const 300\n"
               "  %8 = bin \"*\" %6, %7 !9:4-8\n" END),
        "int32", SP_E_CONSTANT_TOO_LARGE, "the constant 300 does not fit uint8", 9);
}

static void
test_powers_look_at_the_program(void **state)
{
    (void)state;
    expect(KERNEL("\"n\"",
                  "  %1 = param 0\n  %2 = const -2\n  %3 = const 2\n  %4 = bin \"**\" %1, %2\n"
                  "  %5 = bin \"**\" %1, %3\n  %6 = bin \"**\" %1, %1\n  %7 = un \"-\" %3\n"
                  "  %8 = bin \"**\" %1, %7\n" END),
           "int",
           "  %4 bin: float\n  %5 bin: int\n  %6 bin: int\n  %7 un: int = -2\n  %8 bin: int");
}

static const char loop[] =
    "module py\nfunc @0 \"k\" (\"x\", \"n\") {\n"
    "b0:\n  %1 = param 0\n  %2 = param 1\n  %3 = const 0.0\n  %4 = const intrin builtins.range\n"
    "  %5 = call %4, %2\n  %6 = iter %5\n  jump b1\n"
    "b1 (b0, b2):\n  %7 = phi \"s\" %3, %12\n  %8 = phi %6, %13\n  %9 = more %8\n  br %9, b2, b3\n"
    "b2 (b1):\n  %10 = value %8\n  %11 = item %1, %10\n  %12 = bin \"+=\" %7, %11\n  %13 = next "
    "%8\n"
    "  jump b1\n"
    "b3 (b1):\n  setitem %1, %2, %7\n  %14 = const None\n  ret %14\n}\n";

static void
test_accumulator_takes_the_type_of_the_elements(void **state)
{
    (void)state;
    expect(loop, "float32[:], int", "  %7 phi: float32\n  %12 bin: float32\n  %10 value: int");
    expect(loop, "float64[:], int", "  %7 phi: float64");
    expect(loop, "int8[:], int", "  %7 phi: float");
}

static void
test_dead_sides_are_not_typed(void **state)
{
    (void)state;
    expect("module py\nfunc @0 \"k\" (\"x\") {\n"
           "  error 0 NYI_CONSTRUCT \"a list cannot be used in a kernel\" !5:8-11\n"
           "b0:\n  %1 = param 0\n  %2 = const False\n  br %2, b1, b2\n"
           "b1 (b0):\n  %3 = err error(0)\n  jump b2\n"
           "b2 (b0, b1):\n  %4 = phi %1, %3\n  %5 = const None\n  ret %5\n}\n",
           "int", "  %4 phi: int");
}

static void
test_errors_of_reading_count_when_reached(void **state)
{
    (void)state;
    expect_error(
        "module py\nfunc @0 \"k\" (\"x\") {\n"
        "  error 0 NYI_CONSTRUCT \"a list cannot be used in a kernel\" !5:8-11\n"
        "b0:\n  %1 = param 0\n  %3 = err error(0) !5:8-11\n  %5 = const None\n  ret %5\n}\n",
        "int", SP_E_NYI_CONSTRUCT, "a list cannot be used in a kernel", 5);
}

static const char device[] =
    "module py\nfunc @0 \"k\" (\"x\", \"n\") {\n"
    "b0:\n  %1 = param 0\n  %2 = param 1\n  %3 = const @1\n  %4 = call %3, %2 !3:1-2\n"
    "  %5 = const 0\n  %6 = item %1, %5\n  %7 = call %3, %6 !4:1-2\n  %8 = call %3, %2 !5:1-2\n"
    "  %9 = const None\n  ret %9\n}\n"
    "func @1 \"half\" (\"v\", \"d\" = 2) {\n"
    "b0:\n  %1 = param 0\n  %2 = param 1\n  %3 = bin \"/\" %1, %2\n  ret %3\n}\n";

static void
test_instances_by_argument_types(void **state)
{
    (void)state;
    expect(device, "float32[:], int", "  %4 call: float\n  %7 call: float32\n  %8 call: float");
    struct run run;
    run_start(&run, device, "float32[:], int", NULL);
    assert_int_equal(run.typed->instances.len, 3);
    assert_int_equal(run.typed->instances.data[0]->callees[4],
                     run.typed->instances.data[0]->callees[8]);
    run_end(&run);
}

static void
test_recursion_needs_nothing_more(void **state)
{
    (void)state;
    static const char fact[] =
        "module py\nfunc @0 \"k\" (\"n\") {\n"
        "b0:\n  %1 = param 0\n  %2 = const @1\n  %3 = call %2, %1 !2:1-2\n  %4 = const None\n  ret "
        "%4\n}\n"
        "func @1 \"fact\" (\"n\") {\n"
        "b0:\n  %1 = param 0\n  %2 = const 2\n  %3 = cmp \"<\" %1, %2\n  br %3, b1, b2\n"
        "b1 (b0):\n  %4 = const 1\n  ret %4\n"
        "b2 (b0):\n  %5 = const @1\n  %6 = const 1\n  %7 = bin \"-\" %1, %6\n  %8 = call %5, %7\n"
        "  %9 = bin \"*\" %1, %8\n  ret %9\n}\n";
    expect(fact, "int", "  %3 call: int\n  %8 call: int");
    expect_error(
        "module py\nfunc @0 \"k\" (\"n\") {\n"
        "b0:\n  %1 = param 0\n  %2 = const @1\n  %3 = call %2, %1 !2:1-2\n  %4 = const None\n"
        "  ret %4\n}\n"
        "func @1 \"f\" (\"n\") {\n"
        "b0:\n  %1 = param 0\n  %5 = const @1\n  %8 = call %5, %1 !7:1-2\n  ret %8\n}\n",
        "int", SP_E_NEVER_RETURNS, "the recursion of 'f' never ends", 2);
}

static void
test_values_are_demanded_where_types_need_them(void **state)
{
    (void)state;
    static const char grid[] =
        "module py\nfunc @0 \"k\" () {\n"
        "b0:\n  %1 = const @1\n  %2 = const 1\n  %3 = const 2\n  %4 = call %1, %2\n  %5 = call %1, "
        "%3\n"
        "  %6 = const None\n  ret %6\n}\n"
        "func @1 \"where\" (\"n\") {\n"
        "b0:\n  %1 = param 0\n  %2 = const intrin gpu.grid\n  %3 = call %2, %1\n  ret %3\n}\n";
    expect(grid, "", "  %4 call: int\n  %5 call: tuple(int, int)");
    expect_error("module py\nfunc @0 \"k\" (\"n\") {\n"
                 "b0:\n  %1 = param 0\n  %2 = const intrin gpu.grid\n  %3 = call %2, %1 !4:2-3\n"
                 "  %4 = const None\n  ret %4\n}\n",
                 "int", SP_E_NEEDS_CONSTANT, "the number of dimensions must be a constant", 4);
}

static void
test_joins(void **state)
{
    (void)state;
#define JOIN(first, second)                                                                        \
    "module py\nfunc @0 \"k\" (\"x\", \"c\") {\n"                                                  \
    "b0:\n  %1 = param 0\n  %2 = param 1\n  br %2, b1, b2\n"                                       \
    "b1 (b0):\n" first "  jump b3\nb2 (b0):\n" second "  jump b3\n"                                \
    "b3 (b1, b2):\n  %20 = phi \"v\" %10, %11\n  %21 = tuple %20 !7:0-1\n  %22 = const None\n  "   \
    "ret %22\n}\n"
    expect(JOIN("  %10 = const 1\n", "  %11 = const 2.5\n"), "int, bool", "  %20 phi: float");
    expect(JOIN("  %10 = const 1\n", "  %11 = const 1\n"), "int, bool", "  %20 phi: int = 1");
    expect(JOIN("  %10 = const 1\n", "  %11 = const True\n"), "int, bool", "  %20 phi: int");
    expect(JOIN("  %10 = const 1\n", "  %11 = const uint8(3)\n"), "int, bool", "  %20 phi: uint8");
    expect(JOIN("  %10 = const (1, 2)\n", "  %11 = const (1.5, 2)\n"), "int, bool",
           "  %20 phi: tuple(float, int)");
    expect(JOIN("  %10 = const float16(1.0)\n", "  %11 = const 2\n"), "int, bool",
           "  %20 phi: float16");
    expect(JOIN("  %10 = const bfloat16(1.0)\n", "  %11 = const 2.5\n"), "int, bool",
           "  %20 phi: bfloat16");
    expect(JOIN("  %10 = const float16(1.0)\n", "  %11 = const bfloat16(2.0)\n"), "int, bool",
           "  %20 phi: float32");
    expect_error(JOIN("  %10 = const (1, 2)\n", "  %11 = const 1.5\n"), "int, bool",
                 SP_E_CANNOT_MEET, "'v' is tuple(int, int) on one path and float on another", 7);
    expect_error(JOIN("  %10 = const None\n", "  %11 = const 1.5\n"), "int, bool", SP_E_CANNOT_MEET,
                 "'v' is None on one path and float on another", 7);
    expect_error(JOIN("  %10 = const uint64(1)\n", "  %11 = const int8(1)\n"), "int, bool",
                 SP_E_CANNOT_MEET, "'v' is uint64 on one path and int8 on another", 7);
    expect_error(JOIN("  %10 = undef \"v\"\n", "  %11 = undef \"v\"\n"), "int, bool",
                 SP_E_UNDEFINED_VARIABLE, "variable 'v' is used before it has a value", 7);
    expect(JOIN("  %10 = undef \"v\"\n", "  %11 = const 1\n"), "int, bool", "  %20 phi: int");
}

/* The types that meet are a set: any order and any grouping has the same result. */
static void
test_joins_of_three(void **state)
{
    (void)state;
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct ir_module *module = ir_module_new(&arena, IR_PHASE_PY);
    for (ir_type a = IR_FIRST_SCALAR; a <= IR_LAST_SCALAR; a++)
        for (ir_type b = IR_FIRST_SCALAR; b <= IR_LAST_SCALAR; b++) {
            ir_type ab = ir_type_join(module, a, b);
            assert_int_equal(ab, ir_type_join(module, b, a));
            assert_int_equal(ab, ir_type_join(module, a, ab));
            for (ir_type c = IR_FIRST_SCALAR; c <= IR_LAST_SCALAR; c++)
                assert_int_equal(ir_type_join(module, ab, c),
                                 ir_type_join(module, a, ir_type_join(module, b, c)));
        }
    ir_module_finish(module);
    sp_arena_finish(&arena);
}

static void
test_user_errors(void **state)
{
    (void)state;
#define ARRAY_KERNEL(body) KERNEL("\"x\", \"n\"", "  %1 = param 0\n  %2 = param 1\n" body END)
    expect_error(ARRAY_KERNEL("  %3 = item %1, %2 !5:3-4\n"), "float32[:], bool", SP_E_INDEX_TYPE,
                 "an index must be an integer, not bool", 5);
    expect_error(ARRAY_KERNEL("  %3 = item %1, %2 !5:3-4\n"), "float32[:], float", SP_E_INDEX_TYPE,
                 "an index must be an integer, not float", 5);
    expect_error(ARRAY_KERNEL("  %3 = bin \"+\" %1, %2 !5:3-4\n"), "float32[:], float",
                 SP_E_BAD_OPERANDS, "'+' is not defined for float32[:] and float", 5);
    expect_error(ARRAY_KERNEL("  %3 = attr \"sum\" %1 !5:3-4\n"), "float32[:], float",
                 SP_E_NO_ATTRIBUTE, "float32[:] has no attribute 'sum'", 5);
    expect_error(ARRAY_KERNEL("  %3 = call %2 !5:3-4\n"), "float32[:], float", SP_E_NOT_CALLABLE,
                 "float cannot be called", 5);
    expect_error(ARRAY_KERNEL("  ret %2 !5:3-4\n}\nfunc @1 \"z\" () {\nb0:\n"), "float32[:], float",
                 SP_E_KERNEL_RETURNS, "a kernel cannot return float", 5);
    expect_error(ARRAY_KERNEL("  %3 = const intrin math.sqrt\n  %4 = call %3 !5:3-4\n"),
                 "float32[:], float", SP_E_ARGUMENT_COUNT, "math.sqrt takes 1 argument, 0 given",
                 5);
    expect_error(ARRAY_KERNEL("  %3 = unpack 2 %2 !5:3-4\n"), "float32[:], float",
                 SP_E_NOT_UNPACKABLE, "float cannot be unpacked", 5);
    expect_error(ARRAY_KERNEL("  %3 = iter %2 !5:3-4\n"), "float32[:], int", SP_E_NOT_ITERABLE,
                 "'for' cannot go over int", 5);
    expect_error(ARRAY_KERNEL("  %3 = const host \"Logger\"\n  %4 = call %3 !5:3-4\n"),
                 "float32[:], int", SP_E_HOST_OBJECT,
                 "an object of type 'Logger' lives on the host and cannot be used in a kernel", 5);
}

static void
test_argument_binding(void **state)
{
    (void)state;
#define CALLS(call)                                                                                \
    "module py\nfunc @0 \"k\" (\"n\") {\nb0:\n  %1 = param 0\n  %2 = const @1\n" call END          \
    "}\nfunc @1 \"f\" posonly 1 kwonly 1 (\"a\", \"b\" = 1.5, \"c\" = True) {\nb0:\n"              \
    "  %1 = param 0\n  %2 = param 1\n  %3 = param 2\n  %4 = tuple %1, %2, %3\n  ret %4\n}\n"
    expect(CALLS("  %3 = call %2, %1\n"), "int", "  %3 call: tuple(int, float, bool)");
    expect(CALLS("  %3 = call (\"c\", \"b\") %2, %1, %1, %1\n"), "int",
           "  %3 call: tuple(int, int, int)");
    expect_error(CALLS("  %3 = call %2 !3:1-2\n"), "int", SP_E_ARGUMENT_COUNT,
                 "f takes 1 to 2 arguments, 0 given", 3);
    expect_error(CALLS("  %3 = call %2, %1, %1, %1 !3:1-2\n"), "int", SP_E_ARGUMENT_COUNT,
                 "f takes 1 to 2 arguments, 3 given", 3);
    expect_error(CALLS("  %3 = call (\"a\") %2, %1 !3:1-2\n"), "int", SP_E_ARGUMENT_NAME,
                 "f has no argument 'a'", 3);
    expect_error(CALLS("  %3 = call (\"b\") %2, %1, %1, %1 !3:1-2\n"), "int", SP_E_ARGUMENT_TWICE,
                 "argument 'b' of f is given twice", 3);
}

static void
test_read_only_arrays(void **state)
{
    (void)state;
    static const char source[] = ARRAY_KERNEL("  %3 = const 1\n  setitem %1, %3, %2 !5:3-4\n");
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *module;
    struct ir_typed *typed;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    assert_true(ir_parse(source, &arena, &module, &diag));
    struct ir_module *fork = ir_module_fork(module, &arena);
    struct ir_argtype args[] = {
        {.kind = IR_ARG_ARRAY, .dtype = IR_T_FLOAT32, .rank = 1, .read_only = 1},
        {.kind = IR_ARG_SCALAR, .dtype = IR_T_INT}};
    struct ir_ctx ctx = {.arena = &arena, .diag = &diag};
    assert_false(ir_infer(&ctx, fork, args, 2, &typed));
    assert_string_equal(sp_error_name(diag.code), "READ_ONLY");
    assert_int_equal(diag.where.line, 5);
    sp_diag_finish(&diag);
    ir_module_finish(fork);
    ir_module_finish(module);
    sp_arena_finish(&arena);
}

struct answers {
    uint32_t calls, questions;
};

static void
answer(void *context, struct ir_module *module, struct ir_question *questions, uint32_t n)
{
    struct answers *answers = context;
    answers->calls++;
    answers->questions += n;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(questions[i].name, "width") == 0)
            questions[i].answer = ir_const_int(module, 640);
        else
            sp_diag_set(&questions[i].diag, SP_E_UNKNOWN_ATTRIBUTE, NULL, "Config",
                        questions[i].name);
}

static const char asking[] =
    "module py\nfunc @0 \"k\" () {\nb0:\n  %1 = const host \"Config\"\n  %2 = attr \"width\" %1\n"
    "  %3 = attr \"width\" %1\n  %4 = const None\n  ret %4\n}\n";

static void
test_questions_are_asked_once_and_together(void **state)
{
    (void)state;
    struct answers answers = {0};
    struct ir_oracle oracle = {&answers, answer};
    struct run run;
    run_start(&run, asking, "", &oracle);
    assert_true(run.ok);
    assert_non_null(strstr(run.text.data, "  %2 attr: int = 640\n"));
    assert_non_null(strstr(run.text.data, "  %3 attr: int = 640\n"));
    assert_int_equal(answers.calls, 1);
    assert_int_equal(answers.questions, 1);
    run_end(&run);
    run_start(&run,
              "module py\nfunc @0 \"k\" () {\nb0:\n  %1 = const host \"Config\"\n"
              "  %2 = attr \"hight\" %1 !6:1-2\n  %4 = const None\n  ret %4\n}\n",
              "", &oracle);
    assert_false(run.ok);
    assert_string_equal(run.diag.message, "Config has no attribute 'hight'");
    assert_int_equal(run.diag.where.line, 6);
    run_end(&run);
}

static void
test_endless_instances_are_an_error(void **state)
{
    (void)state;
    expect_error("module py\nfunc @0 \"k\" (\"n\") {\nb0:\n  %1 = param 0\n  %2 = const @1\n"
                 "  %3 = call %2, %1 !3:1-2\n" END
                 "}\nfunc @1 \"grow\" (\"t\") {\nb0:\n  %1 = param 0\n  %2 = const @1\n"
                 "  %3 = tuple %1\n  %4 = call %2, %3 !8:1-2\n  ret %4\n}\n",
                 "int", SP_E_TOO_MANY_INSTANCES, NULL, 8);
    expect_error("module py\nfunc @0 \"k\" (\"n\") {\nb0:\n  %1 = param 0\n  %2 = const @1\n"
                 "  %3 = call %2, %1 !3:1-2\n" END
                 "}\nfunc @1 \"double\" (\"t\") {\nb0:\n  %1 = param 0\n  %2 = const @1\n"
                 "  %3 = tuple %1, %1 !7:1-2\n  %4 = call %2, %3 !8:1-2\n  ret %4\n}\n",
                 "int", SP_E_NYI_CONSTRUCT, NULL, 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_casts_make_typed_integers),
        cmocka_unit_test(test_powers_look_at_the_program),
        cmocka_unit_test(test_accumulator_takes_the_type_of_the_elements),
        cmocka_unit_test(test_dead_sides_are_not_typed),
        cmocka_unit_test(test_errors_of_reading_count_when_reached),
        cmocka_unit_test(test_instances_by_argument_types),
        cmocka_unit_test(test_recursion_needs_nothing_more),
        cmocka_unit_test(test_values_are_demanded_where_types_need_them),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_joins_of_three),
        cmocka_unit_test(test_user_errors),
        cmocka_unit_test(test_read_only_arrays),
        cmocka_unit_test(test_argument_binding),
        cmocka_unit_test(test_questions_are_asked_once_and_together),
        cmocka_unit_test(test_endless_instances_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
