/* dit.c - DiT (Peebles & Xie, 2023): diffusion with a transformer, as diffusers
 * has it.
 *
 * The latent image is cut into patches. Every block is told the step and the
 * class by numbers that shift, scale and gate its branches; each block computes
 * them with an embedding of its own. */
#include "zoo/diffusion.h"

#include <math.h>
#include <string.h>

typedef struct dit {
    block_sizes sizes;
    int64_t patch;
    int64_t side; /* of the latent image that positions are numbered for */
} dit;

enum { DIT_CLASSES = 1001, DIT_CHANNELS = 4, DIT_WAVES = 256 };

/* -- positions ------------------------------------------------------------*/

/* Sines, then cosines, of a position times n frequencies each. */
static void dit_waves(float *out, double position, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double angle = position * exp(-log(10000) * (double)i / (double)n);
        out[i] = (float)sin(angle);
        out[n + i] = (float)cos(angle);
    }
}

/* Positions of h x w patches: half of the channels say the column, half the
 * row. Other sizes than `side` are stretched over the same range. */
static tensor dit_positions(builder *b, int64_t h, int64_t w, int64_t width,
                            int64_t side)
{
    int64_t dims[] = {1, h * w, width}, half = width / 2, quarter = width / 4;
    tensor p = weight(b, "pos_embed", CLV_VALUE_CONST, 3, dims);
    float *at = constant_bytes(b, p, CLV_FLOAT32);
    for (int64_t y = 0; at && y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            float *own = at + (y * w + x) * width;
            if (y == 0)
                dit_waves(own, (double)(x * side) / (double)w, quarter);
            else
                memcpy(own, at + x * width, (size_t)half * sizeof *own);
            if (x == 0)
                dit_waves(own + half, (double)(y * side) / (double)h, quarter);
            else
                memcpy(own + half, own + half - width,
                       (size_t)half * sizeof *own);
        }
    return p;
}

static tensor dit_patches(builder *b, const dit *v, tensor x)
{
    enter(b, "pos_embed");
    x = conv2d(b, "proj", x, v->sizes.width, .kernel = v->patch,
               .stride = v->patch);
    int64_t h = dim(b, x, 2), w = dim(b, x, 3);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    x = add(b, x, dit_positions(b, h, w, v->sizes.width, v->side / v->patch));
    leave(b);
    return x;
}

/* -- blocks ---------------------------------------------------------------*/

/* What a block is told: the step and the class. */
static tensor dit_condition(builder *b, const dit *v, tensor step, tensor class)
{
    enter(b, "emb");
    enter(b, "time_proj");
    tensor t = diffusion_waves(b, step, DIT_WAVES, 1);
    leave(b);
    t = diffusion_step(b, "timestep_embedder", t, v->sizes.width);
    tensor c = embedding(b, "class_embedder.embedding_table", class,
                         DIT_CLASSES, v->sizes.width);
    t = add(b, t, c);
    leave(b);
    return t;
}

static tensor dit_norm(builder *b, const char *name, tensor x, double eps)
{
    return zoo_module(b, CLV_OP_LAYER_NORM, name, x,
                      ATTRS(INT(AXIS, -1), FLOAT(EPSILON, eps)));
}

/* (N,E) -> (N,1,E) */
static tensor dit_for_all(builder *b, tensor x)
{
    return zoo_call(b, CLV_OP_UNSQUEEZE, "unsqueeze", TENSORS(x),
                    ATTRS(INTS(AXES, 1)));
}

/* x (1 + scale) + shift */
static tensor dit_modulate(builder *b, tensor x, tensor scale_by, tensor by)
{
    x = mul(b, x, shift(b, dit_for_all(b, scale_by), 1));
    return add(b, x, dit_for_all(b, by));
}

static tensor dit_mlp(builder *b, const dit *v, tensor x)
{
    enter_path(b, "ff.net");
    enter(b, "0");
    x = linear(b, "proj", x, v->sizes.hidden);
    x = zoo_module(b, CLV_OP_GELU, NULL, x, ATTRS(STRING(APPROXIMATE, "tanh")));
    leave(b);
    x = dropout(b, "1", x);
    x = linear(b, "2", x, v->sizes.width);
    leave_path(b, "ff.net");
    return x;
}

static tensor dit_block(builder *b, const dit *v, tensor x, tensor step,
                        tensor class)
{
    enum { SHIFT1, SCALE1, GATE1, SHIFT2, SCALE2, GATE2, TOLD };
    tensor told[TOLD];
    enter(b, "norm1");
    tensor t = silu(b, "silu", dit_condition(b, v, step, class));
    chunk(b, linear(b, "linear", t, TOLD * v->sizes.width), TOLD, 1, told);
    tensor y = dit_norm(b, "norm", x, 1e-6);
    y = dit_modulate(b, y, told[SCALE1], told[SHIFT1]);
    leave(b);
    y = diffusion_attention(b, "attn1", y, y, v->sizes.heads, true);
    x = add(b, mul(b, dit_for_all(b, told[GATE1]), y), x);
    y = dit_norm(b, "norm3", x, 1e-5);
    y = dit_mlp(b, v, dit_modulate(b, y, told[SCALE2], told[SHIFT2]));
    return add(b, mul(b, dit_for_all(b, told[GATE2]), y), x);
}

/* -- the network ----------------------------------------------------------*/

/* The step and the class once more, by the embedding of block 0. */
static tensor dit_last(builder *b, const dit *v, tensor x, tensor step,
                       tensor class)
{
    tensor told[2];
    b->shared = true;
    enter_path(b, "transformer_blocks.0.norm1");
    tensor t = dit_condition(b, v, step, class);
    leave_path(b, "transformer_blocks.0.norm1");
    b->shared = false;
    t = linear(b, "proj_out_1", silu(b, NULL, t), 2 * v->sizes.width);
    chunk(b, t, 2, 1, told);
    x = dit_modulate(b, dit_norm(b, "norm_out", x, 1e-6), told[1], told[0]);
    return linear(b, "proj_out_2", x, v->patch * v->patch * 2 * DIT_CHANNELS);
}

/* Patches to an image. They are taken to make up a square. */
static tensor dit_image(builder *b, const dit *v, tensor x)
{
    int64_t tokens = dim(b, x, 1), n = dim(b, x, 0), p = v->patch;
    int64_t side = (int64_t)sqrt((double)tokens), c = 2 * DIT_CHANNELS;
    if (side * side != tokens)
        refuse(b, "%lld patches do not make up a square", (long long)tokens);
    x = reshape(b, x, n, side, side, p, p, c);
    x = permute(b, NULL, x, 0, 5, 1, 3, 2, 4);
    return reshape(b, x, n, c, side * p, side * p);
}

static void dit_build(builder *b, const zoo_input *in, const void *variant)
{
    const dit *v = variant;
    tensor x = input(b, "hidden_states", in);
    tensor step = further_ids(b, "timestep", dim(b, x, 0));
    tensor class = further_ids(b, "class_labels", dim(b, x, 0));
    x = dit_patches(b, v, x);
    enter(b, "transformer_blocks");
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "%d", i);
        x = dit_block(b, v, x, step, class);
        leave(b);
    }
    leave(b);
    output(b, dit_image(b, v, dit_last(b, v, x, step, class)));
}

#define DIT(name, patch, side, ...) \
    { \
        {name, \
         "dit", \
         .rank = 4, \
         .input = {1, DIT_CHANNELS, side, side}, \
         HOME("image-generation", "diffusers", 2023), \
         .input_name = "hidden_states"}, \
            dit_build, &(const dit) \
        { \
            {__VA_ARGS__}, patch, side \
        } \
    }
#define DITS(letter, ...) \
    DIT("DiT-" letter "-2-256", 2, 32, __VA_ARGS__), \
        DIT("DiT-" letter "-4-256", 4, 32, __VA_ARGS__), \
        DIT("DiT-" letter "-8-256", 8, 32, __VA_ARGS__)

/* layers, heads, width, hidden */
const zoo_model clv__zoo_dit[] = {
    DITS("S", 12, 6, 384, 1536),
    DITS("B", 12, 12, 768, 3072),
    DITS("L", 24, 16, 1024, 4096),
    DITS("XL", 28, 16, 1152, 4608),
    DIT("DiT-XL-2-512", 2, 64, 28, 16, 1152, 4608),
    ZOO_END,
};
