/* share: arrays that other processes open, and arrays of other devices.
 *
 * A handle for another process is bytes, where its allocation begins, and the span of the array in
 * it (gpu/_ipc.py has the rest: shape, dtype, pickling). What is opened is a gpu.Memory, which
 * closes the allocation when no array is left; on the CPU device once queued work is over. Copies
 * between two GPUs are the driver's, ordered by events on both sides; the host waits for none. */
#include "pymod/pm.h"

#include <string.h>

/* (bytes, size of the allocation, where the span begins, its bytes, the array's element 0 in it).
 * The device is waited for, because the other process does not know its streams. */
PyObject *
pm_ipc_get(PyObject *module, PyObject *object)
{
    struct pm_state *state = PyModule_GetState(module);
    struct pm_array *array = (struct pm_array *)object;
    struct rt_ipc ipc;
    struct sp_diag diag;
    int64_t first, end;
    sp_diag_init(&diag);
    if (!Py_IS_TYPE(object, state->array_type) || !array->view.size)
        return pm_fail(state, BAD_ARRAY, "get_ipc_handle: an array without elements has no memory");
    if (!pm_wait(state, array->dev, NULL))
        return NULL;
    pm_view_span(&array->view, &first, &end);
    if (!rt_ipc_get(array->dev, array->view.data + (uint64_t)first, &ipc, &diag))
        return pm_raise(state, &diag);
    return Py_BuildValue("(y#KKLL)", (const char *)ipc.bytes, (Py_ssize_t)sizeof ipc.bytes,
                         (unsigned long long)ipc.size_B, (unsigned long long)ipc.offset_B,
                         (long long)(end - first), (long long)-first);
}

/* (bytes, size, offset, span): the span as an array of bytes. */
PyObject *
pm_ipc_open(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    struct rt_ipc ipc;
    struct sp_diag diag;
    const char *bytes;
    Py_ssize_t n_bytes;
    unsigned long long size_B, offset_B;
    long long span_B;
    sp_diag_init(&diag);
    if (!dev || !PyArg_ParseTuple(args, "y#KKL", &bytes, &n_bytes, &size_B, &offset_B, &span_B))
        return NULL;
    if (n_bytes != sizeof ipc.bytes || span_B <= 0 || offset_B > size_B ||
        (unsigned long long)span_B > size_B - offset_B)
        return pm_fail(state, BAD_VALUE, "this is not the handle of an array");
    memcpy(ipc.bytes, bytes, sizeof ipc.bytes);
    ipc.size_B = size_B;
    ipc.offset_B = offset_B;
    uint64_t address = 0;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_ipc_open(dev, &ipc, &address, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        return pm_raise(state, &diag);
    PyObject *memory = pm_memory_opened(state, dev, address, size_B);
    struct pm_view view = {.data = address + offset_B, .dtype = IR_T_UINT8, .rank = 1};
    view.shape[0] = span_B;
    view.strides[0] = 1;
    pm_view_finish(&view);
    PyObject *array = memory ? (PyObject *)pm_array_new(state, dev, &view, memory) : NULL;
    Py_XDECREF(memory);
    return array;
}

/* (device, other[, on]) */
static bool
share_parse(struct pm_state *state, PyObject *args, struct rt_device **dev_out,
            struct rt_device **other_out, int *on_out)
{
    PyObject *which, *other;
    const struct pm_place *place, *there;
    *on_out = 0;
    if (!PyArg_ParseTuple(args, "OO|p", &which, &other, on_out) ||
        !(place = pm_place_parse(state, which)) || !(there = pm_place_parse(state, other)))
        return false;
    *dev_out = place->dev;
    *other_out = there->dev;
    return true;
}

PyObject *
pm_peer_can_reach(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev, *other;
    struct sp_diag diag;
    bool can = false;
    int unused;
    sp_diag_init(&diag);
    if (!share_parse(state, args, &dev, &other, &unused))
        return NULL;
    if (!rt_peer_can_reach(dev, other, &can, &diag))
        return pm_raise(state, &diag);
    return PyBool_FromLong(can);
}

PyObject *
pm_peer_reach(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev, *other;
    struct sp_diag diag;
    int on;
    sp_diag_init(&diag);
    if (!share_parse(state, args, &dev, &other, &on))
        return NULL;
    if (!rt_peer_reach(dev, other, on, &diag))
        return pm_raise(state, &diag);
    int i = rt_device_info(dev)->ordinal, k = rt_device_info(other)->ordinal;
    if (dev != other && i < 64 && k < 64)
        state->reached[i] = (state->reached[i] & ~((uint64_t)1 << k)) | (uint64_t)on << k;
    Py_RETURN_NONE;
}

bool
pm_peer_is_reached(const struct pm_state *state, const struct rt_device *dev,
                   const struct rt_device *other)
{
    const struct rt_info *here = rt_device_info(dev), *there = rt_device_info(other);
    return here->kind == RT_CUDA && there->kind == RT_CUDA && here->ordinal < 64 &&
           there->ordinal < 64 && state->reached[here->ordinal] >> there->ordinal & 1;
}

/* Work of `after` on one device begins after what is in `before` on another. */
static bool
share_order(struct rt_device *dev, rt_stream before, struct rt_device *other, rt_stream after,
            struct sp_diag *diag)
{
    struct rt_event *event = NULL;
    bool ok = rt_event_create(dev, 0, &event, diag) && rt_event_record(event, before, diag) &&
              rt_stream_wait(other, after, event, diag);
    rt_event_destroy(event);
    return ok;
}

bool
pm_peer_copies(const struct pm_array *to, const struct pm_array *from)
{
    return rt_device_info(to->dev)->kind == RT_CUDA && rt_device_info(from->dev)->kind == RT_CUDA &&
           to->view.dtype == from->view.dtype && to->view.layout == from->view.layout &&
           to->view.layout != IR_LAYOUT_ANY && pm_view_same_shape(&to->view, &from->view);
}

bool
pm_peer_copy(struct pm_array *to, struct pm_array *from, rt_stream stream)
{
    uint64_t size_B = (uint64_t)to->view.size * pm_view_itemsize(&to->view);
    rt_stream there = from->noted == PM_NO_STREAM ? 0 : from->noted;
    struct sp_diag diag;
    bool ok;
    sp_diag_init(&diag);
    if (!pm_array_use(to, to->dev, stream, NULL))
        return false;
    Py_BEGIN_ALLOW_THREADS
    ok = share_order(from->dev, there, to->dev, stream, &diag) &&
         rt_peer_copy(to->dev, to->view.data, from->dev, from->view.data, size_B, stream, &diag) &&
         share_order(to->dev, stream, from->dev, there, &diag);
    Py_END_ALLOW_THREADS
    return ok || pm_raise(to->state, &diag);
}
