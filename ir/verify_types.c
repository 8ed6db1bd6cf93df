/* verify_types: the part of the verifier that looks at one instruction: its immediate against what
 * it names, and in phase CORE the machine types of operands and result.
 *
 * One flat switch by operation; ops.def says how many operands there are, docs/ir.md which types.
 * */
#include "ir/verify.h"

#include <string.h>

/* A constant of this kind, or the message. */
static bool
check_const(const struct ir_verify *v, ir_ref ref, enum ir_const_kind kind, const char *what)
{
    uint32_t imm = ir_insn(v->func, ref)->imm;
    if (!imm || imm >= v->module->consts.len || ir_const_info(v->module, imm)->kind != kind)
        return ir_verify_fail(v, ref, "the immediate is no %s", what);
    return true;
}

static bool
check_names(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    if (!insn->n_args || (insn->op == IR_CALL_EX && insn->n_args < 2))
        return ir_verify_fail(v, ref, "a call needs its callee and its arguments");
    if (!insn->imm)
        return true;
    if (!check_const(v, ref, IR_C_TUPLE, "tuple of names"))
        return false;
    const struct ir_const_info *names = ir_const_info(v->module, insn->imm);
    if (names->len > insn->n_args - (insn->op == IR_CALL_EX ? 2u : 1u))
        return ir_verify_fail(v, ref, "more names than arguments");
    for (uint32_t i = 0; i < names->len; i++)
        if (ir_const_info(v->module, names->elems[i])->kind != IR_C_STR)
            return ir_verify_fail(v, ref, "a name that is no text");
    return true;
}

/* A function with free variables, or with defaults of its definition, is never a constant. */
static bool
check_is_closed(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_const_info *info = ir_const_info(v->module, ir_insn(v->func, ref)->imm);
    if (v->module->phase != IR_PHASE_PY || info->kind != IR_C_FUNC ||
        info->u >= v->module->funcs.len || !ir_func_n_given(v->module->funcs.data[info->u]))
        return true;
    return ir_verify_fail(v, ref, "a constant is a function that needs a closure");
}

bool
ir_verify_imm(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    const struct ir_module *module = v->module;
    uint32_t imm = insn->imm;
    uint32_t limit = UINT32_MAX;
    switch (ir_imm_of((enum ir_op)insn->op)) {
    case IR_IMM_NONE: return true;
    case IR_IMM_NUMBER: return true;
    case IR_IMM_CONST:
        if (!imm || imm >= module->consts.len)
            return ir_verify_fail(v, ref, "no constant");
        return check_is_closed(v, ref);
    case IR_IMM_NAME: return check_const(v, ref, IR_C_STR, "name");
    case IR_IMM_OPT_NAME: return !imm || check_const(v, ref, IR_C_STR, "name");
    case IR_IMM_NAMES: return check_names(v, ref);
    case IR_IMM_INTRIN:
        if (!imm || imm >= IR_N_INTRINS)
            return ir_verify_fail(v, ref, "no such intrinsic");
        return true;
    case IR_IMM_INPLACE:
        if (imm && imm != IR_INPLACE)
            return ir_verify_fail(v, ref, "bad immediate");
        return true;
    case IR_IMM_BINOP:
        imm &= ~IR_INPLACE;
        limit = IR_N_BINOPS;
        break;
    case IR_IMM_PARAM: limit = ir_func_n_slots(v->func); break;
    case IR_IMM_UNOP: limit = IR_N_UNOPS; break;
    case IR_IMM_CMPOP: limit = IR_N_CMPOPS; break;
    case IR_IMM_TEXT: limit = IR_N_TEXTS; break;
    case IR_IMM_NOT: limit = 2; break;
    case IR_IMM_ERROR: limit = v->func->errors.len; break;
    case IR_IMM_ICMP: limit = IR_N_ICMPS; break;
    case IR_IMM_FCMP: limit = IR_N_FCMPS; break;
    case IR_IMM_ATOMIC: limit = IR_N_ATOMICS; break;
    case IR_IMM_ALIGN:
        imm &= insn->op == IR_LOAD ? ~IR_VOLATILE : UINT32_MAX;
        limit = 16;
        break;
    case IR_IMM_FUNC:
        if (insn->op == IR_CLOSURE && imm < module->funcs.len &&
            insn->n_args < ir_func_n_given(module->funcs.data[imm]))
            return ir_verify_fail(v, ref, "function @%u needs %u elements", imm,
                                  ir_func_n_given(module->funcs.data[imm]));
        limit = module->funcs.len;
        break;
    case IR_IMM_SITE: limit = module->sites.len; break;
    }
    if (imm >= limit)
        return ir_verify_fail(v, ref, "immediate %u, must be below %u", imm, limit);
    return true;
}

static ir_type
arg_type(const struct ir_verify *v, ir_ref ref, uint32_t i)
{
    return ir_insn(v->func, ir_arg(v->func, ref, i))->type;
}

static bool
want(const struct ir_verify *v, ir_ref ref, bool ok, const char *what)
{
    return ok || ir_verify_fail(v, ref, "%s", what);
}

static bool
check_const_type(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    uint8_t kind = ir_const_info(v->module, insn->imm)->kind;
    bool ok = kind == IR_C_INT || (kind == IR_C_BOOL && ir_is_int(insn->type)) ||
              (kind == IR_C_UINT && insn->type == IR_T_I64);
    if (ir_is_float(insn->type) || ir_is_half(insn->type))
        ok = kind == IR_C_FLOAT;
    return want(v, ref, ok, "the constant is not of this type");
}

static bool
check_call(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    const struct ir_func *callee = v->module->funcs.data[insn->imm];
    if (insn->n_args != callee->n_params)
        return ir_verify_fail(v, ref, "%u arguments, function @%u takes %u", insn->n_args,
                              insn->imm, callee->n_params);
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (arg_type(v, ref, i) != callee->params[i].type)
            return ir_verify_fail(v, ref, "argument %u is not of type %s", i,
                                  ir_machine_name(callee->params[i].type));
    ir_type first = callee->n_results ? callee->results[0] : IR_T_VOID;
    return want(v, ref, insn->type == first || (!insn->type && first == IR_T_VOID),
                "not of the callee's first result's type");
}

static bool
check_result(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    const struct ir_insn *call = ir_insn(v->func, ir_arg(v->func, ref, 0));
    if (call->op != IR_CALLF)
        return ir_verify_fail(v, ref, "the operand is no call");
    if (call->imm >= v->module->funcs.len)
        return ir_verify_fail(v, ref, "the operand calls no function");
    const struct ir_func *callee = v->module->funcs.data[call->imm];
    if (!insn->imm || insn->imm >= callee->n_results)
        return ir_verify_fail(v, ref, "function @%u has %u results", call->imm, callee->n_results);
    return want(v, ref, insn->type == callee->results[insn->imm], "not of the result's type");
}

static bool
check_ret(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    if (insn->n_args != v->func->n_results)
        return ir_verify_fail(v, ref, "%u values, the function has %u results", insn->n_args,
                              v->func->n_results);
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (arg_type(v, ref, i) != v->func->results[i])
            return ir_verify_fail(v, ref, "value %u is not of the result's type", i);
    return true;
}

static bool
check_site(const struct ir_verify *v, ir_ref ref, uint32_t most)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    if (insn->n_args != v->module->sites.data[insn->imm].n_values || insn->n_args > most)
        return ir_verify_fail(v, ref, "%u values, the site has %u", insn->n_args,
                              v->module->sites.data[insn->imm].n_values);
    for (uint32_t i = 0; i < insn->n_args; i++)
        if (arg_type(v, ref, i) != IR_T_I64)
            return ir_verify_fail(v, ref, "value %u is not of type i64", i);
    return true;
}

static bool
check_convert(const struct ir_verify *v, ir_ref ref, ir_type from, ir_type to)
{
    if (from <= IR_T_VOID || from >= IR_N_FIXED_TYPES)
        return ir_verify_fail(v, ref, "the operand has no machine type");
    unsigned from_bits = ir_machine_bits(from), to_bits = ir_machine_bits(to);
    bool ok = false;
    switch ((enum ir_op)ir_insn(v->func, ref)->op) {
    case IR_SEXT:
    case IR_ZEXT: ok = ir_is_int(from) && ir_is_int(to) && from_bits < to_bits; break;
    case IR_TRUNC: ok = ir_is_int(from) && ir_is_int(to) && from_bits > to_bits; break;
    case IR_SITOFP:
    case IR_UITOFP: ok = ir_is_int(from) && ir_is_float(to); break;
    case IR_FPTOSI_SAT:
    case IR_FPTOUI_SAT: ok = ir_is_float(from) && ir_is_int(to) && to != IR_T_I1; break;
    case IR_FPEXT:
        ok = (from == IR_T_F32 && to == IR_T_F64) || (ir_is_half(from) && to == IR_T_F32);
        break;
    case IR_FPTRUNC:
        ok = ir_is_float(from) && (ir_is_half(to) || (to == IR_T_F32 && from != to));
        break;
    case IR_BITCAST: ok = from_bits == to_bits && from_bits > 1; break;
    default: break;
    }
    return want(v, ref, ok, "no such conversion between these types");
}

/* Operands all of the first one's type. */
static bool
check_same(const struct ir_verify *v, ir_ref ref)
{
    for (uint32_t i = 1; i < ir_insn(v->func, ref)->n_args; i++)
        if (arg_type(v, ref, i) != arg_type(v, ref, 0))
            return ir_verify_fail(v, ref, "operands of different types");
    return true;
}

/* By the types that intrin.def gives; rows of floats have none, there codegen looks. */
static bool
check_intrin(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    const char *at = ir_intrin_types((enum ir_intrin)insn->imm);
    bool is_pure = ir_intrin_row((enum ir_intrin)insn->imm)->flags & IR_PURE;
    if (is_pure != (insn->op == IR_INTRIN))
        return ir_verify_fail(v, ref, is_pure ? "it has no effects" : "it has effects");
    if (!*at)
        return want(v, ref, is_pure, "no operation of its own");
    ir_type same = IR_T_NONE;
    for (uint32_t i = 0; i <= insn->n_args; i++) {
        ir_type type = i ? arg_type(v, ref, i - 1) : insn->type;
        size_t len = strcspn(at, " ");
        if (!len)
            return ir_verify_fail(v, ref, "too many operands");
        bool ok;
        if (*at == 'T' || *at == 'F') {
            ok = *at == 'F' ? ir_is_float(type) : ir_is_int(type) && type != IR_T_I1;
            ok &= (same == IR_T_NONE || type == same);
            same = type;
        } else {
            const char *name = type ? ir_machine_name(type) : "void";
            ok = strlen(name) == len && memcmp(name, at, len) == 0;
        }
        if (!ok)
            return ir_verify_fail(v, ref, i ? "operand %u is of another type" : "of another type",
                                  i - 1);
        at += len + (at[len] == ' ');
    }
    return want(v, ref, !*at, "too few operands");
}

static bool
check_operands(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    ir_type type = insn->type;
    ir_type a = insn->n_args ? arg_type(v, ref, 0) : IR_T_NONE;
    switch ((enum ir_op)insn->op) {
    case IR_PARAM:
        return want(v, ref, type == v->func->params[insn->imm].type, "not of the parameter's type");
    case IR_CONST: return check_const_type(v, ref);
    case IR_PHI:
        return check_same(v, ref) &&
               want(v, ref, !insn->n_args || a == type, "operands of another type");
    case IR_BR: return want(v, ref, a == IR_T_I1, "the condition is not of type i1");
    case IR_RET: return check_ret(v, ref);
    case IR_AND:
    case IR_OR:
    case IR_XOR: return want(v, ref, ir_is_int(a), "integers needed") && check_same(v, ref);
    case IR_ADD:
    case IR_ADD_NSW:
    case IR_SUB:
    case IR_MUL:
    case IR_MULHI:
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM:
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR:
    case IR_CTPOP:
    case IR_CTLZ:
        return want(v, ref, ir_is_int(a) && a != IR_T_I1, "integers needed") && check_same(v, ref);
    case IR_ICMP:
        return want(v, ref, ir_is_int(a) || ir_is_ptr(a), "integers or addresses needed") &&
               check_same(v, ref);
    case IR_FADD:
    case IR_FSUB:
    case IR_FMUL:
    case IR_FDIV:
    case IR_FNEG:
    case IR_FSQRT:
    case IR_FABS:
    case IR_FFLOOR:
    case IR_FCEIL:
    case IR_FTRUNC:
    case IR_FRINT:
    case IR_FCOPYSIGN:
    case IR_FCMP: return want(v, ref, ir_is_float(a), "floats needed") && check_same(v, ref);
    case IR_FMA:
        return want(v, ref, ir_is_float(a) || ir_is_half(a), "floats needed") && check_same(v, ref);
    case IR_SELECT:
        return want(v, ref, a == IR_T_I1, "the condition is not of type i1") &&
               want(v, ref, arg_type(v, ref, 1) == type && arg_type(v, ref, 2) == type,
                    "operands of another type");
    case IR_PTRADD:
        return want(v, ref, ir_is_ptr(a), "an address needed") &&
               want(v, ref, arg_type(v, ref, 1) == IR_T_I64, "the offset is not of type i64");
    case IR_LOAD:
    case IR_STORE: return want(v, ref, ir_is_ptr(a), "an address needed");
    case IR_SLOT:
        return want(v, ref, ir_is_ptr(type), "an address needed") &&
               want(v, ref, (insn->imm & IR_MAX_SLOT_B) && insn->imm >> 24 <= IR_MAX_ALIGN_LOG2,
                    "a size of at least 1 byte, an alignment of at most 2 ** 12");
    case IR_STATIC:
        return want(v, ref, insn->imm < v->module->statics.len, "a static of the module") &&
               want(v, ref,
                    type == (v->module->statics.data[insn->imm].space == IR_SPACE_CONST
                                 ? IR_T_PTR_CONST
                                 : IR_T_PTR_SHARED),
                    "not of the static's address type");
    case IR_DYNSHARED: return want(v, ref, type == IR_T_PTR_SHARED, "not of type ptr.shared");
    case IR_DYNSIZE: return want(v, ref, type == IR_T_I64, "not of type i64");
    case IR_ATOMIC:
        return want(v, ref, ir_is_ptr(a), "an address needed") &&
               want(v, ref, arg_type(v, ref, 1) == type, "operand of another type") &&
               want(v, ref, ir_atomic_takes((enum ir_atomic)insn->imm, type),
                    "no such atomic on this type");
    case IR_CAS:
        return want(v, ref, ir_is_ptr(a), "an address needed") &&
               want(v, ref, arg_type(v, ref, 1) == type && arg_type(v, ref, 2) == type,
                    "operands of another type") &&
               want(v, ref, !ir_is_ptr(type), "no such atomic on this type");
    case IR_CALLF: return check_call(v, ref);
    case IR_RESULT: return check_result(v, ref);
    case IR_PRINT: return check_site(v, ref, SP_PRINT_VALUES);
    case IR_RAISE: return check_site(v, ref, SP_FAULT_VALUES);
    case IR_INTRIN:
    case IR_EFFECT: return check_intrin(v, ref);
    case IR_SEXT:
    case IR_ZEXT:
    case IR_TRUNC:
    case IR_SITOFP:
    case IR_UITOFP:
    case IR_FPTOSI_SAT:
    case IR_FPTOUI_SAT:
    case IR_FPEXT:
    case IR_FPTRUNC:
    case IR_BITCAST: return check_convert(v, ref, a, type);
    default: return true;
    }
}

bool
ir_verify_types(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    uint8_t result = ir_op_row((enum ir_op)insn->op)->result;
    ir_type type = insn->type;
    if (result == IR_RESULT_NONE) {
        if (type && type != IR_T_VOID)
            return ir_verify_fail(v, ref, "a type without a value");
    } else if (!ir_op_may_be_void((enum ir_op)insn->op) &&
               (type <= IR_T_VOID || type >= IR_N_FIXED_TYPES)) {
        return ir_verify_fail(v, ref, "no machine type");
    }
    if (result == IR_RESULT_I1 && type != IR_T_I1)
        return ir_verify_fail(v, ref, "the result is not of type i1");
    if (result == IR_RESULT_SAME && type != arg_type(v, ref, 0))
        return ir_verify_fail(v, ref, "the result is not of operand 0's type");
    return check_operands(v, ref);
}
