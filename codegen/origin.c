/* origin: what of an artifact belongs to the program as it was read, so that an artifact that is
 * kept serves the same program after lines have moved, and in another process.
 *
 * In: an artifact and the PY module it was compiled from, or one with the same content. Out: for
 * every place the function and instruction of the module that it comes from, for every class of the
 * program's in a recipe the constant that stands for it; and the other way round, places and
 * recipes filled from a module as it is now.
 *
 * A place is found by its range: an instruction of the function with this name and file that has
 * the same lines and columns. Instructions with one range come from one node of the source, so
 * whichever is found moves along with it; where Python keeps no columns, lines are part of the key
 * (frontend/hash.c). To carry numbers of instructions through lowering, inlining and emission
 * instead was the alternative: a field in every instruction of CORE for what the ranges say
 * already. */
#include <stdlib.h>
#include <string.h>

#include "codegen/cg.h"
#include "support/arena.h"
#include "support/map.h"
#include "support/recipe.h"
#include "support/vec.h"

/* ---- Places ---- */

/* The places of an artifact, one after the other: sites, waits, warnings. */
static struct sp_src *
origin_place(struct artifact *a, uint32_t i)
{
    if (i < a->n_sites)
        return &a->sites[i].where;
    i -= a->n_sites;
    return i < a->n_waits ? &a->waits[i].where : &a->warnings.data[i - a->n_waits].where;
}

static uint32_t
origin_count(const struct artifact *a)
{
    return a->n_sites + a->n_waits + a->warnings.n;
}

/* What a place is found by. */
struct origin_key {
    int32_t line, col, end_line, end_col;
    struct sp_digest names; /* file and function */
};

struct origin_places {
    struct sp_arena arena;
    struct sp_map numbers; /* key -> index in `list` */
    SP_VEC(struct sp_origin) list;
};

static struct origin_key
origin_key_of(const struct sp_src *src)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    sp_hash_add_text(&hash, src->file ? src->file : "");
    sp_hash_add_text(&hash, src->function ? src->function : "");
    return (struct origin_key){src->line, src->col, src->end_line, src->end_col,
                               sp_hash_end(&hash)};
}

static void
origin_add(struct origin_places *places, struct origin_key key, uint32_t func, ir_ref insn)
{
    bool is_new;
    uint32_t *number = sp_map_intern(&places->numbers, &places->arena, &key, sizeof key, &is_new);
    if (!is_new)
        return;
    *number = places->list.len;
    sp_vec_push(&places->arena, &places->list, (struct sp_origin){func, insn});
}

/* All places of the module. Instructions in a row share a row of the function's ranges. */
static void
origin_places_fill(struct origin_places *places, const struct ir_module *module)
{
    sp_arena_init(&places->arena);
    sp_map_init(&places->numbers);
    places->list.len = 0;
    for (uint32_t i = 0; i < module->funcs.len; i++) {
        const struct ir_func *func = module->funcs.data[i];
        struct sp_src head = {func->file, func->name, func->line, func->line, -1, -1};
        struct origin_key key = origin_key_of(&head);
        uint32_t last = 0;
        struct origin_key at = key; /* the names are the same for all of the function's own */
        for (ir_ref ref = 1; ref < func->insns.len; ref++) {
            uint32_t number = ir_insn(func, ref)->src;
            if (number == last || !number)
                continue;
            last = number;
            struct sp_src src = ir_insn_src(func, ref);
            if (src.file != func->file || src.function != func->name)
                at = origin_key_of(&src);
            else
                at.names = key.names;
            at.line = src.line, at.col = src.col;
            at.end_line = src.end_line, at.end_col = src.end_col;
            origin_add(places, at, i, ref);
        }
        origin_add(places, key, i, 0);
    }
}

static void
origin_places_finish(struct origin_places *places)
{
    sp_map_finish(&places->numbers);
    sp_arena_finish(&places->arena);
}

static bool
origin_find(struct origin_places *places, const struct sp_src *where, struct sp_origin *out)
{
    *out = (struct sp_origin){SP_NOWHERE, 0};
    if (where->line == 0)
        return true;
    struct origin_key key = origin_key_of(where);
    const uint32_t *number = sp_map_find(&places->numbers, &key, sizeof key);
    if (number)
        *out = places->list.data[*number];
    return number != NULL;
}

static bool
origin_put(const struct ir_module *module, struct sp_origin origin, struct sp_src *where)
{
    struct sp_src src = {.col = -1, .end_col = -1};
    if (origin.func != SP_NOWHERE) {
        if (origin.func >= module->funcs.len)
            return false;
        const struct ir_func *func = module->funcs.data[origin.func];
        if (origin.insn >= func->insns.len)
            return false;
        src = ir_insn_src(func, origin.insn);
        if (!origin.insn)
            src = (struct sp_src){func->file, func->name, func->line, func->line, -1, -1};
    }
    sp_src_finish(where);
    *where = sp_src_copy(&src);
    return true;
}

/* ---- Classes ---- */

/* The class's number in this process; 0 if the constant is no class of the program's. */
static uint32_t
origin_class_number(const struct ir_module *module, ir_const constant)
{
    if (constant >= module->consts.len)
        return 0;
    const struct ir_const_info *info = ir_const_info(module, constant);
    return info->kind == IR_C_EXCEPTION || info->kind == IR_C_HOST ? info->len : 0;
}

struct origin_classes {
    struct artifact *artifact;
    const struct ir_module *module;
};

static bool
origin_add_class(void *context, uint32_t number, uint32_t *number_out)
{
    struct origin_classes *c = context;
    struct artifact *a = c->artifact;
    *number_out = number;
    for (uint32_t i = 0; i < a->n_classes; i++)
        if (a->classes[i].number == number)
            return true;
    for (ir_const k = 1; k < c->module->consts.len; k++)
        if (origin_class_number(c->module, k) == number) {
            a->classes = realloc(a->classes, (a->n_classes + 1u) * sizeof *a->classes);
            if (!a->classes)
                abort();
            a->classes[a->n_classes++] = (struct sp_class_use){number, k};
            return true;
        }
    return false;
}

static bool
origin_put_class(void *context, uint32_t number, uint32_t *number_out)
{
    struct origin_classes *c = context;
    for (uint32_t i = 0; i < c->artifact->n_classes; i++)
        if (c->artifact->classes[i].number == number) {
            *number_out = origin_class_number(c->module, c->artifact->classes[i].constant);
            return *number_out != 0;
        }
    return false;
}

static bool
origin_has_recipe(const struct sp_fault_site *site)
{
    return site->code == SP_E_RAISED || site->code == SP_E_NOT_PRINTED;
}

/* Walks the recipes; with `put` each becomes what the walk gives. */
static bool
origin_walk_recipes(struct origin_classes *c, bool put)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < c->artifact->n_sites; i++) {
        struct sp_fault_site *site = &c->artifact->sites[i];
        if (!origin_has_recipe(site))
            continue;
        struct sp_str text;
        sp_str_init(&text);
        ok = sp_recipe_renumber(site->name, put ? origin_put_class : origin_add_class, c, &text);
        if (ok && put) {
            free(site->name);
            site->name = sp_str_take(&text);
        } else {
            sp_str_finish(&text);
        }
    }
    return ok;
}

/* ---- Both ---- */

bool
cg_origins_fill(struct artifact *artifact, const struct ir_module *module)
{
    uint32_t n = origin_count(artifact);
    struct origin_classes classes = {artifact, module};
    bool ok = true;
    free(artifact->origins);
    free(artifact->classes);
    artifact->classes = NULL;
    artifact->n_classes = 0;
    artifact->origins = sp_alloc((n + 1u) * sizeof *artifact->origins);
    artifact->n_origins = n;
    struct origin_places places = {0};
    origin_places_fill(&places, module);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = origin_find(&places, origin_place(artifact, i), &artifact->origins[i]);
    origin_places_finish(&places);
    return ok && origin_walk_recipes(&classes, false);
}

bool
cg_origins_put(struct artifact *artifact, const struct ir_module *module)
{
    struct origin_classes classes = {artifact, module};
    bool ok = artifact->origins && artifact->n_origins == origin_count(artifact);
    for (uint32_t i = 0; ok && i < artifact->n_origins; i++)
        ok = origin_put(module, artifact->origins[i], origin_place(artifact, i));
    return ok && origin_walk_recipes(&classes, true);
}
