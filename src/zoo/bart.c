/* bart.c - BART (Lewis et al., 2019) and Whisper (Radford et al., 2022): an
 * encoder and a decoder that reads it, of the same blocks.
 *
 * BART reads text and norms after each branch; words are one table for both
 * sides. Whisper hears 30 seconds of a spectrogram through two convolutions
 * and norms before each branch; its words are also its head. */
#include "zoo/transformer.h"

#define BART_WORDS \
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj", \
    .o = "self_attn.out_proj", .norm1 = "self_attn_layer_norm", .up = "fc1", \
    .down = "fc2", .norm2 = "final_layer_norm", \
    .cross_q = "encoder_attn.q_proj", .cross_k = "encoder_attn.k_proj", \
    .cross_v = "encoder_attn.v_proj", .cross_o = "encoder_attn.out_proj", \
    .cross_norm = "encoder_attn_layer_norm", .act = CLV_OP_GELU

static const block_words bart_words = {BART_WORDS};
static const block_words whisper_words = {BART_WORDS, .pre_norm = true,
                                          .key_no_bias = true};

/* -- BART -----------------------------------------------------------------*/

enum {
    BART_VOCABULARY = 50265,
    BART_POSITIONS = 1026, /* the first two are never used */
    BART_FIRST = 2
};

static tensor bart_side(builder *b, const char *name, const block_sizes *z,
                        tensor words, tensor ids, tensor from)
{
    enter(b, "%s", name);
    tensor x = embedding_of(b, "embed_tokens", words, ids);
    x = add(b, x,
            positions(b, "embed_positions", BART_POSITIONS, z->width,
                      BART_FIRST, dim(b, ids, 1)));
    x = layer_norm(b, "layernorm_embedding", x);
    x = transformer_layers(b, "layers", &bart_words, z, x, from,
                           from != CLV_NONE);
    leave(b);
    return x;
}

static void bart_build(builder *b, const zoo_input *in, const void *variant)
{
    const block_sizes *z = variant;
    tensor ids = input_ids(b, "input_ids", in);
    tensor begun = further_ids(b, "decoder_input_ids", 1, 128);
    enter(b, "shared");
    tensor words = parameter(b, "weight", BART_VOCABULARY, z->width);
    leave(b);
    tensor read = bart_side(b, "encoder", z, words, ids, CLV_NONE);
    output(b, bart_side(b, "decoder", z, words, begun, read));
    output(b, read);
}

/* -- Whisper --------------------------------------------------------------*/

enum { WHISPER_FRAMES = 3000, WHISPER_TEXT = 448 };

typedef struct whisper {
    block_sizes sizes;
    int decoder_layers;
    int64_t vocabulary;
} whisper;

/* (N,bands,3000) -> (N,1500,E) */
static tensor whisper_hear(builder *b, const block_sizes *z, tensor x)
{
    if (dim(b, x, 2) != WHISPER_FRAMES)
        refuse(b, "%lld frames: it hears %d, half a minute",
               (long long)dim(b, x, 2), WHISPER_FRAMES);
    enter(b, "encoder");
    x = conv1d(b, "conv1", x, z->width, .kernel = 3, .padding = 1);
    x = gelu(b, NULL, x);
    x = conv1d(b, "conv2", x, z->width, .kernel = 3, .stride = 2, .padding = 1);
    x = permute(b, NULL, gelu(b, NULL, x), 0, 2, 1);
    x = add(b, x,
            positions(b, "embed_positions", WHISPER_FRAMES / 2, z->width, 0,
                      WHISPER_FRAMES / 2));
    x = transformer_stack(b, "layers", &whisper_words, z, x);
    x = layer_norm(b, "layer_norm", x);
    leave(b);
    return x;
}

static void whisper_build(builder *b, const zoo_input *in, const void *variant)
{
    const whisper *v = variant;
    block_sizes z = v->sizes;
    tensor x = input(b, "input_features", in);
    tensor ids = further_ids(b, "decoder_input_ids", 1, 128);
    enter(b, "model");
    tensor heard = whisper_hear(b, &z, x);
    z.layers = v->decoder_layers;
    enter(b, "decoder");
    enter(b, "embed_tokens");
    tensor words = parameter(b, "weight", v->vocabulary, z.width);
    x = embedding_of(b, "", words, ids);
    leave(b);
    x = add(b, x,
            positions(b, "embed_positions", WHISPER_TEXT, z.width, 0,
                      dim(b, ids, 1)));
    x = transformer_layers(b, "layers", &whisper_words, &z, x, heard, true);
    x = layer_norm(b, "layer_norm", x);
    leave(b);
    leave(b);
    enter(b, "proj_out");
    output(b, linear_of(b, "linear", x, words, CLV_NONE));
    leave(b);
    output(b, heard);
}

/* -- names ----------------------------------------------------------------*/

#define BART(name, ...) \
    { \
        {name, \
         "bart", \
         .rank = 2, \
         .input = {1, 128}, \
         HOME("text", "transformers", 2019), \
         .input_name = "input_ids"}, \
            bart_build, &(const block_sizes) \
        { \
            __VA_ARGS__ \
        } \
    }
#define WHISPER(name, bands, year, vocabulary, decoder_layers, ...) \
    { \
        {name, \
         "whisper", \
         .rank = 3, \
         .input = {1, bands, WHISPER_FRAMES}, \
         HOME("speech", "transformers", year), \
         .input_name = "input_features"}, \
            whisper_build, &(const whisper) \
        { \
            {__VA_ARGS__}, decoder_layers, vocabulary \
        } \
    }

/* layers, heads, width, hidden */
const zoo_model clv__zoo_bart[] = {
    BART("bart-base", 6, 12, 768, 3072),
    BART("bart-large", 12, 16, 1024, 4096),
    WHISPER("whisper-tiny", 80, 2022, 51865, 4, 4, 6, 384, 1536),
    WHISPER("whisper-base", 80, 2022, 51865, 6, 6, 8, 512, 2048),
    WHISPER("whisper-small", 80, 2022, 51865, 12, 12, 12, 768, 3072),
    WHISPER("whisper-medium", 80, 2022, 51865, 24, 24, 16, 1024, 4096),
    WHISPER("whisper-large-v2", 80, 2022, 51865, 32, 32, 20, 1280, 5120),
    WHISPER("whisper-large-v3", 128, 2023, 51866, 32, 32, 20, 1280, 5120),
    WHISPER("whisper-large-v3-turbo", 128, 2024, 51866, 4, 32, 20, 1280, 5120),
    ZOO_END,
};
