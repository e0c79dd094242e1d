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
