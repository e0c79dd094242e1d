/* limits.c - what the command may take, and how it ends when it is told to.
 *
 * The library keeps the limits (cleave/service.h) and says which was reached.
 * It looks at the time between nodes only, so an alarm of our own ends what
 * does not end by itself soon after. */
#include "cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <unistd.h>

enum { GRACE_MS = 500 }; /* for the library to end by itself */

/* What running a file may take when nobody asks for more: with the program
 * itself and the pages of the file, 100 MB and twenty times the file; or three
 * times what its shapes add up to before anything runs, as weights may be kept
 * in a second form, but no more than RUN_MEMORY_MOST and a quarter of the
 * machine's memory. */
enum { RUN_MEMORY = 80 << 20, RUN_MEMORY_PER_BYTE = 18 };
static const int64_t RUN_MEMORY_MOST = INT64_C(2) << 30;

static char late[128]; /* what the alarm says; "": there is none */

static void on_alarm(int number)
{
    (void)number;
    clv_cleanup();
    (void)!write(STDERR_FILENO, late, strlen(late));
    _exit(clv_status_exit(CLV_EXCEEDED));
}

static void on_end(int number)
{
    clv_cleanup();
    signal(number, SIG_DFL);
    raise(number);
}

void clean_on_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a, before;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_end;
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* as nohup asks */
            sigaction(numbers[i], &a, NULL);
}

/* A number of threads is kept if it is one: digits, at most four. */
static void keep_count(const char *variable)
{
    const char *s = getenv(variable);
    size_t n = s ? strspn(s, "0123456789") : 0;
    if (s && (n == 0 || n > 4 || s[n] || s[0] == '0'))
        unsetenv(variable);
}

void tame_openmp(void)
{
    static const char *const harmful[] = {
        "OMP_STACKSIZE",        "GOMP_STACKSIZE", "OMP_DYNAMIC",
        "OMP_DISPLAY_ENV",      "GOMP_DEBUG",     "OMP_NESTED",
        "OMP_DISPLAY_AFFINITY",
    };
    for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
        unsetenv(harmful[i]);
    keep_count("OMP_NUM_THREADS");
    keep_count("OMP_THREAD_LIMIT");
}

/* A quarter of what the machine has; 0 when it does not say. */
static int64_t quarter_of_memory(void)
{
    struct sysinfo s;
    return sysinfo(&s) == 0 ? (int64_t)s.totalram / 4 * s.mem_unit : 0;
}

/* Is a model run at the sizes that its file says? Sizes, data and weights on
 * the command line are the user's, and may take what there is. */
static bool runs_a_file(const options *o)
{
    struct stat st;
    return o->cmd->run == cmd_run && !o->session->out && !o->batch.n &&
           !o->input_shape.n && !o->dim.n && !o->input.n && !o->weights &&
           o->args.n > 0 && stat(o->args.items[0], &st) == 0;
}

/* Whether all values together take less than the limit that there is. */
static bool is_small(const clv_graph *g)
{
    double bytes = 0;
    for (uint32_t v = 0; v < clv_graph_num_values(g); v++) {
        clv_value_info value = clv_graph_value(g, v);
        double n = (double)clv_dtype_bytes(value.dtype, 1);
        for (uint32_t i = 0; value.rank != CLV_NONE && i < value.rank; i++)
            n *= (double)value.dims[i];
        bytes += n;
    }
    return bytes < RUN_MEMORY / 2;
}

/* Bytes of the weights, and of the most activations that are alive at once; 0
 * when that cannot be told. */
static int64_t bytes_of_run(const clv_graph *g)
{
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_memory *m = NULL;
    int64_t bytes = 0;
    if (clv_profile_new(g, NULL, &p, NULL) == CLV_OK &&
        clv_cut_op(p, &c, NULL) == CLV_OK &&
        clv_memory_new(c, NULL, &m, NULL) == CLV_OK)
        bytes = clv_memory_get(m)->total;
    clv_memory_free(m);
    clv_cut_free(c);
    clv_profile_free(p);
    return bytes;
}

void limits_for_run(const options *o, const clv_graph *g)
{
    int64_t most = quarter_of_memory(), bytes;
    if (o->max_memory || !runs_a_file(o) || is_small(g))
        return;
    if (most > RUN_MEMORY_MOST)
        most = RUN_MEMORY_MOST;
    bytes = bytes_of_run(g);
    if (bytes <= most) /* what is larger is refused at once */
        clv_limits_raise(bytes < most / 3 ? 3 * bytes : most);
}

static void start_alarm(double seconds)
{
    snprintf(late, sizeof late,
             "cleave: not done after %lld ms, which is the limit; "
             "--max-seconds sets it\n",
             (long long)(seconds * 1e3));
    int64_t us = (int64_t)(seconds * 1e6) + GRACE_MS * 1000;
    struct itimerval t = {
        .it_value = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &t, NULL);
}

clv_status limits_begin(const options *o, clv_err *err)
{
    const double most = 1e8; /* seconds: three years */
    clv_limits l = {.size = sizeof l, .max_nodes = o->max_nodes};
    if (!o->max_memory && runs_a_file(o)) {
        l.max_memory = RUN_MEMORY;
        l.memory_per_byte = RUN_MEMORY_PER_BYTE;
    } else if (!o->max_memory) {
        l.max_memory = 3 * quarter_of_memory();
    } else if (!parse_quantity(o->max_memory, &l.max_memory)) {
        return fail(err, CLV_USAGE,
                    "--max-memory takes bytes such as 4GB, not "
                    "'%s'",
                    o->max_memory);
    } else {
        l.max_growth = l.max_memory;
    }
    if (o->max_seconds > 0)
        l.max_trips = INT64_MAX; /* the time ends it */
    l.max_seconds = o->max_seconds < most ? o->max_seconds : most;
    if (l.max_seconds > 0 && !o->session->out)
        start_alarm(l.max_seconds);
    return clv_limits_set(&l, err);
}

void limits_end(void)
{
    (void)!clv_limits_set(NULL, NULL);
    if (!*late)
        return;
    *late = '\0';
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}
