/* A bump allocator: everything allocated from an arena is freed with it, nothing one by one. */
#ifndef SP_ARENA_H
#define SP_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct sp_arena_chunk;

struct sp_arena {
    struct sp_arena_chunk *chunks; /* newest first */
    char *next;                    /* first free byte of the newest chunk */
    char *end;
};

void sp_arena_init(struct sp_arena *arena);
void sp_arena_finish(struct sp_arena *arena);

/* Zeroed memory aligned for any scalar. Never NULL: see sp_out_of_memory. */
void *sp_arena_alloc(struct sp_arena *arena, size_t size_B);
void *sp_arena_copy(struct sp_arena *arena, const void *from, size_t size_B);
char *sp_arena_strdup(struct sp_arena *arena, const char *text);
char *sp_arena_strndup(struct sp_arena *arena, const char *text, size_t len);
char *sp_arena_printf(struct sp_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define SP_NEW(arena, type) ((type *)sp_arena_alloc((arena), sizeof(type)))
#define SP_NEW_N(arena, type, n) ((type *)sp_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* The process heap with the same promise: never NULL. `size_B` 0 is allowed. */
void *sp_alloc(size_t size_B);
void *sp_realloc(void *old, size_t size_B);

/* Memory is gone: says so on stderr and ends the process, as CPython's own fatal error does. No
 * input of ordinary size reaches it; sizes that users choose are checked before allocation. */
_Noreturn void sp_out_of_memory(size_t size_B);

#endif
