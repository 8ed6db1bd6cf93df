/* Private to snapshot.c and resolve_py*.c: the running interpreter. Everything here runs under the
 * GIL, leaves no exception behind, and runs no Python code of the program's. */
#ifndef FE_RESOLVE_PY_H
#define FE_RESOLVE_PY_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frontend/fe.h"

struct fe_interp {
    struct fe_version version;
    PyObject *opmap_names; /* keeps the names of the version alive */
    PyObject *modules;     /* sys.modules */
    PyObject *function_type, *code_type, *method_type;
    PyObject *type_dict, *type_mro, *type_module; /* descriptors of `type` */
    PyObject *object_getattribute;
    PyObject *classes;       /* list of weak references to classes; by number - 1; may be NULL */
    PyObject *class_numbers; /* dict: address of a class -> its number; may be NULL */
    /* exported by CPython but outside the limited API; NULL where they are missing */
    PyObject *(*get_part[3])(PyObject *function); /* code, defaults, keyword defaults; borrowed */
    PyObject *(*cell_get)(PyObject *cell);
    /* interned names */
    PyObject *s_code, *s_defaults, *s_kwdefaults, *s_closure, *s_globals, *s_builtins, *s_name,
        *s_module, *s_cell_contents, *s_gpu_path, *s_gpu_function, *s_getattribute, *s_getattr,
        *s_value, *s_member_map, *s_fields, *s_set, *s_func, *s_self, *s_new, *s_get;
};

enum py_guard_kind {
    PY_GUARD_DICT,    /* container[name] of a dict */
    PY_GUARD_CELL,    /* content of a cell */
    PY_GUARD_TYPE,    /* name in the type's method resolution order */
    PY_GUARD_GETATTR, /* container.name through C code alone */
    PY_GUARD_LEN,     /* number of entries of a dict */
    PY_GUARD_CODE, /* __code__, __defaults__, __kwdefaults__ of a function, None if it has none */
    PY_GUARD_DEFAULTS,
    PY_GUARD_KWDEFAULTS,
    PY_N_GUARDS
};

/* value NULL: absent. All references are owned. */
struct py_guard {
    enum py_guard_kind kind;
    PyObject *container, *name, *value;
};

struct fe_py {
    struct fe_interp *interp;
    struct fe_resolver resolver;
    SP_VEC(PyObject *) owned;       /* what constants point to; heap */
    SP_VEC(struct py_guard) guards; /* heap */
    struct sp_map guard_map;        /* (kind, container, name), so that each is kept once */
    struct sp_arena arena;          /* keys of guard_map */
    struct sp_map functions;        /* identities of the module's functions, on its arena */
    uint32_t n_const_elems;         /* of the constant that is being made */
};

/* resolve_py.c */
/* Keeps the object alive as long as py; returns it. */
PyObject *py_own(struct fe_py *py, PyObject *object);
struct fe_py *py_of(struct fe_reader *reader);

/* snapshot.c */
bool py_snapshot(struct fe_interp *interp, struct fe_reader *reader, PyObject *code,
                 const char *qualname, struct fe_code *code_out, struct sp_diag *diag);
/* The text of a str on the arena; NULL if it is none, or no valid text. */
const char *py_text(struct sp_arena *arena, PyObject *str);

/* resolve_py_const.c */
/* What the object is in a kernel; at worst a HOST constant. */
ir_const py_const(struct fe_reader *reader, PyObject *object);
/* The same at this depth of tuples and calls. What is larger, deeper, or has more elements at all
 * depths stays on the host. */
enum { PY_CONST_MAX_ELEMS = 4096, PY_CONST_MAX_DEPTH = 32, PY_CONST_MAX_TOTAL = 8192 };
enum { PY_CONST_MAX_ARRAY_B = 1 << 20 };
ir_const py_const_at(struct fe_reader *reader, PyObject *object, int depth);
ir_const py_const_host(struct fe_reader *reader, PyObject *object);
ir_const py_const_host_class(struct fe_reader *reader, PyObject *class);
const char *py_type_name(struct sp_arena *arena, PyObject *object);

/* resolve_py_dtype.c */
/* A numpy.dtype as a type of the module; IR_T_NONE for others. */
ir_type py_dtype(struct fe_reader *reader, PyObject *dtype);

/* resolve_py_array.c */
/* The elements of a numpy.ndarray of this type; false and untouched if it cannot be a constant. */
bool py_array(struct fe_reader *reader, PyObject *object, ir_type dtype, ir_const *out);

/* resolve_py_made.c: false and untouched if the object is none. */
bool py_method(struct fe_reader *reader, PyObject *object, int depth, ir_const *out);
bool py_partial(struct fe_reader *reader, PyObject *object, int depth, ir_const *out);
/* A class of NamedTuples. */
bool py_class(struct fe_reader *reader, PyObject *object, int depth, ir_const *out);
/* Whether calling it does no more than to fill the fields. */
bool py_class_is_plain(struct fe_interp *interp, PyObject *object);

/* resolve_py_raise.c */
/* The number of a class that had one before, else a new one; 0 and an exception if there is
 * none. */
uint32_t py_class_number(struct fe_interp *interp, PyObject *class);
/* False and untouched if the object is no exception class. */
bool py_exception(struct fe_reader *reader, PyObject *object, ir_const *out);

/* resolve_py_attr.c */
bool py_attribute(struct fe_reader *reader, const struct fe_found *object, const char *name,
                  struct fe_found *found_out, struct sp_diag *diag);
/* `name` in the dicts of the type and its bases; borrowed, NULL if absent. */
PyObject *py_type_lookup(struct fe_interp *interp, PyObject *type, PyObject *name);
/* The object's own dict, or NULL; a new reference. */
PyObject *py_instance_dict(PyObject *object);
/* sys.modules[name] or NULL; borrowed. */
PyObject *py_module(struct fe_interp *interp, const char *name);
/* Whether a dict of the module `name` maps `key` to this very object. */
bool py_module_has(struct fe_interp *interp, const char *name, PyObject *key, PyObject *object);

/* resolve_py_guard.c */
void py_guard_add(struct fe_reader *reader, enum py_guard_kind kind, PyObject *container,
                  PyObject *name, PyObject *value);
void py_guards_finish(struct fe_py *py);

#endif
