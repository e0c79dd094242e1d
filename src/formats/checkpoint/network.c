/* network.c - networks whose layers name the layers that they read. */
#include "formats/checkpoint/module.h"

#include <stdio.h>
#include <string.h>

enum { NETWORK_MAX_LAYERS = 1024, NETWORK_SOURCES = 32 };

static pickle_node *const *network_layers(const pickle_node *m, uint32_t *n)
{
    return m_children(m_child(m, "model"), n);
}

bool module_is_network(const pickle_node *m)
{
    uint32_t n;
    pickle_node *const *layers = network_layers(m, &n);
    if (!layers || !n || n > NETWORK_MAX_LAYERS)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!pickle_get(layers[2 * i + 1], "f"))
            return false;
    return true;
}

/* Which result of its k-th source a layer takes, where a source has several. */
static uint32_t network_choice(const pickle_node *layer, int k)
{
    int64_t idx[NETWORK_SOURCES];
    int n = pickle_ints(pickle_get(layer, "idx"), idx, NETWORK_SOURCES);
    return k < n && idx[k] > 0 && idx[k] < UINT32_MAX ? (uint32_t)idx[k] : 0;
}

/* What layer i reads: -1 is the one before, others are counted from 0. */
static m_val network_source(module_walk *w, const m_val *made, uint32_t i,
                            const pickle_node *layer)
{
    int64_t f[NETWORK_SOURCES];
    int n = pickle_ints(pickle_get(layer, "f"), f, NETWORK_SOURCES);
    uint32_t *all = arena_array(&w->mem, NETWORK_SOURCES + 1, sizeof *all);
    if (!all)
        return m_fail(w, clv__nomem(w->e));
    m_val x = {.v = CLV_NONE, .more = all};
    for (int k = 0; k < n; k++) {
        int64_t at = f[k] < 0 ? (int64_t)i + f[k] : f[k];
        if (at >= (int64_t)i || at < -1)
            return m_fail(w, clv__fail(w->e, CLV_FORMAT,
                                       "layer %u reads layer %lld", i,
                                       (long long)at));
        const m_val *src = &made[at + 1]; /* made[0] is the image */
        if (n == 1)
            return *src;
        all[x.n++] =
            src->n > 1 ? m_at(*src, network_choice(layer, k)).v : src->v;
    }
    x.v = x.n ? all[0] : CLV_NONE;
    return x;
}

clv_status module_network(module_walk *w, const pickle_node *m, m_val image)
{
    uint32_t n;
    pickle_node *const *layers = network_layers(m, &n);
    m_val *made = arena_array(&w->mem, n + 1u, sizeof *made);
    if (!made)
        return clv__nomem(w->e);
    made[0] = image;
    for (uint32_t i = 0; i < n; i++) {
        char path[64];
        snprintf(path, sizeof path, "model.%s",
                 pickle_text(layers[2 * i], "?"));
        m_val x = network_source(w, made, i, layers[2 * i + 1]);
        made[i + 1] = m_forward(w, layers[2 * i + 1], path, x);
    }
    CLV_TRY(w->status);
    if (!w->n_outputs && made[n].v != CLV_NONE)
        w->outputs[w->n_outputs++] = made[n];
    for (uint32_t i = 0; i < w->n_outputs; i++)
        if (w->outputs[i].v != CLV_NONE &&
            !clv__graph_output(w->b.g, w->outputs[i].v))
            return clv__nomem(w->e);
    return CLV_OK;
}
