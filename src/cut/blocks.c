/* blocks.c - turns labels into blocks, splits and merges blocks so that each is
 * connected if asked, and makes the cut. */
#include "cut/blocks.h"

#include "analysis/liveness.h"

#include <string.h>

bool clv__blocks_of(arena *a, const labels *l, uint32_t n_nodes, blocks *out)
{
    uint32_t *number = arena_zalloc(a, ((size_t)l->n + 1) * sizeof *number);
    *out = (blocks){
        .of = arena_array(a, (size_t)n_nodes + 1, sizeof *out->of),
        .side = arena_alloc(a, (size_t)l->n + 1),
    };
    if (!number || !out->of || !out->side)
        return false;
    for (uint32_t i = 0; i < n_nodes; i++)
        number[l->of[i]] = 1;
    for (uint32_t x = 0; x < l->n; x++) {
        if (!number[x])
            continue;
        uint8_t side = label_side(l, x);
        if (!out->n || out->side[out->n - 1] != side)
            out->side[out->n++] = side;
        number[x] = out->n - 1;
    }
    for (uint32_t i = 0; i < n_nodes; i++)
        out->of[i] = number[l->of[i]];
    return true;
}

/* -- connected blocks -----------------------------------------------------*/

static uint32_t blocks_find(uint32_t *up, uint32_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* The quotient graph: blocks in a topological order. Merging keeps the order
 * valid. Each block lists its nodes, so that its edges can be walked. */
typedef struct quotient {
    const dag *d;
    uint32_t *up;                 /* union-find over blocks */
    uint32_t *of;                 /* block of a node, before merging */
    uint32_t *head, *tail, *next; /* nodes of a block, as a chain */
    uint32_t *at;                 /* position of a block in the order */
    uint32_t *order; /* block at a position; CLV_NONE where one merged away */
    uint32_t *seen, stamp;
    uint32_t *stack;
    uint8_t *side;
    uint32_t n;
    uint64_t budget; /* edges that reachability may still look at */
} quotient;

enum { BUDGET = 100 * 1000 * 1000 };

/* Marks the blocks that block a reaches through blocks before position `end`,
 * not counting the direct edge to b. Returns true when b is one of them, or
 * when the budget is used up: then merging might make a cycle. */
static bool blocks_reaches(quotient *q, uint32_t a, uint32_t b, uint32_t end)
{
    uint32_t top = 0;
    bool found = false;
    q->stack[top++] = a;
    q->seen[a] = ++q->stamp;
    while (top && !found && q->budget > 0) {
        uint32_t from = q->stack[--top];
        for (uint32_t i = q->head[from]; i != CLV_NONE; i = q->next[i])
            for (uint32_t k = q->d->succ_first[i]; k < q->d->succ_first[i + 1];
                 k++) {
                uint32_t to = blocks_find(q->up, q->of[q->d->succ[k]]);
                q->budget -= q->budget > 0;
                if (to == b && from != a)
                    found = true;
                if (to == b || q->at[to] > end || q->seen[to] == q->stamp)
                    continue;
                q->seen[to] = q->stamp;
                q->stack[top++] = to;
            }
    }
    return found || q->budget == 0; /* not known: assume that it does */
}

/* Merges b into a. Blocks between the two that a reaches move behind the merged
 * block; the other blocks between them stay before it. */
static void blocks_merge(quotient *q, uint32_t a, uint32_t b)
{
    uint32_t from = q->at[a], to = q->at[b], w = from, held = 0;
    for (uint32_t p = from + 1; p <= to; p++) {
        uint32_t x = q->order[p];
        if (x == CLV_NONE || x == b)
            continue;
        if (q->seen[x] == q->stamp)
            q->stack[held++] = x;
        else
            q->order[q->at[x] = w++] = x;
    }
    q->order[q->at[a] = w++] = a;
    for (uint32_t k = 0; k < held; k++)
        q->order[q->at[q->stack[k]] = w++] = q->stack[k];
    while (w <= to)
        q->order[w++] = CLV_NONE;
    q->up[b] = a;
    q->next[q->tail[a]] = q->head[b];
    q->tail[a] = q->tail[b];
}

/* Splits each block into its weakly connected parts, numbered by first node. */
static void blocks_split(quotient *q, const blocks *in, uint32_t *up)
{
    const dag *d = q->d;
    for (uint32_t i = 0; i < d->n; i++) {
        up[i] = i;
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
            if (in->of[d->pred[k]] == in->of[i]) {
                uint32_t x = blocks_find(up, d->pred[k]),
                         y = blocks_find(up, i);
                up[x > y ? x : y] = x > y ? y : x;
            }
    }
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t root = blocks_find(up, i);
        if (root == i) {
            q->side[q->n] = in->side[in->of[i]];
            q->head[q->n] = CLV_NONE;
            q->of[i] = q->n++;
        } else {
            q->of[i] = q->of[root];
        }
        uint32_t b = q->of[i];
        if (q->head[b] == CLV_NONE)
            q->head[b] = i;
        else
            q->next[q->tail[b]] = i;
        q->tail[b] = i;
        q->next[i] = CLV_NONE;
    }
}

/* Orders the parts as the blocks they come from, so that edges go forward. */
static bool blocks_arrange(arena *a, quotient *q, const blocks *in)
{
    uint32_t *first = arena_zalloc(a, ((size_t)in->n + 2) * sizeof *first);
    if (!first)
        return false;
    for (uint32_t b = 0; b < q->n; b++)
        first[in->of[q->head[b]] + 1]++;
    for (uint32_t k = 0; k < in->n; k++)
        first[k + 1] += first[k];
    for (uint32_t b = 0; b < q->n; b++) {
        q->up[b] = b;
        q->order[q->at[b] = first[in->of[q->head[b]]]++] = b;
    }
    return true;
}

static void merge_neighbours(quotient *q)
{
    const dag *d = q->d;
    for (uint32_t i = 0; i < d->n; i++)
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++) {
            uint32_t a = blocks_find(q->up, q->of[d->pred[k]]);
            uint32_t b = blocks_find(q->up, q->of[i]);
            if (a != b && q->side[a] == q->side[b] &&
                !blocks_reaches(q, a, b, q->at[b]))
                blocks_merge(q, a, b);
        }
}

static bool make_quotient(arena *a, const dag *d, quotient *q)
{
    size_t n = (size_t)d->n + 1;
    uint32_t **arrays[] = {&q->up, &q->of,    &q->head, &q->tail, &q->next,
                           &q->at, &q->order, &q->seen, &q->stack};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!(*arrays[i] = arena_zalloc(a, n * sizeof(uint32_t))))
            return false;
    q->d = d;
    q->budget = BUDGET;
    q->side = arena_alloc(a, n);
    return q->side != NULL;
}

bool clv__blocks_connect(arena *a, const dag *d, const blocks *in, blocks *out)
{
    quotient q = {0};
    uint32_t *up = arena_array(a, (size_t)d->n + 1, sizeof *up);
    *out = (blocks){
        .of = arena_array(a, (size_t)d->n + 1, sizeof *out->of),
        .side = arena_alloc(a, (size_t)d->n + 1),
    };
    if (!up || !out->of || !out->side || !make_quotient(a, d, &q))
        return false;
    blocks_split(&q, in, up);
    if (!blocks_arrange(a, &q, in))
        return false;
    merge_neighbours(&q);
    for (uint32_t p = 0; p < q.n; p++)
        if (q.order[p] != CLV_NONE) {
            out->side[out->n] = q.side[q.order[p]];
            q.at[q.order[p]] = out->n++;
        }
    for (uint32_t i = 0; i < d->n; i++)
        out->of[i] = q.at[blocks_find(q.up, q.of[i])];
    return true;
}

/* -- the cut --------------------------------------------------------------*/

clv_status clv__blocks_cut(const clv_profile *p, const char *strategy,
                           const blocks *b, const char *device, clv_cut **out,
                           clv_err *e)
{
    uint32_t *number = clv__alloc(((size_t)b->n + 1) * sizeof *number);
    if (!number)
        return clv__nomem(e);
    const cut_labels l = {b->of, b->n, number, b->order, b->n_order};
    clv_status s = clv__cut_make(p, strategy, &l, out, e);
    if (s == CLV_OK) {
        clv_cut *c = *out;
        const char *name = arena_strndup(&c->mem, device, strlen(device));
        for (uint32_t k = 0; name && k < b->n; k++) {
            bool cpu = b->side[k] == CLV_SIDE_CPU;
            c->subs[number[k]].device = cpu ? "cpu" : name;
            c->subs[number[k]].reason = CLV_REASON_DEVICE;
        }
        if (!name) {
            clv_cut_free(c);
            *out = NULL;
            s = clv__nomem(e);
        }
    }
    clv__free(number);
    return s;
}

/* -- memory ---------------------------------------------------------------*/

/* Returns the value that is kept in memory for v while subgraph k runs: the
 * storage of v if the subgraph makes it, else v itself, which the subgraph is
 * given as a tensor of its own. */
static uint32_t blocks_kept(const clv_cut *c, uint32_t v, uint32_t k)
{
    const clv_graph *g = c->p->g;
    uint32_t root = clv__storage(g, v), maker = g->values[root].producer;
    return maker != CLV_NONE && c->of[maker] == k ? root : v;
}

/* Notes when each value of subgraph k is used. The nodes of k are the steps.
 * The inputs are there before the first step, the outputs stay after the
 * last. */
static void touch_nodes(const clv_cut *c, uint32_t k, liveness *l)
{
    const clv_graph *g = c->p->g;
    const clv_subgraph *s = &c->subs[k];
    l->n_steps = s->n_nodes;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        clv__live_touch(l, s->inputs[i], 0);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        for (uint32_t e = 0; e < n->n_in + n->n_out; e++)
            if (node_ins(g, n)[e] != CLV_NONE)
                clv__live_touch(l, blocks_kept(c, node_ins(g, n)[e], k), i);
    }
    for (uint32_t i = 0; i < s->n_outputs; i++)
        clv__live_keep(l, blocks_kept(c, s->outputs[i], k));
}

/* Appends the interval of v to the n buffers of b, and forgets it. Returns the
 * new number of buffers. */
static uint32_t take_buffer(const clv_cut *c, uint32_t v, liveness *l,
                            clv_buffer *b, uint32_t n)
{
    const clv_value *x = &c->p->g->values[v];
    if (x->rank != CLV_NO_RANK && !value_is_weight(x))
        b[n++] = clv__live_buffer(l, v, clv__held_bytes(x));
    clv__live_forget(l, v);
    return n;
}

/* Forgets what the nodes of subgraph k touched and no buffer was made of: the
 * storage behind a view that another subgraph hands over. */
static void forget_nodes(const clv_cut *c, uint32_t k, liveness *l)
{
    const clv_graph *g = c->p->g;
    const clv_subgraph *s = &c->subs[k];
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        for (uint32_t e = 0; e < n->n_in + n->n_out; e++)
            if (node_ins(g, n)[e] != CLV_NONE)
                clv__live_forget(l, blocks_kept(c, node_ins(g, n)[e], k));
    }
    for (uint32_t i = 0; i < s->n_outputs; i++)
        clv__live_forget(l, blocks_kept(c, s->outputs[i], k));
}

/* Returns the most bytes alive while subgraph k runs. b and live are
 * scratch. */
static int64_t peak_of(const clv_cut *c, uint32_t k, liveness *l, clv_buffer *b,
                       int64_t *live)
{
    const clv_graph *g = c->p->g;
    const clv_subgraph *s = &c->subs[k];
    uint32_t n = 0;
    touch_nodes(c, k, l);
    for (uint32_t i = 0; i < s->n_inputs; i++)
        n = take_buffer(c, s->inputs[i], l, b, n);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *x = &g->nodes[s->nodes[i]];
        for (uint32_t o = 0; o < x->n_out; o++)
            if (blocks_kept(c, node_outs(g, x)[o], k) == node_outs(g, x)[o])
                n = take_buffer(c, node_outs(g, x)[o], l, b, n);
    }
    forget_nodes(c, k, l);
    return clv__live_bytes(b, n, 1, live, s->n_nodes);
}

const int64_t *clv__cut_peaks(clv_cut *c)
{
    const clv_graph *g = c->p->g;
    arena scratch = {0};
    liveness l;
    int64_t *peak = arena_array(&c->mem, (size_t)c->n_subs + 1, sizeof *peak);
    clv_buffer *b = arena_array(&scratch, (size_t)g->n_values + 1, sizeof *b);
    int64_t *live = arena_array(&scratch, (size_t)g->n_nodes + 1, sizeof *live);
    bool ok =
        peak && b && live && clv__live_start(&l, &scratch, g->n_values, 0);
    for (uint32_t k = 0; ok && k < c->n_subs; k++)
        peak[k] = peak_of(c, k, &l, b, live);
    arena_free(&scratch);
    return ok ? peak : NULL;
}
