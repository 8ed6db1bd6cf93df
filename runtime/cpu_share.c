/* cpu_share: memory of the CPU device that other processes have too. In: an allocation, whose pages
 * are its own. Out: a file without a name that holds its bytes and lies at its address from then
 * on; another process opens it by this one's number and the file's, and looks at the name that
 * such files are given to see that it is the one. Freed memory gets new pages before it is used
 * again (rt_cpu_unshare), so that who has the old ones keeps them.
 *
 * All memory could be such files from the start; then a child after a fork would write its parent's
 * arrays. Named files lost because whoever crashes leaves them behind. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cpu_t.h"
#include "runtime/pool.h"

struct share_handle {
    int64_t pid, fd;
    char name[40];
};
_Static_assert(sizeof(struct share_handle) <= sizeof((struct rt_ipc *)0)->bytes, "handle");

static bool
share_fail(struct sp_diag *diag, const char *what, int error)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s", what, strerror(error));
    return sp_diag_set(diag, SP_E_BAD_VALUE, NULL, text);
}

static bool
share_write(int fd, const char *bytes, uint64_t size_B)
{
    while (size_B) {
        ssize_t n = write(fd, bytes, size_B < 1u << 30 ? size_B : 1u << 30);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size_B -= (uint64_t)n;
    }
    return true;
}

/* The file takes the place of the pages. -1 with errno. */
static int
share_make(uint64_t address, uint64_t size_B, const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    void *at = (void *)(uintptr_t)address;
    if (share_write(fd, at, size_B) &&
        mmap(at, size_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* With the lock held. */
static struct cpu_shared *
share_find(struct cpu_device *dev, uint64_t address)
{
    for (uint32_t i = 0; i < dev->shared.all.len; i++)
        if (dev->shared.all.data[i].address == address)
            return &dev->shared.all.data[i];
    return NULL;
}

static uint64_t
share_round(uint64_t size_B)
{
    uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE);
    return (size_B + page_B - 1) / page_B * page_B;
}

static bool
share_ipc_get(struct rt_device *base, uint64_t address, struct rt_ipc *ipc_out,
              struct sp_diag *diag)
{
    struct cpu_device *dev = (struct cpu_device *)base;
    struct share_handle handle = {.pid = getpid(), .fd = -1};
    uint64_t start, size_B, token[2];
    if (!rt_pool_find(base->pools[RT_POOL_DEVICE], address, &start, &size_B))
        return sp_diag_set(diag, SP_E_BAD_VALUE, NULL,
                           "only memory that gpu has allocated can be opened by other processes");
    size_B = share_round(size_B);
    pthread_mutex_lock(&dev->shared.lock);
    struct cpu_shared *shared = share_find(dev, start);
    if (!shared && getrandom(token, sizeof token, 0) == sizeof token) {
        struct cpu_shared made = {.address = start};
        snprintf(made.name, sizeof made.name, "gpujit-%016llx%016llx", (unsigned long long)token[0],
                 (unsigned long long)token[1]);
        made.fd = share_make(start, size_B, made.name);
        if (made.fd >= 0) {
            sp_vec_push(NULL, &dev->shared.all, made);
            shared = &dev->shared.all.data[dev->shared.all.len - 1];
            rt_pool_export(base->pools[RT_POOL_DEVICE], start);
        }
    }
    int error = errno;
    if (shared) {
        handle.fd = shared->fd;
        memcpy(handle.name, shared->name, sizeof handle.name);
    }
    pthread_mutex_unlock(&dev->shared.lock);
    if (handle.fd < 0)
        return share_fail(diag, "the memory cannot be given to other processes", error);
    memset(ipc_out, 0, sizeof *ipc_out);
    memcpy(ipc_out->bytes, &handle, sizeof handle);
    ipc_out->size_B = size_B;
    ipc_out->offset_B = address - start;
    return true;
}

static bool
share_ipc_open(struct rt_device *base, const struct rt_ipc *ipc, uint64_t *address_out,
               struct sp_diag *diag)
{
    struct share_handle handle;
    char path[80], link[120] = "", wanted[80];
    struct stat status;
    (void)base;
    memcpy(&handle, ipc->bytes, sizeof handle);
    handle.name[sizeof handle.name - 1] = '\0';
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)handle.pid, (long long)handle.fd);
    snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", handle.name);
    ssize_t n = readlink(path, link, sizeof link - 1);
    int fd = n < 0 || strcmp(link, wanted) ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        sp_diag_set(diag, SP_E_BAD_VALUE, NULL,
                    "the memory of the other process cannot be opened: it has ended, has freed the "
                    "array, or is another user's");
        return sp_diag_hint(diag, "the process that made the handle keeps its array until the "
                                  "others have closed it");
    }
    void *pages = MAP_FAILED;
    if (!fstat(fd, &status) && (uint64_t)status.st_size == ipc->size_B)
        pages = mmap(NULL, ipc->size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    close(fd);
    if (pages == MAP_FAILED)
        return share_fail(diag, "the memory of the other process cannot be mapped", error);
    *address_out = (uintptr_t)pages;
    return true;
}

static bool
share_ipc_close(struct rt_device *base, uint64_t address, uint64_t size_B, struct sp_diag *diag)
{
    (void)base, (void)diag;
    munmap((void *)(uintptr_t)address, size_B);
    return true;
}

void
rt_cpu_unshare(struct cpu_device *dev, uint64_t address, uint64_t size_B)
{
    (void)mmap((void *)(uintptr_t)address, size_B, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    pthread_mutex_lock(&dev->shared.lock);
    struct cpu_shared *shared = share_find(dev, address);
    if (shared) {
        close(shared->fd);
        *shared = sp_vec_pop(&dev->shared.all);
    }
    pthread_mutex_unlock(&dev->shared.lock);
}

void
rt_cpu_share_finish(struct cpu_device *dev)
{
    for (uint32_t i = 0; i < dev->shared.all.len; i++)
        close(dev->shared.all.data[i].fd);
    sp_vec_finish(&dev->shared.all);
    pthread_mutex_destroy(&dev->shared.lock);
}

/* All memory of the host is the device's. */
static bool
share_lock(struct rt_device *base, uint64_t address, uint64_t size_B, uint64_t *device_address_out,
           struct sp_diag *diag)
{
    (void)base, (void)size_B, (void)diag;
    *device_address_out = address;
    return true;
}

static bool
share_unlock(struct rt_device *base, uint64_t address, struct sp_diag *diag)
{
    (void)base, (void)address, (void)diag;
    return true;
}

const struct rt_share_ops rt_cpu_share_ops = {
    .lock = share_lock,
    .unlock = share_unlock,
    .ipc_get = share_ipc_get,
    .ipc_open = share_ipc_open,
    .ipc_close = share_ipc_close,
};
