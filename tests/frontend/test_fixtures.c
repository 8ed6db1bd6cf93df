/* test_fixtures: 80 functions compiled by five CPython versions, through decoder, blocks and
 * builder.
 *
 * The decoder is held against the listings that each version's own `dis` made; blocks against the
 * definition of a flow graph and of dominance; modules against the verifier, the parser and each
 * other. Arguments: the fixture files. */
#include "tests/support/check.h"

#include <stdio.h>

#include "frontend/code.h"
#include "tests/frontend/load.h"

enum { N_FUNCTIONS = 81 }; /* and one that stands for what fixtures call */

static int n_files;
static char **files;

/* One function, decoded. */
struct decoded {
    struct sp_arena arena;
    struct ir_module *module;
    struct fe_code code;
    struct fe_insns insns;
    struct sp_diag diag;
};

static void
decode(struct decoded *d, const struct fe_fixture_function *function)
{
    sp_arena_init(&d->arena);
    sp_diag_init(&d->diag);
    d->module = ir_module_new(&d->arena, IR_PHASE_PY);
    assert_true(fe_fixture_code(function, &d->arena, d->module, &d->code, &d->diag));
    assert_true(fe_decode(&d->code, &d->arena, &d->insns, &d->diag));
}

static void
decode_finish(struct decoded *d)
{
    ir_module_finish(d->module);
    sp_arena_finish(&d->arena);
}

static void
for_each_function(void (*check)(const struct fe_fixture *, const struct fe_fixture_function *))
{
    for (int i = 0; i < n_files; i++) {
        struct sp_arena arena;
        sp_arena_init(&arena);
        const struct fe_fixture *fixture = load_fixture(files[i], &arena);
        uint32_t n = 0;
        for (uint32_t k = 0; k < fixture->functions.len; k++) {
            n += !strstr(fixture->functions.data[k]->name, ".<locals>.");
            check(fixture, fixture->functions.data[k]);
        }
        assert_int_equal(n, N_FUNCTIONS);
        sp_arena_finish(&arena);
    }
}

static bool
is_superinstruction(const char *opcode)
{
    return !strncmp(opcode, "LOAD_FAST_LOAD", 14) || !strncmp(opcode, "STORE_FAST_", 11) ||
           !strncmp(opcode, "LOAD_FAST_BORROW_LOAD", 21);
}

/* The operations of one opcode begin at `i`; returns where those of the next begin. */
static uint32_t
check_opcode(const struct decoded *d, const struct fe_fixture_expect *expect, uint32_t i)
{
    uint32_t unit = expect->offset / 2;
    assert_true(i < d->insns.len);
    assert_int_equal(d->insns.data[i].unit, unit);
    assert_string_equal(d->code.version->names[d->code.bytes[expect->offset]], expect->opcode);
    uint32_t end = i;
    while (end < d->insns.len && d->insns.data[end].unit == unit)
        end++;
    bool has_target = false;
    for (uint32_t k = i; k < end; k++) {
        const struct fe_insn *insn = &d->insns.data[k];
        switch (fe_op_row(insn->op)->operand) {
        case FE_OPERAND_TARGET: {
            uint32_t to = d->insns.data[insn->target].unit * 2;
            assert_true(expect->target >= 0);
            has_target = true;
            while (to > (uint32_t)expect->target) { /* prefixes before the opcode */
                to -= 2;
                assert_string_equal(d->code.version->names[d->code.bytes[to]], "EXTENDED_ARG");
            }
            assert_int_equal(to, expect->target);
            break;
        }
        case FE_OPERAND_LOCAL:
            if (is_superinstruction(expect->opcode))
                assert_int_equal(insn->arg, k == i ? expect->arg >> 4 : expect->arg & 15);
            else
                assert_int_equal(insn->arg, expect->arg);
            break;
        case FE_OPERAND_CONST: assert_int_equal(insn->arg, expect->arg); break;
        default: break;
        }
    }
    assert_int_equal(has_target, expect->target >= 0 && d->insns.data[i].op != FE_OP_BAD);
    return end;
}

static void
check_decode(const struct fe_fixture *fixture, const struct fe_fixture_function *function)
{
    struct decoded d;
    (void)fixture;
    decode(&d, function);
    uint32_t i = 0;
    for (uint32_t k = 0; k < function->expects.len; k++)
        i = check_opcode(&d, &function->expects.data[k], i);
    assert_int_equal(i, d.insns.len);
    decode_finish(&d);
}

static uint32_t n_tables;

/* The location table gives what co_positions() listed in that version, and no more when it is
 * cut. */
static void
check_positions(const struct fe_fixture *fixture, const struct fe_fixture_function *function)
{
    struct decoded d;
    (void)fixture;
    assert_non_null(function->table);
    n_tables++;
    decode(&d, function);
    uint32_t n = d.code.n_positions;
    struct fe_position *read = SP_NEW_N(&d.arena, struct fe_position, n + 1);
    assert_int_equal(
        fe_positions_read(function->table, function->table_B, d.code.first_line, n + 1, read), n);
    assert_memory_equal(read, d.code.positions, n * sizeof *read);
    for (uint32_t cut = 0; cut < function->table_B; cut++) {
        uint8_t *part = malloc(cut + 1); /* its end is where the allocation's is */
        assert_non_null(part);
        memcpy(part + 1, function->table, cut);
        uint32_t m = fe_positions_read(part + 1, cut, d.code.first_line, n, read);
        assert_true(m < n);
        assert_memory_equal(read, d.code.positions, m * sizeof *read);
        free(part);
    }
    decode_finish(&d);
}

static void
test_location_tables(void **state)
{
    (void)state;
    n_tables = 0;
    for_each_function(check_positions);
    assert_true(n_tables > (uint32_t)(N_FUNCTIONS * n_files));
}

static void
test_decode_agrees_with_dis(void **state)
{
    (void)state;
    for_each_function(check_decode);
}

/* `a` dominates `b`: without a, b cannot be reached. */
static bool
dominates(const struct fe_cfg *cfg, uint32_t a, uint32_t b)
{
    bool *seen = calloc(cfg->n, sizeof *seen);
    uint32_t *todo = calloc(cfg->n + 1, sizeof *todo), n = 0;
    assert_true(seen && todo);
    if (a != 0) {
        seen[0] = true;
        todo[n++] = 0;
    }
    while (n) {
        const struct fe_block *block = &cfg->blocks[todo[--n]];
        for (uint32_t k = 0; k < block->n_succ; k++)
            if (block->succ[k] != a && !seen[block->succ[k]]) {
                seen[block->succ[k]] = true;
                todo[n++] = block->succ[k];
            }
    }
    bool result = !seen[b];
    free(seen);
    free(todo);
    return result;
}

static void
check_cfg(const struct fe_fixture *fixture, const struct fe_fixture_function *function)
{
    struct decoded d;
    struct fe_cfg cfg;
    (void)fixture;
    decode(&d, function);
    assert_true(fe_cfg_make(&d.code, &d.insns, &d.arena, &cfg, &d.diag));
    assert_true(cfg.n > 0);
    uint32_t n_edges = 0, n_preds = 0;
    for (uint32_t b = 0; b < cfg.n; b++) {
        const struct fe_block *block = &cfg.blocks[b];
        assert_true(block->first <= block->last && block->last < d.insns.len);
        n_edges += block->n_succ;
        n_preds += block->n_preds;
        if (b) {
            assert_true(block->n_preds > 0);
            assert_true(block->idom < b && dominates(&cfg, block->idom, b));
        }
        for (uint32_t k = 0; k < block->n_succ; k++) {
            assert_true(block->succ[k] < cfg.n);
            if (block->succ[k] <= b) /* backwards: a loop */
                assert_true(cfg.blocks[block->succ[k]].is_loop &&
                            dominates(&cfg, block->succ[k], b));
        }
        for (uint32_t other = 0; other < cfg.n; other++)
            assert_true(other == b || cfg.blocks[other].first > block->last ||
                        cfg.blocks[other].last < block->first);
    }
    assert_int_equal(n_edges, n_preds);
    decode_finish(&d);
}

static void
test_blocks(void **state)
{
    (void)state;
    for_each_function(check_cfg);
}

static struct ir_module *
read_function(const struct fe_fixture *fixture, const char *name, struct sp_arena *arena)
{
    struct sp_diag diag;
    struct ir_module *module;
    const struct fe_fixture_function *function = fe_fixture_find(fixture, name);
    sp_diag_init(&diag);
    assert_non_null(function);
    if (!fe_read(arena, &fixture->resolver, function, NULL, &module, &diag) ||
        !ir_verify(module, &diag)) {
        print_error("%s: %s\n", name, diag.message);
        fail();
    }
    return module;
}

static void
check_read(const struct fe_fixture *fixture, const struct fe_fixture_function *function)
{
    struct sp_arena arena;
    struct sp_str text, again;
    struct sp_diag diag;
    struct ir_module *module, *second, *parsed;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    sp_str_init(&text);
    sp_str_init(&again);
    if (function->code.flags & FE_CO_GENERATOR) {
        assert_false(fe_read(&arena, &fixture->resolver, function, NULL, &module, &diag));
        assert_int_equal(diag.code, SP_E_NYI_CONSTRUCT);
        sp_diag_finish(&diag);
    } else {
        module = read_function(fixture, function->name, &arena);
        second = read_function(fixture, function->name, &arena);
        assert_memory_equal(&module->hash, &second->hash, sizeof module->hash);
        ir_print(module, &text);
        assert_true(ir_parse(text.data, &arena, &parsed, &diag));
        ir_print(parsed, &again);
        assert_string_equal(text.data, again.data);
        ir_module_finish(parsed);
        ir_module_finish(second);
        ir_module_finish(module);
    }
    sp_str_finish(&text);
    sp_str_finish(&again);
    sp_arena_finish(&arena);
}

static void
test_read(void **state)
{
    (void)state;
    for_each_function(check_read);
}

/* What kernels may not use, in a user's words, the same in every version. */
static const struct {
    const char *function, *message;
} constructs[] = {
    {"listc", "a list comprehension cannot be used in a kernel"},
    {"tryx", "a try statement cannot be used in a kernel"},
    {"withx", "a with statement cannot be used in a kernel"},
    {"raises", NULL},
    {"asserts", NULL},
    {"starcall", NULL},
    {"dell", NULL},
    {"outer", NULL},
    {"lam", NULL},
    {"k_closure", NULL},
    {"varargs", NULL},
    {"starcalls", NULL},
    {"setlit", "a set cannot be used in a kernel"},
    {"glob", "assignment to a global variable cannot be used in a kernel"},
    {"printx", NULL},
    {"complexl", NULL},
};

static void
test_constructs(void **state)
{
    (void)state;
    for (int i = 0; i < n_files; i++) {
        struct sp_arena arena;
        sp_arena_init(&arena);
        const struct fe_fixture *fixture = load_fixture(files[i], &arena);
        for (size_t k = 0; k < sizeof constructs / sizeof *constructs; k++) {
            struct ir_module *module = read_function(fixture, constructs[k].function, &arena);
            const struct ir_func *func = module->funcs.data[0];
            if (!constructs[k].message) {
                assert_int_equal(func->errors.len, 0);
            } else {
                assert_true(func->errors.len > 0);
                assert_string_equal(func->errors.data[0].message, constructs[k].message);
                assert_true(func->errors.data[0].where.line > 0);
            }
            ir_module_finish(module);
        }
        sp_arena_finish(&arena);
    }
}

/* Functions that use nothing forbidden have no error in any version. */
static void
test_no_errors(void **state)
{
    static const char *const names[] = {
        "saxpy",     "loop_range", "while_loop", "while_true", "forelse",  "andor",
        "andval",    "ternary",    "chain",      "notin",      "notv",     "isnone",
        "md",        "augsub",     "attr",       "consts",     "retnone",  "kwcall",
        "kwmeth",    "meth",       "swap",       "rot3",       "unpack",   "negpos",
        "slicing",   "storeslice", "constslice", "walrus",     "deflocal", "ann",
        "matchx",    "pow_",       "cmps",       "nested",     "tuplefor", "iterfor",
        "dbl",       "setattrs",   "lenx",       "minmax",     "strc",     "passx",
        "retconst",  "emptyret",   "many",       "k_matmul",   "k_mandel", "k_stencil",
        "k_hist",    "k_nestret",  "k_struct",   "k_boolval",  "k_slice",  "k_whileelse",
        "k_augattr", "k_star",     "k_in",       "k_neg",      "k_big",
    };
    (void)state;
    for (int i = 0; i < n_files; i++) {
        struct sp_arena arena;
        sp_arena_init(&arena);
        const struct fe_fixture *fixture = load_fixture(files[i], &arena);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            struct ir_module *module = read_function(fixture, names[k], &arena);
            if (module->funcs.data[0]->errors.len) {
                print_error("%s: %s\n", names[k], module->funcs.data[0]->errors.data[0].message);
                fail();
            }
            ir_module_finish(module);
        }
        sp_arena_finish(&arena);
    }
}

/* The same source gives the same function, whatever the version: straight-line code to the
 * letter. */
static void
test_versions_agree(void **state)
{
    static const char *const names[] = {"swap", "rot3",   "unpack", "negpos", "pow_", "md",
                                        "cmps", "augsub", "many",   "minmax", "meth", "kwcall"};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct sp_digest first;
        for (int i = 0; i < n_files; i++) {
            struct sp_arena arena;
            sp_arena_init(&arena);
            const struct fe_fixture *fixture = load_fixture(files[i], &arena);
            struct ir_module *module = read_function(fixture, names[k], &arena);
            const struct ir_func *func = module->funcs.data[0];
            struct sp_hash hash;
            sp_hash_init(&hash);
            for (uint32_t n = 0; n < func->blocks.data[0].insns.len; n++) {
                ir_ref ref = func->blocks.data[0].insns.data[n];
                struct sp_str text;
                sp_str_init(&text);
                /* constants are made where they are loaded, which 3.14 orders differently */
                if (ir_insn(func, ref)->op != IR_CONST)
                    sp_str_add(&text, ir_op_row(ir_insn(func, ref)->op)->name);
                if (ir_insn(func, ref)->op == IR_BIN || ir_insn(func, ref)->op == IR_CMP)
                    sp_str_printf(&text, " %u", ir_insn(func, ref)->imm);
                sp_hash_add(&hash, text.data, text.len);
                sp_str_finish(&text);
            }
            struct sp_digest digest = sp_hash_end(&hash);
            if (i == 0)
                first = digest;
            assert_memory_equal(&first, &digest, sizeof digest);
            ir_module_finish(module);
            sp_arena_finish(&arena);
        }
    }
}

/* ---- Hand-made code of 3.11 ---- */

struct hand_made {
    struct sp_arena arena;
    const struct fe_fixture *fixture;
    SP_VEC(uint8_t) bytes;
};

static void
put(struct hand_made *h, const char *opcode, unsigned arg)
{
    for (unsigned number = 0; number < 256; number++) {
        const char *name = h->fixture->version.names[number];
        if (!name || strcmp(name, opcode) != 0)
            continue;
        sp_vec_push(&h->arena, &h->bytes, (uint8_t)number);
        sp_vec_push(&h->arena, &h->bytes, (uint8_t)arg);
        return;
    }
    fail();
}

static void
hand_made_init(struct hand_made *h)
{
    memset(h, 0, sizeof *h);
    sp_arena_init(&h->arena);
    h->fixture = load_fixture(files[0], &h->arena);
    put(h, "RESUME", 0);
}

/* Reads it as the function of three locals `dbl(a)` and gives the error's code, or SP_OK. */
static enum sp_error
hand_made_read(struct hand_made *h)
{
    struct fe_fixture_function function = *fe_fixture_find(h->fixture, "dbl");
    struct sp_diag diag;
    struct ir_module *module;
    function.code.bytes = h->bytes.data;
    function.code.size_B = h->bytes.len;
    sp_diag_init(&diag);
    if (fe_read(&h->arena, &h->fixture->resolver, &function, NULL, &module, &diag)) {
        assert_true(ir_verify(module, &diag));
        ir_module_finish(module);
    }
    enum sp_error code = diag.code;
    sp_diag_finish(&diag);
    sp_arena_finish(&h->arena);
    return code;
}

static void
put_return(struct hand_made *h)
{
    put(h, "LOAD_FAST", 0);
    put(h, "RETURN_VALUE", 0);
}

static void
test_large_code(void **state)
{
    struct hand_made h;
    (void)state;
    hand_made_init(&h);
    for (int i = 0; i < 500000; i++)
        put(&h, "NOP", 0);
    put_return(&h);
    assert_int_equal(hand_made_read(&h), SP_OK);
    hand_made_init(&h); /* loops in loops in loops: every jump goes back into the one before */
    for (int i = 0; i < 14000; i++) {
        put(&h, "NOP", 0);
        put(&h, "LOAD_FAST", 0);
        put(&h, "POP_JUMP_BACKWARD_IF_TRUE", i ? 6 : 3);
    }
    put(&h, "LOAD_FAST", 0);
    put(&h, "STORE_FAST", 0);
    put_return(&h);
    assert_int_equal(hand_made_read(&h), SP_OK);
    hand_made_init(&h);
    for (int i = 0; i < 600000; i++)
        put(&h, "NOP", 0);
    assert_int_equal(hand_made_read(&h), SP_E_BAD_CODE);
}

static void
test_magic_numbers(void **state)
{
    static const struct {
        unsigned minor, magic;
    } known[] = {{11, 3495}, {12, 3531}, {13, 3571}, {14, 3627}, {15, 3666}};
    (void)state;
    struct sp_diag diag;
    sp_diag_init(&diag);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(fe_version_check(3, known[i].minor, known[i].magic, &diag));
    static const unsigned unknown[][3] = {{3, 10, 3439}, {3, 11, 3531}, {3, 13, 3572},
                                          {3, 16, 3700}, {4, 11, 3495}, {3, 12, 0}};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char message[120];
        assert_false(fe_version_check(unknown[i][0], unknown[i][1], unknown[i][2], &diag));
        assert_int_equal(diag.code, SP_E_BAD_MAGIC);
        snprintf(message, sizeof message,
                 "Python's bytecode version %u is not known; known are CPython 3.11 to 3.15",
                 unknown[i][2]);
        assert_string_equal(diag.message, message);
        sp_diag_finish(&diag);
    }
}

static void
test_bad_code(void **state)
{
    static const struct {
        const char *opcodes[8];
        unsigned args[8];
    } bad[] = {
        {{"POP_TOP"}, {0}},                      /* nothing on the stack */
        {{"LOAD_FAST"}, {200}},                  /* no such variable */
        {{"LOAD_CONST"}, {200}},                 /* no such constant */
        {{"LOAD_GLOBAL"}, {200}},                /* no such name */
        {{"LOAD_FAST"}, {0}},                    /* runs past its end */
        {{"JUMP_FORWARD"}, {100}},               /* to outside */
        {{"EXTENDED_ARG"}, {1}},                 /* within an instruction */
        {{"COPY", "RETURN_VALUE"}, {0, 0}},      /* the zeroth value */
        {{"PUSH_NULL", "RETURN_VALUE"}, {0, 0}}, /* no value */
        {{"LOAD_FAST", "LOAD_FAST", "COMPARE_OP", "RETURN_VALUE"}, {0, 0, 9, 0}},
        {{"LOAD_FAST", "LOAD_FAST", "BINARY_OP", "RETURN_VALUE"}, {0, 0, 26, 0}},
        {{"BEFORE_WITH", "JUMP_FORWARD"}, {0, 255}}, /* bad even where never reached */
        /* depths that disagree */
        {{"LOAD_FAST", "POP_JUMP_FORWARD_IF_TRUE", "LOAD_FAST", "LOAD_FAST", "RETURN_VALUE"},
         {0, 1, 0, 0, 0}},
        /* into the middle of a loop */
        {{"LOAD_FAST", "POP_JUMP_FORWARD_IF_TRUE", "NOP", "NOP", "LOAD_FAST",
          "POP_JUMP_BACKWARD_IF_TRUE", "LOAD_FAST", "RETURN_VALUE"},
         {0, 1, 0, 0, 0, 4, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hand_made h;
        hand_made_init(&h);
        for (int k = 0; k < 8 && bad[i].opcodes[k]; k++)
            put(&h, bad[i].opcodes[k], bad[i].args[k]);
        enum sp_error code = hand_made_read(&h);
        if (code != SP_E_BAD_CODE) {
            print_error("case %zu gives %s\n", i, sp_error_name(code));
            fail();
        }
    }
}

int
main(int argc, char **argv)
{
    n_files = argc - 1;
    files = argv + 1;
    if (n_files == 0) {
        fprintf(stderr, "usage: %s FIXTURE...\n", argv[0]);
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_agrees_with_dis),
        cmocka_unit_test(test_location_tables),
        cmocka_unit_test(test_magic_numbers),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_constructs),
        cmocka_unit_test(test_no_errors),
        cmocka_unit_test(test_versions_agree),
        cmocka_unit_test(test_large_code),
        cmocka_unit_test(test_bad_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
