/* Intrinsics made of core operations over edge values, against tables made by Python's math and
 * NumPy (write_lower_functions.py). GPUJIT_ROWS="CALL|A|B" prints the results behind a row. */
#include "tests/support/check.h"

#include "tests/ir/lowered.h"
#include "tests/ir/lower_values.h"

struct row {
    const char *call, *a, *b, *first, *second;
    uint64_t hash;
};
static const struct row rows[] = {
#define FUNCTION(call, a, b, first, second, hash) {call, a, b, first, second, hash},
#include "tests/ir/lower_functions.inc"
};

/* The instructions of a call such as "math.isclose A B rel_tol=0.25": A is %31, B is %33. */
static char *
call_text(struct sp_arena *arena, const struct row *row)
{
    char *words = sp_arena_strdup(arena, row->call), *save = NULL;
    const char *path = strtok_r(words, " ", &save), *consts = "", *args = "", *names = "";
    int number = 70;
    for (char *word = strtok_r(NULL, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        if (strcmp(word, "A") == 0 || strcmp(word, "B") == 0) {
            args = sp_arena_printf(arena, "%s, %%%d", args, *word == 'A' ? 31 : 33);
            continue;
        }
        if (value) {
            *value++ = 0;
            names = sp_arena_printf(arena, "%s%s\"%s\"", names, *names ? ", " : "", word);
        }
        consts =
            sp_arena_printf(arena, "%s  %%%d = const %s\n", consts, number, value ? value : word);
        args = sp_arena_printf(arena, "%s, %%%d", args, number++);
    }
    if (*names)
        names = sp_arena_printf(arena, " (%s%s)", names, strchr(names, ',') ? "" : ",");
    return sp_arena_printf(arena, "%s  %%40 = const intrin %s\n  %%50 = call%s %%40%s\n", consts,
                           path, names, args);
}

/* for i in range(len(a)): for j in range(len(b)): out[i, j] (, out2[i, j]) = f(A(a[i]), B(b[j])) */
static char *
source_of(struct sp_arena *arena, const struct row *row)
{
    bool pair = *row->second;
    return sp_arena_printf(
        arena,
        "module py\n\nfunc @0 \"k\" (\"a\", \"b\", \"out\", \"out2\") {\nb0:\n"
        "  %%1 = param 0\n  %%2 = param 1\n  %%3 = param 2\n  %%13 = param 3\n"
        "  %%4 = const intrin builtins.range\n  %%5 = const intrin builtins.len\n"
        "  %%6 = call %%5, %%1\n  %%7 = call %%4, %%6\n  %%8 = call %%5, %%2\n  %%9 = call %%4, "
        "%%8\n"
        "  %%10 = const dtype %s\n  %%11 = const dtype %s\n  %%12 = iter %%7\n  jump b1\n"
        "b1 (b0, b5):\n  %%20 = phi %%12, %%21\n  %%22 = more %%20\n  br %%22, b2, b6\n"
        "b2 (b1):\n  %%23 = value %%20\n  %%30 = item %%1, %%23\n  %%31 = call %%10, %%30\n"
        "  %%24 = iter %%9\n  jump b3\n"
        "b3 (b2, b4):\n  %%25 = phi %%24, %%26\n  %%27 = more %%25\n  br %%27, b4, b5\n"
        "b4 (b3):\n  %%28 = value %%25\n  %%32 = item %%2, %%28\n  %%33 = call %%11, %%32\n%s"
        "  %%51 = tuple %%23, %%28\n%s  %%26 = next %%25\n  jump b3\n"
        "b5 (b3):\n  %%21 = next %%20\n  jump b1\n"
        "b6 (b1):\n  %%60 = const None\n  ret %%60\n}\n",
        row->a, *row->b ? row->b : "bool", call_text(arena, row),
        pair ? "  %52 = elem 0 %50\n  %53 = elem 1 %50\n  setitem %3, %51, %52\n"
               "  setitem %13, %51, %53\n"
             : "  setitem %3, %51, %50\n");
}

static uint64_t
run_row(const struct row *row, bool optimise, bool print)
{
    static const uint64_t zero = 0;
    static const struct values one = {"bool", 1, &zero};
    bool pair = *row->second;
    const struct values *a = values_of(row->a), *b = *row->b ? values_of(row->b) : &one;
    const char *second = pair ? row->second : "bool";
    struct sp_arena arena;
    struct lowered t;
    sp_arena_init(&arena);
    const char *signature =
        sp_arena_printf(&arena, "%s[::1], %s[::1], %s[:, ::1], %s[:, ::1]", storage(row->a),
                        storage(b->type), storage(row->first), storage(second));
    lowered_start(&t, source_of(&arena, row), signature, (struct ir_options){.bounds = true});
    assert_string_equal(lowered_type(&t, pair ? 52 : 50), row->first);
    if (pair)
        assert_string_equal(lowered_type(&t, 53), row->second);
    if (optimise)
        lowered_optimise(&t);
    void *a_data = array_of(a), *b_data = array_of(b);
    uint32_t n = a->n * b->n;
    char *out = malloc((size_t)n * 8), *out2 = malloc((size_t)n * 8);
    lowered_run(&t, (uint64_t[]){(uintptr_t)a_data, a->n, (uintptr_t)b_data, b->n, (uintptr_t)out,
                                 a->n, b->n, (uintptr_t)out2, a->n, b->n});
    uint64_t hash = HASH_START;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits = result_bits(out + (size_t)i * size_of(row->first), row->first);
        uint64_t more = pair ? result_bits(out2 + (size_t)i * size_of(second), second) : 0;
        hash = hash_bits(hash, bits);
        if (pair)
            hash = hash_bits(hash, more);
        if (print)
            printf("%llx %llx %llx %llx\n", (unsigned long long)bits, (unsigned long long)more,
                   (unsigned long long)a->bits[i / b->n], (unsigned long long)b->bits[i % b->n]);
    }
    free(a_data);
    free(b_data);
    free(out);
    free(out2);
    lowered_end(&t);
    sp_arena_finish(&arena);
    return hash;
}

static void
test_functions(void **state)
{
    (void)state;
    const char *wanted = getenv("GPUJIT_ROWS");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char name[128];
        snprintf(name, sizeof name, "%s|%s|%s", row->call, row->a, *row->b ? row->b : "-");
        for (int optimise = 0; optimise < 2; optimise++) {
            bool print = wanted && strcmp(wanted, name) == 0;
            if (run_row(row, optimise, print) != row->hash) {
                print_error("wrong: %s%s\n", name, optimise ? " after passes" : "");
                wrong++;
            }
        }
    }
    assert_int_equal(wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
