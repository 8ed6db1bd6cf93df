/* Forks and the compiler: fork.c. */
#ifndef PM_PM_FORK_H
#define PM_PM_FORK_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pm_state;

struct pm_fork {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t n_compiling, n_forking; /* threads in the compiler, and those about to fork */
    pid_t pid;                       /* whose lock it is */
};

bool pm_fork_init(struct pm_state *state, PyObject *module);
/* Between them nobody forks; called without the GIL. */
void pm_fork_hold(struct pm_state *state);
void pm_fork_allow(struct pm_state *state);

#endif
