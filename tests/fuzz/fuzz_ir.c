/* IR text: any bytes are parsed or refused with a diagnostic; what the verifier accepts prints as
 * text that reads back as the same. Lines that begin with `;` are notes of golden tests. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static void
fail(const char *what, const struct sp_diag *diag)
{
    fprintf(stderr, "%s: %s\n", what, diag && diag->message ? diag->message : "");
    abort();
}

static void
check_again(const char *text, struct sp_arena *arena)
{
    struct ir_module *module;
    struct sp_diag diag;
    struct sp_str again;
    sp_diag_init(&diag);
    sp_str_init(&again);
    if (!ir_parse(text, arena, &module, &diag))
        fail("what was printed does not parse", &diag);
    ir_print(module, &again);
    if (strcmp(text, again.data))
        fail("what was printed reads back as something else", NULL);
    ir_module_finish(module);
    sp_str_finish(&again);
}

static void
check_text(const char *text)
{
    struct sp_arena arena;
    struct ir_module *module;
    struct sp_diag diag;
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    if (!ir_parse(text, &arena, &module, &diag)) {
        if (diag.code == SP_OK)
            fail("refused without a diagnostic", NULL);
    } else {
        if (ir_verify(module, &diag)) {
            struct sp_str printed;
            sp_str_init(&printed);
            ir_print(module, &printed);
            check_again(printed.data, &arena);
            sp_str_finish(&printed);
        } else if (diag.code == SP_OK) {
            fail("invalid without a diagnostic", NULL);
        }
        ir_module_finish(module);
    }
    sp_diag_finish(&diag);
    sp_arena_finish(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct sp_str text;
    sp_str_init(&text);
    for (size_t i = 0; i < size_B;) {
        const uint8_t *end = memchr(bytes + i, '\n', size_B - i);
        const size_t len = end ? (size_t)(end - bytes) + 1 - i : size_B - i;
        if (bytes[i] != ';')
            sp_str_add_n(&text, bytes + i, len);
        i += len;
    }
    check_text(text.data);
    sp_str_finish(&text);
    return 0;
}
