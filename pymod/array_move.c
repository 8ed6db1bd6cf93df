/* array_move: values from device memory to device memory, without a wait.
 *
 * In: views of equal shape on one device, any strides, any dtypes, or one element for all of a
 * view. Out: work in the stream's order; nothing here waits for kernels that run. On a GPU what is
 * contiguous on both sides is a copy of the driver's, and everything else a kernel of our own
 * (gpu/_array_kernels.py), over axes merged to as few as possible. On the CPU device it is that
 * kernel too while others run; when nothing does, small work is done here and now, which needs no
 * compilation. Views that overlap go by way of new memory, which is given back in stream order.
 * Lost alternative: the driver's 2D copies, which are slow for narrow columns and know neither
 * negative strides nor dtypes. */
#include "pymod/pm.h"

#include <string.h>

#define MOVE_CONVERT_HERE 65536 /* elements; more are worth a kernel */

/* Whether nothing runs, so that the host may touch the memory. Raises nothing. */
static bool
move_is_idle(struct rt_device *dev)
{
    struct sp_diag diag;
    bool done = false;
    sp_diag_init(&diag);
    bool ok = rt_stream_query(dev, 0, &done, &diag);
    sp_diag_finish(&diag);
    return ok && done;
}

static PyObject *
move_array(struct pm_state *state, struct rt_device *dev, const struct pm_view *view, bool as_bits)
{
    struct pm_view bits = *view;
    static const uint8_t ints[] = {IR_T_INT8, IR_T_INT16, IR_T_INT32, IR_T_INT64};
    if (as_bits && !view->elem)
        bits.dtype = ints[__builtin_ctz(pm_view_itemsize(view))];
    bits.read_only = false; /* whether the kernel may write was asked before */
    return (PyObject *)pm_array_new(state, dev, &bits, NULL);
}

/* kernel(to, other)[stream]; takes `other` over. */
static bool
move_launch(PyObject *to, PyObject *other, const char *kernel, rt_stream stream)
{
    PyObject *module = to && other ? PyImport_ImportModule("gpu._array_kernels") : NULL;
    PyObject *none =
        module ? PyObject_CallMethod(module, kernel, "OOK", to, other, (unsigned long long)stream)
               : NULL;
    Py_XDECREF(module);
    Py_XDECREF(to);
    Py_XDECREF(other);
    Py_XDECREF(none);
    return none != NULL;
}

static bool
move_by_new_memory(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
                   const struct pm_view *from, rt_stream stream)
{
    struct pm_array *between = pm_array_alloc_on(state, dev, from, false, stream);
    bool ok = between && pm_transfer(state, dev, &between->view, from, stream) &&
              pm_transfer(state, dev, to, &between->view, stream);
    Py_XDECREF((PyObject *)between);
    return ok;
}

bool
pm_transfer(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
            const struct pm_view *from, rt_stream stream)
{
    struct pm_view a = *to, b = *from;
    if (to->size == 0 || pm_view_same(to, from))
        return true;
    if (pm_view_spans_overlap(to, from))
        return move_by_new_memory(state, dev, to, from, stream);
    if (!pm_memory_note(state, dev, to->data, stream) ||
        !pm_memory_note(state, dev, from->data, stream))
        return false;
    pm_view_merge(&a, &b);
    bool cpu = rt_device_info(dev)->kind == RT_CPU, same = a.dtype == b.dtype, ok = true;
    bool captured = rt_stream_is_capturing(dev, stream);
    if ((!cpu || captured) && same && a.rank == 1 && a.layout == IR_LAYOUT_C &&
        b.layout == IR_LAYOUT_C) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_copy(dev, a.data, b.data, (uint64_t)a.size * pm_view_itemsize(&a), stream,
                            &diag);
        Py_END_ALLOW_THREADS
        if (!ok)
            pm_raise(state, &diag);
        return ok;
    }
    if (cpu && !captured && (same || pm_on_python(state) || a.size <= MOVE_CONVERT_HERE) &&
        move_is_idle(dev)) {
        Py_BEGIN_ALLOW_THREADS
        pm_view_convert(&a, &b);
        Py_END_ALLOW_THREADS
        return true;
    }
    return move_launch(move_array(state, dev, &a, same), move_array(state, dev, &b, same), "copy",
                       stream);
}

bool
pm_fill(struct pm_state *state, struct rt_device *dev, const struct pm_view *view,
        const void *element, rt_stream stream)
{
    uint32_t size_B = pm_view_itemsize(view);
    struct pm_view to = *view, from = *view;
    if (view->size == 0)
        return true;
    if (!pm_memory_note(state, dev, view->data, stream))
        return false;
    from.data = (uint64_t)(uintptr_t)element;
    memset(from.strides, 0, sizeof from.strides);
    pm_view_finish(&from);
    pm_view_merge(&to, &from);
    bool cpu = rt_device_info(dev)->kind == RT_CPU, ok = true;
    bool captured = rt_stream_is_capturing(dev, stream);
    if (cpu && !captured && move_is_idle(dev)) {
        Py_BEGIN_ALLOW_THREADS
        pm_view_copy(&to, &from);
        Py_END_ALLOW_THREADS
        return true;
    }
    if ((!cpu || captured) && to.rank == 1 && to.layout == IR_LAYOUT_C) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        Py_BEGIN_ALLOW_THREADS
        ok = rt_device_fill(dev, to.data, element, size_B, (uint64_t)to.size, stream, &diag);
        Py_END_ALLOW_THREADS
        if (!ok)
            pm_raise(state, &diag);
        return ok;
    }
    uint64_t bits = 0, sign = (uint64_t)1 << (8 * size_B - 1);
    memcpy(&bits, element, size_B);
    if (size_B < 8)
        bits = (bits ^ sign) - sign;
    return move_launch(move_array(state, dev, &to, true), PyLong_FromLongLong((int64_t)bits),
                       "fill", stream);
}
