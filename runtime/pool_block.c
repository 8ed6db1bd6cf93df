/* pool_block: the blocks of a pool. A segment is memory as the source gave it; blocks divide it
 * without holes and know their neighbours. What is free lies in bins by size, four to each power of
 * two, one set of bins per stream and for small and large segments, so that small blocks which live
 * long do not hold large segments. A bit says which bins have blocks: taking one looks at some of
 * the bin that the size falls in, and else takes the first of the next bin with any. A block that
 * is put back joins neighbours of the same stream.
 *
 * Lists by size (a tree) would find the best fit; bins lose at most a fifth and nothing is looked
 * for. */
#include <stdlib.h>
#include <string.h>

#include "runtime/pool_t.h"
#include "support/arena.h"

#define BLOCK_MAX_TRIES 32 /* in the bin whose blocks may be too small */

static uint32_t
block_bin(uint64_t size_B)
{
    uint32_t log = 63 - (uint32_t)__builtin_clzll(size_B | 16);
    return log * 4 + (uint32_t)(size_B >> (log - 2) & 3);
}

static struct pool_block *
block_new(struct rt_pool *pool)
{
    struct pool_block *block = pool->spare;
    if (!block) {
        block = sp_alloc(sizeof *block);
        return memset(block, 0, sizeof *block);
    }
    pool->spare = block->next;
    SP_VEC(struct pool_use) uses = {block->uses.data, 0, block->uses.cap};
    memset(block, 0, sizeof *block);
    memcpy(&block->uses, &uses, sizeof uses);
    return block;
}

static void
block_drop(struct rt_pool *pool, struct pool_block *block)
{
    block->next = pool->spare;
    pool->spare = block;
}

uint64_t
pool_segment_size(const struct rt_pool *pool, uint64_t size_B)
{
    if (!pool->caching)
        return size_B;
    if (!pool_is_large(size_B))
        return POOL_SEGMENT_B;
    if (size_B < POOL_MIDDLE_B)
        return POOL_MIDDLE_SEGMENT_B;
    return (size_B + POOL_SEGMENT_B - 1) / POOL_SEGMENT_B * POOL_SEGMENT_B;
}

struct pool_block *
pool_add_segment(struct rt_pool *pool, uint64_t address, uint64_t segment_B, uint64_t size_B)
{
    struct pool_segment *segment = sp_alloc(sizeof *segment);
    struct pool_block *block = block_new(pool);
    *segment = (struct pool_segment){.next = pool->segments,
                                     .at = &pool->segments,
                                     .address = address,
                                     .size_B = segment_B,
                                     .large = pool_is_large(size_B),
                                     .first = block};
    if (pool->segments)
        pool->segments->at = &segment->next;
    pool->segments = segment;
    block->address = address;
    block->size_B = segment_B;
    block->segment = segment;
    return block;
}

void
pool_remove_segment(struct rt_pool *pool, struct pool_segment *segment)
{
    struct pool_block *block = segment->first;
    *segment->at = segment->next;
    if (segment->next)
        segment->next->at = segment->at;
    if (block->state == POOL_FREE)
        pool_unlink(block);
    block_drop(pool, block);
}

static void
block_link(struct pool_block *block, struct pool_stream *stream)
{
    uint32_t bin = block_bin(block->size_B);
    struct pool_bins *bins = &stream->bins[block->segment->large];
    block->home = stream;
    block->state = POOL_FREE;
    block->prev = NULL;
    block->next = bins->first[bin];
    if (block->next)
        block->next->prev = block;
    bins->first[bin] = block;
    bins->occupied[bin / 64] |= (uint64_t)1 << bin % 64;
}

void
pool_unlink(struct pool_block *block)
{
    uint32_t bin = block_bin(block->size_B);
    struct pool_bins *bins = &block->home->bins[block->segment->large];
    if (block->next)
        block->next->prev = block->prev;
    if (block->prev)
        block->prev->next = block->next;
    else
        bins->first[bin] = block->next;
    if (!bins->first[bin])
        bins->occupied[bin / 64] &= ~((uint64_t)1 << bin % 64);
}

/* The first bin from this one on that has blocks, or POOL_N_BINS. */
static uint32_t
block_next_bin(const struct pool_bins *bins, uint32_t bin)
{
    for (uint32_t word = bin / 64; word < POOL_N_BINS / 64; word++) {
        uint64_t bits = bins->occupied[word];
        if (word == bin / 64)
            bits &= ~(uint64_t)0 << bin % 64;
        if (bits)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return POOL_N_BINS;
}

static struct pool_block *
block_find(const struct pool_stream *stream, uint64_t size_B, bool idle)
{
    const struct pool_bins *bins = &stream->bins[pool_is_large(size_B)];
    uint32_t bin = block_next_bin(bins, block_bin(size_B));
    for (; bin < POOL_N_BINS; bin = block_next_bin(bins, bin + 1)) {
        struct pool_block *block = bins->first[bin];
        for (uint32_t i = 0; block && i < BLOCK_MAX_TRIES; i++, block = block->next)
            if (block->size_B >= size_B && (!idle || block->number <= stream->n_over))
                return block;
        if (bin == POOL_N_BINS - 1)
            break;
    }
    return NULL;
}

struct pool_block *
pool_take(struct pool_stream *stream, uint64_t size_B, bool idle)
{
    struct pool_block *block = block_find(stream, size_B, idle);
    if (block)
        pool_unlink(block);
    return block;
}

bool
pool_has(const struct pool_stream *stream, uint64_t size_B)
{
    return block_find(stream, size_B, false) != NULL;
}

void
pool_split(struct rt_pool *pool, struct pool_block *block, uint64_t size_B,
           struct pool_stream *stream)
{
    uint64_t rest_B = block->size_B - size_B;
    uint64_t least_B = block->segment->large ? POOL_SMALL_B : 0;
    if (!pool->caching || rest_B <= least_B)
        return;
    struct pool_block *rest = block_new(pool);
    rest->address = block->address + size_B;
    rest->size_B = rest_B;
    rest->segment = block->segment;
    rest->number = block->number;
    rest->before = block;
    rest->after = block->after;
    if (rest->after)
        rest->after->before = rest;
    block->after = rest;
    block->size_B = size_B;
    block_link(rest, stream);
}

/* The right one is swallowed. */
static void
block_join(struct rt_pool *pool, struct pool_block *left, struct pool_block *right)
{
    left->size_B += right->size_B;
    left->after = right->after;
    if (left->after)
        left->after->before = left;
    if (right->number > left->number)
        left->number = right->number;
    block_drop(pool, right);
}

void
pool_put(struct rt_pool *pool, struct pool_block *block, struct pool_stream *stream)
{
    struct pool_block *before = block->before, *after = block->after;
    if (after && after->state == POOL_FREE && after->home == stream) {
        pool_unlink(after);
        block_join(pool, block, after);
    }
    if (before && before->state == POOL_FREE && before->home == stream) {
        pool_unlink(before);
        block_join(pool, before, block);
        block = before;
    }
    block_link(block, stream);
}

static uint32_t
live_bucket(const struct rt_pool *pool, uint64_t address)
{
    return (uint32_t)(address * 0x9e3779b97f4a7c15u >> 32) & (pool->n_buckets - 1);
}

void
pool_live_add(struct rt_pool *pool, struct pool_block *block)
{
    if (pool->n_live >= pool->n_buckets) {
        uint32_t n_old = pool->n_buckets;
        struct pool_block **old = pool->buckets;
        pool->n_buckets = n_old ? 2 * n_old : POOL_N_BUCKETS;
        pool->buckets = sp_alloc(pool->n_buckets * sizeof *pool->buckets);
        memset(pool->buckets, 0, pool->n_buckets * sizeof *pool->buckets);
        pool->n_live = 0;
        for (uint32_t i = 0; i < n_old; i++)
            for (struct pool_block *next, *moved = old[i]; moved; moved = next) {
                next = moved->chain;
                pool_live_add(pool, moved);
            }
        free(old);
    }
    uint32_t bucket = live_bucket(pool, block->address);
    block->chain = pool->buckets[bucket];
    pool->buckets[bucket] = block;
    pool->n_live++;
}

struct pool_block *
pool_live_find(const struct rt_pool *pool, uint64_t address)
{
    if (!pool->n_buckets)
        return NULL;
    struct pool_block *block = pool->buckets[live_bucket(pool, address)];
    while (block && block->address != address)
        block = block->chain;
    return block;
}

struct pool_block *
pool_block_at(const struct rt_pool *pool, uint64_t address)
{
    for (struct pool_segment *segment = pool->segments; segment; segment = segment->next) {
        if (address - segment->address >= segment->size_B)
            continue;
        struct pool_block *block = segment->first;
        while (address - block->address >= block->size_B)
            block = block->after;
        return block->state == POOL_USED ? block : NULL;
    }
    return NULL;
}

void
pool_live_remove(struct rt_pool *pool, struct pool_block *block)
{
    struct pool_block **at = &pool->buckets[live_bucket(pool, block->address)];
    while (*at != block)
        at = &(*at)->chain;
    *at = block->chain;
    pool->n_live--;
}
