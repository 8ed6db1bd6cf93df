/* fe_reader: an extension module for tests, with the front end alone (no LLVM, no kernels).
 *
 *     read(function) -> IR text         code(function) -> decoded operations
 *     error(function) -> text of a failed reading, or None
 *     Reading(function): .valid() checks the guards, .hash, .text
 *
 * Every module that is read is verified, and its text parsed and printed again. */
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "frontend/fe.h"

struct reading {
    struct fe_py *py;
    struct sp_arena arena;
    struct ir_module *module;
};

static struct fe_interp *interp; /* one interpreter, one test process */

static void *
raise_diag(struct sp_diag *diag)
{
    struct sp_str text;
    sp_str_init(&text);
    sp_diag_print(diag, NULL, NULL, &text);
    PyErr_SetString(PyExc_RuntimeError, text.data);
    sp_str_finish(&text);
    sp_diag_finish(diag);
    return NULL;
}

/* Print, parse, print: both texts must be equal. */
static bool
check_text(const struct ir_module *module, struct sp_str *text, struct sp_diag *diag)
{
    struct sp_arena arena;
    struct sp_str again;
    struct ir_module *parsed;
    ir_print(module, text);
    sp_arena_init(&arena);
    sp_str_init(&again);
    bool ok = ir_parse(text->data, &arena, &parsed, diag);
    if (ok) {
        ir_print(parsed, &again);
        if (strcmp(text->data, again.data) != 0)
            ok = sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL, "printing again differs");
        ir_module_finish(parsed);
    }
    sp_str_finish(&again);
    sp_arena_finish(&arena);
    return ok;
}

static void
reading_finish(struct reading *r)
{
    if (r->module)
        ir_module_finish(r->module);
    fe_py_destroy(r->py);
    sp_arena_finish(&r->arena);
}

static bool
reading_init(struct reading *r, PyObject *function, struct sp_diag *diag)
{
    memset(r, 0, sizeof *r);
    sp_arena_init(&r->arena);
    r->py = fe_py_create(interp);
    if (fe_py_read(r->py, function, &r->arena, &r->module, diag) && ir_verify(r->module, diag))
        return true;
    reading_finish(r);
    return false;
}

static PyObject *
fe_reader_read(PyObject *self, PyObject *function)
{
    (void)self;
    struct reading r;
    struct sp_diag diag;
    struct sp_str text;
    sp_diag_init(&diag);
    if (!reading_init(&r, function, &diag))
        return raise_diag(&diag);
    sp_str_init(&text);
    PyObject *result =
        check_text(r.module, &text, &diag) ? PyUnicode_FromString(text.data) : raise_diag(&diag);
    sp_str_finish(&text);
    reading_finish(&r);
    return result;
}

static PyObject *
fe_reader_error(PyObject *self, PyObject *function)
{
    (void)self;
    struct reading r;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (reading_init(&r, function, &diag)) {
        reading_finish(&r);
        Py_RETURN_NONE;
    }
    PyObject *result = Py_BuildValue("(ss)", sp_error_name(diag.code), diag.message);
    sp_diag_finish(&diag);
    return result;
}

/* All diagnostics of the module's `err` instructions, as (code, message, line). */
static PyObject *
fe_reader_errors(PyObject *self, PyObject *function)
{
    (void)self;
    struct reading r;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!reading_init(&r, function, &diag))
        return raise_diag(&diag);
    PyObject *list = PyList_New(0);
    for (uint32_t f = 0; f < r.module->funcs.len; f++) {
        const struct ir_func *func = r.module->funcs.data[f];
        for (uint32_t i = 0; i < func->errors.len; i++) {
            const struct sp_diag *e = &func->errors.data[i];
            PyObject *item =
                Py_BuildValue("(ssi)", sp_error_name(e->code), e->message, (int)e->where.line);
            PyList_Append(list, item);
            Py_DECREF(item);
        }
    }
    reading_finish(&r);
    return list;
}

static PyObject *
fe_reader_code(PyObject *self, PyObject *function)
{
    (void)self;
    struct sp_arena arena;
    struct sp_diag diag;
    struct sp_str text;
    struct fe_py *py = fe_py_create(interp);
    sp_arena_init(&arena);
    sp_diag_init(&diag);
    sp_str_init(&text);
    PyObject *result = fe_py_print_code(py, function, &arena, &text, &diag)
                           ? PyUnicode_FromString(text.data)
                           : raise_diag(&diag);
    sp_str_finish(&text);
    fe_py_destroy(py);
    sp_arena_finish(&arena);
    return result;
}

/* ---- Reading ---- */

struct reading_object {
    PyObject_HEAD struct reading reading;
};

static PyObject *
reading_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function;
    static char *names[] = {"function", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &function))
        return NULL;
    struct reading r;
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!reading_init(&r, function, &diag))
        return raise_diag(&diag);
    struct reading_object *self = (void *)PyType_GenericAlloc(type, 0);
    if (self)
        self->reading = r;
    else
        reading_finish(&r);
    return (PyObject *)self;
}

static void
reading_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    reading_finish(&((struct reading_object *)self)->reading);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static int
reading_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return fe_py_traverse(((struct reading_object *)self)->reading.py,
                          (int (*)(void *, void *))visit, arg);
}

static PyObject *
reading_valid(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyBool_FromLong(fe_py_guards_check(((struct reading_object *)self)->reading.py));
}

static PyObject *
reading_hash(PyObject *self, void *closure)
{
    (void)closure;
    const struct ir_module *module = ((struct reading_object *)self)->reading.module;
    return PyBytes_FromStringAndSize((const char *)module->hash.bytes, sizeof module->hash.bytes);
}

static PyObject *
reading_n_guards(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong((long)((struct reading_object *)self)->reading.module->guards.len);
}

/* What a question for the attribute of an object gives: the text of the constant, or the error. */
static PyObject *
reading_ask(PyObject *self, PyObject *args)
{
    PyObject *object;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os", &object, &name))
        return NULL;
    struct reading *r = &((struct reading_object *)self)->reading;
    struct sp_arena arena;
    sp_arena_init(&arena);
    struct ir_module *fork = ir_module_fork(r->module, &arena);
    struct fe_oracle *oracle = fe_oracle_create(r->py, r->module);
    const struct ir_oracle *ops = fe_oracle_ops(oracle);
    struct ir_question object_q = {.kind = IR_Q_OBJECT, .host = object};
    struct ir_question attr_q = {.kind = IR_Q_ATTR, .name = name};
    Py_BEGIN_ALLOW_THREADS
    ops->answer(ops->context, fork, &object_q, 1);
    attr_q.object = object_q.answer;
    ops->answer(ops->context, fork, &attr_q, 1);
    Py_END_ALLOW_THREADS
    struct sp_str text;
    sp_str_init(&text);
    if (attr_q.answer)
        ir_const_print(fork, attr_q.answer, &text);
    else
        sp_str_printf(&text, "%s: %s", sp_error_name(attr_q.diag.code), attr_q.diag.message);
    PyObject *result = Py_BuildValue("(si)", text.data, (int)fork->funcs.len);
    sp_diag_finish(&object_q.diag);
    sp_diag_finish(&attr_q.diag);
    sp_str_finish(&text);
    fe_oracle_destroy(oracle);
    ir_module_finish(fork);
    sp_arena_finish(&arena);
    return result;
}

static PyMethodDef reading_methods[] = {
    {"valid", reading_valid, METH_NOARGS, NULL},
    {"ask", reading_ask, METH_VARARGS, NULL},
    {0},
};
static PyGetSetDef reading_getset[] = {
    {"hash", reading_hash, NULL, NULL, NULL},
    {"n_guards", reading_n_guards, NULL, NULL, NULL},
    {0},
};
static PyType_Slot reading_slots[] = {
    {Py_tp_new, (void *)reading_new},
    {Py_tp_dealloc, (void *)reading_dealloc},
    {Py_tp_traverse, (void *)reading_traverse},
    {Py_tp_methods, reading_methods},
    {Py_tp_getset, reading_getset},
    {0, NULL},
};
static PyType_Spec reading_spec = {
    .name = "fe_reader.Reading",
    .basicsize = sizeof(struct reading_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = reading_slots,
};

static PyMethodDef fe_reader_methods[] = {
    {"read", fe_reader_read, METH_O, NULL},
    {"error", fe_reader_error, METH_O, NULL},
    {"errors", fe_reader_errors, METH_O, NULL},
    {"code", fe_reader_code, METH_O, NULL},
    {0},
};
static struct PyModuleDef fe_reader_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fe_reader",
    .m_size = -1,
    .m_methods = fe_reader_methods,
};

PyMODINIT_FUNC PyInit_fe_reader(void);

PyMODINIT_FUNC
PyInit_fe_reader(void)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    if (!interp && !fe_interp_create(&interp, &diag))
        return raise_diag(&diag);
    PyObject *module = PyModule_Create(&fe_reader_def);
    PyObject *type = PyType_FromSpec(&reading_spec);
    if (!module || !type || PyModule_AddObjectRef(module, "Reading", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
