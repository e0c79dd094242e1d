/* boxes.c - non-maximum suppression: boxes in order of score, each kept unless
 * it overlaps one kept before. The result shrinks to what was kept. */
#include "backend/kernel.h"

#include <math.h>
#include <stdlib.h>

typedef struct box {
    double score, x1, y1, x2, y2;
    int64_t place;
} box;

typedef struct limits {
    int64_t most; /* boxes kept of one class */
    double overlap, score;
    bool scored; /* a least score is given */
} limits;

static int by_score(const void *a, const void *b)
{
    const box *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static double overlap_of(const box *a, const box *b)
{
    double w = fmin(a->x2, b->x2) - fmax(a->x1, b->x1);
    double h = fmin(a->y2, b->y2) - fmax(a->y1, b->y1);
    double both = w > 0 && h > 0 ? w * h : 0;
    double all = (a->x2 - a->x1) * (a->y2 - a->y1) +
                 (b->x2 - b->x1) * (b->y2 - b->y1) - both;
    return all > 0 ? both / all : 0;
}

/* Corners in any order, or a centre with width and height. */
static box box_at(const kernel *k, int64_t at)
{
    const clv_tensor *t = k->in[0];
    double a = get_f(t, at), b = get_f(t, at + 1), c = get_f(t, at + 2),
           d = get_f(t, at + 3);
    if (attr_is(k->n, CLV_A_BOXES, "center"))
        return (box){
            .x1 = a - c / 2, .y1 = b - d / 2, .x2 = a + c / 2, .y2 = b + d / 2};
    return (box){
        .x1 = fmin(a, c), .y1 = fmin(b, d), .x2 = fmax(a, c), .y2 = fmax(b, d)};
}

/* Keeps boxes[0..n) to the front; returns how many. */
static int64_t nms_suppress(box *boxes, int64_t n, const limits *l)
{
    int64_t kept = 0;
    qsort(boxes, (size_t)n, sizeof *boxes, by_score);
    for (int64_t i = 0; i < n && kept < l->most; i++) {
        bool keep = !l->scored || boxes[i].score > l->score;
        for (int64_t j = 0; keep && j < kept; j++)
            keep = !(overlap_of(&boxes[i], &boxes[j]) > l->overlap);
        if (keep)
            boxes[kept++] = boxes[i];
    }
    return kept;
}

static limits limits_of(const kernel *k, int64_t n, bool classes)
{
    bool told = attr_get(k->n, CLV_A_MAX) || input_of(k, 2);
    double most = told ? number_of(k, CLV_A_MAX, 2) : classes ? 0 : (double)n;
    limits l = {.most = most > (double)n ? n
                        : most > 0       ? (int64_t)most
                                         : 0,
                .scored = input_of(k, 4) != NULL};
    l.overlap = number_of(k, CLV_A_IOU_THRESHOLD, 3);
    l.score = l.scored && numel(k->in[4]) ? get_f(k->in[4], 0) : 0;
    return l;
}

/* boxes (B,N,4), scores (B,C,N) -> rows of image, class, box; or boxes (N,4),
 * scores (N) -> their numbers. */
clv_status kernel_nms(kernel *k)
{
    const clv_tensor *t = k->in[0], *scores = k->in[1];
    clv_tensor *y = &k->out[0];
    bool classes = t->rank == 3;
    int64_t n = t->dims[t->rank - 2], found = 0;
    int64_t count = classes ? scores->dims[1] : 1;
    int64_t images = classes ? t->dims[0] : 1;
    limits l = limits_of(k, n, classes);
    box *boxes = arena_array(k->scratch, (size_t)n + 1, sizeof *boxes);
    if (!boxes)
        return clv__nomem(k->e);
    for (int64_t set = 0; set < images * count; set++) {
        for (int64_t i = 0; i < n; i++) {
            boxes[i] = box_at(k, (set / count * n + i) * 4);
            boxes[i].score = get_f(scores, set * n + i);
            boxes[i].place = i;
        }
        int64_t kept = nms_suppress(boxes, n, &l);
        for (int64_t i = 0; i < kept; i++, found++) {
            int64_t row[3] = {set / count, set % count, boxes[i].place};
            for (int c = 0; classes && c < 3; c++)
                put_i(y, found * 3 + c, row[c]);
            if (!classes)
                put_i(y, found, boxes[i].place);
        }
    }
    y->dims[0] = found;
    return CLV_OK;
}
