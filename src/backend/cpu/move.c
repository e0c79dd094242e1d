/* move.c - the same elements elsewhere: permutations, slices, joins, pads.
 *
 * Only the size of an element counts. A rearrangement is a walk over the output
 * whose places in the input are strides: runs that lie side by side are copied
 * whole, and where another axis of the input is the contiguous one, squares are
 * transposed so that both sides are read and written by cache lines. */
#include "backend/cpu/cpu.h"

#include <string.h>

#define move_copy CPU_NAME(clv__cpu_move)

enum { SQUARE = 16 }; /* elements on a side that are transposed at once */

typedef struct move_job {
    cpu_walk walk; /* operand 0 is x */
    const char *x;
    char *y;
    int64_t size;
    uint32_t across; /* the axis along which x is contiguous; last: none */
} move_job;

#define STRIDED(bits) \
    static void strided_##bits(const char *px, int64_t step, char *py, \
                               int64_t n) \
    { \
        const uint##bits##_t *x = (const void *)px; \
        uint##bits##_t *y = (void *)py; \
        if (step == 0) \
            for (int64_t i = 0; i < n; i++) \
                y[i] = x[0]; \
        else \
            for (int64_t i = 0; i < n; i++) \
                y[i] = x[i * step]; \
    } \
    /* rows of y are columns of x */ \
    static void turn_##bits(const char *px, int64_t step, char *py, \
                            int64_t row, int64_t rows, int64_t cols) \
    { \
        const uint##bits##_t *x = (const void *)px; \
        uint##bits##_t *y = (void *)py; \
        for (int64_t r = 0; r < rows; r++) \
            for (int64_t c = 0; c < cols; c++) \
                y[r * row + c] = x[c * step + r]; \
    }
STRIDED(8)
STRIDED(16)
STRIDED(32)
STRIDED(64)

static void move_strided(const char *x, int64_t step, char *y, int64_t n,
                         int64_t size)
{
    if (step == 1)
        memcpy(y, x, (size_t)(n * size));
    else if (size == 4)
        strided_32(x, step, y, n);
    else if (size == 8)
        strided_64(x, step, y, n);
    else if (size == 2)
        strided_16(x, step, y, n);
    else
        strided_8(x, step, y, n);
}

static void move_runs(void *ctx, int64_t from, int64_t to)
{
    const move_job *j = ctx;
    const cpu_walk *w = &j->walk;
    int64_t idx[CLV_MAX_RANK], at[CPU_OPERANDS], last = w->rank - 1;
    clv__cpu_seek(w, from, idx, at);
    while (from < to) {
        int64_t run = w->dims[last] - idx[last];
        if (run > to - from)
            run = to - from;
        move_strided(j->x + at[0] * j->size, w->strides[0][last],
                     j->y + from * j->size, run, j->size);
        from += run;
        clv__cpu_step(w, run, idx, at);
    }
}

/* One square of the axis `across` (rows of y) by the last one. */
static void move_square(const move_job *j, int64_t x, int64_t y, int64_t step,
                        int64_t row, int64_t rows, int64_t cols)
{
    const char *px = j->x + x * j->size;
    char *py = j->y + y * j->size;
    if (j->size == 4)
        turn_32(px, step, py, row, rows, cols);
    else if (j->size == 8)
        turn_64(px, step, py, row, rows, cols);
    else if (j->size == 2)
        turn_16(px, step, py, row, rows, cols);
    else
        turn_8(px, step, py, row, rows, cols);
}

/* Planes `across` by last, each cut into squares; items are bands of squares of
 * all planes. */
static void move_bands(void *ctx, int64_t from, int64_t to)
{
    const move_job *j = ctx;
    const cpu_walk *w = &j->walk;
    uint32_t last = w->rank - 1, a = j->across;
    int64_t rows = w->dims[a], cols = w->dims[last];
    int64_t bands = (rows + SQUARE - 1) / SQUARE, row = 1;
    for (uint32_t i = a + 1; i <= last; i++)
        row *= w->dims[i];
    for (int64_t item = from; item < to; item++) {
        int64_t plane = item / bands, first = item % bands * SQUARE;
        int64_t x = first, y = 0, stride = 1, rest = plane;
        for (uint32_t i = w->rank; i-- > 0; stride *= w->dims[i]) {
            if (i == a || i == last)
                continue;
            x += rest % w->dims[i] * w->strides[0][i];
            y += rest % w->dims[i] * stride;
            rest /= w->dims[i];
        }
        y += first * row;
        int64_t high = rows - first < SQUARE ? rows - first : SQUARE;
        for (int64_t c = 0; c < cols; c += SQUARE)
            move_square(j, x + c * w->strides[0][last], y + c,
                        w->strides[0][last], row, high,
                        cols - c < SQUARE ? cols - c : SQUARE);
    }
}

/* Every place that the walk reads lies in x. */
static bool move_inside(const cpu_walk *w, int64_t base, int64_t elements)
{
    int64_t lo = base, hi = base;
    for (uint32_t a = 0; a < w->rank; a++) {
        int64_t by = w->strides[0][a], most;
        if (w->dims[a] < 1 || __builtin_mul_overflow(by, w->dims[a] - 1, &most))
            return false;
        if (most < 0)
            lo += most;
        else
            hi += most;
    }
    return lo >= 0 && hi < elements;
}

bool CPU_NAME(clv__cpu_move)(const kernel *k, clv_tensor *y,
                             const clv_tensor *x, int64_t base,
                             const int64_t *strides)
{
    move_job j = {.walk = {.rank = y->rank, .operands = 1}};
    int64_t n = numel(y);
    if (x->dtype != y->dtype)
        return false;
    for (uint32_t a = 0; a < y->rank; a++) {
        j.walk.dims[a] = y->dims[a];
        j.walk.strides[0][a] = y->dims[a] == 1 ? 0 : strides[a];
    }
    j.size = (int64_t)clv__element_bytes(y);
    if (j.size > 8 || !move_inside(&j.walk, base, numel(x)))
        return false;
    j.x = (const char *)x->data + base * j.size;
    j.y = y->data;
    clv__cpu_collapse(&j.walk);
    uint32_t last = j.walk.rank - 1;
    j.across = last;
    for (uint32_t a = 0; a < last; a++)
        if (j.walk.strides[0][a] == 1 && j.walk.dims[a] > 3 &&
            j.walk.dims[last] > 3)
            j.across = a;
    if (j.walk.strides[0][last] == 1 || j.across == last) {
        clv__parallel(k->threads, n, CPU_GRAIN, move_runs, &j);
    } else {
        int64_t rows = j.walk.dims[j.across], cols = j.walk.dims[last];
        int64_t bands = (rows + SQUARE - 1) / SQUARE;
        clv__parallel(k->threads, n / (rows * cols) * bands,
                      1 + CPU_GRAIN / (SQUARE * cols), move_bands, &j);
    }
    return true;
}

bool CPU_NAME(cpu_permute)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t own[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    uint32_t n, axis;
    const int64_t *perm = attr_ints(k->n, CLV_A_PERM, &n);
    if (k->out[0].rank != x->rank || (perm && n != x->rank))
        return false;
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++) {
        axis = x->rank - 1 - i;
        if (perm && norm_axis(perm[i], x->rank, &axis, NULL) != CLV_OK)
            return false;
        strides[i] = own[axis];
    }
    return move_copy(k, &k->out[0], x, 0, strides);
}

bool CPU_NAME(cpu_transpose)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK];
    uint32_t n, a, b;
    const int64_t *axes = attr_ints(k->n, CLV_A_AXES, &n);
    if (n != 2 || norm_axis(axes[0], x->rank, &a, NULL) != CLV_OK ||
        norm_axis(axes[1], x->rank, &b, NULL) != CLV_OK)
        return false;
    strides_of(x, strides);
    int64_t t = strides[a];
    strides[a] = strides[b];
    strides[b] = t;
    return move_copy(k, &k->out[0], x, 0, strides);
}

bool CPU_NAME(cpu_expand)(kernel *k)
{
    int64_t strides[CLV_MAX_RANK];
    if (k->in[0]->rank > k->out[0].rank)
        return false;
    broadcast_strides(k->in[0], k->out[0].rank, strides);
    return move_copy(k, &k->out[0], k->in[0], 0, strides);
}

bool CPU_NAME(cpu_slice)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK], base = 0;
    int_list start, axes, step;
    if (list_of(k, CLV_A_START, 1, &start) != CLV_OK ||
        list_of(k, CLV_A_AXES, 3, &axes) != CLV_OK ||
        list_of(k, CLV_A_STEP, 4, &step) != CLV_OK ||
        k->out[0].rank != x->rank || (axes.n && axes.n < start.n))
        return false;
    strides_of(x, strides);
    for (uint32_t i = 0; i < start.n; i++) {
        uint32_t a;
        int64_t by = list_at(step.v, step.n, i);
        if (norm_axis(axes.n ? axes.v[i] : (int64_t)i, x->rank, &a, NULL) !=
            CLV_OK)
            return false;
        base += slice_start(x->dims[a], start.v[i], by) * strides[a];
        if (__builtin_mul_overflow(strides[a], by, &strides[a]))
            return false;
    }
    return move_copy(k, &k->out[0], x, base, strides);
}

bool CPU_NAME(cpu_select)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t own[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    int64_t index = attr_int(k->n, CLV_A_INDEX);
    uint32_t axis, to = 0;
    if (axis_of(k, &axis) != CLV_OK || k->out[0].rank + 1 != x->rank)
        return false;
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            strides[to++] = own[i];
    if (index < 0)
        index += x->dims[axis];
    return index >= 0 && index < x->dims[axis] &&
           move_copy(k, &k->out[0], x, index * own[axis], strides);
}

bool CPU_NAME(cpu_flip)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t strides[CLV_MAX_RANK], base = 0;
    int_list axes;
    bool seen[CLV_MAX_RANK] = {false};
    if (list_of(k, CLV_A_AXES, 1, &axes) != CLV_OK)
        return false;
    strides_of(x, strides);
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        if (norm_axis(axes.v[i], x->rank, &a, NULL) != CLV_OK || seen[a])
            return false;
        seen[a] = true;
        base += (x->dims[a] - 1) * strides[a];
        strides[a] = -strides[a];
    }
    return move_copy(k, &k->out[0], x, base, strides);
}

/* -- joining and splitting ------------------------------------------------*/

/* Rows of one tensor that are parts of the rows of another. */
typedef struct rows_job {
    const char *x;
    char *y;
    int64_t x_row, y_row, run; /* bytes */
} rows_job;

static void copy_rows(void *ctx, int64_t from, int64_t to)
{
    const rows_job *j = ctx;
    for (int64_t r = from; r < to; r++)
        memcpy(j->y + r * j->y_row, j->x + r * j->x_row, (size_t)j->run);
}

/* The same of rows of one element, which a call for each would be slow for. */
#define COPY_COLUMN(bits) \
    static void copy_column_##bits(void *ctx, int64_t from, int64_t to) \
    { \
        const rows_job *j = ctx; \
        const uint##bits##_t *x = (const void *)j->x; \
        uint##bits##_t *y = (void *)j->y; \
        const int64_t x_step = j->x_row / (int64_t)sizeof *x; \
        const int64_t y_step = j->y_row / (int64_t)sizeof *y; \
        for (int64_t r = from; r < to; r++) \
            y[r * y_step] = x[r * x_step]; \
    }
COPY_COLUMN(8)
COPY_COLUMN(16)
COPY_COLUMN(32)
COPY_COLUMN(64)

/* The same of rows that lie side by side in both. */
static void copy_flat(void *ctx, int64_t from, int64_t to)
{
    const rows_job *j = ctx;
    memcpy(j->y + from * j->run, j->x + from * j->run,
           (size_t)((to - from) * j->run));
}

/* Rows of `run` bytes, which are as many elements of `size` bytes. */
static void rows_run(const kernel *k, rows_job *j, int64_t rows, int64_t size)
{
    parallel_fn *copy = j->run != size ? copy_rows
                        : size == 1    ? copy_column_8
                        : size == 2    ? copy_column_16
                        : size == 4    ? copy_column_32
                        : size == 8    ? copy_column_64
                                       : copy_rows;
    clv__parallel(k->threads, rows, 1 + 4 * CPU_GRAIN / (j->run + 1), copy, j);
}

bool CPU_NAME(cpu_cat)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    int64_t size = (int64_t)clv__element_bytes(y), all = 0, at = 0;
    if (!y->rank ||
        norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, NULL) != CLV_OK)
        return false;
    int64_t rows = dims_product(y->dims, 0, axis);
    int64_t row = numel(y) / rows;
    for (uint32_t i = 0; i < k->n->n_in; i++) {
        if (!k->in[i] || k->in[i]->dtype != y->dtype || numel(k->in[i]) % rows)
            return false;
        all += numel(k->in[i]);
    }
    if (all != numel(y))
        return false;
    for (uint32_t i = 0; i < k->n->n_in; i++) {
        int64_t run = numel(k->in[i]) / rows;
        rows_job j = {k->in[i]->data, (char *)y->data + at * size, run * size,
                      row * size, run * size};
        rows_run(k, &j, rows, size);
        at += run;
    }
    return true;
}

/* Inputs of one shape along a new axis. */
bool CPU_NAME(cpu_stack)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    int64_t size = (int64_t)clv__element_bytes(y);
    if (!y->rank || k->n->n_in < 1 ||
        norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, NULL) != CLV_OK ||
        y->dims[axis] != k->n->n_in)
        return false;
    int64_t run = dims_product(y->dims, axis + 1, y->rank) * size;
    int64_t rows = dims_product(y->dims, 0, axis);
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (!k->in[i] || k->in[i]->dtype != y->dtype ||
            numel(k->in[i]) * size != rows * run)
            return false;
    for (uint32_t i = 0; i < k->n->n_in; i++) {
        rows_job j = {k->in[i]->data, (char *)y->data + i * run, run,
                      run * k->n->n_in, run};
        rows_run(k, &j, rows, size);
    }
    return true;
}

bool CPU_NAME(cpu_split)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis;
    int64_t size = (int64_t)clv__element_bytes(x), all = 0, at = 0;
    if (axis_of(k, &axis) != CLV_OK)
        return false;
    int64_t rows = dims_product(x->dims, 0, axis), row = numel(x) / rows;
    for (uint32_t o = 0; o < k->n->n_out; o++) {
        if (k->out[o].dtype != x->dtype || numel(&k->out[o]) % rows)
            return false;
        all += numel(&k->out[o]);
    }
    if (all > numel(x))
        return false;
    for (uint32_t o = 0; o < k->n->n_out; o++) {
        int64_t run = numel(&k->out[o]) / rows;
        rows_job j = {(const char *)x->data + at * size, k->out[o].data,
                      row * size, run * size, run * size};
        if (k->out[o].data && run)
            rows_run(k, &j, rows, size);
        at += run;
    }
    return true;
}

/* -- blocks and channels --------------------------------------------------*/

/* As a permutation: (N,C,b,b,H,W) or (N,b,b,C,H,W) and (N,C,H,b,W,b). */
bool CPU_NAME(cpu_blocks)(kernel *k)
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
    if (r < 3 || deep->rank != r || b < 1 || numel(x) != numel(y))
        return false;
    int64_t c = wide->dims[r - 3], h = deep->dims[r - 2], w = deep->dims[r - 1];
    int64_t n = numel(x) / (c * b * b * h * w);
    if (n * c * b * b * h * w != numel(x) || wide->dims[r - 2] != h * b ||
        wide->dims[r - 1] != w * b)
        return false;
    /* deep's strides by the axes N, C, H, by, W, bx of wide */
    int64_t plane = h * w, block = crd ? plane : c * plane;
    const int64_t dims[6] = {n, c, h, b, w, b};
    const int64_t in_deep[6] = {
        c * b * b * plane, crd ? b * b * plane : plane, w, b * block, 1, block};
    if (to_space) {
        clv_tensor as = {.dtype = y->dtype, .rank = 6, .data = y->data};
        memcpy(as.dims, dims, sizeof dims);
        return move_copy(k, &as, x, 0, in_deep);
    }
    /* wide's strides by the axes of deep: N, then C and the block, H, W */
    int64_t c_at = b * h * b * w, h_at = b * w * b;
    const int64_t deep_dims[6] = {n, crd ? c : b, b, crd ? b : c, h, w};
    const int64_t in_wide[6] = {
        c * c_at, crd ? c_at : w * b, crd ? w * b : 1, crd ? 1 : c_at, h_at, b};
    clv_tensor as = {.dtype = y->dtype, .rank = 6, .data = y->data};
    memcpy(as.dims, deep_dims, sizeof deep_dims);
    return move_copy(k, &as, x, 0, in_wide);
}

bool CPU_NAME(cpu_channel_shuffle)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t groups = attr_int(k->n, CLV_A_GROUPS);
    if (x->rank < 2 || groups < 1 || x->dims[1] % groups)
        return false;
    int64_t run = dims_product(x->dims, 2, x->rank), each = x->dims[1] / groups;
    clv_tensor as = {.dtype = x->dtype,
                     .rank = 4,
                     .dims = {x->dims[0], each, groups, run},
                     .data = k->out[0].data};
    const int64_t strides[4] = {x->dims[1] * run, run, each * run, 1};
    return move_copy(k, &as, x, 0, strides);
}

/* -- by index -------------------------------------------------------------*/

typedef struct take_job {
    const char *x;
    char *y;
    const int64_t *index;
    int64_t n, size, run; /* of the index; of the axis; bytes of a slice */
} take_job;

static void take_part(void *ctx, int64_t from, int64_t to)
{
    const take_job *j = ctx;
    for (int64_t i = from; i < to; i++)
        memcpy(j->y + i * j->run,
               j->x + (i / j->n * j->size + j->index[i % j->n]) * j->run,
               (size_t)j->run);
}

static bool take(kernel *k, const clv_tensor *x, const clv_tensor *index,
                 uint32_t axis)
{
    clv_tensor *y = &k->out[0];
    int64_t n = numel(index), size = x->dims[axis];
    int64_t rows = dims_product(x->dims, 0, axis);
    int64_t each = dims_product(x->dims, axis + 1, x->rank);
    int64_t *at = arena_array(k->scratch, (size_t)n + 1, sizeof *at);
    if (!at || x->dtype != y->dtype || rows * n * each != numel(y))
        return false;
    for (int64_t i = 0; i < n; i++) {
        at[i] = get_i(index, i);
        at[i] += at[i] < 0 ? size : 0;
        if (at[i] < 0 || at[i] >= size)
            return false;
    }
    take_job j = {x->data, y->data, at,
                  n,       size,    each * (int64_t)clv__element_bytes(x)};
    clv__parallel(k->threads, rows * n, 1 + 4 * CPU_GRAIN / (j.run + 1),
                  take_part, &j);
    return true;
}

bool CPU_NAME(cpu_index_select)(kernel *k)
{
    uint32_t axis;
    return k->in[0]->rank && axis_of(k, &axis) == CLV_OK &&
           dtype_is_integral(k->in[1]->dtype) &&
           take(k, k->in[0], k->in[1], axis);
}

bool CPU_NAME(cpu_embedding)(kernel *k)
{
    return k->in[0]->rank && take(k, k->in[0], k->in[1], 0);
}

/* -- by tables ------------------------------------------------------------*/

/* Where each index of an axis of y comes from in x. */
typedef struct table_job {
    const clv_tensor *x; /* as many axes as y */
    clv_tensor *y;
    int64_t *from[CLV_MAX_RANK]; /* -1: filled */
    int64_t own[CLV_MAX_RANK], size;
    const char *fill;
    int64_t *runs; /* of the last axis: how many from here lie in order */
} table_job;

static bool table_start(kernel *k, table_job *j)
{
    strides_of(j->x, j->own);
    j->size = (int64_t)clv__element_bytes(j->x);
    for (uint32_t a = 0; a < j->y->rank; a++)
        if (!(j->from[a] = arena_array(k->scratch, (size_t)j->y->dims[a] + 1,
                                       sizeof **j->from)))
            return false;
    if (j->x->dtype != j->y->dtype || j->size > 8 || !j->y->rank)
        return false;
    j->runs = arena_array(k->scratch, (size_t)j->y->dims[j->y->rank - 1] + 1,
                          sizeof *j->runs);
    return j->runs != NULL;
}

/* Runs of the last axis are copied whole. */
static void table_find_runs(table_job *j)
{
    uint32_t last = j->y->rank - 1;
    const int64_t *from = j->from[last];
    for (int64_t n = j->y->dims[last], i = n - 1; i >= 0; i--)
        j->runs[i] = i + 1 < n && from[i] >= 0 && from[i + 1] == from[i] + 1
                         ? j->runs[i + 1] + 1
                         : 1;
}

static void move_by_tables(void *ctx, int64_t begin, int64_t end)
{
    const table_job *j = ctx;
    uint32_t last = j->y->rank - 1;
    int64_t width = j->y->dims[last], size = j->size;
    for (int64_t r = begin; r < end; r++) {
        int64_t rest = r, at = 0;
        bool inside = true;
        for (uint32_t a = last; a-- > 0;) {
            int64_t p = j->from[a][rest % j->y->dims[a]];
            rest /= j->y->dims[a];
            inside = inside && p >= 0;
            at += p * j->own[a];
        }
        char *y = (char *)j->y->data + r * width * size;
        const char *x = (const char *)j->x->data + at * size;
        for (int64_t i = 0, n; i < width; i += n) {
            int64_t p = inside ? j->from[last][i] : -1;
            n = p < 0 ? 1 : j->runs[i];
            memcpy(y + i * size, p < 0 ? j->fill : x + p * size,
                   (size_t)(n * size));
        }
    }
}

/* Copies by the tables, unless one leads out of x. */
static bool table_run(const kernel *k, table_job *j)
{
    uint32_t last = j->y->rank - 1;
    for (uint32_t a = 0; a <= last; a++)
        for (int64_t i = 0; i < j->y->dims[a]; i++)
            if (j->from[a][i] >= j->x->dims[a] ||
                (j->from[a][i] < 0 && !j->fill))
                return false;
    table_find_runs(j);
    clv__parallel(k->threads, numel(j->y) / j->y->dims[last],
                  1 + CPU_GRAIN / j->y->dims[last], move_by_tables, j);
    return true;
}

static int64_t pad_place(int64_t p, int64_t size, char mode)
{
    if (p >= 0 && p < size)
        return p;
    if (mode == 'r') {
        int64_t period = size > 1 ? 2 * (size - 1) : 1;
        p = (p % period + period) % period;
        return p < size ? p : period - p;
    }
    if (mode == 'e')
        return p < 0 ? 0 : size - 1;
    return mode == 'w' ? (p % size + size) % size : -1;
}

/* One letter per meaning; "reflect" and "replicate" begin alike. */
static char pad_mode(const char *mode)
{
    if (!strcmp(mode, "reflect"))
        return 'r';
    if (!strcmp(mode, "edge") || !strcmp(mode, "replicate"))
        return 'e';
    return !strcmp(mode, "wrap") || !strcmp(mode, "circular") ? 'w' : 'c';
}

bool CPU_NAME(cpu_pad)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    table_job j = {.x = x, .y = y};
    int_list pads, axes;
    int64_t before[CLV_MAX_RANK] = {0}, room[2] = {0};
    clv_tensor filled = {.dtype = x->dtype, .data = room};
    scalar_arg fill;
    if (y->rank != x->rank || list_of(k, CLV_A_PADDING, 1, &pads) != CLV_OK ||
        list_of(k, CLV_A_AXES, 3, &axes) != CLV_OK ||
        (axes.found ? axes.n : x->rank) < pads.n / 2 || !table_start(k, &j))
        return false;
    (void)scalar_at(k, CLV_A_VALUE, 2, &fill);
    copy_run(&filled, 0, &fill.t, 0, 1);
    j.fill = (const char *)room;
    for (uint32_t i = 0; i < pads.n / 2; i++) {
        uint32_t a;
        if (norm_axis(axes.found ? axes.v[i] : (int64_t)i, x->rank, &a, NULL) !=
            CLV_OK)
            return false;
        before[a] = pads.v[i];
    }
    char mode = pad_mode(attr_str(k->n, CLV_A_MODE));
    for (uint32_t a = 0; a < x->rank; a++)
        for (int64_t i = 0; i < y->dims[a]; i++)
            j.from[a][i] = pad_place(i - before[a], x->dims[a], mode);
    return table_run(k, &j);
}

bool CPU_NAME(cpu_roll)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    table_job j = {.x = x, .y = y};
    int_list shifts, axes;
    int64_t by[CLV_MAX_RANK] = {0};
    if (y->rank != x->rank || list_of(k, CLV_A_SHIFTS, 1, &shifts) != CLV_OK ||
        list_of(k, CLV_A_AXES, 2, &axes) != CLV_OK || axes.n != shifts.n ||
        !axes.n || !table_start(k, &j))
        return false;
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        if (norm_axis(axes.v[i], x->rank, &a, NULL) != CLV_OK)
            return false;
        by[a] += shifts.v[i] % x->dims[a];
    }
    for (uint32_t a = 0; a < x->rank; a++)
        for (int64_t i = 0; i < x->dims[a]; i++)
            j.from[a][i] = pad_place(i - by[a], x->dims[a], 'w');
    return table_run(k, &j);
}

bool CPU_NAME(cpu_repeat)(kernel *k)
{
    clv_tensor x = *k->in[0], *y = &k->out[0];
    if (y->rank < x.rank)
        return false;
    uint32_t lead = y->rank - x.rank;
    memmove(x.dims + lead, x.dims, x.rank * sizeof *x.dims);
    for (uint32_t a = 0; a < lead; a++)
        x.dims[a] = 1;
    x.rank = y->rank;
    table_job j = {.x = &x, .y = y};
    if (!table_start(k, &j))
        return false;
    for (uint32_t a = 0; a < y->rank; a++)
        for (int64_t i = 0; i < y->dims[a]; i++)
            j.from[a][i] = i % x.dims[a];
    return table_run(k, &j);
}

/* In evaluation, of which nobody asks the mask. */
bool CPU_NAME(cpu_dropout)(kernel *k)
{
    const clv_tensor *x = k->in[0], *train = input_of(k, 2);
    rows_job j = {x->data, k->out[0].data, 0, 0, 0};
    if (output_of(k, 1) || !k->out[0].data || x->dtype != k->out[0].dtype ||
        numel(x) != numel(&k->out[0]) || (train && get_i(train, 0)))
        return false;
    j.run = j.x_row = j.y_row = (int64_t)clv__element_bytes(x);
    clv__parallel(k->threads, numel(x), CPU_GRAIN, copy_flat, &j);
    return true;
}
