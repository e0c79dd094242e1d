/* rotary.c - positions as rotations of pairs of numbers, in float32. */
#include "backend/cpu/cpu.h"

#include <string.h>

typedef struct rotary_job {
    const float *x, *cos, *sin;
    const clv_tensor *position; /* (B,S), or the first; NULL: as they come */
    float *y;
    int64_t heads, length, width, turned, half, rows;
    bool flat, pairs;
} rotary_job;

/* The row of the tables for token s of batch entry b; -1: there is none. */
static int64_t rotary_row(const rotary_job *j, int64_t b, int64_t s)
{
    int64_t at = b * j->length + s, row = at;
    if (j->position && numel(j->position) == 1 && j->length > 1)
        row = get_i(j->position, 0) + s;
    else if (j->position)
        row = get_i(j->position, at);
    return row >= 0 && row < j->rows ? row : -1;
}

void CPU_NAME(clv__cpu_turn)(const float *restrict x, const float *restrict cos,
                             const float *restrict sin, int64_t half,
                             int64_t width, bool pairs, float *restrict y)
{
    if (pairs) {
        for (int64_t i = 0; i < half; i++) {
            y[2 * i] = cos[i] * x[2 * i] - sin[i] * x[2 * i + 1];
            y[2 * i + 1] = cos[i] * x[2 * i + 1] + sin[i] * x[2 * i];
        }
    } else {
        for (int64_t i = 0; i < half; i++) {
            y[i] = cos[i] * x[i] - sin[i] * x[half + i];
            y[half + i] = cos[i] * x[half + i] + sin[i] * x[i];
        }
    }
    memcpy(y + 2 * half, x + 2 * half, (size_t)(width - 2 * half) * sizeof *y);
}

static void rotary_part(void *ctx, int64_t from, int64_t to)
{
    const rotary_job *j = ctx;
    for (int64_t i = from; i < to; i++) {
        int64_t b = i / (j->heads * j->length);
        int64_t s = j->flat ? i / j->heads % j->length : i % j->length;
        int64_t row = rotary_row(j, b, s);
        CPU_NAME(clv__cpu_turn)
        (j->x + i * j->width, j->cos + row * j->half, j->sin + row * j->half,
         j->turned / 2, j->width, j->pairs, j->y + i * j->width);
    }
}

/* x (B,H,S,D) or (B,S,H*D), cos and sin (P,D/2) by position (B,S). What the
 * plain kernel refuses is left to it. */
bool CPU_NAME(cpu_rotary)(kernel *k)
{
    const clv_tensor *x = k->in[0], *cos = k->in[1], *sin = k->in[2];
    if (x->dtype != CLV_FLOAT32 || cos->dtype != CLV_FLOAT32 ||
        sin->dtype != CLV_FLOAT32 || x->rank < 3 || x->rank > 4 || !cos->rank ||
        numel(sin) != numel(cos) || !numel(x))
        return false;
    rotary_job j = {.x = x->data,
                    .cos = cos->data,
                    .sin = sin->data,
                    .position = input_of(k, 3),
                    .y = k->out[0].data,
                    .half = cos->dims[cos->rank - 1],
                    .turned = attr_int(k->n, CLV_A_ROTARY_DIM),
                    .flat = x->rank == 3,
                    .pairs = attr_int(k->n, CLV_A_INTERLEAVED) != 0};
    int64_t given = attr_int(k->n, CLV_A_HEADS);
    j.turned = j.turned ? j.turned : 2 * j.half;
    if (j.half < 1 || j.turned < 2 || j.turned % 2 || j.turned > 2 * j.half)
        return false;
    j.rows = numel(cos) / j.half;
    j.heads = !j.flat ? x->dims[1] : given ? given : x->dims[2] / j.turned;
    j.length = x->dims[j.flat ? 1 : 2];
    if (j.heads < 1 || (j.flat && x->dims[2] % j.heads))
        return false;
    j.width = j.flat ? x->dims[2] / j.heads : x->dims[3];
    int64_t tokens = x->dims[0] * j.length;
    bool one = j.position && numel(j.position) == 1 && j.length > 1;
    if (j.turned > j.width || numel(&k->out[0]) != numel(x) ||
        (j.position && !one && numel(j.position) < tokens))
        return false;
    for (int64_t i = 0; i < tokens; i++)
        if (rotary_row(&j, i / j.length, i % j.length) < 0)
            return false;
    clv__parallel(numel(x) < CPU_GRAIN ? 1 : k->threads, tokens * j.heads, 16,
                  rotary_part, &j);
    return true;
}
