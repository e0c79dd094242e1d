/* placement.c - finds the placement with the least time on two devices, and
 * what simple placements would take.
 *
 *   1. costs: the roofline time of each operator on each device; measured times
 *      replace it where given
 *   2. optimum by minimum cut (place.c); beside it everything on the CPU, and
 *      everything that is supported on the accelerator
 *   3. the fewest subgraphs for these sides (label.c)
 *   4. for a limit on subgraphs, and for the curve: the cut with k labels */
#include "cleave/placement.h"
#include "core/decimal.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/mapping.h"
#include "cut/blocks.h"
#include "cut/place.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const clv_profile *p;
    const clv_graph *g;
    clv_placement_opts o;
    arena mem;
    dag d;
    placement_costs c;
    double *io; /* per node: the time to move graph inputs and outputs if it is
                 * on the accelerator */
    strmap names;
    clv_placement_info info;
} job;

/* -- costs ----------------------------------------------------------------*/

static double seconds_on(const job *j, const clv_device *d, uint32_t i)
{
    const clv_layer *l = &j->p->layers[i];
    if (!d || l->cost.trust == CLV_TRUST_FREE)
        return 0;
    clv_roofline r = clv_device_roofline(d, l->dtype, &l->cost, &l->parallel);
    if (r.seconds < 0)
        r = clv_device_roofline(d, CLV_FLOAT32, &l->cost, &l->parallel);
    return r.seconds < 0 ? INFINITY : r.seconds;
}

static double move_seconds(const job *j, uint32_t v)
{
    const clv_value *x = &j->g->values[v];
    double link = j->o.link > 0 ? j->o.link : DEFAULT_LINK;
    double latency = j->o.latency > 0 ? j->o.latency : DEFAULT_LATENCY;
    if (x->rank == CLV_NO_RANK || value_is_weight(x))
        return 0;
    return latency + (double)clv__held_bytes(x) / link;
}

/* Charges the move of a graph input to its first reader, and the move of a
 * graph output to its maker. */
static void add_io(job *j)
{
    const clv_graph *g = j->g;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        uint32_t v = g->inputs[i];
        if (g->user_first[v] < g->user_first[v + 1])
            j->io[g->users[g->user_first[v]]] += move_seconds(j, v);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t maker = g->values[g->outputs[i]].producer;
        if (maker != CLV_NONE)
            j->io[maker] += move_seconds(j, g->outputs[i]);
    }
}

/* -- measured costs: JSON or CSV ------------------------------------------*/

static clv_status set_cost(job *j, const char *name, unsigned line, double cpu,
                           double accelerator, clv_err *e)
{
    uint32_t i = strmap_get(&j->names, name, strlen(name));
    if (i == CLV_NONE)
        return clv__fail(e, CLV_FORMAT, "line %u: no node is called '%.80s'",
                         line, name);
    if (!(cpu >= 0) || !(accelerator >= 0))
        return clv__fail(e, CLV_FORMAT,
                         "line %u: '%.80s' needs seconds, 0 or "
                         "more",
                         line, name);
    j->c.cpu[i] = cpu;
    j->c.accelerator[i] = accelerator;
    return CLV_OK;
}

/* {"conv1": {"cpu": 0.002, "accelerator": 0.0001}}; null: not possible. */
static clv_status read_json(job *j, const char *text, size_t len, clv_err *e)
{
    const json *root;
    CLV_TRY(json_parse(&j->mem, text, len, &root, e));
    if (root->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT, "line %u: expected an object",
                         root->line);
    for (const json *v = root->child; v; v = v->next)
        CLV_TRY(set_cost(j, v->key, v->line, json_number(v, "cpu", -1),
                         json_get(v, "accelerator")
                             ? json_number(v, "accelerator", -1)
                             : INFINITY,
                         e));
    return CLV_OK;
}

/* Returns the cell as a number, or -1 when it is not one. */
static double seconds_in(const char *cell)
{
    char *end;
    double x = clv_text_double(cell, &end);
    return end == cell || *end ? -1 : x;
}

/* node,cpu,accelerator in seconds; an empty last cell: not possible. */
static clv_status read_csv(job *j, char *text, clv_err *e)
{
    unsigned line = 1;
    for (char *save, *row = strtok_r(text, "\n", &save); row;
         row = strtok_r(NULL, "\n", &save), line++) {
        char *cpu = strchr(row, ',');
        char *acc = cpu ? strchr(cpu + 1, ',') : NULL;
        if (line == 1 && strncmp(row, "node,", 5) == 0)
            continue;
        if (!acc)
            return clv__fail(e, CLV_FORMAT,
                             "line %u: expected node,cpu,accelerator", line);
        *cpu = *acc = '\0';
        acc[1 + strcspn(acc + 1, "\r")] = '\0';
        double x = seconds_in(cpu + 1);
        double y = acc[1] ? seconds_in(acc + 1) : INFINITY;
        CLV_TRY(set_cost(j, row, line, x, y, e));
    }
    return CLV_OK;
}

static clv_status read_costs(job *j, const char *path, clv_err *e)
{
    const size_t most = 1 << 26; /* bytes of a file of costs */
    clv_mapping map;
    CLV_TRY(clv__mapping_open(path, &map, e));
    char *text = map.size && map.size <= most
                     ? arena_strndup(&j->mem, (const char *)map.data, map.size)
                     : NULL;
    clv_status s = CLV_OK;
    if (map.size == 0)
        s = clv__fail(e, CLV_FORMAT, "the file is empty");
    else if (map.size > most)
        s = clv__fail(e, CLV_IO, "a file of costs is below 64 MB");
    else if (!text)
        s = clv__nomem(e);
    for (uint32_t i = 0; i < j->g->n_nodes && s == CLV_OK; i++) {
        const char *name = j->g->nodes[i].name;
        if (!strmap_put(&j->names, name, strlen(name), i))
            s = clv__nomem(e);
    }
    if (s == CLV_OK)
        s = text[strspn(text, " \t\r\n")] == '{'
                ? read_json(j, text, map.size, e)
                : read_csv(j, text, e);
    clv__mapping_close(&map);
    if (s != CLV_OK)
        clv__err_prefix(e, "%s", path);
    return s;
}

static clv_status gather_costs(job *j, clv_err *e)
{
    const clv_graph *g = j->g;
    j->io = arena_zalloc(&j->mem, ((size_t)g->n_nodes + 1) * sizeof *j->io);
    if (!j->io || !clv__place_costs(&j->mem, g, &j->c))
        return clv__nomem(e);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        j->c.cpu[i] = seconds_on(j, j->o.host, i);
        j->c.accelerator[i] = seconds_on(j, j->o.accelerator, i);
    }
    if (j->o.costs)
        CLV_TRY(read_costs(j, j->o.costs, e));
    add_io(j);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const clv_node_support *s =
            j->o.support ? &j->o.support->nodes[i] : NULL;
        if (!isfinite(j->c.cpu[i]))
            return clv__fail(e, CLV_UNSUPPORTED,
                             "node '%s' has no cost on the host",
                             g->nodes[i].name);
        j->c.accelerator[i] += j->io[i];
        if (s && s->side == CLV_SIDE_CPU)
            j->c.accelerator[i] = INFINITY;
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].producer != CLV_NONE)
            j->c.move[v] = move_seconds(j, v);
    return CLV_OK;
}

/* -- plans ----------------------------------------------------------------*/

static bool plan_of(job *j, const uint8_t *side, clv_plan *out)
{
    placement_sum s = clv__place_sum(j->g, &j->c, side);
    arena_mark mark = arena_save(&j->mem);
    labels l[2];
    if (!clv__label(&j->mem, &j->d, side, l))
        return false;
    *out = (clv_plan){.cpu = s.cpu,
                      .accelerator = s.accelerator,
                      .transfer = s.transfer,
                      .bytes = s.bytes,
                      .subgraphs = l[clv__label_best(l, false)].n,
                      .nodes = s.on_accelerator};
    arena_rewind(&j->mem, mark);
    for (uint32_t i = 0; i < j->d.n; i++)
        if (side[i] == CLV_SIDE_ACCELERATOR) {
            out->accelerator -= j->io[i];
            out->transfer += j->io[i];
        }
    out->total = out->cpu + out->accelerator + out->transfer;
    return true;
}

/* Puts every node on the accelerator that can run there. A node that does no
 * work goes to the side of its maker. */
static void greedy_sides(const job *j, uint8_t *side)
{
    for (uint32_t i = 0; i < j->d.n; i++) {
        bool free = j->p->layers[i].cost.trust == CLV_TRUST_FREE;
        uint32_t k = j->d.pred_first[i];
        bool follows =
            free && k < j->d.pred_first[i + 1] && isfinite(j->c.accelerator[i]);
        side[i] = follows                         ? side[j->d.pred[k]]
                  : isfinite(j->c.accelerator[i]) ? CLV_SIDE_ACCELERATOR
                                                  : CLV_SIDE_CPU;
    }
}

static clv_status make_plans(job *j, uint8_t *side, clv_err *e)
{
    memset(side, CLV_SIDE_CPU, j->d.n);
    bool ok = plan_of(j, side, &j->info.all_cpu);
    greedy_sides(j, side);
    ok = ok && plan_of(j, side, &j->info.greedy);
    CLV_TRY(clv__place(&j->mem, j->g, &j->c, side, e));
    ok = ok && plan_of(j, side, &j->info.optimum);
    return ok ? CLV_OK : clv__nomem(e);
}

/* No cut has more subgraphs than nodes: the curve ends there. */
static clv_status make_curve(job *j, clv_cut *c, clv_err *e)
{
    uint32_t n = j->o.curve < j->d.n ? j->o.curve : j->d.n;
    clv_curve_point *curve =
        arena_zalloc(&c->mem, ((size_t)n + 1) * sizeof *curve);
    if (!curve)
        return clv__nomem(e);
    for (uint32_t k = 1; k <= n; k++) {
        arena_mark mark = arena_save(&j->mem);
        block_placement best;
        CLV_TRY(clv__within(0, e));
        CLV_TRY(clv__place_k(&j->mem, j->g, &j->d, &j->c, k, &best, e));
        curve[k - 1] = (clv_curve_point){k, best.l.n, best.cost, best.proven};
        if (k > 1 && best.cost > curve[k - 2].total) { /* an unproven answer:
                                                        * fewer */
            curve[k - 1] = curve[k - 2]; /* blocks were found to be
                                          * better */
            curve[k - 1].limit = k;
            curve[k - 1].proven = false;
        }
        arena_rewind(&j->mem, mark);
    }
    j->info.curve = curve;
    j->info.n_curve = n;
    return CLV_OK;
}

/* -- the cut --------------------------------------------------------------*/

static void relate_plans(clv_placement_info *i)
{
    clv_plan *plans[] = {&i->all_cpu, &i->greedy, &i->optimum, &i->chosen};
    double best = i->optimum.total;
    for (int k = 0; k < 4; k++)
        plans[k]->ratio = best > 0 ? plans[k]->total / best : 1;
}

static clv_status placement_choose(job *j, uint8_t *side, labels *l, clv_err *e)
{
    labels both[2];
    uint32_t most = j->o.max_subgraph_count;
    if (most && j->info.optimum.subgraphs > most) {
        block_placement best;
        CLV_TRY(clv__place_k(&j->mem, j->g, &j->d, &j->c, most, &best, e));
        for (uint32_t i = 0; i < j->d.n; i++)
            side[i] = label_side(&best.l, best.l.of[i]);
    }
    if (!clv__label(&j->mem, &j->d, side, both))
        return clv__nomem(e);
    *l = both[clv__label_best(both, false)];
    if (!clv__label_sweep(j->g, &j->d, side, l))
        return clv__nomem(e);
    if (!plan_of(j, side, &j->info.chosen))
        return clv__nomem(e);
    relate_plans(&j->info);
    return CLV_OK;
}

static clv_status placement_run(job *j, clv_cut **out, clv_err *e)
{
    uint8_t *side = arena_alloc(&j->mem, (size_t)j->g->n_nodes + 1);
    labels l;
    blocks b;
    if (!side || !clv__dag_make(&j->mem, j->g, &j->d) ||
        !clv__dag_succ(&j->mem, &j->d))
        return clv__nomem(e);
    CLV_TRY(gather_costs(j, e));
    CLV_TRY(make_plans(j, side, e));
    CLV_TRY(placement_choose(j, side, &l, e));
    if (!clv__blocks_of(&j->mem, &l, j->d.n, &b))
        return clv__nomem(e);
    const char *device =
        j->o.accelerator ? j->o.accelerator->name : "accelerator";
    CLV_TRY(clv__blocks_cut(j->p, "placement", &b, device, out, e));
    clv_cut *c = *out;
    clv_placement_info *info = arena_alloc(&c->mem, sizeof *info);
    if (!info)
        return clv__nomem(e);
    CLV_TRY(make_curve(j, c, e));
    j->info.host = j->o.host ? j->o.host->name : "cpu";
    j->info.device = device;
    *info = j->info;
    c->placement = info;
    return CLV_OK;
}

clv_status clv_cut_placement(const clv_profile *p,
                             const clv_placement_opts *opts, clv_cut **out,
                             clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    CLV_NEED(opts, err);
    job j = {.p = p, .g = p->g, .info.size = sizeof j.info};
    clv_support_info support;
    CLV_READ(clv_placement_opts, opts, &j.o, err);
    if (j.o.support) {
        CLV_READ(clv_support_info, j.o.support, &support, err);
        CLV_TRY(clv__check_support(p->g, &support, err));
        j.o.support = &support;
    }
    clv_status s = !j.o.costs && (!j.o.host || !j.o.accelerator)
                       ? clv__fail(err, CLV_USAGE,
                                   "placement needs two devices, or a file of "
                                   "costs")
                       : placement_run(&j, out, err);
    strmap_free(&j.names);
    arena_free(&j.mem);
    if (s != CLV_OK) {
        clv_cut_free(*out);
        *out = NULL;
    }
    return s;
}

const clv_placement_info *clv_cut_placement_info(const clv_cut *c)
{
    return c->placement;
}
