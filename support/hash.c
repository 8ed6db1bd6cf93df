/* hash: BLAKE2b without a key, after RFC 7693.
 *
 * In: bytes in any pieces. Out: a digest of what was added. A cryptographic hash, because a cache
 * entry found by digest is run without looking at its source. Lost alternatives: a fast 64-bit hash
 * (collisions would run the wrong kernel); a library (libc is all that support/ may use). */
#include "support/hash.h"

#include <string.h>

static const uint64_t hash_iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint8_t hash_sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t
hash_rotate(uint64_t x, unsigned n)
{
    return x >> n | x << (64 - n);
}

static uint64_t
hash_load(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static void
hash_mix(uint64_t v[16], const unsigned at[4], uint64_t x, uint64_t y)
{
    uint64_t a = v[at[0]], b = v[at[1]], c = v[at[2]], d = v[at[3]];
    a += b + x;
    d = hash_rotate(d ^ a, 32);
    c += d;
    b = hash_rotate(b ^ c, 24);
    a += b + y;
    d = hash_rotate(d ^ a, 16);
    c += d;
    b = hash_rotate(b ^ c, 63);
    v[at[0]] = a, v[at[1]] = b, v[at[2]] = c, v[at[3]] = d;
}

static void
hash_compress(struct sp_hash *hash, uint64_t last)
{
    static const unsigned lanes[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14},
                                         {3, 7, 11, 15}, {0, 5, 10, 15}, {1, 6, 11, 12},
                                         {2, 7, 8, 13},  {3, 4, 9, 14}};
    uint64_t v[16], m[16];
    for (unsigned i = 0; i < 8; i++) {
        v[i] = hash->h[i];
        v[i + 8] = hash_iv[i];
    }
    v[12] ^= hash->count_B;
    v[14] ^= last;
    for (unsigned i = 0; i < 16; i++)
        m[i] = hash_load(hash->block + 8 * i);
    for (unsigned round = 0; round < 12; round++)
        for (unsigned i = 0; i < 8; i++) {
            const uint8_t *s = hash_sigma[round % 10];
            hash_mix(v, lanes[i], m[s[2 * i]], m[s[2 * i + 1]]);
        }
    for (unsigned i = 0; i < 8; i++)
        hash->h[i] ^= v[i] ^ v[i + 8];
}

void
sp_hash_init_n(struct sp_hash *hash, size_t digest_B)
{
    *hash = (struct sp_hash){.digest_B = digest_B};
    memcpy(hash->h, hash_iv, sizeof hash_iv);
    hash->h[0] ^= 0x01010000 ^ (uint64_t)digest_B;
}

void
sp_hash_init(struct sp_hash *hash)
{
    sp_hash_init_n(hash, sizeof(struct sp_digest));
}

void
sp_hash_add(struct sp_hash *hash, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    while (len) {
        if (hash->used_B == sizeof hash->block) {
            hash->count_B += sizeof hash->block;
            hash_compress(hash, 0);
            hash->used_B = 0;
        }
        size_t room = sizeof hash->block - hash->used_B;
        size_t take = len < room ? len : room;
        memcpy(hash->block + hash->used_B, from, take);
        hash->used_B += take;
        from += take;
        len -= take;
    }
}

void
sp_hash_add_u64(struct sp_hash *hash, uint64_t value)
{
    sp_hash_add(hash, &value, sizeof value);
}

void
sp_hash_add_text(struct sp_hash *hash, const char *text)
{
    size_t len = strlen(text);
    sp_hash_add_u64(hash, len);
    sp_hash_add(hash, text, len);
}

void
sp_hash_end_n(struct sp_hash *hash, uint8_t *digest)
{
    hash->count_B += hash->used_B;
    memset(hash->block + hash->used_B, 0, sizeof hash->block - hash->used_B);
    hash_compress(hash, UINT64_MAX);
    for (size_t i = 0; i < hash->digest_B; i++)
        digest[i] = (uint8_t)(hash->h[i / 8] >> (8 * (i % 8)));
}

struct sp_digest
sp_hash_end(struct sp_hash *hash)
{
    struct sp_digest digest;
    sp_hash_end_n(hash, digest.bytes);
    return digest;
}
