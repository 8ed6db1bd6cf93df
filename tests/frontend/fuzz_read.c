/* fuzz_read: any bytes as a code object, through decoder, blocks and builder.
 *
 * In: a head of counts (tests/frontend/fixtures.py writes seeds), the exception table, code units.
 * Out: nothing; an error is a value, a module must pass the verifier and give its text twice. Names
 * and constants are of every kind, chosen by their number, so that a mutated index still means
 * something. */
#include <stdio.h>
#include <string.h>

#include "frontend/fe.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD_B = 11 };

static const struct {
    unsigned minor;
    const char *name;
    unsigned number;
} opcodes[] = {
#define OPCODE(minor, name, number) {minor, name, number},
#include "opmaps.inc"
};

static const char *const names[] = {
    "gpu",   "threadIdx", "x", "math",  "sqrt",  "range",
    "value", "print",     "f", "table", "shape", "float",
};
enum { N_NAMES = sizeof names / sizeof *names };

struct input {
    struct fe_version version;
    const uint8_t *bytes;
    size_t size_B;
};

static void
fill_consts(struct ir_module *module, struct fe_code_const *consts, uint32_t n)
{
    ir_const parts[3] = {ir_const_int(module, 1), ir_const_str(module, "x", 1),
                         ir_const_str(module, "y", 1)};
    struct ir_const_info host = {.kind = IR_C_HOST};
    host.host = names;
    host.type_name = "code";
    for (uint32_t i = 0; i < n; i++) {
        ir_const value;
        switch (i % 8) {
        case 0: value = ir_const_simple(module, IR_C_NONE, 0); break;
        case 1: value = ir_const_int(module, i); break;
        case 2: value = ir_const_float(module, i / 2.0); break;
        case 3: value = ir_const_tuple(module, 2, parts + 1); break;
        case 4: value = ir_const_intern(module, &host); break;
        case 5: value = ir_const_tuple(module, 3, parts); break;
        case 6: value = ir_const_bool(module, true); break;
        default: value = ir_const_tuple(module, 1, parts + 1); break;
        }
        consts[i] = (struct fe_code_const){value, i % 8 == 4 ? "<lambda>" : NULL, NULL};
    }
}

static bool
fuzz_function(struct fe_reader *reader, const void *host, struct fe_function *function_out,
              struct sp_diag *diag)
{
    const struct input *input = host;
    const uint8_t *head = input->bytes;
    struct sp_arena *arena = reader->arena;
    struct fe_code *code = &function_out->code;
    uint32_t n_cells = head[6] >> 4, n_free = head[6] & 15, n_positions = 4;
    (void)diag;
    code->version = &input->version;
    code->name = "fuzz";
    code->first_line = 1;
    code->n_args = head[1];
    code->n_kwonly = head[2];
    code->flags = head[3] & ~0x20u;
    code->stack_size = head[4];
    code->n_locals = head[5];
    struct fe_local *locals = SP_NEW_N(arena, struct fe_local, code->n_locals + 1);
    for (uint32_t i = 0; i < code->n_locals; i++)
        locals[i] =
            (struct fe_local){names[i % N_NAMES], i + n_free >= code->n_locals ? FE_LOCAL_FREE
                                                  : i < n_cells                ? FE_LOCAL_CELL
                                                                               : FE_LOCAL_PLAIN};
    code->locals = locals;
    code->n_names = head[7];
    const char **list = SP_NEW_N(arena, const char *, code->n_names + 1);
    for (uint32_t i = 0; i < code->n_names; i++)
        list[i] = names[i % N_NAMES];
    code->names = list;
    struct fe_code_const *consts = SP_NEW_N(arena, struct fe_code_const, head[8] + 1);
    fill_consts(reader->module, consts, head[8]);
    code->consts = consts;
    code->n_consts = head[8];
    size_t rest_B = input->size_B - HEAD_B;
    code->exceptions_B = head[9] | (uint32_t)head[10] << 8;
    if (code->exceptions_B > rest_B)
        code->exceptions_B = (uint32_t)rest_B;
    code->exceptions = input->bytes + HEAD_B;
    code->bytes = code->exceptions + code->exceptions_B;
    code->size_B = (uint32_t)(rest_B - code->exceptions_B);
    struct fe_position *positions = SP_NEW_N(arena, struct fe_position, n_positions);
    for (uint32_t i = 0; i < n_positions; i++)
        positions[i] = (struct fe_position){1, 1, (int32_t)i, (int32_t)i + 1};
    code->positions = positions;
    code->n_positions = n_positions;
    /* What it defines is the same code again, which then defines nothing. */
    struct fe_code *inner = sp_arena_copy(arena, code, sizeof *code);
    inner->consts = sp_arena_copy(arena, consts, (code->n_consts + 1) * sizeof *consts);
    for (uint32_t i = 0; i < code->n_consts; i++)
        if (consts[i].code_name)
            consts[i].code = inner;
    return true;
}

static uint32_t
fuzz_add(struct fe_reader *reader, const void *host)
{
    return fe_reader_add(reader, &host, sizeof host, "fuzz", host);
}

static bool
fuzz_look(struct fe_reader *reader, const char *name, struct fe_found *found_out,
          struct sp_diag *diag)
{
    const struct input *input = reader->resolver->context;
    found_out->host = NULL;
    if (!strcmp(name, "f")) {
        found_out->value = ir_const_simple(reader->module, IR_C_FUNC, fuzz_add(reader, input));
        return true;
    }
    if (!strcmp(name, "table") || !strcmp(name, "value")) {
        struct ir_const_info info = {.kind = IR_C_HOST};
        info.host = name;
        info.type_name = "list";
        found_out->value = ir_const_intern(reader->module, &info);
        found_out->host = name;
        return true;
    }
    if (ir_path_const(reader->module, name, &found_out->value) ||
        ir_path_const(reader->module, sp_arena_printf(reader->arena, "builtins.%s", name),
                      &found_out->value))
        return true;
    return sp_diag_set(diag, SP_E_UNKNOWN_NAME, NULL, name);
}

static bool
fuzz_global(struct fe_reader *reader, const struct fe_function *function, const char *name,
            struct fe_found *found_out, struct sp_diag *diag)
{
    (void)function;
    return fuzz_look(reader, name, found_out, diag);
}

static bool
fuzz_cell(struct fe_reader *reader, const struct fe_function *function, uint32_t index,
          struct fe_found *found_out, struct sp_diag *diag)
{
    (void)function;
    return fuzz_look(reader, names[index % N_NAMES], found_out, diag);
}

static bool
fuzz_attribute(struct fe_reader *reader, const struct fe_found *object, const char *name,
               struct fe_found *found_out, struct sp_diag *diag)
{
    (void)object;
    return fuzz_look(reader, name, found_out, diag);
}

static void
check_module(struct ir_module *module)
{
    struct sp_arena arena;
    struct sp_diag diag;
    struct sp_str text, again;
    struct ir_module *parsed;
    sp_diag_init(&diag);
    sp_arena_init(&arena);
    sp_str_init(&text);
    sp_str_init(&again);
    ir_print(module, &text);
    if (!ir_verify(module, &diag) || !ir_parse(text.data, &arena, &parsed, &diag)) {
        fprintf(stderr, "%s\n%s\n", text.data, diag.message);
        abort();
    }
    ir_print(parsed, &again);
    if (strcmp(text.data, again.data) != 0) {
        fprintf(stderr, "%s\nprints again as\n%s\n", text.data, again.data);
        abort();
    }
    ir_module_finish(parsed);
    sp_str_finish(&text);
    sp_str_finish(&again);
    sp_arena_finish(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    if (size_B < HEAD_B)
        return 0;
    struct input input = {.bytes = bytes, .size_B = size_B};
    struct sp_arena arena;
    struct sp_diag diag;
    struct ir_module *module;
    unsigned minor = bytes[0] >= 11 && bytes[0] <= 15 ? bytes[0] : 11 + bytes[0] % 5u;
    fe_version_init(&input.version, minor);
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (opcodes[i].minor == minor)
            fe_version_add(&input.version, opcodes[i].name, opcodes[i].number);
    const struct fe_resolver resolver = {
        .context = &input,
        .add = fuzz_add,
        .function = fuzz_function,
        .global = fuzz_global,
        .cell = fuzz_cell,
        .attribute = fuzz_attribute,
    };
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    if (fe_read(&arena, &resolver, &input, NULL, &module, &diag)) {
        check_module(module);
        ir_module_finish(module);
    } else {
        if (diag.code == SP_OK || !diag.message)
            abort();
        sp_diag_finish(&diag);
    }
    sp_arena_finish(&arena);
    return 0;
}
