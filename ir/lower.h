/* Lowering's context and helpers. Private to ir/lower*.c. */
#ifndef IR_LOWER_H
#define IR_LOWER_H

#include "ir/infer.h"
#include "ir/ir.h"

/* A PY value as CORE values; which and how many is decided by its type alone:
 *   scalar  one value of its machine type
 *   tuple   its elements' parts, one after the other
 *   OBJECT  nothing
 *   CLOSURE the parts of its elements that have no constant
 *   CELL    the address of its slot, or nothing if it has none
 *   array   data address, `rank` extents, and for layout ANY `rank` strides in bytes
 *   RANGE   start, stop, step (i64)
 *   SLICE   start, stop, step (i64), with numbers in the place of None
 *   ITER    LOOP, REVERSED: over a range cur (i64), alive (i1), lim (i64), step (i64), over anything
 *           else the index (i64) and its parts; ENUMERATE the count (i64) and the iterator's parts;
 *           ZIP the parts of all; UNROLLED those of the tuple, none if it is constant
 * Type IR_T_NONE has no parts: a value that is never there. */
struct lower_value {
    ir_type type; /* of the PY module */
    uint32_t n;
    const ir_ref *parts;
};

/* The operands of a float product, for contraction; 0, 0: not a product of this function. */
struct lower_product {
    ir_ref a, b;
};

/* The newest instruction that made a constant. */
struct lower_const_of {
    uint32_t func; /* index + 1 */
    ir_type type;
    ir_ref ref;
};

/* A PHI in one of the types that its readers see. */
struct lower_meet {
    ir_ref phi;
    ir_type type;
    struct lower_value value;
    uint32_t next; /* of the same phi: index + 1, or 0 */
};

struct lower {
    struct ir_ctx *ctx;
    const struct ir_typed *typed;
    struct ir_module *py;   /* typed->module */
    struct ir_module *core; /* the result */
    uint32_t *func_of;      /* instance -> CORE function */
    const bool *in_cycle;   /* instance -> may call itself */
    const bool *takes;      /* instance -> may take what the launch adds of shared memory */

    /* The instance being lowered. */
    const struct ir_instance *inst;
    const struct ir_func *from;
    struct ir_func *func;
    uint32_t block;                         /* where code is added */
    ir_ref at;                              /* the PY instruction being lowered */
    uint32_t n_consts;                      /* at the head of the entry */
    SP_VEC(struct lower_const_of) const_of; /* per constant of `core` */
    struct lower_value *values;             /* per PY instruction without a constant */
    ir_ref cursor;                          /* lower_memory.c: its address, or 0 */
    struct lower_product *products;         /* per PY instruction */
    SP_VEC(struct lower_meet) meets;        /* lower_meet.c */
    uint32_t *first_meet;                   /* per PY instruction: index + 1 in `meets`, or 0 */
    ir_ref *bound; /* check: per PY value that a variable may lack, whether it has one; else 0 */
    SP_VEC(uint8_t) nonneg; /* per CORE instruction: marked as surely not negative */
};

/* ---- lower.c, lower_flow.c ---- */

/* Everything but phis, parameters and terminators. */
void lower_insn(struct lower *l, ir_ref py);
/* Whether an operand has no type: then the instruction is never reached, for what should have made
 * the operand (a function that does not return) never ends. */
bool lower_is_unreachable(const struct lower *l, ir_ref py);
/* All live blocks; l->block is the CORE entry. */
void lower_blocks(struct lower *l);

/* ---- lower_emit.c: instructions, with constants folded ---- */

ir_ref lower_emit(struct lower *l, enum ir_op op, ir_type type, uint32_t imm, uint32_t n,
                  const ir_ref *args);
/* Operations whose result has the type of their first operand. */
ir_ref lower_op1(struct lower *l, enum ir_op op, ir_ref a);
ir_ref lower_op2(struct lower *l, enum ir_op op, ir_ref a, ir_ref b);
ir_ref lower_fma(struct lower *l, ir_ref a, ir_ref b, ir_ref c);
ir_ref lower_icmp(struct lower *l, enum ir_icmp cmp, ir_ref a, ir_ref b);
ir_ref lower_fcmp(struct lower *l, enum ir_fcmp cmp, ir_ref a, ir_ref b);
ir_ref lower_select(struct lower *l, ir_ref condition, ir_ref yes, ir_ref no);
ir_ref lower_cast(struct lower *l, enum ir_op op, ir_type to, ir_ref a);
ir_ref lower_not(struct lower *l, ir_ref a); /* i1 */
ir_ref lower_intrin1(struct lower *l, enum ir_intrin id, ir_ref a);
ir_ref lower_intrin2(struct lower *l, enum ir_intrin id, ir_ref a, ir_ref b);

ir_ref lower_int(struct lower *l, ir_type machine, int64_t value);
ir_ref lower_float(struct lower *l, ir_type machine, double value);
ir_ref lower_bool(struct lower *l, bool value);
/* Whether the value is an integer constant; its value, extended by its sign bit. */
bool lower_int_of(const struct lower *l, ir_ref ref, int64_t *value_out);
bool lower_float_of(const struct lower *l, ir_ref ref, double *value_out);
static inline ir_type
lower_type_of(const struct lower *l, ir_ref ref)
{
    return ir_insn(l->func, ref)->type;
}

/* ---- lower_half.c: the same of f16 and bf16, computed in f32 ---- */

ir_ref lower_half_widen(struct lower *l, ir_ref a);                /* to f32 */
ir_ref lower_half_narrow(struct lower *l, ir_ref a, ir_type half); /* of f32 or f64 */
ir_ref lower_half_op1(struct lower *l, enum ir_op op, ir_ref a);
ir_ref lower_half_op2(struct lower *l, enum ir_op op, ir_ref a, ir_ref b);
/* A cast from or to a half that is no constant. */
ir_ref lower_half_cast(struct lower *l, enum ir_op op, ir_type to, ir_ref a);
ir_ref lower_half_nextafter(struct lower *l, ir_ref x, ir_ref y);
/* The type in which functions of `type` are computed: float32 for halves. */
static inline ir_type
lower_wide_float(ir_type type)
{
    return type == IR_T_FLOAT16 || type == IR_T_BFLOAT16 ? (ir_type)IR_T_FLOAT32 : type;
}

/* Integers that are surely not negative, seen as signed. */
void lower_mark_nonneg(struct lower *l, ir_ref ref);
bool lower_is_nonneg(const struct lower *l, ir_ref ref);

/* A loop of lowering's own: open, (condition), test, (body), close. Afterwards code goes on behind
 * the loop, where the phis hold the values that the test saw last. */
#define LOWER_LOOP_PHIS 5
struct lower_loop {
    uint32_t head, exit, n;
    ir_ref first[LOWER_LOOP_PHIS], phis[LOWER_LOOP_PHIS];
};
void lower_loop_open(struct lower *l, struct lower_loop *loop, uint32_t n, const ir_ref *first);
void lower_loop_test(struct lower *l, struct lower_loop *loop, ir_ref go_on);
void lower_loop_close(struct lower *l, struct lower_loop *loop, const ir_ref *next);

/* ---- lower_value.c: parts and conversions ---- */

uint32_t lower_n_parts(const struct lower *l, ir_type type);
/* Returns how many were written. */
uint32_t lower_part_types(const struct lower *l, ir_type type, ir_type *machine_out);
struct lower_value lower_value_new(struct lower *l, ir_type type, uint32_t n, const ir_ref *parts);
struct lower_value lower_scalar(struct lower *l, ir_type type, ir_ref part);
/* Element k of a tuple. */
struct lower_value lower_elem(struct lower *l, struct lower_value tuple, uint32_t k);
struct lower_value lower_zero(struct lower *l, ir_type type);
struct lower_value lower_constant(struct lower *l, ir_const c, ir_type type);
/* The value of a PY instruction that has been lowered. */
struct lower_value lower_get(struct lower *l, ir_ref py);
/* lower_meet.c: fills l->meets of the instance. */
void lower_meets(struct lower *l);
/* The phi in this type, or NULL. */
struct lower_meet *lower_meet_of(const struct lower *l, ir_ref phi, ir_type type);
/* The value where it is passed on as `type`: to a phi or out of a function. */
struct lower_value lower_pass_on(struct lower *l, ir_ref py, ir_type type);
ir_ref lower_get_as(struct lower *l, ir_ref py, ir_type scalar);
/* As `type`, widened to lower_wide_float of it. */
ir_ref lower_get_wide(struct lower *l, ir_ref py, ir_type type);
struct lower_value lower_convert(struct lower *l, struct lower_value value, ir_type to);
ir_ref lower_convert_scalar(struct lower *l, ir_ref value, ir_type from, ir_type to);
ir_ref lower_truth(struct lower *l, struct lower_value value); /* i1 */

/* What holds a number in a register. Memory is laid out by the table's row alone. */
static inline ir_type
lower_machine(const struct lower *l, ir_type scalar)
{
    if (scalar == IR_T_FLOAT && l->ctx->options.single)
        return IR_T_F32;
    return ir_scalar_row(scalar)->machine;
}
static inline const struct ir_type_info *
lower_info(const struct lower *l, ir_type type)
{
    return ir_type_info(l->py, type);
}

/* ---- lower_arith.c, lower_float.c: operators ---- */

struct lower_value lower_bin(struct lower *l, ir_ref py);
struct lower_value lower_un(struct lower *l, ir_ref py);
/* lower_power.c */
struct lower_value lower_pow(struct lower *l, ir_ref a, ir_ref b, ir_type type);
/* a <op> b of scalars or tuples as i1 */
ir_ref lower_compare(struct lower *l, enum ir_cmpop op, struct lower_value a, struct lower_value b);
ir_ref lower_in(struct lower *l, struct lower_value item, struct lower_value tuple);
/* The quotient (`want_mod` false) or remainder of np.floor_divide and np.remainder. */
ir_ref lower_float_divmod(struct lower *l, ir_ref a, ir_ref b, bool want_mod);
/* Quotient and remainder rounded down; both operands of the integer type `type`. */
ir_ref lower_int_floordiv(struct lower *l, ir_ref a, ir_ref b, ir_type type);
ir_ref lower_int_mod(struct lower *l, ir_ref a, ir_ref b, ir_type type);
ir_ref lower_int_abs(struct lower *l, ir_ref a, ir_type type);
/* One of the rows for integers of arith.def. */
ir_ref lower_int_op(struct lower *l, enum ir_lowering how, ir_ref a, ir_ref b, ir_type type);

/* ---- lower_call.c, lower_closure.c: functions ---- */

/* lower.c: the operands from number `first` on as the elements of the result: a tuple, or a
 * recipe. */
struct lower_value lower_elements(struct lower *l, ir_ref py, uint32_t first);
struct lower_value lower_call(struct lower *l, ir_ref py);
/* Whether an instance is given this at a call; what it knows by value it is not. */
bool lower_is_passed(struct ir_cell arg);
struct lower_value lower_closure(struct lower *l, ir_ref py);
/* Default or free variable k that a closure brought along. */
struct lower_value lower_closure_elem(struct lower *l, struct lower_value closure, uint32_t k);
struct lower_value lower_convert_closure(struct lower *l, struct lower_value value, ir_type to);
/* Whether a value of this CELL type is an address. */
bool lower_has_slot(const struct lower *l, ir_type cell);
struct lower_value lower_cell(struct lower *l, ir_ref py);
struct lower_value lower_cellget(struct lower *l, ir_ref py);
void lower_cellset(struct lower *l, ir_ref py);

/* ---- lower_index.c: elements and attributes of arrays, elements of tuples ---- */

struct lower_value lower_item(struct lower *l, ir_ref py);
struct lower_value lower_attr(struct lower *l, ir_ref py);
/* An index as one that does not count from the end, checked where bounds are; `name` for the
 * error. */
ir_ref lower_inside(struct lower *l, ir_ref py, const char *name, struct lower_value index,
                    ir_ref length);
/* The address of the element that `index` names; `py` is the place. */
ir_ref lower_address(struct lower *l, ir_ref py, ir_ref array_py, struct lower_value index);
/* The array of rank 0 at one of its elements; what a record is as a value. */
ir_type lower_without_axes(struct lower *l, ir_type array);
/* An element of an array of this type: its leaves; what a reference stands for, as rank 0. */
struct lower_value lower_load(struct lower *l, ir_ref address, ir_type array);
void lower_store(struct lower *l, ir_ref py, ir_ref address, struct lower_value value,
                 ir_type array);

/* lower_record.c. The value of a field; whether x.name is one. */
struct lower_value lower_field(struct lower *l, struct lower_value array, ir_const name);
bool lower_is_field(const struct lower *l, ir_type array, const char *name);
void lower_store_field(struct lower *l, ir_ref py, ir_ref array_py, ir_const name, ir_ref value_py);
void lower_store_record(struct lower *l, ir_ref py, ir_ref address, struct lower_value value,
                        ir_type array);
ir_ref lower_compare_records(struct lower *l, enum ir_cmpop op, struct lower_value a,
                             struct lower_value b);

/* lower_atomic.c: calls of rule ATOMIC and CAS */
struct lower_value lower_atomic(struct lower *l, ir_ref py, enum ir_intrin id);
struct lower_value lower_cas(struct lower *l, ir_ref py);

/* ---- lower_view.c: slices and views ---- */

/* An array's parts by name. */
struct lower_view {
    const struct ir_type_info *info;
    ir_ref data;
    const ir_ref *extents;
    const ir_ref *strides; /* layout ANY, else NULL */
};
struct lower_view lower_view_of(struct lower *l, struct lower_value array);
/* Bytes from one element to the next along each axis. */
void lower_strides(struct lower *l, struct lower_value array, ir_ref *strides_out);
/* One index of an axis as a number of 0 and up, checked where indices are. */
ir_ref lower_index_one(struct lower *l, ir_ref py, ir_ref array_py, struct lower_view view,
                       uint32_t axis, struct lower_value index);
/* array[index] where that is no element. */
struct lower_value lower_view(struct lower *l, ir_ref py, ir_ref array_py,
                              struct lower_value index);
/* Element or view number `number` of the first axis; 0 <= number < its extent. */
struct lower_value lower_first_axis_item(struct lower *l, struct lower_value array, ir_ref number);
struct lower_value lower_transpose(struct lower *l, struct lower_value array, ir_type type);
struct lower_value lower_slice(struct lower *l, ir_ref py);
struct lower_value lower_slice_call(struct lower *l, ir_ref py);
/* The slice of three values, each an integer or None. */
struct lower_value lower_slice_of(struct lower *l, ir_type type, const struct lower_value *given);
static inline int64_t
lower_itemsize(const struct lower *l, const struct ir_type_info *array)
{
    return ir_storable_size_B(l->py, array->dtype);
}

/* ---- lower_assign.c: stores to elements and views ---- */

void lower_setitem(struct lower *l, ir_ref py);
/* Stores the value in all of a view; `py` is the place. */
void lower_store_view(struct lower *l, ir_ref py, struct lower_value view,
                      struct lower_value value);
/* array <op>= value, element by element; the array. */
struct lower_value lower_inplace(struct lower *l, ir_ref py);

/* ---- lower_range.c ---- */

struct lower_value lower_range(struct lower *l, ir_ref py);
ir_ref lower_range_length(struct lower *l, struct lower_value range);
/* Value number k, or (`before`) k - 1. */
ir_ref lower_range_value(struct lower *l, struct lower_value range, ir_ref k, bool before);
ir_ref lower_in_range(struct lower *l, struct lower_value item, struct lower_value range);

/* ---- lower_tuple.c ---- */

/* The parts of both, one after the other. */
struct lower_value lower_concatenate(struct lower *l, struct lower_value a, struct lower_value b,
                                     ir_type type);
/* The sum of two tuples, or a tuple times a number; how often follows from the type. */
struct lower_value lower_tuple_bin(struct lower *l, struct lower_value a, struct lower_value b,
                                   ir_type type);
struct lower_value lower_tuple_slice(struct lower *l, struct lower_value tuple, ir_const slice,
                                     ir_type type);

/* ---- lower_loop.c: iterators ---- */

struct lower_value lower_iter(struct lower *l, ir_ref py);
struct lower_value lower_next(struct lower *l, ir_ref py);
/* An iterator of this type over a value. */
struct lower_value lower_iter_start(struct lower *l, struct lower_value over, ir_type type);
/* ENUMERATE from `start` on, or (start 0) ZIP. */
struct lower_value lower_iter_zip(struct lower *l, ir_type type, ir_ref start, uint32_t n,
                                  const struct lower_value *iters);
ir_ref lower_more(struct lower *l, struct lower_value iter); /* i1 */
struct lower_value lower_iter_value(struct lower *l, struct lower_value iter, ir_type type);
struct lower_value lower_iter_next(struct lower *l, struct lower_value iter, ir_type type);
/* Marks the current value of an iterator phi that cannot be negative. */
void lower_mark_iter_phi(struct lower *l, ir_ref py, struct lower_value phi);

/* ---- lower_builtin.c ---- */

struct lower_value lower_builtin(struct lower *l, ir_ref py, enum ir_intrin id);

/* ---- lower_intrin.c, lower_math.c: the kernel namespace ---- */

struct lower_value lower_intrin(struct lower *l, ir_ref py, enum ir_intrin id);
ir_ref lower_sreg(struct lower *l, enum ir_intrin id); /* i64 */
struct lower_value lower_math(struct lower *l, ir_ref py, enum ir_intrin id);
/* The intrinsic as an EFFECT of machine values; 0 for type void. */
ir_ref lower_effect(struct lower *l, enum ir_intrin id, ir_type type, uint32_t n,
                    const ir_ref *args);
/* lower_memory.c: an array that the kernel makes */
struct lower_value lower_memory(struct lower *l, ir_ref py, enum ir_intrin id);
/* An array of the program, as data of the module. */
struct lower_value lower_array_constant(struct lower *l, ir_const c, ir_type type);
/* Per instance: whether a call of shared.dynamic is in it or in what it calls. */
const bool *lower_takers(const struct ir_typed *typed, struct sp_arena *arena);
/* How much shared.dynamic has handed out: nothing yet. The address of that number. */
ir_ref lower_cursor(struct lower *l);
/* Operand k (0 and up) of a CALL. */
static inline ir_ref
lower_arg(const struct lower *l, ir_ref py, uint32_t k)
{
    return ir_arg(l->from, py, k + 1);
}
static inline uint32_t
lower_n_args(const struct lower *l, ir_ref py)
{
    return ir_insn(l->from, py)->n_args - 1u;
}

/* ---- lower_fault.c: what a running kernel raises ---- */

/* A new site at the place of `py`; `text` as lower_fault.c's head says, or a name. */
uint32_t lower_site(struct lower *l, ir_ref py, enum sp_error code, const char *text,
                    uint32_t n_values);
/* Ends the thread unless `fits`; code goes on where it does. The values are i64. */
void lower_raise_unless(struct lower *l, ir_ref fits, uint32_t site, uint32_t n,
                        const ir_ref *values);
/* A scalar as the 64 bits that a record keeps. */
ir_ref lower_fault_value(struct lower *l, ir_ref part, ir_type type);
/* The name that the source gives the value, or "". */
const char *lower_source_name(const struct lower *l, ir_ref py);
/* The name of the variable that gets the value of `py` first, or "". */
const char *lower_variable_name(const struct lower *l, ir_ref py);
void lower_throw(struct lower *l, ir_ref py);

struct lower_value lower_warp(struct lower *l, ir_ref py, enum ir_intrin id);
struct lower_value lower_clock(struct lower *l, ir_ref py, enum ir_intrin id);
struct lower_value lower_bits(struct lower *l, ir_ref py, enum ir_intrin id);
/* ---- lower_recipe.c: texts and exceptions that the host makes ---- */

struct lower_recipe {
    struct sp_str text;
    uint32_t n;
    ir_ref values[SP_PRINT_VALUES];
};
void lower_recipe_init(struct lower_recipe *r);
void lower_recipe_finish(struct lower_recipe *r);
/* The recipe of a value, behind what is there. */
void lower_recipe_add(struct lower *l, struct lower_recipe *r, struct lower_value value);
void lower_recipe_text(struct lower_recipe *r, const char *text, uint32_t len);

struct lower_value lower_print(struct lower *l, ir_ref py);
/* The operand of the keyword argument, or 0. */
ir_ref lower_keyword(const struct lower *l, ir_ref py, const char *name);

struct lower_value lower_numpy(struct lower *l, ir_ref py, enum ir_intrin id);
struct lower_value lower_method(struct lower *l, ir_ref py, enum ir_intrin id);
struct lower_value lower_number_attr(struct lower *l, ir_ref py);
/* Operand of a CALL that is parameter number k of the intrinsic, by place or by name; 0: not
 * given. */
ir_ref lower_param(struct lower *l, ir_ref py, enum ir_intrin id, uint32_t k);
/* A number rounded to so many decimals, of its own type. */
struct lower_value lower_round_to(struct lower *l, struct lower_value x, int64_t digits,
                                  ir_type type);

/* ---- lower_check.c: check=True; without the option these do nothing ---- */

/* IADD, ISUB, IMUL with result r; others are not checked here. */
void lower_check_int(struct lower *l, enum ir_lowering how, ir_ref a, ir_ref b, ir_ref r,
                     ir_type type);
/* -a and abs(a); the text has {i} for a. */
void lower_check_negate(struct lower *l, ir_ref a, ir_type type, const char *text);
/* a / b, a // b, a % b, of integers and floats. */
void lower_check_divisor(struct lower *l, const char *op, ir_ref a, ir_ref b, ir_type type);
void lower_check_shift(struct lower *l, bool left, ir_ref a, struct lower_value b, ir_ref count,
                       ir_ref r, ir_type type);
/* a ** b of integers: `fits` 0 checks the exponent, else the result. */
void lower_check_power(struct lower *l, struct lower_value a, struct lower_value b, ir_ref fits);
void lower_check_float_power(struct lower *l, ir_ref a, ir_ref b, ir_type type);
/* A conversion that the program asks for, and one that storing or joining makes. */
void lower_check_cast(struct lower *l, struct lower_value value, ir_type to);
void lower_check_store(struct lower *l, struct lower_value value, ir_type to);
/* The variable that BOUND `py` reads. */
void lower_check_bound(struct lower *l, ir_ref py);
/* Per PY value of the function: whether it is that of a variable that may have none. */
const bool *lower_maybe_unbound(struct lower *l);
/* Whether a * b = product holds in 64 bits (always code). */
ir_ref lower_mul_fits(struct lower *l, ir_ref a, ir_ref b, ir_ref product);
/* ---- lower_kernel.c ---- */

/* The machine types of the kernel's argument number *arg, and which argument each is a part of.
 * Returns how many; *arg moves on behind it. */
/* Parameters of records that are given by value. */
uint32_t lower_kernel_extra(const struct lower *l);
uint32_t lower_kernel_types(struct lower *l, ir_type type, uint32_t *arg, ir_type *types,
                            uint32_t *argument_of);
/* Its parts, from parameter *at on. */
void lower_kernel_parts(struct lower *l, ir_type type, uint32_t *arg, uint32_t *at, ir_ref *parts);

/* ---- lower_cycle.c ---- */

/* Per instance: whether it may come to call itself, or lies between such. */
const bool *lower_cycles(const struct ir_typed *typed, struct sp_arena *arena);

/* ---- lower_written.c ---- */

/* Bits of the kernel's arguments whose memory some store or atomic may reach; `argument_of` says
 * which argument each parameter of the kernel belongs to. */
uint64_t lower_written(const struct ir_module *core, const uint32_t *argument_of);

#endif
