/* tables: the rows of ops.def, types.def and intrin.def as constant arrays, and the look-ups over
 * them.
 *
 * A number is an index into its array. Paths and names are found by a scan that compares lengths
 * first: there are a few hundred of them, each is looked up once per function read, and nothing has
 * to be built at run time. A hash table would need either a generator or mutable state. */
#include "ir/ir.h"

#include <assert.h>
#include <string.h>

/* The words that the flag columns are written in. */
enum {
    PURE = IR_PURE,
    LOAD = IR_F_LOAD,
    STORE = IR_F_STORE,
    ATOMIC = IR_F_ATOMIC,
    TERM = IR_TERM,
    RAISES = IR_RAISES,
    CONVERGENT = IR_CONVERGENT,
    WAITS = IR_WAITS,
};
_Static_assert((PURE | LOAD | STORE | ATOMIC | TERM | RAISES | CONVERGENT | WAITS) == 255,
               "one bit per flag");

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct ir_op_row op_rows[] = {
    [IR_NOP] = {"nop", IR_PHASE_BOTH, IR_RESULT_NONE, 0, 0, "a deleted instruction"},
#define IR_OP(id, name, phase, result, nargs, flags, meaning)                                      \
    [IR_##id] = {name, IR_PHASE_##phase, IR_RESULT_##result, nargs, flags, meaning},
#include "ir/ops.def"
};
_Static_assert(N_OF(op_rows) == IR_N_OPS, "a row per operation");

static const struct ir_scalar_row scalar_rows[] = {
#define IR_SCALAR(id, name, class, bits, weak, typestr, format, dlpack, ptx, machine)              \
    [IR_T_##id - IR_FIRST_SCALAR] = {name,    IR_CLASS_##class, bits, weak,          dlpack,       \
                                     typestr, format,           ptx,  IR_T_##machine},
#include "ir/types.def"
};

struct machine_row {
    const char *name;
    unsigned bits;
};
static const struct machine_row machine_rows[] = {
#define IR_MACHINE(id, name, bits) [IR_T_##id - IR_T_VOID] = {name, bits},
#include "ir/types.def"
};

static const struct ir_intrin_row intrin_rows[] = {
    [IR_INTRIN_NONE] = {"", 0, 0, 0, 0, "", "", 0, 0, ""},
#define IR_INTRIN(id, path, rule, min, max, flags, nv, host, sm, ptx, doc)                         \
    [IR_INTRIN_##id] = {path, IR_RULE_##rule, min, max, flags, nv, host, sm, ptx, doc},
#include "ir/intrin.def"
};
_Static_assert(N_OF(intrin_rows) == IR_N_INTRINS, "a row per intrinsic");

static const char *const intrin_types[IR_N_INTRINS] = {
#define IR_CODE(id, types, code) [IR_INTRIN_##id] = types,
#include "ir/intrin.def"
};

static const struct ir_operator_row operator_rows[IR_N_INTRINS] = {
#define IR_OPERATOR(id, path, op, imm, n, doc) [IR_INTRIN_##id] = {IR_##op, imm},
#include "ir/intrin.def"
};

/* Functions that take keywords: all their parameters. */
static const struct {
    enum ir_intrin id;
    const char *names[6];
} param_rows[] = {
    {IR_INTRIN_ISCLOSE, {"a", "b", "rel_tol", "abs_tol"}},
    {IR_INTRIN_ROUND_, {"number", "ndigits"}},
    {IR_INTRIN_MIN, {"default", "key"}},
    {IR_INTRIN_MAX, {"default", "key"}},
    {IR_INTRIN_POW_, {"base", "exp", "mod"}},
    {IR_INTRIN_SUM, {"iterable", "start"}},
    {IR_INTRIN_ENUMERATE, {"iterable", "start"}},
    {IR_INTRIN_ZIP, {"strict"}},
    {IR_INTRIN_SHARED_ARRAY, {"shape", "dtype", "alignment"}},
    {IR_INTRIN_SYNCWARP, {"mask"}},
    {IR_INTRIN_SHARED_DYNAMIC, {"shape", "dtype"}},
    {IR_INTRIN_LOCAL_ARRAY, {"shape", "dtype", "alignment"}},
    {IR_INTRIN_CONST_ARRAY, {"ary"}},
    {IR_INTRIN_SHFL, {"mask", "value", "lane", "width"}},
    {IR_INTRIN_SHFL_UP, {"mask", "value", "delta", "width"}},
    {IR_INTRIN_SHFL_DOWN, {"mask", "value", "delta", "width"}},
    {IR_INTRIN_SHFL_XOR, {"mask", "value", "lane_mask", "width"}},
    {IR_INTRIN_PRINT, {"sep", "end", "flush", "file"}},
    {IR_INTRIN_NP_ROUND, {"a", "decimals"}},
    {IR_INTRIN_NP_ANGLE, {"z", "deg"}},
    {IR_INTRIN_NP_CLIP, {"a", "a_min", "a_max", "min", "max"}},
    {IR_INTRIN_NP_ISCLOSE, {"a", "b", "rtol", "atol", "equal_nan"}},
    {IR_INTRIN_NP_NAN_TO_NUM, {"x", "copy", "nan", "posinf", "neginf"}},
};

struct path_row {
    const char *path;
    size_t len;
    double number;
    enum ir_intrin id; /* NONE: the number */
    bool is_int;
};
static const struct path_row path_rows[] = {
#define IR_INTRIN(id, path, ...) {path, sizeof(path) - 1, 0, IR_INTRIN_##id, false},
#define IR_ALIAS(path, id) {path, sizeof(path) - 1, 0, IR_INTRIN_##id, false},
#define IR_NUMBER(path, value, doc) {path, sizeof(path) - 1, value, IR_INTRIN_NONE, false},
#define IR_INTEGER(path, value, doc) {path, sizeof(path) - 1, value, IR_INTRIN_NONE, true},
#include "ir/intrin.def"
};

static const char *const binop_texts[] = {
    [IR_BIN_ADD] = "+",    [IR_BIN_AND] = "&",     [IR_BIN_FLOORDIV] = "//", [IR_BIN_LSHIFT] = "<<",
    [IR_BIN_MATMUL] = "@", [IR_BIN_MUL] = "*",     [IR_BIN_MOD] = "%",       [IR_BIN_OR] = "|",
    [IR_BIN_POW] = "**",   [IR_BIN_RSHIFT] = ">>", [IR_BIN_SUB] = "-",       [IR_BIN_TRUEDIV] = "/",
    [IR_BIN_XOR] = "^",
};
_Static_assert(N_OF(binop_texts) == IR_N_BINOPS, "a text per operator");
static const char *const unop_texts[] = {"-", "+", "~", "not"};
_Static_assert(N_OF(unop_texts) == IR_N_UNOPS, "a text per operator");
static const char *const cmpop_texts[] = {"<", "<=", "==", "!=", ">", ">="};
_Static_assert(N_OF(cmpop_texts) == IR_N_CMPOPS, "a text per operator");
static const char *const recipe_names[] = {"format", "str", "repr", "ascii", "join", "percent"};
_Static_assert(N_OF(recipe_names) == IR_N_TEXTS, "a name per way");
static const char *const icmp_names[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                         "sge", "ult", "ule", "ugt", "uge"};
_Static_assert(N_OF(icmp_names) == IR_N_ICMPS, "a name per comparison");
static const char *const fcmp_names[] = {"oeq", "une", "olt", "ole", "ogt", "oge", "uno", "one"};
_Static_assert(N_OF(fcmp_names) == IR_N_FCMPS, "a name per comparison");

const struct ir_op_row *
ir_op_row(enum ir_op op)
{
    assert(op < IR_N_OPS && "no such operation");
    return &op_rows[op];
}

const struct ir_scalar_row *
ir_scalar_row(ir_type scalar)
{
    assert(ir_type_is_scalar(scalar) && "not a scalar type");
    return &scalar_rows[scalar - IR_FIRST_SCALAR];
}

static bool
name_is(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

ir_type
ir_scalar_by_name(const char *name, size_t len)
{
    for (size_t i = 0; i < N_OF(scalar_rows); i++)
        if (name_is(scalar_rows[i].name, name, len))
            return IR_FIRST_SCALAR + (ir_type)i;
    return name_is("bool_", name, len) ? (ir_type)IR_T_BOOL : (ir_type)IR_T_NONE;
}

ir_type
ir_scalar_by_typestr(const char *typestr)
{
    for (size_t i = 0; i < N_OF(scalar_rows); i++) {
        const struct ir_scalar_row *row = &scalar_rows[i];
        /* Single bytes have no order: NumPy writes '|' there, others also '<'. */
        bool order = typestr[0] == row->typestr[0] || (row->bits == 8 && typestr[0] == '<');
        if (!row->weak && order && strcmp(typestr + 1, row->typestr + 1) == 0)
            return IR_FIRST_SCALAR + (ir_type)i;
    }
    return IR_T_NONE;
}

const char *
ir_machine_name(ir_type machine)
{
    assert(machine >= IR_T_VOID && machine < IR_N_FIXED_TYPES && "not a machine type");
    return machine_rows[machine - IR_T_VOID].name;
}

unsigned
ir_machine_bits(ir_type machine)
{
    assert(machine >= IR_T_VOID && machine < IR_N_FIXED_TYPES && "not a machine type");
    return machine_rows[machine - IR_T_VOID].bits;
}

double
ir_float_largest(ir_type machine)
{
    switch (machine) {
    case IR_T_F16: return 65504;
    case IR_T_BF16: return 0x1.fep+127;
    case IR_T_F32: return 0x1.fffffep+127;
    default: return 0x1.fffffffffffffp+1023;
    }
}

const char *
ir_binop_text(enum ir_binop op)
{
    return binop_texts[op];
}

const char *
ir_unop_text(enum ir_unop op)
{
    return unop_texts[op];
}

const char *
ir_cmpop_text(enum ir_cmpop op)
{
    return cmpop_texts[op];
}

const char *
ir_recipe_name(enum ir_recipe text)
{
    return recipe_names[text];
}

const char *
ir_icmp_name(enum ir_icmp op)
{
    return icmp_names[op];
}

const char *
ir_fcmp_name(enum ir_fcmp op)
{
    return fcmp_names[op];
}

const struct ir_intrin_row *
ir_intrin_row(enum ir_intrin id)
{
    assert(id < IR_N_INTRINS && "no such intrinsic");
    return &intrin_rows[id];
}

struct ir_operator_row
ir_operator_row(enum ir_intrin id)
{
    assert(ir_intrin_row(id)->rule == IR_RULE_OPERATOR && "not an operator");
    return operator_rows[id];
}

const char *
ir_intrin_types(enum ir_intrin id)
{
    assert(id < IR_N_INTRINS && "no such intrinsic");
    return intrin_types[id] ? intrin_types[id] : "";
}

const char *
ir_intrin_param(enum ir_intrin id, uint32_t k)
{
    for (size_t i = 0; i < N_OF(param_rows); i++)
        if (param_rows[i].id == id)
            return k < N_OF(param_rows[i].names) ? param_rows[i].names[k] : NULL;
    return NULL;
}

const char *
ir_path_at(size_t i)
{
    return i < N_OF(path_rows) ? path_rows[i].path : NULL;
}

/* The row of exactly this path, or NULL. */
static const struct path_row *
find_path(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < N_OF(path_rows); i++)
        if (path_rows[i].len == len && memcmp(path_rows[i].path, path, len) == 0)
            return &path_rows[i];
    return NULL;
}

enum ir_intrin
ir_intrin_by_path(const char *path)
{
    const struct path_row *row = find_path(path);
    return row ? row->id : IR_INTRIN_NONE;
}

bool
ir_intrin_is_prefix(const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < N_OF(path_rows); i++)
        if (path_rows[i].len > len && path_rows[i].path[len] == '.' &&
            memcmp(path_rows[i].path, path, len) == 0)
            return true;
    return false;
}

bool
ir_number_by_path(const char *path, double *value_out, bool *is_int_out)
{
    const struct path_row *row = find_path(path);
    if (!row || row->id != IR_INTRIN_NONE)
        return false;
    *value_out = row->number;
    *is_int_out = row->is_int;
    return true;
}
