/* Random programs: golden texts with words exchanged. Whatever the parser and the verifier let pass
 * is compiled for a GPU or the host, with or without optimisation; LLVM must not abort and must not
 * find fault with what was emitted.
 *
 *     test_codegen fuzz SECONDS FOLDER [SEED]
 *
 * The seed is printed; the text that fails is printed too. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/codegen/parts.h"

#define MAX_TEXT_B 16384u

static const char *const fuzz_words[] = {
    "i1",         "i8",          "i16",    "i32",
    "i64",        "f32",         "f64",    "ptr.global",
    "ptr.shared", "ptr",         "add",    "mul",
    "sdiv",       "fadd",        "sext",   "zext",
    "trunc",      "bitcast",     "select", "load",
    "store",      "%1",          "%2",     "%3",
    "%4",         "%5",          "%6",     "b0",
    "b1",         "b2",          "0",      "1",
    "-1",         "callf",       "result", "raise",
    "ret",        "jump",        "@0",     "@1",
    "@2",         "unreachable", "poll",   "9223372036854775807",
};

struct fuzz {
    uint64_t state;
    char **texts;
    size_t n_texts;
    unsigned long runs, verified, compiled;
};

/* xorshift64 */
static uint32_t
fuzz_random(struct fuzz *fuzz, uint32_t below)
{
    fuzz->state ^= fuzz->state << 13;
    fuzz->state ^= fuzz->state >> 7;
    fuzz->state ^= fuzz->state << 17;
    return (uint32_t)(fuzz->state >> 11) % below;
}

/* Finds a word of the text: its start and length. */
static size_t
fuzz_pick(struct fuzz *fuzz, const char *text, size_t *len)
{
    size_t at = fuzz_random(fuzz, (uint32_t)strlen(text));
    while (at > 0 && !strchr(" ,\n(", text[at - 1]))
        at--;
    *len = strcspn(text + at, " ,\n)");
    return at;
}

/* A copy of `text` with one to three words replaced by others, its own or ours. */
static char *
fuzz_mutate(struct fuzz *fuzz, const char *text)
{
    char *made = strdup(text);
    for (uint32_t n = 1 + fuzz_random(fuzz, 3); n > 0; n--) {
        size_t old_len, new_len;
        size_t at = fuzz_pick(fuzz, made, &old_len);
        const char *word = made + fuzz_pick(fuzz, made, &new_len);
        if (fuzz_random(fuzz, 2)) {
            word = fuzz_words[fuzz_random(fuzz, sizeof fuzz_words / sizeof *fuzz_words)];
            new_len = strlen(word);
        }
        struct sp_str next;
        sp_str_init(&next);
        sp_str_add_n(&next, made, at);
        sp_str_add_n(&next, word, new_len);
        sp_str_add(&next, made + at + old_len);
        free(made);
        made = sp_str_take(&next);
        sp_str_finish(&next);
    }
    return made;
}

static bool
fuzz_compile(struct fuzz *fuzz, struct cg_state *cg, const char *text)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *core = NULL;
    struct artifact *artifact = NULL;
    struct cg_request request = {0};
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    cg_options_init(&request.options);
    request.options.verify = true;
    request.options.opt_level = fuzz_random(fuzz, 2) ? 3 : 0;
    request.arch = fuzz_random(fuzz, 2) ? (struct cg_arch){75, 63} : (struct cg_arch){0, 0};
    bool ok = ir_parse(text, &arena, &core, &diag) && core->phase == IR_PHASE_CORE &&
              ir_verify(core, &diag);
    if (ok) {
        fuzz->verified++;
        ok = cg_compile_core(cg, core, &request, fuzz_random(fuzz, 2), &artifact, NULL, &diag);
        fuzz->compiled += ok;
    }
    bool good = diag.code != SP_E_LLVM_FAILED;
    if (!good)
        printf("%s\n%s\n", diag.message, text);
    fuzz->runs++;
    sp_artifact_destroy(artifact);
    if (core)
        ir_module_finish(core);
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
    return good;
}

/* The file without the lines that begin with `;`. */
static char *
fuzz_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    char line[4096];
    struct sp_str text;
    sp_str_init(&text);
    while (file && fgets(line, sizeof line, file)) {
        if (line[0] != ';' && text.len < MAX_TEXT_B)
            sp_str_add(&text, line);
    }
    if (file)
        fclose(file);
    char *taken = sp_str_take(&text);
    sp_str_finish(&text);
    return taken;
}

int
fuzz_main(int argc, char **argv)
{
    char pattern[4096];
    glob_t files;
    if (argc < 2)
        return 1;
    snprintf(pattern, sizeof pattern, "%s/*.ir", argv[1]);
    if (glob(pattern, 0, NULL, &files) || !files.gl_pathc)
        return 1;
    time_t begin = time(NULL), seconds = atoi(argv[0]);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)begin;
    struct fuzz fuzz = {.state = seed * 0x9e3779b97f4a7c15u + 1, .n_texts = files.gl_pathc};
    fuzz.texts = sp_alloc(fuzz.n_texts * sizeof *fuzz.texts);
    for (size_t i = 0; i < fuzz.n_texts; i++)
        fuzz.texts[i] = fuzz_read(files.gl_pathv[i]);
    globfree(&files);

    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    struct cg_state *cg = cg_create();
    bool good = true;
    while (good && time(NULL) - begin < seconds) {
        char *text = fuzz_mutate(&fuzz, fuzz.texts[fuzz_random(&fuzz, (uint32_t)fuzz.n_texts)]);
        good = fuzz_compile(&fuzz, cg, text);
        free(text);
    }
    printf("%lu texts, %lu verified, %lu compiled\n", fuzz.runs, fuzz.verified, fuzz.compiled);
    cg_destroy(cg);
    for (size_t i = 0; i < fuzz.n_texts; i++)
        free(fuzz.texts[i]);
    free(fuzz.texts);
    return good && fuzz.verified ? 0 : 1;
}
