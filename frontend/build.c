/* build: blocks of stack operations to SSA of phase PY.
 *
 * An abstract stack machine: locals and stack slots are variables of ssa.c, numbered locals first,
 * so values that lie on the stack across blocks (conditional expressions, iterators) get phis like
 * any variable. Blocks come in reverse post-order, hence every block but the entry is simulated
 * after at least one predecessor, whose depth it takes; predecessors must agree on it.
 *
 *     LOAD a; LOAD b; BIN +; STORE c        c = bin + a, b
 *
 * The code may be hand-made: popping an empty stack, a missing value where one is needed, depths
 * that disagree are errors of the code (build_fail). What kernels may not do is an `err`
 * instruction, which counts only if inference finds it executable. Nothing is known of types here,
 * so no operation is folded; only names and attributes of constants are (build_names.c). */
#include "frontend/build.h"

#include <assert.h>
#include <string.h>

ir_ref
build_add(struct build *b, enum ir_op op, uint32_t imm, uint32_t n, const ir_ref *args)
{
    for (uint32_t i = 0; i < n && !b->failed; i++)
        if (!args[i] || args[i] == b->null)
            build_fail(b, "an operation on a missing value");
    return b->failed ? 0 : ir_insn_add(b->func, b->block, op, IR_T_NONE, imm, n, args);
}

ir_ref
build_const(struct build *b, ir_const value)
{
    return build_add(b, IR_CONST, value, 0, NULL);
}

uint32_t
build_slot(const struct build *b, uint32_t depth)
{
    return b->code->n_locals + depth;
}

void
build_push(struct build *b, ir_ref value)
{
    if (b->failed)
        return;
    if (b->depth == b->max_depth) {
        build_fail(b, "stack overflow");
        return;
    }
    fe_ssa_write(&b->ssa, b->block, build_slot(b, b->depth++), value);
}

ir_ref
build_peek(struct build *b, uint32_t n)
{
    if (b->failed)
        return 0;
    if (n == 0 || n > b->depth) {
        build_fail(b, "stack underflow");
        return 0;
    }
    return fe_ssa_read(&b->ssa, b->block, build_slot(b, b->depth - n));
}

ir_ref
build_pop(struct build *b)
{
    ir_ref value = build_peek(b, 1);
    if (!b->failed)
        b->depth--;
    return value;
}

static ir_ref
build_pop_device(struct build *b)
{
    return build_device(b, build_pop(b));
}

/* Pops n values to the arena, the deepest first. */
static ir_ref *
build_pop_n(struct build *b, uint32_t n)
{
    ir_ref *values = SP_NEW_N(b->arena, ir_ref, n + 1);
    for (uint32_t i = n; i-- > 0 && !b->failed;)
        values[i] = build_pop(b);
    return values;
}

static void
build_load(struct build *b, uint32_t local)
{
    const struct fe_local *l = &b->code->locals[local];
    if (!sp_bits_has(&b->assigned, local)) {
        build_push(b, build_err(b, SP_E_UNDEFINED_VARIABLE,
                                "give it a value on every path that leads here", l->name));
        return;
    }
    ir_ref value = fe_ssa_read(&b->ssa, b->block, local);
    if (!sp_bits_has(&b->sure, local))
        value =
            build_add(b, IR_BOUND, ir_const_str(b->module, l->name, strlen(l->name)), 1, &value);
    build_push(b, value);
}

/* Whether the value is an array that the kernel makes: such ones bear the name of their
 * variable. */
static bool
build_makes_array(const struct build *b, ir_ref value)
{
    const struct ir_insn *insn = ir_insn(b->func, value);
    if (insn->op != IR_CALL || ir_insn(b->func, ir_arg(b->func, value, 0))->op != IR_CONST)
        return false;
    const struct ir_const_info *callee =
        ir_const_info(b->module, ir_insn(b->func, ir_arg(b->func, value, 0))->imm);
    return callee->kind == IR_C_INTRIN &&
           ir_intrin_row((enum ir_intrin)callee->u)->rule == IR_RULE_MEMORY;
}

static void
build_store(struct build *b, uint32_t local)
{
    const char *name = b->code->locals[local].name;
    ir_ref value = build_pop(b);
    if (b->failed)
        return;
    if (build_makes_array(b, value))
        value = build_add(b, IR_BOUND, ir_const_str(b->module, name, strlen(name)), 1, &value);
    fe_ssa_write(&b->ssa, b->block, local, value);
    sp_bits_add(&b->assigned, local);
    sp_bits_add(&b->sure, local);
}

static void
build_delete(struct build *b, uint32_t local)
{
    const struct fe_local *l = &b->code->locals[local];
    if (!sp_bits_has(&b->assigned, local)) {
        build_err(b, SP_E_UNDEFINED_VARIABLE, "give it a value on every path that leads here",
                  l->name);
        return;
    }
    ir_const name = ir_const_str(b->module, l->name, strlen(l->name));
    if (!sp_bits_has(&b->sure, local)) {
        ir_ref value = fe_ssa_read(&b->ssa, b->block, local);
        build_add(b, IR_BOUND, name, 1, &value);
    }
    fe_ssa_write(&b->ssa, b->block, local, fe_ssa_undef(&b->ssa, name));
    sp_bits_remove(&b->assigned, local);
    sp_bits_remove(&b->sure, local);
}

static void
build_variable(struct build *b, const struct fe_insn *insn)
{
    uint32_t n = insn->arg;
    const struct fe_local *local = &b->code->locals[n];
    bool is_free = local->kind == FE_LOCAL_FREE;
    switch ((enum fe_op)insn->op) {
    case FE_OP_LOAD:
    case FE_OP_CELL:
        if (local->kind == FE_LOCAL_PLAIN)
            build_load(b, n);
        else
            build_push(b, build_capture(b, n));
        return;
    case FE_OP_LOAD_CELL:
        if (b->shared[n])
            build_push(b, build_cellget(b, n));
        else if (is_free)
            build_push(b, build_capture(b, n));
        else
            build_load(b, n);
        return;
    default: break;
    }
    if (b->shared[n]) {
        build_cellset(b, n, build_pop(b));
    } else if (!is_free) {
        build_store(b, n);
    } else if (insn->op == FE_OP_STORE) {
        build_fail(b, "a free variable is stored as a local one");
    } else {
        build_pop(b);
        build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_NONLOCAL),
                  fe_construct_text(FE_CONSTRUCT_NONLOCAL));
    }
}

/* Pops the operands, the last on top, each of which must be of the device; pushes the result. */
static void
build_operation(struct build *b, enum ir_op op, uint32_t imm, uint32_t n)
{
    ir_ref *args = build_pop_n(b, n);
    for (uint32_t i = 0; i < n; i++)
        args[i] = build_device(b, args[i]);
    build_push(b, build_add(b, op, imm, n, args));
}

/* tuple(value) */
static ir_ref
build_tuple_of(struct build *b, ir_ref value)
{
    if (b->failed)
        return 0;
    ir_const tuple = ir_const_simple(b->module, IR_C_INTRIN, IR_INTRIN_TUPLE_);
    ir_ref args[] = {build_const(b, tuple), build_device(b, value)};
    return build_add(b, IR_CALL, 0, 2, args);
}

/* A list that is on its way to a tuple, as in (*a, 1), grows by concatenation. */
static void
build_list_grow(struct build *b, uint32_t n, bool join)
{
    ir_ref more = build_pop(b), list = build_peek(b, n);
    if (b->failed)
        return;
    more = join ? build_tuple_of(b, more) : build_add(b, IR_TUPLE, 0, 1, &more);
    ir_ref sum = build_add(b, IR_BIN, IR_BIN_ADD, 2, (ir_ref[]){list, more});
    if (!b->failed)
        fe_ssa_write(&b->ssa, b->block, build_slot(b, b->depth - n), sum);
}

static void
build_slice(struct build *b, uint32_t n)
{
    if (n == 2)
        build_push(b, build_const(b, ir_const_simple(b->module, IR_C_NONE, 0)));
    build_operation(b, IR_SLICE, 0, 3);
}

static void
build_unpack(struct build *b, enum ir_op op, uint32_t imm, uint32_t n)
{
    ir_ref tuple = build_pop_device(b);
    tuple = build_add(b, op, imm, 1, &tuple);
    for (uint32_t i = n; i-- > 0 && !b->failed;)
        build_push(b, build_add(b, IR_ELEM, i, 1, &tuple));
}

static void
build_constant(struct build *b, const struct fe_code_const *constant)
{
    ir_ref ref = build_const(b, constant->value);
    if (constant->code_name && ref)
        build_origin(b, ref)->code = constant;
    build_push(b, ref);
}

static void
build_swap(struct build *b, uint32_t n)
{
    ir_ref top = build_peek(b, 1), other = build_peek(b, n);
    if (b->failed)
        return;
    fe_ssa_write(&b->ssa, b->block, build_slot(b, b->depth - 1), other);
    fe_ssa_write(&b->ssa, b->block, build_slot(b, b->depth - n), top);
}

/* str, repr and ascii of a value. */
static void
build_convert(struct build *b, uint32_t n)
{
    static const uint8_t how[] = {IR_TEXT_FORMAT, IR_TEXT_STR, IR_TEXT_REPR, IR_TEXT_ASCII};
    if (!n) {
        build_fail(b, "conversion 0");
        return;
    }
    build_operation(b, IR_TEXT, how[n], 1);
}

static void
build_null(struct build *b)
{
    if (!b->null)
        b->null = fe_ssa_undef(&b->ssa, 0);
    build_push(b, b->null);
}

/* `a[i] += v`: the value is what was read from the same place, changed in place. */
static bool
build_is_augmented(const struct build *b, ir_ref object, ir_ref key, ir_ref value)
{
    const struct ir_insn *insn = ir_insn(b->func, value);
    if (insn->op != IR_BIN || !(insn->imm & IR_INPLACE))
        return false;
    ir_ref old = ir_arg(b->func, value, 0);
    return ir_insn(b->func, old)->op == IR_ITEM && ir_arg(b->func, old, 0) == object &&
           ir_arg(b->func, old, 1) == key;
}

static void
build_set(struct build *b, const struct fe_insn *insn)
{
    if (insn->op == FE_OP_SETATTR) {
        const char *name = b->code->names[insn->arg];
        ir_ref object = build_pop_device(b), value = build_pop_device(b);
        build_add(b, IR_SETATTR, ir_const_str(b->module, name, strlen(name)), 2,
                  (ir_ref[]){object, value});
        return;
    }
    ir_ref key = build_pop_device(b), object = build_pop_device(b), value = build_pop_device(b);
    if (b->failed)
        return;
    uint32_t imm = build_is_augmented(b, object, key, value) ? IR_INPLACE : 0;
    build_add(b, IR_SETITEM, imm, 3, (ir_ref[]){object, key, value});
}

static void
build_insn(struct build *b, const struct fe_insn *insn)
{
    uint32_t n = insn->arg;
    switch ((enum fe_op)insn->op) {
    case FE_OP_NOP:
    case FE_OP_MAKE_CELL: return; /* build_captured has made it */
    case FE_OP_LOAD:
    case FE_OP_STORE:
    case FE_OP_LOAD_CELL:
    case FE_OP_STORE_CELL:
    case FE_OP_CELL: build_variable(b, insn); return;
    case FE_OP_DEL: build_delete(b, n); return;
    case FE_OP_CONST: build_constant(b, &b->code->consts[n]); return;
    case FE_OP_INT: build_push(b, build_const(b, ir_const_int(b->module, n))); return;
    case FE_OP_COMMON: build_push(b, build_common(b, (enum fe_common)n)); return;
    case FE_OP_GLOBAL: build_push(b, build_global(b, b->code->names[n])); return;
    case FE_OP_NULL: build_null(b); return;
    case FE_OP_ATTR: {
        ir_ref object = build_pop(b);
        if (!b->failed && object == b->null)
            build_fail(b, "an attribute of a missing value");
        if (!b->failed)
            build_push(b, build_attribute(b, object, b->code->names[n]));
        return;
    }
    case FE_OP_SETATTR:
    case FE_OP_SETITEM: build_set(b, insn); return;
    case FE_OP_ITEM: build_operation(b, IR_ITEM, 0, 2); return;
    case FE_OP_BIN: build_operation(b, IR_BIN, n, 2); return;
    case FE_OP_UN: build_operation(b, IR_UN, n, 1); return;
    case FE_OP_CMP: build_operation(b, IR_CMP, n, 2); return;
    case FE_OP_IN: build_operation(b, IR_IN, n, 2); return;
    case FE_OP_TRUTH: build_operation(b, IR_TRUTH, 0, 1); return;
    case FE_OP_ITER: build_operation(b, IR_ITER, 0, 1); return;
    case FE_OP_IS: {
        ir_ref *args = build_pop_n(b, 2);
        build_push(b, build_add(b, IR_IS, n, 2, args));
        return;
    }
    case FE_OP_POP:
        if (n > b->depth)
            build_fail(b, "stack underflow");
        else
            b->depth -= n;
        return;
    case FE_OP_COPY: build_push(b, build_peek(b, n)); return;
    case FE_OP_SWAP: build_swap(b, n); return;
    case FE_OP_TUPLE: {
        ir_ref *args = build_pop_n(b, n);
        build_push(b, build_add(b, IR_TUPLE, 0, n, args));
        return;
    }
    case FE_OP_CONVERT: build_convert(b, n); return;
    case FE_OP_FORMAT_PLAIN:
        build_push(b, build_const(b, ir_const_str(b->module, "", 0)));
        /* fallthrough */
    case FE_OP_FORMAT: build_operation(b, IR_TEXT, IR_TEXT_FORMAT, 2); return;
    case FE_OP_JOIN: build_operation(b, IR_TEXT, IR_TEXT_JOIN, n); return;
    case FE_OP_LIST: {
        ir_ref *args = build_pop_n(b, n);
        build_push(b, build_add(b, IR_LIST, 0, n, args));
        return;
    }
    case FE_OP_LIST_ADD:
    case FE_OP_LIST_JOIN: build_list_grow(b, n, insn->op == FE_OP_LIST_JOIN); return;
    case FE_OP_LIST_TUPLE: build_push(b, build_tuple_of(b, build_pop(b))); return;
    case FE_OP_SLICE: build_slice(b, n); return;
    case FE_OP_UNPACK: build_unpack(b, IR_UNPACK, n, n); return;
    case FE_OP_LENGTH: build_length(b); return;
    case FE_OP_IS_SEQUENCE: build_is_sequence(b); return;
    case FE_OP_UNPACK_EX: build_unpack(b, IR_UNPACK_EX, n, (n & 255) + 1 + (n >> 8)); return;
    case FE_OP_KW_NAMES: b->kw_names = b->code->consts[n].value; return;
    case FE_OP_CALL: {
        ir_const names = b->kw_names;
        b->kw_names = 0;
        build_call(b, n, names);
        return;
    }
    case FE_OP_CALL_KW: build_call_kw(b, n); return;
    case FE_OP_CALL_EX: build_call_ex(b, n); return;
    case FE_OP_FUNCTION: build_function(b, n); return;
    case FE_OP_FUNCTION_SET: build_function_set(b, n); return;
    case FE_OP_MAP:
    case FE_OP_NAMED_MAP: build_map(b, n, insn->op == FE_OP_NAMED_MAP); return;
    case FE_OP_JUMP:
    case FE_OP_IF_FALSE:
    case FE_OP_IF_TRUE:
    case FE_OP_IF_NONE:
    case FE_OP_IF_NOT_NONE:
    case FE_OP_FOR:
    case FE_OP_FOR_POP:
    case FE_OP_RETURN:
    case FE_OP_RAISE:
    case FE_OP_BAD: assert(!"the end of a block"); return;
    case FE_N_OPS: return;
    }
}

static void
build_at(struct build *b, uint32_t unit)
{
    b->unit = unit;
    struct fe_position at = fe_position_of(b->code, unit);
    ir_set_src(b->func, at.line, at.col, at.end_line, at.end_col);
}

static void
build_block(struct build *b, uint32_t number)
{
    const struct fe_block *block = &b->cfg->blocks[number];
    assert(b->depth_in[number] && "a predecessor came before");
    b->block = b->ir_block[number];
    b->depth = b->depth_in[number] - 1;
    b->assigned = b->assigned_in[number];
    b->sure = b->sure_in[number];
    b->kw_names = 0;
    uint32_t end = block->end == FE_END_FALL ? block->last + 1 : block->last;
    for (uint32_t i = block->first; i < end && !b->failed; i++) {
        build_at(b, b->insns->data[i].unit);
        build_insn(b, &b->insns->data[i]);
    }
    if (b->failed)
        return;
    build_at(b, b->insns->data[block->end == FE_END_BAD ? block->at : block->last].unit);
    build_end(b, block);
}

/* Parameters become PARAM, one with two stars an error. */
static void
build_params(struct build *b)
{
    struct ir_func *func = b->func;
    for (uint32_t i = 0; i < func->n_params; i++)
        fe_ssa_write(&b->ssa, 0, i, build_add(b, IR_PARAM, i, 0, NULL));
    uint32_t n = func->n_params + func->has_varargs;
    if (func->has_varargs)
        fe_ssa_write(&b->ssa, 0, n - 1, build_add(b, IR_PARAM, n - 1, 0, NULL));
    if (func->has_varkw)
        fe_ssa_write(&b->ssa, 0, n,
                     build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_VARARGS),
                               fe_construct_text(FE_CONSTRUCT_VARARGS)));
    build_captured(b);
}

/* Blocks of the function: one per block of the cfg, and an entry before it if that is a loop. */
static bool
build_init(struct build *b)
{
    const struct fe_code *code = b->code;
    const struct fe_cfg *cfg = b->cfg;
    if (code->stack_size > FE_MAX_STACK) {
        build_fail(b, "a stack of %u values", code->stack_size);
        return false;
    }
    b->max_depth = code->stack_size + 4; /* operations of our own need a little more */
    uint32_t n_vars = code->n_locals + b->max_depth;
    uint32_t max_blocks = cfg->n + 1;
    for (uint32_t i = 0; i < cfg->n; i++)
        max_blocks += cfg->blocks[i].end == FE_END_IF;
    if ((uint64_t)max_blocks * n_vars > FE_MAX_CELLS) {
        build_fail(b, "too large: %u blocks and %u variables", cfg->n, n_vars);
        return false;
    }
    ir_const *names = SP_NEW_N(b->arena, ir_const, n_vars);
    for (uint32_t i = 0; i < code->n_locals; i++)
        names[i] = ir_const_str(b->module, code->locals[i].name, strlen(code->locals[i].name));
    fe_ssa_init(&b->ssa, b->func, b->arena, max_blocks, n_vars, names);
    b->ir_block = SP_NEW_N(b->arena, uint32_t, cfg->n);
    b->depth_in = SP_NEW_N(b->arena, uint32_t, cfg->n);
    bool has_entry = cfg->blocks[0].n_preds > 0;
    if (has_entry)
        ir_block_new(b->func);
    for (uint32_t i = 0; i < cfg->n; i++) {
        b->ir_block[i] = ir_block_new(b->func);
        b->ssa.n_preds[b->ir_block[i]] = cfg->blocks[i].n_preds;
    }
    b->depth_in[0] = 1;
    build_at(b, 0);
    build_fill_shared(b);
    build_params(b);
    if (has_entry) {
        b->ssa.n_preds[1]++;
        ir_jump(b->func, 0, 1);
    }
    build_fill_assigned(b);
    return true;
}

bool
fe_build(struct fe_reader *reader, const struct fe_function *function, const struct fe_insns *insns,
         const struct fe_cfg *cfg, struct sp_arena *arena, struct ir_func *func,
         struct sp_diag *diag)
{
    struct build b = {
        .reader = reader,
        .module = reader->module,
        .function = function,
        .code = &function->code,
        .insns = insns,
        .cfg = cfg,
        .arena = arena,
        .func = func,
        .diag = diag,
    };
    if (!build_init(&b))
        return false;
    for (uint32_t i = 0; i < cfg->n && !b.failed; i++)
        build_block(&b, i);
    if (b.failed)
        return false;
    fe_ssa_end(&b.ssa);
    if (!build_check_closures(&b))
        return false;
    if (b.null && ir_insn(func, b.null)->op != IR_NOP) {
        build_fail(&b, "a value is missing on some paths");
        return false;
    }
    return true;
}
