/* hash: the content of a module of phase PY, so that equal functions share a compilation on disk.
 *
 * Everything counts that the later steps can see but source ranges and files (fe_hash_places):
 * constants by value in the order of their numbers (the builder interns in the order of the code,
 * so equal content has equal numbers), parameters, blocks, operations, operands, messages of
 * errors. Objects of the host count by their type's name: what is asked of them later is part of
 * a compilation's own key. Classes of the program's have numbers that mean nothing in another
 * process: what is kept says by which constant it means one. */
#include "frontend/code.h"

#include <string.h>

/* Numbers of other types than scalars are the module's own: by text. */
static void
hash_storable(struct sp_hash *hash, const struct ir_module *module, ir_type type)
{
    struct sp_str text;
    sp_str_init(&text);
    ir_type_print(module, type, &text);
    sp_hash_add_u64(hash, text.len);
    sp_hash_add(hash, text.data, text.len);
    sp_str_finish(&text);
}

/* Which member of an enum it is. */
static void
hash_member(struct sp_hash *hash, const struct ir_const_info *info)
{
    sp_hash_add_u64(hash, (uint64_t)info->named << 1 | (info->scalar != 0));
}

static void
hash_const(struct sp_hash *hash, const struct ir_module *module, const struct ir_const_info *info)
{
    sp_hash_add_u64(hash, info->kind);
    switch ((enum ir_const_kind)info->kind) {
    case IR_C_NONE_SLOT:
    case IR_C_NONE:
    case IR_C_ELLIPSIS: return;
    case IR_C_TYPED:
        sp_hash_add_u64(hash, info->scalar);
        sp_hash_add_u64(hash, info->u);
        return;
    case IR_C_FLOAT: {
        hash_member(hash, info);
        uint64_t bits;
        memcpy(&bits, &info->f, sizeof bits);
        sp_hash_add_u64(hash, bits);
        return;
    }
    case IR_C_INT:
    case IR_C_UINT:
    case IR_C_BOOL:
        hash_member(hash, info);
        sp_hash_add_u64(hash, info->u);
        return;
    case IR_C_FUNC:
    case IR_C_INTRIN: sp_hash_add_u64(hash, info->u); return;
    case IR_C_STR:
        hash_member(hash, info);
        sp_hash_add_u64(hash, info->len);
        sp_hash_add(hash, info->str, info->len);
        return;
    case IR_C_EXCEPTION:
        sp_hash_add_u64(hash, info->len != 0);
        sp_hash_add_text(hash, info->str);
        return;
    case IR_C_BIG:
    case IR_C_NAMESPACE: sp_hash_add_text(hash, info->str); return;
    case IR_C_TUPLE:
    case IR_C_CLASS:
    case IR_C_PARTIAL:
    case IR_C_SLICE:
        sp_hash_add_u64(hash, info->scalar);
        sp_hash_add_u64(hash, info->named);
        sp_hash_add_u64(hash, info->len);
        sp_hash_add(hash, info->elems, info->len * sizeof *info->elems);
        return;
    case IR_C_ARRAY:
        hash_storable(hash, module, info->scalar);
        sp_hash_add_u64(hash, info->named);
        sp_hash_add_u64(hash, info->len);
        sp_hash_add(hash, info->bytes, ir_const_array_size(module, info));
        sp_hash_add_text(hash, info->array_name);
        return;
    case IR_C_DTYPE: hash_storable(hash, module, info->scalar); return;
    case IR_C_HOST: sp_hash_add_text(hash, info->type_name); return;
    }
}

static void
hash_params(struct sp_hash *hash, const struct ir_func *func)
{
    sp_hash_add_text(hash, func->name);
    sp_hash_add_u64(hash, func->n_params);
    sp_hash_add_u64(hash, func->n_posonly);
    sp_hash_add_u64(hash, func->n_kwonly);
    sp_hash_add_u64(hash, (uint64_t)func->has_varargs << 1 | func->has_varkw);
    sp_hash_add_u64(hash, func->n_free);
    for (uint32_t i = 0; i < ir_func_n_slots(func); i++) {
        sp_hash_add_text(hash, func->params[i].name);
        sp_hash_add_u64(hash, func->params[i].fallback);
        sp_hash_add_u64(hash, func->params[i].given);
    }
}

static void
hash_func(struct sp_hash *hash, const struct ir_func *func)
{
    hash_params(hash, func);
    sp_hash_add_u64(hash, func->blocks.len);
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        sp_hash_add_u64(hash, block->insns.len);
        for (uint32_t i = 0; i < block->insns.len; i++) {
            ir_ref ref = block->insns.data[i];
            const struct ir_insn *insn = ir_insn(func, ref);
            uint32_t head[] = {ref, insn->op, insn->imm, insn->n_args};
            sp_hash_add(hash, head, sizeof head);
            if (insn->n_args)
                sp_hash_add(hash, ir_args(func, ref), insn->n_args * sizeof(ir_ref));
        }
        sp_hash_add_u64(hash, block->n_succ);
        sp_hash_add(hash, block->succ, block->n_succ * sizeof *block->succ);
        sp_hash_add_u64(hash, block->preds.len);
        sp_hash_add(hash, block->preds.data, block->preds.len * sizeof *block->preds.data);
    }
    sp_hash_add_u64(hash, func->errors.len);
    for (uint32_t i = 0; i < func->errors.len; i++) {
        sp_hash_add_u64(hash, func->errors.data[i].code);
        sp_hash_add_text(hash, func->errors.data[i].message);
    }
}

struct sp_digest
fe_hash_module(const struct ir_module *module)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    sp_hash_add_u64(&hash, module->consts.len);
    for (uint32_t i = 0; i < module->consts.len; i++)
        hash_const(&hash, module, &module->consts.data[i]);
    sp_hash_add_u64(&hash, module->funcs.len);
    for (uint32_t i = 0; i < module->funcs.len; i++)
        hash_func(&hash, module->funcs.data[i]);
    return sp_hash_end(&hash);
}

/* ---- Places ---- */

/* Without columns the instructions of a line look alike. */
static bool
hash_has_columns(const struct ir_func *func)
{
    bool has_lines = false;
    for (uint32_t i = 1; i < func->srcs.len; i++) {
        if (func->srcs.data[i].line && func->srcs.data[i].col >= 0)
            return true;
        has_lines |= func->srcs.data[i].line != 0;
    }
    return !has_lines;
}

static void
hash_places(struct sp_hash *hash, const struct ir_func *func, int32_t base)
{
    for (ir_ref ref = 1; ref < func->insns.len; ref++) {
        struct sp_src src = ir_insn_src(func, ref);
        const int32_t range[] = {src.line ? src.line - base : INT32_MIN,
                                 src.end_line ? src.end_line - base : INT32_MIN, src.col,
                                 src.end_col};
        sp_hash_add(hash, range, sizeof range);
        if (!base)
            sp_hash_add_text(hash, src.file ? src.file : "");
    }
}

struct sp_digest
fe_hash_places(const struct ir_module *module, bool absolute)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    for (uint32_t i = 0; i < module->funcs.len; i++) {
        const struct ir_func *func = module->funcs.data[i];
        sp_hash_add_u64(&hash, i);
        if (absolute) {
            sp_hash_add_text(&hash, func->file ? func->file : "");
            sp_hash_add_u64(&hash, (uint64_t)func->line);
            hash_places(&hash, func, 0);
        } else if (!hash_has_columns(func)) {
            hash_places(&hash, func, func->line ? func->line : 1);
        }
    }
    return sp_hash_end(&hash);
}
