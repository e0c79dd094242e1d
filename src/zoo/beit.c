/* beit.c - BEiT (Bao et al., 2021) as transformers has it.
 *
 * A ViT without a table of positions: every block adds to its scores a learned
 * number per head and offset between two patches, and three more for pairs
 * with the class token; they are stretched for images of other sizes. The mean
 * of all patches is classified. */
#include "zoo/transformer.h"

typedef struct beit {
    block_sizes sizes;
    int64_t image;
} beit;

enum { BEIT_PATCH = 16 };

static const block_words beit_words = {
    .q = "attention.q_proj",
    .k = "attention.k_proj",
    .v = "attention.v_proj",
    .o = "attention.o_proj",
    .norm1 = "layernorm_before",
    .up = "mlp.fc1",
    .down = "mlp.fc2",
    .norm2 = "layernorm_after",
    .scale1 = "lambda_1",
    .scale2 = "lambda_2",
    .pre_norm = true,
    .key_no_bias = true,
    .act = CLV_OP_GELU,
};

/* Rows of the table for all pairs of tokens of an image of h x w patches, the
 * class token first. If two patches differ by (dy, dx), that is row
 * (dy + h - 1) * (2 w - 1) + dx + w - 1. */
static tensor beit_offsets(builder *b, int64_t h, int64_t w)
{
    int64_t n = h * w + 1, across = 2 * w - 1, rows = (2 * h - 1) * across;
    int64_t *at;
    tensor index = whole_table(b, "relative_position_index", 1,
                               (const int64_t[]){n * n}, &at);
    for (int64_t i = 0; at && i < n; i++) {
        *at++ = i ? rows + 1 : rows + 2;
        if (i == 0)
            for (int64_t k = 1; k < n; k++)
                *at++ = rows;
        int64_t y = i ? (i - 1) / w : 0, x = i ? (i - 1) % w : 0;
        for (int64_t k = 0; i && k < h; k++)
            for (int64_t l = 0; l < w; l++)
                *at++ = (y - k + h - 1) * across + x - l + w - 1;
    }
    return index;
}

/* The table of offsets resized for h x w patches; its last three rows, which
 * are of the class token, stay. */
static tensor beit_stretch(builder *b, tensor table, int64_t side, int64_t h,
                           int64_t w)
{
    int64_t old = 2 * side - 1, heads = dim(b, table, 1);
    tensor last = slice(b, table, 0, old * old, old * old + 3);
    tensor x = slice(b, table, 0, 0, old * old);
    x = permute(b, NULL, reshape(b, x, 1, old, old, heads), 0, 3, 1, 2);
    x = zoo_call(
        b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
        ATTRS(INTS(SIZE, 2 * h - 1, 2 * w - 1), STRING(MODE, "bilinear")));
    x = reshape(b, permute(b, NULL, x, 0, 2, 3, 1), (2 * h - 1) * (2 * w - 1),
                heads);
    return cat_of(b, 0, x, last);
}

/* What block i adds to its scores, of h x w patches: (1,heads,n,n). */
static tensor beit_bias(builder *b, const beit *v, tensor index, int64_t h,
                        int64_t w)
{
    int64_t side = v->image / BEIT_PATCH, n = h * w + 1;
    int64_t rows = (2 * side - 1) * (2 * side - 1) + 3, heads = v->sizes.heads;
    enter(b, "relative_position_bias");
    tensor table = parameter(b, "relative_position_bias_table", rows, heads);
    if (h != side || w != side)
        table = beit_stretch(b, table, side, h, w);
    tensor x = embedding_of(b, "", table, index);
    x = permute(b, NULL, reshape(b, x, n, n, heads), 2, 0, 1);
    x = reshape(b, x, 1, heads, n, n);
    leave(b);
    return x;
}

static tensor beit_embed(builder *b, const beit *v, tensor x)
{
    int64_t n = dim(b, x, 0), e = v->sizes.width;
    enter(b, "embeddings");
    tensor first = expand(b, parameter(b, "cls_token", 1, 1, e), n, -1, -1);
    enter(b, "patch_embeddings");
    x = conv2d(b, "projection", x, e, .kernel = BEIT_PATCH,
               .stride = BEIT_PATCH);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    leave(b);
    x = cat_of(b, 1, first, x);
    leave(b);
    return x;
}

static void beit_build(builder *b, const zoo_input *in, const void *variant)
{
    const beit *v = variant;
    b->norm_eps = 1e-12;
    tensor x = input(b, "pixel_values", in);
    int64_t h = dim(b, x, 2) / BEIT_PATCH, w = dim(b, x, 3) / BEIT_PATCH;
    enter(b, "beit");
    x = beit_embed(b, v, x);
    tensor index = beit_offsets(b, h, w);
    enter(b, "layers");
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "%d", i);
        x = transformer_block_biased(b, &beit_words, &v->sizes, x,
                                     beit_bias(b, v, index, h, w));
        leave(b);
    }
    leave(b);
    enter(b, "pooler");
    x = slice(b, x, 1, 1, dim(b, x, 1));
    x = zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                 ATTRS(INTS(AXES, 1), INT(KEEPDIM, 0)));
    x = layer_norm(b, "layernorm", x);
    leave(b);
    leave(b);
    output(b, linear(b, "classifier", x, 1000));
}

#define BEIT(name, size, ...) \
    { \
        {name, "beit", IMAGE(size), \
         HOME("classification", "transformers", 2021), \
         .input_name = "pixel_values"}, \
            beit_build, &(const beit) \
        { \
            {__VA_ARGS__}, size \
        } \
    }

/* layers, heads, width, hidden */
const zoo_model clv__zoo_beit[] = {
    BEIT("beit-base-patch16-224", 224, 12, 12, 768, 3072),
    BEIT("beit-base-patch16-384", 384, 12, 12, 768, 3072),
    BEIT("beit-large-patch16-224", 224, 24, 16, 1024, 4096),
    BEIT("beit-large-patch16-384", 384, 24, 16, 1024, 4096),
    BEIT("beit-large-patch16-512", 512, 24, 16, 1024, 4096),
    ZOO_END,
};
