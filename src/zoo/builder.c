/* builder.c - the words of zoo.h. */
#include "ops/build.h"
#include "zoo/quantized.h"

#include <stdio.h>
#include <string.h>

/* -- failure --------------------------------------------------------------*/

static bool builder_failed(const builder *b)
{
    return b->status != CLV_OK;
}

static tensor builder_nomem(builder *b)
{
    b->status = clv__nomem(b->e);
    return CLV_NONE;
}

void *zoo_nomem(builder *b)
{
    builder_nomem(b);
    return NULL;
}

void refuse(builder *b, const char *fmt, ...)
{
    if (builder_failed(b))
        return;
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    clv_vformat(text, sizeof text, fmt, ap);
    va_end(ap);
    b->status = clv__fail(b->e, CLV_SHAPE, "%s", text);
}

/* -- structure ------------------------------------------------------------*/

static tensor builder_input(builder *b, const char *name, const zoo_input *in,
                            clv_dtype dtype)
{
    if (builder_failed(b))
        return CLV_NONE;
    tensor x = clv__value_add(b->g, name, CLV_VALUE_INPUT, dtype);
    if (x == CLV_NONE || !clv__value_set_shape(b->g, x, in->rank, in->dims))
        return builder_nomem(b);
    if (clv__bytes(&b->g->values[x]) == CLV_SAT) {
        b->status =
            clv__fail(b->e, CLV_OVERFLOW,
                      "input '%s': its size does not fit 64 bits", name);
        return CLV_NONE;
    }
    return x;
}

tensor input(builder *b, const char *name, const zoo_input *in)
{
    tensor x = builder_input(b, name, in, b->dtype);
    return b->bytes ? quantized_input(b, x) : x;
}

tensor input_ids(builder *b, const char *name, const zoo_input *in)
{
    return builder_input(b, name, in, CLV_INT64);
}

tensor zoo_further(builder *b, const char *name, clv_dtype dtype, uint32_t rank,
                   const int64_t *dims)
{
    clv_build_input in = {name, strlen(name), false, rank, {0}};
    memcpy(in.dims, dims, rank * sizeof *dims);
    if (builder_failed(b))
        return CLV_NONE;
    b->status = clv__build_shape(b->opts, &in, b->e);
    for (uint32_t i = 0; i < rank; i++)
        if (in.dims[i] < 1)
            refuse(b, "input '%s': dimension %u is %lld", name, i,
                   (long long)in.dims[i]);
    if (rank == 4 && in.dims[1] != dims[1])
        refuse(b, "input '%s' has %lld channels, not %lld", name,
               (long long)dims[1], (long long)in.dims[1]);
    return builder_input(b, name, &(zoo_input){in.dims, rank}, dtype);
}

void output(builder *b, tensor x)
{
    if (b->bytes)
        x = quantized_output(b, x);
    if (!builder_failed(b) && !clv__graph_output(b->g, x))
        builder_nomem(b);
}

/* Enters the module `name`; words that are modules call this. */
static void builder_step_in(builder *b, const char *name)
{
    if (builder_failed(b))
        return;
    uint32_t scope = clv__scope_add(b->g, b->scope, name, strlen(name));
    if (scope == CLV_NONE)
        builder_nomem(b);
    else
        b->scope = scope;
}

void enter(builder *b, const char *fmt, ...)
{
    if (builder_failed(b))
        return;
    char text[128];
    const char *name = text;
    va_list ap;
    va_start(ap, fmt);
    if (!strcmp(fmt, "%s")) {
        name = va_arg(ap, const char *);
    } else if (!strchr(fmt, '%')) {
        name = fmt;
    } else {
        int n = clv_vformat(text, sizeof text, fmt, ap);
        if (n < 0 || (size_t)n >= sizeof text)
            refuse(b, "a module name of %d characters", n);
    }
    va_end(ap);
    builder_step_in(b, name);
}

void leave(builder *b)
{
    if (!builder_failed(b))
        b->scope = b->g->scopes[b->scope].parent;
}

/* "layer1.0" and "conv1" make "layer1.0.conv1". */
static char *builder_join(builder *b, const char *name)
{
    const char *path = b->g->scopes[b->scope].path;
    size_t n_path = strlen(path), n_name = strlen(name);
    char *own = arena_alloc(&b->g->mem, n_path + n_name + 2);
    if (!own)
        return NULL;
    memcpy(own, path, n_path);
    if (n_path)
        own[n_path++] = '.';
    memcpy(own + n_path, name, n_name + 1);
    return own;
}

/* The weight called `name`, CLV_NONE when there is none yet. */
static tensor builder_known(const builder *b, const char *name)
{
    for (uint32_t i = 0; i < b->g->n_values; i++)
        if (b->g->values[i].kind == CLV_VALUE_PARAM &&
            !strcmp(b->g->values[i].name, name))
            return i;
    return CLV_NONE;
}

tensor weight(builder *b, const char *name, clv_value_kind kind, uint32_t rank,
              const int64_t *dims)
{
    if (builder_failed(b))
        return CLV_NONE;
    char *own = builder_join(b, name);
    tensor known = own && b->shared ? builder_known(b, own) : CLV_NONE;
    if (known != CLV_NONE)
        return known;
    tensor w = own ? clv__value_add(b->g, own, kind, b->dtype) : CLV_NONE;
    if (w == CLV_NONE || !clv__value_set_shape(b->g, w, rank, dims))
        return builder_nomem(b);
    return w;
}

/* -- contents of constants ------------------------------------------------*/

static clv_payload *builder_payload(builder *b, tensor w)
{
    if (builder_failed(b))
        return NULL;
    clv_payload *data = clv__value_data(b->g, w);
    return data ? data : zoo_nomem(b);
}

void constant_ints(builder *b, tensor w, const int64_t *ints, uint32_t n)
{
    clv_payload *data = builder_payload(b, w);
    if (!data)
        return;
    b->g->values[w].dtype = CLV_INT64;
    data->ints = ints;
    data->n = n;
}

double *constant_floats(builder *b, tensor w, uint32_t n)
{
    clv_payload *data = builder_payload(b, w);
    if (!data)
        return NULL;
    double *floats = arena_array(&b->g->mem, n, sizeof *floats);
    if (!floats)
        return zoo_nomem(b);
    data->floats = floats;
    data->n = n;
    return floats;
}

/* Of contents; a larger constant is counted, not kept. */
enum { MOST_BYTES = 16 << 20 };

void *constant_bytes(builder *b, tensor w, clv_dtype dtype)
{
    clv_payload *data = builder_payload(b, w);
    if (!data || b->g->values[w].dtype != dtype)
        return NULL;
    int64_t size = clv__bytes(&b->g->values[w]);
    if (size > MOST_BYTES)
        return NULL;
    void *bytes = arena_alloc(&b->g->mem, (size_t)size);
    if (!bytes)
        return zoo_nomem(b);
    data->bytes = bytes;
    data->size = (uint64_t)size;
    return bytes;
}

void zoo_unused(builder *b, tensor w)
{
    if (!builder_failed(b))
        b->g->unused_params += clv__numel(&b->g->values[w]);
}

const char *zoo_nth(char *text, int i)
{
    snprintf(text, 12, "%d", i);
    return text;
}

int64_t dim(const builder *b, tensor x, int axis)
{
    if (builder_failed(b))
        return 1;
    const clv_value *v = &b->g->values[x];
    int i = axis < 0 ? v->rank + axis : axis;
    return v->rank != CLV_NO_RANK && i >= 0 && i < v->rank ? v->dims[i] : 1;
}

/* -- nodes ----------------------------------------------------------------*/

/* Attributes come as compound literals on the caller's stack: copy them. */
static clv_attr *builder_own_attrs(builder *b, const clv_attr *attrs,
                                   uint32_t n)
{
    clv_attr *own = arena_array(&b->g->mem, n, sizeof *own);
    for (uint32_t i = 0; own && i < n; i++) {
        own[i] = attrs[i];
        own[i].name = clv__attr_name((clv_attr_key)attrs[i].key);
        if (attrs[i].type != CLV_ATTR_INTS)
            continue;
        int64_t *ints = arena_array(&b->g->mem, attrs[i].n, sizeof *ints);
        if (!ints)
            return NULL;
        memcpy(ints, attrs[i].u.ints, attrs[i].n * sizeof *ints);
        own[i].u.ints = ints;
    }
    return own;
}

/* Adds node `name` (a full path) and infers it. */
static uint32_t builder_make(builder *b, clv_op op, const char *name,
                             const tensor *ins, uint32_t n_in,
                             const clv_attr *attrs, uint32_t n_attrs,
                             uint32_t n_out)
{
    if (builder_failed(b))
        return CLV_NONE;
    clv_attr *own = n_attrs ? builder_own_attrs(b, attrs, n_attrs) : NULL;
    uint32_t id =
        name && (own || !n_attrs)
            ? clv__node_add(b->g, op, name, b->scope, ins, n_in, NULL, n_out)
            : CLV_NONE;
    if (id == CLV_NONE)
        return builder_nomem(b);
    b->g->nodes[id].attrs = own;
    b->g->nodes[id].n_attrs = (uint8_t)n_attrs;
    b->status = clv__infer_node(b->g, id, b->e);
    return builder_failed(b) ? CLV_NONE : id;
}

void zoo_calls(builder *b, clv_op op, const char *name, const tensor *ins,
               uint32_t n_in, const clv_attr *attrs, uint32_t n_attrs,
               tensor *outs, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_out; i++)
        outs[i] = CLV_NONE;
    if (builder_failed(b))
        return;
    uint32_t id = builder_make(b, op, builder_join(b, name), ins, n_in, attrs,
                               n_attrs, n_out);
    if (id == CLV_NONE)
        return;
    memcpy(outs, node_outs(b->g, &b->g->nodes[id]), n_out * sizeof *outs);
    for (uint32_t i = 0; b->bytes && i < n_out; i++)
        quantized_as(b, outs[i], ins[0]);
    if (!b->whole)
        b->g->nodes[id].flags |= CLV_N_FUNCTION;
}

tensor zoo_call(builder *b, clv_op op, const char *name, const tensor *ins,
                uint32_t n_in, const clv_attr *attrs, uint32_t n_attrs)
{
    tensor out;
    zoo_calls(b, op, name, ins, n_in, attrs, n_attrs, &out, 1);
    return out;
}

/* -- modules --------------------------------------------------------------*/

tensor zoo_node(builder *b, clv_op op, const tensor *ins, uint32_t n_in,
                const clv_attr *attrs, uint32_t n_attrs)
{
    if (builder_failed(b))
        return CLV_NONE;
    const char *path = b->g->scopes[b->scope].path;
    uint32_t id = builder_make(b, op, path, ins, n_in, attrs, n_attrs, 1);
    if (id == CLV_NONE)
        return CLV_NONE;
    tensor y = node_outs(b->g, &b->g->nodes[id])[0];
    if (b->bytes)
        quantized_as(b, y, ins[0]);
    return y;
}

tensor zoo_module(builder *b, clv_op op, const char *name, tensor x,
                  const clv_attr *attrs, uint32_t n_attrs)
{
    if (b->bytes && quantized_acts(op))
        return quantized_act(b, op, name, x, attrs, n_attrs);
    if (!name)
        return zoo_call(b, op, clv__op_name(op), &x, 1, attrs, n_attrs);
    builder_step_in(b, name);
    tensor y = zoo_node(b, op, &x, 1, attrs, n_attrs);
    leave(b);
    return y;
}

static int64_t builder_or_else(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

tensor zoo_conv(builder *b, clv_op op, const char *name, tensor x, conv_args a)
{
    bool turned = op == CLV_OP_CONVT1D || op == CLV_OP_CONVT2D;
    uint32_t nd = op == CLV_OP_CONV1D || op == CLV_OP_CONVT1D   ? 1
                  : op == CLV_OP_CONV2D || op == CLV_OP_CONVT2D ? 2
                                                                : 3;
    int64_t groups = builder_or_else(a.groups, 1),
            dilation = builder_or_else(a.dilation, 1);
    int64_t in = dim(b, x, 1), stride[3], padding[3];
    int64_t w[5] = {turned ? in : a.out, (turned ? a.out : in) / groups};
    for (uint32_t i = 0; i < nd; i++) {
        w[2 + i] =
            builder_or_else(a.kernel_hw[i], builder_or_else(a.kernel, 1));
        stride[i] =
            builder_or_else(a.stride_hw[i], builder_or_else(a.stride, 1));
        padding[i] = builder_or_else(a.padding_hw[i], a.padding);
    }
    builder_step_in(b, name);
    clv_attr attrs[] = {
        {.key = CLV_A_STRIDE, .type = CLV_ATTR_INTS, .n = nd, .u.ints = stride},
        {.key = CLV_A_PADDING,
         .type = CLV_ATTR_INTS,
         .n = nd,
         .u.ints = padding},
        INT(DILATION, dilation),
        INT(GROUPS, groups),
    };
    tensor y;
    if (b->bytes) {
        y = quantized_conv(b, x, w, attrs, 4);
    } else {
        tensor ins[3] = {x, weight(b, "weight", CLV_VALUE_PARAM, nd + 2, w),
                         CLV_NONE};
        if (!a.no_bias)
            ins[2] = parameter(b, "bias", a.out);
        y = zoo_node(b, op, ins, a.no_bias ? 2 : 3, attrs, 4);
    }
    leave(b);
    return y;
}

static tensor builder_dense(builder *b, const char *name, tensor x, int64_t out,
                            bool bias)
{
    builder_step_in(b, name);
    if (b->bytes) {
        tensor z = quantized_linear(b, x, out);
        leave(b);
        return z;
    }
    tensor ins[3] = {x, parameter(b, "weight", out, dim(b, x, -1)), CLV_NONE};
    if (bias)
        ins[2] = parameter(b, "bias", out);
    tensor y = zoo_node(b, CLV_OP_LINEAR, ins, bias ? 3 : 2, NO_ATTRS);
    leave(b);
    return y;
}

tensor linear(builder *b, const char *name, tensor x, int64_t out)
{
    return builder_dense(b, name, x, out, true);
}

tensor linear_no_bias(builder *b, const char *name, tensor x, int64_t out)
{
    return builder_dense(b, name, x, out, false);
}

tensor batch_norm(builder *b, const char *name, tensor x)
{
    if (b->bytes) /* it is part of the convolution */
        return x;
    int64_t c = dim(b, x, 1);
    clv_value_kind kind = b->frozen ? CLV_VALUE_BUFFER : CLV_VALUE_PARAM;
    builder_step_in(b, name);
    tensor ins[] = {x, weight(b, "weight", kind, 1, &c),
                    weight(b, "bias", kind, 1, &c),
                    weight(b, "running_mean", CLV_VALUE_BUFFER, 1, &c),
                    weight(b, "running_var", CLV_VALUE_BUFFER, 1, &c)};
    clv_attr eps = FLOAT(EPSILON, b->norm_eps);
    tensor y = zoo_node(b, CLV_OP_BATCH_NORM, ins, 5, &eps, b->norm_eps > 0);
    leave(b);
    return y;
}

tensor group_norm(builder *b, const char *name, tensor x, int64_t groups)
{
    int64_t c = dim(b, x, 1);
    builder_step_in(b, name);
    tensor ins[] = {x, parameter(b, "weight", c), parameter(b, "bias", c)};
    clv_attr attrs[] = {INT(GROUPS, groups), FLOAT(EPSILON, b->norm_eps)};
    tensor y =
        zoo_node(b, CLV_OP_GROUP_NORM, ins, 3, attrs, b->norm_eps > 0 ? 2 : 1);
    leave(b);
    return y;
}

tensor layer_norm(builder *b, const char *name, tensor x)
{
    int64_t c = dim(b, x, -1);
    if (name)
        builder_step_in(b, name);
    tensor ins[] = {x, parameter(b, "weight", c), parameter(b, "bias", c)};
    clv_attr attrs[] = {INT(AXIS, -1), FLOAT(EPSILON, b->norm_eps)};
    uint32_t n = b->norm_eps > 0 ? 2 : 1;
    if (!name)
        return zoo_call(b, CLV_OP_LAYER_NORM, "layer_norm", ins, 3, attrs, n);
    tensor y = zoo_node(b, CLV_OP_LAYER_NORM, ins, 3, attrs, n);
    leave(b);
    return y;
}

tensor zoo_pool(builder *b, clv_op op, const char *name, tensor x, pool_args a)
{
    clv_attr attrs[] = {
        INT(KERNEL, a.kernel), INT(STRIDE, builder_or_else(a.stride, a.kernel)),
        INT(PADDING, a.padding), INT(CEIL, a.ceil), INT(COUNT_INCLUDE_PAD, 0)};
    return zoo_module(b, op, name, x, attrs, a.no_count_pad ? 5 : 4);
}

tensor adaptive_avg_pool2d(builder *b, const char *name, tensor x, int64_t size)
{
    return zoo_module(b, CLV_OP_ADAPTIVE_AVG_POOL2D, name, x,
                      ATTRS(INT(OUTPUT_SIZE, size)));
}

/* -- functions ------------------------------------------------------------*/

tensor add(builder *b, tensor x, tensor y)
{
    return zoo_call(b, CLV_OP_ADD, "add", TENSORS(x, y), NO_ATTRS);
}

tensor mul(builder *b, tensor x, tensor y)
{
    return zoo_call(b, CLV_OP_MUL, "mul", TENSORS(x, y), NO_ATTRS);
}

tensor add_as(builder *b, const char *name, tensor x, tensor y)
{
    return b->bytes ? quantized_two(b, CLV_OP_ADD, name, x, y) : add(b, x, y);
}

tensor mul_as(builder *b, const char *name, tensor x, tensor y)
{
    return b->bytes ? quantized_two(b, CLV_OP_MUL, name, x, y) : mul(b, x, y);
}

tensor cat_as(builder *b, const char *name, const tensor *xs, uint32_t n,
              int64_t axis)
{
    return b->bytes ? quantized_cat(b, name, xs, n, axis) : cat(b, xs, n, axis);
}

void idle(builder *b, const char *name)
{
    if (b->bytes)
        quantized_idle(b, name);
}

tensor flatten(builder *b, tensor x, int64_t start)
{
    return zoo_call(b, CLV_OP_FLATTEN, "flatten", TENSORS(x),
                    ATTRS(INT(START, start), INT(END, -1)));
}

tensor cat(builder *b, const tensor *xs, uint32_t n, int64_t axis)
{
    return zoo_call(b, CLV_OP_CAT, "cat", xs, n, ATTRS(INT(AXIS, axis)));
}

tensor spatial_mean(builder *b, tensor x)
{
    if (b->bytes)
        return quantized_act(b, CLV_OP_MEAN, NULL, x,
                             ATTRS(INTS(AXES, 2, 3), INT(KEEPDIM, 0)));
    return zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                    ATTRS(INTS(AXES, 2, 3), INT(KEEPDIM, 0)));
}

tensor transpose(builder *b, tensor x, int64_t axis, int64_t other)
{
    return zoo_call(b, CLV_OP_TRANSPOSE, "transpose", TENSORS(x),
                    ATTRS(INTS(AXES, axis, other)));
}

void chunk(builder *b, tensor x, uint32_t parts, int64_t axis, tensor *outs)
{
    zoo_calls(b, CLV_OP_CHUNK, "chunk", TENSORS(x),
              ATTRS(INT(AXIS, axis), INT(SECTIONS, parts)), outs, parts);
}

tensor bmm(builder *b, tensor x, tensor y)
{
    return zoo_call(b, CLV_OP_BMM, "bmm", TENSORS(x, y), NO_ATTRS);
}

tensor matmul(builder *b, tensor x, tensor y)
{
    return zoo_call(b, CLV_OP_MATMUL, "matmul", TENSORS(x, y), NO_ATTRS);
}

tensor softmax(builder *b, tensor x)
{
    return zoo_call(b, CLV_OP_SOFTMAX, "softmax", TENSORS(x),
                    ATTRS(INT(AXIS, -1)));
}

tensor number(builder *b, double value)
{
    tensor c = weight(b, "number", CLV_VALUE_CONST, 0, NULL);
    double *at = constant_floats(b, c, 1);
    if (at)
        *at = value;
    return c;
}

tensor whole_numbers(builder *b, const int64_t *values, uint32_t n)
{
    int64_t dims = n, *own = arena_array(&b->g->mem, n, sizeof *own);
    tensor c = weight(b, "number", CLV_VALUE_CONST, 1, &dims);
    if (!own)
        return builder_nomem(b);
    memcpy(own, values, n * sizeof *own);
    constant_ints(b, c, own, n);
    return c;
}

tensor whole_number(builder *b, int64_t value)
{
    return whole_numbers(b, &value, 1);
}

tensor scale(builder *b, tensor x, double by)
{
    return mul(b, x, number(b, by));
}

tensor shift(builder *b, tensor x, double by)
{
    return zoo_call(b, CLV_OP_ADD, "add", TENSORS(x, number(b, by)), NO_ATTRS);
}

tensor sub(builder *b, tensor x, tensor y)
{
    return zoo_call(b, CLV_OP_SUB, "sub", TENSORS(x, y), NO_ATTRS);
}

tensor slice(builder *b, tensor x, int64_t axis, int64_t start, int64_t end)
{
    return zoo_call(
        b, CLV_OP_SLICE, "slice", TENSORS(x),
        ATTRS(INTS(START, start), INTS(END, end), INTS(AXES, axis)));
}

tensor select_at(builder *b, tensor x, int64_t axis, int64_t i)
{
    return zoo_call(b, CLV_OP_SELECT, "select", TENSORS(x),
                    ATTRS(INT(AXIS, axis), INT(INDEX, i)));
}

tensor unary(builder *b, clv_op op, tensor x)
{
    return zoo_call(b, op, clv__op_name(op), TENSORS(x), NO_ATTRS);
}

tensor linear_of(builder *b, const char *name, tensor x, tensor w, tensor bias)
{
    return zoo_call(b, CLV_OP_LINEAR, name, (tensor[]){x, w, bias},
                    bias == CLV_NONE ? 2 : 3, NO_ATTRS);
}
