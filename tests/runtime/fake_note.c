/* The stand-in's notes of launches and of streams that wait for each other, in their order. Python
 * asks for them as a text such as "w 0x77 0x0; l 0x0", and begins anew; nothing is noted before. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tests/runtime/fake_cuda.h"

static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;
static char notes[4096], taken[4096];
static size_t n_notes;
static _Atomic(bool) noting;

void
fake_note(char what, CUstream a, CUstream b)
{
    if (!noting)
        return;
    pthread_mutex_lock(&note_lock);
    size_t room = sizeof notes - n_notes;
    int n = what == 'w' ? snprintf(notes + n_notes, room, "w 0x%zx 0x%zx; ", (size_t)a, (size_t)b)
                        : snprintf(notes + n_notes, room, "%c 0x%zx; ", what, (size_t)a);
    if ((size_t)n < room)
        n_notes += (size_t)n;
    else
        notes[n_notes] = '\0';
    pthread_mutex_unlock(&note_lock);
}

const char *fake_take_notes(void);
void fake_set_busy(int busy);
void fake_set_reuse(int reuse);

/* For Python: see struct fake_cuda. */
void
fake_set_busy(int busy)
{
    fake_cuda()->busy = busy;
}

void
fake_set_reuse(int reuse)
{
    fake_cuda()->reuses_streams = reuse;
}

const char *
fake_take_notes(void)
{
    pthread_mutex_lock(&note_lock);
    snprintf(taken, sizeof taken, "%s", notes);
    notes[0] = '\0';
    n_notes = 0;
    noting = true;
    pthread_mutex_unlock(&note_lock);
    return taken;
}
