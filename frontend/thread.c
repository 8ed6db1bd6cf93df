/* thread: jumps that lead to a second test of the value that they have just tested.
 *
 * In: decoded instructions. Out: the same, where a jump out of `x and y` or `x or y` that arrives
 * at another test of x goes where that test sends it. Needs nothing, keeps everything but targets.
 *
 *     (x and y) or z            copy 1; if_false L1; pop; y; L1: copy 1; if_true L2; pop; z; L2:
 *
 * A false x goes to L1, is tested again and dropped: the jump can go behind the second test.
 * CPython 3.11, 3.14 and 3.15 do so themselves, 3.12 and 3.13 do not. A value that arrives at L1
 * takes part in the type of the whole, so without this the type of an expression would depend on
 * the version. */
#include "frontend/code.h"

/* Compilers of Python need two or three; hand-made code shall not make this quadratic. */
enum { THREAD_MOST_NOPS = 4, THREAD_MOST_STEPS = 32 };

static bool
thread_is_test(const struct fe_insn *insn)
{
    return insn->op == FE_OP_IF_TRUE || insn->op == FE_OP_IF_FALSE;
}

/* Whether a test of the top of the stack that keeps it begins at `i`; `branch_out` is its
 * branch. */
static bool
thread_begins_test(const struct fe_insns *insns, uint32_t i, uint32_t *branch_out)
{
    uint32_t end = i + THREAD_MOST_NOPS < insns->len ? i + THREAD_MOST_NOPS : insns->len;
    while (i < end && insns->data[i].op == FE_OP_NOP)
        i++;
    if (i >= insns->len || insns->data[i].op != FE_OP_COPY || insns->data[i].arg != 1)
        return false;
    i++;
    while (i < end && (insns->data[i].op == FE_OP_NOP || insns->data[i].op == FE_OP_TRUTH))
        i++;
    *branch_out = i;
    return i < insns->len && thread_is_test(&insns->data[i]);
}

/* Where `target` leads with a value of known truth on top of the stack. */
static uint32_t
thread_follow(const struct fe_insns *insns, uint32_t target, bool truth)
{
    uint32_t branch, steps = 0;
    while (steps++ < THREAD_MOST_STEPS && thread_begins_test(insns, target, &branch)) {
        bool jumps = (insns->data[branch].op == FE_OP_IF_TRUE) == truth;
        if (!jumps && branch + 1 >= insns->len)
            break;
        target = jumps ? insns->data[branch].target : branch + 1;
    }
    return target;
}

void
fe_thread(const struct fe_insns *insns, struct sp_arena *arena)
{
    bool *is_target = SP_NEW_N(arena, bool, insns->len);
    for (uint32_t i = 0; i < insns->len; i++)
        if (fe_op_row(insns->data[i].op)->operand == FE_OPERAND_TARGET)
            is_target[insns->data[i].target] = true;
    for (uint32_t i = 0; i < insns->len; i++) {
        uint32_t branch;
        if (insns->data[i].op != FE_OP_COPY || !thread_begins_test(insns, i, &branch))
            continue;
        bool entered = false; /* a jump between the copy and the branch brings another value */
        for (uint32_t k = i + 1; k <= branch; k++)
            entered |= is_target[k];
        struct fe_insn *insn = &insns->data[branch];
        if (!entered)
            insn->target = thread_follow(insns, insn->target, insn->op == FE_OP_IF_TRUE);
    }
}
