/* test_capability.c - capability cuts of real graphs: the examples of a
 * vendor's partitioner note, and shapes that partitioners are known to get
 * wrong. */
#include "analysis/profile.h"
#include "check.h"
#include "cleave.h"
#include "cut/cut.h"
#include "graph/schema.h"
#include "random_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- a few words to build graphs ------------------------------------------*/

typedef struct model {
    clv_graph *g;
    clv_profile *p;
    clv_support *s;
    clv_cut *c;
    clv_err err;
} model;

static uint32_t value(model *m, clv_value_kind kind, int64_t a, int64_t b)
{
    const int64_t dims[] = {a, b};
    const clv_value_arg arg = {.size = sizeof arg,
                               .kind = kind,
                               .dtype = CLV_FLOAT32,
                               .rank = 2,
                               .dims = dims};
    uint32_t v = CLV_NONE;
    CHECK(clv_graph_add_value(m->g, &arg, &v, &m->err) == CLV_OK);
    return v;
}

static uint32_t op_of(model *m, const char *op, const char *origin,
                      const uint32_t *in, uint32_t n)
{
    const clv_node_arg arg = {.size = sizeof arg,
                              .op = op,
                              .origin = origin,
                              .inputs = in,
                              .n_inputs = n};
    uint32_t out = CLV_NONE;
    CHECK(clv_graph_add_node(m->g, &arg, &out, &m->err) == CLV_OK);
    return out;
}

static uint32_t one(model *m, const char *op, uint32_t x)
{
    char origin[64];
    snprintf(origin, sizeof origin, "aten::%s", op);
    return op_of(m, op, origin, &x, 1);
}

static uint32_t two(model *m, const char *op, uint32_t x, uint32_t y)
{
    const uint32_t in[] = {x, y};
    return op_of(m, op, NULL, in, 2);
}

static uint32_t linear(model *m, uint32_t x, int64_t from, int64_t to)
{
    const uint32_t in[] = {x, value(m, CLV_VALUE_PARAM, to, from)};
    return op_of(m, "linear", "aten::linear", in, 2);
}

static model begin(void)
{
    model m = {0};
    CHECK(clv_graph_new("mlp", &m.g, &m.err) == CLV_OK);
    return m;
}

static void finish(model *m, uint32_t output)
{
    CHECK(clv_graph_add_output(m->g, output, &m->err) == CLV_OK);
    if (!CHECK(clv_graph_infer(m->g, &m->err) == CLV_OK))
        printf("FAIL %s\n", m->err.msg);
    CHECK(clv_profile_new(m->g, NULL, &m->p, &m->err) == CLV_OK);
}

static void support(model *m, const char *backend)
{
    clv_backend *b = NULL;
    CHECK(clv_backend_open(backend, NULL, &b, &m->err) == CLV_OK);
    clv_support_free(m->s);
    m->s = NULL;
    CHECK(b && clv_support_new(b, m->g, &m->s, &m->err) == CLV_OK);
    clv_backend_free(b);
}

/* Cuts, verifies and keeps; NULL with the error in m->err when it fails. */
static const clv_capability_info *cut(model *m, const clv_capability_opts *o)
{
    clv_cut_free(m->c);
    if (clv_cut_capability(m->p, clv_support_get(m->s), o, &m->c, &m->err))
        return NULL;
    clv_err e;
    if (!CHECK(clv_cut_verify(m->c, &e) == CLV_OK))
        printf("FAIL %s\n", e.msg);
    return clv_cut_capability_info(m->c);
}

static void end(model *m)
{
    clv_cut_free(m->c);
    clv_support_free(m->s);
    clv_profile_free(m->p);
    clv_graph_free(m->g);
}

static uint32_t subgraphs(const model *m)
{
    uint32_t n = 0;
    clv_cut_subgraphs(m->c, &n);
    return n;
}

static const char *device_of(const model *m, uint32_t node)
{
    uint32_t n;
    return clv_cut_subgraphs(m->c, &n)[clv_cut_subgraph_of(m->c, node)].device;
}

/* -- the examples of the note ---------------------------------------------*/

/* fc, relu, [sort,] fc, relu, fc, log_softmax [, sort] */
static model mlp(bool middle)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 32, 784);
    x = one(&m, "relu", linear(&m, x, 784, 4096));
    if (middle)
        x = one(&m, "sort", x);
    x = one(&m, "relu", linear(&m, x, 4096, 2048));
    x = one(&m, "log_softmax", linear(&m, x, 2048, 10));
    if (!middle)
        x = one(&m, "sort", x);
    finish(&m, x);
    support(&m, "all-but:sort");
    return m;
}

static void sort_at_the_end(void)
{
    model m = mlp(false);
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 2);
    CHECK_EQ_INT(i->supported, 6);
    CHECK_EQ_INT(i->total, 7);
    CHECK_NEAR(i->percentage, 85.71, 0.005);
    CHECK_STR(device_of(&m, 0), "all-but");
    CHECK_STR(device_of(&m, 6), "cpu");
    CHECK_EQ_INT(i->n_certificate[0], 2);
    CHECK_EQ_INT(i->certificate[0][1], 6);
    CHECK_EQ_INT(i->n_what_if, 1);
    CHECK_STR(i->what_if[0].op, "sort");
    CHECK_EQ_INT(i->what_if[0].subgraphs, 1);
    CHECK_EQ_INT(i->crossing_bytes, 32 * 10 * 4);
    end(&m);
}

static void sort_in_the_middle(void)
{
    model m = mlp(true);
    const clv_capability_opts o = {.size = sizeof o, .max_subgraph_count = 2};
    CHECK(cut(&m, &o) == NULL);
    CHECK_EQ_INT(m.err.code, CLV_LIMIT);
    CHECK_STR(m.err.msg, "The partitioner has found 3 subgraphs which exceeds "
                         "the specified max subgraph count of 2.");
    CHECK(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 3);
    end(&m);
}

static void forced_log_softmax(void)
{
    static const char *const names[] = {"aten::log_softmax", "LogSoftmax",
                                        "log_softmax"};
    for (int k = 0; k < 3; k++) {
        model m = mlp(false);
        CHECK(clv_support_force_op(m.s, names[k], CLV_SIDE_CPU, &m.err) ==
              CLV_OK);
        const clv_capability_opts o = {.size = sizeof o, .min_support = 0.8};
        const clv_capability_info *i = cut(&m, &o);
        CHECK_OR_RETURN(i != NULL);
        CHECK_EQ_INT(i->supported, 6); /* still: the backend's own word */
        CHECK_EQ_INT(subgraphs(&m), 2);
        CHECK_STR(device_of(&m, 4), "all-but");
        CHECK_STR(device_of(&m, 5), "cpu");
        CHECK_STR(device_of(&m, 6), "cpu");
        end(&m);
    }
}

static void two_branches(void)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 8, 16), y[2];
    for (int k = 0; k < 2; k++)
        y[k] = linear(&m, one(&m, "sort", linear(&m, x, 16, 16)), 16, 16);
    finish(&m, two(&m, "add", y[0], y[1]));
    support(&m, "all-but:sort");
    CHECK(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 3); /* run lengths of the trace: 5 */
    end(&m);
}

static void limits(void)
{
    model m = mlp(true);
    clv_capability_opts o = {.size = sizeof o, .min_support = 0.9};
    CHECK(cut(&m, &o) == NULL);
    CHECK_STR(m.err.msg,
              "Model support percentage of 85.71% below threshold of 90.00%");
    o = (clv_capability_opts){.size = sizeof(clv_capability_opts),
                              .min_subgraph_size = 2};
    CHECK(cut(&m, &o) == NULL);
    CHECK_STR(m.err.msg, "Partitioner created a CPU subgraph with 1 operators, "
                         "which is less than the specified min subgraph size "
                         "of 2");
    o.demote = true; /* the first block is the cheaper neighbour */
    const clv_capability_info *i = cut(&m, &o);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 2);
    CHECK(i->n_demoted == 2 || i->n_demoted == 4);
    o = (clv_capability_opts){.size = sizeof(clv_capability_opts),
                              .max_subgraph_count = 2,
                              .demote = true};
    i = cut(&m, &o);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 2);
    CHECK_EQ_INT(i->minimum, 3);
    o.max_subgraph_count = 1;
    i = cut(&m, &o);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 1);
    CHECK_EQ_INT(i->n_demoted, 6);
    end(&m);
}

/* -- shapes known to go wrong ---------------------------------------------*/

/* A view between two supported operators is no border, and a chain of them
 * after an unsupported one does not drag more to the CPU. */
static void views_are_no_barrier(void)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 8, 16);
    x = linear(&m, x, 16, 16);
    for (int k = 0; k < 3; k++)
        x = one(&m, "identity", x);
    x = linear(&m, x, 16, 16);
    finish(&m, x);
    support(&m, "tests/data/rules_linear.json");
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 1);
    CHECK_EQ_INT(i->total, 2);
    support(&m, "all-but:identity"); /* unless the backend names it */
    CHECK(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 3);
    end(&m);
}

/* One weight read on both devices ties nothing together. */
static void shared_constant(void)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 8, 16),
             w = value(&m, CLV_VALUE_CONST, 8, 16);
    uint32_t a = two(&m, "add", x, w);
    uint32_t b = two(&m, "mul", one(&m, "sort", a), w);
    finish(&m, two(&m, "add", linear(&m, b, 16, 16), w));
    support(&m, "all-but:sort,mul");
    CHECK(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 3);
    end(&m);
}

/* Two resolutions that read each other stage by stage, as HRNet does, with the
 * unsupported operator on every second exchange. */
static void exchange(void)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 8, 16), y = x;
    for (int k = 0; k < 4; k++) {
        uint32_t a = linear(&m, x, 16, 16), b = linear(&m, y, 16, 16);
        if (k & 1)
            b = one(&m, "sort", b);
        x = two(&m, "add", a, b);
        y = two(&m, "add", b, a);
    }
    finish(&m, two(&m, "add", x, y));
    support(&m, "all-but:sort");
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 5);
    const clv_capability_opts o = {.size = sizeof o, .connected = true};
    CHECK(cut(&m, &o) != NULL);
    CHECK(subgraphs(&m) >= 5);
    end(&m);
}

/* 0 > 2, 0 > 4, 1 > 3, 1 > 5, 2 > 5, 3 > 4, with 2 and 3 on the CPU: neighbours
 * that merge without a look at paths, {0,4} and {1,5}, wait for each other. */
static void crossed_pair(void)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 8, 16);
    uint32_t a = linear(&m, x, 16, 16), b = linear(&m, x, 16, 16);
    uint32_t c = one(&m, "sort", a), d = one(&m, "sort", b);
    uint32_t e = two(&m, "add", a, d);
    finish(&m, two(&m, "mul", e, two(&m, "add", b, c)));
    support(&m, "all-but:sort");
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 3);
    CHECK_EQ_INT(i->accelerator, 2);
    const clv_capability_opts o = {.size = sizeof o, .connected = true};
    CHECK(cut(&m, &o) != NULL && subgraphs(&m) > 3);
    end(&m);
}

/* Results of one operator that are picked one by one are no border. */
static void getitem_chain(void)
{
    model m = begin();
    uint32_t x = linear(&m, value(&m, CLV_VALUE_INPUT, 8, 16), 16, 16), part[2];
    for (int k = 0; k < 3; k++) {
        const clv_attr_arg two_parts = {
            .name = "sections", .type = CLV_ATTR_INT, .u.i = 2};
        const clv_attr_arg axis = {
            .name = "axis", .type = CLV_ATTR_INT, .u.i = 1};
        const clv_attr_arg attrs[] = {two_parts, axis};
        const clv_node_arg chunk = {.size = sizeof chunk,
                                    .op = "chunk",
                                    .inputs = &x,
                                    .n_inputs = 1,
                                    .n_outputs = 2,
                                    .attrs = attrs,
                                    .n_attrs = 2};
        CHECK(clv_graph_add_node(m.g, &chunk, part, &m.err) == CLV_OK);
        uint32_t y = one(&m, "identity", one(&m, "identity", part[1]));
        x = linear(&m, two(&m, "mul", part[0], y), 8, 16);
    }
    finish(&m, x);
    support(&m, "tests/data/rules_linear.json");
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(subgraphs(&m), 7); /* the products alone are for the CPU */
    support(&m, "all-but:sort");
    CHECK(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 1);
    end(&m);
}

/* Stateful nodes keep their order, whatever the data would allow. */
static void stateful_order(void)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 8, 16);
    uint32_t a = one(&m, "sort", x), b = one(&m, "relu", x);
    uint32_t c = one(&m, "sort", x);
    finish(&m, two(&m, "add", two(&m, "add", a, b), c));
    for (uint32_t i = 0; i < 3; i++)
        m.g->nodes[i].flags |= CLV_N_STATEFUL;
    support(&m, "all-but:sort");
    CHECK(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 4); /* sort | relu | sort | add, add */
    CHECK(clv_cut_subgraph_of(m.c, 0) < clv_cut_subgraph_of(m.c, 1));
    CHECK(clv_cut_subgraph_of(m.c, 1) < clv_cut_subgraph_of(m.c, 2));
    for (uint32_t k = 1, n; k < 3; k++) { /* the order alone makes them wait */
        const clv_subgraph *s = &clv_cut_subgraphs(m.c, &n)[k];
        CHECK(s->n_depends_on == 1 && s->depends_on[0] == k - 1);
    }
    end(&m);
}

/* -- limits and orders, by brute force ------------------------------------*/

enum { SMALL = 6, ORDERS = 2 };

/* A graph of SMALL operators: relu for the accelerator, sort for the CPU,
 * identity for either; and pairs to keep in order. */
typedef struct puzzle {
    model m;
    clv_order order[ORDERS];
    bool edge[SMALL][SMALL]; /* a tensor or an order from i to j */
    uint8_t side[SMALL];
    uint32_t least; /* subgraphs of any cut, by brute force */
} puzzle;

static void puzzle_nodes(puzzle *z, rng *r)
{
    static const char *const ops[] = {"relu", "sort", "identity"};
    static const uint8_t sides[] = {CLV_SIDE_ACCELERATOR, CLV_SIDE_CPU,
                                    CLV_SIDE_EITHER};
    uint32_t x[SMALL + 1] = {value(&z->m, CLV_VALUE_INPUT, 4, 4)};
    for (uint32_t i = 0; i < SMALL; i++) {
        uint32_t from = rng_below(r, i + 1), kind = rng_below(r, 8);
        kind = kind < 3 ? 0 : kind < 6 ? 1 : kind == 6 ? 2 : 3;
        if (kind < 3) {
            x[i + 1] = one(&z->m, ops[kind], x[from]);
        } else {
            uint32_t other = rng_below(r, i + 1);
            x[i + 1] = two(&z->m, "add", x[from], x[other]);
            if (other)
                z->edge[other - 1][i] = true;
        }
        if (from)
            z->edge[from - 1][i] = true;
        z->side[i] = kind < 3 ? sides[kind] : (uint8_t)CLV_SIDE_ACCELERATOR;
    }
    finish(&z->m, x[SMALL]);
    support(&z->m, "all-but:sort");
}

static bool puzzle_allows(const puzzle *z, const uint8_t *of, uint32_t n)
{
    bool reach[SMALL][SMALL] = {{false}};
    uint8_t left[SMALL];
    memset(left, CLV_SIDE_EITHER, sizeof left);
    for (uint32_t i = 0; i < SMALL; i++) {
        if (!(left[of[i]] &= z->side[i]))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (z->edge[j][i] && of[j] != of[i])
                reach[of[j]][of[i]] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
    for (uint32_t i = 0; i < n; i++)
        if (reach[i][i])
            return false;
    return true;
}

/* The fewest blocks over every partition of the nodes into sets. */
static void puzzle_search(puzzle *z, uint8_t *of, uint32_t at, uint32_t n)
{
    if (at == SMALL) {
        if (n < z->least && puzzle_allows(z, of, n))
            z->least = n;
        return;
    }
    for (uint32_t b = 0; b <= n && b < z->least; b++) {
        of[at] = (uint8_t)b;
        puzzle_search(z, of, at + 1, b == n ? n + 1 : n);
    }
}

static puzzle puzzle_new(uint64_t seed)
{
    rng r = {seed};
    puzzle z = {.m = begin(), .least = SMALL + 1};
    uint8_t of[SMALL];
    puzzle_nodes(&z, &r);
    for (uint32_t i = 0; i < ORDERS; i++) {
        uint32_t after = 1 + rng_below(&r, SMALL - 1);
        z.order[i] = (clv_order){rng_below(&r, after), after};
        z.edge[z.order[i].before][after] = true;
    }
    puzzle_search(&z, of, 0, 0);
    return z;
}

/* Whether the nodes of s are linked by edges between them. */
static bool hangs_together(const puzzle *z, const clv_subgraph *s)
{
    bool in[SMALL] = {false}, seen[SMALL] = {false};
    uint32_t found = 1;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        in[s->nodes[i]] = true;
    seen[s->nodes[0]] = true;
    for (uint32_t round = 0; round < SMALL; round++)
        for (uint32_t i = 0; i < SMALL; i++)
            for (uint32_t j = 0; j < SMALL; j++)
                if (in[i] && in[j] && (z->edge[i][j] || z->edge[j][i]) &&
                    seen[i] && !seen[j]) {
                    seen[j] = true;
                    found++;
                }
    return found == s->n_nodes;
}

/* Every subgraph of a finished cut keeps every limit, counted anew. */
static void puzzle_check(const puzzle *z, const clv_capability_opts *o)
{
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(z->m.c, &n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t size = 0;
        for (uint32_t i = 0; i < subs[k].n_nodes; i++)
            size += z->side[subs[k].nodes[i]] != CLV_SIDE_EITHER;
        CHECK(size >= o->min_subgraph_size);
        CHECK(!o->connected || hangs_together(z, &subs[k]));
    }
    CHECK(!o->max_subgraph_count || n <= o->max_subgraph_count);
    for (uint32_t i = 0; i < SMALL; i++)
        for (uint32_t j = 0; j < i; j++)
            CHECK(!z->edge[j][i] || clv_cut_subgraph_of(z->m.c, j) <=
                                        clv_cut_subgraph_of(z->m.c, i));
}

static void limits_by_brute_force(void)
{
    uint32_t refused = 0, met = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        puzzle z = puzzle_new(seed);
        clv_capability_opts o = {
            .size = sizeof o, .order = z.order, .n_order = ORDERS};
        const clv_capability_info *i = cut(&z.m, &o);
        CHECK_OR_RETURN(i != NULL);
        CHECK_EQ_INT(i->minimum, z.least);
        CHECK_EQ_INT(subgraphs(&z.m), z.least);
        puzzle_check(&z, &o);
        for (uint32_t way = 0; way < 64; way++) {
            o.connected = way & 1;
            o.demote = way & 2;
            o.min_subgraph_size = way >> 2 & 3;
            o.max_subgraph_count = way >> 4;
            bool ok = cut(&z.m, &o) != NULL;
            CHECK(ok || z.m.err.code == CLV_LIMIT);
            if (!o.connected && !o.demote && !o.min_subgraph_size)
                CHECK(ok == (!o.max_subgraph_count ||
                             z.least <= o.max_subgraph_count));
            if (ok)
                puzzle_check(&z, &o);
            met += ok;
            refused += !ok;
        }
        end(&z.m);
    }
    CHECK(met > 1000 && refused > 1000); /* both ends were tried */
}

static void orders_and_shares(void)
{
    model m = mlp(true);
    const clv_order wrong[] = {{2, 2}, {3, 1}, {0, 7}};
    for (int k = 0; k < 3; k++) {
        const clv_capability_opts o = {
            .size = sizeof o, .order = &wrong[k], .n_order = 1};
        CHECK(cut(&m, &o) == NULL && m.err.code == CLV_USAGE);
    }
    CHECK_STR(m.err.msg, "order 0: node 0 cannot come before node 7 of 7");
    const clv_capability_opts shares[] = {
        {.size = sizeof *shares, .min_support = 1.5},
        {.size = sizeof *shares, .min_support = -0.5},
        {.size = sizeof *shares, .min_support = NAN}};
    for (int k = 0; k < 3; k++)
        CHECK(cut(&m, &shares[k]) == NULL && m.err.code == CLV_USAGE);
    const clv_capability_opts some = {.size = sizeof some,
                                      .some_support = true};
    CHECK(cut(&m, &some) != NULL);
    support(&m, "all-but:linear,relu,log_softmax,sort");
    CHECK(cut(&m, &some) == NULL && m.err.code == CLV_LIMIT);
    CHECK_STR(m.err.msg, "Model support percentage is very close to 0%: 0.00%");
    CHECK(cut(&m, NULL) != NULL); /* nobody asked */
    end(&m);
}

/* -- many graphs ----------------------------------------------------------*/

static void random_graphs(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        model m = {.g = random_graph(seed, 20 + (uint32_t)(seed * 7 % 300))};
        CHECK_OR_RETURN(m.g != NULL);
        CHECK(clv_profile_new(m.g, NULL, &m.p, &m.err) == CLV_OK);
        support(&m, seed & 1 ? "all-but:softmax,matmul" : "all-but:conv2d");
        const clv_capability_info *i = cut(&m, NULL);
        CHECK_OR_RETURN(i != NULL);
        uint32_t total = subgraphs(&m);
        CHECK_EQ_INT(total, i->minimum);
        CHECK(i->n_certificate[0] == total ||
              (i->n_certificate[0] == total - 1 &&
               i->n_certificate[1] == total - 1));
        clv_capability_opts o = {.size = sizeof o,
                                 .objective = CLV_OBJECTIVE_ACCELERATOR};
        i = cut(&m, &o);
        CHECK(i && i->accelerator == i->minimum && subgraphs(&m) >= total);
        o = (clv_capability_opts){.size = sizeof(clv_capability_opts),
                                  .connected = true,
                                  .no_what_if = true};
        CHECK(cut(&m, &o) && subgraphs(&m) >= total);
        for (uint32_t k = 1; k < total && k < 5; k++) {
            o = (clv_capability_opts){.size = sizeof(clv_capability_opts),
                                      .max_subgraph_count = k,
                                      .demote = true};
            CHECK(cut(&m, &o) && subgraphs(&m) <= k);
        }
        end(&m);
    }
}

/* -- many kinds -----------------------------------------------------------*/

/* n nodes in a row, each of a kind of its own that nobody supports; the first
 * kind comes twice. */
static model strangers(uint32_t n)
{
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 2, 2);
    x = op_of(&m, "unknown", "my::op_0", &x, 1);
    for (uint32_t i = 0; i < n; i++) {
        char origin[32];
        snprintf(origin, sizeof origin, "my::op_%u", i);
        x = op_of(&m, "unknown", origin, &x, 1);
    }
    finish(&m, x);
    support(&m, "ref");
    return m;
}

/* Every kind has a row and a trial; none is cut off. */
static void many_kinds(void)
{
    enum { N = 1500 };
    model m = strangers(N);
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(i->n_rows, N);
    CHECK_EQ_INT(i->rows[0].count, 2);
    CHECK_EQ_INT(i->n_what_if, N);
    CHECK_EQ_INT(i->what_if_untried, 0);
    end(&m);
}

static bool needs_no_attribute(clv_op op)
{
    const clv_schema *takes = clv__schema_of(op);
    for (uint32_t i = 0; i < takes->n_attrs; i++)
        if (takes->attrs[i].presence == CLV_PRESENCE_REQUIRED)
            return false;
    return true;
}

/* A subgraph of very many types of operators lists them all. */
static void types_of_a_subgraph(void)
{
    static const clv_op like[] = {CLV_OP_EXP, CLV_OP_RELU, CLV_OP_ADD};
    model m = begin();
    uint32_t x = value(&m, CLV_VALUE_INPUT, 2, 2), added = 0, n;
    const uint32_t in[] = {x, x, x};
    for (int op = 0; op < CLV_OP_COUNT; op++)
        for (int i = 0; i < 3; i++)
            if (clv__schema_of((clv_op)op)->min_in <= 3 &&
                needs_no_attribute((clv_op)op) &&
                clv__ops[op].cls == CLV_CLASS_COMPUTE &&
                clv__ops[op].infer == clv__ops[like[i]].infer) {
                const clv_schema *s = clv__schema_of((clv_op)op);
                for (int twice = 0; twice < 2; twice++)
                    op_of(&m, clv__ops[op].name, NULL, in,
                          s->either ? s->either + 1u : s->min_in);
                added++;
            }
    finish(&m, one(&m, "sort", x));
    support(&m, "null");
    CHECK_OR_RETURN(cut(&m, NULL) != NULL);
    CHECK_EQ_INT(subgraphs(&m), 1);
    clv_type_total *types = clv__cut_types(m.c, 0, &n);
    CHECK(added > 64);
    CHECK_EQ_INT(n, added + 1);
    for (uint32_t i = 0; types && i + 1 < n; i++)
        CHECK_EQ_INT(types[i].count, 2);
    clv__free(types);
    end(&m);
}

/* What would take too long is counted, and reported. */
static void too_many_kinds(void)
{
    enum { N = 4000 };
    model m = strangers(N);
    const clv_capability_info *i = cut(&m, NULL);
    CHECK_OR_RETURN(i != NULL);
    CHECK_EQ_INT(i->n_rows, N);
    CHECK(i->n_what_if >= 256 && i->what_if_untried > 0);
    CHECK_EQ_INT(i->n_what_if + i->what_if_untried, N);
    bool first = false; /* it has the most nodes */
    for (uint32_t k = 0; k < i->n_what_if; k++)
        first = first || i->what_if[k].nodes == 2;
    CHECK(first);
    end(&m);
}

static const check_case cases[] = {
    {"sort_at_the_end", sort_at_the_end},
    {"sort_in_the_middle", sort_in_the_middle},
    {"forced_log_softmax", forced_log_softmax},
    {"two_branches", two_branches},
    {"limits", limits},
    {"views_are_no_barrier", views_are_no_barrier},
    {"shared_constant", shared_constant},
    {"exchange", exchange},
    {"crossed_pair", crossed_pair},
    {"getitem_chain", getitem_chain},
    {"stateful_order", stateful_order},
    {"limits_by_brute_force", limits_by_brute_force},
    {"orders_and_shares", orders_and_shares},
    {"random_graphs", random_graphs},
    {"many_kinds", many_kinds},
    {"types_of_a_subgraph", types_of_a_subgraph},
    {"too_many_kinds", too_many_kinds},
};
CHECK_MAIN(cases)
