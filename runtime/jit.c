/* jit: options of the driver's PTX compiler, from jit.def. In: keywords and numbers. Out: a struct,
 * and from it the two parallel arrays that cuModuleLoadDataEx takes. Values equal to the driver's
 * default stay out of the arrays, so that an old driver sees only options that someone set. Passing
 * everything always was tried on paper and lost: the newer rows are deprecated and a driver may
 * refuse them. */
#include <string.h>

#include "runtime/rt_t.h"

void
rt_jit_options_init(struct rt_jit_options *options)
{
#define RT_JIT_OPTION(name, driver, plain, lowest, highest, meaning) options->name = plain;
#include "runtime/jit.def"
}

bool
rt_jit_options_set(struct rt_jit_options *options, const char *name, long long value,
                   struct sp_diag *diag)
{
    int *field = NULL;
    long long least = 0, most = 0;
#define RT_JIT_OPTION(id, driver, plain, lowest, highest, meaning)                                 \
    if (!strcmp(name, #id))                                                                        \
        field = &options->id, least = lowest, most = highest;
#include "runtime/jit.def"
    if (!field)
        return sp_diag_set(diag, SP_E_BAD_OPTION, NULL, name, "there is no such option");
    if (value < least || value > most) {
        struct sp_str text;
        sp_str_init(&text);
        sp_str_printf(&text, "%lld is not between %lld and %lld", value, least, most);
        sp_diag_set(diag, SP_E_BAD_OPTION, NULL, name, text.data);
        sp_str_finish(&text);
        return false;
    }
    *field = (int)value;
    return true;
}

void
rt_jit_options_print(const struct rt_jit_options *options, struct sp_str *out)
{
#define RT_JIT_OPTION(name, driver, plain, lowest, highest, meaning)                               \
    if (options->name != (plain))                                                                  \
        sp_str_printf(out, "jit " #name "\t%d\n", options->name);
#include "runtime/jit.def"
}

uint32_t
rt_jit_list(const struct rt_jit_options *options, int *keys_out, uintptr_t *values_out)
{
    uint32_t n = 0;
    if (!options)
        return 0;
#define RT_JIT_OPTION(name, driver, plain, lowest, highest, meaning)                               \
    if (options->name != (plain)) {                                                                \
        keys_out[n] = driver;                                                                      \
        values_out[n++] = (uintptr_t)options->name;                                                \
    }
#include "runtime/jit.def"
    return n;
}
