/* test_passes: random functions give the same results before and after every pass and pipeline. The
 * interpreter of interp.c is the oracle. A failure names the seed and prints both texts. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/ir/interp.h"
#include "tests/ir/random_core.h"

#define RUNS_PER_MODULE 4
#define MAX_STEPS 200000

static bool
effects(struct ir_module *module)
{
    ir_fill_effects(module);
    return false;
}

static bool
pipeline(struct ir_module *module)
{
    bool changed = ir_opt_inline(module);
    changed |= ir_opt_simplify(module);
    changed |= ir_opt_cse(module);
    changed |= ir_opt_simplify(module);
    changed |= ir_opt_dce(module);
    ir_fill_effects(module);
    return changed;
}

static const struct {
    const char *name;
    bool (*run)(struct ir_module *module);
} passes[] = {
    {"inline", ir_opt_inline}, {"simplify", ir_opt_simplify}, {"cse", ir_opt_cse},
    {"dce", ir_opt_dce},       {"effects", effects},          {"pipeline", pipeline},
};

static char *
text_of(const struct ir_module *module)
{
    struct sp_str text;
    sp_str_init(&text);
    ir_print(module, &text);
    return sp_str_take(&text);
}

static void
must_verify(const struct ir_module *module, uint64_t seed, const char *when)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (ir_verify(module, &diag)) {
        sp_diag_finish(&diag);
        return;
    }
    char *text = text_of(module);
    fprintf(stderr, "seed %llu, after %s: %s\n%s", (unsigned long long)seed, when, diag.message,
            text);
    free(text);
    fail();
}

static void
random_args(struct random_source *random, const struct ir_func *func, uint64_t *args)
{
    for (uint32_t i = 0; i < func->n_params; i++) {
        ir_type type = func->params[i].type;
        uint64_t bits = random_below(random, 2) ? random_next(random) : random_below(random, 4);
        unsigned width = ir_machine_bits(type);
        if (type == IR_T_F32) {
            float value = (float)(int64_t)bits / 16;
            uint32_t low;
            memcpy(&low, &value, 4);
            bits = low;
        } else if (type == IR_T_F64) {
            double value = (double)(int64_t)bits / 16;
            memcpy(&bits, &value, 8);
        } else if (type == IR_T_PTR_GLOBAL) {
            bits = 0;
        } else if (width < 64) {
            bits &= (1ull << width) - 1;
        }
        args[i] = bits;
    }
}

static bool
same_outcome(const struct interp *a, const struct interp *b)
{
    return a->end == b->end && a->n_values == b->n_values && a->site == b->site &&
           memcmp(a->values, b->values, a->n_values * sizeof *a->values) == 0 &&
           memcmp(a->memory, b->memory, sizeof a->memory) == 0;
}

/* Returns how often the pass changed the module. */
static int
check_module(uint64_t seed, size_t pass)
{
    struct sp_arena arena;
    struct interp before[RUNS_PER_MODULE], after;
    uint64_t args[RUNS_PER_MODULE][8];
    struct random_source random = {seed ^ 0x5bd1e995};
    sp_arena_init(&arena);
    struct ir_module *module = random_core(&arena, seed);
    must_verify(module, seed, "generation");
    char *text = text_of(module);
    for (int run = 0; run < RUNS_PER_MODULE; run++) {
        random_args(&random, module->funcs.data[0], args[run]);
        interp_run(&before[run], module, args[run], MAX_STEPS);
        assert_int_not_equal(before[run].end, INTERP_BAD);
    }
    int changed = passes[pass].run(module);
    must_verify(module, seed, passes[pass].name);
    for (int run = 0; run < RUNS_PER_MODULE; run++) {
        if (before[run].end == INTERP_LIMIT)
            continue;
        interp_run(&after, module, args[run], 2 * MAX_STEPS);
        if (same_outcome(&before[run], &after))
            continue;
        char *now = text_of(module);
        fprintf(stderr, "seed %llu, pass %s, run %d: end %d, then %d\n%s\n---\n%s",
                (unsigned long long)seed, passes[pass].name, run, (int)before[run].end,
                (int)after.end, text, now);
        free(now);
        fail();
    }
    free(text);
    ir_module_finish(module);
    sp_arena_finish(&arena);
    return changed;
}

static void
test_random(void **state)
{
    (void)state;
    const char *first = getenv("GPUJIT_TEST_SEED"), *count = getenv("GPUJIT_TEST_COUNT");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    uint64_t n = count ? strtoull(count, NULL, 10) : 2000;
    int changed[sizeof passes / sizeof *passes] = {0};
    for (uint64_t i = 0; i < n; i++)
        for (size_t pass = 0; pass < sizeof passes / sizeof *passes; pass++)
            changed[pass] += check_module(seed + i, pass);
    if (n >= 100)
        for (size_t pass = 0; pass < 4; pass++)
            assert_true(changed[pass] > (int)n / 10); /* the generator gives it work */
}

/* One of a type's special values, or any. */
static uint64_t
special(struct random_source *random, ir_type type)
{
    static const double floats[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    0.5,
                                    -2.5,
                                    1e39,
                                    -3e9,
                                    1e-45,
                                    2147483648.0,
                                    __builtin_inf(),
                                    -__builtin_inf(),
                                    __builtin_nan("")};
    static const uint64_t ints[] = {0, 1, 2, 3, 7, 8};
    uint64_t bits = random_next(random);
    unsigned width = ir_machine_bits(type);
    if (type == IR_T_F32 || type == IR_T_F64) {
        double value = floats[random_below(random, 13)];
        float low = (float)value;
        memcpy(&bits, &value, 8);
        if (type == IR_T_F32) {
            bits = 0;
            memcpy(&bits, &low, 4);
        }
        return bits;
    }
    if (random_below(random, 2))
        bits = ints[random_below(random, 6)];
    if (random_below(random, 3) == 0) /* from the other end, and the middle */
        bits = random_below(random, 2) ? 0 - bits : (1ull << (width - 1)) - (bits & 1);
    return width < 64 ? bits & ((1ull << width) - 1) : bits;
}

/* Folding and identities: small expressions, all results seen, on special values. */
static void
test_expressions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct sp_arena arena;
        struct interp before, after;
        struct random_source random = {seed};
        uint64_t args[12][7];
        sp_arena_init(&arena);
        struct ir_module *plain = random_expressions(&arena, seed, 64);
        struct ir_module *module = random_expressions(&arena, seed, 64);
        must_verify(plain, seed, "generation");
        pipeline(module);
        must_verify(module, seed, "pipeline");
        for (int run = 0; run < 12; run++) {
            for (uint32_t i = 0; i < 7; i++)
                args[run][i] = special(&random, module->funcs.data[0]->params[i].type);
            interp_run(&before, plain, args[run], MAX_STEPS);
            interp_run(&after, module, args[run], MAX_STEPS);
            assert_int_equal(before.end, INTERP_RET);
            for (uint32_t i = 0; i < 64; i++)
                if (before.values[i] != after.values[i]) {
                    char *text = text_of(plain), *now = text_of(module);
                    fprintf(stderr, "seed %llu: result %u is %llx, then %llx\n%s\n---\n%s",
                            (unsigned long long)seed, i, (unsigned long long)before.values[i],
                            (unsigned long long)after.values[i], text, now);
                    free(text);
                    free(now);
                    fail();
                }
        }
        ir_module_finish(plain);
        ir_module_finish(module);
        sp_arena_finish(&arena);
    }
}

/* A pass that ran to its end finds nothing more. */
static void
test_settles(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 500; seed++) {
        struct sp_arena arena;
        sp_arena_init(&arena);
        struct ir_module *module = random_core(&arena, seed);
        ir_opt_dce(module);
        assert_false(ir_opt_dce(module));
        ir_opt_cse(module);
        assert_false(ir_opt_cse(module));
        for (int i = 0; i < 4 && ir_opt_simplify(module); i++)
            assert_true(i < 3);
        ir_module_finish(module);
        sp_arena_finish(&arena);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
