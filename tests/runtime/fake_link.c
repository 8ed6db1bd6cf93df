/* The functions of cpu_link.c without LLVM, see fake_link.h. */
#include "tests/runtime/fake_link.h"

#include <stdlib.h>
#include <string.h>

#include "support/arena.h"

static const struct fake_entry *fake_entries;
static size_t n_entries;
static _Atomic(int) n_linked;

void
fake_link_set(const struct fake_entry *entries, size_t n)
{
    fake_entries = entries;
    n_entries = n;
}

int
fake_link_count(void)
{
    return n_linked;
}

struct cpu_linker *
rt_cpu_linker_create(struct sp_str *why_not)
{
    (void)why_not;
    return sp_alloc(1);
}

void
rt_cpu_linker_destroy(struct cpu_linker *linker)
{
    free(linker);
}

struct cpu_linked *
rt_cpu_link(struct cpu_linker *linker, const void *object, size_t size_B, const char *entry,
            cpu_entry *entry_out, struct sp_str *why_not)
{
    (void)linker, (void)object, (void)size_B;
    for (size_t i = 0; i < n_entries; i++)
        if (!strcmp(fake_entries[i].name, entry)) {
            *entry_out = fake_entries[i].entry;
            n_linked++;
            return sp_alloc(1);
        }
    sp_str_printf(why_not, "it has no symbol '%s'", entry);
    return NULL;
}

void
rt_cpu_unlink(struct cpu_linker *linker, struct cpu_linked *linked)
{
    (void)linker;
    n_linked--;
    free(linked);
}
