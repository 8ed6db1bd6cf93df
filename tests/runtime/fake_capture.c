/* The stand-in's rules of captures, as cuda.h and the driver's guide have them. In: calls as they
 * come, from any thread. Out: whether they are allowed. One capture at a time: it begins on a
 * stream, and takes in others that wait for its events.
 *
 * What is refused spoils the capture, whose end then fails too. So a test that captures sees every
 * call of the runtime's that a real driver would not forgive, in whatever thread it is made. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/runtime/fake_cuda.h"

#define CUDA_API(name, symbol, version, required, parameters) CUresult symbol parameters;
#include "runtime/cuda_api.def"

struct member {
    CUstream stream;
    bool ahead; /* it has work that the first stream has not waited for */
};

static struct {
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool spoilt;
    struct member members[8];
    unsigned n_members;
} capture;

static _Thread_local CUstreamCaptureMode thread_mode;

CUresult
cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = thread_mode;
    if (*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->n_relaxed += *mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

void
fake_capture_begin(CUstream stream, CUstreamCaptureMode mode)
{
    fake_cuda()->capturing = stream;
    capture.mode = mode;
    capture.thread = pthread_self();
    capture.spoilt = false;
    capture.n_members = 0;
}

CUresult
fake_capture_end(CUstream stream)
{
    if (!stream || stream != fake_cuda()->capturing)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(capture.thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    fake_cuda()->capturing = NULL;
    for (unsigned i = 0; i < capture.n_members && !capture.spoilt; i++)
        if (capture.members[i].ahead)
            return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    return capture.spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

static struct member *
find_member(CUstream stream)
{
    for (unsigned i = 0; fake_cuda()->capturing && i < capture.n_members; i++)
        if (capture.members[i].stream == stream)
            return &capture.members[i];
    return NULL;
}

bool
fake_is_captured(CUstream stream)
{
    return stream && (stream == fake_cuda()->capturing || find_member(stream));
}

bool
fake_is_spoilt(void)
{
    return capture.spoilt;
}

void
fake_capture_work(CUstream stream)
{
    struct member *member = find_member(stream);
    if (member)
        member->ahead = true;
}

static CUresult
spoil(CUresult result)
{
    capture.spoilt = true;
    return result;
}

/* The legacy stream waits for all streams but those that are made not to block. */
static bool
is_in_the_way(CUstream stream)
{
    CUstream captured = fake_cuda()->capturing;
    return (uintptr_t)stream <= RT_STREAM_LEGACY && captured && fake_stream_blocks(captured);
}

CUresult
fake_check_stream(CUstream stream)
{
    if (fake_stream_is_gone(stream)) { /* the real driver has freed it */
        fprintf(stderr, "fake_cuda: a stream is used that was destroyed\n");
        abort();
    }
    if (is_in_the_way(stream))
        return spoil(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return fake_is_captured(stream) && capture.spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                                      : CUDA_SUCCESS;
}

CUresult
fake_check_asked(CUstream stream)
{
    CUresult result = fake_check_stream(stream);
    return result == CUDA_SUCCESS && fake_is_captured(stream)
               ? spoil(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
               : result;
}

CUresult
fake_check_unsafe(void)
{
    bool own = pthread_equal(capture.thread, pthread_self());
    bool forbids = fake_cuda()->capturing && thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                   ((capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                     (own || thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) ||
                    (capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && own));
    return forbids ? spoil(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
}

CUresult
fake_check_everything(void)
{
    return fake_cuda()->capturing ? spoil(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
}

CUresult
fake_capture_wait(CUstream stream, CUstream before, bool captured)
{
    if (!captured)
        return fake_is_captured(stream) ? spoil(CUDA_ERROR_STREAM_CAPTURE_ISOLATION) : CUDA_SUCCESS;
    if (!fake_cuda()->capturing)
        return CUDA_ERROR_CAPTURED_EVENT;
    struct member *member = find_member(before);
    if (member)
        member->ahead = false;
    if (fake_is_captured(stream))
        return CUDA_SUCCESS;
    if ((uintptr_t)stream <= RT_STREAM_LEGACY || capture.n_members == 8)
        return spoil(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    capture.members[capture.n_members++] = (struct member){.stream = stream};
    return CUDA_SUCCESS;
}

CUresult
cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    FAKE_NEEDS_CONTEXT;
    if (is_in_the_way(stream))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; /* and spoils nothing */
    *status = !fake_is_captured(stream) ? CU_STREAM_CAPTURE_STATUS_NONE
              : capture.spoilt          ? 2 /* CU_STREAM_CAPTURE_STATUS_INVALIDATED */
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}
