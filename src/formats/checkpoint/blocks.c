/* blocks.c - what the blocks of YOLO networks compute, one function per kind.
 *
 * Written from the papers and from what the blocks do; names of members are
 * those of the checkpoints, since they are in the file. Blocks that differ only
 * in what they are made of share a function. */
#include "formats/checkpoint/heads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MOST = 64 }; /* tensors that a block joins */

/* Appends what each child of list m makes of the last one. */
static uint32_t block_chain(module_walk *w, const pickle_node *m,
                            const char *name, m_val *y, uint32_t n)
{
    uint32_t count;
    const pickle_node *list = m_child(m, name);
    pickle_node *const *children = m_children(list, &count);
    char path[96];
    for (uint32_t i = 0; i < count && n < BLOCK_MOST; i++, n++) {
        snprintf(path, sizeof path, "%s.%s", name,
                 pickle_text(children[2 * i], "?"));
        y[n] = m_forward(w, children[2 * i + 1], path, y[n - 1]);
    }
    return n;
}

/* -- convolutions ---------------------------------------------------------*/

static m_val block_act(module_walk *w, const pickle_node *m, m_val x)
{
    return m_child(m, "act") ? m_run(w, m, "act", x) : x;
}

/* Convolution, norm, activation; a fused one has no norm. */
static m_val block_conv(module_walk *w, const pickle_node *m, m_val x)
{
    const char *name = m_child(m, "conv") ? "conv" : "conv_transpose";
    x = m_run(w, m, name, x);
    if (m_child(m, "bn"))
        x = m_run(w, m, "bn", x);
    return block_act(w, m, x);
}

/* A 3x3 and a 1x1 convolution side by side, before one norm. */
static m_val block_conv2(module_walk *w, const pickle_node *m, m_val x)
{
    if (!m_child(m, "cv2"))
        return block_conv(w, m, x);
    x = m_add(w, m_run(w, m, "conv", x), m_run(w, m, "cv2", x));
    return block_act(w, m, m_child(m, "bn") ? m_run(w, m, "bn", x) : x);
}

/* Branches that training keeps apart and fusing makes one. */
static m_val block_rep(module_walk *w, const pickle_node *m, m_val x)
{
    if (!m_child(m, "conv1"))
        return block_act(w, m, m_run(w, m, "conv", x));
    bool deep = m_child(m, "conv2") != NULL;
    m_val y = m_add(w, m_run(w, m, deep ? "conv1" : "conv", x),
                    m_run(w, m, deep ? "conv2" : "conv1", x));
    if (m_child(m, "bn"))
        y = m_add(w, y, m_run(w, m, "bn", x));
    return block_act(w, m, y);
}

static m_val block_light(module_walk *w, const pickle_node *m, m_val x)
{
    return m_run(w, m, "conv2", m_run(w, m, "conv1", x));
}

static m_val block_ghost(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[2] = {m_run(w, m, "cv1", x)};
    y[1] = m_run(w, m, "cv2", y[0]);
    return m_cat(w, y, 2, 1);
}

/* Every second pixel, four times, as channels. */
static m_val block_focus(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[4];
    for (int i = 0; i < 4; i++)
        y[i] = m_slice(w, m_slice(w, x, 2, i & 1, INT64_MAX, 2), 3, i >> 1,
                       INT64_MAX, 2);
    return m_run(w, m, "conv", m_cat(w, y, 4, 1));
}

static m_val block_pair(module_walk *w, const pickle_node *m, m_val x)
{
    return m_run(w, m, "cv2", m_run(w, m, "cv1", x));
}

/* -- residual blocks ------------------------------------------------------*/

static m_val block_bottleneck(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y = block_pair(w, m, x);
    return m_flag(m, "add") ? m_add(w, x, y) : y;
}

static m_val block_ghost_bottleneck(module_walk *w, const pickle_node *m,
                                    m_val x)
{
    return m_add(w, m_run(w, m, "conv", x), m_run(w, m, "shortcut", x));
}

static m_val block_cib(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y = m_run(w, m, "cv1", x);
    return m_flag(m, "add") ? m_add(w, x, y) : y;
}

static m_val block_resnet(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y = m_run(w, m, "cv3", block_pair(w, m, x));
    return m_unary(w, "relu", m_add(w, y, m_run(w, m, "shortcut", x)));
}

static m_val block_layer(module_walk *w, const pickle_node *m, m_val x)
{
    return m_run(w, m, "layer", x);
}

/* -- cross-stage blocks ---------------------------------------------------*/

static m_val block_c1(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y = m_run(w, m, "cv1", x);
    return m_add(w, m_run(w, m, "m", y), y);
}

static m_val block_c2(module_walk *w, const pickle_node *m, m_val x)
{
    m_val half = m_chunk(w, m_run(w, m, "cv1", x), 2, 1);
    m_val y[2] = {m_run(w, m, "m", m_at(half, 0)), m_at(half, 1)};
    return m_run(w, m, "cv2", m_cat(w, y, 2, 1));
}

static m_val block_c2f(module_walk *w, const pickle_node *m, m_val x)
{
    m_val half = m_chunk(w, m_run(w, m, "cv1", x), 2, 1);
    m_val y[BLOCK_MOST] = {m_at(half, 0), m_at(half, 1)};
    uint32_t n = block_chain(w, m, "m", y, 2);
    return m_run(w, m, "cv2", m_cat(w, y, n, 1));
}

static m_val block_c3(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[2] = {m_run(w, m, "m", m_run(w, m, "cv1", x)),
                  m_run(w, m, "cv2", x)};
    return m_run(w, m, "cv3", m_cat(w, y, 2, 1));
}

static m_val block_c3f(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[BLOCK_MOST] = {m_run(w, m, "cv2", x), m_run(w, m, "cv1", x)};
    uint32_t n = block_chain(w, m, "m", y, 2);
    return m_run(w, m, "cv3", m_cat(w, y, n, 1));
}

static m_val block_rep_c3(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y = m_add(w, m_run(w, m, "m", m_run(w, m, "cv1", x)),
                    m_run(w, m, "cv2", x));
    return m_run(w, m, "cv3", y);
}

static m_val block_csp(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[2] = {m_run(w, m, "cv3", m_run(w, m, "m", m_run(w, m, "cv1", x))),
                  m_run(w, m, "cv2", x)};
    m_val both = m_run(w, m, "bn", m_cat(w, y, 2, 1));
    return m_run(w, m, "cv4", block_act(w, m, both));
}

/* The halves, then what cv2 makes of the last and cv3 of that. */
static m_val block_elan(module_walk *w, const pickle_node *m, m_val x)
{
    m_val half = m_chunk(w, m_run(w, m, "cv1", x), 2, 1);
    m_val y[4] = {m_at(half, 0), m_at(half, 1)};
    y[2] = m_run(w, m, "cv2", y[1]);
    y[3] = m_run(w, m, "cv3", y[2]);
    return m_run(w, m, "cv4", m_cat(w, y, 4, 1));
}

/* -- pooling --------------------------------------------------------------*/

static m_val block_spp(module_walk *w, const pickle_node *m, m_val x)
{
    uint32_t count, n = 1;
    m_val y[BLOCK_MOST] = {m_run(w, m, "cv1", x)};
    pickle_node *const *pools = m_children(m_child(m, "m"), &count);
    for (uint32_t i = 0; i < count && n < BLOCK_MOST; i++) {
        char path[96];
        snprintf(path, sizeof path, "m.%s", pickle_text(pools[2 * i], "?"));
        y[n++] = m_forward(w, pools[2 * i + 1], path, y[0]);
    }
    return m_run(w, m, "cv2", m_cat(w, y, n, 1));
}

static m_val block_sppf(module_walk *w, const pickle_node *m, m_val x)
{
    int64_t times = m_int(m, "n", 3);
    uint32_t n = 1;
    m_val y[BLOCK_MOST] = {m_run(w, m, "cv1", x)};
    for (int64_t i = 0; i < times && n < BLOCK_MOST; i++, n++)
        y[n] = m_run(w, m, "m", y[n - 1]);
    m_val out = m_run(w, m, "cv2", m_cat(w, y, n, 1));
    return m_flag(m, "add") ? m_add(w, out, x) : out;
}

static m_val block_spp_elan(module_walk *w, const pickle_node *m, m_val x)
{
    static const char *const names[] = {"cv2", "cv3", "cv4"};
    m_val y[4] = {m_run(w, m, "cv1", x)};
    for (int i = 0; i < 3; i++)
        y[i + 1] = m_run(w, m, names[i], y[i]);
    return m_run(w, m, "cv5", m_cat(w, y, 4, 1));
}

static m_val block_pool(module_walk *w, const char *fn, m_val x, int64_t kernel,
                        int64_t stride, int64_t padding)
{
    aten_arg args[4] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_INT, 0, {.i = kernel}},
                        {ATEN_INT, 0, {.i = stride}},
                        {ATEN_INT, 0, {.i = padding}}};
    return m_fn(w, fn, args, 4);
}

static m_val block_aconv(module_walk *w, const pickle_node *m, m_val x)
{
    return m_run(w, m, "cv1", block_pool(w, "avg_pool2d", x, 2, 1, 0));
}

static m_val block_adown(module_walk *w, const pickle_node *m, m_val x)
{
    m_val half = m_chunk(w, block_pool(w, "avg_pool2d", x, 2, 1, 0), 2, 1);
    m_val pooled = block_pool(w, "max_pool2d", m_at(half, 1), 3, 2, 1);
    m_val y[2] = {m_run(w, m, "cv1", m_at(half, 0)),
                  m_run(w, m, "cv2", pooled)};
    return m_cat(w, y, 2, 1);
}

/* -- attention ------------------------------------------------------------*/

/* q, k (B, heads, key, N) and v (B, heads, head, N):
 * v softmax(scale q^T k)^T. */
static m_val block_attend(module_walk *w, m_val q, m_val k, m_val v,
                          double scale)
{
    m_val a = m_transpose(w, m_scale(w, "mul", q, scale), -2, -1);
    a = m_softmax(w, m_binary(w, "matmul", a, k), -1);
    return m_binary(w, "matmul", v, m_transpose(w, a, -2, -1));
}

static m_val block_attention(module_walk *w, const pickle_node *m, m_val x)
{
    int64_t heads = m_int(m, "num_heads", 1), key = m_int(m, "key_dim", 1);
    int64_t head = m_int(m, "head_dim", 1), b = m_dim(w, x, 0);
    int64_t h = m_dim(w, x, 2), c = m_dim(w, x, 1), side = m_dim(w, x, 3);
    m_val qkv = m_run(w, m, "qkv", x);
    qkv = m_view(w, qkv,
                 (int64_t[]){b, heads, 2 * key + head, sat_mul(h, side)}, 4);
    m_val parts = m_split(w, qkv, (int64_t[]){key, key, head}, 3, 2);
    m_val v = m_at(parts, 2);
    m_val y = block_attend(w, m_at(parts, 0), m_at(parts, 1), v,
                           1 / sqrt((double)key));
    const int64_t dims[4] = {b, c, h, side};
    m_val pe = m_run(w, m, "pe", m_view(w, v, dims, 4));
    return m_run(w, m, "proj", m_add(w, m_view(w, y, dims, 4), pe));
}

/* Attention within `area` strips of the image. */
static m_val block_area_attention(module_walk *w, const pickle_node *m, m_val x)
{
    int64_t heads = m_int(m, "num_heads", 1), head = m_int(m, "head_dim", 1);
    int64_t area = m_int(m, "area", 1), all = sat_mul(heads, head);
    int64_t b = m_dim(w, x, 0), h = m_dim(w, x, 2), side = m_dim(w, x, 3);
    int64_t n = sat_mul(h, side);
    aten_arg flat[2] = {{ATEN_TENSOR, 0, {.value = CLV_NONE}},
                        {ATEN_INT, 0, {.i = 2}}};
    flat[0].u.value = m_run(w, m, "qkv", x).v;
    m_val qkv = m_transpose(w, m_fn(w, "flatten", flat, 2), 1, 2);
    if (area > 1) {
        b = sat_mul(b, area);
        n /= area;
        qkv = m_view(w, qkv, (int64_t[]){b, n, 3 * all}, 3);
    }
    qkv = m_view(w, qkv, (int64_t[]){b, n, heads, 3 * head}, 4);
    qkv = m_permute(w, qkv, (int64_t[]){0, 2, 3, 1}, 4);
    m_val parts = m_split(w, qkv, (int64_t[]){head, head, head}, 3, 2);
    m_val y[2] = {block_attend(w, m_at(parts, 0), m_at(parts, 1),
                               m_at(parts, 2), 1 / sqrt((double)head)),
                  m_at(parts, 2)};
    for (int i = 0; i < 2; i++) {
        y[i] = m_permute(w, y[i], (int64_t[]){0, 3, 1, 2}, 4);
        y[i] = m_view(w, y[i],
                      (int64_t[]){area > 1 ? b / area : b, h, side, all}, 4);
        y[i] = m_permute(w, y[i], (int64_t[]){0, 3, 1, 2}, 4);
    }
    return m_run(w, m, "proj", m_add(w, y[0], m_run(w, m, "pe", y[1])));
}

static m_val block_add_run(module_walk *w, const pickle_node *m,
                           const char *name, m_val x)
{
    return m_add(w, x, m_run(w, m, name, x));
}

static m_val block_psa_block(module_walk *w, const pickle_node *m, m_val x)
{
    if (m_flag(m, "add"))
        return block_add_run(w, m, "ffn", block_add_run(w, m, "attn", x));
    return m_run(w, m, "ffn", m_run(w, m, "attn", x));
}

static m_val block_area_block(module_walk *w, const pickle_node *m, m_val x)
{
    return block_add_run(w, m, "mlp", block_add_run(w, m, "attn", x));
}

static m_val block_psa(module_walk *w, const pickle_node *m, m_val x)
{
    m_val half = m_chunk(w, m_run(w, m, "cv1", x), 2, 1);
    m_val b = block_add_run(w, m, "attn", m_at(half, 1));
    m_val y[2] = {m_at(half, 0), block_add_run(w, m, "ffn", b)};
    return m_run(w, m, "cv2", m_cat(w, y, 2, 1));
}

static m_val block_c2psa(module_walk *w, const pickle_node *m, m_val x)
{
    m_val half = m_chunk(w, m_run(w, m, "cv1", x), 2, 1);
    m_val y[2] = {m_at(half, 0), m_run(w, m, "m", m_at(half, 1))};
    return m_run(w, m, "cv2", m_cat(w, y, 2, 1));
}

static m_val block_a2c2f(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[BLOCK_MOST] = {m_run(w, m, "cv1", x)};
    uint32_t n = block_chain(w, m, "m", y, 1);
    m_val out = m_run(w, m, "cv2", m_cat(w, y, n, 1));
    m_val gamma = m_param(w, m, "gamma");
    if (gamma.v == CLV_NONE)
        return out;
    gamma = m_view(w, gamma, (int64_t[]){-1, 1, 1}, 3);
    return m_add(w, x, m_binary(w, "mul", gamma, out));
}

/* -- stems of RT-DETR -----------------------------------------------------*/

static m_val block_pad(module_walk *w, m_val x)
{
    aten_arg ends[4] = {{ATEN_INT, 0, {.i = 0}},
                        {ATEN_INT, 0, {.i = 1}},
                        {ATEN_INT, 0, {.i = 0}},
                        {ATEN_INT, 0, {.i = 1}}};
    aten_arg args[2] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_LIST, 4, {.items = ends}}};
    return m_fn(w, "constant_pad_nd", args, 2);
}

static m_val block_hg_stem(module_walk *w, const pickle_node *m, m_val x)
{
    x = block_pad(w, m_run(w, m, "stem1", x));
    m_val deep = block_pad(w, m_run(w, m, "stem2a", x));
    m_val y[2] = {m_run(w, m, "pool", x), m_run(w, m, "stem2b", deep)};
    return m_run(w, m, "stem4", m_run(w, m, "stem3", m_cat(w, y, 2, 1)));
}

static m_val block_hg(module_walk *w, const pickle_node *m, m_val x)
{
    m_val y[BLOCK_MOST] = {x};
    uint32_t n = block_chain(w, m, "m", y, 1);
    m_val out = m_run(w, m, "ec", m_run(w, m, "sc", m_cat(w, y, n, 1)));
    return m_flag(m, "add") ? m_add(w, out, x) : out;
}

/* -- joins ----------------------------------------------------------------*/

static m_val block_concat(module_walk *w, const pickle_node *m, m_val x)
{
    m_val list[BLOCK_MOST];
    for (uint32_t i = 0; i < x.n && i < BLOCK_MOST; i++)
        list[i] = m_at(x, i);
    return m_cat(w, list, x.n < BLOCK_MOST ? x.n : BLOCK_MOST,
                 m_int(m, "d", 1));
}

static m_val block_index(module_walk *w, const pickle_node *m, m_val x)
{
    (void)w;
    int64_t i = m_int(m, "index", 0);
    return i >= 0 && i < x.n ? m_at(x, (uint32_t)i) : m_none();
}

/* One convolution whose channels go to several places. */
static m_val block_cb_linear(module_walk *w, const pickle_node *m, m_val x)
{
    int64_t sizes[BLOCK_MOST];
    int n = pickle_ints(m_member(m, "c2s"), sizes, BLOCK_MOST);
    x = m_run(w, m, "conv", x);
    return n > 0 ? m_split(w, x, sizes, (uint32_t)n, 1) : x;
}

/* x at the size of another map. */
static m_val block_resized(module_walk *w, m_val x, m_val as)
{
    aten_arg size[2] = {{ATEN_INT, 0, {.i = m_dim(w, as, 2)}},
                        {ATEN_INT, 0, {.i = m_dim(w, as, 3)}}};
    aten_arg args[2] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_LIST, 2, {.items = size}}};
    return m_fn(w, "upsample_nearest2d", args, 2);
}

/* Sums what several such convolutions sent here, at the size of the last. */
static m_val block_cb_fuse(module_walk *w, const pickle_node *m, m_val x)
{
    (void)m;
    m_val last = m_at(x, x.n - 1), sum = m_none();
    for (uint32_t i = 0; i + 1 < x.n; i++) {
        m_val y = block_resized(w, m_at(x, i), last);
        sum = i ? m_add(w, sum, y) : y;
    }
    return x.n > 1 ? m_add(w, sum, last) : last;
}

static m_val block_proto(module_walk *w, const pickle_node *m, m_val x)
{
    x = m_run(w, m, "upsample", m_run(w, m, "cv1", m_at(x, 0)));
    return m_run(w, m, "cv3", m_run(w, m, "cv2", x));
}

/* The same from all levels, brought to the first one's size and added up. */
static m_val block_proto26(module_walk *w, const pickle_node *m, m_val x)
{
    uint32_t n;
    m_val sum = m_at(x, 0);
    pickle_node *const *parts = m_children(m_child(m, "feat_refine"), &n);
    for (uint32_t i = 0; i < n && i + 1 < x.n; i++) {
        char path[32];
        snprintf(path, sizeof path, "feat_refine.%u", i);
        m_val y = m_forward(w, parts[2 * i + 1], path, m_at(x, i + 1));
        sum = m_add(w, sum, block_resized(w, y, sum));
    }
    m_unused(w, m_child(m, "semseg"), "semseg");
    return block_proto(w, m, m_run(w, m, "feat_fuse", sum));
}

/* -- the table ------------------------------------------------------------*/

/* In the order of names, in which they are looked for. */
static const struct block_row {
    const char *cls;
    module_fn *forward;
} block_rows[] = {
    {"A2C2f", block_a2c2f},
    {"AAttn", block_area_attention},
    {"ABlock", block_area_block},
    {"AConv", block_aconv},
    {"ADown", block_adown},
    {"AIFI", detr_aifi},
    {"Attention", block_attention},
    {"Bottleneck", block_bottleneck},
    {"BottleneckCSP", block_csp},
    {"C1", block_c1},
    {"C2", block_c2},
    {"C2PSA", block_c2psa},
    {"C2f", block_c2f},
    {"C2fCIB", block_c2f},
    {"C2fPSA", block_c2f},
    {"C3", block_c3},
    {"C3Ghost", block_c3},
    {"C3SPP", block_c3},
    {"C3f", block_c3f},
    {"C3k", block_c3},
    {"C3k2", block_c2f},
    {"C3x", block_c3},
    {"CBFuse", block_cb_fuse},
    {"CBLinear", block_cb_linear},
    {"CIB", block_cib},
    {"Classify", head_classify},
    {"Concat", block_concat},
    {"Conv", block_conv},
    {"Conv2", block_conv2},
    {"ConvTranspose", block_conv},
    {"DFL", head_dfl},
    {"DWConv", block_conv},
    {"DeformableTransformerDecoderLayer", detr_layer},
    {"Detect", head_detect},
    {"ELAN1", block_elan},
    {"Focus", block_focus},
    {"GhostBottleneck", block_ghost_bottleneck},
    {"GhostConv", block_ghost},
    {"HGBlock", block_hg},
    {"HGStem", block_hg_stem},
    {"Index", block_index},
    {"LightConv", block_light},
    {"MLP", detr_mlp},
    {"MSDeformAttn", detr_deform},
    {"OBB", head_detect},
    {"OBB26", head_detect},
    {"PSA", block_psa},
    {"PSABlock", block_psa_block},
    {"Pose", head_detect},
    {"Pose26", head_detect},
    {"Proto", block_proto},
    {"Proto26", block_proto26},
    {"RTDETRDecoder", detr_head},
    {"RepBottleneck", block_bottleneck},
    {"RepC3", block_rep_c3},
    {"RepCSP", block_c3},
    {"RepConv", block_rep},
    {"RepConvN", block_rep},
    {"RepNCSPELAN4", block_elan},
    {"RepVGGDW", block_rep},
    {"ResNetBlock", block_resnet},
    {"ResNetLayer", block_layer},
    {"SCDown", block_pair},
    {"SPP", block_spp},
    {"SPPELAN", block_spp_elan},
    {"SPPF", block_sppf},
    {"Segment", head_detect},
    {"Segment26", head_detect},
    {"v10Detect", head_detect},
};

static int block_by_name(const void *cls, const void *row)
{
    return strcmp(cls, ((const struct block_row *)row)->cls);
}

module_fn *module_forward(const char *cls)
{
    const struct block_row *row =
        bsearch(cls, block_rows, sizeof block_rows / sizeof *block_rows,
                sizeof *block_rows, block_by_name);
    return row ? row->forward : NULL;
}
