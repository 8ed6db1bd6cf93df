/* parse_const: the parts of an instruction's line that are not structure: constants, immediates,
 * machine types, source ranges. The text is docs/ir.md's; what the parts mean together (is there
 * such a parameter, is the constant of that type) is the verifier's. */
#include "ir/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONST_MAX_DEPTH 32
#define CONST_MAX_ELEMS 4096

bool
ir_parse_fail(struct ir_parse *p, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sp_diag_set(p->diag, SP_E_BAD_IR, NULL, (int)p->lex.line, text);
}

bool
ir_parse_text(struct ir_parse *p, const char *what, char **out)
{
    char *text;
    size_t len;
    if (!ir_lex_string(&p->lex, &text, &len))
        return ir_parse_fail(p, "%s expected, in quotes", what);
    if (strlen(text) != len)
        return ir_parse_fail(p, "%s has a zero byte", what);
    *out = text;
    return true;
}

bool
ir_parse_bytes(struct ir_parse *p, size_t n, const uint8_t **out)
{
    char *text;
    size_t len;
    if (!ir_lex_string(&p->lex, &text, &len) || len != 2 * n ||
        strspn(text, "0123456789abcdef") != len)
        return ir_parse_fail(p, "%zu bytes in hexadecimal expected", n);
    uint8_t *bytes = SP_NEW_N(p->lex.arena, uint8_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    *out = bytes;
    return true;
}

static bool
parse_number(struct ir_parse *p, struct ir_const_info *info)
{
    const char *start = p->lex.at;
    const char *digits = start + (*start == '-');
    size_t len = strspn(digits, "0123456789");
    char after = digits[len];
    char *end;
    errno = 0;
    if (strncmp(digits, "inf", 3) == 0 || after == '.' || after == 'e') {
        *info = (struct ir_const_info){.kind = IR_C_FLOAT, .f = strtod(start, &end)};
        if (end == start)
            return ir_parse_fail(p, "not a number");
    } else if (!len) {
        return ir_parse_fail(p, "constant expected");
    } else if (after == 'u') {
        *info = (struct ir_const_info){.kind = IR_C_UINT, .u = strtoull(digits, &end, 10)};
        if (errno || digits != start || info->u <= INT64_MAX)
            return ir_parse_fail(p, "number with suffix u must be at least 2**63, below 2**64");
        end++;
    } else {
        *info = (struct ir_const_info){.kind = IR_C_INT, .i = strtoll(start, &end, 10)};
        if (errno)
            return ir_parse_fail(p, "number does not fit 64 bits");
    }
    p->lex.at = end;
    return true;
}

static bool
parse_nan(struct ir_parse *p, struct ir_const_info *info)
{
    uint64_t bits = 0x7ff8000000000000u;
    if (*p->lex.at == '(') {
        char *end;
        bits = strtoull(p->lex.at + 1, &end, 16);
        if (*end != ')' || (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u ||
            !(bits & 0xfffffffffffffu))
            return ir_parse_fail(p, "bad bits of a NaN");
        p->lex.at = end + 1;
    }
    *info = (struct ir_const_info){.kind = IR_C_FLOAT};
    info->u = bits;
    return true;
}

/* "float32(1.5)", after the name. */
static bool
parse_typed(struct ir_parse *p, ir_type scalar, struct ir_const_info *info)
{
    if (!ir_lex_char(&p->lex, '('))
        return ir_parse_fail(p, "'(' expected");
    ir_lex_blank(&p->lex);
    struct ir_const_info value;
    if (!(ir_lex_word(&p->lex, "nan") ? parse_nan(p, &value) : parse_number(p, &value)))
        return false;
    if (!ir_lex_char(&p->lex, ')'))
        return ir_parse_fail(p, "')' expected");
    if ((value.kind == IR_C_FLOAT) != (ir_scalar_row(scalar)->class == IR_CLASS_FLOAT))
        return ir_parse_fail(p, "the number is not of type %s", ir_scalar_row(scalar)->name);
    *info = value;
    info->kind = IR_C_TYPED;
    info->scalar = scalar;
    return true;
}

static bool const_at(struct ir_parse *p, int depth, ir_const *out);

/* Elements up to ')', after '('. */
static bool
parse_elems(struct ir_parse *p, uint8_t kind, int depth, ir_const *out)
{
    SP_VEC(ir_const) elems = {0};
    while (!ir_lex_char(&p->lex, ')')) {
        ir_const elem;
        if (elems.len == CONST_MAX_ELEMS)
            return ir_parse_fail(p, "too many elements");
        if (!const_at(p, depth + 1, &elem))
            return false;
        sp_vec_push(p->lex.arena, &elems, elem);
        if (ir_lex_char(&p->lex, ','))
            continue;
        if (!ir_lex_char(&p->lex, ')'))
            return ir_parse_fail(p, "',' or ')' expected");
        break;
    }
    *out = ir_const_intern(
        p->module, &(struct ir_const_info){.kind = kind, .len = elems.len, .elems = elems.data});
    return true;
}

/* After a class or a partial call: what its `named` is, of this kind. */
static bool
parse_with(struct ir_parse *p, uint8_t kind, int depth, ir_const *c)
{
    struct ir_const_info info = *ir_const_info(p->module, *c);
    if (!ir_lex_word(&p->lex, "with"))
        return true;
    if (!const_at(p, depth + 1, &info.named))
        return false;
    const struct ir_const_info *named = ir_const_info(p->module, info.named);
    bool texts = named->kind == kind && named->len > 0 && named->len <= info.len;
    for (uint32_t i = 0; kind == IR_C_TUPLE && texts && i < named->len; i++)
        texts = ir_const_info(p->module, named->elems[i])->kind == IR_C_STR;
    if (!texts)
        return ir_parse_fail(p, kind == IR_C_TUPLE ? "names expected" : "partial expected");
    *c = ir_const_intern(p->module, &info);
    return true;
}

/* A call with some of its arguments: partial (@1, 2.0) with ("k",). */
static bool
parse_partial(struct ir_parse *p, int depth, ir_const *out)
{
    if (!ir_lex_char(&p->lex, '('))
        return ir_parse_fail(p, "'(' expected");
    if (!parse_elems(p, IR_C_PARTIAL, depth, out))
        return false;
    if (!ir_const_info(p->module, *out)->len)
        return ir_parse_fail(p, "what is called expected");
    return parse_with(p, IR_C_TUPLE, depth, out);
}

/* A class, or an instance of it: class ("Point", "x", "y") (1, 2). */
static bool
parse_class(struct ir_parse *p, int depth, ir_const *out)
{
    ir_const class;
    if (!ir_lex_char(&p->lex, '('))
        return ir_parse_fail(p, "'(' expected");
    if (!parse_elems(p, IR_C_CLASS, depth, &class))
        return false;
    const struct ir_const_info *info = ir_const_info(p->module, class);
    bool texts = info->len > 0;
    for (uint32_t i = 0; i < info->len && texts; i++)
        texts = ir_const_info(p->module, info->elems[i])->kind == IR_C_STR;
    if (!texts)
        return ir_parse_fail(p, "name and fields of the class expected");
    uint32_t n = info->len - 1;
    if (!parse_with(p, IR_C_PARTIAL, depth, &class))
        return false;
    *out = class;
    if (!ir_lex_char(&p->lex, '('))
        return true;
    if (!parse_elems(p, IR_C_TUPLE, depth, out))
        return false;
    struct ir_const_info tuple = *ir_const_info(p->module, *out);
    if (tuple.len != n)
        return ir_parse_fail(p, "%u values of %u fields", tuple.len, n);
    tuple.named = class;
    *out = ir_const_intern(p->module, &tuple);
    return true;
}

/* Number types, weak ones too, and other storable types. */
static bool
parse_storable(struct ir_parse *p, ir_type *out)
{
    const char *name, *wrong, *start;
    size_t len;
    ir_lex_blank(&p->lex);
    start = p->lex.at;
    if (!ir_lex_name(&p->lex, &name, &len))
        return ir_parse_fail(p, "element type expected");
    *out = ir_scalar_by_name(name, len);
    if (*out != IR_T_NONE)
        return true;
    p->lex.at = start;
    return ir_storable_parse(p->module, p->lex.at, &p->lex.at, out, &wrong) ||
           ir_parse_fail(p, "%s", wrong);
}

/* array float32 (2, 2) F writeable "name" "bytes" */
static bool
parse_array(struct ir_parse *p, int depth, ir_const *out)
{
    struct ir_const_info info = {.kind = IR_C_ARRAY};
    char *text;
    uint64_t size_B;
    ir_type type;
    if (!parse_storable(p, &type))
        return false;
    if (!const_at(p, depth + 1, &info.named))
        return false;
    info.scalar = type;
    size_B = ir_storable_size_B(p->module, type);
    const struct ir_const_info *shape = info.named ? ir_const_info(p->module, info.named) : NULL;
    bool ok = shape && shape->kind == IR_C_TUPLE && shape->len <= IR_MAX_RANK;
    for (uint32_t k = 0; ok && k < shape->len; k++) {
        const struct ir_const_info *extent =
            shape->elems[k] ? ir_const_info(p->module, shape->elems[k]) : NULL;
        ok = extent && extent->kind == IR_C_INT && extent->i >= 0 &&
             extent->i <= (int64_t)IR_MAX_STATIC_B &&
             (size_B *= (uint64_t)extent->i) <= IR_MAX_STATIC_B;
    }
    if (!ok)
        return ir_parse_fail(p, "a tuple of extents expected");
    info.len |= ir_lex_word(&p->lex, "F") ? IR_ARRAY_F : 0;
    info.len |= ir_lex_word(&p->lex, "writeable") ? IR_ARRAY_WRITEABLE : 0;
    if (!ir_parse_text(p, "name", &text) || !ir_parse_bytes(p, size_B, &info.bytes))
        return false;
    info.array_name = text;
    *out = ir_const_intern(p->module, &info);
    return true;
}

/* After "member". */
static bool
parse_member(struct ir_parse *p, int depth, bool is_plain, ir_const *out)
{
    char *name;
    ir_const value;
    if (!ir_parse_text(p, "name of the member", &name) || !const_at(p, depth + 1, &value))
        return false;
    const struct ir_const_info *info = ir_const_info(p->module, value);
    if (!ir_const_may_be_member(info) || info->named || !strchr(name, '.'))
        return ir_parse_fail(p, "\"Class.NAME\" and a number or a text expected");
    *out = ir_const_member(p->module, value, name, is_plain);
    return true;
}

/* Constants that start with a word. */
static bool
parse_word_const(struct ir_parse *p, int depth, ir_const *out)
{
    struct ir_const_info info = {0};
    const char *name;
    size_t len;
    char *text;
    if (!ir_lex_name(&p->lex, &name, &len))
        return ir_parse_fail(p, "constant expected");
#define IS(word) (len == sizeof(word) - 1 && memcmp(name, word, len) == 0)
    ir_type scalar = ir_scalar_by_name(name, len);
    if (IS("True") || IS("False")) {
        info.kind = IR_C_BOOL;
        info.i = IS("True");
    } else if (IS("None")) {
        info.kind = IR_C_NONE;
    } else if (IS("nan")) {
        if (!parse_nan(p, &info))
            return false;
    } else if (IS("inf")) {
        p->lex.at = name;
        if (!parse_number(p, &info))
            return false;
    } else if (IS("big")) {
        if (!ir_parse_text(p, "decimal text", &text))
            return false;
        size_t digits = strspn(text + (*text == '-'), "0123456789");
        if (!digits || text[(*text == '-') + digits])
            return ir_parse_fail(p, "decimal text expected");
        info = (struct ir_const_info){.kind = IR_C_BIG, .str = text};
    } else if (IS("namespace")) {
        if (!ir_parse_text(p, "path", &text))
            return false;
        info = (struct ir_const_info){.kind = IR_C_NAMESPACE, .str = text};
    } else if (IS("host")) {
        if (!ir_parse_text(p, "type name", &text))
            return false;
        info.kind = IR_C_HOST;
        info.host = NULL;
        info.type_name = text;
    } else if (IS("exception")) {
        uint32_t number = 0;
        if (!ir_parse_text(p, "name of the class", &text))
            return false;
        ir_lex_blank(&p->lex);
        if (*p->lex.at >= '0' && *p->lex.at <= '9' && !ir_lex_u32(&p->lex, UINT32_MAX, &number))
            return ir_parse_fail(p, "number expected");
        info = (struct ir_const_info){.kind = IR_C_EXCEPTION, .len = number, .str = text};
    } else if (IS("slice")) {
        if (!ir_lex_char(&p->lex, '('))
            return ir_parse_fail(p, "'(' expected");
        return parse_elems(p, IR_C_SLICE, depth, out);
    } else if (IS("member") || IS("plain")) {
        bool is_plain = IS("plain");
        if (is_plain && !ir_lex_word(&p->lex, "member"))
            return ir_parse_fail(p, "'member' expected");
        return parse_member(p, depth, is_plain, out);
    } else if (IS("class")) {
        return parse_class(p, depth, out);
    } else if (IS("array")) {
        return parse_array(p, depth, out);
    } else if (IS("partial")) {
        return parse_partial(p, depth, out);
    } else if (IS("intrin")) {
        info.kind = IR_C_INTRIN;
        uint32_t id;
        if (!ir_parse_imm(p, IR_INTRIN, &id))
            return false;
        info.u = id;
    } else if (IS("dtype")) {
        if (!parse_storable(p, &scalar))
            return false;
        info = (struct ir_const_info){.kind = IR_C_DTYPE, .scalar = scalar};
    } else if (scalar) {
        if (!parse_typed(p, scalar, &info))
            return false;
    } else {
        return ir_parse_fail(p, "unknown constant '%.*s'", (int)(len < 40 ? len : 40), name);
    }
#undef IS
    *out = ir_const_intern(p->module, &info);
    return true;
}

static bool
const_at(struct ir_parse *p, int depth, ir_const *out)
{
    if (depth > CONST_MAX_DEPTH)
        return ir_parse_fail(p, "constant nested too deeply");
    uint32_t index;
    char *text;
    size_t len;
    ir_lex_blank(&p->lex);
    if (*p->lex.at == '"') {
        if (!ir_lex_string(&p->lex, &text, &len))
            return ir_parse_fail(p, "bad string");
        *out = ir_const_str(p->module, text, len);
        return true;
    }
    if (ir_lex_word(&p->lex, "_")) {
        *out = 0;
        return true;
    }
    if (ir_lex_word(&p->lex, "...")) {
        *out = ir_const_simple(p->module, IR_C_ELLIPSIS, 0);
        return true;
    }
    if (ir_lex_ref(&p->lex, '@', UINT16_MAX, &index)) {
        *out = ir_const_simple(p->module, IR_C_FUNC, index);
        return true;
    }
    if (ir_lex_char(&p->lex, '('))
        return parse_elems(p, IR_C_TUPLE, depth, out);
    char c = *p->lex.at;
    if (c != '-' && (c < '0' || c > '9'))
        return parse_word_const(p, depth, out);
    struct ir_const_info info;
    if (!parse_number(p, &info))
        return false;
    *out = ir_const_intern(p->module, &info);
    return true;
}

bool
ir_parse_const(struct ir_parse *p, ir_const *out)
{
    return const_at(p, 0, out);
}

static bool
parse_opt_text(struct ir_parse *p, const char *what, const char **out)
{
    char *text;
    *out = NULL;
    if (ir_lex_char(&p->lex, '-'))
        return true;
    if (!ir_parse_text(p, what, &text))
        return false;
    *out = text;
    return true;
}

bool
ir_parse_src(struct ir_parse *p, struct sp_src *out)
{
    struct sp_src src = {.col = -1, .end_col = -1};
    uint32_t n;
    if (!ir_lex_char(&p->lex, '!'))
        return true;
    if (!ir_lex_u32(&p->lex, INT32_MAX, &n) || !n)
        return ir_parse_fail(p, "line number expected after '!'");
    src.line = src.end_line = (int32_t)n;
    if (ir_lex_char(&p->lex, ':')) {
        if (!ir_lex_u32(&p->lex, INT32_MAX, &n))
            return ir_parse_fail(p, "column expected");
        src.col = (int32_t)n;
        if (ir_lex_char(&p->lex, '-')) {
            if (!ir_lex_u32(&p->lex, INT32_MAX, &n))
                return ir_parse_fail(p, "end of the range expected");
            if (ir_lex_char(&p->lex, ':')) {
                src.end_line = (int32_t)n;
                if (!ir_lex_u32(&p->lex, INT32_MAX, &n))
                    return ir_parse_fail(p, "end of the range expected");
            }
            src.end_col = (int32_t)n;
        }
    }
    if (!ir_lex_is_end(&p->lex) &&
        (!parse_opt_text(p, "file", &src.file) || !parse_opt_text(p, "function", &src.function)))
        return false;
    *out = src;
    return true;
}

bool
ir_parse_machine(struct ir_parse *p, ir_type *out)
{
    const char *name;
    size_t len;
    if (ir_lex_name(&p->lex, &name, &len))
        for (ir_type t = IR_T_VOID; t < IR_N_FIXED_TYPES; t++)
            if (strlen(ir_machine_name(t)) == len && memcmp(ir_machine_name(t), name, len) == 0) {
                *out = t;
                return true;
            }
    return ir_parse_fail(p, "machine type expected");
}

/* A word of a table of names, in quotes or bare. */
static bool
parse_choice(struct ir_parse *p, bool quoted, const char *(*name)(uint32_t), uint32_t n,
             uint32_t *out)
{
    const char *word;
    size_t len;
    char *text = NULL;
    if (quoted ? ir_lex_string(&p->lex, &text, &len) : ir_lex_name(&p->lex, &word, &len)) {
        for (uint32_t i = 0; i < n; i++)
            if (strlen(name(i)) == len && memcmp(name(i), quoted ? text : word, len) == 0) {
                *out = i;
                return true;
            }
        return ir_parse_fail(p, "unknown operator '%.*s'", (int)(len < 40 ? len : 40),
                             quoted ? text : word);
    }
    return ir_parse_fail(p, "operator expected");
}

static const char *
unop_text(uint32_t i)
{
    return ir_unop_text((enum ir_unop)i);
}

static const char *
cmpop_text(uint32_t i)
{
    return ir_cmpop_text((enum ir_cmpop)i);
}

static const char *
recipe_name(uint32_t i)
{
    return ir_recipe_name((enum ir_recipe)i);
}

static const char *
icmp_name(uint32_t i)
{
    return ir_icmp_name((enum ir_icmp)i);
}

static const char *
fcmp_name(uint32_t i)
{
    return ir_fcmp_name((enum ir_fcmp)i);
}

static const char *
atomic_name(uint32_t i)
{
    return ir_atomic_name((enum ir_atomic)i);
}

static const char *
intrin_path(uint32_t i)
{
    return i ? ir_intrin_row((enum ir_intrin)i)->path : "none";
}

static bool
parse_binop(struct ir_parse *p, uint32_t *out)
{
    char *text;
    size_t len;
    if (!ir_lex_string(&p->lex, &text, &len))
        return ir_parse_fail(p, "operator expected");
    uint32_t inplace = len > 1 && text[len - 1] == '=' ? IR_INPLACE : 0;
    if (inplace)
        text[len - 1] = 0;
    for (uint32_t i = 0; i < IR_N_BINOPS; i++)
        if (strcmp(text, ir_binop_text((enum ir_binop)i)) == 0) {
            *out = i | inplace;
            return true;
        }
    return ir_parse_fail(p, "unknown operator");
}

/* word(N) */
static bool
parse_counted(struct ir_parse *p, const char *word, uint32_t *out)
{
    if (ir_lex_word(&p->lex, word) && ir_lex_char(&p->lex, '(') &&
        ir_lex_u32(&p->lex, UINT32_MAX, out) && ir_lex_char(&p->lex, ')'))
        return true;
    return ir_parse_fail(p, "%s(number) expected", word);
}

bool
ir_parse_imm(struct ir_parse *p, enum ir_op op, uint32_t *out)
{
    *out = 0;
    switch (ir_imm_of(op)) {
    case IR_IMM_NONE: return true;
    case IR_IMM_NUMBER:
    case IR_IMM_PARAM:
        return ir_lex_u32(&p->lex, UINT32_MAX, out) || ir_parse_fail(p, "number expected");
    case IR_IMM_CONST:
    case IR_IMM_NAME: return ir_parse_const(p, out);
    case IR_IMM_OPT_NAME:
    case IR_IMM_NAMES:
        ir_lex_blank(&p->lex);
        if (*p->lex.at != '"' && *p->lex.at != '(')
            return true;
        return ir_parse_const(p, out);
    case IR_IMM_BINOP: return parse_binop(p, out);
    case IR_IMM_UNOP: return parse_choice(p, true, unop_text, IR_N_UNOPS, out);
    case IR_IMM_CMPOP: return parse_choice(p, true, cmpop_text, IR_N_CMPOPS, out);
    case IR_IMM_TEXT: return parse_choice(p, false, recipe_name, IR_N_TEXTS, out);
    case IR_IMM_NOT: *out = ir_lex_word(&p->lex, "not"); return true;
    case IR_IMM_INPLACE: *out = ir_lex_word(&p->lex, "inplace") ? IR_INPLACE : 0; return true;
    case IR_IMM_ERROR: return parse_counted(p, "error", out);
    case IR_IMM_ICMP: return parse_choice(p, false, icmp_name, IR_N_ICMPS, out);
    case IR_IMM_FCMP: return parse_choice(p, false, fcmp_name, IR_N_FCMPS, out);
    case IR_IMM_ATOMIC: return parse_choice(p, false, atomic_name, IR_N_ATOMICS, out);
    case IR_IMM_ALIGN:
        if (!parse_counted(p, "align", out))
            return false;
        *out |= op == IR_LOAD && ir_lex_word(&p->lex, "volatile") ? IR_VOLATILE : 0;
        return true;
    case IR_IMM_FUNC:
        return ir_lex_ref(&p->lex, '@', UINT16_MAX, out) || ir_parse_fail(p, "function expected");
    case IR_IMM_INTRIN: return parse_choice(p, false, intrin_path, IR_N_INTRINS, out);
    case IR_IMM_SITE: return parse_counted(p, "site", out);
    }
    return true;
}
