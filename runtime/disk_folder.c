/* disk_folder: the folder of the disk cache: where it is, and whether it may be used.
 *
 * What is in the cache is loaded and run, so the folder must be the user's own and nobody else may
 * write there: it is made so, and refused with a warning where it is not. It is opened and checked
 * anew for every use and its files are named relative to that: a descriptor that was kept would be
 * closed by programs that close all of theirs (daemons), and would name something else then. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/disk_t.h"
#include "support/arena.h"

static char *
folder_join(const char *folder, const char *name)
{
    struct sp_str path;
    sp_str_init(&path);
    sp_str_printf(&path, "%s/%s", folder, name);
    return sp_str_take(&path);
}

char *
disk_find_path(void)
{
    const char *own = getenv("GPUJIT_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own) {
        char cwd[4096];
        if (!*own || *own == '/' || !getcwd(cwd, sizeof cwd))
            return strcpy(sp_alloc(strlen(own) + 1), own);
        return folder_join(cwd, own); /* programs change their folder */
    }
    if (xdg && *xdg == '/')
        return folder_join(xdg, "gpujit");
    if (home && *home == '/')
        return folder_join(home, ".cache/gpujit");
    return strcpy(sp_alloc(1), "");
}

void
disk_warn(struct rt_disk *disk, enum sp_warning_code code, const char *why)
{
    disk_enter(disk);
    if (!disk->warned) {
        disk->warned = true;
        disk->code = code;
        disk->text = sp_warning_text(code, disk->path, why);
    }
    disk_leave(disk);
}

/* Makes the folder and those above it that are missing, for their owner alone. */
static bool
folder_make(const char *path)
{
    char *part = strcpy(sp_alloc(strlen(path) + 1), path);
    bool ok = true;
    for (char *at = part + 1; ok; at++) {
        if (*at != '/' && *at)
            continue;
        bool last = !*at;
        *at = '\0';
        ok = mkdir(part, 0700) == 0 || errno == EEXIST || !last;
        if (last)
            break;
        *at = '/';
    }
    int error = errno;
    free(part);
    errno = error;
    return ok;
}

/* Whether a folder is ours; else `why` is what to say. */
static bool
folder_is_ours(const struct stat *info, struct sp_str *why)
{
    if (info->st_uid != geteuid())
        sp_str_printf(why, "it belongs to user %lu", (unsigned long)info->st_uid);
    else if (info->st_mode & 022)
        sp_str_printf(why, "others can write there (mode %03o): chmod 700 makes it yours",
                      (unsigned)info->st_mode & 0777);
    return !why->len;
}

int
disk_open(struct rt_disk *disk, bool make)
{
    if (!*disk->path)
        return -1;
    int fd = open(disk->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make) {
        if (folder_make(disk->path))
            fd = open(disk->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0) {
        if (make || errno != ENOENT)
            disk_warn(disk, SP_W_CACHE_UNUSABLE, strerror(errno));
        return -1;
    }
    struct stat info;
    struct sp_str why;
    sp_str_init(&why);
    bool ours = fstat(fd, &info) == 0 && folder_is_ours(&info, &why);
    if (!ours) {
        disk_warn(disk, SP_W_CACHE_REFUSED, why.data);
        close(fd);
        fd = -1;
    }
    sp_str_finish(&why);
    return fd;
}

void
disk_print_name(struct sp_digest key, const char *before, const char *after, char name[48])
{
    char hex[2 * sizeof key.bytes + 1];
    for (size_t i = 0; i < sizeof key.bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", key.bytes[i]);
    snprintf(name, 48, "%s%s%s", before, hex, after);
}

bool
disk_parse_name(const char *name, struct sp_digest *key_out)
{
    struct sp_digest key;
    for (size_t i = 0; i < sizeof key.bytes; i++) {
        unsigned byte;
        char pair[3] = {name[0], name[0] ? name[1] : '\0', '\0'};
        if (strspn(pair, "0123456789abcdef") != 2 || sscanf(pair, "%2x", &byte) != 1)
            return false;
        key.bytes[i] = (uint8_t)byte;
        name += 2;
    }
    if (strcmp(name, DISK_SUFFIX))
        return false;
    *key_out = key;
    return true;
}

bool
disk_read_file(int folder, const char *name, struct sp_str *out, struct stat *info_out)
{
    enum { MOST_B = 1 << 30 };
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool ok = fstat(fd, info_out) == 0 && S_ISREG(info_out->st_mode) &&
              info_out->st_uid == geteuid() && info_out->st_size <= MOST_B;
    size_t size_B = ok ? (size_t)info_out->st_size : 0, n = 0;
    char *bytes = sp_alloc(size_B + 1);
    while (n < size_B) {
        ssize_t got = read(fd, bytes + n, size_B - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    ok = ok && n == size_B;
    if (ok && size_B)
        sp_str_add_n(out, bytes, size_B);
    free(bytes);
    return ok;
}
