/* The edge values of lower_tables.inc as arrays, and results as comparable bits. Include after
 * tests/ir/lowered.h. */
#ifndef TESTS_LOWER_VALUES_H
#define TESTS_LOWER_VALUES_H

#include <stdlib.h>

struct values {
    const char *type;
    uint32_t n;
    const uint64_t *bits;
};

static const struct values values[] = {
#define VALUES(type, n, ...) {type, n, (const uint64_t[]){__VA_ARGS__}},
#define BINARY(op, a, b, type, hash)
#define UNARY(op, a, type, hash)
#define CAST(a, type, hash)
#define POWER(a, k, type, hash)
#include "tests/ir/lower_tables.inc"
};

static inline const struct values *
values_of(const char *type)
{
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].type, type) == 0)
            return &values[i];
    fail_msg("no values of type %s", type);
    return NULL;
}

/* The dtype of an array whose elements hold the type's values. */
static inline const char *
storage(const char *type)
{
    return strcmp(type, "int") == 0 ? "int64" : strcmp(type, "float") == 0 ? "float64" : type;
}

static inline unsigned
size_of(const char *type)
{
    ir_type t = ir_scalar_by_name(type, strlen(type));
    return ir_scalar_row(t)->bits / 8u;
}

static inline void *
array_of(const struct values *v)
{
    unsigned size_B = size_of(v->type);
    char *data = malloc((size_t)v->n * size_B);
    for (uint32_t i = 0; i < v->n; i++)
        memcpy(data + (size_t)i * size_B, &v->bits[i], size_B);
    return data;
}

static inline uint64_t
result_bits(const char *out, const char *type)
{
    unsigned size_B = size_of(type);
    uint64_t bits = 0;
    memcpy(&bits, out, size_B);
    if (strncmp(type, "float", 5) == 0) { /* every NaN is one NaN */
        uint64_t infinity = size_B == 4 ? 0x7f800000u : 0x7ff0000000000000u;
        uint64_t quiet = size_B == 4 ? 0x7fc00000u : 0x7ff8000000000000u;
        uint64_t sign = size_B == 4 ? 0x80000000u : 0x8000000000000000u;
        if ((bits & ~sign) > infinity)
            bits = quiet;
    }
    return bits;
}

static inline uint64_t
hash_bits(uint64_t hash, uint64_t bits)
{
    return (hash ^ bits) * 0x100000001b3u;
}
#define HASH_START 0xcbf29ce484222325u

#endif
