/* interp: executes CORE functions value by value, straight from the meanings in ops.def.
 *
 * In: a verified module and argument bits. Out: how function 0 ended, with which values, and the
 * memory. It is the oracle of the passes' tests and therefore shares nothing with ir/fold.c:
 * integers are 128 bits wide and cut after each step, floats go through long double only where that
 * is exact. Every NaN becomes the one quiet NaN, for payloads and signs of NaN are not defined.
 * What ops.def leaves undefined (a division by zero, a shift by the width), which LLVM would
 * silently turn into anything, ends the run as INTERP_BAD. */
#include "tests/ir/interp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTERP_MAX_DEPTH 64

static void
bad(struct interp *in, const char *problem)
{
    if (in->end != INTERP_BAD)
        in->problem = problem;
    in->end = INTERP_BAD;
}

static uint64_t
cut(ir_type type, uint64_t bits)
{
    unsigned width = ir_machine_bits(type);
    return width < 64 ? bits & ((1ull << width) - 1) : bits;
}

static __int128
as_signed(ir_type type, uint64_t bits)
{
    unsigned width = ir_machine_bits(type);
    __int128 value = bits;
    return bits >> (width - 1) & 1 ? value - ((__int128)1 << width) : value;
}

double
interp_to_double(ir_type type, uint64_t bits)
{
    if (ir_is_half(type))
        return ir_half_value(type, (uint16_t)bits);
    if (type == IR_T_F32) {
        float f;
        uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, 4);
        return f;
    }
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

/* Bits of a value that the type holds exactly. */
uint64_t
interp_from_double(ir_type type, double value)
{
    uint64_t bits = 0;
    if (ir_is_half(type))
        return ir_half_of(type, value);
    if (type == IR_T_F32) {
        float f = (float)value;
        uint32_t low;
        memcpy(&low, &f, 4);
        return isnan(f) ? 0x7fc00000u : low;
    }
    memcpy(&bits, &value, 8);
    return isnan(value) ? 0x7ff8000000000000u : bits;
}

/* + - * / and square roots of floats may be computed in double and rounded again: double has more
 * than twice the digits, so the second rounding does no harm (Figueroa, 1995). */
static uint64_t
run_float(enum ir_op op, ir_type type, const uint64_t *a, struct interp *in)
{
    double x = interp_to_double(type, a[0]), y = interp_to_double(type, a[1]),
           z = interp_to_double(type, a[2]);
    double r;
    switch (op) {
    case IR_FADD: r = x + y; break;
    case IR_FSUB: r = x - y; break;
    case IR_FMUL: r = x * y; break;
    case IR_FDIV: r = x / y; break;
    case IR_FNEG: r = copysign(x, signbit(x) ? 1.0 : -1.0); break;
    case IR_FMA:
        r = type == IR_T_F32 ? (double)fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
        break;
    case IR_FSQRT: r = sqrt(x); break;
    case IR_FABS: r = signbit(x) ? -x : x; break;
    case IR_FFLOOR: r = floor(x); break;
    case IR_FCEIL: r = ceil(x); break;
    case IR_FTRUNC: r = signbit(x) ? ceil(x) : floor(x); break;
    case IR_FRINT: r = nearbyint(x); break;
    case IR_FCOPYSIGN: r = signbit(x) == signbit(y) ? x : -x; break;
    default: bad(in, "float operation"); return 0;
    }
    return interp_from_double(type, r);
}

static uint64_t
run_int(enum ir_op op, ir_type type, uint64_t a, uint64_t b, struct interp *in)
{
    unsigned width = ir_machine_bits(type);
    __int128 x = as_signed(type, a), y = as_signed(type, b);
    __int128 least = -((__int128)1 << (width - 1));
    bool is_signed = op == IR_SDIV || op == IR_SREM;
    unsigned n = 0;
    switch (op) {
    case IR_ADD: return cut(type, (uint64_t)(x + y));
    case IR_ADD_NSW: return cut(type, (uint64_t)(x + y));
    case IR_SUB: return cut(type, (uint64_t)(x - y));
    case IR_MUL: return cut(type, (uint64_t)((unsigned __int128)x * (unsigned __int128)y));
    case IR_MULHI: return cut(type, (uint64_t)((x * y) >> width));
    case IR_SDIV:
    case IR_SREM:
    case IR_UDIV:
    case IR_UREM:
        if (!b || (is_signed && x == least && y == -1)) {
            bad(in, "division");
            return 0;
        }
        if (!is_signed)
            return op == IR_UDIV ? a / b : a % b;
        return cut(type, (uint64_t)(op == IR_SDIV ? x / y : x % y));
    case IR_AND: return a & b;
    case IR_OR: return a | b;
    case IR_XOR: return a ^ b;
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR:
        if (b >= width) {
            bad(in, "shift");
            return 0;
        }
        for (; b; b--) {
            if (op == IR_SHL)
                a = cut(type, a + a);
            else
                a = a / 2 + (op == IR_ASHR && x < 0 ? 1ull << (width - 1) : 0);
        }
        return a;
    case IR_CTPOP:
        for (; a; a &= a - 1)
            n++;
        return n;
    case IR_CTLZ:
        for (n = width; a; a /= 2)
            n--;
        return n;
    default: bad(in, "integer operation"); return 0;
    }
}

static bool
run_icmp(enum ir_icmp predicate, ir_type type, uint64_t a, uint64_t b)
{
    __int128 x = as_signed(type, a), y = as_signed(type, b);
    bool less = predicate >= IR_ICMP_ULT ? a < b : x < y;
    switch (predicate) {
    case IR_ICMP_EQ: return a == b;
    case IR_ICMP_NE: return a != b;
    case IR_ICMP_SLT:
    case IR_ICMP_ULT: return less;
    case IR_ICMP_SLE:
    case IR_ICMP_ULE: return less || a == b;
    case IR_ICMP_SGT:
    case IR_ICMP_UGT: return !less && a != b;
    default: return !less;
    }
}

static bool
run_fcmp(enum ir_fcmp predicate, double x, double y)
{
    bool unordered = x != x || y != y;
    switch (predicate) {
    case IR_FCMP_UNO: return unordered;
    case IR_FCMP_UNE: return unordered || !(x == y);
    case IR_FCMP_OEQ: return !unordered && x == y;
    case IR_FCMP_ONE: return !unordered && !(x == y);
    case IR_FCMP_OLT: return x < y;
    case IR_FCMP_OLE: return x <= y;
    case IR_FCMP_OGT: return y < x;
    default: return y <= x;
    }
}

static uint64_t
run_convert(enum ir_op op, ir_type from, ir_type to, uint64_t a)
{
    switch (op) {
    case IR_SEXT: return cut(to, (uint64_t)as_signed(from, a));
    case IR_ZEXT: return a;
    case IR_TRUNC: return cut(to, a);
    case IR_SITOFP: /* one rounding: long double holds every 64-bit integer */
        return to == IR_T_F32 ? interp_from_double(to, (float)(long double)as_signed(from, a))
                              : interp_from_double(to, (double)(long double)as_signed(from, a));
    case IR_UITOFP:
        return to == IR_T_F32 ? interp_from_double(to, (float)(long double)a)
                              : interp_from_double(to, (double)(long double)a);
    case IR_FPEXT: return interp_from_double(to, interp_to_double(from, a));
    case IR_FPTRUNC: return interp_from_double(to, interp_to_double(from, a));
    case IR_BITCAST: return a;
    default: break;
    }
    double value = interp_to_double(from, a);
    bool is_signed = op == IR_FPTOSI_SAT;
    unsigned width = ir_machine_bits(to);
    __int128 low = is_signed ? -((__int128)1 << (width - 1)) : 0;
    __int128 high = ((__int128)1 << (is_signed ? width - 1 : width)) - 1;
    if (value != value)
        return 0;
    long double wide = value;
    if (wide <= (long double)low)
        return cut(to, (uint64_t)low);
    if (wide >= (long double)high)
        return cut(to, (uint64_t)high);
    return cut(to, (uint64_t)(__int128)value);
}

static unsigned
memory_size_B(ir_type type)
{
    unsigned bits = ir_machine_bits(type);
    return bits < 8 ? 1 : bits / 8;
}

/* The bytes at an address, or NULL if there are none. */
static uint8_t *
memory_at(struct interp *in, uint64_t at)
{
    if (in->real_memory)
        return (uint8_t *)(uintptr_t)at;
    if (at <= INTERP_MEMORY_B - 8)
        return in->memory + at;
    bad(in, "address");
    return NULL;
}

static uint64_t
memory_read(struct interp *in, ir_type type, uint64_t at)
{
    uint64_t bits = 0;
    const uint8_t *from = memory_at(in, at);
    if (from)
        memcpy(&bits, from, memory_size_B(type));
    if (ir_machine_bits(type) == 1)
        bits &= 1;
    if (type == IR_T_F32 || type == IR_T_F64)
        return interp_from_double(type, interp_to_double(type, bits));
    return bits;
}

static void
memory_write(struct interp *in, ir_type type, uint64_t at, uint64_t bits)
{
    uint8_t *to = memory_at(in, at);
    if (to)
        memcpy(to, &bits, memory_size_B(type));
}

/* Room that is not used again in this run. */
static uint64_t
memory_slot(struct interp *in, uint32_t size_B)
{
    if (!in->real_memory || size_B > sizeof in->slots - in->slots_B) {
        bad(in, "slot");
        return 0;
    }
    in->slots_B += (size_B + 7) / 8 * 8;
    return (uint64_t)(uintptr_t)(in->slots + in->slots_B - (size_B + 7) / 8 * 8);
}

/* Of floats: whether `b` takes the place of `a`, for it is less, or greater, in the order of
 * numbers that has -0.0 below 0.0. */
static bool
atomic_replaces(ir_type type, bool greater, uint64_t a, uint64_t b)
{
    double x = interp_to_double(type, a), y = interp_to_double(type, b);
    if (x != x || y != y)
        return false;
    if (x == 0 && y == 0)
        return greater ? signbit(x) && !signbit(y) : !signbit(x) && signbit(y);
    return greater ? y > x : y < x;
}

static uint64_t
run_atomic(enum ir_atomic op, ir_type type, uint64_t a, uint64_t b, struct interp *in)
{
    bool is_signed = op == IR_ATOMIC_SINC || op == IR_ATOMIC_SDEC;
    switch (op) {
    case IR_ATOMIC_ADD: return run_int(IR_ADD, type, a, b, in);
    case IR_ATOMIC_FADD: return run_float(IR_FADD, type, (uint64_t[]){a, b, 0}, in);
    case IR_ATOMIC_SMIN: return run_icmp(IR_ICMP_SLT, type, b, a) ? b : a;
    case IR_ATOMIC_SMAX: return run_icmp(IR_ICMP_SGT, type, b, a) ? b : a;
    case IR_ATOMIC_UMIN: return b < a ? b : a;
    case IR_ATOMIC_UMAX: return b > a ? b : a;
    case IR_ATOMIC_FMIN:
    case IR_ATOMIC_FMAX: return atomic_replaces(type, op == IR_ATOMIC_FMAX, a, b) ? b : a;
    case IR_ATOMIC_FMINNUM:
    case IR_ATOMIC_FMAXNUM: {
        double x = interp_to_double(type, a);
        return x != x || atomic_replaces(type, op == IR_ATOMIC_FMAXNUM, a, b) ? b : a;
    }
    case IR_ATOMIC_SINC:
    case IR_ATOMIC_UINC:
        return run_icmp(is_signed ? IR_ICMP_SGE : IR_ICMP_UGE, type, a, b) ? 0 : cut(type, a + 1);
    case IR_ATOMIC_SDEC:
    case IR_ATOMIC_UDEC:
        return !a || run_icmp(is_signed ? IR_ICMP_SGT : IR_ICMP_UGT, type, a, b) ? b
                                                                                 : cut(type, a - 1);
    case IR_ATOMIC_AND: return a & b;
    case IR_ATOMIC_OR: return a | b;
    case IR_ATOMIC_XOR: return a ^ b;
    case IR_ATOMIC_XCHG: return b;
    default: bad(in, "atomic operation"); return 0;
    }
}

static uint64_t
run_const(const struct ir_module *module, const struct ir_insn *insn)
{
    const struct ir_const_info *info = ir_const_info(module, insn->imm);
    if (insn->type >= IR_T_F16 && insn->type <= IR_T_F64)
        return interp_from_double(insn->type, info->f);
    return cut(insn->type, info->u);
}

static void run_func(struct interp *in, const struct ir_func *func, const uint64_t *args,
                     uint64_t *results);

/* A value of an instruction that is neither a phi nor a terminator. */
static uint64_t
run_insn(struct interp *in, const struct ir_func *func, ir_ref ref, const uint64_t *values,
         uint64_t *const *call_results, const uint64_t *params)
{
    const struct ir_insn *insn = ir_insn(func, ref);
    uint64_t a[3] = {0};
    ir_type from = insn->n_args ? ir_insn(func, ir_arg(func, ref, 0))->type : IR_T_NONE;
    for (uint32_t i = 0; i < insn->n_args && i < 3; i++)
        a[i] = values[ir_arg(func, ref, i)];
    switch ((enum ir_op)insn->op) {
    case IR_PARAM: return params[insn->imm];
    case IR_CONST: return run_const(func->module, insn);
    case IR_ICMP: return run_icmp((enum ir_icmp)insn->imm, from, a[0], a[1]);
    case IR_FCMP:
        return run_fcmp((enum ir_fcmp)insn->imm, interp_to_double(from, a[0]),
                        interp_to_double(from, a[1]));
    case IR_SELECT: return a[0] ? a[1] : a[2];
    case IR_PTRADD: return a[0] + a[1];
    case IR_LOAD: return memory_read(in, insn->type, a[0]);
    case IR_SLOT: return memory_slot(in, insn->imm);
    case IR_STORE:
        memory_write(in, ir_insn(func, ir_arg(func, ref, 1))->type, a[0], a[1]);
        return 0;
    case IR_ATOMIC: {
        uint64_t old = memory_read(in, insn->type, a[0]);
        memory_write(in, insn->type, a[0],
                     run_atomic((enum ir_atomic)insn->imm, insn->type, old, a[1], in));
        return old;
    }
    case IR_CAS: {
        uint64_t old = memory_read(in, insn->type, a[0]);
        if (old == a[1])
            memory_write(in, insn->type, a[0], a[2]);
        return old;
    }
    case IR_RESULT: return call_results[ir_arg(func, ref, 0)][insn->imm];
    case IR_INTRIN:
        if (in->intrin)
            return in->intrin(in->context, insn, a);
        return interp_from_double(insn->type,
                                  cos(interp_to_double(from, a[0]) + (double)insn->imm));
    case IR_EFFECT: return insn->n_args ? a[0] : 0; /* of a block of one thread */
    case IR_YIELD:
    case IR_ACQUIRE:
    case IR_RELEASE: return 0;
    case IR_POLL: in->polls++; return 0;
    case IR_DEEP: return 0;
    default: break;
    }
    if (insn->op >= IR_SEXT && insn->op <= IR_BITCAST)
        return run_convert((enum ir_op)insn->op, from, insn->type, a[0]);
    if (ir_is_half(from) && insn->op == IR_FMA)
        return ir_half_fma(from, (uint16_t)a[0], (uint16_t)a[1], (uint16_t)a[2]);
    if (from == IR_T_F32 || from == IR_T_F64)
        return run_float((enum ir_op)insn->op, from, a, in);
    return run_int((enum ir_op)insn->op, from, a[0], a[1], in);
}

/* All phis of a block take their values at once. */
static uint32_t
run_phis(const struct ir_func *func, uint32_t b, uint32_t from, uint64_t *values)
{
    const struct ir_block *block = &func->blocks.data[b];
    uint32_t k = 0, n = 0;
    while (k < block->preds.len && block->preds.data[k] != from)
        k++;
    while (n < block->insns.len && ir_insn(func, block->insns.data[n])->op == IR_PHI)
        n++;
    uint64_t *next = calloc(n + 1, sizeof *next);
    for (uint32_t i = 0; i < n; i++)
        next[i] = values[ir_arg(func, block->insns.data[i], k)];
    for (uint32_t i = 0; i < n; i++)
        values[block->insns.data[i]] = next[i];
    free(next);
    return n;
}

static void
run_call(struct interp *in, const struct ir_func *func, ir_ref ref, uint64_t *values,
         uint64_t **call_results)
{
    const struct ir_insn *insn = ir_insn(func, ref);
    const struct ir_func *callee = in->module->funcs.data[insn->imm];
    uint64_t *args = calloc(insn->n_args + 1u, sizeof *args);
    for (uint32_t i = 0; i < insn->n_args; i++)
        args[i] = values[ir_arg(func, ref, i)];
    if (!call_results[ref])
        call_results[ref] = calloc(callee->n_results + 1u, sizeof **call_results);
    run_func(in, callee, args, call_results[ref]);
    values[ref] = call_results[ref][0];
    free(args);
}

static void
run_blocks(struct interp *in, const struct ir_func *func, const uint64_t *params, uint64_t *results,
           uint64_t *values, uint64_t **call_results)
{
    uint32_t b = 0, from = 0;
    for (;;) {
        const struct ir_block *block = &func->blocks.data[b];
        for (uint32_t i = run_phis(func, b, from, values); i < block->insns.len; i++) {
            ir_ref ref = block->insns.data[i];
            const struct ir_insn *insn = ir_insn(func, ref);
            if (!in->steps_left--) {
                in->steps_left = 0;
                in->end = INTERP_LIMIT;
                return;
            }
            if (insn->op == IR_RET || insn->op == IR_RAISE) {
                uint64_t *out = insn->op == IR_RET ? results : in->values;
                for (uint32_t k = 0; k < insn->n_args; k++)
                    out[k] = values[ir_arg(func, ref, k)];
                if (insn->op == IR_RAISE) {
                    in->end = INTERP_RAISE;
                    in->site = insn->imm;
                    in->n_values = insn->n_args;
                }
                return;
            }
            if (insn->op == IR_UNREACHABLE) {
                in->end = INTERP_UNREACHABLE;
                return;
            }
            if (insn->op == IR_CALLF)
                run_call(in, func, ref, values, call_results);
            else if (insn->op != IR_JUMP && insn->op != IR_BR)
                values[ref] = run_insn(in, func, ref, values, call_results, params);
            if (in->end != INTERP_RET)
                return;
        }
        from = b;
        ir_ref last = ir_terminator(func, b);
        b = block->succ[ir_insn(func, last)->op == IR_BR && !values[ir_arg(func, last, 0)]];
    }
}

static void
run_func(struct interp *in, const struct ir_func *func, const uint64_t *args, uint64_t *results)
{
    if (in->depth == INTERP_MAX_DEPTH) {
        in->end = INTERP_LIMIT;
        return;
    }
    in->depth++;
    uint64_t *values = calloc(func->insns.len, sizeof *values);
    uint64_t **call_results = calloc(func->insns.len, sizeof *call_results);
    run_blocks(in, func, args, results, values, call_results);
    for (uint32_t i = 0; i < func->insns.len; i++)
        free(call_results[i]);
    free(call_results);
    free(values);
    in->depth--;
}

void
interp_go(struct interp *in, const uint64_t *args)
{
    uint64_t results[INTERP_MAX_RESULTS] = {0};
    const struct ir_func *func = in->module->funcs.data[0];
    in->end = INTERP_RET;
    run_func(in, func, args, results);
    if (in->end == INTERP_RET) {
        in->n_values = func->n_results;
        memcpy(in->values, results, sizeof results);
    }
}

void
interp_run(struct interp *in, const struct ir_module *module, const uint64_t *args,
           uint64_t max_steps)
{
    memset(in, 0, sizeof *in);
    in->module = module;
    in->steps_left = max_steps;
    for (uint32_t i = 0; i < INTERP_MEMORY_B; i++)
        in->memory[i] = (uint8_t)(i * 37 + 11);
    interp_go(in, args);
}
