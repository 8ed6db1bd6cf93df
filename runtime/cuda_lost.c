/* cuda_lost: which launch has broken the GPU. An illegal address in a kernel kills the context of
 * the process: the driver says so in answer to whatever is asked next, and to everything from then
 * on, but not which kernel it was.
 *
 * In: each launch leaves a record in a ring of the device's: code, grid, block, stream and the
 * first words of its parameters, stored one by one so that threads need no lock (a few ns, no
 * allocation). A wait that succeeds says which of them are over. Out: at the first answer that is
 * such an error a diagnostic with the launches that were under way: by name and place if there is
 * but one, else all of them as notes, each with grid, block and arguments. The device is lost from
 * then on: every call fails with a copy of that diagnostic, before the driver is asked.
 *
 * Code that is unloaded while the ring has launches of it keeps its description until they are
 * gone. Lost alternatives: an event after each launch, which costs as much as the launch; waiting
 * after each launch, which GPUJIT_LAUNCH_BLOCKING does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_t.h"
#include "support/arena.h"

#define LOST_MAX_NOTES 8
#define LOST_MAX_ARGUMENTS 12

/* Errors after which the context answers nothing else. */
static bool
lost_is_final(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_EXTERNAL_DEVICE: return true;
    default: return false;
    }
}

void
rt_cuda_recents_init(struct cuda_recents *recents)
{
    memset(recents, 0, sizeof *recents);
    pthread_mutex_init(&recents->lock, NULL);
    sp_diag_init(&recents->story);
}

static void
lost_free_code(struct cuda_code *code)
{
    sp_artifact_destroy(code->base.artifact);
    sp_src_finish(&code->where);
    for (uint32_t i = 0; i < code->n_arguments; i++)
        free((char *)code->arguments[i].name);
    free(code->arguments);
    free(code->base.log);
    free(code);
}

void
rt_cuda_recents_finish(struct cuda_recents *recents)
{
    for (uint32_t i = 0; i < recents->retired.len; i++)
        lost_free_code(recents->retired.data[i]);
    sp_vec_finish(&recents->retired);
    sp_diag_finish(&recents->story);
    pthread_mutex_destroy(&recents->lock);
}

static bool
lost_has_launch_of(const struct cuda_recents *recents, const struct cuda_code *code)
{
    for (uint32_t i = 0; i < CUDA_N_RECENT; i++)
        if (atomic_load_explicit(&recents->ring[i].code, memory_order_relaxed) == (uintptr_t)code)
            return true;
    return false;
}

void
rt_cuda_recents_retire(struct cuda_recents *recents, struct cuda_code *code)
{
    pthread_mutex_lock(&recents->lock);
    sp_vec_push(NULL, &recents->retired, code);
    for (uint32_t i = 0; i < recents->retired.len;) {
        struct cuda_code *retired = recents->retired.data[i];
        if (lost_has_launch_of(recents, retired)) {
            i++;
            continue;
        }
        recents->retired.data[i] = sp_vec_pop(&recents->retired);
        lost_free_code(retired);
    }
    pthread_mutex_unlock(&recents->lock);
}

void
rt_code_describe(struct rt_code *base, const struct sp_src *where,
                 const struct rt_argument *arguments, uint32_t n)
{
    if (base->dev->info.kind != RT_CUDA)
        return;
    struct cuda_code *code = (struct cuda_code *)base;
    code->where = sp_src_copy(where);
    code->arguments = sp_alloc((n + 1) * sizeof *arguments);
    code->n_arguments = n;
    for (uint32_t i = 0; i < n; i++) {
        size_t size = strlen(arguments[i].name) + 1;
        code->arguments[i] = arguments[i];
        code->arguments[i].name = memcpy(sp_alloc(size), arguments[i].name, size);
    }
}

void
rt_cuda_recents_waited(struct cuda_recents *recents, const rt_stream *stream, uint64_t before)
{
    if (!stream) {
        uint64_t done = atomic_load_explicit(&recents->n_done, memory_order_relaxed);
        while (done < before &&
               !atomic_compare_exchange_weak_explicit(&recents->n_done, &done, before,
                                                      memory_order_relaxed, memory_order_relaxed))
            ;
        return;
    }
    if (*stream == RT_STREAM_PER_THREAD)
        return; /* of which thread is not in the ring */
    uint64_t first = atomic_load_explicit(&recents->n_done, memory_order_relaxed);
    if (before > CUDA_N_RECENT && first < before - CUDA_N_RECENT)
        first = before - CUDA_N_RECENT;
    for (uint64_t ticket = first; ticket < before; ticket++) {
        struct cuda_recent *recent = &recents->ring[ticket % CUDA_N_RECENT];
        if (atomic_load_explicit(&recent->stream, memory_order_relaxed) == *stream &&
            atomic_load_explicit(&recent->ticket, memory_order_relaxed) == ticket + 1)
            atomic_store_explicit(&recent->ticket, 0, memory_order_relaxed);
    }
}

/* ---- The story */

static uint64_t
lost_word(const struct cuda_recent *recent, uint32_t offset_B, uint32_t size_B)
{
    uint64_t word = atomic_load_explicit(&recent->params[offset_B / 8], memory_order_relaxed);
    word >>= offset_B % 8 * 8;
    return size_B < 8 ? word & (((uint64_t)1 << size_B * 8) - 1) : word;
}

static void
lost_print_scalar(const struct sp_param *param, char kind, uint64_t word, struct sp_str *out)
{
    double f64;
    float f32;
    uint32_t low = (uint32_t)word;
    int shift = 64 - 8 * (int)param->size_B;
    memcpy(&f64, &word, sizeof f64);
    memcpy(&f32, &low, sizeof f32);
    if (kind == 'f' && param->size_B == 8)
        sp_str_printf(out, "%.9g", f64);
    else if (kind == 'f' && param->size_B == 4)
        sp_str_printf(out, "%.9g", (double)f32);
    else if (kind == 'b')
        sp_str_add(out, word ? "True" : "False");
    else if (kind == 'u')
        sp_str_printf(out, "%" PRIu64, word);
    else if (kind == 'i')
        sp_str_printf(out, "%" PRId64, (int64_t)(word << shift) >> shift);
    else
        sp_str_add(out, "...");
}

/* "n=1000, x: shape (1000,)", as far as the record's words go. */
static void
lost_print_arguments(const struct cuda_recent *recent, const struct cuda_code *code,
                     struct sp_str *out)
{
    const struct artifact *artifact = code->base.artifact;
    uint32_t n = 0;
    for (uint32_t i = 0; i < artifact->n_params; i++) {
        const struct sp_param *param = &artifact->params[i];
        bool scalar = param->kind == SP_PARAM_SCALAR;
        if ((!scalar && param->kind != SP_PARAM_DATA) || param->argument >= code->n_arguments)
            continue;
        const struct rt_argument *argument = &code->arguments[param->argument];
        if (n++ == LOST_MAX_ARGUMENTS || param->offset_B + param->size_B > 8 * CUDA_RECENT_WORDS) {
            sp_str_add(out, ", ...");
            return;
        }
        sp_str_printf(out, ", %s%s", argument->name, scalar ? "=" : ": shape (");
        if (scalar) {
            lost_print_scalar(param, argument->kind,
                              lost_word(recent, param->offset_B, param->size_B), out);
            continue;
        }
        uint32_t rank = 0;
        for (uint32_t k = i + 1; k < artifact->n_params; k++) {
            const struct sp_param *extent = &artifact->params[k];
            if (extent->kind != SP_PARAM_EXTENT || extent->argument != param->argument)
                break;
            if (extent->offset_B + 8 > 8 * CUDA_RECENT_WORDS)
                sp_str_printf(out, "%s...", rank ? ", " : "");
            else
                sp_str_printf(out, "%s%" PRId64, rank ? ", " : "",
                              (int64_t)lost_word(recent, extent->offset_B, 8));
            rank++;
        }
        sp_str_add(out, rank == 1 ? ",)" : ")");
    }
}

static void
lost_print_launch(const struct cuda_recent *recent, const struct cuda_code *code,
                  struct sp_str *out)
{
    uint32_t sizes[6];
    for (int i = 0; i < 6; i++)
        sizes[i] = atomic_load_explicit(&recent->sizes[i], memory_order_relaxed);
    sp_str_printf(out, "%s: grid (%u, %u, %u), block (%u, %u, %u)", code->base.artifact->name,
                  sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]);
    uint64_t stream = atomic_load_explicit(&recent->stream, memory_order_relaxed);
    if (stream)
        sp_str_printf(out, ", stream 0x%" PRIx64, stream);
    lost_print_arguments(recent, code, out);
}

/* The launches that may be at fault, the newest first. */
static uint32_t
lost_find(const struct cuda_recents *recents, uint64_t tickets[CUDA_N_RECENT], bool *more_out)
{
    uint64_t last = atomic_load_explicit(&recents->n_launched, memory_order_relaxed);
    uint64_t done = atomic_load_explicit(&recents->n_done, memory_order_relaxed);
    uint32_t n = 0;
    *more_out = last > CUDA_N_RECENT && done < last - CUDA_N_RECENT;
    for (uint64_t ticket = last; ticket > done && last - ticket < CUDA_N_RECENT; ticket--) {
        const struct cuda_recent *recent = &recents->ring[(ticket - 1) % CUDA_N_RECENT];
        if (atomic_load_explicit(&recent->ticket, memory_order_relaxed) == ticket)
            tickets[n++] = ticket;
    }
    return n;
}

static const struct cuda_code *
lost_code(const struct cuda_recent *recent)
{
    return (const struct cuda_code *)atomic_load_explicit(&recent->code, memory_order_relaxed);
}

static void
lost_set_message(struct cuda_recents *recents, const char *what, const uint64_t *tickets,
                 uint32_t n, bool more)
{
    struct sp_str text;
    sp_str_init(&text);
    const struct cuda_recent *newest = n ? &recents->ring[(tickets[0] - 1) % CUDA_N_RECENT] : NULL;
    const struct sp_src *where = NULL;
    if (n == 1 && !more) {
        sp_str_printf(&text, "kernel '%s' has broken the GPU",
                      lost_code(newest)->base.artifact->name);
        where = &lost_code(newest)->where;
    } else if (n) {
        sp_str_printf(&text, "one of the last %s%u launches has broken the GPU",
                      more ? "more than " : "", n);
    } else {
        sp_str_add(&text, "the GPU is broken, by a kernel of a graph or of another library");
    }
    sp_diag_set(&recents->story, SP_E_DEVICE_LOST, where, text.data, what);
    for (uint32_t i = 0; i < n && i < LOST_MAX_NOTES; i++) {
        const struct cuda_recent *recent = &recents->ring[(tickets[i] - 1) % CUDA_N_RECENT];
        sp_str_clear(&text);
        lost_print_launch(recent, lost_code(recent), &text);
        sp_diag_note(&recents->story, &lost_code(recent)->where, "%s", text.data);
    }
    if (more || n > LOST_MAX_NOTES)
        sp_diag_note(&recents->story, NULL, "and earlier ones");
    sp_str_finish(&text);
    sp_diag_hint(&recents->story, "%s%s",
                 n == 1 || !n ? ""
                              : "GPUJIT_LAUNCH_BLOCKING=1 waits after each launch, so that only "
                                "one can be meant. ",
                 "gpu.jit(check=True) or GPUJIT_DEVICE=cpu names the line and the index at fault, "
                 "compute-sanitizer the address. This process cannot use the GPU any more: it must "
                 "be started anew");
}

bool
rt_cuda_lost_story(struct cuda_device *dev, struct sp_diag *diag)
{
    pthread_mutex_lock(&dev->recents.lock);
    if (diag->code == SP_OK)
        sp_diag_copy(diag, &dev->recents.story);
    pthread_mutex_unlock(&dev->recents.lock);
    return false;
}

/* The device whose context the failed call was made in. */
static struct cuda_device *
lost_device(const struct cuda_driver *driver)
{
    struct cuda_opened *opened = driver->opened;
    CUcontext current = NULL;
    struct cuda_device *found = NULL;
    (void)driver->api.cuCtxGetCurrent(&current);
    pthread_mutex_lock(&opened->lock);
    for (uint32_t i = 0; i < opened->devices.len; i++)
        if (opened->devices.data[i]->context == current || opened->devices.len == 1)
            found = opened->devices.data[i];
    pthread_mutex_unlock(&opened->lock);
    return found;
}

bool
rt_cuda_lost(const struct cuda_driver *driver, CUresult result, const char *what,
             struct sp_diag *diag)
{
    struct cuda_device *dev = lost_is_final(result) ? lost_device(driver) : NULL;
    if (!dev)
        return false;
    struct cuda_recents *recents = &dev->recents;
    uint64_t tickets[CUDA_N_RECENT];
    bool more;
    pthread_mutex_lock(&recents->lock);
    if (!atomic_load_explicit(&recents->lost, memory_order_relaxed)) {
        uint32_t n = lost_find(recents, tickets, &more);
        lost_set_message(recents, what, tickets, n, more);
        atomic_store_explicit(&recents->lost, true, memory_order_release);
    }
    pthread_mutex_unlock(&recents->lock);
    rt_cuda_lost_story(dev, diag);
    return true;
}
