/* profile.c - the smallest complete program: what does a model cost?
 *
 *     cc profile.c $(pkg-config --cflags --libs cleave) && ./a.out resnet50 8
 */
#include <cleave.h>
#include <stdio.h>
#include <stdlib.h>

/* The operator that does the most work, NULL in an empty graph. */
static const clv_layer *heaviest(const clv_profile *p)
{
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n), *best = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!best || layers[i].cost.flops > best->cost.flops)
            best = &layers[i];
    return best;
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "resnet18";
    clv_open_opts opts = {.size = sizeof opts,
                          .batch = argc > 2 ? atoi(argv[2]) : 0};
    clv_graph *g;
    clv_profile *p = NULL;
    clv_err err;

    if (clv_graph_open(model, &opts, &g, &err) ||
        clv_profile_new(g, NULL, &p, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        clv_graph_free(g);
        return clv_status_exit(err.code);
    }
    const clv_totals *t = clv_profile_totals(p);
    const clv_layer *top = heaviest(p);
    printf("%s: %u operators, %lld params, %lld MACs, %.1f FLOPs per byte\n",
           clv_graph_name(g), t->operators, (long long)t->params,
           (long long)t->macs, t->intensity);
    if (top)
        printf("heaviest: %s, %s\n", clv_graph_node(g, top->node).name,
               clv_bottleneck_name(top->bottleneck));
    clv_profile_free(p);
    clv_graph_free(g);
    return 0;
}
