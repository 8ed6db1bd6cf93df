/* run_core: interp.c with a thread's indices and the C library's functions. What lowering promises
 * never to do (interp.c's INTERP_BAD) is a failed assertion. */
#include "tests/ir/run_core.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tests/ir/interp.h"

static uint64_t
run_intrin(void *context, const struct ir_insn *insn, const uint64_t *args)
{
    const struct run_core *run = context;
    enum ir_intrin id = (enum ir_intrin)insn->imm;
    ir_type t = insn->type;
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
    default: break;
    }
    double a = interp_to_double(t, args[0]), b = interp_to_double(t, args[1]), r = 0;
    bool single = t == IR_T_F32;
    switch (id) {
    case IR_INTRIN_FMOD: r = fmod(a, b); break;
    case IR_INTRIN_POW: r = single ? powf((float)a, (float)b) : pow(a, b); break;
    case IR_INTRIN_EXP: r = single ? expf((float)a) : exp(a); break;
    case IR_INTRIN_LOG: r = single ? logf((float)a) : log(a); break;
    case IR_INTRIN_HYPOT: r = single ? hypotf((float)a, (float)b) : hypot(a, b); break;
    case IR_INTRIN_LDEXP: {
        int exponent = (int)(int32_t)(uint32_t)args[1];
        r = single ? ldexpf((float)a, exponent) : ldexp(a, exponent);
        break;
    }
    default: assert(!"this intrinsic is not interpreted");
    }
    return interp_from_double(t, r);
}

bool
run_core(struct run_core *run, const uint64_t *args)
{
    static struct interp in;
    memset(&in, 0, sizeof in);
    in.module = run->module;
    in.intrin = run_intrin;
    in.context = run;
    in.real_memory = true;
    in.steps_left = run->steps_left;
    interp_go(&in, args);
    assert(in.end != INTERP_BAD && "undefined by ops.def");
    assert(in.end != INTERP_UNREACHABLE && "unreachable code is never reached");
    run->polls = in.polls;
    run->steps_left = in.end == INTERP_LIMIT ? 0 : in.steps_left;
    run->raised = in.end == INTERP_RAISE;
    run->site = in.site;
    memcpy(run->values, in.values, sizeof run->values);
    return in.end == INTERP_RET;
}
