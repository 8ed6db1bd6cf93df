/* IR text through the passes: what the verifier accepts, each pass must leave valid, and its print
 * must read back as itself. The byte in the middle chooses which pass comes first. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static bool
effects(struct ir_module *module)
{
    ir_fill_effects(module);
    return false;
}

static bool (*const passes[])(struct ir_module *module) = {
    ir_opt_inline, ir_opt_simplify, ir_opt_cse, ir_opt_dce, effects,
};
#define N_PASSES (sizeof passes / sizeof *passes)

static void
fail(const char *what, const struct sp_diag *diag, const struct ir_module *module)
{
    struct sp_str text;
    sp_str_init(&text);
    ir_print(module, &text);
    fprintf(stderr, "%s: %s\n%s", what, diag && diag->message ? diag->message : "", text.data);
    abort();
}

static void
check_print(const struct ir_module *module, struct sp_arena *arena, struct sp_diag *diag)
{
    struct ir_module *again;
    struct sp_str first, second;
    sp_str_init(&first);
    sp_str_init(&second);
    ir_print(module, &first);
    if (!ir_parse(first.data, arena, &again, diag) || !ir_verify(again, diag))
        fail("what was printed does not read back", diag, module);
    ir_print(again, &second);
    if (strcmp(first.data, second.data) != 0)
        fail("what was printed reads back as something else", NULL, module);
    ir_module_finish(again);
    sp_str_finish(&first);
    sp_str_finish(&second);
}

static void
check_text(const char *text, unsigned order)
{
    struct sp_arena arena;
    struct ir_module *module;
    struct sp_diag diag;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    if (ir_parse(text, &arena, &module, &diag)) {
        if (ir_verify(module, &diag)) {
            check_print(module, &arena, &diag);
            for (unsigned i = 0; module->phase == IR_PHASE_CORE && i < N_PASSES; i++) {
                passes[(i + order) % N_PASSES](module);
                if (!ir_verify(module, &diag))
                    fail("a pass left an invalid module", &diag, module);
            }
            check_print(module, &arena, &diag);
        } else if (diag.code == SP_OK) {
            fail("invalid without a diagnostic", NULL, module);
        }
        ir_module_finish(module);
    } else if (diag.code == SP_OK) {
        abort();
    }
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_str_add_n(&text, bytes, size_B);
    check_text(text.data, size_B ? bytes[size_B / 2] : 0);
    sp_str_finish(&text);
    return 0;
}
