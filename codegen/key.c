/* The content key of a compilation.
 *
 * In: a request. Out: a digest of everything that decides the artifact's bytes: the PY module's own
 * content hash, argument types, keyed options, target, the driver's PTX limit, compiler and LLVM
 * versions, libdevice's content or the host's processor. Options that only keep texts or check
 * (keyed 0) stay out. */
#include "codegen/internal.h"

/* Another build of the compiler may make other code from the same input. */
#define KEY_BUILD __DATE__ " " __TIME__

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
    key_add_text(&hash, KEY_BUILD);
    key_add_text(&hash, cg_llvm_version());
    sp_hash_add(&hash, request->py->hash.bytes, sizeof request->py->hash.bytes);
    sp_hash_add_u64(&hash, request->n_args);
    for (uint32_t i = 0; i < request->n_args; i++) {
        const struct ir_argtype *arg = &request->args[i];
        const uint8_t bytes[] = {arg->kind,   arg->dtype,     arg->rank,
                                 arg->layout, arg->read_only, arg->align_log2};
        sp_hash_add(&hash, bytes, sizeof bytes);
    }
#define CG_OPTION(name, kind, fallback, low, high, environment, keyed, meaning)                    \
    if (keyed)                                                                                     \
        KEY_ADD_##kind(request->options.name);
#include "codegen/options.def"
    sp_hash_add_u64(&hash, request->arch.sm);
    sp_hash_add_u64(&hash, request->ptx_cap);
    if (request->arch.sm) {
        const struct cg_library *library;
        struct sp_diag ignored;
        sp_diag_init(&ignored);
        if (cg_libdevice_get(state, request->options.libdevice, "", &library, &ignored))
            sp_hash_add(&hash, library->digest.bytes, sizeof library->digest.bytes);
        sp_diag_finish(&ignored);
    } else {
        cg_state_ask_host(state);
        key_add_text(&hash, state->triple);
        key_add_text(&hash, state->cpu);
        key_add_text(&hash, state->features);
    }
    return sp_hash_end(&hash);
}
