/* The floor of a barrier on the CPU device: what it costs to go from thread to thread when nobody
 * looks where they wait. Frames as LLVM lays them out (a pointer to the code that goes on, the
 * mailbox, a counter) are resumed in turn through their pointers, by a call that compilers cannot
 * see through. Prints nanoseconds per resumption for as many frames as the argument says. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct frame {
    void (*go_on)(struct frame *frame);
    uint32_t *mailbox;
    int64_t left;
    char rest[40]; /* up to the 64 bytes that frames are apart */
};

static void
body(struct frame *frame)
{
    *frame->mailbox = --frame->left ? 1 : 0;
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
    enum { ROUNDS = 2000 };
    int n = argc > 1 ? atoi(argv[1]) : 256;
    struct frame *frames = aligned_alloc(64, (size_t)n * sizeof *frames);
    uint32_t *mailboxes = calloc((size_t)n * 12, sizeof *mailboxes);
    double best = 1e30;
    for (int time = 0; time < 20; time++) {
        for (int i = 0; i < n; i++)
            frames[i] = (struct frame){body, &mailboxes[i * 12], ROUNDS + 1, {0}};
        double start = now();
        for (int round = 0; round < ROUNDS; round++)
            for (int i = 0; i < n; i++)
                ((void (*volatile *)(struct frame *))&frames[i].go_on)[0](&frames[i]);
        double each = (now() - start) / ROUNDS / n;
        best = each < best ? each : best;
    }
    printf("%.2f\n", best);
    free(frames);
    free(mailboxes);
    return 0;
}
