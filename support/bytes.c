/* bytes: numbers and texts to bytes and back, the latter checked against the end.
 *
 * In: values. Out: bytes in a string builder, or the values again. A text is its length plus one,
 * then its bytes, so that 0 is no text at all. The reader never allocates for a length before it
 * has seen that so many bytes are there. */
#include "support/bytes.h"

#include <string.h>

#include "support/arena.h"

void
sp_put_u8(struct sp_str *out, uint8_t value)
{
    sp_str_add_n(out, &value, sizeof value);
}

static void
put_number(struct sp_str *out, uint64_t value, size_t size_B)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size_B; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    sp_str_add_n(out, bytes, size_B);
}

void
sp_put_u32(struct sp_str *out, uint32_t value)
{
    put_number(out, value, 4);
}

void
sp_put_u64(struct sp_str *out, uint64_t value)
{
    put_number(out, value, 8);
}

void
sp_put_bytes(struct sp_str *out, const void *bytes, size_t size_B)
{
    sp_put_u64(out, size_B);
    if (size_B)
        sp_str_add_n(out, bytes, size_B);
}

void
sp_put_text(struct sp_str *out, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    sp_put_u32(out, text ? (uint32_t)len + 1 : 0);
    if (len)
        sp_str_add_n(out, text, len);
}

void
sp_reader_init(struct sp_reader *reader, const void *bytes, size_t size_B)
{
    *reader = (struct sp_reader){.at = bytes, .end = (const uint8_t *)bytes + size_B};
}

static bool
reader_has(struct sp_reader *reader, uint64_t size_B)
{
    if (!reader->bad && (uint64_t)(reader->end - reader->at) >= size_B)
        return true;
    reader->bad = true;
    return false;
}

static uint64_t
get_number(struct sp_reader *reader, size_t size_B)
{
    uint64_t value = 0;
    if (!reader_has(reader, size_B))
        return 0;
    for (size_t i = 0; i < size_B; i++)
        value |= (uint64_t)reader->at[i] << 8 * i;
    reader->at += size_B;
    return value;
}

uint8_t
sp_get_u8(struct sp_reader *reader)
{
    return (uint8_t)get_number(reader, 1);
}

uint32_t
sp_get_u32(struct sp_reader *reader)
{
    return (uint32_t)get_number(reader, 4);
}

uint64_t
sp_get_u64(struct sp_reader *reader)
{
    return get_number(reader, 8);
}

uint32_t
sp_get_count(struct sp_reader *reader, size_t least_B)
{
    uint32_t n = sp_get_u32(reader);
    return reader_has(reader, (uint64_t)n * least_B) ? n : 0;
}

const void *
sp_get_bytes(struct sp_reader *reader, size_t *size_B_out)
{
    uint64_t size_B = sp_get_u64(reader);
    const void *bytes = reader->at;
    *size_B_out = 0;
    if (!reader_has(reader, size_B))
        return bytes;
    reader->at += size_B;
    *size_B_out = (size_t)size_B;
    return bytes;
}

char *
sp_get_text(struct sp_reader *reader)
{
    uint32_t n = sp_get_u32(reader);
    if (!n || !reader_has(reader, n - 1))
        return NULL;
    size_t len = n - 1;
    if (len && memchr(reader->at, '\0', len)) {
        reader->bad = true;
        return NULL;
    }
    char *text = sp_alloc(len + 1);
    if (len)
        memcpy(text, reader->at, len);
    text[len] = '\0';
    reader->at += len;
    return text;
}

bool
sp_reader_done(const struct sp_reader *reader)
{
    return !reader->bad && reader->at == reader->end;
}
