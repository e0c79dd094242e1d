/* test_align.c - graphs align by what they compute.
 *
 * Truth comes from outside the aligner. Two exporters write the products of a
 * network in the order in which PyTorch runs them, and keep the names of most
 * weights: so the k-th product belongs to the k-th, and a weight to its name.
 * Edited copies are made here, with other names and in another order: the list
 * of edits says which node is which. */
#include "analysis/align.h"
#include "analysis/structure.h"
#include "models.h"
#include "ops/build.h"
#include "random_graph.h"

#include <dirent.h>

/* -- two exports of one network -------------------------------------------*/

static bool is_product(const clv_graph *g, uint32_t i)
{
    clv_category c = clv__ops[g->nodes[i].op].category;
    return (c == CLV_CAT_CONV || c == CLV_CAT_MATMUL ||
            c == CLV_CAT_ATTENTION) &&
           !clv__node_is_fixed(g, &g->nodes[i]);
}

static const char *weight_of(const clv_graph *g, uint32_t i)
{
    const clv_value *w = node_in(g, &g->nodes[i], 1);
    return w && value_is_weight(w) && w->name ? w->name : "";
}

/* Every product of a is paired with the one in its place in b. */
static void products_meet(const clv_graph *a, const clv_graph *b, bool names)
{
    alignment x;
    uint32_t j = 0, products = 0, named = 0;
    CHECK_OR_RETURN(clv__align(a, b, names, &x, NULL) == CLV_OK);
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        if (!is_product(a, i))
            continue;
        while (j < b->n_nodes && !is_product(b, j))
            j++;
        if (!CHECK(j < b->n_nodes))
            break;
        check_that(x.to[i] == j, __FILE__, __LINE__, "%s is not %s",
                   a->nodes[i].name, b->nodes[j].name);
        j++;
        products++;
        uint32_t y = x.to[i];
        if (y == CLV_NONE || strncmp(weight_of(a, i), "onnx::", 6) == 0)
            continue;
        for (uint32_t k = 0; k < b->n_nodes; k++)
            if (*weight_of(a, i) && is_product(b, k) &&
                !strcmp(weight_of(a, i), weight_of(b, k)) &&
                strncmp(weight_of(a, i), "val_", 4)) {
                CHECK_STR(weight_of(b, y), weight_of(a, i));
                named++;
                break;
            }
    }
    for (; j < b->n_nodes; j++)
        products -= is_product(b, j) && x.from[j] == CLV_NONE;
    CHECK(products > 0);
    if (getenv("CLEAVE_SHOW"))
        printf("%s: %u products, %u weights by name; %u pairs of %u and %u\n",
               check_state.name, products, named, x.pairs, a->n_nodes,
               b->n_nodes);
    clv__align_free(&x);
}

static void pair_of_files(const char *first, const char *second)
{
    char path[2][300];
    clv_graph *g[2];
    snprintf(path[0], sizeof *path, "tests/data/onnx/%s", first);
    snprintf(path[1], sizeof *path, "tests/data/onnx/%s", second);
    check_row(first);
    for (int i = 0; i < 2; i++)
        g[i] = open_model(path[i], NULL);
    for (int names = 0; g[0] && g[1] && names < 2; names++) {
        products_meet(g[0], g[1], names);
        products_meet(g[1], g[0], names);
    }
    for (int i = 0; i < 2; i++)
        clv_graph_free(g[i]);
}

/* All networks that both exporters of PyTorch wrote. */
static void two_exporters(void)
{
    DIR *dir = opendir("tests/data/onnx");
    int pairs = 0;
    CHECK_OR_RETURN(dir != NULL);
    for (struct dirent *f; (f = readdir(dir));) {
        char other[280], path[300];
        const char *mark = strstr(f->d_name, ".dynamo.onnx");
        if (!mark)
            continue;
        snprintf(other, sizeof other, "%.*s.legacy.onnx",
                 (int)(mark - f->d_name), f->d_name);
        snprintf(path, sizeof path, "tests/data/onnx/%s", other);
        FILE *there = fopen(path, "rb");
        if (!there)
            continue;
        fclose(there);
        pair_of_files(f->d_name, other);
        pairs++;
    }
    closedir(dir);
    check_row("pairs");
    CHECK(pairs >= 42);
}

/* One network in two operator sets, and from two versions of PyTorch. */
static void two_opsets(void)
{
    static const char *const files[][2] = {
        {"efficientnet_b0-opset12.onnx", "efficientnet_b0.legacy.onnx"},
        {"efficientnet_b0-opset12.onnx", "efficientnet_b0.dynamo.onnx"},
        {"resnet18-opset8.onnx", "resnet18.legacy.onnx"},
        {"resnet18-opset8.onnx", "resnet18.dynamo.onnx"},
        {"shufflenet_v2_x1_0-opset9.onnx", "shufflenet_v2_x1_0.legacy.onnx"},
        {"shufflenet_v2_x1_0-opset9.onnx", "shufflenet_v2_x1_0.dynamo.onnx"},
        {"resnet18-torch1.13.onnx", "resnet18.dynamo.onnx"},
        {"mobilenet_v3_small-torch1.13.onnx", "mobilenet_v3_small.legacy.onnx"},
        {"vit_b_32-torch1.13.onnx", "vit_b_32.dynamo.onnx"},
        {"resnet50-folded.onnx", "resnet50.legacy.onnx"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        pair_of_files(files[i][0], files[i][1]);
}

/* -- edits ----------------------------------------------------------------*/

enum { MOST_EDITS = 6 };
static const clv_op unary[] = {CLV_OP_RELU, CLV_OP_SIGMOID, CLV_OP_TANH,
                               CLV_OP_GELU, CLV_OP_SILU,    CLV_OP_HARDSWISH};
enum { N_UNARY = sizeof unary / sizeof *unary };

typedef enum edit_kind { KEPT, INSERTED, DELETED, CHANGED } edit_kind;

typedef struct edited {
    const clv_graph *from;
    clv_graph *g;
    uint8_t *kind;    /* edit_kind of each node; INSERTED: after it */
    uint8_t *taken;   /* near another edit */
    uint16_t *op;     /* of what was put in, or of what it became */
    uint32_t *value;  /* of each value, the one that its readers read now */
    uint32_t *became; /* of each node */
} edited;

static bool is_unary(const clv_graph *g, const clv_node *n)
{
    const clv_value *x = node_in(g, n, 0);
    bool known = false;
    for (int i = 0; i < N_UNARY; i++)
        known = known || n->op == unary[i];
    return known && n->n_in == 1 && n->n_out == 1 && x &&
           x->producer != CLV_NONE && !value_is_fixed(x);
}

/* Is op that of node i or of a neighbour? With one of them the place of an edit
 * would be anybody's guess. */
static bool is_around(const clv_graph *g, uint32_t i, uint16_t op)
{
    const clv_node *n = &g->nodes[i];
    bool found = n->op == op;
    for (uint32_t k = 0; k < n->n_in; k++) {
        const clv_value *v = node_in(g, n, k);
        if (v && v->producer != CLV_NONE)
            found = found || g->nodes[v->producer].op == op;
    }
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t v = node_outs(g, n)[k];
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
            found = found || g->nodes[g->users[u]].op == op;
    }
    return found;
}

/* Marks what is up to `far` links away from node i. */
static void take_around(edited *e, uint32_t i, int far)
{
    const clv_graph *g = e->from;
    const clv_node *n = &g->nodes[i];
    e->taken[i] = 1;
    for (uint32_t k = 0; far && k < n->n_in; k++) {
        const clv_value *v = node_in(g, n, k);
        if (v && v->producer != CLV_NONE)
            take_around(e, v->producer, far - 1);
    }
    for (uint32_t k = 0; far && k < n->n_out; k++) {
        uint32_t v = node_outs(g, n)[k];
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
            take_around(e, g->users[u], far - 1);
    }
}

static bool choose_edit(edited *e, rng *r, uint32_t i)
{
    const clv_graph *g = e->from;
    const clv_node *n = &g->nodes[i];
    const clv_value *out = n->n_out == 1 ? node_out(g, n, 0) : NULL;
    uint16_t op = (uint16_t)unary[rng_below(r, N_UNARY)];
    edit_kind kind = (edit_kind)(1 + rng_below(r, 3));
    if (e->taken[i] || !out || out->flags || value_is_fixed(out) ||
        out->dtype != CLV_FLOAT32 || out->rank < 2 ||
        g->user_first[node_outs(g, n)[0]] ==
            g->user_first[node_outs(g, n)[0] + 1])
        return false;
    if (kind == DELETED) {
        const clv_value *x = node_in(g, n, 0);
        if (!is_unary(g, n) || is_around(g, x->producer, n->op) == 0)
            return false;
        const clv_node *before = &g->nodes[x->producer];
        if (before->op == n->op)
            return false;
        uint32_t v = node_outs(g, n)[0];
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
            if (g->nodes[g->users[u]].op == n->op)
                return false;
    } else if (is_around(g, i, op) || (kind == CHANGED && !is_unary(g, n)))
        return false;
    e->kind[i] = (uint8_t)kind;
    e->op[i] = op;
    take_around(e, i, 3);
    return true;
}

static uint32_t scrambled(clv_graph *g, rng *r, uint16_t op, const uint32_t *in,
                          uint32_t n_in, uint32_t n_out)
{
    const char *name = arena_printf(
        &g->mem, "n%llu_%u", (unsigned long long)rng_next(r), g->n_nodes);
    return name ? clv__node_add(g, (clv_op)op, name, 0, in, n_in, NULL, n_out)
                : CLV_NONE;
}

/* The value of the copy that stands for value v. */
static uint32_t copy_value(edited *e, uint32_t v)
{
    const clv_value *from = &e->from->values[v];
    if (e->value[v] != CLV_NONE)
        return e->value[v];
    uint32_t own = clv__value_add(e->g, NULL, (clv_value_kind)from->kind,
                                  (clv_dtype)from->dtype);
    e->g->values[own].dims = from->dims;
    e->g->values[own].rank = from->rank;
    e->g->values[own].data = from->data;
    return e->value[v] = own;
}

static void copy_node(edited *e, rng *r, uint32_t i)
{
    const clv_node *n = &e->from->nodes[i];
    uint32_t in[256], n_in = n->n_in < 256 ? n->n_in : 256;
    for (uint32_t k = 0; k < n_in; k++)
        in[k] = node_ins(e->from, n)[k] == CLV_NONE
                    ? CLV_NONE
                    : copy_value(e, node_ins(e->from, n)[k]);
    if (e->kind[i] == DELETED) {
        e->value[node_outs(e->from, n)[0]] = in[0];
        return;
    }
    uint16_t op = e->kind[i] == CHANGED ? e->op[i] : n->op;
    uint32_t own = scrambled(e->g, r, op, in, n_in, n->n_out);
    clv_node *copy = &e->g->nodes[own];
    if (op == n->op) {
        copy->attrs = n->attrs;
        copy->n_attrs = n->n_attrs;
        copy->flags = n->flags;
    }
    copy->origin = n->op == CLV_OP_UNKNOWN ? n->origin : NULL;
    e->became[i] = own;
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t v = node_outs(e->g, copy)[k], old = node_outs(e->from, n)[k];
        if (old == CLV_NONE)
            continue;
        clv_value *to = &e->g->values[v];
        const clv_value *from = &e->from->values[old];
        to->dtype = from->dtype;
        to->rank = from->rank;
        to->dims = from->dims;
        to->data = from->data;
        to->flags = from->flags & CLV_V_FIXED;
        e->value[old] = v;
    }
    if (e->kind[i] == INSERTED) {
        uint32_t v = node_outs(e->g, &e->g->nodes[own])[0];
        uint32_t more = scrambled(e->g, r, e->op[i], &v, 1, 1);
        uint32_t to = node_outs(e->g, &e->g->nodes[more])[0];
        value_like(&e->g->values[to],
                   &e->from->values[node_outs(e->from, n)[0]]);
        e->value[node_outs(e->from, n)[0]] = to;
    }
}

/* Copies the nodes in an order of its own: any whose inputs are there. */
static void copy_nodes(edited *e, rng *r)
{
    const clv_graph *g = e->from;
    uint32_t n = g->n_nodes, left = n;
    uint8_t *done = calloc(n + 1, 1);
    for (uint32_t at = 0; done && left; at = (at + 1) % n) {
        const clv_node *node = &g->nodes[at];
        bool ready = !done[at] && rng_below(r, 3) > 0;
        for (uint32_t k = 0; ready && k < node->n_in; k++) {
            const clv_value *v = node_in(g, node, k);
            ready = !v || v->producer == CLV_NONE || done[v->producer];
        }
        if (!ready)
            continue;
        copy_node(e, r, at);
        done[at] = 1;
        left--;
    }
    free(done);
}

static bool finish_copy(edited *e)
{
    const clv_graph *g = e->from;
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->n_outputs; i++)
        ok = clv__graph_output(e->g, copy_value(e, g->outputs[i]));
    return ok && clv__build_finish(e->g, CLV_BUILT_COPIED, NULL) == CLV_OK;
}

/* Are nodes i and j of g in the same place, so that nothing tells them apart?
 */
static bool alike(const structure *s, const uint64_t *labels, uint32_t i,
                  uint32_t j)
{
    return i != CLV_NONE && j != CLV_NONE &&
           labels[s->place[i]] == labels[s->place[j]];
}

static void compare_truth(const edited *e, uint32_t edits)
{
    alignment x;
    structure s;
    arena mem = {0};
    uint32_t wrong = 0;
    CHECK_OR_RETURN(clv__align(e->from, e->g, true, &x, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv__structure_new(&mem, e->g, false, &s));
    const uint64_t *labels =
        clv__structure_labels(&mem, &s, STRUCTURE_EXACT, STRUCTURE_BOTH, 0);
    for (uint32_t i = 0; i < e->from->n_nodes; i++) {
        if (x.to[i] == e->became[i] || alike(&s, labels, x.to[i], e->became[i]))
            continue;
        wrong++;
        if (getenv("CLEAVE_SHOW"))
            printf("%s %u: %s became %s, not %s\n", check_state.name, i,
                   e->from->nodes[i].name,
                   e->became[i] == CLV_NONE ? "nothing"
                                            : e->g->nodes[e->became[i]].name,
                   x.to[i] == CLV_NONE ? "nothing" : e->g->nodes[x.to[i]].name);
    }
    check_that(wrong == 0, __FILE__, __LINE__, "%u nodes are wrong, %u edits",
               wrong, edits);
    clv__align_free(&x);
    arena_free(&mem);
}

static void edit(const clv_graph *g, uint64_t seed)
{
    rng r = {seed};
    size_t n = (size_t)g->n_nodes + 1;
    edited e = {.from = g,
                .kind = calloc(n, 1),
                .taken = calloc(n, 1),
                .op = calloc(n, sizeof *e.op),
                .value = malloc(((size_t)g->n_values + 1) * sizeof *e.value),
                .became = malloc(n * sizeof *e.became)};
    uint32_t wanted = rng_below(&r, MOST_EDITS + 1), made = 0;
    CHECK(clv_graph_new("edited", &e.g, NULL) == CLV_OK);
    memset(e.value, 0xff, ((size_t)g->n_values + 1) * sizeof *e.value);
    memset(e.became, 0xff, n * sizeof *e.became);
    for (int tries = 0; made < wanted && tries < 400; tries++)
        made += choose_edit(&e, &r, rng_below(&r, g->n_nodes));
    for (uint32_t i = 0; i < g->n_inputs; i++)
        copy_value(&e, g->inputs[i]);
    copy_nodes(&e, &r);
    if (CHECK(finish_copy(&e)))
        compare_truth(&e, made);
    clv_graph_free(e.g);
    free(e.kind);
    free(e.taken);
    free(e.op);
    free(e.value);
    free(e.became);
}

static void edits_are_found(void)
{
    static const char *const models[] = {
        "resnet50",
        "mobilenet_v3_large",
        "googlenet",
        "densenet121",
        "efficientnet_b0",
        "vit_b_16",
        "swin_t",
        "tests/data/onnx/yolov8n.legacy.onnx",
        "tests/data/onnx/bert_tiny.legacy.onnx",
        "tests/data/onnx/llama_tiny.dynamo.onnx",
        "tests/data/onnx/gpt2_tiny.dynamo.onnx",
        "tests/data/onnx/convnext_tiny.legacy.onnx",
    };
    uint64_t seeds = getenv("CLEAVE_SLOW") ? 200 : 12;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        clv_graph *g = open_model(models[i], NULL);
        for (uint64_t seed = 0; g && seed < seeds; seed++) {
            char row[120];
            snprintf(row, sizeof row, "%s seed %llu", models[i],
                     (unsigned long long)seed);
            check_row(row);
            edit(g, seed * 1000 + i);
        }
        clv_graph_free(g);
    }
}

static const check_case cases[] = {
    {"two_exporters", two_exporters},
    {"two_opsets", two_opsets},
    {"edits_are_found", edits_are_found},
};
CHECK_MAIN(cases)
