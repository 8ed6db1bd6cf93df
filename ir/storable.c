/* storable: what memory holds. The size, the alignment and the leaves of an element's type.
 *
 * Elements of arrays and fields of records are of a storable type. Its leaves are the scalars that
 * a load reads, each at its offset: a number is its own leaf. A record has none, because its value
 * is where it lies, an array of rank 0: fields are read when they are asked for. An array in a
 * record is a type of its own only there; its value is a view. */
#include "ir/infer.h"

#include <assert.h>
#include <string.h>

bool
ir_is_storable(const struct ir_module *module, ir_type type)
{
    if (ir_type_is_scalar(type))
        return !ir_scalar_row(type)->weak;
    enum ir_kind kind = (enum ir_kind)ir_type_info(module, type)->kind;
    return kind == IR_KIND_RECORD || kind == IR_KIND_INNER;
}

uint32_t
ir_storable_size_B(const struct ir_module *module, ir_type type)
{
    if (ir_type_is_scalar(type))
        return ir_scalar_row(type)->bits / 8u;
    const struct ir_type_info *info = ir_type_info(module, type);
    assert(ir_is_storable(module, type) && "only what memory holds has a size");
    return info->size_B;
}

uint32_t
ir_storable_align(const struct ir_module *module, ir_type type)
{
    if (ir_type_is_scalar(type))
        return (uint32_t)__builtin_ctz(ir_scalar_row(type)->bits / 8u);
    return ir_type_info(module, type)->align_log2;
}

bool
ir_is_reference(const struct ir_module *module, ir_type type)
{
    return ir_type_info(module, type)->kind == IR_KIND_RECORD;
}

uint32_t
ir_storable_leaves(const struct ir_module *module, ir_type type,
                   struct ir_leaf leaves_out[IR_MAX_ELEMENT_LEAVES])
{
    if (ir_type_is_scalar(type)) {
        leaves_out[0] = (struct ir_leaf){.scalar = type};
        return 1;
    }
    assert(ir_is_storable(module, type) && "only what memory holds has leaves");
    return 0;
}

/* ---- Making them ---- */

ir_type
ir_type_inner(struct ir_module *module, ir_type elem, uint32_t rank, const ir_const *extents)
{
    uint64_t size_B = ir_storable_size_B(module, elem);
    for (uint32_t k = 0; k < rank; k++) {
        size_B *= (uint64_t)ir_const_info(module, extents[k])->i;
        if (size_B > IR_MAX_STATIC_B)
            return IR_T_NONE;
    }
    return ir_type_intern(
        module, &(struct ir_type_info){.kind = IR_KIND_INNER,
                                       .object = ir_const_tuple(module, rank, extents),
                                       .size_B = (uint32_t)size_B,
                                       .align_log2 = (uint8_t)ir_storable_align(module, elem),
                                       .n_elems = 1,
                                       .elems = &elem});
}

ir_type
ir_type_record(struct ir_module *module, uint32_t n, const ir_const *names, const ir_type *types,
               const uint32_t *offsets, uint32_t size_B)
{
    uint32_t align = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t field = ir_storable_align(module, types[i]);
        if (offsets[i] && field > (uint32_t)__builtin_ctz(offsets[i]))
            field = (uint32_t)__builtin_ctz(offsets[i]);
        align = field > align ? field : align;
    }
    if (size_B && align > (uint32_t)__builtin_ctz(size_B))
        align = (uint32_t)__builtin_ctz(size_B);
    return ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_RECORD,
                                                         .size_B = size_B,
                                                         .align_log2 = (uint8_t)align,
                                                         .n_elems = n,
                                                         .elems = types,
                                                         .names = names,
                                                         .offsets = offsets});
}

int
ir_record_field(const struct ir_module *module, ir_type record, const char *name, size_t len)
{
    const struct ir_type_info *info = ir_type_info(module, record);
    for (uint32_t i = 0; info->kind == IR_KIND_RECORD && i < info->n_elems; i++) {
        const struct ir_const_info *field = ir_const_info(module, info->names[i]);
        if (field->len == len && !memcmp(field->str, name, len))
            return (int)i;
    }
    return -1;
}

bool
ir_storable_of_text(const char *text, uint32_t *size_B_out, uint32_t *align_out)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct ir_module *module = ir_module_new(&arena, IR_PHASE_PY);
    const char *end, *wrong;
    ir_type type;
    bool ok = ir_storable_parse(module, text, &end, &type, &wrong) && !*end;
    if (ok) {
        *size_B_out = ir_storable_size_B(module, type);
        *align_out = ir_storable_align(module, type);
    }
    ir_module_finish(module);
    sp_arena_finish(&arena);
    return ok;
}

uint32_t
ir_argtype_words(const struct ir_argtype *arg)
{
    uint32_t size_B = 0, align;
    bool is_record =
        arg->kind == IR_ARG_SCALAR && arg->elem && ir_storable_of_text(arg->elem, &size_B, &align);
    return is_record ? (size_B + 7) / 8 : 0;
}

/* ---- Fields of arrays of records ---- */

static ir_const
storable_extents(struct ir_module *module, const struct ir_type_info *array, ir_const inner)
{
    ir_const extents[2 * IR_MAX_RANK];
    uint32_t n = 0;
    const struct ir_const_info *shape;
    if (array->rank && !array->object)
        return 0;
    shape = array->rank ? ir_const_info(module, array->object) : NULL;
    for (uint32_t i = 0; shape && i < shape->len; i++)
        extents[n++] = shape->elems[i];
    shape = inner ? ir_const_info(module, inner) : NULL;
    for (uint32_t i = 0; shape && i < shape->len; i++)
        extents[n++] = shape->elems[i];
    return n ? ir_const_tuple(module, n, extents) : 0;
}

ir_type
ir_record_view(struct ir_module *module, ir_type array, uint32_t k)
{
    struct ir_type_info info = *ir_type_info(module, array);
    struct ir_type_info record = *ir_type_info(module, info.dtype);
    struct ir_type_info field = *ir_type_info(module, record.elems[k]);
    bool inner = field.kind == IR_KIND_INNER;
    uint32_t more = inner ? ir_const_info(module, field.object)->len : 0;
    if (info.rank + more > IR_MAX_RANK)
        return IR_T_NONE;
    info.object = storable_extents(module, &info, inner ? field.object : 0);
    info.layout = info.rank ? IR_LAYOUT_ANY : IR_LAYOUT_C;
    info.rank = (uint8_t)(info.rank + more);
    info.dtype = inner ? field.elems[0] : record.elems[k];
    uint32_t align = ir_storable_align(module, info.dtype);
    if (record.offsets[k] && align > (uint32_t)__builtin_ctz(record.offsets[k]))
        align = (uint32_t)__builtin_ctz(record.offsets[k]);
    if (record.size_B && align > (uint32_t)__builtin_ctz(record.size_B))
        align = (uint32_t)__builtin_ctz(record.size_B);
    if (info.align_log2 > align)
        info.align_log2 = (uint8_t)align;
    return ir_type_intern(module, &info);
}

ir_type
ir_view_value(struct ir_module *module, ir_type view)
{
    const struct ir_type_info *info = ir_type_info(module, view);
    return info->rank || ir_is_reference(module, info->dtype) ? view : ir_element_type(info->dtype);
}

ir_type
ir_record_argument(struct ir_module *module, ir_type record)
{
    uint32_t align = ir_storable_align(module, record);
    return ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_ARRAY,
                                                         .dtype = record,
                                                         .layout = IR_LAYOUT_C,
                                                         .space = IR_SPACE_LOCAL,
                                                         .align_log2 = (uint8_t)align});
}
