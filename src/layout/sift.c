/* sift.c - moves whole lines to where they cross least.
 *
 * Vertices that follow each other on one line are a block: a node, a chain of
 * dummies, or a row of nodes that each have one line above and one below. All
 * blocks stand in one order from left to right, and every layer has its
 * vertices in that order, so blocks are straight and two of them never cross
 * twice. Sifting (Bachmaier, Brandenburg, Brunner and Huebner, "A global
 * k-level crossing reduction algorithm", 2010) takes one block after the other
 * through all places of the order and leaves it at the best:
 *
 *      a  b          b  a       Swapping the neighbours a and b changes only
 *      |\ |          | /|       the lines above the lower of their tops, and
 *      | \|    =>    |/ |       those below the higher of their bottoms. So a
 *      c  d          d  c       place costs what the ends of two blocks cost.
 */
#include "layout/layered.h"

#include <string.h>

typedef struct sifter {
    ranked *r;
    uint32_t n;           /* blocks */
    uint32_t *of;         /* block of a vertex */
    uint32_t *first, *at; /* vertices of a block, from its top down */
    uint32_t *order;      /* blocks from left to right */
    uint32_t *place;      /* of a block in that order */
    uint32_t *scratch, *waits;
    int64_t work; /* pairs of lines that may still be compared */
} sifter;

static uint32_t sift_top(const sifter *s, uint32_t b)
{
    return s->r->rank[s->at[s->first[b]]];
}

static uint32_t sift_bottom(const sifter *s, uint32_t b)
{
    return s->r->rank[s->at[s->first[b + 1] - 1]];
}

/* The vertex below v when both are on one line alone, or CLV_NONE. */
static uint32_t sift_below(const ranked *r, uint32_t v)
{
    if (r->down_first[v + 1] - r->down_first[v] != 1)
        return CLV_NONE;
    uint32_t d = r->down[r->down_first[v]];
    return r->up_first[d + 1] - r->up_first[d] == 1 ? d : CLV_NONE;
}

static void sift_find_blocks(sifter *s)
{
    const ranked *r = s->r;
    uint32_t at = 0;
    memset(s->of, 255, ((size_t)r->n + 1) * sizeof *s->of);
    for (uint32_t i = 0; i < r->n; i++) {
        if (s->of[r->at[i]] != CLV_NONE) /* at is by layers, from the top */
            continue;
        s->first[s->n] = at;
        for (uint32_t v = r->at[i]; v != CLV_NONE; v = sift_below(r, v)) {
            s->of[v] = s->n;
            s->at[at++] = v;
        }
        s->n++;
    }
    s->first[s->n] = at;
}

/* Puts a block at the end of the order, and on the stack, which has `top`
 * blocks, those on its right that waited for it alone. Returns the new top. */
static uint32_t sift_append(sifter *s, uint32_t b, uint32_t at, uint32_t top)
{
    const ranked *r = s->r;
    s->order[at] = b;
    s->place[b] = at;
    for (uint32_t k = s->first[b]; k < s->first[b + 1]; k++) {
        uint32_t v = s->at[k], i = r->first[r->rank[v]] + r->pos[v] + 1;
        if (i == r->first[r->rank[v] + 1])
            continue;
        uint32_t right = s->of[r->at[i]];
        if (--s->waits[right] == 0 && s->place[right] == CLV_NONE)
            s->scratch[top++] = right;
    }
    return top;
}

/* An order that agrees with those of the layers: a block comes when all its
 * neighbours on the left have come. Where lines cross each other to and fro
 * there is none, and the first block that waits takes its turn. */
static void sift_first_order(sifter *s)
{
    const ranked *r = s->r;
    uint32_t n = 0, next = 0, top = 0;
    memset(s->waits, 0, ((size_t)s->n + 1) * sizeof *s->waits);
    memset(s->place, 255, ((size_t)s->n + 1) * sizeof *s->place);
    for (uint32_t v = 0; v < r->n; v++)
        s->waits[s->of[v]] += r->pos[v] > 0;
    for (uint32_t b = s->n; b-- > 0;)
        if (s->waits[b] == 0)
            s->scratch[top++] = b;
    while (n < s->n) {
        uint32_t b = top ? s->scratch[--top] : next++;
        if (s->place[b] == CLV_NONE)
            top = sift_append(s, b, n++, top);
    }
}

/* Lines of one block at a layer, up or down. */
typedef struct sift_lines {
    const uint32_t *to;
    uint32_t n;
} sift_lines;

static sift_lines sift_lines_of(const sifter *s, uint32_t b, uint32_t layer,
                                bool up)
{
    const ranked *r = s->r;
    uint32_t v = s->at[s->first[b] + layer - sift_top(s, b)];
    const uint32_t *first = up ? r->up_first : r->down_first;
    return (sift_lines){(up ? r->up : r->down) + first[v],
                        first[v + 1] - first[v]};
}

/* Crossings between the lines of a and b when a is left of b, less those when
 * it is right. */
static int64_t sift_gain(sifter *s, sift_lines a, sift_lines b)
{
    int64_t gain = 0;
    for (uint32_t i = 0; i < a.n; i++)
        for (uint32_t k = 0; k < b.n; k++) {
            uint32_t x = s->place[s->of[a.to[i]]], y = s->place[s->of[b.to[k]]];
            gain += (y < x) - (x < y);
        }
    s->work -= (int64_t)a.n * b.n;
    return gain;
}

/* What swapping neighbours saves, a being left of b. */
static int64_t sift_swap(sifter *s, uint32_t a, uint32_t b)
{
    uint32_t top = sift_top(s, a), bottom = sift_bottom(s, a);
    uint32_t top_b = sift_top(s, b), bottom_b = sift_bottom(s, b);
    top = top_b > top ? top_b : top;
    bottom = bottom_b < bottom ? bottom_b : bottom;
    s->work--;
    if (top > bottom)
        return 0;
    return sift_gain(s, sift_lines_of(s, a, top, true),
                     sift_lines_of(s, b, top, true)) +
           sift_gain(s, sift_lines_of(s, a, bottom, false),
                     sift_lines_of(s, b, bottom, false));
}

static void sift_move(sifter *s, uint32_t b, uint32_t to)
{
    uint32_t from = s->place[b];
    for (; from < to; from++)
        s->order[from] = s->order[from + 1], s->place[s->order[from]] = from;
    for (; from > to; from--)
        s->order[from] = s->order[from - 1], s->place[s->order[from]] = from;
    s->order[to] = b;
    s->place[b] = to;
}

/* Moves one block to its best place; returns the crossings saved. */
static int64_t sift_block(sifter *s, uint32_t b)
{
    uint32_t from = s->place[b], to = from;
    int64_t best = 0, now = 0;
    for (uint32_t i = from + 1; i < s->n; i++)
        if ((now += sift_swap(s, b, s->order[i])) > best) {
            best = now;
            to = i;
        }
    now = 0;
    for (uint32_t i = from; i-- > 0;)
        if ((now += sift_swap(s, s->order[i], b)) > best) {
            best = now;
            to = i;
        }
    sift_move(s, b, to);
    return best;
}

/* Orders every layer as the blocks are. */
static void sift_take(const sifter *s)
{
    ranked *r = s->r;
    memcpy(s->scratch, r->first, r->n_ranks * sizeof *s->scratch);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t b = s->order[i];
        for (uint32_t k = s->first[b]; k < s->first[b + 1]; k++)
            r->at[s->scratch[r->rank[s->at[k]]]++] = s->at[k];
    }
}

bool clv__ranked_sift(arena *a, ranked *r, int64_t *work)
{
    arena_mark mark = arena_save(a);
    size_t n = (size_t)r->n + r->n_ranks + 2;
    sifter s = {r,
                0,
                arena_array(a, n, sizeof *s.of),
                arena_array(a, n, sizeof *s.first),
                arena_array(a, n, sizeof *s.at),
                arena_array(a, n, sizeof *s.order),
                arena_array(a, n, sizeof *s.place),
                arena_array(a, n, sizeof *s.scratch),
                arena_array(a, n, sizeof *s.waits),
                *work};
    bool ok =
        s.of && s.first && s.at && s.order && s.place && s.scratch && s.waits;
    if (ok) {
        sift_find_blocks(&s);
        sift_first_order(&s);
        for (int64_t saved = 1; saved > 0 && s.work > 0;) {
            saved = 0;
            for (uint32_t b = 0; b < s.n && s.work > 0; b++)
                saved += sift_block(&s, b);
        }
        sift_take(&s);
        *work = s.work;
    }
    arena_rewind(a, mark);
    return ok;
}
