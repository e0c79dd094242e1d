/* deberta.c - DeBERTa V3 (He et al., 2021): a BERT whose words and positions
 * stay apart.
 *
 * A score is the sum of three products: a token with a token, a token with the
 * distance to the other, and that distance with the other token. Distances are
 * a table of 512 vectors, which all layers share and project by the same
 * weights as the tokens; far ones share a vector. */
#include "zoo/transformer.h"

#include <string.h>

#include <math.h>

enum {
    DEBERTA_WORDS = 128100,
    DEBERTA_SPAN = 256, /* buckets on each side */
    DEBERTA_MOST = 512  /* the farthest distance */
};

static const block_words deberta_words = {
    .o = "attention.output.dense",
    .norm1 = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm2 = "output.LayerNorm",
    .act = CLV_OP_GELU,
};

/* Near distances have a bucket each, far ones share by their log. */
static int64_t deberta_bucket(int64_t distance)
{
    int64_t mid = DEBERTA_SPAN / 2;
    int64_t far = distance < 0 ? -distance : distance;
    if (far <= mid)
        return distance;
    float steps = logf((float)far / (float)mid) /
                  logf((float)(DEBERTA_MOST - 1) / (float)mid) *
                  (float)(mid - 1);
    int64_t bucket = (int64_t)ceilf(steps) + mid;
    return distance < 0 ? -bucket : bucket;
}

/* Rows of the table for each pair: of q - k, or with `back` of k - q. */
static tensor deberta_rows(builder *b, const char *name, int64_t heads,
                           int64_t s, bool back)
{
    int64_t *at;
    tensor rows = whole_table(b, name, 3, (const int64_t[]){heads, s, s}, &at);
    for (int64_t q = 0; at && q < s; q++)
        for (int64_t k = 0; k < s; k++) {
            int64_t bucket = deberta_bucket(q - k);
            int64_t row = (back ? -bucket : bucket) + DEBERTA_SPAN;
            at[q * s + k] = row < 0                  ? 0
                            : row < 2 * DEBERTA_SPAN ? row
                                                     : 2 * DEBERTA_SPAN - 1;
        }
    for (int64_t h = 1; at && h < heads; h++)
        memcpy(at + h * s * s, at, (size_t)(s * s) * sizeof *at);
    return rows;
}

/* What all layers read. */
typedef struct deberta_shared {
    tensor table, rows, back;
} deberta_shared;

/* (N,S,E) -> (N*heads,S,E/heads) */
static tensor deberta_heads(builder *b, tensor x, int64_t heads)
{
    int64_t n = dim(b, x, 0), s = dim(b, x, 1), e = dim(b, x, 2);
    return reshape(b, split_heads(b, x, heads), n * heads, s, e / heads);
}

/* x (N*heads,S,D) with all distances, then of those the ones asked for. */
static tensor deberta_by_distance(builder *b, tensor x, tensor far, tensor rows,
                                  int64_t heads)
{
    int64_t n = dim(b, x, 0) / heads, s = dim(b, x, 1);
    int64_t d = dim(b, far, 2), all = 2 * DEBERTA_SPAN;
    far = expand(b, reshape(b, far, 1, heads, all, d), n, heads, all, d);
    far = reshape(b, far, n * heads, all, d);
    rows = expand(b, reshape(b, rows, 1, heads, s, s), n, heads, s, s);
    rows = reshape(b, rows, n * heads, s, s);
    x = bmm(b, x, transpose(b, far, -1, -2));
    return zoo_call(b, CLV_OP_GATHER_ELEMENTS, "gather", TENSORS(x, rows),
                    ATTRS(INT(AXIS, -1)));
}

/* One projection of the tokens and, by the same weights, of the distances. */
static void deberta_project(builder *b, const char *name, tensor x, tensor far,
                            int64_t heads, tensor out[2])
{
    int64_t e = dim(b, x, 2);
    out[0] = deberta_heads(b, linear(b, name, x, e), heads);
    b->shared = true;
    out[1] = deberta_heads(b, linear(b, name, far, e), heads);
    b->shared = false;
}

static tensor deberta_attention(builder *b, const block_sizes *z,
                                const deberta_shared *all, tensor x)
{
    int64_t n = dim(b, x, 0), s = dim(b, x, 1), h = z->heads;
    double by = 1 / sqrt(3.0 * (double)(z->width / h));
    tensor far = reshape(b, all->table, 1, 2 * DEBERTA_SPAN, z->width);
    tensor q[2], k[2];
    enter_path(b, "attention.self");
    deberta_project(b, "query_proj", x, far, h, q);
    deberta_project(b, "key_proj", x, far, h, k);
    tensor v = deberta_heads(b, linear(b, "value_proj", x, z->width), h);
    tensor scores = bmm(b, q[0], transpose(b, k[0], -1, -2));
    tensor forth = deberta_by_distance(b, q[0], k[1], all->rows, h);
    tensor back = deberta_by_distance(b, k[0], q[1], all->back, h);
    scores = add(b, scores, add(b, forth, transpose(b, back, -1, -2)));
    x = bmm(b, softmax(b, scale(b, scores, by)), v);
    x = join_heads(b, reshape(b, x, n, h, s, z->width / h));
    leave_path(b, "attention.self");
    return x;
}

static tensor deberta_block(builder *b, const block_sizes *z,
                            const deberta_shared *all, tensor x)
{
    const block_words *w = &deberta_words;
    tensor y = deberta_attention(b, z, all, x);
    y = linear_at(b, w->o, y, z->width, true);
    x = layer_norm_at(b, w->norm1, add(b, y, x));
    y = transformer_mlp(b, w, z, x);
    return layer_norm_at(b, w->norm2, add(b, y, x));
}

static void deberta_build(builder *b, const zoo_input *in, const void *variant)
{
    const block_sizes *z = variant;
    b->norm_eps = 1e-7;
    check_heads(b, z->width, z->heads);
    tensor ids = input_ids(b, "input_ids", in);
    int64_t s = dim(b, ids, 1);
    check_length(b, s, DEBERTA_MOST);
    enter(b, "embeddings");
    tensor x = embedding(b, "word_embeddings", ids, DEBERTA_WORDS, z->width);
    x = layer_norm(b, "LayerNorm", x);
    leave(b);
    enter(b, "encoder");
    deberta_shared all = {
        .rows = deberta_rows(b, "relative_pos", z->heads, s, false),
        .back = deberta_rows(b, "relative_pos_back", z->heads, s, true)};
    enter(b, "rel_embeddings");
    all.table = parameter(b, "weight", 2 * DEBERTA_SPAN, z->width);
    leave(b);
    all.table = layer_norm(b, "LayerNorm", all.table);
    enter(b, "layer");
    for (int i = 0; i < z->layers; i++) {
        enter(b, "%d", i);
        x = deberta_block(b, z, &all, x);
        leave(b);
    }
    leave(b);
    leave(b);
    output(b, x);
}

const zoo_knobs clv__knobs_deberta = ZOO_KNOBS(
    deberta_build, block_sizes,
    KNOB("dim", ZOO_INT64, block_sizes, width, 1, 65536),
    KNOB("depth", ZOO_INT, block_sizes, layers, 1, 1000),
    KNOB("heads", ZOO_INT64, block_sizes, heads, 1, 1024),
    KNOB_WITH("mlp", ZOO_INT64, block_sizes, hidden, 1, 262144, "dim"));

#define DEBERTA(name, ...) \
    { \
        {"deberta-v3-" name, \
         "deberta", \
         .rank = 2, \
         .input = {1, 128}, \
         HOME("text", "transformers", 2021), \
         .input_name = "input_ids"}, \
            deberta_build, &(const block_sizes) \
        { \
            __VA_ARGS__ \
        } \
    }

/* layers, heads, width, hidden */
const zoo_model clv__zoo_deberta[] = {
    DEBERTA("xsmall", 12, 6, 384, 1536),
    DEBERTA("small", 6, 12, 768, 3072),
    DEBERTA("base", 12, 12, 768, 3072),
    DEBERTA("large", 24, 16, 1024, 4096),
    ZOO_END,
};
