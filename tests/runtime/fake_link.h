/* A linker for tests that run without LLVM: an artifact's entry is looked up in a list that the
 * test gives, and its object is not looked at. */
#ifndef TESTS_FAKE_LINK_H
#define TESTS_FAKE_LINK_H

#include "runtime/cpu_t.h"

struct fake_entry {
    const char *name;
    cpu_entry entry;
};

void fake_link_set(const struct fake_entry *entries, size_t n);
int fake_link_count(void); /* linked and not unlinked */

#endif
