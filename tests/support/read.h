/* A whole file as text, for the tools of the tests. */
#ifndef TESTS_READ_H
#define TESTS_READ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/str.h"

/* "-" is stdin. Ends the process with a message and 2 if the file cannot be read. */
static inline void
read_all(const char *path, struct sp_str *out)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char buffer[4096];
    size_t n;
    if (!file) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    while ((n = fread(buffer, 1, sizeof buffer, file)))
        sp_str_add_n(out, buffer, n);
    if (file != stdin)
        fclose(file);
}

#endif
