/* transformer.h - the block that the transformers of Hugging Face share.
 *
 *   post-norm (BERT)   x = norm1(x + attend(x));    x = norm2(x + mlp(x))
 *   pre-norm (ViT)     x = x + attend(norm1(x));    x = x + mlp(norm2(x))
 *
 * Families differ in where the norms stand, which projections have a bias, the
 * activation, scales on the branches, and above all in what they call their
 * parts. All of that is one row of words; a model adds its sizes. */
#ifndef CLV_ZOO_TRANSFORMER_H
#define CLV_ZOO_TRANSFORMER_H

#include "zoo/zoo.h"

/* Paths of a block's parts, below the block. */
typedef struct block_words {
    const char *q, *k, *v, *o; /* projections of attention */
    const char *norm1, *up, *down, *norm2;
    const char *scale1, *scale2; /* NULL: branches are not scaled */
    const char *cross_q, *cross_k, *cross_v, *cross_o, *cross_norm;
    bool pre_norm, key_no_bias;
    clv_op act;
    bool act_tanh;    /* gelu by tanh */
    double act_alpha; /* of a SiLU; 0: 1 */
} block_words;

typedef struct block_sizes {
    int layers;
    int64_t heads, width, hidden;
} block_sizes;

/* Words of which the name is a path: "attention.self.query". */
tensor linear_at(builder *b, const char *path, tensor x, int64_t out,
                 bool bias);
tensor layer_norm_at(builder *b, const char *path, tensor x);
void enter_path(builder *b, const char *path);
void leave_path(builder *b, const char *path);

typedef struct attend_args {
    int64_t heads;
    bool causal;
    tensor mask;  /* is added to the scores; 0: none */
    double scale; /* of the scores; 0: 1 / sqrt(d) */
} attend_args;
/* softmax(q k' scale + mask) v over heads of d; q (N,S,E), k and v (N,T,E). */
tensor zoo_attend(builder *b, tensor q, tensor k, tensor v, attend_args a);
#define attend(b, q, k, v, ...) \
    zoo_attend(b, q, k, v, (attend_args){__VA_ARGS__})
/* (N,S,E) -> (N,heads,S,E/heads), and back. */
tensor split_heads(builder *b, tensor x, int64_t heads);
tensor join_heads(builder *b, tensor x);
/* What stands in a block between its two linears. */
tensor transformer_activation(builder *b, const block_words *w, tensor x);
/* up, activation, down */
tensor transformer_mlp(builder *b, const block_words *w, const block_sizes *z,
                       tensor x);
/* One block in the current scope; `other` is what cross-attention reads, or
 * CLV_NONE. */
tensor transformer_block(builder *b, const block_words *w, const block_sizes *z,
                         tensor x, tensor other, bool causal);
/* One block whose scores of attention get a bias. */
tensor transformer_block_biased(builder *b, const block_words *w,
                                const block_sizes *z, tensor x, tensor bias);
/* All blocks, in scopes 0, 1, .. below `path`. */
tensor transformer_stack(builder *b, const char *path, const block_words *w,
                         const block_sizes *z, tensor x);
/* The same, each block causal or reading `other` too. */
tensor transformer_layers(builder *b, const char *path, const block_words *w,
                          const block_sizes *z, tensor x, tensor other,
                          bool causal);
/* Rows `first`, first + 1, .. of table `name`, n of them, as (1,n,width); the
 * table has `rows`. */
tensor positions(builder *b, const char *name, int64_t rows, int64_t width,
                 int64_t first, int64_t n);
/* The patches of an image as tokens: (N,3,H,W) -> (N,tokens,width). */
tensor patch_tokens(builder *b, const char *name, tensor x, int64_t width,
                    int64_t patch);
/* Looks up ids in a table. */
tensor embedding(builder *b, const char *path, tensor ids, int64_t rows,
                 int64_t width);
/* The same in a table that another module has; path may be "". */
tensor embedding_of(builder *b, const char *path, tensor table, tensor ids);
/* A constant of whole numbers, which the caller writes to *fill; that is NULL
 * after a failure. One too large to keep is refused. */
tensor whole_table(builder *b, const char *name, uint32_t rank,
                   const int64_t *dims, int64_t **fill);
/* DETR's perceptron: linears layers.0, layers.1, .. with ReLU between, all
 * `hidden` wide but the last. */
tensor perceptron(builder *b, const char *path, tensor x, int layers,
                  int64_t hidden, int64_t out);
/* DETR's positions of an h x w map, (1,h,w,width): sines and cosines of y in
 * the first half, of x in the second. A cell stands `centre` before its end:
 * positions are (i + 1 - centre) / size in turns. */
tensor sine_map(builder *b, int64_t h, int64_t w, int64_t width, double centre);
/* Refuses a sequence longer than the table of positions. */
void check_length(builder *b, int64_t n, int64_t most);
/* Refuses a width that cannot be shared out among heads. */
void check_heads(builder *b, int64_t width, int64_t heads);

#endif
