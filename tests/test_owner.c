/* test_owner.c - every weight counts once, for one node: brute force on random
 * graphs that compute much of their weights beforehand, and the widths and
 * depths at which a limit could hide some. */
#include "check.h"
#include "cleave.h"
#include "ops/ops.h"
#include "random_graph.h"

enum { ROW = 4 }; /* elements of the last axis of every tensor */

static uint32_t owner_value(clv_graph *g, clv_value_kind kind, uint32_t rank,
                            const int64_t *dims)
{
    uint32_t v = clv__value_add(g, NULL, kind, CLV_FLOAT32);
    bool ok = v != CLV_NONE && clv__value_set_shape(g, v, rank, dims);
    return ok ? v : CLV_NONE;
}

static uint32_t owner_weight(clv_graph *g, int64_t rows)
{
    return owner_value(g, CLV_VALUE_PARAM, 2, (int64_t[]){rows, ROW});
}

/* -- brute force ----------------------------------------------------------*/

/* True when v is a weight, or computed from weights alone. */
static bool brute_fixed(const clv_graph *g, uint32_t v)
{
    const clv_value *value = &g->values[v];
    if (value->producer == CLV_NONE)
        return value->kind == CLV_VALUE_PARAM;
    const clv_node *n = &g->nodes[value->producer];
    for (uint32_t i = 0; i < n->n_in; i++)
        if (!brute_fixed(g, node_ins(g, n)[i]))
            return false;
    return true;
}

static bool brute_size(const clv_node *n)
{
    return n->op == CLV_OP_SHAPE || n->op == CLV_OP_SIZE;
}

/* The first node on any way from v through computation beforehand that needs
 * its elements; every way is walked. CLV_NONE: sizes at most are asked for. */
static uint32_t brute_first(const clv_graph *g, uint32_t v)
{
    uint32_t first = CLV_NONE;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        bool reads = false;
        for (uint32_t i = 0; i < n->n_in; i++)
            reads = reads || node_ins(g, n)[i] == v;
        if (!reads || brute_size(n))
            continue;
        uint32_t out = node_outs(g, n)[0], by = id;
        if (brute_fixed(g, out) && brute_first(g, out) != CLV_NONE)
            by = brute_first(g, out);
        first = by < first ? by : first;
    }
    return first;
}

static uint32_t brute_reader(const clv_graph *g, uint32_t v)
{
    for (uint32_t id = 0; id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++)
            if (node_ins(g, &g->nodes[id])[i] == v)
                return id;
    return CLV_NONE;
}

/* Parameters per node, all of them added to *total. */
static void brute_params(const clv_graph *g, int64_t *params, int64_t *total)
{
    *total = 0;
    for (uint32_t id = 0; id < g->n_nodes; id++)
        params[id] = 0;
    for (uint32_t v = 0; v < g->n_values; v++) {
        if (g->values[v].kind != CLV_VALUE_PARAM ||
            brute_reader(g, v) == CLV_NONE)
            continue;
        uint32_t by = brute_first(g, v);
        by = by == CLV_NONE ? brute_reader(g, v) : by;
        params[by] += clv__numel(&g->values[v]);
        *total += clv__numel(&g->values[v]);
    }
}

/* Weights and one input, and nodes that read any two of what there is. */
static clv_graph *owner_graph(rng *r, uint32_t n_nodes)
{
    static const struct {
        clv_op op;
        uint32_t n_in;
    } ops[] = {{CLV_OP_ADD, 2},  {CLV_OP_MUL, 2},   {CLV_OP_SUB, 2},
               {CLV_OP_RELU, 1}, {CLV_OP_SHAPE, 1}, {CLV_OP_SQUEEZE, 1}};
    uint32_t made[32], n = 0;
    clv_graph *g;
    if (clv_graph_new("owner", &g, NULL) != CLV_OK)
        return NULL;
    made[n++] = owner_value(g, CLV_VALUE_INPUT, 2, (int64_t[]){1, ROW});
    for (uint32_t i = 1 + rng_below(r, 5); i > 0; i--)
        made[n++] = owner_weight(g, 1);
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t k = rng_below(r, 6);
        const uint32_t in[] = {made[rng_below(r, n)], made[rng_below(r, n)]};
        uint32_t y = random_node(g, ops[k].op, in, ops[k].n_in);
        if (ops[k].op != CLV_OP_SHAPE)
            made[n++] = y;
    }
    if (clv_graph_infer(g, NULL) == CLV_OK)
        return g;
    clv_graph_free(g);
    return NULL;
}

static void owner_compare(const clv_graph *g)
{
    int64_t want[64], total, sum = 0;
    brute_params(g, want, &total);
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        clv_cost c;
        CHECK_EQ_INT(clv__cost_node(g, id, &c, NULL), CLV_OK);
        CHECK_EQ_INT(c.params, want[id]);
        sum += c.params;
    }
    CHECK_EQ_INT(sum, total);
}

static void random_weights(void)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        rng r = {seed};
        clv_graph *g = owner_graph(&r, 2 + rng_below(&r, 11));
        CHECK_OR_RETURN(g);
        owner_compare(g);
        clv_graph_free(g);
        g = random_graph(seed, 20);
        CHECK_OR_RETURN(g);
        if (g->n_nodes < 64)
            owner_compare(g);
        clv_graph_free(g);
    }
}

/* All weights of all built-in models. */
static void zoo_weights(void)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++) {
        clv_graph *g = NULL;
        int64_t nodes = 0, values = 0;
        CHECK_OR_RETURN(clv_graph_open(m->name, NULL, &g, NULL) == CLV_OK);
        for (uint32_t id = 0; id < g->n_nodes; id++)
            nodes += g->params[id];
        for (uint32_t v = 0; v < g->n_values; v++)
            if (g->values[v].kind == CLV_VALUE_PARAM &&
                g->user_first[v] != g->user_first[v + 1])
                values += clv__numel(&g->values[v]);
        CHECK_EQ_INT(nodes, values);
        clv_graph_free(g);
    }
}

/* -- nothing is too wide or too deep --------------------------------------*/

static clv_totals owner_totals(clv_graph *g)
{
    clv_profile *p = NULL;
    clv_totals t = {0};
    if (CHECK_EQ_INT(clv_graph_infer(g, NULL), CLV_OK) &&
        CHECK_EQ_INT(clv_profile_new(g, NULL, &p, NULL), CLV_OK))
        t = *clv_profile_totals(p);
    clv_profile_free(p);
    clv_graph_free(g);
    return t;
}

static clv_graph *owner_new(uint32_t *x)
{
    clv_graph *g;
    if (clv_graph_new("wide", &g, NULL) != CLV_OK)
        return NULL;
    *x = owner_value(g, CLV_VALUE_INPUT, 2, (int64_t[]){1, ROW});
    return g;
}

/* n weights of eight rows of four, joined, then added to the input: 32 n. */
static clv_totals joined(uint32_t n)
{
    uint32_t x, *in = malloc(n * sizeof *in);
    clv_graph *g = owner_new(&x);
    for (uint32_t i = 0; i < n; i++)
        in[i] = owner_weight(g, 8);
    uint32_t cat[] = {x, random_node(g, CLV_OP_CAT, in, n)};
    random_node(g, CLV_OP_ADD, cat, 2);
    free(in);
    return owner_totals(g);
}

static void wide_join(void)
{
    CHECK_EQ_INT(joined(40).params, 1280);
    CHECK_EQ_INT(joined(5000).params, 32 * 5000);
}

static void many_size_readers(void)
{
    for (uint32_t n = 1; n < 100; n += 7) {
        uint32_t x;
        clv_graph *g = owner_new(&x);
        uint32_t in[] = {x, owner_weight(g, 1)};
        for (uint32_t i = 0; i < n; i++)
            random_node(g, CLV_OP_SHAPE, in + 1, 1);
        random_node(g, CLV_OP_ADD, in, 2);
        CHECK_EQ_INT(owner_totals(g).params, ROW);
    }
}

static void deep_preparation(void)
{
    uint32_t x;
    clv_graph *g = owner_new(&x);
    uint32_t in[] = {x, owner_weight(g, 1)};
    for (uint32_t i = 0; i < 300; i++)
        in[1] = random_node(g, CLV_OP_RELU, in + 1, 1);
    random_node(g, CLV_OP_ADD, in, 2);
    CHECK_EQ_INT(owner_totals(g).params, ROW);
}

/* Sums of two equal inputs, one upon the other: 2^60 ways lead to the weight.
 */
static void many_ways(void)
{
    uint32_t x;
    clv_graph *g = owner_new(&x);
    uint32_t in[] = {x, owner_weight(g, 1)};
    for (uint32_t i = 0; i < 60; i++)
        in[1] = random_node(g, CLV_OP_ADD, (uint32_t[]){in[1], in[1]}, 2);
    random_node(g, CLV_OP_ADD, in, 2);
    CHECK_EQ_INT(owner_totals(g).params, ROW);
}

/* A row of x, and one more per repetition: read once, however wide the join. */
static void repeated_inputs(void)
{
    enum { N = 300 };
    uint32_t x, in[2 * N];
    clv_graph *g = owner_new(&x);
    for (uint32_t i = 0; i < N; i++)
        in[i] = in[N + i] =
            owner_value(g, CLV_VALUE_INPUT, 2, (int64_t[]){1, ROW});
    random_node(g, CLV_OP_CAT, in, 2 * N);
    CHECK_EQ_INT(owner_totals(g).bytes_in, N * ROW * 4);
}

/* A weight stored in half the bytes, unpacked, then seen in many ways. */
static void stored_types(void)
{
    static const clv_attr full[] = {{.name = "dtype",
                                     .key = CLV_A_DTYPE,
                                     .type = CLV_ATTR_INT,
                                     .u.i = CLV_FLOAT32}};
    uint32_t x;
    clv_graph *g = owner_new(&x);
    uint32_t w = owner_weight(g, 1);
    g->values[w].dtype = CLV_FLOAT16;
    uint32_t in[] = {x, random_node(g, CLV_OP_CAST, &w, 1)};
    random_attrs(g, full, 1);
    for (uint32_t i = 0; i < 100; i++)
        in[1] = random_node(g, CLV_OP_SQUEEZE, in + 1, 1);
    random_node(g, CLV_OP_ADD, in, 2);
    CHECK_EQ_INT(owner_totals(g).bytes_weights, ROW * 2);
}

/* -- warnings -------------------------------------------------------------*/

/* Each tensor has as many elements as a value that only data tells. */
static void counted_warnings(void)
{
    uint32_t x;
    clv_graph *g = owner_new(&x);
    uint32_t size = clv__value_add(g, "size", CLV_VALUE_INPUT, CLV_INT64);
    CHECK_OR_RETURN(clv__value_set_shape(g, size, 1, (int64_t[]){3}));
    for (uint32_t i = 0; i < 50; i++)
        random_node(g, CLV_OP_RESHAPE, (uint32_t[]){x, size}, 2);
    CHECK_EQ_INT(clv_graph_infer(g, NULL), CLV_OK);
    CHECK_EQ_INT(g->n_warnings, 21);
    CHECK_STR(clv_graph_warning(g, 20), "30 more warnings are not shown");
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"random weights", random_weights},
    {"zoo weights", zoo_weights},
    {"wide join", wide_join},
    {"many size readers", many_size_readers},
    {"deep preparation", deep_preparation},
    {"many ways", many_ways},
    {"repeated inputs", repeated_inputs},
    {"stored types", stored_types},
    {"counted warnings", counted_warnings},
};
CHECK_MAIN(cases)
