/* load.c - opens FILE, infers its shapes and profiles it, N times in this
 * process; prints the best and the median time of the processor in seconds.
 *
 *     bench/load FILE [N]
 *
 * tflite_peers and pt2_peers call it: what they compare with is a call in a
 * process that runs already, too. */
#include "bench.h"

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double load_once(const char *path)
{
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err e = {0};
    double start = now();
    must_of("load", clv_graph_open(path, NULL, &g, &e), &e);
    must_of("load", clv_profile_new(g, NULL, &p, &e), &e);
    double took = now() - start;
    clv_profile_free(p);
    clv_graph_free(g);
    return took;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 100;
    if (argc < 2) {
        puts("load: bench/load FILE [N], called by tflite_peers and pt2_peers");
        return 0;
    }
    double *took = n > 0 ? malloc((size_t)n * sizeof *took) : NULL;
    if (!took)
        return 1;
    for (int i = 0; i < n; i++)
        took[i] = load_once(argv[1]);
    qsort(took, (size_t)n, sizeof *took, by_size);
    printf("%.9f %.9f\n", took[0], took[n / 2]);
    free(took);
    return 0;
}
