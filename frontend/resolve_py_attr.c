/* resolve_py_attr: attributes of constant objects, as Python would find them but without running
 * Python code.
 *
 * The order is Python's own: a data descriptor of the type, the instance's dict, the rest of the
 * type; for a class its own bases first. Dicts of classes are reached through the descriptors of
 * `type`, so that no metaclass is asked. What would run code of the program's, a property,
 * __getattribute__, __getattr__, is an error; the __getattr__ of modules is allowed because lazy
 * packages have it. Members of enums, fields of namedtuples, slots and attributes that C code
 * computes (array.shape) are found. Every link leaves a guard, but those of gpu, math and numpy,
 * which do not change. */
#include "frontend/resolve_py.h"

#include <string.h>

PyObject *
py_module(struct fe_interp *interp, const char *name)
{
    if (!PyDict_Check(interp->modules))
        return NULL;
    PyObject *module = PyDict_GetItemString(interp->modules, name);
    PyErr_Clear();
    return module;
}

bool
py_module_has(struct fe_interp *interp, const char *name, PyObject *key, PyObject *object)
{
    PyObject *module = py_module(interp, name);
    if (!module || !PyModule_Check(module))
        return false;
    PyObject *found = PyDict_GetItemWithError(PyModule_GetDict(module), key);
    PyErr_Clear();
    return found == object;
}

PyObject *
py_instance_dict(PyObject *object)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    PyErr_Clear();
    if (dict && !PyDict_Check(dict))
        Py_CLEAR(dict);
    return dict;
}

/* What a descriptor of `type` says about a class; a new reference or NULL. */
static PyObject *
attr_of_type(PyObject *descriptor, PyObject *type)
{
    PyObject *value = PyObject_CallMethod(descriptor, "__get__", "O", type);
    PyErr_Clear();
    return value;
}

PyObject *
py_type_lookup(struct fe_interp *interp, PyObject *type, PyObject *name)
{
    PyObject *mro = attr_of_type(interp->type_mro, type), *found = NULL;
    Py_ssize_t n = mro && PyTuple_Check(mro) ? PyTuple_Size(mro) : 0;
    for (Py_ssize_t i = 0; i < n && !found; i++) {
        PyObject *dict = attr_of_type(interp->type_dict, PyTuple_GetItem(mro, i));
        found = dict ? PyObject_GetItem(dict, name) : NULL; /* a mappingproxy */
        PyErr_Clear();
        Py_XDECREF(dict);
    }
    Py_XDECREF(mro);
    Py_XDECREF(found); /* the class keeps it */
    return found;
}

struct attr {
    struct fe_reader *reader;
    struct fe_py *py;
    PyObject *object, *name;
    const char *text;
    struct sp_diag *diag;
    PyObject *value; /* out: a new reference */
};

/* With the name that may be meant: of the object's own attributes. */
static bool
attr_missing(struct attr *a)
{
    const char *type = py_type_name(a->reader->arena, a->object);
    sp_diag_set(a->diag, SP_E_UNKNOWN_ATTRIBUTE, NULL,
                sp_arena_printf(a->reader->arena, "'%s'", type), a->text);
    struct ir_suggest suggest;
    ir_suggest_init(&suggest, a->text);
    PyObject *dict = py_instance_dict(a->object);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (dict && PyDict_Next(dict, &at, &key, &value)) {
        const char *text = py_text(a->reader->arena, key);
        if (text)
            ir_suggest_try(&suggest, text);
    }
    Py_XDECREF(dict);
    PyErr_Clear();
    return suggest.best[0]
               ? sp_diag_hint(a->diag, "did you mean %s?", suggest.best)
               : sp_diag_hint(a->diag, "set it before the kernel is launched, or pass its value");
}

static bool
attr_dynamic(struct attr *a)
{
    sp_diag_set(
        a->diag, SP_E_DYNAMIC_ATTRIBUTE, NULL, a->text,
        sp_arena_printf(a->reader->arena, "'%s'", py_type_name(a->reader->arena, a->object)));
    return sp_diag_hint(a->diag, "read it on the host and pass its value to the kernel");
}

/* Modules whose attributes are taken to be fixed. */
static bool
attr_is_fixed_module(struct attr *a)
{
    PyObject *dict = PyModule_GetDict(a->object);
    PyObject *name = PyDict_GetItemWithError(dict, a->py->interp->s_name);
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    return text && (!strcmp(text, "numpy") || !strncmp(text, "numpy.", 6) || !strcmp(text, "gpu") ||
                    !strncmp(text, "gpu.", 4) || !strcmp(text, "math"));
}

static bool
attr_of_module(struct attr *a)
{
    PyObject *dict = PyModule_GetDict(a->object);
    PyObject *value = PyDict_GetItemWithError(dict, a->name);
    PyErr_Clear();
    if (!attr_is_fixed_module(a))
        py_guard_add(a->reader, PY_GUARD_DICT, dict, a->name, value);
    if (value) {
        a->value = Py_NewRef(value);
        return true;
    }
    a->value = PyObject_GetAttr(a->object, a->name);
    PyErr_Clear();
    if (a->value)
        return true;
    PyObject *name = PyDict_GetItemWithError(dict, a->py->interp->s_name);
    const char *module = py_text(a->reader->arena, name);
    return sp_diag_set(a->diag, SP_E_UNKNOWN_ATTRIBUTE, NULL,
                       sp_arena_printf(a->reader->arena, "module '%s'", module ? module : "?"),
                       a->text);
}

static bool
attr_is_c_descriptor(PyObject *object)
{
    return Py_TYPE(object) == &PyGetSetDescr_Type || Py_TYPE(object) == &PyMemberDescr_Type;
}

static bool
attr_is_type_named(struct attr *a, PyObject *object, const char *name)
{
    return !strcmp(py_type_name(a->reader->arena, object), name);
}

/* A method that is no Python function. */
static bool
attr_is_method(struct attr *a, PyObject *found)
{
    const char *type = py_type_name(a->reader->arena, found);
    return !strcmp(type, "method_descriptor") || !strcmp(type, "wrapper_descriptor") ||
           strstr(type, "function_or_method");
}

static bool
attr_fail_method(struct attr *a)
{
    sp_diag_set(a->diag, SP_E_NYI_CONSTRUCT, NULL,
                sp_arena_printf(a->reader->arena, "the method '%s' of '%s'", a->text,
                                py_type_name(a->reader->arena, a->object)));
    return sp_diag_hint(a->diag, "call it on the host and pass what it gives to the kernel");
}

/* The function bound to what it is called with first. */
static bool
attr_bind(struct attr *a, PyObject *function, PyObject *self)
{
    a->value = PyObject_CallFunctionObjArgs(a->py->interp->method_type, function, self, NULL);
    PyErr_Clear();
    return a->value || attr_dynamic(a);
}

/* What is found in a class's dict, as an attribute of that class or of an instance. */
static bool
attr_take(struct attr *a, PyObject *found, bool of_instance)
{
    struct fe_interp *interp = a->py->interp;
    if ((PyObject *)Py_TYPE(found) == interp->function_type && of_instance)
        return attr_bind(a, found, a->object);
    bool is_class_method = attr_is_type_named(a, found, "classmethod");
    if (is_class_method || attr_is_type_named(a, found, "staticmethod")) {
        PyObject *function = PyObject_GetAttr(found, interp->s_func);
        PyErr_Clear();
        if (!function || !is_class_method) {
            a->value = function;
            return function || attr_dynamic(a);
        }
        bool ok = attr_bind(a, function, of_instance ? (PyObject *)Py_TYPE(a->object) : a->object);
        Py_DECREF(function);
        return ok;
    }
    bool is_function = (PyObject *)Py_TYPE(found) == interp->function_type;
    bool is_descriptor =
        !is_function && py_type_lookup(interp, (PyObject *)Py_TYPE(found), interp->s_get);
    if (is_descriptor && !PyType_Check(found))
        return attr_is_method(a, found) ? attr_fail_method(a) : attr_dynamic(a);
    a->value = Py_NewRef(found);
    return true;
}

static bool
attr_of_class(struct attr *a)
{
    struct fe_interp *interp = a->py->interp;
    PyObject *members = py_type_lookup(interp, a->object, interp->s_member_map);
    if (members && PyDict_Check(members)) {
        PyObject *member = PyDict_GetItemWithError(members, a->name);
        PyErr_Clear();
        if (member) { /* members of an enum cannot be assigned */
            a->value = Py_NewRef(member);
            return true;
        }
    }
    PyObject *found = py_type_lookup(interp, a->object, a->name);
    py_guard_add(a->reader, PY_GUARD_TYPE, a->object, a->name, found);
    if (found)
        return attr_take(a, found, false);
    bool is_dynamic = py_type_lookup(interp, (PyObject *)Py_TYPE(a->object), a->name) ||
                      py_type_lookup(interp, (PyObject *)Py_TYPE(a->object), interp->s_getattr);
    return is_dynamic ? attr_dynamic(a) : attr_missing(a);
}

/* Field `name` of a namedtuple: its place in the class's _fields. */
static bool
attr_of_namedtuple(struct attr *a)
{
    PyObject *type = (PyObject *)Py_TYPE(a->object);
    PyObject *fields = py_type_lookup(a->py->interp, type, a->py->interp->s_fields);
    if (!PyTuple_Check(a->object) || !fields || !PyTuple_Check(fields))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(fields) && i < PyTuple_Size(a->object); i++)
        if (PyUnicode_Check(PyTuple_GetItem(fields, i)) &&
            PyUnicode_Compare(PyTuple_GetItem(fields, i), a->name) == 0) {
            a->value = Py_NewRef(PyTuple_GetItem(a->object, i));
            return true;
        }
    return false;
}

/* `value` and `name` of enum members are computed by enum's own Python code. */
static bool
attr_of_enum(struct attr *a)
{
    bool is_value = !strcmp(a->text, "value"), is_name = !strcmp(a->text, "name");
    PyObject *type = (PyObject *)Py_TYPE(a->object);
    if ((!is_value && !is_name) ||
        !py_type_lookup(a->py->interp, type, a->py->interp->s_member_map))
        return false;
    PyObject *dict = py_instance_dict(a->object);
    PyObject *value = dict ? PyDict_GetItemString(dict, is_value ? "_value_" : "_name_") : NULL;
    PyErr_Clear();
    a->value = value ? Py_NewRef(value) : NULL;
    Py_XDECREF(dict);
    return a->value != NULL;
}

static bool
attr_of_instance(struct attr *a)
{
    struct fe_interp *interp = a->py->interp;
    PyObject *type = (PyObject *)Py_TYPE(a->object);
    if (attr_of_enum(a) || attr_of_namedtuple(a))
        return true;
    PyObject *found = py_type_lookup(interp, type, a->name);
    if (found && attr_is_c_descriptor(found)) {
        a->value = PyObject_GenericGetAttr(a->object, a->name);
        PyErr_Clear();
        py_guard_add(a->reader, PY_GUARD_GETATTR, a->object, a->name, a->value);
        return a->value || attr_missing(a);
    }
    PyObject *getattribute = py_type_lookup(interp, type, interp->s_getattribute);
    if (getattribute != interp->object_getattribute &&
        (!getattribute || (PyObject *)Py_TYPE(getattribute) == interp->function_type))
        return attr_dynamic(a);
    if (found)
        py_guard_add(a->reader, PY_GUARD_TYPE, type, a->name, found);
    if (found && py_type_lookup(interp, (PyObject *)Py_TYPE(found), interp->s_set))
        return attr_dynamic(a); /* a property or another data descriptor */
    PyObject *dict = py_instance_dict(a->object);
    PyObject *own = dict ? PyDict_GetItemWithError(dict, a->name) : NULL;
    PyErr_Clear();
    if (dict)
        py_guard_add(a->reader, PY_GUARD_DICT, dict, a->name, own);
    a->value = Py_XNewRef(own);
    Py_XDECREF(dict);
    if (own)
        return true;
    if (found)
        return attr_take(a, found, true);
    return py_type_lookup(interp, type, interp->s_getattr) ? attr_dynamic(a) : attr_missing(a);
}

/* NumPy's number types, dtypes, numbers and None (newaxis) are constants like those of any
 * module, and so are gpu's other names of types. */
static bool
attr_is_constant(struct fe_reader *reader, ir_const value)
{
    const struct ir_const_info *info = ir_const_info(reader->module, value);
    return info->kind == IR_C_DTYPE || info->kind == IR_C_NONE || info->kind == IR_C_BOOL ||
           info->kind == IR_C_INT || info->kind == IR_C_FLOAT || info->kind == IR_C_TYPED ||
           info->kind == IR_C_STR;
}

/* Names below gpu, math, operator and numpy that are no part of the kernel namespace. */
static bool
attr_of_namespace(struct fe_reader *reader, const char *path, const char *name,
                  struct fe_found *found_out, struct sp_diag *diag)
{
    PyObject *module = py_module(py_of(reader)->interp, path);
    PyObject *value = module ? PyObject_GetAttrString(module, name) : NULL;
    PyErr_Clear();
    bool exists = value != NULL, is_gpu = !strcmp(path, "gpu");
    bool is_types = exists && is_gpu && PyModule_Check(value) && !strcmp(name, "types");
    if (is_types || (exists && (is_gpu || !strcmp(path, "numpy")) && !PyModule_Check(value) &&
                     (PyObject *)Py_TYPE(value) != py_of(reader)->interp->function_type)) {
        struct fe_found found = {py_const(reader, value), py_own(py_of(reader), value)};
        if (is_types || attr_is_constant(reader, found.value)) {
            Py_DECREF(value);
            *found_out = found;
            return true;
        }
    }
    Py_XDECREF(value);
    if (exists)
        sp_diag_set(diag, SP_E_NYI_CONSTRUCT, NULL,
                    sp_arena_printf(reader->arena, "'%s.%s'", path, name));
    else
        sp_diag_set(diag, SP_E_UNKNOWN_ATTRIBUTE, NULL,
                    sp_arena_printf(reader->arena, "'%s'", path), name);
    char hint[IR_SUGGEST_HINT];
    return ir_suggest_name(path, name, hint, sizeof hint) ? sp_diag_hint(diag, "%s", hint) : false;
}

/* What a NamedTuple's class makes of `name` for a value of the kernel: a function of the class is a
 * method whose self is that value. */
static bool
attr_of_value(struct attr *a, ir_const *out)
{
    static const char *const made[] = {"_replace", "_asdict", "_make", "count", "index"};
    struct fe_interp *interp = a->py->interp;
    PyObject *found = py_type_lookup(interp, a->object, a->name);
    py_guard_add(a->reader, PY_GUARD_TYPE, a->object, a->name, found);
    PyObject *name = PyType_GetName((PyTypeObject *)a->object);
    const char *class = py_text(a->reader->arena, name);
    PyErr_Clear();
    Py_XDECREF(name);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!strcmp(a->text, made[i])) {
            sp_diag_set(a->diag, SP_E_NYI_CONSTRUCT, NULL,
                        sp_arena_printf(a->reader->arena, "the method '%s' of '%s'", a->text,
                                        class ? class : "?"));
            return sp_diag_hint(
                a->diag, "make a new one: %s(...) with each field, v.name for those that stay",
                class ? class : "Point");
        }
    if (!found)
        return sp_diag_set(a->diag, SP_E_UNKNOWN_ATTRIBUTE, NULL,
                           sp_arena_printf(a->reader->arena, "'%s'", class ? class : "?"), a->text);
    if (!attr_take(a, found, false))
        return false;
    *out = py_const(a->reader, a->value);
    if ((PyObject *)Py_TYPE(found) == interp->function_type)
        *out =
            ir_const_intern(a->reader->module,
                            &(struct ir_const_info){.kind = IR_C_PARTIAL, .len = 1, .elems = out});
    return true;
}

/* The object of the host behind a constant, or NULL. */
static PyObject *
attr_object(const struct fe_reader *reader, const struct fe_found *found)
{
    const struct ir_const_info *info = ir_const_info(reader->module, found->value);
    if (info->kind == IR_C_CLASS && info->named)
        info = ir_const_info(reader->module, ir_const_info(reader->module, info->named)->elems[0]);
    return (PyObject *)(found->host ? found->host : info->kind == IR_C_HOST ? info->host : NULL);
}

bool
py_attribute(struct fe_reader *reader, const struct fe_found *object, const char *name,
             struct fe_found *found_out, struct sp_diag *diag)
{
    const struct ir_const_info *info = ir_const_info(reader->module, object->value);
    if (info->kind == IR_C_NAMESPACE)
        return attr_of_namespace(reader, info->str, name, found_out, diag);
    struct attr a = {
        .reader = reader,
        .py = py_of(reader),
        .text = name,
        .diag = diag,
        .object = attr_object(reader, object),
        .name = PyUnicode_InternFromString(name),
    };
    if (!a.object || !a.name) {
        PyErr_Clear();
        Py_XDECREF(a.name);
        return sp_diag_set(diag, SP_E_UNKNOWN_ATTRIBUTE, NULL, "the constant", name);
    }
    if (info->kind == IR_C_CLASS && !object->host) { /* asked by inference, of a value */
        bool ok = attr_of_value(&a, &found_out->value);
        found_out->host = NULL;
        Py_XDECREF(a.value);
        Py_DECREF(a.name);
        return ok;
    }
    bool ok = PyModule_Check(a.object) ? attr_of_module(&a)
              : PyType_Check(a.object) ? attr_of_class(&a)
                                       : attr_of_instance(&a);
    if (ok) {
        found_out->value = py_const(reader, a.value);
        found_out->host = py_own(a.py, a.value);
    }
    Py_XDECREF(a.value);
    Py_DECREF(a.name);
    return ok;
}
