/* segformer.c - SegFormer (Xie et al., 2021), as transformers has it: MiT
 * backbones ("mit-b0") with a classifier, and with the head of all scales.
 *
 * Four stages of blocks; a stage starts with overlapping patches. Keys and
 * values come from a smaller image, which a strided convolution makes. A
 * depthwise convolution inside the perceptron tells where a token stands. The
 * head brings all scales to one width and size, and joins them. */
#include "zoo/transformer.h"

typedef struct segformer {
    int depth[4];
    int64_t width[4];
    int64_t decoder; /* width of the head; 0: a classifier instead */
} segformer;

/* Where the tokens (N,H*W,C) of a stage stand. */
typedef struct segformer_map {
    int64_t h, w, heads, reduction;
} segformer_map;

enum { SEGFORMER_LABELS = 150 };

/* (N,H*W,C) -> (N,C,H,W), and back. */
static tensor segformer_image(builder *b, const segformer_map *m, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 2);
    return reshape(b, transpose(b, x, 1, 2), n, c, m->h, m->w);
}

static tensor segformer_tokens(builder *b, tensor x)
{
    return transpose(b, flatten(b, x, 2), 1, 2);
}

static tensor segformer_attention(builder *b, const segformer_map *m, tensor x)
{
    int64_t c = dim(b, x, 2);
    double eps = b->norm_eps;
    enter(b, "attention");
    tensor q = linear(b, "q_proj", x, c), from = x;
    if (m->reduction > 1) {
        enter(b, "sequence_reduction");
        from = segformer_image(b, m, x);
        from = conv2d(b, "sequence_reduction", from, c, .kernel = m->reduction,
                      .stride = m->reduction);
        b->norm_eps = 1e-5;
        from = layer_norm(b, "layer_norm", segformer_tokens(b, from));
        b->norm_eps = eps;
        leave(b);
    }
    tensor k = linear(b, "k_proj", from, c), v = linear(b, "v_proj", from, c);
    x = attend(b, q, k, v, .heads = m->heads);
    x = linear(b, "o_proj", x, c);
    leave(b);
    return x;
}

static tensor segformer_block(builder *b, const segformer_map *m, tensor x)
{
    int64_t c = dim(b, x, 2);
    tensor y = layer_norm(b, "layernorm_before", x);
    x = add(b, segformer_attention(b, m, y), x);
    y = layer_norm(b, "layernorm_after", x);
    enter(b, "mlp");
    y = segformer_image(b, m, linear(b, "fc1", y, 4 * c));
    enter(b, "dwconv");
    y = conv2d(b, "dwconv", y, 4 * c, .kernel = 3, .padding = 1,
               .groups = 4 * c);
    leave(b);
    y = gelu(b, "activation_fn", segformer_tokens(b, y));
    y = linear(b, "fc2", y, c);
    leave(b);
    return add(b, y, x);
}

/* (N,C,H,W) -> (N,width,H/2,W/2), by a quarter in stage 0 */
static tensor segformer_stage(builder *b, const segformer *v, int i, tensor x)
{
    static const int64_t heads[] = {1, 2, 5, 8}, reduction[] = {8, 4, 2, 1};
    enter(b, "%d", i);
    enter(b, "patch_embeddings");
    x = conv2d(b, "proj", x, v->width[i], .kernel = i ? 3 : 7,
               .stride = i ? 2 : 4, .padding = i ? 1 : 3);
    segformer_map m = {dim(b, x, 2), dim(b, x, 3), heads[i], reduction[i]};
    b->norm_eps = 1e-5;
    x = layer_norm(b, "layer_norm", segformer_tokens(b, x));
    leave(b);
    b->norm_eps = 1e-6;
    enter(b, "blocks");
    for (int k = 0; k < v->depth[i]; k++) {
        enter(b, "%d", k);
        x = segformer_block(b, &m, x);
        leave(b);
    }
    leave(b);
    x = layer_norm(b, "layer_norm", x);
    leave(b);
    return segformer_image(b, &m, x);
}

static tensor segformer_head(builder *b, const segformer *v,
                             const tensor scales[4])
{
    tensor wide[4];
    int64_t n = dim(b, scales[0], 0);
    int64_t h = dim(b, scales[0], 2), w = dim(b, scales[0], 3);
    enter(b, "decode_head");
    enter(b, "linear_projections");
    for (int i = 0; i < 4; i++) {
        enter(b, "%d", i);
        tensor x =
            linear(b, "proj", segformer_tokens(b, scales[i]), v->decoder);
        leave(b);
        x = reshape(b, transpose(b, x, 1, 2), n, v->decoder,
                    dim(b, scales[i], 2), dim(b, scales[i], 3));
        wide[3 - i] =
            zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                     ATTRS(INTS(SIZE, h, w), STRING(MODE, "bilinear")));
    }
    leave(b);
    tensor x = conv2d(b, "linear_fuse", cat(b, wide, 4, 1), v->decoder,
                      .no_bias = true);
    b->norm_eps = 1e-5;
    x = relu(b, "activation", batch_norm(b, "batch_norm", x));
    x = conv2d(b, "classifier", x, SEGFORMER_LABELS, .kernel = 1);
    leave(b);
    return x;
}

static void segformer_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    const segformer *v = variant;
    tensor x = input(b, "pixel_values", in), scales[4];
    enter_path(b, "segformer.stages");
    for (int i = 0; i < 4; i++)
        scales[i] = x = segformer_stage(b, v, i, x);
    leave_path(b, "segformer.stages");
    if (v->decoder) {
        output(b, segformer_head(b, v, scales));
        return;
    }
    x = reshape(b, permute(b, NULL, x, 0, 2, 3, 1), dim(b, x, 0), -1,
                v->width[3]);
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                 ATTRS(INTS(AXES, 1), INT(KEEPDIM, 0)));
    output(b, linear(b, "classifier", x, 1000));
}

#define SEGFORMER_OF(name, size, task, ...) \
    { \
        {name, "segformer", IMAGE(size), HOME(task, "transformers", 2021), \
         .input_name = "pixel_values"}, \
            segformer_build, &(const segformer) \
        { \
            __VA_ARGS__ \
        } \
    }
#define MIT(name, ...) \
    SEGFORMER_OF("mit-" name, 224, "classification", __VA_ARGS__)
#define SEGFORMER(name, size, text, decoder, ...) \
    SEGFORMER_OF("segformer-" name "-finetuned-ade-" text, size, \
                 "segmentation", __VA_ARGS__, decoder)
#define NARROW \
    { \
        32, 64, 160, 256 \
    }
#define WIDE \
    { \
        64, 128, 320, 512 \
    }

const zoo_model clv__zoo_segformer[] = {
    MIT("b0", {2, 2, 2, 2}, NARROW, 0),
    MIT("b1", {2, 2, 2, 2}, WIDE, 0),
    MIT("b2", {3, 4, 6, 3}, WIDE, 0),
    MIT("b3", {3, 4, 18, 3}, WIDE, 0),
    MIT("b4", {3, 8, 27, 3}, WIDE, 0),
    MIT("b5", {3, 6, 40, 3}, WIDE, 0),
    SEGFORMER("b0", 512, "512-512", 256, {2, 2, 2, 2}, NARROW),
    SEGFORMER("b1", 512, "512-512", 256, {2, 2, 2, 2}, WIDE),
    SEGFORMER("b2", 512, "512-512", 768, {3, 4, 6, 3}, WIDE),
    SEGFORMER("b3", 512, "512-512", 768, {3, 4, 18, 3}, WIDE),
    SEGFORMER("b4", 512, "512-512", 768, {3, 8, 27, 3}, WIDE),
    SEGFORMER("b5", 640, "640-640", 768, {3, 6, 40, 3}, WIDE),
    ZOO_END,
};
