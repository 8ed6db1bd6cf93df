/* limits: is this grid, block and shared memory possible? In: the device's limits, what is known of
 * the code, and the launch as 64-bit numbers. Out: nothing, or a diagnostic with the number asked
 * for, the number allowed and, where the kernel is what limits, why. Checked here and not by the
 * driver, which answers every one of these with "invalid value". */
#include "runtime/rt_t.h"

static bool
limits_check_dims(const char *what, const int64_t dims[3], const uint32_t max[3],
                  struct sp_diag *diag)
{
    for (int i = 0; i < 3; i++) {
        if (dims[i] < 1) {
            struct sp_str text;
            sp_str_init(&text);
            sp_str_printf(&text, "%s dimension %c is %lld, it must be at least 1", what, "xyz"[i],
                          (long long)dims[i]);
            sp_diag_set(diag, SP_E_BAD_CONFIGURATION, NULL, text.data);
            sp_str_finish(&text);
            return false;
        }
        if (dims[i] > (int64_t)max[i])
            return sp_diag_set(diag, SP_E_GRID_LIMIT, NULL, what, "xyz"[i], (long long)dims[i],
                               (long long)max[i]);
    }
    return true;
}

bool
rt_limits_check(const struct rt_info *info, const struct rt_attributes *attributes,
                const int64_t grid[3], const int64_t block[3], int64_t shared_B,
                struct sp_diag *diag)
{
    if (!limits_check_dims("grid", grid, info->max_grid, diag) ||
        !limits_check_dims("block", block, info->max_block, diag))
        return false;

    int64_t threads = block[0] * block[1] * block[2];
    int64_t max_threads = info->max_threads;
    bool by_kernel = attributes && attributes->max_threads && attributes->max_threads < max_threads;
    if (by_kernel)
        max_threads = attributes->max_threads;
    if (threads > max_threads) {
        sp_diag_set(diag, SP_E_BLOCK_THREADS, NULL, (long long)threads, (long long)max_threads);
        if (by_kernel && attributes->registers)
            sp_diag_hint(
                diag,
                "the kernel uses %u registers per thread, or has launch bounds; the device "
                "itself allows %u threads",
                attributes->registers, info->max_threads);
        return false;
    }

    if (shared_B < 0)
        return sp_diag_set(diag, SP_E_BAD_CONFIGURATION, NULL, "shared memory cannot be negative");
    int64_t static_B = attributes ? attributes->shared_B : 0;
    if (shared_B > (int64_t)info->shared_optin_B - static_B) {
        int64_t total_B = shared_B > INT64_MAX - static_B ? INT64_MAX : shared_B + static_B;
        sp_diag_set(diag, SP_E_SHARED_LIMIT, NULL, (long long)total_B,
                    (long long)info->shared_optin_B);
        if (static_B && shared_B)
            sp_diag_hint(diag, "%lld bytes are the kernel's own arrays, %lld were asked for",
                         (long long)static_B, (long long)shared_B);
        return false;
    }
    return true;
}

bool
rt_grid_fits(const struct rt_launch *launch, int64_t at_once, struct sp_diag *diag)
{
    int64_t blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (blocks <= at_once)
        return true;
    sp_diag_set(diag, SP_E_GRID_WAITS, NULL, (long long)blocks, (long long)at_once);
    return sp_diag_hint(diag,
                        "launch at most %lld blocks and let each thread work on several "
                        "elements: for i in range(gpu.grid(1), n, gpu.gridsize(1))",
                        (long long)at_once);
}
