/* cluster_value.c - what a plan costs: time of each stage, load of each link,
 * time of one micro-batch, memory.
 *
 * Transfers overlap with compute. Replicas of a stage take micro-batches in
 * turn, so micro-batch i goes from replica i mod A to replica i mod B. Inputs
 * and outputs of the model cost nothing. */
#include "plan/cluster.h"

#include <math.h>
#include <string.h>

/* -- memory ---------------------------------------------------------------*/

/* Adds the bytes of a weight, or of a tensor that comes from outside, once. */
static int64_t stage_enters(cluster_job *j, uint32_t v)
{
    if (v == CLV_NONE || j->seen[v] == j->stamp)
        return 0;
    j->seen[v] = j->stamp;
    return j->bytes[v];
}

static bool stage_leaves(const cluster_job *j, uint32_t v, uint32_t stage,
                         const uint32_t *of)
{
    const clv_graph *g = j->g;
    if (g->values[v].flags & CLV_V_OUTPUT)
        return true;
    for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
        if (of[g->users[u]] != stage)
            return true;
    return false;
}

int64_t clv__cluster_memory(cluster_job *j, const uint32_t *nodes, uint32_t n,
                            const uint32_t *of)
{
    const clv_graph *g = j->g;
    int64_t held = 0, alive = 0, peak = 0;
    uint32_t stage = n ? of[nodes[0]] : 0;
    j->stamp++;
    for (uint32_t i = 0; i < n; i++) { /* the last reader of each tensor */
        const clv_node *x = &g->nodes[nodes[i]];
        for (uint32_t k = 0; k < x->n_in; k++) {
            uint32_t v = node_ins(g, x)[k];
            uint32_t maker = v == CLV_NONE ? CLV_NONE : g->values[v].producer;
            if (v == CLV_NONE)
                continue;
            j->last[v] = nodes[i];
            if (maker == CLV_NONE || of[maker] != stage)
                held = sat_add(held, stage_enters(j, v));
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const clv_node *x = &g->nodes[nodes[i]];
        for (uint32_t k = 0; k < x->n_out; k++) {
            uint32_t v = node_outs(g, x)[k];
            if (stage_leaves(j, v, stage, of))
                held = sat_add(held, j->bytes[v]);
            else if (g->user_first[v] != g->user_first[v + 1])
                alive = sat_add(alive, j->bytes[v]);
        }
        peak = alive > peak ? alive : peak;
        for (uint32_t k = 0; k < x->n_in; k++) {
            uint32_t v = node_ins(g, x)[k];
            uint32_t maker = v == CLV_NONE ? CLV_NONE : g->values[v].producer;
            if (maker == CLV_NONE || of[maker] != stage ||
                j->last[v] != nodes[i] || stage_leaves(j, v, stage, of))
                continue;
            j->last[v] = CLV_NONE; /* freed once */
            alive -= j->bytes[v];
        }
    }
    return sat_add(held, peak);
}

/* -- messages -------------------------------------------------------------*/

void clv__cluster_messages(const cluster_job *j, const cluster_draft *d,
                           int64_t *sums, uint32_t *mark)
{
    const clv_graph *g = j->g;
    memset(sums, 0, (size_t)d->n_stages * d->n_stages * sizeof *sums);
    memset(mark, 0xff, d->n_stages * sizeof *mark);
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t maker = g->values[v].producer;
        if (maker == CLV_NONE)
            continue;
        uint32_t a = d->of[maker];
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++) {
            uint32_t b = d->of[g->users[u]];
            if (a == b || mark[b] == v)
                continue;
            mark[b] = v;
            int64_t *sum = &sums[(size_t)a * d->n_stages + b];
            *sum = sat_add(*sum, j->bytes[v]);
        }
    }
}

static uint32_t value_gcd(uint32_t a, uint32_t b)
{
    return b ? value_gcd(b, a % b) : a;
}

double clv__cluster_send(cluster_job *j, const cluster_draft *d, uint32_t a,
                         uint32_t b, int64_t bytes)
{
    uint32_t na = d->first[a + 1] - d->first[a];
    uint32_t nb = d->first[b + 1] - d->first[b];
    uint32_t turns = na / value_gcd(na, nb) * nb;
    double slowest = 0;
    cluster_route r;
    for (uint32_t i = 0; i < turns; i++) {
        if (!clv__route(&j->router, d->devices[d->first[a] + i % na],
                        d->devices[d->first[b] + i % nb], &r))
            return -1;
        if (!r.found)
            return INFINITY;
        double t = r.latency + (double)bytes / r.bandwidth;
        slowest = t > slowest ? t : slowest;
        for (uint32_t k = 0; k < r.n; k++)
            j->loads[r.hops[k]] +=
                (double)bytes / turns / j->c->links[r.hops[k] / 2].bandwidth;
    }
    return slowest;
}

/* -- all of it ------------------------------------------------------------*/

static double value_stage(cluster_job *j, const cluster_draft *d, uint32_t s,
                          const double *sum)
{
    double slowest = 0;
    for (uint32_t i = d->first[s]; i < d->first[s + 1]; i++) {
        double t = sum[(size_t)j->kind[d->devices[i]] * d->n_stages + s];
        slowest = t > slowest ? t : slowest;
    }
    return slowest;
}

static void value_memory(cluster_job *j, const cluster_draft *d, arena *a,
                         cluster_value *out)
{
    uint32_t *nodes = arena_array(a, (size_t)j->d.n + 1, sizeof *nodes);
    uint32_t *at = arena_zalloc(a, ((size_t)d->n_stages + 3) * sizeof *at);
    if (!nodes || !at) {
        out->missing = -1;
        return;
    }
    for (uint32_t i = 0; i < j->d.n; i++)
        at[d->of[i] + 2]++;
    for (uint32_t s = 2; s < d->n_stages + 2; s++)
        at[s] += at[s - 1];
    for (uint32_t i = 0; i < j->d.n; i++)
        nodes[at[d->of[i] + 1]++] = i;
    for (uint32_t s = 0; s < d->n_stages; s++) {
        int64_t need =
            clv__cluster_memory(j, nodes + at[s], at[s + 1] - at[s], d->of);
        for (uint32_t i = d->first[s]; i < d->first[s + 1]; i++) {
            int64_t less = need - j->c->devices[d->devices[i]].memory;
            if (less > out->missing) {
                out->missing = less;
                out->no_room = d->devices[i];
            }
        }
    }
}

bool clv__cluster_value(cluster_job *j, const cluster_draft *d,
                        cluster_value *out)
{
    arena a = {0};
    uint32_t n = d->n_stages;
    double *sum = arena_zalloc(&a, ((size_t)n * j->n_kinds + 1) * sizeof *sum);
    int64_t *bytes = arena_array(&a, (size_t)n * n + 1, sizeof *bytes);
    uint32_t *mark = arena_array(&a, (size_t)n + 1, sizeof *mark);
    double *end = arena_zalloc(&a, ((size_t)n + 1) * sizeof *end);
    bool ok = sum && bytes && mark && end;
    *out = (cluster_value){0};
    if (ok) {
        for (uint32_t k = 0; k < j->n_kinds; k++)
            for (uint32_t i = 0; i < j->d.n; i++)
                sum[(size_t)k * n + d->of[i]] += j->cost[k][i];
        memset(j->loads, 0,
               (2 * (size_t)j->c->info.n_links + 1) * sizeof *j->loads);
        clv__cluster_messages(j, d, bytes, mark);
        value_memory(j, d, &a, out);
        ok = out->missing >= 0;
    }
    for (uint32_t s = 0; ok && s < n; s++) {
        double t = value_stage(j, d, s, sum);
        double period = t / (d->first[s + 1] - d->first[s]);
        out->bottleneck = period > out->bottleneck ? period : out->bottleneck;
        end[s] += t;
        out->latency = end[s] > out->latency ? end[s] : out->latency;
        for (uint32_t b = s + 1; ok && b < n; b++)
            if (bytes[(size_t)s * n + b]) {
                double x =
                    clv__cluster_send(j, d, s, b, bytes[(size_t)s * n + b]);
                ok = x >= 0;
                end[b] = end[s] + x > end[b] ? end[s] + x : end[b];
            }
    }
    for (uint32_t i = 0; ok && i < 2 * j->c->info.n_links; i++)
        if (j->loads[i] > out->bottleneck)
            out->bottleneck = j->loads[i];
    if (isinf(out->latency))
        out->bottleneck = INFINITY;
    out->score = out->missing                            ? INFINITY
                 : j->o.objective == CLV_CLUSTER_LATENCY ? out->latency
                                                         : out->bottleneck;
    arena_free(&a);
    return ok;
}

bool clv__cluster_offer(cluster_job *j, const cluster_draft *d)
{
    cluster_value v;
    if (!clv__cluster_value(j, d, &v))
        return false;
    bool better = v.score < j->value.score;
    if (!better && isinf(j->value.score) && isinf(v.score))
        better =
            v.missing && (!j->value.missing || v.missing < j->value.missing);
    if (!better)
        return true;
    j->value = v;
    if (isinf(v.score))
        return true;
    memcpy(j->best.of, d->of, j->d.n * sizeof *d->of);
    memcpy(j->best.first, d->first, (d->n_stages + 1) * sizeof *d->first);
    memcpy(j->best.devices, d->devices,
           d->first[d->n_stages] * sizeof *d->devices);
    j->best.n_stages = d->n_stages;
    return true;
}
