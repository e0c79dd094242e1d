/* wav2vec2.c - wav2vec 2.0 (Baevski et al., 2020) and HuBERT (Hsu et al.,
 * 2021): speech from its samples.
 *
 * Seven convolutions make one vector of 320 samples; a wide grouped
 * convolution tells where it stands; blocks attend among all. In the stable
 * variant every convolution has a norm, and norms stand before the branches. */
#include "zoo/transformer.h"

typedef struct wav2vec2 {
    block_sizes sizes;
    bool stable, hubert;
} wav2vec2;

/* Norms stand before the branches where the model is `stable`. */
static block_words wav2vec2_words(const wav2vec2 *v)
{
    return (block_words){.q = "attention.q_proj",
                         .k = "attention.k_proj",
                         .v = "attention.v_proj",
                         .o = "attention.out_proj",
                         .norm1 = "layer_norm",
                         .up = "feed_forward.intermediate_dense",
                         .down = "feed_forward.output_dense",
                         .norm2 = "final_layer_norm",
                         .pre_norm = v->stable,
                         .act = CLV_OP_GELU};
}

enum {
    WAV2VEC2_CHANNELS = 512,
    WAV2VEC2_TAPS = 128, /* of the convolution that tells positions */
    WAV2VEC2_GROUPS = 16
};

/* (N,samples) -> (N,512,frames) */
static tensor wav2vec2_hear(builder *b, const wav2vec2 *v, tensor x)
{
    static const int64_t kernel[] = {10, 3, 3, 3, 3, 2, 2};
    x = reshape(b, x, dim(b, x, 0), 1, dim(b, x, 1));
    enter_path(b, "feature_extractor.conv_layers");
    for (int i = 0; i < 7; i++) {
        enter(b, "%d", i);
        x = conv1d(b, "conv", x, WAV2VEC2_CHANNELS, .kernel = kernel[i],
                   .stride = i ? 2 : 5, .no_bias = !v->stable);
        if (v->stable)
            x = transpose(b,
                          layer_norm(b, "layer_norm", transpose(b, x, -2, -1)),
                          -2, -1);
        else if (i == 0)
            x = group_norm(b, "layer_norm", x, WAV2VEC2_CHANNELS);
        x = gelu(b, "activation", x);
        leave(b);
    }
    leave_path(b, "feature_extractor.conv_layers");
    return x;
}

/* A length for each tap times a direction. */
static tensor wav2vec2_tap_weights(builder *b, int64_t e)
{
    const char *path = "parametrizations.weight";
    enter_path(b, path);
    tensor length = parameter(b, "original0", 1, 1, WAV2VEC2_TAPS);
    tensor way =
        parameter(b, "original1", e, e / WAV2VEC2_GROUPS, WAV2VEC2_TAPS);
    tensor norm = zoo_call(b, CLV_OP_NORM, "norm", TENSORS(way),
                           ATTRS(INTS(AXES, 0, 1), INT(KEEPDIM, 1)));
    tensor w = mul(b, way, divide(b, length, norm));
    leave_path(b, path);
    return w;
}

/* (N,S,E) -> (N,S,E); an even kernel makes one frame too many. */
static tensor wav2vec2_positions(builder *b, tensor x)
{
    int64_t e = dim(b, x, 2), s = dim(b, x, 1);
    x = transpose(b, x, 1, 2);
    enter(b, "pos_conv_embed");
    enter(b, "conv");
    tensor bias = parameter(b, "bias", e);
    x = zoo_call(
        b, CLV_OP_CONV1D, "conv1d",
        TENSORS(x, wav2vec2_tap_weights(b, e), bias),
        ATTRS(INTS(PADDING, WAV2VEC2_TAPS / 2), INT(GROUPS, WAV2VEC2_GROUPS)));
    leave(b);
    x = slice(b, x, 2, 0, s);
    x = transpose(b, gelu(b, "activation", x), 1, 2);
    leave(b);
    return x;
}

static void wav2vec2_build(builder *b, const zoo_input *in, const void *variant)
{
    const wav2vec2 *v = variant;
    tensor x = input(b, "input_values", in);
    unused(b, "masked_spec_embed", v->sizes.width);
    x = transpose(b, wav2vec2_hear(b, v, x), 1, 2);
    enter(b, "feature_projection");
    tensor features = layer_norm(b, "layer_norm", x);
    x = linear(b, "projection", features, v->sizes.width);
    leave(b);
    enter(b, "encoder");
    x = add(b, x, wav2vec2_positions(b, x));
    if (!v->stable)
        x = layer_norm(b, "layer_norm", x);
    const block_words words = wav2vec2_words(v);
    x = transformer_stack(b, "layers", &words, &v->sizes, x);
    if (v->stable)
        x = layer_norm(b, "layer_norm", x);
    leave(b);
    output(b, x);
    if (!v->hubert)
        output(b, features);
}

#define SPEECH(name, family, year, stable, hubert, ...) \
    { \
        {name, \
         family, \
         .rank = 2, \
         .input = {1, 16000}, \
         HOME("speech", "transformers", year), \
         .input_name = "input_values"}, \
            wav2vec2_build, &(const wav2vec2) \
        { \
            {__VA_ARGS__}, stable, hubert \
        } \
    }

/* layers, heads, width, hidden; the input is one second */
const zoo_model clv__zoo_wav2vec2[] = {
    SPEECH("hubert-base-ls960", "hubert", 2021, false, true, 12, 12, 768, 3072),
    SPEECH("hubert-large-ll60k", "hubert", 2021, true, true, 24, 16, 1024,
           4096),
    SPEECH("wav2vec2-base", "wav2vec2", 2020, false, false, 12, 12, 768, 3072),
    SPEECH("wav2vec2-large", "wav2vec2", 2020, false, false, 24, 16, 1024,
           4096),
    SPEECH("wav2vec2-large-lv60", "wav2vec2", 2020, true, false, 24, 16, 1024,
           4096),
    ZOO_END,
};
