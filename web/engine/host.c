/* host.c - what the command has from its system and the page has not: threads,
 * other programs, signals. Loops run on the one thread there is; what needs
 * another program says that it is not in the page. */
#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "cli.h"
#include "export.h"
#include "core/limits.h"
#include "core/parallel.h"

#include <errno.h>

/* -- core/parallel.h ------------------------------------------------------*/

void clv__parallel(uint32_t threads, int64_t n, int64_t grain, parallel_fn *fn,
                   void *ctx)
{
    int64_t each = clv__budget.deadline > 0 && grain > 0 ? grain : n;
    (void)threads;
    for (int64_t from = 0; from < n && !clv__late(); from += each)
        fn(ctx, from, n - from < each ? n : from + each);
}

void clv__parallel_use(parallel_team *team)
{
    (void)team;
}

uint32_t clv__processors(void)
{
    return 1;
}

/* -- backends -------------------------------------------------------------*/

static clv_status host_no_command(clv_backend *b, const char *argument,
                                  clv_err *e)
{
    (void)argument;
    return clv__fail(e, CLV_UNSUPPORTED,
                     "backend '%s' starts a program, which a page cannot",
                     b->type->name);
}

const clv_backend_type clv__command_type = {
    .name = "command",
    .about = "asks a program of yours; not in the page",
    .argument = CLV_ARGUMENT_MUST,
    .open = host_no_command,
};

/* -- commands -------------------------------------------------------------*/

static clv_status host_not_here(const char *what, clv_err *err)
{
    return fail(err, CLV_UNSUPPORTED, "%s is not part of the page", what);
}

clv_status cmd_run(const options *o, clv_err *err)
{
    (void)o;
    return host_not_here("'cleave run'", err);
}

clv_status fleet_run(const options *o, clv_err *err)
{
    (void)o;
    return host_not_here("--json-lines", err);
}

clv_status graphviz(const clv_buf *dot, const char *format, clv_buf *out,
                    clv_err *err)
{
    (void)dot, (void)format, (void)out;
    return host_not_here("drawing by graphviz", err);
}

clv_status sandbox_enter(const options *o, clv_err *err)
{
    (void)o, (void)err; /* the page is one already */
    return CLV_OK;
}

/* -- limits: those that the options name ----------------------------------*/

clv_status limits_begin(const options *o, clv_err *err)
{
    clv_limits l = {.size = sizeof l,
                    .max_nodes = o->max_nodes,
                    .max_seconds = o->max_seconds};
    if (o->max_memory && !parse_quantity(o->max_memory, &l.max_memory))
        return fail(err, CLV_USAGE,
                    "--max-memory takes bytes such as 4GB, not '%s'",
                    o->max_memory);
    return clv_limits_set(&l, err);
}

void limits_end(void)
{
    (void)!clv_limits_set(NULL, NULL);
}

void tame_openmp(void)
{
}

clv_status clv_device_measure(const clv_measure_opts *opts, clv_device **out,
                              clv_err *err)
{
    (void)opts;
    *out = NULL;
    return host_not_here("measuring this machine", err);
}

/* -- backend/cpu: no kernels, as nothing runs -----------------------------*/

static cpu_fn *const no_kernels[CLV_OP_COUNT];
static cpu_ready_fn *const no_readiers[CLV_OP_COUNT];
const cpu_level clv__cpu_level_base = {.kernels = no_kernels,
                                       .readiers = no_readiers};
