/* count.c - the same graph counted by other tools' rules (count.def).
 *
 * A rule returns a tool's own figure for one operator: multiply-adds once,
 * other work per element. The two ways of counting a multiply-add are made here
 * and nowhere else (clv__count). */
#include "analysis/count.h"
#include "analysis/count_rules.h"
#include "ops/custom.h"

#include <string.h>

/* -- conventions ----------------------------------------------------------*/

/* Columns of count.def. */
typedef enum count_column {
    COLUMN_FVCORE,
    COLUMN_ATEN,
    COLUMN_THOP,
    N_COLUMNS,
    COLUMN_OURS = N_COLUMNS /* not in that table: the operators' own rules */
} count_column;

typedef enum count_special {
    SPECIAL_NOTHING,
    SPECIAL_WARNS,
    SPECIAL_MODULES
} count_special;

static const struct {
    const char *name, *unit, *tool;
    count_column column;
    count_special special;
} conventions[] = {
#define CLV_X(code, name, unit, tool, column, special) \
    {name, unit, tool, COLUMN_##column, SPECIAL_##special},
    CLV_CONVENTION_TABLE(CLV_X)
#undef CLV_X
};

static bool is_convention(clv_convention c)
{
    return (unsigned)c < CLV_CONVENTION_COUNT;
}

const char *clv_convention_name(clv_convention c)
{
    return is_convention(c) ? conventions[c].name : "?";
}

const char *clv_convention_unit(clv_convention c)
{
    return is_convention(c) ? conventions[c].unit : "?";
}

const char *clv_convention_tool(clv_convention c)
{
    return is_convention(c) ? conventions[c].tool : "?";
}

bool clv_convention_warns(clv_convention c)
{
    return is_convention(c) && conventions[c].special == SPECIAL_WARNS;
}

clv_convention clv_convention_find(const char *name)
{
    unsigned c = 0;
    while (c < CLV_CONVENTION_COUNT && strcmp(conventions[c].name, name))
        c++;
    return (clv_convention)c;
}

/* -- rules that tools share -----------------------------------------------*/

static int64_t count_macs(subject *s)
{
    return s->ours->macs;
}

static int64_t count_inputs(subject *s)
{
    return clv__numel(s->x);
}

static int64_t count_none(subject *s)
{
    (void)s;
    return 0;
}

/* PyTorch fuses an LSTM on the CPU unless it projects. FlopCounterMode has no
 * rule for the fused kernel, so it counts nothing. */
static int64_t aten_lstm(subject *s)
{
    return attr_int(s->n, CLV_A_PROJ) ? s->ours->macs : 0;
}

/* -- fvcore ---------------------------------------------------------------*/

/* fvcore counts numel(a) * last axis of b, which is too little when b has more
 * batch axes than a. */
static int64_t fvcore_matmul(subject *s)
{
    const clv_value *b = node_in(s->g, s->n, 1);
    if (b->rank < 2)
        return s->ours->macs; /* fvcore fails here */
    return sat_mul(clv__numel(s->x), b->dims[b->rank - 1]);
}

static int64_t fvcore_norm(subject *s)
{
    return sat_mul(node_in(s->g, s->n, 1) ? 5 : 4, clv__numel(s->x));
}

/* In evaluation: scale and shift, or the shift alone. By the statistics of its
 * input: as other norms. */
static int64_t fvcore_batch_norm(subject *s)
{
    if (!node_in(s->g, s->n, 3) || attr_int(s->n, CLV_A_TRAINING))
        return fvcore_norm(s);
    return sat_mul(node_in(s->g, s->n, 1) ? 2 : 1, clv__numel(s->x));
}

static int64_t fvcore_grid_sample(subject *s)
{
    return sat_mul(4, clv__numel(s->y));
}

/* fvcore knows two dimensions, and only nearest neighbour and linear. */
static int64_t fvcore_interpolate(subject *s)
{
    const char *mode = attr_str(s->n, CLV_A_MODE);
    bool nearest = !strcmp(mode, "nearest");
    if (s->x->rank != 4 || (!nearest && !strstr(mode, "linear"))) {
        s->kind = NULL;
        return 0;
    }
    s->kind = nearest ? "upsample_nearest2d" : "upsample_bilinear2d";
    return sat_mul(nearest ? 1 : 4, clv__numel(s->y));
}

/* -- ultralytics-thop -----------------------------------------------------*/

static int64_t thop_norm(subject *s)
{
    return sat_mul(node_in(s->g, s->n, 1) ? 4 : 2, clv__numel(s->x));
}

/* rows * (n exponentials, n - 1 additions, n divisions, and `extra`) */
static int64_t softmax_of(int64_t rows, int64_t n, int64_t extra)
{
    return sat_mul(rows, sat_add(sat_mul(3, n), extra - 1));
}

static int64_t softmax_over_axis(const subject *s, int64_t extra)
{
    int64_t all = clv__numel(s->x), axis = attr_int(s->n, CLV_A_AXIS);
    axis += axis < 0 ? s->x->rank : 0;
    int64_t n = axis >= 0 && axis < s->x->rank ? s->x->dims[axis] : 1;
    return n ? softmax_of(all / n, n, extra) : 0;
}

static int64_t thop_softmax(subject *s)
{
    return softmax_over_axis(s, 0);
}

static int64_t thop_log_softmax(subject *s)
{
    return softmax_over_axis(s, 1);
}

static int64_t thop_softmin(subject *s)
{
    return sat_add(softmax_over_axis(s, 0), clv__numel(s->x));
}

/* nn.MultiheadAttention: its products, and the softmax of every head. */
static int64_t thop_attention(subject *s)
{
    uint32_t r = s->x->rank;
    bool first = r == 3 && attr_is(s->n, CLV_A_LAYOUT, "batch");
    int64_t keys = node_in(s->g, s->n, 1)->dims[first ? 1 : 0];
    int64_t rows = sat_mul(dims_product(s->x->dims, 0, r - 1),
                           attr_int(s->n, CLV_A_HEADS));
    return sat_add(s->ours->macs, softmax_of(rows, keys, 0));
}

/* Counts `each` per hidden unit of a step, and two biases per gate. What our
 * own count has beyond the products is per hidden unit too, so it tells how
 * many there are. */
static int64_t count_recurrent(const subject *s, int64_t each, int64_t gates)
{
    int64_t bias = attr_int(s->n, CLV_A_BIAS) ? 2 * gates : 0;
    int64_t beside = s->ours->flops - sat_mul(2, s->ours->macs);
    int64_t units = beside / (clv__ops[s->n->op].unit + bias);
    return sat_add(s->ours->macs, sat_mul(units, each + bias));
}

static int64_t thop_lstm(subject *s)
{
    return count_recurrent(s, 8, 4);
}

static int64_t thop_gru(subject *s)
{
    return count_recurrent(s, 7, 3);
}

static int64_t thop_rnn(subject *s)
{
    return count_recurrent(s, 1, 1);
}

/* thop counts the additions in the windows, as we do, and a division per
 * output. */
static int64_t thop_adaptive_pool(subject *s)
{
    return sat_add(s->ours->flops, clv__numel(s->y));
}

/* Returns the sum of min(first + i * step, cap) for i < n, with step > 0. */
static int64_t sum_capped(int64_t first, int64_t step, int64_t n, int64_t cap)
{
    int64_t below = cap < first ? 0 : (cap - first) / step + 1;
    below = below < n ? below : n;
    return below * first + below * (below - 1) / 2 * step + (n - below) * cap;
}

/* Returns how many elements the windows along one axis cover. Elements of the
 * padding count only if they are averaged too. The sum is that of all window
 * ends, capped on the right, less all starts, capped on the left. */
static int64_t count_covered(const clv_node *n, uint32_t i, int64_t in,
                             int64_t out)
{
    uint32_t nk, ns, np;
    const int64_t *kernel = attr_ints(n, CLV_A_KERNEL, &nk);
    const int64_t *stride = attr_ints(n, CLV_A_STRIDE, &ns);
    const int64_t *padding = attr_ints(n, CLV_A_PADDING, &np);
    int64_t k = list_at(kernel, nk, i), s = list_at(stride, ns, i);
    int64_t p = list_at(padding, np, i);
    if (in > INT32_MAX || k > INT32_MAX || s < 1 || p > k)
        return sat_mul(out, k); /* no tensor is that large */
    bool padded = attr_int(n, CLV_A_COUNT_INCLUDE_PAD) != 0;
    int64_t ends = sum_capped(k - p, s, out, padded ? in + p : in);
    int64_t starts = sum_capped(-p, s, out, INT64_MAX / 4);
    int64_t left = padded ? 0 : sum_capped(-p, s, out, 0);
    return ends - starts + left;
}

static int64_t thop_avg_pool(subject *s)
{
    uint32_t nd = s->n->op == CLV_OP_AVG_POOL1D   ? 1
                  : s->n->op == CLV_OP_AVG_POOL2D ? 2
                                                  : 3;
    uint32_t lead = s->x->rank - nd;
    int64_t adds = dims_product(s->x->dims, 0, lead);
    for (uint32_t i = 0; i < nd; i++)
        adds = sat_mul(adds, count_covered(s->n, i, s->x->dims[lead + i],
                                           s->y->dims[lead + i]));
    return sat_add(adds, clv__numel(s->y));
}

static int64_t thop_interpolate(subject *s)
{
    static const int8_t linear[] = {0, 5, 11, 31}; /* by dimensions */
    const char *mode = attr_str(s->n, CLV_A_MODE);
    uint32_t nd = s->x->rank > 2 ? s->x->rank - 2u : 0;
    int64_t each = 0;
    if (strstr(mode, "linear") && nd < sizeof linear)
        each = linear[nd];
    else if (strstr(mode, "cubic"))
        each = 259;
    return sat_mul(each, clv__numel(s->y));
}

/* -- the table ------------------------------------------------------------*/

typedef struct count_cell {
    const char *kind;
    count_fn *rule; /* NULL: the tool has none */
} count_cell;

typedef struct count_row {
    count_cell cell[N_COLUMNS];
} count_row;

#define NOTHING        NULL, NULL
#define SILENT(op)     COUNT(op, NULL, count_none, NOTHING, NOTHING)
#define COUNT(op, ...) COUNT_ROW(op, __VA_ARGS__)
#define COUNT_ROW(op, a, b, c, d, e, f) \
    [CLV_OP_##op] = {{{a, b}, {c, d}, {e, f}}},
static const count_row rows[CLV_OP_COUNT] = {
#include "analysis/count.def"
};
#undef SILENT
#undef COUNT
#undef COUNT_ROW

static const count_cell *cell_of(clv_op op, clv_convention c)
{
    return &rows[op].cell[conventions[c].column];
}

const char *clv__counted_as(clv_op op, clv_convention c)
{
    const count_cell *cell = cell_of(op, c);
    return cell->rule && cell->kind ? cell->kind : "";
}

bool clv__counts_products_only(clv_convention c)
{
    return conventions[c].column == COLUMN_ATEN;
}

/* A tool that hooks modules sees only the matrix products of functions. */
static bool count_unseen(const clv_node *n, const clv_cost *ours,
                         clv_convention c)
{
    return conventions[c].special == SPECIAL_MODULES &&
           (n->flags & CLV_N_FUNCTION) && !ours->macs;
}

/* Adds a tool's figure. A multiply-add becomes two FLOPs, the rest stays as it
 * is. */
static void add_figure(clv_count *r, int64_t figure, int64_t macs,
                       clv_convention c)
{
    int64_t products = macs < figure ? macs : figure;
    r->heed = CLV_HEED_COUNTED;
    r->flops = sat_add(figure, products);
    r->total = !strcmp(conventions[c].unit, "FLOP") ? r->flops : figure;
}

static clv_count count_once(const clv_graph *g, const clv_node *n,
                            const clv_cost *cost, clv_convention convention)
{
    const count_cell *cell = cell_of((clv_op)n->op, convention);
    clv_count r = {.kind = cell->kind, .heed = CLV_HEED_NONE};
    const clv_given *given = clv__given(g, n);
    if (given) /* in whatever unit is asked for */
        return (clv_count){given->kind, given->flops, given->flops,
                           CLV_HEED_COUNTED};
    if (!cell->rule || cost->trust == CLV_TRUST_UNKNOWN || !n->n_in ||
        !n->n_out || count_unseen(n, cost, convention))
        return r;
    if (!cell->kind) {
        r.heed = CLV_HEED_SILENT;
        return r;
    }
    subject s = {g, n, node_in(g, n, 0), node_out(g, n, 0), cost, r.kind};
    int64_t figure = cell->rule(&s);
    r.kind = s.kind;
    if (r.kind)
        add_figure(&r, figure, cost->macs, convention);
    return r;
}

clv_count clv__count(const clv_graph *g, const clv_node *n,
                     const clv_cost *cost, clv_convention convention)
{
    int64_t times = clv__node_times(g, n);
    if (times == 1)
        return count_once(g, n, cost, convention);
    clv_cost once = *cost; /* rules count one run */
    once.macs = times ? cost->macs / times : 0;
    once.flops = times ? cost->flops / times : 0;
    clv_count r = count_once(g, n, &once, convention);
    r.total = sat_mul(r.total, times);
    r.flops = sat_mul(r.flops, times);
    return r;
}
