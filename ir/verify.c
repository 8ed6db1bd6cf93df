/* verify: whether a module is what ir.h, ops.def and docs/ir.md promise. Nothing is changed.
 *
 * In this order, so that each check may rely on the ones before: blocks and their instructions
 * (phis first, one terminator, every ref in one place), edges (both lists say the same), operands
 * (count, existence, immediates, types), dominance of every use that the entry reaches. Linear in
 * the size of the function. The first violation is reported with the instruction's text. Runs after
 * every pass in debug builds and on parsed text; types are checked in ir/verify_types.c. */
#include "ir/verify.h"

#include <stdio.h>
#include <string.h>

bool
ir_verify_fail(const struct ir_verify *v, ir_ref ref, const char *format, ...)
{
    struct sp_str text;
    va_list args;
    sp_str_init(&text);
    va_start(args, format);
    sp_str_vprintf(&text, format, args);
    va_end(args);
    struct sp_src where = {.file = v->func->file,
                           .function = v->func->name,
                           .line = v->func->line,
                           .col = -1,
                           .end_col = -1};
    if (ref) {
        where = ir_insn_src(v->func, ref);
        sp_str_add(&text, ": ");
        ir_print_insn(v->func, ref, &text);
    }
    sp_diag_set(v->diag, SP_E_IR_INVALID, &where, v->func->name, text.data);
    sp_str_finish(&text);
    return false;
}

static bool
check_block_insns(const struct ir_verify *v, uint32_t b)
{
    const struct ir_func *func = v->func;
    const struct ir_block *block = &func->blocks.data[b];
    bool body = false;
    for (uint32_t i = 0; i < block->insns.len; i++) {
        ir_ref ref = block->insns.data[i];
        if (!ref || ref >= func->insns.len)
            return ir_verify_fail(v, 0, "block b%u holds instruction %u, which is none", b, ref);
        const struct ir_insn *insn = ir_insn(func, ref);
        if (insn->op == IR_NOP || insn->op >= IR_N_OPS)
            return ir_verify_fail(v, 0, "block b%u holds the deleted instruction %u", b, ref);
        const struct ir_op_row *row = ir_op_row((enum ir_op)insn->op);
        if (!(row->phase & v->module->phase))
            return ir_verify_fail(v, ref, "operation '%s' in a module of phase %s", row->name,
                                  v->module->phase == IR_PHASE_CORE ? "core" : "py");
        if (insn->first_arg > func->operands.len ||
            insn->n_args > func->operands.len - insn->first_arg)
            return ir_verify_fail(v, 0, "operands of instruction %u are out of range", ref);
        if (insn->src >= func->srcs.len)
            return ir_verify_fail(v, 0, "source range of instruction %u is out of range", ref);
        if (v->position[ref])
            return ir_verify_fail(v, ref, "instruction in two places");
        if (insn->block != b)
            return ir_verify_fail(v, ref, "instruction of block b%u in block b%u", insn->block, b);
        if (insn->op == IR_PHI && body)
            return ir_verify_fail(v, ref, "phi behind other instructions");
        body |= insn->op != IR_PHI;
        if ((row->flags & IR_TERM) && i + 1 != block->insns.len)
            return ir_verify_fail(v, ref, "instructions behind the terminator of block b%u", b);
        v->position[ref] = i + 1;
    }
    return true;
}

static bool
check_blocks(const struct ir_verify *v)
{
    const struct ir_func *func = v->func;
    if (!func->blocks.len)
        return ir_verify_fail(v, 0, "no blocks");
    if (func->blocks.data[0].preds.len)
        return ir_verify_fail(v, 0, "the entry block has a predecessor");
    for (uint32_t b = 0; b < func->blocks.len; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        if (b && !block->insns.len && !block->preds.len && !block->n_succ)
            continue; /* removed */
        if (!check_block_insns(v, b))
            return false;
        ir_ref last = ir_terminator(func, b);
        if (!last)
            return ir_verify_fail(v, 0, "block b%u has no terminator", b);
        uint32_t op = ir_insn(func, last)->op;
        uint32_t n_succ = op == IR_JUMP ? 1 : op == IR_BR ? 2 : 0;
        if (block->n_succ != n_succ)
            return ir_verify_fail(v, last, "block b%u has %u successors, not %u", b, block->n_succ,
                                  n_succ);
    }
    return true;
}

/* The predecessor lists name each edge once. */
static bool
check_edges(const struct ir_verify *v)
{
    const struct ir_func *func = v->func;
    uint32_t n = func->blocks.len;
    uint32_t *count = SP_NEW_N(v->arena, uint32_t, n);
    uint64_t edges = 0, listed = 0;
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t i = 0; i < func->blocks.data[b].n_succ; i++, edges++)
            if (func->blocks.data[b].succ[i] >= n)
                return ir_verify_fail(v, 0, "block b%u has a successor that does not exist", b);
    for (uint32_t b = 0; b < n; b++) {
        const struct ir_block *block = &func->blocks.data[b];
        listed += block->preds.len;
        for (uint32_t i = 0; i < block->preds.len; i++) {
            uint32_t p = block->preds.data[i];
            if (p >= n)
                return ir_verify_fail(v, 0, "block b%u has a predecessor that does not exist", b);
            const struct ir_block *pred = &func->blocks.data[p];
            uint32_t want =
                (pred->n_succ > 0 && pred->succ[0] == b) + (pred->n_succ > 1 && pred->succ[1] == b);
            if (++count[p] > want)
                return ir_verify_fail(v, 0, "block b%u lists b%u as its predecessor", b, p);
        }
        for (uint32_t i = 0; i < block->preds.len; i++)
            count[block->preds.data[i]] = 0;
    }
    if (edges != listed)
        return ir_verify_fail(v, 0, "%llu edges, but %llu predecessors", (unsigned long long)edges,
                              (unsigned long long)listed);
    return true;
}

static bool
is_value(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    if (ir_op_may_be_void((enum ir_op)insn->op))
        return insn->type != IR_T_VOID && insn->type != IR_T_NONE;
    return ir_op_row((enum ir_op)insn->op)->result != IR_RESULT_NONE;
}

static bool
check_phi(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_insn *insn = ir_insn(v->func, ref);
    const struct ir_block *block = &v->func->blocks.data[insn->block];
    if (insn->n_args != block->preds.len)
        return ir_verify_fail(v, ref, "%u operands for %u predecessors", insn->n_args,
                              block->preds.len);
    for (uint32_t i = 0; i < insn->n_args; i++) {
        /* Both edges of a branch can lead here; a phi cannot tell them apart. */
        const struct ir_block *pred = &v->func->blocks.data[block->preds.data[i]];
        if (pred->n_succ == 2 && pred->succ[0] == pred->succ[1])
            for (uint32_t k = 0; k < i; k++)
                if (block->preds.data[k] == block->preds.data[i] &&
                    ir_arg(v->func, ref, k) != ir_arg(v->func, ref, i))
                    return ir_verify_fail(v, ref, "two values from block b%u",
                                          block->preds.data[i]);
    }
    return true;
}

static bool
check_insn(const struct ir_verify *v, ir_ref ref)
{
    const struct ir_func *func = v->func;
    const struct ir_insn *insn = ir_insn(func, ref);
    const struct ir_op_row *row = ir_op_row((enum ir_op)insn->op);
    if (row->n_args >= 0 && insn->n_args != row->n_args)
        return ir_verify_fail(v, ref, "%u operands, '%s' takes %d", insn->n_args, row->name,
                              row->n_args);
    for (uint32_t i = 0; i < insn->n_args; i++) {
        ir_ref arg = ir_arg(func, ref, i);
        if (!arg || arg >= func->insns.len || !v->position[arg])
            return ir_verify_fail(v, ref, "operand %%%u does not exist", arg);
        if (!is_value(v, arg))
            return ir_verify_fail(v, ref, "operand %%%u has no value", arg);
    }
    if (insn->op == IR_PARAM && insn->block != 0)
        return ir_verify_fail(v, ref, "parameter outside the entry block");
    if (insn->op == IR_PHI && !check_phi(v, ref))
        return false;
    if (!ir_verify_imm(v, ref))
        return false;
    if (v->module->phase == IR_PHASE_CORE)
        return ir_verify_types(v, ref);
    if (insn->type)
        return ir_verify_fail(v, ref, "a type in phase py");
    if (insn->op == IR_RET && insn->n_args != 1)
        return ir_verify_fail(v, ref, "%u values, phase py returns one", insn->n_args);
    return true;
}

static bool
check_dominance(const struct ir_verify *v)
{
    const struct ir_func *func = v->func;
    struct ir_dom dom;
    ir_fill_dom(func, v->arena, &dom);
    for (uint32_t o = 0; o < dom.n_order; o++) {
        uint32_t b = dom.order[o];
        const struct ir_block *block = &func->blocks.data[b];
        for (uint32_t i = 0; i < block->insns.len; i++) {
            ir_ref ref = block->insns.data[i];
            bool is_phi = ir_insn(func, ref)->op == IR_PHI;
            for (uint32_t k = 0; k < ir_insn(func, ref)->n_args; k++) {
                ir_ref arg = ir_arg(func, ref, k);
                uint32_t at = is_phi ? block->preds.data[k] : b;
                uint32_t def = ir_insn(func, arg)->block;
                if (!ir_dom_reaches(&dom, at))
                    continue;
                if (!ir_dom_reaches(&dom, def) || !ir_dominates(&dom, def, at) ||
                    (def == at && !is_phi && v->position[arg] >= v->position[ref]))
                    return ir_verify_fail(v, ref, "%%%u does not dominate this use", arg);
            }
        }
    }
    return true;
}

static bool
check_func(const struct ir_module *module, const struct ir_func *func, struct sp_diag *diag)
{
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct ir_verify v = {
        .module = module,
        .func = func,
        .arena = &arena,
        .diag = diag,
        .position = SP_NEW_N(&arena, uint32_t, func->insns.len),
    };
    bool ok = true;
    if (module->phase == IR_PHASE_CORE)
        for (uint32_t i = 0; ok && i < func->n_params + func->n_results; i++) {
            ir_type type =
                i < func->n_params ? func->params[i].type : func->results[i - func->n_params];
            if (type <= IR_T_VOID || type >= IR_N_FIXED_TYPES)
                ok = ir_verify_fail(&v, 0, "a parameter or result without a machine type");
        }
    if (ok && module->phase == IR_PHASE_CORE && (func->n_free || func->has_varargs))
        ok = ir_verify_fail(&v, 0, "free variables or *arguments in phase core");
    if (ok && func->n_posonly + func->n_kwonly > func->n_params)
        ok = ir_verify_fail(&v, 0, "fewer parameters than the special ones");
    if (ok)
        ok = check_blocks(&v) && check_edges(&v);
    for (uint32_t b = 0; ok && b < func->blocks.len; b++)
        for (uint32_t i = 0; ok && i < func->blocks.data[b].insns.len; i++)
            ok = check_insn(&v, func->blocks.data[b].insns.data[i]);
    if (ok)
        ok = check_dominance(&v);
    sp_arena_finish(&arena);
    return ok;
}

bool
ir_verify(const struct ir_module *module, struct sp_diag *diag)
{
    for (ir_const c = 1; c < module->consts.len; c++) {
        const struct ir_const_info *info = ir_const_info(module, c);
        if (info->kind == IR_C_FUNC && info->u >= module->funcs.len)
            return sp_diag_set(diag, SP_E_IR_INVALID, NULL, "the module",
                               "a constant names a function that does not exist");
    }
    for (uint32_t i = 0; i < module->funcs.len; i++)
        if (!check_func(module, module->funcs.data[i], diag))
            return false;
    return true;
}
