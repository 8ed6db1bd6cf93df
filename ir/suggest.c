/* suggest: what to write for a name that the kernel namespace lacks.
 *
 * In: a namespace ("gpu", "gpu.atomic", "math") and a name that is not in it. Out: a sentence for
 * the hint of the error: the name that differs in the fewest letters (Levenshtein, 1965; letters of
 * another case are equal), if few do; else what the namespace has, if that is little. For functions
 * of NumPy on arrays it is the way kernels go. Needs and keeps nothing. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

#define SUGGEST_LEN IR_SUGGEST_LEN
#define SUGGEST_LIST 64

static unsigned
suggest_distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    unsigned row[SUGGEST_LEN + 1];
    if (strlen(a) > SUGGEST_LEN || n > SUGGEST_LEN)
        return SUGGEST_LEN;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 0; a[i]; i++) {
        unsigned left_above = row[0]++;
        for (unsigned j = 0; j < n; j++) {
            bool equal = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            unsigned best = left_above + !equal, above = row[j + 1];
            best = best <= above ? best : above + 1;
            left_above = above;
            row[j + 1] = best <= row[j] ? best : row[j] + 1;
        }
    }
    return row[n];
}

/* The part of `path` that follows `space`, up to the next dot; false if it is not in it. */
static bool
suggest_child(const char *path, const char *space, char child[SUGGEST_LEN + 1])
{
    size_t len = strlen(space);
    if (strncmp(path, space, len) || path[len] != '.')
        return false;
    size_t n = strcspn(path + len + 1, ".");
    if (n > SUGGEST_LEN)
        return false;
    memcpy(child, path + len + 1, n);
    child[n] = '\0';
    return true;
}

void
ir_suggest_init(struct ir_suggest *s, const char *name)
{
    *s = (struct ir_suggest){.name = name, .least = strlen(name) < 4 ? 2 : 3};
}

void
ir_suggest_try(struct ir_suggest *s, const char *candidate)
{
    if (strlen(candidate) > SUGGEST_LEN || strlen(s->name) > SUGGEST_LEN)
        return;
    unsigned distance = suggest_distance(s->name, candidate);
    if (distance >= s->least || distance >= strlen(candidate))
        return;
    s->least = distance;
    memcpy(s->best, candidate, strlen(candidate) + 1);
}

static const char of_host[] =
    "it is for the host, before a launch; arrays that a kernel makes are gpu.shared.array(shape, "
    "dtype) and gpu.local.array(shape, dtype)";
static const char no_values[] =
    "write array(shape, dtype) and store to its elements: they have no values at first";

/* Names of gpu and math that kernels have not, by what they begin with if that ends in '*'. */
static const char *
suggest_other(const char *space, const char *name)
{
    static const char *const others[][3] = {
        {"gpu", "void", "it stands for \"no result\" in signatures, on the host"},
        {"gpu", "zeros*", of_host},
        {"gpu", "ones*", of_host},
        {"gpu", "empty*", of_host},
        {"gpu", "full*", of_host},
        {"gpu", "to_device", of_host},
        {"gpu", "device_array*", of_host},
        {"gpu", "synchronize",
         "it is for the host; threads of a block wait in gpu.syncthreads(), those of the launch in "
         "gpu.cg.this_grid().sync()"},
        {"gpu", "this_grid", "write gpu.cg.this_grid()"},
        {"gpu", "atomic*",
         "write gpu.atomic.add(array, index, value), gpu.atomic.cas and the like"},
        {"gpu", "random", "keep a generator's state in an array, for example of gpu.local.array"},
        {"gpu", "libdevice", "the functions of math are those of libdevice: math.sin(x)"},
        {"gpu", "fp16", "numbers of float16 have operators: a + b"},
        {"gpu", "shfl_sync_intrinsic",
         "write gpu.shfl_sync, shfl_up_sync, shfl_down_sync or shfl_xor_sync"},
        {"gpu", "vote_sync_intrinsic", "write gpu.all_sync, any_sync, eq_sync or ballot_sync"},
        {"gpu.cg", "this_thread_block", "threads of a block wait in gpu.syncthreads()"},
        {"gpu.cg", "coalesced_threads", "gpu.activemask() says which lanes are here"},
        {"gpu.cg", "tiled_partition", "operations of a warp take a mask, shuffles a width"},
        {"gpu.shared", "zeros*", no_values},
        {"gpu.local", "zeros*", no_values},
        {"gpu.shared", "ones*", no_values},
        {"gpu.local", "ones*", no_values},
        {"math", "comb", "write a loop that multiplies and divides"},
        {"math", "perm", "write a loop that multiplies"},
        {"math", "factorial", "write a loop that multiplies, or math.gamma(n + 1)"},
        {"math", "prod", "write a loop that multiplies"},
        {"math", "fsum", "write a loop that adds, or sum(...)"},
        {"math", "sumprod", "write a loop that adds products"},
        {"math", "dist", "write math.hypot of the differences"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *pattern = others[i][1];
        size_t n = strlen(pattern);
        bool begins = n && pattern[n - 1] == '*' && !strncmp(pattern, name, n - 1);
        if (!strcmp(others[i][0], space) && (begins || !strcmp(pattern, name)))
            return others[i][2];
    }
    return NULL;
}

/* Names that NumPy has and kernels have not. */
static const char *
suggest_numpy(const char *name)
{
    static const char *const arrays[] = {
        "array",    "arange",      "asarray",   "empty",  "empty_like", "full", "full_like",
        "linspace", "ones",        "ones_like", "zeros",  "zeros_like", "eye",  "tile",
        "stack",    "concatenate", "hstack",    "vstack", "meshgrid"};
    static const char *const loops[] = {"sum",    "prod",   "mean",    "std",     "var",
                                        "any",    "all",    "dot",     "inner",   "argmax",
                                        "argmin", "cumsum", "cumprod", "diff",    "sort",
                                        "outer",  "median", "einsum",  "average", "nansum"};
    static const char *const extremes[] = {"max", "min", "amax", "amin"};
    static const struct {
        const char *const *names;
        size_t n;
        const char *instead;
    } groups[] = {
        {arrays, sizeof arrays / sizeof *arrays,
         "make arrays on the host and pass them to the kernel; small tables are tuples"},
        {loops, sizeof loops / sizeof *loops, "write a loop over the elements"},
        {extremes, sizeof extremes / sizeof *extremes,
         "write max(a, b) or min(a, b) of numbers, and a loop over an array"},
    };
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g].n; i++)
            if (strcmp(groups[g].names[i], name) == 0)
                return groups[g].instead;
    return strcmp(name, "random") ? NULL : "make random numbers on the host and pass an array";
}

bool
ir_suggest_name(const char *space, const char *name, char *out, size_t out_B)
{
    struct ir_suggest s;
    ir_suggest_init(&s, name);
    char child[SUGGEST_LEN + 1], last[SUGGEST_LEN + 1] = "";
    unsigned n = 0;
    size_t len = (size_t)snprintf(out, out_B, "in kernels %s has", space);
    for (size_t i = 0; ir_path_at(i); i++) {
        if (!suggest_child(ir_path_at(i), space, child) || strcmp(child, last) == 0)
            continue;
        memcpy(last, child, sizeof last);
        ir_suggest_try(&s, child);
        if (n++ < SUGGEST_LIST && len < out_B)
            len += (size_t)snprintf(out + len, out_B - len, " %s", child);
    }
    for (ir_type scalar = IR_FIRST_SCALAR; scalar <= IR_LAST_SCALAR && !strcmp(space, "gpu");
         scalar++)
        ir_suggest_try(&s, ir_scalar_row(scalar)->name);
    bool is_numpy = strcmp(space, "numpy") == 0;
    char sync[2 * SUGGEST_LEN];
    snprintf(sync, sizeof sync, "%s.%s_sync", space, name);
    if (ir_intrin_by_path(sync) != IR_INTRIN_NONE) {
        snprintf(out, out_B, "operations of a warp name the lanes that take part: %s(mask, ...)",
                 sync);
        return true;
    }
    const char *instead = is_numpy ? suggest_numpy(name) : suggest_other(space, name);
    if (instead)
        snprintf(out, out_B, "%s", instead);
    else if (s.best[0])
        snprintf(out, out_B, "did you mean %s.%s?", space, s.best);
    else if (is_numpy)
        snprintf(out, out_B,
                 "kernels have NumPy's number types, its constants and its functions of single "
                 "numbers, such as numpy.sqrt");
    else if (len >= out_B || n > SUGGEST_LIST)
        snprintf(out, out_B, "docs/hardware.md and docs/reference.md list what kernels have of %s",
                 space);
    return instead || s.best[0] || is_numpy || n;
}
