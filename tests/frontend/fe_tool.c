/* fe_tool: fixtures through the front end, as text.
 *
 *     fe_tool decode|ssa FIXTURE NAME...     the functions' operations, or modules
 *
 * Exit status 1 and the diagnostic on stderr if one of them cannot be read. */
#include <stdio.h>
#include <string.h>

#include "tests/frontend/load.h"

static bool
tool_decode(const struct fe_fixture_function *function, struct sp_arena *arena, struct sp_str *out,
            struct sp_diag *diag)
{
    struct ir_module *module = ir_module_new(arena, IR_PHASE_PY);
    struct fe_code code;
    bool ok =
        fe_fixture_code(function, arena, module, &code, diag) && fe_print_code(&code, out, diag);
    ir_module_finish(module);
    return ok;
}

static bool
tool_ssa(const struct fe_fixture *fixture, const struct fe_fixture_function *function,
         struct sp_arena *arena, struct sp_str *out, struct sp_diag *diag)
{
    struct ir_module *module;
    if (!fe_read(arena, &fixture->resolver, function, NULL, &module, diag))
        return false;
    ir_print(module, out);
    bool ok = ir_verify(module, diag);
    ir_module_finish(module);
    return ok;
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s decode|ssa FIXTURE NAME...\n", argv[0]);
        return 2;
    }
    struct sp_arena arena;
    struct sp_str out;
    struct sp_diag diag;
    sp_arena_init(&arena);
    sp_str_init(&out);
    sp_diag_init(&diag);
    const struct fe_fixture *fixture = load_fixture(argv[2], &arena);
    int status = 0;
    for (int i = 3; i < argc; i++) {
        const struct fe_fixture_function *function = fe_fixture_find(fixture, argv[i]);
        sp_str_printf(&out, "; %s\n", argv[i]);
        if (function &&
            (!strcmp(argv[1], "decode") ? tool_decode(function, &arena, &out, &diag)
                                        : tool_ssa(fixture, function, &arena, &out, &diag)))
            continue;
        if (!function)
            sp_str_add(&out, "no such function\n");
        else
            sp_diag_print(&diag, NULL, NULL, &out);
        sp_str_add(&out, "\n");
        sp_diag_finish(&diag);
        sp_diag_init(&diag);
        status = function ? status : 1;
    }
    fputs(out.data, stdout);
    sp_str_finish(&out);
    sp_arena_finish(&arena);
    return status;
}
