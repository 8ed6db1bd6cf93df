/* release: memory of arrays that died, given back when no kernel can use it any more.
 *
 * The driver's free waits by itself. On the CPU device a wait inside a destructor could not be
 * interrupted, and a temporary array in a launch would make every launch wait; so memory that may still
 * be in use is kept in a list, which the next wait empties. When the list grows large the destructor
 * waits after all. What a wait finds out here is raised by the next one that can raise. */
#include "pymod/pm.h"

#include <stdlib.h>

#define RELEASE_MOST_B ((uint64_t)256 << 20)

struct pm_garbage {
    struct pm_garbage *next;
    struct rt_device *dev;
    uint64_t address;
};

static void
release_keep(struct pm_state *state, struct sp_diag *diag)
{
    if (state->pending.code == SP_OK)
        state->pending = *diag;
    else
        sp_diag_finish(diag);
}

static void
release_free(struct pm_state *state, struct rt_device *dev, uint64_t address)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_free(dev, address, &diag);
    Py_END_ALLOW_THREADS
    if (!ok)
        release_keep(state, &diag);
}

void
pm_release_all(struct pm_state *state)
{
    struct pm_garbage *garbage = state->garbage;
    state->garbage = NULL;
    state->garbage_B = 0;
    while (garbage) {
        struct pm_garbage *next = garbage->next;
        release_free(state, garbage->dev, garbage->address);
        free(garbage);
        garbage = next;
    }
}

void
pm_release(struct pm_state *state, struct rt_device *dev, uint64_t address, uint64_t size_B)
{
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool done = true;
    if (rt_device_info(dev)->kind == RT_CPU && !rt_device_wait(dev, NULL, 0, &done, &diag)) {
        release_keep(state, &diag);
        done = true; /* it fails only once all is over */
    }
    if (done || state->garbage_B > RELEASE_MOST_B) {
        release_free(state, dev, address);
        pm_release_all(state);
        return;
    }
    struct pm_garbage *garbage = sp_alloc(sizeof *garbage);
    *garbage = (struct pm_garbage){.next = state->garbage, .dev = dev, .address = address};
    state->garbage = garbage;
    state->garbage_B += size_B;
}
