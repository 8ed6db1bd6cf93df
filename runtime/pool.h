/* The pool of memory that each device keeps between its users and the driver: pool.c. */
#ifndef RT_POOL_H
#define RT_POOL_H

#include "runtime/rt.h"

enum pool_answer { POOL_OK, POOL_FULL, POOL_FAILED };

/* When memory that was freed may be used again. */
enum pool_order {
    POOL_IN_ORDER, /* on its own stream at once; on others when a mark is reached */
    POOL_MARKED, /* when a mark is reached that was set as it was freed: the host touches it too */
    POOL_NOTED,  /* the same, but only streams that were noted have used it */
};

/* Where a pool's memory comes from. `free` and `renew` may not fail; none may call the pool. */
struct pool_source {
    void *context;
    const char *what; /* of messages: "GPU", "host" */
    enum pool_order order;
    uint64_t round_B; /* all sizes are multiples of it */
    /* FULL without a diagnostic, FAILED with one. */
    enum pool_answer (*alloc)(void *context, uint64_t size_B, uint64_t *address_out,
                              struct sp_diag *diag);
    void (*free)(void *context, uint64_t address, uint64_t size_B);
    /* A mark behind all work of the stream; false: not now (try again later). */
    bool (*mark)(void *context, rt_stream stream, uint64_t *mark_out);
    bool (*reached)(void *context, uint64_t mark);
    void (*unmark)(void *context, uint64_t mark);
    /* Waits for all work of the device; false if that cannot be. */
    bool (*wait)(void *context);
    void (*info)(void *context, uint64_t *free_B_out, uint64_t *total_B_out);
    /* Before exported memory is used again; NULL: nothing to do. */
    void (*renew)(void *context, uint64_t address, uint64_t size_B);
};

/* The source is copied. `caching` false: every allocation is one of the source's (for tools that
 * watch the borders of allocations). */
struct rt_pool *rt_pool_create(const struct pool_source *source, bool caching);
/* All of its memory goes back, also what is in use. */
void rt_pool_destroy(struct rt_pool *pool);
/* In a child after a fork: locks as new. */
void rt_pool_mend(struct rt_pool *pool);

SP_MUST_CHECK bool rt_pool_alloc(struct rt_pool *pool, uint64_t size_B, rt_stream stream,
                                 uint64_t *address_out, struct sp_diag *diag);
/* Only from what the pool has: neither asks the source nor waits. */
SP_MUST_CHECK bool rt_pool_try(struct rt_pool *pool, uint64_t size_B, rt_stream stream,
                               uint64_t *address_out);
/* False: the address is not one that the pool gave, or was freed. */
SP_MUST_CHECK bool rt_pool_free(struct rt_pool *pool, uint64_t address);
/* Work of the stream uses the memory: it is kept until that is over. True where that is new;
 * `*home_out` is then the stream whose earlier work may still use it, if `*has_home_out`. */
bool rt_pool_use(struct rt_pool *pool, uint64_t address, rt_stream stream, rt_stream *home_out,
                 bool *has_home_out);
/* A stream whose work is in order and that will be forgotten before it is destroyed; others than
 * these and the default stream are asked for a mark whenever their memory is freed. */
void rt_pool_know(struct rt_pool *pool, rt_stream stream);
void rt_pool_forget(struct rt_pool *pool, rt_stream stream);
/* Other processes have the memory: renewed before it is used again. */
void rt_pool_export(struct rt_pool *pool, uint64_t address);
/* The allocation that an address lies in; false if there is none. Takes its time. */
bool rt_pool_find(struct rt_pool *pool, uint64_t address, uint64_t *base_out, uint64_t *size_B_out);
/* Gives back what is not in use until at most so many bytes are reserved; returns how many it
 * gave. */
uint64_t rt_pool_trim(struct rt_pool *pool, uint64_t keep_B);
void rt_pool_set_limit(struct rt_pool *pool, uint64_t limit_B); /* 0: none */
/* Between begin and end what is freed stays as it is; nests. */
void rt_pool_defer(struct rt_pool *pool, bool begin);
void rt_pool_get_stats(struct rt_pool *pool, struct rt_pool_stats *stats_out);
void rt_pool_reset_peak(struct rt_pool *pool);

#endif
