/* The working state of inference, shared by the infer*.c files only. */
#ifndef IR_INFER_T_H
#define IR_INFER_T_H

#include "ir/infer.h"

#define INFER_MAX_CHAIN 64u
#define INFER_MAX_INSTANCES 4096u
#define INFER_MAX_SHARED_B (1u << 20) /* of one array; the device says what a block can have */

struct infer_item {
    uint32_t instance;
    ir_ref ref;
};

/* A question's key and, once asked, its answer. */
struct infer_answer {
    bool asked;
    struct ir_question question;
};

struct infer {
    struct ir_ctx *ctx;
    struct ir_module *module;
    struct ir_typed *typed;
    struct sp_map instance_map;
    SP_VEC(struct ir_flow *) flows;   /* by function index */
    SP_VEC(struct sp_bits) demanded;  /* by function index: parameters wanted by value */
    SP_VEC(struct infer_item) work;   /* instructions whose operands rose */
    SP_VEC(struct sp_bits) queued;    /* by instance */
    struct sp_map shared_map;         /* (instance, CELL) -> index in typed->shared */
    struct sp_map answer_map;         /* (object, name) -> index in answers */
    SP_VEC(struct infer_answer) answers;
    SP_VEC(struct infer_item) waiting; /* for answers */
    SP_VEC(struct infer_item) unrolls; /* phis where rounds of different types meet */
    SP_VEC(struct infer_item) expands; /* calls whose arguments are to be written out */
    SP_VEC(struct infer_item) pending; /* isinstance calls, loops over tuples of different types: for
                                        * types that rise no more */
    SP_VEC(struct infer_item) settled; /* the same, answered */
    bool settling;                     /* they are being answered */
    bool reporting; /* cells are final: rules set ctx->diag when they fail */
};

/* The place of an instruction, for sp_diag_set. */
const struct sp_src *infer_src(struct infer *in, const struct ir_instance *instance, ir_ref ref);
/* Errors exist only once cells are final: before that a rule that fails gives no type, quietly. */
#define INFER_FAIL(in, instance, ref, code, ...)                                                   \
    infer_false((in)->reporting && sp_diag_set((in)->ctx->diag, SP_E_##code,                       \
                                               infer_src((in), (instance), (ref)), __VA_ARGS__))
#define INFER_HINT(in, ...)                                                                        \
    infer_false((in)->reporting && sp_diag_hint((in)->ctx->diag, __VA_ARGS__))
static inline bool
infer_false(bool is_false)
{
    return is_false;
}

/* A type's text on the arena, for messages. */
const char *infer_text(struct infer *in, ir_type type);
/* A type that an operation can be typed with: not none, mixed or in conflict. */
static inline bool
infer_known(ir_type type)
{
    return type != IR_T_NONE && type != IR_T_MIXED && type != IR_T_CONFLICT;
}
/* What a reader goes on with: of a MIXED cell, which a float may still resolve, the type that it
 * had before, so that what its readers do with other operands can bring that float. */
static inline struct ir_cell
infer_seen(struct ir_cell cell)
{
    return cell.type == IR_T_MIXED && cell.constant ? (struct ir_cell){cell.constant, 0} : cell;
}
static inline struct ir_cell
infer_operand(const struct ir_instance *instance, ir_ref ref, uint32_t i)
{
    return infer_seen(instance->cells[ir_operand(instance, ref, i)]);
}
struct ir_cell infer_typed(ir_type type);
struct ir_cell infer_constant(struct infer *in, ir_const constant);
/* Element k of a tuple. */
struct ir_cell infer_elem(const struct infer *in, struct ir_cell tuple, uint32_t k);
/* The object of an OBJECT type, or NULL. */
const struct ir_const_info *infer_object(const struct infer *in, ir_type type);
const char *infer_name(const struct infer *in, ir_const str);

void infer_queue(struct infer *in, struct ir_instance *instance, ir_ref ref);
/* Lifts `cell` to include `with`; true if it rose. */
bool infer_rise(struct infer *in, struct ir_cell *cell, struct ir_cell with);

/* Wants the value of the parameter behind `ref`: its instance is made again with the value in its
 * key. True if `ref` is such a parameter. */
bool infer_demand(struct infer *in, struct ir_instance *instance, ir_ref ref);
/* Looks the answer up or puts the question; false: not answered yet. A failed answer is constant
 * 0. */
bool infer_ask(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_const object,
               const char *name, const struct ir_question **answer_out);
struct ir_instance *infer_instance(struct infer *in, const struct ir_func *func,
                                   const struct ir_cell *args, const struct ir_caller *caller);

/* Takes everything about an instance back whose function has been replaced. */
void infer_restart(struct infer *in, struct ir_instance *instance);

/* Rules: false if the operation has no type; true with *out left alone while an operand is
 * unknown. */
bool infer_rule(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out);
/* As infer_rule, for the operation that the instruction or the function called stands for. */
bool infer_rule_operation(struct infer *in, struct ir_instance *instance, ir_ref ref,
                          struct ir_cell *out);
bool infer_rule_call(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out);
bool infer_rule_intrin(struct infer *in, struct ir_instance *instance, ir_ref ref,
                       enum ir_intrin id, struct ir_cell *out);
bool infer_rule_cast(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type to,
                     struct ir_cell *out);
bool infer_rule_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out);
/* Puts `n` questions; without an oracle each fails. */
void infer_put(struct infer *in, struct ir_question *questions, uint32_t n);
/* infer_expand.c: a call whose arguments the operands do not show one by one, *t of a builtin or
 * what a partial call brings along, is written out. As a rule: false is an error. */
bool infer_rule_expand(struct infer *in, struct ir_instance *instance, ir_ref ref);
/* Writes out what was asked for; true if there was something. */
bool infer_expand_all(struct infer *in);
/* The cells of the kernel's slots: infer_kernel.c */
bool infer_kernel(struct infer *in, const struct ir_func *kernel, struct ir_cell *cells);
/* infer_closure.c */
bool infer_rule_closure(struct infer *in, struct ir_instance *instance, ir_ref ref,
                        struct ir_cell *out);
bool infer_rule_cell(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out);
bool infer_rule_cellget(struct infer *in, struct ir_instance *instance, ir_ref ref,
                        struct ir_cell *out);
bool infer_rule_cellset(struct infer *in, struct ir_instance *instance, ir_ref ref);
/* Which shared variables are kept in memory: those with content that is known at run time only. */
void infer_fill_slots(struct infer *in);

/* Whether a value of this type leads to a variable in memory of this instance. */
bool infer_reaches_slot(const struct infer *in, ir_type type, uint32_t instance);

bool infer_rule_item(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out);
bool infer_rule_setitem(struct infer *in, struct ir_instance *instance, ir_ref ref);
/* infer_raise.c */
bool infer_is_text(const struct infer *in, ir_type type);
bool infer_rule_text(struct infer *in, struct ir_instance *instance, ir_ref ref, enum ir_recipe how,
                     struct ir_cell *out);
/* a + b of texts */
bool infer_rule_text_sum(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type a,
                         ir_type b, struct ir_cell *out);
bool infer_rule_exception(struct infer *in, struct ir_instance *instance, ir_ref ref,
                          ir_const class, struct ir_cell *out);
bool infer_rule_throw(struct infer *in, struct ir_instance *instance, ir_ref ref);
/* Whether the host can be told a value of this type, and of how many numbers it is made then. */
bool infer_is_carried(const struct infer *in, ir_type type);
uint32_t infer_count_numbers(const struct infer *in, ir_type type);
/* Whether running the instance may raise; `seen`: instances that were looked at. */
bool infer_may_throw(struct infer *in, const struct ir_instance *instance, struct sp_bits *seen);
bool infer_rule_slice(struct infer *in, struct ir_instance *instance, ir_ref ref,
                      struct ir_cell *out);
bool infer_rule_slice_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                           struct ir_cell slice, const char *name, struct ir_cell *out);
/* `array <op>= value`, which changes the elements and gives the array. */
bool infer_rule_inplace(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                        ir_type value, struct ir_cell *out);
/* slice(start, stop, step) of these cells. */
bool infer_slice(struct infer *in, struct ir_instance *instance, ir_ref ref,
                 const struct ir_cell *cells, struct ir_cell *out);
struct ir_cell infer_constant_slice(struct infer *in, ir_const constant);
/* From 3.14 on `1:2` is one constant: the faults of three. */
bool infer_check_constant_slice(struct infer *in, struct ir_instance *instance, ir_ref ref,
                                ir_const constant);
bool infer_index_plan(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                      ir_type index, struct ir_index_plan *plan_out);
/* Checks array[index] = value. */
bool infer_store_item(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                      ir_type index, ir_type value);
/* Checks that the value may be stored in elements of this dtype, of an array of this rank. */
bool infer_check_stored(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type value,
                        ir_type dtype, uint32_t rank);

/* infer_record.c. Arrays of records, of any rank; one record. */
bool infer_has_fields(struct infer *in, ir_type type);
bool infer_is_record(struct infer *in, ir_type type);
/* Whether x.name, x[index] is a field. */
bool infer_has_field_attr(struct infer *in, ir_type type, const char *name);
bool infer_is_field_index(struct infer *in, ir_type type, struct ir_cell index);
bool infer_hint_fields(struct infer *in, ir_type array);
bool infer_rule_field(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                      ir_const name, struct ir_cell *out);
bool infer_store_field(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                       ir_const name, ir_type value);
bool infer_same_record(struct infer *in, ir_type a, ir_type b);
bool infer_check_stored_record(struct infer *in, struct ir_instance *instance, ir_ref ref,
                               ir_type value, ir_type dtype, uint32_t rank);
bool infer_record_dtype_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                             ir_type type, const char *name, struct ir_cell *out);
/* A store to an array that is read-only. */
bool infer_fail_read_only(struct infer *in, struct ir_instance *instance, ir_ref ref,
                          ir_type array);
/* Checks that `index` names one element of an array of this type; `ref` is the place. */
bool infer_check_index(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type array,
                       ir_type index);

/* A call of the kernel namespace. */
struct intrin_call {
    struct infer *in;
    struct ir_instance *instance;
    ir_ref ref;
    enum ir_intrin id;
    const struct ir_intrin_row *row;
    const char *name; /* "math.sqrt" without "builtins." */
    uint32_t n;       /* arguments */
    struct ir_cell *args;
};
#define CALL_ERROR(call, code, ...)                                                                \
    INFER_FAIL((call)->in, (call)->instance, (call)->ref, code, __VA_ARGS__)
#define CALL_HINT(call, ...) INFER_HINT((call)->in, __VA_ARGS__)
/* uint64 with a signed integer: these two, or the first two such arguments. */
bool infer_fail_mixed(struct intrin_call *call, ir_type a, ir_type b);
bool infer_fail_mixed_args(struct intrin_call *call);
/* `instead` may be NULL: an array's element is meant. */
/* What to give instead of a value of `type` where a number is needed, or NULL. */
const char *infer_number_hint(struct infer *in, ir_type type);
bool infer_bad_argument(struct intrin_call *call, uint32_t i, const char *instead);
/* Whether the argument is a constant; false also while it may become one. */
bool infer_want_constant(struct intrin_call *call, uint32_t i, const char *what, bool *wait_out);
/* gpu.atomic: infer_atomic.c */
bool infer_rule_atomic(struct intrin_call *call, struct ir_cell *out);
/* infer_warp.c */
bool infer_rule_warp(struct intrin_call *call, struct ir_cell *out);
bool infer_rule_clock(struct intrin_call *call, struct ir_cell *out);
/* infer_bits.c */
bool infer_rule_bits(struct intrin_call *call, struct ir_cell *out);
/* infer_print.c */
bool infer_rule_print(struct intrin_call *call, struct ir_cell *out);
/* str, repr, ascii, format: infer_raise.c */
bool infer_rule_text_call(struct intrin_call *call, struct ir_cell *out);
/* The functions of numpy, infer_numpy.c. */
bool infer_rule_numpy(struct intrin_call *call, struct ir_cell *out);
/* Methods of numbers: the number is argument 0. */
bool infer_rule_method(struct intrin_call *call, struct ir_cell *out);
bool infer_rule_number_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                            struct ir_cell number, const char *name, struct ir_cell *out);
bool infer_rule_dtype_attr(struct infer *in, struct ir_instance *instance, ir_ref ref,
                           ir_type scalar, const char *name, struct ir_cell *out);
bool infer_rule_cmp(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out);
bool infer_rule_is(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out);
bool infer_rule_in(struct infer *in, struct ir_instance *instance, ir_ref ref, struct ir_cell *out);
bool infer_fail_operands(struct infer *in, struct ir_instance *instance, ir_ref ref, const char *op,
                         ir_type a, ir_type b);
/* The type of the operator `ref` on numbers of these types, IR_T_NONE where it is not defined;
 * false: their signs do not meet. */
bool infer_bin_type(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type a,
                    ir_type b, ir_type *type_out);

/* infer_tuple.c */
bool infer_rule_tuple(struct infer *in, struct ir_instance *instance, ir_ref ref,
                      struct ir_cell *out);
bool infer_rule_unpack(struct infer *in, struct ir_instance *instance, ir_ref ref,
                       struct ir_cell *out);
bool infer_rule_unpack_ex(struct infer *in, struct ir_instance *instance, ir_ref ref,
                          struct ir_cell *out);
bool infer_rule_elem(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out);
/* + and * of tuples. */
bool infer_is_tuple_bin(const struct infer *in, enum ir_binop op, ir_type a, ir_type b);
bool infer_rule_tuple_bin(struct infer *in, struct ir_instance *instance, ir_ref ref,
                          struct ir_cell *out);
bool infer_tuple_slice(struct infer *in, struct ir_instance *instance, ir_ref ref,
                       struct ir_cell tuple, ir_const slice, struct ir_cell *out);
/* Refuses types of too many leaves. */
bool infer_check_size(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type);
struct ir_cell infer_make_tuple(struct infer *in, uint32_t n, const struct ir_cell *cells);
/* Element k of a tuple. */
struct ir_cell infer_elem(const struct infer *in, struct ir_cell tuple, uint32_t k);
/* The same for the tuple that `ref` makes, whose elements may be constants one by one. */
struct ir_cell infer_part(struct infer *in, const struct ir_instance *instance, ir_ref ref,
                          uint32_t k);

/* infer_iter.c: types of iterators (IR_T_NONE: not iterable), and what follows from them. */
ir_type infer_iter(struct infer *in, struct ir_cell over, bool reversed, bool unrolled);
ir_type infer_iter_zip(struct infer *in, uint32_t n, const ir_type *iters);
ir_type infer_iter_enumerate(struct infer *in, ir_type iter, ir_const start);
/* Whether elements of this type are of different types for now: the loop is written out only if
 * that is still so when nothing else is left to do. The iterator has no type until then. */
bool infer_iter_waits(struct infer *in, const struct ir_instance *instance, ir_ref ref,
                      ir_type over);
struct ir_cell infer_iter_value(struct infer *in, ir_type iter);
/* Element k of the value, which is a tuple. */
struct ir_cell infer_iter_part(struct infer *in, ir_type iter, uint32_t k);
/* How many values are left at most, or -1: known at run time only. */
int64_t infer_iter_left(const struct infer *in, ir_type iter);
/* How many values there are, or -1: known at run time only. */
int64_t infer_iter_length(const struct infer *in, ir_type iter);
/* ITER, MORE, VALUE, NEXT */
bool infer_rule_step(struct infer *in, struct ir_instance *instance, ir_ref ref,
                     struct ir_cell *out);
/* Reports an iterator value that is used more than once. */
bool infer_check_once(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_ref iter);
bool infer_fail_iter(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_type type);
/* The hint for gpu.threadIdx and the like where a number is meant; false. */
bool infer_hint_axes(struct infer *in, const char *path);
bool infer_fail_rounds(struct infer *in, struct ir_instance *instance, ir_ref ref, ir_ref phi);
bool infer_is_unrolled(const struct ir_instance *instance, ir_ref ref);
void infer_want_unrolled(struct infer *in, const struct ir_instance *instance, ir_ref phi);
/* Unrolls what was asked for; true if there was something. */
bool infer_unroll_all(struct infer *in);

/* Folding of weak constants by the number rules; 0 if it is left to run time. */
ir_const infer_fold_bin(struct ir_module *module, enum ir_binop op, ir_const a, ir_const b,
                        ir_type type);
ir_const infer_fold_un(struct ir_module *module, enum ir_unop op, ir_const a, ir_type type);
ir_const infer_fold_cmp(struct ir_module *module, enum ir_cmpop op, ir_const a, ir_const b);
ir_const infer_fold_cast(struct ir_module *module, ir_const a, ir_type to);
/* -1 if the constant's truth is not known. */
int infer_truth(const struct ir_module *module, struct ir_cell cell);

/* Where a keyword argument stands among all of them, or UINT32_MAX; how many come before
 * keywords. */
uint32_t infer_call_keyword(const struct intrin_call *call, const char *name);
uint32_t infer_call_n_positional(const struct intrin_call *call);
/* Arguments must all be numbers, or integers. */
bool intrin_numbers(struct intrin_call *call);
bool intrin_integers(struct intrin_call *call);
/* Arrays that a kernel makes, infer_memory.c. */
bool infer_rule_memory(struct intrin_call *call, struct ir_cell *out);
/* Builtins that are more than one operation, infer_builtin.c. */
bool infer_rule_builtin(struct intrin_call *call, struct ir_cell *out);

/* Looks over all live instances; false with the first error in program order. */
bool infer_report(struct infer *in);
/* Recursion that nothing ends is an error: infer_endless.c */
bool infer_check_endless(struct infer *in);

#endif
