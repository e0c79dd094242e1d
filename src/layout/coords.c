/* coords.c - places the vertices of ordered layers from left to right.
 *
 * After Brandes and Koepf, "Fast and Simple Horizontal Coordinate Assignment"
 * (2001). Every vertex is aligned with its median neighbour where no line of
 * dummies is in the way; aligned vertices make a block and share a coordinate.
 * Blocks are packed to one side. That is done four times, for both directions
 * of layers and of packing, and a vertex takes the mean of its two middle
 * places. Each of the four keeps the order and the gaps, so their mean does. */
#include "layout/layered.h"

#include <math.h>
#include <string.h>

typedef struct placer {
    const ranked *r;
    const int32_t *gap;    /* between neighbours, per vertex */
    uint8_t *conflict;     /* per line, by its place in r->up */
    uint32_t *down_line;   /* per place in r->down: its place in r->up */
    uint32_t *root, *next; /* of the block; the next vertex, round and round */
    uint32_t *left, *queue, *out_first, *out;
    double *x[4], *block;
} placer;

/* One of the four ways: layers downwards or upwards, packed left or right. */
typedef struct direction {
    bool down, left;
} direction;

static bool is_dummy(const ranked *r, uint32_t v)
{
    return v >= r->n_nodes;
}

/* Pairs the two lists of lines: the k-th line of a vertex downwards is known
 * upwards by its place in r->up. Lists are in the order of layers. */
static void match_lines(const placer *p)
{
    const ranked *r = p->r;
    for (uint32_t v = 0; v < r->n; v++)
        p->left[v] = r->down_first[v];
    for (uint32_t k = 0; k < r->n; k++) {
        uint32_t v = r->at[k];
        for (uint32_t u = r->up_first[v]; u < r->up_first[v + 1]; u++)
            p->down_line[p->left[r->up[u]]++] = u;
    }
}

/* Marks lines that cross a line between two dummies: long edges win. */
static void mark_conflicts(const placer *p, uint32_t layer)
{
    const ranked *r = p->r;
    uint32_t from = r->first[layer], to = r->first[layer + 1], done = from;
    uint32_t low = 0, wide = r->first[layer] - r->first[layer - 1];
    for (uint32_t k = from; k < to; k++) {
        uint32_t v = r->at[k], high = CLV_NONE;
        for (uint32_t u = r->up_first[v]; u < r->up_first[v + 1]; u++)
            if (is_dummy(r, v) && is_dummy(r, r->up[u]))
                high = r->pos[r->up[u]];
        if (high == CLV_NONE && k + 1 < to)
            continue;
        if (high == CLV_NONE)
            high = wide - 1;
        for (; done <= k; done++) {
            uint32_t w = r->at[done];
            for (uint32_t u = r->up_first[w]; u < r->up_first[w + 1]; u++) {
                uint32_t at = r->pos[r->up[u]];
                bool inner = is_dummy(r, w) && is_dummy(r, r->up[u]);
                if ((at < low || at > high) && !inner)
                    p->conflict[u] = 1;
            }
        }
        low = high;
    }
}

static uint32_t seen_pos(const ranked *r, direction d, uint32_t v)
{
    uint32_t layer = r->rank[v];
    uint32_t wide = r->first[layer + 1] - r->first[layer];
    return d.left ? r->pos[v] : wide - 1 - r->pos[v];
}

/* Aligns v with one of its two median neighbours right of *limit. */
static void align_vertex(const placer *p, direction d, uint32_t v,
                         int64_t *limit)
{
    const ranked *r = p->r;
    const uint32_t *first = d.down ? r->up_first : r->down_first;
    const uint32_t *list = d.down ? r->up : r->down;
    uint32_t n = first[v + 1] - first[v];
    if (n == 0)
        return;
    for (uint32_t m = (n - 1) / 2; m <= n / 2; m++) {
        uint32_t k = first[v] + (d.left ? m : n - 1 - m), w = list[k];
        uint32_t line = d.down ? k : p->down_line[k];
        int64_t at = seen_pos(r, d, w);
        if (p->next[v] != v || p->conflict[line] || at <= *limit)
            continue;
        p->next[w] = v;
        p->root[v] = p->root[w];
        p->next[v] = p->root[v];
        *limit = at;
    }
}

static void align_all(const placer *p, direction d)
{
    const ranked *r = p->r;
    for (uint32_t v = 0; v < r->n; v++)
        p->root[v] = p->next[v] = v;
    for (uint32_t i = 1; i < r->n_ranks; i++) {
        uint32_t layer = d.down ? i : r->n_ranks - 1 - i;
        uint32_t wide = r->first[layer + 1] - r->first[layer];
        int64_t limit = -1;
        for (uint32_t k = 0; k < wide; k++)
            align_vertex(p, d,
                         r->at[r->first[layer] + (d.left ? k : wide - 1 - k)],
                         &limit);
    }
}

/* Between the middles of neighbours a and b. */
static double least_apart(const placer *p, uint32_t a, uint32_t b)
{
    const ranked *r = p->r;
    return (r->width[a] + r->width[b]) / 2.0 + (p->gap[a] + p->gap[b]) / 2.0;
}

/* The vertex next to v on the side it is packed to, or CLV_NONE. */
static uint32_t vertex_beside(const ranked *r, direction d, uint32_t v)
{
    uint32_t layer = r->rank[v], i = r->first[layer] + r->pos[v];
    if (d.left)
        return r->pos[v] ? r->at[i - 1] : CLV_NONE;
    return i + 1 < r->first[layer + 1] ? r->at[i + 1] : CLV_NONE;
}

/* Lists, per block, the vertices whose block must lie beyond it. */
static void block_lists(const placer *p, direction d)
{
    const ranked *r = p->r;
    memset(p->out_first, 0, ((size_t)r->n + 2) * sizeof *p->out_first);
    memset(p->left, 0, ((size_t)r->n + 1) * sizeof *p->left);
    for (uint32_t v = 0; v < r->n; v++) {
        uint32_t w = vertex_beside(r, d, v);
        if (w == CLV_NONE)
            continue;
        p->out_first[p->root[w] + 2]++;
        p->left[p->root[v]]++;
    }
    for (uint32_t v = 1; v <= r->n; v++)
        p->out_first[v + 1] += p->out_first[v];
    for (uint32_t v = 0; v < r->n; v++) {
        uint32_t w = vertex_beside(r, d, v);
        if (w != CLV_NONE)
            p->out[p->out_first[p->root[w] + 1]++] = v;
    }
}

/* Packs the blocks: each as near to the side as those before it let it; then,
 * from the far end back, each as far from it as those behind it let it. */
static void pack_blocks(const placer *p, direction d, double *x)
{
    const ranked *r = p->r;
    uint32_t head = 0, tail = 0;
    block_lists(p, d);
    for (uint32_t v = 0; v < r->n; v++) {
        p->block[v] = 0;
        if (p->root[v] == v && p->left[v] == 0)
            p->queue[tail++] = v;
    }
    while (head < tail) {
        uint32_t b = p->queue[head++];
        for (uint32_t k = p->out_first[b]; k < p->out_first[b + 1]; k++) {
            uint32_t v = p->out[k], to = p->root[v];
            double at = p->block[b] + least_apart(p, vertex_beside(r, d, v), v);
            p->block[to] = at > p->block[to] ? at : p->block[to];
            if (--p->left[to] == 0)
                p->queue[tail++] = to;
        }
    }
    while (tail-- > 0) {
        uint32_t b = p->queue[tail];
        double least = INFINITY;
        for (uint32_t k = p->out_first[b]; k < p->out_first[b + 1]; k++) {
            uint32_t v = p->out[k];
            double at = p->block[p->root[v]] -
                        least_apart(p, vertex_beside(r, d, v), v);
            least = at < least ? at : least;
        }
        if (least < INFINITY && least > p->block[b])
            p->block[b] = least;
    }
    for (uint32_t v = 0; v < r->n; v++)
        x[v] = d.left ? p->block[p->root[v]] : -p->block[p->root[v]];
}

static void coords_extent(const ranked *r, const double *x, double *least,
                          double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (uint32_t v = 0; v < r->n; v++) {
        double half = r->width[v] / 2.0;
        *least = x[v] - half < *least ? x[v] - half : *least;
        *most = x[v] + half > *most ? x[v] + half : *most;
    }
}

/* Moves the four onto the narrowest: left ones by their left end. */
static void line_up(const placer *p)
{
    double least[4], most[4];
    int narrow = 0;
    for (int i = 0; i < 4; i++) {
        coords_extent(p->r, p->x[i], &least[i], &most[i]);
        if (most[i] - least[i] < most[narrow] - least[narrow])
            narrow = i;
    }
    for (int i = 0; i < 4; i++) {
        double by =
            i % 2 == 0 ? least[narrow] - least[i] : most[narrow] - most[i];
        for (uint32_t v = 0; v < p->r->n; v++)
            p->x[i][v] += by;
    }
}

static double middle_of(double a, double b, double c, double d)
{
    double lo = a < b ? a : b, hi = a < b ? b : a;
    double low = c < d ? c : d, high = c < d ? d : c;
    double least = lo < low ? lo : low, most = hi > high ? hi : high;
    return (a + b + c + d - least - most) / 2;
}

static bool placer_alloc(arena *a, const ranked *r, placer *p)
{
    size_t n = (size_t)r->n + 2, lines = (size_t)r->up_first[r->n] + 1;
    p->conflict = arena_zalloc(a, lines);
    p->down_line = arena_array(a, lines, sizeof *p->down_line);
    p->root = arena_array(a, n, sizeof *p->root);
    p->next = arena_array(a, n, sizeof *p->next);
    p->left = arena_array(a, n, sizeof *p->left);
    p->queue = arena_array(a, n, sizeof *p->queue);
    p->out_first = arena_array(a, n, sizeof *p->out_first);
    p->out = arena_array(a, n, sizeof *p->out);
    p->block = arena_array(a, n, sizeof *p->block);
    for (int i = 0; i < 4; i++)
        p->x[i] = arena_array(a, n, sizeof *p->x[i]);
    return p->conflict && p->down_line && p->root && p->next && p->left &&
           p->queue && p->out_first && p->out && p->block && p->x[0] &&
           p->x[1] && p->x[2] && p->x[3];
}

double *clv__ranked_place(arena *a, const ranked *r, const int32_t *gap)
{
    placer p = {.r = r, .gap = gap};
    if (!placer_alloc(a, r, &p))
        return NULL;
    match_lines(&p);
    for (uint32_t i = 1; i < r->n_ranks; i++)
        mark_conflicts(&p, i);
    for (int i = 0; i < 4; i++) {
        direction d = {i < 2, i % 2 == 0};
        align_all(&p, d);
        pack_blocks(&p, d, p.x[i]);
    }
    line_up(&p);
    for (uint32_t v = 0; v < r->n; v++)
        p.block[v] = middle_of(p.x[0][v], p.x[1][v], p.x[2][v], p.x[3][v]);
    double least, most;
    coords_extent(r, p.block, &least, &most);
    for (uint32_t v = 0; v < r->n; v++)
        p.block[v] -= least;
    return p.block;
}
