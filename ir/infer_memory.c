/* infer_memory: typing of arrays that a kernel makes: shared, local, constant.
 *
 * In: calls of rule MEMORY with the cells of their arguments. Out: an array type of the call's
 * space, contiguous, with its extents where they are constants; those of shared.array and
 * local.array must be. A shape may name parameters of the function: their values are then demanded,
 * and the function gets an instance per value. What an extent or alignment may be is checked here,
 * so lowering can rely on it. */
#include "ir/infer_t.h"

/* The cell of parameter k of the call; type NONE: it is not given. */
static struct ir_cell
memory_param(const struct intrin_call *call, uint32_t k, ir_ref *ref_out)
{
    const struct ir_insn *insn = ir_insn(call->instance->func, call->ref);
    uint32_t operand = ir_intrin_operand(call->in->module, insn, call->id, k);
    *ref_out = operand ? ir_arg(call->instance->func, call->ref, operand) : 0;
    return operand ? call->args[operand - 1] : (struct ir_cell){0};
}

/* shape and dtype have no defaults. */
static bool
memory_check_given(struct intrin_call *call)
{
    ir_ref ref;
    for (uint32_t k = 0; k < 2; k++) {
        memory_param(call, k, &ref);
        if (!ref)
            return CALL_ERROR(call, ARGUMENT_MISSING, ir_intrin_param(call->id, k), call->name) ||
                   CALL_HINT(call, "%s", call->row->doc);
    }
    return true;
}

static bool
memory_is_int(struct ir_cell cell)
{
    return ir_type_is_scalar(cell.type) && ir_is_integer(cell.type) && cell.type != IR_T_BOOL;
}

static bool
memory_bad_shape(struct intrin_call *call, ir_type type)
{
    CALL_ERROR(call, ARGUMENT_TYPE, "'shape'", call->name, infer_text(call->in, type));
    if (ir_type_is_scalar(type) && ir_is_float(type))
        return CALL_HINT(call, "an extent is an integer: write // for /, or int(...)");
    return CALL_HINT(call, "a shape is an integer, or a tuple of integers: (16, 17)");
}

/* A value that is not known when the kernel is compiled. */
static bool
memory_not_constant(struct intrin_call *call)
{
    CALL_ERROR(call, NEEDS_CONSTANT,
               sp_arena_printf(call->in->ctx->arena, "the shape of %s", call->name));
    if (call->id == IR_INTRIN_LOCAL_ARRAY)
        return CALL_HINT(call, "write the largest size that is needed, or a global constant; a "
                               "kernel's arguments are known only when it runs");
    return CALL_HINT(call,
                     "write a number or a global constant, or gpu.shared.dynamic(shape, dtype) "
                     "and give the bytes at the launch: "
                     "kernel[grid, block, stream, shared_bytes]");
}

/* The constant that `ref` is, also behind a cast, which makes typed numbers of run time
 * otherwise. */
static ir_const
memory_constant(struct infer *in, const struct ir_instance *instance, ir_ref ref,
                struct ir_cell cell)
{
    if (cell.constant || !ref || ir_insn(instance->func, ref)->op != IR_CALL ||
        ir_insn(instance->func, ref)->n_args != 2)
        return cell.constant;
    const struct ir_const_info *callee = infer_object(in, infer_operand(instance, ref, 0).type);
    struct ir_cell from = infer_operand(instance, ref, 1);
    if (!callee || callee->kind != IR_C_DTYPE || from.type != IR_T_INT || !from.constant)
        return 0;
    unsigned bits = ir_scalar_row(callee->scalar)->bits - !ir_is_unsigned(callee->scalar);
    int64_t value = ir_const_info(in->module, from.constant)->i;
    return value >= 0 && (bits >= 63 || value < (int64_t)1 << bits) ? from.constant : 0;
}

/* The extents of the call: how many, and the constants of those that are known (else 0). */
struct memory_shape {
    uint32_t rank;
    ir_const extents[IR_MAX_RANK];
    bool is_number; /* not written as a tuple */
};

/* False: an error, or (`*wait_out`) constants that are demanded now. */
static bool
memory_shape(struct intrin_call *call, bool constant, struct memory_shape *out, bool *wait_out)
{
    struct infer *in = call->in;
    ir_ref ref;
    struct ir_cell shape = memory_param(call, 0, &ref);
    struct ir_type_info info = *ir_type_info(in->module, shape.type);
    out->is_number = info.kind != IR_KIND_TUPLE;
    out->rank = out->is_number ? 1 : info.n_elems;
    *wait_out = false;
    if (out->rank > IR_MAX_RANK)
        return CALL_ERROR(call, VIEW_RANK, IR_MAX_RANK);
    bool missing = false;
    for (uint32_t k = 0; k < out->rank; k++) {
        struct ir_cell cell = out->is_number ? shape : infer_part(in, call->instance, ref, k);
        if (!memory_is_int(cell))
            return memory_bad_shape(call, cell.type);
        enum ir_op op = (enum ir_op)ir_insn(call->instance->func, ref)->op;
        bool made = !out->is_number && (op == IR_TUPLE || op == IR_LIST);
        ir_ref from = made ? ir_arg(call->instance->func, ref, k) : ref;
        out->extents[k] = memory_constant(in, call->instance, from, cell);
        if (out->extents[k] || !constant)
            continue;
        missing = true;
        *wait_out |= infer_demand(in, call->instance, from);
    }
    *wait_out &= !in->reporting;
    return !missing || (*wait_out ? false : memory_not_constant(call));
}

/* The value of an extent that is a constant; false: it is none that an array can have. */
static bool
memory_extent(const struct infer *in, ir_const c, int64_t *value_out)
{
    const struct ir_const_info *info = ir_const_info(in->module, c);
    *value_out = info->i;
    bool huge =
        (info->kind == IR_C_UINT || (info->kind == IR_C_TYPED && ir_is_unsigned(info->scalar))) &&
        info->i < 0;
    return !huge && info->i >= 0;
}

static const char *
memory_shape_text(struct intrin_call *call, const struct memory_shape *shape)
{
    struct sp_str text;
    sp_str_init(&text);
    for (uint32_t k = 0; k < shape->rank; k++) {
        sp_str_add(&text, k ? ", " : "");
        if (shape->extents[k])
            ir_const_print(call->in->module, shape->extents[k], &text);
        else
            sp_str_add_char(&text, '?');
    }
    const char *copy = shape->is_number ? sp_arena_strdup(call->in->ctx->arena, text.data)
                                        : sp_arena_printf(call->in->ctx->arena, "(%s%s)", text.data,
                                                          shape->rank == 1 ? "," : "");
    sp_str_finish(&text);
    return copy;
}

/* Checks extents and size. `dynamic_out`: it is numba's way to say "all that the launch adds". */
static bool
memory_check_shape(struct intrin_call *call, const struct memory_shape *shape, ir_type dtype,
                   bool *dynamic_out)
{
    bool shared = call->id == IR_INTRIN_SHARED_ARRAY;
    bool local = call->id == IR_INTRIN_LOCAL_ARRAY;
    uint64_t limit_B = local ? SP_MAX_LOCAL_B : INFER_MAX_SHARED_B;
    uint64_t size_B = ir_storable_size_B(call->in->module, dtype);
    bool empty = false;
    for (uint32_t k = 0; k < shape->rank; k++) {
        int64_t extent = 0;
        if (shape->extents[k] && !memory_extent(call->in, shape->extents[k], &extent)) {
            CALL_ERROR(call, ARRAY_SHAPE, memory_shape_text(call, shape));
            return CALL_HINT(call, "an extent is an integer of 0 or more");
        }
        empty |= shape->extents[k] && extent == 0;
        size_B = extent && size_B > (UINT64_MAX >> 1) / (uint64_t)extent
                     ? UINT64_MAX >> 1
                     : size_B * (uint64_t)(extent ? extent : 1);
    }
    *dynamic_out = shared && empty && shape->rank == 1;
    if (shared && empty && !*dynamic_out) {
        CALL_ERROR(call, ARRAY_SHAPE, memory_shape_text(call, shape));
        return CALL_HINT(call,
                         "gpu.shared.dynamic(shape, dtype) makes arrays of several axes in the "
                         "memory that the launch adds");
    }
    if (!empty && size_B > limit_B) {
        const char *what = sp_arena_printf(call->in->ctx->arena, "%s of shape %s", call->name,
                                           memory_shape_text(call, shape));
        CALL_ERROR(call, ARRAY_SIZE, what, (long long)size_B, (long long)limit_B);
        return CALL_HINT(call, "%s",
                         local ? "use an array that is passed to the kernel, with a part for each "
                                 "thread"
                               : "a block has a few hundred kilobytes at most: use smaller tiles, "
                                 "or an array that is passed to the kernel");
    }
    return true;
}

static bool
memory_dtype(struct intrin_call *call, ir_type *dtype_out)
{
    ir_ref ref;
    struct ir_cell cell = memory_param(call, 1, &ref);
    *dtype_out = infer_object(call->in, cell.type) ? ir_dtype_of(call->in->module, cell.constant)
                                                   : (ir_type)IR_T_NONE;
    if (*dtype_out != IR_T_NONE)
        return true;
    CALL_ERROR(call, ARGUMENT_TYPE, "'dtype'", call->name, infer_text(call->in, cell.type));
    return CALL_HINT(call, "give a number type: gpu.float32, np.int32, float, int, bool or "
                           "\"float32\"");
}

static bool
memory_check_alignment(struct intrin_call *call, bool *wait_out)
{
    ir_ref ref;
    struct ir_cell cell = memory_param(call, 2, &ref);
    const struct ir_const_info *object = infer_object(call->in, cell.type);
    *wait_out = false;
    if (!ref || (object && object->kind == IR_C_NONE))
        return true;
    if (!memory_is_int(cell)) {
        CALL_ERROR(call, ARGUMENT_TYPE, "'alignment'", call->name, infer_text(call->in, cell.type));
        return CALL_HINT(call, "an alignment is a number of bytes: 1, 2, 4, ... 4096");
    }
    if (!cell.constant) {
        *wait_out = infer_demand(call->in, call->instance, ref) && !call->in->reporting;
        return *wait_out ? false
                         : CALL_ERROR(call, NEEDS_CONSTANT,
                                      sp_arena_printf(call->in->ctx->arena, "the alignment of %s",
                                                      call->name));
    }
    int64_t value = ir_const_info(call->in->module, cell.constant)->i;
    if (value >= 1 && value <= 1 << IR_MAX_ALIGN_LOG2 && !(value & (value - 1)))
        return true;
    const char *text = sp_arena_printf(call->in->ctx->arena, "%lld", (long long)value);
    CALL_ERROR(call, ARGUMENT_TYPE, "'alignment'", call->name, text);
    return CALL_HINT(call, "an alignment is a power of two from 1 to 4096");
}

/* The array type; its extents are part of it where all are constants. */
static ir_type
memory_type(struct infer *in, enum ir_space space, ir_type dtype, const struct memory_shape *shape)
{
    ir_const extents[IR_MAX_RANK];
    bool known = true;
    for (uint32_t k = 0; k < shape->rank; k++) {
        known &= shape->extents[k] != 0;
        extents[k] =
            known ? ir_const_int(in->module, ir_const_info(in->module, shape->extents[k])->i) : 0;
    }
    return ir_type_intern(
        in->module, &(struct ir_type_info){
                        .kind = IR_KIND_ARRAY,
                        .dtype = dtype,
                        .rank = (uint8_t)shape->rank,
                        .layout = IR_LAYOUT_C,
                        .space = (uint8_t)space,
                        .align_log2 = (uint8_t)ir_storable_align(in->module, dtype),
                        .object = known ? ir_const_tuple(in->module, shape->rank, extents) : 0});
}

/* const.array_like(a) is a: what the program has is constant data wherever it is used. */
static bool
memory_array_like(struct intrin_call *call, struct ir_cell *out)
{
    ir_ref ref;
    struct ir_cell array = memory_param(call, 0, &ref);
    if (!ref)
        return CALL_ERROR(call, ARGUMENT_MISSING, "ary", call->name) ||
               CALL_HINT(call, "%s", call->row->doc);
    const struct ir_type_info *info = ir_type_info(call->in->module, array.type);
    if (info->kind == IR_KIND_ARRAY && info->space == IR_SPACE_CONST) {
        *out = array;
        return true;
    }
    CALL_ERROR(call, ARGUMENT_TYPE, "'ary'", call->name, infer_text(call->in, array.type));
    return CALL_HINT(call, "give a NumPy array that is a global or closure variable of the kernel");
}

bool
infer_rule_memory(struct intrin_call *call, struct ir_cell *out)
{
    if (call->id == IR_INTRIN_CONST_ARRAY)
        return memory_array_like(call, out);
    bool constant = call->id != IR_INTRIN_SHARED_DYNAMIC, wait = false, dynamic = false;
    struct memory_shape shape;
    ir_type dtype;
    if (!memory_check_given(call) || !memory_dtype(call, &dtype))
        return false;
    if (!memory_shape(call, constant, &shape, &wait))
        return wait;
    if ((constant && !memory_check_alignment(call, &wait)) ||
        !memory_check_shape(call, &shape, dtype, &dynamic))
        return wait;
    if (dynamic)
        shape.extents[0] = 0;
    enum ir_space space = call->id == IR_INTRIN_LOCAL_ARRAY ? IR_SPACE_LOCAL : IR_SPACE_SHARED;
    *out = infer_typed(memory_type(call->in, space, dtype, &shape));
    return true;
}
