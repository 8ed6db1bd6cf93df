/* cuda_link: PTX in, a cubin out, by the driver's linker.
 *
 * The same compilation as at loading PTX, but the result can be kept: a cubin is loaded in a
 * hundredth of the time. Made only when it is going to be kept, since linking and then loading
 * costs a little more than loading PTX. Whatever goes wrong is left to the loading of the PTX,
 * which meets the same error and has the words for it; so too where a driver lacks the linker. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

static char *
link_copy_text(const char *text)
{
    return text ? strcpy(sp_alloc(strlen(text) + 1), text) : NULL;
}

static void *
link_copy(const void *bytes, size_t size_B)
{
    void *copy = sp_alloc(size_B + 1);
    if (size_B)
        memcpy(copy, bytes, size_B);
    return copy;
}

/* The artifact with other code. */
static struct artifact *
link_artifact(const struct artifact *from, const void *cubin, size_t size_B)
{
    struct artifact *a = sp_artifact_create();
    *a = *from;
    a->kind = SP_CODE_CUBIN;
    a->code = link_copy(cubin, size_B);
    a->size_B = size_B;
    a->entry = link_copy_text(from->entry);
    a->name = link_copy_text(from->name);
    a->target = link_copy_text(from->target);
    a->params = link_copy(from->params, from->n_params * sizeof *from->params);
    a->sites = link_copy(from->sites, from->n_sites * sizeof *from->sites);
    for (uint32_t i = 0; i < from->n_sites; i++) {
        a->sites[i].where = sp_src_copy(&from->sites[i].where);
        a->sites[i].name = link_copy_text(from->sites[i].name);
    }
    a->waits = NULL; /* of the host alone */
    a->n_waits = 0;
    a->warnings.data =
        link_copy(from->warnings.data, from->warnings.n * sizeof *from->warnings.data);
    for (uint32_t i = 0; i < from->warnings.n; i++) {
        a->warnings.data[i].where = sp_src_copy(&from->warnings.data[i].where);
        a->warnings.data[i].text = link_copy_text(from->warnings.data[i].text);
    }
    a->origins = NULL;
    a->n_origins = 0;
    if (from->origins && from->n_origins == from->n_sites + from->warnings.n) {
        a->origins = link_copy(from->origins, from->n_origins * sizeof *from->origins);
        a->n_origins = from->n_origins;
    }
    a->classes = link_copy(from->classes, from->n_classes * sizeof *from->classes);
    a->ir = a->llvm = NULL;
    a->shares = 1;
    return a;
}

static bool
link_has_all(const struct cuda_api *api)
{
    return api->cuLinkCreate && api->cuLinkAddData && api->cuLinkComplete && api->cuLinkDestroy;
}

bool
rt_cuda_assemble(struct rt_device *base, const struct artifact *artifact,
                 const struct rt_jit_options *options, struct artifact **out)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    const struct cuda_api *api = dev->api;
    if (artifact->kind != SP_CODE_PTX || !link_has_all(api) || (options && options->verbose))
        return false; /* what it says of registers is in the log of loading */
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    enum cuda_entered entered = cuda_enter(dev, &ignored);
    sp_diag_finish(&ignored);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    int keys[RT_JIT_MAX_OPTIONS];
    uintptr_t set[RT_JIT_MAX_OPTIONS];
    void *values[RT_JIT_MAX_OPTIONS];
    unsigned n = rt_jit_list(options, keys, set);
    for (unsigned i = 0; i < n; i++)
        values[i] = (void *)set[i];
    CUlinkState link;
    void *cubin;
    size_t size_B;
    CUstreamCaptureMode mode = cuda_relax(dev); /* as for loading, which comes next */
    bool made = api->cuLinkCreate(n, keys, values, &link) == CUDA_SUCCESS;
    bool ok =
        made && api->cuLinkAddData(link, CU_JIT_INPUT_PTX, artifact->code, artifact->size_B + 1,
                                   artifact->name, 0, NULL, NULL) == CUDA_SUCCESS;
    ok = ok && api->cuLinkComplete(link, &cubin, &size_B) == CUDA_SUCCESS && size_B;
    if (ok)
        *out = link_artifact(artifact, cubin, size_B);
    if (made)
        api->cuLinkDestroy(link); /* the cubin is its own */
    cuda_unrelax(dev, mode);
    cuda_leave(dev, entered);
    return ok;
}
