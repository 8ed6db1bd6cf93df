/* memory_host: gpu.Memory, small objects that own memory which is not an array's own: host memory
 * that devices address (pinned, mapped, managed, or another object's, locked for a time), and
 * memory of an allocator that the program has set.
 *
 * NumPy makes arrays of it by the buffer protocol and keeps the object; a launch that is given such
 * an array finds the object by the address, in a list in order, and uses the memory where it is.
 * When the object goes the memory goes back to its pool, which keeps it until the work that uses it
 * is over. */
#include "pymod/pm.h"

#include <string.h>

static enum rt_pool_kind
memory_pool(enum pm_memory_kind kind)
{
    return kind == PM_MEMORY_MANAGED ? RT_POOL_MANAGED : RT_POOL_HOST;
}

static struct pm_memory *
memory_new(struct pm_state *state, struct rt_device *dev, enum pm_memory_kind kind)
{
    struct pm_memory *self = PyObject_New(struct pm_memory, state->memory_type);
    if (!self)
        return NULL;
    PyObject head = self->ob_base;
    memset(self, 0, sizeof *self);
    self->ob_base = head;
    self->state = state;
    self->dev = dev;
    self->kind = kind;
    self->waits = kind == PM_MEMORY_PINNED;
    return self;
}

/* ---- The list by address -------------------------------------------------------------------- */

/* The index of the first one above the address. */
static uint32_t
memory_above(const struct pm_state *state, uint64_t address)
{
    uint32_t low = 0, high = state->memories.len;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (state->memories.data[mid]->address > address)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void
memory_list(struct pm_memory *self)
{
    struct pm_state *state = self->state;
    uint32_t at = memory_above(state, self->address);
    sp_vec_push(NULL, &state->memories, self);
    memmove(&state->memories.data[at + 1], &state->memories.data[at],
            (state->memories.len - 1 - at) * sizeof self);
    state->memories.data[at] = self;
    self->is_open = true;
}

static void
memory_unlist(struct pm_memory *self)
{
    struct pm_state *state = self->state;
    uint32_t at = memory_above(state, self->address) - 1;
    while (state->memories.data[at] != self)
        at--;
    state->memories.len--;
    memmove(&state->memories.data[at], &state->memories.data[at + 1],
            (state->memories.len - at) * sizeof self);
    self->is_open = false;
}

struct pm_memory *
pm_memory_find(struct pm_state *state, uint64_t address, uint64_t size_B)
{
    uint32_t at = memory_above(state, address);
    struct pm_memory *memory = at ? state->memories.data[at - 1] : NULL;
    if (!memory || memory->kind == PM_MEMORY_EXTERNAL ||
        address - memory->address >= memory->size_B ||
        size_B > memory->size_B - (address - memory->address))
        return NULL;
    return memory;
}

bool
pm_memory_use(struct pm_memory *self, struct rt_device *dev, rt_stream stream)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok = true;
    if (dev != self->dev) {
        self->abroad = true;
    } else if (self->kind == PM_MEMORY_EXTERNAL) {
        bool known = stream == self->stream;
        for (uint32_t i = 0; i < self->users.len; i++)
            known |= self->users.data[i] == stream;
        if (!known) {
            sp_vec_push(NULL, &self->users, stream);
            ok = rt_stream_order(dev, self->stream, stream, &diag);
        }
    } else if (self->kind != PM_MEMORY_REGISTERED && self->kind != PM_MEMORY_OPENED) {
        ok = rt_memory_use(dev, memory_pool(self->kind), self->address, stream, &diag);
    }
    return ok || pm_raise(self->state, &diag);
}

bool
pm_memory_note(struct pm_state *state, struct rt_device *dev, uint64_t address, rt_stream stream)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    uint32_t at = state->memories.len ? memory_above(state, address) : 0;
    struct pm_memory *memory = at ? state->memories.data[at - 1] : NULL;
    if (stream <= 1)
        stream = 0;
    if (memory && memory->kind == PM_MEMORY_EXTERNAL && address - memory->address < memory->size_B)
        return pm_memory_use(memory, dev, stream);
    return rt_memory_use(dev, RT_POOL_DEVICE, address, stream, &diag) || pm_raise(state, &diag);
}

/* ---- Making --------------------------------------------------------------------------------- */

PyObject *
pm_memory_host(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    unsigned long long size_B;
    int kind;
    if (!dev || !PyArg_ParseTuple(args, "iK", &kind, &size_B))
        return NULL;
    if (kind < PM_MEMORY_PINNED || kind > PM_MEMORY_MANAGED || !size_B)
        return pm_fail(state, BAD_VALUE, "there is no such kind of host memory");
    struct pm_memory *self = memory_new(state, dev, (enum pm_memory_kind)kind);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!self)
        return NULL;
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_memory_alloc(dev, memory_pool(self->kind), size_B, 0, &self->address, &diag);
    Py_END_ALLOW_THREADS
    if (!ok) {
        Py_DECREF((PyObject *)self);
        return pm_raise(state, &diag);
    }
    self->device_address = self->address; /* one space of addresses for host and devices */
    self->size_B = size_B;
    memory_list(self);
    return (PyObject *)self;
}

PyObject *
pm_memory_register(PyObject *module, PyObject *args)
{
    struct pm_state *state = PyModule_GetState(module);
    struct rt_device *dev = pm_device(state);
    PyObject *object;
    int waits;
    if (!dev || !PyArg_ParseTuple(args, "Op", &object, &waits))
        return NULL;
    struct pm_memory *self = memory_new(state, dev, PM_MEMORY_REGISTERED);
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!self)
        return NULL;
    self->waits = waits;
    bool ok = PyObject_GetBuffer(object, &self->buffer, PyBUF_ANY_CONTIGUOUS) == 0;
    if (ok && self->buffer.len == 0) {
        ok = pm_fail(state, BAD_VALUE, "an array without elements has no memory to be locked");
    } else if (ok) {
        uint64_t address = (uintptr_t)self->buffer.buf, size_B = (uint64_t)self->buffer.len;
        Py_BEGIN_ALLOW_THREADS
        ok = rt_host_lock(dev, address, size_B, &self->device_address, &diag);
        Py_END_ALLOW_THREADS
        if (!ok)
            pm_raise(state, &diag);
    }
    if (!ok) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->address = (uintptr_t)self->buffer.buf;
    self->size_B = (uint64_t)self->buffer.len;
    memory_list(self);
    return (PyObject *)self;
}

PyObject *
pm_memory_adopt(struct pm_state *state, struct rt_device *dev, uint64_t address, uint64_t size_B,
                rt_stream stream)
{
    struct pm_memory *self = memory_new(state, dev, PM_MEMORY_EXTERNAL);
    if (!self)
        return NULL;
    self->address = self->device_address = address;
    self->size_B = size_B;
    self->stream = stream <= 1 ? 0 : stream;
    self->free = Py_XNewRef(state->free);
    memory_list(self);
    return (PyObject *)self;
}

PyObject *
pm_memory_opened(struct pm_state *state, struct rt_device *dev, uint64_t address, uint64_t size_B)
{
    struct pm_memory *self = memory_new(state, dev, PM_MEMORY_OPENED);
    if (!self)
        return NULL;
    self->address = self->device_address = address;
    self->size_B = size_B;
    return (PyObject *)self;
}

/* ---- The end -------------------------------------------------------------------------------- */

/* On devices whose pools do not know of it. */
static void
memory_wait_abroad(struct pm_memory *self)
{
    struct rt_device *devices[64];
    uint32_t n = rt_opened(self->state->rt, devices, 64);
    Py_BEGIN_ALLOW_THREADS
    for (uint32_t i = 0; i < n; i++) {
        const struct rt_wait wait = {.timeout_ms = -1, .thread = UINT64_MAX, .own_only = true};
        struct sp_diag ignored;
        bool done;
        sp_diag_init(&ignored);
        (void)!rt_device_wait_for(devices[i], &wait, &done, &ignored);
        sp_diag_finish(&ignored);
    }
    Py_END_ALLOW_THREADS
}

static void
memory_free_external(struct pm_memory *self)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (uint32_t i = 0; i < self->users.len; i++) {
        struct sp_diag diag;
        sp_diag_init(&diag);
        if (!rt_stream_order(self->dev, self->users.data[i], self->stream, &diag))
            pm_keep(self->state, &diag);
    }
    PyObject *none =
        !self->free ? Py_NewRef(Py_None)
                    : PyObject_CallFunction(self->free, "KKiK", (unsigned long long)self->address,
                                            (unsigned long long)self->size_B,
                                            rt_device_info(self->dev)->ordinal,
                                            (unsigned long long)self->stream);
    if (!none)
        PyErr_WriteUnraisable(self->free);
    Py_XDECREF(none);
    Py_CLEAR(self->free);
    sp_vec_finish(&self->users);
    PyErr_Restore(type, value, traceback);
}

static void
memory_close(struct pm_memory *self)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok = true;
    if (self->kind == PM_MEMORY_EXTERNAL && self->is_open) {
        memory_unlist(self);
        memory_free_external(self);
    }
    if (self->kind == PM_MEMORY_OPENED && self->address) {
        memory_wait_abroad(self);
        if (!rt_ipc_close(self->dev, self->address, self->size_B, &diag))
            pm_keep(self->state, &diag);
        self->address = 0;
    }
    if (!self->is_open)
        return;
    memory_unlist(self); /* first: nobody must find it once others run */
    if (self->abroad || self->kind == PM_MEMORY_REGISTERED)
        memory_wait_abroad(self);
    if (self->kind == PM_MEMORY_REGISTERED)
        ok = rt_host_unlock(self->dev, self->address, &diag);
    else
        ok = rt_memory_free(self->dev, memory_pool(self->kind), self->address, &diag);
    if (!ok)
        pm_keep(self->state, &diag);
}

static void
memory_dealloc(PyObject *object)
{
    struct pm_memory *self = (struct pm_memory *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    memory_close(self);
    if (self->buffer.obj)
        PyBuffer_Release(&self->buffer);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *
memory_unlock(PyObject *object, PyObject *unused)
{
    struct pm_memory *self = (struct pm_memory *)object;
    (void)unused;
    if (self->kind != PM_MEMORY_REGISTERED)
        return pm_fail(self->state, BAD_VALUE, "this memory is freed when nothing refers to it");
    memory_close(self);
    PyBuffer_Release(&self->buffer);
    Py_RETURN_NONE;
}

static int
memory_get_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    struct pm_memory *self = (struct pm_memory *)object;
    buffer->obj = NULL;
    if (self->is_open && self->kind != PM_MEMORY_REGISTERED)
        return PyBuffer_FillInfo(buffer, object, (void *)(uintptr_t)self->address,
                                 (Py_ssize_t)self->size_B, 0, flags);
    PyErr_SetString(PyExc_BufferError, "this memory is not the host's, or another object's");
    return -1;
}

static PyObject *
memory_get_address(PyObject *object, void *on_device)
{
    const struct pm_memory *self = (struct pm_memory *)object;
    return PyLong_FromUnsignedLongLong(on_device ? self->device_address : self->address);
}

static PyObject *
memory_get_size(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct pm_memory *)object)->size_B);
}

static PyGetSetDef memory_getset[] = {
    {"address", memory_get_address, NULL, "Where the host sees it.", NULL},
    {"device_address", memory_get_address, NULL, "Where kernels see it.", (void *)1},
    {"nbytes", memory_get_size, NULL, "Bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef memory_methods[] = {
    {"__reduce__", pm_pickle_refuse, METH_NOARGS, NULL},
    {"unlock", memory_unlock, METH_NOARGS,
     "Ends what gpu.pinned or gpu.mapped began; waits for the kernels that use the memory."},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef memory_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct pm_memory, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot memory_slots[] = {
    {Py_tp_doc, (void *)"Owns the memory of arrays; gives it back when nothing refers to it."},
    {Py_tp_getset, memory_getset},
    {Py_tp_methods, memory_methods},
    {Py_tp_members, memory_members},
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_get_buffer},
    {0, NULL},
};
static PyType_Spec memory_spec = {
    .name = "gpu.Memory",
    .basicsize = sizeof(struct pm_memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = memory_slots,
};

PyType_Spec *
pm_memory_spec(void)
{
    return &memory_spec;
}
