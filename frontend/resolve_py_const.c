/* resolve_py_const: Python objects to constants of a module.
 *
 * Numbers follow numbers.md, "From outside": NumPy's integers are plain ints (uint64 stays typed),
 * its float64 is a plain float, its narrower ones are typed. Enum members are their values. Types
 * that kernels call as casts become DTYPE, modules and objects of the kernel namespace become its
 * paths, functions FUNC. A builtin function is known by being the very object that its module holds
 * under its name, so neither a shadowed nor a renamed builtin deceives. Everything else is HOST: an
 * error only where a kernel uses it. Nothing here calls Python code of the program's: dunder
 * attributes are looked up in dicts of types and fetched only through descriptors that are C. */
#include "frontend/resolve_py.h"

#include <string.h>

const char *
py_type_name(struct sp_arena *arena, PyObject *object)
{
    PyObject *name = PyType_GetName(Py_TYPE(object));
    const char *text = py_text(arena, name);
    PyErr_Clear();
    Py_XDECREF(name);
    return text ? text : "object";
}

ir_const
py_const_host(struct fe_reader *reader, PyObject *object)
{
    py_own(py_of(reader), object);
    struct ir_const_info info = {.kind = IR_C_HOST};
    info.host = object;
    info.type_name = py_type_name(reader->arena, object);
    return ir_const_intern(reader->module, &info);
}

/* A class, with the number by which it is found when it is needed again. */
ir_const
py_const_host_class(struct fe_reader *reader, PyObject *class)
{
    py_own(py_of(reader), class);
    struct ir_const_info info = {.kind = IR_C_HOST, .host = class};
    info.type_name = py_type_name(reader->arena, class);
    info.len = py_class_number(py_of(reader)->interp, class);
    PyErr_Clear();
    return ir_const_intern(reader->module, &info);
}

static ir_const
const_typed(struct fe_reader *reader, ir_type scalar, const void *bits)
{
    struct ir_const_info info = {.kind = IR_C_TYPED, .scalar = (uint8_t)scalar};
    memcpy(&info.u, bits, sizeof info.u);
    return ir_const_intern(reader->module, &info);
}

static ir_const
const_int(struct fe_reader *reader, PyObject *object)
{
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow && !PyErr_Occurred())
        return ir_const_int(reader->module, value);
    PyErr_Clear();
    if (overflow > 0) {
        uint64_t u = PyLong_AsUnsignedLongLong(object);
        if (!PyErr_Occurred())
            return ir_const_uint(reader->module, u);
        PyErr_Clear();
    }
    PyObject *text = PyNumber_ToBase(object, 10); /* may refuse thousands of digits */
    const char *digits = py_text(reader->arena, text);
    PyErr_Clear();
    Py_XDECREF(text);
    struct ir_const_info info = {.kind = IR_C_BIG};
    info.str = digits ? digits : "1e4300";
    info.len = (uint32_t)strlen(info.str);
    return ir_const_intern(reader->module, &info);
}

/* ---- NumPy, if the program has it ---- */

/* The scalar type of a numpy.dtype, or of a scalar class of NumPy's, or IR_T_NONE. */
static ir_type
const_numpy_scalar(PyObject *numpy, PyObject *type)
{
    PyObject *dtype = PyObject_CallMethod(numpy, "dtype", "O", type);
    PyObject *str = dtype ? PyObject_GetAttrString(dtype, "str") : NULL;
    const char *typestr = str ? PyUnicode_AsUTF8AndSize(str, NULL) : NULL;
    ir_type scalar = typestr ? ir_scalar_by_typestr(typestr) : (ir_type)IR_T_NONE;
    PyErr_Clear();
    Py_XDECREF(str);
    Py_XDECREF(dtype);
    return scalar;
}

/* An instance of numpy.generic. */
static bool
const_numpy_value(struct fe_reader *reader, PyObject *numpy, PyObject *object, ir_const *out)
{
    ir_type scalar = const_numpy_scalar(numpy, (PyObject *)Py_TYPE(object));
    if (scalar == IR_T_NONE)
        return false;
    if (scalar == IR_T_BOOL) {
        *out = ir_const_bool(reader->module, PyObject_IsTrue(object) == 1);
    } else if (ir_scalar_row(scalar)->class == IR_CLASS_FLOAT) {
        double value = PyFloat_AsDouble(object);
        *out = scalar == IR_T_FLOAT64 ? ir_const_float(reader->module, value)
                                      : const_typed(reader, scalar, &value);
    } else {
        PyObject *index = PyNumber_Index(object);
        uint64_t u = index ? PyLong_AsUnsignedLongLongMask(index) : 0;
        *out = scalar == IR_T_UINT64 ? const_typed(reader, scalar, &u)
                                     : ir_const_int(reader->module, (int64_t)u);
        Py_XDECREF(index);
    }
    PyErr_Clear();
    return true;
}

/* A class of numpy's own, from the module's dict; borrowed. */
static PyObject *
const_numpy_class(PyObject *numpy, const char *name)
{
    PyObject *dict = PyModule_Check(numpy) ? PyModule_GetDict(numpy) : NULL;
    PyObject *found = dict ? PyDict_GetItemString(dict, name) : NULL;
    PyErr_Clear();
    return found && PyType_Check(found) ? found : NULL;
}

/* numpy.integer and the like, which are no types of values but what isinstance asks for. */
static bool
const_numpy_family(struct fe_reader *reader, PyObject *numpy, PyObject *object, ir_const *out)
{
    PyObject *name = PyType_GetName((PyTypeObject *)object);
    const char *text = py_text(reader->arena, name);
    PyErr_Clear();
    Py_XDECREF(name);
    if (!text || const_numpy_class(numpy, text) != object)
        return false;
    const char *path = sp_arena_printf(reader->arena, "numpy.%s", text);
    enum ir_intrin id = ir_intrin_by_path(path);
    if (id == IR_INTRIN_NONE || ir_intrin_row(id)->rule != IR_RULE_NONE)
        return false;
    *out = ir_const_simple(reader->module, IR_C_INTRIN, id);
    return true;
}

static bool
const_numpy_array(struct fe_reader *reader, PyObject *numpy, PyObject *object, ir_const *out)
{
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    ir_type type = dtype ? const_numpy_scalar(numpy, dtype) : (ir_type)IR_T_NONE;
    if (dtype && type == IR_T_NONE)
        type = py_dtype(reader, dtype);
    PyErr_Clear();
    Py_XDECREF(dtype);
    return type != IR_T_NONE && py_array(reader, object, type, out);
}

static bool
const_numpy(struct fe_reader *reader, PyObject *object, ir_const *out)
{
    PyObject *numpy = py_module(py_of(reader)->interp, "numpy");
    PyObject *generic = numpy ? const_numpy_class(numpy, "generic") : NULL;
    PyObject *dtype = numpy ? const_numpy_class(numpy, "dtype") : NULL;
    if (!generic || !dtype)
        return false;
    if (PyObject_TypeCheck(object, (PyTypeObject *)generic))
        return const_numpy_value(reader, numpy, object, out);
    if ((PyObject *)Py_TYPE(object) == const_numpy_class(numpy, "ndarray"))
        return const_numpy_array(reader, numpy, object, out);
    bool is_class =
        PyType_Check(object) && PyType_IsSubtype((PyTypeObject *)object, (PyTypeObject *)generic);
    if (!is_class && !PyObject_TypeCheck(object, (PyTypeObject *)dtype))
        return false;
    if (is_class && const_numpy_family(reader, numpy, object, out))
        return true;
    ir_type scalar = const_numpy_scalar(numpy, object);
    if (scalar == IR_T_NONE && !is_class)
        scalar = py_dtype(reader, object);
    if (scalar == IR_T_NONE)
        return false;
    *out = ir_const_dtype(reader->module, scalar);
    return true;
}

/* np.finfo(...) and np.iinfo(...) that the program made: the namespace of their type's limits. */
static bool
const_numpy_limits(struct fe_reader *reader, PyObject *object, ir_const *out)
{
    static const char *const names[] = {"iinfo", "finfo"};
    PyObject *numpy = py_module(py_of(reader)->interp, "numpy");
    for (int k = 0; numpy && k < 2; k++) {
        if ((PyObject *)Py_TYPE(object) != const_numpy_class(numpy, names[k]))
            continue;
        PyObject *dtype = PyObject_GetAttrString(object, "dtype");
        ir_type scalar = dtype ? const_numpy_scalar(numpy, dtype) : (ir_type)IR_T_NONE;
        ir_const found = scalar == IR_T_NONE ? 0 : ir_const_limits(reader->module, k == 1, scalar);
        PyErr_Clear();
        Py_XDECREF(dtype);
        if (found)
            *out = found;
        return found != 0;
    }
    return false;
}

/* ---- The kernel namespace, functions, builtins ---- */

/* An attribute that objects of the kernel namespace carry: text or function in the instance, or
 * behind a descriptor written in C. A new reference or NULL. */
static PyObject *
const_mark(struct fe_interp *interp, PyObject *object, PyObject *name)
{
    PyObject *found = py_type_lookup(interp, (PyObject *)Py_TYPE(object), name);
    if (found && (Py_TYPE(found) == &PyGetSetDescr_Type || Py_TYPE(found) == &PyMemberDescr_Type)) {
        PyObject *value = PyObject_GenericGetAttr(object, name);
        PyErr_Clear();
        return value;
    }
    PyObject *dict = PyType_Check(object) ? NULL : py_instance_dict(object);
    PyObject *own = dict ? PyDict_GetItemWithError(dict, name) : NULL;
    PyErr_Clear();
    Py_XINCREF(own);
    Py_XDECREF(dict);
    if (own || !found || !PyUnicode_Check(found))
        return own;
    return Py_NewRef(found);
}

static bool
const_path(struct fe_reader *reader, PyObject *path, ir_const *out)
{
    const char *text = py_text(reader->arena, path);
    return text && ir_path_const(reader->module, text, out);
}

static bool
const_namespace(struct fe_reader *reader, PyObject *object, ir_const *out)
{
    struct fe_interp *interp = py_of(reader)->interp;
    if (PyModule_Check(object)) {
        static const char *const names[] = {"gpu", "math", "builtins", "operator", "numpy"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (py_module(interp, names[i]) == object)
                return ir_path_const(reader->module, names[i], out);
        return false;
    }
    PyObject *mark = const_mark(interp, object, interp->s_gpu_path);
    bool ok = mark && const_path(reader, mark, out);
    Py_XDECREF(mark);
    if (ok)
        return true;
    mark = const_mark(interp, object, interp->s_gpu_function);
    if (mark && (PyObject *)Py_TYPE(mark) == interp->function_type) {
        *out = py_const_at(reader, mark, 0);
        ok = true;
    }
    Py_XDECREF(mark);
    return ok;
}

/* Whether the object is a function of NumPy's: a ufunc, or what wraps a function in Python. */
static bool
const_is_numpy_function(struct fe_interp *interp, PyObject *object)
{
    PyObject *numpy = py_module(interp, "numpy");
    PyTypeObject *ufunc = numpy ? (PyTypeObject *)const_numpy_class(numpy, "ufunc") : NULL;
    if (ufunc && Py_TYPE(object) == ufunc)
        return true;
    PyObject *type = PyType_GetName(Py_TYPE(object));
    bool ok =
        numpy && type && PyUnicode_CompareWithASCIIString(type, "_ArrayFunctionDispatcher") == 0;
    Py_XDECREF(type);
    return ok;
}

/* "math.sqrt" of the function that module math holds as sqrt, "builtins.range" likewise. */
static bool
const_builtin(struct fe_reader *reader, PyObject *object, ir_const *out)
{
    struct fe_interp *interp = py_of(reader)->interp;
    PyObject *module = NULL, *name = NULL;
    if (const_is_numpy_function(interp, object)) {
        module = PyUnicode_FromString("numpy");
        name = PyObject_GetAttr(object, interp->s_name);
    } else if (PyCFunction_Check(object)) {
        module = PyObject_GetAttr(object, interp->s_module);
        name = PyObject_GetAttr(object, interp->s_name);
    } else if (PyType_Check(object)) {
        name = PyType_GetName((PyTypeObject *)object);
        bool of_numpy = name && py_module_has(interp, "numpy", name, object);
        module = PyUnicode_FromString(of_numpy ? "numpy" : "builtins");
    }
    PyErr_Clear();
    const char *module_text = py_text(reader->arena, module);
    const char *name_text = py_text(reader->arena, name);
    static const char *const modules[][2] = {
        {"builtins", "builtins"}, {"math", "math"}, {"_operator", "operator"}, {"numpy", "numpy"}};
    const char *space = NULL; /* of the kernel namespace */
    for (size_t i = 0; module_text && i < sizeof modules / sizeof *modules; i++)
        if (strcmp(module_text, modules[i][0]) == 0)
            space = modules[i][1];
    bool ok = space && name_text && py_module_has(interp, module_text, name, object) &&
              ir_path_const(reader->module,
                            sp_arena_printf(reader->arena, "%s.%s", space, name_text), out);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return ok;
}

/* ---- Values ---- */

/* An enum member's value, borrowed, or NULL. The class is asked for its map of members, which only
 * enum's metaclass makes. */
static PyObject *
const_enum_value(struct fe_interp *interp, PyObject *object)
{
    PyObject *enum_module = py_module(interp, "enum");
    if (!enum_module || !PyModule_Check(enum_module))
        return NULL;
    PyObject *meta = PyDict_GetItemString(PyModule_GetDict(enum_module), "EnumMeta");
    PyErr_Clear();
    if (!meta || !PyType_Check(meta) ||
        !PyObject_TypeCheck((PyObject *)Py_TYPE(object), (PyTypeObject *)meta))
        return NULL;
    PyObject *dict = py_instance_dict(object);
    PyObject *value = dict ? PyDict_GetItemWithError(dict, interp->s_value) : NULL;
    PyErr_Clear();
    Py_XDECREF(dict); /* the object keeps its dict */
    return value;
}

/* The elements of a frozenset. Texts are sorted: their order in a set is another one in every
 * process, and what is compiled would be too. */
static PyObject *
const_set_elements(PyObject *set)
{
    PyObject *list = PySequence_List(set);
    bool all_texts = list != NULL;
    for (Py_ssize_t i = 0; all_texts && i < PyList_Size(list); i++)
        all_texts = PyUnicode_CheckExact(PyList_GetItem(list, i));
    PyObject *tuple = list && (!all_texts || PyList_Sort(list) == 0) ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* Tuples, slices, frozensets: elements one by one. */
static bool
const_elements(struct fe_reader *reader, PyObject *object, int depth, ir_const *out)
{
    ir_const elems[3];
    if (PySlice_Check(object)) {
        static const char *const parts[] = {"start", "stop", "step"};
        for (int i = 0; i < 3; i++) {
            PyObject *part = PyObject_GetAttrString(object, parts[i]);
            elems[i] = py_const_at(reader, part ? part : Py_None, depth + 1);
            Py_XDECREF(part);
        }
        *out = ir_const_intern(
            reader->module, &(struct ir_const_info){.kind = IR_C_SLICE, .len = 3, .elems = elems});
        return true;
    }
    PyObject *tuple = PyTuple_Check(object)            ? Py_NewRef(object)
                      : PyFrozenSet_CheckExact(object) ? const_set_elements(object)
                                                       : NULL;
    if (!tuple || depth > PY_CONST_MAX_DEPTH || PyTuple_Size(tuple) > PY_CONST_MAX_ELEMS) {
        PyErr_Clear();
        Py_XDECREF(tuple);
        return false;
    }
    uint32_t n = (uint32_t)PyTuple_Size(tuple);
    py_of(reader)->n_const_elems += n;
    if (py_of(reader)->n_const_elems > PY_CONST_MAX_TOTAL) {
        Py_DECREF(tuple);
        return false;
    }
    ir_const *list = SP_NEW_N(reader->arena, ir_const, n + 1);
    for (uint32_t i = 0; i < n; i++)
        list[i] = py_const_at(reader, PyTuple_GetItem(tuple, i), depth + 1);
    Py_DECREF(tuple);
    struct ir_const_info info = {.kind = IR_C_TUPLE, .len = n, .elems = list};
    bool is_named = !PyTuple_CheckExact(object) && PyTuple_Check(object) &&
                    py_class(reader, (PyObject *)Py_TYPE(object), depth, &info.named);
    if (is_named && ir_const_info(reader->module, info.named)->len != n + 1)
        info.named = 0;
    *out = ir_const_intern(reader->module, &info);
    return true;
}

static bool
const_plain(struct fe_reader *reader, PyObject *object, ir_const *out)
{
    struct ir_module *module = reader->module;
    if (object == Py_None)
        *out = ir_const_simple(module, IR_C_NONE, 0);
    else if (object == Py_Ellipsis)
        *out = ir_const_simple(module, IR_C_ELLIPSIS, 0);
    else if (PyBool_Check(object))
        *out = ir_const_bool(module, object == Py_True);
    else if (PyLong_Check(object))
        *out = const_int(reader, object);
    else if (PyFloat_Check(object))
        *out = ir_const_float(module, PyFloat_AsDouble(object));
    else if (PyUnicode_Check(object)) {
        Py_ssize_t len;
        const char *text = PyUnicode_AsUTF8AndSize(object, &len);
        if (!text) {
            PyErr_Clear();
            return false;
        }
        *out = ir_const_str(module, text, (size_t)len);
    } else
        return false;
    return true;
}

static bool
const_is_of_enum(struct fe_interp *interp, PyObject *object, const char *name)
{
    PyObject *module = py_module(interp, "enum");
    PyObject *class = PyDict_GetItemString(PyModule_GetDict(module), name);
    PyErr_Clear();
    return class && PyType_Check(class) && PyObject_TypeCheck(object, (PyTypeObject *)class);
}

/* Its value, which knows its name. Texts that are texts (StrEnum) stay so: equal ones are one. A
 * member equals only itself unless it is a number, or a Flag, which computes as one. */
static ir_const
const_enum(struct fe_reader *reader, PyObject *object, PyObject *value, int depth)
{
    ir_const out = py_const_at(reader, value, depth + 1);
    PyObject *dict = py_instance_dict(object);
    PyObject *name = dict ? PyDict_GetItemString(dict, "_name_") : NULL;
    const char *text = name && name != Py_None ? py_text(reader->arena, name) : NULL;
    PyErr_Clear();
    Py_XDECREF(dict);
    if (!text || PyUnicode_Check(object))
        return out;
    bool is_plain = !PyLong_Check(object) && !PyFloat_Check(object) &&
                    !const_is_of_enum(py_of(reader)->interp, object, "Flag");
    const char *class = py_type_name(reader->arena, object);
    return ir_const_member(reader->module, out,
                           sp_arena_printf(reader->arena, "%s.%s", class, text), is_plain);
}

ir_const
py_const_at(struct fe_reader *reader, PyObject *object, int depth)
{
    struct fe_interp *interp = py_of(reader)->interp;
    PyObject *enum_value = const_enum_value(interp, object);
    ir_const out;
    if (enum_value && depth <= PY_CONST_MAX_DEPTH)
        return const_enum(reader, object, enum_value, depth);
    if (const_numpy(reader, object, &out) || const_numpy_limits(reader, object, &out) ||
        const_plain(reader, object, &out) || const_elements(reader, object, depth, &out))
        return out;
    if ((PyObject *)Py_TYPE(object) == interp->function_type)
        return ir_const_simple(reader->module, IR_C_FUNC, reader->resolver->add(reader, object));
    if (py_method(reader, object, depth, &out) || py_partial(reader, object, depth, &out) ||
        (py_class_is_plain(interp, object) && py_class(reader, object, depth, &out)) ||
        const_namespace(reader, object, &out) || const_builtin(reader, object, &out) ||
        py_exception(reader, object, &out))
        return out;
    return py_const_host(reader, object);
}

ir_const
py_const(struct fe_reader *reader, PyObject *object)
{
    py_of(reader)->n_const_elems = 0;
    return py_const_at(reader, object, 0);
}
