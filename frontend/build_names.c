/* build_names: globals, free variables and attributes of constants to constants while code is
 * built.
 *
 * The resolver answers with a constant of the module; what it cannot answer becomes an `err`
 * instruction, so that an unknown name in code that never runs is no error. A constant remembers
 * the object it came from and the text that led to it: `color.RED.value` is an attribute of an enum
 * member although the member itself is just a number, and "config.table" names the culprit when
 * config.table turns out to be a list. Paths of the kernel namespace need no resolver. Attributes
 * of what is not constant here, a loop variable for one, stay `attr` for inference. So are len and
 * isinstance, which a match statement calls without a name. */
#include "frontend/build.h"

#include <string.h>

struct build_origin *
build_origin(struct build *b, ir_ref ref)
{
    while (b->origins.len <= ref)
        sp_vec_push(b->arena, &b->origins, (struct build_origin){0});
    return &b->origins.data[ref];
}

/* An array bears the name that it is first found by. */
static ir_const
names_array(struct build *b, ir_const value, const char *text)
{
    struct ir_const_info info = *ir_const_info(b->module, value);
    if (info.kind != IR_C_ARRAY || *info.array_name)
        return value;
    info.array_name = text;
    return ir_const_intern(b->module, &info);
}

static ir_ref
names_found(struct build *b, const struct fe_found *found, const char *text)
{
    ir_ref ref = build_const(b, names_array(b, found->value, text));
    *build_origin(b, ref) = (struct build_origin){.host = found->host, .text = text};
    return ref;
}

/* A variable or a builtin with nearly the unknown name, if no global is near. */
static void
names_suggest(const struct build *b, const char *name, struct sp_diag *diag)
{
    struct ir_suggest suggest;
    ir_suggest_init(&suggest, name);
    for (uint32_t i = 0; i < b->code->n_locals; i++)
        ir_suggest_try(&suggest, b->code->locals[i].name);
    for (int id = IR_INTRIN_NONE + 1; id < IR_N_INTRINS; id++) {
        const char *path = ir_intrin_row((enum ir_intrin)id)->path;
        if (strncmp(path, "builtins.", 9) == 0)
            ir_suggest_try(&suggest, path + 9);
    }
    if (suggest.best[0])
        sp_diag_hint(diag, "did you mean %s?", suggest.best);
    sp_diag_hint(diag, "define it before the first launch, or pass it as an argument");
}

ir_ref
build_global(struct build *b, const char *name)
{
    struct sp_diag diag;
    struct fe_found found = {0};
    sp_diag_init(&diag);
    if (!b->reader->resolver->global(b->reader, b->function, name, &found, &diag)) {
        if (diag.code == SP_E_UNKNOWN_NAME)
            names_suggest(b, name, &diag);
        return build_err_diag(b, &diag);
    }
    return names_found(b, &found, name);
}

ir_ref
build_free_variable(struct build *b, uint32_t local)
{
    uint32_t index = 0;
    for (uint32_t i = 0; i < local; i++)
        index += b->code->locals[i].kind == FE_LOCAL_FREE;
    struct sp_diag diag;
    struct fe_found found = {0};
    sp_diag_init(&diag);
    if (!b->reader->resolver->cell(b->reader, b->function, index, &found, &diag))
        return build_err_diag(b, &diag);
    return names_found(b, &found, b->code->locals[local].name);
}

/* Whether attributes of this constant are the resolver's business. */
static bool
names_has_attributes(const struct ir_const_info *info, const struct build_origin *origin)
{
    if (info->kind == IR_C_ARRAY)
        return false;
    return origin->host || info->kind == IR_C_NAMESPACE || info->kind == IR_C_HOST;
}

ir_ref
build_attribute(struct build *b, ir_ref object, const char *name)
{
    const struct ir_insn *insn = ir_insn(b->func, object);
    ir_const imm = ir_const_str(b->module, name, strlen(name));
    if (insn->op != IR_CONST)
        return build_add(b, IR_ATTR, imm, 1, &object);
    const struct ir_const_info *info = ir_const_info(b->module, insn->imm);
    struct build_origin origin = {0};
    if (object < b->origins.len)
        origin = b->origins.data[object];
    const char *text = sp_arena_printf(b->arena, "%s.%s",
                                       origin.text                    ? origin.text
                                       : info->kind == IR_C_NAMESPACE ? info->str
                                                                      : "(...)",
                                       name);
    struct fe_found found = {0};
    if (info->kind == IR_C_NAMESPACE &&
        ir_path_const(b->module, sp_arena_printf(b->arena, "%s.%s", info->str, name), &found.value))
        return names_found(b, &found, text);
    if (!names_has_attributes(info, &origin))
        return build_add(b, IR_ATTR, imm, 1, &object);
    struct fe_found base = {.value = insn->imm, .host = origin.host};
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!b->reader->resolver->attribute(b->reader, &base, name, &found, &diag))
        return build_err_diag(b, &diag);
    return names_found(b, &found, text);
}

ir_ref
build_callee(struct build *b, ir_ref callee)
{
    const struct ir_insn *insn = ir_insn(b->func, callee);
    if (b->failed || insn->op != IR_CONST || ir_const_info(b->module, insn->imm)->kind != IR_C_HOST)
        return callee;
    struct fe_found base = {.value = insn->imm}, found = {0};
    if (callee < b->origins.len)
        base.host = b->origins.data[callee].host;
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok = b->reader->resolver->attribute(b->reader, &base, "__call__", &found, &diag);
    sp_diag_finish(&diag);
    if (!ok || ir_const_info(b->module, found.value)->kind != IR_C_PARTIAL)
        return callee;
    return names_found(b, &found, "__call__");
}

ir_ref
build_common(struct build *b, enum fe_common common)
{
    struct ir_const_info exception = {.kind = IR_C_EXCEPTION};
    switch (common) {
    case FE_COMMON_ASSERTION_ERROR: exception.str = "AssertionError"; break;
    case FE_COMMON_NOT_IMPLEMENTED_ERROR: exception.str = "NotImplementedError"; break;
    case FE_COMMON_TUPLE:
    case FE_COMMON_ALL:
    case FE_COMMON_ANY:
    case FE_COMMON_LIST:
    case FE_COMMON_SET: /* what a call with a generator expression is compared with, to be a loop */
        return build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_GENEXPR),
                         fe_construct_text(FE_CONSTRUCT_GENEXPR));
    case FE_COMMON_NONE: return build_const(b, ir_const_simple(b->module, IR_C_NONE, 0));
    case FE_COMMON_EMPTY_STR: return build_const(b, ir_const_str(b->module, "", 0));
    case FE_COMMON_TRUE: return build_const(b, ir_const_bool(b->module, true));
    case FE_COMMON_FALSE: return build_const(b, ir_const_bool(b->module, false));
    case FE_COMMON_MINUS_ONE: return build_const(b, ir_const_int(b->module, -1));
    default: build_fail(b, "common constant %d", (int)common); return 0;
    }
    return build_const(b, ir_const_intern(b->module, &exception));
}

static ir_ref
build_builtin(struct build *b, enum ir_intrin id)
{
    return build_const(b, ir_const_simple(b->module, IR_C_INTRIN, id));
}

void
build_length(struct build *b)
{
    ir_ref args[] = {build_builtin(b, IR_INTRIN_LEN), build_peek(b, 1)};
    build_push(b, build_add(b, IR_CALL, 0, 2, args));
}

/* A range is a sequence too: to unpack it is an error, which is better than another case. */
void
build_is_sequence(struct build *b)
{
    ir_const classes[] = {ir_const_simple(b->module, IR_C_INTRIN, IR_INTRIN_TUPLE_),
                          ir_const_simple(b->module, IR_C_INTRIN, IR_INTRIN_RANGE)};
    ir_ref args[] = {build_builtin(b, IR_INTRIN_ISINSTANCE), build_peek(b, 1),
                     build_const(b, ir_const_tuple(b->module, 2, classes))};
    build_push(b, build_add(b, IR_CALL, 0, 3, args));
}
