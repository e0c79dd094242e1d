/* maxvit.c - MaxViT: Multi-Axis Vision Transformer (Tu et al., 2022).
 *
 * Every layer has three parts: an inverted residual (MBConv); attention
 * inside windows of 7x7; and attention over a grid of 7x7, whose tokens lie as
 * far apart as the image allows. Both attentions are one module over
 * (N,groups,tokens,C): a grid only swaps which axis is the group. */
#include "zoo/zoo.h"

#include <math.h>

enum { SIZE = 7, HEAD = 32 }; /* side of a window or grid; channels of a head */

/* -- MBConv ---------------------------------------------------------------*/

static tensor maxvit_shortcut(builder *b, tensor x, int64_t out, int64_t stride)
{
    if (stride == 1 && dim(b, x, 1) == out)
        return zoo_module(b, CLV_OP_IDENTITY, "proj", x, NO_ATTRS);
    enter(b, "proj");
    if (stride == 2)
        x = avg_pool2d(b, "0", x, .kernel = 3, .stride = 2, .padding = 1);
    x = conv2d(b, stride == 2 ? "1" : "0", x, out);
    leave(b);
    return x;
}

static tensor maxvit_mbconv(builder *b, tensor x, int64_t out, int64_t stride,
                            bool first)
{
    int64_t wide = 4 * out;
    enter(b, "MBconv");
    tensor y = maxvit_shortcut(b, x, out, stride);
    enter(b, "layers");
    x = batch_norm(b, "pre_norm", x);
    x = conv_norm_act(b, "conv_a", x, CLV_OP_GELU, wide);
    x = conv_norm_act(b, "conv_b", x, CLV_OP_GELU, wide, .kernel = 3,
                      .stride = stride, .groups = wide);
    x = squeeze_excite(b, "squeeze_excitation", x, out / 4, CLV_OP_SILU,
                       CLV_OP_SIGMOID);
    x = conv2d(b, "conv_c", x, out);
    leave(b);
    /* the first layer drops nothing: it has an Identity there */
    x = zoo_module(b, first ? CLV_OP_IDENTITY : CLV_OP_STOCHASTIC_DEPTH,
                   "stochastic_depth", x, NO_ATTRS);
    x = add(b, y, x);
    leave(b);
    return x;
}

/* -- attention ------------------------------------------------------------*/

/* (N,C,H,W) -> (N,groups,p*p,C) in patches of p, and back. */
static tensor maxvit_partition(builder *b, tensor x, int64_t p)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 1);
    int64_t down = dim(b, x, 2) / p, across = dim(b, x, 3) / p;
    enter(b, "partition_op");
    x = reshape(b, x, n, c, down, p, across, p);
    x = permute(b, NULL, x, 0, 2, 4, 3, 5, 1);
    x = reshape(b, x, n, down * across, p * p, c);
    leave(b);
    return x;
}

static tensor maxvit_departition(builder *b, tensor x, int64_t p, int64_t down,
                                 int64_t across)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 3);
    enter(b, "departition_op");
    x = reshape(b, x, n, down, across, p, p, c);
    x = permute(b, NULL, x, 0, 5, 1, 3, 2, 4);
    x = reshape(b, x, n, c, down * p, across * p);
    leave(b);
    return x;
}

/* Swaps groups and tokens: the tokens of a grid are the groups of a window. */
static tensor maxvit_swap(builder *b, const char *name, tensor x, bool grid)
{
    return grid ? zoo_module(b, CLV_OP_TRANSPOSE, name, x,
                             ATTRS(INTS(AXES, -2, -3)))
                : zoo_module(b, CLV_OP_IDENTITY, name, x, NO_ATTRS);
}

static tensor maxvit_position_bias(builder *b, int64_t heads)
{
    int64_t n = SIZE * SIZE, side = 2 * SIZE - 1, dims[] = {n, n};
    tensor table =
        parameter(b, "relative_position_bias_table", side * side, heads);
    tensor index =
        weight(b, "relative_position_index", CLV_VALUE_BUFFER, 2, dims);
    constant_ints(b, index, offset_rows(b, SIZE), (uint32_t)(n * n));
    index = reshape(b, index, n * n);
    tensor bias =
        zoo_call(b, CLV_OP_INDEX, "index", TENSORS(table, index), NO_ATTRS);
    bias = permute(b, NULL, reshape(b, bias, n, n, heads), 2, 0, 1);
    return zoo_call(b, CLV_OP_UNSQUEEZE, "unsqueeze", TENSORS(bias),
                    ATTRS(INTS(AXES, 0)));
}

static tensor maxvit_einsum(builder *b, const char *equation, tensor x,
                            tensor y)
{
    return zoo_call(b, CLV_OP_EINSUM, "einsum", TENSORS(x, y),
                    ATTRS(STRING(EQUATION, equation)));
}

/* x (N,G,P,C): the P tokens of every group attend to each other. */
static tensor maxvit_attention(builder *b, const char *name, tensor x)
{
    int64_t n = dim(b, x, 0), g = dim(b, x, 1), t = dim(b, x, 2);
    int64_t c = dim(b, x, 3), heads = c / HEAD;
    tensor part[3];
    enter(b, "%s", name);
    chunk(b, linear(b, "to_qkv", x, 3 * c), 3, -1, part);
    for (int i = 0; i < 3; i++) {
        part[i] = reshape(b, part[i], n, g, t, heads, HEAD);
        part[i] = permute(b, NULL, part[i], 0, 1, 3, 2, 4);
    }
    tensor k = scale(b, part[1], 1 / sqrt((double)c));
    x = maxvit_einsum(b, "BGHID,BGHJD->BGHIJ", part[0], k);
    x = softmax(b, add(b, x, maxvit_position_bias(b, heads)));
    x = maxvit_einsum(b, "BGHIJ,BGHJD->BGHID", x, part[2]);
    x = permute(b, NULL, x, 0, 1, 3, 2, 4);
    x = linear(b, "merge", reshape(b, x, n, g, t, c), c);
    leave(b);
    return x;
}

static tensor maxvit_attend(builder *b, const char *name, tensor x, bool grid)
{
    int64_t h = dim(b, x, 2), w = dim(b, x, 3), c = dim(b, x, 1);
    int64_t p = grid ? h / SIZE : SIZE;
    double eps = b->norm_eps;
    b->norm_eps = 0;
    enter(b, "%s", name);
    x = maxvit_swap(b, "partition_swap", maxvit_partition(b, x, p), grid);
    enter(b, "attn_layer");
    tensor y = layer_norm(b, "0", x);
    y = dropout(b, "2", maxvit_attention(b, "1", y));
    leave(b);
    x = add(b, x, stochastic_depth(b, "stochastic_dropout", y));
    enter(b, "mlp_layer");
    y = layer_norm(b, "0", x);
    y = gelu(b, "2", linear(b, "1", y, 4 * c));
    y = dropout(b, "4", linear(b, "3", y, c));
    leave(b);
    x = add(b, x, stochastic_depth(b, "stochastic_dropout", y));
    x = maxvit_swap(b, "departition_swap", x, grid);
    x = maxvit_departition(b, x, p, h / p, w / p);
    leave(b);
    b->norm_eps = eps;
    return x;
}

/* -- the network ----------------------------------------------------------*/

static tensor maxvit_layer(builder *b, tensor x, int64_t out, int64_t stride,
                           bool first)
{
    x = maxvit_mbconv(b, x, out, stride, first);
    int64_t h = dim(b, x, 2), w = dim(b, x, 3);
    if (h % SIZE || w % SIZE || h != w) {
        refuse(b, "a feature map of %lldx%lld cannot be cut into %dx%d",
               (long long)h, (long long)w, SIZE, SIZE);
        return CLV_NONE;
    }
    x = maxvit_attend(b, "window_attention", x, false);
    return maxvit_attend(b, "grid_attention", x, true);
}

static tensor maxvit_block(builder *b, tensor x, int stage)
{
    static const int depth[] = {2, 2, 5, 2};
    enter(b, "layers");
    for (int i = 0; i < depth[stage]; i++) {
        enter(b, "%d", i);
        enter(b, "layers");
        x = maxvit_layer(b, x, INT64_C(64) << stage, i ? 1 : 2, !stage && !i);
        leave(b);
        leave(b);
    }
    leave(b);
    return x;
}

static tensor maxvit_stem(builder *b, tensor x)
{
    enter(b, "stem");
    x = conv_norm_act(b, "0", x, CLV_OP_GELU, 64, .kernel = 3, .stride = 2);
    enter(b, "1");
    x = conv2d(b, "0", x, 64, .kernel = 3, .padding = 1);
    leave(b);
    leave(b);
    return x;
}

static tensor maxvit_classifier(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "classifier");
    x = adaptive_avg_pool2d(b, "0", x, 1);
    x = zoo_module(b, CLV_OP_FLATTEN, "1", x, ATTRS(INT(START, 1)));
    b->norm_eps = 0;
    x = layer_norm(b, "2", x);
    x = linear(b, "3", x, c);
    x = zoo_module(b, CLV_OP_TANH, "4", x, NO_ATTRS);
    x = linear_no_bias(b, "5", x, 1000);
    leave(b);
    return x;
}

static void maxvit_build(builder *b, const zoo_input *in, const void *variant)
{
    (void)variant;
    b->norm_eps = 1e-3;
    tensor x = maxvit_stem(b, input(b, "x", in));
    enter(b, "blocks");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", stage);
        x = maxvit_block(b, x, stage);
        leave(b);
    }
    leave(b);
    output(b, maxvit_classifier(b, x));
}

const zoo_model clv__zoo_maxvit[] = {
    {{"maxvit_t", "maxvit", IMAGE(224), TORCHVISION("classification", 2022)},
     maxvit_build,
     NULL},
    ZOO_END,
};
