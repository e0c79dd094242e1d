/* swin.c - Swin Transformer (Liu et al., 2021) and V2 (2022).
 *
 * Tokens keep their place in an image (N,H,W,C). Attention runs inside windows;
 * every second block rolls the image by half a window first, and a mask keeps
 * apart what only the roll brought together. A learned bias depends on the
 * offset between two tokens: V1 has a table of it, V2 a small perceptron over
 * log-spaced offsets. V2 also compares directions only (cosine attention) and
 * puts its norms after, not before. Stages halve the image by merging 2x2
 * tokens into one. */
#include "zoo/swin.h"

#include <math.h>

enum { MAX_TOKENS = 256 }; /* of a window */

typedef struct swin {
    int64_t width;
    int depth[4];
    int64_t heads[4];
    int64_t window;
    bool v2;
} swin;

/* One block's place: what its attention needs beside the tokens. */
typedef struct place {
    const swin *v;
    const int64_t *offsets; /* (window^2)^2 rows of the bias table */
    tensor mask;            /* of the stage; CLV_NONE: not made yet */
    int64_t heads, shift;
} place;

int64_t swin_round_up(int64_t x, int64_t by)
{
    return (x + by - 1) / by * by;
}

/* -- the relative position bias -------------------------------------------*/

/* V2: offsets scaled to [-8, 8], then sign(x) log2(1 + |x|) / 3. */
static tensor swin_log_offsets(builder *b, int64_t s)
{
    int64_t side = 2 * s - 1, dims[] = {1, side, side, 2};
    tensor t = weight(b, "relative_coords_table", CLV_VALUE_BUFFER, 4, dims);
    double *at = constant_floats(b, t, (uint32_t)(side * side * 2));
    for (int64_t i = 0; at && i < side * side * 2; i++) {
        int64_t cell = i / 2, step = (i % 2 ? cell % side : cell / side);
        double x = (double)(step - s + 1) * 8 / (double)(s - 1);
        at[i] = copysign(log2(1 + fabs(x)) / 3, x);
    }
    return t;
}

static tensor swin_bias_table(builder *b, const place *p)
{
    int64_t side = 2 * p->v->window - 1;
    if (!p->v->v2)
        return parameter(b, "relative_position_bias_table", side * side,
                         p->heads);
    tensor t = swin_log_offsets(b, p->v->window);
    enter(b, "cpb_mlp");
    t = linear(b, "0", t, 512);
    t = relu(b, "1", t);
    t = linear_no_bias(b, "2", t, p->heads);
    leave(b);
    return reshape(b, t, side * side, p->heads);
}

/* (1,heads,n,n) for windows of n tokens. */
static tensor swin_position_bias(builder *b, const place *p)
{
    int64_t n = p->v->window * p->v->window, rows = n * n;
    tensor table = swin_bias_table(b, p);
    tensor index =
        weight(b, "relative_position_index", CLV_VALUE_BUFFER, 1, &rows);
    constant_ints(b, index, p->offsets, (uint32_t)rows);
    tensor bias =
        zoo_call(b, CLV_OP_INDEX, "index", TENSORS(table, index), NO_ATTRS);
    bias = reshape(b, bias, n, n, p->heads);
    bias = permute(b, NULL, bias, 2, 0, 1);
    bias = zoo_call(b, CLV_OP_UNSQUEEZE, "unsqueeze", TENSORS(bias),
                    ATTRS(INTS(AXES, 0)));
    return p->v->v2 ? scale(b, sigmoid(b, NULL, bias), 16) : bias;
}

/* -- shifted windows ------------------------------------------------------*/

/* An axis with only one window is not rolled. */
static swin_plan swin_plan_of(const builder *b, const place *p, tensor x)
{
    int64_t s = p->v->window;
    swin_plan r = {swin_round_up(dim(b, x, 1), s),
                   swin_round_up(dim(b, x, 2), s), s, 0, 0};
    r.shift_y = s < r.h ? p->shift : 0;
    r.shift_x = s < r.w ? p->shift : 0;
    return r;
}

/* Returns the band of an axis that position `at` is in: the roll leaves one
 * band untouched and brings two others together in the last window. */
static int64_t swin_band(int64_t at, int64_t size, int64_t s, int64_t shift)
{
    return shift ? (at >= size - s) + (at >= size - shift) : 0;
}

tensor swin_shift_mask(builder *b, const swin_plan *p)
{
    int64_t s = p->window, n = s * s, across = p->w / s, down = p->h / s;
    int64_t dims[] = {down * across, 1, n, n};
    tensor mask = weight(b, "attn_mask", CLV_VALUE_CONST, 4, dims);
    float *m = constant_bytes(b, mask, CLV_FLOAT32);
    for (int64_t win = 0; m && win < down * across; win++) {
        int64_t top = win / across * s, left = win % across * s, of[MAX_TOKENS];
        for (int64_t i = 0; i < n; i++)
            of[i] = 3 * swin_band(top + i / s, p->h, s, p->shift_y) +
                    swin_band(left + i % s, p->w, s, p->shift_x);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                *m++ = of[i] == of[j] ? 0 : -100;
    }
    return mask;
}

static tensor swin_roll(builder *b, tensor x, int64_t y_by, int64_t x_by)
{
    return zoo_call(b, CLV_OP_ROLL, "roll", TENSORS(x),
                    ATTRS(INTS(SHIFTS, y_by, x_by), INTS(AXES, 1, 2)));
}

/* Grows H and W of (N,H,W,C) at their ends. */
static tensor swin_pad_to(builder *b, tensor x, int64_t h, int64_t w)
{
    int64_t down = h - dim(b, x, 1), right = w - dim(b, x, 2);
    if (!down && !right)
        return x;
    return zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                    ATTRS(INTS(PADDING, 0, 0, 0, 0, 0, down, right, 0)));
}

static tensor swin_crop_to(builder *b, tensor x, int64_t h, int64_t w)
{
    if (dim(b, x, 1) == h && dim(b, x, 2) == w)
        return x;
    return zoo_call(
        b, CLV_OP_SLICE, "slice", TENSORS(x),
        ATTRS(INTS(START, 0, 0), INTS(END, h, w), INTS(AXES, 1, 2)));
}

/* (N,H,W,C) -> (N*windows,n,C), and back. */
static tensor swin_to_windows(builder *b, tensor x, int64_t s)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 3);
    int64_t down = dim(b, x, 1) / s, across = dim(b, x, 2) / s;
    x = reshape(b, x, n, down, s, across, s, c);
    x = permute(b, NULL, x, 0, 1, 3, 2, 4, 5);
    return reshape(b, x, n * down * across, s * s, c);
}

static tensor swin_from_windows(builder *b, tensor x, int64_t s, int64_t h,
                                int64_t w)
{
    int64_t down = h / s, across = w / s, c = dim(b, x, 2);
    int64_t n = dim(b, x, 0) / (down * across);
    x = reshape(b, x, n, down, across, s, s, c);
    x = permute(b, NULL, x, 0, 1, 3, 2, 4, 5);
    return reshape(b, x, n, h, w, c);
}

tensor swin_cut(builder *b, const swin_plan *p, tensor x)
{
    x = swin_pad_to(b, x, p->h, p->w);
    if (p->shift_y || p->shift_x)
        x = swin_roll(b, x, -p->shift_y, -p->shift_x);
    return swin_to_windows(b, x, p->window);
}

tensor swin_join(builder *b, const swin_plan *p, tensor x, int64_t h, int64_t w)
{
    x = swin_from_windows(b, x, p->window, p->h, p->w);
    if (p->shift_y || p->shift_x)
        x = swin_roll(b, x, p->shift_y, p->shift_x);
    return swin_crop_to(b, x, h, w);
}

/* -- attention ------------------------------------------------------------*/

/* V2: q and k as directions, their cosine times a learned factor per head. */
static tensor swin_cosine_scores(builder *b, const place *p, tensor q, tensor k)
{
    clv_attr last[] = {INT(AXIS, -1), INT(P, 2)};
    q = zoo_call(b, CLV_OP_LP_NORM, "normalize", TENSORS(q), last, 2);
    k = zoo_call(b, CLV_OP_LP_NORM, "normalize", TENSORS(k), last, 2);
    tensor scores = matmul(b, q, transpose(b, k, -2, -1));
    tensor factor = parameter(b, "logit_scale", p->heads, 1, 1);
    factor = zoo_call(b, CLV_OP_CLAMP, "clamp", TENSORS(factor),
                      ATTRS(FLOAT(MAX, log(100))));
    factor = zoo_call(b, CLV_OP_EXP, "exp", TENSORS(factor), NO_ATTRS);
    return mul(b, scores, factor);
}

static tensor swin_scores_of(builder *b, const place *p, tensor q, tensor k)
{
    if (p->v->v2)
        return swin_cosine_scores(b, p, q, k);
    q = scale(b, q, 1 / sqrt((double)dim(b, q, -1)));
    return matmul(b, q, transpose(b, k, -2, -1));
}

/* (N*windows,heads,n,n): the mask is the same for every image and head. */
static tensor swin_masked(builder *b, tensor scores, tensor mask)
{
    int64_t all = dim(b, scores, 0), heads = dim(b, scores, 1);
    int64_t n = dim(b, scores, 2), windows = dim(b, mask, 0);
    scores = reshape(b, scores, all / windows, windows, heads, n, n);
    scores = add(b, scores, mask);
    return reshape(b, scores, all, heads, n, n);
}

static tensor swin_window_attention(builder *b, place *p, tensor x, tensor mask)
{
    int64_t rows = dim(b, x, 0), n = dim(b, x, 1), c = dim(b, x, 2);
    tensor qkv = linear(b, "qkv", x, 3 * c), part[3];
    qkv = reshape(b, qkv, rows, n, 3, p->heads, c / p->heads);
    qkv = permute(b, NULL, qkv, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = zoo_call(b, CLV_OP_SELECT, "getitem", TENSORS(qkv),
                           ATTRS(INT(AXIS, 0), INT(INDEX, i)));
    tensor scores = swin_scores_of(b, p, part[0], part[1]);
    scores = add(b, scores, swin_position_bias(b, p));
    if (mask != CLV_NONE)
        scores = swin_masked(b, scores, mask);
    x = dropout(b, NULL, softmax(b, scores));
    x = transpose(b, matmul(b, x, part[2]), 1, 2);
    x = linear(b, "proj", reshape(b, x, rows, n, c), c);
    return dropout(b, NULL, x);
}

static tensor swin_attention(builder *b, place *p, tensor x)
{
    int64_t h = dim(b, x, 1), w = dim(b, x, 2);
    swin_plan r = swin_plan_of(b, p, x);
    bool shift = r.shift_y || r.shift_x;
    enter(b, "attn");
    if (shift && p->mask == CLV_NONE)
        p->mask = swin_shift_mask(b, &r);
    x = swin_cut(b, &r, x);
    x = swin_window_attention(b, p, x, shift ? p->mask : CLV_NONE);
    x = swin_join(b, &r, x, h, w);
    leave(b);
    return x;
}

/* -- the network ----------------------------------------------------------*/

static tensor swin_mlp(builder *b, tensor x)
{
    int64_t c = dim(b, x, -1);
    enter(b, "mlp");
    x = linear(b, "0", x, 4 * c);
    x = gelu(b, "1", x);
    x = dropout(b, "2", x);
    x = linear(b, "3", x, c);
    x = dropout(b, "4", x);
    leave(b);
    return x;
}

static tensor swin_block(builder *b, place *p, tensor x)
{
    tensor y = p->v->v2 ? layer_norm(b, "norm1", swin_attention(b, p, x))
                        : swin_attention(b, p, layer_norm(b, "norm1", x));
    x = add(b, x, stochastic_depth(b, "stochastic_depth", y));
    y = p->v->v2 ? layer_norm(b, "norm2", swin_mlp(b, x))
                 : swin_mlp(b, layer_norm(b, "norm2", x));
    return add(b, x, stochastic_depth(b, "stochastic_depth", y));
}

tensor swin_corners(builder *b, tensor x)
{
    int64_t h = swin_round_up(dim(b, x, 1), 2),
            w = swin_round_up(dim(b, x, 2), 2);
    tensor corner[4];
    x = swin_pad_to(b, x, h, w);
    for (int i = 0; i < 4; i++)
        corner[i] = zoo_call(b, CLV_OP_SLICE, "slice", TENSORS(x),
                             ATTRS(INTS(START, i % 2, i / 2), INTS(END, h, w),
                                   INTS(AXES, 1, 2), INTS(STEP, 2, 2)));
    return cat(b, corner, 4, -1);
}

/* Joins 2x2 tokens into one, then halves its width. */
static tensor swin_merge_patches(builder *b, const swin *v, tensor x)
{
    int64_t c = dim(b, x, 3);
    x = swin_corners(b, x);
    if (v->v2)
        return layer_norm(b, "norm", linear_no_bias(b, "reduction", x, 2 * c));
    return linear_no_bias(b, "reduction", layer_norm(b, "norm", x), 2 * c);
}

static tensor swin_patches(builder *b, const swin *v, tensor x)
{
    x = conv2d(b, "0", x, v->width, .kernel = 4, .stride = 4);
    x = permute(b, "1", x, 0, 2, 3, 1);
    return layer_norm(b, "2", x);
}

static void swin_build(builder *b, const zoo_input *in, const void *variant)
{
    const swin *v = variant;
    place p = {.v = v, .offsets = offset_rows(b, v->window)};
    tensor x = input(b, "x", in);
    enter(b, "features");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", 2 * stage);
        x = stage ? swin_merge_patches(b, v, x) : swin_patches(b, v, x);
        leave(b);
        enter(b, "%d", 2 * stage + 1);
        p.mask = CLV_NONE;
        p.heads = v->heads[stage];
        for (int i = 0; i < v->depth[stage]; i++) {
            enter(b, "%d", i);
            p.shift = i % 2 ? v->window / 2 : 0;
            x = swin_block(b, &p, x);
            leave(b);
        }
        leave(b);
    }
    leave(b);
    x = layer_norm(b, "norm", x);
    x = permute(b, "permute", x, 0, 3, 1, 2);
    x = adaptive_avg_pool2d(b, "avgpool", x, 1);
    x = zoo_module(b, CLV_OP_FLATTEN, "flatten", x, ATTRS(INT(START, 1)));
    output(b, linear(b, "head", x, 1000));
}

const zoo_knobs clv__knobs_swin =
    ZOO_KNOBS(swin_build, swin, KNOB("dim", ZOO_INT64, swin, width, 1, 16384),
              KNOB("stage1", ZOO_INT, swin, depth[0], 1, 200),
              KNOB("stage2", ZOO_INT, swin, depth[1], 1, 200),
              KNOB("stage3", ZOO_INT, swin, depth[2], 1, 200),
              KNOB("stage4", ZOO_INT, swin, depth[3], 1, 200),
              KNOB("heads1", ZOO_INT64, swin, heads[0], 1, 1024),
              KNOB("heads2", ZOO_INT64, swin, heads[1], 1, 1024),
              KNOB("heads3", ZOO_INT64, swin, heads[2], 1, 1024),
              KNOB("heads4", ZOO_INT64, swin, heads[3], 1, 1024),
              KNOB("window", ZOO_INT64, swin, window, 2, 8));

#define SWIN(name, ...) \
    { \
        {name, "swin", IMAGE(224), TORCHVISION("classification", 2021)}, \
            swin_build, &(const swin) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_swin[] = {
    SWIN("swin_t", 96, {2, 2, 6, 2}, {3, 6, 12, 24}, 7, false),
    SWIN("swin_s", 96, {2, 2, 18, 2}, {3, 6, 12, 24}, 7, false),
    SWIN("swin_b", 128, {2, 2, 18, 2}, {4, 8, 16, 32}, 7, false),
    SWIN("swin_v2_t", 96, {2, 2, 6, 2}, {3, 6, 12, 24}, 8, true),
    SWIN("swin_v2_s", 96, {2, 2, 18, 2}, {3, 6, 12, 24}, 8, true),
    SWIN("swin_v2_b", 128, {2, 2, 18, 2}, {4, 8, 16, 32}, 8, true),
    ZOO_END,
};
