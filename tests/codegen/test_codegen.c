/* Every C test of codegen/, in one executable because it links LLVM; `test_codegen tool ...` is the
 * command line tool that goldens use (tool.c), `test_codegen fuzz ...` compiles random programs
 * (fuzz.c). */
#include "tests/codegen/parts.h"

int
main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "tool"))
        return tool_main(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "fuzz"))
        return fuzz_main(argc - 2, argv + 2);
    return test_targets() + test_compile() + test_every_op() + test_halves() + test_host() ? 1 : 0;
}
