/* hifigan.c - HiFi-GAN (Kong et al., 2020): a spectrogram to the samples of
 * speech.
 *
 * Transposed convolutions stretch time; after each, three residual blocks look
 * at the result with kernels and dilations of their own, and their mean goes
 * on. As the authors' generator without weight normalisation, and as
 * transformers has it for SpeechT5. */
#include "zoo/transformer.h"

enum { HIFIGAN_BANDS = 80, HIFIGAN_STEPS = 4, HIFIGAN_BLOCKS = 3 };

typedef struct hifigan {
    int64_t channels; /* after the first convolution */
    int steps;
    int64_t rate[HIFIGAN_STEPS], taps[HIFIGAN_STEPS]; /* of each stretch */
    int64_t kernel[HIFIGAN_BLOCKS];
    int64_t dilation[HIFIGAN_BLOCKS][3];
    int dilations;
    bool pairs;    /* a convolution without dilation follows each */
    bool speecht5; /* reads (N,frames,bands), which it normalises */
} hifigan;

static tensor hifigan_leaky(builder *b, tensor x, double slope)
{
    return zoo_module(b, CLV_OP_LEAKY_RELU, NULL, x,
                      ATTRS(FLOAT(ALPHA, slope)));
}

static tensor hifigan_conv(builder *b, const char *list, int i, tensor x,
                           int64_t kernel, int64_t dilation)
{
    x = hifigan_leaky(b, x, 0.1);
    enter(b, "%s", list);
    x = conv1d(b, nth(i), x, dim(b, x, 1), .kernel = kernel,
               .dilation = dilation, .padding = (kernel - 1) * dilation / 2);
    leave(b);
    return x;
}

static tensor hifigan_block(builder *b, const hifigan *v, int block, tensor x)
{
    int64_t kernel = v->kernel[block];
    for (int i = 0; i < v->dilations; i++) {
        tensor y = hifigan_conv(b, v->pairs ? "convs1" : "convs", i, x, kernel,
                                v->dilation[block][i]);
        if (v->pairs)
            y = hifigan_conv(b, "convs2", i, y, kernel, 1);
        x = add(b, y, x);
    }
    return x;
}

/* The mean of what the blocks of step `step` make of x. */
static tensor hifigan_blocks(builder *b, const hifigan *v, int step, tensor x)
{
    tensor sum = CLV_NONE;
    enter(b, "resblocks");
    for (int k = 0; k < HIFIGAN_BLOCKS; k++) {
        enter(b, "%d", step * HIFIGAN_BLOCKS + k);
        tensor y = hifigan_block(b, v, k, x);
        leave(b);
        sum = k ? add(b, sum, y) : y;
    }
    leave(b);
    return divide(b, sum, number(b, HIFIGAN_BLOCKS));
}

static tensor hifigan_stretch(builder *b, const hifigan *v, int step, tensor x)
{
    int64_t rate = v->rate[step], taps = v->taps[step];
    x = hifigan_leaky(b, x, 0.1);
    enter(b, v->speecht5 ? "upsampler" : "ups");
    x = conv_transpose1d(b, nth(step), x, dim(b, x, 1) / 2, .kernel = taps,
                         .stride = rate, .padding = (taps - rate) / 2);
    leave(b);
    return x;
}

/* (N,frames,bands) -> (N,bands,frames) */
static tensor hifigan_normalise(builder *b, tensor x)
{
    const int64_t bands = HIFIGAN_BANDS;
    tensor mean = weight(b, "mean", CLV_VALUE_BUFFER, 1, &bands);
    tensor scale = weight(b, "scale", CLV_VALUE_BUFFER, 1, &bands);
    return transpose(b, divide(b, sub(b, x, mean), scale), 2, 1);
}

static void hifigan_build(builder *b, const zoo_input *in, const void *variant)
{
    const hifigan *v = variant;
    int axis = v->speecht5 ? 2 : 1;
    if (in->dims[axis] != HIFIGAN_BANDS)
        refuse(b, "a spectrogram of %lld bands: it takes %d",
               (long long)in->dims[axis], HIFIGAN_BANDS);
    tensor x = input(b, v->speecht5 ? "spectrogram" : "x", in);
    if (v->speecht5)
        x = hifigan_normalise(b, x);
    x = conv1d(b, "conv_pre", x, v->channels, .kernel = 7, .padding = 3);
    for (int i = 0; i < v->steps; i++)
        x = hifigan_blocks(b, v, i, hifigan_stretch(b, v, i, x));
    x = hifigan_leaky(b, x, 0.01);
    x = conv1d(b, "conv_post", x, 1, .kernel = 7, .padding = 3);
    x = unary(b, CLV_OP_TANH, x);
    if (v->speecht5)
        x = zoo_call(b, CLV_OP_SQUEEZE, "squeeze", TENSORS(x),
                     ATTRS(INTS(AXES, 1)));
    output(b, x);
}

#define HIFIGAN(name, ...) \
    { \
        {name, "hifigan", .rank = 3, .input = {1, HIFIGAN_BANDS, 100}, \
         HOME("speech", "hifi-gan", 2020)}, \
            hifigan_build, &(const hifigan) \
        { \
            __VA_ARGS__ \
        } \
    }

#define WIDE {3, 7, 11}, {{1, 3, 5}, {1, 3, 5}, {1, 3, 5}}, 3, true

/* channels, stretches and their kernels, blocks; the input is 100 frames */
const zoo_model clv__zoo_hifigan[] = {
    HIFIGAN("hifigan_v1", 512, 4, {8, 8, 2, 2}, {16, 16, 4, 4}, WIDE, false),
    HIFIGAN("hifigan_v2", 128, 4, {8, 8, 2, 2}, {16, 16, 4, 4}, WIDE, false),
    HIFIGAN("hifigan_v3", 256, 3, {8, 8, 4}, {16, 16, 8}, {3, 5, 7},
            {{1, 2}, {2, 6}, {3, 12}}, 2, false, false),
    {{"speecht5_hifigan", "hifigan", .rank = 3,
      .input = {1, 100, HIFIGAN_BANDS}, HOME("speech", "transformers", 2022),
      .input_name = "spectrogram"},
     hifigan_build,
     &(const hifigan){512, 4, {4, 4, 4, 4}, {8, 8, 8, 8}, WIDE, true}},
    ZOO_END,
};
