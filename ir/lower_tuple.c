/* lower_tuple: tuples joined, repeated and cut; their parts are those of the elements in a row, so
 * that none of these makes an instruction. */
#include "ir/lower.h"

#include <assert.h>

/* Elements of `tuple` given by number. */
static struct lower_value
tuple_pick(struct lower *l, struct lower_value tuple, ir_type type, uint32_t n,
           const uint32_t *which)
{
    uint32_t total = lower_n_parts(l, type), at = 0;
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, total + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct lower_value elem = lower_elem(l, tuple, which[i]);
        for (uint32_t k = 0; k < elem.n; k++)
            parts[at++] = elem.parts[k];
    }
    assert(at == total && "elements as the type says");
    return (struct lower_value){type, total, parts};
}

struct lower_value
lower_concatenate(struct lower *l, struct lower_value a, struct lower_value b, ir_type type)
{
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, a.n + b.n + 1);
    for (uint32_t i = 0; i < a.n; i++)
        parts[i] = a.parts[i];
    for (uint32_t i = 0; i < b.n; i++)
        parts[a.n + i] = b.parts[i];
    return lower_value_new(l, type, a.n + b.n, parts);
}

struct lower_value
lower_tuple_bin(struct lower *l, struct lower_value a, struct lower_value b, ir_type type)
{
    if (!ir_type_is_scalar(a.type) && !ir_type_is_scalar(b.type))
        return lower_concatenate(l, a, b, type);
    struct lower_value tuple = ir_type_is_scalar(a.type) ? b : a;
    uint32_t total = lower_n_parts(l, type);
    ir_ref *parts = SP_NEW_N(l->core->arena, ir_ref, total + 1);
    for (uint32_t i = 0; i < total; i++)
        parts[i] = tuple.parts[i % tuple.n];
    return (struct lower_value){type, total, parts};
}

struct lower_value
lower_tuple_slice(struct lower *l, struct lower_value tuple, ir_const slice, ir_type type)
{
    uint32_t n = lower_info(l, tuple.type)->n_elems, count = 0;
    int64_t start = 0, step = 0;
    bool known = ir_slice_of(l->py, slice, n, &start, &step, &count);
    assert(known && "inference has read the same slice");
    (void)known;
    uint32_t *which = SP_NEW_N(l->core->arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        which[i] = (uint32_t)(start + i * step);
    return tuple_pick(l, tuple, type, count, which);
}
