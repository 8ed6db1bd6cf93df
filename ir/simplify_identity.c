/* simplify_identity: algebra on one instruction, part of ir_opt_simplify.
 *
 * In: an instruction whose operands are simplified. Out: a value that it always equals, or the
 * instruction rewritten into a shorter or canonical form (constants as second operand, comparisons
 * instead of their negations). Each rule is an equation for all operand values: integers modulo
 * their width, floats including zeros, infinities and NaN. */
#include "ir/simplify.h"

/* One instruction taken apart. */
struct identity {
    struct ir_simplify *s;
    struct ir_func *func;
    ir_ref ref;
    struct ir_insn *insn;
    ir_ref a, b; /* operands 0 and 1, or 0 */
    bool ka, kb; /* whether they are constants */
    uint64_t va, vb;
    uint64_t ones; /* all bits of the type of a */
};

static void
identity_load(struct identity *d, struct ir_simplify *s, ir_ref ref)
{
    *d = (struct identity){.s = s, .func = s->func, .ref = ref, .insn = ir_insn(s->func, ref)};
    if (d->insn->n_args > 0) {
        d->a = ir_arg(s->func, ref, 0);
        d->ka = ir_const_bits(s->func, d->a, &d->va);
        unsigned width = ir_machine_bits(ir_insn(s->func, d->a)->type);
        d->ones = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
    }
    if (d->insn->n_args > 1) {
        d->b = ir_arg(s->func, ref, 1);
        d->kb = ir_const_bits(s->func, d->b, &d->vb);
    }
}

static ir_type
type_of(const struct identity *d, ir_ref ref)
{
    return ir_insn(d->func, ref)->type;
}

/* Makes the instruction another of one or two operands. New constants come first: they move insns.
 * */
static ir_ref
become(struct identity *d, enum ir_op op, uint32_t imm, ir_ref a, ir_ref b)
{
    struct ir_insn *insn = ir_insn(d->func, d->ref);
    insn->op = (uint16_t)op;
    insn->imm = imm;
    insn->n_args = b ? 2 : 1;
    ir_args(d->func, d->ref)[0] = a;
    if (b)
        ir_args(d->func, d->ref)[1] = b;
    d->s->changed = true;
    return 0;
}

static ir_ref
constant(const struct identity *d, uint64_t bits)
{
    return ir_simplify_const(d->s, d->insn->type, bits);
}

/* `ref` is op(x, constant): gives both. */
static bool
is_with_const(const struct identity *d, ir_ref ref, enum ir_op op, ir_ref *x, uint64_t *bits)
{
    if (ir_insn(d->func, ref)->op != op || !ir_const_bits(d->func, ir_arg(d->func, ref, 1), bits))
        return false;
    *x = ir_arg(d->func, ref, 0);
    return true;
}

static ir_ref
reassociate(struct identity *d)
{
    enum ir_op op = (enum ir_op)d->insn->op;
    ir_ref x;
    uint64_t inner;
    if (!d->kb || !is_with_const(d, d->a, op, &x, &inner))
        return 0;
    uint64_t bits;
    if (op == IR_PTRADD)
        bits = inner + d->vb;
    else if (!ir_fold(op, 0, d->insn->type, d->insn->type, (uint64_t[]){inner, d->vb, 0}, &bits))
        return 0;
    ir_ref k = ir_simplify_const(d->s, type_of(d, d->b), bits);
    return become(d, op, 0, x, k);
}

static ir_ref
simplify_add(struct identity *d)
{
    if (d->kb && !d->vb)
        return d->a;
    return d->insn->op == IR_ADD ? reassociate(d) : 0;
}

static ir_ref
simplify_sub(struct identity *d)
{
    if (d->kb && !d->vb)
        return d->a;
    return d->a == d->b ? constant(d, 0) : 0;
}

static ir_ref
simplify_mul(struct identity *d)
{
    if (d->kb && !d->vb)
        return d->b;
    if (d->kb && d->vb == 1)
        return d->a;
    return reassociate(d);
}

static ir_ref
simplify_divide(struct identity *d)
{
    bool is_rem = d->insn->op == IR_SREM || d->insn->op == IR_UREM;
    if (d->kb && d->vb == 1)
        return is_rem ? constant(d, 0) : d->a;
    return d->ka && !d->va ? d->a : 0;
}

static ir_ref
simplify_and_or(struct identity *d)
{
    bool is_and = d->insn->op == IR_AND;
    if (d->a == d->b)
        return d->a;
    if (d->kb && d->vb == (is_and ? d->ones : 0))
        return d->a;
    if (d->kb && d->vb == (is_and ? 0 : d->ones))
        return d->b;
    return reassociate(d);
}

static enum ir_icmp
inverted(enum ir_icmp predicate)
{
    static const uint8_t table[] = {
        [IR_ICMP_EQ] = IR_ICMP_NE,   [IR_ICMP_NE] = IR_ICMP_EQ,   [IR_ICMP_SLT] = IR_ICMP_SGE,
        [IR_ICMP_SLE] = IR_ICMP_SGT, [IR_ICMP_SGT] = IR_ICMP_SLE, [IR_ICMP_SGE] = IR_ICMP_SLT,
        [IR_ICMP_ULT] = IR_ICMP_UGE, [IR_ICMP_ULE] = IR_ICMP_UGT, [IR_ICMP_UGT] = IR_ICMP_ULE,
        [IR_ICMP_UGE] = IR_ICMP_ULT,
    };
    return (enum ir_icmp)table[predicate];
}

static enum ir_icmp
swapped(enum ir_icmp predicate)
{
    static const uint8_t table[] = {
        [IR_ICMP_EQ] = IR_ICMP_EQ,   [IR_ICMP_NE] = IR_ICMP_NE,   [IR_ICMP_SLT] = IR_ICMP_SGT,
        [IR_ICMP_SLE] = IR_ICMP_SGE, [IR_ICMP_SGT] = IR_ICMP_SLT, [IR_ICMP_SGE] = IR_ICMP_SLE,
        [IR_ICMP_ULT] = IR_ICMP_UGT, [IR_ICMP_ULE] = IR_ICMP_UGE, [IR_ICMP_UGT] = IR_ICMP_ULT,
        [IR_ICMP_UGE] = IR_ICMP_ULE,
    };
    return (enum ir_icmp)table[predicate];
}

static ir_ref
simplify_xor(struct identity *d)
{
    if (d->a == d->b)
        return constant(d, 0);
    if (d->kb && !d->vb)
        return d->a;
    if (d->kb && d->insn->type == IR_T_I1) { /* a negation */
        const struct ir_insn *inner = ir_insn(d->func, d->a);
        if (inner->op == IR_ICMP)
            return become(d, IR_ICMP, inverted((enum ir_icmp)inner->imm), ir_arg(d->func, d->a, 0),
                          ir_arg(d->func, d->a, 1));
        if (inner->op == IR_FCMP && (inner->imm == IR_FCMP_OEQ || inner->imm == IR_FCMP_UNE))
            return become(d, IR_FCMP, inner->imm == IR_FCMP_OEQ ? IR_FCMP_UNE : IR_FCMP_OEQ,
                          ir_arg(d->func, d->a, 0), ir_arg(d->func, d->a, 1));
    }
    return reassociate(d);
}

/* x itself or its negation, x an i1. */
static ir_ref
truth(struct identity *d, ir_ref x, bool negate)
{
    if (!negate)
        return x;
    ir_ref one = ir_simplify_const(d->s, IR_T_I1, 1);
    return become(d, IR_XOR, 0, x, one);
}

static ir_ref
simplify_icmp(struct identity *d)
{
    enum ir_icmp predicate = (enum ir_icmp)d->insn->imm;
    bool is_eq = predicate == IR_ICMP_EQ, is_ne = predicate == IR_ICMP_NE;
    if (d->a == d->b)
        return constant(d, is_eq || predicate == IR_ICMP_SLE || predicate == IR_ICMP_SGE ||
                               predicate == IR_ICMP_ULE || predicate == IR_ICMP_UGE);
    if (d->ka && !d->kb)
        return become(d, IR_ICMP, swapped(predicate), d->b, d->a);
    if (!d->kb || d->vb > 1 || !(is_eq || is_ne))
        return 0;
    if (type_of(d, d->a) == IR_T_I1)
        return truth(d, d->a, is_eq != (d->vb == 1));
    const struct ir_insn *inner = ir_insn(d->func, d->a);
    if (inner->op == IR_ZEXT && type_of(d, ir_arg(d->func, d->a, 0)) == IR_T_I1)
        return truth(d, ir_arg(d->func, d->a, 0), is_eq != (d->vb == 1));
    return 0;
}

static ir_ref
simplify_select(struct identity *d)
{
    ir_ref c = ir_arg(d->func, d->ref, 2);
    uint64_t vc;
    if (d->ka)
        return d->va ? d->b : c;
    if (d->b == c)
        return c;
    if (d->insn->type == IR_T_I1 && d->kb && ir_const_bits(d->func, c, &vc)) /* b != c */
        return truth(d, d->a, !d->vb);
    return 0;
}

static ir_ref
simplify_extend(struct identity *d)
{
    const struct ir_insn *inner = ir_insn(d->func, d->a);
    enum ir_op op = (enum ir_op)d->insn->op;
    if (inner->op == IR_ZEXT) /* the sign bit is 0 */
        return become(d, IR_ZEXT, 0, ir_arg(d->func, d->a, 0), 0);
    if (op == IR_SEXT && inner->op == IR_SEXT)
        return become(d, IR_SEXT, 0, ir_arg(d->func, d->a, 0), 0);
    return 0;
}

static ir_ref
simplify_trunc(struct identity *d)
{
    const struct ir_insn *inner = ir_insn(d->func, d->a);
    if (inner->op != IR_SEXT && inner->op != IR_ZEXT && inner->op != IR_TRUNC)
        return 0;
    ir_ref x = ir_arg(d->func, d->a, 0);
    unsigned have = ir_machine_bits(type_of(d, x)), want = ir_machine_bits(d->insn->type);
    if (have == want)
        return x;
    return become(d, have > want ? IR_TRUNC : (enum ir_op)inner->op, 0, x, 0);
}

/* op(op(x)) */
static ir_ref
inner_of(const struct identity *d, enum ir_op op)
{
    return ir_insn(d->func, d->a)->op == op ? ir_arg(d->func, d->a, 0) : 0;
}

/* Of a value that was widened: itself, or rounded from where it came. */
static ir_ref
simplify_fptrunc(struct identity *d)
{
    ir_ref x = inner_of(d, IR_FPEXT);
    if (!x || type_of(d, x) == d->insn->type)
        return x;
    bool narrows = ir_machine_bits(type_of(d, x)) > ir_machine_bits(d->insn->type);
    return narrows ? become(d, IR_FPTRUNC, 0, x, 0) : 0;
}

static ir_ref
simplify_float(struct identity *d)
{
    bool is_f32 = d->insn->type == IR_T_F32;
    uint64_t one = is_f32 ? 0x3f800000u : 0x3ff0000000000000u;
    uint64_t minus_zero = is_f32 ? 0x80000000u : 0x8000000000000000u;
    ir_ref x;
    switch ((enum ir_op)d->insn->op) {
    case IR_FADD: return d->kb && d->vb == minus_zero ? d->a : 0;
    case IR_FSUB: return d->kb && !d->vb ? d->a : 0;
    case IR_FMUL:
    case IR_FDIV: return d->kb && d->vb == one ? d->a : 0;
    case IR_FNEG: return inner_of(d, IR_FNEG);
    case IR_FABS:
        if (ir_insn(d->func, d->a)->op == IR_FABS)
            return d->a;
        x = inner_of(d, IR_FNEG);
        return x ? become(d, IR_FABS, 0, x, 0) : 0;
    default: return 0;
    }
}

ir_ref
ir_simplify_identity(struct ir_simplify *s, ir_ref ref)
{
    struct identity d;
    identity_load(&d, s, ref);
    enum ir_op op = (enum ir_op)d.insn->op;
    if (ir_is_commutative(op) && d.ka && !d.kb) {
        become(&d, op, d.insn->imm, d.b, d.a);
        identity_load(&d, s, ref);
    }
    switch (op) {
    case IR_ADD:
    case IR_ADD_NSW: return simplify_add(&d);
    case IR_SUB: return simplify_sub(&d);
    case IR_MUL: return simplify_mul(&d);
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM: return simplify_divide(&d);
    case IR_AND:
    case IR_OR: return simplify_and_or(&d);
    case IR_XOR: return simplify_xor(&d);
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR: return (d.kb && !d.vb) || (d.ka && !d.va) ? d.a : 0;
    case IR_ICMP: return simplify_icmp(&d);
    case IR_SELECT: return simplify_select(&d);
    case IR_PTRADD: return d.kb && !d.vb ? d.a : reassociate(&d);
    case IR_SEXT:
    case IR_ZEXT: return simplify_extend(&d);
    case IR_TRUNC: return simplify_trunc(&d);
    case IR_FPTRUNC: return simplify_fptrunc(&d);
    case IR_BITCAST: return type_of(&d, d.a) == d.insn->type ? d.a : 0;
    case IR_FADD:
    case IR_FSUB:
    case IR_FMUL:
    case IR_FDIV:
    case IR_FNEG:
    case IR_FABS: return simplify_float(&d);
    default: return 0;
    }
}
