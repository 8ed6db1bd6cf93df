/* The front end: a Python function's bytecode to an IR module of phase PY. fe_read() is the whole
 * of it; Python itself is reached only through a struct of functions, the resolver, which has one
 * implementation over the CPython API (second half of this header) and one over a fixture file. */
#ifndef FE_FE_H
#define FE_FE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/ir.h"
#include "support/arena.h"
#include "support/diag.h"
#include "support/map.h"
#include "support/str.h"
#include "support/vec.h"

/* ---- Code ---- */

/* Code that is larger is refused before anything is allocated for it. */
#define FE_MAX_CODE_B (1u << 20)
#define FE_MAX_BLOCKS 30000u
#define FE_MAX_LOCALS 4096u
#define FE_MAX_STACK 4096u
#define FE_MAX_CELLS (1u << 22) /* blocks times variables */

/* The opcodes of one CPython version: its numbers come from outside, its meanings from
 * pyver.def. */
struct fe_version {
    unsigned minor;         /* 13 for CPython 3.13 */
    uint16_t rows[256];     /* row in pyver.def plus one; 0: none */
    const char *names[256]; /* NULL: no such opcode; owned by the caller */
};
void fe_version_init(struct fe_version *version, unsigned minor);
/* `name` must outlive the version. Numbers above 255 (pseudo opcodes) are ignored. */
void fe_version_add(struct fe_version *version, const char *name, unsigned number);
/* Whether this is a version that the tables know, by its bytecode magic number; else BAD_MAGIC. */
SP_MUST_CHECK bool fe_version_check(unsigned major, unsigned minor, unsigned magic,
                                    struct sp_diag *diag);

struct fe_position {
    int32_t line, end_line; /* 0: unknown */
    int32_t col, end_col;   /* -1: unknown */
};

enum fe_local_kind { FE_LOCAL_PLAIN, FE_LOCAL_CELL, FE_LOCAL_FREE };
struct fe_local {
    const char *name;
    enum fe_local_kind kind;
};

struct fe_code_const {
    ir_const value;             /* of the module that is being read */
    const char *code_name;      /* a code object's name ("<lambda>"); else NULL */
    const struct fe_code *code; /* what a function is made of; NULL if it cannot be read */
};

/* A snapshot of a code object; no Python object is reached from here but HOST constants. */
struct fe_code {
    const struct fe_version *version;
    const char *name; /* qualified */
    const char *file; /* may be NULL */
    int32_t first_line;
    uint32_t flags, stack_size;
    uint32_t n_args, n_posonly, n_kwonly; /* n_args: positional ones, positional-only included */
    uint32_t n_locals;
    const struct fe_local *locals; /* CPython's one index space: variables, cells, free variables */
    uint32_t n_names;
    const char *const *names;
    uint32_t n_consts;
    const struct fe_code_const *consts;
    uint32_t size_B;
    const uint8_t *bytes;
    uint32_t exceptions_B;
    const uint8_t *exceptions; /* co_exceptiontable */
    uint32_t n_positions;      /* one per code unit, or fewer */
    const struct fe_position *positions;
};

/* A function that another one defines: its code, and what the definition gives it. */
struct fe_nested {
    const void *host; /* of the function around everything, for names */
    const struct fe_code *code;
    uint32_t n_defaults;   /* of the last positional parameters */
    uint32_t n_kwdefaults; /* of the keyword parameters with these names */
    const ir_const *kw_names;
    uint32_t n_free;
    const bool *is_shared; /* per free variable: it is a CELL, not a value */
};

/* A function as the resolver knows it. */
struct fe_function {
    const void *host; /* the resolver's own */
    struct fe_code code;
    const ir_const *defaults; /* of the last n_defaults positional parameters */
    uint32_t n_defaults;
    const ir_const *kwdefaults;     /* of the n_kwonly keyword parameters; 0: none. May be NULL */
    const struct fe_nested *nested; /* NULL: not defined by another one that is read */
};

/* ---- Names ---- */

struct fe_reader;

/* What a name stands for. */
struct fe_found {
    ir_const value;
    const void *host; /* the object it came from, for attributes of it; may be NULL */
};

/* How names outside the code object get values. Each function interns its answer into the reader's
 * module and returns true, or sets the diagnostic (without a place) and returns false: the name
 * then becomes an `err` instruction. */
struct fe_resolver {
    void *context;
    /* The number of the function in the reader's module, from fe_reader_add with its identity. */
    uint32_t (*add)(struct fe_reader *reader, const void *host);
    /* Fills code and defaults of a function that was handed to fe_reader_add. A failure here is an
     * error of the function itself. */
    bool (*function)(struct fe_reader *reader, const void *host, struct fe_function *function_out,
                     struct sp_diag *diag);
    /* A global of the function, then a builtin. */
    bool (*global)(struct fe_reader *reader, const struct fe_function *function, const char *name,
                   struct fe_found *found_out, struct sp_diag *diag);
    /* The value of free variable number `index` (from 0) of the function. */
    bool (*cell)(struct fe_reader *reader, const struct fe_function *function, uint32_t index,
                 struct fe_found *found_out, struct sp_diag *diag);
    /* An attribute of a constant that is no namespace. */
    bool (*attribute)(struct fe_reader *reader, const struct fe_found *object, const char *name,
                      struct fe_found *found_out, struct sp_diag *diag);
};

/* One of the two: a function that the resolver knows, or a definition. */
struct fe_pending {
    const void *host;
    const struct fe_nested *nested;
};

/* One reading of functions into a module. */
struct fe_reader {
    struct sp_arena *arena; /* of the module */
    struct ir_module *module;
    const struct fe_resolver *resolver;
    struct sp_map functions;           /* identity -> number in the module */
    SP_VEC(struct fe_pending) pending; /* of module->funcs from `first_pending` on */
    uint32_t first_pending;
};

/* The number, in the module, of the function with this identity (any bytes that are equal exactly
 * for functions that may share one reading). A new one is read before fe_reader_run returns. */
uint32_t fe_reader_add(struct fe_reader *reader, const void *identity, size_t identity_B,
                       const char *name, const void *host);

/* The number of a function that is read before fe_reader_run returns, from the definition as it is
 * by then. */
uint32_t fe_reader_define(struct fe_reader *reader, const struct fe_nested *nested);

/* READ. Reads `function` and every function that it reaches as a constant; the first becomes
 * module->funcs[0]. Fails only if that one cannot be read; what else cannot be read becomes `err`
 * instructions. The module is on `arena` and ends with ir_module_finish. `functions_out`, if not
 * NULL, becomes the map from identities to numbers (keys on `arena`), for fe_reader_init. */
SP_MUST_CHECK bool fe_read(struct sp_arena *arena, const struct fe_resolver *resolver,
                           const void *function, struct sp_map *functions_out,
                           struct ir_module **module_out, struct sp_diag *diag);

/* For readings that go on (answers to questions): a reader over a fork of a module that was read
 * before, which knows `functions` (may be NULL). */
void fe_reader_init(struct fe_reader *reader, struct ir_module *module,
                    const struct fe_resolver *resolver, const struct sp_map *functions);
void fe_reader_finish(struct fe_reader *reader);
/* Reads what fe_reader_add has queued, and what that queues. */
void fe_reader_run(struct fe_reader *reader);

/* ---- Content: hash.c ---- */

/* Of a module of phase PY, everything but places in the source: equal in every process. */
struct sp_digest fe_hash_module(const struct ir_module *module);
/* The places that an artifact's key needs beside that. `absolute`: of all instructions, with their
 * files; else only of functions without columns, relative to their first lines. */
struct sp_digest fe_hash_places(const struct ir_module *module, bool absolute);

/* The decoded operations and blocks of a function, as text. */
SP_MUST_CHECK bool fe_print_code(const struct fe_code *code, struct sp_str *out,
                                 struct sp_diag *diag);

/* ---- Python (library frontend_py; everything here needs the GIL but the oracle's answers) ---- */

/* What is looked up once per interpreter: opcode numbers, the objects that names are compared with.
 * Keep one in the extension module's state. */
struct fe_interp;
SP_MUST_CHECK bool fe_interp_create(struct fe_interp **interp_out, struct sp_diag *diag);
void fe_interp_destroy(struct fe_interp *interp);

/* The class of the program's with this number, or (number 0) the builtin one of this name: a new
 * reference (PyObject *), or NULL if it is gone. */
void *fe_interp_class(struct fe_interp *interp, uint32_t number, const char *name);

/* One reading of one function: the module, its guards, strong references to every object that the
 * module's constants and guards point to. Read again into a new one when a guard fails. */
struct fe_py;
struct fe_py *fe_py_create(struct fe_interp *interp);
/* After the last use of the module and of its forks, before the module's arena ends. */
void fe_py_destroy(struct fe_py *py);

/* `function` is a Python function (PyObject *). Leaves no Python exception behind. Once per
 * fe_py. */
SP_MUST_CHECK bool fe_py_read(struct fe_py *py, void *function, struct sp_arena *arena,
                              struct ir_module **module_out, struct sp_diag *diag);

/* Whether everything that was relied on outside the code (module->guards and the answers to
 * questions) is still as it was. Numbers, strings and tuples that were replaced by equal ones
 * pass. */
bool fe_py_guards_check(struct fe_py *py);

/* Appends a line "what\tvalue\n" for each guard, for people: "global N\t3". */
void fe_py_print_guards(struct fe_py *py, struct sp_str *out);

/* For the garbage collector: calls `visit` for every reference held; stops at the first result that
 * is not 0 and returns it. `visit` takes PyObject * and is Python's visitproc. */
int fe_py_traverse(struct fe_py *py, int (*visit)(void *object, void *arg), void *arg);

/* Answers the questions of one compilation of `module`, the one that fe_py_read made. The
 * compilation runs without the GIL on a fork; the oracle takes the GIL to answer. */
struct fe_oracle;
struct fe_oracle *fe_oracle_create(struct fe_py *py, struct ir_module *module);
const struct ir_oracle *fe_oracle_ops(const struct fe_oracle *oracle);
/* The module that was asked about last ends, or another one may have its address. */
void fe_oracle_forget(struct fe_oracle *oracle);
void fe_oracle_destroy(struct fe_oracle *oracle);

/* Appends the text of a numpy.dtype that kernels have (ir/storable_text.c); false and no exception for
 * others. */
SP_MUST_CHECK bool fe_py_dtype_text(void *dtype, struct sp_str *out);

/* Appends the decoded operations of a Python function as text (kernel.bytecode). */
SP_MUST_CHECK bool fe_py_print_code(struct fe_py *py, void *function, struct sp_arena *arena,
                                    struct sp_str *out, struct sp_diag *diag);

#endif
