/* cut.c - builds a cut from a label per node, in linear time.
 *
 *   1. group nodes by label (counting sort keeps execution order)
 *   2. order the groups: Kahn over the quotient, lowest first node first
 *   3. interface of each group: values in, values out
 *   4. cost: sum of its nodes, less the traffic that stays inside
 *
 * Traffic is accounted by storage: a view is its source. A tensor made inside
 * is written to memory only if it escapes (is read by another group or leaves
 * the graph), and is read from memory by no node of its group; a tensor from
 * outside is read once per group. So external + internal = one by one. */
#include "cut/cut.h"
#include "core/limits.h"

#include "core/heap.h"

#include <stdlib.h>
#include <string.h>

const char *clv_reason_name(clv_reason r)
{
    static const char *const names[] = {
#define CLV_X(code, name) [CLV_REASON_##code] = name,
        CLV_REASON_TABLE(CLV_X)
#undef CLV_X
    };
    return CLV_NAME(names, r);
}

/* -- groups ---------------------------------------------------------------*/

typedef struct groups {
    uint32_t n;
    uint32_t *first; /* nodes of group k: node[first[k] .. first[k+1]) */
    uint32_t *node;
} groups;

static bool group_nodes(arena *a, const uint32_t *label, uint32_t n_nodes,
                        uint32_t n, groups *out)
{
    out->n = n;
    out->first = arena_zalloc(a, ((size_t)n + 2) * sizeof *out->first);
    out->node = arena_array(a, (size_t)n_nodes + 1, sizeof *out->node);
    if (!out->first || !out->node)
        return false;
    uint32_t *end = out->first + 1;
    for (uint32_t i = 0; i < n_nodes; i++)
        end[label[i] + 1]++;
    for (uint32_t k = 0; k < n; k++)
        end[k + 1] += end[k];
    for (uint32_t i = 0; i < n_nodes; i++)
        out->node[end[label[i]]++] = i;
    return true;
}

uint32_t *clv__stateful_before(const clv_graph *g, arena *a)
{
    uint32_t last = CLV_NONE;
    uint32_t *before = arena_array(a, (size_t)g->n_nodes + 1, sizeof *before);
    for (uint32_t i = 0; before && i < g->n_nodes; i++) {
        bool stateful = g->nodes[i].flags & CLV_N_STATEFUL;
        before[i] = stateful ? last : CLV_NONE;
        last = stateful ? i : last;
    }
    return before;
}

/* -- order ----------------------------------------------------------------*/

/* Runs the statement that follows for every edge from group k to another
 * group, whose number is then in `to`. */
#define EACH_CROSSING(g, label, k, gr, to) \
    for (uint32_t at = (gr)->first[k]; at < (gr)->first[(k) + 1]; at++) \
        for (uint32_t o = 0; o < (g)->nodes[(gr)->node[at]].n_out; o++) \
            for (uint32_t v = node_outs(g, &(g)->nodes[(gr)->node[at]])[o], \
                          u = (g)->user_first[v]; \
                 u < (g)->user_first[v + 1]; u++) \
                if (((to) = (label)[(g)->users[u]]) != (k))

/* Pairs of nodes that must keep their order although no tensor links them: each
 * stateful node and the next one, and the pairs that the caller asked for. Each
 * node has a list of its pairs. */
typedef struct waiting {
    uint32_t *first;        /* per node: its first pair, or CLV_NONE */
    uint32_t *next, *after; /* per pair: the next pair of the same node; the
                             * node that waits */
    uint32_t n;
} waiting;

static void waiting_add(waiting *w, uint32_t before, uint32_t after)
{
    w->after[w->n] = after;
    w->next[w->n] = w->first[before];
    w->first[before] = w->n++;
}

static bool waiting_make(const clv_graph *g, const cut_labels *l, arena *a,
                         waiting *w)
{
    size_t room = (size_t)g->n_nodes + l->n_order + 1;
    uint32_t *before = clv__stateful_before(g, a);
    w->first = arena_array(a, (size_t)g->n_nodes + 1, sizeof *w->first);
    w->next = arena_array(a, room, sizeof *w->next);
    w->after = arena_array(a, room, sizeof *w->after);
    w->n = 0;
    if (!before || !w->first || !w->next || !w->after)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        w->first[i] = CLV_NONE;
        if (before[i] != CLV_NONE)
            waiting_add(w, before[i], i);
    }
    for (uint32_t i = 0; i < l->n_order; i++)
        waiting_add(w, l->order[i].before, l->order[i].after);
    return true;
}

/* Runs the statement that follows for every pair that makes another group,
 * whose number is then in `to`, wait for group k. */
#define EACH_WAITING(label, k, gr, w, to) \
    for (uint32_t at = (gr)->first[k]; at < (gr)->first[(k) + 1]; at++) \
        for (uint32_t x = (w)->first[(gr)->node[at]]; x != CLV_NONE; \
             x = (w)->next[x]) \
            if (((to) = (label)[(w)->after[x]]) != (k))

static clv_status order_groups(const clv_graph *g, const cut_labels *l,
                               const groups *gr, arena *a, uint32_t *order,
                               clv_err *e)
{
    const uint32_t *label = l->of;
    waiting w;
    uint32_t *missing = arena_zalloc(a, ((size_t)gr->n + 1) * sizeof *missing);
    double *first = arena_array(a, (size_t)gr->n + 1, sizeof *first);
    heap h = {arena_array(a, (size_t)gr->n + 1, sizeof *h.item), 0, first};
    if (!missing || !first || !h.item || !waiting_make(g, l, a, &w))
        return clv__nomem(e);
    for (uint32_t k = 0; k < gr->n; k++)
        first[k] = gr->node[gr->first[k]];
    uint32_t to, done = 0;
    for (uint32_t k = 0; k < gr->n; k++) {
        EACH_CROSSING(g, label, k, gr, to)
        missing[to]++;
        EACH_WAITING(label, k, gr, &w, to)
        missing[to]++;
    }
    for (uint32_t k = 0; k < gr->n; k++)
        if (!missing[k])
            heap_push(&h, k);
    while (h.n) {
        uint32_t k = heap_pop(&h);
        order[k] = done++;
        EACH_CROSSING(g, label, k, gr, to)
        if (--missing[to] == 0)
            heap_push(&h, to);
        EACH_WAITING(label, k, gr, &w, to)
        if (--missing[to] == 0)
            heap_push(&h, to);
    }
    for (uint32_t k = 0; done < gr->n && k < gr->n; k++)
        if (missing[k])
            return clv__fail(e, CLV_INTERNAL,
                             "the subgraph of '%s' is part of a cycle",
                             g->nodes[gr->node[gr->first[k]]].name);
    return CLV_OK;
}

/* -- interface ------------------------------------------------------------*/

/* Marks the values that occur in a subgraph. Subgraphs are walked one by
 * one. */
typedef struct marks {
    uint32_t *seen; /* per value: the last subgraph (plus one) that has it */
} marks;

static bool cut_mark(marks *m, uint32_t v, uint32_t k)
{
    if (m->seen[v] == k + 1)
        return false;
    m->seen[v] = k + 1;
    return true;
}

static bool cut_leaves(const clv_cut *c, uint32_t v, uint32_t k)
{
    const clv_graph *g = c->p->g;
    if (g->values[v].flags & CLV_V_OUTPUT)
        return true;
    for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
        if (c->of[g->users[u]] != k)
            return true;
    return false;
}

static void cut_interface(clv_cut *c, uint32_t k, marks *m, uint32_t *ins,
                          uint32_t *outs)
{
    const clv_graph *g = c->p->g;
    clv_subgraph *s = &c->subs[k];
    s->inputs = ins;
    s->outputs = outs;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        for (uint32_t j = 0; j < n->n_in; j++) {
            uint32_t v = node_ins(g, n)[j];
            if (v == CLV_NONE || !cut_mark(m, v, k))
                continue;
            uint32_t maker = g->values[v].producer;
            if (maker == CLV_NONE || c->of[maker] != k)
                ins[s->n_inputs++] = v;
        }
        for (uint32_t j = 0; j < n->n_out; j++)
            if (cut_leaves(c, node_outs(g, n)[j], k))
                outs[s->n_outputs++] = node_outs(g, n)[j];
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Makes subgraph k depend on the subgraph of `node`, once: seen, per subgraph,
 * holds the last one (plus one) that has it as a dependency. */
static void wait_for(clv_cut *c, uint32_t k, uint32_t node, uint32_t *seen,
                     uint32_t *deps)
{
    uint32_t other = node == CLV_NONE ? k : c->of[node];
    if (other == k || seen[other] == k + 1)
        return;
    seen[other] = k + 1;
    deps[c->subs[k].n_depends_on++] = other;
}

/* Finds the dependencies of subgraph k: the makers of its inputs, and the nodes
 * that must run before its own. */
static void cut_dependencies(clv_cut *c, uint32_t k, const uint32_t *before,
                             uint32_t *seen, uint32_t *deps)
{
    const clv_graph *g = c->p->g;
    clv_subgraph *s = &c->subs[k];
    s->depends_on = deps;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        wait_for(c, k, g->values[s->inputs[i]].producer, seen, deps);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        wait_for(c, k, before[s->nodes[i]], seen, deps);
    qsort(deps, s->n_depends_on, sizeof *deps, by_number);
}

/* -- cost -----------------------------------------------------------------*/

/* Stores in bytes[i] the bytes of the i-th input of n, for activations or for
 * weights; an input that repeats counts 0. Returns their sum. */
static int64_t whole_reads(const clv_graph *g, const clv_node *n, bool weights,
                           int64_t *bytes)
{
    int64_t all = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (v && value_is_fixed(v) != weights)
            continue;
        bool known = v && v->rank != CLV_NO_RANK && !input_repeats(g, n, i);
        bytes[i] = known ? clv__held_bytes(v) : 0;
        all = sat_add(all, bytes[i]);
    }
    return all;
}

/* Scales the reads of one kind from `all` bytes to the `have` bytes that the
 * operator really reads. The last input takes what rounding leaves. */
static void share_reads(const clv_graph *g, const clv_node *n, bool weights,
                        int64_t all, int64_t have, int64_t *bytes)
{
    int64_t left = have, *last = NULL;
    double ratio = (double)have / (double)all;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || value_is_fixed(v) != weights || bytes[i] == 0)
            continue;
        int64_t share = (int64_t)((double)bytes[i] * ratio);
        bytes[i] = share < left ? share : left;
        left -= bytes[i];
        last = &bytes[i];
    }
    if (last)
        *last += left;
}

void clv__node_reads(const clv_graph *g, const clv_node *n, const clv_cost *c,
                     int64_t *bytes)
{
    if (c->trust == CLV_TRUST_FREE) {
        memset(bytes, 0, n->n_in * sizeof *bytes);
        return;
    }
    int64_t acts = whole_reads(g, n, false, bytes);
    int64_t weights = whole_reads(g, n, true, bytes);
    if (acts > 0 && acts != c->bytes_in)
        share_reads(g, n, false, acts, c->bytes_in, bytes);
    if (weights > 0 && weights != c->bytes_weights)
        share_reads(g, n, true, weights, c->bytes_weights, bytes);
}

enum { READ_INSIDE = 1, ESCAPES = 2 };

/* Finds how each storage made by a group is read: by nodes of the same group
 * (READ_INSIDE), or outside (ESCAPES) when a node of another group reads it, or
 * when it or a view of it is a graph output. Views read nothing. */
static uint8_t *find_readers(const clv_cut *c, arena *a)
{
    const clv_graph *g = c->p->g;
    uint8_t *how = arena_zalloc(a, (size_t)g->n_values + 1);
    if (!how)
        return NULL;
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t root = clv__storage(g, v), maker = g->values[root].producer;
        if (maker == CLV_NONE)
            continue;
        if (g->values[v].flags & CLV_V_OUTPUT)
            how[root] |= ESCAPES;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++) {
            uint32_t reader = g->users[u];
            if (c->p->layers[reader].cost.trust != CLV_TRUST_FREE)
                how[root] |=
                    c->of[reader] == c->of[maker] ? READ_INSIDE : ESCAPES;
        }
    }
    return how;
}

static void add_node_cost(clv_cost *sum, const clv_cost *c)
{
    sum->macs = sat_add(sum->macs, c->macs);
    sum->flops = sat_add(sum->flops, c->flops);
    sum->params = sat_add(sum->params, c->params);
    if (c->trust != CLV_TRUST_FREE &&
        (sum->trust == CLV_TRUST_FREE || c->trust > sum->trust))
        sum->trust = c->trust;
}

/* The bytes read of each value so far, by the subgraph that marked it. */
typedef struct reads {
    marks m;
    int64_t *most;  /* per value: the most one node reads of it */
    int64_t *bytes; /* per input of the node at hand */
} reads;

/* Adds the reads of a node. If several nodes of a subgraph read parts of the
 * same tensor, the largest part counts. */
static void add_reads(const clv_cut *c, uint32_t k, uint32_t id, reads *r,
                      clv_cost *sum)
{
    const clv_graph *g = c->p->g;
    const clv_node *n = &g->nodes[id];
    clv__node_reads(g, n, &c->p->layers[id].cost, r->bytes);
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (r->bytes[i] == 0)
            continue;
        uint32_t maker = g->values[clv__storage(g, v)].producer;
        if (maker != CLV_NONE && c->of[maker] == k)
            continue;
        if (cut_mark(&r->m, v, k))
            r->most[v] = 0;
        if (r->bytes[i] <= r->most[v])
            continue;
        int64_t *to = value_is_fixed(&g->values[v]) ? &sum->bytes_weights
                                                    : &sum->bytes_in;
        *to = sat_add(*to, r->bytes[i] - r->most[v]);
        r->most[v] = r->bytes[i];
    }
}

/* Adds all that a node writes, except tensors that only its own subgraph
 * reads. */
static void add_writes(const clv_cut *c, uint32_t id, const uint8_t *how,
                       clv_cost *sum)
{
    const clv_graph *g = c->p->g;
    const clv_node *n = &g->nodes[id];
    int64_t written = c->p->layers[id].cost.bytes_out;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t v = node_outs(g, n)[i];
        if (how[v] == READ_INSIDE && g->values[v].rank != CLV_NO_RANK)
            written -= clv__held_bytes(&g->values[v]);
    }
    if (written > 0)
        sum->bytes_out = sat_add(sum->bytes_out, written);
}

static void sum_cost(clv_cut *c, uint32_t k, reads *r, const uint8_t *how)
{
    clv_subgraph *s = &c->subs[k];
    const clv_layer *heaviest = NULL;
    int64_t apart = 0;
    s->cost.trust = CLV_TRUST_FREE;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_layer *l = &c->p->layers[s->nodes[i]];
        add_node_cost(&s->cost, &l->cost);
        add_reads(c, k, s->nodes[i], r, &s->cost);
        add_writes(c, s->nodes[i], how, &s->cost);
        apart = sat_add(apart, l->cost.bytes_in + l->cost.bytes_weights +
                                   l->cost.bytes_out);
        if (!heaviest || l->cost.flops > heaviest->cost.flops)
            heaviest = l;
    }
    int64_t bytes =
        s->cost.bytes_in + s->cost.bytes_weights + s->cost.bytes_out;
    s->bytes_external = bytes;
    s->bytes_internal = apart - bytes;
    s->intensity = bytes > 0 ? (double)s->cost.flops / (double)bytes : 0;
    s->bottleneck = clv__bottleneck_of(s->intensity);
    s->parallel = heaviest->parallel;
}

/* -- the cut --------------------------------------------------------------*/

static bool reads_new(const clv_graph *g, arena *a, reads *r)
{
    size_t n_values = (size_t)g->n_values + 1;
    uint32_t most_in = 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        most_in = g->nodes[i].n_in > most_in ? g->nodes[i].n_in : most_in;
    r->m.seen = arena_zalloc(a, n_values * sizeof *r->m.seen);
    r->most = arena_array(a, n_values, sizeof *r->most);
    r->bytes = arena_array(a, most_in, sizeof *r->bytes);
    return r->m.seen && r->most && r->bytes;
}

static bool cut_describe(clv_cut *c, arena *scratch)
{
    const clv_graph *g = c->p->g;
    marks m = {
        arena_zalloc(scratch, ((size_t)g->n_values + 1) * sizeof *m.seen)};
    reads read;
    uint32_t *seen =
        arena_zalloc(scratch, ((size_t)c->n_subs + 1) * sizeof *seen);
    uint32_t *list = arena_array(
        &c->mem, 2 * (size_t)g->n_edges + g->n_nodes + 1, sizeof *list);
    uint32_t *before = clv__stateful_before(g, scratch);
    uint8_t *how = find_readers(c, scratch);
    if (!m.seen || !reads_new(g, scratch, &read) || !seen || !list || !how ||
        !before)
        return false;
    for (uint32_t k = 0; k < c->n_subs; k++) {
        clv_subgraph *s = &c->subs[k];
        uint32_t n_in = 0, n_out = 0;
        for (uint32_t i = 0; i < s->n_nodes; i++) {
            n_in += g->nodes[s->nodes[i]].n_in;
            n_out += g->nodes[s->nodes[i]].n_out;
        }
        cut_interface(c, k, &m, list, list + n_in);
        list += n_in + n_out;
        cut_dependencies(c, k, before, seen, list);
        list += s->n_depends_on;
        sum_cost(c, k, &read, how);
        s->pattern =
            s->n_nodes == 1 ? clv__ops[g->nodes[s->nodes[0]].op].name : "";
        s->device = s->detail = "";
    }
    return true;
}

static clv_status cut_make(clv_cut *c, const cut_labels *l, arena *scratch,
                           clv_err *e)
{
    const clv_graph *g = c->p->g;
    groups gr, sorted;
    uint32_t *order = arena_array(scratch, (size_t)l->n + 1, sizeof *order);
    c->of = arena_array(&c->mem, (size_t)g->n_nodes + 1, sizeof *c->of);
    c->subs = arena_zalloc(&c->mem, ((size_t)l->n + 1) * sizeof *c->subs);
    if (!order || !c->of || !c->subs ||
        !group_nodes(scratch, l->of, g->n_nodes, l->n, &gr))
        return clv__nomem(e);
    CLV_TRY(order_groups(g, l, &gr, scratch, order, e));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        c->of[i] = order[l->of[i]];
    if (l->number)
        memcpy(l->number, order, l->n * sizeof *order);
    if (!group_nodes(&c->mem, c->of, g->n_nodes, l->n, &sorted))
        return clv__nomem(e);
    c->n_subs = l->n;
    for (uint32_t k = 0; k < l->n; k++) {
        c->subs[k].nodes = sorted.node + sorted.first[k];
        c->subs[k].n_nodes = sorted.first[k + 1] - sorted.first[k];
    }
    return cut_describe(c, scratch) ? CLV_OK : clv__nomem(e);
}

clv_status clv__cut_make(const clv_profile *p, const char *strategy,
                         const cut_labels *l, clv_cut **out, clv_err *e)
{
    arena scratch = {0};
    *out = NULL;
    CLV_TRY(clv__within(0, e));
    clv_cut *c = clv__zalloc(sizeof *c);
    if (!c)
        return clv__nomem(e);
    c->p = p;
    c->strategy = strategy;
    clv_status s = cut_make(c, l, &scratch, e);
    arena_free(&scratch);
    if (s != CLV_OK) {
        clv_cut_free(c);
        return s;
    }
    *out = c;
    return CLV_OK;
}

clv_status clv_cut_op(const clv_profile *p, clv_cut **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    uint32_t n = p->g->n_nodes;
    uint32_t *label = clv__alloc((size_t)n * sizeof *label);
    if (!label)
        return clv__nomem(err);
    for (uint32_t i = 0; i < n; i++)
        label[i] = i;
    const cut_labels each = {.of = label, .n = n};
    clv_status s = clv__cut_make(p, "op", &each, out, err);
    clv__free(label);
    if (s == CLV_OK)
        s = clv__cut_suggest(*out, err);
    if (s != CLV_OK) {
        clv_cut_free(*out);
        *out = NULL;
    }
    return s;
}

clv_status clv__check_support(const clv_graph *g, const clv_support_info *s,
                              clv_err *e)
{
    if (s->nodes && s->device && s->n_nodes == g->n_nodes)
        return CLV_OK;
    return clv__fail(e, CLV_USAGE,
                     "the support is of %u nodes, the graph '%s' has %u",
                     s->nodes ? s->n_nodes : 0, g->name, g->n_nodes);
}

void clv_cut_free(clv_cut *c)
{
    if (!c)
        return;
    arena_free(&c->mem);
    clv__free(c);
}

/* -- reading --------------------------------------------------------------*/

const clv_profile *clv_cut_profile(const clv_cut *c)
{
    return c->p;
}

const char *clv_cut_strategy(const clv_cut *c)
{
    return c->strategy;
}

const clv_subgraph *clv_cut_subgraphs(const clv_cut *c, uint32_t *count)
{
    clv__set_count(count, c->n_subs);
    return c->subs;
}

uint32_t clv_cut_subgraph_of(const clv_cut *c, uint32_t node)
{
    return node >= c->p->g->n_nodes ? CLV_NONE : c->of[node];
}
