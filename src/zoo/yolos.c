/* yolos.c - YOLOS (Fang et al., 2021) as transformers has it.
 *
 * A plain ViT over the patches of an image, a class token and 100 detection
 * tokens; each of those ends as a class and a box. Positions are learned for
 * one size of image and resized to others; larger models add a second table of
 * them after every block but the last. */
#include "zoo/transformer.h"

typedef struct yolos {
    block_sizes sizes;
    int64_t h, w; /* the image that positions are learned for */
    bool mid;     /* positions after every block too */
} yolos;

enum { YOLOS_PATCH = 16, YOLOS_TOKENS = 100, YOLOS_LABELS = 91 };

static const block_words yolos_words = {
    .q = "attention.attention.query",
    .k = "attention.attention.key",
    .v = "attention.attention.value",
    .o = "attention.output.dense",
    .norm1 = "layernorm_before",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm2 = "layernorm_after",
    .pre_norm = true,
    .act = CLV_OP_GELU,
};

static int64_t yolos_patches(const yolos *v)
{
    return v->h / YOLOS_PATCH * (v->w / YOLOS_PATCH);
}

/* Resizes the middle of a table (D,T,E), which is the patches', to h x w
 * patches. */
static tensor yolos_resized(builder *b, const yolos *v, tensor table, int64_t h,
                            int64_t w)
{
    int64_t depth = dim(b, table, 0), e = v->sizes.width;
    int64_t last = 1 + yolos_patches(v);
    tensor first = slice(b, table, 1, 0, 1);
    tensor found = slice(b, table, 1, last, last + YOLOS_TOKENS);
    tensor x = transpose(b, slice(b, table, 1, 1, last), 1, 2);
    x = reshape(b, x, depth, e, v->h / YOLOS_PATCH, v->w / YOLOS_PATCH);
    x = zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                 ATTRS(INTS(SIZE, h, w), STRING(MODE, "bicubic")));
    x = transpose(b, flatten(b, x, 2), 1, 2);
    return cat_of(b, 1, first, x, found);
}

/* (N,3,H,W) -> (N,tokens,E) */
static tensor yolos_embed(builder *b, const yolos *v, tensor x)
{
    int64_t n = dim(b, x, 0), e = v->sizes.width;
    int64_t h = dim(b, x, 2) / YOLOS_PATCH, w = dim(b, x, 3) / YOLOS_PATCH;
    enter(b, "embeddings");
    tensor first = expand(b, parameter(b, "cls_token", 1, 1, e), n, -1, -1);
    tensor found = parameter(b, "detection_tokens", 1, YOLOS_TOKENS, e);
    found = expand(b, found, n, -1, -1);
    enter(b, "patch_embeddings");
    x = conv2d(b, "projection", x, e, .kernel = YOLOS_PATCH,
               .stride = YOLOS_PATCH);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    leave(b);
    x = cat_of(b, 1, first, x, found);
    tensor table = parameter(b, "position_embeddings", 1,
                             1 + yolos_patches(v) + YOLOS_TOKENS, e);
    enter(b, "interpolation");
    table = yolos_resized(b, v, table, h, w);
    leave(b);
    x = add(b, x, table);
    leave(b);
    return x;
}

/* Positions for all gaps between blocks: (blocks - 1,tokens,E). */
static tensor yolos_mid(builder *b, const yolos *v, int64_t h, int64_t w)
{
    int64_t gaps = v->sizes.layers - 1, e = v->sizes.width;
    int64_t tokens = 1 + v->h * v->w / (YOLOS_PATCH * YOLOS_PATCH);
    enter(b, "interpolation");
    tensor table = parameter(b, "mid_position_embeddings", gaps, 1,
                             tokens + YOLOS_TOKENS, e);
    table = reshape(b, table, gaps, tokens + YOLOS_TOKENS, e);
    table = yolos_resized(b, v, table, h, w);
    leave(b);
    return table;
}

static tensor yolos_encoder(builder *b, const yolos *v, tensor x, int64_t h,
                            int64_t w)
{
    enter(b, "encoder");
    tensor mid = v->mid ? yolos_mid(b, v, h, w) : CLV_NONE;
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "layer");
        enter(b, "%d", i);
        x = transformer_block(b, &yolos_words, &v->sizes, x, CLV_NONE, false);
        leave(b);
        leave(b);
        if (v->mid && i + 1 < v->sizes.layers)
            x = add(b, x, slice(b, mid, 0, i, i + 1));
    }
    leave(b);
    return x;
}

static void yolos_build(builder *b, const zoo_input *in, const void *variant)
{
    const yolos *v = variant;
    int64_t e = v->sizes.width;
    b->norm_eps = 1e-12;
    tensor x = input(b, "pixel_values", in);
    int64_t h = dim(b, x, 2) / YOLOS_PATCH, w = dim(b, x, 3) / YOLOS_PATCH;
    enter(b, "vit");
    x = yolos_embed(b, v, x);
    x = yolos_encoder(b, v, x, h, w);
    x = layer_norm(b, "layernorm", x);
    leave(b);
    int64_t tokens = dim(b, x, 1);
    tensor found = slice(b, x, 1, tokens - YOLOS_TOKENS, tokens);
    output(b, perceptron(b, "class_labels_classifier", found, 3, e,
                         YOLOS_LABELS + 1));
    output(b,
           sigmoid(b, NULL, perceptron(b, "bbox_predictor", found, 3, e, 4)));
    output(b, x);
}

#define YOLOS(name, h, w, mid, ...) \
    { \
        {name, \
         "yolos", \
         .rank = 4, \
         .input = {1, 3, h, w}, \
         HOME("detection", "transformers", 2021), \
         .input_name = "pixel_values"}, \
            yolos_build, &(const yolos) \
        { \
            {__VA_ARGS__}, h, w, mid \
        } \
    }

/* the image; layers, heads, width, hidden */
const zoo_model clv__zoo_yolos[] = {
    YOLOS("yolos-tiny", 800, 1333, false, 12, 3, 192, 768),
    YOLOS("yolos-small", 512, 864, true, 12, 6, 384, 1536),
    YOLOS("yolos-base", 800, 1344, true, 12, 12, 768, 3072),
    ZOO_END,
};
