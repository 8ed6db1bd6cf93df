/* resolve_fixture: functions and names from a text file, so that every step of the front end is
 * tested without Python and for versions that a machine does not have.
 *
 * One item a line, words between blanks:
 *
 *     python 13                       the version; op NAME NUMBER for each of its opcodes
 *     function NAME ... end           a function, with these lines:
 *       counts ARGS POSONLY KWONLY FLAGS STACK LINE
 *       local plain|cell|free NAME    in the order of CPython's index space
 *       name NAME    const VALUE    code HEX    exceptions HEX
 *       position UNITS LINE END_LINE COL END_COL
 *       table HEX
 *       expect OFFSET OPCODE ARG TARGET
 *     global NAME VALUE               what a global or a free variable of that name is
 *     attr OBJECT.NAME VALUE          what an attribute of an object is
 *
 * Values: int N, float HEX, bool True|False, str xHEX, NoneType, ellipsis, tuple N VALUE..., slice
 * VALUE VALUE VALUE, code NAME FUNCTION, object TYPE, path PATH (of the kernel namespace), function
 * NAME. The name that an object has in the file is its host pointer. */
#include "frontend/resolve_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct parse {
    struct fe_fixture *fixture;
    struct fe_fixture_function *function; /* the open one */
    SP_VEC(struct fe_local) locals;
    SP_VEC(const char *) names;
    SP_VEC(struct fe_position) positions;
    const char *line;
    int number;
    struct sp_diag *diag;
};

static bool
parse_fail(struct parse *p, const char *what)
{
    return sp_diag_set(p->diag, SP_E_INTERNAL_ERROR, NULL,
                       sp_arena_printf(p->fixture->arena, "fixture line %d: %s", p->number, what));
}

static const uint8_t *
parse_hex(struct sp_arena *arena, const char *text, uint32_t *size_out)
{
    size_t n = strlen(text) / 2;
    uint8_t *bytes = SP_NEW_N(arena, uint8_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return NULL;
        bytes[i] = (uint8_t)byte;
    }
    *size_out = (uint32_t)n;
    return bytes;
}

static bool
parse_function_line(struct parse *p, const char *key, const char *rest)
{
    struct sp_arena *arena = p->fixture->arena;
    struct fe_code *code = &p->function->code;
    char word[256], name[256];
    if (!strcmp(key, "counts")) {
        unsigned n[5];
        int line;
        if (sscanf(rest, "%u %u %u %u %u %d", &n[0], &n[1], &n[2], &n[3], &n[4], &line) != 6)
            return parse_fail(p, "six numbers are wanted");
        code->n_args = n[0];
        code->n_posonly = n[1];
        code->n_kwonly = n[2];
        code->flags = n[3];
        code->stack_size = n[4];
        code->first_line = line;
    } else if (!strcmp(key, "local")) {
        if (sscanf(rest, "%255s %255s", word, name) != 2)
            return parse_fail(p, "a kind and a name are wanted");
        enum fe_local_kind kind = word[0] == 'f'   ? FE_LOCAL_FREE
                                  : word[0] == 'c' ? FE_LOCAL_CELL
                                                   : FE_LOCAL_PLAIN;
        sp_vec_push(arena, &p->locals, (struct fe_local){sp_arena_strdup(arena, name), kind});
    } else if (!strcmp(key, "name")) {
        sp_vec_push(arena, &p->names, rest);
    } else if (!strcmp(key, "const")) {
        sp_vec_push(arena, &p->function->consts, rest);
    } else if (!strcmp(key, "code")) {
        if (!(code->bytes = parse_hex(arena, rest, &code->size_B)))
            return parse_fail(p, "bytes are wanted");
    } else if (!strcmp(key, "exceptions")) {
        if (!(code->exceptions = parse_hex(arena, rest, &code->exceptions_B)))
            return parse_fail(p, "bytes are wanted");
    } else if (!strcmp(key, "position")) {
        struct fe_position at;
        unsigned units;
        if (sscanf(rest, "%u %d %d %d %d", &units, &at.line, &at.end_line, &at.col, &at.end_col) !=
            5)
            return parse_fail(p, "five numbers are wanted");
        while (units-- > 0)
            sp_vec_push(arena, &p->positions, at);
    } else if (!strcmp(key, "table")) {
        if (!(p->function->table = parse_hex(arena, rest, &p->function->table_B)))
            return parse_fail(p, "bytes are wanted");
    } else if (!strcmp(key, "expect")) {
        struct fe_fixture_expect expect = {0};
        if (sscanf(rest, "%u %255s %d %d", &expect.offset, word, &expect.arg, &expect.target) != 4)
            return parse_fail(p, "four words are wanted");
        expect.opcode = sp_arena_strdup(arena, word);
        sp_vec_push(arena, &p->function->expects, expect);
    } else
        return parse_fail(p, "unknown line");
    return true;
}

static void
parse_function_end(struct parse *p)
{
    struct fe_code *code = &p->function->code;
    code->locals = p->locals.data;
    code->n_locals = p->locals.len;
    code->names = p->names.data;
    code->n_names = p->names.len;
    code->positions = p->positions.data;
    code->n_positions = p->positions.len;
    memset(&p->locals, 0, sizeof p->locals);
    memset(&p->names, 0, sizeof p->names);
    memset(&p->positions, 0, sizeof p->positions);
    p->function = NULL;
}

static bool
parse_line(struct parse *p, const char *key, const char *rest)
{
    struct fe_fixture *fixture = p->fixture;
    struct sp_arena *arena = fixture->arena;
    char name[256];
    unsigned number;
    if (!strcmp(key, "end") && p->function) {
        parse_function_end(p);
    } else if (p->function) {
        return parse_function_line(p, key, rest);
    } else if (!strcmp(key, "python")) {
        if (sscanf(rest, "%u", &number) != 1)
            return parse_fail(p, "a version is wanted");
        fe_version_init(&fixture->version, number);
    } else if (!strcmp(key, "op")) {
        if (sscanf(rest, "%255s %u", name, &number) != 2)
            return parse_fail(p, "a name and a number are wanted");
        fe_version_add(&fixture->version, sp_arena_strdup(arena, name), number);
    } else if (!strcmp(key, "function")) {
        p->function = SP_NEW(arena, struct fe_fixture_function);
        p->function->name = rest;
        p->function->fixture = fixture;
        p->function->code.name = rest;
        p->function->code.file = "k.py";
        p->function->code.version = &fixture->version;
        sp_vec_push(arena, &fixture->functions, p->function);
    } else if (!strcmp(key, "global") || !strcmp(key, "attr")) {
        int used = 0;
        if (sscanf(rest, "%255s %n", name, &used) != 1 || !rest[used])
            return parse_fail(p, "a name and a value are wanted");
        sp_vec_push(arena, &fixture->names,
                    (struct fe_fixture_name){sp_arena_strdup(arena, name), rest + used});
    } else
        return parse_fail(p, "unknown line");
    return true;
}

/* ---- Values ---- */

struct value {
    const struct fe_fixture *fixture; /* NULL: constants of code, without names */
    struct sp_arena *arena;
    struct ir_module *module;
    struct fe_reader *reader;
    const char *at;
    const char *name;          /* of an object: its host pointer */
    const char *code_name;     /* out */
    const char *code_function; /* out: where the file has its code */
};

static bool value_parse(struct value *v, ir_const *out);

static const char *
value_word(struct value *v)
{
    while (*v->at == ' ')
        v->at++;
    size_t len = strcspn(v->at, " ");
    const char *word = sp_arena_strndup(v->arena, v->at, len);
    v->at += len;
    return word;
}

static bool
value_elements(struct value *v, enum ir_const_kind kind, uint32_t n, ir_const *out)
{
    ir_const *elems = SP_NEW_N(v->arena, ir_const, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!value_parse(v, &elems[i]))
            return false;
    *out =
        ir_const_intern(v->module, &(struct ir_const_info){.kind = kind, .len = n, .elems = elems});
    return true;
}

static bool
value_int(struct value *v, ir_const *out)
{
    const char *word = value_word(v);
    int64_t small;
    uint64_t large;
    char back[32];
    if (sscanf(word, "%" SCNd64, &small) != 1)
        return false;
    snprintf(back, sizeof back, "%" PRId64, small);
    if (!strcmp(back, word)) {
        *out = ir_const_int(v->module, small);
        return true;
    }
    if (sscanf(word, "%" SCNu64, &large) != 1)
        return false;
    *out = ir_const_uint(v->module, large);
    return true;
}

static bool
value_object(struct value *v, const char *type, ir_const *out)
{
    struct ir_const_info info = {.kind = IR_C_HOST};
    info.host = v->name ? v->name : type;
    info.type_name = type;
    *out = ir_const_intern(v->module, &info);
    return true;
}

static bool
value_parse(struct value *v, ir_const *out)
{
    const char *kind = value_word(v);
    if (!strcmp(kind, "int"))
        return value_int(v, out);
    if (!strcmp(kind, "float"))
        return *out = ir_const_float(v->module, strtod(value_word(v), NULL)), true;
    if (!strcmp(kind, "bool"))
        return *out = ir_const_bool(v->module, !strcmp(value_word(v), "True")), true;
    if (!strcmp(kind, "NoneType"))
        return *out = ir_const_simple(v->module, IR_C_NONE, 0), true;
    if (!strcmp(kind, "ellipsis"))
        return *out = ir_const_simple(v->module, IR_C_ELLIPSIS, 0), true;
    if (!strcmp(kind, "str")) {
        uint32_t size;
        const uint8_t *bytes = parse_hex(v->arena, value_word(v) + 1, &size);
        if (!bytes)
            return false;
        *out = ir_const_str(v->module, (const char *)bytes, size);
        return true;
    }
    if (!strcmp(kind, "tuple"))
        return value_elements(v, IR_C_TUPLE, (uint32_t)atoi(value_word(v)), out);
    if (!strcmp(kind, "slice"))
        return value_elements(v, IR_C_SLICE, 3, out);
    if (!strcmp(kind, "code")) {
        v->code_name = value_word(v);
        v->code_function = value_word(v);
        return value_object(v, "code", out);
    }
    if (!strcmp(kind, "object"))
        return value_object(v, value_word(v), out);
    if (!strcmp(kind, "exception")) {
        struct ir_const_info info = {.kind = IR_C_EXCEPTION, .str = value_word(v)};
        *out = ir_const_intern(v->module, &info);
        return true;
    }
    if (!strcmp(kind, "path"))
        return ir_path_const(v->module, value_word(v), out);
    const struct fe_fixture_function *function =
        v->fixture && !strcmp(kind, "function") ? fe_fixture_find(v->fixture, value_word(v)) : NULL;
    if (!function)
        return false;
    *out = ir_const_simple(v->module, IR_C_FUNC, v->reader->resolver->add(v->reader, function));
    return true;
}

bool
fe_fixture_code(const struct fe_fixture_function *function, struct sp_arena *arena,
                struct ir_module *module, struct fe_code *code_out, struct sp_diag *diag)
{
    uint32_t n = function->consts.len;
    struct fe_code_const *consts = SP_NEW_N(arena, struct fe_code_const, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct value v = {.arena = arena, .module = module, .at = function->consts.data[i]};
        if (!value_parse(&v, &consts[i].value))
            return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL,
                               sp_arena_printf(arena, "no constant: %s", function->consts.data[i]));
        consts[i].code_name = v.code_name;
        const struct fe_fixture_function *nested =
            v.code_function ? fe_fixture_find(function->fixture, v.code_function) : NULL;
        struct fe_code *code = SP_NEW(arena, struct fe_code);
        if (nested && nested != function && !fe_fixture_code(nested, arena, module, code, diag))
            return false;
        consts[i].code = nested && nested != function ? code : NULL;
    }
    *code_out = function->code;
    code_out->consts = consts;
    code_out->n_consts = n;
    return true;
}

/* ---- The resolver ---- */

static uint32_t
fixture_add(struct fe_reader *reader, const void *host)
{
    const struct fe_fixture_function *function = host;
    return fe_reader_add(reader, &host, sizeof host, function->name, host);
}

static bool
fixture_function(struct fe_reader *reader, const void *host, struct fe_function *function_out,
                 struct sp_diag *diag)
{
    function_out->host = host;
    return fe_fixture_code(host, reader->arena, reader->module, &function_out->code, diag);
}

/* The value of the file's name, if it has one. */
static bool
fixture_look(struct fe_reader *reader, const char *name, struct fe_found *found_out)
{
    const struct fe_fixture *fixture = reader->resolver->context;
    for (uint32_t i = 0; i < fixture->names.len; i++) {
        const struct fe_fixture_name *entry = &fixture->names.data[i];
        struct value v = {.fixture = fixture,
                          .arena = reader->arena,
                          .module = reader->module,
                          .reader = reader,
                          .at = entry->value,
                          .name = entry->name};
        if (!strcmp(entry->name, name) && value_parse(&v, &found_out->value)) {
            found_out->host = entry->name;
            return true;
        }
    }
    return false;
}

static bool
fixture_global(struct fe_reader *reader, const struct fe_function *function, const char *name,
               struct fe_found *found_out, struct sp_diag *diag)
{
    (void)function;
    if (fixture_look(reader, name, found_out) ||
        ir_path_const(reader->module, sp_arena_printf(reader->arena, "builtins.%s", name),
                      &found_out->value))
        return true;
    return sp_diag_set(diag, SP_E_UNKNOWN_NAME, NULL, name);
}

static bool
fixture_cell(struct fe_reader *reader, const struct fe_function *function, uint32_t index,
             struct fe_found *found_out, struct sp_diag *diag)
{
    for (uint32_t i = 0; i < function->code.n_locals; i++) {
        const struct fe_local *local = &function->code.locals[i];
        if (local->kind != FE_LOCAL_FREE || index-- > 0)
            continue;
        return fixture_look(reader, local->name, found_out) ||
               sp_diag_set(diag, SP_E_UNDEFINED_VARIABLE, NULL, local->name);
    }
    return sp_diag_set(diag, SP_E_UNDEFINED_VARIABLE, NULL, "?");
}

static bool
fixture_attribute(struct fe_reader *reader, const struct fe_found *object, const char *name,
                  struct fe_found *found_out, struct sp_diag *diag)
{
    const char *host = object->host ? object->host : "?";
    const char *path = sp_arena_printf(reader->arena, "%s.%s", host, name);
    return fixture_look(reader, path, found_out) ||
           sp_diag_set(diag, SP_E_UNKNOWN_ATTRIBUTE, NULL,
                       sp_arena_printf(reader->arena, "'%s'", host), name);
}

const struct fe_fixture_function *
fe_fixture_find(const struct fe_fixture *fixture, const char *name)
{
    for (uint32_t i = 0; i < fixture->functions.len; i++)
        if (!strcmp(fixture->functions.data[i]->name, name))
            return fixture->functions.data[i];
    return NULL;
}

bool
fe_fixture_parse(const char *text, struct sp_arena *arena, struct fe_fixture **fixture_out,
                 struct sp_diag *diag)
{
    struct fe_fixture *fixture = SP_NEW(arena, struct fe_fixture);
    fixture->arena = arena;
    fixture->resolver = (struct fe_resolver){
        .context = fixture,
        .add = fixture_add,
        .function = fixture_function,
        .global = fixture_global,
        .cell = fixture_cell,
        .attribute = fixture_attribute,
    };
    struct parse p = {.fixture = fixture, .diag = diag};
    while (*text) {
        size_t len = strcspn(text, "\n"), key_len = strcspn(text, " \n");
        const char *key = sp_arena_strndup(arena, text, key_len);
        const char *rest = sp_arena_strndup(arena, text + key_len + (key_len < len),
                                            len - key_len - (key_len < len));
        p.number++;
        if (len && !parse_line(&p, key, rest))
            return false;
        text += len + (text[len] == '\n');
    }
    if (p.function)
        return parse_fail(&p, "a function without end");
    *fixture_out = fixture;
    return true;
}
