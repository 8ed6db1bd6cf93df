/* Private to the files that make a launch of a call: call.c, staging.c, bound.c. */
#ifndef PM_CALL_T_H
#define PM_CALL_T_H

#include "pymod/pm.h"

struct call {
    struct pm_launcher *launcher;
    struct pm_taking taking;
    rt_stream stream; /* of the launch */
    uint32_t n_args;  /* with the elements of tuples */
    uint32_t room;
    bool python;  /* on the python device */
    bool foreign; /* some array is not ours */
    bool odd;     /* some array is read-only or not contiguous */
    bool abroad;  /* some array is of another device */
    struct pm_arg *args;
    struct ir_argtype *types;
    PyObject *kept; /* a list of values that only this call refers to, or NULL */
    struct pm_arg few_args[PM_N_INLINE_ARGS];
    struct ir_argtype few_types[PM_N_INLINE_ARGS];
};

/* The place and the reading that hold now; the latter with a share of the caller's own. */
struct begun {
    struct pm_reading *reading;
    const struct pm_place *place;
    bool is_here; /* pm_place_look */
};
bool pm_call_begin(struct pm_kernel *kernel, struct begun *begun_out);
void pm_call_init(struct call *call, struct pm_launcher *launcher, const struct begun *begun);
void pm_call_finish(struct call *call);
/* Classifies the values, which are in the order of the parameters. */
bool pm_call_take(struct call *call, PyObject *const *values);
/* The compiled kernel for them; NULL also if it writes what cannot be written. */
struct pm_entry *pm_call_entry(struct call *call);
void pm_call_pack(const struct artifact *artifact, const struct pm_arg *args, unsigned char *area);
/* Launches with the packed parameters, which the runtime completes. `is_here`: the device was seen
 * to be the thread's. */
bool pm_call_launch(struct pm_launcher *self, struct rt_device *dev, struct pm_entry *entry,
                    rt_stream stream, bool is_here, void *area);
bool pm_call_start(struct call *call, struct pm_entry *entry);
/* The same where some arrays are not ours. */
bool pm_call_start_foreign(struct call *call, struct pm_entry *entry);
/* All of it. */
bool pm_call_values(struct pm_launcher *launcher, const struct begun *begun,
                    PyObject *const *values);
/* Fails for a host array in a launch that becomes part of a graph, whose replays copy nothing. */
bool pm_call_check_graph(const struct call *call, uint32_t i);
bool pm_call_fail(const struct call *call, uint32_t i, const char *reason);

static inline bool
call_is_written(const struct artifact *artifact, uint32_t i)
{
    return artifact->written >> (i < 63 ? i : 63) & 1;
}

#endif
