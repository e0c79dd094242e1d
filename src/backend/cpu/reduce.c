/* reduce.c - sums and their kin over axes.
 *
 * Axes that are reduced and lie together make x a block of (outer, gone, inner)
 * elements. Where inner is 1 a result is the sum of a row, taken in lanes; else
 * whole rows of `inner` elements are added to the results. Long sums are taken
 * in pieces, whose totals are doubles. */
#include "backend/cpu/reduce_typed.h"
#include "backend/cpu/vmath.h"

enum { LANES = 16, MANY = 64, PIECE = 4096 };

typedef enum reduce_kind { SUM, SQUARES, MOST, LEAST } reduce_kind;

/* The sum of x[i], or of its squares. */
static double piece_sum(const float *x, int64_t n, bool squares)
{
    float sums[LANES] = {0};
    int64_t i = 0;
    if (squares)
        for (; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++)
                sums[l] += x[i + l] * x[i + l];
    else
        for (; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++)
                sums[l] += x[i + l];
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += (double)sums[l];
    for (; i < n; i++)
        sum += (double)(squares ? x[i] * x[i] : x[i]);
    return sum;
}

static double row_sum(const float *x, int64_t n, bool squares)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += PIECE)
        sum += piece_sum(x + i, n - i < PIECE ? n - i : PIECE, squares);
    return sum;
}

/* Of n numbers in lanes: each joins its lane, and a NaN of any is told. */
static void extreme_lanes(const float *restrict x, float *restrict to,
                          uint32_t *restrict nan, bool least)
{
    if (least)
        for (int l = 0; l < MANY; l++)
            to[l] = x[l] < to[l] ? x[l] : to[l];
    else
        for (int l = 0; l < MANY; l++)
            to[l] = x[l] > to[l] ? x[l] : to[l];
    for (int l = 0; l < MANY; l++)
        nan[l] |= x[l] != x[l];
}

/* The largest or least of a row; a NaN is found first. */
static float row_extreme(const float *x, int64_t n, bool least)
{
    float some[MANY], best = x[0];
    uint32_t nan[MANY] = {0}, any = 0;
    int64_t i = 0;
    for (int l = 0; l < MANY; l++)
        some[l] = best;
    for (; i + MANY <= n; i += MANY)
        extreme_lanes(x + i, some, nan, least);
    for (int l = 0; i && l < MANY; l++) {
        best = (least ? some[l] < best : some[l] > best) ? some[l] : best;
        any |= nan[l];
    }
    for (; i < n; i++) {
        best = (least ? x[i] < best : x[i] > best) ? x[i] : best;
        any |= x[i] != x[i];
    }
    return any ? NAN : best;
}

static float row_most(const float *x, int64_t n)
{
    return row_extreme(x, n, false);
}

static float row_least(const float *x, int64_t n)
{
    return row_extreme(x, n, true);
}

typedef struct reduce_job {
    reduce_kind kind;
    const float *x;
    float *y;
    int64_t gone, inner;
    float factor; /* of a sum: a mean's */
    bool root;
} reduce_job;

static float reduce_end(const reduce_job *j, double sum)
{
    double v = sum * (double)j->factor;
    return (float)(j->root ? sqrt(v) : v);
}

/* Results of which each is a row. */
static void reduce_rows(void *ctx, int64_t from, int64_t to)
{
    const reduce_job *j = ctx;
    for (int64_t r = from; r < to; r++) {
        const float *x = j->x + r * j->gone;
        if (j->kind == MOST)
            j->y[r] = row_most(x, j->gone);
        else if (j->kind == LEAST)
            j->y[r] = row_least(x, j->gone);
        else
            j->y[r] = reduce_end(j, row_sum(x, j->gone, j->kind == SQUARES));
    }
}

/* Adds one row of `n` to the results. */
static void reduce_add(reduce_kind kind, const float *x, float *y, int64_t n)
{
    switch (kind) {
    case SUM:
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i];
        break;
    case SQUARES:
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i] * x[i];
        break;
    case MOST:
        for (int64_t i = 0; i < n; i++) {
            float v = x[i], was = y[i];
            y[i] = v > was || v != v ? v : was;
        }
        break;
    case LEAST:
        for (int64_t i = 0; i < n; i++) {
            float v = x[i], was = y[i];
            y[i] = v < was || v != v ? v : was;
        }
        break;
    }
}

/* Items are blocks of at most PIECE results of one `outer`. */
static void reduce_columns(void *ctx, int64_t from, int64_t to)
{
    const reduce_job *j = ctx;
    int64_t blocks = (j->inner + PIECE - 1) / PIECE;
    bool extreme = j->kind == MOST || j->kind == LEAST;
    for (int64_t item = from; item < to; item++) {
        int64_t outer = item / blocks, first = item % blocks * PIECE;
        int64_t n = j->inner - first < PIECE ? j->inner - first : PIECE;
        const float *x = j->x + outer * j->gone * j->inner + first;
        float *y = j->y + outer * j->inner + first;
        for (int64_t i = 0; i < n; i++)
            y[i] = extreme ? x[i] : 0;
        for (int64_t g = extreme; g < j->gone; g++)
            reduce_add(j->kind, x + g * j->inner, y, n);
        for (int64_t i = 0; !extreme && i < n; i++)
            y[i] = reduce_end(j, (double)y[i]);
    }
}

/* x with the axes that go behind the others, as a copy. */
static bool reduce_turn(kernel *k, const bool *gone, reduce_job *j,
                        int64_t *outer)
{
    const clv_tensor *x = k->in[0];
    clv_tensor to = {.dtype = x->dtype, .rank = x->rank};
    int64_t own[CLV_MAX_RANK], by[CLV_MAX_RANK];
    uint32_t n = 0;
    strides_of(x, own);
    *outer = j->gone = j->inner = 1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t a = 0; a < x->rank; a++)
            if (gone[a] == (pass == 1)) {
                by[n] = own[a];
                to.dims[n++] = x->dims[a];
                *(pass ? &j->gone : outer) *= x->dims[a];
            }
    to.data =
        arena_array(k->scratch, (size_t)numel(x) + 1, clv__element_bytes(x));
    j->x = to.data;
    return to.data && *outer == numel(&k->out[0]) &&
           CPU_NAME(clv__cpu_move)(k, &to, x, 0, by);
}

/* x as (outer, gone, inner): as it lies, if the axes that go lie together. */
static bool reduce_shape(kernel *k, reduce_job *j, int64_t *outer)
{
    const clv_tensor *x = k->in[0];
    int_list axes;
    bool gone[CLV_MAX_RANK];
    if (list_of(k, CLV_A_AXES, 1, &axes) != CLV_OK)
        return false;
    for (uint32_t a = 0; a < CLV_MAX_RANK; a++)
        gone[a] = axes.n == 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        uint32_t a;
        if (norm_axis(axes.v[i], x->rank ? x->rank : 1, &a, NULL) != CLV_OK)
            return false;
        gone[a] = true;
    }
    *outer = j->gone = j->inner = 1;
    int stage = 0; /* before the axes that go, in them, behind them */
    for (uint32_t a = 0; a < x->rank; a++) {
        if (x->dims[a] == 1)
            continue;
        if (gone[a] ? stage == 2 : stage == 1)
            stage++;
        else if (gone[a])
            stage = 1;
        if (stage > 2)
            return reduce_turn(k, gone, j, outer);
        *(stage == 0 ? outer : stage == 1 ? &j->gone : &j->inner) *= x->dims[a];
    }
    return *outer * j->inner == numel(&k->out[0]);
}

bool CPU_NAME(cpu_reduce)(kernel *k)
{
    static const struct {
        clv_op op;
        reduce_kind kind;
    } rows[] = {{CLV_OP_SUM, SUM},
                {CLV_OP_MEAN, SUM},
                {CLV_OP_MAX, MOST},
                {CLV_OP_MIN, LEAST},
                {CLV_OP_SUM_SQUARE, SQUARES},
                {CLV_OP_NORM, SQUARES}};
    clv_op op = (clv_op)k->n->op;
    reduce_job j = {.x = k->in[0]->data, .y = k->out[0].data, .factor = 1};
    int64_t outer;
    if (k->in[0]->dtype != k->out[0].dtype || output_of(k, 1) ||
        !clv__element_bytes(k->in[0]) || !reduce_shape(k, &j, &outer))
        return false;
    bool other = op == CLV_OP_PROD || op == CLV_OP_LOG_SUM ||
                 (op == CLV_OP_NORM && attr_float(k->n, CLV_A_P) != 2);
    if (k->in[0]->dtype != CLV_FLOAT32 || other)
        return CPU_NAME(clv__reduce_typed)(
            k, &(reduce_typed){j.x, j.y, j.gone, j.inner}, outer);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            j.kind = rows[i].kind;
    j.root = op == CLV_OP_NORM;
    if (op == CLV_OP_MEAN)
        j.factor = 1 / (float)j.gone;
    if (j.inner == 1)
        clv__parallel(k->threads, outer, 1 + CPU_GRAIN / j.gone, reduce_rows,
                      &j);
    else
        clv__parallel(k->threads, outer * ((j.inner + PIECE - 1) / PIECE),
                      1 + CPU_GRAIN / (j.gone * PIECE), reduce_columns, &j);
    return true;
}

/* -- softmax --------------------------------------------------------------*/

typedef struct softmax_job {
    const float *x;
    float *y;
    int64_t n, step;
    bool logs;
} softmax_job;

static void softmax_rows(void *ctx, int64_t from, int64_t to)
{
    const softmax_job *j = ctx;
    for (int64_t r = from; r < to; r++) {
        const float *x = j->x + r * j->n;
        float *y = j->y + r * j->n, most = row_most(x, j->n);
        for (int64_t i = 0; i < j->n; i++)
            y[i] = v_exp(x[i] - most);
        double sum = row_sum(y, j->n, false);
        if (j->logs) {
            float less = (float)log(sum);
            for (int64_t i = 0; i < j->n; i++)
                y[i] = x[i] - most - less;
            continue;
        }
        float by = (float)(1 / sum);
        for (int64_t i = 0; i < j->n; i++)
            y[i] *= by;
    }
}

enum { STRIP = 64 }; /* columns that are worked on together */

/* Along an axis that is not the last: strips of neighbouring columns. */
static void softmax_columns(void *ctx, int64_t from, int64_t to)
{
    const softmax_job *j = ctx;
    int64_t strips = (j->step + STRIP - 1) / STRIP;
    for (int64_t item = from; item < to; item++) {
        int64_t first = item % strips * STRIP;
        int64_t w = j->step - first < STRIP ? j->step - first : STRIP;
        int64_t base = item / strips * j->n * j->step + first;
        const float *x = j->x + base;
        float *y = j->y + base, most[STRIP], sum[STRIP] = {0};
        for (int64_t c = 0; c < w; c++)
            most[c] = x[c];
        for (int64_t i = 1; i < j->n; i++)
            reduce_add(MOST, x + i * j->step, most, w);
        for (int64_t i = 0; i < j->n; i++)
            for (int64_t c = 0; c < w; c++) {
                float v = v_exp(x[i * j->step + c] - most[c]);
                y[i * j->step + c] = v;
                sum[c] += v;
            }
        for (int64_t c = 0; c < w; c++)
            sum[c] = j->logs ? logf(sum[c]) + most[c] : 1 / sum[c];
        for (int64_t i = 0; i < j->n; i++)
            for (int64_t c = 0; c < w; c++) {
                int64_t at = i * j->step + c;
                y[at] = j->logs ? x[at] - sum[c] : y[at] * sum[c];
            }
    }
}

bool CPU_NAME(cpu_softmax)(kernel *k)
{
    uint32_t axis;
    if (!all_float32(k) || !k->in[0]->rank || axis_of(k, &axis) != CLV_OK)
        return false;
    softmax_job j = {k->in[0]->data, k->out[0].data, k->in[0]->dims[axis],
                     dims_product(k->in[0]->dims, axis + 1, k->in[0]->rank),
                     k->n->op == CLV_OP_LOG_SOFTMAX};
    int64_t rows = numel(k->in[0]) / (j.n * j.step);
    if (j.step == 1)
        clv__parallel(k->threads, rows, 1 + CPU_GRAIN / 4 / j.n, softmax_rows,
                      &j);
    else
        clv__parallel(k->threads, rows * ((j.step + STRIP - 1) / STRIP),
                      1 + CPU_GRAIN / 4 / (j.n * STRIP), softmax_columns, &j);
    return true;
}

/* -- norms ----------------------------------------------------------------*/

/* Rows of n elements, each brought to mean 0 and deviation 1. Weight and bias
 * are one per element of a row, or one per channel, of which a row has
 * `channels`, each `plane` elements long; a row begins at channel `first`. */
typedef struct norm_job {
    const float *x, *w, *b;
    float *y, *means, *scales;
    int64_t n, plane, channels, groups; /* groups: rows after which they begin
                                         * anew */
    float eps;
    bool center;
} norm_job;

static void norm_row(const float *x, float *y, int64_t n, float mean,
                     float scale, const float *w, const float *b)
{
    if (w && b)
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * scale * w[i] + b[i];
    else if (w)
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * scale * w[i];
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * scale;
}

static double row_variance(const float *x, int64_t n, float mean)
{
    double total = 0;
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t m = n - at < PIECE ? n - at : PIECE, i = 0;
        float sums[LANES] = {0};
        for (; i + LANES <= m; i += LANES)
            for (int l = 0; l < LANES; l++) {
                float d = x[at + i + l] - mean;
                sums[l] += d * d;
            }
        for (int l = 0; l < LANES; l++)
            total += (double)sums[l];
        for (; i < m; i++)
            total += (double)((x[at + i] - mean) * (x[at + i] - mean));
    }
    return total / (double)n;
}

static void norm_rows(void *ctx, int64_t from, int64_t to)
{
    const norm_job *j = ctx;
    for (int64_t r = from; r < to; r++) {
        const float *x = j->x + r * j->n;
        float *y = j->y + r * j->n;
        float mean =
            j->center ? (float)(row_sum(x, j->n, false) / (double)j->n) : 0;
        double var = j->center ? row_variance(x, j->n, mean)
                               : row_sum(x, j->n, true) / (double)j->n;
        float scale = (float)(1 / sqrt(var + (double)j->eps));
        if (j->means)
            j->means[r] = mean;
        if (j->scales)
            j->scales[r] = scale;
        if (!j->plane) {
            norm_row(x, y, j->n, mean, scale, j->w, j->b);
            continue;
        }
        int64_t first = r % j->groups * j->channels;
        for (int64_t c = 0; c < j->channels; c++) {
            float by = scale * (j->w ? j->w[first + c] : 1);
            float add = (j->b ? j->b[first + c] : 0) - mean * by;
            for (int64_t i = c * j->plane; i < (c + 1) * j->plane; i++)
                y[i] = x[i] * by + add;
        }
    }
}

static const float *norm_vector(const kernel *k, uint32_t i)
{
    const clv_tensor *t = input_of(k, i);
    return t ? t->data : NULL;
}

static bool norm_is(const kernel *k, uint32_t i, int64_t n)
{
    const clv_tensor *t = input_of(k, i);
    return !t || (t->dtype == CLV_FLOAT32 && numel(t) == n);
}

/* layer_norm, rms_norm */
bool CPU_NAME(cpu_row_norm)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis;
    bool center = k->n->op == CLV_OP_LAYER_NORM;
    if (x->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_FLOAT32 ||
        !k->out[0].data || !x->rank ||
        get_norm_axis(k->n, x->rank, &axis, NULL) != CLV_OK)
        return false;
    norm_job j = {.x = x->data,
                  .w = norm_vector(k, 1),
                  .b = norm_vector(k, 2),
                  .y = k->out[0].data,
                  .n = dims_product(x->dims, axis, x->rank),
                  .eps = (float)attr_float(k->n, CLV_A_EPSILON),
                  .center = center};
    int64_t rows = numel(x) / j.n;
    const clv_tensor *w = input_of(k, 1), *b = input_of(k, 2);
    if (!norm_is(k, 1, j.n) || !norm_is(k, 2, j.n) || (b && !w) ||
        (w && w->rank > x->rank - axis) || (b && b->rank > x->rank - axis))
        return false;
    for (uint32_t o = 1; o < k->n->n_out; o++) {
        clv_tensor *s = output_of(k, o);
        if (s && (s->dtype != CLV_FLOAT32 || numel(s) != rows || j.scales))
            return false; /* or it is asked for twice */
        if (s)
            *(o == 1 && center ? &j.means : &j.scales) = s->data;
    }
    clv__parallel(k->threads, rows, 1 + CPU_GRAIN / 2 / j.n, norm_rows, &j);
    return true;
}

/* group_norm, instance_norm */
bool CPU_NAME(cpu_group_norm)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    if (!all_float32(k) || x->rank < 2)
        return false;
    int64_t channels = x->dims[1];
    int64_t groups = k->n->op == CLV_OP_INSTANCE_NORM
                         ? channels
                         : attr_int(k->n, CLV_A_GROUPS);
    if (groups < 1 || channels % groups || !norm_is(k, 1, channels) ||
        !norm_is(k, 2, channels))
        return false;
    int64_t plane = dims_product(x->dims, 2, x->rank);
    norm_job j = {.x = x->data,
                  .w = norm_vector(k, 1),
                  .b = norm_vector(k, 2),
                  .y = k->out[0].data,
                  .n = plane * (channels / groups),
                  .plane = plane,
                  .channels = channels / groups,
                  .groups = groups,
                  .eps = (float)attr_float(k->n, CLV_A_EPSILON),
                  .center = true};
    clv__parallel(k->threads, numel(x) / j.n, 1 + CPU_GRAIN / 2 / j.n,
                  norm_rows, &j);
    return true;
}

/* -- batch norm -----------------------------------------------------------*/

typedef struct batch_job {
    const float *x, *w, *b, *mean, *var;
    float *y, eps;
    int64_t channels, plane;
} batch_job;

static void batch_planes(void *ctx, int64_t from, int64_t to)
{
    const batch_job *j = ctx;
    for (int64_t p = from; p < to; p++) {
        int64_t c = p % j->channels;
        float by = (j->w ? j->w[c] : 1) / sqrtf(j->var[c] + j->eps);
        float add = (j->b ? j->b[c] : 0) - j->mean[c] * by;
        const float *x = j->x + p * j->plane;
        float *y = j->y + p * j->plane;
        for (int64_t i = 0; i < j->plane; i++)
            y[i] = x[i] * by + add;
    }
}

bool CPU_NAME(cpu_batch_norm)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    if (!all_float32(k) || x->rank < 2 || !input_of(k, 3) || !input_of(k, 4) ||
        k->n->n_out > 1 || attr_int(k->n, CLV_A_TRAINING))
        return false;
    int64_t channels = x->dims[1];
    for (uint32_t i = 1; i < 5; i++)
        if (!norm_is(k, i, channels))
            return false;
    batch_job j = {x->data,
                   norm_vector(k, 1),
                   norm_vector(k, 2),
                   norm_vector(k, 3),
                   norm_vector(k, 4),
                   k->out[0].data,
                   (float)attr_float(k->n, CLV_A_EPSILON),
                   channels,
                   dims_product(x->dims, 2, x->rank)};
    clv__parallel(k->threads, numel(x) / j.plane, 1 + CPU_GRAIN / j.plane,
                  batch_planes, &j);
    return true;
}
