/* artifact: the owner of a compilation's result, and the text of a fault that a running kernel left. */
#include "support/artifact.h"

#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/str.h"

struct artifact *
sp_artifact_create(void)
{
    struct artifact *artifact = sp_alloc(sizeof *artifact);
    memset(artifact, 0, sizeof *artifact);
    artifact->shares = 1;
    return artifact;
}

struct artifact *
sp_artifact_share(struct artifact *artifact)
{
    __atomic_add_fetch(&artifact->shares, 1, __ATOMIC_RELAXED);
    return artifact;
}

void
sp_artifact_destroy(struct artifact *artifact)
{
    if (!artifact || __atomic_sub_fetch(&artifact->shares, 1, __ATOMIC_ACQ_REL))
        return;
    free(artifact->code);
    free(artifact->entry);
    free(artifact->name);
    free(artifact->target);
    free(artifact->params);
    for (uint32_t i = 0; i < artifact->n_sites; i++) {
        free((char *)artifact->sites[i].where.file);
        free((char *)artifact->sites[i].where.function);
        free(artifact->sites[i].name);
    }
    free(artifact->sites);
    sp_warnings_finish(&artifact->warnings);
    free(artifact->ir);
    free(artifact->llvm);
    free(artifact);
}

static void
fault_print_shape(const struct sp_fault *fault, struct sp_str *out)
{
    int64_t rank = fault->values[2];
    if (rank < 0 || rank > SP_FAULT_VALUES - 3)
        rank = 0;
    sp_str_add_char(out, '(');
    for (int64_t i = 0; i < rank; i++)
        sp_str_printf(out, "%s%lld", i ? ", " : "", (long long)fault->values[3 + i]);
    sp_str_add(out, rank == 1 ? ",)" : ")");
}

void
sp_fault_explain(const struct artifact *artifact, const struct sp_fault *fault,
                 struct sp_diag *diag)
{
    if (fault->site >= artifact->n_sites) {
        sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL,
                    "a kernel raised an error at an unknown place");
        return;
    }
    const struct sp_fault_site *site = &artifact->sites[fault->site];
    if (site->code == SP_E_OUT_OF_BOUNDS) {
        struct sp_str shape;
        sp_str_init(&shape);
        fault_print_shape(fault, &shape);
        sp_diag_set(diag, site->code, &site->where, (long long)fault->values[0],
                    (long long)fault->values[1], site->name, shape.data);
        sp_str_finish(&shape);
    } else if (site->code == SP_E_TOO_DEEP) {
        sp_diag_set(diag, site->code, &site->where, site->name);
        sp_diag_hint(diag, "write a loop instead, or end the recursion earlier");
    } else {
        sp_diag_set(diag, site->code, &site->where, (long long)fault->values[0]);
    }
    sp_diag_note(diag, NULL, "raised by thread (%u, %u, %u) of block (%u, %u, %u)",
                 fault->thread[0], fault->thread[1], fault->thread[2], fault->block[0],
                 fault->block[1], fault->block[2]);
}
