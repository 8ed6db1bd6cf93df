/* path: paths of the kernel namespace to constants. The namespace is intrin.def and types.def; a
 * path names an intrinsic ("gpu.grid"), a number ("math.pi"), a scalar type called as a cast
 * ("gpu.float32", "numpy.int8", "builtins.float") or a namespace below ("gpu.threadIdx"). */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

/* The scalar type that the last part of the path names. builtins has the Python types alone, which
 * numpy has not. */
static ir_type
path_scalar(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!dot)
        return IR_T_NONE;
    size_t len = (size_t)(dot - path);
    ir_type scalar = ir_scalar_by_name(dot + 1, strlen(dot + 1));
    bool is_python = scalar == IR_T_INT || scalar == IR_T_FLOAT;
    if (scalar == IR_T_NONE || (len == 3 && !memcmp(path, "gpu", len)))
        return scalar;
    if (len == 8 && !memcmp(path, "builtins", len))
        return is_python || scalar == IR_T_BOOL ? scalar : IR_T_NONE;
    if (len == 5 && !memcmp(path, "numpy", len))
        return is_python || scalar == IR_T_BFLOAT16 ? IR_T_NONE : scalar;
    if (len == 9 && !memcmp(path, "ml_dtypes", len))
        return scalar == IR_T_BFLOAT16 ? scalar : IR_T_NONE;
    return IR_T_NONE;
}

bool
ir_path_const(struct ir_module *module, const char *path, ir_const *const_out)
{
    enum ir_intrin intrin = ir_intrin_by_path(path);
    ir_type scalar = path_scalar(path);
    ir_const limit = ir_const_limit(module, path);
    double number;
    bool is_int;
    if (limit)
        *const_out = limit;
    else if (intrin != IR_INTRIN_NONE)
        *const_out = ir_const_simple(module, IR_C_INTRIN, intrin);
    else if (scalar != IR_T_NONE)
        *const_out = ir_const_dtype(module, scalar);
    else if (ir_number_by_path(path, &number, &is_int))
        *const_out =
            is_int ? ir_const_int(module, (int64_t)number) : ir_const_float(module, number);
    else if (ir_intrin_is_prefix(path))
        *const_out = ir_const_intern(module, &(struct ir_const_info){.kind = IR_C_NAMESPACE,
                                                                     .len = (uint32_t)strlen(path),
                                                                     .str = path});
    else
        return false;
    return true;
}

bool
ir_has_axes(const struct ir_module *module, ir_const c, enum ir_intrin axes_out[3])
{
    const struct ir_const_info *info = ir_const_info(module, c);
    if (info->kind != IR_C_NAMESPACE || strlen(info->str) > 60)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s.%c", info->str, "xyz"[i]);
        enum ir_intrin id = ir_intrin_by_path(path);
        if (id == IR_INTRIN_NONE || ir_intrin_row(id)->rule != IR_RULE_SREG)
            return false;
        if (axes_out)
            axes_out[i] = id;
    }
    return true;
}
