/* decode: code units of one CPython version to the stack operations of pyop.def; the last sight of
 * the version.
 *
 * In: struct fe_code, from a snapshot or a fixture, and possibly nonsense. Out: instructions with
 * checked operands, jump targets as instruction numbers, and a mark on those that a handler of a
 * `try` covers. One pass over the units: prefixes widen the argument, units of opcode 0 after an
 * opcode are its inline caches (so no table of their sizes is needed), one opcode gives up to three
 * operations. Jumps count code units from the next opcode; a target may be a prefix, which stands
 * for its opcode. A second pass turns targets into instruction numbers, a third gives constructs
 * the name that a user knows them by, looking at what the code does next: BUILD_MAP is a dict, a
 * comprehension or the first step of f(**x).
 *
 * Opcode sequences are never matched for meaning, only for words: patch releases reorder them. The
 * exception table is read for one purpose, to see whether the program has a `try`; handlers of
 * inlined comprehensions clean up and re-raise without PUSH_EXC_INFO, and are not looked at. */
#include "frontend/version.h"

#include <stdio.h>
#include <string.h>

#define DECODE_WINDOW 4096 /* instructions that are looked at to name a construct */

struct decode {
    const struct fe_code *code;
    struct sp_arena *arena;
    struct sp_diag *diag;
    SP_VEC(struct fe_insn) out;
    uint32_t n_units;
    uint32_t *insn_at; /* per unit: number of its first instruction plus one; 0: none starts here */
};

struct fe_position
fe_position_of(const struct fe_code *code, uint32_t unit)
{
    if (unit < code->n_positions)
        return code->positions[unit];
    return (struct fe_position){
        .line = code->first_line, .end_line = code->first_line, .col = -1, .end_col = -1};
}

bool
fe_bad_code(const struct fe_code *code, uint32_t unit, struct sp_diag *diag, const char *format,
            ...)
{
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    struct fe_position at = fe_position_of(code, unit);
    struct sp_src where = {.file = code->file,
                           .function = code->name,
                           .line = at.line,
                           .end_line = at.end_line,
                           .col = at.col,
                           .end_col = at.end_col};
    return sp_diag_set(diag, SP_E_BAD_CODE, &where, code->name, reason);
}

/* The row of the opcode at this unit, or NULL. */
static const struct fe_version_row *
decode_row(const struct fe_code *code, uint32_t unit)
{
    unsigned row = code->version->rows[code->bytes[2 * unit]];
    return row ? &fe_version_rows[row - 1] : NULL;
}

static const char *
decode_name(const struct fe_code *code, uint32_t unit)
{
    const char *name = code->version->names[code->bytes[2 * unit]];
    return name ? name : "?";
}

static bool
decode_check_operand(struct decode *d, const struct fe_insn *insn)
{
    const struct fe_code *code = d->code;
    uint32_t arg = insn->arg, unit = insn->unit;
    switch (fe_op_row(insn->op)->operand) {
    case FE_OPERAND_LOCAL:
        return arg < code->n_locals ||
               fe_bad_code(code, unit, d->diag, "variable %u of %u", arg, code->n_locals);
    case FE_OPERAND_NAME:
        return arg < code->n_names ||
               fe_bad_code(code, unit, d->diag, "name %u of %u", arg, code->n_names);
    case FE_OPERAND_CONST:
        return arg < code->n_consts ||
               fe_bad_code(code, unit, d->diag, "constant %u of %u", arg, code->n_consts);
    case FE_OPERAND_COUNT:
        if (arg > FE_MAX_STACK)
            return fe_bad_code(code, unit, d->diag, "%s of %u values", decode_name(code, unit),
                               arg);
        if ((insn->op == FE_OP_COPY || insn->op == FE_OP_SWAP || insn->op == FE_OP_LIST_ADD ||
             insn->op == FE_OP_LIST_JOIN) &&
            arg == 0)
            return fe_bad_code(code, unit, d->diag, "%s 0", decode_name(code, unit));
        if (insn->op == FE_OP_SLICE && arg != 2 && arg != 3)
            return fe_bad_code(code, unit, d->diag, "BUILD_SLICE %u", arg);
        return true;
    case FE_OPERAND_NUMBER: {
        uint32_t limit = insn->op == FE_OP_CMP            ? IR_N_CMPOPS
                         : insn->op == FE_OP_IS           ? 2
                         : insn->op == FE_OP_IN           ? 2
                         : insn->op == FE_OP_RAISE        ? 3
                         : insn->op == FE_OP_CONVERT      ? 4
                         : insn->op == FE_OP_CALL_EX      ? 3
                         : insn->op == FE_OP_FUNCTION     ? 32
                         : insn->op == FE_OP_FUNCTION_SET ? 32
                         : insn->op == FE_OP_UNPACK_EX    ? FE_MAX_STACK << 8
                                                          : UINT32_MAX;
        return arg < limit ||
               fe_bad_code(code, unit, d->diag, "%s %u", decode_name(code, unit), arg);
    }
    case FE_OPERAND_NONE:
    case FE_OPERAND_TARGET: return true;
    }
    return true;
}

static bool
decode_put(struct decode *d, uint32_t unit, enum fe_op op, uint32_t arg)
{
    struct fe_insn insn = {.op = (uint8_t)op, .arg = arg, .unit = unit};
    if (!decode_check_operand(d, &insn))
        return false;
    sp_vec_push(d->arena, &d->out, insn);
    return true;
}

/* Targets are units until decode_targets. */
static bool
decode_jump(struct decode *d, uint32_t unit, enum fe_op op, uint32_t arg, int64_t target)
{
    if (target < 0 || target >= d->n_units)
        return fe_bad_code(d->code, unit, d->diag, "%s to outside the code",
                           decode_name(d->code, unit));
    sp_vec_push(
        d->arena, &d->out,
        (struct fe_insn){.op = (uint8_t)op, .arg = arg, .target = (uint32_t)target, .unit = unit});
    return true;
}

/* `next` is the unit of the next opcode. */
static bool
decode_one(struct decode *d, uint32_t unit, const struct fe_version_row *row, uint32_t arg,
           uint32_t next)
{
    enum fe_op op = row->op;
    switch ((enum fe_rule)row->rule) {
    case FE_RULE_EXTENDED: return true;
    case FE_RULE_ARG: return decode_put(d, unit, op, arg);
    case FE_RULE_VALUE:
    case FE_RULE_NYI: return decode_put(d, unit, op, row->value);
    case FE_RULE_SHIFT: return decode_put(d, unit, op, arg >> row->value);
    case FE_RULE_FORWARD: return decode_jump(d, unit, op, row->value, (int64_t)next + arg);
    case FE_RULE_BACKWARD: return decode_jump(d, unit, op, row->value, (int64_t)next - arg);
    case FE_RULE_OR_POP:
        return decode_put(d, unit, FE_OP_COPY, 1) &&
               decode_jump(d, unit, op, 0, (int64_t)next + arg) &&
               decode_put(d, unit, FE_OP_POP, 1);
    case FE_RULE_LOAD_LOAD:
        return decode_put(d, unit, FE_OP_LOAD, arg >> 4) &&
               decode_put(d, unit, FE_OP_LOAD, arg & 15);
    case FE_RULE_STORE_LOAD:
        return decode_put(d, unit, FE_OP_STORE, arg >> 4) &&
               decode_put(d, unit, FE_OP_LOAD, arg & 15);
    case FE_RULE_STORE_STORE:
        return decode_put(d, unit, FE_OP_STORE, arg >> 4) &&
               decode_put(d, unit, FE_OP_STORE, arg & 15);
    case FE_RULE_GLOBAL_BELOW:
        return (!(arg & 1) || decode_put(d, unit, FE_OP_NULL, 0)) &&
               decode_put(d, unit, op, arg >> 1);
    case FE_RULE_GLOBAL_ABOVE:
        return decode_put(d, unit, op, arg >> 1) &&
               (!(arg & 1) || decode_put(d, unit, FE_OP_NULL, 0));
    case FE_RULE_METHOD:
        return decode_put(d, unit, FE_OP_NULL, 0) && decode_put(d, unit, FE_OP_SWAP, 2) &&
               decode_put(d, unit, op, arg);
    case FE_RULE_ATTR_BELOW:
        return (!(arg & 1) ||
                (decode_put(d, unit, FE_OP_NULL, 0) && decode_put(d, unit, FE_OP_SWAP, 2))) &&
               decode_put(d, unit, op, arg >> 1);
    case FE_RULE_ATTR_ABOVE:
        return decode_put(d, unit, op, arg >> 1) &&
               (!(arg & 1) || decode_put(d, unit, FE_OP_NULL, 0));
    case FE_RULE_SLICE_THEN:
        return decode_put(d, unit, FE_OP_SLICE, 2) && decode_put(d, unit, op, 0);
    case FE_RULE_BINARY:
        if (arg >= row->value)
            break;
        if (arg == 2 * IR_N_BINOPS)
            return decode_put(d, unit, FE_OP_ITEM, 0);
        return decode_put(d, unit, op, arg < IR_N_BINOPS ? arg : (arg - IR_N_BINOPS) | IR_INPLACE);
    case FE_RULE_COMMON:
        if (arg >= row->value)
            break;
        return decode_put(d, unit, op, arg);
    case FE_RULE_INTRINSIC_1:
        if (arg == 5)
            return decode_put(d, unit, FE_OP_UN, IR_UN_POS);
        if (arg == 6)
            return decode_put(d, unit, FE_OP_LIST_TUPLE, 0);
        return decode_put(d, unit, FE_OP_BAD,
                          arg == 4   ? FE_CONSTRUCT_ASYNC
                          : arg == 3 ? FE_CONSTRUCT_YIELD
                          : arg == 2 ? FE_CONSTRUCT_IMPORT
                          : arg == 1 ? FE_CONSTRUCT_SCOPE
                                     : FE_CONSTRUCT_TYPE);
    case FE_RULE_FORMAT: /* bits 0, 1: a conversion; bit 2: its specification is above it */
        if (arg > 7)
            break;
        if (arg & 4)
            return (!(arg & 3) || (decode_put(d, unit, FE_OP_SWAP, 2) &&
                                   decode_put(d, unit, FE_OP_CONVERT, arg & 3) &&
                                   decode_put(d, unit, FE_OP_SWAP, 2))) &&
                   decode_put(d, unit, op, 0);
        return (!arg || decode_put(d, unit, FE_OP_CONVERT, arg)) &&
               decode_put(d, unit, FE_OP_FORMAT_PLAIN, 0);
    case FE_RULE_ITER_PAIR: return decode_put(d, unit, op, 0) && decode_put(d, unit, FE_OP_INT, 0);
    case FE_RULE_RETURN_CONST:
        return decode_put(d, unit, FE_OP_CONST, arg) && decode_put(d, unit, op, 0);
    case FE_RULE_COMPREHENSION: return decode_put(d, unit, op, FE_CONSTRUCT_LIST_COMP);
    case FE_RULE_FUNCTION:
    case FE_RULE_MAP: return decode_put(d, unit, op, arg);
    }
    return fe_bad_code(d->code, unit, d->diag, "%s %u", decode_name(d->code, unit), arg);
}

static bool
decode_units(struct decode *d)
{
    const struct fe_code *code = d->code;
    uint32_t extended = 0, start = UINT32_MAX;
    for (uint32_t unit = 0; unit < d->n_units;) {
        unsigned opcode = code->bytes[2 * unit];
        const struct fe_version_row *row = decode_row(code, unit);
        if (!row) {
            if (code->version->names[opcode])
                return fe_bad_code(code, unit, d->diag, "opcode %s of Python 3.%u is not known",
                                   code->version->names[opcode], code->version->minor);
            return fe_bad_code(code, unit, d->diag, "Python 3.%u has no opcode %u",
                               code->version->minor, opcode);
        }
        uint32_t arg = extended | code->bytes[2 * unit + 1];
        if (start == UINT32_MAX)
            start = unit;
        if (row->rule == FE_RULE_EXTENDED) {
            if (arg >> 24)
                return fe_bad_code(code, unit, d->diag, "an argument of more than 32 bits");
            extended = arg << 8;
            unit++;
            continue;
        }
        uint32_t next = unit + 1;
        while (next < d->n_units && !code->bytes[2 * next])
            next++;
        uint32_t first = d->out.len;
        if (!decode_one(d, unit, row, arg, next))
            return false;
        for (uint32_t u = start; u <= unit; u++)
            d->insn_at[u] = first + 1;
        extended = 0;
        start = UINT32_MAX;
        unit = next;
    }
    if (start != UINT32_MAX)
        return fe_bad_code(code, start, d->diag, "it ends within an instruction");
    return true;
}

static bool
decode_targets(struct decode *d)
{
    for (uint32_t i = 0; i < d->out.len; i++) {
        struct fe_insn *insn = &d->out.data[i];
        if (fe_op_row(insn->op)->operand != FE_OPERAND_TARGET)
            continue;
        uint32_t at = d->insn_at[insn->target];
        if (!at)
            return fe_bad_code(d->code, insn->unit, d->diag, "%s into an inline cache",
                               decode_name(d->code, insn->unit));
        insn->target = at - 1;
    }
    return true;
}

/* One number of the exception table: groups of 6 bits, the upper first, bit 6: more follow. */
static bool
decode_varint(const uint8_t **at, const uint8_t *end, uint32_t *value_out)
{
    uint64_t value = 0;
    for (;;) {
        if (*at == end || value >> 32)
            return false;
        uint8_t byte = *(*at)++;
        value = value << 6 | (byte & 63);
        if (!(byte & 64))
            break;
    }
    *value_out = (uint32_t)value;
    return value <= UINT32_MAX;
}

/* `covered` counts handlers by differences at the units where ranges begin and end. */
static bool
decode_tries(struct decode *d)
{
    const uint8_t *at = d->code->exceptions, *end = at + d->code->exceptions_B;
    int32_t *covered = SP_NEW_N(d->arena, int32_t, d->n_units + 1);
    while (at != end) {
        uint32_t start, length, target, depth;
        if (!decode_varint(&at, end, &start) || !decode_varint(&at, end, &length) ||
            !decode_varint(&at, end, &target) || !decode_varint(&at, end, &depth))
            return fe_bad_code(d->code, 0, d->diag, "its exception table ends within an entry");
        if (start > d->n_units || length > d->n_units - start || target >= d->n_units)
            return fe_bad_code(d->code, 0, d->diag, "its exception table points outside the code");
        if (strcmp(decode_name(d->code, target), "PUSH_EXC_INFO") != 0)
            continue;
        covered[start]++;
        covered[start + length]--;
    }
    for (uint32_t u = 1; u <= d->n_units; u++)
        covered[u] += covered[u - 1];
    for (uint32_t i = 0; i < d->out.len; i++)
        d->out.data[i].in_try = covered[d->out.data[i].unit] > 0;
    return true;
}

static bool
decode_is(const struct decode *d, uint32_t i, const char *opcode)
{
    return !strcmp(decode_name(d->code, d->out.data[i].unit), opcode);
}

static bool
decode_ends_expression(const struct fe_insn *insn)
{
    return insn->op == FE_OP_STORE || insn->op == FE_OP_POP || insn->op == FE_OP_RETURN ||
           fe_op_row(insn->op)->operand == FE_OPERAND_TARGET;
}

/* BUILD_MAP: a dict, f(**x), or a call with many names. */
static uint32_t
decode_map(const struct decode *d, uint32_t i)
{
    uint32_t end = d->out.len - i > DECODE_WINDOW ? i + DECODE_WINDOW : d->out.len;
    for (uint32_t k = i + 1; k < end; k++) {
        const struct fe_insn *later = &d->out.data[k];
        if (decode_is(d, k, "DICT_MERGE"))
            return FE_CONSTRUCT_CALL_STAR;
        if (decode_is(d, k, "CALL_FUNCTION_EX"))
            return FE_CONSTRUCT_MANY_NAMES;
        if ((later->op == FE_OP_BAD && !decode_is(d, k, "MAP_ADD")) ||
            decode_ends_expression(later))
            break;
    }
    return FE_CONSTRUCT_DICT;
}

/* Which construct a BAD instruction begins, from what stands near it. */
static uint32_t
decode_construct(const struct decode *d, uint32_t i)
{
    const struct fe_insn *insn = &d->out.data[i];
    uint32_t end = d->out.len - i > 64 ? i + 64 : d->out.len;
    const struct fe_version_row *row = decode_row(d->code, insn->unit);
    switch ((enum fe_rule)row->rule) {
    case FE_RULE_COMPREHENSION:
        for (uint32_t k = i; k < end; k++) {
            if (decode_is(d, k, "BUILD_LIST"))
                break;
            if (decode_is(d, k, "BUILD_SET"))
                return FE_CONSTRUCT_SET_COMP;
            if (decode_is(d, k, "BUILD_MAP"))
                return FE_CONSTRUCT_DICT_COMP;
        }
        return insn->arg;
    case FE_RULE_FUNCTION:
        for (uint32_t k = i; k-- > 0 && i - k <= 2;) {
            const struct fe_insn *load = &d->out.data[k];
            const char *name =
                load->op == FE_OP_CONST ? d->code->consts[load->arg].code_name : NULL;
            if (!name)
                continue;
            return !strcmp(name, "<listcomp>")   ? FE_CONSTRUCT_LIST_COMP
                   : !strcmp(name, "<setcomp>")  ? FE_CONSTRUCT_SET_COMP
                   : !strcmp(name, "<dictcomp>") ? FE_CONSTRUCT_DICT_COMP
                   : !strcmp(name, "<genexpr>")  ? FE_CONSTRUCT_GENEXPR
                                                 : FE_CONSTRUCT_FUNCTION;
        }
        return FE_CONSTRUCT_FUNCTION;
    case FE_RULE_MAP: return decode_map(d, i);
    default: return insn->arg;
    }
}

/* Functions, and the dicts of their defaults and of calls; not what only looks like one of them. */
static bool
decode_is_possible(const struct fe_insn *insn, uint32_t construct)
{
    if (insn->op == FE_OP_FUNCTION)
        return construct == FE_CONSTRUCT_FUNCTION;
    return insn->arg > 0 &&
           (construct == FE_CONSTRUCT_DICT || construct == FE_CONSTRUCT_MANY_NAMES);
}

bool
fe_decode(const struct fe_code *code, struct sp_arena *arena, struct fe_insns *insns_out,
          struct sp_diag *diag)
{
    if (code->size_B > FE_MAX_CODE_B || code->size_B == 0 || code->size_B % 2 ||
        code->exceptions_B > FE_MAX_CODE_B)
        return fe_bad_code(code, 0, diag, "%u bytes of code", code->size_B);
    if (code->n_locals > FE_MAX_LOCALS)
        return fe_bad_code(code, 0, diag, "it has %u variables, at most %u are possible",
                           code->n_locals, (unsigned)FE_MAX_LOCALS);
    struct decode d = {.code = code, .arena = arena, .diag = diag, .n_units = code->size_B / 2};
    d.insn_at = SP_NEW_N(arena, uint32_t, d.n_units);
    if (!decode_units(&d) || !decode_targets(&d) || !decode_tries(&d))
        return false;
    for (uint32_t i = 0; i < d.out.len; i++) {
        struct fe_insn *insn = &d.out.data[i];
        bool is_open =
            insn->op == FE_OP_FUNCTION || insn->op == FE_OP_MAP || insn->op == FE_OP_NAMED_MAP;
        if (insn->op != FE_OP_BAD && !is_open)
            continue;
        uint32_t construct = decode_construct(&d, i);
        if (is_open && decode_is_possible(insn, construct))
            continue;
        insn->op = FE_OP_BAD;
        insn->arg = construct;
    }
    *insns_out = (struct fe_insns){d.out.data, d.out.len};
    return true;
}
