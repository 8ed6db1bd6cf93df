/* The inside of a pool, shared by pool.c, pool_order.c and pool_block.c. */
#ifndef RT_POOL_T_H
#define RT_POOL_T_H

#include <pthread.h>

#include "runtime/pool.h"
#include "support/vec.h"

#define POOL_SMALL_B ((uint64_t)1 << 20)   /* up to here out of small segments */
#define POOL_MIDDLE_B ((uint64_t)10 << 20) /* from here on a segment of its own */
#define POOL_SEGMENT_B ((uint64_t)2 << 20) /* a small segment; large ones are multiples */
#define POOL_MIDDLE_SEGMENT_B ((uint64_t)20 << 20)
#define POOL_N_BINS 256
#define POOL_N_BUCKETS 64
#define POOL_MAX_LOOKS 4 /* at marks, when nothing is missed */

enum pool_state { POOL_USED, POOL_PENDING, POOL_FREE };

/* Work of a stream that uses a block. */
struct pool_use {
    rt_stream stream;
    uint64_t mark;
    bool marked;
};

struct pool_segment {
    struct pool_segment *next, **at; /* of all, and who points here */
    uint64_t address, size_B;
    bool large;
    struct pool_block *first;
};

struct pool_block {
    uint64_t address, size_B, asked_B;
    struct pool_segment *segment;
    struct pool_block *before, *after; /* neighbours in the segment */
    struct pool_block *next, *prev;    /* in its bin, or among the pending */
    struct pool_block *chain;          /* of the table of what is in use */
    struct pool_stream *home;          /* whose order counts; NULL: none, all are in `uses` */
    uint64_t number;                   /* FREE: of the freeing on its stream; PENDING: of all */
    enum pool_state state;
    bool exported;
    SP_VEC(struct pool_use) uses; /* beside home */
};

struct pool_stream {
    struct pool_stream *next;
    rt_stream handle;
    bool gone;         /* destroyed: its blocks wait for the mark */
    uint64_t n_freed;  /* freeings so far */
    uint64_t n_over;   /* of these, the first so many are idle: anybody's */
    uint64_t n_waited; /* as a wait for everything began */
    bool marked;       /* `mark` was set behind the first `n_marked` */
    uint64_t mark, n_marked;
    struct pool_bins {
        uint64_t occupied[POOL_N_BINS / 64];
        struct pool_block *first[POOL_N_BINS];
    } bins[2]; /* of small and of large segments */
};

struct rt_pool {
    struct pool_source source;
    bool caching;
    pthread_mutex_t waiting;     /* one wait for everything at a time; taken before `lock` */
    pthread_mutex_t lock;        /* of everything below */
    struct pool_stream *streams; /* the default one last */
    struct pool_segment *segments;
    struct pool_block *pending, *pending_last;
    struct pool_block *spare; /* structs to be used again, by `next` */
    struct pool_block **buckets;
    uint32_t n_buckets, n_live;
    uint32_t n_deferring;
    uint64_t n_pending_ever;
    uint64_t limit_B;
    struct rt_pool_stats stats;
};

/* pool_block.c. All with the lock held. */
uint64_t pool_segment_size(const struct rt_pool *pool, uint64_t size_B);
/* Memory of the source becomes one block that is in nobody's bins. */
struct pool_block *pool_add_segment(struct rt_pool *pool, uint64_t address, uint64_t segment_B,
                                    uint64_t size_B);
/* Out of the list of segments, its only block out of the bins; the caller frees both. */
void pool_remove_segment(struct rt_pool *pool, struct pool_segment *segment);
/* A block of the stream that is large enough, out of its bins; only what is idle, if so. */
struct pool_block *pool_take(struct pool_stream *stream, uint64_t size_B, bool idle);
/* Whether the stream has one that is not idle. */
bool pool_has(const struct pool_stream *stream, uint64_t size_B);
/* Cuts off what is too much and puts it in the stream's bins. */
void pool_split(struct rt_pool *pool, struct pool_block *block, uint64_t size_B,
                struct pool_stream *stream);
/* Joins a block with free neighbours of the same stream and puts it in that stream's bins. */
void pool_put(struct rt_pool *pool, struct pool_block *block, struct pool_stream *stream);
void pool_unlink(struct pool_block *block);
/* The table of what is in use. */
void pool_live_add(struct rt_pool *pool, struct pool_block *block);
struct pool_block *pool_live_find(const struct rt_pool *pool, uint64_t address);
/* What is in use around an address, or NULL. Takes its time. */
struct pool_block *pool_block_at(const struct rt_pool *pool, uint64_t address);
void pool_live_remove(struct rt_pool *pool, struct pool_block *block);

/* pool_order.c. All with the lock held. */
struct pool_stream *pool_default(const struct rt_pool *pool);
/* NULL: a stream of which nothing is known. All are one where nobody's order counts. */
struct pool_stream *pool_stream(const struct rt_pool *pool, rt_stream handle);
struct pool_stream *pool_stream_new(rt_stream handle);
void pool_drop_uses(struct rt_pool *pool, struct pool_block *block);
/* Looks at so many pending blocks, the oldest first. Those up to number `over` are taken to be
 * so. */
void pool_reap(struct rt_pool *pool, uint32_t max_looks, uint64_t over);
/* Sees whether the stream's mark is reached; sets one if there is none, so that what was freed
 * becomes anybody's. */
void pool_settle_stream(struct rt_pool *pool, struct pool_stream *stream, bool set);
/* The same for all streams, without setting marks; destroyed ones end. */
void pool_settle(struct rt_pool *pool);
/* Around a wait for all work: what was freed before it is idle. */
uint64_t pool_before_wait(struct rt_pool *pool);
void pool_after_wait(struct rt_pool *pool, uint64_t over);

static inline bool
pool_is_large(uint64_t size_B)
{
    return size_B > POOL_SMALL_B;
}

#endif
