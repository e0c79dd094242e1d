/* mixer.c - MLP-Mixer (Tolstikhin et al., 2021), as timm has it.
 *
 * Patches are tokens. Every layer: a perceptron across the tokens of each
 * channel, then one across the channels of each token, both around a
 * shortcut. */
#include "zoo/transformer.h"

typedef struct mixer {
    int64_t patch, width;
    int layers;
} mixer;

static tensor mixer_mlp(builder *b, const char *name, tensor x, int64_t hidden)
{
    int64_t out = dim(b, x, -1);
    enter(b, "%s", name);
    x = linear(b, "fc1", x, hidden);
    x = gelu(b, "act", x);
    x = linear(b, "fc2", x, out);
    leave(b);
    return x;
}

static tensor mixer_layer(builder *b, tensor x)
{
    int64_t width = dim(b, x, 2);
    tensor y = transpose(b, layer_norm(b, "norm1", x), 1, 2);
    y = mixer_mlp(b, "mlp_tokens", y, width / 2);
    x = add(b, x, transpose(b, y, 1, 2));
    y = mixer_mlp(b, "mlp_channels", layer_norm(b, "norm2", x), 4 * width);
    return add(b, x, y);
}

enum { MIXER_IMAGE = 224 }; /* tokens have weights for their places */

static void mixer_build(builder *b, const zoo_input *in, const void *variant)
{
    const mixer *v = variant;
    b->norm_eps = 1e-6;
    tensor x = input(b, "x", in);
    need_size(b, x, MIXER_IMAGE, MIXER_IMAGE);
    enter(b, "stem");
    x = patch_tokens(b, "proj", x, v->width, v->patch);
    leave(b);
    enter(b, "blocks");
    for (int i = 0; i < v->layers; i++) {
        enter(b, "%d", i);
        x = mixer_layer(b, x);
        leave(b);
    }
    leave(b);
    x = layer_norm(b, "norm", x);
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                 ATTRS(INTS(AXES, 1), INT(KEEPDIM, 0)));
    output(b, linear(b, "head", x, 1000));
}

const zoo_knobs clv__knobs_mixer = ZOO_KNOBS(
    mixer_build, mixer, KNOB("patch", ZOO_INT64, mixer, patch, 1, 512),
    KNOB("dim", ZOO_INT64, mixer, width, 2, 65536),
    KNOB("depth", ZOO_INT, mixer, layers, 1, 1000));

#define MIXER(name, ...) \
    { \
        {name, "mixer", IMAGE(MIXER_IMAGE), TIMM("classification", 2021)}, \
            mixer_build, &(const mixer) \
        { \
            __VA_ARGS__ \
        } \
    }

/* patch, width, layers */
const zoo_model clv__zoo_mixer[] = {
    MIXER("mixer_s32_224", 32, 512, 8),
    MIXER("mixer_s16_224", 16, 512, 8),
    MIXER("mixer_b32_224", 32, 768, 12),
    MIXER("mixer_b16_224", 16, 768, 12),
    MIXER("mixer_l32_224", 32, 1024, 24),
    MIXER("mixer_l16_224", 16, 1024, 24),
    ZOO_END,
};
