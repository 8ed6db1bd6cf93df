/* The SSA IR: modules, functions, instructions, types, constants. Phase PY holds what bytecode
 * says, phase CORE what a machine does; both share these structures, the printer, parser and
 * verifier.
 *
 * Values are numbers: an ir_ref is the index of the instruction that makes it. A function's first
 * block is its entry and has no predecessors. Phi operands stand in the order of their block's
 * predecessors. docs/ir.md specifies the text form. */
#ifndef IR_IR_H
#define IR_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/artifact.h"
#include "support/diag.h"
#include "support/hash.h"
#include "support/map.h"
#include "support/vec.h"

typedef uint32_t ir_ref;   /* an instruction of a function; 0 is none */
typedef uint32_t ir_type;  /* an interned type of a module */
typedef uint32_t ir_const; /* an interned constant of a module; 0 is none */

/* ---- Tables ---- */

enum ir_fixed_type {
    IR_T_NONE, /* no type yet (inference), or untyped (phase PY) */
#define IR_SCALAR(id, ...) IR_T_##id,
#include "ir/types.def"
    IR_T_MIXED, /* uint64 met signed integers: an error unless a float joins */
    IR_T_CONFLICT, /* types that cannot meet */
#define IR_MACHINE(id, ...) IR_T_##id,
#include "ir/types.def"
    IR_N_FIXED_TYPES
};
#define IR_FIRST_SCALAR IR_T_BOOL
#define IR_LAST_SCALAR IR_T_FLOAT64

enum ir_class { IR_CLASS_BOOL, IR_CLASS_INT, IR_CLASS_UINT, IR_CLASS_FLOAT, IR_N_CLASSES };

struct ir_scalar_row {
    const char *name;
    uint8_t class; /* enum ir_class */
    uint8_t bits;
    bool weak;
    uint8_t dlpack;
    const char *typestr, *format, *ptx;
    enum ir_fixed_type machine;
};
/* Rows of types.def; `scalar` is IR_FIRST_SCALAR to IR_LAST_SCALAR. */
const struct ir_scalar_row *ir_scalar_row(ir_type scalar);
/* The scalar of a Python or NumPy name such as "float32", or IR_T_NONE. */
ir_type ir_scalar_by_name(const char *name, size_t len);
/* The scalar of a NumPy typestr ("<f4") that arrays of ours can have, or IR_T_NONE. */
ir_type ir_scalar_by_typestr(const char *typestr);
const char *ir_machine_name(ir_type machine);
unsigned ir_machine_bits(ir_type machine);
static inline bool
ir_is_half(ir_type machine)
{
    return machine == IR_T_F16 || machine == IR_T_BF16;
}
/* The nearest F16 or BF16, ties to even; the value of one; a * b + c rounded once. half.c */
uint16_t ir_half_of(ir_type half, double value);
double ir_half_value(ir_type half, uint16_t bits);
uint16_t ir_half_fma(ir_type half, uint16_t a, uint16_t b, uint16_t c);

/* The largest finite number of a float type. */
double ir_float_largest(ir_type machine);

enum ir_op {
    IR_NOP, /* a deleted instruction; in no block */
#define IR_OP(id, ...) IR_##id,
#include "ir/ops.def"
    IR_N_OPS
};

enum ir_op_flags {
    IR_PURE = 1,
    IR_F_LOAD = 2,
    IR_F_STORE = 4,
    IR_F_ATOMIC = 8,
    IR_TERM = 16,
    IR_RAISES = 32,
    IR_CONVERGENT = 64,
    IR_WAITS = 128,
};
enum ir_phase { IR_PHASE_PY = 1, IR_PHASE_CORE = 2, IR_PHASE_BOTH = 3 };
enum ir_result { IR_RESULT_NONE, IR_RESULT_GIVEN, IR_RESULT_SAME, IR_RESULT_I1 };

struct ir_op_row {
    const char *name;
    uint8_t phase, result;
    int8_t n_args;
    uint8_t flags;
    const char *meaning;
};
const struct ir_op_row *ir_op_row(enum ir_op op);
/* Whether an operation may stand with a value and without: then its type is void. */
static inline bool
ir_op_may_be_void(enum ir_op op)
{
    return op == IR_CALLF || op == IR_EFFECT;
}

/* Python's binary operators in the order of CPython's BINARY_OP argument. */
enum ir_binop {
    IR_BIN_ADD, IR_BIN_AND, IR_BIN_FLOORDIV, IR_BIN_LSHIFT, IR_BIN_MATMUL, IR_BIN_MUL, IR_BIN_MOD,
    IR_BIN_OR, IR_BIN_POW, IR_BIN_RSHIFT, IR_BIN_SUB, IR_BIN_TRUEDIV, IR_BIN_XOR, IR_N_BINOPS
};
#define IR_INPLACE 0x100u
#define IR_VOLATILE 0x100u /* of a LOAD */
enum ir_unop { IR_UN_NEG, IR_UN_POS, IR_UN_INVERT, IR_UN_NOT, IR_N_UNOPS };
enum ir_cmpop { IR_CMP_LT, IR_CMP_LE, IR_CMP_EQ, IR_CMP_NE, IR_CMP_GT, IR_CMP_GE, IR_N_CMPOPS };
/* What a text is made of: the INT constant of a RECIPE type. An exception has its class there. */
enum ir_recipe {
    IR_TEXT_FORMAT, IR_TEXT_STR, IR_TEXT_REPR, IR_TEXT_ASCII, IR_TEXT_JOIN, IR_TEXT_PERCENT, IR_N_TEXTS
};
enum ir_icmp {
    IR_ICMP_EQ, IR_ICMP_NE, IR_ICMP_SLT, IR_ICMP_SLE, IR_ICMP_SGT, IR_ICMP_SGE,
    IR_ICMP_ULT, IR_ICMP_ULE, IR_ICMP_UGT, IR_ICMP_UGE, IR_N_ICMPS
};
/* O: false if an operand is NaN; U: true. */
enum ir_fcmp {
    IR_FCMP_OEQ, IR_FCMP_UNE, IR_FCMP_OLT, IR_FCMP_OLE, IR_FCMP_OGT, IR_FCMP_OGE, IR_FCMP_UNO,
    IR_FCMP_ONE, IR_N_FCMPS
};
enum ir_atomic {
#define IR_ATOMIC(id, ...) IR_ATOMIC_##id,
#include "ir/atomic.def"
    IR_N_ATOMICS,
    IR_ATOMIC_NONE = IR_N_ATOMICS
};
/* "+", "-", "<", ...: as in Python source */
const char *ir_binop_text(enum ir_binop op);
const char *ir_unop_text(enum ir_unop op);
const char *ir_cmpop_text(enum ir_cmpop op);
const char *ir_recipe_name(enum ir_recipe text); /* "format", ... */
/* "eq", "slt", ...: as in IR text */
const char *ir_icmp_name(enum ir_icmp op);
const char *ir_fcmp_name(enum ir_fcmp op);
const char *ir_atomic_name(enum ir_atomic op);
/* Whether the operation exists for elements of a machine type. atomic.c */
bool ir_atomic_takes(enum ir_atomic op, ir_type machine);

enum ir_rule {
    IR_RULE_SREG, IR_RULE_GRID, IR_RULE_ATOMIC, IR_RULE_CAS, IR_RULE_ABS, IR_RULE_MINMAX, IR_RULE_RANGE,
    IR_RULE_LEN, IR_RULE_ROUND_DIGITS, IR_RULE_POW_BUILTIN, IR_RULE_MATH, IR_RULE_LOG, IR_RULE_FCORE,
    IR_RULE_ROUND, IR_RULE_TEST, IR_RULE_ISCLOSE, IR_RULE_HYPOT, IR_RULE_FREXP, IR_RULE_LDEXP,
    IR_RULE_MODF, IR_RULE_ULP, IR_RULE_GCD, IR_RULE_ISQRT, IR_RULE_OPERATOR, IR_RULE_INDEX,
    IR_RULE_SLICE, IR_RULE_BITS, IR_RULE_LANEMASK, IR_RULE_WARP, IR_RULE_CLOCK,
    IR_RULE_NP_FLOAT, IR_RULE_NP_POWER, IR_RULE_NP_FMOD, IR_RULE_NP_SAME, IR_RULE_NP_ROUND,
    IR_RULE_NP_JOIN, IR_RULE_NP_BOOL, IR_RULE_NP_BITS, IR_RULE_NP_DTYPE, IR_RULE_METHOD,
    IR_RULE_ENUMERATE, IR_RULE_ZIP, IR_RULE_REVERSED, IR_RULE_UNROLL, IR_RULE_TUPLE, IR_RULE_SUM,
    IR_RULE_DIVMOD, IR_RULE_ISINSTANCE, IR_RULE_PRINT, IR_RULE_TEXT,
    IR_RULE_BARRIER, IR_RULE_SYNCWARP, IR_RULE_THIS_GRID,
    IR_RULE_GRID_SYNC, IR_RULE_FENCE, IR_RULE_MEMORY, IR_RULE_NONE
};
enum ir_intrin {
    IR_INTRIN_NONE,
#define IR_INTRIN(id, ...) IR_INTRIN_##id,
#include "ir/intrin.def"
    IR_N_INTRINS
};
struct ir_intrin_row {
    const char *path;
    uint8_t rule; /* enum ir_rule */
    int8_t min_args, max_args;
    uint8_t flags;
    const char *nv, *host;
    uint16_t sm, ptx;
    const char *doc;
};
const struct ir_intrin_row *ir_intrin_row(enum ir_intrin id);
/* What a function of rule ATOMIC does to elements of this type (IR_ATOMIC_NONE: there is no such
 * thing), with the negated operand if `*negated_out`. atomic.c */
enum ir_atomic ir_atomic_of_call(enum ir_intrin intrin, ir_type dtype, bool *negated_out);
/* The machine types of a row's operation as in intrin.def ("i32 T T"), "" where it is none. */
const char *ir_intrin_types(enum ir_intrin id);
/* What a call of an intrinsic of rule OPERATOR computes. */
struct ir_operator_row {
    uint16_t op; /* enum ir_op */
    uint16_t imm;
};
struct ir_operator_row ir_operator_row(enum ir_intrin id);
/* The name of parameter k, from 0, of a function that takes keywords; NULL behind the last. */
const char *ir_intrin_param(enum ir_intrin id, uint32_t k);
/* Every path of the namespace, aliases too, by number from 0; NULL behind the last. */
const char *ir_path_at(size_t i);
/* IR_INTRIN_NONE if the path is no intrinsic. */
enum ir_intrin ir_intrin_by_path(const char *path);
/* Whether some intrinsic or number lies below this path ("gpu.threadIdx"). */
bool ir_intrin_is_prefix(const char *path);
/* The candidate that differs from a name in the fewest letters. */
#define IR_SUGGEST_LEN 24 /* longer names are never close */
#define IR_SUGGEST_HINT 600
struct ir_suggest {
    const char *name;
    char best[IR_SUGGEST_LEN + 1]; /* "": none is near */
    unsigned least;                /* its distance */
};
void ir_suggest_init(struct ir_suggest *suggest, const char *name);
void ir_suggest_try(struct ir_suggest *suggest, const char *candidate);
/* What to write instead of `space`.`name`, which does not exist; false: nothing comes to mind. */
bool ir_suggest_name(const char *space, const char *name, char *out, size_t out_B);
bool ir_number_by_path(const char *path, double *value_out, bool *is_int_out);

/* ---- Types ---- */

enum ir_kind {
    IR_KIND_NONE, IR_KIND_SCALAR, IR_KIND_MIXED, IR_KIND_CONFLICT, IR_KIND_MACHINE,
    IR_KIND_TUPLE, /* elems; object: the CLASS of a NamedTuple, or 0 */
    IR_KIND_RECORD, /* storable; elems: its fields, names, offsets, size_B, align_log2 */
    IR_KIND_INNER, /* storable, in records alone: an array of elems[0] in the order of C; object: a TUPLE of its extents */
    IR_KIND_ARRAY, /* dtype, rank, layout, space, align_log2, read_only; object: a TUPLE of its extents, or 0 */
    IR_KIND_OBJECT, /* object: a compile-time value; None, functions, dtypes, modules, strings, ... */
    IR_KIND_RANGE, /* range(); step_sign: 1, -1, or 0 if the step is not known; unit_step */
    IR_KIND_ITER, /* iterator state; iter, elems, position, object */
    IR_KIND_RECIPE, /* a text or an exception that the host makes of elems; object: how, see below */
    IR_KIND_SLICE, /* slice(); elems: int or the object None each; step_sign: 1 if the step is surely 1, else 0 */
    IR_KIND_CLOSURE, /* object: a FUNC; elems, consts: its own defaults and free variables */
    IR_KIND_CELL, /* object: number of a variable that functions share, from inference */
};
enum ir_iter {
    IR_ITER_LOOP,      /* over elems[0]: a range, an array or a tuple of one element type */
    IR_ITER_REVERSED,  /* the same from the end */
    IR_ITER_UNROLLED,  /* at `position` of the tuple elems[0]; object: the tuple, if it is constant */
    IR_ITER_ENUMERATE, /* of iterator elems[0]; object: the first number, if it is constant */
    IR_ITER_ZIP,       /* of iterators elems */
};
/* From the strongest to the weakest knowledge. */
enum ir_layout { IR_LAYOUT_C, IR_LAYOUT_F, IR_LAYOUT_ANY };
enum ir_space { IR_SPACE_GLOBAL, IR_SPACE_SHARED, IR_SPACE_LOCAL, IR_SPACE_CONST };
#define IR_MAX_RANK 8
/* Types may share elements, so a few lines can nest what no machine holds: inference refuses
 * more. */
#define IR_MAX_LEAVES 8192u
#define IR_MAX_RESULT_LEAVES 256u /* of functions: LLVM takes cubic time over results */

struct ir_type_info {
    uint8_t kind; /* enum ir_kind */
    ir_type dtype; /* ARRAY: a storable type */
    uint8_t rank;
    uint8_t layout;
    uint8_t space;
    uint8_t align_log2; /* ARRAY: known alignment of element 0 */
    bool read_only;
    int8_t step_sign;
    bool unit_step; /* RANGE: the step is surely 1 or -1 */
    uint8_t iter; /* enum ir_iter */
    uint32_t position;
    ir_const object;
    uint32_t n_elems;
    uint32_t n_leaves; /* filled in: what is no tuple, at any depth; saturates */
    const ir_type *elems;
    uint32_t size_B; /* RECORD, INNER */
    const ir_const *names; /* RECORD: STR per field */
    const uint32_t *offsets; /* RECORD: of its fields, in bytes */
    const ir_const *consts; /* CLOSURE: per element the value, or 0: known at run time */
};

/* ---- Constants ---- */

enum ir_const_kind {
    IR_C_NONE_SLOT, /* number 0: no constant */
    IR_C_INT,    /* i: Python int that fits int64 */
    IR_C_UINT,   /* u: Python int in [2^63, 2^64) */
    IR_C_BIG,    /* str: decimal text of a larger int */
    IR_C_FLOAT,  /* f: Python float */
    IR_C_BOOL,   /* i: 0 or 1 */
    IR_C_TYPED,  /* scalar, and i, u or f: a typed number (np.float32(1), or a folded cast) */
    IR_C_NONE,   /* None */
    IR_C_ELLIPSIS,
    IR_C_STR,    /* str, len */
    IR_C_TUPLE,  /* elems */
    IR_C_ARRAY,  /* scalar, named: TUPLE of its extents, len: bits of enum ir_array, bytes, array_name */
    IR_C_SLICE,  /* elems: start, stop, step */
    IR_C_FUNC,   /* u: index in the module's funcs */
    IR_C_INTRIN, /* u: enum ir_intrin */
    IR_C_NAMESPACE, /* str: a path with intrinsics below it ("gpu", "gpu.threadIdx", "math") */
    IR_C_DTYPE,  /* scalar: int, float, bool, float32, np.float32, ... called as a cast */
    IR_C_CLASS,  /* elems: name and fields of a NamedTuple class, STR each; named: PARTIAL of its HOST
                    object and the defaults of its last fields, or 0 */
    IR_C_PARTIAL, /* elems: what is called, arguments that come before the call's own; named: TUPLE of the
                     keywords of the last ones, or 0. Alone: a method, whose self is what it was taken of */
    IR_C_HOST,   /* host: an object only Python understands; str: its type's name; asked by questions;
                    len: of a NamedTuple's class its number among the program's */
    IR_C_EXCEPTION, /* str: qualified name of an exception class; len: its number among the program's, 0: builtin */
};

/* How an array of the program lies in its bytes, and whether the program can change it. */
enum ir_array { IR_ARRAY_F = 1, IR_ARRAY_WRITEABLE = 2 };

/* What a NamedTuple's class does otherwise than tuples. */
enum ir_class_own {
    IR_OWN_OPERATORS = 1,
    IR_OWN_COMPARISONS = 2,
    IR_OWN_ELEMENTS = 4,
    IR_OWN_TRUTH = 8,
};

struct ir_const_info {
    uint8_t kind;   /* enum ir_const_kind */
    ir_type scalar; /* TYPED; DTYPE, ARRAY: any storable type; CLASS: bits of enum ir_class_own */
    uint32_t len;   /* STR: bytes; TUPLE, SLICE, CLASS, PARTIAL: elements */
    ir_const named; /* TUPLE: its CLASS, or 0; ARRAY, CLASS, PARTIAL: above; INT, UINT, FLOAT, BOOL,
                     * STR: a STR, which member of an enum it is, or 0; then `scalar`: it is plain */
    union {
        int64_t i;
        uint64_t u;
        double f;
        const char *str;
        const ir_const *elems;
        struct {
            const void *host;      /* kept alive by the reader of the module */
            const char *type_name;
        };
        struct {
            const uint8_t *bytes; /* in the order of C, or of Fortran */
            const char *array_name; /* in the source, or "" */
        };
    };
};

/* ---- Functions ---- */

struct ir_insn {
    uint16_t op; /* enum ir_op */
    uint16_t n_args;
    uint32_t first_arg; /* in the function's operands */
    ir_type type;
    uint32_t imm;
    uint32_t block;
    uint32_t src; /* in the function's srcs; 0: unknown */
};

struct ir_block {
    SP_VEC(ir_ref) insns; /* phis first, the terminator last */
    SP_VEC(uint32_t) preds;
    uint32_t succ[2];
    uint32_t n_succ;
};

struct ir_func_param {
    const char *name;
    ir_const fallback; /* default value, or 0 */
    uint32_t given;    /* PY: the closure's element, plus one, that is the default; or 0 */
    ir_type type;      /* CORE */
};

struct ir_func {
    struct ir_module *module;
    const char *name; /* as Python's __qualname__ */
    const char *file; /* may be NULL */
    int32_t line;
    uint32_t index; /* in the module */

    struct ir_func_param *params; /* ir_func_n_slots: then *args if there is one, then free variables */
    uint32_t n_params;    /* without *args and **kwargs */
    uint32_t n_posonly;   /* the first ones that have no keyword */
    uint32_t n_kwonly;    /* the last ones that need a keyword */
    bool has_varargs, has_varkw;
    uint32_t n_free; /* PY: free variables, which a CLOSURE brings */

    ir_type *results; /* CORE: machine types */
    uint32_t n_results;
    bool is_kernel; /* CORE: the entry */
    /* CORE: filled by ir_fill_effects, of instructions here or in a callee */
    bool may_raise;  /* RAISE or POLL */
    bool may_wait;   /* for other threads */
    bool convergent; /* what must not be moved into or out of conditions */
    bool may_print;  /* PRINT */

    SP_VEC(struct ir_insn) insns; /* [0] is IR_NOP */
    SP_VEC(ir_ref) operands;
    SP_VEC(struct ir_block) blocks; /* [0] is the entry */
    SP_VEC(struct sp_src) srcs;     /* [0] is unknown; file and function left NULL: those of the function */
    SP_VEC(struct sp_diag) errors;  /* PY: of ERR instructions */
    uint32_t src; /* given to instructions that are added now */
};

/* How many values an instance is made for. */
static inline uint32_t
ir_func_n_slots(const struct ir_func *func)
{
    return func->n_params + func->has_varargs + func->n_free;
}

/* How many elements a function of phase PY takes from its CLOSURE; 0: it needs none. */
static inline uint32_t
ir_func_n_given(const struct ir_func *func)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->n_params; i++)
        if (func->params[i].given > n)
            n = func->params[i].given;
    return n + func->n_free;
}

/* What READ relied on outside the code object. Opaque here: made and checked by the reader. */
struct ir_guard {
    uint32_t kind;
    const void *container; /* dict, cell, function, object */
    ir_const name;         /* STR constant, or 0 */
    const void *value;     /* what was found; NULL: absent */
};

/* Memory that a module brings along: shared by the threads of a block, or constant data. */
struct ir_static {
    uint8_t space; /* SHARED or CONST */
    uint8_t align_log2;
    uint32_t size_B;
    const uint8_t *bytes; /* CONST: size_B of them */
    const char *name;     /* in the source, or "" */
};
#define IR_MAX_STATIC_B (1u << 30)
#define IR_MAX_SLOT_B 0xffffffu
#define IR_MAX_ALIGN_LOG2 12u

struct ir_module {
    struct sp_arena *arena;
    enum ir_phase phase;
    struct sp_map type_map, const_map;
    SP_VEC(struct ir_type_info) types;
    SP_VEC(struct ir_const_info) consts;
    SP_VEC(struct ir_func *) funcs; /* PY: [0] is the entry; CORE: the kernel is [0] */
    SP_VEC(struct ir_guard) guards;
    SP_VEC(struct sp_fault_site) sites; /* CORE */
    SP_VEC(struct ir_static) statics;   /* CORE */
    struct sp_digest hash; /* PY: content, everything but source ranges */
    bool check;            /* PY, of a compilation: what Python or NumPy would raise is raised */
    bool single;           /* PY, of a compilation: Python's floats compute in float32 */
};

struct ir_module *ir_module_new(struct sp_arena *arena, enum ir_phase phase);
/* Frees what is not on the arena (hash tables, diagnostics). */
void ir_module_finish(struct ir_module *module);
/* A copy on another arena that shares the functions but can take new types, constants and functions
 * of its own; the original must outlive it and is not changed. */
struct ir_module *ir_module_fork(const struct ir_module *module, struct sp_arena *arena);

/* Types: equal types have equal numbers. */
const struct ir_type_info *ir_type_info(const struct ir_module *module, ir_type type);
ir_type ir_type_intern(struct ir_module *module, const struct ir_type_info *info);
ir_type ir_type_tuple(struct ir_module *module, uint32_t n, const ir_type *elems);
ir_type ir_type_object(struct ir_module *module, ir_const object);
ir_type ir_type_array(struct ir_module *module, ir_type dtype, uint32_t rank, enum ir_layout layout);
static inline bool
ir_type_is_scalar(ir_type type)
{
    return type >= IR_FIRST_SCALAR && type <= IR_LAST_SCALAR;
}
void ir_type_print(const struct ir_module *module, ir_type type, struct sp_str *out);

/* Storable types: what elements of arrays are. storable.c */
bool ir_is_storable(const struct ir_module *module, ir_type type);
uint32_t ir_storable_size_B(const struct ir_module *module, ir_type type);
uint32_t ir_storable_align(const struct ir_module *module, ir_type type); /* log2 */
/* Whether its values are where they lie: arrays of rank 0. */
bool ir_is_reference(const struct ir_module *module, ir_type type);
/* What a load of it reads and a store writes; returns how many. */
struct ir_leaf {
    ir_type scalar;
    uint32_t offset_B;
};
#define IR_MAX_ELEMENT_LEAVES 8
uint32_t ir_storable_leaves(const struct ir_module *module, ir_type type,
                            struct ir_leaf leaves_out[IR_MAX_ELEMENT_LEAVES]);
/* An array in a record; IR_T_NONE if it is too large. */
ir_type ir_type_inner(struct ir_module *module, ir_type elem, uint32_t rank,
                      const ir_const *extents);
ir_type ir_type_record(struct ir_module *module, uint32_t n, const ir_const *names,
                       const ir_type *types, const uint32_t *offsets, uint32_t size_B);
/* The number of a field, or -1. */
int ir_record_field(const struct ir_module *module, ir_type record, const char *name, size_t len);
/* A field's name as the text of its record has it, in quotes unless it is a word. */
void ir_field_name_print(const char *name, struct sp_str *out);
/* The type that a text begins with; else what is wrong, at `*end_out`. storable_text.c */
SP_MUST_CHECK bool ir_storable_parse(struct ir_module *module, const char *text,
                                     const char **end_out, ir_type *type_out,
                                     const char **wrong_out);
#define IR_MAX_RECORD_ARGUMENT_B 2040 /* by value */
/* Size and alignment of what a text names, without a module. */
bool ir_storable_of_text(const char *text, uint32_t *size_B_out, uint32_t *align_out);

/* Constants: equal by kind, type and bits (NaN, -0.0, 1 / 1.0 / True are all different). */
const struct ir_const_info *ir_const_info(const struct ir_module *module, ir_const c);
ir_const ir_const_intern(struct ir_module *module, const struct ir_const_info *info);
ir_const ir_const_int(struct ir_module *module, int64_t value);
ir_const ir_const_uint(struct ir_module *module, uint64_t value); /* INT if it fits */
ir_const ir_const_float(struct ir_module *module, double value);
ir_const ir_const_bool(struct ir_module *module, bool value);
ir_const ir_const_str(struct ir_module *module, const char *text, size_t len);
ir_const ir_const_dtype(struct ir_module *module, ir_type scalar);
/* "numpy.finfo.float32.eps", "numpy.iinfo.int8.max" and the like; 0 if there is no such limit. */
ir_const ir_const_limit(struct ir_module *module, const char *path);
/* What a path of the kernel namespace stands for: "gpu.threadIdx.x", "math.pi", "gpu.float32",
 * "builtins.abs", "numpy.float32". False and untouched if nothing. */
bool ir_path_const(struct ir_module *module, const char *path, ir_const *const_out);
/* Whether a constant is one of the indices or sizes that have x, y and z, as gpu.threadIdx;
 * `axes_out` may be NULL. */
bool ir_has_axes(const struct ir_module *module, ir_const c, enum ir_intrin axes_out[3]);
/* The namespace "numpy.finfo.float32" of a type's limits; 0 if the type has none of the kind. */
ir_const ir_const_limits(struct ir_module *module, bool of_floats, ir_type scalar);
/* The number type, not weak, that a DTYPE or a text names; IR_T_NONE if it names none. */
ir_type ir_dtype_of(const struct ir_module *module, ir_const c);
/* Whether both objects name one number type, as `a.dtype == np.float32`, `== "float32"` or `==
 * float` ask. */
bool ir_same_dtype(const struct ir_module *module, ir_type a, ir_type b);
/* Bytes of an ARRAY. */
size_t ir_const_array_size(const struct ir_module *module, const struct ir_const_info *array);
/* The constant as the member `name` ("Colour.RED") of an enum, if a constant of its kind can be one;
 * a plain member equals only itself. */
ir_const ir_const_member(struct ir_module *module, ir_const value, const char *name, bool is_plain);
static inline bool
ir_const_may_be_member(const struct ir_const_info *info)
{
    return info->kind == IR_C_INT || info->kind == IR_C_UINT || info->kind == IR_C_FLOAT ||
           info->kind == IR_C_BOOL || info->kind == IR_C_STR;
}
static inline bool
ir_const_is_plain_member(const struct ir_const_info *info)
{
    return ir_const_may_be_member(info) && info->named && info->scalar;
}
/* "RED" and the value of a member. */
bool ir_member_parts(struct ir_module *module, ir_const c, ir_const *name_out,
                     ir_const *value_out);
ir_const ir_const_tuple(struct ir_module *module, uint32_t n, const ir_const *elems);
ir_const ir_const_simple(struct ir_module *module, enum ir_const_kind kind, uint64_t u);
void ir_const_print(const struct ir_module *module, ir_const c, struct sp_str *out);

/* Functions and blocks. */
struct ir_func *ir_func_new(struct ir_module *module, const char *name);
/* A copy with the same numbers that is no function of the module, for edits during inference. */
struct ir_func *ir_func_clone(struct ir_module *module, const struct ir_func *func);
uint32_t ir_block_new(struct ir_func *func);
/* Appends to the block. Terminators: use ir_jump and the like, which also add the edges. */
ir_ref ir_insn_add(struct ir_func *func, uint32_t block, enum ir_op op, ir_type type, uint32_t imm,
                   uint32_t n_args, const ir_ref *args);
/* A phi without operands at the head of the block; `ir_phi_set` gives them, one per predecessor. */
ir_ref ir_phi_new(struct ir_func *func, uint32_t block, ir_type type, ir_const name);
void ir_phi_set(struct ir_func *func, ir_ref phi, uint32_t n, const ir_ref *args);
void ir_jump(struct ir_func *func, uint32_t block, uint32_t to);
void ir_br(struct ir_func *func, uint32_t block, ir_ref condition, uint32_t yes, uint32_t no);
void ir_ret(struct ir_func *func, uint32_t block, uint32_t n, const ir_ref *values);
void ir_unreachable(struct ir_func *func, uint32_t block);
void ir_raise(struct ir_func *func, uint32_t block, uint32_t site, uint32_t n, const ir_ref *values);
/* Sets func->src to this range, merging equal neighbours. */
void ir_set_src(struct ir_func *func, int32_t line, int32_t col, int32_t end_line, int32_t end_col);
/* The instruction's place with file and function filled in. */
struct sp_src ir_insn_src(const struct ir_func *func, ir_ref ref);

static inline struct ir_insn *
ir_insn(const struct ir_func *func, ir_ref ref)
{
    return &func->insns.data[ref];
}
static inline ir_ref *
ir_args(const struct ir_func *func, ir_ref ref)
{
    return &func->operands.data[func->insns.data[ref].first_arg];
}
static inline ir_ref
ir_arg(const struct ir_func *func, ir_ref ref, uint32_t i)
{
    return ir_args(func, ref)[i];
}
/* The block's last instruction, or 0 if it has no terminator yet. */
ir_ref ir_terminator(const struct ir_func *func, uint32_t block);
/* Reverse post-order of the blocks reachable from the entry; `order` has room for all blocks. */
uint32_t ir_fill_rpo(const struct ir_func *func, uint32_t *order);

/* ---- Text ---- */

void ir_print(const struct ir_module *module, struct sp_str *out);
void ir_print_func(const struct ir_func *func, struct sp_str *out);
SP_MUST_CHECK bool ir_parse(const char *text, struct sp_arena *arena, struct ir_module **module_out,
                            struct sp_diag *diag);
/* Structure, phases, operand counts and (CORE) types, dominance. */
SP_MUST_CHECK bool ir_verify(const struct ir_module *module, struct sp_diag *diag);

/* ---- From PY to CORE ---- */

/* One kernel argument as the caller gives it. A TUPLE is followed by its elements, which may be
 * tuples again: lists of arguments are flat, and whatever an argument's number says is its place in
 * there. */
enum ir_arg_kind { IR_ARG_SCALAR, IR_ARG_ARRAY, IR_ARG_OBJECT, IR_ARG_TUPLE };
struct ir_argtype {
    uint8_t kind; /* enum ir_arg_kind */
    uint8_t rank;
    uint16_t dtype; /* a scalar; SCALAR: as laid out (INT32 computes as int); ARRAY: of elements */
    uint8_t layout : 7;
    uint8_t read_only : 1;
    uint8_t align_log2;
    uint16_t n_elems; /* TUPLE */
    const char *elem; /* other storable types: its text (storable_text.c), `dtype` is the caller's; else NULL */
    const void *host; /* OBJECT, the class of a TUPLE: handed to the oracle; else NULL */
};
/* How many words of 64 bits a record by value is passed in; 0: the argument is none. */
uint32_t ir_argtype_words(const struct ir_argtype *arg);
/* The place behind the argument at `i` and all its elements. */
uint32_t ir_argtype_end(const struct ir_argtype *args, uint32_t i);
/* The storable type of an argument's elements. */
ir_type ir_argtype_elem(struct ir_module *module, const struct ir_argtype *arg);
/* How many arguments a flat list has. */
uint32_t ir_argtypes_count(const struct ir_argtype *args, uint32_t n);

/* "int, float32[:], float64[:, ::1]" to argument types on the arena. Grammar in docs/ir.md. */
SP_MUST_CHECK bool ir_signature_parse(const char *text, struct sp_arena *arena,
                                      struct ir_argtype **args_out, uint32_t *n_out,
                                      struct sp_diag *diag);
/* The same of a device function, which may have a result: "float32(float32, int)". */
SP_MUST_CHECK bool ir_signature_parse_device(const char *text, struct sp_arena *arena,
                                             struct ir_argtype **args_out, uint32_t *n_out,
                                             struct sp_diag *diag);
void ir_signature_print(const struct ir_argtype *args, uint32_t n, struct sp_str *out);

/* Only Python can answer these; all that are open are asked at once. */
enum ir_question_kind {
    IR_Q_OBJECT, /* host pointer of an argument -> constant */
    IR_Q_ATTR,   /* attribute `name` of the HOST or NAMESPACE constant `object` -> constant */
};
struct ir_question {
    enum ir_question_kind kind;
    ir_const object;
    const void *host;
    const char *name;
    struct sp_src where;
    ir_const answer; /* out; 0 if diag was set */
    struct sp_diag diag;
};
/* Answers by interning constants (and reading further functions) into `module`, a fork. May be
 * NULL: then every question is an error. */
struct ir_oracle {
    void *context;
    void (*answer)(void *context, struct ir_module *module, struct ir_question *questions,
                   uint32_t n);
};

struct ir_options {
    bool fma;    /* contract a * b + c in lowering */
    bool bounds; /* check indices, raise OUT_OF_BOUNDS (the CPU device always does) */
    bool check;  /* raise what Python or NumPy would: overflow, zero division, ... */
    bool poll;   /* POLL on back edges of `while` loops (the CPU device) */
    bool redux;  /* the target has gpu.reduce_add_sync and its like as operations */
    bool single; /* Python's floats compute in float32 instead of float64 */
};

/* What every step of a compilation is handed first. */
struct ir_ctx {
    struct sp_arena *arena;
    struct sp_diag *diag;
    struct ir_options options;
    const struct ir_oracle *oracle;
    struct sp_warnings *warnings; /* gets what ir_warn finds; NULL: nobody wants it */
};

struct ir_typed; /* the instances and their cells, see infer.h */

/* Types every instance that the kernel needs. `module` is a fork (phase PY). */
SP_MUST_CHECK bool ir_infer(struct ir_ctx *ctx, struct ir_module *module,
                            const struct ir_argtype *args, uint32_t n_args,
                            struct ir_typed **typed_out);
/* What is defined but slow, or perhaps not meant: numbers of warnings.def that have a place. */
void ir_warn(struct ir_ctx *ctx, const struct ir_typed *typed);
void ir_typed_print(const struct ir_typed *typed, struct sp_str *out);
/* Makes the CORE module; function 0 is the kernel, its parameters are machine values in the order
 * of struct sp_param: per array data, extents, (layout ANY) strides. Written arguments are reported
 * as bits. */
SP_MUST_CHECK bool ir_lower(struct ir_ctx *ctx, const struct ir_typed *typed,
                            struct ir_module **core_out, uint64_t *written_out);

/* Passes over CORE; each returns whether it changed anything. */
bool ir_opt_inline(struct ir_module *module);   /* small or once-called functions into callers */
/* Functions that cannot be called: whose local arrays outlive them, and (`waits`) those that wait
 * for other threads. Effects are filled before, and have to be filled anew. Fails for those that
 * cannot be. */
SP_MUST_CHECK bool ir_inline_must(struct ir_module *module, bool waits, struct sp_diag *diag);
bool ir_opt_simplify(struct ir_module *module); /* folding, identities, trivial phis, dead branches */
bool ir_opt_cse(struct ir_module *module);      /* common pure subexpressions over dominators */
bool ir_opt_spin(struct ir_module *module);     /* loops that wait for memory load anew and yield */
bool ir_opt_dce(struct ir_module *module);      /* instructions, blocks and functions without use */
void ir_fill_effects(struct ir_module *module); /* may_raise, may_wait, convergent, may_print */

#endif
