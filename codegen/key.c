/* The content key of a compilation.
 *
 * In: a request. Out: a digest of everything that decides the artifact's bytes: the PY module's own
 * content hash, argument types, keyed options, target, the driver's PTX limit, compiler and LLVM
 * versions, libdevice's file or the host's processor. Options that only keep texts or check
 * (keyed 0) stay out. */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/internal.h"

/* ---- The compiler's build: another one may make other code from the same input ---- */

/* The linker's build id in an object's notes; false if it has none. */
static bool
key_add_build_id(struct sp_hash *hash, const struct dl_phdr_info *object)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE || segment->p_align > 4)
            continue;
        const char *at = (const char *)(object->dlpi_addr + segment->p_vaddr);
        const char *end = at + segment->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const char *name = at + sizeof note, *bytes = name + ((note.n_namesz + 3) & ~3u);
            at = bytes + ((note.n_descsz + 3) & ~3u);
            if (at <= end && note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                !memcmp(name, "GNU", 4)) {
                sp_hash_add(hash, bytes, note.n_descsz);
                return true;
            }
        }
    }
    return false;
}

/* Path, size and time stand for a file's content: reading and hashing half a megabyte at the first
 * call of every process would cost more than the rest of the key. */
static void
key_add_file(struct sp_hash *hash, const char *path)
{
    struct stat info;
    if (!stat(path, &info)) {
        sp_hash_add_text(hash, path);
        sp_hash_add_u64(hash, (uint64_t)info.st_size);
        sp_hash_add_u64(hash, (uint64_t)info.st_mtim.tv_sec);
        sp_hash_add_u64(hash, (uint64_t)info.st_mtim.tv_nsec);
    }
}

static int
key_visit_object(struct dl_phdr_info *object, size_t size_B, void *hash)
{
    (void)size_B;
    uintptr_t here = (uintptr_t)&cg_key - object->dlpi_addr;
    bool ours = false;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        ours |= segment->p_type == PT_LOAD && here - segment->p_vaddr < segment->p_memsz;
    }
    if (!ours)
        return 0;
    if (!key_add_build_id(hash, object))
        key_add_file(hash, *object->dlpi_name ? object->dlpi_name : "/proc/self/exe");
    return 1;
}

static void
key_add_build(struct sp_hash *hash)
{
    dl_iterate_phdr(key_visit_object, hash);
    sp_hash_add_text(hash, cg_llvm_version());
}

/* ---- The key ---- */

static void
key_add_text(struct sp_hash *hash, const char *text)
{
    sp_hash_add_text(hash, text ? text : "");
}

#define KEY_ADD_BOOL(value) sp_hash_add_u64(&hash, (uint64_t)(value))
#define KEY_ADD_INT(value) sp_hash_add_u64(&hash, (uint64_t)(value))
#define KEY_ADD_TEXT(value) key_add_text(&hash, value)

struct sp_digest
cg_key(struct cg_state *state, const struct cg_request *request)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    key_add_build(&hash);
    sp_hash_add(&hash, request->py->hash.bytes, sizeof request->py->hash.bytes);
    sp_hash_add_u64(&hash, request->n_args);
    for (uint32_t i = 0; i < request->n_args; i++) {
        const struct ir_argtype *arg = &request->args[i];
        const uint8_t bytes[] = {arg->kind,
                                 arg->elem ? 0 : (uint8_t)arg->dtype,
                                 arg->rank,
                                 arg->layout,
                                 arg->read_only,
                                 arg->align_log2,
                                 (uint8_t)arg->n_elems,
                                 (uint8_t)(arg->n_elems >> 8)};
        sp_hash_add(&hash, bytes, sizeof bytes);
        key_add_text(&hash, arg->elem ? arg->elem : "");
    }
#define CG_OPTION(name, kind, fallback, low, high, environment, keyed, meaning)                    \
    if (keyed)                                                                                     \
        KEY_ADD_##kind(request->options.name);
#include "codegen/options.def"
    sp_hash_add_u64(&hash, request->arch.sm);
    sp_hash_add_u64(&hash, request->ptx_cap);
    if (request->arch.sm) {
        struct sp_str path;
        sp_str_init(&path);
        if (cg_libdevice_find(state, request->options.libdevice, &path, NULL))
            key_add_file(&hash, path.data);
        sp_str_finish(&path);
    } else {
        cg_state_ask_host(state);
        key_add_text(&hash, state->triple);
        key_add_text(&hash, state->cpu);
        key_add_text(&hash, state->features);
    }
    return sp_hash_end(&hash);
}

void
cg_key_print(struct cg_state *state, const struct cg_request *request, struct sp_str *out)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    key_add_build(&hash);
    struct sp_digest build = sp_hash_end(&hash);
    sp_str_add(out, "build\t");
    for (int i = 0; i < 8; i++)
        sp_str_printf(out, "%02x", build.bytes[i]);
    sp_str_add(out, "\ntarget\t");
    cg_target_print(request->arch, out);
    if (request->arch.sm) {
        struct sp_str path;
        sp_str_init(&path);
        if (request->ptx_cap)
            sp_str_printf(out, ", PTX up to %u.%u", request->ptx_cap / 10, request->ptx_cap % 10);
        if (cg_libdevice_find(state, request->options.libdevice, &path, NULL)) {
            sp_hash_init(&hash);
            key_add_file(&hash, path.data);
            struct sp_digest file = sp_hash_end(&hash);
            sp_str_printf(out, "\nlibdevice\t%s %02x%02x%02x%02x", path.data, file.bytes[0],
                          file.bytes[1], file.bytes[2], file.bytes[3]);
        }
        sp_str_finish(&path);
    } else {
        cg_state_ask_host(state);
        sp_hash_init(&hash);
        key_add_text(&hash, state->features);
        struct sp_digest features = sp_hash_end(&hash);
        sp_str_printf(out, ", %s %02x%02x%02x%02x", state->cpu, features.bytes[0],
                      features.bytes[1], features.bytes[2], features.bytes[3]);
    }
    sp_str_add_char(out, '\n');
}
