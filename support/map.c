/* map: open addressing with linear probing, at most three quarters full.
 *
 * Keys are byte strings compared by length and content; a u64 or a struct without padding is a key
 * by its bytes. Nothing is removed: every user interns. The hash is FNV-1a with a final mix. */
#include "support/map.h"

#include <stdlib.h>
#include <string.h>

static uint32_t
map_hash(const unsigned char *key, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ key[i]) * 16777619u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ (h >> 13);
}

void
sp_map_init(struct sp_map *map)
{
    *map = (struct sp_map){0};
}

void
sp_map_finish(struct sp_map *map)
{
    free(map->slots);
    sp_map_init(map);
}

void
sp_map_copy(struct sp_map *map, const struct sp_map *from)
{
    *map = *from;
    if (!from->cap)
        return;
    map->slots = sp_alloc(from->cap * sizeof *map->slots);
    memcpy(map->slots, from->slots, from->cap * sizeof *map->slots);
}

/* The key's slot, or the free slot where it belongs. */
static struct sp_map_slot *
map_slot(const struct sp_map *map, const void *key, size_t len, uint32_t hash)
{
    uint32_t i = hash & (map->cap - 1);
    for (;; i = (i + 1) & (map->cap - 1)) {
        struct sp_map_slot *slot = &map->slots[i];
        if (!slot->key)
            return slot;
        if (slot->hash == hash && slot->len == len && (!len || memcmp(slot->key, key, len) == 0))
            return slot;
    }
}

static void
map_grow(struct sp_map *map)
{
    struct sp_map old = *map;
    map->cap = old.cap ? old.cap * 2 : 16;
    map->slots = sp_alloc(map->cap * sizeof *map->slots);
    memset(map->slots, 0, map->cap * sizeof *map->slots);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.slots[i].key)
            *map_slot(map, old.slots[i].key, old.slots[i].len, old.slots[i].hash) = old.slots[i];
    free(old.slots);
}

uint32_t *
sp_map_find(const struct sp_map *map, const void *key, size_t len)
{
    if (!map->cap)
        return NULL;
    struct sp_map_slot *slot = map_slot(map, key, len, map_hash(key, len));
    return slot->key ? &slot->value : NULL;
}

uint32_t *
sp_map_intern(struct sp_map *map, struct sp_arena *arena, const void *key, size_t len, bool *is_new)
{
    if (map->len + 1 > map->cap / 4 * 3)
        map_grow(map);
    uint32_t hash = map_hash(key, len);
    struct sp_map_slot *slot = map_slot(map, key, len, hash);
    *is_new = !slot->key;
    if (*is_new) {
        *slot = (struct sp_map_slot){
            .key = sp_arena_copy(arena, key, len), .len = (uint32_t)len, .hash = hash};
        map->len++;
    }
    return &slot->value;
}
