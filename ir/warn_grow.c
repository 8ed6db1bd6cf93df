/* warn_grow: ints that come from uint32 elements, outgrow 32 bits, and show it.
 *
 * In C a uint32 wraps; here it becomes an int of 64 bits as soon as it is read, so a hash or a
 * random number generator that was translated word by word goes wrong at the first `>>`. Elements
 * of other sums and products outgrow 32 bits too and are right so, hence few things count as
 * growth: a shift to the left, ~, a product with a constant of more than 16 bits or of two such
 * values, a sum with a constant of more than 24 bits. What is masked is small again.
 *
 *     h = x[i]                  [0, 2^32)   from uint32
 *     h = h * 1664525           [0, 2^53)   and grown
 *     y[i] = h >> 16            warning: the high bits are seen
 *     y[i] = h                  none: a store keeps the low bits
 *
 * Algorithm: intervals and two marks per value, forward over all live instances until nothing
 * rises; an interval that grows at a phi, a parameter or a result goes to the whole of int at
 * once. */
#include "ir/warn.h"

#include <string.h>

#define GROW_MAX INT64_MAX
#define GROW_MIN INT64_MIN
#define GROW_U32 1u  /* comes from uint32 elements */
#define GROW_WIDE 2u /* grew beyond them */

struct grow_fact {
    bool known;
    uint8_t marks;
    int64_t lo, hi;
};

/* One instance: facts per instruction and parameter, and of the result. */
struct grow_instance {
    struct grow_fact *facts, *params, result;
};

struct grow {
    const struct warn *w;
    struct grow_instance *instances;
    bool changed;
};

static struct grow_fact
grow_range(int64_t lo, int64_t hi)
{
    return (struct grow_fact){.known = true, .lo = lo, .hi = hi};
}

/* What an integer laid out like this can be. */
static struct grow_fact
grow_of_dtype(ir_type dtype)
{
    unsigned bits = ir_type_is_scalar(dtype) ? ir_scalar_row(dtype)->bits : 64;
    struct grow_fact fact = grow_range(GROW_MIN, GROW_MAX);
    if (dtype == IR_T_BOOL)
        fact = grow_range(0, 1);
    else if (bits < 64 && ir_is_unsigned(dtype))
        fact = grow_range(0, ((int64_t)1 << bits) - 1);
    else if (bits < 64 && ir_is_integer(dtype))
        fact = grow_range(-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1);
    if (dtype == IR_T_UINT32)
        fact.marks = GROW_U32;
    return fact;
}

/* Lifts `to`; a bound that moves goes to its end. */
static void
grow_join(struct grow *g, struct grow_fact *to, struct grow_fact with)
{
    if (!with.known)
        return;
    struct grow_fact old = *to;
    if (!old.known) {
        *to = with;
    } else {
        to->marks |= with.marks;
        to->lo = with.lo < old.lo ? GROW_MIN : old.lo;
        to->hi = with.hi > old.hi ? GROW_MAX : old.hi;
    }
    g->changed |= !old.known || to->marks != old.marks || to->lo != old.lo || to->hi != old.hi;
}

static bool
grow_is_constant(struct grow_fact fact)
{
    return fact.lo == fact.hi;
}

static int64_t
grow_size(struct grow_fact fact)
{
    int64_t low = fact.lo == GROW_MIN ? GROW_MAX : fact.lo < 0 ? -fact.lo : fact.lo;
    int64_t high = fact.hi < 0 ? -(fact.hi + 1) : fact.hi;
    return low > high ? low : high;
}

static struct grow_fact
grow_add(struct grow_fact a, struct grow_fact b)
{
    struct grow_fact out = grow_range(GROW_MIN, GROW_MAX);
    int64_t lo, hi;
    if (!__builtin_add_overflow(a.lo, b.lo, &lo) && !__builtin_add_overflow(a.hi, b.hi, &hi))
        out = grow_range(lo, hi);
    return out;
}

static struct grow_fact
grow_negated(struct grow_fact a)
{
    return a.lo == GROW_MIN ? grow_range(GROW_MIN, GROW_MAX) : grow_range(-a.hi, -a.lo);
}

static struct grow_fact
grow_mul(struct grow_fact a, struct grow_fact b)
{
    int64_t lo = GROW_MAX, hi = GROW_MIN, corner;
    for (int i = 0; i < 4; i++) {
        if (__builtin_mul_overflow(i & 1 ? a.lo : a.hi, i & 2 ? b.lo : b.hi, &corner))
            return grow_range(GROW_MIN, GROW_MAX);
        lo = corner < lo ? corner : lo;
        hi = corner > hi ? corner : hi;
    }
    return grow_range(lo, hi);
}

/* The least 2^k - 1 that is not below. */
static int64_t
grow_mask(int64_t value)
{
    return value == 0 ? 0 : (int64_t)(UINT64_MAX >> __builtin_clzll((uint64_t)value));
}

static struct grow_fact
grow_bits(enum ir_binop op, struct grow_fact a, struct grow_fact b)
{
    bool both = a.lo >= 0 && b.lo >= 0;
    if (op != IR_BIN_AND)
        return both ? grow_range(0, grow_mask(a.hi > b.hi ? a.hi : b.hi))
                    : grow_range(GROW_MIN, GROW_MAX);
    if (both)
        return grow_range(0, a.hi < b.hi ? a.hi : b.hi);
    return a.lo >= 0   ? grow_range(0, a.hi)
           : b.lo >= 0 ? grow_range(0, b.hi)
                       : grow_range(GROW_MIN, GROW_MAX);
}

static struct grow_fact
grow_shift(enum ir_binop op, struct grow_fact a, struct grow_fact count)
{
    if (!grow_is_constant(count) || count.lo < 0 || count.lo > 62)
        return op == IR_BIN_RSHIFT && a.lo >= 0 ? grow_range(0, a.hi)
                                                : grow_range(GROW_MIN, GROW_MAX);
    if (op == IR_BIN_RSHIFT)
        return grow_range(a.lo >> count.lo, a.hi >> count.lo);
    return grow_mul(a, grow_range((int64_t)1 << count.lo, (int64_t)1 << count.lo));
}

static struct grow_fact
grow_divided(enum ir_binop op, struct grow_fact a, struct grow_fact b)
{
    if (op == IR_BIN_MOD && b.lo > 0)
        return grow_range(0, b.hi - 1);
    if (op == IR_BIN_FLOORDIV && a.lo >= 0 && b.lo > 0)
        return grow_range(0, a.hi / b.lo);
    return grow_range(GROW_MIN, GROW_MAX);
}

/* Whether the operation is one of hashes and generators, as opposed to one of sums and indices. */
static bool
grow_on_purpose(enum ir_binop op, struct grow_fact a, struct grow_fact b)
{
    struct grow_fact constant = grow_is_constant(a) ? a : b;
    bool has_constant = grow_is_constant(constant);
    switch (op) {
    case IR_BIN_LSHIFT: return true;
    case IR_BIN_MUL:
        return has_constant ? grow_size(constant) >= 1 << 16 : (a.marks & b.marks & GROW_U32) != 0;
    case IR_BIN_ADD:
    case IR_BIN_SUB: return has_constant && grow_size(constant) >= 1 << 24;
    default: return false;
    }
}

static struct grow_fact
grow_marked(struct grow_fact fact, uint8_t marks, bool on_purpose)
{
    bool fits = fact.lo >= INT32_MIN && fact.hi <= UINT32_MAX;
    fact.marks = marks;
    if ((marks & GROW_U32) && on_purpose)
        fact.marks |= GROW_WIDE;
    if (fits)
        fact.marks &= (uint8_t)~GROW_WIDE;
    return fact;
}

static struct grow_fact
grow_bin(enum ir_binop op, struct grow_fact a, struct grow_fact b)
{
    struct grow_fact out;
    switch (op) {
    case IR_BIN_ADD: out = grow_add(a, b); break;
    case IR_BIN_SUB: out = grow_add(a, grow_negated(b)); break;
    case IR_BIN_MUL: out = grow_mul(a, b); break;
    case IR_BIN_AND:
    case IR_BIN_OR:
    case IR_BIN_XOR: out = grow_bits(op, a, b); break;
    case IR_BIN_LSHIFT:
    case IR_BIN_RSHIFT:
        out = grow_shift(op, a, b);
        b.marks = 0;
        break;
    case IR_BIN_FLOORDIV:
    case IR_BIN_MOD: out = grow_divided(op, a, b); break;
    default: out = grow_range(GROW_MIN, GROW_MAX); break;
    }
    return grow_marked(out, a.marks | b.marks, grow_on_purpose(op, a, b));
}

/* ---- One instance ---- */

static struct grow_fact
grow_get(const struct grow *g, const struct ir_instance *instance, ir_ref ref)
{
    struct ir_cell cell = instance->cells[ref];
    if (cell.type != IR_T_INT && cell.type != IR_T_BOOL) {
        if (ir_type_is_scalar(cell.type) && ir_is_typed_int(cell.type)) {
            struct grow_fact fact = grow_of_dtype(cell.type);
            fact.marks = 0; /* a cast in the kernel: the author knows */
            return fact;
        }
        return (struct grow_fact){0};
    }
    if (cell.constant) {
        int64_t value = ir_const_info(g->w->typed->module, cell.constant)->i;
        return grow_range(value, value);
    }
    return g->instances[instance->index].facts[ref];
}

/* Arguments of a call rise the callee's parameters; its result is the call's. */
static struct grow_fact
grow_call_function(struct grow *g, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_typed *typed = g->w->typed;
    const struct ir_instance *callee = typed->instances.data[instance->callees[ref] - 1];
    struct grow_instance *target = &g->instances[callee->index];
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    uint32_t n_params = callee->func->n_params;
    struct ir_binding *bindings = SP_NEW_N(g->w->ctx->arena, struct ir_binding, n_params + 1);
    if (!ir_bind_call(typed->module, callee->func, insn->n_args - 1u, insn->imm, bindings, NULL,
                      NULL))
        return grow_range(GROW_MIN, GROW_MAX);
    for (uint32_t k = 0; k < n_params; k++)
        if (bindings[k].from)
            grow_join(g, &target->params[k],
                      grow_get(g, instance, ir_arg(instance->func, ref, bindings[k].from)));
    return target->result;
}

/* Casts to int, abs, min and max keep the marks of what they are given. */
static struct grow_fact
grow_call(struct grow *g, const struct ir_instance *instance, ir_ref ref)
{
    if (instance->callees[ref])
        return grow_call_function(g, instance, ref);
    struct grow_fact out = {0};
    uint8_t marks = 0;
    for (uint32_t i = 1; i < ir_insn(instance->func, ref)->n_args; i++) {
        struct grow_fact arg = grow_get(g, instance, ir_arg(instance->func, ref, i));
        if (!arg.known)
            return grow_range(GROW_MIN, GROW_MAX);
        marks |= arg.marks;
        out = !out.known ? arg
                         : grow_range(arg.lo < out.lo ? arg.lo : out.lo,
                                      arg.hi > out.hi ? arg.hi : out.hi);
    }
    if (!out.known || !marks)
        return grow_range(GROW_MIN, GROW_MAX);
    return grow_marked(out, marks, false);
}

static struct grow_fact
grow_value(struct grow *g, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    struct grow_fact a = {0}, b = {0};
    if (insn->n_args >= 1)
        a = grow_get(g, instance, ir_arg(instance->func, ref, 0));
    if (insn->n_args >= 2)
        b = grow_get(g, instance, ir_arg(instance->func, ref, 1));
    switch (insn->op) {
    case IR_PARAM: return g->instances[instance->index].params[insn->imm];
    case IR_ITEM: {
        const struct ir_type_info *array =
            ir_type_info(g->w->typed->module, warn_operand(instance, ref, 0).type);
        return array->kind == IR_KIND_ARRAY ? grow_of_dtype(array->dtype)
                                            : grow_range(GROW_MIN, GROW_MAX);
    }
    case IR_BIN:
        return a.known && b.known ? grow_bin(insn->imm & ~IR_INPLACE, a, b) : (struct grow_fact){0};
    case IR_UN:
        if (!a.known)
            return a;
        if (insn->imm == IR_UN_NEG)
            return grow_marked(grow_negated(a), a.marks, false);
        if (insn->imm == IR_UN_INVERT)
            return grow_marked(grow_range(~a.hi, ~a.lo), a.marks, true);
        return insn->imm == IR_UN_POS ? a : grow_range(0, 1);
    case IR_CALL: return grow_call(g, instance, ref);
    default: return grow_range(GROW_MIN, GROW_MAX);
    }
}

static void
grow_visit(struct grow *g, const struct ir_instance *instance, ir_ref ref)
{
    struct grow_instance *own = &g->instances[instance->index];
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    struct grow_fact *fact = &own->facts[ref];
    if (insn->op == IR_PHI) {
        for (uint32_t i = 0; i < insn->n_args; i++)
            grow_join(g, fact, grow_get(g, instance, ir_arg(instance->func, ref, i)));
        return;
    }
    if (insn->op == IR_RET) {
        grow_join(g, &own->result, grow_get(g, instance, ir_arg(instance->func, ref, 0)));
        return;
    }
    struct grow_fact value = grow_value(g, instance, ref);
    g->changed |= memcmp(&value.lo, &fact->lo, 2 * sizeof value.lo) != 0 ||
                  value.known != fact->known || value.marks != fact->marks;
    *fact = value;
}

/* ---- Where it shows ---- */

static bool
grow_shows(const struct grow *g, const struct ir_instance *instance, ir_ref ref, uint32_t i)
{
    ir_ref arg = ir_arg(instance->func, ref, i);
    return instance->cells[arg].type == IR_T_INT &&
           (grow_get(g, instance, arg).marks & GROW_WIDE) != 0;
}

static bool
grow_is_float(const struct ir_instance *instance, ir_ref ref)
{
    ir_type type = instance->cells[ref].type;
    return ir_type_is_scalar(type) && ir_is_float(type);
}

/* What sees the high bits of operand `*which_out`, as the message calls it; NULL: nothing. */
static const char *
grow_reader(const struct grow *g, const struct ir_instance *instance, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(instance->func, ref);
    const struct warn *w = g->w;
    bool shows = false;
    for (uint32_t i = 0; i < insn->n_args; i++)
        shows |= grow_shows(g, instance, ref, i);
    if (!shows)
        return NULL;
    if (insn->op == IR_CMP)
        return sp_arena_printf(w->ctx->arena, "'%s'", ir_cmpop_text(insn->imm));
    if (insn->op == IR_SETITEM && grow_shows(g, instance, ref, 2)) {
        const struct ir_type_info *array =
            ir_type_info(w->typed->module, warn_operand(instance, ref, 0).type);
        return array->kind == IR_KIND_ARRAY && ir_is_float(array->dtype) ? "a store as a float"
                                                                         : NULL;
    }
    if (insn->op == IR_CALL && !instance->callees[ref])
        return grow_is_float(instance, ref) ? "a conversion to a float" : NULL;
    if (insn->op != IR_BIN)
        return NULL;
    enum ir_binop op = insn->imm & ~IR_INPLACE;
    bool reads = op == IR_BIN_FLOORDIV || op == IR_BIN_MOD || grow_is_float(instance, ref) ||
                 (op == IR_BIN_RSHIFT && grow_shows(g, instance, ref, 0));
    return reads ? sp_arena_printf(w->ctx->arena, "'%s'", ir_binop_text(op)) : NULL;
}

static void
grow_report(const struct grow *g, const struct ir_instance *instance)
{
    for (ir_ref ref = 1; ref < instance->func->insns.len; ref++) {
        const struct ir_insn *insn = ir_insn(instance->func, ref);
        if (insn->op == IR_NOP || !sp_bits_has(&instance->live_blocks, insn->block))
            continue;
        const char *reader = grow_reader(g, instance, ref);
        if (!reader)
            continue;
        struct sp_src where = ir_insn_src(instance->func, ref);
        sp_warning_add(g->w->ctx->warnings, SP_W_UINT32_GROWS, &where, reader);
    }
}

static bool
grow_has_uint32(const struct ir_typed *typed)
{
    for (uint32_t i = 0; i < typed->n_args; i++)
        if (typed->args[i].kind != IR_ARG_OBJECT && !typed->args[i].elem &&
            typed->args[i].dtype == IR_T_UINT32)
            return true;
    return false;
}

void
warn_growth(const struct warn *w)
{
    const struct ir_typed *typed = w->typed;
    struct sp_arena *arena = w->ctx->arena;
    if (!grow_has_uint32(typed))
        return;
    uint32_t n = typed->instances.len;
    struct grow g = {.w = w, .instances = SP_NEW_N(arena, struct grow_instance, n)};
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_func *func = typed->instances.data[i]->func;
        g.instances[i].facts = SP_NEW_N(arena, struct grow_fact, func->insns.len);
        g.instances[i].params = SP_NEW_N(arena, struct grow_fact, func->n_params + 1);
        for (uint32_t k = 0; i == 0 && k < func->n_params; k++)
            if (typed->args[k].kind == IR_ARG_SCALAR && !typed->args[k].elem)
                g.instances[0].params[k] = grow_of_dtype(typed->args[k].dtype);
    }
    do {
        g.changed = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct ir_instance *instance = typed->instances.data[i];
            for (uint32_t k = 0; instance->live && k < instance->flow->n_rpo; k++) {
                uint32_t block = instance->flow->rpo[k];
                if (!sp_bits_has(&instance->live_blocks, block))
                    continue;
                const struct ir_block *b = &instance->func->blocks.data[block];
                for (uint32_t m = 0; m < b->insns.len; m++)
                    grow_visit(&g, instance, b->insns.data[m]);
            }
        }
    } while (g.changed);
    for (uint32_t i = 0; i < n; i++)
        if (typed->instances.data[i]->live)
            grow_report(&g, typed->instances.data[i]);
}
