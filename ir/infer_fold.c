/* infer_fold: arithmetic on constants while types are inferred, so that branches on them are
 * decided.
 *
 * Only weak numbers (bool, int, float) fold, by the same rules as at run time: ints wrap at 64
 * bits, division by zero gives 0 or IEEE's result. Typed numbers and functions are left to the
 * optimiser, which folds machine operations exactly. */
#include "ir/infer_t.h"

#include <math.h>
#include <string.h>

static bool
fold_is_int(const struct ir_const_info *info)
{
    return info->kind == IR_C_INT || info->kind == IR_C_BOOL;
}

static bool
fold_is_weak(const struct ir_const_info *info)
{
    return fold_is_int(info) || info->kind == IR_C_FLOAT;
}

/* What `float` holds of a number: a double, or with `single` a float32. */
static double
fold_round(const struct ir_module *module, double value)
{
    return module->single ? (double)(float)value : value;
}

static double
fold_double(const struct ir_module *module, const struct ir_const_info *info)
{
    if (info->kind == IR_C_FLOAT)
        return fold_round(module, info->f);
    return module->single ? (double)(float)info->i : (double)info->i;
}

static ir_const
fold_float(struct ir_module *module, double value)
{
    return ir_const_float(module, fold_round(module, value));
}

static int64_t
fold_floordiv(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t
fold_pow(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return 0;
    uint64_t result = 1, square = (uint64_t)base;
    for (uint64_t e = (uint64_t)exponent; e; e >>= 1, square *= square)
        if (e & 1)
            result *= square;
    return (int64_t)result;
}

static int64_t
fold_shift(enum ir_binop op, int64_t a, int64_t count)
{
    if (count < 0)
        return 0;
    if (op == IR_BIN_LSHIFT)
        return count >= 64 ? 0 : (int64_t)((uint64_t)a << count);
    return count >= 64 ? (a < 0 ? -1 : 0) : a >> count;
}

static int64_t
fold_int(enum ir_binop op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case IR_BIN_ADD: return (int64_t)(x + y);
    case IR_BIN_SUB: return (int64_t)(x - y);
    case IR_BIN_MUL: return (int64_t)(x * y);
    case IR_BIN_AND: return a & b;
    case IR_BIN_OR: return a | b;
    case IR_BIN_XOR: return a ^ b;
    case IR_BIN_FLOORDIV: return fold_floordiv(a, b);
    case IR_BIN_MOD: return b == 0 ? 0 : (int64_t)(x - (uint64_t)fold_floordiv(a, b) * y);
    case IR_BIN_POW: return fold_pow(a, b);
    case IR_BIN_LSHIFT:
    case IR_BIN_RSHIFT: return fold_shift(op, a, b);
    default: return 0;
    }
}

static bool
fold_pow_fits(int64_t base, int64_t exponent)
{
    int64_t r = 1;
    bool grows = base < -1 || base > 1;
    for (int64_t k = 0; grows && k < exponent; k++)
        if (__builtin_mul_overflow(r, base, &r))
            return false;
    return exponent >= 0;
}

/* Whether running the operation raises with check=True: then it is left to run. */
static bool
fold_int_raises(enum ir_binop op, int64_t a, int64_t b)
{
    int64_t r;
    switch (op) {
    case IR_BIN_ADD: return __builtin_add_overflow(a, b, &r);
    case IR_BIN_SUB: return __builtin_sub_overflow(a, b, &r);
    case IR_BIN_MUL: return __builtin_mul_overflow(a, b, &r);
    case IR_BIN_FLOORDIV: return b == 0 || (a == INT64_MIN && b == -1);
    case IR_BIN_MOD: return b == 0;
    case IR_BIN_POW: return !fold_pow_fits(a, b);
    case IR_BIN_LSHIFT: return b < 0 || (a && (b >= 64 || fold_shift(op, a, b) >> b != a));
    case IR_BIN_RSHIFT: return b < 0;
    default: return false;
    }
}

ir_const
infer_fold_bin(struct ir_module *module, enum ir_binop op, ir_const a, ir_const b, ir_type type)
{
    struct ir_const_info x = *ir_const_info(module, a), y = *ir_const_info(module, b);
    if (!fold_is_weak(&x) || !fold_is_weak(&y))
        return 0;
    if (type == IR_T_BOOL)
        return ir_const_bool(module, fold_int(op, x.i, y.i) != 0);
    if (type == IR_T_INT && module->check && fold_int_raises(op, x.i, y.i))
        return 0;
    if (type == IR_T_INT)
        return ir_const_int(module, fold_int(op, x.i, y.i));
    double p = fold_double(module, &x), q = fold_double(module, &y);
    switch (op) {
    case IR_BIN_ADD: return fold_float(module, p + q);
    case IR_BIN_SUB: return fold_float(module, p - q);
    case IR_BIN_MUL: return fold_float(module, p * q);
    case IR_BIN_TRUEDIV:
        if (module->check && q == 0)
            return 0;
        return fold_float(module, p / q);
    default: return 0;
    }
}

ir_const
infer_fold_un(struct ir_module *module, enum ir_unop op, ir_const a, ir_type type)
{
    struct ir_const_info x = *ir_const_info(module, a);
    if (!fold_is_weak(&x))
        return 0;
    if (type == IR_T_FLOAT)
        return fold_float(module, op == IR_UN_NEG ? -x.f : x.f);
    if (type == IR_T_BOOL)
        return ir_const_bool(module, !x.i);
    if (module->check && op == IR_UN_NEG && x.i == INT64_MIN)
        return 0;
    int64_t value = op == IR_UN_NEG      ? (int64_t)(0 - (uint64_t)x.i)
                    : op == IR_UN_INVERT ? ~x.i
                                         : x.i;
    return ir_const_int(module, value);
}

static bool
fold_order(enum ir_cmpop op, bool less, bool equal, bool greater)
{
    switch (op) {
    case IR_CMP_LT: return less;
    case IR_CMP_LE: return less || equal;
    case IR_CMP_EQ: return equal;
    case IR_CMP_NE: return !equal;
    case IR_CMP_GT: return greater;
    default: return greater || equal;
    }
}

ir_const
infer_fold_cmp(struct ir_module *module, enum ir_cmpop op, ir_const a, ir_const b)
{
    struct ir_const_info x = *ir_const_info(module, a), y = *ir_const_info(module, b);
    if (!fold_is_weak(&x) || !fold_is_weak(&y))
        return 0;
    if (fold_is_int(&x) && fold_is_int(&y))
        return ir_const_bool(module, fold_order(op, x.i < y.i, x.i == y.i, x.i > y.i));
    double p = fold_double(module, &x), q = fold_double(module, &y);
    return ir_const_bool(module, fold_order(op, p < q, p == q, p > q));
}

static int64_t
fold_saturate(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

ir_const
infer_fold_cast(struct ir_module *module, ir_const a, ir_type to)
{
    struct ir_const_info x = *ir_const_info(module, a);
    if (!fold_is_weak(&x))
        return 0;
    double value = fold_double(module, &x);
    if (module->check && to == IR_T_INT && x.kind == IR_C_FLOAT &&
        !(value >= -0x1p63 && value < 0x1p63))
        return 0;
    switch (to) {
    case IR_T_BOOL: return ir_const_bool(module, value != 0);
    case IR_T_INT: return ir_const_int(module, x.kind == IR_C_FLOAT ? fold_saturate(value) : x.i);
    case IR_T_FLOAT: return ir_const_float(module, value);
    default: return 0;
    }
}

/* 1 or 0; -1 decided at run time; -2 the type has no truth value. */
int
infer_truth(const struct ir_module *module, struct ir_cell cell)
{
    const struct ir_type_info *type = ir_type_info(module, cell.type);
    if (type->kind == IR_KIND_TUPLE)
        return type->n_elems != 0;
    if (type->kind == IR_KIND_CLOSURE)
        return 1;
    if (type->kind == IR_KIND_OBJECT) {
        const struct ir_const_info *object = ir_const_info(module, type->object);
        if (object->kind == IR_C_STR)
            return object->len != 0;
        return object->kind == IR_C_HOST ? -2 : object->kind != IR_C_NONE;
    }
    if (!ir_type_is_scalar(cell.type))
        return -2;
    if (!cell.constant)
        return -1;
    const struct ir_const_info *info = ir_const_info(module, cell.constant);
    if (info->kind == IR_C_FLOAT)
        return fold_round(module, info->f) != 0;
    if (info->kind == IR_C_TYPED && ir_is_float(info->scalar))
        return info->f != 0;
    return info->u != 0;
}
