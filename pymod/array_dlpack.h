/* Our arrays as DLPack's tensors, for array_dlpack.c and array_exchange.c. The structures are
 * DLPack's binary interface; struct pm_dl_tensor is in pm.h. */
#ifndef PM_ARRAY_DLPACK_H
#define PM_ARRAY_DLPACK_H

#include "pymod/pm.h"

enum { DL_MAJOR = 1, DL_MINOR = 1, DL_READ_ONLY = 1, DL_COPIED = 2 };

struct dl_legacy {
    struct pm_dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_legacy *self);
};
struct dl_version {
    uint32_t major, minor;
};
struct dl_managed {
    struct dl_version version;
    void *context;
    void (*deleter)(struct dl_managed *self);
    uint64_t flags;
    struct pm_dl_tensor tensor;
};

/* The tensor of an array, with room for 8 shapes and 8 strides. */
void pm_dl_describe(const struct pm_array *array, int64_t *shape, int64_t *strides,
                    struct pm_dl_tensor *out);
/* A tensor that keeps the array until its deleter is called, from any thread. Never NULL. */
struct dl_managed *pm_dl_managed(struct pm_array *array, uint64_t flags);
/* Memory of the host has no stream to wait in: what runs on the CPU device must be over. */
bool pm_dl_ready(struct pm_array *array);

#endif
