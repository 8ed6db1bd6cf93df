/* infer_kernel: the cells of the kernel's own arguments.
 *
 * In: the flat list of argument types, in which a tuple is followed by its elements. Out: a cell
 * per slot of the kernel; *args is the tuple that the launch made of what it holds. Objects and
 * classes of NamedTuples are asked for at once. What the host passes is known by type only, objects
 * excepted: nothing of a launch ever comes here that a signature could not say. */
#include "ir/infer_t.h"

struct kernel {
    struct infer *in;
    const struct ir_func *func;
    struct ir_question *questions; /* per argument, those that were put */
    uint32_t at;                   /* the next argument */
};

static void
kernel_ask(struct kernel *k)
{
    const struct ir_typed *typed = k->in->typed;
    struct sp_arena *arena = k->in->ctx->arena;
    struct ir_question *open = SP_NEW_N(arena, struct ir_question, typed->n_args + 1);
    k->questions = SP_NEW_N(arena, struct ir_question, typed->n_args + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < typed->n_args; i++)
        if (typed->args[i].host)
            open[n++] = (struct ir_question){.kind = IR_Q_OBJECT, .host = typed->args[i].host};
    infer_put(k->in, open, n);
    for (uint32_t i = 0, j = 0; i < typed->n_args; i++)
        if (typed->args[i].host)
            k->questions[i] = open[j++];
}

static bool
kernel_object(struct kernel *k, uint32_t slot, struct ir_question *q, struct ir_cell *out)
{
    if (!q->answer && q->diag.code == SP_OK)
        sp_diag_set(&q->diag, SP_E_CALL_ARGUMENT, NULL, k->func->params[slot].name, k->func->name,
                    "this object cannot be used in a kernel");
    if (!q->answer) {
        *k->in->ctx->diag = q->diag;
        return false;
    }
    *out = infer_constant(k->in, q->answer);
    return true;
}

static bool kernel_argument(struct kernel *k, uint32_t slot, struct ir_cell *out);

static bool
kernel_tuple(struct kernel *k, uint32_t slot, const struct ir_argtype *arg, ir_const class,
             struct ir_cell *out)
{
    struct ir_module *module = k->in->module;
    ir_type *elems = SP_NEW_N(k->in->ctx->arena, ir_type, arg->n_elems + 1u);
    for (uint32_t i = 0; i < arg->n_elems; i++) {
        struct ir_cell cell = {0};
        if (!kernel_argument(k, slot, &cell))
            return false;
        elems[i] = cell.type;
    }
    bool is_class = class && ir_const_info(module, class)->kind == IR_C_CLASS &&
                    ir_const_info(module, class)->len == arg->n_elems + 1u;
    *out = infer_typed(ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_TUPLE,
                                                                     .object = is_class ? class : 0,
                                                                     .n_elems = arg->n_elems,
                                                                     .elems = elems}));
    return true;
}

static bool
kernel_argument(struct kernel *k, uint32_t slot, struct ir_cell *out)
{
    struct ir_module *module = k->in->module;
    uint32_t i = k->at++;
    const struct ir_argtype *arg = &k->in->typed->args[i];
    switch ((enum ir_arg_kind)arg->kind) {
    case IR_ARG_OBJECT: return kernel_object(k, slot, &k->questions[i], out);
    case IR_ARG_TUPLE: return kernel_tuple(k, slot, arg, k->questions[i].answer, out);
    case IR_ARG_ARRAY:
        *out = infer_typed(
            ir_type_intern(module, &(struct ir_type_info){.kind = IR_KIND_ARRAY,
                                                          .dtype = ir_argtype_elem(module, arg),
                                                          .rank = arg->rank,
                                                          .layout = arg->layout,
                                                          .align_log2 = arg->align_log2,
                                                          .read_only = arg->read_only}));
        return true;
    case IR_ARG_SCALAR:
        if (arg->elem) {
            *out = infer_typed(ir_record_argument(module, ir_argtype_elem(module, arg)));
            return true;
        }
        *out = infer_typed(ir_argument_scalar(arg->dtype));
        return true;
    }
    return false;
}

static bool
kernel_check_count(struct infer *in, const struct ir_func *kernel)
{
    struct sp_src where = {kernel->file, kernel->name, kernel->line, kernel->line, -1, -1};
    uint32_t n = ir_argtypes_count(in->typed->args, in->typed->n_args);
    if (kernel->has_varkw)
        return sp_diag_set(in->ctx->diag, SP_E_NYI_CONSTRUCT, &where, "a **kwargs parameter");
    if (n == kernel->n_params + kernel->has_varargs)
        return true;
    const char *takes = sp_arena_printf(in->ctx->arena, "%u argument%s", kernel->n_params,
                                        kernel->n_params == 1 ? "" : "s");
    return sp_diag_set(in->ctx->diag, SP_E_CALL_COUNT, &where, kernel->name, takes, (int)n);
}

bool
infer_kernel(struct infer *in, const struct ir_func *kernel, struct ir_cell *cells)
{
    struct kernel k = {.in = in, .func = kernel};
    if (!kernel_check_count(in, kernel))
        return false;
    kernel_ask(&k);
    for (uint32_t slot = 0; slot < kernel->n_params + kernel->has_varargs; slot++)
        if (!kernel_argument(&k, slot, &cells[slot]))
            return false;
    return true;
}
