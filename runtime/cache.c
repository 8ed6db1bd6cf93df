/* cache: from the key of a launch to whatever its owner made for it. In: keys of 64-bit words.
 * Out: HIT with the value, MINE (make it), WAIT (another thread is making it).
 *
 * An open-addressing table of pointers to entries; entries never move and live as long as the
 * cache, so a reader needs two acquire loads and no lock: of the table's address and of the
 * slot. Writers hold the mutex. A table that is three quarters full is copied to one of twice
 * the size; the old one is kept until the cache ends, because a reader may still be in it (all
 * old tables together are smaller than the newest). An entry whose making failed stays in its
 * slot as VACANT and the next comer claims it; so does one whose maker is a thread of the process
 * that this one was forked from.
 *
 * Alternatives that lost: a read-write lock (its reader count is one contended cache line),
 * epochs or hazard pointers (entries die with the cache, so there is nothing to reclaim early),
 * handing the maker's diagnostic to all waiters (each must report against its own call, and a
 * second attempt at a failing compilation costs milliseconds in a case that is an error anyway). */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/rt_t.h"
#include "support/arena.h"
#include "support/hash.h"
#include "support/vec.h"

enum cache_state { CACHE_VACANT, CACHE_PENDING, CACHE_READY };

struct cache_entry {
    struct rt_key key;
    _Atomic(uint32_t) state; /* enum cache_state */
    void *value;             /* written before state becomes READY, never again */
};

struct cache_table {
    uint32_t cap; /* a power of two */
    uint32_t len; /* under the lock */
    _Atomic(struct cache_entry *) slots[];
};

struct rt_cache {
    _Atomic(struct cache_table *) table;
    void (*destroy)(void *value);
    _Atomic(pid_t) pid;   /* whose lock and makers they are: rt_mend_begin */
    pthread_mutex_t lock; /* of everything below, and of writing */
    pthread_cond_t published;
    SP_VEC(struct cache_table *) old;
    SP_VEC(struct cache_entry *) entries; /* all there ever were */
};

void
rt_key_fold(struct rt_key *key)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    sp_hash_add(&hash, key->words, key->n_words * sizeof key->words[0]);
    struct sp_digest digest = sp_hash_end(&hash);
    _Static_assert(sizeof digest == 2 * sizeof key->words[0], "a digest is two words");
    memcpy(key->words, &digest, sizeof digest);
    key->n_words = 2;
}

static bool
key_equal(const struct rt_key *a, const struct rt_key *b)
{
    return a->hash == b->hash && a->n_total == b->n_total &&
           !memcmp(a->words, b->words, a->n_words * sizeof a->words[0]);
}

static struct cache_table *
table_create(uint32_t cap)
{
    struct cache_table *table = sp_alloc(sizeof *table + cap * sizeof table->slots[0]);
    table->cap = cap;
    table->len = 0;
    for (uint32_t i = 0; i < cap; i++)
        atomic_init(&table->slots[i], NULL);
    return table;
}

static struct cache_entry *
table_find(struct cache_table *table, const struct rt_key *key)
{
    for (uint32_t i = (uint32_t)key->hash;; i++) {
        struct cache_entry *entry =
            atomic_load_explicit(&table->slots[i & (table->cap - 1)], memory_order_acquire);
        if (!entry || key_equal(&entry->key, key))
            return entry;
    }
}

static void
table_add(struct cache_table *table, struct cache_entry *entry)
{
    uint32_t i = (uint32_t)entry->key.hash;
    while (atomic_load_explicit(&table->slots[i & (table->cap - 1)], memory_order_relaxed))
        i++;
    atomic_store_explicit(&table->slots[i & (table->cap - 1)], entry, memory_order_release);
    table->len++;
}

struct rt_cache *
rt_cache_create(void (*destroy)(void *value))
{
    struct rt_cache *cache = sp_alloc(sizeof *cache);
    memset(cache, 0, sizeof *cache);
    atomic_init(&cache->table, table_create(8));
    cache->destroy = destroy;
    atomic_init(&cache->pid, getpid());
    pthread_mutex_init(&cache->lock, NULL);
    rt_cond_init(&cache->published);
    return cache;
}

/* In a child after a fork, whose parent's threads make what is pending: it is for the child to
 * make. */
static void
cache_lock(struct rt_cache *cache)
{
    if (atomic_load_explicit(&cache->pid, memory_order_acquire) != getpid() &&
        rt_mend_begin(&cache->pid)) {
        pthread_mutex_init(&cache->lock, NULL);
        rt_cond_init(&cache->published);
        for (uint32_t i = 0; i < cache->entries.len; i++)
            if (atomic_load(&cache->entries.data[i]->state) == CACHE_PENDING)
                atomic_store(&cache->entries.data[i]->state, CACHE_VACANT);
        rt_mend_end(&cache->pid);
    }
    pthread_mutex_lock(&cache->lock);
}

void
rt_cache_destroy(struct rt_cache *cache)
{
    if (!cache)
        return;
    for (uint32_t i = 0; i < cache->entries.len; i++) {
        struct cache_entry *entry = cache->entries.data[i];
        if (atomic_load(&entry->state) == CACHE_READY && cache->destroy)
            cache->destroy(entry->value);
        free(entry);
    }
    for (uint32_t i = 0; i < cache->old.len; i++)
        free(cache->old.data[i]);
    free(atomic_load(&cache->table));
    sp_vec_finish(&cache->entries);
    sp_vec_finish(&cache->old);
    pthread_cond_destroy(&cache->published);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* With the lock held. */
static struct cache_entry *
cache_insert(struct rt_cache *cache, const struct rt_key *key)
{
    struct cache_table *table = atomic_load_explicit(&cache->table, memory_order_relaxed);
    if ((table->len + 1) * 4 > table->cap * 3) {
        struct cache_table *bigger = table_create(table->cap * 2);
        for (uint32_t i = 0; i < table->cap; i++) {
            struct cache_entry *entry = atomic_load(&table->slots[i]);
            if (entry)
                table_add(bigger, entry);
        }
        sp_vec_push(NULL, &cache->old, table);
        atomic_store_explicit(&cache->table, bigger, memory_order_release);
        table = bigger;
    }
    struct cache_entry *entry = sp_alloc(sizeof *entry);
    entry->key = *key;
    entry->value = NULL;
    atomic_init(&entry->state, CACHE_PENDING);
    sp_vec_push(NULL, &cache->entries, entry);
    table_add(table, entry);
    return entry;
}

/* With the lock held. */
static enum rt_claim
cache_claim(struct rt_cache *cache, const struct rt_key *key, void **value_out)
{
    struct cache_entry *entry =
        table_find(atomic_load_explicit(&cache->table, memory_order_relaxed), key);
    if (!entry) {
        cache_insert(cache, key);
        return RT_MINE;
    }
    switch ((enum cache_state)atomic_load_explicit(&entry->state, memory_order_relaxed)) {
    case CACHE_READY: *value_out = entry->value; return RT_HIT;
    case CACHE_PENDING: return RT_WAIT;
    case CACHE_VACANT: break;
    }
    atomic_store_explicit(&entry->state, CACHE_PENDING, memory_order_relaxed);
    return RT_MINE;
}

enum rt_claim
rt_cache_begin(struct rt_cache *cache, const struct rt_key *key, void **value_out)
{
    struct cache_entry *entry =
        table_find(atomic_load_explicit(&cache->table, memory_order_acquire), key);
    if (entry && atomic_load_explicit(&entry->state, memory_order_acquire) == CACHE_READY) {
        *value_out = entry->value;
        return RT_HIT;
    }
    cache_lock(cache);
    enum rt_claim claim = cache_claim(cache, key, value_out);
    pthread_mutex_unlock(&cache->lock);
    return claim;
}

enum rt_claim
rt_cache_wait(struct rt_cache *cache, const struct rt_key *key, int timeout_ms, void **value_out)
{
    struct timespec until = rt_deadline(timeout_ms);
    cache_lock(cache);
    enum rt_claim claim;
    while ((claim = cache_claim(cache, key, value_out)) == RT_WAIT) {
        if (timeout_ms < 0)
            pthread_cond_wait(&cache->published, &cache->lock);
        else if (pthread_cond_timedwait(&cache->published, &cache->lock, &until) == ETIMEDOUT) {
            claim = cache_claim(cache, key, value_out);
            break;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return claim;
}

void
rt_cache_publish(struct rt_cache *cache, const struct rt_key *key, void *value)
{
    cache_lock(cache);
    struct cache_entry *entry = table_find(atomic_load(&cache->table), key);
    assert(entry && atomic_load(&entry->state) == CACHE_PENDING && "only RT_MINE may publish");
    entry->value = value;
    atomic_store_explicit(&entry->state, value ? CACHE_READY : CACHE_VACANT, memory_order_release);
    pthread_cond_broadcast(&cache->published);
    pthread_mutex_unlock(&cache->lock);
}

void
rt_cache_each(struct rt_cache *cache, void (*each)(void *context, void *value), void *context)
{
    cache_lock(cache);
    for (uint32_t i = 0; i < cache->entries.len; i++) {
        struct cache_entry *entry = cache->entries.data[i];
        if (atomic_load(&entry->state) == CACHE_READY)
            each(context, entry->value);
    }
    pthread_mutex_unlock(&cache->lock);
}
