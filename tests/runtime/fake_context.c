/* The stand-in's contexts: a primary one per device, another one per device that some library is
 * taken to have made, and a stack of current ones per thread. Memory belongs to the context that
 * was current when it was allocated, and only kernels launched there reach it. In a forked child
 * every call ends the process, as the real driver may hang there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/vec.h"
#include "tests/runtime/fake_cuda.h"

/* Each function against the table that the runtime calls it by. */
#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

#define MAX_DEPTH 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(bool) in_child; /* of the process that started it */
static int retained[FAKE_N_DEVICES];
static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;

struct owned {
    CUdeviceptr address;
    size_t size_B;
    CUcontext context;
};
static SP_VEC(struct owned) memory;

static void
begin_child(void)
{
    in_child = true;
}

void
fake_start(void)
{
    static _Atomic(bool) registered;
    in_child = false;
    if (!atomic_exchange(&registered, true))
        pthread_atfork(NULL, NULL, begin_child);
}

void
fake_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
fake_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void
must_be_the_process_that_started(void)
{
    if (in_child)
        abort();
}

CUcontext
fake_get_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

void
fake_set_current(CUcontext context)
{
    depth += !depth;
    stack[depth - 1] = context;
    depth -= !context;
}

static int
device_of(CUcontext context)
{
    for (int i = 0; i < FAKE_N_DEVICES; i++)
        if (context == FAKE_CONTEXT(i) || context == FAKE_OTHER(i))
            return i;
    return -1;
}

int
fake_device(void)
{
    must_be_the_process_that_started();
    return device_of(fake_get_current());
}

void
fake_own(CUdeviceptr address, size_t size_B)
{
    fake_lock();
    sp_vec_push(NULL, &memory, (struct owned){address, size_B, fake_get_current()});
    fake_unlock();
}

void
fake_disown(CUdeviceptr address)
{
    fake_lock();
    for (uint32_t i = 0; i < memory.len; i++) {
        if (memory.data[i].address != address)
            continue;
        memory.data[i] = memory.data[memory.len - 1];
        memory.len--;
        break;
    }
    fake_unlock();
}

/* With the lock. */
static const struct owned *
find(CUdeviceptr address)
{
    for (uint32_t i = 0; i < memory.len; i++)
        if (address - memory.data[i].address < memory.data[i].size_B)
            return &memory.data[i];
    return NULL;
}

int
fake_owner(CUdeviceptr address)
{
    fake_lock();
    const struct owned *owned = find(address);
    int device = owned ? device_of(owned->context) : -1;
    fake_unlock();
    return device;
}

bool
fake_can_reach(const unsigned char *params, size_t size_B)
{
    for (size_t i = 0; i + 8 <= size_B; i += 8) {
        CUdeviceptr address;
        memcpy(&address, params + i, 8);
        const struct owned *owned = find(address);
        if (owned && owned->context != fake_get_current() && owned->context != fake_cuda()->peer)
            return false;
    }
    return true;
}

void
fake_retain(int device, int times)
{
    fake_lock();
    retained[device] += times;
    fake_unlock();
}

CUresult
cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    must_be_the_process_that_started();
    fake_lock();
    fake_cuda()->n_retained++;
    retained[device]++;
    fake_unlock();
    *context = FAKE_CONTEXT(device);
    return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    must_be_the_process_that_started();
    fake_lock();
    bool is_retained = retained[device] > 0;
    fake_cuda()->n_retained -= is_retained;
    retained[device] -= is_retained;
    fake_unlock();
    return is_retained ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult
cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    must_be_the_process_that_started();
    fake_lock();
    *flags = 0;
    *active = retained[device] > 0;
    fake_unlock();
    return CUDA_SUCCESS;
}

/* What was allocated there is gone. */
CUresult
cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    must_be_the_process_that_started();
    fake_lock();
    fake_cuda()->n_resets++;
    for (uint32_t i = memory.len; i > 0; i--) {
        if (memory.data[i - 1].context != FAKE_CONTEXT(device))
            continue;
        size_t *block = (size_t *)(uintptr_t)(memory.data[i - 1].address - 512); /* fake_memory.c */
        fake_cuda()->used_B -= *block;
        free(block);
        memory.data[i - 1] = memory.data[memory.len - 1];
        memory.len--;
        fake_cuda()->n_memory--;
    }
    fake_forget_events(FAKE_CONTEXT(device));
    fake_forget_streams(FAKE_CONTEXT(device));
    fake_cuda()->n_modules = 0;
    fake_unlock();
    return CUDA_SUCCESS;
}

CUresult
cuCtxGetCurrent(CUcontext *context)
{
    must_be_the_process_that_started();
    *context = fake_get_current();
    return CUDA_SUCCESS;
}

CUresult
cuCtxSetCurrent(CUcontext context)
{
    must_be_the_process_that_started();
    fake_cuda()->n_set++;
    fake_set_current(context);
    return CUDA_SUCCESS;
}

CUresult
cuCtxPushCurrent_v2(CUcontext context)
{
    must_be_the_process_that_started();
    if (depth == MAX_DEPTH)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->n_push++;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult
cuCtxPopCurrent_v2(CUcontext *context)
{
    must_be_the_process_that_started();
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    fake_cuda()->n_pop++;
    *context = stack[--depth];
    return CUDA_SUCCESS;
}

CUresult
cuCtxGetDevice(CUdevice *device)
{
    FAKE_NEEDS_CONTEXT;
    *device = fake_device();
    return CUDA_SUCCESS;
}

CUresult
cuCtxGetId(CUcontext context, unsigned long long *id)
{
    must_be_the_process_that_started();
    *id = (uintptr_t)context + fake_cuda()->other_id;
    return CUDA_SUCCESS;
}

CUresult
cuProfilerStart(void)
{
    FAKE_NEEDS_CONTEXT;
    fake_note('p', (CUstream)1, NULL);
    return CUDA_SUCCESS;
}

CUresult
cuProfilerStop(void)
{
    FAKE_NEEDS_CONTEXT;
    fake_note('p', (CUstream)0, NULL);
    return CUDA_SUCCESS;
}
