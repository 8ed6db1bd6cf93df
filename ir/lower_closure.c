/* lower_closure: functions made in a kernel, and variables that functions share.
 *
 * In: CLOSURE, CELL, CELLGET, CELLSET with their types. Out: a closure is the parts of what it
 * brought along and is not known by value; a shared variable is a SLOT of its call, with 8 bytes
 * for each part of its content, or nothing where the content is known. LLVM makes registers of
 * slots once the functions that share them are inlined; until then they are addresses like any
 * other.
 *
 *     %3 = cell "n"              %3 = slot ptr 8
 *     cellset "n" %3, %2         store align(3) %3, %2
 *     %5 = cellget "n" %3        %5 = load i64 align(3) %3
 *
 * The alternative, passing shared variables in and out of every call, lost: what a callee of a
 * callee changes would have to travel through functions that know nothing of it. */
#include "ir/lower.h"

#include <assert.h>

enum { CLOSURE_PART_B = 8, CLOSURE_ALIGN_LOG2 = 3 };

struct lower_value
lower_closure_elem(struct lower *l, struct lower_value closure, uint32_t k)
{
    const struct ir_type_info *info = lower_info(l, closure.type);
    assert(info->kind == IR_KIND_CLOSURE && k < info->n_elems && "an element of the closure");
    if (info->consts[k])
        return lower_constant(l, info->consts[k], info->elems[k]);
    uint32_t first = 0;
    for (uint32_t i = 0; i < k; i++)
        first += info->consts[i] ? 0 : lower_n_parts(l, info->elems[i]);
    uint32_t n = lower_n_parts(l, info->elems[k]);
    return (struct lower_value){info->elems[k], n, n ? closure.parts + first : NULL};
}

/* A closure of this type from its elements, which are asked for one by one. */
static struct lower_value
closure_collect(struct lower *l, ir_type type,
                struct lower_value (*elem)(struct lower *, const void *, uint32_t),
                const void *from)
{
    const struct ir_type_info *info = lower_info(l, type);
    uint32_t n = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    for (uint32_t i = 0; i < info->n_elems; i++) {
        if (info->consts[i])
            continue;
        struct lower_value value = lower_convert(l, elem(l, from, i), info->elems[i]);
        for (uint32_t k = 0; k < value.n; k++)
            parts[at++] = value.parts[k];
    }
    return (struct lower_value){type, n, parts};
}

static struct lower_value
closure_operand(struct lower *l, const void *py, uint32_t i)
{
    return lower_get(l, ir_arg(l->from, *(const ir_ref *)py, i));
}

static struct lower_value
closure_elem_of(struct lower *l, const void *closure, uint32_t i)
{
    return lower_closure_elem(l, *(const struct lower_value *)closure, i);
}

struct lower_value
lower_closure(struct lower *l, ir_ref py)
{
    return closure_collect(l, l->inst->cells[py].type, closure_operand, &py);
}

struct lower_value
lower_convert_closure(struct lower *l, struct lower_value value, ir_type to)
{
    return closure_collect(l, to, closure_elem_of, &value);
}

/* ---- Shared variables ---- */

bool
lower_has_slot(const struct lower *l, ir_type cell)
{
    const struct ir_type_info *info = lower_info(l, cell);
    return info->kind == IR_KIND_CELL && l->typed->shared.data[info->object].has_slot;
}

static ir_type
closure_content(const struct lower *l, ir_type cell)
{
    return l->typed->shared.data[lower_info(l, cell)->object].content.type;
}

static ir_ref
closure_address(struct lower *l, ir_ref slot, uint32_t part)
{
    if (!part)
        return slot;
    return lower_op2(l, IR_PTRADD, slot, lower_int(l, IR_T_I64, (int64_t)part * CLOSURE_PART_B));
}

static void
closure_store(struct lower *l, ir_ref slot, struct lower_value value)
{
    for (uint32_t i = 0; i < value.n; i++) {
        ir_ref args[] = {closure_address(l, slot, i), value.parts[i]};
        lower_emit(l, IR_STORE, IR_T_NONE, CLOSURE_ALIGN_LOG2, 2, args);
    }
}

/* A variable that is read before it has a value is 0, as any other. */
struct lower_value
lower_cell(struct lower *l, ir_ref py)
{
    ir_type type = l->inst->cells[py].type;
    if (!lower_has_slot(l, type))
        return (struct lower_value){type, 0, NULL};
    ir_type content = closure_content(l, type);
    ir_ref slot =
        lower_emit(l, IR_SLOT, IR_T_PTR, lower_n_parts(l, content) * CLOSURE_PART_B, 0, NULL);
    closure_store(l, slot, lower_zero(l, content));
    return lower_value_new(l, type, 1, &slot);
}

struct lower_value
lower_cellget(struct lower *l, ir_ref py)
{
    ir_type type = l->inst->cells[py].type;
    struct lower_value cell = lower_get(l, ir_arg(l->from, py, 0));
    if (!lower_has_slot(l, cell.type))
        return (struct lower_value){type, 0, NULL};
    uint32_t n = lower_n_parts(l, type);
    ir_type *types = SP_NEW_N(l->core->arena, ir_type, n);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    lower_part_types(l, type, types);
    for (uint32_t i = 0; i < n; i++) {
        ir_ref address = closure_address(l, cell.parts[0], i);
        parts[i] = lower_emit(l, IR_LOAD, types[i], CLOSURE_ALIGN_LOG2, 1, &address);
    }
    return (struct lower_value){type, n, parts};
}

void
lower_cellset(struct lower *l, ir_ref py)
{
    struct lower_value cell = lower_get(l, ir_arg(l->from, py, 0));
    if (!lower_has_slot(l, cell.type))
        return;
    struct lower_value value = lower_get(l, ir_arg(l->from, py, 1));
    closure_store(l, cell.parts[0], lower_convert(l, value, closure_content(l, cell.type)));
}
