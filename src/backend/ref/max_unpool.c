/* max_unpool.c - maxima put back where max_pool found them. */
#include "backend/kernel.h"

#include <string.h>

/* The shape that indices count in: where they count in the whole tensor, what
 * the windows give, whatever size is asked for; else the result's. */
static clv_status indexed_shape(const kernel *k, bool whole, clv_tensor *t)
{
    const clv_tensor *x = k->in[0];
    uint32_t nk, nd = x->rank - 2;
    const int64_t *size = attr_ints(k->n, CLV_A_KERNEL, &nk);
    *t = k->out[0];
    for (uint32_t i = 0; whole && i < nd; i++) {
        window w;
        CLV_TRY(get_window(k->n, i, nd, x->dims[2 + i], list_at(size, nk, i),
                           &w, k->e));
        t->dims[2 + i] =
            (x->dims[2 + i] - 1) * w.stride + w.kernel - w.before - w.after;
    }
    return CLV_OK;
}

/* Where place `at` of a plane of `shape` lies in y's; -1: outside. */
static int64_t unpool_replaced(const clv_tensor *shape, const clv_tensor *y,
                               int64_t at)
{
    int64_t own[CLV_MAX_RANK], to = 0;
    strides_of(y, own);
    for (uint32_t a = y->rank; a-- > 2; at /= shape->dims[a]) {
        if (at % shape->dims[a] >= y->dims[a])
            return -1;
        to += at % shape->dims[a] * own[a];
    }
    return to;
}

clv_status kernel_max_unpool(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    clv_tensor *y = &k->out[0], shape;
    bool whole = attr_is(k->n, CLV_A_INDICES, "tensor");
    int64_t in_plane = 1, plane = 1, out_plane = 1;
    CLV_TRY(indexed_shape(k, whole, &shape));
    for (uint32_t a = 2; a < x->rank; a++) {
        in_plane *= x->dims[a];
        plane *= shape.dims[a];
        out_plane *= y->dims[a];
    }
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t lead = i / in_plane;
        int64_t at = get_i(index, i) - (whole ? lead * plane : 0);
        if (at < 0 || at >= plane)
            return clv__fail(k->e, CLV_SHAPE, "index %lld of a plane of %lld",
                             (long long)at, (long long)plane);
        int64_t to = unpool_replaced(&shape, y, at);
        if (to >= 0)
            copy_run(y, lead * out_plane + to, x, i, 1);
    }
    return CLV_OK;
}
