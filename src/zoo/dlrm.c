/* dlrm.c - DLRM (Naumov et al., 2019): will this user click on this link.
 *
 * Thirteen numbers go through a network of linear layers; twenty-six
 * categories are rows of a table each. All of these vectors are multiplied with
 * each other, and the products, with the first vector, go through a second
 * network. As the authors' benchmark has it, one id for each category. */
#include "zoo/transformer.h"

enum {
    DLRM_NUMBERS = 13,
    DLRM_TABLES = 26,
    DLRM_VECTORS = DLRM_TABLES + 1,
    DLRM_PAIRS = DLRM_VECTORS * (DLRM_VECTORS - 1) / 2,
    DLRM_LAYERS = 6
};

typedef struct dlrm {
    int64_t most;                    /* rows of a table */
    int64_t width;                   /* of a row */
    const int64_t *rows;             /* of each table */
    int64_t bottom[DLRM_LAYERS + 1]; /* widths; 0 ends them */
    int64_t top[DLRM_LAYERS + 1];
} dlrm;

/* Linear layers with a ReLU after each; the last has a sigmoid at the top. */
static tensor dlrm_mlp(builder *b, const char *name, tensor x,
                       const int64_t *widths, bool top)
{
    enter(b, "%s", name);
    for (int i = 0; widths[i]; i++) {
        x = linear(b, nth(2 * i), x, widths[i]);
        x = top && !widths[i + 1] ? sigmoid(b, nth(2 * i + 1), x)
                                  : relu(b, nth(2 * i + 1), x);
    }
    leave(b);
    return x;
}

/* Row `i` of the ids (26,N) looked up in table i: (N,width). The original sums
 * a bag of rows, which has one row here. */
static tensor dlrm_look_up(builder *b, const dlrm *v, int i, tensor ids)
{
    int64_t rows = v->rows[i] < v->most ? v->rows[i] : v->most;
    tensor one = select_at(b, ids, 0, i);
    return embedding(b, nth(i), one, rows, v->width);
}

/* Products of all pairs of the vectors, each pair once, after the first
 * vector: (N,width + 351). */
static tensor dlrm_interact(builder *b, const dlrm *v, const tensor *vectors)
{
    int64_t n = dim(b, vectors[0], 0), *at, pairs = DLRM_PAIRS;
    tensor t = cat(b, vectors, DLRM_VECTORS, 1);
    t = reshape(b, t, n, DLRM_VECTORS, v->width);
    tensor z = bmm(b, t, transpose(b, t, 1, 2));
    tensor lower = whole_table(b, "pairs", 1, &pairs, &at);
    for (int i = 0; at && i < DLRM_VECTORS; i++)
        for (int k = 0; k < i; k++)
            *at++ = i * DLRM_VECTORS + k;
    z = reshape(b, z, n, DLRM_VECTORS * DLRM_VECTORS);
    z = zoo_call(b, CLV_OP_INDEX_SELECT, "getitem", TENSORS(z, lower),
                 ATTRS(INT(AXIS, 1)));
    return cat_of(b, 1, vectors[0], z);
}

/* Ids (26,N). Their first axis is not the batch that options may set. */
static tensor dlrm_ids(builder *b, int64_t n)
{
    const clv_open_opts *kept = b->opts;
    clv_open_opts own;
    if (kept) {
        own = *kept;
        own.batch = 0;
        b->opts = &own;
    }
    tensor ids = further_ids(b, "lS_i", DLRM_TABLES, n);
    b->opts = kept;
    return ids;
}

static void dlrm_build(builder *b, const zoo_input *in, const void *variant)
{
    const dlrm *v = variant;
    tensor vectors[DLRM_VECTORS];
    if (in->dims[1] != DLRM_NUMBERS)
        refuse(b, "%lld numbers: it takes %d", (long long)in->dims[1],
               DLRM_NUMBERS);
    tensor x = input(b, "dense_x", in);
    tensor ids = dlrm_ids(b, in->dims[0]);
    vectors[0] = dlrm_mlp(b, "bot_l", x, v->bottom, false);
    enter(b, "emb_l");
    for (int i = 0; i < DLRM_TABLES; i++)
        vectors[1 + i] = dlrm_look_up(b, v, i, ids);
    leave(b);
    x = dlrm_interact(b, v, vectors);
    output(b, dlrm_mlp(b, "top_l", x, v->top, true));
}

const zoo_knobs clv__knobs_dlrm = ZOO_KNOBS(
    dlrm_build, dlrm, KNOB("max-ind-range", ZOO_INT64, dlrm, most, 1, 1e12));

#define DLRM(name, ...) \
    { \
        {name, \
         "dlrm", \
         .rank = 2, \
         .input = {1, DLRM_NUMBERS}, \
         HOME("recommendation", "dlrm", 2019), \
         .input_name = "dense_x"}, \
            dlrm_build, &(const dlrm) \
        { \
            __VA_ARGS__ \
        } \
    }

/* Values of each category in Criteo's data: of Kaggle, and of the terabyte
 * with ids modulo 40 million. */
static const int64_t kaggle_rows[DLRM_TABLES] = {
    1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
    93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
    2173,  4,    7046547,  18,      15,  286181, 105,     142572};
static const int64_t terabyte_rows[DLRM_TABLES] = {
    39884406, 39043,    17289,    7420,     20263,  3,     7120, 1543, 63,
    38532951, 2953546,  403346,   10,       2208,   11938, 155,  4,    976,
    14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};

/* most rows, width, rows, layers before and after the products */
const zoo_model clv__zoo_dlrm[] = {
    DLRM("dlrm-criteo-kaggle", 100000000, 16, kaggle_rows, {512, 256, 64, 16},
         {512, 256, 1}),
    DLRM("dlrm-mlperf", 40000000, 128, terabyte_rows, {512, 256, 128},
         {1024, 1024, 512, 256, 1}),
    ZOO_END,
};
