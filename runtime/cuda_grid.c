/* cuda_grid: launches whose blocks wait for each other. In: code whose artifact is cooperative.
 * Out: a launch by the driver's own call for that, if all blocks can run at the same time; else an
 * error with both numbers.
 *
 * The blocks meet in four bytes of the device's memory (codegen/emit_grid.c), which every barrier
 * leaves fit for the next one. Launches of one stream run one after the other, so each stream has
 * four bytes of its own, zeroed once, kept until the device ends. The per-thread stream is another
 * one in each thread of the host. A stream that is destroyed leaves its bytes to nobody: what was
 * launched on it may still run. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

void
rt_cuda_grids_init(struct cuda_grids *grids)
{
    *grids = (struct cuda_grids){0};
    pthread_mutex_init(&grids->lock, NULL);
}

void
rt_cuda_grids_finish(struct cuda_device *dev)
{
    struct cuda_grids *grids = &dev->grids;
    for (uint32_t i = 0; i < grids->words.len; i++)
        dev->api->cuMemFree(grids->words.data[i].address);
    sp_vec_finish(&grids->words);
    pthread_mutex_destroy(&grids->lock);
}

void
rt_cuda_grids_reset(struct cuda_device *dev)
{
    pthread_mutex_lock(&dev->grids.lock);
    dev->grids.words.len = 0;
    pthread_mutex_unlock(&dev->grids.lock);
}

void
rt_cuda_grids_forget(struct cuda_device *dev, rt_stream stream)
{
    struct cuda_grids *grids = &dev->grids;
    pthread_mutex_lock(&grids->lock);
    for (uint32_t i = 0; i < grids->words.len; i++)
        if (grids->words.data[i].stream == stream)
            grids->words.data[i].gone = true;
    pthread_mutex_unlock(&grids->lock);
}

bool
rt_cuda_grid_fits(struct cuda_device *dev, const struct cuda_code *code,
                  const struct rt_launch *launch, struct sp_diag *diag)
{
    int per_processor = 0;
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    size_t dynamic_B = (size_t)launch->shared_B + code->base.artifact->added_B;
    CUresult result = dev->api->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_processor, code->function, (int)threads, dynamic_B);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuOccupancyMaxActiveBlocksPerMultiprocessor", result,
                            diag);
    int64_t at_once = (int64_t)per_processor * dev->base.info.n_processors;
    return rt_grid_fits(launch, at_once, diag);
}

/* With the lock held. */
static bool
grid_new_word(struct cuda_device *dev, struct cuda_grid_word word, uint64_t *address_out,
              struct sp_diag *diag)
{
    CUstreamCaptureMode mode = cuda_relax(dev); /* other threads may be capturing */
    CUresult result = dev->api->cuMemAlloc(&word.address, sizeof(uint32_t));
    cuda_unrelax(dev, mode);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuMemAlloc", result, diag);
    result = dev->api->cuMemsetD32Async(word.address, 0, 1, (CUstream)word.stream);
    if (result != CUDA_SUCCESS) {
        dev->api->cuMemFree(word.address);
        return rt_cuda_fail(dev->driver, "cuMemsetD32Async", result, diag);
    }
    sp_vec_push(NULL, &dev->grids.words, word);
    *address_out = word.address;
    return true;
}

/* The bytes of the launch's stream. */
static bool
grid_find_word(struct cuda_device *dev, const struct rt_launch *launch, uint64_t *address_out,
               struct sp_diag *diag)
{
    struct cuda_grids *grids = &dev->grids;
    uint64_t thread = launch->stream == RT_STREAM_PER_THREAD ? launch->thread : 0;
    bool ok = false;
    pthread_mutex_lock(&grids->lock);
    for (uint32_t i = 0; !ok && i < grids->words.len; i++) {
        const struct cuda_grid_word *word = &grids->words.data[i];
        ok = word->stream == launch->stream && word->thread == thread && !word->gone;
        if (ok)
            *address_out = word->address;
    }
    if (!ok)
        ok = grid_new_word(dev, (struct cuda_grid_word){launch->stream, thread, 0, false},
                           address_out, diag);
    pthread_mutex_unlock(&grids->lock);
    return ok;
}

bool
rt_cuda_grid_start(struct cuda_device *dev, struct cuda_code *code, const struct rt_launch *launch,
                   void *params, CUresult *result_out, struct sp_diag *diag)
{
    const struct artifact *artifact = code->base.artifact;
    uint64_t address = 0;
    if (!grid_find_word(dev, launch, &address, diag))
        return false;
    int32_t offset_B = rt_param_offset(artifact, SP_PARAM_GRID);
    memcpy((char *)params + offset_B, &address, sizeof address);
    *result_out = rt_cuda_grid_call(dev, code, launch, params);
    return true;
}

/* This call takes the parameters one by one. */
CUresult
rt_cuda_grid_call(struct cuda_device *dev, struct cuda_code *code, const struct rt_launch *launch,
                  void *params)
{
    const struct artifact *artifact = code->base.artifact;
    void **each = sp_alloc((artifact->n_params + 1) * sizeof *each);
    for (uint32_t i = 0; i < artifact->n_params; i++)
        each[i] = (char *)params + artifact->params[i].offset_B;
    CUresult result = dev->api->cuLaunchCooperativeKernel(
        code->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], launch->shared_B + artifact->added_B,
        (CUstream)launch->stream, each);
    free(each);
    return result;
}
