/* The border between a fuzz target and what drives it: an engine of the compiler's, or
 * fuzz_main.c. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Takes any bytes; returns 0. A fault is a crash, an abort or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B);

#endif
