/* cuda_memory: memory of a GPU, and of the host where a GPU reaches it: the sources of the device's
 * pools, and who owns an address. Marks are events without times, kept for the next mark.
 *
 * Allocating, freeing and looking at events are forbidden while a stream of the process is being
 * captured, unless the thread says that it means no harm; it does, for the time of the call. In a
 * stream that is being captured no mark is set: there it would become a part of the graph. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "runtime/memory.h"
#include "runtime/pool.h"

struct cuda_memory_entered {
    enum cuda_entered entered;
    CUstreamCaptureMode mode; /* of the thread, to be restored */
};

/* Makes the context current and the thread's captures tolerant. */
static bool
memory_enter(struct cuda_device *dev, struct cuda_memory_entered *in, struct sp_diag *diag)
{
    struct sp_diag ignored;
    sp_diag_init(&ignored);
    in->entered = cuda_enter(dev, diag ? diag : &ignored);
    sp_diag_finish(&ignored);
    if (in->entered != CUDA_ENTER_FAILED)
        in->mode = cuda_relax(dev);
    return in->entered != CUDA_ENTER_FAILED;
}

static void
memory_leave(struct cuda_device *dev, struct cuda_memory_entered *in)
{
    cuda_unrelax(dev, in->mode);
    cuda_leave(dev, in->entered);
}

/* ---- Sources -------------------------------------------------------------------------------- */

typedef CUresult memory_maker(const struct cuda_api *api, uint64_t size_B, CUdeviceptr *address);

static CUresult
memory_make_device(const struct cuda_api *api, uint64_t size_B, CUdeviceptr *address)
{
    return api->cuMemAlloc(address, size_B);
}

static CUresult
memory_make_host(const struct cuda_api *api, uint64_t size_B, CUdeviceptr *address)
{
    void *host = NULL;
    CUresult result =
        api->cuMemHostAlloc(&host, size_B, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    *address = (uintptr_t)host;
    return result;
}

static CUresult
memory_make_managed(const struct cuda_api *api, uint64_t size_B, CUdeviceptr *address)
{
    return api->cuMemAllocManaged(address, size_B, CU_MEM_ATTACH_GLOBAL);
}

/* What the device could never hold is refused without asking the driver. */
static enum pool_answer
memory_make(struct cuda_device *dev, const char *function, memory_maker *make, uint64_t size_B,
            uint64_t *address_out, struct sp_diag *diag)
{
    struct cuda_memory_entered in;
    CUdeviceptr address = 0;
    if (make == memory_make_device && size_B > dev->base.info.memory_B)
        return POOL_FULL;
    if (!memory_enter(dev, &in, diag))
        return POOL_FAILED;
    CUresult result = make(dev->api, size_B, &address);
    enum pool_answer answer = result == CUDA_SUCCESS               ? POOL_OK
                              : result == CUDA_ERROR_OUT_OF_MEMORY ? POOL_FULL
                                                                   : POOL_FAILED;
    if (answer == POOL_FAILED)
        rt_cuda_fail(dev->driver, function, result, diag);
    memory_leave(dev, &in);
    if (answer == POOL_OK)
        *address_out = address;
    return answer;
}

static enum pool_answer
memory_alloc(void *dev, uint64_t size_B, uint64_t *address_out, struct sp_diag *diag)
{
    return memory_make(dev, "cuMemAlloc", memory_make_device, size_B, address_out, diag);
}

static enum pool_answer
memory_alloc_host(void *dev, uint64_t size_B, uint64_t *address_out, struct sp_diag *diag)
{
    return memory_make(dev, "cuMemHostAlloc", memory_make_host, size_B, address_out, diag);
}

static enum pool_answer
memory_alloc_managed(void *dev, uint64_t size_B, uint64_t *address_out, struct sp_diag *diag)
{
    return memory_make(dev, "cuMemAllocManaged", memory_make_managed, size_B, address_out, diag);
}

static void
memory_free(void *context, uint64_t address, uint64_t size_B)
{
    struct cuda_device *dev = context;
    struct cuda_memory_entered in;
    (void)size_B;
    if (cuda_is_lost(dev) || !memory_enter(dev, &in, NULL)) /* which took its memory along */
        return;
    dev->api->cuMemFree(address);
    memory_leave(dev, &in);
}

static void
memory_free_host(void *context, uint64_t address, uint64_t size_B)
{
    struct cuda_device *dev = context;
    struct cuda_memory_entered in;
    (void)size_B;
    if (cuda_is_lost(dev) || !memory_enter(dev, &in, NULL)) /* which took its memory along */
        return;
    dev->api->cuMemFreeHost((void *)(uintptr_t)address);
    memory_leave(dev, &in);
}

static bool
memory_wait(void *context)
{
    struct cuda_device *dev = context;
    struct cuda_memory_entered in;
    if (rt_cuda_graphs_capturing(dev) || !memory_enter(dev, &in, NULL))
        return false;
    bool ok = dev->api->cuCtxSynchronize() == CUDA_SUCCESS;
    memory_leave(dev, &in);
    return ok;
}

static void
memory_info(void *context, uint64_t *free_B_out, uint64_t *total_B_out)
{
    struct cuda_device *dev = context;
    struct cuda_memory_entered in;
    size_t free_B = 0, total_B = 0;
    if (!memory_enter(dev, &in, NULL))
        return;
    dev->api->cuMemGetInfo(&free_B, &total_B);
    memory_leave(dev, &in);
    *free_B_out = free_B;
    *total_B_out = total_B;
}

/* ---- Marks ---------------------------------------------------------------------------------- */

static CUevent
memory_take_event(struct cuda_device *dev)
{
    CUevent event = NULL;
    pthread_mutex_lock(&dev->memory.lock);
    if (dev->memory.events.len)
        event = sp_vec_pop(&dev->memory.events);
    pthread_mutex_unlock(&dev->memory.lock);
    if (!event && dev->api->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return NULL;
    return event;
}

static void
memory_give_event(struct cuda_device *dev, CUevent event)
{
    pthread_mutex_lock(&dev->memory.lock);
    sp_vec_push(NULL, &dev->memory.events, event);
    pthread_mutex_unlock(&dev->memory.lock);
}

/* Each thread's default stream is behind the one that all share. */
static CUstream
memory_stream(rt_stream stream)
{
    return (CUstream)(stream <= RT_STREAM_PER_THREAD ? 0 : stream);
}

/* With the context current. */
static bool
memory_is_captured(struct cuda_device *dev, rt_stream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!dev->api->cuStreamIsCapturing)
        return false;
    return dev->api->cuStreamIsCapturing(memory_stream(stream), &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* With the context current. NULL: not now. */
static CUevent
memory_record(struct cuda_device *dev, rt_stream stream)
{
    if (memory_is_captured(dev, stream))
        return NULL;
    CUevent event = memory_take_event(dev);
    if (event && dev->api->cuEventRecord(event, memory_stream(stream)) != CUDA_SUCCESS) {
        memory_give_event(dev, event);
        return NULL;
    }
    return event;
}

static bool
memory_mark(void *context, rt_stream stream, uint64_t *mark_out)
{
    struct cuda_device *dev = context;
    struct cuda_memory_entered in;
    *mark_out = 0;
    if (cuda_is_lost(dev))
        return true;
    if (!memory_enter(dev, &in, NULL))
        return false;
    CUevent event = memory_record(dev, stream);
    memory_leave(dev, &in);
    *mark_out = (uintptr_t)event;
    return event != NULL;
}

/* On a device that is lost nothing runs. */
static bool
memory_reached(void *context, uint64_t mark)
{
    struct cuda_device *dev = context;
    struct cuda_memory_entered in;
    if (!mark || cuda_is_lost(dev) || !memory_enter(dev, &in, NULL))
        return true;
    CUresult result = dev->api->cuEventQuery((CUevent)(uintptr_t)mark);
    memory_leave(dev, &in);
    return result != CUDA_ERROR_NOT_READY;
}

static void
memory_unmark(void *context, uint64_t mark)
{
    if (mark)
        memory_give_event(context, (CUevent)(uintptr_t)mark);
}

/* A stream that is being captured cannot wait for work outside; that was there before. */
bool
rt_cuda_join(struct rt_device *base, rt_stream before, rt_stream after, struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_memory_entered in;
    if (memory_stream(before) == memory_stream(after))
        return true;
    if (!memory_enter(dev, &in, diag))
        return false;
    bool free_to = !memory_is_captured(dev, before) && !memory_is_captured(dev, after);
    bool ok = !free_to || rt_stream_order(base, before, after, diag);
    memory_leave(dev, &in);
    return ok;
}

/* ---- The device's part ---------------------------------------------------------------------- */

void
rt_cuda_memory_init(struct cuda_device *dev)
{
    bool cached = rt_memory_is_cached();
    struct pool_source source = {.context = dev,
                                 .what = "GPU",
                                 .order = POOL_IN_ORDER,
                                 .round_B = 512,
                                 .alloc = memory_alloc,
                                 .free = memory_free,
                                 .mark = memory_mark,
                                 .reached = memory_reached,
                                 .unmark = memory_unmark,
                                 .wait = memory_wait,
                                 .info = memory_info};
    pthread_mutex_init(&dev->memory.lock, NULL);
    dev->base.pools[RT_POOL_DEVICE] = rt_pool_create(&source, cached);
    source.order = POOL_NOTED;
    source.what = "managed";
    source.alloc = memory_alloc_managed;
    dev->base.pools[RT_POOL_MANAGED] = rt_pool_create(&source, cached);
    source.what = "pinned host";
    source.alloc = memory_alloc_host;
    source.free = memory_free_host;
    dev->base.pools[RT_POOL_HOST] = rt_pool_create(&source, cached);
}

/* With the context current. */
void
rt_cuda_memory_finish(struct cuda_device *dev)
{
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        rt_pool_destroy(dev->base.pools[kind]);
    for (uint32_t i = 0; i < dev->memory.events.len && !cuda_is_lost(dev); i++)
        dev->api->cuEventDestroy(dev->memory.events.data[i]);
    sp_vec_finish(&dev->memory.events);
    pthread_mutex_destroy(&dev->memory.lock);
}

void
rt_cuda_memory_know(struct cuda_device *dev, rt_stream stream)
{
    rt_pool_know(dev->base.pools[RT_POOL_DEVICE], stream);
}

void
rt_cuda_memory_forget(struct cuda_device *dev, rt_stream stream)
{
    for (int kind = 0; kind < RT_N_POOLS; kind++)
        rt_pool_forget(dev->base.pools[kind], stream);
}

bool
rt_cuda_memory_info(struct rt_device *base, uint64_t *free_B_out, uint64_t *total_B_out,
                    struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_memory_entered in;
    size_t free_B = 0, total_B = 0;
    if (!memory_enter(dev, &in, diag))
        return false;
    CUresult result = dev->api->cuMemGetInfo(&free_B, &total_B);
    bool ok = result == CUDA_SUCCESS || rt_cuda_fail(dev->driver, "cuMemGetInfo", result, diag);
    memory_leave(dev, &in);
    if (!ok)
        return false;
    *free_B_out = free_B;
    *total_B_out = total_B;
    return true;
}

bool
rt_cuda_query(struct rt_device *base, uint64_t address, struct rt_memory *memory_out,
              struct sp_diag *diag)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    enum cuda_entered entered = cuda_enter(dev, diag);
    if (entered == CUDA_ENTER_FAILED)
        return false;
    unsigned int type = 0, managed = 0;
    int ordinal = -1;
    CUresult result =
        dev->api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (result == CUDA_SUCCESS) {
        dev->api->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
        dev->api->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    }
    bool ok = result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE ||
              rt_cuda_fail(dev->driver, "cuPointerGetAttribute", result, diag);
    cuda_leave(dev, entered);
    if (!ok)
        return false;
    struct rt_memory memory = {RT_MEMORY_UNKNOWN, -1};
    if (result == CUDA_SUCCESS && (managed & 0xff))
        memory = (struct rt_memory){RT_MEMORY_MANAGED, ordinal};
    else if (result == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE)
        memory = (struct rt_memory){RT_MEMORY_DEVICE, ordinal};
    else if (result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST)
        memory = (struct rt_memory){RT_MEMORY_HOST, -1};
    *memory_out = memory;
    return true;
}
