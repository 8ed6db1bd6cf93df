/* cpu_symbols: names of functions in, addresses out. First the table cpu_symbols.def, whose rows
 * are resolved when this library is linked, so they are there whatever the process has loaded
 * and however its symbols are hidden; then the process's own symbols by dlsym. A linear search:
 * it is asked a few times per compiled kernel. Conversions of float16 are resolved by dlsym
 * alone, because compilers before GCC 12 lack them. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cpu_t.h"

#define CPU_MATH(name)
#define CPU_C(name)
#define CPU_HELPER(name) extern void name(void);
#include "runtime/cpu_symbols.def"

static uint64_t
symbols_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
rt_cpu_ticks(void)
{
    return symbols_now(CLOCK_MONOTONIC);
}

uint64_t
rt_cpu_nanoseconds(void)
{
    return symbols_now(CLOCK_REALTIME);
}

uint64_t
rt_cpu_symbol(const char *name)
{
#define CPU_MATH(id)                                                                               \
    if (!strcmp(name, #id))                                                                        \
        return (uintptr_t)id;                                                                      \
    if (!strcmp(name, #id "f"))                                                                    \
        return (uintptr_t)id##f;
#define CPU_C(id)                                                                                  \
    if (!strcmp(name, #id))                                                                        \
        return (uintptr_t)id;
#define CPU_HELPER(id) CPU_C(id)
#define CPU_OWN(id, function)                                                                      \
    if (!strcmp(name, #id))                                                                        \
        return (uintptr_t)function;
#include "runtime/cpu_symbols.def"
    return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}
