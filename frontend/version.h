/* Private to version.c and decode.c: rows of pyver.def. */
#ifndef FE_VERSION_H
#define FE_VERSION_H

#include "frontend/code.h"

enum fe_rule {
    FE_RULE_ARG,
    FE_RULE_VALUE,
    FE_RULE_SHIFT,
    FE_RULE_FORWARD,
    FE_RULE_BACKWARD,
    FE_RULE_EXTENDED,
    FE_RULE_LOAD_LOAD,
    FE_RULE_STORE_LOAD,
    FE_RULE_STORE_STORE,
    FE_RULE_GLOBAL_BELOW,
    FE_RULE_GLOBAL_ABOVE,
    FE_RULE_COMPREHENSION,
    FE_RULE_COMMON,
    FE_RULE_ATTR_BELOW,
    FE_RULE_ATTR_ABOVE,
    FE_RULE_METHOD,
    FE_RULE_SLICE_THEN,
    FE_RULE_BINARY,
    FE_RULE_INTRINSIC_1,
    FE_RULE_OR_POP,
    FE_RULE_ITER_PAIR,
    FE_RULE_RETURN_CONST,
    FE_RULE_FUNCTION,
    FE_RULE_MAP,
    FE_RULE_FORMAT,
    FE_RULE_NYI
};

struct fe_version_row {
    const char *opcode;
    uint8_t since, until;
    uint8_t rule; /* enum fe_rule */
    uint8_t op;   /* enum fe_op */
    uint16_t value;
};
extern const struct fe_version_row fe_version_rows[];
extern const unsigned fe_n_version_rows;

#endif
