/* layout.c - how the time of a layout grows: flat graphs of 1,000 to 300,000
 * operators, and densenet121.
 *
 * A network without modules, so that all of it is one drawing: blocks of three
 * branches whose sums of two are added up (lines that must cross), a way around
 * each block, and one that reaches over a hundred of them. */
#include "bench.h"

enum { PER_BLOCK = 10, REACH = 100, ROUNDS = 3 };

static const uint32_t sizes[] = {1000, 3000, 10000, 30000, 100000, 300000};
enum { SIZES = sizeof sizes / sizeof *sizes, FIRST = 2 /* to compare with */ };

static clv_err err;

static void must(clv_status s)
{
    must_of("layout", s, &err);
}

static uint32_t put(clv_graph *g, const char *op, uint32_t a, uint32_t b)
{
    uint32_t y;
    must(clv_graph_add_node(g,
                            &(clv_node_arg){.size = sizeof(clv_node_arg),
                                            .op = op,
                                            .inputs = (uint32_t[]){a, b},
                                            .n_inputs = b == CLV_NONE ? 1 : 2},
                            &y, &err));
    return y;
}

static uint32_t chain(clv_graph *g, uint32_t x, int n)
{
    for (; n > 0; n--)
        x = put(g, "relu", x, CLV_NONE);
    return x;
}

static clv_graph *build(uint32_t nodes)
{
    static const int64_t dims[] = {1, 64};
    clv_graph *g;
    uint32_t x, kept;
    must(clv_graph_new("flat", &g, &err));
    must(clv_graph_add_value(g,
                             &(clv_value_arg){.size = sizeof(clv_value_arg),
                                              .name = "x",
                                              .kind = CLV_VALUE_INPUT,
                                              .dtype = CLV_FLOAT32,
                                              .rank = 2,
                                              .dims = dims},
                             &x, &err));
    kept = x;
    for (uint32_t i = 0; i < nodes / PER_BLOCK; i++) {
        uint32_t a = chain(g, x, 1), b = chain(g, x, 1), c = chain(g, x, 2);
        uint32_t y = put(g, "add", put(g, "add", a, b), put(g, "add", b, c));
        y = put(g, "add", put(g, "add", c, a), y);
        x = put(g, "add", y, i % REACH ? x : kept);
        kept = i % REACH ? kept : x;
    }
    must(clv_graph_add_output(g, x, &err));
    must(clv_graph_infer(g, &err));
    return g;
}

/* Seconds of one layout. */
static double lay_out(const clv_graph *g, clv_layout_info *info)
{
    clv_layout *l;
    double start = now();
    must(clv_layout_new(g, &l, &err));
    double t = now() - start;
    *info = *clv_layout_get(l);
    clv_layout_free(l);
    return t;
}

int main(void)
{
    double best[SIZES + 1];
    clv_graph *graphs[SIZES + 1];
    clv_layout_info info[SIZES + 1];
    for (int i = 0; i < SIZES; i++)
        graphs[i] = build(sizes[i]);
    must(clv_graph_open("densenet121", NULL, &graphs[SIZES], &err));
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i <= SIZES; i++) {
            double t = lay_out(graphs[i], &info[i]);
            best[i] = round && best[i] < t ? best[i] : t;
        }
    printf("layout: densenet121: %.1f ms\n", 1e3 * best[SIZES]);
    for (int i = 0; i < SIZES; i++)
        printf("layout: %u operators: %.0f ms, %.2f us each, %lld crossings\n",
               sizes[i], 1e3 * best[i], 1e6 * best[i] / sizes[i],
               (long long)info[i].crossings);
    double each = best[SIZES - 1] / sizes[SIZES - 1];
    double ratio = each / (best[FIRST] / sizes[FIRST]);
    printf("layout: an operator of %u takes %.1f times one of %u (at most 3)\n",
           sizes[SIZES - 1], ratio, sizes[FIRST]);
    for (int i = 0; i <= SIZES; i++)
        clv_graph_free(graphs[i]);
    return ratio > 3;
}
