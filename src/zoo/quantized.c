/* quantized.c - torchvision's quantised networks ("quantized_resnet50"), as
 * torch quantises them after training: int8 weights with a scale per channel,
 * uint8 activations, batch norms and ReLUs inside the convolutions.
 *
 * The specification of such a network is that of its float counterpart, built
 * with words that make bytes. Names of weights are those of torch's state dict.
 * Biases are what integer convolutions add, int32 in units of both scales;
 * torch stores them as floats of the same four bytes. Sums, products, joins,
 * average pools and hard activations stand between a dequantise and a quantise,
 * as ONNX writes what runs on bytes. Scales come from data; those here are
 * plausible and no more, as the weights are. */
#include "zoo/quantized.h"

/* How the bytes of one tensor are read: (byte - zero) * scale. */
typedef struct quantized_code {
    tensor scale, zero;
    uint8_t *at; /* contents of zero */
} quantized_code;

/* The codes of all tensors by their ids. */
typedef struct quantized {
    quantized_code *codes;
    uint32_t n;
} quantized;

enum { QUANTIZED_MIDDLE = 64 }; /* of the 128 codes that torch uses */
static const double quantized_step = 0.05;

/* -- codes ----------------------------------------------------------------*/

static quantized_code quantized_of(const builder *b, tensor x)
{
    static uint8_t none;
    quantized *q = b->bytes;
    if (b->status != CLV_OK || x >= q->n || !q->codes[x].at)
        return (quantized_code){CLV_NONE, CLV_NONE, &none};
    return q->codes[x];
}

static void quantized_set(builder *b, tensor x, quantized_code code)
{
    quantized *q = b->bytes;
    if (b->status != CLV_OK)
        return;
    if (x >= q->n) {
        uint32_t n = 2 * x + 64;
        quantized_code *all = arena_array(&b->g->mem, n, sizeof *all);
        if (!all) {
            zoo_nomem(b);
            return;
        }
        for (uint32_t i = 0; i < n; i++)
            all[i] = i < q->n ? q->codes[i] : (quantized_code){.at = NULL};
        q->codes = all;
        q->n = n;
    }
    q->codes[x] = code;
}

void quantized_as(builder *b, tensor y, tensor x)
{
    quantized_set(b, y, quantized_of(b, x));
}

/* A weight of another type than the network's. */
static tensor quantized_weight(builder *b, const char *name,
                               clv_value_kind kind, clv_dtype dtype,
                               uint32_t rank, const int64_t *dims)
{
    tensor w = weight(b, name, kind, rank, dims);
    if (b->status == CLV_OK)
        b->g->values[w].dtype = (uint8_t)dtype;
    return w;
}

/* The members "scale" and "zero_point" of the current scope. */
static quantized_code quantized_members(builder *b, uint32_t rank)
{
    static const int64_t one = 1;
    quantized_code c;
    c.scale =
        quantized_weight(b, "scale", CLV_VALUE_BUFFER, CLV_FLOAT32, rank, &one);
    c.zero = quantized_weight(b, "zero_point", CLV_VALUE_BUFFER, CLV_UINT8,
                              rank, &one);
    double *at = constant_floats(b, c.scale, 1);
    if (at)
        *at = quantized_step;
    c.at = constant_bytes(b, c.zero, CLV_UINT8);
    if (c.at)
        *c.at = QUANTIZED_MIDDLE;
    return c;
}

/* -- the network's ends ---------------------------------------------------*/

tensor quantized_input(builder *b, tensor x)
{
    enter(b, "quant");
    quantized_code c = quantized_members(b, 1);
    tensor y = zoo_node(b, CLV_OP_QUANTIZE_LINEAR, TENSORS(x, c.scale, c.zero),
                        NO_ATTRS);
    leave(b);
    quantized_set(b, y, c);
    return y;
}

tensor quantized_output(builder *b, tensor x)
{
    quantized_code c = quantized_of(b, x);
    enter(b, "dequant");
    x = zoo_node(b, CLV_OP_DEQUANTIZE_LINEAR, TENSORS(x, c.scale, c.zero),
                 NO_ATTRS);
    leave(b);
    return x;
}

/* -- products -------------------------------------------------------------*/

/* The convolution of x by w (out,in/groups,h,w), which has its own scales. */
static tensor quantized_product(builder *b, tensor x, tensor w, tensor bias,
                                const clv_attr *attrs, uint32_t n_attrs)
{
    int64_t out = dim(b, bias, 0);
    quantized_code in = quantized_of(b, x);
    tensor steps = quantized_weight(b, "weight.scale", CLV_VALUE_CONST,
                                    CLV_FLOAT32, 1, &out);
    tensor zeros = quantized_weight(b, "weight.zero_point", CLV_VALUE_CONST,
                                    CLV_INT8, 1, &out);
    double *at = constant_floats(b, steps, (uint32_t)out);
    int8_t *zero = constant_bytes(b, zeros, CLV_INT8);
    for (int64_t i = 0; i < out && at && zero; i++) {
        at[i] = quantized_step / 16;
        zero[i] = 0;
    }
    quantized_code c = quantized_members(b, 0);
    tensor y = zoo_node(
        b, CLV_OP_QLINEAR_CONV,
        TENSORS(x, in.scale, in.zero, w, steps, zeros, c.scale, c.zero, bias),
        attrs, n_attrs);
    quantized_set(b, y, c);
    return y;
}

tensor quantized_conv(builder *b, tensor x, const int64_t *dims,
                      const clv_attr *attrs, uint32_t n_attrs)
{
    tensor w =
        quantized_weight(b, "weight", CLV_VALUE_PARAM, CLV_INT8, 4, dims);
    tensor bias =
        quantized_weight(b, "bias", CLV_VALUE_PARAM, CLV_INT32, 1, dims);
    return quantized_product(b, x, w, bias, attrs, n_attrs);
}

/* A convolution of one pixel: that has a bias, an integer product has none. */
tensor quantized_linear(builder *b, tensor x, int64_t out)
{
    int64_t n = dim(b, x, 0), in = dim(b, x, 1);
    tensor w =
        quantized_weight(b, "_packed_params._packed_params.0", CLV_VALUE_PARAM,
                         CLV_INT8, 2, (const int64_t[]){out, in});
    tensor bias = quantized_weight(b, "_packed_params._packed_params.1",
                                   CLV_VALUE_PARAM, CLV_INT32, 1, &out);
    x = reshape(b, x, n, in, 1, 1);
    w = reshape(b, w, out, in, 1, 1);
    x = quantized_product(b, x, w, bias, ATTRS(INT(GROUPS, 1)));
    return reshape(b, x, n, out);
}

/* -- functions of floats, between bytes -----------------------------------*/

static tensor quantized_floats(builder *b, tensor x)
{
    quantized_code c = quantized_of(b, x);
    return zoo_call(b, CLV_OP_DEQUANTIZE_LINEAR, "dequantize",
                    TENSORS(x, c.scale, c.zero), NO_ATTRS);
}

static tensor quantized_bytes(builder *b, tensor x, quantized_code c)
{
    x = zoo_call(b, CLV_OP_QUANTIZE_LINEAR, "quantize",
                 TENSORS(x, c.scale, c.zero), NO_ATTRS);
    quantized_set(b, x, c);
    return x;
}

bool quantized_acts(clv_op op)
{
    return op == CLV_OP_RELU || op == CLV_OP_RELU6 || op == CLV_OP_HARDSWISH ||
           op == CLV_OP_HARDSIGMOID || op == CLV_OP_AVG_POOL2D ||
           op == CLV_OP_ADAPTIVE_AVG_POOL2D;
}

/* torch's code of a hard sigmoid is fixed: 0 to 1 in 256 steps. */
static quantized_code quantized_share(builder *b)
{
    quantized_code c = {.scale = number(b, 1.0 / 256)};
    c.zero = quantized_weight(b, "zero", CLV_VALUE_CONST, CLV_UINT8, 0, NULL);
    c.at = constant_bytes(b, c.zero, CLV_UINT8);
    if (c.at)
        *c.at = 0;
    return c;
}

tensor quantized_act(builder *b, clv_op op, const char *name, tensor x,
                     const clv_attr *attrs, uint32_t n_attrs)
{
    quantized_code c = quantized_of(b, x);
    if (op == CLV_OP_RELU || op == CLV_OP_RELU6) {
        *c.at = 0; /* no byte is below zero then */
        return x;
    }
    if (name)
        enter(b, "%s", name);
    if (op == CLV_OP_HARDSIGMOID)
        c = quantized_share(b);
    else if (op == CLV_OP_HARDSWISH)
        c = quantized_members(b, 0);
    x = zoo_call(b, op, clv__op_name(op), TENSORS(quantized_floats(b, x)),
                 attrs, n_attrs);
    x = quantized_bytes(b, x, c);
    if (name)
        leave(b);
    return x;
}

/* -- functions of several -------------------------------------------------*/

tensor quantized_two(builder *b, clv_op op, const char *name, tensor x,
                     tensor y)
{
    enter(b, "%s", name);
    quantized_code c = quantized_members(b, 0);
    x = quantized_floats(b, x);
    x = zoo_call(b, op, clv__op_name(op), TENSORS(x, quantized_floats(b, y)),
                 NO_ATTRS);
    x = quantized_bytes(b, x, c);
    leave(b);
    return x;
}

tensor quantized_cat(builder *b, const char *name, const tensor *xs, uint32_t n,
                     int64_t axis)
{
    enum { MOST = 8 };
    tensor each[MOST];
    n = n < MOST ? n : MOST;
    enter(b, "%s", name);
    quantized_code c = quantized_members(b, 0);
    for (uint32_t i = 0; i < n; i++)
        each[i] = quantized_floats(b, xs[i]);
    tensor y = quantized_bytes(b, cat(b, each, n, axis), c);
    leave(b);
    return y;
}

void quantized_idle(builder *b, const char *name)
{
    enter(b, "%s", name);
    quantized_members(b, 0);
    leave(b);
}

/* -- names ----------------------------------------------------------------*/

static void quantized_build(builder *b, const zoo_input *in,
                            const void *variant)
{
    quantized q = {0};
    const char *knobs;
    const zoo_model *of = clv__zoo_find(variant, &knobs);
    b->bytes = &q;
    of->build(b, in, of->variant);
    b->bytes = NULL;
}

#define QUANTIZED(name, family, size, year) \
    { \
        {"quantized_" name, family, IMAGE(size), \
         TORCHVISION("classification", year)}, \
            quantized_build, name \
    }

const zoo_model clv__zoo_quantized[] = {
    QUANTIZED("googlenet", "googlenet", 224, 2014),
    QUANTIZED("inception_v3", "inception", 299, 2015),
    QUANTIZED("mobilenet_v2", "mobilenet", 224, 2018),
    QUANTIZED("mobilenet_v3_large", "mobilenet", 224, 2019),
    QUANTIZED("resnet18", "resnet", 224, 2015),
    QUANTIZED("resnet50", "resnet", 224, 2015),
    QUANTIZED("resnext101_32x8d", "resnet", 224, 2016),
    QUANTIZED("resnext101_64x4d", "resnet", 224, 2016),
    QUANTIZED("shufflenet_v2_x0_5", "shufflenet", 224, 2018),
    QUANTIZED("shufflenet_v2_x1_0", "shufflenet", 224, 2018),
    QUANTIZED("shufflenet_v2_x1_5", "shufflenet", 224, 2018),
    QUANTIZED("shufflenet_v2_x2_0", "shufflenet", 224, 2018),
    ZOO_END,
};
