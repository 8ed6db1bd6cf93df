/* infer_expand: calls whose arguments the instruction does not show one by one.
 *
 * Functions of the module take a tuple of arguments as it is (infer_call.c). Builtins, casts and
 * exceptions know their arguments by place, so a call of one with *t is rewritten, once the length
 * of t is known, in a copy of the function that belongs to the instance:
 *
 *     %4 = call_ex %max, %t      ->    %7 = elem 0 %t
 *                                      %8 = elem 1 %t
 *                                      %4 = call %max, %7, %8
 *
 * PARTIAL calls are written out likewise: methods of constant objects, functools.partial objects,
 * and methods of NamedTuples, whose self is a value of the kernel:
 *
 *     %4 = call %p, %x  (p: partial (@1, 2.0) with k = 3)  ->  %4 = call ("k",) @1, 2.0, %x, 3
 *     %5 = attr "dot" %v;  %6 = call %5, %w                ->  %6 = call @2, %v, %w
 *
 * All calls of an instance that wait are rewritten at once, and the instance begins anew; values
 * keep their numbers. Lost: arguments as a list beside the operands, which every rule of every
 * builtin, and lowering again, would have had to read. */
#include "ir/infer_t.h"

#include <string.h>

#define EXPAND_MAX_ARGS 4096u

struct expand {
    struct infer *in;
    struct ir_instance *instance;
    struct ir_func *func; /* the copy */
    ir_ref call;
    const struct ir_const_info *partial; /* or NULL */
    SP_VEC(ir_ref) before;               /* new instructions */
    SP_VEC(ir_ref) args;
    SP_VEC(ir_const) names; /* of the last arguments */
};

static const struct ir_const_info *
expand_partial(struct infer *in, struct ir_instance *instance, ir_ref call)
{
    struct ir_cell callee = infer_operand(instance, call, 0);
    const struct ir_const_info *object = infer_object(in, callee.type);
    const struct ir_question *answer;
    if (object && object->kind == IR_C_HOST &&
        infer_ask(in, instance, call, callee.constant, "__call__", &answer) && answer->answer)
        object = ir_const_info(in->module, answer->answer);
    return object && object->kind == IR_C_PARTIAL ? object : NULL;
}

static ir_ref
expand_add(struct expand *x, enum ir_op op, uint32_t imm, uint32_t n_args, const ir_ref *args)
{
    struct ir_func *func = x->func;
    uint32_t block = ir_insn(func, x->call)->block;
    func->src = ir_insn(func, x->call)->src;
    ir_ref ref = ir_insn_add(func, block, op, IR_T_NONE, imm, n_args, args);
    (void)sp_vec_pop(&func->blocks.data[block].insns); /* its place is before the call */
    sp_vec_push(x->in->ctx->arena, &x->before, ref);
    return ref;
}

static void
expand_add_constant(struct expand *x, ir_const constant)
{
    ir_ref ref = expand_add(x, IR_CONST, constant, 0, NULL);
    sp_vec_push(x->in->ctx->arena, &x->args, ref);
}

/* Whether the call itself names this keyword. */
static bool
expand_is_given(const struct expand *x, ir_const name)
{
    ir_const names = ir_insn(x->func, x->call)->imm;
    const struct ir_const_info *info = names ? ir_const_info(x->in->module, names) : NULL;
    for (uint32_t i = 0; info && i < info->len; i++)
        if (info->elems[i] == name)
            return true;
    return false;
}

static uint32_t
expand_n_names(const struct infer *in, ir_const names)
{
    return names ? ir_const_info(in->module, names)->len : 0;
}

/* What is called, and what a partial call has before the call's own arguments. */
static void
expand_head(struct expand *x)
{
    struct sp_arena *arena = x->in->ctx->arena;
    const struct ir_const_info *partial = x->partial;
    if (!partial) {
        sp_vec_push(arena, &x->args, ir_arg(x->func, x->call, 0));
        return;
    }
    expand_add_constant(x, partial->elems[0]);
    if (partial->len == 1)
        sp_vec_push(arena, &x->args, ir_method_self(x->func, x->call));
    uint32_t n = partial->len - expand_n_names(x->in, partial->named);
    for (uint32_t i = 1; i < n; i++)
        expand_add_constant(x, partial->elems[i]);
}

/* The arguments without a keyword, and of a CALL_EX the elements of its tuple. */
static void
expand_positional(struct expand *x)
{
    struct sp_arena *arena = x->in->ctx->arena;
    const struct ir_insn insn = *ir_insn(x->func, x->call);
    uint32_t n = insn.n_args - expand_n_names(x->in, insn.imm), first = 1;
    if (insn.op == IR_CALL_EX) {
        ir_ref tuple = ir_arg(x->func, x->call, first++);
        uint32_t n_elems = ir_type_info(x->in->module, x->instance->cells[tuple].type)->n_elems;
        for (uint32_t k = 0; k < n_elems; k++) {
            ir_ref elem = expand_add(x, IR_ELEM, k, 1, &tuple);
            sp_vec_push(arena, &x->args, elem);
        }
    }
    for (uint32_t i = first; i < n; i++)
        sp_vec_push(arena, &x->args, ir_arg(x->func, x->call, i));
}

static void
expand_keywords(struct expand *x)
{
    struct sp_arena *arena = x->in->ctx->arena;
    const struct ir_insn insn = *ir_insn(x->func, x->call);
    const struct ir_const_info *partial = x->partial;
    uint32_t n_own = expand_n_names(x->in, insn.imm);
    uint32_t n = partial ? expand_n_names(x->in, partial->named) : 0;
    for (uint32_t i = 0; i < n; i++) {
        ir_const name = ir_const_info(x->in->module, partial->named)->elems[i];
        if (expand_is_given(x, name))
            continue;
        expand_add_constant(x, partial->elems[partial->len - n + i]);
        sp_vec_push(arena, &x->names, name);
    }
    for (uint32_t i = 0; i < n_own; i++) {
        sp_vec_push(arena, &x->args, ir_arg(x->func, x->call, insn.n_args - n_own + i));
        sp_vec_push(arena, &x->names, ir_const_info(x->in->module, insn.imm)->elems[i]);
    }
}

/* The new instructions stand before the call in its block. */
static void
expand_place(struct expand *x)
{
    struct sp_arena *arena = x->func->module->arena;
    struct ir_block *block = &x->func->blocks.data[ir_insn(x->func, x->call)->block];
    uint32_t n = x->before.len, at = 0;
    while (block->insns.data[at] != x->call)
        at++;
    sp_vec_reserve(arena, &block->insns, n);
    memmove(block->insns.data + at + n, block->insns.data + at,
            (block->insns.len - at) * sizeof *block->insns.data);
    if (n)
        memcpy(block->insns.data + at, x->before.data, n * sizeof *x->before.data);
    block->insns.len += n;
}

static void
expand_call(struct infer *in, struct ir_instance *instance, struct ir_func *func, ir_ref call)
{
    struct expand x = {.in = in, .instance = instance, .func = func, .call = call};
    x.partial = expand_partial(in, instance, call);
    expand_head(&x);
    expand_positional(&x);
    expand_keywords(&x);
    expand_place(&x);
    uint32_t first = func->operands.len;
    sp_vec_reserve(func->module->arena, &func->operands, x.args.len);
    memcpy(func->operands.data + first, x.args.data, x.args.len * sizeof *x.args.data);
    func->operands.len += x.args.len;
    struct ir_insn *insn = ir_insn(func, call);
    insn->op = IR_CALL;
    insn->imm = x.names.len ? ir_const_tuple(in->module, x.names.len, x.names.data) : 0;
    insn->first_arg = first;
    insn->n_args = (uint16_t)x.args.len;
}

/* Whether the call can be written out now; false with an error once nothing more will be known. */
static bool
expand_check(struct infer *in, struct ir_instance *instance, ir_ref ref, bool *ready_out)
{
    const struct ir_const_info *partial = expand_partial(in, instance, ref);
    uint32_t n = ir_insn(instance->func, ref)->n_args + (partial ? partial->len : 0);
    *ready_out = false;
    if (partial && partial->len == 1 && !ir_method_self(instance->func, ref)) {
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT,
                   "a method that is not called where it is named");
        return INFER_HINT(in, "write x.method(...), or lambda y: x.method(y)");
    }
    if (ir_insn(instance->func, ref)->op == IR_CALL_EX) {
        ir_type spread = infer_operand(instance, ref, 1).type;
        const struct ir_type_info *info = ir_type_info(in->module, spread);
        if (!infer_known(spread))
            return true;
        if (info->kind != IR_KIND_TUPLE)
            return INFER_FAIL(in, instance, ref, NOT_UNPACKABLE, infer_text(in, spread)) ||
                   INFER_HINT(in, "only a tuple gives arguments: f(*t)");
        n += info->n_elems;
    }
    if (n > EXPAND_MAX_ARGS)
        return INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "a call with so many arguments") ||
               INFER_HINT(in, "use an array that is passed to the kernel");
    *ready_out = true;
    return true;
}

bool
infer_rule_expand(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    bool ready;
    if (!expand_check(in, instance, ref, &ready))
        return false;
    if (ready && !in->reporting)
        sp_vec_push(in->ctx->arena, &in->expands, (struct infer_item){instance->index, ref});
    return true;
}

/* Whether what the call waits for still holds: its operands may have risen since. */
static bool
expand_is_wanted(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    bool ready;
    const struct ir_const_info *object = infer_object(in, infer_operand(instance, ref, 0).type);
    return object && object->kind != IR_C_FUNC && object->kind != IR_C_CLASS &&
           expand_check(in, instance, ref, &ready) && ready;
}

/* The instance begins anew with this function; marks of its loops stay. */
static void
expand_replace(struct infer *in, struct ir_instance *instance, struct ir_func *func)
{
    struct sp_bits marks = instance->unrolled;
    uint32_t n_old = instance->func->insns.len;
    if (marks.words) {
        sp_bits_init(&instance->unrolled, in->ctx->arena, func->insns.len);
        for (ir_ref ref = 1; ref < n_old; ref++)
            if (sp_bits_has(&marks, ref))
                sp_bits_add(&instance->unrolled, ref);
    }
    instance->func = func;
    infer_restart(in, instance);
}

bool
infer_expand_all(struct infer *in)
{
    bool any = false;
    while (in->expands.len) {
        struct ir_instance *instance = in->typed->instances.data[in->expands.data[0].instance];
        struct ir_func *func = ir_func_clone(in->module, instance->func);
        struct sp_bits done;
        sp_bits_init(&done, in->ctx->arena, func->insns.len);
        uint32_t n = 0;
        for (uint32_t i = 0; i < in->expands.len; i++) {
            struct infer_item item = in->expands.data[i];
            if (item.instance != instance->index)
                in->expands.data[n++] = item;
            else if (expand_is_wanted(in, instance, item.ref) && sp_bits_add(&done, item.ref))
                expand_call(in, instance, func, item.ref);
        }
        in->expands.len = n;
        if (func->operands.len == instance->func->operands.len)
            continue;
        expand_replace(in, instance, func);
        any = true;
    }
    return any;
}
