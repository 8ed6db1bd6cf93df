/* view: shapes and strides. Layout detection, contiguous strides, the span of bytes, broadcasting,
 * merging of axes, and copies between host arrays of equal shape and any strides.
 *
 * Dimensions of one element have no say in the layout, an empty array is contiguous whatever its
 * strides. The copy walks the outer dimensions and moves runs: the innermost dimension of both
 * sides, or everything at once when both are contiguous in the same order. */
#include "pymod/pm.h"

#include <stdio.h>
#include <string.h>

static bool
view_is_contiguous(const struct pm_view *view, bool fortran)
{
    int64_t expected = pm_view_itemsize(view);
    for (uint32_t i = 0; i < view->rank; i++) {
        uint32_t axis = fortran ? i : view->rank - 1u - i;
        if (view->shape[axis] == 0)
            return true;
        if (view->shape[axis] != 1 && view->strides[axis] != expected)
            return false;
        expected *= view->shape[axis];
    }
    return true;
}

void
pm_view_finish(struct pm_view *view)
{
    view->size = 1;
    bool empty = false;
    for (uint32_t i = 0; i < view->rank; i++) {
        view->size *= view->shape[i];
        empty |= view->shape[i] == 0;
    }
    if (empty || view_is_contiguous(view, false))
        view->layout = IR_LAYOUT_C;
    else
        view->layout = view_is_contiguous(view, true) ? IR_LAYOUT_F : IR_LAYOUT_ANY;
}

bool
pm_view_contiguous(struct pm_view *view, bool fortran)
{
    int64_t stride = pm_view_itemsize(view);
    for (uint32_t i = 0; i < view->rank; i++) {
        uint32_t axis = fortran ? i : view->rank - 1u - i;
        view->strides[axis] = stride;
        int64_t extent = view->shape[axis] ? view->shape[axis] : 1;
        if (__builtin_mul_overflow(stride, extent, &stride) || stride > INT64_MAX / 4)
            return false;
    }
    pm_view_finish(view);
    return true;
}

void
pm_view_span(const struct pm_view *view, int64_t *first_out, int64_t *end_out)
{
    int64_t first = 0, last = 0;
    for (uint32_t i = 0; i < view->rank; i++) {
        int64_t reach = (view->shape[i] - 1) * view->strides[i];
        *(reach < 0 ? &first : &last) += reach;
    }
    *first_out = view->size ? first : 0;
    *end_out = view->size ? last + pm_view_itemsize(view) : 0;
}

uint8_t
pm_view_align_of_elem(const struct pm_view *view)
{
    uint64_t bits = (view->size ? view->data : 0) | (uint64_t)1 << view->elem->align_log2;
    for (uint32_t i = 0; view->layout == IR_LAYOUT_ANY && i < view->rank; i++)
        bits |= (uint64_t)view->strides[i];
    return (uint8_t)__builtin_ctzll(bits);
}

bool
pm_view_same_shape(const struct pm_view *a, const struct pm_view *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

void
pm_view_print_shape(const struct pm_view *view, char text[128])
{
    size_t at = (size_t)snprintf(text, 128, "(");
    for (uint32_t i = 0; i < view->rank && at < 120; i++) {
        const char *after = i + 1u < view->rank ? ", " : view->rank == 1 ? "," : "";
        at += (size_t)snprintf(text + at, 128 - at, "%lld%s", (long long)view->shape[i], after);
    }
    snprintf(text + (at < 126 ? at : 126), 2, ")");
}

static void
view_copy_row(char *to, const char *from, int64_t n, int64_t to_step, int64_t from_step,
              uint32_t size_B)
{
    if (to_step == size_B && from_step == size_B) {
        memcpy(to, from, (size_t)n * size_B);
        return;
    }
    switch (size_B) {
#define VIEW_COPY(type)                                                                            \
    case sizeof(type):                                                                             \
        for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)                          \
            memcpy(to, from, sizeof(type));                                                        \
        break;
        VIEW_COPY(uint8_t)
        VIEW_COPY(uint16_t)
        VIEW_COPY(uint32_t)
        VIEW_COPY(uint64_t)
    default:
        for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
            memcpy(to, from, size_B);
#undef VIEW_COPY
    }
}

static void
view_copy_axis(const struct pm_view *to, const struct pm_view *from, uint32_t axis, char *t,
               const char *f)
{
    if (axis + 1u >= to->rank) {
        int64_t n = to->rank ? to->shape[axis] : 1;
        view_copy_row(t, f, n, to->rank ? to->strides[axis] : 0, to->rank ? from->strides[axis] : 0,
                      pm_view_itemsize(to));
        return;
    }
    for (int64_t i = 0; i < to->shape[axis]; i++)
        view_copy_axis(to, from, axis + 1u, t + i * to->strides[axis], f + i * from->strides[axis]);
}

void
pm_view_copy(const struct pm_view *to, const struct pm_view *from)
{
    if (to->size == 0)
        return;
    char *t = (char *)(uintptr_t)to->data;
    const char *f = (const char *)(uintptr_t)from->data;
    if (to->layout == from->layout && to->layout != IR_LAYOUT_ANY)
        memcpy(t, f, (size_t)to->size * pm_view_itemsize(to));
    else
        view_copy_axis(to, from, 0, t, f);
}

bool
pm_view_broadcast(const struct pm_view *from, const struct pm_view *shape, struct pm_view *out)
{
    struct pm_view view = *shape;
    view.data = from->data;
    view.dtype = from->dtype;
    view.elem = from->elem;
    view.read_only = from->read_only;
    for (uint32_t i = 0; i < shape->rank; i++)
        view.strides[i] = 0;
    for (uint32_t i = 0; i < from->rank; i++) { /* from the last axis on */
        uint32_t axis = from->rank - 1u - i;
        int64_t extent = from->shape[axis];
        if (i >= shape->rank) {
            if (extent != 1)
                return false;
            continue;
        }
        uint32_t at = shape->rank - 1u - i;
        if (extent != shape->shape[at] && extent != 1)
            return false;
        view.strides[at] = extent == 1 ? 0 : from->strides[axis];
    }
    pm_view_finish(&view);
    *out = view;
    return true;
}

static void
view_move_axis(struct pm_view *view, uint32_t to, uint32_t from)
{
    view->shape[to] = view->shape[from];
    view->strides[to] = view->strides[from];
}

static void
view_swap_axes(struct pm_view *view, uint32_t a, uint32_t b)
{
    int64_t shape = view->shape[a], stride = view->strides[a];
    view_move_axis(view, a, b);
    view->shape[b] = shape;
    view->strides[b] = stride;
}

/* Axes of one element go, all others run forward in `to`. */
static void
view_straighten(struct pm_view *to, struct pm_view *from)
{
    uint8_t rank = 0;
    for (uint32_t i = 0; i < to->rank; i++) {
        int64_t last = to->shape[i] - 1;
        if (last == 0)
            continue;
        view_move_axis(to, rank, i);
        view_move_axis(from, rank, i);
        if (to->strides[rank] < 0) {
            to->data += (uint64_t)(last * to->strides[rank]);
            from->data += (uint64_t)(last * from->strides[rank]);
            to->strides[rank] = -to->strides[rank];
            from->strides[rank] = -from->strides[rank];
        }
        rank++;
    }
    to->rank = from->rank = rank;
}

/* The axes in the order in which they lie in `to`, the closest last; then each that goes on where
 * the one behind it ends, in both views, is put together with that. */
void
pm_view_merge(struct pm_view *to, struct pm_view *from)
{
    if (to->size)
        view_straighten(to, from);
    for (uint32_t i = 1; i < to->rank; i++) {
        for (uint32_t k = i; k > 0 && to->strides[k - 1] < to->strides[k]; k--) {
            view_swap_axes(to, k - 1, k);
            view_swap_axes(from, k - 1, k);
        }
    }
    uint8_t rank = to->rank > 0;
    for (uint32_t i = 1; i < to->rank; i++) {
        int64_t extent = to->shape[i];
        if (to->strides[rank - 1] == extent * to->strides[i] &&
            from->strides[rank - 1] == extent * from->strides[i]) {
            to->shape[rank - 1] = from->shape[rank - 1] *= extent;
            to->strides[rank - 1] = to->strides[i];
            from->strides[rank - 1] = from->strides[i];
            continue;
        }
        view_move_axis(to, rank, i);
        view_move_axis(from, rank++, i);
    }
    if (!rank) {
        to->shape[0] = from->shape[0] = 1;
        to->strides[0] = pm_view_itemsize(to);
        from->strides[0] = pm_view_itemsize(from);
        rank = 1;
    }
    to->rank = from->rank = rank;
    pm_view_finish(to);
    pm_view_finish(from);
}
