/* pixel_shuffle.c - channels that become pixels and back: depth_to_space,
 * pixel_shuffle and their inverses; channels in another order. */
#include "backend/kernel.h"

/* (..,C*b*b,H,W) <-> (..,C,H*b,W*b); mode CRD, as in pixel_shuffle, has the
 * block inside C. */
clv_status kernel_blocks(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool pixels =
        k->n->op == CLV_OP_PIXEL_SHUFFLE || k->n->op == CLV_OP_PIXEL_UNSHUFFLE;
    bool to_space =
        k->n->op == CLV_OP_DEPTH_TO_SPACE || k->n->op == CLV_OP_PIXEL_SHUFFLE;
    int64_t b = attr_int(k->n, CLV_A_BLOCK);
    bool crd = pixels || attr_is(k->n, CLV_A_MODE, "CRD");
    const clv_tensor *wide = to_space ? y : x, *deep = to_space ? x : y;
    uint32_t r = wide->rank;
    int64_t channels = wide->dims[r - 3], h = deep->dims[r - 2];
    int64_t w = deep->dims[r - 1], idx[4] = {0};
    int64_t dims[4] = {INT64_MAX, channels, wide->dims[r - 2],
                       wide->dims[r - 1]};
    for (int64_t i = 0, n = numel(wide); i < n && clv__in_time(1); i++) {
        int64_t by = idx[2] % b, bx = idx[3] % b;
        int64_t c = crd ? idx[1] * b * b + by * b + bx
                        : (by * b + bx) * channels + idx[1];
        int64_t at =
            ((idx[0] * channels * b * b + c) * h + idx[2] / b) * w + idx[3] / b;
        copy_run(y, to_space ? i : at, x, to_space ? at : i, 1);
        next_index(idx, dims, 4);
    }
    return CLV_OK;
}

/* (N, g*c, ..) -> (N, c*g, ..): channels of the groups in turn */
clv_status kernel_channel_shuffle(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t groups = attr_int(k->n, CLV_A_GROUPS), channels = x->dims[1];
    int64_t run = dims_product(x->dims, 2, x->rank), each = channels / groups;
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t c = i / run % channels;
        int64_t from = c % groups * each + c / groups;
        copy_run(&k->out[0], i, x, i + (from - c) * run, 1);
    }
    return CLV_OK;
}
