/* opt_inline: calls replaced by the callee's body.
 *
 * Takes any verified CORE module. Callees come before their callers (strongly connected components
 * by Tarjan's algorithm, 1972, without recursion), so a body is final when it is copied. Inlined is
 * a callee that is small, or that has one call in the whole module, while the caller stays below a
 * fixed size; functions of a recursive component are never inlined. So a chain of 200 functions
 * becomes a few functions of bounded size and 100 calls of one function cannot multiply it without
 * end. A body whose only call is gone is emptied, the function itself is left to ir_opt_dce. One
 * pass over a caller copies its blocks' instructions once, however many calls they hold. A copied
 * instruction keeps its source range, with file and function named where the callee's differ.
 * Inlining by LLVM alone came too late: ranges and facts of the arguments would stop at calls.
 *
 *     b0: %3 = callf i64 @1 %1, %2          b0: jump b1
 *         ret %3                            b1: %5 = add i64 %1, %2
 *     @1: %3 = add i64 %1, %2        =>         jump b2
 *         ret %3                            b2: %6 = phi i64 %5
 *                                               ret %6
 *
 *     callf @1 in @1                 =>     stays: recursion
 *
 * ir_inline_must is the same for functions that have to be inlined, and no other: whose local
 * arrays outlive them (a slot's address is among their results, or in a variable that they share),
 * and on the host, whose threads wait in the kernel alone, those that wait for other threads. */
#include "ir/pass.h"

#include <assert.h>
#include <string.h>

#define INLINE_SMALL 40        /* instructions of a callee that is always worth its copy */
#define INLINE_CALLER_MAX 2000 /* no inlining makes a function larger than this */
#define INLINE_MUST_MAX 100000 /* but what must be inlined is up to here */

struct inl {
    struct ir_module *module;
    struct sp_arena *arena;
    uint32_t *n_insns, *n_calls; /* by function */
    bool *must;                  /* by function, or NULL: only these, and those always */
    bool *recursive;
    uint32_t *order; /* callees first */
    uint32_t n_order;
    SP_VEC(uint32_t) callees; /* of all functions */
    uint32_t *first_callee;   /* by function, and one more */
};

static void
inline_collect(struct inl *in)
{
    uint32_t n = in->module->funcs.len;
    for (uint32_t f = 0; f < n; f++) {
        const struct ir_func *func = in->module->funcs.data[f];
        in->first_callee[f] = in->callees.len;
        for (uint32_t b = 0; b < func->blocks.len; b++) {
            in->n_insns[f] += func->blocks.data[b].insns.len;
            for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
                const struct ir_insn *insn = ir_insn(func, func->blocks.data[b].insns.data[i]);
                if (insn->op != IR_CALLF)
                    continue;
                in->n_calls[insn->imm]++;
                sp_vec_push(in->arena, &in->callees, insn->imm);
            }
        }
    }
    in->first_callee[n] = in->callees.len;
}

/* Tarjan: `index` numbers functions as they are met, `low` is the least one reachable on the stack.
 * */
static void
inline_order_from(struct inl *in, uint32_t root, uint32_t *index, uint32_t *low, uint32_t *next,
                  uint32_t *count)
{
    struct sp_arena *arena = in->arena;
    SP_VEC(uint32_t) path = {0};
    SP_VEC(uint32_t) stack = {0};
    sp_vec_push(arena, &path, root);
    sp_vec_push(arena, &stack, root);
    index[root] = low[root] = ++*count;
    while (path.len) {
        uint32_t f = path.data[path.len - 1];
        if (in->first_callee[f] + next[f] < in->first_callee[f + 1]) {
            uint32_t to = in->callees.data[in->first_callee[f] + next[f]++];
            in->recursive[f] |= to == f;
            if (!index[to]) {
                index[to] = low[to] = ++*count;
                sp_vec_push(arena, &path, to);
                sp_vec_push(arena, &stack, to);
            } else if (low[to] && index[to] < low[f]) {
                low[f] = index[to]; /* still on the stack: low becomes 0 when it leaves */
            }
            continue;
        }
        path.len--;
        if (path.len && low[f] < low[path.data[path.len - 1]])
            low[path.data[path.len - 1]] = low[f];
        if (low[f] != index[f])
            continue;
        bool many = stack.data[stack.len - 1] != f;
        for (;;) {
            uint32_t member = sp_vec_pop(&stack);
            in->recursive[member] |= many;
            low[member] = 0;
            in->order[in->n_order++] = member;
            if (member == f)
                break;
        }
    }
}

static void
inline_order(struct inl *in)
{
    uint32_t n = in->module->funcs.len, count = 0;
    uint32_t *index = SP_NEW_N(in->arena, uint32_t, n);
    uint32_t *low = SP_NEW_N(in->arena, uint32_t, n);
    uint32_t *next = SP_NEW_N(in->arena, uint32_t, n);
    for (uint32_t f = 0; f < n; f++)
        if (!index[f])
            inline_order_from(in, f, index, low, next, &count);
}

static bool
inline_wanted(const struct inl *in, uint32_t caller, uint32_t callee, uint32_t grown)
{
    if (in->recursive[callee] || callee == caller)
        return false;
    if (in->must)
        return in->must[callee] &&
               in->n_insns[caller] + grown + in->n_insns[callee] <= INLINE_MUST_MAX;
    if (in->n_insns[callee] > INLINE_SMALL && in->n_calls[callee] != 1)
        return false;
    return in->n_insns[caller] + grown + in->n_insns[callee] <= INLINE_CALLER_MAX;
}

/* ---- Copying one body ---- */

struct copy {
    struct ir_func *to;
    const struct ir_func *from;
    struct sp_arena *arena;
    uint32_t first_block;
    ir_ref *refs;           /* the caller's numbers of the callee's instructions */
    uint32_t *srcs;         /* the caller's numbers of the callee's ranges; 0: not copied yet */
    ir_ref *params;         /* by parameter: the argument */
    uint32_t exit;          /* block after the call */
    SP_VEC(ir_ref) returns; /* the callee's RETs */
};

static uint32_t
copy_src(struct copy *c, uint32_t src)
{
    if (!src)
        return 0;
    if (!c->srcs[src]) {
        struct sp_src range = c->from->srcs.data[src];
        const char *file = range.file ? range.file : c->from->file;
        const char *function = range.function ? range.function : c->from->name;
        bool same_file =
            file == c->to->file || (file && c->to->file && strcmp(file, c->to->file) == 0);
        range.file = same_file ? NULL : file;
        range.function = strcmp(function, c->to->name) == 0 ? NULL : function;
        sp_vec_push(c->to->module->arena, &c->to->srcs, range);
        c->srcs[src] = c->to->srcs.len - 1;
    }
    return c->srcs[src];
}

static ir_ref
copy_ref(const struct copy *c, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(c->from, ref);
    return insn->op == IR_PARAM ? c->params[insn->imm] : c->refs[ref];
}

static void
copy_insn(struct copy *c, ir_ref ref)
{
    struct ir_func *to = c->to;
    struct sp_arena *arena = to->module->arena;
    const struct ir_insn *from = ir_insn(c->from, ref);
    struct ir_insn insn = *from;
    uint32_t block = c->first_block + from->block;
    if (insn.op == IR_PARAM)
        return;
    insn.block = block;
    insn.src = copy_src(c, from->src);
    insn.first_arg = to->operands.len;
    if (insn.op == IR_RET) {
        insn.op = IR_JUMP;
        insn.n_args = 0;
        sp_vec_push(c->arena, &c->returns, ref);
    }
    sp_vec_reserve(arena, &to->operands, insn.n_args);
    for (uint32_t i = 0; i < insn.n_args; i++)
        to->operands.data[to->operands.len++] = copy_ref(c, ir_arg(c->from, ref, i));
    to->insns.data[c->refs[ref]] = insn;
    sp_vec_push(arena, &to->blocks.data[block].insns, c->refs[ref]);
}

/* Numbers for the callee's instructions, without the gaps that deleted ones left. */
static void
copy_number(struct copy *c)
{
    uint32_t n = 0, first = c->to->insns.len;
    for (uint32_t b = 0; b < c->from->blocks.len; b++)
        for (uint32_t i = 0; i < c->from->blocks.data[b].insns.len; i++)
            c->refs[c->from->blocks.data[b].insns.data[i]] = first + n++;
    sp_vec_reserve(c->to->module->arena, &c->to->insns, n);
    memset(c->to->insns.data + first, 0, n * sizeof(struct ir_insn));
    c->to->insns.len += n;
}

/* Copies blocks and edges; returns the continuation's phis, one per result. */
static ir_ref *
copy_body(struct copy *c)
{
    struct ir_func *to = c->to;
    struct sp_arena *arena = to->module->arena;
    uint32_t n = c->from->blocks.len;
    c->first_block = to->blocks.len;
    for (uint32_t b = 0; b < n; b++)
        ir_block_new(to);
    c->exit = ir_block_new(to);
    copy_number(c);
    for (uint32_t b = 0; b < n; b++) {
        const struct ir_block *block = &c->from->blocks.data[b];
        struct ir_block *copy = &to->blocks.data[c->first_block + b];
        for (uint32_t i = 0; i < block->preds.len; i++)
            sp_vec_push(arena, &copy->preds, c->first_block + block->preds.data[i]);
        for (uint32_t i = 0; i < block->n_succ; i++)
            copy->succ[i] = c->first_block + block->succ[i];
        copy->n_succ = block->n_succ;
        for (uint32_t i = 0; i < block->insns.len; i++)
            copy_insn(c, block->insns.data[i]);
    }
    for (uint32_t i = 0; i < c->returns.len; i++) {
        uint32_t b = c->first_block + ir_insn(c->from, c->returns.data[i])->block;
        to->blocks.data[b].succ[0] = c->exit;
        to->blocks.data[b].n_succ = 1;
        sp_vec_push(arena, &to->blocks.data[c->exit].preds, b);
    }
    ir_ref *results = SP_NEW_N(c->arena, ir_ref, c->from->n_results + 1);
    ir_ref *args = SP_NEW_N(c->arena, ir_ref, c->returns.len + 1);
    for (uint32_t k = 0; k < c->from->n_results; k++) {
        for (uint32_t i = 0; i < c->returns.len; i++)
            args[i] = copy_ref(c, ir_arg(c->from, c->returns.data[i], k));
        results[k] = ir_phi_new(to, c->exit, c->from->results[k], 0);
        ir_phi_set(to, results[k], c->returns.len, args);
    }
    return results;
}

/* ---- One caller ---- */

struct caller {
    struct inl *in;
    struct ir_func *func;
    uint32_t n_old; /* instructions before */
    uint32_t grown;
    ir_ref **results; /* by old ref of a call: its results, or NULL */
    ir_ref *replaced; /* by old ref: the value that took its place, or 0 */
};

/* Nothing calls it any more: what is left of it until ir_opt_dce costs the passes nothing. */
static void
inline_empty(struct ir_func *func)
{
    func->insns.len = 1;
    func->operands.len = 0;
    func->blocks.len = 1;
    func->blocks.data[0].insns.len = 0;
    func->blocks.data[0].n_succ = 0;
    ir_unreachable(func, 0);
}

/* Puts the callee's body behind block `at`; returns the block where the caller goes on. */
static uint32_t
caller_take(struct caller *c, uint32_t at, ir_ref call)
{
    struct ir_func *func = c->func;
    uint32_t callee = ir_insn(func, call)->imm;
    struct copy copy = {
        .to = func,
        .from = c->in->module->funcs.data[callee],
        .arena = c->in->arena,
    };
    copy.srcs = SP_NEW_N(copy.arena, uint32_t, copy.from->srcs.len);
    copy.refs = SP_NEW_N(copy.arena, ir_ref, copy.from->insns.len);
    copy.params = SP_NEW_N(copy.arena, ir_ref, ir_insn(func, call)->n_args + 1u);
    memcpy(copy.params, ir_args(func, call), ir_insn(func, call)->n_args * sizeof(ir_ref));
    func->src = ir_insn(func, call)->src;
    c->results[call] = copy_body(&copy);
    if (copy.from->n_results)
        c->replaced[call] = c->results[call][0];
    c->grown += c->in->n_insns[callee];
    ir_delete(func, call);
    ir_jump(func, at, copy.first_block);
    if (c->in->n_calls[callee] == 1 && callee != 0)
        inline_empty(c->in->module->funcs.data[callee]);
    return copy.exit;
}

static bool
is_inlined(const struct caller *c, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(c->func, ref);
    return insn->op == IR_CALLF && inline_wanted(c->in, c->func->index, insn->imm, c->grown);
}

/* Distributes the block's instructions over itself and the continuations of its calls. */
static void
caller_block(struct caller *c, uint32_t b)
{
    struct ir_func *func = c->func;
    struct ir_block old = func->blocks.data[b];
    uint32_t i = 0, at = b;
    while (i < old.insns.len && !is_inlined(c, old.insns.data[i]))
        i++;
    if (i == old.insns.len)
        return;
    ir_ref *rest =
        sp_arena_copy(c->in->arena, old.insns.data + i, (old.insns.len - i) * sizeof *rest);
    uint32_t n_rest = old.insns.len - i;
    func->blocks.data[b].insns.len = i;
    func->blocks.data[b].n_succ = 0;
    for (uint32_t k = 0; k < n_rest; k++) /* parameters stay in the entry block */
        if (ir_insn(func, rest[k])->op == IR_PARAM)
            sp_vec_push(func->module->arena, &func->blocks.data[b].insns, rest[k]);
    for (uint32_t k = 0; k < n_rest; k++) {
        if (ir_insn(func, rest[k])->op == IR_PARAM)
            continue;
        if (is_inlined(c, rest[k])) {
            at = caller_take(c, at, rest[k]);
            continue;
        }
        ir_insn(func, rest[k])->block = at;
        sp_vec_push(func->module->arena, &func->blocks.data[at].insns, rest[k]);
    }
    struct ir_block *last = &func->blocks.data[at];
    for (uint32_t k = 0; k < old.n_succ; k++) {
        struct ir_block *succ = &func->blocks.data[old.succ[k]];
        last->succ[last->n_succ++] = old.succ[k];
        for (uint32_t p = 0; p < succ->preds.len; p++)
            if (succ->preds.data[p] == b)
                succ->preds.data[p] = at;
    }
}

/* Uses of calls and their RESULTs become uses of the phis. */
static void
caller_results(struct caller *c)
{
    struct ir_func *func = c->func;
    struct ir_subst subst;
    ir_subst_init(&subst, func, c->in->arena);
    memcpy(subst.to, c->replaced, c->n_old * sizeof *subst.to);
    for (ir_ref ref = 1; ref < c->n_old; ref++) {
        if (ir_insn(func, ref)->op != IR_RESULT)
            continue;
        ir_ref call = ir_arg(func, ref, 0);
        if (call < c->n_old && c->results[call]) {
            subst.to[ref] = c->results[call][ir_insn(func, ref)->imm];
            ir_delete(func, ref);
        }
    }
    ir_sweep(func);
    ir_subst_apply(&subst, func);
    ir_remove_unreachable(func); /* what follows the call of a function that never returns */
}

static bool
inline_func(struct inl *in, struct ir_func *func)
{
    struct caller c = {.in = in, .func = func, .n_old = func->insns.len};
    uint32_t n_blocks = func->blocks.len, src = func->src;
    c.results = SP_NEW_N(in->arena, ir_ref *, c.n_old);
    c.replaced = SP_NEW_N(in->arena, ir_ref, c.n_old);
    for (uint32_t b = 0; b < n_blocks; b++)
        caller_block(&c, b);
    func->src = src;
    if (!c.grown)
        return false;
    caller_results(&c);
    in->n_insns[func->index] += c.grown;
    return true;
}

static bool
inline_module(struct inl *in)
{
    struct ir_module *module = in->module;
    uint32_t n = module->funcs.len;
    bool changed = false;
    assert(module->phase == IR_PHASE_CORE && "a pass over CORE");
    in->n_insns = SP_NEW_N(in->arena, uint32_t, n);
    in->n_calls = SP_NEW_N(in->arena, uint32_t, n);
    in->recursive = SP_NEW_N(in->arena, bool, n);
    in->order = SP_NEW_N(in->arena, uint32_t, n);
    in->first_callee = SP_NEW_N(in->arena, uint32_t, n + 1);
    inline_collect(in);
    inline_order(in);
    for (uint32_t i = 0; i < in->n_order; i++)
        changed |= inline_func(in, module->funcs.data[in->order[i]]);
    return changed;
}

bool
ir_opt_inline(struct ir_module *module)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct inl in = {.module = module, .arena = &arena};
    bool changed = inline_module(&in);
    sp_arena_finish(&arena);
    return changed;
}

/* ---- Functions that must be inlined ---- */

/* Whether a local array may be used when the function that made it has returned: it is among the
 * results, or in a variable that functions share. Whose array it is does not matter. */
static bool
must_outlives(const struct ir_func *func)
{
    bool keeps = false;
    for (uint32_t i = 0; i < func->n_results; i++)
        if (func->results[i] == IR_T_PTR_LOCAL)
            return true;
    for (uint32_t b = 0; b < func->blocks.len; b++)
        for (uint32_t i = 0; i < func->blocks.data[b].insns.len; i++) {
            ir_ref ref = func->blocks.data[b].insns.data[i];
            const struct ir_insn *insn = ir_insn(func, ref);
            keeps |=
                insn->op == IR_STORE && ir_insn(func, ir_arg(func, ref, 1))->type == IR_T_PTR_LOCAL;
        }
    return keeps;
}

/* The first call that is left of such a function. */
static bool
must_check(const struct inl *in, const struct ir_func *func, struct sp_diag *diag)
{
    for (ir_ref ref = 1; ref < func->insns.len; ref++) {
        const struct ir_insn *insn = ir_insn(func, ref);
        if (insn->op != IR_CALLF || !in->must[insn->imm])
            continue;
        const struct ir_func *callee = in->module->funcs.data[insn->imm];
        struct sp_src where = ir_insn_src(func, ref);
        bool recursive = in->recursive[insn->imm];
        const char *why = recursive ? "calls itself" : "makes the kernel too large";
        if (callee->may_wait)
            sp_diag_set(diag, SP_E_NYI_WAITING_CALL, &where, callee->name, why);
        else
            sp_diag_set(diag, SP_E_NYI_LOCAL_RESULT, &where, callee->name, why);
        return sp_diag_hint(diag, !recursive ? "call it in fewer places, from a loop"
                                  : callee->may_wait
                                      ? "write a loop instead of the recursion"
                                      : "make the array where it is used and pass it to the "
                                        "function");
    }
    return true;
}

bool
ir_inline_must(struct ir_module *module, bool waits, struct sp_diag *diag)
{
    struct sp_arena arena;
    bool any = false, ok = true;
    sp_arena_init(&arena);
    struct inl in = {.module = module, .arena = &arena};
    in.must = SP_NEW_N(&arena, bool, module->funcs.len);
    for (uint32_t f = 1; f < module->funcs.len; f++) {
        const struct ir_func *func = module->funcs.data[f];
        any |= in.must[f] = (waits && func->may_wait) || must_outlives(func);
    }
    if (any)
        inline_module(&in);
    for (uint32_t f = 0; any && ok && f < module->funcs.len; f++)
        ok = must_check(&in, module->funcs.data[f], diag);
    sp_arena_finish(&arena);
    if (any && ok)
        ir_opt_dce(module);
    return ok;
}
