/* run_core: an interpreter of CORE, a switch over operations, written from ops.def alone. Traps, as
 * failed assertions, on everything that lowering promises never to do (division by zero, shift
 * counts out of range), which LLVM would silently turn into anything. */
#include "tests/ir/run_core.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct frame {
    struct run_core *run;
    const struct ir_func *func;
    const uint64_t *args;
    uint64_t *values;
    uint64_t **results; /* of CALLF instructions */
};

static uint64_t
mask_of(ir_type type)
{
    unsigned bits = ir_machine_bits(type);
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static int64_t
as_signed(uint64_t v, ir_type type)
{
    unsigned bits = ir_machine_bits(type);
    return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static double
as_float(uint64_t v, ir_type type)
{
    float f;
    double d;
    uint32_t low = (uint32_t)v;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &v, sizeof d);
    return type == IR_T_F32 ? (double)f : d;
}

static uint64_t
from_float(double d, ir_type type)
{
    float f = (float)d;
    uint32_t low;
    uint64_t v;
    memcpy(&low, &f, sizeof low);
    memcpy(&v, &d, sizeof v);
    return type == IR_T_F32 ? low : v;
}

static uint64_t
run_const(const struct ir_const_info *c, ir_type type)
{
    return c->kind == IR_C_FLOAT ? from_float(c->f, type) : (uint64_t)c->i & mask_of(type);
}

static uint64_t
run_int(enum ir_op op, uint64_t a, uint64_t b, ir_type type)
{
    int64_t sa = as_signed(a, type), sb = as_signed(b, type);
    unsigned bits = ir_machine_bits(type);
    uint64_t r = 0;
    switch (op) {
    case IR_ADD:
    case IR_ADD_NSW: r = a + b; break;
    case IR_SUB: r = a - b; break;
    case IR_MUL: r = a * b; break;
    case IR_SDIV:
    case IR_SREM:
        assert(b != 0 && "sdiv by zero");
        assert(!(sb == -1 && a == (uint64_t)1 << (bits - 1)) && "sdiv overflows");
        r = (uint64_t)(op == IR_SDIV ? sa / sb : sa % sb);
        break;
    case IR_UDIV:
    case IR_UREM:
        assert(b != 0 && "udiv by zero");
        r = op == IR_UDIV ? a / b : a % b;
        break;
    case IR_AND: r = a & b; break;
    case IR_OR: r = a | b; break;
    case IR_XOR: r = a ^ b; break;
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR:
        assert(b < bits && "shift count out of range");
        r = op == IR_SHL ? a << b : op == IR_LSHR ? a >> b : (uint64_t)(sa >> b);
        break;
    default: assert(!"not of two integers");
    }
    return r & mask_of(type);
}

static bool
run_icmp(enum ir_icmp cmp, uint64_t a, uint64_t b, ir_type type)
{
    int64_t sa = as_signed(a, type), sb = as_signed(b, type);
    switch (cmp) {
    case IR_ICMP_EQ: return a == b;
    case IR_ICMP_NE: return a != b;
    case IR_ICMP_SLT: return sa < sb;
    case IR_ICMP_SLE: return sa <= sb;
    case IR_ICMP_SGT: return sa > sb;
    case IR_ICMP_SGE: return sa >= sb;
    case IR_ICMP_ULT: return a < b;
    case IR_ICMP_ULE: return a <= b;
    case IR_ICMP_UGT: return a > b;
    case IR_ICMP_UGE: return a >= b;
    case IR_N_ICMPS: break;
    }
    assert(!"no such comparison");
    return false;
}

static bool
run_fcmp(enum ir_fcmp cmp, double a, double b)
{
    switch (cmp) {
    case IR_FCMP_OEQ: return a == b;
    case IR_FCMP_UNE: return a != b;
    case IR_FCMP_OLT: return a < b;
    case IR_FCMP_OLE: return a <= b;
    case IR_FCMP_OGT: return a > b;
    case IR_FCMP_OGE: return a >= b;
    case IR_FCMP_UNO: return isnan(a) || isnan(b);
    case IR_FCMP_ONE: return a < b || a > b;
    case IR_N_FCMPS: break;
    }
    assert(!"no such comparison");
    return false;
}

/* float32 through double is exact for + - * / and sqrt (2 * 24 + 2 <= 53); fma has its own. */
static uint64_t
run_float(enum ir_op op, const uint64_t *x, ir_type type)
{
    double a = as_float(x[0], type), b = as_float(x[1], type), c = as_float(x[2], type), r = 0;
    switch (op) {
    case IR_FADD: r = a + b; break;
    case IR_FSUB: r = a - b; break;
    case IR_FMUL: r = a * b; break;
    case IR_FDIV: r = a / b; break;
    case IR_FNEG: r = -a; break;
    case IR_FMA:
        r = type == IR_T_F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
        break;
    case IR_FSQRT: r = sqrt(a); break;
    case IR_FABS: r = fabs(a); break;
    case IR_FFLOOR: r = floor(a); break;
    case IR_FCEIL: r = ceil(a); break;
    case IR_FTRUNC: r = trunc(a); break;
    case IR_FRINT: r = rint(a); break;
    case IR_FCOPYSIGN: r = copysign(a, b); break;
    default: assert(!"not of floats");
    }
    return from_float(r, type);
}

static uint64_t
run_saturate(double f, ir_type to, bool is_signed)
{
    unsigned bits = ir_machine_bits(to);
    if (isnan(f))
        return 0;
    f = trunc(f);
    if (is_signed) {
        uint64_t min = (uint64_t)1 << (bits - 1);
        if (f >= ldexp(1, (int)bits - 1))
            return min - 1;
        return (f < -ldexp(1, (int)bits - 1) ? min : (uint64_t)(int64_t)f) & mask_of(to);
    }
    if (f >= ldexp(1, (int)bits))
        return mask_of(to);
    return f <= 0 ? 0 : (uint64_t)f;
}

static uint64_t
run_cast(enum ir_op op, uint64_t v, ir_type from, ir_type to)
{
    switch (op) {
    case IR_SEXT: return (uint64_t)as_signed(v, from) & mask_of(to);
    case IR_ZEXT:
    case IR_BITCAST: return v;
    case IR_TRUNC: return v & mask_of(to);
    case IR_SITOFP: {
        int64_t i = as_signed(v, from);
        return from_float(to == IR_T_F32 ? (double)(float)i : (double)i, to);
    }
    case IR_UITOFP: return from_float(to == IR_T_F32 ? (double)(float)v : (double)v, to);
    case IR_FPTOSI_SAT: return run_saturate(as_float(v, from), to, true);
    case IR_FPTOUI_SAT: return run_saturate(as_float(v, from), to, false);
    case IR_FPEXT:
    case IR_FPTRUNC: return from_float(as_float(v, from), to);
    default: break;
    }
    assert(!"no conversion");
    return 0;
}

static uint64_t
run_intrin(struct frame *f, const struct ir_insn *insn, const uint64_t *x)
{
    const struct run_core *run = f->run;
    enum ir_intrin id = (enum ir_intrin)insn->imm;
    ir_type t = insn->type;
    double a = as_float(x[0], t), b = as_float(x[1], t);
    bool single = t == IR_T_F32;
    switch (id) {
    case IR_INTRIN_TID_X:
    case IR_INTRIN_TID_Y:
    case IR_INTRIN_TID_Z: return run->tid[id - IR_INTRIN_TID_X];
    case IR_INTRIN_CTAID_X:
    case IR_INTRIN_CTAID_Y:
    case IR_INTRIN_CTAID_Z: return run->ctaid[id - IR_INTRIN_CTAID_X];
    case IR_INTRIN_NTID_X:
    case IR_INTRIN_NTID_Y:
    case IR_INTRIN_NTID_Z: return run->ntid[id - IR_INTRIN_NTID_X];
    case IR_INTRIN_NCTAID_X:
    case IR_INTRIN_NCTAID_Y:
    case IR_INTRIN_NCTAID_Z: return run->nctaid[id - IR_INTRIN_NCTAID_X];
    case IR_INTRIN_FMOD: return from_float(fmod(a, b), t);
    case IR_INTRIN_POW: return from_float(single ? powf((float)a, (float)b) : pow(a, b), t);
    case IR_INTRIN_EXP: return from_float(single ? expf((float)a) : exp(a), t);
    case IR_INTRIN_LOG: return from_float(single ? logf((float)a) : log(a), t);
    case IR_INTRIN_HYPOT: return from_float(single ? hypotf((float)a, (float)b) : hypot(a, b), t);
    case IR_INTRIN_LDEXP: {
        int e = (int)as_signed(x[1], IR_T_I32);
        return from_float(single ? (double)ldexpf((float)a, e) : ldexp(a, e), t);
    }
    default: break;
    }
    assert(!"this intrinsic is not interpreted");
    return 0;
}

static uint64_t
run_load(uint64_t address, ir_type type)
{
    uint64_t v = 0;
    memcpy(&v, (const void *)(uintptr_t)address, ir_machine_bits(type) / 8);
    return v;
}

static void
run_store(uint64_t address, ir_type type, uint64_t v)
{
    assert(type != IR_T_I1 && "lowering stores bools as bytes");
    memcpy((void *)(uintptr_t)address, &v, ir_machine_bits(type) / 8);
}

static uint64_t
run_atomic(const struct ir_insn *insn, uint64_t address, uint64_t v)
{
    uint64_t old = run_load(address, insn->type);
    bool is_float = insn->imm == IR_ATOMIC_FADD;
    run_store(address, insn->type,
              is_float ? run_float(IR_FADD, (uint64_t[]){old, v, 0}, insn->type)
                       : run_int(IR_ADD, old, v, insn->type));
    return old;
}

static bool
run_call(struct frame *f, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(f->func, ref);
    const struct ir_func *callee = f->run->module->funcs.data[insn->imm];
    uint64_t *args = SP_NEW_N(f->run->arena, uint64_t, insn->n_args);
    for (uint32_t i = 0; i < insn->n_args; i++)
        args[i] = f->values[ir_arg(f->func, ref, i)];
    f->results[ref] = SP_NEW_N(f->run->arena, uint64_t, callee->n_results);
    if (!run_core(f->run, insn->imm, args, f->results[ref]))
        return false;
    if (callee->n_results)
        f->values[ref] = f->results[ref][0];
    return true;
}

static bool
run_insn(struct frame *f, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(f->func, ref);
    enum ir_op op = (enum ir_op)insn->op;
    uint64_t x[3] = {0, 0, 0}, *out = &f->values[ref];
    ir_type a = 0;
    for (uint32_t i = 0; i < insn->n_args && i < 3; i++)
        x[i] = f->values[ir_arg(f->func, ref, i)];
    if (insn->n_args)
        a = ir_insn(f->func, ir_arg(f->func, ref, 0))->type;
    if (op == IR_CONST)
        *out = run_const(ir_const_info(f->run->module, insn->imm), insn->type);
    else if (op == IR_PARAM)
        *out = f->args[insn->imm];
    else if (op >= IR_ADD && op <= IR_ASHR)
        *out = run_int(op, x[0], x[1], insn->type);
    else if (op == IR_ICMP)
        *out = run_icmp((enum ir_icmp)insn->imm, x[0], x[1], a);
    else if (op == IR_CTPOP)
        *out = (uint64_t)__builtin_popcountll(x[0]);
    else if (op == IR_CTLZ)
        *out =
            x[0] ? (uint64_t)__builtin_clzll(x[0]) - (64 - ir_machine_bits(a)) : ir_machine_bits(a);
    else if (op >= IR_FADD && op <= IR_FCOPYSIGN)
        *out = run_float(op, x, insn->type);
    else if (op == IR_FCMP)
        *out = run_fcmp((enum ir_fcmp)insn->imm, as_float(x[0], a), as_float(x[1], a));
    else if (op >= IR_SEXT && op <= IR_BITCAST)
        *out = run_cast(op, x[0], a, insn->type);
    else if (op == IR_SELECT)
        *out = x[0] ? x[1] : x[2];
    else if (op == IR_PTRADD)
        *out = x[0] + x[1];
    else if (op == IR_LOAD)
        *out = run_load(x[0], insn->type);
    else if (op == IR_STORE)
        run_store(x[0], ir_insn(f->func, ir_arg(f->func, ref, 1))->type, x[1]);
    else if (op == IR_ATOMIC)
        *out = run_atomic(insn, x[0], x[1]);
    else if (op == IR_RESULT)
        *out = f->results[ir_arg(f->func, ref, 0)][insn->imm];
    else if (op == IR_INTRIN)
        *out = run_intrin(f, insn, x);
    else if (op == IR_POLL)
        f->run->polls++;
    else if (op == IR_CALLF)
        return run_call(f, ref);
    else
        assert(!"no such operation in CORE");
    return true;
}

/* The phis of `block` take their values at once. */
static void
run_phis(struct frame *f, uint32_t block, uint32_t from)
{
    const struct ir_block *b = &f->func->blocks.data[block];
    uint32_t pred = 0, n = 0;
    while (b->preds.data[pred] != from)
        pred++;
    while (ir_insn(f->func, b->insns.data[n])->op == IR_PHI)
        n++;
    uint64_t *next = sp_alloc(n * sizeof *next);
    for (uint32_t i = 0; i < n; i++)
        next[i] = f->values[ir_arg(f->func, b->insns.data[i], pred)];
    for (uint32_t i = 0; i < n; i++)
        f->values[b->insns.data[i]] = next[i];
    free(next);
}

static bool
run_raise(struct frame *f, ir_ref ref)
{
    f->run->raised = true;
    f->run->site = ir_insn(f->func, ref)->imm;
    for (uint32_t i = 0; i < ir_insn(f->func, ref)->n_args; i++)
        f->run->values[i] = (int64_t)f->values[ir_arg(f->func, ref, i)];
    return false;
}

bool
run_core(struct run_core *run, uint32_t func, const uint64_t *args, uint64_t *results_out)
{
    struct frame f = {.run = run, .func = run->module->funcs.data[func], .args = args};
    f.values = SP_NEW_N(run->arena, uint64_t, f.func->insns.len);
    f.results = SP_NEW_N(run->arena, uint64_t *, f.func->insns.len);
    uint32_t block = 0;
    for (;;) {
        const struct ir_block *b = &f.func->blocks.data[block];
        for (uint32_t i = 0; i + 1 < b->insns.len; i++) {
            if (ir_insn(f.func, b->insns.data[i])->op == IR_PHI)
                continue;
            if (!run->steps_left || !run_insn(&f, b->insns.data[i]))
                return false;
            run->steps_left--;
        }
        ir_ref end = b->insns.data[b->insns.len - 1];
        switch ((enum ir_op)ir_insn(f.func, end)->op) {
        case IR_RET:
            for (uint32_t i = 0; i < ir_insn(f.func, end)->n_args; i++)
                results_out[i] = f.values[ir_arg(f.func, end, i)];
            return true;
        case IR_RAISE: return run_raise(&f, end);
        case IR_JUMP:
        case IR_BR: break;
        default: assert(!"unreachable code is never reached"); return false;
        }
        bool no = b->n_succ == 2 && !f.values[ir_arg(f.func, end, 0)];
        uint32_t to = b->succ[no];
        run_phis(&f, to, block);
        block = to;
        if (!run->steps_left)
            return false;
        run->steps_left--;
    }
}
