/* The tool: IR text of either phase in; PTX, LLVM IR, assembly or an object out. For goldens and
 * experiments.
 *
 *     test_codegen tool [--target sm_90] [--emit STAGE|object|params|times]
 *                       [--signature TEXT] [--ptx-cap N] [--NAME=VALUE] [--no-opt] FILE
 *
 * STAGE is a name of stages.def. Text of phase py is compiled for the signature, text of phase core
 * as it is. Lines that begin with `;` are notes (RUN and CHECK lines) and are blanked. Exit status
 * 1 and the diagnostic on stderr if the compiler says no. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codegen/parts.h"

struct tool {
    const char *file, *target, *emit, *signature;
    bool optimise;
    struct cg_request request;
};

static char *
tool_read(const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    if (!file)
        return NULL;
    struct sp_str text;
    sp_str_init(&text);
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        if (line[0] == ';')
            sp_str_add_char(&text, '\n');
        else
            sp_str_add(&text, line);
    }
    if (file != stdin)
        fclose(file);
    char *taken = sp_str_take(&text);
    sp_str_finish(&text);
    return taken;
}

static bool
tool_option(struct tool *t, const char *arg, struct sp_diag *diag)
{
    char name[64];
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    if (len >= sizeof name)
        return sp_diag_set(diag, SP_E_BAD_OPTION, NULL, arg, "there is no such option");
    memcpy(name, arg, len);
    name[len] = 0;
    return cg_option_set_text(&t->request.options, name, equals ? equals + 1 : "1", diag);
}

static bool
tool_arguments(struct tool *t, int argc, char **argv, struct sp_diag *diag)
{
    for (int i = 0; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--target") && more)
            t->target = argv[++i];
        else if (!strcmp(argv[i], "--emit") && more)
            t->emit = argv[++i];
        else if (!strcmp(argv[i], "--signature") && more)
            t->signature = argv[++i];
        else if (!strcmp(argv[i], "--ptx-cap") && more)
            t->request.ptx_cap = (uint16_t)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--no-opt"))
            t->optimise = false;
        else if (strncmp(argv[i], "--", 2))
            t->file = argv[i];
        else if (!tool_option(t, argv[i] + 2, diag))
            return false;
    }
    return true;
}

static void
tool_dump(void *context, enum cg_stage stage, const char *text)
{
    (void)context;
    (void)stage;
    fputs(text, stdout);
}

static void
tool_params(const struct artifact *a)
{
    static const char *const kinds[] = {"scalar", "data", "extent", "stride", "word", "fault"};
    printf("entry %s, %u arguments, %u bytes\n", a->entry, a->n_arguments, a->params_size_B);
    for (uint32_t i = 0; i < a->n_params; i++) {
        const struct sp_param *p = &a->params[i];
        printf("%s argument %u axis %u offset %u size %u\n", kinds[p->kind], p->argument, p->axis,
               p->offset_B, p->size_B);
    }
}

static bool
tool_compile_once(struct tool *t, struct cg_state *state, struct ir_module *module,
                  struct artifact **out, struct cg_times *times, struct sp_diag *diag)
{
    if (module->phase == IR_PHASE_CORE)
        return cg_compile_core(state, module, &t->request, t->optimise, out, times, diag);
    t->request.py = module;
    return cg_compile(state, &t->request, out, times, diag);
}

static bool
tool_compile(struct tool *t, const char *text, struct sp_diag *diag)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct cg_state *state = cg_create();
    struct ir_module *module = NULL;
    struct artifact *artifact = NULL;
    struct ir_argtype *args;
    t->request.dump = (struct cg_dump){cg_dump_mask(t->emit), tool_dump, NULL};
    bool ok =
        cg_target_parse(t->target, &t->request.arch, diag) && ir_parse(text, &arena, &module, diag);
    if (ok && t->signature) {
        ok = ir_signature_parse(t->signature, &arena, &args, &t->request.n_args, diag);
        t->request.args = args;
    }
    struct cg_times times = {0};
    int rounds = strcmp(t->emit, "times") ? 1 : 20;
    for (int i = 0; ok && i < rounds; i++) {
        sp_artifact_destroy(artifact);
        artifact = NULL;
        ok = tool_compile_once(t, state, module, &artifact, &times, diag);
    }
    if (ok && !strcmp(t->emit, "object"))
        fwrite(artifact->code, 1, artifact->size_B, stdout);
    if (ok && !strcmp(t->emit, "params"))
        tool_params(artifact);
    for (int i = 0; ok && rounds > 1 && i < CG_N_STAGES; i++)
        printf("%-6s %8.3f ms\n", cg_stage_name((enum cg_stage)i), (double)times.ns[i] / 1e6);
    sp_artifact_destroy(artifact);
    if (module)
        ir_module_finish(module);
    cg_destroy(state);
    sp_arena_finish(&arena);
    return ok;
}

int
tool_main(int argc, char **argv)
{
    struct tool t = {.target = "sm_80", .emit = "ptx", .optimise = true};
    struct sp_diag diag;
    sp_diag_init(&diag);
    cg_options_init(&t.request.options);
    bool ok = tool_arguments(&t, argc, argv, &diag);
    char *text = ok && t.file ? tool_read(t.file) : NULL;
    if (ok && !text)
        ok = sp_diag_set(&diag, SP_E_BAD_VALUE, NULL, "no file that can be read is given");
    ok = ok && tool_compile(&t, text, &diag);
    if (!ok) {
        struct sp_str message;
        sp_str_init(&message);
        sp_diag_print(&diag, NULL, NULL, &message);
        fprintf(stderr, "%s\n%s\n", sp_error_name(diag.code), message.data);
        sp_str_finish(&message);
    }
    free(text);
    sp_diag_finish(&diag);
    return ok ? 0 : 1;
}
