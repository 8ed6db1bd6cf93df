/* resolve_py: the resolver over the running interpreter, one reading of a function, and the oracle
 * that answers a compilation's questions.
 *
 * Globals are found as Python does, in the function's dict and then its builtins; closures by their
 * cells. What is found becomes a constant (resolve_py_const.c) and leaves a guard
 * (resolve_py_guard.c). Two function objects share one reading if code, globals, defaults and the
 * contents of all cells are the same objects. fe_py owns a reference to whatever constants point
 * to, since the module outlives the names that led there. A compilation runs without the GIL: the
 * oracle takes it once for all questions that are open, and reads functions that turn up into the
 * compilation's own fork of the module. */
#include "frontend/resolve_py.h"

#include <string.h>

PyObject *
py_own(struct fe_py *py, PyObject *object)
{
    sp_vec_push(NULL, &py->owned, Py_NewRef(object));
    return object;
}

struct fe_py *
py_of(struct fe_reader *reader)
{
    return reader->resolver->context;
}

/* ---- Functions ---- */

/* A new reference; None if it cannot be had. */
static PyObject *
function_get(PyObject *function, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(function, name);
    PyErr_Clear();
    return value ? value : Py_NewRef(Py_None);
}

static const char *
function_name(struct fe_reader *reader, PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    const char *text = py_text(reader->arena, name);
    PyErr_Clear();
    Py_XDECREF(name);
    return text ? text : "function";
}

static uint32_t
py_add(struct fe_reader *reader, const void *host)
{
    struct fe_py *py = py_of(reader);
    struct fe_interp *interp = py->interp;
    PyObject *function = (PyObject *)host;
    PyObject *closure = function_get(function, interp->s_closure);
    Py_ssize_t n_cells = PyTuple_Check(closure) ? PyTuple_Size(closure) : 0;
    const void **identity = sp_alloc((size_t)(n_cells + 4) * sizeof *identity);
    PyObject *const names[] = {interp->s_code, interp->s_globals, interp->s_defaults,
                               interp->s_kwdefaults};
    for (int i = 0; i < 4; i++) {
        PyObject *part = function_get(function, names[i]);
        identity[i] = part; /* the function keeps it */
        Py_DECREF(part);
    }
    for (Py_ssize_t i = 0; i < n_cells; i++) {
        PyObject *content = PyObject_GetAttr(PyTuple_GetItem(closure, i), interp->s_cell_contents);
        PyErr_Clear();
        identity[4 + i] = content;
        Py_XDECREF(content);
    }
    Py_DECREF(closure);
    uint32_t number = fe_reader_add(reader, identity, (size_t)(n_cells + 4) * sizeof *identity,
                                    function_name(reader, function), py_own(py, function));
    free(identity);
    return number;
}

static void
function_defaults(struct fe_reader *reader, PyObject *defaults, PyObject *kwdefaults,
                  struct fe_function *out)
{
    const struct fe_code *code = &out->code;
    if (PyTuple_Check(defaults)) {
        Py_ssize_t n = PyTuple_Size(defaults);
        ir_const *list = SP_NEW_N(reader->arena, ir_const, n + 1);
        for (Py_ssize_t i = 0; i < n; i++)
            list[i] = py_const(reader, PyTuple_GetItem(defaults, i));
        out->defaults = list;
        out->n_defaults = (uint32_t)n;
    }
    if (!PyDict_Check(kwdefaults) || code->n_kwonly > code->n_locals ||
        code->n_args > code->n_locals - code->n_kwonly)
        return;
    ir_const *list = SP_NEW_N(reader->arena, ir_const, code->n_kwonly);
    for (uint32_t i = 0; i < code->n_kwonly; i++) {
        PyObject *name = PyUnicode_InternFromString(code->locals[code->n_args + i].name);
        PyObject *value = name ? PyDict_GetItemWithError(kwdefaults, name) : NULL;
        PyErr_Clear();
        if (name)
            py_guard_add(reader, PY_GUARD_DICT, kwdefaults, name, value);
        Py_XDECREF(name);
        list[i] = value ? py_const(reader, value) : 0;
    }
    out->kwdefaults = list;
}

static bool
py_function(struct fe_reader *reader, const void *host, struct fe_function *function_out,
            struct sp_diag *diag)
{
    struct fe_interp *interp = py_of(reader)->interp;
    PyObject *function = (PyObject *)host;
    PyObject *code = function_get(function, interp->s_code);
    PyObject *defaults = function_get(function, interp->s_defaults);
    PyObject *kwdefaults = function_get(function, interp->s_kwdefaults);
    struct fe_function out = {.host = host};
    py_guard_add(reader, PY_GUARD_CODE, function, interp->s_code, code);
    py_guard_add(reader, PY_GUARD_DEFAULTS, function, interp->s_defaults, defaults);
    py_guard_add(reader, PY_GUARD_KWDEFAULTS, function, interp->s_kwdefaults, kwdefaults);
    bool ok = py_snapshot(interp, reader, code, function_name(reader, function), &out.code, diag);
    if (ok) {
        function_defaults(reader, defaults, kwdefaults, &out);
        *function_out = out;
    }
    Py_DECREF(code);
    Py_DECREF(defaults);
    Py_DECREF(kwdefaults);
    return ok;
}

/* ---- Names ---- */

static bool
found_object(struct fe_reader *reader, PyObject *object, struct fe_found *found_out)
{
    found_out->host = py_own(py_of(reader), object);
    found_out->value = py_const(reader, object);
    return true;
}

static const char *
global_builtin_hint(const char *name)
{
    static const char *const hints[][2] = {
        {"input", "read on the host and pass the values as arguments"},
        {"open", "read and write files on the host, pass arrays"},
        {"any", "write a loop with a break"},
        {"all", "write a loop with a break"},
        {"sorted", "sort on the host, or write the loops"},
        {"map", "write a for loop"},
        {"filter", "write a for loop with an if"},
        {"type", "types are known when a kernel is compiled: write a kernel for each"},
        {"list", "use a tuple, or an array that is passed to the kernel"},
        {"dict", "use tuples, or arrays that are passed to the kernel"},
        {"complex", "compute with the real and the imaginary part"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(name, hints[i][0]) == 0)
            return hints[i][1];
    return "kernels have abs bool divmod enumerate float int isinstance len max min pow print "
           "range reversed round sum tuple zip";
}

/* A builtin that kernels do not have is an error by its name, not as an object of the host. */
static bool
global_builtin(struct fe_reader *reader, PyObject *value, const char *name,
               struct fe_found *found_out, struct sp_diag *diag)
{
    struct fe_found found;
    found_object(reader, value, &found);
    if (ir_const_info(reader->module, found.value)->kind == IR_C_HOST) {
        sp_diag_set(diag, SP_E_NYI_CONSTRUCT, NULL,
                    sp_arena_printf(reader->arena, "the builtin '%s'", name));
        return sp_diag_hint(diag, "%s", global_builtin_hint(name));
    }
    *found_out = found;
    return true;
}

/* What stands near an unknown name: other globals of the module. */
static bool
global_unknown(PyObject *globals, const char *name, struct sp_diag *diag)
{
    struct ir_suggest suggest;
    ir_suggest_init(&suggest, name);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Check(globals) && PyDict_Next(globals, &at, &key, &value)) {
        Py_ssize_t len;
        const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &len) : NULL;
        if (text && text[0] != '_')
            ir_suggest_try(&suggest, text);
        PyErr_Clear();
    }
    sp_diag_set(diag, SP_E_UNKNOWN_NAME, NULL, name);
    return suggest.best[0] ? sp_diag_hint(diag, "did you mean %s?", suggest.best) : false;
}

static bool
py_global(struct fe_reader *reader, const struct fe_function *function, const char *name,
          struct fe_found *found_out, struct sp_diag *diag)
{
    struct fe_interp *interp = py_of(reader)->interp;
    PyObject *globals = function_get((PyObject *)function->host, interp->s_globals);
    PyObject *builtins = function_get((PyObject *)function->host, interp->s_builtins);
    PyObject *key = PyUnicode_InternFromString(name);
    bool ok;
    PyObject *value = NULL;
    if (key && PyDict_Check(globals)) {
        value = PyDict_GetItemWithError(globals, key);
        PyErr_Clear();
        py_guard_add(reader, PY_GUARD_DICT, globals, key, value);
    }
    if (value) {
        ok = found_object(reader, value, found_out);
    } else {
        if (key && PyDict_Check(builtins)) {
            value = PyDict_GetItemWithError(builtins, key);
            PyErr_Clear();
            py_guard_add(reader, PY_GUARD_DICT, builtins, key, value);
        }
        ok = value ? global_builtin(reader, value, name, found_out, diag)
                   : global_unknown(globals, name, diag);
    }
    PyErr_Clear();
    Py_XDECREF(key);
    Py_DECREF(globals);
    Py_DECREF(builtins);
    return ok;
}

static const char *
cell_name(const struct fe_code *code, uint32_t index)
{
    for (uint32_t i = 0; i < code->n_locals; i++)
        if (code->locals[i].kind == FE_LOCAL_FREE && index-- == 0)
            return code->locals[i].name;
    return "?";
}

static bool
py_cell(struct fe_reader *reader, const struct fe_function *function, uint32_t index,
        struct fe_found *found_out, struct sp_diag *diag)
{
    struct fe_interp *interp = py_of(reader)->interp;
    PyObject *closure = function_get((PyObject *)function->host, interp->s_closure);
    PyObject *cell = PyTuple_Check(closure) && (Py_ssize_t)index < PyTuple_Size(closure)
                         ? PyTuple_GetItem(closure, index)
                         : NULL;
    PyObject *value = cell ? PyObject_GetAttr(cell, interp->s_cell_contents) : NULL;
    PyErr_Clear();
    const char *name = cell_name(&function->code, index);
    PyObject *text = PyUnicode_InternFromString(name);
    PyErr_Clear();
    if (cell)
        py_guard_add(reader, PY_GUARD_CELL, cell, text, value);
    Py_XDECREF(text);
    Py_DECREF(closure);
    if (!value)
        return sp_diag_set(diag, SP_E_UNDEFINED_VARIABLE, NULL, name);
    bool ok = found_object(reader, value, found_out);
    Py_DECREF(value);
    return ok;
}

/* ---- One reading ---- */

struct fe_py *
fe_py_create(struct fe_interp *interp)
{
    struct fe_py *py = sp_alloc(sizeof *py);
    memset(py, 0, sizeof *py);
    py->interp = interp;
    py->resolver = (struct fe_resolver){
        .context = py,
        .add = py_add,
        .function = py_function,
        .global = py_global,
        .cell = py_cell,
        .attribute = py_attribute,
    };
    sp_arena_init(&py->arena);
    sp_map_init(&py->guard_map);
    sp_map_init(&py->functions);
    return py;
}

void
fe_py_destroy(struct fe_py *py)
{
    if (!py)
        return;
    py_guards_finish(py);
    for (uint32_t i = 0; i < py->owned.len; i++)
        Py_DECREF(py->owned.data[i]);
    sp_vec_finish(&py->owned);
    sp_map_finish(&py->functions);
    sp_arena_finish(&py->arena);
    free(py);
}

int
fe_py_traverse(struct fe_py *py, int (*visit)(void *object, void *arg), void *arg)
{
    int result = 0;
    for (uint32_t i = 0; py && i < py->owned.len && !result; i++)
        result = visit(py->owned.data[i], arg);
    for (uint32_t i = 0; py && i < py->guards.len && !result; i++) {
        const struct py_guard *guard = &py->guards.data[i];
        PyObject *const objects[] = {guard->container, guard->name, guard->value};
        for (int k = 0; k < 3 && !result; k++)
            if (objects[k])
                result = visit(objects[k], arg);
    }
    return result;
}

/* Kernels are made of Python functions only. */
static bool
py_check_function(struct fe_py *py, PyObject *function, struct sp_diag *diag)
{
    if ((PyObject *)Py_TYPE(function) == py->interp->function_type)
        return true;
    return sp_diag_set(diag, SP_E_NYI_CONSTRUCT, NULL, "an object that is no Python function");
}

bool
fe_py_read(struct fe_py *py, void *function, struct sp_arena *arena, struct ir_module **module_out,
           struct sp_diag *diag)
{
    return py_check_function(py, function, diag) &&
           fe_read(arena, &py->resolver, function, &py->functions, module_out, diag);
}

bool
fe_py_print_code(struct fe_py *py, void *function, struct sp_arena *arena, struct sp_str *out,
                 struct sp_diag *diag)
{
    if (!py_check_function(py, function, diag))
        return false;
    struct ir_module *module = ir_module_new(arena, IR_PHASE_PY);
    struct fe_reader reader;
    struct fe_code code;
    fe_reader_init(&reader, module, &py->resolver, NULL);
    PyObject *object = function_get(function, py->interp->s_code);
    bool ok =
        py_snapshot(py->interp, &reader, object, function_name(&reader, function), &code, diag) &&
        fe_print_code(&code, out, diag);
    Py_DECREF(object);
    fe_reader_finish(&reader);
    ir_module_finish(module);
    return ok;
}

/* ---- Questions ---- */

struct fe_oracle {
    struct ir_oracle ops;
    struct fe_py *py;
    struct fe_reader reader; /* over the fork that asked last */
    bool has_reader;
};

static void
oracle_question(struct fe_oracle *oracle, struct ir_question *question)
{
    struct fe_reader *reader = &oracle->reader;
    struct fe_found found = {0};
    sp_diag_init(&question->diag);
    if (question->kind == IR_Q_OBJECT) {
        question->answer = py_const(reader, (PyObject *)question->host);
        return;
    }
    found.value = question->object;
    struct fe_found object = found;
    const struct ir_const_info *info = ir_const_info(reader->module, question->object);
    if (info->kind == IR_C_NAMESPACE &&
        ir_path_const(reader->module,
                      sp_arena_printf(reader->arena, "%s.%s", info->str, question->name),
                      &found.value)) {
        question->answer = found.value;
        return;
    }
    bool ok = py_attribute(reader, &object, question->name, &found, &question->diag);
    question->answer = ok ? found.value : 0;
    if (!ok)
        sp_diag_place(&question->diag, &question->where);
}

static void
oracle_answer(void *context, struct ir_module *module, struct ir_question *questions, uint32_t n)
{
    struct fe_oracle *oracle = context;
    PyGILState_STATE state = PyGILState_Ensure();
    if (oracle->has_reader && oracle->reader.module != module) {
        fe_reader_finish(&oracle->reader);
        oracle->has_reader = false;
    }
    if (!oracle->has_reader) {
        fe_reader_init(&oracle->reader, module, &oracle->py->resolver, &oracle->py->functions);
        oracle->has_reader = true;
    }
    for (uint32_t i = 0; i < n; i++)
        oracle_question(oracle, &questions[i]);
    fe_reader_run(&oracle->reader);
    PyGILState_Release(state);
}

struct fe_oracle *
fe_oracle_create(struct fe_py *py, struct ir_module *module)
{
    (void)module; /* forks know their functions by py->functions */
    struct fe_oracle *oracle = sp_alloc(sizeof *oracle);
    memset(oracle, 0, sizeof *oracle);
    oracle->py = py;
    oracle->ops = (struct ir_oracle){.context = oracle, .answer = oracle_answer};
    return oracle;
}

const struct ir_oracle *
fe_oracle_ops(const struct fe_oracle *oracle)
{
    return &oracle->ops;
}

void
fe_oracle_forget(struct fe_oracle *oracle)
{
    if (oracle->has_reader)
        fe_reader_finish(&oracle->reader);
    oracle->has_reader = false;
}

void
fe_oracle_destroy(struct fe_oracle *oracle)
{
    if (!oracle)
        return;
    fe_oracle_forget(oracle);
    free(oracle);
}
