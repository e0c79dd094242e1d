/* ort_peer.c - ONNX Runtime alone, timed: the other side of
 * bench/population.py.
 *
 *     ort_peer LIBRARY FILE.onnx INPUTS.npz THREADS REPEAT
 *
 * A program without Python, so that start and peak memory are those of ONNX
 * Runtime. LIBRARY may be "". Makes a session, runs once, once more to warm up
 * and then REPEAT times, unless that is 0, and prints JSON: seconds of the
 * median run and until the first result, bytes of the largest resident set. */
#include "backend/ort/api.h"
#include "cleave.h"
#include "formats/onnx/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, WARMUP = 1 };

typedef struct peer {
    ort_api api;
    ort_session *session;
    char *in_names[MOST], *out_names[MOST];
    ort_value *in[MOST];
    size_t n_in, n_out;
} peer;

static void peer_quit(const clv_err *e)
{
    fprintf(stderr, "%s\n", e->msg);
    exit(1);
}

static void peer_check(const peer *p, ort_status *s)
{
    clv_err e = {0};
    if (ort_check(&p->api, s, &e) != CLV_OK)
        peer_quit(&e);
}

static void peer_open(peer *p, const char *file, int threads)
{
    ort_env *env;
    ort_options *o;
    ort_allocator *a;
    peer_check(p, p->api.CreateEnv(ORT_LOG_ERROR, "peer", &env));
    peer_check(p, p->api.CreateSessionOptions(&o));
    peer_check(p, p->api.SetIntraOpNumThreads(o, threads));
    peer_check(p, p->api.CreateSession(env, file, o, &p->session));
    peer_check(p, p->api.GetAllocatorWithDefaultOptions(&a));
    peer_check(p, p->api.SessionGetInputCount(p->session, &p->n_in));
    peer_check(p, p->api.SessionGetOutputCount(p->session, &p->n_out));
    if (p->n_in > MOST || p->n_out > MOST) {
        fprintf(stderr, "more than %d inputs or outputs\n", MOST);
        exit(1);
    }
    for (size_t i = 0; i < p->n_in; i++)
        peer_check(
            p, p->api.SessionGetInputName(p->session, i, a, &p->in_names[i]));
    for (size_t i = 0; i < p->n_out; i++)
        peer_check(
            p, p->api.SessionGetOutputName(p->session, i, a, &p->out_names[i]));
}

static void peer_read(peer *p, const char *npz)
{
    ort_memory *memory;
    clv_err e = {0};
    peer_check(p, p->api.CreateCpuMemoryInfo(ORT_ARENA_ALLOCATOR,
                                             ORT_MEMORY_DEFAULT, &memory));
    for (size_t i = 0; i < p->n_in; i++) {
        clv_tensor t;
        if (clv_tensor_read(npz, p->in_names[i], &t, &e) != CLV_OK)
            peer_quit(&e);
        peer_check(p, p->api.CreateTensorWithDataAsOrtValue(
                          memory, t.data, (size_t)clv_tensor_bytes(&t), t.dims,
                          t.rank, onnx_dtype_number(t.dtype), &p->in[i]));
    }
}

/* Returns the seconds that one run takes. */
static double peer_run(const peer *p)
{
    ort_value *out[MOST] = {NULL};
    double from = clv__now();
    peer_check(p, p->api.Run(p->session, NULL, (const char *const *)p->in_names,
                             (const ort_value *const *)p->in, p->n_in,
                             (const char *const *)p->out_names, p->n_out, out));
    double seconds = clv__now() - from;
    for (size_t i = 0; i < p->n_out; i++)
        if (out[i])
            p->api.ReleaseValue(out[i]);
    return seconds;
}

static int peer_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest resident set of this process, in bytes. What getrusage says may
 * be the parent's. */
static long long peer_peak(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[200];
    long long kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb * 1024;
}

int main(int argc, char **argv)
{
    static peer p;
    clv_err e = {0};
    if (argc != 6) { /* one of all benchmarks */
        printf("ort_peer: run by bench/population.py\n");
        return argc == 1 ? 0 : 2;
    }
    int repeat = atoi(argv[5]);
    if (ort_load(argv[1], &p.api, &e) != CLV_OK)
        peer_quit(&e);
    double from = clv__now();
    peer_open(&p, argv[2], atoi(argv[4]));
    peer_read(&p, argv[3]);
    double first = (peer_run(&p), clv__now() - from);
    double *seconds = calloc((size_t)repeat + 1, sizeof *seconds);
    if (!seconds)
        return 1;
    for (int i = 0; repeat && i < WARMUP; i++)
        peer_run(&p);
    for (int i = 0; i < repeat; i++)
        seconds[i] = peer_run(&p);
    qsort(seconds, (size_t)repeat, sizeof *seconds, peer_compare);
    printf("{\"median\": %.9f, \"first\": %.9f, \"peak\": %lld}\n",
           repeat ? seconds[repeat / 2] : first, first, peer_peak());
    free(seconds);
    return 0;
}
