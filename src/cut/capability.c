/* capability.c - cuts a graph by what a backend supports.
 *
 * A supported node runs on the accelerator, an unsupported one on the CPU. A
 * node that does no work (a view, shape arithmetic) runs on whichever side is
 * cheaper. A block is a set of nodes on one side that runs in one piece; blocks
 * become the subgraphs of the cut.
 *
 *   1. refuse the cut if the share of supported operators is too small
 *   2. label the nodes: find the fewest blocks, and the path that proves that
 *      there cannot be fewer (label.c)
 *   3. move nodes that may run on either side, so that fewer bytes cross
 *      between blocks; their number stays the same (label.c)
 *   4. split blocks whose nodes no edge connects, if asked (blocks.c)
 *   5. meet the limits: refuse the cut and say both numbers, or demote nodes,
 *      that is, send supported nodes to the CPU, until the limits hold. Nothing
 *      changes the blocks after this step
 *   6. for each unsupported kind of operator, repeat 2 and 3 as if it were
 *      supported, and report what that would save ("what if")
 *
 * Invariant: the certificate (2) and the trials (6) answer for the support as
 * the backend gave it; demotion does not change them. */
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
    labels least[2]; /* the fewest blocks for the support as given: [0] begins
                      * with a CPU block, [1] with an accelerator block */
    labels l;        /* the labels that the blocks are made of */
    blocks b;
    clv_capability_info info;
} job;

/* -- labels ---------------------------------------------------------------*/

/* Sets *out to labels with the fewest blocks that `side` allows, and among
 * those to one where few bytes cross. Returns false when memory runs out. */
static bool capability_solve(job *j, const uint8_t *side, labels *out)
{
    labels l[2];
    if (!clv__label(&j->mem, &j->d, side, l))
        return false;
    *out = l[clv__label_best(l, j->o.objective == CLV_OBJECTIVE_ACCELERATOR)];
    return clv__label_sweep(j->g, &j->d, side, out);
}

/* Sets j->b to the blocks that the labels j->l describe. */
static clv_status capability_make_blocks(job *j, clv_err *e)
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

static clv_status capability_check_order(const job *j, clv_err *e)
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

static clv_status capability_prepare(job *j, clv_err *e)
{
    uint32_t n = j->g->n_nodes;
    CLV_TRY(capability_check_order(j, e));
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

/* Stores the certificate that capability.h describes: one path of `minimum`
 * nodes, or two paths of one node less that begin on different sides. Returns
 * false when memory runs out. */
static bool capability_certify(job *j, clv_cut *c)
{
    bool accelerator = j->o.objective == CLV_OBJECTIVE_ACCELERATOR;
    uint32_t best = clv__label_best(j->least, accelerator), paths = 0;
    j->info.minimum = accelerator ? clv__label_accelerator(&j->least[best])
                                  : j->least[best].n;
    for (uint32_t k = 0; k < 2; k++) {
        /* Labels that begin with the CPU have the fewest accelerator
         * blocks. */
        const labels *l = &j->least[accelerator ? 0 : k ? !best : best];
        uint32_t *out = arena_array(&c->mem, (size_t)l->n + 1, sizeof *out);
        uint32_t n = out ? clv__label_witness(&j->mem, &j->d, j->side, l, out)
                         : CLV_NONE;
        if (n == CLV_NONE)
            return false;
        bool enough = accelerator || n >= j->info.minimum;
        if (enough)
            paths = 0; /* this path alone is a proof */
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

static clv_status capability_check_support(const job *j, clv_err *e)
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

/* Returns how many arithmetic operators each block has, NULL when memory runs
 * out. */
static uint32_t *capability_sizes(job *j)
{
    uint32_t *size = arena_zalloc(&j->mem, (j->b.n + 1) * sizeof *size);
    for (uint32_t i = 0; size && i < j->d.n; i++)
        size[j->b.of[i]] += j->s->nodes[i].arithmetic;
    return size;
}

static clv_status refuse_small(const job *j, uint32_t k, uint32_t size,
                               clv_err *e)
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

static clv_status refuse_many(const job *j, clv_err *e)
{
    return clv__fail(e, CLV_LIMIT,
                     "The partitioner has found %u subgraphs which exceeds the "
                     "specified max subgraph count of %u.",
                     j->b.n, j->o.max_subgraph_count);
}

/* -- demotion -------------------------------------------------------------*/

/* Marks each block that is too small, and its neighbours. Blocks that were made
 * connected are neighbours if an edge links them. Other blocks are neighbours
 * if one runs right after the other. */
static void demote_mark_small(const job *j, const uint32_t *size, bool *marked)
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

/* Returns the accelerator block to demote: the one with the fewest FLOPs among
 * the marked ones. Returns CLV_NONE when there is none, or memory runs out. */
static uint32_t demote_choose(job *j, const uint32_t *size)
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
    demote_mark_small(j, size, marked);
    for (uint32_t k = 0; k < j->b.n; k++)
        if (j->b.side[k] == CLV_SIDE_ACCELERATOR && marked[k] &&
            (best == CLV_NONE || flops[k] < flops[best]))
            best = k;
    return best;
}

/* Sends the nodes of a block that must run on the accelerator to the CPU. A
 * block without such nodes sends all its nodes, so that each call changes
 * something and demote_small ends. */
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
        uint32_t *size = capability_sizes(j), k = 0;
        if (!size)
            return clv__nomem(e);
        while (k < j->b.n && size[k] >= j->o.min_subgraph_size)
            k++;
        if (k == j->b.n)
            return CLV_OK;
        uint32_t victim = demote_choose(j, size);
        if (victim == CLV_NONE || !j->o.demote)
            return refuse_small(j, k, size[k], e);
        CLV_TRY(clv__within(0, e));
        demote_block(j, victim);
        if (!capability_solve(j, j->side, &j->l))
            return clv__nomem(e);
        CLV_TRY(capability_make_blocks(j, e));
    }
}

/* Finds the placement with at most max_subgraph_count blocks that costs the
 * least. A FLOP on the CPU costs one, and so does a byte that crosses. */
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
    return capability_make_blocks(j, e);
}

static clv_status capability_meet_limits(job *j, clv_err *e)
{
    uint32_t most =
        j->o.max_subgraph_count ? j->o.max_subgraph_count : UINT32_MAX;
    CLV_TRY(demote_small(j, e));
    if (j->b.n > most && j->o.demote) {
        CLV_TRY(demote_many(j, e));
        CLV_TRY(demote_small(j, e)); /* fewer blocks may be small ones */
    }
    return j->b.n > most ? refuse_many(j, e) : CLV_OK;
}

/* -- what if --------------------------------------------------------------*/

static const char *capability_kind(const clv_graph *g, uint32_t i)
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

static int trial_by_nodes(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    if (x->w.nodes != y->w.nodes)
        return x->w.nodes > y->w.nodes ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static int trial_by_gain(const void *a, const void *b)
{
    const clv_what_if *x = a, *y = b;
    if (x->subgraphs != y->subgraphs)
        return x->subgraphs < y->subgraphs ? -1 : 1;
    if (x->crossing_bytes != y->crossing_bytes)
        return x->crossing_bytes < y->crossing_bytes ? -1 : 1;
    return strcmp(x->op, y->op);
}

/* Labels the graph anew, with the nodes of one kind supported. */
static bool trial_run(job *j, const uint32_t *kind, uint8_t *side, trial *t)
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
    bool ok = capability_solve(j, side, &l) &&
              clv__blocks_of(&j->mem, &l, j->d.n, &b);
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

/* Returns the number of a text: equal texts have the same number, a new text
 * gets the next one. The map borrows the text. Returns CLV_NONE when memory
 * runs out. */
static uint32_t trial_number(strmap *seen, const char *text, uint32_t *n)
{
    size_t len = strlen(text);
    uint32_t k = strmap_get(seen, text, len);
    if (k == CLV_NONE && strmap_put(seen, text, len, *n))
        k = (*n)++;
    return k;
}

/* Gives each kind of operator that could be supported a number: kind[i] is that
 * of node i. For all other nodes kind[i] is CLV_NONE. */
static bool trial_number_kinds(const job *j, uint32_t *kind, uint32_t *n)
{
    strmap seen = {0};
    bool ok = true;
    *n = 0;
    for (uint32_t i = 0; i < j->d.n && ok; i++) {
        kind[i] = CLV_NONE;
        if (could_be_supported(j, i)) {
            kind[i] = trial_number(&seen, capability_kind(j->g, i), n);
            ok = kind[i] != CLV_NONE;
        }
    }
    strmap_free(&seen);
    return ok;
}

/* Returns one trial per kind, the kind with the most nodes first. */
static trial *trial_list(job *j, const uint32_t *kind, uint32_t n)
{
    trial *list = arena_zalloc(&j->mem, ((size_t)n + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < j->d.n; i++) {
        if (kind[i] == CLV_NONE)
            continue;
        trial *t = &list[kind[i]];
        if (t->w.nodes++ == 0) {
            t->kind = kind[i];
            t->w.op = capability_kind(j->g, i);
            t->w.reason = j->s->nodes[i].reason;
        }
    }
    if (list)
        qsort(list, n, sizeof *list, trial_by_nodes);
    return list;
}

/* A trial takes time in proportion to the nodes. All kinds are tried unless
 * that is too much work; then the ones with the most nodes are, and the report
 * says how many are left. */
enum { WHAT_IF_WORK = 1 << 23, WHAT_IF_LEAST = 256 };

static uint32_t trial_worth(uint32_t n_kinds, uint32_t n_nodes)
{
    uint32_t most = WHAT_IF_WORK / (n_nodes + 1);
    most = most > WHAT_IF_LEAST ? most : WHAT_IF_LEAST;
    return n_kinds < most ? n_kinds : most;
}

static bool capability_what_if(job *j, clv_cut *c)
{
    size_t nodes = (size_t)j->d.n + 1;
    uint32_t n, *kind = arena_array(&j->mem, nodes, sizeof *kind);
    uint8_t *side = arena_alloc(&j->mem, nodes);
    if (!kind || !side || !trial_number_kinds(j, kind, &n))
        return false;
    uint32_t tried = trial_worth(n, j->d.n);
    trial *trials = trial_list(j, kind, n);
    clv_what_if *list = arena_array(&c->mem, (size_t)tried + 1, sizeof *list);
    if (!trials || !list)
        return false;
    for (uint32_t k = 0; k < tried; k++) {
        const char *why = trials[k].w.reason;
        if (clv__within(0, NULL) != CLV_OK ||
            !trial_run(j, kind, side, &trials[k]))
            return false;
        list[k] = trials[k].w;
        if (!(list[k].reason = arena_strndup(&c->mem, why, strlen(why))))
            return false;
    }
    qsort(list, tried, sizeof *list, trial_by_gain);
    j->info.what_if = list;
    j->info.n_what_if = tried;
    j->info.what_if_untried = n - tried;
    return true;
}

/* -- the cut --------------------------------------------------------------*/

/* Says of each CPU block why it is one: the reason of its first node that must
 * run there. Returns false when memory runs out. */
static bool capability_explain(const job *j, clv_cut *c)
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
            s->detail =
                arena_printf(&c->mem, "%s: %s", capability_kind(j->g, node),
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
        const char *key = arena_printf(
            &j->mem, "%d %d %s\n%s", s->supported, (int)j->g->nodes[i].op,
            capability_kind(j->g, i), s->supported ? "" : s->reason);
        ok = key && (row[i] = trial_number(&seen, key, n)) != CLV_NONE;
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

static clv_status capability_publish(job *j, clv_cut *c, clv_err *e)
{
    clv_capability_info *info = arena_alloc(&c->mem, sizeof *info);
    const char *device = j->s->device;
    j->info.crossing_bytes = clv__crossing_bytes(j->g, j->b.of, j->b.n);
    j->info.device = arena_strndup(&c->mem, device, strlen(device));
    bool ok = info && j->info.device && j->info.crossing_bytes >= 0 &&
              capability_explain(j, c) && list_support(j, c) &&
              list_sides(j, c) && list_demoted(j, c) &&
              (j->info.peak_bytes = clv__cut_peaks(c)) != NULL &&
              (j->o.no_what_if || capability_what_if(j, c));
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

static clv_status capability_run(job *j, clv_cut **out, clv_err *e)
{
    CLV_TRY(capability_check_support(j, e));
    CLV_TRY(capability_prepare(j, e));
    uint8_t *given = arena_alloc(&j->mem, (size_t)j->d.n + 1);
    if (!given || !clv__label(&j->mem, &j->d, j->side, j->least) ||
        !capability_solve(j, j->side, &j->l))
        return clv__nomem(e);
    memcpy(given, j->side, j->d.n);
    CLV_TRY(capability_make_blocks(j, e));
    CLV_TRY(capability_meet_limits(j, e));
    CLV_TRY(clv__blocks_cut(j->p, "capability", &j->b, j->s->device, out, e));
    memcpy(j->side, given, j->d.n); /* certificate and what-if: as supported */
    return capability_certify(j, *out) ? capability_publish(j, *out, e)
                                       : clv__nomem(e);
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
    clv_status st = capability_run(&j, out, err);
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
