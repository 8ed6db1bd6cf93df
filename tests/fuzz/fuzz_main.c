/* fuzz_main: drives a fuzz target where no fuzzing engine is linked.
 *
 *     target [--seconds N] [--seed S] [FILE...]
 *
 * In: files as seeds; without them inputs are random bytes. Out: nothing, or the crash of the
 * target. Each file is run as it is, then for N seconds mutated copies: bytes set, flipped, moved,
 * removed, doubled, and the tail of another seed put on. The input of a run depends on the seed and
 * its number alone; both are printed by a crash's handler, with the input left in
 * crash-<seed>-<number>. No coverage: an engine finds more, this finds what it finds anywhere. */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_INPUT_B = 1 << 16, MAX_RANDOM_B = 4096, MAX_SEEDS = 4096 };

struct input {
    uint8_t bytes[MAX_INPUT_B];
    size_t size_B;
};

struct seed_file {
    uint8_t *bytes;
    size_t size_B;
};

/* The handler of a crash sees these and nothing else. */
static struct input input;
static unsigned long long seed_number, run_number;

static uint64_t
random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static size_t
random_below(uint64_t *state, size_t n)
{
    return n ? (size_t)(random_next(state) % n) : 0;
}

/* Called by SIGABRT and the like: writes the input away, then lets the signal do its work. */
static void
save_crash(int signal_number)
{
    char name[64];
    snprintf(name, sizeof name, "crash-%llu-%llu", seed_number, run_number);
    FILE *file = fopen(name, "wb");
    if (file) {
        fwrite(input.bytes, 1, input.size_B, file);
        fclose(file);
    }
    fprintf(stderr, "signal %d with seed %llu, run %llu; input of %zu bytes is in %s\n",
            signal_number, seed_number, run_number, input.size_B, name);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void
mutate_once(uint64_t *random, const struct seed_file *other)
{
    const size_t size_B = input.size_B, at = random_below(random, size_B);
    const size_t len = random_below(random, size_B - at < 16 ? size_B - at : 16) + (at < size_B);
    switch (random_next(random) % 6) {
    case 0:
        if (size_B)
            input.bytes[at] = (uint8_t)random_next(random);
        break;
    case 1:
        if (size_B)
            input.bytes[at] ^= (uint8_t)(1u << random_next(random) % 8);
        break;
    case 2: { /* a piece moves elsewhere */
        memmove(input.bytes + random_below(random, size_B - len + 1), input.bytes + at, len);
        break;
    }
    case 3:
        memmove(input.bytes + at, input.bytes + at + len, size_B - at - len);
        input.size_B -= len;
        break;
    case 4:
        if (size_B + len <= MAX_INPUT_B) {
            memmove(input.bytes + at + len, input.bytes + at, size_B - at);
            input.size_B += len;
        }
        break;
    default:
        if (other) {
            const size_t from = random_below(random, other->size_B);
            size_t tail = other->size_B - from;
            if (tail > MAX_INPUT_B - at)
                tail = MAX_INPUT_B - at;
            memcpy(input.bytes + at, other->bytes + from, tail);
            input.size_B = at + tail;
        }
    }
}

static void
make_input(const struct seed_file *seeds, size_t n_seeds)
{
    uint64_t random = seed_number * 0x2545f4914f6cdd1d + run_number;
    if (!n_seeds) {
        input.size_B = random_below(&random, MAX_RANDOM_B);
        for (size_t i = 0; i < input.size_B; i++)
            input.bytes[i] = (uint8_t)random_next(&random);
        return;
    }
    const struct seed_file *seed = &seeds[random_below(&random, n_seeds)];
    input.size_B = seed->size_B;
    memcpy(input.bytes, seed->bytes, seed->size_B);
    for (size_t n = 1 + random_below(&random, 8); n; n--)
        mutate_once(&random, &seeds[random_below(&random, n_seeds)]);
}

/* On its own heap block of the exact size, so that a sanitizer sees a read past the end. */
static void
run_input(void)
{
    uint8_t *copy = malloc(input.size_B ? input.size_B : 1);
    if (!copy)
        exit(1);
    memcpy(copy, input.bytes, input.size_B);
    LLVMFuzzerTestOneInput(copy, input.size_B);
    free(copy);
}

static struct seed_file
read_seed(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (!file) {
        fprintf(stderr, "%s cannot be read\n", name);
        exit(2);
    }
    input.size_B = fread(input.bytes, 1, MAX_INPUT_B, file);
    fclose(file);
    uint8_t *bytes = malloc(input.size_B ? input.size_B : 1);
    if (!bytes)
        exit(1);
    memcpy(bytes, input.bytes, input.size_B);
    return (struct seed_file){bytes, input.size_B};
}

int
main(int argc, char **argv)
{
    static struct seed_file seeds[MAX_SEEDS];
    size_t n_seeds = 0;
    long seconds = 2;
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], save_crash);
    seed_number = (unsigned long long)time(NULL);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds = strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed_number = strtoull(argv[++i], NULL, 10);
        else if (n_seeds < MAX_SEEDS) {
            seeds[n_seeds++] = read_seed(argv[i]);
            run_input();
        }
    }
    const time_t end = time(NULL) + seconds;
    do {
        run_number++;
        make_input(seeds, n_seeds);
        run_input();
    } while (time(NULL) < end);
    printf("seed %llu: %llu runs in %ld s, %zu seed files\n", seed_number, run_number, seconds,
           n_seeds);
    for (size_t i = 0; i < n_seeds; i++)
        free(seeds[i].bytes);
    return 0;
}
