/* parallel.c - the threads of the process, and loops over them.
 *
 * Workers are started when a loop first wants them and then stay. Between loops
 * they look out for the next one for some microseconds, as the next kernel is
 * often close behind, and then sleep. A loop is open while it has items left;
 * a worker joins it under the lock, so one that wakes late finds it closed.
 *
 * Where another library brings threads that also wait for work by looking out
 * for it, loops run on those (clv__parallel_use). */
#define _GNU_SOURCE
#include "core/parallel.h"

#include "core/limits.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    MOST_WORKERS = 255,
    LOOKS = 4000,      /* of a worker for the next loop before it sleeps */
    RANGES_EACH = 4,   /* per thread: what is uneven evens out */
    RANGES_TIMED = 64, /* the same under a deadline */
    STACK = 512 * 1024 /* bytes of a worker's */
};

static struct {
    pthread_mutex_t used; /* held by the thread whose loop it is */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    uint32_t workers, wanted, joined;
    bool open;
    parallel_fn *fn;
    void *ctx;
    int64_t n, each;
    double deadline;             /* of the caller; 0: none */
    atomic_uint number;          /* of loops so far */
    atomic_uint left;            /* workers that joined and are done */
    atomic_llong next;           /* item */
    parallel_team *_Atomic team; /* of another library, or NULL */
} pool = {.used = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER};

static void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Takes ranges until none is left, or the time is up. */
static void parallel_work(void)
{
    while (!clv__late()) {
        int64_t from = atomic_fetch_add(&pool.next, pool.each);
        if (from >= pool.n)
            return;
        int64_t to = from + pool.each;
        pool.fn(pool.ctx, from, to < pool.n ? to : pool.n);
    }
}

static void parallel_join(void *unused)
{
    (void)unused;
    if (clv__budget.deadline != pool.deadline) /* not the caller's thread */
        clv__budget = (thread_budget){.deadline = pool.deadline};
    parallel_work();
}

void clv__parallel_use(parallel_team *team)
{
    atomic_store(&pool.team, team);
}

static void *parallel_worker(void *unused)
{
    unsigned seen = 0;
    (void)unused;
    for (;;) {
        for (int i = 0; i < LOOKS && atomic_load(&pool.number) == seen; i++)
            pause_a_moment();
        pthread_mutex_lock(&pool.lock);
        while (atomic_load(&pool.number) == seen)
            pthread_cond_wait(&pool.wake, &pool.lock);
        seen = atomic_load(&pool.number);
        bool join = pool.open && pool.joined < pool.wanted;
        pool.joined += join;
        clv__budget = (thread_budget){.deadline = pool.deadline};
        pthread_mutex_unlock(&pool.lock);
        if (join) {
            parallel_work();
            atomic_fetch_add(&pool.left, 1);
        }
    }
    return NULL;
}

/* A child process has none of its parent's threads. */
static void parallel_forked(void)
{
    pool.used = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.workers = 0;
    pool.open = false;
}

static void parallel_watch_forks(void)
{
    pthread_atfork(NULL, NULL, parallel_forked);
}

/* As many workers as a loop wants, or as the system gives. */
static void parallel_hire(uint32_t wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_attr_t attr;
    pthread_t thread;
    if (pool.workers >= wanted)
        return;
    pthread_once(&once, parallel_watch_forks);
    if (pthread_attr_init(&attr))
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    while (pool.workers < wanted &&
           !pthread_create(&thread, &attr, parallel_worker, NULL))
        pool.workers++;
    pthread_attr_destroy(&attr);
}

/* Does it all on this thread; under a deadline piece by piece. */
static void parallel_alone(int64_t n, int64_t grain, parallel_fn *fn, void *ctx)
{
    int64_t each = clv__budget.deadline > 0 ? n / RANGES_TIMED : n;
    if (each < grain)
        each = grain;
    if (each < 1)
        each = 1;
    for (int64_t from = 0; from < n && !clv__late(); from += each)
        fn(ctx, from, from + each < n ? from + each : n);
}

void clv__parallel(uint32_t threads, int64_t n, int64_t grain, parallel_fn *fn,
                   void *ctx)
{
    int64_t ranges = grain > 0 ? n / grain : n;
    if (n <= 0)
        return;
    if (threads > MOST_WORKERS)
        threads = MOST_WORKERS;
    if (threads > ranges)
        threads = (uint32_t)ranges;
    if (threads < 2 || pthread_mutex_trylock(&pool.used)) {
        parallel_alone(n, grain, fn, ctx);
        return;
    }
    int64_t most = threads * (int64_t)(clv__budget.deadline > 0 ? RANGES_TIMED
                                                                : RANGES_EACH);
    if (ranges > most)
        ranges = most;
    parallel_team *team = atomic_load(&pool.team);
    if (!team)
        parallel_hire(threads - 1);
    pthread_mutex_lock(&pool.lock);
    pool.fn = fn;
    pool.ctx = ctx;
    pool.n = n;
    pool.each = (n + ranges - 1) / ranges;
    pool.deadline = clv__budget.deadline;
    pool.wanted = threads - 1;
    pool.joined = 0;
    pool.open = true;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.left, 0);
    if (team) {
        pool.open = false;
        pthread_mutex_unlock(&pool.lock);
        team(threads, parallel_join, NULL);
        pthread_mutex_unlock(&pool.used);
        return;
    }
    atomic_fetch_add(&pool.number, 1);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    parallel_work();
    pthread_mutex_lock(&pool.lock);
    pool.open = false;
    uint32_t joined = pool.joined;
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; atomic_load(&pool.left) < joined; i++)
        if (i < LOOKS)
            pause_a_moment();
        else
            sched_yield();
    pthread_mutex_unlock(&pool.used);
}

/* -- how many -------------------------------------------------------------*/

/* Processors that the quota of the control group is worth; 0: no quota. */
static uint32_t quota_processors(void)
{
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    long long quota, period;
    uint32_t n = 0;
    if (f && fscanf(f, "%lld %lld", &quota, &period) == 2 && quota > 0 &&
        period > 0 && quota / period < MOST_WORKERS)
        n = (uint32_t)((quota + period - 1) / period);
    if (f)
        fclose(f);
    return n;
}

uint32_t clv__processors(void)
{
    cpu_set_t set;
    uint32_t n = 1, quota = quota_processors();
    if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0)
        n = (uint32_t)CPU_COUNT(&set);
    return quota && quota < n ? quota : n;
}
