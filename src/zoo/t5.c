/* t5.c - T5 (Raffel et al., 2019): text in, text out.
 *
 * An encoder reads input_ids, a decoder writes on behind decoder_input_ids.
 * Nothing has a bias, norms divide by the root mean square, and scores are not
 * scaled. Where a token stands is known from a number per head and distance,
 * added to the scores of all layers; the first layer has the table. One table
 * of words serves both sides and the head. */
#include "zoo/transformer.h"

#include <math.h>
#include <stdlib.h>

enum {
    T5_WORDS = 32128,
    T5_HEAD = 64,     /* size of a head */
    T5_BUCKETS = 32,  /* of distances */
    T5_FARTHEST = 128 /* distances from here on share a bucket */
};

/* Half of the buckets hold one distance each, the others grow with its log. */
static int64_t t5_bucket(int64_t distance, bool both_ways)
{
    int64_t buckets = both_ways ? T5_BUCKETS / 2 : T5_BUCKETS;
    int64_t first = both_ways && distance > 0 ? buckets : 0;
    int64_t exact = buckets / 2;
    int64_t far = both_ways ? llabs(distance) : distance < 0 ? -distance : 0;
    if (far < exact)
        return first + far;
    float steps = logf((float)far / (float)exact) /
                  (float)log((double)T5_FARTHEST / (double)exact) *
                  (float)(buckets - exact);
    int64_t bucket = exact + (int64_t)steps;
    return first + (bucket < buckets ? bucket : buckets - 1);
}

/* A number per head for each pair of tokens: (1,heads,S,S). */
static tensor t5_bias(builder *b, int64_t heads, int64_t s, bool both_ways)
{
    int64_t *at;
    tensor ids = whole_table(b, "buckets", 2, (const int64_t[]){s, s}, &at);
    for (int64_t q = 0; at && q < s; q++)
        for (int64_t k = 0; k < s; k++)
            at[q * s + k] = t5_bucket(k - q, both_ways);
    tensor x = embedding(b, "relative_attention_bias", ids, T5_BUCKETS, heads);
    return reshape(b, permute(b, NULL, x, 2, 0, 1), 1, heads, s, s);
}

static tensor t5_norm(builder *b, const char *name, tensor x)
{
    enter(b, "%s", name);
    x = zoo_call(b, CLV_OP_RMS_NORM, "rms_norm",
                 TENSORS(x, parameter(b, "weight", dim(b, x, -1))),
                 ATTRS(INT(AXIS, -1), FLOAT(EPSILON, 1e-6)));
    leave(b);
    return x;
}

/* Tokens of x read those of `from`. */
static tensor t5_attention(builder *b, const char *name, const block_sizes *z,
                           tensor x, tensor from, attend_args a)
{
    int64_t wide = z->heads * T5_HEAD;
    enter(b, "%s", name);
    tensor q = linear_no_bias(b, "q", x, wide);
    tensor k = linear_no_bias(b, "k", from, wide);
    tensor v = linear_no_bias(b, "v", from, wide);
    x = linear_no_bias(b, "o", zoo_attend(b, q, k, v, a), z->width);
    leave(b);
    return x;
}

/* Layer `i` of a block: self-attention. The first block makes *bias. */
static tensor t5_self(builder *b, const block_sizes *z, tensor x, tensor *bias,
                      bool causal)
{
    enter(b, "0");
    tensor y = t5_norm(b, "layer_norm", x);
    if (*bias == CLV_NONE) {
        enter(b, "SelfAttention");
        *bias = t5_bias(b, z->heads, dim(b, x, 1), !causal);
        leave(b);
    }
    y = t5_attention(b, "SelfAttention", z, y, y,
                     (attend_args){z->heads, causal, *bias, 1});
    x = add(b, x, y);
    leave(b);
    return x;
}

static tensor t5_cross(builder *b, const block_sizes *z, tensor x, tensor from)
{
    enter(b, "1");
    tensor y = t5_norm(b, "layer_norm", x);
    y = t5_attention(b, "EncDecAttention", z, y, from,
                     (attend_args){.heads = z->heads, .scale = 1});
    x = add(b, x, y);
    leave(b);
    return x;
}

static tensor t5_mlp(builder *b, const char *name, const block_sizes *z,
                     tensor x)
{
    enter(b, "%s", name);
    tensor y = t5_norm(b, "layer_norm", x);
    enter(b, "DenseReluDense");
    y = relu(b, "act", linear_no_bias(b, "wi", y, z->hidden));
    y = linear_no_bias(b, "wo", y, z->width);
    leave(b);
    x = add(b, x, y);
    leave(b);
    return x;
}

/* One side; the decoder reads `from`, the encoder has CLV_NONE there. */
static tensor t5_side(builder *b, const char *name, const block_sizes *z,
                      tensor words, tensor ids, tensor from)
{
    bool decoder = from != CLV_NONE;
    tensor bias = CLV_NONE;
    enter(b, "%s", name);
    tensor x = embedding_of(b, "embed_tokens", words, ids);
    for (int i = 0; i < z->layers; i++) {
        enter(b, "block");
        enter(b, "%d", i);
        enter(b, "layer");
        x = t5_self(b, z, x, &bias, decoder);
        if (decoder)
            x = t5_cross(b, z, x, from);
        x = t5_mlp(b, decoder ? "2" : "1", z, x);
        leave(b);
        leave(b);
        leave(b);
    }
    x = t5_norm(b, "final_layer_norm", x);
    leave(b);
    return x;
}

static void t5_build(builder *b, const zoo_input *in, const void *variant)
{
    const block_sizes *z = variant;
    tensor ids = input_ids(b, "input_ids", in);
    tensor begun = further_ids(b, "decoder_input_ids", 1, 128);
    enter(b, "shared");
    tensor words = parameter(b, "weight", T5_WORDS, z->width);
    leave(b);
    tensor read = t5_side(b, "encoder", z, words, ids, CLV_NONE);
    tensor x = t5_side(b, "decoder", z, words, begun, read);
    x = scale(b, x, pow((double)z->width, -0.5));
    enter(b, "lm_head");
    x = linear_of(b, "linear", x, words, CLV_NONE);
    leave(b);
    output(b, x);
    output(b, read);
}

const zoo_knobs clv__knobs_t5 = ZOO_KNOBS(
    t5_build, block_sizes, KNOB("dim", ZOO_INT64, block_sizes, width, 1, 65536),
    KNOB("depth", ZOO_INT, block_sizes, layers, 1, 1000),
    KNOB("heads", ZOO_INT64, block_sizes, heads, 1, 1024),
    KNOB_WITH("mlp", ZOO_INT64, block_sizes, hidden, 1, 262144, "dim"));

#define T5(name, ...) \
    { \
        {name, \
         "t5", \
         .rank = 2, \
         .input = {1, 128}, \
         HOME("text", "transformers", 2019), \
         .input_name = "input_ids"}, \
            t5_build, &(const block_sizes) \
        { \
            __VA_ARGS__ \
        } \
    }

/* layers of each side, heads, width, hidden */
const zoo_model clv__zoo_t5[] = {
    T5("t5-small", 6, 8, 512, 2048),
    T5("t5-base", 12, 12, 768, 3072),
    T5("t5-large", 24, 16, 1024, 4096),
    ZOO_END,
};
