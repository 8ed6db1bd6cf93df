/* What codegen's own files share: LLVM state, the emitter's context, the two targets. */
#ifndef CG_INTERNAL_H
#define CG_INTERNAL_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>

#include "codegen/cg.h"

#define CG_LAST_PTX 90 /* the newest version that LLVM 22 writes */

/* ---- State ---- */

/* A target machine is used by one thread at a time and goes back to the state's pool. */
struct cg_machine {
    struct cg_machine *next;
    LLVMTargetMachineRef machine;
    char *triple, *layout;
    uint16_t sm, ptx;
    int32_t opt_level;
};

/* libdevice of one path, read once. */
struct cg_library {
    struct cg_library *next;
    char *path;
    char *data;
    size_t size_B;
};

struct cg_state {
    pthread_mutex_t lock; /* guards everything below */
    struct cg_machine *machines;
    struct cg_library *libraries;
    char **folders;
    uint32_t n_folders;
    char *triple, *cpu, *features; /* the host's; set at the first use */
};

SP_MUST_CHECK bool cg_machine_take(struct cg_state *state, struct cg_arch arch, uint16_t ptx,
                                   int32_t opt_level, struct cg_machine **out,
                                   struct sp_diag *diag);
void cg_machine_give(struct cg_state *state, struct cg_machine *machine);
/* Fills `triple`, `cpu` and `features`. */
void cg_state_ask_host(struct cg_state *state);

/* ---- libdevice ---- */

/* `needed_by`: the function's name for the message. */
SP_MUST_CHECK bool cg_libdevice_get(struct cg_state *state, const char *option,
                                    const char *needed_by, const struct cg_library **out,
                                    struct sp_diag *diag);

/* ---- Emission ---- */

#define CG_MAX_HIDDEN 15
#define CG_N_SPACES 5 /* ptr and what follows in types.def */

/* How a CORE function looks to LLVM: hidden parameters first, then its own; it returns a status if
 * `returns_raised`, then its results; none: void, one: itself, several: a structure. */
struct cg_emit_func {
    LLVMValueRef fn;
    LLVMTypeRef type;
    LLVMTypeRef ret;
    uint32_t n_hidden;
    uint32_t n_fields;
    bool returns_raised;
};

/* A static of the module: constant data, or its place in the block's shared memory. */
struct cg_static {
    bool is_used;
    uint32_t offset_B;   /* shared: from the first shared static on */
    LLVMValueRef global; /* of its own, or NULL */
};

struct cg_emit {
    struct cg_state *state;
    struct sp_arena *arena;
    struct sp_diag *diag;
    const struct cg_request *request;
    const struct cg_options *options;
    const struct cg_target *target;
    const struct ir_module *core;
    struct artifact *artifact;
    struct cg_arch arch;
    bool has_f16; /* `core` computes with float16 */
    uint16_t ptx; /* the lowest version that everything emitted so far needs */

    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef types[IR_N_FIXED_TYPES];
    struct cg_emit_func *funcs;
    struct cg_static *statics; /* by number */
    LLVMValueRef shared;       /* nvptx: what the launch adds, when it is used; or NULL */
    uint32_t shared_B;         /* of all shared statics */
    bool shared_is_area;       /* they have places in one area, not a global each */
    bool uses_dynshared;
    LLVMValueRef entry;
    LLVMValueRef raisers[SP_FAULT_VALUES + 1]; /* by number of values; made when needed */
    LLVMValueRef printers[SP_PRINT_VALUES + 1];
    const char *libdevice_user;  /* first function called in libdevice, or NULL */
    struct sp_src libdevice_src; /* its call */

    /* the function being emitted */
    const struct ir_func *func;
    struct cg_emit_func *this;
    LLVMValueRef *values;       /* by ir_ref; of a CALLF the first result */
    LLVMValueRef *calls;        /* by ir_ref: what a CALLF returns */
    LLVMBasicBlockRef *blocks;  /* where a block starts; NULL: unreachable */
    LLVMBasicBlockRef *ends;    /* the LLVM block that holds its terminator */
    LLVMBasicBlockRef *doubles; /* of a BR with equal successors: the block of the second edge */
    LLVMBasicBlockRef last;     /* the one return of a function without results, or NULL */
    LLVMValueRef hidden[CG_MAX_HIDDEN];

    /* the host's kernel that waits, emit_coro.c */
    LLVMValueRef coro;            /* its frame's handle, while it is being emitted; else NULL */
    LLVMBasicBlockRef coro_leave; /* back to whoever started or resumed the thread */
    SP_VEC(struct sp_wait_site) waits;

    /* line tables */
    LLVMDIBuilderRef di;
    LLVMMetadataRef di_unit, di_type;
    struct sp_map di_files;
    SP_VEC(LLVMMetadataRef) di_file_nodes;
    LLVMMetadataRef di_scope;
};

struct cg_target {
    const char *name;
    /* LLVM's address space of ptr, ptr.global, ptr.shared, ptr.local, ptr.const */
    uint8_t spaces[CG_N_SPACES];
    bool returns_raised; /* functions that may raise tell their caller */
    /* Types of the hidden parameters of a function; returns how many. */
    uint32_t (*fill_hidden)(struct cg_emit *e, const struct ir_func *func, LLVMTypeRef *types);
    /* Declares function 0 and, if that is not the artifact's entry itself, the entry. Sets
     * `e->entry`. */
    bool (*emit_entry)(struct cg_emit *e, const char *symbol);
    /* The 32-bit index or size that a SREG row names. */
    LLVMValueRef (*emit_sreg)(struct cg_emit *e, enum ir_intrin id);
    /* The callee of a row that names a function of floats; `type` is the result's. */
    bool (*emit_math)(struct cg_emit *e, const struct ir_intrin_row *row, ir_type type,
                      LLVMTypeRef fn_type, LLVMValueRef *out);
    /* The value of a row whose column is "inline"; NULL: there is none. */
    LLVMValueRef (*emit_inline)(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef *args);
    /* A float to a saturated integer, NaN to 0, where the target has better than LLVM's intrinsic;
     * else NULL. */
    LLVMValueRef (*emit_to_int)(struct cg_emit *e, LLVMValueRef value, ir_type to, bool is_signed);
    /* The address of the launch's struct sp_fault. */
    LLVMValueRef (*emit_fault)(struct cg_emit *e);
    /* Writes the fault and ends the thread or returns; the block is complete after it. */
    bool (*emit_raise)(struct cg_emit *e, uint32_t site, uint32_t n, const LLVMValueRef *values);
    /* Address of a shared static, or of what the launch adds (`index` UINT32_MAX). */
    LLVMValueRef (*emit_shared)(struct cg_emit *e, uint32_t index);
    LLVMValueRef (*emit_dynsize)(struct cg_emit *e);
    void (*emit_poll)(struct cg_emit *e);
    void (*emit_yield)(struct cg_emit *e, ir_ref ref);
    /* An EFFECT whose row the target has; `*out` is its value (NULL and void: none). */
    bool (*emit_effect)(struct cg_emit *e, ir_ref ref, LLVMValueRef *args, LLVMValueRef *out);
    LLVMValueRef (*emit_deep)(struct cg_emit *e);
};
extern const struct cg_target cg_nvptx, cg_host;

/* A PRINT. emit_print.c */
SP_MUST_CHECK bool cg_emit_print(struct cg_emit *e, ir_ref ref, LLVMValueRef *values);

/* Whether it needs the launch's struct sp_fault. */
static inline bool
cg_needs_fault(const struct ir_func *func)
{
    return func->may_raise || func->may_print;
}

/* Fills `e->module` from `e->core`. The caller has made context, module and builder. */
SP_MUST_CHECK bool cg_emit(struct cg_emit *e);
SP_MUST_CHECK bool cg_emit_insn(struct cg_emit *e, ir_ref ref);

/* Helpers of both targets, emit_ops.c. */
/* SP_E_IR_INVALID at the instruction. */
bool cg_emit_bad(struct cg_emit *e, ir_ref ref, const char *why);
/* Whether the target has the row of an INTRIN or EFFECT; notes the PTX version that it needs. */
SP_MUST_CHECK bool cg_emit_check_row(struct cg_emit *e, ir_ref ref);
LLVMValueRef cg_emit_i32(struct cg_emit *e, uint64_t value);
LLVMValueRef cg_emit_i64(struct cg_emit *e, uint64_t value);
/* A call of an LLVM intrinsic; `types` are those it is overloaded on. */
LLVMValueRef cg_emit_intrinsic(struct cg_emit *e, const char *name, uint32_t n_types,
                               LLVMTypeRef *types, uint32_t n_args, LLVMValueRef *args);
/* The scope of all threads that a kernel has; the host's one scope is the system's. */
unsigned cg_emit_device_scope(struct cg_emit *e);
void cg_emit_fn_attribute(struct cg_emit *e, LLVMValueRef fn, const char *name, uint64_t value);
void cg_emit_fn_text(struct cg_emit *e, LLVMValueRef fn, const char *name, const char *value);
/* Returns with the status "raised" from a function; for kernels just returns. */
void cg_emit_leave(struct cg_emit *e);
/* The body of a raiser, past its entry: claims the fault and writes it if it was free; leaves the
 * builder in the block that comes afterwards. `place`: block and thread indices, six. */
void cg_emit_fault_write(struct cg_emit *e, LLVMValueRef fn, LLVMValueRef fault, LLVMValueRef site,
                         LLVMValueRef *place, uint32_t n, LLVMValueRef *values);

/* A function of the module's own, emit_helper.c. `attributes` end with NULL; in between the builder
 * is in it. */
struct cg_helper {
    LLVMValueRef fn;
    LLVMBasicBlockRef back; /* where the builder was */
    LLVMMetadataRef location;
};
struct cg_helper cg_helper_begin(struct cg_emit *e, const char *name, LLVMTypeRef *params,
                                 uint32_t n_params, const char *const *attributes);
void cg_helper_end(struct cg_emit *e, const struct cg_helper *helper);

/* Lays out what the module's statics take and makes the constant ones. statics.c */
SP_MUST_CHECK bool cg_statics_fill(struct cg_emit *e);
/* Bytes of shared statics, up to where what the launch adds may begin. */
uint32_t cg_statics_end(const struct cg_emit *e);
/* A symbol from a Python name. emit.c */
const char *cg_emit_symbol(struct cg_emit *e, const char *name);
/* Effects of rules WARP and CLOCK, emit_warp.c. */
SP_MUST_CHECK bool cg_warp_nvptx(struct cg_emit *e, ir_ref ref, LLVMValueRef *args,
                                 LLVMValueRef *out);
SP_MUST_CHECK bool cg_warp_host(struct cg_emit *e, ir_ref ref, LLVMValueRef *args,
                                LLVMValueRef *out);
/* Rows of a few instructions, emit_inline.c. */
LLVMValueRef cg_inline_nvptx(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef *args);
LLVMValueRef cg_inline_host(struct cg_emit *e, const struct ir_insn *insn, LLVMValueRef *args);

/* Halves, emit_half.c. Whether LLVM and the target know the type; else it is held as an i16. */
bool cg_half_is_native(const struct cg_emit *e, ir_type half);
LLVMValueRef cg_half_const(struct cg_emit *e, ir_type half, double value);
LLVMValueRef cg_half_widen(struct cg_emit *e, LLVMValueRef value, ir_type half); /* to f32 */
LLVMValueRef cg_half_narrow(struct cg_emit *e, LLVMValueRef value, ir_type from, ir_type half);
LLVMValueRef cg_half_fma(struct cg_emit *e, ir_type half, LLVMValueRef *args);

/* ATOMIC and CAS, emit_atomic.c; may go on in a new block. */
LLVMValueRef cg_emit_atomic(struct cg_emit *e, const struct ir_insn *insn, ir_type address_type,
                            const LLVMValueRef *args);

/* ---- The host's threads ---- */

/* Hidden parameters of the host's functions: the block, then by threes thread, block_idx, grid_dim,
 * block_dim; of a kernel that waits also the thread's mailbox (struct sp_thread) and its frame. */
enum {
    HOST_BLOCK,
    HOST_THREAD,
    HOST_BLOCK_IDX = 4,
    HOST_GRID_DIM = 7,
    HOST_BLOCK_DIM = 10,
    HOST_N_HIDDEN = 13,
    HOST_MAILBOX = HOST_N_HIDDEN,
    HOST_FRAME
};
LLVMValueRef cg_host_load(struct cg_emit *e, LLVMTypeRef type, LLVMValueRef base, size_t offset_B);
void cg_host_store(struct cg_emit *e, LLVMValueRef value, LLVMValueRef base, size_t offset_B);
/* The hidden parameters that the block tells (all but thread, mailbox and frame), and the kernel's
 * own behind `n_hidden`, into `args`. */
void cg_host_load_args(struct cg_emit *e, LLVMValueRef block, LLVMValueRef area, uint32_t n_hidden,
                       LLVMValueRef *args);

/* The grid's barrier on a GPU, emit_grid.c. */
void cg_grid_sync(struct cg_emit *e);

/* Kernels that wait: emit_coro.c. Whether function 0 is one. */
bool cg_coro_is(const struct cg_emit *e);
bool cg_coro_entry(struct cg_emit *e, const char *symbol);
void cg_coro_begin(struct cg_emit *e);
/* The end of the thread; the builder stands in an open block. */
void cg_coro_end(struct cg_emit *e);
/* Waits at the place of EFFECT `ref`. What the kind needs has been stored in the mailbox. */
void cg_coro_wait(struct cg_emit *e, ir_ref ref, enum sp_wait_kind kind, uint32_t operation);

/* Meets the lanes of `mask` (i32) in EFFECT `ref`; the result of runtime/cpu_meet.c's function,
 * i64. `operand` (i64) and `argument` (i32) are what it needs, or NULL. */
LLVMValueRef cg_coro_meet(struct cg_emit *e, ir_ref ref, enum sp_meet meet, LLVMValueRef mask,
                          LLVMValueRef operand, LLVMValueRef argument);

/* Line tables, lineinfo.c; nothing is done when the option is off. */
void cg_lineinfo_begin(struct cg_emit *e);
void cg_lineinfo_func(struct cg_emit *e, const struct ir_func *func, LLVMValueRef fn);
void cg_lineinfo_insn(struct cg_emit *e, ir_ref ref);
void cg_lineinfo_end(struct cg_emit *e);

/* ---- Steps of a compilation: their times and dumps, compile_core.c ---- */

struct cg_steps {
    const struct cg_request *request;
    struct cg_times *times; /* may be NULL */
    uint64_t since;
};
struct cg_steps cg_steps_begin(const struct cg_request *request, struct cg_times *times);
/* A stage is done: its time ends, its text is dumped if wanted. */
void cg_steps_typed(struct cg_steps *steps, const struct ir_typed *typed);
void cg_steps_core(struct cg_steps *steps, const struct ir_module *core, enum cg_stage stage);

/* ---- After emission ---- */

/* Links what the module calls in libdevice, resolves __nvvm_reflect. link.c */
SP_MUST_CHECK bool cg_link_libdevice(struct cg_emit *e, const struct cg_machine *machine);
/* Behind LLVM's passes, GPUs only. mend.c */
void cg_mend(struct cg_emit *e);
/* LLVM's passes. finish.c */
SP_MUST_CHECK bool cg_finish_passes(struct cg_emit *e, const struct cg_machine *machine);
/* Machine code into the artifact; `assembly` (may be NULL) gets the host's as text. finish.c */
SP_MUST_CHECK bool cg_finish_code(struct cg_emit *e, const struct cg_machine *machine,
                                  struct sp_str *assembly);
SP_MUST_CHECK bool cg_finish_verify(struct cg_emit *e, const char *when);
/* Fills the artifact's parameters from the request and function 0. params.c */
SP_MUST_CHECK bool cg_params_fill(struct cg_emit *e);

#endif
