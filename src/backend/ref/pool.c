/* pool.c - windows that take the largest or the mean, fixed or adaptive. */
#include "backend/kernel.h"

#include <math.h>

enum { SPATIAL = 3 };

/* Up to three pooled axes; missing ones have size 1. */
typedef struct pool {
    int64_t planes;
    int64_t in[SPATIAL], out[SPATIAL];
    window win[SPATIAL];
} pool;

static pool pool_of(const clv_tensor *x, const clv_tensor *y, uint32_t nd)
{
    pool p = {.planes = 1};
    for (uint32_t i = 0; i < x->rank - nd; i++)
        p.planes *= x->dims[i];
    for (uint32_t i = 0; i < SPATIAL; i++) {
        bool there = i >= SPATIAL - nd;
        uint32_t axis = x->rank - SPATIAL + i;
        p.in[i] = there ? x->dims[axis] : 1;
        p.out[i] = there ? y->dims[axis] : 1;
        p.win[i] = (window){.kernel = 1, .stride = 1, .dilation = 1};
    }
    return p;
}

static clv_status pool_windows_of(const kernel *k, uint32_t nd, pool *p)
{
    uint32_t nk;
    const int64_t *size = attr_ints(k->n, CLV_A_KERNEL, &nk);
    for (uint32_t a = 0; a < nd; a++) {
        uint32_t i = SPATIAL - nd + a;
        int64_t ker = list_at(size, nk, a);
        CLV_TRY(get_window(k->n, a, nd, p->in[i], ker, &p->win[i], k->e));
    }
    return CLV_OK;
}

/* What one window holds. */
typedef struct sums {
    dot_sum sum;
    double power;
    int64_t most;   /* the key of the largest */
    int64_t where;  /* of the largest, in the plane */
    int64_t inside; /* taps in the image */
    double padded;  /* taps in the image and its padding */
} sums;

/* How many taps of a window that begins at `start` lie before `end`. */
static int64_t taps_before(const window *w, int64_t start, int64_t end)
{
    int64_t n = end > start ? (end - start - 1) / w->dilation + 1 : 0;
    return n < w->kernel ? n : w->kernel;
}

/* The part of a window that lies in the image: its first element, and how many
 * taps there are along each axis. Returns false when there are none. */
static bool pool_overlap(const pool *p, const int64_t *at, int64_t *from,
                         int64_t *size, double *padded)
{
    bool any = true;
    *padded = 1;
    for (int i = 0; i < SPATIAL; i++) {
        const window *w = &p->win[i];
        int64_t start = at[i] * w->stride - w->before;
        int64_t outside = taps_before(w, start, 0);
        from[i] = start + outside * w->dilation;
        size[i] = taps_before(w, start, p->in[i]) - outside;
        *padded *= (double)taps_before(w, start, p->in[i] + w->after);
        any = any && size[i] > 0;
    }
    return any;
}

/* Looks at the taps in the image only, however large the window is. */
static sums pool_look(const clv_tensor *x, int64_t first, const pool *p,
                      const int64_t *at, double power)
{
    sums s = {.where = -1};
    bool real = is_float(x->dtype);
    int64_t tap[SPATIAL] = {0}, from[SPATIAL], size[SPATIAL];
    if (!pool_overlap(p, at, from, size, &s.padded))
        return s;
    do {
        int64_t where = 0;
        for (int i = 0; i < SPATIAL; i++)
            where = where * p->in[i] + from[i] + tap[i] * p->win[i].dilation;
        double v = get_f(x, first + where);
        int64_t key = search_key(x, first + where, false);
        s.inside++;
        if (real)
            s.sum.real += v;
        else
            s.sum.whole += (uint64_t)get_i(x, first + where);
        s.power += power > 0 ? pow(fabs(v), power) : 0;
        if (s.where < 0 || key > s.most || isnan(v)) {
            s.most = key;
            s.where = where;
        }
    } while (clv__in_time(1) && next_index(tap, size, SPATIAL));
    return s;
}

/* A window that holds nothing has no largest element. */
static void put_largest(clv_tensor *y, int64_t at, const clv_tensor *x,
                        int64_t first, const sums *s)
{
    if (s->where < 0)
        put_f(y, at, -INFINITY);
    else
        copy_run(y, at, x, first + s->where, 1);
}

/* The place of the largest, as attribute `indices` counts: in its plane, or in
 * the whole tensor, by rows or by columns. */
static int64_t pool_place_of(const kernel *k, const pool *p, int64_t plane,
                             int64_t where)
{
    int64_t depth = p->in[0], rows = p->in[1], cols = p->in[2];
    if (attr_is(k->n, CLV_A_INDICES, "plane"))
        return where;
    if (attr_is(k->n, CLV_A_INDICES, "tensor_by_columns"))
        where = (where % cols * rows + where / cols % rows) * depth +
                where / cols / rows;
    return plane * depth * rows * cols + where;
}

clv_status kernel_pool(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    clv_op op = (clv_op)k->n->op;
    uint32_t nd = pooled_axes(k->n);
    pool p = pool_of(x, y, nd);
    CLV_TRY(pool_windows_of(k, nd, &p));
    bool largest = op == CLV_OP_MAX_POOL1D || op == CLV_OP_MAX_POOL2D ||
                   op == CLV_OP_MAX_POOL3D;
    bool lp = op == CLV_OP_LP_POOL1D || op == CLV_OP_LP_POOL2D ||
              op == CLV_OP_LP_POOL3D;
    bool count_pad = !largest && !lp && attr_int(k->n, CLV_A_COUNT_INCLUDE_PAD);
    double power = lp ? attr_float(k->n, CLV_A_P) : 0;
    bool indices = k->n->n_out > 1 && k->out[1].data;
    int64_t in_plane = p.in[0] * p.in[1] * p.in[2];
    int64_t out_plane = p.out[0] * p.out[1] * p.out[2];
    for (int64_t c = 0; c < p.planes; c++) {
        int64_t at[SPATIAL] = {0};
        for (int64_t i = 0; i < out_plane && clv__in_time(1); i++) {
            sums s = pool_look(x, c * in_plane, &p, at, power);
            int64_t to = c * out_plane + i;
            int64_t taps = count_pad ? to_int64(s.padded) : s.inside;
            if (largest)
                put_largest(y, to, x, c * in_plane, &s);
            else if (lp)
                put_f(y, to, pow(s.power, 1 / power));
            else
                put_mean(y, to, x, s.sum, taps ? taps : 1); /* of none: 0 */
            if (indices)
                put_i(&k->out[1], to, pool_place_of(k, &p, c, s.where));
            next_index(at, p.out, SPATIAL);
        }
    }
    return CLV_OK;
}

/* Window i covers [floor(i*in/out), ceil((i+1)*in/out)). */
clv_status kernel_adaptive_pool(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    clv_op op = (clv_op)k->n->op;
    pool p = pool_of(x, y, pooled_axes(k->n));
    bool largest = op == CLV_OP_ADAPTIVE_MAX_POOL1D ||
                   op == CLV_OP_ADAPTIVE_MAX_POOL2D ||
                   op == CLV_OP_ADAPTIVE_MAX_POOL3D;
    int64_t in_plane = p.in[0] * p.in[1] * p.in[2];
    int64_t out_plane = p.out[0] * p.out[1] * p.out[2];
    for (int64_t c = 0; c < p.planes; c++) {
        int64_t at[SPATIAL] = {0}, zero[SPATIAL] = {0};
        for (int64_t i = 0; i < out_plane && clv__in_time(1); i++) {
            for (int a = 0; a < SPATIAL; a++) {
                int64_t from = at[a] * p.in[a] / p.out[a];
                int64_t to = ((at[a] + 1) * p.in[a] + p.out[a] - 1) / p.out[a];
                p.win[a] = (window){.kernel = to - from,
                                    .stride = 1,
                                    .dilation = 1,
                                    .before = -from};
            }
            sums s = pool_look(x, c * in_plane, &p, zero, 0);
            if (largest)
                put_largest(y, c * out_plane + i, x, c * in_plane, &s);
            else
                put_mean(y, c * out_plane + i, x, s.sum, s.inside);
            if (k->n->n_out > 1 && k->out[1].data)
                put_i(&k->out[1], c * out_plane + i, s.where);
            next_index(at, p.out, SPATIAL);
        }
    }
    return CLV_OK;
}
