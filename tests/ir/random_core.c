/* random_core: generates functions with branches, loops, calls and memory from a seed.
 *
 * Structured on purpose: statements are made recursively and a stack holds the values that dominate
 * the place, so every use is valid by construction; divisors, shift counts and addresses are
 * masked, loops have a counted bound, calls go to later functions, so every run ends and no
 * operation is undefined. The mix leans to what the passes look for: constants, negations,
 * widenings of truth values, repeated expressions, branches on constants, empty blocks. */
#include "tests/ir/random_core.h"

#include <string.h>

uint64_t
random_next(struct random_source *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t
random_below(struct random_source *random, uint32_t n)
{
    return (uint32_t)(random_next(random) % n);
}

struct gen {
    struct random_source random;
    struct ir_module *module;
    struct ir_func *func;
    uint32_t block;        /* where instructions go; UINT32_MAX: the path has ended */
    SP_VEC(ir_ref) values; /* that dominate the place */
    uint32_t budget;
};

static const ir_type gen_types[] = {IR_T_I1,  IR_T_I8,  IR_T_I16, IR_T_I32,
                                    IR_T_I64, IR_T_F32, IR_T_F64};

static uint32_t
below(struct gen *g, uint32_t n)
{
    return random_below(&g->random, n);
}

static ir_type
any_type(struct gen *g)
{
    return below(g, 2) ? (ir_type)IR_T_I64 : gen_types[below(g, 7)];
}

static bool
is_float(ir_type type)
{
    return type == IR_T_F32 || type == IR_T_F64;
}

static bool
is_address(const struct gen *g, ir_ref ref)
{
    return ir_insn(g->func, ref)->type == IR_T_PTR_GLOBAL;
}

static ir_ref
emit(struct gen *g, enum ir_op op, ir_type type, uint32_t imm, uint32_t n, const ir_ref *args)
{
    if (g->budget)
        g->budget--;
    ir_set_src(g->func, 1 + (int32_t)below(g, 50), 4, 1, 9);
    return ir_insn_add(g->func, g->block, op, type, imm, n, args);
}

static ir_ref
keep(struct gen *g, ir_ref ref)
{
    sp_vec_push(g->module->arena, &g->values, ref);
    return ref;
}

static ir_ref
constant(struct gen *g, ir_type type)
{
    static const int64_t ints[] = {0,   1,    -1,  2,         3,         7,        8,
                                   127, -128, 255, INT32_MAX, INT64_MIN, INT64_MAX};
    static const double floats[] = {
        0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e30, -1e-40, 0.1, __builtin_inf(), __builtin_nan("")};
    ir_const c;
    if (is_float(type) || ir_is_half(type)) {
        double value = floats[below(g, 11)];
        if (ir_is_half(type))
            value = ir_half_value(type, ir_half_of(type, value));
        c = ir_const_float(g->module, type == IR_T_F32 ? (float)value : value);
    } else if (type == IR_T_I1) {
        c = ir_const_bool(g->module, below(g, 2));
    } else {
        unsigned shift = 64 - ir_machine_bits(type);
        c = ir_const_int(g->module, (int64_t)((uint64_t)ints[below(g, 13)] << shift) >> shift);
    }
    return emit(g, IR_CONST, type, c, 0, NULL);
}

static ir_ref
int_constant(struct gen *g, ir_type type, int64_t value)
{
    return emit(g, IR_CONST, type, ir_const_int(g->module, value), 0, NULL);
}

static ir_ref
value_of(struct gen *g, ir_type type)
{
    if (below(g, 5) >= 2)
        for (int tries = 0; tries < 8 && g->values.len; tries++) {
            uint32_t recent = g->values.len > 8 && below(g, 2) ? g->values.len - 8 : 0;
            ir_ref ref = g->values.data[recent + below(g, g->values.len - recent)];
            if (ir_insn(g->func, ref)->type == type)
                return ref;
        }
    return constant(g, type);
}

/* An address inside the memory, from parameter 0. */
static ir_ref
address(struct gen *g)
{
    ir_ref mask = int_constant(g, IR_T_I64, 0xf8 - 8);
    ir_ref offset = emit(g, IR_AND, IR_T_I64, 0, 2, (ir_ref[]){value_of(g, IR_T_I64), mask});
    ir_ref at = emit(g, IR_PTRADD, IR_T_PTR_GLOBAL, 0, 2, (ir_ref[]){g->values.data[0], offset});
    ir_ref more = int_constant(g, IR_T_I64, below(g, 2) * 8);
    return emit(g, IR_PTRADD, IR_T_PTR_GLOBAL, 0, 2, (ir_ref[]){at, more});
}

static ir_ref
gen_int(struct gen *g, ir_type type)
{
    static const uint16_t plain[] = {IR_ADD, IR_SUB, IR_MUL, IR_MULHI, IR_AND, IR_OR, IR_XOR};
    ir_ref a = value_of(g, type), b = below(g, 8) ? value_of(g, type) : a;
    uint32_t kind = below(g, 12);
    if (type == IR_T_I1)
        return emit(g, (enum ir_op)(IR_AND + (int)below(g, 3)), type, 0, 2, (ir_ref[]){a, b});
    if (kind == 0) { /* positive divisors */
        ir_ref seven = int_constant(g, type, 7), one = int_constant(g, type, 1);
        b = emit(g, IR_AND, type, 0, 2, (ir_ref[]){b, seven});
        b = below(g, 3) ? emit(g, IR_OR, type, 0, 2, (ir_ref[]){b, one}) : one;
        return emit(g, (enum ir_op)(IR_SDIV + (int)below(g, 4)), type, 0, 2, (ir_ref[]){a, b});
    }
    if (kind == 1) {
        ir_ref mask = int_constant(g, type, ir_machine_bits(type) - 1);
        b = below(g, 3) ? emit(g, IR_AND, type, 0, 2, (ir_ref[]){b, mask})
                        : int_constant(g, type, below(g, 3));
        return emit(g, (enum ir_op)(IR_SHL + (int)below(g, 3)), type, 0, 2, (ir_ref[]){a, b});
    }
    if (kind == 2)
        return emit(g, below(g, 2) ? IR_CTPOP : IR_CTLZ, type, 0, 1, &a);
    if (kind == 3) { /* never overflows */
        ir_ref one = int_constant(g, type, 1);
        a = emit(g, IR_LSHR, type, 0, 2, (ir_ref[]){a, one});
        a = emit(g, IR_LSHR, type, 0, 2, (ir_ref[]){a, one});
        return emit(g, IR_ADD_NSW, type, 0, 2, (ir_ref[]){a, below(g, 2) ? one : a});
    }
    return emit(g, (enum ir_op)plain[below(g, 7)], type, 0, 2, (ir_ref[]){a, b});
}

static ir_ref
gen_float(struct gen *g, ir_type type)
{
    ir_ref args[] = {value_of(g, type), value_of(g, type), value_of(g, type)};
    static const struct {
        uint16_t op;
        uint8_t n;
    } ops[] = {{IR_FADD, 2},  {IR_FSUB, 2},   {IR_FMUL, 2},     {IR_FDIV, 2},  {IR_FNEG, 1},
               {IR_FMA, 3},   {IR_FSQRT, 1},  {IR_FABS, 1},     {IR_FRINT, 1}, {IR_FFLOOR, 1},
               {IR_FCEIL, 1}, {IR_FTRUNC, 1}, {IR_FCOPYSIGN, 2}};
    uint32_t i = below(g, 13);
    if (below(g, 20) == 0)
        return emit(g, IR_INTRIN, type, IR_INTRIN_SIN, 1, args);
    return emit(g, (enum ir_op)ops[i].op, type, 0, ops[i].n, args);
}

static ir_ref
gen_truth(struct gen *g)
{
    ir_type type = gen_types[below(g, 7)];
    ir_ref a = value_of(g, type), b = value_of(g, type);
    uint32_t kind = below(g, 6);
    if (kind == 0) { /* as lowering writes a truth value: widened, then compared */
        ir_ref wide = value_of(g, IR_T_I1);
        wide = emit(g, IR_ZEXT, IR_T_I64, 0, 1, &wide);
        ir_ref k = int_constant(g, IR_T_I64, below(g, 3));
        return emit(g, IR_ICMP, IR_T_I1, below(g, 2), 2, (ir_ref[]){wide, k});
    }
    if (kind == 1) {
        ir_ref yes = emit(g, IR_CONST, IR_T_I1, ir_const_bool(g->module, true), 0, NULL);
        return emit(g, IR_XOR, IR_T_I1, 0, 2, (ir_ref[]){value_of(g, IR_T_I1), yes});
    }
    if (is_float(type))
        return emit(g, IR_FCMP, IR_T_I1, below(g, IR_N_FCMPS), 2, (ir_ref[]){a, b});
    return emit(g, IR_ICMP, IR_T_I1, below(g, IR_N_ICMPS), 2, (ir_ref[]){a, b});
}

/* A half from a wider float or of halves, and as a float again: what lowering makes of them. */
static ir_ref
gen_half(struct gen *g)
{
    ir_type half = below(g, 2) ? IR_T_F16 : IR_T_BF16, wide = below(g, 2) ? IR_T_F32 : IR_T_F64;
    ir_ref a = value_of(g, below(g, 3) ? wide : half), r;
    if (ir_insn(g->func, a)->type == wide)
        r = emit(g, IR_FPTRUNC, half, 0, 1, &a);
    else if (below(g, 3))
        r = emit(g, IR_FMA, half, 0, 3, (ir_ref[]){a, value_of(g, half), value_of(g, half)});
    else
        r = emit(g, IR_SELECT, half, 0, 3, (ir_ref[]){value_of(g, IR_T_I1), a, value_of(g, half)});
    keep(g, r);
    return emit(g, IR_FPEXT, IR_T_F32, 0, 1, &r);
}

static ir_ref
gen_convert(struct gen *g)
{
    if (below(g, 6) == 0)
        return gen_half(g);
    ir_type from = gen_types[below(g, 7)], to = gen_types[below(g, 7)];
    ir_ref a = value_of(g, from);
    unsigned from_bits = ir_machine_bits(from), to_bits = ir_machine_bits(to);
    enum ir_op op;
    if (from == to)
        return a;
    if (is_float(from) && is_float(to))
        op = from == IR_T_F32 ? IR_FPEXT : IR_FPTRUNC;
    else if (from_bits == to_bits && below(g, 2))
        op = IR_BITCAST;
    else if (is_float(from))
        op = to == IR_T_I1 ? IR_NOP : below(g, 2) ? IR_FPTOSI_SAT : IR_FPTOUI_SAT;
    else if (is_float(to))
        op = below(g, 2) ? IR_SITOFP : IR_UITOFP;
    else if (from_bits == to_bits)
        op = IR_NOP;
    else
        op = from_bits > to_bits ? IR_TRUNC : below(g, 2) ? IR_SEXT : IR_ZEXT;
    /* Bits that become a float may be a signalling NaN, whose payload may or may not survive. */
    if (op == IR_NOP || (op == IR_BITCAST && is_float(to)))
        return a;
    return emit(g, op, to, 0, 1, &a);
}

static void
gen_memory(struct gen *g)
{
    ir_type type = gen_types[below(g, 7)];
    ir_ref at = address(g);
    uint32_t kind = below(g, 4);
    enum ir_atomic op = (enum ir_atomic)below(g, IR_N_ATOMICS);
    if (kind == 0)
        keep(g, emit(g, IR_LOAD, type, 0, 1, &at));
    else if (kind == 1 && type != IR_T_I1 && ir_atomic_takes(op, type))
        keep(g, emit(g, IR_ATOMIC, type, op, 2, (ir_ref[]){at, value_of(g, type)}));
    else if (kind == 2 && type != IR_T_I1 && !is_float(type))
        keep(g, emit(g, IR_CAS, type, 0, 3, (ir_ref[]){at, value_of(g, type), value_of(g, type)}));
    else
        emit(g, IR_STORE, IR_T_NONE, 0, 2, (ir_ref[]){at, value_of(g, type)});
}

static void
gen_call(struct gen *g)
{
    uint32_t n = g->module->funcs.len, at = g->func->index;
    ir_ref args[8];
    if (at + 1 >= n)
        return;
    uint32_t index = at + 1 + below(g, n - at - 1);
    const struct ir_func *callee = g->module->funcs.data[index];
    args[0] = g->values.data[0];
    for (uint32_t i = 1; i < callee->n_params; i++)
        args[i] = value_of(g, callee->params[i].type);
    ir_ref call = emit(g, IR_CALLF, callee->n_results ? callee->results[0] : (ir_type)IR_T_VOID,
                       index, callee->n_params, args);
    if (callee->n_results)
        keep(g, call);
    for (uint32_t k = 1; k < callee->n_results; k++)
        if (below(g, 3))
            keep(g, emit(g, IR_RESULT, callee->results[k], k, 1, &call));
}

static void gen_statements(struct gen *g, int depth);

/* Stores a value to a slot of its own, so that a wrong one is seen. */
static void
gen_witness(struct gen *g, ir_ref value)
{
    if (g->block == UINT32_MAX || is_address(g, value))
        return;
    ir_ref offset = int_constant(g, IR_T_I64, 8 * below(g, 31));
    ir_ref at = emit(g, IR_PTRADD, IR_T_PTR_GLOBAL, 0, 2, (ir_ref[]){g->values.data[0], offset});
    emit(g, IR_STORE, IR_T_NONE, 0, 2, (ir_ref[]){at, value});
}

static void
gen_end(struct gen *g)
{
    ir_ref values[8];
    if (g->block == UINT32_MAX)
        return;
    for (uint32_t i = g->values.len > 10 ? g->values.len - 10 : 0; i < g->values.len; i++)
        gen_witness(g, g->values.data[i]);
    for (uint32_t i = 0; i < g->func->n_results; i++)
        values[i] = value_of(g, g->func->results[i]);
    ir_ret(g->func, g->block, g->func->n_results, values);
    g->block = UINT32_MAX;
}

static void
gen_if(struct gen *g, int depth)
{
    struct ir_func *func = g->func;
    uint32_t kind = below(g, 8);
    ir_ref condition = kind == 0 ? constant(g, IR_T_I1) : value_of(g, IR_T_I1);
    uint32_t yes = ir_block_new(func), no = ir_block_new(func), n_values = g->values.len;
    ir_br(func, g->block, condition, yes, no);
    ir_type types[3] = {any_type(g), any_type(g), any_type(g)};
    uint32_t n_phis = below(g, 4), ends[2];
    ir_ref arms[2][3];
    for (int arm = 0; arm < 2; arm++) {
        g->block = arm ? no : yes;
        if (below(g, 4))
            gen_statements(g, depth - 1);
        if (g->block != UINT32_MAX && below(g, 12) == 0) {
            if (below(g, 2))
                gen_end(g);
            else {
                ir_raise(func, g->block, 0, 1, (ir_ref[]){value_of(g, IR_T_I64)});
                g->block = UINT32_MAX;
            }
        }
        ends[arm] = g->block;
        for (uint32_t i = 0; i < n_phis && g->block != UINT32_MAX; i++)
            arms[arm][i] = value_of(g, types[i]);
        g->values.len = n_values;
    }
    if (ends[0] == UINT32_MAX && ends[1] == UINT32_MAX) {
        g->block = UINT32_MAX;
        return;
    }
    g->block = ir_block_new(func);
    for (int arm = 0; arm < 2; arm++)
        if (ends[arm] != UINT32_MAX)
            ir_jump(func, ends[arm], g->block);
    for (uint32_t i = 0; i < n_phis; i++) {
        ir_ref phi = keep(g, ir_phi_new(func, g->block, types[i], 0));
        ir_ref args[2];
        uint32_t n = 0;
        for (int arm = 0; arm < 2; arm++)
            if (ends[arm] != UINT32_MAX)
                args[n++] = arms[arm][i];
        ir_phi_set(func, phi, n, args);
    }
}

static void
gen_loop(struct gen *g, int depth)
{
    struct ir_func *func = g->func;
    ir_ref zero = int_constant(g, IR_T_I64, 0), one = int_constant(g, IR_T_I64, 1);
    ir_ref bound = int_constant(g, IR_T_I64, below(g, 5));
    ir_type type = any_type(g);
    ir_ref start = value_of(g, type);
    uint32_t before = g->block, head = ir_block_new(func), body = ir_block_new(func);
    ir_jump(func, before, head);
    ir_ref i = ir_phi_new(func, head, IR_T_I64, ir_const_str(g->module, "i", 1));
    ir_ref x = ir_phi_new(func, head, type, 0);
    g->block = head;
    ir_ref more = emit(g, IR_ICMP, IR_T_I1, IR_ICMP_SLT, 2, (ir_ref[]){i, bound});
    uint32_t after = ir_block_new(func);
    ir_br(func, head, more, body, after);
    keep(g, i);
    keep(g, x);
    uint32_t n_values = g->values.len;
    g->block = body;
    gen_statements(g, depth - 1);
    if (g->block != UINT32_MAX) {
        ir_ref next = emit(g, IR_ADD, IR_T_I64, 0, 2, (ir_ref[]){i, one});
        ir_ref new_x = below(g, 4) ? value_of(g, type) : x;
        ir_jump(func, g->block, head);
        ir_phi_set(func, i, 2, (ir_ref[]){zero, next});
        ir_phi_set(func, x, 2, (ir_ref[]){start, new_x});
    } else {
        ir_phi_set(func, i, 1, (ir_ref[]){zero});
        ir_phi_set(func, x, 1, (ir_ref[]){start});
    }
    g->values.len = n_values;
    g->block = after;
}

static void
gen_statements(struct gen *g, int depth)
{
    uint32_t n = 1 + below(g, 8);
    for (uint32_t i = 0; i < n && g->block != UINT32_MAX && g->budget; i++) {
        uint32_t kind = below(g, 20);
        ir_type type = any_type(g);
        if (kind < 2 && depth > 0) {
            gen_if(g, depth);
        } else if (kind == 2 && depth > 0) {
            gen_loop(g, depth);
        } else if (kind == 3) {
            gen_call(g);
        } else if (kind == 4 || kind == 5) {
            gen_memory(g);
        } else if (kind < 9) {
            keep(g, gen_convert(g));
        } else if (kind < 12) {
            keep(g, gen_truth(g));
        } else if (kind == 12) {
            ir_ref args[] = {value_of(g, IR_T_I1), value_of(g, type), value_of(g, type)};
            keep(g, emit(g, IR_SELECT, type, 0, 3, args));
        } else if (kind == 13) { /* a chain of empty blocks */
            uint32_t a = ir_block_new(g->func), b = ir_block_new(g->func);
            ir_jump(g->func, g->block, a);
            ir_jump(g->func, a, b);
            g->block = b;
        } else {
            keep(g, is_float(type) ? gen_float(g, type) : gen_int(g, type));
        }
        if (g->values.len > 1 && below(g, 2))
            gen_witness(g, g->values.data[g->values.len - 1]);
    }
}

static void
gen_signature(struct gen *g, struct ir_func *func)
{
    struct sp_arena *arena = g->module->arena;
    func->n_params = 1 + below(g, 5);
    func->params = SP_NEW_N(arena, struct ir_func_param, func->n_params);
    for (uint32_t i = 0; i < func->n_params; i++)
        func->params[i] = (struct ir_func_param){
            .name = sp_arena_printf(arena, "p%u", i),
            .type = i ? any_type(g) : (ir_type)IR_T_PTR_GLOBAL,
        };
    func->n_results = below(g, 4);
    func->results = SP_NEW_N(arena, ir_type, func->n_results + 1);
    for (uint32_t i = 0; i < func->n_results; i++)
        func->results[i] = any_type(g);
}

struct ir_module *
random_core(struct sp_arena *arena, uint64_t seed)
{
    struct gen g = {.random = {seed}, .module = ir_module_new(arena, IR_PHASE_CORE)};
    static const char *const names[] = {"kernel", "f", "g", "h", "k"};
    uint32_t n = 1 + below(&g, 5);
    struct sp_fault_site site = {.code = SP_E_OUT_OF_BOUNDS,
                                 .where = {.line = 1, .col = -1, .end_col = -1},
                                 .name = sp_arena_strdup(arena, "x"),
                                 .n_values = 1};
    sp_vec_push(arena, &g.module->sites, site);
    for (uint32_t f = 0; f < n; f++) {
        struct ir_func *func = ir_func_new(g.module, names[f]);
        func->file = f % 2 ? "b.py" : "a.py";
        func->line = 1;
        func->is_kernel = f == 0;
        gen_signature(&g, func);
    }
    for (uint32_t f = 0; f < n; f++) {
        g.func = g.module->funcs.data[f];
        g.block = ir_block_new(g.func);
        g.values.len = 0;
        g.budget = 20 + below(&g, 150);
        for (uint32_t i = 0; i < g.func->n_params; i++)
            keep(&g, emit(&g, IR_PARAM, g.func->params[i].type, i, 0, NULL));
        gen_statements(&g, 3);
        gen_end(&g);
    }
    return g.module;
}

/* ---- Expressions ---- */

static ir_ref gen_expr(struct gen *g, ir_type type, int depth);

/* The parameter of that type, or a constant. */
static ir_ref
gen_leaf(struct gen *g, ir_type type)
{
    if (below(g, 2))
        for (uint32_t i = 0; i < g->values.len; i++)
            if (ir_insn(g->func, g->values.data[i])->type == type)
                return g->values.data[i];
    return constant(g, type);
}

static ir_ref
gen_expr_truth(struct gen *g, int depth)
{
    ir_type type = gen_types[below(g, 7)];
    if (below(g, 3) == 0) {
        ir_ref a = gen_expr(g, IR_T_I1, depth - 1), yes = constant(g, IR_T_I1);
        return emit(g, (enum ir_op)(IR_AND + (int)below(g, 3)), IR_T_I1, 0, 2, (ir_ref[]){a, yes});
    }
    ir_ref a = gen_expr(g, type, depth - 1);
    ir_ref b = below(g, 6) ? gen_expr(g, type, depth - 2) : a;
    if (below(g, 4) == 0) {
        ir_ref t = a;
        a = b;
        b = t;
    }
    if (is_float(type))
        return emit(g, IR_FCMP, IR_T_I1, below(g, IR_N_FCMPS), 2, (ir_ref[]){a, b});
    uint32_t predicate = below(g, 2) ? below(g, 2) : below(g, IR_N_ICMPS);
    return emit(g, IR_ICMP, IR_T_I1, predicate, 2, (ir_ref[]){a, b});
}

static ir_ref
gen_expr_int(struct gen *g, ir_type type, int depth)
{
    static const uint16_t plain[] = {IR_ADD, IR_SUB, IR_MUL, IR_MULHI, IR_AND, IR_OR, IR_XOR};
    ir_ref a = gen_expr(g, type, depth - 1);
    uint32_t kind = below(g, 8);
    if (kind == 0) {
        ir_ref k = int_constant(g, type, 1 + below(g, 3));
        return emit(g, (enum ir_op)(IR_SDIV + (int)below(g, 4)), type, 0, 2, (ir_ref[]){a, k});
    }
    if (kind == 1) {
        ir_ref k = int_constant(g, type, below(g, 4) * (ir_machine_bits(type) - 1) / 3);
        return emit(g, (enum ir_op)(IR_SHL + (int)below(g, 3)), type, 0, 2, (ir_ref[]){a, k});
    }
    if (kind == 2)
        return emit(g, below(g, 2) ? IR_CTPOP : IR_CTLZ, type, 0, 1, &a);
    ir_ref b = below(g, 8) ? gen_expr(g, type, depth - 2) : a;
    enum ir_op op = (enum ir_op)plain[below(g, 7)];
    if (below(g, 4) == 0)
        return emit(g, op, type, 0, 2, (ir_ref[]){b, a});
    return emit(g, op, type, 0, 2, (ir_ref[]){a, b});
}

static ir_ref
gen_expr_convert(struct gen *g, ir_type to, int depth)
{
    ir_type from = gen_types[below(g, 7)];
    if (from == to || (is_float(from) && to == IR_T_I1))
        return gen_expr(g, to, depth - 1);
    ir_ref a = gen_expr(g, from, depth - 1);
    enum ir_op op;
    if (is_float(from) && is_float(to))
        op = from == IR_T_F32 ? IR_FPEXT : IR_FPTRUNC;
    else if (is_float(from))
        op = below(g, 2) ? IR_FPTOSI_SAT : IR_FPTOUI_SAT;
    else if (is_float(to))
        op = below(g, 2) ? IR_SITOFP : IR_UITOFP;
    else if (ir_machine_bits(from) > ir_machine_bits(to))
        op = IR_TRUNC;
    else
        op = below(g, 2) ? IR_SEXT : IR_ZEXT;
    return emit(g, op, to, 0, 1, &a);
}

static ir_ref
gen_expr(struct gen *g, ir_type type, int depth)
{
    static const uint16_t unary[] = {IR_FNEG,  IR_FABS,   IR_FNEG,  IR_FABS,  IR_FSQRT,
                                     IR_FRINT, IR_FFLOOR, IR_FCEIL, IR_FTRUNC};
    static const uint16_t binary[] = {IR_FADD, IR_FSUB, IR_FMUL, IR_FDIV, IR_FCOPYSIGN};
    if (depth <= 0)
        return gen_leaf(g, type);
    uint32_t kind = below(g, 10);
    if (kind < 2)
        return gen_expr_convert(g, type, depth);
    if (kind == 2) {
        ir_ref c = gen_expr(g, IR_T_I1, depth - 1), a = gen_expr(g, type, depth - 1);
        ir_ref b = below(g, 4) ? gen_expr(g, type, depth - 2) : a;
        return emit(g, IR_SELECT, type, 0, 3, (ir_ref[]){c, a, b});
    }
    if (type == IR_T_I1)
        return gen_expr_truth(g, depth);
    if (!is_float(type))
        return gen_expr_int(g, type, depth);
    ir_ref a = gen_expr(g, type, depth - 1);
    if (kind < 6)
        return emit(g, (enum ir_op)unary[below(g, 9)], type, 0, 1, &a);
    ir_ref b = gen_expr(g, type, depth - 2);
    if (kind == 6)
        return emit(g, IR_FMA, type, 0, 3, (ir_ref[]){a, b, gen_leaf(g, type)});
    return emit(g, (enum ir_op)binary[below(g, 5)], type, 0, 2, (ir_ref[]){a, b});
}

struct ir_module *
random_expressions(struct sp_arena *arena, uint64_t seed, uint32_t n)
{
    struct gen g = {.random = {seed}, .module = ir_module_new(arena, IR_PHASE_CORE)};
    ir_ref results[64];
    g.func = ir_func_new(g.module, "expressions");
    g.func->n_params = 7;
    g.func->params = SP_NEW_N(arena, struct ir_func_param, 7);
    g.func->n_results = n;
    g.func->results = SP_NEW_N(arena, ir_type, n);
    g.block = ir_block_new(g.func);
    for (uint32_t i = 0; i < 7; i++) {
        g.func->params[i] = (struct ir_func_param){.name = "x", .type = gen_types[i]};
        keep(&g, emit(&g, IR_PARAM, gen_types[i], i, 0, NULL));
    }
    for (uint32_t i = 0; i < n; i++) {
        g.func->results[i] = gen_types[below(&g, 7)];
        results[i] = gen_expr(&g, g.func->results[i], 1 + (int)below(&g, 3));
    }
    ir_ret(g.func, g.block, n, results);
    return g.module;
}
