/* Whatever the verifier accepts compiles, or gets a diagnostic: every operation on every machine
 * type, for the oldest GPU and the host, with and without optimisation. LLVM must never abort. */
#include <stdio.h>

#include "tests/codegen/host_run.h"
#include "tests/codegen/parts.h"

#define FIRST_TYPE IR_T_I1
#define LAST_TYPE IR_T_PTR_LOCAL

/* A kernel that computes `op` of its parameters and stores the value. Returns false if the verifier
 * does not want it. */
static bool
make_kernel(struct sp_arena *arena, enum ir_op op, const ir_type *types, uint32_t n, ir_type result,
            uint32_t imm, struct ir_module **out)
{
    struct ir_module *core = ir_module_new(arena, IR_PHASE_CORE);
    struct ir_func *func = ir_func_new(core, "every");
    func->is_kernel = true;
    func->n_params = n + 1;
    func->params = SP_NEW_N(arena, struct ir_func_param, n + 1);
    uint32_t block = ir_block_new(func);
    ir_ref args[8];
    for (uint32_t i = 0; i <= n; i++) {
        func->params[i].name = "p";
        func->params[i].type = i < n ? types[i] : IR_T_PTR_GLOBAL;
        args[i] = ir_insn_add(func, block, IR_PARAM, func->params[i].type, i, 0, NULL);
    }
    ir_ref value = ir_insn_add(func, block, op, result, imm, n, args);
    if (ir_op_row(op)->result != IR_RESULT_NONE && result != IR_T_VOID) {
        ir_ref store[2] = {args[n], value};
        ir_insn_add(func, block, IR_STORE, IR_T_NONE, 0, 2, store);
    }
    ir_ret(func, block, 0, NULL);
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok = ir_verify(core, &diag);
    sp_diag_finish(&diag);
    if (ok)
        *out = core;
    else
        ir_module_finish(core);
    return ok;
}

static bool
compile_kernel(struct ir_module *core, struct cg_arch arch, int level)
{
    struct cg_request request = {.arch = arch};
    struct artifact *artifact = NULL;
    struct sp_diag diag;
    sp_diag_init(&diag);
    cg_options_init(&request.options);
    request.options.opt_level = level;
    bool ok = cg_compile_core(host_state(), core, &request, false, &artifact, NULL, &diag);
    assert_true(ok == (artifact != NULL) && ok == (diag.code == SP_OK));
    sp_artifact_destroy(artifact);
    sp_diag_finish(&diag);
    return ok;
}

struct tally {
    unsigned accepted, compiled;
};

/* What no GPU has: an address of one special space seen in another. */
static bool
refusable(enum ir_op op, ir_type from, ir_type to)
{
    return op == IR_BITCAST && from > IR_T_PTR && to > IR_T_PTR && from != to;
}

static void
try_kernel(enum ir_op op, const ir_type *types, uint32_t n, ir_type result, uint32_t imm,
           struct tally *tally)
{
    struct sp_arena arena;
    struct ir_module *core;
    sp_arena_init(&arena);
    if (make_kernel(&arena, op, types, n, result, imm, &core)) {
        bool newer = (op == IR_INTRIN || op == IR_EFFECT) && ir_intrin_row(imm)->sm > 75;
        const struct cg_arch archs[] = {newer ? (struct cg_arch){80, 70} : (struct cg_arch){75, 63},
                                        {0, 0}};
        tally->accepted++;
        bool ok = true;
        for (int i = 0; i < 4; i++)
            ok &= compile_kernel(core, archs[i % 2], i / 2 * 3);
        tally->compiled += ok;
        if (ok == refusable(op, types[0], result))
            fail_msg("%s: %s of %s gives %s, imm %u", ok ? "compiled" : "refused",
                     ir_op_row(op)->name, ir_machine_name(types[0]), ir_machine_name(result), imm);
        ir_module_finish(core);
    }
    sp_arena_finish(&arena);
}

/* Operand types of an operation whose first operand is `type`. */
static void
fill_types(enum ir_op op, ir_type type, ir_type *types)
{
    for (int i = 0; i < 3; i++)
        types[i] = type;
    if (op == IR_PTRADD)
        types[1] = IR_T_I64;
    if (op == IR_SELECT)
        types[0] = IR_T_I1;
}

static void
try_operation(enum ir_op op, struct tally *tally)
{
    const struct ir_op_row *row = ir_op_row(op);
    bool given = row->result == IR_RESULT_GIVEN;
    for (ir_type type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        ir_type types[3];
        fill_types(op, type, types);
        for (ir_type result = given ? FIRST_TYPE : LAST_TYPE; result <= LAST_TYPE; result++) {
            ir_type made = given ? result : row->result == IR_RESULT_I1 ? IR_T_I1 : types[0];
            if (row->result == IR_RESULT_NONE)
                made = IR_T_NONE;
            try_kernel(op, types, (uint32_t)row->n_args, made, 0, tally);
        }
    }
    /* Memory operations: the address is of one type, the value of another. */
    for (ir_type type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        ir_type types[3] = {IR_T_PTR_GLOBAL, type, type};
        if (op == IR_STORE)
            try_kernel(op, types, 2, IR_T_NONE, 0, tally);
        for (ir_type space = IR_T_PTR; space <= IR_T_PTR_LOCAL; space++) {
            types[0] = space;
            for (uint32_t imm = 0; op == IR_ATOMIC && imm < IR_N_ATOMICS; imm++)
                try_kernel(op, types, 2, type, imm, tally);
            if (op == IR_CAS)
                try_kernel(op, types, 3, type, 0, tally);
        }
    }
}

static void
test_every_operation(void **state)
{
    (void)state;
    struct tally tally = {0, 0};
    for (int op = IR_NOP + 1; op < IR_N_OPS; op++) {
        const struct ir_op_row *row = ir_op_row((enum ir_op)op);
        if (row->n_args < 1 || row->n_args > 3 || !(row->phase & IR_PHASE_CORE) ||
            row->flags & IR_TERM || op == IR_RESULT)
            continue;
        try_operation((enum ir_op)op, &tally);
    }
    print_message("%u kernels, %u compiled\n", tally.accepted, tally.compiled);
    assert_true(tally.accepted > 150);
    assert_int_equal(tally.accepted - tally.compiled, 6);
}

/* Rows whose operation has types in intrin.def: all that these allow. How many kernels. */
static uint32_t
try_row(enum ir_intrin id, struct tally *tally)
{
    const char *types = ir_intrin_types(id);
    bool pure = ir_intrin_row(id)->flags & IR_PURE;
    uint32_t count = 0;
    for (ir_type any = IR_T_I8; any <= IR_T_F64; any++) {
        ir_type all[6];
        uint32_t n = 0;
        bool fits = true, varies = false;
        for (const char *at = types; *at; n++) {
            char name[16];
            size_t len = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)len, at);
            all[n] = any;
            if (*at == 'T' || *at == 'F')
                varies = fits = *at == 'T' ? any <= IR_T_I64 : any >= IR_T_F32;
            for (ir_type t = IR_T_VOID; *at != 'T' && *at != 'F' && t < IR_T_PTR; t++)
                if (!strcmp(ir_machine_name(t), name))
                    all[n] = t;
            if (!fits)
                break;
            at += len + (at[len] == ' ');
        }
        if (!fits || (!varies && any > IR_T_I8))
            continue;
        count++;
        try_kernel(pure ? IR_INTRIN : IR_EFFECT, all + 1, n - 1, all[0], id, tally);
    }
    return count;
}

static void
test_every_intrinsic(void **state)
{
    (void)state;
    struct tally tally = {0, 0};
    unsigned rows = 0;
    for (unsigned id = IR_INTRIN_NONE + 1; id < IR_N_INTRINS; id++) {
        const struct ir_intrin_row *row = ir_intrin_row((enum ir_intrin)id);
        if (*ir_intrin_types((enum ir_intrin)id)) {
            rows += try_row((enum ir_intrin)id, &tally);
            continue;
        }
        if (!*row->nv || !(row->flags & IR_PURE))
            continue; /* no operation of machine values, or one of its own */
        rows++;
        ir_type types[3] = {IR_T_F64, IR_T_F64, IR_T_F64};
        uint32_t n = row->rule == IR_RULE_SREG ? 0 : (uint32_t)row->min_args;
        if (id == IR_INTRIN_HYPOT)
            n = 2;
        if (id == IR_INTRIN_LDEXP)
            types[1] = IR_T_I32;
        try_kernel(IR_INTRIN, types, n, row->rule == IR_RULE_SREG ? IR_T_I32 : IR_T_F64, id,
                   &tally);
    }
    print_message("%u kernels, %u compiled\n", tally.accepted, tally.compiled);
    assert_int_equal(tally.accepted, rows);
    assert_int_equal(tally.compiled, rows);
}

/* What an older GPU lacks is an error with both names, before LLVM sees it. */
static void
test_older_gpu(void **state)
{
    (void)state;
    static const ir_type types[3] = {IR_T_I32, IR_T_I32, IR_T_I1};
    struct sp_arena arena;
    struct ir_module *core;
    struct sp_diag diag;
    struct artifact *artifact = NULL;
    struct cg_request request = {.arch = {75, 63}};
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    cg_options_init(&request.options);
    assert_true(make_kernel(&arena, IR_EFFECT, types, 3, IR_T_I32, IR_INTRIN_REDUCE_ADD, &core));
    assert_false(cg_compile_core(host_state(), core, &request, false, &artifact, NULL, &diag));
    assert_int_equal(diag.code, SP_E_TARGET_LACKS);
    assert_string_equal(diag.message, "gpu.reduce_add_sync needs sm_80, the target is sm_75");
    sp_diag_finish(&diag);
    ir_module_finish(core);
    sp_arena_finish(&arena);
}

int
test_every_op(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_gpu),
        cmocka_unit_test(test_every_operation),
        cmocka_unit_test(test_every_intrinsic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
