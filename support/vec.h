/* A growing array of any type, on an arena or (arena NULL) on the heap.
 *
 *     SP_VEC(int) v = {0};
 *     sp_vec_push(arena, &v, 3);
 *     for (uint32_t i = 0; i < v.len; i++) use(v.data[i]);
 *
 * A heap vector ends with sp_vec_finish; an arena vector with its arena. */
#ifndef SP_VEC_H
#define SP_VEC_H

#include <stdint.h>
#include <stdlib.h>

#include "support/arena.h"

#define SP_VEC(type)                                                                               \
    struct {                                                                                       \
        type *data;                                                                                \
        uint32_t len, cap;                                                                         \
    }

/* Makes room for `more` further elements. */
#define sp_vec_reserve(arena, v, more)                                                             \
    ((v)->len + (more) <= (v)->cap                                                                 \
         ? (void)0                                                                                 \
         : (void)((v)->data = sp_vec_grow((arena), (v)->data, (v)->len, &(v)->cap, (more),         \
                                          sizeof *(v)->data)))
#define sp_vec_push(arena, v, ...)                                                                 \
    (sp_vec_reserve((arena), (v), 1), (void)((v)->data[(v)->len++] = (__VA_ARGS__)))
#define sp_vec_pop(v) ((v)->data[--(v)->len])
#define sp_vec_finish(v) (free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)

/* For the macros: returns the moved array, with `*cap` raised. */
void *sp_vec_grow(struct sp_arena *arena, void *data, uint32_t len, uint32_t *cap, uint32_t more,
                  size_t size_B);

#endif
