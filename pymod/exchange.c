/* exchange: tensors of types that carry DLPack's C exchange interface (torch 2.10 and later).
 *
 * The type's `__dlpack_c_exchange_api__` is a table of C functions; one of them fills a DLTensor
 * that is borrowed for the call, without a Python object made on the way. Looked up once per type:
 * the last few types are remembered. The producer's current
 * stream is asked for once per launch. Types without the interface are remembered too, cupy.ndarray
 * among them (cupy.c). Source: DLPack 1.2, dlpack.h. */
#include "pymod/pm.h"

#include <string.h>

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

static struct pm_exchange
exchange_get(struct pm_state *state, PyTypeObject *type)
{
    const struct pm_exchange *found = exchange_find(state, type);
    if (found)
        return *found;
    /* Asking may run code of the type's metaclass, and so come here again. */
    struct pm_exchange known = {.type = type, .api = exchange_of_type(state, type)};
    known.cupy = !known.api && pm_cupy_is(state, type);
    PyObject *is_neg = known.api ? PyObject_GetAttr((PyObject *)type, state->s_is_neg) : NULL;
    PyErr_Clear();
    known.has_neg = is_neg != NULL;
    Py_XDECREF(is_neg);
    struct pm_exchange *slot = &state->exchange[state->n_exchange++ % PM_N_EXCHANGE];
    PyObject *old = (PyObject *)slot->type;
    *slot = known;
    Py_INCREF((PyObject *)type);
    Py_XDECREF(old);
    return known;
}

bool
pm_exchange_knows(const struct pm_state *state, const PyTypeObject *type)
{
    const struct pm_exchange *known = exchange_find(state, type);
    return known && (known->api || known->cupy || known->interface);
}

void
pm_exchange_remember(struct pm_state *state, const PyTypeObject *type)
{
    for (uint32_t i = 0; i < PM_N_EXCHANGE; i++)
        if (state->exchange[i].type == type)
            state->exchange[i].interface = true;
}

/* What the producer said, to its end of line: its own exception becomes the cause. */
static int
exchange_fail(struct pm_state *state, const char *what)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    char message[400];
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    Py_ssize_t len;
    const char *said = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    PyErr_Clear();
    size_t n = said ? strcspn(said, "\n") : 0;
    PyOS_snprintf(message, sizeof message, "%.120s: its DLPack exchange interface failed%s%.*s",
                  what, said ? ": " : "", (int)(n < 240 ? n : 240), said ? said : "");
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
    pm_fail(state, BAD_ARRAY, message);
    return -1;
}

/* Torch has views whose elements are the negated ones of their memory: the imaginary parts of a
 * conjugate. They step over the real parts: only arrays with gaps or of one element are asked. */
static int
exchange_check_sign(struct pm_state *state, const struct pm_exchange *known, PyObject *object,
                    const char *what, const struct pm_view *view)
{
    if (!known->has_neg || (view->layout != IR_LAYOUT_ANY && view->size > 1) || !view->size)
        return 1;
    PyObject *negated = PyObject_CallMethodObjArgs(object, state->s_is_neg, NULL);
    bool plain = negated == Py_False;
    Py_XDECREF(negated);
    if (plain)
        return 1;
    char message[260];
    PyOS_snprintf(message, sizeof message,
                  "%.120s: its elements are negated when torch reads them (is_neg()); pass "
                  "x.resolve_neg()",
                  what);
    PyErr_Clear();
    pm_fail(state, BAD_ARRAY, message);
    return -1;
}

static inline bool
exchange_current(const struct exchange_api *api, const struct pm_dl_tensor *tensor,
                 struct pm_current *current)
{
    if (current->known && current->library == api && current->kind == tensor->device_type &&
        current->ordinal == tensor->device_id)
        return true;
    void *stream = NULL;
    if (api->current_stream(tensor->device_type, tensor->device_id, &stream) != 0)
        return false;
    current->library = api;
    current->kind = tensor->device_type;
    current->ordinal = tensor->device_id;
    current->stream = (rt_stream)(uintptr_t)stream;
    current->known = true;
    return true;
}

int
pm_foreign_exchange(struct pm_state *state, PyObject *object, const char *what,
                    struct pm_current *current, struct pm_foreign *foreign)
{
    const struct pm_exchange known = exchange_get(state, Py_TYPE(object));
    if (known.cupy)
        return pm_foreign_cupy(state, object, what, current, foreign);
    const struct exchange_api *api = known.api;
    if (!api)
        return 0;
    struct pm_dl_tensor tensor = {0};
    if (api->tensor_from_object(object, &tensor) != 0)
        return exchange_fail(state, what);
    if (pm_foreign_set_kind(state, what, tensor.device_type, foreign) != 1)
        return -1;
    foreign->owner = Py_NewRef(object);
    if (!foreign->on_host) {
        if (!exchange_current(api, &tensor, current))
            return exchange_fail(state, what);
        foreign->has_stream = true;
        foreign->stream = current->stream;
    }
    if (pm_foreign_read_dlpack(state, object, &tensor, what, foreign) != 1)
        return -1;
    return exchange_check_sign(state, &known, object, what, &foreign->view);
}

/* The view of a tensor without gaps that has elements; false: it is something else. */
static bool
exchange_read_plain(const struct pm_state *state, const struct pm_dl_tensor *tensor,
                    struct pm_view *view)
{
    uint64_t data = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    int64_t size_B = tensor->bits / 8, n = 1;
    view->dtype = (uint16_t)pm_dlpack_dtype(state, tensor);
    if (view->dtype == IR_T_NONE || tensor->n_dims < 0 || tensor->n_dims > IR_MAX_RANK ||
        !tensor->strides || !data || (data & (uint64_t)(size_B - 1)))
        return false;
    for (int i = tensor->n_dims - 1; i >= 0; i--) {
        int64_t extent = tensor->shape[i];
        if (extent < 1 || (extent > 1 && tensor->strides[i] != n))
            return false;
        view->shape[i] = extent;
        view->strides[i] = n * size_B;
        if (__builtin_mul_overflow(n, extent, &n) || n > INT64_MAX / 32)
            return false;
    }
    view->data = data;
    view->rank = (uint8_t)tensor->n_dims;
    view->layout = IR_LAYOUT_C;
    view->size = n;
    return true;
}

bool
pm_exchange_take_plain(struct pm_state *state, PyObject *object, int ordinal,
                       struct pm_current *current, struct pm_foreign *foreign)
{
    const struct pm_exchange *known = exchange_find(state, Py_TYPE(object));
    struct pm_dl_tensor tensor = {0};
    if (!known || !known->api)
        return false;
    if (known->api->tensor_from_object(object, &tensor) != 0 || tensor.device_id != ordinal ||
        tensor.device_type != PM_DL_CUDA || !exchange_read_plain(state, &tensor, &foreign->view) ||
        (known->has_neg && foreign->view.size < 2) || /* which is asked for its sign */
        !exchange_current(known->api, &tensor, current)) {
        PyErr_Clear();
        return false;
    }
    foreign->ordinal = ordinal;
    foreign->has_stream = true;
    foreign->stream = current->stream;
    foreign->is_plain = true;
    return true;
}

void
pm_exchange_clear(struct pm_state *state)
{
    for (uint32_t i = 0; i < PM_N_EXCHANGE; i++)
        Py_CLEAR(state->exchange[i].type);
}
