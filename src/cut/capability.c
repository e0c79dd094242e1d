/* capability.c - cuts by what a backend supports.
 *
 *   1. support below the threshold is refused
 *   2. label: the fewest subgraphs, and the certificate (label.c)
 *   3. sweep: fewer bytes between them at the same count
 *   4. connect the blocks, if asked (blocks.c)
 *   5. limits: met, refused with the numbers, or met by demotion; nothing
 *      changes the blocks after that
 *   6. what if: recolour one kind of operator, label and sweep again
 *
 * A supported node runs on the accelerator, an unsupported one on the CPU, and
 * one that does no work on whichever side is cheaper. */
#include "cleave/capability.h"
#include "core/limits.h"
#include "cut/blocks.h"
#include "cut/place.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    const clv_profile *p;
    const clv_graph *g;
    const clv_support_info *s;
    clv_capability_opts o;
    arena mem;
    dag d;
    uint8_t *side;   /* where each node may run; demotion narrows it */
    labels least[2]; /* of the support as given, both starts */
    labels l;        /* the answer */
    blocks b;
    clv_capability_info info;
} job;

/* -- labels ---------------------------------------------------------------*/

/* Labels `side` with the fewest blocks and few crossing bytes. */
static bool solve(job *j, const uint8_t *side, labels *out)
{
    labels l[2];
    if (!clv__label(&j->mem, &j->d, side, l))
        return false;
    *out = l[clv__label_best(l, j->o.objective == CLV_OBJECTIVE_ACCELERATOR)];
    return clv__label_sweep(j->g, &j->d, side, out);
}

/* Makes the blocks of the labels j->l. */
static clv_status make_blocks(job *j, clv_err *e)
{
    blocks apart;
    if (!clv__blocks_of(&j->mem, &j->l, j->d.n, &j->b))
        return clv__nomem(e);
    if (j->o.connected) {
        if (!clv__blocks_connect(&j->mem, &j->d, &j->b, &apart))
            return clv__nomem(e);
        j->b = apart;
    }
    j->b.order = j->o.order;
    j->b.n_order = j->o.n_order;
    return CLV_OK;
}

static clv_status check_order(const job *j, clv_err *e)
{
    for (uint32_t i = 0; i < j->o.n_order; i++) {
        const clv_order *o = &j->o.order[i];
        if (o->before >= o->after || o->after >= j->g->n_nodes)
            return clv__fail(e, CLV_USAGE,
                             "order %u: node %u cannot come before node %u "
                             "of %u",
                             i, o->before, o->after, j->g->n_nodes);
    }
    return CLV_OK;
}

static clv_status prepare(job *j, clv_err *e)
{
    uint32_t n = j->g->n_nodes;
    CLV_TRY(check_order(j, e));
    j->side = arena_alloc(&j->mem, (size_t)n + 1);
    if (!j->side || !clv__dag_make(&j->mem, j->g, &j->d) ||
        !clv__dag_add(&j->mem, &j->d, j->o.order, j->o.n_order) ||
        !clv__dag_succ(&j->mem, &j->d))
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++)
        j->side[i] = (uint8_t)j->s->nodes[i].side;
    return CLV_OK;
}

/* -- the certificate ------------------------------------------------------*/

static bool certify(job *j, clv_cut *c)
{
    bool accelerator = j->o.objective == CLV_OBJECTIVE_ACCELERATOR;
    uint32_t best = clv__label_best(j->least, accelerator), paths = 0;
    j->info.minimum = accelerator ? clv__label_accelerator(&j->least[best])
                                  : j->least[best].n;
    for (uint32_t k = 0; k < 2; k++) {
        /* Accelerator blocks are counted by the start that has the CPU. */
        const labels *l = &j->least[accelerator ? 0 : k ? !best : best];
        uint32_t *out = arena_array(&c->mem, (size_t)l->n + 1, sizeof *out);
        uint32_t n = out ? clv__label_witness(&j->mem, &j->d, j->side, l, out)
                         : CLV_NONE;
        if (n == CLV_NONE)
            return false;
        bool enough = accelerator || n >= j->info.minimum;
        if (enough)
            paths = 0; /* it says it all */
        j->info.certificate[paths] = out;
        j->info.n_certificate[paths++] = n;
        if (enough)
            break;
    }
    for (; paths < 2; paths++) {
        j->info.certificate[paths] = NULL;
        j->info.n_certificate[paths] = 0;
    }
    return true;
}

/* -- limits ---------------------------------------------------------------*/

static clv_status check_support(const job *j, clv_err *e)
{
    double share = j->s->percentage / 100;
    if (!(j->o.min_support >= 0 && j->o.min_support <= 1))
        return clv__fail(e, CLV_USAGE,
                         "the support threshold is a share: 0 to 1, not %g",
                         j->o.min_support);
    if (j->o.some_support && share <= CLV_HARDLY_SUPPORTED)
        return clv__fail(e, CLV_LIMIT,
                         "Model support percentage is very close to 0%%: "
                         "%.2f%%",
                         j->s->percentage);
    if (share >= j->o.min_support)
        return CLV_OK;
    return clv__fail(e, CLV_LIMIT,
                     "Model support percentage of %.2f%% below threshold of "
                     "%.2f%%",
                     j->s->percentage, 100 * j->o.min_support);
}

/* Arithmetic operators of each block. */
static uint32_t *block_sizes(job *j)
{
    uint32_t *size = arena_zalloc(&j->mem, (j->b.n + 1) * sizeof *size);
    for (uint32_t i = 0; size && i < j->d.n; i++)
        size[j->b.of[i]] += j->s->nodes[i].arithmetic;
    return size;
}

static clv_status too_small(const job *j, uint32_t k, uint32_t size, clv_err *e)
{
    char name[40] = "CPU";
    if (j->b.side[k] == CLV_SIDE_ACCELERATOR) {
        size_t i;
        for (i = 0; i + 1 < sizeof name && j->s->device[i]; i++)
            name[i] = clv__upper(j->s->device[i]);
        name[i] = '\0';
    }
    return clv__fail(e, CLV_LIMIT,
                     "Partitioner created a %s subgraph with %u operators, "
                     "which is less than the specified min subgraph size of %u",
                     name, size, j->o.min_subgraph_size);
}

static clv_status too_many(const job *j, clv_err *e)
{
    return clv__fail(e, CLV_LIMIT,
                     "The partitioner has found %u subgraphs which exceeds the "
                     "specified max subgraph count of %u.",
                     j->b.n, j->o.max_subgraph_count);
}

/* -- demotion -------------------------------------------------------------*/

/* Marks blocks that are too small, and their neighbours: connected blocks are
 * neighbours where an edge links them, others in the order in which they run,
 * where devices alternate. */
static void mark_small(const job *j, const uint32_t *size, bool *marked)
{
    uint32_t n = j->b.n, m = j->o.min_subgraph_size;
    for (uint32_t k = 0; k < n; k++)
        marked[k] = size[k] < m ||
                    (!j->o.connected && ((k > 0 && size[k - 1] < m) ||
                                         (k + 1 < n && size[k + 1] < m)));
    for (uint32_t i = 0; j->o.connected && i < j->d.n; i++)
        for (uint32_t k = j->d.pred_first[i]; k < j->d.pred_first[i + 1]; k++) {
            uint32_t a = j->b.of[j->d.pred[k]], b = j->b.of[i];
            marked[a] = marked[a] || size[b] < m;
            marked[b] = marked[b] || size[a] < m;
        }
}

/* The accelerator's block with the fewest FLOPs among those that are too small
 * or next to one that is. CLV_NONE: there is none, or no memory. */
static uint32_t cheapest(job *j, const uint32_t *size)
{
    int64_t *flops = arena_zalloc(&j->mem, (j->b.n + 1) * sizeof *flops);
    bool *marked = arena_zalloc(&j->mem, (j->b.n + 1) * sizeof *marked);
    uint32_t best = CLV_NONE;
    if (!flops || !marked)
        return CLV_NONE;
    for (uint32_t i = 0; i < j->d.n; i++) {
        int64_t *at = &flops[j->b.of[i]];
        *at = sat_add(*at, j->p->layers[i].cost.flops);
    }
    mark_small(j, size, marked);
    for (uint32_t k = 0; k < j->b.n; k++)
        if (j->b.side[k] == CLV_SIDE_ACCELERATOR && marked[k] &&
            (best == CLV_NONE || flops[k] < flops[best]))
            best = k;
    return best;
}

/* Sends what only the accelerator was to run of a block to the CPU; all of a
 * block that holds nothing else, so that something changes. */
static void demote_block(job *j, uint32_t block)
{
    for (int all = 0; all < 2; all++) {
        bool any = false;
        for (uint32_t i = 0; i < j->d.n; i++) {
            if (j->b.of[i] != block || j->side[i] == CLV_SIDE_CPU)
                continue;
            if (!all && j->side[i] != CLV_SIDE_ACCELERATOR)
                continue;
            j->side[i] = CLV_SIDE_CPU;
            any = true;
        }
        if (any)
            return;
    }
}

/* Sends blocks to the CPU until none is too small. */
static clv_status demote_small(job *j, clv_err *e)
{
    for (;;) {
        uint32_t *size = block_sizes(j), k = 0;
        if (!size)
            return clv__nomem(e);
        while (k < j->b.n && size[k] >= j->o.min_subgraph_size)
            k++;
        if (k == j->b.n)
            return CLV_OK;
        uint32_t victim = cheapest(j, size);
        if (victim == CLV_NONE || !j->o.demote)
            return too_small(j, k, size[k], e);
        CLV_TRY(clv__within(0, e));
        demote_block(j, victim);
        if (!solve(j, j->side, &j->l))
            return clv__nomem(e);
        CLV_TRY(make_blocks(j, e));
    }
}

/* The best placement with at most max_subgraph_count blocks: the fewest FLOPs
 * on the CPU, where a byte that crosses counts as one. */
static clv_status demote_many(job *j, clv_err *e)
{
    placement_costs costs;
    if (!clv__place_flops(&j->mem, j->p, j->side, &costs))
        return clv__nomem(e);
    block_placement best;
    CLV_TRY(clv__place_k(&j->mem, j->g, &j->d, &costs, j->o.max_subgraph_count,
                         &best, e));
    j->l = best.l;
    j->info.demotion_unproven = !best.proven;
    for (uint32_t i = 0; i < j->d.n; i++)
        if (j->side[i] == CLV_SIDE_ACCELERATOR &&
            label_side(&j->l, j->l.of[i]) == CLV_SIDE_CPU)
            j->side[i] = CLV_SIDE_CPU;
    return make_blocks(j, e);
}

static clv_status meet_limits(job *j, clv_err *e)
{
    uint32_t most =
        j->o.max_subgraph_count ? j->o.max_subgraph_count : UINT32_MAX;
    CLV_TRY(demote_small(j, e));
    if (j->b.n > most && j->o.demote) {
        CLV_TRY(demote_many(j, e));
        CLV_TRY(demote_small(j, e)); /* fewer blocks may be small ones */
    }
    return j->b.n > most ? too_many(j, e) : CLV_OK;
}

/* -- what if --------------------------------------------------------------*/

static const char *kind_of(const clv_graph *g, uint32_t i)
{
    const clv_node *n = &g->nodes[i];
    return clv__op_shown(n);
}

static bool could_be_supported(const job *j, uint32_t i)
{
    const clv_node_support *s = &j->s->nodes[i];
    return !s->supported && !s->forced;
}

/* A kind of operator, and what supporting it would do. */
typedef struct trial {
    clv_what_if w;
    uint32_t kind;
} trial;

static int by_nodes(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    if (x->w.nodes != y->w.nodes)
        return x->w.nodes > y->w.nodes ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static int by_gain(const void *a, const void *b)
{
    const clv_what_if *x = a, *y = b;
    if (x->subgraphs != y->subgraphs)
        return x->subgraphs < y->subgraphs ? -1 : 1;
    if (x->crossing_bytes != y->crossing_bytes)
        return x->crossing_bytes < y->crossing_bytes ? -1 : 1;
    return strcmp(x->op, y->op);
}

/* Labels the graph anew, with the nodes of one kind supported. */
static bool try_kind(job *j, const uint32_t *kind, uint8_t *side, trial *t)
{
    arena_mark mark = arena_save(&j->mem);
    labels l;
    blocks b;
    for (uint32_t i = 0; i < j->d.n; i++) {
        const clv_node_support *s = &j->s->nodes[i];
        side[i] = (uint8_t)s->side;
        if (kind[i] == t->kind)
            side[i] = s->arithmetic ? CLV_SIDE_ACCELERATOR : CLV_SIDE_EITHER;
    }
    bool ok = solve(j, side, &l) && clv__blocks_of(&j->mem, &l, j->d.n, &b);
    if (ok) {
        t->w.subgraphs = b.n;
        t->w.crossing_bytes = clv__crossing_bytes(j->g, b.of, b.n);
        ok = t->w.crossing_bytes >= 0;
        t->w.fewer_subgraphs = (int64_t)j->b.n - b.n;
        t->w.fewer_bytes = j->info.crossing_bytes - t->w.crossing_bytes;
    }
    arena_rewind(&j->mem, mark);
    return ok;
}

/* The number of a text: that of the equal one before it, or the next. The text
 * must outlive the map. CLV_NONE: no memory. */
static uint32_t number_of(strmap *seen, const char *text, uint32_t *n)
{
    size_t len = strlen(text);
    uint32_t k = strmap_get(seen, text, len);
    if (k == CLV_NONE && strmap_put(seen, text, len, *n))
        k = (*n)++;
    return k;
}

/* Numbers the kinds of operators that could be supported; kind[i] is CLV_NONE
 * for all other nodes. */
static bool number_kinds(const job *j, uint32_t *kind, uint32_t *n)
{
    strmap seen = {0};
    bool ok = true;
    *n = 0;
    for (uint32_t i = 0; i < j->d.n && ok; i++) {
        kind[i] = CLV_NONE;
        if (could_be_supported(j, i)) {
            kind[i] = number_of(&seen, kind_of(j->g, i), n);
            ok = kind[i] != CLV_NONE;
        }
    }
    strmap_free(&seen);
    return ok;
}

/* One trial per kind, those with the most nodes first. */
static trial *list_trials(job *j, const uint32_t *kind, uint32_t n)
{
    trial *list = arena_zalloc(&j->mem, ((size_t)n + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < j->d.n; i++) {
        if (kind[i] == CLV_NONE)
            continue;
        trial *t = &list[kind[i]];
        if (t->w.nodes++ == 0) {
            t->kind = kind[i];
            t->w.op = kind_of(j->g, i);
            t->w.reason = j->s->nodes[i].reason;
        }
    }
    if (list)
        qsort(list, n, sizeof *list, by_nodes);
    return list;
}

/* A trial takes time in proportion to the nodes. All kinds are tried unless
 * that is too much work; then the ones with the most nodes are, and the report
 * says how many are left. */
enum { WHAT_IF_WORK = 1 << 23, WHAT_IF_LEAST = 256 };

static uint32_t trials_worth_it(uint32_t n_kinds, uint32_t n_nodes)
{
    uint32_t most = WHAT_IF_WORK / (n_nodes + 1);
    most = most > WHAT_IF_LEAST ? most : WHAT_IF_LEAST;
    return n_kinds < most ? n_kinds : most;
}

static bool what_if(job *j, clv_cut *c)
{
    size_t nodes = (size_t)j->d.n + 1;
    uint32_t n, *kind = arena_array(&j->mem, nodes, sizeof *kind);
    uint8_t *side = arena_alloc(&j->mem, nodes);
    if (!kind || !side || !number_kinds(j, kind, &n))
        return false;
    uint32_t tried = trials_worth_it(n, j->d.n);
    trial *trials = list_trials(j, kind, n);
    clv_what_if *list = arena_array(&c->mem, (size_t)tried + 1, sizeof *list);
    if (!trials || !list)
        return false;
    for (uint32_t k = 0; k < tried; k++) {
        const char *why = trials[k].w.reason;
        if (clv__within(0, NULL) != CLV_OK ||
            !try_kind(j, kind, side, &trials[k]))
            return false;
        list[k] = trials[k].w;
        if (!(list[k].reason = arena_strndup(&c->mem, why, strlen(why))))
            return false;
    }
    qsort(list, tried, sizeof *list, by_gain);
    j->info.what_if = list;
    j->info.n_what_if = tried;
    j->info.what_if_untried = n - tried;
    return true;
}

/* -- the cut --------------------------------------------------------------*/

/* Why a CPU block is one: the first reason among its nodes. */
static bool explain(const job *j, clv_cut *c)
{
    for (uint32_t k = 0; k < c->n_subs; k++) {
        clv_subgraph *s = &c->subs[k];
        if (strcmp(s->device, "cpu") != 0)
            continue;
        for (uint32_t i = 0; i < s->n_nodes; i++) {
            uint32_t node = s->nodes[i];
            const char *why = j->s->nodes[node].reason;
            if (j->s->nodes[node].side != CLV_SIDE_CPU)
                continue;
            s->reason = CLV_REASON_UNSUPPORTED;
            s->detail = arena_printf(&c->mem, "%s: %s", kind_of(j->g, node),
                                     *why ? why : "not supported");
            if (!s->detail)
                return false;
            break;
        }
    }
    return true;
}

/* Numbers the rows of the table of support: nodes of one kind with one answer
 * and one reason share a row. row[i] is CLV_NONE where node i does no work. */
static bool number_rows(job *j, uint32_t *row, uint32_t *n)
{
    strmap seen = {0};
    bool ok = true;
    *n = 0;
    for (uint32_t i = 0; i < j->d.n && ok; i++) {
        const clv_node_support *s = &j->s->nodes[i];
        row[i] = CLV_NONE;
        if (!s->arithmetic)
            continue;
        const char *key = arena_printf(&j->mem, "%d %d %s\n%s", s->supported,
                                       (int)j->g->nodes[i].op, kind_of(j->g, i),
                                       s->supported ? "" : s->reason);
        ok = key && (row[i] = number_of(&seen, key, n)) != CLV_NONE;
    }
    strmap_free(&seen);
    return ok;
}

static bool list_support(job *j, clv_cut *c)
{
    uint32_t n, *row = arena_array(&j->mem, (size_t)j->d.n + 1, sizeof *row);
    if (!row || !number_rows(j, row, &n))
        return false;
    clv_support_row *rows =
        arena_zalloc(&c->mem, ((size_t)n + 1) * sizeof *rows);
    for (uint32_t i = 0; rows && i < j->d.n; i++) {
        const clv_node_support *s = &j->s->nodes[i];
        const clv_node *x = &j->g->nodes[i];
        if (row[i] == CLV_NONE || rows[row[i]].count++ > 0)
            continue;
        const char *why = s->supported ? "" : s->reason;
        rows[row[i]] = (clv_support_row){
            .op = clv__ops[x->op].name,
            .origin = clv__op_origin(x),
            .supported = s->supported,
            .count = 1,
            .node = i,
            .reason = arena_strndup(&c->mem, why, strlen(why)),
        };
        if (!rows[row[i]].reason)
            return false;
    }
    j->info.rows = rows;
    j->info.n_rows = n;
    return rows != NULL;
}

static bool list_sides(job *j, clv_cut *c)
{
    uint8_t *sides = arena_alloc(&c->mem, (size_t)j->d.n + 1);
    for (uint32_t i = 0; sides && i < j->d.n; i++)
        sides[i] = (uint8_t)j->s->nodes[i].side;
    j->info.sides = sides;
    return sides != NULL;
}

static bool list_demoted(job *j, clv_cut *c)
{
    uint32_t *list = arena_array(&c->mem, (size_t)j->d.n + 1, sizeof *list);
    for (uint32_t i = 0; list && i < j->d.n; i++)
        if (j->s->nodes[i].side == CLV_SIDE_ACCELERATOR &&
            j->b.side[j->b.of[i]] == CLV_SIDE_CPU) {
            list[j->info.n_demoted++] = i;
            j->info.demoted_flops =
                sat_add(j->info.demoted_flops, j->p->layers[i].cost.flops);
        }
    j->info.demoted = list;
    return list != NULL;
}

static clv_status publish(job *j, clv_cut *c, clv_err *e)
{
    clv_capability_info *info = arena_alloc(&c->mem, sizeof *info);
    const char *device = j->s->device;
    j->info.crossing_bytes = clv__crossing_bytes(j->g, j->b.of, j->b.n);
    j->info.device = arena_strndup(&c->mem, device, strlen(device));
    bool ok = info && j->info.device && j->info.crossing_bytes >= 0 &&
              explain(j, c) && list_support(j, c) && list_sides(j, c) &&
              list_demoted(j, c) &&
              (j->info.peak_bytes = clv__cut_peaks(c)) != NULL &&
              (j->o.no_what_if || what_if(j, c));
    if (!ok)
        return clv__nomem(e);
    for (uint32_t k = 0; k < c->n_subs; k++)
        j->info.accelerator += strcmp(c->subs[k].device, "cpu") != 0;
    j->info.supported = j->s->supported;
    j->info.total = j->s->total;
    j->info.percentage = j->s->percentage;
    *info = j->info;
    c->capability = info;
    return CLV_OK;
}

static clv_status run(job *j, clv_cut **out, clv_err *e)
{
    CLV_TRY(check_support(j, e));
    CLV_TRY(prepare(j, e));
    uint8_t *given = arena_alloc(&j->mem, (size_t)j->d.n + 1);
    if (!given || !clv__label(&j->mem, &j->d, j->side, j->least) ||
        !solve(j, j->side, &j->l))
        return clv__nomem(e);
    memcpy(given, j->side, j->d.n);
    CLV_TRY(make_blocks(j, e));
    CLV_TRY(meet_limits(j, e));
    CLV_TRY(clv__blocks_cut(j->p, "capability", &j->b, j->s->device, out, e));
    memcpy(j->side, given, j->d.n); /* certificate and what-if: as supported */
    return certify(j, *out) ? publish(j, *out, e) : clv__nomem(e);
}

clv_status clv_cut_capability(const clv_profile *p, const clv_support_info *s,
                              const clv_capability_opts *opts, clv_cut **out,
                              clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    CLV_NEED(s, err);
    clv_support_info support;
    CLV_READ(clv_support_info, s, &support, err);
    job j = {.p = p, .g = p->g, .s = &support, .info.size = sizeof j.info};
    CLV_TRY(clv__check_support(p->g, &support, err));
    CLV_READ(clv_capability_opts, opts, &j.o, err);
    clv_status st = run(&j, out, err);
    arena_free(&j.mem);
    if (st != CLV_OK) {
        clv_cut_free(*out);
        *out = NULL;
    }
    return st;
}

const clv_capability_info *clv_cut_capability_info(const clv_cut *c)
{
    return c->capability;
}
