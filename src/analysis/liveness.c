/* liveness.c - intervals of storages over steps, and the bytes alive. */
#include "analysis/liveness.h"

#include <assert.h>
#include <string.h>

bool clv__live_start(liveness *l, arena *a, uint32_t n_values, uint32_t n_steps)
{
    *l = (liveness){.n_values = n_values, .n_steps = n_steps};
    l->of = arena_array(a, (size_t)n_values + 1, sizeof *l->of);
    if (l->of)
        memset(l->of, 0xff, n_values * sizeof *l->of); /* CLV_NONE */
    return l->of != NULL;
}

void clv__live_forget(liveness *l, uint32_t value)
{
    live_value *r = &l->of[clv__live_root(l, value)];
    r->first = r->last = CLV_NONE;
}

void clv__live_keep(liveness *l, uint32_t value)
{
    clv__live_touch(l, value, l->n_steps ? l->n_steps - 1 : 0);
}

void clv__live_alias(liveness *l, uint32_t value, uint32_t of)
{
    live_value was = l->of[value];
    l->of[value] = (live_value){LIVE_ALIAS, clv__live_root(l, of)};
    if (was.first != CLV_NONE)
        clv__live_span(l, of, was.first, was.last);
}

clv_buffer clv__live_buffer(const liveness *l, uint32_t value, int64_t bytes)
{
    uint32_t r = clv__live_root(l, value);
    return (clv_buffer){r, l->of[r].first, l->of[r].last, bytes, 0};
}

static int64_t live_rounded(int64_t bytes, int64_t align)
{
    int64_t rest = align == 1 ? 0 : bytes % align; /* divisions are slow */
    return rest ? sat_add(bytes, align - rest) : bytes;
}

int64_t clv__live_bytes(const clv_buffer *b, uint32_t n, int64_t align,
                        int64_t *live, uint32_t n_steps)
{
    int64_t sum = 0, most = 0, now = 0;
    memset(live, 0, ((size_t)n_steps + 1) * sizeof *live);
    for (uint32_t i = 0; i < n; i++) {
        assert(b[i].first <= b[i].last && b[i].last < n_steps);
        int64_t bytes = live_rounded(b[i].bytes, align);
        sum = sat_add(sum, bytes);
        if (sum == CLV_SAT)
            return CLV_SAT;
        live[b[i].first] += bytes; /* none is beyond `sum` */
        live[b[i].last + 1] -= bytes;
    }
    for (uint32_t k = 0; k <= n_steps; k++) {
        live[k] = now += live[k];
        most = now > most ? now : most;
    }
    return most;
}
