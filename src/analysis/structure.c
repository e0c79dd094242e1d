/* structure.c - nodes in an order of their own, and labels of them.
 *
 * The order is that of a walk from the outputs back, inputs from the first to
 * the last: each node comes after all that it depends on. Labels with a context
 * are made as Weisfeiler and Lehman do it: the label of a node takes in those
 * of its neighbours, again and again, or once along the order for everything
 * before or after it. */
#include "analysis/structure.h"

#include "graph/hash.h"
#include "ops/ops.h"

#include <string.h>

/* -- which nodes ----------------------------------------------------------*/

/* Is v a weight, computed from weights, or a number that is known anyway? */
static bool structure_given(const clv_value *v)
{
    return value_is_fixed(v) || (v->data && v->data->ints) ||
           v->producer == CLV_NONE;
}

static uint32_t count_computed(const clv_graph *g, const clv_node *n,
                               uint32_t *first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || structure_given(v) || input_repeats(g, n, i))
            continue;
        if (!count++)
            *first = v->producer;
    }
    return count;
}

/* Fills stand[]: the node that stands for each one, which is itself or the one
 * whose data it passes on. */
static void find_stands(const clv_graph *g, bool arithmetic_only,
                        uint32_t *stand)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const clv_node *n = &g->nodes[i];
        const clv_value *out = n->n_out && node_outs(g, n)[0] != CLV_NONE
                                   ? node_out(g, n, 0)
                                   : NULL;
        uint32_t first = CLV_NONE, computed = count_computed(g, n, &first);
        bool seen = !arithmetic_only || computed > 1 ||
                    clv__ops[n->op].cls == CLV_CLASS_COMPUTE;
        if (arithmetic_only && out &&
            (value_is_fixed(out) || (out->data && out->data->ints)))
            seen = false;
        stand[i] = seen ? i : first == CLV_NONE ? CLV_NONE : stand[first];
    }
}

/* -- order ----------------------------------------------------------------*/

typedef struct structure_walk {
    structure *s;
    const uint32_t *stand;
    uint32_t *stack, *next; /* the way to here, and the next input of each */
    uint8_t *seen;
} structure_walk;

static uint32_t stand_of_input(const structure_walk *w, const clv_node *n,
                               uint32_t i)
{
    const clv_value *v = node_in(w->s->g, n, i);
    return v && v->producer != CLV_NONE ? w->stand[v->producer] : CLV_NONE;
}

static void walk_from(structure_walk *w, uint32_t start)
{
    structure *s = w->s;
    uint32_t top = 0;
    if (start == CLV_NONE || w->seen[start])
        return;
    w->seen[start] = 1;
    w->stack[top] = start;
    w->next[top++] = 0;
    while (top) {
        const clv_node *n = &s->g->nodes[w->stack[top - 1]];
        uint32_t i = w->next[top - 1]++;
        if (i == n->n_in) {
            s->place[w->stack[--top]] = s->n;
            s->node[s->n++] = w->stack[top];
            continue;
        }
        uint32_t from = stand_of_input(w, n, i);
        if (from == CLV_NONE || w->seen[from])
            continue;
        w->seen[from] = 1;
        w->stack[top] = from;
        w->next[top++] = 0;
    }
}

static void walk_all(structure_walk *w)
{
    const clv_graph *g = w->s->g;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t maker = g->values[g->outputs[i]].producer;
        walk_from(w, maker == CLV_NONE ? CLV_NONE : w->stand[maker]);
    }
    for (uint32_t i = g->n_nodes; i-- > 0;) /* what leads to no output */
        walk_from(w, w->stand[i]);
}

/* -- links ----------------------------------------------------------------*/

static void fill_in_links(const structure_walk *w)
{
    structure *s = w->s;
    uint32_t n = 0;
    for (uint32_t p = 0; p < s->n; p++) {
        const clv_node *node = &s->g->nodes[s->node[p]];
        s->in_first[p] = n;
        for (uint32_t i = 0; i < node->n_in; i++) {
            uint32_t from = stand_of_input(w, node, i);
            if (!node_in(s->g, node, i))
                continue;
            s->in[n++] = (structure_link){
                from == CLV_NONE ? CLV_NONE : s->place[from], i};
        }
    }
    s->in_first[s->n] = n;
}

static void fill_out_links(structure *s)
{
    uint32_t n = s->in_first[s->n];
    memset(s->out_first, 0, ((size_t)s->n + 1) * sizeof *s->out_first);
    for (uint32_t i = 0; i < n; i++)
        if (s->in[i].place != CLV_NONE)
            s->out_first[s->in[i].place]++;
    for (uint32_t p = 0, sum = 0; p <= s->n; p++) {
        uint32_t own = p < s->n ? s->out_first[p] : 0;
        sum += own;
        s->out_first[p] = sum; /* one past its own: moves down as they fill */
    }
    for (uint32_t p = s->n; p-- > 0;)
        for (uint32_t i = s->in_first[p + 1]; i-- > s->in_first[p];)
            if (s->in[i].place != CLV_NONE)
                s->out[--s->out_first[s->in[i].place]] =
                    (structure_link){p, s->in[i].slot};
}

bool clv__structure_new(arena *mem, const clv_graph *g, bool arithmetic_only,
                        structure *s)
{
    size_t n = (size_t)g->n_nodes + 1, edges = (size_t)g->n_edges + 1;
    uint32_t *stand = arena_array(mem, n, sizeof *stand);
    *s = (structure){
        .g = g,
        .node = arena_array(mem, n, sizeof *s->node),
        .place = arena_array(mem, n, sizeof *s->place),
        .in_first = arena_array(mem, n, sizeof *s->in_first),
        .out_first = arena_array(mem, n, sizeof *s->out_first),
        .in = arena_array(mem, edges, sizeof *s->in),
        .out = arena_array(mem, edges, sizeof *s->out),
    };
    structure_walk w = {.s = s,
                        .stand = stand,
                        .stack = arena_array(mem, n, sizeof *w.stack),
                        .next = arena_array(mem, n, sizeof *w.next),
                        .seen = arena_zalloc(mem, n)};
    if (!stand || !s->node || !s->place || !s->in_first || !s->out_first ||
        !s->in || !s->out || !w.stack || !w.next || !w.seen)
        return false;
    memset(s->place, 0xff, n * sizeof *s->place);
    find_stands(g, arithmetic_only, stand);
    walk_all(&w);
    fill_in_links(&w);
    fill_out_links(s);
    return true;
}

/* -- labels ---------------------------------------------------------------*/

/* Products are one kind, whether a bias or a transpose belongs to them or is
 * a node of its own. */
static uint64_t kind_of(const clv_node *n)
{
    clv_category c = clv__ops[n->op].category;
    return c == CLV_CAT_MATMUL ? CLV_OP_COUNT + (uint64_t)c : n->op;
}

/* A number that an operator works with and that is no attribute: the bound of
 * a clamp, the factor of a scale. */
static uint64_t hash_operands(uint64_t h, const clv_graph *g, const clv_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || !v->data || v->data->n != 1 || !value_is_weight(v))
            continue;
        if (v->data->ints)
            h = clv__hash_word(clv__hash_word(h, i),
                               (uint64_t)v->data->ints[0]);
        else if (v->data->floats)
            h = clv__hash_real(clv__hash_word(h, i), v->data->floats[0]);
    }
    return h;
}

static uint64_t hash_form(const clv_graph *g, const clv_node *n)
{
    uint64_t h = clv__hash_word(CLV_HASH_START, n->op);
    if (n->op == CLV_OP_UNKNOWN)
        h = clv__hash_text(h, clv__op_shown(n));
    return hash_operands(clv__hash_attrs(h, n), g, n);
}

static uint64_t hash_exact(const clv_graph *g, const clv_node *n)
{
    uint64_t h = hash_form(g, n);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (node_outs(g, n)[i] != CLV_NONE)
            h = clv__hash_value(h, node_out(g, n, i));
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (v && value_is_fixed(v))
            h = clv__hash_value(clv__hash_word(h, i), v);
    }
    return h;
}

static uint64_t hash_node(const clv_graph *g, const clv_node *n,
                          structure_grain grain)
{
    return grain == STRUCTURE_EXACT  ? hash_exact(g, n)
           : grain == STRUCTURE_FORM ? hash_form(g, n)
                                     : clv__hash_word(1, kind_of(n));
}

/* The label of place p with those of what it reads. */
static uint64_t hash_inputs(const structure *s, uint32_t p, uint64_t h,
                            const uint64_t *labels)
{
    for (uint32_t i = s->in_first[p]; i < s->in_first[p + 1]; i++)
        h = clv__hash_word(
            h, s->in[i].place == CLV_NONE ? 1 : labels[s->in[i].place]);
    return h;
}

/* The same with those of its readers, in whatever order they come. */
static uint64_t hash_readers(const structure *s, uint32_t p, uint64_t h,
                             const uint64_t *labels)
{
    uint64_t sum = 0;
    for (uint32_t i = s->out_first[p]; i < s->out_first[p + 1]; i++)
        sum += clv__hash_word(labels[s->out[i].place], s->out[i].slot);
    return clv__hash_word(h, sum);
}

uint64_t *clv__structure_labels(arena *mem, const structure *s,
                                structure_grain grain,
                                structure_context context, uint32_t radius)
{
    size_t n = (size_t)s->n + 1;
    uint64_t *own = arena_array(mem, n, sizeof *own);
    uint64_t *up = arena_array(mem, n, sizeof *up);
    uint64_t *down = arena_array(mem, n, sizeof *down);
    if (!own || !up || !down)
        return NULL;
    for (uint32_t p = 0; p < s->n; p++)
        own[p] = hash_node(s->g, &s->g->nodes[s->node[p]], grain);
    if (context == STRUCTURE_NEAR) {
        for (; radius; radius--) {
            for (uint32_t p = 0; p < s->n; p++)
                up[p] = hash_readers(s, p, hash_inputs(s, p, own[p], own), own);
            memcpy(own, up, s->n * sizeof *own);
        }
        return own;
    }
    for (uint32_t p = 0; p < s->n; p++)
        up[p] = hash_inputs(s, p, own[p], up);
    for (uint32_t p = s->n; p-- > 0;)
        down[p] = hash_readers(s, p, own[p], down);
    if (context != STRUCTURE_BOTH)
        return context == STRUCTURE_UP ? up : down;
    for (uint32_t p = 0; p < s->n; p++)
        own[p] = clv__hash_word(up[p], down[p]);
    return own;
}

bool clv__same_attributes(const clv_graph *a, uint32_t i, const clv_graph *b,
                          uint32_t j)
{
    const clv_node *x = &a->nodes[i], *y = &b->nodes[j];
    return x->op == y->op && hash_form(a, x) == hash_form(b, y);
}
