/* verify.c - checks a finished cut against the graph alone.
 *
 * It shares with cut.c only the bytes that a node reads of each input. It
 * collects facts from the graph as sorted sets of (subgraph, number) pairs and
 * compares them with the sets that the cut states.
 *
 *   1. each node is in one subgraph, in execution order
 *   2. edges between subgraphs only go forward, so there is no cycle
 *   3. inputs, outputs and dependencies are exactly those of the edges
 *   4. bytes: what crosses the border and what stays inside, per subgraph */
#include "cut/cut.h"

#include <stdlib.h>
#include <string.h>

/* -- sets of pairs --------------------------------------------------------*/

typedef struct pairs {
    uint64_t *key; /* subgraph << 32 | number */
    size_t n;
} pairs;

static void verify_add(pairs *p, uint32_t sub, uint32_t number)
{
    p->key[p->n++] = (uint64_t)sub << 32 | number;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_pairs(pairs *p, bool unique)
{
    qsort(p->key, p->n, sizeof *p->key, by_key);
    size_t kept = 0;
    for (size_t i = 0; unique && i < p->n; i++)
        if (i == 0 || p->key[i] != p->key[i - 1])
            p->key[kept++] = p->key[i];
    if (unique)
        p->n = kept;
}

/* Compares two sets of pairs. `fact` may contain a pair several times, `stated`
 * must contain each pair once. */
static clv_status verify_same(pairs *fact, pairs *stated, const char *what,
                              clv_err *e)
{
    sort_pairs(fact, true);
    sort_pairs(stated, false);
    size_t i = 0;
    while (i < fact->n && i < stated->n && fact->key[i] == stated->key[i])
        i++;
    if (i == fact->n && i == stated->n)
        return CLV_OK;
    bool extra = i == fact->n ||
                 (i < stated->n && stated->key[i] < fact->key[i]) ||
                 (i > 0 && i < stated->n && stated->key[i] == fact->key[i - 1]);
    uint64_t key = extra ? stated->key[i] : fact->key[i];
    return clv__fail(e, CLV_INTERNAL, "subgraph %u: %s %u is %s",
                     (uint32_t)(key >> 32), what, (uint32_t)key,
                     extra ? "stated but not real" : "missing");
}

/* -- 1. cover, 2. order ---------------------------------------------------*/

static clv_status check_cover(const clv_cut *c, clv_err *e)
{
    const clv_graph *g = c->p->g;
    size_t listed = 0;
    for (uint32_t k = 0; k < c->n_subs; k++) {
        const clv_subgraph *s = &c->subs[k];
        if (s->n_nodes == 0)
            return clv__fail(e, CLV_INTERNAL, "subgraph %u is empty", k);
        listed += s->n_nodes;
        for (uint32_t i = 0; i < s->n_nodes; i++) {
            uint32_t id = s->nodes[i];
            if (id >= g->n_nodes || c->of[id] != k)
                return clv__fail(e, CLV_INTERNAL,
                                 "subgraph %u lists node %u of another", k, id);
            if (i > 0 && id <= s->nodes[i - 1])
                return clv__fail(e, CLV_INTERNAL,
                                 "subgraph %u: node '%s' is out of order", k,
                                 g->nodes[id].name);
        }
    }
    if (listed != g->n_nodes)
        return clv__fail(e, CLV_INTERNAL, "%zu of %u nodes are in a subgraph",
                         listed, g->n_nodes);
    return CLV_OK;
}

static clv_status verify_check_order(const clv_cut *c, clv_err *e)
{
    const clv_graph *g = c->p->g;
    uint32_t last = CLV_NONE; /* stateful node, which keeps its order */
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        bool stateful = n->flags & CLV_N_STATEFUL;
        if (stateful && last != CLV_NONE && c->of[last] > c->of[id])
            return clv__fail(e, CLV_INTERNAL,
                             "'%s' runs before '%s': stateful nodes swapped",
                             n->name, g->nodes[last].name);
        last = stateful ? id : last;
        for (uint32_t i = 0; i < n->n_in; i++) {
            const clv_value *v = node_in(g, n, i);
            if (v && v->producer != CLV_NONE && c->of[v->producer] > c->of[id])
                return clv__fail(
                    e, CLV_INTERNAL,
                    "'%s' runs in subgraph %u, before its input '%s' in %u",
                    n->name, c->of[id], g->nodes[v->producer].name,
                    c->of[v->producer]);
        }
    }
    return CLV_OK;
}

/* -- 3. interfaces --------------------------------------------------------*/

static clv_status verify_check_inputs(const clv_cut *c, pairs *fact,
                                      pairs *stated, clv_err *e)
{
    const clv_graph *g = c->p->g;
    for (uint32_t id = 0; id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++) {
            const clv_value *v = node_in(g, &g->nodes[id], i);
            if (v &&
                (v->producer == CLV_NONE || c->of[v->producer] != c->of[id]))
                verify_add(fact, c->of[id], node_ins(g, &g->nodes[id])[i]);
        }
    for (uint32_t k = 0; k < c->n_subs; k++)
        for (uint32_t i = 0; i < c->subs[k].n_inputs; i++)
            verify_add(stated, k, c->subs[k].inputs[i]);
    return verify_same(fact, stated, "input value", e);
}

static clv_status verify_check_outputs(const clv_cut *c, pairs *fact,
                                       pairs *stated, clv_err *e)
{
    const clv_graph *g = c->p->g;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->values[g->outputs[i]].producer != CLV_NONE)
            verify_add(fact, c->of[g->values[g->outputs[i]].producer],
                       g->outputs[i]);
    for (uint32_t id = 0; id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++) {
            const clv_value *v = node_in(g, &g->nodes[id], i);
            if (v && v->producer != CLV_NONE && c->of[v->producer] != c->of[id])
                verify_add(fact, c->of[v->producer],
                           node_ins(g, &g->nodes[id])[i]);
        }
    for (uint32_t k = 0; k < c->n_subs; k++)
        for (uint32_t i = 0; i < c->subs[k].n_outputs; i++)
            verify_add(stated, k, c->subs[k].outputs[i]);
    return verify_same(fact, stated, "output value", e);
}

static clv_status verify_check_depends(const clv_cut *c, pairs *fact,
                                       pairs *stated, clv_err *e)
{
    const clv_graph *g = c->p->g;
    uint32_t last = CLV_NONE;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++) {
            const clv_value *v = node_in(g, &g->nodes[id], i);
            if (v && v->producer != CLV_NONE && c->of[v->producer] != c->of[id])
                verify_add(fact, c->of[id], c->of[v->producer]);
        }
        if (!(g->nodes[id].flags & CLV_N_STATEFUL))
            continue;
        if (last != CLV_NONE && c->of[last] != c->of[id])
            verify_add(fact, c->of[id], c->of[last]);
        last = id;
    }
    for (uint32_t k = 0; k < c->n_subs; k++)
        for (uint32_t i = 0; i < c->subs[k].n_depends_on; i++) {
            const uint32_t *d = c->subs[k].depends_on;
            verify_add(stated, k, d[i]);
            if (i > 0 && d[i] <= d[i - 1])
                return clv__fail(e, CLV_INTERNAL,
                                 "subgraph %u: depends_on is not ascending", k);
        }
    return verify_same(fact, stated, "dependency", e);
}

typedef clv_status check_fn(const clv_cut *c, pairs *fact, pairs *stated,
                            clv_err *e);

static clv_status check_sets(const clv_cut *c, arena *a, clv_err *e)
{
    static check_fn *const checks[] = {
        verify_check_inputs, verify_check_outputs, verify_check_depends};
    const clv_graph *g = c->p->g;
    size_t room = (size_t)g->n_edges + g->n_outputs + g->n_nodes + 1;
    size_t said[3] = {0};
    for (uint32_t k = 0; k < c->n_subs; k++) {
        said[0] += c->subs[k].n_inputs;
        said[1] += c->subs[k].n_outputs;
        said[2] += c->subs[k].n_depends_on;
    }
    for (int i = 0; i < 3; i++) {
        pairs fact = {arena_array(a, room, sizeof *fact.key), 0};
        pairs stated = {arena_array(a, said[i] + 1, sizeof *stated.key), 0};
        if (!fact.key || !stated.key)
            return clv__nomem(e);
        CLV_TRY(checks[i](c, &fact, &stated, e));
    }
    return CLV_OK;
}

/* -- 4. bytes -------------------------------------------------------------*/

typedef struct touch {
    uint32_t sub, value;
    int64_t bytes;
} touch;

static int by_touch(const void *a, const void *b)
{
    const touch *x = a, *y = b;
    if (x->sub != y->sub)
        return x->sub < y->sub ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Counts the readers of each storage inside the subgraph that makes it, and
 * outside. A graph output counts as a reader outside. */
typedef struct readers {
    uint32_t *inside, *outside;
} readers;

static bool count_readers(const clv_cut *c, arena *a, readers *r)
{
    const clv_graph *g = c->p->g;
    size_t size = ((size_t)g->n_values + 1) * sizeof *r->inside;
    r->inside = arena_zalloc(a, size);
    r->outside = arena_zalloc(a, size);
    if (!r->inside || !r->outside)
        return false;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        r->outside[clv__storage(g, g->outputs[i])]++;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        if (c->p->layers[id].cost.trust == CLV_TRUST_FREE)
            continue;
        for (uint32_t i = 0; i < n->n_in; i++) {
            if (!node_in(g, n, i))
                continue;
            uint32_t v = clv__storage(g, node_ins(g, n)[i]);
            uint32_t maker = g->values[v].producer;
            bool in = maker != CLV_NONE && c->of[maker] == c->of[id];
            (in ? r->inside : r->outside)[v]++;
        }
    }
    return true;
}

static int64_t verify_written(const clv_cut *c, uint32_t id, const readers *r)
{
    const clv_graph *g = c->p->g;
    const clv_node *n = &g->nodes[id];
    int64_t bytes = c->p->layers[id].cost.bytes_out;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t v = node_outs(g, n)[i];
        if (r->inside[v] && !r->outside[v] && g->values[v].rank != CLV_NO_RANK)
            bytes -= clv__held_bytes(&g->values[v]);
    }
    return bytes > 0 ? bytes : 0;
}

static size_t list_touches(const clv_cut *c, touch *list, int64_t *reads)
{
    const clv_graph *g = c->p->g;
    size_t n_list = 0;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        clv__node_reads(g, n, &c->p->layers[id].cost, reads);
        for (uint32_t i = 0; i < n->n_in; i++) {
            uint32_t v = node_ins(g, n)[i];
            if (v == CLV_NONE)
                continue;
            uint32_t maker = g->values[clv__storage(g, v)].producer;
            if (maker == CLV_NONE || c->of[maker] != c->of[id])
                list[n_list++] = (touch){c->of[id], v, reads[i]};
        }
    }
    qsort(list, n_list, sizeof *list, by_touch);
    return n_list;
}

static clv_status compare_cost(const clv_cut *c, const clv_cost *want,
                               const int64_t *apart, clv_err *e)
{
    for (uint32_t k = 0; k < c->n_subs; k++) {
        const clv_cost *w = &want[k], *is = &c->subs[k].cost;
        if (w->flops != is->flops || w->macs != is->macs ||
            w->params != is->params || w->bytes_in != is->bytes_in ||
            w->bytes_weights != is->bytes_weights ||
            w->bytes_out != is->bytes_out)
            return clv__fail(
                e, CLV_INTERNAL,
                "subgraph %u: bytes in/weights/out %lld/%lld/%lld, should be "
                "%lld/%lld/%lld",
                k, (long long)is->bytes_in, (long long)is->bytes_weights,
                (long long)is->bytes_out, (long long)w->bytes_in,
                (long long)w->bytes_weights, (long long)w->bytes_out);
        int64_t inside =
            apart[k] - w->bytes_in - w->bytes_weights - w->bytes_out;
        if (inside < 0 || inside != c->subs[k].bytes_internal)
            return clv__fail(e, CLV_INTERNAL,
                             "subgraph %u: %lld bytes inside, should be %lld",
                             k, (long long)c->subs[k].bytes_internal,
                             (long long)inside);
    }
    return CLV_OK;
}

static clv_status check_bytes(const clv_cut *c, arena *a, clv_err *e)
{
    const clv_graph *g = c->p->g;
    touch *list = arena_array(a, (size_t)g->n_edges + 1, sizeof *list);
    int64_t *reads = arena_array(a, (size_t)g->n_edges + 1, sizeof *reads);
    clv_cost *want = arena_zalloc(a, ((size_t)c->n_subs + 1) * sizeof *want);
    int64_t *apart = arena_zalloc(a, ((size_t)c->n_subs + 1) * sizeof *apart);
    readers r;
    if (!list || !reads || !want || !apart || !count_readers(c, a, &r))
        return clv__nomem(e);
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_cost *cost = &c->p->layers[id].cost;
        clv_cost *w = &want[c->of[id]];
        w->flops += cost->flops;
        w->macs += cost->macs;
        w->params += cost->params;
        w->bytes_out += verify_written(c, id, &r);
        apart[c->of[id]] +=
            cost->bytes_in + cost->bytes_weights + cost->bytes_out;
    }
    size_t n = list_touches(c, list, reads);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && list[i].sub == list[i - 1].sub &&
            list[i].value == list[i - 1].value)
            continue; /* a larger read of this tensor came first */
        if (value_is_fixed(&g->values[list[i].value]))
            want[list[i].sub].bytes_weights += list[i].bytes;
        else
            want[list[i].sub].bytes_in += list[i].bytes;
    }
    return compare_cost(c, want, apart, e);
}

clv_status clv_cut_verify(const clv_cut *c, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(c, err);
    CLV_TRY(check_cover(c, err));
    CLV_TRY(verify_check_order(c, err));
    arena a = {0};
    clv_status s = check_sets(c, &a, err);
    if (s == CLV_OK)
        s = check_bytes(c, &a, err);
    arena_free(&a);
    return s;
}
