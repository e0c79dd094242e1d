/* zoo.c - every model of the zoo opened and profiled in one process.
 *
 * The promise: 240 models, as many as there were to be, below 100 ms on a
 * machine of 2024, and all of them below 30 MB. */
#include "bench.h"

#include <sys/resource.h>

/* Operators of one model; 0, with a message, when it fails. */
static uint32_t profile(const char *model)
{
    clv_graph *g;
    clv_profile *p = NULL;
    clv_err err;
    uint32_t n = 0;
    if (clv_graph_open(model, NULL, &g, &err) != CLV_OK ||
        clv_profile_new(g, NULL, &p, &err) != CLV_OK)
        printf("zoo: %s: %s\n", model, err.msg);
    else
        n = clv_profile_totals(p)->operators;
    clv_profile_free(p);
    clv_graph_free(g);
    return n;
}

static double run(uint32_t *models, uint32_t *operators)
{
    const clv_zoo_model *m;
    double start = now();
    *models = *operators = 0;
    for (; (m = clv_zoo_at(*models)); ++*models) {
        uint32_t n = profile(m->name);
        if (!n)
            return -1;
        *operators += n;
    }
    return now() - start;
}

int main(void)
{
    enum { PROMISED = 240 };
    uint32_t models, operators;
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double t = run(&models, &operators);
        if (t < 0)
            return 1;
        best = t < best ? t : best;
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double peak = (double)use.ru_maxrss / 1024;
    double promised = best * PROMISED / models;
    printf("zoo: %u models, %u operators: %.1f ms, %.0f ns each; %d models: "
           "%.1f ms (below 100)\n",
           models, operators, 1e3 * best, 1e9 * best / operators, PROMISED,
           1e3 * promised);
    printf("zoo: peak memory %.1f MB (below 30)\n", peak);
    return promised >= 0.100 || peak >= 30;
}
