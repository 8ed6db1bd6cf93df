/* artifact: the owner of a compilation's result, and the text of a fault that a running kernel
 * left. */
#include "support/artifact.h"

#include <stdlib.h>
#include <string.h>

#include "support/arena.h"
#include "support/str.h"

struct artifact *
sp_artifact_create(void)
{
    struct artifact *artifact = sp_alloc(sizeof *artifact);
    memset(artifact, 0, sizeof *artifact);
    artifact->shares = 1;
    return artifact;
}

struct artifact *
sp_artifact_share(struct artifact *artifact)
{
    __atomic_add_fetch(&artifact->shares, 1, __ATOMIC_RELAXED);
    return artifact;
}

void
sp_artifact_destroy(struct artifact *artifact)
{
    if (!artifact || __atomic_sub_fetch(&artifact->shares, 1, __ATOMIC_ACQ_REL))
        return;
    free(artifact->code);
    free(artifact->entry);
    free(artifact->name);
    free(artifact->target);
    free(artifact->params);
    for (uint32_t i = 0; i < artifact->n_sites; i++) {
        free((char *)artifact->sites[i].where.file);
        free((char *)artifact->sites[i].where.function);
        free(artifact->sites[i].name);
    }
    free(artifact->sites);
    for (uint32_t i = 0; i < artifact->n_waits; i++) {
        sp_src_finish(&artifact->waits[i].where);
        free(artifact->waits[i].name);
    }
    free(artifact->waits);
    sp_warnings_finish(&artifact->warnings);
    free(artifact->origins);
    free(artifact->classes);
    free(artifact->ir);
    free(artifact->llvm);
    free(artifact);
}

static void
fault_print_shape(const struct sp_fault *fault, struct sp_str *out)
{
    int64_t rank = fault->values[2];
    if (rank < 0 || rank > SP_FAULT_VALUES - 3)
        rank = 0;
    sp_str_add_char(out, '(');
    for (int64_t i = 0; i < rank; i++)
        sp_str_printf(out, "%s%lld", i ? ", " : "", (long long)fault->values[3 + i]);
    sp_str_add(out, rank == 1 ? ",)" : ")");
}

/* The text of a check: {i}, {u} and {f} stand for the next value as int64, uint64 or float64. */
static void
fault_print_text(const char *text, const struct sp_fault *fault, uint32_t n_values,
                 struct sp_str *out)
{
    uint32_t next = 0;
    for (; *text; text++) {
        if (text[0] != '{' || !text[1] || text[2] != '}' || next >= n_values) {
            sp_str_add_char(out, *text);
            continue;
        }
        int64_t value = fault->values[next++];
        double number;
        memcpy(&number, &value, sizeof number);
        if (text[1] == 'f')
            sp_str_add_double(out, number);
        else if (text[1] == 'u')
            sp_str_printf(out, "%llu", (unsigned long long)value);
        else
            sp_str_printf(out, "%lld", (long long)value);
        text += 2;
    }
}

/* The name of the class that a recipe begins with: e0:10:ValueError(...) */
static const char *
fault_class_name(const char *recipe, int *len_out)
{
    const char *at = strchr(recipe, ':');
    char *end = NULL;
    long len = at ? strtol(at + 1, &end, 10) : 0;
    bool good = at && *end == ':' && len > 0 && len < INT32_MAX;
    const char *name = good ? end + 1 : "an exception";
    *len_out = good ? (int)len : (int)strlen(name);
    return name;
}

#define FAULT_MAX_NOTES 6

static bool
fault_is_at(const struct sp_src *a, const struct sp_src *b)
{
    return a->file && b->file && !strcmp(a->file, b->file) && a->line == b->line;
}

static void
fault_set_text(struct sp_diag *diag, const struct sp_fault_site *site, const struct sp_fault *fault)
{
    struct sp_str text;
    sp_str_init(&text);
    if (site->code == SP_E_RAISED) {
        int len;
        const char *name = fault_class_name(site->name, &len);
        sp_str_add_n(&text, name, strnlen(name, (size_t)len));
    } else {
        uint32_t n = site->n_values < SP_FAULT_VALUES ? site->n_values : SP_FAULT_VALUES;
        fault_print_text(site->name, fault, n, &text);
    }
    sp_diag_set(diag, site->code, &site->where, text.data);
    sp_str_finish(&text);
}

/* Another launch that raised before the host asked: one line, for a place that is not named yet. */
static void
fault_explain_later(const struct artifact *artifact, const struct sp_fault_site *site,
                    struct sp_diag *diag)
{
    bool known = fault_is_at(&diag->where, &site->where) || diag->n_notes >= FAULT_MAX_NOTES;
    for (uint32_t i = 0; i < diag->n_notes && !known; i++)
        known = fault_is_at(&diag->notes[i].where, &site->where);
    if (known)
        return;
    int len = 0;
    const char *name = sp_error_name(site->code);
    if (site->code == SP_E_RAISED)
        name = fault_class_name(site->name, &len);
    else
        len = (int)strlen(name);
    sp_diag_note(diag, &site->where, "a later launch, of kernel '%s', raised %.*s:",
                 artifact->name ? artifact->name : "?", len, name);
}

void
sp_fault_explain(const struct artifact *artifact, const struct sp_fault *fault,
                 struct sp_diag *diag)
{
    if (fault->site >= artifact->n_sites) {
        sp_diag_set(diag, SP_E_INTERNAL_ERROR, NULL,
                    "a kernel raised an error at an unknown place");
        return;
    }
    const struct sp_fault_site *site = &artifact->sites[fault->site];
    if (diag->code != SP_OK) {
        fault_explain_later(artifact, site, diag);
        return;
    }
    if (site->code == SP_E_OUT_OF_BOUNDS) {
        struct sp_str shape;
        sp_str_init(&shape);
        fault_print_shape(fault, &shape);
        sp_diag_set(diag, site->code, &site->where, (long long)fault->values[0],
                    (long long)fault->values[1], site->name, shape.data);
        sp_str_finish(&shape);
    } else if (site->code == SP_E_TOO_DEEP) {
        sp_diag_set(diag, site->code, &site->where, site->name);
        sp_diag_hint(diag, "write a loop instead, or end the recursion earlier");
    } else {
        fault_set_text(diag, site, fault);
        if (site->code == SP_E_SHARED_EXCEEDED)
            sp_diag_hint(diag, "give the launch more: kernel[grid, block, stream, shared_bytes]; "
                               "every call of gpu.shared.dynamic takes what no call had before, in "
                               "a loop too");
    }
    struct sp_raised raised = {.kernel = artifact->name,
                               .recipe = site->code == SP_E_RAISED ? site->name : NULL,
                               .values = (int64_t *)fault->values,
                               .n_values = SP_FAULT_VALUES};
    memcpy(raised.block, fault->block, sizeof raised.block);
    memcpy(raised.thread, fault->thread, sizeof raised.thread);
    sp_diag_raised(diag, &raised);
    sp_diag_note(diag, NULL, "raised by thread (%u, %u, %u) of block (%u, %u, %u)",
                 fault->thread[0], fault->thread[1], fault->thread[2], fault->block[0],
                 fault->block[1], fault->block[2]);
}
