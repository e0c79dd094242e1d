/* folded.c - sums over the rows of a folded layout, and which subgraphs of a
 * cut are told for all. */
#include "layout/folded.h"

#include "graph/hash.h"

static void folded_add(clv_layer *to, const clv_layer *l)
{
    clv_cost *c = &to->cost;
    c->macs = sat_add(c->macs, l->cost.macs);
    c->flops = sat_add(c->flops, l->cost.flops);
    c->params = sat_add(c->params, l->cost.params);
    c->bytes_in = sat_add(c->bytes_in, l->cost.bytes_in);
    c->bytes_weights = sat_add(c->bytes_weights, l->cost.bytes_weights);
    c->bytes_out = sat_add(c->bytes_out, l->cost.bytes_out);
    to->memory = sat_add(to->memory, l->memory);
}

void clv__folded_layers(const clv_layout_info *l, const clv_profile *p,
                        clv_layer *rows)
{
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n);
    for (uint32_t r = 0; r < l->n_rows; r++)
        rows[r] = layers[l->row_node[r]];
    for (uint32_t i = 0; i < n; i++)
        if (l->row_node[l->row[i]] != i)
            folded_add(&rows[l->row[i]], &layers[i]);
    for (uint32_t r = 0; r < l->n_rows; r++)
        if (l->row_count[r] > 1)
            rows[r].intensity =
                rows[r].memory > 0
                    ? (double)rows[r].cost.flops / (double)rows[r].memory
                    : 0;
}

/* Equal for subgraphs whose nodes are of the same rows. */
static uint64_t folded_hash(const clv_layout_info *l, const clv_subgraph *s)
{
    uint64_t h = clv__hash_word(CLV_HASH_START, s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        h = clv__hash_word(h, l->row[s->nodes[i]]);
    return h;
}

/* A table of hashes: a place that is taken has the number of a subgraph in the
 * list, plus 1. */
typedef struct folded_seen {
    uint64_t *hash;
    uint32_t *number;
    size_t size; /* a power of two */
} folded_seen;

static uint32_t *folded_find(const folded_seen *s, uint64_t hash)
{
    size_t k = (size_t)hash & (s->size - 1);
    while (s->number[k] && s->hash[k] != hash)
        k = (k + 1) & (s->size - 1);
    s->hash[k] = hash;
    return &s->number[k];
}

static void folded_fill(const clv_layout_info *l, const clv_subgraph *subs,
                        uint32_t n, const folded_seen *seen, folded_cut *out)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *at = folded_find(seen, folded_hash(l, &subs[k]));
        out->number[k] = *at ? CLV_NONE : out->n;
        *at = *at ? *at : ++out->n;
        out->times[*at - 1]++;
    }
}

bool clv__folded_cut_make(const clv_layout *layout, const clv_cut *c,
                          folded_cut *out)
{
    const clv_layout_info *l = layout ? clv_layout_get(layout) : NULL;
    folded_seen seen = {.size = 16};
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    *out = (folded_cut){.n = n};
    if (!l || l->n_rows == 0)
        return true;
    while (seen.size < 2 * (size_t)n)
        seen.size *= 2;
    seen.hash = clv__zalloc(seen.size * sizeof *seen.hash);
    seen.number = clv__zalloc(seen.size * sizeof *seen.number);
    out->number = clv__zalloc(((size_t)n + 1) * sizeof *out->number);
    out->times = clv__zalloc(((size_t)n + 1) * sizeof *out->times);
    out->n = 0;
    out->layout = l;
    bool ok = seen.hash && seen.number && out->number && out->times;
    if (ok)
        folded_fill(l, subs, n, &seen, out);
    else
        clv__folded_cut_free(out);
    clv__free(seen.hash);
    clv__free(seen.number);
    return ok;
}

void clv__folded_cut_free(folded_cut *f)
{
    clv__free(f->number);
    clv__free(f->times);
    *f = (folded_cut){0};
}

uint32_t clv__folded_number(const folded_cut *f, uint32_t k)
{
    return f->number ? f->number[k] : k;
}

bool clv__folded_drawn(const folded_cut *f, uint32_t node)
{
    return !f->layout || f->layout->row_node[f->layout->row[node]] == node;
}

uint32_t clv__folded_times(const folded_cut *f, uint32_t k)
{
    return f->times ? f->times[f->number[k]] : 1;
}
