/* infer_tuple: tuples are made, taken apart, joined and cut.
 *
 * A tuple's type has a type per element, so what these operations give follows from the types and a
 * few constants: a slice's bounds and the factor of a repetition are part of the program. A tuple's
 * cell is a constant only if all its elements are; an element that is taken from where the tuple is
 * made (infer_part) keeps its own constant. */
#include "ir/infer_t.h"

#include <string.h>

struct ir_cell
infer_elem(const struct infer *in, struct ir_cell tuple, uint32_t k)
{
    struct ir_cell cell = {ir_type_info(in->module, tuple.type)->elems[k], 0};
    if (infer_object(in, cell.type))
        cell.constant = ir_type_info(in->module, cell.type)->object;
    else if (tuple.constant)
        cell.constant = ir_const_info(in->module, tuple.constant)->elems[k];
    return cell;
}

struct ir_cell
infer_part(struct infer *in, const struct ir_instance *instance, ir_ref ref, uint32_t k)
{
    const struct ir_func *func = instance->func;
    ir_ref source = ref;
    while (ir_insn(func, source)->op == IR_UNPACK)
        source = ir_arg(func, source, 0);
    struct ir_cell cell = infer_elem(in, instance->cells[ref], k), made = {0};
    if (ir_insn(func, source)->op == IR_TUPLE || ir_insn(func, source)->op == IR_LIST)
        made = infer_operand(instance, source, k);
    else if (ir_insn(func, source)->op == IR_VALUE)
        made = infer_iter_part(in, infer_operand(instance, source, 0).type, k);
    if (made.type == cell.type && !cell.constant)
        cell.constant = made.constant;
    return cell;
}

bool
infer_check_size(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type)
{
    if (ir_type_info(in->module, type)->n_leaves <= IR_MAX_LEAVES)
        return true;
    INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "a value of more than 8192 elements");
    return INFER_HINT(in, "use an array that is passed to the kernel");
}

struct ir_cell
infer_make_tuple(struct infer *in, uint32_t n, const struct ir_cell *cells)
{
    ir_type *elems = SP_NEW_N(in->ctx->arena, ir_type, n + 1);
    ir_const *constants = SP_NEW_N(in->ctx->arena, ir_const, n + 1);
    bool constant = true;
    for (uint32_t i = 0; i < n; i++) {
        elems[i] = cells[i].type;
        constants[i] = cells[i].constant;
        constant &= cells[i].constant != 0;
    }
    return (struct ir_cell){ir_type_tuple(in->module, n, elems),
                            constant ? ir_const_tuple(in->module, n, constants) : 0};
}

/* Whether a list display, which is a tuple to us, becomes one to the program too: every use adds to
 * it, ends in tuple(...), as in (*a, 1), or is a loop over it. */
static bool
tuple_is_passing_list(struct infer *in, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_flow *flow = instance->flow;
    uint32_t first = flow->first_user[ref], end = flow->first_user[ref + 1];
    for (uint32_t i = first; i < end; i++) {
        ir_ref user = flow->users[i];
        const struct ir_insn *insn = ir_insn(instance->func, user);
        if (insn->op == IR_BIN && (insn->imm & ~IR_INPLACE) == IR_BIN_ADD &&
            ir_arg(instance->func, user, 0) == ref && tuple_is_passing_list(in, instance, user))
            continue;
        if (insn->op == IR_ITER) /* for v in (*a, 1): from 3.14 on over the list itself */
            continue;
        const struct ir_const_info *callee =
            insn->op == IR_CALL ? infer_object(in, infer_operand(instance, user, 0).type) : NULL;
        if (!callee || callee->kind != IR_C_INTRIN || callee->u != IR_INTRIN_TUPLE_)
            return false;
    }
    return first < end;
}

bool
infer_rule_tuple(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    uint32_t n = insn->n_args;
    if (in->reporting && insn->op == IR_LIST && !tuple_is_passing_list(in, instance, ref)) {
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "a list");
        return INFER_HINT(in, "use a tuple instead, or an array that is passed to the kernel");
    }
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        cells[i] = infer_operand(instance, ref, i);
        if (!infer_known(cells[i].type))
            return true;
    }
    *out = infer_make_tuple(in, n, cells);
    return true;
}

static bool
tuple_fail_unpack(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type)
{
    INFER_FAIL(in, instance, ref, NOT_UNPACKABLE, infer_text(in, type));
    switch ((enum ir_kind)ir_type_info(in->module, type)->kind) {
    case IR_KIND_ARRAY: return INFER_HINT(in, "take the elements by index: a, b = x[0], x[1]");
    case IR_KIND_RANGE:
    case IR_KIND_ITER: return INFER_HINT(in, "its length must be a constant: write tuple(...)");
    default: return INFER_HINT(in, "only a tuple has parts, such as gpu.grid(2)");
    }
}

/* The tuple that is unpacked; false: it is none. */
static bool
tuple_unpacked(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    *out = infer_operand(instance, ref, 0);
    if (ir_type_info(in->module, out->type)->kind == IR_KIND_TUPLE)
        return true;
    return tuple_fail_unpack(in, instance, ref, out->type);
}

bool
infer_rule_unpack(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    uint32_t n = ir_insn(instance->func, ref)->imm;
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    if (!tuple_unpacked(in, instance, ref, &a))
        return false;
    uint32_t n_elems = ir_type_info(in->module, a.type)->n_elems;
    if (n_elems != n)
        return INFER_FAIL(in, instance, ref, UNPACK_COUNT, (int)n, (int)n_elems) ||
               INFER_HINT(in, "write a name for each value; *rest takes several");
    *out = a;
    return true;
}

/* a, *b, c = t: a tuple whose element number imm & 255 is the tuple of the middle. */
bool
infer_rule_unpack_ex(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out)
{
    uint32_t imm = ir_insn(instance->func, ref)->imm, before = imm & 255, after = imm >> 8;
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    if (!tuple_unpacked(in, instance, ref, &a))
        return false;
    uint32_t n = ir_type_info(in->module, a.type)->n_elems;
    if (n < before + after)
        return INFER_FAIL(in, instance, ref, UNPACK_COUNT, (int)(before + after), (int)n);
    uint32_t middle = n - before - after;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, n + 1);
    struct ir_cell *parts = SP_NEW_N(in->ctx->arena, struct ir_cell, before + after + 1);
    for (uint32_t i = 0; i < n; i++)
        cells[i] = infer_elem(in, a, i);
    for (uint32_t i = 0; i < before; i++)
        parts[i] = cells[i];
    parts[before] = infer_make_tuple(in, middle, cells + before);
    for (uint32_t i = 0; i < after; i++)
        parts[before + 1 + i] = cells[before + middle + i];
    *out = infer_make_tuple(in, before + 1 + after, parts);
    return true;
}

bool
infer_rule_elem(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    uint32_t k = ir_insn(instance->func, ref)->imm;
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    const struct ir_type_info *info = ir_type_info(in->module, a.type);
    if (info->kind != IR_KIND_TUPLE || k >= info->n_elems)
        return false; /* its UNPACK has reported */
    *out = infer_part(in, instance, ir_arg(instance->func, ref, 0), k);
    return true;
}

/* ---- Concatenation, repetition, slices ---- */

static struct ir_cell
tuple_concatenate(struct infer *in, struct ir_cell a, struct ir_cell b)
{
    uint32_t n_a = ir_type_info(in->module, a.type)->n_elems;
    uint32_t n_b = ir_type_info(in->module, b.type)->n_elems;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, n_a + n_b + 1);
    for (uint32_t i = 0; i < n_a; i++)
        cells[i] = infer_elem(in, a, i);
    for (uint32_t i = 0; i < n_b; i++)
        cells[n_a + i] = infer_elem(in, b, i);
    return infer_make_tuple(in, n_a + n_b, cells);
}

static bool
tuple_repeat(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell tuple,
             struct ir_cell count, uint32_t count_operand, struct ir_cell *out)
{
    if (!count.constant) {
        if (infer_demand(in, instance, ir_operand(instance, ref, count_operand)) && !in->reporting)
            return true;
        INFER_FAIL(in, instance, ref, NEEDS_CONSTANT, "the factor of a tuple");
        return INFER_HINT(in, "a tuple's length is part of its type");
    }
    uint32_t n = ir_type_info(in->module, tuple.type)->n_elems;
    int64_t times = ir_const_info(in->module, count.constant)->i;
    times = times < 0 ? 0 : times;
    int64_t most = IR_MAX_LEAVES / (n ? n : 1) + 1; /* infer_check_size refuses it */
    times = times > most ? most : times;
    uint32_t total = n * (uint32_t)times;
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, total + 1);
    for (uint32_t i = 0; i < total; i++)
        cells[i] = infer_elem(in, tuple, i % n);
    *out = infer_make_tuple(in, total, cells);
    return true;
}

/* True if an operand is a tuple and the operator is one of theirs. */
bool
infer_is_tuple_bin(const struct infer *in, enum ir_binop op, ir_type a, ir_type b)
{
    bool tuple_a = ir_type_info(in->module, a)->kind == IR_KIND_TUPLE;
    bool tuple_b = ir_type_info(in->module, b)->kind == IR_KIND_TUPLE;
    bool int_a = ir_type_is_scalar(a) && ir_is_integer(a);
    bool int_b = ir_type_is_scalar(b) && ir_is_integer(b);
    return (op == IR_BIN_ADD && tuple_a && tuple_b) ||
           (op == IR_BIN_MUL && ((tuple_a && int_b) || (int_a && tuple_b)));
}

bool
infer_rule_tuple_bin(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out)
{
    struct ir_cell a = infer_operand(instance, ref, 0), b = infer_operand(instance, ref, 1);
    if ((ir_operation_imm(instance, ref) & ~IR_INPLACE) == IR_BIN_ADD) {
        *out = tuple_concatenate(in, a, b);
        return true;
    }
    bool count_first = ir_type_is_scalar(a.type);
    return tuple_repeat(in, instance, ref, count_first ? b : a, count_first ? a : b, !count_first,
                        out);
}

/* One bound of a constant slice; `none` if it is None. False: no integer. */
static bool
tuple_bound(const struct ir_module *module, ir_const c, int64_t none, int64_t low, int64_t high,
            uint32_t n, int64_t *out)
{
    const struct ir_const_info *info = ir_const_info(module, c);
    *out = none;
    if (info->kind == IR_C_NONE)
        return true;
    if (info->kind != IR_C_INT && info->kind != IR_C_BOOL)
        return false;
    int64_t at = info->i < 0 ? info->i + n : info->i;
    *out = at < low ? low : at > high ? high : at;
    return true;
}

bool
ir_slice_of(const struct ir_module *module, ir_const slice, uint32_t n, int64_t *start_out,
            int64_t *step_out, uint32_t *count_out)
{
    const struct ir_const_info *info = ir_const_info(module, slice);
    const struct ir_const_info *by = ir_const_info(module, info->elems[2]);
    int64_t start, stop, step = by->kind == IR_C_NONE ? 1 : by->i;
    if ((by->kind != IR_C_NONE && by->kind != IR_C_INT && by->kind != IR_C_BOOL) || !step)
        return false;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? (int64_t)n - 1 : n;
    if (!tuple_bound(module, info->elems[0], step < 0 ? high : low, low, high, n, &start) ||
        !tuple_bound(module, info->elems[1], step < 0 ? low : high, low, high, n, &stop))
        return false;
    uint64_t span = step > 0 ? (uint64_t)(stop - start) : (uint64_t)(start - stop);
    uint64_t by_magnitude = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    bool empty = step > 0 ? start >= stop : start <= stop;
    *start_out = start;
    *step_out = step;
    *count_out = empty ? 0 : (uint32_t)((span - 1) / by_magnitude + 1);
    return true;
}

bool
infer_tuple_slice(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell tuple,
                  ir_const slice, struct ir_cell *out)
{
    uint32_t n = ir_type_info(in->module, tuple.type)->n_elems, count;
    int64_t start, step;
    if (!ir_slice_of(in->module, slice, n, &start, &step, &count)) {
        INFER_FAIL(in, instance, ref, INDEX_TYPE, "a slice of this kind");
        return INFER_HINT(in, "a tuple's slice has integers as bounds, and a step that is not 0");
    }
    struct ir_cell *cells = SP_NEW_N(in->ctx->arena, struct ir_cell, count + 1);
    for (uint32_t i = 0; i < count; i++)
        cells[i] = infer_elem(in, tuple, (uint32_t)(start + i * step));
    *out = infer_make_tuple(in, count, cells);
    return true;
}
