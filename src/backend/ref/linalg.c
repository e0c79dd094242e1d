/* linalg.c - determinants, distances between rows, bilinear forms. */
#include "backend/kernel.h"

#include <math.h>
#include <string.h>

static void swap_rows(double *a, int64_t m, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < m; j++) {
        double t = a[p * m + j];
        a[p * m + j] = a[q * m + j];
        a[q * m + j] = t;
    }
}

/* By elimination with row pivots; a (m,m) is destroyed. */
static double linalg_det(double *a, int64_t m)
{
    double det = 1;
    for (int64_t c = 0; c < m; c++) {
        int64_t best = c;
        for (int64_t r = c + 1; r < m; r++)
            if (fabs(a[r * m + c]) > fabs(a[best * m + c]))
                best = r;
        if (a[best * m + c] == 0)
            return 0;
        if (best != c) {
            swap_rows(a, m, best, c);
            det = -det;
        }
        det *= a[c * m + c];
        for (int64_t r = c + 1; r < m && clv__in_time(m); r++) {
            double f = a[r * m + c] / a[c * m + c];
            for (int64_t j = c; j < m; j++)
                a[r * m + j] -= f * a[c * m + j];
        }
    }
    return det;
}

clv_status kernel_det(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t m = x->dims[x->rank - 1];
    double *a = arena_array(k->scratch, (size_t)(m * m) + 1, sizeof *a);
    if (!a)
        return clv__nomem(k->e);
    for (int64_t i = 0, n = numel(&k->out[0]); i < n && clv__in_time(1); i++) {
        for (int64_t j = 0; j < m * m; j++)
            a[j] = get_f(x, i * m * m + j);
        put_f(&k->out[0], i, linalg_det(a, m));
    }
    return CLV_OK;
}

/* a (..,P,M), b (..,R,M) -> (..,P,R): the p-norm of the difference */
clv_status kernel_cdist(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1];
    clv_tensor *y = &k->out[0], ba = *a, bb = *b;
    double power = attr_float(k->n, CLV_A_P);
    int64_t m = a->dims[a->rank - 1], sa[CLV_MAX_RANK], sb[CLV_MAX_RANK];
    int64_t idx[CLV_MAX_RANK] = {0};
    uint32_t r = y->rank;
    ba.rank--;
    bb.rank--;
    int64_t rows = a->dims[a->rank - 2], cols = b->dims[b->rank - 2];
    bb.dims[bb.rank - 1] = 1; /* batches only; rows are added below */
    ba.dims[ba.rank - 1] = 1;
    broadcast_strides(&ba, r - 1, sa);
    broadcast_strides(&bb, r - 1, sb);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(8 * m); i++) {
        int64_t ia = offset_of(idx, sa, r - 2) * rows + idx[r - 2];
        int64_t ib = offset_of(idx, sb, r - 2) * cols + idx[r - 1];
        double sum = 0;
        for (int64_t j = 0; j < m; j++)
            sum +=
                pow(fabs(get_f(a, ia * m + j) - get_f(b, ib * m + j)), power);
        put_f(y, i, pow(sum, 1 / power));
        next_index(idx, y->dims, r);
    }
    return CLV_OK;
}

/* The forms are those of infer_grouped_matmul. Rows or columns beyond the last
 * group stay zero. */
clv_status kernel_grouped_matmul(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1], *ends = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    int64_t m = a->dims[a->rank - 2], inner = a->dims[a->rank - 1];
    int64_t n = b->dims[b->rank - 1];
    int64_t groups = ends ? ends->dims[0] : a->dims[0], from = 0;
    bool rows = a->rank == 2 && b->rank == 3; /* the axis that is cut */
    bool columns = a->rank == 3 && b->rank == 2;
    bool sums = ends && !rows && !columns;
    int64_t all = rows ? m : columns ? n : inner;
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t g = 0; g < groups; g++) {
        int64_t to = ends ? get_i(ends, g) : all;
        if (to < from || to > all)
            return clv__fail(k->e, CLV_SHAPE, "group %lld ends at %lld of %lld",
                             (long long)g, (long long)to, (long long)all);
        int64_t a0 = a->rank == 3 ? g * m * inner : 0;
        int64_t b0 = b->rank == 3 ? g * inner * n : 0;
        int64_t first = sums ? from : 0, depth = (sums ? to : inner) - first;
        int64_t y0 = y->rank == 3 ? g * m * n : 0;
        for (int64_t i = rows ? from : 0; i < (rows ? to : m); i++)
            for (int64_t j = columns ? from : 0;
                 j < (columns ? to : n) && clv__in_time(1); j++)
                put_sum(y, y0 + i * n + j,
                        dot((strip){a, a0 + i * inner + first, 1},
                            (strip){b, b0 + first * n + j, n}, depth),
                        (element){NULL, 0});
        from = ends ? to : 0;
    }
    return CLV_OK;
}

/* x (..,I), y (..,J), w (O,I,J), bias (O) -> (..,O) */
clv_status kernel_bilinear(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1], *w = k->in[2];
    const clv_tensor *bias = input_of(k, 3);
    int64_t o = w->dims[0], n = w->dims[1], m = w->dims[2];
    bool real = is_float(k->out[0].dtype);
    for (int64_t i = 0, count = numel(&k->out[0]);
         i < count && clv__in_time(n * m); i++) {
        int64_t row = i / o, at = i % o;
        dot_sum sum = {0, 0};
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = 0; q < m; q++) {
                int64_t ia = row * n + p, ib = row * m + q;
                int64_t iw = (at * n + p) * m + q;
                if (real)
                    sum.real += get_f(a, ia) * get_f(w, iw) * get_f(b, ib);
                else
                    sum.whole += (uint64_t)get_i(a, ia) *
                                 (uint64_t)get_i(w, iw) *
                                 (uint64_t)get_i(b, ib);
            }
        put_sum(&k->out[0], i, sum, (element){bias, at});
    }
    return CLV_OK;
}
