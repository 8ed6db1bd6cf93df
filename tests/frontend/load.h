/* For the tests of frontend/: a fixture file in memory. */
#ifndef TESTS_FRONTEND_LOAD_H
#define TESTS_FRONTEND_LOAD_H

#include "frontend/resolve_fixture.h"

/* Ends the process with a message if the file cannot be read. */
const struct fe_fixture *load_fixture(const char *path, struct sp_arena *arena);

#endif
