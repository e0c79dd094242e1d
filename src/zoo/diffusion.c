/* diffusion.c - Stable Diffusion (Rombach et al., 2022) and SD-XL (Podell et
 * al., 2023): the U-Net that takes noise out of a latent image, and the
 * autoencoder between images and latents, as diffusers has them.
 *
 *     down   level 0 .. n-1: residual blocks, each followed by attention to
 *            the text where the level has some, then half the size
 *     mid    residual block, attention, residual block
 *     up     level n-1 .. 0: the same with one block more, each of which reads
 *            what a block on the way down made, then twice the size
 *
 * A residual block adds a vector that says which step of diffusion it is. The
 * autoencoder has the same blocks without that vector and without text. */
#include "zoo/diffusion.h"

#include <math.h>

enum {
    DIFFUSION_GROUPS = 32, /* of group norms */
    DIFFUSION_LEVELS = 4,
    DIFFUSION_BLOCKS = 2, /* residual blocks of a level on the way down */
    UNET_SKIPS = 1 + DIFFUSION_LEVELS * (DIFFUSION_BLOCKS + 1),
    UNET_STEP = 4, /* the vector that says the step is so much wider */
    UNET_TOKENS = 77,
    LATENT = 4 /* channels */
};

/* -- steps ----------------------------------------------------------------*/

tensor diffusion_waves(builder *b, tensor step, int64_t width, int shift)
{
    int64_t half = width / 2, dims[] = {1, half};
    tensor rate = weight(b, "frequencies", CLV_VALUE_CONST, 2, dims);
    double *f = constant_floats(b, rate, (uint32_t)half);
    for (int64_t i = 0; f && i < half; i++)
        f[i] = (float)exp(-log(10000) * (double)i / (double)(half - shift));
    tensor t = zoo_call(b, CLV_OP_UNSQUEEZE, "getitem", TENSORS(step),
                        ATTRS(INTS(AXES, 1)));
    if (b->status == CLV_OK && b->g->values[t].dtype != b->dtype)
        t = zoo_call(b, CLV_OP_CAST, "float", TENSORS(t),
                     ATTRS(INT(DTYPE, b->dtype)));
    t = mul(b, t, rate);
    tensor waves =
        cat_of(b, -1, unary(b, CLV_OP_SIN, t), unary(b, CLV_OP_COS, t));
    return cat_of(b, -1, slice(b, waves, 1, half, width),
                  slice(b, waves, 1, 0, half));
}

tensor diffusion_step(builder *b, const char *name, tensor x, int64_t width)
{
    enter(b, "%s", name);
    x = linear(b, "linear_1", x, width);
    x = silu(b, "act", x);
    x = linear(b, "linear_2", x, width);
    leave(b);
    return x;
}

/* -- blocks ---------------------------------------------------------------*/

/* The original divides by a factor, which is 1 in these networks. */
static tensor diffusion_rescale(builder *b, tensor x)
{
    return divide(b, x, number(b, 1));
}

/* A residual block of `out` channels; step is CLV_NONE in the autoencoder. */
static tensor diffusion_resnet(builder *b, tensor x, tensor step, int64_t out)
{
    tensor y = group_norm(b, "norm1", x, DIFFUSION_GROUPS), skip = x;
    y = conv2d(b, "conv1", silu(b, "nonlinearity", y), out, .kernel = 3,
               .padding = 1);
    if (step != CLV_NONE) {
        tensor t = silu(b, "nonlinearity", step);
        t = linear(b, "time_emb_proj", t, out);
        y = add(b, y, reshape(b, t, dim(b, t, 0), out, 1, 1));
    }
    y = group_norm(b, "norm2", y, DIFFUSION_GROUPS);
    y = dropout(b, "dropout", silu(b, "nonlinearity", y));
    y = conv2d(b, "conv2", y, out, .kernel = 3, .padding = 1);
    if (dim(b, x, 1) != out)
        skip = conv2d(b, "conv_shortcut", x, out);
    return diffusion_rescale(b, add(b, skip, y));
}

static tensor diffusion_resnet_at(builder *b, int i, tensor x, tensor step,
                                  int64_t out)
{
    enter(b, "resnets");
    enter(b, "%d", i);
    x = diffusion_resnet(b, x, step, out);
    leave(b);
    leave(b);
    return x;
}

/* Resizes to h x w, then a convolution. */
static tensor diffusion_larger(builder *b, tensor x, int64_t h, int64_t w)
{
    enter(b, "upsamplers");
    enter(b, "0");
    x = zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                 ATTRS(INTS(SIZE, h, w), STRING(MODE, "nearest")));
    x = conv2d(b, "conv", x, dim(b, x, 1), .kernel = 3, .padding = 1);
    leave(b);
    leave(b);
    return x;
}

/* Half the size; the autoencoder pads at the end only. */
static tensor diffusion_smaller(builder *b, tensor x, bool at_end)
{
    enter(b, "downsamplers");
    enter(b, "0");
    if (at_end)
        x = zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                     ATTRS(INTS(PADDING, 0, 0, 0, 0, 0, 0, 1, 1)));
    x = conv2d(b, "conv", x, dim(b, x, 1), .kernel = 3, .stride = 2,
               .padding = !at_end);
    leave(b);
    leave(b);
    return x;
}

/* -- attention ------------------------------------------------------------*/

tensor diffusion_attention(builder *b, const char *name, tensor x, tensor other,
                           int64_t heads, bool bias)
{
    int64_t e = dim(b, x, 2);
    enter(b, "%s", name);
    tensor q = linear_at(b, "to_q", x, e, bias);
    tensor k = linear_at(b, "to_k", other, e, bias);
    tensor v = linear_at(b, "to_v", other, e, bias);
    x = attend(b, q, k, v, .heads = heads);
    x = linear_at(b, "to_out.0", x, e, true);
    enter(b, "to_out");
    x = dropout(b, "1", x);
    leave(b);
    x = diffusion_rescale(b, x);
    leave(b);
    return x;
}

/* Half of the projection is a gate for the other. */
static tensor diffusion_mlp(builder *b, tensor x)
{
    int64_t e = dim(b, x, 2);
    tensor half[2];
    enter_path(b, "ff.net");
    enter(b, "0");
    chunk(b, linear(b, "proj", x, 8 * e), 2, -1, half);
    x = mul(b, half[0], gelu(b, NULL, half[1]));
    leave(b);
    x = dropout(b, "1", x);
    x = linear(b, "2", x, e);
    leave_path(b, "ff.net");
    return x;
}

/* Attends to itself, then to the text. */
static tensor diffusion_block(builder *b, tensor x, tensor text, int64_t heads)
{
    tensor y = layer_norm(b, "norm1", x);
    x = add(b, diffusion_attention(b, "attn1", y, y, heads, false), x);
    y = layer_norm(b, "norm2", x);
    x = add(b, diffusion_attention(b, "attn2", y, text, heads, false), x);
    return add(b, diffusion_mlp(b, layer_norm(b, "norm3", x)), x);
}

typedef struct unet {
    int64_t width; /* of the first level */
    int levels;
    int times[DIFFUSION_LEVELS]; /* how much wider each level is */
    int depth[DIFFUSION_LEVELS]; /* blocks that attend to the text */
    int mid;                     /* the same in the middle */
    int64_t heads[DIFFUSION_LEVELS];
    int64_t text;  /* width of a token */
    bool linear;   /* projections around attention; else convolutions */
    bool pictures; /* sizes and a summary of the text are told too */
    int64_t side;  /* of the latent image */
} unet;

static int64_t unet_width(const unet *v, int level)
{
    return v->width * v->times[level];
}

static tensor unet_flat(builder *b, tensor x)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 1);
    int64_t pixels = dim(b, x, 2) * dim(b, x, 3);
    return reshape(b, permute(b, NULL, x, 0, 2, 3, 1), n, pixels, c);
}

static tensor unet_square(builder *b, tensor x, int64_t h, int64_t w)
{
    int64_t n = dim(b, x, 0), c = dim(b, x, 2);
    return permute(b, NULL, reshape(b, x, n, h, w, c), 0, 3, 1, 2);
}

/* (N,C,H,W): every pixel is a token. */
static tensor unet_transformer(builder *b, const unet *v, tensor image,
                               tensor text, int depth, int64_t heads)
{
    int64_t c = dim(b, image, 1), h = dim(b, image, 2), w = dim(b, image, 3);
    b->norm_eps = 1e-6;
    tensor x = group_norm(b, "norm", image, DIFFUSION_GROUPS);
    b->norm_eps = 1e-5;
    x = v->linear ? linear(b, "proj_in", unet_flat(b, x), c)
                  : unet_flat(b, conv2d(b, "proj_in", x, c));
    enter(b, "transformer_blocks");
    for (int i = 0; i < depth; i++) {
        enter(b, "%d", i);
        x = diffusion_block(b, x, text, heads);
        leave(b);
    }
    leave(b);
    x = v->linear ? unet_square(b, linear(b, "proj_out", x, c), h, w)
                  : conv2d(b, "proj_out", unet_square(b, x, h, w), c);
    return add(b, x, image);
}

static tensor unet_attention_at(builder *b, const unet *v, int i, tensor x,
                                tensor text, int depth, int64_t heads)
{
    enter(b, "attentions");
    enter(b, "%d", i);
    x = unet_transformer(b, v, x, text, depth, heads);
    leave(b);
    leave(b);
    return x;
}

/* -- the U-Net ------------------------------------------------------------*/

typedef struct unet_walk {
    tensor step, text;
    tensor skip[UNET_SKIPS];
    int n;
} unet_walk;

static tensor unet_down(builder *b, const unet *v, unet_walk *s, tensor x)
{
    enter(b, "down_blocks");
    for (int k = 0; k < v->levels; k++) {
        enter(b, "%d", k);
        for (int i = 0; i < DIFFUSION_BLOCKS; i++) {
            x = diffusion_resnet_at(b, i, x, s->step, unet_width(v, k));
            if (v->depth[k])
                x = unet_attention_at(b, v, i, x, s->text, v->depth[k],
                                      v->heads[k]);
            s->skip[s->n++] = x;
        }
        if (k + 1 < v->levels)
            s->skip[s->n++] = x = diffusion_smaller(b, x, false);
        leave(b);
    }
    leave(b);
    return x;
}

static tensor unet_mid(builder *b, const unet *v, const unet_walk *s, tensor x)
{
    int last = v->levels - 1;
    enter(b, "mid_block");
    x = diffusion_resnet_at(b, 0, x, s->step, unet_width(v, last));
    x = unet_attention_at(b, v, 0, x, s->text, v->mid, v->heads[last]);
    x = diffusion_resnet_at(b, 1, x, s->step, unet_width(v, last));
    leave(b);
    return x;
}

static tensor unet_up(builder *b, const unet *v, unet_walk *s, tensor x)
{
    enter(b, "up_blocks");
    for (int k = v->levels - 1; k >= 0; k--) {
        enter(b, "%d", v->levels - 1 - k);
        for (int i = 0; i <= DIFFUSION_BLOCKS; i++) {
            x = cat_of(b, 1, x, s->skip[--s->n]);
            x = diffusion_resnet_at(b, i, x, s->step, unet_width(v, k));
            if (v->depth[k])
                x = unet_attention_at(b, v, i, x, s->text, v->depth[k],
                                      v->heads[k]);
        }
        if (k) {
            tensor like = s->skip[s->n - 1];
            x = diffusion_larger(b, x, dim(b, like, 2), dim(b, like, 3));
        }
        leave(b);
    }
    leave(b);
    return x;
}

/* SD-XL is told a summary of the text, and the sizes of the picture. */
static tensor unet_pictures(builder *b, const unet *v, int64_t n)
{
    enum { SUMMARY = 1280, SIZES = 6, WAVES = 256 };
    tensor summary = further(b, "text_embeds", n, SUMMARY);
    tensor sizes = further(b, "time_ids", n, SIZES);
    enter(b, "add_time_proj");
    tensor x = diffusion_waves(b, reshape(b, sizes, n * SIZES), WAVES, 0);
    leave(b);
    x = cat_of(b, -1, summary, reshape(b, x, n, SIZES * WAVES));
    return diffusion_step(b, "add_embedding", x, UNET_STEP * v->width);
}

/* Refuses a width that groups of channels or heads do not divide. */
static void unet_check(builder *b, const unet *v)
{
    if (v->width % DIFFUSION_GROUPS)
        refuse(b, "a width of %lld is no multiple of %d", (long long)v->width,
               DIFFUSION_GROUPS);
    for (int k = 0; k < v->levels; k++)
        if (unet_width(v, k) % v->heads[k])
            refuse(b, "%lld channels of level %d are no multiple of %lld heads",
                   (long long)unet_width(v, k), k, (long long)v->heads[k]);
}

static void unet_build(builder *b, const zoo_input *in, const void *variant)
{
    const unet *v = variant;
    unet_walk s = {0};
    unet_check(b, v);
    tensor x = input(b, "sample", in);
    int64_t n = dim(b, x, 0);
    tensor step = further_ids(b, "timestep", 1);
    s.text = further(b, "encoder_hidden_states", n, UNET_TOKENS, v->text);
    b->norm_eps = 1e-5;
    enter(b, "time_proj");
    step = diffusion_waves(b, expand(b, step, n), v->width, 0);
    leave(b);
    s.step = diffusion_step(b, "time_embedding", step, UNET_STEP * v->width);
    if (v->pictures)
        s.step = add(b, s.step, unet_pictures(b, v, n));
    x = conv2d(b, "conv_in", x, v->width, .kernel = 3, .padding = 1);
    s.skip[s.n++] = x;
    x = unet_down(b, v, &s, x);
    x = unet_mid(b, v, &s, x);
    x = unet_up(b, v, &s, x);
    x = silu(b, "conv_act",
             group_norm(b, "conv_norm_out", x, DIFFUSION_GROUPS));
    output(b, conv2d(b, "conv_out", x, LATENT, .kernel = 3, .padding = 1));
}

/* -- the autoencoder ------------------------------------------------------*/

static const int64_t vae_width[DIFFUSION_LEVELS] = {128, 256, 512, 512};

/* One head over all pixels. */
static tensor vae_attention(builder *b, tensor image)
{
    int64_t n = dim(b, image, 0), c = dim(b, image, 1);
    int64_t h = dim(b, image, 2), w = dim(b, image, 3);
    enter(b, "attentions");
    enter(b, "0");
    tensor x = group_norm(b, "group_norm", reshape(b, image, n, c, h * w),
                          DIFFUSION_GROUPS);
    x = transpose(b, x, 1, 2);
    tensor q = linear(b, "to_q", x, c), k = linear(b, "to_k", x, c);
    x = attend(b, q, k, linear(b, "to_v", x, c), .heads = 1);
    x = linear_at(b, "to_out.0", x, c, true);
    enter(b, "to_out");
    x = dropout(b, "1", x);
    leave(b);
    x = reshape(b, transpose(b, x, 1, 2), n, c, h, w);
    x = diffusion_rescale(b, add(b, x, image));
    leave(b);
    leave(b);
    return x;
}

static tensor vae_mid(builder *b, tensor x)
{
    int64_t c = dim(b, x, 1);
    enter(b, "mid_block");
    x = diffusion_resnet_at(b, 0, x, CLV_NONE, c);
    x = vae_attention(b, x);
    x = diffusion_resnet_at(b, 1, x, CLV_NONE, c);
    leave(b);
    return x;
}

static tensor vae_last(builder *b, tensor x, int64_t out)
{
    x = silu(b, "conv_act",
             group_norm(b, "conv_norm_out", x, DIFFUSION_GROUPS));
    return conv2d(b, "conv_out", x, out, .kernel = 3, .padding = 1);
}

/* An image to means and variances of its latents. */
static tensor vae_encode(builder *b, tensor x)
{
    enter(b, "encoder");
    x = conv2d(b, "conv_in", x, vae_width[0], .kernel = 3, .padding = 1);
    enter(b, "down_blocks");
    for (int k = 0; k < DIFFUSION_LEVELS; k++) {
        enter(b, "%d", k);
        for (int i = 0; i < DIFFUSION_BLOCKS; i++)
            x = diffusion_resnet_at(b, i, x, CLV_NONE, vae_width[k]);
        if (k + 1 < DIFFUSION_LEVELS)
            x = diffusion_smaller(b, x, true);
        leave(b);
    }
    leave(b);
    x = vae_last(b, vae_mid(b, x), 2 * LATENT);
    leave(b);
    return conv2d(b, "quant_conv", x, 2 * LATENT);
}

static tensor vae_decode(builder *b, tensor x)
{
    x = conv2d(b, "post_quant_conv", x, LATENT);
    enter(b, "decoder");
    x = conv2d(b, "conv_in", x, vae_width[DIFFUSION_LEVELS - 1], .kernel = 3,
               .padding = 1);
    x = vae_mid(b, x);
    enter(b, "up_blocks");
    for (int k = DIFFUSION_LEVELS - 1; k >= 0; k--) {
        enter(b, "%d", DIFFUSION_LEVELS - 1 - k);
        for (int i = 0; i <= DIFFUSION_BLOCKS; i++)
            x = diffusion_resnet_at(b, i, x, CLV_NONE, vae_width[k]);
        if (k)
            x = diffusion_larger(b, x, 2 * dim(b, x, 2), 2 * dim(b, x, 3));
        leave(b);
    }
    leave(b);
    x = vae_last(b, x, 3);
    leave(b);
    return x;
}

typedef enum vae_half {
    VAE_ENCODER = 1,
    VAE_DECODER = 2,
    VAE_BOTH = 3
} vae_half;

/* Both halves: the image from the means of its latents. */
static void vae_build(builder *b, const zoo_input *in, const void *variant)
{
    vae_half half = *(const vae_half *)variant;
    tensor x = input(b, half == VAE_DECODER ? "z" : "sample", in), parts[2];
    b->norm_eps = 1e-6;
    if (half & VAE_ENCODER)
        x = vae_encode(b, x);
    if (half == VAE_BOTH) {
        chunk(b, x, 2, 1, parts);
        x = parts[0];
    }
    output(b, half & VAE_DECODER ? vae_decode(b, x) : x);
}

/* -- names ----------------------------------------------------------------*/

const zoo_knobs clv__knobs_diffusion = ZOO_KNOBS(
    unet_build, unet, KNOB("width", ZOO_INT64, unet, width, 32, 8192));

#define UNET(name, year, side, ...) \
    { \
        {name, \
         "stable-diffusion", \
         .rank = 4, \
         .input = {1, LATENT, side, side}, \
         HOME("image-generation", "diffusers", year), \
         .input_name = "sample"}, \
            unet_build, &(const unet) \
        { \
            __VA_ARGS__, side \
        } \
    }
#define VAE(name, year, half, channels, side) \
    { \
        {name, \
         "stable-diffusion", \
         .rank = 4, \
         .input = {1, channels, side, side}, \
         HOME("image-generation", "diffusers", year), \
         .input_name = (half) == VAE_DECODER ? "z" : "sample"}, \
            vae_build, &(const vae_half) \
        { \
            half \
        } \
    }
#define VAES(name, year, side) \
    VAE(name "-vae", year, VAE_BOTH, 3, side), \
        VAE(name "-vae-encoder", year, VAE_ENCODER, 3, side), \
        VAE(name "-vae-decoder", year, VAE_DECODER, LATENT, (side) / 8)

/* width of the first level, levels and how much wider they are, depths of
 * attention and in the middle, heads, width of a token, linear projections,
 * pictures */
const zoo_model clv__zoo_diffusion[] = {
    UNET("stable-diffusion-v1-5-unet", 2022, 64, 320, 4, {1, 2, 4, 4},
         {1, 1, 1, 0}, 1, {8, 8, 8, 8}, 768, false, false),
    UNET("stable-diffusion-2-1-unet", 2022, 96, 320, 4, {1, 2, 4, 4},
         {1, 1, 1, 0}, 1, {5, 10, 20, 20}, 1024, true, false),
    UNET("stable-diffusion-xl-base-1.0-unet", 2023, 128, 320, 3, {1, 2, 4},
         {0, 2, 10}, 10, {5, 10, 20}, 2048, true, true),
    VAES("stable-diffusion-v1-5", 2022, 512),
    VAES("stable-diffusion-xl-base-1.0", 2023, 1024),
    ZOO_END,
};
