/* cuda_print: what kernels print on a GPU. Records go to host memory that the device writes over
 * the bus; their counters are in the device's memory, where many threads add to one word at the
 * speed of its cache. A launch that may print has a slot (cuda_fault.c), which keeps its artifact
 * until its records were read. The launch's number in a record is the slot's and how often that was
 * taken, so that a record which comes late is never taken for another launch's.
 *
 * Reading stops at a record whose words are reserved but not written. After a wait all records of
 * the launches that were waited for are written, but one of a launch on another stream may lie
 * between them: it is being written, and is waited for. */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda_t.h"

#define PRINT_TRIES 100000
#define PRINT_N_ROUNDS (CUDA_PRINT_CAPTURED / CUDA_N_SLOTS)

static struct artifact *
print_owner(void *context, uint32_t launch)
{
    const struct cuda_device *dev = context;
    if (launch & CUDA_PRINT_CAPTURED)
        return rt_cuda_captured_owner(dev, launch % CUDA_PRINT_CAPTURED);
    const struct cuda_slot *slot = &dev->faults.slots[launch % CUDA_N_SLOTS];
    bool same = slot->code && slot->prints && slot->round % PRINT_N_ROUNDS == launch / CUDA_N_SLOTS;
    return same ? slot->code->base.artifact : NULL;
}

static bool
print_alloc(struct cuda_device *dev, struct sp_diag *diag)
{
    struct cuda_faults *faults = &dev->faults;
    const struct cuda_api *api = dev->api;
    uint64_t capacity = rt_print_capacity();
    size_t size_B = capacity * sizeof(uint64_t);
    void *words = NULL;
    CUdeviceptr device = 0, counters = 0;
    CUstream aside = NULL;
    CUresult result =
        api->cuMemHostAlloc(&words, size_B, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuMemHostAlloc", result, diag);
    memset(words, 0, size_B);
    const char *function = "cuMemHostGetDevicePointer";
    result = api->cuMemHostGetDevicePointer(&device, words, 0);
    if (result == CUDA_SUCCESS) {
        function = "cuMemAlloc";
        result = api->cuMemAlloc(&counters, 2 * sizeof(uint64_t));
    }
    if (result == CUDA_SUCCESS) {
        function = "cuStreamCreateWithPriority";
        result = rt_cuda_aside(dev, &aside);
    }
    if (result == CUDA_SUCCESS) {
        function = "cuMemsetD8Async";
        result = api->cuMemsetD8Async(counters, 0, 2 * sizeof(uint64_t), aside);
    }
    if (result == CUDA_SUCCESS) {
        function = "cuStreamSynchronize";
        result = api->cuStreamSynchronize(aside);
    }
    if (result != CUDA_SUCCESS) {
        if (counters)
            api->cuMemFree(counters);
        api->cuMemFreeHost(words);
        return rt_cuda_fail(dev->driver, function, result, diag);
    }
    faults->prints.words = words;
    faults->prints.capacity = capacity;
    faults->print_words = device;
    faults->print_counters = counters;
    return true;
}

bool
rt_cuda_print_fill(struct cuda_device *dev, struct sp_printer *printer, uint32_t launch,
                   struct sp_diag *diag)
{
    struct cuda_faults *faults = &dev->faults;
    if (!faults->prints.words && !print_alloc(dev, diag))
        return false;
    *printer = (struct sp_printer){
        .counters = faults->print_counters,
        .words = faults->print_words,
        .base = faults->print_base,
        .capacity = faults->prints.capacity,
        .launch = launch,
    };
    return true;
}

void
rt_cuda_print_read(struct cuda_device *dev)
{
    if (dev->faults.prints.words)
        rt_print_read(&dev->faults.prints, print_owner, dev);
}

enum cuda_print
rt_cuda_print_take(struct cuda_device *dev, uint32_t slot, bool anyway, struct sp_diag *diag)
{
    struct cuda_faults *faults = &dev->faults;
    const struct rt_print_buffer *prints = &faults->prints;
    rt_cuda_print_read(dev);
    if (!anyway && faults->n_printing && prints->n_read > prints->capacity / 2)
        return CUDA_PRINT_FULL;
    uint32_t launch = slot + CUDA_N_SLOTS * (faults->slots[slot].round % PRINT_N_ROUNDS);
    if (!rt_cuda_print_fill(dev, &faults->host[slot].printer, launch, diag))
        return CUDA_PRINT_FAILED;
    faults->n_printing++;
    faults->slots[slot].prints = true;
    return CUDA_PRINT_READY;
}

/* Whether all records were read, but those that do not fit. */
static bool
print_is_read(const struct rt_print_buffer *prints, uint64_t n_reserved)
{
    return n_reserved <= prints->capacity ? prints->n_read >= n_reserved
                                          : prints->capacity - prints->n_read <= SP_PRINT_VALUES;
}

void
rt_cuda_print_collect(struct cuda_device *dev, uint64_t counters_out[2])
{
    struct cuda_faults *faults = &dev->faults;
    uint64_t counters[2];
    CUstream on;
    CUstreamCaptureMode mode = cuda_relax(dev); /* other threads may be capturing */
    bool known = rt_cuda_aside(dev, &on) == CUDA_SUCCESS &&
                 dev->api->cuMemcpyDtoHAsync(counters, faults->print_counters, sizeof counters,
                                             on) == CUDA_SUCCESS &&
                 dev->api->cuStreamSynchronize(on) == CUDA_SUCCESS;
    cuda_unrelax(dev, mode);
    if (!known) { /* the context is dead: what is written can be read all the same */
        counters[0] = faults->print_base;
        counters[1] = faults->n_print_lost;
    }
    rt_print_read(&faults->prints, print_owner, dev);
    uint64_t n_reserved = counters[0] - faults->print_base;
    for (int i = 0; i < PRINT_TRIES && !print_is_read(&faults->prints, n_reserved); i++) {
        sched_yield();
        rt_print_read(&faults->prints, print_owner, dev);
    }
    memcpy(counters_out, counters, sizeof counters);
}

void
rt_cuda_print_settle(struct cuda_device *dev, const uint64_t counters[2])
{
    struct cuda_faults *faults = &dev->faults;
    rt_print_clear(&faults->prints, counters[1] - faults->n_print_lost);
    faults->print_base = counters[0];
    faults->n_print_lost = counters[1];
    rt_cuda_captured_rebase(dev);
}

void
rt_cuda_print_finish(struct cuda_device *dev)
{
    struct cuda_faults *faults = &dev->faults;
    rt_prints_free(rt_print_take(&faults->prints));
    if (!faults->prints.words)
        return;
    dev->api->cuMemFree(faults->print_counters);
    dev->api->cuMemFreeHost(faults->prints.words);
    faults->prints = (struct rt_print_buffer){0}; /* who looks for lines finds none */
}

/* A child after a fork has the parent's records, which are not its own to print. */
static bool
print_is_ours(const struct cuda_device *dev)
{
    return dev->driver->pid == getpid();
}

struct rt_print *
rt_cuda_take_prints(struct rt_device *base)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_faults *faults = &dev->faults;
    if (!print_is_ours(dev))
        return NULL;
    pthread_mutex_lock(&faults->lock);
    rt_print_read(&faults->prints, print_owner, dev);
    struct rt_print *first = rt_print_take(&faults->prints);
    pthread_mutex_unlock(&faults->lock);
    return first;
}

bool
rt_cuda_has_prints(struct rt_device *base)
{
    struct cuda_device *dev = (struct cuda_device *)base;
    struct cuda_faults *faults = &dev->faults;
    if (!print_is_ours(dev))
        return false;
    pthread_mutex_lock(&faults->lock);
    bool has = faults->n_printing || dev->captures.n_printing || faults->prints.first;
    pthread_mutex_unlock(&faults->lock);
    return has;
}
