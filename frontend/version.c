/* version: which row of pyver.def serves which opcode number of one CPython version, and the texts
 * of pyop.def. A version is filled from the outside, name by name, from `opcode.opmap` of the
 * running interpreter or from a fixture's head, so the numbers of opcodes are nowhere in the
 * source. A name without a row stays known by name, for the message of whoever meets it. */
#include "frontend/version.h"

#include <stdio.h>
#include <string.h>

static const struct fe_op_row op_rows[FE_N_OPS] = {
#define FE_PYOP(id, name, operand, meaning) [FE_OP_##id] = {name, FE_OPERAND_##operand},
#include "frontend/pyop.def"
};

static const struct {
    const char *text, *hint;
} construct_rows[FE_N_CONSTRUCTS] = {
#define FE_CONSTRUCT(id, text, hint) [FE_CONSTRUCT_##id] = {text, hint},
#include "frontend/pyop.def"
};

const struct fe_op_row *
fe_op_row(enum fe_op op)
{
    return &op_rows[op];
}

const char *
fe_construct_text(enum fe_construct construct)
{
    return construct_rows[construct].text;
}

const char *
fe_construct_hint(enum fe_construct construct)
{
    return construct_rows[construct].hint;
}

/* The value column means different things: a number, or the name of a construct (rule NYI). */
#define VALUE_ARG(value) 0
#define VALUE_VALUE(value) (value)
#define VALUE_SHIFT(value) (value)
#define VALUE_FORMAT(value) (value)
#define VALUE_FORWARD(value) (value)
#define VALUE_BACKWARD(value) (value)
#define VALUE_EXTENDED(value) 0
#define VALUE_LOAD_LOAD(value) 0
#define VALUE_STORE_LOAD(value) 0
#define VALUE_STORE_STORE(value) 0
#define VALUE_GLOBAL_BELOW(value) 0
#define VALUE_GLOBAL_ABOVE(value) 0
#define VALUE_COMPREHENSION(value) 0
#define VALUE_COMMON(value) (value)
#define VALUE_ATTR_BELOW(value) 0
#define VALUE_ATTR_ABOVE(value) 0
#define VALUE_METHOD(value) 0
#define VALUE_SLICE_THEN(value) 0
#define VALUE_BINARY(value) (value)
#define VALUE_INTRINSIC_1(value) 0
#define VALUE_OR_POP(value) 0
#define VALUE_ITER_PAIR(value) 0
#define VALUE_RETURN_CONST(value) 0
#define VALUE_FUNCTION(value) 0
#define VALUE_LIST(value) 0
#define VALUE_MAP(value) 0
#define VALUE_NYI(value) FE_CONSTRUCT_##value

const struct fe_version_row fe_version_rows[] = {
#define FE_PYVER(opcode, since, until, rule, op, value)                                            \
    {#opcode, since, until, FE_RULE_##rule, FE_OP_##op, VALUE_##rule(value)},
#include "frontend/pyver.def"
};
const unsigned fe_n_version_rows = sizeof fe_version_rows / sizeof *fe_version_rows;

void
fe_version_init(struct fe_version *version, unsigned minor)
{
    memset(version, 0, sizeof *version);
    version->minor = minor;
}

void
fe_version_add(struct fe_version *version, const char *name, unsigned number)
{
    if (number > 255)
        return;
    version->names[number] = name;
    for (unsigned i = 0; i < fe_n_version_rows; i++) {
        const struct fe_version_row *row = &fe_version_rows[i];
        if (version->minor >= row->since && version->minor <= row->until &&
            !strcmp(row->opcode, name)) {
            version->rows[number] = (uint16_t)(i + 1);
            return;
        }
    }
}

static const struct {
    unsigned minor, magic;
} version_magics[] = {
#define FE_PYTHON(minor, magic) {minor, magic},
#include "frontend/pyver.def"
};

bool
fe_version_check(unsigned major, unsigned minor, unsigned magic, struct sp_diag *diag)
{
    size_t n = sizeof version_magics / sizeof *version_magics;
    for (size_t i = 0; i < n; i++)
        if (major == 3 && version_magics[i].minor == minor && version_magics[i].magic == magic)
            return true;
    char known[32];
    snprintf(known, sizeof known, "3.%u to 3.%u", version_magics[0].minor,
             version_magics[n - 1].minor);
    sp_diag_set(diag, SP_E_BAD_MAGIC, NULL, (int)magic, known);
    return sp_diag_hint(diag, "use a released version of these, or a newer gpujit");
}
