/* pool_order: when memory that was freed may be used again. In: blocks as they are freed, marks
 * behind the work that uses them. Out: blocks in the bins of a stream, numbered by their freeing.
 *
 * A block whose only user is its own stream is free at once; the stream remembers by number which
 * of its freed blocks a reached mark covers. A block that others use waits among the pending, the
 * oldest first, until the marks of all are reached. A mark that cannot be set now (the stream is
 * being captured) is tried again. Streams that are destroyed leave a mark behind, and the default
 * stream inherits their blocks. */
#include <stdlib.h>
#include <string.h>

#include "runtime/pool_t.h"
#include "support/arena.h"

struct pool_stream *
pool_default(const struct rt_pool *pool)
{
    struct pool_stream *stream = pool->streams;
    while (stream->next)
        stream = stream->next;
    return stream;
}

struct pool_stream *
pool_stream(const struct rt_pool *pool, rt_stream handle)
{
    if (pool->source.order != POOL_IN_ORDER || handle <= 1)
        return pool_default(pool);
    for (struct pool_stream *stream = pool->streams; stream; stream = stream->next)
        if (stream->handle == handle && !stream->gone)
            return stream;
    return NULL;
}

struct pool_stream *
pool_stream_new(rt_stream handle)
{
    struct pool_stream *stream = sp_alloc(sizeof *stream);
    memset(stream, 0, sizeof *stream);
    stream->handle = handle;
    return stream;
}

void
pool_drop_uses(struct rt_pool *pool, struct pool_block *block)
{
    for (uint32_t i = 0; i < block->uses.len; i++)
        if (block->uses.data[i].marked)
            pool->source.unmark(pool->source.context, block->uses.data[i].mark);
    block->uses.len = 0;
}

/* Nothing uses the block but earlier work of its home. Without caching it is given back later. */
static void
block_release(struct rt_pool *pool, struct pool_block *block)
{
    const struct pool_source *source = &pool->source;
    struct pool_stream *home = block->home;
    if (block->exported && source->renew)
        source->renew(source->context, block->address, block->size_B);
    block->exported = false;
    block->number = home ? ++home->n_freed : 0;
    pool_put(pool, block, home ? home : pool_default(pool));
}

/* False: not all of the block's uses are over. */
static bool
block_is_over(struct rt_pool *pool, struct pool_block *block)
{
    const struct pool_source *source = &pool->source;
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->uses.len; i++) {
        struct pool_use use = block->uses.data[i];
        if (!use.marked)
            use.marked = source->mark(source->context, use.stream, &use.mark);
        if (use.marked && source->reached(source->context, use.mark))
            source->unmark(source->context, use.mark);
        else
            block->uses.data[n++] = use;
    }
    block->uses.len = n;
    return n == 0;
}

static void
pending_remove(struct rt_pool *pool, struct pool_block *block)
{
    if (block->prev)
        block->prev->next = block->next;
    else
        pool->pending = block->next;
    if (block->next)
        block->next->prev = block->prev;
    else
        pool->pending_last = block->prev;
    pool->stats.pending_B -= block->size_B;
}

void
pool_reap(struct rt_pool *pool, uint32_t max_looks, uint64_t over)
{
    if (pool->n_deferring && !over)
        return;
    for (struct pool_block *block = pool->pending, *next; block && max_looks--; block = next) {
        next = block->next;
        if (block->number <= over)
            pool_drop_uses(pool, block);
        else if (!block_is_over(pool, block))
            continue;
        pending_remove(pool, block);
        block_release(pool, block);
    }
}

/* Everything of a destroyed stream is idle: the default stream takes it over. */
static void
stream_end(struct rt_pool *pool, struct pool_stream **at)
{
    struct pool_stream *stream = *at, *heir = pool_default(pool);
    *at = stream->next;
    if (stream->marked)
        pool->source.unmark(pool->source.context, stream->mark);
    for (int large = 0; large < 2; large++)
        for (uint32_t bin = 0; bin < POOL_N_BINS; bin++)
            while (stream->bins[large].first[bin]) {
                struct pool_block *block = stream->bins[large].first[bin];
                pool_unlink(block);
                block->number = 0;
                pool_put(pool, block, heir);
            }
    for (struct pool_block *block = pool->pending; block; block = block->next)
        if (block->home == stream)
            block->home = NULL;
    free(stream);
}

void
pool_settle_stream(struct rt_pool *pool, struct pool_stream *stream, bool set)
{
    const struct pool_source *source = &pool->source;
    if (!stream->marked && set && !stream->gone && stream->n_over < stream->n_freed) {
        stream->marked = source->mark(source->context, stream->handle, &stream->mark);
        stream->n_marked = stream->n_freed;
    }
    if (stream->marked && source->reached(source->context, stream->mark)) {
        source->unmark(source->context, stream->mark);
        stream->marked = false;
        if (stream->n_over < stream->n_marked)
            stream->n_over = stream->n_marked;
    }
}

void
pool_settle(struct rt_pool *pool)
{
    for (struct pool_stream **at = &pool->streams; *at;) {
        pool_settle_stream(pool, *at, false);
        if ((*at)->gone && (*at)->n_over == (*at)->n_freed)
            stream_end(pool, at);
        else
            at = &(*at)->next;
    }
}

uint64_t
pool_before_wait(struct rt_pool *pool)
{
    for (struct pool_stream *stream = pool->streams; stream; stream = stream->next)
        stream->n_waited = stream->n_freed;
    return pool->n_pending_ever;
}

void
pool_after_wait(struct rt_pool *pool, uint64_t over)
{
    pool_reap(pool, UINT32_MAX, over);
    for (struct pool_stream *stream = pool->streams; stream; stream = stream->next)
        if (stream->n_over < stream->n_waited)
            stream->n_over = stream->n_waited;
    pool_settle(pool);
}

/* With the lock held. */
static void
pool_pend(struct rt_pool *pool, struct pool_block *block)
{
    block->state = POOL_PENDING;
    block->number = ++pool->n_pending_ever;
    block->next = NULL;
    block->prev = pool->pending_last;
    if (block->prev)
        block->prev->next = block;
    else
        pool->pending = block;
    pool->pending_last = block;
    pool->stats.pending_B += block->size_B;
}

bool
rt_pool_free(struct rt_pool *pool, uint64_t address)
{
    if (!address)
        return true;
    pthread_mutex_lock(&pool->lock);
    struct pool_block *block = pool_live_find(pool, address);
    if (block) {
        pool_live_remove(pool, block);
        pool->stats.in_use_B -= block->size_B;
        pool->stats.n_live--;
        pool_reap(pool, POOL_MAX_LOOKS, 0);
        if (!pool->n_deferring && block_is_over(pool, block))
            block_release(pool, block);
        else
            pool_pend(pool, block);
    }
    bool keeps = !block || pool->caching;
    pthread_mutex_unlock(&pool->lock);
    if (!keeps)
        rt_pool_trim(pool, 0);
    return block != NULL;
}

bool
rt_pool_use(struct rt_pool *pool, uint64_t address, rt_stream stream, rt_stream *home_out,
            bool *has_home_out)
{
    if (stream <= 1)
        stream = 0;
    pthread_mutex_lock(&pool->lock);
    struct pool_block *block = pool_live_find(pool, address);
    if (!block)
        block = pool_block_at(pool, address);
    bool is_new = block && pool->source.order != POOL_MARKED &&
                  !(block->home && block->home->handle == stream);
    for (uint32_t i = 0; is_new && i < block->uses.len; i++)
        is_new = block->uses.data[i].marked || block->uses.data[i].stream != stream;
    if (is_new) {
        sp_vec_push(NULL, &block->uses, (struct pool_use){.stream = stream});
        *has_home_out = block->home != NULL;
        *home_out = block->home ? block->home->handle : 0;
    }
    pthread_mutex_unlock(&pool->lock);
    return is_new;
}

void
rt_pool_know(struct rt_pool *pool, rt_stream stream)
{
    pthread_mutex_lock(&pool->lock);
    if (!pool_stream(pool, stream)) {
        struct pool_stream *known = pool_stream_new(stream);
        known->next = pool->streams;
        pool->streams = known;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* With the lock held: the uses of a stream get their marks while it is there; those that are over
 * go, so that memory which outlives many streams keeps nothing of them. */
static void
pool_mark_uses(struct rt_pool *pool, struct pool_block *block, struct pool_stream *known,
               rt_stream handle)
{
    const struct pool_source *source = &pool->source;
    if (block->home && block->home == known && block->state == POOL_USED) {
        block->home = NULL;
        sp_vec_push(NULL, &block->uses, (struct pool_use){.stream = handle});
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->uses.len; i++) {
        struct pool_use use = block->uses.data[i];
        if (use.stream == handle && !use.marked)
            use.marked = source->mark(source->context, handle, &use.mark);
        if (use.marked && source->reached(source->context, use.mark))
            source->unmark(source->context, use.mark);
        else
            block->uses.data[n++] = use;
    }
    block->uses.len = n;
}

void
rt_pool_forget(struct rt_pool *pool, rt_stream handle)
{
    if (pool->source.order == POOL_MARKED || handle <= 1)
        return;
    pthread_mutex_lock(&pool->lock);
    struct pool_stream *stream = pool_stream(pool, handle);
    if (pool->source.order != POOL_IN_ORDER)
        stream = NULL;
    for (struct pool_segment *segment = pool->segments; segment; segment = segment->next)
        for (struct pool_block *block = segment->first; block; block = block->after)
            pool_mark_uses(pool, block, stream, handle);
    if (stream) {
        if (stream->marked && stream->n_marked < stream->n_freed) {
            pool->source.unmark(pool->source.context, stream->mark);
            stream->marked = false;
        }
        pool_settle_stream(pool, stream, true);
        stream->gone = true;
        pool_settle(pool);
    }
    pthread_mutex_unlock(&pool->lock);
}
