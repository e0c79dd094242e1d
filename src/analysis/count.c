/* count.c - the same graph counted by other tools' rules (count.def). */
#include "analysis/count.h"

#include <string.h>

typedef int64_t count_fn(const clv_graph *g, const clv_node *n,
                         const clv_cost *ours);

/* -- conventions ----------------------------------------------------------*/

static const struct {
    const char *name, *unit;
} conventions[CLV_CONVENTION_COUNT] = {
    [CLV_COUNT_FULL] = {"full", "FLOP"},
    [CLV_COUNT_FVCORE] = {"fvcore", "MAC"},
    [CLV_COUNT_TORCH] = {"torch", "FLOP"},
    [CLV_COUNT_TORCHVISION] = {"torchvision", "MAC"},
    [CLV_COUNT_THOP] = {"thop", "MAC"},
};

const char *clv_convention_name(clv_convention c)
{
    return conventions[c].name;
}

const char *clv_convention_unit(clv_convention c)
{
    return conventions[c].unit;
}

clv_convention clv_convention_find(const char *name)
{
    unsigned c = 0;
    while (c < CLV_CONVENTION_COUNT && strcmp(conventions[c].name, name))
        c++;
    return (clv_convention)c;
}

/* -- rules that tools share -----------------------------------------------*/

static int64_t count_macs(const clv_graph *g, const clv_node *n,
                          const clv_cost *ours)
{
    (void)g, (void)n;
    return ours->macs;
}

static int64_t count_inputs(const clv_graph *g, const clv_node *n,
                            const clv_cost *ours)
{
    (void)ours;
    return clv__numel(node_in(g, n, 0));
}

static int64_t count_none(const clv_graph *g, const clv_node *n,
                          const clv_cost *ours)
{
    (void)g, (void)n, (void)ours;
    return 0;
}

/* -- fvcore ---------------------------------------------------------------*/

/* numel(a) * last axis of b: too little when b has more batch axes than a. */
static int64_t fvcore_matmul(const clv_graph *g, const clv_node *n,
                             const clv_cost *ours)
{
    const clv_value *a = node_in(g, n, 0), *b = node_in(g, n, 1);
    if (b->rank < 2)
        return ours->macs; /* fvcore itself stops there */
    return sat_mul(clv__numel(a), b->dims[b->rank - 1]);
}

/* In evaluation: scale and shift, or the shift alone. */
static int64_t fvcore_batch_norm(const clv_graph *g, const clv_node *n,
                                 const clv_cost *ours)
{
    (void)ours;
    return sat_mul(node_in(g, n, 1) ? 2 : 1, clv__numel(node_in(g, n, 0)));
}

static int64_t fvcore_norm(const clv_graph *g, const clv_node *n,
                           const clv_cost *ours)
{
    (void)ours;
    return sat_mul(node_in(g, n, 1) ? 5 : 4, clv__numel(node_in(g, n, 0)));
}

/* -- ultralytics-thop -----------------------------------------------------*/

static int64_t thop_norm(const clv_graph *g, const clv_node *n,
                         const clv_cost *ours)
{
    (void)ours;
    return sat_mul(node_in(g, n, 1) ? 4 : 2, clv__numel(node_in(g, n, 0)));
}

/* rows * (n exponentials, n - 1 additions, n divisions) */
static int64_t softmax(const clv_graph *g, const clv_node *n, int64_t extra)
{
    const clv_value *x = node_in(g, n, 0);
    int64_t all = clv__numel(x), axis = attr_int(n, CLV_A_AXIS, -1);
    axis += axis < 0 ? x->rank : 0;
    int64_t size = axis >= 0 && axis < x->rank ? x->dims[axis] : 1;
    int64_t rows = size ? all / size : 0;
    return sat_mul(rows, sat_mul(3, size) - 1 + extra);
}

static int64_t thop_softmax(const clv_graph *g, const clv_node *n,
                            const clv_cost *ours)
{
    (void)ours;
    return softmax(g, n, 0);
}

static int64_t thop_log_softmax(const clv_graph *g, const clv_node *n,
                                const clv_cost *ours)
{
    (void)ours;
    return softmax(g, n, 1);
}

/* An addition per element of a window, a division per output. Our cost is the
 * windows alone. */
static int64_t thop_adaptive_pool(const clv_graph *g, const clv_node *n,
                                  const clv_cost *ours)
{
    return sat_add(ours->flops, clv__numel(node_out(g, n, 0)));
}

/* The sum of min(first + i * step, cap) for i < n, with step > 0. */
static int64_t sum_capped(int64_t first, int64_t step, int64_t n, int64_t cap)
{
    int64_t below = cap < first ? 0 : (cap - first) / step + 1;
    below = below < n ? below : n;
    return below * first + below * (below - 1) / 2 * step + (n - below) * cap;
}

/* Elements that the windows along one axis cover, those of the padding only if
 * they are averaged too: ends capped on the right less starts on the left. */
static int64_t covered(const clv_node *n, uint32_t i, int64_t in, int64_t out)
{
    uint32_t nk, ns, np;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &nk);
    const int64_t *stride = attr_ints(n, CLV_A_STRIDE, &ns);
    const int64_t *padding = attr_ints(n, CLV_A_PADDING, &np);
    int64_t k = list_at(kernel, nk, i, 1), s = list_at(stride, ns, i, k);
    int64_t p = list_at(padding, np, i, 0);
    if (in > INT32_MAX || k > INT32_MAX || s < 1 || p > k)
        return sat_mul(out, k); /* nothing a tensor can have */
    bool padded = attr_int(n, CLV_A_COUNT_INCLUDE_PAD, 1) != 0;
    int64_t ends = sum_capped(k - p, s, out, padded ? in + p : in);
    int64_t starts = sum_capped(-p, s, out, INT64_MAX / 4);
    int64_t left = padded ? 0 : sum_capped(-p, s, out, 0);
    return ends - starts + left;
}

static int64_t thop_avg_pool(const clv_graph *g, const clv_node *n,
                             const clv_cost *ours)
{
    (void)ours;
    const clv_value *x = node_in(g, n, 0), *y = node_out(g, n, 0);
    uint32_t nd = n->op == CLV_OP_AVG_POOL1D   ? 1
                  : n->op == CLV_OP_AVG_POOL2D ? 2
                                               : 3;
    uint32_t lead = x->rank - nd;
    int64_t adds = dims_product(x->dims, 0, lead);
    for (uint32_t i = 0; i < nd; i++)
        adds =
            sat_mul(adds, covered(n, i, x->dims[lead + i], y->dims[lead + i]));
    return sat_add(adds, clv__numel(y));
}

/* -- the table ------------------------------------------------------------*/

typedef struct count_cell {
    const char *kind;
    count_fn *rule; /* NULL: the tool has none */
} count_cell;

typedef struct count_row {
    count_cell fvcore, aten, thop;
} count_row;

#define SILENT         NULL, count_none
#define NOTHING        NULL, NULL
#define COUNT(op, ...) COUNT_ROW(op, __VA_ARGS__)
#define COUNT_ROW(op, a, b, c, d, e, f) \
    [CLV_OP_##op] = {{a, b}, {c, d}, {e, f}},
static const count_row rows[CLV_OP_COUNT] = {
#include "analysis/count.def"
};
#undef COUNT
#undef COUNT_ROW

static const count_cell *cell_of(clv_op op, clv_convention c)
{
    const count_row *row = &rows[op];
    return c == CLV_COUNT_FVCORE ? &row->fvcore
           : c == CLV_COUNT_THOP ? &row->thop
                                 : &row->aten;
}

/* thop hooks modules; of functions it sees the matrix products only. */
static bool unseen(const clv_node *n, const clv_cost *ours, clv_convention c)
{
    return c == CLV_COUNT_THOP && (n->flags & CLV_N_FUNCTION) && !ours->macs;
}

clv_count clv__count(const clv_graph *g, const clv_node *n,
                     const clv_cost *cost, clv_convention convention)
{
    const count_cell *cell = cell_of((clv_op)n->op, convention);
    clv_count r = {.kind = cell->kind};
    r.heed = !cell->rule   ? CLV_HEED_NONE
             : !cell->kind ? CLV_HEED_SILENT
                           : CLV_HEED_COUNTED;
    if (r.heed != CLV_HEED_COUNTED || cost->trust == CLV_UNKNOWN)
        return r;
    if (unseen(n, cost, convention))
        return (clv_count){.heed = CLV_HEED_NONE};
    r.total = cell->rule(g, n, cost);
    int64_t products = cost->macs < r.total ? cost->macs : r.total;
    r.flops = sat_add(r.total, products);
    if (convention == CLV_COUNT_TORCH)
        r.total = r.flops;
    return r;
}
