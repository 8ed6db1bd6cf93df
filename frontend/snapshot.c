/* snapshot: a code object through the CPython API to struct fe_code, and what is asked of an
 * interpreter once.
 *
 * Only attributes that the limited API gives are read (co_code, co_consts, co_linetable, ...),
 * never the fields of the struct, so one binary serves every version; co_code read this way never
 * holds specialised opcodes. Opcode numbers come from opcode.opmap. A code object may be hand-made
 * (code.replace): types are checked, sizes limited, the rest is the decoder's. The index space of
 * variables is rebuilt from co_varnames, co_cellvars and co_freevars: a cell that is a variable too
 * has one place. Constants are interned into the module; nested code objects keep their name, by
 * which errors tell a lambda from a comprehension. */
#include "frontend/code.h"
#include "frontend/resolve_py.h"

#include <dlfcn.h>
#include <string.h>

/* ---- Once per interpreter ---- */

static bool
interp_fail(struct sp_diag *diag, const char *what)
{
    PyErr_Clear();
    return sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, what);
}

static bool
interp_fill_version(struct fe_interp *interp, struct sp_diag *diag)
{
    unsigned magic = (unsigned)PyImport_GetMagicNumber() & 0xffff;
    unsigned minor = (unsigned)(Py_Version >> 16 & 0xff);
    PyErr_Clear();
    if (!fe_version_check((unsigned)(Py_Version >> 24), minor, magic, diag))
        return false;
    PyObject *opcode = PyImport_ImportModule("opcode");
    PyObject *opmap = opcode ? PyObject_GetAttrString(opcode, "opmap") : NULL;
    PyObject *items = opmap ? PyMapping_Items(opmap) : NULL;
    Py_XDECREF(opcode);
    Py_XDECREF(opmap);
    if (!items)
        return interp_fail(diag, "Python's opcode.opmap cannot be read");
    interp->opmap_names = items;
    fe_version_init(&interp->version, minor);
    for (Py_ssize_t i = 0; i < PyList_Size(items); i++) {
        PyObject *item = PyList_GetItem(items, i);
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(item, 0), NULL);
        long number = PyLong_AsLong(PyTuple_GetItem(item, 1));
        if (!name || number < 0)
            return interp_fail(diag, "Python's opcode.opmap cannot be read");
        fe_version_add(&interp->version, name, (unsigned)number);
    }
    return true;
}

/* `type`'s own descriptors give a class's dict, bases and module without asking its metaclass. */
static bool
interp_fill_types(struct fe_interp *interp, struct sp_diag *diag)
{
    PyObject *types = PyImport_ImportModule("types");
    PyObject *dict = PyObject_GetAttrString((PyObject *)&PyType_Type, "__dict__");
    if (types) {
        interp->function_type = PyObject_GetAttrString(types, "FunctionType");
        interp->code_type = PyObject_GetAttrString(types, "CodeType");
        interp->method_type = PyObject_GetAttrString(types, "MethodType");
        Py_DECREF(types);
    }
    if (dict) {
        interp->type_dict = PyMapping_GetItemString(dict, "__dict__");
        interp->type_mro = PyMapping_GetItemString(dict, "__mro__");
        interp->type_module = PyMapping_GetItemString(dict, "__module__");
        Py_DECREF(dict);
    }
    dict = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__dict__");
    if (dict) {
        interp->object_getattribute = PyMapping_GetItemString(dict, "__getattribute__");
        Py_DECREF(dict);
    }
    PyObject *sys = PyImport_ImportModule("sys");
    if (sys) {
        interp->modules = PyObject_GetAttrString(sys, "modules");
        Py_DECREF(sys);
    }
    if (!interp->function_type || !interp->code_type || !interp->method_type ||
        !interp->type_dict || !interp->type_mro || !interp->type_module ||
        !interp->object_getattribute || !interp->modules)
        return interp_fail(diag, "Python's types cannot be read");
    return true;
}

/* A launch checks guards: these cost a load where an attribute costs a look-up. */
static void
interp_fill_exports(struct fe_interp *interp)
{
    *(void **)&interp->get_part[0] = dlsym(RTLD_DEFAULT, "PyFunction_GetCode");
    *(void **)&interp->get_part[1] = dlsym(RTLD_DEFAULT, "PyFunction_GetDefaults");
    *(void **)&interp->get_part[2] = dlsym(RTLD_DEFAULT, "PyFunction_GetKwDefaults");
    *(void **)&interp->cell_get = dlsym(RTLD_DEFAULT, "PyCell_Get");
}

struct interp_name {
    PyObject **place;
    const char *text;
};

static bool
interp_fill_names(struct fe_interp *interp, struct sp_diag *diag)
{
    const struct interp_name names[] = {
        {&interp->s_code, "__code__"},
        {&interp->s_defaults, "__defaults__"},
        {&interp->s_kwdefaults, "__kwdefaults__"},
        {&interp->s_closure, "__closure__"},
        {&interp->s_globals, "__globals__"},
        {&interp->s_builtins, "__builtins__"},
        {&interp->s_name, "__name__"},
        {&interp->s_module, "__module__"},
        {&interp->s_cell_contents, "cell_contents"},
        {&interp->s_gpu_path, "__gpu_path__"},
        {&interp->s_gpu_function, "__gpu_function__"},
        {&interp->s_getattribute, "__getattribute__"},
        {&interp->s_getattr, "__getattr__"},
        {&interp->s_value, "_value_"},
        {&interp->s_member_map, "_member_map_"},
        {&interp->s_fields, "_fields"},
        {&interp->s_set, "__set__"},
        {&interp->s_func, "__func__"},
        {&interp->s_self, "__self__"},
        {&interp->s_new, "__new__"},
        {&interp->s_get, "__get__"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].place = PyUnicode_InternFromString(names[i].text)))
            return interp_fail(diag, "out of memory");
    return true;
}

bool
fe_interp_create(struct fe_interp **interp_out, struct sp_diag *diag)
{
    struct fe_interp *interp = sp_alloc(sizeof *interp);
    memset(interp, 0, sizeof *interp);
    if (!interp_fill_version(interp, diag) || !interp_fill_types(interp, diag) ||
        !interp_fill_names(interp, diag)) {
        fe_interp_destroy(interp);
        return false;
    }
    interp_fill_exports(interp);
    *interp_out = interp;
    return true;
}

void
fe_interp_destroy(struct fe_interp *interp)
{
    if (!interp)
        return;
    PyObject **const objects[] = {
        &interp->opmap_names,     &interp->modules,
        &interp->classes,         &interp->class_numbers,
        &interp->function_type,   &interp->code_type,
        &interp->type_dict,       &interp->type_mro,
        &interp->type_module,     &interp->object_getattribute,
        &interp->s_code,          &interp->s_defaults,
        &interp->s_kwdefaults,    &interp->s_closure,
        &interp->s_globals,       &interp->s_builtins,
        &interp->s_name,          &interp->s_module,
        &interp->s_cell_contents, &interp->s_gpu_path,
        &interp->s_gpu_function,  &interp->s_getattribute,
        &interp->s_getattr,       &interp->s_value,
        &interp->s_member_map,    &interp->s_fields,
        &interp->s_set,           &interp->s_func,
        &interp->s_self,          &interp->s_new,
        &interp->s_get,           &interp->method_type,
    };
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        Py_CLEAR(*objects[i]);
    free(interp);
}

/* ---- Code objects ---- */

enum { SNAPSHOT_MAX_DEPTH = 16 };

struct snapshot {
    struct fe_reader *reader;
    struct sp_arena *arena;
    PyObject *code;
    int depth;
    bool failed;
};

const char *
py_text(struct sp_arena *arena, PyObject *str)
{
    Py_ssize_t len;
    if (!str || !PyUnicode_Check(str))
        return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(str, &len);
    if (!text) {
        PyErr_Clear();
        return NULL;
    }
    return sp_arena_strndup(arena, text, (size_t)len);
}

/* An attribute of the code object of this type; a new reference, NULL after s->failed. */
static PyObject *
snapshot_get(struct snapshot *s, const char *name, PyTypeObject *type)
{
    PyObject *value = PyObject_GetAttrString(s->code, name);
    if (value && PyObject_TypeCheck(value, type))
        return value;
    PyErr_Clear();
    Py_XDECREF(value);
    s->failed = true;
    return NULL;
}

static uint32_t
snapshot_number(struct snapshot *s, const char *name)
{
    PyObject *value = snapshot_get(s, name, &PyLong_Type);
    long number = value ? PyLong_AsLong(value) : -1;
    PyErr_Clear();
    Py_XDECREF(value);
    if (number < 0 || number > INT32_MAX)
        s->failed = true;
    return number < 0 ? 0 : (uint32_t)number;
}

static const uint8_t *
snapshot_bytes(struct snapshot *s, const char *name, uint32_t *size_out)
{
    PyObject *value = snapshot_get(s, name, &PyBytes_Type);
    Py_ssize_t size = value ? PyBytes_Size(value) : 0;
    if (size > FE_MAX_CODE_B)
        s->failed = true;
    const uint8_t *bytes =
        s->failed ? NULL : sp_arena_copy(s->arena, PyBytes_AsString(value), (size_t)size);
    *size_out = s->failed ? 0 : (uint32_t)size;
    Py_XDECREF(value);
    return bytes;
}

static const char **
snapshot_names(struct snapshot *s, const char *name, uint32_t *n_out)
{
    PyObject *tuple = snapshot_get(s, name, &PyTuple_Type);
    Py_ssize_t n = tuple ? PyTuple_Size(tuple) : 0;
    const char **names = SP_NEW_N(s->arena, const char *, n + 1);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(names[i] = py_text(s->arena, PyTuple_GetItem(tuple, i))))
            names[i] = "?";
    *n_out = (uint32_t)n;
    Py_XDECREF(tuple);
    return names;
}

static void
snapshot_locals(struct snapshot *s, struct fe_code *out)
{
    uint32_t n_plain, n_cells, n_free;
    const char **plain = snapshot_names(s, "co_varnames", &n_plain);
    const char **cells = snapshot_names(s, "co_cellvars", &n_cells);
    const char **free_names = snapshot_names(s, "co_freevars", &n_free);
    struct sp_map map;
    struct fe_local *locals =
        SP_NEW_N(s->arena, struct fe_local, (size_t)n_plain + n_cells + n_free);
    uint32_t n = 0;
    sp_map_init(&map);
    for (uint32_t i = 0; i < n_plain; i++, n++) {
        bool is_new;
        locals[n] = (struct fe_local){plain[i], FE_LOCAL_PLAIN};
        uint32_t *at = sp_map_intern(&map, s->arena, plain[i], strlen(plain[i]), &is_new);
        if (is_new)
            *at = n;
    }
    for (uint32_t i = 0; i < n_cells; i++) {
        const uint32_t *at = sp_map_find(&map, cells[i], strlen(cells[i]));
        if (at)
            locals[*at].kind = FE_LOCAL_CELL;
        else
            locals[n++] = (struct fe_local){cells[i], FE_LOCAL_CELL};
    }
    for (uint32_t i = 0; i < n_free; i++)
        locals[n++] = (struct fe_local){free_names[i], FE_LOCAL_FREE};
    sp_map_finish(&map);
    out->locals = locals;
    out->n_locals = n;
}

static bool snapshot_code(struct fe_interp *interp, struct fe_reader *reader, PyObject *code,
                          const char *qualname, int depth, struct fe_code *code_out,
                          struct sp_diag *diag);

/* A code object among the constants, or NULL. */
static const struct fe_code *
snapshot_nested(struct snapshot *s, struct fe_interp *interp, PyObject *code)
{
    struct fe_code *nested = SP_NEW(s->arena, struct fe_code);
    struct sp_diag diag;
    sp_diag_init(&diag);
    PyObject *qualname = PyObject_GetAttrString(code, "co_qualname");
    const char *text = py_text(s->arena, qualname);
    PyErr_Clear();
    Py_XDECREF(qualname);
    bool ok = text && s->depth < SNAPSHOT_MAX_DEPTH &&
              snapshot_code(interp, s->reader, code, text, s->depth + 1, nested, &diag);
    sp_diag_finish(&diag);
    return ok ? nested : NULL;
}

static void
snapshot_consts(struct snapshot *s, struct fe_interp *interp, struct fe_code *out)
{
    PyObject *tuple = snapshot_get(s, "co_consts", &PyTuple_Type);
    Py_ssize_t n = tuple ? PyTuple_Size(tuple) : 0;
    struct fe_code_const *consts = SP_NEW_N(s->arena, struct fe_code_const, n + 1);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *object = PyTuple_GetItem(tuple, i);
        consts[i].value = py_const(s->reader, object);
        if ((PyObject *)Py_TYPE(object) == interp->code_type) {
            PyObject *name = PyObject_GetAttrString(object, "co_name");
            consts[i].code_name = py_text(s->arena, name);
            Py_XDECREF(name);
            consts[i].code = snapshot_nested(s, interp, object);
        }
    }
    PyErr_Clear();
    out->consts = consts;
    out->n_consts = (uint32_t)n;
    Py_XDECREF(tuple);
}

static void
snapshot_positions(struct snapshot *s, struct fe_code *out)
{
    uint32_t n_units = out->size_B / 2;
    struct fe_position *positions = SP_NEW_N(s->arena, struct fe_position, n_units);
    PyObject *table = PyObject_GetAttrString(s->code, "co_linetable");
    if (table && PyBytes_Check(table) && PyBytes_Size(table) < INT32_MAX)
        out->n_positions =
            fe_positions_read((const uint8_t *)PyBytes_AsString(table),
                              (uint32_t)PyBytes_Size(table), out->first_line, n_units, positions);
    PyErr_Clear();
    Py_XDECREF(table);
    out->positions = positions;
}

/* What comes out of a code object at this depth of code in code. */
static bool
snapshot_code(struct fe_interp *interp, struct fe_reader *reader, PyObject *code,
              const char *qualname, int depth, struct fe_code *code_out, struct sp_diag *diag)
{
    struct snapshot s = {.reader = reader, .arena = reader->arena, .code = code, .depth = depth};
    struct fe_code out = {.version = &interp->version, .name = qualname};
    if ((PyObject *)Py_TYPE(code) != interp->code_type)
        return sp_diag_set(diag, SP_E_BAD_CODE, NULL, qualname, "its __code__ is no code object");
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    out.file = py_text(s.arena, file);
    Py_XDECREF(file);
    out.first_line = (int32_t)snapshot_number(&s, "co_firstlineno");
    s.failed = false; /* negative ones exist */
    out.flags = snapshot_number(&s, "co_flags");
    out.stack_size = snapshot_number(&s, "co_stacksize");
    out.n_args = snapshot_number(&s, "co_argcount");
    out.n_posonly = snapshot_number(&s, "co_posonlyargcount");
    out.n_kwonly = snapshot_number(&s, "co_kwonlyargcount");
    out.names = snapshot_names(&s, "co_names", &out.n_names);
    snapshot_locals(&s, &out);
    out.bytes = snapshot_bytes(&s, "co_code", &out.size_B);
    out.exceptions = snapshot_bytes(&s, "co_exceptiontable", &out.exceptions_B);
    snapshot_consts(&s, interp, &out);
    snapshot_positions(&s, &out);
    PyErr_Clear();
    if (s.failed)
        return sp_diag_set(diag, SP_E_BAD_CODE, NULL, qualname,
                           "an attribute of its code object is missing or too large");
    *code_out = out;
    return true;
}

bool
py_snapshot(struct fe_interp *interp, struct fe_reader *reader, PyObject *code,
            const char *qualname, struct fe_code *code_out, struct sp_diag *diag)
{
    return snapshot_code(interp, reader, code, qualname, 0, code_out, diag);
}
