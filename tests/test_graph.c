/* test_graph.c - the core (memory, maps, text, checked integers) and the graph:
 * names, scopes, order, verification, and the public way to build one. */
#include "check.h"
#include "cleave.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <time.h>

/* -- core -----------------------------------------------------------------*/

static void arenas(void)
{
    arena a = {0};
    CHECK(arena_alloc(&a, 0) != NULL);
    char *first = arena_strndup(&a, "first", 5);
    size_t before = a.total;
    arena_mark mark = arena_save(&a);
    for (int i = 0; i < 1000; i++) {
        char *p = arena_alloc(&a, 1000);
        CHECK_OR_RETURN(p && (uintptr_t)p % 16 == 0);
        memset(p, i, 1000);
    }
    CHECK(a.total > 1000 * 1000);
    arena_rewind(&a, mark);
    CHECK_EQ_U64(a.total, before);
    CHECK_STR(first, "first");
    CHECK_STR(arena_printf(&a, "%0300d", 7) + 298, "07");
    CHECK(arena_array(&a, SIZE_MAX / 2, 3) == NULL);
    CHECK(arena_alloc(&a, SIZE_MAX) == NULL);
    arena_free(&a);
    CHECK_EQ_U64(a.total, 0);
}

static void string_map(void)
{
    strmap m = {0};
    static char keys[5000][8];
    CHECK_EQ_U64(strmap_get(&m, "k", 1), CLV_NONE);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(keys[i], sizeof keys[i], "k%u", i);
        CHECK_OR_RETURN(strmap_put(&m, keys[i], strlen(keys[i]), i));
    }
    CHECK_EQ_INT(m.n, 5000);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK_EQ_U64(strmap_get(&m, keys[i], strlen(keys[i])), i);
    CHECK_EQ_U64(strmap_get(&m, "k5000", 5), CLV_NONE);
    CHECK_EQ_U64(strmap_get(&m, "k49", 2), 4); /* a prefix is another key */
    CHECK(strmap_put(&m, "k7", 2, 70));
    CHECK_EQ_U64(strmap_get(&m, "k7", 2), 70);
    CHECK(strmap_put(&m, "", 0, 9));
    CHECK_EQ_U64(strmap_get(&m, "", 0), 9);
    CHECK_EQ_INT(m.n, 5001);
    strmap_free(&m);
}

/* Processor time of filling a map with n names that begin with the key they
 * guess: it cancels out, and the rest of a name does not count any more. */
static double fill_crafted(strmap *m, uint32_t n)
{
    static char keys[4000][17];
    clock_t start = clock();
    for (uint32_t i = 0; i < n; i++) {
        snprintf(keys[i], sizeof keys[i], "guessed!%08u", i);
        if (!CHECK(strmap_put(m, keys[i], 16, i)))
            break;
    }
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK_EQ_U64(strmap_get(m, "guessed!00000007", 16), 7);
    strmap_free(m);
    return took;
}

/* Names for one key all collide under it, and under no other. */
static void crafted_names(void)
{
    strmap m = {0};
    CHECK_OR_RETURN(strmap_reserve(&m, 4000));
    CHECK(m.seed & 1);
    memcpy(&m.seed, "guessed!", 8);
    double known = fill_crafted(&m, 4000);
    double drawn = fill_crafted(&m, 4000);
    CHECK(known > 5 * drawn);
}

static const char *word(const void *ctx, uint32_t i)
{
    return ((const char *const *)ctx)[i];
}

static void closest(void)
{
    static const char *const words[] = {"resnet18", "resnet50", "vgg16",
                                        "mobilenet_v3_small"};
    static const struct {
        const char *typed;
        uint32_t want;
    } rows[] = {
        {"resnet50", 1},    {"resnet5O", 1}, {"RESNET50", 1},
        {"rsenet18", 0},    {"vgg-16", 2},   {"mobilenet_v3_smal", 3},
        {"bert", CLV_NONE}, {"", CLV_NONE},  {"xxxxxxxx", CLV_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t got = clv__closest(rows[i].typed, 4, word, words);
        check_that(got == rows[i].want, __FILE__, __LINE__, "%s: %u, want %u",
                   rows[i].typed, got, rows[i].want);
    }
    char long_word[300];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    CHECK_EQ_U64(clv__closest(long_word, 4, word, words), CLV_NONE);
}

static void glob(void)
{
    static const struct {
        const char *pattern, *text;
        bool want;
    } rows[] = {
        {"resnet*", "resnet50", true},
        {"resnet*", "wide_resnet50", false},
        {"*50*", "resnet50", true},
        {"vgg1?", "vgg16", true},
        {"vgg1?", "vgg16_bn", false},
        {"", "", true},
        {"*", "", true},
        {"?", "", false},
        {"a*b*c", "a-b-b-c", true},
        {"a*b*c", "a-b-b-d", false},
        {"**", "x", true},
        {"abc", "ab", false},
        {"*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_that(clv__glob(rows[i].pattern, rows[i].text) == rows[i].want,
                   __FILE__, __LINE__, "%s on %s", rows[i].pattern,
                   rows[i].text);
}

static void checked_integers(void)
{
    CHECK_EQ_INT(sat_mul(3, 4), 12);
    CHECK_EQ_INT(sat_mul(INT64_MAX / 2, 3), CLV_SAT);
    CHECK_EQ_INT(sat_mul(CLV_SAT, 0), 0);
    CHECK_EQ_INT(sat_mul(CLV_SAT, CLV_SAT), CLV_SAT);
    CHECK_EQ_INT(sat_add(CLV_SAT, 1), CLV_SAT);
    CHECK_EQ_INT(sat_add(CLV_SAT - 1, 1), CLV_SAT);
    CHECK_EQ_INT(sat_add(2, 2), 4);
    CHECK_EQ_INT(clv_dtype_bytes(CLV_FLOAT32, 3), 12);
    CHECK_EQ_INT(clv_dtype_bytes(CLV_INT4, 3), 2); /* packed, rounded up */
    CHECK_EQ_INT(clv_dtype_bytes(CLV_FLOAT64, INT64_MAX / 8),
                 INT64_MAX / 8 * 8);
    CHECK_EQ_INT(clv_dtype_bytes(CLV_FLOAT64, INT64_MAX / 8 + 1), -1);
    CHECK_EQ_INT(clv_dtype_find("bf16"), CLV_BFLOAT16);
    CHECK_EQ_INT(clv_dtype_find("float16"), CLV_FLOAT16);
    CHECK_EQ_INT(clv_dtype_find(""), CLV_NODTYPE);
}

static void errors(void)
{
    clv_err e;
    clv__err_clear(&e);
    CHECK_EQ_INT(clv__fail(&e, CLV_SHAPE, "%d and %d differ", 8, 7), CLV_SHAPE);
    CHECK_EQ_INT(clv__fail(&e, CLV_IO, "later"), CLV_IO);
    CHECK_EQ_INT(e.code, CLV_SHAPE); /* the first failure stays */
    clv__err_prefix(&e, "node '%s'", "fc1");
    CHECK_STR(e.msg, "node 'fc1': 8 and 7 differ");
    CHECK_EQ_INT(clv__fail(NULL, CLV_IO, "nobody listens"), CLV_IO);
    CHECK_EQ_INT(clv_status_exit(CLV_USAGE), 2);
    CHECK_EQ_INT(clv_status_exit(CLV_NOMEM), 3);
}

static void buffers(void)
{
    clv_buf b = {0};
    for (int i = 0; i < 1000; i++)
        clv_buf_printf(&b, "%d,", i);
    clv_buf_add(&b, "end", 3);
    CHECK(!b.failed);
    CHECK_EQ_U64(b.len, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    CHECK_EQ_U64(strlen(b.text), b.len);
    CHECK_STR(b.text + b.len - 7, "999,end");
    clv_buf_free(&b);
    CHECK(b.text == NULL);
}

/* -- a small graph --------------------------------------------------------*/

static clv_graph *new_graph(void)
{
    clv_graph *g = NULL;
    CHECK(clv_graph_new("test", &g, NULL) == CLV_OK);
    return g;
}

static uint32_t add_value(clv_graph *g, const char *name, clv_value_kind kind,
                          uint32_t rank, const int64_t *dims)
{
    uint32_t v;
    clv_value_arg arg = {
        .size = sizeof arg, name, kind, CLV_FLOAT32, rank, dims};
    CHECK(clv_graph_add_value(g, &arg, &v, NULL) == CLV_OK);
    return v;
}

static uint32_t add_input(clv_graph *g)
{
    return add_value(g, "x", CLV_VALUE_INPUT, 2, (int64_t[]){2, 8});
}

/* A node through the API, in a module; returns its first output. */
static uint32_t add_node(clv_graph *g, const char *op, const char *name,
                         const char *module, uint32_t x)
{
    uint32_t y = CLV_NONE;
    clv_node_arg arg = {.size = sizeof arg,
                        .op = op,
                        .name = name,
                        .module = module,
                        .inputs = &x,
                        .n_inputs = 1};
    CHECK(clv_graph_add_node(g, &arg, &y, NULL) == CLV_OK);
    return y;
}

/* The same by hand: reads x, makes y, whatever they are. */
static uint32_t raw_node(clv_graph *g, const char *name, uint32_t x, uint32_t y)
{
    return clv__node_add(g, CLV_OP_RELU, name, 0, &x, 1, &y, 1);
}

static uint32_t raw_value(clv_graph *g)
{
    return clv__value_add(g, NULL, CLV_VALUE_ACTIVATION, CLV_FLOAT32);
}

static void names(void)
{
    static const struct {
        const char *asked, *got;
    } rows[] = {
        {"relu", "relu"},
        {"relu", "relu_1"},
        {"relu", "relu_2"},
        {"relu_1", "relu_1_1"},
        {"relu_2", "relu_2_1"},
        {"relu_4", "relu_4"},
        {"relu", "relu_3"},
        {"relu", "relu_5"},
        {"relu_4", "relu_4_1"},
        {"relu_01", "relu_01"},
        {"relu_1", "relu_1_2"},
        {"relu_1_1", "relu_1_1_1"},
        {"relu_0", "relu_0"},
        {"relu_99999999999", "relu_99999999999"},
        {"_1", "_1"},
        {"", ""},
        {"", "_2"},
        {"7", "7"},
    };
    clv_graph *g = new_graph();
    uint32_t x = add_input(g);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        x = add_node(g, "relu", rows[i].asked, NULL, x);
        CHECK_STR(clv_graph_node(g, i).name, rows[i].got);
    }
    clv_graph_free(g);
}

/* Whatever is asked for, no two nodes share a name. */
static void names_stay_unique(void)
{
    clv_graph *g = new_graph();
    uint32_t x = add_input(g), seed = 1;
    for (int i = 0; i < 3000; i++) {
        char name[32];
        seed = seed * 1664525u + 1013904223u;
        snprintf(name, sizeof name, seed >> 31 ? "n" : "n_%u",
                 (seed >> 8) % 600);
        add_node(g, "relu", name, NULL, x);
    }
    strmap seen = {0};
    for (uint32_t i = 0; i < clv_graph_num_nodes(g); i++) {
        const char *name = clv_graph_node(g, i).name;
        CHECK_EQ_U64(strmap_get(&seen, name, strlen(name)), CLV_NONE);
        CHECK(strmap_put(&seen, name, strlen(name), i));
    }
    strmap_free(&seen);
    clv_graph_free(g);
}

static void scopes(void)
{
    clv_graph *g = new_graph();
    uint32_t x = add_input(g);
    add_node(g, "relu", "a", "layer1.0.conv1", x);
    add_node(g, "relu", "b", "layer1.1", x);
    add_node(g, "relu", "c", "layer1.0.conv1", x);
    add_node(g, "relu", "d", ".layer1..0.", x); /* dots too many */
    add_node(g, "relu", "e", NULL, x);
    CHECK_EQ_INT(g->n_scopes, 5); /* root, layer1, .0, .conv1, .1 */
    CHECK_STR(clv_graph_node(g, 2).module, "layer1.0.conv1");
    CHECK_STR(clv_graph_node(g, 3).module, "layer1.0");
    CHECK_STR(clv_graph_node(g, 4).module, "");
    const clv_scope *conv = &g->scopes[g->nodes[2].scope];
    CHECK_STR(conv->name, "conv1");
    CHECK_STR(g->scopes[conv->parent].path, "layer1.0");

    char path[2000]; /* longer than any buffer on the way */
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = i % 100 == 99 ? '.' : 'm';
    path[sizeof path - 1] = '\0';
    add_node(g, "relu", "f", path, x);
    add_node(g, "relu", "g", path, x);
    CHECK_STR(clv_graph_node(g, 6).module, path);
    CHECK_EQ_INT(g->n_scopes, 25);
    clv_graph_free(g);
}

/* -- order and verification ----------------------------------------------*/

static void out_of_order(void)
{
    clv_graph *g = new_graph();
    uint32_t x = add_input(g), a = raw_value(g), b = raw_value(g),
             c = raw_value(g);
    raw_node(g, "third", b, c);
    raw_node(g, "second", a, b);
    raw_node(g, "first", x, a);
    clv_err err;
    CHECK(clv_graph_add_output(g, c, &err) == CLV_OK);
    CHECK_EQ_INT(clv_graph_infer(g, &err), CLV_OK);
    CHECK_STR(g->nodes[0].name, "first");
    CHECK_STR(g->nodes[1].name, "second");
    CHECK_STR(g->nodes[2].name, "third");
    CHECK_EQ_INT(g->values[c].producer, 2);
    CHECK_EQ_INT(g->values[c].dims[1], 8);
    CHECK_EQ_INT(clv_graph_verify(g, &err), CLV_OK);
    CHECK_EQ_U64(g->users[g->user_first[a]], 1);
    CHECK_EQ_U64(g->user_first[c + 1] - g->user_first[c], 0);
    clv_graph_free(g);
}

/* A long chain given last node first. */
static void reversed_chain(void)
{
    enum { N = 50000 };
    clv_graph *g = new_graph();
    uint32_t x = add_input(g), first = raw_value(g);
    for (uint32_t i = 1; i < N; i++)
        raw_value(g);
    for (uint32_t i = N; i-- > 0;)
        raw_node(g, "relu", i ? first + i - 1 : x, first + i);
    CHECK_EQ_INT(clv_graph_infer(g, NULL), CLV_OK);
    for (uint32_t i = 0; i < N; i++)
        CHECK_EQ_U64(g->values[first + i].producer, i);
    CHECK_EQ_INT(g->values[first + N - 1].dims[1], 8);
    clv_graph_free(g);
}

/* Each builds a broken graph; finishing it must fail with that message. */
static void make_cycle(clv_graph *g)
{
    uint32_t a = raw_value(g), b = raw_value(g);
    uint32_t x = add_input(g);
    raw_node(g, "before", x, raw_value(g));
    raw_node(g, "loop1", a, b);
    raw_node(g, "loop2", b, a);
}

static void make_self_cycle(clv_graph *g)
{
    uint32_t a = raw_value(g);
    raw_node(g, "self", a, a);
}

static void make_two_producers(clv_graph *g)
{
    uint32_t x = add_input(g), a = raw_value(g);
    g->values[a].name = "shared";
    raw_node(g, "one", x, a);
    raw_node(g, "two", x, a);
}

static void make_output_twice(clv_graph *g)
{
    uint32_t x = add_input(g), a = raw_value(g);
    g->values[a].name = "shared";
    clv__node_add(g, CLV_OP_CHUNK, "twice", 0, &x, 1, (uint32_t[]){a, a}, 2);
}

static void make_orphan(clv_graph *g)
{
    uint32_t a = raw_value(g);
    g->values[a].name = "orphan";
    raw_node(g, "reader", a, raw_value(g));
}

static void make_written_input(clv_graph *g)
{
    uint32_t x = add_input(g);
    raw_node(g, "writer", x, x);
}

static void make_bad_input_id(clv_graph *g)
{
    raw_node(g, "reader", 77, raw_value(g));
}

static void make_bad_producer(clv_graph *g)
{
    uint32_t a = raw_value(g);
    g->values[a].producer = 5;
}

static void make_unlisted(clv_graph *g)
{
    uint32_t x = add_input(g);
    raw_node(g, "maker", x, raw_value(g));
    uint32_t a = raw_value(g);
    g->values[a].producer = 0;
}

static void make_bad_operator(clv_graph *g)
{
    uint32_t x = add_input(g);
    raw_node(g, "odd", x, raw_value(g));
    g->nodes[0].op = CLV_OP_COUNT;
}

static void make_bad_edges(clv_graph *g)
{
    uint32_t x = add_input(g);
    raw_node(g, "far", x, raw_value(g));
    g->nodes[0].n_in = UINT32_MAX;
}

static void make_bad_rank(clv_graph *g)
{
    uint32_t x = add_input(g);
    g->values[x].rank = 17;
}

static const struct {
    const char *name;
    void (*make)(clv_graph *g);
    clv_status want;
    const char *says;
} broken[] = {
    {"cycle", make_cycle, CLV_FORMAT, "node 'loop1' is part of a cycle"},
    {"self cycle", make_self_cycle, CLV_FORMAT, "'self' is part of a cycle"},
    {"two producers", make_two_producers, CLV_FORMAT,
     "value 'shared' has two producers"},
    {"output twice", make_output_twice, CLV_FORMAT,
     "value 'shared' has two producers"},
    {"no producer", make_orphan, CLV_FORMAT,
     "node 'reader': input 'orphan' is made by no node"},
    {"written input", make_written_input, CLV_FORMAT,
     "node 'writer': output 0 writes the input or weight 'x'"},
    {"bad input id", make_bad_input_id, CLV_INTERNAL,
     "node 'reader': input 0 is value 77 of 1"},
    {"bad producer", make_bad_producer, CLV_INTERNAL,
     "value 0: producer 5 of 0"},
    {"unlisted output", make_unlisted, CLV_INTERNAL,
     "value 2 is no output of node 'maker'"},
    {"bad operator", make_bad_operator, CLV_INTERNAL, "node 'odd'"},
    {"bad edges", make_bad_edges, CLV_INTERNAL, "node 'far': edges"},
    {"bad rank", make_bad_rank, CLV_SHAPE, "'x': rank 17, at most 16"},
};

static void verification(void)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        check_row(broken[i].name);
        clv_graph *g = new_graph();
        clv_err err;
        broken[i].make(g);
        CHECK_EQ_INT(clv_graph_infer(g, &err), broken[i].want);
        CHECK_HAS(err.msg, broken[i].says);
        clv_graph_free(g);
    }
}

/* -- the public way in ----------------------------------------------------*/

static void api(void)
{
    clv_err err;
    clv_graph *g = new_graph();
    uint32_t x = add_input(g), y;
    uint32_t w = add_value(g, "w", CLV_VALUE_PARAM, 2, (int64_t[]){4, 8});
    clv_node_arg arg = {.size = sizeof arg,
                        .op = "linear",
                        .name = "fc",
                        .module = "head",
                        .source = "model.py:3",
                        .inputs = (uint32_t[]){x, w},
                        .n_inputs = 2};
    CHECK_EQ_INT(clv_graph_add_node(g, &arg, &y, &err), CLV_OK);
    CHECK_EQ_INT(clv_graph_add_output(g, y, &err), CLV_OK);
    clv_profile *p;
    CHECK_EQ_INT(clv_profile_new(g, NULL, &p, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "infer");
    CHECK_EQ_INT(clv_graph_infer(g, &err), CLV_OK);

    clv_node_info n = clv_graph_node(g, 0);
    CHECK_STR(n.op, "linear");
    CHECK_STR(n.module, "head");
    CHECK_STR(n.source, "model.py:3");
    CHECK_EQ_INT(n.n_inputs, 2);
    CHECK_EQ_U64(n.outputs[0], y);
    CHECK_STR(clv_graph_value(g, y).name, "fc");
    CHECK_EQ_INT(clv_graph_value(g, y).dims[1], 4);
    CHECK_EQ_INT(clv_profile_new(g, NULL, &p, &err), CLV_OK);
    CHECK_EQ_INT(clv_profile_totals(p)->macs, 2 * 8 * 4);
    CHECK_EQ_INT(clv_profile_totals(p)->params, 32);
    CHECK_EQ_INT(clv_profile_totals(p)->graph_nodes, 3);
    clv_profile_free(p);
    clv_graph_free(g);
}

static void read_only_after_infer(void)
{
    clv_err err;
    clv_graph *g = new_graph();
    uint32_t x = add_input(g), v = 0;
    CHECK_EQ_INT(clv_graph_infer(g, &err), CLV_OK);
    CHECK_EQ_INT(clv_graph_infer(g, &err), CLV_OK); /* again: nothing to do */
    clv_value_arg value = {
        .size = sizeof value, "y", CLV_VALUE_INPUT, CLV_FLOAT32, 0, NULL};
    CHECK_EQ_INT(clv_graph_add_value(g, &value, &v, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "read-only");
    clv_node_arg node = {
        .size = sizeof node, .op = "relu", .inputs = &x, .n_inputs = 1};
    CHECK_EQ_INT(clv_graph_add_node(g, &node, &v, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "read-only");
    CHECK_EQ_INT(clv_graph_add_output(g, x, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "read-only");
    clv_graph_free(g);
}

static void empty_graph(void)
{
    clv_err err;
    clv_graph *g = new_graph();
    clv_profile *p = NULL;
    CHECK_EQ_INT(clv_graph_infer(g, &err), CLV_OK);
    CHECK_EQ_INT(clv_profile_new(g, NULL, &p, &err), CLV_OK);
    if (p) {
        CHECK_EQ_INT(clv_profile_totals(p)->operators, 0);
        CHECK_EQ_INT(clv_profile_totals(p)->memory, 0);
    }
    clv_profile_free(p);
    clv_graph_free(g);
    clv_graph_free(NULL);
    clv_profile_free(NULL);
}

/* Arguments that make no sense are refused, each with its reason. */
static void bad_arguments(void)
{
    clv_err err;
    uint32_t v, two[2] = {0, 9};
    int64_t dims[17] = {1, -1};
    clv_graph *g = new_graph();
    add_input(g);
    clv_value_arg rank = {
        .size = sizeof rank, "r", CLV_VALUE_PARAM, CLV_FLOAT32, 17, dims};
    CHECK_EQ_INT(clv_graph_add_value(g, &rank, &v, &err), CLV_SHAPE);
    CHECK_HAS(err.msg, "'r': rank 17");
    clv_value_arg size = {
        .size = sizeof size, "s", CLV_VALUE_PARAM, CLV_FLOAT32, 2, dims};
    CHECK_EQ_INT(clv_graph_add_value(g, &size, &v, &err), CLV_SHAPE);
    CHECK_HAS(err.msg, "'s': dimension 1 is -1");
    CHECK_EQ_U64(v, CLV_NONE);
    clv_value_arg type = {
        .size = sizeof type, "t", CLV_VALUE_PARAM, CLV_DTYPE_COUNT, 0, NULL};
    CHECK_EQ_INT(clv_graph_add_value(g, &type, &v, &err), CLV_USAGE);
    clv_value_arg kind = {
        .size = sizeof kind, "k", (clv_value_kind)99, CLV_FLOAT32, 0, NULL};
    CHECK_EQ_INT(clv_graph_add_value(g, &kind, &v, &err), CLV_USAGE);
    clv_node_arg node = {
        .size = sizeof node, .op = "add", .inputs = two, .n_inputs = 2};
    CHECK_EQ_INT(clv_graph_add_node(g, &node, &v, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "node 'add': input 1 is value 9 of 1");
    node.inputs = (uint32_t[]){0, 0};
    node.n_attrs = 256;
    CHECK_EQ_INT(clv_graph_add_node(g, &node, &v, &err), CLV_USAGE);
    clv_attr_arg body = {.name = "body", .type = CLV_ATTR_GRAPH};
    node.attrs = &body;
    node.n_attrs = 1;
    CHECK_EQ_INT(clv_graph_add_node(g, &node, &v, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "attribute 'body'");
    CHECK_EQ_INT(clv_graph_add_output(g, 1, &err), CLV_USAGE);
    CHECK_HAS(err.msg, "value 1 of 1");
    CHECK_EQ_INT(clv_graph_num_nodes(g), 0);
    clv_graph_free(g);
}

/* An operator nobody knows stays in the graph under its own name. */
static void unknown_operator(void)
{
    clv_err err;
    clv_graph *g = new_graph();
    uint32_t x = add_node(g, "my_op", NULL, NULL, add_input(g));
    add_node(g, "relu", NULL, NULL, x);
    CHECK_EQ_INT(clv_graph_infer(g, &err), CLV_OK);
    CHECK_STR(clv_graph_node(g, 0).op, "unknown");
    CHECK_STR(clv_graph_node(g, 0).origin, "my_op");
    CHECK_STR(clv_graph_node(g, 0).name, "my_op");
    clv_profile *p;
    CHECK_EQ_INT(clv_profile_new(g, NULL, &p, &err), CLV_OK);
    CHECK_EQ_INT(clv_profile_totals(p)->trust[CLV_TRUST_UNKNOWN], 2);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* Everything handed in is copied: the caller's memory may change at once. */
static void copies(void)
{
    clv_graph *g = new_graph();
    char name[] = "node", module[] = "m.n", key[] = "custom", text[] = "value",
         op[] = "my_op", element[] = "e0";
    int64_t ints[] = {1, 2};
    double floats[] = {0.5};
    const char *strings[] = {element};
    clv_attr_arg attrs[] = {
        {.name = key, .type = CLV_ATTR_STRING, .u.s = text},
        {.name = "shape", .type = CLV_ATTR_INTS, .n = 2, .u.ints = ints},
        {.name = "f", .type = CLV_ATTR_FLOATS, .n = 1, .u.floats = floats},
        {.name = "s", .type = CLV_ATTR_STRINGS, .n = 1, .u.strings = strings},
        {.name = "alpha", .type = CLV_ATTR_FLOAT, .u.f = 2.5},
    };
    uint32_t x = add_input(g), y;
    clv_node_arg arg = {.size = sizeof arg,
                        .op = op,
                        .name = name,
                        .module = module,
                        .inputs = &x,
                        .n_inputs = 1,
                        .attrs = attrs,
                        .n_attrs = 5};
    CHECK_OR_RETURN(clv_graph_add_node(g, &arg, &y, NULL) == CLV_OK);
    name[0] = module[0] = key[0] = text[0] = op[0] = element[0] = '!';
    ints[1] = 9;
    floats[0] = 9;
    const clv_node *n = &g->nodes[0];
    CHECK_STR(n->name, "node");
    CHECK_STR(g->scopes[n->scope].path, "m.n");
    CHECK_STR(n->attrs[0].name, "custom");
    CHECK_STR(n->attrs[0].u.s, "value");
    CHECK_EQ_INT(n->attrs[1].u.ints[1], 2);
    CHECK_NEAR(n->attrs[2].u.floats[0], 0.5, 0);
    CHECK_STR(n->attrs[3].u.strings[0], "e0");
    CHECK_NEAR(n->attrs[4].u.f, 2.5, 0);
    CHECK_STR(n->origin, "my_op");
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"arenas", arenas},
    {"string_map", string_map},
    {"crafted_names", crafted_names},
    {"closest", closest},
    {"glob", glob},
    {"checked_integers", checked_integers},
    {"errors", errors},
    {"buffers", buffers},
    {"names", names},
    {"names_stay_unique", names_stay_unique},
    {"scopes", scopes},
    {"out_of_order", out_of_order},
    {"reversed_chain", reversed_chain},
    {"verification", verification},
    {"api", api},
    {"read_only_after_infer", read_only_after_infer},
    {"empty_graph", empty_graph},
    {"bad_arguments", bad_arguments},
    {"unknown_operator", unknown_operator},
    {"copies", copies},
};
CHECK_MAIN(cases)
