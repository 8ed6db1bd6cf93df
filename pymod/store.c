/* store: the disk cache as the command line and explain() see it.
 *
 * Out: where it is, and what is in it, one tuple an entry: key, size of the file, time of its last
 * use, kind, and what its key is made of as text. The GIL is kept: nobody is in a hurry here. */
#include <string.h>

#include "pymod/pm.h"
#include "runtime/disk.h"
#include "support/bytes.h"

PyObject *
pm_cache_path(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    PyObject *path = PyUnicode_DecodeFSDefault(rt_disk_path(pm_disk(state)));
    PyObject *result =
        path ? Py_BuildValue("NK", path, (unsigned long long)rt_disk_cap_B(state->disk)) : NULL;
    return result;
}

/* "ptx", "object", "cubin", "questions"; "other" of what this build cannot read, which is another
 * one's; or "broken". */
static const char *
store_kind(struct sp_reader *reader, bool whole)
{
    static const char *const kinds[] = {
        [SP_CODE_PTX] = "ptx", [SP_CODE_OBJECT] = "object", [SP_CODE_CUBIN] = "cubin"};
    uint8_t what = sp_get_u8(reader);
    if (!whole || reader->bad)
        return "broken";
    if (what == 'Q')
        return "questions";
    struct artifact *artifact;
    if (what != 'A' || !sp_artifact_read(reader->at, (size_t)(reader->end - reader->at), &artifact))
        return "other";
    const char *kind = kinds[artifact->kind];
    sp_artifact_destroy(artifact);
    return kind;
}

static void
store_add(void *list, const struct rt_disk_entry *entry)
{
    struct sp_reader reader;
    sp_reader_init(&reader, entry->whole ? entry->bytes : "", entry->n_bytes);
    char *parts = sp_get_text(&reader);
    const char *kind = store_kind(&reader, entry->whole);
    const char *text = parts ? parts : "";
    PyObject *one =
        Py_BuildValue("y#KLsN", (const char *)entry->key.bytes, (Py_ssize_t)sizeof entry->key.bytes,
                      (unsigned long long)entry->size_B, (long long)entry->used_s, kind,
                      PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
    if (!one || PyList_Append(list, one) < 0)
        PyErr_Clear();
    Py_XDECREF(one);
    free(parts);
}

PyObject *
pm_cache_entries(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    PyObject *list = PyList_New(0);
    if (list)
        rt_disk_each(pm_disk(state), store_add, list);
    return list;
}

PyObject *
pm_cache_remove(PyObject *module, PyObject *bytes)
{
    struct pm_state *state = PyModule_GetState(module);
    struct sp_digest key;
    if (!PyBytes_Check(bytes) || PyBytes_Size(bytes) != sizeof key.bytes)
        return pm_fail(state, BAD_VALUE, "a key is 16 bytes");
    memcpy(key.bytes, PyBytes_AsString(bytes), sizeof key.bytes);
    return PyBool_FromLong(rt_disk_remove(pm_disk(state), key));
}

PyObject *
pm_cache_prune(PyObject *module, PyObject *bytes)
{
    struct pm_state *state = PyModule_GetState(module);
    unsigned long long cap_B = PyLong_AsUnsignedLongLong(bytes);
    if (cap_B == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromUnsignedLong(rt_disk_prune(pm_disk(state), cap_B));
}
