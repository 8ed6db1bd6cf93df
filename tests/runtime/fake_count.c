/* What the stand-in has recorded, by name, for tests in Python. */
#include <string.h>

#include "tests/runtime/fake_cuda.h"

long long fake_count(const char *name);

long long
fake_count(const char *name)
{
    const struct fake_cuda *fake = fake_cuda();
    const struct {
        const char *name;
        long long value;
    } counts[] = {
        {"syncs", fake->n_syncs},
        {"launches", fake->n_launches},
        {"event_waits", fake->n_event_waits},
        {"ordered_before", (long long)(uintptr_t)fake->ordered[0]},
        {"ordered_after", (long long)(uintptr_t)fake->ordered[1]},
        {"stream", (long long)(uintptr_t)fake->stream},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!strcmp(counts[i].name, name))
            return counts[i].value;
    return -1;
}
