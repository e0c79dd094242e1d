/* embedding.c - rows of a table, one by one or summed in bags. */
#include "backend/kernel.h"

/* weight (V,D), indices (..) -> (..,D) */
clv_status kernel_embedding(kernel *k)
{
    return take_slices(k, k->in[0], k->in[1], 0);
}

/* weight (V,D), indices (B,L) or (N) with offsets (B), weights per sample */
clv_status kernel_embedding_bag(kernel *k)
{
    const clv_tensor *w = k->in[0], *index = k->in[1];
    const clv_tensor *offsets = input_of(k, 2), *scale = input_of(k, 3);
    const char *mode = attr_str(k->n, CLV_A_MODE);
    clv_tensor *y = &k->out[0];
    int64_t bags = y->dims[0], width = w->dims[1], n = numel(index);
    for (int64_t b = 0; b < bags; b++) {
        int64_t from = offsets ? get_i(offsets, b) : b * (n / bags);
        int64_t to = !offsets       ? from + n / bags
                     : b + 1 < bags ? get_i(offsets, b + 1)
                                    : n;
        if (from < 0 || to > n || from > to)
            return clv__fail(k->e, CLV_SHAPE, "bag %lld ends before it begins",
                             (long long)b);
        for (int64_t c = 0; c < width; c++) {
            double sum = 0;
            for (int64_t i = from; i < to; i++) {
                int64_t row;
                CLV_TRY(checked(k, get_i(index, i), w->dims[0], &row));
                double v = get_f(w, row * width + c);
                v *= scale ? get_f(scale, i) : 1;
                if (mode[0] == 'm' && mode[1] == 'a')
                    sum = i == from || v > sum ? v : sum;
                else
                    sum += v;
            }
            bool mean = mode[0] == 'm' && mode[1] == 'e';
            put_f(y, b * width + c,
                  mean && to > from ? sum / (double)(to - from) : sum);
        }
    }
    return CLV_OK;
}
