/* fork: forks wait for compilations. LLVM has locks of its own, for the tables of its passes and
 * in its linker; a child that is forked while another thread holds one could never compile. So
 * os.fork, and all that is made of it, waits until no thread is in the compiler, and those that
 * come meanwhile wait for it.
 *
 * Python's hooks are used and not pthread_atfork, which would need a global. They outlive the
 * module, so they hold it weakly. Both waits end after a while: better a child that may not compile
 * than a program that stands, if something else in the way of the fork waits for us. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "pymod/pm.h"

enum { FORK_WAIT_S = 60, FORK_HOLD_S = 10 };

static void
fork_anew(struct pm_fork *fork)
{
    pthread_mutex_init(&fork->lock, NULL);
    pthread_cond_init(&fork->changed, NULL);
    fork->n_compiling = fork->n_forking = 0;
    fork->pid = getpid();
}

/* The lock, and another one in a child that was forked by C code, without the hooks. */
static void
fork_lock(struct pm_fork *fork)
{
    if (fork->pid != getpid())
        fork_anew(fork);
    pthread_mutex_lock(&fork->lock);
}

static void
fork_wait(struct pm_fork *fork, const uint32_t *count, time_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    while (*count)
        if (pthread_cond_timedwait(&fork->changed, &fork->lock, &until) == ETIMEDOUT)
            return;
}

/* Around the compiler, without the GIL. */
void
pm_fork_hold(struct pm_state *state)
{
    struct pm_fork *fork = &state->fork;
    fork_lock(fork);
    fork_wait(fork, &fork->n_forking, FORK_HOLD_S);
    fork->n_compiling++;
    pthread_mutex_unlock(&fork->lock);
}

void
pm_fork_allow(struct pm_state *state)
{
    struct pm_fork *fork = &state->fork;
    fork_lock(fork);
    if (fork->n_compiling)
        fork->n_compiling--;
    pthread_cond_broadcast(&fork->changed);
    pthread_mutex_unlock(&fork->lock);
}

/* The module of a hook, or NULL if it is gone. */
static PyObject *
fork_module(PyObject *weak)
{
    PyObject *module = PyObject_CallNoArgs(weak);
    if (module && module != Py_None && PyModule_GetState(module))
        return module;
    Py_XDECREF(module);
    PyErr_Clear();
    return NULL;
}

static PyObject *
fork_before(PyObject *weak, PyObject *unused)
{
    PyObject *module = fork_module(weak);
    (void)unused;
    if (module) {
        struct pm_fork *fork = &((struct pm_state *)PyModule_GetState(module))->fork;
        Py_BEGIN_ALLOW_THREADS
        fork_lock(fork);
        fork->n_forking++;
        fork_wait(fork, &fork->n_compiling, FORK_WAIT_S);
        pthread_mutex_unlock(&fork->lock);
        Py_END_ALLOW_THREADS
        Py_DECREF(module);
    }
    Py_RETURN_NONE;
}

static PyObject *
fork_parent(PyObject *weak, PyObject *unused)
{
    PyObject *module = fork_module(weak);
    (void)unused;
    if (module) {
        struct pm_fork *fork = &((struct pm_state *)PyModule_GetState(module))->fork;
        fork_lock(fork);
        if (fork->n_forking)
            fork->n_forking--;
        pthread_cond_broadcast(&fork->changed);
        pthread_mutex_unlock(&fork->lock);
        Py_DECREF(module);
    }
    Py_RETURN_NONE;
}

static PyObject *
fork_child(PyObject *weak, PyObject *unused)
{
    PyObject *module = fork_module(weak);
    (void)unused;
    if (module) {
        fork_anew(&((struct pm_state *)PyModule_GetState(module))->fork);
        Py_DECREF(module);
    }
    Py_RETURN_NONE;
}

static PyMethodDef fork_methods[] = {
    {"before", fork_before, METH_NOARGS, NULL},
    {"after_in_parent", fork_parent, METH_NOARGS, NULL},
    {"after_in_child", fork_child, METH_NOARGS, NULL},
};

bool
pm_fork_init(struct pm_state *state, PyObject *module)
{
    fork_anew(&state->fork);
    PyObject *posix = PyImport_ImportModule("posix");
    PyObject *add = posix ? PyObject_GetAttrString(posix, "register_at_fork") : NULL;
    PyObject *weak = PyWeakref_NewRef(module, NULL);
    PyObject *none = PyTuple_New(0), *hooks = PyDict_New(), *done = NULL;
    bool ok = add && weak && none && hooks;
    for (size_t i = 0; ok && i < sizeof fork_methods / sizeof fork_methods[0]; i++) {
        PyObject *hook = PyCFunction_NewEx(&fork_methods[i], weak, NULL);
        ok = hook && PyDict_SetItemString(hooks, fork_methods[i].ml_name, hook) == 0;
        Py_XDECREF(hook);
    }
    if (ok)
        done = PyObject_Call(add, none, hooks);
    Py_XDECREF(posix);
    Py_XDECREF(add);
    Py_XDECREF(weak);
    Py_XDECREF(none);
    Py_XDECREF(hooks);
    Py_XDECREF(done);
    return done != NULL;
}
