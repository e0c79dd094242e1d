/* fuzz_cluster.c - any text as a cluster; what is accepted plans alexnet, and
 * the plan is a valid cut that is not below its bound. */
#include "cleave.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_DEVICES = 64 }; /* larger ones are only read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static clv_graph *g;
    static clv_profile *p;
    clv_cluster *k;
    clv_cut *c;
    if (!p && (clv_graph_open("alexnet", NULL, &g, NULL) != CLV_OK ||
               clv_profile_new(g, NULL, &p, NULL) != CLV_OK))
        return 0;
    if (clv_cluster_parse((const char *)data, size, &k, NULL) != CLV_OK)
        return 0;
    const clv_cluster_opts o = {.size = sizeof o, .cluster = k};
    if (clv_cluster_get(k)->n_devices <= MOST_DEVICES &&
        clv_cut_cluster(p, &o, &c, NULL) == CLV_OK) {
        assert(clv_cut_verify(c, NULL) == CLV_OK);
        assert(clv_cut_cluster_plan(c)->bottleneck >=
               clv_cut_cluster_plan(c)->bound * (1 - 1e-6));
        clv_cut_free(c);
    }
    clv_cluster_free(k);
    return 0;
}
