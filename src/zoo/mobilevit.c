/* mobilevit.c - MobileViT (Mehta and Rastegari, 2021) and MobileViTv2 (2022),
 * as timm has them.
 *
 * Inverted residuals, and in the last three stages a block that sees the image
 * as patches of 2x2: the pixels at one place of all patches attend to each
 * other. The second version attends in linear time: one score per pixel weighs
 * the keys, and their sum scales the values. */
#include "zoo/zoo.h"

enum { MOBILEVIT_STAGES = 5, MOBILEVIT_PATCH = 2, MOBILEVIT_HEADS = 4 };

typedef struct mobilevit {
    int64_t stem, expand, width[MOBILEVIT_STAGES];
    int64_t inside[3]; /* of the blocks with attention */
    int second;        /* inverted residuals in stage 1 */
    int64_t last;      /* of the convolution before the head; 0: none */
    bool v2;
} mobilevit;

static const int mobilevit_depth[] = {2, 4, 3}; /* layers of attention */

/* Patches that an image of h x w is cut into, and their number. */
typedef struct mobilevit_grid {
    int64_t n, c, h, w, down, across;
} mobilevit_grid;

static mobilevit_grid mobilevit_cut(builder *b, tensor x)
{
    mobilevit_grid g = {
        dim(b, x, 0), dim(b, x, 1), dim(b, x, 2), dim(b, x, 3), 0, 0};
    g.down = (g.h + MOBILEVIT_PATCH - 1) / MOBILEVIT_PATCH;
    g.across = (g.w + MOBILEVIT_PATCH - 1) / MOBILEVIT_PATCH;
    return g;
}

/* An image whose sides are odd is stretched until patches fit. */
static tensor mobilevit_stretch(builder *b, tensor x, int64_t h, int64_t w,
                                bool corners)
{
    if (dim(b, x, 2) == h && dim(b, x, 3) == w)
        return x;
    clv_attr attrs[] = {INTS(SIZE, h, w), STRING(MODE, "bilinear"),
                        STRING(COORDINATES, "align_corners")};
    return zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x), attrs,
                    corners ? 3 : 2);
}

static tensor mobilevit_residual(builder *b, tensor x, int64_t out,
                                 int64_t stride, int64_t expand)
{
    int64_t wide = dim(b, x, 1) * expand;
    bool same = stride == 1 && dim(b, x, 1) == out;
    tensor y = timm_conv(b, "conv1_1x1", x, CLV_OP_SILU, wide);
    y = timm_conv(b, "conv2_kxk", y, CLV_OP_SILU, wide, .kernel = 3,
                  .stride = stride, .groups = wide);
    y = timm_conv(b, "conv3_1x1", y, CLV_OP_IDENTITY, out);
    return same ? add(b, y, x) : y;
}

/* -- the first version ----------------------------------------------------*/

/* x (P,N,C): heads of C/4. */
static tensor mobilevit_attention(builder *b, tensor x)
{
    int64_t p = dim(b, x, 0), n = dim(b, x, 1), c = dim(b, x, 2);
    tensor part[3];
    enter(b, "attn");
    tensor y = linear(b, "qkv", x, 3 * c);
    y = reshape(b, y, p, n, 3, MOBILEVIT_HEADS, c / MOBILEVIT_HEADS);
    y = permute(b, NULL, y, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, y, 0, i);
    y = zoo_call(b, CLV_OP_SDPA, "attention",
                 TENSORS(part[0], part[1], part[2]), NO_ATTRS);
    y = reshape(b, transpose(b, y, 1, 2), p, n, c);
    y = linear(b, "proj", y, c);
    leave(b);
    return y;
}

static tensor mobilevit_layer(builder *b, tensor x)
{
    int64_t c = dim(b, x, 2);
    x = add(b, x, mobilevit_attention(b, layer_norm(b, "norm1", x)));
    tensor y = layer_norm(b, "norm2", x);
    enter(b, "mlp");
    y = silu(b, "act", linear(b, "fc1", y, 2 * c));
    y = linear(b, "fc2", y, c);
    leave(b);
    return add(b, x, y);
}

/* (N,C,H,W) -> (N*4,patches,C), and back. */
static tensor mobilevit_unfold(builder *b, const mobilevit_grid *g, tensor x)
{
    int64_t p = MOBILEVIT_PATCH, many = g->down * g->across;
    x = reshape(b, x, g->n * g->c * g->down, p, g->across, p);
    x = reshape(b, transpose(b, x, 1, 2), g->n, g->c, many, p * p);
    return reshape(b, transpose(b, x, 1, 3), g->n * p * p, many, g->c);
}

static tensor mobilevit_fold(builder *b, const mobilevit_grid *g, tensor x)
{
    int64_t p = MOBILEVIT_PATCH, many = g->down * g->across;
    x = transpose(b, reshape(b, x, g->n, p * p, many, g->c), 1, 3);
    x = reshape(b, x, g->n * g->c * g->down, g->across, p, p);
    return reshape(b, transpose(b, x, 1, 2), g->n, g->c, g->down * p,
                   g->across * p);
}

static tensor mobilevit_block(builder *b, tensor x, int64_t inside, int depth)
{
    int64_t c = dim(b, x, 1);
    tensor y = timm_conv(b, "conv_kxk", x, CLV_OP_SILU, c, .kernel = 3);
    y = conv2d(b, "conv_1x1", y, inside, .no_bias = true);
    mobilevit_grid g = mobilevit_cut(b, y);
    y = mobilevit_stretch(b, y, g.down * MOBILEVIT_PATCH,
                          g.across * MOBILEVIT_PATCH, false);
    y = mobilevit_unfold(b, &g, y);
    enter(b, "transformer");
    for (int i = 0; i < depth; i++) {
        enter(b, "%d", i);
        y = mobilevit_layer(b, y);
        leave(b);
    }
    leave(b);
    y = mobilevit_fold(b, &g, layer_norm(b, "norm", y));
    y = mobilevit_stretch(b, y, g.h, g.w, false);
    y = timm_conv(b, "conv_proj", y, CLV_OP_SILU, c);
    return timm_conv(b, "conv_fusion", cat_of(b, 1, x, y), CLV_OP_SILU, c,
                     .kernel = 3);
}

/* -- the second version ---------------------------------------------------*/

/* x (N,C,4,patches) */
static tensor mobilevit_linear_attention(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "attn");
    tensor all = conv2d(b, "qkv_proj", x, 1 + 2 * c);
    tensor score = softmax(b, slice(b, all, 1, 0, 1));
    tensor key = slice(b, all, 1, 1, 1 + c);
    tensor value = relu(b, NULL, slice(b, all, 1, 1 + c, 1 + 2 * c));
    tensor context = zoo_call(b, CLV_OP_SUM, "sum", TENSORS(mul(b, key, score)),
                              ATTRS(INTS(AXES, -1), INT(KEEPDIM, 1)));
    x = conv2d(b, "out_proj", mul(b, value, context), c);
    leave(b);
    return x;
}

static tensor mobilevit_linear_layer(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    x = add(b, x, mobilevit_linear_attention(b, group_norm(b, "norm1", x, 1)));
    tensor y = group_norm(b, "norm2", x, 1);
    enter(b, "mlp");
    y = silu(b, "act", conv2d(b, "fc1", y, 2 * c));
    y = conv2d(b, "fc2", y, c);
    leave(b);
    return add(b, x, y);
}

static tensor mobilevit_v2_block(builder *b, tensor x, int depth)
{
    int64_t c = dim(b, x, 1), p = MOBILEVIT_PATCH;
    mobilevit_grid g = mobilevit_cut(b, x);
    x = mobilevit_stretch(b, x, g.down * p, g.across * p, true);
    x = timm_conv(b, "conv_kxk", x, CLV_OP_SILU, c, .kernel = 3, .groups = c);
    g.c = make_divisible((double)c / 2, 8);
    x = conv2d(b, "conv_1x1", x, g.c, .no_bias = true);
    x = reshape(b, x, g.n, g.c, g.down, p, g.across, p);
    x = permute(b, NULL, x, 0, 1, 3, 5, 2, 4);
    x = reshape(b, x, g.n, g.c, p * p, g.down * g.across);
    enter(b, "transformer");
    for (int i = 0; i < depth; i++) {
        enter(b, "%d", i);
        x = mobilevit_linear_layer(b, x);
        leave(b);
    }
    leave(b);
    x = group_norm(b, "norm", x, 1);
    x = reshape(b, x, g.n, g.c, p, p, g.down, g.across);
    x = permute(b, NULL, x, 0, 1, 4, 2, 5, 3);
    x = reshape(b, x, g.n, g.c, g.down * p, g.across * p);
    return timm_conv(b, "conv_proj", x, CLV_OP_IDENTITY, c);
}

/* -- the network ----------------------------------------------------------*/

static tensor mobilevit_stage(builder *b, const mobilevit *v, int stage,
                              tensor x)
{
    int layers = stage == 1 ? v->second : 1;
    for (int i = 0; i < layers; i++) {
        enter(b, "%d", i);
        x = mobilevit_residual(b, x, v->width[stage], stage && !i ? 2 : 1,
                               v->expand);
        leave(b);
    }
    if (stage < 2)
        return x;
    enter(b, "1");
    x = v->v2 ? mobilevit_v2_block(b, x, mobilevit_depth[stage - 2])
              : mobilevit_block(b, x, v->inside[stage - 2],
                                mobilevit_depth[stage - 2]);
    leave(b);
    return x;
}

static void mobilevit_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    const mobilevit *v = variant;
    tensor x = timm_conv(b, "stem", input(b, "x", in), CLV_OP_SILU, v->stem,
                         .kernel = 3, .stride = 2);
    enter(b, "stages");
    for (int stage = 0; stage < MOBILEVIT_STAGES; stage++) {
        enter(b, "%d", stage);
        x = mobilevit_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    if (v->last)
        x = timm_conv(b, "final_conv", x, CLV_OP_SILU, v->last);
    output(b, timm_head(b, x));
}

#define MOBILEVIT_ROW(name, year, ...) \
    { \
        {name, "mobilevit", IMAGE(256), TIMM("classification", year)}, \
            mobilevit_build, &(const mobilevit) \
        { \
            __VA_ARGS__ \
        } \
    }
/* stem, expansion, widths, widths of attention, residuals of stage 1, last */
#define MOBILEVIT(name, ...) MOBILEVIT_ROW(name, 2021, __VA_ARGS__, false)
/* The second version has one number: w, of 32 channels in its stem. */
#define MOBILEVIT_V2(name, w) \
    MOBILEVIT_ROW(name, 2022, w, 2, {2 * w, 4 * w, 8 * w, 12 * w, 16 * w}, \
                  {0}, 2, 0, true)

const zoo_model clv__zoo_mobilevit[] = {
    MOBILEVIT("mobilevit_xxs", 16, 2, {16, 24, 48, 64, 80}, {64, 80, 96}, 3,
              320),
    MOBILEVIT("mobilevit_xs", 16, 4, {32, 48, 64, 80, 96}, {96, 120, 144}, 3,
              384),
    MOBILEVIT("mobilevit_s", 16, 4, {32, 64, 96, 128, 160}, {144, 192, 240}, 3,
              640),
    MOBILEVIT_V2("mobilevitv2_050", 16),
    MOBILEVIT_V2("mobilevitv2_075", 24),
    MOBILEVIT_V2("mobilevitv2_100", 32),
    MOBILEVIT_V2("mobilevitv2_125", 40),
    MOBILEVIT_V2("mobilevitv2_150", 48),
    MOBILEVIT_V2("mobilevitv2_175", 56),
    MOBILEVIT_V2("mobilevitv2_200", 64),
    ZOO_END,
};
