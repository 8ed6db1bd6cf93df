/* test_module: tables, interning, forks, functions and block order. */
#include "tests/support/check.h"

#include <math.h>

#include "ir/ir.h"

struct fixture {
    struct sp_arena arena;
    struct ir_module *module;
    struct sp_str text;
};

static int
setup(void **state)
{
    struct fixture *f = sp_alloc(sizeof *f);
    sp_arena_init(&f->arena);
    sp_str_init(&f->text);
    f->module = ir_module_new(&f->arena, IR_PHASE_PY);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;
    ir_module_finish(f->module);
    sp_str_finish(&f->text);
    sp_arena_finish(&f->arena);
    free(f);
    return 0;
}

static const char *
type_text(struct fixture *f, ir_type type)
{
    sp_str_clear(&f->text);
    ir_type_print(f->module, type, &f->text);
    return f->text.data;
}

static const char *
const_text(struct fixture *f, ir_const c)
{
    sp_str_clear(&f->text);
    ir_const_print(f->module, c, &f->text);
    return f->text.data;
}

static void
test_tables(void **state)
{
    (void)state;
    double value = 0;
    bool is_int = false;
    assert_int_equal(ir_intrin_by_path("math.sqrt"), IR_INTRIN_SQRT);
    assert_int_equal(ir_intrin_by_path("gpu.threadIdx.x"), IR_INTRIN_TID_X);
    assert_int_equal(ir_intrin_by_path("math.pi"), IR_INTRIN_NONE);
    assert_int_equal(ir_intrin_by_path("math.sqr"), IR_INTRIN_NONE);
    assert_int_equal(ir_intrin_by_path(""), IR_INTRIN_NONE);
    for (int i = 1; i < IR_N_INTRINS; i++)
        assert_int_equal(ir_intrin_by_path(ir_intrin_row((enum ir_intrin)i)->path), i);
    assert_true(ir_intrin_is_prefix("gpu.threadIdx"));
    assert_true(ir_intrin_is_prefix("gpu"));
    assert_true(ir_intrin_is_prefix("math"));
    assert_false(ir_intrin_is_prefix("mat"));
    assert_false(ir_intrin_is_prefix("math.sqrt"));
    assert_false(ir_intrin_is_prefix(""));
    assert_true(ir_number_by_path("math.pi", &value, &is_int) && !is_int);
    assert_true(value == 0x1.921fb54442d18p+1);
    assert_true(ir_number_by_path("math.inf", &value, &is_int) && isinf(value));
    assert_true(ir_number_by_path("gpu.warpsize", &value, &is_int) && is_int && value == 32);
    assert_false(ir_number_by_path("math.sqrt", &value, &is_int));
    assert_int_equal(ir_scalar_by_name("float32", 7), IR_T_FLOAT32);
    assert_int_equal(ir_scalar_by_name("float32x", 8), IR_T_NONE);
    assert_int_equal(ir_scalar_by_name("bool_", 5), IR_T_BOOL);
    assert_int_equal(ir_scalar_by_typestr("<f8"), IR_T_FLOAT64);
    assert_int_equal(ir_scalar_by_typestr("<i8"), IR_T_INT64);
    assert_int_equal(ir_scalar_by_typestr("|u1"), IR_T_UINT8);
    assert_int_equal(ir_scalar_by_typestr("<u1"), IR_T_UINT8);
    assert_int_equal(ir_scalar_by_typestr(">f4"), IR_T_NONE);
    assert_int_equal(ir_scalar_by_typestr("<c8"), IR_T_NONE);
    assert_string_equal(ir_op_row(IR_CTLZ)->name, "ctlz");
    assert_int_equal(ir_op_row(IR_CALLF)->flags, IR_F_LOAD | IR_F_STORE | IR_RAISES);
    assert_int_equal(ir_machine_bits(IR_T_I1), 1);
    assert_string_equal(ir_machine_name(IR_T_PTR_SHARED), "ptr.shared");
}

static void
test_types(void **state)
{
    struct fixture *f = *state;
    struct ir_module *m = f->module;
    ir_type pair[] = {IR_T_INT, IR_T_FLOAT32};
    ir_type tuple = ir_type_tuple(m, 2, pair);
    assert_int_equal(tuple, ir_type_tuple(m, 2, pair));
    assert_int_not_equal(tuple, ir_type_tuple(m, 1, pair));
    assert_string_equal(type_text(f, tuple), "tuple(int, float32)");
    assert_string_equal(type_text(f, ir_type_tuple(m, 0, NULL)), "tuple()");
    ir_type any = ir_type_array(m, IR_T_FLOAT32, 2, IR_LAYOUT_ANY);
    assert_string_equal(type_text(f, any), "float32[:, :]");
    assert_string_equal(type_text(f, ir_type_array(m, IR_T_FLOAT32, 2, IR_LAYOUT_C)),
                        "float32[:, ::1]");
    assert_string_equal(type_text(f, ir_type_array(m, IR_T_INT8, 3, IR_LAYOUT_F)),
                        "int8[::1, :, :]");
    /* Fields that a kind does not use do not split types. */
    struct ir_type_info info = {.kind = IR_KIND_ARRAY,
                                .dtype = IR_T_FLOAT32,
                                .rank = 2,
                                .layout = IR_LAYOUT_ANY,
                                .position = 77,
                                .step_sign = 1};
    assert_int_equal(ir_type_intern(m, &info), any);
    info.read_only = true;
    assert_int_not_equal(ir_type_intern(m, &info), any);
    assert_string_equal(type_text(f, ir_type_intern(m, &info)), "float32[:, :] (read-only)");
    assert_int_equal(
        ir_type_intern(m, &(struct ir_type_info){.kind = IR_KIND_SCALAR, .dtype = IR_T_INT8}),
        IR_T_INT8);
    assert_string_equal(type_text(f, ir_type_object(m, ir_const_simple(m, IR_C_NONE, 0))), "None");
    assert_string_equal(type_text(f, ir_type_object(m, ir_const_str(m, "x", 1))), "str");
    assert_string_equal(type_text(f, ir_type_object(m, ir_const_simple(m, IR_C_DTYPE, IR_T_UINT8))),
                        "type uint8");
    /* A type of hundreds of elements goes through the growing key. */
    ir_type many[300];
    for (int i = 0; i < 300; i++)
        many[i] = IR_T_INT;
    ir_type wide = ir_type_tuple(m, 300, many);
    many[299] = IR_T_FLOAT;
    assert_int_not_equal(wide, ir_type_tuple(m, 300, many));
    assert_int_equal(ir_type_info(m, wide)->n_elems, 300);
    /* Nesting ends with dots instead of a deep recursion. */
    ir_type nest = IR_T_INT;
    for (int i = 0; i < 10000; i++)
        nest = ir_type_tuple(m, 1, &nest);
    assert_non_null(strstr(type_text(f, nest), "..."));
}

static void
test_consts(void **state)
{
    struct fixture *f = *state;
    struct ir_module *m = f->module;
    ir_const one = ir_const_int(m, 1);
    assert_int_equal(one, ir_const_int(m, 1));
    assert_int_equal(one, ir_const_uint(m, 1));
    assert_int_not_equal(one, ir_const_float(m, 1.0));
    assert_int_not_equal(one, ir_const_bool(m, true));
    assert_int_not_equal(ir_const_float(m, 0.0), ir_const_float(m, -0.0));
    assert_int_equal(ir_const_float(m, NAN), ir_const_float(m, NAN));
    assert_int_not_equal(ir_const_float(m, NAN), ir_const_float(m, -NAN));
    assert_int_not_equal(ir_const_str(m, "a\0b", 3), ir_const_str(m, "a\0c", 3));
    assert_int_not_equal(ir_const_str(m, "", 0), ir_const_tuple(m, 0, NULL));
    struct ir_const_info typed = {.kind = IR_C_TYPED, .scalar = IR_T_FLOAT32, .f = 1};
    ir_const single = ir_const_intern(m, &typed);
    typed.scalar = IR_T_FLOAT64;
    assert_int_not_equal(single, ir_const_intern(m, &typed));
    assert_string_equal(const_text(f, single), "float32(1.0)");
    assert_string_equal(const_text(f, ir_const_uint(m, UINT64_MAX)), "18446744073709551615");
    assert_string_equal(const_text(f, ir_const_float(m, 0.1)), "0.1");
    assert_string_equal(const_text(f, ir_const_float(m, 1e300)), "1e+300");
    assert_string_equal(const_text(f, ir_const_float(m, -0.0)), "-0.0");
    assert_string_equal(const_text(f, ir_const_float(m, 0.1 + 0.2)), "0.30000000000000004");
    assert_string_equal(const_text(f, ir_const_tuple(m, 1, &one)), "(1,)");
    assert_string_equal(const_text(f, ir_const_str(m, "it's\n", 5)), "'it\\'s\\n'");
    assert_string_equal(const_text(f, ir_const_simple(m, IR_C_INTRIN, IR_INTRIN_SIN)), "math.sin");
    int here;
    struct ir_const_info host = {.kind = IR_C_HOST};
    host.host = &here;
    host.type_name = "Grid";
    assert_string_equal(const_text(f, ir_const_intern(m, &host)), "Grid object");
    assert_ptr_equal(ir_const_info(m, ir_const_intern(m, &host))->host, &here);
}

static void
test_fork(void **state)
{
    struct fixture *f = *state;
    struct ir_module *m = f->module;
    struct sp_arena arena;
    sp_arena_init(&arena);
    ir_const seven = ir_const_int(m, 7);
    ir_type array = ir_type_array(m, IR_T_INT8, 1, IR_LAYOUT_C);
    struct ir_func *func = ir_func_new(m, "f");
    struct ir_module *fork = ir_module_fork(m, &arena);
    assert_int_equal(ir_const_int(fork, 7), seven);
    assert_int_equal(ir_type_array(fork, IR_T_INT8, 1, IR_LAYOUT_C), array);
    assert_ptr_equal(fork->funcs.data[0], func);
    uint32_t n_types = m->types.len, n_consts = m->consts.len;
    for (int i = 0; i < 200; i++) {
        ir_const_int(fork, 1000 + i);
        ir_type_object(fork, ir_const_int(fork, 2000 + i));
        ir_func_new(fork, "g");
    }
    assert_int_equal(m->types.len, n_types);
    assert_int_equal(m->consts.len, n_consts);
    assert_int_equal(m->funcs.len, 1);
    assert_int_equal(fork->funcs.len, 201);
    assert_ptr_equal(fork->funcs.data[5]->module, fork);
    /* New ones of the original do not meet the fork's. */
    assert_int_equal(ir_const_int(m, 5), n_consts);
    assert_int_equal(ir_const_info(fork, n_consts)->i, 1000);
    ir_module_finish(fork);
    sp_arena_finish(&arena);
    assert_int_equal(ir_const_int(m, 7), seven);
}

static void
test_func(void **state)
{
    struct fixture *f = *state;
    struct ir_func *func = ir_func_new(f->module, "f");
    func->file = "f.py";
    uint32_t entry = ir_block_new(func), head = ir_block_new(func), body = ir_block_new(func);
    uint32_t out = ir_block_new(func), lost = ir_block_new(func), order[5];
    ir_set_src(func, 3, 4, 3, 9);
    ir_ref a = ir_insn_add(func, entry, IR_PARAM, 0, 0, 0, NULL);
    ir_jump(func, entry, head);
    ir_set_src(func, 3, 4, 3, 9);
    ir_ref more = ir_insn_add(func, head, IR_MORE, 0, 0, 1, &a);
    ir_ref phi = ir_phi_new(func, head, 0, 0), second = ir_phi_new(func, head, 0, 0);
    ir_br(func, head, more, body, out);
    ir_jump(func, body, head);
    ir_ret(func, out, 1, &phi);
    ir_jump(func, lost, out);
    /* Phis stand first, in the order they were made. */
    assert_int_equal(func->blocks.data[head].insns.data[0], phi);
    assert_int_equal(func->blocks.data[head].insns.data[1], second);
    assert_int_equal(func->blocks.data[head].insns.data[2], more);
    ir_phi_set(func, phi, 1, &a);
    ir_phi_set(func, second, 2, (ir_ref[]){a, phi});
    ir_phi_set(func, phi, 2, (ir_ref[]){a, second});
    assert_int_equal(ir_arg(func, phi, 1), second);
    assert_int_equal(ir_arg(func, second, 1), phi);
    ir_phi_set(func, phi, 1, &ir_args(func, phi)[1]); /* operands that overlap */
    assert_int_equal(ir_arg(func, phi, 0), second);
    assert_int_equal(ir_fill_rpo(func, order), 4);
    assert_int_equal(order[0], entry);
    assert_int_equal(order[1], head);
    assert_int_equal(order[2], body);
    assert_int_equal(order[3], out);
    assert_int_equal(func->blocks.data[out].preds.len, 2);
    assert_int_equal(ir_terminator(func, out), func->blocks.data[out].insns.data[0]);
    assert_int_equal(func->srcs.len, 2); /* equal neighbours are one */
    struct sp_src src = ir_insn_src(func, more);
    assert_int_equal(src.line, 3);
    assert_string_equal(src.file, "f.py");
    assert_string_equal(src.function, "f");
}

/* A long chain must not recurse. */
static void
test_long_chain(void **state)
{
    struct fixture *f = *state;
    struct ir_func *func = ir_func_new(f->module, "f");
    uint32_t n = 200000;
    uint32_t *order = sp_alloc(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++)
        ir_block_new(func);
    for (uint32_t i = 0; i + 1 < n; i++)
        ir_jump(func, i, i + 1);
    ir_unreachable(func, n - 1);
    assert_int_equal(ir_fill_rpo(func, order), n);
    assert_int_equal(order[n - 1], n - 1);
    free(order);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test_setup_teardown(test_types, setup, teardown),
        cmocka_unit_test_setup_teardown(test_consts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(test_func, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_chain, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
