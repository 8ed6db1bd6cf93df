/* build_error: what hand-made code and code that kernels may not hold become while code is built.
 *
 * A fault of the code itself ends building with its diagnostic (build_fail). What a kernel may not
 * do is an `err` instruction with a diagnostic of the function's, which counts only if inference
 * finds it executable; so is a host object where a value of the device is needed, with what to
 * write instead. */
#include "frontend/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct sp_src
build_src(const struct build *b)
{
    struct fe_position at = fe_position_of(b->code, b->unit);
    return (struct sp_src){.file = b->code->file,
                           .function = b->code->name,
                           .line = at.line,
                           .end_line = at.end_line,
                           .col = at.col,
                           .end_col = at.end_col};
}

void
build_fail(struct build *b, const char *format, ...)
{
    if (b->failed)
        return;
    char reason[128];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    fe_bad_code(b->code, b->unit, b->diag, "%s", reason);
    b->failed = true;
}

ir_ref
build_err_diag(struct build *b, struct sp_diag *diag)
{
    struct sp_src where = build_src(b);
    sp_diag_place(diag, &where);
    uint32_t number = b->func->errors.len;
    sp_vec_push(b->module->arena, &b->func->errors, *diag);
    return build_add(b, IR_ERR, number, 0, NULL);
}

/* The codes used here take one text. */
ir_ref
build_err(struct build *b, enum sp_error code, const char *hint, ...)
{
    va_list args;
    va_start(args, hint);
    const char *text = va_arg(args, const char *);
    va_end(args);
    struct sp_src where = build_src(b);
    struct sp_diag diag;
    sp_diag_init(&diag);
    sp_diag_set(&diag, code, &where, text);
    if (hint)
        sp_diag_hint(&diag, "%s", hint);
    return build_err_diag(b, &diag);
}

/* What to write instead of an object of this type, which the source calls `text`. */
static const char *
build_host_hint(struct build *b, const char *type, const char *text)
{
    static const char *const hints[][2] = {
        {"ndarray",
         "pass the array to the kernel as an argument: constants are arrays of bool, int8 to "
         "uint64 and float16 to float64 up to 1 MiB"},
        {"Array", "pass the array to the kernel as an argument"},
        {"list", "make it a tuple, or an array that is passed to the kernel"},
        {"dict", "use tuples, or arrays that are passed to the kernel"},
        {"set", "use a tuple, or an array that is passed to the kernel"},
        {"type", "a kernel makes no objects: use numbers and tuples"},
        {"builtin_function_or_method",
         "a kernel calls functions that are written in Python, those of math and gpu"},
    };
    if (!strcmp(type, "ufunc") || !strcmp(type, "_ArrayFunctionDispatcher")) {
        char *hint = SP_NEW_N(b->arena, char, 200);
        return ir_suggest_name("numpy", text ? text : "", hint, 200) ? hint : "";
    }
    if (text && !strncmp(text, "time.", 5))
        return "measure on the host, with gpu.synchronize() before each reading of the clock";
    if (text && !strncmp(text, "random.", 7))
        return "make random numbers on the host and pass an array";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(type, hints[i][0]) == 0)
            return hints[i][1];
    return "pass numbers and arrays as arguments, or keep constants in tuples";
}

ir_ref
build_device(struct build *b, ir_ref value)
{
    if (b->failed || !value || ir_insn(b->func, value)->op != IR_CONST)
        return value;
    const struct ir_const_info *info = ir_const_info(b->module, ir_insn(b->func, value)->imm);
    if (info->kind != IR_C_HOST)
        return value;
    const char *text = value < b->origins.len ? b->origins.data[value].text : NULL;
    struct sp_src where = build_src(b);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (strcmp(info->type_name, "complex") == 0) {
        sp_diag_set(&diag, SP_E_NYI_TYPE, &where, "complex");
        sp_diag_hint(&diag, "compute with the real and the imaginary part");
        return build_err_diag(b, &diag);
    }
    sp_diag_set(&diag, SP_E_HOST_OBJECT, &where,
                text ? sp_arena_printf(b->arena, "'%s'", text) : "an object", info->type_name);
    sp_diag_hint(&diag, "%s", build_host_hint(b, info->type_name, text));
    return build_err_diag(b, &diag);
}
