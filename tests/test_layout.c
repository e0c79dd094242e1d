/* test_layout.c - drawings: nothing overlaps, wires go down, few of them cross.
 *
 * Crossings are held against Graphviz: tests/data/layout/dot.txt has what `dot`
 * counts for the same graphs (tests/gen/layout.sh). */
#include "check.h"
#include "cleave.h"
#include "graph/graph.h"
#include "layout/layered.h"

#include <stdlib.h>

/* -- whole layouts --------------------------------------------------------*/

static int by_rank(const void *x, const void *y)
{
    const clv_item *a = x, *b = y;
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1)
           : a->x != b->x     ? (a->x < b->x ? -1 : 1)
                              : 0;
}

/* Items lie in their layers, side by side, inside the box. */
static void check_items(const clv_box *b)
{
    clv_item *items = malloc((b->n_items + 1) * sizeof *items);
    memcpy(items, b->items, b->n_items * sizeof *items);
    qsort(items, b->n_items, sizeof *items, by_rank);
    for (uint32_t i = 0; i < b->n_items; i++) {
        const clv_item *t = &items[i], *last = i ? t - 1 : NULL;
        CHECK(t->x - t->w / 2 >= -1 && t->x + t->w / 2 <= b->width + 1);
        CHECK(t->y - t->h / 2 >= -1 && t->y + t->h / 2 <= b->height + 1);
        if (last && last->rank == t->rank)
            CHECK(last->x + last->w / 2 < t->x - t->w / 2);
        if (last && last->rank < t->rank)
            CHECK(last->y + last->h / 2 < t->y - t->h / 2);
    }
    free(items);
}

static void check_wires(const clv_box *b)
{
    for (uint32_t i = 0; i < b->n_wires; i++) {
        const clv_wire *w = &b->wires[i];
        CHECK_OR_RETURN(w->from < b->n_items && w->to < b->n_items);
        int32_t y = b->items[w->from].y;
        CHECK(b->items[w->from].rank < b->items[w->to].rank);
        for (uint32_t k = 0; k < w->n_bends; k++) {
            CHECK(w->bends[k].y > y);
            y = w->bends[k].y;
        }
        CHECK(b->items[w->to].y > y);
    }
}

/* Every node is drawn once, in a box that says how many it holds. */
static void check_nodes(const clv_graph *g, const clv_layout_info *l)
{
    uint8_t *seen = calloc(g->n_nodes + 1, 1);
    uint32_t *inside = calloc(l->n_boxes + 1, sizeof *inside);
    for (uint32_t i = l->n_boxes; i-- > 0;) {
        const clv_box *b = &l->boxes[i];
        for (uint32_t k = 0; k < b->n_items; k++)
            if (b->items[k].kind == CLV_ITEM_NODE) {
                CHECK_EQ_INT(seen[b->items[k].id]++, 0);
                inside[i]++;
            } else if (b->items[k].kind == CLV_ITEM_BOX) {
                CHECK(b->items[k].id > i && b->items[k].id < l->n_boxes);
                CHECK_EQ_INT(l->boxes[b->items[k].id].parent, i);
                inside[i] += inside[b->items[k].id];
            }
        CHECK_EQ_INT(inside[i], b->nodes);
    }
    CHECK_EQ_INT(inside[0], g->n_nodes);
    free(seen);
    free(inside);
}

static void check_layout(const clv_graph *g)
{
    clv_layout *l, *again;
    clv_err err;
    CHECK_OR_RETURN(clv_layout_new(g, &l, &err) == CLV_OK);
    CHECK_OR_RETURN(clv_layout_new(g, &again, &err) == CLV_OK);
    const clv_layout_info *a = clv_layout_get(l), *b = clv_layout_get(again);
    CHECK_EQ_INT(a->n_boxes, b->n_boxes);
    for (uint32_t i = 0; i < a->n_boxes; i++) {
        const clv_box *x = &a->boxes[i], *y = &b->boxes[i];
        check_items(x);
        check_wires(x);
        CHECK_EQ_INT(x->n_items, y->n_items);
        CHECK(!memcmp(x->items, y->items, x->n_items * sizeof *x->items));
    }
    check_nodes(g, a);
    clv_layout_free(l);
    clv_layout_free(again);
}

static void zoo(void)
{
    const clv_zoo_model *z;
    for (uint32_t i = 0; (z = clv_zoo_at(i)) != NULL; i++) {
        clv_graph *g;
        check_row(z->name);
        CHECK_OR_RETURN(clv_graph_open(z->name, NULL, &g, NULL) == CLV_OK);
        check_layout(g);
        clv_graph_free(g);
    }
}

/* -- crossings against dot ------------------------------------------------*/

/* The operators of a model, one edge per pair of them. */
static bool flat_edges(const clv_graph *g, layered_edge **edges, uint32_t *n)
{
    *edges = malloc((g->n_edges + 1) * sizeof **edges);
    *n = 0;
    for (uint32_t i = 0; *edges && i < g->n_nodes; i++) {
        const clv_node *node = &g->nodes[i];
        uint32_t first = *n;
        for (uint32_t k = 0; k < node->n_in; k++) {
            uint32_t v = node_ins(g, node)[k], from, e = first;
            from = v == CLV_NONE ? CLV_NONE : g->values[v].producer;
            while (e < *n && (*edges)[e].from != from)
                e++;
            if (from != CLV_NONE && e == *n)
                (*edges)[(*n)++] = (layered_edge){from, i, v};
        }
    }
    return *edges != NULL;
}

static int64_t flat_crossings(const clv_graph *g)
{
    layered_edge *edges;
    uint32_t n;
    int32_t *size = malloc((g->n_nodes + 1) * sizeof *size);
    arena out = {0}, scratch = {0};
    layered l = {.crossings = -1};
    for (uint32_t i = 0; i < g->n_nodes; i++)
        size[i] = 40;
    if (flat_edges(g, &edges, &n)) {
        const layered_graph lg = {g->n_nodes, size, size, NULL, edges, n};
        CHECK(clv__layered_make(&out, &scratch, &lg, &l));
        CHECK_EQ_INT(l.n_straight, 0);
    }
    arena_free(&out);
    arena_free(&scratch);
    free(edges);
    free(size);
    return l.crossings;
}

static void crossings(void)
{
    FILE *f = fopen("tests/data/layout/dot.txt", "r");
    char line[256], name[128];
    long long want;
    int rows = 0;
    CHECK_OR_RETURN(f != NULL);
    while (fgets(line, sizeof line, f)) {
        clv_graph *g;
        if (sscanf(line, "%127s %lld", name, &want) != 2 || line[0] == '#')
            continue;
        check_row(name);
        CHECK_OR_RETURN(clv_graph_open(name, NULL, &g, NULL) == CLV_OK);
        int64_t got = flat_crossings(g);
        if (getenv("CLEAVE_SHOW"))
            printf("%-24s ours %lld dot %lld\n", name, (long long)got, want);
        CHECK(got >= 0 && got <= want);
        clv_graph_free(g);
        rows++;
    }
    fclose(f);
    CHECK(rows > 200);
}

/* -- odd graphs -----------------------------------------------------------*/

static clv_graph *new_graph(uint32_t *x)
{
    clv_graph *g;
    const int64_t dims[] = {1, 4};
    const clv_value_arg v = {.size = sizeof v,
                             .name = "x",
                             .kind = CLV_VALUE_INPUT,
                             .dtype = CLV_FLOAT32,
                             .rank = 2,
                             .dims = dims};
    if (clv_graph_new("odd", &g, NULL) != CLV_OK ||
        clv_graph_add_value(g, &v, x, NULL) != CLV_OK)
        return NULL;
    return g;
}

static uint32_t add_node(clv_graph *g, const char *op, const char *module,
                         uint32_t a, uint32_t b)
{
    uint32_t ins[] = {a, b}, out = CLV_NONE;
    const clv_node_arg n = {.size = sizeof n,
                            .op = op,
                            .module = module,
                            .inputs = ins,
                            .n_inputs = b == CLV_NONE ? 1 : 2};
    CHECK(clv_graph_add_node(g, &n, &out, NULL) == CLV_OK);
    return out;
}

static void finish(clv_graph *g, uint32_t out)
{
    clv_err err;
    CHECK(clv_graph_add_output(g, out, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_graph_infer(g, &err) == CLV_OK);
    check_layout(g);
}

/* Two modules that feed each other in turn are drawn in parts. */
static void cycles(void)
{
    uint32_t x;
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 6; i++) {
        const char *op = i % 2 ? "tanh" : "relu", *module = i % 2 ? "a" : "b";
        x = add_node(g, op, module, x, CLV_NONE);
        x = add_node(g, op, module, x, CLV_NONE);
    }
    finish(g, x);
    clv_layout *l;
    CHECK_OR_RETURN(clv_layout_new(g, &l, NULL) == CLV_OK);
    CHECK_EQ_INT(clv_layout_get(l)->n_boxes, 7);
    CHECK_EQ_INT(clv_layout_get(l)->boxes[1].parts, 3);
    clv_layout_free(l);
    clv_graph_free(g);
}

/* Equal modules in a row become one box; inside, they are themselves. */
static void repeats(void)
{
    uint32_t x;
    char module[32];
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 12; i++) {
        snprintf(module, sizeof module, "layers.%d", i);
        uint32_t y = add_node(g, "relu", module, x, CLV_NONE);
        x = add_node(g, "add", module, x, y);
    }
    x = add_node(g, "relu", "layers.last", x, CLV_NONE);
    finish(g, x);
    clv_layout *l;
    CHECK_OR_RETURN(clv_layout_new(g, &l, NULL) == CLV_OK);
    const clv_layout_info *info = clv_layout_get(l);
    CHECK_EQ_INT(info->n_boxes, 14);
    CHECK_EQ_INT(info->boxes[1].repeats, 12);
    CHECK_EQ_INT(info->boxes[2].form, info->boxes[13].form);
    clv_layout_free(l);
    clv_graph_free(g);
}

/* Exporters leave what takes weights out of int8 outside of the modules: it is
 * drawn in those that read it, not in a row of a hundred above them. */
static void weights_inside(void)
{
    clv_graph *g;
    clv_layout *l;
    CHECK_OR_RETURN(clv_graph_open("tests/data/onnx/mobilenet_v2-qdq.onnx",
                                   NULL, &g, NULL) == CLV_OK);
    check_layout(g);
    CHECK_OR_RETURN(clv_layout_new(g, &l, NULL) == CLV_OK);
    const clv_layout_info *info = clv_layout_get(l);
    for (uint32_t i = 0; i < info->n_boxes; i++)
        CHECK(info->boxes[i].n_items <= 24);
    clv_layout_free(l);
    clv_graph_free(g);
}

/* One value read at every depth: a line with branches, not a square of them. */
static void long_edges(void)
{
    uint32_t x, first;
    clv_graph *g = new_graph(&x);
    first = x = add_node(g, "relu", NULL, x, CLV_NONE);
    for (int i = 0; i < 5000; i++)
        x = add_node(g, "add", NULL, x, first);
    finish(g, x);
    clv_graph_free(g);
}

/* Every result is read at the very end: more dummies than may be. */
static void too_long(void)
{
    uint32_t x, kept[1500];
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 1500; i++)
        kept[i] = x = add_node(g, "relu", NULL, x, CLV_NONE);
    for (int i = 0; i < 1500; i++)
        x = add_node(g, "add", NULL, x, kept[i]);
    finish(g, x);
    clv_layout *l;
    CHECK_OR_RETURN(clv_layout_new(g, &l, NULL) == CLV_OK);
    CHECK(clv_layout_get(l)->n_straight > 0);
    clv_layout_free(l);
    clv_graph_free(g);
}

static void deep_modules(void)
{
    uint32_t x;
    char module[2000] = "m";
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 500; i++) {
        x = add_node(g, "relu", module, x, CLV_NONE);
        strcat(module, ".m");
    }
    finish(g, x);
    clv_graph_free(g);
}

static void empty(void)
{
    uint32_t x;
    clv_graph *g = new_graph(&x);
    finish(g, x);
    clv_graph_free(g);
}

/* -- folded layouts -------------------------------------------------------*/

/* Rows hold every node once, each with nodes of one operator; every row is
 * drawn once. */
static void check_rows(const clv_graph *g, const clv_layout_info *l)
{
    uint32_t *count = calloc(l->n_rows + 1, sizeof *count);
    uint8_t *drawn = calloc(l->n_rows + 1, 1);
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        CHECK_OR_RETURN(l->row[i] < l->n_rows);
        uint32_t shown = l->row_node[l->row[i]];
        CHECK(g->nodes[i].op == g->nodes[shown].op);
        count[l->row[i]]++;
    }
    for (uint32_t r = 0; r < l->n_rows; r++) {
        CHECK_EQ_INT(count[r], l->row_count[r]);
        CHECK_EQ_INT(l->row[l->row_node[r]], r);
        nodes += count[r];
    }
    CHECK_EQ_INT(nodes, g->n_nodes);
    for (uint32_t i = 0; i < l->n_boxes; i++) {
        const clv_box *b = &l->boxes[i];
        check_items(b);
        check_wires(b);
        for (uint32_t k = 0; k < b->n_items; k++)
            if (b->items[k].kind == CLV_ITEM_NODE) {
                uint32_t r = l->row[b->items[k].id];
                CHECK_EQ_INT(l->row_node[r], b->items[k].id);
                CHECK_EQ_INT(drawn[r]++, 0);
            }
    }
    for (uint32_t r = 0; r < l->n_rows; r++)
        CHECK_EQ_INT(drawn[r], 1);
    CHECK_EQ_INT(l->boxes[0].nodes, g->n_nodes);
    free(count);
    free(drawn);
}

/* Lays out g folded; returns how many rows there are. */
static uint32_t folded_rows(clv_graph *g, uint32_t out, uint32_t most)
{
    clv_layout *l;
    CHECK(clv_graph_add_output(g, out, NULL) == CLV_OK);
    CHECK(clv_graph_infer(g, NULL) == CLV_OK);
    if (clv_layout_folded(g, most, &l, NULL) != CLV_OK)
        return 0;
    check_rows(g, clv_layout_get(l));
    uint32_t rows = clv_layout_get(l)->n_rows;
    clv_layout_free(l);
    clv_graph_free(g);
    return rows;
}

/* A hundred stages of a thousand blocks are one of each. */
static void fold_modules(void)
{
    uint32_t x;
    char module[64];
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 100000; i++) {
        snprintf(module, sizeof module, "stage%d.block%d", i / 1000, i % 1000);
        uint32_t y = add_node(g, "relu", module, x, CLV_NONE);
        x = add_node(g, "add", module, x, y);
    }
    CHECK_EQ_INT(folded_rows(g, x, 10000), 2);
}

/* The same without modules, with something between the stages. */
static void fold_flat(void)
{
    uint32_t x;
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 100000; i++) {
        uint32_t y = add_node(g, "relu", NULL, x, CLV_NONE);
        x = add_node(g, "add", NULL, x, y);
        if (i % 1000 == 999)
            x = add_node(g, "tanh", NULL, x, CLV_NONE);
    }
    CHECK_EQ_INT(folded_rows(g, x, 10000), 3);
}

/* Nothing repeats: operators by chance, read by chance. */
static void fold_random(void)
{
    static const char *const ops[] = {"relu", "tanh", "sigmoid", "exp", "neg"};
    enum { N = 60000 };
    uint32_t x, seed = 7, *made = calloc(N, sizeof *made);
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t from = i ? made[(seed >> 4) % (uint32_t)i] : x;
        made[i] = add_node(g, ops[(seed >> 16) % 5], NULL, from, CLV_NONE);
    }
    uint32_t rows = folded_rows(g, made[N - 1], 5000);
    CHECK(rows > 100 && rows < 6000);
    free(made);
}

/* Modules that are all different. */
static void fold_unlike(void)
{
    uint32_t x, seed = 7;
    char module[32];
    clv_graph *g = new_graph(&x);
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        snprintf(module, sizeof module, "m%d", i);
        for (uint32_t k = 0; k < 3; k++)
            x = add_node(g, (seed >> (8 + k)) % 2 ? "relu" : "tanh", module, x,
                         CLV_NONE);
    }
    uint32_t rows = folded_rows(g, x, 2000);
    CHECK(rows > 1 && rows < 4000);
}

/* What is small is folded where it repeats, and drawn whole where not. */
static void fold_small(void)
{
    uint32_t x;
    clv_graph *g = new_graph(&x);
    x = add_node(g, "relu", NULL, x, CLV_NONE);
    x = add_node(g, "tanh", NULL, x, CLV_NONE);
    CHECK_EQ_INT(folded_rows(g, x, 100), 2);
}

static const check_case cases[] = {
    {"zoo", zoo},
    {"crossings", crossings},
    {"cycles", cycles},
    {"repeats", repeats},
    {"weights_inside", weights_inside},
    {"long_edges", long_edges},
    {"too_long", too_long},
    {"deep_modules", deep_modules},
    {"empty", empty},
    {"fold_modules", fold_modules},
    {"fold_flat", fold_flat},
    {"fold_random", fold_random},
    {"fold_unlike", fold_unlike},
    {"fold_small", fold_small},
};
CHECK_MAIN(cases)
