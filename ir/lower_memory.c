/* lower_memory: arrays that a kernel makes.
 *
 * In: calls of rule MEMORY, whose types say space, element type and (where they are constants) extents.
 * Out: the parts of an array: an address and its extents.
 *
 *     gpu.shared.array((16, 17), gpu.float32)   ->  static 0 shared "" 1088 align(4)
 *                                                   %p = static ptr.shared 0          16, 17
 *     gpu.local.array(4, gpu.int32)             ->  %p = slot ptr.local 16 ...        4
 *     gpu.shared.array(0, gpu.float64)          ->  %p = dynshared ptr.shared
 *                                                   udiv (dynsize i64), 8
 *
 * A call of shared.array has one static however often it runs, and a slot is one address of its
 * function's frame: as in C, an array made in a loop is the same memory in every round. */
#include "ir/lower.h"

#include <assert.h>

static uint32_t
memory_align(struct lower *l, ir_ref py, enum ir_intrin id, uint64_t size_B)
{
    ir_ref given = lower_param(l, py, id, 2);
    int64_t align = size_B >= 16 ? 16 : 8; /* what vectors of elements need */
    if (given && ir_type_is_scalar(l->inst->cells[given].type)) {
        bool known = lower_int_of(l, lower_get_as(l, given, IR_T_INT), &align);
        assert(known && "inference demands the alignment");
        (void)known;
    }
    int64_t natural = lower_itemsize(lower_info(l, l->inst->cells[py].type));
    return (uint32_t)__builtin_ctzll((uint64_t)(align > natural ? align : natural));
}

static struct lower_value
memory_array(struct lower *l, ir_type type, ir_ref data, const ir_ref *extents)
{
    uint32_t rank = lower_info(l, type)->rank;
    ir_ref parts[1 + IR_MAX_RANK] = {data};
    for (uint32_t k = 0; k < rank; k++) {
        lower_mark_nonneg(l, extents[k]);
        parts[1 + k] = extents[k];
    }
    return lower_value_new(l, type, 1 + rank, parts);
}

/* The extents that the type knows, and how many bytes they make. */
static uint64_t
memory_known(struct lower *l, ir_type type, ir_ref *extents_out)
{
    const struct ir_type_info info = *lower_info(l, type);
    uint64_t size_B = (uint64_t)lower_itemsize(&info);
    for (uint32_t k = 0; k < info.rank; k++) {
        ir_const extent = ir_const_info(l->py, info.object)->elems[k];
        int64_t value = ir_const_info(l->py, extent)->i;
        extents_out[k] = lower_int(l, IR_T_I64, value);
        size_B *= (uint64_t)value;
    }
    return size_B;
}

/* All of the launch's shared memory as elements. */
static struct lower_value
memory_all_dynamic(struct lower *l, ir_type type)
{
    int64_t itemsize = lower_itemsize(lower_info(l, type));
    ir_ref size = lower_emit(l, IR_DYNSIZE, IR_T_I64, 0, 0, NULL);
    lower_mark_nonneg(l, size);
    ir_ref extent = lower_op2(l, IR_UDIV, size, lower_int(l, IR_T_I64, itemsize));
    ir_ref data = lower_emit(l, IR_DYNSHARED, IR_T_PTR_SHARED, 0, 0, NULL);
    return memory_array(l, type, data, &extent);
}

static uint32_t
memory_static(struct lower *l, ir_ref py, uint64_t size_B, uint32_t align_log2)
{
    struct sp_arena *arena = l->core->arena;
    assert(size_B <= IR_MAX_STATIC_B && "inference limits the size");
    sp_vec_push(arena, &l->core->statics,
                (struct ir_static){.space = IR_SPACE_SHARED,
                                   .align_log2 = (uint8_t)align_log2,
                                   .size_B = (uint32_t)size_B,
                                   .name = sp_arena_strdup(arena, lower_variable_name(l, py))});
    return l->core->statics.len - 1;
}

struct lower_value
lower_memory(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = l->inst->cells[py].type;
    ir_ref extents[IR_MAX_RANK], data;
    if (!lower_info(l, type)->object)
        return memory_all_dynamic(l, type);
    uint64_t size_B = memory_known(l, type, extents);
    uint32_t align_log2 = memory_align(l, py, id, size_B);
    if (id == IR_INTRIN_LOCAL_ARRAY) {
        assert(size_B <= IR_MAX_SLOT_B && "inference limits the size");
        uint32_t imm = align_log2 << 24 | (uint32_t)(size_B ? size_B : 1);
        data = lower_emit(l, IR_SLOT, IR_T_PTR_LOCAL, imm, 0, NULL);
    } else {
        data = lower_emit(l, IR_STATIC, IR_T_PTR_SHARED, memory_static(l, py, size_B, align_log2),
                          0, NULL);
    }
    return memory_array(l, type, data, extents);
}
