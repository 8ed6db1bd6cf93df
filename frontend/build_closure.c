/* build_closure: functions that a function defines, and the variables they share.
 *
 * A definition becomes a CLOSURE of a further function of the module, whose operands are the
 * defaults and the variables that it takes from here. How a variable is taken is decided once for
 * the function that owns it: by value, if nothing can assign to it once a definition has taken it
 * and no inner function assigns to it at all; else as a CELL, which both sides read and write.
 *
 *     def f(x): return x * k          k = ...; no later assignment
 *     ->
 *     %9 = closure @1 %4              %4: the value of k, an ordinary variable
 *
 * "Can assign later" is a forward analysis over the blocks (taken in any predecessor, then
 * assigned), so a loop that assigns and defines makes a CELL. By value is what most programs mean:
 * it keeps constants, and such a function may leave the call that made it.
 *
 * 3.13 gives a function its defaults and variables after it is made, 3.12 all at once: each further
 * piece makes a new CLOSURE and takes the last one's place, so both come to the same. Annotations
 * are not computed: what was built for them is taken back. The dict of keyword defaults, or of the
 * keywords of f(*x, k=y), exists on the stack only; as any other value it is the `err` of a
 * dict. */
#include "frontend/build.h"

#include <assert.h>
#include <string.h>

enum { CLOSURE_DEFAULTS = 1, CLOSURE_KWDEFAULTS = 2, CLOSURE_ANNOTATIONS = 4, CLOSURE_CELLS = 8 };
enum { CLOSURE_MAX_DEPTH = 16 };

/* ---- Which variables are shared ---- */

static uint32_t
closure_free_local(const struct fe_code *code, const char *name)
{
    for (uint32_t i = 0; i < code->n_locals; i++)
        if (code->locals[i].kind == FE_LOCAL_FREE && strcmp(code->locals[i].name, name) == 0)
            return i;
    return code->n_locals;
}

/* Whether code or what it defines assigns to its free variable of this name. */
static bool
closure_assigns(struct build *b, const struct fe_code *code, const char *name, int depth)
{
    uint32_t local = closure_free_local(code, name);
    struct fe_insns insns;
    struct sp_diag diag;
    if (local == code->n_locals)
        return false;
    sp_diag_init(&diag);
    bool ok = depth < CLOSURE_MAX_DEPTH && fe_decode(code, b->arena, &insns, &diag);
    sp_diag_finish(&diag);
    if (!ok)
        return true;
    for (uint32_t i = 0; i < insns.len; i++)
        if (insns.data[i].op == FE_OP_STORE_CELL && insns.data[i].arg == local)
            return true;
    for (uint32_t i = 0; i < code->n_consts; i++)
        if (code->consts[i].code && closure_assigns(b, code->consts[i].code, name, depth + 1))
            return true;
    return false;
}

static bool
closure_is_taken(const struct build *b, const struct fe_insn *insn)
{
    return (insn->op == FE_OP_CELL || insn->op == FE_OP_LOAD) &&
           b->code->locals[insn->arg].kind == FE_LOCAL_CELL;
}

static bool
closure_is_assigned(const struct fe_insn *insn)
{
    return insn->op == FE_OP_STORE || insn->op == FE_OP_STORE_CELL;
}

/* Goes over the block with the locals that were taken before it; true if it takes more. */
static bool
closure_scan(struct build *b, const struct fe_block *block, struct sp_bits *taken)
{
    bool more = false;
    for (uint32_t i = block->first; i <= block->last; i++) {
        const struct fe_insn *insn = &b->insns->data[i];
        if (closure_is_taken(b, insn))
            more |= sp_bits_add(taken, insn->arg);
        else if (closure_is_assigned(insn) && sp_bits_has(taken, insn->arg))
            b->shared[insn->arg] = true;
    }
    return more;
}

static void
closure_fill_taken(struct build *b)
{
    uint32_t n = b->cfg->n, n_words = (b->code->n_locals + 63) / 64;
    struct sp_bits *taken = SP_NEW_N(b->arena, struct sp_bits, n);
    struct sp_bits now;
    sp_bits_init(&now, b->arena, b->code->n_locals);
    for (uint32_t i = 0; i < n; i++)
        sp_bits_init(&taken[i], b->arena, b->code->n_locals);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct fe_block *block = &b->cfg->blocks[i];
            memcpy(now.words, taken[i].words, n_words * sizeof *now.words);
            closure_scan(b, block, &now);
            for (uint32_t k = 0; k < block->n_succ; k++)
                for (uint32_t w = 0; w < n_words; w++) {
                    uint64_t *to = &taken[block->succ[k]].words[w];
                    again |= (now.words[w] & ~*to) != 0;
                    *to |= now.words[w];
                }
        }
    }
}

void
build_fill_shared(struct build *b)
{
    const struct fe_code *code = b->code;
    bool has_cells = false;
    b->shared = SP_NEW_N(b->arena, bool, code->n_locals + 1);
    b->captured = SP_NEW_N(b->arena, ir_ref, code->n_locals + 1);
    for (uint32_t i = 0; i < code->n_locals; i++) {
        if (code->locals[i].kind != FE_LOCAL_CELL)
            continue;
        has_cells = true;
        for (uint32_t k = 0; k < code->n_consts && !b->shared[i]; k++)
            b->shared[i] = code->consts[k].code &&
                           closure_assigns(b, code->consts[k].code, code->locals[i].name, 0);
    }
    if (has_cells)
        closure_fill_taken(b);
    const struct fe_nested *nested = b->function->nested;
    for (uint32_t i = 0, k = 0; nested && i < code->n_locals; i++)
        if (code->locals[i].kind == FE_LOCAL_FREE)
            b->shared[i] = nested->is_shared[k++];
}

/* ---- Variables ---- */

static ir_const
closure_name(struct build *b, uint32_t local)
{
    const char *name = b->code->locals[local].name;
    return ir_const_str(b->module, name, strlen(name));
}

void
build_captured(struct build *b)
{
    const struct ir_func *func = b->func;
    uint32_t free_slot = func->n_params + func->has_varargs;
    uint32_t n_given = free_slot + func->has_varkw;
    for (uint32_t i = 0; i < b->code->n_locals && !b->failed; i++) {
        if (b->code->locals[i].kind == FE_LOCAL_FREE && b->function->nested)
            b->captured[i] = build_add(b, IR_PARAM, free_slot++, 0, NULL);
        if (b->code->locals[i].kind != FE_LOCAL_CELL || !b->shared[i])
            continue;
        b->captured[i] = build_add(b, IR_CELL, closure_name(b, i), 0, NULL);
        if (i < n_given)
            build_cellset(b, i, fe_ssa_read(&b->ssa, 0, i));
    }
}

ir_ref
build_capture(struct build *b, uint32_t local)
{
    const struct fe_local *l = &b->code->locals[local];
    if (l->kind == FE_LOCAL_FREE && !b->function->nested)
        return build_free_variable(b, local);
    if (l->kind == FE_LOCAL_FREE || b->shared[local])
        return b->captured[local];
    return fe_ssa_read(&b->ssa, b->block, local);
}

ir_ref
build_cellget(struct build *b, uint32_t local)
{
    return build_add(b, IR_CELLGET, closure_name(b, local), 1, &b->captured[local]);
}

void
build_cellset(struct build *b, uint32_t local, ir_ref value)
{
    ir_ref args[] = {b->captured[local], value};
    build_add(b, IR_CELLSET, closure_name(b, local), 2, args);
}

static bool
closure_is_cell(const struct build *b, ir_ref ref)
{
    for (uint32_t i = 0; i < b->code->n_locals; i++)
        if (b->shared[i] && b->captured[i] == ref)
            return true;
    return false;
}

/* ---- What is taken back ---- */

static void
closure_forget(struct build *b, ir_ref ref)
{
    struct ir_insn *insn = ir_insn(b->func, ref);
    insn->op = IR_CONST;
    insn->imm = ir_const_simple(b->module, IR_C_NONE, 0);
    insn->n_args = 0;
}

/* A tuple's elements; false if it is made of anything but a list of them. */
static bool
closure_elements(struct build *b, ir_ref tuple, uint32_t *n_out, const ir_ref **elems_out)
{
    const struct ir_insn *insn = ir_insn(b->func, tuple);
    if (insn->op == IR_TUPLE) {
        *n_out = insn->n_args;
        *elems_out =
            sp_arena_copy(b->arena, ir_args(b->func, tuple), insn->n_args * sizeof(ir_ref));
        closure_forget(b, tuple);
        return true;
    }
    struct ir_const_info info = {0};
    if (insn->op == IR_CONST)
        info = *ir_const_info(b->module, insn->imm);
    if (info.kind != IR_C_TUPLE)
        return false;
    ir_ref *elems = SP_NEW_N(b->arena, ir_ref, info.len + 1);
    for (uint32_t i = 0; i < info.len; i++)
        elems[i] = build_const(b, info.elems[i]);
    *n_out = info.len;
    *elems_out = elems;
    return true;
}

/* Annotations stand between their first name and the tuple of them all. */
static void
closure_forget_annotations(struct build *b, ir_ref tuple)
{
    const struct ir_insn *insn = ir_insn(b->func, tuple);
    if (insn->op != IR_TUPLE || !insn->n_args)
        return;
    ir_ref first = ir_arg(b->func, tuple, 0);
    if (ir_insn(b->func, first)->op != IR_CONST)
        return;
    for (ir_ref ref = first; ref <= tuple; ref++) {
        uint32_t op = ir_insn(b->func, ref)->op;
        bool is_part = ir_insn(b->func, ref)->block == b->block && op != IR_PHI && op != IR_NOP &&
                       ir_op_row((enum ir_op)op)->result != IR_RESULT_NONE;
        if (is_part)
            closure_forget(b, ref);
    }
}

/* ---- Dicts of names ---- */

void
build_map(struct build *b, uint32_t n, bool named)
{
    ir_ref names = named ? build_pop(b) : 0;
    ir_ref *values = SP_NEW_N(b->arena, ir_ref, n + 1);
    ir_const *keys = SP_NEW_N(b->arena, ir_const, n + 1);
    bool good = true;
    for (uint32_t i = n; i-- > 0 && !b->failed;) {
        values[i] = build_pop(b);
        ir_ref key = named ? names : build_pop(b);
        if (b->failed)
            return;
        const struct ir_insn *insn = ir_insn(b->func, key);
        const struct ir_const_info *info =
            insn->op == IR_CONST ? ir_const_info(b->module, insn->imm) : NULL;
        if (named) {
            good &= info && info->kind == IR_C_TUPLE && info->len == n;
            keys[i] = good ? info->elems[i] : 0;
        } else {
            keys[i] = info ? insn->imm : 0;
        }
        good &= keys[i] && ir_const_info(b->module, keys[i])->kind == IR_C_STR;
    }
    ir_ref ref = build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_DICT),
                           fe_construct_text(FE_CONSTRUCT_DICT));
    if (b->failed)
        return;
    if (good) {
        struct build_map *map = SP_NEW(b->arena, struct build_map);
        *map = (struct build_map){n, keys, values};
        build_origin(b, ref)->map = map;
    }
    build_push(b, ref);
}

struct build_map *
build_take_map(struct build *b, ir_ref ref)
{
    struct build_map *map = ref < b->origins.len ? b->origins.data[ref].map : NULL;
    if (!map)
        return NULL;
    uint32_t error = ir_insn(b->func, ref)->imm;
    if (error + 1 == b->func->errors.len)
        sp_diag_finish(&b->func->errors.data[--b->func->errors.len]);
    closure_forget(b, ref);
    return map;
}

/* ---- Definitions ---- */

/* The function with everything that is known of it now. */
static void
closure_push(struct build *b, struct build_closure *closure)
{
    const struct fe_nested *nested = &closure->nested;
    uint32_t n = nested->n_defaults + nested->n_kwdefaults + nested->n_free, at = 0;
    ir_ref *args = SP_NEW_N(b->arena, ir_ref, n + 1);
    for (uint32_t i = 0; i < nested->n_defaults; i++)
        args[at++] = closure->defaults[i];
    for (uint32_t i = 0; i < nested->n_kwdefaults; i++)
        args[at++] = closure->kwdefaults[i];
    for (uint32_t i = 0; i < nested->n_free; i++)
        args[at++] = closure->captures[i];
    ir_ref ref = n ? build_add(b, IR_CLOSURE, closure->number, n, args)
                   : build_const(b, ir_const_simple(b->module, IR_C_FUNC, closure->number));
    if (b->failed)
        return;
    build_origin(b, ref)->closure = closure;
    build_push(b, ref);
}

static void
closure_give_cells(struct build *b, struct build_closure *closure, ir_ref cells)
{
    struct fe_nested *nested = &closure->nested;
    if (!closure_elements(b, cells, &nested->n_free, &closure->captures)) {
        build_fail(b, "a function with no tuple of cells");
        return;
    }
    bool *is_shared = SP_NEW_N(b->module->arena, bool, nested->n_free + 1);
    for (uint32_t i = 0; i < nested->n_free; i++)
        is_shared[i] = closure_is_cell(b, closure->captures[i]);
    nested->is_shared = is_shared;
}

static void
closure_give(struct build *b, struct build_closure *closure, uint32_t flag, ir_ref value)
{
    struct fe_nested *nested = &closure->nested;
    if (b->failed)
        return;
    if (flag == CLOSURE_CELLS) {
        closure_give_cells(b, closure, value);
    } else if (flag == CLOSURE_KWDEFAULTS) {
        const struct build_map *map = build_take_map(b, value);
        if (!map) {
            build_fail(b, "a function with no dict of defaults");
            return;
        }
        nested->n_kwdefaults = map->n;
        nested->kw_names = sp_arena_copy(b->module->arena, map->names, map->n * sizeof(ir_const));
        closure->kwdefaults = map->values;
    } else if (flag == CLOSURE_DEFAULTS) {
        if (!closure_elements(b, value, &nested->n_defaults, &closure->defaults))
            build_fail(b, "a function with no tuple of defaults");
    } else {
        closure_forget_annotations(b, value);
    }
}

void
build_function(struct build *b, uint32_t flags)
{
    static const uint32_t order[] = {CLOSURE_CELLS, CLOSURE_ANNOTATIONS, CLOSURE_KWDEFAULTS,
                                     CLOSURE_DEFAULTS};
    ir_ref code = build_pop(b);
    if (b->failed)
        return;
    const struct fe_code_const *constant =
        code < b->origins.len ? b->origins.data[code].code : NULL;
    if (!constant) {
        build_fail(b, "a function of no code");
        return;
    }
    closure_forget(b, code);
    bool is_annotation = strcmp(constant->code_name, "__annotate__") == 0;
    struct build_closure *closure = SP_NEW(b->module->arena, struct build_closure);
    closure->nested.host = b->function->host;
    closure->nested.code = constant->code;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (flags & order[i])
            closure_give(b, closure, order[i], build_pop(b));
    if (b->failed)
        return;
    if (is_annotation) {
        build_push(b, code);
        build_origin(b, code)->closure = closure;
    } else if (!constant->code) {
        build_push(b, build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_FUNCTION),
                                fe_construct_text(FE_CONSTRUCT_FUNCTION)));
    } else {
        closure->number = fe_reader_define(b->reader, &closure->nested);
        sp_vec_push(b->arena, &b->closures, closure);
        closure_push(b, closure);
    }
}

void
build_function_set(struct build *b, uint32_t flag)
{
    ir_ref function = build_pop(b), value = build_pop(b);
    if (b->failed)
        return;
    struct build_closure *closure =
        function < b->origins.len ? b->origins.data[function].closure : NULL;
    if (!closure && ir_insn(b->func, function)->op == IR_ERR) {
        build_push(b, function); /* one that was too deep */
        return;
    }
    if (!closure) {
        build_fail(b, "an attribute of no function");
        return;
    }
    closure_forget(b, function);
    closure_give(b, closure, flag, value);
    if (b->failed)
        return;
    bool is_annotation = !closure->nested.code || !closure->number;
    if (is_annotation)
        build_push(b, function);
    else
        closure_push(b, closure);
}

bool
build_check_closures(struct build *b)
{
    for (uint32_t i = 0; i < b->closures.len; i++) {
        const struct fe_nested *nested = &b->closures.data[i]->nested;
        uint32_t n_free = 0;
        for (uint32_t k = 0; k < nested->code->n_locals; k++)
            n_free += nested->code->locals[k].kind == FE_LOCAL_FREE;
        if (n_free != nested->n_free) {
            build_fail(b, "a function with %u of %u variables", nested->n_free, n_free);
            return false;
        }
    }
    return true;
}
