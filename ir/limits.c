/* limits: what np.finfo and np.iinfo say about number types, and number types by name.
 *
 * The limits of a type are a namespace of the kernel namespace, "numpy.finfo.float32"; its
 * attributes are constants: floats of that type (of float64 weak ones, as NumPy's float64 is
 * everywhere), or ints. All follow from the width of the type and of its fraction, by the formulas
 * of IEEE 754. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

static ir_type
limits_typed(ir_type scalar)
{
    return scalar == IR_T_INT     ? (ir_type)IR_T_INT64
           : scalar == IR_T_FLOAT ? (ir_type)IR_T_FLOAT64
                                  : scalar;
}

ir_const
ir_const_dtype(struct ir_module *module, ir_type scalar)
{
    return ir_const_intern(module, &(struct ir_const_info){.kind = IR_C_DTYPE, .scalar = scalar});
}

ir_type
ir_dtype_of(const struct ir_module *module, ir_const c)
{
    const struct ir_const_info *info = ir_const_info(module, c);
    if (info->kind == IR_C_DTYPE)
        return limits_typed(info->scalar);
    if (info->kind != IR_C_STR || info->len > 16)
        return IR_T_NONE;
    ir_type scalar = limits_typed(ir_scalar_by_name(info->str, info->len));
    char text[24];
    for (const char *order = "<|"; *order && scalar == IR_T_NONE; order++) {
        bool has_order = strchr("<|=", info->str[0]) && info->len;
        snprintf(text, sizeof text, "%c%.*s", *order, (int)(info->len - has_order),
                 info->str + has_order);
        scalar = ir_scalar_by_typestr(text);
    }
    return scalar;
}

bool
ir_same_dtype(const struct ir_module *module, ir_type a, ir_type b)
{
    const struct ir_type_info *x = ir_type_info(module, a), *y = ir_type_info(module, b);
    if (x->kind != IR_KIND_OBJECT || y->kind != IR_KIND_OBJECT ||
        (ir_const_info(module, x->object)->kind != IR_C_DTYPE &&
         ir_const_info(module, y->object)->kind != IR_C_DTYPE))
        return false;
    ir_type scalar = ir_dtype_of(module, x->object);
    return scalar != IR_T_NONE && scalar == ir_dtype_of(module, y->object);
}

ir_const
ir_const_limits(struct ir_module *module, bool of_floats, ir_type scalar)
{
    const struct ir_scalar_row *row = ir_scalar_row(limits_typed(scalar));
    if (row->class == IR_CLASS_BOOL || (row->class == IR_CLASS_FLOAT) != of_floats)
        return 0;
    const char *path =
        sp_arena_printf(module->arena, "numpy.%s.%s", of_floats ? "finfo" : "iinfo", row->name);
    return ir_const_intern(module, &(struct ir_const_info){.kind = IR_C_NAMESPACE,
                                                           .len = (uint32_t)strlen(path),
                                                           .str = path});
}

static ir_const
limits_float(struct ir_module *module, ir_type scalar, double value)
{
    if (scalar == IR_T_FLOAT64)
        return ir_const_float(module, value);
    struct ir_const_info info = {.kind = IR_C_TYPED, .scalar = scalar};
    info.f = value;
    return ir_const_intern(module, &info);
}

static ir_const
limits_of_float(struct ir_module *module, ir_type scalar, const char *name)
{
    int bits = ir_scalar_row(scalar)->bits;
    int fraction = scalar == IR_T_FLOAT64    ? 52
                   : scalar == IR_T_FLOAT32  ? 23
                   : scalar == IR_T_BFLOAT16 ? 7
                                             : 10;
    int exponent = bits - 1 - fraction, lowest = 2 - (1 << (exponent - 1));
    int precision = (int)(fraction * 0.30102999566398120);
    double largest = ir_float_largest(ir_scalar_row(scalar)->machine);
    double resolution = pow(10, -precision);
    const struct {
        const char *name;
        double value;
    } floats[] = {{"eps", ldexp(1, -fraction)},
                  {"epsneg", ldexp(1, -fraction - 1)},
                  {"max", largest},
                  {"min", -largest},
                  {"tiny", ldexp(1, lowest)},
                  {"smallest_normal", ldexp(1, lowest)},
                  {"smallest_subnormal", ldexp(1, lowest - fraction)},
                  {"resolution", scalar == IR_T_FLOAT32 ? (double)(float)resolution : resolution}};
    const struct {
        const char *name;
        int value;
    } ints[] = {{"bits", bits},     {"nmant", fraction},      {"precision", precision},
                {"nexp", exponent}, {"iexp", exponent},       {"machep", -fraction},
                {"minexp", lowest}, {"negep", -fraction - 1}, {"maxexp", 2 - lowest}};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (strcmp(floats[i].name, name) == 0)
            return limits_float(module, scalar, floats[i].value);
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        if (strcmp(ints[i].name, name) == 0)
            return ir_const_int(module, ints[i].value);
    return 0;
}

static ir_const
limits_of_int(struct ir_module *module, ir_type scalar, const char *name)
{
    const struct ir_scalar_row *row = ir_scalar_row(scalar);
    bool is_signed = row->class == IR_CLASS_INT;
    uint64_t max = UINT64_MAX >> (64 - row->bits + is_signed);
    if (strcmp(name, "max") == 0)
        return ir_const_uint(module, max);
    if (strcmp(name, "min") == 0)
        return ir_const_int(module, is_signed ? -(int64_t)max - 1 : 0);
    return strcmp(name, "bits") == 0 ? ir_const_int(module, row->bits) : 0;
}

ir_const
ir_const_limit(struct ir_module *module, const char *path)
{
    bool of_floats = strncmp(path, "numpy.finfo.", 12) == 0;
    if (!of_floats && strncmp(path, "numpy.iinfo.", 12) != 0)
        return 0;
    const char *type = path + 12, *dot = strchr(type, '.');
    ir_type scalar = dot ? ir_scalar_by_name(type, (size_t)(dot - type)) : (ir_type)IR_T_NONE;
    if (scalar == IR_T_NONE)
        return 0;
    if (strcmp(dot, ".dtype") == 0)
        return ir_const_dtype(module, scalar);
    return of_floats ? limits_of_float(module, scalar, dot + 1)
                     : limits_of_int(module, scalar, dot + 1);
}
