/* cluster.c - plans a pipeline for a cluster, and runs its schedule.
 *
 * The bound holds for every plan. For any weights w of the devices, the work
 * of a micro-batch takes w1 * load1 + w2 * load2 + ... >= the sum over nodes of
 * the least w * time, and no load is above the bottleneck; so
 *
 *     bottleneck >= sum over nodes of min (w_d * time_d) / sum of w_d
 *
 * with w the speed of each device on the whole graph. A node on r replicas
 * takes at least the r-th fastest device's time / r. */
#include "plan/cluster.h"

#include "cleave/placement.h"

#include <math.h>
#include <string.h>

/* -- costs ----------------------------------------------------------------*/

static bool cluster_kinds(cluster_job *j)
{
    j->kind = arena_array(&j->mem, j->n_devices, sizeof *j->kind);
    j->cost = arena_array(&j->mem, j->n_devices, sizeof *j->cost);
    if (!j->kind || !j->cost)
        return false;
    for (uint32_t i = 0; i < j->n_devices; i++) {
        const clv_device *d = j->c->devices[i].hardware;
        uint32_t k = 0, before = 0;
        while (before < i && j->c->devices[before].hardware != d)
            before++;
        j->kind[i] = before < i ? j->kind[before] : j->n_kinds;
        if (before < i)
            continue;
        k = j->n_kinds++;
        j->cost[k] = arena_array(&j->mem, (size_t)j->d.n + 1, sizeof(double));
        if (!j->cost[k])
            return false;
        for (uint32_t x = 0; x < j->d.n; x++) {
            const clv_layer *l = &j->p->layers[x];
            double t =
                l->cost.trust == CLV_TRUST_FREE
                    ? 0
                    : clv_device_roofline(d, l->dtype, &l->cost, &l->parallel)
                          .seconds;
            j->cost[k][x] = t < 0 ? INFINITY : t;
        }
    }
    return true;
}

static bool cluster_prepare(cluster_job *j)
{
    size_t n = (size_t)j->g->n_nodes + 2, values = (size_t)j->g->n_values + 1;
    size_t devices = (size_t)j->n_devices + 2;
    j->bytes = arena_array(&j->mem, values, sizeof *j->bytes);
    j->seen = arena_zalloc(&j->mem, values * sizeof *j->seen);
    j->last = arena_array(&j->mem, values, sizeof *j->last);
    j->loads = arena_zalloc(&j->mem, (2 * (size_t)j->c->info.n_links + 1) *
                                         sizeof *j->loads);
    j->best.of = arena_zalloc(&j->mem, n * sizeof *j->best.of);
    j->best.first = arena_zalloc(&j->mem, devices * sizeof *j->best.first);
    j->best.devices = arena_zalloc(&j->mem, devices * sizeof *j->best.devices);
    j->value.score = INFINITY;
    if (!j->bytes || !j->seen || !j->last || !j->loads || !j->best.of ||
        !j->best.first || !j->best.devices ||
        !clv__dag_make(&j->mem, j->g, &j->d) ||
        !clv__dag_succ(&j->mem, &j->d) || !cluster_kinds(j))
        return false;
    for (uint32_t v = 0; v < j->g->n_values; v++)
        j->bytes[v] = j->g->values[v].rank == CLV_NO_RANK
                          ? 0
                          : clv__held_bytes(&j->g->values[v]);
    return clv__router_start(&j->router, j->c);
}

/* -- the bound ------------------------------------------------------------*/

/* The least time per micro-batch of one node alone, on its best replicas. */
static double bound_node(const cluster_job *j, const uint32_t *count,
                         uint32_t node)
{
    double least = INFINITY;
    uint32_t most = j->o.replicas ? j->o.replicas : j->n_devices;
    for (uint32_t k = 0; k < j->n_kinds; k++) {
        uint32_t as_fast = 0; /* devices that take no longer than kind k */
        for (uint32_t x = 0; x < j->n_kinds; x++)
            if (j->cost[x][node] <= j->cost[k][node])
                as_fast += count[x];
        as_fast = as_fast < most ? as_fast : most;
        least = fmin(least, j->cost[k][node] / as_fast);
    }
    return least;
}

static double bound_throughput(const cluster_job *j, const uint32_t *count)
{
    double speeds = 0, work = 0, heaviest = 0, speed[256];
    for (uint32_t k = 0; k < j->n_kinds; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < j->d.n; i++)
            sum += isinf(j->cost[k][i]) ? 0 : j->cost[k][i];
        speed[k] = sum > 0 ? 1 / sum : 0;
        speeds += speed[k] * count[k];
    }
    for (uint32_t i = 0; i < j->d.n; i++) {
        double least = INFINITY;
        for (uint32_t k = 0; k < j->n_kinds; k++)
            least = fmin(least, speed[k] * j->cost[k][i]);
        work += isfinite(least) ? least : 0;
        heaviest = fmax(heaviest, bound_node(j, count, i));
    }
    return fmax(speeds > 0 ? work / speeds : 0, heaviest);
}

/* The longest path, each node on its fastest device; and all work spread over
 * all devices. */
static double bound_latency(const cluster_job *j, double *end)
{
    double longest = 0, sum = 0;
    for (uint32_t i = 0; i < j->d.n; i++) {
        double start = 0, least = INFINITY;
        for (uint32_t k = j->d.pred_first[i]; k < j->d.pred_first[i + 1]; k++)
            start = fmax(start, end[j->d.pred[k]]);
        for (uint32_t k = 0; k < j->n_kinds; k++)
            least = fmin(least, j->cost[k][i]);
        end[i] = start + least;
        sum += least;
        longest = fmax(longest, end[i]);
    }
    return fmax(longest, sum / j->n_devices);
}

static clv_status cluster_bound(cluster_job *j, double *out, clv_err *e)
{
    uint32_t *count = arena_zalloc(&j->mem, (size_t)j->n_kinds * 4 + 4);
    double *end = arena_array(&j->mem, (size_t)j->d.n + 1, sizeof *end);
    if (!count || !end)
        return clv__nomem(e);
    for (uint32_t i = 0; i < j->n_devices; i++)
        count[j->kind[i]]++;
    *out = j->o.objective == CLV_CLUSTER_LATENCY ? bound_latency(j, end)
                                                 : bound_throughput(j, count);
    return CLV_OK;
}

/* -- the plan -------------------------------------------------------------*/

static bool plan_stages(cluster_job *j, clv_cut *c, const uint32_t *number,
                        clv_cluster_plan *plan)
{
    const cluster_draft *b = &j->best;
    clv_cluster_stage *st =
        arena_zalloc(&c->mem, (b->n_stages + 1) * sizeof *st);
    uint32_t *devices =
        arena_array(&c->mem, b->first[b->n_stages] + 1, sizeof *devices);
    if (!st || !devices)
        return false;
    memcpy(devices, b->devices, b->first[b->n_stages] * sizeof *devices);
    for (uint32_t s = 0; s < b->n_stages; s++) {
        clv_subgraph *sub = &c->subs[number[s]];
        clv_cluster_stage *t = &st[number[s]];
        t->devices = devices + b->first[s];
        t->n_devices = b->first[s + 1] - b->first[s];
        for (uint32_t i = 0; i < t->n_devices; i++) {
            double sum = 0;
            for (uint32_t k = 0; k < sub->n_nodes; k++)
                sum += j->cost[j->kind[t->devices[i]]][sub->nodes[k]];
            t->seconds = fmax(t->seconds, sum);
        }
        t->period = t->seconds / t->n_devices;
        t->memory = clv__cluster_memory(j, sub->nodes, sub->n_nodes, b->of);
        sub->device = j->c->devices[t->devices[0]].name;
        sub->reason = CLV_REASON_COMPUTE_LIMIT;
    }
    plan->stages = st;
    plan->n_stages = b->n_stages;
    plan->used = b->first[b->n_stages];
    return true;
}

/* Which link a message keeps busy longest, all its replicas together. */
static bool plan_busiest(cluster_job *j, uint32_t a, uint32_t b,
                         clv_cluster_message *m)
{
    uint32_t links = 2 * j->c->info.n_links;
    memset(j->loads, 0, ((size_t)links + 1) * sizeof *j->loads);
    if (clv__cluster_send(j, &j->best, a, b, m->bytes) < 0)
        return false;
    for (uint32_t i = 0; i < links; i++)
        if (j->loads[i] > m->occupied) {
            m->occupied = j->loads[i];
            m->link = i / 2;
            m->back = i & 1;
        }
    return true;
}

static bool plan_links(cluster_job *j, clv_cut *c, const uint32_t *number,
                       clv_cluster_plan *plan)
{
    uint32_t n = j->best.n_stages, links = 2 * j->c->info.n_links;
    int64_t *sums = arena_array(&j->mem, (size_t)n * n + 1, sizeof *sums);
    uint32_t *mark = arena_array(&j->mem, (size_t)n + 1, sizeof *mark);
    clv_cluster_message *m = arena_array(&c->mem, (size_t)n * n + 1, sizeof *m);
    clv_cluster_load_row *l =
        arena_array(&c->mem, (size_t)links + 1, sizeof *l);
    cluster_value v;
    if (!sums || !mark || !m || !l || !clv__cluster_value(j, &j->best, &v))
        return false;
    for (uint32_t i = 0; i < links; i++)
        if (j->loads[i] > 0)
            l[plan->n_loads++] =
                (clv_cluster_load_row){i / 2, i & 1, j->loads[i]};
    clv__cluster_messages(j, &j->best, sums, mark);
    for (uint32_t i = 0; i < n * n; i++) {
        uint32_t a = i / n, b = i % n;
        cluster_route r;
        if (!sums[i])
            continue;
        clv_cluster_message *x = &m[plan->n_messages++];
        *x = (clv_cluster_message){
            .from = number[a], .to = number[b], .bytes = sums[i]};
        if (!plan_busiest(j, a, b, x))
            return false;
        for (uint32_t p = j->best.first[a]; p < j->best.first[a + 1]; p++)
            for (uint32_t q = j->best.first[b]; q < j->best.first[b + 1]; q++) {
                if (!clv__route(&j->router, j->best.devices[p],
                                j->best.devices[q], &r))
                    return false;
                x->seconds =
                    fmax(x->seconds, r.latency + (double)sums[i] / r.bandwidth);
            }
    }
    plan->messages = m;
    plan->loads = l;
    return true;
}

/* The operator that needs most memory by itself, and the largest device. */
static clv_status cluster_too_small(cluster_job *j, clv_err *e)
{
    uint32_t worst = 0, largest = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < j->d.n; i++)
        j->best.of[i] = i;
    for (uint32_t i = 0; i < j->d.n; i++) {
        int64_t need = clv__cluster_memory(j, &i, 1, j->best.of);
        if (need > most) {
            most = need;
            worst = i;
        }
    }
    for (uint32_t i = 1; i < j->n_devices; i++)
        if (j->c->devices[i].memory > j->c->devices[largest].memory)
            largest = i;
    int64_t room = j->c->devices[largest].memory;
    if (most <= room)
        return CLV_OK;
    return clv__fail(e, CLV_LIMIT,
                     "'%.100s' alone needs %lld bytes, and the largest "
                     "device, '%.200s', has %lld: %lld are missing",
                     j->g->nodes[worst].name, (long long)most,
                     j->c->devices[largest].name, (long long)room,
                     (long long)(most - room));
}

static clv_status cluster_no_plan(cluster_job *j, clv_err *e)
{
    uint32_t d = j->value.no_room;
    int64_t weights = 0, room = 0;
    CLV_TRY(cluster_too_small(j, e));
    for (uint32_t i = 0; i < j->d.n; i++)
        weights = sat_add(weights, j->p->layers[i].cost.bytes_weights);
    for (uint32_t i = 0; i < j->n_devices; i++)
        room = sat_add(room, j->c->devices[i].memory);
    if (weights > room)
        return clv__fail(e, CLV_LIMIT,
                         "weights need %lld bytes and all devices have %lld: "
                         "%lld are missing",
                         (long long)weights, (long long)room,
                         (long long)(weights - room));
    if (j->value.missing)
        return clv__fail(
            e, CLV_LIMIT,
            "no plan %s the memory: in the one that lacks least, "
            "device '%s' has %lld bytes and lacks %lld",
            j->proven ? "fits" : "was found that fits", j->c->devices[d].name,
            (long long)j->c->devices[d].memory, (long long)j->value.missing);
    return clv__fail(e, CLV_LIMIT,
                     "no plan found that fits the cluster: devices that are "
                     "needed have no links, or too little memory");
}

/* The bound is met; sums of another order may differ by rounding. */
static bool cluster_meets(const cluster_job *j)
{
    return j->value.score <= j->bound * (1 + 1e-11);
}

static clv_status cluster_make(cluster_job *j, clv_cut **out, clv_err *e)
{
    double bound = 0;
    if (!cluster_prepare(j))
        return clv__nomem(e);
    if (j->n_kinds > 255)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "a cluster has at most 255 kinds of devices");
    CLV_TRY(cluster_bound(j, &bound, e));
    j->bound = bound;
    CLV_TRY(clv__cluster_slices(j, e));
    if (!cluster_meets(j) && !clv__cluster_exact(j))
        return clv__nomem(e);
    bound = j->bound;
    if (!isfinite(j->value.score))
        return cluster_no_plan(j, e);
    uint32_t *number = arena_array(&j->mem, (size_t)j->best.n_stages + 1, 4);
    if (!number)
        return clv__nomem(e);
    const cut_labels l = {
        .of = j->best.of, .n = j->best.n_stages, .number = number};
    CLV_TRY(clv__cut_make(j->p, "pipeline", &l, out, e));
    clv_cluster_plan *plan = arena_alloc(&(*out)->mem, sizeof *plan);
    if (!plan)
        return clv__nomem(e);
    *plan = (clv_cluster_plan){
        .size = sizeof *plan,
        .cluster = j->c,
        .objective = j->o.objective,
        .bottleneck = j->value.bottleneck,
        .latency = j->value.latency,
        .bound = bound,
        .gap = cluster_meets(j) || bound <= 0 ? 0 : j->value.score / bound - 1,
        .proven = j->proven || cluster_meets(j),
    };
    if (!plan_stages(j, *out, number, plan) ||
        !plan_links(j, *out, number, plan))
        return clv__nomem(e);
    (*out)->cluster = plan;
    return CLV_OK;
}

clv_status clv_cut_cluster(const clv_profile *p, const clv_cluster_opts *opts,
                           clv_cut **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    CLV_NEED(opts, err);
    cluster_job j = {.p = p, .g = p->g};
    CLV_READ(clv_cluster_opts, opts, &j.o, err);
    CLV_NEED(j.o.cluster, err);
    j.c = j.o.cluster;
    j.n_devices = j.c->info.n_devices;
    clv_status s = p->g->n_nodes ? cluster_make(&j, out, err)
                                 : clv__fail(err, CLV_UNSUPPORTED,
                                             "a model without operators");
    clv__router_end(&j.router);
    arena_free(&j.mem);
    if (s != CLV_OK) {
        clv_cut_free(*out);
        *out = NULL;
    }
    return s;
}

const clv_cluster_plan *clv_cut_cluster_plan(const clv_cut *c)
{
    return c->cluster;
}
