/* summary.c - sums up a cut: totals, distributions, and what patterns saved. */
#include "cut/cut.h"

#include <stdlib.h>
#include <string.h>

struct clv_summary {
    clv_summary_info info;
    clv_pattern_total *patterns;
    size_t cap_patterns;
};

const char *clv_threads_name(clv_threads_bin b)
{
    static const char *const names[] = {
#define CLV_X(code, name, below) [CLV_THREADS_##code] = name,
        CLV_THREADS_TABLE(CLV_X)
#undef CLV_X
    };
    return CLV_NAME(names, b);
}

static clv_threads_bin threads_bin(int64_t threads)
{
    static const int64_t below[] = {
#define CLV_X(code, name, limit) [CLV_THREADS_##code] = limit,
        CLV_THREADS_TABLE(CLV_X)
#undef CLV_X
    };
    clv_threads_bin b = 0;
    while (b + 1 < CLV_THREADS_COUNT && threads >= below[b])
        b++;
    return b;
}

clv_type_total *clv__cut_types(const clv_cut *c, uint32_t k, uint32_t *n)
{
    const clv_graph *g = c->p->g;
    const clv_subgraph *s = &c->subs[k];
    uint32_t row[CLV_OP_COUNT];
    clv_type_total *list = clv__alloc(((size_t)s->n_nodes + 1) * sizeof *list);
    memset(row, 0xff, sizeof row);
    *n = 0;
    for (uint32_t i = 0; list && i < s->n_nodes; i++) {
        uint32_t op = g->nodes[s->nodes[i]].op;
        const clv_cost *cost = &c->p->layers[s->nodes[i]].cost;
        if (row[op] == CLV_NONE) {
            row[op] = (*n)++;
            list[row[op]] = (clv_type_total){.type = clv__ops[op].name};
        }
        list[row[op]].count++;
        list[row[op]].flops += cost->flops;
        list[row[op]].macs += cost->macs;
    }
    return list;
}

static int sub_by_flops(const void *a, const void *b)
{
    const clv_subgraph *x = *(const clv_subgraph *const *)a;
    const clv_subgraph *y = *(const clv_subgraph *const *)b;
    if (x->cost.flops != y->cost.flops)
        return x->cost.flops < y->cost.flops ? 1 : -1;
    return (x > y) - (x < y);
}

const clv_subgraph **clv__cut_by_flops(const clv_cut *c)
{
    const clv_subgraph **list =
        clv__alloc(((size_t)c->n_subs + 1) * sizeof *list);
    for (uint32_t k = 0; list && k < c->n_subs; k++)
        list[k] = &c->subs[k];
    if (list)
        qsort(list, c->n_subs, sizeof *list, sub_by_flops);
    return list;
}

static void add_subgraph(clv_summary_info *t, const clv_subgraph *s)
{
    t->operators += s->n_nodes;
    t->flops += s->cost.flops;
    t->macs += s->cost.macs;
    t->bytes_external += s->bytes_external;
    t->bytes_internal += s->bytes_internal;
    t->max_size = s->n_nodes > t->max_size ? s->n_nodes : t->max_size;
    t->bottleneck[s->bottleneck]++;
    t->reason[s->reason]++;
    t->threads[threads_bin(s->parallel.total_threads)]++;
}

static void summary_intensities(clv_summary_info *t, const clv_subgraph *subs)
{
    uint32_t n = 0;
    double sum = 0;
    for (uint32_t k = 0; k < t->subgraphs; k++) {
        double x = subs[k].intensity;
        if (subs[k].bytes_external == 0)
            continue;
        t->min_intensity =
            n == 0 || x < t->min_intensity ? x : t->min_intensity;
        t->max_intensity = x > t->max_intensity ? x : t->max_intensity;
        sum += x;
        n++;
    }
    t->avg_intensity = n ? sum / n : 0;
    t->intensity =
        t->bytes_external ? (double)t->flops / (double)t->bytes_external : 0;
}

static bool add_pattern(clv_summary *s, strmap *rows, const clv_subgraph *sub)
{
    clv_summary_info *t = &s->info;
    size_t len = strlen(sub->pattern);
    uint32_t row = strmap_get(rows, sub->pattern, len);
    if (row == CLV_NONE) {
        row = t->n_patterns;
        if (!CLV_GROW(s->patterns, t->n_patterns, s->cap_patterns) ||
            !strmap_put(rows, sub->pattern, len, row))
            return false;
        s->patterns[t->n_patterns++] =
            (clv_pattern_total){.pattern = sub->pattern};
    }
    clv_pattern_total *p = &s->patterns[row];
    p->count++;
    p->operators += sub->n_nodes;
    p->flops += sub->cost.flops;
    p->bytes_external += sub->bytes_external;
    p->bytes_internal += sub->bytes_internal;
    return true;
}

static int by_saving(const void *a, const void *b)
{
    const clv_pattern_total *x = a, *y = b;
    if (x->bytes_internal != y->bytes_internal)
        return x->bytes_internal > y->bytes_internal ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->pattern, y->pattern);
}

static bool summary_fill(clv_summary *s, const clv_cut *c)
{
    clv_summary_info *t = &s->info;
    strmap rows = {0};
    bool ok = true;
    t->subgraphs = c->n_subs;
    for (uint32_t k = 0; k < c->n_subs && ok; k++) {
        add_subgraph(t, &c->subs[k]);
        ok = add_pattern(s, &rows, &c->subs[k]);
    }
    strmap_free(&rows);
    for (uint32_t i = 0; i < t->n_patterns; i++)
        s->patterns[i].bytes_unfused =
            s->patterns[i].bytes_external + s->patterns[i].bytes_internal;
    t->bytes_unfused = t->bytes_external + t->bytes_internal;
    if (t->bytes_unfused)
        t->reduction = (double)t->bytes_internal / (double)t->bytes_unfused;
    if (t->subgraphs)
        t->avg_size = (double)t->operators / t->subgraphs;
    summary_intensities(t, c->subs);
    if (t->n_patterns)
        qsort(s->patterns, t->n_patterns, sizeof *s->patterns, by_saving);
    t->patterns = s->patterns;
    t->types = clv_profile_types(c->p, &t->n_types);
    return ok;
}

clv_status clv_summary_new(const clv_cut *c, clv_summary **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    clv_summary *s = clv__zalloc(sizeof *s);
    if (!s)
        return clv__nomem(err);
    s->info.size = sizeof s->info;
    if (!summary_fill(s, c)) {
        clv_summary_free(s);
        return clv__nomem(err);
    }
    *out = s;
    return CLV_OK;
}

void clv_summary_free(clv_summary *s)
{
    if (!s)
        return;
    clv__free(s->patterns);
    clv__free(s);
}

const clv_summary_info *clv_summary_get(const clv_summary *s)
{
    return &s->info;
}
