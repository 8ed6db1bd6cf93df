/* lower_kernel: the kernel's own parameters.
 *
 * In: the flat list of argument types and the types that inference gave the slots. Out: a CORE
 * parameter per machine value, scalars as they are laid out and converted at once, arrays as
 * address, extents and strides, tuples as their elements, and which argument each parameter is a
 * part of.
 *
 *     (int32, float32[:])    param i32 "p"   param ptr.global "p.1"   param i64 "p.1.shape0" */
#include "ir/lower.h"

/* A record comes in words of 64 bits. */
static uint32_t
kernel_words(const struct lower *l, ir_type type)
{
    return (ir_storable_size_B(l->py, lower_info(l, type)->dtype) + 7) / 8;
}

uint32_t
lower_kernel_extra(const struct lower *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->typed->n_args; i++)
        n += ir_argtype_words(&l->typed->args[i]);
    return n;
}

/* The kernel's own copy of a record. */
static ir_ref
kernel_record(struct lower *l, ir_type type, uint32_t *at)
{
    uint32_t n = kernel_words(l, type), imm = 3u << 24 | (n ? n * 8 : 8);
    ir_ref slot = lower_emit(l, IR_SLOT, IR_T_PTR_LOCAL, imm, 0, NULL);
    for (uint32_t i = 0; i < n; i++, (*at)++) {
        ir_ref word = lower_emit(l, IR_PARAM, IR_T_I64, *at, 0, NULL);
        ir_ref to = lower_op2(l, IR_PTRADD, slot, lower_int(l, IR_T_I64, i * 8));
        lower_emit(l, IR_STORE, IR_T_NONE, 3, 2, (ir_ref[]){to, word});
    }
    return slot;
}

uint32_t
lower_kernel_types(struct lower *l, ir_type type, uint32_t *arg, ir_type *types,
                   uint32_t *argument_of)
{
    uint32_t at = (*arg)++, n = 0;
    const struct ir_argtype *given = &l->typed->args[at];
    if (given->kind == IR_ARG_TUPLE) {
        const struct ir_type_info *info = lower_info(l, type);
        for (uint32_t i = 0; i < info->n_elems; i++)
            n += lower_kernel_types(l, info->elems[i], arg, types + n, argument_of + n);
        return n;
    }
    if (given->kind == IR_ARG_SCALAR && given->elem) {
        for (; n < kernel_words(l, type); n++) {
            types[n] = IR_T_I64;
            argument_of[n] = at;
        }
        return n;
    }
    n = lower_part_types(l, type, types);
    if (given->kind == IR_ARG_SCALAR)
        types[0] = ir_scalar_row(given->dtype)->machine;
    for (uint32_t i = 0; i < n; i++)
        argument_of[i] = at;
    return n;
}

void
lower_kernel_parts(struct lower *l, ir_type type, uint32_t *arg, uint32_t *at, ir_ref *parts)
{
    const struct ir_argtype *given = &l->typed->args[(*arg)++];
    const struct ir_type_info *info = lower_info(l, type);
    if (given->kind == IR_ARG_TUPLE) {
        for (uint32_t i = 0; i < info->n_elems; i++) {
            lower_kernel_parts(l, info->elems[i], arg, at, parts);
            parts += lower_n_parts(l, info->elems[i]);
        }
        return;
    }
    if (given->kind == IR_ARG_SCALAR && given->elem) {
        parts[0] = kernel_record(l, type, at);
        return;
    }
    uint32_t n = lower_n_parts(l, type);
    for (uint32_t i = 0; i < n; i++, (*at)++) {
        parts[i] = lower_emit(l, IR_PARAM, l->func->params[*at].type, *at, 0, NULL);
        if (info->kind == IR_KIND_ARRAY && i >= 1 && i <= info->rank)
            lower_mark_nonneg(l, parts[i]);
    }
    if (given->kind == IR_ARG_SCALAR)
        parts[0] = lower_convert_scalar(l, parts[0], given->dtype, type);
}
