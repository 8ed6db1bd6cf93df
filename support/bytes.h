/* Plain data to bytes and back. Numbers are little-endian and unaligned. A reader checks every step
 * against the end of its bytes: what does not fit makes it bad, and everything read from then on is
 * 0 or empty, so that a caller may ask once, at the end. */
#ifndef SP_BYTES_H
#define SP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

void sp_put_u8(struct sp_str *out, uint8_t value);
void sp_put_u32(struct sp_str *out, uint32_t value);
void sp_put_u64(struct sp_str *out, uint64_t value);
/* The length first. */
void sp_put_bytes(struct sp_str *out, const void *bytes, size_t size_B);
/* NULL is kept apart from "". */
void sp_put_text(struct sp_str *out, const char *text);

struct sp_reader {
    const uint8_t *at, *end;
    bool bad;
};

void sp_reader_init(struct sp_reader *reader, const void *bytes, size_t size_B);
uint8_t sp_get_u8(struct sp_reader *reader);
uint32_t sp_get_u32(struct sp_reader *reader);
uint64_t sp_get_u64(struct sp_reader *reader);
/* A number of things of which each takes at least `least_B` bytes: more than can follow is bad. */
uint32_t sp_get_count(struct sp_reader *reader, size_t least_B);
/* Points into the reader's bytes. */
const void *sp_get_bytes(struct sp_reader *reader, size_t *size_B_out);
/* The caller's own; NULL if it was. Bad if it holds a NUL. */
char *sp_get_text(struct sp_reader *reader);
/* Everything was there and nothing is left. */
bool sp_reader_done(const struct sp_reader *reader);

#endif
