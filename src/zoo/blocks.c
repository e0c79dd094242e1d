/* blocks.c - blocks that several model families share. */
#include "zoo/zoo.h"

#include <stdlib.h>

tensor zoo_conv_norm_act(builder *b, const char *name, tensor x, clv_op act,
                         conv_args a)
{
    a.no_bias = true;
    a.padding = a.kernel / 2 * (a.dilation ? a.dilation : 1);
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "0", x, a);
    x = batch_norm(b, "1", x);
    if (act != CLV_OP_IDENTITY)
        x = zoo_module(b, act, "2", x, NO_ATTRS);
    leave(b);
    return x;
}

tensor zoo_basic_conv(builder *b, const char *name, tensor x, conv_args a)
{
    a.no_bias = true;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "conv", x, a);
    x = batch_norm(b, "bn", x);
    x = relu(b, NULL, x);
    leave(b);
    return x;
}

tensor squeeze_excite(builder *b, const char *name, tensor x, int64_t squeeze,
                      clv_op act, clv_op scale)
{
    enter(b, "%s", name);
    tensor s = adaptive_avg_pool2d(b, "avgpool", x, 1);
    s = conv2d(b, "fc1", s, squeeze);
    s = zoo_module(b, act, "activation", s, NO_ATTRS);
    s = conv2d(b, "fc2", s, dim(b, x, 1));
    s = zoo_module(b, scale, "scale_activation", s, NO_ATTRS);
    x = mul_as(b, "skip_mul", s, x);
    leave(b);
    return x;
}

tensor norm_act(builder *b, const char *name, tensor x, clv_op act)
{
    x = batch_norm(b, name, x);
    if (act == CLV_OP_IDENTITY)
        return x;
    enter(b, "%s", name);
    x = zoo_module(b, act, "act", x, NO_ATTRS);
    leave(b);
    return x;
}

tensor zoo_timm_conv(builder *b, const char *name, tensor x, clv_op act,
                     conv_args a)
{
    a.no_bias = true;
    a.padding = a.kernel / 2;
    enter(b, "%s", name);
    x = zoo_conv(b, CLV_OP_CONV2D, "conv", x, a);
    x = norm_act(b, "bn", x, act);
    leave(b);
    return x;
}

tensor spatial_mean_kept(builder *b, tensor x)
{
    return zoo_call(b, CLV_OP_MEAN, "mean", TENSORS(x),
                    ATTRS(INTS(AXES, 2, 3), INT(KEEPDIM, 1)));
}

tensor timm_excite(builder *b, const char *name, tensor x, const timm_se *s)
{
    enter(b, "%s", name);
    tensor y = spatial_mean_kept(b, x);
    if (s->reduce)
        y = zoo_module(b, s->act, s->act_name ? s->act_name : "act",
                       conv2d(b, s->reduce, y, s->squeeze), NO_ATTRS);
    y = conv2d(b, s->expand, y, dim(b, x, 1));
    x = mul(b, x, zoo_module(b, s->gate, "gate", y, NO_ATTRS));
    leave(b);
    return x;
}

tensor timm_pool(builder *b, tensor x)
{
    enter(b, "global_pool");
    x = adaptive_avg_pool2d(b, "pool", x, 1);
    leave(b);
    return x;
}

tensor timm_head_of(builder *b, tensor x, int64_t classes)
{
    enter(b, "head");
    x = flatten(b, timm_pool(b, x), 1);
    x = linear(b, "fc", x, classes);
    leave(b);
    return x;
}

tensor timm_head(builder *b, tensor x)
{
    return timm_head_of(b, x, 1000);
}

tensor layer_norm_2d(builder *b, const char *name, tensor x)
{
    b->whole = true;
    enter(b, "%s", name);
    x = permute(b, NULL, x, 0, 2, 3, 1);
    x = permute(b, NULL, layer_norm(b, NULL, x), 0, 3, 1, 2);
    leave(b);
    b->whole = false;
    return x;
}

tensor timm_norm_head(builder *b, tensor x, int64_t classes)
{
    enter(b, "head");
    x = timm_pool(b, x);
    x = flatten(b, layer_norm_2d(b, "norm", x), 1);
    x = linear(b, "fc", x, classes);
    leave(b);
    return x;
}

void need_size(builder *b, tensor x, int64_t h, int64_t w)
{
    if (dim(b, x, 2) != h || dim(b, x, 3) != w)
        refuse(b,
               "an image of %lldx%lld: its positions are learned for %lldx"
               "%lld",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3), (long long)h,
               (long long)w);
}

void need_map(builder *b, tensor x, int64_t side)
{
    if (dim(b, x, 2) != side || dim(b, x, 3) != side)
        refuse(b,
               "the image makes a feature map of %lldx%lld: its positions are "
               "learned for %lldx%lld",
               (long long)dim(b, x, 2), (long long)dim(b, x, 3),
               (long long)side, (long long)side);
}

int64_t make_divisible(double v, int64_t by)
{
    int64_t n = (int64_t)(v + (double)by / 2) / by * by;
    if (n < by)
        n = by;
    return (double)n < 0.9 * v ? n + by : n;
}

/* The rows of all keys for the query at (y,x); returns what follows them. */
static int64_t *offset_keys(int64_t *at, int64_t s, int64_t y, int64_t x)
{
    for (int64_t ky = 0; ky < s; ky++) {
        int64_t row = (y - ky + s - 1) * (2 * s - 1) + x + s - 1;
        for (int64_t kx = 0; kx < s; kx++)
            *at++ = row - kx;
    }
    return at;
}

const int64_t *offset_rows(builder *b, int64_t s)
{
    size_t n = (size_t)(s * s);
    int64_t *rows = arena_array(&b->g->mem, n * n, sizeof *rows), *at = rows;
    for (int64_t y = 0; rows && y < s; y++)
        for (int64_t x = 0; x < s; x++)
            at = offset_keys(at, s, y, x);
    return rows ? rows : zoo_nomem(b);
}

distances distances_of(builder *b, int64_t side, int64_t step)
{
    int64_t few = (side + step - 1) / step, queries = few * few;
    size_t n = (size_t)(queries * side * side);
    int64_t *rows = arena_array(&b->g->mem, n, sizeof *rows), *at = rows;
    for (int64_t q = 0; rows && q < queries; q++)
        for (int64_t y = 0; y < side; y++) {
            int64_t dy = llabs(q / few * step - y) * side;
            for (int64_t x = 0; x < side; x++)
                *at++ = dy + llabs(q % few * step - x);
        }
    return (distances){side, queries, rows ? rows : zoo_nomem(b)};
}

tensor distance_bias(builder *b, const distances *d, int64_t heads, bool kept)
{
    int64_t keys = d->side * d->side, dims[] = {d->queries, keys};
    tensor table = parameter(b, "attention_biases", heads, keys);
    tensor index = weight(b, "attention_bias_idxs",
                          kept ? CLV_VALUE_BUFFER : CLV_VALUE_CONST, 2, dims);
    constant_ints(b, index, d->rows, (uint32_t)(dims[0] * keys));
    return zoo_call(b, CLV_OP_INDEX_SELECT, "index", TENSORS(table, index),
                    ATTRS(INT(AXIS, 1)));
}
