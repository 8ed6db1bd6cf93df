/* The stand-in's linker: PTX in, "cubins" out, which are the PTX behind a head. */
#include <stdlib.h>
#include <string.h>

#include "tests/runtime/fake_cuda.h"

#ifndef FAKE_OLD
#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

struct CUlinkState_st {
    char *cubin;
    size_t size_B;
};

CUresult
cuLinkCreate_v2(unsigned int n_options, CUjit_option *options, void **values, CUlinkState *link)
{
    FAKE_NEEDS_CONTEXT;
    struct fake_cuda *fake = fake_cuda();
    fake->n_options = n_options;
    for (unsigned i = 0; i < n_options && i < 32; i++) {
        fake->keys[i] = options[i];
        fake->values[i] = (uintptr_t)values[i];
    }
    *link = calloc(1, sizeof **link);
    fake->n_links++;
    return CUDA_SUCCESS;
}

CUresult
cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *data, size_t size_B, const char *name,
                 unsigned int n_options, CUjit_option *options, void **values)
{
    FAKE_NEEDS_CONTEXT;
    (void)name, (void)n_options, (void)options, (void)values;
    const char *text = data;
    if (fake_cuda()->link_result != CUDA_SUCCESS)
        return fake_cuda()->link_result;
    if (type != CU_JIT_INPUT_PTX || !size_B)
        return CUDA_ERROR_INVALID_VALUE;
    if (text[size_B - 1] || strlen(text) + 1 != size_B)
        return CUDA_ERROR_INVALID_PTX;
    link->size_B = sizeof FAKE_CUBIN - 1 + size_B;
    link->cubin = malloc(link->size_B);
    memcpy(link->cubin, FAKE_CUBIN, sizeof FAKE_CUBIN - 1);
    memcpy(link->cubin + sizeof FAKE_CUBIN - 1, text, size_B);
    return CUDA_SUCCESS;
}

CUresult
cuLinkComplete(CUlinkState link, void **cubin, size_t *size_B)
{
    FAKE_NEEDS_CONTEXT;
    if (!link->cubin)
        return CUDA_ERROR_INVALID_VALUE;
    *cubin = link->cubin;
    *size_B = link->size_B;
    fake_cuda()->n_linked++;
    return CUDA_SUCCESS;
}

CUresult
cuLinkDestroy(CUlinkState link)
{
    FAKE_NEEDS_CONTEXT;
    fake_cuda()->n_links--;
    if (link->cubin)
        memset(link->cubin, 0xee, link->size_B); /* it was the link's own */
    free(link->cubin);
    free(link);
    return CUDA_SUCCESS;
}
#else
typedef int fake_cubin_is_empty;
#endif
