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
declared_same_dtype(const struct ir_argtype *a, const struct ir_argtype *b)
{
    return a->elem && b->elem ? !strcmp(a->elem, b->elem)
                              : !a->elem && !b->elem && a->dtype == b->dtype;
}

static bool
declared_fits(const struct pm_arg *arg, const struct ir_argtype *to)
{
    if (arg->type.kind != to->kind)
        return false;
    if (to->kind == IR_ARG_ARRAY)
        return declared_same_dtype(&arg->type, to) && arg->type.rank == to->rank &&
               (arg->type.layout == to->layout || to->layout == IR_LAYOUT_ANY);
    if (to->kind == IR_ARG_TUPLE)
        return arg->type.n_elems == to->n_elems;
    if (to->kind == IR_ARG_OBJECT)
        return arg->type.host == to->host;
    if (arg->type.elem || to->elem)
        return declared_same_dtype(&arg->type, to);
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
    if (to->kind == IR_ARG_SCALAR && !to->elem &&
        ir_scalar_row(to->dtype)->class == IR_CLASS_FLOAT) {
        if (ir_scalar_row(arg->type.dtype)->class == IR_CLASS_FLOAT)
            arg->bits = pm_float_bits(to->dtype, declared_as_double(arg));
        else
            arg->bits = pm_float_bits_of_int(to->dtype, arg->bits, arg->type.dtype == IR_T_UINT64);
    }
    const void *host = arg->type.host;
    struct ir_argtype given = arg->type;
    arg->type = *to;
    if (to->elem) { /* as it lies, not as records of this type could */
        arg->type.align_log2 = given.align_log2;
        arg->type.dtype = given.dtype;
        arg->type.elem = given.elem;
    }
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

/* The first argument that keeps the values from the signature that they come nearest to; n_args if
 * none has as many. */
static uint32_t
declared_find_misfit(const struct pm_kernel *kernel, const struct pm_arg *args, uint32_t n_args,
                     const struct ir_argtype **to_out)
{
    uint32_t furthest = n_args;
    for (uint32_t i = 0; i < kernel->n_declared; i++) {
        uint32_t j = 0;
        if (kernel->declared[i].n != n_args)
            continue;
        while (declared_fits(&args[j], &kernel->declared[i].args[j]))
            j++;
        if (furthest == n_args || j > furthest) {
            furthest = j;
            *to_out = &kernel->declared[i].args[j];
        }
    }
    return furthest;
}

static const char *
declared_remedy(const struct ir_argtype *is, const struct ir_argtype *to)
{
    if (is->kind == IR_ARG_ARRAY && to->kind == IR_ARG_ARRAY)
        return is->rank != to->rank           ? "reshape it"
               : !declared_same_dtype(is, to) ? "convert it with x.astype(...), in torch x.to(...)"
               : to->layout == IR_LAYOUT_F
                   ? "pass np.asfortranarray(x), or declare it with any layout"
                   : "pass a contiguous copy: x.copy(), in torch x.contiguous()";
    if (to->kind == IR_ARG_ARRAY)
        return "pass an array";
    return to->kind == IR_ARG_SCALAR && is->kind == IR_ARG_SCALAR ? "convert it, as with int(x)"
                                                                  : "pass what is declared";
}

static void
declared_add_hint(const struct pm_kernel *kernel, const struct pm_arg *args, uint32_t n_args,
                  struct sp_diag *diag)
{
    const struct ir_argtype *to = NULL;
    uint32_t i = declared_find_misfit(kernel, args, n_args, &to);
    char label[PM_LABEL_B];
    struct sp_str is, declared;
    if (i == n_args || args[i].type.kind == IR_ARG_TUPLE || to->kind == IR_ARG_TUPLE)
        return;
    sp_str_init(&is);
    sp_str_init(&declared);
    ir_signature_print(&args[i].type, 1, &is);
    ir_signature_print(to, 1, &declared);
    (void)sp_diag_hint(diag, "argument %s is %s, declared is %s; %s",
                       pm_arg_label(kernel->readings[0], args[i].param, label), is.data,
                       declared.data, declared_remedy(&args[i].type, to));
    sp_str_finish(&is);
    sp_str_finish(&declared);
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
    struct sp_diag diag;
    sp_diag_init(&diag);
    (void)sp_diag_set(&diag, SP_E_BAD_ARRAY, NULL, text.data);
    declared_add_hint(kernel, args, n_args, &diag);
    sp_str_finish(&text);
    return pm_raise(kernel->state, &diag);
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
