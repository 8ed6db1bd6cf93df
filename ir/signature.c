/* signature: "int, float32[:, ::1]" to argument types and back. The grammar is in docs/ir.md.
 *
 * A recursive descent over the characters. Besides our own names the short ones of NumPy and Numba
 * are taken ("i4", "f8", "double"), and Numba's forms: "void(...)", "types.int32",
 * "UniTuple(int32, 3)", "Tuple((int32, float32))", "Array(float32, 2, 'C')". Printing gives the
 * canonical spelling, which parses to the same types. An error says what is wrong and at which
 * character. Alignment is the element's own: a signature knows nothing of addresses. */
#include "ir/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SIGNATURE_MAX_ARGS 1024
#define SIGNATURE_MAX_DEPTH 16

static const struct {
    const char *name;
    ir_type scalar;
} aliases[] = {
    {"b1", IR_T_BOOL},       {"boolean", IR_T_BOOL},   {"i1", IR_T_INT8},
    {"i2", IR_T_INT16},      {"i4", IR_T_INT32},       {"i8", IR_T_INT64},
    {"u1", IR_T_UINT8},      {"u2", IR_T_UINT16},      {"u4", IR_T_UINT32},
    {"u8", IR_T_UINT64},     {"f2", IR_T_FLOAT16},     {"f4", IR_T_FLOAT32},
    {"f8", IR_T_FLOAT64},    {"intc", IR_T_INT32},     {"uintc", IR_T_UINT32},
    {"intp", IR_T_INT64},    {"uintp", IR_T_UINT64},   {"double", IR_T_FLOAT64},
    {"bool_", IR_T_BOOL},    {"byte", IR_T_UINT8},     {"char", IR_T_INT8},
    {"uchar", IR_T_UINT8},   {"short", IR_T_INT16},    {"ushort", IR_T_UINT16},
    {"int_", IR_T_INT64},    {"uint", IR_T_UINT64},    {"long_", IR_T_INT64},
    {"ulong", IR_T_UINT64},  {"longlong", IR_T_INT64}, {"ulonglong", IR_T_UINT64},
    {"ssize_t", IR_T_INT64}, {"size_t", IR_T_UINT64},
};

/* Modules that a type's name may be written with. */
static const char *const modules[] = {"gpu.", "cuda.", "types.", "numba.", "nb.", "np.", "numpy."};

struct signature {
    const char *text, *at;
    bool has_result; /* of a device function */
    struct sp_arena *arena;
    struct sp_diag *diag;
    SP_VEC(struct ir_argtype) args;
};

static bool __attribute__((format(printf, 3, 4)))
signature_fail(const struct signature *s, const char *at, const char *format, ...)
{
    char text[200];
    size_t len;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text - 40, format, args);
    va_end(args);
    len = strlen(text);
    snprintf(text + len, sizeof text - len, " (at character %d)", (int)(at - s->text) + 1);
    return sp_diag_set(s->diag, SP_E_BAD_SIGNATURE, NULL, s->text, text);
}

static bool
parse_scalar(struct signature *s, ir_type *out)
{
    size_t len = ir_text_word(&s->at);
    if (!len && !*s->at)
        return signature_fail(s, s->at, "a type is missing");
    if (!len)
        return signature_fail(s, s->at, "a type must stand here, not '%c'", *s->at);
    ir_type type = ir_scalar_by_name(s->at, len);
    for (size_t i = 0; !type && i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].name) == len && memcmp(aliases[i].name, s->at, len) == 0)
            type = aliases[i].scalar;
    if (!type) {
        signature_fail(s, s->at, "unknown type '%.*s'", (int)(len < 40 ? len : 40), s->at);
        return sp_diag_hint(
            s->diag, "types are bool, int, int8 to int64, uint8 to uint64, float, "
                     "float16, bfloat16, float32, float64, and arrays of them such as float32[:]");
    }
    s->at += len;
    *out = type;
    return true;
}

/* After '['. Sets rank and layout. */
static bool
parse_axes(struct signature *s, struct ir_argtype *arg)
{
    uint32_t dense = UINT32_MAX; /* the axis marked ::1 */
    const char *dense_at = NULL;
    uint32_t rank = 0;
    ir_text_blank(&s->at);
    if (ir_text_take(&s->at, "]"))
        return true; /* no axes */
    do {
        if (rank == IR_MAX_RANK)
            return signature_fail(s, s->at, "more than %d dimensions", IR_MAX_RANK);
        ir_text_blank(&s->at);
        const char *at = s->at;
        if (ir_text_take(&s->at, "::")) {
            if (!ir_text_take(&s->at, "1"))
                return signature_fail(s, s->at, "'::1' is the only step");
            if (dense != UINT32_MAX)
                return signature_fail(s, at, "a second '::1'");
            dense = rank;
            dense_at = at;
        } else if (!ir_text_take(&s->at, ":")) {
            return signature_fail(s, s->at, "':' or '::1' expected");
        }
        rank++;
    } while (ir_text_take(&s->at, ","));
    if (!ir_text_take(&s->at, "]"))
        return signature_fail(s, s->at, "']' expected");
    if (dense != UINT32_MAX && dense != 0 && dense != rank - 1)
        return signature_fail(s, dense_at, "'::1' must be the first or the last dimension");
    arg->rank = (uint8_t)rank;
    arg->layout = dense == UINT32_MAX ? IR_LAYOUT_ANY
                  : dense == rank - 1 ? IR_LAYOUT_C
                                      : IR_LAYOUT_F;
    return true;
}

static bool parse_arg(struct signature *s, int depth);

/* After '('. */
static bool
parse_tuple(struct signature *s, int depth)
{
    uint32_t head = s->args.len, n = 0;
    sp_vec_push(s->arena, &s->args, (struct ir_argtype){.kind = IR_ARG_TUPLE});
    if (depth == SIGNATURE_MAX_DEPTH)
        return signature_fail(s, s->at, "tuples nested too deeply");
    while (!ir_text_take(&s->at, ")")) {
        if (!parse_arg(s, depth + 1))
            return false;
        n++;
        if (ir_text_take(&s->at, ","))
            continue;
        if (!ir_text_take(&s->at, ")"))
            return signature_fail(s, s->at, "',' or ')' expected");
        break;
    }
    s->args.data[head].n_elems = (uint16_t)n;
    return true;
}

/* A storable type that is no scalar, by its text in canonical form. */
static bool
parse_storable(struct signature *s, struct ir_argtype *arg)
{
    struct ir_module *module = ir_module_new(s->arena, IR_PHASE_PY);
    const char *end, *wrong;
    ir_type type;
    bool ok = ir_storable_parse(module, s->at, &end, &type, &wrong);
    if (ok) {
        struct sp_str text;
        sp_str_init(&text);
        ir_text_storable(module, type, &text);
        arg->elem = sp_arena_strndup(s->arena, text.data, text.len);
        arg->align_log2 = (uint8_t)ir_storable_align(module, type);
        sp_str_finish(&text);
        s->at = end;
    }
    ir_module_finish(module);
    return ok || signature_fail(s, end, "%s", wrong);
}

static bool
parse_elem(struct signature *s, struct ir_argtype *arg, ir_type *type_out)
{
    size_t len = ir_text_word(&s->at);
    if (len == 6 && !strncmp(s->at, "record(", 7))
        return parse_storable(s, arg);
    if (!parse_scalar(s, type_out))
        return false;
    arg->align_log2 = (uint8_t)__builtin_ctz(ir_scalar_row(*type_out)->bits / 8u);
    return true;
}

static bool
parse_check_size(struct signature *s, const char *start, const struct ir_argtype *arg)
{
    uint32_t size_B = 0, align;
    return (ir_storable_of_text(arg->elem, &size_B, &align) &&
            size_B <= IR_MAX_RECORD_ARGUMENT_B) ||
           signature_fail(s, start, "a record of more than %d bytes by value",
                          IR_MAX_RECORD_ARGUMENT_B);
}

static bool
parse_check_width(struct signature *s, const char *start, ir_type type)
{
    const struct ir_scalar_row *row = ir_scalar_row(type);
    if (!row->weak)
        return true;
    signature_fail(s, start, "the elements of an array have a width, '%s' has none", row->name);
    return sp_diag_hint(s->diag, "write %s64[...]", row->name);
}

/* "types.", "numba.types.", "np." before a name say nothing more. */
static void
skip_modules(struct signature *s)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (ir_text_take(&s->at, modules[i]))
            i = (size_t)-1; /* once more, for the next one */
}

/* A word with "(" behind it; takes both. */
static bool
take_call(struct signature *s, const char *word)
{
    const char *start = s->at;
    if (ir_text_word(&s->at) == strlen(word) && ir_text_take(&s->at, word) &&
        ir_text_take(&s->at, "("))
        return true;
    s->at = start;
    return false;
}

/* A number of at most `most`; 0 with an error at none. */
static uint32_t
parse_number(struct signature *s, uint32_t most)
{
    uint32_t n = 0;
    ir_text_blank(&s->at);
    const char *start = s->at;
    while (*s->at >= '0' && *s->at <= '9' && n <= most)
        n = n * 10 + (uint32_t)(*s->at++ - '0');
    if (s->at == start || n == 0 || n > most) {
        (void)signature_fail(s, start, "a number from 1 to %u must stand here", most);
        return 0;
    }
    return n;
}

/* After "UniTuple(": an element's type, a comma and how many there are. */
static bool
parse_uniform(struct signature *s, int depth)
{
    uint32_t head = s->args.len;
    sp_vec_push(s->arena, &s->args, (struct ir_argtype){.kind = IR_ARG_TUPLE});
    if (depth == SIGNATURE_MAX_DEPTH)
        return signature_fail(s, s->at, "tuples nested too deeply");
    if (!parse_arg(s, depth + 1))
        return false;
    if (!ir_text_take(&s->at, ",") && !ir_text_take(&s->at, "x"))
        return signature_fail(s, s->at, "',' and the number of elements expected");
    uint32_t n = parse_number(s, SIGNATURE_MAX_ARGS), n_each = s->args.len - head - 1;
    if (!n)
        return false;
    if ((uint64_t)n * n_each + head >= SIGNATURE_MAX_ARGS)
        return signature_fail(s, s->at, "too many arguments");
    for (uint32_t i = n_each; i < n * n_each; i++) {
        struct ir_argtype again = s->args.data[head + 1 + i - n_each];
        sp_vec_push(s->arena, &s->args, again);
    }
    s->args.data[head].n_elems = (uint16_t)n;
    return ir_text_take(&s->at, ")") || signature_fail(s, s->at, "')' expected");
}

/* After "Array(", as in Array(float32, 2, 'C') and array(float32, 2d, C). */
static bool
parse_named_array(struct signature *s)
{
    ir_type dtype = IR_T_NONE;
    struct ir_argtype arg = {.kind = IR_ARG_ARRAY};
    skip_modules(s);
    ir_text_blank(&s->at);
    const char *start = s->at;
    if (!parse_elem(s, &arg, &dtype) || (!arg.elem && !parse_check_width(s, start, dtype)))
        return false;
    arg.dtype = (uint16_t)dtype;
    if (!ir_text_take(&s->at, ","))
        return signature_fail(s, s->at, "',' and the number of dimensions expected");
    arg.rank = (uint8_t)parse_number(s, IR_MAX_RANK);
    if (!arg.rank)
        return false;
    (void)ir_text_take(&s->at, "d");
    if (!ir_text_take(&s->at, ","))
        return signature_fail(s, s->at, "',' and the layout expected");
    bool quoted = ir_text_take(&s->at, "'") || ir_text_take(&s->at, "\"");
    if (ir_text_take(&s->at, "C"))
        arg.layout = IR_LAYOUT_C;
    else if (ir_text_take(&s->at, "F"))
        arg.layout = IR_LAYOUT_F;
    else if (ir_text_take(&s->at, "A"))
        arg.layout = IR_LAYOUT_ANY;
    else
        return signature_fail(s, s->at, "the layout is C, F or A");
    if (quoted && !ir_text_take(&s->at, "'") && !ir_text_take(&s->at, "\""))
        return signature_fail(s, s->at, "the quote is not closed");
    if (arg.rank == 1 && arg.layout == IR_LAYOUT_F)
        arg.layout = IR_LAYOUT_C;
    sp_vec_push(s->arena, &s->args, arg);
    return ir_text_take(&s->at, ")") || signature_fail(s, s->at, "')' expected");
}

/* Adds an argument with all its elements. */
static bool
parse_arg(struct signature *s, int depth)
{
    struct ir_argtype arg = {.kind = IR_ARG_SCALAR, .layout = IR_LAYOUT_C};
    ir_type type = IR_T_NONE;
    ir_text_blank(&s->at);
    const char *start = s->at;
    if (s->args.len >= SIGNATURE_MAX_ARGS)
        return signature_fail(s, s->at, "too many arguments");
    if (ir_text_take(&s->at, "("))
        return parse_tuple(s, depth);
    skip_modules(s);
    if (take_call(s, "UniTuple"))
        return parse_uniform(s, depth);
    if (take_call(s, "Tuple")) {
        if (!ir_text_take(&s->at, "("))
            return signature_fail(s, s->at, "write Tuple((int32, float32))");
        return parse_tuple(s, depth) &&
               (ir_text_take(&s->at, ")") || signature_fail(s, s->at, "')' expected"));
    }
    if (take_call(s, "Array") || take_call(s, "array"))
        return parse_named_array(s);
    if (!parse_elem(s, &arg, &type))
        return false;
    arg.dtype = (uint16_t)type;
    if (ir_text_take(&s->at, "[")) {
        if (!arg.elem && !parse_check_width(s, start, type))
            return false;
        arg.kind = IR_ARG_ARRAY;
        if (!parse_axes(s, &arg))
            return false;
        ir_text_blank(&s->at);
        if (*s->at == '[')
            return signature_fail(s, s->at, "arrays of arrays do not exist");
    } else if (arg.elem && !parse_check_size(s, start, &arg)) {
        return false;
    } else {
        arg.align_log2 = 0;
    }
    sp_vec_push(s->arena, &s->args, arg);
    return true;
}

/* Whether the parenthesis here is closed by the last character. */
static bool
closes_at_end(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at == ')' && depth == 0)
            return at[1 + strspn(at + 1, " \t\r\n")] == '\0';
    }
    return true; /* never closed: an error where it is missed */
}

/* "float32(", "(int, int)(" of a device function: a type that '(' follows is the result's. */
static bool
parse_result(struct signature *s, bool *inside)
{
    const char *start = s->at;
    ir_text_blank(&s->at);
    if (!*s->at)
        return true;
    if (!parse_arg(s, 0))
        return false;
    *inside = ir_text_take(&s->at, "(");
    s->args.len = 0;
    if (!*inside)
        s->at = start;
    return true;
}

/* Words that "(" follows in a type. */
static bool
is_form(const char *word, size_t len)
{
    static const char *const forms[] = {"UniTuple", "Tuple", "Array", "array", "record"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i]) == len && !memcmp(forms[i], word, len))
            return true;
    return false;
}

/* Takes "void(" or "(", whose ')' must then end the text; else "(" begins a tuple. */
static bool
parse_open(struct signature *s, bool *inside)
{
    skip_modules(s);
    size_t len = ir_text_word(&s->at);
    const char *start = s->at;
    const char *after = start + len + strspn(start + len, " \t\r\n");
    *inside = *after == '(' && (len || closes_at_end(after)) && !is_form(start, len);
    bool is_void = len == 4 && (!memcmp(start, "void", 4) || !memcmp(start, "None", 4) ||
                                !memcmp(start, "none", 4));
    if (s->has_result && !(*inside && (is_void || !len)))
        return parse_result(s, inside);
    if (!*inside)
        return true;
    if (len && !is_void)
        return signature_fail(s, start, "a kernel returns nothing, not '%.*s'",
                              (int)(len < 40 ? len : 40), start);
    s->at = after + 1;
    return true;
}

static bool
signature_parse(const char *text, bool has_result, struct sp_arena *arena,
                struct ir_argtype **args_out, uint32_t *n_out, struct sp_diag *diag)
{
    struct signature s = {
        .text = text, .at = text, .has_result = has_result, .arena = arena, .diag = diag};
    bool inside = false;
    if (!parse_open(&s, &inside))
        return false;
    for (;;) {
        ir_text_blank(&s.at);
        if (!*s.at || *s.at == ')')
            break;
        if (!parse_arg(&s, 0))
            return false;
        if (ir_text_take(&s.at, ","))
            continue;
        if (*s.at && *s.at != ')')
            return signature_fail(&s, s.at, "',' expected");
        break;
    }
    if (inside && !ir_text_take(&s.at, ")"))
        return signature_fail(&s, s.at, "')' expected");
    ir_text_blank(&s.at);
    if (*s.at)
        return signature_fail(&s, s.at, "nothing more expected");
    *args_out = s.args.data;
    *n_out = s.args.len;
    return true;
}

bool
ir_signature_parse(const char *text, struct sp_arena *arena, struct ir_argtype **args_out,
                   uint32_t *n_out, struct sp_diag *diag)
{
    return signature_parse(text, false, arena, args_out, n_out, diag);
}

bool
ir_signature_parse_device(const char *text, struct sp_arena *arena, struct ir_argtype **args_out,
                          uint32_t *n_out, struct sp_diag *diag)
{
    return signature_parse(text, true, arena, args_out, n_out, diag);
}

uint32_t
ir_argtype_end(const struct ir_argtype *args, uint32_t i)
{
    uint32_t left = 1;
    while (left) {
        left += args[i].kind == IR_ARG_TUPLE ? args[i].n_elems : 0u;
        left--;
        i++;
    }
    return i;
}

ir_type
ir_argtype_elem(struct ir_module *module, const struct ir_argtype *arg)
{
    const char *end, *wrong;
    ir_type type = IR_T_NONE;
    if (!arg->elem)
        return arg->dtype;
    bool ok = ir_storable_parse(module, arg->elem, &end, &type, &wrong);
    assert(ok && "whoever made the argument printed its type");
    (void)ok;
    return type;
}

uint32_t
ir_argtypes_count(const struct ir_argtype *args, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i = ir_argtype_end(args, i))
        count++;
    return count;
}

static void
print_arg(const struct ir_argtype *args, uint32_t i, struct sp_str *out)
{
    const struct ir_argtype *arg = &args[i];
    if (arg->kind == IR_ARG_OBJECT) {
        sp_str_add(out, "object");
        return;
    }
    if (arg->kind == IR_ARG_TUPLE) {
        sp_str_add_char(out, '(');
        uint32_t at = i + 1;
        for (uint32_t k = 0; k < arg->n_elems; k++, at = ir_argtype_end(args, at)) {
            sp_str_add(out, k ? ", " : "");
            print_arg(args, at, out);
        }
        sp_str_add(out, arg->n_elems == 1 ? ",)" : ")");
        return;
    }
    sp_str_add(out, arg->elem ? arg->elem : ir_scalar_row(arg->dtype)->name);
    if (arg->kind == IR_ARG_ARRAY)
        ir_text_axes(arg->rank, (enum ir_layout)arg->layout, out);
}

void
ir_signature_print(const struct ir_argtype *args, uint32_t n, struct sp_str *out)
{
    for (uint32_t i = 0; i < n; i = ir_argtype_end(args, i)) {
        sp_str_add(out, i ? ", " : "");
        print_arg(args, i, out);
    }
}
