/* module: gpu._gpujit, the extension module: its state, its types and its functions.
 *
 * Multi-phase initialisation, everything in the module's state, so that several interpreters can
 * each have one. Nothing expensive happens here: LLVM, the driver and the worker threads are set up
 * when they are first needed. */
#include "pymod/pm.h"

#include <stdlib.h>

#include "runtime/disk.h"

#ifndef GPUJIT_VERSION
#error "define GPUJIT_VERSION"
#endif

static bool
module_add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject **type_out)
{
    *type_out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type_out && PyModule_AddObjectRef(module, name, (PyObject *)*type_out) == 0;
}

/* libdevice may come in wheels: the folders that the interpreter imports from. */
static PyObject *
module_set_site_packages(PyObject *module, PyObject *folders)
{
    struct pm_state *state = PyModule_GetState(module);
    Py_ssize_t n = PyList_Check(folders) ? PyList_Size(folders) : 0;
    const char **paths = sp_alloc((size_t)(n + 1) * sizeof *paths);
    uint32_t n_paths = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *folder = PyList_GetItem(folders, i);
        Py_ssize_t len;
        if (PyUnicode_Check(folder) && (paths[n_paths] = PyUnicode_AsUTF8AndSize(folder, &len)))
            n_paths++;
        else
            PyErr_Clear();
    }
    cg_set_site_packages(state->cg, paths, n_paths);
    free((void *)paths);
    Py_RETURN_NONE;
}

static bool
module_set_paths(PyObject *module)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    PyObject *none = path ? module_set_site_packages(module, path) : NULL;
    Py_XDECREF(none);
    return !PyErr_Occurred();
}

static int
module_exec(PyObject *module)
{
    struct pm_state *state = PyModule_GetState(module);
    sp_diag_init(&state->pending);
    state->rt = rt_runtime_create(NULL);
    state->cg = cg_create();
    state->launch_blocking = pm_launch_blocking();
    struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&state->s_array_interface, "__array_interface__"},
        {&state->s_cuda_array_interface, "__cuda_array_interface__"},
        {&state->s_dlpack, "__dlpack__"},
        {&state->s_dlpack_c_exchange_api, "__dlpack_c_exchange_api__"},
        {&state->s_dlpack_device, "__dlpack_device__"},
        {&state->s_stream, "stream"},
        {&state->s_shape, "shape"},
        {&state->s_typestr, "typestr"},
        {&state->s_data, "data"},
        {&state->s_strides, "strides"},
        {&state->s_mask, "mask"},
        {&state->s_max_version, "max_version"},
        {&state->s_is_neg, "is_neg"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].at = PyUnicode_InternFromString(names[i].text)))
            return -1;
    pm_dlpack_init(state);
    struct {
        enum pm_transfer transfer;
        const char *name;
    } transfers[] = {
        {PM_TRANSFER_IN, "In"}, {PM_TRANSFER_OUT, "Out"}, {PM_TRANSFER_IN_OUT, "InOut"}};
    for (size_t i = 0; i < sizeof transfers / sizeof *transfers; i++)
        if (!module_add_type(module, pm_transfer_spec(transfers[i].transfer), transfers[i].name,
                             &state->transfer_types[transfers[i].transfer]))
            return -1;
    bool ok = pm_places_init(state) && pm_errors_init(state, module) &&
              pm_warnings_init(state, module) &&
              module_add_type(module, pm_dtype_spec(), "DType", &state->dtype_type) &&
              module_add_type(module, pm_intrinsic_spec(), "Intrinsic", &state->intrinsic_type) &&
              module_add_type(module, pm_array_spec(), "Array", &state->array_type) &&
              pm_dl_add_exchange(state->array_type) &&
              module_add_type(module, pm_stream_spec(), "Stream", &state->stream_type) &&
              module_add_type(module, pm_event_spec(), "Event", &state->event_type) &&
              module_add_type(module, pm_memory_spec(), "Memory", &state->memory_type) &&
              module_add_type(module, pm_graph_spec(), "Graph", &state->graph_type) &&
              module_add_type(module, pm_graph_node_spec(), "GraphNode", &state->graph_node_type) &&
              module_add_type(module, pm_kernel_spec(), "Kernel", &state->kernel_type) &&
              module_add_type(module, pm_launcher_spec(), "Launcher", &state->launcher_type) &&
              module_add_type(module, pm_bound_spec(), "BoundLaunch", &state->bound_type) &&
              pm_dtypes_init(state, module) && pm_fork_init(state, module) &&
              pm_intrinsics_init(state, module) && module_set_paths(module) &&
              PyModule_AddStringConstant(module, "__version__", GPUJIT_VERSION) == 0;
    return ok ? 0 : -1;
}

/* What the state holds, one by one and as arrays. */
#define MODULE_OBJECTS(X)                                                                          \
    X(kernel_type)                                                                                 \
    X(launcher_type)                                                                               \
    X(bound_type)                                                                                  \
    X(array_type)                                                                                  \
    X(stream_type)                                                                                 \
    X(event_type)                                                                                  \
    X(graph_type)                                                                                  \
    X(graph_node_type)                                                                             \
    X(memory_type)                                                                                 \
    X(intrinsic_type)                                                                              \
    X(dtype_type)                                                                                  \
    X(current_stream)                                                                              \
    X(allocate)                                                                                    \
    X(free)                                                                                        \
    X(error)                                                                                       \
    X(raised)                                                                                      \
    X(raised_shown)                                                                                \
    X(warning)                                                                                     \
    X(ndarray)                                                                                     \
    X(generic)                                                                                     \
    X(numpy_dtype)                                                                                 \
    X(s_array_interface)                                                                           \
    X(s_cuda_array_interface)                                                                      \
    X(s_dlpack)                                                                                    \
    X(s_dlpack_c_exchange_api)                                                                     \
    X(s_dlpack_device)                                                                             \
    X(s_stream)                                                                                    \
    X(s_shape)                                                                                     \
    X(s_typestr)                                                                                   \
    X(s_data)                                                                                      \
    X(s_strides)                                                                                   \
    X(s_mask)                                                                                      \
    X(s_max_version)                                                                               \
    X(s_is_neg)
#define MODULE_ARRAYS(X)                                                                           \
    X(transfer_types)                                                                              \
    X(errors)                                                                                      \
    X(warnings)                                                                                    \
    X(dtypes)

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct pm_state *state = PyModule_GetState(module);
    if (!state)
        return 0;
#define VISIT(field) Py_VISIT((PyObject *)state->field);
#define VISIT_ALL(field)                                                                           \
    for (size_t i = 0; i < sizeof state->field / sizeof *state->field; i++)                        \
        Py_VISIT((PyObject *)state->field[i]);
    MODULE_OBJECTS(VISIT)
    MODULE_ARRAYS(VISIT_ALL)
    for (uint32_t i = 0; i < state->n_numpy_types; i++)
        Py_VISIT((PyObject *)state->numpy_types[i].type);
    return 0;
}

static int
module_clear(PyObject *module)
{
    struct pm_state *state = PyModule_GetState(module);
    if (!state)
        return 0;
#define CLEAR(field) Py_CLEAR(state->field);
#define CLEAR_ALL(field)                                                                           \
    for (size_t i = 0; i < sizeof state->field / sizeof *state->field; i++)                        \
        Py_CLEAR(state->field[i]);
    MODULE_OBJECTS(CLEAR)
    MODULE_ARRAYS(CLEAR_ALL)
    for (uint32_t i = 0; i < state->n_numpy_types; i++)
        Py_CLEAR(state->numpy_types[i].type);
    state->n_numpy_types = 0;
    pm_elems_finish(state);
    pm_exchange_clear(state);
    pm_cupy_clear(&state->cupy);
    return 0;
}

static void
module_free(void *module)
{
    struct pm_state *state = PyModule_GetState(module);
    if (!state)
        return;
    pm_memory_reap(state, true);
    module_clear(module);
    pm_callbacks_drop(state);
    pm_places_finish(state);
    sp_vec_finish(&state->quiet);
    sp_vec_finish(&state->memories);
    sp_vec_finish(&state->retired);
    while (state->n_spare_foreign)
        free(state->spare_foreign[--state->n_spare_foreign]);
    if (state->print.lock)
        PyThread_free_lock(state->print.lock);
    fe_interp_destroy(state->interp);
    rt_runtime_destroy(state->rt);
    rt_disk_destroy(state->disk);
    cg_destroy(state->cg);
    sp_diag_finish(&state->pending);
}

#define MODULE_KEYWORDS(name, function, doc)                                                       \
    {name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, doc}
static PyMethodDef module_methods[] = {
    MODULE_KEYWORDS("empty", pm_empty,
                    "empty(shape, dtype=float64, order='C', stream=None): an array with undefined "
                    "contents, for work of the stream first."),
    MODULE_KEYWORDS("full", pm_full,
                    "full(shape, fill_value, dtype=None, order='C', stream=None): an array of "
                    "equal elements. Does not wait."),
    MODULE_KEYWORDS("to_device", pm_to_device,
                    "to_device(array, stream=None, copy=True, to=None, dtype=None): a copy in the "
                    "memory of the device, or in the array `to`; without the values if not `copy`. "
                    "Waits until the array may be changed again."),
    MODULE_KEYWORDS("as_gpu_array", pm_as_gpu_array,
                    "as_gpu_array(array, sync=True): the memory of another library's array as "
                    "ours. Waits for the stream that its owner names, unless `sync` is False."),
    {"_strided", pm_strided, METH_VARARGS, "A view of any shape and strides, of the same memory."},
    {"_like", pm_like, METH_VARARGS, "New memory on the device of an array."},
    {"_elem_text", pm_elem_text, METH_O, "A structured dtype as signatures write it, or None."},
    {"_dtype", pm_dtype_of, METH_O, "The dtype that arrays made with it have."},
    {"_print_rest", pm_print_rest, METH_NOARGS,
     "Writes what kernels print until the program ends."},
    {"_warn_option", pm_warn_option, METH_VARARGS, "For an option that has no effect."},
    {"get_memory_info", pm_memory_info, METH_NOARGS,
     "(free, total) of the current device's memory, in bytes, as the driver counts."},
    {"_ipc_get", pm_ipc_get, METH_O, "(array): what another process needs to open its memory"},
    {"_ipc_open", pm_ipc_open, METH_VARARGS, "(bytes, size, offset, span): an array of bytes"},
    {"_peer_can_reach", pm_peer_can_reach, METH_VARARGS, "(device, other): by their names"},
    {"_peer_reach", pm_peer_reach, METH_VARARGS, "(device, other, on)"},
    {"_memory_host", pm_memory_host, METH_VARARGS, "(kind, bytes): host memory for kernels."},
    {"_memory_register", pm_memory_register, METH_VARARGS, "(buffer, waits): locks it."},
    {"_memory_set_allocator", pm_memory_set_allocator, METH_VARARGS, "(allocate, free) or Nones"},
    {"_memory_stats", pm_memory_stats, METH_VARARGS, "(kind): numbers of a pool"},
    {"_memory_trim", pm_memory_trim, METH_VARARGS, "(kind, keep): bytes given back"},
    {"_memory_set_limit", pm_memory_set_limit, METH_VARARGS, "(kind, bytes)"},
    {"_memory_reset_peak", pm_memory_reset_peak, METH_VARARGS, "(kind)"},
    {"_memory_defer", pm_memory_defer, METH_O, "Begins (True) or ends to leave freed memory alone"},
    {"synchronize", pm_synchronize, METH_NOARGS,
     "Waits until everything that was launched is done; raises what kernels raised."},
    {"_cache_path", pm_cache_path, METH_NOARGS, "(folder of the disk cache or \"\", its cap)"},
    {"_cache_entries", pm_cache_entries, METH_NOARGS, "What is on disk, as a list of tuples."},
    {"_cache_remove", pm_cache_remove, METH_O, "Removes the entry with this key."},
    {"_cache_prune", pm_cache_prune, METH_O, "Leaves so many bytes on disk at most."},
    {"is_available", pm_is_available, METH_NOARGS, "Whether there is a GPU with a working driver."},
    {"_select_device", pm_select_device, METH_O, "gpu.select_device, without its result."},
    {"_enter_device", pm_enter_device, METH_O, "select_device that _leave_device undoes."},
    {"_leave_device", pm_leave_device, METH_VARARGS,
     "Takes what _enter_device gave, as arguments."},
    {"_profile", pm_profile, METH_O, "Begins (True) or ends what a profiler records."},
    {"_reset_device", pm_reset_device, METH_O, "By name, number, or None: the current one."},
    {"_gpu_count", pm_gpu_count, METH_NOARGS, "How many GPUs the driver has."},
    {"_device_attribute", pm_device_attribute, METH_VARARGS, "An attribute by its name, or None."},
    {"_device_attributes", pm_device_attributes, METH_NOARGS, "The names of all attributes."},
    {"close", pm_close, METH_NOARGS,
     "Ends the use of devices: in the main thread every device that was used is reset, and their "
     "arrays, streams and kernels are gone; in another thread its choice of a device is "
     "forgotten."},
    MODULE_KEYWORDS("stream", pm_stream_create,
                    "stream(priority=0, non_blocking=False): a new stream. Priority 0 is the\n"
                    "lowest, -1 is higher; what the device does not have is its nearest.\n"
                    "A non-blocking one has no implicit order with the default stream."),
    {"default_stream", pm_default_stream, METH_NOARGS, "The default stream."},
    {"legacy_default_stream", pm_legacy_default_stream, METH_NOARGS,
     "The default stream that other streams wait for."},
    {"per_thread_default_stream", pm_per_thread_default_stream, METH_NOARGS,
     "The default stream of the calling thread."},
    {"external_stream", pm_external_stream, METH_O,
     "external_stream(ptr): another library's stream as ours; it is not destroyed."},
    {"current_stream", pm_current_stream, METH_NOARGS,
     "The stream of the innermost `with stream:`, else the default stream."},
    MODULE_KEYWORDS("event", pm_event_create,
                    "event(timing=True, blocking=False, interprocess=False): a point in a stream,\n"
                    "to be recorded. Hosts that wait for a blocking one sleep and do not spin."),
    MODULE_KEYWORDS("graph", pm_graph_create,
                    "graph(stream=None, mode='thread_local'): captures what is given to the\n"
                    "stream (None: one of its own, the current one meanwhile) in a `with` block,\n"
                    "to be run again by replay(). `mode` says which calls that could wait are\n"
                    "errors of the driver meanwhile: this thread's, all ('global') or none\n"
                    "('relaxed')."),
    {"event_elapsed_time", pm_event_elapsed_time, METH_VARARGS,
     "event_elapsed_time(start, end): milliseconds between two events, both done."},
    {"_run_callbacks", pm_callbacks_run, METH_NOARGS, "What the thread for callbacks does."},
    {"_finish_callbacks", pm_callbacks_finish, METH_NOARGS,
     "Waits for callbacks on their way; none is taken afterwards."},
    {"default_arch", pm_default_arch, METH_NOARGS, "What ptx() is made for when nothing is said."},
    {"_device_info", pm_device_info, METH_O,
     "What is known of a device, by name, number, or None: the current one; as a dict."},
    {"info_text", pm_info_text, METH_NOARGS, "(runtime, libdevice, where it was sought, LLVM)"},
    {"set_site_packages", module_set_site_packages, METH_O, "Where wheels with libdevice may be."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};
static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gpu._gpujit",
    .m_doc = "The compiler and the runtime behind the package gpu.",
    .m_size = sizeof(struct pm_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__gpujit(void);

PyMODINIT_FUNC
PyInit__gpujit(void)
{
    return PyModuleDef_Init(&module_def);
}
