/* infer_endless: recursion that nothing ends.
 *
 *     def f(n):
 *         return f(n - 1) + 1        no way to `return` without another f
 *
 * An instance can end if a path leads from its entry to a `ret` or a `raise` on which every call is
 * of an instance that can. Least fixed point over all live instances: at first none can. What
 * cannot, although its control flow has one, recurses without end. A result without a type tells it
 * only if the result depends on itself; a loop without an end is a program like any other. */
#include "ir/infer_t.h"

/* The first call in the block of an instance that cannot return, or 0. */
static ir_ref
endless_call(const struct ir_instance *instance, uint32_t block, const bool *returns)
{
    const struct ir_block *b = &instance->func->blocks.data[block];
    for (uint32_t i = 0; i < b->insns.len; i++) {
        uint32_t callee = instance->callees[b->insns.data[i]];
        if (callee && !returns[callee - 1])
            return b->insns.data[i];
    }
    return 0;
}

/* Whether an end is reached; `returns` NULL: calls end. `*call_out`: the first that stood in the
 * way. */
static bool
endless_reaches(struct infer *in, const struct ir_instance *instance, const bool *returns,
                ir_ref *call_out)
{
    const struct ir_func *func = instance->func;
    SP_VEC(uint32_t) todo = {0};
    struct sp_bits seen;
    sp_bits_init(&seen, in->ctx->arena, func->blocks.len);
    sp_bits_add(&seen, 0);
    sp_vec_push(in->ctx->arena, &todo, 0);
    while (todo.len) {
        uint32_t block = sp_vec_pop(&todo);
        ir_ref call = returns ? endless_call(instance, block, returns) : 0;
        if (call) {
            *call_out = !*call_out || call < *call_out ? call : *call_out;
            continue;
        }
        if (!func->blocks.data[block].n_succ)
            return true; /* ret or raise */
        for (uint32_t k = 0; k < func->blocks.data[block].n_succ; k++)
            if (sp_bits_has(&instance->live_edges, 2 * block + k) &&
                sp_bits_add(&seen, func->blocks.data[block].succ[k]))
                sp_vec_push(in->ctx->arena, &todo, func->blocks.data[block].succ[k]);
    }
    return false;
}

bool
infer_check_endless(struct infer *in)
{
    uint32_t n = in->typed->instances.len;
    bool *returns = SP_NEW_N(in->ctx->arena, bool, n);
    ir_ref call = 0;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct ir_instance *instance = in->typed->instances.data[i];
            if (!instance->live || returns[i])
                continue;
            returns[i] = endless_reaches(in, instance, returns, &call);
            again |= returns[i];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        struct ir_instance *instance = in->typed->instances.data[i];
        call = 0;
        if (!instance->live || returns[i] || endless_reaches(in, instance, returns, &call) ||
            !endless_reaches(in, instance, NULL, NULL) || !call)
            continue;
        const char *name = in->typed->instances.data[instance->callees[call] - 1]->func->name;
        INFER_FAIL(in, instance, call, NEVER_RETURNS, name);
        return INFER_HINT(in, "return on a path that does not call %s again", name);
    }
    return true;
}
