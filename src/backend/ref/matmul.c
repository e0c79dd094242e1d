/* matmul.c - matrix products as plain loops.
 *
 * float32 operands are multiplied in float32 and summed in float32 along the
 * innermost axis, as every fast backend does; other types go through double or
 * int64, exactly. */
#include "backend/kernel.h"

void add_product(dot_sum *sum, bool real, element a, element b)
{
    if (real)
        sum->real += get_f(a.t, a.i) * get_f(b.t, b.i);
    else
        sum->whole += (uint64_t)get_i(a.t, a.i) * (uint64_t)get_i(b.t, b.i);
}

dot_sum dot(strip a, strip b, int64_t n)
{
    dot_sum s = {0, 0};
    bool real = is_float(a.t->dtype) || is_float(b.t->dtype);
    clv__budget.work += n; /* whoever loops over sums looks at the time */
    for (int64_t i = 0; i < n; i++)
        add_product(&s, real, (element){a.t, a.at + i * a.step},
                    (element){b.t, b.at + i * b.step});
    return s;
}

void put_affine(clv_tensor *y, int64_t at, dot_sum sum, const double *scales,
                element c)
{
    if (is_float(y->dtype)) {
        double x = scales[0] * (sum.real + (double)(int64_t)sum.whole);
        put_f(y, at, c.t ? x + scales[1] * get_f(c.t, c.i) : x);
        return;
    }
    uint64_t x = (uint64_t)to_int64(scales[0]) * sum.whole;
    if (c.t)
        x += (uint64_t)to_int64(scales[1]) * (uint64_t)get_i(c.t, c.i);
    put_i(y, at, (int64_t)x);
}

void put_sum(clv_tensor *y, int64_t at, dot_sum sum, element c)
{
    static const double unscaled[2] = {1, 1};
    put_affine(y, at, sum, unscaled, c);
}

/* c (m,n) = a (m,k) b, with b (k,n) or, transposed, (n,k); all contiguous. */
static void matmul_f32(const float *a, const float *b, const float *bias,
                       float *c, int64_t m, int64_t k, int64_t n, bool bt)
{
    for (int64_t i = 0; i < m; i++) {
        float *row = c + i * n;
        for (int64_t j = 0; j < n; j++)
            row[j] = bias ? bias[j] : 0;
        if (bt) {
            for (int64_t j = 0; j < n && clv__in_time(k); j++) {
                float sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum += a[i * k + p] * b[j * k + p];
                row[j] += sum;
            }
            continue;
        }
        for (int64_t p = 0; p < k && clv__in_time(n); p++) {
            float x = a[i * k + p];
            for (int64_t j = 0; j < n; j++)
                row[j] += x * b[p * n + j];
        }
    }
}

bool all_float32(const kernel *k)
{
    bool all = k->out[0].dtype == CLV_FLOAT32;
    for (uint32_t i = 0; i < k->n->n_in && all; i++)
        all = !k->in[i] || k->in[i]->dtype == CLV_FLOAT32;
    return all;
}

/* x (..,K), w (M,K) or (K), bias (M) -> (..,M) */
clv_status kernel_linear(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = k->in[1];
    const clv_tensor *bias = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    int64_t depth = x->dims[x->rank - 1];
    int64_t cols = w->rank == 2 ? w->dims[0] : 1;
    int64_t rows = depth ? numel(x) / depth : 0;
    if (all_float32(k)) {
        matmul_f32(x->data, w->data, bias ? bias->data : NULL, y->data, rows,
                   depth, cols, true);
        return CLV_OK;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols && clv__in_time(1); j++)
            put_sum(
                y, i * cols + j,
                dot((strip){x, i * depth, 1}, (strip){w, j * depth, 1}, depth),
                (element){bias, j});
    return CLV_OK;
}

/* a (..,M,K) @ b (..,K,N); leading axes broadcast, vectors are promoted. */
clv_status kernel_matmul(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1];
    clv_tensor *y = &k->out[0];
    int64_t m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    int64_t depth = a->dims[a->rank - 1];
    int64_t n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    uint32_t lead = y->rank - (a->rank > 1) - (b->rank > 1);

    /* Batch axes only, with the strides of whole matrices. */
    clv_tensor ba = *a, bb = *b;
    ba.rank = a->rank > 2 ? a->rank - 2 : 0;
    bb.rank = b->rank > 2 ? b->rank - 2 : 0;
    int64_t sa[CLV_MAX_RANK], sb[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    broadcast_strides(&ba, lead, sa);
    broadcast_strides(&bb, lead, sb);
    int64_t batches = 1;
    for (uint32_t i = 0; i < lead; i++)
        batches *= y->dims[i];
    bool fast = all_float32(k);
    for (int64_t t = 0; t < batches; t++) {
        int64_t ia = offset_of(idx, sa, lead) * m * depth;
        int64_t ib = offset_of(idx, sb, lead) * depth * n;
        if (fast)
            matmul_f32((const float *)a->data + ia, (const float *)b->data + ib,
                       NULL, (float *)y->data + t * m * n, m, depth, n, false);
        for (int64_t i = 0; !fast && i < m; i++)
            for (int64_t j = 0; j < n && clv__in_time(1); j++)
                put_sum(y, (t * m + i) * n + j,
                        dot((strip){a, ia + i * depth, 1},
                            (strip){b, ib + j, n}, depth),
                        (element){NULL, 0});
        next_index(idx, y->dims, lead);
    }
    return CLV_OK;
}

/* -- with a tensor added --------------------------------------------------*/

/* alpha * a' b' + beta * c */
clv_status kernel_gemm(kernel *k)
{
    const clv_tensor *a = k->in[0], *b = k->in[1], *c = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    bool ta = attr_int(k->n, CLV_A_TRANS_A) != 0;
    bool tb = attr_int(k->n, CLV_A_TRANS_B) != 0;
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    double beta = attr_float(k->n, CLV_A_BETA);
    int64_t m = y->dims[0], n = y->dims[1], depth = a->dims[ta ? 0 : 1];
    int64_t sc[2] = {0, 0};
    if (c)
        broadcast_strides(c, 2, sc);
    const double scales[2] = {alpha, beta};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n && clv__in_time(1); j++) {
            strip row = {a, ta ? i : i * depth, ta ? m : 1};
            strip col = {b, tb ? j * depth : j, tb ? 1 : n};
            put_affine(y, i * n + j, dot(row, col, depth), scales,
                       (element){c, i * sc[0] + j * sc[1]});
        }
    return CLV_OK;
}

/* beta * c + alpha * a b, a (..,M,K), b (..,K,N), c broadcast. */
clv_status kernel_addmm(kernel *k)
{
    const clv_tensor *c = k->in[0], *a = k->in[1], *b = k->in[2];
    clv_tensor *y = &k->out[0];
    double alpha = attr_float(k->n, CLV_A_ALPHA);
    double beta = attr_float(k->n, CLV_A_BETA);
    int64_t m = a->dims[a->rank - 2], depth = a->dims[a->rank - 1];
    int64_t cols = b->dims[b->rank - 1];
    int64_t sc[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    const double scales[2] = {alpha, beta};
    broadcast_strides(c, y->rank, sc);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t batch = i / (m * cols), row = i / cols, col = i % cols;
        put_affine(y, i,
                   dot((strip){a, row * depth, 1},
                       (strip){b, batch * depth * cols + col, cols}, depth),
                   scales, (element){c, offset_of(idx, sc, y->rank)});
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}
