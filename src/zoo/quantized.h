/* quantized.h - what the words of zoo.h do in a quantised network.
 *
 * Activations are bytes (uint8). Each has a scale and a zero point, which the
 * module that makes it keeps; pools and views keep those of what they read. A
 * convolution contains the batch norm and the ReLU after it, so these words do
 * nothing. */
#ifndef CLV_ZOO_QUANTIZED_H
#define CLV_ZOO_QUANTIZED_H

#include "zoo/zoo.h"

/* y has the scale and zero point of x. */
void quantized_as(builder *b, tensor y, tensor x);
/* "quant" before the network, "dequant" after it. */
tensor quantized_input(builder *b, tensor x);
tensor quantized_output(builder *b, tensor x);
/* In the current scope: a convolution with weights of these four dims, and a
 * linear layer. */
tensor quantized_conv(builder *b, tensor x, const int64_t *dims,
                      const clv_attr *attrs, uint32_t n_attrs);
tensor quantized_linear(builder *b, tensor x, int64_t out);
/* Whether `op` is an activation or pool that is something else on bytes; that.
 * Without a name it is a function. */
bool quantized_acts(clv_op op);
tensor quantized_act(builder *b, clv_op op, const char *name, tensor x,
                     const clv_attr *attrs, uint32_t n_attrs);
/* Sum or product; cat; and one that is not used. */
tensor quantized_two(builder *b, clv_op op, const char *name, tensor x,
                     tensor y);
tensor quantized_cat(builder *b, const char *name, const tensor *xs, uint32_t n,
                     int64_t axis);
void quantized_idle(builder *b, const char *name);

#endif
