/* Private to pymod/: the module's state, its objects, and what the files offer each other.
 *
 * Everything hangs off struct pm_state, which lives as long as the module; each object keeps a
 * pointer to it (its type keeps the module alive). Functions that fail leave a Python exception and
 * return NULL, false or -1. All need the GIL; those that drop it say so. */
#ifndef PM_PM_H
#define PM_PM_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <sys/types.h>

#include "codegen/cg.h"
#include "frontend/fe.h"
#include "ir/ir.h"
#include "pymod/pm_array.h"
#include "pymod/pm_fork.h"
#include "pymod/pm_stream.h"
#include "runtime/rt.h"

#define PM_N_NUMPY_TYPES 24
#define PM_N_LAUNCHERS 16
#define PM_N_READINGS 4
#define PM_N_INLINE_ARGS 16
#define PM_MAX_TUPLE 1024
#define PM_MAX_TUPLE_DEPTH 16
/* The flag and the type of functions that the limited API has from 3.12 on; their values are
 * older. */
#define PM_HAVE_VECTORCALL (1ul << 11)
typedef PyObject *(*pm_vectorcall)(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames);

struct exchange_api;
struct pm_memory;
struct pm_foreign;
#define PM_N_EXCHANGE 8
#define PM_N_SPARE_FOREIGN 16
#define PM_N_CUPY_ATTRIBUTES 8
#define PM_N_CUPY_DTYPES 8
#define PM_N_DL_CODES 8
enum pm_transfer {
    PM_TRANSFER_PLAIN,
    PM_TRANSFER_IN,
    PM_TRANSFER_OUT,
    PM_TRANSFER_IN_OUT,
    PM_N_TRANSFERS
};

/* Where a thread's kernels run: place.c. */
struct pm_place {
    struct rt_device *dev;
    bool python; /* kernels run on the python device, arrays are dev's */
};

struct pm_retired {
    struct rt_event *event;
    PyObject *owner;
};

/* An attribute by name. Of the type that had it last the data descriptor, which no instance can
 * hide, and its getter: calling that is what looking the attribute up comes to. */
struct pm_getter {
    PyObject *name, *descriptor;
    PyTypeObject *type;
    PyObject *(*get)(PyObject *descriptor, PyObject *object, PyObject *type);
};

#define PM_N_ELEMS 4096
#define PM_N_ELEM_DTYPES 16

struct pm_state {
    PyTypeObject *kernel_type, *launcher_type, *bound_type, *array_type, *stream_type, *event_type,
        *intrinsic_type, *dtype_type, *memory_type, *graph_type, *graph_node_type;
    PyObject *allocate, *free;           /* of gpu.memory.set_allocator; NULL: the device's pool */
    SP_VEC(struct pm_memory *) memories; /* of the host, by address */
    uint64_t reached[64];                /* by number: devices that a device was given access to */
    SP_VEC(struct pm_retired) retired;   /* owners of memory that queued work uses */
    PyObject *error;                     /* gpu.Error */
    PyObject *errors[SP_N_ERROR_CLASSES];
    PyObject *warning; /* gpu.Warning */
    PyObject *warnings[SP_N_WARNING_CLASSES];
    PyObject *dtypes[IR_LAST_SCALAR + 1]; /* gpu.float32, ...; NULL where there is none */

    struct rt_runtime *rt;
    struct cg_state *cg;
    struct fe_interp *interp; /* made at the first READ */
    struct rt_disk *disk;     /* made at the first compilation */
    Py_tss_t *place_key;      /* of each thread's pm_place; NULL there: it has chosen nothing */
    SP_VEC(struct pm_place *) places; /* all there were */
    const char *start; /* "cpu", "cuda" or "python": what the main thread chose; or NULL */
    /* By kernels there, for the next waits: dictionaries from the thread of the host that launched,
     * of what nobody has raised yet and of what another thread has. */
    PyObject *raised, *raised_shown;
    SP_VEC(uint64_t) quiet;   /* threads of the host, by number: pm_quiet_begin */
    PyObject *current_stream; /* the context variable of `with stream:`; NULL before the first */
    struct pm_callbacks *callbacks;       /* NULL before the first */
    struct pm_graph *graphs;              /* being captured */
    struct pm_graph_update *graph_update; /* a node whose update is on its way; NULL: none */
    bool announce, announced; /* the CPU device was chosen for want of a GPU; that was said */
    struct sp_diag pending;   /* what destructors found out; raised by the next wait */
    uint64_t serial;          /* numbers compiled entries */
    uint32_t n_queued;        /* launches since the last wait */
    uint64_t n_gone;          /* streams of ours that ended: new ones may get their handles */
    bool launch_blocking;     /* each launch is waited for: errors come where they are made */

    struct pm_print {
        bool used; /* a kernel that prints was launched */
        PyThread_type_lock lock;
        unsigned long owner; /* thread that writes; 0: none */
        pid_t pid;           /* whose lock it is */
    } print;

    struct pm_fork fork;
    bool numpy_known; /* the table below is filled: numpy was imported by someone */
    uint32_t n_numpy_types;
    struct {
        PyTypeObject *type;
        ir_type scalar;
    } numpy_types[PM_N_NUMPY_TYPES];
    PyTypeObject *ndarray, *generic, *numpy_dtype;

    SP_VEC(struct pm_elem *) elems; /* by number */
    uint32_t n_elem_dtypes;
    struct {
        PyObject *dtype;
        const struct pm_elem *elem;
    } elem_dtypes[PM_N_ELEM_DTYPES]; /* a ring of those seen last */

    uint32_t n_exchange; /* types seen so far; the table is a ring */
    struct pm_exchange {
        PyTypeObject *type;
        const struct exchange_api *api; /* NULL: the type has none */
        bool has_neg;                   /* the type has is_neg() */
        bool cupy;                      /* cupy.ndarray */
        bool interface;                 /* one had `__cuda_array_interface__` */
    } exchange[PM_N_EXCHANGE];
    uint8_t dl_types[PM_N_DL_CODES][9]; /* by DLPack's code and bytes */
    struct pm_cupy {
        intptr_t (*current_stream)(void);
        struct pm_getter attributes[PM_N_CUPY_ATTRIBUTES]; /* cupy.c */
        uint32_t n_dtypes;
        struct {
            PyObject *dtype;
            ir_type scalar;
        } dtypes[PM_N_CUPY_DTYPES];
    } cupy;
    PyTypeObject *transfer_types[PM_N_TRANSFERS]; /* gpu.In and its like */

    uint32_t n_spare_foreign; /* not in use, for the next launches */
    struct pm_foreign *spare_foreign[PM_N_SPARE_FOREIGN];

    PyObject *s_dlpack_c_exchange_api;
    PyObject *s_array_interface, *s_cuda_array_interface, *s_dlpack, *s_dlpack_device, *s_stream;
    PyObject *s_shape, *s_typestr, *s_data, *s_strides, *s_mask, *s_max_version, *s_is_neg;
};

/* ---- Errors: error.c
 * -------------------------------------------------------------------------- */

bool pm_errors_init(struct pm_state *state, PyObject *module);
/* Raises what the diagnostic says and finishes it. Returns NULL. */
void *pm_raise(struct pm_state *state, struct sp_diag *diag);
/* Gives an exception of Python's own the place of the diagnostic in this kernel. */
void pm_error_place(PyObject *exception, const struct sp_diag *diag, const char *kernel);
/* What a recipe makes of values (recipe.c): a new reference, or NULL with the exception that making
 * it gave. */
PyObject *pm_recipe_make(struct pm_state *state, const char *recipe, const int64_t *values,
                         uint32_t n);
/* pm_fail(state, code, values...) raises a row of errors.def. */
#define pm_fail(state, code, ...)                                                                  \
    __extension__({                                                                                \
        struct sp_diag pm_diag;                                                                    \
        sp_diag_init(&pm_diag);                                                                    \
        (void)sp_diag_set(&pm_diag, SP_E_##code, NULL, __VA_ARGS__);                               \
        pm_raise((state), &pm_diag);                                                               \
    })

/* ---- Warnings: warn.c
 * -------------------------------------------------------------------------- */

bool pm_warnings_init(struct pm_state *state, PyObject *module);
struct pm_kernel;
/* Shows what a compilation of the kernel found, each at its place. False: a filter made it an
 * error. */
bool pm_warn_compiled(struct pm_kernel *kernel, const struct sp_warnings *warnings);
/* Shows a warning about a launch at the caller's line; takes the text (sp_warning_text). */
PyObject *pm_warn_option(PyObject *module, PyObject *args);
bool pm_warn_launch(struct pm_state *state, enum sp_warning_code code, char *text);

/* ---- Printing: print.c
 * -------------------------------------------------------------------------- */

/* Before the first launch of a kernel that prints. */
bool pm_print_begin(struct pm_state *state);
/* Writes what kernels on the device have printed. The second: while an exception is on its way. */
bool pm_print(struct pm_state *state, struct rt_device *dev);
void pm_print_beside(struct pm_state *state, struct rt_device *dev);
PyObject *pm_print_rest(PyObject *module, PyObject *unused);

/* ---- Where kernels run: place.c
 * ----------------------------------------------------------------- */

bool pm_places_init(struct pm_state *state);
void pm_places_finish(struct pm_state *state);
const struct pm_place *pm_place_slow(struct pm_state *state);
/* This thread's place, chosen at the first call; NULL: an exception. `*is_here_out`: its device was
 * seen to be the thread's, in the driver too, which holds until code of others runs. */
static inline const struct pm_place *
pm_place_look(struct pm_state *state, bool *is_here_out)
{
    const struct pm_place *place = PyThread_tss_get(state->place_key);
    *is_here_out = place && rt_device_is_here(place->dev);
    return *is_here_out ? place : pm_place_slow(state);
}
static inline const struct pm_place *
pm_place(struct pm_state *state)
{
    bool is_here;
    return pm_place_look(state, &is_here);
}
/* Whether this thread's kernels run on the python device. */
static inline bool
pm_on_python(struct pm_state *state)
{
    const struct pm_place *place = PyThread_tss_get(state->place_key);
    return place && place->python;
}
/* The place's device. */
struct rt_device *pm_device(struct pm_state *state);
/* The same if it is certain without opening anything, else NULL. */
struct rt_device *pm_device_if_chosen(struct pm_state *state);
/* Whether the device of an array or stream was not reset; false: an exception that says so. */
bool pm_device_check(struct pm_state *state, const struct rt_device *dev);
/* Makes the device the thread's; false: an exception. */
bool pm_place_follow(struct pm_state *state, struct rt_device *dev, bool python);
/* A name or a number as select_device takes it. */
const struct pm_place *pm_place_parse(struct pm_state *state, PyObject *which);
struct rt_device *pm_device_open(struct pm_state *state, enum rt_kind kind, int ordinal);
PyObject *pm_select_device(PyObject *module, PyObject *which);
PyObject *pm_enter_device(PyObject *module, PyObject *which);
PyObject *pm_leave_device(PyObject *module, PyObject *args);
PyObject *pm_reset_device(PyObject *module, PyObject *which);
PyObject *pm_profile(PyObject *module, PyObject *start);
PyObject *pm_close(PyObject *module, PyObject *unused);

/* ---- Devices: device.c
 * -------------------------------------------------------------------------- */

/* Whether the environment asks that launches be waited for. */
bool pm_launch_blocking(void);
/* Says once, on stderr, that the CPU device stands in for a GPU. */
void pm_announce(struct pm_state *state);
/* Waits for a stream (NULL: everything) with the GIL dropped; Ctrl-C stops what runs on the cpu.
 * Raises what kernels raised that this thread of the host has launched, or else another one. */
bool pm_wait(struct pm_state *state, struct rt_device *dev, const rt_stream *stream);
/* The same for what an event was recorded behind. */
bool pm_wait_event(struct pm_state *state, struct rt_event *event);
/* The wait alone, with the GIL dropped, for as long as it takes; what kernels print is written.
 * False: a signal's exception is on its way, or one of writing. What kernels raised is in
 * `diag`. */
bool pm_wait_over(struct pm_state *state, struct rt_device *dev, const struct rt_wait *wait,
                  struct sp_diag *diag);
/* In between, waits of this thread are not asked for by the program: they raise nothing of other
 * threads. */
void pm_quiet_begin(struct pm_state *state);
void pm_quiet_end(struct pm_state *state);
/* The number of this thread of the host, which no other one has or had. */
uint64_t pm_thread(void);
/* After a wait or a copy: what kernels printed is written, then what it found is raised. */
bool pm_waited(struct pm_state *state, struct rt_device *dev, bool ok, struct sp_diag *diag);
/* Keeps what a destructor, which cannot raise, found out, for the next wait. */
void pm_keep(struct pm_state *state, struct sp_diag *diag);
/* Architecture and newest PTX version for the device. */
bool pm_device_arch(struct pm_state *state, struct rt_device *dev, struct cg_arch *arch_out,
                    uint16_t *ptx_cap_out);
/* The architecture that texts are made for: `text` (may be NULL: of the GPU that is here, else the
 * oldest we know). */
bool pm_arch_for_text(struct pm_state *state, const char *text, struct cg_arch *arch_out,
                      uint16_t *ptx_cap_out);
PyObject *pm_default_arch(PyObject *module, PyObject *unused);
PyObject *pm_device_info(PyObject *module, PyObject *which);
PyObject *pm_gpu_count(PyObject *module, PyObject *unused);
PyObject *pm_device_attributes(PyObject *module, PyObject *unused);
PyObject *pm_device_attribute(PyObject *module, PyObject *args);
PyObject *pm_is_available(PyObject *module, PyObject *unused);
PyObject *pm_synchronize(PyObject *module, PyObject *unused);
PyObject *pm_info_text(PyObject *module, PyObject *unused);
/* The device's name for messages: "cuda:0" or "cpu". */
void pm_device_print(const struct rt_device *dev, char text[24]);

/* ---- Numbers of dtypes: dtype.c
 * ------------------------------------------------------------------ */

/* gpu.float32, np.float32, a np.dtype, "float32", float, int or bool: a dtype that arrays can
 * have. */
bool pm_dtype_parse(struct pm_state *state, PyObject *object, ir_type *dtype_out);
/* A NumPy typestr or a format of the buffer protocol; IR_T_NONE if arrays cannot have it. */
ir_type pm_dtype_by_format(const char *format, Py_ssize_t itemsize);
bool pm_dtypes_init(struct pm_state *state, PyObject *module);
/* elem.c. The type of a numpy.dtype with fields: 1, 0 if it is none, -1 with an exception. */
int pm_elem_get(struct pm_state *state, PyObject *dtype, const struct pm_elem **elem_out);
/* The same of an array's `dtype`, into the view. */
int pm_elem_of_array(struct pm_state *state, PyObject *array, struct pm_view *view);
/* Any dtype that arrays can have, into the view. */
bool pm_view_parse_dtype(struct pm_state *state, PyObject *object, struct pm_view *view);
/* The text of a structured dtype, or None. */
PyObject *pm_elem_text(PyObject *module, PyObject *dtype);
PyObject *pm_view_dtype_object(struct pm_state *state, const struct pm_view *view);
void pm_elems_finish(struct pm_state *state);
/* numpy.dtype if numpy can be imported, else ours. */
PyObject *pm_dtype_object(struct pm_state *state, ir_type dtype);
/* Fills the table of NumPy's types if numpy has been imported by now. */
void pm_numpy_look(struct pm_state *state);
/* The scalar of a class of NumPy's or of ml_dtypes.bfloat16; IR_T_NONE for others. */
ir_type pm_numpy_scalar(struct pm_state *state, PyTypeObject *type);
/* The element's bits of a float dtype, rounded once. */
uint64_t pm_float_bits(ir_type dtype, double value);
uint64_t pm_float_bits_of_int(ir_type dtype, uint64_t value, bool is_unsigned);
static inline uint32_t
pm_dtype_size_B(ir_type dtype)
{
    return ir_scalar_row(dtype)->bits / 8u;
}
/* An integer dtype's nearest to the number; NaN gives 0. */
int64_t pm_saturate(ir_type dtype, double value);
/* Writes a Python number as one element; 8 bytes of room. */
bool pm_element_from_object(struct pm_state *state, ir_type dtype, PyObject *value, void *out);
PyType_Spec *pm_dtype_spec(void);

/* ---- Arrays: the rest is in pm_array.h ---- */

static inline bool
pm_array_use(struct pm_array *array, struct rt_device *dev, rt_stream handle, PyObject *stream)
{
    bool known = handle == array->home || handle == array->noted;
    return (known && (handle <= RT_STREAM_LEGACY || array->n_gone == array->state->n_gone)) ||
           pm_array_use_slow(array, dev, handle, stream);
}

/* ---- Arrays of others: foreign.c
 * ------------------------------------------------------------------ */

/* An array that is not ours, held for a launch or a copy. */
struct pm_foreign {
    struct pm_view view;
    bool on_host; /* plain host memory; else device memory of `ordinal` */
    int ordinal;
    bool has_stream; /* work of `stream` must be over before the memory is used */
    rt_stream stream;
    bool has_buffer;
    Py_buffer buffer;
    PyObject *owner;        /* kept alive; may be NULL */
    struct pm_memory *lent; /* host memory that the device addresses: kept alive by its array */
    uint8_t transfer;       /* enum pm_transfer */
    struct pm_view staged;  /* the copy in GPU memory for a launch; `data` 0: none */
    bool shares_staged;     /* the copy is that of an earlier argument with the same elements */
    bool is_plain;          /* from pm_exchange_take_plain: nothing of it is to be given back */
};

/* For whom arrays are taken: the stream that will use them, and what the last library that was asked
 * for its current stream has said, once per launch. */
struct pm_current {
    const void *library;
    int32_t kind, ordinal; /* of the device that it was asked for */
    bool known;
    rt_stream stream;
    rt_stream consumer;
};

void pm_foreign_init(struct pm_foreign *foreign);
/* 1: it is an array; 0: it is none; -1: it is one that cannot be used, with an exception.
 * `what` names it in messages ("argument 1 'x' of saxpy"). */
int pm_foreign_get(struct pm_state *state, PyObject *object, const char *what,
                   struct pm_foreign *foreign);
int pm_foreign_get_for(struct pm_state *state, PyObject *object, const char *what,
                       struct pm_current *current, struct pm_foreign *foreign);
void pm_foreign_release(struct pm_foreign *foreign);
/* Host memory that the GPU addresses is used where it is. */
void pm_foreign_lend(struct pm_state *state, struct rt_device *dev, struct pm_foreign *foreign);
/* Whether a copy from there to the device is possible: memory of the host or of the same GPU. */
bool pm_foreign_is_near(struct pm_state *state, const struct pm_foreign *foreign,
                        const struct rt_device *dev, const char *what);
/* Later work of the stream begins after what its owner has queued. */
bool pm_foreign_order(struct pm_state *state, const struct pm_foreign *foreign,
                      struct rt_device *dev, rt_stream stream);
int pm_foreign_fail_dtype(struct pm_state *state, PyObject *object, const char *what,
                          const char *given);
/* A tuple of ints, at most IR_MAX_RANK. */
bool pm_foreign_read_numbers(PyObject *tuple, int64_t *out, uint8_t *n_out);
int pm_foreign_dlpack(struct pm_state *state, PyObject *object, const char *what,
                      const struct pm_current *current, struct pm_foreign *foreign);
void pm_dlpack_init(struct pm_state *state);
/* By the C interface of the object's type: exchange.c */
int pm_foreign_exchange(struct pm_state *state, PyObject *object, const char *what,
                        struct pm_current *current, struct pm_foreign *foreign);
/* cupy.c: whether the type is cupy.ndarray, and one of its arrays. */
bool pm_cupy_is(struct pm_state *state, PyTypeObject *type);
int pm_foreign_cupy(struct pm_state *state, PyObject *object, const char *what,
                    struct pm_current *current, struct pm_foreign *foreign);
void pm_cupy_clear(struct pm_cupy *cupy);
/* A tensor without gaps, with elements, in the memory of that GPU, of a type that is remembered:
 * without an owner, the caller keeps it. `foreign` was initialised. false, without an exception:
 * pm_foreign_get_for takes it or says what is wrong. */
bool pm_exchange_take_plain(struct pm_state *state, PyObject *object, int ordinal,
                            struct pm_current *current, struct pm_foreign *foreign);
/* Whether an object of the type was taken as an array of a device before. */
bool pm_exchange_knows(const struct pm_state *state, const PyTypeObject *type);
/* Remembers that an object of the type had `__cuda_array_interface__`. */
void pm_exchange_remember(struct pm_state *state, const PyTypeObject *type);
void pm_exchange_clear(struct pm_state *state);

/* DLPack's tensor, as its binary interface lays it out. */
enum pm_dl_device { PM_DL_CPU = 1, PM_DL_CUDA = 2, PM_DL_CUDA_HOST = 3, PM_DL_CUDA_MANAGED = 13 };
struct pm_dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t n_dims;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
};
int pm_foreign_read_dlpack(struct pm_state *state, PyObject *object,
                           const struct pm_dl_tensor *tensor, const char *what,
                           struct pm_foreign *foreign);
/* Our type of its elements, or IR_T_NONE. */
static inline ir_type
pm_dlpack_dtype(const struct pm_state *state, const struct pm_dl_tensor *tensor)
{
    bool known = tensor->code < PM_N_DL_CODES && tensor->bits <= 64 && tensor->bits % 8 == 0 &&
                 tensor->lanes == 1;
    return known ? (ir_type)state->dl_types[tensor->code][tensor->bits / 8u] : IR_T_NONE;
}
/* Says where memory of this DLDeviceType is; 1, or -1 with an exception for one that is not
 * ours. */
int pm_foreign_set_kind(struct pm_state *state, const char *what, int kind,
                        struct pm_foreign *foreign);
/* What holds for every protocol: rank, alignment, layout. */
int pm_foreign_finish(struct pm_state *state, const char *what, struct pm_foreign *foreign);

/* ---- How host arrays travel: transfer.c
 * ------------------------------------------------------------------ */

PyType_Spec *pm_transfer_spec(enum pm_transfer transfer);
/* PM_TRANSFER_PLAIN if the value is none of them; `*array_out` is borrowed. */
enum pm_transfer pm_transfer_get(const struct pm_state *state, PyObject *value,
                                 PyObject **array_out);

/* ---- Kernel namespace: intrinsic.c
 * ---------------------------------------------------------------- */

PyType_Spec *pm_intrinsic_spec(void);
bool pm_intrinsics_init(struct pm_state *state, PyObject *module);

/* ---- Kernels: kernel.c, reading.c, entry.c
 * ---------------------------------------------------------- */

/* One READ of a kernel with everything compiled from it. Counted; all under the GIL. */
struct pm_reading {
    uint32_t refs, n_seen; /* of those shares by objects whose kernel the collector sees */
    struct sp_arena arena;
    struct fe_py *py;
    struct ir_module *module;
    struct rt_cache *cache;
    struct rt_cache *artifacts; /* what was compiled, for devices of the same architecture */
    struct pm_entry *last;      /* the last one compiled; lives in the cache */
    struct pm_entry *recent;    /* the last one launched, likewise: the first to be tried */
    uint32_t n_params;          /* of the kernel, without *args */
    bool has_varargs;
    /* The last call shape: where each parameter's value comes from. */
    PyObject *shape_names;   /* tuple of keywords, or NULL */
    Py_ssize_t shape_n_args; /* -1: no shape yet */
    int32_t *shape;          /* index in the call's values, or -1 - i for default i */
    PyObject **defaults;     /* per parameter, NULL where there is none; owned */
};

/* A compiled and loaded kernel for one signature. Owned by the reading's cache. */
struct pm_entry {
    uint64_t serial;
    const struct rt_device *dev;
    struct artifact *artifact;
    struct rt_code *code;
    bool warned;                   /* what the compilation found was shown */
    bool by_value;                 /* objects among the arguments count */
    bool warned_grid, warned_copy; /* a launch was found wanting, and its caller told */
    uint32_t n_args;
    struct ir_argtype *args; /* `host` are strong references */
};

/* Something was compiled, or found on disk. */
struct pm_event {
    const char *origin;      /* "compiled", "compiled, not kept", "disk", "memory" */
    char *signature, *parts; /* own copies; parts: lines "what\tvalue" */
    char device[24];
    uint64_t ns;
    double time_s;
    struct sp_digest key;
};

struct pm_kernel {
    PyObject_HEAD struct pm_state *state;
    PyObject *function;   /* the Python function */
    PyObject *signatures; /* tuple of texts; empty if none were given */
    PyObject *options;    /* dict as given */
    PyObject *name;
    bool is_device; /* made with device=True: not to be launched */
    /* The package's own: always compiled, run where its first argument is, not warned about. */
    bool is_internal;
    char *name_utf8; /* for messages; own copy */
    struct cg_options cg_options;
    char *libdevice; /* text behind cg_options, own copy */
    struct rt_jit_options jit_options;
    struct sp_arena arena; /* parsed signatures */
    struct {
        struct ir_argtype *args;
        uint32_t n;
    } *declared;
    uint32_t n_declared;
    bool forgets;                               /* cache=False: nothing of it is on disk */
    SP_VEC(struct pm_event) events;             /* the last ones */
    struct pm_reading *readings[PM_N_READINGS]; /* [0] is the current one */
    struct pm_launcher
        *parked[PM_N_LAUNCHERS]; /* dead launchers whose memory waits to be used again */
    PyObject *carrier;           /* what stands for the kernel where it is pickled; may be NULL */
    PyObject *weakrefs;
};

PyType_Spec *pm_kernel_spec(void);
/* A reader of functions; makes the interpreter's part at the first call. */
struct fe_py *pm_reader_create(struct pm_state *state);
/* The reading that is true now, READ anew if need be, with a share of the caller's. */
struct pm_reading *pm_kernel_reading(struct pm_kernel *kernel);
void pm_reading_unref(struct pm_reading *reading);
int pm_reading_traverse(struct pm_reading *reading, visitproc visit, void *arg);
/* The entry for these arguments on this device, compiled if need be (GIL dropped). It lives as long
 * as the reading, of which the caller holds a count. */
struct pm_entry *pm_entry_get(struct pm_kernel *kernel, struct pm_reading *reading,
                              struct rt_device *dev, const struct ir_argtype *args,
                              uint32_t n_args);
/* Compiles and loads, or finds it on disk (GIL dropped): compile.c. Both are the caller's. */
bool pm_compile(struct pm_kernel *kernel, struct pm_reading *reading, struct rt_device *dev,
                const struct ir_argtype *args, uint32_t n_args, struct artifact **artifact_out,
                struct rt_code **code_out);
/* Code was loaded that another device of the architecture has compiled. */
void pm_event_shared(struct pm_kernel *kernel, const struct rt_device *dev,
                     const struct ir_argtype *args, uint32_t n_args);
void pm_events_finish(struct pm_kernel *kernel);
PyObject *pm_kernel_events(PyObject *self, PyObject *unused);
/* The disk cache: kept.c. The second shows once why it does not work; false: an exception. */
struct rt_disk *pm_disk(struct pm_state *state);
bool pm_disk_warn(struct pm_state *state);
/* What the command line asks of it: store.c. */
PyObject *pm_cache_path(PyObject *module, PyObject *unused);
PyObject *pm_cache_entries(PyObject *module, PyObject *unused);
PyObject *pm_cache_remove(PyObject *module, PyObject *key);
PyObject *pm_cache_prune(PyObject *module, PyObject *bytes);
/* Stage texts: texts.c */
PyObject *pm_kernel_ptx(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_kernel_compile_times(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_kernel_llvm(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_kernel_ir(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *pm_kernel_bytecode(PyObject *self, PyObject *unused);
/* Prints the stages in GPUJIT_DUMP to stderr. */
struct cg_dump pm_dump(void);
bool pm_dump_wants(const char *stage);

/* ---- Pickling: pickle.c
 * ----------------------------------------------------------------------------- */

/* Methods: __reduce_ex__ of kernels, __reduce__ of launchers, of names of the kernel namespace, of
 * what only this process can use; copies that are the thing itself. */
PyObject *pm_pickle_kernel(PyObject *kernel, PyObject *protocol);
PyObject *pm_pickle_launcher(PyObject *launcher, PyObject *unused);
PyObject *pm_pickle_named(PyObject *object, PyObject *unused);
PyObject *pm_pickle_refuse(PyObject *object, PyObject *unused);
PyObject *pm_pickle_self(PyObject *object, PyObject *unused);
/* The function that stands for a kernel in what is pickled. */
PyObject *pm_kernel_carrier(PyObject *kernel, void *closure);

/* ---- The python device: pydevice.c
 * ----------------------------------------------------------------- */

struct pm_launcher;
struct pm_arg;
/* Runs a kernel whose arguments are bound and classified. */
bool pm_pydevice_run(struct pm_launcher *launcher, struct rt_device *dev, PyObject *const *values,
                     uint32_t n_values, const struct pm_arg *args, uint32_t n);
/* Raises what kernels there have raised, as pm_wait says; true if there is nothing. */
bool pm_pydevice_raise(struct pm_state *state, bool own_only);

/* ---- Launching: config.c, launcher.c, call.c, args.c, declared.c, bind.c
 * ------------------------------------------------- */

#define PM_FORALL_BLOCK 256

struct pm_config {
    int64_t grid[3], block[3], shared_B;
    int64_t n_tasks; /* not 0: a thread for each, grid and block fit them and the kernel */
    uint8_t n_grid, n_block;
    uint8_t reserved[6]; /* no holes: configurations are compared byte by byte */
    rt_stream stream;
};

struct pm_launcher {
    PyObject_HEAD pm_vectorcall vectorcall;
    struct pm_kernel *kernel;
    PyObject *stream; /* the object, kept alive; may be NULL */
    struct pm_config config;
    struct rt_launch launch;
    uint64_t prepared; /* serial of the entry that was checked for this launch; 0: none */
};

/* One value of a call. */
struct pm_arg {
    uint32_t size_B; /* of a record by value, whose bytes `bits` is the address of */
    struct ir_argtype type;
    uint64_t bits;              /* SCALAR: as laid out */
    const struct pm_view *view; /* ARRAY */
    struct pm_foreign *foreign; /* ARRAY that is not ours; owned by the call */
    PyObject *object;           /* borrowed */
    uint32_t param;             /* number of the kernel's parameter that it is, or is a part of */
};

/* `*stream_out`: what keeps the stream, a new reference, or NULL. */
bool pm_config_parse(struct pm_kernel *kernel, PyObject *index, struct pm_config *out,
                     PyObject **stream_out);
PyType_Spec *pm_launcher_spec(void);
/* Calling a launcher: vectorcall and tp_call. */
PyObject *pm_call(PyObject *launcher, PyObject *const *args, size_t nargsf, PyObject *kwnames);
PyObject *pm_call_tuple(PyObject *launcher, PyObject *args, PyObject *kwargs);
/* For callers without vectorcall: the values in one array, as vectorcall has them. */
PyObject *pm_call_as_vector(pm_vectorcall function, PyObject *self, PyObject *args,
                            PyObject *kwargs);
/* launcher.bind(...): bound.c */
PyType_Spec *pm_bound_spec(void);
PyObject *pm_bound_new(PyObject *launcher, PyObject *args, PyObject *kwargs);
/* kernel.specialize(...): specialize.c */
PyObject *pm_kernel_specialize(PyObject *kernel, PyObject *args);
#define KERNEL_METHOD(name, doc)                                                                   \
    PyObject *pm_kernel_python_##name(PyObject *self, PyObject *args, PyObject *kwargs);
#define KERNEL_PROPERTY(name, doc) PyObject *pm_kernel_get_##name(PyObject *self, void *closure);
#include "pymod/kernel_python.def"
PyObject *pm_kernel_numbers(PyObject *kernel, PyObject *unused);
PyObject *pm_launcher_get(struct pm_kernel *kernel, PyObject *index);
PyObject *pm_launcher_from_config(struct pm_kernel *kernel, const struct pm_config *config,
                                  PyObject *stream);
void pm_launcher_free_parked(struct pm_kernel *kernel);
int pm_launcher_traverse_parked(struct pm_kernel *kernel, visitproc visit, void *arg);
/* What the values of a call are taken for. */
struct pm_taking {
    struct pm_state *state;
    struct pm_kernel *kernel;
    struct pm_reading *reading;
    struct rt_device *dev;
    struct pm_current current;
    bool copies;  /* host memory that the device addresses travels like any other */
    bool is_here; /* nothing has run since that could have made another device the thread's */
};
/* Classifies one value; `index` is the parameter's number. */
bool pm_arg_get(struct pm_taking *taking, uint32_t index, PyObject *value, struct pm_arg *arg);
/* An argument in messages: "2 'x'". */
#define PM_LABEL_B 80
const char *pm_arg_label(const struct pm_reading *reading, uint32_t index, char label[PM_LABEL_B]);
/* Eight bytes of a record that is an argument by value, zeros behind its end. */
void pm_record_word(const struct pm_arg *arg, uint32_t word, void *out);
bool pm_arg_fail(struct pm_kernel *kernel, const struct pm_reading *reading, uint32_t index,
                 const char *reason);
/* A member of an enum. */
bool pm_arg_is_member(PyObject *value);
void pm_arg_release(struct pm_state *state, struct pm_arg *arg);
/* Makes one tuple of what a signature has beyond the parameters, as a launch does for *args. */
void pm_gather_extra(struct sp_arena *arena, uint32_t n_params, struct ir_argtype **args,
                     uint32_t *n_args);
/* With declared signatures: converts the values to the one they fit, or raises. */
bool pm_args_declared(struct pm_kernel *kernel, struct pm_arg *args, uint32_t n_args);
/* Puts positional and keyword values in the order of the parameters; `values` has n_params places,
 * and one more for the tuple of *args, a new reference. */
bool pm_bind(struct pm_kernel *kernel, struct pm_reading *reading, PyObject *const *args,
             Py_ssize_t n_args, PyObject *kwnames, PyObject **values);

#endif
