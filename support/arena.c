/* arena: chunks of doubling size, a request larger than a chunk gets one of its own.
 *
 * In: sizes. Out: zeroed memory that lives as long as the arena. A compilation allocates everything
 * from one arena, so that errors may return from anywhere without cleaning up. Lost alternative:
 * malloc per node, which costs more than the passes that use the nodes. */
#include "support/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN 16u
#define ARENA_FIRST_CHUNK_B 16384u
#define ARENA_LARGEST_CHUNK_B (1u << 20)

struct sp_arena_chunk {
    struct sp_arena_chunk *older;
    size_t size_B;
    _Alignas(ARENA_ALIGN) char data[];
};

void
sp_out_of_memory(size_t size_B)
{
    fprintf(stderr, "gpujit: out of memory (%zu bytes asked for)\n", size_B);
    abort();
}

void *
sp_alloc(size_t size_B)
{
    void *memory = malloc(size_B ? size_B : 1);
    if (!memory)
        sp_out_of_memory(size_B);
    return memory;
}

void *
sp_realloc(void *old, size_t size_B)
{
    void *memory = realloc(old, size_B ? size_B : 1);
    if (!memory)
        sp_out_of_memory(size_B);
    return memory;
}

void
sp_arena_init(struct sp_arena *arena)
{
    *arena = (struct sp_arena){0};
}

void
sp_arena_finish(struct sp_arena *arena)
{
    struct sp_arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct sp_arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    sp_arena_init(arena);
}

static void
arena_grow(struct sp_arena *arena, size_t size_B)
{
    size_t chunk_B = arena->chunks ? arena->chunks->size_B * 2 : ARENA_FIRST_CHUNK_B;
    if (chunk_B > ARENA_LARGEST_CHUNK_B)
        chunk_B = ARENA_LARGEST_CHUNK_B;
    if (chunk_B < size_B)
        chunk_B = size_B;
    struct sp_arena_chunk *chunk = sp_alloc(sizeof *chunk + chunk_B);
    chunk->older = arena->chunks;
    chunk->size_B = chunk_B;
    arena->chunks = chunk;
    arena->next = chunk->data;
    arena->end = chunk->data + chunk_B;
}

void *
sp_arena_alloc(struct sp_arena *arena, size_t size_B)
{
    if (size_B > SIZE_MAX / 2)
        sp_out_of_memory(size_B);
    if (!size_B)
        size_B = 1;
    size_B = (size_B + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if ((size_t)(arena->end - arena->next) < size_B)
        arena_grow(arena, size_B);
    void *memory = arena->next;
    arena->next += size_B;
    return memset(memory, 0, size_B);
}

void *
sp_arena_copy(struct sp_arena *arena, const void *from, size_t size_B)
{
    void *to = sp_arena_alloc(arena, size_B);
    if (size_B)
        memcpy(to, from, size_B);
    return to;
}

char *
sp_arena_strndup(struct sp_arena *arena, const char *text, size_t len)
{
    char *copy = sp_arena_alloc(arena, len + 1);
    if (len)
        memcpy(copy, text, len);
    return copy;
}

char *
sp_arena_strdup(struct sp_arena *arena, const char *text)
{
    return sp_arena_strndup(arena, text, strlen(text));
}

char *
sp_arena_printf(struct sp_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return sp_arena_strdup(arena, "");
    char *text = sp_arena_alloc(arena, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}
