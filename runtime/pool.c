/* pool: device memory that is handed out and taken back without asking the driver. In: a source of
 * memory (the driver, the host's pages). Out: blocks, and numbers about them.
 *
 * Freeing never waits. A block belongs to the stream that it was asked for on, whose order makes it
 * safe to hand out again there at once: what uses it next is queued behind what used it last. For
 * other streams a mark (an event) is set behind the freed memory's work, not at each freeing but
 * when somebody could use the memory: whatever was freed before a mark that is reached is idle,
 * and anybody's. Blocks that further streams have used (rt_pool_use) get a mark on each as they are
 * freed and are pending until all are reached. So are all blocks of a source that the host touches
 * too (POOL_MARKED), whose order is not that of the streams.
 *
 * When the source has no more: what is idle goes back to it, then the device is waited for and all
 * pending memory goes back as well; only then it is an error, with the sizes.
 *
 * The lock is held for some hundred ns, and never while the source allocates, frees or waits.
 * Alternatives that lost: cuMemAllocAsync, which has no statistics before CUDA 11.2, knows nothing
 * of host memory and of the CPU device; a pool per thread, because arrays are freed by whichever
 * thread lets go of them. */
#include "runtime/pool.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/pool_t.h"
#include "support/arena.h"
#include "support/str.h"

struct rt_pool *
rt_pool_create(const struct pool_source *source, bool caching)
{
    struct rt_pool *pool = sp_alloc(sizeof *pool);
    memset(pool, 0, sizeof *pool);
    pool->source = *source;
    pool->caching = caching;
    pool->streams = pool_stream_new(0);
    pthread_mutex_init(&pool->waiting, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void
rt_pool_mend(struct rt_pool *pool)
{
    pthread_mutex_init(&pool->waiting, NULL);
    pthread_mutex_init(&pool->lock, NULL);
}

void
rt_pool_destroy(struct rt_pool *pool)
{
    const struct pool_source *source = &pool->source;
    for (struct pool_segment *segment = pool->segments, *next; segment; segment = next) {
        for (struct pool_block *block = segment->first, *after; block; block = after) {
            after = block->after;
            pool_drop_uses(pool, block);
            sp_vec_finish(&block->uses);
            free(block);
        }
        next = segment->next;
        source->free(source->context, segment->address, segment->size_B);
        free(segment);
    }
    for (struct pool_block *block = pool->spare, *next; block; block = next) {
        next = block->next;
        sp_vec_finish(&block->uses);
        free(block);
    }
    for (struct pool_stream *stream = pool->streams, *next; stream; stream = next) {
        next = stream->next;
        if (stream->marked)
            source->unmark(source->context, stream->mark);
        free(stream);
    }
    free(pool->buckets);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->waiting);
    free(pool);
}

/* ---- Allocating ----------------------------------------------------------------------------- */

/* With the lock held: a block from what is there, of whichever stream it was. */
static struct pool_block *
pool_find(struct rt_pool *pool, uint64_t size_B, struct pool_stream *own)
{
    struct pool_block *block = own ? pool_take(own, size_B, false) : NULL;
    if (!block && pool->source.order == POOL_IN_ORDER) {
        pool_settle(pool); /* which may have given the default stream something */
        block = own ? pool_take(own, size_B, false) : NULL;
    }
    if (block)
        pool_split(pool, block, size_B, own);
    if (block || pool->source.order != POOL_IN_ORDER)
        return block;
    for (struct pool_stream *stream = pool->streams; stream; stream = stream->next) {
        if (stream == own || !pool_has(stream, size_B))
            continue;
        block = pool_take(stream, size_B, true);
        if (!block) {
            pool_settle_stream(pool, stream, true);
            block = pool_take(stream, size_B, true);
        }
        if (block) {
            pool_split(pool, block, size_B, stream);
            return block;
        }
    }
    return NULL;
}

/* With the lock held. */
static void
pool_hand_out(struct rt_pool *pool, struct pool_block *block, uint64_t asked_B, rt_stream handle)
{
    struct pool_stream *own = pool_stream(pool, handle);
    struct rt_pool_stats *stats = &pool->stats;
    block->state = POOL_USED;
    block->asked_B = asked_B;
    block->home = pool->source.order == POOL_IN_ORDER ? own : NULL;
    if (!own || pool->source.order == POOL_MARKED)
        sp_vec_push(NULL, &block->uses, (struct pool_use){.stream = own ? 0 : handle});
    pool_live_add(pool, block);
    stats->n_live++;
    stats->in_use_B += block->size_B;
    if (stats->in_use_B > stats->peak_in_use_B)
        stats->peak_in_use_B = stats->in_use_B;
}

static uint64_t
pool_round(const struct rt_pool *pool, uint64_t size_B)
{
    uint64_t round_B = pool->source.round_B;
    return size_B > UINT64_MAX / 2 ? size_B : (size_B + round_B - 1) / round_B * round_B;
}

static bool
pool_try(struct rt_pool *pool, uint64_t asked_B, rt_stream handle, uint64_t *address_out)
{
    uint64_t size_B = pool_round(pool, asked_B);
    struct pool_stream *own = pool_stream(pool, handle);
    pool_reap(pool, POOL_MAX_LOOKS, 0);
    struct pool_block *block = pool_find(pool, size_B, own);
    if (!block && pool->pending) {
        pool_reap(pool, UINT32_MAX, 0);
        block = pool_find(pool, size_B, own);
    }
    if (!block)
        return false;
    pool_hand_out(pool, block, asked_B, handle);
    pool->stats.n_hits++;
    *address_out = block->address;
    return true;
}

bool
rt_pool_try(struct rt_pool *pool, uint64_t size_B, rt_stream stream, uint64_t *address_out)
{
    if (size_B == 0) {
        *address_out = 0;
        return true;
    }
    pthread_mutex_lock(&pool->lock);
    bool ok = pool->caching && pool_try(pool, size_B, stream, address_out);
    pthread_mutex_unlock(&pool->lock);
    return ok;
}

/* With the lock held, which is let go meanwhile: a segment of the source. */
static enum pool_answer
pool_ask(struct rt_pool *pool, uint64_t segment_B, uint64_t *address_out, struct sp_diag *diag)
{
    struct rt_pool_stats *stats = &pool->stats;
    if (pool->limit_B &&
        (stats->reserved_B >= pool->limit_B || segment_B > pool->limit_B - stats->reserved_B))
        return POOL_FULL;
    stats->reserved_B += segment_B;
    pthread_mutex_unlock(&pool->lock);
    enum pool_answer answer =
        pool->source.alloc(pool->source.context, segment_B, address_out, diag);
    pthread_mutex_lock(&pool->lock);
    if (answer == POOL_OK)
        stats->n_driver_allocs++;
    else
        stats->reserved_B -= segment_B;
    if (stats->reserved_B > stats->peak_reserved_B)
        stats->peak_reserved_B = stats->reserved_B;
    return answer;
}

/* With the lock held, which is let go meanwhile. */
static uint64_t
pool_give_back(struct rt_pool *pool, uint64_t keep_B)
{
    struct pool_segment *doomed = NULL;
    const struct pool_source *source = &pool->source;
    uint64_t given_B = 0;
    pool_settle(pool);
    for (struct pool_segment *segment = pool->segments, *next; segment; segment = next) {
        next = segment->next;
        if (segment->first->state != POOL_FREE || segment->first->after ||
            pool->stats.reserved_B <= keep_B)
            continue;
        pool_remove_segment(pool, segment);
        pool->stats.reserved_B -= segment->size_B;
        pool->stats.n_driver_frees++;
        given_B += segment->size_B;
        segment->next = doomed;
        doomed = segment;
    }
    pthread_mutex_unlock(&pool->lock);
    for (struct pool_segment *next; doomed; doomed = next) {
        next = doomed->next;
        source->free(source->context, doomed->address, doomed->size_B);
        free(doomed);
    }
    pthread_mutex_lock(&pool->lock);
    return given_B;
}

/* With the lock held, which is let go meanwhile. What a wait covers is noted in the streams as it
 * begins, so another one begins when it is over. */
static bool
pool_wait(struct rt_pool *pool)
{
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_lock(&pool->waiting);
    pthread_mutex_lock(&pool->lock);
    uint64_t over = pool_before_wait(pool);
    pthread_mutex_unlock(&pool->lock);
    bool ok = pool->source.wait(pool->source.context);
    pthread_mutex_lock(&pool->lock);
    if (ok)
        pool_after_wait(pool, over);
    pthread_mutex_unlock(&pool->waiting);
    return ok;
}

static bool
pool_no_memory(struct rt_pool *pool, uint64_t size_B, struct sp_diag *diag)
{
    uint64_t free_B = 0, total_B = 0;
    struct rt_pool_stats stats;
    struct sp_str text;
    rt_pool_get_stats(pool, &stats);
    pool->source.info(pool->source.context, &free_B, &total_B);
    sp_str_init(&text);
    sp_str_printf(&text, "%llu of %llu bytes are free, %llu are in arrays, the pool keeps %llu",
                  (unsigned long long)free_B, (unsigned long long)total_B,
                  (unsigned long long)stats.in_use_B,
                  (unsigned long long)(stats.reserved_B - stats.in_use_B));
    bool limited = stats.limit_B && stats.reserved_B + size_B > stats.limit_B;
    if (limited)
        sp_str_printf(&text, ", its limit is %llu", (unsigned long long)stats.limit_B);
    sp_diag_set(diag, SP_E_NO_MEMORY, NULL, (long long)size_B, pool->source.what, text.data);
    sp_str_finish(&text);
    return limited ? sp_diag_hint(diag, "gpu.memory.set_limit(0) takes the limit away") : false;
}

bool
rt_pool_alloc(struct rt_pool *pool, uint64_t asked_B, rt_stream handle, uint64_t *address_out,
              struct sp_diag *diag)
{
    if (rt_pool_try(pool, asked_B, handle, address_out))
        return true;
    uint64_t size_B = pool_round(pool, asked_B), address = 0;
    uint64_t segment_B = size_B > UINT64_MAX / 2 ? size_B : pool_segment_size(pool, size_B);
    enum pool_answer answer = POOL_FULL;
    bool ok = false;
    pthread_mutex_lock(&pool->lock);
    pool->stats.n_misses++;
    for (int step = 0; step < 4 && !ok; step++) {
        answer = pool_ask(pool, segment_B, &address, diag);
        if (answer != POOL_FULL)
            break;
        if (step == 0) {
            segment_B = size_B;
        } else if (step == 1) {
            pool_reap(pool, UINT32_MAX, 0);
            pool_give_back(pool, 0);
        } else if (step == 2) {
            pool->stats.n_retries++;
            if (pool_wait(pool))
                pool_give_back(pool, 0);
        }
        ok = pool->caching && pool_try(pool, asked_B, handle, address_out);
    }
    if (answer == POOL_OK) {
        struct pool_stream *own = pool_stream(pool, handle);
        struct pool_block *block = pool_add_segment(pool, address, segment_B, size_B);
        pool_split(pool, block, size_B, own ? own : pool_default(pool));
        pool_hand_out(pool, block, asked_B, handle);
        *address_out = address;
        ok = true;
    }
    pthread_mutex_unlock(&pool->lock);
    if (answer == POOL_FAILED)
        return false;
    return ok || pool_no_memory(pool, asked_B, diag);
}

/* ---- Limits and numbers ---------------------------------------------------------------------- */

void
rt_pool_export(struct rt_pool *pool, uint64_t address)
{
    pthread_mutex_lock(&pool->lock);
    struct pool_block *block = pool_live_find(pool, address);
    if (block)
        block->exported = true;
    pthread_mutex_unlock(&pool->lock);
}

bool
rt_pool_find(struct rt_pool *pool, uint64_t address, uint64_t *base_out, uint64_t *size_B_out)
{
    pthread_mutex_lock(&pool->lock);
    struct pool_block *found = pool_block_at(pool, address);
    bool used = found && address - found->address < found->asked_B;
    if (used)
        *base_out = found->address, *size_B_out = found->asked_B;
    pthread_mutex_unlock(&pool->lock);
    return used;
}

uint64_t
rt_pool_trim(struct rt_pool *pool, uint64_t keep_B)
{
    pthread_mutex_lock(&pool->lock);
    pool_reap(pool, UINT32_MAX, 0);
    uint64_t given_B = pool_give_back(pool, keep_B);
    pthread_mutex_unlock(&pool->lock);
    return given_B;
}

void
rt_pool_set_limit(struct rt_pool *pool, uint64_t limit_B)
{
    pthread_mutex_lock(&pool->lock);
    pool->limit_B = pool->stats.limit_B = limit_B;
    pthread_mutex_unlock(&pool->lock);
}

void
rt_pool_defer(struct rt_pool *pool, bool begin)
{
    pthread_mutex_lock(&pool->lock);
    if (begin)
        pool->n_deferring++;
    else if (--pool->n_deferring == 0)
        pool_reap(pool, UINT32_MAX, 0);
    if (!pool->caching && !pool->n_deferring)
        pool_give_back(pool, 0);
    pthread_mutex_unlock(&pool->lock);
}

void
rt_pool_get_stats(struct rt_pool *pool, struct rt_pool_stats *stats_out)
{
    pthread_mutex_lock(&pool->lock);
    *stats_out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
}

void
rt_pool_reset_peak(struct rt_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stats.peak_in_use_B = pool->stats.in_use_B;
    pool->stats.peak_reserved_B = pool->stats.reserved_B;
    pthread_mutex_unlock(&pool->lock);
}
