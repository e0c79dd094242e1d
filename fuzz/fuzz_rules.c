/* fuzz_rules.c - any text as a rules file, put to a small graph. */
#include "backend/backend.h"
#include "cleave.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static clv_graph *graph(void)
{
    static clv_graph *g;
    if (!g && clv_graph_open("alexnet", NULL, &g, NULL) != CLV_OK)
        return NULL;
    return g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_graph *g = graph();
    clv_backend *b;
    clv_support *s = NULL;
    if (!g || clv_backend_open("null", NULL, &b, NULL) != CLV_OK)
        return 0;
    if (clv__rules_open(b, "rules", (const char *)data, size, NULL) == CLV_OK &&
        clv_support_new(b, g, &s, NULL) == CLV_OK)
        clv_support_free(s);
    clv_backend_free(b);
    return 0;
}
