/* infer_closure: functions made in a kernel, and the variables that they share with their makers.
 *
 * A CLOSURE's type is its function with the types, and the values where they are known, of what it
 * brought along: defaults that were computed at its definition, and its free variables. Instances
 * are made for it like for any arguments, so a closure costs nothing that the same code written in
 * place would not. READ brings free variables by value where no assignment can follow the
 * definition; the others are CELLs.
 *
 * A CELL's type is its identity, the instruction and the instance that make it. What it holds is
 * the meeting of everything that is assigned to it anywhere (no order of assignments is looked at),
 * and whoever reads it is visited again when that rises:
 *
 *     %3 = cell "n"                  %3: variable 0, content int
 *     cellset "n" %3, %2             %2: int = 0
 *     %4 = closure @1 %3             %4: function bump(variable 0)
 *
 * A cell whose content is a constant, or has no run-time part, is no memory: so is that of a
 * function that calls itself. One in memory ends with the call that made it (lower_closure.c),
 * hence it must not leave by a return or by a variable of another function. */
#include "ir/infer_t.h"

bool
infer_rule_closure(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    ir_type *elems = SP_NEW_N(in->ctx->arena, ir_type, insn->n_args);
    ir_const *consts = SP_NEW_N(in->ctx->arena, ir_const, insn->n_args);
    for (uint32_t i = 0; i < insn->n_args; i++) {
        struct ir_cell cell = infer_operand(instance, ref, i);
        if (!infer_known(cell.type))
            return true;
        elems[i] = cell.type;
        consts[i] = cell.constant;
    }
    out->type = ir_type_intern(
        in->module,
        &(struct ir_type_info){.kind = IR_KIND_CLOSURE,
                               .object = ir_const_simple(in->module, IR_C_FUNC, insn->imm),
                               .n_elems = insn->n_args,
                               .elems = elems,
                               .consts = consts});
    return true;
}

/* ---- Shared variables ---- */

bool
infer_rule_cell(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    uint32_t key[] = {instance->index, ref};
    bool is_new;
    uint32_t *slot = sp_map_intern(&in->shared_map, in->ctx->arena, key, sizeof key, &is_new);
    if (is_new) {
        *slot = in->typed->shared.len;
        sp_vec_push(in->ctx->arena, &in->typed->shared,
                    ((struct ir_shared){.instance = instance->index, .insn = ref}));
    }
    out->type =
        ir_type_intern(in->module, &(struct ir_type_info){.kind = IR_KIND_CELL, .object = *slot});
    return true;
}

/* The variable that operand 0 is, or NULL while it is unknown. */
static struct ir_shared *
closure_shared(struct infer *in, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_type_info *info =
        ir_type_info(in->module, infer_operand(instance, ref, 0).type);
    return info->kind == IR_KIND_CELL ? &in->typed->shared.data[info->object] : NULL;
}

/* The values of an assignment and of those before it, in the order of the report, have no type. */
static bool
closure_check_meet(struct infer *in, struct ir_instance *instance, ir_ref ref,
                   struct ir_shared *shared, ir_type type)
{
    ir_type before = shared->reported;
    shared->reported = ir_type_join(in->module, before, type);
    if (infer_known(shared->reported))
        return true;
    INFER_FAIL(
        in, instance, ref, CANNOT_MEET,
        sp_arena_printf(in->ctx->arena, "'%s'", infer_name(in, ir_insn(instance->func, ref)->imm)),
        infer_text(in, before), infer_text(in, type));
    return INFER_HINT(in, "functions share this variable: give it one type everywhere");
}

bool
infer_rule_cellget(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_shared *shared = closure_shared(in, instance, ref);
    if (!shared)
        return true;
    struct ir_caller reader = {instance->index, ref};
    bool known = false;
    for (uint32_t i = 0; i < shared->readers.len && !known; i++)
        known = shared->readers.data[i].instance == reader.instance &&
                shared->readers.data[i].insn == ref;
    if (!known)
        sp_vec_push(in->ctx->arena, &shared->readers, reader);
    if (shared->content.type == IR_T_NONE && in->reporting && !shared->is_set)
        return INFER_FAIL(in, instance, ref, UNDEFINED_VARIABLE,
                          infer_name(in, ir_insn(instance->func, ref)->imm)) ||
               INFER_HINT(in, "give it a value before the function that uses it is called");
    *out = shared->content;
    return true;
}

bool
infer_rule_cellset(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    struct ir_shared *shared = closure_shared(in, instance, ref);
    struct ir_cell value = infer_operand(instance, ref, 1);
    if (!shared)
        return true;
    shared->is_set = true;
    if (!infer_known(value.type))
        return true;
    if (in->reporting) {
        if (!closure_check_meet(in, instance, ref, shared, value.type))
            return false;
        const struct ir_instance *owner = in->typed->instances.data[shared->instance];
        if (owner == instance || !infer_reaches_slot(in, value.type, instance->index))
            return true;
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT,
                   "a function that outlives variables of the call that made it");
        return INFER_HINT(in, "make it where its variables live, or give it their values as "
                              "defaults: lambda x, k=k: ...");
    }
    if (!infer_rise(in, &shared->content, value))
        return true;
    for (uint32_t i = 0; i < shared->readers.len; i++) {
        struct ir_caller reader = shared->readers.data[i];
        infer_queue(in, in->typed->instances.data[reader.instance], reader.insn);
    }
    return true;
}

/* ---- What is in memory ---- */

/* Whether a value of this type has a part at run time. */
static bool
closure_has_parts(const struct infer *in, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_NONE:
    case IR_KIND_OBJECT: return false;
    case IR_KIND_CELL: return in->typed->shared.data[info->object].has_slot;
    case IR_KIND_CLOSURE:
    case IR_KIND_RECIPE:
    case IR_KIND_TUPLE:
        for (uint32_t i = 0; i < info->n_elems; i++)
            if (!(info->consts && info->consts[i]) && closure_has_parts(in, info->elems[i]))
                return true;
        return false;
    default: return true;
    }
}

void
infer_fill_slots(struct infer *in)
{
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < in->typed->shared.len; i++) {
            struct ir_shared *shared = &in->typed->shared.data[i];
            if (shared->has_slot || shared->content.constant ||
                !closure_has_parts(in, shared->content.type))
                continue;
            shared->has_slot = again = true;
        }
    }
}

bool
infer_reaches_slot(const struct infer *in, ir_type type, uint32_t instance)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    if (info->kind == IR_KIND_CELL) {
        const struct ir_shared *shared = &in->typed->shared.data[info->object];
        return shared->has_slot && shared->instance == instance;
    }
    if (info->kind != IR_KIND_CLOSURE && info->kind != IR_KIND_TUPLE &&
        info->kind != IR_KIND_RECIPE)
        return false;
    for (uint32_t i = 0; i < info->n_elems; i++)
        if (infer_reaches_slot(in, info->elems[i], instance))
            return true;
    return false;
}
