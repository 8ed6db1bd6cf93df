/* load: a fixture file, whole, into memory; a test without its fixture has nothing to say. */
#include "tests/frontend/load.h"

#include <stdio.h>

const struct fe_fixture *
load_fixture(const char *path, struct sp_arena *arena)
{
    FILE *file = fopen(path, "rb");
    struct sp_str text;
    struct sp_diag diag;
    struct fe_fixture *fixture;
    char piece[4096];
    size_t n;
    sp_str_init(&text);
    sp_diag_init(&diag);
    while (file && (n = fread(piece, 1, sizeof piece, file)) > 0)
        sp_str_add_n(&text, piece, n);
    if (file)
        fclose(file);
    if (!file || !fe_fixture_parse(text.data, arena, &fixture, &diag)) {
        fprintf(stderr, "%s: %s\n", path, file ? diag.message : "cannot be opened");
        exit(2);
    }
    sp_str_finish(&text);
    return fixture;
}
