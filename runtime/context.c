/* context: what belongs to a process, a thread and a device together. Which device's context is
 * current in a thread, resetting a device, and what a forked child may still use.
 *
 * A device that was reset stays as an object, because arrays, streams and code hold on to it; it is
 * marked, its number goes to a new one, and it is freed with the runtime.
 *
 * A fork is noticed by a page that the kernel gives to a child as zeros (MADV_WIPEONFORK), which
 * costs a load and no state outside of the runtime; pthread_atfork's handlers would need a global.
 * Where the system has no such pages getpid tells. Locks in a child may be held by threads that
 * only the parent has, so the child makes them anew before it uses them. */
#include <stdio.h>
#include <sys/mman.h>

#include "runtime/rt_t.h"
#include "support/arena.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void
rt_alive_init(struct rt_runtime *rt)
{
    size_t page_B = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, page_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rt->pid = getpid();
    atomic_init(&rt->lock_pid, rt->pid);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, page_B, MADV_WIPEONFORK)) {
        munmap(page, page_B);
        return;
    }
    rt->alive = page;
    atomic_store(rt->alive, 1);
}

/* A child that starts the driver itself has nothing of its parent there: it is as good as a process
 * of its own, and only its own children are forked. */
void
rt_alive_again(struct rt_runtime *rt)
{
    rt->pid = getpid();
    if (rt->alive)
        atomic_store(rt->alive, 1);
}

void
rt_alive_finish(struct rt_runtime *rt)
{
    if (rt->alive)
        munmap(rt->alive, (size_t)sysconf(_SC_PAGESIZE));
}

bool
rt_is_forked(const struct rt_runtime *rt)
{
    return rt_forked(rt);
}

bool
rt_device_is_inherited(const struct rt_device *dev)
{
    return rt_forked(dev->rt) && dev->info.kind == RT_CUDA &&
           rt_cuda_driver_is_forked(dev->rt->driver);
}

void
rt_lock(struct rt_runtime *rt)
{
    if (__builtin_expect(rt_forked(rt), 0) && rt_mend_begin(&rt->lock_pid)) {
        pthread_mutex_init(&rt->lock, NULL);
        rt_mend_end(&rt->lock_pid);
    }
    pthread_mutex_lock(&rt->lock);
}

void
rt_unlock(struct rt_runtime *rt)
{
    pthread_mutex_unlock(&rt->lock);
}

bool
rt_say_reset(const struct rt_device *dev, struct sp_diag *diag)
{
    char name[32] = "the CPU device";
    if (dev->info.kind == RT_CUDA)
        snprintf(name, sizeof name, "cuda:%d", dev->info.ordinal);
    sp_diag_set(diag, SP_E_DEVICE_RESET, NULL, name);
    return sp_diag_hint(diag, "make the arrays and streams anew after gpu.reset() and gpu.close()");
}

bool
rt_device_check(const struct rt_device *dev, struct sp_diag *diag)
{
    if (rt_device_is_inherited(dev))
        return rt_cuda_forked(dev->info.ordinal, diag);
    if (rt_device_was_reset(dev))
        return rt_say_reset(dev, diag);
    return !dev->ops->context->works || dev->ops->context->works(dev, diag);
}

bool
rt_device_reset(struct rt_device *dev, struct sp_diag *diag)
{
    struct rt_runtime *rt = dev->rt;
    if (rt_device_was_reset(dev))
        return true;
    if (!dev->ops->context->reset(dev, diag))
        return false;
    rt_lock(rt);
    struct rt_device **slot = dev->info.kind == RT_CPU ? &rt->cpu : &rt->cuda[dev->info.ordinal];
    if (*slot == dev && rt_device_was_reset(dev)) {
        *slot = NULL;
        sp_vec_push(NULL, &rt->others, dev);
    }
    rt_unlock(rt);
    return true;
}
