/* index.c - elements and slices taken from places, and put to places, that
 * other tensors name; running sums. Elements are moved by their size. */
#include "backend/cpu/cpu.h"

#include <string.h>

/* Indices of t as numbers from 0 to size; NULL: one is out of range. */
static int64_t *index_list(kernel *k, const clv_tensor *t, int64_t size)
{
    int64_t n = numel(t),
            *at = arena_array(k->scratch, (size_t)n + 1, sizeof *at);
    if (!at || !dtype_is_integral(t->dtype))
        return NULL;
    if (t->dtype == CLV_INT64)
        memcpy(at, t->data, (size_t)n * sizeof *at);
    else
        for (int64_t i = 0; i < n; i++)
            at[i] = get_i(t, i);
    for (int64_t i = 0; i < n; i++) {
        at[i] += at[i] < 0 ? size : 0;
        if (at[i] < 0 || at[i] >= size)
            return NULL;
    }
    return at;
}

/* -- element by element along an axis -------------------------------------*/

/* Element i of a tensor of `dims` lies in the other at its own place but along
 * the axis, where the index says. */
typedef struct along_job {
    const char *x;
    char *y;
    const int64_t *index;
    int64_t size, own; /* bytes of an element; the axis' stride in the other */
    uint32_t axis;
    cpu_walk walk; /* of the index; strides of the other, 0 along the axis */
    bool put;
} along_job;

#define ALONG(bits) \
    static void along_##bits(const along_job *j, int64_t from, int64_t at, \
                             int64_t n, int64_t step) \
    { \
        const uint##bits##_t *x = (const void *)j->x; \
        uint##bits##_t *y = (void *)j->y; \
        if (j->put) \
            for (int64_t i = 0; i < n; i++) \
                y[at + i * step + j->index[from + i] * j->own] = x[from + i]; \
        else \
            for (int64_t i = 0; i < n; i++) \
                y[from + i] = x[at + i * step + j->index[from + i] * j->own]; \
    }
ALONG(8)
ALONG(16)
ALONG(32)
ALONG(64)

static void along_part(void *ctx, int64_t from, int64_t to)
{
    const along_job *j = ctx;
    const cpu_walk *w = &j->walk;
    int64_t idx[CLV_MAX_RANK], at[CPU_OPERANDS], last = w->rank - 1;
    clv__cpu_seek(w, from, idx, at);
    while (from < to) {
        int64_t run = w->dims[last] - idx[last];
        run = run < to - from ? run : to - from;
        int64_t step = w->strides[0][last];
        if (j->size == 1)
            along_8(j, from, at[0], run, step);
        else if (j->size == 2)
            along_16(j, from, at[0], run, step);
        else if (j->size == 4)
            along_32(j, from, at[0], run, step);
        else
            along_64(j, from, at[0], run, step);
        from += run;
        clv__cpu_step(w, run, idx, at);
    }
}

/* `other` is what the index points into. */
static bool along_start(kernel *k, along_job *j, const clv_tensor *other,
                        const clv_tensor *index)
{
    int64_t own[CLV_MAX_RANK];
    if (!other->rank || index->rank != other->rank ||
        axis_of(k, &j->axis) != CLV_OK ||
        !(j->index = index_list(k, index, other->dims[j->axis])))
        return false;
    strides_of(other, own);
    j->own = own[j->axis];
    j->size = (int64_t)clv__element_bytes(other);
    j->walk = (cpu_walk){.rank = index->rank, .operands = 1};
    for (uint32_t a = 0; a < index->rank; a++) {
        if (a != j->axis && index->dims[a] > other->dims[a])
            return false;
        j->walk.dims[a] = index->dims[a];
        j->walk.strides[0][a] = a == j->axis ? 0 : own[a];
    }
    clv__cpu_collapse(&j->walk);
    return j->size <= 8 && numel(index) > 0;
}

bool CPU_NAME(cpu_gather_elements)(kernel *k)
{
    along_job j = {.x = k->in[0]->data, .y = k->out[0].data};
    if (!k->in[1] || k->in[0]->dtype != k->out[0].dtype ||
        numel(k->in[1]) != numel(&k->out[0]) ||
        !along_start(k, &j, k->in[0], k->in[1]))
        return false;
    clv__parallel(k->threads, numel(k->in[1]), CPU_GRAIN, along_part, &j);
    return true;
}

/* Updates that replace what was there, in order: on one thread, as two may have
 * the same place. */
bool CPU_NAME(cpu_scatter_elements)(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1], *u = input_of(k, 2);
    along_job j = {.y = k->out[0].data, .put = true};
    if (!index || !u || x->dtype != k->out[0].dtype || u->dtype != x->dtype ||
        !attr_is(k->n, CLV_A_REDUCTION, "none") || u->rank != index->rank ||
        memcmp(u->dims, index->dims, u->rank * sizeof *u->dims) ||
        numel(x) != numel(&k->out[0]) || !along_start(k, &j, x, index))
        return false;
    j.x = u->data;
    memcpy(j.y, x->data, (size_t)clv_tensor_bytes(x));
    along_part(&j, 0, numel(index));
    return true;
}

/* -- slices by coordinates ------------------------------------------------*/

typedef struct slices_job {
    const char *x;
    char *y;
    const int64_t *at; /* byte of x where slice i lies */
    int64_t run;
} slices_job;

static void slices_part(void *ctx, int64_t from, int64_t to)
{
    const slices_job *j = ctx;
    for (int64_t i = from; i < to; i++)
        memcpy(j->y + i * j->run, j->x + j->at[i], (size_t)j->run);
}

/* Where the slices of x that the rows of `index` name begin, in bytes; the
 * first `batch` axes are shared. NULL: out of range, or no memory. */
static int64_t *slices_at(kernel *k, const clv_tensor *x,
                          const clv_tensor *index, uint32_t batch)
{
    int64_t depth = index->dims[index->rank - 1], own[CLV_MAX_RANK];
    int64_t n = numel(index) / depth, size = (int64_t)clv__element_bytes(x);
    int64_t batches = dims_product(x->dims, 0, batch);
    int64_t block = dims_product(x->dims, batch, x->rank);
    int64_t *at = arena_array(k->scratch, (size_t)n + 1, sizeof *at);
    if (!at || !dtype_is_integral(index->dtype))
        return NULL;
    strides_of(x, own);
    for (int64_t i = 0; i < n; i++) {
        at[i] = i / (n / batches) * block;
        for (int64_t d = 0; d < depth; d++) {
            int64_t p = get_i(index, i * depth + d), most = x->dims[batch + d];
            p += p < 0 ? most : 0;
            if (p < 0 || p >= most)
                return NULL;
            at[i] += p * own[batch + d];
        }
        at[i] *= size;
    }
    return at;
}

bool CPU_NAME(cpu_gather_nd)(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    int64_t batch = attr_int(k->n, CLV_A_BATCH_DIMS);
    if (!index || !index->rank || batch < 0 || batch >= index->rank ||
        batch + index->dims[index->rank - 1] > x->rank ||
        index->dims[index->rank - 1] < 1 || x->dtype != k->out[0].dtype)
        return false;
    int64_t depth = index->dims[index->rank - 1];
    int64_t n = numel(index) / depth;
    int64_t run = dims_product(x->dims, (uint32_t)(batch + depth), x->rank);
    int64_t batches = dims_product(x->dims, 0, (uint32_t)batch);
    if (n < 1 || n % batches || n * run != numel(&k->out[0]))
        return false;
    slices_job j = {.x = x->data,
                    .y = k->out[0].data,
                    .at = slices_at(k, x, index, (uint32_t)batch),
                    .run = run * (int64_t)clv__element_bytes(x)};
    if (!j.at)
        return false;
    clv__parallel(k->threads, n, 1 + 4 * CPU_GRAIN / (j.run + 1), slices_part,
                  &j);
    return true;
}

/* Whether a coordinate is below 0. */
static bool slices_any_negative(const clv_tensor *index)
{
    for (int64_t i = 0, n = numel(index); i < n; i++)
        if (get_i(index, i) < 0)
            return true;
    return false;
}

/* Slices that replace what was there. Where some are to be left out, the plain
 * kernel takes over: slices_at refuses what is too large. */
bool CPU_NAME(cpu_scatter_nd)(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1], *u = input_of(k, 2);
    if (!index || !u || !index->rank || !numel(index) ||
        index->dims[index->rank - 1] > x->rank || x->dtype != k->out[0].dtype ||
        u->dtype != x->dtype || numel(x) != numel(&k->out[0]) ||
        !attr_is(k->n, CLV_A_REDUCTION, "none") ||
        (attr_is(k->n, CLV_A_OUTSIDE, "skip") && slices_any_negative(index)))
        return false;
    int64_t depth = index->dims[index->rank - 1], n = numel(index) / depth;
    int64_t run = dims_product(x->dims, (uint32_t)depth, x->rank);
    const int64_t *at = slices_at(k, x, index, 0);
    if (!at || n * run != numel(u))
        return false;
    size_t bytes = (size_t)run * clv__element_bytes(x);
    char *y = k->out[0].data;
    memcpy(y, x->data, (size_t)clv_tensor_bytes(x));
    for (int64_t i = 0; i < n; i++)
        memcpy(y + at[i], (const char *)u->data + (size_t)i * bytes, bytes);
    return true;
}

/* -- running sums ---------------------------------------------------------*/

typedef struct running_job {
    const void *x;
    void *y;
    int64_t n, step;
    bool back, exclusive;
} running_job;

/* Items are lanes; sums of floats are doubles. */
#define RUNNING(name, T, S) \
    static void running_##name(void *ctx, int64_t from, int64_t to) \
    { \
        const running_job *j = ctx; \
        for (int64_t r = from; r < to; r++) { \
            int64_t first = r / j->step * j->n * j->step + r % j->step; \
            const T *x = (const T *)j->x + first; \
            T *y = (T *)j->y + first; \
            S sum = 0; \
            for (int64_t i = 0; i < j->n; i++) { \
                int64_t at = (j->back ? j->n - 1 - i : i) * j->step; \
                S was = sum; \
                sum += (S)x[at]; \
                y[at] = (T)(j->exclusive ? was : sum); \
            } \
        } \
    }
RUNNING(f32, float, double)
RUNNING(f64, double, double)
RUNNING(i32, int32_t, uint32_t)
RUNNING(i64, int64_t, uint64_t)

bool CPU_NAME(cpu_cumsum)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int_list given;
    uint32_t axis;
    if (x->dtype != k->out[0].dtype || !x->rank ||
        list_of(k, CLV_A_AXIS, 1, &given) != CLV_OK ||
        norm_axis(given.n ? given.v[0] : 0, x->rank, &axis, NULL) != CLV_OK)
        return false;
    parallel_fn *fn = x->dtype == CLV_FLOAT32   ? running_f32
                      : x->dtype == CLV_FLOAT64 ? running_f64
                      : x->dtype == CLV_INT32   ? running_i32
                      : x->dtype == CLV_INT64   ? running_i64
                                                : NULL;
    running_job j = {x->data,
                     k->out[0].data,
                     x->dims[axis],
                     dims_product(x->dims, axis + 1, x->rank),
                     attr_int(k->n, CLV_A_REVERSE) != 0,
                     attr_int(k->n, CLV_A_EXCLUSIVE) != 0};
    if (!fn)
        return false;
    clv__parallel(k->threads, numel(x) / j.n, 1 + CPU_GRAIN / j.n, fn, &j);
    return true;
}

/* -- triangles ------------------------------------------------------------*/

typedef struct triangle_job {
    const char *x;
    char *y;
    int64_t rows, cols, size, diagonal;
    bool upper;
} triangle_job;

/* Items are rows: the elements up to a column are kept, or those from it on. */
static void triangle_part(void *ctx, int64_t from, int64_t to)
{
    const triangle_job *j = ctx;
    for (int64_t r = from; r < to; r++) {
        int64_t edge = r % j->rows + j->diagonal + !j->upper;
        edge = edge < 0 ? 0 : edge > j->cols ? j->cols : edge;
        int64_t first = j->upper ? edge : 0, last = j->upper ? j->cols : edge;
        char *y = j->y + r * j->cols * j->size;
        const char *x = j->x + r * j->cols * j->size;
        memset(y, 0, (size_t)(first * j->size));
        memcpy(y + first * j->size, x + first * j->size,
               (size_t)((last - first) * j->size));
        memset(y + last * j->size, 0, (size_t)((j->cols - last) * j->size));
    }
}

bool CPU_NAME(cpu_triangle)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    if (x->rank < 2 || x->dtype != k->out[0].dtype)
        return false;
    triangle_job j = {x->data,
                      k->out[0].data,
                      x->dims[x->rank - 2],
                      x->dims[x->rank - 1],
                      (int64_t)clv__element_bytes(x),
                      whole_of(k, CLV_A_DIAGONAL, 1),
                      k->n->op == CLV_OP_TRIU};
    if (j.diagonal > j.cols || j.diagonal < -j.rows)
        j.diagonal = j.diagonal > 0 ? j.cols : -j.rows;
    clv__parallel(k->threads, numel(x) / j.cols, 1 + CPU_GRAIN / j.cols,
                  triangle_part, &j);
    return true;
}
