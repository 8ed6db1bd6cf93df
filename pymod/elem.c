/* elem: element types that are no scalars, as NumPy's dtypes say them.
 *
 * In: a numpy.dtype with fields. Out: one struct pm_elem per text of ir/storable_text.c, kept in
 * the module's state, so that equal types are one pointer and one number. A few dtype objects are
 * known by identity, for launches. What a field cannot be (objects, another byte order) is an error
 * that names it. */
#include "pymod/pm.h"

#include <stdlib.h>
#include <string.h>

static bool
elem_fail(struct pm_state *state, PyObject *what, const char *reason)
{
    char message[300];
    PyErr_Clear();
    PyObject *repr = PyObject_Str(what);
    Py_ssize_t len;
    const char *name = repr ? PyUnicode_AsUTF8AndSize(repr, &len) : NULL;
    PyOS_snprintf(message, sizeof message, "%.120s %.160s", name ? name : "this", reason);
    PyErr_Clear();
    pm_fail(state, BAD_ARRAY, message);
    Py_XDECREF(repr);
    return false;
}

static const struct pm_elem *
elem_intern(struct pm_state *state, const char *text, PyObject *dtype)
{
    for (uint32_t i = 0; i < state->elems.len; i++)
        if (!strcmp(state->elems.data[i]->text, text))
            return state->elems.data[i];
    uint32_t size_B, align;
    if (state->elems.len == PM_N_ELEMS || !ir_storable_of_text(text, &size_B, &align)) {
        elem_fail(state, dtype, "cannot be the type of an array's elements");
        return NULL;
    }
    struct pm_elem *elem = sp_alloc(sizeof *elem);
    char *copy = sp_alloc(strlen(text) + 1);
    memcpy(copy, text, strlen(text) + 1);
    *elem = (struct pm_elem){.text = copy,
                             .size_B = size_B,
                             .number = (uint16_t)(IR_N_FIXED_TYPES + state->elems.len),
                             .align_log2 = (uint8_t)align,
                             .dtype = Py_NewRef(dtype)};
    sp_vec_push(NULL, &state->elems, elem);
    return elem;
}

static bool
elem_is_known(PyObject *dtype)
{
    PyObject *names = PyObject_GetAttrString(dtype, "names");
    PyErr_Clear();
    bool known = names && PyTuple_Check(names);
    Py_XDECREF(names);
    return known;
}

int
pm_elem_get(struct pm_state *state, PyObject *dtype, const struct pm_elem **elem_out)
{
    for (uint32_t i = 0; i < PM_N_ELEM_DTYPES; i++) {
        if (state->elem_dtypes[i].dtype == dtype) {
            *elem_out = state->elem_dtypes[i].elem;
            return 1;
        }
    }
    if (!elem_is_known(dtype))
        return 0;
    struct sp_str text;
    sp_str_init(&text);
    const struct pm_elem *elem = NULL;
    if (fe_py_dtype_text(dtype, &text))
        elem = elem_intern(state, text.data, dtype);
    else
        elem_fail(state, dtype, "has a field of a type that kernels do not have");
    sp_str_finish(&text);
    if (!elem)
        return -1;
    uint32_t slot = state->n_elem_dtypes++ % PM_N_ELEM_DTYPES;
    PyObject *old = state->elem_dtypes[slot].dtype;
    state->elem_dtypes[slot].dtype = Py_NewRef(dtype);
    state->elem_dtypes[slot].elem = elem;
    Py_XDECREF(old);
    *elem_out = elem;
    return 1;
}

PyObject *
pm_elem_text(PyObject *module, PyObject *dtype)
{
    const struct pm_elem *elem = NULL;
    int found = pm_elem_get(PyModule_GetState(module), dtype, &elem);
    return found < 0 ? NULL : found ? PyUnicode_FromString(elem->text) : Py_NewRef(Py_None);
}

int
pm_elem_of_array(struct pm_state *state, PyObject *array, struct pm_view *view)
{
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    const struct pm_elem *elem = NULL;
    PyErr_Clear();
    int found = dtype ? pm_elem_get(state, dtype, &elem) : 0;
    Py_XDECREF(dtype);
    if (found == 1) {
        view->elem = elem;
        view->dtype = elem->number;
    }
    return found;
}

bool
pm_view_parse_dtype(struct pm_state *state, PyObject *object, struct pm_view *view)
{
    const struct pm_elem *elem = NULL;
    ir_type scalar;
    PyObject *made = NULL;
    if (PyList_Check(object) || PyDict_Check(object)) { /* the fields of a record */
        PyObject *numpy = PyImport_ImportModule("numpy");
        made = numpy ? PyObject_CallMethod(numpy, "dtype", "O", object) : NULL;
        Py_XDECREF(numpy);
        if (!made)
            return false;
        object = made;
    }
    int found = pm_elem_get(state, object, &elem);
    if (found == 1) {
        view->elem = elem;
        view->dtype = elem->number;
    } else if (found == 0 && pm_dtype_parse(state, object, &scalar)) {
        view->elem = NULL;
        view->dtype = (uint16_t)scalar;
        found = 1;
    } else {
        found = -1;
    }
    Py_XDECREF(made);
    return found == 1;
}

PyObject *
pm_view_dtype_object(struct pm_state *state, const struct pm_view *view)
{
    return view->elem ? Py_NewRef(view->elem->dtype) : pm_dtype_object(state, view->dtype);
}

void
pm_elems_finish(struct pm_state *state)
{
    for (uint32_t i = 0; i < PM_N_ELEM_DTYPES; i++)
        Py_CLEAR(state->elem_dtypes[i].dtype);
    for (uint32_t i = 0; i < state->elems.len; i++) {
        Py_CLEAR(state->elems.data[i]->dtype);
        free((void *)(uintptr_t)state->elems.data[i]->text);
        free(state->elems.data[i]);
    }
    sp_vec_finish(&state->elems);
}
