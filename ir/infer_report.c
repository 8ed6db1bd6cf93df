/* infer_report: the first error of a finished inference, and the printed form of its result.
 *
 * Cells are final, so every rule is run once more over the live instances, now setting diagnostics.
 * Only a cause is reported: an instruction that fails although its operands are typed. An
 * instruction that waits for an operand reports it only if nothing else will: the operand is a
 * variable without a value, or one whose values cannot meet. Instances are visited from the kernel
 * on, blocks in reverse post-order, so the first error is the first in the program. */
#include "ir/infer_t.h"

#include <string.h>

static void
report_mark_live(struct infer *in)
{
    SP_VEC(struct ir_instance *) todo = {0};
    struct ir_typed *typed = in->typed;
    typed->instances.data[0]->live = true;
    sp_vec_push(in->ctx->arena, &todo, typed->instances.data[0]);
    while (todo.len) {
        struct ir_instance *instance = sp_vec_pop(&todo);
        for (uint32_t ref = 1; ref < instance->func->insns.len; ref++) {
            uint32_t callee = instance->callees[ref];
            if (!callee ||
                !sp_bits_has(&instance->live_blocks, ir_insn(instance->func, ref)->block))
                continue;
            struct ir_instance *target = typed->instances.data[callee - 1];
            if (!target->live)
                sp_vec_push(in->ctx->arena, &todo, target);
            target->live = true;
        }
    }
}

/* The name of the variable without a value behind `ref`, or NULL. `depth` bounds phi cycles. */
static const char *
report_undefined(const struct infer *in, const struct ir_instance *instance, ir_ref ref, int depth)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (instance->cells[ref].type != IR_T_NONE || depth > 8)
        return NULL;
    if (insn->op == IR_UNDEF)
        return infer_name(in, insn->imm);
    const char *name = NULL;
    for (uint32_t i = 0; insn->op == IR_PHI && i < insn->n_args && !name; i++)
        if (ir_arg(instance->func, ref, i) != ref)
            name = report_undefined(in, instance, ir_arg(instance->func, ref, i), depth + 1);
    return name;
}

static bool
report_is_object(const struct infer *in, ir_type type)
{
    return infer_object(in, type) || ir_type_info(in->module, type)->kind == IR_KIND_CLOSURE;
}

/* Finds two types that cannot meet among the values that reach `phi`, also through phis that are
 * themselves in conflict: in `a, b = b, a` of a loop each is the other's. */
static void
report_find_pair(struct infer *in, struct ir_instance *instance, ir_ref phi, struct sp_bits *seen,
                 ir_type pair[2])
{
    const struct ir_func *func = instance->func;
    const struct ir_insn *insn = ir_insn(func, phi);
    if (!sp_bits_add(seen, phi))
        return;
    for (uint32_t i = 0; i < insn->n_args && pair[1] == IR_T_NONE; i++) {
        ir_ref arg = ir_arg(func, phi, i);
        ir_type type = instance->cells[arg].type;
        if (!ir_edge_is_live(instance, insn->block, i))
            continue;
        if (infer_known(type) && pair[0] == IR_T_NONE)
            pair[0] = type;
        else if (infer_known(type) && !infer_known(ir_type_join(in->module, pair[0], type)))
            pair[1] = type;
        else if (type != IR_T_NONE && !infer_known(type) && ir_insn(func, arg)->op == IR_PHI)
            report_find_pair(in, instance, arg, seen, pair);
    }
}

/* `at` reads a phi whose values have no common type. */
static bool
report_conflict(struct infer *in, struct ir_instance *instance, ir_ref at, ir_ref phi)
{
    const struct ir_insn *insn = ir_insn(instance->func, phi);
    ir_type pair[2] = {IR_T_NONE, IR_T_NONE};
    struct sp_bits seen;
    sp_bits_init(&seen, in->ctx->arena, instance->func->insns.len);
    report_find_pair(in, instance, phi, &seen, pair);
    ir_type a = pair[0], b = pair[1];
    if (b == IR_T_NONE)
        return true; /* the operand of a phi is no phi, and what made it reports */
    if (!infer_fail_rounds(in, instance, at, phi))
        return false;
    const char *name =
        insn->imm ? sp_arena_printf(in->ctx->arena, "'%s'", infer_name(in, insn->imm)) : "a value";
    INFER_FAIL(in, instance, at, CANNOT_MEET, name, infer_text(in, a), infer_text(in, b));
    if (instance->cells[phi].type == IR_T_MIXED)
        return INFER_HINT(in, "cast one of them, for example gpu.int64(...)");
    const struct ir_type_info *of_a = ir_type_info(in->module, a),
                              *of_b = ir_type_info(in->module, b);
    if (of_a->kind == IR_KIND_ARRAY && of_b->kind == IR_KIND_ARRAY && of_a->space != of_b->space)
        return INFER_HINT(in, "an array is in one memory: use the arrays where they are chosen, or "
                              "call a function with each");
    bool tuples = ir_type_info(in->module, a)->kind == IR_KIND_TUPLE &&
                  ir_type_info(in->module, b)->kind == IR_KIND_TUPLE;
    if (tuples)
        return INFER_HINT(in,
                          "a tuple keeps its length and its element types; a tuple that grows in a "
                          "loop has no type");
    bool objects = report_is_object(in, a) && report_is_object(in, b);
    bool recipes = ir_type_info(in->module, a)->kind == IR_KIND_RECIPE ||
                   ir_type_info(in->module, b)->kind == IR_KIND_RECIPE;
    if (recipes)
        return INFER_HINT(in, "a kernel cannot choose between texts or exceptions at run time: "
                              "raise or print on each path");
    if (objects)
        return INFER_HINT(in, "a kernel cannot choose between functions, dtypes or strings at run "
                              "time: put the choice around the calls");
    return INFER_HINT(in, "use two variables, or convert both to one type");
}

static bool
report_operands(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    const struct ir_func *func = instance->func;
    const struct ir_insn *insn = ir_insn(func, ref);
    for (uint32_t i = 0; insn->op != IR_PHI && i < insn->n_args; i++) {
        ir_ref arg = ir_arg(func, ref, i);
        ir_type type = instance->cells[arg].type;
        if (infer_known(type))
            continue;
        const char *name = report_undefined(in, instance, arg, 0);
        if (name) {
            INFER_FAIL(in, instance, ref, UNDEFINED_VARIABLE, name);
            return INFER_HINT(in, "give it a value on every path that leads here");
        }
        bool conflict = type == IR_T_CONFLICT || type == IR_T_MIXED;
        if (type == IR_T_MIXED && insn->op == IR_RET && infer_known(instance->result.type))
            continue; /* a float joins them in the result */
        if (conflict && ir_insn(func, arg)->op == IR_PHI &&
            !report_conflict(in, instance, ref, arg))
            return false;
    }
    return true;
}

/* The body of a lambda is its value, which a kernel then drops. */
static bool
report_is_lambda(const struct ir_func *func)
{
    static const char suffix[] = "<lambda>";
    size_t len = strlen(func->name), n = sizeof suffix - 1;
    return len >= n && !strcmp(func->name + len - n, suffix);
}

static bool
report_return(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    ir_type type = infer_operand(instance, ref, 0).type;
    if (!infer_known(type))
        return true;
    const struct ir_const_info *object = infer_object(in, type);
    if (instance->index == 0 && (!object || object->kind != IR_C_NONE) &&
        !report_is_lambda(instance->func)) {
        INFER_FAIL(in, instance, ref, KERNEL_RETURNS, infer_text(in, type));
        return INFER_HINT(in, "store the result in an array argument");
    }
    if (instance->index && infer_reaches_slot(in, type, instance->index)) {
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT,
                   "a function that outlives variables of the call that made it");
        return INFER_HINT(in, "return one whose variables are assigned once, before it is made");
    }
    if (instance->index && !instance->result.constant &&
        ir_type_info(in->module, type)->n_leaves > IR_MAX_RESULT_LEAVES) {
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "a result of more than 256 elements");
        return INFER_HINT(in, "let the function write to an array that it is passed");
    }
    if (instance->index == 0 || infer_known(instance->result.type))
        return true;
    for (uint32_t i = 0; i < instance->func->insns.len; i++) {
        const struct ir_insn *other = ir_insn(instance->func, i);
        if (other->op != IR_RET || !sp_bits_has(&instance->live_blocks, other->block))
            continue;
        ir_type second = infer_operand(instance, i, 0).type;
        if (!infer_known(second) || infer_known(ir_type_join(in->module, type, second)))
            continue;
        const char *what =
            sp_arena_printf(in->ctx->arena, "the result of %s", instance->func->name);
        INFER_FAIL(in, instance, i, CANNOT_MEET, what, infer_text(in, type),
                   infer_text(in, second));
        return INFER_HINT(in, "every return of a function gives the same kind of value");
    }
    return true;
}

/* How control came to the failing instance. */
static void
report_callers(struct infer *in, const struct ir_instance *instance)
{
    for (int depth = 0; instance->index && instance->callers.len && depth < 8; depth++) {
        const struct ir_caller *caller = NULL;
        for (uint32_t i = 0; i < instance->callers.len && !caller; i++) {
            const struct ir_instance *from =
                in->typed->instances.data[instance->callers.data[i].instance];
            if (from->live && from->callees[instance->callers.data[i].insn] == instance->index + 1)
                caller = &instance->callers.data[i];
        }
        if (!caller)
            return;
        const struct ir_instance *from = in->typed->instances.data[caller->instance];
        struct sp_str types;
        sp_str_init(&types);
        for (uint32_t k = 0; k < instance->func->n_params; k++)
            sp_str_printf(&types, "%s%s: %s", k ? ", " : "", instance->func->params[k].name,
                          infer_text(in, instance->args[k].type));
        sp_diag_note(in->ctx->diag, infer_src(in, from, caller->insn),
                     "%s(%s) is called here:", instance->func->name, types.data);
        sp_str_finish(&types);
        if (from == instance)
            return;
        instance = from;
    }
}

static bool
report_insn(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    struct ir_cell cell = {0};
    if (!report_operands(in, instance, ref))
        return false;
    if (ir_insn(instance->func, ref)->op == IR_RET)
        return report_return(in, instance, ref);
    return infer_rule(in, instance, ref, &cell) || in->ctx->diag->code == SP_OK;
}

static bool
report_instance(struct infer *in, struct ir_instance *instance)
{
    for (uint32_t i = 0; i < instance->flow->n_rpo; i++) {
        uint32_t block = instance->flow->rpo[i];
        const struct ir_block *b = &instance->func->blocks.data[block];
        if (!sp_bits_has(&instance->live_blocks, block))
            continue;
        for (uint32_t k = 0; k < b->insns.len; k++)
            if (!report_insn(in, instance, b->insns.data[k])) {
                report_callers(in, instance);
                return false;
            }
    }
    return true;
}

/* Without another error, a value is missing only because a call never returns. */
static bool
report_missing(struct infer *in, struct ir_instance *instance)
{
    for (uint32_t ref = 1; ref < instance->func->insns.len; ref++) {
        const struct ir_insn *insn = ir_insn(instance->func, ref);
        bool has_value = insn->op != IR_NOP && ir_op_row(insn->op)->result != IR_RESULT_NONE &&
                         insn->op != IR_PHI && insn->op != IR_UNDEF;
        if (!has_value || infer_known(instance->cells[ref].type) ||
            !sp_bits_has(&instance->live_blocks, insn->block))
            continue;
        uint32_t callee = instance->callees[ref];
        struct sp_bits seen;
        sp_bits_init(&seen, in->ctx->arena, in->typed->instances.len);
        bool waits = false;
        for (uint32_t i = 0; i < insn->n_args && !waits; i++)
            waits = !infer_known(infer_operand(instance, ref, i).type);
        if (waits || (callee && infer_may_throw(in, in->typed->instances.data[callee - 1], &seen)))
            continue; /* what comes before it always raises, or it does */
        if (callee) {
            const char *name = in->typed->instances.data[callee - 1]->func->name;
            INFER_FAIL(in, instance, ref, NEVER_RETURNS, name);
            return INFER_HINT(in, "return a value on a path that does not call %s again", name);
        }
        return INFER_FAIL(in, instance, ref, IR_INVALID, instance->func->name,
                          "a value has no type");
    }
    return true;
}

bool
infer_report(struct infer *in)
{
    report_mark_live(in);
    struct ir_typed *typed = in->typed;
    for (uint32_t i = 0; i < typed->instances.len; i++)
        if (typed->instances.data[i]->live && !report_instance(in, typed->instances.data[i]))
            return false;
    for (uint32_t i = 0; i < typed->instances.len; i++)
        if (typed->instances.data[i]->live && !report_missing(in, typed->instances.data[i]))
            return false;
    return infer_check_endless(in);
}

static void
typed_print_cell(const struct ir_typed *typed, struct ir_cell cell, struct sp_str *out)
{
    ir_type_print(typed->module, cell.type, out);
    if (cell.constant && ir_type_info(typed->module, cell.type)->kind != IR_KIND_OBJECT) {
        sp_str_add(out, " = ");
        ir_const_print(typed->module, cell.constant, out);
    }
}

void
ir_typed_print(const struct ir_typed *typed, struct sp_str *out)
{
    for (uint32_t i = 0; i < typed->instances.len; i++) {
        const struct ir_instance *instance = typed->instances.data[i];
        if (!instance->live)
            continue;
        sp_str_printf(out, "instance %u of %s(", i, instance->func->name);
        for (uint32_t k = 0; k < instance->func->n_params; k++) {
            sp_str_printf(out, "%s%s: ", k ? ", " : "", instance->func->params[k].name);
            typed_print_cell(typed, instance->args[k], out);
        }
        sp_str_add(out, ") -> ");
        typed_print_cell(typed, instance->result, out);
        sp_str_add(out, "\n");
        for (uint32_t b = 0; b < instance->func->blocks.len; b++) {
            const struct ir_block *block = &instance->func->blocks.data[b];
            if (!sp_bits_has(&instance->live_blocks, b))
                continue;
            sp_str_printf(out, "b%u:\n", b);
            for (uint32_t k = 0; k < block->insns.len; k++) {
                ir_ref ref = block->insns.data[k];
                const struct ir_insn *insn = ir_insn(instance->func, ref);
                if (ir_op_row(insn->op)->result == IR_RESULT_NONE)
                    continue;
                sp_str_printf(out, "  %%%u %s: ", ref, ir_op_row(insn->op)->name);
                typed_print_cell(typed, instance->cells[ref], out);
                sp_str_add(out, "\n");
            }
        }
    }
}
