/* load: a fixture file, whole, into memory; a test without its fixture has nothing to say. */
#include "tests/frontend/load.h"

#include "tests/support/read.h"

const struct fe_fixture *
load_fixture(const char *path, struct sp_arena *arena)
{
    struct sp_str text;
    struct sp_diag diag;
    struct fe_fixture *fixture;
    sp_str_init(&text);
    sp_diag_init(&diag);
    read_all(path, &text);
    if (!fe_fixture_parse(text.data, arena, &fixture, &diag)) {
        fprintf(stderr, "%s: %s\n", path, diag.message);
        exit(2);
    }
    sp_str_finish(&text);
    return fixture;
}
