/* measure.c - how fast the links are, and what all ranks measured, together. */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

enum { PINGS = 5 };

static void measure_one_way(rank_world *w, bool send, int other, char *data,
                            int bytes)
{
    MPI_Request req;
    if (send)
        MPI_Isend(data, bytes, MPI_BYTE, other, RANK_TAG_PING, MPI_COMM_WORLD,
                  &req);
    else
        MPI_Irecv(data, bytes, MPI_BYTE, other, RANK_TAG_PING, MPI_COMM_WORLD,
                  &req);
    rank_wait(w, &req, "a message that measures a link");
}

/* Half of the fastest way there and back. */
static double measure_link(rank_world *w, bool begins, int other, char *data,
                           int bytes)
{
    double best = 0;
    for (int i = 0; i <= PINGS; i++) { /* the first is not counted */
        double before = rank_now();
        measure_one_way(w, begins, other, data, bytes);
        measure_one_way(w, !begins, other, data, bytes);
        double t = (rank_now() - before) / 2;
        if (i && (best == 0 || t < best))
            best = t;
    }
    return best;
}

clv_status rank_measure_links(rank_world *w, clv_err *err)
{
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < w->n_links; i++) {
        rank_link *l = &w->links[i];
        int a = rank_of(w, l->from, 0), b = rank_of(w, l->to, 0);
        MPI_Request req;
        if (a != b && (w->rank == a || w->rank == b)) {
            int bytes = l->bytes < INT32_MAX ? (int)l->bytes : INT32_MAX;
            char *data = calloc((size_t)bytes + 1, 1);
            if (!data) {
                s = rank_fail(err, CLV_NOMEM, "out of memory");
                rank_abort(w, err);
            }
            l->seconds = measure_link(w, w->rank == a, w->rank == a ? b : a,
                                      data, bytes);
            free(data);
        }
        MPI_Ibarrier(MPI_COMM_WORLD, &req);
        rank_wait(w, &req, "the other ranks while links are measured");
    }
    return s;
}

static clv_status measure_largest(rank_world *w, double *list, uint32_t n,
                                  clv_err *err)
{
    MPI_Request req;
    double *all = calloc((size_t)n + 1, sizeof *all);
    if (!all)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    MPI_Iallreduce(list, all, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD,
                   &req);
    rank_wait(w, &req, "what the other ranks measured");
    memcpy(list, all, n * sizeof *all);
    free(all);
    return CLV_OK;
}

clv_status rank_gather(rank_world *w, rank_stats *s, clv_err *err)
{
    clv_status st = measure_largest(w, s->stage, w->plan->n_parts, err);
    if (st == CLV_OK)
        st = measure_largest(w, s->least, w->plan->n_parts, err);
    if (st == CLV_OK)
        st = measure_largest(w, s->slow, w->plan->n_parts, err);
    if (st == CLV_OK)
        st = measure_largest(w, s->look, w->plan->n_parts, err);
    double *both = calloc((size_t)w->n_links * 2 + 1, sizeof *both);
    if (!both || st != CLV_OK) {
        free(both);
        return rank_fail(err, CLV_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < w->n_links; i++) {
        both[2 * i] = w->links[i].seconds;
        both[2 * i + 1] = w->links[i].wait;
    }
    st = measure_largest(w, both, 2 * w->n_links, err);
    for (uint32_t i = 0; i < w->n_links; i++) {
        w->links[i].seconds = both[2 * i];
        w->links[i].wait = both[2 * i + 1];
    }
    free(both);
    return st;
}
