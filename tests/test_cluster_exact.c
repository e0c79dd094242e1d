/* test_cluster_exact.c - plans for clusters of up to 8 devices against brute
 * force.
 *
 * The brute force knows what docs/cluster.md says and nothing of the planner:
 * it takes every way to give nodes to stages that run one after another, and
 * every sequence of devices for them, finds routes by its own shortest paths,
 * and adds up times, links and memory by itself. The times of the nodes are
 * the roofline's, which is no part of the plan.
 *
 * A trial whose plans are too many gets a limit on replicas, then on stages,
 * which the planner is given too. CLEAVE_CLUSTERS=FIRST,COUNT,PLANS tries
 * others, with so many plans each. */
#include "check.h"
#include "cleave.h"
#include "random_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLUSTERS = 2000,
    PLANS = 20000,
    NODES = 16,
    DEVICES = 8,
    PLACES = DEVICES + 1,
    LINKS = 2 * DEVICES,
    VALUES = 100
};

typedef struct way {
    bool found;
    double latency, bandwidth;
    int n, link[PLACES], back[PLACES];
} way;

typedef struct trial {
    rng r;
    clv_graph *g;
    clv_profile *p;
    clv_cluster *k;
    bool latency;
    uint32_t stages, replicas; /* limits; 0: none */
    int n, n_dev, n_links, n_values;
    int end[LINKS][2];
    double bandwidth[LINKS], delay[LINKS];
    int64_t memory[DEVICES], bytes[VALUES];
    double seconds[DEVICES][NODES];
    way ways[DEVICES][DEVICES];
    /* What is tried: */
    int of[NODES], n_stages, first[DEVICES + 2], device[DEVICES];
    double best;
    bool counts; /* ways to give nodes to stages are counted, not tried */
    double ways_to_cut;
} trial;

/* -- a random cluster -----------------------------------------------------*/

static double draw(trial *t, double low, double high)
{
    double u = rng_below(&t->r, 1000000) / 1e6;
    return low * pow(high / low, u);
}

static const char *place_name(const trial *t, int p, char *buf)
{
    if (p == t->n_dev)
        return "s";
    snprintf(buf, 20, "h%d/d", p);
    return buf;
}

/* A link from each device to a switch, which is place n_dev; some devices are
 * joined directly. */
static void draw_links(trial *t)
{
    for (int d = 0; d < t->n_dev; d++) {
        t->end[t->n_links][0] = d;
        t->end[t->n_links++][1] = t->n_dev;
        if (d && rng_below(&t->r, 3) == 0) {
            t->end[t->n_links][0] = (int)rng_below(&t->r, (uint32_t)d);
            t->end[t->n_links++][1] = d;
        }
    }
    if (rng_below(&t->r, 8) == 0 && t->n_links > 1)
        t->n_links--; /* a device that may be cut off */
    for (int l = 0; l < t->n_links; l++) {
        t->bandwidth[l] = floor(draw(t, 1e8, 1e11));
        t->delay[l] = draw(t, 1e-9, 1e-6);
    }
}

static void write_links(const trial *t, char *out, size_t room)
{
    char a[20], b[20];
    size_t at = strlen(out);
    for (int l = 0; l < t->n_links; l++)
        at += (size_t)snprintf(
            out + at, room - at,
            "%s{\"from\":\"%s\",\"to\":\"%s\",\"bandwidth\":%.17g,"
            "\"latency\":%.17g}",
            l ? "," : "", place_name(t, t->end[l][0], a),
            place_name(t, t->end[l][1], b), t->bandwidth[l], t->delay[l]);
    snprintf(out + at, room - at, "]}");
}

static bool draw_cluster(trial *t, int64_t whole)
{
    char text[8000] = "{\"hosts\":[";
    bool alike = rng_below(&t->r, 2);
    double flops = 0, bandwidth = 0;
    clv_err e;
    for (int d = 0; d < t->n_dev; d++) {
        size_t at = strlen(text);
        flops = d && alike ? flops : draw(t, 1e9, 1e11);
        bandwidth = d && alike ? bandwidth : draw(t, 1e9, 1e10);
        t->memory[d] = rng_below(&t->r, 3)
                           ? INT64_C(1) << 40
                           : 1 + (int64_t)((double)whole * draw(t, 0.3, 1.5));
        snprintf(text + at, sizeof text - at,
                 "%s{\"name\":\"h%d\",\"devices\":[{\"name\":\"d\",\"fp32\":"
                 "%.17g,\"fp16\":%.17g,\"bandwidth\":%.17g,\"memory\":%lld}]}",
                 d ? "," : "", d, flops, flops, bandwidth,
                 (long long)t->memory[d]);
    }
    strcat(text, "],\"switches\":[\"s\"],\"links\":[");
    draw_links(t);
    write_links(t, text, sizeof text);
    return CHECK(clv_cluster_parse(text, strlen(text), &t->k, &e) == CLV_OK) ||
           (printf("%s\n%s\n", e.msg, text), false);
}

/* -- routes ---------------------------------------------------------------*/

static double link_length(const trial *t, int l)
{
    return t->delay[l] + 1e6 / t->bandwidth[l];
}

static int links_of(const trial *t, int place)
{
    int n = 0;
    for (int l = 0; l < t->n_links; l++)
        n += t->end[l][0] == place || t->end[l][1] == place;
    return n;
}

/* The shortest of all ways without a place twice. */
static void walk_ways(const trial *t, int at, int to, unsigned seen, double far,
                      way *now, way *best, double *least)
{
    if (at == to) {
        if (far < *least) {
            *least = far;
            *best = *now;
            best->found = true;
        }
        return;
    }
    for (int l = 0; l < t->n_links; l++)
        for (int back = 0; back < 2; back++) {
            int next = t->end[l][!back];
            if (t->end[l][back] != at || seen >> next & 1 ||
                (next != to && links_of(t, next) == 1))
                continue;
            way more = *now;
            more.link[more.n] = l;
            more.back[more.n++] = back;
            more.latency += t->delay[l];
            more.bandwidth = fmin(more.bandwidth, t->bandwidth[l]);
            walk_ways(t, next, to, seen | 1u << next, far + link_length(t, l),
                      &more, best, least);
        }
}

static void find_ways(trial *t)
{
    for (int a = 0; a < t->n_dev; a++)
        for (int b = 0; b < t->n_dev; b++) {
            double least = INFINITY;
            way start = {.bandwidth = INFINITY};
            t->ways[a][b] = start;
            if (a != b)
                walk_ways(t, a, b, 1u << a, 0, &start, &t->ways[a][b], &least);
        }
}

/* -- what a plan costs ----------------------------------------------------*/

static bool read_by(const trial *t, int v, int stage)
{
    for (int i = 0; i < t->n; i++)
        if (t->of[i] == stage)
            for (uint32_t k = 0; k < t->g->nodes[i].n_in; k++)
                if ((int)node_ins(t->g, &t->g->nodes[i])[k] == v)
                    return true;
    return false;
}

static int maker(const trial *t, int v)
{
    uint32_t p = t->g->values[v].producer;
    return p == CLV_NONE ? -1 : t->of[p];
}

static bool leaves(const trial *t, int v, int stage)
{
    if (t->g->values[v].flags & CLV_V_OUTPUT)
        return true;
    for (int s = 0; s < t->n_stages; s++)
        if (s != stage && read_by(t, v, s))
            return true;
    return false;
}

/* Is v, made and read inside of the stage only, held while node i runs? */
static bool alive_at(const trial *t, int v, int stage, int i)
{
    int made = (int)t->g->values[v].producer, last = -1;
    for (int x = 0; x < t->n; x++)
        for (uint32_t k = 0; t->of[x] == stage && k < t->g->nodes[x].n_in; k++)
            if ((int)node_ins(t->g, &t->g->nodes[x])[k] == v)
                last = x;
    return last >= 0 && made <= i && i <= last;
}

static int64_t memory_of(const trial *t, int stage)
{
    int64_t held = 0, peak = 0;
    for (int v = 0; v < t->n_values; v++) {
        bool mine = maker(t, v) == stage;
        if ((mine && leaves(t, v, stage)) || (!mine && read_by(t, v, stage)))
            held += t->bytes[v];
    }
    for (int i = 0; i < t->n; i++) {
        int64_t sum = 0;
        for (int v = 0; t->of[i] == stage && v < t->n_values; v++)
            if (maker(t, v) == stage && !leaves(t, v, stage) &&
                alive_at(t, v, stage, i))
                sum += t->bytes[v];
        peak = sum > peak ? sum : peak;
    }
    return held + peak;
}

/* Bytes and needs of the stages: the same for all devices. */
typedef struct stages {
    int64_t bytes[DEVICES][DEVICES], memory[DEVICES];
    double seconds[DEVICES][DEVICES]; /* per stage and device */
} stages;

static void sum_stages(const trial *t, stages *s)
{
    memset(s, 0, sizeof *s);
    for (int a = 0; a < t->n_stages; a++) {
        s->memory[a] = memory_of(t, a);
        for (int v = 0; v < t->n_values; v++)
            for (int b = 0; b < t->n_stages; b++)
                if (a != b && maker(t, v) == a && read_by(t, v, b))
                    s->bytes[a][b] += t->bytes[v];
        for (int d = 0; d < t->n_dev; d++)
            for (int i = 0; i < t->n; i++)
                if (t->of[i] == a)
                    s->seconds[a][d] += t->seconds[d][i];
    }
}

/* Micro-batch i goes from replica i mod A to replica i mod B: over A * B
 * micro-batches all pairs have met as often as they ever do. */
static double send(const trial *t, int a, int b, double bytes,
                   double loads[LINKS][2])
{
    int na = t->first[a + 1] - t->first[a], nb = t->first[b + 1] - t->first[b];
    double slowest = 0;
    for (int i = 0; i < na * nb; i++) {
        const way *w = &t->ways[t->device[t->first[a] + i % na]]
                               [t->device[t->first[b] + i % nb]];
        if (!w->found)
            return INFINITY;
        slowest = fmax(slowest, w->latency + bytes / w->bandwidth);
        for (int k = 0; k < w->n; k++)
            loads[w->link[k]][w->back[k]] +=
                bytes / (na * nb) / t->bandwidth[w->link[k]];
    }
    return slowest;
}

static double cost(const trial *t, const stages *s)
{
    double loads[LINKS][2] = {{0}}, begin[DEVICES] = {0};
    double busiest = 0, latest = 0;
    for (int a = 0; a < t->n_stages; a++) {
        double own = 0;
        for (int i = t->first[a]; i < t->first[a + 1]; i++) {
            own = fmax(own, s->seconds[a][t->device[i]]);
            if (s->memory[a] > t->memory[t->device[i]])
                return INFINITY;
        }
        busiest = fmax(busiest, own / (t->first[a + 1] - t->first[a]));
        latest = fmax(latest, begin[a] + own);
        for (int b = a + 1; b < t->n_stages; b++)
            if (s->bytes[a][b])
                begin[b] = fmax(
                    begin[b], begin[a] + own +
                                  send(t, a, b, (double)s->bytes[a][b], loads));
    }
    for (int l = 0; l < t->n_links; l++)
        busiest = fmax(busiest, fmax(loads[l][0], loads[l][1]));
    return isinf(latest) ? INFINITY : t->latency ? latest : busiest;
}

/* -- all of them ----------------------------------------------------------*/

/* Every sequence of devices, cut into the devices of each stage. */
static void all_devices(trial *t, const stages *s, int stage, unsigned used)
{
    int *end = &t->first[stage + 1];
    for (int d = 0; d < t->n_dev; d++) {
        int have = *end - t->first[stage];
        if (used >> d & 1 || (t->replicas && have >= (int)t->replicas))
            continue;
        t->device[(*end)++] = d;
        t->first[stage + 2] = *end;
        if (stage + 1 == t->n_stages)
            t->best = fmin(t->best, cost(t, s));
        else
            all_devices(t, s, stage + 1, used | 1u << d);
        all_devices(t, s, stage, used | 1u << d);
        (*end)--;
    }
}

/* Every node in turn to every stage that is not before those it reads from. */
static void all_stages(trial *t, int node)
{
    if (node < t->n) {
        const clv_node *x = &t->g->nodes[node];
        int low = 0;
        for (uint32_t k = 0; k < x->n_in; k++) {
            int m = maker(t, (int)node_ins(t->g, x)[k]);
            low = m > low ? m : low;
        }
        for (t->of[node] = low; t->of[node] < t->n_stages; t->of[node]++)
            all_stages(t, node + 1);
        return;
    }
    unsigned have = 0;
    for (int i = 0; i < t->n; i++)
        have |= 1u << t->of[i];
    if (have + 1 != 1u << t->n_stages)
        return;
    if (t->counts) {
        t->ways_to_cut++;
        return;
    }
    stages s;
    sum_stages(t, &s);
    memset(t->first, 0, sizeof t->first);
    all_devices(t, &s, 0, 0);
}

static uint32_t most_stages(const trial *t)
{
    uint32_t most = (uint32_t)(t->n < t->n_dev ? t->n : t->n_dev);
    return t->stages && t->stages < most ? t->stages : most;
}

/* Sequences of devices, cut into the devices of so many parts: as many as
 * all_devices tries. `left` devices are not used yet. */
static double count_devices(const trial *t, int parts, int left)
{
    double n = 0, ways = 1;
    int limit = t->replicas ? (int)t->replicas : left;
    if (parts == 0)
        return 1;
    for (int k = 1; k <= limit && k <= left; k++) {
        ways *= left - k + 1;
        n += ways * count_devices(t, parts - 1, left - k);
    }
    return n;
}

static double count_plans(trial *t)
{
    double sum = 0;
    t->counts = true;
    for (uint32_t n = 1; n <= most_stages(t); n++) {
        t->n_stages = (int)n;
        t->ways_to_cut = 0;
        all_stages(t, 0);
        sum += t->ways_to_cut * count_devices(t, (int)n, t->n_dev);
    }
    t->counts = false;
    return sum;
}

/* Fewer replicas, then fewer stages, until brute force has time for it. */
static void limit_plans(trial *t, double plans)
{
    while (count_plans(t) > plans && (t->replicas != 1 || t->stages != 1)) {
        uint32_t most = most_stages(t);
        if (t->replicas != 1)
            t->replicas = t->replicas ? t->replicas - 1 : 3;
        else
            t->stages = most > 1 ? most - 1 : 1;
    }
}

static double brute_force(trial *t)
{
    uint32_t most = most_stages(t);
    t->best = INFINITY;
    for (uint32_t n = 1; n <= most; n++) {
        t->n_stages = (int)n;
        all_stages(t, 0);
    }
    return t->best;
}

static int64_t take_sizes(trial *t)
{
    int64_t whole = 0;
    t->n = (int)t->g->n_nodes;
    t->n_values = (int)t->g->n_values;
    for (int v = 0; v < t->n_values; v++) {
        const clv_value_info i = clv_graph_value(t->g, (uint32_t)v);
        int64_t n = 1;
        for (uint32_t k = 0; k < i.rank; k++)
            n *= i.dims[k];
        whole += t->bytes[v] = clv_dtype_bytes(i.dtype, n);
    }
    return whole;
}

static void compare(trial *t, uint32_t number)
{
    const clv_cluster_opts o = {
        .size = sizeof o,
        .cluster = t->k,
        .objective = t->latency ? CLV_CLUSTER_LATENCY : CLV_CLUSTER_THROUGHPUT,
        .stages = t->stages,
        .replicas = t->replicas};
    clv_cut *c;
    clv_err e = {0};
    char row[60];
    snprintf(row, sizeof row, "cluster %u, %s", number,
             t->latency ? "latency" : "throughput");
    check_row(row);
    double best = brute_force(t);
    clv_status s = clv_cut_cluster(t->p, &o, &c, &e);
    CHECK((s == CLV_OK) == (bool)isfinite(best) && (s == CLV_OK || !c));
    if (s == CLV_OK) {
        const clv_cluster_plan *plan = clv_cut_cluster_plan(c);
        double got = t->latency ? plan->latency : plan->bottleneck;
        if (!CHECK(fabs(got - best) <= 1e-9 * best))
            printf("planned %.17g, brute force %.17g\n", got, best);
        CHECK(plan->proven && plan->bound <= best * (1 + 1e-9));
        CHECK(clv_cut_verify(c, NULL) == CLV_OK);
    } else
        CHECK(s == CLV_LIMIT);
    clv_cut_free(c);
}

static unsigned tried[DEVICES + 1]; /* clusters of so many devices */

static void try_one(uint32_t number, double plans)
{
    trial t = {.r = {number + 1}};
    clv_err e;
    t.n_dev = 2 + (int)rng_below(&t.r, DEVICES - 1);
    t.g = random_graph(number + 1, 2 + rng_below(&t.r, t.n_dev > 4 ? 4 : 6));
    t.latency = rng_below(&t.r, 3) == 0;
    t.stages = rng_below(&t.r, 6) ? 0 : 1 + rng_below(&t.r, 3);
    t.replicas = rng_below(&t.r, 6) ? 0 : 1 + rng_below(&t.r, 2);
    if (!CHECK(t.g && t.g->n_nodes <= NODES && t.g->n_values <= VALUES))
        return;
    if (CHECK(clv_profile_new(t.g, NULL, &t.p, &e) == CLV_OK) &&
        draw_cluster(&t, take_sizes(&t))) {
        const clv_cluster_info *info = clv_cluster_get(t.k);
        uint32_t n;
        const clv_layer *layers = clv_profile_layers(t.p, &n);
        for (int d = 0; d < t.n_dev; d++)
            for (int i = 0; i < t.n; i++)
                t.seconds[d][i] =
                    layers[i].cost.trust == CLV_TRUST_FREE
                        ? 0
                        : clv_device_roofline(info->devices[d].hardware,
                                              layers[i].dtype, &layers[i].cost,
                                              &layers[i].parallel)
                              .seconds;
        find_ways(&t);
        limit_plans(&t, plans);
        compare(&t, number);
        tried[t.n_dev]++;
    }
    clv_cluster_free(t.k);
    clv_profile_free(t.p);
    clv_graph_free(t.g);
}

static void brute(void)
{
    unsigned first = 0, count = CLUSTERS;
    double plans = PLANS;
    const char *asked = getenv("CLEAVE_CLUSTERS");
    if (asked) /* FIRST,COUNT,PLANS */
        CHECK_EQ_INT(sscanf(asked, "%u,%u,%lf", &first, &count, &plans), 3);
    for (unsigned i = 0; i < count; i++)
        try_one(first + i, plans);
    for (int d = 2; d <= DEVICES; d++)
        CHECK(tried[d] >= count / 20);
}

static const check_case cases[] = {{"brute_force", brute}};
CHECK_MAIN(cases)
