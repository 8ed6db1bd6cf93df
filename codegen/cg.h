/* codegen/: a PY module in, an artifact out. Nothing of LLVM's crosses this header.
 *
 * Everything lasting hangs off a struct cg_state; all functions may be called from any thread
 * and need no Python. Functions that return bool follow support/diag.h: false after one
 * sp_diag_set, out parameters untouched. */
#ifndef CG_CG_H
#define CG_CG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/ir.h"
#include "support/artifact.h"
#include "support/diag.h"
#include "support/hash.h"
#include "support/str.h"

/* ---- State: state.c -------------------------------------------------------------------------- */

struct cg_state;

/* Sets LLVM up at the first use, not here: creating a state costs nothing. */
struct cg_state *cg_create(void);
void cg_destroy(struct cg_state *state);

/* Further folders (Python's site-packages) whose nvidia-* wheels and triton may hold libdevice.
 * Copied; replaces the earlier list. */
void cg_set_site_packages(struct cg_state *state, const char *const *folders, uint32_t n);

const char *cg_llvm_version(void); /* "22.1.0" */

/* ---- Options: options.c ---------------------------------------------------------------------- */

#ifdef NDEBUG
#define CG_VERIFY_DEFAULT 0
#else
#define CG_VERIFY_DEFAULT 1
#endif

#define CG_C_TYPE_BOOL bool
#define CG_C_TYPE_INT int32_t
#define CG_C_TYPE_TEXT const char *

/* Plain data: copy it freely. Texts belong to whoever set them. */
struct cg_options {
#define CG_OPTION(name, kind, ...) CG_C_TYPE_##kind name;
#include "codegen/options.def"
};

enum cg_option_kind { CG_KIND_BOOL, CG_KIND_INT, CG_KIND_TEXT };

struct cg_option_row {
    const char *name;
    enum cg_option_kind kind;
    int32_t low, high;
    const char *environment; /* "" for none */
    const char *meaning;
};

uint32_t cg_n_options(void);
const struct cg_option_row *cg_option_row(uint32_t i);

void cg_options_init(struct cg_options *options); /* the table's defaults */
/* Sets those whose environment variable is set. */
SP_MUST_CHECK bool cg_options_read_env(struct cg_options *options, struct sp_diag *diag);
/* By name; BOOL and INT from a number, everything from a text. Ranges and names are checked
 * (SP_E_BAD_OPTION). `value` of a TEXT option is kept, not copied. */
SP_MUST_CHECK bool cg_option_set_int(struct cg_options *options, const char *name, int64_t value,
                                     struct sp_diag *diag);
SP_MUST_CHECK bool cg_option_set_text(struct cg_options *options, const char *name,
                                      const char *value, struct sp_diag *diag);

/* ---- Targets: target.c ----------------------------------------------------------------------- */

struct cg_arch {
    uint16_t sm;  /* 90; 0: the host */
    uint16_t ptx; /* the lowest PTX version that knows it, times ten; 0: the host */
};

/* All known GPU architectures, in rising order. */
const struct cg_arch *cg_archs(uint32_t *n_out);
/* "sm_90", "compute_90", "90" or "host"; else SP_E_BAD_TARGET with the known ones. */
SP_MUST_CHECK bool cg_target_parse(const char *text, struct cg_arch *out, struct sp_diag *diag);
/* The newest known architecture that code for this device can be made for: itself, or an older one
 * when LLVM does not know it. SP_E_BAD_TARGET for devices older than the oldest. */
SP_MUST_CHECK bool cg_target_for_capability(int major, int minor, struct cg_arch *out,
                                            struct sp_diag *diag);
/* "sm_90" or "host" */
void cg_target_print(struct cg_arch arch, struct sp_str *out);
/* The newest PTX version (times ten) that a driver of this CUDA version (12040 is 12.4) accepts. */
uint16_t cg_ptx_for_driver(int cuda_version);

/* ---- libdevice: libdevice.c ------------------------------------------------------------------ */

/* Where libdevice is: `option` (a file, may be NULL) and nothing else if given; else below
 * CUDA_HOME, CUDA_PATH, /usr/local/cuda*, the nvidia-* wheels and triton of the site-packages.
 * `looked` (may be NULL) gets the places that were tried. False if there is none. */
bool cg_libdevice_find(struct cg_state *state, const char *option, struct sp_str *path,
                       struct sp_str *looked);

/* ---- Compilation: compile.c ------------------------------------------------------------------ */

enum cg_stage {
#define CG_STAGE(id, ...) CG_STAGE_##id,
#include "codegen/stages.def"
    CG_N_STAGES
};
const char *cg_stage_name(enum cg_stage stage); /* "typed", as in GPUJIT_DUMP */

struct cg_dump {
    uint32_t mask; /* bit `enum cg_stage` */
    void (*text)(void *context, enum cg_stage stage, const char *text);
    void *context;
};
/* "typed,ptx" to a mask. Names that are not ours (decode, ssa: the front end's) set nothing and are
 * no error. */
uint32_t cg_dump_mask(const char *names);

struct cg_request {
    const struct ir_module *py; /* not changed */
    const struct ir_argtype *args;
    uint32_t n_args;
    const struct ir_oracle *oracle; /* may be NULL */
    struct cg_arch arch;
    uint16_t ptx_cap; /* the newest PTX version the driver accepts, times ten; 0: no limit */
    struct cg_options options;
    struct cg_dump dump; /* mask 0: none */
};

struct cg_times {
    uint64_t ns[CG_N_STAGES];
};

/* COMPILE. `times` may be NULL. The artifact is the caller's share (sp_artifact_destroy). */
SP_MUST_CHECK bool cg_compile(struct cg_state *state, const struct cg_request *request,
                              struct artifact **out, struct cg_times *times, struct sp_diag *diag);
/* The same from a CORE module: `request->py` and `oracle` are unused. With n_args 0 every
 * parameter of function 0 counts as an argument of its own. The module is changed by the passes
 * when `optimise`. */
SP_MUST_CHECK bool cg_compile_core(struct cg_state *state, struct ir_module *core,
                                   const struct cg_request *request, bool optimise,
                                   struct artifact **out, struct cg_times *times,
                                   struct sp_diag *diag);

/* ---- What is kept on disk: origin.c, key.c, options.c
 * ------------------------------------------- */

/* Fills the artifact's origins and classes from the PY module that it was compiled from. False: one
 * of its places or classes is not found there, so it cannot be kept. Before it is shared. */
SP_MUST_CHECK bool cg_origins_fill(struct artifact *artifact, const struct ir_module *module);
/* The other way round, for an artifact that was read: places and classes as they are in this module
 * of the same content. False: they do not fit, it is an artifact of another module. */
SP_MUST_CHECK bool cg_origins_put(struct artifact *artifact, const struct ir_module *module);
/* "option NAME\tVALUE\n" for each keyed option. */
void cg_options_print(const struct cg_options *options, struct sp_str *out);
/* "build\t...\n" and what else stands for the compiler and the target in the key. */
void cg_key_print(struct cg_state *state, const struct cg_request *request, struct sp_str *out);

/* Content key of what cg_compile would make: module hash, arguments, keyed options, target, PTX
 * limit, LLVM's version, the compiler's build, libdevice (nvptx) or the processor's features
 * (host). Host objects among the arguments count by position only: the caller adds their
 * identity. */
struct sp_digest cg_key(struct cg_state *state, const struct cg_request *request);

#endif
