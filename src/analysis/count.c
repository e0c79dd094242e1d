/* count.c - the same graph counted by other tools' rules. */
#include "analysis/profile.h"

const char *clv_convention_name(clv_convention c)
{
    static const char *const names[] = {"full", "fvcore", "torch",
                                        "torchvision", "thop"};
    return names[c];
}

int64_t clv__count(const clv_graph *g, const clv_node *n, const clv_cost *cost,
                   clv_convention convention)
{
    (void)g, (void)n;
    return convention == CLV_COUNT_TORCH ? sat_mul(2, cost->macs) : cost->macs;
}
