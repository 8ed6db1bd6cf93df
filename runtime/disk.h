/* The disk cache: files of bytes by a key, shared by processes. What the bytes mean is their
 * owner's.
 *
 * All functions may be called from any thread, touch files and may block for some milliseconds;
 * whoever holds the GIL drops it around them. Nothing here is an error to the caller: what cannot
 * be read is a miss, what cannot be written is not kept, and the first reason is there to be shown
 * once. */
#ifndef RT_DISK_H
#define RT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/hash.h"
#include "support/str.h"
#include "support/warning.h"

#define RT_DISK_CAP_B ((uint64_t)512 << 20) /* where GPUJIT_CACHE_BYTES says nothing */

struct rt_disk;

/* The folder is GPUJIT_CACHE_DIR, else gpujit in XDG_CACHE_HOME or ~/.cache; none if the variable
 * is empty or there is no home. Looks at nothing yet. */
struct rt_disk *rt_disk_create(void);
void rt_disk_destroy(struct rt_disk *disk);
const char *rt_disk_path(const struct rt_disk *disk); /* "": nothing is kept */
uint64_t rt_disk_cap_B(const struct rt_disk *disk);

/* What is kept under the key; false if there is nothing, or nothing that is whole. `bytes_out` is
 * initialised; it is empty after a miss. */
bool rt_disk_get(struct rt_disk *disk, struct sp_digest key, struct sp_str *bytes_out);
/* Keeps the bytes, in the place of what was there. False if that was not possible. */
bool rt_disk_put(struct rt_disk *disk, struct sp_digest key, const void *bytes, size_t size_B);

/* So that of many processes one compiles. */
enum rt_disk_lock {
    RT_DISK_LOCKED,  /* until rt_disk_unlock */
    RT_DISK_BUSY,    /* somebody else has it still */
    RT_DISK_NO_LOCK, /* nobody can be kept out here */
};
enum rt_disk_lock rt_disk_lock(struct rt_disk *disk, struct sp_digest key, int timeout_ms,
                               int *lock_out);
void rt_disk_unlock(struct rt_disk *disk, struct sp_digest key, int lock);

/* True at most once: what keeps the cache from working. The text is the caller's to free. */
bool rt_disk_take_warning(struct rt_disk *disk, enum sp_warning_code *code_out, char **text_out);

struct rt_disk_entry {
    char name[48];
    struct sp_digest key; /* as the name says */
    bool whole;           /* its bytes are what was written under this key */
    uint64_t size_B;      /* of the file */
    int64_t used_s;       /* last use, seconds since 1970 */
    const void *bytes;    /* of a whole one; valid during the call */
    size_t n_bytes;
};
/* Calls `each` for every entry, in no order. False if the folder cannot be read. */
bool rt_disk_each(struct rt_disk *disk,
                  void (*each)(void *context, const struct rt_disk_entry *entry), void *context);
/* Removes the entries that were used longest ago until no more than `cap_B` are left, and what
 * writers left behind that are gone. Returns how many entries it removed. */
uint32_t rt_disk_prune(struct rt_disk *disk, uint64_t cap_B);
/* Removes this entry. */
bool rt_disk_remove(struct rt_disk *disk, struct sp_digest key);

#endif
