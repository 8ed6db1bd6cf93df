/* artifact_bytes: an artifact to bytes and back, for what is kept on disk.
 *
 * In: an artifact with its origins. Out: bytes, and from bytes an equal artifact whose places
 * (files, functions, lines) are empty: they belong to the program as it is when the artifact is
 * used again, and whoever reads one fills them by its origins. The reader takes any bytes: every
 * count is checked against what is left, every number against its range, every table against the
 * others, so an artifact that it gives can be launched as any other. What the bytes mean has a
 * version in the file around them. */
#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/artifact.h"
#include "support/bytes.h"

enum { MAX_PARAMS_B = 1 << 20, MAX_SHARED_B = 1 << 30 };

static void
write_params(const struct artifact *a, struct sp_str *out)
{
    sp_put_u32(out, a->n_params);
    for (uint32_t i = 0; i < a->n_params; i++) {
        const struct sp_param *param = &a->params[i];
        sp_put_u8(out, param->kind);
        sp_put_u8(out, param->axis);
        sp_put_u32(out, param->argument);
        sp_put_u32(out, param->offset_B);
        sp_put_u32(out, param->size_B);
    }
    sp_put_u32(out, a->params_size_B);
    sp_put_u32(out, a->n_arguments);
    sp_put_u64(out, a->written);
}

static void
write_places(const struct artifact *a, struct sp_str *out)
{
    sp_put_u32(out, a->n_sites);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        sp_put_u32(out, a->sites[i].code);
        sp_put_text(out, a->sites[i].name);
        sp_put_u32(out, a->sites[i].n_values);
    }
    sp_put_u32(out, a->n_waits);
    for (uint32_t i = 0; i < a->n_waits; i++) {
        sp_put_u8(out, a->waits[i].kind);
        sp_put_u8(out, a->waits[i].operation);
        sp_put_text(out, a->waits[i].name);
    }
    sp_put_u32(out, a->warnings.n);
    for (uint32_t i = 0; i < a->warnings.n; i++) {
        sp_put_u32(out, a->warnings.data[i].code);
        sp_put_text(out, a->warnings.data[i].text);
    }
    sp_put_u32(out, a->n_origins);
    for (uint32_t i = 0; i < a->n_origins; i++) {
        sp_put_u32(out, a->origins[i].func);
        sp_put_u32(out, a->origins[i].insn);
    }
    sp_put_u32(out, a->n_classes);
    for (uint32_t i = 0; i < a->n_classes; i++) {
        sp_put_u32(out, a->classes[i].number);
        sp_put_u32(out, a->classes[i].constant);
    }
}

void
sp_artifact_write(const struct artifact *a, struct sp_str *out)
{
    sp_put_u8(out, (uint8_t)a->kind);
    sp_put_text(out, a->entry);
    sp_put_text(out, a->name);
    sp_put_text(out, a->target);
    write_params(a, out);
    write_places(a, out);
    sp_put_u8(out, a->prints);
    sp_put_u8(out, a->cooperative);
    sp_put_u32(out, a->shared_B);
    sp_put_u32(out, a->added_B);
    sp_put_u32(out, a->max_threads);
    sp_put_u32(out, a->facts);
    sp_str_add_n(out, a->key.bytes, sizeof a->key.bytes);
    sp_put_bytes(out, a->code, a->size_B);
}

static bool
read_param(struct sp_reader *r, const struct artifact *a, struct sp_param *param)
{
    param->kind = sp_get_u8(r);
    param->axis = sp_get_u8(r);
    uint32_t argument = sp_get_u32(r);
    param->argument = (uint16_t)argument;
    param->offset_B = sp_get_u32(r);
    param->size_B = sp_get_u32(r);
    uint32_t size_B = param->size_B;
    bool scalar = param->kind == SP_PARAM_SCALAR, own = param->kind >= SP_PARAM_FAULT;
    bool size_good = size_B == 8 || (scalar && (size_B == 1 || size_B == 2 || size_B == 4));
    return param->kind <= SP_PARAM_GRID &&
           (own ? argument <= UINT16_MAX : argument < a->n_arguments) && size_good &&
           a->params_size_B >= size_B && param->offset_B <= a->params_size_B - size_B &&
           param->offset_B % size_B == 0;
}

static bool
read_params(struct sp_reader *r, struct artifact *a)
{
    enum { LEAST_B = 14 };
    uint32_t n = sp_get_count(r, LEAST_B);
    struct sp_reader rows = *r; /* the area's size stands behind them */
    if (r->bad)
        return false;
    r->at += (size_t)n * LEAST_B;
    a->params_size_B = sp_get_u32(r);
    a->n_arguments = sp_get_u32(r);
    a->written = sp_get_u64(r);
    if (a->params_size_B > MAX_PARAMS_B)
        return false;
    a->params = sp_alloc((n + 1u) * sizeof *a->params);
    for (; a->n_params < n; a->n_params++)
        if (!read_param(&rows, a, &a->params[a->n_params]))
            return false;
    return !rows.bad;
}

/* Kernels raise what stands in one row of errors.def; what the others' formats need is not in a
 * fault. */
static bool
read_is_raised(uint32_t code)
{
    _Static_assert(SP_E_OUT_OF_BOUNDS < SP_E_RAISED && SP_E_RAISED < SP_E_TOO_DEEP,
                   "errors of running kernels stand together");
    return code >= SP_E_OUT_OF_BOUNDS && code <= SP_E_TOO_DEEP;
}

static bool
read_sites(struct sp_reader *r, struct artifact *a)
{
    uint32_t n = sp_get_count(r, 12);
    a->sites = sp_alloc((n + 1u) * sizeof *a->sites);
    for (; a->n_sites < n; a->n_sites++) {
        uint32_t code = sp_get_u32(r);
        struct sp_fault_site *site = &a->sites[a->n_sites];
        *site = (struct sp_fault_site){.code = (enum sp_error)code};
        site->name = sp_get_text(r);
        site->n_values = sp_get_u32(r);
        if (!read_is_raised(code) || site->n_values > SP_PRINT_VALUES || !site->name) {
            free(site->name);
            return false;
        }
    }
    return true;
}

static bool
read_waits(struct sp_reader *r, struct artifact *a)
{
    uint32_t n = sp_get_count(r, 6);
    if (n)
        a->waits = sp_alloc(n * sizeof *a->waits);
    for (; a->n_waits < n; a->n_waits++) {
        struct sp_wait_site *wait = &a->waits[a->n_waits];
        *wait = (struct sp_wait_site){.kind = sp_get_u8(r)};
        wait->operation = sp_get_u8(r);
        wait->name = sp_get_text(r);
        if (wait->kind >= SP_N_WAIT_KINDS || wait->operation >= SP_N_MEETS || !wait->name) {
            free(wait->name);
            return false;
        }
    }
    return true;
}

static bool
read_warnings(struct sp_reader *r, struct artifact *a)
{
    uint32_t n = sp_get_count(r, 8);
    if (n)
        a->warnings.data = sp_alloc(n * sizeof *a->warnings.data);
    for (; a->warnings.n < n; a->warnings.n++) {
        uint32_t code = sp_get_u32(r);
        char *text = sp_get_text(r);
        if (code >= SP_N_WARNINGS || !text) {
            free(text);
            return false;
        }
        a->warnings.data[a->warnings.n] =
            (struct sp_warning){.code = (enum sp_warning_code)code, .text = text};
    }
    return true;
}

static bool
read_origins(struct sp_reader *r, struct artifact *a)
{
    uint32_t n = sp_get_count(r, 8);
    a->origins = sp_alloc((n + 1u) * sizeof *a->origins);
    for (; a->n_origins < n; a->n_origins++) {
        a->origins[a->n_origins].func = sp_get_u32(r);
        a->origins[a->n_origins].insn = sp_get_u32(r);
    }
    uint32_t n_classes = sp_get_count(r, 8);
    a->classes = sp_alloc((n_classes + 1u) * sizeof *a->classes);
    for (; a->n_classes < n_classes; a->n_classes++) {
        a->classes[a->n_classes].number = sp_get_u32(r);
        a->classes[a->n_classes].constant = sp_get_u32(r);
    }
    return !r->bad && n == (uint64_t)a->n_sites + a->n_waits + a->warnings.n;
}

static bool
read_code(struct sp_reader *r, struct artifact *a)
{
    size_t size_B;
    const void *bytes = sp_get_bytes(r, &size_B);
    if (r->bad || !size_B || (a->kind == SP_CODE_PTX && memchr(bytes, '\0', size_B)))
        return false;
    char *code = sp_alloc(size_B + 1);
    memcpy(code, bytes, size_B);
    code[size_B] = '\0';
    a->code = code;
    a->size_B = size_B;
    return true;
}

/* Where blocks of a GPU meet is a parameter. */
static bool
read_can_meet(const struct artifact *a)
{
    bool can = !a->cooperative || a->kind == SP_CODE_OBJECT;
    for (uint32_t i = 0; i < a->n_params; i++)
        can |= a->params[i].kind == SP_PARAM_GRID;
    return can;
}

static bool
read_all(struct sp_reader *r, struct artifact *a)
{
    uint8_t kind = sp_get_u8(r);
    a->kind = (enum sp_code_kind)kind;
    a->entry = sp_get_text(r);
    a->name = sp_get_text(r);
    a->target = sp_get_text(r);
    if (kind >= SP_N_CODE_KINDS || !a->entry || !a->target || !read_params(r, a) ||
        !read_sites(r, a) || !read_waits(r, a) || !read_warnings(r, a) || !read_origins(r, a))
        return false;
    a->prints = sp_get_u8(r) != 0;
    a->cooperative = sp_get_u8(r) != 0;
    a->shared_B = sp_get_u32(r);
    a->added_B = sp_get_u32(r);
    a->max_threads = sp_get_u32(r);
    a->facts = sp_get_u32(r);
    for (size_t i = 0; i < sizeof a->key.bytes; i++)
        a->key.bytes[i] = sp_get_u8(r);
    if (a->added_B > a->shared_B || a->shared_B > MAX_SHARED_B || !read_can_meet(a))
        return false;
    return read_code(r, a) && sp_reader_done(r);
}

bool
sp_artifact_read(const void *bytes, size_t size_B, struct artifact **out)
{
    struct sp_reader reader;
    struct artifact *artifact = sp_artifact_create();
    sp_reader_init(&reader, bytes, size_B);
    if (read_all(&reader, artifact)) {
        *out = artifact;
        return true;
    }
    sp_artifact_destroy(artifact);
    return false;
}
