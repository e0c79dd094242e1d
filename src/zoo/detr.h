/* detr.h - parts of a block that DETR and Deformable DETR share (detr.c). */
#ifndef CLV_ZOO_DETR_H
#define CLV_ZOO_DETR_H

#include "zoo/transformer.h"

enum { DETR_WIDTH = 256, DETR_HEADS = 8, DETR_LAYERS = 6 };

/* Attention `name`: keys and values of the same tokens, keys with their places
 * added. Adds the result to x and norms the sum. */
tensor detr_attends(builder *b, const char *name, tensor x, tensor query,
                    tensor key, tensor value);
/* The same around what any attention `name` gave: the sum and its norm. */
tensor detr_sum(builder *b, const char *name, tensor x, tensor y);
/* The perceptron of a block, with the sum and its norm. */
tensor detr_thinks(builder *b, tensor x, int64_t hidden);

#endif
