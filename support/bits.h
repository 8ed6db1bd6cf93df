/* A set of small numbers on an arena. */
#ifndef SP_BITS_H
#define SP_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"

struct sp_bits {
    uint64_t *words;
    uint32_t n; /* members are below n */
};

static inline void
sp_bits_init(struct sp_bits *bits, struct sp_arena *arena, uint32_t n)
{
    bits->words = SP_NEW_N(arena, uint64_t, (n + 63) / 64);
    bits->n = n;
}

static inline bool
sp_bits_has(const struct sp_bits *bits, uint32_t i)
{
    return i < bits->n && (bits->words[i / 64] >> (i % 64) & 1);
}

/* True if `i` was not in the set before. */
static inline bool
sp_bits_add(struct sp_bits *bits, uint32_t i)
{
    uint64_t bit = (uint64_t)1 << (i % 64);
    bool is_new = !(bits->words[i / 64] & bit);
    bits->words[i / 64] |= bit;
    return is_new;
}

static inline void
sp_bits_remove(struct sp_bits *bits, uint32_t i)
{
    bits->words[i / 64] &= ~((uint64_t)1 << (i % 64));
}

#endif
