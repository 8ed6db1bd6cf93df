/* Views, arrays and their memory. Part of pymod/pm.h. */
#ifndef PM_PM_ARRAY_H
#define PM_PM_ARRAY_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ir/ir.h"
#include "runtime/rt.h"

struct pm_state;

/* ---- Views: view.c
 * ------------------------------------------------------------------------------- */

/* A storable type that is no scalar, once per text; stays as long as the module: elem.c */
struct pm_elem {
    const char *text; /* as ir/storable_text.c prints it */
    uint32_t size_B;
    uint16_t number; /* in the place of a scalar: IR_N_FIXED_TYPES and up */
    uint8_t align_log2;
    PyObject *dtype; /* a numpy.dtype */
};

/* Where the elements of an array lie. Strides in bytes. */
struct pm_view {
    uint64_t data;  /* of element 0 */
    uint16_t dtype; /* a scalar, or elem->number */
    uint8_t rank;
    uint8_t layout; /* enum ir_layout */
    bool read_only;
    const struct pm_elem *elem; /* NULL: elements are scalars */
    int64_t size;               /* elements */
    int64_t shape[IR_MAX_RANK], strides[IR_MAX_RANK];
};

static inline uint32_t
pm_view_itemsize(const struct pm_view *view)
{
    return view->elem ? view->elem->size_B : ir_scalar_row(view->dtype)->bits / 8u;
}
/* Fills size and layout from shape and strides. */
void pm_view_finish(struct pm_view *view);
/* Strides of a contiguous array, C or F order; false if its bytes do not fit 62 bits. */
bool pm_view_contiguous(struct pm_view *view, bool fortran);
/* The first and one past the last byte, relative to data. */
void pm_view_span(const struct pm_view *view, int64_t *first_out, int64_t *end_out);
/* Copies elements of equal shapes on the host. */
void pm_view_copy(const struct pm_view *to, const struct pm_view *from);
/* The same between dtypes, as a store in a kernel converts: convert.c */
void pm_view_convert(const struct pm_view *to, const struct pm_view *from);
/* The view as one of this shape, axes of one element repeated; false if it cannot be. */
bool pm_view_broadcast(const struct pm_view *from, const struct pm_view *shape,
                       struct pm_view *out);
/* The same pairs of elements with as few axes as possible: views of equal shapes, in any order. */
void pm_view_merge(struct pm_view *to, struct pm_view *from);
/* Of its elements, for messages. */
static inline const char *
pm_view_type_name(const struct pm_view *view)
{
    return view->elem ? view->elem->text : ir_scalar_row(view->dtype)->name;
}
/* Log2 of what the addresses of elements are multiples of: of scalars their size, as addresses promise
 * no more until launches look at them; of others as far as it helps their fields. */
uint8_t pm_view_align_of_elem(const struct pm_view *view);
static inline uint8_t
pm_view_align(const struct pm_view *view)
{
    return view->elem ? pm_view_align_of_elem(view)
                      : (uint8_t)__builtin_ctz(ir_scalar_row(view->dtype)->bits / 8u);
}
bool pm_view_same_shape(const struct pm_view *a, const struct pm_view *b);
/* The same elements in the same order. */
bool pm_view_same(const struct pm_view *a, const struct pm_view *b);
/* Whether the bytes from first to last overlap; whether an element does: overlap.c */
bool pm_view_spans_overlap(const struct pm_view *a, const struct pm_view *b);
bool pm_view_overlap(const struct pm_view *a, const struct pm_view *b);
/* "(3, 4)" */
void pm_view_print_shape(const struct pm_view *view, char text[128]);

/* ---- Arrays: array.c, array_new.c, array_copy.c, array_move.c, array_index.c, array_python.c
 * --------------------------------------------------- */

struct pm_array {
    PyObject_HEAD struct pm_state *state;
    struct rt_device *dev;
    struct pm_view view;
    uint64_t owned;        /* address to free, or 0 */
    PyObject *base;        /* who owns the memory otherwise; may be NULL */
    PyObject *stream;      /* of bind(): for methods that are given none; may be NULL */
    rt_stream home, noted; /* the pool knows that these use the memory; or PM_NO_STREAM */
    uint64_t n_gone;       /* the state's, as that was found: what is noted holds as long */
    PyObject *streams;     /* of others, kept until the memory is freed: a dict, or NULL */
    int64_t *dl_strides;   /* in elements, for who borrows the array's tensor; may be NULL */
    PyObject *weakrefs;
};
#define PM_NO_STREAM ((rt_stream) - 1)

struct pm_array *pm_array_new(struct pm_state *state, struct rt_device *dev,
                              const struct pm_view *view, PyObject *base);
/* A view of the array's memory, which it keeps alive. */
struct pm_array *pm_array_view(struct pm_array *array, const struct pm_view *view);
/* The stream that a method was given; None and 0: the array's own. */
bool pm_array_stream(struct pm_array *array, PyObject *object, rt_stream *stream_out);
/* Work of another library's stream will use the memory: that begins after ours, and the memory is
 * kept until it is over. Does not wait. */
bool pm_array_hand_on(struct pm_array *array, rt_stream stream);
/* Contiguous memory, for work of the stream first; `view` gives dtype, rank and shape. On the
 * current device, on this one. */
struct pm_array *pm_array_alloc(struct pm_state *state, const struct pm_view *view, bool fortran,
                                rt_stream stream);
struct pm_array *pm_array_alloc_on(struct pm_state *state, struct rt_device *dev,
                                   const struct pm_view *view, bool fortran, rt_stream stream);
/* Host memory to device memory and back, in stream order, GIL dropped; any strides, equal shapes,
 * any dtypes up, equal ones down. Both wait. */
bool pm_upload(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
               const struct pm_view *from, rt_stream stream);
bool pm_download(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
                 const struct pm_view *from, rt_stream stream);
/* Device memory to device memory, any strides and dtypes, overlapping or not, equal shapes; and one
 * element (8 bytes) to all of a view. In stream order, without a wait: array_move.c */
bool pm_transfer(struct pm_state *state, struct rt_device *dev, const struct pm_view *to,
                 const struct pm_view *from, rt_stream stream);
bool pm_fill(struct pm_state *state, struct rt_device *dev, const struct pm_view *view,
             const void *element, rt_stream stream);
/* Work of the stream will use the array's memory: before it is queued. `stream` is the object that
 * stands for it, NULL: none. */
bool pm_array_use_slow(struct pm_array *array, struct rt_device *dev, rt_stream handle,
                       PyObject *stream);
/* Streams of other libraries are kept until the memory is freed. */
bool pm_array_keep_stream(struct pm_array *array, rt_stream handle, PyObject *stream);
PyType_Spec *pm_array_spec(void);
PyObject *pm_empty(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pm_full(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pm_to_device(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pm_as_gpu_array(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pm_array_subscript(PyObject *self, PyObject *index);
int pm_array_assign(PyObject *self, PyObject *index, PyObject *value);
PyObject *pm_array_getitem(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_array_setitem(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_array_fill(PyObject *self, PyObject *args, PyObject *kwargs);
/* Stores any array in a view, spread and converted. */
bool pm_array_store(struct pm_array *to, PyObject *value, rt_stream stream);
PyObject *pm_array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_array_dlpack_device(PyObject *self, PyObject *unused);
/* The table of array_exchange.c as the attribute of the type that others look for. */
bool pm_dl_add_exchange(PyTypeObject *type);
PyObject *pm_strided(PyObject *module, PyObject *args);
PyObject *pm_like(PyObject *module, PyObject *args);
PyObject *pm_dtype_of(PyObject *module, PyObject *object);
PyObject *pm_array_copy_to_host(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_array_copy_to_device(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- Memory: memory.c, memory_host.c
 * ------------------------------------------------------------------ */

/* Memory that is neither an array's own nor another library's. */
enum pm_memory_kind {
    PM_MEMORY_PINNED,     /* of the host, locked: results are waited for, as with any host array */
    PM_MEMORY_MAPPED,     /* the same, not waited for */
    PM_MEMORY_MANAGED,    /* moves to who uses it, not waited for */
    PM_MEMORY_REGISTERED, /* another object's host memory, locked for a time */
    PM_MEMORY_EXTERNAL,   /* of an allocator that was set */
    PM_MEMORY_OPENED,     /* of another process */
};

struct pm_memory {
    PyObject_HEAD struct pm_state *state;
    struct rt_device *dev;
    enum pm_memory_kind kind;
    uint64_t address, size_B; /* on the host, where it has one */
    uint64_t device_address;
    bool is_open;
    bool waits;              /* kernels that use it are waited for */
    bool abroad;             /* other devices than `dev` have used it */
    Py_buffer buffer;        /* REGISTERED: whose it is */
    rt_stream stream;        /* EXTERNAL: it was asked for on */
    SP_VEC(rt_stream) users; /* EXTERNAL: other streams that use it */
    PyObject *free;          /* EXTERNAL */
    PyObject *weakrefs;
};

PyType_Spec *pm_memory_spec(void);
/* Memory for an array of the device; NULL with an exception. On success one of the two is set. */
bool pm_memory_alloc(struct pm_state *state, struct rt_device *dev, uint64_t size_B,
                     rt_stream stream, uint64_t *address_out, PyObject **owner_out);
/* Of the allocator that was set. */
PyObject *pm_memory_adopt(struct pm_state *state, struct rt_device *dev, uint64_t address,
                          uint64_t size_B, rt_stream stream);
/* Lets go of who owns an array's memory once the device's work so far is over (now, on a GPU). */
void pm_memory_retire(struct pm_state *state, struct rt_device *dev, PyObject *owner);
/* Lets go of those whose work is over; all: waits for it. */
void pm_memory_reap(struct pm_state *state, bool all);
/* Another process's, opened here. */
PyObject *pm_memory_opened(struct pm_state *state, struct rt_device *dev, uint64_t address,
                           uint64_t size_B);
/* Host memory of ours that all of the range is in, or NULL. */
struct pm_memory *pm_memory_find(struct pm_state *state, uint64_t address, uint64_t size_B);
/* Work of the stream will use it. */
bool pm_memory_use(struct pm_memory *memory, struct rt_device *dev, rt_stream stream);
/* Work of the stream will use arrays' memory around an address, whoever it is of. */
bool pm_memory_note(struct pm_state *state, struct rt_device *dev, uint64_t address,
                    rt_stream stream);
PyObject *pm_memory_host(PyObject *module, PyObject *args);
PyObject *pm_memory_register(PyObject *module, PyObject *args);
PyObject *pm_memory_set_allocator(PyObject *module, PyObject *args);
PyObject *pm_memory_stats(PyObject *module, PyObject *args);
PyObject *pm_memory_trim(PyObject *module, PyObject *args);
PyObject *pm_memory_set_limit(PyObject *module, PyObject *args);
PyObject *pm_memory_reset_peak(PyObject *module, PyObject *args);
PyObject *pm_memory_defer(PyObject *module, PyObject *begin);
PyObject *pm_memory_info(PyObject *module, PyObject *unused);

/* ---- Other processes and devices: share.c
 * ------------------------------------------------------------------ */

PyObject *pm_ipc_get(PyObject *module, PyObject *array);
PyObject *pm_ipc_open(PyObject *module, PyObject *args);
PyObject *pm_peer_can_reach(PyObject *module, PyObject *args);
PyObject *pm_peer_reach(PyObject *module, PyObject *args);
/* Whether kernels of `dev` were given access to the memory of the other one. */
bool pm_peer_is_reached(const struct pm_state *state, const struct rt_device *dev,
                        const struct rt_device *other);
/* Whether the driver copies between these arrays of two GPUs; does so, in the order of a stream of
 * the first. */
bool pm_peer_copies(const struct pm_array *to, const struct pm_array *from);
bool pm_peer_copy(struct pm_array *to, struct pm_array *from, rt_stream stream);

#endif
