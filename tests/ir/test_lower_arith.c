/* Operators on all pairs of types over edge values, against tables made by Python's ints and
 * NumPy's floats (write_lower_tables.py). GPUJIT_ROWS="OP A B" prints the results behind a row. */
#include "tests/support/check.h"

#include "tests/ir/lowered.h"
#include "tests/ir/lower_values.h"

enum form { FORM_BINARY, FORM_UNARY, FORM_CAST, FORM_POWER };
struct row {
    enum form form;
    const char *op, *a, *b, *type;
    uint64_t hash;
    int k;
};
static const struct row rows[] = {
#define VALUES(type, n, ...)
#define BINARY(op, a, b, type, hash) {FORM_BINARY, op, a, b, type, hash, 0},
#define UNARY(op, a, type, hash) {FORM_UNARY, op, a, NULL, type, hash, 0},
#define CAST(a, type, hash) {FORM_CAST, "cast", a, NULL, type, hash, 0},
#define POWER(a, k, type, hash) {FORM_POWER, "power", a, NULL, type, hash, k},
#include "tests/ir/lower_tables.inc"
};

static const char *
operation(const struct row *row)
{
    static char text[160];
    if (row->form == FORM_CAST)
        snprintf(text, sizeof text, "  %%40 = const dtype %s\n  %%50 = call %%40, %%31\n",
                 row->type);
    else if (row->form == FORM_POWER)
        snprintf(text, sizeof text, "  %%40 = const %d\n  %%50 = bin \"**\" %%31, %%40\n", row->k);
    else if (strcmp(row->op, "abs") == 0)
        snprintf(text, sizeof text,
                 "  %%40 = const intrin builtins.abs\n  %%50 = call %%40, %%31\n");
    else if (row->form == FORM_UNARY)
        snprintf(text, sizeof text, "  %%50 = un \"%s\" %%31\n", row->op);
    else
        snprintf(text, sizeof text, "  %%50 = %s \"%s\" %%31, %%33\n",
                 strchr("<>=!", row->op[0]) && strcmp(row->op, "<<") && strcmp(row->op, ">>")
                     ? "cmp"
                     : "bin",
                 row->op);
    return text;
}

/* for i in range(len(a)): for j in range(len(b)): out[i, j] = A(a[i]) <op> B(b[j]) */
static char *
source_of(struct sp_arena *arena, const struct row *row)
{
    const char *b = row->b ? row->b : "bool";
    return sp_arena_printf(
        arena,
        "module py\n\nfunc @0 \"k\" (\"a\", \"b\", \"out\") {\nb0:\n"
        "  %%1 = param 0\n  %%2 = param 1\n  %%3 = param 2\n"
        "  %%4 = const intrin builtins.range\n  %%5 = const intrin builtins.len\n"
        "  %%6 = call %%5, %%1\n  %%7 = call %%4, %%6\n  %%8 = call %%5, %%2\n  %%9 = call %%4, "
        "%%8\n"
        "  %%10 = const dtype %s\n  %%11 = const dtype %s\n  %%12 = iter %%7\n  jump b1\n"
        "b1 (b0, b5):\n  %%20 = phi %%12, %%21\n  %%22 = more %%20\n  br %%22, b2, b6\n"
        "b2 (b1):\n  %%23 = value %%20\n  %%30 = item %%1, %%23\n  %%31 = call %%10, %%30\n"
        "  %%24 = iter %%9\n  jump b3\n"
        "b3 (b2, b4):\n  %%25 = phi %%24, %%26\n  %%27 = more %%25\n  br %%27, b4, b5\n"
        "b4 (b3):\n  %%28 = value %%25\n  %%32 = item %%2, %%28\n  %%33 = call %%11, %%32\n%s"
        "  %%51 = tuple %%23, %%28\n  setitem %%3, %%51, %%50\n  %%26 = next %%25\n  jump b3\n"
        "b5 (b3):\n  %%21 = next %%20\n  jump b1\n"
        "b6 (b1):\n  %%60 = const None\n  ret %%60\n}\n",
        row->a, b, operation(row));
}

static uint64_t
run_row(const struct row *row, bool optimise, bool print)
{
    static const uint64_t zero = 0;
    static const struct values one = {"bool", 1, &zero};
    const struct values *a = values_of(row->a), *b = row->b ? values_of(row->b) : &one;
    struct sp_arena arena;
    struct lowered t;
    sp_arena_init(&arena);
    const char *signature = sp_arena_printf(&arena, "%s[::1], %s[::1], %s[:, ::1]", storage(row->a),
                                            storage(b->type), storage(row->type));
    lowered_start(&t, source_of(&arena, row), signature,
                  (struct ir_options){.fma = true, .bounds = true});
    assert_string_equal(lowered_type(&t, 50), row->type);
    assert_int_equal(t.written, 4);
    if (optimise)
        lowered_optimise(&t);
    void *a_data = array_of(a), *b_data = array_of(b);
    unsigned size_B = size_of(row->type);
    char *out = malloc((size_t)a->n * b->n * size_B);
    lowered_run(&t, (uint64_t[]){(uintptr_t)a_data, a->n, (uintptr_t)b_data, b->n, (uintptr_t)out,
                                 a->n, b->n});
    uint64_t hash = HASH_START;
    for (uint32_t i = 0; i < a->n * b->n; i++) {
        uint64_t bits = result_bits(out + (size_t)i * size_B, row->type);
        hash = hash_bits(hash, bits);
        if (print)
            printf("%llx %llx %llx\n", (unsigned long long)bits,
                   (unsigned long long)a->bits[i / b->n], (unsigned long long)b->bits[i % b->n]);
    }
    free(a_data);
    free(b_data);
    free(out);
    lowered_end(&t);
    sp_arena_finish(&arena);
    return hash;
}

static void
check_rows(enum form form)
{
    const char *wanted = getenv("GPUJIT_ROWS");
    uint32_t wrong = 0, checked = 0;
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char name[64];
        if (row->form != form)
            continue;
        snprintf(name, sizeof name, "%s %s %s", row->op, row->a, row->b ? row->b : row->type);
        checked++;
        for (int optimise = 0; optimise < 2; optimise++) {
            bool print = wanted && strcmp(wanted, name) == 0;
            if (run_row(row, optimise, print) != row->hash) {
                print_error("wrong: %s (%d)%s\n", name, row->k, optimise ? " after passes" : "");
                wrong++;
            }
        }
    }
    assert_true(checked > 0);
    assert_int_equal(wrong, 0);
}

static void
test_binary(void **state)
{
    (void)state;
    check_rows(FORM_BINARY);
}

static void
test_unary(void **state)
{
    (void)state;
    check_rows(FORM_UNARY);
}

static void
test_casts(void **state)
{
    (void)state;
    check_rows(FORM_CAST);
}

static void
test_constant_powers(void **state)
{
    (void)state;
    check_rows(FORM_POWER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_constant_powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
