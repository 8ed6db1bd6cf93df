/* A hash map from byte strings to 32-bit numbers: interning of constants, types, names, keys. */
#ifndef SP_MAP_H
#define SP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"

struct sp_map_slot {
    const void *key; /* NULL: free */
    uint32_t len;
    uint32_t hash;
    uint32_t value;
};

struct sp_map {
    struct sp_map_slot *slots; /* on the heap */
    uint32_t cap;              /* 0 or a power of two */
    uint32_t len;
};

void sp_map_init(struct sp_map *map);
void sp_map_finish(struct sp_map *map);

/* Copies every entry; the keys stay shared, so `from`'s key memory must outlive the copy. */
void sp_map_copy(struct sp_map *map, const struct sp_map *from);

/* The address of the key's value, or NULL. */
uint32_t *sp_map_find(const struct sp_map *map, const void *key, size_t len);

/* The address of the key's value. A new key is copied to `arena` with value 0 and sets
 * `*is_new`. */
uint32_t *sp_map_intern(struct sp_map *map, struct sp_arena *arena, const void *key, size_t len,
                        bool *is_new);

#endif
