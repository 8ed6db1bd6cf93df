/* infer_item: attributes, elements, and stores to elements.
 *
 * Array attributes are rows of a table; attributes of objects that only Python understands become
 * questions. What an index does to an array is infer_view.c's. */
#include "ir/infer_t.h"

#include <string.h>

enum array_attr {
    ATTR_SHAPE,
    ATTR_STRIDES,
    ATTR_NDIM,
    ATTR_SIZE,
    ATTR_ITEMSIZE,
    ATTR_NBYTES,
    ATTR_DTYPE,
    ATTR_T
};

static const char *const array_attrs[] = {
    [ATTR_SHAPE] = "shape",       [ATTR_STRIDES] = "strides",
    [ATTR_NDIM] = "ndim",         [ATTR_SIZE] = "size",
    [ATTR_ITEMSIZE] = "itemsize", [ATTR_NBYTES] = "nbytes",
    [ATTR_DTYPE] = "dtype",       [ATTR_T] = "T",
};

/* What NumPy's arrays have and those in kernels have not: what to write instead. */
static const struct {
    const char *name, *instead;
} array_methods[] = {
    {"append", "an array keeps its size: make it large enough on the host and count what is used"},
    {"all", "write a loop over the elements with `and`"},
    {"any", "write a loop over the elements with `or`"},
    {"argmax", "write a loop that keeps the best element and its index"},
    {"argmin", "write a loop that keeps the best element and its index"},
    {"astype", "cast each element where it is used: gpu.float32(x[i])"},
    {"copy", "a kernel makes no arrays: pass one and write b[...] = a"},
    {"dot", "write a loop that sums products"},
    {"extend", "an array keeps its size: make it large enough on the host and count what is used"},
    {"fill", "write x[...] = value"},
    {"flat", "go over the axes in nested loops"},
    {"flatten", "index with all axes, or pass x.reshape(-1) to the kernel"},
    {"item", "write x[i], or x[()] of an array without axes"},
    {"max", "write a loop with max(best, x[i])"},
    {"mean", "write a loop that sums, and divide by x.size"},
    {"min", "write a loop with min(best, x[i])"},
    {"prod", "write a loop that multiplies"},
    {"ravel", "index with all axes, or pass x.reshape(-1) to the kernel"},
    {"reshape", "index with computed positions, or reshape before the launch"},
    {"sort", "sort in loops, or before the launch"},
    {"sum", "write a loop that adds"},
    {"tolist", "a kernel has no lists: use the array itself"},
    {"transpose", "write x.T, or exchange the indices"},
    {"view", "pass the array with the other dtype to the kernel"},
};

static struct ir_cell
item_int_tuple(struct infer *in, uint32_t n)
{
    ir_type elems[IR_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        elems[i] = IR_T_INT;
    return infer_typed(ir_type_tuple(in->module, n, elems));
}

static ir_const
item_reversed(struct infer *in, ir_const shape)
{
    ir_const extents[IR_MAX_RANK];
    uint32_t n = shape ? ir_const_info(in->module, shape)->len : 0;
    for (uint32_t k = 0; k < n; k++)
        extents[k] = ir_const_info(in->module, shape)->elems[n - 1 - k];
    return shape ? ir_const_tuple(in->module, n, extents) : 0;
}

/* Elements or bytes of an array whose extents are known. */
static ir_const
item_size(struct infer *in, const struct ir_type_info *info, bool bytes)
{
    const struct ir_const_info *shape = ir_const_info(in->module, info->object);
    uint64_t size = bytes ? ir_storable_size_B(in->module, info->dtype) : 1;
    for (uint32_t k = 0; k < shape->len; k++)
        size *= (uint64_t)ir_const_info(in->module, shape->elems[k])->i;
    return ir_const_int(in->module, (int64_t)size);
}

bool
infer_is_array_attr(const char *name)
{
    for (uint32_t i = 0; i < sizeof array_attrs / sizeof *array_attrs; i++)
        if (strcmp(array_attrs[i], name) == 0)
            return true;
    return false;
}

static bool
item_array_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                const char *name, struct ir_cell *out)
{
    struct ir_type_info info = *ir_type_info(in->module, array);
    uint32_t attr = 0;
    while (attr < sizeof array_attrs / sizeof *array_attrs && strcmp(array_attrs[attr], name) != 0)
        attr++;
    switch (attr) {
    case ATTR_SHAPE:
        *out = info.object ? infer_constant(in, info.object) : item_int_tuple(in, info.rank);
        return true;
    case ATTR_STRIDES: *out = item_int_tuple(in, info.rank); return true;
    case ATTR_SIZE:
    case ATTR_NBYTES:
        *out = info.object ? infer_constant(in, item_size(in, &info, attr == ATTR_NBYTES))
                           : infer_typed(IR_T_INT);
        return true;
    case ATTR_NDIM: *out = infer_constant(in, ir_const_int(in->module, info.rank)); return true;
    case ATTR_ITEMSIZE:
        *out = infer_constant(in,
                              ir_const_int(in->module, ir_storable_size_B(in->module, info.dtype)));
        return true;
    case ATTR_DTYPE: *out = infer_constant(in, ir_const_dtype(in->module, info.dtype)); return true;
    case ATTR_T:
        if (info.rank > 1 && info.layout != IR_LAYOUT_ANY)
            info.layout = info.layout == IR_LAYOUT_C ? IR_LAYOUT_F : IR_LAYOUT_C;
        info.object = item_reversed(in, info.object);
        *out = infer_typed(ir_type_intern(in->module, &info));
        return true;
    default: INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, infer_text(in, array), name);
    }
    if (infer_has_fields(in, array))
        return infer_hint_fields(in, array);
    for (uint32_t i = 0; i < sizeof array_methods / sizeof *array_methods; i++)
        if (strcmp(array_methods[i].name, name) == 0)
            return INFER_HINT(in, "%s", array_methods[i].instead);
    struct ir_suggest suggest;
    ir_suggest_init(&suggest, name);
    for (uint32_t i = 0; i < sizeof array_attrs / sizeof *array_attrs; i++)
        ir_suggest_try(&suggest, array_attrs[i]);
    if (suggest.best[0])
        return INFER_HINT(in, "did you mean %s?", suggest.best);
    return INFER_HINT(
        in, "an array in a kernel has shape, strides, ndim, size, itemsize, nbytes, dtype "
            "and T; write loops over elements instead of array methods");
}

static bool
item_host_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_const object,
               const char *name, struct ir_cell *out)
{
    const struct ir_question *answer;
    if (!infer_ask(in, instance, ref, object, name, &answer))
        return true;
    if (answer->answer) {
        *out = infer_constant(in, answer->answer);
        return true;
    }
    if (in->reporting && in->ctx->diag->code == SP_OK) {
        if (answer->diag.code == SP_OK)
            return INFER_FAIL(in, instance, ref, UNKNOWN_ATTRIBUTE, "the object", name);
        sp_diag_finish(in->ctx->diag);
        sp_diag_copy(in->ctx->diag, &answer->diag);
        sp_diag_place(in->ctx->diag, infer_src(in, instance, ref));
    }
    return false;
}

/* The field that may be meant, or all of them. */
static bool
item_field_hint(struct infer *in, ir_const class, const char *name)
{
    const struct ir_const_info *info = ir_const_info(in->module, class);
    struct ir_suggest suggest;
    ir_suggest_init(&suggest, name);
    for (uint32_t i = 1; i < info->len; i++)
        ir_suggest_try(&suggest, infer_name(in, info->elems[i]));
    if (suggest.best[0])
        return INFER_HINT(in, "did you mean %s?", suggest.best);
    struct sp_str text;
    sp_str_init(&text);
    for (uint32_t i = 1; i < info->len && i <= 12; i++)
        sp_str_printf(&text, " %s", infer_name(in, info->elems[i]));
    if (text.len)
        INFER_HINT(in, "its fields are%s%s", text.data, info->len > 13 ? " ..." : "");
    sp_str_finish(&text);
    return false;
}

/* For an attribute of a plain tuple: it has none. */
static bool
item_tuple_hint(struct infer *in, const char *name)
{
    static const char *const lists[] = {"append", "extend", "insert", "remove",
                                        "pop",    "sort",   "clear",  "reverse"};
    if (!strcmp(name, "index") || !strcmp(name, "count"))
        return INFER_HINT(in, "write a loop over its elements: for v in t");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!strcmp(name, lists[i]))
            return INFER_HINT(in, "a tuple cannot be changed: make a new one, t + (v,), or use an "
                                  "array");
    return INFER_HINT(in,
                      "the elements of a tuple are t[0], t[1] and so on; a NamedTuple has names");
}

/* What the class of a NamedTuple has beside its fields. */
static bool
item_method(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type,
            const char *name, struct ir_cell *out)
{
    const struct ir_question *answer;
    ir_const class = ir_type_info(in->module, type)->object;
    if (!infer_ask(in, instance, ref, class, name, &answer))
        return true;
    if (answer->answer || answer->diag.code != SP_E_UNKNOWN_ATTRIBUTE)
        return item_host_attr(in, instance, ref, class, name, out);
    INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, infer_text(in, type), name);
    return item_field_hint(in, class, name);
}

/* An attribute of "gpu", "gpu.threadIdx", "math" that arrived as a value. */
static bool
item_namespace_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_const object,
                    const char *name, struct ir_cell *out)
{
    const char *path = ir_const_info(in->module, object)->str;
    const char *full = sp_arena_printf(in->ctx->arena, "%s.%s", path, name);
    ir_const found;
    if (ir_path_const(in->module, full, &found)) {
        *out = infer_constant(in, found);
        return true;
    }
    if (strcmp(path, "numpy") == 0) /* its other names are constants of the host */
        return item_host_attr(in, instance, ref, object, name, out);
    char hint[IR_SUGGEST_HINT];
    INFER_FAIL(in, instance, ref, UNKNOWN_ATTRIBUTE, path, name);
    return ir_suggest_name(path, name, hint, sizeof hint) ? INFER_HINT(in, "%s", hint) : false;
}

static bool
item_range_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell range,
                const char *name, struct ir_cell *out)
{
    static const char *const names[] = {"start", "stop", "step"};
    uint32_t k = 0;
    while (k < 3 && strcmp(names[k], name) != 0)
        k++;
    if (k == 3)
        return INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, "range", name) ||
               INFER_HINT(in, "a range has start, stop and step; len(r) is its length");
    *out = infer_typed(IR_T_INT);
    if (range.constant)
        out->constant = ir_const_info(in->module, range.constant)->elems[k];
    return true;
}

bool
infer_rule_attr(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    const char *name = infer_name(in, ir_insn(instance->func, ref)->imm);
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    ir_const member, value;
    if (a.constant && ir_member_parts(in->module, a.constant, &member, &value) &&
        (!strcmp(name, "name") || !strcmp(name, "value"))) {
        *out = infer_constant(in, *name == 'n' ? member : value);
        return true;
    }
    if (infer_has_field_attr(in, a.type, name))
        return infer_rule_field(in, instance, ref, a.type, ir_insn(instance->func, ref)->imm, out);
    if (ir_type_info(in->module, a.type)->kind == IR_KIND_ARRAY)
        return item_array_attr(in, instance, ref, a.type, name, out);
    const struct ir_const_info *object = infer_object(in, a.type);
    int field = ir_type_field(in->module, a.type, name);
    if (field >= 0) {
        *out = infer_elem(in, a, (uint32_t)field);
        return true;
    }
    if (ir_type_info(in->module, a.type)->kind == IR_KIND_SLICE)
        return infer_rule_slice_attr(in, instance, ref, a, name, out);
    if (object && object->kind == IR_C_NAMESPACE)
        return item_namespace_attr(in, instance, ref, a.constant, name, out);
    if (object && object->kind == IR_C_HOST)
        return item_host_attr(in, instance, ref, a.constant, name, out);
    if (object && object->kind == IR_C_CLASS && object->named)
        return item_host_attr(in, instance, ref, ir_const_info(in->module, object->named)->elems[0],
                              name, out);
    ir_const class = ir_type_info(in->module, a.type)->object;
    if (ir_type_info(in->module, a.type)->kind == IR_KIND_TUPLE && class &&
        ir_const_info(in->module, class)->named)
        return item_method(in, instance, ref, a.type, name, out);
    if (object && object->kind == IR_C_DTYPE)
        return infer_rule_dtype_attr(in, instance, ref, object->scalar, name, out);
    if (ir_type_is_scalar(a.type))
        return infer_rule_number_attr(in, instance, ref, a, name, out);
    if (ir_type_info(in->module, a.type)->kind == IR_KIND_RANGE)
        return item_range_attr(in, instance, ref, a, name, out);
    INFER_FAIL(in, instance, ref, NO_ATTRIBUTE, infer_text(in, a.type), name);
    if (ir_type_info(in->module, a.type)->kind == IR_KIND_TUPLE)
        return class ? item_field_hint(in, class, name) : item_tuple_hint(in, name);
    if (object && object->kind == IR_C_STR && strcmp(name, "format") == 0)
        return INFER_HINT(in, "write an f-string: f'{x:.3f}'");
    if (object && object->kind == IR_C_INTRIN)
        return INFER_HINT(in, "it is a function: write () behind it to call it");
    return object && object->kind == IR_C_STR
               ? INFER_HINT(in, "a kernel computes with numbers: make texts on the host")
               : false;
}

static bool
item_index_fail(struct infer *in, struct ir_instance *instance, ir_ref ref, int64_t index,
                uint32_t n)
{
    INFER_FAIL(in, instance, ref, TUPLE_INDEX, (long long)index, (int)n);
    return n ? INFER_HINT(in, "its indices are 0 to %u, or -%u to -1 from the end", n - 1, n)
             : INFER_HINT(in, "it is empty: it has nothing to read");
}

/* Index `index` of a tuple; a mixed tuple wants a constant one. */
static bool
item_of_tuple(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell tuple,
              struct ir_cell index, struct ir_cell *out)
{
    struct ir_type_info info = *ir_type_info(in->module, tuple.type);
    if (ir_type_info(in->module, index.type)->kind == IR_KIND_SLICE) {
        if (index.constant)
            return infer_tuple_slice(in, instance, ref, tuple, index.constant, out);
        INFER_FAIL(in, instance, ref, NEEDS_CONSTANT, "a bound of a tuple's slice");
        return INFER_HINT(in, "a tuple's length is part of its type");
    }
    if (!ir_type_is_scalar(index.type) || !ir_is_integer(index.type))
        return INFER_FAIL(in, instance, ref, INDEX_TYPE, infer_text(in, index.type)) ||
               INFER_HINT(in, "the elements of a tuple are t[0], t[1] and so on");
    if (index.constant) {
        const struct ir_const_info *constant = ir_const_info(in->module, index.constant);
        bool huge = index.type == IR_T_UINT64 && constant->i < 0;
        int64_t given = huge ? INT64_MAX : constant->i;
        int64_t k = given < 0 ? given + info.n_elems : given;
        if (k < 0 || k >= info.n_elems)
            return item_index_fail(in, instance, ref, given, info.n_elems);
        *out = infer_part(in, instance, ir_operand(instance, ref, 0), (uint32_t)k);
        return true;
    }
    ir_type joined = IR_T_NONE;
    bool same = true;
    for (uint32_t i = 0; i < info.n_elems; i++) {
        joined = ir_type_join(in->module, joined, info.elems[i]);
        same &= info.elems[i] == info.elems[0];
    }
    if (info.n_elems == 0)
        return item_index_fail(in, instance, ref, 0, 0);
    if (!same && infer_demand(in, instance, ir_operand(instance, ref, 1)))
        return in->reporting ? INFER_FAIL(in, instance, ref, NEEDS_CONSTANT, "this index") : true;
    if (!infer_known(joined)) {
        INFER_FAIL(in, instance, ref, NEEDS_CONSTANT, "the index of a tuple of different types");
        return INFER_HINT(in, "write a number, choose with if, or go over the tuple: for v in t");
    }
    *out = infer_typed(joined);
    return true;
}

static bool
item_fail(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type)
{
    const struct ir_const_info *object = infer_object(in, type);
    if (object && object->kind == IR_C_HOST) {
        INFER_FAIL(in, instance, ref, HOST_OBJECT, "an object", object->type_name);
        return INFER_HINT(in,
                          "pass arrays as arguments of the kernel, tables of constants as tuples");
    }
    INFER_FAIL(in, instance, ref, NOT_INDEXABLE, infer_text(in, type));
    return ir_type_is_scalar(type)
               ? INFER_HINT(in, "it is one number; elements of several axes are written a[i, j]")
           : object && object->kind == IR_C_FUNC
               ? INFER_HINT(in, "call it as a function: a kernel does not launch kernels")
           : object && object->kind == IR_C_NAMESPACE ? infer_hint_axes(in, object->str)
                                                      : false;
}

bool
infer_rule_item(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell a = infer_operand(instance, ref, 0), index = infer_operand(instance, ref, 1);
    struct ir_index_plan plan;
    if (!infer_known(a.type) || !infer_known(index.type))
        return true;
    switch ((enum ir_kind)ir_type_info(in->module, a.type)->kind) {
    case IR_KIND_ARRAY:
        if (infer_is_field_index(in, a.type, index))
            return infer_rule_field(in, instance, ref, a.type, index.constant, out);
        if (!infer_index_plan(in, instance, ref, a.type, index.type, &plan))
            return false;
        *out = infer_typed(plan.result);
        return true;
    case IR_KIND_TUPLE: return item_of_tuple(in, instance, ref, a, index, out);
    case IR_KIND_RANGE:
        if (!ir_type_is_scalar(index.type) || !ir_is_integer(index.type))
            return INFER_FAIL(in, instance, ref, INDEX_TYPE, infer_text(in, index.type));
        *out = infer_typed(IR_T_INT);
        return true;
    default: return item_fail(in, instance, ref, a.type);
    }
}

bool
infer_rule_setitem(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    struct ir_cell a = infer_operand(instance, ref, 0), index = infer_operand(instance, ref, 1);
    struct ir_cell value = infer_operand(instance, ref, 2);
    if (!infer_known(a.type) || !infer_known(index.type) || !infer_known(value.type))
        return true;
    struct ir_type_info info = *ir_type_info(in->module, a.type);
    if (info.kind == IR_KIND_TUPLE) {
        INFER_FAIL(in, instance, ref, TUPLE_ASSIGN, "");
        return INFER_HINT(in, "build a new tuple, as in t = (v, t[1])");
    }
    if (info.kind != IR_KIND_ARRAY)
        return item_fail(in, instance, ref, a.type);
    if (infer_is_field_index(in, a.type, index))
        return infer_store_field(in, instance, ref, a.type, index.constant, value.type);
    return infer_store_item(in, instance, ref, a.type, index.type, value.type);
}
