/* lower_record: fields of records, copies of records, comparison.
 *
 * In: ATTR, SETATTR, ITEM and SETITEM by name of arrays of records. Out: an address more, and what
 * is done with elements and views anyway. A record is copied in pieces as large as its alignment
 * allows, by a loop if they are many; records are equal if all fields are.
 *
 *     r.x = v     ->  %1 = ptradd %r, 8     store align(2) %1, %v
 */
#include "ir/lower.h"

#include <assert.h>
#include <string.h>

#define RECORD_UNROLL 32 /* pieces; above, a loop */

/* ---- Fields ---- */

/* The view of field k. */
static struct lower_value
record_view(struct lower *l, struct lower_value array, uint32_t k)
{
    ir_type type = ir_record_view(l->py, array.type, k);
    const struct ir_type_info to = *lower_info(l, type), from = *lower_info(l, array.type);
    const struct ir_type_info record = *lower_info(l, from.dtype);
    const struct ir_type_info *field = lower_info(l, record.elems[k]);
    struct lower_view view = lower_view_of(l, array);
    ir_ref parts[1 + 2 * IR_MAX_RANK], strides[IR_MAX_RANK];
    ir_ref data = view.data;
    if (record.offsets[k])
        data = lower_op2(l, IR_PTRADD, data, lower_int(l, IR_T_I64, record.offsets[k]));
    parts[0] = data;
    lower_strides(l, array, strides);
    for (uint32_t i = 0; i < from.rank; i++)
        parts[1 + i] = view.extents[i];
    int64_t stride = ir_storable_size_B(l->py, to.dtype);
    for (uint32_t i = to.rank; i-- > from.rank;) {
        const struct ir_const_info *shape = ir_const_info(l->py, field->object);
        int64_t extent = ir_const_info(l->py, shape->elems[i - from.rank])->i;
        parts[1 + i] = lower_int(l, IR_T_I64, extent);
        strides[i] = lower_int(l, IR_T_I64, stride);
        stride *= extent;
    }
    uint32_t n = 1 + to.rank;
    for (uint32_t i = 0; to.layout == IR_LAYOUT_ANY && i < to.rank; i++)
        parts[n++] = strides[i];
    return lower_value_new(l, type, n, parts);
}

static struct lower_value
record_field(struct lower *l, struct lower_value array, ir_const name)
{
    const struct ir_const_info *text = ir_const_info(l->py, name);
    ir_type record = lower_info(l, array.type)->dtype;
    int k = ir_record_field(l->py, record, text->str, text->len);
    assert(k >= 0 && "inference found the field");
    return record_view(l, array, (uint32_t)k);
}

static struct lower_value
record_value(struct lower *l, struct lower_value view)
{
    const struct ir_type_info *info = lower_info(l, view.type);
    if (info->rank || ir_is_reference(l->py, info->dtype))
        return view;
    return lower_load(l, view.parts[0], view.type);
}

struct lower_value
lower_field(struct lower *l, struct lower_value array, ir_const name)
{
    return record_value(l, record_field(l, array, name));
}

/* Whether the value is what an operator in place has made of the very field: it is there. */
static bool
record_is_done(const struct lower *l, ir_ref array_py, ir_const name, ir_ref value_py)
{
    if (ir_operation(l->inst, value_py) != IR_BIN ||
        !(ir_operation_imm(l->inst, value_py) & IR_INPLACE) ||
        lower_info(l, l->inst->cells[value_py].type)->kind != IR_KIND_ARRAY)
        return false;
    ir_ref read = ir_operand(l->inst, value_py, 0);
    enum ir_op op = ir_operation(l->inst, read);
    if ((op != IR_ATTR && op != IR_ITEM) || ir_operand(l->inst, read, 0) != array_py)
        return false;
    ir_const read_name = op == IR_ATTR ? (ir_const)ir_insn(l->from, read)->imm
                                       : l->inst->cells[ir_operand(l->inst, read, 1)].constant;
    return read_name == name;
}

void
lower_store_field(struct lower *l, ir_ref py, ir_ref array_py, ir_const name, ir_ref value_py)
{
    if (record_is_done(l, array_py, name, value_py))
        return;
    struct lower_value view = record_field(l, lower_get(l, array_py), name);
    lower_store_view(l, py, view, lower_get(l, value_py));
}

bool
lower_is_field(const struct lower *l, ir_type array, const char *name)
{
    const struct ir_type_info *info = lower_info(l, array);
    if (info->kind != IR_KIND_ARRAY || ir_record_field(l->py, info->dtype, name, strlen(name)) < 0)
        return false;
    return info->rank == 0 || !infer_is_array_attr(name);
}

/* ---- Copies ---- */

static void
record_copy_piece(struct lower *l, ir_ref to, ir_ref from, ir_ref offset, uint32_t align)
{
    static const uint8_t types[] = {IR_T_I8, IR_T_I16, IR_T_I32, IR_T_I64};
    ir_ref source = lower_op2(l, IR_PTRADD, from, offset);
    ir_ref bits = lower_emit(l, IR_LOAD, types[align], align, 1, &source);
    ir_ref args[] = {lower_op2(l, IR_PTRADD, to, offset), bits};
    lower_emit(l, IR_STORE, IR_T_NONE, align, 2, args);
}

static void
record_copy(struct lower *l, ir_ref to, ir_ref from, uint32_t size_B, uint32_t align)
{
    uint32_t n = size_B >> align;
    if (n <= RECORD_UNROLL) {
        for (uint32_t i = 0; i < n; i++)
            record_copy_piece(l, to, from, lower_int(l, IR_T_I64, (int64_t)i << align), align);
        return;
    }
    struct lower_loop loop;
    ir_ref zero = lower_int(l, IR_T_I64, 0);
    lower_loop_open(l, &loop, 1, &zero);
    lower_mark_nonneg(l, loop.phis[0]);
    lower_loop_test(l, &loop,
                    lower_icmp(l, IR_ICMP_ULT, loop.phis[0], lower_int(l, IR_T_I64, size_B)));
    record_copy_piece(l, to, from, loop.phis[0], align);
    ir_ref next = lower_op2(l, IR_ADD, loop.phis[0], lower_int(l, IR_T_I64, (int64_t)1 << align));
    lower_loop_close(l, &loop, &next);
}

void
lower_store_record(struct lower *l, ir_ref py, ir_ref address, struct lower_value value,
                   ir_type array)
{
    const struct ir_type_info to = *lower_info(l, array), from = *lower_info(l, value.type);
    const struct ir_type_info record = *lower_info(l, to.dtype);
    if (from.kind == IR_KIND_ARRAY) {
        uint32_t align = to.align_log2 < from.align_log2 ? to.align_log2 : from.align_log2;
        align = align < record.align_log2 ? align : record.align_log2;
        record_copy(l, address, value.parts[0], record.size_B, align < 3 ? align : 3);
        return;
    }
    assert(from.kind == IR_KIND_TUPLE && "inference allows records and tuples");
    struct lower_value target = lower_value_new(l, lower_without_axes(l, array), 1, &address);
    for (uint32_t k = 0; k < record.n_elems; k++)
        lower_store_view(l, py, record_view(l, target, k), lower_elem(l, value, k));
}

/* ---- Comparison ---- */

static ir_ref record_same(struct lower *l, struct lower_value a, struct lower_value b);

/* All elements of two arrays of one constant shape in the order of C. */
static ir_ref
record_same_elements(struct lower *l, struct lower_value a, struct lower_value b)
{
    const struct ir_type_info info = *lower_info(l, a.type);
    ir_ref zero = lower_int(l, IR_T_I64, 0), count = lower_int(l, IR_T_I64, 1);
    for (uint32_t i = 0; i < info.rank; i++)
        count = lower_op2(l, IR_MUL, count, a.parts[1 + i]);
    ir_type one_a = lower_without_axes(l, a.type), one_b = lower_without_axes(l, b.type);
    ir_ref size = lower_int(l, IR_T_I64, lower_itemsize(l, &info));
    struct lower_loop loop;
    lower_loop_open(l, &loop, 2, (ir_ref[]){zero, lower_bool(l, true)});
    lower_mark_nonneg(l, loop.phis[0]);
    ir_ref more = lower_icmp(l, IR_ICMP_SLT, loop.phis[0], count);
    lower_loop_test(l, &loop, lower_op2(l, IR_AND, more, loop.phis[1]));
    ir_ref offset = lower_op2(l, IR_MUL, loop.phis[0], size);
    ir_ref at_a = lower_op2(l, IR_PTRADD, a.parts[0], offset);
    ir_ref at_b = lower_op2(l, IR_PTRADD, b.parts[0], offset);
    ir_ref same = record_same(l, record_value(l, lower_value_new(l, one_a, 1, &at_a)),
                              record_value(l, lower_value_new(l, one_b, 1, &at_b)));
    ir_ref next[] = {lower_op2(l, IR_ADD, loop.phis[0], lower_int(l, IR_T_I64, 1)), same};
    lower_loop_close(l, &loop, next);
    return loop.phis[1];
}

static ir_ref
record_same(struct lower *l, struct lower_value a, struct lower_value b)
{
    const struct ir_type_info info = *lower_info(l, a.type);
    if (info.kind != IR_KIND_ARRAY)
        return lower_compare(l, IR_CMP_EQ, a, b);
    if (info.rank)
        return record_same_elements(l, a, b);
    uint32_t n = lower_info(l, info.dtype)->n_elems;
    ir_ref same = lower_bool(l, true);
    for (uint32_t k = 0; k < n; k++) {
        struct lower_value x = record_value(l, record_view(l, a, k));
        struct lower_value y = record_value(l, record_view(l, b, k));
        same = lower_op2(l, IR_AND, same, record_same(l, x, y));
    }
    return same;
}

ir_ref
lower_compare_records(struct lower *l, enum ir_cmpop op, struct lower_value a, struct lower_value b)
{
    ir_ref same = record_same(l, a, b);
    return op == IR_CMP_EQ ? same : lower_not(l, same);
}
