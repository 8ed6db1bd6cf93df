/* launcher: kernel[grid, block], the object that is called.
 *
 * `kernel[grid, block]` is written at every launch, so a launcher that dies leaves its memory
 * parked in the kernel, with what it knows, and is revived by the next subscript with equal
 * numbers; a cache of living ones would be a reference cycle with the kernel. */
#include "pymod/pm.h"

#include <string.h>

static uint32_t
launcher_slot(const struct pm_config *config)
{
    uint64_t h = 0;
    for (int i = 0; i < 3; i++)
        h = (h ^ (uint64_t)config->grid[i] ^ (uint64_t)config->block[i] << 40) *
            0x9e3779b97f4a7c15u;
    h ^= (config->stream >> 4) * 0xff51afd7ed558ccdu ^
         (uint64_t)(config->shared_B + config->n_tasks);
    return (uint32_t)(h >> 40) % PM_N_LAUNCHERS;
}

PyObject *
pm_launcher_from_config(struct pm_kernel *kernel, const struct pm_config *config, PyObject *stream)
{
    if (kernel->is_device) {
        char message[160];
        PyOS_snprintf(message, sizeof message,
                      "%.60s is a device function (device=True): call it from a kernel",
                      kernel->name_utf8);
        pm_fail(kernel->state, BAD_CONFIGURATION, message);
        return NULL;
    }
    struct pm_launcher **parked = &kernel->parked[launcher_slot(config)];
    struct pm_launcher *self = *parked;
    if (self && !memcmp(&self->config, config, sizeof *config)) {
        PyTypeObject *type = Py_TYPE((PyObject *)self);
        *parked = NULL;
        PyObject_Init((PyObject *)self, type);
        Py_DECREF(type); /* what was parked had a reference */
    } else {
        self = PyObject_GC_New(struct pm_launcher, kernel->state->launcher_type);
        if (!self)
            return NULL;
        self->vectorcall = pm_call;
        self->config = *config;
        memset(&self->launch, 0, sizeof self->launch);
        self->prepared = 0;
    }
    self->kernel = (struct pm_kernel *)Py_NewRef((PyObject *)kernel);
    self->stream = Py_XNewRef(stream);
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

PyObject *
pm_launcher_get(struct pm_kernel *kernel, PyObject *index)
{
    struct pm_config config;
    PyObject *stream;
    memset(&config, 0, sizeof config); /* it is compared byte by byte */
    if (!pm_config_parse(kernel, index, &config, &stream))
        return NULL;
    PyObject *self = pm_launcher_from_config(kernel, &config, stream);
    Py_XDECREF(stream);
    return self;
}

/* Memory of the dead; it keeps its type, which its end asks for. */
static void
launcher_free(struct pm_launcher *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static void
launcher_dealloc(PyObject *object)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    struct pm_kernel *kernel = self->kernel;
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->stream);
    struct pm_launcher **parked = &kernel->parked[launcher_slot(&self->config)];
    struct pm_launcher *old = *parked;
    *parked = self;
    if (old)
        launcher_free(old);
    Py_DECREF((PyObject *)kernel);
}

void
pm_launcher_free_parked(struct pm_kernel *kernel)
{
    for (int i = 0; i < PM_N_LAUNCHERS; i++)
        if (kernel->parked[i])
            launcher_free(kernel->parked[i]);
}

int
pm_launcher_traverse_parked(struct pm_kernel *kernel, visitproc visit, void *arg)
{
    for (int i = 0; i < PM_N_LAUNCHERS; i++)
        if (kernel->parked[i])
            Py_VISIT(Py_TYPE((PyObject *)kernel->parked[i]));
    return 0;
}

static int
launcher_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct pm_launcher *self = (struct pm_launcher *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->kernel);
    Py_VISIT(self->stream);
    return 0;
}

static PyObject *
launcher_size(const int64_t numbers[3], uint8_t n)
{
    return n == 1   ? Py_BuildValue("(L)", (long long)numbers[0])
           : n == 2 ? Py_BuildValue("(LL)", (long long)numbers[0], (long long)numbers[1])
                    : Py_BuildValue("(LLL)", (long long)numbers[0], (long long)numbers[1],
                                    (long long)numbers[2]);
}

static PyObject *
launcher_get_grid(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_launcher *self = (struct pm_launcher *)object;
    return launcher_size(self->config.grid, self->config.n_grid);
}

static PyObject *
launcher_get_block(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_launcher *self = (struct pm_launcher *)object;
    return launcher_size(self->config.block, self->config.n_block);
}

static PyObject *
launcher_get_stream(PyObject *object, void *closure)
{
    (void)closure;
    struct pm_launcher *self = (struct pm_launcher *)object;
    if (self->stream)
        return Py_NewRef(self->stream);
    return PyLong_FromUnsignedLongLong(self->config.stream);
}

static PyObject *
launcher_get_shared(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((struct pm_launcher *)object)->config.shared_B);
}

static PyObject *
launcher_get_kernel(PyObject *object, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)((struct pm_launcher *)object)->kernel);
}

static PyObject *
launcher_repr(PyObject *object)
{
    PyObject *grid = launcher_get_grid(object, NULL), *block = launcher_get_block(object, NULL);
    PyObject *text = NULL;
    if (grid && block)
        text = PyUnicode_FromFormat("<gpu launcher %s[%R, %R]>",
                                    ((struct pm_launcher *)object)->kernel->name_utf8, grid, block);
    Py_XDECREF(grid);
    Py_XDECREF(block);
    return text;
}

static PyGetSetDef launcher_getset[] = {
    {"grid", launcher_get_grid, NULL, "Blocks along each axis.", NULL},
    {"block", launcher_get_block, NULL, "Threads of a block along each axis.", NULL},
    {"stream", launcher_get_stream, NULL, "The stream, 0 for the default one.", NULL},
    {"shared_bytes", launcher_get_shared, NULL, "Dynamic shared memory per block.", NULL},
    {"kernel", launcher_get_kernel, NULL, "What is launched.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef launcher_methods[] = {
    {"__reduce__", pm_pickle_launcher, METH_NOARGS, "The kernel, the grid and the block."},
    {"bind", (PyCFunction)(void (*)(void))pm_bound_new, METH_VARARGS | METH_KEYWORDS,
     "bind(*arguments, **keywords): this launch with these arguments, checked and compiled now, to "
     "be called without any."},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct pm_launcher, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, (void *)"kernel[grid, block]: call it with the kernel's arguments."},
    {Py_tp_call, pm_call_tuple},
    {Py_tp_repr, launcher_repr},
    {Py_tp_getset, launcher_getset},
    {Py_tp_methods, launcher_methods},
    {Py_tp_members, launcher_members},
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_traverse, launcher_traverse},
    {0, NULL},
};
static PyType_Spec launcher_spec = {
    .name = "gpu.Launcher",
    .basicsize = sizeof(struct pm_launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE | PM_HAVE_VECTORCALL,
    .slots = launcher_slots,
};

PyType_Spec *
pm_launcher_spec(void)
{
    return &launcher_spec;
}
