/* coatnet.c - CoAtNet: Marrying Convolution and Attention (Dai et al., 2021),
 * as timm has it.
 *
 * Two stages of inverted residuals, two of attention over the whole image with
 * a learned bias for each offset. The paper's sizes are coatnet_0 to 5; those
 * with "rw" in their name differ in where widths grow, in biases, and in how
 * the image becomes smaller; with "rmlp" a small perceptron computes the bias
 * from the offset. */
#include "zoo/zoo.h"

#include <math.h>

enum { COAT_HEAD = 32, COAT_EXPAND = 4 };

typedef struct coatnet {
    int64_t size, stem[2], width[4];
    int depth[4];
    int64_t classes;
    int64_t offsets; /* width of the perceptron of offsets; 0: a table */
    clv_op act;      /* of convolutions */
    clv_op se_act;   /* of their squeeze-and-excitation */
    bool paper;      /* widths grow before a block's inner layers, not after;
                      * a hidden layer in the head */
    bool pools;      /* convolution blocks pool; else the 3x3 has a stride */
    bool max_pools;  /* shortcuts take maxima, not means */
    bool pre_act;    /* an activation behind a block's first norm */
    bool no_bias;    /* in the last convolution of a block */
    bool early;      /* squeeze-and-excitation before the norm */
    bool next;       /* ConvNeXt blocks instead of inverted residuals */
    bool mixed;      /* stages 2 and 3 begin with a convolution block */
    bool batch;      /* batch norms in attention blocks */
    bool short_no_bias;
    bool scaled; /* branches of attention blocks */
} coatnet;

/* -- parts ----------------------------------------------------------------*/

/* The norm of convolution blocks, with its activation. */
static tensor coat_conv_norm(builder *b, const coatnet *v, const char *name,
                             tensor x, clv_op act)
{
    b->norm_eps = v->next ? 1e-6 : 1e-5;
    if (!v->next)
        return norm_act(b, name, x, act);
    x = layer_norm_2d(b, name, x);
    enter(b, "%s", name);
    x = zoo_module(b, act, "act", x, NO_ATTRS);
    leave(b);
    return x;
}

/* The norm of attention blocks. */
static tensor coat_norm(builder *b, const coatnet *v, const char *name,
                        tensor x)
{
    b->norm_eps = 1e-6;
    return v->batch ? batch_norm(b, name, x) : layer_norm_2d(b, name, x);
}

static tensor coat_pool(builder *b, tensor x, bool max)
{
    return max ? max_pool2d(b, "pool", x, .kernel = 3, .stride = 2,
                            .padding = 1)
               : avg_pool2d(b, "pool", x, .kernel = 2);
}

static tensor coat_shortcut(builder *b, tensor x, int64_t out, bool max,
                            bool no_bias)
{
    enter(b, "shortcut");
    x = coat_pool(b, x, max);
    if (dim(b, x, 1) != out)
        x = conv2d(b, "expand", x, out, .no_bias = no_bias);
    leave(b);
    return x;
}

static tensor coat_scaled(builder *b, const char *name, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "%s", name);
    x = mul(b, x, reshape(b, parameter(b, "gamma", c), 1, c, 1, 1));
    leave(b);
    return x;
}

static tensor coat_mlp(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "mlp");
    x = gelu(b, "act", conv2d(b, "fc1", x, COAT_EXPAND * c));
    x = conv2d(b, "fc2", x, c);
    leave(b);
    return x;
}

/* -- convolution blocks ---------------------------------------------------*/

static tensor coat_residual(builder *b, const coatnet *v, tensor x, int64_t out,
                            bool halve)
{
    int64_t wide = COAT_EXPAND * (v->paper ? out : dim(b, x, 1));
    timm_se se = {"fc1",     "fc2",          (v->paper ? out : wide) / 4,
                  v->se_act, CLV_OP_SIGMOID, NULL};
    tensor shortcut =
        halve ? coat_shortcut(b, x, out, v->max_pools, v->no_bias) : x;
    x = coat_conv_norm(b, v, "pre_norm", x,
                       v->pre_act ? v->act : CLV_OP_IDENTITY);
    if (halve && v->pools) {
        enter(b, "down");
        x = coat_pool(b, x, false);
        leave(b);
    }
    x = conv2d(b, "conv1_1x1", x, wide, .no_bias = true);
    x = coat_conv_norm(b, v, "norm1", x, v->act);
    x = conv2d(b, "conv2_kxk", x, wide, .kernel = 3, .padding = 1,
               .stride = halve && !v->pools ? 2 : 1, .groups = wide,
               .no_bias = true);
    if (v->early)
        x = timm_excite(b, "se_early", x, &se);
    x = coat_conv_norm(b, v, "norm2", x, v->act);
    if (!v->early)
        x = timm_excite(b, "se", x, &se);
    x = conv2d(b, "conv3_1x1", x, out, .no_bias = v->no_bias);
    return add(b, x, shortcut);
}

static tensor coat_next(builder *b, tensor x, int64_t out, bool halve)
{
    tensor shortcut = halve ? coat_shortcut(b, x, out, false, false) : x;
    x = conv2d(b, "conv_dw", x, out, .kernel = 7, .padding = 3,
               .stride = halve ? 2 : 1, .groups = dim(b, x, 1));
    b->norm_eps = 1e-6;
    x = coat_mlp(b, layer_norm_2d(b, "norm", x));
    return add(b, coat_scaled(b, "ls", x), shortcut);
}

/* -- attention blocks -----------------------------------------------------*/

/* What a stage attends over: side x side tokens, and for each pair of them the
 * row of the table of offsets. */
typedef struct coat_map {
    int64_t side;
    const int64_t *rows;
} coat_map;

static double coat_coordinate(int64_t offset)
{
    return copysign(log1p(fabs((double)offset)), (double)offset);
}

/* The coordinates of all offsets, (2 side - 1,2 side - 1,2): rows, columns. */
static tensor coat_coordinates(builder *b, int64_t side)
{
    int64_t n = 2 * side - 1, dims[] = {n, n, 2};
    tensor w = weight(b, "rel_coords_log", CLV_VALUE_CONST, 3, dims);
    double *at = constant_floats(b, w, (uint32_t)(n * n * 2));
    for (int64_t y = 0; at && y < n; y++)
        for (int64_t x = 0; x < n; x++) {
            double *pair = at + 2 * (y * n + x);
            pair[0] = x ? pair[-2] : coat_coordinate(y - side + 1);
            pair[1] = y ? pair[1 - 2 * n] : coat_coordinate(x - side + 1);
        }
    return w;
}

/* One number for each head and offset, (offsets,heads). */
static tensor coat_table(builder *b, const coatnet *v, int64_t side,
                         int64_t heads)
{
    int64_t n = (2 * side - 1) * (2 * side - 1);
    if (!v->offsets)
        return parameter(b, "relative_position_bias_table", n, heads);
    tensor x = coat_coordinates(b, side);
    enter(b, "mlp");
    x = relu(b, "act", linear(b, "fc1", x, v->offsets));
    x = linear(b, "fc2", x, heads);
    leave(b);
    return reshape(b, x, n, heads);
}

/* What is added to the scores: (1,heads,n,n) for n = side * side. */
static tensor coat_bias(builder *b, const coatnet *v, const coat_map *map,
                        int64_t heads)
{
    int64_t n = map->side * map->side, dims[] = {n * n};
    enter(b, "rel_pos");
    tensor table = coat_table(b, v, map->side, heads);
    tensor index =
        weight(b, "relative_position_index", CLV_VALUE_CONST, 1, dims);
    constant_ints(b, index, map->rows, (uint32_t)(n * n));
    tensor x =
        zoo_call(b, CLV_OP_INDEX, "index", TENSORS(table, index), NO_ATTRS);
    x = permute(b, NULL, reshape(b, x, n, n, heads), 2, 0, 1);
    x = reshape(b, x, 1, heads, n, n);
    leave(b);
    return x;
}

static tensor coat_attention(builder *b, const coatnet *v, const coat_map *map,
                             tensor x, int64_t out)
{
    int64_t n = dim(b, x, 0), h = dim(b, x, 2), w = dim(b, x, 3);
    int64_t c = v->paper ? out : dim(b, x, 1), heads = c / COAT_HEAD;
    tensor part[4];
    need_map(b, x, map->side);
    enter(b, "attn");
    x = conv2d(b, "qkv", x, 3 * c);
    x = reshape(b, x, n, heads, 3 * COAT_HEAD, h * w);
    chunk(b, x, 3, 2, part);
    for (int i = 0; i < 3; i++)
        part[i] = transpose(b, part[i], -1, -2);
    part[3] = coat_bias(b, v, map, heads);
    x = zoo_call(b, CLV_OP_SDPA, "attention", part, 4, NO_ATTRS);
    x = reshape(b, transpose(b, x, -1, -2), n, c, h, w);
    x = conv2d(b, "proj", x, out);
    leave(b);
    return x;
}

/* The norm; where the image becomes smaller it is one of two layers. */
static tensor coat_first_norm(builder *b, const coatnet *v, tensor x,
                              bool halve)
{
    if (!halve)
        return coat_norm(b, v, "norm1", x);
    enter(b, "norm1");
    x = coat_norm(b, v, "norm", x);
    enter(b, "down");
    x = coat_pool(b, x, v->max_pools);
    leave(b);
    leave(b);
    return x;
}

static tensor coat_transformer(builder *b, const coatnet *v,
                               const coat_map *map, tensor x, int64_t out,
                               bool halve)
{
    tensor shortcut =
        halve ? coat_shortcut(b, x, out, v->max_pools, v->short_no_bias) : x;
    x = coat_first_norm(b, v, x, halve);
    x = coat_attention(b, v, map, x, out);
    x = add(b, shortcut, v->scaled ? coat_scaled(b, "ls1", x) : x);
    tensor y = coat_mlp(b, coat_norm(b, v, "norm2", x));
    return add(b, x, v->scaled ? coat_scaled(b, "ls2", y) : y);
}

/* -- the network ----------------------------------------------------------*/

static tensor coat_stem(builder *b, const coatnet *v, tensor x)
{
    enter(b, "stem");
    x = conv2d(b, "conv1", x, v->stem[0], .kernel = 3, .stride = 2,
               .padding = 1, .no_bias = true);
    x = coat_conv_norm(b, v, "norm1", x, v->act);
    x = conv2d(b, "conv2", x, v->stem[1], .kernel = 3, .padding = 1,
               .no_bias = true);
    leave(b);
    return x;
}

static tensor coat_stage(builder *b, const coatnet *v, int stage, tensor x)
{
    int64_t out = v->width[stage];
    coat_map map = {v->size >> (stage + 2), NULL};
    if (stage >= 2)
        map.rows = offset_rows(b, map.side);
    enter(b, "blocks");
    for (int i = 0; i < v->depth[stage]; i++) {
        bool attends = stage >= 2 && !(v->mixed && !i);
        enter(b, "%d", i);
        x = attends   ? coat_transformer(b, v, &map, x, out, !i)
            : v->next ? coat_next(b, x, out, !i)
                      : coat_residual(b, v, x, out, !i);
        leave(b);
    }
    leave(b);
    return x;
}

/* The paper's head has a hidden layer. */
static tensor coat_hidden_head(builder *b, const coatnet *v, tensor x)
{
    b->norm_eps = 1e-6;
    enter(b, "head");
    x = timm_pool(b, x);
    x = flatten(b, layer_norm_2d(b, "norm", x), 1);
    enter(b, "pre_logits");
    x = linear(b, "fc", x, v->width[3]);
    x = zoo_module(b, CLV_OP_TANH, "act", x, NO_ATTRS);
    leave(b);
    x = linear(b, "fc", x, v->classes);
    leave(b);
    return x;
}

static void coatnet_build(builder *b, const zoo_input *in, const void *variant)
{
    const coatnet *v = variant;
    tensor x = input(b, "x", in);
    x = coat_stem(b, v, x);
    enter(b, "stages");
    for (int stage = 0; stage < 4; stage++) {
        enter(b, "%d", stage);
        x = coat_stage(b, v, stage, x);
        leave(b);
    }
    leave(b);
    output(b, v->paper
                  ? coat_hidden_head(b, v, x)
                  : timm_head_of(b, coat_norm(b, v, "norm", x), v->classes));
}

#define COAT_ROW(name, size_, year, ...) \
    { \
        {name, "coatnet", IMAGE(size_), TIMM("classification", year)}, \
            coatnet_build, &(const coatnet) \
        { \
            .size = size_, __VA_ARGS__ \
        } \
    }
#define COAT_PAPER(name, ...) \
    COAT_ROW(name, 224, 2021, __VA_ARGS__, .paper = true, .act = CLV_OP_GELU, \
             .se_act = CLV_OP_SILU, .classes = 1000)
/* timm's first own ones, and later ones. */
#define COAT_RW(name, size, se, ...) \
    COAT_ROW(name, size, 2022, __VA_ARGS__, .act = CLV_OP_SILU, \
             .se_act = CLV_OP_##se, .pre_act = true, .no_bias = true)
#define COAT_NEW(name, ...) \
    COAT_ROW(name, 224, 2022, COAT_NANO, __VA_ARGS__, .act = CLV_OP_SILU, \
             .se_act = CLV_OP_SILU, .classes = 1000)

/* stem and widths */
#define COAT_NANO .stem = {32, 64}, .width = {64, 128, 256, 512}
#define COAT_0    .stem = {32, 64}, .width = {96, 192, 384, 768}
#define COAT_2    .stem = {64, 128}, .width = {128, 256, 512, 1024}
#define COAT_3    .stem = {96, 192}, .width = {192, 384, 768, 1536}
/* depths */
#define COAT_SHORT .depth = {2, 3, 7, 2}
#define COAT_LONG  .depth = {2, 6, 14, 2}

const zoo_model clv__zoo_coatnet[] = {
    COAT_PAPER("coatnet_0_224", .stem = {64, 64}, .width = {96, 192, 384, 768},
               .depth = {2, 3, 5, 2}),
    COAT_PAPER("coatnet_1_224", .stem = {64, 64}, .width = {96, 192, 384, 768},
               COAT_LONG),
    COAT_PAPER("coatnet_2_224", .stem = {128, 128},
               .width = {128, 256, 512, 1024}, COAT_LONG),
    COAT_PAPER("coatnet_3_224", .stem = {192, 192},
               .width = {192, 384, 768, 1536}, COAT_LONG),
    COAT_PAPER("coatnet_4_224", .stem = {192, 192},
               .width = {192, 384, 768, 1536}, .depth = {2, 12, 28, 2}),
    COAT_PAPER("coatnet_5_224", .stem = {192, 192},
               .width = {256, 512, 1280, 2048}, .depth = {2, 12, 28, 2}),
    COAT_NEW("coatnet_pico_rw_224", .depth = {2, 3, 5, 2}),
    COAT_NEW("coatnet_nano_rw_224", .depth = {3, 4, 6, 3}, .pools = true),
    COAT_NEW("coatnet_rmlp_nano_rw_224", .depth = {3, 4, 6, 3}, .offsets = 384),
    COAT_RW("coatnet_0_rw_224", 224, RELU, COAT_0, COAT_SHORT, .classes = 1000,
            .pools = true, .early = true, .short_no_bias = true),
    COAT_RW("coatnet_1_rw_224", 224, RELU, COAT_0, COAT_LONG, .classes = 1000,
            .early = true, .short_no_bias = true),
    COAT_RW("coatnet_2_rw_224", 224, SILU, COAT_2, COAT_LONG, .classes = 1000),
    COAT_RW("coatnet_3_rw_224", 224, SILU, COAT_3, COAT_LONG, .classes = 11821,
            .scaled = true),
    COAT_RW("coatnet_bn_0_rw_224", 224, RELU, COAT_0, COAT_SHORT,
            .classes = 1000, .early = true, .short_no_bias = true,
            .batch = true),
    COAT_RW("coatnet_rmlp_0_rw_224", 224, RELU, COAT_0, COAT_SHORT,
            .classes = 1000, .offsets = 512),
    COAT_RW("coatnet_rmlp_1_rw_224", 224, RELU, COAT_0, COAT_LONG,
            .classes = 1000, .pools = true, .max_pools = true, .early = true,
            .short_no_bias = true, .offsets = 384),
    COAT_RW("coatnet_rmlp_1_rw2_224", 224, RELU, COAT_0, COAT_LONG,
            .classes = 1000, .offsets = 512),
    COAT_RW("coatnet_rmlp_2_rw_224", 224, SILU, COAT_2, COAT_LONG,
            .classes = 1000, .offsets = 512, .scaled = true),
    COAT_RW("coatnet_rmlp_2_rw_384", 384, SILU, COAT_2, COAT_LONG,
            .classes = 1000, .offsets = 512, .scaled = true),
    COAT_RW("coatnet_rmlp_3_rw_224", 224, SILU, COAT_3, COAT_LONG,
            .classes = 1000, .offsets = 512, .scaled = true),
    COAT_RW("coatnet_nano_cc_224", 224, RELU, COAT_NANO, .depth = {3, 4, 6, 3},
            .classes = 1000, .pools = true, .mixed = true),
    COAT_ROW("coatnext_nano_rw_224", 224, 2022, COAT_NANO,
             .depth = {3, 4, 6, 3}, .classes = 1000, .act = CLV_OP_GELU,
             .next = true),
    ZOO_END,
};
