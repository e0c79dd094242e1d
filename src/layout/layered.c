/* layered.c - the steps of a layered drawing, one after the other. */
#include "layout/layered.h"

#include <math.h>

/* Pixels between neighbours of a layer, and between layers. */
enum { GAP_NODE = 28, GAP_DUMMY = 14, GAP_RANK = 44, GAP_PER_LINE = 1 };
enum { MOST_LINE_GAP = 90, GAP_END = 20 /* beside a layer of no height */ };

static int32_t *gaps_make(arena *a, const ranked *r)
{
    int32_t *gap = arena_array(a, (size_t)r->n + 1, sizeof *gap);
    for (uint32_t v = 0; gap && v < r->n; v++)
        gap[v] = v < r->n_nodes ? GAP_NODE : GAP_DUMMY;
    return gap;
}

/* The top of every layer and, in bottom, its lower end. Layers with many lines
 * between them stand further apart. */
static bool rows_make(arena *a, const layered_graph *g, const ranked *r,
                      int32_t **top, int32_t **bottom)
{
    size_t n = (size_t)r->n_ranks + 1;
    int32_t *t = *top = arena_zalloc(a, n * sizeof *t);
    int32_t *b = *bottom = arena_zalloc(a, n * sizeof *b);
    int32_t y = 0;
    if (!t || !b)
        return false;
    for (uint32_t v = 0; v < g->n; v++)
        if (g->height[v] > b[r->rank[v]])
            b[r->rank[v]] = g->height[v];
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        uint32_t lines = 0;
        for (uint32_t k = r->first[i]; k < r->first[i + 1]; k++)
            lines += r->down_first[r->at[k] + 1] - r->down_first[r->at[k]];
        uint32_t more = lines * GAP_PER_LINE;
        bool ends = b[i] == 0 || (i + 2 == r->n_ranks && b[i + 1] == 0);
        t[i] = y;
        b[i] += y;
        y = b[i] + (ends ? GAP_END : GAP_RANK) +
            (int32_t)(more > MOST_LINE_GAP ? MOST_LINE_GAP : more);
    }
    return true;
}

static bool result_alloc(arena *out, const layered_graph *g, const ranked *r,
                         layered *l)
{
    size_t bends = 0;
    for (uint32_t e = 0; e < g->n_edges; e++)
        if (r->chain[e] != CLV_NONE)
            bends += r->rank[g->edges[e].to] - r->rank[g->edges[e].from] - 1;
    l->rank = arena_array(out, (size_t)g->n + 1, sizeof *l->rank);
    l->center = arena_array(out, (size_t)g->n + 1, sizeof *l->center);
    l->bend_first =
        arena_array(out, (size_t)g->n_edges + 1, sizeof *l->bend_first);
    l->bends = arena_array(out, bends + 1, sizeof *l->bends);
    return l->rank && l->center && l->bend_first && l->bends;
}

static int32_t coord_rounded(double x)
{
    return (int32_t)floor(x + 0.5);
}

static void result_fill(const layered_graph *g, const ranked *r,
                        const double *x, const int32_t *top,
                        const int32_t *bottom, layered *l)
{
    uint32_t at = 0;
    for (uint32_t v = 0; v < g->n; v++) {
        uint32_t k = r->rank[v];
        int32_t half = g->width[v] - g->width[v] / 2;
        l->rank[v] = k;
        l->center[v] =
            (layered_point){coord_rounded(x[v]), (top[k] + bottom[k]) / 2};
        if (l->center[v].x + half > l->width)
            l->width = l->center[v].x + half;
    }
    for (uint32_t e = 0; e < g->n_edges; e++) {
        uint32_t from = r->rank[g->edges[e].from];
        uint32_t to = r->rank[g->edges[e].to];
        l->bend_first[e] = at;
        for (uint32_t k = from + 1; r->chain[e] != CLV_NONE && k < to; k++) {
            int32_t at_x = coord_rounded(x[r->chain[e] + (k - from - 1)]);
            l->bends[at++] = (layered_point){at_x, (top[k] + bottom[k]) / 2};
            l->width = at_x > l->width ? at_x : l->width;
        }
    }
    l->bend_first[g->n_edges] = at;
    l->height = r->n_ranks ? bottom[r->n_ranks - 1] : 0;
}

bool clv__layered_make(arena *out, arena *scratch, const layered_graph *g,
                       layered *l)
{
    arena_mark mark = arena_save(scratch);
    int32_t *gap, *top, *bottom;
    double *x = NULL;
    ranked r;
    *l = (layered){0};
    bool ok = clv__ranked_make(scratch, g, &r) &&
              (l->crossings = clv__ranked_order(scratch, &r)) >= 0 &&
              (gap = gaps_make(scratch, &r)) != NULL &&
              (x = clv__ranked_place(scratch, &r, gap)) != NULL &&
              rows_make(scratch, g, &r, &top, &bottom) &&
              result_alloc(out, g, &r, l);
    if (ok) {
        l->n_ranks = r.n_ranks;
        l->n_straight = r.n_straight;
        result_fill(g, &r, x, top, bottom, l);
    }
    arena_rewind(scratch, mark);
    return ok;
}
