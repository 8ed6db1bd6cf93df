/* ir_tool: IR text in, IR text out, for the golden tests: parse, verify, run the named passes with
 * a verification behind each, print.
 *
 *     ir_tool [-passes=inline,simplify,cse,dce,effects,spin] [-twice] FILE | -
 *
 * -twice prints, parses and prints once more and wants the same text. A parse or verifier error is
 * printed and the exit code is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/support/read.h"

static bool
run_effects(struct ir_module *module)
{
    ir_fill_effects(module);
    return false;
}

static const struct {
    const char *name;
    bool (*run)(struct ir_module *module);
} passes[] = {
    {"inline", ir_opt_inline}, {"simplify", ir_opt_simplify}, {"cse", ir_opt_cse},
    {"dce", ir_opt_dce},       {"effects", run_effects},      {"spin", ir_opt_spin},
};

static int
fail(struct sp_diag *diag, const char *when)
{
    printf("%s: %s: %s\n", when, sp_error_name(diag->code), diag->message);
    return 1;
}

static bool
run_passes(struct ir_module *module, const char *names, struct sp_diag *diag)
{
    while (*names) {
        size_t len = strcspn(names, ",");
        size_t i = 0;
        while (i < sizeof passes / sizeof *passes &&
               (strlen(passes[i].name) != len || memcmp(passes[i].name, names, len) != 0))
            i++;
        if (i == sizeof passes / sizeof *passes) {
            fprintf(stderr, "ir_tool: no pass '%.*s'\n", (int)len, names);
            exit(2);
        }
        passes[i].run(module);
        if (!ir_verify(module, diag))
            return false;
        names += len + (names[len] == ',');
    }
    return true;
}

static int
run(const char *text, const char *names, bool twice)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct sp_str out;
    struct ir_module *module, *again;
    int status = 0;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    sp_str_init(&out);
    if (!ir_parse(text, &arena, &module, &diag)) {
        status = fail(&diag, "parse");
    } else {
        if (!ir_verify(module, &diag) || !run_passes(module, names, &diag))
            status = fail(&diag, "verify");
        ir_print(module, &out);
        if (!status && twice) {
            struct sp_str second;
            sp_str_init(&second);
            if (!ir_parse(out.data, &arena, &again, &diag)) {
                status = fail(&diag, "second parse");
            } else {
                ir_print(again, &second);
                if (strcmp(out.data, second.data) != 0) {
                    printf("second print differs:\n%s", second.data);
                    status = 1;
                }
                ir_module_finish(again);
            }
            sp_str_finish(&second);
        }
        ir_module_finish(module);
    }
    fputs(out.data, stdout);
    sp_str_finish(&out);
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
    return status;
}

int
main(int argc, char **argv)
{
    const char *names = "";
    const char *path = NULL;
    bool twice = false;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-passes=", 8) == 0)
            names = argv[i] + 8;
        else if (strcmp(argv[i], "-twice") == 0)
            twice = true;
        else
            path = argv[i];
    }
    if (!path) {
        fprintf(stderr, "usage: ir_tool [-passes=NAME,...] [-twice] FILE\n");
        return 2;
    }
    struct sp_str text;
    sp_str_init(&text);
    read_all(path, &text);
    int status = run(text.data, names, twice);
    sp_str_finish(&text);
    return status;
}
