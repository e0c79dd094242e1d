/* clip.c - CLIP (Radford et al., 2021) and SigLIP (Zhai et al., 2023): how well
 * does a text describe an image.
 *
 * Two towers of pre-norm blocks, one for each side, end in one vector each;
 * the product of their directions is the answer. CLIP takes the text's vector
 * at its end token and the image's at a class token; SigLIP takes the last
 * token, and lets a probe attend to the image. */
#include "zoo/transformer.h"

typedef struct clip {
    block_sizes text, vision;
    int64_t patch, size;
    int64_t shared; /* width of both vectors */
    bool siglip;
} clip;

enum {
    CLIP_WORDS = 49408,
    CLIP_TOKENS = 77,
    CLIP_END = 49407, /* the token at the end of a text */
    SIGLIP_WORDS = 32000,
    SIGLIP_TOKENS = 64
};

#define CLIP_BLOCK \
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj", \
    .o = "self_attn.out_proj", .norm1 = "layer_norm1", .up = "mlp.fc1", \
    .down = "mlp.fc2", .norm2 = "layer_norm2", .pre_norm = true

static const block_words clip_words = {CLIP_BLOCK, .act = CLV_OP_SILU,
                                       .act_alpha = 1.702};
static const block_words siglip_words = {CLIP_BLOCK, .act = CLV_OP_GELU,
                                         .act_tanh = true};

static const block_words *clip_block(const clip *v)
{
    return v->siglip ? &siglip_words : &clip_words;
}

/* -- text -----------------------------------------------------------------*/

/* The vector at the first end token; the first of all if there is none. */
static tensor clip_at_end(builder *b, tensor x, tensor ids)
{
    int64_t *end;
    tensor token = whole_table(b, "end", 1, (const int64_t[]){1}, &end);
    if (end)
        *end = CLIP_END;
    tensor is_end = zoo_call(b, CLV_OP_EQ, "eq", TENSORS(ids, token), NO_ATTRS);
    is_end = zoo_call(b, CLV_OP_CAST, "int", TENSORS(is_end),
                      ATTRS(INT(DTYPE, CLV_INT32)));
    tensor at = zoo_call(b, CLV_OP_ARGMAX, "argmax", TENSORS(is_end),
                         ATTRS(INT(AXIS, -1), INT(KEEPDIM, 1)));
    return zoo_call(b, CLV_OP_GATHER_ND, "getitem", TENSORS(x, at),
                    ATTRS(INT(BATCH_DIMS, 1)));
}

static tensor clip_text(builder *b, const clip *v, tensor ids)
{
    int64_t words = v->siglip ? SIGLIP_WORDS : CLIP_WORDS;
    int64_t most = v->siglip ? SIGLIP_TOKENS : CLIP_TOKENS;
    int64_t e = v->text.width, s = dim(b, ids, 1);
    enter(b, "text_model");
    enter(b, "embeddings");
    tensor x = embedding(b, "token_embedding", ids, words, e);
    x = add(b, x, positions(b, "position_embedding", most, e, 0, s));
    leave(b);
    x = transformer_layers(b, "encoder.layers", clip_block(v), &v->text, x,
                           CLV_NONE, !v->siglip);
    x = layer_norm(b, "final_layer_norm", x);
    x = v->siglip ? linear(b, "head", select_at(b, x, 1, s - 1), e)
                  : clip_at_end(b, x, ids);
    leave(b);
    return v->siglip ? x : linear_no_bias(b, "text_projection", x, v->shared);
}

/* -- image ----------------------------------------------------------------*/

static tensor clip_patches(builder *b, const clip *v, tensor x)
{
    int64_t e = v->vision.width, n = dim(b, x, 0);
    if (dim(b, x, 2) != v->size || dim(b, x, 3) != v->size)
        refuse(b, "an image of %lldx%lld: it has positions for %lldx%lld",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3),
               (long long)v->size, (long long)v->size);
    enter(b, "embeddings");
    tensor first = v->siglip ? CLV_NONE : parameter(b, "class_embedding", e);
    x = conv2d(b, "patch_embedding", x, e, .kernel = v->patch,
               .stride = v->patch, .no_bias = !v->siglip);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    if (!v->siglip)
        x = cat_of(b, 1, expand(b, first, n, 1, e), x);
    int64_t s = dim(b, x, 1);
    x = add(b, x, positions(b, "position_embedding", s, e, 0, s));
    leave(b);
    return x;
}

/* Linear with rows [from, to) of the weights w and bias. */
static tensor clip_part(builder *b, tensor x, tensor w, tensor bias,
                        int64_t from, int64_t to)
{
    return linear_of(b, "linear", x, slice(b, w, 0, from, to),
                     slice(b, bias, 0, from, to));
}

/* A learned probe attends to all patches: (N,S,E) -> (N,E). */
static tensor siglip_probe(builder *b, const clip *v, tensor x)
{
    const block_sizes *z = &v->vision;
    int64_t e = z->width;
    enter(b, "head");
    tensor probe =
        expand(b, parameter(b, "probe", 1, 1, e), dim(b, x, 0), 1, e);
    enter(b, "attention");
    tensor w = parameter(b, "in_proj_weight", 3 * e, e);
    tensor bias = parameter(b, "in_proj_bias", 3 * e), kv[2];
    tensor q = clip_part(b, probe, w, bias, 0, e);
    chunk(b, clip_part(b, x, w, bias, e, 3 * e), 2, -1, kv);
    x = attend(b, q, kv[0], kv[1], .heads = z->heads);
    x = linear(b, "out_proj", x, e);
    leave(b);
    tensor y = layer_norm(b, "layernorm", x);
    x = add(b, x, transformer_mlp(b, &siglip_words, z, y));
    leave(b);
    return select_at(b, x, 1, 0);
}

static tensor clip_vision(builder *b, const clip *v, tensor x)
{
    enter(b, "vision_model");
    x = clip_patches(b, v, x);
    if (!v->siglip)
        x = layer_norm(b, "pre_layrnorm", x);
    x = transformer_stack(b, "encoder.layers", clip_block(v), &v->vision, x);
    if (v->siglip)
        x = siglip_probe(b, v, layer_norm(b, "post_layernorm", x));
    else
        x = layer_norm(b, "post_layernorm", select_at(b, x, 1, 0));
    leave(b);
    return v->siglip ? x : linear_no_bias(b, "visual_projection", x, v->shared);
}

/* -- both -----------------------------------------------------------------*/

static tensor clip_direction(builder *b, tensor x)
{
    return divide(b, x,
                  zoo_call(b, CLV_OP_NORM, "norm", TENSORS(x),
                           ATTRS(INTS(AXES, -1), INT(KEEPDIM, 1))));
}

static void clip_build(builder *b, const zoo_input *in, const void *variant)
{
    const clip *v = variant;
    b->norm_eps = v->siglip ? 1e-6 : 1e-5;
    tensor ids = input_ids(b, "input_ids", in);
    tensor pixels = further(b, "pixel_values", 1, 3, v->size, v->size);
    tensor by = v->siglip ? parameter(b, "logit_scale", 1)
                          : weight(b, "logit_scale", CLV_VALUE_PARAM, 0, NULL);
    tensor image = clip_direction(b, clip_vision(b, v, pixels));
    tensor text = clip_direction(b, clip_text(b, v, ids));
    tensor x = matmul(b, text, transpose(b, image, 0, 1));
    x = mul(b, x, zoo_module(b, CLV_OP_EXP, NULL, by, NO_ATTRS));
    if (v->siglip)
        x = add(b, x, parameter(b, "logit_bias", 1));
    output(b, transpose(b, x, 0, 1));
    output(b, x);
    output(b, text);
    output(b, image);
}

#define PAIR(name, family, year, tokens, size_, ...) \
    { \
        {name, \
         family, \
         .rank = 2, \
         .input = {1, tokens}, \
         HOME("text-image", "transformers", year), \
         .input_name = "input_ids"}, \
            clip_build, &(const clip) \
        { \
            .size = size_, __VA_ARGS__ \
        } \
    }
#define CLIP_OF(name, size, patch_, shared_, text_, vision_) \
    PAIR(name, "clip", 2021, CLIP_TOKENS, size, .patch = patch_, \
         .shared = shared_, .text = {text_}, .vision = {vision_})
#define SIGLIP(name, size, patch_, sizes_) \
    PAIR(name, "siglip", 2023, SIGLIP_TOKENS, size, .patch = patch_, \
         .text = {sizes_}, .vision = {sizes_}, .siglip = true)
/* layers, heads, width, hidden */
#define NARROW 12, 8, 512, 2048
#define BASE   12, 12, 768, 3072
#define LARGE  24, 16, 1024, 4096
#define SO400M 27, 16, 1152, 4304

const zoo_model clv__zoo_clip[] = {
    CLIP_OF("clip-vit-base-patch16", 224, 16, 512, NARROW, BASE),
    CLIP_OF("clip-vit-base-patch32", 224, 32, 512, NARROW, BASE),
    CLIP_OF("clip-vit-large-patch14", 224, 14, 768, BASE, LARGE),
    CLIP_OF("clip-vit-large-patch14-336", 336, 14, 768, BASE, LARGE),
    SIGLIP("siglip-base-patch16-224", 224, 16, BASE),
    SIGLIP("siglip-base-patch16-256", 256, 16, BASE),
    SIGLIP("siglip-base-patch16-384", 384, 16, BASE),
    SIGLIP("siglip-base-patch16-512", 512, 16, BASE),
    SIGLIP("siglip-large-patch16-256", 256, 16, LARGE),
    SIGLIP("siglip-large-patch16-384", 384, 16, LARGE),
    SIGLIP("siglip-so400m-patch14-384", 384, 14, SO400M),
    ZOO_END,
};
