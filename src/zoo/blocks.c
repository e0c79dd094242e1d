/* blocks.c - blocks that several model families share. */
#include "zoo/zoo.h"

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
    x = mul(b, s, x);
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
        y = zoo_module(b, s->act, "act", conv2d(b, s->reduce, y, s->squeeze),
                       NO_ATTRS);
    y = conv2d(b, s->expand, y, dim(b, x, 1));
    x = mul(b, x, zoo_module(b, s->gate, "gate", y, NO_ATTRS));
    leave(b);
    return x;
}

tensor timm_head(builder *b, tensor x)
{
    enter(b, "head");
    x = flatten(b, adaptive_avg_pool2d(b, "global_pool", x, 1), 1);
    x = linear(b, "fc", x, 1000);
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

int64_t make_divisible(double v, int64_t by)
{
    int64_t n = (int64_t)(v + (double)by / 2) / by * by;
    if (n < by)
        n = by;
    return (double)n < 0.9 * v ? n + by : n;
}

const int64_t *offset_rows(builder *b, int64_t s)
{
    int64_t n = s * s, side = 2 * s - 1;
    int64_t *rows = arena_array(&b->g->mem, (size_t)(n * n), sizeof *rows);
    for (int64_t i = 0; rows && i < n; i++)
        for (int64_t j = 0; j < n; j++)
            rows[i * n + j] =
                (i / s - j / s + s - 1) * side + i % s - j % s + s - 1;
    return rows ? rows : zoo_nomem(b);
}
