/* rtdetr.c - the transformer of RT-DETR: an encoder layer over one map, and the
 * decoder that is the network's head.
 *
 *   maps --input_proj--> tokens --enc_output--> scores: the best are queries
 *   queries --layers--> attend to each other, then to a few points of the maps
 *   each layer moves the queries' boxes; the last one scores them
 *
 * Centres of cells and the encoding of places depend on the sizes alone and are
 * constants here. Weights that only training reads belong to the model and are
 * counted as unused. */
#include "formats/checkpoint/heads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- words ----------------------------------------------------------------*/

static m_val detr_list(module_walk *w, const m_val *list, uint32_t n)
{
    uint32_t *all = arena_array(&w->mem, n, sizeof *all);
    if (!all)
        return m_fail(w, clv__nomem(w->e));
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].v == CLV_NONE)
            return m_none();
        all[i] = list[i].v;
    }
    return (m_val){.v = all[0], .more = all, .n = n};
}

static m_val detr_clamp(module_walk *w, m_val x, double low)
{
    aten_arg args[2] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_FLOAT, 0, {.f = low}}};
    return m_fn(w, "clamp_min", args, 2);
}

/* sum or max over one axis. */
static m_val detr_over(module_walk *w, const char *fn, m_val x, int64_t axis)
{
    aten_arg args[2] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_INT, 0, {.i = axis}}};
    return m_at(m_fn(w, fn, args, 2), 0);
}

/* Rows idx (B, k) of x (B, n, c) or (1, n, c): (B, k, c). */
static m_val detr_rows(module_walk *w, m_val x, m_val idx)
{
    int64_t b = m_dim(w, idx, 0), k = m_dim(w, idx, 1), c = m_dim(w, x, 2);
    m_val at = m_view(w, idx, (int64_t[]){b, k, 1}, 3);
    x = m_expand(w, x, (int64_t[]){b, m_dim(w, x, 1), c}, 3);
    at = m_expand(w, at, (int64_t[]){b, k, c}, 3);
    aten_arg args[3] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_INT, 0, {.i = 1}},
                        {ATEN_TENSOR, 0, {.value = at.v}}};
    return m_fn(w, "gather", args, 3);
}

/* log(x / (1 - x)), with both kept away from 0. */
static m_val detr_logit(module_walk *w, m_val x)
{
    const double least = 1e-5;
    aten_arg args[3] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_FLOAT, 0, {.f = 0}},
                        {ATEN_FLOAT, 0, {.f = 1}}};
    x = m_fn(w, "clamp", args, 3);
    m_val rest = detr_clamp(w, m_scale(w, "rsub", x, 1), least);
    m_val share = m_binary(w, "div", detr_clamp(w, x, least), rest);
    return m_unary(w, "log", share);
}

static m_val detr_run_or(module_walk *w, const pickle_node *m, const char *name,
                         m_val x)
{
    return m_child(m, name) ? m_run(w, m, name, x) : x;
}

/* Child i of list `name` of m. */
static m_val detr_run_at(module_walk *w, const pickle_node *m, const char *name,
                         uint32_t i, m_val x)
{
    uint32_t n;
    char path[96];
    pickle_node *const *list = m_children(m_child(m, name), &n);
    if (i >= n)
        return m_fail(
            w, clv__fail(w->e, CLV_FORMAT, "%s: no '%s.%u'", w->path, name, i));
    snprintf(path, sizeof path, "%s.%u", name, i);
    return m_forward(w, list[2 * i + 1], path, x);
}

/* -- perceptrons and attention --------------------------------------------*/

m_val detr_mlp(module_walk *w, const pickle_node *m, m_val x)
{
    uint32_t n;
    m_val y = x;
    m_children(m_child(m, "layers"), &n);
    for (uint32_t i = 0; i < n; i++) {
        y = detr_run_at(w, m, "layers", i, y);
        if (i + 1 < n)
            y = m_child(m, "act") ? m_run(w, m, "act", y)
                                  : m_unary(w, "relu", y);
    }
    if (m_flag(m, "residual"))
        y = m_add(w, y, x);
    y = detr_run_or(w, m, "out_norm", y);
    return m_flag(m, "sigmoid") ? m_unary(w, "sigmoid", y) : y;
}

/* Sines and cosines of rows and columns for h x w tokens of c channels. */
static m_val detr_places(module_walk *w, int64_t h, int64_t cols, int64_t c)
{
    enum { MOST = 1 << 24 };
    int64_t n = sat_mul(h, cols), parts = c / 4;
    if (n < 1 || n > MOST || parts < 1 || c % 4)
        return m_fail(w, clv__fail(w->e, CLV_SHAPE,
                                   "%s: %lldx%lld places in %lld channels",
                                   w->path, (long long)h, (long long)cols,
                                   (long long)c));
    float *at = arena_array(&w->mem, 2 * (size_t)n, sizeof *at);
    float *omega = arena_array(&w->mem, (size_t)parts, sizeof *omega);
    if (!at || !omega)
        return m_fail(w, clv__nomem(w->e));
    for (int64_t i = 0; i < n; i++) {
        at[i] = (float)(i / cols);
        at[n + i] = (float)(i % cols);
    }
    for (int64_t i = 0; i < parts; i++)
        omega[i] = (float)(1 / pow(10000.0, (double)i / (double)parts));
    m_val scale = m_const(w, "omega", omega, (int64_t[]){1, parts}, 2);
    m_val y[4];
    for (int k = 0; k < 2; k++) {
        m_val grid = m_const(w, k ? "columns" : "rows", at + k * n,
                             (int64_t[]){n, 1}, 2);
        m_val turned = m_binary(w, "matmul", grid, scale);
        y[2 * k] = m_unary(w, "sin", turned);
        y[2 * k + 1] = m_unary(w, "cos", turned);
    }
    return m_view(w, m_cat(w, y, 4, 1), (int64_t[]){1, n, c}, 3);
}

/* The layer on tokens x (B, N, C) with their places: norms come after what they
 * norm, or before it. */
static m_val detr_encode(module_walk *w, const pickle_node *m, m_val x,
                         m_val places)
{
    bool before = m_flag(m, "normalize_before");
    m_val y = before ? m_run(w, m, "norm1", x) : x;
    m_val q = m_add(w, y, places);
    y = m_at(m_run(w, m, "ma", detr_list(w, (m_val[]){q, q, y}, 3)), 0);
    x = m_add(w, x, detr_run_or(w, m, "dropout1", y));
    x = before ? x : m_run(w, m, "norm1", x);
    y = before ? m_run(w, m, "norm2", x) : x;
    y = m_run(w, m, "act", m_run(w, m, "fc1", y));
    y = m_run(w, m, "fc2", detr_run_or(w, m, "dropout", y));
    x = m_add(w, x, detr_run_or(w, m, "dropout2", y));
    return before ? x : m_run(w, m, "norm2", x);
}

m_val detr_aifi(module_walk *w, const pickle_node *m, m_val x)
{
    int64_t b = m_dim(w, x, 0), c = m_dim(w, x, 1), h = m_dim(w, x, 2),
            cols = m_dim(w, x, 3);
    m_val places = detr_places(w, h, cols, c);
    x = m_view(w, x, (int64_t[]){b, c, sat_mul(h, cols)}, 3);
    x = detr_encode(w, m, m_permute(w, x, (int64_t[]){0, 2, 1}, 3), places);
    x = m_permute(w, x, (int64_t[]){0, 2, 1}, 3);
    return m_view(w, x, (int64_t[]){b, c, h, cols}, 4);
}

/* -- attention to points of maps ------------------------------------------*/

typedef struct detr_points {
    int64_t batch, queries, heads, head, levels, points;
} detr_points;

/* Samples every map at its points: values (B, N, C) and places (B, Q, heads,
 * levels * points, 2) between 0 and 1 to (B * heads, head, Q, points) each. */
static m_val detr_sample(module_walk *w, const detr_points *p, m_val values,
                         m_val places)
{
    int64_t sizes[MODULE_LEVELS], points[MODULE_LEVELS];
    int64_t all = sat_mul(p->batch, p->heads), n = 0;
    m_val y[MODULE_LEVELS];
    for (uint32_t i = 0; i < w->n_levels; i++) {
        sizes[i] = sat_mul(w->levels[i][0], w->levels[i][1]);
        points[i] = p->points;
        n = sat_add(n, sizes[i]);
    }
    values = m_view(w, values, (int64_t[]){p->batch, n, p->heads, p->head}, 4);
    values = m_permute(w, values, (int64_t[]){0, 2, 3, 1}, 4);
    values = m_view(w, values, (int64_t[]){all, p->head, n}, 3);
    values = m_split(w, values, sizes, w->n_levels, 2);
    places = m_scale(w, "sub", m_scale(w, "mul", places, 2), 1);
    places = m_permute(w, places, (int64_t[]){0, 2, 1, 3, 4}, 5);
    places = m_view(w, places,
                    (int64_t[]){all, p->queries, p->levels * p->points, 2}, 4);
    places = m_split(w, places, points, w->n_levels, 2);
    for (uint32_t i = 0; i < w->n_levels; i++) {
        m_val map = m_view(
            w, m_at(values, i),
            (int64_t[]){all, p->head, w->levels[i][0], w->levels[i][1]}, 4);
        aten_arg args[5] = {{ATEN_TENSOR, 0, {.value = map.v}},
                            {ATEN_TENSOR, 0, {.value = m_at(places, i).v}},
                            {ATEN_STRING, 0, {.s = "bilinear"}},
                            {ATEN_STRING, 0, {.s = "zeros"}},
                            {ATEN_BOOL, 0, {.b = false}}};
        y[i] = m_fn(w, "grid_sample", args, 5);
    }
    return m_cat(w, y, w->n_levels, 3);
}

/* x: queries (B, Q, C), their boxes (B, Q, 4), tokens of all maps (B, N, C). */
m_val detr_deform(module_walk *w, const pickle_node *m, m_val x)
{
    enum { MOST = 4096 };
    m_val q = m_at(x, 0), boxes = m_at(x, 1);
    detr_points p = {.batch = m_dim(w, q, 0),
                     .queries = m_dim(w, q, 1),
                     .heads = m_int(m, "n_heads", 8),
                     .levels = m_int(m, "n_levels", 4),
                     .points = m_int(m, "n_points", 4)};
    if (p.heads < 1 || p.heads > MOST || p.points < 1 || p.points > MOST ||
        p.levels != w->n_levels)
        return m_fail(w, clv__fail(w->e, CLV_FORMAT,
                                   "%s: %lld heads, %lld levels, %lld points",
                                   w->path, (long long)p.heads,
                                   (long long)p.levels, (long long)p.points));
    int64_t total = p.levels * p.points;
    m_val values = m_run(w, m, "value_proj", m_at(x, 2));
    p.head = m_dim(w, values, 2) / p.heads;
    m_val off = m_view(w, m_run(w, m, "sampling_offsets", q),
                       (int64_t[]){p.batch, p.queries, p.heads, total, 2}, 5);
    m_val share = m_view(w, m_run(w, m, "attention_weights", q),
                         (int64_t[]){p.batch, p.queries, p.heads, total}, 4);
    share = m_softmax(w, share, -1);
    boxes = m_view(w, boxes, (int64_t[]){p.batch, p.queries, 1, 1, 4}, 5);
    off = m_scale(w, "div", off, (double)p.points);
    off = m_binary(w, "mul", off, m_slice(w, boxes, 4, 2, 4, 1));
    m_val at =
        m_add(w, m_slice(w, boxes, 4, 0, 2, 1), m_scale(w, "mul", off, 0.5));
    m_val y = detr_sample(w, &p, values, at);
    share = m_permute(w, share, (int64_t[]){0, 2, 1, 3}, 4);
    share =
        m_view(w, share,
               (int64_t[]){sat_mul(p.batch, p.heads), 1, p.queries, total}, 4);
    y = detr_over(w, "sum", m_binary(w, "mul", y, share), -1);
    y = m_view(w, y, (int64_t[]){p.batch, sat_mul(p.heads, p.head), p.queries},
               3);
    return m_run(w, m, "output_proj", m_transpose(w, y, 1, 2));
}

/* x: queries, boxes, tokens, places of the queries. */
m_val detr_layer(module_walk *w, const pickle_node *m, m_val x)
{
    m_val q = m_at(x, 0), places = m_at(x, 3);
    m_val k = m_transpose(w, m_add(w, q, places), 0, 1);
    m_val y = detr_list(w, (m_val[]){k, k, m_transpose(w, q, 0, 1)}, 3);
    y = m_transpose(w, m_at(m_run(w, m, "self_attn", y), 0), 0, 1);
    q = m_run(w, m, "norm1", m_add(w, q, detr_run_or(w, m, "dropout1", y)));
    m_val to[3] = {m_add(w, q, places), m_at(x, 1), m_at(x, 2)};
    y = m_run(w, m, "cross_attn", detr_list(w, to, 3));
    q = m_run(w, m, "norm2", m_add(w, q, detr_run_or(w, m, "dropout2", y)));
    y = m_run(w, m, "act", m_run(w, m, "linear1", q));
    y = m_run(w, m, "linear2", detr_run_or(w, m, "dropout3", y));
    return m_run(w, m, "norm3", m_add(w, q, detr_run_or(w, m, "dropout4", y)));
}

/* -- the head -------------------------------------------------------------*/

/* Maps become tokens (B, N, C); their sizes go to w->levels. */
static m_val detr_tokens(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[MODULE_LEVELS];
    w->n_levels = x.n < MODULE_LEVELS ? x.n : MODULE_LEVELS;
    for (uint32_t i = 0; i < w->n_levels; i++) {
        m_val map = detr_run_at(w, m, "input_proj", i, m_at(x, i));
        w->levels[i][0] = m_dim(w, map, 2);
        w->levels[i][1] = m_dim(w, map, 3);
        int64_t n = sat_mul(w->levels[i][0], w->levels[i][1]);
        map = m_view(w, map, (int64_t[]){m_dim(w, map, 0), m_dim(w, map, 1), n},
                     3);
        y[i] = m_permute(w, map, (int64_t[]){0, 2, 1}, 3);
    }
    return m_cat(w, y, w->n_levels, 1);
}

/* Boxes of all cells as logits, and 1 where they lie within the image. */
static bool detr_anchors(module_walk *w, int64_t n, m_val *anchors,
                         m_val *valid)
{
    enum { MOST = 1 << 24 };
    const double edge = 1e-2;
    size_t k = 0, count = n > 0 && n < MOST ? (size_t)n : 0;
    float *box = arena_array(&w->mem, 5 * count + 1, sizeof *box);
    if (!box || !count) {
        m_fail(w, box ? clv__fail(w->e, CLV_SHAPE, "%s: %lld cells", w->path,
                                  (long long)n)
                      : clv__nomem(w->e));
        return false;
    }
    for (uint32_t l = 0; l < w->n_levels; l++)
        for (int64_t i = 0; i < w->levels[l][0] * w->levels[l][1]; i++, k++) {
            int64_t cols = w->levels[l][1];
            double side = 0.05 * (double)(1 << l);
            double at[4] = {((double)(i % cols) + 0.5) / (double)cols,
                            ((double)(i / cols) + 0.5) /
                                (double)w->levels[l][0],
                            side, side};
            bool in = true;
            for (int j = 0; j < 4; j++)
                in = in && at[j] > edge && at[j] < 1 - edge;
            for (int j = 0; j < 4; j++)
                box[4 * k + (size_t)j] =
                    in ? (float)log(at[j] / (1 - at[j])) : (float)INFINITY;
            box[4 * count + k] = in;
        }
    *anchors = m_const(w, "anchors", box, (int64_t[]){1, n, 4}, 3);
    *valid = m_const(w, "valid", box + 4 * count, (int64_t[]){1, n, 1}, 3);
    return true;
}

/* The best predictions: box, score, class. boxes (B, Q, 4), scores
 * (B, Q, classes). */
static m_val detr_best(module_walk *w, m_val boxes, m_val scores, int64_t most)
{
    int64_t b = m_dim(w, scores, 0), classes = m_dim(w, scores, 2);
    int64_t all = sat_mul(m_dim(w, scores, 1), classes);
    int64_t k = most < all ? most : all;
    m_val flat = m_view(w, scores, (int64_t[]){b, all}, 2);
    m_val top = m_topk(w, flat, k, 1), idx = m_at(top, 1);
    aten_arg args[2] = {{ATEN_TENSOR, 0, {.value = idx.v}},
                        {ATEN_INT, 0, {.i = classes}}};
    m_val query = m_fn(w, "floor_divide", args, 2);
    m_val cls = m_fn(w, "remainder", args, 2);
    const int64_t dims[3] = {b, k, 1};
    m_val y[3] = {detr_rows(w, boxes, query), m_view(w, m_at(top, 0), dims, 3),
                  m_view(w, m_float(w, cls), dims, 3)};
    return m_cat(w, y, 3, 2);
}

/* Modules of list `name` that evaluation does not run. */
static void detr_unused_but(module_walk *w, const pickle_node *list,
                            const char *name, uint32_t from, uint32_t to)
{
    uint32_t n;
    char path[64];
    pickle_node *const *all = m_children(list, &n);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s.%u", name, i);
        if (i < from || i >= to)
            m_unused(w, all[2 * i + 1], path);
    }
}

m_val detr_head(module_walk *w, const pickle_node *m, m_val x)
{
    const pickle_node *decoder = m_child(m, "decoder");
    uint32_t layers;
    m_children(m_child(decoder, "layers"), &layers);
    int64_t last = m_int(decoder, "eval_idx", (int64_t)layers - 1);
    last = last < 0 ? last + layers : last;
    m_val anchors, valid, tokens = detr_tokens(w, m, x);
    int64_t n = m_dim(w, tokens, 1), k = m_int(m, "num_queries", 300);
    if (last < 0 || last >= layers || k < 1)
        return m_fail(
            w, clv__fail(w->e, CLV_FORMAT, "%s: layer %lld of %u, %lld queries",
                         w->path, (long long)last, layers, (long long)k));
    if (!detr_anchors(w, n, &anchors, &valid))
        return m_none();
    m_val found = m_run(w, m, "enc_output", m_binary(w, "mul", valid, tokens));
    m_val scores = m_run(w, m, "enc_score_head", found);
    m_val top = m_topk(w, detr_over(w, "amax", scores, -1), k < n ? k : n, 1);
    m_val q = detr_rows(w, found, m_at(top, 1));
    m_val boxes = m_add(w, m_run(w, m, "enc_bbox_head", q),
                        detr_rows(w, anchors, m_at(top, 1)));
    if (m_flag(m, "learnt_init_query"))
        q = m_fail(w, clv__fail(w->e, CLV_UNSUPPORTED,
                                "%s: queries that are learned", w->path));
    boxes = m_unary(w, "sigmoid", boxes);
    for (uint32_t i = 0; i <= (uint32_t)last; i++) {
        m_val to[4] = {q, boxes, tokens, m_run(w, m, "query_pos_head", boxes)};
        char path[32];
        snprintf(path, sizeof path, "decoder.layers.%u", i);
        pickle_node *const *all =
            m_children(m_child(decoder, "layers"), &layers);
        q = m_forward(w, all[2 * i + 1], path, detr_list(w, to, 4));
        m_val by = detr_run_at(w, m, "dec_bbox_head", i, q);
        boxes = m_unary(w, "sigmoid", m_add(w, by, detr_logit(w, boxes)));
    }
    scores = detr_run_at(w, m, "dec_score_head", (uint32_t)last, q);
    uint32_t end = (uint32_t)last + 1;
    detr_unused_but(w, m_child(decoder, "layers"), "decoder.layers", 0, end);
    detr_unused_but(w, m_child(m, "dec_bbox_head"), "dec_bbox_head", 0, end);
    detr_unused_but(w, m_child(m, "dec_score_head"), "dec_score_head", end - 1,
                    end);
    m_unused(w, m_child(m, "denoising_class_embed"), "denoising_class_embed");
    return detr_best(w, boxes, m_unary(w, "sigmoid", scores), k);
}
