/* lower_emit: adds CORE instructions for the rest of lowering, folding constants on the way.
 *
 * In: an operation and its operands. Out: the value, which is an existing one where the operands
 * are constants or the operation does nothing. Folding here is what lowering itself needs to write
 * its general sequences only once (a guarded division by a constant loses its guards); everything
 * else is ir_opt_simplify's.
 *
 * Constants are kept once per function at the head of its entry, where they dominate every use: the
 * alternative, a constant at each use, makes functions longer and needs a pass to merge them.
 *
 *     select(icmp.eq(7, 0), 1, 7)        ->   7
 *     zext i64 (const i32 5)             ->   const i64 5 */
#include "ir/lower.h"

#include <assert.h>
#include <math.h>
#include <string.h>

ir_ref
lower_emit(struct lower *l, enum ir_op op, ir_type type, uint32_t imm, uint32_t n,
           const ir_ref *args)
{
    return ir_insn_add(l->func, l->block, op, type, imm, n, args);
}

/* ---- Constants ---- */

static int64_t
emit_wrap(int64_t value, ir_type machine)
{
    unsigned bits = ir_machine_bits(machine);
    if (bits >= 64)
        return value;
    uint64_t up = (uint64_t)value << (64 - bits);
    return (int64_t)up >> (64 - bits);
}

static ir_ref
emit_const(struct lower *l, ir_type machine, ir_const c)
{
    while (c >= l->const_of.len)
        sp_vec_push(l->core->arena, &l->const_of, (struct lower_const_of){0, 0, 0});
    struct lower_const_of *known = &l->const_of.data[c];
    if (known->func == l->func->index + 1 && known->type == machine)
        return known->ref;
    struct ir_block *entry = &l->func->blocks.data[0];
    for (uint32_t i = 0; known->func == l->func->index + 1 && i < l->n_consts; i++) {
        const struct ir_insn *insn = ir_insn(l->func, entry->insns.data[i]);
        if (insn->imm == c && insn->type == machine)
            return entry->insns.data[i];
    }
    uint32_t src = l->func->src;
    l->func->src = 0;
    ir_ref ref = ir_insn_add(l->func, 0, IR_CONST, machine, c, 0, NULL);
    l->func->src = src;
    entry = &l->func->blocks.data[0];
    ir_ref *at = entry->insns.data + l->n_consts;
    memmove(at + 1, at, (entry->insns.len - 1 - l->n_consts) * sizeof *at);
    *at = ref;
    l->n_consts++;
    *known = (struct lower_const_of){l->func->index + 1, machine, ref};
    return ref;
}

ir_ref
lower_int(struct lower *l, ir_type machine, int64_t value)
{
    if (machine == IR_T_I1)
        return lower_bool(l, value & 1);
    return emit_const(l, machine, ir_const_int(l->core, emit_wrap(value, machine)));
}

ir_ref
lower_float(struct lower *l, ir_type machine, double value)
{
    if (machine == IR_T_F32)
        value = (float)value;
    else if (ir_is_half(machine))
        value = ir_half_value(machine, ir_half_of(machine, value));
    return emit_const(l, machine, ir_const_float(l->core, value));
}

ir_ref
lower_bool(struct lower *l, bool value)
{
    return emit_const(l, IR_T_I1, ir_const_bool(l->core, value));
}

static const struct ir_const_info *
emit_const_of(const struct lower *l, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(l->func, ref);
    return insn->op == IR_CONST ? ir_const_info(l->core, insn->imm) : NULL;
}

bool
lower_int_of(const struct lower *l, ir_ref ref, int64_t *value_out)
{
    const struct ir_const_info *c = emit_const_of(l, ref);
    if (!c || (c->kind != IR_C_INT && c->kind != IR_C_BOOL))
        return false;
    *value_out = c->i;
    return true;
}

bool
lower_float_of(const struct lower *l, ir_ref ref, double *value_out)
{
    const struct ir_const_info *c = emit_const_of(l, ref);
    if (!c || c->kind != IR_C_FLOAT)
        return false;
    *value_out = c->f;
    return true;
}

/* ---- Operations ---- */

ir_ref
lower_op1(struct lower *l, enum ir_op op, ir_ref a)
{
    double f;
    if (op == IR_FNEG && lower_float_of(l, a, &f))
        return lower_float(l, lower_type_of(l, a), -f);
    if (ir_is_half(lower_type_of(l, a)))
        return lower_half_op1(l, op, a);
    return lower_emit(l, op, lower_type_of(l, a), 0, 1, &a);
}

/* Two integer constants; false: not folded here. */
static bool
emit_fold(enum ir_op op, int64_t a, int64_t b, int64_t *value_out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case IR_ADD:
    case IR_ADD_NSW: x += y; break;
    case IR_SUB: x -= y; break;
    case IR_MUL: x *= y; break;
    case IR_AND: x &= y; break;
    case IR_OR: x |= y; break;
    case IR_XOR: x ^= y; break;
    default: return false;
    }
    *value_out = (int64_t)x;
    return true;
}

/* One integer constant that makes the operation do nothing, or its result known; 0: none. */
static ir_ref
emit_identity(struct lower *l, enum ir_op op, ir_ref a, int64_t b, ir_ref b_ref)
{
    ir_type type = lower_type_of(l, a);
    int64_t ones = type == IR_T_I1 ? 1 : -1;
    switch (op) {
    case IR_ADD:
    case IR_ADD_NSW:
    case IR_SUB:
    case IR_XOR:
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR: return b == 0 ? a : 0;
    case IR_MUL: return b == 1 ? a : b == 0 ? b_ref : 0;
    case IR_AND: return b == ones ? a : b == 0 ? b_ref : 0;
    case IR_OR: return b == 0 ? a : b == ones ? b_ref : 0;
    default: return 0;
    }
}

ir_ref
lower_op2(struct lower *l, enum ir_op op, ir_ref a, ir_ref b)
{
    ir_type type = lower_type_of(l, a);
    assert((op == IR_PTRADD || type == lower_type_of(l, b)) && "operands of one type");
    if (ir_is_half(type))
        return lower_half_op2(l, op, a, b);
    int64_t x, y, value;
    bool x_known = op != IR_PTRADD && lower_int_of(l, a, &x);
    bool y_known = lower_int_of(l, b, &y);
    if (x_known && y_known && emit_fold(op, x, y, &value))
        return lower_int(l, type, value);
    ir_ref same = y_known ? emit_identity(l, op, a, y, b) : 0;
    bool commutes = op == IR_ADD || op == IR_ADD_NSW || op == IR_MUL || op == IR_AND ||
                    op == IR_OR || op == IR_XOR;
    if (!same && x_known && commutes)
        same = emit_identity(l, op, b, x, a);
    if (op == IR_PTRADD && y_known && y == 0)
        same = a;
    return same ? same : lower_emit(l, op, type, 0, 2, (ir_ref[]){a, b});
}

ir_ref
lower_fma(struct lower *l, ir_ref a, ir_ref b, ir_ref c)
{
    return lower_emit(l, IR_FMA, lower_type_of(l, a), 0, 3, (ir_ref[]){a, b, c});
}

ir_ref
lower_icmp(struct lower *l, enum ir_icmp cmp, ir_ref a, ir_ref b)
{
    assert(lower_type_of(l, a) == lower_type_of(l, b) && "operands of one type");
    int64_t x, y;
    if (lower_int_of(l, a, &x) && lower_int_of(l, b, &y)) {
        uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
        if (lower_type_of(l, a) == IR_T_I1) /* as signed, true is -1 */
            x = -x, y = -y;
        bool result[IR_N_ICMPS] = {
            [IR_ICMP_EQ] = x == y,
            [IR_ICMP_NE] = x != y,
            [IR_ICMP_SLT] = x<y, [IR_ICMP_SLE] = x <= y, [IR_ICMP_SGT] = x> y,
            [IR_ICMP_SGE] = x >= y,
            [IR_ICMP_ULT] = ux<uy, [IR_ICMP_ULE] = ux <= uy, [IR_ICMP_UGT] = ux> uy,
            [IR_ICMP_UGE] = ux >= uy,
        };
        return lower_bool(l, result[cmp]);
    }
    return lower_emit(l, IR_ICMP, IR_T_I1, cmp, 2, (ir_ref[]){a, b});
}

ir_ref
lower_fcmp(struct lower *l, enum ir_fcmp cmp, ir_ref a, ir_ref b)
{
    assert(lower_type_of(l, a) == lower_type_of(l, b) && "operands of one type");
    if (ir_is_half(lower_type_of(l, a)))
        return lower_fcmp(l, cmp, lower_half_widen(l, a), lower_half_widen(l, b));
    return lower_emit(l, IR_FCMP, IR_T_I1, cmp, 2, (ir_ref[]){a, b});
}

ir_ref
lower_select(struct lower *l, ir_ref condition, ir_ref yes, ir_ref no)
{
    assert(lower_type_of(l, yes) == lower_type_of(l, no) && "arms of one type");
    int64_t known;
    if (yes == no)
        return yes;
    if (lower_int_of(l, condition, &known))
        return known ? yes : no;
    return lower_emit(l, IR_SELECT, lower_type_of(l, yes), 0, 3, (ir_ref[]){condition, yes, no});
}

ir_ref
lower_not(struct lower *l, ir_ref a)
{
    return lower_op2(l, IR_XOR, a, lower_bool(l, true));
}

/* `low` and `high` are the ends of the target's range as floats; high is exclusive. */
static int64_t
emit_saturate(double f, unsigned bits, bool is_signed)
{
    if (isnan(f))
        return 0;
    double high = ldexp(1, (int)bits - is_signed);
    double low = is_signed ? -high : 0;
    uint64_t max = is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (f >= high)
        return (int64_t)max;
    if (f <= low)
        return is_signed ? (int64_t)~max : 0;
    return is_signed ? (int64_t)f : (int64_t)(uint64_t)f;
}

static ir_ref
emit_cast_int(struct lower *l, enum ir_op op, ir_type to, int64_t v, ir_type from)
{
    unsigned bits = ir_machine_bits(from);
    uint64_t u = bits < 64 ? (uint64_t)v & (((uint64_t)1 << bits) - 1) : (uint64_t)v;
    switch (op) {
    case IR_SEXT:
    case IR_TRUNC: return lower_int(l, to, v);
    case IR_ZEXT: return lower_int(l, to, (int64_t)u);
    case IR_SITOFP:
    case IR_UITOFP:
        if (ir_is_half(to)) /* by way of a wider float, which folds */
            return 0;
        if (to == IR_T_F32)
            return lower_float(l, to, op == IR_SITOFP ? (double)(float)v : (double)(float)u);
        return lower_float(l, to, op == IR_SITOFP ? (double)v : (double)u);
    default: return 0;
    }
}

ir_ref
lower_cast(struct lower *l, enum ir_op op, ir_type to, ir_ref a)
{
    ir_type from = lower_type_of(l, a);
    int64_t v;
    double f;
    ir_ref folded = 0;
    if (lower_int_of(l, a, &v))
        folded = emit_cast_int(l, op, to, v, from);
    else if (lower_float_of(l, a, &f) && (op == IR_FPEXT || op == IR_FPTRUNC))
        folded = lower_float(l, to, f);
    else if (lower_float_of(l, a, &f) && (op == IR_FPTOSI_SAT || op == IR_FPTOUI_SAT))
        folded = lower_int(l, to, emit_saturate(f, ir_machine_bits(to), op == IR_FPTOSI_SAT));
    if (!folded && (ir_is_half(from) || ir_is_half(to)))
        return lower_half_cast(l, op, to, a);
    return folded ? folded : lower_emit(l, op, to, 0, 1, &a);
}

ir_ref
lower_intrin1(struct lower *l, enum ir_intrin id, ir_ref a)
{
    if (ir_is_half(lower_type_of(l, a)))
        return lower_half_narrow(l, lower_intrin1(l, id, lower_half_widen(l, a)),
                                 lower_type_of(l, a));
    return lower_emit(l, IR_INTRIN, lower_type_of(l, a), id, 1, &a);
}

ir_ref
lower_intrin2(struct lower *l, enum ir_intrin id, ir_ref a, ir_ref b)
{
    ir_type type = lower_type_of(l, a);
    if (ir_is_half(type)) {
        ir_ref wide_b = lower_type_of(l, b) == type ? lower_half_widen(l, b) : b;
        return lower_half_narrow(l, lower_intrin2(l, id, lower_half_widen(l, a), wide_b), type);
    }
    return lower_emit(l, IR_INTRIN, type, id, 2, (ir_ref[]){a, b});
}

/* ---- Sign ---- */

void
lower_mark_nonneg(struct lower *l, ir_ref ref)
{
    if (ref >= l->nonneg.len) {
        uint32_t more = ref + 1 - l->nonneg.len;
        sp_vec_reserve(l->core->arena, &l->nonneg, more);
        memset(l->nonneg.data + l->nonneg.len, 0, more);
        l->nonneg.len += more;
    }
    l->nonneg.data[ref] = 1;
}

static bool
emit_is_nonneg(const struct lower *l, ir_ref ref, unsigned depth)
{
    if (ref < l->nonneg.len && l->nonneg.data[ref])
        return true;
    int64_t v;
    if (lower_int_of(l, ref, &v))
        return v >= 0;
    const struct ir_insn *insn = ir_insn(l->func, ref);
    if (insn->op == IR_ZEXT)
        return true; /* always to a wider type */
    if (!depth)
        return false;
    const ir_ref *args = ir_args(l->func, ref);
    switch (insn->op) {
    case IR_AND:
        return emit_is_nonneg(l, args[0], depth - 1) || emit_is_nonneg(l, args[1], depth - 1);
    case IR_OR:
    case IR_XOR:
    case IR_UDIV:
    case IR_UREM:
        return emit_is_nonneg(l, args[0], depth - 1) && emit_is_nonneg(l, args[1], depth - 1);
    case IR_ASHR:
    case IR_LSHR:
    case IR_SEXT: return emit_is_nonneg(l, args[0], depth - 1);
    case IR_SELECT:
        return emit_is_nonneg(l, args[1], depth - 1) && emit_is_nonneg(l, args[2], depth - 1);
    default: return false;
    }
}

bool
lower_is_nonneg(const struct lower *l, ir_ref ref)
{
    return emit_is_nonneg(l, ref, 4);
}

/* ---- Loops ---- */

void
lower_loop_open(struct lower *l, struct lower_loop *loop, uint32_t n, const ir_ref *first)
{
    assert(n <= LOWER_LOOP_PHIS && "room for the phis");
    loop->n = n;
    loop->head = ir_block_new(l->func);
    ir_jump(l->func, l->block, loop->head);
    l->block = loop->head;
    for (uint32_t i = 0; i < n; i++) {
        loop->first[i] = first[i];
        loop->phis[i] = ir_phi_new(l->func, loop->head, lower_type_of(l, first[i]), 0);
    }
}

void
lower_loop_test(struct lower *l, struct lower_loop *loop, ir_ref go_on)
{
    uint32_t body = ir_block_new(l->func);
    loop->exit = ir_block_new(l->func);
    ir_br(l->func, l->block, go_on, body, loop->exit);
    l->block = body;
}

void
lower_loop_close(struct lower *l, struct lower_loop *loop, const ir_ref *next)
{
    ir_jump(l->func, l->block, loop->head);
    for (uint32_t i = 0; i < loop->n; i++)
        ir_phi_set(l->func, loop->phis[i], 2, (ir_ref[]){loop->first[i], next[i]});
    l->block = loop->exit;
}
