/* rnn_layers.h - recurrent layers as PyTorch has them (ref/rnn_layers.c). */
#ifndef CLV_RNN_LAYERS_H
#define CLV_RNN_LAYERS_H

#include "backend/kernel.h"

/* Runs the layers of a node of layout "seq" or "batch", each by `layer`, which
 * gets it in ONNX's form. */
CLV_MUST clv_status clv__rnn_layers(kernel *k, clv_kernel_fn *layer);

#endif
