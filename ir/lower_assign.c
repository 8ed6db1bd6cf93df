/* lower_assign: stores to elements and to views, and operators that change a view in place.
 *
 * In: SETITEM, and BIN with IR_INPLACE whose left operand is an array. Out: a store, or a loop per
 * axis around one. A source array is spread over the target as NumPy does: axes are matched from
 * the last one, and an axis of extent 1 repeats.
 *
 *     v[...] = x     for each element: store
 *     v[...] = w     for each element: load, store
 *     v += w         for each element: load both, add, store
 *
 * Source and target may be parts of one array. NumPy's result is that of a copied source; here the
 * order of the loops makes it so. First the axes are sorted by the target's strides, the largest
 * outermost, and those with a negative one turned around, so that the loops go through the target's
 * addresses upwards. Let D(i) be the address that element i is stored at and S(i) the one it is
 * loaded from. Storing i does harm if D(i) = S(j) for a j that is still to be loaded.
 *
 *   1. If the memory is apart, or one element is stored everywhere, any order does: the element of
 *      the target that the source is gets its own value. The rest needs elements of one size.
 *   2. If S rises with i too, then j > i just if S(j) = D(i) > S(i). Elements with D(i) <= S(i) are
 *      stored upwards, then the others downwards: j is of the same kind as i, for D(j) > S(j) = D(i)
 *      just if j > i. With equal strides all are of one kind, and one pass does.
 *   3. If D(i) = S(j) implies D(j) = S(i) with j another element of the target, elements are
 *      exchanged in pairs: a whole view turned around along some axes, a square one transposed.
 *   4. Otherwise a thread raises STORE_OVERLAP.
 *
 *     a[1:] = a[:-1]    1 pass downwards         a[::2] = a[:5]     2 passes
 *     a[:] = a[::-1]    pairs                    a[1:6] = a[7:2:-1]  raises
 *
 * What the strides and extents say is tested at run time, as far as constants do not decide it.
 * Lost: copying the source (a thread has no memory for it), and following the cycles of any other
 * permutation (a division per element and axis). */
#include "ir/lower.h"

#include <assert.h>

#define ASSIGN_SHAPE "{i} elements along axis {i} of an array cannot be stored in {i}"

/* Two addresses that go through the elements of a target and of what is stored there. */
struct assign {
    ir_ref py;    /* the place */
    ir_type type; /* of the target, an array */
    uint32_t rank;
    ir_ref extents[IR_MAX_RANK];
    ir_ref target, target_by[IR_MAX_RANK];
    ir_ref source, source_by[IR_MAX_RANK]; /* source 0: there is none */
    ir_type source_type;
    bool apart;               /* source and target lie in different spaces */
    ir_ref bin;               /* the BIN of an operator in place, or 0 */
    struct lower_value value; /* stored, where there is no source */
    ir_ref all, second;       /* i1: this pass takes all elements; it is the second pass */
};

static bool
assign_same_dtype(const struct lower *l, const struct assign *a)
{
    return lower_info(l, a->type)->dtype == lower_info(l, a->source_type)->dtype;
}

/* ---- Shapes ---- */

/* The strides of the source along the target's axes: 0 where it repeats. */
static void
assign_spread(struct lower *l, struct assign *a, struct lower_value source)
{
    struct lower_view view = lower_view_of(l, source);
    uint32_t rank = view.info->rank, first = a->rank - rank;
    ir_ref strides[IR_MAX_RANK], zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    lower_strides(l, source, strides);
    a->source = view.data;
    a->source_type = source.type;
    for (uint32_t k = 0; k < a->rank; k++) {
        a->source_by[k] = zero;
        if (k < first)
            continue;
        ir_ref extent = view.extents[k - first];
        a->source_by[k] = strides[k - first];
        if (extent == a->extents[k])
            continue;
        ir_ref repeats = lower_icmp(l, IR_ICMP_EQ, extent, one);
        a->source_by[k] = lower_select(l, repeats, zero, strides[k - first]);
        if (l->ctx->options.bounds) {
            ir_ref equal = lower_icmp(l, IR_ICMP_EQ, extent, a->extents[k]);
            ir_ref values[] = {extent, lower_int(l, IR_T_I64, k - first), a->extents[k]};
            lower_raise_unless(l, lower_op2(l, IR_OR, equal, repeats),
                               lower_site(l, a->py, SP_E_STORE_SHAPE, ASSIGN_SHAPE, 3), 3, values);
        }
    }
}

/* ---- Order ---- */

/* Turns axis k around if `turned`: the addresses begin at its other end. */
static void
assign_turn(struct lower *l, struct assign *a, uint32_t k, ir_ref turned)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0);
    ir_ref last = lower_op2(l, IR_SUB, a->extents[k], lower_int(l, IR_T_I64, 1));
    last = lower_select(l, turned, last, zero);
    ir_ref *ends[] = {&a->target, &a->source}, *steps[] = {&a->target_by[k], &a->source_by[k]};
    for (uint32_t i = 0; i < 2; i++) {
        *ends[i] = lower_op2(l, IR_PTRADD, *ends[i], lower_op2(l, IR_MUL, last, *steps[i]));
        *steps[i] = lower_select(l, turned, lower_op2(l, IR_SUB, zero, *steps[i]), *steps[i]);
    }
}

/* The larger stride of the target outermost; strides are not negative. */
static void
assign_sort(struct lower *l, struct assign *a)
{
    for (uint32_t end = a->rank; end-- > 1;)
        for (uint32_t k = 0; k < end; k++) {
            ir_ref swap = lower_icmp(l, IR_ICMP_SLT, a->target_by[k], a->target_by[k + 1]);
            ir_ref *lists[] = {a->extents, a->target_by, a->source_by};
            for (uint32_t i = 0; i < 3; i++) {
                ir_ref outer = lists[i][k], inner = lists[i][k + 1];
                lists[i][k] = lower_select(l, swap, inner, outer);
                lists[i][k + 1] = lower_select(l, swap, outer, inner);
            }
        }
}

static void
assign_reverse_axes(struct assign *a)
{
    ir_ref *lists[] = {a->extents, a->target_by, a->source_by};
    for (uint32_t k = 0; k < a->rank / 2; k++)
        for (uint32_t i = 0; i < 3; i++) {
            ir_ref outer = lists[i][k];
            lists[i][k] = lists[i][a->rank - 1 - k];
            lists[i][a->rank - 1 - k] = outer;
        }
}

/* The first address of a side and the one behind its last byte. */
static void
assign_reach(struct lower *l, const struct assign *a, ir_ref at, const ir_ref *by, ir_type type,
             ir_ref *low_out, ir_ref *high_out)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    ir_ref low = zero, high = lower_int(l, IR_T_I64, lower_itemsize(l, lower_info(l, type)));
    for (uint32_t k = 0; k < a->rank; k++) {
        ir_ref far = lower_op2(l, IR_MUL, lower_op2(l, IR_SUB, a->extents[k], one), by[k]);
        ir_ref down = lower_icmp(l, IR_ICMP_SLT, by[k], zero);
        low = lower_op2(l, IR_ADD, low, lower_select(l, down, far, zero));
        high = lower_op2(l, IR_ADD, high, lower_select(l, down, zero, far));
    }
    *low_out = lower_op2(l, IR_PTRADD, at, low);
    *high_out = lower_op2(l, IR_PTRADD, at, high);
}

/* What is known, at run time, of how a source lies to its target. */
struct assign_relation {
    ir_ref same;   /* equal strides */
    ir_ref free;   /* the order does not matter */
    ir_ref rises;  /* the source's addresses rise in the order of the target's */
    ir_ref paired; /* elements can be exchanged in pairs */
};

static ir_ref
assign_and(struct lower *l, ir_ref a, ir_ref b)
{
    return lower_op2(l, IR_AND, a, b);
}

static ir_ref
assign_or(struct lower *l, ir_ref a, ir_ref b)
{
    return lower_op2(l, IR_OR, a, b);
}

static ir_ref
assign_equal(struct lower *l, ir_ref a, ir_ref b)
{
    return a == b ? lower_bool(l, true) : lower_icmp(l, IR_ICMP_EQ, a, b);
}

/* A whole view turned around along some axes: the source begins at the other end of these. */
static ir_ref
assign_is_turned(struct lower *l, const struct assign *a)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    ir_ref turned = lower_bool(l, true), offset = zero;
    for (uint32_t k = 0; k < a->rank; k++) {
        ir_ref back = lower_op2(l, IR_SUB, zero, a->target_by[k]);
        ir_ref is_back = assign_equal(l, a->source_by[k], back);
        turned = assign_and(
            l, turned, assign_or(l, is_back, assign_equal(l, a->source_by[k], a->target_by[k])));
        ir_ref far =
            lower_op2(l, IR_MUL, lower_op2(l, IR_SUB, a->extents[k], one), a->target_by[k]);
        offset = lower_op2(l, IR_ADD, offset, lower_select(l, is_back, far, zero));
    }
    ir_ref other_end = lower_op2(l, IR_PTRADD, a->target, offset);
    return assign_and(l, turned, assign_equal(l, a->source, other_end));
}

static ir_ref
assign_is_transposed(struct lower *l, const struct assign *a)
{
    if (a->rank != 2)
        return lower_bool(l, false);
    ir_ref both = assign_and(l, assign_equal(l, a->source_by[0], a->target_by[1]),
                             assign_equal(l, a->source_by[1], a->target_by[0]));
    both = assign_and(l, both, assign_equal(l, a->extents[0], a->extents[1]));
    return assign_and(l, both, assign_equal(l, a->source, a->target));
}

static struct assign_relation
assign_relation(struct lower *l, const struct assign *a)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    ir_ref yes = lower_bool(l, true), no = lower_bool(l, false);
    struct assign_relation r = {yes, no, yes, no};
    ir_ref single = yes, few[IR_MAX_RANK];
    for (uint32_t k = 0; k < a->rank; k++) {
        few[k] = lower_icmp(l, IR_ICMP_SLE, a->extents[k], one);
        ir_ref equal = assign_equal(l, a->target_by[k], a->source_by[k]);
        r.same = assign_and(l, r.same, assign_or(l, equal, few[k]));
        single = assign_and(l, single,
                            assign_or(l, lower_icmp(l, IR_ICMP_EQ, a->source_by[k], zero), few[k]));
        r.free = assign_or(l, r.free, lower_icmp(l, IR_ICMP_EQ, a->extents[k], zero));
        ir_ref up = lower_icmp(l, IR_ICMP_SGT, a->source_by[k], zero);
        r.rises = assign_and(l, r.rises, assign_or(l, up, few[k]));
        if (k)
            r.rises = assign_and(
                l, r.rises,
                assign_or(l, assign_or(l, few[k - 1], few[k]),
                          lower_icmp(l, IR_ICMP_SGT, a->source_by[k - 1], a->source_by[k])));
    }
    int64_t known;
    if (lower_int_of(l, r.same, &known) && known)
        return r;
    if (assign_same_dtype(l, a) && !a->bin)
        r.free = assign_or(l, r.free, single);
    ir_ref target_low, target_high, source_low, source_high;
    assign_reach(l, a, a->target, a->target_by, a->type, &target_low, &target_high);
    assign_reach(l, a, a->source, a->source_by, a->source_type, &source_low, &source_high);
    r.free = assign_or(l, r.free, lower_icmp(l, IR_ICMP_ULE, target_high, source_low));
    r.free = assign_or(l, r.free, lower_icmp(l, IR_ICMP_ULE, source_high, target_low));
    if (assign_same_dtype(l, a) && !ir_is_reference(l->py, lower_info(l, a->type)->dtype))
        r.paired = assign_or(l, assign_is_turned(l, a), assign_is_transposed(l, a));
    return r;
}

/* ---- Elements ---- */

/* target <op> source of one element. The operator's rules are those of its operands, so it is lent
 * elements in the place of arrays. */
static struct lower_value
assign_operate(struct lower *l, const struct assign *a, struct lower_value old,
               struct lower_value other)
{
    ir_ref py = a->bin, lent[2] = {ir_operand(l->inst, py, 0), ir_operand(l->inst, py, 1)};
    struct lower_value elements[2] = {old, other}, values[2];
    struct ir_cell cells[2], result = l->inst->cells[py];
    struct lower_product products[2];
    bool is_array = !ir_type_is_scalar(l->inst->cells[lent[1]].type);
    uint32_t n = is_array && lent[0] != lent[1] ? 2 : 1;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = l->values[lent[i]];
        cells[i] = l->inst->cells[lent[i]];
        products[i] = l->products[lent[i]];
        l->values[lent[i]] = elements[i];
        l->inst->cells[lent[i]] = (struct ir_cell){.type = elements[i].type};
        l->products[lent[i]] = (struct lower_product){0, 0};
    }
    l->inst->cells[py].type = old.type; /* a number */
    struct lower_value value = lower_bin(l, py);
    l->inst->cells[py] = result;
    for (uint32_t i = 0; i < n; i++) {
        l->values[lent[i]] = values[i];
        l->inst->cells[lent[i]] = cells[i];
        l->products[lent[i]] = products[i];
    }
    return value;
}

/* What element `source` makes of element `target`. */
static struct lower_value
assign_result(struct lower *l, const struct assign *a, struct lower_value target,
              struct lower_value source)
{
    return a->bin ? assign_operate(l, a, target, source) : source;
}

static void
assign_element(struct lower *l, const struct assign *a, ir_ref target, ir_ref source)
{
    struct lower_value value = a->value, old = {0};
    if (a->source)
        value = lower_load(l, source, a->source_type);
    if (a->bin)
        old = lower_load(l, target, a->type);
    lower_store(l, a->py, target, assign_result(l, a, old, value), a->type);
}

/* Both elements of a pair when the lower one is the target, else nothing, but for one that is its
 * own source. */
static void
assign_pair(struct lower *l, const struct assign *a, ir_ref target, ir_ref source)
{
    uint32_t work = ir_block_new(l->func), done = ir_block_new(l->func);
    ir_br(l->func, l->block, lower_icmp(l, IR_ICMP_ULE, target, source), work, done);
    l->block = work;
    struct lower_value low = lower_load(l, target, a->type);
    struct lower_value high = lower_load(l, source, a->source_type);
    struct lower_value to_low = assign_result(l, a, low, high);
    struct lower_value to_high = assign_result(l, a, high, low);
    lower_store(l, a->py, source, to_high, a->source_type);
    lower_store(l, a->py, target, to_low, a->type);
    ir_jump(l->func, l->block, done);
    l->block = done;
}

/* Elements of the kind of this pass: rule 2 of the head. */
static void
assign_of_pass(struct lower *l, const struct assign *a, ir_ref target, ir_ref source)
{
    uint32_t work = ir_block_new(l->func), done = ir_block_new(l->func);
    ir_ref above = lower_icmp(l, IR_ICMP_UGT, target, source);
    ir_ref mine = lower_icmp(l, IR_ICMP_EQ, above, a->second);
    ir_br(l->func, l->block, assign_or(l, a->all, mine), work, done);
    l->block = work;
    assign_element(l, a, target, source);
    ir_jump(l->func, l->block, done);
    l->block = done;
}

typedef void assign_visit(struct lower *l, const struct assign *a, ir_ref target, ir_ref source);

/* The loops over axis k and those inside it. */
static void
assign_loop(struct lower *l, const struct assign *a, uint32_t k, ir_ref target, ir_ref source,
            assign_visit *visit)
{
    if (k == a->rank) {
        visit(l, a, target, source);
        return;
    }
    struct lower_loop loop;
    uint32_t n = a->source ? 3 : 2;
    lower_loop_open(l, &loop, n, (ir_ref[]){lower_int(l, IR_T_I64, 0), target, source});
    ir_ref at[3] = {loop.phis[0], loop.phis[1], n == 3 ? loop.phis[2] : 0};
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_SLT, at[0], a->extents[k]));
    assign_loop(l, a, k + 1, at[1], at[2], visit);
    ir_ref next[3] = {lower_op2(l, IR_ADD_NSW, at[0], lower_int(l, IR_T_I64, 1)),
                      lower_op2(l, IR_PTRADD, at[1], a->target_by[k])};
    if (n == 3)
        next[2] = lower_op2(l, IR_PTRADD, at[2], a->source_by[k]);
    lower_loop_close(l, &loop, next);
}

static void
assign_loops(struct lower *l, const struct assign *a, assign_visit *visit)
{
    assign_loop(l, a, 0, a->target, a->source, visit);
}

static void
assign_turn_all(struct lower *l, struct assign *a, ir_ref turned)
{
    for (uint32_t k = 0; k < a->rank; k++)
        assign_turn(l, a, k, turned);
}

/* One pass, or two where the strides differ and the memory is shared. */
static void
assign_passes(struct lower *l, const struct assign *a, const struct assign_relation *r)
{
    struct assign pass = *a;
    ir_ref zero = lower_int(l, IR_T_I64, 0), one = lower_int(l, IR_T_I64, 1);
    ir_ref down = assign_and(l, r->same, lower_icmp(l, IR_ICMP_UGT, a->target, a->source));
    pass.all = assign_or(l, r->same, r->free);
    ir_ref n = lower_select(l, pass.all, one, lower_int(l, IR_T_I64, 2));
    struct lower_loop loop;
    lower_loop_open(l, &loop, 1, &zero);
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_SLT, loop.phis[0], n));
    pass.second = lower_icmp(l, IR_ICMP_NE, loop.phis[0], zero);
    assign_turn_all(l, &pass, assign_or(l, pass.second, down));
    assign_loops(l, &pass, assign_of_pass);
    ir_ref next = lower_op2(l, IR_ADD_NSW, loop.phis[0], one);
    lower_loop_close(l, &loop, &next);
}

static void
assign_from_array(struct lower *l, struct assign *a, enum ir_layout layout)
{
    ir_ref zero = lower_int(l, IR_T_I64, 0);
    for (uint32_t k = 0; layout == IR_LAYOUT_ANY && k < a->rank; k++)
        assign_turn(l, a, k, lower_icmp(l, IR_ICMP_SLT, a->target_by[k], zero));
    if (layout == IR_LAYOUT_ANY)
        assign_sort(l, a);
    struct assign_relation r = assign_relation(l, a);
    uint32_t site;
    int64_t known;
    if (lower_itemsize(l, lower_info(l, a->type)) !=
        lower_itemsize(l, lower_info(l, a->source_type))) {
        site = lower_site(l, a->py, SP_E_STORE_OVERLAP, "", 0);
        lower_raise_unless(l, r.free, site, 0, NULL);
        assign_loops(l, a, assign_element);
        return;
    }
    if (lower_int_of(l, r.same, &known) && known) {
        assign_turn_all(l, a, lower_icmp(l, IR_ICMP_UGT, a->target, a->source));
        assign_loops(l, a, assign_element);
        return;
    }
    ir_ref ordered = assign_or(l, r.same, assign_or(l, r.free, r.rises));
    site = lower_site(l, a->py, SP_E_STORE_OVERLAP, "", 0);
    lower_raise_unless(l, assign_or(l, ordered, r.paired), site, 0, NULL);
    if (lower_int_of(l, r.paired, &known) && !known) {
        assign_passes(l, a, &r);
        return;
    }
    uint32_t in_order = ir_block_new(l->func), in_pairs = ir_block_new(l->func);
    uint32_t done = ir_block_new(l->func);
    ir_br(l->func, l->block, ordered, in_order, in_pairs);
    l->block = in_order;
    assign_passes(l, a, &r);
    ir_jump(l->func, l->block, done);
    l->block = in_pairs;
    assign_loops(l, a, assign_pair);
    ir_jump(l->func, l->block, done);
    l->block = done;
}

/* Stores `value`, a number or an array, in all of `target`; `bin`: what it is combined with
 * first. */
static void
assign_run(struct lower *l, ir_ref py, struct lower_value target, struct lower_value value,
           ir_ref bin)
{
    struct lower_view view = lower_view_of(l, target);
    struct ir_type_info info = *view.info;
    struct assign a = {.py = py,
                       .type = target.type,
                       .rank = info.rank,
                       .target = view.data,
                       .bin = bin,
                       .value = value};
    lower_strides(l, target, a.target_by);
    for (uint32_t k = 0; k < a.rank; k++)
        a.extents[k] = view.extents[k];
    enum ir_layout layout = (enum ir_layout)info.layout;
    if (lower_info(l, value.type)->kind == IR_KIND_ARRAY && lower_info(l, value.type)->rank == 0)
        a.value = value = lower_load(l, value.parts[0], value.type);
    if (lower_info(l, value.type)->kind == IR_KIND_ARRAY && lower_info(l, value.type)->rank) {
        a.apart = lower_info(l, value.type)->space != info.space;
        assign_spread(l, &a, value);
    } else {
        if (!bin && !ir_is_reference(l->py, info.dtype)) { /* converted once, not per element */
            lower_check_store(l, value, info.dtype);
            a.value = lower_convert(l, value, info.dtype);
        }
        if (layout != IR_LAYOUT_ANY && a.rank > 1) { /* without gaps: one axis */
            for (uint32_t k = 1; k < a.rank; k++)
                a.extents[0] = lower_op2(l, IR_MUL, a.extents[0], a.extents[k]);
            a.target_by[0] = lower_int(l, IR_T_I64, lower_itemsize(l, &info));
            a.rank = 1;
            layout = IR_LAYOUT_C;
        }
    }
    if (layout == IR_LAYOUT_F)
        assign_reverse_axes(&a);
    if (a.source && !a.apart)
        assign_from_array(l, &a, layout);
    else
        assign_loops(l, &a, assign_element);
}

void
lower_store_view(struct lower *l, ir_ref py, struct lower_value view, struct lower_value value)
{
    assign_run(l, py, view, value, 0);
}

/* ---- Instructions ---- */

/* Whether two indices are surely the same: one value, one constant, or slices of the same
 * values. */
static bool
assign_same_index(const struct lower *l, ir_ref a, ir_ref b, unsigned depth)
{
    if (a == b)
        return true;
    struct ir_cell x = l->inst->cells[a], y = l->inst->cells[b];
    if (x.constant && x.constant == y.constant && x.type == y.type)
        return true;
    const struct ir_insn *p = ir_insn(l->from, a), *q = ir_insn(l->from, b);
    if (!depth || p->op != q->op || p->n_args != q->n_args ||
        (p->op != IR_SLICE && p->op != IR_TUPLE))
        return false;
    for (uint32_t i = 0; i < p->n_args; i++)
        if (!assign_same_index(l, ir_arg(l->from, a, i), ir_arg(l->from, b, i), depth - 1))
            return false;
    return true;
}

/* `a[i] <op>= x` of a view is three steps: take the view, change it, store it where it was taken
 * from. The last one has nothing to do. */
static bool
assign_is_done(const struct lower *l, ir_ref py)
{
    const ir_ref *args = ir_operands(l->inst, py);
    if (ir_operation(l->inst, args[2]) != IR_BIN ||
        !(ir_operation_imm(l->inst, args[2]) & IR_INPLACE))
        return false;
    ir_ref item = ir_operand(l->inst, args[2], 0);
    return ir_operation(l->inst, item) == IR_ITEM && ir_operand(l->inst, item, 0) == args[0] &&
           assign_same_index(l, ir_operand(l->inst, item, 1), args[1], 2);
}

void
lower_setitem(struct lower *l, ir_ref py)
{
    const ir_ref *args = ir_operands(l->inst, py);
    ir_type array = l->inst->cells[args[0]].type;
    struct ir_cell at = l->inst->cells[args[1]];
    if (lower_info(l, at.type)->kind == IR_KIND_OBJECT &&
        ir_const_info(l->py, at.constant)->kind == IR_C_STR) {
        lower_store_field(l, py, args[0], at.constant, args[2]);
        return;
    }
    struct lower_value index = lower_get(l, args[1]), value = lower_get(l, args[2]);
    struct ir_index_plan plan;
    ir_index_plan(l->py, array, index.type, &plan);
    if (!plan.is_element) {
        if (!assign_is_done(l, py))
            assign_run(l, py, lower_view(l, py, args[0], index), value, 0);
        return;
    }
    ir_ref address = lower_address(l, py, args[0], index);
    if (lower_info(l, value.type)->kind == IR_KIND_ARRAY)
        value = lower_load(l, value.parts[0], value.type);
    lower_store(l, py, address, value, array);
}

struct lower_value
lower_inplace(struct lower *l, ir_ref py)
{
    struct lower_value target = lower_get(l, ir_operand(l->inst, py, 0));
    struct lower_value value = lower_get(l, ir_operand(l->inst, py, 1));
    assign_run(l, py, target, value, py);
    return target;
}
