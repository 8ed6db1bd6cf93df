/* infer: types, constants and reachable code of a kernel and everything it calls.
 *
 * In: a PY module and the kernel's argument types. Out: instances, one per function and list of
 * argument cells, with a cell (type, constant) per value and the set of edges that can be taken.
 *
 * Sparse conditional constant propagation (Wegman and Zadeck, 1991) over the product of types and
 * constants, optimistic, over all instances of all functions at once: a value starts with no type
 * and only rises; a branch on a constant opens one edge, so dead sides are never typed; a call's
 * cell is its callee's result so far, so recursion needs nothing more. An operation without a rule
 * for its present operands gives no type, and is an error only if that is still so at the end.
 *
 * Questions that only Python can answer are collected while there is other work, asked at once, and
 * the work goes on. Launch facts never come here: they may change speed, never a type.
 *
 *     b1: %3 = phi %2, %6        %3: float32  (0.0 met x[i])
 *         %6 = bin + %3, %5      %6: float32
 *
 * Lost alternatives: unification over the whole function (its errors name no place, and dead code
 * is typed); inference per call graph component (recursion needs a second mechanism). */
#include "ir/infer_t.h"

#include <string.h>

static struct ir_flow *
infer_flow_new(struct sp_arena *arena, const struct ir_func *func)
{
    struct ir_flow *flow = SP_NEW(arena, struct ir_flow);
    uint32_t n = func->insns.len;
    flow->first_user = SP_NEW_N(arena, uint32_t, n + 2);
    for (uint32_t ref = 1; ref < n; ref++)
        for (uint32_t i = 0; i < ir_insn(func, ref)->n_args; i++)
            flow->first_user[ir_arg(func, ref, i) + 1]++;
    for (uint32_t i = 1; i <= n; i++)
        flow->first_user[i] += flow->first_user[i - 1];
    flow->users = SP_NEW_N(arena, ir_ref, flow->first_user[n]);
    uint32_t *next = sp_arena_copy(arena, flow->first_user, (n + 1) * sizeof *next);
    for (uint32_t ref = 1; ref < n; ref++)
        for (uint32_t i = 0; i < ir_insn(func, ref)->n_args; i++)
            flow->users[next[ir_arg(func, ref, i)]++] = ref;
    flow->rpo = SP_NEW_N(arena, uint32_t, func->blocks.len);
    flow->n_rpo = ir_fill_rpo(func, flow->rpo);
    return flow;
}

static struct ir_flow *
infer_flow(struct infer *in, const struct ir_func *func)
{
    while (in->flows.len <= func->index) {
        sp_vec_push(in->ctx->arena, &in->flows, NULL);
        sp_vec_push(in->ctx->arena, &in->demanded, (struct sp_bits){0});
    }
    struct ir_flow **flow = &in->flows.data[func->index];
    if (!*flow) {
        *flow = infer_flow_new(in->ctx->arena, func);
        sp_bits_init(&in->demanded.data[func->index], in->ctx->arena, ir_func_n_slots(func));
    }
    return *flow;
}

void
infer_queue(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    if (!sp_bits_has(&instance->live_blocks, ir_insn(instance->func, ref)->block))
        return;
    if (sp_bits_add(&in->queued.data[instance->index], ref))
        sp_vec_push(in->ctx->arena, &in->work, (struct infer_item){instance->index, ref});
}

static void
infer_queue_users(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    const struct ir_flow *flow = instance->flow;
    for (uint32_t i = flow->first_user[ref]; i < flow->first_user[ref + 1]; i++)
        infer_queue(in, instance, flow->users[i]);
}

static void
infer_open_block(struct infer *in, struct ir_instance *instance, uint32_t block)
{
    const struct ir_block *b = &instance->func->blocks.data[block];
    bool is_new = sp_bits_add(&instance->live_blocks, block);
    for (uint32_t i = 0; i < b->insns.len; i++) {
        if (!is_new && ir_insn(instance->func, b->insns.data[i])->op != IR_PHI)
            break;
        infer_queue(in, instance, b->insns.data[i]);
    }
}

static void
infer_open_edge(struct infer *in, struct ir_instance *instance, uint32_t block, uint32_t succ)
{
    if (sp_bits_add(&instance->live_edges, 2 * block + succ))
        infer_open_block(in, instance, instance->func->blocks.data[block].succ[succ]);
}

bool
ir_edge_is_live(const struct ir_instance *instance, uint32_t block, uint32_t pred)
{
    const struct ir_func *func = instance->func;
    const struct ir_block *b = &func->blocks.data[block];
    uint32_t from = b->preds.data[pred];
    uint32_t nth = 0; /* both edges of a branch may lead here: the nth of equal predecessors */
    for (uint32_t i = 0; i < pred; i++)
        nth += b->preds.data[i] == from;
    for (uint32_t succ = 0; succ < func->blocks.data[from].n_succ; succ++)
        if (func->blocks.data[from].succ[succ] == block && nth-- == 0)
            return sp_bits_has(&instance->live_edges, 2 * from + succ);
    return false;
}

/* An instance's identity. A constant counts where the program can only mean a value: bools, and
 * what the callee demanded, and what the launch gives the kernel as objects. Objects are part of
 * their type. The kernel is no callee of itself: when it is called, that is another instance. */
static struct ir_cell *
infer_key(struct infer *in, const struct ir_func *func, const struct ir_cell *args, bool is_kernel)
{
    uint32_t n = ir_func_n_slots(func);
    struct ir_cell *key = SP_NEW_N(in->ctx->arena, struct ir_cell, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        bool by_value = is_kernel || args[i].type == IR_T_BOOL || infer_object(in, args[i].type) ||
                        sp_bits_has(&in->demanded.data[func->index], i);
        key[i] = (struct ir_cell){args[i].type, by_value ? args[i].constant : 0};
    }
    key[n].type = func->index;
    key[n].constant = is_kernel;
    return key;
}

/* How many instances of `func` are on the chain of first calls that leads to `caller`. */
static uint32_t
infer_chain(const struct infer *in, const struct ir_func *func, const struct ir_caller *caller)
{
    uint32_t n = 0;
    for (const struct ir_caller *at = caller; at;) {
        const struct ir_instance *instance = in->typed->instances.data[at->instance];
        n += instance->func->index == func->index;
        at = instance->callers.len && instance->index ? &instance->callers.data[0] : NULL;
    }
    return n;
}

/* Nothing is known of the instance yet, and its entry is to be looked at. */
static void
infer_start(struct infer *in, struct ir_instance *instance, const struct ir_flow *flow)
{
    struct sp_arena *arena = in->ctx->arena;
    const struct ir_func *func = instance->func;
    instance->flow = flow;
    instance->cells = SP_NEW_N(arena, struct ir_cell, func->insns.len);
    instance->callees = SP_NEW_N(arena, uint32_t, func->insns.len);
    instance->operators = SP_NEW_N(arena, uint16_t, func->insns.len);
    sp_bits_init(&instance->live_blocks, arena, func->blocks.len);
    sp_bits_init(&instance->live_edges, arena, 2 * func->blocks.len);
    sp_bits_init(&in->queued.data[instance->index], arena, func->insns.len);
    infer_open_block(in, instance, 0);
}

struct ir_instance *
infer_instance(struct infer *in, const struct ir_func *func, const struct ir_cell *args,
               const struct ir_caller *caller)
{
    struct sp_arena *arena = in->ctx->arena;
    struct ir_flow *flow = infer_flow(in, func);
    struct ir_cell *key = infer_key(in, func, args, !caller);
    bool is_new;
    size_t key_B = (ir_func_n_slots(func) + 1) * sizeof *key;
    uint32_t *slot = sp_map_intern(&in->instance_map, arena, key, key_B, &is_new);
    if (!is_new)
        return *slot ? in->typed->instances.data[*slot - 1] : NULL;
    if (in->typed->instances.len >= INFER_MAX_INSTANCES ||
        infer_chain(in, func, caller) >= INFER_MAX_CHAIN)
        return NULL;

    struct ir_instance *instance = SP_NEW(arena, struct ir_instance);
    instance->index = in->typed->instances.len;
    instance->func = func;
    instance->args = key;
    *slot = instance->index + 1;
    sp_vec_push(arena, &in->typed->instances, instance);
    sp_vec_push(arena, &in->queued, (struct sp_bits){0});
    if (caller)
        sp_vec_push(arena, &instance->callers, *caller);
    infer_start(in, instance, flow);
    return instance;
}

void
infer_restart(struct infer *in, struct ir_instance *instance)
{
    uint32_t n = 0; /* what waits is asked for again, by other numbers */
    for (uint32_t i = 0; i < in->pending.len; i++)
        if (in->pending.data[i].instance != instance->index)
            in->pending.data[n++] = in->pending.data[i];
    in->pending.len = n;
    infer_start(in, instance, infer_flow_new(in->ctx->arena, instance->func));
}

bool
infer_demand(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (insn->op != IR_PARAM || instance->index == 0)
        return false;
    if (in->reporting || !sp_bits_add(&in->demanded.data[instance->func->index], insn->imm))
        return true;
    for (uint32_t i = 0; i < in->typed->instances.len; i++) {
        struct ir_instance *other = in->typed->instances.data[i];
        for (uint32_t k = 0; other->func->index == instance->func->index && k < other->callers.len;
             k++)
            infer_queue(in, in->typed->instances.data[other->callers.data[k].instance],
                        other->callers.data[k].insn);
    }
    return true;
}

bool
infer_rise(struct infer *in, struct ir_cell *cell, struct ir_cell with)
{
    if (with.type == IR_T_NONE)
        return false;
    struct ir_cell old = *cell;
    cell->type = ir_type_join(in->module, old.type, with.type);
    if (cell->type == IR_T_MIXED)
        cell->constant = old.type == IR_T_NONE    ? with.constant
                         : old.type == IR_T_MIXED ? old.constant
                                                  : old.type;
    else if (old.type == IR_T_MIXED || with.type == IR_T_MIXED)
        cell->constant = 0;
    else
        cell->constant = old.type == IR_T_NONE || old.constant == with.constant ? with.constant : 0;
    return cell->type != old.type || cell->constant != old.constant;
}

static void
infer_phi(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    uint32_t block = ir_insn(instance->func, ref)->block;
    for (uint32_t i = 0; i < ir_insn(instance->func, ref)->n_args; i++)
        if (ir_edge_is_live(instance, block, i))
            infer_rise(in, out, instance->cells[ir_operand(instance, ref, i)]);
}

/* What is known of a phi that has no value on one way in: there a number reads 0 and an array has
 * no elements, so it is no constant and no array whose type says how many. */
static struct ir_cell
infer_part_undefined(struct infer *in, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *phi = ir_insn(instance->func, ref);
    struct ir_cell cell = instance->cells[ref];
    if (phi->op != IR_PHI || !infer_known(cell.type) || infer_object(in, cell.type))
        return cell;
    struct ir_cell dropped = {ir_type_drop_extents(in->module, cell.type), 0};
    if (dropped.type == cell.type && !cell.constant)
        return cell;
    for (uint32_t i = 0; i < phi->n_args; i++)
        if (ir_edge_is_live(instance, phi->block, i) &&
            infer_operand(instance, ref, i).type == IR_T_NONE)
            return dropped;
    return cell;
}

static void
infer_branch(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    struct ir_cell condition = infer_operand(instance, ref, 0);
    if (!infer_known(condition.type))
        return;
    int truth = infer_truth(in->module, condition);
    if (truth != 0)
        infer_open_edge(in, instance, insn->block, 0);
    if (truth != 1)
        infer_open_edge(in, instance, insn->block, 1);
}

static void
infer_return(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    if (!infer_rise(in, &instance->result, instance->cells[ir_operand(instance, ref, 0)]))
        return;
    for (uint32_t i = 0; i < instance->callers.len; i++)
        infer_queue(in, in->typed->instances.data[instance->callers.data[i].instance],
                    instance->callers.data[i].insn);
}

/* What takes elements out of the tuple that `ref` makes: an element may lose its constant while the
 * tuple, which has none, stays what it is. */
static void
infer_queue_parts(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    const struct ir_flow *flow = instance->flow;
    for (uint32_t i = flow->first_user[ref]; i < flow->first_user[ref + 1]; i++) {
        ir_ref user = flow->users[i];
        if (ir_insn(instance->func, user)->op == IR_UNPACK)
            infer_queue_users(in, instance, user);
        else
            infer_queue(in, instance, user);
    }
}

static void
infer_visit(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    struct ir_cell cell = {0};
    switch (insn->op) {
    case IR_JUMP: infer_open_edge(in, instance, insn->block, 0); return;
    case IR_BR: infer_branch(in, instance, ref); return;
    case IR_RET: infer_return(in, instance, ref); return;
    case IR_PHI: infer_phi(in, instance, ref, &cell); break;
    default:
        if (!infer_rule(in, instance, ref, &cell))
            cell = (struct ir_cell){0};
    }
    if (insn->op == IR_TUPLE || insn->op == IR_LIST || insn->op == IR_VALUE)
        infer_queue_parts(in, instance, ref);
    if (!infer_rise(in, &instance->cells[ref], cell))
        return;
    infer_queue_users(in, instance, ref);
    if (insn->op == IR_PHI)
        infer_want_unrolled(in, instance, ref);
}

/* Nothing is left to do, so a value without a type has none: phis that read one lose their
 * constants and extents. True if one did. */
static bool
infer_drop_undefined(struct infer *in)
{
    bool dropped = false;
    for (uint32_t i = 0; i < in->typed->instances.len; i++) {
        struct ir_instance *instance = in->typed->instances.data[i];
        for (ir_ref ref = 1; ref < instance->func->insns.len; ref++) {
            struct ir_cell cell = infer_part_undefined(in, instance, ref);
            struct ir_cell *known = &instance->cells[ref];
            if (cell.type == known->type && cell.constant == known->constant)
                continue;
            *known = cell;
            infer_queue_users(in, instance, ref);
            dropped = true;
        }
    }
    return dropped;
}

/* Cells are final: what is MIXED now stays without a type. */
static void
infer_end_mixed(struct infer *in)
{
    for (uint32_t i = 0; i < in->typed->instances.len; i++) {
        struct ir_instance *instance = in->typed->instances.data[i];
        for (ir_ref ref = 1; ref < instance->func->insns.len; ref++)
            if (instance->cells[ref].type == IR_T_MIXED)
                instance->cells[ref].constant = 0;
        if (instance->result.type == IR_T_MIXED)
            instance->result.constant = 0;
    }
    for (uint32_t i = 0; i < in->typed->shared.len; i++)
        if (in->typed->shared.data[i].content.type == IR_T_MIXED)
            in->typed->shared.data[i].content.constant = 0;
}

static void
infer_drain(struct infer *in)
{
    while (in->work.len) {
        struct infer_item item = sp_vec_pop(&in->work);
        sp_bits_remove(&in->queued.data[item.instance], item.ref);
        infer_visit(in, in->typed->instances.data[item.instance], item.ref);
    }
}

bool
infer_ask(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_const object,
          const char *name, const struct ir_question **answer_out)
{
    struct sp_arena *arena = in->ctx->arena;
    ir_const key[2] = {object, ir_const_str(in->module, name, strlen(name))};
    bool is_new;
    uint32_t *slot = sp_map_intern(&in->answer_map, arena, key, sizeof key, &is_new);
    if (is_new) {
        struct infer_answer *answer;
        *slot = in->answers.len;
        sp_vec_push(arena, &in->answers, (struct infer_answer){0});
        answer = &in->answers.data[*slot];
        answer->question = (struct ir_question){.kind = IR_Q_ATTR,
                                                .object = object,
                                                .name = name,
                                                .where = *infer_src(in, instance, ref)};
    }
    struct infer_answer *answer = &in->answers.data[*slot];
    *answer_out = &answer->question;
    if (!answer->asked)
        sp_vec_push(arena, &in->waiting, (struct infer_item){instance->index, ref});
    return answer->asked;
}

void
infer_put(struct infer *in, struct ir_question *questions, uint32_t n)
{
    const struct ir_oracle *oracle = in->ctx->oracle;
    if (oracle && n)
        oracle->answer(oracle->context, in->module, questions, n);
}

/* Asks everything that is open; true if there was something. */
static bool
infer_ask_all(struct infer *in)
{
    SP_VEC(struct ir_question) open = {0};
    for (uint32_t i = 0; i < in->answers.len; i++)
        if (!in->answers.data[i].asked)
            sp_vec_push(in->ctx->arena, &open, in->answers.data[i].question);
    infer_put(in, open.data, open.len);
    for (uint32_t i = 0, k = 0; i < in->answers.len; i++)
        if (!in->answers.data[i].asked) {
            in->answers.data[i].question = open.data[k++];
            in->answers.data[i].asked = true;
        }
    for (uint32_t i = 0; i < in->waiting.len; i++)
        infer_queue(in, in->typed->instances.data[in->waiting.data[i].instance],
                    in->waiting.data[i].ref);
    in->waiting.len = 0;
    return open.len > 0;
}

/* Whether to settle `a` before `b`: what is called before its caller, then in program order. */
static bool
infer_is_earlier(struct infer_item a, struct infer_item b)
{
    return a.instance != b.instance ? a.instance > b.instance : a.ref < b.ref;
}

/* isinstance opens one side of a branch for good, and a loop over a tuple of different types is
 * written out for good, so they are answered when nothing else is left to do, one at a time: a type
 * that is still to rise would give another answer. True if there was one. */
static bool
infer_settle(struct infer *in)
{
    uint32_t first = 0;
    if (!in->pending.len)
        return false;
    for (uint32_t i = 1; i < in->pending.len; i++)
        if (infer_is_earlier(in->pending.data[i], in->pending.data[first]))
            first = i;
    struct infer_item item = in->pending.data[first];
    in->pending.data[first] = sp_vec_pop(&in->pending);
    struct ir_instance *instance = in->typed->instances.data[item.instance];
    if (!sp_bits_has(&instance->live_blocks, ir_insn(instance->func, item.ref)->block))
        return true; /* written out in the meantime */
    in->settling = true;
    infer_visit(in, instance, item.ref);
    in->settling = false;
    sp_vec_push(in->ctx->arena, &in->settled, item);
    return true;
}

/* A type that rose after all, around a loop: the last one counts. */
static void
infer_settle_last(struct infer *in)
{
    for (uint32_t i = 0; i < in->settled.len; i++) {
        struct infer_item item = in->settled.data[i];
        struct ir_instance *instance = in->typed->instances.data[item.instance];
        struct ir_cell cell;
        if (ir_insn(instance->func, item.ref)->op == IR_CALL &&
            instance->cells[item.ref].type == IR_T_BOOL && !instance->cells[item.ref].constant &&
            infer_rule(in, instance, item.ref, &cell))
            instance->cells[item.ref] = cell;
    }
}

static bool
infer_run(struct infer *in)
{
    const struct ir_func *kernel = in->module->funcs.data[0];
    struct ir_cell *args = SP_NEW_N(in->ctx->arena, struct ir_cell, ir_func_n_slots(kernel) + 1);
    if (!infer_kernel(in, kernel, args))
        return false;
    infer_instance(in, kernel, args, NULL);
    do
        infer_drain(in);
    while (infer_ask_all(in) || infer_expand_all(in) || infer_unroll_all(in) || infer_settle(in) ||
           infer_drop_undefined(in));
    infer_end_mixed(in);
    infer_fill_slots(in);
    in->reporting = true;
    infer_settle_last(in);
    return infer_report(in);
}

bool
ir_infer(struct ir_ctx *ctx, struct ir_module *module, const struct ir_argtype *args,
         uint32_t n_args, struct ir_typed **typed_out)
{
    struct infer in = {.ctx = ctx, .module = module, .typed = SP_NEW(ctx->arena, struct ir_typed)};
    in.typed->module = module;
    module->check = ctx->options.check;
    module->single = ctx->options.single;
    in.typed->args = args;
    in.typed->n_args = n_args;
    bool ok = infer_run(&in);
    for (uint32_t i = 0; i < in.answers.len; i++)
        sp_diag_finish(&in.answers.data[i].question.diag);
    sp_map_finish(&in.instance_map);
    sp_map_finish(&in.shared_map);
    sp_map_finish(&in.answer_map);
    if (ok)
        *typed_out = in.typed;
    return ok;
}
