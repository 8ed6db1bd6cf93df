/* vec: the growth step behind the vector macros; capacity doubles, so a push is constant on
 * average. */
#include "support/vec.h"

#include <string.h>

void *
sp_vec_grow(struct sp_arena *arena, void *data, uint32_t len, uint32_t *cap, uint32_t more,
            size_t size_B)
{
    if ((size_t)len + more > UINT32_MAX / 2)
        sp_out_of_memory(((size_t)len + more) * size_B);
    uint32_t want = *cap ? *cap : 4;
    while (want < len + more)
        want *= 2;
    *cap = want;
    if (!arena)
        return sp_realloc(data, want * size_B);
    void *moved = sp_arena_alloc(arena, want * size_B);
    if (len)
        memcpy(moved, data, len * size_B);
    return moved;
}
