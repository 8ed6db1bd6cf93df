/* Names of targets.
 *
 * In: "sm_90", a device's compute capability, a driver's CUDA version. Out: a row of targets.def, a
 * PTX version. The table is the only list of architectures; a device newer than the table gets its
 * last row, since PTX is forward compatible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/internal.h"

static const struct cg_arch target_archs[] = {
#define CG_ARCH(sm, ptx) {sm, ptx},
#include "codegen/targets.def"
};
#define TARGET_N (sizeof target_archs / sizeof *target_archs)

const struct cg_arch *
cg_archs(uint32_t *n_out)
{
    *n_out = TARGET_N;
    return target_archs;
}

void
cg_target_print(struct cg_arch arch, struct sp_str *out)
{
    if (arch.sm)
        sp_str_printf(out, "sm_%u", arch.sm);
    else
        sp_str_add(out, "host");
}

static bool
target_bad(const char *text, struct sp_diag *diag)
{
    struct sp_str known;
    sp_str_init(&known);
    for (size_t i = 0; i < TARGET_N; i++)
        sp_str_printf(&known, "sm_%u, ", target_archs[i].sm);
    sp_str_add(&known, "host");
    sp_diag_set(diag, SP_E_BAD_TARGET, NULL, text, known.data);
    sp_str_finish(&known);
    return false;
}

bool
cg_target_parse(const char *text, struct cg_arch *out, struct sp_diag *diag)
{
    if (!strcmp(text, "host")) {
        *out = (struct cg_arch){0};
        return true;
    }
    static const char *const prefixes[] = {"sm_", "compute_"};
    const char *digits = text;
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(prefixes[i]);
        if (!strncmp(text, prefixes[i], len))
            digits = text + len;
    }
    size_t n = strspn(digits, "0123456789");
    if (n == 0 || n > 4 || digits[n])
        return target_bad(text, diag);
    unsigned long sm = strtoul(digits, NULL, 10);
    for (size_t i = 0; i < TARGET_N; i++) {
        if (target_archs[i].sm == sm) {
            *out = target_archs[i];
            return true;
        }
    }
    return target_bad(text, diag);
}

bool
cg_target_for_capability(int major, int minor, struct cg_arch *out, struct sp_diag *diag)
{
    for (size_t i = TARGET_N; i-- > 0;) {
        if (target_archs[i].sm <= major * 10 + minor) {
            *out = target_archs[i];
            return true;
        }
    }
    char text[32];
    snprintf(text, sizeof text, "sm_%d%d", major, minor);
    return target_bad(text, diag);
}

uint16_t
cg_ptx_for_driver(int cuda_version)
{
    /* PTX ISA, release history: one version per CUDA release, except where CUDA skipped one. */
    static const struct {
        int cuda;
        uint16_t ptx;
    } releases[] = {
        {13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85}, {12040, 84}, {12030, 83},
        {12020, 82}, {12010, 81}, {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75},
        {11040, 74}, {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70}, {10020, 65}, {10010, 64},
    };
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
        if (cuda_version >= releases[i].cuda)
            return releases[i].ptx;
    }
    return 63;
}
