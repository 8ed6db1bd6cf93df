/* infer_ops: the typing rule of each operation of phase PY.
 *
 * In: an instruction whose operand cells may still rise. Out: its cell. A rule waits (returns true,
 * nothing set) while an operand is unknown, and fails (false) when its operands have no result;
 * once cells are final, failing sets the diagnostic. Rules only rise with their operands, which is
 * what makes the worklist end. */
#include "ir/infer_t.h"

#include <string.h>

const struct sp_src *
infer_src(struct infer *in, const struct ir_instance *instance, ir_ref ref)
{
    struct sp_src *src = SP_NEW(in->ctx->arena, struct sp_src);
    *src = ir_insn_src(instance->func, ref);
    return src;
}

const char *
infer_text(struct infer *in, ir_type type)
{
    struct sp_str text;
    sp_str_init(&text);
    ir_type_print(in->module, type, &text);
    const char *copy = sp_arena_strdup(in->ctx->arena, text.data);
    sp_str_finish(&text);
    return copy;
}

struct ir_cell
infer_typed(ir_type type)
{
    return (struct ir_cell){.type = type};
}

const struct ir_const_info *
infer_object(const struct infer *in, ir_type type)
{
    const struct ir_type_info *info = ir_type_info(in->module, type);
    return info->kind == IR_KIND_OBJECT ? ir_const_info(in->module, info->object) : NULL;
}

const char *
infer_name(const struct infer *in, ir_const str)
{
    return str ? ir_const_info(in->module, str)->str : NULL;
}

static struct ir_cell
infer_constant_tuple(struct infer *in, ir_const constant)
{
    struct ir_const_info info = *ir_const_info(in->module, constant);
    ir_type *elems = SP_NEW_N(in->ctx->arena, ir_type, info.len);
    for (uint32_t i = 0; i < info.len; i++)
        if ((elems[i] = infer_constant(in, info.elems[i]).type) == IR_T_NONE)
            return (struct ir_cell){0};
    return (struct ir_cell){ir_type_intern(in->module, &(struct ir_type_info){.kind = IR_KIND_TUPLE,
                                                                              .object = info.named,
                                                                              .n_elems = info.len,
                                                                              .elems = elems}),
                            constant};
}

static struct ir_cell
infer_constant_array(struct infer *in, ir_const constant)
{
    struct ir_const_info info = *ir_const_info(in->module, constant);
    return (struct ir_cell){
        ir_type_intern(in->module,
                       &(struct ir_type_info){
                           .kind = IR_KIND_ARRAY,
                           .dtype = info.scalar,
                           .rank = (uint8_t)ir_const_info(in->module, info.named)->len,
                           .layout = info.len & IR_ARRAY_F ? IR_LAYOUT_F : IR_LAYOUT_C,
                           .space = IR_SPACE_CONST,
                           .align_log2 = (uint8_t)ir_storable_align(in->module, info.scalar),
                           .read_only = true,
                           .object = info.named}),
        constant};
}

struct ir_cell
infer_constant(struct infer *in, ir_const constant)
{
    const struct ir_const_info *info = ir_const_info(in->module, constant);
    switch ((enum ir_const_kind)info->kind) {
    case IR_C_INT: return (struct ir_cell){IR_T_INT, constant};
    case IR_C_UINT: return (struct ir_cell){IR_T_UINT64, constant};
    case IR_C_FLOAT: return (struct ir_cell){IR_T_FLOAT, constant};
    case IR_C_BOOL: return (struct ir_cell){IR_T_BOOL, constant};
    case IR_C_TYPED: return (struct ir_cell){info->scalar, constant};
    case IR_C_TUPLE: return infer_constant_tuple(in, constant);
    case IR_C_SLICE: return infer_constant_slice(in, constant);
    case IR_C_ARRAY: return infer_constant_array(in, constant);
    case IR_C_NONE_SLOT:
    case IR_C_BIG: return (struct ir_cell){0};
    case IR_C_INTRIN:
        if (ir_intrin_row((enum ir_intrin)info->u)->rule == IR_RULE_SREG)
            return infer_typed(IR_T_INT);
        break;
    default: break;
    }
    return (struct ir_cell){ir_type_object(in->module, constant), constant};
}

static bool
rule_const(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    ir_const constant = ir_insn(instance->func, ref)->imm;
    *out = infer_constant(in, constant);
    const struct ir_const_info *info = ir_const_info(in->module, constant);
    if (info->kind == IR_C_SLICE && !infer_check_constant_slice(in, instance, ref, constant))
        return false;
    if (out->type == IR_T_NONE && info->kind == IR_C_BIG)
        return INFER_FAIL(in, instance, ref, CONSTANT_TOO_LARGE, info->str, "64 bits") ||
               INFER_HINT(in, "the largest is 2**64 - 1: write a float, or several integers");
    if (out->type == IR_T_NONE)
        return INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "this constant");
    return true;
}

static bool
rule_err(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    if (in->reporting && in->ctx->diag->code == SP_OK) {
        sp_diag_finish(in->ctx->diag);
        sp_diag_copy(in->ctx->diag,
                     &instance->func->errors.data[ir_insn(instance->func, ref)->imm]);
        sp_diag_place(in->ctx->diag, infer_src(in, instance, ref));
    }
    return false;
}

/* An int constant that no bit pattern of the other, typed operand can hold is a mistake. */
static bool
infer_check_constant(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell c,
                     ir_type typed)
{
    if (!in->reporting || !c.constant || c.type != IR_T_INT || !ir_is_typed_int(typed))
        return true;
    unsigned bits = ir_scalar_row(typed)->bits;
    int64_t value = ir_const_info(in->module, c.constant)->i;
    if (bits == 64 || (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << bits))
        return true;
    const char *text = sp_arena_printf(in->ctx->arena, "%lld", (long long)value);
    INFER_FAIL(in, instance, ref, CONSTANT_TOO_LARGE, text, infer_text(in, typed));
    return INFER_HINT(in, "write int(...) around the %s operand to compute in 64 bits",
                      infer_text(in, typed));
}

bool
infer_fail_operands(struct infer *in, struct ir_instance *instance, ir_ref ref, const char *op,
                    ir_type a, ir_type b)
{
    if (!in->reporting)
        return false;
    INFER_FAIL(in, instance, ref, BAD_OPERANDS, op, infer_text(in, a), infer_text(in, b));
    bool tuple = ir_type_info(in->module, a)->kind == IR_KIND_TUPLE;
    bool array = ir_type_info(in->module, a)->kind == IR_KIND_ARRAY ||
                 ir_type_info(in->module, b)->kind == IR_KIND_ARRAY;
    if (array)
        return INFER_HINT(in, "a kernel computes with elements: index the array, as in a[i]");
    if (tuple)
        return INFER_HINT(in, "take the tuple's elements apart first");
    if (strcmp(op, "@") == 0)
        return INFER_HINT(in, "multiply matrices element by element, in loops");
    const struct ir_const_info *object = infer_object(in, ir_type_is_scalar(a) ? b : a);
    if (object && object->kind == IR_C_STR)
        return INFER_HINT(in, "a kernel computes with numbers: make texts on the host");
    if (object && object->kind == IR_C_NONE)
        return INFER_HINT(in, "None is no number; a function without a return gives None");
    bool numbers = ir_type_is_scalar(a) && ir_type_is_scalar(b);
    return numbers && strcmp(op, "is") != 0 && strcmp(op, "is not") != 0
               ? INFER_HINT(in, "bits are defined for integers: write int(...) around the float")
               : false;
}

bool
infer_bin_type(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type a, ir_type b,
               ir_type *type_out)
{
    enum ir_binop op = ir_operation_imm(instance, ref) & ~IR_INPLACE;
    int64_t exponent;
    bool negative =
        op == IR_BIN_POW &&
        ir_program_int(in->module, instance->func, ir_operand(instance, ref, 1), &exponent) &&
        exponent < 0;
    enum ir_lowering lowering;
    *type_out = ir_bin_type(op, a, b, negative, &lowering);
    if (*type_out != IR_T_MIXED)
        return true;
    INFER_FAIL(in, instance, ref, MIXED_SIGNS, infer_text(in, a), infer_text(in, b));
    return INFER_HINT(in, "cast one operand, for example gpu.int64(...) or gpu.uint64(...)");
}

static bool
rule_bin(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    enum ir_binop op = ir_operation_imm(instance, ref) & ~IR_INPLACE;
    struct ir_cell a = infer_operand(instance, ref, 0), b = infer_operand(instance, ref, 1);
    if (!infer_known(a.type) || !infer_known(b.type))
        return true;
    if (op == IR_BIN_MOD && infer_is_text(in, a.type))
        return infer_rule_text(in, instance, ref, IR_TEXT_PERCENT, out);
    if (op == IR_BIN_ADD && infer_is_text(in, a.type) && infer_is_text(in, b.type))
        return infer_rule_text_sum(in, instance, ref, a.type, b.type, out);
    if ((ir_operation_imm(instance, ref) & IR_INPLACE) &&
        ir_type_info(in->module, a.type)->kind == IR_KIND_ARRAY)
        return infer_rule_inplace(in, instance, ref, a.type, b.type, out);
    if (infer_is_tuple_bin(in, op, a.type, b.type))
        return infer_rule_tuple_bin(in, instance, ref, out);
    if (!ir_type_is_scalar(a.type) || !ir_type_is_scalar(b.type))
        return infer_fail_operands(in, instance, ref, ir_binop_text(op), a.type, b.type);
    ir_type type;
    if (!infer_bin_type(in, instance, ref, a.type, b.type, &type))
        return false;
    if (type == IR_T_NONE)
        return infer_fail_operands(in, instance, ref, ir_binop_text(op), a.type, b.type);
    bool shift = op == IR_BIN_LSHIFT || op == IR_BIN_RSHIFT || op == IR_BIN_POW;
    if (!shift && (!infer_check_constant(in, instance, ref, a, b.type) ||
                   !infer_check_constant(in, instance, ref, b, a.type)))
        return false;
    out->type = type;
    out->constant =
        a.constant && b.constant ? infer_fold_bin(in->module, op, a.constant, b.constant, type) : 0;
    return true;
}

static bool
rule_un(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    enum ir_unop op = ir_operation_imm(instance, ref);
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    if (op == IR_UN_NOT) {
        int truth = infer_truth(in->module, a);
        if (truth == -2)
            return INFER_FAIL(in, instance, ref, NO_TRUTH, infer_text(in, a.type));
        *out = infer_typed(IR_T_BOOL);
        if (truth >= 0)
            out->constant = ir_const_bool(in->module, !truth);
        return true;
    }
    if (!ir_type_is_scalar(a.type)) {
        const char *hint = infer_number_hint(in, a.type);
        INFER_FAIL(in, instance, ref, BAD_OPERAND, ir_unop_text(op), infer_text(in, a.type));
        return hint ? INFER_HINT(in, "%s", hint) : false;
    }
    enum ir_lowering lowering;
    out->type = ir_un_type(op, a.type, &lowering);
    if (out->type == IR_T_NONE)
        return INFER_FAIL(in, instance, ref, BAD_OPERAND, ir_unop_text(op),
                          infer_text(in, a.type)) ||
               INFER_HINT(in, "bits are defined for integers: write int(...) around the float");
    out->constant = a.constant ? infer_fold_un(in->module, op, a.constant, out->type) : 0;
    return true;
}

static bool
rule_truth(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    struct ir_cell a = infer_operand(instance, ref, 0);
    if (!infer_known(a.type))
        return true;
    int truth = infer_truth(in->module, a);
    if (truth == -2) {
        INFER_FAIL(in, instance, ref, NO_TRUTH, infer_text(in, a.type));
        return ir_type_info(in->module, a.type)->kind == IR_KIND_ARRAY
                   ? INFER_HINT(in, "compare its size: x.size > 0")
                   : false;
    }
    if (ir_insn(instance->func, ref)->op == IR_BR)
        return true;
    out->type = IR_T_BOOL;
    out->constant = truth >= 0 ? ir_const_bool(in->module, truth) : 0;
    return true;
}

static bool
rule_setattr(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    struct ir_cell a = infer_operand(instance, ref, 0), value = infer_operand(instance, ref, 1);
    if (!infer_known(a.type) || !infer_known(value.type))
        return true;
    ir_const name = ir_insn(instance->func, ref)->imm;
    if (infer_has_fields(in, a.type))
        return infer_store_field(in, instance, ref, a.type, name, value.type);
    INFER_FAIL(in, instance, ref, NYI_CONSTRUCT, "assignment to an attribute");
    return INFER_HINT(in, "assign to elements: x[i] = ..., or to fields of records: r.x = ...");
}

/* Whether the call is one of a builtin that looks at its arguments' elements. */
static bool
rule_is_builtin_call(const struct infer *in, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_const_info *callee = infer_object(in, infer_operand(instance, ref, 0).type);
    return callee && callee->kind == IR_C_INTRIN && callee->u != IR_INTRIN_ISINSTANCE;
}

/* Which of a NamedTuple class's own operators this operation would have to call. */
static uint8_t
rule_own(const struct infer *in, const struct ir_instance *instance, ir_ref ref)
{
    switch (ir_operation(instance, ref)) {
    case IR_CALL_EX: return IR_OWN_ELEMENTS;
    case IR_CALL: return rule_is_builtin_call(in, instance, ref) ? IR_OWN_ELEMENTS : 0;
    case IR_BIN:
    case IR_UN: return IR_OWN_OPERATORS;
    case IR_CMP: return IR_OWN_COMPARISONS;
    case IR_IN: return IR_OWN_COMPARISONS | IR_OWN_ELEMENTS;
    case IR_ITEM:
    case IR_ITER:
    case IR_UNPACK:
    case IR_UNPACK_EX: return IR_OWN_ELEMENTS;
    case IR_BR:
    case IR_TRUTH: return IR_OWN_TRUTH;
    default: return 0;
    }
}

/* Tuples have their operators here whatever their class says: one that says otherwise is an
 * error. */
static bool
rule_check_class(struct infer *in, struct ir_instance *instance, ir_ref ref)
{
    uint8_t own = rule_own(in, instance, ref);
    uint32_t n = own ? ir_insn(instance->func, ref)->n_args : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_info *info =
            ir_type_info(in->module, instance->cells[ir_arg(instance->func, ref, i)].type);
        if (info->kind != IR_KIND_TUPLE || !info->object ||
            !(ir_const_info(in->module, info->object)->scalar & own))
            continue;
        const char *class = infer_name(in, ir_const_info(in->module, info->object)->elems[0]);
        INFER_FAIL(
            in, instance, ref, NYI_CONSTRUCT,
            sp_arena_printf(in->ctx->arena, "an operator that the class '%s' defines", class));
        return INFER_HINT(in, "call a method with a name: a.plus(b) instead of a + b");
    }
    return true;
}

bool
infer_rule(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out)
{
    instance->operators[ref] = IR_INTRIN_NONE; /* a callee may have changed */
    return infer_rule_operation(in, instance, ref, out) &&
           infer_check_size(in, instance, ref, out->type);
}

bool
infer_rule_operation(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    if (!rule_check_class(in, instance, ref))
        return false;
    switch (ir_operation(instance, ref)) {
    case IR_PARAM: *out = instance->args[insn->imm]; return true;
    case IR_CONST: return rule_const(in, instance, ref, out);
    case IR_ERR: return rule_err(in, instance, ref);
    case IR_BIN: return rule_bin(in, instance, ref, out);
    case IR_UN: return rule_un(in, instance, ref, out);
    case IR_TEXT: return infer_rule_text(in, instance, ref, (enum ir_recipe)insn->imm, out);
    case IR_THROW: return infer_rule_throw(in, instance, ref);
    case IR_BOUND: *out = infer_operand(instance, ref, 0); return true;
    case IR_CMP: return infer_rule_cmp(in, instance, ref, out);
    case IR_IS: return infer_rule_is(in, instance, ref, out);
    case IR_IN: return infer_rule_in(in, instance, ref, out);
    case IR_BR:
    case IR_TRUTH: return rule_truth(in, instance, ref, out);
    case IR_ATTR: return infer_rule_attr(in, instance, ref, out);
    case IR_ITEM: return infer_rule_item(in, instance, ref, out);
    case IR_SETITEM: return infer_rule_setitem(in, instance, ref);
    case IR_SLICE: return infer_rule_slice(in, instance, ref, out);
    case IR_LIST:
    case IR_TUPLE: return infer_rule_tuple(in, instance, ref, out);
    case IR_UNPACK: return infer_rule_unpack(in, instance, ref, out);
    case IR_UNPACK_EX: return infer_rule_unpack_ex(in, instance, ref, out);
    case IR_ELEM: return infer_rule_elem(in, instance, ref, out);
    case IR_CALL:
    case IR_CALL_EX: return infer_rule_call(in, instance, ref, out);
    case IR_CLOSURE: return infer_rule_closure(in, instance, ref, out);
    case IR_CELL: return infer_rule_cell(in, instance, ref, out);
    case IR_CELLGET: return infer_rule_cellget(in, instance, ref, out);
    case IR_CELLSET: return infer_rule_cellset(in, instance, ref);
    case IR_ITER:
    case IR_MORE:
    case IR_VALUE:
    case IR_NEXT: return infer_rule_step(in, instance, ref, out);
    case IR_SETATTR: return rule_setattr(in, instance, ref);
    default: return true; /* PHI, JUMP, RET, UNDEF, UNREACHABLE */
    }
}
