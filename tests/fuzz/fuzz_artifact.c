/* Artifacts as bytes: any bytes are refused or become an artifact that can be used, written and
 * read again as the same bytes. Seeds are mutations of an artifact that this file writes itself:
 * the input's first half says which bytes are changed, the second to what. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/artifact.h"
#include "support/recipe.h"

static char *
copy(const char *text)
{
    return strcpy(sp_alloc(strlen(text) + 1), text);
}

static void
write_seed(struct sp_str *out)
{
    struct artifact *a = sp_artifact_create();
    a->kind = SP_CODE_PTX;
    a->code = copy(".version 8.0");
    a->size_B = 12;
    a->entry = copy("entry");
    a->name = copy("k");
    a->target = copy("sm_90");
    a->n_params = 2;
    a->params = sp_alloc(2 * sizeof *a->params);
    a->params[0] = (struct sp_param){SP_PARAM_DATA, 0, 0, 0, 8};
    a->params[1] = (struct sp_param){SP_PARAM_SCALAR, 0, 1, 8, 4};
    a->params_size_B = 16;
    a->n_arguments = 2;
    a->n_sites = 1;
    a->sites = sp_alloc(sizeof *a->sites);
    a->sites[0] =
        (struct sp_fault_site){.code = SP_E_RAISED, .name = copy("e1:1:E(vint;)"), .n_values = 1};
    a->n_origins = 1;
    a->origins = sp_alloc(sizeof *a->origins);
    a->origins[0] = (struct sp_origin){0, 3};
    a->n_classes = 1;
    a->classes = sp_alloc(sizeof *a->classes);
    a->classes[0] = (struct sp_class_use){1, 7};
    sp_artifact_write(a, out);
    sp_artifact_destroy(a);
}

static bool
same_number(void *context, uint32_t number, uint32_t *number_out)
{
    (void)context;
    *number_out = number;
    return true;
}

static void
check(const void *bytes, size_t size_B)
{
    struct artifact *a;
    if (!sp_artifact_read(bytes, size_B, &a))
        return;
    for (uint32_t i = 0; i < a->n_params; i++)
        if (a->params[i].offset_B + a->params[i].size_B > a->params_size_B)
            abort();
    for (uint32_t i = 0; i < a->n_sites; i++) {
        struct sp_str text;
        struct sp_diag diag;
        struct sp_fault fault = {.site = i, .values = {1, 2, 3}};
        sp_str_init(&text);
        sp_diag_init(&diag);
        (void)sp_recipe_renumber(a->sites[i].name, same_number, NULL, &text);
        sp_fault_explain(a, &fault, &diag);
        sp_diag_finish(&diag);
        sp_str_finish(&text);
    }
    struct sp_str again;
    struct artifact *b;
    sp_str_init(&again);
    sp_artifact_write(a, &again);
    if (!sp_artifact_read(again.data, again.len, &b)) {
        fprintf(stderr, "what was read and written is not read\n");
        abort();
    }
    sp_artifact_destroy(b);
    sp_artifact_destroy(a);
    sp_str_finish(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct sp_str seed;
    sp_str_init(&seed);
    check(bytes, size_B);
    write_seed(&seed);
    size_t half = size_B / 2 < 6 ? size_B / 2 : 6;
    for (size_t i = 0; i < half; i++)
        seed.data[bytes[i] % seed.len] = (char)bytes[half + i];
    check(seed.data, size_B % 4 ? seed.len : seed.len - size_B % seed.len);
    sp_str_finish(&seed);
    return 0;
}
