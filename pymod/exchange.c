/* exchange: tensors of types that carry DLPack's C exchange interface (torch 2.10 and later).
 *
 * The type's `__dlpack_c_exchange_api__` is a table of C functions; one of them fills a DLTensor
 * that is borrowed for the call, without a Python object made on the way. Looked up once per type:
 * the last few types are remembered, also those without the interface. The producer's current
 * stream is asked for, so that its work is over before the kernel reads. Source: DLPack 1.2,
 * dlpack.h. */
#include "pymod/pm.h"

struct exchange_header {
    uint32_t major, minor;
    struct exchange_header *older;
};

struct exchange_api {
    struct exchange_header header;
    void (*allocate)(void);
    void (*managed_from_object)(void);
    void (*managed_to_object)(void);
    int (*tensor_from_object)(void *object, struct pm_dl_tensor *out); /* may be NULL */
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
};

/* The interface of a type, or NULL. Never an exception. */
static const struct exchange_api *
exchange_of_type(struct pm_state *state, PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, state->s_dlpack_c_exchange_api);
    const struct exchange_header *header =
        capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule); /* the table is static data of the library */
    while (header && header->major > 1)
        header = header->older;
    const struct exchange_api *api = (const struct exchange_api *)header;
    return api && header->major == 1 && api->tensor_from_object && api->current_stream ? api : NULL;
}

/* What is remembered of a type, or NULL. */
static const struct pm_exchange *
exchange_find(const struct pm_state *state, const PyTypeObject *type)
{
    for (uint32_t i = 0; i < PM_N_EXCHANGE; i++)
        if (state->exchange[i].type == type)
            return &state->exchange[i];
    return NULL;
}

static const struct exchange_api *
exchange_get(struct pm_state *state, PyTypeObject *type)
{
    const struct pm_exchange *known = exchange_find(state, type);
    if (known)
        return known->api;
    /* Asking may run code of the type's metaclass, and so come here again. */
    const struct exchange_api *api = exchange_of_type(state, type);
    struct pm_exchange *slot = &state->exchange[state->n_exchange++ % PM_N_EXCHANGE];
    PyObject *old = (PyObject *)slot->type;
    *slot = (struct pm_exchange){(PyTypeObject *)Py_NewRef((PyObject *)type), api};
    Py_XDECREF(old);
    return api;
}

bool
pm_exchange_knows(const struct pm_state *state, const PyTypeObject *type)
{
    const struct pm_exchange *known = exchange_find(state, type);
    return known && known->api;
}

/* The producer's own exception, or one in its place. */
static int
exchange_fail(struct pm_state *state, const char *what)
{
    char message[200];
    PyOS_snprintf(message, sizeof message, "%.120s: its DLPack exchange interface failed", what);
    if (!PyErr_Occurred())
        pm_fail(state, BAD_ARRAY, message);
    return -1;
}

int
pm_foreign_exchange(struct pm_state *state, PyObject *object, const char *what,
                    struct pm_foreign *foreign)
{
    const struct exchange_api *api = exchange_get(state, Py_TYPE(object));
    if (!api)
        return 0;
    struct pm_dl_tensor tensor = {0};
    if (api->tensor_from_object(object, &tensor) != 0)
        return exchange_fail(state, what);
    if (pm_foreign_set_kind(state, what, tensor.device_type, foreign) != 1)
        return -1;
    foreign->owner = Py_NewRef(object);
    if (!foreign->on_host) {
        void *stream = NULL;
        if (api->current_stream(tensor.device_type, tensor.device_id, &stream) != 0)
            return exchange_fail(state, what);
        foreign->has_stream = true;
        foreign->stream = (rt_stream)(uintptr_t)stream;
    }
    return pm_foreign_read_dlpack(state, &tensor, what, foreign);
}

void
pm_exchange_clear(struct pm_state *state)
{
    for (uint32_t i = 0; i < PM_N_EXCHANGE; i++)
        Py_CLEAR(state->exchange[i].type);
}
