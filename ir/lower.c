/* lower: a typed PY module becomes a CORE module.
 *
 * In: the instances of inference, with a cell (type, constant) per value. Out: one CORE function
 * per live instance, the kernel first, of machine types and core operations only; and which
 * arguments the kernel may write. Only live blocks and edges are lowered. Per instance:
 *
 *   1. blocks, branches and phis (lower_flow.c);
 *   2. every instruction in reverse post-order, so that operands come before their uses; a value
 *      with a constant cell makes no code, its constant is made where it is used.
 *
 * A variable that has no value on a path reads 0.
 *
 * Needs: inference's result, without errors. Keeps: the PY module. */
#include "ir/lower.h"

#include <assert.h>

struct lower_value
lower_elements(struct lower *l, ir_ref py, uint32_t first)
{
    ir_type type = l->inst->cells[py].type;
    const struct ir_type_info *info = lower_info(l, type);
    uint32_t n = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    for (uint32_t i = 0; i < info->n_elems; i++) {
        struct lower_value elem =
            lower_convert(l, lower_get(l, ir_arg(l->from, py, first + i)), info->elems[i]);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
    }
    return (struct lower_value){type, n, parts};
}

/* ---- Instructions ---- */

static struct lower_value
lower_const(struct lower *l, ir_ref py)
{
    const struct ir_const_info *c = ir_const_info(l->py, ir_insn(l->from, py)->imm);
    assert(c->kind == IR_C_INTRIN && "other constants have constant cells");
    return lower_scalar(l, IR_T_INT, lower_sreg(l, (enum ir_intrin)c->u));
}

static struct lower_value
lower_value_of(struct lower *l, ir_ref py)
{
    const struct ir_insn *insn = ir_insn(l->from, py);
    ir_ref first = insn->n_args ? ir_operand(l->inst, py, 0) : 0;
    uint32_t imm = ir_operation_imm(l->inst, py);
    switch (ir_operation(l->inst, py)) {
    case IR_CONST: return lower_const(l, py);
    case IR_BIN:
        if (lower_info(l, l->inst->cells[py].type)->kind == IR_KIND_ARRAY)
            return lower_inplace(l, py);
        return lower_bin(l, py);
    case IR_UN: return lower_un(l, py);
    case IR_CMP:
        return lower_scalar(l, IR_T_BOOL,
                            lower_compare(l, (enum ir_cmpop)imm, lower_get(l, first),
                                          lower_get(l, ir_operand(l->inst, py, 1))));
    case IR_IN: {
        ir_ref in = lower_in(l, lower_get(l, first), lower_get(l, ir_operand(l->inst, py, 1)));
        return lower_scalar(l, IR_T_BOOL, imm ? lower_not(l, in) : in);
    }
    case IR_TRUTH: return lower_scalar(l, IR_T_BOOL, lower_truth(l, lower_get(l, first)));
    case IR_ATTR:
        if (ir_type_is_scalar(l->inst->cells[first].type))
            return lower_number_attr(l, py);
        return lower_attr(l, py);
    case IR_ITEM: return lower_item(l, py);
    case IR_SLICE: return lower_slice(l, py);
    case IR_LIST:
    case IR_TUPLE: return lower_elements(l, py, 0);
    case IR_TEXT: return lower_elements(l, py, 0);
    case IR_BOUND:
    case IR_UNPACK: return lower_get(l, first);
    case IR_IS: {
        ir_ref same = lower_compare(l, IR_CMP_EQ, lower_get(l, first),
                                    lower_get(l, ir_operand(l->inst, py, 1)));
        return lower_scalar(l, IR_T_BOOL, imm ? lower_not(l, same) : same);
    }
    case IR_UNPACK_EX: { /* the same parts in the same order */
        struct lower_value tuple = lower_get(l, first);
        return (struct lower_value){l->inst->cells[py].type, tuple.n, tuple.parts};
    }
    case IR_ELEM: return lower_elem(l, lower_get(l, first), insn->imm);
    case IR_CALL:
    case IR_CALL_EX: return lower_call(l, py);
    case IR_CLOSURE: return lower_closure(l, py);
    case IR_CELL: return lower_cell(l, py);
    case IR_CELLGET: return lower_cellget(l, py);
    case IR_ITER: return lower_iter(l, py);
    case IR_NEXT: return lower_next(l, py);
    case IR_MORE: return lower_scalar(l, IR_T_BOOL, lower_more(l, lower_get(l, first)));
    case IR_VALUE: return lower_iter_value(l, lower_get(l, first), l->inst->cells[py].type);
    default: break;
    }
    assert(!"inference accepts no such operation");
    return lower_zero(l, l->inst->cells[py].type);
}

bool
lower_is_unreachable(const struct lower *l, ir_ref py)
{
    const struct ir_insn *insn = ir_insn(l->from, py);
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (l->inst->cells[ir_arg(l->from, py, i)].type == IR_T_NONE)
            return true;
    return false;
}

/* Whether a CALL does something beside its value: of a function, or of an intrinsic that is not
 * pure. */
static bool
lower_has_effect(const struct lower *l, ir_ref py)
{
    if (l->inst->callees[py])
        return true;
    if (ir_operation(l->inst, py) != IR_CALL)
        return false;
    const struct ir_type_info *info = lower_info(l, l->inst->cells[ir_arg(l->from, py, 0)].type);
    if (info->kind != IR_KIND_OBJECT)
        return false;
    const struct ir_const_info *callee = ir_const_info(l->py, info->object);
    return callee->kind == IR_C_INTRIN &&
           !(ir_intrin_row((enum ir_intrin)callee->u)->flags & IR_PURE);
}

void
lower_insn(struct lower *l, ir_ref py)
{
    const struct ir_insn *insn = ir_insn(l->from, py);
    const struct sp_src *src = &l->from->srcs.data[insn->src];
    struct ir_cell cell = l->inst->cells[py];
    if (insn->op == IR_UNDEF)
        l->bound[py] = l->ctx->options.check ? lower_bool(l, false) : 0;
    if (insn->op == IR_PHI || insn->op == IR_PARAM || insn->op == IR_UNDEF)
        return;
    if (lower_is_unreachable(l, py))
        return;
    ir_set_src(l->func, src->line, src->col, src->end_line, src->end_col);
    l->at = py;
    if (insn->op == IR_BOUND)
        lower_check_bound(l, py);
    if (insn->op == IR_BOUND && lower_get(l, ir_arg(l->from, py, 0)).type == IR_T_NONE)
        return; /* passed on, never read: lower_meet.c */
    if (ir_operation(l->inst, py) == IR_SETITEM) {
        lower_setitem(l, py);
        return;
    }
    if (insn->op == IR_SETATTR) {
        lower_store_field(l, py, ir_arg(l->from, py, 0), insn->imm, ir_arg(l->from, py, 1));
        return;
    }
    if (insn->op == IR_CELLSET) {
        lower_cellset(l, py);
        return;
    }
    if ((cell.type == IR_T_NONE || cell.constant) && !lower_has_effect(l, py))
        return;
    struct lower_value value = lower_value_of(l, py);
    if (cell.type != IR_T_NONE)
        l->values[py] = lower_convert(l, value, cell.type);
}

/* ---- Functions ---- */

static void
lower_params(struct lower *l)
{
    bool is_kernel = l->inst->index == 0;
    uint32_t at = 0, argument = 0, n_slots = ir_func_n_slots(l->from);
    struct lower_value *params = SP_NEW_N(l->core->arena, struct lower_value, n_slots);
    for (uint32_t k = 0; k < n_slots; k++) {
        struct ir_cell arg = l->inst->args[k];
        if (!lower_is_passed(arg)) {
            argument = is_kernel ? ir_argtype_end(l->typed->args, argument) : 0;
            continue;
        }
        uint32_t n = lower_n_parts(l, arg.type);
        ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
        const struct ir_type_info *info = lower_info(l, arg.type);
        if (is_kernel)
            lower_kernel_parts(l, arg.type, &argument, &at, parts);
        for (uint32_t i = 0; i < n && !is_kernel; i++, at++) {
            parts[i] = lower_emit(l, IR_PARAM, l->func->params[at].type, at, 0, NULL);
            if (info->kind == IR_KIND_ARRAY && i >= 1 && i <= info->rank)
                lower_mark_nonneg(l, parts[i]);
        }
        params[k] = (struct lower_value){arg.type, n, parts};
    }
    l->cursor = 0;
    if (l->takes[l->inst->index])
        l->cursor = is_kernel ? lower_cursor(l) : lower_emit(l, IR_PARAM, IR_T_PTR, at, 0, NULL);
    const struct ir_block *entry = &l->from->blocks.data[0];
    for (uint32_t i = 0; i < entry->insns.len; i++) {
        const struct ir_insn *insn = ir_insn(l->from, entry->insns.data[i]);
        ir_ref py = entry->insns.data[i];
        if (insn->op == IR_PARAM && params[insn->imm].type != IR_T_NONE)
            l->values[py] = lower_convert(l, params[insn->imm], l->inst->cells[py].type);
    }
}

/* What may call itself ends the thread before the stack is used up, and can be interrupted. */
static void
lower_depth(struct lower *l)
{
    struct sp_arena *arena = l->core->arena;
    const char *name = l->from->name;
    sp_vec_push(arena, &l->core->sites,
                (struct sp_fault_site){.code = SP_E_TOO_DEEP,
                                       .where = {.file = l->func->file,
                                                 .function = sp_arena_strdup(arena, name),
                                                 .line = l->from->line,
                                                 .end_line = l->from->line,
                                                 .col = -1,
                                                 .end_col = -1},
                                       .name = sp_arena_strdup(arena, name)});
    uint32_t fail = ir_block_new(l->func), go_on = ir_block_new(l->func);
    lower_emit(l, IR_POLL, IR_T_NONE, 0, 0, NULL);
    ir_br(l->func, l->block, lower_emit(l, IR_DEEP, IR_T_I1, 0, 0, NULL), fail, go_on);
    ir_raise(l->func, fail, l->core->sites.len - 1, 0, NULL);
    l->block = go_on;
}

static void
lower_func(struct lower *l, const struct ir_instance *inst)
{
    struct sp_arena *arena = l->core->arena;
    l->inst = inst;
    l->from = inst->func;
    l->func = l->core->funcs.data[l->func_of[inst->index]];
    l->n_consts = 0;
    l->values = SP_NEW_N(arena, struct lower_value, l->from->insns.len);
    l->products = SP_NEW_N(arena, struct lower_product, l->from->insns.len);
    l->bound = SP_NEW_N(arena, ir_ref, l->from->insns.len);
    l->nonneg.len = 0;
    for (uint32_t ref = 0; ref < l->from->insns.len; ref++) {
        /* Objects have no parts, wherever they come from. */
        ir_type type = inst->cells[ref].type;
        if (lower_info(l, type)->kind == IR_KIND_OBJECT)
            l->values[ref].type = type;
    }
    l->block = ir_block_new(l->func);
    lower_params(l);
    if (l->ctx->options.poll && l->in_cycle[inst->index])
        lower_depth(l);
    lower_meets(l);
    lower_blocks(l);
}

/* ---- Signatures ---- */

static const char *
lower_part_name(struct lower *l, const char *name, const struct ir_type_info *info, uint32_t i)
{
    if (info->kind == IR_KIND_SCALAR || i == 0)
        return sp_arena_strdup(l->core->arena, name);
    if (info->kind == IR_KIND_ARRAY)
        return i <= info->rank
                   ? sp_arena_printf(l->core->arena, "%s.shape%u", name, i - 1)
                   : sp_arena_printf(l->core->arena, "%s.stride%u", name, i - 1 - info->rank);
    return sp_arena_printf(l->core->arena, "%s.%u", name, i);
}

/* `argument_of`: for the kernel, which argument each CORE parameter is a part of. */
static void
lower_signature(struct lower *l, const struct ir_instance *inst, uint32_t **argument_of_out)
{
    struct sp_arena *arena = l->core->arena;
    const struct ir_func *from = inst->func;
    struct ir_func *func = ir_func_new(l->core, from->name);
    bool is_kernel = inst->index == 0;
    l->func_of[inst->index] = func->index;
    func->file = from->file ? sp_arena_strdup(arena, from->file) : NULL;
    func->line = from->line;
    func->is_kernel = is_kernel;
    uint32_t n = 0;
    uint32_t n_slots = ir_func_n_slots(from);
    for (uint32_t k = 0; k < n_slots; k++)
        n += lower_is_passed(inst->args[k]) ? lower_n_parts(l, inst->args[k].type) : 0;
    n += is_kernel ? lower_kernel_extra(l) : 0;
    func->params = SP_NEW_N(arena, struct ir_func_param, n + 1);
    uint32_t *argument_of = SP_NEW_N(arena, uint32_t, n);
    ir_type *types = SP_NEW_N(arena, ir_type, n);
    for (uint32_t k = 0, argument = 0; k < n_slots; k++) {
        if (!lower_is_passed(inst->args[k])) {
            argument = is_kernel ? ir_argtype_end(l->typed->args, argument) : 0;
            continue;
        }
        ir_type type = inst->args[k].type;
        uint32_t n_parts =
            is_kernel ? lower_kernel_types(l, type, &argument, types, argument_of + func->n_params)
                      : lower_part_types(l, type, types);
        for (uint32_t i = 0; i < n_parts; i++) {
            func->params[func->n_params++] = (struct ir_func_param){
                .name = lower_part_name(l, from->params[k].name, lower_info(l, type), i),
                .type = types[i]};
        }
    }
    if (l->takes[inst->index] && !is_kernel)
        func->params[func->n_params++] = (struct ir_func_param){.name = "", .type = IR_T_PTR};
    if (is_kernel) {
        *argument_of_out = argument_of;
    } else if (inst->result.type != IR_T_NONE && !inst->result.constant) {
        func->n_results = lower_n_parts(l, inst->result.type);
        func->results = SP_NEW_N(arena, ir_type, func->n_results);
        lower_part_types(l, inst->result.type, func->results);
    }
}

bool
ir_lower(struct ir_ctx *ctx, const struct ir_typed *typed, struct ir_module **core_out,
         uint64_t *written_out)
{
    struct lower l = {.ctx = ctx, .typed = typed, .py = typed->module};
    l.core = ir_module_new(ctx->arena, IR_PHASE_CORE);
    l.core->hash = typed->module->hash;
    l.func_of = SP_NEW_N(ctx->arena, uint32_t, typed->instances.len);
    l.takes = lower_takers(typed, ctx->arena);
    l.in_cycle = ctx->options.poll ? lower_cycles(typed, ctx->arena) : NULL;
    uint32_t *argument_of = NULL;
    for (uint32_t i = 0; i < typed->instances.len; i++)
        if (i == 0 || typed->instances.data[i]->live)
            lower_signature(&l, typed->instances.data[i], &argument_of);
    for (uint32_t i = 0; i < typed->instances.len; i++)
        if (i == 0 || typed->instances.data[i]->live)
            lower_func(&l, typed->instances.data[i]);
    uint64_t written = lower_written(l.core, argument_of);
    *core_out = l.core;
    *written_out = written;
    return true;
}
