/* infer_iter: what iterators give, and which loops have rounds of different types.
 *
 * An iterator is a type (and, lowered, a state): LOOP over a range, an array's first axis or a
 * tuple of one element type; REVERSED over these; ENUMERATE and ZIP over other iterators; UNROLLED
 * over a tuple whose elements differ in type, at a position that is part of the type. So the
 * iterator of such a loop has another type in every round, which no phi can hold:
 *
 *     for f in (sin, cos): ...     head: %i = phi (unrolled at 0), (unrolled at 1)    conflict
 *
 * When nothing else is left to do, the loop at such a phi is copied once per round (ir/unroll.c)
 * and the instance is typed again from the start: then each copy's phi has one type, `more` is a
 * constant in each, and the rounds have types and constants of their own. Waiting for that moment
 * makes the decision one about the program, not about the order of the work. gpu.unroll makes an
 * UNROLLED iterator of any tuple or constant range.
 *
 * Lost: unrolling while bytecode is read (types are not known there); one type per loop with a
 * run-time choice (functions and dtypes have none). */
#include "ir/infer_t.h"
#include "ir/unroll.h"

#include <string.h>

#define UNROLL_MAX_ROUNDS 1024u
#define UNROLL_MAX_INSNS 400000u

/* ---- Types of iterators ---- */

static bool
iter_is_uniform(const struct ir_type_info *tuple)
{
    for (uint32_t i = 1; i < tuple->n_elems; i++)
        if (tuple->elems[i] != tuple->elems[0])
            return false;
    return tuple->n_elems > 0;
}

static ir_type
iter_new(struct infer *in, enum ir_iter iter, uint32_t n, const ir_type *elems, ir_const object)
{
    return ir_type_intern(in->module, &(struct ir_type_info){.kind = IR_KIND_ITER,
                                                             .iter = (uint8_t)iter,
                                                             .n_elems = n,
                                                             .elems = elems,
                                                             .object = object});
}

/* The ints of a constant range as a tuple; false: it is none, or too long. */
static bool
iter_range_tuple(struct infer *in, struct ir_cell range, struct ir_cell *out)
{
    uint64_t n = range.constant ? ir_range_length(in->module, range.constant) : UINT64_MAX;
    if (n > UNROLL_MAX_ROUNDS)
        return false;
    const struct ir_const_info *info = ir_const_info(in->module, range.constant);
    uint64_t first = ir_const_info(in->module, info->elems[0])->u;
    uint64_t step = ir_const_info(in->module, info->elems[2])->u;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, n + 1);
    for (uint64_t i = 0; i < n; i++)
        cells[i] = infer_constant(in, ir_const_int(in->module, (int64_t)(first + i * step)));
    *out = infer_make_tuple(in, (uint32_t)n, cells);
    return true;
}

static struct ir_cell
iter_reversed_tuple(struct infer *in, struct ir_cell tuple)
{
    uint32_t n = ir_type_info(in->module, tuple.type)->n_elems;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, n + 1);
    for (uint32_t i = 0; i < n; i++)
        cells[i] = infer_elem(in, tuple, n - 1 - i);
    return infer_make_tuple(in, n, cells);
}

ir_type
infer_iter(struct infer *in, struct ir_cell over, bool reversed, bool unrolled)
{
    struct ir_type_info info = *ir_type_info(in->module, over.type);
    enum ir_iter loop = reversed ? IR_ITER_REVERSED : IR_ITER_LOOP;
    switch ((enum ir_kind)info.kind) {
    case IR_KIND_ITER: return reversed ? (ir_type)IR_T_NONE : over.type;
    case IR_KIND_RANGE:
        if (!unrolled)
            return iter_new(in, loop, 1, &over.type, 0);
        if (!iter_range_tuple(in, over, &over))
            return IR_T_NONE;
        break;
    case IR_KIND_ARRAY:
        if (!info.rank || unrolled || ir_type_first_axis_item(in->module, over.type) == IR_T_NONE)
            return IR_T_NONE;
        return iter_new(in, loop, 1, &over.type, 0);
    case IR_KIND_TUPLE:
        if (!unrolled && iter_is_uniform(&info))
            return iter_new(in, loop, 1, &over.type, 0);
        break;
    default: return IR_T_NONE;
    }
    if (reversed)
        over = iter_reversed_tuple(in, over);
    return iter_new(in, IR_ITER_UNROLLED, 1, &over.type, over.constant);
}

ir_type
infer_iter_zip(struct infer *in, uint32_t n, const ir_type *iters)
{
    return iter_new(in, IR_ITER_ZIP, n, iters, 0);
}

ir_type
infer_iter_enumerate(struct infer *in, ir_type iter, ir_const start)
{
    return iter_new(in, IR_ITER_ENUMERATE, 1, &iter, start);
}

static ir_type
iter_row(struct infer *in, ir_type over)
{
    struct ir_type_info info = *ir_type_info(in->module, over);
    return info.kind == IR_KIND_RANGE   ? (ir_type)IR_T_INT
           : info.kind == IR_KIND_TUPLE ? info.elems[0]
                                        : ir_type_first_axis_item(in->module, over);
}

/* The position of an iterator that has one in its type, or -1. */
static int64_t
iter_position(const struct infer *in, ir_type iter)
{
    const struct ir_type_info *info = ir_type_info(in->module, iter);
    int64_t at = -1;
    if (info->iter == IR_ITER_UNROLLED)
        return info->position;
    bool inner = info->iter == IR_ITER_ENUMERATE || info->iter == IR_ITER_ZIP;
    for (uint32_t i = 0; inner && i < info->n_elems && at < 0; i++)
        at = iter_position(in, info->elems[i]);
    return at;
}

struct ir_cell
infer_iter_part(struct infer *in, ir_type iter, uint32_t k)
{
    struct ir_type_info info = *ir_type_info(in->module, iter);
    if (info.iter == IR_ITER_UNROLLED) {
        struct ir_cell value = infer_iter_value(in, iter);
        bool tuple = ir_type_info(in->module, value.type)->kind == IR_KIND_TUPLE;
        return tuple ? infer_elem(in, value, k) : (struct ir_cell){0};
    }
    if (info.iter == IR_ITER_ZIP && k < info.n_elems)
        return infer_iter_value(in, info.elems[k]);
    if (info.iter != IR_ITER_ENUMERATE || k > 1)
        return (struct ir_cell){0};
    if (k == 1)
        return infer_iter_value(in, info.elems[0]);
    int64_t at = iter_position(in, iter);
    if (at < 0 || !info.object)
        return infer_typed(IR_T_INT);
    uint64_t start = ir_const_info(in->module, info.object)->u;
    return infer_constant(in, ir_const_int(in->module, (int64_t)(start + (uint64_t)at)));
}

struct ir_cell
infer_iter_value(struct infer *in, ir_type iter)
{
    struct ir_type_info info = *ir_type_info(in->module, iter);
    switch ((enum ir_iter)info.iter) {
    case IR_ITER_LOOP:
    case IR_ITER_REVERSED: {
        struct ir_cell cell = infer_typed(iter_row(in, info.elems[0]));
        if (infer_object(in, cell.type))
            cell.constant = ir_type_info(in->module, cell.type)->object;
        return cell;
    }
    case IR_ITER_UNROLLED:
        if (info.position >= ir_type_info(in->module, info.elems[0])->n_elems)
            return (struct ir_cell){0};
        return infer_elem(in, (struct ir_cell){info.elems[0], info.object}, info.position);
    case IR_ITER_ENUMERATE:
    case IR_ITER_ZIP: break;
    }
    uint32_t n = info.iter == IR_ITER_ZIP ? info.n_elems : 2;
    struct ir_cell *parts = SP_NEW_N(in->ctx->arena, struct ir_cell, n + 1);
    for (uint32_t k = 0; k < n; k++)
        if ((parts[k] = infer_iter_part(in, iter, k)).type == IR_T_NONE)
            return (struct ir_cell){0};
    return infer_make_tuple(in, n, parts);
}

ir_type
ir_iter_next(struct ir_module *module, ir_type iter)
{
    struct ir_type_info info = *ir_type_info(module, iter);
    if (info.iter == IR_ITER_LOOP || info.iter == IR_ITER_REVERSED)
        return iter;
    if (info.iter == IR_ITER_UNROLLED) {
        if (info.position < ir_type_info(module, info.elems[0])->n_elems)
            info.position++;
        return ir_type_intern(module, &info);
    }
    ir_type *elems = SP_NEW_N(module->arena, ir_type, info.n_elems + 1);
    for (uint32_t i = 0; i < info.n_elems; i++)
        elems[i] = ir_iter_next(module, info.elems[i]);
    info.elems = elems;
    return ir_type_intern(module, &info);
}

int64_t
infer_iter_left(const struct infer *in, ir_type iter)
{
    const struct ir_type_info *info = ir_type_info(in->module, iter);
    if (info->iter == IR_ITER_UNROLLED)
        return (int64_t)ir_type_info(in->module, info->elems[0])->n_elems - info->position;
    if (info->iter == IR_ITER_ZIP && !info->n_elems)
        return 0;
    if (info->iter != IR_ITER_ZIP && info->iter != IR_ITER_ENUMERATE)
        return -1;
    int64_t least = -1;
    for (uint32_t i = 0; i < info->n_elems; i++) {
        int64_t left = infer_iter_left(in, info->elems[i]);
        if (left >= 0 && (least < 0 || left < least))
            least = left;
    }
    return least;
}

int64_t
infer_iter_length(const struct infer *in, ir_type iter)
{
    const struct ir_type_info *info = ir_type_info(in->module, iter);
    const struct ir_type_info *over =
        info->n_elems ? ir_type_info(in->module, info->elems[0]) : NULL;
    if (info->iter == IR_ITER_UNROLLED)
        return infer_iter_left(in, iter);
    if (info->iter == IR_ITER_LOOP || info->iter == IR_ITER_REVERSED)
        return over->kind == IR_KIND_TUPLE ? (int64_t)over->n_elems : -1;
    int64_t least = info->n_elems ? INT64_MAX : 0;
    for (uint32_t i = 0; i < info->n_elems; i++) {
        int64_t length = infer_iter_length(in, info->elems[i]);
        least = length < least ? length : least;
    }
    return least;
}

/* Whether every round's existence is known from the type. */
static bool
iter_is_exact(const struct infer *in, ir_type iter)
{
    const struct ir_type_info *info = ir_type_info(in->module, iter);
    bool exact = info->iter == IR_ITER_UNROLLED || info->iter == IR_ITER_ENUMERATE ||
                 info->iter == IR_ITER_ZIP;
    for (uint32_t i = 0; exact && info->iter != IR_ITER_UNROLLED && i < info->n_elems; i++)
        exact = iter_is_exact(in, info->elems[i]);
    return exact;
}

/* ---- Rules ---- */

/* An iterator can be gone over once, so one that is used elsewhere too would give nothing there. */
bool
infer_check_once(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_ref iter)
{
    const struct ir_insn *made = ir_insn(instance->func, iter);
    if (!in->reporting ||
        ir_type_info(in->module, instance->cells[iter].type)->kind != IR_KIND_ITER)
        return true;
    const struct ir_flow *flow = instance->flow;
    bool once = (made->op == IR_CALL || made->op == IR_ITER) &&
                made->block == ir_insn(instance->func, ref)->block &&
                flow->first_user[iter + 1] - flow->first_user[iter] == 1;
    if (once)
        return true;
    INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "an iterator that is kept or used twice");
    return INFER_HINT(in, "make it where it is used: for i, v in enumerate(...)");
}

bool
infer_fail_iter(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    const struct ir_const_info *object = infer_object(in, type);
    INFER_FAIL(in, instance, ref, NOT_ITERABLE, infer_text(in, type));
    if (ir_type_is_scalar(type))
        return INFER_HINT(in, "write for i in range(...)");
    if (info->kind == IR_KIND_ARRAY && info->rank)
        return INFER_HINT(in, "write for i in range(x.shape[0]) and index with i");
    if (info->kind == IR_KIND_ARRAY)
        return INFER_HINT(in, "it has no axis: its one element is x[()]");
    if (object && object->kind == IR_C_STR)
        return INFER_HINT(in, "a kernel knows no characters: use a tuple of numbers");
    return INFER_HINT(in, "a loop goes over ranges, arrays, tuples, enumerate, zip and reversed");
}

bool
infer_is_unrolled(const struct ir_instance *instance, ir_ref ref)
{
    return instance->unrolled.words && sp_bits_has(&instance->unrolled, ref);
}

/* Whether a tuple is written out already, here or in what is iterated along with it. */
static bool
iter_has_unrolled(const struct infer *in, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    bool found = info->kind == IR_KIND_ITER && info->iter == IR_ITER_UNROLLED;
    for (uint32_t i = 0; !found && info->kind == IR_KIND_ITER && i < info->n_elems; i++)
        found = iter_has_unrolled(in, info->elems[i]);
    return found;
}

bool
infer_iter_waits(struct infer *in, const struct ir_instance *instance, ir_ref ref, ir_type over)
{
    const struct ir_type_info *info = ir_type_info(in->module, over);
    if (info->kind != IR_KIND_TUPLE || iter_is_uniform(info) || in->settling || in->reporting ||
        iter_has_unrolled(in, instance->cells[ref].type) || infer_is_unrolled(instance, ref))
        return false; /* a LOOP may be one again when all elements have risen */
    sp_vec_push(in->ctx->arena, &in->pending, (struct infer_item){instance->index, ref});
    return true;
}

static bool
rule_iter(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_check_once(in, instance, ref, ir_arg(instance->func, ref, 0)))
        return false;
    if (infer_iter_waits(in, instance, ref, a.type))
        return true;
    out->type = infer_iter(in, a, false,
                           infer_is_unrolled(instance, ref) &&
                               ir_type_info(in->module, a.type)->kind == IR_KIND_TUPLE);
    return out->type != IR_T_NONE || infer_fail_iter(in, instance, ref, a.type);
}

bool
infer_rule_step(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    enum ir_op op = ir_insn(instance->func, ref)->op;
    if (op == IR_ITER)
        return rule_iter(in, instance, ref, out);
    if (ir_type_info(in->module, a.type)->kind != IR_KIND_ITER)
        return infer_fail_iter(in, instance, ref, a.type);
    if (op == IR_MORE) {
        int64_t left = infer_iter_left(in, a.type);
        *out = infer_typed(IR_T_BOOL);
        if (left == 0 || (left > 0 && iter_is_exact(in, a.type)))
            out->constant = ir_const_bool(in->module, left > 0);
    } else if (op == IR_VALUE) {
        *out = infer_iter_value(in, a.type);
    } else {
        out->type = ir_iter_next(in->module, a.type);
    }
    return true;
}

/* ---- Loops with a type per round ---- */

/* The phi's operand that comes first in the loop: iterators of different positions meet in it. */
static bool
iter_conflict(const struct infer *in, const struct ir_instance *instance, ir_ref phi,
              int64_t *rounds_out)
{
    const struct ir_insn *insn = ir_insn(instance->func, phi);
    int64_t least = -1;
    *rounds_out = -1;
    for (uint32_t i = 0; i < insn->n_args; i++) {
        ir_type type = infer_operand(instance, phi, i).type;
        if (!infer_known(type) || !ir_edge_is_live(instance, insn->block, i))
            continue;
        if (ir_type_info(in->module, type)->kind != IR_KIND_ITER)
            return false;
        int64_t at = iter_position(in, type);
        if (at >= 0 && (least < 0 || at < least)) {
            least = at;
            *rounds_out = infer_iter_left(in, type);
        }
    }
    return least >= 0;
}

/* Whether the phi is the state of a loop whose rounds differ. That the first round is known is
 * enough: loops inside of it may wait for their types until it is written out. */
static bool
iter_wants_unrolled(const struct infer *in, const struct ir_instance *instance, ir_ref phi,
                    int64_t *rounds_out)
{
    ir_type type = instance->cells[phi].type;
    return iter_conflict(in, instance, phi, rounds_out) &&
           (type == IR_T_CONFLICT || (iter_has_unrolled(in, type) && *rounds_out > 0));
}

void
infer_want_unrolled(struct infer *in, const struct ir_instance *instance, ir_ref phi)
{
    int64_t rounds;
    if (!in->reporting && iter_wants_unrolled(in, instance, phi, &rounds))
        sp_vec_push(in->ctx->arena, &in->unrolls, (struct infer_item){instance->index, phi});
}

bool
infer_fail_rounds(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_ref phi)
{
    int64_t rounds;
    if (!iter_conflict(in, instance, phi, &rounds))
        return true;
    INFER_FAIL(in, instance, ref, TOO_MANY_ROUNDS, (long long)rounds);
    return INFER_HINT(in, "put what differs into fewer elements, or use a loop over an array");
}

/* Marks the iterator behind `ref` and what it is made of: from now on they go over elements one by
 * one, whatever types these have for the time being. */
static void
iter_mark(struct ir_instance *instance, ir_ref ref, int depth)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    bool maker = insn->op == IR_ITER || insn->op == IR_CALL || insn->op == IR_PHI;
    if (!maker || depth > 16 || !sp_bits_add(&instance->unrolled, ref))
        return;
    for (uint32_t i = 0; i < insn->n_args; i++)
        iter_mark(instance, ir_arg(instance->func, ref, i), depth + 1);
}

static bool
iter_unroll(struct infer *in, struct ir_instance *instance, ir_ref phi)
{
    const struct ir_func *old = instance->func;
    const struct ir_insn *insn = ir_insn(old, phi);
    int64_t rounds;
    if (!iter_wants_unrolled(in, instance, phi, &rounds) || rounds < 0 ||
        rounds > UNROLL_MAX_ROUNDS)
        return false;
    struct ir_unrolled unrolled;
    if (!ir_unroll(in->module, old, insn->block, (uint32_t)rounds, UNROLL_MAX_INSNS, in->ctx->arena,
                   &unrolled))
        return false;
    struct sp_bits marks = instance->unrolled;
    sp_bits_init(&instance->unrolled, in->ctx->arena, unrolled.func->insns.len);
    for (ir_ref ref = 1; marks.words && ref < unrolled.func->insns.len; ref++)
        if (sp_bits_has(&marks, unrolled.copy_of[ref]))
            sp_bits_add(&instance->unrolled, ref);
    instance->func = unrolled.func;
    for (uint32_t i = 0; i < insn->n_args; i++)
        iter_mark(instance, ir_arg(old, phi, i), 0);
    infer_restart(in, instance);
    return true;
}

bool
infer_unroll_all(struct infer *in)
{
    uint32_t n = in->unrolls.len, any = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct infer_item item = in->unrolls.data[i];
        bool done = false; /* what began anew asks for its other loops again */
        for (uint32_t k = 0; k < any && !done; k++)
            done = in->unrolls.data[k].instance == item.instance;
        if (!done && iter_unroll(in, in->typed->instances.data[item.instance], item.ref))
            in->unrolls.data[any++] = item;
    }
    in->unrolls.len = 0;
    return any > 0;
}
