/* module: making, forking and ending modules; interning of types and constants.
 *
 * A type or constant is interned by a key of bytes: its kind and exactly the fields that this kind
 * uses, written one after the other, so that neither padding nor unused fields split equal things.
 * Tables live on the module's arena and only grow: a row's address stays good although a later row
 * may move the table, for the old memory is kept and rows never change. A fork copies the tables
 * (and shares what they point to), so numbers mean the same in both modules. */
#include "ir/ir.h"

#include <assert.h>
#include <string.h>

struct ir_module *
ir_module_new(struct sp_arena *arena, enum ir_phase phase)
{
    struct ir_module *module = SP_NEW(arena, struct ir_module);
    module->arena = arena;
    module->phase = phase;
    sp_map_init(&module->type_map);
    sp_map_init(&module->const_map);
    sp_vec_reserve(arena, &module->types, IR_N_FIXED_TYPES + 16);
    for (ir_type t = 0; t < IR_N_FIXED_TYPES; t++) {
        struct ir_type_info info = {.dtype = t, .n_leaves = 1};
        if (t == IR_T_NONE)
            info.kind = IR_KIND_NONE;
        else if (ir_type_is_scalar(t))
            info.kind = IR_KIND_SCALAR;
        else if (t == IR_T_MIXED)
            info.kind = IR_KIND_MIXED;
        else if (t == IR_T_CONFLICT)
            info.kind = IR_KIND_CONFLICT;
        else
            info.kind = IR_KIND_MACHINE;
        sp_vec_push(arena, &module->types, info);
    }
    sp_vec_push(arena, &module->consts, (struct ir_const_info){.kind = IR_C_NONE_SLOT});
    return module;
}

void
ir_module_finish(struct ir_module *module)
{
    sp_map_finish(&module->type_map);
    sp_map_finish(&module->const_map);
    for (uint32_t i = 0; i < module->funcs.len; i++) {
        struct ir_func *func = module->funcs.data[i];
        if (func->module != module)
            continue; /* of the module that this one was forked from */
        for (uint32_t k = 0; k < func->errors.len; k++)
            sp_diag_finish(&func->errors.data[k]);
        func->errors.len = 0;
    }
}

struct ir_module *
ir_module_fork(const struct ir_module *module, struct sp_arena *arena)
{
    struct ir_module *fork = SP_NEW(arena, struct ir_module);
    *fork = *module;
    fork->arena = arena;
    sp_map_copy(&fork->type_map, &module->type_map);
    sp_map_copy(&fork->const_map, &module->const_map);
#define COPY_VEC(field)                                                                            \
    if (module->field.len)                                                                         \
        fork->field.data = sp_arena_copy(arena, module->field.data,                                \
                                         module->field.len * sizeof *module->field.data);          \
    fork->field.cap = module->field.len
    COPY_VEC(types);
    COPY_VEC(consts);
    COPY_VEC(funcs);
    COPY_VEC(guards);
    COPY_VEC(sites);
    COPY_VEC(statics);
#undef COPY_VEC
    return fork;
}

/* A key under construction; most fit the buffer. */
struct key {
    unsigned char *bytes;
    size_t len, cap;
    unsigned char buffer[256];
};

static void
key_add(struct key *key, const void *bytes, size_t size_B)
{
    if (key->len + size_B > key->cap) {
        size_t cap = (key->len + size_B) * 2;
        unsigned char *grown = sp_alloc(cap);
        memcpy(grown, key->bytes, key->len);
        if (key->bytes != key->buffer)
            free(key->bytes);
        key->bytes = grown;
        key->cap = cap;
    }
    if (size_B)
        memcpy(key->bytes + key->len, bytes, size_B);
    key->len += size_B;
}

static void
key_start(struct key *key, uint8_t kind)
{
    key->bytes = key->buffer;
    key->len = 0;
    key->cap = sizeof key->buffer;
    key_add(key, &kind, 1);
}

static void
key_end(struct key *key)
{
    if (key->bytes != key->buffer)
        free(key->bytes);
}

/* ---- Types ---- */

const struct ir_type_info *
ir_type_info(const struct ir_module *module, ir_type type)
{
    assert(type < module->types.len && "a type of another module");
    return &module->types.data[type];
}

static uint32_t
type_count_leaves(const struct ir_module *module, const struct ir_type_info *row)
{
    uint64_t n = row->n_elems ? 0 : 1;
    for (uint32_t i = 0; i < row->n_elems; i++)
        n += ir_type_info(module, row->elems[i])->n_leaves;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

ir_type
ir_type_intern(struct ir_module *module, const struct ir_type_info *info)
{
    /* Only what the kind uses is kept, so a row read back is the same for every way to it. */
    struct ir_type_info row = {.kind = info->kind};
    struct key key;
    key_start(&key, info->kind);
    switch ((enum ir_kind)info->kind) {
    case IR_KIND_NONE: return IR_T_NONE;
    case IR_KIND_MIXED: return IR_T_MIXED;
    case IR_KIND_CONFLICT: return IR_T_CONFLICT;
    case IR_KIND_SCALAR:
    case IR_KIND_MACHINE: return info->dtype;
    case IR_KIND_ITER:
        row.iter = info->iter;
        row.position = info->position;
        row.object = info->object;
        key_add(&key, &row.iter, sizeof row.iter);
        key_add(&key, &row.position, sizeof row.position);
        key_add(&key, &row.object, sizeof row.object);
        row.n_elems = info->n_elems;
        row.elems = info->elems;
        key_add(&key, info->elems, info->n_elems * sizeof *info->elems);
        break;
    case IR_KIND_RECIPE:
    case IR_KIND_TUPLE:
        row.object = info->object;
        key_add(&key, &row.object, sizeof row.object);
        row.n_elems = info->n_elems;
        row.elems = info->elems;
        key_add(&key, info->elems, info->n_elems * sizeof *info->elems);
        break;
    case IR_KIND_RECORD:
        row.size_B = info->size_B;
        row.align_log2 = info->align_log2;
        row.n_elems = info->n_elems;
        row.elems = info->elems;
        row.names = info->names;
        row.offsets = info->offsets;
        key_add(&key, &row.size_B, sizeof row.size_B);
        key_add(&key, &row.align_log2, sizeof row.align_log2);
        key_add(&key, info->elems, info->n_elems * sizeof *info->elems);
        key_add(&key, info->names, info->n_elems * sizeof *info->names);
        key_add(&key, info->offsets, info->n_elems * sizeof *info->offsets);
        break;
    case IR_KIND_INNER:
        row.object = info->object;
        row.size_B = info->size_B;
        row.align_log2 = info->align_log2;
        row.n_elems = 1;
        row.elems = info->elems;
        key_add(&key, &row.object, sizeof row.object);
        key_add(&key, info->elems, sizeof *info->elems);
        break;
    case IR_KIND_SLICE:
        row.n_elems = info->n_elems;
        row.elems = info->elems;
        row.step_sign = info->step_sign;
        key_add(&key, info->elems, info->n_elems * sizeof *info->elems);
        key_add(&key, &row.step_sign, sizeof row.step_sign);
        break;
    case IR_KIND_ARRAY: {
        assert(ir_is_storable(module, info->dtype) && info->rank <= IR_MAX_RANK && "no such array");
        row.dtype = info->dtype;
        row.rank = info->rank;
        row.layout = info->layout;
        row.space = info->space;
        row.align_log2 = info->align_log2;
        row.read_only = info->read_only;
        row.object = info->object;
        uint8_t bytes[] = {row.rank, row.layout, row.space, row.align_log2, row.read_only};
        key_add(&key, &row.dtype, sizeof row.dtype);
        key_add(&key, bytes, sizeof bytes);
        key_add(&key, &row.object, sizeof row.object);
        break;
    }
    case IR_KIND_CLOSURE:
        row.object = info->object;
        row.n_elems = info->n_elems;
        row.elems = info->elems;
        row.consts = info->consts;
        key_add(&key, &row.object, sizeof row.object);
        key_add(&key, info->elems, info->n_elems * sizeof *info->elems);
        key_add(&key, info->consts, info->n_elems * sizeof *info->consts);
        break;
    case IR_KIND_CELL:
    case IR_KIND_OBJECT:
        row.object = info->object;
        key_add(&key, &row.object, sizeof row.object);
        break;
    case IR_KIND_RANGE:
        row.step_sign = info->step_sign;
        row.unit_step = info->unit_step;
        key_add(&key, &row.step_sign, sizeof row.step_sign);
        key_add(&key, &row.unit_step, sizeof row.unit_step);
        break;
    }
    bool is_new;
    uint32_t *slot = sp_map_intern(&module->type_map, module->arena, key.bytes, key.len, &is_new);
    if (is_new) {
        *slot = module->types.len;
        row.n_leaves = type_count_leaves(module, &row);
        if (row.n_elems)
            row.elems = sp_arena_copy(module->arena, info->elems, row.n_elems * sizeof *row.elems);
        else
            row.elems = NULL;
        if (row.n_elems && row.names) {
            row.names = sp_arena_copy(module->arena, info->names, row.n_elems * sizeof *row.names);
            row.offsets =
                sp_arena_copy(module->arena, info->offsets, row.n_elems * sizeof *row.offsets);
        }
        if (row.consts)
            row.consts =
                sp_arena_copy(module->arena, info->consts, row.n_elems * sizeof *row.consts);
        sp_vec_push(module->arena, &module->types, row);
    }
    ir_type type = *slot;
    key_end(&key);
    return type;
}

ir_type
ir_type_tuple(struct ir_module *module, uint32_t n, const ir_type *elems)
{
    return ir_type_intern(
        module, &(struct ir_type_info){.kind = IR_KIND_TUPLE, .n_elems = n, .elems = elems});
}

ir_type
ir_type_object(struct ir_module *module, ir_const object)
{
    return ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_OBJECT, .object = object});
}

ir_type
ir_type_array(struct ir_module *module, ir_type dtype, uint32_t rank, enum ir_layout layout)
{
    return ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_ARRAY,
                                                         .dtype = dtype,
                                                         .rank = (uint8_t)rank,
                                                         .layout = (uint8_t)layout});
}

/* ---- Constants ---- */

const struct ir_const_info *
ir_const_info(const struct ir_module *module, ir_const c)
{
    assert(c < module->consts.len && "a constant of another module");
    return &module->consts.data[c];
}

size_t
ir_const_array_size(const struct ir_module *module, const struct ir_const_info *array)
{
    const struct ir_const_info *shape = ir_const_info(module, array->named);
    size_t size_B = ir_storable_size_B(module, array->scalar);
    for (uint32_t k = 0; k < shape->len; k++)
        size_B *= (size_t)ir_const_info(module, shape->elems[k])->i;
    return size_B;
}

/* Copies what the row points to. */
static void
const_keep(struct sp_arena *arena, struct ir_const_info *row, const char *text, size_t text_len,
           size_t bytes_B)
{
    switch ((enum ir_const_kind)row->kind) {
    case IR_C_STR:
    case IR_C_BIG:
    case IR_C_EXCEPTION:
    case IR_C_NAMESPACE: row->str = sp_arena_strndup(arena, text_len ? text : "", text_len); break;
    case IR_C_HOST: row->type_name = sp_arena_strndup(arena, text, text_len); break;
    case IR_C_ARRAY:
        row->bytes = sp_arena_copy(arena, row->bytes, bytes_B);
        row->array_name = sp_arena_strdup(arena, row->array_name);
        break;
    case IR_C_TUPLE:
    case IR_C_CLASS:
    case IR_C_PARTIAL:
    case IR_C_SLICE:
        row->elems =
            row->len ? sp_arena_copy(arena, row->elems, row->len * sizeof *row->elems) : NULL;
        break;
    default: break;
    }
}

/* Which member of an enum the constant is. */
static void
const_keep_member(struct key *key, const struct ir_const_info *info, struct ir_const_info *row)
{
    row->named = info->named;
    row->scalar = info->named ? info->scalar : 0;
    key_add(key, &row->named, sizeof row->named);
    key_add(key, &row->scalar, sizeof row->scalar);
}

ir_const
ir_const_intern(struct ir_module *module, const struct ir_const_info *info)
{
    struct ir_const_info row = {.kind = info->kind};
    size_t text_len = 0, bytes_B = 0;
    struct key key;
    key_start(&key, info->kind);
    switch ((enum ir_const_kind)info->kind) {
    case IR_C_NONE_SLOT: return 0;
    case IR_C_TYPED:
        row.scalar = info->scalar;
        key_add(&key, &row.scalar, sizeof row.scalar);
        row.u = info->u;
        key_add(&key, &row.u, sizeof row.u);
        break;
    case IR_C_INT:
    case IR_C_UINT:
    case IR_C_FLOAT:
    case IR_C_BOOL:
        const_keep_member(&key, info, &row);
        row.u = info->u; /* the bits of i and f too */
        key_add(&key, &row.u, sizeof row.u);
        break;
    case IR_C_FUNC:
    case IR_C_INTRIN:
        row.u = info->u;
        key_add(&key, &row.u, sizeof row.u);
        break;
    case IR_C_NONE:
    case IR_C_ELLIPSIS: break;
    case IR_C_DTYPE:
        row.scalar = info->scalar;
        key_add(&key, &row.scalar, sizeof row.scalar);
        break;
    case IR_C_STR:
        const_keep_member(&key, info, &row);
        row.len = info->len;
        row.str = info->str;
        text_len = info->len;
        break;
    case IR_C_EXCEPTION:
        row.len = info->len;
        row.str = info->str;
        key_add(&key, &row.len, sizeof row.len);
        text_len = strlen(info->str);
        break;
    case IR_C_BIG:
    case IR_C_NAMESPACE:
        row.str = info->str;
        text_len = strlen(info->str);
        break;
    case IR_C_TUPLE:
    case IR_C_CLASS:
    case IR_C_PARTIAL:
    case IR_C_SLICE:
        row.len = info->len;
        row.named = info->named;
        row.scalar = info->kind == IR_C_CLASS ? info->scalar : 0;
        key_add(&key, &row.scalar, sizeof row.scalar);
        key_add(&key, &row.named, sizeof row.named);
        row.elems = info->elems;
        key_add(&key, info->elems, info->len * sizeof *info->elems);
        break;
    case IR_C_ARRAY:
        row.scalar = info->scalar;
        row.named = info->named;
        row.len = info->len;
        row.bytes = info->bytes;
        row.array_name = info->array_name;
        bytes_B = ir_const_array_size(module, info);
        key_add(&key, &row.scalar, sizeof row.scalar);
        key_add(&key, &row.named, sizeof row.named);
        key_add(&key, &row.len, sizeof row.len);
        key_add(&key, row.bytes, bytes_B);
        key_add(&key, row.array_name, strlen(row.array_name));
        break;
    case IR_C_HOST:
        row.len = info->len;
        row.host = info->host;
        row.type_name = info->type_name;
        key_add(&key, &row.host, sizeof row.host);
        text_len = strlen(info->type_name);
        break;
    }
    const char *text = info->kind == IR_C_HOST ? row.type_name : row.str;
    if (text_len)
        key_add(&key, text, text_len);
    bool is_new;
    uint32_t *slot = sp_map_intern(&module->const_map, module->arena, key.bytes, key.len, &is_new);
    if (is_new) {
        *slot = module->consts.len;
        const_keep(module->arena, &row, text, text_len, bytes_B);
        sp_vec_push(module->arena, &module->consts, row);
    }
    ir_const c = *slot;
    key_end(&key);
    return c;
}

ir_const
ir_const_int(struct ir_module *module, int64_t value)
{
    return ir_const_intern(module, &(struct ir_const_info){.kind = IR_C_INT, .i = value});
}

ir_const
ir_const_uint(struct ir_module *module, uint64_t value)
{
    uint8_t kind = value > INT64_MAX ? IR_C_UINT : IR_C_INT;
    return ir_const_intern(module, &(struct ir_const_info){.kind = kind, .u = value});
}

ir_const
ir_const_float(struct ir_module *module, double value)
{
    return ir_const_intern(module, &(struct ir_const_info){.kind = IR_C_FLOAT, .f = value});
}

ir_const
ir_const_bool(struct ir_module *module, bool value)
{
    return ir_const_intern(module, &(struct ir_const_info){.kind = IR_C_BOOL, .i = value});
}

ir_const
ir_const_str(struct ir_module *module, const char *text, size_t len)
{
    return ir_const_intern(
        module, &(struct ir_const_info){.kind = IR_C_STR, .len = (uint32_t)len, .str = text});
}

ir_const
ir_const_member(struct ir_module *module, ir_const value, const char *name, bool is_plain)
{
    struct ir_const_info info = *ir_const_info(module, value);
    if (!ir_const_may_be_member(&info))
        return value;
    info.named = ir_const_str(module, name, strlen(name));
    info.scalar = is_plain;
    return ir_const_intern(module, &info);
}

bool
ir_member_parts(struct ir_module *module, ir_const c, ir_const *name_out, ir_const *value_out)
{
    struct ir_const_info info = *ir_const_info(module, c);
    if (!ir_const_may_be_member(&info) || !info.named)
        return false;
    const char *name = strrchr(ir_const_info(module, info.named)->str, '.') + 1;
    *name_out = ir_const_str(module, name, strlen(name));
    info.named = 0;
    *value_out = ir_const_intern(module, &info);
    return true;
}

ir_const
ir_const_tuple(struct ir_module *module, uint32_t n, const ir_const *elems)
{
    return ir_const_intern(module,
                           &(struct ir_const_info){.kind = IR_C_TUPLE, .len = n, .elems = elems});
}

ir_const
ir_const_simple(struct ir_module *module, enum ir_const_kind kind, uint64_t u)
{
    struct ir_const_info info = {.kind = (uint8_t)kind};
    if (kind == IR_C_DTYPE)
        info.scalar = (ir_type)u;
    else
        info.u = u;
    return ir_const_intern(module, &info);
}
