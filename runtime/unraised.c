/* unraised: exceptions of kernels that a device has found and no thread of the host has raised yet.
 *
 * Each belongs to the thread that launched: its next wait raises it, whoever else waited before. A
 * thread that synchronises raises those of others too, a copy of the oldest that nobody has raised,
 * so that the results of a thread that never waits are not taken for whole. Several launches of one
 * thread give the first one's exception with notes on the others.
 *
 * Lost alternatives: one exception per device for whoever asks first, which leaves the thread whose
 * work failed without; owners alone, which hides the failures of threads that only launch. */
#include <string.h>

#include "runtime/rt_t.h"

#define UNRAISED_MAX 64 /* those that some thread has raised are forgotten from there on */

void
rt_unraised_finish(struct rt_unraised_list *list)
{
    for (uint32_t i = 0; i < list->all.len; i++)
        sp_diag_finish(&list->all.data[i].diag);
    sp_vec_finish(&list->all);
}

static void
unraised_remove(struct rt_unraised_list *list, uint32_t i)
{
    sp_diag_finish(&list->all.data[i].diag);
    list->all.len--;
    memmove(&list->all.data[i], &list->all.data[i + 1],
            (list->all.len - i) * sizeof list->all.data[0]);
}

struct sp_diag *
rt_unraised_of(struct rt_unraised_list *list, uint64_t thread)
{
    for (uint32_t i = 0; i < list->all.len; i++)
        if (list->all.data[i].thread == thread)
            return &list->all.data[i].diag;
    for (uint32_t i = 0; i < list->all.len && list->all.len >= UNRAISED_MAX; i++)
        if (list->all.data[i].shown)
            unraised_remove(list, i--);
    sp_vec_push(NULL, &list->all, (struct rt_unraised){.thread = thread});
    struct sp_diag *diag = &list->all.data[list->all.len - 1].diag;
    sp_diag_init(diag);
    return diag;
}

bool
rt_unraised_take(struct rt_unraised_list *list, const struct rt_wait *wait, struct sp_diag *diag)
{
    if (diag->code != SP_OK)
        return false; /* the first is kept; what is here waits for the next call */
    uint32_t other = list->all.len;
    for (uint32_t i = 0; i < list->all.len; i++) {
        struct rt_unraised *one = &list->all.data[i];
        if (one->thread == wait->thread) {
            (void)rt_diag_move(diag, &one->diag);
            unraised_remove(list, i);
            return false;
        }
        if (!one->shown && other == list->all.len)
            other = i;
    }
    if (wait->own_only || other == list->all.len)
        return true;
    list->all.data[other].shown = true;
    sp_diag_finish(diag);
    sp_diag_copy(diag, &list->all.data[other].diag);
    return sp_diag_note(diag, NULL, "launched by another thread of the host, which gets it too");
}
