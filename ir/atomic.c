/* atomic: the rows of atomic.def and the look-ups over them.
 *
 * Which machine operation a function of the kernel namespace is depends on the class of the array's
 * elements alone, so inference asks whether there is one and lowering which: the same question. */
#include <assert.h>

#include "ir/pass.h"

enum atomic_on { ON_INT, ON_BITS, ON_FLOAT, ON_ANY };

static const struct {
    const char *name;
    enum atomic_on on;
} atomic_rows[] = {
#define IR_ATOMIC(id, name, on, meaning) [IR_ATOMIC_##id] = {name, ON_##on},
#include "ir/atomic.def"
};
_Static_assert(sizeof atomic_rows / sizeof *atomic_rows == IR_N_ATOMICS, "a row per operation");

static const struct {
    enum ir_intrin intrin;
    enum ir_atomic by_class[IR_N_CLASSES];
    bool negated;
} atomic_calls[] = {
#define IR_ATOMIC_CALL(intrin, on_bool, on_int, on_uint, on_float, negated)                        \
    {IR_INTRIN_##intrin,                                                                           \
     {[IR_CLASS_BOOL] = IR_ATOMIC_##on_bool,                                                       \
      [IR_CLASS_INT] = IR_ATOMIC_##on_int,                                                         \
      [IR_CLASS_UINT] = IR_ATOMIC_##on_uint,                                                       \
      [IR_CLASS_FLOAT] = IR_ATOMIC_##on_float},                                                    \
     negated},
#include "ir/atomic.def"
};

const char *
ir_atomic_name(enum ir_atomic op)
{
    return atomic_rows[op].name;
}

bool
ir_atomic_takes(enum ir_atomic op, ir_type machine)
{
    bool is_int = ir_is_int(machine) && machine != IR_T_I1;
    bool is_float = ir_is_float(machine) || ir_is_half(machine);
    switch (atomic_rows[op].on) {
    case ON_INT: return is_int;
    case ON_BITS: return ir_is_int(machine);
    case ON_FLOAT: return is_float;
    case ON_ANY: return ir_is_int(machine) || is_float;
    }
    return false;
}

enum ir_atomic
ir_atomic_of_call(enum ir_intrin intrin, ir_type dtype, bool *negated_out)
{
    if (!ir_type_is_scalar(dtype))
        return IR_ATOMIC_NONE;
    for (size_t i = 0; i < sizeof atomic_calls / sizeof *atomic_calls; i++)
        if (atomic_calls[i].intrin == intrin) {
            *negated_out = atomic_calls[i].negated;
            return atomic_calls[i].by_class[ir_scalar_row(dtype)->class];
        }
    assert(!"a row per function of rule ATOMIC");
    return IR_ATOMIC_NONE;
}
