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
    bool act_tanh; /* gelu by tanh */
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

/* softmax(q k' / sqrt(d)) v over heads; q (N,S,E), k and v (N,T,E). */
tensor attend(builder *b, tensor q, tensor k, tensor v, int64_t heads,
              bool causal);
/* One block in the current scope; `other` is what cross-attention reads, or
 * CLV_NONE. */
tensor transformer_block(builder *b, const block_words *w, const block_sizes *z,
                         tensor x, tensor other, bool causal);
/* All blocks, in scopes 0, 1, .. below `path`. */
tensor transformer_stack(builder *b, const char *path, const block_words *w,
                         const block_sizes *z, tensor x);
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
/* Refuses a sequence longer than the table of positions. */
void check_length(builder *b, int64_t n, int64_t most);

#endif
