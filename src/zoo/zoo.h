/* zoo.h - a small vocabulary in which a model family reads like its paper.
 *
 *     x = conv2d(b, "conv1", x, 64, .kernel = 7, .stride = 2, .padding = 3);
 *     x = batch_norm(b, "bn1", x);
 *     x = relu(b, "relu", x);
 *     enter(b, "layer1"); ... leave(b);
 *
 * A word that is a module in PyTorch makes a scope of its name, so module
 * paths equal torchvision's; a word that is a function ("add", "flatten")
 * makes a node in the current scope. Each node is inferred as it is added,
 * so channels are read off the tensors. The first failure sticks in the
 * builder; every later word then does nothing and returns CLV_NONE, and a
 * model needs no error handling of its own. */
#ifndef CLV_ZOO_H
#define CLV_ZOO_H

#include "ops/ops.h"

#include <stddef.h>

typedef uint32_t tensor;

typedef struct builder {
    clv_graph *g;
    clv_err *e;
    const clv_open_opts *opts; /* they shape further inputs */
    clv_status status;         /* the first failure */
    uint32_t scope;
    clv_dtype dtype;
    double norm_eps; /* of norms; 0: the operator's own, 1e-5 */
    bool whole;      /* the operators are functions inside one module
                      * (attention) */
    bool shared;     /* a weight that is there already is used again */
    bool frozen;     /* batch norms are FrozenBatchNorm2d: no parameters */
    struct quantized *bytes; /* the words make bytes (quantized.h); NULL: not */
} builder;

typedef struct zoo_input {
    const int64_t *dims;
    uint32_t rank;
} zoo_input;

/* Builds one model; `variant` is the registry row's own data. */
typedef void zoo_fn(builder *b, const zoo_input *in, const void *variant);

/* -- structure ------------------------------------------------------------*/

tensor input(builder *b, const char *name, const zoo_input *in);
/* An input of tokens: whole numbers. */
tensor input_ids(builder *b, const char *name, const zoo_input *in);
/* An input after the first, and one of tokens, with its default shape. */
tensor zoo_further(builder *b, const char *name, clv_dtype dtype, uint32_t rank,
                   const int64_t *dims);
#define further(b, name, ...) \
    zoo_further(b, name, (b)->dtype, \
                sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                (int64_t[]){__VA_ARGS__})
#define further_ids(b, name, ...) \
    zoo_further(b, name, CLV_INT64, \
                sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                (int64_t[]){__VA_ARGS__})
void output(builder *b, tensor x);
void enter(builder *b, const char *fmt, ...) CLV_PRINTF(2, 3);
void leave(builder *b);
/* A weight of the current scope. */
tensor weight(builder *b, const char *name, clv_value_kind kind, uint32_t rank,
              const int64_t *dims);
#define parameter(b, name, ...) \
    weight(b, name, CLV_VALUE_PARAM, \
           sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
           (int64_t[]){__VA_ARGS__})
/* A parameter that evaluation never reads (an auxiliary head). */
#define unused(b, name, ...) zoo_unused(b, parameter(b, name, __VA_ARGS__))
void zoo_unused(builder *b, tensor w);
/* "0", "1", ...: the name of a child of a Sequential. */
#define nth(i) zoo_nth((char[12]){0}, i)
const char *zoo_nth(char *text, int i);
/* Set the contents of a weight. constant_ints borrows the ints and makes the
 * weight int64. The others return room for n floats, or for the bytes of a
 * weight of that dtype, for the caller to fill. They return NULL after a
 * failure, when the dtype is another one, or when there are too many bytes to
 * keep. */
void constant_ints(builder *b, tensor w, const int64_t *ints, uint32_t n);
double *constant_floats(builder *b, tensor w, uint32_t n);
void *constant_bytes(builder *b, tensor w, clv_dtype dtype);

/* Size of an axis of x (negative counts from the end); 1 after a failure. */
int64_t dim(const builder *b, tensor x, int axis);
/* Stops the build: memory ran out; returns NULL. */
void *zoo_nomem(builder *b);
/* Stops the build with an error. */
void refuse(builder *b, const char *fmt, ...) CLV_PRINTF(2, 3);

/* -- the general word -----------------------------------------------------*/

/* A node in the current scope. `call` has one output; `calls` fills outs. */
tensor zoo_call(builder *b, clv_op op, const char *name, const tensor *ins,
                uint32_t n_in, const clv_attr *attrs, uint32_t n_attrs);
void zoo_calls(builder *b, clv_op op, const char *name, const tensor *ins,
               uint32_t n_in, const clv_attr *attrs, uint32_t n_attrs,
               tensor *outs, uint32_t n_out);
#define TENSORS(...) \
    (tensor[]){__VA_ARGS__}, sizeof((tensor[]){__VA_ARGS__}) / sizeof(tensor)
#define ATTRS(...) \
    (clv_attr[]){__VA_ARGS__}, \
        sizeof((clv_attr[]){__VA_ARGS__}) / sizeof(clv_attr)
#define NO_ATTRS NULL, 0
#define INT(k, v) \
    { \
        .key = CLV_A_##k, .type = CLV_ATTR_INT, .u.i = (v) \
    }
#define FLOAT(k, v) \
    { \
        .key = CLV_A_##k, .type = CLV_ATTR_FLOAT, .u.f = (v) \
    }
#define STRING(k, v) \
    { \
        .key = CLV_A_##k, .type = CLV_ATTR_STRING, .u.s = (v) \
    }
#define INTS(k, ...) \
    { \
        .key = CLV_A_##k, .type = CLV_ATTR_INTS, \
        .n = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
        .u.ints = (int64_t[]) \
        { \
            __VA_ARGS__ \
        } \
    }

/* A node named after the current scope: the module's own operator. */
tensor zoo_node(builder *b, clv_op op, const tensor *ins, uint32_t n_in,
                const clv_attr *attrs, uint32_t n_attrs);

/* -- modules: a scope of their own, with weights --------------------------*/

typedef struct conv_args {
    int64_t out;
    int64_t kernel, stride, padding, dilation,
        groups; /* square; 0: 1, 1, 0.. */
    int64_t kernel_hw[3], stride_hw[3], padding_hw[3]; /* where they differ */
    bool no_bias;
} conv_args;
tensor zoo_conv(builder *b, clv_op op, const char *name, tensor x, conv_args a);
#define conv1d(b, name, x, ...) \
    zoo_conv(b, CLV_OP_CONV1D, name, x, (conv_args){.out = __VA_ARGS__})
#define conv2d(b, name, x, ...) \
    zoo_conv(b, CLV_OP_CONV2D, name, x, (conv_args){.out = __VA_ARGS__})
#define conv3d(b, name, x, ...) \
    zoo_conv(b, CLV_OP_CONV3D, name, x, (conv_args){.out = __VA_ARGS__})
#define conv_transpose1d(b, name, x, ...) \
    zoo_conv(b, CLV_OP_CONVT1D, name, x, (conv_args){.out = __VA_ARGS__})
#define conv_transpose2d(b, name, x, ...) \
    zoo_conv(b, CLV_OP_CONVT2D, name, x, (conv_args){.out = __VA_ARGS__})

tensor linear(builder *b, const char *name, tensor x, int64_t out);
tensor linear_no_bias(builder *b, const char *name, tensor x, int64_t out);
tensor batch_norm(builder *b, const char *name, tensor x);
tensor group_norm(builder *b, const char *name, tensor x, int64_t groups);
/* A layer norm over the last axis. Without a name it is a function that uses
 * the weights of the current scope. */
tensor layer_norm(builder *b, const char *name, tensor x);

/* Modules with one input and no weights. With NULL for a name, each of these
 * words is a function instead: a node in the current scope. */
tensor zoo_module(builder *b, clv_op op, const char *name, tensor x,
                  const clv_attr *attrs, uint32_t n_attrs);
#define relu(b, name, x)      zoo_module(b, CLV_OP_RELU, name, x, NO_ATTRS)
#define relu6(b, name, x)     zoo_module(b, CLV_OP_RELU6, name, x, NO_ATTRS)
#define gelu(b, name, x)      zoo_module(b, CLV_OP_GELU, name, x, NO_ATTRS)
#define silu(b, name, x)      zoo_module(b, CLV_OP_SILU, name, x, NO_ATTRS)
#define sigmoid(b, name, x)   zoo_module(b, CLV_OP_SIGMOID, name, x, NO_ATTRS)
#define hardswish(b, name, x) zoo_module(b, CLV_OP_HARDSWISH, name, x, NO_ATTRS)
#define hardsigmoid(b, name, x) \
    zoo_module(b, CLV_OP_HARDSIGMOID, name, x, NO_ATTRS)
#define dropout(b, name, x) zoo_module(b, CLV_OP_DROPOUT, name, x, NO_ATTRS)
#define stochastic_depth(b, name, x) \
    zoo_module(b, CLV_OP_STOCHASTIC_DEPTH, name, x, NO_ATTRS)
#define permute(b, name, x, ...) \
    zoo_module(b, CLV_OP_PERMUTE, name, x, ATTRS(INTS(PERM, __VA_ARGS__)))

typedef struct pool_args {
    int64_t kernel, stride, padding; /* stride 0: the kernel */
    bool ceil, no_count_pad;
} pool_args;
tensor zoo_pool(builder *b, clv_op op, const char *name, tensor x, pool_args a);
#define max_pool2d(b, name, x, ...) \
    zoo_pool(b, CLV_OP_MAX_POOL2D, name, x, (pool_args){__VA_ARGS__})
#define avg_pool2d(b, name, x, ...) \
    zoo_pool(b, CLV_OP_AVG_POOL2D, name, x, (pool_args){__VA_ARGS__})
tensor adaptive_avg_pool2d(builder *b, const char *name, tensor x,
                           int64_t size);

/* -- functions: a node in the current scope -------------------------------*/

tensor add(builder *b, tensor x, tensor y);
tensor mul(builder *b, tensor x, tensor y);
/* The same, and cat, with the name of the module that does it when the network
 * is quantised: there it has a scale of its own. */
tensor add_as(builder *b, const char *name, tensor x, tensor y);
tensor mul_as(builder *b, const char *name, tensor x, tensor y);
tensor cat_as(builder *b, const char *name, const tensor *xs, uint32_t n,
              int64_t axis);
/* Such a module that is there and does nothing. */
void idle(builder *b, const char *name);
#define divide(b, x, y) zoo_call(b, CLV_OP_DIV, "div", TENSORS(x, y), NO_ATTRS)
#define expand(b, x, ...) \
    zoo_call(b, CLV_OP_EXPAND, "expand", TENSORS(x), \
             ATTRS(INTS(SHAPE, __VA_ARGS__)))
tensor flatten(builder *b, tensor x, int64_t start);
tensor cat(builder *b, const tensor *xs, uint32_t n, int64_t axis);
#define cat_of(b, axis, ...) cat(b, TENSORS(__VA_ARGS__), axis)
#define reshape(b, x, ...) \
    zoo_call(b, CLV_OP_RESHAPE, "reshape", TENSORS(x), \
             ATTRS(INTS(SHAPE, __VA_ARGS__)))
/* reshape with the shape as an input: for values whose sizes are bounds. */
#define reshape_open(b, x, ...) \
    zoo_call(b, CLV_OP_RESHAPE, "reshape", \
             TENSORS(x, whole_numbers(b, (int64_t[]){__VA_ARGS__}, \
                                      sizeof((int64_t[]){__VA_ARGS__}) / \
                                          sizeof(int64_t))), \
             NO_ATTRS)
tensor transpose(builder *b, tensor x, int64_t axis, int64_t other);
/* Splits an axis into `parts` equal parts, in outs. */
void chunk(builder *b, tensor x, uint32_t parts, int64_t axis, tensor *outs);
tensor bmm(builder *b, tensor x, tensor y);
tensor matmul(builder *b, tensor x, tensor y);
/* Over the last axis. */
tensor softmax(builder *b, tensor x);
/* A number without axes, and one whole number as a list of one. */
tensor number(builder *b, double value);
tensor whole_number(builder *b, int64_t value);
tensor whole_numbers(builder *b, const int64_t *values, uint32_t n);
/* x times a number. */
tensor scale(builder *b, tensor x, double by);
/* x plus a number. */
tensor shift(builder *b, tensor x, double by);
tensor sub(builder *b, tensor x, tensor y);
/* Elements start .. end of an axis; `end` may exceed its size. */
tensor slice(builder *b, tensor x, int64_t axis, int64_t start, int64_t end);
/* x[.., i, ..]: the axis goes. */
tensor select_at(builder *b, tensor x, int64_t axis, int64_t i);
/* A function of one tensor without attributes, such as CLV_OP_EXP. */
tensor unary(builder *b, clv_op op, tensor x);
/* A linear layer with the weights given; bias may be CLV_NONE. */
tensor linear_of(builder *b, const char *name, tensor x, tensor w, tensor bias);
/* x.mean([2, 3]) */
tensor spatial_mean(builder *b, tensor x);

/* -- blocks that several families share (blocks.c) ------------------------*/

/* torchvision's Conv2dNormActivation: convolution "0" without bias, padded to
 * keep the size, batch norm "1", activation "2" (CLV_OP_IDENTITY: none). */
tensor zoo_conv_norm_act(builder *b, const char *name, tensor x, clv_op act,
                         conv_args a);
#define conv_norm_act(b, name, x, act, ...) \
    zoo_conv_norm_act(b, name, x, act, (conv_args){.out = __VA_ARGS__})
/* "conv" without bias, "bn", and a ReLU that is a function. */
tensor zoo_basic_conv(builder *b, const char *name, tensor x, conv_args a);
#define basic_conv(b, name, x, ...) \
    zoo_basic_conv(b, name, x, (conv_args){.out = __VA_ARGS__})
/* Squeeze-and-excitation: scales each channel by a factor computed from the
 * means of all channels. */
tensor squeeze_excite(builder *b, const char *name, tensor x, int64_t squeeze,
                      clv_op act, clv_op scale);
/* timm's BatchNormAct2d: a batch norm with the activation inside it. */
tensor norm_act(builder *b, const char *name, tensor x, clv_op act);
/* timm's ConvNormAct: "conv" without bias, padded to keep the size, and "bn"
 * with its activation (CLV_OP_IDENTITY: none). */
tensor zoo_timm_conv(builder *b, const char *name, tensor x, clv_op act,
                     conv_args a);
#define timm_conv(b, name, x, act, ...) \
    zoo_timm_conv(b, name, x, act, (conv_args){.out = __VA_ARGS__})
/* Squeeze-and-excitation with the names that timm gives its two layers. */
typedef struct timm_se {
    const char *reduce, *expand; /* reduce NULL: one layer only */
    int64_t squeeze;
    clv_op act, gate;
    const char *act_name; /* NULL: "act" */
} timm_se;
tensor timm_excite(builder *b, const char *name, tensor x, const timm_se *s);
/* MobileOne's layer, as it is trained: the sum of `branches` convolutions, of a
 * 1x1 beside a larger one, and of a batch norm of x where the shape stays. */
typedef struct one_layer {
    conv_args conv; /* kernel and stride are given */
    int branches;
    bool no_scale; /* no 1x1 beside it */
    clv_op act;    /* CLV_OP_IDENTITY: none */
    const char *se_name;
    const timm_se *se; /* NULL: none */
} one_layer;
tensor one_block(builder *b, tensor x, const one_layer *l);
/* LayerNorm2d: a layer norm over the channels of (N,C,H,W). */
tensor layer_norm_2d(builder *b, const char *name, tensor x);
/* "global_pool": a mean over the image, (N,C,1,1). */
tensor timm_pool(builder *b, tensor x);
/* "head": a mean over the image, and "fc". */
tensor timm_head(builder *b, tensor x);
/* The same with another number of classes. */
tensor timm_head_of(builder *b, tensor x, int64_t classes);
/* "head": a mean over the image, a layer norm, and "fc". */
tensor timm_norm_head(builder *b, tensor x, int64_t classes);
/* x.mean([2, 3], keepdim=True) */
tensor spatial_mean_kept(builder *b, tensor x);
/* Stops the build unless x is h x w: what is learned has these sizes. */
void need_size(builder *b, tensor x, int64_t h, int64_t w);
/* The same of a feature map, which images of several sizes may make. */
void need_map(builder *b, tensor x, int64_t side);
/* Returns, for each pair of tokens i and j of an s x s window, the row of a
 * table of offsets. If they differ by (dy, dx), each in (-s, s), that is row
 * (dy + s - 1) * (2 s - 1) + dx + s - 1. There are s^4 pairs. Returns NULL
 * after a failure. */
const int64_t *offset_rows(builder *b, int64_t s);
/* How far each query of a side x side image is from each key, as the row
 * |dy| * side + |dx| of a table. Every `step`th token of each axis is a query,
 * all are keys. */
typedef struct distances {
    int64_t side, queries;
    const int64_t *rows; /* queries * side * side; NULL after a failure */
} distances;
distances distances_of(builder *b, int64_t side, int64_t step);
/* What LeViT and its kin add to their scores: a learned number for each head
 * and distance, (heads,queries,keys). Files may keep the rows of the table
 * (`kept`). */
tensor distance_bias(builder *b, const distances *d, int64_t heads, bool kept);
/* Returns the multiple of `by` nearest to v that is at least 0.9 v. */
int64_t make_divisible(double v, int64_t by);

/* -- networks that others build on ----------------------------------------*/

/* ResNet-50 (third = 6) or 101 (23) up to its last feature map, which dilation
 * keeps at an eighth of the image's side. */
tensor resnet_backbone(builder *b, int third, tensor x);
/* ResNet-50 without its head; the outputs of its four stages go to `stages`. */
void resnet_pyramid(builder *b, tensor x, tensor stages[4]);
/* timm's ResNet-50 (third = 6) or 101 (23) without its head. With `dilated`,
 * the last stage keeps the size of the one before. */
void timm_resnet(builder *b, int third, bool dilated, tensor x,
                 tensor stages[4]);
/* MobileNetV3 (large) up to its last feature map, at a sixteenth of the image's
 * side; *low is at an eighth. */
tensor mobilenet_v3_backbone(builder *b, tensor x, tensor *low);
/* MobileNetV3 (large) without its head: the outputs of its 13th block and of
 * its last convolution, both at a thirtysecond of the image's side. */
void mobilenet_v3_pyramid(builder *b, tensor x, tensor out[2]);
/* MobileNetV3 (large) with half the channels in its tail, as SSDlite cuts it:
 * inside the 13th block, whose expansion is at a sixteenth. */
void mobilenet_v3_lite(builder *b, tensor x, tensor out[2]);

/* -- the registry ---------------------------------------------------------*/

/* A number of a variant that a user may set, and its range. */
typedef enum { ZOO_INT, ZOO_INT64, ZOO_DOUBLE } zoo_knob_type;
typedef struct zoo_knob {
    const char *name;
    zoo_knob_type type;
    size_t offset;
    double low, high;
    const char *with; /* another, in proportion to which it stays; or NULL */
} zoo_knob;
typedef struct zoo_knobs {
    zoo_fn *build; /* of the rows whose numbers these are */
    size_t size;   /* of the variant */
    uint32_t n;
    const zoo_knob *list;
} zoo_knobs;
/* The table of a family: its builder, its variant's type, rows KNOB(..). */
#define KNOB(name, type, struct_, field, low, high) \
    KNOB_WITH(name, type, struct_, field, low, high, NULL)
#define KNOB_WITH(name, type, struct_, field, low, high, with) \
    { \
        name, type, offsetof(struct_, field), low, high, with \
    }
#define ZOO_KNOBS(build, struct_, ...) \
    { \
        build, sizeof(struct_), \
            sizeof((zoo_knob[]){__VA_ARGS__}) / sizeof(zoo_knob), \
            (const zoo_knob[]) \
        { \
            __VA_ARGS__ \
        } \
    }
enum { ZOO_MAX_VARIANT = 256 }; /* bytes of a variant with knobs */

typedef struct zoo_model {
    clv_zoo_model info; /* the first: clv_zoo_knob relies on it */
    zoo_fn *build;
    const void *variant;
} zoo_model;

/* A family's rows end with ZOO_END. */
#define ZOO_END \
    { \
        .build = NULL \
    }

#define ZOO_FAMILIES(X) \
    X(alexnet) \
    X(bart) \
    X(beit) \
    X(bert) \
    X(cait) \
    X(clip) \
    X(coatnet) \
    X(convmixer) \
    X(convnext) \
    X(convnextv2) \
    X(deberta) \
    X(deformable_detr) \
    X(densenet) \
    X(efficientformer) \
    X(efficientformer_v2) \
    X(diffusion) \
    X(dit) \
    X(dlrm) \
    X(detr) \
    X(efficientnet) \
    X(efficientnet_lite) \
    X(eva) \
    X(fastvit) \
    X(ghostnet) \
    X(googlenet) \
    X(hrnet) \
    X(hifigan) \
    X(hub_swin) \
    X(hub_vit) \
    X(inception) \
    X(levit) \
    X(maxvit) \
    X(mixer) \
    X(mlperf_tiny) \
    X(mnasnet) \
    X(mobilenet_v2) \
    X(mobilenet_v3) \
    X(mobileone) \
    X(mobilevit) \
    X(mvit) \
    X(nfnet) \
    X(poolformer) \
    X(quantized) \
    X(raft) \
    X(rcnn) \
    X(regnet) \
    X(repvgg) \
    X(resnet) \
    X(resnet_d) \
    X(retinanet) \
    X(rtdetr) \
    X(s3d) \
    X(sam) \
    X(segformer) \
    X(segmentation) \
    X(shufflenet) \
    X(squeezenet) \
    X(ssd) \
    X(swin) \
    X(swin3d) \
    X(t5) \
    X(tiny_vit) \
    X(vgg) \
    X(video_resnet) \
    X(vit) \
    X(vovnet) \
    X(wav2vec2) \
    X(xcit) \
    X(yolo) \
    X(yolos)

/* Families with a table of knobs. */
#define ZOO_TURNED(X) \
    X(bert) \
    X(cait) \
    X(convmixer) \
    X(convnext) \
    X(deberta) \
    X(densenet) \
    X(diffusion) \
    X(dlrm) \
    X(efficientnet) \
    X(efficientnet_lite) \
    X(ghostnet) \
    X(hrnet) \
    X(mixer) \
    X(mnasnet) \
    X(mobilenet_v2) \
    X(mobileone) \
    X(nfnet) \
    X(resnet) \
    X(swin) \
    X(t5) \
    X(vit) \
    X(xcit) \
    X(yolo)

#define X(family) extern const zoo_knobs clv__knobs_##family;
ZOO_TURNED(X)
#undef X
/* The numbers of m that can be set; NULL: none. */
const zoo_knobs *clv__zoo_knobs(const zoo_model *m);

#define X(family) extern const zoo_model clv__zoo_##family[];
ZOO_FAMILIES(X)
#undef X

/* One image: (1, 3, size, size). */
#define IMAGE(size) .rank = 4, .input = {1, 3, size, size}
/* One clip: (1, 3, frames, size, size). */
#define CLIP(frames, size) .rank = 5, .input = {1, 3, frames, size, size}

/* What a model is for, where it comes from, when it was published. */
#define HOME(task_, source_, year_) \
    .task = task_, .source = source_, .year = year_
#define TORCHVISION(task, year) HOME(task, "torchvision", year)
#define TIMM(task, year)        HOME(task, "timm", year)

/* The model called `name`, NULL if there is none. "vit_b_16:patch=8" and
 * "vit:patch=8" are the row of that name, and the first of that family which
 * has knobs; *knobs is then what follows the colon, else NULL. */
const zoo_model *clv__zoo_find(const char *name, const char **knobs);
/* Copies the variant of m and sets what `text` and the options say. */
CLV_MUST clv_status clv__zoo_turn(const zoo_model *m, const char *text,
                                  const clv_open_opts *opts, void *variant,
                                  clv_err *e);
/* `name` as the user typed it, with its knobs. */
CLV_MUST clv_status clv__zoo_build(const zoo_model *m, const char *name,
                                   const clv_open_opts *opts, clv_graph **out,
                                   clv_err *e);

#endif
