/* What inference leaves for lowering: instances of functions with a cell per value. Private to
 * ir/. */
#ifndef IR_INFER_H
#define IR_INFER_H

#include "ir/ir.h"
#include "support/bits.h"

/* What is known of a value: nothing yet (IR_T_NONE), a type, or a type and a constant. The constant
 * of an OBJECT type is the type's own object. */
struct ir_cell {
    ir_type type;
    ir_const constant; /* while inference runs, of a MIXED cell: the type it had before */
};

/* Users of every value of a PY function, and its reverse post-order; made once per function. */
struct ir_flow {
    uint32_t *first_user; /* n_insns + 1 positions in users */
    ir_ref *users;
    uint32_t *rpo;
    uint32_t n_rpo;
};

struct ir_caller {
    uint32_t instance;
    ir_ref insn;
};

/* One function for one list of argument cells. */
struct ir_instance {
    uint32_t index;
    const struct ir_func *func;
    const struct ir_flow *flow;
    struct ir_cell *args;  /* per slot of the function: ir_func_n_slots */
    struct ir_cell *cells; /* per instruction; a PHI that nothing reads may be NONE, MIXED or CONFLICT */
    uint32_t *callees;     /* per instruction: index + 1 of the instance that a CALL calls, or 0 */
    uint16_t *operators;   /* per instruction: the intrinsic of rule OPERATOR that a CALL calls, or 0 */
    struct ir_cell result;
    struct sp_bits live_blocks;
    struct sp_bits live_edges; /* 2 * block + successor */
    SP_VEC(struct ir_caller) callers; /* [0]: the call that made the instance */
    struct sp_bits unrolled; /* iterators that go over the elements of a tuple one by one */
    bool live; /* reachable from the kernel at the end */
};

/* An operator is an instruction of its own, `a + b`, or the call `operator.add(a, b)`. What follows
 * reads either: the operation, its immediate, its operand number i. */
static inline enum ir_op
ir_operation(const struct ir_instance *instance, ir_ref ref)
{
    enum ir_intrin id = (enum ir_intrin)instance->operators[ref];
    return id ? (enum ir_op)ir_operator_row(id).op : (enum ir_op)ir_insn(instance->func, ref)->op;
}
static inline uint32_t
ir_operation_imm(const struct ir_instance *instance, ir_ref ref)
{
    enum ir_intrin id = (enum ir_intrin)instance->operators[ref];
    return id ? ir_operator_row(id).imm : ir_insn(instance->func, ref)->imm;
}
static inline ir_ref
ir_operand(const struct ir_instance *instance, ir_ref ref, uint32_t i)
{
    enum ir_intrin id = (enum ir_intrin)instance->operators[ref];
    if (id == IR_INTRIN_OP_CONTAINS) /* the tuple stands first */
        return ir_arg(instance->func, ref, 2 - i);
    return ir_arg(instance->func, ref, i + (id != IR_INTRIN_NONE));
}
/* All of them, where they stand in order: of every operation but IN. */
static inline const ir_ref *
ir_operands(const struct ir_instance *instance, ir_ref ref)
{
    return ir_args(instance->func, ref) + (instance->operators[ref] != IR_INTRIN_NONE);
}
/* A variable that functions share: one per CELL instruction of an instance. */
struct ir_shared {
    uint32_t instance;
    ir_ref insn;
    struct ir_cell content; /* all its values met */
    ir_type reported;       /* of the assignments that the report has seen */
    bool is_set;
    bool has_slot; /* filled at the end: it is kept in memory */
    SP_VEC(struct ir_caller) readers; /* CELLGET instructions */
};

/* Whether control can come into `block` from its predecessor number `pred`. */
bool ir_edge_is_live(const struct ir_instance *instance, uint32_t block, uint32_t pred);

struct ir_typed {
    struct ir_module *module; /* the fork with types, constants, functions */
    const struct ir_argtype *args;
    uint32_t n_args;
    SP_VEC(struct ir_instance *) instances; /* [0] is the kernel */
    SP_VEC(struct ir_shared) shared;
};

/* What an index does to an array (index_plan.c). WHOLE is `:`, RUN a slice with step 1, SLICE any
 * other. */
enum ir_index_kind { IR_INDEX_ONE, IR_INDEX_RUN, IR_INDEX_SLICE, IR_INDEX_WHOLE, IR_INDEX_NEW };
struct ir_index_item {
    uint8_t kind; /* enum ir_index_kind */
    uint8_t elem; /* of the index, if that is a tuple; not of a WHOLE that nobody wrote */
    uint8_t axis; /* of the array; not of a NEW one */
};
struct ir_index_plan {
    uint32_t n;
    struct ir_index_item items[2 * IR_MAX_RANK];
    uint32_t n_axes;  /* that the index names */
    bool is_element;  /* not a view */
    ir_type result;   /* the type of the element as it is read, or of the view */
    ir_type culprit;  /* BAD_TYPE: what cannot be an index */
};
enum ir_index_fault {
    IR_INDEX_OK,
    IR_INDEX_BAD_TYPE,
    IR_INDEX_TWO_RESTS, /* more than one `...` */
    IR_INDEX_TOO_MANY,
    IR_INDEX_TOO_DEEP, /* the view would have more than IR_MAX_RANK axes */
};
enum ir_index_fault ir_index_plan(struct ir_module *module, ir_type array, ir_type index,
                                  struct ir_index_plan *out);
/* Whether a SLICE type says nothing but `:`. */
bool ir_slice_is_whole(const struct ir_module *module, ir_type slice);
/* What `array[i]` and iteration over the first axis give; IR_T_NONE: the array has no axis. */
ir_type ir_type_first_axis_item(struct ir_module *module, ir_type array);

/* One argument of a call: an operand of it, or an element of one that is a tuple. */
struct ir_actual {
    ir_ref value;
    uint32_t elem; /* number of the element plus one, or 0: the whole */
};
struct ir_actuals {
    struct ir_actual *list;
    uint32_t n;
};
/* The arguments of a CALL or CALL_EX in order; false while the length of *tuple is not known. */
bool ir_call_actuals(const struct ir_module *module, const struct ir_instance *instance, ir_ref ref,
                     struct sp_arena *arena, struct ir_actuals *out);

/* Where a slot's value comes from at a call: argument `from` (1 and up), or 0: the default, or the
 * closure for a free variable. *args takes `n` arguments from there. */
struct ir_binding {
    uint32_t from, n;
};
/* Binds a call's arguments to the callee's slots (`bindings_out`: ir_func_n_slots). `names` is the
 * call's imm: of the last arguments. diag NULL: silent. */
/* What a call of a NamedTuple's class binds to: a function with its fields as parameters. */
const struct ir_func *ir_class_func(const struct ir_module *module, ir_const class,
                                    struct sp_arena *arena);
bool ir_bind_call(const struct ir_module *module, const struct ir_func *callee, uint32_t n_args,
                  ir_const names, struct ir_binding *bindings_out, struct sp_diag *diag,
                  const struct sp_src *where);

/* The x of the call `x.method(...)`; 0: the method is called elsewhere than where it is named. */
static inline ir_ref
ir_method_self(const struct ir_func *func, ir_ref call)
{
    ir_ref method = ir_arg(func, call, 0);
    return ir_insn(func, method)->op == IR_ATTR ? ir_arg(func, method, 0) : 0;
}

/* Which operand of a CALL of intrinsic `id` is its parameter number k, from 0, by place or by name;
 * 0: it was not given. */
uint32_t ir_intrin_operand(const struct ir_module *module, const struct ir_insn *call,
                           enum ir_intrin id, uint32_t k);

/* ---- Types of numbers (ir/numbers.c, from arith.def and numbers.md) ---- */

enum ir_arith_result {
    IR_RES_NONE, IR_RES_INT, IR_RES_BOOL, IR_RES_COMMON, IR_RES_LEFT, IR_RES_FLOAT, IR_RES_DOUBLE,
    IR_RES_SAME, IR_RES_EXACT
};
enum ir_lowering {
    IR_LOW_NONE, IR_LOW_IADD, IR_LOW_ISUB, IR_LOW_IMUL, IR_LOW_IFLOORDIV, IR_LOW_IMOD, IR_LOW_IPOW,
    IR_LOW_ISHL, IR_LOW_ISHR, IR_LOW_IAND, IR_LOW_IOR, IR_LOW_IXOR, IR_LOW_FADD, IR_LOW_FSUB,
    IR_LOW_FMUL, IR_LOW_FDIV, IR_LOW_FFLOORDIV, IR_LOW_FMOD, IR_LOW_FPOW, IR_LOW_INEG, IR_LOW_FNEG,
    IR_LOW_POS, IR_LOW_INVERT, IR_LOW_NOT
};
/* Functions of one number. */
enum ir_numfunc { IR_NUM_ABS, IR_NUM_ROUND, IR_NUM_DIGITS, IR_NUM_MATH, IR_N_NUMFUNCS };
/* How a number becomes one of another class; RESIZE and FLOAT go by the widths of both. */
enum ir_conversion {
    IR_CONV_RESIZE, IR_CONV_NONZERO, IR_CONV_UNIT, IR_CONV_SITOFP, IR_CONV_UITOFP, IR_CONV_FPTOSI,
    IR_CONV_FPTOUI, IR_CONV_FLOAT
};
struct ir_arith_row {
    uint8_t result;   /* enum ir_arith_result */
    uint8_t lowering; /* enum ir_lowering */
};

static inline bool
ir_is_float(ir_type t)
{
    return t >= IR_T_FLOAT && t <= IR_LAST_SCALAR;
}
static inline bool
ir_is_typed_int(ir_type t)
{
    return t >= IR_T_INT8 && t <= IR_T_UINT64;
}
/* bool, int or a typed integer */
static inline bool
ir_is_integer(ir_type t)
{
    return t >= IR_T_BOOL && t <= IR_T_UINT64;
}
static inline bool
ir_is_unsigned(ir_type t)
{
    return t >= IR_T_UINT8 && t <= IR_T_UINT64;
}
/* The result type of `a op b`, and how to compute it; IR_T_NONE or IR_T_MIXED if there is none.
 * `negative_constant`: b is a negative constant of the program. */
ir_type ir_bin_type(enum ir_binop op, ir_type a, ir_type b, bool negative_constant,
                    enum ir_lowering *lowering_out);
ir_type ir_un_type(enum ir_unop op, ir_type a, enum ir_lowering *lowering_out);
/* The type both sides of a comparison convert to; IR_T_MIXED: uint64 with a signed one, compare
 * exactly. */
ir_type ir_cmp_type(ir_type a, ir_type b);
/* The float type of a math function's arguments: the widest typed float, or float. */
ir_type ir_func_type(enum ir_numfunc op, ir_type a);
enum ir_conversion ir_conversion(ir_type from, ir_type to);
ir_type ir_math_type(uint32_t n, const ir_type *args);
/* The length of a range that is the constant tuple (start, stop, step), modulo 2**64. */
uint64_t ir_range_length(const struct ir_module *module, ir_const range);
/* The type of an iterator's state after this one. */
ir_type ir_iter_next(struct ir_module *module, ir_type iter);
/* Which of a tuple's n elements a constant slice takes; false: its bounds are no integers. */
bool ir_slice_of(const struct ir_module *module, ir_const slice, uint32_t n, int64_t *start_out,
                 int64_t *step_out, uint32_t *count_out);
/* The type where variables of these types meet (numbers.md, Joins); also tuples, arrays,
 * objects. */
ir_type ir_type_join(struct ir_module *module, ir_type a, ir_type b);

/* The type without the extents that the types of arrays in it know. */
ir_type ir_type_drop_extents(struct ir_module *module, ir_type type);
/* The place of a field in a NamedTuple; -1: the type is none or has no such field. */
int ir_type_field(const struct ir_module *module, ir_type type, const char *name);
/* The view of field k of an array of records; IR_T_NONE: it has too many axes. record.c */
ir_type ir_record_view(struct ir_module *module, ir_type array, uint32_t k);
/* A record that is given by value: the kernel's own copy. */
ir_type ir_record_argument(struct ir_module *module, ir_type record);
/* What a view is where it is read: of rank 0 its element. */
ir_type ir_view_value(struct ir_module *module, ir_type view);
/* Whether every array has the attribute. */
bool infer_is_array_attr(const char *name);
/* What reading an element of an array of this dtype gives. */
ir_type ir_element_type(ir_type dtype);
/* What a scalar argument laid out like this computes as: int32 -> int, float32 -> float32. */
ir_type ir_argument_scalar(ir_type layout);
/* Whether operand `ref` is an integer constant of the program (after READ), and its value. */
bool ir_program_int(const struct ir_module *module, const struct ir_func *func, ir_ref ref,
                    int64_t *value_out);

#endif
