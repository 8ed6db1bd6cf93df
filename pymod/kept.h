/* What entry's compilations and kept.c share: a look-up of one compilation on disk. */
#ifndef PM_KEPT_H
#define PM_KEPT_H

#include "pymod/pm.h"

struct pm_round;

struct pm_kept {
    struct pm_state *state;
    struct rt_device *dev;
    const struct rt_jit_options *jit_options;
    struct fe_oracle *oracle;
    const struct cg_request *request;
    struct ir_oracle recorder; /* to compile with: `oracle`, and what it was asked is remembered */
    struct sp_arena arena;
    struct ir_module
        *fork; /* of the request's module, with the answers so far; NULL: none was asked */
    struct sp_digest first_key, key;
    SP_VEC(struct pm_round) rounds; /* of questions that the compilation asked */

    struct artifact *artifact;  /* found, or to be kept */
    struct artifact *assembled; /* the cubin of it, or NULL */
    char *parts;                /* what the key is made of, as text; the owner's to free */
    bool is_locked;
    int lock;
    bool is_kept, cannot_keep;
};

/* All need the GIL, and drop it around what touches files. The pointers stay the caller's. */
void pm_kept_begin(struct pm_kept *kept, struct pm_state *state, struct rt_device *dev,
                   const struct rt_jit_options *jit_options, struct fe_oracle *oracle,
                   const struct cg_request *request);
/* Before the oracle ends. What was found or assembled, and `parts`, stay with the caller. */
void pm_kept_end(struct pm_kept *kept);
/* Fills `artifact` and `parts` if it is on disk. */
bool pm_kept_find(struct pm_kept *kept);
/* Waits for other processes that compile the same; false: interrupted, with an exception. */
SP_MUST_CHECK bool pm_kept_lock(struct pm_kept *kept);
/* Keeps `artifact` with `parts`. Fills its origins. */
void pm_kept_put(struct pm_kept *kept);
/* Makes a cubin of PTX and keeps it too. */
void pm_kept_assemble(struct pm_kept *kept);

#endif
