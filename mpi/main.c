/* main.c - cleave-mpi: runs the parts of an exported cut on MPI ranks.
 *
 * A program of its own, so that the command never needs MPI. */
#define _GNU_SOURCE
#include "rank.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const double RANK_TIMEOUT = 30; /* seconds */

/* A rank that waits for others waits longer than it takes to find the one that
 * hangs. */
enum { WAIT_TIMEOUTS = 4 };

static uint32_t main_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* This rank's share of the cores. A launcher that binds ranks to cores has
 * shared them already. */
static uint32_t main_threads(const rank_world *w)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t cores = main_cores();
    if (w->o.threads)
        return (uint32_t)w->o.threads;
    if (online > 0 && cores < (uint32_t)online)
        return cores;
    cores /= (uint32_t)w->here;
    return cores ? cores : 1;
}

static void main_join(rank_world *w)
{
    MPI_Comm near;
    int n;
    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w->ranks);
    if (w->pulse)
        w->pulse->rank = w->rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &near);
    MPI_Comm_size(near, &w->here);
    int *list = calloc((size_t)w->here, sizeof *list);
    if (list) {
        int pid = (int)getpid();
        MPI_Allgather(&pid, 1, MPI_INT, list, 1, MPI_INT, near);
        rank_meet(w->pulse, list, w->here);
    }
    free(list);
    MPI_Comm_free(&near);
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Get_processor_name(name, &n);
    snprintf(w->host, sizeof w->host, "%.255s", name);
    w->threads = main_threads(w);
}

static void main_defaults(rank_world *w)
{
    rank_options *o = &w->o;
    o->micro_batches = o->micro_batches ? o->micro_batches : 1;
    o->repeat = o->repeat ? o->repeat : 1;
    o->timeout = o->timeout > 0 ? o->timeout : RANK_TIMEOUT;
    w->micro = (uint32_t)o->micro_batches;
    w->batches = (uint32_t)(o->repeat + (o->warmup ? o->warmup : 1));
    w->limit = WAIT_TIMEOUTS * o->timeout;
    if (w->pulse)
        w->pulse->timeout = o->timeout;
}

static clv_status main_open(rank_world *w, clv_err *err)
{
    clv_status s = clv_bundle_open(w->o.dir, &w->bundle, err);
    if (s != CLV_OK)
        return s;
    w->plan = clv_bundle_get(w->bundle);
    w->window = w->micro;
    if (w->o.schedule && !strcmp(w->o.schedule, "1f1b") &&
        w->plan->n_parts < w->micro)
        w->window = w->plan->n_parts;
    return CLV_OK;
}

static clv_status main_after(rank_world *w, rank_data *d, rank_stats *stats,
                             clv_err *err)
{
    rank_verdict v = {0};
    clv_status s = rank_gather(w, stats, err), checked = CLV_OK;
    if (w->rank != 0 || s != CLV_OK)
        return s;
    if (w->o.verify)
        checked = rank_verify(w, d, &v, err);
    if (checked == CLV_OK && w->o.output)
        s = rank_data_write(w, d, err);
    clv_err shown = {0};
    if (s == CLV_OK && (checked == CLV_OK || v.done))
        s = rank_show(w, stats, &v, checked == CLV_OK ? err : &shown);
    return checked == CLV_OK ? s : checked;
}

/* Every step ends with all ranks in agreement, or with all of them ending. */
static clv_status main_run(rank_world *w, clv_err *err)
{
    rank_data d = {0};
    rank_stats stats = {0};
    clv_status s = rank_agree(w, main_open(w, err), err);
    if (s == CLV_OK)
        s = rank_agree(w, rank_same(w, err), err);
    if (s == CLV_OK)
        s = rank_agree(w, rank_seats(w, err), err);
    if (s == CLV_OK)
        s = rank_agree(w, w->rank ? CLV_OK : rank_data_read(w, &d, err), err);
    if (s == CLV_OK)
        s = rank_run(w, &d, &stats, err);
    if (s == CLV_OK)
        s = rank_agree(w, main_after(w, &d, &stats, err), err);
    if (w->plan)
        rank_data_free(w, &d);
    free(stats.stage);
    free(stats.least);
    free(stats.slow);
    free(stats.look);
    free(stats.batch);
    free(w->seat);
    free(w->links);
    clv_bundle_free(w->bundle);
    return s;
}

int main(int argc, char **argv)
{
    rank_world w = {0};
    clv_err err = {0};
    setenv("GOMP_SPINCOUNT", "10000", 0); /* ranks share cores */
    /* Open MPI hands three pieces of a large message on at a look, and a rank
     * that computes looks once a step. */
    setenv("OMPI_MCA_pml_ob1_send_pipeline_depth", "64", 0);
    prctl(PR_SET_TIMERSLACK, 1UL);
    clv_status s = rank_options_parse(argc, argv, &w.o, &err);
    if (s == CLV_OK && (w.o.help || w.o.version)) {
        if (w.o.help)
            fputs(rank_help(), stdout);
        else
            puts("cleave-mpi " RANK_VERSION);
        return 0;
    }
    char **words = argv;
    w.pulse = s == CLV_OK ? rank_mind(argc, words) : NULL;
    MPI_Init(&argc, &argv);
    main_join(&w);
    main_defaults(&w);
    if (s != CLV_OK) /* once, however many ranks there are */
        s = rank_agree(&w, s, &err);
    else
        s = main_run(&w, &err);
    if (w.pulse)
        w.pulse->state = RANK_IN_MPI;
    rank_leave(clv_status_exit(s));
    return clv_status_exit(s);
}
