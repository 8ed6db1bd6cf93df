/* lower_value: which CORE values stand for a PY value, and conversions between types.
 *
 * In: values of the PY module's types. Out: lists of CORE values ("parts") whose number and machine
 * types follow from the type alone (the table is in lower.h), so that tuples, arrays and iterators
 * are gone from the start: nothing has to be split up later. A constant has no stored parts; it is
 * made where it is asked for.
 *
 * Conversions are those of numbers.md: integers keep their low bits, floats saturate at the target
 * type and NaN gives 0, anything to bool is `!= 0`, int to float rounds once.
 *
 *     int8(3.7)           const i8 3
 *     float32 -> int16    fptosi.sat i16 %x
 *     (int, float32) -> (float32, float32)    sitofp f32 %0, %1
 *
 * The alternative, aggregates in CORE and a pass that splits them, lost: every pass and both
 * emitters would have to know aggregates. */
#include "ir/lower.h"

#include <assert.h>

/* ---- Parts ---- */

uint32_t
lower_n_parts(const struct lower *l, ir_type type)
{
    const struct ir_type_info *info = lower_info(l, type);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_SCALAR: return 1;
    case IR_KIND_RECIPE:
    case IR_KIND_TUPLE: {
        uint32_t n = 0;
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += lower_n_parts(l, info->elems[i]);
        return n;
    }
    case IR_KIND_ARRAY: return 1u + info->rank * (info->layout == IR_LAYOUT_ANY ? 2u : 1u);
    case IR_KIND_RANGE:
    case IR_KIND_SLICE: return 3;
    case IR_KIND_CLOSURE: {
        uint32_t n = 0;
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += info->consts[i] ? 0 : lower_n_parts(l, info->elems[i]);
        return n;
    }
    case IR_KIND_CELL: return lower_has_slot(l, type);
    case IR_KIND_ITER: {
        bool over = info->iter == IR_ITER_LOOP || info->iter == IR_ITER_REVERSED;
        if (over && lower_info(l, info->elems[0])->kind == IR_KIND_RANGE)
            return 4;
        if (info->iter == IR_ITER_UNROLLED && info->object)
            return 0;
        uint32_t n = over || info->iter == IR_ITER_ENUMERATE;
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += lower_n_parts(l, info->elems[i]);
        return n;
    }
    case IR_KIND_NONE:
    case IR_KIND_OBJECT: return 0;
    case IR_KIND_MIXED:
    case IR_KIND_CONFLICT:
    case IR_KIND_RECORD:
    case IR_KIND_INNER:
    case IR_KIND_MACHINE: break;
    }
    assert(!"inference leaves no such type in executable code");
    return 0;
}

uint32_t
lower_part_types(const struct lower *l, ir_type type, ir_type *machine_out)
{
    const struct ir_type_info *info = lower_info(l, type);
    uint32_t n = 0;
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_SCALAR: machine_out[n++] = lower_machine(l, type); break;
    case IR_KIND_RECIPE:
    case IR_KIND_TUPLE:
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += lower_part_types(l, info->elems[i], machine_out + n);
        break;
    case IR_KIND_ARRAY: {
        static const uint8_t spaces[] = {[IR_SPACE_GLOBAL] = IR_T_PTR_GLOBAL,
                                         [IR_SPACE_SHARED] = IR_T_PTR_SHARED,
                                         [IR_SPACE_LOCAL] = IR_T_PTR_LOCAL,
                                         [IR_SPACE_CONST] = IR_T_PTR_CONST};
        uint32_t total = lower_n_parts(l, type);
        machine_out[n++] = spaces[info->space];
        while (n < total)
            machine_out[n++] = IR_T_I64;
        break;
    }
    case IR_KIND_CLOSURE:
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += info->consts[i] ? 0 : lower_part_types(l, info->elems[i], machine_out + n);
        break;
    case IR_KIND_CELL:
        if (lower_has_slot(l, type))
            machine_out[n++] = IR_T_PTR;
        break;
    case IR_KIND_RANGE:
    case IR_KIND_SLICE:
        while (n < 3)
            machine_out[n++] = IR_T_I64;
        break;
    case IR_KIND_ITER: {
        bool over = info->iter == IR_ITER_LOOP || info->iter == IR_ITER_REVERSED;
        if (over && lower_info(l, info->elems[0])->kind == IR_KIND_RANGE) {
            while (n < 4)
                machine_out[n++] = IR_T_I64;
            machine_out[1] = IR_T_I1;
            break;
        }
        if (info->iter == IR_ITER_UNROLLED && info->object)
            break;
        if (over || info->iter == IR_ITER_ENUMERATE)
            machine_out[n++] = IR_T_I64;
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += lower_part_types(l, info->elems[i], machine_out + n);
        break;
    }
    default: break;
    }
    return n;
}

struct lower_value
lower_value_new(struct lower *l, ir_type type, uint32_t n, const ir_ref *parts)
{
    assert(n == lower_n_parts(l, type) && "parts as the type says");
    const ir_ref *copy = n ? sp_arena_copy(l->core->arena, parts, n * sizeof *parts) : NULL;
    return (struct lower_value){type, n, copy};
}

struct lower_value
lower_scalar(struct lower *l, ir_type type, ir_ref part)
{
    assert(lower_type_of(l, part) == lower_machine(l, type) && "the scalar's machine type");
    return lower_value_new(l, type, 1, &part);
}

struct lower_value
lower_elem(struct lower *l, struct lower_value tuple, uint32_t k)
{
    const struct ir_type_info *info = lower_info(l, tuple.type);
    assert(info->kind == IR_KIND_TUPLE && k < info->n_elems && "an element of the tuple");
    uint32_t first = 0;
    for (uint32_t i = 0; i < k; i++)
        first += lower_n_parts(l, info->elems[i]);
    uint32_t n = lower_n_parts(l, info->elems[k]);
    return (struct lower_value){info->elems[k], n, n ? tuple.parts + first : NULL};
}

struct lower_value
lower_zero(struct lower *l, ir_type type)
{
    uint32_t n = lower_n_parts(l, type);
    ir_type *types = SP_NEW_N(l->core->arena, ir_type, n);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    lower_part_types(l, type, types);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = types[i] >= IR_T_F16 && types[i] <= IR_T_F64 ? lower_float(l, types[i], 0)
                                                                : lower_int(l, types[i], 0);
    return (struct lower_value){type, n, parts};
}

/* ---- Constants ---- */

static struct lower_value
value_number(struct lower *l, const struct ir_const_info *c)
{
    switch ((enum ir_const_kind)c->kind) {
    case IR_C_BOOL: return lower_scalar(l, IR_T_BOOL, lower_bool(l, c->i));
    case IR_C_INT: return lower_scalar(l, IR_T_INT, lower_int(l, IR_T_I64, c->i));
    case IR_C_UINT: return lower_scalar(l, IR_T_UINT64, lower_int(l, IR_T_I64, c->i));
    case IR_C_FLOAT:
        return lower_scalar(l, IR_T_FLOAT, lower_float(l, lower_machine(l, IR_T_FLOAT), c->f));
    case IR_C_TYPED: {
        ir_type machine = lower_machine(l, c->scalar);
        return lower_scalar(l, c->scalar,
                            ir_is_float(c->scalar) ? lower_float(l, machine, c->f)
                                                   : lower_int(l, machine, c->i));
    }
    default: break;
    }
    assert(!"a constant of a scalar type is a number");
    return lower_zero(l, IR_T_INT);
}

struct lower_value
lower_constant(struct lower *l, ir_const c, ir_type type)
{
    const struct ir_type_info *info = lower_info(l, type);
    const struct ir_const_info *value = ir_const_info(l->py, c);
    if (info->kind == IR_KIND_SCALAR)
        return lower_convert(l, value_number(l, value), type);
    if (info->kind == IR_KIND_SLICE) {
        struct lower_value given[3];
        for (uint32_t i = 0; i < 3; i++)
            given[i] = info->elems[i] == IR_T_INT ? lower_constant(l, value->elems[i], IR_T_INT)
                                                  : (struct lower_value){info->elems[i], 0, NULL};
        return lower_slice_of(l, type, given);
    }
    if (info->kind == IR_KIND_RANGE) {
        ir_ref parts[3];
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = lower_int(l, IR_T_I64, ir_const_info(l->py, value->elems[i])->i);
        return lower_value_new(l, type, 3, parts);
    }
    if (info->kind == IR_KIND_ARRAY)
        return lower_array_constant(l, c, type);
    if (info->kind != IR_KIND_TUPLE) {
        assert(lower_n_parts(l, type) == 0 && "constants are numbers, tuples and objects");
        return (struct lower_value){type, 0, NULL};
    }
    assert(value->kind == IR_C_TUPLE && value->len == info->n_elems && "a tuple of that length");
    uint32_t n = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    for (uint32_t i = 0; i < info->n_elems; i++) {
        struct lower_value elem = lower_constant(l, value->elems[i], info->elems[i]);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
    }
    return (struct lower_value){type, n, parts};
}

struct lower_value
lower_get(struct lower *l, ir_ref py)
{
    struct ir_cell cell = l->inst->cells[py];
    if (cell.constant && cell.type != IR_T_NONE)
        return lower_constant(l, cell.constant, cell.type);
    return l->values[py];
}

ir_ref
lower_get_as(struct lower *l, ir_ref py, ir_type scalar)
{
    return lower_convert(l, lower_get(l, py), scalar).parts[0];
}

ir_ref
lower_get_wide(struct lower *l, ir_ref py, ir_type type)
{
    return lower_convert_scalar(l, lower_get_as(l, py, type), type, lower_wide_float(type));
}

/* ---- Conversions ---- */

static ir_ref
value_to_bool(struct lower *l, ir_ref value, ir_type from)
{
    if (from == IR_T_BOOL)
        return value;
    ir_type machine = lower_machine(l, from);
    if (ir_is_float(from))
        return lower_fcmp(l, IR_FCMP_UNE, value, lower_float(l, machine, 0));
    return lower_icmp(l, IR_ICMP_NE, value, lower_int(l, machine, 0));
}

/* Between integers, or between floats. */
static ir_ref
value_resize(struct lower *l, ir_ref value, ir_type machine, enum ir_op widen, enum ir_op narrow)
{
    ir_type old = lower_type_of(l, value);
    if (machine == old)
        return value;
    bool wider = ir_machine_bits(machine) > ir_machine_bits(old);
    return lower_cast(l, wider ? widen : narrow, machine, value);
}

ir_ref
lower_convert_scalar(struct lower *l, ir_ref value, ir_type from, ir_type to)
{
    ir_type machine = lower_machine(l, to);
    if (from == to && machine == lower_type_of(l, value))
        return value;
    bool sign = ir_scalar_row(from)->class == IR_CLASS_INT;
    switch (ir_conversion(from, to)) {
    case IR_CONV_RESIZE: return value_resize(l, value, machine, sign ? IR_SEXT : IR_ZEXT, IR_TRUNC);
    case IR_CONV_NONZERO: return value_to_bool(l, value, from);
    case IR_CONV_UNIT:
        return lower_select(l, value, lower_float(l, machine, 1), lower_float(l, machine, 0));
    case IR_CONV_SITOFP: return lower_cast(l, IR_SITOFP, machine, value);
    case IR_CONV_UITOFP: return lower_cast(l, IR_UITOFP, machine, value);
    case IR_CONV_FPTOSI: return lower_cast(l, IR_FPTOSI_SAT, machine, value);
    case IR_CONV_FPTOUI: return lower_cast(l, IR_FPTOUI_SAT, machine, value);
    case IR_CONV_FLOAT: return value_resize(l, value, machine, IR_FPEXT, IR_FPTRUNC);
    }
    assert(!"no such conversion");
    return value;
}

static struct lower_value
value_convert_tuple(struct lower *l, struct lower_value value, ir_type to)
{
    const struct ir_type_info *info = lower_info(l, to);
    assert(lower_info(l, value.type)->kind == IR_KIND_TUPLE &&
           lower_info(l, value.type)->n_elems == info->n_elems && "tuples join at equal length");
    uint32_t n = lower_n_parts(l, to), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, n);
    for (uint32_t i = 0; i < info->n_elems; i++) {
        struct lower_value elem = lower_convert(l, lower_elem(l, value, i), info->elems[i]);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
    }
    return (struct lower_value){to, n, parts};
}

static struct lower_value
value_convert_array(struct lower *l, struct lower_value value, ir_type to)
{
    const struct ir_type_info *info = lower_info(l, to), *old = lower_info(l, value.type);
    assert(old->kind == IR_KIND_ARRAY && old->rank == info->rank && old->dtype == info->dtype &&
           "arrays join at equal dtype and rank");
    if (info->layout == old->layout || info->layout != IR_LAYOUT_ANY)
        return (struct lower_value){to, value.n, value.parts};
    ir_ref parts[1 + 2 * IR_MAX_RANK];
    for (uint32_t i = 0; i < value.n; i++)
        parts[i] = value.parts[i];
    lower_strides(l, value, parts + value.n);
    return lower_value_new(l, to, value.n + info->rank, parts);
}

/* Iterators of the same kind: what they go over converts, a constant tuple gets its parts. */
static struct lower_value
value_convert_iter(struct lower *l, struct lower_value value, ir_type to)
{
    const struct ir_type_info info = *lower_info(l, to), old = *lower_info(l, value.type);
    assert(old.kind == IR_KIND_ITER && old.iter == info.iter && old.n_elems == info.n_elems &&
           "iterators meet iterators of their kind");
    bool over = info.iter == IR_ITER_LOOP || info.iter == IR_ITER_REVERSED;
    uint32_t total = lower_n_parts(l, to), at = 0, from = 0;
    if (over && lower_info(l, info.elems[0])->kind == IR_KIND_RANGE)
        return (struct lower_value){to, value.n, value.parts};
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, total + 1);
    if (over || info.iter == IR_ITER_ENUMERATE)
        parts[at++] = value.parts[from++];
    for (uint32_t i = 0; i < info.n_elems && at < total; i++) {
        uint32_t n = lower_n_parts(l, old.elems[i]);
        struct lower_value inner = {old.elems[i], n, n ? value.parts + from : NULL};
        if (old.iter == IR_ITER_UNROLLED && old.object)
            inner = lower_constant(l, old.object, old.elems[i]);
        else
            from += n;
        inner = lower_convert(l, inner, info.elems[i]);
        for (uint32_t k = 0; k < inner.n; k++)
            parts[at++] = inner.parts[k];
    }
    return (struct lower_value){to, total, parts};
}

struct lower_value
lower_convert(struct lower *l, struct lower_value value, ir_type to)
{
    if (value.type == to)
        return value;
    if (value.type == IR_T_NONE)
        return lower_zero(l, to);
    switch ((enum ir_kind)lower_info(l, to)->kind) {
    case IR_KIND_SCALAR:
        assert(ir_type_is_scalar(value.type) && "scalars meet scalars");
        return lower_scalar(l, to, lower_convert_scalar(l, value.parts[0], value.type, to));
    case IR_KIND_TUPLE: return value_convert_tuple(l, value, to);
    case IR_KIND_ARRAY: return value_convert_array(l, value, to);
    case IR_KIND_CLOSURE: return lower_convert_closure(l, value, to);
    case IR_KIND_RANGE:
    case IR_KIND_SLICE:
        assert(value.n == lower_n_parts(l, to) && "ranges meet ranges, slices slices");
        return (struct lower_value){to, value.n, value.parts};
    case IR_KIND_ITER: return value_convert_iter(l, value, to);
    case IR_KIND_NONE:
    case IR_KIND_OBJECT: return (struct lower_value){to, 0, NULL};
    default: break;
    }
    assert(!"inference leaves no such type in executable code");
    return lower_zero(l, to);
}

ir_ref
lower_truth(struct lower *l, struct lower_value value)
{
    const struct ir_type_info *info = lower_info(l, value.type);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_SCALAR: return value_to_bool(l, value.parts[0], value.type);
    case IR_KIND_TUPLE: return lower_bool(l, info->n_elems > 0);
    case IR_KIND_CLOSURE: return lower_bool(l, true);
    case IR_KIND_OBJECT: {
        const struct ir_const_info *c = ir_const_info(l->py, info->object);
        return lower_bool(l, c->kind != IR_C_NONE && (c->kind != IR_C_STR || c->len));
    }
    default: break;
    }
    assert(!"inference rejects values without a truth");
    return lower_bool(l, false);
}
