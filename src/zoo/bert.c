/* bert.c - BERT (Devlin et al., 2018) and those that read text as it does:
 * RoBERTa (2019), DistilBERT (2019), ALBERT (2019), ELECTRA (2020).
 *
 * Words and positions are looked up and summed; each block attends among all
 * tokens, then has a perceptron on each; the first token goes through the
 * pooler. ALBERT uses one block again and again, ELECTRA and ALBERT look up
 * narrower words. A text has no padding here, so no token is masked. */
#include "zoo/transformer.h"

typedef struct bert {
    const block_words *words;
    const char *stack;
    block_sizes sizes;
    int64_t vocabulary, positions, types; /* types 0: none */
    int64_t first;                        /* position of the first token */
    int64_t narrow;                       /* width of words; 0: as all */
    bool pooled, shared;                  /* shared: one block for all layers */
} bert;

static const block_words bert_words = {
    .q = "attention.self.query",
    .k = "attention.self.key",
    .v = "attention.self.value",
    .o = "attention.output.dense",
    .norm1 = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm2 = "output.LayerNorm",
    .act = CLV_OP_GELU,
};

static const block_words distil_words = {
    .q = "attention.q_lin",
    .k = "attention.k_lin",
    .v = "attention.v_lin",
    .o = "attention.out_lin",
    .norm1 = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .norm2 = "output_layer_norm",
    .act = CLV_OP_GELU,
};

static const block_words albert_words = {
    .q = "attention.query",
    .k = "attention.key",
    .v = "attention.value",
    .o = "attention.dense",
    .norm1 = "attention.LayerNorm",
    .up = "ffn",
    .down = "ffn_output",
    .norm2 = "full_layer_layer_norm",
    .act = CLV_OP_GELU,
    .act_tanh = true,
};

/* Token types are all 0: the text is one part. */
static tensor bert_types(builder *b, const bert *v, int64_t n, int64_t s,
                         int64_t width)
{
    const int64_t dims[2] = {n, s};
    tensor ids = weight(b, "token_type_ids", CLV_VALUE_CONST, 2, dims);
    size_t all = (size_t)(n * s);
    int64_t *zeros = arena_array(&b->g->mem, all, sizeof *zeros);
    for (size_t i = 0; zeros && i < all; i++)
        zeros[i] = 0;
    if (zeros)
        constant_ints(b, ids, zeros, (uint32_t)all);
    else
        zoo_nomem(b);
    return embedding(b, "token_type_embeddings", ids, v->types, width);
}

static tensor bert_embed(builder *b, const bert *v, tensor ids)
{
    int64_t width = v->narrow ? v->narrow : v->sizes.width;
    int64_t n = dim(b, ids, 0), s = dim(b, ids, 1);
    check_length(b, s, v->positions - v->first);
    if (b->status != CLV_OK)
        return CLV_NONE;
    enter(b, "embeddings");
    tensor x = embedding(b, "word_embeddings", ids, v->vocabulary, width);
    if (v->types)
        x = add(b, x, bert_types(b, v, n, s, width));
    x = add(
        b, x,
        positions(b, "position_embeddings", v->positions, width, v->first, s));
    x = layer_norm(b, "LayerNorm", x);
    leave(b);
    return x;
}

/* The tokens go through the same block, and its weights are counted once. */
static tensor bert_shared(builder *b, const bert *v, tensor x)
{
    x = linear_at(b, "encoder.embedding_hidden_mapping_in", x, v->sizes.width,
                  true);
    enter_path(b, v->stack);
    for (int i = 0; i < v->sizes.layers; i++) {
        b->shared = i > 0;
        x = transformer_block(b, v->words, &v->sizes, x, CLV_NONE, false);
    }
    b->shared = false;
    leave_path(b, v->stack);
    return x;
}

static void bert_build(builder *b, const zoo_input *in, const void *variant)
{
    const bert *v = variant;
    b->norm_eps = v->first ? 1e-5 : 1e-12;
    check_heads(b, v->sizes.width, v->sizes.heads);
    tensor x = bert_embed(b, v, input_ids(b, "input_ids", in));
    if (v->shared) {
        x = bert_shared(b, v, x);
    } else {
        if (v->narrow)
            x = linear(b, "embeddings_project", x, v->sizes.width);
        x = transformer_stack(b, v->stack, v->words, &v->sizes, x);
    }
    output(b, x);
    if (!v->pooled)
        return;
    x = zoo_call(b, CLV_OP_SELECT, "getitem", TENSORS(x),
                 ATTRS(INT(AXIS, 1), INT(INDEX, 0)));
    x = linear_at(b, v->shared ? "pooler" : "pooler.dense", x, v->sizes.width,
                  true);
    output(b, zoo_module(b, CLV_OP_TANH, NULL, x, NO_ATTRS));
}

const zoo_knobs clv__knobs_bert = ZOO_KNOBS(
    bert_build, bert, KNOB("dim", ZOO_INT64, bert, sizes.width, 1, 65536),
    KNOB("depth", ZOO_INT, bert, sizes.layers, 1, 1000),
    KNOB("heads", ZOO_INT64, bert, sizes.heads, 1, 1024),
    KNOB_WITH("mlp", ZOO_INT64, bert, sizes.hidden, 1, 262144, "dim"),
    KNOB("vocabulary", ZOO_INT64, bert, vocabulary, 1, 1e7),
    KNOB("positions", ZOO_INT64, bert, positions, 3, 1e6));

enum { BERT_TOKENS = 128 }; /* of the default input */

#define TEXT(name, family, year, ...) \
    { \
        {name, \
         family, \
         .rank = 2, \
         .input = {1, BERT_TOKENS}, \
         HOME("text", "transformers", year), \
         .input_name = "input_ids"}, \
            bert_build, &(const bert) \
        { \
            __VA_ARGS__ \
        } \
    }
#define BERT(name, year, vocabulary_, ...) \
    TEXT(name, "bert", year, .words = &bert_words, .stack = "encoder.layer", \
         .sizes = {__VA_ARGS__}, .vocabulary = vocabulary_, .positions = 512, \
         .types = 2, .pooled = true)
#define ROBERTA(name, year, vocabulary_, ...) \
    TEXT(name, "roberta", year, .words = &bert_words, \
         .stack = "encoder.layer", .sizes = {__VA_ARGS__}, \
         .vocabulary = vocabulary_, .positions = 514, .types = 1, .first = 2, \
         .pooled = true)
#define DISTILBERT(name, vocabulary_, ...) \
    TEXT(name, "distilbert", 2019, .words = &distil_words, \
         .stack = "transformer.layer", .sizes = {__VA_ARGS__}, \
         .vocabulary = vocabulary_, .positions = 512)
#define ALBERT(name, ...) \
    TEXT(name, "albert", 2019, .words = &albert_words, \
         .stack = "encoder.albert_layer_groups.0.albert_layers.0", \
         .sizes = {__VA_ARGS__}, .vocabulary = 30000, .positions = 512, \
         .types = 2, .narrow = 128, .pooled = true, .shared = true)
#define ELECTRA(name, narrow_, ...) \
    TEXT(name, "electra", 2020, .words = &bert_words, \
         .stack = "encoder.layer", .sizes = {__VA_ARGS__}, \
         .vocabulary = 30522, .positions = 512, .types = 2, .narrow = narrow_)

enum { UNCASED = 30522, CASED = 28996, MANY_LANGUAGES = 119547, BYTES = 50265 };

/* sizes: layers, heads, width, hidden */
const zoo_model clv__zoo_bert[] = {
    BERT("bert-tiny", 2019, UNCASED, 2, 2, 128, 512),
    BERT("bert-mini", 2019, UNCASED, 4, 4, 256, 1024),
    BERT("bert-small", 2019, UNCASED, 4, 8, 512, 2048),
    BERT("bert-medium", 2019, UNCASED, 8, 8, 512, 2048),
    BERT("bert-base-uncased", 2018, UNCASED, 12, 12, 768, 3072),
    BERT("bert-base-cased", 2018, CASED, 12, 12, 768, 3072),
    BERT("bert-base-multilingual-cased", 2018, MANY_LANGUAGES, 12, 12, 768,
         3072),
    BERT("bert-large-uncased", 2018, UNCASED, 24, 16, 1024, 4096),
    BERT("bert-large-cased", 2018, CASED, 24, 16, 1024, 4096),
    BERT("all-MiniLM-L6-v2", 2020, UNCASED, 6, 12, 384, 1536),
    BERT("all-MiniLM-L12-v2", 2020, UNCASED, 12, 12, 384, 1536),
    ROBERTA("roberta-base", 2019, BYTES, 12, 12, 768, 3072),
    ROBERTA("roberta-large", 2019, BYTES, 24, 16, 1024, 4096),
    ROBERTA("distilroberta-base", 2019, BYTES, 6, 12, 768, 3072),
    ROBERTA("xlm-roberta-base", 2019, 250002, 12, 12, 768, 3072),
    ROBERTA("xlm-roberta-large", 2019, 250002, 24, 16, 1024, 4096),
    DISTILBERT("distilbert-base-uncased", UNCASED, 6, 12, 768, 3072),
    DISTILBERT("distilbert-base-cased", CASED, 6, 12, 768, 3072),
    DISTILBERT("distilbert-base-multilingual-cased", MANY_LANGUAGES, 6, 12, 768,
               3072),
    ALBERT("albert-base-v2", 12, 12, 768, 3072),
    ALBERT("albert-large-v2", 24, 16, 1024, 4096),
    ALBERT("albert-xlarge-v2", 24, 16, 2048, 8192),
    ALBERT("albert-xxlarge-v2", 12, 64, 4096, 16384),
    ELECTRA("electra-small-discriminator", 128, 12, 4, 256, 1024),
    ELECTRA("electra-base-discriminator", 0, 12, 12, 768, 3072),
    ELECTRA("electra-large-discriminator", 0, 24, 16, 1024, 4096),
    ZOO_END,
};
