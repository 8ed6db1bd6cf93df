/* The parts of the one executable that links codegen/ and LLVM. */
#ifndef TESTS_CODEGEN_PARTS_H
#define TESTS_CODEGEN_PARTS_H

#include "codegen/cg.h"
#include "tests/support/check.h"

/* `argv` behind the word "tool" or "fuzz" */
int tool_main(int argc, char **argv);
int fuzz_main(int argc, char **argv);

/* Each runs its own group and returns how many tests failed. */
int test_targets(void);
int test_compile(void);
int test_every_op(void);
int test_halves(void);
int test_host(void);
int test_blocks(void); /* called by test_host */

#endif
