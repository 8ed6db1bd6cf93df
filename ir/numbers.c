/* numbers: the types of arithmetic, comparisons and joins.
 *
 * In: operand types. Out: the result type, and which lowering computes it. Everything comes from
 * arith.def and types.def; docs/semantics.md says the same for people. The types form a lattice
 *
 *     none < bool < int < typed integers (NumPy's promotion, and `mixed`) < float < typed floats
 *     float < float16, bfloat16 < float32 < float64
 *
 * so that a join does not depend on the order in which values meet: uint64 with a signed integer is
 * `mixed`, which only a float lifts to something usable. Lost alternative: NumPy's own answer for
 * that pair, float64, which turns indices into floats. */
#include "ir/infer.h"

#include <string.h>

#define PAIR_B 0
#define PAIR_I 1
#define PAIR_T 2
#define PAIR_F 3
#define N_PAIRS 4

static const struct ir_arith_row arith_rows[IR_N_BINOPS][N_PAIRS] = {
#define IR_ARITH(op, pair, result, lowering, edge)                                                 \
    [IR_BIN_##op][PAIR_##pair] = {IR_RES_##result, IR_LOW_##lowering},
#include "ir/arith.def"
};

static const struct ir_arith_row unary_rows[IR_N_UNOPS][N_PAIRS] = {
#define IR_UNARY(op, class, result, lowering, edge)                                                \
    [IR_UN_##op][PAIR_##class] = {IR_RES_##result, IR_LOW_##lowering},
#include "ir/arith.def"
};

static const uint8_t compare_results[N_PAIRS] = {
#define IR_COMPARE(pair, result, edge) [PAIR_##pair] = IR_RES_##result,
#include "ir/arith.def"
};

static const uint8_t join_results[N_PAIRS] = {
#define IR_JOIN(pair, result, edge) [PAIR_##pair] = IR_RES_##result,
#include "ir/arith.def"
};

static const uint8_t func_results[IR_N_NUMFUNCS][N_PAIRS] = {
#define IR_FUNC(op, class, result, edge) [IR_NUM_##op][PAIR_##class] = IR_RES_##result,
#include "ir/arith.def"
};

static const uint8_t conversions[IR_N_CLASSES][IR_N_CLASSES] = {
#define IR_CONVERT(from, to, how, edge) [IR_CLASS_##from][IR_CLASS_##to] = IR_CONV_##how,
#include "ir/arith.def"
};

static unsigned
numbers_class(ir_type t)
{
    return t == IR_T_BOOL ? PAIR_B : t == IR_T_INT ? PAIR_I : ir_is_typed_int(t) ? PAIR_T : PAIR_F;
}

static unsigned
numbers_pair(ir_type a, ir_type b)
{
    unsigned class_a = numbers_class(a), class_b = numbers_class(b);
    return class_a > class_b ? class_a : class_b;
}

static ir_type
numbers_int_of_width(bool is_unsigned, unsigned bits)
{
    for (ir_type t = IR_T_INT8; t <= IR_T_UINT64; t++)
        if (ir_is_unsigned(t) == is_unsigned && ir_scalar_row(t)->bits == bits)
            return t;
    return IR_T_MIXED;
}

/* NumPy's promotion of two typed integers: of one sign the wider; else the narrowest signed type
 * that holds both, which uint64 has none of. */
static ir_type
numbers_promote(ir_type a, ir_type b)
{
    unsigned bits_a = ir_scalar_row(a)->bits, bits_b = ir_scalar_row(b)->bits;
    if (ir_is_unsigned(a) == ir_is_unsigned(b))
        return bits_a >= bits_b ? a : b;
    unsigned bits_u = ir_is_unsigned(a) ? bits_a : bits_b;
    unsigned bits_s = ir_is_unsigned(a) ? bits_b : bits_a;
    return numbers_int_of_width(false, bits_u >= bits_s ? 2 * bits_u : bits_s);
}

/* The common type of two integers, by arithmetic's and by joins' rule alike. */
static ir_type
numbers_common(ir_type a, ir_type b)
{
    if (ir_is_typed_int(a) && ir_is_typed_int(b))
        return numbers_promote(a, b);
    return a > b ? a : b; /* bool < int < typed */
}

/* The wider; the two halves, of which neither holds the other's numbers, are float32 together. */
static ir_type
numbers_common_float(ir_type a, ir_type b)
{
    ir_type least = IR_T_FLOAT;
    a = ir_is_float(a) ? a : least;
    b = ir_is_float(b) ? b : least;
    ir_type low = a < b ? a : b, high = a < b ? b : a;
    return low == IR_T_FLOAT16 && high == IR_T_BFLOAT16 ? (ir_type)IR_T_FLOAT32 : high;
}

/* The type in which integers compare: `mixed` if no type holds both. */
static ir_type
numbers_exact(ir_type a, ir_type b)
{
    bool wide_a = a == IR_T_UINT64, wide_b = b == IR_T_UINT64;
    if (!wide_a && !wide_b)
        return IR_T_INT; /* every other integer fits 64 signed bits */
    ir_type other = wide_a ? b : a;
    return other == IR_T_BOOL || ir_is_unsigned(other) ? IR_T_UINT64 : IR_T_MIXED;
}

/* The result column of arith.def for two operands; of a single one, `b` is `a`. */
static ir_type
numbers_result(unsigned result, ir_type a, ir_type b)
{
    switch ((enum ir_arith_result)result) {
    case IR_RES_INT: return IR_T_INT;
    case IR_RES_BOOL: return IR_T_BOOL;
    case IR_RES_COMMON: return numbers_common(a, b);
    case IR_RES_LEFT: return a == IR_T_BOOL ? IR_T_INT : a;
    case IR_RES_FLOAT: return numbers_common_float(a, b);
    case IR_RES_DOUBLE: return IR_T_FLOAT;
    case IR_RES_SAME: return a;
    case IR_RES_EXACT: return numbers_exact(a, b);
    case IR_RES_NONE: break;
    }
    return IR_T_NONE;
}

ir_type
ir_bin_type(enum ir_binop op, ir_type a, ir_type b, bool negative_constant,
            enum ir_lowering *lowering_out)
{
    struct ir_arith_row row = arith_rows[op][numbers_pair(a, b)];
    if (op == IR_BIN_POW && negative_constant && ir_is_integer(a) && ir_is_integer(b))
        row = (struct ir_arith_row){IR_RES_DOUBLE, IR_LOW_FPOW};
    *lowering_out = row.lowering;
    return numbers_result(row.result, a, b);
}

ir_type
ir_un_type(enum ir_unop op, ir_type a, enum ir_lowering *lowering_out)
{
    struct ir_arith_row row = unary_rows[op][numbers_class(a)];
    *lowering_out = row.lowering;
    return numbers_result(row.result, a, a);
}

ir_type
ir_cmp_type(ir_type a, ir_type b)
{
    return numbers_result(compare_results[numbers_pair(a, b)], a, b);
}

ir_type
ir_func_type(enum ir_numfunc op, ir_type a)
{
    return numbers_result(func_results[op][numbers_class(a)], a, a);
}

ir_type
ir_math_type(uint32_t n, const ir_type *args)
{
    ir_type best = IR_T_FLOAT;
    for (uint32_t i = 0; i < n; i++)
        best = numbers_common_float(best, ir_func_type(IR_NUM_MATH, args[i]));
    return best;
}

enum ir_conversion
ir_conversion(ir_type from, ir_type to)
{
    return (enum ir_conversion)conversions[ir_scalar_row(from)->class][ir_scalar_row(to)->class];
}

int
ir_type_field(const struct ir_module *module, ir_type type, const char *name)
{
    const struct ir_type_info *info = ir_type_info(module, type);
    if (info->kind != IR_KIND_TUPLE || !info->object)
        return -1;
    const struct ir_const_info *class = ir_const_info(module, info->object);
    for (uint32_t i = 0; i < info->n_elems; i++)
        if (strcmp(ir_const_info(module, class->elems[i + 1])->str, name) == 0)
            return (int)i;
    return -1;
}

static ir_type
numbers_join(ir_type a, ir_type b)
{
    if (a == IR_T_MIXED || b == IR_T_MIXED) {
        ir_type other = a == IR_T_MIXED ? b : a;
        return ir_type_is_scalar(other) && ir_is_float(other) ? other : IR_T_MIXED;
    }
    return numbers_result(join_results[numbers_pair(a, b)], a, b);
}

static ir_type
numbers_join_tuples(struct ir_module *module, const struct ir_type_info *a,
                    const struct ir_type_info *b)
{
    if (a->n_elems != b->n_elems)
        return IR_T_CONFLICT;
    /* Joining elements interns types, which moves the table that `a` and `b` point into. */
    uint32_t n = a->n_elems;
    const ir_type *elems_a = a->elems, *elems_b = b->elems;
    ir_type *elems = SP_NEW_N(module->arena, ir_type, n);
    for (uint32_t i = 0; i < n; i++)
        if ((elems[i] = ir_type_join(module, elems_a[i], elems_b[i])) == IR_T_CONFLICT)
            return IR_T_CONFLICT;
    return ir_type_intern(module,
                          &(struct ir_type_info){.kind = IR_KIND_TUPLE,
                                                 .object = a->object == b->object ? a->object : 0,
                                                 .n_elems = n,
                                                 .elems = elems});
}

/* Functions of one definition meet in what they brought along. */
static ir_type
numbers_join_closures(struct ir_module *module, const struct ir_type_info *a,
                      const struct ir_type_info *b)
{
    if (a->object != b->object || a->n_elems != b->n_elems)
        return IR_T_CONFLICT;
    uint32_t n = a->n_elems;
    const ir_type *elems_a = a->elems, *elems_b = b->elems;
    ir_type *elems = SP_NEW_N(module->arena, ir_type, n);
    ir_const *consts = SP_NEW_N(module->arena, ir_const, n);
    for (uint32_t i = 0; i < n; i++) {
        if ((elems[i] = ir_type_join(module, elems_a[i], elems_b[i])) == IR_T_CONFLICT)
            return IR_T_CONFLICT;
        consts[i] = a->consts[i] == b->consts[i] ? a->consts[i] : 0;
    }
    return ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_CLOSURE,
                                                         .object = a->object,
                                                         .n_elems = n,
                                                         .elems = elems,
                                                         .consts = consts});
}

/* A loop over a tuple whose elements turn out to differ in type is unrolled. */
static ir_type
numbers_join_iters(struct ir_module *module, const struct ir_type_info *a,
                   const struct ir_type_info *b)
{
    struct ir_type_info joined = b->iter == IR_ITER_UNROLLED ? *b : *a;
    bool unrolled = joined.iter == IR_ITER_UNROLLED && a->iter != b->iter;
    bool loop = a->iter == IR_ITER_LOOP || b->iter == IR_ITER_LOOP;
    if (a->n_elems != b->n_elems || (unrolled ? !loop : a->iter != b->iter) ||
        (!unrolled && a->position != b->position))
        return IR_T_CONFLICT;
    ir_type *elems = SP_NEW_N(module->arena, ir_type, a->n_elems + 1);
    for (uint32_t i = 0; i < a->n_elems; i++) {
        elems[i] = ir_type_join(module, a->elems[i], b->elems[i]);
        if (elems[i] == IR_T_CONFLICT || elems[i] == IR_T_MIXED)
            return IR_T_CONFLICT;
    }
    joined.elems = elems;
    joined.object = a->object == b->object && !unrolled ? a->object : 0;
    return ir_type_intern(module, &joined);
}

static ir_type
numbers_join_arrays(struct ir_module *module, const struct ir_type_info *a,
                    const struct ir_type_info *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank || a->space != b->space)
        return IR_T_CONFLICT;
    struct ir_type_info joined = *a;
    if (a->layout != b->layout)
        joined.layout = a->rank ? IR_LAYOUT_ANY : IR_LAYOUT_C;
    if (b->align_log2 < joined.align_log2)
        joined.align_log2 = b->align_log2;
    joined.read_only |= b->read_only;
    if (joined.object != b->object)
        joined.object = 0;
    return ir_type_intern(module, &joined);
}

ir_type
ir_type_drop_extents(struct ir_module *module, ir_type type)
{
    struct ir_type_info info = *ir_type_info(module, type);
    bool has_parts =
        info.kind == IR_KIND_TUPLE || info.kind == IR_KIND_CLOSURE || info.kind == IR_KIND_ITER;
    if (info.kind == IR_KIND_ARRAY && info.object) {
        info.object = 0;
        return ir_type_intern(module, &info);
    }
    if (!has_parts || info.n_elems == 0)
        return type;
    ir_type *elems = SP_NEW_N(module->arena, ir_type, info.n_elems);
    bool same = true;
    for (uint32_t i = 0; i < info.n_elems; i++) {
        elems[i] = ir_type_drop_extents(module, info.elems[i]);
        same &= elems[i] == info.elems[i];
    }
    info.elems = elems;
    return same ? type : ir_type_intern(module, &info);
}

/* None is a number once the step's sign is known (lower_view.c), so a bound may be None on one path
 * and a number on another; what it was cannot be read any more then. */
static ir_type
numbers_join_slices(struct ir_module *module, const struct ir_type_info *a,
                    const struct ir_type_info *b)
{
    ir_type elems[3];
    for (uint32_t i = 0; i < 3; i++)
        elems[i] = a->elems[i] == b->elems[i] ? a->elems[i] : IR_T_CONFLICT;
    return ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_SLICE,
                                                         .step_sign = a->step_sign & b->step_sign,
                                                         .n_elems = 3,
                                                         .elems = elems});
}

ir_type
ir_type_join(struct ir_module *module, ir_type a, ir_type b)
{
    if (a == b || b == IR_T_NONE)
        return a;
    if (a == IR_T_NONE)
        return b;
    if (a == IR_T_CONFLICT || b == IR_T_CONFLICT)
        return IR_T_CONFLICT;
    bool number_a = ir_type_is_scalar(a) || a == IR_T_MIXED;
    bool number_b = ir_type_is_scalar(b) || b == IR_T_MIXED;
    if (number_a && number_b)
        return numbers_join(a, b);
    struct ir_type_info info_a = *ir_type_info(module, a), info_b = *ir_type_info(module, b);
    if (info_a.kind != info_b.kind)
        return IR_T_CONFLICT;
    switch ((enum ir_kind)info_a.kind) {
    case IR_KIND_TUPLE: return numbers_join_tuples(module, &info_a, &info_b);
    case IR_KIND_ARRAY: return numbers_join_arrays(module, &info_a, &info_b);
    case IR_KIND_RANGE:
        if (info_a.step_sign != info_b.step_sign)
            info_a.step_sign = 0;
        info_a.unit_step &= info_b.unit_step;
        return ir_type_intern(module, &info_a);
    case IR_KIND_SLICE: return numbers_join_slices(module, &info_a, &info_b);
    case IR_KIND_ITER: return numbers_join_iters(module, &info_a, &info_b);
    case IR_KIND_CLOSURE: return numbers_join_closures(module, &info_a, &info_b);
    default: return IR_T_CONFLICT; /* objects meet only themselves */
    }
}

ir_type
ir_element_type(ir_type dtype)
{
    return ir_is_typed_int(dtype) && dtype != IR_T_UINT64 ? IR_T_INT : dtype;
}

ir_type
ir_argument_scalar(ir_type layout)
{
    return ir_element_type(layout);
}

bool
ir_program_int(const struct ir_module *module, const struct ir_func *func, ir_ref ref,
               int64_t *value_out)
{
    const struct ir_insn *insn = ir_insn(func, ref);
    if (insn->op != IR_CONST)
        return false;
    const struct ir_const_info *info = ir_const_info(module, insn->imm);
    if (info->kind != IR_C_INT && info->kind != IR_C_BOOL)
        return false;
    *value_out = info->i;
    return true;
}
