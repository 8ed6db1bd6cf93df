/* Content hashing: BLAKE2b (RFC 7693) with a 16-byte digest. Equal digests are taken as equal
 * content. */
#ifndef SP_HASH_H
#define SP_HASH_H

#include <stddef.h>
#include <stdint.h>

struct sp_digest {
    uint8_t bytes[16];
};

struct sp_hash {
    uint64_t h[8];
    uint64_t count_B;
    uint8_t block[128];
    size_t used_B;
    size_t digest_B;
};

void sp_hash_init(struct sp_hash *hash);
/* Any digest of 1 to 64 bytes, for tests against the published vectors. */
void sp_hash_init_n(struct sp_hash *hash, size_t digest_B);
void sp_hash_add(struct sp_hash *hash, const void *bytes, size_t len);
/* The length first, so that neighbouring texts cannot run together. */
void sp_hash_add_text(struct sp_hash *hash, const char *text);
void sp_hash_add_u64(struct sp_hash *hash, uint64_t value);
struct sp_digest sp_hash_end(struct sp_hash *hash);
void sp_hash_end_n(struct sp_hash *hash, uint8_t *digest);

#endif
