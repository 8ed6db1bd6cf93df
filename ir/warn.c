/* warn: what a typed kernel does that is slow, or perhaps not meant.
 *
 * In: the result of inference. Out: warnings, each with its line. Needs live marks; changes
 * nothing.
 *
 *   double      y[i] = i / n                 the first operation that makes a `float` of what is none,
 *                                            in a kernel that has no float64 otherwise
 *   half sum    acc = acc + x[i] in a loop   a float16 that goes around a loop
 *   half range  x[i] * 100000                an int constant that no float16 holds
 *   frozen      TABLE[i]                 a NumPy array of the program, which the program can change
 *   growth      (h * 1664525) >> 16          warn_grow.c
 *
 * Only the root of a chain is named: what is computed from a double is one too. The alternative,
 * looking at CORE operations, knows no names and no types of Python's. */
#include "ir/warn.h"

#include <string.h>

static bool
warn_is_double(const struct ir_instance *instance, ir_ref ref)
{
    struct ir_cell cell = instance->cells[ref];
    return cell.type == IR_T_FLOAT && !cell.constant;
}

/* Whether the kernel deals in float64 on purpose: arrays, or typed values. */
static bool
warn_has_float64(const struct ir_typed *typed)
{
    for (uint32_t i = 0; i < typed->n_args; i++)
        if (typed->args[i].kind != IR_ARG_OBJECT && !typed->args[i].elem &&
            typed->args[i].dtype == IR_T_FLOAT64)
            return true;
    for (uint32_t i = 0; i < typed->instances.len; i++) {
        const struct ir_instance *instance = typed->instances.data[i];
        for (ir_ref ref = 1; instance->live && ref < instance->func->insns.len; ref++)
            if (instance->cells[ref].type == IR_T_FLOAT64)
                return true;
    }
    return false;
}

/* A double that was computed, not given: for a cast that of what is cast. */
static bool
warn_is_computed(const struct warn *w, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (!warn_is_double(instance, ref))
        return false;
    if (insn->op == IR_UN)
        return warn_is_computed(w, instance, ir_arg(instance->func, ref, 0));
    return insn->op == IR_BIN ||
           (insn->op == IR_CALL && (instance->callees[ref] || warn_callee(w, instance, ref)));
}

/* A value that is computed, or comes together from values of which one other than `self` is. */
static bool
warn_comes_computed(const struct warn *w, const struct ir_instance *instance, ir_ref ref,
                    ir_ref self)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (insn->op != IR_PHI)
        return warn_is_computed(w, instance, ref);
    for (uint32_t i = 0; i < insn->n_args; i++) {
        ir_ref arg = ir_arg(instance->func, ref, i);
        if (arg != self && warn_is_computed(w, instance, arg))
            return true;
    }
    return false;
}

static const char *
warn_types(const struct warn *w, const struct ir_instance *instance, ir_ref ref, uint32_t first)
{
    struct sp_str text;
    sp_str_init(&text);
    uint32_t n = ir_insn(instance->func, ref)->n_args;
    for (uint32_t i = first; i < n; i++) {
        sp_str_add(&text, i == first ? "" : i + 1 < n ? ", " : " and ");
        ir_type_print(w->typed->module, warn_operand(instance, ref, i).type, &text);
    }
    const char *copy = sp_arena_strdup(w->ctx->arena, text.data);
    sp_str_finish(&text);
    return copy;
}

/* An operation that computes in double and is first to. */
static void
warn_double(const struct warn *w, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (!warn_is_double(instance, ref) || (insn->op != IR_BIN && insn->op != IR_CALL))
        return;
    const char *what = NULL;
    uint32_t first = insn->op == IR_CALL;
    if (insn->op == IR_BIN)
        what = sp_arena_printf(w->ctx->arena, "'%s'", ir_binop_text(insn->imm & ~IR_INPLACE));
    else
        what = warn_callee(w, instance, ref);
    if (!what || insn->n_args == first)
        return;
    for (uint32_t i = first; i < insn->n_args; i++)
        if (warn_comes_computed(w, instance, ir_arg(instance->func, ref, i), ref))
            return;
    struct sp_src where = ir_insn_src(instance->func, ref);
    sp_warning_add(w->ctx->warnings, SP_W_DOUBLE, &where, what, warn_types(w, instance, ref, first),
                   w->typed->instances.data[0]->func->name);
}

static bool
warn_is_half(ir_type type)
{
    return ir_type_is_scalar(type) && ir_is_float(type) && ir_scalar_row(type)->bits == 16;
}

/* Whether `ref` comes back to `phi`, on the way through other phis only. */
static bool
warn_feeds(const struct ir_func *func, ir_ref phi, ir_ref ref, int depth)
{
    const struct ir_insn *insn = ir_insn(func, phi);
    for (uint32_t i = 0; i < insn->n_args; i++) {
        ir_ref arg = ir_arg(func, phi, i);
        if (arg == ref || (arg != phi && depth < 4 && ir_insn(func, arg)->op == IR_PHI &&
                           warn_feeds(func, arg, ref, depth + 1)))
            return true;
    }
    return false;
}

static void
warn_half_sum(const struct warn *w, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_func *func = instance->func;
    const struct ir_insn *insn = ir_insn(func, ref);
    uint32_t op = insn->imm & ~IR_INPLACE;
    ir_type type = instance->cells[ref].type;
    if (insn->op != IR_BIN || (op != IR_BIN_ADD && op != IR_BIN_SUB) || !warn_is_half(type))
        return;
    for (uint32_t i = 0; i < 2; i++) {
        ir_ref phi = ir_arg(func, ref, i);
        if (ir_insn(func, phi)->op != IR_PHI || !warn_feeds(func, phi, ref, 0))
            continue;
        ir_const name = ir_insn(func, phi)->imm;
        struct sp_src where = ir_insn_src(func, ref);
        sp_warning_add(w->ctx->warnings, SP_W_HALF_SUM, &where,
                       name ? ir_const_info(w->typed->module, name)->str : "a value",
                       ir_scalar_row(type)->name);
        return;
    }
}

/* Beyond 65519 an int rounds to infinity. */
static void
warn_half_range(const struct warn *w, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (insn->op != IR_BIN && insn->op != IR_CMP)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        struct ir_cell number = warn_operand(instance, ref, i);
        ir_type other = warn_operand(instance, ref, 1 - i).type;
        if (!number.constant || number.type != IR_T_INT || !warn_is_half(other) ||
            strcmp(ir_scalar_row(other)->name, "float16") != 0)
            continue;
        int64_t value = ir_const_info(w->typed->module, number.constant)->i;
        if (value > -65520 && value < 65520)
            continue;
        struct sp_src where = ir_insn_src(instance->func, ref);
        sp_warning_add(w->ctx->warnings, SP_W_HALF_RANGE, &where,
                       sp_arena_printf(w->ctx->arena, "%lld", (long long)value), "float16");
    }
}

const char *
warn_callee(const struct warn *w, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_type_info *type =
        ir_type_info(w->typed->module, warn_operand(instance, ref, 0).type);
    if (type->kind != IR_KIND_OBJECT)
        return NULL;
    const struct ir_const_info *object = ir_const_info(w->typed->module, type->object);
    if (object->kind != IR_C_INTRIN)
        return NULL;
    const char *path = ir_intrin_row((enum ir_intrin)object->u)->path;
    return strncmp(path, "builtins.", 9) == 0 ? path + 9 : path;
}

/* Whether everything that becomes of the array says that it is constant, or reads no element. */
static bool
warn_is_meant(const struct warn *w, const struct ir_instance *instance, ir_ref ref, unsigned depth)
{
    const struct ir_flow *flow = instance->flow;
    bool meant = depth < 8 && flow->first_user[ref] < flow->first_user[ref + 1];
    for (uint32_t i = flow->first_user[ref]; i < flow->first_user[ref + 1] && meant; i++) {
        ir_ref user = flow->users[i];
        struct ir_cell cell = instance->cells[user];
        const char *callee;
        switch (ir_insn(instance->func, user)->op) {
        case IR_CALL:
            callee = warn_callee(w, instance, user);
            meant = callee && (!strcmp(callee, "gpu.const.array_like") || !strcmp(callee, "len"));
            break;
        case IR_ATTR: meant = cell.constant != 0; break; /* shape, dtype, ... */
        case IR_ITEM:
        case IR_BOUND:
            meant = ir_type_info(w->typed->module, cell.type)->kind == IR_KIND_ARRAY &&
                    warn_is_meant(w, instance, user, depth + 1);
            break;
        default: meant = false;
        }
    }
    return meant;
}

/* An array of the program that the program can change: once, where it is named first. */
static void
warn_frozen(struct warn *w, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    const struct ir_const_info *info =
        insn->op == IR_CONST ? ir_const_info(w->typed->module, insn->imm) : NULL;
    if (!info || info->kind != IR_C_ARRAY || !(info->len & IR_ARRAY_WRITEABLE) ||
        warn_is_meant(w, instance, ref, 0))
        return;
    for (uint32_t i = 0; i < w->frozen.len; i++)
        if (w->frozen.data[i] == insn->imm)
            return;
    sp_vec_push(w->ctx->arena, &w->frozen, insn->imm);
    struct sp_src where = ir_insn_src(instance->func, ref);
    const char *name = info->array_name;
    sp_warning_add(w->ctx->warnings, SP_W_FROZEN_ARRAY, &where, name,
                   w->typed->instances.data[0]->func->name, name, name);
}

void
ir_warn(struct ir_ctx *ctx, const struct ir_typed *typed)
{
    if (!ctx->warnings)
        return;
    struct warn w = {.ctx = ctx, .typed = typed};
    bool doubles = !ctx->options.single && !warn_has_float64(typed);
    for (uint32_t i = 0; i < typed->instances.len; i++) {
        const struct ir_instance *instance = typed->instances.data[i];
        for (ir_ref ref = 1; instance->live && ref < instance->func->insns.len; ref++) {
            const struct ir_insn *insn = ir_insn(instance->func, ref);
            if (insn->op == IR_NOP || !sp_bits_has(&instance->live_blocks, insn->block))
                continue;
            if (doubles)
                warn_double(&w, instance, ref);
            warn_half_sum(&w, instance, ref);
            warn_half_range(&w, instance, ref);
            warn_frozen(&w, instance, ref);
        }
    }
    warn_growth(&w);
}
