/* measure.c - this machine as a device: what its figures are when measured.
 *
 *   peak        a large square product per type, by the backend
 *   bandwidth   threads that copy, each its own block; the blocks together
 *               fill half of a cache, or four times the last one (memory).
 *               A byte copied counts twice: read and written
 *   launch      a product so small that starting it is all there is
 *
 * Every figure is the best of several tries: noise only makes things slower. */
#include "analysis/device.h"
#include "run/run.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_SIDE = 2048, N_TINY = 2, TRIES = 5, MOST_THREADS = 1024 };

typedef struct job {
    const clv_measure_opts *o;
    clv_device *d;
    arena *mem;
    uint32_t threads, done, total;
    clv_err *e;
} job;

static const struct {
    clv_dtype type;
    size_t figure; /* in clv_device */
} peaks[] = {
    {CLV_FLOAT32, offsetof(clv_device, fp32)},
    {CLV_FLOAT16, offsetof(clv_device, fp16)},
    {CLV_BFLOAT16, offsetof(clv_device, bf16)},
    {CLV_INT8, offsetof(clv_device, int8)},
};

static const struct {
    const char *what;
    bool each;  /* every core has one */
    long usual; /* bytes, where the system does not say; 0: no cache */
    size_t figure;
} levels[] = {
    {"L1", true, 32L << 10, offsetof(clv_device, bandwidth_l1)},
    {"L2", true, 512L << 10, offsetof(clv_device, bandwidth_l2)},
    {"L3", false, 8L << 20, offsetof(clv_device, bandwidth_l3)},
    {"memory", false, 0, offsetof(clv_device, bandwidth)},
};

enum {
    N_PEAKS = sizeof peaks / sizeof *peaks,
    N_LEVELS = sizeof levels / sizeof *levels,
};

static clv_figure *figure(const job *j, size_t offset)
{
    return (clv_figure *)((char *)j->d + offset);
}

static void tell(job *j, const char *what)
{
    if (j->o->progress)
        j->o->progress(j->o->ctx, what, j->done, j->total);
    j->done++;
}

static clv_status measure_put(job *j, clv_figure *f, double value,
                              const char *source)
{
    *f = (clv_figure){value, source};
    return source ? CLV_OK : clv__nomem(j->e);
}

/* -- products -------------------------------------------------------------*/

static clv_status seconds_of(const job *j, clv_dtype t, int64_t n,
                             double *seconds)
{
    return j->o->backend->type->product(j->o->backend, t, n, j->threads,
                                        seconds, j->e);
}

/* A type the processor has no fast way for is left out. */
static clv_status measure_peak(job *j, clv_dtype t, clv_figure *f)
{
    double seconds = 0;
    tell(j, clv_dtype_name(t));
    clv_status s = seconds_of(j, t, N_SIDE, &seconds);
    if (s == CLV_UNSUPPORTED) {
        clv__err_clear(j->e);
        return CLV_OK;
    }
    CLV_TRY(s);
    return measure_put(
        j, f, 2.0 * N_SIDE * N_SIDE * N_SIDE / seconds,
        arena_printf(j->mem, "measured: %s product of side %d, %u threads",
                     j->o->backend->name, N_SIDE, j->threads));
}

static clv_status measure_launch(job *j)
{
    double seconds = 0;
    tell(j, "launch");
    CLV_TRY(seconds_of(j, CLV_FLOAT32, N_TINY, &seconds));
    return measure_put(
        j, &j->d->launch, seconds,
        arena_printf(j->mem, "measured: %s product of side %d, %u threads",
                     j->o->backend->name, N_TINY, j->threads));
}

/* -- copies ---------------------------------------------------------------*/

/* All start together: the last to be ready opens the gate. */
typedef struct gate {
    atomic_uint ready;
    atomic_int open; /* negative: go home */
} gate;

typedef struct copier {
    char *to, *from;
    size_t bytes;
    int64_t rounds;
    gate *gate;
    double began, ended;
} copier;

static void *copy(void *arg)
{
    copier *c = arg;
    memset(c->from, 1, c->bytes); /* touched by the thread that uses it */
    memset(c->to, 1, c->bytes);
    atomic_fetch_add(&c->gate->ready, 1);
    while (!atomic_load(&c->gate->open))
        sched_yield();
    c->began = clv__now();
    for (int64_t i = 0; i < c->rounds && atomic_load(&c->gate->open) > 0; i++) {
        memcpy(c->to, c->from, c->bytes);
        __asm__ volatile("" ::: "memory"); /* each copy is made */
    }
    c->ended = clv__now();
    return NULL;
}

/* Seconds from the first that begins to the last that ends; negative when not
 * all threads could be made. */
static double copy_together(copier *c, uint32_t n)
{
    pthread_t id[MOST_THREADS];
    gate g = {0};
    double first = 0, last = 0;
    uint32_t made = 0;
    for (; made < n; made++) {
        c[made].gate = &g;
        if (pthread_create(&id[made], NULL, copy, &c[made]) != 0)
            break;
    }
    while (atomic_load(&g.ready) < made)
        sched_yield();
    atomic_store(&g.open, made == n ? 1 : -1);
    for (uint32_t i = 0; i < made; i++) {
        pthread_join(id[i], NULL);
        first = i == 0 || c[i].began < first ? c[i].began : first;
        last = c[i].ended > last ? c[i].ended : last;
    }
    return made == n ? last - first : -1;
}

/* Bytes read and written per second by blocks that take `bytes` in all. */
static clv_status copy_rate(const job *j, int64_t bytes, double *rate)
{
    uint32_t n = j->threads;
    size_t each = (size_t)(bytes / n / 2) / 64 * 64 + 64;
    double moved = 2.0 * (double)each * n;
    int64_t rounds = (int64_t)(4e9 / moved) + 2;
    char *block = clv__alloc((2 * each + 4096) * n);
    copier *c = clv__zalloc(n * sizeof *c);
    clv_status s = block && c ? CLV_OK : clv__nomem(j->e);
    *rate = 0;
    for (uint32_t i = 0; i < n && s == CLV_OK; i++) {
        char *own = block + (2 * each + 4096) * i;
        c[i] = (copier){own, own + each + 2048, each, rounds, NULL, 0, 0};
    }
    for (int t = 0; t < TRIES && s == CLV_OK; t++) {
        double seconds = copy_together(c, n);
        if (seconds < 0)
            s = clv__fail(j->e, CLV_LIMIT, "%u threads cannot be started", n);
        else if (moved * (double)rounds / seconds > *rate)
            *rate = moved * (double)rounds / seconds;
    }
    clv__free(block);
    clv__free(c);
    return s;
}

/* What Linux says of the first core's caches: `what` of the index-th. */
static bool cache_says(int index, const char *what, char *text, int size)
{
    char path[80];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s",
             index, what);
    FILE *f = fopen(path, "r");
    bool ok = f && fgets(text, size, f);
    if (f)
        fclose(f);
    return ok;
}

/* Bytes of cache level i, of all cores. */
static int64_t level_bytes(const job *j, int i)
{
    int64_t own = levels[i].usual;
    char text[64];
    long kb;
    for (int k = 0; cache_says(k, "level", text, sizeof text); k++)
        if (text[0] == '1' + i && cache_says(k, "type", text, sizeof text) &&
            text[0] != 'I' && cache_says(k, "size", text, sizeof text) &&
            sscanf(text, "%ldK", &kb) == 1 && kb > 0 && kb < 1L << 32)
            own = (int64_t)kb * 1024;
    return levels[i].each ? own * j->threads : own;
}

/* How much is copied to measure level i. */
static int64_t level_span(const job *j, int i)
{
    if (levels[i].usual)
        return level_bytes(j, i) / 2;
    int64_t past = 4 * level_bytes(j, N_LEVELS - 2), most = 1LL << 29;
    return past < most ? past : most;
}

static clv_status measure_copies(job *j)
{
    for (int i = 0; i < N_LEVELS; i++) {
        int64_t span = level_span(j, i);
        double rate;
        tell(j, levels[i].what);
        CLV_TRY(copy_rate(j, span, &rate));
        CLV_TRY(measure_put(
            j, figure(j, levels[i].figure), rate,
            arena_printf(j->mem, "measured: %u threads copy within %lld KiB",
                         j->threads, (long long)span / 1024)));
    }
    return CLV_OK;
}

/* -- the device -----------------------------------------------------------*/

/* "AMD EPYC", of /proc/cpuinfo. */
static const char *processor(arena *mem)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256], name[200] = "this machine";
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %199[^\n]", name) == 1)
            break;
    if (f)
        fclose(f);
    return arena_printf(mem, "%s", name);
}

static clv_status describe(job *j)
{
    clv_device *d = j->d;
    time_t t = time(NULL);
    struct tm day;
    d->name = "host";
    d->title = processor(j->mem);
    d->kind = CLV_DEVICE_CPU;
    d->year = gmtime_r(&t, &day) ? day.tm_year + 1900 : 0;
    d->units = (clv_figure){j->threads, "threads it was measured with"};
    d->l2 = (clv_figure){(double)level_bytes(j, N_LEVELS - 2),
                         "what Linux says of the third-level cache"};
    d->memory = (clv_figure){(double)sysconf(_SC_PHYS_PAGES) *
                                 (double)sysconf(_SC_PAGESIZE),
                             "sysconf, physical pages"};
    return d->title ? CLV_OK : clv__nomem(j->e);
}

static clv_status measure(job *j)
{
    CLV_TRY(describe(j));
    for (int i = 0; i < N_PEAKS; i++)
        CLV_TRY(measure_peak(j, peaks[i].type, figure(j, peaks[i].figure)));
    CLV_TRY(measure_launch(j));
    return measure_copies(j);
}

clv_status clv_device_measure(const clv_measure_opts *opts, clv_device **out,
                              clv_err *err)
{
    clv_measure_opts own_opts, *o = &own_opts;
    CLV_BEGIN(out, err);
    CLV_READ(clv_measure_opts, opts, o, err);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t threads = o->threads  ? o->threads
                       : cores > 0 ? (uint32_t)cores
                                   : 1;
    if (!o->backend || !o->backend->type->product)
        return clv__fail(err, CLV_USAGE,
                         "a machine is measured through a backend that "
                         "multiplies: onednn");
    if (threads > MOST_THREADS)
        return clv__fail(err, CLV_USAGE, "at most %d threads", MOST_THREADS);
    own_device *own = clv__zalloc(sizeof *own);
    if (!own)
        return clv__nomem(err);
    job j = {o, &own->device,           &own->mem, threads,
             0, N_PEAKS + N_LEVELS + 1, err};
    clv_status s = measure(&j);
    if (s == CLV_OK)
        *out = &own->device;
    else
        clv_device_free(&own->device);
    return s;
}
