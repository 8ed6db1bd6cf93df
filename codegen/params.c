/* The parameter area of the artifact.
 *
 * In: the argument types of the request and the machine types of function 0's parameters. Out:
 * the artifact's sp_param rows: per array data, extents and (layout ANY) strides of 8 bytes
 * each, scalars by their machine type, the fault's address last where the target wants one; each
 * at its natural alignment, which is PTX's own rule for .param, so offsets agree with the
 * kernel's parameters. */
#include "codegen/internal.h"

static uint32_t
params_size(ir_type type)
{
    return ir_machine_bits(type) < 8 ? 1 : ir_machine_bits(type) / 8;
}

static void
params_add(struct artifact *artifact, enum sp_param_kind kind, uint32_t argument, uint32_t axis,
           uint32_t size_B)
{
    uint32_t offset_B = (artifact->params_size_B + size_B - 1) & ~(size_B - 1);
    artifact->params[artifact->n_params++] = (struct sp_param){
        .kind = (uint8_t)kind,
        .axis = (uint8_t)axis,
        .argument = (uint16_t)argument,
        .offset_B = offset_B,
        .size_B = size_B,
    };
    artifact->params_size_B = offset_B + size_B;
}

/* How many machine parameters the arguments stand for. */
static uint32_t
params_count(const struct ir_argtype *args, uint32_t n_args)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_args; i++) {
        if (args[i].kind == IR_ARG_SCALAR)
            n += args[i].elem ? ir_argtype_words(&args[i]) : 1;
        else if (args[i].kind == IR_ARG_ARRAY)
            n += 1 + args[i].rank * (args[i].layout == IR_LAYOUT_ANY ? 2u : 1u);
    }
    return n;
}

static void
params_add_array(struct artifact *artifact, uint32_t i, const struct ir_argtype *arg)
{
    params_add(artifact, SP_PARAM_DATA, i, 0, 8);
    for (uint32_t axis = 0; axis < arg->rank; axis++)
        params_add(artifact, SP_PARAM_EXTENT, i, axis, 8);
    for (uint32_t axis = 0; arg->layout == IR_LAYOUT_ANY && axis < arg->rank; axis++)
        params_add(artifact, SP_PARAM_STRIDE, i, axis, 8);
}

bool
cg_params_fill(struct cg_emit *e)
{
    const struct cg_request *request = e->request;
    const struct ir_func *kernel = e->core->funcs.data[0];
    struct artifact *artifact = e->artifact;
    uint32_t n = kernel->n_params;
    if (request->n_args && params_count(request->args, request->n_args) != n)
        return sp_diag_set(e->diag, SP_E_IR_INVALID, NULL, kernel->name,
                           "its parameters do not match the arguments");

    artifact->params = sp_alloc((n + 2) * sizeof *artifact->params);
    artifact->n_arguments = request->n_args ? request->n_args : n;
    for (uint32_t i = 0; i < request->n_args; i++) {
        if (request->args[i].kind == IR_ARG_SCALAR && request->args[i].elem)
            for (uint32_t word = 0, n_words = ir_argtype_words(&request->args[i]); word < n_words;
                 word++)
                params_add(artifact, SP_PARAM_WORD, i, word, 8);
        else if (request->args[i].kind == IR_ARG_SCALAR)
            params_add(artifact, SP_PARAM_SCALAR, i, 0,
                       params_size(ir_scalar_row(request->args[i].dtype)->machine));
        else if (request->args[i].kind == IR_ARG_ARRAY)
            params_add_array(artifact, i, &request->args[i]);
    }
    for (uint32_t i = 0; !request->n_args && i < n; i++) {
        ir_type type = kernel->params[i].type;
        params_add(artifact, type >= IR_T_PTR ? SP_PARAM_DATA : SP_PARAM_SCALAR, i, 0,
                   params_size(type));
    }
    for (uint32_t i = 0; i < n; i++) {
        if (params_size(kernel->params[i].type) != artifact->params[i].size_B)
            return sp_diag_set(e->diag, SP_E_IR_INVALID, NULL, kernel->name,
                               "a parameter's type does not match its argument");
    }
    artifact->prints = kernel->may_print;
    if (cg_needs_fault(kernel) && e->target == &cg_nvptx)
        params_add(artifact, SP_PARAM_FAULT, 0, 0, 8);
    if (artifact->cooperative && e->target == &cg_nvptx)
        params_add(artifact, SP_PARAM_GRID, 0, 0, 8);
    return true;
}
