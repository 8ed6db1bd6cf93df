/* exporter: a library with DLPack's C exchange interface, for launch_host.py: tensors of one
 * dimension in a table that is searched by the object, and a current stream, as cheap as torch's.
 * Built by launch_host.py with the system's compiler. */
#include <stdint.h>
#include <string.h>
#include <time.h>

struct dl_tensor {
    void *data;
    int32_t device_type, device_id, n_dims;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct exporter {
    uint32_t major, minor;
    void *older;
    void (*allocate)(void);
    void (*managed_from_object)(void);
    void (*managed_to_object)(void);
    int (*tensor_from_object)(void *object, struct dl_tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
};

enum { N_TENSORS = 16 };

static struct {
    void *object;
    struct dl_tensor tensor;
    int64_t shape, stride;
} exporter_table[N_TENSORS];
static int exporter_n;

/* CuPy's, for who takes it from its stream module. */
intptr_t
exporter_current_stream(void)
{
    return 0;
}

typedef int (*launch_fn)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                         unsigned by, unsigned bz, unsigned shared_B, void *stream, void **params,
                         void **extra);

/* Nanoseconds per launch by this cuLaunchKernel. */
double
exporter_loop(launch_fn launch, void *function, void **extra, int n)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < n; i++)
        launch(function, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / n;
}

/* float32 elements in the memory of a GPU. */
void
exporter_add(void *object, void *data, int64_t n)
{
    int i = exporter_n++ % N_TENSORS;
    exporter_table[i].object = object;
    exporter_table[i].shape = n;
    exporter_table[i].stride = 1;
    exporter_table[i].tensor = (struct dl_tensor){.data = data,
                                                  .device_type = 2,
                                                  .n_dims = 1,
                                                  .code = 2,
                                                  .bits = 32,
                                                  .lanes = 1,
                                                  .shape = &exporter_table[i].shape,
                                                  .strides = &exporter_table[i].stride};
}

static int
exporter_from_object(void *object, struct dl_tensor *out)
{
    for (int i = 0; i < N_TENSORS; i++)
        if (exporter_table[i].object == object)
            return memcpy(out, &exporter_table[i].tensor, sizeof *out) == NULL;
    return -1;
}

static int
exporter_stream(int32_t device_type, int32_t device_id, void **out)
{
    (void)device_type, (void)device_id;
    *out = NULL;
    return 0;
}

const struct exporter exporter_api = {.major = 1,
                                      .minor = 3,
                                      .tensor_from_object = exporter_from_object,
                                      .current_stream = exporter_stream};
