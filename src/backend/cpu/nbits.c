/* nbits.c - products with weights of 4 or 8 bits in blocks, each with a scale.
 *
 * Columns of the weights become floats a few at a time, on each thread, and are
 * multiplied at once: the whole matrix never exists as floats. */
#include "backend/cpu/gemm.h"

#define gemm      CPU_NAME(clv__gemm)
#define gemm_room CPU_NAME(clv__gemm_room)

enum { COLUMNS = 32 }; /* that are made at a time */

typedef struct nbits_job {
    int64_t m, n, k, bits, size, blocks, stride; /* stride: of a row of w */
    int64_t items, parts, room_each;
    const float *x, *scale, *bias;
    const uint8_t *w;
    const clv_tensor *zero;
    const float *codes; /* what 16 codes stand for; NULL: themselves */
    float *y, *room;
} nbits_job;

/* What the codes of bitsandbytes stand for: floats of 4 bits, or quantiles of
 * the normal distribution. */
static const float bnb_codes[2][16] = {
    {0, 5.208333333e-03f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f,
     -0.0f, -5.208333333e-03f, -0.66666667f, -1, -0.33333333f, -0.5f,
     -0.16666667f, -0.25f},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
     0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
     0.7229568362236023f, 1}};

/* Zero point of a block: packed like the weights, rows padded to bytes; or
 * given as a number; or half the range. */
static float nbits_zero(const nbits_job *j, int64_t row, int64_t block)
{
    if (!j->zero)
        return (float)(1 << (j->bits - 1));
    if (is_float(j->zero->dtype))
        return (float)get_f(j->zero, row * j->blocks + block);
    int64_t per = 8 / j->bits, width = (j->blocks + per - 1) / per;
    int64_t byte = get_i(j->zero, row * width + block / per);
    return (float)(byte >> block % per * j->bits & ((1 << j->bits) - 1));
}

/* n codes of 4 bits, of which the first lies in the low half of w[0]. */
static void nbits_fours(const uint8_t *restrict w, float *restrict to,
                        int64_t n, float zero, float scale)
{
    for (int64_t i = 0; i < n / 2; i++) {
        to[2 * i] = ((float)(w[i] & 15) - zero) * scale;
        to[2 * i + 1] = ((float)(w[i] >> 4) - zero) * scale;
    }
    if (n % 2)
        to[n - 1] = ((float)(w[n / 2] & 15) - zero) * scale;
}

/* Column o of the weights as floats. */
static void nbits_column(const nbits_job *j, int64_t o, float *to)
{
    if (j->codes) { /* the high half of a byte comes first; blocks run on */
        for (int64_t p = 0; p < j->k; p++) {
            int64_t at = o * j->stride + p;
            int code = j->w[at / 2] >> (at % 2 ? 0 : 4) & 15;
            to[p] = j->codes[code] * j->scale[at / j->size];
        }
        return;
    }
    for (int64_t b = 0; b * j->size < j->k; b++) {
        int64_t p = b * j->size, n = j->k - p < j->size ? j->k - p : j->size;
        int64_t at = o * j->stride + p;
        float zero = nbits_zero(j, o, b), scale = j->scale[o * j->blocks + b];
        if (j->bits == 4)
            nbits_fours(j->w + at / 2, to + p, n, zero, scale);
        else
            for (int64_t i = 0; i < n; i++)
                to[p + i] = ((float)j->w[at + i] - zero) * scale;
    }
}

static void nbits_item(const nbits_job *j, int64_t item, float *room)
{
    int64_t first = item * COLUMNS;
    int64_t n = j->n - first < COLUMNS ? j->n - first : COLUMNS;
    float *y = j->y + first;
    for (int64_t c = 0; c < n; c++)
        nbits_column(j, first + c, room + c * j->k);
    for (int64_t r = 0; j->bias && r < j->m; r++)
        for (int64_t c = 0; c < n; c++)
            y[r * j->n + c] = j->bias[first + c];
    gemm(j->m, n, j->k, (cpu_matrix){j->x, j->k, 1},
         (cpu_matrix){room, 1, j->k}, y, j->n, j->bias != NULL,
         room + COLUMNS * j->k);
}

static void nbits_part(void *ctx, int64_t from, int64_t to)
{
    const nbits_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t i = j->items * p / j->parts;
             i < j->items * (p + 1) / j->parts; i++)
            nbits_item(j, i, j->room + p * j->room_each);
}

/* Scales, zero points and biases are there, and as many as there must be. */
static bool nbits_fits(const kernel *k, const nbits_job *j)
{
    const clv_tensor *w = k->in[1], *scale = k->in[2], *bias = input_of(k, 5);
    bool sizes =
        j->codes ? numel(scale) >= (j->n * j->stride + j->size - 1) / j->size
                 : numel(scale) >= j->n * j->blocks;
    if (j->zero) {
        bool real = is_float(j->zero->dtype);
        int64_t per = 8 / j->bits;
        sizes = sizes &&
                numel(j->zero) >=
                    j->n * (real ? j->blocks : (j->blocks + per - 1) / per);
    }
    return sizes && scale->dtype == CLV_FLOAT32 && w->rank == 2 &&
           j->stride >= j->k && (j->bits == 8 || j->stride % 2 == 0) &&
           (j->bits == 8 || j->size % 2 == 0) &&
           (!bias || (bias->dtype == CLV_FLOAT32 && numel(bias) == j->n)) &&
           numel(&k->out[0]) == j->m * j->n;
}

/* x (..,K), w (N,K) in codes, scales, zero points, groups, bias */
bool CPU_NAME(cpu_matmul_nbits)(kernel *k)
{
    const clv_tensor *x = k->in[0], *w = input_of(k, 1), *bias = input_of(k, 5);
    nbits_job j = {.bits = attr_int(k->n, CLV_A_BITS),
                   .size = attr_int(k->n, CLV_A_BLOCK),
                   .x = x->data,
                   .y = k->out[0].data};
    if (x->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_FLOAT32 || !x->rank ||
        !w || !input_of(k, 2) || input_of(k, 4) || j.size < 1 ||
        (j.bits != 4 && j.bits != 8) || w->rank != 2 ||
        w->dtype != (j.bits == 4 ? CLV_UINT4 : CLV_UINT8))
        return false;
    if (!attr_is(k->n, CLV_A_CODES, "integers"))
        j.codes = bnb_codes[attr_is(k->n, CLV_A_CODES, "nf4")];
    j.k = x->dims[x->rank - 1];
    j.m = numel(x) / j.k;
    j.n = w->dims[0];
    j.stride = w->dims[1];
    j.blocks = (j.stride + j.size - 1) / j.size;
    j.w = w->data;
    j.scale = k->in[2]->data;
    j.zero = j.codes ? NULL : input_of(k, 3);
    j.bias = bias ? bias->data : NULL;
    if (!nbits_fits(k, &j))
        return false;
    j.items = (j.n + COLUMNS - 1) / COLUMNS;
    j.parts =
        4 * (int64_t)k->threads < j.items ? 4 * (int64_t)k->threads : j.items;
    j.room_each = COLUMNS * j.k + gemm_room(j.m, COLUMNS, j.k);
    j.room = arena_array(k->scratch, (size_t)(j.parts * j.room_each),
                         sizeof *j.room);
    if (!j.room)
        return false;
    clv__parallel(j.n * j.k < CPU_GRAIN ? 1 : k->threads, j.parts, 1,
                  nbits_part, &j);
    return true;
}
