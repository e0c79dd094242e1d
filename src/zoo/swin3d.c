/* swin3d.c - Video Swin Transformer (Liu et al., 2022).
 *
 * Swin over clips: tokens (N,T,H,W,C) attend inside windows of 8 frames and 7x7
 * places; every second block rolls all three axes by half a window. An axis
 * that is no longer than the window is one window and is not rolled. */
#include "zoo/zoo.h"

#include <math.h>

enum { SWIN3D_AXES = 3, SWIN3D_TOKENS = 8 * 7 * 7 };

static const int64_t swin3d_window[SWIN3D_AXES] = {8, 7, 7};
static const int64_t swin3d_patch[SWIN3D_AXES] = {2, 4, 4};

typedef struct swin3d {
    int64_t width;
    int depth[4];
    int64_t heads[4];
} swin3d;

/* Of one stage. Sizes are those of the padded clip. */
typedef struct swin3d_place {
    const int64_t *offsets; /* SWIN3D_TOKENS^2 rows of the bias table */
    int64_t size[SWIN3D_AXES], window[SWIN3D_AXES], roll[SWIN3D_AXES];
    int64_t heads, windows, tokens;
    tensor mask; /* CLV_NONE: not made yet */
    bool rolls;
} swin3d_place;

/* Row of the table for each pair of tokens of a full window. */
static const int64_t *swin3d_offsets(builder *b)
{
    enum { N = SWIN3D_TOKENS };
    int64_t *rows = arena_array(&b->g->mem, N * N, sizeof *rows);
    if (!rows)
        return zoo_nomem(b);
    int64_t at[N];
    for (int64_t i = 0; i < N; i++)
        at[i] = (i / 49 * 13 + i / 7 % 7) * 13 + i % 7;
    const int64_t centre = (7 * 13 + 6) * 13 + 6;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            rows[i * N + j] = at[i] - at[j] + centre;
    return rows;
}

/* Grows the axes of x that start at `first` at their ends. */
static tensor swin3d_pad(builder *b, tensor x, int first, const int64_t *by)
{
    int64_t padding[10] = {0}, any = 0;
    for (int i = 0; i < SWIN3D_AXES; i++) {
        padding[5 + first + i] = by[i];
        any += by[i];
    }
    clv_attr attr = {.key = CLV_A_PADDING,
                     .type = CLV_ATTR_INTS,
                     .n = 10,
                     .u.ints = padding};
    return any ? zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x), &attr, 1) : x;
}

static void swin3d_plan(builder *b, swin3d_place *p, tensor x, bool odd)
{
    p->windows = p->tokens = 1;
    p->rolls = false;
    for (int i = 0; i < SWIN3D_AXES; i++) {
        int64_t n = dim(b, x, 1 + i), w = swin3d_window[i];
        bool one = n <= w;
        p->window[i] = one ? n : w;
        p->roll[i] = one || !odd ? 0 : w / 2;
        p->size[i] = (n + p->window[i] - 1) / p->window[i] * p->window[i];
        p->windows *= p->size[i] / p->window[i];
        p->tokens *= p->window[i];
        p->rolls = p->rolls || p->roll[i];
    }
}

/* -- the mask -------------------------------------------------------------*/

/* The region of a place of an axis: three bands, as the roll leaves them. */
static int64_t swin3d_band(const swin3d_place *p, int axis, int64_t at)
{
    int64_t n = p->size[axis];
    return (at >= n - p->window[axis]) + (at >= n - p->roll[axis]);
}

/* (windows,1,1,n): the region of each token. */
static tensor swin3d_regions(builder *b, const swin3d_place *p)
{
    const int64_t *w = p->window;
    int64_t dims[] = {p->windows, 1, 1, p->tokens};
    tensor t = weight(b, "regions", CLV_VALUE_CONST, 4, dims);
    double *at = constant_floats(b, t, (uint32_t)(p->windows * p->tokens));
    int64_t across = p->size[2] / w[2], down = p->size[1] / w[1];
    for (int64_t win = 0; at && win < p->windows; win++)
        for (int64_t i = 0; i < p->tokens; i++) {
            int64_t z = win / (across * down) * w[0] + i / (w[1] * w[2]);
            int64_t y = win / across % down * w[1] + i / w[2] % w[1];
            int64_t x = win % across * w[2] + i % w[2];
            *at++ = (double)(9 * swin3d_band(p, 0, z) +
                             3 * swin3d_band(p, 1, y) + swin3d_band(p, 2, x));
        }
    return t;
}

/* (windows,1,n,n): -100 between tokens of different regions. */
static tensor swin3d_mask(builder *b, const swin3d_place *p)
{
    tensor of = swin3d_regions(b, p);
    tensor differ = zoo_call(b, CLV_OP_NE, "ne",
                             TENSORS(of, transpose(b, of, 2, 3)), NO_ATTRS);
    differ = zoo_call(b, CLV_OP_CAST, "to", TENSORS(differ),
                      ATTRS(INT(DTYPE, b->dtype)));
    return scale(b, differ, -100);
}

/* -- attention ------------------------------------------------------------*/

/* (1,heads,n,n) */
static tensor swin3d_bias(builder *b, const swin3d_place *p)
{
    enum { N = SWIN3D_TOKENS };
    int64_t n = p->tokens, dims[] = {N, N};
    tensor table =
        parameter(b, "relative_position_bias_table", 15 * 13 * 13, p->heads);
    tensor index =
        weight(b, "relative_position_index", CLV_VALUE_BUFFER, 2, dims);
    constant_ints(b, index, p->offsets, N * N);
    if (n < N)
        index = slice(b, slice(b, index, 0, 0, n), 1, 0, n);
    tensor bias = zoo_call(b, CLV_OP_INDEX, "index",
                           TENSORS(table, flatten(b, index, 0)), NO_ATTRS);
    bias = permute(b, NULL, reshape(b, bias, n, n, p->heads), 2, 0, 1);
    return zoo_call(b, CLV_OP_UNSQUEEZE, "unsqueeze", TENSORS(bias),
                    ATTRS(INTS(AXES, 0)));
}

static tensor swin3d_attend(builder *b, const swin3d_place *p, tensor x)
{
    int64_t rows = dim(b, x, 0), n = p->tokens, c = dim(b, x, 2);
    tensor qkv = linear(b, "qkv", x, 3 * c), part[3];
    qkv = reshape(b, qkv, rows, n, 3, p->heads, c / p->heads);
    qkv = permute(b, NULL, qkv, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, qkv, 0, i);
    tensor q = scale(b, part[0], 1 / sqrt((double)(c / p->heads)));
    tensor scores = matmul(b, q, transpose(b, part[1], -2, -1));
    scores = add(b, scores, swin3d_bias(b, p));
    if (p->rolls) {
        scores =
            reshape(b, scores, rows / p->windows, p->windows, p->heads, n, n);
        scores = reshape(b, add(b, scores, p->mask), rows, p->heads, n, n);
    }
    x = dropout(b, NULL, softmax(b, scores));
    x = transpose(b, matmul(b, x, part[2]), 1, 2);
    x = linear(b, "proj", reshape(b, x, rows, n, c), c);
    return dropout(b, NULL, x);
}

static tensor swin3d_roll(builder *b, const swin3d_place *p, tensor x, int way)
{
    if (!p->rolls)
        return x;
    return zoo_call(b, CLV_OP_ROLL, "roll", TENSORS(x),
                    ATTRS(INTS(SHIFTS, way * p->roll[0], way * p->roll[1],
                               way * p->roll[2]),
                          INTS(AXES, 1, 2, 3)));
}

/* (N,T,H,W,C) -> (N*windows,n,C), and back. */
static tensor swin3d_cut(builder *b, const swin3d_place *p, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 4);
    const int64_t *s = p->size, *w = p->window;
    x = reshape(b, x, n, s[0] / w[0], w[0], s[1] / w[1], w[1], s[2] / w[2],
                w[2], c);
    x = permute(b, NULL, x, 0, 1, 3, 5, 2, 4, 6, 7);
    return reshape(b, x, n * p->windows, p->tokens, c);
}

static tensor swin3d_join(builder *b, const swin3d_place *p, tensor x)
{
    int64_t n = dim(b, x, 0) / p->windows, c = dim(b, x, 2);
    const int64_t *s = p->size, *w = p->window;
    x = reshape(b, x, n, s[0] / w[0], s[1] / w[1], s[2] / w[2], w[0], w[1],
                w[2], c);
    x = permute(b, NULL, x, 0, 1, 4, 2, 5, 3, 6, 7);
    return reshape(b, x, n, s[0], s[1], s[2], c);
}

static tensor swin3d_attention(builder *b, swin3d_place *p, tensor x, bool odd)
{
    int64_t old[SWIN3D_AXES], more[SWIN3D_AXES];
    swin3d_plan(b, p, x, odd);
    for (int i = 0; i < SWIN3D_AXES; i++) {
        old[i] = dim(b, x, 1 + i);
        more[i] = p->size[i] - old[i];
    }
    enter(b, "attn");
    if (p->rolls && p->mask == CLV_NONE)
        p->mask = swin3d_mask(b, p);
    x = swin3d_roll(b, p, swin3d_pad(b, x, 1, more), -1);
    x = swin3d_join(b, p, swin3d_attend(b, p, swin3d_cut(b, p, x)));
    x = swin3d_roll(b, p, x, 1);
    for (int i = 0; i < SWIN3D_AXES; i++)
        if (more[i])
            x = slice(b, x, 1 + i, 0, old[i]);
    leave(b);
    return x;
}

/* -- the network ----------------------------------------------------------*/

static tensor swin3d_mlp(builder *b, tensor x)
{
    int64_t c = dim(b, x, -1);
    enter(b, "mlp");
    x = gelu(b, "1", linear(b, "0", x, 4 * c));
    x = dropout(b, "2", x);
    x = dropout(b, "4", linear(b, "3", x, c));
    leave(b);
    return x;
}

static tensor swin3d_block(builder *b, swin3d_place *p, tensor x, bool odd)
{
    tensor y = swin3d_attention(b, p, layer_norm(b, "norm1", x), odd);
    x = add(b, x, stochastic_depth(b, "stochastic_depth", y));
    y = swin3d_mlp(b, layer_norm(b, "norm2", x));
    return add(b, x, stochastic_depth(b, "stochastic_depth", y));
}

/* Joins 2x2 tokens of a frame into one, then halves its width. */
static tensor swin3d_merge(builder *b, tensor x)
{
    int64_t h = dim(b, x, 2), w = dim(b, x, 3), c = dim(b, x, 4);
    const int64_t by[SWIN3D_AXES] = {0, h % 2, w % 2};
    tensor corner[4];
    x = swin3d_pad(b, x, 1, by);
    for (int i = 0; i < 4; i++)
        corner[i] = zoo_call(b, CLV_OP_SLICE, "slice", TENSORS(x),
                             ATTRS(INTS(START, i % 2, i / 2),
                                   INTS(END, h + by[1], w + by[2]),
                                   INTS(AXES, 2, 3), INTS(STEP, 2, 2)));
    x = layer_norm(b, "norm", cat(b, corner, 4, -1));
    return linear_no_bias(b, "reduction", x, 2 * c);
}

static tensor swin3d_patches(builder *b, const swin3d *v, tensor x)
{
    int64_t by[SWIN3D_AXES];
    for (int i = 0; i < SWIN3D_AXES; i++)
        by[i] = (swin3d_patch[i] - dim(b, x, 2 + i) % swin3d_patch[i]) %
                swin3d_patch[i];
    enter(b, "patch_embed");
    x = conv3d(b, "proj", swin3d_pad(b, x, 2, by), v->width,
               .kernel_hw = {2, 4, 4}, .stride_hw = {2, 4, 4});
    x = layer_norm(b, "norm", permute(b, NULL, x, 0, 2, 3, 4, 1));
    leave(b);
    return dropout(b, "pos_drop", x);
}

static void swin3d_build(builder *b, const zoo_input *in, const void *variant)
{
    const swin3d *v = variant;
    swin3d_place p = {.offsets = swin3d_offsets(b)};
    tensor x = swin3d_patches(b, v, input(b, "x", in));
    enter(b, "features");
    for (int stage = 0; stage < 4; stage++) {
        p.mask = CLV_NONE;
        p.heads = v->heads[stage];
        if (stage) {
            enter(b, "%d", 2 * stage - 1);
            x = swin3d_merge(b, x);
            leave(b);
        }
        enter(b, "%d", 2 * stage);
        for (int i = 0; i < v->depth[stage]; i++) {
            enter(b, "%d", i);
            x = swin3d_block(b, &p, x, i % 2);
            leave(b);
        }
        leave(b);
    }
    leave(b);
    x = permute(b, NULL, layer_norm(b, "norm", x), 0, 4, 1, 2, 3);
    x = zoo_module(b, CLV_OP_ADAPTIVE_AVG_POOL3D, "avgpool", x,
                   ATTRS(INT(OUTPUT_SIZE, 1)));
    output(b, linear(b, "head", flatten(b, x, 1), 400));
}

#define SWIN3D(name, ...) \
    { \
        {name, "swin3d", CLIP(16, 224), TORCHVISION("video", 2022)}, \
            swin3d_build, &(const swin3d) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_swin3d[] = {
    SWIN3D("swin3d_t", 96, {2, 2, 6, 2}, {3, 6, 12, 24}),
    SWIN3D("swin3d_s", 96, {2, 2, 18, 2}, {3, 6, 12, 24}),
    SWIN3D("swin3d_b", 128, {2, 2, 18, 2}, {4, 8, 16, 32}),
    ZOO_END,
};
