/* NVIDIA's libdevice: where it is, and its bytes.
 *
 * In: a path by option, environment variables of the toolkit, site-packages folders. Out: the
 * first file that exists, read once per path and kept in the state; or the list of places for
 * the message. Read into memory, not mapped: half a megabyte, and a file replaced underneath
 * cannot end the process. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/internal.h"

#define LIBDEVICE_MAX_B ((size_t)64 << 20)

static void
libdevice_note(struct sp_str *looked, const char *text)
{
    if (!looked)
        return;
    sp_str_add(looked, looked->len ? ", " : "");
    sp_str_add(looked, text);
}

/* Tries a glob pattern; of several matches the last in order, which is the newest version. */
static bool
libdevice_try(const char *pattern, struct sp_str *path, struct sp_str *looked)
{
    libdevice_note(looked, pattern);
    glob_t found;
    bool any = !glob(pattern, 0, NULL, &found) && found.gl_pathc;
    if (any) {
        sp_str_clear(path);
        sp_str_add(path, found.gl_pathv[found.gl_pathc - 1]);
    }
    globfree(&found);
    return any;
}

static bool
libdevice_try_below(const char *folder, const char *rest, struct sp_str *path,
                    struct sp_str *looked)
{
    struct sp_str pattern;
    sp_str_init(&pattern);
    sp_str_printf(&pattern, "%s/%s", folder, rest);
    bool any = libdevice_try(pattern.data, path, looked);
    sp_str_finish(&pattern);
    return any;
}

/* The folders of Python packages, once each; those that are not there need no mention. */
static void
libdevice_note_folders(struct cg_state *state, struct sp_str *looked)
{
    struct stat info;
    bool first = true;
    for (uint32_t i = 0; looked && i < state->n_folders; i++) {
        if (stat(state->folders[i], &info) || !S_ISDIR(info.st_mode))
            continue;
        libdevice_note(looked, first ? "the nvidia and triton packages in " : "");
        sp_str_add(looked, state->folders[i]);
        first = false;
    }
}

#define LIBDEVICE_FILE "nvvm/libdevice/libdevice.10.bc"

static bool
libdevice_try_all(struct cg_state *state, struct sp_str *path, struct sp_str *looked)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    static const char *const wheels[] = {
        "nvidia/cu*/" LIBDEVICE_FILE,
        "nvidia/cuda_nvcc/" LIBDEVICE_FILE,
        "triton/backends/nvidia/lib/libdevice.10.bc",
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *root = getenv(variables[i]);
        if (root && *root && libdevice_try_below(root, LIBDEVICE_FILE, path, looked))
            return true;
    }
    if (libdevice_try("/usr/local/cuda/" LIBDEVICE_FILE, path, looked) ||
        libdevice_try("/usr/local/cuda-*/" LIBDEVICE_FILE, path, looked) ||
        libdevice_try("/opt/cuda/" LIBDEVICE_FILE, path, looked) ||
        libdevice_try("/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc", path, looked))
        return true;
    for (uint32_t i = 0; i < state->n_folders; i++) {
        for (size_t j = 0; j < sizeof wheels / sizeof *wheels; j++) {
            if (libdevice_try_below(state->folders[i], wheels[j], path, NULL))
                return true;
        }
    }
    libdevice_note_folders(state, looked);
    return false;
}

bool
cg_libdevice_find(struct cg_state *state, const char *option, struct sp_str *path,
                  struct sp_str *looked)
{
    if (option && *option) {
        struct stat info;
        sp_str_clear(path);
        sp_str_add(path, option);
        if (looked)
            sp_str_add(looked, option);
        return !stat(option, &info) && S_ISREG(info.st_mode);
    }
    pthread_mutex_lock(&state->lock);
    bool any = libdevice_try_all(state, path, looked);
    pthread_mutex_unlock(&state->lock);
    return any;
}

static bool
libdevice_read(const char *path, struct cg_library **out, struct sp_diag *diag)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return sp_diag_set(diag, SP_E_BAD_LIBDEVICE, NULL, path, strerror(errno));
    struct stat info;
    const char *why = NULL;
    char *data = NULL;
    size_t size_B = 0;
    if (fstat(fileno(file), &info) || !S_ISREG(info.st_mode))
        why = "not a regular file";
    else if ((size_t)info.st_size < 4 || (size_t)info.st_size > LIBDEVICE_MAX_B)
        why = "its size is not that of a library";
    if (!why) {
        size_B = (size_t)info.st_size;
        data = sp_alloc(size_B);
        if (fread(data, 1, size_B, file) != size_B)
            why = "it cannot be read";
        else if (memcmp(data, "BC\xC0\xDE", 4))
            why = "it is not LLVM bitcode";
    }
    fclose(file);
    if (why) {
        free(data);
        return sp_diag_set(diag, SP_E_BAD_LIBDEVICE, NULL, path, why);
    }
    struct cg_library *library = sp_alloc(sizeof *library);
    *library = (struct cg_library){.data = data, .size_B = size_B};
    size_t path_B = strlen(path) + 1;
    library->path = memcpy(sp_alloc(path_B), path, path_B);
    *out = library;
    return true;
}

static bool
libdevice_load(struct cg_state *state, const char *path, const struct cg_library **out,
               struct sp_diag *diag)
{
    pthread_mutex_lock(&state->lock);
    struct cg_library *library = state->libraries;
    while (library && strcmp(library->path, path))
        library = library->next;
    bool ok = library != NULL;
    if (!ok && (ok = libdevice_read(path, &library, diag))) {
        library->next = state->libraries;
        state->libraries = library;
    }
    pthread_mutex_unlock(&state->lock);
    if (ok)
        *out = library;
    return ok;
}

bool
cg_libdevice_get(struct cg_state *state, const char *option, const char *needed_by,
                 const struct cg_library **out, struct sp_diag *diag)
{
    struct sp_str path, looked;
    sp_str_init(&path);
    sp_str_init(&looked);
    bool ok = cg_libdevice_find(state, option, &path, &looked);
    if (ok)
        ok = libdevice_load(state, path.data, out, diag);
    else {
        sp_diag_set(diag, SP_E_NO_LIBDEVICE, NULL, needed_by, looked.data);
        sp_diag_hint(diag, "pip install nvidia-cuda-nvcc, or name the file in GPUJIT_LIBDEVICE");
    }
    sp_str_finish(&path);
    sp_str_finish(&looked);
    return ok;
}
