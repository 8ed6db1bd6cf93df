/* kept: a compilation's result on disk: found there, and put there.
 *
 * In: a request as the compiler gets it. Out: the artifact, if one that this request would make is
 * on disk; and after a compilation the files by which the next process finds it.
 *
 * The key is the content of everything that decides the result: cg_key (the module without places,
 * argument types, options, target, the compiler's build, libdevice), places where they are part of
 * the code, and the answers to what inference asked Python on the way. Which questions those are is
 * known only to who has compiled, so it is kept too: under a key lies either an artifact or a list
 * of questions; their answers, and what was read for them, make the next key. Both sides ask into a
 * fork of their own that nothing but these questions has touched, so that numbers of constants and
 * functions mean the same in every process; a question about an object that cannot be named there
 * keeps the result from being kept, never from being right.
 *
 * A cubin lies under the key of its PTX with the driver's version, the device and the driver's
 * options. Places and classes in an artifact are those of the process that wrote it until
 * cg_origins_put has filled them from the module as it was read here. */
#include "pymod/kept.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/disk.h"
#include "support/bytes.h"

enum { KEPT_MAX_ROUNDS = 64 };
enum { KEPT_ARTIFACT = 'A', KEPT_QUESTIONS = 'Q' };

/* One question, in numbers that mean the same in every process. */
struct question {
    uint8_t kind;   /* enum ir_question_kind */
    uint32_t index; /* of the argument, or of the constant in the fork */
    char *name;     /* of an attribute */
};

struct rt_disk *
pm_disk(struct pm_state *state)
{
    if (!state->disk)
        state->disk = rt_disk_create();
    return state->disk;
}

bool
pm_disk_warn(struct pm_state *state)
{
    enum sp_warning_code code;
    char *text;
    return !state->disk || !rt_disk_take_warning(state->disk, &code, &text) ||
           pm_warn_launch(state, code, text);
}

/* ---- Keys ---- */

static struct sp_digest
kept_first_key(struct pm_state *state, const struct cg_request *request)
{
    struct sp_hash hash;
    struct sp_digest key = cg_key(state->cg, request);
    struct sp_digest places = fe_hash_places(request->py, request->options.lineinfo);
    sp_hash_init(&hash);
    sp_hash_add(&hash, key.bytes, sizeof key.bytes);
    sp_hash_add(&hash, places.bytes, sizeof places.bytes);
    return sp_hash_end(&hash);
}

static struct sp_digest
kept_cubin_key(const struct pm_kept *kept)
{
    const struct rt_info *info = rt_device_info(kept->dev);
    struct sp_hash hash;
    struct sp_str options;
    sp_str_init(&options);
    rt_jit_options_print(kept->jit_options, &options);
    sp_hash_init(&hash);
    sp_hash_add(&hash, kept->key.bytes, sizeof kept->key.bytes);
    sp_hash_add_text(&hash, "cubin");
    sp_hash_add_u64(&hash, (uint64_t)info->driver_version);
    sp_hash_add_u64(&hash, (uint64_t)info->cc_major);
    sp_hash_add_u64(&hash, (uint64_t)info->cc_minor);
    sp_hash_add_text(&hash, options.data);
    sp_str_finish(&options);
    return sp_hash_end(&hash);
}

/* ---- Questions ---- */

static void
questions_finish(struct question *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(list[i].name);
    free(list);
}

/* As it is before any question. */
static void
kept_reset(struct pm_kept *kept)
{
    fe_oracle_forget(kept->oracle);
    if (kept->fork)
        ir_module_finish(kept->fork);
    kept->fork = NULL;
    kept->key = kept->first_key;
}

/* The module with the answers so far. */
static const struct ir_module *
kept_module(const struct pm_kept *kept)
{
    return kept->fork ? kept->fork : kept->request->py;
}

static bool
kept_can_ask(const struct pm_kept *kept, const struct question *q)
{
    if (q->kind == IR_Q_OBJECT)
        return q->index < kept->request->n_args && kept->request->args[q->index].host;
    if (q->kind != IR_Q_ATTR || !q->name || q->index >= kept_module(kept)->consts.len)
        return false;
    uint8_t kind = ir_const_info(kept_module(kept), q->index)->kind;
    return kind == IR_C_HOST || kind == IR_C_NAMESPACE;
}

/* Asks a round of questions into the fork; the key goes on with what came of it. */
static bool
kept_ask(struct pm_kept *kept, const struct question *list, uint32_t n)
{
    struct ir_question *asked = sp_alloc((n + 1u) * sizeof *asked);
    const struct ir_oracle *oracle = fe_oracle_ops(kept->oracle);
    memset(asked, 0, (n + 1u) * sizeof *asked);
    for (uint32_t i = 0; i < n; i++) {
        const struct question *q = &list[i];
        asked[i].kind = (enum ir_question_kind)q->kind;
        if (!kept_can_ask(kept, q)) {
            free(asked);
            return false;
        }
        if (q->kind == IR_Q_OBJECT)
            asked[i].host = kept->request->args[q->index].host;
        else
            asked[i].object = q->index;
        asked[i].name = q->name;
    }
    if (!kept->fork)
        kept->fork = ir_module_fork(kept->request->py, &kept->arena);
    oracle->answer(oracle->context, kept->fork, asked, n);
    struct sp_hash hash;
    struct sp_digest module = fe_hash_module(kept->fork);
    struct sp_digest places = fe_hash_places(kept->fork, kept->request->options.lineinfo);
    sp_hash_init(&hash);
    sp_hash_add(&hash, kept->key.bytes, sizeof kept->key.bytes);
    sp_hash_add(&hash, module.bytes, sizeof module.bytes);
    sp_hash_add(&hash, places.bytes, sizeof places.bytes);
    for (uint32_t i = 0; i < n; i++) {
        bool failed = asked[i].diag.code != SP_OK;
        sp_hash_add_u64(&hash, asked[i].answer);
        sp_hash_add_u64(&hash, asked[i].diag.code);
        sp_hash_add_text(&hash, failed && asked[i].diag.message ? asked[i].diag.message : "");
        sp_diag_finish(&asked[i].diag);
    }
    kept->key = sp_hash_end(&hash);
    free(asked);
    return true;
}

/* ---- Finding ---- */

static bool
questions_read(struct sp_reader *reader, struct question **list_out, uint32_t *n_out)
{
    uint32_t n = sp_get_count(reader, 9), i;
    struct question *list = sp_alloc((n + 1u) * sizeof *list);
    for (i = 0; i < n; i++) {
        list[i].kind = sp_get_u8(reader);
        list[i].index = sp_get_u32(reader);
        list[i].name = sp_get_text(reader);
    }
    if (n && sp_reader_done(reader)) {
        *list_out = list;
        *n_out = n;
        return true;
    }
    questions_finish(list, n);
    return false;
}

/* The artifact in a file, with its places and classes as they are here. */
static bool
kept_take(struct pm_kept *kept, struct sp_reader *reader, enum sp_code_kind kind)
{
    struct artifact *artifact;
    if (!sp_artifact_read(reader->at, (size_t)(reader->end - reader->at), &artifact))
        return false;
    if (artifact->kind == kind && cg_origins_put(artifact, kept_module(kept))) {
        kept->artifact = artifact;
        return true;
    }
    sp_artifact_destroy(artifact);
    return false;
}

/* Reads the file of a key up to what it holds: 0 if there is none. The GIL is dropped. */
static uint8_t
kept_open(struct pm_kept *kept, struct sp_digest key, struct sp_str *file, struct sp_reader *reader)
{
    bool found;
    sp_str_clear(file);
    Py_BEGIN_ALLOW_THREADS
    found = rt_disk_get(pm_disk(kept->state), key, file);
    Py_END_ALLOW_THREADS
    if (!found)
        return 0;
    sp_reader_init(reader, file->data, file->len);
    free(kept->parts);
    kept->parts = sp_get_text(reader);
    return sp_get_u8(reader);
}

static bool
kept_has_assembler(const struct pm_kept *kept)
{
    return kept->dev->ops->assemble != NULL;
}

bool
pm_kept_find(struct pm_kept *kept)
{
    struct sp_str file;
    struct sp_reader reader;
    enum sp_code_kind kind = kept->request->arch.sm ? SP_CODE_PTX : SP_CODE_OBJECT;
    bool more = true;
    sp_str_init(&file);
    kept_reset(kept);
    for (int round = 0; more && !kept->artifact && round < KEPT_MAX_ROUNDS; round++) {
        struct question *list;
        uint32_t n;
        if (kept_has_assembler(kept) &&
            kept_open(kept, kept_cubin_key(kept), &file, &reader) == KEPT_ARTIFACT &&
            kept_take(kept, &reader, SP_CODE_CUBIN))
            break;
        uint8_t what = kept_open(kept, kept->key, &file, &reader);
        more = false;
        if (what == KEPT_ARTIFACT) {
            kept_take(kept, &reader, kind);
        } else if (what == KEPT_QUESTIONS && questions_read(&reader, &list, &n)) {
            more = kept_ask(kept, list, n);
            questions_finish(list, n);
        }
    }
    sp_str_finish(&file);
    return kept->artifact != NULL;
}

/* ---- Recording what a compilation asks ---- */

/* A question as the compilation asked it, of its own fork. */
struct pm_recorded {
    uint8_t kind, object_kind;
    const void *host;
    char *name, *space;
};

struct pm_round {
    struct pm_recorded *list;
    uint32_t n;
};

static char *
kept_copy_text(const char *text)
{
    return text ? strcpy(sp_alloc(strlen(text) + 1), text) : NULL;
}

static void
kept_answer(void *context, struct ir_module *module, struct ir_question *questions, uint32_t n)
{
    struct pm_kept *kept = context;
    struct pm_round round = {sp_alloc((n + 1u) * sizeof *round.list), n};
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_question *q = &questions[i];
        struct pm_recorded *r = &round.list[i];
        *r = (struct pm_recorded){.kind = (uint8_t)q->kind, .host = q->host};
        if (q->kind == IR_Q_ATTR) {
            const struct ir_const_info *info = ir_const_info(module, q->object);
            r->object_kind = info->kind;
            r->host = info->kind == IR_C_HOST ? info->host : NULL;
            r->space = info->kind == IR_C_NAMESPACE ? kept_copy_text(info->str) : NULL;
            r->name = kept_copy_text(q->name);
        }
    }
    sp_vec_push(NULL, &kept->rounds, round);
    const struct ir_oracle *oracle = fe_oracle_ops(kept->oracle);
    oracle->answer(oracle->context, module, questions, n);
}

static bool
kept_same_object(const struct ir_const_info *info, const struct pm_recorded *r)
{
    if (info->kind != r->object_kind)
        return false;
    return info->kind == IR_C_HOST ? info->host == r->host
                                   : info->kind == IR_C_NAMESPACE && !strcmp(info->str, r->space);
}

/* Names a recorded question by the fork and the arguments. */
static bool
kept_name(const struct pm_kept *kept, const struct pm_recorded *r, struct question *out)
{
    *out = (struct question){.kind = r->kind};
    const struct cg_request *request = kept->request;
    if (r->kind == IR_Q_OBJECT) {
        while (out->index < request->n_args && request->args[out->index].host != r->host)
            out->index++;
        return out->index < request->n_args;
    }
    const struct ir_module *module = kept_module(kept);
    for (out->index = 1; out->index < module->consts.len; out->index++)
        if (kept_same_object(ir_const_info(module, out->index), r)) {
            out->name = kept_copy_text(r->name);
            return true;
        }
    return false;
}

/* ---- Keeping ---- */

static void
kept_put(struct pm_kept *kept, struct sp_digest key, uint8_t what, const struct sp_str *content)
{
    struct sp_str file;
    sp_str_init(&file);
    sp_put_text(&file, kept->parts);
    sp_put_u8(&file, what);
    sp_str_add_n(&file, content->data, content->len);
    Py_BEGIN_ALLOW_THREADS
    kept->is_kept |= rt_disk_put(pm_disk(kept->state), key, file.data, file.len);
    Py_END_ALLOW_THREADS
    sp_str_finish(&file);
}

static void
kept_put_artifact(struct pm_kept *kept, struct sp_digest key, const struct artifact *artifact)
{
    struct sp_str bytes;
    sp_str_init(&bytes);
    sp_artifact_write(artifact, &bytes);
    kept_put(kept, key, KEPT_ARTIFACT, &bytes);
    sp_str_finish(&bytes);
}

/* One round: its questions are kept under the key so far, its answers make the next. */
static bool
kept_put_round(struct pm_kept *kept, const struct pm_round *round)
{
    struct question *list = sp_alloc((round->n + 1u) * sizeof *list);
    struct sp_str bytes;
    uint32_t n = 0;
    bool ok = true;
    sp_str_init(&bytes);
    sp_put_u32(&bytes, round->n);
    for (; ok && n < round->n; n++) {
        ok = kept_name(kept, &round->list[n], &list[n]);
        sp_put_u8(&bytes, list[n].kind);
        sp_put_u32(&bytes, list[n].index);
        sp_put_text(&bytes, list[n].name);
    }
    struct sp_digest key = kept->key;
    ok = ok && kept_ask(kept, list, round->n);
    if (ok)
        kept_put(kept, key, KEPT_QUESTIONS, &bytes);
    questions_finish(list, n);
    sp_str_finish(&bytes);
    return ok;
}

void
pm_kept_put(struct pm_kept *kept)
{
    kept_reset(kept);
    bool ok = true;
    for (uint32_t i = 0; ok && i < kept->rounds.len; i++)
        ok = kept_put_round(kept, &kept->rounds.data[i]);
    if (ok && cg_origins_fill(kept->artifact, kept_module(kept)))
        kept_put_artifact(kept, kept->key, kept->artifact);
    else
        kept->cannot_keep = true;
}

void
pm_kept_assemble(struct pm_kept *kept)
{
    struct artifact *cubin = NULL;
    bool ok;
    if (!kept_has_assembler(kept) || kept->cannot_keep || kept->artifact->kind != SP_CODE_PTX)
        return;
    Py_BEGIN_ALLOW_THREADS
    ok = rt_device_assemble(kept->dev, kept->artifact, kept->jit_options, &cubin);
    Py_END_ALLOW_THREADS
    if (!ok)
        return;
    if (cubin->origins)
        kept_put_artifact(kept, kept_cubin_key(kept), cubin);
    kept->assembled = cubin;
}

/* ---- Locks ---- */

bool
pm_kept_lock(struct pm_kept *kept)
{
    enum { STEP_MS = 50, MOST_MS = 20000 };
    struct rt_disk *disk = pm_disk(kept->state);
    enum rt_disk_lock lock = RT_DISK_BUSY;
    for (int ms = 0; lock == RT_DISK_BUSY && ms < MOST_MS; ms += STEP_MS) {
        Py_BEGIN_ALLOW_THREADS
        lock = rt_disk_lock(disk, kept->first_key, STEP_MS, &kept->lock);
        Py_END_ALLOW_THREADS
        if (lock == RT_DISK_BUSY && PyErr_CheckSignals() < 0)
            return false;
    }
    kept->is_locked = lock == RT_DISK_LOCKED;
    return true;
}

static void
kept_unlock(struct pm_kept *kept)
{
    if (!kept->is_locked)
        return;
    Py_BEGIN_ALLOW_THREADS
    rt_disk_unlock(pm_disk(kept->state), kept->first_key, kept->lock);
    Py_END_ALLOW_THREADS
    kept->is_locked = false;
}

/* ---- Begin and end ---- */

void
pm_kept_begin(struct pm_kept *kept, struct pm_state *state, struct rt_device *dev,
              const struct rt_jit_options *jit_options, struct fe_oracle *oracle,
              const struct cg_request *request)
{
    memset(kept, 0, sizeof *kept);
    kept->state = state;
    kept->dev = dev;
    kept->jit_options = jit_options;
    kept->oracle = oracle;
    kept->request = request;
    kept->recorder = (struct ir_oracle){kept, kept_answer};
    sp_arena_init(&kept->arena);
    kept->first_key = kept->key = kept_first_key(state, request);
}

void
pm_kept_end(struct pm_kept *kept)
{
    kept_unlock(kept);
    fe_oracle_forget(kept->oracle);
    for (uint32_t i = 0; i < kept->rounds.len; i++) {
        struct pm_round *round = &kept->rounds.data[i];
        for (uint32_t k = 0; k < round->n; k++) {
            free(round->list[k].name);
            free(round->list[k].space);
        }
        free(round->list);
    }
    sp_vec_finish(&kept->rounds);
    if (kept->fork)
        ir_module_finish(kept->fork);
    kept->fork = NULL;
    sp_arena_finish(&kept->arena);
}
