/* heads.c - the heads of YOLO networks: boxes, classes, and what a task adds.
 *
 *   x[i]  --cv2[i]--> 4*bins sides of boxes   --\
 *         --cv3[i]--> scores of classes          > joined over all levels
 *         --cv4[i]--> masks, points or an angle -/   (26: --cv4_kpts[i]--)
 *
 * Sides come as distributions over bins, whose mean a fixed convolution takes
 * (dfl); boxes are distances from the centres of cells, which depend on the
 * sizes alone and are constants here. What a network returns is the joined
 * predictions, for masks the prototypes too. The choice of the best predictions
 * that end-to-end heads make at the very end is left out. */
#include "formats/checkpoint/heads.h"

#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_LEVELS = 8 };

static const double head_pi = 3.14159265358979323846;

typedef struct head {
    module_walk *w;
    const pickle_node *m;
    m_val levels[HEAD_LEVELS];
    uint32_t n;
    int64_t batch, cells;
    m_val anchors, strides; /* (1, 2, cells), (1, cells) */
} head;

/* -- cells ----------------------------------------------------------------*/

/* Pixels between two cells of level i: as the file says, or by the sizes. */
static double head_stride(const head *h, uint32_t i)
{
    torch_tensor t;
    int64_t rows = m_dim(h->w, h->levels[i], 2), list[HEAD_LEVELS];
    double by_size = rows ? (double)h->w->side[0] / (double)rows : 1;
    const pickle_node *said = m_member(h->m, "stride");
    if (pickle_ints(said, list, HEAD_LEVELS) > (int)i)
        return (double)list[i];
    if (!pickle_tensor(h->w->file, said, &t) || t.rank != 1 ||
        t.dims[0] <= (int64_t)i || !t.bytes || t.offset ||
        clv_dtype_bytes(t.dtype, t.dims[0]) > (int64_t)t.size)
        return by_size;
    clv_tensor all = {.dtype = t.dtype,
                      .rank = 1,
                      .dims = {t.dims[0]},
                      .data = (void *)(uintptr_t)t.bytes};
    double told = get_f(&all, i);
    return told > 0 ? told : by_size;
}

/* Centres and strides of all cells, level by level, row by row. */
static void head_cells(head *h)
{
    enum { MOST = 1 << 24 };
    module_walk *w = h->w;
    h->cells = 0;
    for (uint32_t i = 0; i < h->n; i++)
        h->cells = sat_add(h->cells, sat_mul(m_dim(w, h->levels[i], 2),
                                             m_dim(w, h->levels[i], 3)));
    size_t n = h->cells > 0 && h->cells < MOST ? (size_t)h->cells : 0;
    float *at = arena_array(&w->mem, 3 * n + 1, sizeof *at);
    if (!at || !n) {
        m_fail(w, at ? clv__fail(w->e, CLV_SHAPE, "%s: the head has %lld cells",
                                 w->path, (long long)h->cells)
                     : clv__nomem(w->e));
        return;
    }
    size_t k = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        int64_t rows = m_dim(w, h->levels[i], 2),
                cols = m_dim(w, h->levels[i], 3);
        float stride = (float)head_stride(h, i);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++, k++) {
                at[k] = (float)c + 0.5f;
                at[n + k] = (float)r + 0.5f;
                at[2 * n + k] = stride;
            }
    }
    h->anchors = m_const(w, "anchors", at, (int64_t[]){1, 2, h->cells}, 3);
    h->strides = m_const(w, "strides", at + 2 * n, (int64_t[]){1, h->cells}, 2);
}

/* -- levels ---------------------------------------------------------------*/

/* What module i of list `name` of the head makes of x. */
static m_val head_part(head *h, const char *name, uint32_t i, m_val x)
{
    uint32_t n;
    char path[64];
    pickle_node *const *parts = m_children(m_child(h->m, name), &n);
    if (i >= n)
        return m_none();
    snprintf(path, sizeof path, "%s.%s", name, pickle_text(parts[2 * i], "?"));
    return m_forward(h->w, parts[2 * i + 1], path, x);
}

/* What list `name` of the head makes of every level, flat and joined. If the
 * head has a list `then`, that comes after it. */
static m_val head_branch(head *h, const char *name, const char *then)
{
    m_val flat[HEAD_LEVELS];
    uint32_t n;
    module_walk *w = h->w;
    m_children(m_child(h->m, name), &n);
    n = n < h->n ? n : h->n;
    for (uint32_t i = 0; i < n; i++) {
        m_val y = head_part(h, name, i, h->levels[i]);
        if (m_child(h->m, then))
            y = head_part(h, then, i, y);
        flat[i] = m_view(w, y, (int64_t[]){h->batch, m_dim(w, y, 1), -1}, 3);
    }
    return n ? m_cat(w, flat, n, 2) : m_none();
}

/* -- boxes ----------------------------------------------------------------*/

m_val head_dfl(module_walk *w, const pickle_node *m, m_val x)
{
    int64_t b = m_dim(w, x, 0), bins = m_int(m, "c1", 16), n = m_dim(w, x, 2);
    m_val y = m_view(w, x, (int64_t[]){b, 4, bins, n}, 4);
    y = m_softmax(w, m_transpose(w, y, 2, 1), 1);
    return m_view(w, m_run(w, m, "conv", y), (int64_t[]){b, 4, n}, 3);
}

/* Centre and size of boxes from the distances of their sides. */
static m_val head_boxes(head *h, m_val sides, bool corners)
{
    module_walk *w = h->w;
    m_val d = m_chunk(w, sides, 2, 1);
    m_val low = m_binary(w, "sub", h->anchors, m_at(d, 0));
    m_val high = m_add(w, h->anchors, m_at(d, 1));
    m_val y[2] = {low, high};
    if (!corners) {
        y[0] = m_scale(w, "div", m_add(w, low, high), 2);
        y[1] = m_binary(w, "sub", high, low);
    }
    return m_cat(w, y, 2, 1);
}

/* The same for boxes that are turned by an angle. */
static m_val head_turned(head *h, m_val sides, m_val angle)
{
    module_walk *w = h->w;
    m_val d = m_chunk(w, sides, 2, 1);
    m_val off =
        m_scale(w, "div", m_binary(w, "sub", m_at(d, 1), m_at(d, 0)), 2);
    m_val xy = m_chunk(w, off, 2, 1);
    m_val c = m_unary(w, "cos", angle), s = m_unary(w, "sin", angle);
    m_val x = m_binary(w, "sub", m_binary(w, "mul", m_at(xy, 0), c),
                       m_binary(w, "mul", m_at(xy, 1), s));
    m_val y = m_add(w, m_binary(w, "mul", m_at(xy, 0), s),
                    m_binary(w, "mul", m_at(xy, 1), c));
    m_val centre = m_add(w, m_cat(w, (m_val[]){x, y}, 2, 1), h->anchors);
    m_val size = m_add(w, m_at(d, 0), m_at(d, 1));
    return m_cat(w, (m_val[]){centre, size}, 2, 1);
}

/* Points relative to cells become points of the image. */
static m_val head_points(head *h, m_val points)
{
    module_walk *w = h->w;
    int64_t shape[2] = {17, 3};
    pickle_ints(m_member(h->m, "kpt_shape"), shape, 2);
    int64_t all = sat_mul(shape[0], shape[1]);
    m_val y =
        m_view(w, points, (int64_t[]){h->batch, shape[0], shape[1], -1}, 4);
    m_val at = m_slice(w, y, 2, 0, 2, 1);
    if (!strcmp(pickle_class(h->m), "Pose26"))
        at = m_add(w, at, h->anchors);
    else
        at = m_add(w, m_scale(w, "mul", at, 2),
                   m_scale(w, "sub", h->anchors, 0.5));
    at = m_binary(w, "mul", at, h->strides);
    if (shape[1] == 3) {
        m_val seen = m_unary(w, "sigmoid", m_slice(w, y, 2, 2, 3, 1));
        at = m_cat(w, (m_val[]){at, seen}, 2, 2);
    }
    return m_view(w, at, (int64_t[]){h->batch, all, -1}, 3);
}

/* -- heads ----------------------------------------------------------------*/

static void head_output(module_walk *w, m_val y)
{
    if (w->n_outputs < sizeof w->outputs / sizeof *w->outputs)
        w->outputs[w->n_outputs++] = y;
}

/* Raw predictions of one set of branches; `one` stands before their names. */
typedef struct head_raw {
    m_val boxes, scores, more;
} head_raw;

static head_raw head_branches(head *h, const char *one)
{
    char name[32], then[32];
    head_raw r = {.more = m_none()};
    snprintf(name, sizeof name, "%scv2", one);
    r.boxes = head_branch(h, name, "");
    snprintf(name, sizeof name, "%scv3", one);
    r.scores = head_branch(h, name, "");
    snprintf(name, sizeof name, "%scv4", one);
    snprintf(then, sizeof then, "%scv4_kpts", one);
    if (m_child(h->m, name))
        r.more = head_branch(h, name, then);
    snprintf(then, sizeof then, "%scv4_sigma", one);
    m_unused(h->w, m_child(h->m, then), then);
    return r;
}

/* Boxes in pixels, scores between 0 and 1, and what the task adds. */
static m_val head_decode(head *h, head_raw r, bool corners)
{
    module_walk *w = h->w;
    const char *cls = pickle_class(h->m);
    bool turned = !strncmp(cls, "OBB", 3), points = !strncmp(cls, "Pose", 4);
    if (!strcmp(cls, "OBB")) /* between -45 and 135 degrees */
        r.more = m_scale(w, "mul",
                         m_scale(w, "sub", m_unary(w, "sigmoid", r.more), 0.25),
                         head_pi);
    m_val sides =
        m_child(h->m, "dfl") ? m_run(w, h->m, "dfl", r.boxes) : r.boxes;
    m_val boxes =
        turned ? head_turned(h, sides, r.more) : head_boxes(h, sides, corners);
    m_val y[3] = {m_binary(w, "mul", boxes, h->strides),
                  m_unary(w, "sigmoid", r.scores),
                  points ? head_points(h, r.more) : r.more};
    return m_cat(w, y, r.more.v == CLV_NONE ? 2 : 3, 1);
}

/* Whether the second set of branches, trained without doubles, is the one that
 * counts: it was chosen, or is all that fusing left. */
static bool head_is_end2end(const pickle_node *m)
{
    return m_child(m, "one2one_cv2") &&
           (!m_child(m, "cv2") ||
            pickle_true(pickle_get(m, "_end2end"), false));
}

m_val head_detect(module_walk *w, const pickle_node *m, m_val x)
{
    head h = {.w = w, .m = m, .n = x.n < HEAD_LEVELS ? x.n : HEAD_LEVELS};
    for (uint32_t i = 0; i < h.n; i++)
        h.levels[i] = m_at(x, i);
    if (m_child(m, "m") || !h.n) /* YOLOv5 with anchors, not of this family */
        return m_unknown(w, m, x);
    h.batch = m_dim(w, h.levels[0], 0);
    head_cells(&h);
    bool end2end = head_is_end2end(m);
    head_raw many = {.boxes = m_none()}, one = {.boxes = m_none()};
    if (m_child(m, "cv2"))
        many = head_branches(&h, "");
    if (m_child(m, "one2one_cv2"))
        one = head_branches(&h, "one2one_");
    m_val y = head_decode(&h, end2end ? one : many, end2end);
    head_output(w, y);
    if (m_child(m, "proto"))
        head_output(w, m_run(w, m, "proto", x));
    m_unused(w, m_child(m, "flow_model"), "flow_model");
    head_raw rest = end2end ? many : one; /* computed and returned as it is */
    if (rest.boxes.v != CLV_NONE) {
        head_output(w, rest.boxes);
        head_output(w, rest.scores);
    }
    return y;
}

m_val head_classify(module_walk *w, const pickle_node *m, m_val x)
{
    m_val list[HEAD_LEVELS];
    for (uint32_t i = 0; i < x.n && i < HEAD_LEVELS; i++)
        list[i] = m_at(x, i);
    if (x.n > 1)
        x = m_cat(w, list, x.n < HEAD_LEVELS ? x.n : HEAD_LEVELS, 1);
    x = m_run(w, m, "pool", m_run(w, m, "conv", x));
    aten_arg flat[2] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_INT, 0, {.i = 1}}};
    x = m_fn(w, "flatten", flat, 2);
    if (m_child(m, "drop"))
        x = m_run(w, m, "drop", x);
    m_val y = m_softmax(w, m_run(w, m, "linear", x), 1);
    head_output(w, y);
    return y;
}
