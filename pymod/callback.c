/* callback: functions of Python that are called in a stream's order.
 *
 * The device's own thread must not wait for the GIL: whoever holds it may be waiting for the
 * device. So that thread only posts to a queue, and one thread of Python's, started at the first
 * callback, calls what was posted, in order. Its kernels run where the stream is: the place of that
 * thread follows the callback. What a callback raises goes to sys.unraisablehook.
 *
 * A device that fails never posts. The thread looks after it while something is on its way, and
 * calls what is lost with a status that is not 0. At the end of the program what is on its way is
 * waited for, then the thread ends; after a fork the child begins with nothing.
 *
 * The queue is counted: the module, and every call on its way, which the driver may still make when
 * the module is gone. */
#include "pymod/pm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CALLBACK_LOOK_MS 200
#define CALLBACK_LOST 999 /* CUDA_ERROR_UNKNOWN */

struct callback {
    struct callback *next, *previous; /* among those on their way; `next` among those posted */
    struct pm_callbacks *all;
    struct rt_device *dev;
    PyObject *stream, *function, *argument;
    int status;
    bool python; /* added by a thread whose kernels run on the python device */
    bool lost;   /* called without having been posted, and left to the driver */
};

struct pm_callbacks {
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t change;
    struct callback *first, *last; /* posted, to be called */
    struct callback on_way;        /* the head of a ring */
    uint32_t n_on_way, n_shares;
    bool calling, ending;
    pid_t pid;
};

static struct pm_callbacks *
callbacks_create(void)
{
    struct pm_callbacks *all = sp_alloc(sizeof *all);
    *all = (struct pm_callbacks){.n_shares = 1, .pid = getpid()};
    all->on_way.next = all->on_way.previous = &all->on_way;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&all->change, &attr);
    pthread_condattr_destroy(&attr);
    return all;
}

/* With the lock held, which it gives back. */
static void
callbacks_unlock_drop(struct pm_callbacks *all)
{
    bool last = --all->n_shares == 0;
    pthread_mutex_unlock(&all->lock);
    if (!last)
        return;
    pthread_cond_destroy(&all->change);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* With the lock held: from those on their way to those to be called. */
static void
callbacks_take(struct pm_callbacks *all, struct callback *one, int status)
{
    one->previous->next = one->next;
    one->next->previous = one->previous;
    all->n_on_way--;
    one->status = status;
    one->next = NULL;
    if (all->first)
        all->last->next = one;
    else
        all->first = one;
    all->last = one;
    pthread_cond_broadcast(&all->change);
}

/* On the device's thread. Neither Python nor the runtime is called here. */
static void
callbacks_post(void *data)
{
    struct callback *one = data;
    struct pm_callbacks *all = one->all;
    pthread_mutex_lock(&all->lock);
    if (!one->lost)
        callbacks_take(all, one, 0);
    callbacks_unlock_drop(all);
}

/* Waits for a change, at most so long; false: time is up. */
static bool
callbacks_wait(struct pm_callbacks *all, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    if (until.tv_nsec >= 1000000000L)
        until.tv_sec++, until.tv_nsec -= 1000000000L;
    return pthread_cond_timedwait(&all->change, &all->lock, &until) != ETIMEDOUT;
}

/* With the lock held: what a dead device will never post is lost. */
static void
callbacks_look(struct pm_callbacks *all)
{
    struct callback *one = all->on_way.next;
    struct rt_device *dev = one->dev;
    struct sp_diag diag;
    bool done;
    if (one == &all->on_way)
        return;
    sp_diag_init(&diag);
    pthread_mutex_unlock(&all->lock);
    bool alive = rt_stream_query(dev, 0, &done, &diag) || diag.code != SP_E_DEVICE_LOST;
    sp_diag_finish(&diag);
    pthread_mutex_lock(&all->lock);
    for (one = all->on_way.next; !alive && one != &all->on_way;) {
        struct callback *next = one->next;
        if (one->dev == dev) {
            one->lost = true;
            callbacks_take(all, one, CALLBACK_LOST);
        }
        one = next;
    }
}

/* The next one to call, or NULL: the program ends. Blocks, without the GIL. */
static struct callback *
callbacks_next(struct pm_callbacks *all)
{
    pthread_mutex_lock(&all->lock);
    all->calling = false;
    pthread_cond_broadcast(&all->change);
    while (!all->first && !all->ending) {
        if (!all->n_on_way)
            pthread_cond_wait(&all->change, &all->lock);
        else if (!callbacks_wait(all, CALLBACK_LOOK_MS))
            callbacks_look(all);
    }
    struct callback *one = all->first;
    if (one) {
        all->first = one->next;
        all->calling = true;
    }
    pthread_mutex_unlock(&all->lock);
    return one;
}

static void
callbacks_call(struct pm_state *state, struct callback *one)
{
    if (!pm_place_follow(state, one->dev, one->python))
        PyErr_Clear(); /* a device that is lost; `status` says so */
    PyObject *status = PyLong_FromLong(one->status);
    PyObject *result = status ? PyObject_CallFunctionObjArgs(one->function, one->stream, status,
                                                             one->argument, NULL)
                              : NULL;
    if (!result)
        PyErr_WriteUnraisable(one->function);
    Py_XDECREF(result);
    Py_XDECREF(status);
    Py_DECREF(one->function);
    Py_DECREF(one->argument);
    Py_DECREF(one->stream);
    if (!one->lost)
        free(one);
}

/* What the thread does. */
PyObject *
pm_callbacks_run(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    struct pm_callbacks *all = state->callbacks;
    struct callback *one;
    pthread_mutex_lock(&all->lock);
    all->n_shares++;
    pthread_mutex_unlock(&all->lock);
    for (;;) {
        Py_BEGIN_ALLOW_THREADS
        one = callbacks_next(all);
        Py_END_ALLOW_THREADS
        if (!one)
            break;
        callbacks_call(state, one);
    }
    pthread_mutex_lock(&all->lock);
    callbacks_unlock_drop(all);
    Py_RETURN_NONE;
}

/* Before the interpreter ends: waits for what is on its way and lets the thread end. */
PyObject *
pm_callbacks_finish(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct pm_state *state = PyModule_GetState(module);
    struct pm_callbacks *all = state->callbacks;
    bool interrupted = false, waiting = all && all->pid == getpid();
    while (waiting && !interrupted) {
        Py_BEGIN_ALLOW_THREADS
        pthread_mutex_lock(&all->lock);
        waiting = all->n_on_way || all->first || all->calling;
        if (waiting)
            callbacks_wait(all, CALLBACK_LOOK_MS);
        pthread_mutex_unlock(&all->lock);
        Py_END_ALLOW_THREADS
        interrupted = PyErr_CheckSignals() < 0;
    }
    if (all && all->pid == getpid()) {
        pthread_mutex_lock(&all->lock);
        all->ending = true;
        pthread_cond_broadcast(&all->change);
        pthread_mutex_unlock(&all->lock);
    }
    return interrupted ? NULL : Py_NewRef(Py_None);
}

void
pm_callbacks_drop(struct pm_state *state)
{
    struct pm_callbacks *all = state->callbacks;
    state->callbacks = NULL;
    if (!all || all->pid != getpid())
        return; /* a child after a fork: the lock may be held by nobody */
    pthread_mutex_lock(&all->lock);
    all->ending = true;
    callbacks_unlock_drop(all);
}

/* The queue of this process, with its thread. */
static bool
callbacks_start(struct pm_state *state)
{
    if (state->callbacks && state->callbacks->pid == getpid())
        return true;
    PyObject *module = PyImport_ImportModule("gpu._streams");
    PyObject *none = NULL;
    if (module && state->callbacks && state->callbacks->pid == getpid()) {
        none = Py_NewRef(Py_None); /* another thread started it while this one imported */
    } else if (module) {
        state->callbacks = callbacks_create(); /* a forked parent's is left alone */
        none = PyObject_CallMethod(module, "start_callbacks", NULL);
        if (!none)
            pm_callbacks_drop(state);
    }
    Py_XDECREF(none);
    Py_XDECREF(module);
    return none != NULL;
}

bool
pm_callback_add(struct pm_state *state, PyObject *stream, struct rt_device *dev, rt_stream handle,
                PyObject *function, PyObject *argument)
{
    if (!callbacks_start(state))
        return false;
    struct pm_callbacks *all = state->callbacks;
    struct callback *one = sp_alloc(sizeof *one);
    *one = (struct callback){.all = all,
                             .dev = dev,
                             .python = pm_on_python(state),
                             .stream = Py_NewRef(stream),
                             .function = Py_NewRef(function),
                             .argument = Py_NewRef(argument)};
    struct sp_diag diag;
    sp_diag_init(&diag);
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&all->lock);
    ok = !all->ending;
    if (ok) {
        one->next = &all->on_way;
        one->previous = all->on_way.previous;
        one->previous->next = one->next->previous = one;
        all->n_on_way++;
        all->n_shares++;
    }
    pthread_mutex_unlock(&all->lock);
    if (!ok) {
        (void)sp_diag_set(&diag, SP_E_STREAM_MISUSE, NULL,
                          "the program is ending, no callback is taken any more");
    } else if (!rt_stream_call(dev, handle, callbacks_post, one, &diag)) {
        ok = false;
        pthread_mutex_lock(&all->lock);
        one->previous->next = one->next;
        one->next->previous = one->previous;
        all->n_on_way--;
        callbacks_unlock_drop(all);
    }
    Py_END_ALLOW_THREADS
    if (ok)
        return true;
    Py_DECREF(one->stream);
    Py_DECREF(one->function);
    Py_DECREF(one->argument);
    free(one);
    return pm_raise(state, &diag);
}
