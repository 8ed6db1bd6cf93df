/* overlap: whether two views of host memory have an element in common.
 *
 * A GPU gets copies of host arrays, so views that share elements would each get their own, and the
 * one copied back last would win. In: two views. Out: yes or no, exactly: views whose spans are
 * apart are told apart at once; else the elements of one are marked in a bit map of the common span
 * and those of the other looked up, which costs about as much as the copies. Lost alternative:
 * comparing spans alone, which refuses x[::2] with x[1::2] and the two halves of a matrix's
 * columns. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

struct overlap {
    uint64_t *bits;
    uint64_t first; /* address of bit 0 */
    uint64_t unit_B, n;
    bool mark; /* else look up */
    bool found;
};

static void
overlap_element(struct overlap *overlap, uint64_t address, uint64_t size_B)
{
    for (uint64_t at = address; at < address + size_B; at += overlap->unit_B) {
        uint64_t bit = (at - overlap->first) / overlap->unit_B;
        if (at < overlap->first || bit >= overlap->n)
            continue;
        if (overlap->mark)
            overlap->bits[bit / 64] |= (uint64_t)1 << (bit % 64);
        else
            overlap->found |= overlap->bits[bit / 64] >> (bit % 64) & 1;
    }
}

static void
overlap_walk(struct overlap *overlap, const struct pm_view *view, uint32_t axis, uint64_t address)
{
    if (axis == view->rank) {
        overlap_element(overlap, address, pm_view_itemsize(view));
        return;
    }
    for (int64_t i = 0; i < view->shape[axis] && !overlap->found; i++)
        overlap_walk(overlap, view, axis + 1, address + (uint64_t)(i * view->strides[axis]));
}

bool
pm_view_spans_overlap(const struct pm_view *a, const struct pm_view *b)
{
    int64_t first_a, end_a, first_b, end_b;
    pm_view_span(a, &first_a, &end_a);
    pm_view_span(b, &first_b, &end_b);
    return a->data + (uint64_t)first_a < b->data + (uint64_t)end_b &&
           b->data + (uint64_t)first_b < a->data + (uint64_t)end_a;
}

bool
pm_view_same(const struct pm_view *a, const struct pm_view *b)
{
    return a->data == b->data && a->dtype == b->dtype && pm_view_same_shape(a, b) &&
           !memcmp(a->strides, b->strides, a->rank * sizeof *a->strides);
}

bool
pm_view_overlap(const struct pm_view *a, const struct pm_view *b)
{
    if (!pm_view_spans_overlap(a, b))
        return false;
    int64_t first, end;
    uint64_t size_a = pm_view_itemsize(a), size_b = pm_view_itemsize(b);
    pm_view_span(a, &first, &end);
    struct overlap overlap = {.first = a->data + (uint64_t)first,
                              .unit_B = size_a < size_b ? size_a : size_b,
                              .mark = true};
    overlap.n = (uint64_t)(end - first) / overlap.unit_B;
    overlap.bits = calloc((size_t)(overlap.n / 64 + 1), sizeof *overlap.bits);
    if (!overlap.bits)
        return true; /* without memory to tell, the careful answer */
    overlap_walk(&overlap, a, 0, a->data);
    overlap.mark = false;
    overlap_walk(&overlap, b, 0, b->data);
    free(overlap.bits);
    return overlap.found;
}
