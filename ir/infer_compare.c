/* infer_compare: comparisons, `is` and `in`.
 *
 * Numbers compare at run time unless both are constants. Compile-time objects are equal if they are
 * the same object. Tuples compare as in Python: element by element, the first that differ decide,
 * then the length; what is known of the elements decides as much as it can, so a comparison of
 * tuples of functions or strings is a constant. `x in (a, b)` is x == a or x == b: NaN is in no
 * tuple, for values in a kernel have no identity beside their value. */
#include "ir/infer_t.h"

#include <string.h>

/* What is known of a comparison's result; NO_RESULT: it has none. */
enum { NO_RESULT = -2, AT_RUN_TIME = -1 };

static int compare_cells(struct infer *in, enum ir_cmpop op, struct ir_cell a, struct ir_cell b);

static int
compare_lengths(enum ir_cmpop op, uint32_t a, uint32_t b)
{
    switch (op) {
    case IR_CMP_LT: return a < b;
    case IR_CMP_LE: return a <= b;
    case IR_CMP_EQ: return a == b;
    case IR_CMP_NE: return a != b;
    case IR_CMP_GT: return a > b;
    default: return a >= b;
    }
}

static int
compare_tuples_equal(struct infer *in, struct ir_cell a, struct ir_cell b, uint32_t n)
{
    int equal = 1;
    for (uint32_t i = 0; i < n; i++) {
        int same = compare_cells(in, IR_CMP_EQ, infer_elem(in, a, i), infer_elem(in, b, i));
        if (same == NO_RESULT)
            return NO_RESULT;
        if (same == 0 || equal == 1)
            equal = same;
    }
    return equal;
}

static int
compare_tuples(struct infer *in, enum ir_cmpop op, struct ir_cell a, struct ir_cell b)
{
    uint32_t n_a = ir_type_info(in->module, a.type)->n_elems;
    uint32_t n_b = ir_type_info(in->module, b.type)->n_elems;
    if (op == IR_CMP_EQ || op == IR_CMP_NE) {
        int equal = n_a == n_b ? compare_tuples_equal(in, a, b, n_a) : 0;
        return equal < 0 ? equal : equal == (op == IR_CMP_EQ);
    }
    bool at_run_time = false;
    for (uint32_t i = 0; i < n_a && i < n_b; i++) {
        struct ir_cell x = infer_elem(in, a, i), y = infer_elem(in, b, i);
        int same = compare_cells(in, IR_CMP_EQ, x, y);
        if (same == NO_RESULT)
            return NO_RESULT;
        if (same == 1)
            continue;
        int order = compare_cells(in, op, x, y);
        if (order == NO_RESULT || same == 0)
            return order == NO_RESULT ? NO_RESULT : at_run_time ? AT_RUN_TIME : order;
        at_run_time = true;
    }
    return at_run_time ? AT_RUN_TIME : compare_lengths(op, n_a, n_b);
}

static bool
compare_is_sequence(enum ir_kind kind)
{
    return kind == IR_KIND_SCALAR || kind == IR_KIND_TUPLE || kind == IR_KIND_RANGE;
}

/* A member of a plain Enum equals itself alone. */
static bool
compare_is_member(struct infer *in, struct ir_cell a)
{
    return a.constant && ir_const_is_plain_member(ir_const_info(in->module, a.constant));
}

/* There is one object per member of an enum. */
static bool
compare_is_named(struct infer *in, struct ir_cell a)
{
    const struct ir_const_info *info = ir_const_info(in->module, a.constant);
    return ir_const_may_be_member(info) && info->named;
}

static int
compare_cells(struct infer *in, enum ir_cmpop op, struct ir_cell a, struct ir_cell b)
{
    bool by_name = compare_is_member(in, a) || compare_is_member(in, b);
    if (by_name && a.constant && b.constant)
        return op == IR_CMP_EQ || op == IR_CMP_NE ? (a.constant == b.constant) == (op == IR_CMP_EQ)
                                                  : NO_RESULT;
    if (ir_type_is_scalar(a.type) && ir_type_is_scalar(b.type)) {
        ir_const folded =
            a.constant && b.constant ? infer_fold_cmp(in->module, op, a.constant, b.constant) : 0;
        return folded ? (int)ir_const_info(in->module, folded)->i : AT_RUN_TIME;
    }
    enum ir_kind kind_a = ir_type_info(in->module, a.type)->kind;
    enum ir_kind kind_b = ir_type_info(in->module, b.type)->kind;
    if (kind_a == IR_KIND_TUPLE && kind_b == IR_KIND_TUPLE)
        return compare_tuples(in, op, a, b);
    if (op != IR_CMP_EQ && op != IR_CMP_NE)
        return NO_RESULT;
    if (infer_is_record(in, a.type) && infer_is_record(in, b.type))
        return infer_same_record(in, a.type, b.type) ? AT_RUN_TIME : NO_RESULT;
    bool objects = kind_a == IR_KIND_OBJECT || kind_b == IR_KIND_OBJECT;
    bool kinds_differ =
        kind_a != kind_b && compare_is_sequence(kind_a) && compare_is_sequence(kind_b);
    if (objects || kinds_differ)
        return (a.type == b.type || ir_same_dtype(in->module, a.type, b.type)) == (op == IR_CMP_EQ);
    return NO_RESULT;
}

static void
compare_result(struct infer *in, int result, struct ir_cell *out)
{
    out->type = IR_T_BOOL;
    out->constant = result >= 0 ? ir_const_bool(in->module, result) : 0;
}

bool
infer_rule_cmp(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    enum ir_cmpop op = ir_operation_imm(instance, ref);
    struct ir_cell a = infer_operand(instance, ref, 0), b = infer_operand(instance, ref, 1);
    if (!infer_known(a.type) || !infer_known(b.type))
        return true;
    int result = compare_cells(in, op, a, b);
    if (result == NO_RESULT)
        return infer_fail_operands(in, instance, ref, ir_cmpop_text(op), a.type, b.type);
    compare_result(in, result, out);
    return true;
}

static bool
compare_fail(struct infer *in, struct ir_instance *instance, ir_ref ref, const char *op, ir_type a,
             ir_type b, const char *hint)
{
    if (in->reporting)
        INFER_FAIL(in, instance, ref, BAD_OPERANDS, op, infer_text(in, a), infer_text(in, b));
    return INFER_HINT(in, "%s", hint);
}

/* Objects are themselves, numbers are none of them; True and False are the only numbers that Python
 * has one of each. */
bool
infer_rule_is(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    bool negated = ir_operation_imm(instance, ref);
    struct ir_cell a = infer_operand(instance, ref, 0), b = infer_operand(instance, ref, 1);
    if (!infer_known(a.type) || !infer_known(b.type))
        return true;
    const char *op = negated ? "is not" : "is";
    if (a.constant && b.constant && (compare_is_named(in, a) || compare_is_named(in, b))) {
        compare_result(in, (a.constant == b.constant) != negated, out);
        return true;
    }
    bool objects = infer_object(in, a.type) || infer_object(in, b.type);
    bool bools = ir_type_is_scalar(a.type) && ir_type_is_scalar(b.type) &&
                 (a.type == IR_T_BOOL || b.type == IR_T_BOOL);
    if (!objects && !bools)
        return compare_fail(in, instance, ref, op, a.type, b.type,
                            "values have no identity in a kernel: write == or !=");
    int same = a.type != b.type ? 0 : objects ? 1 : compare_cells(in, IR_CMP_EQ, a, b);
    compare_result(in, same < 0 ? same : same != negated, out);
    return true;
}

static int
compare_in_tuple(struct infer *in, struct ir_cell item, struct ir_cell tuple)
{
    uint32_t n = ir_type_info(in->module, tuple.type)->n_elems;
    int found = 0;
    for (uint32_t i = 0; i < n; i++) {
        int same = compare_cells(in, IR_CMP_EQ, item, infer_elem(in, tuple, i));
        if (same == NO_RESULT)
            return NO_RESULT;
        if (same == 1 || found == 0)
            found = same;
    }
    return found;
}

/* Whether a text holds another; both may hold NUL. */
static bool
compare_in_text(const struct ir_const_info *text, const struct ir_const_info *part)
{
    for (uint32_t at = 0; at + part->len <= text->len; at++)
        if (memcmp(text->str + at, part->str, part->len) == 0)
            return true;
    return false;
}

static int
compare_in(struct infer *in, struct ir_cell item, struct ir_cell in_what)
{
    const struct ir_const_info *text = infer_object(in, in_what.type);
    const struct ir_const_info *part = infer_object(in, item.type);
    switch ((enum ir_kind)ir_type_info(in->module, in_what.type)->kind) {
    case IR_KIND_TUPLE: return compare_in_tuple(in, item, in_what);
    case IR_KIND_RANGE: return ir_type_is_scalar(item.type) ? AT_RUN_TIME : 0;
    case IR_KIND_OBJECT:
        if (text->kind == IR_C_STR && part && part->kind == IR_C_STR)
            return compare_in_text(text, part);
        return NO_RESULT;
    default: return NO_RESULT;
    }
}

bool
infer_rule_in(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    bool negated = ir_operation_imm(instance, ref);
    struct ir_cell a = infer_operand(instance, ref, 0), b = infer_operand(instance, ref, 1);
    if (!infer_known(a.type) || !infer_known(b.type))
        return true;
    int found = compare_in(in, a, b);
    if (found == NO_RESULT)
        return compare_fail(in, instance, ref, negated ? "not in" : "in", a.type, b.type,
                            ir_type_info(in->module, b.type)->kind == IR_KIND_ARRAY
                                ? "compare with each element in a loop"
                                : "'in' looks into tuples, ranges and strings");
    compare_result(in, found < 0 ? found : found != negated, out);
    return true;
}
