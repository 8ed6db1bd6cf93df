/* infer_record: fields of records.
 *
 * In: ATTR, SETATTR, ITEM and SETITEM by a constant name, of an array whose elements are records;
 * one record is such an array of rank 0. Out: the field. Of one record a number is read; anything
 * else is a view of the same memory: of an array of records the field of all of them, of a field
 * that is an array or a record itself that.
 *
 *     particles[i].x            ->  float32
 *     particles['x']            ->  float32[:], strides of the records
 *     particles[i].pos          ->  float32[::1], three elements
 */
#include "ir/infer_t.h"

#include <string.h>

static const struct ir_type_info *
record_info(struct infer *in, ir_type array)
{
    return ir_type_info(in->module, ir_type_info(in->module, array)->dtype);
}

bool
infer_has_fields(struct infer *in, ir_type type)
{
    return ir_type_info(in->module, type)->kind == IR_KIND_ARRAY &&
           record_info(in, type)->kind == IR_KIND_RECORD;
}

bool
infer_is_record(struct infer *in, ir_type type)
{
    return infer_has_fields(in, type) && ir_type_info(in->module, type)->rank == 0;
}

/* Fields hide attributes of one record; of an array its own attributes hide fields, as NumPy has
 * it. */
bool
infer_has_field_attr(struct infer *in, ir_type type, const char *name)
{
    if (!infer_has_fields(in, type))
        return false;
    ir_type record = ir_type_info(in->module, type)->dtype;
    return ir_record_field(in->module, record, name, strlen(name)) >= 0 &&
           (infer_is_record(in, type) || !infer_is_array_attr(name));
}

bool
infer_is_field_index(struct infer *in, ir_type type, struct ir_cell index)
{
    const struct ir_const_info *object = infer_object(in, index.type);
    return infer_has_fields(in, type) && object && object->kind == IR_C_STR;
}

bool
infer_hint_fields(struct infer *in, ir_type array)
{
    const struct ir_type_info *record = record_info(in, array);
    struct sp_str text;
    sp_str_init(&text);
    for (uint32_t i = 0; i < record->n_elems && text.len < 200; i++)
        sp_str_printf(&text, "%s%s", i ? ", " : "",
                      ir_const_info(in->module, record->names[i])->str);
    INFER_HINT(in, "its records have the fields %s", text.data);
    sp_str_finish(&text);
    return false;
}

/* The view of the field; IR_T_NONE after an error. */
static ir_type
record_field(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
             ir_const name)
{
    const struct ir_const_info *text = ir_const_info(in->module, name);
    ir_type record = ir_type_info(in->module, array)->dtype;
    int field = ir_record_field(in->module, record, text->str, text->len);
    if (field < 0) {
        INFER_FAIL(in, instance, ref, NO_FIELD, infer_text(in, array), text->str);
        infer_hint_fields(in, array);
        return IR_T_NONE;
    }
    ir_type view = ir_record_view(in->module, array, (uint32_t)field);
    if (view == IR_T_NONE)
        INFER_FAIL(in, instance, ref, NYI_CONSTRUCT,
                   "a field that makes an array of more than 8 axes");
    return view;
}

bool
infer_rule_field(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                 ir_const name, struct ir_cell *out)
{
    ir_type view = record_field(in, instance, ref, array, name);
    if (view == IR_T_NONE)
        return false;
    *out = infer_typed(ir_view_value(in->module, view));
    return true;
}

bool
infer_store_field(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                  ir_const name, ir_type value)
{
    ir_type view = record_field(in, instance, ref, array, name);
    if (view == IR_T_NONE)
        return false;
    struct ir_type_info info = *ir_type_info(in->module, view);
    if (info.read_only)
        return infer_fail_read_only(in, instance, ref, array);
    return infer_check_stored(in, instance, ref, value, info.dtype, info.rank);
}

bool
infer_same_record(struct infer *in, ir_type a, ir_type b)
{
    return ir_type_info(in->module, a)->dtype == ir_type_info(in->module, b)->dtype;
}

/* A record of the type, an array of them, or a tuple with a value per field. */
bool
infer_check_stored_record(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type value,
                          ir_type dtype, uint32_t rank)
{
    struct ir_type_info info = *ir_type_info(in->module, value);
    struct ir_type_info record = *ir_type_info(in->module, dtype);
    if (info.kind == IR_KIND_ARRAY && info.dtype == dtype && info.rank <= rank)
        return true;
    if (info.kind == IR_KIND_TUPLE && info.n_elems == record.n_elems) {
        for (uint32_t i = 0; i < record.n_elems; i++) {
            struct ir_type_info field = *ir_type_info(in->module, record.elems[i]);
            bool inner = field.kind == IR_KIND_INNER;
            ir_type elem = inner ? field.elems[0] : record.elems[i];
            uint32_t n = inner ? ir_const_info(in->module, field.object)->len : 0;
            if (!infer_check_stored(in, instance, ref, info.elems[i], elem, n))
                return false;
        }
        return true;
    }
    INFER_FAIL(in, instance, ref, CANNOT_STORE, infer_text(in, value), infer_text(in, dtype));
    return INFER_HINT(in,
                      "store a record of the same type, or a tuple with a value for each of its "
                      "%u fields",
                      record.n_elems);
}

bool
infer_record_dtype_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type,
                        const char *name, struct ir_cell *out)
{
    struct ir_type_info info = *ir_type_info(in->module, type);
    ir_const found = 0;
    if (strcmp(name, "itemsize") == 0)
        found = ir_const_int(in->module, ir_storable_size_B(in->module, type));
    else if (strcmp(name, "names") == 0 && info.kind == IR_KIND_RECORD)
        found = ir_const_tuple(in->module, info.n_elems, info.names);
    else if (strcmp(name, "kind") == 0 && info.kind == IR_KIND_RECORD)
        found = ir_const_str(in->module, "V", 1);
    if (!found)
        return INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, infer_text(in, type), name) ||
               INFER_HINT(in, "the type of a record has itemsize, names and kind");
    *out = infer_constant(in, found);
    return true;
}
