/* cuda_fault: exceptions that kernels raise on a GPU. A launch of a kernel that can raise gets
 * one of 256 struct sp_fault in host memory that the device writes over the bus; its address
 * travels in the parameter area. After a wait the slots of what was waited for are looked at and
 * freed, and the faults become diagnostics of the threads that launched (unraised.c). A kernel that
 * cannot raise never comes here.
 *
 * Threads launch while others wait, so a wait covers the launches that were numbered when it began.
 * When all slots are in flight the launch waits for the device. A slot holds a share of the
 * code, whose artifact has the text of the exception. One slot per device for all launches was
 * the alternative; it lost because a fault must be told from an earlier launch's that was not
 * waited for, and be explained by its own kernel's table of sites. */
#include <string.h>

#include "runtime/cuda_t.h"

void
rt_cuda_faults_init(struct cuda_faults *faults)
{
    memset(faults, 0, sizeof *faults);
    pthread_mutex_init(&faults->lock, NULL);
}

void
rt_cuda_faults_finish(struct cuda_device *dev)
{
    struct cuda_faults *faults = &dev->faults;
    for (uint32_t i = 0; i < CUDA_N_SLOTS; i++)
        if (faults->slots[i].code)
            rt_cuda_code_drop(faults->slots[i].code);
    if (faults->host)
        dev->api->cuMemFreeHost(faults->host);
    rt_cuda_print_finish(dev);
    rt_unraised_finish(&faults->unraised);
    pthread_mutex_destroy(&faults->lock);
}

/* With the lock held. */
static void
fault_release(struct cuda_faults *faults, uint32_t slot)
{
    struct cuda_code *code = faults->slots[slot].code;
    if (!code)
        return; /* the device was reset meanwhile */
    faults->slots[slot].code = NULL;
    faults->n_printing -= faults->slots[slot].prints;
    atomic_fetch_sub_explicit(&faults->n_used, 1, memory_order_relaxed);
    rt_cuda_code_drop(code);
}

void
rt_cuda_faults_forget(struct cuda_device *dev)
{
    struct cuda_faults *faults = &dev->faults;
    pthread_mutex_lock(&faults->lock);
    faults->closed = true;
    for (uint32_t i = 0; i < CUDA_N_SLOTS; i++)
        fault_release(faults, i);
    if (faults->host)
        dev->api->cuMemFreeHost(faults->host);
    faults->host = NULL;
    rt_cuda_captures_forget(dev);
    rt_cuda_print_finish(dev);
    pthread_mutex_unlock(&faults->lock);
}

/* With the lock held. */
static bool
fault_alloc(struct cuda_device *dev, struct sp_diag *diag)
{
    void *host = NULL;
    size_t size_B = CUDA_N_SLOTS * sizeof(struct sp_fault);
    CUresult result = dev->api->cuMemHostAlloc(
        &host, size_B, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, "cuMemHostAlloc", result, diag);
    result = dev->api->cuMemHostGetDevicePointer(&dev->faults.device, host, 0);
    if (result != CUDA_SUCCESS) {
        dev->api->cuMemFreeHost(host);
        return rt_cuda_fail(dev->driver, "cuMemHostGetDevicePointer", result, diag);
    }
    dev->faults.host = host;
    return true;
}

/* Of the launches that raised and are not reported the first; slots are used in a ring. */
static bool
fault_find_raised(const struct cuda_faults *faults, uint32_t *slot_out)
{
    bool found = false;
    for (uint32_t i = 0; i < CUDA_N_SLOTS; i++) {
        const struct cuda_slot *slot = &faults->slots[i];
        if (!slot->code || slot->reported ||
            __atomic_load_n(&faults->host[i].state, __ATOMIC_ACQUIRE) != 2)
            continue;
        if (!found || slot->ticket < faults->slots[*slot_out].ticket)
            *slot_out = i;
        found = true;
    }
    return found;
}

/* The per-thread stream is another one in each thread, so who waits there is asked too. */
static bool
fault_is_over(const struct cuda_slot *slot, const rt_stream *stream, uint64_t thread,
              uint64_t before)
{
    return slot->ticket <= before &&
           (!stream || (*stream == slot->stream &&
                        (*stream != RT_STREAM_PER_THREAD || slot->thread == thread)));
}

/* With the lock held: what was waited for is freed; what raised is kept for the thread that
 * launched. NULL: all streams were. */
static void
fault_scan(struct cuda_device *dev, const rt_stream *stream, uint64_t thread, uint64_t before)
{
    struct cuda_faults *faults = &dev->faults;
    uint32_t first = 0;
    uint64_t counters[2];
    bool in_graphs = dev->captures.n_printing > 0;
    bool prints = faults->n_printing > 0 || in_graphs;
    if (prints)
        rt_cuda_print_collect(dev, counters);
    if (atomic_load(&dev->captures.n))
        rt_cuda_captured_scan(dev);
    while (fault_find_raised(faults, &first)) {
        faults->slots[first].reported = true;
        sp_fault_explain(faults->slots[first].code->base.artifact, &faults->host[first],
                         rt_unraised_of(&faults->unraised, faults->slots[first].thread));
    }
    atomic_store_explicit(&faults->n_unraised, faults->unraised.all.len, memory_order_relaxed);
    for (uint32_t i = 0; i < CUDA_N_SLOTS; i++) {
        const struct cuda_slot *slot = &faults->slots[i];
        if (slot->code && fault_is_over(slot, stream, thread, before))
            fault_release(faults, i);
    }
    /* Replays in flight print behind the buffer's present begin. */
    if (prints && !faults->n_printing && (!in_graphs || !stream))
        rt_cuda_print_settle(dev, counters);
}

static bool
fault_find_free(struct cuda_faults *faults, uint32_t *slot_out)
{
    for (uint32_t i = 0; i < CUDA_N_SLOTS; i++) {
        uint32_t slot = (faults->next + i) % CUDA_N_SLOTS;
        if (!faults->slots[slot].code) {
            faults->next = slot + 1;
            *slot_out = slot;
            return true;
        }
    }
    return false;
}

/* With the lock held: waits for all launches there are, or while a stream is captured for those
 * before this one. */
static bool
fault_drain(struct cuda_device *dev, const struct rt_launch *launch, struct sp_diag *diag)
{
    uint64_t before = atomic_load(&dev->faults.n_launched);
    const rt_stream *stream = rt_cuda_graphs_capturing(dev) ? &launch->stream : NULL;
    CUresult result =
        stream ? dev->api->cuStreamSynchronize((CUstream)*stream) : dev->api->cuCtxSynchronize();
    if (result != CUDA_SUCCESS)
        return rt_cuda_fail(dev->driver, stream ? "cuStreamSynchronize" : "cuCtxSynchronize",
                            result, diag);
    fault_scan(dev, stream, launch->thread, before);
    return true;
}

/* With the lock held: a printer for the slot, with room in the buffer if waiting can bring it. */
static bool
fault_take_printer(struct cuda_device *dev, uint32_t slot, const struct rt_launch *launch,
                   struct sp_diag *diag)
{
    enum cuda_print state = rt_cuda_print_take(dev, slot, false, diag);
    if (state != CUDA_PRINT_FULL)
        return state == CUDA_PRINT_READY;
    return fault_drain(dev, launch, diag) &&
           rt_cuda_print_take(dev, slot, true, diag) == CUDA_PRINT_READY;
}

bool
rt_cuda_fault_take(struct cuda_device *dev, struct cuda_code *code, const struct rt_launch *launch,
                   uint32_t *slot_out, uint64_t *address_out, struct sp_diag *diag)
{
    struct cuda_faults *faults = &dev->faults;
    pthread_mutex_lock(&faults->lock);
    CUstreamCaptureMode mode = cuda_relax(dev); /* other threads may be capturing */
    bool ok =
        faults->closed ? rt_say_reset(&dev->base, diag) : faults->host || fault_alloc(dev, diag);
    uint32_t slot = 0;
    if (ok && !fault_find_free(faults, &slot)) {
        ok = fault_drain(dev, launch, diag);
        if (ok && !fault_find_free(faults, &slot))
            ok = sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL,
                             "too many launches of kernels that can raise are under way");
    }
    if (ok) {
        memset(&faults->host[slot], 0, sizeof faults->host[slot]);
        faults->slots[slot] =
            (struct cuda_slot){.stream = launch->stream,
                               .thread = launch->thread,
                               .ticket = UINT64_MAX,
                               .round = (uint16_t)(faults->slots[slot].round + 1)};
        ok = !code->base.artifact->prints || fault_take_printer(dev, slot, launch, diag);
    }
    if (ok) {
        atomic_fetch_add_explicit(&code->shares, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&faults->n_used, 1, memory_order_relaxed);
        faults->slots[slot].code = code;
        *slot_out = slot;
        *address_out = faults->device + slot * sizeof(struct sp_fault);
    }
    cuda_unrelax(dev, mode);
    pthread_mutex_unlock(&faults->lock);
    return ok;
}

void
rt_cuda_fault_launched(struct cuda_device *dev, uint32_t slot)
{
    pthread_mutex_lock(&dev->faults.lock);
    dev->faults.slots[slot].ticket = atomic_fetch_add(&dev->faults.n_launched, 1) + 1;
    pthread_mutex_unlock(&dev->faults.lock);
}

void
rt_cuda_fault_give_back(struct cuda_device *dev, uint32_t slot)
{
    pthread_mutex_lock(&dev->faults.lock);
    fault_release(&dev->faults, slot);
    pthread_mutex_unlock(&dev->faults.lock);
}

/* With the lock held: replays would fill the buffer, whose begin only moves while nothing runs. */
static void
fault_clear_prints(struct cuda_device *dev)
{
    uint64_t before = atomic_load(&dev->recents.n_launched);
    CUstreamCaptureMode mode = cuda_relax(dev);
    if (dev->api->cuCtxSynchronize() == CUDA_SUCCESS)
        fault_scan(dev, NULL, 0, before);
    cuda_unrelax(dev, mode);
}

bool
rt_cuda_faults_collect(struct cuda_device *dev, const struct rt_wait *wait, uint64_t before,
                       struct sp_diag *diag)
{
    struct cuda_faults *faults = &dev->faults;
    if (!atomic_load_explicit(&faults->n_used, memory_order_relaxed) &&
        !atomic_load_explicit(&dev->captures.n, memory_order_relaxed) &&
        !atomic_load_explicit(&faults->n_unraised, memory_order_relaxed))
        return true;
    pthread_mutex_lock(&faults->lock);
    /* Who recorded an event is not known. */
    fault_scan(dev, wait->stream, wait->event ? UINT64_MAX : wait->thread, before);
    if (dev->captures.n_printing && faults->prints.n_read > faults->prints.capacity / 2 &&
        !rt_cuda_graphs_capturing(dev))
        fault_clear_prints(dev);
    bool ok = rt_unraised_take(&faults->unraised, wait, diag);
    atomic_store_explicit(&faults->n_unraised, faults->unraised.all.len, memory_order_relaxed);
    pthread_mutex_unlock(&faults->lock);
    return ok;
}
