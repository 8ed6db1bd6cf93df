/* The resolver's second implementation: functions and names from a text file, without Python. */
#ifndef FE_RESOLVE_FIXTURE_H
#define FE_RESOLVE_FIXTURE_H

#include "frontend/fe.h"

/* What the file says that the decoder must find: one opcode. */
struct fe_fixture_expect {
    uint32_t offset;
    const char *opcode;
    int32_t arg;    /* -1: it has none */
    int32_t target; /* byte offset, or -1 */
};

struct fe_fixture_function {
    const char *name;
    const struct fe_fixture *fixture;
    struct fe_code code;         /* without constants, which belong to a module */
    SP_VEC(const char *) consts; /* as text */
    SP_VEC(struct fe_fixture_expect) expects;
    const uint8_t *table; /* co_linetable, which the positions were made from; NULL: not given */
    uint32_t table_B;
};

struct fe_fixture_name {
    const char *name;  /* "cuda", "m.size" */
    const char *value; /* as text */
};

struct fe_fixture {
    struct sp_arena *arena;
    struct fe_version version;
    SP_VEC(struct fe_fixture_function *) functions;
    SP_VEC(struct fe_fixture_name) names;
    struct fe_resolver resolver;
};

/* Everything is on `arena`. */
SP_MUST_CHECK bool fe_fixture_parse(const char *text, struct sp_arena *arena,
                                    struct fe_fixture **fixture_out, struct sp_diag *diag);
/* For fe_read; NULL if there is none of this name. */
const struct fe_fixture_function *fe_fixture_find(const struct fe_fixture *fixture,
                                                  const char *name);
/* The code with its constants in `module`. */
SP_MUST_CHECK bool fe_fixture_code(const struct fe_fixture_function *function,
                                   struct sp_arena *arena, struct ir_module *module,
                                   struct fe_code *code_out, struct sp_diag *diag);

#endif
