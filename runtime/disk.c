/* disk: bytes by key in files of one folder, for many processes at once.
 *
 * A file is a head, its key among it, then the bytes; a checksum covers both. It is written under a
 * name of its own and renamed, so nobody ever sees half of one; and whatever else a file holds (cut
 * short, changed, another one's content) is a miss. Reading marks the file as used by its time,
 * unless that is less than a minute old; when the files are larger than the cap, those used longest
 * ago are removed. A file that is removed while another process reads it stays whole for that
 * reader.
 *
 * Who misses takes the entry's lock (flock on a file beside it) to make what is missing, looks
 * again, and waits for a while for others who do: of many processes that start together one
 * compiles. The lock is a courtesy and not needed for anything to be right, so where files cannot
 * be locked nobody waits. fsync, the usual next step, lost: after a crash of the machine the
 * checksum tells what was not written. */
#include "runtime/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "runtime/disk_t.h"
#include "support/arena.h"
#include "support/bytes.h"
#include "support/vec.h"

/* Raised when the meaning of files changes. */
static const char disk_magic[8] = "GPUJIT\n\1";
enum { DISK_HEAD_B = 8 + 16 + 8 + 16, DISK_TOUCH_S = 60, DISK_POLL_MS = 2, DISK_TRIES = 100 };

struct rt_disk *
rt_disk_create(void)
{
    struct rt_disk *disk = sp_alloc(sizeof *disk);
    memset(disk, 0, sizeof *disk);
    pthread_mutex_init(&disk->lock, NULL);
    disk->pid = getpid();
    disk->path = disk_find_path();
    disk->cap_B = RT_DISK_CAP_B;
    const char *text = getenv("GPUJIT_CACHE_BYTES");
    char *end = NULL;
    unsigned long long cap_B = text ? strtoull(text, &end, 10) : 0;
    if (text && *text >= '0' && *text <= '9' && !*end)
        disk->cap_B = cap_B;
    return disk;
}

void
rt_disk_destroy(struct rt_disk *disk)
{
    if (!disk)
        return;
    pthread_mutex_destroy(&disk->lock);
    free(disk->path);
    free(disk->text);
    free(disk);
}

const char *
rt_disk_path(const struct rt_disk *disk)
{
    return disk->path;
}

uint64_t
rt_disk_cap_B(const struct rt_disk *disk)
{
    return disk->cap_B;
}

bool
rt_disk_take_warning(struct rt_disk *disk, enum sp_warning_code *code_out, char **text_out)
{
    disk_enter(disk);
    char *text = disk->text;
    disk->text = NULL;
    *code_out = disk->code;
    disk_leave(disk);
    *text_out = text;
    return text != NULL;
}

/* ---- One file ---- */

static struct sp_digest
disk_checksum(struct sp_digest key, const void *bytes, size_t size_B)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    sp_hash_add(&hash, disk_magic, sizeof disk_magic);
    sp_hash_add(&hash, key.bytes, sizeof key.bytes);
    sp_hash_add_u64(&hash, size_B);
    sp_hash_add(&hash, bytes, size_B);
    return sp_hash_end(&hash);
}

/* The bytes behind the head, if the file is whole and of this key. */
static const char *
disk_open_file(const struct sp_str *file, struct sp_digest key, size_t *size_B_out)
{
    if (file->len < DISK_HEAD_B || memcmp(file->data, disk_magic, sizeof disk_magic) ||
        memcmp(file->data + 8, key.bytes, sizeof key.bytes))
        return NULL;
    struct sp_reader reader;
    sp_reader_init(&reader, file->data + 24, 8);
    const char *bytes = file->data + DISK_HEAD_B;
    size_t size_B = file->len - DISK_HEAD_B;
    struct sp_digest sum = disk_checksum(key, bytes, size_B);
    if (sp_get_u64(&reader) != size_B || memcmp(file->data + 32, sum.bytes, sizeof sum.bytes))
        return NULL;
    *size_B_out = size_B;
    return bytes;
}

static void
disk_touch(int folder, const char *name, const struct stat *info)
{
    if (time(NULL) - info->st_mtim.tv_sec > DISK_TOUCH_S)
        (void)utimensat(folder, name, NULL, 0);
}

bool
rt_disk_get(struct rt_disk *disk, struct sp_digest key, struct sp_str *bytes_out)
{
    int folder = disk_open(disk, false);
    if (folder < 0)
        return false;
    char name[48];
    struct stat info;
    struct sp_str file;
    size_t size_B = 0;
    const char *bytes = NULL;
    sp_str_init(&file);
    disk_print_name(key, "", DISK_SUFFIX, name);
    if (disk_read_file(folder, name, &file, &info))
        bytes = disk_open_file(&file, key, &size_B);
    if (bytes) {
        if (size_B)
            sp_str_add_n(bytes_out, bytes, size_B);
        disk_touch(folder, name, &info);
    }
    sp_str_finish(&file);
    close(folder);
    return bytes != NULL;
}

static bool
disk_write_all(int fd, const char *bytes, size_t size_B)
{
    for (size_t n = 0; n < size_B;) {
        ssize_t put = write(fd, bytes + n, size_B - n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        n += (size_t)put;
    }
    return true;
}

/* A name that no other writer has, but in another container, or one that was killed. */
static void
disk_print_tmp(struct rt_disk *disk, struct sp_digest key, char name[100])
{
    char start[48];
    disk_print_name(key, ".", "", start);
    disk_enter(disk);
    uint32_t n = disk->n_written++;
    disk_leave(disk);
    snprintf(name, 100, "%s.%ld.%p.%u" DISK_TMP, start, (long)getpid(), (void *)disk, n);
}

static bool
disk_write(struct rt_disk *disk, int folder, struct sp_digest key, const struct sp_str *file)
{
    char tmp[100], name[48];
    int fd = -1;
    disk_print_name(key, "", DISK_SUFFIX, name);
    for (int tries = 0; tries < DISK_TRIES && fd < 0; tries++) {
        disk_print_tmp(disk, key, tmp);
        fd = openat(folder, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return false;
    bool ok = disk_write_all(fd, file->data, file->len);
    int error = errno;
    if (close(fd) && ok) {
        ok = false;
        error = errno;
    }
    if (ok && renameat(folder, tmp, folder, name)) {
        ok = false;
        error = errno;
    }
    if (!ok)
        unlinkat(folder, tmp, 0);
    errno = error;
    return ok;
}

/* Measures the folder now and then: at the first file of a process, and after a sixteenth of what
 * it may hold. */
static bool
disk_is_due(struct rt_disk *disk, size_t size_B)
{
    disk_enter(disk);
    disk->unseen_B += size_B;
    bool due = !disk->measured || disk->unseen_B > disk->cap_B / 16;
    if (due) {
        disk->measured = true;
        disk->unseen_B = 0;
    }
    disk_leave(disk);
    return due;
}

bool
rt_disk_put(struct rt_disk *disk, struct sp_digest key, const void *bytes, size_t size_B)
{
    disk_enter(disk);
    bool vain = disk->writing_is_vain || size_B + DISK_HEAD_B > disk->cap_B;
    disk_leave(disk);
    int folder = vain ? -1 : disk_open(disk, true);
    if (folder < 0)
        return false;
    struct sp_str file;
    struct sp_digest sum = disk_checksum(key, bytes, size_B);
    sp_str_init(&file);
    sp_str_add_n(&file, disk_magic, sizeof disk_magic);
    sp_str_add_n(&file, key.bytes, sizeof key.bytes);
    sp_put_u64(&file, size_B);
    sp_str_add_n(&file, sum.bytes, sizeof sum.bytes);
    if (size_B)
        sp_str_add_n(&file, bytes, size_B);
    bool ok = disk_write(disk, folder, key, &file);
    if (!ok) {
        int error = errno;
        disk_warn(disk, SP_W_CACHE_UNWRITABLE, strerror(error));
        disk_enter(disk);
        disk->writing_is_vain = error == EROFS || error == EACCES || error == EPERM;
        disk_leave(disk);
    }
    sp_str_finish(&file);
    close(folder);
    if (ok && disk_is_due(disk, size_B))
        rt_disk_prune(disk, disk->cap_B);
    return ok;
}

bool
rt_disk_remove(struct rt_disk *disk, struct sp_digest key)
{
    char name[48];
    int folder = disk_open(disk, false);
    disk_print_name(key, "", DISK_SUFFIX, name);
    bool ok = folder >= 0 && unlinkat(folder, name, 0) == 0;
    if (folder >= 0)
        close(folder);
    return ok;
}

/* ---- Locks ---- */

/* flock tells others by the open file, also after the holder forked; it ends with the process. */
enum rt_disk_lock
rt_disk_lock(struct rt_disk *disk, struct sp_digest key, int timeout_ms, int *lock_out)
{
    char name[48];
    int folder = disk_open(disk, true);
    if (folder < 0)
        return RT_DISK_NO_LOCK;
    disk_print_name(key, ".", DISK_LOCK, name);
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(folder);
    if (fd < 0)
        return RT_DISK_NO_LOCK;
    int waited_ms = 0;
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || waited_ms >= timeout_ms) {
            bool busy = errno == EWOULDBLOCK;
            close(fd);
            return busy ? RT_DISK_BUSY : RT_DISK_NO_LOCK;
        }
        nanosleep(&(struct timespec){.tv_nsec = DISK_POLL_MS * 1000000L}, NULL);
        waited_ms += DISK_POLL_MS;
    }
    *lock_out = fd;
    return RT_DISK_LOCKED;
}

void
rt_disk_unlock(struct rt_disk *disk, struct sp_digest key, int lock)
{
    char name[48];
    int folder = disk_open(disk, false);
    disk_print_name(key, ".", DISK_LOCK, name);
    if (folder >= 0) {
        unlinkat(folder, name, 0); /* while it is held: who waits has this file open already */
        close(folder);
    }
    flock(lock, LOCK_UN);
    close(lock);
}

/* ---- All files ---- */

struct disk_file {
    char name[48];
    struct sp_digest key;
    uint64_t size_B;
    struct timespec used;
};

struct disk_files {
    SP_VEC(struct disk_file) list;
    uint64_t size_B;
};

/* Files that a writer or a holder of a lock left behind. */
static void
disk_sweep(int folder, const char *name, const struct stat *info)
{
    size_t len = strlen(name);
    bool left = name[0] == '.' && len > 5 &&
                (!strcmp(name + len - 4, DISK_TMP) || !strcmp(name + len - 5, DISK_LOCK));
    if (left && time(NULL) - info->st_mtim.tv_sec > DISK_STALE_S)
        unlinkat(folder, name, 0);
}

static bool
disk_list(int folder, struct disk_files *files)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (struct dirent *at; (at = readdir(dir));) {
        struct stat info;
        struct disk_file file;
        if (fstatat(folder, at->d_name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
            continue;
        if (!disk_parse_name(at->d_name, &file.key)) {
            disk_sweep(folder, at->d_name, &info);
            continue;
        }
        disk_print_name(file.key, "", DISK_SUFFIX, file.name);
        file.size_B = (uint64_t)info.st_size;
        file.used = info.st_mtim;
        files->size_B += file.size_B;
        sp_vec_push(NULL, &files->list, file);
    }
    closedir(dir);
    return true;
}

bool
rt_disk_each(struct rt_disk *disk, void (*each)(void *context, const struct rt_disk_entry *entry),
             void *context)
{
    struct disk_files files = {0};
    int folder = disk_open(disk, false);
    bool ok = folder >= 0 && disk_list(folder, &files);
    for (uint32_t i = 0; ok && i < files.list.len; i++) {
        const struct disk_file *found = &files.list.data[i];
        struct rt_disk_entry entry = {
            .key = found->key, .size_B = found->size_B, .used_s = found->used.tv_sec};
        struct stat info;
        struct sp_str file;
        sp_str_init(&file);
        memcpy(entry.name, found->name, sizeof entry.name);
        if (disk_read_file(folder, found->name, &file, &info))
            entry.bytes = disk_open_file(&file, found->key, &entry.n_bytes);
        entry.whole = entry.bytes != NULL;
        each(context, &entry);
        sp_str_finish(&file);
    }
    sp_vec_finish(&files.list);
    if (folder >= 0)
        close(folder);
    return ok;
}

static int
disk_older(const void *a, const void *b)
{
    const struct timespec *x = &((const struct disk_file *)a)->used;
    const struct timespec *y = &((const struct disk_file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

uint32_t
rt_disk_prune(struct rt_disk *disk, uint64_t cap_B)
{
    struct disk_files files = {0};
    uint32_t n_removed = 0;
    int folder = disk_open(disk, false);
    if (folder < 0)
        return 0;
    if (disk_list(folder, &files) && files.size_B > cap_B) {
        qsort(files.list.data, files.list.len, sizeof *files.list.data, disk_older);
        for (uint32_t i = 0; i < files.list.len && files.size_B > cap_B; i++) {
            files.size_B -= files.list.data[i].size_B;
            n_removed += unlinkat(folder, files.list.data[i].name, 0) == 0;
        }
    }
    sp_vec_finish(&files.list);
    close(folder);
    return n_removed;
}
