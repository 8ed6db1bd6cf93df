/* print: decoded code as text, for people and for tests: one line per stack operation, under the
 * reachable blocks in their order, with the line in the source and CPython's own opcode. */
#include "frontend/code.h"

static void
print_operand(const struct fe_code *code, const struct fe_insn *insn, struct sp_str *out)
{
    switch (fe_op_row(insn->op)->operand) {
    case FE_OPERAND_NONE: return;
    case FE_OPERAND_LOCAL: sp_str_printf(out, " %s", code->locals[insn->arg].name); return;
    case FE_OPERAND_NAME: sp_str_printf(out, " %s", code->names[insn->arg]); return;
    case FE_OPERAND_CONST:
    case FE_OPERAND_COUNT: sp_str_printf(out, " %u", insn->arg); return;
    case FE_OPERAND_TARGET: return;
    case FE_OPERAND_NUMBER: break;
    }
    if (insn->op == FE_OP_BIN)
        sp_str_printf(out, " %s%s", ir_binop_text(insn->arg & ~IR_INPLACE),
                      insn->arg & IR_INPLACE ? "=" : "");
    else if (insn->op == FE_OP_UN)
        sp_str_printf(out, " %s", ir_unop_text((enum ir_unop)insn->arg));
    else if (insn->op == FE_OP_CMP)
        sp_str_printf(out, " %s", ir_cmpop_text((enum ir_cmpop)insn->arg));
    else if (insn->op == FE_OP_BAD)
        sp_str_printf(out, " %s", fe_construct_text((enum fe_construct)insn->arg));
    else
        sp_str_printf(out, " %u", insn->arg);
}

static void
print_insn(const struct fe_code *code, const struct fe_insn *insn, struct sp_str *out)
{
    size_t start = out->len;
    sp_str_printf(out, "    %s", fe_op_row(insn->op)->name);
    print_operand(code, insn, out);
    while (out->len - start < 32)
        sp_str_add_char(out, ' ');
    const char *opcode = code->version->names[code->bytes[2 * insn->unit]];
    sp_str_printf(out, " ; %u %s, line %d\n", insn->unit * 2, opcode ? opcode : "?",
                  (int)fe_position_of(code, insn->unit).line);
}

static void
print_end(const struct fe_block *block, struct sp_str *out)
{
    switch (block->end) {
    case FE_END_FALL:
    case FE_END_JUMP: sp_str_printf(out, "    -> b%u\n", block->succ[0]); return;
    case FE_END_IF:
        sp_str_printf(out, "    -> b%u, target b%u\n", block->succ[0], block->succ[1]);
        return;
    case FE_END_RETURN:
    case FE_END_RAISE: return;
    case FE_END_BAD:
        sp_str_printf(out, "    error: %s\n", fe_construct_text(block->construct));
        return;
    }
}

void
fe_print_cfg(const struct fe_code *code, const struct fe_insns *insns, const struct fe_cfg *cfg,
             struct sp_str *out)
{
    sp_str_printf(out, "code %s, Python 3.%u\n", code->name, code->version->minor);
    for (uint32_t b = 0; b < cfg->n; b++) {
        const struct fe_block *block = &cfg->blocks[b];
        sp_str_printf(out, "  b%u:%s\n", b, block->is_loop ? " loop" : "");
        for (uint32_t i = block->first; i <= block->last; i++)
            print_insn(code, &insns->data[i], out);
        print_end(block, out);
    }
}
