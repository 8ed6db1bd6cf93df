/* declared: launches of kernels that were given signatures.
 *
 * The first declared signature that all values fit is taken; a value fits if it has the same dtype
 * and rank and at least the layout, or is a number that the declared type holds as Python would
 * convert it (int to float, never float to int; ints must be in range). The values then take the
 * declared layout. */
#include "pymod/pm.h"

#include <string.h>

/* Of a float. */
static double
declared_as_double(const struct pm_arg *arg)
{
    double number;
    float single;
    ir_type machine = ir_scalar_row(arg->type.dtype)->machine;
    switch (arg->type.dtype) {
    case IR_T_FLOAT16:
    case IR_T_BFLOAT16: return ir_half_value(machine, (uint16_t)arg->bits);
    case IR_T_FLOAT32: memcpy(&single, &arg->bits, sizeof single); return single;
    case IR_T_FLOAT: memcpy(&number, &arg->bits, sizeof number); return number;
    default: return 0;
    }
}

static bool
declared_int_fits(const struct pm_arg *arg, ir_type to)
{
    const struct ir_scalar_row *row = ir_scalar_row(to);
    bool is_unsigned = arg->type.dtype == IR_T_UINT64;
    int64_t value = (int64_t)arg->bits;
    if (row->class == IR_CLASS_UINT)
        return (is_unsigned || value >= 0) && (row->bits == 64 || arg->bits >> row->bits == 0);
    if (is_unsigned && value < 0)
        return false;
    return row->bits == 64 ||
           (value >= -(1ll << (row->bits - 1)) && value < 1ll << (row->bits - 1));
}

static bool
declared_fits(const struct pm_arg *arg, const struct ir_argtype *to)
{
    if (arg->type.kind != to->kind)
        return false;
    if (to->kind == IR_ARG_ARRAY)
        return arg->type.dtype == to->dtype && arg->type.rank == to->rank &&
               (arg->type.layout == to->layout || to->layout == IR_LAYOUT_ANY);
    if (to->kind == IR_ARG_TUPLE)
        return arg->type.n_elems == to->n_elems;
    if (to->kind == IR_ARG_OBJECT)
        return arg->type.host == to->host;
    enum ir_class from_class = ir_scalar_row(arg->type.dtype)->class;
    enum ir_class to_class = ir_scalar_row(to->dtype)->class;
    if (to_class == IR_CLASS_FLOAT)
        return true;
    if (from_class == IR_CLASS_FLOAT)
        return false;
    return to_class == IR_CLASS_BOOL ? from_class == IR_CLASS_BOOL
                                     : declared_int_fits(arg, to->dtype);
}

static void
declared_convert(struct pm_arg *arg, const struct ir_argtype *to)
{
    if (to->kind == IR_ARG_SCALAR && ir_scalar_row(to->dtype)->class == IR_CLASS_FLOAT) {
        if (ir_scalar_row(arg->type.dtype)->class == IR_CLASS_FLOAT)
            arg->bits = pm_float_bits(to->dtype, declared_as_double(arg));
        else
            arg->bits = pm_float_bits_of_int(to->dtype, arg->bits, arg->type.dtype == IR_T_UINT64);
    }
    const void *host = arg->type.host;
    arg->type = *to;
    arg->type.host = host;
}

void
pm_gather_extra(struct sp_arena *arena, uint32_t n_params, struct ir_argtype **args,
                uint32_t *n_args)
{
    uint32_t first = 0, n = *n_args;
    for (uint32_t i = 0; i < n_params && first < n; i++)
        first = ir_argtype_end(*args, first);
    if (ir_argtypes_count(*args, n) < n_params)
        return; /* too few: the caller finds out */
    struct ir_argtype *list = SP_NEW_N(arena, struct ir_argtype, n + 1);
    memcpy(list, *args, first * sizeof *list);
    list[first] = (struct ir_argtype){
        .kind = IR_ARG_TUPLE, .n_elems = (uint16_t)ir_argtypes_count(*args + first, n - first)};
    memcpy(list + first + 1, *args + first, (n - first) * sizeof *list);
    *args = list;
    *n_args = n + 1;
}

static bool
declared_fail(struct pm_kernel *kernel, const struct pm_arg *args, uint32_t n_args)
{
    struct sp_str text;
    sp_str_init(&text);
    struct ir_argtype types[64];
    uint32_t n = n_args < 64 ? n_args : 64;
    for (uint32_t i = 0; i < n; i++)
        types[i] = args[i].type;
    sp_str_printf(&text, "%s(", kernel->name_utf8);
    ir_signature_print(types, n, &text);
    sp_str_add(&text, ") fits no declared signature; declared:");
    for (uint32_t i = 0; i < kernel->n_declared; i++) {
        sp_str_add(&text, i ? " and (" : " (");
        ir_signature_print(kernel->declared[i].args, kernel->declared[i].n, &text);
        sp_str_add(&text, ")");
    }
    pm_fail(kernel->state, BAD_ARRAY, text.data);
    sp_str_finish(&text);
    return false;
}

bool
pm_args_declared(struct pm_kernel *kernel, struct pm_arg *args, uint32_t n_args)
{
    for (uint32_t i = 0; i < kernel->n_declared; i++) {
        bool fits = kernel->declared[i].n == n_args;
        for (uint32_t j = 0; fits && j < n_args; j++)
            fits = declared_fits(&args[j], &kernel->declared[i].args[j]);
        if (!fits)
            continue;
        for (uint32_t j = 0; j < n_args; j++)
            declared_convert(&args[j], &kernel->declared[i].args[j]);
        return true;
    }
    return declared_fail(kernel, args, n_args);
}
