/* place.c - finds the cheapest placement on two devices by a minimum cut
 * (Stone), and a good one with at most k blocks.
 *
 * Two devices: the source side of the cut is the CPU, the sink side the
 * accelerator. Each node v has two arcs, and the cut takes one of them:
 *
 *     s --(cost on accelerator)--> v --(cost on CPU)--> t
 *
 * The arc it takes is the price of the side that v is on. A tensor with maker p
 * and readers r must be paid once if any reader is on the other side. Two extra
 * nodes a and b do that, where inf marks an arc that is never cut:
 *
 *     p --(move)--> a --inf--> r        the maker is on the CPU
 *     r --inf--> b --(move)--> p        the maker is on the accelerator
 *
 * At most k labels: v becomes a chain of k arcs, and cutting the j-th one gives
 * v label j:
 *
 *     s -> N1 -> ... -> N(k-1) -> t
 *
 * Infinite arcs backwards along the chain allow only one cut in it. Infinite
 * arcs from N(v,j) to N(x,j) keep labels from falling along an edge v -> x.
 * Arcs from N(x,j) back to N(v,j) charge the move at each border j. A tensor
 * that is read on its own device two labels later pays too much that way. So
 * from three labels on the result is a good answer, not a proven one;
 * frontier.c looks for a better one.
 *
 * The cut needs integers. Costs are scaled by a power of two that keeps their
 * sum below 2^40. */
#include "cut/place.h"
#include "cut/frontier.h"
#include "cut/maxflow.h"

#include <math.h>
#include <string.h>

bool clv__place_costs(arena *a, const clv_graph *g, placement_costs *c)
{
    c->cpu = arena_zalloc(a, ((size_t)g->n_nodes + 1) * sizeof(double));
    c->accelerator = arena_zalloc(a, ((size_t)g->n_nodes + 1) * sizeof(double));
    c->move = arena_zalloc(a, ((size_t)g->n_values + 1) * sizeof(double));
    return c->cpu && c->accelerator && c->move;
}

bool clv__place_flops(arena *a, const clv_profile *p, const uint8_t *side,
                      placement_costs *c)
{
    const clv_graph *g = p->g;
    if (!clv__place_costs(a, g, c))
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        int64_t flops = p->layers[i].cost.flops;
        if (side[i] == CLV_SIDE_ACCELERATOR)
            c->cpu[i] = flops > 1 ? (double)flops : 1;
        c->accelerator[i] = side[i] == CLV_SIDE_CPU ? INFINITY : 0;
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].producer != CLV_NONE &&
            g->values[v].rank != CLV_NO_RANK)
            c->move[v] = (double)clv__held_bytes(&g->values[v]);
    return true;
}

/* -- integers -------------------------------------------------------------*/

static double finite_or_0(double x)
{
    return isfinite(x) ? x : 0;
}

/* Returns the power of two that keeps the sum of all costs, with moves counted
 * `times` times, below 2^40. */
static double place_scale_of(const clv_graph *g, const placement_costs *c,
                             uint32_t times)
{
    double sum = 1e-300;
    int exponent;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        sum +=
            (finite_or_0(c->cpu[i]) + finite_or_0(c->accelerator[i])) * times;
    for (uint32_t v = 0; v < g->n_values; v++)
        sum += c->move[v] * 2 * times;
    frexp(sum, &exponent); /* sum < 2^exponent */
    return ldexp(1, exponent < -900 ? 940 : 40 - exponent);
}

static int64_t place_units(double x, double scale)
{
    return isfinite(x) ? (int64_t)llround(x * scale) : FLOW_INF;
}

static uint32_t place_readers(const clv_graph *g, uint32_t v)
{
    return g->values[v].producer == CLV_NONE
               ? 0
               : g->user_first[v + 1] - g->user_first[v];
}

/* -- two devices ----------------------------------------------------------*/

static void add_tensor(flow *f, const clv_graph *g, uint32_t v, int64_t move,
                       uint32_t *extra)
{
    uint32_t maker = g->values[v].producer, n = place_readers(g, v);
    const uint32_t *r = g->users + g->user_first[v];
    if (n == 0 || move == 0)
        return;
    if (n == 1) {
        flow_arc(f, maker, r[0], move, move);
        return;
    }
    uint32_t a = (*extra)++, b = (*extra)++;
    flow_arc(f, maker, a, move, 0);
    flow_arc(f, b, maker, move, 0);
    for (uint32_t k = 0; k < n; k++) {
        flow_arc(f, a, r[k], FLOW_INF, 0);
        flow_arc(f, r[k], b, FLOW_INF, 0);
    }
}

clv_status clv__place(arena *a, const clv_graph *g, const placement_costs *c,
                      uint8_t *side, clv_err *e)
{
    arena_mark mark = arena_save(a);
    flow f;
    uint64_t arcs = g->n_nodes, nodes = (uint64_t)g->n_nodes + 2;
    for (uint32_t v = 0; v < g->n_values; v++) {
        nodes += place_readers(g, v) > 1 ? 2 : 0;
        arcs += place_readers(g, v) ? 2 + 2 * (uint64_t)place_readers(g, v) : 0;
    }
    arcs += g->n_nodes;
    if (nodes > 1u << 30 || arcs > 1u << 30)
        return clv__fail(e, CLV_LIMIT, "the graph is too large to place");
    if (!flow_init(&f, a, (uint32_t)nodes, (uint32_t)arcs))
        return clv__nomem(e);
    uint32_t s = g->n_nodes, t = s + 1, extra = t + 1;
    double scale = place_scale_of(g, c, 1);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        flow_arc(&f, s, i, place_units(c->accelerator[i], scale), 0);
        flow_arc(&f, i, t, place_units(c->cpu[i], scale), 0);
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        add_tensor(&f, g, v, place_units(c->move[v], scale), &extra);
    if (flow_cut(&f, s, t) < 0)
        return clv__nomem(e);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        side[i] = f.source_side[i] ? CLV_SIDE_CPU : CLV_SIDE_ACCELERATOR;
    arena_rewind(a, mark);
    return CLV_OK;
}

placement_sum clv__place_sum(const clv_graph *g, const placement_costs *c,
                             const uint8_t *side)
{
    placement_sum sum = {0};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool there = side[i] == CLV_SIDE_ACCELERATOR;
        *(there ? &sum.accelerator : &sum.cpu) +=
            there ? c->accelerator[i] : c->cpu[i];
        sum.on_accelerator += there;
    }
    for (uint32_t v = 0; v < g->n_values; v++) {
        bool moves = false;
        for (uint32_t k = 0; k < place_readers(g, v); k++)
            moves = moves || side[g->users[g->user_first[v] + k]] !=
                                 side[g->values[v].producer];
        if (!moves)
            continue;
        sum.transfer += c->move[v];
        if (g->values[v].rank != CLV_NO_RANK)
            sum.bytes = sat_add(sum.bytes, clv__held_bytes(&g->values[v]));
    }
    return sum;
}

/* -- at most k labels -----------------------------------------------------*/

typedef struct ladder {
    const clv_graph *g;
    const dag *d;
    const placement_costs *c;
    uint32_t k;
    uint8_t first;
    double scale;
    flow f;
    uint32_t s, t, extra;
} ladder;

/* Returns the network node of v between labels j-1 and j, 1 <= j < k. At the
 * ends these are s and t. */
static uint32_t place_rung(const ladder *l, uint32_t v, uint32_t j)
{
    return j == 0 ? l->s : j == l->k ? l->t : v * (l->k - 1) + j - 1;
}

static double cost_at(const ladder *l, uint32_t i, uint32_t label)
{
    bool cpu = (l->first == CLV_SIDE_CPU) == !(label & 1);
    return cpu ? l->c->cpu[i] : l->c->accelerator[i];
}

static void add_chains(ladder *l)
{
    for (uint32_t i = 0; i < l->g->n_nodes; i++)
        for (uint32_t j = 0; j < l->k; j++)
            flow_arc(&l->f, place_rung(l, i, j), place_rung(l, i, j + 1),
                     place_units(cost_at(l, i, j), l->scale),
                     j == 0 || j + 1 == l->k ? 0 : FLOW_INF);
    for (uint32_t i = 0; i < l->g->n_nodes; i++)
        for (uint32_t p = l->d->pred_first[i]; p < l->d->pred_first[i + 1]; p++)
            for (uint32_t j = 1; j < l->k; j++)
                flow_arc(&l->f, place_rung(l, l->d->pred[p], j),
                         place_rung(l, i, j), FLOW_INF, 0);
}

static void add_moves(ladder *l, uint32_t v)
{
    const clv_graph *g = l->g;
    uint32_t n = place_readers(g, v), maker = g->values[v].producer;
    int64_t move = place_units(l->c->move[v], l->scale);
    for (uint32_t j = 1; n && move && j < l->k; j++) {
        uint32_t b = n == 1 ? place_rung(l, maker, j) : l->extra++;
        for (uint32_t k = 0; k < n; k++)
            flow_arc(&l->f, place_rung(l, g->users[g->user_first[v] + k], j), b,
                     n == 1 ? move : FLOW_INF, 0);
        if (n > 1)
            flow_arc(&l->f, b, place_rung(l, maker, j), move, 0);
    }
}

static uint64_t ladder_size(const ladder *l, uint64_t *arcs)
{
    const clv_graph *g = l->g;
    uint64_t nodes = g->n_nodes, moves = 0;
    for (uint32_t v = 0; v < g->n_values; v++) {
        nodes += place_readers(g, v) > 1;
        moves += place_readers(g, v) ? (uint64_t)place_readers(g, v) + 1 : 0;
    }
    *arcs = (uint64_t)g->n_nodes * l->k +
            (l->d->pred_first[g->n_nodes] + moves) * (l->k - 1) + 1;
    return nodes * (l->k - 1) + 2;
}

/* Solves the cut and stores in `side` the side of the label that each node
 * got. */
static clv_status place_climb(ladder *l, arena *a, uint8_t *side, clv_err *e)
{
    uint64_t arcs, nodes = ladder_size(l, &arcs);
    if (nodes > 1u << 26 || arcs > 1u << 28)
        return clv__fail(e, CLV_LIMIT,
                         "%u operators in %u subgraphs are too many to place",
                         l->g->n_nodes, l->k);
    l->s = l->g->n_nodes * (l->k - 1);
    l->t = l->s + 1;
    l->extra = l->t + 1;
    l->scale = place_scale_of(l->g, l->c, l->k);
    if (!flow_init(&l->f, a, (uint32_t)nodes, (uint32_t)arcs))
        return clv__nomem(e);
    add_chains(l);
    for (uint32_t v = 0; v < l->g->n_values; v++)
        add_moves(l, v);
    if (flow_cut(&l->f, l->s, l->t) < 0)
        return clv__nomem(e);
    for (uint32_t i = 0; i < l->g->n_nodes; i++) {
        const labels as = {NULL, l->k, l->first};
        uint32_t label = 0;
        for (uint32_t j = 1; j < l->k; j++)
            label += l->f.source_side[place_rung(l, i, j)];
        side[i] = label_side(&as, label);
    }
    return CLV_OK;
}

static double place_cost_of(const clv_graph *g, const placement_costs *c,
                            const uint8_t *side)
{
    placement_sum s = clv__place_sum(g, c, side);
    return s.cpu + s.accelerator + s.transfer;
}

/* Tries both first devices and keeps the better result. */
static clv_status climb_both(arena *a, const clv_graph *g, const dag *d,
                             const placement_costs *c, uint32_t k,
                             uint8_t *side, clv_err *e)
{
    uint8_t *other = arena_alloc(a, (size_t)g->n_nodes + 1);
    if (!other)
        return clv__nomem(e);
    for (int start = 0; start < 2; start++) {
        ladder l = {.g = g, .d = d, .c = c, .k = k};
        arena_mark mark = arena_save(a);
        l.first = start ? CLV_SIDE_ACCELERATOR : CLV_SIDE_CPU;
        CLV_TRY(place_climb(&l, a, start ? other : side, e));
        arena_rewind(a, mark);
    }
    if (place_cost_of(g, c, other) < place_cost_of(g, c, side))
        memcpy(side, other, g->n_nodes);
    return CLV_OK;
}

static bool label_sides(arena *a, const dag *d, const uint8_t *side,
                        labels *out)
{
    labels both[2];
    if (!clv__label(a, d, side, both))
        return false;
    *out = both[clv__label_best(both, false)];
    return true;
}

clv_status clv__place_k(arena *a, const clv_graph *g, const dag *d,
                        const placement_costs *c, uint32_t k,
                        block_placement *out, clv_err *e)
{
    uint8_t *side = arena_alloc(a, (size_t)g->n_nodes + 1);
    if (!side)
        return clv__nomem(e);
    CLV_TRY(clv__place(a, g, c, side, e));
    if (!label_sides(a, d, side, &out->l))
        return clv__nomem(e);
    out->cost = place_cost_of(g, c, side);
    out->proven = out->l.n <= k;
    if (out->proven)
        return CLV_OK;
    CLV_TRY(climb_both(a, g, d, c, k, side, e));
    out->cost = place_cost_of(g, c, side);
    frontier_end end;
    uint32_t limit = k;
    do /* the search may give up for k blocks and succeed for fewer */
        end = clv__place_frontier(a, g, d, c, limit, side, &out->cost);
    while (end == FRONTIER_TOO_WIDE && --limit > 2 && limit + 4 > k);
    /* With two labels there is one border, and the cut is exact. */
    out->proven = k <= 2 || (end == FRONTIER_DONE && limit == k);
    return end != FRONTIER_NOMEM && label_sides(a, d, side, &out->l)
               ? CLV_OK
               : clv__nomem(e);
}
