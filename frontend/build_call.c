/* build_call: calls, from what lies on the stack to CALL and CALL_EX.
 *
 * The stack holds the callee, a receiver or the marker of none (on either side of the callee), and
 * the arguments; names of keyword arguments are a constant tuple. f(*t, **d) is CALL_EX with the
 * names of a dict that is known here. */
#include "frontend/build.h"

/* Names of keyword arguments must be a tuple of texts, at most one per argument. */
bool
build_check_names(struct build *b, ir_const names, uint32_t n_args)
{
    const struct ir_const_info *info = ir_const_info(b->module, names);
    bool good = info->kind == IR_C_TUPLE && info->len <= n_args;
    for (uint32_t i = 0; good && i < info->len; i++)
        good = ir_const_info(b->module, info->elems[i])->kind == IR_C_STR;
    if (!good)
        build_fail(b, "bad names of keyword arguments");
    return good;
}

void
build_call(struct build *b, uint32_t n, ir_const names)
{
    if (names && !build_check_names(b, names, n))
        return;
    /* room for callee and self before the arguments */
    ir_ref *args = SP_NEW_N(b->arena, ir_ref, n + 2);
    for (uint32_t i = n; i-- > 0 && !b->failed;)
        args[i + 2] = build_pop(b);
    ir_ref self = build_pop(b), callee = build_pop(b);
    if (b->failed)
        return;
    if (callee == b->null) {
        callee = self;
        self = b->null;
    }
    ir_ref *first = args + (self == b->null);
    first[0] = build_device(b, build_callee(b, callee));
    if (self != b->null)
        first[1] = self;
    if (names && !ir_const_info(b->module, names)->len)
        names = 0;
    build_push(b, build_add(b, IR_CALL, names, n + 1 + (self != b->null), first));
}

void
build_call_kw(struct build *b, uint32_t n)
{
    ir_ref names = build_pop(b);
    if (b->failed)
        return;
    if (ir_insn(b->func, names)->op != IR_CONST)
        build_fail(b, "names of keyword arguments that are no constant");
    else
        build_call(b, n, ir_insn(b->func, names)->imm);
}

void
build_call_ex(struct build *b, uint32_t dict)
{
    ir_ref named = dict ? build_pop(b) : 0;
    ir_ref tuple = build_pop(b), self = build_pop(b), callee = build_pop(b);
    if (b->failed)
        return;
    if (callee == b->null)
        callee = self;
    else if (self != b->null)
        build_fail(b, "a method that is called with a tuple");
    struct build_map none = {0}, *map = &none;
    if (dict == 2 && named == b->null)
        named = 0;
    if (named && !(map = build_take_map(b, named))) {
        build_push(b, build_err(b, SP_E_NYI_CONSTRUCT, fe_construct_hint(FE_CONSTRUCT_CALL_STAR),
                                fe_construct_text(FE_CONSTRUCT_CALL_STAR)));
        return;
    }
    ir_ref *args = SP_NEW_N(b->arena, ir_ref, map->n + 2);
    args[0] = build_device(b, build_callee(b, callee));
    args[1] = tuple;
    for (uint32_t i = 0; i < map->n; i++)
        args[2 + i] = map->values[i];
    ir_const names = map->n ? ir_const_tuple(b->module, map->n, map->names) : 0;
    build_push(b, build_add(b, IR_CALL_EX, names, map->n + 2, args));
}
