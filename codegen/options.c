/* Compile options by name.
 *
 * In: names with numbers or texts, or the environment. Out: struct cg_options. Everything
 * comes from options.def: a row table with the offset of each field; BOOL and INT are checked
 * against the row's range. One setter per type of option was the alternative; the table gives
 * the command line, the decorator's keywords and the environment one meaning. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cg.h"

struct option_slot {
    struct cg_option_row row;
    size_t offset_B;
};

static const struct option_slot option_slots[] = {
#define CG_OPTION(name, kind, fallback, low, high, environment, keyed, meaning)                    \
    {{#name, CG_KIND_##kind, low, high, environment, meaning}, offsetof(struct cg_options, name)},
#include "codegen/options.def"
};

uint32_t
cg_n_options(void)
{
    return sizeof option_slots / sizeof *option_slots;
}

const struct cg_option_row *
cg_option_row(uint32_t i)
{
    return &option_slots[i].row;
}

void
cg_options_init(struct cg_options *options)
{
    *options = (struct cg_options){
#define CG_OPTION(name, kind, fallback, ...) .name = fallback,
#include "codegen/options.def"
    };
}

static const struct option_slot *
option_find(const char *name)
{
    for (uint32_t i = 0; i < cg_n_options(); i++) {
        if (!strcmp(option_slots[i].row.name, name))
            return &option_slots[i];
    }
    return NULL;
}

static bool
option_bad(const char *name, const char *why, struct sp_diag *diag)
{
    return sp_diag_set(diag, SP_E_BAD_OPTION, NULL, name, why);
}

bool
cg_option_set_int(struct cg_options *options, const char *name, int64_t value, struct sp_diag *diag)
{
    const struct option_slot *slot = option_find(name);
    if (!slot)
        return option_bad(name, "there is no such option", diag);
    if (slot->row.kind == CG_KIND_TEXT)
        return option_bad(name, "is a path, not a number", diag);
    if (value < slot->row.low || value > slot->row.high) {
        char why[64];
        snprintf(why, sizeof why, "%lld is not within %d to %d", (long long)value, slot->row.low,
                 slot->row.high);
        return option_bad(name, why, diag);
    }
    void *field = (char *)options + slot->offset_B;
    if (slot->row.kind == CG_KIND_BOOL)
        *(bool *)field = value != 0;
    else
        *(int32_t *)field = (int32_t)value;
    return true;
}

/* Numbers, and the words that say yes and no. */
static bool
option_number(const char *text, int64_t *out)
{
    static const struct {
        const char *word;
        int value;
    } words[] = {{"true", 1}, {"yes", 1}, {"on", 1}, {"false", 0}, {"no", 0}, {"off", 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(text, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    }
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return !errno && end != text && !*end;
}

bool
cg_option_set_text(struct cg_options *options, const char *name, const char *value,
                   struct sp_diag *diag)
{
    const struct option_slot *slot = option_find(name);
    if (!slot)
        return option_bad(name, "there is no such option", diag);
    if (slot->row.kind == CG_KIND_TEXT) {
        *(const char **)((char *)options + slot->offset_B) = value;
        return true;
    }
    int64_t number;
    if (!option_number(value, &number))
        return option_bad(name, "is not a number", diag);
    return cg_option_set_int(options, name, number, diag);
}

bool
cg_options_read_env(struct cg_options *options, struct sp_diag *diag)
{
    for (uint32_t i = 0; i < cg_n_options(); i++) {
        const struct cg_option_row *row = &option_slots[i].row;
        const char *value = *row->environment ? getenv(row->environment) : NULL;
        if (!value || !*value || cg_option_set_text(options, row->name, value, diag))
            continue;
        return sp_diag_hint(diag, "it comes from the environment variable %s", row->environment);
    }
    return true;
}

#define OPTION_PRINT_BOOL(name) sp_str_printf(out, "option " #name "\t%d\n", (int)options->name)
#define OPTION_PRINT_INT(name) sp_str_printf(out, "option " #name "\t%d\n", (int)options->name)
#define OPTION_PRINT_TEXT(name)                                                                    \
    sp_str_printf(out, "option " #name "\t%s\n", options->name ? options->name : "")

void
cg_options_print(const struct cg_options *options, struct sp_str *out)
{
#define CG_OPTION(name, kind, fallback, low, high, environment, keyed, meaning)                    \
    if (keyed)                                                                                     \
        OPTION_PRINT_##kind(name);
#include "codegen/options.def"
}
