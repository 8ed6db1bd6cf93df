/* lower_memory: arrays that a kernel makes.
 *
 * In: calls of rule MEMORY, whose types say space, element type and (where they are constants)
 * extents. Out: the parts of an array: an address and its extents.
 *
 *     gpu.shared.array((16, 17), gpu.float32)   ->  static 0 shared "" 1088 align(4)
 *                                                   %p = static ptr.shared 0          16, 17
 *     gpu.local.array(4, gpu.int32)             ->  %p = slot ptr.local 16 ...        4
 *     gpu.shared.array(0, gpu.float64)          ->  %p = dynshared ptr.shared
 *                                                   udiv (dynsize i64), 8
 *
 *     gpu.shared.dynamic((n, 4), gpu.float32)   ->  %at = load i64 %cursor
 *                                                   store %cursor, %at + n * 16, a multiple of 16
 *                                                   %p = ptradd (dynshared), %at      n, 4
 *
 * The cursor is a slot of the kernel, how many bytes shared.dynamic has handed out so far;
 * functions that lead to such a call get its address as their last parameter. LLVM makes a number
 * of it once they are inlined. A call of shared.array has one static however often it runs, and a
 * slot is one address of its function's frame: as in C, an array made in a loop is the same memory
 * in every round. */
#include "ir/lower.h"

#include <assert.h>
#include <string.h>

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
    int64_t natural = lower_itemsize(l, lower_info(l, l->inst->cells[py].type));
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
    uint64_t size_B = (uint64_t)lower_itemsize(l, &info);
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
    int64_t itemsize = lower_itemsize(l, lower_info(l, type));
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

/* ---- Arrays of the program ---- */

static uint32_t
memory_const(struct lower *l, const struct ir_const_info *array)
{
    struct sp_arena *arena = l->core->arena;
    size_t size_B = ir_const_array_size(l->py, array);
    for (uint32_t i = 0; i < l->core->statics.len; i++)
        if (l->core->statics.data[i].bytes && l->core->statics.data[i].size_B == size_B &&
            !memcmp(l->core->statics.data[i].bytes, array->bytes, size_B))
            return i;
    sp_vec_push(arena, &l->core->statics,
                (struct ir_static){.space = IR_SPACE_CONST,
                                   .align_log2 = 4,
                                   .size_B = (uint32_t)size_B,
                                   .bytes = array->bytes,
                                   .name = sp_arena_strdup(arena, array->array_name)});
    return l->core->statics.len - 1;
}

struct lower_value
lower_array_constant(struct lower *l, ir_const c, ir_type type)
{
    const struct ir_const_info array = *ir_const_info(l->py, c);
    const struct ir_const_info *shape = ir_const_info(l->py, array.named);
    ir_ref parts[1 + IR_MAX_RANK];
    parts[0] = lower_emit(l, IR_STATIC, IR_T_PTR_CONST, memory_const(l, &array), 0, NULL);
    for (uint32_t k = 0; k < shape->len; k++)
        parts[1 + k] = lower_int(l, IR_T_I64, ir_const_info(l->py, shape->elems[k])->i);
    ir_type own = ir_type_intern(
        l->py, &(struct ir_type_info){.kind = IR_KIND_ARRAY,
                                      .dtype = array.scalar,
                                      .rank = (uint8_t)shape->len,
                                      .layout = array.len & IR_ARRAY_F ? IR_LAYOUT_F : IR_LAYOUT_C,
                                      .space = IR_SPACE_CONST,
                                      .read_only = true,
                                      .object = array.named});
    return lower_convert(l, lower_value_new(l, own, 1 + shape->len, parts), type);
}

/* ---- gpu.shared.dynamic ---- */

#define MEMORY_ALIGN_B 16 /* of every array in what the launch adds */

static bool
memory_is_dynamic(const struct ir_typed *typed, const struct ir_instance *inst, ir_ref ref)
{
    if (ir_insn(inst->func, ref)->op != IR_CALL)
        return false;
    const struct ir_type_info *callee =
        ir_type_info(typed->module, inst->cells[ir_arg(inst->func, ref, 0)].type);
    if (callee->kind != IR_KIND_OBJECT)
        return false;
    const struct ir_const_info *object = ir_const_info(typed->module, callee->object);
    return object->kind == IR_C_INTRIN && object->u == IR_INTRIN_SHARED_DYNAMIC;
}

const bool *
lower_takers(const struct ir_typed *typed, struct sp_arena *arena)
{
    uint32_t n = typed->instances.len;
    bool *takes = SP_NEW_N(arena, bool, n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct ir_instance *inst = typed->instances.data[i];
            for (ir_ref ref = 1; !takes[i] && ref < inst->func->insns.len; ref++) {
                if (!sp_bits_has(&inst->live_blocks, ir_insn(inst->func, ref)->block))
                    continue;
                uint32_t callee = inst->callees[ref];
                takes[i] = callee ? takes[callee - 1] : memory_is_dynamic(typed, inst, ref);
                changed |= takes[i];
            }
        }
    }
    return takes;
}

ir_ref
lower_cursor(struct lower *l)
{
    ir_ref cursor = lower_emit(l, IR_SLOT, IR_T_PTR, 8, 0, NULL);
    ir_ref args[] = {cursor, lower_int(l, IR_T_I64, 0)};
    lower_emit(l, IR_STORE, IR_T_NONE, 3, 2, args);
    return cursor;
}

/* The extents as int64, and how many bytes they make; `fits_out`: without overflow. */
static ir_ref
memory_extents(struct lower *l, ir_ref py, const char *name, ir_ref *extents_out, ir_ref *fits_out)
{
    const struct ir_type_info info = *lower_info(l, l->inst->cells[py].type);
    struct lower_value shape = lower_get(l, lower_param(l, py, IR_INTRIN_SHARED_DYNAMIC, 0));
    bool is_tuple = lower_info(l, shape.type)->kind == IR_KIND_TUPLE;
    ir_ref size = lower_int(l, IR_T_I64, lower_itemsize(l, &info)), fits = lower_bool(l, true);
    for (uint32_t k = 0; k < info.rank; k++) {
        struct lower_value given = is_tuple ? lower_elem(l, shape, k) : shape;
        ir_ref extent = lower_convert(l, given, IR_T_INT).parts[0];
        ir_ref zero = lower_int(l, IR_T_I64, 0);
        if (l->ctx->options.bounds && !lower_is_nonneg(l, extent)) {
            const char *text = sp_arena_printf(
                l->core->arena, "axis %u of array '%s' cannot have {i} elements", k, name);
            lower_raise_unless(l, lower_icmp(l, IR_ICMP_SGE, extent, zero),
                               lower_site(l, py, SP_E_NEGATIVE_EXTENT, text, 1), 1, &extent);
        }
        ir_ref product = lower_op2(l, IR_MUL, size, extent);
        if (l->ctx->options.bounds)
            fits = lower_op2(l, IR_AND, fits, lower_mul_fits(l, size, extent, product));
        extents_out[k] = extent;
        size = product;
    }
    *fits_out = fits;
    return size;
}

/* The next bytes; nothing is ever given back, so all such arrays are disjoint. */
static struct lower_value
memory_dynamic(struct lower *l, ir_ref py)
{
    ir_type type = l->inst->cells[py].type;
    const char *name = lower_variable_name(l, py);
    ir_ref extents[IR_MAX_RANK], fits;
    ir_ref size = memory_extents(l, py, name, extents, &fits);
    ir_ref at = lower_emit(l, IR_LOAD, IR_T_I64, 3, 1, &l->cursor);
    if (l->ctx->options.bounds) {
        ir_ref all = lower_emit(l, IR_DYNSIZE, IR_T_I64, 0, 0, NULL);
        ir_ref left = lower_op2(l, IR_SUB, all, at);
        ir_ref nothing = lower_icmp(l, IR_ICMP_EQ, size, lower_int(l, IR_T_I64, 0));
        ir_ref enough = lower_op2(l, IR_OR, lower_icmp(l, IR_ICMP_SLE, size, left), nothing);
        fits = lower_op2(l, IR_AND, fits, enough);
        const char *text =
            sp_arena_printf(l->core->arena,
                            "array '%s' needs {i} bytes of the shared memory that the launch adds; "
                            "it adds {i}, of which {i} are taken",
                            name);
        lower_raise_unless(l, fits, lower_site(l, py, SP_E_SHARED_EXCEEDED, text, 3), 3,
                           (ir_ref[]){size, all, at});
    }
    ir_ref end = lower_op2(l, IR_ADD, lower_op2(l, IR_ADD, at, size),
                           lower_int(l, IR_T_I64, MEMORY_ALIGN_B - 1));
    end = lower_op2(l, IR_AND, end, lower_int(l, IR_T_I64, -MEMORY_ALIGN_B));
    lower_emit(l, IR_STORE, IR_T_NONE, 3, 2, (ir_ref[]){l->cursor, end});
    ir_ref data = lower_emit(l, IR_DYNSHARED, IR_T_PTR_SHARED, 0, 0, NULL);
    return memory_array(l, type, lower_op2(l, IR_PTRADD, data, at), extents);
}

struct lower_value
lower_memory(struct lower *l, ir_ref py, enum ir_intrin id)
{
    ir_type type = l->inst->cells[py].type;
    ir_ref extents[IR_MAX_RANK], data;
    if (id == IR_INTRIN_CONST_ARRAY)
        return lower_get(l, lower_param(l, py, id, 0)); /* a view of constant data */
    if (id == IR_INTRIN_SHARED_DYNAMIC)
        return memory_dynamic(l, py);
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
