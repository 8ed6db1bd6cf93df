/* print: what kernels have printed, from the buffer that they write (struct sp_printer) to the
 * host.
 *
 * A buffer fills from its first word on. Its owner reads it whenever it likes: records whose head
 * is written are copied, each run of one artifact's as a struct rt_print, which keeps the artifact;
 * an unwritten head ends the reading. Once no launch that prints is running the buffer is cleared
 * and begins anew, so space is never used again under a running kernel. A ring, the alternative,
 * needs every thread to know how far the host has read, and loses its place where records were
 * lost. */
#include <stdlib.h>
#include <string.h>

#include "runtime/rt_t.h"
#include "support/arena.h"

#define PRINT_DEFAULT_B ((uint64_t)4 << 20)
#define PRINT_LEAST_B ((uint64_t)4096)
#define PRINT_MOST_B ((uint64_t)1 << 30)

uint64_t
rt_print_capacity(void)
{
    const char *text = getenv("GPUJIT_PRINT_BYTES");
    bool is_number = text && *text && !text[strspn(text, "0123456789")];
    uint64_t size_B = is_number ? strtoull(text, NULL, 10) : PRINT_DEFAULT_B;
    size_B = size_B < PRINT_LEAST_B ? PRINT_LEAST_B : size_B;
    return (size_B > PRINT_MOST_B ? PRINT_MOST_B : size_B) / sizeof(uint64_t);
}

void
rt_prints_free(struct rt_print *first)
{
    while (first) {
        struct rt_print *next = first->next;
        sp_artifact_destroy(first->artifact);
        free(first->words);
        free(first);
        first = next;
    }
}

static struct rt_print *
print_append(struct rt_print_buffer *buffer, struct artifact *artifact)
{
    struct rt_print *print = sp_alloc(sizeof *print);
    memset(print, 0, sizeof *print);
    print->artifact = artifact ? sp_artifact_share(artifact) : NULL;
    if (buffer->last)
        buffer->last->next = print;
    else
        buffer->first = print;
    return buffer->last = print;
}

static void
print_copy(struct rt_print *print, const uint64_t *words, size_t n)
{
    print->words = sp_alloc(n * sizeof *words);
    memcpy(print->words, words, n * sizeof *words);
    print->n_words = n;
}

void
rt_print_read(struct rt_print_buffer *buffer, rt_print_owner *owner, void *context)
{
    struct artifact *artifact = NULL;
    uint64_t from = buffer->n_read;
    while (buffer->n_read < buffer->capacity) {
        uint64_t head = __atomic_load_n(&buffer->words[buffer->n_read], __ATOMIC_ACQUIRE);
        struct artifact *of = head ? owner(context, SP_PRINT_LAUNCH(head)) : NULL;
        if (artifact && of != artifact)
            print_copy(print_append(buffer, artifact), buffer->words + from, buffer->n_read - from);
        if (of != artifact)
            from = buffer->n_read;
        artifact = of;
        if (!head)
            return;
        buffer->n_read += 1 + SP_PRINT_N_VALUES(head);
    }
    if (artifact)
        print_copy(print_append(buffer, artifact), buffer->words + from, buffer->n_read - from);
}

void
rt_print_clear(struct rt_print_buffer *buffer, uint64_t n_lost)
{
    memset(buffer->words, 0, buffer->n_read * sizeof *buffer->words);
    buffer->n_read = 0;
    if (!n_lost)
        return;
    struct rt_print *lost = print_append(buffer, NULL);
    lost->n_lost = n_lost;
    lost->capacity_B = buffer->capacity * sizeof *buffer->words;
}

struct rt_print *
rt_print_take(struct rt_print_buffer *buffer)
{
    struct rt_print *first = buffer->first;
    buffer->first = buffer->last = NULL;
    return first;
}
