/* type_text: types and constants as error messages and listings show them.
 *
 * Types read as signatures do ("float32[:, ::1]", "tuple(int, float32)"), constants as Python's
 * repr does. Nothing parses these texts; the IR text has its own constants (ir/print.c). Nesting is
 * cut off at a depth that no message needs. */
#include "ir/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_DEPTH 8
#define TEXT_MAX_LEN 400 /* of a type: no more elements after that */

static void type_text(const struct ir_module *module, ir_type type, int depth, struct sp_str *out);
static void const_text(const struct ir_module *module, ir_const c, int depth, struct sp_str *out);

void
ir_text_float(double value, struct sp_str *out)
{
    sp_str_add_double(out, value);
}

/* What stands between the brackets: ":" per axis, "::1" where the stride is known. */
void
ir_text_axes(uint32_t rank, enum ir_layout layout, struct sp_str *out)
{
    sp_str_add_char(out, '[');
    for (uint32_t axis = 0; axis < rank; axis++) {
        bool dense =
            (layout == IR_LAYOUT_C && axis == rank - 1) || (layout == IR_LAYOUT_F && axis == 0);
        sp_str_add(out, axis ? ", " : "");
        sp_str_add(out, dense ? "::1" : ":");
    }
    sp_str_add_char(out, ']');
}

static const char *
type_class_name(const struct ir_module *module, ir_const class)
{
    return ir_const_info(module, ir_const_info(module, class)->elems[0])->str;
}

static void
object_text(const struct ir_module *module, ir_const c, int depth, struct sp_str *out)
{
    const struct ir_const_info *info = ir_const_info(module, c);
    switch ((enum ir_const_kind)info->kind) {
    case IR_C_FUNC: sp_str_printf(out, "function %s", module->funcs.data[info->u]->name); break;
    case IR_C_INTRIN:
        sp_str_printf(out, "function %s", ir_intrin_row((enum ir_intrin)info->u)->path);
        break;
    case IR_C_NAMESPACE: sp_str_printf(out, "module %s", info->str); break;
    case IR_C_DTYPE:
        sp_str_add(out, "type ");
        type_text(module, info->scalar, depth, out);
        break;
    case IR_C_STR: sp_str_add(out, "str"); break;
    case IR_C_SLICE: sp_str_add(out, "slice"); break;
    case IR_C_HOST: sp_str_add(out, info->type_name); break;
    case IR_C_EXCEPTION: sp_str_printf(out, "class %s", info->str); break;
    case IR_C_CLASS: sp_str_printf(out, "class %s", type_class_name(module, c)); break;
    case IR_C_PARTIAL: object_text(module, info->elems[0], depth, out); break;
    default: const_text(module, c, depth, out);
    }
}

static void
type_text(const struct ir_module *module, ir_type type, int depth, struct sp_str *out)
{
    if (depth > TEXT_MAX_DEPTH) {
        sp_str_add(out, "...");
        return;
    }
    const struct ir_type_info *info = ir_type_info(module, type);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_NONE: sp_str_add(out, "no type"); break;
    case IR_KIND_SCALAR: sp_str_add(out, ir_scalar_row(type)->name); break;
    case IR_KIND_MIXED: sp_str_add(out, "uint64 with signed integers"); break;
    case IR_KIND_CONFLICT: sp_str_add(out, "values that cannot meet"); break;
    case IR_KIND_MACHINE: sp_str_add(out, ir_machine_name(type)); break;
    case IR_KIND_TUPLE:
        sp_str_add(out, info->object ? type_class_name(module, info->object) : "tuple");
        sp_str_add_char(out, '(');
        for (uint32_t i = 0; i < info->n_elems; i++) {
            sp_str_add(out, i ? ", " : "");
            if (out->len > TEXT_MAX_LEN) {
                sp_str_add(out, "...");
                break;
            }
            type_text(module, info->elems[i], depth + 1, out);
        }
        sp_str_add_char(out, ')');
        break;
    case IR_KIND_RECORD:
    case IR_KIND_INNER: ir_text_storable(module, type, out); break;
    case IR_KIND_ARRAY:
        type_text(module, info->dtype, depth + 1, out);
        if (!info->rank && ir_is_reference(module, info->dtype))
            break; /* a record, which is not called an array */
        ir_text_axes(info->rank, (enum ir_layout)info->layout, out);
        if (info->space == IR_SPACE_SHARED)
            sp_str_add(out, " (shared)");
        if (info->space == IR_SPACE_LOCAL)
            sp_str_add(out, " (local)");
        if (info->space == IR_SPACE_CONST)
            sp_str_add(out, " (constant)");
        if (info->read_only && info->space != IR_SPACE_CONST)
            sp_str_add(out, " (read-only)");
        break;
    case IR_KIND_OBJECT: object_text(module, info->object, depth + 1, out); break;
    case IR_KIND_CLOSURE: object_text(module, info->object, depth + 1, out); break;
    case IR_KIND_CELL: sp_str_add(out, "variable of an enclosing function"); break;
    case IR_KIND_RANGE: sp_str_add(out, "range"); break;
    case IR_KIND_RECIPE: {
        const struct ir_const_info *how = ir_const_info(module, info->object);
        sp_str_add(out, how->kind == IR_C_EXCEPTION ? how->str : "str");
        break;
    }
    case IR_KIND_SLICE: sp_str_add(out, "slice"); break;
    case IR_KIND_ITER:
        sp_str_add(out, "iterator over ");
        if (info->n_elems)
            type_text(module, info->elems[0], depth + 1, out);
        break;
    }
}

void
ir_type_print(const struct ir_module *module, ir_type type, struct sp_str *out)
{
    struct sp_str text;
    sp_str_init(&text);
    type_text(module, type, 0, &text);
    sp_str_add_n(out, text.data, text.len);
    sp_str_finish(&text);
}

static void
str_text(const char *text, size_t len, struct sp_str *out)
{
    sp_str_add_char(out, '\'');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\'' || c == '\\')
            sp_str_printf(out, "\\%c", c);
        else if (c == '\n')
            sp_str_add(out, "\\n");
        else if (c < ' ' || c == 127)
            sp_str_printf(out, "\\x%02x", c);
        else
            sp_str_add_char(out, (char)c);
    }
    sp_str_add_char(out, '\'');
}

static void
typed_text(const struct ir_const_info *info, struct sp_str *out)
{
    const struct ir_scalar_row *row = ir_scalar_row(info->scalar);
    sp_str_printf(out, "%s(", row->name);
    switch (row->class) {
    case IR_CLASS_FLOAT: ir_text_float(info->f, out); break;
    case IR_CLASS_UINT: sp_str_printf(out, "%" PRIu64, info->u); break;
    default: sp_str_printf(out, "%" PRId64, info->i); break;
    }
    sp_str_add_char(out, ')');
}

static void
list_text(const struct ir_module *module, const struct ir_const_info *info, int depth,
          struct sp_str *out)
{
    sp_str_add(out, info->kind == IR_C_SLICE ? "slice(" : "(");
    for (uint32_t i = 0; i < info->len; i++) {
        sp_str_add(out, i ? ", " : "");
        const_text(module, info->elems[i], depth + 1, out);
    }
    sp_str_add(out, info->kind == IR_C_TUPLE && info->len == 1 ? ",)" : ")");
}

static void
const_text(const struct ir_module *module, ir_const c, int depth, struct sp_str *out)
{
    if (depth > TEXT_MAX_DEPTH) {
        sp_str_add(out, "...");
        return;
    }
    const struct ir_const_info *info = ir_const_info(module, c);
    switch ((enum ir_const_kind)info->kind) {
    case IR_C_NONE_SLOT: sp_str_add(out, "no constant"); break;
    case IR_C_INT: sp_str_printf(out, "%" PRId64, info->i); break;
    case IR_C_UINT: sp_str_printf(out, "%" PRIu64, info->u); break;
    case IR_C_BIG: sp_str_add(out, info->str); break;
    case IR_C_FLOAT: ir_text_float(info->f, out); break;
    case IR_C_BOOL: sp_str_add(out, info->i ? "True" : "False"); break;
    case IR_C_TYPED: typed_text(info, out); break;
    case IR_C_NONE: sp_str_add(out, "None"); break;
    case IR_C_ELLIPSIS: sp_str_add(out, "..."); break;
    case IR_C_STR: str_text(info->str, info->len, out); break;
    case IR_C_TUPLE:
    case IR_C_SLICE: list_text(module, info, depth, out); break;
    case IR_C_FUNC: sp_str_add(out, module->funcs.data[info->u]->name); break;
    case IR_C_INTRIN: sp_str_add(out, ir_intrin_row((enum ir_intrin)info->u)->path); break;
    case IR_C_NAMESPACE: sp_str_add(out, info->str); break;
    case IR_C_DTYPE: type_text(module, info->scalar, depth, out); break;
    case IR_C_ARRAY:
        sp_str_add(out, "array of ");
        type_text(module, info->scalar, depth, out);
        break;
    case IR_C_HOST: sp_str_printf(out, "%s object", info->type_name); break;
    case IR_C_EXCEPTION: sp_str_add(out, info->str); break;
    case IR_C_CLASS: sp_str_add(out, type_class_name(module, c)); break;
    case IR_C_PARTIAL: const_text(module, info->elems[0], depth, out); break;
    }
}

void
ir_const_print(const struct ir_module *module, ir_const c, struct sp_str *out)
{
    const_text(module, c, 0, out);
}
