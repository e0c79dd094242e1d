/* beit.c - BEiT (Bao et al., 2021) as transformers has it.
 *
 * A ViT without a table of positions: every block adds to its scores a learned
 * number per head and offset between two patches, and three more for pairs
 * with the class token. The mean of all patches is classified. */
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

/* Rows of the table for all pairs of tokens, the class token first. */
static tensor beit_offsets(builder *b, int64_t side)
{
    int64_t n = side * side + 1, offsets = (2 * side - 1) * (2 * side - 1);
    int64_t *at;
    const int64_t *rows = offset_rows(b, side);
    tensor index = whole_table(b, "relative_position_index", 1,
                               (const int64_t[]){n * n}, &at);
    for (int64_t i = 0; at && rows && i < n; i++)
        for (int64_t k = 0; k < n; k++)
            at[i * n + k] = i && k ? rows[(i - 1) * (n - 1) + k - 1]
                            : i    ? offsets + 1
                            : k    ? offsets
                                   : offsets + 2;
    return index;
}

/* What block i adds to its scores: (1,heads,n,n). */
static tensor beit_bias(builder *b, const beit *v, tensor index)
{
    int64_t side = v->image / BEIT_PATCH, n = side * side + 1;
    int64_t rows = (2 * side - 1) * (2 * side - 1) + 3, heads = v->sizes.heads;
    enter(b, "relative_position_bias");
    tensor table = parameter(b, "relative_position_bias_table", rows, heads);
    tensor x = embedding_of(b, "", table, index);
    x = permute(b, NULL, reshape(b, x, n, n, heads), 2, 0, 1);
    x = reshape(b, x, 1, heads, n, n);
    leave(b);
    return x;
}

static tensor beit_embed(builder *b, const beit *v, tensor x)
{
    int64_t n = dim(b, x, 0), e = v->sizes.width;
    if (dim(b, x, 2) != v->image || dim(b, x, 3) != v->image)
        refuse(b, "an image of %lldx%lld: its offsets are for %lldx%lld",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3),
               (long long)v->image, (long long)v->image);
    enter(b, "embeddings");
    tensor first = expand(b, parameter(b, "cls_token", 1, 1, e), n, -1, -1);
    enter(b, "patch_embeddings");
    x = patch_tokens(b, "projection", x, e, BEIT_PATCH);
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
    enter(b, "beit");
    x = beit_embed(b, v, x);
    tensor index = beit_offsets(b, v->image / BEIT_PATCH);
    enter(b, "layers");
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "%d", i);
        x = transformer_block_biased(b, &beit_words, &v->sizes, x,
                                     beit_bias(b, v, index));
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
