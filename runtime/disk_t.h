/* What disk.c and disk_folder.c share. */
#ifndef RT_DISK_T_H
#define RT_DISK_T_H

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/disk.h"

#define DISK_SUFFIX ".gpujit"
#define DISK_TMP ".tmp"
#define DISK_LOCK ".lock"
#define DISK_STALE_S 3600 /* files of writers that are gone by then */

struct rt_disk {
    char *path; /* "": none */
    uint64_t cap_B;
    pid_t pid;            /* whose lock it is */
    pthread_mutex_t lock; /* of everything below */
    bool warned;          /* one reason was given, or waits to be taken */
    enum sp_warning_code code;
    char *text;           /* waits to be taken */
    bool writing_is_vain; /* nobody can write there */
    uint64_t unseen_B;    /* written since the folder was measured last */
    bool measured;
    uint32_t n_written; /* names files that are being written */
};

/* In a child after fork, which has one thread, another one of the parent's may have the lock. */
static inline void
disk_enter(struct rt_disk *disk)
{
    if (__builtin_expect(disk->pid != getpid(), 0)) {
        pthread_mutex_init(&disk->lock, NULL);
        disk->pid = getpid();
    }
    pthread_mutex_lock(&disk->lock);
}

static inline void
disk_leave(struct rt_disk *disk)
{
    pthread_mutex_unlock(&disk->lock);
}

/* disk_folder.c */
char *disk_find_path(void);
/* The folder, opened and found to be ours alone; -1: there is none, or it is refused. `make`: it is
 * made where it is missing. */
int disk_open(struct rt_disk *disk, bool make);
void disk_warn(struct rt_disk *disk, enum sp_warning_code code, const char *why);
void disk_print_name(struct sp_digest key, const char *before, const char *after, char name[48]);
bool disk_parse_name(const char *name, struct sp_digest *key_out);
/* The file's bytes, added to `out`. */
bool disk_read_file(int folder, const char *name, struct sp_str *out, struct stat *info_out);

#endif
