/* test_ops_random.c - every operator's rules on random shapes, types and
 * attributes: nothing may overflow, run off an array or take long, and what
 * comes out must make sense.
 *
 * Small sizes from a small set make operands fit often enough to get past the
 * first checks; now and then a size is absurd. Then the cases of tests/cases/,
 * which fit, are spoilt a little at a time. The numbers are seeded, so a
 * failure repeats; CLEAVE_RANDOM sets how many nodes are tried. */
#include "graph/schema.h"
#include "ops_case.h"

enum { NODES = 500, VALUES = 60, POOL = 400, ATTRS = 40, LIST = 20 };

static uint64_t state = 88172645463325252u;
static long tried[CLV_OP_COUNT], fitted[CLV_OP_COUNT];
static clv_attr pool[POOL]; /* of the graph at hand */

static uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

/* -- what can be given ----------------------------------------------------*/

static int64_t any_size(void)
{
    static const int64_t often[] = {1, 2, 3, 4, 4, 6, 8, 8, 12};
    static const int64_t seldom[] = {
        0,        5, 7, 1 << 20, INT32_MAX, INT64_C(1) << 40, INT64_MAX / 2,
        INT64_MAX};
    if (pick(16))
        return often[pick(sizeof often / sizeof *often)];
    return seldom[pick(sizeof seldom / sizeof *seldom)];
}

static int64_t any_int(void)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MAX,        INT64_MIN + 1,
                                  INT32_MIN, INT64_C(1) << 40, -100,
                                  1000,      INT64_C(1) << 62, -1};
    if (pick(12))
        return (int64_t)pick(8) - 2;
    return odd[pick(sizeof odd / sizeof *odd)];
}

static double any_float(void)
{
    static const double odd[] = {
        0.0, -1.0, 1e300, -1e300, (double)INFINITY, (double)NAN};
    if (pick(8))
        return (double)pick(9) / 2;
    return odd[pick(sizeof odd / sizeof *odd)];
}

static const char *any_text(void)
{
    static const char *const words[] = {"same",
                                        "same_lower",
                                        "valid",
                                        "batch",
                                        "seq",
                                        "onnx",
                                        "xy",
                                        "ij",
                                        "reflect",
                                        "circular",
                                        "replicate",
                                        "constant",
                                        "linear",
                                        "bilinear",
                                        "bicubic",
                                        "nearest",
                                        "area",
                                        "mean",
                                        "sum",
                                        "tanh",
                                        "bidirectional",
                                        "float16",
                                        "int64",
                                        "bool",
                                        "",
                                        "floor",
                                        "ij,jk->ik",
                                        "bij,bjk->bik",
                                        "...ij,...jk->...ik",
                                        "ij->ji",
                                        "ii",
                                        "i,j->ij",
                                        "...",
                                        "->",
                                        ",",
                                        "a,b,c",
                                        "ijklmnopqrstuvwxyzabc->a",
                                        "ij,jk->",
                                        "abc,cd",
                                        "a...b->...",
                                        "......",
                                        "i.j",
                                        "ab->ba->"};
    return words[pick(sizeof words / sizeof *words)];
}

/* Lists share storage of the graph's arena. */
static clv_attr any_attr(clv_graph *g)
{
    static const uint8_t kinds[] = {
        CLV_ATTR_INT,    CLV_ATTR_INT,   CLV_ATTR_INTS,   CLV_ATTR_INTS,
        CLV_ATTR_STRING, CLV_ATTR_FLOAT, CLV_ATTR_FLOATS, CLV_ATTR_TENSOR};
    clv_attr a = {.key = (uint8_t)pick(CLV_A_OTHER),
                  .type = kinds[pick(sizeof kinds)],
                  .n = pick(8) ? pick(6) : pick(LIST)};
    int64_t *ints = arena_array(&g->mem, LIST, sizeof *ints);
    double *floats = arena_array(&g->mem, LIST, sizeof *floats);
    for (uint32_t i = 0; i < LIST; i++) {
        ints[i] = any_int();
        floats[i] = any_float();
    }
    a.name = clv__attr_name((clv_attr_key)a.key);
    if (a.type == CLV_ATTR_INTS)
        a.u.ints = ints;
    else if (a.type == CLV_ATTR_FLOATS)
        a.u.floats = floats;
    else if (a.type == CLV_ATTR_STRING)
        a.u.s = any_text();
    else if (a.type == CLV_ATTR_FLOAT)
        a.u.f = floats[0];
    else if (a.type == CLV_ATTR_TENSOR)
        a.u.value = pick(VALUES + 2);
    else
        a.u.i = ints[0];
    return a;
}

/* One of the words "a|b|c". */
static const char *any_choice(clv_graph *g, const char *choices)
{
    uint32_t n = 1, at;
    for (const char *c = choices; *c; c++)
        n += *c == '|';
    for (at = pick(n); at; at--)
        choices += strcspn(choices, "|") + 1;
    return arena_strndup(&g->mem, choices, strcspn(choices, "|"));
}

/* An attribute that the operator has, mostly of the right kind and in range. */
static clv_attr any_known(clv_graph *g, const clv_schema *takes)
{
    clv_attr a = pool[pick(POOL)];
    if (takes->n_attrs == 0 || pick(50) == 0)
        return a;
    const clv_attr_spec *s = &takes->attrs[pick(takes->n_attrs)];
    a.key = s->key;
    a.name = clv__attr_name((clv_attr_key)s->key);
    if (pick(30) == 0)
        return a;
    switch ((clv_attr_kind)s->kind) {
    case CLV_KIND_BOOL:
    case CLV_KIND_INT:
        a.type = CLV_ATTR_INT;
        a.u.i = s->bounded ? s->lo + pick(3) : any_int();
        break;
    case CLV_KIND_DTYPE:
        a.type = CLV_ATTR_INT;
        a.u.i = 1 + pick(CLV_DTYPE_COUNT - 1);
        break;
    case CLV_KIND_NUMBER:
    case CLV_KIND_FLOAT:
        a.type = CLV_ATTR_FLOAT;
        a.u.f = any_float();
        break;
    case CLV_KIND_STR:
        a.type = CLV_ATTR_STRING;
        a.u.s = s->choices ? any_choice(g, s->choices) : any_text();
        break;
    default:
        while (a.type != CLV_ATTR_INTS && a.type != CLV_ATTR_FLOATS)
            a = pool[pick(POOL)];
        a.key = s->key;
        a.name = clv__attr_name((clv_attr_key)s->key);
    }
    return a;
}

static void any_value(clv_graph *g)
{
    static const uint8_t types[] = {CLV_FLOAT32, CLV_FLOAT32, CLV_FLOAT16,
                                    CLV_INT64,   CLV_BOOL,    CLV_UINT8};
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = pick(10) ? pick(6) : pick(CLV_MAX_RANK + 1);
    bool small = pick(3) == 0; /* so that its contents may be known */
    bool any_type = pick(10) == 0;
    clv_dtype t = any_type ? (clv_dtype)pick(CLV_DTYPE_COUNT)
                           : (clv_dtype)types[pick(sizeof types)];
    clv_value_kind kind = pick(3) ? CLV_VALUE_INPUT : CLV_VALUE_PARAM;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = small && pick(8) ? 1 + pick(2) : any_size();
    uint32_t v = clv__value_add(g, NULL, kind, t);
    if (pick(40) == 0)
        return; /* not even a rank */
    if (pick(10) == 0)
        g->values[v].flags |= CLV_V_BOUND;
    CHECK(clv__value_set_shape(g, v, rank, dims));
    if (!small && pick(4))
        return;
    clv_payload *data = clv__value_data(g, v);
    clv_attr list = any_attr(g);
    while (list.type != CLV_ATTR_INTS && list.type != CLV_ATTR_FLOATS)
        list = any_attr(g);
    int64_t whole = clv__numel(&g->values[v]);
    data->n = pick(4) && whole <= LIST ? (uint32_t)whole : list.n;
    if (list.type == CLV_ATTR_INTS)
        data->ints = list.u.ints;
    else
        data->floats = list.u.floats;
}

/* Of the values at random, but half the time the same few, so that they fit. */
static void any_node(clv_graph *g, clv_op op)
{
    const clv_schema *takes = clv__schema_of(op);
    uint32_t least = takes->min_in;
    uint32_t most = takes->max_in == 255 ? least + 4u : takes->max_in;
    uint32_t n_in = least + pick(most - least + 1);
    uint32_t ins[16], near = pick(VALUES);
    for (uint32_t i = 0; i < n_in; i++) {
        bool absent = i >= least && pick(4) == 0;
        uint32_t v = pick(2) ? near : pick(VALUES);
        ins[i] = absent ? CLV_NONE : v;
    }
    uint32_t id =
        clv__node_add(g, op, "n", 0, ins, n_in, NULL, 1 + pick(4) * pick(2));
    clv_attr *attrs = arena_array(&g->mem, ATTRS, sizeof *attrs);
    uint32_t n = pick(pick(2) ? 6 : ATTRS + 1); /* few, or nearly all */
    for (uint32_t i = 0; i < n; i++)
        attrs[i] = any_known(g, takes);
    g->nodes[id].attrs = attrs;
    g->nodes[id].n_attrs = (uint8_t)n;
    const clv_value *like = &g->values[pick(VALUES)]; /* as a file may claim */
    if (pick(4) == 0 && like->rank != CLV_NO_RANK)
        CHECK(clv__value_set_shape(g, node_outs(g, &g->nodes[id])[0],
                                   like->rank, like->dims));
}

/* -- what must hold -------------------------------------------------------*/

static void check_sane(const clv_graph *g, uint32_t id)
{
    const clv_node *n = &g->nodes[id];
    clv_parallel p = {.num_groups = 1, .vectorizable_dim = ""};
    clv_cost c;
    bool known = true;
    for (uint32_t i = 0; i < n->n_in; i++)
        known = known &&
                (!node_in(g, n, i) || node_in(g, n, i)->rank != CLV_NO_RANK);
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_value *v = node_out(g, n, i);
        for (uint32_t k = 0; v->rank != CLV_NO_RANK && k < v->rank; k++)
            CHECK(v->dims[k] >= 0);
    }
    fitted[n->op] += known && !(n->flags & CLV_N_UNSHAPED);
    if (clv__cost_node(g, id, &c, NULL) == CLV_OK)
        CHECK(c.macs >= 0 && c.flops >= 0 && c.params >= 0 && c.bytes_in >= 0 &&
              c.bytes_weights >= 0 && c.bytes_out >= 0);
    if (node_out(g, n, 0)->rank == CLV_NO_RANK) {
        CHECK(c.trust == CLV_TRUST_UNKNOWN || c.trust == CLV_TRUST_FREE);
        return; /* the profiler asks no further, either */
    }
    clv__ops[n->op].parallel(g, n, &p);
    CHECK(p.batch >= 0 && p.channels >= 0 && p.spatial >= 0);
    CHECK(p.vectorizable_dim != NULL);
}

static void try_graph(uint32_t first)
{
    clv_graph *g;
    clv_err err;
    CHECK_OR_RETURN(clv_graph_new("random", &g, NULL) == CLV_OK);
    for (int i = 0; i < VALUES; i++)
        any_value(g);
    for (int i = 0; i < POOL; i++)
        pool[i] = any_attr(g);
    for (uint32_t i = 0; i < NODES; i++) {
        clv_op op = (clv_op)((first + i) % CLV_OP_COUNT);
        if (clv__ops[op].category != CLV_CAT_CONTROL)
            any_node(g, op);
    }
    CHECK(clv__graph_order(g, &err) == CLV_OK);
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        err = (clv_err){0};
        tried[g->nodes[id].op]++;
        if (clv__infer_node(g, id, &err) != CLV_OK) {
            CHECK(err.msg[0] != '\0');
            continue;
        }
        int before = check_state.bad;
        check_sane(g, id);
        if (check_state.bad > before)
            printf("  operator %s\n", clv__ops[g->nodes[id].op].name);
        if (check_state.bad > 10)
            break;
    }
    clv_graph_free(g);
}

static void nothing_breaks(void)
{
    const char *asked = getenv("CLEAVE_RANDOM");
    long nodes = asked ? atol(asked) : 1000000;
    for (long i = 0; i < nodes && check_state.bad < 10; i += NODES)
        try_graph((uint32_t)(i % CLV_OP_COUNT));
}

/* -- cases, spoilt --------------------------------------------------------*/

static void spoil_value(uint32_t v)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = graph->values[v].rank;
    memcpy(dims, graph->values[v].dims, rank * sizeof *dims);
    if (pick(6) == 0)
        rank = rank && pick(2) ? rank - 1 : rank;
    else if (pick(6) == 0 && rank < CLV_MAX_RANK)
        dims[rank++] = any_size();
    else if (rank)
        dims[pick(rank)] = any_size();
    if (pick(6) == 0)
        graph->values[v].dtype = (uint8_t)pick(CLV_DTYPE_COUNT);
    if (pick(6) == 0)
        graph->values[v].flags |= CLV_V_BOUND;
    CHECK(clv__value_set_shape(graph, v, rank, dims));
}

static void spoil_attr(clv_attr *a)
{
    clv_attr other = any_attr(graph);
    if (pick(4) == 0 || (a->type != CLV_ATTR_INT && a->type != CLV_ATTR_INTS)) {
        other.key = a->key;
        *a = other;
    } else if (a->type == CLV_ATTR_INT) {
        a->u.i = any_int();
    } else if (a->n) {
        int64_t *list = arena_array(&graph->mem, a->n, sizeof *list);
        memcpy(list, a->u.ints, a->n * sizeof *list);
        list[pick(a->n)] = any_int();
        a->u.ints = list;
        a->n -= pick(4) == 0;
    }
}

static void spoil_node(clv_node *n)
{
    clv_attr *attrs = arena_array(&graph->mem, n->n_attrs + 1u, sizeof *attrs);
    uint32_t count = n->n_attrs;
    if (count)
        memcpy(attrs, n->attrs, count * sizeof *attrs);
    if (count && pick(2))
        spoil_attr(&attrs[pick(count)]);
    if (pick(4) == 0)
        attrs[count++] = any_attr(graph);
    n->attrs = attrs;
    n->n_attrs = (uint8_t)count;
    if (graph->n_inputs && pick(3))
        spoil_value(graph->inputs[pick(graph->n_inputs)]);
}

static void spoil(block *b)
{
    enum { TIMES = 30 };
    for (int i = 0; i < TIMES && check_state.bad < 10; i++) {
        clv_err err = {0};
        block copy = *b; /* build writes into its text */
        CHECK_OR_RETURN(clv_graph_new("spoilt", &graph, NULL) == CLV_OK);
        bool built = build(&copy) && clv__graph_order(graph, &err) == CLV_OK;
        for (uint32_t k = 0; built && k <= pick(3); k++)
            spoil_node(&graph->nodes[0]);
        if (CHECK(built) && clv__infer_node(graph, 0, &err) == CLV_OK)
            check_sane(graph, 0);
        clv_graph_free(graph);
    }
}

static void spoilt_cases_break_nothing(void)
{
    for_each_case("tests/cases/ops.txt", spoil);
    for_each_case("tests/cases/onnx.txt", spoil);
}

/* The test is worth something only where rules get to their end. */
static void most_rules_are_reached(void)
{
    int reached = 0, all = 0;
    for (int op = 0; op < CLV_OP_COUNT; op++) {
        all += tried[op] > 0;
        reached += fitted[op] > 0;
        if (getenv("CLEAVE_RANDOM") && tried[op] && fitted[op] < 20)
            printf("  %s fits %ld of %ld\n", clv__ops[op].name, fitted[op],
                   tried[op]);
    }
    CHECK(reached * 10 >= all * 9);
}

static const check_case cases[] = {
    {"nothing_breaks", nothing_breaks},
    {"most_rules_are_reached", most_rules_are_reached},
    {"spoilt_cases_break_nothing", spoilt_cases_break_nothing},
};
CHECK_MAIN(cases)
