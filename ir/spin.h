/* Loops that wait, as opt_spin.c finds them, and what spin_mark.c and
 * spin_release.c do about them. Private to these. */
#ifndef IR_SPIN_H
#define IR_SPIN_H

#include "ir/pass.h"

#define SPIN_DEPTH 8     /* loads that a load's address depends on */
#define SPIN_BRANCHES 64 /* that one exit depends on */

struct spin {
    struct ir_module *module;
    struct ir_func *func;
    struct sp_arena *arena;
    struct ir_dom dom;
    bool *has_atomic, *has_load; /* by function, with callees */
    bool *is_marked;             /* by function: its loads are volatile that may be waited for */
    /* the loop */
    uint32_t header, latch; /* the block, and which of its edges begins the next round */
    struct sp_bits body;    /* its blocks */
    uint32_t *seen, stamp;  /* by value: the search that came to it last */
    bool waits, free;       /* what the search has found */
    bool strict;            /* addresses are the same in the next round, not only may be */
    bool restarts;          /* an address depends on an inner loop's counter */
    SP_VEC(ir_ref) work;
    SP_VEC(ir_ref) phis;     /* of the header, in the search */
    SP_VEC(ir_ref) merges;   /* other phis, in the search */
    SP_VEC(ir_ref) branches; /* conditions to look at */
    SP_VEC(ir_ref) loads;    /* that it waits for, and calls */
};

static inline bool
spin_is_inside(const struct spin *s, ir_ref ref)
{
    return sp_bits_has(&s->body, ir_insn(s->func, ref)->block);
}

/* Whether a value may be the same in the next round; `depth`: of loads in it. */
bool ir_spin_stays(struct spin *s, ir_ref value, unsigned depth);
/* Whether an address is of memory that the thread has for itself. */
bool ir_spin_is_private(const struct spin *s, ir_ref address);
/* Marks the loop, which waits for `loads`. */
void ir_spin_mark(struct spin *s);
/* In all functions, when some loop waits. */
void ir_spin_release(struct spin *s);

#endif
