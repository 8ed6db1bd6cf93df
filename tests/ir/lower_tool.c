/* lower_tool: IR text of phase PY in, CORE text out, for the golden tests of lowering: parse,
 * infer, lower, verify, print, and which arguments may be written.
 *
 *     lower_tool [-fma] [-bounds] [-poll] SIGNATURE FILE | -
 *
 * An error is printed and the exit code is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/infer.h"
#include "ir/ir.h"
#include "tests/support/read.h"

static bool
lower_text(struct ir_ctx *ctx, const char *signature, const char *source, struct sp_str *out)
{
    struct ir_module *module, *core;
    struct ir_argtype *args;
    uint32_t n_args;
    struct ir_typed *typed;
    uint64_t written;
    if (!ir_parse(source, ctx->arena, &module, ctx->diag))
        return false;
    struct ir_module *fork = ir_module_fork(module, ctx->arena);
    bool ok = ir_verify(module, ctx->diag) &&
              ir_signature_parse(signature, ctx->arena, &args, &n_args, ctx->diag) &&
              ir_infer(ctx, fork, args, n_args, &typed) && ir_lower(ctx, typed, &core, &written);
    if (ok) {
        ir_print(core, out);
        sp_str_printf(out, "written %llx\n", (unsigned long long)written);
        ok = ir_verify(core, ctx->diag);
        ir_module_finish(core);
    }
    ir_module_finish(fork);
    ir_module_finish(module);
    return ok;
}

int
main(int argc, char **argv)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct sp_str source, out;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    sp_str_init(&source);
    sp_str_init(&out);
    struct ir_ctx ctx = {.arena = &arena, .diag = &diag};
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        ctx.options.fma |= strcmp(argv[i], "-fma") == 0;
        ctx.options.check |= strcmp(argv[i], "-check") == 0;
        ctx.options.bounds |= strcmp(argv[i], "-bounds") == 0;
        ctx.options.poll |= strcmp(argv[i], "-poll") == 0;
    }
    if (argc - i != 2) {
        fprintf(stderr, "lower_tool [-fma] [-bounds] [-poll] SIGNATURE FILE\n");
        return 2;
    }
    read_all(argv[i + 1], &source);
    bool ok = lower_text(&ctx, argv[i], source.data, &out);
    fputs(out.data ? out.data : "", stdout);
    if (!ok)
        printf("%s: %s\n", sp_error_name(diag.code), diag.message);
    sp_diag_finish(&diag);
    sp_str_finish(&source);
    sp_str_finish(&out);
    sp_arena_finish(&arena);
    return ok ? 0 : 1;
}
